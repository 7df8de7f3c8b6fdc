//! The plan for `.sweatshop-env`: a three-way merge of the sweatfiles' values, the values applied last and the file. A
//! person's own change always stays.

use std::collections::BTreeMap;

use shopfloor_core::fs::Content;

use crate::env_file::{EnvFile, FILE, VarValue, spelling_problem};
use crate::facts::{CurrentEnvFile, Facts};
use crate::layer::{EnvValue, MergedLayers};
use crate::report::{EnvLine, ItemAction};
use crate::template;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct EnvStep {
    /// What the report says of it.
    pub line: EnvLine,
    pub operation: EnvOperation,
    /// The file as it is, and as it will be.
    pub before: EnvFile,
    pub after: EnvFile,
    /// The base of this merge: the values in the file that apply wrote, including a killed run.
    pub was: BTreeMap<String, String>,
    /// The base of the next merge: the current `[env]` values.
    pub base: BTreeMap<String, String>,
    pub warnings: Vec<String>,
    pub drift: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EnvOperation {
    #[default]
    Nothing,
    /// Write these bytes in place of the content that was read, or of no file.
    Write(Vec<u8>, Option<Content>),
    /// Delete the content that was read.
    Delete(Content),
}

/// The true `[env]` values, with placeholders filled in.
pub fn wanted(merged: &MergedLayers, facts: &Facts) -> BTreeMap<String, String> {
    let value = |v: &EnvValue| {
        if v.template { template::expand(&v.text, &facts.placeholders) } else { v.text.clone() }
    };
    merged.env.iter().map(|(key, v)| (key.clone(), value(v))).collect()
}

/// Makes the plan. While a layer is left out because it is not approved, the values applied before stay as they are.
pub fn plan(merged: &MergedLayers, wanted: &BTreeMap<String, String>, facts: &Facts) -> EnvStep {
    let mut step = EnvStep {
        line: EnvLine { keys: wanted.keys().cloned().collect(), ..EnvLine::default() },
        was: facts.record.env.clone(),
        base: wanted.clone(),
        warnings: wanted.iter().filter_map(spelling_warning).collect(),
        ..EnvStep::default()
    };
    let current = match &facts.env {
        CurrentEnvFile::Unusable(why) => {
            step.line.action = ItemAction::Failed;
            step.line.why = Some(why.clone());
            step.drift.push(format!("{FILE}: {why}"));
            step.base = facts.record.env.clone();
            return step;
        }
        CurrentEnvFile::Missing => None,
        CurrentEnvFile::File(read) => Some(read),
    };
    let base = current.map(|c| facts.record.env_base(&c.file)).unwrap_or_default();
    step.was = base.clone();
    let left_alone = if merged.left_out { base.clone() } else { BTreeMap::new() };
    let wanted = &wanted.iter().filter(|(key, _)| !left_alone.contains_key(*key)).map(owned).collect();
    let gone = base.iter().filter(|(key, _)| !left_alone.contains_key(*key)).map(owned).collect();
    let (file, mut differences) = merge(wanted, &gone, current.map(|c| &c.file));
    step.base.extend(left_alone);
    step.before = current.map(|c| c.file.clone()).unwrap_or_default();
    step.after = file.clone();
    if current.is_some_and(|c| !c.private && !file.is_empty()) {
        differences.push(EnvDifference::new("readable by others".to_owned()));
    }
    step.drift = differences.iter().map(|difference| difference.drift.clone()).collect();
    let content = current.map(|c| c.content.clone());
    match content {
        // A file emptied by hand stays empty: it is deleted only when no value is wanted any more.
        Some(content) if file.is_empty() && wanted.is_empty() && step.base.is_empty() => {
            step.line.action = ItemAction::Created;
            step.line.why = Some("removed, nothing is left in it".into());
            step.operation = EnvOperation::Delete(content);
        }
        content if !step.drift.is_empty() => {
            step.line.action = ItemAction::Created;
            step.line.why =
                Some(differences.into_iter().map(|difference| difference.reason).collect::<Vec<_>>().join(", "));
            step.operation = EnvOperation::Write(file.to_bytes(), content);
        }
        _ => {}
    }
    step
}

/// How the file differs from what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EnvDifference {
    /// As `check` says it.
    drift: String,
    /// Why apply writes the file.
    reason: String,
}

impl EnvDifference {
    fn new(what: String) -> EnvDifference {
        EnvDifference { drift: format!("{FILE}: {what}"), reason: what }
    }
}

/// Merges, and lists each difference from `current`. For a missing file the base is empty: the file was lost, not
/// edited, and is written again.
fn merge(
    wanted: &BTreeMap<String, String>,
    base: &BTreeMap<String, String>,
    current: Option<&EnvFile>,
) -> (EnvFile, Vec<EnvDifference>) {
    let mut file = current.cloned().unwrap_or_default();
    let mut differences = Vec::new();
    for (key, value) in wanted {
        let new = VarValue::Text(value.clone());
        let old = base.get(key).map(|v| VarValue::Text(v.clone()));
        let value_here = file.value(key).cloned();
        // A value that differs from the one applied last was changed by hand. A removal by hand gives way to a new
        // value; a change never does.
        let by_hand = value_here != old && !(value_here.is_none() && old.as_ref() != Some(&new));
        if by_hand || value_here.as_ref() == Some(&new) {
            continue;
        }
        file.set(key, &new);
        differences.push(match value_here {
            None => EnvDifference { drift: format!("{FILE}: {key} is missing"), reason: format!("{key} is new") },
            Some(_) => EnvDifference::new(format!("{key} has an older value")),
        });
    }
    for (key, old) in base.iter().filter(|(key, _)| !wanted.contains_key(*key)) {
        if file.value(key) == Some(&VarValue::Text(old.clone())) {
            file.unset(key);
            differences.push(EnvDifference::new(format!("{key} is no longer in the sweatfiles")));
        }
    }
    (file, differences)
}

fn owned((key, value): (&String, &String)) -> (String, String) {
    (key.clone(), value.clone())
}

fn spelling_warning((key, value): (&String, &String)) -> Option<String> {
    spelling_problem(value).map(|problem| format!("the value of {key} {problem}"))
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
    fn a_persons_change_stays() {
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
        let (file, differences) = merge(&map(&[("A", "1")]), &map(&[]), None);
        assert_eq!((file.to_bytes(), differences.len()), (b"A=1\n".to_vec(), 1));
    }

    proptest! {
        #[test]
        fn merging_again_changes_nothing_and_edits_by_hand_win(
            wanted in proptest::collection::btree_map("[A-D]", "[12]", 0..4),
            base in proptest::collection::btree_map("[A-D]", "[12]", 0..4),
            current in proptest::collection::btree_map("[A-D]", "[123]", 0..4),
        ) {
            let mut file = EnvFile::default();
            for (k, v) in &current {
                file.set(k, &VarValue::Text(v.clone()));
            }
            let (once, _) = merge(&wanted, &base, Some(&file));
            let (twice, differences) = merge(&wanted, &wanted, Some(&once));
            prop_assert_eq!(&twice, &once);
            prop_assert!(differences.is_empty());
            for (k, v) in &current {
                if base.get(k) != Some(v) {
                    prop_assert_eq!(once.value(k), Some(&VarValue::Text(v.clone())));
                }
            }
        }
    }
}
