//! Git hooks: one small stub per hook that runs the tools in order, after the hook that was there
//! before.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::env::Env;
use crate::error::{Exit, Failure, Result};
use crate::fs;
use crate::git::{Git, LOCAL_VARS, Repo};
use crate::lock::Lock;
use crate::own_files;
use crate::proc::{Cmd, Status};
use crate::text::shell_word;

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
const FINGERPRINT: &str = "# shopfloor hook v1:";
const ANY_VERSION: &str = "# shopfloor hook v";

/// The state of a hook's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookStatus {
    /// The hook's path.
    pub path: PathBuf,
    /// The tools that our stub runs; empty if there is no stub of ours.
    pub tools: Vec<String>,
    /// The hook that was there before and still runs first.
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
    /// The configuration of another program has the call, but that program has not told git to run the hook.
    Unwired {
        /// The program that owns the hooks.
        manager: &'static str,
        /// The command that tells git.
        command: String,
    },
    /// Another program owns the hooks: nothing was written; add `entry` to `file`.
    Entry {
        /// The program that owns the hooks.
        manager: &'static str,
        /// The file that the entry belongs in.
        file: String,
        /// The key of the file under which the entry belongs, if the file has such keys.
        below: Option<String>,
        /// The one line to add.
        entry: String,
    },
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
    if repo.hooks_dir.exists() && !repo.hooks_dir.is_dir() {
        return Err(Failure::usage(format!(
            "core.hooksPath is {}, which is not a directory",
            repo.hooks_dir.display()
        ))
        .hint("unset it: `git config --unset core.hooksPath`"));
    }
    if let Some((manager, file)) = run_by(git, repo, hook, tool)? {
        return Ok(Installed::Already { manager, file });
    }
    if let Some(entry) = manager_entry(git, repo, hook, tool)? {
        return Ok(entry);
    }
    let _lock = if dry_run { None } else { Some(lock(repo)?) };
    let path = repo.hooks_dir.join(hook);
    refuse_links(repo, &path, hook, tool)?;
    let text = fs::read_head(&path)?;
    let mut tools = match text.as_ref().map(|t| tools_of(&String::from_utf8_lossy(t))) {
        Some(Some(tools)) => {
            refuse_edited(&path, hook, &tools, text.as_deref().unwrap_or_default())?;
            tools
        }
        Some(None) => {
            refuse_newer(&path, text.as_deref().unwrap_or_default())?;
            if !dry_run {
                chain(&path)?;
            }
            Vec::new()
        }
        None => Vec::new(),
    };
    tools.push(tool.to_owned());
    let changed = write_stub(&path, hook, tools, text.as_deref(), dry_run)?;
    let before = chained_path(&path);
    if let Some(bytes) = fs::read(&before)?.filter(|_| !dry_run) {
        own_files::note(git.env(), &before, &bytes)?;
    }
    Ok(Installed::Stub { status: status(repo, hook)?, changed })
}

/// Removes `tool` from the stub. If it was the last tool, this removes the stub and restores the hook that was there
/// before. Returns `false` if the stub does not run the tool.
pub fn uninstall(repo: &Repo, hook: &'static str, tool: &'static str) -> Result<bool> {
    let _lock = lock(repo)?;
    let path = repo.hooks_dir.join(hook);
    let before = chained_path(&path);
    let Some(text) = fs::read_head(&path)? else {
        // Somebody took the stub away. git does not run what was there before under its other name.
        return Ok(before.symlink_metadata().is_ok() && fs::rename_new(&before, &path)?);
    };
    let Some(mut tools) = tools_of(&String::from_utf8_lossy(&text)) else { return Ok(false) };
    if !tools.iter().any(|t| t == tool) {
        return Ok(false);
    }
    refuse_links(repo, &path, hook, tool)?;
    refuse_edited(&path, hook, &tools, &text).map_err(|failure| Failure {
        hints: vec![format!(
            "move your lines into {}, remove {}, and run the same command again",
            shell_word(&before),
            shell_word(&path)
        )],
        ..failure
    })?;
    tools.retain(|t| t != tool);
    if !tools.is_empty() {
        write_stub(&path, hook, tools, Some(&text), false)?;
    } else if before.symlink_metadata().is_ok() {
        fs::rename_over(&before, &path)?;
    } else {
        fs::remove(&path)?;
    }
    Ok(true)
}

