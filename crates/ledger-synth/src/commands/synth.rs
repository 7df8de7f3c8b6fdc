//! The command without a name: read the events, join them, write `current.md`.

use std::path::PathBuf;

use glob::Pattern;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::{
    self,
    commit::{self, Committed},
};
use crate::cache::Pack;
use crate::cli::{Place, SynthArgs};
use crate::commands::{adopt, archive, check};
use crate::facts::directory;
use crate::facts::gather::{Gathered, Mode, ever, everything, gather};
use crate::facts::{CURRENT, Current, EVENTS, Events, Ledger};
use crate::plan::{Filter, Join, Source};
use crate::view::{self, FORMAT, View};

/// Stamps further ahead than this are a mistake of somebody's clock.
pub const AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// How often `current.md` may change under our eyes before we give up.
const TRIES: usize = 10;

/// How many lines of a difference are shown.
const DIFF_LINES: usize = 50;

pub fn run(ui: &Ui, env: &Env, place: &Place, args: &SynthArgs) -> Result<Exit> {
    refuse_contradictions(args)?;
    if args.check {
        return check::run(ui, env, place, args);
    }
    let ledger = Ledger::find(ui, env, place)?;
    let filter = Filter { branch: args.branch.clone(), agent: args.agent.clone() };
    if !args.input.is_empty() || args.all_worktrees || !filter.is_all() || args.output.is_some() {
        return partial(ui, env, &ledger, place, args, &filter);
    }
    if args.archive && !args.no_confirm && !ui.can_ask() {
        return Err(Failure::new(Exit::Decide, "confirm", "archiving needs a person's word, and there is no terminal")
            .hint("run `ledger-synth --archive --no-confirm`, or `ledger-synth archive`"));
    }
    if args.commit && !place.dry_run {
        commit::refuse_hopeless(&ledger)?;
    }
    let asks = ui.can_ask() && !args.no_confirm && !ui.is_json() && !place.dry_run;
    let SynthArgs { strict, stamp, force, adopt, .. } = *args;
    let options = Options { is_dry: place.dry_run, is_strict: strict, stamp, force, adopt };
    if asks && !agrees(ui, env, &ledger, &options)? {
        ui.note("nothing was written");
        return Ok(Exit::Decide);
    }
    let (has_events, document) = {
        let _lock = if place.dry_run { None } else { Some(ledger.lock()?) };
        let (has_events, document) = print(ui, env, &ledger, &options)?;
        let is_archiving = args.archive || (asks && has_events && ui.confirm("archive the events now?"));
        if is_archiving && has_events {
            archive::work(ui, env, &ledger, None, place.dry_run, true)?;
        }
        (has_events, document)
    };
    let is_committing = has_events && (args.commit || (asks && ui.confirm("commit the ledger?")));
    let committed = if is_committing { commit(ui, env, &ledger, place.dry_run) } else { Ok(()) };
    let Some(mut document) = document else { return committed.map(|()| Exit::Done) };
    let exit = committed.err().map(|failure| {
        document.insert("error".into(), failure.to_json());
        failure.exit
    });
    ui.json(&document);
    Ok(exit.unwrap_or(Exit::Done))
}

/// Commits the ledger's files and tells it.
pub fn commit(ui: &Ui, env: &Env, ledger: &Ledger, is_dry: bool) -> Result<()> {
    let files = |count: usize| counted(count, "file");
    let say = |line: String| if ui.is_json() { ui.note(line) } else { ui.line(line) };
    match commit::run(env, ledger, is_dry)? {
        Committed::Nothing => ui.note("everything is committed already"),
        Committed::TooSoon => ui.note("not committed: the last commit is too recent (--min-interval)"),
        Committed::Files(count, None) => say(format!("would commit {}", files(count))),
        Committed::Files(count, Some(sha)) => say(format!("committed {sha} ({})", files(count))),
    }
    Ok(())
}

