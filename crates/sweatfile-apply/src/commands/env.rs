//! `env`: the snapshot of `.sweatshop-env`, what changed since, and what becomes of each change.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;
use shopfloor_core::approval::{self, Approvals, Status};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::removed;
use crate::TOOL;
use crate::apply;
use crate::cli::{EnvCommand, Places};
use crate::env_file::{self, EnvFile, Value};
use crate::facts::{self, EnvHere, Place};
use crate::layer::{FILE, Name};
use crate::plan::review::{Answer, check_bound, plan as plan_review};
use crate::record::Record;
use crate::review::{self, Change, Kind, changes};
use crate::{snapshot, template, trust};

pub fn run(ui: &Ui, env: &Env, places: &Places, command: EnvCommand) -> Result<Exit> {
    let place = Place::find(env)?;
    match command {
        EnvCommand::Snapshot(args) => take_snapshot(ui, &place, args.dry_run),
        EnvCommand::Diff { reveal, removed: Some(of) } => removed::diff(ui, env, &place, of.as_deref(), reveal),
        EnvCommand::Diff { reveal, removed: None } => diff(ui, &place, reveal),
        EnvCommand::Review { promote, keep, discard, removed, dry_run } => {
            let given = answers(&promote, &keep, &discard)?;
            match removed {
                Some(of) => removed::review(ui, env, &place, places, of.as_deref(), &given, dry_run.dry_run),
                None => review(ui, env, &place, places, given, dry_run.dry_run),
            }
        }
    }
}

/// Remembers the file; a snapshot that was never reviewed stays, or a crash would hide changes.
fn take_snapshot(ui: &Ui, place: &Place, dry_run: bool) -> Result<Exit> {
    let _lock = if dry_run { None } else { Some(Lock::take(&place.lock_path())?) };
    let kept = snapshot::load(&place.repo)?.is_some();
    if kept {
        ui.note("the earlier snapshot stays until `sweatfile-apply env review` is through with it");
    } else if !dry_run {
        snapshot::save(&place.repo, Some(&file_of(&here(place)?)))?;
    }
    if ui.is_json() {
        let path = snapshot::path(&place.repo);
        ui.json(&json!({ "path": path.to_string_lossy(), "created": !kept && !dry_run }));
    }
    Ok(Exit::Done)
}

/// `.sweatshop-env` as it is; exit 4 when it is no file of ours to read.
fn here(place: &Place) -> Result<EnvHere> {
    match facts::env_here(&place.root)? {
        EnvHere::Unusable(why) => Err(Failure::failed(format!("cannot use {}: {why}", env_file::FILE))
            .hint(format!("move {} away", env_file::FILE))),
        here => Ok(here),
    }
}

fn file_of(here: &EnvHere) -> EnvFile {
    match here {
        EnvHere::File(seen) => seen.file.clone(),
        _ => EnvFile::default(),
    }
}

/// The snapshot; exit 1 when there is none.
fn require_snapshot(place: &Place) -> Result<EnvFile> {
    snapshot::load(&place.repo)?.ok_or_else(|| {
        Failure::not_found("there is no snapshot to compare with")
            .hint("run `sweatfile-apply env snapshot` when a workspace is opened")
    })
}

fn diff(ui: &Ui, place: &Place, reveal: bool) -> Result<Exit> {
    let (before, now) = (require_snapshot(place)?, file_of(&here(place)?));
    for change in changes(&before, &now) {
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
    let gone = review::removed(&before, &now);
    if !gone.is_empty() {
        ui.note(format!("removed since: {}", gone.join(", ")));
    }
    Ok(Exit::Done)
}

pub fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Opaque(raw) => String::from_utf8_lossy(raw).into_owned(),
    }
}

