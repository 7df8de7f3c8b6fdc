//! `env`: the snapshot of `.sweatshop-env`, what changed since, and what becomes of each change.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;
use shopfloor_core::approval::{self, Approvals, Status};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::TOOL;
use crate::apply;
use crate::cli::{EnvCommand, Places};
use crate::env_file::{self, EnvFile, Value};
use crate::facts::{self, EnvHere, Place};
use crate::layer::{FILE, Name};
use crate::plan::EnvWork;
use crate::record::Record;
use crate::review::{self, Change, Kind};
use crate::{template, trust};

pub fn run(ui: &Ui, env: &Env, places: &Places, command: EnvCommand) -> Result<Exit> {
    let place = Place::find(env)?;
    match command {
        EnvCommand::Snapshot(args) => snapshot(ui, &place, args.dry_run),
        EnvCommand::Diff { reveal } => diff(ui, &place, reveal),
        EnvCommand::Review { promote, keep, discard, dry_run } => {
            let answers = answers(&promote, &keep, &discard)?;
            review(ui, env, &place, places, answers, dry_run.dry_run)
        }
    }
}

fn snapshot_path(place: &Place) -> PathBuf {
    place.repo.worktree_state(TOOL).join("snapshot.env")
}

/// Remembers the file; a snapshot that was never reviewed stays, or a crash would hide changes.
fn snapshot(ui: &Ui, place: &Place, dry_run: bool) -> Result<Exit> {
    let path = snapshot_path(place);
    let _lock = if dry_run { None } else { Some(Lock::take(&place.lock_path())?) };
    let kept = fs::read_no_follow(&path)?.is_some();
    if kept {
        ui.note("the earlier snapshot stays until `sweatfile-apply env review` is through with it");
    } else if !dry_run {
        let bytes = match facts::env_here(&place.root)? {
            EnvHere::Missing => Vec::new(),
            EnvHere::File(file, _) => file.to_bytes(),
            EnvHere::Unusable(why) => return Err(unusable(&why)),
        };
        fs::create_private_dir(&place.repo.worktree_state(TOOL))?;
        fs::replace(&path, &bytes, Some(fs::PRIVATE))?;
    }
    if ui.is_json() {
        ui.json(&json!({ "path": path, "created": !kept && !dry_run }));
    }
    Ok(Exit::Done)
}

fn unusable(why: &str) -> Failure {
    Failure::failed(format!("cannot use {}: {why}", env_file::FILE)).hint(format!("move {} away", env_file::FILE))
}

/// The snapshot and the file as it is.
fn both(place: &Place) -> Result<(Option<EnvFile>, EnvFile)> {
    let before = fs::read_no_follow(&snapshot_path(place))?.map(|bytes| EnvFile::parse(&bytes));
    let now = match facts::env_here(&place.root)? {
        EnvHere::Missing => EnvFile::default(),
        EnvHere::File(file, _) => file,
        EnvHere::Unusable(why) => return Err(unusable(&why)),
    };
    Ok((before, now))
}

fn require_snapshot(before: Option<EnvFile>) -> Result<EnvFile> {
    before.ok_or_else(|| {
        Failure::not_found("there is no snapshot to compare with")
            .hint("run `sweatfile-apply env snapshot` when a workspace is opened")
    })
}

fn diff(ui: &Ui, place: &Place, reveal: bool) -> Result<Exit> {
    let (before, now) = both(place)?;
    let before = require_snapshot(before)?;
    for change in review::changes(&before, &now) {
        if ui.is_json() {
            let mut line = json!({ "key": change.key, "change": change.kind });
            if reveal {
                line["old"] = json!(change.old.as_ref().map(shown));
                line["new"] = json!(shown(&change.new));
            }
            ui.json(&line);
        } else {
            ui.line(describe(&change, reveal));
        }
    }
    let removed = review::removed(&before, &now);
    if !removed.is_empty() {
        ui.note(format!("removed since: {}", removed.join(", ")));
    }
    Ok(Exit::Done)
}

fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Opaque(raw) => String::from_utf8_lossy(raw).into_owned(),
    }
}

