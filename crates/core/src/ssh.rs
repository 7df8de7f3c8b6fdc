//! Runs commands on another machine over ssh. ssh's own configuration and host keys decide who is who.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::env::Env;
use crate::error::{Exit, Failure, FailureKind, Result};
use crate::fs;
use crate::hash::Digest;
use crate::proc::{self, Cmd, Output};
use crate::text::{printable, shell_word};

/// How many bytes of an answer are read.
const MOST: usize = 16 << 20;

/// How much of what ssh says is shown.
const MOST_LINES: usize = 20;
const LONGEST_LINE: usize = 400;

/// How long a command there may take. A line that is dead is noticed much earlier.
pub const LONG: Duration = Duration::from_secs(900);

/// How long a short answer may take while a person waits.
pub const SHORT: Duration = Duration::from_secs(2);
/// The same while nobody waits.
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

/// What to do where a shell there speaks before a program does.
pub const SHELL_PRINTS: &str =
    "if a start-up file of the shell there prints something, let it do that on a terminal only";

/// ssh does not get in to a machine, whose key is another one or who does not know ours.
pub const SSH_REFUSED: FailureKind = FailureKind::new("ssh_refused", Exit::Failed);
/// A machine does not answer.
pub const UNREACHABLE: FailureKind = FailureKind::new("unreachable", Exit::Failed);

/// ssh to another machine.
#[derive(Clone, Debug)]
pub struct Ssh<'a> {
    /// Its own surroundings.
    pub env: &'a Env,
    /// What a person calls the machine, and what ssh does.
    pub name: &'a str,
    /// The destination, as ssh takes it.
    pub dest: &'a str,
    /// A private directory for sockets and for what is said meanwhile.
    pub dir: PathBuf,
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
        let dest: String = Digest::of(self.dest.as_bytes()).to_string().chars().take(8).collect();
        // A long name would leave no room for the rest.
        let name: String = self.name.chars().filter(char::is_ascii_alphanumeric).take(16).collect();
        self.dir.join(format!("{name}.{dest}"))
    }

    /// The words of ssh up to the command there.
    fn words(&self, options: &[&str]) -> Result<Vec<OsString>> {
        let ssh = proc::require(self.env, "ssh", "install the client of OpenSSH, and run the command again")?;
        let mut words = vec![ssh.into_os_string()];
        let mut own: Vec<String> = OPTIONS.map(str::to_owned).to_vec();
        let socket = self.socket();
        if socket.as_os_str().len() <= LONGEST_SOCKET {
            fs::create_private_dir(&self.dir)?;
            let path = socket.to_string_lossy().replace('%', "%%");
            own.extend(["ControlMaster=auto".into(), "ControlPersist=60".into(), format!("ControlPath=\"{path}\"")]);
        }
        words.extend(own.into_iter().flat_map(|option| ["-o".into(), option.into()]));
        words.extend(options.iter().map(OsString::from));
        words.extend(["--".into(), OsString::from(self.dest)]);
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

    /// What the variable GIT_SSH_COMMAND has to be, so that git reaches the host, whatever host it names.
    pub fn for_git(&self) -> Result<String> {
        let words = self.words(&["-T"])?;
        let words: Vec<String> = words.iter().map(|word| shell_word(Path::new(word))).collect();
        Ok(format!("reach() {{ shift; {} \"$@\"; }}; reach", words.join(" ")))
    }

    /// Runs a command to its end; none if it takes longer, or says more than is read. What it says is in files meanwhile.
    pub fn bounded(&self, cmd: Cmd, limit: Duration) -> Result<Option<Output>> {
        let dir = &self.dir;
        fs::create_private_dir(dir)?;
        let (errors, said) = fs::scratch(dir)?;
        let cmd = cmd.error_file(errors).ending(self.ending.clone());
        let ended = cmd.capture_within(fs::scratch(dir)?, limit, MOST)?;
        Ok(ended.map(|output| Output { stderr: fs::read_tail(&said, 1 << 20).unwrap_or_default(), ..output }))
    }

    /// Runs a command there to its end. Exit 4, kind `unreachable`, if the host does not answer.
    pub fn run(&self, words: &[OsString], input: Vec<u8>, limit: Duration) -> Result<Output> {
        match self.bounded(self.cmd(words, input)?, limit)? {
            Some(output) => self.arrived(output),
            None => Err(self.no_end(limit)),
        }
    }

    /// The failure of what takes longer than this, or says more than is read.
    pub fn no_end(&self, limit: Duration) -> Failure {
        let why = format!("nothing within {} s, or more than {} MB", limit.as_secs(), MOST >> 20);
        self.failure(UNREACHABLE, "there is no whole answer from", [why])
    }

    /// What a command there came to. Exit 4, kind `unreachable`, if ssh itself or a line that was cut has ended it.
    pub fn arrived(&self, output: Output) -> Result<Output> {
        match output.status.code() {
            255 => {
                // Whoever answers there can say anything.
                let said = String::from_utf8_lossy(&output.stderr);
                let short = |line: &str| printable(&line.chars().take(LONGEST_LINE).collect::<String>());
                let said = said.lines().take(MOST_LINES).map(short).collect::<Vec<_>>();
                Err(match said.iter().any(|line| REFUSALS.iter().any(|refusal| line.contains(refusal))) {
                    true => self.failure(SSH_REFUSED, "ssh does not let you in to", said),
                    false => self.failure(UNREACHABLE, "there is no answer from", said),
                })
            }
            CUT_OFF => Err(self.failure(
                UNREACHABLE,
                "the line was cut to",
                ["what was sent did not arrive whole, and nothing was done with it".to_owned()],
            )),
            _ => Ok(output),
        }
    }

    fn failure(&self, kind: FailureKind, what: &str, why: impl IntoIterator<Item = String>) -> Failure {
        kind.failure(format!("{what} the host {}", self.name))
            .details(why.into_iter().filter(|line| !line.trim().is_empty()).map(|line| format!("  {line}")))
            .hint(format!("see whether ssh gets there: `ssh {}`", shell_word(Path::new(self.dest))))
    }

    /// Ends the connection that commands share, if there is one.
    pub fn hang_up(&self) -> Result<()> {
        if self.socket().symlink_metadata().is_err() {
            return Ok(());
        }
        let ssh = self.words(&["-O", "exit"])?;
        Cmd::new(Path::new(&ssh[0]), self.env).args(ssh[1..].iter().cloned()).within(SHORT).capture().map(drop)
    }
}
