//! How a step is taken back: by its own tool, and files that no tool takes back by the texts that they had.

use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;

use crate::facts::remains::Remains;
use crate::skill;
use crate::step::{CommandWords, LEDGER, LEDGER_SETTINGS, OVERLAY, SKILLS, SWEATFILE, WORKERS, hooked};

/// What `sweatfile-apply init` writes.
const STARTER: &str = include_str!("../../../sweatfile-apply/src/starter.toml");

/// The commands that take a step back. Those for what is gone are left out.
pub fn commands(step: &str, has_hooks: bool, remains: &Remains) -> Vec<CommandWords> {
    // The hook goes first: it would attach worktrees anew.
    let hook = hooked(step).filter(|_| has_hooks).map(|tool| CommandWords::new(&[tool, "hook", "uninstall"]));
    let own: &[&str] = match step {
        // What it wrote into `info/exclude` for worktrees that are gone.
        SWEATFILE => &["sweatfile-apply", "doctor", "--repair", "--yes"],
        OVERLAY if remains.has_overlay => &["overlay-sync", "detach"],
        LEDGER => &["ledger-synth", "install", "--undo", "--claude"],
        WORKERS if remains.has_root => &["worker-ctl", "deinit", "--yes"],
        _ => &[],
    };
    hook.into_iter().chain((!own.is_empty()).then(|| CommandWords::new(own))).collect()
}

/// The files of a step that no command takes back, and the text of each. With another text a file is a person's.
pub fn files(step: &str) -> Vec<(&'static str, &'static str)> {
    match step {
        SWEATFILE => vec![("sweatfile", STARTER)],
        // `ledger-synth` leaves its skill if it was edited, and does not name it.
        SKILLS | LEDGER => {
            let is_its = |skill: &&skill::Skill| step == SKILLS || skill.name == "synthesize-ledgers";
            skill::SKILLS.iter().filter(is_its).map(|skill| (skill.file, skill.text)).collect()
        }
        _ => Vec::new(),
    }
}

/// What keeps a step although no command failed, a line each.
pub fn blocks(remains: &Remains) -> Vec<String> {
    let half = remains.half_root.iter();
    let mut all: Vec<String> =
        half.map(|root| format!("{} was made only in part; remove it", printable(root))).collect();
    let agents = remains.agents.iter();
    all.extend(agents.map(|id| format!("there is an agent {}; `shopfloor done` removes it", printable(id))));
    all.extend(remains.overlay_with_files.iter().map(|overlay| {
        let hint = "they are copies of those in the worktrees; delete the directory if you do not need them";
        format!("the overlay {} has files; {hint}", printable(overlay))
    }));
    all
}

/// The text that git's settings of the clone had before, if nothing but the settings of the ledger has come since. git
/// itself leaves traces where a setting comes and goes.
pub fn config_before(now: &str, before: &Digest) -> Option<String> {
    let line = |(name, value): (&str, &str)| format!("\t{} = {value}\n", name.rsplit('.').next().unwrap_or_default());
    let lines: String = LEDGER_SETTINGS.into_iter().map(line).collect();
    let section = format!("[merge \"ledger-synth\"]\n{lines}");
    // The last line had no end, or the section was there and empty.
    let cuts = [section.clone(), format!("\n{section}"), lines];
    let texts = cuts.iter().map(|cut| now.replacen(cut, "", 1));
    texts.filter(|text| text != now).find(|text| Digest::of(text.as_bytes()) == *before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_needs_no_command_and_what_is_left_is_named() {
        let lines = |step: &str, remains: &Remains| -> Vec<String> {
            commands(step, false, remains).iter().map(CommandWords::line).collect()
        };
        let gone = Remains::default();
        let all = Remains {
            has_overlay: true,
            overlay_with_files: Some("/o".to_owned()),
            has_root: true,
            ..Remains::default()
        };
        assert!(lines(OVERLAY, &gone).is_empty() && lines(WORKERS, &gone).is_empty());
        assert_eq!(lines(OVERLAY, &all), ["overlay-sync detach"]);
        assert_eq!(lines(WORKERS, &all), ["worker-ctl deinit --yes"]);
        assert_eq!(commands(SKILLS, true, &all), []);
        assert_eq!(commands(OVERLAY, true, &gone), [CommandWords::new(&["overlay-sync", "hook", "uninstall"])]);
        let half =
            Remains { half_root: Some("/r".to_owned()), agents: vec!["main.x".to_owned()], ..Remains::default() };
        assert!(blocks(&gone).is_empty());
        assert!(blocks(&all)[0].starts_with("the overlay /o has files"));
        assert_eq!(blocks(&half).len(), 2);
    }

    #[test]
    fn only_our_section_can_be_cut_out_of_the_settings() {
        let section = "[merge \"ledger-synth\"]\n\tname = both sides' events in one ledger\n\tdriver = ledger-synth merge-driver %O %A %B --path %P --label %Y\n";
        for (before, gap) in [("[core]\n", ""), ("[core]\n\tx = y", "\n")] {
            let now = format!("{before}{gap}{section}");
            assert_eq!(config_before(&now, &Digest::of(before.as_bytes())).as_deref(), Some(before));
            assert_eq!(config_before(&now, &Digest::of(b"[core]\n\tfsmonitor = evil\n")), None);
            assert_eq!(config_before(before, &Digest::of(before.as_bytes())), None);
        }
        let empty = "[merge \"ledger-synth\"]\n";
        assert_eq!(config_before(section, &Digest::of(empty.as_bytes())).as_deref(), Some(empty));
    }
}
