//! What may be removed, and what becomes of its branch.

use std::cmp::Reverse;
use std::path::Path;

use shopfloor_core::error::{Exit, Result};
use shopfloor_core::text::shell_word;

use crate::agent_in_worktree::KnownAgent;
use crate::agent_run::Liveness;
use crate::facts::removal::{Branch, Condition};
use crate::failure;
use crate::identity::AgentKind;

// What the caller asked for.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct RemovalRequest {
    /// Remove it even with changes, which are kept under `refs/shopfloor/trash/`
    #[arg(long)]
    pub force: bool,
    /// Refuse if the branch cannot be deleted
    #[arg(long, conflicts_with = "keep_branch")]
    pub delete_branch: bool,
    /// Keep the branch
    #[arg(long)]
    pub keep_branch: bool,
}

/// The removal of one agent.
#[derive(Clone, Debug)]
pub struct AgentRemoval {
    pub condition: Condition,
    /// Whether refusals of other tools are overruled.
    pub is_forced: bool,
    /// Whether changes and commits are kept under a ref first.
    pub keeps_trash: bool,
    /// The branch to delete if it still is at this commit.
    pub deletes: Option<(String, String)>,
    /// Why the branch stays, if one does.
    pub note: Option<String>,
}

/// Decides about a removal. Refuses everything by which something would be lost.
pub fn plan(condition: Condition, request: RemovalRequest) -> Result<AgentRemoval> {
    if condition.is_being_made {
        let why = format!("the spawn of {} is still under way", condition.known.agent.id);
        return Err(failure::BUSY.with(Exit::Busy, why).hint("wait for it to end, and run the command again"));
    }
    refuse_losses(&condition, request)?;
    let fate = branch_fate(&condition, request)?;
    let loses_branch = matches!(condition.branch, Branch::Unmerged { .. }) && fate.deletes.is_some();
    let keeps_trash =
        request.force && (!condition.changes.paths.is_empty() || condition.loose_commits > 0 || loses_branch);
    Ok(AgentRemoval { condition, is_forced: request.force, keeps_trash, deletes: fate.deletes, note: fate.note })
}

/// The agents in the order in which they can be removed: a seat before the worktree that it is in, an inner
/// worktree before an outer one, and a child before its parent, whose branch may be the only one that has its commits.
pub fn in_order(mut agents: Vec<KnownAgent>) -> Vec<KnownAgent> {
    agents.sort_by_key(|known| {
        let depth = Reverse(known.worktree.path.components().count());
        (depth, known.agent.kind != AgentKind::Worker, known.agent.id.clone())
    });
    let precedes = |one: &KnownAgent, other: &KnownAgent| {
        let (inner, outer) = (&one.worktree.path, &other.worktree.path);
        inner != outer && inner.starts_with(outer) || one.agent.parents.contains(&other.agent.id)
    };
    let mut ordered = Vec::new();
    while !agents.is_empty() {
        // A parent may have been moved into its child's worktree; then the place decides.
        let is_free = |known: &KnownAgent| !agents.iter().any(|other| precedes(other, known));
        let next = agents.iter().position(is_free).unwrap_or(0);
        ordered.push(agents.remove(next));
    }
    ordered
}

/// Refuses the main checkout, before anything is said of the worktrees inside it.
pub fn refuse_main(known: &KnownAgent) -> Result<()> {
    if !known.worktree.is_main || known.agent.kind == AgentKind::Worker {
        return Ok(());
    }
    Err(failure::MAIN_CHECKOUT
        .failure(format!("{} is the main checkout, which is never removed", known.agent.id))
        .hint("`worktree-spawn list` shows what can be removed"))
}

/// Refuses an agent whose record says that it was spawned, but is not listed as ours: an agent can write one for any
/// worktree. Exit 1.
pub fn require_spawned(known: &KnownAgent) -> Result<()> {
    if known.is_managed || known.agent.kind != AgentKind::Subtree {
        return Ok(());
    }
    let (id, path) = (shell_word(Path::new(&known.agent.id)), shell_word(&known.worktree.path));
    let refused = failure::UNMANAGED.failure(format!(
        "the record of {} is not one that you have written for {}",
        known.agent.id,
        known.worktree.path.display()
    ));
    Err(refused.hint(match known.worktree.is_lost {
        true => format!(
            "its worktree is not there: if it was moved, or another one has its place, `worktree-spawn repair` finds it or \
             says what to do; if it is gone and nothing has its place, `git worktree remove {path}` removes git's record of it"
        ),
        false => format!(
            "it was written by an earlier version, in a sandbox, by an agent, with another home, or for an earlier worktree: \
             look at this one, then take it over with `worktree-spawn trust {id}`, or remove it with git: \
             `git worktree remove {path}`"
        ),
    }))
}

