//! `queue` and `start --queue`: the tasks that wait for a worker.

use std::path::Path;

use clap::{Args as ClapArgs, Subcommand};
use serde::Deserialize;
use serde_json::{Value, json};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::printable;

use crate::apply::give_task::held_agents;
use crate::commands;
use crate::context::Context;
use crate::plan::queue::{add, require_agent, waits_for};
use crate::store::State;
use crate::task_queue::QueuedTask;
use crate::tmux::typing;
use crate::worker::Worker;

#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(subcommand)]
    pub what: Option<What>,
}

#[derive(Debug, Subcommand)]
pub enum What {
    /// Show the tasks that wait, the next one first
    #[command(after_help = "Example:\n  worker-ctl queue list --json")]
    List,
    /// Put a task at another place; 1 is the next one
    ///
    /// Exits with 1 if no such task waits.
    #[command(after_help = "Example:\n  worker-ctl queue move t7 1")]
    Move {
        /// The task
        id: String,
        /// Its new place
        #[arg(value_parser = clap::value_parser!(u64).range(1..))]
        place: u64,
    },
    /// Take a task out of the queue
    ///
    /// Exits with 1 if no such task waits.
    #[command(after_help = "Example:\n  worker-ctl queue drop t7")]
    Drop {
        /// The task
        id: String,
    },
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let (id, place) = match args.what.as_ref().unwrap_or(&What::List) {
        What::List => return list(ctx),
        What::Move { id, place } => (id, Some(usize::try_from(*place).unwrap_or(usize::MAX))),
        What::Drop { id } => (id, None),
    };
    let change = |state: &mut State| {
        let at = state.queue.position(id)?;
        let place = place.map(|place| place.min(state.queue.waiting.len()));
        match place {
            Some(place) => state.queue.shift(at, place - 1),
            None => drop(state.queue.waiting.remove(at)),
        }
        Ok(place)
    };
    let place = if ctx.is_dry { change(&mut ctx.state()?)? } else { ctx.update(change)? };
    let answer = json!({ "id": id, "place": place });
    let done = place.map_or(format!("drop {id}"), |place| format!("move {id} to place {place}"));
    if ctx.is_dry {
        return Ok(ctx.ui.would(&answer, &[done]));
    }
    ctx.ui.json_or_done(&answer, done);
    Ok(Exit::Done)
}

fn list(ctx: &Context<'_>) -> Result<Exit> {
    let state = ctx.state()?;
    let waiting = &state.queue.waiting;
    if ctx.ui.is_json() {
        ctx.ui.json_lines(waiting.iter().enumerate().map(|(at, task)| row(ctx, &state, at, task)));
        return Ok(Exit::Done);
    }
    let width = waiting.iter().map(|task| task.id.len()).max().unwrap_or(0);
    for (at, task) in waiting.iter().enumerate() {
        let first: String = task.prompt.lines().next().unwrap_or_default().chars().take(60).collect();
        let wants = [task.worker.as_ref(), task.agent.as_ref()].into_iter().flatten().map(|who| format!("for {who}"));
        let waits = waits(ctx, &state, task).map(|what| format!("waits for {what}"));
        let notes: Vec<String> = wants.chain(waits).collect();
        let notes = if notes.is_empty() { String::new() } else { format!("  ({})", notes.join(", ")) };
        ctx.ui.line(printable(&format!("{:>3}  {:width$}  {first}{notes}", at + 1, task.id)));
    }
    if waiting.is_empty() {
        ctx.ui.note("no task waits");
    }
    Ok(Exit::Done)
}

/// What a task waits for, beside a worker that is idle.
fn waits(ctx: &Context<'_>, state: &State, task: &QueuedTask) -> Option<String> {
    if let Some(what) = waits_for(state, task) {
        return Some(what);
    }
    let suits = |worker: &&Worker| {
        let is_wanted = match &task.worker {
            Some(name) => *name == worker.name,
            None => !ctx.root.worker(&worker.name).excluded_from_pool,
        };
        is_wanted && task.agent.as_ref().is_none_or(|agent| *agent == ctx.root.agent_name(worker))
    };
    let mut able = state.workers.values().filter(suits).peekable();
    let agent = task.agent.as_deref().unwrap_or("any agent");
    if able.peek().is_none() {
        return Some(match &task.worker {
            Some(name) => format!("{name}, which runs another agent than {agent}"),
            None => format!("a worker of {agent}, and there is none"),
        });
    }
    let held = held_agents(ctx, state);
    able.all(|worker| held.contains(&ctx.root.agent_name(worker))).then(|| "the end of a usage limit".to_owned())
}

fn row(ctx: &Context<'_>, state: &State, at: usize, task: &QueuedTask) -> Value {
    let QueuedTask { id, prompt, worker, agent, after, tries, .. } = task;
    json!({ "id": id, "place": at + 1, "prompt": prompt, "worker": worker, "agent": agent, "after": after,
        "tries": tries, "waits_for": waits(ctx, state, task) })
}

