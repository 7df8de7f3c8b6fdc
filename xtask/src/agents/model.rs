//! A model server on loopback that does what the prompt says, for trying agent programs without a network.
//!
//! Lines of a prompt that begin with `MODEL` are carried out in order, one per answer:
//!
//! - `MODEL run COMMAND` calls the program's shell tool;
//! - `MODEL call TOOL {...}` calls another tool;
//! - `MODEL limit SECONDS` refuses all requests about this prompt for that long, as for an account that has hit a limit;
//! - `MODEL wait SECONDS` answers that much later;
//! - `MODEL say TEXT` is the last answer, else it is `done`;
//! - `MODEL write FILE TEXT` answers with an edit in aider's form.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::speech::{self, Answer, Api, Turn};

/// The names that programs give to their shell tool.
const SHELLS: [&str; 7] =
    ["Bash", "bash", "run_shell_command", "shell", "exec_command", "shell_command", "container.exec"];

/// The server. It ends with the process.
pub struct Model {
    pub port: u16,
    requests: Arc<Mutex<Vec<Turn>>>,
}

/// When the limit ends that a prompt has set, by the api of the program, in seconds since 1970.
static LIMITS: Mutex<BTreeMap<Api, u64>> = Mutex::new(BTreeMap::new());

impl Model {
    /// Starts the server on a free port.
    pub fn start() -> Result<Model> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("cannot listen on loopback")?;
        let port = listener.local_addr()?.port();
        let requests = Arc::<Mutex<Vec<Turn>>>::default();
        let log = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let log = log.clone();
                // A connection that breaks is the program's to report.
                std::thread::spawn(move || drop(serve(stream, &log)));
            }
        });
        Ok(Model { port, requests })
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// How many requests there were.
    pub fn count(&self) -> usize {
        locked(&self.requests).len()
    }

    /// The requests after the first `count`.
    pub fn since(&self, count: usize) -> Vec<Turn> {
        locked(&self.requests)[count..].to_vec()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves a connection until it is closed.
fn serve(stream: TcpStream, log: &Mutex<Vec<Turn>>) -> Result<()> {
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    while let Some((path, body)) = read_request(&mut reader)? {
        let path = path.split('?').next().unwrap_or_default();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let Some(api) = speech::api(path) else {
            write_json(&mut writer, &speech::other(path))?;
            continue;
        };
        let turn = speech::read(api, &body);
        if let Some(end) = limit(api, &turn) {
            write_limit(&mut writer, api, end)?;
            continue;
        }
        let (answer, seconds) = decide(&turn);
        let answer = match speech::example(api, &body) {
            Some(text) => Answer { text, call: None },
            None => answer,
        };
        locked(log).push(turn);
        std::thread::sleep(Duration::from_secs_f64(seconds));
        let reply = speech::say(api, path, &body, &answer);
        match reply {
            speech::Reply::Whole(value) => write_json(&mut writer, &value)?,
            speech::Reply::Stream(events) => write_events(&mut writer, &events)?,
        }
    }
    Ok(())
}

/// When the limit of a turn ends, if it holds still. It begins with the first request.
fn limit(api: Api, turn: &Turn) -> Option<u64> {
    let prompt = asked(turn)?;
    let seconds: u64 = prompt.lines().find_map(|line| line.strip_prefix("MODEL limit ")?.parse().ok())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let end = *locked(&LIMITS).entry(api).or_insert(now + seconds);
    (now < end).then_some(end)
}

/// Answers as both Anthropic and OpenAI do for a subscription whose limit is hit.
fn write_limit(writer: &mut TcpStream, api: Api, end: u64) -> Result<()> {
    let error = match api {
        Api::Messages => json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "limit" } }),
        _ => {
            json!({ "error": { "type": "usage_limit_reached", "message": "limit", "plan_type": "plus", "resets_at": end } })
        }
    };
    let text = error.to_string();
    let head = format!(
        "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         anthropic-ratelimit-unified-status: rejected\r\nanthropic-ratelimit-unified-reset: {end}\r\n\
         anthropic-ratelimit-unified-representative-claim: five_hour\r\nx-codex-primary-used-percent: 100\r\n\
         x-codex-primary-window-minutes: 300\r\nx-codex-primary-reset-at: {end}\r\n\r\n",
        text.len()
    );
    writer.write_all(format!("{head}{text}").as_bytes())?;
    Ok(())
}

