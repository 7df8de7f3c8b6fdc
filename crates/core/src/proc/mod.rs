//! The one place that spawns processes: argv in, bytes and status out, each child in a process
//! group of its own that is ended with us.

mod overdue;
pub mod processes;
mod signals;
mod threads;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::env::Env;
use crate::error::{Exit, Failure, Result};
use crate::sys;
use crate::text::{printable, shell_word};

pub use self::signals::{Deferred, check_interrupt, defer_signals, handle_signals, tidy_up};
use self::signals::{end, end_groups, end_rest, groups, watch_signals};
pub use self::threads::{begin, ended, map_parallel, no_thread, start_thread};

/// How long process groups have after a signal before they are killed.
const GRACE: Duration = Duration::from_secs(5);

/// How often we look at the output of a child that passes through us.
const TICK: Duration = Duration::from_millis(50);

/// A command to run: an absolute program, its arguments, its whole environment.
#[derive(Clone, Debug, Default)]
pub struct Cmd {
    program: PathBuf,
    args: Vec<OsString>,
    dir: PathBuf,
    vars: BTreeMap<OsString, OsString>,
    input: Option<Vec<u8>>,
    /// Whether the program makes itself the leader of a new session, and so of a new group. It must not
    /// be a group leader before that.
    own_session: bool,
    /// The same from a file.
    input_file: Option<Arc<File>>,
    error_file: Option<Arc<File>>,
    /// How long it may take.
    limit: Option<Duration>,
    /// How much memory it may use, in bytes.
    memory: Option<u64>,
    /// Whether what it leaves running in its group is ended with it.
    ends_group: bool,
    /// Set when it has to end early.
    ending: Option<Arc<AtomicBool>>,
    /// Files that it gets open.
    #[expect(dead_code, reason = "they are held open, not read")]
    kept: Vec<Arc<OwnedFd>>,
}

/// The output and status of a captured command.
#[derive(Debug)]
pub struct Output {
    /// How it ended.
    pub status: Status,
    /// Everything it wrote to stdout.
    pub stdout: Vec<u8>,
    /// Everything it wrote to stderr.
    pub stderr: Vec<u8>,
}

impl Output {
    /// What it wrote to stdout as text, without the line ends at its end.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches('\n').to_owned()
    }
}

/// How a command ended; in records `{"code":N}` or `{"signal":N}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// It exited with this code.
    #[serde(rename = "code")]
    Exited(i32),
    /// This signal ended it.
    #[serde(rename = "signal")]
    Signalled(i32),
}

impl Status {
    /// Whether it exited with 0.
    pub fn success(self) -> bool {
        self == Status::Exited(0)
    }

    /// The number a shell would put into `$?`.
    pub fn code(self) -> i32 {
        match self {
            Status::Exited(code) => code,
            Status::Signalled(signal) => 128 + signal,
        }
    }

    /// How our own command ends where this one has ended so.
    pub fn exit(self) -> Exit {
        match self {
            Status::Exited(0) => Exit::Done,
            Status::Exited(code) => Exit::Command(u8::try_from(code).unwrap_or(u8::MAX)),
            Status::Signalled(signal) => Exit::Signal(u8::try_from(signal).unwrap_or(0)),
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Status::Exited(code) => write!(f, "exit status {code}"),
            Status::Signalled(signal) => write!(f, "signal {signal}"),
        }
    }
}

impl From<ExitStatus> for Status {
    fn from(status: ExitStatus) -> Status {
        match status.code() {
            Some(code) => Status::Exited(code),
            None => Status::Signalled(status.signal().unwrap_or(0)),
        }
    }
}

/// A command line for `sh` without a terminal. It runs in a session of its own (through `setsid`, where that program is
/// installed), so that a command that asks on `/dev/tty` fails instead of waiting for ever in the background.
pub fn shell(env: &Env, line: &str) -> Result<Cmd> {
    let sh = find(env, "sh").ok_or_else(|| Failure::failed("sh is not on the PATH"))?;
    let cmd = match find(env, "setsid") {
        Some(setsid) => Cmd { own_session: true, ..Cmd::new(&setsid, env) }.arg(&sh),
        None => Cmd::new(&sh, env),
    };
    Ok(cmd.arg("-c").arg(line))
}

/// Stops us and the group of processes that we are in, as Ctrl-Z does, until the shell lets us go on.
pub fn stop_by_terminal() {
    let _ = rustix::process::kill_current_process_group(Signal::TSTP);
}

