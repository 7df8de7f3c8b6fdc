//! What would be lost if an agent's worktree went.

use shopfloor_core::config::Line;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::{Git, holds_repository};

use crate::facts::agents::Known;
use crate::facts::place::{Place, Tree};
use crate::facts::spawn::git_failed;
use crate::identity::Kind;
use crate::launcher;
use crate::life::{self, State};
use crate::native::{Containment, Native};
use crate::plan::removal::{Branch, Condition};
use crate::spool::Spool;

/// What looking needs.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    pub env: &'a Env,
    pub place: &'a Place,
    pub git: &'a Git,
    /// What tells whether an agent lives that `run` did not start.
    pub probe: Option<&'a Line>,
}

/// How it is, without asking git: live as long as anybody lives in its worktree.
pub fn state(look: &Look<'_>, known: &Known, all: &[Known]) -> Result<State> {
    let of = |known: &Known| -> Result<State> {
        let life = life::load(&look.place.shared(), &known.agent.id)?;
        Ok(launcher::state(look.env, look.place, look.probe, known, life)?.0)
    };
    if known.agent.kind == Kind::Subtree && !known.tree.is_lost {
        for seated in seated_in(known, all) {
            if of(seated)? == State::Live {
                return Ok(State::Live);
            }
        }
    }
    of(known)
}

fn seated_in<'k>(known: &'k Known, all: &'k [Known]) -> impl Iterator<Item = &'k Known> {
    all.iter().filter(|other| other.tree.path == known.tree.path && other.agent.kind == Kind::Worker)
}

/// Asks git about one agent, as one of `all`.
pub fn condition(look: &Look<'_>, known: &Known, all: &[Known]) -> Result<Condition> {
    let mut found = without_git(look, known, all)?;
    if known.agent.kind == Kind::Subtree && !known.tree.is_lost {
        ask_git(look, known, all, &mut found)?;
    }
    Ok(found)
}

/// The same for one that stays if it has changes, whatever these are: git is asked only where looking in this process
/// does not tell.
pub fn glance(look: &Look<'_>, known: &Known, all: &[Known]) -> Result<Condition> {
    let Look { env, place, git, .. } = *look;
    let mut found = without_git(look, known, all)?;
    let tree = &known.tree;
    if known.agent.kind != Kind::Subtree || tree.is_lost {
        return Ok(found);
    }
    let native = if place.has_ref_storage { None } else { Native::open(env, tree) };
    // That the worktree is the one the repository has recorded is seen first.
    let git = &tree.git(git, place)?;
    match native.as_ref().and_then(Native::is_changed) {
        Some(true) => found.changes.push("(not looked at one by one)".into()),
        Some(false) if !holds_repository(&tree.path) => {
            found.changes.extend(unfinished(tree));
            branch(&History { git, native, place, tree }, known, all, &mut found)?;
        }
        _ => ask_git(look, known, all, &mut found)?,
    }
    Ok(found)
}

/// What is known of an agent before anybody looks into its worktree.
fn without_git(look: &Look<'_>, known: &Known, all: &[Known]) -> Result<Condition> {
    let tree = &known.tree;
    let mut found = Condition {
        known: known.clone(),
        state: state(look, known, all)?,
        changes: Vec::new(),
        submodule: None,
        locked: None,
        loose_commits: 0,
        branch: Branch::NotHeld,
        pending: Spool::of(&look.place.shared(), &known.agent.id).pending()?,
        nested: Vec::new(),
        seats: Vec::new(),
    };
    if known.agent.kind != Kind::Subtree {
        return Ok(found);
    }
    let locked = fs::read(&tree.git_dir.join("locked"))?;
    found.locked = locked.map(|why| match String::from_utf8_lossy(&why).trim() {
        "" => String::new(),
        why => format!(": {why}"),
    });
    if !tree.is_lost {
        let inside = all.iter().filter(|other| other.tree.path != tree.path && other.tree.path.starts_with(&tree.path));
        found.nested =
            inside.filter(|other| other.agent.kind != Kind::Worker).map(|other| other.agent.id.clone()).collect();
        found.seats = seated_in(known, all).map(|seated| seated.agent.id.clone()).collect();
    }
    Ok(found)
}

/// What git is in the middle of.
fn unfinished(tree: &Tree) -> impl Iterator<Item = String> {
    let names = ["MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"];
    let open = names.into_iter().filter(|name| tree.git_dir.join(name).exists());
    open.map(|name| format!("({name}: git is in the middle of something)"))
}