/// The prompt that a turn is about: where a program only goes on after a limit, the one before.
fn asked(turn: &Turn) -> Option<&String> {
    let goes_on = |prompt: &&String| *prompt == "Continue with your task." || prompt.contains("usage limit has reset");
    turn.prompts.iter().rfind(|prompt| !goes_on(prompt))
}

/// What to answer, and how many seconds to wait first.
fn decide(turn: &Turn) -> (Answer, f64) {
    let Some(prompt) = asked(turn) else { return (Answer { text: "ok".into(), call: None }, 0.0) };
    let prompt = &named_task(prompt).unwrap_or_else(|| prompt.clone());
    let (mut calls, mut say, mut wait) = (Vec::new(), "done".to_owned(), 0.0);
    for line in prompt.lines().filter_map(|line| line.strip_prefix("MODEL ")) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "run" => {
                if let Some(shell) = SHELLS.iter().find(|shell| turn.tools.iter().any(|tool| tool == **shell)) {
                    calls.push(((*shell).to_owned(), shell_arguments(shell, rest)));
                }
            }
            "call" => {
                let (tool, arguments) = rest.split_once(' ').unwrap_or((rest, "{}"));
                // Programs put the server's name before the tool's, each in its own way.
                let tool = turn.tools.iter().find(|known| known.ends_with(tool)).map_or(tool, String::as_str);
                calls.push((tool.to_owned(), serde_json::from_str(arguments).unwrap_or_default()));
            }
            "wait" if calls.len() == turn.results => wait = rest.parse().unwrap_or_default(),
            "say" => rest.clone_into(&mut say),
            "write" => {
                let (file, text) = rest.split_once(' ').unwrap_or((rest, ""));
                say = format!("{file}\n```\n<<<<<<< SEARCH\n=======\n{text}\n>>>>>>> REPLACE\n```\n");
            }
            _ => {}
        }
    }
    let call = calls.into_iter().nth(turn.results).filter(|_| !turn.tools.is_empty());
    let text = if call.is_some() { String::new() } else { say };
    (Answer { text, call }, wait)
}

/// The task in the file that a prompt names, as a model reads it.
fn named_task(prompt: &str) -> Option<String> {
    let (_, rest) = prompt.split_once("Your task is in the file ").or_else(|| prompt.split_once("Read /"))?;
    let path = rest.split([':', ' ']).next()?;
    std::fs::read_to_string(if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }).ok()
}

fn shell_arguments(shell: &str, command: &str) -> Value {
    match shell {
        "shell" | "container.exec" => json!({ "command": ["bash", "-lc", command] }),
        "exec_command" => json!({ "cmd": command }),
        "Bash" | "bash" => json!({ "command": command, "description": "Run a command" }),
        _ => json!({ "command": command }),
    }
}

/// Reads a request: its path and its body; none at the end of the connection.
fn read_request(reader: &mut BufReader<TcpStream>) -> Result<Option<(String, Vec<u8>)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let (mut length, mut is_chunked) = (0, false);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().context("a length that is no number")?,
            "transfer-encoding" => is_chunked = value.contains("chunked"),
            "expect" => reader.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
            _ => {}
        }
    }
    let mut body = Vec::new();
    if !is_chunked {
        reader.take(length).read_to_end(&mut body)?;
        return Ok(Some((path, body)));
    }
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let size = line.trim().split(';').next().unwrap_or_default();
        let size = u64::from_str_radix(size, 16).context("a chunk's size that is no number")?;
        reader.by_ref().take(size).read_to_end(&mut body)?;
        line.clear();
        reader.read_line(&mut line)?;
        if size == 0 {
            return Ok(Some((path, body)));
        }
    }
}

fn write_json(writer: &mut TcpStream, value: &Value) -> Result<()> {
    let text = value.to_string();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", text.len());
    writer.write_all(format!("{head}{text}").as_bytes())?;
    Ok(())
}

/// Writes server-sent events, each with its name if it has one.
fn write_events(writer: &mut TcpStream, events: &[(Option<String>, String)]) -> Result<()> {
    writer.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n",
    )?;
    for (name, data) in events {
        let name = name.as_ref().map(|name| format!("event: {name}\n")).unwrap_or_default();
        let text = format!("{name}data: {data}\n\n");
        writer.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())?;
    }
    writer.write_all(b"0\r\n\r\n")?;
    Ok(())
}
