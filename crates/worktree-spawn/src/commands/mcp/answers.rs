//! The answers of the MCP tools. Their keys are a promise.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::apply::listing::AgentAnswer;
use crate::spool::Published;

/// The answer of `list_agents`.
#[derive(Serialize)]
pub struct AgentsAnswer<'a> {
    pub agents: Vec<AgentAnswer<'a>>,
}

/// The answer of `spawn_workers`.
#[derive(Serialize)]
pub struct WorkersAnswer {
    /// What was made, and a [`WorkerFailure`] for what was not.
    pub workers: Vec<Value>,
}

/// A seat that could not be made.
#[derive(Serialize)]
pub struct WorkerFailure<'a> {
    /// The name as the client gave it, which may be anything.
    pub name: Option<&'a Value>,
    pub error: Value,
}

/// The answer of `notify_parent`.
#[derive(Serialize)]
pub struct SentAnswer {
    pub ack: bool,
    #[serde(flatten)]
    pub published: Published,
}

/// The answer of `wait_for_event`.
#[derive(Serialize)]
pub struct EventAnswer {
    pub event: Option<Map<String, Value>>,
    #[serde(flatten)]
    pub flag: Option<EventFlag>,
}

/// What else a client should know, as a key that is `true`.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EventFlag {
    /// The wait was ended by the client or by a later wait.
    Cancelled(bool),
    /// The time was up.
    Timeout(bool),
    /// The event was delivered before.
    Redelivered(bool),
}