fn ask_git(look: &Look<'_>, known: &Known, all: &[Known], found: &mut Condition) -> Result<()> {
    let Look { place, git, .. } = *look;
    let tree = &known.tree;
    let git = &tree.git(git, place)?;
    let how = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=dirty"];
    let status = git.cmd_alone(&tree.path).args(how);
    let status = status.capture()?;
    if !status.status.success() {
        return Err(git_failed("status", &status));
    }
    let mut is_origin = false;
    for line in status.stdout.split(|b| *b == 0).filter(|line| !line.is_empty()) {
        // The path a renamed one had comes as a record of its own.
        if std::mem::take(&mut is_origin) {
            continue;
        }
        let text = String::from_utf8_lossy(line).into_owned();
        is_origin = text.starts_with("2 ");
        let path = changed_path(&text);
        // A repository of its own, which git would only note the commit of.
        if text.starts_with("? ") && path.ends_with('/') {
            found.submodule = Some(format!("{path} is a repository of its own"));
        }
        found.changes.push(path);
    }
    found.changes.extend(unfinished(tree));
    if found.submodule.is_none() {
        found.submodule = match git.inner_losses(&tree.path)? {
            Some(why) => Some(why),
            None => git.ignored_losses(&place.common_dir, &tree.path)?,
        };
    }
    branch(&History { git, native: None, place, tree }, known, all, found)
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

fn branch(history: &History<'_>, known: &Known, all: &[Known], found: &mut Condition) -> Result<()> {
    let tree = &known.tree;
    let Some(tip) = history.head()? else { return Ok(()) };
    if tree.branch.is_none() {
        found.loose_commits = history.loose_commits()?;
        return Ok(());
    }
    let Some(name) = known.agent.birth_branch.clone().filter(|born| tree.branch.as_ref() == Some(born)) else {
        return Ok(());
    };
    let elsewhere = all.iter().find(|other| other.tree.path != tree.path && other.tree.branch.as_ref() == Some(&name));
    if let Some(other) = elsewhere {
        found.branch = Branch::Elsewhere { name, path: other.tree.path.display().to_string() };
        return Ok(());
    }
    let parent = known.agent.parent.as_deref();
    let today = all.iter().find(|other| Some(other.agent.id.as_str()) == parent).and_then(|p| p.tree.branch.clone());
    // What it was made from counts as well, when the parent works on something else today.
    let born_of = name.rsplit_once('.').map(|(prefix, _)| prefix.to_owned());
    let mut into: Vec<String> = today.into_iter().chain(born_of).filter(|b| *b != name).collect();
    into.dedup();
    for parent in &into {
        if let Some(why) = history.contained(&tip, parent)? {
            found.branch = Branch::Contained { name, tip, why: format!("{why} {parent}") };
            return Ok(());
        }
    }
    let into = into.first().cloned().unwrap_or_else(|| "its parent".into());
    found.branch = Branch::Unmerged { name, tip, into };
    Ok(())
}

/// What the commits of a worktree have to do with those of other branches: asked in this process where there is a
/// native repository that knows, of git else.
struct History<'a> {
    git: &'a Git,
    native: Option<Native>,
    place: &'a Place,
    tree: &'a Tree,
}

impl History<'_> {
    /// The commit HEAD is at, if it has one.
    fn head(&self) -> Result<Option<String>> {
        if let Some(tip) = self.native.as_ref().and_then(Native::head) {
            return Ok(Some(tip));
        }
        let head = self.git.cmd_alone(&self.tree.path).args(["rev-parse", "--verify", "--quiet", "HEAD"]).capture()?;
        let tip = String::from_utf8_lossy(&head.stdout).trim().to_owned();
        Ok((!tip.is_empty()).then_some(tip))
    }

    /// The number of commits that no branch, tag or remote has.
    fn loose_commits(&self) -> Result<usize> {
        if let Some(count) = self.native.as_ref().and_then(Native::loose_commits) {
            return Ok(count);
        }
        let how = ["rev-list", "--count", "HEAD", "--not", "--branches", "--tags", "--remotes"];
        let loose = self.git.cmd_alone(&self.tree.path).args(how).capture()?;
        Ok(String::from_utf8_lossy(&loose.stdout).trim().parse().unwrap_or(1))
    }

    /// How everything on `tip` is in the branch `into`, if it is: merged, each commit as a patch, or all of it as one.
    fn contained(&self, tip: &str, into: &str) -> Result<Option<&'static str>> {
        match self.native.as_ref().and_then(|native| native.containment(tip, into)) {
            Some(Containment::Merged) => Ok(Some("merged into")),
            Some(Containment::Missing) => Ok(None),
            Some(Containment::Ask) | None => contained(self.place, self.git, tip, &format!("refs/heads/{into}")),
        }
    }
}

/// Asks git how everything on `tip` is in `into`.
fn contained(place: &Place, git: &Git, tip: &str, into: &str) -> Result<Option<&'static str>> {
    let dir = &place.common_dir;
    let ask = |args: &[&str]| git.cmd(dir).args(args.iter().copied()).capture();
    let exists = ask(&["rev-parse", "--verify", "--quiet", &format!("{into}^{{commit}}")])?;
    if !exists.status.success() {
        return Ok(None);
    }
    if ask(&["merge-base", "--is-ancestor", tip, into])?.status.success() {
        return Ok(Some("merged into"));
    }
    let is_there = |commit: &str| -> Result<bool> {
        let cherry = ask(&["cherry", into, commit])?;
        let text = String::from_utf8_lossy(&cherry.stdout).into_owned();
        let count = ask(&["rev-list", "--count", "--merges", &format!("{into}..{commit}")])?;
        // A merge has no patch to compare.
        let merges = String::from_utf8_lossy(&count.stdout).trim() != "0";
        Ok(cherry.status.success() && !merges && text.lines().all(|line| line.starts_with("- ")))
    };
    if is_there(tip)? {
        return Ok(Some("patch-equal in"));
    }
    let base = ask(&["merge-base", tip, into])?;
    let base = String::from_utf8_lossy(&base.stdout).trim().to_owned();
    if base.is_empty() {
        return Ok(None);
    }
    // The branch as if it had been squashed: a commit that no ref ever names.
    let tree = format!("{tip}^{{tree}}");
    let squashed = crate::apply::trash::commit_cmd(git, dir, &[&tree, "-p", &base, "-m", "squashed"]).capture()?;
    let squashed = String::from_utf8_lossy(&squashed.stdout).trim().to_owned();
    Ok((!squashed.is_empty() && is_there(&squashed)?).then_some("squashed into"))
}
