//! Git hooks: one small stub per hook that runs the tools in order, after the hook that was there
//! before.

mod stub;

use std::fs::File;
use std::path::{Path, PathBuf};

pub use self::stub::own_path;
use self::stub::{is_stub, path_line, stub};
use crate::env::Env;
use crate::error::{Exit, Failure, Result};
use crate::fs;
use crate::git::{ConfiguredHook, Git, LOCAL_VARS, Repo};
use crate::hook_manager::{Managed, call, manager_entry, run_by, with_ending};
use crate::lock::Lock;
use crate::proc::{self, Cmd, Status, is_executable};
use crate::text::shell_word;
use crate::written_files;

/// The hooks that we install, each with the tools that it may run, in the order in which they run.
pub const HOOKS: &[(&str, &[&str])] = &[
    ("post-checkout", &["sweatfile-apply", "overlay-sync"]),
    ("pre-push", &["ledger-synth"]),
    ("post-merge", &["ledger-synth"]),
    ("post-rewrite", &["ledger-synth"]),
];

/// The hooks that run a tool.
pub fn of(tool: &str) -> impl Iterator<Item = &'static str> {
    HOOKS.iter().filter(move |(_, tools)| tools.contains(&tool)).map(|(hook, _)| *hook)
}

/// The beginning of the line that identifies a stub of ours. The names of the stub's tools follow on that line.
pub(crate) const FINGERPRINT: &str = "# shopfloor hook v1:";
const ANY_VERSION: &str = "# shopfloor hook v";

/// The state of a hook's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookStatus {
    /// The hook's path.
    pub path: PathBuf,
    /// The tools that our stub runs; empty if there is no stub of ours.
    pub tools: Vec<String>,
    /// The hook that was there before, which still runs first if it is executable.
    pub chained: Option<PathBuf>,
}

/// The result of `install`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installed {
    /// The stub is in place.
    Stub {
        /// The state of the hook's path now; in a dry run nothing is written, so this is the state before.
        status: HookStatus,
        /// Whether the stub had to be written.
        changed: bool,
    },
    /// Another program runs the tool already, as `file` tells it; nothing was written.
    Already {
        /// The program that reads the file.
        manager: &'static str,
        /// The file that has the call.
        file: PathBuf,
    },
    /// Another program owns the hooks.
    Managed(Managed),
}

impl Installed {
    /// Fails if a person has something to do.
    pub fn require(self, hook: &str, tool: &str) -> Result<()> {
        match self {
            Installed::Stub { .. } | Installed::Already { .. } => Ok(()),
            Installed::Managed(Managed::Unwired { manager, command }) => {
                Err(Failure::failed(format!("git does not run the {hook} of {manager} yet"))
                    .hint(format!("run `{command}`")))
            }
            Installed::Managed(Managed::Entry { manager, .. }) => {
                Err(Failure::failed(format!("{manager} owns the hook {hook}"))
                    .hint(format!("add what `{tool} hook install` prints")))
            }
        }
    }
}

/// Reads the state of the hook's path.
pub fn status(repo: &Repo, hook: &str) -> Result<HookStatus> {
    let path = repo.hooks_dir.join(hook);
    let text = fs::read_head(&path)?.map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default();
    let before = chained_path(&path);
    let chained = before.symlink_metadata().is_ok().then_some(before);
    Ok(HookStatus { tools: tools_of(&text).unwrap_or_default(), chained, path })
}

