//! Makes a subtree or a seat as planned. git's records are made under the repository's lock, files without it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shopfloor_core::agents::STARTERS;
use shopfloor_core::error::{At, Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{self, Git, LOOK_LIMIT, Repo, nul_fields, private_dir, run_git};
use shopfloor_core::git_hook;
use shopfloor_core::known_dirs::note_worktree;
use shopfloor_core::proc::{self, Cmd};
use shopfloor_core::text::shell_word;

use super::agent_config_files;
use super::lock_and_excludes::{SpawnContext, add_excludes, leftover_lines, lock, state_lines};
use super::undo::{self, LostWorktrees, UndoneSpawn, with_leftovers};
use crate::agent_in_worktree::{KnownAgent, MCP_FILE, OWN_MCP_FILE};
use crate::excludes;
use crate::facts::agent_environment::inherited;
use crate::facts::repository;
use crate::facts::spawn::StartPoint;
use crate::failure;
use crate::identity::Agent;
use crate::journal::{self, OpenJournal, SpawnJournal};
use crate::layout;
use crate::plan::spawn::Plan;
use crate::repository_view::{Place, Worktree};
use crate::spool::Spool;

/// How long submodules may take, which are fetched from elsewhere.
const SUBMODULE_DEADLINE: Duration = Duration::from_secs(3600);

/// How long its set-up may take to be taken back, after which it stays.
const TEARDOWN_DEADLINE: Duration = Duration::from_secs(600);

/// How a subtree is made.
#[derive(Clone, Debug, Default)]
pub struct SpawnOptions {
    pub task: Option<Vec<u8>>,
    pub submodules: bool,
    pub no_git_hooks: bool,
    /// Whether an agent's program asks, outside of the agent's sandbox.
    pub is_agents: bool,
}

/// A subtree that was made.
#[derive(Debug)]
pub struct MadeSubtree {
    pub known: KnownAgent,
    pub mcp_config: PathBuf,
    pub warnings: Vec<String>,
}

/// Makes the records: exclude lines, directories, git's worktree and branch, the identity. The caller holds the
/// repository's lock. A failure undoes them.
pub fn begin(context: &SpawnContext<'_>, plan: &Plan) -> Result<(OpenJournal<SpawnJournal>, KnownAgent)> {
    // This comes first, before there is anything that a `git add -A` could stage.
    let lines = state_lines().chain(plan.exclude.clone()).chain(leftover_lines(&plan.agent));
    add_excludes(context.place, &lines.collect::<Vec<_>>())?;
    let spawner = context.place.require_here()?;
    if plan.path.starts_with(spawner.path.join(".shopfloor")) {
        agent_config_files::ignore_itself(spawner)?;
    }
    let spawn = SpawnJournal {
        name: plan.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        branch: Some(plan.branch.clone()).filter(|branch| *branch != plan.agent.id),
        path: plan.path.clone(),
        makes_branch: plan.makes_branch,
        base_sha: plan.base_sha.clone(),
        is_undoing: false,
        makes_dirs: missing_dirs(&plan.path),
        ran_hook: false,
    };
    // Undoing the spawn needs it, perhaps on a full disk.
    fs::create_private_dir(&layout::gone_dir(&context.place.shared()))?;
    let mut journal = journal::begin(&context.place.shared(), &plan.agent.id, spawn)?;
    match make_records(context, plan, &mut journal) {
        Ok(worktree) => Ok((journal, KnownAgent::spawned(plan.agent.clone(), worktree))),
        Err(failure) => {
            let undone = proc::tidy_up(|| undo::undo(context.place, context.git, journal, LostWorktrees::Undo));
            Err(with_leftovers(failure, &plan.agent.id, undone))
        }
    }
}

/// Makes the new branch.
fn make_branch(context: &SpawnContext<'_>, plan: &Plan) -> Result<()> {
    let (name, null) = (format!("refs/heads/{}", plan.branch), "0".repeat(plan.base_sha.len()));
    let message = format!("branch: Created from {}", plan.base_sha);
    let common_dir = &context.place.common_dir;
    git::require_plain_ref(common_dir, &name)?;
    let cmd = context.git.common(common_dir)?.cmd(common_dir).args(["update-ref", "-m", &message]);
    run_git("update-ref", cmd.args([&name, &plan.base_sha, &null])).map(drop)
}

fn make_records(context: &SpawnContext<'_>, plan: &Plan, journal: &mut OpenJournal<SpawnJournal>) -> Result<Worktree> {
    // git makes the last one itself, with the mode that `core.sharedRepository` asks for.
    for dir in journal.entry.makes_dirs.clone().into_iter().filter(|dir| *dir != plan.path) {
        if !fs::create_new_dir(&dir)? {
            // Another process made it.
            journal.entry.makes_dirs.retain(|other| *other != dir);
        }
    }
    // Before there is a branch that would have to be deleted again.
    plan.path.parent().map_or(Ok(()), fs::require_writable)?;
    if plan.makes_branch
        && let Err(failure) = make_branch(context, plan)
    {
        // Another process made the branch meanwhile, so undoing must not delete it. A signal does not mean that.
        if failure::GIT.is_kind_of(&failure) {
            journal.entry.makes_branch = false;
            journal.save()?;
        }
        return Err(failure);
    }
    // The branch gets no upstream, because parallel spawns would fail on the lock of the shared configuration.
    let here = context.place.require_here()?;
    // First see that the worktree is the one that the repository has recorded. The post-checkout hook is run later, by
    // this tool.
    here.git(context.git, context.place)?;
    let git = context.git;
    let common_dir = &context.place.common_dir;
    git.require_records_for_another(common_dir)?;
    // git obeys the configuration of the worktree it is run in, if the repository has one for each.
    git.refuse_own_hooks(common_dir, &here.git_dir)?;
    let how = ["worktree", "add", "--quiet", "--no-checkout"];
    let cmd = git.cmd_alone(&here.path).var("GIT_COMMON_DIR", common_dir).args(how).arg(&plan.path).arg(&plan.branch);
    run_git("worktree add", cmd)?;
    let git_dir = private_dir(&plan.path)
        .ok_or_else(|| Failure::failed(format!("git made no worktree at {}", plan.path.display())))?;
    // If an earlier agent had this id, its session's events are no longer forwarded.
    Spool::new(&context.place.shared(), &plan.agent.id).unbury()?;
    let agent = Agent { directory: fs::dir_id(&plan.path), ..plan.agent.clone() };
    agent.save(context.env, &layout::identity_file(&git_dir))?;
    let path = plan.path.canonicalize().at("find", &plan.path)?;
    note_worktree(context.env, &path, common_dir)?;
    Ok(Worktree { path, git_dir, branch: Some(plan.branch.clone()), is_main: false, is_lost: false })
}

/// The directories that have to be made, outermost first.
fn missing_dirs(path: &Path) -> Vec<PathBuf> {
    let missing = path.ancestors().take_while(|dir| dir.symlink_metadata().is_err());
    let mut dirs: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
    dirs.reverse();
    dirs
}

/// Writes the files and runs the hooks. A failure or a signal undoes the subtree.
pub fn finish(
    context: &SpawnContext<'_>,
    start: &StartPoint,
    (mut journal, known): (OpenJournal<SpawnJournal>, KnownAgent),
    options: &SpawnOptions,
) -> Result<MadeSubtree> {
    let mut made = MadeSubtree { known, mcp_config: PathBuf::new(), warnings: Vec::new() };
    match fill(context, start, options, &mut journal, &mut made) {
        Ok(()) => {
            if let Err(failure) = journal.close() {
                let or = "or the next command takes the spawn for killed, and undoes what nobody has used yet";
                made.warnings.push(format!("{failure}; delete it, {or}"));
            }
            Ok(made)
        }
        Err(failure) => {
            let worktree = &made.known.worktree;
            let undone = proc::tidy_up(|| {
                if journal.entry.ran_hook
                    && let Err(why) = take_back_set_up(context, worktree)
                {
                    journal.close()?;
                    return Ok(UndoneSpawn::StillSetUp(worktree.path.clone(), why.to_string()));
                }
                let _lock = lock(context.place)?;
                undo::undo(context.place, context.git, journal, LostWorktrees::Undo)
            });
            Err(with_leftovers(failure, &made.known.agent.id, undone))
        }
    }
}

/// Lets sweatfile-apply tear down what its set-up began, and take back what it placed and nobody has changed: that is no
/// more than a spawn makes. While this fails, the worktree must stay, because what tears it down may still run in it. The
/// caller must not hold the repository's lock, because other processes wait for that.
fn take_back_set_up(context: &SpawnContext<'_>, worktree: &Worktree) -> Result<()> {
    let is_set_up = worktree.git_dir.join("shopfloor/sweatfile-apply").is_dir();
    let Some(program) = proc::find(context.env, "sweatfile-apply").filter(|_| is_set_up) else { return Ok(()) };
    let remove = Cmd::new(&program, context.env).args(["-q", "-C"]).arg(&worktree.path).arg("remove");
    let ended = remove.within(TEARDOWN_DEADLINE).capture()?;
    context.ui.pass_through(context.spinner, &ended.stderr);
    match ended.status.success() {
        true => Ok(()),
        false => Err(Failure::failed(format!("`sweatfile-apply remove` ended with {}", ended.status))),
    }
}

fn fill(
    context: &SpawnContext<'_>,
    start: &StartPoint,
    options: &SpawnOptions,
    journal: &mut OpenJournal<SpawnJournal>,
    made: &mut MadeSubtree,
) -> Result<()> {
    let worktree = made.known.worktree.clone();
    // git copied the configuration of the spawning worktree, which an agent can write.
    let left_out = context.git.leave_out_programs(&worktree.git_dir)?;
    if !left_out.is_empty() {
        made.warnings.push(format!(
            "left out of its configuration what could run something: {}; if you want it there: `git -C {} config \
             --worktree KEY VALUE`",
            left_out.join(", "),
            shell_word(&worktree.path)
        ));
    }
    let git = &worktree.git(context.git, context.place)?;
    write_files(git, &worktree)?;
    if options.submodules {
        let cmd = git.fetching(&worktree.path).within(SUBMODULE_DEADLINE);
        run_git("submodule update", cmd.args(["submodule", "update", "--init", "--recursive", "--quiet"]))?;
    }
    let has_mcp = worktree.path.join(MCP_FILE).symlink_metadata().is_ok();
    agent_config_files::furnish(context.env, &worktree, &made.known.agent, options.task.as_deref())?;
    // A sparse checkout may leave out a file that is tracked.
    let is_sparse = worktree.git_dir.join("info/sparse-checkout").exists();
    let is_tracked = has_mcp || (is_sparse && !git.ls_files(&worktree.path, &[MCP_FILE.into()])?.is_empty());
    if !is_tracked {
        add_excludes(context.place, &[excludes::MCP.to_owned()])?;
        let main = &context.place.main_checkout;
        let its_mcp = main.join(MCP_FILE);
        // Not what the project itself lets git ignore.
        let seen = ["--others", "--exclude-per-directory=.gitignore", "--", MCP_FILE].map(Into::into);
        if its_mcp.exists() && !git.ls_files(main, &seen)?.is_empty() {
            made.warnings.push(format!("{} is not tracked, and git ignores it now", its_mcp.display()));
        }
    }
    // git's processes share the journal's lock, so that a command that finds the journal waits for them. A process that
    // a hook starts may outlive the spawn and must not share it.
    journal.lock.keep_from_children()?;
    if !options.no_git_hooks {
        journal.entry.ran_hook = true;
        run_hook(context, start, made, options.is_agents)?;
    }
    let file = if is_tracked { OWN_MCP_FILE } else { MCP_FILE };
    let (agent, warnings) = (&made.known.agent, &mut made.warnings);
    made.mcp_config = agent_config_files::connect_somehow(context.env, &worktree, agent, file, warnings)?;
    proc::check_interrupt()
}

/// Writes the files and the index of a worktree that was made with `--no-checkout`.
fn write_files(git: &Git, worktree: &Worktree) -> Result<()> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let cmd = git.fetching(&worktree.path).arg("-c").arg(format!("checkout.workers={workers}"));
    run_git("reset --hard", cmd.args(["reset", "--hard", "--quiet"]))?;
    proc::check_interrupt()
}

