//! Pushes to a remote of the person's repository what they were shown, and takes in what was merged there. Nothing else of
//! ours pushes.

use std::time::Duration;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::forge::{self, FORGE, Forge, Request, without_prompts};
use shopfloor_core::git::require_lasting_objects;
use shopfloor_core::text::{printable, shell_word};

use crate::apply::land::{self, while_parent_rests};
use crate::apply::{land_on_parent, publish};
use crate::context::Context;
use crate::facts::request::{Own, Remote, is_landed};
use crate::failure;
use crate::layout::RootLock;
use crate::plan::accept::require_review;
use crate::requests::Requests;
use crate::work_repo::common_dir;
use crate::worker::Worker;

/// Fails unless a person agrees to what leaves the machine, or comes from elsewhere.
pub fn require_person(ctx: &Context<'_>, is_agreed: bool, question: &str, undone: &str) -> Result<()> {
    refuse_agent(ctx.env, undone)?;
    ctx.ui.require_yes(is_agreed, question, undone)
}

/// Exit 3 in an agent's session. An agent's program knows `--yes`, too, and is no person.
pub fn refuse_agent(env: &Env, undone: &str) -> Result<()> {
    let is_agents = |name: &&str| env.var(name).is_some();
    if ["WORKER_CTL_WORKER", "SHOPFLOOR_AGENT_ID"].iter().any(is_agents) {
        let failure = Failure::new(Exit::Decide, "undecided", format!("{undone}: an agent asks for it"));
        return Err(failure.hint("a person has to see it: run the command outside of the agent's session"));
    }
    Ok(())
}

/// Brings a commit of the clone into the person's repository.
pub fn bring(ctx: &Context<'_>, own: &Own, name: &str, sha: &str) -> Result<()> {
    if ctx.repo.is_own {
        return Ok(());
    }
    let kept = format!("refs/shopfloor/request/{name}");
    ctx.repo.update_ref(&[&kept, sha])?;
    forge::fetch(&own.git, &own.source, &ctx.repo.top.to_string_lossy(), &format!("+{kept}:{kept}"))
}

/// How long a push may take.
const PUSH_LIMIT: Duration = Duration::from_secs(600);

/// Pushes a commit to a branch, with the person's own hooks. `replaces` is the commit there that may be overwritten, and
/// `then` what to do if it is refused.
pub fn push(own: &Own, remote: &Remote, (sha, branch): (&str, &str), replaces: Option<&str>, then: &str) -> Result<()> {
    let git = own.git.typed(&common_dir(&own.source), &own.source, false)?;
    let refspec = format!("{sha}:refs/heads/{branch}");
    let cmd = git.shown(&own.source).args(["push", "--no-follow-tags", "--recurse-submodules=no", "--porcelain"]);
    let cmd = cmd.args(replaces.map(|old| format!("--force-with-lease=refs/heads/{branch}:{old}")));
    let cmd = without_prompts(&own.git, &own.source, cmd)?.within(PUSH_LIMIT);
    let output = cmd.args(["--", &remote.name, &refspec]).capture()?;
    if output.status.success() {
        return Ok(());
    }
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8_lossy(&said)
        .lines()
        .map(|line| format!("  {}", printable(line.trim_end())))
        .collect::<Vec<_>>();
    Err(FORGE.failure(format!("the push to {} was refused", printable(&remote.name))).details(said).hint(then))
}

/// The request of a worker that was merged, if it has one that was not taken in yet. The forge is asked, where a request is
/// known; `is_only` if nothing else is wanted. Exit 1 if what was merged is not the worker's work, cannot be fetched or went
/// elsewhere, and 3 if nobody can be asked about a request that was not made from here.
pub fn merged(
    ctx: &Context<'_>,
    worker: &Worker,
    (is_only, is_agreed): (bool, bool),
) -> Result<Option<(Forge, Request)>> {
    let known = Requests::last(&ctx.root.path);
    let is_known = known.of(&worker.branch).is_some() || worker.pushed.is_some();
    let Some(sha) = worker.work.commit_sha.as_deref().filter(|_| is_known && !ctx.is_dry) else { return Ok(None) };
    let own = Own::of(ctx)?;
    let Some((forge, asked)) = ask(ctx, &own, worker, is_only)? else { return Ok(None) };
    let request = asked.of(&worker.branch).filter(|request| request.state == "merged");
    let Some(request) = request.cloned() else { return Ok(None) };
    if request.oid != sha && worker.has_request() {
        bring(ctx, &own, &worker.name, sha)?;
        // Else its work could land a second time. What was pushed from here is here.
        if !own.knows(&request.oid) {
            forge.fetch(&own.git, &own.source, request.number)?;
        }
        // For a while the request's ref there can have an earlier commit.
        if !own.knows(&request.oid) {
            let why = format!(
                "request {} of {} was merged, and its last commit cannot be fetched yet",
                request.number, worker.name
            );
            return Err(FORGE.failure(why).hint("run the same command again in a moment"));
        }
    }
    let (name, number, place) = (&worker.name, request.number, forge.place.to_string());
    let is_beyond = !own.has(&request.oid, sha)?;
    // One of earlier work, on a branch of the same name.
    if is_landed(worker, &request.oid) || is_beyond && !(worker.has_request() && worker.is_pushed(Some(&request.oid))) {
        return Ok(None);
    }
    if is_beyond {
        return Err(failure::UNMERGED
            .failure(format!("{name} has commits beyond those that request {number} has merged"))
            .details(own.beyond(sha, [&request.oid])?)
            .hint(format!("make another request for them: `worker-ctl request {name}`")));
    }
    let is_elsewhere = request.base != ctx.repo.branch;
    if is_elsewhere && !is_only && worker.pushed.is_none() {
        return Ok(None);
    }
    if is_elsewhere {
        let (base, target) = (printable(&request.base), &ctx.repo.branch);
        return Err(FORGE
            .failure(format!("request {number} of {name} was merged into {base}, and its work is to land on {target}"))
            .hint(format!(
                "if that is right, forget the worker: `worker-ctl nuke {name} --force`, which keeps its commits"
            )));
    }
    // An agent can lead a remote elsewhere.
    if worker.pushed.as_ref().is_none_or(|pushed| !pushed.place.eq_ignore_ascii_case(&place)) {
        let question = format!(
            "Request {number} of {place}, where the remote {} leads, was merged, and was not made from here. Take in {} as \
             it is there?",
            printable(&forge.remote),
            ctx.repo.branch
        );
        let undone = format!("nothing of {name} was taken in: {place} is not known to have its request");
        require_person(ctx, is_agreed, &question, &undone)?;
    }
    Ok(Some((forge, request)))
}

