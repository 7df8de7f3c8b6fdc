//! The one place that writes to the terminal: stdout is the answer, stderr is narration that says
//! who speaks.

mod stream;
mod two_forms;

use std::fmt::Display;
use std::io::{self, BufRead, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use serde_json::Value;

use crate::config::Config;
use crate::env::Env;
use crate::error::{Exit, Failure, Result};
use crate::fs::PARSE_LIMIT;
pub use crate::text::printable;
use crate::text::{both, printable_json};

/// How much of the narration is shown, and in what form the answer comes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The answer as JSON.
    pub json: bool,
    /// Nothing is changed; every record of a JSON answer says so.
    pub dry_run: bool,
    /// No notices; warnings and errors stay.
    pub quiet: bool,
    /// Details as well.
    pub verbose: bool,
    /// Colours on stderr.
    pub color: bool,
}

/// What the front door calls commands of the tools, longer ones first. Words that it does not know go to worker-ctl.
const FRONT_WORDS: &[(&str, &str)] = &[
    // At the front door a root is made with the first agent.
    ("no root of worker-ctl is recorded in the repository", "there is no agent yet in the repository"),
    (
        "create a root with `worker-ctl init`, or name one with",
        "make one with `shopfloor new NAME TASK` or `shopfloor adopt PATH`, or name a root with",
    ),
    (
        "use it with `--if-exists return`",
        "`shopfloor send NAME TEXT` reaches an agent that is at work there; else go on with `--if-exists return`",
    ),
    // The front door has no such options.
    ("choose another directory with `--root DIR`", "choose another directory with `WORKER_CTL_ROOT=DIR`"),
    ("worker-ctl doctor --rebuild", "worker-ctl doctor --rebuild"),
    ("or name the prefix: `worktree-spawn subtree NAME --base-name main`", "as with `git switch main`"),
    ("with `--base-dir`", "with `worktree_base` in `[worktree-spawn]` of your config.toml"),
    ("worktree-spawn remove --recursive", "shopfloor rm NAME..."),
    ("a person lands it: `worker-ctl review", "a person lands it: `shopfloor review"),
    // Of bad usage nobody has typed more.
    ("worker-ctl review [OPTIONS]", "shopfloor review [OPTIONS]"),
    ("worker-ctl review --help", "shopfloor review --help"),
    ("worker-ctl review", FRONT_REVIEW),
    ("worker-ctl nuke --worktree", "shopfloor rm"),
    ("worker-ctl message", "shopfloor send"),
    ("worker-ctl reject", "shopfloor back"),
    ("worker-ctl accept", "shopfloor land"),
    ("worker-ctl down", "shopfloor stop"),
    ("worker-ctl up", "shopfloor resume"),
    ("worker-ctl add --worktree", "shopfloor adopt"),
    ("worker-ctl`", "worker-ctl`"),
    ("worker-ctl", "shopfloor"),
    ("worktree-spawn remove", "shopfloor rm"),
    ("worktree-spawn list", "shopfloor status"),
    ("worktree-spawn path", "shopfloor go"),
    ("worktree-spawn subtree", "shopfloor new"),
    ("worktree-spawn repair", "shopfloor doctor --repair"),
    ("worktree-spawn doctor", "shopfloor doctor"),
];

/// What the front door shows on a terminal is reviewed without the option, too.
const FRONT_REVIEW: &str = "shopfloor review --pin";

