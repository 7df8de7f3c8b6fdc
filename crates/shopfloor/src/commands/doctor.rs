//! `doctor`: the five doctors in one list.

use serde::Serialize;
use serde_json::Value;
use shopfloor_core::doctor::DoctorArgs;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc::map_parallel;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::facts::answers::{Answer, ask, command};
use crate::facts::repository;
use crate::record::Record;
use crate::tool::{TOOLS, record_file};

/// Show what the doctors of the five tools find, and their versions: exit 0 if nothing is wrong, 1 if something is
#[derive(clap::Args, Clone, Copy, Debug)]
#[command(after_help = "Example:\n  shopfloor doctor\n  shopfloor doctor --repair")]
pub struct Args {
    #[command(flatten)]
    pub doctor: DoctorArgs,
}

/// What one tool found, with `--json`.
#[derive(Serialize)]
struct ToolFinding<'a> {
    tool: &'a str,
    check: &'a str,
    ok: bool,
    detail: String,
    fix: Option<String>,
}

pub fn run(ui: &Ui, env: &Env, args: Args) -> Result<Exit> {
    let repository = repository::find(env)?;
    let env = env.at(&repository.main)?;
    if args.doctor.repair && !ui.is_dry() {
        let is_sure = args.doctor.yes || ui.can_ask() && ui.confirm("Let all five tools make their repairs?");
        if !is_sure {
            return Err(Failure::new(Exit::Decide, "undecided", "nothing was repaired")
                .hint("a person must decide: run the command on a terminal, or with `--yes`"));
        }
        for tool in TOOLS {
            let words = [tool, "doctor", "--repair", "--yes"].map(str::to_owned);
            let output = command(&env, &words)?.capture()?;
            ui.pass_through(None, &output.stderr);
        }
    }
    let answers = map_parallel(&TOOLS, |tool| (ask(&env, &[*tool, "doctor"]), version(&env, tool)));
    let mut is_well = true;
    let record = Record::load(&record_file(&repository.repo.common_dir))?;
    for (tool, (answer, version)) in TOOLS.iter().zip(answers) {
        let answer = match (answer, version) {
            (Ok(answer), Ok(version)) => {
                // A program of this name may be another one.
                let is_same = version == format!("{tool} {}", env!("CARGO_PKG_VERSION"));
                let fix = (!is_same).then(|| "install all tools together".to_owned());
                is_well &= show(ui, &ToolFinding { tool, check: "version", ok: is_same, detail: version, fix });
                answer
            }
            (Err(failure), _) | (_, Err(failure)) => {
                let finding =
                    ToolFinding { tool, check: "installed", ok: false, detail: failure.to_string(), fix: None };
                is_well &= show(ui, &finding);
                continue;
            }
        };
        is_well &= show_all(ui, tool, &answer);
        is_well &= show_hooks(ui, &env, tool, &record)?;
    }
    Ok(if is_well { Exit::Done } else { Exit::No })
}

/// The version that a tool prints.
fn version(env: &Env, tool: &str) -> Result<String> {
    let output = command(env, &[tool.to_owned(), "--version".to_owned()])?.capture()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn show_all(ui: &Ui, tool: &str, answer: &Answer) -> bool {
    let text = |record: &Value, key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut is_well = true;
    // Somebody who wants no ledger has nothing to mend.
    let set_up = ["driver", "attribute", "pre-push", "post-merge", "post-rewrite"];
    let is_set_up = |record: &Value| record["check"].as_str().is_some_and(|check| set_up.contains(&check));
    let has_none = answer.records.iter().filter(|record| is_set_up(record)).all(|record| record["ok"] == false);
    let is_declined = tool == "ledger-synth" && has_none;
    if is_declined {
        let detail = "not set up in this repository".to_owned();
        show(ui, &ToolFinding { tool, check: "state", ok: true, detail, fix: None });
    }
    for record in answer.records.iter().filter(|record| record.get("check").is_some()) {
        if is_declined && is_set_up(record) {
            continue;
        }
        let check = text(record, "check").unwrap_or_default();
        let (detail, fix) = (text(record, "detail").unwrap_or_default(), text(record, "fix"));
        is_well &= show(ui, &ToolFinding { tool, check: &check, ok: record["ok"] == true, detail, fix });
    }
    // A doctor that died has found nothing, which is not the same as nothing wrong.
    let died = (answer.has_failed() && answer.error.is_none()).then(|| format!("it ended with {}", answer.status));
    if let Some(error) = answer.error.as_ref().or(died.as_ref()) {
        // A tool that is not set up here has nothing that could be wrong.
        let is_unused =
            answer.records.iter().any(|record| record.pointer("/error/kind") == Some(&"not_initialised".into()));
        let detail = if is_unused { "not set up in this repository".to_owned() } else { error.clone() };
        is_well &= show(ui, &ToolFinding { tool, check: "state", ok: is_unused, detail, fix: None });
    }
    is_well
}

/// Shows a tool's git hooks. They have to be there if `setup` installed them; ledger-synth's doctor looks at its own.
fn show_hooks(ui: &Ui, env: &Env, tool: &str, record: &Record) -> Result<bool> {
    if !["sweatfile-apply", "overlay-sync"].contains(&tool) {
        return Ok(true);
    }
    let answer = ask(env, &[tool, "hook", "status"])?;
    let is_installed = answer.status.success();
    let is_wanted = record.has_hooks(tool);
    let chained = answer.records.iter().find_map(|hook| hook["chained"].as_str().map(str::to_owned));
    let detail = match (is_installed, chained) {
        (true, Some(other)) => format!("installed; {other} runs too"),
        (true, None) => "installed".to_owned(),
        (false, _) => "not installed".to_owned(),
    };
    let fix = (is_wanted && !is_installed).then(|| format!("{tool} hook install"));
    Ok(show(ui, &ToolFinding { tool, check: "hooks", ok: fix.is_none(), detail, fix }))
}

/// Prints a finding. Returns whether all is well.
fn show(ui: &Ui, finding: &ToolFinding<'_>) -> bool {
    if ui.is_json() {
        ui.json(finding);
    } else {
        let mark = if finding.ok { "ok   " } else { "wrong" };
        let fix = finding.fix.as_deref().filter(|_| !finding.ok).map(|fix| format!("; {}", printable(fix)));
        let detail = printable(&finding.detail);
        ui.line(format!("{mark}  {:15}  {}: {detail}{}", finding.tool, finding.check, fix.unwrap_or_default()));
    }
    finding.ok
}
