//! Asks the worker-ctl of a host over ssh. ssh's own configuration and host keys decide who is who.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, FailureKind, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::proc::{self, Cmd, Output};
use shopfloor_core::text::{printable, shell_word};

use crate::failure;
use crate::hosts::{self, Host};
use crate::layout::TOOL;

/// How many bytes of an answer are read.
const MOST: usize = 16 << 20;

/// How long a command there may take. A line that is dead is noticed much earlier.
pub const LONG: Duration = Duration::from_secs(900);

/// How long a host may take to say how its workers are while a person waits, and while nobody does.
pub const SHORT: Duration = Duration::from_secs(2);
pub const SOON: Duration = Duration::from_secs(20);

/// The code with which the shell there ends if not all of a text has arrived.
const CUT_OFF: i32 = 254;

/// What a connection is like: nobody is asked for anything, nothing of ours can be used from there, and a dead line ends.
const OPTIONS: [&str; 10] = [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "GSSAPIDelegateCredentials=no",
    "RemoteCommand=none",
    "PermitLocalCommand=no",
];

/// What ssh says where waiting does not help.
const REFUSALS: [&str; 3] = ["Host key verification failed", "Permission denied", "Bad configuration option"];

/// The longest path for the socket of a connection that others use too, to which ssh appends while it makes it.
const LONGEST_SOCKET: usize = 85;

/// Runs its words in the shell of a host, where programs of a person's own may not be on the PATH of a command. The first
/// word is how many bytes come over stdin: of a text that was cut off, nothing is used.
const RUN: &str = r#"PATH="$PATH:$HOME/.local/bin"; export PATH; n=$1; shift; [ "$n" = - ] && exec "$@"; f=$(mktemp) && cat > "$f" && exec 3< "$f" && s=$(($(wc -c < "$f"))); rm -f "$f"; [ "$s" = "$n" ] || exit 254; exec "$@" <&3 3<&-"#;

/// ssh to a host, from a root.
#[derive(Clone, Copy, Debug)]
pub struct Ssh<'a> {
    pub env: &'a Env,
    pub root: &'a Path,
    pub host: &'a Host,
    /// Set when a long-running command must end.
    pub ending: &'a Arc<AtomicBool>,
}

/// The text of a command for the shell there, whichever that is. It gets so many bytes on stdin.
fn remote(words: &[OsString], input: Option<usize>) -> String {
    let bytes = input.map_or("-".to_owned(), |bytes| bytes.to_string());
    let run = [OsString::from("sh"), "-c".into(), RUN.into(), "sh".into(), bytes.into()];
    // fish reads a backslash between quotes, too, and zsh a word that begins with `=`.
    let quoted = |word: &OsString| {
        let escaped = word.to_string_lossy().chars().fold(String::new(), |text, c| match c {
            '\'' => text + r"'\''",
            '\\' => text + r"'\\'",
            c => text + c.encode_utf8(&mut [0; 4]),
        });
        format!("'{escaped}'")
    };
    run.iter().chain(words).map(quoted).collect::<Vec<_>>().join(" ")
}