/// Refuses a hook of ours that is not what we would write now, or that runs another one which has changed since
/// `hook install` saw it (exit 1, kind `edited`): an agent may have written there. A person's own hook is theirs.
pub fn refuse_changed(env: &Env, hook: &str, path: &Path) -> Result<()> {
    let text = fs::read_head(path)?.unwrap_or_default();
    let Some(tools) = tools_of(&String::from_utf8_lossy(&text)) else { return Ok(()) };
    refuse_edited(path, hook, &tools, &text)?;
    let before = chained_path(path);
    let Some(bytes) = fs::read(&before)?.filter(|bytes| !own_files::is_listed(env, &before, bytes)) else {
        return Ok(());
    };
    // One that was there before the list, or whose repository was moved, is taken as it is once.
    if !own_files::is_known(env, &before) {
        return own_files::note(env, &before, &bytes);
    }
    let tool = tools.first().cloned().unwrap_or_default();
    Err(Failure::new(Exit::No, "edited", format!("{} has changed since `hook install` saw it", before.display()))
        .hint(format!("read it, then run `{tool} hook install`, which accepts it")))
}

/// Refuses a hook that is not ours alone, whole and as we would write it now, for a clone in which agents work: nobody
/// else has a hook there (exit 1, kind `edited`).
pub fn refuse_foreign(hook: &str, path: &Path) -> Result<()> {
    let Some(text) = fs::read_head(path)? else { return Ok(()) };
    let tools = tools_of(&String::from_utf8_lossy(&text)).unwrap_or_default();
    let before = chained_path(path);
    let odd = match () {
        () if refuse_edited(path, hook, &tools, &text).is_err() => path,
        () if before.symlink_metadata().is_ok() => &before,
        () => return Ok(()),
    };
    let why = format!("{} is not the hook that we installed", odd.display());
    Err(Failure::new(Exit::No, "edited", why).hint(format!("look at it and remove it: `rm {}`", shell_word(odd))))
}

/// Runs a post-checkout hook in a new worktree at `sha` as `git worktree add` does. Its output goes through `scratch` to
/// `pass`, and processes that it leaves running are not waited for. None if there is no such hook.
pub fn run_post_checkout(
    git: &Git,
    (hook, worktree, sha): (&Path, &Path, &str),
    scratch: (File, File),
    pass: impl FnMut(&[u8]),
) -> Result<Option<Status>> {
    if !hook.is_file() || !is_executable(hook) {
        return Ok(None);
    }
    let env = git.env();
    // As under git, the PATH begins with git's own programs.
    let own = git.cmd(worktree).arg("--exec-path").capture()?;
    let own = PathBuf::from(String::from_utf8_lossy(&own.stdout).trim());
    let path = env.var("PATH").map(std::env::split_paths).into_iter().flatten();
    let path = std::env::join_paths(std::iter::once(own).chain(path)).unwrap_or_default();
    let cmd = Cmd::new(hook, env).var("PATH", path).dir(worktree).without_vars(LOCAL_VARS);
    cmd.args(["0".repeat(sha.len()).as_str(), sha, "1"]).show_through(scratch, pass).map(Some)
}

fn lock(repo: &Repo) -> Result<Lock> {
    Lock::take(&repo.common_dir.join("shopfloor/hooks.lock"))
}

fn chained_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".before-shopfloor");
    name.into()
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
        .hint("update shopfloor: `cargo xtask install` in its checkout"))
}