pub fn describe(change: &Change, reveal: bool) -> String {
    let word = if change.kind == Kind::Added { "added" } else { "changed" };
    let values = match (&change.old, reveal) {
        (_, false) => String::new(),
        (None, true) => format!(": {}", printable(&shown(&change.new))),
        (Some(old), true) => format!(": {} -> {}", printable(&shown(old)), printable(&shown(&change.new))),
    };
    format!("{word} {}{values}", change.key)
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
    given: BTreeMap<String, Answer>,
    dry_run: bool,
) -> Result<Exit> {
    if given.is_empty() && snapshot::load(&place.repo)?.is_none() {
        ui.note("there is no snapshot, so there is nothing to review");
        return Ok(Exit::Done);
    }
    let changes = changes(&require_snapshot(place)?, &file_of(&here(place)?));
    if let Some(unknown) = given.keys().find(|key| !changes.iter().any(|c| c.key == **key)) {
        return Err(Failure::not_found(format!("`{unknown}` did not change since the snapshot"))
            .hint("run `sweatfile-apply env diff` to see what did"));
    }
    let mut answers: BTreeMap<String, (Answer, Change)> = BTreeMap::new();
    for change in changes {
        let answer = match given.get(&change.key) {
            Some(answer) => Some(*answer),
            None if ui.can_ask() && !dry_run => Some(ask(ui, &change)?),
            None => None,
        };
        answers.extend(answer.map(|answer| (change.key.clone(), (answer, change))));
    }
    let answer_of = |key: &str| answers.get(key).map(|(answer, _)| *answer);
    bound(check_bound(&file_of(&here(place)?), answer_of, answers.keys().map(String::as_str)))?;
    let lock = if dry_run { None } else { Some(Lock::take(&place.lock_path())?) };
    let plan = plan_review(&require_snapshot(place)?, &here(place)?, &answers);
    // Promoting can be refused, so it comes first; killed later, the rest is simply asked again.
    if let Some((before, after)) = promote(ui, env, place, places, &plan.promoted(), dry_run)? {
        follow(place, &before, &after, &plan.promoted())?;
    }
    if lock.is_some() {
        apply::env(place, &plan.env)?;
        snapshot::save(&place.repo, plan.snapshot.as_ref())?;
    }
    for (change, answer) in &plan.decided {
        told(ui, change, *answer, None, dry_run);
    }
    if plan.open.is_empty() {
        return Ok(Exit::Done);
    }
    let open = plan.open.iter().map(|change| describe(change, false));
    Err(Failure::new(Exit::Decide, "undecided", "these variables wait for a decision; the snapshot stays")
        .details(open)
        .hint("answer each with `--promote KEY`, `--keep KEY` or `--discard KEY`, or run it on a terminal"))
}

/// Exit 2 where an answer cannot be carried out.
pub fn bound(checked: Result<(), String>) -> Result<()> {
    checked.map_err(|why| Failure::usage(why).hint("discard both, or keep both and edit the file by hand"))
}

/// Says what became of a change; `of` is the removed worktree that had it.
pub fn told(ui: &Ui, change: &Change, answer: Answer, of: Option<&Path>, dry_run: bool) {
    if ui.is_json() {
        let mut line = json!({ "key": change.key, "change": change.kind, "answer": answer });
        of.into_iter().for_each(|of| line["worktree"] = json!(of.to_string_lossy()));
        return ui.json(&line);
    }
    let word = match answer {
        Answer::Promote => "promoted",
        Answer::Keep => "kept",
        Answer::Discard => "discarded",
    };
    ui.line(format!("{}{word} {}", if dry_run { "would have " } else { "" }, change.key));
}

/// Asks what becomes of a change; exit 3 when the person leaves, which changes nothing.
pub fn ask(ui: &Ui, change: &Change) -> Result<Answer> {
    let note = if trust::is_dangerous(&change.key) { " (changes what other programs run)" } else { "" };
    loop {
        let question = format!("{}{note}: [p]romote, [k]eep here, [d]iscard, [q]uit?", describe(change, true));
        match ui.ask(&question).map(|answer| answer.to_lowercase()).as_deref() {
            Some("p" | "promote") => return Ok(Answer::Promote),
            Some("k" | "keep") => return Ok(Answer::Keep),
            Some("d" | "discard") => return Ok(Answer::Discard),
            Some("q" | "quit" | "\u{1b}") | None => {
                let message = "the review was left; nothing was changed, the snapshot stays";
                return Err(Failure::new(Exit::Decide, "undecided", message));
            }
            Some(_) => ui.note("answer p, k, d or q"),
        }
    }
}

/// Writes variables into the repository's sweatfile, under a lock and with everything else in it as
/// it was; an approval of the text before holds for the text after. Gives both back, where it wrote.
pub fn promote(
    ui: &Ui,
    env: &Env,
    place: &Place,
    places: &Places,
    changes: &[&Change],
    dry_run: bool,
) -> Result<Option<(String, String)>> {
    if changes.is_empty() {
        return Ok(None);
    }
    let repo = &place.repo;
    let dir = places.repo_root.as_ref().map_or_else(|| repo.home.checkout.clone(), |dir| env.cwd.join(dir));
    let lock = repo.home.common_dir.join("shopfloor").join(TOOL).join("promote.lock");
    let _lock = if dry_run { None } else { Some(Lock::take(&lock)?) };
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
    if text == before || dry_run {
        return Ok(None);
    }
    let approvals = Approvals::load(env)?;
    let approved = approvals.status(&repo.home.common_dir, FILE, before.as_bytes())? == Status::Approved;
    if approved {
        // Before the file: killed in between, a text nobody else wrote is approved and not yet there.
        approval::approve(env, &repo.home.common_dir, FILE, &text)?;
    }
    apply::sweatfile(&repo.worktree_state(TOOL), &dir, bytes.as_deref(), &text)?;
    let word = if bytes.is_some() { "edited" } else { "created" };
    ui.note(format!("{} was {word} and is not committed", layer.path.display()));
    if !approved {
        ui.note("the sweatfile is not approved; run `sweatfile-apply approve`");
    }
    Ok(Some((before, text)))
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
