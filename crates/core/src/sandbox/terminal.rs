//! A sandbox in the foreground: the agent gets the terminal, and nothing that it does to its process group or to its streams
//! reaches the processes and files outside.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::thread;

use rustix::process::{
    Pid, Signal, WaitOptions, getpgrp, getpid, getppid, getsid, kill_process, kill_process_group, waitpid,
};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

use crate::error::{Failure, Result};
use crate::proc::{Cmd, Status, handle_signals};
use crate::sys;

/// Runs it to its end. Signals that reach us are passed on to what runs inside.
pub(super) fn run(cmd: &Cmd) -> Result<Status> {
    let cannot = |e: io::Error| Failure::failed("cannot run the sandbox").because(e);
    let mut command = cmd.command();
    sys::ignore_signals(&mut command);
    // A signal to the agent's whole group stays inside.
    command.process_group(0);
    // Of a file the agent could ask for more rights than ours: it gets a pipe.
    let [is_in, is_out, is_err] = [is_file(&io::stdin()), is_file(&io::stdout()), is_file(&io::stderr())];
    for (is_file, pipe) in [(is_in, 0), (is_out, 1), (is_err, 2)].into_iter().filter(|(is_file, _)| *is_file) {
        let piped = if is_file { Stdio::piped() } else { Stdio::inherit() };
        match pipe {
            0 => command.stdin(piped),
            1 => command.stdout(piped),
            _ => command.stderr(piped),
        };
    }
    let terminal = Terminal::ours();
    let mut child = command.spawn().map_err(cannot)?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| Failure::failed("no process"))?;
    handle_signals(move |signal| {
        if let Some(signal) = Signal::from_named_raw(signal) {
            inside(pid).into_iter().for_each(|pid| {
                let _ = kill_process(pid, signal);
            });
        }
        true
    });
    let input = child.stdin.take().map(|to| relay(io::stdin(), to));
    let outputs = [
        child.stdout.take().map(|from| relay(from, io::stdout())),
        child.stderr.take().map(|from| relay(from, io::stderr())),
    ];
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
    terminal.take();
    // What is to be read of the input is the agent's affair.
    drop(input);
    outputs.into_iter().flatten().for_each(|output| drop(output.join()));
    ended.ok_or_else(|| Failure::failed("the sandbox is gone"))
}

fn is_file(stream: &impl AsFd) -> bool {
    let file = stream.as_fd().try_clone_to_owned().map(File::from);
    file.and_then(|file| file.metadata()).is_ok_and(|meta| meta.is_file())
}

/// Passes on what comes, until one of the two ends.
fn relay(mut from: impl Read + Send + 'static, mut to: impl Write + Send + 'static) -> thread::JoinHandle<()> {
    thread::spawn(move || {
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

/// The terminal that we have, if we do, as a shell's job has it.
struct Terminal(bool);

impl Terminal {
    fn ours() -> Terminal {
        Terminal(io::stdin().is_terminal() && tcgetpgrp(io::stdin()) == Ok(getpgrp()))
    }

    fn give(&self, pid: Pid) {
        if self.0 {
            sys::ignore_background();
            let _ = tcsetpgrp(io::stdin(), pid);
            // It may have asked for input before that.
            let _ = kill_process_group(pid, Signal::CONT);
        }
    }

    fn take(&self) {
        if self.0 {
            let _ = tcsetpgrp(io::stdin(), getpgrp());
        }
    }

    /// Stops us as well, as Ctrl-Z means, and goes on when the shell says so. Without a shell nobody would.
    fn stop_with(&self, pid: Pid) {
        let has_shell = || getppid().is_some_and(|shell| getsid(Some(shell)) == getsid(None));
        if !self.0 {
            return;
        }
        if has_shell() {
            self.take();
            let _ = kill_process(getpid(), Signal::STOP);
            if tcgetpgrp(io::stdin()) == Ok(getpgrp()) {
                let _ = tcsetpgrp(io::stdin(), pid);
            }
        }
        let _ = kill_process_group(pid, Signal::CONT);
    }
}
