//! What agents' programs write about their own sessions: usage limits, and what the sessions cost. An agent can write such a
//! file, so it is read within bounds, and all that follows from it is when a program is told to go on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Limits further ahead than this many seconds are not believed: the longest is a month.
const FURTHEST: i64 = 35 * 24 * 60 * 60;

/// How many characters the word for a limit may have.
const LONGEST_WORD: usize = 32;

/// After the end of a limit a program that goes on by itself does so within this many seconds.
const BY_ITSELF: i64 = 180;

/// Others are told to go on this many seconds after it, and up to a minute later, so that not all come at once.
const AFTER: i64 = 20;
const SPREAD: i64 = 60;

/// A usage limit of the account that a program has hit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageLimit {
    /// When it was noticed.
    pub since_unix: i64,
    /// When it ends; none if nobody knows.
    pub until_unix: Option<i64>,
    /// Which limit it is: `five_hour`, `weekly` or the program's own word.
    pub kind: Option<String>,
}

impl UsageLimit {
    /// Whether it may hold still.
    pub fn holds(&self, now: i64) -> bool {
        self.until_unix.is_none_or(|until| now < until)
    }

    /// Whether this tells when the limit ends, or else which one it is, and `known` does not.
    pub fn tells_more_than(&self, known: &UsageLimit) -> bool {
        let tells_kind = self.kind.is_some() && self.kind != known.kind;
        known.until_unix.is_none() && (self.until_unix.is_some() || tells_kind)
    }

    /// When the program of this worker is to be told to go on: one that goes on by itself, only if it has not. `retry` is
    /// the number of seconds after which a limit without a known end is tried.
    pub fn ends_for(&self, worker: &str, goes_on_by_itself: bool, retry: Option<i64>) -> Option<i64> {
        let spread = worker.bytes().fold(7_i64, |sum, byte| (sum * 31 + i64::from(byte)) % SPREAD);
        match self.until_unix {
            Some(until) if goes_on_by_itself => Some(until + BY_ITSELF),
            Some(until) => Some(until + AFTER + spread),
            None => retry.map(|retry| self.since_unix + retry + spread.min(retry)),
        }
    }
}

/// How long a row may be that is looked at.
const LONGEST_ROW: usize = 1 << 20;

/// The rows of a file's end; what stands before its first line end may be the rest of a row.
fn rows(text: &[u8]) -> impl Iterator<Item = Value> {
    let rows = text.split(|byte| *byte == b'\n').filter(|row| row.len() <= LONGEST_ROW);
    rows.filter_map(|row| serde_json::from_slice(row).ok())
}

/// The limit that the last such row of a transcript tells.
pub fn in_transcript(tail: &[u8], now: i64) -> Option<UsageLimit> {
    let quota =
        rows(tail).filter_map(|mut row| Some(row.get_mut("quotaLimits")?.take())).filter(Value::is_object).last()?;
    let kind = quota["rateLimitType"].as_str();
    Some(UsageLimit { since_unix: now, until_unix: believed(&quota["resetsAt"], now), kind: kind.and_then(word) })
}

/// The limit with which the last turn of a rollout ended, if it ended with one since `begun`.
pub fn in_rollout(tail: &[u8], begun: i64, now: i64) -> Option<UsageLimit> {
    let (mut windows, mut limit) = (Value::Null, None);
    for mut row in rows(tail) {
        let time = row["timestamp"].as_str().and_then(|time| time.parse::<jiff::Timestamp>().ok());
        if time.is_none_or(|time| time.as_second() < begun) {
            continue;
        }
        match (row["type"].as_str(), row["payload"]["type"].as_str()) {
            (Some("turn_context"), _) | (_, Some("task_started")) => limit = None,
            (_, Some("token_count")) => windows = row["payload"]["rate_limits"].take(),
            (_, Some("task_complete")) => {
                let is_limit = row["payload"]["error"]["codex_error_info"] == "usage_limit_exceeded";
                limit = is_limit.then(|| of_windows(&windows, now));
            }
            _ => {}
        }
    }
    limit
}

/// The limit whose window is used up; if both are, the one that ends later.
fn of_windows(windows: &Value, now: i64) -> UsageLimit {
    let is_full = |window: &&Value| window["used_percent"].as_f64().is_some_and(|used| used >= 100.0);
    let full = [&windows["primary"], &windows["secondary"]].into_iter().filter(is_full);
    let window = full.max_by_key(|window| seconds(&window["resets_at"])).unwrap_or(&windows["primary"]);
    let kind = match window["window_minutes"].as_u64() {
        Some(300) => Some("five_hour".to_owned()),
        Some(10_080) => Some("weekly".to_owned()),
        _ => None,
    };
    UsageLimit { since_unix: now, until_unix: believed(&window["resets_at"], now), kind }
}

/// A time in whole seconds; one with a fraction is the second after it.
fn seconds(time: &Value) -> Option<i64> {
    time.as_i64().or_else(|| time.as_f64().map(|time| time.ceil() as i64))
}

fn believed(time: &Value, now: i64) -> Option<i64> {
    seconds(time).filter(|time| *time > now && *time <= now.saturating_add(FURTHEST))
}

