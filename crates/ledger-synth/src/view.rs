//! `current.md`: what a reader sees of the join, and reading it back. A pure function of the events; format in
//! `docs/formats.md`.

use std::borrow::Cow;
use std::cmp::Ordering;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use shopfloor_core::hash::Digest;

use crate::event::{self, Checkpoint};
use crate::plan::{Join, RETRACT, Section, Source};

/// The rendering we write, and the newest we compare with.
pub const FORMAT: u32 = 1;

const FOOTER: &str = "\n---\n_synthesized:\n";

/// A checkpoint and the agent that reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached<'j> {
    pub checkpoint: &'j Checkpoint<'j>,
    pub agent: &'j str,
}

/// A section no rule is made for, in every shape it was written in.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Other<'j> {
    pub key: &'j str,
    pub text: Option<&'j str>,
    pub items: Vec<&'j str>,
    pub pairs: Vec<(&'j str, &'j str)>,
}

/// What the ledger says now.
#[derive(Debug, Default)]
pub struct View<'j> {
    pub goal: Option<&'j str>,
    pub now: Option<&'j str>,
    pub this_session: Vec<&'j str>,
    pub decisions: Vec<(&'j str, &'j str)>,
    pub checkpoints: Vec<Reached<'j>>,
    pub open_questions: Vec<&'j str>,
    pub others: Vec<Other<'j>>,
    pub event_count: usize,
    pub latest: Option<Timestamp>,
    pub inputs: Option<Digest>,
}

impl<'j> View<'j> {
    /// `window`: how far back from the newest event `this_session` reaches.
    pub fn of(join: &'j Join<'_>, window: Option<SignedDuration>) -> View<'j> {
        let mut view = View {
            event_count: join.sources.len(),
            latest: join.latest(),
            inputs: Some(join.inputs()),
            checkpoints: checkpoints(join),
            ..View::default()
        };
        let oldest = window.and_then(|window| view.latest?.checked_sub(window).ok());
        let resolved = join.sections.get("resolved");
        for (name, section) in &join.sections {
            let text = section.text.as_ref().map(|(text, _)| &**text);
            match &**name {
                "goal" => view.goal = text,
                "now" => view.now = text,
                "this_session" => {
                    let is_shown = |of: u32| oldest.is_none_or(|oldest| join.source(of).ts >= oldest);
                    view.this_session =
                        section.items.iter().filter(|(_, of)| is_shown(*of)).map(|(t, _)| &**t).collect();
                }
                "decisions" => view.decisions = pairs(section),
                "open_questions" => {
                    let is_open = |text: &str, of| resolved.is_none_or(|r| is_open(join, r, text, of));
                    let open = section.items.iter().filter(|(text, of)| is_open(text, *of));
                    view.open_questions = open.map(|(text, _)| &**text).collect();
                }
                "resolved" => {}
                _ => {
                    let hidden = |text: &str| name == RETRACT && Digest::parse(text).is_some();
                    let items = section.items.iter().map(|(t, _)| &**t).filter(|text| !hidden(text)).collect();
                    let other = Other { key: name, text, items, pairs: pairs(section) };
                    if other.text.is_some() || !other.items.is_empty() || !other.pairs.is_empty() {
                        view.others.push(other);
                    }
                }
            }
        }
        view
    }

    /// The keys of `--json`, as `docs/formats.md` has them.
    pub fn json(&self) -> Map<String, Value> {
        let map = |pairs: &[(&str, &str)]| -> Value {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect::<Map<_, _>>().into()
        };
        let checkpoint = |reached: &Reached<'_>| {
            let c = reached.checkpoint;
            json!({ "phase": c.phase, "status": c.status, "updated": c.updated, "agent": reached.agent, "more": c.more })
        };
        let other = |other: &Other<'_>| {
            let shapes: Vec<Value> = other
                .text
                .map(Value::from)
                .into_iter()
                .chain((!other.items.is_empty()).then(|| Value::from(other.items.clone())))
                .chain((!other.pairs.is_empty()).then(|| map(&other.pairs)))
                .collect();
            // One shape is what almost every section has; several stand in a list.
            let value = if let [one] = shapes.as_slice() { one.clone() } else { json!({ "shapes": shapes }) };
            (other.key.to_owned(), value)
        };
        let json = json!({
            "goal": self.goal, "now": self.now, "this_session": self.this_session, "decisions": map(&self.decisions),
            "checkpoints": self.checkpoints.iter().map(checkpoint).collect::<Vec<_>>(),
            "open_questions": self.open_questions,
            "other": self.others.iter().map(other).collect::<Map<_, _>>(),
            "event_count": self.event_count, "latest_ts": self.latest.map(|ts| ts.to_string()), "inputs": self.inputs,
        });
        if let Value::Object(map) = json { map } else { Map::new() }
    }

    /// The text of `current.md`. `stamp` is the wall clock where somebody asked for it.
    pub fn render(&self, skipped: usize, stamp: Option<Timestamp>) -> String {
        let items = self.this_session.iter().chain(&self.open_questions).map(|text| text.len() + 4).sum::<usize>();
        let mut out = String::with_capacity(items + 80 * self.checkpoints.len() + (4 << 10));
        out.push_str("## Ledger\n");
        for (name, text) in [("Goal", self.goal), ("Now", self.now)] {
            if let Some(text) = text {
                out.push_str(&format!("\n**{name}:** "));
                value(&mut out, text, Place::Inline);
            }
        }
        list(&mut out, "This Session", &self.this_session);
        map(&mut out, "Decisions", &self.decisions);
        if !self.checkpoints.is_empty() {
            heading(&mut out, "Checkpoints");
        }
        for Reached { checkpoint, agent } in &self.checkpoints {
            reached(&mut out, checkpoint, agent);
        }
        list(&mut out, "Open Questions", &self.open_questions);
        for other in &self.others {
            heading(&mut out, &escaped(other.key, ""));
            if let Some(text) = other.text {
                value(&mut out, text, Place::Paragraph);
            }
            bullets(&mut out, &other.items, Place::Mixed);
            entries(&mut out, &other.pairs);
        }
        let hash = Digest::of(out.as_bytes());
        let latest = self.latest.unwrap_or_default();
        let inputs = self.inputs.map(|inputs| inputs.to_string()).unwrap_or_default();
        out.push_str(FOOTER);
        out.push_str(&format!(
            "  event_count: {}\n  latest_ts: {latest}\n  generated_at: {}\n  format: {FORMAT}\n  inputs: {inputs}\n  \
             skipped: {skipped}\n  output: {hash}\n\n---\n",
            self.event_count,
            stamp.unwrap_or(latest),
        ));
        out
    }
}

