//! `mcp`: the MCP server with an agent's tools, over stdin and stdout, through the official SDK. This is the only
//! asynchronous part. Each tool does what the command of that name does.

mod delivered;
mod workers;

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    ErrorData, Implementation, InitializeResult, JsonObject, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ServerCapabilities,
};
use rmcp::service::{RequestContext, RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ServerHandler, ServiceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;
use shopfloor_core::sandbox;
use shopfloor_core::text::mend_half_characters;
use shopfloor_core::ui::{Options, Ui, printable};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, Stdin, Stdout};
use tokio_util::sync::CancellationToken;

use self::delivered::DeliveredEvents;
use super::shared_args::CallerArgs;
use super::spawned::{LaunchArgs, TaskArgs};
use super::{subtree, worker};
use crate::agent_in_worktree::KnownAgent;
use crate::apply::list_agents::{self, ListedAgent, ListingRequest};
use crate::apply::notify::{Report, notify};
use crate::apply::wait::{EventFilter, EventWait, WaitOutcome};
use crate::event::EventStatus;
use crate::facts::{agents, repository};
use crate::failure;
use crate::plan::removal::require_spawned;
use crate::plan::spawn::SpawnRequest;
use crate::repository_view::{Place, Worktree};
use crate::spool::{Published, Spool};
use crate::tool::TOOL;
use crate::watch::Signals;

/// Serve an agent's tools over MCP on stdin and stdout
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  claude mcp add shopfloor -- worktree-spawn mcp --as main.feature-a")]
pub struct Args {
    #[command(flatten)]
    pub caller: CallerArgs,
}

/// The tools as a client gets them, with their names, descriptions and arguments.
const TOOLS: &str = include_str!("tools.json");

/// How many seconds `wait_for_event` waits by default: clients give up after a minute.
const PATIENCE: u64 = 50;

/// How often a client that asked for it is told that its call is still under way.
const PROGRESS: Duration = Duration::from_secs(10);

/// Serves until the client disconnects.
pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find_for_speaker(env)?;
    let caller = agents::speaker(&place, args.caller.id.as_deref())?;
    if ui.is_dry() {
        ui.json_or_line(&caller.keys(), format!("would serve {}", printable(&caller.agent.id)));
        return Ok(Exit::Done);
    }
    let failed = |what: &str, e: String| Failure::failed(format!("cannot {what}")).because(io::Error::other(e));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|e| failed("start the MCP server", e.to_string()))?;
    let server = Server {
        env: env.clone(),
        here: place.here.clone(),
        place: place.seen_from(&caller.worktree),
        id: caller.agent.id.clone(),
        delivered: DeliveredEvents::default(),
        over: CancellationToken::new(),
        latest: Arc::default(),
        order: Arc::default(),
    };
    let (over, order, has_spoken) = (server.over.clone(), server.order.clone(), Arc::<AtomicBool>::default());
    let ended = runtime.block_on(async {
        let (stdin, stdout) = rmcp::transport::stdio();
        let stream = AsyncRwTransport::new(mended(stdin, has_spoken.clone()), stdout);
        let client = Client { stream, over: over.clone() };
        match server.serve_with_ct(client, over).await {
            Ok(running) => running.waiting().await.map(drop).map_err(|e| failed("serve MCP", e.to_string())),
            Err(error) => not_begun(error, has_spoken.load(Ordering::Relaxed)),
        }
    });
    // A call under way is finished, though nobody reads its answer.
    drop(runtime.block_on(order.lock()));
    // A wait under way is abandoned; its event stays in the spool.
    runtime.shutdown_background();
    // A signal may have arrived during a spawn, which was undone first.
    proc::check_interrupt()?;
    ended.map(|()| Exit::Done)
}

/// Why a session did not begin. A client may leave without a word.
fn not_begun(error: ServerInitializeError, has_spoken: bool) -> Result<()> {
    let why = match error {
        ServerInitializeError::TransportError { .. } => {
            return Err(Failure::failed("cannot serve MCP").because(io::Error::other(error.to_string())));
        }
        ServerInitializeError::InitializeFailed(refused) => {
            format!("the client's request `initialize` is refused: {}", refused.message)
        }
        _ if !has_spoken => return Ok(()),
        _ => "the client did not begin with the request `initialize`".to_owned(),
    };
    Err(Failure::malformed(why)
        .hint("let an MCP client start this command, as by `claude mcp add shopfloor -- worktree-spawn mcp --as ID`"))
}

/// How long a line may be that is mended; the transport takes no longer one.
const LONGEST_LINE: u64 = 16 << 20;

