//! What a person should know of a worker, and what is wrong with it: values, so that sentences can be reworded.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// Something a person should know of a worker's task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub enum Note {
    /// It committed after it needed review.
    CommittedAgain,
    /// This file still has conflict markers.
    MarkersLeft(String),
    /// It ended its rebase where that had begun.
    GaveUp,
    /// Its rebase left nothing of its work.
    WorkGone,
    /// A text for this purpose was typed when we were killed, perhaps without the key that submits it.
    Unsubmitted(String),
    /// A text for this purpose was about to be typed when we were killed.
    NotTyped(String),
    /// This worker's program was started anew, and was not told the task it has.
    Untold(String),
    /// It works on another branch than its own; none where it is on none.
    OnBranch(Option<String>),
    /// Its own branch, of this name, is not there any more.
    BranchGone(String),
    /// What an earlier version noted in its own words.
    Text(String),
}

impl Note {
    /// Whether it is about where it works, whatever its task.
    pub fn is_of_branch(&self) -> bool {
        matches!(self, Note::OnBranch(_) | Note::BranchGone(_))
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::CommittedAgain => f.write_str("it committed again after it was done"),
            Note::MarkersLeft(file) => write!(f, "conflict markers are left in {file}"),
            Note::GaveUp => f.write_str("it gave the rebase up"),
            Note::WorkGone => f.write_str("nothing of its work is left on its branch after the rebase"),
            Note::Unsubmitted(what) => write!(f, "its {what} may stand in its input line, not submitted"),
            Note::NotTyped(what) => write!(f, "its {what} may not have arrived"),
            Note::Untold(name) => {
                write!(
                    f,
                    "its program is new and knows nothing of its task: `worker-ctl start --resume {name}` tells it"
                )
            }
            Note::OnBranch(Some(branch)) => write!(f, "it is on the branch {branch} instead of its own"),
            Note::OnBranch(None) => f.write_str("it is on no branch"),
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
    /// Its program is gone, and nobody knows how.
    Gone,
    /// What an earlier version called it.
    Text(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::WorktreeMissing => f.write_str("worktree missing"),
            Fault::Exit(code) => write!(f, "exit {code}"),
            Fault::Signal(signal) => write!(f, "signal {signal}"),
            Fault::Gone => f.write_str("gone"),
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

/// The sentences of version 1, as it wrote them.
fn note_of_version_1(text: String) -> Note {
    let what = |end: &str| Some(text.strip_prefix("its ")?.strip_suffix(end)?.trim_end().to_owned());
    if let Some(file) = text.strip_prefix("conflict markers are left in ") {
        return Note::MarkersLeft(file.to_owned());
    }
    if let Some(what) = what("may stand in its input line, not submitted") {
        return Note::Unsubmitted(what);
    }
    if let Some(what) = what("may not have arrived") {
        return Note::NotTyped(what);
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
        let later = [Note::Untold("adam".into()), Note::OnBranch(None), Note::BranchGone("b".into())];
        let text = serde_json::json!({ "notes": later, "fault": null }).to_string();
        assert_eq!(serde_json::from_str::<Both>(&text).unwrap().notes, later);
        for fault in [Fault::WorktreeMissing, Fault::Exit(7), Fault::Signal(9), Fault::Gone, Fault::Text("odd".into())]
        {
            let both = Both { notes: all.to_vec(), fault: Some(fault.clone()) };
            let text = serde_json::to_string(&both).unwrap();
            assert_eq!(serde_json::from_str::<Both>(&text).unwrap(), both);
            let sentences: Vec<String> = all.iter().map(Note::to_string).collect();
            let old = serde_json::json!({ "notes": sentences, "fault": fault.to_string() });
            assert_eq!(serde_json::from_value::<Both>(old).unwrap(), both);
        }
        assert_eq!(serde_json::from_str::<Both>(r#"{"notes":[],"fault":null}"#).unwrap().fault, None);
    }
}
