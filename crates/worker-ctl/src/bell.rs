//! The bell: tells a person about each worker that comes to need review, once.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};

use crate::site::Site;
use crate::store::State;
use crate::worker::Task;

/// The workers that needed review at the last look.
#[derive(Debug, Default)]
pub struct Bell {
    known: Option<BTreeSet<String>>,
}

impl Bell {
    /// Names the workers that have come to need review since the last look, and rings on a terminal. The first look is
    /// silent.
    pub fn look(&mut self, site: &Site<'_>, state: &State) {
        let waiting = state.workers.values().filter(|worker| worker.task == Task::NeedsReview);
        let now: BTreeSet<String> = waiting.map(|worker| worker.name.clone()).collect();
        let known = self.known.replace(now.clone());
        for name in known.iter().flat_map(|known| now.difference(known)) {
            site.ui.note(format!("{name} needs review: `worker-ctl review {name}`"));
            if site.root.config.defaults.sound_on_review && std::io::stderr().is_terminal() {
                let _ = std::io::stderr().write_all(b"\x07");
            }
        }
    }
}