fn pairs<'j>(section: &'j Section<'_>) -> Vec<(&'j str, &'j str)> {
    section.pairs.iter().filter_map(|(key, (value, _))| Some((&**key, value.as_deref()?))).collect()
}

/// Whether a question was asked after it was last resolved.
fn is_open(join: &Join<'_>, resolved: &Section<'_>, text: &str, asked: u32) -> bool {
    let at = resolved.items.binary_search_by(|(item, _)| (**item).cmp(text));
    let stamp = |of: u32| (join.source(of).ts, &*join.source(of).agent);
    at.is_err() || at.is_ok_and(|at| stamp(asked) > stamp(resolved.items[at].1))
}

fn checkpoints<'j>(join: &'j Join<'_>) -> Vec<Reached<'j>> {
    let reach = |(checkpoint, of): &'j (Checkpoint<'_>, u32)| Reached { checkpoint, agent: &join.source(*of).agent };
    let mut all: Vec<_> = join.checkpoints.iter().map(|by| (event::instant(&by.0.updated), reach(by))).collect();
    all.sort_unstable_by(|(a_at, a), (b_at, b)| {
        let (x, y) = (a.checkpoint, b.checkpoint);
        // A time nobody can read comes after those that are one, by its text.
        let by_time = match (a_at, b_at) {
            (Some(a), Some(b)) => a.cmp(b),
            (None, None) => x.updated.cmp(&y.updated),
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        by_time
            .then_with(|| natural(&x.phase, &y.phase))
            .then_with(|| a.agent.cmp(b.agent))
            .then_with(|| x.status.cmp(&y.status))
            .then_with(|| x.more.cmp(&y.more))
    });
    all.into_iter().map(|(_, reached)| reached).collect()
}

