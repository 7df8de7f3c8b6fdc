//! Views that are not the whole ledger, or not for its own file: printed, or written to a file that the user names.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use glob::Pattern;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::answer::{Destination, LedgerAnswer};
use crate::apply::files;
use crate::apply::synthesis::{refuse_problems, warn_of_problems};
use crate::counted::counted;
use crate::facts::directory::{self, CacheUse, LedgerLock};
use crate::facts::gather::{load_events, load_events_with_archive};
use crate::facts::{CURRENT, EVENTS, Events, Ledger, SnapshotFile};
use crate::failure::LedgerFailure;
use crate::plan::{EventProblems, Filter, join};
use crate::settings::Effect;
use crate::view::{self, View};

/// What such a view shows, and where it goes.
#[derive(Debug)]
pub struct PartialView<'a> {
    /// Patterns of files to read in place of `events/`.
    pub input: &'a [String],
    pub all_worktrees: bool,
    pub filter: Filter,
    /// The file to write. None, or `-`: stdout.
    pub output: Option<&'a Path>,
    pub is_strict: bool,
    pub stamp: bool,
}

impl PartialView<'_> {
    /// Whether this is the whole ledger, in its own file.
    pub fn is_whole(&self) -> bool {
        self.input.is_empty() && !self.all_worktrees && self.filter.is_all() && self.output.is_none()
    }
}

pub fn run(ui: &Ui, env: &Env, ledger: &Ledger, partial: &PartialView<'_>, effect: Effect) -> Result<Exit> {
    let events = read(env, ledger, partial)?;
    let snapshots = events.snapshots()?;
    let join = join(&events.records, &snapshots, &partial.filter);
    let problems = EventProblems::new(env.now.into(), &events, &join);
    if partial.is_strict {
        refuse_problems(&problems)?;
    }
    warn_of_problems(ui, &problems);
    let view = View::new(&join, ledger.settings.printed.session_window);
    let output = partial.output.filter(|path| path.as_os_str() != "-").map(|path| env.cwd.join(path));
    if output.as_ref().is_some_and(|path| is_current(ledger, path)) {
        return Err(
            Failure::usage("`--output` is a ledger's own `current.md`").hint("leave `--output` and the filters out")
        );
    }
    if view.event_count == 0 && !ui.is_json() {
        ui.note("no event matches");
        return Ok(Exit::Done);
    }
    let (format, skipped, stamp) =
        (ledger.settings.printed.format, events.skipped.len(), partial.stamp.then_some(env.now));
    let render = || view.render(format, skipped, stamp);
    let is_written = output.as_ref().map(|path| write(path, &render(), effect)).transpose()?.unwrap_or(false);
    let path = output.map(|path| path.to_string_lossy().into_owned());
    if ui.is_json() {
        let to = Destination { path: path.unwrap_or_else(|| "-".to_owned()), is_written };
        ui.json_stream(&LedgerAnswer::new(&view, &events, to));
    } else if let Some(path) = path {
        let shown = format!("{} ({})", printable(&path), counted(view.event_count, "event"));
        match effect {
            _ if is_written => ui.line(format!("wrote {shown}")),
            Effect::DryRun => ui.line(format!("would write {shown}")),
            Effect::Write => ui.detail(format!("{shown} is up to date")),
        }
    } else {
        view.render_to(format, skipped, stamp, &mut |piece| ui.answer(piece.as_bytes()));
    }
    Ok(Exit::Done)
}

/// Reads the events that the flags ask for.
fn read(env: &Env, ledger: &Ledger, partial: &PartialView<'_>) -> Result<Events> {
    if !partial.input.is_empty() {
        return directory::files(&matching(env, ledger, partial.input)?);
    }
    // A snapshot holds only what counts in the whole ledger; the original events of an agent say more.
    let mut events = match partial.filter.is_all() {
        true => load_events(ledger)?,
        false => load_events_with_archive(ledger, |record| partial.filter.hears(record))?,
    };
    if partial.all_worktrees {
        add_worktrees(ledger, &mut events)?;
    }
    Ok(events)
}

/// Adds what the ledgers of the other worktrees say beyond these events: most worktrees have most events.
fn add_worktrees(ledger: &Ledger, events: &mut Events) -> Result<()> {
    let own = ledger.dir.join(EVENTS);
    let mut cache = CacheUse { known: events.records.iter().cloned().collect(), ..CacheUse::default() };
    for (worktree, _) in ledger.git.worktrees(&ledger.repo)? {
        let Some(dir) = ledger.elsewhere(&worktree, EVENTS)?.filter(|dir| dir.path() != own) else { continue };
        let mut found = directory::read(&dir, &cache, None, LedgerLock::Free)?.events;
        let content = |file: &SnapshotFile| file.read.as_ref().ok().map(|snapshot| snapshot.content);
        let known: HashSet<Digest> = events.snapshots.iter().filter_map(content).collect();
        found.snapshots.retain(|file| content(file).is_none_or(|content| !known.contains(&content)));
        cache.known.extend(found.records.iter().cloned());
        events.add(found);
    }
    Ok(())
}

/// Whether a path is the `current.md` of any ledger: one beside `events/`, or our own by any path.
fn is_current(ledger: &Ledger, path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == CURRENT) && path.with_file_name(EVENTS).is_dir()
        || fs::is_same_file(path, &ledger.dir.join(CURRENT))
}

/// Writes the view to a file that is missing, empty or generated, and returns whether it changed.
fn write(path: &Path, text: &str, effect: Effect) -> Result<bool> {
    let old = fs::read_text(path)?.map(|old| String::from_utf8_lossy(&old).into_owned());
    let is_same = old.as_ref().is_some_and(|old| view::is_same(old, text));
    if old.is_some_and(|old| view::footer(&old).is_none() && !old.trim().is_empty()) {
        return Err(LedgerFailure::Exists
            .with(Exit::Bad, format!("{} was not written by ledger-synth", path.display()))
            .hint("name another file, or remove that one first"));
    }
    if is_same || effect.is_dry() {
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
            return Err(Failure::usage(format!("no file matches `{pattern}`")).hint(format!(
                "patterns start in {} or {}",
                env.cwd.display(),
                ledger.dir.display()
            )));
        }
        files.extend(found.into_iter().filter_map(|path| path.canonicalize().ok()));
    }
    files.sort();
    files.dedup();
    Ok(files)
}