impl Ssh<'_> {
    /// The socket of the connection that commands share. Another destination has another one, whatever it is called here.
    fn socket(&self) -> PathBuf {
        let dest: String = Digest::of(self.host.table.ssh.as_bytes()).to_string().chars().take(8).collect();
        hosts::dir(self.root).join(format!("{}.{dest}", self.host.name))
    }

    /// The words of ssh up to the command there.
    fn words(&self, options: &[&str]) -> Result<Vec<OsString>> {
        let ssh = proc::find(self.env, "ssh").ok_or_else(|| {
            Failure::failed("ssh is not on the PATH").hint("install the client of OpenSSH, and run the command again")
        })?;
        let mut words = vec![ssh.into_os_string()];
        let mut own: Vec<String> = OPTIONS.map(str::to_owned).to_vec();
        let socket = self.socket();
        if socket.as_os_str().len() <= LONGEST_SOCKET {
            fs::create_private_dir(&hosts::dir(self.root))?;
            let path = socket.to_string_lossy().replace('%', "%%");
            own.extend(["ControlMaster=auto".into(), "ControlPersist=60".into(), format!("ControlPath=\"{path}\"")]);
        }
        words.extend(own.into_iter().flat_map(|option| ["-o".into(), option.into()]));
        words.extend(options.iter().map(OsString::from));
        words.extend(["--".into(), OsString::from(&self.host.table.ssh)]);
        Ok(words)
    }

    /// A command there, with a terminal.
    pub fn on_terminal(&self, words: &[OsString]) -> Result<Cmd> {
        self.plain(&["-t"], remote(words, None))
    }

    /// A command there, with this on its stdin.
    pub fn cmd(&self, words: &[OsString], input: Vec<u8>) -> Result<Cmd> {
        let bytes = (!input.is_empty()).then_some(input.len());
        Ok(self.plain(&["-T"], remote(words, bytes))?.input(input))
    }

    fn plain(&self, options: &[&str], remote: String) -> Result<Cmd> {
        let ssh = self.words(options)?;
        Ok(Cmd::new(Path::new(&ssh[0]), self.env).args(ssh[1..].iter().cloned()).arg(remote))
    }

    /// The words of worker-ctl there, in its root.
    pub fn tool(&self, words: &[OsString]) -> Vec<OsString> {
        let first = [TOOL.into(), format!("--root={}", self.host.table.root).into()];
        first.into_iter().chain(words.iter().cloned()).collect()
    }

    /// What the variable GIT_SSH_COMMAND has to be, so that git reaches the host, whatever host it names.
    pub fn for_git(&self) -> Result<String> {
        let words = self.words(&["-T"])?;
        let words: Vec<String> = words.iter().map(|word| shell_word(Path::new(word))).collect();
        Ok(format!("reach() {{ shift; {} \"$@\"; }}; reach", words.join(" ")))
    }

    /// Runs a command to its end; none if it takes longer, or says more than is read. What it says is in files meanwhile.
    pub fn bounded(&self, cmd: Cmd, limit: Duration) -> Result<Option<Output>> {
        let dir = hosts::dir(self.root);
        fs::create_private_dir(&dir)?;
        let (errors, said) = fs::scratch(&dir)?;
        let cmd = cmd.error_file(errors).ending(self.ending.clone());
        let ended = cmd.capture_within(fs::scratch(&dir)?, limit, MOST)?;
        Ok(ended.map(|output| Output { stderr: fs::read_tail(&said, 1 << 20).unwrap_or_default(), ..output }))
    }

    /// Runs a command there to its end. Exit 4, kind `unreachable`, if the host does not answer.
    pub fn run(&self, words: &[OsString], input: Vec<u8>, limit: Duration) -> Result<Output> {
        match self.bounded(self.cmd(words, input)?, limit)? {
            Some(output) if output.status.code() == 255 => {
                let said = String::from_utf8_lossy(&output.stderr).lines().map(printable).collect::<Vec<_>>();
                Err(match said.iter().any(|line| REFUSALS.iter().any(|refusal| line.contains(refusal))) {
                    true => self.failure(failure::SSH_REFUSED, "ssh does not let you in to", said),
                    false => self.failure(failure::UNREACHABLE, "there is no answer from", said),
                })
            }
            Some(output) if output.status.code() == CUT_OFF => Err(self.failure(
                failure::UNREACHABLE,
                "the line was cut to",
                ["what was sent did not arrive whole, and nothing was done with it".to_owned()],
            )),
            Some(output) => Ok(output),
            None => {
                let why = format!("nothing within {} s, or more than {} MB", limit.as_secs(), MOST >> 20);
                Err(self.failure(failure::UNREACHABLE, "there is no whole answer from", [why]))
            }
        }
    }

    fn failure(&self, kind: FailureKind, what: &str, why: impl IntoIterator<Item = String>) -> Failure {
        let Host { name, table } = self.host;
        kind.failure(format!("{what} the host {name}"))
            .details(why.into_iter().filter(|line| !line.trim().is_empty()).map(|line| format!("  {line}")))
            .hint(format!("see whether ssh gets there: `ssh {}`", shell_word(Path::new(&table.ssh))))
    }

    /// Ends the connection that commands share, if there is one.
    pub fn hang_up(&self) -> Result<()> {
        if self.socket().symlink_metadata().is_err() {
            return Ok(());
        }
        let ssh = self.words(&["-O", "exit"])?;
        Cmd::new(Path::new(&ssh[0]), self.env).args(ssh[1..].iter().cloned()).within(SHORT).capture().map(drop)
    }

    /// Asks worker-ctl there for one document. A failure there is one here, with the same words.
    pub fn ask(&self, words: &[&str], limit: Duration) -> Result<Value> {
        let words: Vec<OsString> = words.iter().copied().chain(["--json"]).map(OsString::from).collect();
        self.ask_with(&self.tool(&words), Vec::new(), limit)
    }

    /// The same of any command that answers so.
    pub fn ask_with(&self, words: &[OsString], input: Vec<u8>, limit: Duration) -> Result<Value> {
        let output = self.run(words, input, limit)?;
        let host = &self.host.name;
        let answers = output.stdout.split(|byte| *byte == b'\n');
        // A shell there may have said something first.
        let answer = answers.filter_map(|line| serde_json::from_slice::<Value>(line).ok()).find(Value::is_object);
        if let Some(error) = answer.as_ref().and_then(|answer| answer.get("error")) {
            let known = hosts::LastSaid::load(self.root, host).names();
            let here = |line: &str| self.host.renamed(&printable(line), &[], &known);
            let text = |value: &Value| value.as_str().unwrap_or_default().lines().map(here).collect::<Vec<_>>();
            let lines = text(&error["message"]);
            let message = format!("{host}: {}", lines.first().map_or("failed", String::as_str));
            let failed = failure::there(output.status.code(), message).details(lines.into_iter().skip(1));
            let hints = error["hints"].as_array().into_iter().flatten().flat_map(text);
            return Err(hints.fold(failed, Failure::hint));
        }
        match answer.filter(|_| output.status.code() <= 1) {
            Some(answer) => Ok(answer),
            None => Err(failure::there(4, format!("{host}: worker-ctl there gave no answer ({})", output.status))
                .details(
                    String::from_utf8_lossy(&output.stderr)
                        .lines()
                        .take(20)
                        .map(|line| format!("  {}", printable(line))),
                )),
        }
    }
}