fn refuse_contradictions(args: &SynthArgs) -> Result<()> {
    let is_partial = !args.input.is_empty() || args.all_worktrees || args.branch.is_some() || args.agent.is_some();
    let is_printed = is_partial || args.output.is_some();
    let writes = args.archive || args.commit || args.force || args.adopt;
    let wrong = [
        (args.check && writes, "--check writes nothing, so it goes with none of --archive, --commit, --force, --adopt"),
        (args.check && is_printed, "--check is about `current.md`, so it takes neither filters, --input nor --output"),
        (args.tree.is_some() && !args.check, "--tree goes with --check"),
        (is_printed && writes, "what is printed can be neither archived nor committed, and replaces no `current.md`"),
        (args.all_worktrees && !args.input.is_empty(), "--input names the files, so --all-worktrees has none to add"),
    ];
    match wrong.iter().find(|(is_so, _)| *is_so) {
        Some((_, why)) => Err(Failure::usage(*why).hint("run `ledger-synth --help` to see what goes together")),
        None => Ok(()),
    }
}

/// How `current.md` is to be written.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub is_dry: bool,
    pub is_strict: bool,
    pub stamp: bool,
    pub force: bool,
    pub adopt: bool,
}

impl Options {
    fn mode(&self, may_be_quiet: bool) -> Mode {
        Mode { is_dry: self.is_dry, stamp: self.stamp, may_be_quiet }
    }
}

/// `1 event`, `2 events`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What came of it.
#[derive(Debug)]
pub enum Outcome {
    /// No event counts: nothing was touched.
    Nothing,
    Unchanged,
    Written,
    /// In a dry run: to be written, in place of this.
    Due(Option<Current>),
}

/// Tells what is wrong with the events: malformed ones, and such from the future. How many of these there are;
/// exit 2 under --strict.
pub fn complain(ui: &Ui, env: &Env, events: &Events, join: &Join<'_>, is_strict: bool) -> Result<usize> {
    let skipped = events.skipped.len();
    let problems = problems(env, events, join);
    if is_strict && !problems.is_empty() {
        let what = if skipped > 0 { "malformed events" } else { "events from the future" };
        return Err(Failure::malformed(format!("there are {what}; nothing was written"))
            .details(problems)
            .hint("mend the files or move them away; an event from the future can be disowned with `ledger-synth retract FILE`"));
    }
    let words = |at: usize| if at < skipped { "skipped " } else { "" };
    problems.iter().enumerate().for_each(|(at, problem)| ui.warn(format!("{}{problem}", words(at))));
    if problems.len() > skipped {
        ui.note("if a clock was wrong, disown the event with `ledger-synth retract FILE`");
    }
    Ok(problems.len() - skipped)
}

/// What is wrong with events, a line each: the malformed ones first.
pub fn problems(env: &Env, events: &Events, join: &Join<'_>) -> Vec<String> {
    let future = futures(env, join).map(|source| {
        let at = events.records.iter().position(|record| record.id == source.id);
        let place = at.map_or(format!("event {}", source.id), |at| events.files[at].path().display().to_string());
        format!("{place}: its time is in the future: {}", source.ts)
    });
    events.skipped.iter().map(ToString::to_string).chain(future).collect()
}

/// The events whose time is yet to come by more than a day.
pub fn futures<'j>(env: &Env, join: &'j Join<'_>) -> impl Iterator<Item = &'j Source<'j>> {
    let limit = env.now.checked_add(AHEAD).unwrap_or(Timestamp::MAX);
    join.sources.iter().filter(move |source| source.ts > limit)
}

