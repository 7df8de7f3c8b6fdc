//! `migrate`: handoff files of other shapes become events. The files themselves stay where they are.

use std::borrow::Cow;
use std::path::Path;

use jiff::Timestamp;
use serde_json::json;
use serde_yaml::Value;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::{add, adopt};
use crate::cli::{MigrateArgs, Place};
use crate::event::{self, Entry, Event, Meta, Record};
use crate::facts::Ledger;
use crate::facts::gather::everything;
use crate::{body, scalar};

/// Names under which handoffs have what we know by another name.
const ALIASES: [(&str, &str); 8] = [
    ("done_this_session", "this_session"),
    ("done", "this_session"),
    ("completed", "this_session"),
    ("accomplished", "this_session"),
    ("questions", "open_questions"),
    ("open_question", "open_questions"),
    ("current", "now"),
    ("objective", "goal"),
];

pub fn run(ui: &Ui, env: &Env, place: &Place, args: &MigrateArgs) -> Result<Exit> {
    let ts = args.ts.as_deref().map(|text| {
        event::instant(text)
            .ok_or_else(|| Failure::usage(format!("--ts must be an RFC 3339 time with an offset, not `{text}`")))
    });
    let ts = ts.transpose()?;
    let ledger = Ledger::find(ui, env, place)?;
    let mut known: std::collections::BTreeSet<_> =
        everything(&ledger)?.records.iter().map(|record| record.id).collect();
    // All are read before the first is written.
    let mut events = Vec::new();
    for file in &args.files {
        let path = env.cwd.join(file);
        let bytes =
            fs::read(&path)?.ok_or_else(|| Failure::not_found(format!("there is no file {}", path.display())))?;
        let wrong = |problem: event::Malformed| {
            Failure::malformed(format!("{}:{}: {}", path.display(), problem.line, problem.why))
        };
        let text = event::text(&bytes).map_err(wrong)?.into_owned();
        events.push((path.clone(), migrated(env, &ledger, args, ts, &path, &text)?));
    }
    for (path, event) in &events {
        add::proven(event)
            .map_err(|failure| Failure { message: format!("{}: {}", path.display(), failure.message), ..failure })?;
    }
    for (path, event) in &events {
        let from = printable(&path.to_string_lossy()).clone();
        if !known.insert(Record::of(event).id) {
            ui.note(format!("{from} is an event already"));
            continue;
        }
        let written = add::write(&ledger, event, place.dry_run)?;
        let to = ledger.dir.join(&written.below);
        if ui.is_json() {
            ui.json(&json!({ "from": path.to_string_lossy(), "path": to.to_string_lossy(), "id": written.id, "ts": event.meta.ts.to_string(), "agent": event.meta.agent }));
        } else {
            ui.line(printable(&to.to_string_lossy()));
        }
    }
    Ok(Exit::Done)
}

