//! The MCP server: an agent's five tools, over stdin and stdout, through the official SDK. The only asynchronous part;
//! each tool is what the command of that name does.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation, InitializeResult,
    JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt};
use serde_json::{Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;
use shopfloor_core::ui::{Options, Ui};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::TOOL;
use crate::cli::{Launch, SubtreeArgs, Task, WorkerArgs};
use crate::commands::notify::{Said, notify};
use crate::commands::wait::{Next, Waiting, Wanted};
use crate::commands::{list, subtree, worker};
use crate::event::Status;
use crate::facts::agents::{self, Known};
use crate::facts::place::Place;
use crate::spool::{Claim, Spool};

/// How long `wait_for_event` waits when nobody says.
const PATIENCE: u64 = 300;

/// How long an answer may take to be written.
const STALE: Duration = Duration::from_secs(5);

/// Serves until the client goes.
pub fn serve(ui: &Ui, env: &Env, place: &Place, caller: &Known) -> Result<Exit> {
    let failed = |what: &str, e: String| Failure::failed(format!("cannot {what}")).because(io::Error::other(e));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|e| failed("start the MCP server", e.to_string()))?;
    let handed = Handed::default();
    let place = crate::commands::subtree::seen_from(place, caller);
    let server = Server {
        env: env.clone(),
        place,
        id: caller.agent.id.clone(),
        handed: handed.clone(),
        over: Over::default(),
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
    /// A signal came.
    interrupted: Over,
    /// What an agent says is published in the order it said it.
    order: Arc<tokio::sync::Mutex<()>>,
}

type Answer = std::result::Result<Value, Failure>;

impl Server {
    /// Does what a tool does. Blocks.
    fn call(&self, name: &str, args: &JsonObject, request: &RequestContext<RoleServer>) -> Option<Answer> {
        self.handed.give_back_stale();
        // As it is by now, seen from the agent's own worktree wherever the server was started.
        let home = self.place.here.as_ref().map_or(&self.env.cwd, |tree| &tree.path);
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
            "wait_for_event" => self.wait_for_event(&env, &place, args, request),
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

    /// The event counts as taken once the answer is written.
    fn wait_for_event(
        &self,
        env: &Env,
        place: &Place,
        args: &JsonObject,
        request: &RequestContext<RoleServer>,
    ) -> Answer {
        let kinds = match args.get("types") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(types)) if types.iter().all(Value::is_string) => {
                types.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            Some(_) => return Err(Failure::usage("`types` must be a list of strings")),
        };
        let seconds = match args.get("timeout_secs") {
            None | Some(Value::Null) => PATIENCE,
            Some(n) => n.as_u64().ok_or_else(|| Failure::usage("`timeout_secs` must be a whole number"))?,
        };
        let caller = agents::require(place, &self.id)?;
        let spool = Spool::of(&place.shared(), &caller.agent.id);
        let wanted = Wanted { kinds, ..Wanted::default() };
        let mut waiting = Waiting::new(env, place, spool, wanted, false)?;
        let (wake, token) = (waiting.waker(), request.ct.clone());
        let wake = Arc::new(Mutex::new(Some(wake)));
        let at_end = wake.clone();
        self.over.then(move || wake_once(&at_end));
        tokio::runtime::Handle::current().spawn(async move {
            token.cancelled().await;
            wake_once(&wake);
        });
        match waiting.next(Instant::now().checked_add(Duration::from_secs(seconds)))? {
            // Nobody will read the answer.
            Next::Event(claim) if request.ct.is_cancelled() || self.over.is_over() => {
                claim.give_back()?;
                Ok(json!({ "event": null, "cancelled": true }))
            }
            Next::Event(claim) => {
                let answer = json!({ "event": claim.event.0 });
                self.handed.wait(*claim);
                let handed = self.handed.clone();
                tokio::runtime::Handle::current().spawn(async move {
                    tokio::time::sleep(STALE * 2).await;
                    handed.give_back_stale();
                });
                Ok(answer)
            }
            Next::Timeout | Next::Signal(_) => Ok(json!({ "event": null, "timeout": true })),
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
        std::future::ready(Ok(ListToolsResult::with_all_items(tools())))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> std::result::Result<CallToolResponse, ErrorData> {
        let server = self.clone();
        let name = request.name.clone();
        let args = request.arguments.unwrap_or_default();
        // A wait must not hold up the others.
        let turn = if name == "wait_for_event" { None } else { Some(self.order.lock().await) };
        let called = tokio::task::spawn_blocking(move || server.call(&name, &args, &context)).await;
        drop(turn);
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

/// The five tools, as the seed of this design has them.
fn tools() -> Vec<Tool> {
    let text = |what: &str| json!({ "type": "string", "description": what });
    let tool = |name: &'static str, what: &'static str, properties: Value, required: &[&str]| {
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        Tool::new(name, what, schema.as_object().cloned().unwrap_or_default())
    };
    let worker = json!({
        "type": "object",
        "properties": {
            "name": text("What it is called"),
            "prompt": text("What it is to do, whole"),
            "agent": text("The program that does it, such as claude or gemini"),
        },
        "required": ["name", "prompt"],
    });
    vec![
        tool(
            "spawn_subtree",
            "Give a part of your task to an agent of its own, in a git worktree on a branch of its own",
            json!({ "task": text("What it is to do, whole"), "branch_name": text("What the branch is called") }),
            &["task", "branch_name"],
        ),
        tool(
            "spawn_workers",
            "Seat workers in your own worktree, each with its own task",
            json!({ "workers": { "type": "array", "items": worker, "minItems": 1 } }),
            &["workers"],
        ),
        tool(
            "notify_parent",
            "Tell your parent how it went, or something it should know; it is kept until the parent takes it",
            json!({
                "status": { "type": "string", "enum": ["success", "failure", "info"] },
                "message": text("What there is to say"),
            }),
            &["status", "message"],
        ),
        tool(
            "wait_for_event",
            "Wait until one of those you spawned has something to tell, and take that event",
            json!({
                "types": {
                    "type": "array", "items": { "type": "string" },
                    "description": "Only these: worker_complete, subtree_complete, worker_idle, worker_exited, worker_died, agent_message",
                },
                "timeout_secs": { "type": "integer", "minimum": 0, "description": "How long to wait (300)" },
            }),
            &[],
        ),
        tool("list_agents", "List all agents, how they are and what waits for them", json!({}), &[]),
    ]
}

/// Something that happens once, and what is to be done then.
#[derive(Clone, Default)]
struct Over {
    state: Arc<Mutex<(bool, Vec<Work>)>>,
}

type Work = Box<dyn FnOnce() + Send>;

impl Over {
    fn then(&self, work: impl FnOnce() + Send + 'static) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.0 {
            true => work(),
            false => state.1.push(Box::new(work)),
        }
    }

    fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = true;
        state.1.drain(..).for_each(|work| work());
    }

    fn is_over(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0
    }
}

/// stdin, which notices its end: nobody waits for an event on behalf of a client that has gone.
struct Reader<R> {
    inner: R,
    over: Over,
}

impl<R: AsyncRead + Unpin> AsyncRead for Reader<R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.inner).poll_read(context, buffer);
        if matches!(&read, Poll::Ready(done) if done.is_err() || buffer.filled().len() == before) {
            this.over.end();
        }
        read
    }
}

