//! Events and `current.md` of ledger-synth.

use std::io::Write;
use std::process::Stdio;

use crate::support::world::{Output, Repo};

pub const ROOT: &str = "thoughts/shared/handoffs";

pub const EVENTS: &str = "thoughts/shared/handoffs/events";

pub const CURRENT: &str = "thoughts/shared/handoffs/current.md";

/// Writes an event file of an agent.
pub fn event(repo: &Repo<'_>, name: &str, ts: &str, agent: &str, body: &str) {
    repo.write(&format!("{EVENTS}/{name}.md"), &format!("---\nts: {ts}\nagent: {agent}\n---\n\n{body}"));
}

/// The bullets of a section of `current.md`, in bytewise order, without who said them and when.
pub fn section(text: &str, title: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| *line != format!("### {title}")).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("### ") && *line != "---");
    let bare = |line: &str| {
        let said = line.rsplit_once(" (").filter(|(_, said)| said.get(10..12) == Some(", "));
        said.map_or(line, |(bare, _)| bare).to_owned()
    };
    let mut bullets: Vec<Vec<String>> = Vec::new();
    for line in lines {
        match bullets.last_mut() {
            _ if line.starts_with("- ") => bullets.push(vec![bare(line)]),
            Some(bullet) if line.starts_with("  ") => bullet.push(line.to_owned()),
            _ => {}
        }
    }
    if title != "Checkpoints" {
        bullets.sort();
    }
    bullets.concat()
}

pub fn field(text: &str, name: &str) -> String {
    let key = format!("{name}: ");
    let footer = text.rsplit_once("_synthesized:\n").unwrap_or_else(|| panic!("no footer in {text}")).1;
    let field = footer.lines().find_map(|line| line.trim_start().strip_prefix(&key));
    field.unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
}

/// Synthesises, and returns `current.md`.
pub fn synth(repo: &Repo<'_>) -> String {
    repo.ledger(&["--no-confirm"]).succeeds();
    repo.read(CURRENT)
}

/// Runs ledger-synth with `input` on stdin.
#[track_caller]
pub fn run_with_input(repo: &Repo<'_>, args: &[&str], input: &str) -> Output {
    let mut child = repo.world.command(repo.world.path("bin/ledger-synth"));
    let child = child.args(args).current_dir(&repo.path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.stderr(Stdio::piped()).spawn().unwrap();
    // The write fails if the command does not read its stdin.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Output::from(format!("ledger-synth {}", args.join(" ")), child.wait_with_output().unwrap())
}

pub fn commit_all(repo: &Repo<'_>) {
    repo.git(&["add", "."]);
    repo.git(&["commit", "-q", "-m", "all"]);
}

pub fn two_events(repo: &Repo<'_>) {
    event(repo, "a", "2026-01-10T00:00:00Z", "toast", "now: one\nthis_session:\n- of toast\n");
    repo.write(
        &format!("{EVENTS}/b.md"),
        "---\nts: 2026-01-11T00:00:00Z\nagent: waffle\nbranch: feat/x\n---\nnow: two\nthis_session:\n- of waffle\n",
    );
}

pub fn seed_event(repo: &Repo<'_>) {
    let text = include_str!("../../../fixtures/seed/event.md");
    repo.write(&format!("{EVENTS}/2026-01-10T13-03-52Z_toast.md"), text);
}