fn migrated(
    env: &Env,
    ledger: &Ledger,
    args: &MigrateArgs,
    given: Option<Timestamp>,
    path: &Path,
    text: &str,
) -> Result<Event<'static>> {
    let (front, rest) = match event::parts(text) {
        Ok(parts) => (parts.front, parts.body),
        Err(_) => ("", text),
    };
    let fields = fields(front);
    let all = |names: &'static [&str]| {
        fields.iter().filter(|(key, _)| names.contains(&&*key.to_lowercase())).map(|(_, value)| scalar::plain(value))
    };
    let field = |names: &'static [&str]| all(names).next();
    let ts = all(&["ts", "timestamp", "date", "updated", "created"]).find_map(|text| event::instant(&text));
    let ts = ts.or_else(|| adopt::updated(text)).or_else(|| named_time(path)).or(given).ok_or_else(|| {
        Failure::malformed(format!("{}: nothing tells when it was written", path.display()))
            .hint("say it: `--ts 2026-01-10T13:00:00Z`")
    })?;
    let mut entries: Vec<Entry<'static>> = body::adopted(rest).into_iter().map(renamed).collect();
    // What else the frontmatter says is said in the ledger too.
    let meta_keys = [
        "ts",
        "timestamp",
        "date",
        "updated",
        "created",
        "agent",
        "author",
        "session",
        "branch",
        "type",
        "reason",
        "title",
    ];
    for (key, value) in fields.iter().filter(|(key, _)| !meta_keys.contains(&&*key.to_lowercase())) {
        let sub = section(&body::section_name(key), value);
        entries.extend(body::parse(&sub).into_iter().map(owned).map(renamed));
    }
    // What is no YAML is read line by line, as bodies are: agents do not always write it strictly.
    if !is_map(front) {
        let is_meta =
            |line: &&str| line.split_once(':').is_some_and(|(key, _)| meta_keys.contains(&&*key.trim().to_lowercase()));
        let lines: String = front.lines().filter(|line| !is_meta(line)).map(|line| format!("{line}\n")).collect();
        entries.extend(body::parse(&lines).into_iter().map(owned).map(renamed));
    }
    let entries = joined(entries);
    if entries.is_empty() {
        return Err(Failure::malformed(format!("{}: it says nothing an event could", path.display())));
    }
    let agent = match field(&["agent", "author", "session"]).filter(|agent| !agent.trim().is_empty()) {
        Some(agent) if args.agent.is_none() => agent,
        _ => add::agent(env, ledger, args.agent.as_deref())?,
    };
    let own = |text: Option<String>| text.filter(|text| !text.is_empty()).map(Cow::Owned);
    let meta = Meta {
        ts,
        agent: agent.into(),
        branch: own(field(&["branch"])),
        kind: own(field(&["type"])).or(Some("handoff".into())),
        reason: own(field(&["reason"])),
        title: own(field(&["title"])),
    };
    Ok(Event::new(meta, entries))
}

/// A section of a frontmatter as it stands in a body: lists as lists, maps as maps.
fn section(name: &str, value: &Value) -> String {
    let line = |(key, value): (&Value, &Value)| {
        format!("{}: {}\n", scalar::written(&scalar::plain(key)), scalar::written(&scalar::plain(value)))
    };
    let lines: String = match value {
        Value::Sequence(items) => items
            .iter()
            .map(|item| match item {
                Value::Mapping(map) if !map.is_empty() => {
                    let lines: String = map.iter().map(line).collect();
                    lines
                        .lines()
                        .enumerate()
                        .map(|(n, line)| format!("{} {line}\n", if n == 0 { "-" } else { " " }))
                        .collect()
                }
                item => format!("- {}\n", scalar::written(&scalar::plain(item))),
            })
            .collect(),
        Value::Mapping(map) => map.iter().map(line).map(|line| format!("  {line}")).collect(),
        value => {
            let text = scalar::plain(value);
            return if text.is_empty() { String::new() } else { format!("{name}: {}\n", scalar::written(&text)) };
        }
    };
    format!("{name}:\n{lines}")
}

/// Whether a frontmatter is what YAML takes for a map, or nothing.
fn is_map(front: &str) -> bool {
    front.trim().is_empty() || matches!(serde_yaml::from_str(shallow(front)), Ok(Value::Mapping(_)))
}

/// The fields of a frontmatter; of one that is no map those that stand on a line each.
fn fields(front: &str) -> Vec<(String, Value)> {
    if !is_map(front) {
        let fields = front.lines().filter(|line| !line.starts_with([' ', '\t', '-', '#'])).filter_map(|line| {
            let (key, value) = line.split_once(": ")?;
            Some((key.trim().to_owned(), Value::String(value.trim().trim_matches(['"', '\'']).to_owned())))
        });
        let meta = ["ts", "timestamp", "date", "updated", "created", "agent", "author", "session", "branch", "type"];
        return fields.filter(|(key, _)| meta.contains(&&*key.to_lowercase())).collect();
    }
    let Ok(Value::Mapping(map)) = serde_yaml::from_str(shallow(front)) else { return Vec::new() };
    map.into_iter().map(|(key, value)| (scalar::plain(&key), value)).collect()
}

