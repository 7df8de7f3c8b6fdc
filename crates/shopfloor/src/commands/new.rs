//! `new`: an agent with a worktree and a task.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shopfloor_core::agents;
use shopfloor_core::args::Common;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::forge::Named;
use shopfloor_core::fs;
use shopfloor_core::path::real;
use shopfloor_core::proc;
use shopfloor_core::sandbox;
use shopfloor_core::ssh::UNREACHABLE;
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::ui::Ui;

pub use crate::commands::new_args::Args;
use crate::commands::new_args::require_free_name;
use crate::commands::new_from_forge::prepare;
use crate::commands::worker_commands::here;
use crate::commands::{exit_of, pass_on, quietly, words_for};
use crate::facts::repository::{self, Repository};
use crate::facts::run_tool::{Answer, ask, lacks_root, set_by_person, usual_agent};
use crate::plan::names::named;

/// The launcher for the terminal we are in; none if a person has configured one. Exit 2 if there is none.
fn launcher(env: &Env) -> Result<Option<&'static str>> {
    if set_by_person(env, "launcher")?.is_some() {
        return Ok(None);
    }
    let known = [("TMUX", "tmux"), ("ZELLIJ", "zellij")];
    let here = known.iter().find(|(variable, _)| env.var(variable).is_some()).map(|(_, name)| *name);
    here.map(Some).ok_or_else(|| {
        Failure::usage("there is no tmux or zellij here to start the agent program in")
            .hint("start tmux first, or give the command after `--`")
    })
}

/// `big:x` is `x --host big`, as elsewhere.
fn named_host(args: &Args) -> Args {
    let is_plain =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    match args.name.split_once(':') {
        Some((host, name))
            if args.host.is_none() && is_plain(host) && is_plain(name) && !Named::is_meant(&args.name) =>
        {
            Args { name: name.to_owned(), host: Some(host.to_owned()), ..args.clone() }
        }
        _ => args.clone(),
    }
}

pub fn run(ui: &Ui, env: &Env, common: &Common, args: &Args) -> Result<Exit> {
    let args = &named_host(args);
    let repository = repository::find(env)?;
    let task = task(ui, env, args)?;
    let (args, task) = match Named::parse(&args.name) {
        None if Named::is_meant(&args.name) => {
            return Err(Failure::usage(format!("`{}` names no request and no issue", printable(&args.name)))
                .hint("give its number: `shopfloor new pr:12`, or its whole address; or a name such as `feature-a`"));
        }
        None => (args.clone(), task),
        Some(named) => match from_forge(ui, env, common, (args, task, &named), &repository)? {
            Some(prepared) => prepared,
            None => return Ok(Exit::Done),
        },
    };
    let args = &args;
    let has_agent = args.cmd.is_empty() && !args.launch && (task.is_some() || args.target.is_some());
    require_free_name(env, &repository, args, has_agent)?;
    require_sandbox(env, args, task.as_deref())?;
    if args.clone || args.host.is_some() {
        return in_clone(ui, env, common, args, task.as_deref());
    }
    let text = task.as_deref();
    let option = text.map(|task| passed(env, task)).transpose()?;
    let mut words = words(ui, env, args, option.as_ref().map(|(option, _)| option), &repository)?;
    if has_agent && !common.dry_run {
        let has_begun = text.map_or(Ok(false), |task| began(env, args, task));
        if args.if_exists.is_none() && has_begun? {
            words.push("--if-exists=return".to_owned());
        }
        words.push(args.name.clone());
        if let Some(id) = &args.taken {
            words = ["path", id].map(str::to_owned).to_vec();
        }
        return begin(ui, env, common, args, (text, words));
    }
    words.push(args.name.clone());
    if !args.cmd.is_empty() {
        if task.is_some() && !common.dry_run {
            ui.note("the command has to read the task itself: `SHOPFLOOR_TASK_FILE` names its file");
        }
        words.push("--".to_owned());
        words.extend(args.cmd.iter().cloned());
    }
    let exit = pass_on(ui, &for_worktree(env, args), common, "worktree-spawn", words)?;
    let is_bare = task.is_none() && args.cmd.is_empty() && !args.launch && args.if_exists.is_none();
    if is_bare && exit.code() == 0 && !common.dry_run && !common.json {
        let name = shell_word(args.name.as_ref());
        ui.note(format!("no agent was started, because it has no task: `shopfloor start {name} TASK`"));
    }
    if common.dry_run && task.is_some() && !args.launch && !common.json && exit.code() == 0 {
        ui.line("would start an agent there with its task");
    }
    Ok(exit)
}