/// How many bytes of changes are kept at most: they are copied while other spawns and removals wait.
const LARGEST_KEPT: u64 = 2 << 30;

fn refuse_losses(condition: &Condition, request: RemovalRequest) -> Result<()> {
    let agent = &condition.known.agent;
    let path = condition.known.worktree.path.display();
    if agent.kind == AgentKind::Root || (condition.known.worktree.is_main && agent.kind == AgentKind::Subtree) {
        return Err(failure::UNMANAGED
            .failure(format!("{} was not spawned by worktree-spawn", agent.id))
            .hint("`git worktree remove` removes worktrees that were made by hand"));
    }
    if let Some(mount) = condition.mounts.first() {
        return Err(failure::MOUNTED
            .failure(format!("something is mounted at {}, which the removal would empty", mount.display()))
            .hint(format!("unmount it first: `umount {}`", shell_word(mount))));
    }
    if condition.liveness == Liveness::Live && !request.force {
        return Err(failure::LIVE.failure(format!("{} is running", agent.id)).hint(format!(
            "leave the agent program first (a worker's with `worker-ctl down NAME`), or remove it anyway: \
             `worktree-spawn remove --force {}`",
            agent.id
        )));
    }
    if let Some(why) = &condition.locked {
        return Err(failure::LOCKED
            .failure(format!("{path} is locked{why}"))
            .hint(format!("unlock it first: `git worktree unlock {}`", shell_word(&condition.known.worktree.path))));
    }
    if condition.is_cut_off {
        return Err(failure::LOST
            .failure(format!("{path} has no `.git` file, so git cannot tell what would be lost"))
            .hint("`worktree-spawn repair` restores the file, or says how"));
    }
    if condition.known.worktree.is_lost && !condition.is_deleted && !request.force {
        return Err(failure::LOST.failure(format!("{path} is not there"))
            .hint(format!("`worktree-spawn remove --force {}` removes git's record of it and keeps what was staged under refs/shopfloor/trash/; if it was moved, `worktree-spawn repair` finds it or says how it comes back", agent.id)));
    }
    if let Some(why) = &condition.changes.submodule {
        return Err(failure::DIRTY
            .failure(format!("{path}: {why}, which would be lost"))
            .hint("first commit and push it there, or move it out of the worktree"));
    }
    if !condition.changes.paths.is_empty() && !request.force {
        let shown = condition.changes.paths.iter().take(5).map(|path| format!("  {path}"));
        let more = condition.changes.paths.len().saturating_sub(5);
        let rest = (more > 0).then(|| format!("  and {more} more"));
        return Err(failure::DIRTY
            .failure(format!("{path} has uncommitted changes"))
            .details(shown.chain(rest))
            .hint("commit them, or let `worktree-spawn remove --force` keep them under refs/shopfloor/trash/"));
    }
    if condition.changes.size > LARGEST_KEPT {
        let size = condition.changes.size >> 30;
        return Err(failure::DIRTY
            .failure(format!("the changes in {path} are too large to keep: {size} GiB"))
            .hint("move large files away or delete them; `git status` there lists them"));
    }
    if condition.loose_commits > 0 && !request.force {
        return Err(failure::UNMERGED.failure(format!("{path} has {} commits that are on no branch", condition.loose_commits))
            .hint("give them a branch: `git branch NAME HEAD` there, or let `--force` keep them under refs/shopfloor/trash/"));
    }
    Ok(())
}

/// What becomes of the branch.
#[derive(Default)]
struct BranchFate {
    deletes: Option<(String, String)>,
    note: Option<String>,
}

