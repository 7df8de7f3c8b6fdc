//! One error at the edge: what failed, why, what to run next, and the exit code it ends in.

use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The result of every fallible function of ours.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// The exit codes all tools share (`docs/formats.md`, "Exit codes").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: done, or nothing to do.
    Done,
    /// 1: the answer is "no".
    No,
    /// 2: bad usage, bad configuration, malformed input; found before anything was changed.
    Bad,
    /// 3: a person must decide first.
    Decide,
    /// 4: git, a child command or the disk failed.
    Failed,
    /// 75: another process holds the lock.
    Busy,
    /// 124: a `--timeout` ran out.
    Timeout,
    /// 128+n: ended by signal n, after tidying up.
    Signal(u8),
    /// The exit code of a command that was run on somebody's behalf.
    Command(u8),
}

impl Exit {
    /// The number a shell sees.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Bad => 2,
            Exit::Decide => 3,
            Exit::Failed => 4,
            Exit::Busy => 75,
            Exit::Timeout => 124,
            Exit::Signal(n) => 128u8.saturating_add(n),
            Exit::Command(code) => code,
        }
    }
}

/// An error as its user meets it.
///
/// Messages are lower-case fragments without a final stop; hints are commands or sentences that
/// stand alone. `details` are further lines that belong to the message (one per problem found).
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// A stable word scripts can branch on (`exists`, `unapproved`, `busy`...).
    pub kind: &'static str,
    /// What failed.
    pub message: String,
    /// Each problem on its own line, when there is more than one thing to say.
    pub details: Vec<String>,
    /// What to run or do next.
    pub hints: Vec<String>,
    /// Why, down to the first cause. Boxed to keep `Result` small.
    pub source: Option<Box<anyhow::Error>>,
}

/// A kind of failure of a tool: the value of `kind` in a JSON error, and the exit code that goes with it. The words are
/// a promise: scripts branch on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureKind {
    /// The value of `kind`.
    pub word: &'static str,
    exit: Exit,
}

impl FailureKind {
    /// The kind with this word, which ends a command with this code.
    pub const fn new(word: &'static str, exit: Exit) -> FailureKind {
        FailureKind { word, exit }
    }

    /// A failure of this kind.
    pub fn failure(self, message: impl Into<String>) -> Failure {
        self.with(self.exit, message)
    }

    /// A failure of this kind with another exit code.
    pub fn with(self, exit: Exit, message: impl Into<String>) -> Failure {
        Failure::new(exit, self.word, message)
    }

    /// Whether a failure is of this kind.
    pub fn is_kind_of(self, failure: &Failure) -> bool {
        failure.kind == self.word
    }
}

impl Failure {
    /// An error with an exit code and a kind.
    pub fn new(exit: Exit, kind: &'static str, message: impl Into<String>) -> Failure {
        Failure { exit, kind, message: message.into(), details: Vec::new(), hints: Vec::new(), source: None }
    }

    /// Whether the system does not let the caller write: the file system is read-only, or the place is another user's.
    pub fn is_write_refused(&self) -> bool {
        let error = self.source.as_ref().and_then(|source| source.downcast_ref::<io::Error>());
        let refused = [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem];
        error.is_some_and(|error| refused.contains(&error.kind()))
    }

    /// Exit 2: the command line was wrong.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Bad, "usage", message)
    }

    /// Exit 2: a file that was given to us is wrong.
    pub fn malformed(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Bad, "malformed", message)
    }

    /// Exit 4: git, a child or the disk failed.
    pub fn failed(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Failed, "failed", message)
    }

    /// Exit 1: something that was asked for by name does not exist.
    pub fn not_found(message: impl Into<String>) -> Failure {
        Failure::new(Exit::No, "not_found", message)
    }

    /// Adds what to run next.
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hints.push(hint.into());
        self
    }

    /// Adds lines to the message.
    pub fn details(mut self, lines: impl IntoIterator<Item = String>) -> Failure {
        self.details.extend(lines);
        self
    }

    /// Adds the cause.
    pub fn because(mut self, cause: impl Into<anyhow::Error>) -> Failure {
        self.source = Some(Box::new(cause.into()));
        self
    }

    /// The causes as text, outermost first. A program that failed may have said nothing.
    pub fn causes(&self) -> Vec<String> {
        let all = self.source.iter().flat_map(|e| e.chain()).map(|e| e.to_string());
        all.filter(|text| !text.trim().is_empty()).collect()
    }

    /// The error as the one JSON document of `--json` (or its `error` key): `kind`, `message`
    /// (details and causes included, a line each) and `hints`.
    pub fn to_json(&self) -> serde_json::Value {
        let mut lines = vec![self.message.clone()];
        lines.extend(self.details.iter().cloned());
        lines.extend(self.causes().into_iter().map(|c| format!("caused by: {c}")));
        serde_json::json!({ "kind": self.kind, "message": lines.join("\n"), "hints": self.hints })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        // A cause may be another program's output of several lines.
        let more: Vec<String> = self.details.iter().cloned().chain(self.causes()).collect();
        more.iter().flat_map(|text| text.lines()).try_for_each(|line| write!(f, "; {line}"))
    }
}

impl std::error::Error for Failure {}

/// Gives an IO error the path it happened on; the only way our code turns one into a [`Failure`].
pub trait At<T> {
    /// `what` is a verb: "cannot `what` `path`". Exit 4.
    fn at(self, what: &str, path: &Path) -> Result<T>;

    /// The same with a path that only a failure needs.
    fn at_path(self, what: &str, path: impl FnOnce() -> PathBuf) -> Result<T>;
}

impl<T, E: Into<io::Error>> At<T> for std::result::Result<T, E> {
    fn at(self, what: &str, path: &Path) -> Result<T> {
        self.map_err(|e| io_failure(e.into(), what, path))
    }

    fn at_path(self, what: &str, path: impl FnOnce() -> PathBuf) -> Result<T> {
        self.map_err(|e| io_failure(e.into(), what, &path()))
    }
}

fn io_failure(e: io::Error, what: &str, path: &Path) -> Failure {
    let failure = Failure::failed(format!("cannot {what} {}", path.display()));
    match e.kind() {
        io::ErrorKind::PermissionDenied => {
            let shown = path.ancestors().find(|p| p.symlink_metadata().is_ok()).unwrap_or(path);
            let is_own = |meta: &Metadata| meta.uid() == rustix::process::geteuid().as_raw();
            let is_closed = |meta: Metadata| meta.is_dir() && meta.mode() & 0o700 != 0o700 && is_own(&meta);
            let (is_closed, shown) = (shown.symlink_metadata().is_ok_and(is_closed), crate::text::shell_word(shown));
            failure.hint(match is_closed {
                true => format!("open it again: `chmod u+rwx {shown}`"),
                false => format!("run `ls -ld {shown}` to see who owns it"),
            })
        }
        io::ErrorKind::StorageFull => failure.hint("free some space and run the same command again"),
        _ => failure,
    }
    .because(e)
}
