//! Publishes work to the source's default branch by compare-and-swap, as one commit or as a copy of each. Nothing that
//! belongs to a person is ever checked out, reset or stashed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Root};
use shopfloor_core::git::{
    Git, ListedWorktree, answer, bare_by_mistake, failed, private_dir, ref_failure, require_plain_ref, when_unlocked,
};
use shopfloor_core::proc::{self, Cmd, Output, Status};
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::ui::Ui;

use crate::apply::checkout_update::ChangedFiles;
use crate::context::Context;
use crate::facts::work_summary::{Authored, authored, commits};
use crate::facts::worker_state::unfinished;
use crate::failure;
use crate::hosts;
use crate::layout;
use crate::plan::accept::Accept;
use crate::root::require_source;
use crate::store;
use crate::work_repo::{WorkRepo, common_dir};
use crate::worker::Worker;

/// The record of an accept that is under way. After a kill, the accept is finished if the source has `new`, else
/// undone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Journal {
    pub v: u64,
    pub worker: String,
    pub old: String,
    pub new: String,
    /// The worker's commit that lands as `new`.
    pub work: String,
}

fn pin(worker: &str) -> String {
    format!("refs/shopfloor/accept/{}", hosts::ref_name(worker))
}

/// Creates the commit that lands, with the author, date and message of the work. Lines that the agent signs with are
/// removed from the message.
pub fn commit(ctx: &Context<'_>, worker: &Worker, plan: &Accept, tree: &str, message: Option<&str>) -> Result<String> {
    let (repo, Accept { base, sha, .. }) = (&ctx.repo, plan);
    let Authored { author, message: own } = authored(ctx, worker, base, sha)?;
    let text = message.unwrap_or(&own);
    commit_tree(repo, (tree, base), &author, &format!("{text}\n"))
}