/// Where `name` lies on the `PATH` of `env`. Resolved once and passed on as an absolute path:
/// spawning by name costs a slow fork (duct) and would trust the child's directory.
pub fn find(env: &Env, name: &str) -> Option<PathBuf> {
    let path = env.var("PATH").unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    std::env::split_paths(path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|program| is_executable(program))
}

/// The same. Exit 4 with this hint if it is not there.
pub fn require(env: &Env, name: &str, hint: &str) -> Result<PathBuf> {
    find(env, name).ok_or_else(|| Failure::failed(format!("{} is not on the PATH", printable(name))).hint(hint))
}

/// What installed the program that runs, if a package says so in a file beside it.
pub(crate) fn origin() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let text = std::fs::read_to_string(program.parent()?.parent()?.join("share/shopfloor/origin")).ok()?;
    let origin = text.trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " .-".contains(c);
    (!origin.is_empty() && origin.len() < 40 && origin.chars().all(is_plain)).then(|| origin.to_owned())
}

/// Whether somebody can run the file.
pub(crate) fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The program that runs, by which it can be started again: as it was called, else as the `PATH` has it.
pub fn own_program(env: &Env, tool: &str) -> Option<PathBuf> {
    env.called_path().map(Path::to_path_buf).filter(|path| path.is_file()).or_else(|| find(env, tool))
}

