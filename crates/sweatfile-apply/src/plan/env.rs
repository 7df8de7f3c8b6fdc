//! `.sweatshop-env`: a three-way merge of what the sweatfiles want now, what was applied last, and
//! what the file says, in which a person's own change always stays.

use std::collections::BTreeMap;

use crate::env_file::{EnvFile, FILE, Readers, Value, quote};
use crate::facts::{EnvHere, Facts};
use crate::layer::Merged;
use crate::report::Action;
use crate::template;

#[derive(Debug, PartialEq, Eq)]
pub struct EnvStep {
    pub action: Action,
    pub keys: Vec<String>,
    pub why: Option<String>,
    pub work: EnvWork,
    /// The base of the next merge: the `[env]` values of now.
    pub base: BTreeMap<String, String>,
    pub warnings: Vec<String>,
    pub drift: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum EnvWork {
    Nothing,
    /// The file's new bytes.
    Write(Vec<u8>),
    Delete,
}

/// The true `[env]` values, placeholders filled in.
pub fn wanted(merged: &Merged, facts: &Facts) -> BTreeMap<String, String> {
    let value = |v: &crate::layer::EnvValue| {
        if v.template { template::expand(&v.text, &facts.template) } else { v.text.clone() }
    };
    merged.env.iter().map(|(key, v)| (key.clone(), value(v))).collect()
}

pub fn plan(wanted: &BTreeMap<String, String>, facts: &Facts) -> EnvStep {
    let mut step = EnvStep {
        action: Action::Unchanged,
        keys: wanted.keys().cloned().collect(),
        why: None,
        work: EnvWork::Nothing,
        base: wanted.clone(),
        warnings: wanted.iter().filter_map(|(key, value)| spelling_warning(key, value)).collect(),
        drift: Vec::new(),
    };
    let (current, private) = match &facts.env {
        EnvHere::Unusable(why) => {
            step.action = Action::Failed;
            step.why = Some(why.clone());
            step.drift.push(format!("{FILE}: {why}"));
            step.base = facts.record.env.clone();
            return step;
        }
        EnvHere::Missing => (None, true),
        EnvHere::File(file, private) => (Some(file), *private),
    };
    let (file, differences) = merge(wanted, &facts.record.env, current);
    step.drift = differences;
    if file.is_empty() {
        if current.is_some() {
            step.action = Action::Created;
            step.why = Some("removed, nothing is left in it".into());
            step.work = EnvWork::Delete;
        }
    } else if !step.drift.is_empty() || !private {
        if !private {
            step.drift.push(format!("{FILE}: readable by others"));
        }
        step.action = Action::Created;
        step.work = EnvWork::Write(file.to_bytes());
    }
    step
}

/// Merges, and tells each difference from `current`. A missing file is not an edit that removed
/// everything: it was lost, and is written again.
fn merge(
    wanted: &BTreeMap<String, String>,
    base: &BTreeMap<String, String>,
    current: Option<&EnvFile>,
) -> (EnvFile, Vec<String>) {
    let mut file = current.cloned().unwrap_or_default();
    let no_base = BTreeMap::new();
    let base = if current.is_some() { base } else { &no_base };
    let mut differences = Vec::new();
    for (key, value) in wanted {
        let new = Value::Text(value.clone());
        let old = base.get(key).map(|v| Value::Text(v.clone()));
        let here = file.value(key).cloned();
        // By hand: the file differs from what was applied last. A removal by hand gives way to a new
        // value, a change never does.
        let by_hand = here != old && !(here.is_none() && old.as_ref() != Some(&new));
        if by_hand || here.as_ref() == Some(&new) {
            continue;
        }
        file.set(key, &new);
        let what = if here.is_none() { "is not written" } else { "has an older value" };
        differences.push(format!("{FILE}: {key} {what}"));
    }
    for (key, old) in base.iter().filter(|(key, _)| !wanted.contains_key(*key)) {
        if file.value(key) == Some(&Value::Text(old.clone())) {
            file.unset(key);
            differences.push(format!("{FILE}: {key} is no longer in the sweatfiles"));
        }
    }
    (file, differences)
}

fn spelling_warning(key: &str, value: &str) -> Option<String> {
    match quote(value).1 {
        Readers::Both => None,
        Readers::ShOnly => {
            Some(format!("the value of {key} has no spelling that sh and direnv read alike ({FILE} is right for sh)"))
        }
        Readers::NotSh => Some(format!(
            "the value of {key} contains a newline, which {FILE} cannot carry to sh (setup commands see the real one)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    fn merged(wanted: &[(&str, &str)], base: &[(&str, &str)], current: &str) -> String {
        let (file, _) = merge(&map(wanted), &map(base), Some(&EnvFile::parse(current.as_bytes())));
        String::from_utf8(file.to_bytes()).unwrap()
    }

    #[test]
    fn what_a_person_did_stays() {
        assert_eq!(merged(&[("A", "2")], &[("A", "1")], "A=1\n"), "A=2\n");
        assert_eq!(merged(&[("A", "2")], &[("A", "1")], "A=mine\n"), "A=mine\n");
        assert_eq!(merged(&[("A", "1")], &[("A", "1")], "A=1\nMINE=1\n"), "A=1\nMINE=1\n");
        assert_eq!(merged(&[], &[("A", "1")], "A=1\n"), "");
        assert_eq!(merged(&[], &[("A", "1")], "A=mine\n"), "A=mine\n");
        assert_eq!(merged(&[("A", "1")], &[("A", "1")], "# kept\n"), "# kept\n");
        assert_eq!(merged(&[("A", "2")], &[("A", "1")], "# kept\n"), "# kept\nA=2\n");
        assert_eq!(merged(&[("A", "1")], &[], "A=$HOME\n"), "A=$HOME\n");
    }

    #[test]
    fn a_lost_file_is_written_again() {
        let (file, differences) = merge(&map(&[("A", "1")]), &map(&[("A", "1")]), None);
        assert_eq!((file.to_bytes(), differences.len()), (b"A=1\n".to_vec(), 1));
    }

    proptest! {
        #[test]
        fn merging_again_changes_nothing_and_hands_win(
            wanted in proptest::collection::btree_map("[A-D]", "[12]", 0..4),
            base in proptest::collection::btree_map("[A-D]", "[12]", 0..4),
            current in proptest::collection::btree_map("[A-D]", "[123]", 0..4),
        ) {
            let mut file = EnvFile::default();
            for (k, v) in &current {
                file.set(k, &Value::Text(v.clone()));
            }
            let (once, _) = merge(&wanted, &base, Some(&file));
            let (twice, differences) = merge(&wanted, &wanted, Some(&once));
            prop_assert_eq!(&twice, &once);
            prop_assert!(differences.is_empty());
            for (k, v) in &current {
                if base.get(k) != Some(v) {
                    prop_assert_eq!(once.value(k), Some(&Value::Text(v.clone())));
                }
            }
        }
    }
}
