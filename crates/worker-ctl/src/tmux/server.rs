//! The process of the root's tmux server, whose socket may be gone.

use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::proc::{Cmd, Output, processes};
use shopfloor_core::text::shell_word;

use super::Tmux;
use crate::failure;
use crate::poll;

impl Tmux {
    /// The processes that may be the server, with or without its socket. One that is about to start would die of a
    /// signal, so it does not count before it handles `SIGUSR1`.
    fn servers(&self) -> Vec<Pid> {
        let file = |pid: &i32, name: &str| fs::read(Path::new(&format!("/proc/{pid}/{name}"))).ok().flatten();
        let is_ours = |pid: &i32| {
            let words = file(pid, "cmdline").unwrap_or_default();
            let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
            let socket = self.socket.as_os_str().as_encoded_bytes();
            let is_server =
                words.get(1..3) == Some(&[b"-S".as_slice(), socket]) && words.contains(&&b"start-server"[..]);
            is_server && handles(&file(pid, "status").unwrap_or_default(), Signal::USR1)
        };
        let names = fs::list(Path::new("/proc")).unwrap_or_default();
        let pids = names.iter().filter_map(|name| name.to_str()?.parse().ok()).filter(is_ours);
        pids.filter_map(Pid::from_raw).collect()
    }

    /// The output of a command, for which the server must answer in time.
    pub(super) fn answer(&self, cmd: Cmd) -> Result<Output> {
        cmd.capture().map_err(|failure| {
            if failure.kind != "deadline" {
                return failure;
            }
            let pid = self.servers().first().map_or("PID".to_owned(), Pid::to_string);
            let hint = format!("if it is stopped, let it go on: `kill -CONT {pid}`");
            let why = format!("the tmux server at {} does not answer", self.socket.display());
            failure::TMUX.failure(why).hint(hint).hint(format!("else end it, with its sessions: `kill -KILL {pid}`"))
        })
    }

    /// Asks a server whose socket is gone to make it anew. Cleaners of old files remove sockets.
    pub(super) fn recall(&self) -> bool {
        let asked = self.servers().into_iter().filter(|server| kill_process(*server, Signal::USR1).is_ok()).count();
        asked > 0 && within_a_moment(|| self.answers())
    }

    pub fn is_running(&self) -> bool {
        self.answers() || !self.socket.exists() && self.recall()
    }

    fn answers(&self) -> bool {
        UnixStream::connect(&self.socket).is_ok()
    }

    /// Ends what is left in these sessions, and the server unless it has others. Returns those.
    pub fn kill(&self, own: &[String]) -> Result<Vec<String>> {
        if !self.socket.exists() {
            return Ok(Vec::new());
        }
        let sessions: BTreeSet<String> = self.list()?.into_iter().map(|pane| pane.session).collect();
        let (left, others): (Vec<_>, Vec<_>) = sessions.into_iter().partition(|session| own.contains(session));
        for session in left {
            self.run(&["kill-session", "-t", &format!("={session}:")])?;
        }
        if others.is_empty() {
            let servers = self.servers();
            self.run(&["kill-server"])?;
            // At its end it removes the socket, which may be that of the next server by then.
            within_a_moment(|| !servers.iter().any(|server| processes::is_alive(server.as_raw_nonzero().get())));
            fs::remove(&self.socket)?;
        }
        Ok(others)
    }

    /// The command with which a person ends a session of the server.
    pub fn kill_line(&self, session: &str) -> String {
        let target = format!("={session}");
        format!("tmux -S {} kill-session -t {}", shell_word(&self.socket), shell_word(target.as_ref()))
    }
}

/// Exit 4 if something else is in the place of the socket: a link may lead to a server that is not the root's.
pub(super) fn require_own_socket(socket: &Path) -> Result<()> {
    let Ok(about) = socket.symlink_metadata() else { return Ok(()) };
    if about.file_type().is_socket() && about.nlink() == 1 && fs::is_ours(socket) {
        return Ok(());
    }
    let why = format!("{} is not the socket of this root's tmux server", socket.display());
    let hint = "look at it and move it away, then run the same command again";
    Err(failure::TAMPERED.failure(why).hint(format!("{hint}: `mv {0} {0}.kept`", shell_word(socket))))
}

/// Whether a process handles a signal, by its `/proc/PID/status`.
fn handles(status: &[u8], signal: Signal) -> bool {
    let text = String::from_utf8_lossy(status);
    let mask = text.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigCgt:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal.as_raw() - 1) & 1 == 1)
}

/// Whether this holds within two seconds.
fn within_a_moment(holds: impl Fn() -> bool) -> bool {
    poll::holds(Duration::from_secs(2), Duration::from_millis(20), holds)
}

#[cfg(test)]
mod tests {
    use shopfloor_core::env::Env;
    use shopfloor_core::proc;

    use super::*;

    #[test]
    fn a_server_that_does_not_answer_is_named_with_what_to_do() {
        let (env, _) = Env::from_process();
        let program = proc::find(&env, "sh").unwrap();
        let hangs = Cmd::new(&program, &env).args(["-c", "sleep 600"]).within(Duration::from_millis(50));
        let failure = Tmux { program, socket: "/run/none".into(), env }.answer(hangs).unwrap_err();
        assert_eq!((failure.kind, &*failure.message), ("tmux", "the tmux server at /run/none does not answer"));
        assert!(failure.hints[0].contains("`kill -CONT PID`"), "{failure:?}");
    }
}
