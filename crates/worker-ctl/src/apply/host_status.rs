//! How the workers of the hosts are: asked all at once, and for a host that does not answer as it said last.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use shopfloor_core::board::{BoardRow, Need, Standing};
use shopfloor_core::error::Failure;
use shopfloor_core::proc;
use shopfloor_core::ssh::UNREACHABLE;
use shopfloor_core::time::render;

use crate::apply::host_work::{self, ssh_to};
use crate::context::Context;
use crate::hosts::{Host, LastSaid};
use crate::root::WorkerRoot;
use crate::ssh;

/// For how many seconds the time of an answer counts as now.
const KEPT_FOR: i64 = 60;

/// Asks every host at once, and keeps what they say. A host gets two seconds.
pub fn ask(ctx: &Context<'_>) -> Vec<(Host, LastSaid)> {
    let asked = each(ctx.root.hosts().collect(), |host| ask_one(ctx, host, ssh::SHORT)).into_iter();
    asked.map(|(host, (said, _))| (host, said)).collect()
}

/// The same, and says why one did not answer where waiting does not help.
pub fn ask_and_tell(ctx: &Context<'_>) -> Vec<(Host, LastSaid)> {
    let asked = each(ctx.root.hosts().collect(), |host| ask_one(ctx, host, ssh::SHORT)).into_iter();
    let told = |(host, (said, why)): (Host, (LastSaid, Option<Failure>))| {
        match why {
            Some(failure) if UNREACHABLE.is_kind_of(&failure) => ctx.ui.detail(failure),
            Some(failure) => ctx.ui.warn(failure),
            None => {}
        }
        (host, said)
    };
    asked.map(told).collect()
}

/// Does something for each host at the same time.
fn each<T: Send>(hosts: Vec<Host>, work: impl Fn(&Host) -> T + Sync) -> Vec<(Host, T)> {
    let work = &work;
    let done: Vec<T> = thread::scope(|scope| {
        let running: Vec<_> = hosts.iter().map(|host| proc::begin(scope, move || work(host))).collect();
        running.into_iter().map(proc::ended).collect()
    });
    hosts.into_iter().zip(done).collect()
}

/// Asks one host, at most for so long. Returns what it said last, and why it did not answer.
pub fn ask_one(ctx: &Context<'_>, host: &Host, limit: Duration) -> (LastSaid, Option<Failure>) {
    let (root, before) = (&ctx.root.path, LastSaid::load(&ctx.root.path, &host.name));
    let said = ssh_to(ctx, host).ask(&["status"], limit);
    let (said, why) = match said.and_then(|answer| LastSaid::answered(host, &answer, ctx.now())) {
        Ok(said) => (said, None),
        // It was not the host that ended it.
        Err(failure) if ctx.check_ending().is_err() || proc::check_interrupt().is_err() => {
            return (before, Some(failure));
        }
        Err(failure) => {
            let since = before.unreachable_since_unix.or_else(|| Some(ctx.now()));
            (LastSaid { unreachable_since_unix: since, ..before.clone() }, Some(failure))
        }
    };
    // Not each time that it only answered again.
    let is_new = said.at_unix.unwrap_or(0) - before.at_unix.unwrap_or(0) >= KEPT_FOR;
    let at_once = LastSaid { at_unix: before.at_unix, ..said.clone() };
    if !ctx.is_dry && (is_new || at_once != before) {
        ctx.warn_on_failure(&host.name, || said.keep(root, &host.name));
    }
    (said, why)
}

/// What each host said last.
pub fn last(ctx: &Context<'_>) -> Vec<(Host, LastSaid)> {
    ctx.root.hosts().map(|host| (host.clone(), LastSaid::load(&ctx.root.path, &host.name))).collect()
}

/// The workers of hosts, as they are called here.
pub fn last_ids(root: &WorkerRoot) -> Vec<String> {
    let said = root.hosts().map(|host| (LastSaid::load(&root.path, &host.name), host));
    let ids = |(said, host): (LastSaid, Host)| {
        let names = said.workers.into_iter().filter_map(|row| Some(host_work::name_of(&host, row["name"].as_str()?)));
        names.collect::<Vec<_>>()
    };
    said.flat_map(ids).collect()
}

/// What workers of hosts needed a person for then.
pub fn last_needs(root: &WorkerRoot) -> Vec<Need> {
    let said = root.hosts().map(|host| LastSaid::load(&root.path, &host.name));
    said.flat_map(|said| said.workers).filter_map(|row| Need::of_word(row["needs"].as_str()?)).collect()
}

/// Asks every host, and tells each that answers what has landed and where the branch is. Returns what went wrong.
pub fn look_after(ctx: &Context<'_>) -> Vec<String> {
    let look = |host: &Host| match ask_one(ctx, host, ssh::SOON).1 {
        Some(failure) if UNREACHABLE.is_kind_of(&failure) => Ok(()),
        Some(failure) => Err(failure),
        None => host_work::sync(ctx, host).map(drop),
    };
    let looked = each(ctx.root.hosts().collect(), look).into_iter();
    looked.filter_map(|(host, looked)| Some(format!("{}: {}", host.name, looked.err()?))).collect()
}

