//! The MCP server: an agent's five tools, over stdin and stdout, through the official SDK. The only asynchronous part;
//! each tool is what the command of that name does.

mod stream;
mod tools;

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation, InitializeResult,
    JsonObject, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt};
use serde_json::{Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;
use shopfloor_core::ui::{Options, Ui};

use self::stream::{Handed, Over, PROMPT, Reader, STALE, Writer};
use crate::TOOL;
use crate::cli::{Launch, SubtreeArgs, Task, WorkerArgs};
use crate::commands::notify::{Said, notify};
use crate::commands::wait::{Next, Waiting, Wanted};
use crate::commands::{list, subtree, worker};
use crate::event::Status;
use crate::facts::agents::{self, Known};
use crate::facts::place::Place;
use crate::spool::Spool;

/// How long `wait_for_event` waits when nobody says: clients give up after a minute.
const PATIENCE: u64 = 50;

/// How often a client that wants to know hears that somebody still waits.
const PROGRESS: Duration = Duration::from_secs(10);

/// Serves until the client goes.
pub fn serve(ui: &Ui, env: &Env, place: &Place, caller: &Known) -> Result<Exit> {
    let failed = |what: &str, e: String| Failure::failed(format!("cannot {what}")).because(io::Error::other(e));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|e| failed("start the MCP server", e.to_string()))?;
    let handed = Handed::new(env);
    let place = crate::commands::subtree::seen_from(place, caller);
    let server = Server {
        env: env.clone(),
        place,
        id: caller.agent.id.clone(),
        handed: handed.clone(),
        over: Over::default(),
        latest: Arc::default(),
        waits: Arc::default(),
        interrupted: Over::default(),
        order: Arc::default(),
    };
    let (stdin, stdout) = rmcp::transport::stdio();
    let reader = Reader { inner: stdin, over: server.over.clone() };
    let (interrupted, order) = (server.interrupted.clone(), server.order.clone());
    let ended = runtime.block_on(async {
        let running = server.serve((reader, Writer { inner: stdout, line: Vec::new(), handed })).await;
        let running = running.map_err(|e| failed("serve MCP", e.to_string()))?;
        let stop = running.cancellation_token();
        interrupted.then(move || stop.cancel());
        running.waiting().await.map_err(|e| failed("serve MCP", e.to_string()))
    });
    // What was begun is brought to its end, though nobody reads how it went.
    drop(runtime.block_on(order.lock()));
    // Whoever waits for an event is left behind; what it has not handed over is there for the next one.
    runtime.shutdown_background();
    // A signal that came in the middle of a spawn, which was undone first.
    proc::check_interrupt()?;
    match ended {
        Ok(_) => Ok(Exit::Done),
        // A client that goes before it has shaken hands, or says what is no MCP.
        Err(failure) => {
            ui.problem(&failure);
            Ok(Exit::Failed)
        }
    }
}

#[derive(Clone)]
struct Server {
    env: Env,
    place: Place,
    id: String,
    handed: Handed,
    /// The client has closed its end.
    over: Over,
    /// Ends the wait that was begun last.
    latest: Arc<Mutex<Over>>,
    /// Held by the wait that is under way: the next one ends it, and begins when it has.
    waits: Arc<Mutex<()>>,
    /// A signal came.
    interrupted: Over,
    /// What an agent says is published in the order it said it.
    order: Arc<tokio::sync::Mutex<()>>,
}

type Answer = std::result::Result<Value, Failure>;

impl Server {
    /// Does what a tool does. Blocks.
    fn call(
        &self,
        name: &str,
        args: &JsonObject,
        request: &RequestContext<RoleServer>,
        ended: &Over,
    ) -> Option<Answer> {
        self.handed.give_back_stale();
        self.handed.next_call(args.get("after_event_id").and_then(Value::as_u64));
        // As it is by now, seen from the agent's own worktree wherever the server was started.
        let home = self.place.here.as_ref().map_or(&self.env.cwd, |tree| &tree.path);
        // Once that is gone it has still something to say, and to wait for.
        let home = if home.is_dir() { home } else { &self.place.common_dir };
        let env = Env { cwd: home.clone(), cwd_named: true, ..self.env.later() };
        let place = match Place::find(&env) {
            Ok(place) => place,
            Err(failure) => return Some(Err(failure)),
        };
        let ui = Ui::new(TOOL, &env, Options::default());
        Some(match name {
            "spawn_subtree" => self.spawn_subtree(&ui, &env, &place, args),
            "spawn_workers" => self.spawn_workers(&ui, &env, &place, args),
            "notify_parent" => self.notify_parent(&env, &place, args),
            "wait_for_event" => self.wait_for_event(&env, &place, args, request, ended),
            "list_agents" => list::json_rows(&ui, &env, &place).map(|agents| json!({ "agents": agents })),
            _ => return None,
        })
    }

