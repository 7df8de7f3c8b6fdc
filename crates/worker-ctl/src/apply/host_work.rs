//! The work of a host's workers here: fetched through a quarantine, reviewed, and landed as that of a local worker. The
//! host is told what has landed, and gets the default branch; whichever of that is cut off is done by whoever asks next.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Git;
use shopfloor_core::proc::Output;
use shopfloor_core::sandbox::Incoming;
use shopfloor_core::ssh;
use shopfloor_core::text::{printable, shell_word};

use crate::apply::recover::FinishedAccepts;
use crate::apply::{land, publish};
use crate::context::Context;
use crate::failure;
use crate::hosts::{self, Host, HostWork, LastSaid, PERHAPS, SeenWork};
use crate::root::require_source;
use crate::ssh::Ssh;
use crate::work_repo::common_dir;
use crate::worker::{Session, Task, TaskBeforeRebase, Worker};

/// Where a host gets a commit that has landed, before its branch moves.
pub const LANDED: &str = "refs/shopfloor/landed";

/// How long a push of commits to a host, and each step of a fetch from it, may take.
const LIMIT: Duration = Duration::from_secs(900);

/// The memory that git may use for what a host says.
const MEMORY: u64 = 4 << 30;

/// ssh to a host of this root.
pub fn ssh_to<'a>(ctx: &'a Context<'_>, host: &'a Host) -> Ssh<'a> {
    let (root, dest) = (&ctx.root.path, &host.table.ssh);
    let line = ssh::Ssh { env: ctx.env, name: &host.name, dest, dir: hosts::dir(root), ending: &ctx.ending };
    Ssh { line, root, host, is_json: ctx.ui.is_json() }
}

/// The name of a host's worker here.
pub fn name_of(host: &Host, worker: &str) -> String {
    format!("{}:{worker}", host.name)
}

/// The ref that holds the work of a host's worker that was fetched last (`work`) or reviewed (`reviewed`).
fn ref_of(host: &Host, worker: &str, kind: &str) -> String {
    format!("refs/shopfloor/hosts/{}/{worker}/{kind}", host.name)
}

/// What the host says of one of its workers now.
pub fn row(ctx: &Context<'_>, host: &Host, worker: &str) -> Result<Value> {
    let said = ssh_to(ctx, host).ask(&["status"], ssh::SOON)?;
    let mut rows = LastSaid::answered(host, &said, ctx.now())?.workers.into_iter();
    rows.find(|row| row["name"] == worker).ok_or_else(|| {
        Failure::not_found(format!("there is no worker `{worker}` on {}", host.name))
            .hint("`worker-ctl status` lists the workers of all machines")
    })
}

/// A record for a host's worker as the host describes it, with what was reviewed here.
pub fn worker(ctx: &Context<'_>, host: &Host, row: &Value) -> Result<Worker> {
    let text = |key: &str| row[key].as_str().unwrap_or_default();
    let id = |key: &str| Some(text(key).to_owned()).filter(|sha| is_id(sha));
    let (there, tree) = (text("name"), format!("{}:{}", host.name, text("worktree")));
    let mut worker = Worker::new(&name_of(host, there), text("agent"), &tree, text("branch"), ctx.now());
    let commit = id("commit");
    worker.task = match (text("task"), &commit) {
        ("working", _) => Task::Working,
        ("needs_review", Some(_)) => Task::NeedsReview,
        ("rejected", _) => Task::Rejected,
        ("rebasing", _) => {
            Task::Rebasing { from: TaskBeforeRebase::NeedsReview, pre_sha: commit.clone().unwrap_or_default() }
        }
        _ => Task::Idle,
    };
    worker.program.session = if text("session") == "up" { Session::Up } else { Session::Down };
    worker.work.prompt = row["prompt"].as_str().map(str::to_owned);
    worker.work.commit_sha = commit;
    worker.work.onto_sha = id("onto");
    let files = row["conflicted"].as_array().into_iter().flatten();
    worker.work.conflicted = files.filter_map(|file| file.as_str().map(str::to_owned)).collect();
    worker.work.check = serde_json::from_value(row["check"].clone()).ok();
    if let Some(SeenWork { sha, patch }) = HostWork::load(&ctx.root.path, &host.name)?.reviews.get(there) {
        let is_back = ["", PERHAPS].contains(&patch.as_str());
        worker.work.shown_sha = Some(sha.clone());
        // Whatever it was told.
        worker.work.changes = is_back.then(|| patch.clone());
        worker.work.reviewed_sha = (!is_back).then(|| sha.clone());
        worker.work.reviewed_patch = (!is_back).then(|| patch.clone());
    }
    Ok(worker)
}