/// The rows of the hosts' workers, as `status --json` has them.
pub fn rows(said: &[(Host, LastSaid)]) -> Vec<Value> {
    let rows = said.iter().flat_map(|(host, said)| said.workers.iter().map(move |row| (host, said, row)));
    rows.filter(|(.., row)| row.is_object())
        .map(|(host, said, row)| {
            let mut row = row.clone();
            let name = row["name"].as_str().unwrap_or_default().to_owned();
            row["id"] = json!(name);
            if !row["worktree"].is_string() {
                row["worktree"] = json!(name);
            }
            for note in row["notes"].as_array_mut().into_iter().flatten() {
                *note = json!(note.as_str().map(|note| host.renamed(note, std::slice::from_ref(&name), &[])));
            }
            let mut row = named(host, row);
            row["unreachable_since_at"] = json!(said.unreachable_since_unix.and_then(time));
            row
        })
        .collect()
}

/// A time in seconds since 1970 as all tools write times.
pub fn time(unix: i64) -> Option<String> {
    Some(render(jiff::Timestamp::from_second(unix).ok()?))
}

/// An object of an answer about a host's worker, with the names and paths that it has here.
pub fn named(host: &Host, mut object: Value) -> Value {
    let Some(keys) = object.as_object_mut() else { return object };
    let worker = keys.get("worker").or(keys.get("name")).and_then(Value::as_str).map(str::to_owned);
    if let Some(name) = worker {
        let id = Value::from(host_work::name_of(host, &name));
        let is_its = |value: Option<&Value>| value.and_then(Value::as_str) == Some(&*name);
        for key in ["id", "worker"] {
            if is_its(keys.get(key)) {
                keys.insert(key.into(), id.clone());
            }
        }
        keys.entry("name").and_modify(|own| *own = name.into());
    }
    for key in ["worktree", "worktree_path"] {
        if let Some(path) = keys.get(key).and_then(Value::as_str) {
            let there = format!("{}:{path}", host.name);
            keys.insert(key.into(), there.into());
        }
    }
    for list in keys.get_mut("workers").and_then(Value::as_array_mut).into_iter() {
        list.iter_mut().for_each(|one| *one = named(host, one.take()));
    }
    keys.insert("host".into(), host.name.as_str().into());
    object
}

/// A line about a host's worker.
pub fn line(row: &Value, width: usize, now: i64) -> String {
    let text = |key: &str| row[key].as_str().unwrap_or_default();
    let mut parts = vec![text("status").to_owned()];
    if text("status") != text("task") {
        parts.push(format!("task {}", text("task")));
    }
    let does = match (text("activity"), text("activity_text")) {
        ("unknown" | "fresh", _) => String::new(),
        ("asks", question) if !question.is_empty() => format!("asks: {question}"),
        (activity, _) => activity.to_owned(),
    };
    parts.extend([text("fault").to_owned(), does, text("commit").chars().take(12).collect()]);
    parts.extend(row["notes"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
    if let Some(since) = row["unreachable_since_at"].as_str() {
        parts.insert(0, format!("unreachable since {}", local(since, now)));
    }
    parts.retain(|part| !part.is_empty());
    let prompt: String = text("prompt").lines().next().unwrap_or_default().chars().take(60).collect();
    let line = format!("{:width$}  {}  {}", text("id"), parts.join(", "), prompt);
    shopfloor_core::text::printable(line.trim_end())
}

/// The row of a host's worker on the board that `--watch` shows on a terminal.
pub fn board_row(row: &Value) -> BoardRow {
    let text = |key: &str| shopfloor_core::text::printable(row[key].as_str().unwrap_or_default());
    let need = Need::of_word(&text("needs"));
    let standing = match (need, text("status").as_str()) {
        (Some(need), _) => Standing::Needs(need),
        (None, "offline" | "queued") => Standing::Offline,
        (None, "idle") => Standing::Idle,
        _ => Standing::Works,
    };
    let prompt = text("prompt");
    let prompt = prompt.split("\\n").next().unwrap_or_default();
    let what = match (text("unreachable_since_at"), standing) {
        (since, _) if !since.is_empty() => format!("unreachable since {since}"),
        (_, Standing::Needs(Need::Review)) => format!("review {}: {prompt}", text("id")),
        (_, Standing::Needs(Need::Asks)) => format!("answer {}: {}", text("id"), text("activity_text")),
        (_, Standing::Needs(Need::Fault)) => format!("peek {}: {}", text("id"), text("fault")),
        _ => prompt.to_owned(),
    };
    let does = Some(text("activity")).filter(|word| word != "unknown").unwrap_or_default();
    let since = text("since_at").parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second);
    BoardRow { name: text("id"), state: text("status"), does, since, what, standing }
}

fn local(since: &str, now: i64) -> String {
    let times = (since.parse::<jiff::Timestamp>(), jiff::Timestamp::from_second(now));
    match times {
        (Ok(since), Ok(now)) => shopfloor_core::time::local_minute(since, now),
        _ => since.to_owned(),
    }
}
