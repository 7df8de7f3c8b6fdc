//! A terminal of a real tmux, with a shell in it, for programs that take the whole screen.

use std::path::PathBuf;
use std::process::Command;

use super::world::{Repo, wait_for, which};

/// The terminal. It ends with the test.
pub struct Terminal {
    base: Vec<String>,
    vars: Vec<(String, String)>,
    socket: PathBuf,
}

impl Terminal {
    /// A shell in this directory, on a screen of this size.
    pub fn open(at: &Repo<'_>, (width, height): (u16, u16)) -> Terminal {
        let tmux = which("tmux");
        let socket = at.world.path("tmp/t.sock");
        let base = [tmux.to_str().unwrap(), "-f", "/dev/null", "-S", socket.to_str().unwrap()].map(str::to_owned);
        let shell = at.world.command("env");
        let vars = shell
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_str()?.into(), value?.to_str()?.into())))
            .collect();
        let terminal = Terminal { base: base.to_vec(), vars, socket };
        let (width, height, dir) = (width.to_string(), height.to_string(), at.path.to_str().unwrap());
        terminal.tmux(&["new-session", "-d", "-x", &width, "-y", &height, "-c", dir, "env PS1='$ ' sh"]);
        terminal.tmux(&["set-option", "-g", "status", "off"]);
        terminal.shows("$");
        terminal
    }

    fn tmux(&self, args: &[&str]) -> String {
        let mut command = Command::new(&self.base[0]);
        command
            .args(&self.base[1..])
            .args(args)
            .env_clear()
            .envs(self.vars.iter().cloned())
            .env("TERM", "xterm-256color");
        let output = command.output().unwrap();
        assert!(output.status.success(), "tmux {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Types a line.
    pub fn run(&self, line: &str) {
        self.text(line);
        self.key("Enter");
    }

    /// Types a text as it is.
    pub fn text(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// Presses a key, as tmux names it.
    pub fn key(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// What is on the screen.
    pub fn screen(&self) -> String {
        let text = self.tmux(&["capture-pane", "-p"]);
        text.lines().map(|line| line.trim_end().to_owned() + "\n").collect::<String>().trim_end().to_owned()
    }

    /// Waits until the screen has this text.
    #[track_caller]
    pub fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits until the screen is as it should be.
    #[track_caller]
    pub fn until(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let mut last = String::new();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_for(|| {
                last = self.screen();
                is(&last)
            });
        }));
        assert!(found.is_ok(), "the screen never came to show {what}:\n{last}");
        last
    }

    pub fn resize(&self, width: u16, height: u16) {
        self.tmux(&["resize-window", "-x", &width.to_string(), "-y", &height.to_string()]);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let mut command = Command::new(&self.base[0]);
        let _ = command.args(&self.base[1..]).arg("kill-server").output();
        let _ = std::fs::remove_file(&self.socket);
    }
}
