//! The frontmatter of an event: who wrote it, when, and about what.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::event_file::Malformed;
use crate::event_time::{self, EventTime};
use crate::yaml_scalar;

/// Limits on the size and nesting of a frontmatter: parsing YAML costs the square of its nesting.
const FRONT_LIMIT: usize = 16 << 10;
const FRONT_DEPTH: usize = 64;

/// What the frontmatter says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    pub ts: EventTime,
    pub agent: String,
    pub branch: Option<String>,
    pub kind: Option<String>,
    pub reason: Option<String>,
    pub title: Option<String>,
}

/// The fields of the frontmatter. Unknown fields are ignored.
#[derive(Default, Deserialize)]
struct Front {
    ts: Option<String>,
    agent: Option<String>,
    branch: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    reason: Option<String>,
    title: Option<String>,
}

/// The names that the first tool has for fields. They count together with its `schema_version`.
#[derive(Deserialize)]
struct FirstFront {
    schema_version: IgnoredAny,
    timestamp: Option<String>,
    session_id: Option<String>,
    event_type: Option<String>,
}

impl Front {
    /// With the names of the first tool in the place of ours that are not there.
    fn or_first(self, front: &str) -> Front {
        if self.ts.is_some() && self.agent.is_some() {
            return self;
        }
        let Ok(FirstFront { schema_version: IgnoredAny, timestamp, session_id, event_type }) =
            serde_yaml::from_str(front)
        else {
            return self;
        };
        Front { ts: self.ts.or(timestamp), agent: self.agent.or(session_id), kind: self.kind.or(event_type), ..self }
    }

    fn field(&mut self, key: &str) -> Option<&mut Option<String>> {
        Some(match key {
            "ts" => &mut self.ts,
            "agent" => &mut self.agent,
            "branch" => &mut self.branch,
            "type" => &mut self.kind,
            "reason" => &mut self.reason,
            "title" => &mut self.title,
            _ => return None,
        })
    }

    /// Parses a frontmatter in which every line is `key: plain words`, which YAML reads the same way. None: it is not
    /// so simple.
    fn plain(front: &str) -> Option<Front> {
        let is_plain = |line: &str| {
            let (key, value) = line.trim_end_matches(' ').split_once(": ").unwrap_or_default();
            let value = value.trim_start_matches(' ');
            Front::default().field(key).is_some()
                && value.starts_with(|c: char| c.is_ascii_alphanumeric())
                && value.chars().all(|c| c.is_ascii_alphanumeric() || "-+_./: @,()".contains(c))
                && !value.contains(": ")
                && !value.ends_with(':')
                && !value.eq_ignore_ascii_case("null")
        };
        if front.split_terminator('\n').all(is_plain) { Front::flat(front) } else { None }
    }

    fn yaml(front: &str) -> Result<Front, Malformed> {
        let nests = front.bytes().filter(|b| matches!(b, b'[' | b'{')).count();
        if front.len() > FRONT_LIMIT {
            return Err(Malformed::new(1, "the frontmatter is larger than 16 KiB"));
        }
        if front.trim().is_empty() {
            return Ok(Front::default());
        }
        if nests > FRONT_DEPTH {
            return Front::flat(front).ok_or_else(|| Malformed::new(1, "the frontmatter is nested too deeply"));
        }
        let read = serde_yaml::from_str::<Option<Front>>(front).map(|read| read.unwrap_or_default().or_first(front));
        // `title: Fix: the cache` is not YAML, but its meaning is clear.
        read.or_else(|e| {
            Front::flat(front).ok_or_else(|| {
                let line = e.location().map_or(1, |at| at.line()) + 1;
                Malformed::new(line, format!("the frontmatter is not a YAML map of texts: {e}"))
            })
        })
    }

    /// Parses the known keys, one per line, each with the rest of its line. None: a key is repeated, or a quote is
    /// not closed.
    fn flat(front: &str) -> Option<Front> {
        let mut read = Front::default();
        for line in front.lines() {
            let Some((key, value)) = line.split_once(':') else { continue };
            let Some(field) = read.field(key.trim_end()) else { continue };
            let name = key.trim_end();
            let value = value.trim();
            let is_quoted = value.starts_with(['"', '\'']);
            // A comment may follow a value of one word, but ` #` in prose is text.
            let is_prose = matches!(name, "title" | "reason");
            let value =
                if is_quoted || is_prose { value } else { value.split(" #").next().unwrap_or_default().trim_end() };
            let text = yaml_scalar::text(value, &[]);
            let is_open = is_quoted && !is_prose && text.starts_with(['"', '\'']);
            if field.is_some() || is_open {
                return None;
            }
            if yaml_scalar::is_null(value, &[]) || value.is_empty() {
                continue;
            }
            *field = Some(text);
        }
        Some(read)
    }
}

impl Meta {
    pub fn parse(front: &str) -> Result<Meta, Malformed> {
        let read = Front::plain(front).map_or_else(|| Front::yaml(front), Ok)?;
        let line_of = |key: &str| {
            let is_it = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
            front.lines().position(is_it).map_or(1, |at| at + 2)
        };
        let Some(ts) = read.ts else { return Err(Malformed::new(1, "no `ts` in the frontmatter")) };
        let Some(ts) = event_time::parse(&ts) else {
            let why = format!("`ts: {ts}` is not an RFC 3339 time with an offset, such as 2026-01-10T13:03:52Z");
            return Err(Malformed::new(line_of("ts"), why));
        };
        let Some(agent) = read.agent.filter(|agent| !agent.trim().is_empty()) else {
            return Err(Malformed::new(line_of("agent"), "no `agent` in the frontmatter"));
        };
        let others = [read.branch, read.kind, read.reason, read.title];
        let [branch, kind, reason, title] = others.map(|text| text.filter(|text| !text.is_empty()));
        Ok(Meta { ts, agent, branch, kind, reason, title })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_frontmatter_reads_what_yaml_reads() {
        for front in [
            "ts: 2026-01-10T13:00:00Z\nagent: a\n",
            "agent: a b\nbranch: feat/x\n",
            "agent: 12\n",
            "agent: true\n",
            "agent: a:b\n",
            "title: 1e3\n",
            "title: a - b\n",
            "reason: 0x1f\n",
            "branch: a  b \n",
            "title: 2026-01-01\n",
        ] {
            let (fast, slow) = (
                Front::plain(front).expect(front),
                Front::yaml(front).unwrap_or_else(|e| panic!("{front}: {}", e.why)),
            );
            for (fast, slow) in [
                (fast.agent, slow.agent),
                (fast.branch, slow.branch),
                (fast.title, slow.title),
                (fast.ts, slow.ts),
                (fast.reason, slow.reason),
            ] {
                assert_eq!(fast, slow, "{front}");
            }
        }
        for front in [
            "agent: ~\n",
            "agent: 'x'\n",
            "agent: a: b\n",
            "agent: a # c\n",
            "agent:\n",
            "x: 1\n",
            "agent: a\nagent: b\n",
            "agent: null\n",
        ] {
            assert!(Front::plain(front).is_none(), "{front}");
        }
    }
}
