//! The work of a host's workers here: fetched through a quarantine, reviewed, and landed as that of a local worker. The
//! host is told what has landed, and gets the default branch; whichever of that is cut off is done by whoever asks next.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, answer};
use shopfloor_core::proc::Output;
use shopfloor_core::sandbox::Incoming;

use crate::apply::recover::FinishedAccepts;
use crate::apply::{land, publish};
use crate::context::Context;
use crate::failure;
use crate::hosts::{self, Host, HostWork, LastSaid, SeenWork};
use crate::ssh::{self, Ssh};
use crate::work_repo::{common_dir, require_source};
use crate::worker::{Session, Task, Worker};

/// Where a host gets a commit that has landed, before its branch moves.
pub const LANDED: &str = "refs/shopfloor/landed";

/// How long a push of commits to a host may take.
const PUSH_LIMIT: Duration = Duration::from_secs(600);

/// ssh to a host of this root.
pub fn ssh_to<'a>(ctx: &'a Context<'_>, host: &'a Host) -> Ssh<'a> {
    Ssh { env: ctx.env, root: &ctx.root.path, host }
}

/// The name of a host's worker here.
pub fn name_of(host: &Host, worker: &str) -> String {
    format!("{}:{worker}", host.name)
}

/// The ref that holds the fetched work of a host's worker.
fn work_ref(host: &Host, worker: &str) -> String {
    format!("refs/shopfloor/hosts/{}/{worker}", host.name)
}

/// What the host says of one of its workers now.
pub fn row(ctx: &Context<'_>, host: &Host, worker: &str) -> Result<Value> {
    let said = ssh_to(ctx, host).ask(&["status"], ssh::LONG)?;
    let mut rows = LastSaid::answered(host, &said, ctx.now())?.workers.into_iter();
    rows.find(|row| row["name"] == worker).ok_or_else(|| {
        Failure::not_found(format!("there is no worker `{worker}` on {}", host.name))
            .hint(format!("`worker-ctl status --host {}` lists its workers", host.name))
    })
}

/// A record for a host's worker as the host describes it, with what was reviewed here.
pub fn worker(ctx: &Context<'_>, host: &Host, row: &Value, work: &HostWork) -> Worker {
    let text = |key: &str| row[key].as_str().unwrap_or_default();
    let there = text("name");
    let mut worker = Worker::new(
        &name_of(host, there),
        text("agent"),
        &format!("{}:{}", host.name, text("worktree")),
        text("branch"),
        ctx.now(),
    );
    worker.task = match text("task") {
        "working" => Task::Working,
        "needs_review" if is_id(text("commit")) => Task::NeedsReview,
        "rejected" => Task::Rejected,
        "rebasing" => {
            Task::Rebasing { from: crate::worker::TaskBeforeRebase::NeedsReview, pre_sha: text("commit").to_owned() }
        }
        _ => Task::Idle,
    };
    worker.program.session = if text("session") == "up" { Session::Up } else { Session::Down };
    worker.work.prompt = row["prompt"].as_str().map(str::to_owned);
    worker.work.commit_sha = Some(text("commit").to_owned()).filter(|sha| is_id(sha));
    worker.work.check = serde_json::from_value(row["check"].clone()).ok();
    if let Some(SeenWork { sha, patch }) = work.reviews.get(there) {
        worker.work.shown_sha = Some(sha.clone());
        worker.work.reviewed_patch = Some(patch.clone());
        worker.work.reviewed_sha = Some(sha.clone());
    }
    worker
}