/// The text, unless it could cost a parser too much.
fn shallow(front: &str) -> &str {
    let is_deep = front.len() > 16 << 10 || front.bytes().filter(|b| matches!(b, b'[' | b'{')).count() > 64;
    if is_deep { "" } else { front }
}

/// A time that the file's name begins with, as event files have it; a day alone is its beginning.
fn named_time(path: &Path) -> Option<Timestamp> {
    let name = path.file_stem()?.to_string_lossy().into_owned();
    let day = name.get(..10)?;
    let clock = name.get(10..).and_then(|rest| rest.strip_prefix(['T', '_', '-']));
    let digits: Vec<&str> = clock
        .unwrap_or_default()
        .split(['-', '_', 'Z', '.'])
        .take_while(|p| p.len() == 2 && p.bytes().all(|b| b.is_ascii_digit()))
        .collect();
    let time = match digits.as_slice() {
        [h, m, s, ..] => format!("{h}:{m}:{s}"),
        [h, m] => format!("{h}:{m}:00"),
        _ => "00:00:00".to_owned(),
    };
    event::instant(&format!("{day}T{time}Z")).or_else(|| event::instant(&format!("{day}T00:00:00Z")))
}

fn renamed(entry: Entry<'static>) -> Entry<'static> {
    let name = |section: Cow<'static, str>| -> Cow<'static, str> {
        let plain = section.to_lowercase().replace([' ', '-'], "_");
        ALIASES.iter().find(|(alias, _)| *alias == plain).map_or(section, |(_, known)| (*known).into())
    };
    match entry {
        Entry::Text { section, text } => {
            let section = name(section);
            let is_list = matches!(&*section, "this_session" | "open_questions" | "resolved");
            if is_list { Entry::Item { section, text } } else { Entry::Text { section, text } }
        }
        Entry::Item { section, text } => {
            let section = name(section);
            if matches!(&*section, "now" | "goal") {
                Entry::Text { section, text }
            } else {
                Entry::Item { section, text }
            }
        }
        Entry::Pair { section, key, value } => match name(section) {
            section if matches!(&*section, "this_session" | "open_questions" | "resolved" | "now" | "goal") => {
                let text = format!("{key}: {}", value.as_deref().unwrap_or("null"));
                renamed(Entry::Item { section, text: text.into() })
            }
            section => Entry::Pair { section, key, value },
        },
        checkpoint => checkpoint,
    }
}

/// Several texts of one register as one: only one of them would be seen.
fn joined(entries: Vec<Entry<'static>>) -> Vec<Entry<'static>> {
    let mut all: Vec<Entry<'static>> = Vec::new();
    for entry in entries {
        let held = all.iter_mut().find_map(|held| match (held, &entry) {
            (Entry::Text { section: a, text }, Entry::Text { section: b, .. }) if a == b => Some(text),
            _ => None,
        });
        match (held, entry) {
            (Some(text), Entry::Text { text: more, .. }) => *text = format!("{text}\n{more}").into(),
            (_, entry) => all.push(entry),
        }
    }
    all
}

/// An entry that borrows nothing.
pub fn owned(entry: Entry<'_>) -> Entry<'static> {
    let own = |text: Cow<'_, str>| Cow::<'static, str>::Owned(text.into_owned());
    match entry {
        Entry::Text { section, text } => Entry::Text { section: own(section), text: own(text) },
        Entry::Item { section, text } => Entry::Item { section: own(section), text: own(text) },
        Entry::Pair { section, key, value } => {
            Entry::Pair { section: own(section), key: own(key), value: value.map(own) }
        }
        Entry::Checkpoint(c) => Entry::Checkpoint(event::Checkpoint {
            phase: own(c.phase),
            status: own(c.status),
            updated: own(c.updated),
            more: own(c.more),
        }),
    }
}
