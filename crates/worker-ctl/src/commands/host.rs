//! `host`: other machines whose workers this root has too, over ssh.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use serde_json::{Value, json};
use shopfloor_core::agents;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Git;
use shopfloor_core::proc::Output;
use shopfloor_core::text::{printable, shell_word};
use toml_edit::{Item, table, value};

use crate::apply::host_status::{self, time};
use crate::apply::host_work::{self, ssh_to};
use crate::apply::new_worker::edit_config;
use crate::apply::{publish, trash};
use crate::commands::hosted::{self, HOSTED};
use crate::commands::init::KEPT;
use crate::context::Context;
use crate::failure;
use crate::hosts::{self, Host, HostWork, LastSaid};
use crate::layout::{self, TOOL};
use crate::names::checked_host_name;
use crate::settings::HostTable;
use crate::ssh::{self, Ssh};

/// The oldest git and tmux that work.
const OLDEST: [(&str, (u64, u64)); 2] = [("git", (2, 39)), ("tmux", (3, 3))];

/// What installs all tools for one person, without root.
const INSTALL: &str =
    "curl -fsSL https://github.com/shopfloor-tools/shopfloor/releases/latest/download/install.sh | sh";

/// Prints which programs are there.
const PROBE: &str = "for p in worker-ctl git tmux; do v=-V; [ $p = tmux ] || v=--version; \
    printf '%s=%s\\n' $p \"$($p $v 2>/dev/null | head -n 1)\"; done";

#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(subcommand)]
    pub what: What,
}

#[derive(Debug, Subcommand)]
pub enum What {
    /// Make a machine that ssh reaches a host of this root: a repository and a root of its own there
    ///
    /// The default branch is pushed to the repository there. worker-ctl, git and tmux have to be installed. Exits with 1 if
    /// the directory there is another hub's or a person's own, and with 4 if the host does not answer.
    #[command(after_help = "Example:\n  worker-ctl host add big --ssh me@big.example.org")]
    Add(AddArgs),
    /// Show the hosts, and which of them answer
    #[command(after_help = "Example:\n  worker-ctl host list --json | jq -r 'select(.reachable | not).name'")]
    List,
    /// Forget a host whose workers have no task; everything there stays
    ///
    /// Exits with 1 if its workers have tasks, and with 4 if the host does not answer.
    #[command(after_help = "Example:\n  worker-ctl host remove big")]
    Remove {
        /// The host
        name: String,
        /// Forget it though it does not answer or its workers have tasks
        #[arg(long)]
        force: bool,
    },
    /// Log in for an agent's program on a host
    #[command(after_help = "Example:\n  worker-ctl host login big claude")]
    Login {
        /// The host
        name: String,
        /// The agent's program
        agent: String,
    },
}

#[derive(Debug, ClapArgs)]
pub struct AddArgs {
    /// What its workers' names begin with here, as in `NAME:adam`
    pub name: String,
    /// What ssh calls it: `me@box`, or a name in your ~/.ssh/config
    #[arg(long, value_name = "DEST")]
    pub ssh: String,
    /// The root there [default: ~/workers/REPOSITORY]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    match &args.what {
        What::Add(args) => add(ctx, args),
        What::List => Ok(list(ctx)),
        What::Remove { name, force } => remove(ctx, name, *force),
        What::Login { name, agent } => login(ctx, name, agent),
    }
}

