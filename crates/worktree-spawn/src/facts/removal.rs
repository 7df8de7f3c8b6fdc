//! What would be lost if an agent's worktree were removed.

use std::path::PathBuf;

use shopfloor_core::config::Line;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::{self, Git};

use super::history::{contained, loose_commits};
use super::repository;
use crate::agent_run::{Deaths, Liveness};
use crate::identity::AgentKind;
use crate::known_agent::KnownAgent;
use crate::place::{Place, Worktree};
use crate::spool::Spool;

/// What an inspection of agents needs.
#[derive(Clone, Copy)]
pub struct Inspection<'a> {
    pub env: &'a Env,
    pub place: &'a Place,
    pub git: &'a Git,
    /// The command that tells whether an agent lives that `run` did not start.
    pub probe: Option<&'a Line>,
    pub deaths: Deaths,
}

/// The condition of an agent that may be removed.
#[derive(Clone, Debug)]
pub struct Condition {
    pub known: KnownAgent,
    pub liveness: Liveness,
    /// Paths with uncommitted changes.
    pub changes: Vec<String>,
    /// Changes or commits that only a submodule's clone here has.
    pub submodule: Option<String>,
    /// The reason given to `git worktree lock`.
    pub locked: Option<String>,
    /// The number of commits that no branch, tag or remote has, when HEAD is detached.
    pub loose_commits: usize,
    pub branch: Branch,
    /// The number of events that are not acknowledged.
    pub pending: usize,
    /// The ids of agents in worktrees inside this one.
    pub nested: Vec<String>,
    /// The ids of the seats in the worktree.
    pub seats: Vec<String>,
    /// The places in the worktree where something is mounted, which a removal would empty.
    pub mounts: Vec<PathBuf>,
}

/// What may become of the branch that the worktree was made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Branch {
    /// There is none, or the worktree holds another one now.
    NotHeld,
    /// Another branch contains everything on it.
    Contained { name: String, tip: String, why: String },
    /// Another worktree has it checked out as well.
    Elsewhere { name: String, path: String },
    /// It has commits of its own.
    Unmerged { name: String, tip: String, into: String },
}

/// The seats in an agent's worktree.
pub fn seated_in<'k>(known: &'k KnownAgent, all: &'k [KnownAgent]) -> impl Iterator<Item = &'k KnownAgent> {
    all.iter().filter(|other| other.worktree.path == known.worktree.path && other.agent.kind == AgentKind::Worker)
}

/// The condition of one agent among `all`. Asks git.
pub fn condition(
    inspection: &Inspection<'_>,
    known: &KnownAgent,
    all: &[KnownAgent],
    liveness: Liveness,
) -> Result<Condition> {
    let mut found = without_git(inspection.place, known, all, liveness)?;
    if known.agent.kind == AgentKind::Subtree && !known.worktree.is_lost {
        ask_git(inspection, known, all, &mut found)?;
    }
    Ok(found)
}

/// What is known of an agent without looking into its worktree.
fn without_git(place: &Place, known: &KnownAgent, all: &[KnownAgent], liveness: Liveness) -> Result<Condition> {
    let worktree = &known.worktree;
    let mut found = Condition {
        known: known.clone(),
        liveness,
        changes: Vec::new(),
        submodule: None,
        locked: None,
        loose_commits: 0,
        branch: Branch::NotHeld,
        pending: Spool::new(&place.shared(), &known.agent.id).pending()?,
        nested: Vec::new(),
        seats: Vec::new(),
        mounts: Vec::new(),
    };
    if known.agent.kind != AgentKind::Subtree {
        return Ok(found);
    }
    let locked = fs::read(&worktree.git_dir.join("locked"))?;
    found.locked = locked.map(|why| match String::from_utf8_lossy(&why).trim() {
        "" => String::new(),
        why => format!(": {why}"),
    });
    if !worktree.is_lost {
        found.mounts = fs::mounts_below(&worktree.path);
        let inside = all
            .iter()
            .filter(|other| other.worktree.path != worktree.path && other.worktree.path.starts_with(&worktree.path));
        found.nested =
            inside.filter(|other| other.agent.kind != AgentKind::Worker).map(|other| other.agent.id.clone()).collect();
        found.seats = seated_in(known, all).map(|seated| seated.agent.id.clone()).collect();
    }
    Ok(found)
}

