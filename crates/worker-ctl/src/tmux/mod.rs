//! tmux, on the root's own server. Panes are addressed by their id, because tmux matches a bare name as a prefix.

mod server;
pub mod typing;

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Root};
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::lock::Lock;
use shopfloor_core::path::RelPath;
use shopfloor_core::proc::{self, Cmd, Output, Status};
use shopfloor_core::text::{escape_format, shell_word};

use crate::failure;
use crate::layout::{self, RootLock};
use crate::log::{MAX_SIZE, older};
use crate::worker::{Program, Session, Worker};

/// The server's configuration. A pane stays when its program ends, so that its exit status can be read.
const CONFIG: &str = "set -g remain-on-exit on\nset -g window-size latest\nset -g exit-empty off\nset -g history-limit 20000\n\
                      set -g default-terminal screen-256color\n";

/// The pane option that names the worker whose agent runs in the pane.
const MARK: &str = "@worker_ctl";

/// The pane option that holds the length of the worker's log when the agent was started.
const LOG_START: &str = "@worker_ctl_log";

/// Variables that are about our own process, and that agents must not inherit.
const NOT_INHERITED: [&str; 8] = [
    // What `git -c` sets for one command is not for a server that stays.
    "GIT_CONFIG_PARAMETERS",
    "TMUX",
    "TMUX_PANE",
    "CLAUDECODE",
    "WORKER_CTL_WORKER",
    "WORKER_CTL_ROOT",
    "WORKER_CTL_WORKTREE",
    "WORKER_CTL_CONVERSATION",
];

/// How many lines tmux may use for its message in a dead pane.
const DEAD_PANE_LINES: usize = 3;

/// How long a server may take to answer.
const DEADLINE: Duration = Duration::from_secs(30);

/// The root's tmux server.
#[derive(Clone, Debug)]
pub struct Tmux {
    program: PathBuf,
    socket: PathBuf,
    env: Env,
}

/// A session's pane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pane {
    pub session: String,
    pub id: String,
    pub pid: i32,
    /// How the program ended, or none while it runs. `Down` means that tmux does not know yet.
    pub end: Option<Session>,
    /// The worker whose agent was started in the pane.
    pub worker: String,
    /// The process id of the server.
    pub server: i32,
}

/// An attached terminal that somebody typed into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typist {
    /// The client, which tmux names after its terminal.
    pub client: String,
    /// How many seconds ago the last key was typed.
    pub secs: i64,
}

/// How many seconds after the last key a person counts as still typing.
const TYPING_SECS: i64 = 5;

impl Tmux {
    /// Finds tmux. Exit 4 when it is not installed, or when something else is in the place of the socket.
    pub fn find(env: &Env, socket: &Path) -> Result<Tmux> {
        let program = proc::require(env, "tmux", "install tmux, 3.3 or newer, and run the command again")?;
        // The socket of a root with a long path lies in /tmp, where anybody may have created the directory first.
        if let Some(dir) = socket.parent().filter(|dir| dir.symlink_metadata().is_ok() && !fs::is_ours(dir)) {
            return Err(Failure::failed(format!("{} belongs to another user", dir.display()))
                .hint("the tmux server's socket must be in a directory that you own: remove that one"));
        }
        server::require_own_socket(socket)?;
        Ok(Tmux { program, socket: socket.to_owned(), env: env.clone() })
    }

    fn cmd(&self) -> Cmd {
        let cmd = Cmd::new(&self.program, &self.env).without_vars(LOCAL_VARS).without_vars(&NOT_INHERITED);
        // A server that is stopped answers nobody.
        cmd.arg("-S").arg(&self.socket).arg("-u").within(DEADLINE)
    }

    pub fn run(&self, args: &[&str]) -> Result<Output> {
        self.answer(self.cmd().args(args.iter().map(|arg| escape_semicolon(arg))))
    }

    /// Runs a command with this input.
    pub fn feed(&self, args: &[&str], input: Vec<u8>) -> Result<Output> {
        self.answer(self.cmd().args(args.iter().map(|arg| escape_semicolon(arg))).input(input))
    }

    /// The output of a command; fails when tmux fails.
    pub fn must(&self, args: &[&str]) -> Result<String> {
        let output = self.run(args)?;
        self.check(args, output)
    }