fn add(ctx: &Context<'_>, args: &AddArgs) -> Result<Exit> {
    hosted::require_no_hub(ctx)?;
    let name = checked_host_name(&args.name)?;
    let is_word = |c: char| !c.is_control() && !c.is_whitespace();
    if args.ssh.starts_with('-') || args.ssh.is_empty() || !args.ssh.chars().all(is_word) {
        return Err(Failure::usage("`--ssh` names no destination").hint("write it as for ssh, such as `me@box`"));
    }
    let given = args.root.as_ref().map(|root| root.to_string_lossy());
    if given.as_ref().is_some_and(|root| root.split('/').any(|part| part == "." || part == "..")) {
        return Err(
            Failure::usage("`--root` has a part that is `.` or `..`").hint("write it as `~/DIR`, or from `/` on")
        );
    }
    let recorded = recorded_root(ctx, (name, &args.ssh), given.as_deref())?;
    let given = recorded.map(Into::into).or(given);
    let mut host = Host { name: name.to_owned(), table: HostTable { ssh: args.ssh.clone(), ..HostTable::default() } };
    if ctx.is_dry {
        let would = format!("make {} a host with the name {name}", args.ssh);
        return Ok(ctx.ui.would(&json!({ "host": name }), &[would]));
    }
    probe(&ssh_to(ctx, &host))?;
    let id = hub_id(ctx)?;
    let made = tell(ctx, &host, (&id, given.as_deref()), None)?;
    let text = |key: &str| made[key].as_str().filter(|path| path.starts_with('/')).map(str::to_owned);
    let (Some(root), Some(source)) = (text("root"), text("source")) else {
        return Err(failure::there(4, format!("{name}: it names no root")));
    };
    (host.table.root, host.table.source) = (root.clone(), source.clone());
    {
        let _lock = hosts::lock(&ctx.root.path, name)?;
        // What an earlier try believed of another machine.
        HostWork::update(&ctx.root.path, name, |work| work.pushed = None)?;
        host_work::push_base(ctx, &host)?;
    }
    let ssh = ssh_to(ctx, &host);
    if made["is_root"] != true {
        let own = [format!("--source={source}"), format!("--target={root}"), format!("--branch={}", ctx.clone.branch)];
        ssh.ask(&["init", &own[0], &own[1], &own[2]], ssh::LONG).map_err(|failure| match failure.exit {
            Exit::No | Exit::Bad => {
                Failure { hints: Vec::new(), ..failure }.hint("name another directory with `--root DIR`")
            }
            _ => failure.hint("the same command again does what is left"),
        })?;
    }
    let config = String::from_utf8_lossy(&fs::read(&layout::config(&ctx.root.path))?.unwrap_or_default()).into_owned();
    let (config, runner) = hosted::for_host(&config);
    tell(ctx, &host, (&id, Some(&root)), Some(config))?;
    if let Some(runner) = runner {
        ctx.ui.note(format!(
            "a new host gets `skip_permissions = false` instead of the runner {runner}: agents there ask before they change \
             something, until {root}/config.toml names a runner there and says otherwise"
        ));
    }
    edit_config(ctx, |document| {
        let all = document["hosts"].or_insert(table());
        all.as_table_mut().into_iter().for_each(|all| all.set_implicit(true));
        let HostTable { ssh, root, source } = &host.table;
        for (key, text) in [("ssh", ssh), ("root", root), ("source", source)] {
            all[name].or_insert(table())[key] = value(text);
        }
    })?;
    finish(ctx, &host)
}

/// The root of a host that is on record, for which what is left is done. Exit 1 if that is not the one that is meant.
fn recorded_root<'a>(ctx: &'a Context<'_>, (name, dest): (&str, &str), root: Option<&str>) -> Result<Option<&'a str>> {
    let Some(table) = ctx.root.config.hosts.get(name) else { return Ok(None) };
    let is_its = |root: &str| Path::new(&table.root).ends_with(root.strip_prefix("~/").unwrap_or(root));
    if table.ssh != dest || !root.is_none_or(is_its) {
        return Err(failure::EXISTS
            .failure(format!("{name} is a host already, of another destination or root"))
            .hint(format!("choose another name, or forget that one: `worker-ctl host remove {name}`")));
    }
    Ok(Some(&table.root))
}

/// Looks whether all is well there, and keeps the sessions there up.
fn finish(ctx: &Context<'_>, host: &Host) -> Result<Exit> {
    let ssh = ssh_to(ctx, host);
    let Host { name, table } = host;
    let looked = ssh.run(&ssh.tool(&["doctor".into()]), Vec::new(), ssh::LONG)?;
    if looked.status.code() != 0 {
        return Err(failure::there(1, format!("{name} is a host now, and its `doctor` is not content"))
            .details(said(&looked))
            .hint(format!("mend that there; `worker-ctl doctor --host {name}` looks again")));
    }
    let started = ssh.run(&ssh.tool(&["up".into(), "--detach".into()]), Vec::new(), ssh::LONG)?;
    if ![0, Exit::Busy.code().into()].contains(&started.status.code()) {
        return Err(failure::there(4, format!("{name} is a host now, and no `up` started there"))
            .details(said(&started))
            .hint(format!("mend that there, then `worker-ctl up --host {name}`")));
    }
    if let Some(program) = agents::find(ctx.root.config.text("agent")).filter(|program| !program.login.is_empty()) {
        let agent = program.name;
        ctx.ui.note(format!("if {agent} is not logged in there: `worker-ctl host login {name} {agent}`"));
    }
    let place = shell_word(Path::new(&format!("{}:{}", table.ssh, table.root)));
    if !table.ssh.contains("://") {
        ctx.ui.note(format!("files that git ignores go there by `overlay-sync attach --ssh {place}`"));
    }
    let answer = json!({ "host": name, "ssh": table.ssh, "root": table.root, "source": table.source });
    ctx.ui.json_or_line(&answer, name);
    Ok(Exit::Done)
}

/// The lines that a command there has said.
fn said(output: &Output) -> Vec<String> {
    let text = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&text).lines().map(|line| format!("  {}", printable(line))).collect()
}

