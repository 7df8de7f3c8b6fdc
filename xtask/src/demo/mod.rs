//! `cargo xtask demo`: the main job, end to end, in a temporary directory.

mod picture;
mod story;

use std::ffi::OsString;
use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::run::{self, Build, Missing, TOOLS, build, find, isolated};
pub use picture::picture;
use story::{AGENT, BEFORE, STEPS};

#[derive(clap::Args)]
pub struct Args {
    /// Run this agent (a line for `sh`) in the workers instead of the scripted one; it must not need a person
    #[arg(long, value_name = "CMD")]
    agent: Option<String>,
    /// Keep the temporary directory, and print its path
    #[arg(long)]
    keep: bool,
    /// Do not wait between the steps; on a terminal they are paced so that you can read them
    #[arg(long)]
    fast: bool,
}

/// What happens on the stage.
enum Part<'a> {
    Says(&'a str),
    Types(&'a str),
    Prints(&'a str),
}

/// What a line of the demo is, which decides its colour.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Comment,
    Command,
    Added,
    Removed,
    Plain,
}

impl Part<'_> {
    /// The lines that a terminal shows.
    fn lines(&self) -> Vec<(Kind, String)> {
        match self {
            Part::Says(text) => vec![(Kind::Plain, String::new()), (Kind::Comment, format!("# {text}"))],
            Part::Types(text) => format!("$ {text}").lines().map(|line| (Kind::Command, line.to_owned())).collect(),
            Part::Prints(text) => text.lines().map(|line| (printed(line), line.to_owned())).collect(),
        }
    }
}

fn printed(line: &str) -> Kind {
    match line.as_bytes() {
        [b'+', ..] if !line.starts_with("+++") => Kind::Added,
        [b'-', ..] if !line.starts_with("---") && !line.starts_with("- ") => Kind::Removed,
        _ => Kind::Plain,
    }
}

/// The table of the scripted agent.
const SCRIPTED: &str = "command = [\"agent\"]\nready = { pattern = \"^>\" }";

/// The table of a real agent, without its command: what it shows when it is ready for input, and what it may ask
/// before.
const REAL: &str = r#"ready = { pattern = '^[│|]? ?[>❯›]( |$)', timeout_secs = 60 }
dialogs = [
    { pattern = '(?i)do you trust the files|trust this folder', keys = ["Enter"] },
    { pattern = '(?i)bypass permissions mode[^\n]*\n(.*\n)*.*No, exit', keys = ["Down", "Enter"] },
]"#;

/// What is replaced for a real agent. Nobody knows how long it takes, or what it writes.
const WORDS: &[(&str, &str)] = &[
    ("'Write the parser'", "'Write fn parse(text: &str) -> Tree into parser.rs, and commit it'"),
    ("'Write the lexer'", "'Write fn lex(text: &str) -> Tokens into lexer.rs, and commit it'"),
    ("'Please return a Result'", "'Please return a Result, and amend your commit'"),
    ("--timeout 1m", "--timeout 10m"),
    (" | grep '^+fn'", ""),
];

/// Runs the demo and prints each step as it happens.
pub fn run(args: &Args) -> Result<()> {
    let stage = Stage::new(args.agent.clone())?;
    let terminal = std::io::stdout().is_terminal();
    let pace = if terminal && !args.fast { Duration::from_millis(30) } else { Duration::ZERO };
    stage.perform(|part| show(&part, terminal && std::env::var_os("NO_COLOR").is_none(), pace))?;
    println!("\n# That was real git and real tmux, in {}.", stage.home().display());
    if args.keep {
        println!("# It is kept: {}", stage.dir.keep().display());
    }
    Ok(())
}

/// Prints a part. A command appears character by character, one each `pace`.
fn show(part: &Part<'_>, colored: bool, pace: Duration) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for (kind, line) in part.lines() {
        let (on, off) = match kind {
            _ if !colored => ("", ""),
            Kind::Comment => ("\x1b[36m", "\x1b[0m"),
            Kind::Command => ("\x1b[1m", "\x1b[0m"),
            Kind::Added => ("\x1b[32m", "\x1b[0m"),
            Kind::Removed => ("\x1b[31m", "\x1b[0m"),
            Kind::Plain => ("", ""),
        };
        write!(out, "{on}")?;
        match kind {
            Kind::Command if !pace.is_zero() => {
                for character in line.chars() {
                    write!(out, "{character}")?;
                    out.flush()?;
                    std::thread::sleep(pace);
                }
            }
            _ => write!(out, "{line}")?,
        }
        writeln!(out, "{off}")?;
    }
    out.flush()?;
    // As long as it takes to read.
    std::thread::sleep(pace * if matches!(part, Part::Types(_)) { 10 } else { 40 });
    Ok(())
}

struct Stage {
    // The first field, because it must be dropped before the directory is deleted.
    _guard: Guard,
    dir: tempfile::TempDir,
    bin: PathBuf,
    /// The command line of a real agent.
    agent: Option<String>,
}

/// A shell that waits until its stdin is closed, which also happens when we are killed. It then ends what the demo left
/// in tmux.
struct Guard(Child);

impl Guard {
    fn new(home: &Path, bin: &Path) -> Result<Guard> {
        let script = "trap '' INT HUP TERM; read -r _; cd ~/workers 2> /dev/null && exec worker-ctl -q down --force";
        let mut sh = isolated("sh", home, bin);
        Ok(Guard(sh.args(["-c", script]).stdin(Stdio::piped()).spawn().context("cannot run sh")?))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // `wait` closes its stdin first.
        let _ = self.0.wait();
    }
}

