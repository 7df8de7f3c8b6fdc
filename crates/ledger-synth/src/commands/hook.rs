//! What git's hooks call: a check before a push, a synthesis after a merge or a rebase.

use std::collections::BTreeSet;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hook_subcommand::{self, Called, HookCommand};
use shopfloor_core::ui::Ui;

use super::check::check_commit;
use crate::apply::commit::is_replaying;
use crate::apply::synthesis::refresh;
use crate::facts::gather::{has_events, load_archive, load_events};
use crate::facts::git_setup::is_current_tracked;
use crate::facts::{CURRENT, Ledger};
use crate::failure;
use crate::plan::archive::stranded;
use crate::settings::{LedgerArgs, Settings, Tracked};
use crate::tool::TOOL;

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, command: HookCommand) -> Result<Exit> {
    hook_subcommand::run(ui, env, TOOL, command, |hook| called(ui, env, ledger_args, hook))
}

fn called(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, called: Called) -> Result<Option<Failure>> {
    match called.hook {
        "pre-push" => push(ui, env, ledger_args, &called).map(|()| None),
        _ if called.repo.worktree.is_none() => Ok(None),
        _ => {
            let ledger = Ledger::in_repo(ui, env, ledger_args, called.git, called.repo)?;
            // What is written in the middle of a rebase would stop it. git calls again at the end, of which it says so.
            let is_end = called.hook == "post-rewrite" && called.args.first().is_some_and(|kind| kind == "rebase");
            if !has_events(&ledger)? || (!is_end && is_replaying(&ledger)) {
                return Ok(None);
            }
            if let [first, ..] = stranded(&load_events(&ledger)?, load_archive(&ledger)?)?.found.as_slice() {
                ui.warn(format!(
                    "{} counts nowhere, for example because it was changed here and archived on another branch; `ledger-synth doctor --repair` moves it back",
                    first.display()
                ));
            }
            let is_tracked = ledger.page.tracked == Tracked::Page;
            if !is_tracked && is_current_tracked(&ledger)? {
                ui.warn("current.md is in git on this branch, and `tracked` is `events`; run `ledger-synth install --tracked events` and commit the removal");
            }
            if !ui.is_dry() && refresh(ui, env, &ledger)? && is_tracked {
                ui.note(format!(
                    "{} is newer than the last commit; `ledger-synth --yes --commit` commits it",
                    ledger.dir.join(CURRENT).display()
                ));
            }
            Ok(None)
        }
    }
}

/// Whether git has an object of this name.
fn is_object(called: &Called, name: &str) -> Result<bool> {
    Ok(called.git.cmd(&called.repo.common_dir).args(["cat-file", "-e", name]).capture()?.status.success())
}

/// Refuses to push a commit whose ledger is stale. git writes a line to stdin for each ref to push: local ref, local
/// id, remote ref, remote id.
fn push(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, called: &Called) -> Result<()> {
    let input = ui.input()?;
    let text = String::from_utf8_lossy(&input);
    let tips: BTreeSet<(&str, &str)> = text
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            let name = fields.next()?;
            Some((fields.next()?, name))
        })
        // A ref that is to be deleted has a null id.
        .filter(|(id, _)| id.is_empty() || id.bytes().any(|b| b != b'0'))
        .collect();
    let settings = Settings::load(env, &called.repo, ledger_args)?;
    for (id, name) in tips {
        let verdict = match check_commit(env, &called.git, &called.repo, &settings, id, false) {
            // A tag may name something other than a commit, which has no ledger.
            Err(failure) if failure.kind == failure::NOT_FOUND.word && is_object(called, id)? => continue,
            checked => checked?,
        };
        if verdict.exit == Exit::Done {
            continue;
        }
        let (kind, what, hint) = match verdict.exit {
            Exit::Bad => (failure::MALFORMED, "bad events", "fix the events, commit and push again"),
            _ => (failure::STALE, "a stale ledger", "run `ledger-synth --yes --commit` on that branch and push again"),
        };
        let message = format!("{name} would be pushed with {what}: {}", verdict.why);
        return Err(kind
            .with(verdict.exit, message)
            .details(verdict.problems.iter().map(ToString::to_string).chain(verdict.diff))
            .hint(format!("{hint}; `SHOPFLOOR=0 git push` skips this check")));
    }
    Ok(())
}
