//! A sandbox in the foreground: the agent gets the terminal, and nothing that it does to its process group or to its streams
//! reaches the processes and files outside.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpgrp, getsid, kill_process, kill_process_group, waitpid};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

use crate::error::{Failure, Result};
use crate::proc::{Cmd, Status, handle_signals, start_thread};
use crate::sys;

/// Runs it to its end. Signals that reach us are passed on to what runs inside.
pub(super) fn run(cmd: &Cmd) -> Result<Status> {
    let cannot = |e: io::Error| Failure::failed("cannot run the sandbox").because(e);
    let mut command = cmd.command();
    sys::ignore_signals(&mut command);
    // A signal to the agent's whole group stays inside.
    command.process_group(0);
    if needs_pipe(&io::stdin()) {
        command.stdin(Stdio::piped());
    }
    if needs_pipe(&io::stdout()) {
        command.stdout(Stdio::piped());
    }
    if needs_pipe(&io::stderr()) {
        command.stderr(Stdio::piped());
    }
    let terminal = Terminal::ours();
    let mut child = command.spawn().map_err(cannot)?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| Failure::failed("no process"))?;
    handle_signals(move |signal| {
        if let Some(signal) = Signal::from_named_raw(signal) {
            inside(pid).into_iter().for_each(|pid| {
                let _ = kill_process(pid, signal);
            });
            // What is stopped gets it, too.
            let _ = kill_process_group(pid, Signal::CONT);
        }
        true
    });
    let input = child.stdin.take().map(|to| relay(io::stdin(), to)).transpose();
    let stdout = child.stdout.take().map(|from| relay(from, io::stdout())).transpose();
    let stderr = child.stderr.take().map(|from| relay(from, io::stderr())).transpose();
    let (input, outputs) = match (input, stdout, stderr) {
        (Ok(input), Ok(stdout), Ok(stderr)) => (input, [stdout, stderr]),
        (Err(failure), ..) | (_, Err(failure), _) | (.., Err(failure)) => {
            let _ = kill_process_group(pid, Signal::KILL);
            let _ = child.wait();
            return Err(failure);
        }
    };
    terminal.give(pid);
    let ended = loop {
        match waitpid(Some(pid), WaitOptions::UNTRACED) {
            Ok(Some((_, status))) if status.stopped() => terminal.stop_with(pid),
            Ok(Some((_, status))) => {
                break status.exit_status().map(Status::Exited).or(status.terminating_signal().map(Status::Signalled));
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break None,
        }
    };
    terminal.take(pid);
    // What is to be read of the input is the agent's affair.
    drop(input);
    outputs.into_iter().flatten().for_each(|output| drop(output.join()));
    ended.ok_or_else(|| Failure::failed("the sandbox is gone"))
}

/// Whether the agent gets a pipe in the place of a stream: of a file it could ask for more rights than ours, through a directory
/// it would reach everything, and a socket or a named pipe may be anybody's.
fn needs_pipe(stream: &impl AsFd) -> bool {
    let file = stream.as_fd().try_clone_to_owned().map(File::from);
    let kind = file.and_then(|file| file.metadata()).map(|meta| meta.file_type());
    kind.is_ok_and(|kind| !kind.is_char_device())
}

/// Passes on what comes, until one of the two ends.
fn relay(mut from: impl Read + Send + 'static, mut to: impl Write + Send + 'static) -> Result<thread::JoinHandle<()>> {
    start_thread(move || {
        let mut piece = vec![0; 1 << 16];
        while let Ok(n @ 1..) = from.read(&mut piece) {
            if to.write_all(&piece[..n]).and_then(|()| to.flush()).is_err() {
                break;
            }
        }
    })
}

/// What runs in a sandbox whose outermost process is `pid`: the children of its first process.
fn inside(pid: Pid) -> Vec<Pid> {
    let children = |pid: Pid| -> Vec<Pid> {
        let pid = pid.as_raw_nonzero();
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        text.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
    };
    children(pid).into_iter().flat_map(children).collect()
}

/// The terminal that controls us, if one does, as a shell handles it for its jobs.
struct Terminal(Option<File>);

impl Terminal {
    fn ours() -> Terminal {
        Terminal(File::options().read(true).write(true).open("/dev/tty").ok())
    }

    /// Whether its keys are for our own group of processes.
    fn is_ours_now(&self) -> bool {
        self.0.as_ref().is_some_and(|tty| tcgetpgrp(tty) == Ok(getpgrp()))
    }

    /// Gives its keys to a group, if we have them, and lets that go on: it may have asked for input before that.
    fn give(&self, pid: Pid) {
        if let Some(tty) = self.0.as_ref().filter(|_| self.is_ours_now()) {
            sys::ignore_background();
            let _ = tcsetpgrp(tty, pid);
        }
        let _ = kill_process_group(pid, Signal::CONT);
    }

    /// Takes them back from that group.
    fn take(&self, pid: Pid) {
        if let Some(tty) = self.0.as_ref().filter(|tty| tcgetpgrp(tty) == Ok(pid)) {
            let _ = tcsetpgrp(tty, getpgrp());
        }
    }

    /// Stops us as well, as Ctrl-Z means, and goes on when the shell says so. Without a shell nobody would.
    fn stop_with(&self, pid: Pid) {
        match has_shell() {
            _ if self.0.is_none() => return,
            _ if self.is_ours_now() => {}
            true => {
                self.take(pid);
                let _ = kill_process_group(getpgrp(), Signal::STOP);
            }
            false => thread::sleep(PAUSE),
        }
        self.give(pid);
    }
}

/// How soon what nobody could continue goes on.
const PAUSE: Duration = Duration::from_millis(100);

/// Whether a shell handles our group of processes as a job: the parent of its first process is in the same session, and not in
/// the group.
fn has_shell() -> bool {
    let own = getpgrp().as_raw_nonzero().get();
    let parent = stat(own).map(|(parent, ..)| parent).and_then(stat);
    parent.is_some_and(|(_, group, session)| {
        group != own && Ok(session) == getsid(None).map(|own| own.as_raw_nonzero().get())
    })
}

/// The parent, the group and the session of a process.
fn stat(pid: i32) -> Option<(i32, i32, i32)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut numbers = text.rsplit_once(')')?.1.split_whitespace().skip(1).map(|word| word.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}
