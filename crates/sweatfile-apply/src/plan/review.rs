//! The plan of a review: the answers in, every step out.

use std::collections::BTreeMap;

use serde::Serialize;
use shopfloor_core::error::{Failure, Result};

use super::env::EnvOperation;
use crate::env_file::EnvFile;
use crate::env_variable;
use crate::facts::CurrentEnvFile;
use crate::layer::Layer;
use crate::review::{Change, changes, promote};
use crate::template;

/// A person's decision about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    Promote,
    Keep,
    Discard,
}

#[derive(Debug, PartialEq, Eq)]
pub struct ReviewPlan {
    pub decided: Vec<(Change, Answer)>,
    /// Changes without an answer.
    pub open: Vec<Change>,
    pub env: EnvOperation,
    /// The snapshot afterwards; none when the review is finished.
    pub snapshot: Option<EnvFile>,
}

impl ReviewPlan {
    pub fn promoted(&self) -> Vec<&Change> {
        self.decided.iter().filter(|(_, answer)| *answer == Answer::Promote).map(|(change, _)| change).collect()
    }
}

/// Makes the plan. An answer applies only to the change that was shown: a variable that changed again since stays open.
pub fn plan(before: &EnvFile, here: &CurrentEnvFile, answers: &BTreeMap<String, (Answer, Change)>) -> ReviewPlan {
    let now = here.variables();
    let (mut file, mut snapshot) = (now.clone(), before.clone());
    let (mut decided, mut open) = (Vec::new(), Vec::new());
    for change in changes(before, &now) {
        match (answers.get(&change.key).filter(|(_, shown)| *shown == change).map(|(answer, _)| *answer), &change.old) {
            (None, _) => {
                open.push(change);
                continue;
            }
            (Some(Answer::Discard), Some(old)) => file.set(&change.key, old),
            (Some(Answer::Discard), None) => file.unset(&change.key),
            (Some(Answer::Promote | Answer::Keep), _) => snapshot.set(&change.key, &change.new),
        }
        decided.push((change.clone(), answers[&change.key].0));
    }
    let env = match here {
        CurrentEnvFile::File(seen) if file != seen.file && file.is_empty() => {
            EnvOperation::Delete(seen.content.clone())
        }
        CurrentEnvFile::File(seen) if file != seen.file => {
            EnvOperation::Write(file.to_bytes(), Some(seen.content.clone()))
        }
        _ => EnvOperation::Nothing,
    };
    let snapshot = (!open.is_empty()).then_some(snapshot);
    ReviewPlan { decided, open, env, snapshot }
}

/// The edited text of the repository's sweatfile.
#[derive(Debug)]
pub struct PromotionPlan {
    /// The bytes of the sweatfile before; none when there was no file.
    pub before: Option<Vec<u8>>,
    pub after: String,
    /// The variables and their values.
    pub values: Vec<(String, String)>,
    /// What a person should know about the values.
    pub notes: Vec<String>,
}

/// Edits the text of `layer` so that it sets each changed variable; exit 2 when one of them cannot be promoted.
pub fn promotion(layer: &Layer, changes: &[&Change]) -> Result<PromotionPlan> {
    let before = layer.text.as_ref().map(|t| t.bytes.clone());
    let is_template = layer.text.as_ref().is_some_and(|t| t.parsed.sweatfile.template);
    let mut after = String::from_utf8_lossy(before.as_deref().unwrap_or_default()).into_owned();
    let (mut values, mut notes) = (Vec::new(), Vec::new());
    for change in changes {
        let key = &change.key;
        let refuse = |why: &str| {
            Failure::usage(format!("cannot promote {key}: {why}")).hint(format!(
                "no answer was carried out; keep {key} or discard it, or write it into the sweatfile by hand"
            ))
        };
        let value = &env_variable::common_value(&change.line).map_err(|why| refuse(&why))?;
        if is_template && template::has_placeholder(value) {
            return Err(refuse("its value would be taken for a placeholder in a sweatfile with `template = true`"));
        }
        if value.is_empty() {
            notes.push(format!("{key} = \"\" in a sweatfile removes an inherited value and does not set an empty one"));
        }
        after = promote(&after, key, value).map_err(|why| {
            Failure::malformed(format!("cannot edit {}: {why}", layer.path.display())).hint("edit it by hand")
        })?;
        values.push((key.clone(), value.clone()));
    }
    Ok(PromotionPlan { before, after, values, notes })
}

#[cfg(test)]
mod tests {
    use shopfloor_core::fs::Content;
    use shopfloor_core::hash::Digest;

    use super::*;
    use crate::facts::files::ReadEnvFile;

    #[test]
    fn each_answer_moves_what_it_should_and_a_newer_change_stays_open() {
        let before = EnvFile::parse(b"A=1\nB=1\nC=1\n");
        let now = EnvFile::parse(b"A=2\nB=2\nC=2\nD=2\n");
        let content = Content::File(Digest::of(b""));
        let here = CurrentEnvFile::File(ReadEnvFile { file: now.clone(), private: true, content: content.clone() });
        let mut answers: BTreeMap<_, _> = changes(&before, &now)
            .into_iter()
            .zip([Answer::Promote, Answer::Discard, Answer::Keep, Answer::Discard])
            .map(|(change, answer)| (change.key.clone(), (answer, change)))
            .collect();
        let through = plan(&before, &here, &answers);
        assert_eq!(through.env, EnvOperation::Write(b"A=2\nB=1\nC=2\n".to_vec(), Some(content)));
        assert_eq!((through.snapshot, through.open.len(), through.decided.len()), (None, 0, 4));

        answers.get_mut("D").unwrap().1.new = crate::env_file::VarValue::Text("shown".into());
        let later = plan(&before, &here, &answers);
        assert_eq!(later.open[0].key, "D");
        assert_eq!(later.snapshot.unwrap().to_bytes(), b"A=2\nB=1\nC=2\n");
    }
}
