//! How a step is taken back: by its own tool.

use crate::setup_log::Record;
use crate::skill::{self, DIR, SKILLS as SKILL_FILES};
use crate::step::{CommandWords, LEDGER, LEDGER_FILES, OVERLAY, SKILLS, SWEATFILE, WORKERS, hooked};

const REPAIR: [&str; 4] = ["sweatfile-apply", "doctor", "--repair", "--yes"];

/// The commands that take a step back, but for the files that were there before; without those of its tool, if nothing of
/// it is there.
pub fn commands(step: &str, record: &Record, is_there: bool) -> Vec<CommandWords> {
    let kept: Vec<&String> = record.kept(step).iter().filter(|file| is_of(step, file)).collect();
    // The hook goes first: it would attach worktrees anew.
    let hook =
        hooked(step).filter(|tool| record.has_hooks(tool)).map(|tool| CommandWords::new(&[tool, "hook", "uninstall"]));
    let own: &[&[&str]] = match step {
        _ if !is_there => &[],
        // What it wrote into `info/exclude` for worktrees that are gone.
        SWEATFILE if !kept.is_empty() => &[&REPAIR],
        SWEATFILE => &[&["sweatfile-apply", "init", "--undo"], &REPAIR],
        OVERLAY => &[&["overlay-sync", "detach"]],
        LEDGER => &[&["ledger-synth", "install", "--undo", "--claude"]],
        SKILLS => &[&["shopfloor", "skills", "--undo"]],
        WORKERS => &[&["worker-ctl", "deinit", "--yes"]],
        _ => &[],
    };
    let keep = kept.iter().filter(|_| matches!(step, LEDGER | SKILLS)).map(|file| format!("--keep={file}"));
    hook.into_iter().chain(own.iter().map(|words| CommandWords::new(words).with(keep.clone()))).collect()
}

/// Whether a step writes this file: an agent can have written the record.
fn is_of(step: &str, file: &str) -> bool {
    let is_skill = || SKILL_FILES.iter().any(|(name, _)| skill::file(DIR, name) == file);
    match step {
        SWEATFILE => file == "sweatfile",
        LEDGER => LEDGER_FILES.contains(&file) || is_skill(),
        SKILLS => is_skill(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_needs_no_command() {
        let lines = |step: &str, has_hooks: bool, is_there: bool| -> Vec<String> {
            let mut record = Record::default();
            record.hooks.extend(hooked(step).filter(|_| has_hooks).map(str::to_owned));
            commands(step, &record, is_there).iter().map(CommandWords::line).collect()
        };
        assert!(lines(OVERLAY, false, false).is_empty() && lines(WORKERS, true, false).is_empty());
        assert_eq!(lines(OVERLAY, true, false), ["overlay-sync hook uninstall"]);
        assert_eq!(lines(OVERLAY, true, true), ["overlay-sync hook uninstall", "overlay-sync detach"]);
        assert_eq!(lines(WORKERS, false, true), ["worker-ctl deinit --yes"]);
        assert_eq!(lines(SKILLS, true, true), ["shopfloor skills --undo"]);
    }
}