/// The arguments and the task for a request or an issue. None in a dry run, which has said it.
fn from_forge(
    ui: &Ui,
    env: &Env,
    common: &Common,
    (args, task, named): (&Args, Option<String>, &Named),
    repository: &Repository,
) -> Result<Option<(Args, Option<String>)>> {
    let is_elsewhere = args.clone || args.host.is_some();
    if is_elsewhere || args.from.is_some() || args.branch.is_some() || args.unique || args.reuse_branch || args.launch {
        return Err(Failure::usage(format!("the branch of {} is known already", printable(&args.name)))
            .hint("leave out `--from`, `--branch`, `--clone`, `--host`, `--unique`, `--reuse-branch` and `--launch`"));
    }
    if !named.is_issue {
        require_sandbox(env, args, task.as_deref())?;
    }
    let prepared = prepare(ui, env, common, (args, task, named), repository)?;
    Ok(prepared.map(|(made, task)| {
        let ask = made.ask || made.is_untrusted && !made.sandbox;
        (Args { if_exists: Some("return".to_owned()), ask, ..made }, task)
    }))
}

/// The environment in which the worktree is made: set up, whoever runs git's hooks. Of what others wrote nothing runs before a person has seen it.
fn for_worktree(env: &Env, args: &Args) -> Env {
    let mut env = env.clone();
    let how = if args.is_untrusted && !args.setup { "held" } else { "always" };
    env.vars.entry("SHOPFLOOR_SETUP".into()).or_insert_with(|| how.into());
    env
}

/// A longer text fits in no argument everywhere.
const LONGEST: usize = 100 << 10;

/// The option that passes a task. A long task is in a file, which is gone when it is dropped.
fn passed(env: &Env, task: &str) -> Result<(String, Option<fs::Temporary>)> {
    if task.len() <= LONGEST {
        return Ok((format!("--task={task}"), None));
    }
    let file = fs::Temporary::with(env, task.as_bytes())?;
    Ok((format!("--task-file={}", file.path().display()), Some(file)))
}

/// The words of worktree-spawn that make the worktree, without its name.
fn words(ui: &Ui, env: &Env, args: &Args, task: Option<&String>, repository: &Repository) -> Result<Vec<String>> {
    let mut words = vec!["subtree".to_owned()];
    words.extend(base(ui, env, repository)?.map(|base| format!("--base-dir={base}")));
    words.extend(task.cloned());
    for (flag, value) in
        [("--from", &args.from), ("--branch", &args.branch), ("--agent", &args.agent), ("--if-exists", &args.if_exists)]
    {
        words.extend(value.iter().map(|value| format!("{flag}={value}")));
    }
    let flags = [
        (args.unique, "--unique"),
        (args.reuse_branch, "--reuse-branch"),
        (args.submodules, "--submodules"),
        (args.launch, "--launch"),
        (args.sandbox && !args.cmd.is_empty(), "--sandbox"),
    ];
    words.extend(flags.iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| (*flag).to_owned()));
    if args.launch {
        words.extend(launcher(env)?.map(|name| ["--launcher".to_owned(), name.to_owned()]).into_iter().flatten());
    }
    Ok(words)
}