/// What the client sends, without halves of characters, and whether it has sent anything.
fn mended(stdin: Stdin, has_spoken: Arc<AtomicBool>) -> DuplexStream {
    let (mut sink, source) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move {
        let (mut stdin, mut line) = (BufReader::new(stdin), Vec::new());
        while (&mut stdin).take(LONGEST_LINE).read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
            has_spoken.store(true, Ordering::Relaxed);
            mend_half_characters(&mut line);
            if sink.write_all(&line).await.is_err() {
                return;
            }
            line.clear();
        }
    });
    source
}

/// The client's end of the connection. No wait goes on for one that has disconnected.
struct Client {
    stream: AsyncRwTransport<RoleServer, DuplexStream, Stdout>,
    over: CancellationToken,
}

impl Transport<RoleServer> for Client {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.stream.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let received = self.stream.receive().await;
        if received.is_none() {
            self.over.cancel();
        }
        received
    }

    async fn close(&mut self) -> io::Result<()> {
        self.stream.close().await
    }
}

#[derive(Clone)]
struct Server {
    env: Env,
    /// The worktree in which it runs.
    here: Option<Worktree>,
    /// As the agent sees it.
    place: Place,
    id: String,
    delivered: DeliveredEvents,
    /// The client has disconnected, or a signal arrived.
    over: CancellationToken,
    /// Ends the wait that began last.
    latest: Arc<Mutex<CancellationToken>>,
    /// Orders the other calls, so that an agent's reports are published in the order in which it made them.
    order: Arc<tokio::sync::Mutex<()>>,
}

type ToolResult = Result<Value>;

impl Server {
    /// Does what a tool does; none if there is no such tool. Blocks.
    fn call(&self, name: &str, args: &JsonObject, ended: &CancellationToken) -> Option<ToolResult> {
        self.delivered.next_call(args.get("after_event_id").and_then(Value::as_u64));
        // The repository is read anew, from the agent's own worktree wherever the server was started.
        let home = self.place.here.as_ref().map_or(&self.env.cwd, |worktree| &worktree.path);
        // An agent whose worktree is gone can still report and wait.
        let home = if home.is_dir() { home } else { &self.place.common_dir };
        let env = Env { cwd: home.clone(), cwd_named: true, ..self.env.later() };
        let place = match repository::find(&env) {
            Ok(place) => place,
            Err(failure) => return Some(Err(failure)),
        };
        let ui = Ui::new(TOOL, &env, Options::default());
        if sandbox::is_inside(&env) && name != "notify_parent" {
            return Some(Err(sandbox::not_inside()));
        }
        if let Err(failure) = refuse_unknown(name, args) {
            return Some(Err(failure));
        }
        Some(match name {
            "spawn_subtree" => self.spawn_subtree(&ui, &env, &place, args),
            "spawn_workers" => self.spawn_workers(&ui, &env, &place, args),
            "notify_parent" => self.notify_parent(&env, &place, args),
            "wait_for_event" => self.wait_for_event(&env, &place, args, ended),
            "list_agents" => list_agents(&ui, &env, &place),
            "land_child" => self.land_child(&env, &place, args),
            "send_agent" => self.send_agent(&env, &place, args),
            _ => return None,
        })
    }

    fn caller(&self) -> CallerArgs {
        CallerArgs { id: Some(self.id.clone()) }
    }

    fn spawn_subtree(&self, ui: &Ui, env: &Env, place: &Place, args: &JsonObject) -> ToolResult {
        self.known_caller(place)?;
        let task = TaskArgs { task: Some(required(args, "task")?), task_file: None };
        let launch = LaunchArgs { launch: true, launcher: None };
        let request = SpawnRequest { name: required(args, "branch_name")?, ..SpawnRequest::default() };
        let args =
            subtree::Args { request, task, launch, caller: self.caller(), is_agents: true, ..subtree::Args::default() };
        Ok(subtree::spawn(ui, env, place, &args)?.answer())
    }

    /// Makes as many seats as possible. Failures are reported beside the seats that were made.
    fn spawn_workers(&self, ui: &Ui, env: &Env, place: &Place, args: &JsonObject) -> ToolResult {
        self.known_caller(place)?;
        let workers = args.get("workers").and_then(Value::as_array).filter(|workers| !workers.is_empty());
        let workers = workers.ok_or_else(|| Failure::usage("`workers` must be a list of workers"))?;
        let spawn = |worker: &Value| -> ToolResult {
            let worker = worker.as_object().ok_or_else(|| Failure::usage("a worker must be an object"))?;
            let args = worker::Args {
                name: required(worker, "name")?,
                task: TaskArgs { task: Some(required(worker, "prompt")?), task_file: None },
                agent: optional(worker, "agent", "a string")?,
                launch: LaunchArgs { launch: true, launcher: None },
                caller: self.caller(),
            };
            Ok(worker::spawn(ui, env, place, &args)?.answer())
        };
        let spawn_or_tell = |worker: &Value| {
            let error = |failure: Failure| without_options(failure).to_json();
            let not_made = |failure: Failure| json!({ "name": worker.get("name"), "error": error(failure) });
            spawn(worker).unwrap_or_else(not_made)
        };
        Ok(json!({ "workers": workers.iter().map(spawn_or_tell).collect::<Vec<Value>>() }))
    }