fn is_id(sha: &str) -> bool {
    [40, 64].contains(&sha.len()) && sha.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Brings a commit of a host's worker here, as one from a stranger, and keeps it by a ref. The caller holds the host's lock.
pub fn fetch(ctx: &Context<'_>, host: &Host, worker: &str, sha: &str) -> Result<()> {
    if !is_id(sha) {
        return Err(failure::there(4, format!("{}: it names no commit of {worker}", host.name)));
    }
    if ctx.repo.commit(&ctx.repo.top, &work_ref(host, worker))?.as_deref() != Some(sha) {
        let (ssh, dir) = (ssh_to(ctx, host), hosts::dir(&ctx.root.path).join(format!("{}.in", host.name)));
        fs::create_private_dir(&dir)?;
        let git_dir = format!("--git-dir={}/.git", host.table.root);
        let pack = ["git", &git_dir, "pack-objects", "-q", "--revs", "--stdout", "--delta-base-offset"];
        let wanted = format!("{sha}\n^refs/remotes/origin/{}\n", ctx.repo.branch);
        let packing = ssh.cmd(&pack.map(OsString::from), wanted.into_bytes())?;
        let incoming = Incoming { dir: &dir, common_dir: &ctx.repo.common, settings: &ctx.root.config.sandbox };
        let git = Git::find(ctx.env)?.common(&ctx.repo.common)?;
        let taken = incoming.take(&git, &[sha], packing);
        fs::remove_tree(&dir)?;
        // A line that was cut looks like a pack that is damaged.
        taken.map_err(|failure| match ssh.run(&["true".into()], Vec::new(), ssh::SHORT) {
            Err(cut) if failure::UNREACHABLE.is_kind_of(&cut) => cut,
            _ => failure,
        })?;
        ctx.repo.update_ref(&[&work_ref(host, worker), sha])?;
    }
    Ok(())
}

/// Carries a review over to a commit that is the same work on another one, as a rebase on the host leaves it.
pub fn carry_over(ctx: &Context<'_>, worker: &mut Worker) -> Result<()> {
    let Some(sha) = &worker.work.commit_sha else { return Ok(()) };
    if worker.work.reviewed_patch.as_ref() == Some(&ctx.repo.work_digest(sha)?) {
        worker.work.reviewed_sha = Some(sha.clone());
    }
    Ok(())
}

/// Keeps what a person has reviewed, and which worker's work that is.
pub fn pin(ctx: &Context<'_>, host: &Host, worker: &str, seen: SeenWork) -> Result<()> {
    let mut work = HostWork::load(&ctx.root.path, &host.name)?;
    work.reviews.insert(worker.to_owned(), seen);
    work.keep(&ctx.root.path, &host.name)?;
    ctx.update(|state| {
        state.last_reviewed = Some(name_of(host, worker));
        Ok(())
    })
}

/// Tells the host what has landed and not arrived there, and brings its default branch up to date.
pub fn sync(ctx: &Context<'_>, host: &Host) -> Result<()> {
    let _lock = hosts::lock(&ctx.root.path, &host.name)?;
    finish_open(ctx, host)?;
    push_base(ctx, host)
}

/// Finishes the accepts that were cut off: the host is told of each whose commit the source has. The caller holds the
/// host's lock. Returns the commit that landed, by worker.
pub fn finish_open(ctx: &Context<'_>, host: &Host) -> Result<FinishedAccepts> {
    let mut finished = FinishedAccepts::new();
    for name in publish::list_journals(&ctx.root.path)? {
        let Some((_, worker)) = hosts::split(&name).filter(|(on, _)| *on == host.name) else { continue };
        let _lock = ctx.lock(&name)?;
        if let Some(journal) = publish::find_landed(&ctx.repo, &ctx.source(), &name)? {
            tell_landed(ctx, host, worker, (&journal.work, &journal.new))?;
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
    let mut kept = HostWork::load(&ctx.root.path, &host.name)?;
    kept.reviews.remove(worker);
    if said["branch_at"] == new {
        kept.pushed = Some(new.to_owned());
    }
    kept.keep(&ctx.root.path, &host.name)?;
    if !ctx.repo.has(new, work)? {
        land::keep_original(ctx, &hosts::ref_name(&name), work)?;
    }
    ctx.repo.update_ref(&["-d", &work_ref(host, worker)])?;
    ctx.update(|state| {
        state.last_reviewed.take_if(|last| *last == name);
        Ok(())
    })?;
    publish::drop_journal(&ctx.repo, &name)
}

/// Pushes the default branch to the host if that has another one. The caller holds the host's lock.
pub fn push_base(ctx: &Context<'_>, host: &Host) -> Result<()> {
    let base = ctx.clone.fetched(&ctx.source())?;
    let mut work = HostWork::load(&ctx.root.path, &host.name)?;
    if work.pushed.as_ref() == Some(&base) {
        return Ok(());
    }
    let branch = format!("refs/heads/{}", ctx.clone.branch);
    let forward = format!("{base}:{branch}");
    let mut pushed = push(ctx, host, &[&forward])?;
    if let (false, Some(before)) = (pushed.status.success(), &work.pushed) {
        // The source has dropped commits. Only what we have pushed is taken back.
        pushed = push(ctx, host, &[&format!("--force-with-lease={branch}:{before}"), &forward])?;
    }
    if !pushed.status.success() {
        return Err(refused(host, &pushed));
    }
    work.pushed = Some(base);
    work.keep(&ctx.root.path, &host.name)
}

/// `git push` from the source to the host's repository, by our ssh and without hooks.
fn push(ctx: &Context<'_>, host: &Host, words: &[&str]) -> Result<Output> {
    let source = ctx.source();
    require_source(&source)?;
    let git = ctx.clone.git.guarded_main(&common_dir(&source), &source)?;
    let options = ["--quiet", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed"];
    let (options, words): (Vec<&str>, Vec<&str>) = (
        options.into_iter().chain(words.iter().copied().filter(|word| word.starts_with("--"))).collect(),
        words.iter().copied().filter(|word| !word.starts_with("--")).collect(),
    );
    let cmd = git.fetching(&source).arg("push").args(options).arg(format!("host:{}", host.table.source)).args(words);
    let cmd = cmd.var("GIT_SSH_COMMAND", ssh_to(ctx, host).for_git()?).var("GIT_SSH_VARIANT", "simple");
    let pushed = cmd.within(PUSH_LIMIT).capture()?;
    match pushed.status.code() {
        128 => ssh_to(ctx, host).run(&["true".into()], Vec::new(), Duration::from_secs(10)).map(|_| pushed),
        _ => Ok(pushed),
    }
}

fn refused(host: &Host, pushed: &Output) -> Failure {
    failure::there(4, format!("the default branch cannot be pushed to {}", host.name))
        .details(
            String::from_utf8_lossy(&pushed.stderr)
                .lines()
                .map(|line| format!("  {}", shopfloor_core::text::printable(line))),
        )
        .hint(format!("look at {} there", shopfloor_core::text::shell_word(Path::new(&host.table.source))))
}

/// Checks that this commit is the source's, as a hub says, and lets the bare repository of a host have it.
pub fn advance_there(ctx: &Context<'_>, landed: &str) -> Result<String> {
    let source = ctx.source();
    let branch = format!("refs/heads/{}", ctx.repo.branch);
    let ask = |names: &[&str]| ctx.repo.run(&source, names);
    let now = answer("rev-parse", &ask(&["rev-parse", "--verify", &format!("{branch}^{{commit}}")])?)?;
    if now == landed || ask(&["merge-base", "--is-ancestor", landed, &now])?.status.success() {
        return Ok(now);
    }
    match ask(&["merge-base", "--is-ancestor", &now, landed])?.status.success() {
        true if publish::advance(&ctx.repo, &source, &now, landed)? => Ok(landed.to_owned()),
        // The hub's branch was moved back, or goes another way; the next push says so.
        _ => Ok(now),
    }
}
