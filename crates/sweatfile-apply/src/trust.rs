//! The gate before the repository's files: what a person is shown, asked and told.

use std::path::Path;

use shopfloor_core::approval::{self, Approvals, Status};
use shopfloor_core::config;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::Repo;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::facts::Layers;
use crate::layer::{FILE, Name};
use crate::sweatfile::{self, Body, Sweatfile};

/// The error of a run in which something of the repository's did not count.
pub fn unapproved(layers: &Layers) -> Option<Failure> {
    let sweatfile = layers.repo().filter(|l| l.approval == Status::Required).map(|l| l.path.display().to_string());
    let settings = layers.config.unapproved.then(|| config::REPOSITORY_FILE.to_owned());
    let what = sweatfile.or(settings)?;
    let failure = Failure::new(Exit::Decide, "unapproved", format!("{what} is not approved, so it was left out"));
    Some(failure.hint("read it, then run `sweatfile-apply approve`"))
}

/// Asks about everything of the repository's that is not approved. With a yes the approval is
/// recorded and the layers count from now on: the bytes asked about are the bytes used.
pub fn ask(ui: &Ui, env: &Env, repo: &Repo, layers: &mut Layers) -> Result<()> {
    if !ui.can_ask() {
        return Ok(());
    }
    let Some(layer) = layers.layers.iter_mut().find(|l| l.name == Name::Repo && l.approval == Status::Required) else {
        return Ok(());
    };
    let Some(text) = &layer.text else { return Ok(()) };
    if offer(ui, env, repo, FILE, &layer.path, &text.bytes)? {
        approval::approve(env, &repo.home.common_dir, FILE, &String::from_utf8_lossy(&text.bytes))?;
        layer.approval = Status::Approved;
    }
    Ok(())
}

/// Shows what a file asks for and asks whether to trust it.
pub fn offer(ui: &Ui, env: &Env, repo: &Repo, file: &str, path: &Path, bytes: &[u8]) -> Result<bool> {
    ui.show(&summary(env, repo, file, path, bytes)?);
    Ok(ui.confirm(&format!(
        "trust this for every worktree of {}?",
        printable(&repo.home.checkout.display().to_string())
    )))
}

/// What a file asks for: commands, destinations and names of variables, and what changed since it
/// was approved last. A line each, not yet escaped for a terminal.
pub fn summary(env: &Env, repo: &Repo, file: &str, path: &Path, bytes: &[u8]) -> Result<String> {
    let mut lines = vec![format!("{} would:", path.display())];
    let text = String::from_utf8_lossy(bytes);
    if file == FILE {
        lines.extend(wishes(&sweatfile::parse(bytes).sweatfile));
    } else {
        lines.push("  set what names commands or places outside the repository:".into());
        lines.extend(text.lines().map(|l| format!("    {}", printable(l))));
    }
    if let Some(before) = Approvals::load(env)?.last_text(&repo.home.common_dir, file)?.filter(|before| *before != text)
    {
        lines.push("changed since it was approved last:".into());
        let diff = similar::TextDiff::from_lines(before.as_str(), &text);
        let diff = diff.unified_diff().context_radius(1).header("approved", "now").to_string();
        lines.extend(diff.lines().map(|l| format!("  {}", printable(l))));
    }
    Ok(lines.join("\n"))
}

fn wishes(sweatfile: &Sweatfile) -> Vec<String> {
    let mut lines = Vec::new();
    for command in sweatfile.setup.iter().flatten() {
        lines.push(format!("  run      {}", printable(command)));
    }
    for (path, entry) in &sweatfile.files {
        let path = printable(&path.to_string());
        lines.push(match &entry.body {
            Body::Clear => format!("  drop     {path}"),
            Body::Source(source) => format!("  link     {path} -> {}", printable(source)),
            Body::Copy(source) => format!("  copy     {path} from {}", printable(source)),
            Body::Content { .. } => format!("  write    {path}"),
        });
    }
    for name in sweatfile.env.keys() {
        let note = if is_dangerous(name) { "   (changes what other programs run)" } else { "" };
        lines.push(format!("  set      {name}{note}"));
    }
    for pattern in sweatfile.git_excludes.iter().flatten() {
        lines.push(format!("  exclude  {}", printable(pattern)));
    }
    if lines.is_empty() {
        lines.push("  change nothing".into());
    }
    lines
}

/// Variables by which a value becomes code in other programs.
pub fn is_dangerous(name: &str) -> bool {
    let exact = ["PATH", "BASH_ENV", "ENV", "NODE_OPTIONS", "RUSTC_WRAPPER", "IFS", "SHELL", "EDITOR", "PAGER"];
    let prefixes = ["LD_", "DYLD_", "GIT_", "PYTHON", "DIRENV_", "PERL5", "RUBY"];
    exact.contains(&name) || prefixes.iter().any(|p| name.starts_with(p))
}