/// Exit 2 if what is to be contained is missing, or a sandbox.
fn require_sandbox(env: &Env, args: &Args, task: Option<&str>) -> Result<()> {
    match () {
        () if !args.sandbox || args.host.is_some() => Ok(()),
        () if task.is_none() && args.cmd.is_empty() => {
            Err(Failure::usage("`--sandbox` is for an agent with a task, or for a command")
                .hint("give the task as well, or `shopfloor start NAME TASK` later runs it without a sandbox"))
        }
        () => sandbox::require_available(env),
    }
}

/// `--clone`: a worker whose worktree no IDE sees. What is done already stays, and the same command goes on.
fn in_clone(ui: &Ui, env: &Env, common: &Common, args: &Args, task: Option<&str>) -> Result<Exit> {
    let mut add = ["add", &args.name].map(str::to_owned).to_vec();
    add.extend(agent(env, args)?.map(|agent| format!("--agent={agent}")));
    add.extend(runner(args));
    add.extend(args.host.as_ref().map(|host| format!("--host={host}")));
    let id = args.host.as_ref().map_or_else(|| args.name.clone(), |host| format!("{host}:{}", args.name));
    let skips = args.yolo || args.sandbox && !args.ask;
    add.push(if skips { "--yolo" } else { "--ask" }.to_owned());
    // A root is made with the first agent, and a host belongs to one.
    if lacks_root(env)? {
        if let Some(host) = &args.host {
            return Err(no_host(host));
        }
        let init = vec!["init".to_owned()];
        if common.dry_run {
            return pass_on(ui, env, common, "worker-ctl", init);
        }
        let made = quietly(ui, env, &words_for(common, "worker-ctl", init))?;
        if made.status.code() != 0 {
            ui.answer(made.text.as_bytes());
            return Ok(exit_of(made.status));
        }
    }
    if common.dry_run {
        return pass_on(ui, env, common, "worker-ctl", add);
    }
    let there = || -> Result<Option<Value>> {
        Ok(workers(env)?.into_iter().find(|worker| worker["id"] == *id && worker["adopted"] != true))
    };
    if !there()?.is_some_and(|worker| task.is_some_and(|task| goes_on(args, &worker, task))) {
        let added = quietly(ui, &for_worktree(env, args), &words_for(common, "worker-ctl", add))?;
        if added.status.code() != 0 {
            ui.answer(added.text.as_bytes());
            return Ok(exit_of(added.status));
        }
    }
    let worker = match (there()?, &args.host) {
        (None, Some(host)) => on_host(env, host, &id)?,
        (worker, _) => worker,
    };
    let Some(worker) = worker else {
        return Err(Failure::failed("the worker is not there").hint("the same command goes on"));
    };
    if let Some(task) = task {
        // What a host has, the host knows.
        if let Some(lacks) = if args.host.is_some() { None } else { missing_program(env, args)? } {
            ui.warn(format!("no agent was started: {lacks} is not on the PATH; once it is, the same command goes on"));
        } else if let Some((exit, error)) = give(ui, env, &worker, task)? {
            ui.note("the same command goes on");
            if ui.is_json() {
                ui.json_of_both(&there()?.unwrap_or(worker), &json!({ "error": error }));
            }
            return Ok(exit);
        }
    }
    let path = worker["worktree"].as_str().unwrap_or_default();
    match ui.is_json() {
        true => ui.json(&there()?.unwrap_or(worker)),
        false => ui.line(printable(path)),
    }
    Ok(Exit::Done)
}

/// Whether a worker is of the same program, and has this task already or was killed before it got it. It may have done it
/// before an answer was here.
fn goes_on(args: &Args, worker: &Value, task: &str) -> bool {
    let has_it = worker["prompt"].as_str().map(str::trim) == Some(task.trim());
    let is_open = match worker["task"].as_str() {
        Some("rejected") => false,
        Some("needs_review") => has_it,
        _ => has_it || worker["prompt"].is_null(),
    };
    is_open && !is_other(args, worker) && !has_landed(worker, task)
}

fn no_host(host: &str) -> Failure {
    let name = shell_word(host.as_ref());
    Failure::usage(format!("no host is called `{}`", printable(host))).hint(format!(
        "`shopfloor init` makes what hosts belong to; then `shopfloor host add {name} --ssh DEST` adds this one"
    ))
}

