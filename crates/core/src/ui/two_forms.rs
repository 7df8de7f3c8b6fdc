//! Answers that have two forms: JSON, and lines for people.

use std::fmt::Display;

use serde::Serialize;
use serde_json::json;

use super::Ui;
use crate::error::{Exit, Failure};
use crate::text::printable;

impl Ui {
    /// An answer that is a line for people.
    pub fn json_or_line(&self, answer: &impl Serialize, line: impl Display) {
        if self.is_json() { self.json(answer) } else { self.line(line) }
    }

    /// An answer that people hear of if they do not want quiet.
    pub fn json_or_done(&self, answer: &impl Serialize, line: impl Display) {
        if self.is_json() { self.json(answer) } else { self.done(line) }
    }

    /// What a dry run would do, each as a phrase after "would".
    pub fn would(&self, answer: &impl Serialize, steps: &[String]) -> Exit {
        match self.is_json() {
            true => self.json_of_both(answer, &json!({ "would": steps })),
            false => steps.iter().for_each(|step| self.line(format!("would {}", printable(step)))),
        }
        Exit::Done
    }

    /// An answer, and what failed for all that: a key of the JSON, or an error after what `print` prints. Returns how the
    /// command ends.
    pub fn conclude(&self, answer: &impl Serialize, print: impl FnOnce(), failure: Option<&Failure>) -> Exit {
        if self.is_json() {
            let error = failure.map_or(json!({}), |failure| json!({ "error": failure.to_json() }));
            self.json_of_both(answer, &error);
        } else {
            print();
            failure.into_iter().for_each(|failure| self.error(failure));
        }
        failure.map_or(Exit::Done, |failure| failure.exit)
    }
}