fn branch_fate(condition: &Condition, request: RemovalRequest) -> Result<BranchFate> {
    let agent = &condition.known.agent;
    let born = || agent.birth_branch.clone().unwrap_or_default();
    let is_subtree = agent.kind == AgentKind::Subtree;
    let delete = |name: &String, tip: &String| BranchFate { deletes: Some((name.clone(), tip.clone())), note: None };
    let keep = |note: String| BranchFate { deletes: None, note: Some(note) };
    let is_other = condition.other_branch.is_some();
    let mut fate = match &condition.branch {
        branch if request.delete_branch && is_subtree && (is_other || *branch == Branch::NotHeld) => {
            let path = condition.known.worktree.path.display();
            return Err(failure::UNMERGED
                .failure(format!("{path} does not hold the branch {} it was made with", born()))
                .hint("delete branches yourself: `git branch -d`"));
        }
        Branch::NotHeld if is_subtree && !is_other && !condition.known.worktree.is_lost => {
            keep(format!("its branches stay, because it no longer holds {}", born()))
        }
        Branch::NotHeld => BranchFate::default(),
        Branch::Elsewhere { name, path } if request.delete_branch => {
            return Err(failure::UNMERGED
                .failure(format!("{name} is checked out at {path} as well"))
                .hint("leave the branch with `--keep-branch`"));
        }
        Branch::Elsewhere { name, path } => {
            keep(format!("the branch {name} stays: it is checked out at {path} as well"))
        }
        Branch::Contained { .. } | Branch::Unmerged { .. } if request.keep_branch => BranchFate::default(),
        Branch::Contained { name, tip } => delete(name, tip),
        Branch::Unmerged { name, tip, .. } if request.delete_branch && request.force => delete(name, tip),
        Branch::Unmerged { name, into, .. } if request.delete_branch => {
            return Err(failure::UNMERGED.failure(format!("{name} has commits that {into} lacks"))
                .hint("merge it first, leave the branch with `--keep-branch`, or let `--force` keep it under refs/shopfloor/trash/"));
        }
        Branch::Unmerged { name, into, .. } => keep(format!(
            "the branch {name} stays: it has commits that {into} lacks; `git merge {name}` takes them over, and `git branch -D {name}` gives them up"
        )),
    };
    if let Some(held) = condition.other_branch.as_ref().filter(|_| is_subtree) {
        let stays = format!("the branch {held} stays; once it is merged, `git branch -d {held}` deletes it");
        fate.note = Some(fate.note.into_iter().chain([stays]).collect::<Vec<_>>().join("; "));
    }
    Ok(fate)
}

/// Whether an agent has ended, otherwise the reason why `gc` keeps it.
pub fn has_ended(liveness: Liveness) -> std::result::Result<(), String> {
    match liveness {
        Liveness::Live => Err("it is running".into()),
        Liveness::Never => Err("it was never run, so nobody knows whether it is done".into()),
        Liveness::Unknown => Err("nobody knows whether it is running".into()),
        Liveness::Exited | Liveness::Died => Ok(()),
    }
}