/// A program's word for a limit, unless it is no word.
fn word(text: &str) -> Option<String> {
    let is_word = text.len() <= LONGEST_WORD && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    (is_word && !text.is_empty()).then(|| if text == "seven_day" { "weekly" } else { text }.to_owned())
}

/// What some sessions cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    #[serde(rename = "in")]
    pub input: u64,
    pub out: u64,
    /// How much of the input came from a cache.
    pub cached: u64,
    /// As the program counts it; none if it does not.
    pub dollars: Option<f64>,
}

impl Cost {
    pub fn plus(&self, other: &Cost) -> Cost {
        let dollars = self.dollars.iter().chain(&other.dollars).copied().reduce(|a, b| a + b);
        Cost {
            input: self.input.saturating_add(other.input),
            out: self.out.saturating_add(other.out),
            cached: self.cached.saturating_add(other.cached),
            dollars,
        }
    }
}

/// How many sessions of a worker are kept apart.
const SESSIONS: usize = 20;

/// What a worker's sessions cost, each by the name of its file, because the count of a session that is continued goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// The sum of those that are no more kept apart.
    earlier: Cost,
    /// The latest, the last one last.
    sessions: Vec<(String, Cost)>,
}

// An amount that is no number is read as none.
impl Eq for Spent {}

impl Spent {
    pub fn is_empty(&self) -> bool {
        *self == Spent::default()
    }

    /// Takes in what a session has cost so far.
    pub fn note(&mut self, session: String, cost: Cost) {
        self.sessions.retain(|(known, _)| *known != session);
        self.sessions.push((session, cost));
        if self.sessions.len() > SESSIONS {
            self.earlier = self.earlier.plus(&self.sessions.remove(0).1);
        }
    }

    pub fn sum(&self) -> Cost {
        self.sessions.iter().fold(self.earlier.clone(), |sum, (_, cost)| sum.plus(cost))
    }
}

fn count(value: &Value, keys: &[&str]) -> u64 {
    keys.iter().filter_map(|key| value[key].as_u64()).fold(0, u64::saturating_add)
}

/// What the session of a transcript cost. A message is in it once for each part that it has.
pub fn cost_in_transcript(text: &[u8]) -> Cost {
    let (mut messages, mut dollars) = (BTreeMap::new(), None);
    for row in rows(text) {
        match row["type"].as_str() {
            Some("assistant") => {
                let usage = &row["message"]["usage"];
                let cached = count(usage, &["cache_read_input_tokens"]);
                let input = count(usage, &["input_tokens", "cache_creation_input_tokens"]).saturating_add(cached);
                let cost = Cost { input, out: count(usage, &["output_tokens"]), cached, dollars: None };
                messages.insert(row["message"]["id"].to_string(), cost);
            }
            Some("cost-state") => dollars = row["totalCostUSD"].as_f64().filter(|dollars| (0.0..1e9).contains(dollars)),
            _ => {}
        }
    }
    Cost { dollars, ..messages.values().fold(Cost::default(), |sum, cost| sum.plus(cost)) }
}

/// What the session of a rollout cost: its rows count on.
pub fn cost_in_rollout(text: &[u8]) -> Cost {
    let usage = |row: Value| row.pointer("/payload/info/total_token_usage").filter(|usage| usage.is_object()).cloned();
    let usage = rows(text).filter_map(usage).last().unwrap_or_default();
    Cost {
        input: count(&usage, &["input_tokens"]),
        out: count(&usage, &["output_tokens"]),
        cached: count(&usage, &["cached_input_tokens"]),
        dollars: None,
    }
}

