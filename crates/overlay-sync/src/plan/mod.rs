//! The pure decision of one pass: three contents of one file in, what to write where out.

mod decide;
mod decision;
mod shared_part;

pub use self::decide::decide;
pub use self::decision::{Decision, FileView, Question, QuestionId, Step, WriteStep};
