//! The plan of a review: the answers in, every step out.

use std::collections::BTreeMap;

use serde::Serialize;

use super::env::EnvOperation;
use crate::env_file::EnvFile;
use crate::facts::CurrentEnvFile;
use crate::review::{Change, changes};

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

#[cfg(test)]
mod tests {
    use shopfloor_core::fs::Content;
    use shopfloor_core::hash::Digest;

    use super::*;
    use crate::facts::env_file::ReadEnvFile;

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