/// Adds `tool` to the stub of `hook`. A foreign hook at the path is kept, and the stub runs it first.
///
/// At every moment, the path holds either the complete old hook or the complete new stub. Fails with exit 4 if the hook
/// is a link. When lefthook, husky or pre-commit owns the hooks, nothing is written, and the entry to add is returned.
pub fn install(git: &Git, repo: &Repo, hook: &'static str, tool: &'static str, dry_run: bool) -> Result<Installed> {
    let dir = &repo.hooks_dir;
    if dir.parent().is_none() || (dir.exists() && !dir.is_dir()) {
        let shown = dir.display();
        if git.hooks_path(repo)?.is_none() {
            return Err(Failure::usage(format!("{shown} is not a directory for hooks"))
                .hint(format!("move it away: `mv {0} {0}.old`", shell_word(dir))));
        }
        return Err(Failure::usage(format!("core.hooksPath is {shown}, which is not a directory for hooks"))
            .hint(git.unset_hooks_path(repo)?));
    }
    let before = tools_at(&repo.hooks_dir.join(hook));
    let installed = match run_by(git, repo, hook, tool)?.filter(|_| before.is_empty()) {
        Some((manager, file)) => Installed::Already { manager, file },
        None => match manager_entry(git, repo, hook, tool)? {
            Some(managed) => Installed::Managed(managed),
            None => {
                // First, because a stub that is there already tells nobody who wrote it.
                if !dry_run && !repo.has_own_hooks() && !before.iter().any(|other| other == tool) {
                    // Nothing is noted where it would be refused.
                    install_stub(git.env(), repo, (hook, tool), true)?;
                    note(git.env(), repo, hook, &in_shared_dir(repo, tool), true)?;
                }
                install_stub(git.env(), repo, (hook, tool), dry_run)?
            }
        },
    };
    if !dry_run {
        note(git.env(), repo, hook, tool, true)?;
    }
    Ok(installed)
}

/// The same for a clone of ours, in which no other program manages the hooks.
pub fn install_stub(env: &Env, repo: &Repo, (hook, tool): (&str, &str), dry_run: bool) -> Result<Installed> {
    let _lock = if dry_run { None } else { Some(lock(repo)?) };
    let path = repo.hooks_dir.join(hook);
    refuse_links(repo, &path, hook, tool)?;
    let text = fs::read_head(&path)?;
    let found = text.as_ref().map(|t| tools_of(&String::from_utf8_lossy(t)));
    // A pipe, or what is too large, is refused before anything is changed.
    let before = chained_path(&path);
    let chained = fs::read(if found == Some(None) { &path } else { &before })?;
    let mut tools = match found {
        Some(Some(tools)) => {
            refuse_edited(env, &path, hook, &tools, text.as_deref().unwrap_or_default())?;
            tools
        }
        Some(None) => {
            refuse_newer(&path, text.as_deref().unwrap_or_default())?;
            chain(&path, dry_run)?;
            Vec::new()
        }
        None => Vec::new(),
    };
    tools.push(tool.to_owned());
    let changed = write_stub(env, (&path, hook), tools, text.as_deref(), dry_run)?;
    if let Some(bytes) = chained.filter(|_| !dry_run) {
        written_files::note(env, &before, &bytes)?;
    }
    Ok(Installed::Stub { status: status(repo, hook)?, changed })
}

/// Removes `tool` from the stub. If it was the last tool, this removes the stub and restores the hook that was there
/// before. Returns `false` if the stub does not run the tool.
pub fn uninstall(env: &Env, repo: &Repo, hook: &'static str, tool: &'static str) -> Result<bool> {
    note(env, repo, hook, tool, false)?;
    let locked = lock(repo)?;
    let mut is_there = false;
    for hooks_dir in dirs(env, repo, hook, tool) {
        is_there |= uninstall_from(env, &Repo { hooks_dir, ..repo.clone() }, hook, tool)?;
    }
    drop(locked);
    note(env, repo, hook, &in_shared_dir(repo, tool), false)?;
    Ok(is_there)
}

/// Where stubs of ours can be: where git looks for hooks, and where it looked before somebody set `core.hooksPath`. That
/// may have been an agent, and a link may be one of an agent's.
fn dirs(env: &Env, repo: &Repo, hook: &str, tool: &str) -> impl Iterator<Item = PathBuf> {
    let named = Some(repo.hooks_dir.clone()).filter(|_| is_to_uninstall(env, repo, hook, tool));
    let own = Some(repo.common_dir.join("hooks")).filter(|own| *own != repo.hooks_dir && !own.is_symlink());
    named.into_iter().chain(own)
}