fn describe(change: &Change, reveal: bool) -> String {
    let word = if change.kind == Kind::Added { "added" } else { "changed" };
    let values = match (&change.old, reveal) {
        (_, false) => String::new(),
        (None, true) => format!(": {}", printable(&shown(&change.new))),
        (Some(old), true) => format!(": {} -> {}", printable(&shown(old)), printable(&shown(&change.new))),
    };
    format!("{word} {}{values}", change.key)
}

/// What becomes of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Promote,
    Keep,
    Discard,
}

fn answers(promote: &[String], keep: &[String], discard: &[String]) -> Result<BTreeMap<String, Answer>> {
    let given = [(promote, Answer::Promote), (keep, Answer::Keep), (discard, Answer::Discard)];
    let mut answers = BTreeMap::new();
    for (keys, answer) in given {
        for key in keys {
            if answers.insert(key.clone(), answer).is_some_and(|other| other != answer) {
                return Err(Failure::usage(format!("`{key}` has two answers")).hint("give each variable one of them"));
            }
        }
    }
    Ok(answers)
}

fn review(
    ui: &Ui,
    env: &Env,
    place: &Place,
    places: &Places,
    mut answers: BTreeMap<String, Answer>,
    dry_run: bool,
) -> Result<Exit> {
    let (before, now) = both(place)?;
    let changes = review::changes(&require_snapshot(before)?, &now);
    if let Some(unknown) = answers.keys().find(|key| !changes.iter().any(|c| c.key == **key)) {
        return Err(Failure::not_found(format!("`{unknown}` did not change since the snapshot"))
            .hint("run `sweatfile-apply env diff` to see what did"));
    }
    if ui.can_ask() && !dry_run && !ask(ui, &changes, &mut answers) {
        return Err(Failure::new(
            Exit::Decide,
            "undecided",
            "the review was left; nothing was changed, the snapshot stays",
        ));
    }
    let decided: Vec<(Change, Answer)> =
        changes.iter().filter_map(|c| Some((c.clone(), *answers.get(&c.key)?))).collect();
    let open: Vec<String> = changes.iter().filter(|c| !answers.contains_key(&c.key)).map(|c| c.key.clone()).collect();
    if !dry_run {
        carry_out(ui, env, place, places, &decided, open.is_empty())?;
    }
    for (change, answer) in &decided {
        if ui.is_json() {
            ui.json(&json!({ "key": change.key, "change": change.kind, "answer": answer }));
        } else {
            let word = match answer {
                Answer::Promote => "promoted",
                Answer::Keep => "kept",
                Answer::Discard => "discarded",
            };
            ui.line(format!("{word} {}", change.key));
        }
    }
    if open.is_empty() {
        return Ok(Exit::Done);
    }
    let undecided = open.iter().filter_map(|key| changes.iter().find(|c| c.key == *key)).map(|c| describe(c, false));
    Err(Failure::new(Exit::Decide, "undecided", "these variables wait for a decision; the snapshot stays")
        .details(undecided)
        .hint("answer each with `--promote KEY`, `--keep KEY` or `--discard KEY`, or run it on a terminal"))
}

/// Asks about every change without an answer; `false` when the person left, which changes nothing.
fn ask(ui: &Ui, changes: &[Change], answers: &mut BTreeMap<String, Answer>) -> bool {
    for change in changes {
        while !answers.contains_key(&change.key) {
            let note = if trust::is_dangerous(&change.key) { " (changes what other programs run)" } else { "" };
            let question = format!("{}{note}: [p]romote, [k]eep here, [d]iscard, [q]uit?", describe(change, true));
            let answer = match ui.ask(&question).as_deref() {
                Some("p" | "promote") => Answer::Promote,
                Some("k" | "keep") => Answer::Keep,
                Some("d" | "discard") => Answer::Discard,
                Some("q" | "quit" | "\u{1b}") | None => return false,
                Some(_) => continue,
            };
            answers.insert(change.key.clone(), answer);
        }
    }
    true
}

