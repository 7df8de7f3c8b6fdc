//! Hands a text over to a program that takes texts at a socket, so that nothing is typed and the program is not started
//! anew.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};

use crate::agent::AgentTable;
use crate::apply::launch::{TextSocket, launch};
use crate::apply::session::Conversation;
use crate::site::Site;
use crate::worker::Worker;

/// How long to wait for the program's answer. The program itself gives up earlier.
const PATIENCE: Duration = Duration::from_secs(10);

/// What became of a text that was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// The program has it as a prompt, byte for byte.
    Arrived,
    /// The program does not have it.
    NotTaken,
    /// The program got it and did not answer.
    Unknown,
}

/// One line of JSON to the program.
#[derive(Debug, Serialize)]
struct Request<'a> {
    text: &'a str,
    /// The conversation to go on with; none for a new one.
    conversation: Option<&'a str>,
    settings: &'a str,
    /// The process that runs in the worker's pane.
    pid: Option<i32>,
}

/// One line of JSON from the program.
#[derive(Debug, Deserialize)]
struct Answer {
    has_arrived: bool,
}

/// Hands a text over. `before_send` runs once the program can be reached.
pub fn hand_over(
    site: &Site<'_>,
    worker: &Worker,
    agent: &AgentTable,
    text: &str,
    conversation: Conversation,
    before_send: impl FnOnce() -> Result<()>,
) -> Result<Handover> {
    let Some(TextSocket { path, settings }) = launch(site, worker, agent, [])?.texts else {
        return Ok(Handover::NotTaken);
    };
    let conversation = match conversation {
        Conversation::New => None,
        Conversation::Continued if worker.conversation.is_none() => return Ok(Handover::NotTaken),
        Conversation::Continued => worker.conversation.as_deref(),
    };
    // A program that does not run any more leaves a socket that refuses.
    let Ok(stream) = UnixStream::connect(&path) else { return Ok(Handover::NotTaken) };
    before_send()?;
    let request = Request { text, conversation, settings: &settings, pid: worker.pane_pid };
    let request = serde_json::to_string(&request).map_err(|e| Failure::failed("cannot write a text").because(e))?;
    Ok(exchange(stream, &request).unwrap_or(Handover::Unknown))
}

/// Sends a request and reads the answer; none if something fails meanwhile.
fn exchange(mut stream: UnixStream, request: &str) -> Option<Handover> {
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(format!("{request}\n").as_bytes()).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    let answer: Answer = serde_json::from_str(&line).ok()?;
    Some(if answer.has_arrived { Handover::Arrived } else { Handover::NotTaken })
}