/// Writes `current.md` if it is not what it should be. The caller holds the lock, but in a dry run.
pub fn write(
    ui: &Ui,
    env: &Env,
    ledger: &Ledger,
    options: &Options,
    view: &View<'_>,
    skipped: usize,
) -> Result<Outcome> {
    if view.event_count == 0 {
        return Ok(Outcome::Nothing);
    }
    let text = view.render(skipped, options.stamp.then_some(env.now));
    for _ in 0..TRIES {
        let current = ledger.current()?;
        if current.as_ref().and_then(Current::text).is_some_and(|old| view::is_same(old, &text)) {
            return Ok(Outcome::Unchanged);
        }
        let edited = current.as_ref().map(|current| judge(ledger, current, options)).transpose()?.unwrap_or(false);
        if options.is_dry {
            return Ok(Outcome::Due(current));
        }
        if let Some(current) = current.as_ref().filter(|_| edited) {
            let kept = apply::keep_edited(ledger, &current.bytes)?;
            if options.adopt || options.force {
                ui.note(format!("what {CURRENT} held is kept in {}", kept.display()));
            } else {
                ui.warn(format!(
                    "{} was edited by hand; what it held is kept in {}",
                    ledger.dir.join(CURRENT).display(),
                    kept.display()
                ));
            }
        }
        // Two ledgers of a hundred thousand events are much to hold at once.
        let known = current.map(|current| current.known());
        if apply::write_current(ledger, &text, known.as_ref())? {
            return Ok(Outcome::Written);
        }
    }
    Err(Failure::failed(format!("{} changes while it is being replaced", ledger.dir.join(CURRENT).display()))
        .hint("run the same command again"))
}

/// Whether a file that would be replaced holds something that is nowhere else.
fn judge(ledger: &Ledger, current: &Current, options: &Options) -> Result<bool> {
    let path = ledger.dir.join(CURRENT);
    match current.text().and_then(view::footer) {
        Some(footer) if footer.format > FORMAT => Err(newer(ledger, footer.format)),
        Some(footer) => Ok(!footer.is_intact),
        None if options.force || options.adopt || current.bytes.trim_ascii().is_empty() => {
            Ok(!current.bytes.is_empty())
        }
        None => Err(Failure::new(Exit::Bad, "exists", format!("{} was not written by ledger-synth", path.display()))
            .hint("run `ledger-synth --adopt` to turn it into an event, or `ledger-synth --force` to replace it")),
    }
}

/// A file of a format we do not know.
pub fn newer(ledger: &Ledger, format: u32) -> Failure {
    let path = ledger.dir.join(CURRENT);
    Failure::malformed(format!("{} has format {format}, written by a newer ledger-synth", path.display()))
        .hint("update shopfloor: `cargo xtask install` in its checkout")
}

/// Synthesises and prints what came of it, or with --json returns the answer; whether there are events. The caller
/// holds the lock, but in a dry run.
fn print(ui: &Ui, env: &Env, ledger: &Ledger, options: &Options) -> Result<(bool, Option<Map<String, Value>>)> {
    adopt::first(ui, env, ledger, options)?;
    let path = ledger.dir.join(CURRENT);
    let shown = |word: &str, count: usize| {
        ui.line(format!("{word} {} ({})", printable(&path.to_string_lossy()), counted(count, "event")));
    };
    let Gathered { quiet, events, memory } = gather(ledger, options.mode(!ui.is_json()))?;
    if let Some(count) = quiet {
        shown("unchanged", count);
        return Ok((true, None));
    }
    let snapshots = events.snapshots()?;
    let join = events.join(&snapshots, &Filter::default());
    let futures = complain(ui, env, &events, &join, options.is_strict)?;
    let view = View::of(&join, ledger.settings.session_window);
    let outcome = write(ui, env, ledger, options, &view, events.skipped.len())?;
    if matches!(outcome, Outcome::Unchanged) && events.skipped.is_empty() && futures == 0 {
        memory.remember_quiet(view.event_count);
    }
    if ui.is_json() {
        let is_written = matches!(outcome, Outcome::Written);
        let document = document(&view, &events, is_written, &path.to_string_lossy());
        return Ok((view.event_count > 0, Some(document)));
    }
    match outcome {
        Outcome::Nothing => {
            ui.note(format!("there are no events in {}; nothing was touched", ledger.dir.join(EVENTS).display()))
        }
        Outcome::Unchanged => shown("unchanged", view.event_count),
        Outcome::Due(before) => {
            shown("would write", view.event_count);
            let text = view.render(events.skipped.len(), options.stamp.then_some(env.now));
            difference(before.as_ref(), &text).iter().for_each(|line| ui.line(printable(line)));
        }
        Outcome::Written => shown("wrote", view.event_count),
    }
    Ok((view.event_count > 0, None))
}