/// Whether this repository may take out what git runs as a hook: in a directory of its own, or where `hook install` put
/// it for this repository.
pub fn is_to_uninstall(env: &Env, repo: &Repo, hook: &str, tool: &str) -> bool {
    repo.has_own_hooks() || noted(env, repo).contains(&format!("{hook} {}", in_shared_dir(repo, tool)))
}

/// A tool in the list of hooks, of which `hook install` wrote the stub where others may share it.
fn in_shared_dir(repo: &Repo, tool: &str) -> String {
    format!("{tool} {}", repo.hooks_dir.display())
}

fn uninstall_from(env: &Env, repo: &Repo, hook: &str, tool: &str) -> Result<bool> {
    let path = repo.hooks_dir.join(hook);
    let aside: Vec<PathBuf> = stubs_at(env, &path, hook, tool).into_iter().filter(|stub| *stub != path).collect();
    aside.iter().try_for_each(|stub| take_out(env, stub, None, (hook, tool)))?;
    let before = chained_path(&path);
    let Some(text) = fs::read_head(&path)? else {
        // Somebody took the stub away. git does not run what was there before under its other name.
        return Ok(before.symlink_metadata().is_ok() && fs::rename_new(&before, &path)? || !aside.is_empty());
    };
    let Some(tools) = tools_of(&String::from_utf8_lossy(&text)) else { return Ok(!aside.is_empty()) };
    if !tools.iter().any(|t| t == tool) {
        return Ok(!aside.is_empty());
    }
    refuse_links(repo, &path, hook, tool)?;
    refuse_edited(env, &path, hook, &tools, &text).map_err(|failure| Failure {
        hints: vec![format!(
            "move your lines into {}, remove {}, and run the same command again",
            shell_word(&before),
            shell_word(&path)
        )],
        ..failure
    })?;
    take_out(env, &path, Some(&before), (hook, tool)).map(|()| true)
}

/// Takes a tool out of a stub, and removes the stub, or puts back what was there before, if that was its last tool.
fn take_out(env: &Env, path: &Path, before: Option<&Path>, (hook, tool): (&str, &str)) -> Result<()> {
    let tools: Vec<String> = tools_at(path).into_iter().filter(|other| other != tool).collect();
    match before.filter(|before| before.symlink_metadata().is_ok()) {
        _ if !tools.is_empty() => write_stub(env, (path, hook), tools, None, false).map(drop),
        Some(before) => fs::rename_over(before, path),
        None => fs::remove(path),
    }
}

/// The stubs of ours for a hook that run the tool: where git looks for it or looked before, and where lefthook and
/// pre-commit put a hook that was there before, if nobody has edited it.
pub fn stubs(env: &Env, repo: &Repo, hook: &str, tool: &str) -> Vec<PathBuf> {
    dirs(env, repo, hook, tool).flat_map(|dir| stubs_at(env, &dir.join(hook), hook, tool)).collect()
}

fn stubs_at(env: &Env, path: &Path, hook: &str, tool: &str) -> Vec<PathBuf> {
    let is_whole = |stub: &Path| {
        fs::read_head(stub)
            .ok()
            .flatten()
            .is_some_and(|text| refuse_edited(env, stub, hook, &tools_at(stub), &text).is_ok())
    };
    let aside = [".old", ".legacy"].map(|end| with_ending(path, end)).into_iter().filter(|stub| is_whole(stub));
    std::iter::once(path.to_path_buf()).chain(aside).filter(|stub| tools_at(stub).iter().any(|t| t == tool)).collect()
}

/// The tools that the stub of ours at this path runs.
fn tools_at(path: &Path) -> Vec<String> {
    let text = fs::read_head(path).ok().flatten().unwrap_or_default();
    tools_of(&String::from_utf8_lossy(&text)).unwrap_or_default()
}