/// Runs the repository's post-checkout hook, and the tools that a person has installed there and git does not run, because
/// another program manages the hooks. Their output goes to stderr. If an agent asks, the set-up commands of a commit
/// that did not land wait for a person.
fn run_hook(context: &SpawnContext<'_>, start: &StartPoint, made: &mut MadeSubtree, is_agents: bool) -> Result<()> {
    let hook = &start.hook;
    let spawner = context.place.require_here()?;
    // Of what an agent may have configured for a worktree, no hook counts.
    let git = spawner.git(context.git, context.place)?;
    let hooks_dir = hook.parent().unwrap_or(hook).to_path_buf();
    let repo = Repo { hooks_dir, ..context.place.repo() };
    let mut env = inherited(context.env, context.place, &made.known.worktree.path)?;
    // `shopfloor new` sets worktrees up whatever hooks there are, but runs no commands where others wrote what is there.
    let set_up = |wanted: &str| context.env.var("SHOPFLOOR_SETUP").is_some_and(|word| word == wanted);
    let always = set_up("always") || set_up("held");
    let (mut configured, mut tools) = (Vec::new(), git_hook::missing(&git, &repo, "post-checkout", always)?);
    let is_agents = is_agents && !has_landed(context, &start.sha).unwrap_or(false);
    let is_held = is_agents || set_up("held");
    let mut file = hook.as_path();
    if set_up("always") {
        env.vars.insert("SHOPFLOOR_SETUP".into(), "always".into());
    }
    if is_held {
        file = Path::new("/dev/null");
        // Other programs look for theirs in the worktree: husky, lefthook, whatever a person's own hook calls.
        tools = git_hook::wanted(&git, &repo, "post-checkout", always)?;
        env.vars.insert("SHOPFLOOR_SETUP".into(), "held".into());
    } else if let Err(failure) = git_hook::refuse_changed(context.env, "post-checkout", hook) {
        made.warnings.push(format!("left out the hook: {failure}; {}", failure.hints.join("; ")));
        file = Path::new("/dev/null");
        tools = git_hook::wanted(&git, &repo, "post-checkout", always)?;
    } else {
        configured = git.configured_hooks(&spawner.path, "post-checkout")?;
    }
    let sha = made.known.agent.base_sha.clone().unwrap_or_default();
    let scratch = fs::scratch(&layout::temporary_dir(&layout::state_dir(&made.known.worktree.git_dir)))?;
    let pass = |bytes: &[u8]| context.ui.pass_through(context.spinner, bytes);
    match git_hook::run_post_checkout(
        &Git::find(&env)?,
        (file, &configured, &made.known.worktree.path, &sha),
        &tools,
        scratch,
        pass,
    ) {
        Ok(None) => {}
        Ok(Some(status)) if status.success() => {}
        Ok(Some(status)) => {
            made.warnings.push(format!("{} ended with {status}; the worktree is usable", hook.display()));
        }
        Err(failure) if matches!(failure.exit, Exit::Signal(_)) => return Err(failure),
        Err(failure) => made.warnings.push(format!("{failure}; the worktree is usable")),
    }
    // Without a sweatfile nothing was done there.
    if is_held && made.known.worktree.git_dir.join("shopfloor/sweatfile-apply").is_dir() {
        let path = shell_word(&made.known.worktree.path);
        let why = match is_agents {
            true => "it starts at an agent's commit that has not landed, so set-up commands wait for you",
            false => "others wrote what it starts with, so set-up commands wait for you",
        };
        made.warnings.push(format!("{why}: `sweatfile-apply -C {path}`"));
    }
    Ok(())
}

