//! The gate before the repository's files: what a person is shown, asked and told.

use std::path::Path;

use shopfloor_core::approval::{self, Approvals, Status};
use shopfloor_core::config;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::Repo;
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::ui::Ui;

use crate::cli::Places;
use crate::facts::{self, Approvable, Layers, Place, Rerun};
use crate::layer::FILE;
use crate::plan::{self, Held, Run, SetupPlan};
use crate::sweatfile::{self, Body, Sweatfile};

/// The error of a run in which something of the repository's did not count, or held setup back.
pub fn unapproved(place: &Place, layers: &Layers, setup: &SetupPlan) -> Option<Failure> {
    let held: Vec<String> = match setup.run {
        Run::Held => setup.held.iter().map(held_line).collect(),
        _ => Vec::new(),
    };
    let hint = format!("read it, then run `sweatfile-apply -C {} approve`", shell_word(&place.worktree));
    let left_out = left_out(layers).map(|failure| match held.is_empty() {
        true => failure,
        false => Failure { hints: vec![hint.clone()], ..failure.details(held.clone()) },
    });
    left_out.or_else(|| {
        let (first, rest) = held.split_first()?;
        let failure = Failure::new(Exit::Decide, "unapproved", first.clone()).details(rest.iter().cloned());
        Some(failure.hint(hint.clone()))
    })
}

fn held_line(held: &Held) -> String {
    format!("{} is tracked and nobody has approved it, so the area's setup was held back", held.path)
}

fn left_out(layers: &Layers) -> Option<Failure> {
    let sweatfile = layers.repo().filter(|l| l.approval == Status::Required).map(|l| l.path.display().to_string());
    let settings = layers.config.unapproved.then(|| config::REPOSITORY_FILE.to_owned());
    let what = sweatfile.or(settings)?;
    let failure = Failure::new(Exit::Decide, "unapproved", format!("{what} is not approved, so it was left out"));
    Some(failure.hint("read it, then run `sweatfile-apply approve`"))
}

/// Asks on a terminal about everything of the repository's that is not approved, and records a yes. The
/// layers are read anew afterwards: what counts then are approved bytes, whoever wrote meanwhile.
pub fn ask(ui: &Ui, env: &Env, place: &Place, places: &Places, rerun: Rerun) -> Result<()> {
    if !ui.can_ask() {
        return Ok(());
    }
    let repo = &place.repo;
    let layers = facts::load_layers(env, repo, places, false, false)?;
    // What holds setup back is known only once it is known what counts.
    let offer_all = |files: Vec<Approvable>| -> Result<()> {
        for Approvable { file, path, bytes } in files {
            let Some(bytes) = bytes else { continue };
            let status = Approvals::load(env)?.status(&repo.home.common_dir, &file, &bytes)?;
            if status != Status::Approved && offer(ui, env, repo, &file, &path, &bytes)? {
                approval::approve(env, &repo.home.common_dir, &file, &String::from_utf8_lossy(&bytes))?;
            }
        }
        Ok(())
    };
    offer_all(facts::approvable(&repo.home, &layers))?;
    offer_all(holding(env, place, places, rerun)?)
}

/// The tracked files of this worktree that hold its setup back.
pub fn holding(env: &Env, place: &Place, places: &Places, rerun: Rerun) -> Result<Vec<Approvable>> {
    let (_, merged) = facts::load_layers(env, &place.repo, places, false, false)?.counting()?;
    if merged.area_setup == 0 {
        return Ok(Vec::new());
    }
    let facts = facts::read(env, place, &merged, rerun)?;
    let held = plan::held(&merged, &facts).into_iter().map(|held| Approvable {
        file: facts::approval_name(&held.path),
        path: place.root.join(&held.path),
        bytes: Some(held.seen.into_bytes()),
    });
    Ok(held.collect())
}

/// Shows what a file asks for and asks whether to trust it.
pub fn offer(ui: &Ui, env: &Env, repo: &Repo, file: &str, path: &Path, bytes: &[u8]) -> Result<bool> {
    ui.show(&summary(env, repo, file, path, bytes)?);
    Ok(ui.confirm(&format!("trust this for every worktree of {}?", printable(&repo.home.checkout.to_string_lossy()))))
}

/// What a file asks for: commands, destinations and names of variables, and what changed since it
/// was approved last.
pub fn summary(env: &Env, repo: &Repo, file: &str, path: &Path, bytes: &[u8]) -> Result<Vec<String>> {
    let mut lines = vec![format!("{} would:", path.display())];
    let text = String::from_utf8_lossy(bytes);
    if file == FILE {
        lines.extend(wishes(&sweatfile::parse(bytes).sweatfile));
    } else if file != config::REPOSITORY_FILE {
        lines = vec![format!("{} is tracked, and setup commands of your area would use it as it is:", path.display())];
        lines.extend(text.lines().map(|l| format!("    {l}")));
    } else {
        lines.push("  set what names commands or places outside the repository:".into());
        lines.extend(text.lines().map(|l| format!("    {l}")));
    }
    let last = Approvals::load(env)?.last_text(&repo.home.common_dir, file)?;
    if let Some(before) = last.filter(|before| *before != text) {
        lines.push("changed since it was approved last:".into());
        let diff = similar::TextDiff::from_lines(before.as_str(), &text);
        let diff = diff.unified_diff().context_radius(1).header("approved", "now").to_string();
        lines.extend(diff.lines().map(|l| format!("  {l}")));
    }
    Ok(lines)
}

fn wishes(sweatfile: &Sweatfile) -> Vec<String> {
    let mut lines = Vec::new();
    for command in sweatfile.setup.iter().flatten() {
        lines.push(format!("  run      {}", command));
    }
    for (path, entry) in &sweatfile.files {
        lines.push(match &entry.body {
            Body::Clear => format!("  drop     {path}"),
            Body::Source(source) => format!("  link     {path} -> {}", source),
            Body::Copy(source) => format!("  copy     {path} from {}", source),
            Body::Content { .. } => format!("  write    {path}"),
        });
    }
    for (name, value) in &sweatfile.env {
        if value.is_empty() {
            lines.push(format!("  unset    {name}"));
            continue;
        }
        let note = if is_dangerous(name) { "   (changes what other programs run)" } else { "" };
        lines.push(format!("  set      {name}{note}"));
    }
    for pattern in sweatfile.git_excludes.iter().flatten() {
        lines.push(format!("  exclude  {}", pattern));
    }
    let cleared = |list: &Option<Vec<String>>| list.as_ref().is_some_and(Vec::is_empty);
    for (name, list) in [("setup", &sweatfile.setup), ("git_excludes", &sweatfile.git_excludes)] {
        if cleared(list) {
            lines.push(format!("  drop     the inherited {name}"));
        }
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
