//! What a hub tells its host: to have a repository and a root for it, and which work has landed.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::json;
use shopfloor_core::agent_command::READING_TOOLS;
use shopfloor_core::config::expand_home;
use shopfloor_core::env::Env;
use shopfloor_core::error::Exit;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, answer};
use shopfloor_core::known_dirs::DirList;
use shopfloor_core::lock::Lock;
use shopfloor_core::path::real;
use shopfloor_core::ui::Ui;
use toml_edit::{Array, DocumentMut, Item, table, value};

use crate::apply::{land, publish, rebase};
use crate::commands::init::{self, KEPT};
use crate::commands::{about, fork, joined};
use crate::context::Context;
use crate::facts::worker_state::Standing;
use crate::failure;
use crate::layout::{self, RootLock};
use crate::names::checked_name;
use crate::plan::accept::require_settled;
use crate::root::prove;
use crate::runner::{NONE, SANDBOX};
use crate::settings::RootConfig;
use crate::worker::{Task, Worker};

/// The hidden command of a hub that makes a repository and configures the root of it.
pub const HOSTED: &str = "hosted";

/// The key of a worker's record, and of the repository's configuration.
const OP: &str = "landed_op";
const HUB: &str = "shopfloor.hub";

#[derive(Debug, ClapArgs)]
pub struct Args {
    #[arg(long)]
    pub id: String,
    /// What the hub calls this host
    #[arg(long, default_value = "")]
    pub name: String,
    /// What it calls its hosts
    #[arg(long = "other")]
    pub others: Vec<String>,
    /// The name of the repository, its branch and its format of objects, to make what is missing
    #[arg(long, required_unless_present = "release")]
    pub repo: Option<String>,
    #[arg(long, default_value = "")]
    pub on: String,
    #[arg(long, default_value = "sha1")]
    pub format: String,
    #[arg(long = "set")]
    pub settings: Vec<String>,
    /// Configure the root by the file on stdin
    #[arg(long, conflicts_with = "release")]
    pub config: bool,
    /// Let the root be nobody's
    #[arg(long)]
    pub release: bool,
}

/// What to do where the root cannot be.
const OTHER_ROOT: &str = "name another directory with `--root DIR` of `host add`";

/// What the repository's configuration names as its hub when it has none any more.
const NOBODY: &str = "none";

/// Makes the bare repository; with `--config`, writes the configuration of the root, which is there by then.
pub fn run(ui: &Ui, env: &Env, args: &Args, root: Option<&Path>) -> Result<Exit> {
    let name = args.repo.as_deref().unwrap_or("repository");
    if name.contains('/') || name.starts_with('.') || name.is_empty() {
        return Err(Failure::usage("the repository's name is no name of a directory"));
    }
    let default = || expand_home(env, "~/workers").join(name);
    let root = root.map_or_else(default, |root| env.cwd.join(expand_home(env, root)));
    // Without a slash at its end: the repository is beside it.
    let root: PathBuf = root.components().collect();
    let list = DirList::roots(env).map(|list| list.path().with_extension("hosted.lock"));
    let _lock = list.map(|file| Lock::take(&file)).transpose()?;
    let source = PathBuf::from([root.as_os_str(), OsStr::new(".git")].into_iter().collect::<OsString>());
    let is_root = root.exists() && prove(env, &root)?.is_ok();
    if is_root {
        let config = RootConfig::load(env, &root, &[])?;
        let hub = config.hub.as_ref().map(|hub| hub.id.as_str());
        refuse_other(&root, hub, args, config.text("source") == source.to_string_lossy())?;
        if let Some(hub) =
            config.hub.as_ref().filter(|hub| !args.release && hub.name != args.name && args.others.contains(&hub.name))
        {
            return Err(failure::EXISTS
                .failure(format!("{} is your host {} already", root.display(), hub.name))
                .hint(format!("use that name, or forget it first: `worker-ctl host remove {}`", hub.name)));
        }
    }
    let git = Git::find(env)?;
    if args.release {
        git.cmd(&source).args(["config", HUB, NOBODY]).capture()?;
    } else {
        if !is_root {
            init::refuse_taken(&git, &root, &real(&source))
                .map_err(|failure| Failure { hints: Vec::new(), ..failure }.hint(OTHER_ROOT))?;
        }
        make_repo(&git, &source, args)?;
    }
    if is_root && (args.config || args.release) {
        configure(ui, &root, &source, args)?;
    }
    ui.json(&json!({ "root": root.to_string_lossy(), "source": source.to_string_lossy(), "is_root": is_root }));
    Ok(Exit::Done)
}

