//! Which workers' work would conflict with each other's, or with the branch that it lands on. What a merge of two commits
//! gives never changes, so it is kept in `clashes.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;

use serde::{Deserialize, Serialize};
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::{LOOK_LIMIT, as_alternate};

use crate::context::Context;
use crate::layout;
use crate::store::State;
use crate::work_identity::in_its_place;
use crate::work_repo::common_dir;
use crate::worker::{Task, Worker};

/// Two that conflict: a worker, and another one or the branch that both land on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clash {
    pub a: String,
    pub b: String,
    pub paths: Vec<String>,
}

impl Clash {
    /// The other one of the two, if `name` is one of them.
    pub fn other(&self, name: &str) -> Option<&str> {
        [(&self.a, &self.b), (&self.b, &self.a)]
            .into_iter()
            .find(|(one, _)| *one == name)
            .map(|(_, other)| other.as_str())
    }
}

/// `clashes.json`: everything that was found last, and the paths in which each two commits conflict.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    version: u64,
    clashes: Vec<Clash>,
    merges: BTreeMap<String, Vec<String>>,
}

/// What was found last. A file that cannot be read counts as none.
pub fn last(root: &Path) -> Vec<Clash> {
    read(root).clashes
}

fn read(root: &Path) -> Kept {
    let text = fs::read_no_follow(&layout::clashes(root)).ok().flatten().unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Two to merge: their names, and their commits.
type Pair = ([String; 2], [String; 2]);

/// Finds the clashes of all work as it is now, and keeps them. Says which branches are gone on which work lands.
pub fn find(ctx: &Context<'_>, warn: &dyn Fn(String)) -> Result<Vec<Clash>> {
    let (state, root) = (ctx.state()?, &ctx.root.path);
    let before = read(root);
    let mut now = Kept { version: 1, ..Kept::default() };
    for (base, pairs) in pairs(ctx, &state, warn)? {
        let known = |(_, commits): &Pair| before.merges.get(&commits.join(" "));
        let unknown: Vec<&Pair> = pairs.iter().filter(|pair| known(pair).is_none()).collect();
        let mut merged = merge(ctx, &base, &unknown)?;
        for pair in &pairs {
            let (names, commits) = pair;
            let key = commits.join(" ");
            let Some(paths) = known(pair).cloned().or_else(|| merged.remove(&key)) else { continue };
            if !paths.is_empty() {
                let [a, b] = names.clone();
                now.clashes.push(Clash { a, b, paths: paths.clone() });
            }
            now.merges.insert(key, paths);
        }
    }
    if now != before && !ctx.is_dry {
        let text = serde_json::to_vec(&now).unwrap_or_default();
        fs::replace_in_swept(&layout::clashes(root), &text, Some(fs::PRIVATE))?;
    }
    Ok(now.clashes)
}

/// The pairs of those whose work lands on one branch, with the commit of that branch: each with the branch, and with each other.
fn pairs(ctx: &Context<'_>, state: &State, warn: &dyn Fn(String)) -> Result<Vec<(String, Vec<Pair>)>> {
    let trees = ctx.trees(state)?;
    let tip = |worker: &Worker| match worker.task {
        Task::NeedsReview => worker.work.commit_sha.clone(),
        Task::Working | Task::Rejected => trees.get(worker.tree()).map(|tree| tree.head.clone()),
        Task::Idle | Task::Rebasing { .. } => None,
    };
    let mut lines: BTreeMap<Option<&str>, Vec<(&Worker, String)>> = BTreeMap::new();
    for worker in state.workers.values() {
        lines.entry(worker.target()).or_default().extend(tip(worker).map(|tip| (worker, tip)));
    }
    let mut all = Vec::new();
    for line in lines.into_values().filter(|line| !line.is_empty()) {
        let repo = ctx.of(line[0].0)?.repo;
        let base = match repo.require_base() {
            Ok(base) => base,
            Err(failure) => {
                warn(failure.to_string());
                continue;
            }
        };
        let line: Vec<_> = line.into_iter().filter(|(_, tip)| *tip != base).collect();
        let mut pairs = Vec::new();
        for (n, (worker, tip)) in line.iter().enumerate() {
            pairs.push(([worker.name.clone(), repo.branch.clone()], [tip.clone(), base.clone()]));
            for (other, others) in line[n + 1..].iter().filter(|(_, others)| others != tip) {
                pairs.push(([worker.name.clone(), other.name.clone()], [tip.clone(), others.clone()]));
            }
        }
        all.push((base, pairs));
    }
    Ok(all)
}

/// Merges pairs of commits, and returns the paths with conflicts of each. What cannot be merged is left out.
fn merge(ctx: &Context<'_>, base: &str, pairs: &[&Pair]) -> Result<BTreeMap<String, Vec<String>>> {
    let mut all = BTreeMap::new();
    let mut left: Vec<String> =
        pairs.iter().map(|(_, commits)| commits.join(" ")).collect::<BTreeSet<_>>().into_iter().collect();
    // The merges write objects that nobody needs; what a kill left of them goes, too.
    fs::sweep_old_temporaries(&ctx.root.path.join("locks"))?;
    let objects = ctx.root.path.join("locks").join(fs::unique_name());
    while !left.is_empty() {
        fs::create_private_dir(&objects)?;
        let stores = [ctx.clone.common.clone(), common_dir(&ctx.source())];
        let stores = stores.map(|common| as_alternate(&common.join("objects")));
        let cmd = ctx.clone.cmd(&ctx.clone.top)?.args(["merge-tree", "--write-tree", "--stdin", "-z", "--name-only"]);
        // A merge driver gets its files where git is called, and below a checkout git names paths from there.
        let cmd = if ctx.clone.is_own { cmd.dir(&objects) } else { cmd };
        let cmd = cmd.arg("--no-messages").var("GIT_ATTR_SOURCE", base);
        let cmd = cmd.var("GIT_OBJECT_DIRECTORY", &objects);
        let cmd = cmd.var("GIT_ALTERNATE_OBJECT_DIRECTORIES", stores.join(OsStr::new(":")));
        let input: String = left.iter().map(|pair| format!("{pair}\n")).collect();
        let merged = cmd.input(input.into_bytes()).within(LOOK_LIMIT).capture();
        fs::remove_tree(&objects)?;
        // What takes too long, and a pair that cannot be merged, at which git ends, tell of no clash, also the next time.
        let (answers, more) = merged.map_or((Vec::new(), left.len()), |merged| (parse(&merged.stdout), 1));
        let done = answers.len().min(left.len());
        all.extend(left.drain(..done).zip(answers));
        all.extend(left.drain(..left.len().min(more)).map(|pair| (pair, Vec::new())));
    }
    Ok(all)
}

/// The paths with conflicts of each merge: a number, a tree, paths, and an empty field.
fn parse(output: &[u8]) -> Vec<Vec<String>> {
    let text = String::from_utf8_lossy(output).into_owned();
    let mut fields = text.split('\0');
    let mut all = Vec::new();
    while let (Some("0" | "1"), Some(_)) = (fields.next(), fields.next()) {
        all.push(fields.by_ref().take_while(|path| !path.is_empty()).map(in_its_place).collect());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_merge_has_its_paths() {
        let output = ["0", "d1b2", "f", "dir/g h", "", "1", "03e5", "", "0", "b48d", "", ""].join("\0").into_bytes();
        assert_eq!(parse(&output), [vec!["f".to_owned(), "dir/g h".into()], vec![], vec![]]);
        assert_eq!(parse(b""), Vec::<Vec<String>>::new());
        let clash = Clash { a: "adam".into(), b: "eve".into(), paths: vec![] };
        assert_eq!((clash.other("eve"), clash.other("adam"), clash.other("x")), (Some("adam"), Some("eve"), None));
    }
}