/// The file through which git runs the tool, and the program that reads it if that is not our stub.
pub fn runs(git: &Git, repo: &Repo, hook: &str, tool: &str) -> Result<Option<(Option<&'static str>, PathBuf)>> {
    let path = repo.hooks_dir.join(hook);
    if is_executable(&path) && tools_at(&path).iter().any(|t| t == tool) {
        return Ok(Some((None, path)));
    }
    Ok(run_by(git, repo, hook, tool)?.map(|(manager, file)| (Some(manager), file)))
}

/// The tools whose hook a person has installed with `hook install`, and git does not run: something has taken the stub
/// away, or the line that was to be added is not there. With `always` all tools on the PATH whose hook git does not run.
pub fn missing(git: &Git, repo: &Repo, hook: &str, always: bool) -> Result<Vec<&'static str>> {
    let noted = noted(git.env(), repo);
    let tools = HOOKS.iter().filter(|(name, _)| *name == hook).flat_map(|(_, tools)| *tools);
    let mut missing = Vec::new();
    let is_wanted =
        |tool: &str| noted.contains(&format!("{hook} {tool}")) || always && proc::find(git.env(), tool).is_some();
    for tool in tools.filter(|tool| is_wanted(tool)) {
        if runs(git, repo, hook, tool)?.is_none() {
            missing.push(*tool);
        }
    }
    Ok(missing)
}

/// The tools whose hook a person has installed with `hook install`, or git runs. With `always` all tools on the PATH.
pub fn wanted(git: &Git, repo: &Repo, hook: &str, always: bool) -> Result<Vec<&'static str>> {
    let noted = noted(git.env(), repo);
    let mut wanted = Vec::new();
    for tool in HOOKS.iter().filter(|(name, _)| *name == hook).flat_map(|(_, tools)| *tools) {
        let is_there = always && proc::find(git.env(), tool).is_some();
        if is_there || noted.contains(&format!("{hook} {tool}")) || runs(git, repo, hook, tool)?.is_some() {
            wanted.push(*tool);
        }
    }
    Ok(wanted)
}

/// The lines of the list of hooks that a person has installed, if it is as we wrote it: agents can write there.
fn noted(env: &Env, repo: &Repo) -> Vec<String> {
    let file = repo.common_dir.join("shopfloor/hooks");
    let text = fs::read_no_follow(&file).ok().flatten().filter(|text| written_files::is_listed(env, &file, text));
    String::from_utf8_lossy(&text.unwrap_or_default()).lines().map(str::to_owned).collect()
}

/// Adds a hook to the list, or takes it out.
fn note(env: &Env, repo: &Repo, hook: &str, tool: &str, is_wanted: bool) -> Result<()> {
    let (file, line) = (repo.common_dir.join("shopfloor/hooks"), format!("{hook} {tool}"));
    if noted(env, repo).contains(&line) == is_wanted {
        return Ok(());
    }
    let _lock = lock(repo)?;
    let mut lines = noted(env, repo);
    lines.retain(|other| *other != line);
    lines.extend(is_wanted.then_some(line));
    match lines.is_empty() {
        true => written_files::remove(env, &file),
        false => written_files::write(env, &file, format!("{}\n", lines.join("\n")).as_bytes()),
    }
}

/// Refuses a hook of ours that is not as we wrote it, or that runs another one which has changed since
/// `hook install` saw it (exit 1, kind `edited`): an agent may have written there. A person's own hook is theirs.
pub fn refuse_changed(env: &Env, hook: &str, path: &Path) -> Result<()> {
    let text = fs::read_head(path)?.unwrap_or_default();
    let Some(tools) = tools_of(&String::from_utf8_lossy(&text)) else { return Ok(()) };
    refuse_edited(env, path, hook, &tools, &text)?;
    let before = chained_path(path);
    let Some(bytes) = fs::read(&before)?.filter(|bytes| !written_files::is_listed(env, &before, bytes)) else {
        return Ok(());
    };
    // One that was there before the list, or whose repository was moved, is taken as it is once.
    if !written_files::is_known(env, &before) {
        return written_files::note(env, &before, &bytes);
    }
    let tool = tools.first().cloned().unwrap_or_default();
    Err(Failure::new(Exit::No, "edited", format!("{} has changed since `hook install` saw it", before.display()))
        .hint(format!("read it, then run `{tool} hook install`, which accepts it")))
}

