//! What the branches of workers have that others lack, for `status --stat`.

use serde_json::{Value, json};
use shopfloor_core::error::Result;

use crate::work_repo::WorkRepo;
use crate::worker::{Adopted, Task, Worker};

/// What the branch of a worker has that the one on which its work lands lacks, as far as it is known.
pub fn changes(repo: &WorkRepo, worker: &Worker, distance: Option<&(u64, u64)>) -> Result<Value> {
    let mut known = distance.map_or(json!({}), |(ahead, behind)| json!({ "ahead": ahead, "behind": behind }));
    let Some(sha) = &worker.work.commit_sha else { return Ok(known) };
    let range = format!("{}...{sha}", repo.base());
    let how = ["diff", "--numstat", "--no-ext-diff", "--no-textconv", "--no-renames", &range];
    let counted = repo.run(&repo.top, &how)?;
    if !counted.status.success() {
        return Ok(known);
    }
    let lines: Vec<Vec<u64>> = (counted.text().lines())
        .map(|line| line.split('\t').take(2).map(|count| count.parse().unwrap_or(0)).collect())
        .collect();
    let sum = |column: usize| lines.iter().filter_map(|line| line.get(column)).sum::<u64>();
    known["stat"] = json!({ "files": lines.len(), "insertions": sum(0), "deletions": sum(1) });
    Ok(known)
}

/// The same of an adopted worktree. How far its branch is, worktree-spawn tells; but nothing is left to land of an idle worker
/// whose branch is as it was when its work had landed, as long as that is there, or has nothing that the other one lacks, under
/// whatever commit; and nothing is new of one at work whose branch is as it began, or has only what its children have landed.
pub fn own_changes(repo: &WorkRepo, worker: &Worker, adopted: &Adopted) -> Result<Value> {
    let mut changes = changes(repo, worker, None)?;
    let tip = || repo.commit(&repo.top, &format!("refs/heads/{}", worker.branch));
    let is_as_landed = |tip: &str| tip == adopted.began && repo.has_landing(adopted).unwrap_or(false);
    let is_there = |tip: String| is_as_landed(&tip) || repo.has_content(&tip).unwrap_or(false);
    match worker.task {
        Task::Idle if tip()?.is_some_and(is_there) => changes["ahead"] = json!(0),
        Task::Working if tip()? == worker.work.baseline_sha => changes["has_new"] = json!(false),
        _ => {}
    }
    Ok(changes)
}