/// The operations of git that are under way.
fn unfinished(worktree: &Worktree) -> impl Iterator<Item = String> {
    let names = ["MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"];
    let open = names.into_iter().filter(|name| worktree.git_dir.join(name).exists());
    open.map(|name| format!("({name}: git is in the middle of something)"))
}

fn ask_git(inspection: &Inspection<'_>, known: &KnownAgent, all: &[KnownAgent], found: &mut Condition) -> Result<()> {
    let Inspection { place, git, .. } = *inspection;
    let worktree = &known.worktree;
    let git = &worktree.git(git, place)?;
    let how = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=dirty"];
    let status = git.cmd_alone(&worktree.path).args(how).capture()?;
    if !status.status.success() {
        return Err(git::failed("status", &status));
    }
    let mut is_origin = false;
    for line in status.stdout.split(|b| *b == 0).filter(|line| !line.is_empty()) {
        // The old path of a renamed file follows as a record of its own.
        if std::mem::take(&mut is_origin) {
            continue;
        }
        let text = String::from_utf8_lossy(line).into_owned();
        is_origin = text.starts_with("2 ");
        let path = changed_path(&text);
        // Of a repository inside, git would only keep the commit.
        if text.starts_with("? ") && path.ends_with('/') {
            found.submodule = Some(format!("{path} is a repository of its own"));
        }
        found.changes.push(path);
    }
    let hidden = git.hidden_changes(&worktree.path)?;
    found.changes.extend(hidden.into_iter().map(|path| format!("{} (git was told not to look at it)", path.display())));
    found.changes.extend(unfinished(worktree));
    if found.submodule.is_none() {
        found.submodule = match git.inner_losses(&worktree.path)? {
            Some(why) => Some(why),
            None => git.ignored_losses(&place.common_dir, &worktree.path)?,
        };
    }
    find_branch(place, git, known, all, found)
}

/// The path in a record of `git status --porcelain=v2`.
fn changed_path(record: &str) -> String {
    let fields = match record.as_bytes().first() {
        Some(b'1') => 8,
        Some(b'2') => 9,
        Some(b'u') => 10,
        _ => 1,
    };
    record.splitn(fields + 1, ' ').last().unwrap_or(record).to_owned()
}

fn find_branch(place: &Place, git: &Git, known: &KnownAgent, all: &[KnownAgent], found: &mut Condition) -> Result<()> {
    let worktree = &known.worktree;
    let Some(tip) = repository::head(git, worktree)? else { return Ok(()) };
    if worktree.branch.is_none() {
        found.loose_commits = loose_commits(git, worktree)?;
        return Ok(());
    }
    // A subtree's branch has its id as its name. A record that says otherwise was not written by us.
    let born = known.agent.birth_branch.clone().filter(|born| *born == known.agent.id);
    let Some(name) = born.filter(|born| worktree.branch.as_ref() == Some(born)) else {
        return Ok(());
    };
    let elsewhere =
        all.iter().find(|other| other.worktree.path != worktree.path && other.worktree.branch.as_ref() == Some(&name));
    if let Some(other) = elsewhere {
        found.branch = Branch::Elsewhere { name, path: other.worktree.path.display().to_string() };
        return Ok(());
    }
    let parent = known.agent.parent.as_deref();
    let current =
        all.iter().find(|other| Some(other.agent.id.as_str()) == parent).and_then(|p| p.worktree.branch.clone());
    // The branch that this one was made from counts too, because the parent may work on another one now.
    let made_from = name.rsplit_once('.').map(|(prefix, _)| prefix.to_owned());
    let mut into: Vec<String> = current.into_iter().chain(made_from).filter(|b| *b != name).collect();
    into.dedup();
    for parent in &into {
        if let Some(why) = contained(place, git, &tip, parent)? {
            found.branch = Branch::Contained { name, tip, why: format!("{why} {parent}") };
            return Ok(());
        }
    }
    let into = into.first().cloned().unwrap_or_else(|| "its parent".into());
    found.branch = Branch::Unmerged { name, tip, into };
    Ok(())
}