/// A text with the front door's verbs. Files and hooks that are called like a tool stay as they are.
pub fn in_front_words(text: &str) -> String {
    let (mut spoken, mut rest) = (String::with_capacity(text.len()), text);
    let is_terminal = io::stdout().is_terminal();
    while let Some(next) = rest.chars().next() {
        let is_inside = |c: char| c.is_alphanumeric() || "/-_.".contains(c);
        let fits = |(tool, _): &&(&str, &str)| rest.strip_prefix(tool).is_some_and(|rest| !rest.starts_with(is_inside));
        // No verb of the front door takes these options; `add` is worker-ctl's own.
        let is_apart = |said: &str| said.contains(" --host ") && !said.contains(" add ") || said.contains(" --queue");
        let mut words = FRONT_WORDS.iter().filter(|(_, front)| !(is_terminal && *front == FRONT_REVIEW));
        let begun = if spoken.ends_with(is_inside) { None } else { words.find(fits) };
        let (from, to) = match begun.filter(|_| !rest.split('`').next().is_some_and(is_apart)) {
            Some((tool, front)) => (tool.len(), *front),
            None => (next.len_utf8(), &rest[..next.len_utf8()]),
        };
        spoken.push_str(to);
        rest = &rest[from..];
    }
    spoken
}

/// The output of one tool.
#[derive(Debug)]
pub struct Ui {
    tool: &'static str,
    options: Options,
    can_ask: bool,
    on_terminal: bool,
    is_behind_front: bool,
    broken: Mutex<Option<io::Error>>,
}

impl Ui {
    /// The output of `tool`.
    pub fn new(tool: &'static str, env: &Env, options: Options) -> Ui {
        let Env { can_ask, stderr_is_terminal: on_terminal, is_behind_front, .. } = *env;
        let tool = if is_behind_front { "shopfloor" } else { tool };
        Ui { tool, options, can_ask, on_terminal, is_behind_front, broken: Mutex::new(None) }
    }