/// Events in answers that are on their way to the client.
#[derive(Clone, Default)]
struct Handed {
    waiting: Arc<Mutex<Vec<(Instant, Claim)>>>,
    written: Arc<Mutex<Vec<Claim>>>,
}

impl Handed {
    fn wait(&self, claim: Claim) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), claim));
    }

    /// What should long have been written never will be: its request was cancelled at the last moment.
    fn give_back_stale(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, claim) in waiting.extract_if(.., |(since, _)| since.elapsed() > STALE) {
            let _ = claim.give_back();
        }
    }

    /// This line was written: the events in it only have to be flushed.
    fn wrote(&self, line: &[u8]) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |claim: &Claim| {
            let uid = claim.event.uid().as_bytes();
            line.windows(uid.len()).any(|window| window == uid)
        };
        written.extend(waiting.extract_if(.., |(_, claim)| holds(claim)).map(|(_, claim)| claim));
    }

    /// All that was written is out.
    fn flushed(&self) {
        let written = std::mem::take(&mut *self.written.lock().unwrap_or_else(PoisonError::into_inner));
        for claim in written {
            // What cannot be acknowledged is delivered again.
            let _ = claim.acknowledge();
        }
    }
}

/// stdout, which notices when an event has gone out.
struct Writer<W> {
    inner: W,
    line: Vec<u8>,
    handed: Handed,
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Writer<W> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.inner).poll_write(context, bytes);
        if let Poll::Ready(Ok(n)) = &written {
            for piece in bytes[..*n].split_inclusive(|b| *b == b'\n') {
                this.line.extend_from_slice(piece);
                if piece.ends_with(b"\n") {
                    this.handed.wrote(&this.line);
                    this.line.clear();
                }
            }
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.inner).poll_flush(context);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            this.handed.flushed();
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(context)
    }
}