/// Whether an agent has left nothing, otherwise the reason why `gc` keeps it.
pub fn is_collectable(condition: &Condition) -> std::result::Result<(), String> {
    let agent = &condition.known.agent;
    // It may be on a disk that is away, or moved to where nobody looks.
    if condition.is_cut_off {
        return Err("it has no `.git` file; `worktree-spawn repair` restores that".into());
    }
    if condition.known.worktree.is_lost {
        let way = format!("if you deleted it: `worktree-spawn remove {}`", agent.id);
        return Err(format!("it is not there; {way}"));
    }
    has_ended(condition.liveness)?;
    if agent.kind == AgentKind::Root || (condition.known.worktree.is_main && agent.kind == AgentKind::Subtree) {
        return Err("it was not spawned".into());
    }
    if !condition.nested.is_empty() {
        return Err(format!("there are worktrees inside it: {}", condition.nested.join(", ")));
    }
    if !condition.seats.is_empty() {
        return Err(format!("there are seats in it: {}", condition.seats.join(", ")));
    }
    if condition.pending > 0 {
        return Err(format!("{} events for it are not acknowledged", condition.pending));
    }
    if let Some(why) = &condition.locked {
        return Err(format!("it is locked{why}"));
    }
    if let Some(mount) = condition.mounts.first() {
        return Err(format!("something is mounted at {}", mount.display()));
    }
    if let Some(why) = &condition.changes.submodule {
        return Err(why.clone());
    }
    if !condition.changes.paths.is_empty() {
        return Err("it has uncommitted changes".into());
    }
    if condition.loose_commits > 0 {
        return Err("it has commits that are on no branch".into());
    }
    match &condition.branch {
        branch
            if agent.kind == AgentKind::Subtree && (condition.other_branch.is_some() || *branch == Branch::NotHeld) =>
        {
            Err(match agent.birth_branch == condition.known.worktree.branch {
                true => format!("its branch {} was named by you", agent.birth_branch.as_deref().unwrap_or_default()),
                false => "it no longer holds the branch it was made with".into(),
            })
        }
        Branch::Unmerged { name, into, .. } => Err(format!("{name} has commits that {into} lacks")),
        Branch::Elsewhere { name, path } => Err(format!("{name} is checked out at {path} as well")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::agent_in_worktree::KnownAgent;
    use crate::facts::removal::Changes;
    use crate::identity::Agent;
    use crate::repository_view::Worktree;

    fn condition() -> Condition {
        let root = Agent::root("root", Some("main"), Timestamp::UNIX_EPOCH);
        let agent = root.child(AgentKind::Subtree, "main.x", "x", "x", Timestamp::UNIX_EPOCH);
        let branch = Some("main.x".to_owned());
        let worktree = Worktree { path: "/p/x".into(), git_dir: "/g".into(), branch, is_main: false, is_lost: false };
        Condition {
            known: KnownAgent::spawned(agent, worktree),
            liveness: Liveness::Exited,
            changes: Changes::default(),
            locked: None,
            loose_commits: 0,
            branch: Branch::Contained { name: "main.x".into(), tip: "t".into() },
            other_branch: None,
            pending: 0,
            nested: vec![],
            seats: vec![],
            is_deleted: false,
            is_cut_off: false,
            is_being_made: false,
            mounts: vec![],
        }
    }

    #[test]
    fn losses_are_refused_without_force_and_kept_with_it() {
        type Damage = fn(&mut Condition);
        let spoils: [(&str, Damage, bool); 9] = [
            ("mounted", |c| c.mounts.push("/p/x/m".into()), false),
            ("unmanaged", |c| c.known.worktree.is_main = true, false),
            ("dirty", |c| c.changes.paths.push("a".into()), true),
            ("live", |c| c.liveness = Liveness::Live, true),
            ("unmerged", |c| c.loose_commits = 1, true),
            ("lost", |c| c.known.worktree.is_lost = true, true),
            ("locked", |c| c.locked = Some(String::new()), false),
            ("dirty", |c| c.changes.submodule = Some("s".into()), false),
            ("unmanaged", |c| c.known.agent.kind = AgentKind::Root, false),
        ];
        for (kind, spoil, can_force) in spoils {
            let mut spoilt = condition();
            spoil(&mut spoilt);
            assert_eq!(plan(spoilt.clone(), RemovalRequest::default()).unwrap_err().kind, kind);
            assert!(is_collectable(&spoilt).is_err(), "{kind}");
            let forced = plan(spoilt, RemovalRequest { force: true, ..RemovalRequest::default() });
            assert_eq!(forced.is_ok(), can_force, "{kind}");
            assert!(forced.is_err() || ["live", "lost"].contains(&kind) || forced.unwrap().keeps_trash, "{kind}");
        }
        assert!(is_collectable(&condition()).is_ok());
        assert!(is_collectable(&Condition { seats: vec!["w".into()], ..condition() }).is_err());
    }

    #[test]
    fn a_branch_is_deleted_only_if_another_one_contains_it() {
        assert_eq!(plan(condition(), RemovalRequest::default()).unwrap().deletes, Some(("main.x".into(), "t".into())));
        let keep = RemovalRequest { keep_branch: true, ..RemovalRequest::default() };
        assert_eq!(plan(condition(), keep).unwrap().deletes, None);
        let branch = Branch::Unmerged { name: "main.x".into(), tip: "t".into(), into: "main".into() };
        let unmerged = Condition { branch, ..condition() };
        let kept = plan(unmerged.clone(), RemovalRequest::default()).unwrap();
        assert!(kept.deletes.is_none() && kept.note.unwrap().contains("stays"));
        let delete = RemovalRequest { delete_branch: true, ..RemovalRequest::default() };
        assert_eq!(plan(unmerged.clone(), delete).unwrap_err().kind, "unmerged");
        let forced = plan(unmerged, RemovalRequest { force: true, ..delete }).unwrap();
        assert!(forced.deletes.is_some() && forced.keeps_trash);
        let shared = Branch::Elsewhere { name: "main.x".into(), path: "/y".into() };
        assert_eq!(plan(Condition { branch: shared, ..condition() }, RemovalRequest::default()).unwrap().deletes, None);
        let switched = Condition { branch: Branch::NotHeld, ..condition() };
        assert!(plan(switched, delete).is_err());
    }
}
