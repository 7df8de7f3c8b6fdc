//! The scripted agent stands in for a coding agent in the tests and in the demo. It is a small program in a terminal,
//! which logs each prompt as one JSON line, and obeys the directives in it.
//!
//! `SCRIPTED_LOG` names the log. The agent asks for bracketed paste, in which line ends submit nothing. Flags change
//! that:
//! - `--plain` asks for no bracketed paste, so each line is submitted.
//! - `--guess` asks for no bracketed paste, and takes an Enter soon after other input for a line end.
//! - `--slow` reads a little at a time.
//! - `--menu` shows a menu first, whose first line is `No, exit`, and loses a key that comes right after it is drawn.
//! - `--dialog` asks a question first, and drops everything that is typed before Enter answers it.
//! - `--hook COMMAND` runs at each prompt, before anything else, with JSON on stdin, as Claude Code runs its hooks.
//!
//! An argument that is not a flag is a submitted prompt.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The bytes around a paste.
const BEGIN: &[u8] = b"\x1b[200~";
const END: &[u8] = b"\x1b[201~";

/// An Enter after this much silence was typed by a person.
const SILENCE: Duration = Duration::from_millis(80);

/// How much a slow agent reads at a time, and how long it waits before.
const LITTLE: usize = 512;
const BREATH: Duration = Duration::from_millis(5);

fn main() -> ExitCode {
    let options = Options::read(std::env::args().skip(1));
    // Read keys as they are typed.
    let _ = Command::new("stty").args(["raw", "-echo", "isig"]).status();
    let Ok(terminal) = std::io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let mut terminal = File::from(terminal);
    if options.is_dialog {
        show("Do you trust the files in this folder?\r\n 1. Yes\r\n");
        while typed(&mut terminal, &options).is_some_and(|typed| !typed.contains(&b'\r')) {}
    }
    if options.is_menu && !menu(&mut terminal, &options) {
        return ExitCode::from(9);
    }
    if !options.is_plain && !options.is_guess {
        show("\x1b[?2004h");
    }
    if let Some(code) = options.prompt.as_deref().and_then(|prompt| submitted(&options, prompt)) {
        return ExitCode::from(code);
    }
    show("> ");
    let mut line = Vec::new();
    let mut is_pasting = false;
    let mut last = Instant::now();
    while let Some(bytes) = typed(&mut terminal, &options) {
        let is_enter = !options.is_guess || (bytes == b"\r" && last.elapsed() >= SILENCE);
        last = Instant::now();
        for byte in bytes {
            line.push(byte);
            if line.ends_with(BEGIN) {
                line.truncate(line.len() - BEGIN.len());
                is_pasting = true;
            } else if line.ends_with(END) {
                line.truncate(line.len() - END.len());
                is_pasting = false;
            } else if byte == b'\r' && is_enter && !is_pasting {
                line.pop();
                let prompt = String::from_utf8_lossy(&std::mem::take(&mut line)).replace('\r', "\n");
                if let Some(code) = submitted(&options, &prompt) {
                    return ExitCode::from(code);
                }
                show("\r\n> ");
            }
        }
    }
    ExitCode::SUCCESS
}

/// Shows a menu with these lines, and logs the one that is chosen.
fn ask(lines: &str) -> Option<()> {
    let lines: Vec<&str> = lines.split('|').collect();
    let mut terminal = File::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?);
    let mut at = 0;
    loop {
        let mark = |n: usize| if n == at { "❯" } else { " " };
        let rows = lines.iter().enumerate().map(|(n, line)| format!("{} {}. {line}\r\n", mark(n), n + 1));
        // Programs leave blanks at the ends of lines.
        show(&format!("\x1b[H\x1b[2JMay I? \r\n\r\n{}\r\nEnter to confirm\r\n", rows.collect::<String>()));
        match typed(&mut terminal, &Options::default())?.as_slice() {
            b"\r" => break,
            [27, _, b'B'] => at = (at + 1).min(lines.len() - 1),
            [27, _, b'A'] => at = at.saturating_sub(1),
            _ => {}
        }
    }
    show("\x1b[H\x1b[2J");
    log(&format!("chose {}", lines[at]));
    Some(())
}

/// How long a menu loses keys after it has been drawn.
const DEAF: Duration = Duration::from_millis(100);

/// Shows a menu. Returns whether the second line was chosen.
fn menu(terminal: &mut File, options: &Options) -> bool {
    let mut is_yes = false;
    loop {
        let [no, yes] = if is_yes { [" ", "❯"] } else { ["❯", " "] };
        show(&format!("\x1b[H\x1b[2JTrust this?\r\n\r\n{no} No, exit\r\n{yes} Yes, I trust this folder\r\n"));
        let drawn = Instant::now();
        let Some(keys) = typed(terminal, options) else { return false };
        if drawn.elapsed() < DEAF {
            continue;
        }
        match keys.as_slice() {
            b"\r" => {
                show("\x1b[H\x1b[2J");
                return is_yes;
            }
            [27, _, b'B'] => is_yes = true,
            [27, _, b'A'] => is_yes = false,
            _ => {}
        }
    }
}

