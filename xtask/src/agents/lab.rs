//! A place to try a program in: a home, a repository, a root of worker-ctl, and a clean environment.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tempfile::TempDir;

use super::model::Model;
use super::programs::Trial;
use super::speech::Turn;
use crate::run::TOOLS;

/// How long to wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Lab<'a> {
    pub trial: &'a Trial,
    pub model: &'a Model,
    /// Variables of one round, beside those of the program.
    pub more: Vec<(&'static str, String)>,
    pub app: PathBuf,
    pub root: PathBuf,
    dir: TempDir,
    path: String,
    user: Option<(u32, u32)>,
}

impl<'a> Lab<'a> {
    /// Makes the place. `tools` is the directory of our binaries, `bin` that of the program; with `user`, everything
    /// runs as that user.
    pub fn new(
        trial: &'a Trial,
        model: &'a Model,
        tools: &Path,
        bin: &Path,
        user: Option<(u32, u32)>,
    ) -> Result<Lab<'a>> {
        let dir = tempfile::Builder::new().prefix("agents-").tempdir()?;
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755))?;
        let user = user.filter(|_| !trial.is_private(bin));
        let own = dir.path().join("bin");
        std::fs::create_dir(&own)?;
        for name in TOOLS {
            std::fs::copy(tools.join(name), own.join(name))?;
        }
        let path = format!("{}:{}:/usr/local/bin:/usr/bin:/bin", own.display(), bin.display());
        let path = match crate::run::find("node").as_deref().and_then(Path::parent) {
            Some(node) => format!("{path}:{}", node.display()),
            None => path,
        };
        let at = |name: &str| dir.path().join(name);
        let (app, root) = (at("app"), at("workers"));
        let lab = Lab { trial, model, more: Vec::new(), app, root, dir, path, user };
        for name in ["home", "tmp", "app"] {
            std::fs::create_dir(lab.at(name))?;
        }
        let git = "[user]\n\tname = Tester\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n".to_owned();
        for (path, text) in trial.home(&model.url()).into_iter().chain([(".gitconfig", git)]) {
            let path = lab.at("home").join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
            std::fs::write(&path, text)?;
        }
        lab.give_away(&["."])?;
        lab.must("sh", &["-c", "git init -q && echo hello > README.md && git add -A && git commit -qm start"])?;
        let root = lab.root.to_string_lossy().into_owned();
        lab.must("worker-ctl", &["-q", "init", "--source", ".", "--target", &root])?;
        Ok(lab)
    }

    /// Lets a person have trusted the repository, where a program remembers that in its home.
    pub fn trust(&self) -> Result<()> {
        let app = self.app.to_string_lossy().into_owned();
        let (claude, codex) = (self.at("home/.claude.json"), self.at("home/.codex/config.toml"));
        if let Ok(text) = std::fs::read_to_string(&claude) {
            let mut settings: Value = serde_json::from_str(&text)?;
            settings["projects"][&app]["hasTrustDialogAccepted"] = true.into();
            std::fs::write(&claude, settings.to_string())?;
        }
        if let Ok(text) = std::fs::read_to_string(&codex) {
            std::fs::write(&codex, format!("{text}\n[projects.{app:?}]\ntrust_level = \"trusted\"\n"))?;
        }
        if self.at("home/.gemini").exists() {
            // In the root it has its hooks from us.
            let folders = [&self.app, &self.root].map(|dir| (dir.to_string_lossy().into_owned(), "TRUST_FOLDER"));
            let text = serde_json::to_string(&std::collections::BTreeMap::from(folders))?;
            self.write("home/.gemini/trustedFolders.json", &text)?;
        }
        Ok(())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn give_away(&self, names: &[&str]) -> Result<()> {
        let Some((uid, gid)) = self.user else { return Ok(()) };
        let mut chown = Command::new("chown");
        chown.arg("-R").arg(format!("{uid}:{gid}")).args(names).current_dir(self.dir.path());
        if !chown.status()?.success() {
            bail!("chown failed");
        }
        Ok(())
    }

    /// A file that a program may read.
    pub fn write(&self, name: &str, text: &str) -> Result<String> {
        let path = self.at(name);
        std::fs::write(&path, text)?;
        self.give_away(&[name])?;
        Ok(path.to_string_lossy().into_owned())
    }

    /// The person's own configuration of the tools.
    pub fn settings(&self, text: &str) -> Result<()> {
        std::fs::create_dir_all(self.at("home/.config/shopfloor"))?;
        self.write("home/.config/shopfloor/config.toml", text)?;
        self.give_away(&["home/.config"])
    }

    /// A command in the repository, in the clean environment.
    pub fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = match self.user {
            None => Command::new("env"),
            Some((uid, gid)) => {
                let mut command = Command::new("setpriv");
                command.args([format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".to_owned()]);
                command.args(["--", "env"]);
                command
            }
        };
        // Nothing that hangs holds everybody up.
        command.args(["timeout", "300", program]).args(args).current_dir(&self.app).stdin(Stdio::null()).env_clear();
        let (home, tmp) = (self.at("home"), self.at("tmp"));
        command.env("PATH", &self.path).env("HOME", home).env("TMPDIR", &tmp).env("TMUX_TMPDIR", &tmp);
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("SHELL", "/bin/sh");
        command.envs(self.trial.variables(&self.model.url()));
        command.envs(self.more.iter().map(|(name, value)| (*name, value)));
        command
    }

    /// The output of a command, whatever its status.
    pub fn run(&self, program: &str, args: &[&str]) -> Result<Output> {
        self.command(program, args).output().with_context(|| format!("cannot run {program}"))
    }

    /// The stdout of a command that must succeed.
    pub fn must(&self, program: &str, args: &[&str]) -> Result<String> {
        let output = self.run(program, args)?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            bail!("{program} {} failed with {}: {}", args.join(" "), output.status, stderr.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    pub fn ctl(&self, args: &[&str]) -> Result<String> {
        self.must("worker-ctl", &self.in_root(args))
    }

    /// Requires that a command of worker-ctl fails with this status.
    pub fn refused(&self, args: &[&str], status: i32) -> Result<()> {
        let output = self.run("worker-ctl", &self.in_root(args))?;
        if output.status.code() != Some(status) {
            bail!("worker-ctl {} ended with {}, not with {status}", args.join(" "), output.status);
        }
        Ok(())
    }

    fn in_root<'s>(&'s self, args: &[&'s str]) -> Vec<&'s str> {
        [&["--root", self.root.to_str().unwrap_or_default()][..], args].concat()
    }

    pub fn status(&self, worker: &str) -> Result<Value> {
        let all: Value = serde_json::from_str(&self.ctl(&["status", "--json"])?)?;
        let found = all["workers"].as_array().into_iter().flatten().find(|row| row["name"] == worker);
        found.cloned().with_context(|| format!("there is no worker {worker}"))
    }

    /// Runs a command of the root's tmux.
    pub fn tmux(&self, args: &[&str]) -> Result<String> {
        let all: Value = serde_json::from_str(&self.ctl(&["status", "--json"])?)?;
        let socket = all["tmux_socket"].as_str().unwrap_or_default();
        self.must("tmux", &[&["-S", socket][..], args].concat())
    }

    /// Runs a command of the tmux in which worktree-spawn starts programs.
    pub fn spawn_tmux(&self, args: &[&str]) -> Result<String> {
        self.must("tmux", &[&["-S", &self.spawn_socket(), "-f", "/dev/null"][..], args].concat())
    }

    pub fn spawn_socket(&self) -> String {
        self.at("tmp").join("spawn.sock").to_string_lossy().into_owned()
    }

    /// Waits until a worker is in a state or does something.
    pub fn wait(&self, worker: &str, state: &str) -> Result<Duration> {
        let begun = Instant::now();
        match self.ctl(&["wait", worker, "--for", state, "--timeout", "60s"]) {
            Ok(_) => Ok(begun.elapsed()),
            Err(failure) => Err(failure.context(format!("its screen:\n{}", self.screen(worker)))),
        }
    }

    pub fn screen(&self, worker: &str) -> String {
        let text = self.ctl(&["peek", worker]).unwrap_or_default();
        text.lines().filter(|line| !line.trim().is_empty()).map(|line| format!("    {line}\n")).collect()
    }

    /// Waits until something holds.
    pub fn until(&self, what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
        let begun = Instant::now();
        while !holds()? {
            if begun.elapsed() > PATIENCE {
                bail!("waited in vain: {what}");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// The prompts that began a turn of the agent after the first `count` requests.
    pub fn prompts_since(&self, count: usize) -> Vec<Turn> {
        let turns = self.model.since(count).into_iter();
        turns.filter(|turn| self.is_main(turn) && turn.results == 0 && !turn.prompts.is_empty()).collect()
    }

    /// Whether it is the agent's own turn, and no question by the way, for a title or a summary. aider, which uses no
    /// tools, streams only its own turns.
    pub fn is_main(&self, turn: &Turn) -> bool {
        if self.trial.has_no_tools() { turn.is_streamed } else { !turn.tools.is_empty() }
    }

    /// How often a text came as a prompt: byte for byte, and at all.
    pub fn arrivals(&self, count: usize, text: &str) -> (usize, usize) {
        let first = text.lines().next().unwrap_or_default();
        let prompts = self.prompts_since(count);
        // gemini adds the files that a prompt names with `@`.
        let own = |prompt: &'_ String| {
            prompt.split("\n--- Content from referenced files").next().unwrap_or_default().to_owned()
        };
        let last: Vec<String> = prompts.iter().filter_map(|turn| turn.prompts.last().map(own)).collect();
        let exact = last.iter().filter(|prompt| prompt.trim_end().ends_with(text.trim_end())).count();
        (exact, last.iter().filter(|prompt| prompt.contains(first)).count())
    }
}

impl Drop for Lab<'_> {
    fn drop(&mut self) {
        let _ = self.ctl(&["down", "--force"]);
        let _ = self.spawn_tmux(&["kill-server"]);
    }
}