    fn identity(&self) -> crate::cli::Identity {
        crate::cli::Identity { id: Some(self.id.clone()) }
    }

    fn spawn_subtree(&self, ui: &Ui, env: &Env, place: &Place, args: &JsonObject) -> Answer {
        let task = Task { task: Some(required(args, "task")?), task_file: None };
        let launch = Launch { launch: true, launcher: None };
        let name = required(args, "branch_name")?;
        let args = SubtreeArgs { name, task, launch, identity: self.identity(), ..SubtreeArgs::default() };
        subtree::spawn(ui, env, place, &args).map(|answer| answer.json())
    }

    /// As many as can be; what failed is told beside what was made.
    fn spawn_workers(&self, ui: &Ui, env: &Env, place: &Place, args: &JsonObject) -> Answer {
        let workers = args.get("workers").and_then(Value::as_array).filter(|workers| !workers.is_empty());
        let workers = workers.ok_or_else(|| Failure::usage("`workers` must be a list of workers"))?;
        let one = |wanted: &Value| -> Answer {
            let wanted = wanted.as_object().ok_or_else(|| Failure::usage("a worker must be an object"))?;
            let args = WorkerArgs {
                name: required(wanted, "name")?,
                task: Task { task: Some(required(wanted, "prompt")?), task_file: None },
                agent: optional(wanted, "agent")?,
                launch: Launch { launch: true, launcher: None },
                identity: self.identity(),
                ..WorkerArgs::default()
            };
            worker::spawn(ui, env, place, &args).map(|answer| answer.json())
        };
        let named = |wanted: &Value| wanted.get("name").cloned().unwrap_or_default();
        let answers = workers.iter().map(|wanted| {
            one(wanted).unwrap_or_else(|failure| json!({ "name": named(wanted), "error": failure.to_json() }))
        });
        Ok(json!({ "workers": answers.collect::<Vec<_>>() }))
    }

    fn notify_parent(&self, env: &Env, place: &Place, args: &JsonObject) -> Answer {
        let status = required(args, "status")?;
        let status = Status::parse(&status)
            .ok_or_else(|| Failure::usage(format!("`status` must be success, failure or info, not `{status}`")))?;
        let message = required(args, "message")?;
        let said = Said { status, message: &message, kind: None, dedupe: None, named: Some(&self.id) };
        let published = notify(env, place, &said)?;
        Ok(json!({ "ack": true, "uid": published.uid, "id": published.id, "to": published.to }))
    }

    /// An event that was there at once counts as taken with the client's next call. One that it had to wait for may come
    /// to a client that has given up: it is lent, and comes once more unless the next call acknowledges it.
    fn wait_for_event(
        &self,
        env: &Env,
        place: &Place,
        args: &JsonObject,
        request: &RequestContext<RoleServer>,
        ended: &Over,
    ) -> Answer {
        let begun = Instant::now();
        let (wanted, seconds) = wish(args)?;
        let _turn = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        let is_given_up = || ended.is_over() || request.ct.is_cancelled() || self.over.is_over();
        if is_given_up() {
            return Ok(json!({ "event": null, "cancelled": true }));
        }
        if let Some(event) = self.handed.redeliver(&wanted) {
            let mut record = event.0;
            record.insert("redelivered".into(), true.into());
            return Ok(json!({ "event": record, "redelivered": true }));
        }
        let caller = agents::require(place, &self.id)?;
        let spool = Spool::of(&place.shared(), &caller.agent.id);
        let mut waiting = Waiting::new(env, place, spool, wanted, false)?;
        let (wake, token) = (waiting.waker(), request.ct.clone());
        let wake = Arc::new(Mutex::new(Some(wake)));
        for over in [&self.over, ended] {
            let wake = wake.clone();
            over.then(move || wake_once(&wake));
        }
        tokio::runtime::Handle::current().spawn(async move {
            token.cancelled().await;
            wake_once(&wake);
        });
        let next = waiting.next(begun.checked_add(Duration::from_secs(seconds)))?;
        match next {
            // Nobody will read the answer.
            Next::Event(claim) if is_given_up() => {
                claim.give_back()?;
                Ok(json!({ "event": null, "cancelled": true }))
            }
            Next::Event(claim) => {
                let answer = json!({ "event": claim.event.0 });
                self.handed.wait(*claim, begun.elapsed() < PROMPT);
                let handed = self.handed.clone();
                tokio::runtime::Handle::current().spawn(async move {
                    tokio::time::sleep(STALE * 2).await;
                    handed.give_back_stale();
                });
                Ok(answer)
            }
            _ if ended.is_over() => Ok(json!({ "event": null, "cancelled": true })),
            Next::Timeout | Next::Signal(_) => Ok(json!({ "event": null, "timeout": true })),
        }
    }
}