/// Exit 1 where another hub has the root, or a person who works there.
fn refuse_other(root: &Path, hub: Option<&str>, args: &Args, is_ours: bool) -> Result<()> {
    let why = match hub {
        Some(hub) if hub == args.id => return Ok(()),
        Some(hub) => format!("{} belongs to the hub {hub}", root.display()),
        // A hub that was killed has not written its name yet, and one that forgot the host has taken it away.
        None if is_ours => return Ok(()),
        None => format!("{} is a root of its own", root.display()),
    };
    Err(failure::EXISTS.failure(why).hint(OTHER_ROOT))
}

fn make_repo(git: &Git, source: &Path, args: &Args) -> Result<()> {
    let ask = |words: &[&str]| git.cmd(source).args(words.iter().copied()).capture();
    let taken = |why: &str| {
        let why = format!("{} {why}", source.display());
        failure::EXISTS.failure(why).hint(OTHER_ROOT)
    };
    if !source.join("HEAD").is_file() {
        if source.exists() && !fs::list(source)?.is_empty() {
            return Err(taken("is not empty"));
        }
        fs::create_private_dir(source)?;
        let (branch, format) = (format!("--initial-branch={}", args.on), format!("--object-format={}", args.format));
        answer("init", &ask(&["init", "--bare", "--quiet", "--template=", &branch, &format])?)?;
    }
    match ask(&["config", "--local", "--get", HUB])?.text() {
        hub if hub == args.id => {}
        hub if hub == NOBODY || hub.is_empty() && ask(&["for-each-ref", "--count=1"])?.stdout.is_empty() => {
            answer("config", &ask(&["config", HUB, &args.id])?)?;
        }
        hub if hub.is_empty() => return Err(taken("is a repository of its own")),
        hub => return refuse_other(source, Some(&hub), args, false),
    }
    for setting in &args.settings {
        let Some((key, text)) = setting.split_once('=').filter(|(key, _)| KEPT.contains(key)) else { continue };
        answer("config", &ask(&["config", key, text])?)?;
    }
    Ok(())
}

/// Writes the hub's name into `config.toml`, and the first time what the hub's own file says of agents and checks.
fn configure(ui: &Ui, root: &Path, source: &Path, args: &Args) -> Result<()> {
    let _lock = Lock::take(&layout::lock(root, RootLock::Config))?;
    let path = layout::config(root);
    let parse = |bytes: Vec<u8>| -> Result<DocumentMut> {
        let text = String::from_utf8(bytes).map_err(|e| Failure::malformed("config.toml is not UTF-8").because(e))?;
        text.parse().map_err(|e| Failure::malformed(format!("{}: {e}", path.display())))
    };
    let mut document = parse(fs::read(&path)?.unwrap_or_default())?;
    if args.release {
        document.remove("hub");
    } else if document.get("hub").is_none() {
        // What a person has changed there stays.
        if document.to_string() == init::config(source, &args.on) {
            document = parse(ui.input()?)?;
        }
        let repo = document.entry("repo").or_insert(table());
        repo["source"] = value(source.to_string_lossy().as_ref());
        repo["branch"] = value(args.on.as_str());
        let mut hub = table();
        hub["id"] = value(args.id.as_str());
        hub["name"] = value(args.name.as_str());
        document.insert("hub", hub);
    }
    fs::replace(&path, document.to_string().as_bytes(), None)
}

/// What of a hub's `config.toml` a new host gets: not what is of that machine. If that holds agents in a runner, also returns
/// its name: on the host nothing holds them, and they ask.
pub fn for_host(text: &str) -> (String, Option<String>) {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return (String::new(), None) };
    for table in ["workers", "hosts", "hub", "runners"] {
        document.remove(table);
    }
    // Keys of models among them.
    let agents = document.get_mut("agents").and_then(Item::as_table_like_mut).into_iter();
    for (_, agent) in agents.flat_map(|agents| agents.iter_mut()) {
        agent.as_table_like_mut().map(|agent| agent.remove("env"));
    }
    let own = [
        ("repo", &["source", "branch", "copy"][..]),
        ("defaults", &["on_event", "before_attach", "after_attach", "max_working"]),
    ];
    for (name, keys) in own {
        if let Some(table) = document.get_mut(name).and_then(Item::as_table_like_mut) {
            keys.iter().for_each(|key| drop(table.remove(key)));
        }
    }
    let mut runner = None;
    if let Some(defaults) = document.get_mut("defaults")
        && let Some(name) = defaults.get("runner").and_then(Item::as_str).filter(|name| ![NONE, SANDBOX].contains(name))
    {
        runner = Some(name.to_owned());
        // The table that it names is not sent.
        defaults.as_table_like_mut().map(|defaults| defaults.remove("runner"));
        defaults["skip_permissions"] = value(false);
        // claude uses these unasked also where it asks.
        defaults["allowed_tools"] = value(READING_TOOLS.split(',').collect::<Array>());
    }
    (document.to_string(), runner)
}