    fn notify_parent(&self, env: &Env, place: &Place, args: &JsonObject) -> ToolResult {
        let status = required(args, "status")?;
        let status = EventStatus::from_str(&status, false)
            .map_err(|_| Failure::usage(format!("`status` must be success, failure or info, not `{status}`")))?;
        let report =
            Report { status, message: required(args, "message")?, kind: None, dedupe: None, paths: Vec::new() };
        let Published { uid, id, to, is_repeated } = notify(env, place, report, Some(&self.id))?;
        Ok(json!({ "ack": true, "uid": uid, "id": id, "to": to, "repeated": is_repeated }))
    }

    /// The agent that this server serves. It runs outside of the agent's sandbox, so a record of the agent's own counts
    /// nothing.
    fn known_caller(&self, place: &Place) -> Result<KnownAgent> {
        let caller = agents::require(place, &self.id)?;
        require_spawned(&caller)?;
        // Its configuration, in which an agent can name another one, is that of the worktree in which it runs.
        match self.here.as_ref().is_none_or(|here| here.path == caller.worktree.path) {
            true => Ok(caller),
            false => Err(failure::IDENTITY
                .failure(format!("this server runs in another worktree than that of {}", caller.agent.id))
                .hint("look at `.mcp.json` there: each worktree has its own")),
        }
    }

    fn land_child(&self, env: &Env, place: &Place, args: &JsonObject) -> ToolResult {
        workers::land_child(env, place, &self.known_caller(place)?, &required(args, "name")?)
    }

    fn send_agent(&self, env: &Env, place: &Place, args: &JsonObject) -> ToolResult {
        let (to, text) = (required(args, "to")?, required(args, "text")?);
        workers::send_agent(env, place, &self.known_caller(place)?, (&to, &text))
    }

    /// An event that was there at once counts as taken with the client's next call. An event that the client had to
    /// wait for is leased, because the client may have given up: it is delivered once more unless the next call
    /// acknowledges it.
    fn wait_for_event(&self, env: &Env, place: &Place, args: &JsonObject, ended: &CancellationToken) -> ToolResult {
        let begun = Instant::now();
        let (filter, seconds) = parse_wait(args)?;
        // A flag is what else the client should know, as a key that is `true`.
        let answer = |event: Option<JsonObject>, flag: Option<&str>| {
            let mut answer = json!({ "event": event });
            flag.into_iter().for_each(|flag| answer[flag] = true.into());
            Ok(answer)
        };
        if ended.is_cancelled() {
            return answer(None, Some("cancelled"));
        }
        if let Some(event) = self.delivered.redeliver(&filter) {
            let mut record = event.answer();
            record.insert("redelivered".into(), true.into());
            return answer(Some(record), Some("redelivered"));
        }
        let caller = agents::require(place, &self.id)?;
        let spool = Spool::new(&place.shared(), &caller.agent.id);
        let mut wait = EventWait::new(place, spool, filter, Signals::Unwatched)?;
        let (wake, token) = (wait.watch.waker(), ended.clone());
        tokio::runtime::Handle::current().spawn(async move {
            token.cancelled().await;
            wake();
        });
        match wait.next(begun.checked_add(Duration::from_secs(seconds)))? {
            // Nobody will read the answer.
            WaitOutcome::Event(claim) if ended.is_cancelled() => {
                claim.give_back()?;
                answer(None, Some("cancelled"))
            }
            WaitOutcome::Event(claim) => {
                let event = claim.event.answer();
                self.delivered.add(*claim, env.later().now, begun.elapsed())?;
                answer(Some(event), None)
            }
            _ if ended.is_cancelled() => answer(None, Some("cancelled")),
            WaitOutcome::Timeout | WaitOutcome::Signal(_) => answer(None, Some("timeout")),
        }
    }

    /// The token of a wait that begins now, and that ends the one before: it is over with the client, when the client
    /// cancels the request, and when a later wait begins.
    fn begin_wait(&self, request: &RequestContext<RoleServer>) -> CancellationToken {
        // The request's own token is one of the connection's.
        let ended = request.ct.child_token();
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *latest, ended.clone()).cancel();
        ended
    }
}

fn list_agents(ui: &Ui, env: &Env, place: &Place) -> ToolResult {
    let all = list_agents::list(ui, env, place, &ListingRequest::default())?;
    Ok(json!({ "agents": all.iter().map(ListedAgent::answer).collect::<Vec<_>>() }))
}

