//! Events: one JSON line each, kept whole, also what a later version adds to them.

use serde_json::{Map, Value, json};
use shopfloor_core::env::Env;

use crate::identity::{Agent, Kind, new_uid};

/// How a thing went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Status {
    /// It is done
    Success,
    /// It could not be done
    Failure,
    /// Neither: something to know
    Info,
}

impl Status {
    pub fn word(self) -> &'static str {
        match self {
            Status::Success => "success",
            Status::Failure => "failure",
            Status::Info => "info",
        }
    }

    pub fn parse(word: &str) -> Option<Status> {
        [Status::Success, Status::Failure, Status::Info].into_iter().find(|status| status.word() == word)
    }
}

/// What a kind of agent sends when it has ended.
pub fn completion(kind: Kind) -> &'static str {
    match kind {
        Kind::Worker => "worker_complete",
        Kind::Subtree | Kind::Root => "subtree_complete",
    }
}

/// Why bytes are no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoEvent {
    /// A later version of ours wrote them, and will read them.
    Newer(u64),
    /// They are none, and this is why.
    Malformed(String),
}

impl std::fmt::Display for NoEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoEvent::Newer(version) => write!(f, "version {version} is newer than this program knows"),
            NoEvent::Malformed(why) => f.write_str(why),
        }
    }
}

/// An event that has no number yet.
#[derive(Clone, Debug)]
pub struct Draft {
    pub kind: String,
    pub status: Status,
    pub message: String,
    pub branch: Option<String>,
    pub head: Option<String>,
    /// Further keys.
    pub more: Vec<(&'static str, Value)>,
}

impl Draft {
    /// As a record from `agent`, but for its number.
    pub fn of(self, env: &Env, agent: &Agent) -> Map<String, Value> {
        let from = json!({
            "id": agent.id, "kind": agent.kind, "role": agent.role, "birth_branch": agent.birth_branch,
        });
        let event = json!({
            "v": 1, "id": 0, "uid": new_uid(), "ts": env.later().now.to_string(), "type": self.kind, "from": from,
            "to": agent.parent, "status": self.status.word(), "message": self.message, "branch": self.branch,
            "head": self.head,
        });
        let Value::Object(mut event) = event else { return Map::new() };
        event.extend(self.more.into_iter().map(|(key, value)| (key.to_owned(), value)));
        event
    }
}

/// An event as it was published.
#[derive(Clone, Debug, PartialEq)]
pub struct Event(pub Map<String, Value>);

impl Event {
    /// Reads one; says what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Event, NoEvent> {
        let value: Value = serde_json::from_slice(bytes).map_err(|e| NoEvent::Malformed(e.to_string()))?;
        let malformed = |why: &str| Err(NoEvent::Malformed(why.to_owned()));
        let Value::Object(map) = value else { return malformed("it is no JSON object") };
        let event = Event(map);
        match event.0.get("v").and_then(Value::as_u64) {
            Some(1) => {}
            Some(v @ 2..) => return Err(NoEvent::Newer(v)),
            Some(_) | None => return malformed("it has no version"),
        }
        if event.uid().is_empty() || event.kind().is_empty() || event.id() == 0 {
            return malformed("it has no id, uid or type");
        }
        Ok(event)
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

    pub fn dedupe(&self) -> Option<&str> {
        self.0.get("dedupe").and_then(Value::as_str)
    }

    /// Its line, without the line end.
    pub fn line(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_again_with_keys_nobody_knows() {
        let line = r#"{"v":1,"id":7,"uid":"u","ts":"t","type":"x","from":{"id":"a"},"later":[1]}"#;
        let event = Event::parse(line.as_bytes()).unwrap();
        assert_eq!((event.line().as_str(), event.from(), event.id()), (line, "a", 7));
    }

    #[test]
    fn halves_and_strangers_are_refused() {
        for bad in
            ["", "{", "[]", r#"{"v":1}"#, r#"{"v":2,"id":1,"uid":"u","type":"x"}"#, r#"{"v":1,"id":1,"uid":"u"}"#]
        {
            assert!(Event::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