fn is_id(sha: &str) -> bool {
    [40, 64].contains(&sha.len()) && sha.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Brings a commit of a host's worker here, as one from a stranger, and keeps it by a ref. The caller holds the host's lock.
pub fn fetch(ctx: &Context<'_>, host: &Host, worker: &str, sha: &str) -> Result<()> {
    if !is_id(sha) {
        return Err(failure::there(4, format!("{}: it names no commit of {worker}", host.name)));
    }
    let (repo, work) = (&ctx.repo, ref_of(host, worker, "work"));
    if repo.commit(&repo.top, &work)?.as_deref() != Some(sha) {
        let (ssh, dir) = (ssh_to(ctx, host), hosts::dir(&ctx.root.path).join(format!("{}.in", host.name)));
        fs::create_private_dir(&dir)?;
        let git_dir = format!("--git-dir={}/.git", host.table.root);
        let pack = ["git", &git_dir, "pack-objects", "-q", "--revs", "--stdout", "--delta-base-offset"];
        let wanted = format!("{sha}\n^refs/remotes/origin/{}\n", repo.branch);
        let packing = ssh.cmd(&pack.map(OsString::from), wanted.into_bytes())?;
        let mut settings = ctx.root.config.sandbox.clone();
        // They come over a network.
        settings.limits.seconds = settings.limits.seconds.max(LIMIT.as_secs());
        let incoming = Incoming { dir: &dir, common_dir: &repo.common, settings: &settings };
        let git = Git::find(ctx.env)?.common(&repo.common)?;
        let (errors, said) = fs::scratch(&dir)?;
        // A line that was cut looks like a pack that is damaged.
        let taken = incoming.take(&git, &[sha], packing.error_file(errors), &|status| {
            let stderr = fs::read_tail(&said, 1 << 20).unwrap_or_default();
            ssh.arrived(Output { status, stdout: Vec::new(), stderr }).map(drop)
        });
        fs::remove_tree(&dir)?;
        taken?;
        if repo.commit(&repo.top, sha)?.as_deref() != Some(sha) {
            return Err(failure::there(4, format!("{}: what it names is no commit of {worker}", host.name)));
        }
        repo.update_ref(&[&work, sha])?;
    }
    Ok(())
}

/// Makes a review count for a commit that is the same work on another one, as a rebase on the host leaves it; and sees that
/// what the host says of its base can be looked up. The work was fetched before.
pub fn carry_over(ctx: &Context<'_>, worker: &mut Worker, base: &str) -> Result<()> {
    let repo = &ctx.repo;
    let is_here = |sha: &str| Ok::<bool, Failure>(repo.commit(&repo.top, sha)?.is_some());
    if let Some(onto) = &worker.work.onto_sha
        && !is_here(onto)?
    {
        worker.work.onto_sha = None;
    }
    let (Some(sha), Some(seen)) = (&worker.work.commit_sha, &worker.work.reviewed_sha) else { return Ok(()) };
    if sha != seen && is_here(seen)? {
        let (from, onto) = (repo.begin(seen)?, repo.work_base(base, sha)?.unwrap_or_else(|| base.to_owned()));
        let is_sound = worker.work.reviewed_patch.as_ref() == Some(&repo.work_digest_from(&from, seen)?);
        if is_sound && repo.is_same_work((&from, seen), sha, &onto)? {
            worker.work.reviewed_patch = Some(repo.work_digest(sha)?);
            worker.work.reviewed_sha = Some(sha.clone());
        }
    }
    Ok(())
}

/// Keeps what a person has reviewed, and which worker's work that is.
pub fn pin(ctx: &Context<'_>, host: &Host, worker: &str, seen: SeenWork) -> Result<()> {
    ctx.repo.update_ref(&[&ref_of(host, worker, "reviewed"), &seen.sha])?;
    HostWork::update(&ctx.root.path, &host.name, |work| drop(work.reviews.insert(worker.to_owned(), seen)))?;
    ctx.update(|state| {
        (state.last_reviewed, state.landed_since) = (Some(name_of(host, worker)), None);
        Ok(())
    })
}

/// Takes back that this work was reviewed, which nobody has seen, unless something newer is recorded.
pub fn not_seen(ctx: &Context<'_>, host: &Host, worker: &str, seen: &SeenWork, before: Option<SeenWork>) -> Result<()> {
    let mut is_ours = false;
    HostWork::update(&ctx.root.path, &host.name, |work| {
        is_ours = work.reviews.get(worker) == Some(seen);
        if is_ours {
            work.reviews.remove(worker);
            work.reviews.extend(before.clone().map(|before| (worker.to_owned(), before)));
        }
    })?;
    let pin = ref_of(host, worker, "reviewed");
    match before {
        _ if !is_ours => Ok(()),
        Some(before) => ctx.repo.update_ref(&[&pin, &before.sha]),
        None => ctx.repo.drop_refs(&[pin]),
    }
}

/// Lets no review count any more of work that was sent back, or may have been. What was shown is still known.
pub fn sent_back(ctx: &Context<'_>, host: &Host, workers: &[String], is_known: bool) -> Result<()> {
    let patch = if is_known { "" } else { PERHAPS };
    HostWork::update(&ctx.root.path, &host.name, |work| {
        let theirs = work.reviews.iter_mut().filter(|(name, _)| workers.contains(name));
        theirs.for_each(|(_, seen)| patch.clone_into(&mut seen.patch));
    })
}

/// Forgets what was fetched and reviewed of a worker's task that is over.
pub fn unpin(ctx: &Context<'_>, host: &Host, worker: &str) -> Result<()> {
    let name = name_of(host, worker);
    HostWork::update(&ctx.root.path, &host.name, |work| drop(work.reviews.remove(worker)))?;
    ctx.repo.drop_refs(&["work", "reviewed"].map(|kind| ref_of(host, worker, kind)))?;
    ctx.update(|state| {
        state.last_reviewed.take_if(|last| *last == name);
        Ok(())
    })
}

/// Tells the host what has landed and not arrived there, and brings its default branch up to date.
pub fn sync(ctx: &Context<'_>, host: &Host) -> Result<FinishedAccepts> {
    let _lock = hosts::lock(&ctx.root.path, &host.name)?;
    let finished = finish_open(ctx, host)?;
    push_base(ctx, host).map(|()| finished)
}

/// The workers of a host whose accept is under way or was cut off, with the name that they have there.
pub fn open_accepts(ctx: &Context<'_>, host: &Host) -> Result<Vec<(String, String)>> {
    let of_host = |name: String| {
        let (_, worker) = hosts::split(&name).filter(|(on, _)| *on == host.name)?;
        Some((worker.to_owned(), name))
    };
    Ok(publish::list_journals(&ctx.root.path)?.into_iter().filter_map(of_host).collect())
}

/// Finishes the accepts that were cut off: the host is told of each whose commit the source has. The caller holds the
/// host's lock. Returns the commit that landed, by worker.
pub fn finish_open(ctx: &Context<'_>, host: &Host) -> Result<FinishedAccepts> {
    let mut finished = FinishedAccepts::new();
    for (worker, name) in open_accepts(ctx, host)? {
        let _lock = ctx.lock(&name)?;
        // Nobody knows whether the host's branch has moved.
        HostWork::update(&ctx.root.path, &host.name, |work| work.pushed = None)?;
        if let Some(journal) = publish::find_landed(&ctx.repo, &ctx.source(), &name)? {
            tell_landed(ctx, host, &worker, (&journal.work, &journal.new))?;
            ctx.ui.note(format!("finished an `accept` of {name} that was cut off"));
            finished.insert(name, journal.new);
        }
    }
    Ok(finished)
}

/// Tells the host that some work has landed, and drops the journal of that. All of it can be repeated.
pub fn tell_landed(ctx: &Context<'_>, host: &Host, worker: &str, (work, new): (&str, &str)) -> Result<()> {
    let name = name_of(host, worker);
    let pushed = push(ctx, host, &[&format!("+{new}:{LANDED}")])?;
    if !pushed.status.success() {
        return Err(refused(host, &pushed));
    }
    let said = ssh_to(ctx, host).ask(&["landed", worker, work, new, &format!("{work}:{new}")], ssh::LONG)?;
    let is_there = said["branch_at"] == new;
    HostWork::update(&ctx.root.path, &host.name, |kept| kept.pushed = is_there.then(|| new.to_owned()))?;
    if !ctx.repo.has(new, work)? {
        land::keep_original(ctx, &hosts::ref_name(&name), work)?;
    }
    if said["stays"] == true {
        ctx.ui.warn(format!(
            "{name} has landed, and its worktree is not moved on, as something there is in the way; `worker-ctl accept {name}` \
             says what, and ends its task once that is gone"
        ));
    }
    // Whose task goes on there has newer work, which is not what was reviewed, as with a local worker.
    if said["task"].as_str().is_none_or(|task| task == "idle") {
        unpin(ctx, host, worker)?;
    }
    ctx.update(|state| {
        state.note_landed(&name);
        Ok(())
    })?;
    publish::drop_journal(&ctx.repo, &name)
}

/// Pushes the default branch to the host if that has another one. The caller holds the host's lock.
pub fn push_base(ctx: &Context<'_>, host: &Host) -> Result<()> {
    let (repo, source) = (&ctx.clone, ctx.source());
    let base = repo.fetched(&source)?;
    let known = HostWork::load(&ctx.root.path, &host.name)?.pushed;
    if known.as_ref() == Some(&base) {
        return Ok(());
    }
    let branch = format!("refs/heads/{}", repo.branch);
    let forward = format!("{base}:{branch}");
    let mut pushed = push(ctx, host, &[&forward])?;
    if !pushed.status.success() {
        // The source has dropped commits. Nothing is taken back there that is not from here.
        let there = git_to(ctx, host, &["ls-remote", "--quiet"], &[&branch])?;
        let there = there.text().split_whitespace().next().unwrap_or_default().to_owned();
        if known.as_ref() == Some(&there) || is_id(&there) && repo.was_base(&source, &there)? {
            pushed = push(ctx, host, &[&format!("--force-with-lease={branch}:{there}"), &forward])?;
        } else if is_id(&there) {
            return Err(not_from_here(host, &branch, &there, known.as_deref()));
        }
    }
    if !pushed.status.success() {
        return Err(refused(host, &pushed));
    }
    HostWork::update(&ctx.root.path, &host.name, |work| work.pushed = Some(base))
}

fn push(ctx: &Context<'_>, host: &Host, words: &[&str]) -> Result<Output> {
    let options = ["push", "--quiet", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed"];
    git_to(ctx, host, &options, words)
}

/// git from the source to the host's repository, by our ssh and without hooks.
fn git_to(ctx: &Context<'_>, host: &Host, command: &[&str], words: &[&str]) -> Result<Output> {
    let source = ctx.source();
    require_source(&ctx.root.path, &source)?;
    let git = ctx.clone.git.guarded_main(&common_dir(&source), &source)?;
    // Little memory, however large the packs are.
    let cmd = git.fetching(&source).args(["-c", "core.packedGitWindowSize=32m", "-c", "core.packedGitLimit=512m"]);
    let cmd = cmd.args(command.iter().copied()).arg(format!("host:{}", host.table.source));
    let ssh = ssh_to(ctx, host);
    let cmd = cmd.args(words.iter().copied()).var("GIT_SSH_COMMAND", ssh.for_git()?).var("GIT_SSH_VARIANT", "simple");
    let ended = ssh.bounded(cmd.with_memory(MEMORY), LIMIT)?;
    let ended = ended.ok_or_else(|| ssh.no_end(LIMIT))?;
    match ended.status.code() {
        128 => match ssh.run(&["true".into()], Vec::new(), ssh::SOON)?.stdout.is_empty() {
            true => Ok(ended),
            false => Err(failure::there(4, format!("{}: what answers there speaks before git does", host.name))
                .hint(ssh::SHELL_PRINTS)),
        },
        _ => Ok(ended),
    }
}

/// The failure where somebody has made a commit on the host's default branch; `ours` is what was pushed there last.
fn not_from_here(host: &Host, branch: &str, there: &str, ours: Option<&str>) -> Failure {
    let (name, source) = (&host.name, shell_word(Path::new(&host.table.source)));
    let why = format!("the default branch cannot be pushed to {name}: there it has {there}, which is not from here");
    failure::there(4, why).hint(match ours {
        Some(ours) => format!(
            "keep that commit aside, on {name}: `git -C {source} branch kept-{} {there} && git -C {source} update-ref {branch} \
             {ours} {there}`",
            &there[..8]
        ),
        None => format!("look at {source} there, and keep that commit on another branch"),
    })
}

fn refused(host: &Host, pushed: &Output) -> Failure {
    let lines = String::from_utf8_lossy(&pushed.stderr).into_owned();
    failure::there(4, format!("the default branch cannot be pushed to {}", host.name))
        .details(lines.lines().map(|line| format!("  {}", printable(line))))
        .hint(format!("look at {} there", shell_word(Path::new(&host.table.source))))
}
