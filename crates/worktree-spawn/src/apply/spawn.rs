//! Makes a subtree or a seat, as planned. git's records are made under the repository's lock, files outside of it.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use shopfloor_core::env::Env;
use shopfloor_core::error::{At, Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, LOCAL_VARS, Repo, private_dir};
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::{self, Cmd};
use shopfloor_core::ui::{Spinner, Ui};

use super::undo::{self, Recovered};
use super::{checkout, files, remove};
use crate::excludes;
use crate::facts::agents::Known;
use crate::facts::place::{Place, Tree};
use crate::facts::spawn::{Base, git_failed};
use crate::identity::{self, Agent};
use crate::journal::{self, Open, Removing, Spawn};
use crate::native::Native;
use crate::plan::spawn::Plan;
use crate::spool::Spool;

/// How a subtree is made.
#[derive(Clone, Debug, Default)]
pub struct How {
    pub task: Option<Vec<u8>>,
    pub submodules: bool,
    pub no_git_hooks: bool,
}

/// What was made.
#[derive(Debug)]
pub struct Made {
    pub tree: Tree,
    pub agent: Agent,
    pub mcp_config: PathBuf,
    pub warnings: Vec<String>,
}

/// The lock under which git's records and ours are made and removed.
pub fn lock(place: &Place) -> Result<Lock> {
    Lock::take(&place.shared().join("lock"))
}

/// Finishes what killed removals left, where there are any: their events wait for that.
pub fn finish_removals(env: &Env, place: &Place) -> Result<Vec<String>> {
    if journal::left_behind::<Removing>(&place.shared())?.is_empty() {
        return Ok(Vec::new());
    }
    let _lock = lock(place)?;
    remove::recover(place, &Git::find(env)?)
}

/// Finishes what killed removals left and undoes what killed spawns did, under the lock; says what became of each. One that
/// hinders does not hinder the others.
pub fn recover(place: &Place, git: &Git, is_last: bool) -> Result<Vec<String>> {
    let mut said = remove::recover(place, git)?;
    let (abandoned, told) = journal::abandoned::<Spawn>(&place.shared())?;
    said.extend(told);
    for open in abandoned {
        let id = open.work.id.clone();
        said.push(match undo::recover(place, git, open, is_last) {
            Ok(Recovered::Undone) => format!("undid the spawn of {id}, which was killed"),
            Ok(Recovered::Kept(path)) => {
                format!(
                    "the spawn of {id} was killed once its files were there; kept {}, where somebody works",
                    path.display()
                )
            }
            Ok(Recovered::Moved(path)) => {
                format!("undid the spawn of {id}, which was killed; its files are in {}", path.display())
            }
            Ok(Recovered::Left(path)) => {
                format!("undid the spawn of {id}, which was killed; {} has files that are not its own", path.display())
            }
            Ok(Recovered::Astray(path)) => {
                format!(
                    "the spawn of {id} was killed, and {} is not there; run `worktree-spawn repair`",
                    path.display()
                )
            }
            Err(failure) => format!("cannot undo the spawn of {id}, which was killed: {failure}"),
        });
    }
    Ok(said)
}

/// What all steps of a spawn need.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// For what hooks print, as they print it.
    pub ui: &'a Ui,
    pub spinner: Option<&'a Spinner>,
    pub env: &'a Env,
    pub place: &'a Place,
    pub git: &'a Git,
    pub repo: &'a Repo,
    /// The repository in this process, where that is as good as git.
    pub native: Option<&'a Native>,
    /// Set once a signal asks us to end.
    pub interrupted: &'static AtomicBool,
}

/// A subtree whose records are made, and whose files are not yet.
#[derive(Debug)]
pub struct Begun {
    journal: Open<Spawn>,
    tree: Tree,
    agent: Agent,
}

/// Makes the records: exclude lines, directories, git's worktree and branch, the identity. To be called under the
/// lock; undone when it fails.
pub fn begin(site: &Site<'_>, plan: &Plan) -> Result<Begun> {
    // Before anything is there that a `git add -A` could stage.
    exclude(site.repo, &state_lines().chain(plan.exclude.clone()).collect::<Vec<_>>())?;
    let spawner = site.place.require_here()?;
    if plan.path.starts_with(spawner.path.join(".shopfloor")) {
        files::ignore_itself(spawner)?;
    }
    let dirs = missing_dirs(&plan.path);
    let spawn = Spawn::new(&plan.agent.id, &plan.path, &plan.branch, plan.makes_branch, &plan.base_sha, dirs);
    let mut journal = journal::begin(&site.place.shared(), spawn)?;
    match records(site, plan, &mut journal) {
        Ok(tree) => Ok(Begun { journal, tree, agent: plan.agent.clone() }),
        Err(failure) => {
            let undone = proc::tidy_up(|| undo::undo(site.place, site.git, journal));
            Err(undo::with_leftovers(failure, undone))
        }
    }
}