/// Synthesises for a command that answers something else. Whether anything was written.
pub fn silently(ui: &Ui, env: &Env, ledger: &Ledger) -> Result<bool> {
    let _lock = ledger.lock()?;
    write_now(ui, env, ledger)
}

/// The same for one that holds the lock.
pub fn write_now(ui: &Ui, env: &Env, ledger: &Ledger) -> Result<bool> {
    let options = Options::default();
    let Gathered { quiet, events, memory } = gather(ledger, options.mode(true))?;
    if quiet.is_some() {
        return Ok(false);
    }
    let snapshots = events.snapshots()?;
    let join = events.join(&snapshots, &Filter::default());
    let futures = complain(ui, env, &events, &join, false)?;
    let view = View::of(&join, ledger.settings.session_window);
    let outcome = write(ui, env, ledger, &options, &view, events.skipped.len())?;
    if matches!(outcome, Outcome::Unchanged) && events.skipped.is_empty() && futures == 0 {
        memory.remember_quiet(view.event_count);
    }
    Ok(matches!(outcome, Outcome::Written))
}

/// The answer of `--json`.
fn document(view: &View<'_>, events: &Events, written: bool, path: &str) -> Map<String, Value> {
    let mut document = view.json();
    document.insert("skipped".into(), skipped(events));
    document.insert("written".into(), written.into());
    document.insert("path".into(), path.into());
    document
}

pub fn skipped(events: &Events) -> Value {
    let one = |s: &crate::facts::Skipped| json!({ "path": s.path.to_string_lossy(), "line": s.problem.line, "why": s.problem.why });
    events.skipped.iter().map(one).collect()
}

/// What would change in `current.md`, in at most fifty lines.
pub fn difference(before: Option<&Current>, after: &str) -> Vec<String> {
    let before =
        before.map(|current| String::from_utf8_lossy(&current.bytes).replace("\r\n", "\n")).unwrap_or_default();
    let diff = similar::TextDiff::from_lines(before.as_str(), after);
    let text = diff.unified_diff().context_radius(1).header("current.md", "the events").to_string();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.len() > DIFF_LINES {
        let more = lines.len() - (DIFF_LINES - 1);
        lines.truncate(DIFF_LINES - 1);
        lines.push(format!("... {more} more lines"));
    }
    lines
}

/// Shows what would be merged and asks for a word.
fn agrees(ui: &Ui, env: &Env, ledger: &Ledger, options: &Options) -> Result<bool> {
    let events = everything(ledger)?;
    let snapshots = events.snapshots()?;
    let join = events.join(&snapshots, &Filter::default());
    let view = View::of(&join, ledger.settings.session_window);
    if view.event_count == 0 {
        return Ok(true);
    }
    let mut sources: Vec<&Source<'_>> = join.sources.iter().collect();
    sources.sort_unstable_by(|a, b| (b.ts, &b.agent, b.id).cmp(&(a.ts, &a.agent, a.id)));
    let mut lines = vec![format!("{} events, the newest first:", sources.len())];
    lines.extend(sources.iter().take(10).map(|source| view::line(source)));
    if sources.len() > 10 {
        lines.push(format!("… {} more", sources.len() - 10));
    }
    lines.extend(problems(env, &events, &join).into_iter().map(|problem| format!("wrong: {problem}")));
    let text = view.render(events.skipped.len(), options.stamp.then_some(env.now));
    let current = ledger.current()?;
    let is_same = current.as_ref().and_then(Current::text).is_some_and(|old| view::is_same(old, &text));
    if is_same {
        lines.push("current.md is what they come to".into());
    } else {
        lines.extend(difference(current.as_ref(), &text));
    }
    ui.show(&lines);
    Ok(is_same || ui.confirm("write current.md?"))
}