/// Where worktrees lie, unless a person has said so or nothing can be made there: beside the main checkout, whose own tools
/// would take those inside of it for its files.
fn base(ui: &Ui, env: &Env, repository: &Repository) -> Result<Option<String>> {
    if set_by_person(env, "worktree_base")?.is_some() {
        return Ok(None);
    }
    let base = repository::worktree_base(&repository.main);
    let can_make =
        |base: &PathBuf| base.parent().is_some_and(|dir| fs::can_write(if base.is_dir() { base } else { dir }));
    let why = match (&base, base.as_ref().and_then(|base| base.to_str())) {
        (Some(base), Some(text)) if can_make(base) => return Ok(Some(text.to_owned())),
        (Some(base), Some(_)) => format!("nothing can be made at {}", base.display()),
        _ => "the path beside it is not UTF-8".to_owned(),
    };
    ui.note(format!("the worktree lies inside of the checkout, because {why}; `worktree_base` names another place"));
    Ok(None)
}

/// The text of the task.
fn task(ui: &Ui, env: &Env, args: &Args) -> Result<Option<String>> {
    let from_stdin = || -> Result<String> {
        String::from_utf8(ui.input()?).map_err(|_| Failure::malformed("the task on stdin is not UTF-8"))
    };
    match (args.text.as_ref().or(args.task.as_ref()), &args.task_file) {
        (Some(text), _) if text == "-" => from_stdin().map(Some),
        (Some(text), _) => Ok(Some(text.clone())),
        (None, Some(file)) if file == Path::new("-") => from_stdin().map(Some),
        (None, Some(file)) => {
            let bytes = fs::read(&env.cwd.join(file))?.ok_or_else(|| {
                Failure::malformed(format!("the file {} does not exist", file.display()))
                    .hint("name a file that exists")
            })?;
            String::from_utf8(bytes).map(Some).map_err(|_| Failure::malformed("the task is not UTF-8"))
        }
        (None, None) => Ok(None),
    }
}

/// Whether an earlier call with this name and this task was killed, so that this one goes on.
fn began(env: &Env, args: &Args, task: &str) -> Result<bool> {
    let rows = here(env)?;
    let [row] = &named(&rows, &args.name)[..] else { return Ok(false) };
    // What waits for a review from before the first task is no work on this one, if the branch was there before.
    let had_commits = args.branch.is_some() || args.reuse_branch;
    let is_done = |worker: &Value| {
        let is_reviewed = ["needs_review", "rejected"].iter().any(|done| worker["task"] == *done);
        is_reviewed && !(had_commits && worker["prompt"].is_null()) || has_landed(worker, task)
    };
    let is_done = worker_at(env, Path::new(&row.worktree))?.is_some_and(|worker| is_done(&worker));
    let kept = fs::read_no_follow(&Path::new(&row.worktree).join(".shopfloor/task.md"))?.unwrap_or_default();
    Ok(!is_done && String::from_utf8_lossy(&kept).trim() == task.trim())
}

/// Whether the worker's last task was this one, and its work has landed.
fn has_landed(worker: &Value, task: &str) -> bool {
    worker["landed_prompt"].as_str().is_some_and(|landed| landed.trim() == task.trim())
}