/// Refuses a stub that somebody has edited, so that their lines are neither replaced nor removed.
fn refuse_edited(path: &Path, hook: &str, tools: &[String], text: &[u8]) -> Result<()> {
    let names: Vec<&str> = tools.iter().map(String::as_str).collect();
    if stub(hook, &names).as_bytes() == text {
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

/// Gives the foreign hook a second name; the stub then replaces the first name in one step.
fn chain(path: &Path) -> Result<()> {
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
    fs::link(path, &before)
}

fn write_stub(path: &Path, hook: &str, tools: Vec<String>, old: Option<&[u8]>, dry_run: bool) -> Result<bool> {
    let order = HOOKS.iter().find(|(name, _)| *name == hook).map(|(_, tools)| *tools).unwrap_or_default();
    let ordered: Vec<&str> = order.iter().copied().filter(|known| tools.iter().any(|t| t == known)).collect();
    let stub = stub(hook, &ordered);
    if old == Some(stub.as_bytes()) {
        return Ok(false);
    }
    if dry_run {
        return Ok(true);
    }
    if let Some(dir) = path.parent() {
        fs::create_dir(dir)?;
    }
    fs::replace(path, stub.as_bytes(), Some(0o755))?;
    Ok(true)
}

/// The stub of a hook: plain `sh`.
fn stub(hook: &str, tools: &[&str]) -> String {
    let tools = tools.join(" ");
    let body = match hook {
        "post-checkout" => POST_CHECKOUT,
        "pre-push" => PRE_PUSH,
        _ => AFTERWARDS,
    };
    let body = body.replace("@TOOLS@", &tools).replace("@HOOK@", hook);
    format!(
        "#!/bin/sh\n{FINGERPRINT} {tools}\n\
         # Written by `hook install`; `hook uninstall` takes it away and puts back what was here before.\n{body}"
    )
}

/// On an ordinary checkout this stub starts no process, so the checkout takes no longer than with an empty hook.
const POST_CHECKOUT: &str = r#"status=0
if [ -x "$0.before-shopfloor" ]; then "$0.before-shopfloor" "$@" || status=$?; fi
# Only a null first ref can mean a new worktree: an ordinary checkout ends here.
case "$1" in *[!0]*) exit "$status" ;; esac
if [ "$3" != 1 ] || [ "$SHOPFLOOR" = 0 ]; then exit "$status"; fi
for tool in @TOOLS@; do
    if command -v "$tool" >/dev/null 2>&1; then
        "$tool" hook run @HOOK@ "$@"
    else
        echo "$tool: not on the PATH, so this worktree was not set up; run 'cargo xtask install' in shopfloor's checkout" >&2
    fi
done
exit "$status"
"#;

/// Every tool gets the text that git writes to stdin, and each tool can refuse the push.
const PRE_PUSH: &str = r#"status=0
refs=$(cat)
if [ -x "$0.before-shopfloor" ]; then
    printf '%s' "$refs${refs:+
}" | "$0.before-shopfloor" "$@" || exit $?
fi
if [ "$SHOPFLOOR" = 0 ]; then exit 0; fi
for tool in @TOOLS@; do
    if command -v "$tool" >/dev/null 2>&1; then
        printf '%s' "$refs${refs:+
}" | "$tool" hook run @HOOK@ "$@" || status=$?
    else
        echo "$tool: not on the PATH, so nothing was checked; run 'cargo xtask install' in shopfloor's checkout" >&2
    fi
done
exit "$status"
"#;

/// A hook that runs afterwards cannot refuse anything.
const AFTERWARDS: &str = r#"status=0
if [ -x "$0.before-shopfloor" ]; then "$0.before-shopfloor" "$@" || status=$?; fi
if [ "$SHOPFLOOR" = 0 ]; then exit "$status"; fi
for tool in @TOOLS@; do
    if command -v "$tool" >/dev/null 2>&1; then
        "$tool" hook run @HOOK@ "$@" </dev/null
    else
        echo "$tool: not on the PATH, so nothing was done; run 'cargo xtask install' in shopfloor's checkout" >&2
    fi
done
exit "$status"
"#;

/// Finds out whether a hook runs a tool without a stub of ours. Returns the file that contains the call, and the
/// program that reads this file: a hooks manager, or git if it is the repository's own hook.
pub fn run_by(git: &Git, repo: &Repo, hook: &str, tool: &str) -> Result<Option<(&'static str, PathBuf)>> {
    // `below` is the top-level key of a YAML file under which the call must be.
    let calls = |path: &Path, below: Option<&str>| -> Result<bool> {
        let text = fs::read_head(path).unwrap_or_default().unwrap_or_default();
        let words = format!("{tool} hook run {hook}");
        let mut is_below = below.is_none();
        Ok(String::from_utf8_lossy(&text).lines().any(|line| {
            let is_comment = line.trim_start().starts_with('#');
            if let Some(key) = below.filter(|_| !is_comment && !line.is_empty() && !line.starts_with([' ', '-', '\t']))
            {
                is_below = line.starts_with(&format!("{key}:"));
            }
            is_below && !is_comment && line.contains(&words)
        }))
    };
    let own = repo.hooks_dir.join(hook);
    let Some(stub) = fs::read_head(&own)?.filter(|_| is_executable(&own)) else { return Ok(None) };
    let stub = String::from_utf8_lossy(&stub).into_owned();
    let top = repo.worktree.as_ref().unwrap_or(&repo.main_checkout);
    let first = |manager, names: &[&str], below| -> Result<Option<(&'static str, PathBuf)>> {
        for path in names.iter().map(|name| top.join(name)) {
            if calls(&path, below)? {
                return Ok(Some((manager, path)));
            }
        }
        Ok(None)
    };
    if let Some(configured) = git.hooks_path(repo)?
        && configured.iter().any(|part| part == ".husky")
    {
        let entry = configured.iter().take_while(|part| *part != "_").collect::<PathBuf>().join(hook);
        return first("husky", &[&entry.to_string_lossy()], None);
    }
    if stub.contains("LEFTHOOK") || stub.contains("call_lefthook") {
        return first(
            "lefthook",
            &["lefthook.yml", ".lefthook.yml", "lefthook.yaml", ".lefthook.yaml", "lefthook-local.yml"],
            Some(hook),
        );
    }
    if stub.contains("File generated by pre-commit") {
        return first("pre-commit", &[".pre-commit-config.yaml"], Some("repos"));
    }
    Ok(if calls(&own, None)? { Some(("the hook itself", own)) } else { None })
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0)
}

