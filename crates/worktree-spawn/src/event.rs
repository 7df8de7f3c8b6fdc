//! Events: one JSON line each. An event is kept whole, including keys that a later version adds.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::time;

use crate::identity::{Agent, AgentKind, new_uid};

/// How something went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum EventStatus {
    /// It is done
    Success,
    /// It could not be done
    Failure,
    /// Neither; only information
    Info,
}

/// The type of the event by which an agent of this kind reports that it has finished.
pub fn completion(kind: AgentKind) -> &'static str {
    match kind {
        AgentKind::Worker => "worker_complete",
        AgentKind::Subtree | AgentKind::Root => "subtree_complete",
    }
}

/// Why bytes are not an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventError {
    /// A later version of this program wrote them, and can read them.
    Newer,
    Malformed,
}

/// An event before it is published.
#[derive(Clone, Debug)]
pub struct EventDraft {
    /// The `type` of the event.
    pub kind: String,
    pub status: EventStatus,
    pub message: String,
    /// Further keys.
    pub more: Vec<(&'static str, Value)>,
}

impl EventDraft {
    /// The record of an event from `agent`, with its keys in this order. Its number is 0 until the spool gives it one.
    /// `at` is the branch and the commit that the agent is at.
    pub fn into_record(self, env: &Env, agent: &Agent, at: (Option<&str>, Option<&str>)) -> Map<String, Value> {
        let from = json!({
            "id": agent.id,
            "kind": agent.kind,
            "role": agent.role,
            "birth_branch": agent.birth_branch,
        });
        let record = json!({
            "v": 1,
            "id": 0,
            "uid": new_uid(),
            "ts": env.later().now.to_string(),
            "type": self.kind,
            "from": from,
            "to": agent.parent,
            "status": self.status,
            "message": self.message,
            "branch": at.0,
            "head": at.1,
        });
        let Value::Object(mut event) = record else { return Map::new() };
        event.extend(self.more.into_iter().map(|(key, value)| (key.to_owned(), value)));
        event
    }
}

/// A published event.
#[derive(Clone, Debug, PartialEq)]
pub struct SpoolEvent(pub Map<String, Value>);

impl SpoolEvent {
    /// Parses an event.
    pub fn parse(bytes: &[u8]) -> Result<SpoolEvent, EventError> {
        let map = serde_json::from_slice(bytes).map_err(|_| EventError::Malformed)?;
        let event = SpoolEvent(map);
        match event.0.get("v").and_then(Value::as_u64) {
            Some(1) if !event.uid().is_empty() && !event.kind().is_empty() && event.id() != 0 => Ok(event),
            Some(2..) => Err(EventError::Newer),
            _ => Err(EventError::Malformed),
        }
    }

    fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn id(&self) -> u64 {
        self.0.get("id").and_then(Value::as_u64).unwrap_or(0)
    }

    pub fn uid(&self) -> &str {
        self.text("uid")
    }

    pub fn kind(&self) -> &str {
        self.text("type")
    }

    pub fn from(&self) -> &str {
        self.0.get("from").and_then(|from| from.get("id")).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn time(&self) -> &str {
        self.text("ts")
    }

    pub fn dedupe(&self) -> Option<&str> {
        self.0.get("dedupe").and_then(Value::as_str)
    }

    /// The event as scripts read it: what is kept, under the names that all tools use as well.
    pub fn answer(&self) -> Map<String, Value> {
        let mut answer = self.0.clone();
        let time = self.text("ts").parse().map_or_else(|_| self.text("ts").to_owned(), time::render);
        answer.insert("seq".into(), self.id().into());
        answer.insert("time".into(), time.into());
        answer.insert("commit".into(), self.0.get("head").cloned().unwrap_or(Value::Null));
        if let Some(from) = answer.get_mut("from").and_then(Value::as_object_mut) {
            let name = short_name(from.get("id").and_then(Value::as_str).unwrap_or_default()).to_owned();
            from.insert("name".into(), name.into());
        }
        answer
    }

    /// The event as a line, without the line end.
    pub fn line(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }
}

/// The last part of an agent's id: its slug, or the name of a seat.
pub fn short_name(id: &str) -> &str {
    id.rsplit(['.', '/']).next().unwrap_or(id)
}

/// Names in a record the session that an event was first for. An event that was forwarded before keeps the first name.
pub fn mark_forwarded(record: &mut Map<String, Value>, session: &str) {
    record.entry("forwarded_from").or_insert_with(|| session.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_keeps_keys_that_this_version_does_not_know() {
        let line = r#"{"v":1,"id":7,"uid":"u","ts":"t","type":"x","from":{"id":"a"},"later":[1]}"#;
        let event = SpoolEvent::parse(line.as_bytes()).unwrap();
        assert_eq!((event.line().as_str(), event.from(), event.id()), (line, "a", 7));
    }

    #[test]
    fn incomplete_and_foreign_records_are_refused() {
        for bad in
            ["", "{", "[]", r#"{"v":1}"#, r#"{"v":2,"id":1,"uid":"u","type":"x"}"#, r#"{"v":1,"id":1,"uid":"u"}"#]
        {
            assert!(SpoolEvent::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
