//! `deinit`: removes a root whose workers have nothing to do and nothing to lose.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, answer, require_plain_ref};
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::text::{printable, shell_word};

use crate::apply::land::ACCEPTED;
use crate::apply::trash::{self, TRASH};
use crate::apply::{check, landing_lfs, removal};
use crate::commands::init::config;
use crate::commands::{self, about_root};
use crate::context::Context;
use crate::facts::losses::only_logged;
use crate::failure;
use crate::layout::{self, RootLock};
use crate::root::{list_root, read_record, record_file};
use crate::store;
use crate::up_lock;
use crate::work_repo::common_dir;
use crate::worker::{Activity, Task, Worker};

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
}

/// What `init` and the other commands put into a root. Anything else is somebody's.
const OURS: &str = ".git .worktrees accept agents clashes.json comments config.toml git hooks hosts locks logs owner.json prompts requests.json state.json \
    state.json.next tmp tmux.conf tmux.sock trash";

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let root = &ctx.root.path;
    let git_dir = source_git_dir(ctx)?;
    if !ctx.is_dry {
        commands::recover(ctx)?;
    }
    let workers: Vec<Worker> = store::load(root)?.workers.into_values().collect();
    workers.iter().try_for_each(|worker| refuse_busy(ctx, worker))?;
    refuse_queue(ctx)?;
    if let Some(host) = ctx.root.config.hosts.keys().next() {
        return Err(refusal(ctx, "it has hosts").hint(format!("forget them first: `worker-ctl host remove {host}`")));
    }
    refuse_loss(ctx, &workers)?;
    if ctx.is_dry {
        let would = workers.iter().map(|worker| format!("remove {}", worker.name));
        let would: Vec<String> = would.chain([format!("remove {}", root.display())]).collect();
        return Ok(ctx.ui.would(&about_root(root), &would));
    }
    let question = format!("Remove {} with its workers and logs?", root.display());
    ctx.ui.require_yes(args.yes, &question, "nothing was removed")?;
    // It ends the sessions of workers that have nothing to do.
    up_lock::end(root, false)?;
    let _daemon = Lock::try_take(&layout::lock(root, RootLock::Daemon))?.ok_or_else(|| {
        refusal(ctx, "`worker-ctl up` runs").hint("end it with `worker-ctl down`, then run the same command again")
    })?;
    let look = |worker: &Worker| refuse_busy(ctx, worker).and_then(|()| keep_logged(ctx, worker));
    removal::nuke_each(ctx, &workers, (false, false, false), &look, &|_, _| ())?;
    let tmux = ctx.tmux();
    let _state = ctx.lock_root(RootLock::State)?;
    let state = store::load(root)?;
    if !state.workers.is_empty() {
        return Err(refusal(ctx, "a worker was added meanwhile").hint("run the same command again"));
    }
    refuse_loss(ctx, &[])?;
    // Its socket may lie outside of the root.
    if let Ok(tmux) = tmux {
        let sessions: BTreeSet<String> = tmux.panes()?.into_iter().map(|pane| pane.session).collect();
        if !sessions.is_empty() {
            let names = sessions.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            let refused = refusal(ctx, &format!("its tmux has sessions: {names}"));
            let hint = |session: &str| format!("end it if nobody needs it: `{}`", tmux.kill_line(session));
            return Err(sessions.iter().fold(refused, |refused, session| refused.hint(hint(session))));
        }
        tmux.kill(&[])?;
    }
    hand_over(ctx)?;
    keep_config(ctx)?;
    check::forget_places(ctx)?;
    remove(ctx, &git_dir)?;
    store::remove_socket_dir(&state.tmux_socket);
    ctx.ui.json_or_done(&about_root(root), format!("removed {}", printable(&root.to_string_lossy())));
    Ok(Exit::Done)
}

/// Keeps what only the log of a clone's worktree names. The removal would go on where that fails, but the clone goes too.
fn keep_logged(ctx: &Context<'_>, worker: &Worker) -> Result<()> {
    if removal::stays(worker, false) {
        return Ok(());
    }
    trash::keep_tips(ctx, worker, &only_logged(&ctx.repo, worker)?).map(drop)
}