/// Refuses a hook that is not ours alone, whole and as we wrote it, for a clone in which agents work: nobody
/// else has a hook there (exit 1, kind `edited`).
pub fn refuse_foreign(env: &Env, hook: &str, path: &Path) -> Result<()> {
    let Some(text) = fs::read_head(path)? else { return Ok(()) };
    let tools = tools_of(&String::from_utf8_lossy(&text)).unwrap_or_default();
    let before = chained_path(path);
    let odd = match () {
        () if refuse_edited(env, path, hook, &tools, &text).is_err() => path,
        () if before.symlink_metadata().is_ok() => &before,
        () => return Ok(()),
    };
    let why = format!("{} is not the hook that we installed", odd.display());
    Err(Failure::new(Exit::No, "edited", why).hint(format!("look at it and remove it: `rm {}`", shell_word(odd))))
}

/// Runs the post-checkout hooks in a new worktree at `sha` as `git worktree add` does: those of the configuration, then
/// the file; then the `missing` tools, whose hooks git does not run. Their output goes through `scratch` to `pass`, and processes that they leave running are not waited for.
/// None if there is no such hook.
pub fn run_post_checkout(
    git: &Git,
    (hook, configured, worktree, sha): (&Path, &[ConfiguredHook], &Path, &str),
    missing: &[&str],
    scratch: (File, File),
    pass: impl FnMut(&[u8]),
) -> Result<Option<Status>> {
    let file = is_executable(hook).then_some(hook);
    if file.is_none() && configured.is_empty() && missing.is_empty() {
        return Ok(None);
    }
    let env = git.env();
    // As under git, the PATH begins with git's own programs.
    let own = git.cmd(worktree).arg("--exec-path").capture()?;
    let own = PathBuf::from(String::from_utf8_lossy(&own.stdout).trim());
    let path = env.var("PATH").map(std::env::split_paths).into_iter().flatten();
    let path = std::env::join_paths(std::iter::once(own).chain(path)).unwrap_or_default();
    // `git hook run` would do, but sets GIT_DIR in a linked worktree, which `git worktree add` does not.
    // The file is `$0`, because a script is text and a path need not be.
    let own = file.map(|_| "\"$0\" \"$@\" || status=$?\n".to_owned());
    let word = |text: &str| shell_word(Path::new(text));
    let run = |hook: &ConfiguredHook| {
        let command = &hook.command;
        format!("sh -c {} {} \"$@\" || status=$?\n", word(&format!("{command} \"$@\"")), word(command))
    };
    let missing = missing.iter().map(|tool| format!("{tool} hook run post-checkout \"$@\" || status=$?\n"));
    let all: String = configured.iter().map(run).chain(own).chain(missing).collect();
    let cmd = match file {
        Some(hook) if all.lines().count() == 1 => Cmd::new(hook, env),
        _ => {
            let sh = Cmd::new(Path::new("/bin/sh"), env).args(["-c", &format!("status=0\n{all}exit $status")]);
            sh.arg(file.unwrap_or(Path::new("hooks")))
        }
    };
    let cmd = cmd.var("PATH", path).dir(worktree).without_vars(LOCAL_VARS);
    cmd.args(["0".repeat(sha.len()).as_str(), sha, "1"]).show_through(scratch, pass).map(Some)
}

fn lock(repo: &Repo) -> Result<Lock> {
    Lock::take(&repo.common_dir.join("shopfloor/hooks.lock"))
}

fn chained_path(path: &Path) -> PathBuf {
    with_ending(path, ".before-shopfloor")
}

fn tools_of(text: &str) -> Option<Vec<String>> {
    let line = text.lines().take(5).find_map(|l| l.strip_prefix(FINGERPRINT))?;
    Some(line.split_whitespace().map(str::to_owned).collect())
}

