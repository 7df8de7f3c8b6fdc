//! Hands a text over to a program that takes texts at a socket, so that nothing is typed and the program is not started
//! anew.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};

use crate::agent::AgentTable;
use crate::apply::launch::{TextSocket, text_socket};
use crate::apply::session::Conversation;
use crate::report;
use crate::site::Site;
use crate::worker::Worker;

/// How long to wait for a connection, and for the program's answer.
const CONNECTED: Duration = Duration::from_secs(1);
const ANSWERED: Duration = Duration::from_secs(15);

/// The longest answer in bytes.
const LONGEST_ANSWER: u64 = 4096;

/// What became of a text that was to be handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handover {
    /// The program takes no texts, does not run, or is not the one that the text is for.
    NoSocket,
    /// The program took the text.
    Taken(Taken),
    /// The program asks a question. It has not submitted the text.
    Asks,
    /// The program does not have the conversation.
    Gone,
    /// Nobody knows: the program did not answer.
    Unknown,
}

/// A text that a program took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Whether it came as a prompt byte for byte. Another plugin may change prompts.
    pub is_exact: bool,
    /// The conversation that it belongs to now.
    pub conversation: Option<String>,
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
    /// Whether the text may come while the program asks a question.
    force: bool,
}

/// One line of JSON from the program.
#[derive(Debug, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
enum Answer {
    Arrived {
        conversation: Option<String>,
    },
    Sent {
        conversation: Option<String>,
    },
    /// Another program, or one with other settings.
    Other,
    Asks,
    Gone,
}

impl Answer {
    /// What the answer means, if the text was for `conversation`. What is no name of a conversation is no answer.
    fn meaning(self, wanted: Option<&str>) -> Handover {
        let (is_exact, conversation) = match self {
            Answer::Arrived { conversation } => (true, conversation),
            Answer::Sent { conversation } => (false, conversation),
            Answer::Other => return Handover::NoSocket,
            Answer::Asks => return Handover::Asks,
            Answer::Gone => return Handover::Gone,
        };
        let is_named = conversation.as_deref().is_none_or(|name| report::id(name).is_some());
        let is_wanted = wanted.is_none() || conversation.as_deref() == wanted;
        if is_named && is_wanted { Handover::Taken(Taken { is_exact, conversation }) } else { Handover::Unknown }
    }
}

/// Hands a text over. `before_send` runs once the program is reached.
pub fn hand_over(
    site: &Site<'_>,
    worker: &Worker,
    agent: &AgentTable,
    text: &str,
    conversation: Conversation,
    force: bool,
    before_send: impl FnOnce() -> Result<()>,
) -> Result<Handover> {
    let Some(TextSocket { path, settings }) = text_socket(site, worker, agent)? else {
        return Ok(Handover::NoSocket);
    };
    let conversation = match (conversation, worker.conversation.as_deref()) {
        (Conversation::New, _) => None,
        (Conversation::Continued, None) => return Ok(Handover::NoSocket),
        (Conversation::Continued, known) => known,
    };
    let request = Request { text, conversation, settings: &settings, pid: worker.pane_pid, force };
    let request = serde_json::to_string(&request).map_err(|e| Failure::failed("cannot write a text").because(e))?;
    let stream = within(CONNECTED, move || UnixStream::connect(path).ok());
    let Some(stream) = stream else { return Ok(Handover::NoSocket) };
    before_send()?;
    let answer = within(ANSWERED, move || exchange(stream, &request));
    Ok(answer.map_or(Handover::Unknown, |answer| answer.meaning(conversation)))
}

/// Sends a request and reads the answer; none if something fails meanwhile.
fn exchange(mut stream: UnixStream, request: &str) -> Option<Answer> {
    stream.set_read_timeout(Some(ANSWERED)).ok()?;
    stream.set_write_timeout(Some(ANSWERED)).ok()?;
    stream.write_all(format!("{request}\n").as_bytes()).ok()?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST_ANSWER)).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// What a call returns within the limit. A program that accepts nobody or answers a byte at a time would hold us up.
fn within<T: Send + 'static>(limit: Duration, call: impl FnOnce() -> Option<T> + Send + 'static) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(call()));
    receiver.recv_timeout(limit).ok().flatten()
}