/// Gives the source the git-lfs objects, the work that was given up, and the original commits of work that landed as one
/// commit. Of a single commit the landed one has everything.
fn hand_over(ctx: &Context<'_>) -> Result<()> {
    if ctx.clone.is_own {
        return Ok(());
    }
    landing_lfs::copy_all(ctx)?;
    let (root, source) = (&ctx.root.path, ctx.source());
    let refs = ctx.clone.ask(root, &["for-each-ref", "--format=%(refname)", ACCEPTED, TRASH])?;
    for name in refs.lines() {
        let landed = format!("refs/remotes/origin/{}", ctx.clone.branch);
        let is_accepted = name.starts_with(ACCEPTED);
        if is_accepted && ctx.clone.ask(root, &["rev-list", "--count", name, "--not", &landed])? == "1" {
            continue;
        }
        require_plain_ref(&common_dir(&source), name)?;
        let fetch = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"];
        let cmd = ctx.clone.git_in_source(&source, &source, false)?.fetching(&source).args(fetch);
        answer("fetch", &cmd.arg(root).arg(format!("{name}:{name}")).capture()?)
            .map_err(|failure| failure.hint(by_hand(root)))?;
        let what = if is_accepted { "the original commits of accepted work" } else { "work that has not landed" };
        ctx.ui.note(format!("{} keeps {what}: {name}", source.display()));
    }
    Ok(())
}

/// Removes the root, the record of it and its line in the user's list. It first goes to another name, so that a killed
/// command leaves no half root.
fn remove(ctx: &Context<'_>, git_dir: &Path) -> Result<()> {
    let root = &ctx.root.path;
    let mut aside = root.as_os_str().to_owned();
    aside.push(format!(".removed-{:08x}", Digest::random().short() as u32));
    if !fs::rename_new(root, Path::new(&aside))? {
        return Err(Failure::failed(format!("cannot move {} aside", root.display())));
    }
    if read_record(git_dir)?.is_some_and(|recorded| recorded == *root) {
        let record = record_file(git_dir)?;
        fs::remove(&record)?;
        fs::remove_empty_dir(record.parent().unwrap_or(git_dir));
    }
    list_root(ctx.env, root, None)?;
    fs::remove_tree(Path::new(&aside))
}

/// The git directory of the source. Exit 1 if it is not there: then the root may hold the last copy of its history.
fn source_git_dir(ctx: &Context<'_>) -> Result<PathBuf> {
    let source = ctx.source();
    let found = ctx.env.at(&source).and_then(|env| Git::find(&env)?.discover());
    found.map(|repo| repo.common_dir).map_err(|failure| {
        refusal(ctx, &format!("its source {} cannot be read, and it may hold the last copy", source.display()))
            .because(std::io::Error::other(failure.to_string()))
            .hint("name the source with `--source`")
    })
}

/// Exit 1 for a worker that has something to do or to lose.
fn refuse_busy(ctx: &Context<'_>, worker: &Worker) -> Result<()> {
    if worker.task != Task::Idle || matches!(worker.reported.activity, Activity::Busy | Activity::Asks) {
        let (name, why) = (&worker.name, format!("{} has a task or works", worker.name));
        let way = if worker.is_before_first_task() { "nuke" } else { "reset" };
        return Err(refusal(ctx, &why).hint(format!("see `worker-ctl status`; `worker-ctl {way} {name}`")));
    }
    if removal::stays(worker, false) {
        return Ok(());
    }
    removal::check_losses(ctx, worker, None, false).map(drop).map_err(|failure| {
        let way = format!("save the work, or `worker-ctl nuke {} --force`, which keeps it under {TRASH}", worker.name);
        refusal(ctx, &failure.message).details(failure.causes()).hint(way)
    })
}

/// What to do about what no command of ours takes out of a root.
fn by_hand(root: &Path) -> String {
    format!("save what you need, then remove it yourself: `rm -r {}`", shell_word(root))
}

/// Exit 1 while tasks wait.
fn refuse_queue(ctx: &Context<'_>) -> Result<()> {
    match ctx.state()?.queue.waiting.len() {
        0 => Ok(()),
        count => Err(refusal(ctx, &format!("tasks in its queue: {count}"))
            .hint("see `worker-ctl queue`; `worker-ctl queue drop ID` takes one out")),
    }
}

