//! Which rows a name means.

use std::path::Path;

use shopfloor_core::slug::slug;

use crate::plan::rows::{POOL, Row};

/// The row of this name: the main checkout's, an agent's or worker's name or id, a branch, or the last part of a path;
/// else the name that `new` made of it. All rows that fit, if none fits better.
pub fn named<'r>(rows: &'r [Row], name: &str) -> Vec<&'r Row> {
    // `new` turns blanks and signs into dashes. An empty host is not this machine.
    let name = if name.len() > 1 { name.trim_end_matches('/') } else { name };
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let dashed = words.collect::<Vec<_>>().join("-").to_lowercase();
    let (slug, dashed) = if name.starts_with(':') { (None, String::new()) } else { (slug(name), dashed) };
    // As the table shows what lies beside the main checkout.
    let main = rows.iter().find(|row| row.is_main && name.starts_with("../")).map(|row| Path::new(&row.worktree));
    let beside = main.and_then(|main| Some(main.parent()?.join(&name[3..])));
    let is_there = |row: &Row| row.worktree == name || beside.as_deref() == Some(Path::new(&row.worktree));
    let is_below = |row: &Row| is_there(row) || row.worktree.ends_with(&format!("/{name}"));
    // A worktree that a person made is called like its branch until it has a worker: a worker of that name comes first.
    let is_workers = rows.iter().any(|row| row.worker.as_deref() == Some(name));
    let is_branch = |row: &Row| row.kind == "root" && !row.is_main && row.worker.is_none();
    let is_name = |row: &Row| row.is_known && row.name == name && !(is_workers && is_branch(row));
    // On no branch, or on one that is another agent's id, a worktree is called by git's name for it.
    let branch_of = |row: &Row| format!("{}@", row.branch.as_deref().unwrap_or_default());
    let is_gits_name = |row: &Row| row.kind == "root" && row.name == name && name.starts_with(&branch_of(row));
    // The id of a worker or a main checkout is its name, and comes no sooner than other names.
    let fits: [&dyn Fn(&Row) -> bool; 7] = [
        // Whatever an agent calls itself, its children or its branch. A person may have made a worktree on that branch.
        &|row| ["main", "root"].contains(&name) && (row.is_main || is_branch(row) && is_name(row)),
        &|row| row.is_known && row.id == name && ![POOL, "root"].contains(&row.kind.as_str()),
        &|row| is_name(row) || row.worker.as_deref() == Some(name),
        // What a host calls a branch or a path names nothing here.
        &|row| row.record["host"].is_null() && (row.branch.as_deref() == Some(name) || is_below(row)),
        &|row| is_gits_name(row),
        &|row| row.is_known && row.name == dashed,
        &|row| row.is_known && slug.as_ref() == Some(&row.name),
    ];
    for fit in fits {
        let mut found: Vec<&Row> = rows.iter().filter(|row| fit(row)).collect();
        found.dedup_by(|a, b| a.worktree == b.worktree);
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_comes_before_a_name_and_a_name_before_a_branch() {
        let row = |[kind, id, name, branch, worktree]: [&str; 5]| Row {
            kind: kind.to_owned(),
            id: id.to_owned(),
            name: name.to_owned(),
            branch: Some(branch.to_owned()),
            worktree: worktree.to_owned(),
            is_known: true,
            ..Row::default()
        };
        let rows = [
            ["subtree", "main.a", "a", "main.a", "/app/a"],
            ["subtree", "main.b", "b", "main.b", "/app/b"],
            ["subtree", "x.b", "b", "x.b", "/app/c"],
            [POOL, "adam", "adam", "worker/adam", "/w/adam"],
        ];
        let rows = rows.map(row);
        let paths = |name: &str| named(&rows, name).iter().map(|row| row.worktree.clone()).collect::<Vec<_>>();
        assert_eq!(paths("main.b"), ["/app/b"]);
        assert_eq!(paths("b"), ["/app/b", "/app/c"]);
        assert_eq!(paths("worker/adam"), ["/w/adam"]);
        assert_eq!(paths("c"), ["/app/c"]);
        assert!(["nobody", ":b", "::b", ":worker/adam"].iter().all(|name| paths(name).is_empty()));
    }
}
