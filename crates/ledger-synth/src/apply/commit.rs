//! Commits the ledger's files and nothing else. Other staged changes stay staged.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::{Git, failed, private_dir, require_plain_ref, require_sound, run_git};
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::{Cmd, defer_signals, tidy_up};
use shopfloor_core::text::shell_word;

use crate::counted::counted;
use crate::event::LedgerEvent;
use crate::event_file;
use crate::facts::event_dir::is_event_name;
use crate::facts::{ARCHIVE, CURRENT, EVENTS, Ledger, objects};
use crate::failure;
use crate::settings::Tracked;
use crate::tool::TOOL;

/// How long to wait for another git command that holds the index.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often the files of a commit may change before it fails.
const TRIES: usize = 3;

/// The notice for [`Committed::TooSoon`].
pub const TOO_SOON: &str = "not committed: the last commit is too recent (--min-interval)";

/// What became of a commit.
#[derive(Debug, PartialEq, Eq)]
pub enum Committed {
    /// Everything is committed already.
    Nothing,
    /// The last commit is too recent.
    TooSoon,
    /// The number of files, and the commit, which a dry run does not have.
    Files(usize, Option<String>),
}

/// A file that git sees as changed.
#[derive(PartialEq, Eq)]
struct ChangedFile {
    path: PathBuf,
    is_untracked: bool,
}

