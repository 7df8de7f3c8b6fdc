//! What a hub tells its host: to have a repository and a root for it, and which work has landed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::json;
use shopfloor_core::config::expand_home;
use shopfloor_core::env::Env;
use shopfloor_core::error::Exit;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, answer};
use shopfloor_core::lock::Lock;
use shopfloor_core::ui::Ui;
use toml_edit::{DocumentMut, Item, table, value};

use crate::apply::{host_work, land};
use crate::commands::{about, init::KEPT, joined};
use crate::context::Context;
use crate::failure;
use crate::layout::{self, RootLock};
use crate::root::prove;
use crate::settings::RootConfig;
use crate::worker::{Worker, checked_name};

/// The hidden command of a hub that makes a repository and configures the root of it.
pub const HOSTED: &str = "hosted";

/// The key of a worker's record, and of the repository's configuration.
const OP: &str = "landed_op";
const HUB: &str = "shopfloor.hub";

#[derive(Debug, ClapArgs)]
pub struct Args {
    #[arg(long)]
    pub id: String,
    #[arg(long)]
    pub repo: String,
    #[arg(long)]
    pub on: String,
    #[arg(long)]
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

/// Makes the bare repository; with `--config`, writes the configuration of the root, which is there by then.
pub fn run(ui: &Ui, env: &Env, args: &Args, root: Option<&Path>) -> Result<Exit> {
    if args.repo.contains('/') || args.repo.starts_with('.') || args.repo.is_empty() {
        return Err(Failure::usage("the repository's name is no name of a directory"));
    }
    let default = || expand_home(env, "~/workers").join(&args.repo);
    let root = root.map_or_else(default, |root| env.cwd.join(expand_home(env, &root.to_string_lossy())));
    let parent = root.parent().unwrap_or(&root);
    fs::create_private_dir(parent)?;
    let _lock = Lock::take(&parent.join(".hosted.lock"))?;
    let source = PathBuf::from([root.as_os_str(), OsStr::new(".git")].into_iter().collect::<std::ffi::OsString>());
    let is_root = root.exists() && prove(env, &root)?.is_ok();
    if is_root {
        let config = RootConfig::load(env, &root, &[])?;
        refuse_other(&root, config.hub.as_deref(), args, config.text("source") == source.to_string_lossy())?;
    }
    make_repo(env, &source, args)?;
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
        // A hub that was killed has not written its name yet.
        None if is_ours => return Ok(()),
        None => format!("{} is a root of its own", root.display()),
    };
    Err(failure::EXISTS.failure(why).hint("name another directory with `--root DIR` of `host add`"))
}

fn make_repo(env: &Env, source: &Path, args: &Args) -> Result<()> {
    let git = Git::find(env)?;
    let ask = |dir: &Path, words: &[&str]| git.cmd(dir).args(words.iter().copied()).capture();
    let owner = || Ok::<String, Failure>(ask(source, &["config", "--local", "--get", HUB])?.text());
    if !source.join("HEAD").is_file() {
        fs::create_private_dir(source)?;
        if !fs::list(source)?.is_empty() {
            return Err(failure::EXISTS
                .failure(format!("{} is not empty", source.display()))
                .hint("name another directory with `--root DIR` of `host add`"));
        }
        let (branch, format) = (format!("--initial-branch={}", args.on), format!("--object-format={}", args.format));
        answer("init", &ask(source, &["init", "--bare", "--quiet", "--template=", &branch, &format])?)?;
        answer("config", &ask(source, &["config", HUB, &args.id])?)?;
    }
    match owner()? {
        hub if hub == args.id => {}
        hub if hub.is_empty() && args.release => {}
        hub if hub.is_empty() => drop(answer("config", &ask(source, &["config", HUB, &args.id])?)?),
        hub => return refuse_other(source, Some(&hub), args, false),
    }
    for setting in &args.settings {
        let Some((key, text)) = setting.split_once('=').filter(|(key, _)| KEPT.contains(key)) else { continue };
        answer("config", &ask(source, &["config", key, text])?)?;
    }
    if args.release {
        ask(source, &["config", "--unset-all", HUB])?;
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
        document = parse(ui.input()?)?;
        let repo = document.entry("repo").or_insert(table());
        repo["source"] = value(source.to_string_lossy().as_ref());
        repo["branch"] = value(args.on.as_str());
        let mut hub = table();
        hub["id"] = value(args.id.as_str());
        document.insert("hub", hub);
    }
    fs::replace(&path, document.to_string().as_bytes(), None)
}

/// What of a hub's `config.toml` a new host gets: not what is of that machine.
pub fn for_host(text: &str) -> String {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return String::new() };
    for table in ["workers", "hosts", "hub"] {
        document.remove(table);
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
    document.to_string()
}

#[derive(Debug, ClapArgs)]
pub struct LandedArgs {
    pub worker: String,
    pub reviewed: String,
    pub landed: String,
    pub op: String,
}

/// Puts the source's branch on what has landed, and the worker too if that is its work and it has nothing newer. Told twice,
/// it does that once.
pub fn landed(ctx: &Context<'_>, args: &LandedArgs) -> Result<Exit> {
    if ctx.root.config.hub.is_none() {
        return Err(Failure::usage("no hub has this root"));
    }
    let LandedArgs { worker: name, reviewed, landed, op } = args;
    checked_name(name)?;
    let _lock = ctx.lock(name)?;
    let worker = ctx.state()?.workers.remove(name);
    let sha = worker.as_ref().map(|worker| own_commit(ctx, worker, reviewed)).transpose()?;
    let at = {
        let _publishing = ctx.lock_root(RootLock::Publish)?;
        host_work::advance_there(ctx, landed)?
    };
    let is_told = |worker: &Worker| worker.more.get(OP).is_some_and(|told| told == op);
    if let Some(sha) = sha.filter(|_| !worker.as_ref().is_some_and(is_told)) {
        land::close_task(ctx, name, &sha, landed)?;
        ctx.update_worker(name, |worker| drop(worker.more.insert(OP.into(), op.as_str().into())))?;
    }
    let status = ctx.state()?.workers.get(name).map(Worker::status);
    ctx.ui.json(&joined(about(name, json!({ "status": status })), json!({ "branch_at": at })));
    Ok(Exit::Done)
}

/// The commit that was reviewed; or the worker's own, if a rebase has made it of the same work since.
fn own_commit(ctx: &Context<'_>, worker: &Worker, reviewed: &str) -> Result<String> {
    let repo = &ctx.repo;
    match &worker.work.commit_sha {
        Some(sha) if sha != reviewed && repo.commit(&repo.top, reviewed)?.is_some() => {
            let is_same = repo.work_digest(sha)? == repo.work_digest(reviewed)?;
            Ok(if is_same { sha.clone() } else { reviewed.to_owned() })
        }
        _ => Ok(reviewed.to_owned()),
    }
}

/// Exit 1 on a host: its hub lands the work.
pub fn require_no_hub(ctx: &Context<'_>) -> Result<()> {
    match &ctx.root.config.hub {
        Some(hub) => Err(failure::WRONG_STATE
            .failure(format!("the work of this root is landed by its hub, {hub}"))
            .hint("review and accept it there: `worker-ctl review HOST:NAME`")),
        None => Ok(()),
    }
}
