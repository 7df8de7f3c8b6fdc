//! What decides how `current.md` looks, besides its events: settings of the tree that it is in, so that everyone who
//! has the tree gets the same page.

use jiff::SignedDuration;

/// The settings of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSettings {
    /// How far back from the newest event This Session reaches. None: no limit.
    pub session_window: Option<SignedDuration>,
    pub tracked: Tracked,
}

/// What of the ledger is in git.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracked {
    /// The events and `current.md`.
    #[default]
    Page,
    /// The events alone: git ignores `current.md`, so that hosts which know no merge drivers merge without conflicts.
    Events,
}

impl Tracked {
    /// The words of the setting.
    pub const WORDS: [&'static str; 2] = ["page", "events"];

    pub fn word(self) -> &'static str {
        match self {
            Tracked::Page => "page",
            Tracked::Events => "events",
        }
    }

    pub fn of(word: &str) -> Option<Tracked> {
        match word {
            "page" => Some(Tracked::Page),
            "events" => Some(Tracked::Events),
            _ => None,
        }
    }
}

impl PageSettings {
    /// Merges three ways, setting by setting, as git merges the lines of the file.
    pub fn merged(self, base: &PageSettings, theirs: &PageSettings) -> PageSettings {
        let is_same_window = self.session_window == base.session_window;
        let window = if is_same_window { theirs.session_window } else { self.session_window };
        let tracked = if self.tracked == base.tracked { theirs.tracked } else { self.tracked };
        PageSettings { session_window: window, tracked }
    }
}