/// Whether the main checkout's branch has the commit, and the main checkout its files: an agent can move the branch for a
/// moment, but writes nothing there.
fn has_landed(context: &SpawnContext<'_>, sha: &str) -> Result<bool> {
    let SpawnContext { place, git, .. } = *context;
    let cmd = git.common(&place.common_dir)?.cmd(&place.common_dir);
    if !cmd.args(["merge-base", "--is-ancestor", sha, "HEAD"]).capture()?.status.success() {
        return Ok(false);
    }
    let Some(main) = repository::worktrees(place)?.into_iter().find(|worktree| worktree.is_main) else {
        return Ok(true);
    };
    let git = main.git(git, place)?;
    let index = git.own_index()?;
    let ask = |args: &[&str]| {
        let cmd = git.cmd_alone(&main.path).var("GIT_INDEX_FILE", index.path()).within(LOOK_LIMIT);
        Ok(cmd.args(args.iter().copied()).capture()?.status.success())
    };
    Ok(ask(&["read-tree", sha])?
        && ask(&["diff", "--quiet", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"])?)
}

/// Whether a commit brings files from which agent programs take what they start, and which the main checkout does not have
/// on the disk as they are: an agent that is contained may have written them for one that is not. Refs do not count, which
/// agents write, too.
pub fn brings_starters(context: &SpawnContext<'_>, worktree: &Path, sha: &str) -> Result<bool> {
    let Place { common_dir, main_checkout, .. } = context.place;
    let how = ["ls-tree", "-r", "-z", "--name-only", sha, "--"];
    let cmd = context.git.common(common_dir)?.cmd(common_dir).args(how.iter().chain(&STARTERS));
    let listed = run_git("ls-tree", cmd)?;
    let differs = |name: &[u8]| {
        let read = |top: &Path| fs::read_no_follow(&top.join(OsStr::from_bytes(name)));
        !matches!((read(worktree), read(main_checkout)), (Ok(here), Ok(there)) if here == there)
    };
    Ok(nul_fields(&listed).any(differs))
}

/// Makes a seat: its files first, then the record by which it counts. The caller holds the repository's lock.
pub fn seat(context: &SpawnContext<'_>, seated: &KnownAgent, task: Option<&[u8]>) -> Result<PathBuf> {
    add_excludes(context.place, &state_lines().chain(leftover_lines(&seated.agent)).collect::<Vec<_>>())?;
    let mcp_config = agent_config_files::seat(context.env, seated, task)?;
    Spool::new(&context.place.shared(), &seated.agent.id).unbury()?;
    seated.agent.save(context.env, &layout::seat_file(&seated.worktree.git_dir, &seated.agent.slug))?;
    Ok(mcp_config)
}