/// A view that is not the whole ledger's, or not for its place: printed, or written where its user says.
fn partial(ui: &Ui, env: &Env, ledger: &Ledger, place: &Place, args: &SynthArgs, filter: &Filter) -> Result<Exit> {
    let events = if args.input.is_empty() {
        // A snapshot holds only what counts in the whole; of an agent's events the originals tell more.
        let mut events = if filter.is_all() { everything(ledger)? } else { ever(ledger)? };
        if args.all_worktrees {
            for (worktree, _) in ledger.git.worktrees(&ledger.repo)? {
                if let Some(dir) = ledger.elsewhere(&worktree, EVENTS)? {
                    events.add(directory::read(&dir, &Pack::default(), None, false)?.events);
                }
            }
        }
        events
    } else {
        directory::files(&matching(env, ledger, &args.input)?)?
    };
    let snapshots = events.snapshots()?;
    let join = events.join(&snapshots, filter);
    complain(ui, env, &events, &join, args.strict)?;
    let view = View::of(&join, ledger.settings.session_window);
    let output = args.output.as_ref().filter(|path| path.as_os_str() != "-").map(|path| env.cwd.join(path));
    let path = output.as_ref().map(|path| path.to_string_lossy().into_owned());
    // Whichever way leads there, and whosever it is: beside events stands what they come to.
    let is_current = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name == CURRENT) && path.with_file_name(EVENTS).is_dir()
            || fs::is_same_file(path, &ledger.dir.join(CURRENT))
    };
    if output.as_ref().is_some_and(is_current) {
        return Err(
            Failure::usage("`--output` is a ledger's own `current.md`").hint("leave `--output` and the filters out")
        );
    }
    if view.event_count == 0 && !ui.is_json() {
        ui.note("no event matches");
        return Ok(Exit::Done);
    }
    let text = view.render(events.skipped.len(), args.stamp.then_some(env.now));
    let mut is_written = false;
    if let Some(path) = &output {
        let old = fs::read_text(path)?.map(|old| String::from_utf8_lossy(&old).into_owned());
        let is_same = old.as_ref().is_some_and(|old| view::is_same(old, &text));
        if old.is_some_and(|old| view::footer(&old).is_none() && !old.trim().is_empty()) {
            return Err(Failure::new(
                Exit::Bad,
                "exists",
                format!("{} was not written by ledger-synth", path.display()),
            )
            .hint("name another file, or remove that one first"));
        }
        if !is_same && !place.dry_run {
            apply::write_output(path, &text)?;
            is_written = true;
        }
    }
    if ui.is_json() {
        ui.json(&document(&view, &events, is_written, path.as_deref().unwrap_or("-")));
    } else if let Some(path) = path {
        let word = if is_written {
            "wrote"
        } else if place.dry_run {
            "would write"
        } else {
            "unchanged"
        };
        ui.line(format!("{word} {} ({})", printable(&path), counted(view.event_count, "event")));
    } else {
        ui.answer(text.as_bytes());
    }
    Ok(Exit::Done)
}

/// The files that patterns stand for, each once; looked up here, then in the ledger. Exit 2 for a pattern without
/// a file.
fn matching(env: &Env, ledger: &Ledger, patterns: &[String]) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for pattern in patterns {
        let mut found = Vec::new();
        for base in [&env.cwd, &ledger.dir] {
            let whole = match pattern.starts_with('/') {
                true => pattern.clone(),
                false => format!("{}/{pattern}", Pattern::escape(&base.to_string_lossy())),
            };
            let paths = glob::glob(&whole).map_err(|e| Failure::usage(format!("`{pattern}` is no pattern: {e}")))?;
            found = paths.filter_map(std::result::Result::ok).filter(|path| !path.is_dir()).collect();
            if !found.is_empty() {
                break;
            }
        }
        if found.is_empty() {
            return Err(Failure::usage(format!("no file matches `{pattern}`")).hint(format!(
                "patterns are looked up from {} and {}",
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
