//! How a text compares with what arrived before it was written.

use shopfloor_core::hash::Digest;

/// A text that a workspace had, and the one that a pass wrote in its place.
pub type Arrival = (Vec<u8>, Vec<u8>);

/// A text compared with what arrived before it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// It knows everything.
    Fresh,
    /// The text as it would be if its writer had known, and where the two differ.
    Stale(Vec<u8>, Vec<StalePlace>),
    /// It does not know everything, and cannot be edited so that it does.
    Cannot,
}

/// Where a text shows an old view.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StalePlace {
    pub view: OldView,
    /// A key path, a variable, or a line.
    pub place: String,
    /// The hash of what is lacking, back, or reverted there: lines and indices move.
    pub content: Digest,
}

impl StalePlace {
    pub fn new(view: OldView, place: impl Into<String>, content: &[u8]) -> StalePlace {
        StalePlace { view, place: place.into(), content: Digest::of(content) }
    }
}

/// How an old view shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OldView {
    /// The text lacks what arrived.
    Lacks,
    /// It has what was taken away.
    BringsBack,
    /// It shows a value that was replaced.
    Reverts,
}

impl std::fmt::Display for StalePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verb = match self.view {
            OldView::Lacks => "lacks",
            OldView::BringsBack => "brings back",
            OldView::Reverts => "reverts",
        };
        write!(f, "{verb} {}", self.place)
    }
}
