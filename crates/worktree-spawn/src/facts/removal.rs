//! What would be lost if an agent's worktree were removed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::{Git, LOOK_LIMIT, filled_links, head_of, require_lasting_objects, run_git};
use shopfloor_core::text::shell_word;

use super::merged_commits::{is_contained, loose_commits};
use super::moved::moved;
use super::repository;
use crate::agent_in_worktree::KnownAgent;
use crate::agent_run::{Deaths, Liveness};
use crate::failure;
use crate::identity::AgentKind;
use crate::journal;
use crate::repository_view::{Place, Worktree};
use crate::settings::Settings;
use crate::spool::Spool;

/// What an inspection of agents needs.
#[derive(Clone, Copy)]
pub struct Inspection<'a> {
    pub env: &'a Env,
    pub place: &'a Place,
    pub git: &'a Git,
    pub settings: &'a Settings,
    pub deaths: Deaths,
}

/// The condition of an agent that may be removed.
#[derive(Clone, Debug)]
pub struct Condition {
    pub known: KnownAgent,
    pub liveness: Liveness,
    pub changes: Changes,
    /// The reason given to `git worktree lock`.
    pub locked: Option<String>,
    /// The number of commits that no branch, tag or remote has, when HEAD is detached.
    pub loose_commits: usize,
    pub branch: Branch,
    /// The branch that a subtree's worktree holds instead of the one it was made with.
    pub other_branch: Option<String>,
    /// The number of events that are not acknowledged.
    pub pending: usize,
    /// The ids of agents in worktrees inside this one.
    pub nested: Vec<String>,
    /// The ids of the seats in the worktree.
    pub seats: Vec<String>,
    /// Whether the worktree was deleted by hand: nothing is at its path, and git's record tells of nothing else.
    pub is_deleted: bool,
    /// Whether its directory is there without a `.git` that leads anywhere.
    pub is_cut_off: bool,
    /// Whether a process is still making it.
    pub is_being_made: bool,
    /// The places in the worktree where something is mounted, which a removal would empty.
    pub mounts: Vec<PathBuf>,
}

/// What may become of the branch that the worktree was made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Branch {
    /// There is none, or HEAD is detached.
    NotHeld,
    /// Another branch contains everything on it.
    Contained { name: String, tip: String },
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
    let Inspection { place, git, .. } = *inspection;
    let worktree = &known.worktree;
    let mut found = Condition {
        known: known.clone(),
        liveness,
        changes: Changes::default(),
        locked: None,
        loose_commits: 0,
        branch: Branch::NotHeld,
        other_branch: None,
        pending: Spool::new(&place.shared(), &known.agent.id).pending()?,
        nested: Vec::new(),
        seats: Vec::new(),
        is_deleted: false,
        is_cut_off: worktree.is_lost && worktree.is_cut_off(),
        is_being_made: journal::being_made(&place.shared())?.contains(&known.agent.id),
        mounts: Vec::new(),
    };
    // Of a worktree that is only half there git cannot tell anything.
    if known.agent.kind != AgentKind::Subtree || found.is_being_made {
        return Ok(found);
    }
    require_lasting_objects(&place.common_dir)?;
    let locked = fs::read(&worktree.git_dir.join("locked"))?;
    found.locked = locked.map(|why| match String::from_utf8_lossy(&why).trim() {
        "" => String::new(),
        why => format!(": {why}"),
    });
    found.seats = seated_in(known, all).map(|seated| seated.agent.id.clone()).collect();
    if worktree.is_lost {
        find_deleted(inspection, known, all, &mut found)?;
    } else {
        found.mounts = fs::mounts_below(&worktree.path);
        let inside = all
            .iter()
            .filter(|other| other.worktree.path != worktree.path && other.worktree.path.starts_with(&worktree.path));
        found.nested =
            inside.filter(|other| other.agent.kind != AgentKind::Worker).map(|other| other.agent.id.clone()).collect();
        let git = &worktree.git(git, place)?;
        found.changes = changes(place, git, worktree)?;
        if let Some(tip) = repository::head(git, worktree)? {
            found.loose_commits = loose_commits(git, worktree)?;
            find_branch(place, git, known, all, (&mut found, tip))?;
        }
        // What an agent works with is taken down before its worktree is moved.
        [&worktree.path, &worktree.git_dir].iter().filter_map(|dir| dir.parent()).try_for_each(fs::require_writable)?;
    }
    Ok(found)
}

/// Asks git's record of a worktree that is not there what would be lost with it.
fn find_deleted(
    inspection: &Inspection<'_>,
    known: &KnownAgent,
    all: &[KnownAgent],
    found: &mut Condition,
) -> Result<()> {
    let (Inspection { place, git, settings, .. }, worktree) = (*inspection, &known.worktree);
    let is_moved =
        || Ok(moved(place, &settings.worktree_base)?.iter().any(|moved| moved.worktree.git_dir == worktree.git_dir));
    if worktree.path.symlink_metadata().is_ok() || is_moved()? {
        return Ok(());
    }
    let Some(tip) = spare_tip(place, git, worktree)? else { return Ok(()) };
    found.is_deleted = true;
    find_branch(place, git, known, all, (found, tip))
}