fn refuse_newer(path: &Path, text: &[u8]) -> Result<()> {
    if !String::from_utf8_lossy(text).lines().take(5).any(|l| l.starts_with(ANY_VERSION)) {
        return Ok(());
    }
    Err(Failure::malformed(format!("{} was written by a newer shopfloor", path.display()))
        .hint("install the newest shopfloor"))
}

/// Refuses a stub that somebody has edited, so that their lines are neither replaced nor removed.
fn refuse_edited(env: &Env, path: &Path, hook: &str, tools: &[String], text: &[u8]) -> Result<()> {
    let names: Vec<&str> = tools.iter().map(String::as_str).collect();
    let whole = String::from_utf8_lossy(text);
    // Another version wrote another text, and another copy another PATH. An agent writes what is not listed.
    let line = path_line(&whole);
    let is_known = (line.is_empty() || line == own_path()) && is_stub(&whole, hook, &names, line);
    if is_known || written_files::is_listed(env, path, text) {
        return Ok(());
    }
    Err(Failure::new(Exit::No, "edited", format!("{} was edited since it was installed", path.display())).hint(
        format!(
            "move your lines into {}, remove {} and install again",
            shell_word(&chained_path(path)),
            shell_word(path)
        ),
    ))
}

fn refuse_links(repo: &Repo, path: &Path, hook: &str, tool: &str) -> Result<()> {
    // git resolves the directory that `core.hooksPath` names, so git's own hooks directory is checked too.
    let own = repo.common_dir.join("hooks");
    let leads_there = own.canonicalize().is_ok_and(|real| real == repo.hooks_dir);
    let dirs = [Some(&repo.hooks_dir), leads_there.then_some(&own)].into_iter().flatten();
    for place in dirs.map(PathBuf::as_path).chain([path]) {
        if place.is_symlink() {
            return Err(Failure::new(
                Exit::Failed,
                "symlink",
                format!("{} is a symbolic link, and the tool does not write through links", place.display()),
            )
            .hint(format!("add this line to the script it points to: {}", call(hook, tool))));
        }
    }
    Ok(())
}

/// Gives the foreign hook a second name; the stub then replaces the first name in one step. A dry run refuses the same.
fn chain(path: &Path, dry_run: bool) -> Result<()> {
    let before = chained_path(path);
    if fs::is_same_file(path, &before) {
        return Ok(());
    }
    if before.symlink_metadata().is_ok() {
        return Err(Failure::new(
            Exit::No,
            "exists",
            format!("{} is not ours, and {} exists from an earlier installation", path.display(), before.display()),
        )
        .hint(format!("merge the two by hand, remove {} and run the command again", shell_word(&before))));
    }
    if dry_run { Ok(()) } else { fs::link(path, &before) }
}

fn write_stub(
    env: &Env,
    (path, hook): (&Path, &str),
    tools: Vec<String>,
    old: Option<&[u8]>,
    dry_run: bool,
) -> Result<bool> {
    let order = HOOKS.iter().find(|(name, _)| *name == hook).map(|(_, tools)| *tools).unwrap_or_default();
    let ordered: Vec<&str> = order.iter().copied().filter(|known| tools.iter().any(|t| t == known)).collect();
    let stub = stub(hook, &ordered, &own_path());
    let is_new = old != Some(stub.as_bytes()) || !is_executable(path);
    if dry_run {
        return Ok(is_new);
    }
    if is_new {
        if let Some(dir) = path.parent() {
            fs::create_dir(dir)?;
        }
        fs::replace(path, stub.as_bytes(), Some(0o755))?;
    }
    // The list loses what is not there yet. Where the user's state cannot be written, other copies and later versions take
    // the stub for edited.
    written_files::note(env, path, stub.as_bytes()).or_else(|e| if e.is_write_refused() { Ok(()) } else { Err(e) })?;
    Ok(is_new)
}
