//! What a sync did, as its user reads it, and the exit code for it.

use serde_json::json;
use shopfloor_core::error::{Exit, Failure};
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::outcome::SyncOutcome;
use crate::sync_action::SyncRule;

impl SyncOutcome {
    /// Prints it as the command's answer.
    pub fn print(&self, ui: &Ui) {
        self.print_with(ui, Ui::line);
    }

    /// Prints it, and the events in a way of its own.
    pub fn print_with(&self, ui: &Ui, print: impl Fn(&Ui, String)) {
        for event in &self.events {
            if ui.is_json() {
                ui.json_of_both(event, &json!({ "worktree": event.workspace }));
                continue;
            }
            let kept = match event.kept {
                0 => String::new(),
                1 => ": an entry it removed is kept".into(),
                n => format!(": {n} entries it removed are kept"),
            };
            let path = printable(&event.path.to_string());
            print(ui, format!("{} {path} ({}){kept}", event.rule, printable(&event.workspace)));
        }
        self.print_open(ui);
    }

    /// Prints what else there is to say of it.
    pub fn print_open(&self, ui: &Ui) {
        self.notes.iter().for_each(|note| ui.note(note));
        self.details.iter().for_each(|detail| ui.detail(detail));
        self.warnings.iter().chain(&self.open).for_each(|warning| ui.warn(warning));
        match (self.conflicts, ui.is_dry()) {
            (0, _) => {}
            (1, true) => ui.warn("a conflict would be decided by rule"),
            (n, true) => ui.warn(format!("{n} conflicts would be decided by rule")),
            (1, false) => ui.warn("a conflict was decided by rule; see `overlay-sync conflicts`"),
            (n, false) => ui.warn(format!("{n} conflicts were decided by rule; see `overlay-sync conflicts`")),
        }
        if ui.is_json() && !self.failures.is_empty() {
            let failure = Failure::failed("not everything could be read or written")
                .details(self.failures.clone())
                .hint("fix the cause and run `overlay-sync sync`; everything else was synced");
            ui.json(&json!({ "error": failure.to_json() }));
        }
    }

    /// The exit code of a command that syncs.
    pub fn exit(&self) -> Exit {
        if !self.failures.is_empty() {
            return Exit::Failed;
        }
        if self.conflicts == 0 && self.open.is_empty() { Exit::Done } else { Exit::No }
    }

    /// The exit code of a command that is about one file.
    pub fn exit_for(&self, path: &RelPath) -> Exit {
        // What another file stumbles over is told, and is nothing that the command has done.
        if self.failures.iter().any(|line| self.failed.get(line).is_none_or(|of| of == path)) {
            return Exit::Failed;
        }
        let is_decided = self.events.iter().any(|event| event.path == *path && event.rule == SyncRule::LastWrite);
        if is_decided || self.open_paths.contains(path) { Exit::No } else { Exit::Done }
    }
}