/// Exit 1 while the root holds anything that is not ours, or work that nobody has elsewhere.
fn refuse_loss(ctx: &Context<'_>, workers: &[Worker]) -> Result<()> {
    let root = &ctx.root.path;
    let refuse = |why: String, hint: String| Err(refusal(ctx, &why).hint(hint));
    let is_ours = |name: &str| {
        let is_copy = name.starts_with("state.json.bak")
            || name.starts_with("state.json.before-")
            || name.starts_with(fs::RESERVED);
        is_copy || OURS.split_whitespace().any(|ours| ours == name)
    };
    let names = fs::list(root)?;
    if let Some(name) = names.iter().find(|name| !name.to_str().is_some_and(is_ours)) {
        let (shown, path) = (printable(&name.to_string_lossy()), root.join(name));
        if layout::config(&path).exists() {
            let hint = format!("remove that one first: `worker-ctl --root {} deinit`", shell_word(&path));
            return refuse(format!("{shown} in it is another root"), hint);
        }
        let hint = "move it away, then run the same command again";
        return refuse(format!("{shown} in it is not from worker-ctl"), hint.into());
    }
    if !fs::list(&root.join("comments"))?.is_empty() {
        return refuse("comments/ keeps comments that were not sent".into(), by_hand(root));
    }
    let is_known = |name: &str| {
        // What a killed removal has left of a worker's goes with the worker.
        let name = name.strip_prefix(fs::RESERVED).unwrap_or(name);
        name.starts_with(".check") || workers.iter().any(|worker| worker.name == name)
    };
    let trees = fs::list(&layout::worktrees(root))?;
    if let Some(tree) = trees.iter().find(|name| !name.to_str().is_some_and(is_known)) {
        let shown = printable(&tree.to_string_lossy());
        return refuse(format!("there is a worktree {shown} that no worker has"), "see `worker-ctl doctor`".into());
    }
    let is_of = |name: &str, worker: &Worker| {
        name == format!("refs/heads/{}", worker.branch)
            || name.starts_with("refs/shopfloor/") && name.ends_with(&format!("/{}", worker.name))
    };
    // What is ours of these the source gets before the clone goes.
    let is_elsewhere = |name: &str| ["refs/remotes/origin/", ACCEPTED, TRASH].iter().any(|of| name.starts_with(of));
    let listed = ["for-each-ref", "--format=%(refname)"];
    let refs = if ctx.clone.is_own { String::new() } else { ctx.clone.ask(root, &listed)? };
    let is_kept = |name: &&str| !is_elsewhere(name) && !workers.iter().any(|worker| is_of(name, worker));
    if let Some(name) = refs.lines().find(is_kept) {
        return refuse(format!("its clone keeps {}", printable(name)), by_hand(root));
    }
    match fs::list(&layout::all_trash(root))?.is_empty() {
        true => Ok(()),
        false => refuse("trash/ keeps work that was given up".into(), by_hand(root)),
    }
}

/// Keeps a configuration that a person edited, beside the root.
fn keep_config(ctx: &Context<'_>) -> Result<()> {
    let root = &ctx.root.path;
    let text = fs::read_own(&layout::config(root))?.unwrap_or_default();
    if text == config(&ctx.source(), &ctx.clone.branch).into_bytes() {
        return Ok(());
    }
    let free = (0..).map(|n| {
        let mut name = root.as_os_str().to_owned();
        name.push(if n == 0 { ".config.toml".to_owned() } else { format!(".config-{n}.toml") });
        PathBuf::from(name)
    });
    let Some(path) = free.into_iter().find(|path| path.symlink_metadata().is_err()) else { return Ok(()) };
    fs::replace(&path, &text, Some(fs::PRIVATE))?;
    ctx.ui.note(format!("your config.toml is kept: {}", path.display()));
    Ok(())
}

fn refusal(ctx: &Context<'_>, why: &str) -> Failure {
    failure::IN_USE.failure(format!("{} stays: {why}", ctx.root.path.display()))
}
