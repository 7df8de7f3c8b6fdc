//! `install` and `doctor`: git's and Claude Code's side of a ledger, set up and looked at.

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::Root;
use shopfloor_core::git::Git;
use shopfloor_core::hook;
use shopfloor_core::hook_command::{self, DryRun, HookCommand};
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::synth;
use crate::cli::Place;
use crate::facts::gather::{everything, stranded};
use crate::facts::{CURRENT, EVENTS, Ledger};
use crate::plan::Filter;
use crate::{TOOL, apply, claude, view};

/// The driver's name in git's configuration, and what it runs.
const DRIVER: [(&str, &str); 2] = [
    ("merge.ledger-synth.name", "both sides' events in one ledger"),
    ("merge.ledger-synth.driver", "ledger-synth merge-driver %O %A %B --path %P --label %Y"),
];

const ATTRIBUTES: &str = ".gitattributes";

pub fn install(ui: &Ui, env: &Env, place: &Place, is_claude: bool) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, place)?;
    let worktree = Root::open(ledger.repo.require_worktree()?)?;
    // What cannot be edited is found before anything is written.
    let attributes = read(&worktree, ATTRIBUTES)?;
    let line = attribute(&ledger)?;
    let settings = read(&worktree, claude::SETTINGS)?;
    let with_hooks = is_claude.then(|| {
        claude::with_hooks(&settings).map_err(|why| {
            Failure::malformed(format!("{}:{why}", ledger.top.path().join(claude::SETTINGS).display()))
                .hint("mend the file and run the command again")
        })
    });
    let with_hooks = with_hooks.transpose()?;
    let mut edits = Vec::new();
    if !attributes.lines().any(|own| own.trim() == line) {
        let gap = if attributes.is_empty() || attributes.ends_with('\n') { "" } else { "\n" };
        edits.push((ATTRIBUTES, attributes.clone(), format!("{attributes}{gap}{line}\n")));
    }
    if let Some(text) = with_hooks.filter(|text| *text != settings) {
        edits.push((claude::SETTINGS, settings, text));
    }
    let skill = read(&worktree, claude::SKILL_FILE)?;
    if is_claude && skill.is_empty() {
        edits.push((claude::SKILL_FILE, skill, claude::SKILL.to_owned()));
    }
    let would = if place.dry_run { "would write" } else { "wrote" };
    let mut written = Vec::new();
    for (name, before, after) in &edits {
        if !place.dry_run {
            apply::edit(&ledger, &worktree, name, before, after)?;
        }
        written.push((*name).to_owned());
    }
    for (name, value) in DRIVER {
        if config(&ledger, name)?.as_deref() != Some(value) {
            if !place.dry_run {
                set_config(&ledger, name, value)?;
            }
            written.push(name.to_owned());
        }
    }
    if ui.is_json() {
        for name in &written {
            ui.json(&json!({ "wrote": name, "done": !place.dry_run }));
        }
    } else {
        for name in &written {
            let is_setting = DRIVER.iter().any(|(setting, _)| setting == name);
            let word =
                if is_setting { would.replace("wrote", "set").replace("write", "set") } else { would.to_owned() };
            ui.line(format!("{word} {}", printable(name)));
        }
    }
    let hooks = HookCommand::Install(DryRun { dry_run: place.dry_run });
    hook_command::run(ui, env, TOOL, hooks, |_| Ok(None))?;
    if edits.iter().any(|(name, ..)| *name == ATTRIBUTES) {
        ui.note("commit .gitattributes, so that every clone knows; each clone runs `ledger-synth install` once");
    }
    Ok(Exit::Done)
}

/// The line of `.gitattributes` for this ledger.
fn attribute(ledger: &Ledger) -> Result<String> {
    let prefix =
        ledger.in_tree().ok_or_else(|| Failure::usage(format!("{} is in no work tree", ledger.dir.display())))?;
    // A pattern, in which some characters stand for others, and which ends at a blank unless it is quoted.
    let path: String = format!("/{prefix}/{CURRENT}")
        .chars()
        .flat_map(|c| {
            let mark = if "*?[\\".contains(c) { Some('\\') } else { None };
            mark.into_iter().chain([c])
        })
        .collect();
    let is_plain = !path.contains([' ', '\t', '"', '\\']);
    let path = if is_plain { path } else { format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\"")) };
    Ok(format!("{path} merge=ledger-synth text eol=lf"))
}

fn read(worktree: &Root, name: &str) -> Result<String> {
    let rel = RelPath::parse(name).map_err(|why| Failure::failed(why.to_string()))?;
    let bytes = worktree.read(&rel)?.unwrap_or_default();
    String::from_utf8(bytes).map_err(|_| Failure::malformed(format!("{} is not UTF-8", worktree.join(&rel).display())))
}