/// The commit of a worktree that is not there, if git's record of it tells of nothing that is nowhere else.
pub fn spare_tip(place: &Place, git: &Git, worktree: &Worktree) -> Result<Option<String>> {
    if unfinished(worktree).next().is_some() || worktree.git_dir.join("modules").exists() {
        return Ok(None);
    }
    let git = git.common(&place.common_dir)?;
    let ask = |args: &[&str]| git.cmd(&place.common_dir).args(args.iter().copied());
    let head = match &worktree.branch {
        Some(branch) => format!("refs/heads/{branch}"),
        None => head_of(&worktree.git_dir),
    };
    let tip = repository::commit(&git, &place.common_dir, &format!("{head}^{{commit}}"))?;
    let Some(tip) = tip else { return Ok(None) };
    let index = worktree.git_dir.join("index");
    let staged = || ask(&["diff-index", "--cached", "--quiet", &tip, "--"]).var("GIT_INDEX_FILE", &index).capture();
    if index.exists() && !staged()?.status.success() {
        return Ok(None);
    }
    if worktree.branch.is_none() {
        let loose = ask(&["rev-list", "--max-count=1", &tip, "--not", "--branches", "--tags", "--remotes"]);
        if !run_git("rev-list", loose)?.is_empty() {
            return Ok(None);
        }
    }
    Ok(Some(tip))
}

/// The operations of git that are under way.
fn unfinished(worktree: &Worktree) -> impl Iterator<Item = String> {
    let names =
        ["MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "sequencer"];
    let open = names.into_iter().filter(|name| worktree.git_dir.join(name).exists());
    open.map(|name| format!("({name}: git is in the middle of something)"))
}

/// What would be lost of the files in a worktree.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Paths with uncommitted changes.
    pub paths: Vec<String>,
    /// Changes or commits that only a submodule's clone here has.
    pub submodule: Option<String>,
    /// The size of the changed files together, in bytes.
    pub size: u64,
}

/// Asks git what would be lost of the files in a worktree. The `git` is the worktree's own.
pub fn changes(place: &Place, git: &Git, worktree: &Worktree) -> Result<Changes> {
    let entries = git.index_entries(&worktree.path, LOOK_LIMIT).map_err(|failure| {
        if !failure::GIT.is_kind_of(&failure) {
            return failure;
        }
        // In the worktree it is one more file, which a forced removal keeps.
        let (index, path) = (shell_word(&worktree.git_dir.join("index")), &worktree.path);
        let (away, path) = (shell_word(&path.join("index.damaged")), shell_word(path));
        failure.hint(format!("if the index is damaged, make a new one: `mv {index} {away} && git -C {path} reset -q`"))
    })?;
    let mut found = Changes::default();
    for (code, path) in &git.status_of(&worktree.path, &entries, LOOK_LIMIT)? {
        let inside = Git::repository_above(&worktree.path, Path::new(OsStr::from_bytes(path)));
        let path = inside.map_or(String::from_utf8_lossy(path).into_owned(), |dir| format!("{}/", dir.display()));
        // Of a repository inside, git would only keep the commit, or the files.
        if code == b"??" && path.ends_with('/') {
            found.submodule = Some(format!("{path} is a repository of its own"));
        }
        found.size += worktree.path.join(&path).symlink_metadata().map_or(0, |meta| meta.len());
        found.paths.push(path);
    }
    for link in filled_links(&worktree.path, &entries)? {
        found.submodule = Some(format!("{}/ has files in the place of a submodule", link.display()));
    }
    found.paths.extend(unfinished(worktree));
    if found.submodule.is_none() {
        found.submodule = git.unreadable(&worktree.path)?;
    }
    if found.submodule.is_none() {
        found.submodule = git.inner_losses(&worktree.path, &worktree.git_dir)?;
    }
    if found.submodule.is_none() {
        found.submodule = git.ignored_losses(&place.common_dir, &worktree.path)?;
    }
    Ok(found)
}

/// Finds out about the branch that a worktree was made with. Its HEAD is at `tip`.
fn find_branch(
    place: &Place,
    git: &Git,
    known: &KnownAgent,
    all: &[KnownAgent],
    (found, tip): (&mut Condition, String),
) -> Result<()> {
    let worktree = &known.worktree;
    // A subtree's branch has its id as its name. A record that says otherwise was not written by us.
    let born = known.agent.birth_branch.clone().filter(|born| *born == known.agent.id);
    found.other_branch = worktree.branch.clone().filter(|held| Some(held) != born.as_ref());
    let (Some(name), true) = (born, worktree.branch.is_some()) else { return Ok(()) };
    let common = || git.common(&place.common_dir);
    let tip = match found.other_branch {
        None => Some(tip),
        Some(_) => repository::commit(&common()?, &place.common_dir, &format!("refs/heads/{name}"))?,
    };
    let Some(tip) = tip else { return Ok(()) };
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
    let made_from = |branch: &str| branch.rsplit_once('.').map(|(prefix, _)| prefix.to_owned());
    let mut into: Vec<String> = current.into_iter().chain(made_from(&name)).filter(|b| *b != name).collect();
    into.dedup();
    let is_in = |found: bool, branch: &String| -> Result<bool> { Ok(found || is_contained(place, git, &tip, branch)?) };
    let mut is_merged = into.iter().try_fold(false, is_in)?;
    // Where that is gone, as after its own work has landed, the work lands where that did.
    let is_there = |branch: &str| -> Result<bool> {
        Ok(repository::commit(&common()?, &place.common_dir, &format!("refs/heads/{branch}"))?.is_some())
    };
    while !is_merged
        && let Some(gone) = into.last()
        && let Some(above) = made_from(gone)
        && !is_there(gone)?
    {
        is_merged = is_contained(place, git, &tip, &above)?;
        into = vec![above];
    }
    let into = into.first().cloned().unwrap_or_else(|| "its parent".into());
    found.branch = if is_merged { Branch::Contained { name, tip } } else { Branch::Unmerged { name, tip, into } };
    Ok(())
}
