//! Which steps a repository needs.

use crate::facts::setup_facts::Surroundings;
use crate::skill::{self, DIR};
use crate::step::{CommandWords, LEDGER, LEDGER_FILES, OVERLAY, SKILLS, SWEATFILE, Step, WORKERS};

/// The steps that are still to be done, in their order: hooks come before the root of the workers, which copies them. A
/// private set-up leaves out what others would find in the repository.
pub fn steps(found: &Surroundings) -> Vec<Step> {
    let shared = |step: Option<Step>| step.filter(|_| !found.is_private);
    let all = [sweatfile(found), overlay(found), shared(ledger(found)), shared(skills(found)), workers(found)];
    all.into_iter().flatten().collect()
}

/// What is missing for a step that would be useful otherwise.
pub fn notes(found: &Surroundings) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |is_so: bool, text: &str| notes.extend(is_so.then(|| text.to_owned()));
    note(
        found.is_private,
        "nothing is written where others find it: no sweatfile, no ledger and no skills; a sweatfile above the repository \
         and `shopfloor skills --dir ~/.claude/skills` are yours alone",
    );
    let tracked = "git runs hooks from a directory of the checkout, or another program does from a file there, so \
        none is installed: run `sweatfile-apply` in new worktrees";
    note(found.is_private && found.has_hooks_in_checkout, tracked);
    note(
        found.has_tmux,
        "one key of your tmux for whoever waits, in ~/.tmux.conf: `bind-key J new-window -n agent 'shopfloor jump --next'`",
    );
    note(
        found.agents.is_empty(),
        "no agent program is on the PATH that is known here: claude, codex, gemini, aider or opencode",
    );
    note(
        !found.has_tmux,
        "tmux is not on the PATH, so worker-ctl is not set up; install it, then run `shopfloor setup`",
    );
    note(
        !found.has_commit,
        "there is no commit yet, so worker-ctl is not set up; commit, then run `shopfloor setup` again",
    );
    if let Some(manager) = found.idle_manager {
        let what = "manages hooks here, but is not active in this clone";
        let way = "activate it before the hooks are installed, or run `shopfloor setup` again afterwards";
        note(found.has_own_hooks, &format!("{manager} {what}; {way}"));
    }
    for file in &found.unapproved {
        note(true, &format!("{file} is not approved; read it, then run `sweatfile-apply approve`"));
    }
    note(
        !found.has_own_hooks,
        "git runs hooks from a directory that other repositories share, so no hooks and no ledger are set up: \
         `shopfloor new` sets up what it makes, other worktrees need `sweatfile-apply` and `overlay-sync attach`",
    );
    note(
        found.is_ledger_blocked && !found.is_private,
        "a link, or no directory, is where the ledger would be, so none is set up: `ledger-synth install` says what to do",
    );
    let installs = found.installs.iter().map(|command| format!("\"{command}\"")).collect::<Vec<_>>().join(", ");
    let way = "to run that in each new worktree, write the line into sweatfile and run `sweatfile-apply approve`";
    note(!found.has_sweatfile && !found.installs.is_empty(), &format!("setup = [{installs}]: {way}"));
    for (worktree, file) in &found.differing {
        let way = "so it is not attached; `overlay-sync attach` merges the two";
        note(!found.is_attached, &format!("{worktree} has a {file} of its own, {way}"));
    }
    for file in &found.visible_files {
        note(true, &format!("{file} is neither checked in nor ignored by git, so worktrees do not share it"));
    }
    notes
}

fn sweatfile(found: &Surroundings) -> Option<Step> {
    let purpose = "set up each new worktree from a sweatfile, with its files, variables and commands";
    let mut step = Step::new(SWEATFILE, purpose.to_owned());
    let is_missing = !found.has_sweatfile && !found.is_private;
    if is_missing {
        step.commands.push(CommandWords::new(&["sweatfile-apply", "init"]));
    }
    // This approves everything that needs it, so a person has to read first what others wrote.
    if (is_missing || found.has_own_starter) && found.unapproved.is_empty() {
        step.commands.push(CommandWords::new(&["sweatfile-apply", "approve", "--yes"]));
    }
    step.files.push("sweatfile".to_owned());
    add_hook(found, &mut step, "sweatfile-apply");
    (!step.commands.is_empty()).then_some(step)
}

fn overlay(found: &Surroundings) -> Option<Step> {
    let is_new = !found.is_attached && !found.local_files.is_empty();
    let mut step = Step::new(OVERLAY, format!("keep {} the same in all worktrees", found.local_files.join(", ")));
    if is_new {
        step.commands.push(CommandWords::new(&["overlay-sync", "add"]).with(found.local_files.iter().cloned()));
        step.commands.push(CommandWords::new(&["overlay-sync", "attach"]).with(found.worktrees.iter().cloned()));
    }
    if is_new || found.is_attached {
        add_hook(found, &mut step, "overlay-sync");
    }
    (!step.commands.is_empty()).then_some(step)
}