/// Promotes first (it can be refused), then restores what is discarded, then moves the snapshot on:
/// killed in between, the rest is simply asked again.
fn carry_out(
    ui: &Ui,
    env: &Env,
    place: &Place,
    places: &Places,
    decided: &[(Change, Answer)],
    all: bool,
) -> Result<()> {
    let _lock = Lock::take(&place.lock_path())?;
    let promoted: Vec<&Change> = decided.iter().filter(|(_, a)| *a == Answer::Promote).map(|(c, _)| c).collect();
    if !promoted.is_empty() {
        promote(ui, env, place, places, &promoted)?;
    }
    let (before, mut now) = both(place)?;
    let (mut before, as_is) = (require_snapshot(before)?, now.clone());
    for (change, answer) in decided {
        if now.value(&change.key) != Some(&change.new) {
            // It changed again since it was shown: that is another change, and is asked about later.
            continue;
        }
        match (answer, &change.old) {
            (Answer::Discard, Some(old)) => now.set(&change.key, old),
            (Answer::Discard, None) => now.unset(&change.key),
            (Answer::Promote | Answer::Keep, _) => before.set(&change.key, &change.new),
        }
    }
    if now != as_is {
        let work = if now.is_empty() { EnvWork::Delete } else { EnvWork::Write(now.to_bytes()) };
        apply::env(place, &work)?;
    }
    let path = snapshot_path(place);
    if all && review::changes(&before, &now).is_empty() {
        return fs::remove(&path);
    }
    fs::replace(&path, &before.to_bytes(), Some(fs::PRIVATE))
}

/// Writes variables into the repository's sweatfile, under a lock and with everything else in it as
/// it was; an approval of the text before holds for the text after.
fn promote(ui: &Ui, env: &Env, place: &Place, places: &Places, changes: &[&Change]) -> Result<()> {
    let repo = &place.repo;
    let dir = places.repo_root.as_ref().map_or_else(|| repo.home.checkout.clone(), |dir| env.cwd.join(dir));
    let _lock = Lock::take(&repo.home.common_dir.join("shopfloor").join(TOOL).join("promote.lock"))?;
    let layers = facts::load_layers(env, repo, places, false, false)?;
    let layer = layers.repo().ok_or_else(|| Failure::failed("there is no repository layer"))?;
    let bytes = layer.text.as_ref().map(|t| t.bytes.clone());
    let template = layer.text.as_ref().is_some_and(|t| t.parsed.sweatfile.template);
    let before = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
    let mut text = before.clone();
    for change in changes {
        let refuse = |why: String| Failure::usage(format!("cannot promote {}: {why}", change.key));
        let value = change.new.text().ok_or_else(|| refuse("only a shell can evaluate its value".into()))?;
        if template && template::has_placeholder(value) {
            return Err(refuse(
                "its value would be taken for a placeholder in a sweatfile with `template = true`".into(),
            ));
        }
        if value.is_empty() {
            ui.note(format!(
                "{} = \"\" in a sweatfile removes an inherited value, it does not set an empty one",
                change.key
            ));
        }
        let place = layer.path.display();
        text = review::promote(&text, &change.key, value)
            .map_err(|why| Failure::malformed(format!("cannot edit {place}: {why}")).hint("edit it by hand"))?;
    }
    if text == before {
        return Ok(());
    }
    let approvals = Approvals::load(env)?;
    let approved = approvals.status(&repo.home.common_dir, FILE, before.as_bytes())? == Status::Approved;
    if approved {
        // Before the file: killed in between, a text nobody else wrote is approved and not yet there.
        approval::approve(env, &repo.home.common_dir, FILE, &text)?;
    }
    apply::sweatfile(&repo.worktree_state(TOOL), &dir, bytes.as_deref(), &text)?;
    follow(place, &before, &text, changes)?;
    ui.note(format!("{} was edited and is not committed", layer.path.display()));
    if !approved {
        ui.note("the sweatfile is not approved; run `sweatfile-apply approve`");
    }
    Ok(())
}

/// What was promoted from this worktree is applied in it already: its record moves along.
fn follow(place: &Place, before: &str, text: &str, changes: &[&Change]) -> Result<()> {
    let on_disk = Record::load(&place.repo)?;
    let mut record = on_disk.clone();
    if record.layers.get(&Name::Repo) != Some(&Digest::of(before.as_bytes())) {
        return Ok(());
    }
    record.layers.insert(Name::Repo, Digest::of(text.as_bytes()));
    let values = changes.iter().filter_map(|c| Some((c.key.clone(), c.new.text()?.to_owned())));
    record.env.extend(values.filter(|(_, value)| !value.is_empty()));
    record.save(&place.repo, &on_disk)
}