impl Cmd {
    /// `program` must be absolute (see [`find`]); it runs in the directory and environment of `env`.
    pub fn new(program: &Path, env: &Env) -> Cmd {
        Cmd { program: program.to_path_buf(), dir: env.cwd.clone(), vars: env.vars.clone(), ..Cmd::default() }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Cmd {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<I: IntoIterator<Item: Into<OsString>>>(mut self, args: I) -> Cmd {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Runs it there.
    pub fn dir(mut self, dir: &Path) -> Cmd {
        self.dir = dir.to_path_buf();
        self
    }

    /// Sets a variable.
    pub fn var(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Cmd {
        self.vars.insert(name.into(), value.into());
        self
    }

    /// Sets variables.
    pub fn vars<N: Into<OsString>, V: Into<OsString>>(self, vars: impl IntoIterator<Item = (N, V)>) -> Cmd {
        vars.into_iter().fold(self, |cmd, (name, value)| cmd.var(name, value))
    }

    /// Removes variables.
    pub fn without_vars(mut self, names: &[&str]) -> Cmd {
        for name in names {
            self.vars.remove(OsStr::new(name));
        }
        self
    }

    /// Gives it these variables and no others.
    pub(crate) fn only_vars(self, vars: BTreeMap<OsString, OsString>) -> Cmd {
        Cmd { vars, ..self }
    }

    /// Gives it these files open.
    pub(crate) fn keeping(self, kept: Vec<Arc<OwnedFd>>) -> Cmd {
        Cmd { kept, ..self }
    }

    /// Runs it in the place of this process. Returns why that failed.
    pub fn exec(self) -> Failure {
        let error = self.command().exec();
        self.cannot(error)
    }

    /// Why it was not run.
    fn cannot(&self, error: io::Error) -> Failure {
        let program = self.program.display();
        let what = match self.dir.is_dir() {
            true => format!("cannot run {program}"),
            false => format!("cannot run {program} in {}, which is not there", self.dir.display()),
        };
        Failure::failed(what).because(error)
    }

    /// It as the standard library starts it.
    pub(crate) fn command(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.args).current_dir(&self.dir).env_clear().envs(&self.vars);
        command
    }

    /// Feeds it these bytes; without this its stdin is closed (`/dev/null`).
    pub fn input(mut self, bytes: Vec<u8>) -> Cmd {
        self.input = Some(bytes);
        self
    }

    /// Feeds it this file.
    pub(crate) fn input_file(mut self, file: File) -> Cmd {
        self.input_file = Some(Arc::new(file));
        self
    }

    /// Where its stdout goes to a file, writes its stderr to this one, which would be dropped.
    pub fn error_file(mut self, file: File) -> Cmd {
        self.error_file = Some(Arc::new(file));
        self
    }

    /// Lets it, and each program that it starts, use at most so many bytes of memory.
    pub fn with_memory(self, bytes: u64) -> Cmd {
        Cmd { memory: Some(bytes), ..self }
    }

    /// Ends it, and everything it started, when it takes longer than this: [`capture`](Self::capture) then fails (exit
    /// 4, kind `deadline`).
    pub fn within(self, limit: Duration) -> Cmd {
        Cmd { limit: Some(limit), ..self }
    }

    /// Where [`capture_within`](Self::capture_within) runs it, ends it early when `ending` is set.
    pub fn ending(self, ending: Arc<AtomicBool>) -> Cmd {
        Cmd { ending: Some(ending), ..self }
    }

    /// Where [`capture_within`](Self::capture_within) runs it, takes along what it leaves running in its group, and ends all
    /// early when `ending` is set.
    pub fn ending_group(self, ending: Arc<AtomicBool>) -> Cmd {
        Cmd { ends_group: true, ending: Some(ending), ..self }
    }

    /// Runs it to its end in the foreground: our terminal, our streams, our process group, so that the keys of a
    /// terminal reach it. Signals that reach us alone are passed on, none of them ends us before it.
    pub fn foreground(self) -> Result<Status> {
        let child: Arc<Mutex<Option<i32>>> = Arc::default();
        let target = child.clone();
        let has_keys = std::io::IsTerminal::is_terminal(&io::stdin());
        handle_signals(move |signal| {
            // Ctrl-C on a terminal reached the child as well.
            let pid = target.lock().unwrap_or_else(PoisonError::into_inner).and_then(Pid::from_raw);
            if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(signal))
                && !(has_keys && signal == Signal::INT)
            {
                let _ = kill_process(pid, signal);
            }
            true
        });
        let cannot = |e| self.cannot(e);
        let mut command = self.command();
        let mut running = {
            let mut pid = child.lock().unwrap_or_else(PoisonError::into_inner);
            let running = command.spawn().map_err(cannot)?;
            *pid = i32::try_from(running.id()).ok();
            running
        };
        let status = running.wait().map_err(cannot)?;
        *child.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(status.into())
    }

    /// Runs it to its end, both streams captured. Fails (exit 4) when it cannot be started; a
    /// status other than 0 is the caller's to judge.
    pub fn capture(self) -> Result<Output> {
        let expression = self.expression().stdout_capture().stderr_capture();
        self.run(&expression)
    }

    /// Runs it to its end; both its streams go through `pass`, in order and as they come. It is written
    /// to a nameless file, not a pipe: a daemon the command leaves behind neither holds us up nor
    /// dies of a closed pipe. What takes longer than its limit is killed, and has the status 124, as of timeout(1).
    pub fn show_through(self, scratch: (File, File), mut pass: impl FnMut(&[u8])) -> Result<Status> {
        let (writer, mut reader) = scratch;
        let expression = self.expression().stderr_to_stdout().stdout_file(writer);
        let mut piece = vec![0; 1 << 16];
        let mut drain = move || {
            while let Ok(n @ 1..) = reader.read(&mut piece) {
                pass(&piece[..n]);
            }
        };
        let (begin, mut is_over) = (Instant::now(), false);
        let status = self.run_while(&expression, |handle| {
            drain();
            if !is_over && self.limit.is_some_and(|limit| begin.elapsed() >= limit) {
                is_over = true;
                end_groups(&handle.pids(), Signal::KILL);
            }
        });
        drain();
        Ok(if is_over { Status::Exited(124) } else { status?.status })
    }

    /// Runs it to its end, at most for `limit`, and reads at most `most` bytes of its stdout, stderr being
    /// dropped; none when it took longer or wrote more. Then its whole group is ended: asked first if it took longer.
    pub fn capture_within(self, scratch: (File, File), limit: Duration, most: usize) -> Result<Option<Output>> {
        let Some((status, mut reader)) = self.into_file(scratch, limit, most)? else { return Ok(None) };
        // Processes it left in its group would go on writing.
        let mut stdout = Vec::new();
        let read = Read::by_ref(&mut reader).take(most as u64 + 1).read_to_end(&mut stdout);
        read.map_err(|e| Failure::failed("cannot read a command's output").because(e))?;
        Ok((stdout.len() <= most).then_some(Output { status, stdout, stderr: Vec::new() }))
    }

    /// The same, but the output stays in the file.
    pub fn into_file(self, scratch: (File, File), limit: Duration, most: usize) -> Result<Option<(Status, File)>> {
        let (writer, reader) = scratch;
        let errors = self.error_file.as_ref().and_then(|file| file.try_clone().ok());
        let expression = self.expression().stdout_file(writer);
        let expression = errors.map_or_else(|| expression.stderr_null(), |file| expression.stderr_file(file));
        let (start, mut over, mut is_killed, mut group) = (Instant::now(), None::<Instant>, false, Vec::new());
        let size = |file: &File| file.metadata().map_or(0, |meta| meta.len());
        let is_too_much = || size(&reader).max(self.error_file.as_ref().map_or(0, |file| size(file))) > most as u64;
        let is_past = |over: Option<Instant>| over.is_some_and(|over| over.elapsed() >= GRACE);
        let status = self.run_while(&expression, |handle| {
            group = handle.pids();
            let is_asked = self.ending.as_ref().is_some_and(|ending| ending.load(Ordering::SeqCst));
            if over.is_none() && (is_asked || start.elapsed() >= limit) {
                over = Some(Instant::now());
                end_groups(&group, Signal::TERM);
            }
            if !is_killed && (is_too_much() || is_past(over)) {
                is_killed = true;
                end_groups(&group, Signal::KILL);
            }
        })?;
        if self.ends_group || over.is_some() {
            // A shell ends before what it runs.
            end_rest(&group, || over.is_none() || is_past(over) || is_too_much());
        }
        Ok((over.is_none() && !is_killed && size(&reader) <= most as u64).then_some((status.status, reader)))
    }

    fn expression(&self) -> duct::Expression {
        let (own_session, memory) = (self.own_session, self.memory);
        let group = move |command: &mut std::process::Command| {
            if !own_session {
                command.process_group(0);
            }
            memory.into_iter().for_each(|memory| sys::limit_memory(command, memory));
            Ok(())
        };
        let expression = duct::cmd(&self.program, &self.args).dir(&self.dir).full_env(&self.vars);
        let expression = expression.unchecked().before_spawn(group);
        match (&self.input, &self.input_file) {
            (Some(bytes), _) => expression.stdin_bytes(bytes.clone()),
            (None, Some(file)) => file.try_clone().map_or(expression.stdin_null(), |file| expression.stdin_file(file)),
            (None, None) => expression.stdin_null(),
        }
    }

    fn run(&self, expression: &duct::Expression) -> Result<Output> {
        let limit = self.limit.unwrap_or(Duration::MAX);
        let (begin, mut is_over) = (Instant::now(), false);
        let output = self.start(expression, |handle| {
            while begin.elapsed() < limit && check_interrupt().is_ok() {
                if let Some(output) = handle.wait_timeout(TICK)? {
                    return Ok(collect(output));
                }
            }
            is_over = begin.elapsed() >= limit;
            // A signal that reached us has been passed on.
            end(handle, check_interrupt().is_err())
        });
        if !is_over {
            return output;
        }
        check_interrupt()?;
        let (name, dir) = (self.program.file_name().unwrap_or_default().to_string_lossy(), self.dir.display());
        let why = format!("{name} took longer than {} s in {dir}, and was ended", limit.as_secs());
        let failure = Failure::new(Exit::Failed, "deadline", why);
        Err(match Some(&self.dir).filter(|_| name == "git").and_then(|dir| overdue::in_the_way(dir)) {
            Some((path, what)) => failure
                .because(io::Error::other(format!("perhaps {}, {what}", path.display())))
                .hint(format!("if nobody needs it, delete it: `rm {}`; else move it away", shell_word(&path))),
            None => {
                failure.hint("see whether a pipe or a very large file lies in that directory or in its git directory")
            }
        })
    }

    fn run_while(&self, expression: &duct::Expression, mut meanwhile: impl FnMut(&duct::Handle)) -> Result<Output> {
        self.start(expression, |handle| {
            let mut pause = Duration::from_millis(1);
            loop {
                if let Some(output) = handle.try_wait()? {
                    return Ok(collect(output));
                }
                meanwhile(handle);
                thread::sleep(pause);
                pause = (pause * 2).min(TICK);
            }
        })
    }

    fn start(
        &self,
        expression: &duct::Expression,
        wait: impl FnOnce(&duct::Handle) -> io::Result<Output>,
    ) -> Result<Output> {
        // duct, which starts some, would panic.
        start_thread(|| ())?;
        watch_signals();
        let cannot = |e| self.cannot(e);
        let handle = {
            // Held during the spawn, so that a signal in between finds the new group.
            let mut groups = groups();
            check_interrupt()?;
            let handle = expression.start().map_err(cannot)?;
            groups.extend(handle.pids());
            handle
        };
        let output = wait(&handle);
        groups().retain(|pid| !handle.pids().contains(pid));
        check_interrupt()?;
        output.map_err(cannot)
    }
}

fn collect(output: &std::process::Output) -> Output {
    Output { status: output.status.into(), stdout: output.stdout.clone(), stderr: output.stderr.clone() }
}

#[cfg(test)]
mod tests;
