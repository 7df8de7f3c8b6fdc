//! What a command left behind, and the rule that a test looks at all of it.

use std::fmt;
use std::ops::{Add, Deref};
use std::panic::Location;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit status and both streams of a command. A test must check:
/// - the status;
/// - stdout and stderr, if the command wrote anything there.
///
/// A test that does not care says so with [`Output::any_status`], [`Checked::any_out`] or [`Checked::any_err`], and with
/// [`Output::succeeds`] for a step on the way to what it tests. Dropping a part that nobody looked at fails the test.
#[must_use = "check the exit status, then both streams"]
#[derive(Debug)]
pub struct Output(Checked);

/// An [`Output`] whose exit status is checked.
#[derive(Debug)]
pub struct Checked {
    origin: Arc<Origin>,
    pub status: Part<Option<i32>>,
    pub stdout: Part<String>,
    pub stderr: Part<String>,
}

/// The command, and the line of the test that ran it.
struct Origin {
    command: String,
    line: &'static Location<'static>,
}

impl Output {
    #[track_caller]
    pub fn of(mut command: Command) -> Output {
        let args = std::iter::once(command.get_program()).chain(command.get_args());
        let shown = args.map(|a| a.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let mut run = || command.output();
        let mut output = run();
        // Another thread has just begun to start a program, and has what we wrote still open.
        while output.as_ref().is_err_and(|e| e.kind() == std::io::ErrorKind::ExecutableFileBusy) {
            output = run();
        }
        let output = output.unwrap_or_else(|e| panic!("{shown}: {e}"));
        Output::from(shown, output)
    }

    #[track_caller]
    pub fn from(command: String, output: std::process::Output) -> Output {
        let origin = Arc::new(Origin { command, line: Location::caller() });
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let status = output.status.code();
        let (needs_out, needs_err) = (!stdout.is_empty(), !stderr.is_empty());
        Output(Checked {
            status: Part::new("the exit status", &origin, status, true),
            stdout: Part::new("stdout", &origin, stdout, needs_out),
            stderr: Part::new("stderr", &origin, stderr, needs_err),
            origin,
        })
    }

    /// Requires this exit status.
    #[track_caller]
    pub fn exit(self, status: i32) -> Checked {
        assert_eq!(*self.status, Some(status), "{}", self.0);
        self.0
    }

    /// Requires success without a warning. What the command answers, and its notices, do not matter.
    #[track_caller]
    pub fn succeeds(self) -> Checked {
        let checked = self.exit(0);
        let is_complaint = |line: &str| ["warning: ", "error: ", "fatal: "].iter().any(|word| line.contains(word));
        if !checked.stderr.value.lines().any(is_complaint) {
            checked.stderr.look();
        }
        checked.any_out()
    }

    /// Whether the exit status is this one, for a test that polls or chooses. What the command wrote does not matter.
    pub fn exits_with(self, status: i32) -> bool {
        *self.any_status().any_out().any_err().status == Some(status)
    }

    /// Accepts any exit status, and death by a signal.
    pub fn any_status(self) -> Checked {
        self.status.look();
        self.0
    }
}

impl Deref for Output {
    type Target = Checked;

    fn deref(&self) -> &Checked {
        &self.0
    }
}

impl Checked {
    /// Accepts anything on stdout.
    pub fn any_out(self) -> Checked {
        self.stdout.look();
        self
    }

    /// Accepts anything on stderr.
    pub fn any_err(self) -> Checked {
        self.stderr.look();
        self
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self}"))
    }

    #[track_caller]
    pub fn json_lines(&self) -> Vec<serde_json::Value> {
        let parsed = self.stdout.lines().map(serde_json::from_str).collect::<Result<_, _>>();
        parsed.unwrap_or_else(|e| panic!("{e}: {self}"))
    }

    #[track_caller]
    pub fn err_has(&self, text: &str) -> &Checked {
        assert!(self.stderr.contains(text), "no `{text}` in the stderr of {self}");
        self
    }

    #[track_caller]
    pub fn out_has(&self, text: &str) -> &Checked {
        assert!(self.stdout.contains(text), "no `{text}` in the stdout of {self}");
        self
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Checked { origin, status, stdout, stderr } = self;
        write!(f, "{}\nstatus: {status:?}\nstdout: {stdout}\nstderr: {stderr}", origin.command)
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.command)
    }
}

/// A part of an [`Output`]. Reading it counts as looking at it; printing it does not.
pub struct Part<T: fmt::Debug> {
    name: &'static str,
    origin: Arc<Origin>,
    value: T,
    needs_a_look: AtomicBool,
}

impl<T: fmt::Debug> Part<T> {
    fn new(name: &'static str, origin: &Arc<Origin>, value: T, needs_a_look: bool) -> Part<T> {
        Part { name, origin: origin.clone(), value, needs_a_look: AtomicBool::new(needs_a_look) }
    }

    fn look(&self) {
        self.needs_a_look.store(false, Ordering::Relaxed);
    }
}

impl<T: fmt::Debug> Drop for Part<T> {
    fn drop(&mut self) {
        if !self.needs_a_look.load(Ordering::Relaxed) || std::thread::panicking() {
            return;
        }
        let Origin { command, line } = &*self.origin;
        panic!("{line}: this test does not check {} of {command}: {:?}", self.name, self.value);
    }
}

impl<T: fmt::Debug> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.look();
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Part<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl fmt::Display for Part<String> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.value)
    }
}

impl<T: fmt::Debug + PartialEq> PartialEq for Part<T> {
    fn eq(&self, other: &Part<T>) -> bool {
        **self == **other
    }
}

impl<T: fmt::Debug + PartialEq> PartialEq<T> for Part<T> {
    fn eq(&self, other: &T) -> bool {
        **self == *other
    }
}

impl PartialEq<Part<String>> for String {
    fn eq(&self, other: &Part<String>) -> bool {
        *self == **other
    }
}

impl PartialEq<str> for Part<String> {
    fn eq(&self, other: &str) -> bool {
        **self == other
    }
}

impl PartialEq<&str> for Part<String> {
    fn eq(&self, other: &&str) -> bool {
        **self == *other
    }
}

impl Add<&str> for Part<String> {
    type Output = String;

    fn add(self, other: &str) -> String {
        String::from(self) + other
    }
}

impl From<Part<String>> for String {
    fn from(mut part: Part<String>) -> String {
        part.look();
        std::mem::take(&mut part.value)
    }
}

#[test]
fn what_a_command_prints_must_be_looked_at() {
    fn fails(line: &str, look: fn(Output)) -> bool {
        let run = || {
            let mut command = Command::new("sh");
            command.args(["-c", line]);
            look(Output::of(command));
        };
        std::panic::catch_unwind(run).is_err()
    }
    let (both, warns) = ("echo answer; echo notice >&2", "echo 'x: warning: y' >&2");
    assert!(fails(both, drop) && fails(both, |out| drop(out.exit(1))));
    assert!(fails(both, |out| drop(out.exit(0))));
    assert!(fails(both, |out| drop(out.exit(0).any_out())) && fails(both, |out| drop(out.exit(0).any_err())));
    assert!(!fails(both, |out| drop(out.exit(0).any_out().any_err())));
    let looks = |out: Output| {
        out.exit(0).out_has("answer").err_has("notice");
    };
    assert!(!fails(both, looks));
    assert!(!fails("true", |out| drop(out.exit(0))));
    assert!(!fails(both, |out| drop(out.succeeds())));
    assert!(fails(warns, |out| drop(out.succeeds())) && fails("exit 1", |out| drop(out.succeeds())));
}