#[derive(Debug, ClapArgs)]
pub struct LandedArgs {
    pub worker: String,
    pub reviewed: String,
    pub landed: String,
    pub op: String,
}

/// Puts the source's branch on what has landed, and the worker too if that is its work and it has nothing newer. Told twice,
/// it does that once. A dry run, before anything lands, fails if the worker could not be put there.
pub fn landed(ctx: &Context<'_>, args: &LandedArgs) -> Result<Exit> {
    if ctx.root.config.hub.is_none() {
        return Err(Failure::usage("no hub has this root"));
    }
    let LandedArgs { worker: name, reviewed, landed, op } = args;
    checked_name(name)?;
    let _lock = ctx.lock(name)?;
    if ctx.is_dry {
        let worker = ctx.worker(name)?;
        let sha = own_commit(ctx, &worker, reviewed)?;
        require_settled(&Standing::read(&ctx.of(&worker)?, &worker)?, &sha)?;
        ctx.ui.json(&about(name, json!({})));
        return Ok(Exit::Done);
    }
    let worker = ctx.state()?.workers.remove(name);
    let sha = worker.as_ref().map(|worker| own_commit(ctx, worker, reviewed)).transpose()?;
    let at = {
        let _publishing = ctx.lock_root(RootLock::Publish)?;
        advance(ctx, landed)?
    };
    let is_told = |worker: &Worker| worker.more.get(OP).is_some_and(|told| told == op);
    let mut stays = false;
    if let Some(sha) = sha.filter(|_| !worker.as_ref().is_some_and(is_told)) {
        land::close_task(ctx, name, &sha, landed)?;
        ctx.update_worker(name, |worker| {
            // It is told again once nothing is in the way of its worktree.
            stays = worker.task == Task::NeedsReview && worker.work.commit_sha.as_ref() == Some(&sha);
            if !stays {
                worker.more.insert(OP.into(), op.as_str().into());
            }
        })?;
    }
    let state = ctx.state()?;
    let worker = state.workers.get(name);
    let now = json!({ "status": worker.map(Worker::status), "task": worker.map(|worker| worker.task.word()) });
    ctx.ui.json(&joined(about(name, now), json!({ "branch_at": at, "stays": stays })));
    Ok(Exit::Done)
}

/// The commit that was reviewed; or the worker's own, if a rebase has made it of the same work since.
fn own_commit(ctx: &Context<'_>, worker: &Worker, reviewed: &str) -> Result<String> {
    let repo = &ctx.repo;
    match &worker.work.commit_sha {
        Some(sha) if sha != reviewed && repo.commit(&repo.top, reviewed)?.is_some() => {
            let is_same = rebase::is_same_work(ctx, worker, reviewed, sha, &fork(ctx, sha)?)?;
            Ok(if is_same { sha.clone() } else { reviewed.to_owned() })
        }
        _ => Ok(reviewed.to_owned()),
    }
}

/// Puts the repository's branch on what has landed, unless it has that. Returns where the branch is.
fn advance(ctx: &Context<'_>, landed: &str) -> Result<String> {
    let source = ctx.source();
    let branch = format!("refs/heads/{}^{{commit}}", ctx.repo.branch);
    let is_in = |older: &str, newer: &str| {
        Ok::<bool, Failure>(ctx.repo.run(&source, &["merge-base", "--is-ancestor", older, newer])?.status.success())
    };
    let now = answer("rev-parse", &ctx.repo.run(&source, &["rev-parse", "--verify", &branch])?)?;
    match is_in(&now, landed)? && now != landed && publish::advance(ctx.ui, &ctx.repo, &source, &now, landed)? {
        true => Ok(landed.to_owned()),
        // It has that already. Or the hub's branch goes another way, which its next push says.
        false => Ok(now),
    }
}

/// Exit 1 on a host: its hub lands the work.
pub fn require_no_hub(ctx: &Context<'_>) -> Result<()> {
    match &ctx.root.config.hub {
        Some(hub) => Err(failure::WRONG_STATE
            .failure(format!("the work of this root is landed by its hub, {}", hub.id))
            .hint(format!("review and accept it there: `worker-ctl review {}:NAME`", hub.name))),
        None => Ok(()),
    }
}