    fn check(&self, args: &[&str], output: Output) -> Result<String> {
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(failure::TMUX
                .failure(format!("tmux {} failed with {}", args[0], output.status))
                .because(std::io::Error::other(stderr)));
        }
        Ok(output.text().trim_end().to_owned())
    }

    /// Starts the server if it does not run. It starts without a session, so that no worker's variables stay in its
    /// command line.
    pub fn start(&self, root: &Path) -> Result<()> {
        let _lock = Lock::take(&layout::lock(root, RootLock::Tmux))?;
        if self.is_running() {
            return Ok(());
        }
        if let Some(dir) = self.socket.parent().filter(|dir| *dir != root) {
            fs::create_private_dir(dir)?;
        }
        let config = layout::tmux_config(root);
        let text = format!("{CONFIG}{}", self.death_hook(root));
        fs::replace(&config, text.as_bytes(), Some(fs::PRIVATE))?;
        let output = self.answer(self.cmd().arg("-f").arg(&config).arg("start-server"))?;
        self.check(&["start-server"], output).map(drop)
    }

    /// The setting that makes the server record the end of a program at once.
    fn death_hook(&self, root: &Path) -> String {
        let Some(ours) = proc::own_program(&self.env, layout::TOOL) else { return String::new() };
        // With these variables the command would count as a worker's process.
        let unset = NOT_INHERITED.map(|name| format!("-u {name}")).join(" ");
        let (ours, root) = (shell_word(&ours), shell_word(root));
        // tmux would show the output and the exit status to a person.
        let line = format!("env {unset} {ours} --root {root} patrol --sessions > /dev/null 2>&1; true");
        let command = format!("run-shell -b {}", quote(&escape_format(&line)));
        format!("set-hook -g pane-died {}\n", quote(&command))
    }

    /// From now on the server does not record the end of programs, because we end them.
    pub fn ignore_deaths(&self) -> Result<()> {
        self.run(&["set-hook", "-gu", "pane-died"]).map(drop)
    }

    /// Sets our environment in the running server, these variables, and its hooks. Programs that start later inherit
    /// the environment.
    pub fn renew(&self, root: &Path, more: &[(&str, String)]) -> Result<()> {
        let is_inherited = |name: &str| !LOCAL_VARS.contains(&name) && !NOT_INHERITED.contains(&name);
        let vars = self.env.vars.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        let lines = vars.filter(|(name, _)| is_inherited(name) && is_variable(name));
        let more = more.iter().map(|(name, value)| (*name, value.as_str()));
        let lines = lines.chain(more).map(|(name, value)| format!("set-environment -g {name} {}\n", quote(value)));
        let lines = lines.collect::<String>() + &self.death_hook(root);
        // A pipe keeps the values out of the process list.
        let output = self.feed(&["source-file", "-"], lines.into_bytes())?;
        self.check(&["source-file"], output).map(drop)
    }

    /// Every pane, listed by one process; empty when no server runs. While tmux does not know how a program ended, this
    /// tries again: tmux 3.3 sometimes misses that a child died until it gets another signal.
    pub fn panes(&self) -> Result<Vec<Pane>> {
        for _ in 0..10 {
            let panes = self.list()?;
            let Some(unknown) = panes.iter().find(|pane| pane.end == Some(Session::Down)) else { return Ok(panes) };
            if let Some(server) = Pid::from_raw(unknown.server) {
                let _ = kill_process(server, Signal::CHILD);
            }
            thread::sleep(Duration::from_millis(20));
        }
        self.list()
    }

    fn list(&self) -> Result<Vec<Pane>> {
        if !self.socket.exists() && !self.recall() {
            return Ok(Vec::new());
        }
        // Nothing that a program can choose stands here: a directory's name may have line ends, which would forge lines.
        let format = "#{session_name}\t#{pane_id}\t#{pane_pid}\t#{pane_dead}\t#{pane_dead_status}\t#{pane_dead_signal}\t#{@worker_ctl}\t#{pid}";
        for _ in 0..3 {
            let output = self.run(&["list-panes", "-a", "-F", format])?;
            // The command fails without a server and without sessions, and then there are no panes. A session may start
            // at that moment, so try again.
            let has_no_session = || self.must(&["list-sessions"]).is_ok_and(|sessions| sessions.is_empty());
            if output.status.success() || !self.is_running() || has_no_session() {
                return Ok(output.text().lines().filter_map(parse).collect());
            }
        }
        Err(failure::TMUX.failure("tmux cannot list its panes"))
    }

    /// Whether a pane's program takes a paste as a whole now, by what it wrote into its log. A program that never says so
    /// is thought to.
    pub fn takes_paste(&self, pane: &str, log: &Path) -> Result<bool> {
        let start = self.run(&["show-options", "-pv", "-t", pane, LOG_START])?.text().trim().parse().unwrap_or(0);
        let written = log_end(log, start).unwrap_or_default();
        let last = |mark: &[u8]| written.windows(mark.len()).rposition(|at| at == mark);
        Ok(match (last(b"\x1b[?2004h"), last(b"\x1b[?2004l")) {
            (Some(on), Some(off)) => on > off,
            _ => true,
        })
    }

    /// The current directory of a pane's program.
    pub fn directory(&self, pane: &str) -> Result<String> {
        let output = self.run(&["display-message", "-p", "-t", pane, "#{pane_current_path}"])?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    /// The person who has just typed into a pane, if anybody has. The text in the input line is theirs.
    pub fn typist(&self, pane: &str) -> Result<Option<Typist>> {
        // One call for both, so that both times come from the same clock.
        let clients = ["list-clients", "-F", "#{client_activity}\t#{pane_id}\t#{client_readonly}\t#{client_name}", ";"];
        let clock = ["display-message", "-p", "-t", pane, "%s"].map(str::to_owned);
        let output = self.answer(self.cmd().args(clients.map(str::to_owned).into_iter().chain(clock)))?;
        let text = output.text();
        let mut lines: Vec<&str> = text.lines().collect();
        let Some(now) = lines.pop().and_then(|line| line.parse::<i64>().ok()) else { return Ok(None) };
        let typists = lines.into_iter().filter_map(|line| {
            let mut fields = line.splitn(4, '\t');
            let secs = now - fields.next()?.parse::<i64>().ok()?;
            let is_here = fields.next()? == pane && fields.next()? != "1";
            Some(Typist { client: fields.next()?.to_owned(), secs })
                .filter(|typist| is_here && typist.secs <= TYPING_SECS)
        });
        Ok(typists.min_by_key(|typist| typist.secs))
    }

    pub fn pane_of(&self, worker: &Worker) -> Result<Option<Pane>> {
        Ok(find(&self.panes()?, worker).cloned())
    }

    /// When a worker's program last wrote to its terminal, in seconds since 1970. None: it has no terminal.
    pub fn last_output(&self, worker: &Worker) -> Result<Option<i64>> {
        let Some(pane) = self.pane_of(worker)? else { return Ok(None) };
        let at = self.must(&["display-message", "-p", "-t", &pane.id, "#{window_activity}"])?;
        Ok(at.parse().ok())
    }

    /// Runs `argv` in a worker's worktree and logs its output to `log`. It runs in a new session, or in the worker's
    /// own pane in place of the program there. Returns the pane.
    pub fn start_program(
        &self,
        worker: &Worker,
        existing: Option<&Pane>,
        vars: &[(String, String)],
        argv: &[String],
        log: &Path,
    ) -> Result<Pane> {
        // Without this check tmux would silently start in the caller's directory.
        let dir = worker.tree();
        worker.require_dir()?;
        let target = existing.map_or_else(|| format!("={}:", worker.session_id), |pane| pane.id.clone());
        let (path, name, line) =
            (escape_format(&worker.worktree_path), escape_format(&worker.session_id), log_line(log));
        // The session may still exist without the agent's pane, when a person has a window in it.
        let has_session = self.panes()?.iter().any(|pane| pane.session == worker.session_id);
        let mut args = match existing {
            Some(_) => vec!["respawn-pane", "-k", "-t", &target, "-c", &path],
            None if has_session => vec!["new-window", "-t", &target, "-c", &path],
            None => vec!["new-session", "-d", "-s", &name, "-x", "500", "-y", "100", "-c", &path],
        };
        let pairs: Vec<String> = vars.iter().map(|(key, value)| format!("{key}={value}")).collect();
        for pair in &pairs {
            args.extend(["-e", pair]);
        }
        args.push("--");
        args.extend(without_shell(argv));
        // One call for everything, so that no output is missed and the pane is marked from the start.
        let mark: &[&str] = &["set-option", "-p", "-t", &target, MARK, &worker.name];
        let length = log.metadata().map_or(0, |log| log.len()).to_string();
        let start: &[&str] = &["set-option", "-p", "-t", &target, LOG_START, &length];
        let log: &[&str] = &["pipe-pane", "-t", &target, &line];
        // A window that a person opens in the session must not count as the agent's.
        let session = format!("={}", worker.session_id);
        let unset: &[&str] = &["set-environment", "-r", "-t", &session, "WORKER_CTL_WORKER"];
        let is_new = args[0] == "new-session";
        let all = [&args[..], mark, start, log].into_iter().chain(is_new.then_some(unset));
        let words: Vec<Vec<String>> =
            all.map(|words| words.iter().map(|word| escape_semicolon(word)).collect()).collect();
        // tmux prefers the `PATH` of its client to those of the session and of `vars`.
        let output = self.answer(self.cmd().without_vars(&["PATH"]).args(words.join(&";".to_owned())))?;
        let Some(pane) = self.pane_of(worker)? else {
            // When the program ended at once, there is no pane to log, and that alone is not a failure.
            return self.check(&args, output).and(Err(no_session(worker)));
        };
        if existing.is_some_and(|existing| existing.pid == pane.pid) {
            return self.check(&args, output).and(Err(Failure::failed("tmux did not restart the program")));
        }
        self.wait_for_directory(worker, pane, dir)
    }

    /// Waits until a pane's program runs, and requires that it runs in `dir`.
    fn wait_for_directory(&self, worker: &Worker, mut pane: Pane, dir: &Path) -> Result<Pane> {
        let wanted = dir.canonicalize().ok();
        let mut path = String::new();
        // The process begins as a copy of the server, in the server's directory. Until then tmux reports none.
        for _ in 0..100 {
            path = self.directory(&pane.id)?;
            if pane.end.is_some() || Path::new(&path).canonicalize().ok() == wanted {
                return Ok(pane);
            }
            thread::sleep(Duration::from_millis(20));
            pane = self.pane_of(worker)?.ok_or_else(|| no_session(worker))?;
        }
        self.run(&["kill-pane", "-t", &pane.id])?;
        Err(Failure::failed(format!("{} started in {path} instead", worker.name)))
    }

    /// The screen of a pane, and `lines` lines above it.
    pub fn capture(&self, pane: &str, lines: usize) -> Result<String> {
        self.must(&["capture-pane", "-p", "-J", "-t", pane, "-S", &format!("-{lines}")])
    }

    /// The screen of a pane, and `lines` lines above it, without the empty lines at the end. The message that tmux
    /// writes into a dead pane is left out, and the lines that it scrolled off the screen are included. On request colours
    /// are in it, as escape sequences.
    pub fn text(&self, pane: &Pane, lines: usize, has_colours: bool) -> Result<Vec<String>> {
        let more = if pane.end.is_some() { DEAD_PANE_LINES } else { 0 };
        let from = format!("-{}", lines + more);
        let args = ["capture-pane", "-p", "-J", "-t", &pane.id, "-S", &from, "-e"];
        let text = self.must(&args[..args.len() - usize::from(!has_colours)])?;
        let all: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
        let is_note = |line: &String| line.is_empty() || pane.end.is_some() && line.starts_with("Pane is dead");
        let end = all.iter().rposition(|line| !is_note(line)).map_or(0, |last| last + 1);
        Ok(all[..end].to_vec())
    }

    /// The last lines of a pane that are not empty, at most `max`.
    pub fn last_lines(&self, id: &str, max: usize) -> Result<Vec<String>> {
        let Some(pane) = self.panes()?.into_iter().find(|pane| pane.id == id) else { return Ok(Vec::new()) };
        let shown: Vec<String> = self.text(&pane, 0, false)?.into_iter().filter(|line| !line.is_empty()).collect();
        Ok(shown[shown.len().saturating_sub(max)..].to_vec())
    }

    /// Whether this command runs in a terminal of this server.
    pub fn is_inside(&self) -> bool {
        let inside = self.env.var("TMUX").and_then(|value| value.to_str()?.split(',').next());
        inside.is_some_and(|socket| Path::new(socket) == self.socket)
    }

    /// Attaches the terminal to a pane until a person detaches it, also from inside another tmux. A terminal that is
    /// attached to this server already is switched to the pane.
    pub fn attach(&self, pane: &str) -> Result<Status> {
        if self.is_inside() {
            let cmd = Cmd::new(&self.program, &self.env).without_vars(LOCAL_VARS).within(DEADLINE);
            return cmd.arg("-S").arg(&self.socket).args(["switch-client", "-t", pane]).foreground();
        }
        self.cmd().args(["attach-session", "-t", pane]).foreground()
    }
}

