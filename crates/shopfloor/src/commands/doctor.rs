//! `doctor`: the five doctors in one list.

use std::path::PathBuf;

use serde_json::{Value, json};
use shopfloor_core::config;
use shopfloor_core::doctor::DoctorArgs;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::fs;
use shopfloor_core::proc::map_parallel;
use shopfloor_core::text::printable;
use shopfloor_core::ui::{Ui, in_front_words};

use crate::facts::repository;
use crate::facts::run_tool::{Answer, ask, command};
use crate::setup_log::Record;
use crate::tool::TOOLS;

/// Show what the doctors of the five tools find, and their versions: exit 0 if nothing is wrong, 1 if something is
#[derive(clap::Args, Clone, Copy, Debug)]
#[command(after_help = "Example:\n  shopfloor doctor\n  shopfloor doctor --repair")]
pub struct Args {
    #[command(flatten)]
    pub doctor: DoctorArgs,
}

/// The check of a tool's git hooks.
const HOOKS: &str = "hooks";

pub fn run(ui: &Ui, env: &Env, args: Args) -> Result<Exit> {
    let repository = repository::find(env)?;
    let env = env.at(&repository.main)?;
    if args.doctor.repair && !ui.is_dry() {
        let mut used = Vec::new();
        for tool in TOOLS {
            let answer = ask(&env, &[tool, "doctor"])?;
            // The repair of one that is not in use would set it up.
            used.extend((!is_unused(tool, &answer)).then(|| (tool, answer.status.success())));
        }
        // Nobody is asked where nothing is wrong.
        if args.doctor.yes || used.iter().any(|(_, is_well)| !is_well) {
            ui.require_yes(args.doctor.yes, "Let all five tools make their repairs?", "nothing was repaired")?;
            for (tool, _) in used {
                let words = [tool, "doctor", "--repair", "--yes"].map(str::to_owned);
                let output = command(&env, &words)?.capture()?;
                ui.pass_through(None, &output.stderr);
            }
        }
    }
    let answers = map_parallel(&TOOLS, |tool| (ask(&env, &[*tool, "doctor"]), version(&env, tool)));
    let mut is_well = true;
    let record = Record::load(&repository.repo.common_dir)?;
    for (tool, (answer, version)) in TOOLS.iter().zip(answers) {
        is_well &= match (answer, version) {
            (Ok(answer), Ok(version)) => {
                // A program of this name may be another one.
                let number = version.split(" (").next();
                let is_same = number == Some(&format!("{tool} {}", env!("CARGO_PKG_VERSION")));
                let fix = (!is_same).then(|| "install all tools together".to_owned());
                let is_same = show(ui, tool, "version", is_same, version, fix);
                show_all(ui, tool, &answer) & show_hooks(ui, tool, &answer, &record) & is_same
            }
            (Err(failure), _) | (_, Err(failure)) => show(ui, tool, "installed", false, failure.to_string(), None),
        };
    }
    if let Err(failure) = repository::require_own_root(&env) {
        is_well &= show(ui, "worker-ctl", "root", false, failure.to_string(), Some(failure.hints.join("; ")));
    }
    for warning in config::users_unknown_tables(&env).unwrap_or_default() {
        let fix = "correct its name, or take it out".to_owned();
        is_well &= show(ui, "shopfloor", "settings", false, warning, Some(fix));
    }
    let all = installations(&env);
    if all.len() > 1 {
        let fix = "keep one of these installations, and take the others away as they came".to_owned();
        is_well &= show(ui, "shopfloor", "copies", false, all.join(" and "), Some(fix));
    }
    Ok(if is_well { Exit::Done } else { Exit::No })
}