/// A branch that is not there: here, where that is as good as git, else by git.
fn make_branch(site: &Site<'_>, plan: &Plan) -> Result<()> {
    if site.native.is_some_and(|native| native.make_branch(&plan.branch, &plan.base_sha)) {
        return Ok(());
    }
    let (name, null) = (format!("refs/heads/{}", plan.branch), "0".repeat(plan.base_sha.len()));
    let message = format!("branch: Created from {}", plan.base_sha);
    let cmd = site.git.cmd(&site.place.common_dir).args(["update-ref", "--create-reflog", "-m", &message]);
    let output = cmd.args([&name, &plan.base_sha, &null]).capture()?;
    if !output.status.success() {
        return Err(git_failed("update-ref", &output).hint("nothing was kept of it"));
    }
    Ok(())
}

fn records(site: &Site<'_>, plan: &Plan, journal: &mut Open<Spawn>) -> Result<Tree> {
    let mut not_ours = Vec::new();
    for dir in journal.work.makes_dirs.clone() {
        if !fs::create_new_dir(&dir)? {
            not_ours.push(dir);
        }
    }
    if !not_ours.is_empty() {
        journal.has_not_made_dirs(&not_ours)?;
    }
    plan.path.parent().map_or(Ok(()), writable)?;
    if plan.makes_branch
        && let Err(failure) = make_branch(site, plan)
    {
        // Somebody else made it meanwhile: it is not ours to take back. A signal says nothing of that.
        if failure.kind == "git" {
            journal.has_not_made_branch()?;
        }
        return Err(failure);
    }
    // The branch has no upstream: a parallel spawn would fail on the shared configuration.
    let here = site.place.require_here()?;
    // git copies what this worktree has for itself; the hook that is meant is run by us.
    let git = here.git(site.git, site.place)?;
    let how = ["worktree", "add", "--quiet", "--no-checkout"];
    let cmd = git.cmd_alone(&here.path).args(how).arg(&plan.path).arg(&plan.branch);
    let output = cmd.capture()?;
    if !output.status.success() {
        return Err(git_failed("worktree add", &output).hint("nothing was kept of it"));
    }
    let git_dir = private_dir(&plan.path)
        .ok_or_else(|| Failure::failed(format!("git made no worktree at {}", plan.path.display())))?;
    // A worktree of this name lived before: what comes is for the new one.
    Spool::of(&site.place.shared(), &plan.agent.id).unbury()?;
    plan.agent.save(&identity::record(&git_dir))?;
    let path = plan.path.canonicalize().at("find", &plan.path)?;
    Ok(Tree { path, git_dir, branch: Some(plan.branch.clone()), is_main: false, is_lost: false })
}

/// Fails before git has made a branch that it would have to take back.
fn writable(dir: &Path) -> Result<()> {
    use rustix::fs::{Access, access};
    access(dir, Access::WRITE_OK | Access::EXEC_OK).at("write to", dir)
}

/// The directories that will have to be made, outermost first.
fn missing_dirs(path: &Path) -> Vec<PathBuf> {
    let missing = path.ancestors().take_while(|dir| dir.symlink_metadata().is_err());
    let mut dirs: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
    dirs.reverse();
    dirs
}

/// The lines that keep children and our files out of every `git status`.
pub fn state_lines() -> impl Iterator<Item = String> {
    excludes::STATE.iter().map(|line| (*line).to_owned())
}

/// Adds lines to `info/exclude` where they do not stand there yet.
pub fn exclude(repo: &Repo, patterns: &[String]) -> Result<()> {
    let before = repo.read_exclude()?;
    if excludes::with(&before, patterns) == before {
        return Ok(());
    }
    repo.rewrite_exclude(|text| Ok(excludes::with(text, patterns)))
}

/// Writes the files, runs the hooks. Undone when it fails or is interrupted.
pub fn finish(site: &Site<'_>, base: &Base, begun: Begun, how: &How) -> Result<Made> {
    let Begun { journal, tree, agent } = begun;
    let mut made = Made { tree, agent, mcp_config: PathBuf::new(), warnings: Vec::new() };
    match fill(site, base, how, &journal, &mut made) {
        Ok(()) => {
            journal.close()?;
            Ok(made)
        }
        Err(failure) => {
            let undone = proc::tidy_up(|| {
                let _lock = lock(site.place)?;
                undo::undo(site.place, site.git, journal)
            });
            Err(undo::with_leftovers(failure, undone))
        }
    }
}