/// Refuses an argument that a tool does not have: what the client meant by it would not be done.
fn refuse_unknown(tool: &str, args: &JsonObject) -> Result<()> {
    let tools: Vec<Value> = serde_json::from_str(TOOLS).unwrap_or_default();
    let schema = tools.iter().find(|one| one["name"] == tool).and_then(|one| one.pointer("/inputSchema/properties"));
    // For a tool without arguments some clients make one up.
    let Some(known) = schema.and_then(Value::as_object).filter(|all| !all.is_empty()) else { return Ok(()) };
    let Some(unknown) = args.keys().find(|name| !known.contains_key(name.as_str())) else { return Ok(()) };
    let names: Vec<String> = known.keys().map(|name| format!("`{name}`")).collect();
    Err(Failure::usage(format!("`{unknown}` is no argument of {tool}")).hint(format!("it has {}", names.join(", "))))
}

/// A failure without the hints that name an option of a command: a tool has none.
fn without_options(mut failure: Failure) -> Failure {
    failure.hints.retain(|hint| !hint.contains("`--"));
    failure
}

/// Whether workers were to be made and none was.
fn is_none_made(answer: &Value) -> bool {
    let workers = answer.get("workers").and_then(Value::as_array);
    workers.is_some_and(|all| all.iter().all(|worker| worker.get("id").is_none()))
}

/// The events that a client waits for, and for how many seconds.
fn parse_wait(args: &JsonObject) -> Result<(EventFilter, u64)> {
    let kinds = optional(args, "types", "a list of strings")?.unwrap_or_default();
    optional::<u64>(args, "after_event_id", "a whole number")?;
    let seconds = optional(args, "timeout_secs", "a whole number")?.unwrap_or(PATIENCE);
    Ok((EventFilter { kinds, ..EventFilter::default() }, seconds))
}

/// Tells a client that asked for it that its call is still under way, until this task is aborted.
async fn report_progress(context: RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else { return };
    for tick in 1u32.. {
        tokio::time::sleep(PROGRESS).await;
        let progress = ProgressNotificationParam::new(token.clone(), f64::from(tick) * PROGRESS.as_secs_f64());
        if context.peer.notify_progress(progress).await.is_err() {
            return;
        }
    }
}

/// An argument that may be left out or null; `what` says what it has to be otherwise.
fn optional<T: DeserializeOwned>(args: &JsonObject, name: &str, what: &str) -> Result<Option<T>> {
    let value = args.get(name).cloned().unwrap_or_default();
    serde_json::from_value(value).map_err(|_| Failure::usage(format!("`{name}` must be {what}")))
}

fn required(args: &JsonObject, name: &str) -> Result<String> {
    optional(args, name, "a string")?.ok_or_else(|| Failure::usage(format!("`{name}` is missing")))
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
        let tools = serde_json::from_str(TOOLS).map_err(|e| ErrorData::internal_error(e.to_string(), None));
        std::future::ready(tools.map(ListToolsResult::with_all_items))
    }

    /// Also for a call of a tool whose parameters are not sound: the library does not know it as one.
    fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> impl Future<Output = std::result::Result<CustomResult, ErrorData>> + Send + '_ {
        let why = "`params` must have the `name` of a tool, and `arguments`, if there are any, as an object";
        std::future::ready(Err(match request.method == "tools/call" {
            true => ErrorData::invalid_params(why, None),
            false => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None),
        }))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> std::result::Result<CallToolResponse, ErrorData> {
        let server = self.clone();
        let name = request.name.clone();
        let args = request.arguments.unwrap_or_default();
        let progress = tokio::spawn(report_progress(context.clone()));
        let (ended, turn) = match &*name {
            // A wait must not delay other calls.
            "wait_for_event" => (self.begin_wait(&context), None),
            _ => (self.over.clone(), Some(self.order.lock().await)),
        };
        let called = tokio::task::spawn_blocking(move || server.call(&name, &args, &ended)).await;
        drop(turn);
        progress.abort();
        if proc::check_interrupt().is_err() {
            self.over.cancel();
        }
        let answer: Option<ToolResult> = called.map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
        let result = match answer {
            None => return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None)),
            Some(Ok(value)) if is_none_made(&value) => CallToolResult::structured_error(value),
            Some(Ok(value)) => CallToolResult::structured(value),
            Some(Err(failure)) => {
                let failure = without_options(failure);
                let lines =
                    std::iter::once(failure.to_string()).chain(failure.hints.iter().map(|h| format!("hint: {h}")));
                CallToolResult::error(vec![ContentBlock::text(lines.collect::<Vec<_>>().join("\n"))])
            }
        };
        Ok(result.into())
    }
}