/// What is waited for, and for how many seconds.
fn wish(args: &JsonObject) -> Result<(Wanted, u64)> {
    let kinds = match args.get("types") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(types)) if types.iter().all(Value::is_string) => {
            types.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(_) => return Err(Failure::usage("`types` must be a list of strings")),
    };
    let number = |name: &str| match args.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(n) => n.as_u64().map(Some).ok_or_else(|| Failure::usage(format!("`{name}` must be a whole number"))),
    };
    number("after_event_id")?;
    Ok((Wanted { kinds, ..Wanted::default() }, number("timeout_secs")?.unwrap_or(PATIENCE)))
}

/// Tells a client that asked for it that its call is still under way, until this is aborted.
async fn tell_progress(context: RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else { return };
    for tick in 1u32.. {
        tokio::time::sleep(PROGRESS).await;
        let told = ProgressNotificationParam::new(token.clone(), f64::from(tick) * PROGRESS.as_secs_f64());
        if context.peer.notify_progress(told).await.is_err() {
            return;
        }
    }
}

fn wake_once<F: FnOnce()>(wake: &Mutex<Option<F>>) {
    if let Some(wake) = wake.lock().unwrap_or_else(PoisonError::into_inner).take() {
        wake();
    }
}

fn optional(args: &JsonObject, name: &str) -> Result<Option<String>> {
    match args.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Failure::usage(format!("`{name}` must be a string"))),
    }
}

fn required(args: &JsonObject, name: &str) -> Result<String> {
    optional(args, name)?.ok_or_else(|| Failure::usage(format!("`{name}` is missing")))
}

impl ServerHandler for Server {
    fn get_info(&self) -> InitializeResult {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        InitializeResult::new(capabilities)
            .with_server_info(Implementation::new(TOOL, env!("CARGO_PKG_VERSION")))
            .with_instructions(format!(
                "You are the agent {}. Spawn subtrees and workers for parts of your task, wait for their events, and \
                 tell your parent with notify_parent once you are done.",
                self.id
            ))
    }

    fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> impl Future<Output = std::result::Result<ListToolsResult, ErrorData>> + Send + '_ {
        std::future::ready(Ok(ListToolsResult::with_all_items(tools::tools())))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> std::result::Result<CallToolResponse, ErrorData> {
        let server = self.clone();
        let name = request.name.clone();
        let args = request.arguments.unwrap_or_default();
        // In the order in which the requests came: the threads below have none.
        let ended = Over::default();
        if name == "wait_for_event" {
            std::mem::replace(&mut *self.latest.lock().unwrap_or_else(PoisonError::into_inner), ended.clone()).end();
        }
        // A wait must not hold up the others.
        let turn = if name == "wait_for_event" { None } else { Some(self.order.lock().await) };
        let progress = tokio::spawn(tell_progress(context.clone()));
        let called = tokio::task::spawn_blocking(move || server.call(&name, &args, &context, &ended)).await;
        drop(turn);
        progress.abort();
        if proc::check_interrupt().is_err() {
            self.over.end();
            self.interrupted.end();
        }
        let answer = called.map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
        let result = match answer {
            None => return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None)),
            Some(Ok(value)) => CallToolResult::structured(value),
            Some(Err(failure)) => {
                let lines =
                    std::iter::once(failure.to_string()).chain(failure.hints.iter().map(|h| format!("hint: {h}")));
                CallToolResult::error(vec![ContentBlock::text(lines.collect::<Vec<_>>().join("\n"))])
            }
        };
        Ok(result.into())
    }
}
