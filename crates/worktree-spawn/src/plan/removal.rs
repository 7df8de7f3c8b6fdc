//! What may be taken away, and what becomes of its branch.

use shopfloor_core::error::{Exit, Failure};
use shopfloor_core::text::shell_word;

use crate::facts::agents::Known;
use crate::identity::Kind;
use crate::life::State;

/// What is known of an agent that may go.
#[derive(Clone, Debug)]
pub struct Condition {
    pub known: Known,
    pub state: State,
    /// Paths with uncommitted changes.
    pub changes: Vec<String>,
    /// Changes or commits that only a submodule's clone here has.
    pub submodule: Option<String>,
    /// What `git worktree lock` said.
    pub locked: Option<String>,
    /// Commits that no branch, tag or remote has: HEAD is detached.
    pub loose_commits: usize,
    pub branch: Branch,
    /// Events that nobody acknowledged.
    pub pending: usize,
    /// Ids of worktrees inside this one.
    pub nested: Vec<String>,
    /// Ids of those seated in it.
    pub seats: Vec<String>,
}

/// What can become of the branch it was born with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Branch {
    /// It has none, or holds another one today.
    NotHeld,
    /// Everything on it is elsewhere.
    Contained { name: String, tip: String, why: String },
    /// Another worktree has it checked out as well.
    Elsewhere { name: String, path: String },
    /// Not so.
    Unmerged { name: String, tip: String, into: String },
}

/// What was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish {
    pub force: bool,
    pub delete_branch: bool,
    pub keep_branch: bool,
}

/// What will be done.
#[derive(Clone, Debug)]
pub struct Removal {
    pub condition: Condition,
    /// What the changes and commits are kept under first.
    pub keeps_trash: bool,
    /// The branch to delete, if it still is at this commit.
    pub deletes: Option<(String, String)>,
    /// Why the branch stays, if one does.
    pub says: Option<String>,
}

/// Decides; refuses whatever would lose something.
pub fn removal(condition: Condition, wish: Wish) -> Result<Removal, Failure> {
    let agent = &condition.known.agent;
    let path = condition.known.tree.path.display();
    let refuse = |kind: &'static str, message: String| Failure::new(Exit::No, kind, message);
    if agent.kind == Kind::Root {
        return Err(refuse("unmanaged", format!("{} was not spawned, so it is not ours to remove", agent.id))
            .hint("`git worktree remove` takes away worktrees made by hand"));
    }
    if condition.state == State::Live && !wish.force {
        return Err(
            refuse("live", format!("{} runs", agent.id)).hint("end it first; `--force` removes it all the same")
        );
    }
    if let Some(why) = &condition.locked {
        return Err(refuse("locked", format!("{path} is locked{why}"))
            .hint(format!("unlock it first: `git worktree unlock {}`", shell_word(&condition.known.tree.path))));
    }
    if condition.known.tree.is_lost && !wish.force {
        return Err(refuse("lost", format!("{path} is not there"))
            .hint("where it was moved, `worktree-spawn repair` finds it; `--force` takes git's record of it away, with what was staged"));
    }
    if let Some(why) = &condition.submodule {
        return Err(refuse("dirty", format!("{path}: {why}, which would be lost"))
            .hint("commit and push that there, or move it out of the worktree, first"));
    }
    if !condition.changes.is_empty() && !wish.force {
        let shown = condition.changes.iter().take(5).map(|path| format!("  {path}"));
        let more = condition.changes.len().saturating_sub(5);
        let rest = (more > 0).then(|| format!("  and {more} more"));
        return Err(refuse("dirty", format!("{path} has uncommitted changes"))
            .details(shown.chain(rest))
            .hint("commit them, or let `--force` keep them under refs/shopfloor/trash/"));
    }
    if condition.loose_commits > 0 && !wish.force {
        return Err(refuse(
            "unmerged",
            format!("{path} has {} commits that are on no branch", condition.loose_commits),
        )
        .hint(
            "give them a branch: `git branch NAME HEAD` there, or let `--force` keep them under refs/shopfloor/trash/",
        ));
    }
    let mut says = None;
    let deletes = match &condition.branch {
        Branch::NotHeld if wish.delete_branch && agent.kind == Kind::Subtree => {
            let born = agent.birth_branch.clone().unwrap_or_default();
            return Err(refuse("unmerged", format!("{path} does not hold the branch {born} it was made with"))
                .hint("delete branches yourself: `git branch -d`"));
        }
        Branch::NotHeld => {
            if agent.kind == Kind::Subtree && !condition.known.tree.is_lost {
                says = Some(format!(
                    "its branches stay, for it no longer holds {}",
                    agent.birth_branch.clone().unwrap_or_default()
                ));
            }
            None
        }
        Branch::Elsewhere { name, path } if wish.delete_branch => {
            return Err(refuse("unmerged", format!("{name} is checked out at {path} as well"))
                .hint("leave the branch with `--keep-branch`"));
        }
        Branch::Elsewhere { name, path } => {
            says = Some(format!("the branch {name} stays: it is checked out at {path} as well"));
            None
        }
        Branch::Contained { .. } | Branch::Unmerged { .. } if wish.keep_branch => None,
        Branch::Contained { name, tip, .. } => Some((name.clone(), tip.clone())),
        Branch::Unmerged { name, tip, .. } if wish.delete_branch && wish.force => Some((name.clone(), tip.clone())),
        Branch::Unmerged { name, into, .. } if wish.delete_branch => {
            return Err(refuse("unmerged", format!("{name} has commits that {into} has not"))
                .hint("merge it first, leave the branch with `--keep-branch`, or let `--force` keep it under refs/shopfloor/trash/"));
        }
        Branch::Unmerged { name, into, .. } => {
            says = Some(format!("the branch {name} stays: it has commits that {into} has not"));
            None
        }
    };
    let loses_branch = matches!(condition.branch, Branch::Unmerged { .. }) && deletes.is_some();
    let keeps_trash = wish.force && (!condition.changes.is_empty() || condition.loose_commits > 0 || loses_branch);
    Ok(Removal { condition, keeps_trash, deletes, says })
}

