//! The answers of the MCP tools. Their keys are a promise.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::apply::listing::AgentAnswer;

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
pub struct SentAnswer<'a> {
    pub ack: bool,
    pub uid: &'a str,
    pub id: u64,
    pub to: &'a str,
}

/// The answer of `wait_for_event`.
#[derive(Default, Serialize)]
pub struct EventAnswer {
    pub event: Option<Map<String, Value>>,
    /// Whether the wait was ended by the client or by a later wait.
    #[serde(skip_serializing_if = "is_false")]
    pub cancelled: bool,
    /// Whether the time was up.
    #[serde(skip_serializing_if = "is_false")]
    pub timeout: bool,
    /// Whether the event was delivered before.
    #[serde(skip_serializing_if = "is_false")]
    pub redelivered: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl EventAnswer {
    pub fn cancelled() -> EventAnswer {
        EventAnswer { cancelled: true, ..EventAnswer::default() }
    }
}