/// Creates a commit with this tree on top of another one. `author` has a name, an address and a date.
fn commit_tree(repo: &WorkRepo, (tree, parent): (&str, &str), author: &[String], message: &str) -> Result<String> {
    let variables = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"].into_iter().zip(author);
    let cmd = repo.git.cmd(&repo.top).vars(variables);
    // The message is in UTF-8, whatever the encoding of a person's commits is.
    let args = ["-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree, "-p", parent, "-F", "-"];
    answer("commit-tree", &cmd.args(args).input(message.into()).capture()?)
}

/// Copies the work's commits to the top of the branch that they land on, for a branch that others have too and that nobody
/// here rebases. Touches no checkout, and returns the last one. Exit 1 if one of the commits conflicts, or if
/// together they are something else than `tree`, which the merge of the work gives.
pub fn copies(ctx: &Context<'_>, plan: &Accept, tree: &str) -> Result<String> {
    let (repo, Accept { name, base, sha, .. }) = (&ctx.repo, plan);
    let refuse = |why: String| {
        Err(failure::CONFLICT.failure(why).hint(format!("land one commit: `worker-ctl accept {name} --land squash`")))
    };
    let mut last = base.clone();
    for [id, author @ .., message] in &commits(repo, &repo.range(&repo.begin(sha)?, sha))? {
        let merged = repo.merge_tree(&last, Some(&format!("{id}^")), id, &[])?;
        let merged_tree = merged.text().lines().next().unwrap_or_default().to_owned();
        match merged.status.code() {
            // The branch has this one already.
            0 if merged_tree == repo.tree_of(&last)? => continue,
            0 => {}
            1 => {
                let short = id.get(..12).unwrap_or(id);
                return refuse(format!("the commit {short} of {name} conflicts with {}", repo.branch));
            }
            _ => return Err(failed("merge-tree", &merged)),
        }
        last = commit_tree(repo, (&merged_tree, &last), author, message)?;
    }
    match repo.tree_of(&last)? == tree {
        true => Ok(last),
        false => {
            refuse(format!("the commits of {name}, one by one, are something else on {} than together", repo.branch))
        }
    }
}

/// Writes the journal and pins the commit, so that the accept can be finished after a kill.
pub fn write_journal(repo: &WorkRepo, plan: &Accept, new: &str) -> Result<()> {
    let Accept { name, sha, base, .. } = plan.clone();
    repo.update_ref(&[&pin(&name), new])?;
    let path = layout::journal(&repo.root, &name);
    let journal = Journal { v: 1, worker: name, old: base, new: new.to_owned(), work: sha };
    let text = serde_json::to_string(&journal).map_err(|e| Failure::failed("cannot write a journal").because(e))?;
    fs::create_private_dir(&layout::journals(&repo.root))?;
    fs::replace(&path, format!("{text}\n").as_bytes(), Some(fs::PRIVATE))
}

/// Publishes `new` on top of the planned base. Returns `false` when the branch has moved, so that the accept must be
/// planned again. Exit 1 when a person's changes are in the way. Both leave everything as it was.
pub fn publish(ui: &Ui, repo: &WorkRepo, source: &Path, plan: &Accept, new: &str) -> Result<bool> {
    require_plain_refs(repo, source, &plan.name)?;
    write_journal(repo, plan, new)?;
    let name = pin(&plan.name);
    let refspec = format!("+{name}:{name}");
    let root = repo.top.to_string_lossy().into_owned();
    let options = ["--quiet", "--no-write-fetch-head", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"];
    let fetched = match repo.is_own {
        true => Ok(String::new()),
        false => {
            let fetch = repo.git_in_source(source, source, false)?.fetching(source).arg("fetch");
            // The clone's own configuration may include a pipe.
            answer("fetch", &fetch.args(options).args([&root, &refspec]).within(FETCH_LIMIT).capture()?)
                .map_err(|failure| ref_failure(&common_dir(source), &name, failure))
        }
    };
    let checked = fetched.and_then(|_| match repo.is_own {
        true => require_reviewed(&repo.with_hashed_objects(&plan.base, new)?.0, source, plan, new),
        false => require_reviewed(repo, source, plan, new),
    });
    let published = checked.and_then(|()| advance(ui, repo, source, &plan.base, new));
    // If this fails, the ref only keeps a commit alive.
    repo.run(source, &["update-ref", "--no-deref", "-d", &name])?;
    let is_left = |failure: &Failure| failure::NOT_PUT_BACK.is_kind_of(failure);
    let published = published.map_err(put_back_later);
    // What could not be put back yet is put back by a later command.
    if !matches!(published, Ok(true)) && !published.as_ref().is_err_and(is_left) {
        drop_journal(repo, &plan.name)?;
    }
    published
}

/// Fails with the kind `tampered` if git would write what an accept writes in the source, or a log of that, elsewhere.
fn require_plain_refs(repo: &WorkRepo, source: &Path, worker: &str) -> Result<()> {
    let common = common_dir(source);
    ["HEAD", &pin(worker)].iter().try_for_each(|name| require_plain_ref(&common, name))?;
    require_plain_ref(&common, &format!("refs/heads/{}", repo.branch)).map_err(|failure| match repo.is_own {
        true => {
            failure.hint("or let work land on another branch: `worker-ctl add --worktree WORKTREE --target BRANCH`")
        }
        false => failure.hint("or set `branch` in `[repo]` of config.toml to the branch that work goes to"),
    })
}

/// Exit 1 unless what lands is what was reviewed, also by the source's own objects: the clone's may be forged.
fn require_reviewed(repo: &WorkRepo, source: &Path, plan: &Accept, new: &str) -> Result<()> {
    let Accept { name, base, sha, patch, .. } = plan;
    if patch.is_none() || *patch == Some(repo.landed_digest(base, new, sha)?) {
        return Ok(());
    }
    let why = format!(
        "what would land is not what was reviewed: {} has changed around {name}'s work, or its objects were \
         tampered with",
        repo.branch
    );
    let see = format!("see it: `git -C {} diff {base} {new}`", shell_word(source));
    Err(failure::CHANGED.failure(why).hint(format!(
        "{see}; then `worker-ctl rebase {name}`, which keeps the review of the same work, or use `--force`"
    )))
}

/// The worktree of the source that has the default branch checked out, if any, and whether it is a linked one.
fn find_checkout(repo: &WorkRepo, source: &Path, branch: &str) -> Result<Option<(PathBuf, bool)>> {
    let refuse = |why: String, hint: &str| Err(failure::NOT_PUBLISHED.failure(why).hint(hint));
    let mut checkout: Option<(PathBuf, bool)> = None;
    let listed = repo.git.list_worktrees(source)?;
    for (n, ListedWorktree { path: at, branch: on, is_locked, .. }) in listed.into_iter().enumerate() {
        if private_dir(&at).is_some_and(|dir| holds_branch(&dir, repo, branch)) {
            let why = format!("{} is being rebased or bisected at {}", repo.branch, at.display());
            return refuse(why, "finish the rebase or bisection, then run the same command again");
        }
        // Its next commit would take back what lands now.
        if is_locked && on.as_ref() == Some(&repo.branch) && private_dir(&at).is_none() {
            let why = format!("{} is checked out at {}, which cannot be reached", repo.branch, at.display());
            let give_up = format!("`git worktree unlock {}` and `git worktree prune`", shell_word(&at));
            return refuse(why, &format!("bring that worktree back, or give it up, in the source: {give_up}"));
        }
        // Any other record can say that it has the branch, also one without a worktree.
        if on.as_ref() == Some(&repo.branch)
            && (n == 0 || private_dir(&at).is_some())
            && let Some((other, _)) = checkout.replace((at.clone(), n > 0))
        {
            let why = format!("{} is checked out at {} and at {}", repo.branch, other.display(), at.display());
            return refuse(why, "keep it checked out in one worktree only");
        }
    }
    let Some((at, is_linked)) = checkout else { return refuse_hidden(repo, source).map(|()| None) };
    let is_there = |at: &Path| -> Result<bool> {
        let cmd = repo.git_in_source(source, at, is_linked).map(|git| git.cmd_alone(at));
        Ok(private_dir(at).is_some()
            && cmd?.args(["symbolic-ref", "--quiet", "HEAD"]).capture()?.stdout.trim_ascii_end() == branch.as_bytes())
    };
    if is_there(&at)? {
        return Ok(Some((at, is_linked)));
    }
    // With a separate git directory, git lists that directory instead of the checkout.
    if is_linked || !is_there(source)? {
        let why = format!("{} is checked out at {}, which cannot be reached", repo.branch, at.display());
        return refuse(why, "restore that worktree, or run `git worktree prune` in the source");
    }
    Ok(Some((source.to_owned(), false)))
}

/// Exit 2 if the source has a checkout that git takes for none: it would stay behind, and its next commit would take back
/// what lands.
fn refuse_hidden(repo: &WorkRepo, source: &Path) -> Result<()> {
    let common = common_dir(source);
    let index = common.join("index");
    // A bare repository may have an index for a directory that its hooks fill.
    let is_hidden = source != common && index.exists() && is_bare(repo, source)?;
    let hidden = bare_by_mistake(&common).or_else(|| {
        let why = format!("{} has a checkout, but core.bare is true for it", source.display());
        let config = shell_word(&common.join("config"));
        let cure = format!("if that is a mistake: `git config --file {config} core.bare false`");
        is_hidden.then(|| Failure::malformed(why).hint(cure))
    });
    let no_more = format!("if there is no checkout any more: `rm {}`", shell_word(&index));
    hidden.map_or(Ok(()), |failure| Err(failure.hint(no_more)))
}

fn is_bare(repo: &WorkRepo, source: &Path) -> Result<bool> {
    let says = repo.git.config(&common_dir(source), "core.bare", Some("--type=bool"))?;
    Ok(says.is_some_and(|says| says == "true"))
}

/// Whether a rebase or bisection of this branch is under way in a worktree.
fn holds_branch(git_dir: &Path, repo: &WorkRepo, branch: &str) -> bool {
    let read = |file: &str| {
        let text = fs::read(&git_dir.join(file)).ok().flatten().unwrap_or_default();
        String::from_utf8_lossy(&text).trim().to_owned()
    };
    ["rebase-merge/head-name", "rebase-apply/head-name"].iter().any(|file| read(file) == branch)
        || read("BISECT_START") == repo.branch
}

/// How long a fetch of a few commits on one machine may take.
const FETCH_LIMIT: Duration = Duration::from_secs(120);

/// Exit 1: the changes of a person in these files are in the way, or what git said. `is_new` is of files that come, which git
/// may ignore, so that it neither commits nor stashes those that are there.
fn in_the_way(at: &Path, git_said: &str, files: &[String], is_new: bool) -> Failure {
    let way_out = if is_new { "move those files away" } else { "commit or stash those changes" };
    let failure = failure::NOT_PUBLISHED
        .failure(format!("{} has changes in the way", at.display()))
        .hint(format!("{way_out}, then run the same command again"));
    match files {
        [] => failure.because(std::io::Error::other(git_said.to_owned())),
        _ => failure.details(files.iter().map(|path| format!("  {}", printable(path)))),
    }
}

/// Exit 1 during what could not be finished or given up any more once the branch has moved, whether git sees that or not.
fn require_concluded(at: &Path) -> Result<()> {
    let Some(command) = unfinished(at) else { return Ok(()) };
    Err(failure::NOT_PUBLISHED.failure(format!("`git {command}` is under way in {}", at.display())).hint(format!(
        "finish it, or give it up: `git -C {} {command} --abort`; then run the same command again",
        shell_word(at)
    )))
}

/// Moves the source's branch from `old` to `new`. Returns `false` if it is at another commit.
pub fn advance(ui: &Ui, repo: &WorkRepo, source: &Path, old: &str, new: &str) -> Result<bool> {
    let branch = format!("refs/heads/{}", repo.branch);
    let now = || repo.commit(source, &branch);
    if now()?.as_deref() != Some(old) {
        return Ok(false);
    }
    let (output, checkout) = match find_checkout(repo, source, &branch)? {
        // git refuses when a changed file is in the way, and leaves all other changes alone.
        Some((at, is_linked)) => {
            require_concluded(&at)?;
            let git = repo.git_in_source(source, &at, is_linked)?;
            let files = ChangedFiles::between(&git, &at, old, new)?;
            let root = Root::open(&at)?;
            let changed = files.changed(&git, &root)?;
            if !changed.is_empty() {
                let mut changed: Vec<String> =
                    changed.iter().map(|path| String::from_utf8_lossy(path).into()).collect();
                changed.sort_unstable();
                return Err(in_the_way(&at, "", &changed, false));
            }
            files.require_nothing_lost(&at, failure::NOT_PUBLISHED, false)?;
            let cmd = typed(repo, source, (&git, &at, is_linked))?;
            let step = cmd.clone().args(["-c", "core.sparseCheckout=false", "read-tree", "-n", "-m", "-u", old, new]);
            let (checkout, present) = (cmd.clone(), files.present(&root)?);
            // Patterns that an agent wrote would take away files that the step leaves alone.
            let merge = cmd.args(["-c", "core.sparseCheckout=false", "merge", "--quiet"]).args(ONLY_FORWARD).arg(new);
            // Ctrl-C must not leave half of it.
            let _deferred = proc::defer_signals();
            let merged = when_unlocked(&merge, &at);
            if !merged.as_ref().is_ok_and(|output| output.status.success()) {
                proc::tidy_up(|| match now()?.as_deref() == Some(old) {
                    true => files.put_back(&git, (&at, &root), &present, (checkout, old)),
                    false => Ok(()),
                })
                .map_err(|failure| not_put_back(&at, failure))?;
            }
            // What nobody has committed is there where a file comes.
            (merged?, Some((at, files.displaced(&present), step)))
        }
        None => {
            let args = ["update-ref", "--no-deref", "-m", "worker-ctl: accept", &branch, new, old];
            (repo.cmd_in_source(source, source, false)?.args(args).capture()?, None)
        }
    };
    // A hook of the source may have moved the branch further.
    let now = now()?;
    let has_it = now.as_deref() == Some(new)
        || now.is_some() && repo.run(source, &["merge-base", "--is-ancestor", new, &branch])?.status.success();
    match checkout {
        _ if has_it => {
            // A file that git cannot delete stays, and git goes on.
            let said = String::from_utf8_lossy(&output.stderr);
            let warnings = said.lines().filter_map(|line| line.strip_prefix("warning: "));
            warnings.for_each(|line| ui.warn(format!("in the checkout of {}: {line}", repo.branch)));
            Ok(true)
        }
        _ if now.as_deref() != Some(old) => Ok(false),
        Some((at, found, step)) => Err(not_merged(&at, &output, &found, step)?),
        None => Err(failed("update-ref", &output)),
    }
}

/// Why git did not go this step in a checkout, where the files `found` are in the place of files that come.
fn not_merged(at: &Path, output: &Output, found: &[String], step: Cmd) -> Result<Failure> {
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let hint = "nothing has changed; mend the cause, then run the same command again";
    // The lock that it leaves is in the way of the step, too.
    if matches!(output.status, Status::Signalled(_)) {
        let dir = private_dir(at).unwrap_or_else(|| common_dir(at));
        let locks = format!("if it left locks as `index.lock` in {}, remove them", dir.display());
        return Ok(failed("merge", output).hint(hint).hint(locks));
    }
    // A filter that must work, as those of git-lfs and git-crypt, stops git half way.
    if said.contains("filter") && said.contains("failed") {
        let why = format!("a filter cannot write the files of {}", at.display());
        let hint = "make the filter work there, as its message says, then run the same command again";
        return Ok(failure::NOT_PUBLISHED.failure(why).because(std::io::Error::other(said)).hint(hint));
    }
    // git could go that step, so it is something else that fails.
    if found.is_empty() && step.capture()?.status.success() {
        return Ok(failed("merge", output).hint(hint));
    }
    Ok(in_the_way(at, &said, found, !found.is_empty()))
}

/// git as its person types it in a checkout, but for one that may be an agent's: usual hooks run files of the checkout.
fn typed(repo: &WorkRepo, source: &Path, (git, at, is_linked): (&Git, &Path, bool)) -> Result<Cmd> {
    match is_linked && may_be_agents(repo, source, at)? {
        true => Ok(git.cmd_alone(at)),
        false => repo.cmd_in_source(source, at, is_linked),
    }
}

/// Whatever the cause is, what there is of a journal stays.
fn not_put_back(at: &Path, failure: Failure) -> Failure {
    if failure::NOT_PUT_BACK.is_kind_of(&failure) {
        return failure;
    }
    let why = format!("files in {} are not put back yet: {failure}", at.display());
    failure.hints.iter().fold(failure::NOT_PUT_BACK.with(failure.exit, why), |told, hint| told.hint(hint))
}

/// The same where there is a journal.
fn put_back_later(failure: Failure) -> Failure {
    match failure::NOT_PUT_BACK.is_kind_of(&failure) && !failure.hints.iter().any(|hint| hint.contains("patrol")) {
        true => failure.hint("mend the cause; then `worker-ctl patrol` puts them back"),
        false => failure,
    }
}

/// Fails while what the killed accepts of these workers have written in a checkout is not put back. Who lands then, or
/// forgets one of them, would leave it there for good.
pub fn require_put_back(ctx: &Context<'_>, workers: &[String]) -> Result<()> {
    let (state, source) = (ctx.state()?, ctx.source());
    for name in workers {
        // The work of a host lands on the default branch.
        let repo = match state.workers.get(name) {
            Some(worker) => ctx.of(worker)?.repo,
            None => ctx.clone.clone(),
        };
        find_landed(&repo, &source, name)?;
    }
    Ok(())
}

/// Puts back what the merge of a killed accept has written before it moved the branch.
fn put_back_killed(repo: &WorkRepo, source: &Path, journal: &Journal) -> Result<()> {
    let Journal { old, new, .. } = journal;
    let branch = format!("refs/heads/{}", repo.branch);
    if repo.commit(source, &branch)?.as_ref() != Some(old) || repo.commit(source, new)?.is_none() {
        return Ok(());
    }
    let Some((at, is_linked)) = find_checkout(repo, source, &branch)? else { return Ok(()) };
    let git = repo.git_in_source(source, &at, is_linked)?;
    let (root, files) = (Root::open(&at)?, ChangedFiles::between(&git, &at, old, new)?);
    // That git may have gone on meanwhile, and then the index is its or a person's.
    let staged = ["diff-index", "--cached", "--quiet", "--ignore-submodules", old];
    if !git.cmd_alone(&at).args(staged).capture()?.status.success() {
        return Ok(());
    }
    // With a new file in its way git would have written nothing.
    let present = files.before.keys().cloned().collect();
    let checkout = typed(repo, source, (&git, &at, is_linked))?;
    let put_back = files.put_back(&git, (&at, &root), &present, (checkout, old));
    put_back.map_err(|failure| put_back_later(not_put_back(&at, failure)))
}

/// Options for a merge that only moves a branch forward.
const ONLY_FORWARD: [&str; 7] = [
    "--no-overwrite-ignore",
    "--ff-only",
    "--no-squash",
    "--commit",
    "--no-autostash",
    "--no-verify-signatures",
    "--no-verify",
];

/// Whether an agent may have written the files of a linked worktree. Where there is a main checkout, every linked one may
/// be an agent's; a bare repository has linked ones only.
fn may_be_agents(repo: &WorkRepo, source: &Path, at: &Path) -> Result<bool> {
    let is_its = |worker: &Worker| worker.tree() == at;
    let is_spawned = private_dir(at).is_some_and(|dir| dir.join("shopfloor/worktree-spawn").is_dir());
    Ok(!is_bare(repo, source)? || is_spawned || store::load(&repo.root)?.workers.values().any(is_its))
}

/// Deletes the journal and the pin of an accept.
pub fn drop_journal(repo: &WorkRepo, worker: &str) -> Result<()> {
    repo.update_ref(&["-d", &pin(worker)])?;
    // The journal goes last, because as long as it exists the rest is repeated.
    fs::remove(&layout::journal(&repo.root, worker))
}

/// The workers that have a journal, whose accept is under way or was killed.
pub fn list_journals(root: &Path) -> Result<Vec<String>> {
    let names = fs::list(&layout::journals(root))?;
    Ok(names.iter().filter_map(|name| name.to_str()?.strip_suffix(".json").map(str::to_owned)).collect())
}

fn read_journal(root: &Path, worker: &str) -> Result<Option<Journal>> {
    let path = layout::journal(root, worker);
    let Some(bytes) = fs::read_no_follow(&path)? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(|e| {
        Failure::failed(format!("{} cannot be read", path.display()))
            .because(e)
            .hint("move it away, and see in the source's log whether the work was accepted")
    })
}

/// Reads the journal of an accept that was killed. If the source has the commit, returns it, so that the caller can finish
/// the accept. Otherwise drops the journal.
pub fn find_landed(repo: &WorkRepo, source: &Path, worker: &str) -> Result<Option<Journal>> {
    let Some(journal) = read_journal(&repo.root, worker)? else { return Ok(None) };
    let branch = format!("refs/heads/{}", repo.branch);
    require_source(&repo.root, source)?;
    require_plain_refs(repo, source, worker)?;
    put_back_killed(repo, source, &journal)?;
    repo.run(source, &["update-ref", "--no-deref", "-d", &pin(worker)])?;
    let has_it = repo.commit(source, &journal.new)?.is_some()
        && repo.run(source, &["merge-base", "--is-ancestor", &journal.new, &branch])?.status.success();
    if !has_it {
        drop_journal(repo, worker)?;
    }
    Ok(has_it.then_some(journal))
}