fn call(hook: &str, tool: &str) -> String {
    format!("{} \"$@\"", guarded(hook, tool))
}

/// A call that does nothing where the tool is not installed, as on the machines of others who share the configuration.
fn guarded(hook: &str, tool: &str) -> String {
    format!("! command -v {tool} >/dev/null || {tool} hook run {hook}")
}

/// The entry to add for the program that owns the hooks, if there is such a program.
fn manager_entry(git: &Git, repo: &Repo, hook: &str, tool: &str) -> Result<Option<Installed>> {
    let entry = |manager, file: String, below, entry| Some(Installed::Entry { manager, file, below, entry });
    if let Some(configured) = git.hooks_path(repo)?
        && configured.iter().any(|c| c == ".husky")
    {
        let husky = configured.iter().take_while(|c| *c != "_").collect::<PathBuf>();
        return Ok(entry("husky", husky.join(hook).display().to_string(), None, call(hook, tool)));
    }
    for name in fs::list(&repo.hooks_dir)? {
        let path = repo.hooks_dir.join(&name);
        if name.to_string_lossy().ends_with(".sample") || !path.is_file() {
            continue;
        }
        let text = String::from_utf8_lossy(&fs::read_head(&path)?.unwrap_or_default()).into_owned();
        let has_call = |name: &str| {
            let file = repo.worktree.as_ref().unwrap_or(&repo.main_checkout).join(name);
            let text = fs::read_head(&file).unwrap_or_default().unwrap_or_default();
            String::from_utf8_lossy(&text).contains(&format!("{tool} hook run {hook}"))
        };
        if text.contains("LEFTHOOK") || text.contains("call_lefthook") {
            if has_call("lefthook.yml") {
                return Ok(Some(Installed::Unwired { manager: "lefthook", command: "lefthook install".into() }));
            }
            let stdin = if hook == "pre-push" { "use_stdin: true, " } else { "" };
            // lefthook runs `commands` by their names, and `jobs` in their order.
            let line = format!("- {{name: {tool}, {stdin}run: \"{} {{0}}\"}}", guarded(hook, tool));
            return Ok(entry("lefthook", "lefthook.yml".into(), Some(format!("{hook}: jobs:")), line));
        }
        if text.contains("File generated by pre-commit") {
            if has_call(".pre-commit-config.yaml") {
                let command = format!("pre-commit install --allow-missing-config --hook-type {hook}");
                return Ok(Some(Installed::Unwired { manager: "pre-commit", command }));
            }
            let refs = r#""$PRE_COMMIT_FROM_REF" "$PRE_COMMIT_TO_REF" "$PRE_COMMIT_CHECKOUT_TYPE""#;
            let run = match hook {
                "post-checkout" => format!("sh -c ''{} {refs}''", guarded(hook, tool)),
                // pre-commit reads stdin itself, and passes it on in variables; on the first push of a repository
                // without the commit.
                "pre-push" => {
                    let (branch, commit) =
                        ("$PRE_COMMIT_LOCAL_BRANCH", "${PRE_COMMIT_TO_REF:-$PRE_COMMIT_LOCAL_BRANCH}");
                    let unless = format!("! command -v {tool} >/dev/null ||");
                    format!("sh -c ''{unless} echo \"{branch} {commit} - -\" | {tool} hook run {hook}''")
                }
                _ => format!("sh -c ''{}''", guarded(hook, tool)),
            };
            let line = format!(
                "- {{repo: local, hooks: [{{id: {tool}, name: {tool}, language: system, always_run: true, verbose: true, pass_filenames: false, stages: [{hook}], entry: '{run}'}}]}}"
            );
            return Ok(entry("pre-commit", ".pre-commit-config.yaml".into(), Some("repos:".into()), line));
        }
    }
    Ok(None)
}
