//! What `remove` takes back: the files that apply placed and that nobody changed since.

use std::collections::BTreeSet;

use serde::Serialize;
use shopfloor_core::fs::{Content, Found};
use shopfloor_core::path::RelPath;

use super::env::EnvOperation;
use crate::env_file::{FILE, VarValue};
use crate::facts::CurrentEnvFile;
use crate::facts::removal::RemovalFacts;

#[derive(Debug, Default)]
pub struct RemovePlan {
    pub files: Vec<(RelPath, Content)>,
    /// The directories that apply created, innermost first. Each one is removed if it is then empty.
    pub dirs: Vec<RelPath>,
    /// Takes the applied variables out of `.sweatshop-env`.
    pub env: EnvOperation,
    pub excludes: BTreeSet<String>,
    pub left: Vec<Leftover>,
}

/// An item that stays, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Leftover {
    Path { path: String, why: String },
    Exclude { exclude: String, why: String },
}

impl Leftover {
    pub fn path(path: impl Into<String>, why: impl Into<String>) -> Leftover {
        Leftover::Path { path: path.into(), why: why.into() }
    }

    pub fn is(&self, name: &str) -> bool {
        matches!(self, Leftover::Path { path, .. } if path == name)
    }
}

impl std::fmt::Display for Leftover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Leftover::Path { path, why } => write!(f, "{path} ({why})"),
            Leftover::Exclude { exclude, why } => write!(f, "exclude {exclude} ({why})"),
        }
    }
}

/// Plans everything but the exclude lines, of which those stay that hide what stays.
pub fn plan(facts: &RemovalFacts) -> RemovePlan {
    let mut removal = RemovePlan::default();
    let there = |path: &RelPath| facts.current.get(path).filter(|current| current.found != Found::Missing);
    for (path, placed) in &facts.record.files {
        let Some(current) = there(path) else { continue };
        let why = match (&current.problem, &current.content) {
            (Some(problem), _) => problem.as_str(),
            (None, Some(content)) if placed.has_content(content) => {
                if placed.copied_from.is_none() || facts.originals_alive.contains(path) {
                    removal.files.push((path.clone(), content.clone()));
                    continue;
                }
                "its original is gone or has changed"
            }
            _ if facts.record.caches.contains(path) => "a cache that is not as the main checkout's",
            _ => "changed since it was placed",
        };
        removal.left.push(Leftover::path(path.to_string(), why));
    }
    let unknown = facts.unknown.iter().filter(|path| there(path).is_some());
    removal.left.extend(unknown.map(|path| Leftover::path(path.to_string(), "nothing shows that apply placed it")));
    removal.dirs = facts.record.dirs.iter().rev().cloned().collect();
    plan_env(facts, &mut removal);
    removal
}

impl RemovePlan {
    /// Plans the exclude lines. `needed` are the patterns by which git ignores what stays.
    pub fn plan_excludes(&mut self, facts: &RemovalFacts, needed: &BTreeSet<String>) {
        for pattern in &facts.record.excludes {
            let why = if facts.patterns_elsewhere.contains(pattern) {
                "another worktree relies on it"
            } else if pattern == FILE && self.left.iter().any(|left| left.is(FILE)) {
                "the file stays"
            } else if needed.contains(pattern) || needed.contains(pattern.trim_end_matches(' ')) {
                // git names a pattern without the blanks at its end.
                "the files that stay would make the worktree dirty"
            } else {
                self.excludes.insert(pattern.clone());
                continue;
            };
            self.left.push(Leftover::Exclude { exclude: pattern.clone(), why: why.to_owned() });
        }
    }
}

fn plan_env(facts: &RemovalFacts, removal: &mut RemovePlan) {
    let CurrentEnvFile::File(seen) = &facts.env else {
        if let CurrentEnvFile::Unusable(why) = &facts.env {
            removal.left.push(Leftover::path(FILE, why.clone()));
        }
        return;
    };
    let mut file = seen.file.clone();
    for (key, value) in &facts.record.env_base(&seen.file) {
        if file.value(key) == Some(&VarValue::Text(value.clone())) {
            file.unset(key);
        }
    }
    if file.is_empty() {
        removal.env = EnvOperation::Delete(seen.content.clone());
    } else if file != seen.file {
        removal.env = EnvOperation::Write(file.to_bytes(), Some(seen.content.clone()));
    }
    if !file.is_empty() {
        let keys: Vec<&str> = file.vars().map(|(key, _)| key).collect();
        let what = if keys.is_empty() {
            "lines added by hand".to_owned()
        } else {
            format!("set by hand: {}", keys.join(", "))
        };
        removal.left.push(Leftover::path(FILE, what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applied::{PlacedFile, Record};
    use crate::env_file::EnvFile;
    use crate::facts::files::CurrentFile;
    use crate::facts::files::ReadEnvFile;
    use shopfloor_core::hash::Digest;
    use std::collections::BTreeMap;

    #[test]
    fn unchanged_files_go_and_the_rest_stays_with_a_reason() {
        let rel = |p: &str| RelPath::parse(p).unwrap();
        let file = |t: &str| Content::File(Digest::of(t.as_bytes()));
        let mut record = Record::default();
        for (path, copied) in [(".a", None), (".b", None), (".c", Some("/gone".into())), (".missing", None)] {
            record
                .files
                .insert(rel(path), PlacedFile { layer: None, content: file("1"), copied_from: copied, replaces: None });
        }
        record.excludes = ["x".to_owned(), "y".to_owned(), "z".to_owned(), FILE.to_owned()].into();
        record.env = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        let current = [(".a", "1"), (".b", "2"), (".c", "1")]
            .map(|(p, t)| (rel(p), CurrentFile { found: Found::File(0o644), content: Some(file(t)), problem: None }))
            .into();
        let env = EnvFile::parse(b"A=1\nMINE=2\n");
        let seen = ReadEnvFile { file: env, private: true, content: file("seen") };
        let facts = RemovalFacts {
            record,
            unknown: BTreeSet::new(),
            current,
            originals_alive: BTreeSet::new(),
            env: CurrentEnvFile::File(seen.clone()),
            patterns_elsewhere: BTreeSet::from(["x".to_owned()]),
            unread: Vec::new(),
        };
        let mut removal = plan(&facts);
        removal.plan_excludes(&facts, &BTreeSet::from(["y".to_owned()]));
        assert_eq!(removal.files, [(rel(".a"), file("1"))]);
        assert_eq!(removal.env, EnvOperation::Write(b"MINE=2\n".to_vec(), Some(file("seen"))));
        let left: String = removal.left.iter().map(|left| format!("{left}\n")).collect();
        insta::assert_snapshot!(left, @r"
        .b (changed since it was placed)
        .c (its original is gone or has changed)
        .sweatshop-env (set by hand: MINE)
        exclude .sweatshop-env (the file stays)
        exclude x (another worktree relies on it)
        exclude y (the files that stay would make the worktree dirty)
        ");
    }
}
