//! Events and pages of ledger-synth.

use crate::support::world::Repo;

pub const ROOT: &str = "thoughts/shared/handoffs";

pub const EVENTS: &str = "thoughts/shared/handoffs/events";

pub const CURRENT: &str = "thoughts/shared/handoffs/current.md";

/// Writes an event of this agent at this time.
pub fn event(repo: &Repo<'_>, name: &str, ts: &str, agent: &str, body: &str) {
    repo.write(&format!("{EVENTS}/{name}.md"), &format!("---\nts: {ts}\nagent: {agent}\n---\n\n{body}"));
}

/// The lines of a section of `current.md`.
pub fn section(text: &str, title: &str) -> Vec<String> {
    let mut lines = text.lines().skip_while(|line| *line != format!("### {title}")).skip(1);
    lines.by_ref().take_while(|line| !line.is_empty()).map(str::to_owned).collect()
}

pub fn field(text: &str, name: &str) -> String {
    let key = format!("  {name}: ");
    text.lines().find_map(|line| line.strip_prefix(&key)).unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
}

/// Runs the synthesis, and reads the page that it writes.
pub fn synth(repo: &Repo<'_>) -> String {
    repo.ledger(&["--no-confirm"]).exit(0);
    repo.read(CURRENT)
}
