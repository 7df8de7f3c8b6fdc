//! The rules of `cargo xtask tidy` for tests, the workflow and commits.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use clap::CommandFactory;
use serde_yaml::Value;

use crate::races::RACES;
use crate::run::project;

/// The subject of a commit is shorter.
const SUBJECT: usize = 72;

/// The branch that changes land on.
const TRUNK: &str = "origin/main";

/// The problems that were found.
pub fn problems() -> Result<Vec<String>> {
    let mut problems = races()?;
    problems.extend(workflows()?);
    problems.extend(walks()?);
    warn_of_subjects();
    Ok(problems)
}

/// The names in `RACES` that no test has.
fn races() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for name in RACES {
        let (module, function) = name.rsplit_once("::").unwrap_or(("", name));
        let file = format!("tests/tests/it/{}.rs", module.replace("::", "/"));
        let text = fs::read_to_string(project().join(&file)).unwrap_or_default();
        if !text.contains(&format!("#[test]\nfn {function}(")) {
            problems.push(format!("xtask/src/races.rs: `RACES` names {name}, which is no test in {file}"));
        }
    }
    Ok(problems)
}

/// Source files that CONTRIBUTING.md names and that are not there.
fn walks() -> Result<Vec<String>> {
    let text = fs::read_to_string(project().join("CONTRIBUTING.md"))?;
    let named = text.split('`').filter(|name| name.starts_with("crates/") && name.ends_with(".rs"));
    let missing = named.filter(|name| !project().join(name).is_file());
    Ok(missing.map(|name| format!("CONTRIBUTING.md: there is no {name}")).collect())
}

/// The lines of a test file that use another one. Only `support` is shared.
pub fn imports_of_tests(name: &Path, text: &str) -> Vec<String> {
    let Ok(below) = name.strip_prefix("tests/tests/it") else { return Vec::new() };
    let in_support = below.starts_with("support");
    let is_list = below.ends_with("mod.rs") || below.ends_with("main.rs");
    let mut problems = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !is_list && !line.trim_start().starts_with("//"))
    {
        let inside = line.split("crate::").skip(1).any(|path| !path.starts_with("support"));
        let beside = line.split("super::").skip(1).any(|path| !in_support && !path.starts_with('*'));
        if inside || beside {
            problems.push(format!("line {}: a test file uses another one; share through `support`", number + 1));
        }
    }
    problems
}

/// Mistakes in `.github/workflows` that would only show on GitHub.
fn workflows() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for entry in fs::read_dir(project().join(".github/workflows"))? {
        let path = entry?.path();
        let name = path.strip_prefix(project()).unwrap_or(&path).display().to_string();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
        problems.extend(workflow(&text).into_iter().map(|what| format!("{name}: {what}")));
    }
    Ok(problems)
}

/// Mistakes in a workflow.
fn workflow(text: &str) -> Vec<String> {
    let workflow: Value = match serde_yaml::from_str(text) {
        Ok(workflow) => workflow,
        Err(error) => return vec![error.to_string()],
    };
    let mut problems: Vec<String> = ["name", "on", "permissions", "jobs"]
        .into_iter()
        .filter(|key| workflow.get(key).is_none())
        .map(|key| format!("there is no `{key}`"))
        .collect();
    let jobs = workflow.get("jobs").and_then(Value::as_mapping);
    for (name, job) in jobs.into_iter().flatten() {
        let name = name.as_str().unwrap_or("?");
        for key in ["runs-on", "timeout-minutes"] {
            if job.get(key).is_none() {
                problems.push(format!("job {name}: there is no `{key}`"));
            }
        }
        let steps = job.get("steps").and_then(Value::as_sequence);
        if steps.is_none_or(Vec::is_empty) {
            problems.push(format!("job {name}: there are no `steps`"));
        }
        problems.extend(steps.into_iter().flatten().filter_map(step).map(|what| format!("job {name}: {what}")));
    }
    problems
}

/// The mistake in a step.
fn step(step: &Value) -> Option<String> {
    let (uses, run) = (step.get("uses").and_then(Value::as_str), step.get("run").and_then(Value::as_str));
    match (uses, run) {
        (Some(action), None) if action.contains('@') => None,
        (Some(action), None) => Some(format!("`{action}` has no version")),
        (None, Some(line)) => line.lines().find_map(command),
        _ => Some("a step needs either `uses` or `run`".into()),
    }
}

/// The mistake in a command line: a chore or a script that is not there.
fn command(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    match (words.next()?, words.next(), words.next()) {
        ("cargo", Some("xtask"), chore) => {
            let chore = chore.unwrap_or_default();
            let known = crate::Cli::command().find_subcommand(chore).is_some();
            (!known).then(|| format!("there is no chore `{chore}`"))
        }
        (program, ..) if program.starts_with('.') && !project().join(program).is_file() => {
            Some(format!("there is no {program}"))
        }
        _ => None,
    }
}

/// Warns of commits that are not on the trunk yet and whose subject is too long. A change can land with them: they may
/// be somebody else's.
fn warn_of_subjects() {
    let range = format!("{TRUNK}..HEAD");
    let log =
        Command::new("git").args(["log", "--no-merges", "--format=%h %s", &range]).current_dir(project()).output();
    let lines = log.map(|log| String::from_utf8_lossy(&log.stdout).into_owned()).unwrap_or_default();
    for (id, subject) in lines.lines().filter_map(|line| line.split_once(' ')) {
        if subject.chars().count() >= SUBJECT {
            eprintln!("xtask: warning: the subject of commit {id} has {SUBJECT} characters or more");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_file_may_use_support_and_nothing_else() {
        let problems = |name: &str, text: &str| imports_of_tests(Path::new(name), text).len();
        let own = "use crate::support::world::World;\nuse super::*;\n";
        assert_eq!(problems("tests/tests/it/overlay_sync/sync.rs", own), 0);
        assert_eq!(problems("tests/tests/it/overlay_sync/sync.rs", "use crate::overlay_sync::watch::w;\n"), 1);
        assert_eq!(problems("tests/tests/it/overlay_sync/sync.rs", "    super::watch::w();\n"), 1);
        assert_eq!(problems("tests/tests/it/support/floor.rs", "use crate::worker_ctl::day::w;\n"), 1);
    }

    #[test]
    fn a_workflow_names_what_it_lacks() {
        let text =
            "name: x\non: push\npermissions: {}\njobs:\n  a:\n    runs-on: x\n    timeout-minutes: 1\n    steps:\n";
        let with = |step: &str| workflow(&format!("{text}      - {step}\n"));
        assert_eq!(with("run: cargo xtask nightly races"), [""; 0]);
        assert_eq!(with("uses: actions/checkout@v4"), [""; 0]);
        assert_eq!(with("uses: actions/checkout"), ["job a: `actions/checkout` has no version"]);
        assert_eq!(with("run: cargo xtask cy"), ["job a: there is no chore `cy`"]);
        assert_eq!(with("run: ./nowhere"), ["job a: there is no ./nowhere"]);
        assert_eq!(with("name: nothing"), ["job a: a step needs either `uses` or `run`"]);
        assert_eq!(workflow("jobs: {}\n").len(), 3);
        assert_eq!(workflow("jobs: [\n").len(), 1);
    }
}
