//! What `remove` takes back: only what apply placed and nobody changed since.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use shopfloor_core::fs::{Content, Found};
use shopfloor_core::path::RelPath;

use super::EnvWork;
use crate::env_file::{FILE, Value};
use crate::facts::{EnvHere, Here};
use crate::record::{Placed, Record};

#[derive(Debug, Default)]
pub struct Removal {
    pub files: Vec<(RelPath, Content)>,
    /// Directories apply created, innermost first; each goes if it is empty by then.
    pub dirs: Vec<RelPath>,
    /// `.sweatshop-env` without what was applied.
    pub env: EnvWork,
    pub excludes: BTreeSet<String>,
    /// What stays, and why.
    pub left: Vec<Left>,
}

/// Something that stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Left {
    #[serde(flatten)]
    pub what: What,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    Path(String),
    Exclude(String),
}

impl Left {
    pub fn path(path: impl Into<String>, why: impl Into<String>) -> Left {
        Left { what: What::Path(path.into()), why: why.into() }
    }

    pub fn is(&self, path: &RelPath) -> bool {
        self.what == What::Path(path.to_string())
    }
}

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.what {
            What::Path(path) => write!(f, "{path} ({})", self.why),
            What::Exclude(pattern) => write!(f, "exclude {pattern} ({})", self.why),
        }
    }
}

/// What is there at each recorded path, and whether a copy's original still has the same content.
pub struct Scene<'a> {
    pub record: &'a Record,
    pub here: &'a BTreeMap<RelPath, Here>,
    pub originals_alive: &'a BTreeSet<RelPath>,
    pub env: &'a EnvHere,
    /// Patterns by which git ignores the recorded files that changed since, and so stay.
    pub needed: &'a BTreeSet<String>,
    /// Patterns that other worktrees' records name.
    pub used_elsewhere: &'a BTreeSet<String>,
}

pub fn plan(scene: &Scene<'_>) -> Removal {
    let mut removal = Removal::default();
    for (path, placed) in &scene.record.files {
        let here = scene.here.get(path);
        let found = here.map_or(&Found::Missing, |h| &h.found);
        if *found == Found::Missing {
            continue;
        }
        match reason_to_stay(scene, path, placed) {
            Some(why) => removal.left.push(Left::path(path.to_string(), why)),
            None => removal.files.extend(here.and_then(|h| h.content.clone()).map(|content| (path.clone(), content))),
        }
    }
    removal.dirs = scene.record.dirs.iter().rev().cloned().collect();
    env(scene, &mut removal);
    for pattern in &scene.record.excludes {
        let why = if scene.used_elsewhere.contains(pattern) {
            "another worktree relies on it"
        } else if pattern == FILE && removal.left.iter().any(|left| left.what == What::Path(FILE.to_owned())) {
            "the file stays"
        } else if scene.needed.contains(pattern) {
            "what stays here would make the worktree dirty"
        } else {
            removal.excludes.insert(pattern.clone());
            continue;
        };
        removal.left.push(Left { what: What::Exclude(pattern.clone()), why: why.to_owned() });
    }
    removal
}

/// Why a recorded file must stay, if it must.
pub fn reason_to_stay(scene: &Scene<'_>, path: &RelPath, placed: &Placed) -> Option<String> {
    let here = scene.here.get(path);
    if let Some(problem) = here.and_then(|h| h.problem.clone()) {
        return Some(problem);
    }
    if !here.and_then(|h| h.content.as_ref()).is_some_and(|content| placed.is(content)) {
        Some("changed since it was placed".to_owned())
    } else if placed.copied_from.is_some() && !scene.originals_alive.contains(path) {
        Some("the original it was copied from is gone or differs by now".to_owned())
    } else {
        None
    }
}

fn env(scene: &Scene<'_>, removal: &mut Removal) {
    let EnvHere::File(seen) = scene.env else {
        if let EnvHere::Unusable(why) = scene.env {
            removal.left.push(Left::path(FILE, why.clone()));
        }
        return;
    };
    let mut file = seen.file.clone();
    for (key, value) in &scene.record.env_base(&seen.file) {
        if file.value(key) == Some(&Value::Text(value.clone())) {
            file.unset(key);
        }
    }
    if file.is_empty() {
        removal.env = EnvWork::Delete(seen.content.clone());
    } else if file != seen.file {
        removal.env = EnvWork::Write(file.to_bytes(), Some(seen.content.clone()));
    }
    if !file.is_empty() {
        let keys: Vec<&str> = file.vars().map(|(key, _)| key).collect();
        let what = if keys.is_empty() {
            "lines added by hand".to_owned()
        } else {
            format!("set by hand: {}", keys.join(", "))
        };
        removal.left.push(Left::path(FILE, what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env_file::EnvFile;
    use crate::facts::EnvSeen;
    use shopfloor_core::hash::Digest;

    #[test]
    fn takes_the_unchanged_and_says_why_it_leaves_the_rest() {
        let rel = |p: &str| RelPath::parse(p).unwrap();
        let file = |t: &str| Content::File(Digest::of(t.as_bytes()));
        let mut record = Record::default();
        for (path, copied) in [(".a", None), (".b", None), (".c", Some("/gone".into())), (".missing", None)] {
            record
                .files
                .insert(rel(path), Placed { layer: None, content: file("1"), copied_from: copied, replaces: None });
        }
        record.excludes = ["x".to_owned(), "y".to_owned(), "z".to_owned(), FILE.to_owned()].into();
        record.env = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        let here = [(".a", "1"), (".b", "2"), (".c", "1")]
            .map(|(p, t)| (rel(p), Here { found: Found::File(0o644), content: Some(file(t)), problem: None }))
            .into();
        let env = EnvFile::parse(b"A=1\nMINE=2\n");
        let seen = EnvSeen { file: env, private: true, content: file("seen") };
        let removal = plan(&Scene {
            record: &record,
            here: &here,
            originals_alive: &BTreeSet::new(),
            env: &EnvHere::File(seen.clone()),
            needed: &BTreeSet::from(["y".to_owned()]),
            used_elsewhere: &BTreeSet::from(["x".to_owned()]),
        });
        assert_eq!(removal.files, [(rel(".a"), file("1"))]);
        assert_eq!(removal.env, EnvWork::Write(b"MINE=2\n".to_vec(), Some(file("seen"))));
        let left: String = removal.left.iter().map(|left| format!("{left}\n")).collect();
        insta::assert_snapshot!(left, @r"
        .b (changed since it was placed)
        .c (the original it was copied from is gone or differs by now)
        .sweatshop-env (set by hand: MINE)
        exclude .sweatshop-env (the file stays)
        exclude x (another worktree relies on it)
        exclude y (what stays here would make the worktree dirty)
        ");
    }
}