/// What git leaves while it replays commits, in which an abort would drop our commit, and a file that changes stops it.
const REPLAYS: [(&str, &str); 5] = [
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("sequencer", "a cherry-pick or a revert"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
];

/// Whether git replays commits in the ledger's worktree. A page elsewhere cannot stop it.
pub fn is_replaying(ledger: &Ledger) -> bool {
    ledger.in_tree().is_some() && under_way(ledger, &REPLAYS).is_some()
}

/// The first of these operations that is in progress.
fn under_way(ledger: &Ledger, of: &[(&str, &'static str)]) -> Option<&'static str> {
    let git_dir = private_dir(ledger.top.path()).unwrap_or_else(|| ledger.repo.git_dir.clone());
    of.iter().find(|(file, _)| git_dir.join(file).exists()).map(|(_, what)| *what)
}

/// Commits the ledger's files as they are. A dry run passes the files that would have come or gone before, by their paths
/// below the ledger, and whether each would be there.
pub fn commit(env: &Env, ledger: &Ledger, dry: Option<&[(String, bool)]>) -> Result<Committed> {
    // Two commits at once would undo each other's additions. This is not the ledger's own lock, which git's hooks
    // need.
    let lock = ledger.repo.shared_state(TOOL).join(format!("{}.commit.lock", ledger.word()));
    let _lock = if dry.is_some() { None } else { Some(Lock::take(&lock)?) };
    refuse_hopeless(ledger, false)?;
    // git writes the message through a link, and the log of the branch.
    require_sound(&ledger.repo.git_dir)?;
    let branch = ledger.repo.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
    for name in ["HEAD".to_owned()].into_iter().chain(branch) {
        require_plain_ref(&ledger.repo.common_dir, &name)?;
    }
    let Some(prefix) = ledger.in_tree() else { return Ok(Committed::Nothing) };
    let all = paths(ledger, prefix.as_path());
    // What nobody typed has a git of its own.
    let (repo, top) = (&ledger.repo, ledger.top.path());
    let is_linked = repo.is_linked() && repo.worktree.as_deref() == Some(top);
    let git = &match ledger.git.is_pinned() {
        true => ledger.git.clone(),
        false => ledger.git.typed(&repo.common_dir, top, is_linked)?,
    };
    let mut tries = 0;
    loop {
        let before = changes(git, ledger, &all)?;
        let committed = commit_once(env, git, ledger, dry, prefix.as_path(), &all);
        tries += 1;
        // `archive` and writers of events do not wait for a commit, so its files may be gone.
        if committed.is_ok() || tries == TRIES || changes(git, ledger, &all)? == before {
            return committed;
        }
    }
}

fn commit_once(
    env: &Env,
    git: &Git,
    ledger: &Ledger,
    dry: Option<&[(String, bool)]>,
    prefix: &Path,
    all: &[PathBuf],
) -> Result<Committed> {
    let changes = changes(git, ledger, all)?;
    let count = count_with(&changes, dry.unwrap_or_default(), prefix, all);
    if count == 0 {
        return Ok(Committed::Nothing);
    }
    if is_too_soon(env, git, ledger, prefix, &changes)? {
        return Ok(Committed::TooSoon);
    }
    if dry.is_some() {
        return Ok(Committed::Files(count, None));
    }
    let new: Vec<&Path> = changes.iter().filter(|c| c.is_untracked).map(|c| c.path.as_path()).collect();
    // A signal ends git, and the index is put back before it ends us.
    let _deferred = defer_signals();
    let sparse: &[&str] = if objects::is_sparse(ledger.top.path()) { &["--sparse"] } else { &[] };
    let added = if new.is_empty() { Ok(()) } else { on_paths(git, ledger, "add", sparse, &new) };
    let paths: Vec<&Path> = changes.iter().map(|c| c.path.as_path()).collect();
    let message = format!("ledger: {} changed", counted(paths.len(), "file"));
    let commit = ["--quiet", "--only", "-m", &*message];
    if let Err(failure) = added.and_then(|()| on_paths(git, ledger, "commit", &commit, &paths)) {
        return tidy_up(|| unstage(git, ledger, all, new, failure));
    }
    let sha = git.cmd(ledger.top.path()).args(["rev-parse", "--short", "HEAD"]).capture()?.text();
    Ok(Committed::Files(paths.len(), Some(sha)))
}

/// The number of changed files once these have come or gone, too.
fn count_with(changes: &[ChangedFile], more: &[(String, bool)], prefix: &Path, all: &[PathBuf]) -> usize {
    let mut paths: BTreeSet<PathBuf> = changes.iter().map(|change| change.path.clone()).collect();
    let untracked: BTreeSet<&Path> = changes.iter().filter(|c| c.is_untracked).map(|c| c.path.as_path()).collect();
    for (name, is_there) in more {
        let path = prefix.join(name);
        if !is_there && untracked.contains(&*path) {
            paths.remove(&path);
        } else if all.iter().any(|tracked| path.starts_with(tracked)) {
            paths.insert(path);
        }
    }
    paths.len()
}

/// Takes what was staged for a commit that failed out of the index again.
fn unstage(git: &Git, ledger: &Ledger, all: &[PathBuf], new: Vec<&Path>, failure: Failure) -> Result<Committed> {
    // Somebody else may have committed the files in the meantime, so only those that git still sees as new are
    // removed from the index.
    let changes = changes(git, ledger, all)?;
    let is_added = |path: &&Path| changes.iter().any(|change| change.path == *path && !change.is_untracked);
    let undo: Vec<&Path> = new.into_iter().filter(is_added).collect();
    if !undo.is_empty() {
        on_paths(git, ledger, "rm", &["--cached", "--quiet", "--ignore-unmatch"], &undo)?;
    }
    match (changes.is_empty(), failure.exit) {
        (true, Exit::Signal(_)) => Err(failure),
        (true, _) => Ok(Committed::Nothing),
        (false, _) => Err(failure.hint("nothing was committed, and the index is unchanged")),
    }
}

/// Refuses a commit that cannot succeed. Also called before anything is written, which may be files of an archive.
pub fn refuse_hopeless(ledger: &Ledger, is_archiving: bool) -> Result<()> {
    // During a merge git commits everything or nothing, and a rebase or the like could undo the commit.
    let others = [("MERGE_HEAD", "a merge"), ("BISECT_LOG", "a bisection")];
    let what = under_way(ledger, &others).or_else(|| under_way(ledger, &REPLAYS));
    let squash = under_way(ledger, &[("SQUASH_MSG", "a squashed merge")]).filter(|_| what.is_none());
    // A squash that brought nothing leaves its message, too, and `git status` says nothing of that.
    let staged = ["diff-index", "--cached", "--quiet", "HEAD", "--"];
    let is_empty = squash.is_some() && ledger.git.cmd(ledger.top.path()).args(staged).capture()?.status.success();
    if let Some(what) = what.or(squash.filter(|_| !is_empty)) {
        return Err(failure::MERGING
            .with(Exit::No, format!("{what} is in progress, so nothing is committed"))
            .hint("run `git status`, finish what is in progress, and run the same command again"));
    }
    let place = ledger.dir.display();
    let prefix = ledger.in_tree().ok_or_else(|| {
        Failure::usage(format!("{place} is not in a work tree of this repository, so it cannot be committed"))
            .hint("leave `--commit` out, or use a ledger below the work tree")
    })?;
    let all = paths(ledger, prefix.as_path());
    // git passes over what lies in another repository, without a word unless that is a submodule.
    let above = all.iter().flat_map(|path| path.ancestors().skip(1)).filter(|dir| !dir.as_os_str().is_empty());
    if let Some(inner) = above.map(|dir| ledger.top.path().join(dir)).find(|dir| private_dir(dir).is_some()) {
        let other = inner.display();
        let why = format!("{place} is in another repository, {other}, so it cannot be committed in this one");
        return Err(Failure::usage(why)
            .hint(format!("leave `--commit` out, and commit there: `git -C {}`", shell_word(&inner))));
    }
    refuse_flagged(ledger, &all)?;
    let to_come = [format!("{EVENTS}/snapshot_HASH.md"), format!("{ARCHIVE}/DAY/EVENT.md")];
    let to_come = to_come.iter().filter(|_| is_archiving).map(|name| prefix.as_path().join(name));
    let asked: Vec<PathBuf> = all.iter().cloned().chain(to_come).collect();
    let mut ignored = ledger.git.ignored(ledger.top.path(), &asked, None)?;
    // Ignore patterns may match the events and not their directory.
    let events = prefix.as_path().join(EVENTS);
    let how = ["--others", "--ignored", "--exclude-standard", "--"].map(OsString::from);
    let others = ledger.git.ls_files(ledger.top.path(), &[&how[..], &[events.clone().into_os_string()]].concat())?;
    let is_event = |path: &PathBuf| path.parent() == Some(&events) && path.file_name().is_some_and(is_event_name);
    ignored.extend(others.into_iter().filter(is_event));
    ignored.first().map_or(Ok(()), |path| {
        Err(Failure::malformed(format!("git ignores {}, so it cannot be committed", path.display()))
            .hint(format!("run `git check-ignore -v {}` to see the pattern", shell_word(path))))
    })
}

/// Refuses files whose changes git does not look at, because a person told it so. A file that a sparse checkout leaves
/// out has such a flag, too.
fn refuse_flagged(ledger: &Ledger, all: &[PathBuf]) -> Result<()> {
    let top = ledger.top.path();
    let is_sparse = objects::is_sparse(top);
    let how = ["-v", "--"].map(OsString::from).into_iter();
    let how: Vec<OsString> = how.chain(all.iter().map(|path| path.as_os_str().to_owned())).collect();
    let listed = ledger.git.ls_files(top, &how)?;
    let flagged = listed.iter().find_map(|line| {
        let (tag, path) = line.as_os_str().as_bytes().split_first_chunk::<2>()?;
        let path = Path::new(OsStr::from_bytes(path));
        match tag[0] {
            b'S' | b's' if !is_sparse || top.join(path).symlink_metadata().is_ok() => Some(("skip-worktree", path)),
            b'a'..=b'z' => Some(("assume-unchanged", path)),
            _ => None,
        }
    });
    flagged.map_or(Ok(()), |(flag, path)| {
        let command = format!("git -C {} update-index --no-{flag} {}", shell_word(top), shell_word(path));
        Err(Failure::malformed(format!("git does not look at {}, which has the flag {flag}", path.display()))
            .hint(format!("run `{command}`, and the same command again")))
    })
}

/// What of the ledger is in git.
fn paths(ledger: &Ledger, prefix: &Path) -> Vec<PathBuf> {
    let page = (ledger.page.tracked == Tracked::Page).then_some(CURRENT);
    page.into_iter().chain([EVENTS, ARCHIVE]).map(|name| prefix.join(name)).collect()
}

/// The ledger's files that git sees as changed.
fn changes(git: &Git, ledger: &Ledger, all: &[PathBuf]) -> Result<Vec<ChangedFile>> {
    let cmd = literal(git, ledger).args(["status", "--porcelain", "-z", "-uall", "--no-renames", "--"]);
    let listed = run_git("status", cmd.args(all))?;
    let path = |entry: &[u8]| PathBuf::from(OsStr::from_bytes(&entry[3..]));
    let changes = listed.split(|b| *b == 0).filter(|entry| entry.len() > 3);
    let changes = changes.map(|entry| ChangedFile { path: path(entry), is_untracked: entry.starts_with(b"??") });
    // Other files belong to somebody else.
    Ok(changes.filter(|change| change.path.file_name().is_some_and(is_event_name)).collect())
}

/// Whether the throttle holds the commit back. If nobody set one, it applies only to commits that bring nothing but
/// checkpoints.
fn is_too_soon(env: &Env, git: &Git, ledger: &Ledger, prefix: &Path, changes: &[ChangedFile]) -> Result<bool> {
    let is_explicit = ledger.settings.min_interval.is_some();
    if !is_explicit && !are_checkpoints(ledger, prefix, changes)? {
        return Ok(false);
    }
    let path = prefix.join(if ledger.page.tracked == Tracked::Page { CURRENT } else { EVENTS });
    let output = literal(git, ledger).args(["log", "-1", "--format=%ct", "--"]).arg(path.as_os_str()).capture()?;
    let last: Option<i64> = String::from_utf8_lossy(&output.stdout).trim().parse().ok();
    let Some(last) = last.and_then(|seconds| Timestamp::from_second(seconds).ok()) else { return Ok(false) };
    Ok(env.now.duration_since(last) < ledger.settings.checkpoint_interval)
}

fn are_checkpoints(ledger: &Ledger, prefix: &Path, changes: &[ChangedFile]) -> Result<bool> {
    let events = prefix.join(EVENTS);
    let new: BTreeSet<&Path> =
        changes.iter().map(|c| c.path.as_path()).filter(|path| path.starts_with(&events)).collect();
    for path in &new {
        let Some(below) = path.strip_prefix(prefix).ok().and_then(Path::to_str) else { return Ok(false) };
        let bytes = ledger.top.read_whole(&ledger.rel(below)?)?.map(|(bytes, _)| bytes).unwrap_or_default();
        let text = event_file::decode(&bytes).unwrap_or_default();
        let is_one = LedgerEvent::parse(&text).is_ok_and(|event| event.meta.kind.as_deref() == Some("checkpoint"));
        if !is_one {
            return Ok(false);
        }
    }
    Ok(!new.is_empty())
}

fn literal(git: &Git, ledger: &Ledger) -> Cmd {
    // File names may look like patterns, and our own hooks must not run inside our own commit.
    git.cmd(ledger.top.path()).arg("--literal-pathspecs").var("SHOPFLOOR", "0")
}

/// Runs a git command on paths, which go to stdin because they may be too many for a command line.
fn on_paths(git: &Git, ledger: &Ledger, command: &str, args: &[&str], paths: &[&Path]) -> Result<()> {
    let input: Vec<u8> = paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
    let lock = private_dir(ledger.top.path()).unwrap_or_else(|| ledger.repo.git_dir.clone()).join("index.lock");
    let (start, mut pause) = (Instant::now(), Duration::from_millis(5));
    loop {
        let cmd = literal(git, ledger).arg(command).args(args).args(["--pathspec-from-file=-", "--pathspec-file-nul"]);
        let output = cmd.input(input.clone()).capture()?;
        if output.status.success() {
            return Ok(());
        }
        // Another git command may be at work in this worktree.
        if !lock.exists() || start.elapsed() > PATIENCE {
            return Err(failed(command, &output));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(200));
    }
}