/// What the session of a chat cost. A message is written anew when it has more.
pub fn cost_in_chat(text: &[u8]) -> Cost {
    let mut messages = BTreeMap::new();
    for row in rows(text).filter(|row| row["tokens"].is_object()) {
        let tokens = &row["tokens"];
        let (input, out) = (count(tokens, &["input"]), count(tokens, &["output", "thoughts"]));
        messages.insert(row["id"].to_string(), Cost { input, out, cached: count(tokens, &["cached"]), dollars: None });
    }
    messages.values().fold(Cost::default(), |sum, cost| sum.plus(cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_795_887_441;

    #[test]
    fn only_a_time_that_can_be_true_is_believed() {
        let told = |resets: &str, kind: &str| {
            let row = format!("{{\"quotaLimits\":{{\"resetsAt\":{resets},\"rateLimitType\":{kind}}}}}\n");
            let tail = format!("part of a row\"}}\n{row}{{\"type\":\"last-prompt\"}}\n{{\"quotaLim");
            in_transcript(tail.as_bytes(), NOW).map(|limit| (limit.until_unix, limit.kind))
        };
        let known = |kind: &str| Some((Some(NOW + 62), Some(kind.to_owned())));
        assert_eq!(told("1795887503", "\"five_hour\""), known("five_hour"));
        assert_eq!(told("1795887503", "\"seven_day\""), known("weekly"));
        assert_eq!(told("1795887502.5", "\"seven_day\""), known("weekly"));
        let far = (NOW + FURTHEST + 1).to_string();
        for odd in ["1795887441", "-5", "0", "\"soon\"", "1795887440.5", "99999999999999999999", "null", &far] {
            assert_eq!(told(odd, "\"\\u001b[2J\""), Some((None, None)), "{odd}");
        }
        assert_eq!(in_transcript(b"{\"quotaLimits\":null}\n", NOW), None);
    }

    #[test]
    fn programs_are_told_to_go_on_a_little_after_the_end_and_not_all_at_once() {
        let known = UsageLimit { since_unix: 100, until_unix: Some(1_000), kind: None };
        assert_eq!(known.ends_for("adam", true, Some(5)), Some(1_180));
        let ends: Vec<i64> = ["adam", "eve", "zoe"].map(|name| known.ends_for(name, false, None).unwrap()).into();
        assert!(ends.iter().all(|end| (1_020..1_080).contains(end)) && ends[0] != ends[1], "{ends:?}");
        let unknown = UsageLimit { until_unix: None, ..known.clone() };
        assert_eq!(unknown.ends_for("adam", true, None), None);
        assert!((101..=102).contains(&unknown.ends_for("adam", true, Some(1)).unwrap()));
        assert!(known.holds(999) && !known.holds(1_000) && unknown.holds(9_999));
    }

    #[test]
    fn a_row_that_tells_less_takes_nothing_back() {
        let nothing = UsageLimit { since_unix: 100, until_unix: None, kind: None };
        let weekly = UsageLimit { kind: Some("weekly".into()), ..nothing.clone() };
        let ending = UsageLimit { until_unix: Some(1_000), ..nothing.clone() };
        assert!(weekly.tells_more_than(&nothing) && ending.tells_more_than(&weekly));
        assert!(!nothing.tells_more_than(&weekly) && !weekly.tells_more_than(&weekly));
        assert!(!nothing.tells_more_than(&ending) && !weekly.tells_more_than(&ending));
    }

    #[test]
    fn a_rollout_tells_of_the_last_turn_of_this_program() {
        let row = |payload: &str| {
            format!("{{\"timestamp\":\"2026-11-28T17:38:50.625Z\",\"type\":\"event_msg\",\"payload\":{payload}}}\n")
        };
        let full = row(&format!(
            "{{\"type\":\"token_count\",\"rate_limits\":{{\"primary\":{{\"used_percent\":100.0,\"window_minutes\":300,\"resets_at\":{}}},\
             \"secondary\":{{\"used_percent\":100.0,\"window_minutes\":10080,\"resets_at\":{}}}}}}}",
            NOW + 200,
            NOW + 9_000
        ));
        let hit = row("{\"type\":\"task_complete\",\"error\":{\"codex_error_info\":\"usage_limit_exceeded\"}}");
        let done = row("{\"type\":\"task_complete\",\"error\":null}");
        let turn = "{\"timestamp\":\"2026-11-28T17:39:50Z\",\"type\":\"turn_context\"}\n";
        let read =
            |text: String, begun| in_rollout(text.as_bytes(), begun, NOW).map(|limit| (limit.until_unix, limit.kind));
        let known = Some((Some(NOW + 9_000), Some("weekly".to_owned())));
        assert_eq!(read(format!("{full}{hit}"), NOW), known);
        assert_eq!(read(hit.clone(), NOW), Some((None, None)));
        for over in [format!("{full}{hit}{turn}"), format!("{full}{hit}{done}"), full.clone(), String::new()] {
            assert_eq!(read(over, NOW), None);
        }
        assert_eq!(read(format!("{full}{hit}"), NOW + 3_600), None, "another program's");
    }

    #[test]
    fn each_message_costs_once() {
        let message = |id: &str, out: u64| {
            format!(
                "{{\"type\":\"assistant\",\"message\":{{\"id\":\"{id}\",\"usage\":{{\"input_tokens\":10,\
                 \"cache_read_input_tokens\":5,\"output_tokens\":{out}}}}}}}\n"
            )
        };
        let text = [
            message("a", 1),
            message("a", 3),
            message("b", 4),
            "{\"type\":\"cost-state\",\"totalCostUSD\":0.5}\n".into(),
        ];
        let cost = cost_in_transcript(text.concat().as_bytes());
        assert_eq!(cost, Cost { input: 30, out: 7, cached: 10, dollars: Some(0.5) });
        let rollout = "{\"payload\":{\"info\":{\"total_token_usage\":{\"input_tokens\":9,\"cached_input_tokens\":2,\"output_tokens\":5}}}}\n\
                       {\"payload\":{\"info\":null}}\n";
        assert_eq!(cost_in_rollout(rollout.as_bytes()), Cost { input: 9, out: 5, cached: 2, dollars: None });
        let chat = "{\"id\":\"m\",\"tokens\":{\"input\":7,\"output\":2,\"cached\":0,\"thoughts\":1}}\n";
        assert_eq!(cost_in_chat(chat.repeat(2).as_bytes()), Cost { input: 7, out: 3, cached: 0, dollars: None });
    }
}