/// Exit 1 unless the programs are there, worker-ctl in this version.
fn probe(ssh: &Ssh<'_>) -> Result<()> {
    let said = ssh.run(&["sh".into(), "-c".into(), PROBE.into()], Vec::new(), ssh::LONG)?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let version = |program: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(program)?.strip_prefix('='))?;
        line.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit())).map(printable)
    };
    let (own, host) = (env!("CARGO_PKG_VERSION"), &ssh.host.name);
    let (mut faults, mut hints) = (Vec::new(), Vec::new());
    let install = format!("install git and tmux with its package manager, and the tools with: `{INSTALL}`");
    match version(TOOL) {
        None => faults.push("worker-ctl is not installed".to_owned()),
        Some(there) if there != own => {
            if numbers(&there) > numbers(own) {
                hints.push(format!("install the newer tools here: `{INSTALL}`"));
            }
            faults.push(format!("worker-ctl is {there} there and {own} here"));
        }
        Some(_) => {}
    }
    for (program, (major, minor)) in OLDEST {
        let Some(there) = version(program) else {
            faults.push(format!("{program} is not installed"));
            continue;
        };
        if numbers(&there).as_slice() < [major, minor].as_slice() {
            faults.push(format!("{program} is {there}, and {major}.{minor} is needed"));
        }
    }
    // What is newer there is no fault of the host.
    hints.extend((faults.len() > hints.len()).then_some(install));
    match faults.is_empty() {
        true => Ok(()),
        false => Err(failure::there(1, format!("{host} lacks what its workers need"))
            .details(faults.iter().map(|fault| format!("  {fault}")))
            .hint(hints.join("; "))),
    }
}

/// The numbers of a version.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0)).collect()
}

/// The hidden command by which a host makes its repository and learns whose it is; with a configuration, of its root too.
fn tell(ctx: &Context<'_>, host: &Host, (id, root): (&str, Option<&str>), config: Option<String>) -> Result<Value> {
    let source = ctx.source();
    let git = Git::find(ctx.env)?;
    let name = source.file_stem().filter(|_| source.extension().is_some_and(|end| end == "git"));
    let name = name.or(source.file_name()).and_then(OsStr::to_str).unwrap_or("repository").trim_start_matches('.');
    let mut words: Vec<OsString> = vec![TOOL.into(), HOSTED.into(), "--json".into()];
    words.extend(root.map(|root| format!("--root={root}").into()));
    words.extend(config.is_some().then(|| "--config".into()));
    let format = git.text(&source, &["rev-parse", "--show-object-format"])?;
    let options = [("id", id), ("name", &*host.name), ("repo", name), ("on", &ctx.clone.branch), ("format", &format)];
    words.extend(options.map(|(key, text)| format!("--{key}={text}").into()));
    words.extend(ctx.root.config.hosts.keys().map(|name| format!("--other={name}").into()));
    for key in KEPT {
        let text = git.text(&source, &["config", "--get", key])?;
        words.extend((!text.is_empty()).then(|| format!("--set={key}={text}").into()));
    }
    ssh_to(ctx, host).ask_with(&words, config.unwrap_or_default().into_bytes(), ssh::LONG)
}

/// Who this hub is, for its hosts.
fn hub_id(ctx: &Context<'_>) -> Result<String> {
    let path = hosts::dir(&ctx.root.path).join("hub");
    if let Some(id) = fs::read_no_follow(&path)? {
        return Ok(String::from_utf8_lossy(&id).trim().to_owned());
    }
    fs::create_private_dir(&hosts::dir(&ctx.root.path))?;
    let user = ctx.env.var("USER").unwrap_or_default().to_string_lossy().into_owned();
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let unique = fs::unique_name();
    let unique = unique.rsplit('-').next().unwrap_or_default();
    let id = printable(&format!("{user}@{machine}:{}#{unique}", ctx.root.path.display()));
    fs::replace(&path, id.as_bytes(), Some(fs::PRIVATE))?;
    Ok(id)
}

fn list(ctx: &Context<'_>) -> Exit {
    for (host, LastSaid { at_unix, unreachable_since_unix, workers, .. }) in host_status::ask_and_tell(ctx) {
        let Host { name, table } = &host;
        match ctx.ui.is_json() {
            true => ctx.ui.json(&json!({ "name": name, "ssh": table.ssh, "root": table.root, "source": table.source,
                "reachable": unreachable_since_unix.is_none(), "unreachable_since_at": unreachable_since_unix.and_then(time),
                "answered_at": at_unix.and_then(time), "workers": workers.len() })),
            false => {
                let how = match unreachable_since_unix.and_then(time) {
                    Some(since) => format!("unreachable since {since}"),
                    None if workers.len() == 1 => "1 worker".to_owned(),
                    None => format!("{} workers", workers.len()),
                };
                ctx.ui.line(printable(&format!("{name}  {}  {}  {how}", table.ssh, table.root)));
            }
        }
    }
    Exit::Done
}