/// What the forge says of a worker's branch. None, with a warning, if it cannot be asked, and something else is wanted, too.
fn ask(ctx: &Context<'_>, own: &Own, worker: &Worker, is_only: bool) -> Result<Option<(Forge, Requests)>> {
    let asked = own.forge(ctx).and_then(|forge| {
        let asked = Requests::ask_now(&ctx.root.path, &forge, &own.named_one(&worker.branch)?)?;
        Ok((forge, own.without_former(asked, [worker])?.keep(&ctx.root.path)?))
    });
    match asked {
        Ok(asked) => Ok(Some(asked)),
        Err(failure) if is_only => Err(failure),
        Err(failure) => {
            ctx.ui.warn(format!("whether the request of {} was merged is not known: {failure}", worker.name));
            Ok(None)
        }
    }
}

/// Takes in what was merged on the forge: brings the branch that the work lands on up to date by the rules of an accept, and
/// makes the worker idle. The caller holds the worker's lock. Returns the commit of that branch that has the work.
pub fn take_in(ctx: &Context<'_>, name: &str, forge: &Forge) -> Result<String> {
    let worker = ctx.worker(name)?;
    while_parent_rests(ctx, &worker, false, || take_in_locked(ctx, &worker, forge))
}

fn take_in_locked(ctx: &Context<'_>, worker: &Worker, forge: &Forge) -> Result<String> {
    let (own, name) = (Own::of(ctx)?, &worker.name);
    let sha = require_review(worker)?;
    require_lasting_objects(&common_dir(&own.source))?;
    let _publishing = ctx.lock_root(RootLock::Publish)?;
    publish::require_put_back(ctx, &publish::list_journals(&ctx.root.path)?)?;
    let (branch, kept) = (&ctx.repo.branch, format!("refs/shopfloor/merged/{name}"));
    forge::fetch(&own.git, &own.source, &forge.url, &format!("+refs/heads/{branch}:{kept}"))?;
    let none = |at: &str| Failure::failed(format!("there is no branch {branch} in {at}")).hint("bring it back");
    let old = ctx.repo.commit(&own.source, &format!("refs/heads/{branch}"))?;
    let old = old.ok_or_else(|| none(&own.source.to_string_lossy()))?;
    // As the remote says, and not as the ref: an agent can write that.
    let new = own.heads(&forge.url)?.remove(branch).ok_or_else(|| none(&forge.remote))?;
    if ctx.repo.is_own && !own.has(&old, &new)? {
        ctx.repo.with_hashed_objects(&old, &new)?;
    }
    let moved = match own.has(&old, &new)? {
        true => Ok(true),
        false if own.has(&new, &old)? => publish::advance(ctx.ui, &ctx.repo, &own.source, &old, &new),
        false => Err(failure::NOT_PUBLISHED
            .failure(format!("{branch} here has commits that {} lacks, so it stays", printable(&forge.remote)))
            .hint(format!(
                "bring them together: `git pull {} {}`",
                shell_word(forge.remote.as_ref()),
                shell_word(branch.as_ref())
            ))),
    };
    let moved = moved.and_then(|is_moved| match is_moved {
        true => Ok(()),
        false => Err(failure::MOVED.failure(format!("{branch} moved meanwhile")).hint("run the same command again")),
    });
    match moved {
        // The worktree of a worker in the clone goes on from that branch.
        Err(failure) if !ctx.repo.is_own => return Err(failure),
        Err(failure) => {
            let pull = format!("git pull {} {}", shell_word(forge.remote.as_ref()), shell_word(branch.as_ref()));
            ctx.ui.warn(format!("{branch} stays where it is: {failure}; bring it up to date yourself: `{pull}`"));
            // Here only the worker's branch has its commits then.
            if own.has(&new, sha)? {
                land::keep_original(ctx, name, sha)?;
            }
        }
        Ok(()) => land_on_parent::landed(ctx, worker, (&old, &new))?,
    }
    // Once the task is closed, nobody comes back for it.
    own.git.cmd(&own.source).args(["update-ref", "--no-deref", "-d", &kept]).capture()?;
    land::close_task(ctx, name, sha, &new)?;
    Ok(new)
}
