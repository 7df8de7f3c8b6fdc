//! The conflicts of a rebase, read from the index alone.

use std::collections::BTreeMap;
use std::path::Path;

use shopfloor_core::error::Result;
use shopfloor_core::fs::Root;
use shopfloor_core::git::failed;
use shopfloor_core::path::RelPath;

use crate::work_repo::WorkRepo;

/// A file with conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictedFile {
    pub path: String,
    /// What happened to it, from the index alone: `content`, `binary`, `add/add`, `modify/delete`, `rename/rename`, or in
    /// words.
    pub kind: String,
    /// How many conflicting regions the file has.
    pub markers: usize,
    /// The conflicting regions with context, with the file's line numbers.
    pub regions: String,
}

impl ConflictedFile {
    /// The path and the kind, for a person.
    pub fn describe(&self) -> String {
        format!("{} ({})", self.path, self.kind)
    }
}

/// How many lines of context are shown around a conflict, and how many lines in total.
const CONTEXT: usize = 3;
const MAX_LINES: usize = 80;

/// The files with conflicts, sorted by path.
pub fn read_conflicts(repo: &WorkRepo, worktree: &Path) -> Result<Vec<ConflictedFile>> {
    let listed = repo.run(worktree, &["ls-files", "-u", "-z"])?;
    if !listed.status.success() {
        return Err(failed("ls-files", &listed));
    }
    let mut stages: BTreeMap<RelPath, Vec<Stage>> = BTreeMap::new();
    for entry in listed.stdout.split(|b| *b == 0) {
        let Some(tab) = entry.iter().position(|b| *b == b'\t') else { continue };
        let stage = (entry[..tab].last().map_or(0, |b| b.saturating_sub(b'0')), what(entry));
        stages.entry(repo.path_in(worktree, &entry[tab + 1..])?).or_default().push(stage);
    }
    let root = Root::open(worktree)?;
    let conflict = |(path, own): (&RelPath, &Vec<Stage>)| {
        let (bytes, _) = root.read_whole(path).ok().flatten().unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let kind = match kind(path.as_path(), own, &stages, &repo.branch) {
            kind if kind == "content" && bytes.contains(&0) => "binary".to_owned(),
            kind => kind,
        };
        let markers = text.lines().filter(|line| line.starts_with("<<<<<<< ")).count();
        let path = path.as_path().to_string_lossy().into_owned();
        ConflictedFile { kind, markers, regions: regions(&text), path }
    };
    Ok(stages.iter().map(conflict).collect())
}

/// A version of a file in the index: its number (the one before, the default branch's, the worker's), and what it is.
type Stage = (u8, &'static str);

/// What a line of `git ls-files -u` is about, by the mode at its beginning.
fn what(entry: &[u8]) -> &'static str {
    match entry {
        _ if entry.starts_with(b"120") => "link",
        _ if entry.starts_with(b"160") => "submodule",
        _ => "file",
    }
}

/// The kind of a conflict. Where two things cannot have one name, git gives one of them the name with `~` and a commit.
fn kind(path: &Path, own: &[Stage], all: &BTreeMap<RelPath, Vec<Stage>>, branch: &str) -> String {
    let plain_name = |path: &Path| {
        let named = path.to_string_lossy().into_owned();
        let is_label = |label: &str| label == "HEAD" || label.bytes().take_while(u8::is_ascii_hexdigit).count() >= 7;
        let plain = named.rsplit_once('~').filter(|(_, label)| is_label(label)).map(|(plain, _)| plain.to_owned());
        plain.unwrap_or(named)
    };
    let (named, plain) = (path.to_string_lossy(), plain_name(path));
    let stages: Vec<u8> = own.iter().map(|(stage, _)| *stage).collect();
    // The other of the two is at the plain name, or has it as a directory.
    let others = all.iter().filter(|(other, _)| other.as_path() != path && plain_name(other.as_path()) == plain);
    let mut all_there = own.iter().chain(others.flat_map(|(_, stages)| stages)).map(|(_, what)| *what);
    let first = all_there.next().unwrap_or_default();
    if let Some(other) = all_there.find(|other| *other != first) {
        return format!("{first} against {other}");
    }
    let is_renamed = all.values().any(|stages| matches!(stages[..], [(1, _)]));
    match (&stages[..], path.parent()) {
        _ if plain != named => "file against directory".to_owned(),
        ([1, 2, 3], _) if first != "file" => format!("{first} changed by both"),
        ([1, 2, 3], _) => "content".to_owned(),
        ([2, 3], _) => "add/add".to_owned(),
        ([1, 2] | [1, 3], _) => "modify/delete".to_owned(),
        ([2 | 3], Some(dir)) if !is_renamed => {
            let who = if stages == [3] { branch } else { "the work" };
            format!("new file in a directory that {who} renamed to {}", dir.display())
        }
        _ => "rename/rename".to_owned(),
    }
}

fn regions(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = vec![false; lines.len()];
    let mut from = None;
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with("<<<<<<< ") {
            from = Some(at);
        } else if line.starts_with(">>>>>>> ")
            && let Some(start) = from.take()
        {
            let end = (at + CONTEXT + 1).min(lines.len());
            shown[start.saturating_sub(CONTEXT)..end].fill(true);
        }
    }
    let mut out = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(at, _)| shown[*at]) {
        if at > 0 && !shown[at - 1] && !out.is_empty() {
            out.push("...".to_owned());
        }
        out.push(format!("{:>5}  {line}", at + 1));
    }
    if out.len() > MAX_LINES {
        out.truncate(MAX_LINES);
        out.push("... and more".to_owned());
    }
    out.join("\n")
}

/// The files, out of `files`, that still have conflict markers in a commit.
pub fn left_markers(repo: &WorkRepo, sha: &str, files: &[String]) -> Result<Vec<String>> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let mut args =
        vec!["--literal-pathspecs", "grep", "--no-color", "-l", "-z", "-E", "^(<<<<<<<|>>>>>>>) ", sha, "--"];
    args.extend(files.iter().map(String::as_str));
    let grep = repo.run(&repo.top, &args)?;
    // git grep exits with 1 when nothing matches.
    if grep.status.code() > 1 {
        return Err(failed("grep", &grep));
    }
    let (text, prefix) = (grep.text(), format!("{sha}:"));
    Ok(text.split('\0').filter_map(|name| name.strip_prefix(&prefix)).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicting_regions_are_shown_with_context() {
        let text = "1\n2\n3\n4\n<<<<<<< HEAD\nbase\n=======\nmine\n>>>>>>> x\n10\n11\n12\n13\n14\n15\n16\n17\n\
                    <<<<<<< HEAD\n=======\n>>>>>>> x\n";
        let shown = regions(text);
        let lines: Vec<&str> = shown.lines().map(str::trim_start).collect();
        assert_eq!(lines.first(), Some(&"2  2"));
        assert!(lines.contains(&"12  12") && lines.contains(&"..."), "{shown}");
        assert!(!lines.contains(&"13  13"));
        assert_eq!(regions("nothing\n"), "");
    }
}