    /// The tool that speaks.
    pub fn tool(&self) -> &'static str {
        self.tool
    }

    /// Whether notices are left out.
    pub fn is_quiet(&self) -> bool {
        self.options.quiet
    }

    /// Whether the answer is to be JSON.
    pub fn is_json(&self) -> bool {
        self.options.json
    }

    /// Whether to show what would be done, and change nothing.
    pub fn is_dry(&self) -> bool {
        self.options.dry_run
    }

    /// Whether a person can be asked.
    pub fn can_ask(&self) -> bool {
        self.can_ask
    }

    /// The width in columns and the height in rows of the terminal that shows the answer; `None` when no terminal shows it.
    pub fn size(&self) -> Option<(usize, usize)> {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
        (size.ws_col > 0).then_some((usize::from(size.ws_col), usize::from(size.ws_row)))
    }

    /// Whether to use colours.
    pub fn has_colors(&self) -> bool {
        self.options.color
    }

    /// Prints a line of the answer. Text that comes from files or agents must have gone through
    /// [`printable`].
    pub fn line(&self, line: impl Display) {
        self.answer(format!("{line}\n").as_bytes());
    }

    /// A path as a line of the answer: as it is for a program, and escaped on a terminal.
    pub fn path(&self, path: &Path) {
        match io::stdout().is_terminal() {
            true => self.line(printable(&path.to_string_lossy())),
            false => self.answer(&[path.as_os_str().as_encoded_bytes(), b"\n"].concat()),
        }
    }

    /// A part of the answer, byte for byte.
    pub fn answer(&self, bytes: &[u8]) {
        let mut broken = self.broken();
        if broken.is_some() {
            return;
        }
        *broken = stream::file(io::stdout()).and_then(|mut out| out.write_all(bytes)).err();
    }

    fn broken(&self) -> MutexGuard<'_, Option<io::Error>> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody reads the answer any more, so that a program that keeps running can end.
    pub fn is_unheard(&self) -> bool {
        self.broken().is_some()
    }

    /// Waits, at most for `limit`, until the reader of our pipe has read the whole answer; `false` when nobody
    /// reads any more. An answer that does not go to a pipe counts as read.
    pub fn is_taken(&self, limit: Duration) -> bool {
        if !self.is_unheard() && !stream::is_read(io::stdout(), limit) {
            *self.broken() = Some(io::ErrorKind::BrokenPipe.into());
        }
        !self.is_unheard()
    }

    /// Reads stdin, at most as much as we parse.
    pub fn input(&self) -> Result<Vec<u8>> {
        self.input_up_to(PARSE_LIMIT)
    }

    /// Reads stdin; more than `limit` bytes are refused (exit 2).
    pub fn input_up_to(&self, limit: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().take(limit + 1).read_to_end(&mut bytes);
        read.map_err(|e| Failure::failed("cannot read stdin").because(e))?;
        if bytes.len() as u64 > limit {
            return Err(Failure::malformed(format!("stdin is larger than {} MiB", limit >> 20)));
        }
        Ok(bytes)
    }

    /// Why the answer could not be written, if it could not. A reader that went away (`| head`) is not a failure.
    pub fn unwritten(&self) -> Option<Failure> {
        let broken = self.broken().take().filter(|e| e.kind() != io::ErrorKind::BrokenPipe)?;
        Some(Failure::failed("cannot write the answer to stdout").because(broken))
    }

    /// One JSON document, or one record of JSON Lines: an object that gets `"v":1` as first key, and in a dry run
    /// `"dry_run":true` as last.
    pub fn json(&self, answer: &impl Serialize) {
        self.document(serde_json::to_value(answer));
    }

    /// The same with the keys of two objects, one after the other.
    pub fn json_of_both(&self, first: &impl Serialize, second: &impl Serialize) {
        let both = serde_json::to_value(first).and_then(|first| Ok(both(first, serde_json::to_value(second)?)));
        self.document(both);
    }

    /// Prints a document. One that JSON has no form for, as a path that is not Unicode, counts as not written.
    fn document(&self, answer: serde_json::Result<Value>) {
        match answer {
            Ok(answer) => self.line(self.render(answer)),
            Err(e) => *self.broken() = Some(e.into()),
        }
    }

    /// Records of JSON Lines, in few writes.
    pub fn json_lines<T: Serialize>(&self, answers: impl IntoIterator<Item = T>) {
        let mut broken = self.broken();
        if broken.is_some() {
            return;
        }
        let written = stream::file(io::stdout()).and_then(|out| {
            let mut out = BufWriter::with_capacity(1 << 16, out);
            let mut write = |answer: T| writeln!(out, "{}", self.render(serde_json::to_value(answer)?));
            answers.into_iter().try_for_each(&mut write)?;
            out.flush()
        });
        *broken = written.err();
    }

    /// Shows these lines on the whole terminal instead of the last ones. Nothing is cleared before it is written anew, so
    /// that nothing flickers.
    pub fn redraw(&self, lines: &[String], is_first: bool) {
        let begin = if is_first { "\x1b[2J\x1b[H" } else { "\x1b[H" };
        // A line end after the last row would scroll the first one away.
        let lines = lines.iter().map(|line| format!("{line}\x1b[K")).collect::<Vec<_>>().join("\n");
        self.answer(format!("{begin}{lines}\x1b[J").as_bytes());
    }

    /// A record as [`Ui::json`] prints it.
    pub fn render(&self, answer: Value) -> String {
        let mut document = serde_json::Map::new();
        document.insert("v".into(), 1.into());
        if let Value::Object(fields) = answer {
            document.extend(fields);
        }
        if self.options.dry_run {
            document.insert("dry_run".into(), true.into());
        }
        printable_json(&Value::Object(document).to_string())
    }

    /// The answer of every tool's `config`: each setting with its value and source.
    pub fn config(&self, config: &Config) {
        for (name, value) in config.all() {
            let source = value.map_or("default".to_owned(), |v| v.source.to_string());
            let value = value.map(|v| v.text.as_str()).or(config.default_of(&name));
            if self.is_json() {
                self.json(&serde_json::json!({ "name": name, "value": value, "source": source }));
            } else {
                let value = value.unwrap_or("(unset)");
                self.line(format!("{} = {} ({})", printable(&name), printable(value), printable(&source)));
            }
        }
    }

    /// A notice: what was done or is worth knowing. Dropped by `-q`.
    pub fn note(&self, text: impl Display) {
        if !self.options.quiet {
            self.say("", Style::new(), &text.to_string());
        }
    }

    /// A detail, shown with `-v` only.
    pub fn detail(&self, text: impl Display) {
        if self.options.verbose {
            self.note(text);
        }
    }

    /// Says, with `-v` only, that a command found everything as it should be.
    pub fn nothing_to_do(&self) {
        self.detail("there was nothing to do");
    }

    /// A warning; never dropped.
    pub fn warn(&self, text: impl Display) {
        self.say("warning: ", AnsiColor::Yellow.on_default().bold(), &text.to_string());
    }

    /// An error, in the form it is reported in: as text on stderr, or as the one JSON document.
    pub fn error(&self, failure: &Failure) {
        if self.options.json {
            self.json(&self.error_key(failure));
            // What stdout does not take is said on stderr.
            if self.broken().as_ref().is_none_or(|e| e.kind() == io::ErrorKind::BrokenPipe) {
                return;
            }
        }
        self.complain("error: ", AnsiColor::Red.on_default().bold(), failure);
    }

    /// The key `error` of an answer in JSON, in the words of who was called.
    pub fn error_key(&self, failure: &Failure) -> Value {
        let error = serde_json::json!({ "error": failure.to_json() });
        let spoken = self.is_behind_front.then(|| in_front_words(&error.to_string()));
        spoken.and_then(|spoken| serde_json::from_str(&spoken).ok()).unwrap_or(error)
    }

    /// Prints a problem as a notice, where the exit code must stay 0 (hooks).
    pub fn problem(&self, failure: &Failure) {
        if !self.options.quiet {
            self.complain("notice: ", AnsiColor::Yellow.on_default().bold(), failure);
        }
    }

    /// What was done, or a notice about why it was not, where the command goes on all the same.
    pub fn or_problem<T>(&self, done: Result<T>) -> Option<T> {
        done.map_err(|failure| self.problem(&failure)).ok()
    }

    /// Notices, and whether somebody can have read them: not where stderr takes nothing or throws it away, nor where nobody
    /// reads our pipe any more.
    pub fn tell(&self, mut notices: impl Iterator<Item = String>) -> bool {
        notices.all(|text| self.say("", Style::new(), &text)) && stream::is_shown(io::stderr())
    }

    fn complain(&self, word: &str, style: Style, failure: &Failure) {
        self.say(word, style, &failure.message);
        // A cause may be another program's output of several lines; a detail is always one line.
        let causes: Vec<String> = failure.causes().iter().map(|c| format!("caused by: {c}")).collect();
        let causes = causes.iter().flat_map(|c| c.lines()).filter(|l| !l.trim().is_empty());
        let causes = causes.map(|l| l.replace('\t', "  "));
        let hints = failure.hints.iter().map(|h| format!("hint: {h}"));
        let lines = failure.details.iter().cloned().chain(causes).chain(hints);
        self.narrate(&lines.map(|l| format!("  {}\n", printable(&l))).collect::<String>());
    }

    fn say(&self, word: &str, style: Style, text: &str) -> bool {
        // Behind the front door that is who speaks already.
        let text = text.strip_prefix("worker-ctl: ").filter(|_| self.is_behind_front).unwrap_or(text);
        let word = if self.options.color { format!("{style}{word}{style:#}") } else { word.to_owned() };
        self.narrate(&format!("{}: {word}{}\n", self.tool, printable(text)))
    }

    /// A line that another tool has said, here or on another machine.
    pub fn relay(&self, line: &str) {
        self.narrate(&format!("{}\n", printable(line)));
    }

    /// Returns whether stderr took the text: without it nobody can be told.
    fn narrate(&self, text: &str) -> bool {
        let spoken = self.is_behind_front.then(|| in_front_words(text));
        let text = spoken.as_deref().unwrap_or(text);
        stream::file(io::stderr()).and_then(|mut stderr| stderr.write_all(text.as_bytes())).is_ok()
    }

    /// A line on stdout that says what was done, where nobody needs it for anything else. Dropped by `-q`.
    pub fn done(&self, line: impl Display) {
        if !self.options.quiet {
            self.line(line);
        }
    }

    /// Prints what was decided on, line by line. Dropped by `-q`.
    pub fn summary(&self, lines: &[String]) {
        if !self.options.quiet {
            self.show(lines);
        }
    }

    /// What a person needs to see before deciding, in lines; never dropped.
    pub fn show(&self, lines: &[String]) {
        let mut lines = lines.iter();
        self.say("", Style::new(), lines.next().map_or("", String::as_str));
        self.narrate(&lines.map(|l| format!("  {}\n", printable(l))).collect::<String>());
    }

    /// Asks a question on the terminal; `None` when the input ended. Call it only where [`Ui::can_ask`].
    pub fn ask(&self, question: &str) -> Option<String> {
        self.narrate(&format!("{}: {question} ", self.tool));
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line) {
            Ok(n) if n > 0 => Some(line.trim().to_owned()),
            _ => {
                self.narrate("\n");
                None
            }
        }
    }

    /// A yes-or-no question whose default is No.
    pub fn confirm(&self, question: &str) -> bool {
        let answer = self.ask(&format!("{question} [y/N]")).unwrap_or_default().to_lowercase();
        answer == "y" || answer == "yes"
    }

    /// Fails unless a person agrees, now or by `--yes`. `undone` says what was not done.
    pub fn require_yes(&self, is_agreed: bool, question: &str, undone: impl Into<String>) -> Result<()> {
        if is_agreed || self.can_ask && self.confirm(question) { Ok(()) } else { Err(self.undecided(undone)) }
    }

    /// The failure of a command to which nobody has agreed. Who was asked needs no hint.
    pub fn undecided(&self, undone: impl Into<String>) -> Failure {
        let failure = Failure::new(Exit::Decide, "undecided", undone);
        if self.can_ask {
            return failure;
        }
        failure.hint("a person must decide: run the command on a terminal, or with `--yes`")
    }

    /// Passes a child's output on to stderr, above a running spinner. A reader that went away does not make
    /// the child fail.
    pub fn pass_through(&self, spinner: Option<&Spinner>, output: &[u8]) {
        let write = || drop(io::stderr().write_all(output));
        match spinner {
            Some(spinner) => spinner.bar.suspend(write),
            None => write(),
        }
    }

    /// Shows a spinner on stderr while something runs; `None` when stderr is not a terminal.
    pub fn spinner(&self, text: &str) -> Option<Spinner> {
        if !self.on_terminal || self.options.quiet {
            return None;
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template("{spinner} {msg} {elapsed}").unwrap_or(ProgressStyle::default_spinner());
        bar.set_style(style);
        bar.set_message(printable(text));
        bar.enable_steady_tick(Duration::from_millis(100));
        Some(Spinner { bar })
    }
}

/// A running spinner; it is cleared when dropped.
#[derive(Debug)]
pub struct Spinner {
    bar: ProgressBar,
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn an_answer_that_json_has_no_form_for_is_a_failure() {
        let ways: [fn(&Ui, &Path); 3] = [
            |ui, path| ui.json(&path),
            |ui, path| ui.json_of_both(&Value::Null, &path),
            |ui, path| ui.json_lines([path]),
        ];
        for write in ways {
            let (options, broken) = (Options::default(), Mutex::new(None));
            let ui = Ui { tool: "t", options, can_ask: false, on_terminal: false, is_behind_front: false, broken };
            write(&ui, Path::new(OsStr::from_bytes(b"\xff")));
            assert_eq!(ui.unwritten().map(|failure| failure.exit), Some(Exit::Failed));
        }
    }
}
