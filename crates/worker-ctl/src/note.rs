//! Notes and faults of a worker. They are stored as values, so that their sentences can be reworded.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// Something that a person should know about a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub enum Note {
    /// The worker committed again while its work waited for review.
    CommittedAgain,
    /// Conflict markers are left in this file.
    MarkersLeft(String),
    /// The worker aborted the rebase.
    GaveUp,
    /// After the rebase the branch has none of the worker's commits.
    WorkGone,
    /// A command was killed after it had typed a text with this purpose, perhaps before the key that submits it.
    Unsubmitted(String),
    /// A command was killed before it typed a text with this purpose.
    NotTyped(String),
    /// The program of the worker with this name was restarted and does not know its task.
    #[serde(rename = "untold")]
    TaskUnknown(String),
    /// The worktree is on another branch than the worker's own, or on none.
    OnBranch(Option<String>),
    /// The worker's branch, which has this name, was deleted.
    BranchGone(String),
    /// A sentence that an earlier version wrote.
    Text(String),
}

impl Note {
    /// Whether the note is about the branch. Such a note does not depend on the task.
    pub fn is_of_branch(&self) -> bool {
        matches!(self, Note::OnBranch(_) | Note::BranchGone(_))
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::CommittedAgain => f.write_str("it committed again after it was done"),
            Note::MarkersLeft(file) => write!(f, "conflict markers are left in {file}"),
            Note::GaveUp => f.write_str("it gave up the rebase"),
            Note::WorkGone => f.write_str("none of its commits are left on its branch after the rebase"),
            Note::Unsubmitted(purpose) => write!(f, "the {purpose} text may be in its input line, not submitted"),
            Note::NotTyped(purpose) => write!(f, "the {purpose} text may not have arrived"),
            Note::TaskUnknown(name) => {
                write!(
                    f,
                    "its program was restarted and does not know its task; send it with `worker-ctl start --resume {name}`"
                )
            }
            Note::OnBranch(Some(branch)) => write!(f, "its worktree is on the branch {branch} instead of its own"),
            Note::OnBranch(None) => f.write_str("its worktree is on no branch"),
            Note::BranchGone(branch) => write!(f, "its branch {branch} was deleted"),
            Note::Text(text) => f.write_str(text),
        }
    }
}

/// Why a worker cannot work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub enum Fault {
    /// Its worktree is gone.
    WorktreeMissing,
    /// Its program ended with this code.
    Exit(i32),
    /// A signal ended its program.
    Signal(i32),
    /// Its program is gone, and how it ended is unknown.
    Gone,
    /// Its program runs, but has not shown that it takes input.
    NotReady,
    /// A sentence that an earlier version wrote.
    Text(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::WorktreeMissing => f.write_str("worktree missing"),
            Fault::Exit(code) => write!(f, "exit {code}"),
            Fault::Signal(signal) => write!(f, "signal {signal}"),
            Fault::Gone => f.write_str("gone"),
            Fault::NotReady => f.write_str("not ready"),
            Fault::Text(text) => f.write_str(text),
        }
    }
}

/// A value as version 2 of the state writes it, or the sentence that version 1 wrote.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored<T> {
    Value(T),
    Sentence(String),
}

/// Reads notes of any version.
pub fn notes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Note>, D::Error> {
    let stored = Vec::<Stored<Note>>::deserialize(from)?;
    let note = |stored| match stored {
        Stored::Value(note) => note,
        Stored::Sentence(text) => note_of_version_1(text),
    };
    Ok(stored.into_iter().map(note).collect())
}

/// Reads a fault of any version.
pub fn fault<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Fault>, D::Error> {
    Ok(Option::<Stored<Fault>>::deserialize(from)?.map(|stored| match stored {
        Stored::Value(fault) => fault,
        Stored::Sentence(text) => fault_of_version_1(text),
    }))
}

/// Reads a sentence as version 1 wrote it.
fn note_of_version_1(text: String) -> Note {
    let purpose = |end: &str| Some(text.strip_prefix("its ")?.strip_suffix(end)?.trim_end().to_owned());
    if let Some(file) = text.strip_prefix("conflict markers are left in ") {
        return Note::MarkersLeft(file.to_owned());
    }
    if let Some(purpose) = purpose("may stand in its input line, not submitted") {
        return Note::Unsubmitted(purpose);
    }
    if let Some(purpose) = purpose("may not have arrived") {
        return Note::NotTyped(purpose);
    }
    match text.as_str() {
        "it committed again after it was done" => Note::CommittedAgain,
        "it gave the rebase up" => Note::GaveUp,
        "nothing of its work is left on its branch after the rebase" => Note::WorkGone,
        _ => Note::Text(text),
    }
}

fn fault_of_version_1(text: String) -> Fault {
    let number = |before: &str| text.strip_prefix(before).and_then(|number| number.parse().ok());
    match (number("exit "), number("signal ")) {
        (Some(code), _) => Fault::Exit(code),
        (_, Some(signal)) => Fault::Signal(signal),
        _ if text == "worktree missing" => Fault::WorktreeMissing,
        _ if text == "gone" => Fault::Gone,
        _ => Fault::Text(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Both {
        #[serde(deserialize_with = "notes")]
        notes: Vec<Note>,
        #[serde(deserialize_with = "fault")]
        fault: Option<Fault>,
    }

    #[test]
    fn sentences_of_version_1_are_the_values_they_were() {
        let all = [
            Note::CommittedAgain,
            Note::MarkersLeft("a b.rs".into()),
            Note::GaveUp,
            Note::WorkGone,
            Note::Unsubmitted("start".into()),
            Note::NotTyped("message".into()),
            Note::Text("something else".into()),
        ];
        let sentences = [
            "it committed again after it was done",
            "conflict markers are left in a b.rs",
            "it gave the rebase up",
            "nothing of its work is left on its branch after the rebase",
            "its start may stand in its input line, not submitted",
            "its message may not have arrived",
            "something else",
        ];
        let later = [Note::TaskUnknown("adam".into()), Note::OnBranch(None), Note::BranchGone("b".into())];
        let text = serde_json::json!({ "notes": later, "fault": null }).to_string();
        assert_eq!(serde_json::from_str::<Both>(&text).unwrap().notes, later);
        for fault in [Fault::WorktreeMissing, Fault::Exit(7), Fault::Signal(9), Fault::Gone, Fault::Text("odd".into())]
        {
            let both = Both { notes: all.to_vec(), fault: Some(fault.clone()) };
            let text = serde_json::to_string(&both).unwrap();
            assert_eq!(serde_json::from_str::<Both>(&text).unwrap(), both);
            let old = serde_json::json!({ "notes": sentences, "fault": fault.to_string() });
            assert_eq!(serde_json::from_value::<Both>(old).unwrap(), both);
        }
        assert_eq!(serde_json::from_str::<Both>(r#"{"notes":[],"fault":null}"#).unwrap().fault, None);
    }
}
