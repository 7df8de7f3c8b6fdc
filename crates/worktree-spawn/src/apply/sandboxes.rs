//! Sandboxes of agents' worktrees: what was committed in them, what was reported from them, and what a removal would lose.

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::sandbox::{self, Imported, REFUSED, Sandbox, SandboxSettings};
use shopfloor_core::ui::Ui;

use super::notify::{self, Report};
use crate::agent_in_worktree::KnownAgent;
use crate::failure;
use crate::identity::AgentKind;
use crate::repository_view::Place;

/// The sandbox of an agent's worktree, if it was ever in one.
pub fn of(env: &Env, place: &Place, known: &KnownAgent) -> Option<Sandbox> {
    let is_subtree = known.agent.kind == AgentKind::Subtree && !known.worktree.is_lost && !known.worktree.is_main;
    let found = || {
        Sandbox::of(env, &place.common_dir, &known.worktree.path, SandboxSettings::of_user(env).unwrap_or_default())
            .ok()
    };
    is_subtree.then(found).flatten().filter(Sandbox::is_made)
}

/// Takes in what an agent has committed in its sandbox, and what it has reported. What is refused is said, and stays there;
/// returns why.
pub fn take_in(ui: &Ui, env: &Env, place: &Place, sandbox: &Sandbox, id: &str) -> Option<String> {
    take_reports(ui, env, place, sandbox, id);
    match sandbox.import() {
        Ok(Imported::Commit(tip, None)) => ui.detail(format!("{id} is at {}", &tip[..12])),
        Ok(Imported::Commit(tip, Some(branch))) => {
            ui.note(format!("{id} was on the branch {branch} in its sandbox; its own branch is at {}", &tip[..12]));
        }
        Ok(Imported::Nothing) => {}
        Err(failure) => {
            ui.warn(&failure);
            return REFUSED.is_kind_of(&failure).then(|| failure.to_string());
        }
    }
    None
}

/// Sends what an agent has reported from its sandbox on to its parent. Who reports is the sandbox's agent.
pub fn take_reports(ui: &Ui, env: &Env, place: &Place, sandbox: &Sandbox, id: &str) {
    for report in sandbox.take_reports::<Report>(sandbox::NOTIFY) {
        if let Err(failure) = notify::notify(env, place, report, Some(id)) {
            ui.warn(failure);
        }
    }
}

/// The same for those of these agents who have sandboxes.
pub fn take_in_all<'k>(ui: &Ui, env: &Env, place: &Place, all: impl Iterator<Item = &'k KnownAgent>) {
    for known in all {
        if let Some(sandbox) = of(env, place, known) {
            take_in(ui, env, place, &sandbox, &known.agent.id);
        }
    }
}

/// Exit 1 if a sandbox has commits that are nowhere else.
pub fn require_empty(sandbox: &Sandbox, known: &KnownAgent) -> Result<()> {
    let losses = sandbox.losses()?;
    losses.map_or(Ok(()), |what| {
        Err(failure::UNMERGED.failure(format!("the sandbox of {} has {what}", known.agent.id)).hint(format!(
            "look at them inside: `worktree-spawn run {} --sandbox -- git log --all`, or let `--force` keep them under \
                 refs/shopfloor/trash/",
            known.agent.id
        )))
    })
}