/// A line of a file with tasks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskLine {
    id: Option<String>,
    prompt: String,
    worker: Option<String>,
    agent: Option<String>,
    after: Option<String>,
}

/// What is to be queued.
pub struct NewTasks<'a> {
    /// The text of one task.
    pub text: Option<&'a str>,
    /// Files with a task each, or with a task a line.
    pub files: Vec<&'a Path>,
    /// The worker that they are for, if they name none.
    pub worker: Option<&'a String>,
    /// The task that has to land before these, if they name none.
    pub after: Option<&'a String>,
    /// The id of a hub's command, which queues them once.
    pub op: Option<&'a String>,
}

/// Appends tasks to the queue: all, or none with exit 2.
pub fn enqueue(ctx: &Context<'_>, new: &NewTasks<'_>) -> Result<Exit> {
    let mut tasks = Vec::new();
    if let Some(text) = new.text {
        tasks.push(("--task".to_owned(), one(commands::read_text(ctx, text)?)));
    }
    for file in &new.files {
        let is_list = file.as_os_str() == "-" || file.extension().is_some_and(|extension| extension == "jsonl");
        match is_list {
            true => tasks.extend(read_lines(ctx, file)?),
            false => tasks.push((file.display().to_string(), one(commands::read_text_file(ctx, file)?))),
        }
    }
    if tasks.is_empty() {
        return Err(Failure::usage("the tasks are missing").hint("name a file for each, or one `.jsonl`; `-` is stdin"));
    }
    let state = ctx.state()?;
    for (at, task) in &mut tasks {
        let here = |failure: Failure| Failure { message: format!("{at}: {}", failure.message), ..failure };
        task.agent = task.agent.take().or_else(|| ctx.flag("agent").map(str::to_owned));
        task.after = task.after.take().or_else(|| new.after.cloned());
        task.worker = task.worker.take().or_else(|| new.worker.cloned());
        if let Some(agent) = &task.agent {
            ctx.root.agent(agent).map_err(here)?;
        }
        if let Some(worker) = task.worker.as_ref().and_then(|name| state.workers.get(name)) {
            require_agent((&worker.name, &ctx.root.agent_name(worker)), task.agent.as_deref()).map_err(here)?;
        }
        if task.prompt.trim().is_empty() {
            return Err(Failure::malformed(format!("{at}: the task is empty")).hint("write what is to be done"));
        }
    }
    let change = |state: &mut State| match new.op.and_then(|op| state.begun(op)) {
        Some(ids) => Ok(ids),
        None => {
            let ids = add(state, tasks)?;
            new.op.into_iter().for_each(|op| state.note_begun(op, &ids));
            Ok(ids)
        }
    };
    let ids = if ctx.is_dry { change(&mut ctx.state()?)? } else { ctx.update(change)? };
    let answer = json!({ "queued": ids });
    match ctx.is_dry {
        true => {
            let would: Vec<String> = ids.iter().map(|id| format!("queue {id}")).collect();
            return Ok(ctx.ui.would(&answer, &would));
        }
        false if ctx.ui.is_json() => ctx.ui.json(&answer),
        false => ids.iter().for_each(|id| ctx.ui.line(id)),
    }
    if !crate::up_lock::is_running(&ctx.root.path)? {
        ctx.ui.note("no `up` runs that gives them to workers: `worker-ctl up --detach`");
    }
    Ok(Exit::Done)
}

fn one(prompt: String) -> QueuedTask {
    QueuedTask { prompt, ..QueuedTask::default() }
}

/// The tasks of a file of JSON Lines, each with its place. Exit 2 for a line that is no task.
fn read_lines(ctx: &Context<'_>, file: &Path) -> Result<Vec<(String, QueuedTask)>> {
    let bytes = commands::bytes_of(ctx, file)?;
    // Some editors begin a file with the mark.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    let mut tasks = Vec::new();
    for (number, line) in
        bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty())
    {
        let at = format!("{}:{}", file.display(), number + 1);
        let refuse = |why: String| {
            Failure::malformed(why).hint("write a task a line: {\"id\"?,\"prompt\",\"worker\"?,\"agent\"?,\"after\"?}")
        };
        // A list of the values would be read as well.
        if !line.trim_ascii_start().starts_with(b"{") {
            return Err(refuse(format!("{at}: a line that is no task")));
        }
        let line: TaskLine = serde_json::from_slice(line).map_err(|e| {
            let why = e.to_string();
            let why = why.split(" at line ").next().unwrap_or_default();
            refuse(format!("{at}:{}: {why}", e.column()))
        })?;
        let TaskLine { id, prompt, worker, agent, after } = line;
        let prompt = typing::cleaned(prompt.into_bytes())
            .map_err(|failure| Failure { message: format!("{at}: {}", failure.message), ..failure })?;
        if id.as_ref().is_some_and(String::is_empty) {
            return Err(Failure::malformed(format!("{at}: the id is empty")).hint("leave it out, or write one"));
        }
        tasks.push((
            at,
            QueuedTask { id: id.unwrap_or_default(), prompt, worker, agent, after, ..QueuedTask::default() },
        ));
    }
    Ok(tasks)
}