fn fill(site: &Site<'_>, base: &Base, how: &How, journal: &Open<Spawn>, made: &mut Made) -> Result<()> {
    let (git, tree) = (site.git, made.tree.clone());
    checkout::run(site, &tree, &made.agent.base_sha.clone().unwrap_or_default())?;
    if how.submodules {
        let output = git.cmd(&tree.path).args(["submodule", "update", "--init", "--recursive", "--quiet"]).capture()?;
        if !output.status.success() {
            return Err(git_failed("submodule update", &output));
        }
    }
    let has_mcp = tree.path.join(".mcp.json").symlink_metadata().is_ok();
    files::furnish(site.env, &tree, &made.agent, how.task.as_deref())?;
    // A sparse checkout leaves out what is tracked all the same.
    let is_sparse = tree.git_dir.join("info/sparse-checkout").exists();
    let is_tracked = has_mcp || (is_sparse && !git.ls_files(&tree.path, &[".mcp.json".into()])?.is_empty());
    if !is_tracked {
        exclude(site.repo, &[excludes::MCP.to_owned()])?;
        let main = &site.repo.main_checkout;
        if main.join(".mcp.json").exists() && git.ls_files(main, &[".mcp.json".into()])?.is_empty() {
            made.warnings.push(format!("{} is not tracked, and git ignores it now", main.join(".mcp.json").display()));
        }
    }
    // git's processes hold the journal's lock with us, and are waited for by whoever finds it; what a hook starts may stay.
    journal.lock.keep_from_children()?;
    if !how.no_git_hooks {
        run_hook(site, base, made)?;
    }
    made.mcp_config = files::connect(site.env, &tree, &made.agent, is_tracked).or_else(|failure| {
        made.warnings.push(format!("left .mcp.json as it is: {failure}"));
        files::connect(site.env, &tree, &made.agent, true)
    })?;
    proc::check_interrupt()
}

/// The repository's post-checkout hook, as `git worktree add` runs it: all it prints is narration. What it leaves
/// running is not waited for.
fn run_hook(site: &Site<'_>, base: &Base, made: &mut Made) -> Result<()> {
    use rustix::fs::{Access, access};
    let hook = made.tree.path.join(&base.hook);
    if !hook.is_file() || access(&hook, Access::EXEC_OK).is_err() {
        return Ok(());
    }
    let sha = made.agent.base_sha.clone().unwrap_or_default();
    let null = "0".repeat(sha.len());
    // Hooks find git's own programs, as under git.
    let own = site.git.cmd(&made.tree.path).arg("--exec-path").capture()?;
    let own = PathBuf::from(String::from_utf8_lossy(&own.stdout).trim());
    let path = site.env.var("PATH").map(std::env::split_paths).into_iter().flatten();
    let path = std::env::join_paths(std::iter::once(own).chain(path)).unwrap_or_default();
    let cmd = Cmd::new(&hook, site.env).var("PATH", path).dir(&made.tree.path).without_vars(LOCAL_VARS).args([
        null,
        sha,
        "1".to_owned(),
    ]);
    let scratch = fs::scratch(&identity::state(&made.tree.git_dir).join("tmp"))?;
    match cmd.show_through(scratch, |bytes| site.ui.pass_through(site.spinner, bytes)) {
        Ok(status) if status.success() => {}
        Ok(status) => made.warnings.push(format!("{} ended with {status}; the worktree is usable", hook.display())),
        Err(failure) if matches!(failure.exit, Exit::Signal(_)) => return Err(failure),
        Err(failure) => made.warnings.push(format!("{failure}; the worktree is usable")),
    }
    Ok(())
}

/// Makes a seat: its files, then its record, which makes it one. To be called under the lock.
pub fn seat(site: &Site<'_>, seated: &Known, task: Option<&[u8]>) -> Result<(PathBuf, PathBuf)> {
    exclude(site.repo, &state_lines().collect::<Vec<_>>())?;
    let paths = files::seat(site.env, seated, task)?;
    Spool::of(&site.place.shared(), &seated.agent.id).unbury()?;
    seated.agent.save(&identity::seat(&seated.tree.git_dir, &seated.agent.slug))?;
    Ok(paths)
}