/// The places on the PATH that have our tools. What comes from npm, scripts and the programs that they start, is one. Any
/// other script starts one of the others.
fn installations(env: &Env) -> Vec<String> {
    let dirs: Vec<PathBuf> = env.var("PATH").map(std::env::split_paths).into_iter().flatten().collect();
    let programs = TOOLS.into_iter().chain(["shopfloor"]).flat_map(|tool| dirs.iter().map(move |dir| dir.join(tool)));
    let mut found: Vec<String> = Vec::new();
    for program in programs.filter_map(|program| program.canonicalize().ok()) {
        let is_script =
            fs::read_head(&program).ok().flatten().is_none_or(|text| text.is_empty() || text.starts_with(b"#!"));
        let path = program.display().to_string();
        let place = match (path.find("/node_modules/"), program.parent()) {
            (Some(end), _) => format!("npm's below {}", &path[..end]),
            (None, Some(dir)) if !is_script => dir.display().to_string(),
            _ => continue,
        };
        if !found.contains(&place) {
            found.push(place);
        }
    }
    found
}

/// The version that a tool prints.
fn version(env: &Env, tool: &str) -> Result<String> {
    let output = command(env, &[tool.to_owned(), "--version".to_owned()])?.capture()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether a finding is about what `setup` makes for a ledger.
fn is_of_set_up(record: &&Value) -> bool {
    let set_up = ["driver", "attribute", "pre-push", "post-merge", "post-rewrite"];
    record["check"].as_str().is_some_and(|check| set_up.contains(&check))
}

/// Whether a tool is not set up here. Somebody who wants no ledger has nothing to mend.
fn is_unused(tool: &str, answer: &Answer) -> bool {
    let is_declined = || answer.records.iter().filter(is_of_set_up).all(|record| record["ok"] == false);
    answer.is_unused() || tool == "ledger-synth" && is_declined()
}

fn show_all(ui: &Ui, tool: &str, answer: &Answer) -> bool {
    let text = |record: &Value, key: &str| record[key].as_str().map(in_front_words);
    let is_unused = is_unused(tool, answer) && !answer.has_lost_root();
    if is_unused {
        show(ui, tool, "state", true, "not set up in this repository".to_owned(), None);
    }
    let mut is_well = true;
    let is_shown = |record: &&Value| !(is_unused && is_of_set_up(record)) && record["check"] != HOOKS;
    for record in answer.records.iter().filter(is_shown) {
        if let Some(check) = record["check"].as_str() {
            let detail = text(record, "detail").unwrap_or_default();
            is_well &= show(ui, tool, check, record["ok"] == true, detail, text(record, "fix"));
        }
    }
    // A doctor that died has found nothing, which is not the same as nothing wrong.
    let is_said = answer.is_unused() && !answer.has_lost_root();
    if let Some(error) = answer.error.clone().or_else(|| answer.failure()).filter(|_| !is_said) {
        let hints = answer.records.iter().filter_map(|record| record.pointer("/error/hints")?.as_array()).flatten();
        let fix = hints.filter_map(Value::as_str).collect::<Vec<_>>().join("; ");
        is_well = show(ui, tool, "state", false, error, Some(fix).filter(|fix| !fix.is_empty()));
    }
    is_well
}

/// Shows what a tool found of its git hooks. They have to be there if `setup` installed them, too.
fn show_hooks(ui: &Ui, tool: &str, answer: &Answer, record: &Record) -> bool {
    let mut are_good = true;
    for found in answer.records.iter().filter(|record| record["check"] == HOOKS) {
        let detail = found["detail"].as_str().unwrap_or_default();
        let is_missed = record.has_hooks(tool) && detail == "not installed";
        let fix = found["fix"].as_str().map(str::to_owned);
        let fix = fix.or_else(|| is_missed.then(|| format!("{tool} hook install")));
        are_good &= show(ui, tool, HOOKS, found["ok"] == true && fix.is_none(), detail.to_owned(), fix);
    }
    are_good
}

/// Prints a finding. Returns whether all is well.
fn show(ui: &Ui, tool: &str, check: &str, ok: bool, detail: String, fix: Option<String>) -> bool {
    let answer = json!({ "tool": tool, "check": check, "ok": ok, "detail": detail, "fix": fix });
    let mark = if ok { "ok   " } else { "wrong" };
    let fix = fix.filter(|_| !ok).map(|fix| format!("; {}", printable(&fix))).unwrap_or_default();
    ui.json_or_line(&answer, format!("{mark}  {tool:15}  {check}: {}{fix}", printable(&detail)));
    ok
}
