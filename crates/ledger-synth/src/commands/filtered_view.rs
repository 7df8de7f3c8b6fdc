//! Views that are not the whole ledger, or not for its own file: printed, or written to a file that the user names.

use std::path::{Path, PathBuf};

use glob::Pattern;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::output;
use super::synth_args::Args;
use crate::apply::files;
use crate::apply::synthesis::{refuse_problems, warn_of_problems};
use crate::counted::counted;
use crate::event_file::Malformed;
use crate::facts::event_dir;
use crate::facts::gather::{load_events, load_events_with_archive};
use crate::facts::{CURRENT, EVENTS, EventFileContent, Events, Ledger};
use crate::failure;
use crate::plan::{errors, join_filtered};
use crate::view::{self, View};

pub fn run(ui: &Ui, env: &Env, ledger: &Ledger, args: &Args) -> Result<Exit> {
    let events = read(env, ledger, args)?;
    let join = join_filtered(&events, &args.filter())?;
    let problems = errors(env.now.into(), &events, &join);
    if args.strict {
        refuse_problems(&problems)?;
    }
    warn_of_problems(ui, &problems);
    let view = View::new(&join, ledger.settings.printed.session_window);
    let output = args.output.as_ref().filter(|path| path.as_os_str() != "-").map(|path| env.cwd.join(path));
    if output.as_ref().is_some_and(|path| is_current(ledger, path)) {
        return Err(
            Failure::usage("`--output` is a ledger's own `current.md`").hint("leave `--output` and the filters out")
        );
    }
    if view.event_count == 0 && !ui.is_json() {
        ui.note("no event matches");
        return Ok(Exit::Done);
    }
    let page = view.render(events.skipped.len(), args.stamp.then_some(env.now));
    let is_written = output.as_ref().map(|path| write(path, &page, ui.is_dry())).transpose()?.unwrap_or(false);
    let path = output.map(|path| path.to_string_lossy().into_owned());
    if ui.is_json() {
        ui.json(&output::ledger(&view, &events, path.as_deref().unwrap_or("-"), is_written));
    } else if let Some(path) = path {
        let shown = format!("{} ({})", printable(&path), counted(view.event_count, "event"));
        match is_written {
            true => ui.line(format!("wrote {shown}")),
            false if ui.is_dry() => ui.line(format!("would write {shown}")),
            false => ui.detail(format!("{shown} is up to date")),
        }
    } else {
        ui.answer(page.as_bytes());
    }
    Ok(Exit::Done)
}

/// Reads the events that the flags ask for.
fn read(env: &Env, ledger: &Ledger, args: &Args) -> Result<Events> {
    if !args.input.is_empty() {
        return event_dir::files(&matching(env, ledger, &args.input)?);
    }
    // A snapshot holds only what counts in the whole ledger; the original events of an agent say more.
    let mut events = match args.filter().is_all() {
        true => load_events(ledger)?,
        false => load_events_with_archive(ledger)?,
    };
    if args.all_worktrees {
        add_worktrees(ledger, &mut events)?;
    }
    Ok(events)
}

/// Adds the events of the other worktrees. One that cannot be read keeps nothing of the others back.
fn add_worktrees(ledger: &Ledger, events: &mut Events) -> Result<()> {
    let (own, below) = (ledger.dir.join(EVENTS), ledger.rel(EVENTS)?);
    for (worktree, _) in ledger.git.worktrees(&ledger.repo)? {
        let dir = ledger.elsewhere(&worktree, EVENTS).map(|dir| dir.filter(|dir| dir.path() != own));
        match dir.and_then(|dir| dir.as_ref().map(event_dir::read).transpose()) {
            Ok(read) => events.append(read.unwrap_or_default()),
            Err(failure) => {
                let problem = Malformed::new(1, failure.to_string());
                events.add_file(worktree.join(below.as_path()), EventFileContent::Malformed(problem));
            }
        }
    }
    Ok(())
}

/// Whether a path is the `current.md` of any ledger: one beside `events/`, or our own by any path.
fn is_current(ledger: &Ledger, path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == CURRENT) && path.with_file_name(EVENTS).is_dir()
        || fs::is_same_file(path, &ledger.dir.join(CURRENT))
}

/// Writes the view to a file that is missing, empty or generated, and returns whether it changed.
fn write(path: &Path, text: &str, is_dry: bool) -> Result<bool> {
    let old = fs::read_text(path)?.map(|old| String::from_utf8_lossy(&old).into_owned());
    let is_same = old.as_ref().is_some_and(|old| view::is_same(old, text));
    if old.is_some_and(|old| view::footer(&old).is_none() && !old.trim().is_empty()) {
        return Err(failure::EXISTS
            .with(Exit::Bad, format!("{} was not written by ledger-synth", path.display()))
            .hint("name another file, or remove that one first"));
    }
    if is_same || is_dry {
        return Ok(false);
    }
    files::write_output(path, text)?;
    Ok(true)
}

/// The files that match the patterns, without duplicates. Patterns start in the current directory, otherwise in the
/// ledger. Exit 2 if a pattern matches nothing.
fn matching(env: &Env, ledger: &Ledger, patterns: &[String]) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for pattern in patterns {
        let mut found = Vec::new();
        for base in [&env.cwd, &ledger.dir] {
            let whole = match pattern.starts_with('/') {
                true => pattern.clone(),
                false => format!("{}/{pattern}", Pattern::escape(&base.to_string_lossy())),
            };
            let paths = glob::glob(&whole).map_err(|e| Failure::usage(format!("`{pattern}` is not a pattern: {e}")))?;
            found = paths.filter_map(std::result::Result::ok).filter(|path| !path.is_dir()).collect();
            if !found.is_empty() {
                break;
            }
        }
        if found.is_empty() {
            let bases = format!("patterns start in {} or {}", env.cwd.display(), ledger.dir.display());
            return Err(Failure::usage(format!("no file matches `{pattern}`")).hint(bases));
        }
        files.extend(found.into_iter().filter_map(|path| path.canonicalize().ok()));
    }
    files.sort();
    files.dedup();
    Ok(files)
}