/// Numbers in a text by their value, the rest by its bytes: `2`, `10`, `10a`.
fn natural(a: &str, b: &str) -> Ordering {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (mut x, mut y) = (a, b);
    while !x.is_empty() && !y.is_empty() {
        let (m, n) = (digits(x), digits(y));
        if m > 0 && n > 0 {
            let (p, q) = (x[..m].trim_start_matches('0'), y[..n].trim_start_matches('0'));
            let order = p.len().cmp(&q.len()).then(p.cmp(q));
            if order != Ordering::Equal {
                return order;
            }
            (x, y) = (&x[m..], &y[n..]);
        } else {
            let (p, q) = (x.chars().next(), y.chars().next());
            if p != q {
                return p.cmp(&q);
            }
            let width = p.map_or(1, char::len_utf8);
            (x, y) = (&x[width..], &y[width..]);
        }
    }
    x.len().cmp(&y.len()).then(a.cmp(b))
}

/// What current banners and reports say of an event.
pub fn line(source: &Source<'_>) -> String {
    // Minutes are enough to tell sessions apart.
    let ts = source.ts.to_string();
    let about = source.about();
    let gap = if about.is_empty() { "" } else { " - " };
    format!("{} ({}){gap}{}", escaped(&source.agent, ""), ts.get(..16).unwrap_or(&ts), escaped(&about, ""))
}

fn heading(out: &mut String, title: &str) {
    out.push_str("\n### ");
    out.push_str(title);
    out.push('\n');
}

fn list(out: &mut String, title: &str, items: &[&str]) {
    if !items.is_empty() {
        heading(out, title);
        bullets(out, items, Place::Inline);
    }
}

fn map(out: &mut String, title: &str, pairs: &[(&str, &str)]) {
    if !pairs.is_empty() {
        heading(out, title);
        entries(out, pairs);
    }
}

fn bullets(out: &mut String, items: &[&str], place: Place) {
    for item in items {
        out.push_str("- ");
        value(out, item, place);
    }
}

fn entries(out: &mut String, pairs: &[(&str, &str)]) {
    for (key, text) in pairs {
        let key = escaped(key, if key.contains(":**") { ":" } else { "" });
        out.push_str(&format!("- **{key}:**"));
        if !text.is_empty() {
            out.push(' ');
        }
        value(out, text, Place::Inline);
    }
}

fn reached(out: &mut String, checkpoint: &Checkpoint<'_>, agent: &str) {
    let Checkpoint { phase, status, updated, more } = checkpoint;
    let phase = escaped(phase, if phase.contains(": ") { ":" } else { "" });
    out.push_str(&format!("- Phase {phase}: {}", escaped(status, "")));
    out.push_str(&format!(" ({}, {})", escaped(updated, "(,"), escaped(agent, "(")));
    out.push('\n');
    for line in more.lines() {
        out.push_str(&format!("  {}\n", guarded(line, Place::Continuation)));
    }
}

/// A text that goes on to the end of its last line; further lines are indented.
fn value(out: &mut String, text: &str, place: Place) {
    // Blanks at the margin would make it a part of what stands before.
    let body = if place == Place::Paragraph { text.trim_start_matches(['\n', ' ', '\t']) } else { text };
    let margin = &text[..text.len() - body.len()];
    margin.chars().for_each(|c| out.push_str(&format!("\\u{{{:x}}}", u32::from(c))));
    let mut lines = body.split('\n').peekable();
    let first = lines.next().unwrap_or_default();
    out.push_str(&if margin.is_empty() { guarded(first, place) } else { escaped(first, "") });
    while let Some(line) = lines.next() {
        out.push('\n');
        // A line end at its very end would be lost without the margin behind it.
        if !line.is_empty() || lines.peek().is_none() {
            out.push_str("  ");
            out.push_str(&guarded(line, Place::Continuation));
        }
    }
    out.push('\n');
}

/// Where the first line of a text stands, which decides what else it could be taken for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Behind a marker or a key.
    Inline,
    /// In a list whose other items may have keys.
    Mixed,
    /// Behind the indent of a further line.
    Continuation,
    /// At the left margin.
    Paragraph,
}

