//! Pushes to a remote of the person's repository what they were shown, and takes in what was merged there. Nothing else of
//! ours pushes.

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::forge::{FORGE, Forge, Request};
use shopfloor_core::git::require_plain_ref;
use shopfloor_core::text::{printable, shell_word};

use crate::apply::{land, publish};
use crate::context::Context;
use crate::facts::request::{Own, Remote};
use crate::failure;
use crate::layout::RootLock;
use crate::plan::accept::require_review;
use crate::requests::Requests;
use crate::work_repo::common_dir;
use crate::worker::Worker;

/// Brings a commit of the clone into the person's repository, under a ref that is returned.
pub fn bring(ctx: &Context<'_>, own: &Own, name: &str, sha: &str) -> Result<()> {
    if ctx.repo.is_own {
        return Ok(());
    }
    let kept = format!("refs/shopfloor/request/{name}");
    ctx.repo.update_ref(&[&kept, sha])?;
    shopfloor_core::forge::fetch(&own.git, &own.source, &ctx.repo.top.to_string_lossy(), &format!("+{kept}:{kept}"))
}

/// Pushes a commit to a branch, with the person's own hooks. `replaces` is the commit there that may be overwritten, and
/// `then` what to do if it is refused.
pub fn push(own: &Own, remote: &Remote, (sha, branch): (&str, &str), replaces: Option<&str>, then: &str) -> Result<()> {
    let git = own.git.typed(&common_dir(&own.source), &own.source, false)?;
    let refspec = format!("{sha}:refs/heads/{branch}");
    let cmd = git.shown(&own.source).args(["push", "--no-follow-tags", "--recurse-submodules=no", "--porcelain"]);
    let cmd = cmd.args(replaces.map(|old| format!("--force-with-lease=refs/heads/{branch}:{old}")));
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
/// known. Exit 1 if what was merged is not the worker's work, or went elsewhere, and 3 if nobody can be asked about a request
/// that was not made from here.
pub fn merged(ctx: &Context<'_>, worker: &Worker, is_agreed: bool) -> Result<Option<(Forge, Request)>> {
    let known = Requests::last(&ctx.root.path);
    let is_known = known.of(&worker.branch).is_some() || worker.pushed.is_some();
    let Some(sha) = worker.work.commit_sha.as_deref().filter(|_| is_known && !ctx.is_dry) else { return Ok(None) };
    let own = Own::of(ctx)?;
    let asked = own.forge(ctx).and_then(|forge| {
        let asked = Requests::ask_now(&ctx.root.path, &forge, &own.named(&worker.branch)?)?;
        Ok((forge, asked.keep(&ctx.root.path)?))
    });
    let (forge, asked) = match asked {
        Ok(asked) => asked,
        Err(failure) => {
            ctx.ui.warn(format!("whether the request of {} was merged is not known: {failure}", worker.name));
            return Ok(None);
        }
    };
    let request = asked.of(&worker.branch).filter(|request| request.state == "merged");
    let Some(request) = request.cloned() else { return Ok(None) };
    if request.oid != sha && worker.pushed.is_some() {
        forge.fetch(&own.git, &own.source, request.number)?;
        bring(ctx, &own, &worker.name, sha)?;
    }
    let (name, number, place) = (&worker.name, request.number, forge.place.to_string());
    let is_beyond = !own.has(&request.oid, sha)?;
    let landed = worker.adopted.as_ref().and_then(|adopted| adopted.landed.as_ref()).map(|landed| &landed.tip);
    // One of earlier work, on a branch of the same name.
    if landed == Some(&request.oid) || is_beyond && !worker.is_pushed(Some(&request.oid)) {
        return Ok(None);
    }
    if is_beyond {
        return Err(failure::UNMERGED
            .failure(format!("{name} has commits beyond those that request {number} has merged"))
            .details(own.beyond(sha, &request.oid)?)
            .hint(format!("make another request for them: `worker-ctl request {name}`")));
    }
    if request.base != ctx.repo.branch {
        let (base, target) = (printable(&request.base), &ctx.repo.branch);
        return Err(failure::WRONG_STATE
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
        ctx.ui.require_yes(is_agreed, &question, format!("{name} stays: {place} is not known to have its request"))?;
    }
    Ok(Some((forge, request)))
}

/// Takes in what was merged on the forge: brings the branch that the work lands on up to date by the rules of an accept, and
/// makes the worker idle. The caller holds the worker's lock. Returns the commit of that branch that has the work.
pub fn take_in(ctx: &Context<'_>, name: &str, forge: &Forge) -> Result<String> {
    let (own, worker) = (Own::of(ctx)?, ctx.worker(name)?);
    let sha = require_review(&worker)?;
    let _publishing = ctx.lock_root(RootLock::Publish)?;
    let (branch, kept) = (&ctx.repo.branch, format!("refs/shopfloor/merged/{name}"));
    require_plain_ref(&common_dir(&own.source), &kept)?;
    forge.fetch_into(&own.git, &own.source, &format!("+refs/heads/{branch}:{kept}"))?;
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
        false if own.has(&new, &old)? => publish::advance(&ctx.repo, &own.source, &old, &new),
        false => Err(failure::NOT_PUBLISHED
            .failure(format!("{branch} here has commits that {} lacks, so it stays", printable(&forge.remote)))
            .hint(format!("bring them together: `git pull {} {branch}`", shell_word(forge.remote.as_ref())))),
    };
    let moved = moved.and_then(|is_moved| match is_moved {
        true => Ok(()),
        false => Err(failure::MOVED.failure(format!("{branch} moved meanwhile")).hint("run the same command again")),
    });
    match moved {
        // The worktree of a worker in the clone goes on from that branch.
        Err(failure) if !ctx.repo.is_own => return Err(failure),
        Err(failure) => ctx.ui.warn(format!("{branch} stays where it is: {failure}")),
        Ok(()) => {}
    }
    land::close_task(ctx, name, sha, &new)?;
    own.git.cmd(&own.source).args(["update-ref", "--no-deref", "-d", &kept]).capture()?;
    Ok(new)
}