/// Makes the worktree, an agent of it, starts its program and gives it its task. What is done already stays.
fn begin(ui: &Ui, env: &Env, common: &Common, args: &Args, (task, words): (Option<&str>, Vec<String>)) -> Result<Exit> {
    let made = quietly(ui, &for_worktree(env, args), &words_for(common, "worktree-spawn", words))?;
    if made.status.code() != 0 {
        ui.answer(made.text.as_bytes());
        return Ok(exit_of(made.status));
    }
    let answer = |record: &Value| record["path"].as_str().map(PathBuf::from);
    let path = made.records.iter().find_map(answer).unwrap_or_else(|| made.text.trim_end_matches('\n').into());
    if let Some(lacks) = task.map_or(Ok(None), |_| missing_program(env, args))? {
        ui.warn(format!("no agent was started: {lacks} is not on the PATH; once it is, the same command goes on"));
    } else if let Some((exit, error)) = start(ui, env, args, (task, &path))? {
        // One that has another task refuses this one again.
        let worker = env.at(&path).and_then(|there| worker_at(&there, &path)).ok().flatten().unwrap_or_default();
        proc::check_interrupt()?;
        let its = worker["prompt"].as_str().unwrap_or_default().trim();
        let is_other = !its.is_empty() && task.is_some_and(|task| task.trim() != its);
        let next = if is_other { "" } else { "; once nothing is in the way, the same command goes on" };
        ui.note(format!("the worktree is {}{next}", path.display()));
        if ui.is_json() {
            ui.json_of_both(&made.records.first(), &json!({ "error": error }));
        }
        return Ok(exit);
    }
    ui.answer(made.text.as_bytes());
    Ok(Exit::Done)
}

/// How a step of another tool failed: its exit, and its error for an answer in JSON.
type FailedStep = (Exit, Value);

/// Runs a step of another tool. Returns how it failed, if it did.
fn take_step(ui: &Ui, env: &Env, mut words: Vec<String>) -> Result<Option<FailedStep>> {
    if ui.is_json() {
        words.insert(1, "--json".to_owned());
    }
    let done = quietly(ui, env, &words)?;
    if done.status.success() {
        return Ok(None);
    }
    let error = done.records.iter().find_map(|record| record.get("error").filter(|error| error.is_object()));
    let ended = || Failure::failed(format!("`{}` ended with {}", words.join(" "), done.status)).to_json();
    Ok(Some((exit_of(done.status), error.cloned().unwrap_or_else(ended))))
}

/// Makes a worker of the worktree, starts it and gives it its task. Returns how a step failed.
fn start(ui: &Ui, env: &Env, args: &Args, (task, path): (Option<&str>, &Path)) -> Result<Option<FailedStep>> {
    let there = &env.at(path)?;
    let mut add = ["worker-ctl", "add", "--worktree", "."].map(str::to_owned).to_vec();
    add.extend(agent(env, args)?.map(|agent| format!("--agent={agent}")));
    add.extend(runner(args));
    add.extend(args.target.iter().map(|target| format!("--target={target}")));
    add.extend(args.request.iter().map(|place| format!("--request={place}")));
    let flags = [(args.yolo, "--yolo"), (args.ask, "--ask")];
    add.extend(flags.into_iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| flag.to_owned()));
    if let Some(worker) = worker_at(there, path)?.filter(|worker| is_other(args, worker)) {
        forget(ui, there, &worker)?;
    }
    if worker_at(there, path)?.is_none()
        && let Some(failed) = take_step(ui, there, add)?
    {
        return Ok(Some(failed));
    }
    let Some(worker) = worker_at(there, path)? else { return Err(Failure::failed("the worktree has no agent")) };
    task.map_or(Ok(None), |task| give(ui, there, &worker, task))
}

/// Whether a worker is of another program than the one that was named, or lacks its sandbox.
fn is_other(args: &Args, worker: &Value) -> bool {
    args.agent.as_ref().is_some_and(|agent| worker["agent"] != **agent) || args.sandbox && worker["runner"] != "sandbox"
}

/// Forgets a worker, which keeps its worktree. Exit 1 if it has got a task, or something to lose.
fn forget(ui: &Ui, env: &Env, worker: &Value) -> Result<()> {
    let name = worker["id"].as_str().unwrap_or_default();
    let is_free = worker["alive"] != "up" && worker["prompt"].is_null() && worker["landed_prompt"].is_null();
    if is_free && quietly(ui, env, &["worker-ctl", "nuke", "--yes", name].map(str::to_owned))?.status.code() == 0 {
        return Ok(());
    }
    let (name, agent) = (shell_word(name.as_ref()), printable(worker["agent"].as_str().unwrap_or_default()));
    Err(Failure::new(Exit::No, "wrong_state", format!("{name} was begun otherwise: it is an agent of {agent}"))
        .hint(format!("`shopfloor nuke {name}` forgets it and keeps its worktree; then the same command goes on")))
}