impl Place {
    /// Whether a line that begins so would be structure here, and so gets a backslash.
    fn is_structure(self, bare: &str) -> bool {
        ["#", "---", "===", "```", "~~~"].iter().any(|mark| bare.starts_with(mark))
            || (self == Place::Mixed && bare.starts_with("**") && bare.contains(":**"))
            || (matches!(self, Place::Continuation | Place::Paragraph) && is_block(bare))
            || (self == Place::Paragraph && (bare.starts_with("- ") || register(bare).is_some()))
    }
}

/// Whether a line that begins so parts a page in two, or hides what follows as HTML can.
fn is_block(bare: &str) -> bool {
    let html =
        bare.strip_prefix('<').is_some_and(|rest| rest.starts_with(|c: char| c.is_alphabetic() || "/!?".contains(c)));
    html || bare.starts_with("***") || bare.starts_with("___")
}

fn guarded(line: &str, place: Place) -> Cow<'_, str> {
    let line = escaped(line, "");
    let at = line.len() - line.trim_start_matches([' ', '\t']).len();
    if !place.is_structure(line[at..].trim_start_matches('\\')) {
        return line;
    }
    format!("{}\\{}", &line[..at], &line[at..]).into()
}

/// The text with everything as an escape that a terminal or a reader would not show, and all of `more`; a
/// comment that would hide what follows gets a backslash. Reversible: the tests read it back.
fn escaped<'t>(text: &'t str, more: &str) -> Cow<'t, str> {
    let is_hidden = |c: char| (c.is_control() && c != '\t') || is_bidi(c) || more.contains(c);
    if !text.contains(is_hidden) && !text.contains("\\u{") && !text.contains("<!--") {
        return text.into();
    }
    let (mut out, mut slashes) = (String::with_capacity(text.len() + 8), 0);
    for (at, c) in text.char_indices() {
        if c == '\\' {
            slashes += 1;
            continue;
        }
        let is_escape = slashes > 0 && text[at..].starts_with("u{");
        if is_hidden(c) {
            // A backslash before an escape would read as part of it.
            out.push_str(&"\\u{5c}".repeat(slashes));
            out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
        } else {
            out.push_str(&"\\".repeat(slashes + usize::from(is_escape || text[at..].starts_with("<!--"))));
            out.push(c);
        }
        slashes = 0;
    }
    (out + &"\\".repeat(slashes)).into()
}

/// Marks that turn or part a line (Unicode UAX #9, and the separators).
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What a file says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footer {
    pub format: u32,
    /// The hash of what stands above it, when it was written.
    output: String,
    /// Whether that is what stands there still.
    pub is_intact: bool,
}

/// The footer of a generated file; none when a person wrote it.
pub fn footer(text: &str) -> Option<Footer> {
    let text = if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) };
    let at = text.rfind(FOOTER)?;
    let field = |name: &str| {
        text[at + FOOTER.len()..]
            .lines()
            .find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
    };
    let output = field("output").unwrap_or_default();
    // What stands above is as it was, and behind the footer, or in it, is nothing more.
    let keys = ["event_count", "latest_ts", "generated_at", "format", "inputs", "skipped", "output"];
    let (own, rest) = text[at + FOOTER.len()..].split_once("\n\n---\n").unwrap_or_default();
    let is_plain = rest.is_empty()
        && own.lines().count() == keys.len()
        && own
            .lines()
            .zip(keys)
            .all(|(line, key)| line.strip_prefix("  ").is_some_and(|l| l.starts_with(&format!("{key}: "))));
    let is_intact = is_plain && Digest::of(&text.as_bytes()[..at]).to_string() == output;
    Some(Footer { format: field("format").and_then(|n| n.parse().ok()).unwrap_or(1), output, is_intact })
}

/// Whether two texts of the ledger are the same: line ends and the time of writing do not count.
pub fn is_same(a: &str, b: &str) -> bool {
    fn lines(text: &str) -> impl Iterator<Item = &str> {
        let mut is_footer = false;
        text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).filter(move |line| {
            // No value has such a line at the margin.
            is_footer |= *line == "---";
            !(is_footer && line.starts_with("  generated_at: "))
        })
    }
    a == b || lines(a).eq(lines(b))
}

fn register(line: &str) -> Option<(&'static str, &str)> {
    let now = line.strip_prefix("**Now:** ").map(|text| ("now", text));
    now.or_else(|| line.strip_prefix("**Goal:** ").map(|text| ("goal", text)))
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