impl Stage {
    fn new(agent: Option<String>) -> Result<Stage> {
        require("git")?;
        require("tmux")?;
        let built = build(Build::Debug)?;
        let dir = tempfile::tempdir().context("cannot create a temporary directory")?;
        let (home, bin) = (dir.path().join("home"), dir.path().join("bin"));
        for new in [&home, &bin] {
            std::fs::create_dir(new)?;
        }
        for tool in TOOLS {
            std::os::unix::fs::symlink(built.join(tool), bin.join(tool))?;
        }
        std::fs::write(bin.join("agent"), AGENT)?;
        std::fs::set_permissions(bin.join("agent"), std::fs::Permissions::from_mode(0o755))?;
        Ok(Stage { _guard: Guard::new(&home, &bin)?, dir, bin, agent })
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Performs every step. A command that fails ends the demo.
    fn perform(&self, mut tell: impl FnMut(Part<'_>) -> Result<()>) -> Result<()> {
        let (_, mut here) = self.typed(&self.meant(BEFORE), &self.home())?;
        for step in STEPS {
            tell(Part::Says(&self.meant(step.says)))?;
            for line in step.types {
                let line = self.meant(line);
                tell(Part::Types(&line))?;
                let (output, next) = self.typed(&line, &here)?;
                tell(Part::Prints(&output.replace(&self.home().display().to_string(), "~")))?;
                here = next;
            }
        }
        Ok(())
    }

    /// The text of a step, adapted to the agent.
    fn meant(&self, text: &str) -> String {
        let Some(agent) = &self.agent else { return text.to_owned() };
        // The agent finds its login in the real home.
        let home = format!("HOME={}", std::env::var_os("HOME").unwrap_or_default().to_string_lossy());
        let command = ["env", &home, "sh", "-c", &format!("exec {agent}")];
        let text = text.replace(SCRIPTED, &format!("command = {command:?}\n{REAL}"));
        WORDS.iter().fold(text, |text, (scripted, real)| text.replace(scripted, real))
    }

    /// Runs a line as if typed into a shell. Returns what it printed, and the directory that it ended in.
    fn typed(&self, line: &str, here: &Path) -> Result<(String, PathBuf)> {
        let place = self.dir.path().join("where");
        let script = format!("{{ {line}\n}} 2>&1 || exit\npwd > '{}'", place.display());
        let mut sh = isolated("sh", &self.home(), &self.bin);
        match &self.agent {
            // With the real time, each run would have other events.
            None => sh.env("SHOPFLOOR_NOW", "2026-01-01T12:00:00Z").env("TZ", "UTC"),
            Some(_) => sh.envs(passed_on()),
        };
        let output = sh.args(["-c", &script]).current_dir(here).stderr(Stdio::inherit()).output()?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            bail!("a command of the demo failed with {}: {line}\n{printed}", output.status);
        }
        let here = std::fs::read_to_string(&place)?;
        Ok((printed, here.trim_end().into()))
    }
}

/// Our environment, because a real agent needs its keys and proxies, without the variables that redirect git, tmux or
/// the tools.
fn passed_on() -> impl Iterator<Item = (OsString, OsString)> {
    const OURS: &str = "HOME PATH LC_ GIT_ XDG_ TMUX CLAUDECODE SHOPFLOOR SWEATFILE OVERLAY_ LEDGER_ WORKTREE_ WORKER_";
    std::env::vars_os().filter(|(key, _)| !OURS.split(' ').any(|ours| key.to_string_lossy().starts_with(ours)))
}

/// Requires a program. Root installs it, a person on a terminal is asked first, and everybody else is told the command.
fn require(program: &str) -> Result<()> {
    const MANAGERS: [(&str, &[&str]); 4] =
        [("apt-get", &["install", "-y"]), ("dnf", &["install", "-y"]), ("apk", &["add"]), ("brew", &["install"])];
    if find(program).is_some() {
        return Ok(());
    }
    let missing = |what: String| -> Result<()> { Err(Missing(format!("{program} is missing; {what}")).into()) };
    let Some((manager, args)) = MANAGERS.into_iter().find(|(manager, _)| find(manager).is_some()) else {
        return missing("install it, then run the command again".into());
    };
    let id = Command::new("id").arg("-u").output().context("cannot run id")?;
    let is_root = id.stdout.trim_ascii() == b"0";
    // brew must not run as root.
    let sudo: &[&str] = if is_root || manager == "brew" { &[] } else { &["sudo"] };
    let words: Vec<&str> = sudo.iter().copied().chain([manager]).chain(args.iter().copied()).chain([program]).collect();
    let line = words.join(" ");
    if !is_root || manager == "brew" {
        let can_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if !can_ask {
            return missing(format!("install it: `{line}`"));
        }
        eprint!("xtask: {program} is missing. Run `{line}`? [y/N] ");
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if !answer.trim().eq_ignore_ascii_case("y") {
            return missing(format!("install it: `{line}`"));
        }
    }
    if manager == "apt-get" {
        // A new machine has no list of packages. Without a network the update fails, and the package may be there
        // anyway.
        let update: Vec<&str> = sudo.iter().copied().chain([manager, "update", "-qq"]).collect();
        let _ = run::run(update[0], &update[1..]);
    }
    match run::run(words[0], &words[1..]) {
        Ok(()) if find(program).is_some() => Ok(()),
        _ => missing(format!("`{line}` did not install it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_agent_gets_other_words() {
        let said = |text: &str| {
            BEFORE.contains(text)
                || STEPS
                    .iter()
                    .any(|step| step.says.contains(text) || step.types.iter().any(|line| line.contains(text)))
        };
        assert!(said(SCRIPTED));
        for (scripted, _) in WORDS {
            assert!(said(scripted), "{scripted}");
        }
    }
}