fn ledger(found: &Surroundings) -> Option<Step> {
    // Its command installs hooks as well.
    if found.has_ledger || found.is_ledger_blocked || !found.has_own_hooks {
        return None;
    }
    let has_claude = found.agents.contains(&"claude");
    let install = CommandWords::new(&["ledger-synth", "install"]);
    let purpose = "join what agents did and decided into one page that merges without conflicts";
    let mut step = Step::new(LEDGER, purpose.to_owned());
    step.commands.push(if has_claude { install.with(["--claude".to_owned()]) } else { install });
    step.files.extend(LEDGER_FILES.map(str::to_owned));
    step.files.push(skill::file(DIR, "synthesize-ledgers"));
    // Hooks that were there before are not this step's.
    step.hooks = Some("ledger-synth").filter(|tool| !found.hooked.contains(tool));
    Some(step)
}

/// For the programs that read them where they are written.
fn skills(found: &Surroundings) -> Option<Step> {
    let is_read = ["claude", "opencode"].iter().any(|name| found.agents.contains(name));
    if found.has_skills || !is_read {
        return None;
    }
    let mut step = Step::new(SKILLS, "tell agents how to use the tools".to_owned());
    step.commands.push(CommandWords::new(&["shopfloor", "skills"]));
    step.files.extend(skill::SKILLS.iter().map(|(name, _)| skill::file(DIR, name)));
    Some(step)
}

fn workers(found: &Surroundings) -> Option<Step> {
    if found.has_root || !found.has_tmux || !found.has_commit || found.agents.is_empty() {
        return None;
    }
    let mut step = Step::new(WORKERS, "run agents in tmux, from a task to a reviewed commit".to_owned());
    step.commands.push(CommandWords::new(&["worker-ctl", "init"]));
    Some(step)
}

/// Adds a tool's hook to a step, if it is missing. Where another program manages the hooks, the command says what to add
/// to its configuration.
fn add_hook(found: &Surroundings, step: &mut Step, tool: &'static str) {
    let is_shared = found.is_private && found.has_hooks_in_checkout;
    if !found.hooked.contains(&tool) && found.has_own_hooks && !is_shared {
        step.commands.push(CommandWords::new(&[tool, "hook", "install"]));
        step.hooks = Some(tool);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(found: &Surroundings) -> Vec<&'static str> {
        steps(found).iter().map(|step| step.name).collect()
    }

    #[test]
    fn only_what_is_missing_and_of_use_is_proposed() {
        let bare = Surroundings { has_own_hooks: true, has_commit: true, ..Surroundings::default() };
        assert_eq!(names(&bare), ["sweatfile", "ledger"]);
        let full =
            Surroundings { agents: vec!["claude"], has_tmux: true, local_files: vec![".env".into()], ..bare.clone() };
        assert_eq!(names(&full), ["sweatfile", "overlay", "ledger", "skills", "workers"]);
        let lines = |found: &Surroundings| -> Vec<String> {
            steps(found).iter().flat_map(|step| step.commands.iter().map(CommandWords::line)).collect()
        };
        assert!(lines(&full).contains(&"ledger-synth install --claude".to_owned()));
        let done = Surroundings {
            has_sweatfile: true,
            hooked: vec!["sweatfile-apply", "overlay-sync"],
            is_attached: true,
            has_ledger: true,
            has_skills: true,
            has_root: true,
            ..full.clone()
        };
        assert!(names(&done).is_empty());
        let hooked = Surroundings { hooked: vec!["overlay-sync"], ..full.clone() };
        assert!(!lines(&hooked).contains(&"overlay-sync hook install".to_owned()));
        // Nobody has read what a stranger checked in, and hooks of other repositories are theirs.
        let strange = Surroundings { unapproved: vec![".shopfloor/config.toml".into()], ..full.clone() };
        assert!(lines(&strange).iter().all(|line| !line.contains("approve")));
        let unborn = Surroundings { has_commit: false, idle_manager: Some("husky"), ..full.clone() };
        assert_eq!((names(&unborn).contains(&"workers"), notes(&unborn).len()), (false, 3));
        let shared = Surroundings { has_own_hooks: false, ..full };
        assert!(lines(&shared).iter().all(|line| !line.contains("hook install")));
        assert!(steps(&shared).iter().all(|step| step.hooks.is_none()));
    }
}