fn no_session(worker: &Worker) -> Failure {
    Failure::failed(format!("tmux did not create the session {}", worker.session_id))
}

fn is_variable(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Quotes a text as one word of tmux's command language.
fn quote(text: &str) -> String {
    let escape = |c: char| match c {
        '\n' => "\\n".to_owned(),
        '"' | '\\' | '$' => format!("\\{c}"),
        // tmux expands a tilde even within quotes.
        '~' => "\\176".to_owned(),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// Escapes an argument that ends in `;`, which tmux would read as the end of the command.
fn escape_semicolon(arg: &str) -> String {
    match arg.strip_suffix(';') {
        Some(rest) => format!("{rest}\\;"),
        None => arg.to_owned(),
    }
}

/// A command that tmux runs without a shell. tmux would pass a single word to a shell.
fn without_shell(argv: &[String]) -> Vec<&str> {
    let shell: &[&str] = if argv.len() == 1 { &["sh", "-c", r#"exec "$0""#] } else { &[] };
    shell.iter().copied().chain(argv.iter().map(String::as_str)).collect()
}

/// The shell command that writes a pane's output to its log, and rotates that: a program may write faster than anybody looks.
fn log_line(log: &Path) -> String {
    let (path, old, blocks) = (shell_word(log), shell_word(&older(log)), MAX_SIZE / 512);
    // It begins in the server's directory, which may be a worktree. `cat` fails at the limit, but also on a full disk, and
    // what cannot be rotated either would go on for ever.
    let line = format!(
        "cd / && trap '' XFSZ; ulimit -f {blocks}; \
         until cat >> {path} || ! {{ [ \"$(wc -c < {path})\" -ge {MAX_SIZE} ] && mv -f {path} {old}; }}; do :; done"
    );
    // tmux expands `%` as a time format here.
    escape_format(&line).replace('%', "%%")
}

/// What a log has from `start` on, or at the most its last part.
fn log_end(log: &Path, start: u64) -> Option<Vec<u8>> {
    const PART: u64 = 1 << 20;
    let name = RelPath::parse_os(log.file_name()?).ok()?;
    let (mut file, about) = Root::open(log.parent()?).ok()?.open_regular(&name).ok()??;
    // A shorter log is another one.
    let start = if start > about.len() { 0 } else { start };
    file.seek(SeekFrom::Start(start.max(about.len().saturating_sub(PART)))).ok()?;
    let mut text = Vec::new();
    file.take(PART).read_to_end(&mut text).ok().map(|_| text)
}

/// A worker's pane, out of those that we started its agent in. Other panes are a person's, who may have split the
/// window.
pub fn find<'p>(panes: &'p [Pane], worker: &Worker) -> Option<&'p Pane> {
    let mut own = panes.iter().filter(|pane| pane.worker == worker.name);
    let recorded = own.clone().find(|pane| Some(&pane.id) == worker.program.pane_id.as_ref());
    recorded.or_else(|| own.next())
}

/// Whether a worker's program was started in this pane, and has not got ready for input yet.
pub fn is_begun(worker: &Worker, pane: &Pane) -> bool {
    let Program { session, pane_id, .. } = &worker.program;
    *session == Session::Down && pane_id.as_ref() == Some(&pane.id) && pane.end.is_none()
}

fn parse(line: &str) -> Option<Pane> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [session, id, pid, dead, status, signal, worker, server] = fields.as_slice() else { return None };
    let end = match (*dead == "1", status.parse(), signal.parse()) {
        (false, _, _) => None,
        (true, _, Ok(signal)) => Some(Session::Signal(signal)),
        (true, Ok(code), _) => Some(Session::Code(code)),
        (true, Err(_), Err(_)) => Some(Session::Down),
    };
    Some(Pane {
        session: (*session).to_owned(),
        id: (*id).to_owned(),
        pid: pid.parse().ok()?,
        end,
        server: server.parse().ok()?,
        worker: (*worker).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_for_tmux() {
        assert_eq!(quote("a\"b\\c$d\ne; ~"), r#""a\"b\\c\$d\ne; \176""#);
        assert_eq!((escape_semicolon("a;"), escape_semicolon("a;b")), ("a\\;".to_owned(), "a;b".to_owned()));
        assert!(is_variable("A_1") && !is_variable("1A") && !is_variable("BASH_FUNC_x%%"));
    }

    #[test]
    fn panes_are_read_with_how_they_ended() {
        let end = |line: &str| parse(line).unwrap().end;
        assert_eq!(end("worker-a\t%1\t7\t0\t\t\t0\t1"), None);
        assert_eq!(end("worker-a\t%1\t7\t1\t3\t\t0\t1"), Some(Session::Code(3)));
        assert_eq!(end("worker-a\t%1\t7\t1\t\t9\t0\t1"), Some(Session::Signal(9)));
        // Dead, and tmux does not know yet how it ended.
        assert_eq!(end("worker-a\t%1\t7\t1\t\t\t0\t1"), Some(Session::Down));
        assert_eq!(parse("nonsense"), None);
    }
}
