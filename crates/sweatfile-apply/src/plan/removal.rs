//! What `remove` takes back: only what apply placed and nobody changed since.

use std::collections::{BTreeMap, BTreeSet};

use shopfloor_core::fs::{Content, Found};
use shopfloor_core::path::RelPath;

use crate::env_file::{EnvFile, FILE, Value};
use crate::facts::{EnvHere, Here};
use crate::record::Record;

#[derive(Debug, Default)]
pub struct Removal {
    pub files: Vec<(RelPath, Content)>,
    /// Directories apply created, innermost first; each goes if it is empty by then.
    pub dirs: Vec<RelPath>,
    /// The env file without what was applied, when that differs; empty bytes: delete it.
    pub env: Option<Vec<u8>>,
    pub excludes: BTreeSet<String>,
    /// What stays, and why.
    pub left: Vec<(String, String)>,
}

/// What is there at each recorded path, and whether a copy's original still has the same content.
pub struct Scene<'a> {
    pub record: &'a Record,
    pub here: &'a BTreeMap<RelPath, Here>,
    pub originals_alive: &'a BTreeSet<RelPath>,
    pub env: &'a EnvHere,
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
        let why = if here.and_then(|h| h.content.as_ref()) != Some(&placed.content) {
            "changed since it was placed"
        } else if placed.copied_from.is_some() && !scene.originals_alive.contains(path) {
            "the original it was copied from is gone or differs by now"
        } else {
            removal.files.push((path.clone(), placed.content.clone()));
            continue;
        };
        removal.left.push((path.to_string(), why.to_owned()));
    }
    removal.dirs = scene.record.dirs.iter().rev().cloned().collect();
    env(scene, &mut removal);
    for pattern in &scene.record.excludes {
        if scene.used_elsewhere.contains(pattern) {
            removal.left.push((format!("exclude {pattern}"), "another worktree relies on it".into()));
        } else if pattern == FILE && removal.left.iter().any(|(what, _)| what == FILE) {
            removal.left.push((format!("exclude {pattern}"), format!("{FILE} stays")));
        } else {
            removal.excludes.insert(pattern.clone());
        }
    }
    removal
}

fn env(scene: &Scene<'_>, removal: &mut Removal) {
    let EnvHere::File(current, _) = scene.env else {
        if let EnvHere::Unusable(why) = scene.env {
            removal.left.push((FILE.to_owned(), why.clone()));
        }
        return;
    };
    let mut file: EnvFile = current.clone();
    for (key, value) in &scene.record.env {
        if file.value(key) == Some(&Value::Text(value.clone())) {
            file.unset(key);
        }
    }
    if file != *current || file.is_empty() {
        removal.env = Some(if file.is_empty() { Vec::new() } else { file.to_bytes() });
    }
    if !file.is_empty() {
        let keys: Vec<&str> = file.vars().map(|(key, _)| key).collect();
        let what = if keys.is_empty() {
            "lines added by hand".to_owned()
        } else {
            format!("set by hand: {}", keys.join(", "))
        };
        removal.left.push((FILE.to_owned(), what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Placed;
    use shopfloor_core::hash::Digest;

    #[test]
    fn takes_the_unchanged_and_says_why_it_leaves_the_rest() {
        let rel = |p: &str| RelPath::parse(p).unwrap();
        let file = |t: &str| Content::File(Digest::of(t.as_bytes()));
        let mut record = Record::default();
        for (path, copied) in [(".a", None), (".b", None), (".c", Some("/gone".into())), (".missing", None)] {
            record.files.insert(rel(path), Placed { layer: None, content: file("1"), copied_from: copied });
        }
        record.excludes = ["x".to_owned(), FILE.to_owned()].into();
        record.env = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        let here = [(".a", "1"), (".b", "2"), (".c", "1")]
            .map(|(p, t)| (rel(p), Here { found: Found::File(0o644), content: Some(file(t)) }))
            .into();
        let removal = plan(&Scene {
            record: &record,
            here: &here,
            originals_alive: &BTreeSet::new(),
            env: &EnvHere::File(EnvFile::parse(b"A=1\nMINE=2\n"), true),
            used_elsewhere: &BTreeSet::from(["x".to_owned()]),
        });
        assert_eq!(removal.files, [(rel(".a"), file("1"))]);
        assert_eq!(removal.env, Some(b"MINE=2\n".to_vec()));
        let left: String = removal.left.iter().map(|(what, why)| format!("{what}: {why}\n")).collect();
        insta::assert_snapshot!(left, @r"
        .b: changed since it was placed
        .c: the original it was copied from is gone or differs by now
        .sweatshop-env: set by hand: MINE
        exclude .sweatshop-env: .sweatshop-env stays
        exclude x: another worktree relies on it
        ");
    }
}
