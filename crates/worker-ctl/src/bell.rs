//! The bell: names each worker once when it starts to need review.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};

use crate::site::Site;
use crate::store::State;
use crate::worker::Task;

/// The workers that needed review at the last look.
#[derive(Debug, Default)]
pub struct Bell {
    seen: Option<BTreeSet<String>>,
}

impl Bell {
    /// Names the workers that started to need review since the last look, and rings on a terminal. The first look is
    /// silent.
    pub fn look(&mut self, site: &Site<'_>, state: &State) {
        let waiting = state.workers.values().filter(|worker| worker.task == Task::NeedsReview);
        let now: BTreeSet<String> = waiting.map(|worker| worker.name.clone()).collect();
        let before = self.seen.replace(now.clone());
        for name in before.iter().flat_map(|before| now.difference(before)) {
            site.ui.note(format!("{name} needs review: `worker-ctl review {name}`"));
            if site.root.config.defaults.sound_on_review && std::io::stderr().is_terminal() {
                let _ = std::io::stderr().write_all(b"\x07");
            }
        }
    }
}