/// Whether it has ended; else why it stays, whatever it has.
pub fn has_ended(state: State) -> Result<(), String> {
    match state {
        State::Live => Err("it runs".into()),
        State::Never => Err("it was never run, so nobody knows whether it is done".into()),
        State::Unknown => Err("nobody knows whether it runs".into()),
        State::Exited | State::Died => Ok(()),
    }
}

/// Whether nobody would miss it; else why it stays.
pub fn collectable(condition: &Condition) -> Result<(), String> {
    let agent = &condition.known.agent;
    has_ended(condition.state)?;
    if agent.kind == Kind::Root {
        return Err("it was not spawned".into());
    }
    if condition.known.tree.is_lost {
        return Err("it is not there".into());
    }
    if !condition.nested.is_empty() {
        return Err(format!("worktrees lie inside it: {}", condition.nested.join(", ")));
    }
    if !condition.seats.is_empty() {
        return Err(format!("others are seated in it: {}", condition.seats.join(", ")));
    }
    if condition.pending > 0 {
        return Err(format!("{} events for it are not acknowledged", condition.pending));
    }
    if let Some(why) = &condition.locked {
        return Err(format!("it is locked{why}"));
    }
    if let Some(why) = &condition.submodule {
        return Err(why.clone());
    }
    if !condition.changes.is_empty() {
        return Err("it has uncommitted changes".into());
    }
    if condition.loose_commits > 0 {
        return Err("it has commits that are on no branch".into());
    }
    match &condition.branch {
        Branch::Unmerged { name, into, .. } => Err(format!("{name} has commits that {into} has not")),
        Branch::Elsewhere { name, path } => Err(format!("{name} is checked out at {path} as well")),
        Branch::NotHeld if agent.kind == Kind::Subtree => Err("it no longer holds the branch it was made with".into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::facts::place::Tree;
    use crate::identity::Agent;

    fn condition() -> Condition {
        let root = Agent::root("root", Some("main"), Timestamp::UNIX_EPOCH);
        let agent = root.child(Kind::Subtree, "main.x".into(), "x", "x", Timestamp::UNIX_EPOCH);
        let branch = Some("main.x".to_owned());
        let tree = Tree { path: "/p/x".into(), git_dir: "/g".into(), branch, is_main: false, is_lost: false };
        Condition {
            known: Known { agent, tree, is_managed: true, error: None },
            state: State::Exited,
            changes: vec![],
            submodule: None,
            locked: None,
            loose_commits: 0,
            branch: Branch::Contained { name: "main.x".into(), tip: "t".into(), why: "merged".into() },
            pending: 0,
            nested: vec![],
            seats: vec![],
        }
    }

    #[test]
    fn nothing_that_would_be_lost_goes_without_force_and_with_it_is_kept() {
        type Spoil = fn(&mut Condition);
        let spoils: [(&str, Spoil, bool); 7] = [
            ("dirty", |c| c.changes.push("a".into()), true),
            ("live", |c| c.state = State::Live, true),
            ("unmerged", |c| c.loose_commits = 1, true),
            ("lost", |c| c.known.tree.is_lost = true, true),
            ("locked", |c| c.locked = Some(String::new()), false),
            ("dirty", |c| c.submodule = Some("s".into()), false),
            ("unmanaged", |c| c.known.agent.kind = Kind::Root, false),
        ];
        for (kind, spoil, can_force) in spoils {
            let mut spoilt = condition();
            spoil(&mut spoilt);
            assert_eq!(removal(spoilt.clone(), Wish::default()).unwrap_err().kind, kind);
            assert!(collectable(&spoilt).is_err(), "{kind}");
            let forced = removal(spoilt, Wish { force: true, ..Wish::default() });
            assert_eq!(forced.is_ok(), can_force, "{kind}");
            assert!(forced.is_err() || ["live", "lost"].contains(&kind) || forced.unwrap().keeps_trash, "{kind}");
        }
        assert!(collectable(&condition()).is_ok());
        assert!(collectable(&Condition { seats: vec!["w".into()], ..condition() }).is_err());
    }

    #[test]
    fn a_branch_goes_only_when_all_of_it_is_elsewhere() {
        assert_eq!(removal(condition(), Wish::default()).unwrap().deletes, Some(("main.x".into(), "t".into())));
        let keep = Wish { keep_branch: true, ..Wish::default() };
        assert_eq!(removal(condition(), keep).unwrap().deletes, None);
        let branch = Branch::Unmerged { name: "main.x".into(), tip: "t".into(), into: "main".into() };
        let unmerged = Condition { branch, ..condition() };
        let kept = removal(unmerged.clone(), Wish::default()).unwrap();
        assert!(kept.deletes.is_none() && kept.says.unwrap().contains("stays"));
        let delete = Wish { delete_branch: true, ..Wish::default() };
        assert_eq!(removal(unmerged.clone(), delete).unwrap_err().kind, "unmerged");
        let forced = removal(unmerged, Wish { force: true, ..delete }).unwrap();
        assert!(forced.deletes.is_some() && forced.keeps_trash);
        let shared = Branch::Elsewhere { name: "main.x".into(), path: "/y".into() };
        assert_eq!(removal(Condition { branch: shared, ..condition() }, Wish::default()).unwrap().deletes, None);
        let strayed = Condition { branch: Branch::NotHeld, ..condition() };
        assert!(removal(strayed, delete).is_err());
    }
}
