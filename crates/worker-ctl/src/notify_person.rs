//! The bell: names each worker once when it starts to need a person.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};

use shopfloor_core::text::printable;

use crate::context::Context;
use crate::store::State;
use crate::worker::{Activity, Task, Worker};

/// The workers that needed a person at the last look, each with what for.
#[derive(Debug, Default)]
pub struct Bell {
    /// Whether it only rings.
    is_silent: bool,
    seen: Option<BTreeMap<String, String>>,
}

impl Bell {
    /// A bell that names nobody.
    pub fn silent() -> Bell {
        Bell { is_silent: true, ..Bell::default() }
    }

    /// Names the workers that started to need a person since the last look, and rings on a terminal. The first look is
    /// silent. Some work that waits for a review is for nobody yet.
    pub fn look(&mut self, ctx: &Context<'_>, state: &State, is_for_nobody_yet: &dyn Fn(&Worker) -> bool) {
        let mut now: BTreeMap<String, String> = state
            .workers
            .values()
            .filter(|worker| worker.task != Task::NeedsReview || !is_for_nobody_yet(worker))
            .filter_map(|worker| Some((worker.name.clone(), need(worker)?)))
            .collect();
        // A limit is one of the account: all of an agent hit it.
        let limited = state.workers.values().filter(|worker| worker.program.limit.is_some());
        now.extend(limited.map(|worker| (format!("agent {}:", ctx.root.agent_name(worker)), LIMITED.to_owned())));
        let before = self.seen.replace(now.clone());
        for (name, need) in
            before.iter().flat_map(|before| now.iter().filter(|(name, need)| before.get(*name) != Some(need)))
        {
            if !self.is_silent {
                ctx.ui.note(format!("{name} {need}"));
            }
            if ctx.root.config.settings.truth("sound_on_review") && std::io::stderr().is_terminal() {
                let _ = std::io::stderr().write_all(b"\x07");
            }
        }
    }
}

const LIMITED: &str = "a usage limit is hit; `worker-ctl status` shows until when";

/// What a worker needs a person for, and the command for that.
fn need(worker: &Worker) -> Option<String> {
    let name = &worker.name;
    if worker.reported.activity == Activity::Asks {
        let question =
            worker.reported.activity_text.as_deref().map(|text| format!(": {}", printable(text))).unwrap_or_default();
        return Some(format!("asks{question}: `worker-ctl answer {name}`"));
    }
    if worker.reported.activity == Activity::Rests && worker.has_open_task() && worker.status() == worker.task.word() {
        return Some(format!("ended its turn without a commit: look with `worker-ctl peek {name}`"));
    }
    (worker.task == Task::NeedsReview).then(|| format!("needs review: `worker-ctl review {name}`"))
}