fn remove(ctx: &Context<'_>, name: &str, is_forced: bool) -> Result<Exit> {
    let host = ctx.root.host(name)?;
    match require_idle(ctx, &host) {
        Err(failure) if is_forced => ctx.ui.warn(failure),
        Err(failure) => {
            let hint = format!("or forget it here all the same: `worker-ctl host remove {name} --force`");
            return Err(failure.hint(hint));
        }
        Ok(()) => {}
    }
    if ctx.is_dry {
        return Ok(ctx.ui.would(&json!({ "host": name }), &[format!("forget the host {name}")]));
    }
    let _lock = hosts::lock(&ctx.root.path, name)?;
    for (_, journal) in host_work::open_accepts(ctx, &host)? {
        publish::require_put_back(ctx, std::slice::from_ref(&journal))?;
        publish::drop_journal(&ctx.repo, &journal)?;
    }
    let below = format!("refs/shopfloor/hosts/{name}");
    let listed = ctx.repo.ask(&ctx.repo.top, &["for-each-ref", "--format=%(refname) %(objectname)", &below])?;
    let refs: Vec<(&str, &str)> = listed.lines().filter_map(|line| line.split_once(' ')).collect();
    // Nobody else may have it: the host may be gone, or the worker there.
    for (of, sha) in &refs {
        if !ctx.repo.has(&ctx.repo.base(), sha)? {
            let of = of.strip_prefix("refs/shopfloor/hosts/").unwrap_or(of);
            ctx.ui.note(format!("kept {}", trash::keep_commit(ctx, of, sha)?));
        }
    }
    ctx.repo.drop_refs(&refs.iter().map(|(of, _)| (*of).to_owned()).collect::<Vec<_>>())?;
    ctx.update(|state| {
        state.last_reviewed.take_if(|last| hosts::split(last).is_some_and(|(on, _)| on == name));
        Ok(())
    })?;
    // Before its entry, without which the same command finds no host.
    hosts::forget(&ctx.root.path, name)?;
    edit_config(ctx, |document| {
        let all = document.get_mut("hosts").and_then(Item::as_table_like_mut);
        all.into_iter().for_each(|all| drop(all.remove(name)));
    })?;
    // From here on nothing lands from there.
    let ssh = ssh_to(ctx, &host);
    let words = [HOSTED.into(), "--json".into(), "--release".into(), format!("--id={}", hub_id(ctx)?).into()];
    ctx.warn_on_failure(name, || ssh.ask_with(&ssh.tool(&words), Vec::new(), ssh::SOON).map(drop));
    ctx.warn_on_failure(name, || ssh.hang_up());
    ctx.ui.json_or_done(&json!({ "host": name }), format!("forgot {name}; everything there stays"));
    Ok(Exit::Done)
}

/// Exit 1 if workers of a host have tasks. It learns first what has landed, but for a dry run.
fn require_idle(ctx: &Context<'_>, host: &Host) -> Result<()> {
    if !ctx.is_dry {
        host_work::sync(ctx, host)?;
    }
    let said = LastSaid::answered(host, &ssh_to(ctx, host).ask(&["status"], ssh::LONG)?, ctx.now())?;
    let busy = said.workers.iter().filter(|row| row["task"] != "idle").filter_map(|row| row["name"].as_str());
    let busy: Vec<String> = busy.map(|name| host_work::name_of(host, name)).collect();
    match busy.is_empty() {
        true => Ok(()),
        false => Err(failure::IN_USE
            .failure(format!("workers of {} have tasks: {}", host.name, busy.join(", ")))
            .hint("accept their work, or take it away: `worker-ctl reset HOST:NAME`")),
    }
}

fn login(ctx: &Context<'_>, name: &str, agent: &str) -> Result<Exit> {
    let host = ctx.root.host(name)?;
    let program = agents::find(agent).filter(|program| !program.login.is_empty()).ok_or_else(|| {
        Failure::usage(format!("no command is known that logs in for `{}`", printable(agent)))
            .hint(format!("log in there: `ssh -t {}`", shell_word(Path::new(&host.table.ssh))))
    })?;
    let words: Vec<OsString> = [program.name].into_iter().chain(program.login.split(' ')).map(OsString::from).collect();
    if ctx.is_dry {
        let would = format!("run `{} {}` on {name}", program.name, program.login);
        return Ok(ctx.ui.would(&json!({ "host": name }), &[would]));
    }
    ssh_to(ctx, &host).on_terminal(&words)
}
