//! The ways in which a body is read.

use crate::scalar::Folding;

/// How a body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// As events were read at first. Their ids depend on it.
    First,
    /// As events are read: bullets and fences keep their lines, and prose below a heading is no section.
    Event,
    /// The same, and an item with a `task` keeps its other fields in the lines after it: nothing of a file that is taken
    /// over is lost.
    Whole,
}

impl Grammar {
    pub fn folding(self) -> Folding {
        match self {
            Grammar::First => Folding::AsYaml,
            Grammar::Event | Grammar::Whole => Folding::Prose,
        }
    }
}