fn config(ledger: &Ledger, name: &str) -> Result<Option<String>> {
    let output = ledger.git.cmd(ledger.top.path()).args(["config", "-z", "--get", name]).capture()?;
    let value = output.stdout.strip_suffix(b"\0").map(|value| String::from_utf8_lossy(value).into_owned());
    Ok(value.filter(|_| output.status.success()))
}

fn set_config(ledger: &Ledger, name: &str, value: &str) -> Result<()> {
    let output = ledger.git.cmd(ledger.top.path()).args(["config", "--local", name, value]).capture()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Failure::new(Exit::Failed, "git", format!("git config {name} failed with {}", output.status))
        .because(std::io::Error::other(said)))
}

/// One thing that was looked at.
struct Finding {
    check: &'static str,
    ok: bool,
    detail: String,
    fix: &'static str,
}

pub fn doctor(ui: &Ui, env: &Env, place: &Place) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, place)?;
    let mut findings = Vec::new();
    let mut find = |check, ok, detail: String, fix| findings.push(Finding { check, ok, detail, fix });
    let events = everything(&ledger)?;
    let snapshots = events.snapshots()?;
    let join = events.join(&snapshots, &Filter::default());
    let problems = synth::problems(env, &events, &join);
    find(
        "events",
        true,
        format!("{} in {}", join.sources.len(), ledger.dir.join(EVENTS).display()),
        "ledger-synth add --now TEXT",
    );
    let detail = problems.first().map_or("none is malformed or from the future".to_owned(), Clone::clone);
    find("events are well-formed", problems.is_empty(), detail, "ledger-synth lint");
    let view = view::View::of(&join, ledger.settings.session_window);
    let current = ledger.current()?;
    let text = view.render(events.skipped.len(), None);
    let is_fresh =
        view.event_count == 0 || current.as_ref().and_then(|c| c.text()).is_some_and(|old| view::is_same(old, &text));
    let detail = if is_fresh { "is what the events come to" } else { "is not what the events come to" };
    find("current.md", is_fresh, detail.to_owned(), "ledger-synth --no-confirm");
    let stranded = stranded(&ledger)?;
    let detail = stranded.first().map_or("every archived event counts".to_owned(), |path| {
        format!("{} archived events count nowhere, such as {}", stranded.len(), path.display())
    });
    find("archive", stranded.is_empty(), detail, "mv FILE events/");
    let driver = config(&ledger, DRIVER[1].0)?;
    find(
        "merge driver",
        driver.as_deref() == Some(DRIVER[1].1),
        driver.unwrap_or_else(|| "is not configured in this clone".into()),
        "ledger-synth install",
    );
    let attribute = ledger.in_tree().map(|prefix| format!("{prefix}/{CURRENT}"));
    let set = attribute.as_ref().map(|path| attribute_of(&ledger, path)).transpose()?.unwrap_or_default();
    let is_set = set == "ledger-synth";
    find("attributes", is_set, format!("merge={set} for {}", attribute.unwrap_or_default()), "ledger-synth install");
    for name in hook::of(TOOL) {
        let status = hook::status(&ledger.repo, name)?;
        let ok = status.tools.iter().any(|tool| tool == TOOL);
        let detail = if ok { format!("{}", status.path.display()) } else { "is not installed".into() };
        find(name, ok, detail, "ledger-synth hook install");
    }
    let all = findings.iter().all(|finding| finding.ok);
    for Finding { check, ok, detail, fix } in findings {
        if ui.is_json() {
            ui.json(&json!({ "check": check, "ok": ok, "detail": detail, "fix": if ok { None } else { Some(fix) }, "fixed": false }));
        } else {
            let hint = if ok { String::new() } else { format!("; run `{fix}`") };
            ui.line(format!("{} {check}: {}{hint}", if ok { "ok" } else { "wrong" }, printable(&detail)));
        }
    }
    Ok(if all { Exit::Done } else { Exit::No })
}

/// Which merge driver git would use for a path.
fn attribute_of(ledger: &Ledger, path: &str) -> Result<String> {
    let git: &Git = &ledger.git;
    let output = git.cmd(ledger.top.path()).args(["check-attr", "-z", "merge", "--", path]).capture()?;
    let fields: Vec<&[u8]> = output.stdout.split(|b| *b == 0).collect();
    Ok(fields.get(2).map(|value| String::from_utf8_lossy(value).into_owned()).unwrap_or_default())
}