/// How long the set-up may take before a task is given; then `worker-ctl start` refuses.
const SET_UP: &str = "10m";

/// The option of `worker-ctl add` for what runs the program.
fn runner(args: &Args) -> Option<String> {
    args.sandbox.then(|| "--runner=sandbox".to_owned())
}

/// Starts a worker's program and gives it the task, as far as that is not done. Returns how a step failed.
fn give(ui: &Ui, env: &Env, worker: &Value, task: &str) -> Result<Option<FailedStep>> {
    let name = worker["id"].as_str().unwrap_or_default();
    let (option, _file) = passed(env, task)?;
    let mut steps = Vec::new();
    // The same task is not given twice. A program that was started anew is told of it, and one of which a command was killed
    // before it typed the task.
    let has_it = worker["prompt"].as_str().map(str::trim) == Some(task.trim());
    let is_in_doubt = !worker["pending"].is_null() || worker["needs"] == "in_doubt";
    if worker["alive"] != "up" || has_it && is_in_doubt {
        steps.push(["worker-ctl", if has_it { "resume" } else { "up" }, name].map(str::to_owned).to_vec());
    }
    if !has_it {
        let tree = Path::new(worker["worktree"].as_str().unwrap_or_default());
        // What it is about to work with; that a step failed, the agent can see for itself.
        if worker["host"].is_null() && tree.is_dir() {
            let wait = ["sweatfile-apply", "-q", "wait", "--timeout", SET_UP].map(str::to_owned);
            let _spinner = ui.spinner("waiting for the set-up");
            quietly(ui, &env.at(tree)?, &wait)?;
        }
        steps.push(["worker-ctl", "start", name, &option].map(str::to_owned).to_vec());
    }
    for step in steps {
        if let Some(failed) = take_step(ui, env, step)? {
            return Ok(Some(failed));
        }
    }
    Ok(None)
}

/// What worker-ctl says of the worker in a worktree.
fn worker_at(env: &Env, path: &Path) -> Result<Option<Value>> {
    Ok(workers(env)?.into_iter().find(|worker| worker["worktree"] == *real(path).to_string_lossy()))
}

fn workers(env: &Env) -> Result<Vec<Value>> {
    Ok(listed(ask(env, &["worker-ctl", "status"])?))
}

/// A host's worker, of which nothing was known here when all hosts were asked at once. Exit 4 if the host does not answer.
fn on_host(env: &Env, host: &str, id: &str) -> Result<Option<Value>> {
    let status = ask(env, &["worker-ctl", "status", "--host", host])?;
    if status.has_kind("unreachable") {
        return Err(status.told_as(|why| UNREACHABLE.failure(why)).hint("the same command goes on"));
    }
    if status.has_failed() {
        return Err(status.told_as(Failure::failed));
    }
    Ok(listed(status).into_iter().find(|worker| worker["id"] == *id))
}

fn listed(status: Answer) -> Vec<Value> {
    let lists = status.records.into_iter().filter_map(|record| record.get("workers")?.as_array().cloned());
    lists.flatten().collect()
}

/// The program that was named, or that a person's settings name for agents.
fn agent(env: &Env, args: &Args) -> Result<Option<String>> {
    args.agent.clone().map_or_else(|| usual_agent(env), |agent| Ok(Some(agent)))
}

/// What is not there of the tools that start an agent, and of its program.
fn missing_program(env: &Env, args: &Args) -> Result<Option<String>> {
    let agent = agent(env, args)?;
    let program = agents::find(agent.as_deref().unwrap_or("claude")).map(|known| known.name);
    Ok(["worker-ctl", "tmux"]
        .into_iter()
        .chain(program)
        .find(|program| proc::find(env, program).is_none())
        .map(str::to_owned))
}
