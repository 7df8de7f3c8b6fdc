//! The conflicts of a rebase, read from the index alone.

use std::collections::BTreeMap;
use std::path::Path;

use shopfloor_core::error::Result;
use shopfloor_core::fs::Root;
use shopfloor_core::git::failed;
use shopfloor_core::path::RelPath;

use crate::clone::SourceClone;

/// A file with conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictedFile {
    pub path: String,
    /// From the index alone: `content`, `add/add`, `modify/delete` or `rename/rename`.
    pub kind: &'static str,
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
pub fn read_conflicts(clone: &SourceClone, worktree: &Path) -> Result<Vec<ConflictedFile>> {
    let listed = clone.run(worktree, &["ls-files", "-u", "-z"])?;
    if !listed.status.success() {
        return Err(failed("ls-files", &listed));
    }
    let mut stages: BTreeMap<RelPath, Vec<u8>> = BTreeMap::new();
    for entry in listed.stdout.split(|b| *b == 0) {
        let Some(tab) = entry.iter().position(|b| *b == b'\t') else { continue };
        let stage = entry[..tab].last().map_or(0, |b| b.saturating_sub(b'0'));
        stages.entry(clone.path_in(worktree, &entry[tab + 1..])?).or_default().push(stage);
    }
    let root = Root::open(worktree)?;
    let kind = |stages: &[u8]| match stages {
        [1, 2, 3] => "content",
        [2, 3] => "add/add",
        [1, 2] | [1, 3] => "modify/delete",
        _ => "rename/rename",
    };
    let conflict = |(path, stages): (RelPath, Vec<u8>)| {
        let (bytes, _) = root.read_whole(&path).ok().flatten().unwrap_or_default();
        let (text, path) =
            (String::from_utf8_lossy(&bytes).into_owned(), path.as_path().to_string_lossy().into_owned());
        let markers = text.lines().filter(|line| line.starts_with("<<<<<<< ")).count();
        ConflictedFile { kind: kind(&stages), markers, regions: regions(&text), path }
    };
    Ok(stages.into_iter().map(conflict).collect())
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