#[derive(Default)]
struct Options {
    is_plain: bool,
    is_guess: bool,
    is_slow: bool,
    is_dialog: bool,
    is_menu: bool,
    hook: Option<String>,
    prompt: Option<String>,
}

impl Options {
    fn read(mut args: impl Iterator<Item = String>) -> Options {
        let mut options = Options::default();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--plain" => options.is_plain = true,
                "--guess" => options.is_guess = true,
                "--slow" => options.is_slow = true,
                "--dialog" => options.is_dialog = true,
                "--menu" => options.is_menu = true,
                "--hook" => options.hook = args.next(),
                flag if flag.starts_with("--") => {}
                _ => options.prompt = Some(arg),
            }
        }
        options
    }
}

/// The input since the last call; none when the terminal is closed.
fn typed(terminal: &mut File, options: &Options) -> Option<Vec<u8>> {
    let mut bytes = vec![0; if options.is_slow { LITTLE } else { 8192 }];
    if options.is_slow {
        wait(BREATH);
    }
    let count = terminal.read(&mut bytes).ok().filter(|count| *count > 0)?;
    bytes.truncate(count);
    Some(bytes)
}

fn show(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// Waits. The system may wake a thread too early.
fn wait(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::thread::park_timeout(time.saturating_sub(start.elapsed()));
    }
}

/// Obeys a prompt. Returns the exit code if the prompt asks for one.
fn submitted(options: &Options, prompt: &str) -> Option<u8> {
    if let Some(hook) = &options.hook {
        run_hook(hook, prompt);
    }
    log(prompt);
    prompt.lines().find_map(obey)
}

fn run_hook(hook: &str, prompt: &str) {
    let payload = format!("{{\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":{}}}", quoted(prompt));
    let mut command = Command::new("sh");
    command.args(["-c", hook]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return };
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(payload.as_bytes());
    }
    let _ = child.wait();
}

fn log(prompt: &str) {
    let Some(path) = std::env::var_os("SCRIPTED_LOG") else { return };
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path) {
        let _ = file.write_all(format!("{}\n", quoted(prompt)).as_bytes());
    }
}

/// The text as a JSON string.
fn quoted(text: &str) -> String {
    let escaped: String = text.chars().map(escape).collect();
    format!("\"{escaped}\"")
}

fn escape(c: char) -> String {
    match c {
        '"' => "\\\"".into(),
        '\\' => "\\\\".into(),
        '\n' => "\\n".into(),
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.into(),
    }
}

/// Obeys a line. Returns the exit code if the line asks for one.
fn obey(line: &str) -> Option<u8> {
    let mut words = line.split(' ');
    let git = |args: &[&str]| {
        let done = Command::new("git").args(args).output();
        // The screen tells why a commit is not there.
        if let Some(done) = done.ok().filter(|done| !done.status.success()) {
            show(&format!(
                "git {args:?}: {}\r\n",
                String::from_utf8_lossy(&done.stderr).trim_end().replace('\n', "\r\n")
            ));
        }
    };
    match (words.next()?, words.next(), words.next()) {
        ("COMMIT", Some(file), Some(text)) => {
            let message: Vec<&str> = words.collect();
            let _ = std::fs::write(file, format!("{text}\n"));
            git(&["add", file]);
            git(&["commit", "-q", "-m", &message.join(" ").replace("\\n", "\n")]);
        }
        ("AMEND", Some(file), Some(text)) => {
            let _ = std::fs::write(file, format!("{text}\n"));
            git(&["add", file]);
            git(&["commit", "-q", "--amend", "--no-edit"]);
        }
        ("DIRTY", Some(file), Some(text)) => drop(std::fs::write(file, text)),
        ("RESOLVE", Some(file), Some(text)) => {
            let _ = std::fs::write(file, format!("{text}\n"));
            git(&["add", file]);
            git(&["-c", "core.editor=true", "rebase", "--continue"]);
        }
        ("ABORT", ..) => git(&["rebase", "--abort"]),
        ("ASK", Some(_), _) => ask(&line["ASK ".len()..])?,
        ("RUN", Some(_), _) => {
            let mut command = Command::new("sh");
            command.args(["-c", &line["RUN ".len()..]]).stdin(Stdio::null()).stdout(Stdio::null());
            let _ = command.stderr(Stdio::null()).status();
        }
        ("SAY", Some(_), _) => show(&format!("{}\r\n", &line["SAY ".len()..])),
        ("SLEEP", Some(seconds), _) => wait(Duration::from_secs(seconds.parse().ok()?)),
        ("EXIT", Some(code), _) => return code.parse().ok(),
        ("SIG", Some(signal), _) => {
            drop(Command::new("kill").args([&format!("-{signal}"), &std::process::id().to_string()]).status())
        }
        _ => {}
    }
    None
}
