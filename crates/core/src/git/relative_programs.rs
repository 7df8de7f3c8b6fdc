//! Programs of the person's configuration that git would find from the directory in which it runs: `./x`,
//! `node_modules/.bin/x`, `npx x`. In an agent's worktree that is whatever the agent has put there.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Git;
use super::rediscovery::configuration_files;
use super::stand_in::{LFS, Setting, pair};
use crate::error::Result;
use crate::fs;
use crate::text::{is_like, shell_word};

/// The settings whose program gets everything through pipes, so that it runs as well elsewhere.
const PIPED: &str = "filter.*.clean filter.*.smudge filter.*.process";

/// Those whose program works on files beside the others.
const IN_PLACE: &str = "merge.*.driver gpg.program gpg.*.program gpg.ssh.defaultkeycommand";

/// Programs that look for others from the current directory.
const RUNNERS: [&str; 15] = [
    "bash", "bun", "bunx", "bundle", "just", "make", "node", "npm", "npx", "perl", "pnpm", "python", "python3", "sh",
    "yarn",
];

impl Git {
    /// The settings, as `-c` takes them, by which the person's filters run in their own checkout `home` instead of an
    /// agent's worktree, and no other program runs that is found from there.
    pub(super) fn away_from(&self, worktree: &Path, home: &Path) -> Result<Vec<OsString>> {
        if !self.may_have_programs(home) {
            return Ok(Vec::new());
        }
        let settings = self.settings_in(home)?;
        Ok(settings.iter().filter_map(|setting| moved(setting, worktree, home)).collect())
    }

    /// The same git, in its worktree with these settings as well.
    pub fn with_settings(mut self, settings: &[(String, String)]) -> Git {
        for pinned in self.pinned.iter_mut() {
            let home = pinned.home.as_deref().unwrap_or(Path::new("/"));
            for (key, value) in settings {
                let setting = (key.clone(), Some(OsString::from(value)));
                let moved = moved(&setting, &pinned.worktree, home);
                pinned.settings.push(moved.unwrap_or_else(|| pair(key, Some(value.as_ref()))));
            }
        }
        self
    }

    /// Whether the configuration there may name one, by a look at its files alone.
    fn may_have_programs(&self, home: &Path) -> bool {
        let Some(files) = self.env().at(home).ok().and_then(|env| configuration_files(&env, &self.program)) else {
            return true;
        };
        let is_free = |text: &str| {
            let sections = text.lines().map(str::trim_start).filter(|line| line.starts_with('['));
            let is_lfs = |line: &str| line.starts_with("[filter \"lfs\"]");
            let names_some = |line: &str| {
                ["[filter", "[merge ", "[gpg", "[include"].iter().any(|name| line.starts_with(name)) && !is_lfs(line)
            };
            !sections.into_iter().any(names_some)
        };
        // A device, such as /dev/null, says nothing.
        let is_device = |file: &&PathBuf| fs::Stat::at(file).is_some_and(|stat| stat.is_device());
        files.iter().filter(|file| !is_device(file)).any(|file| match fs::read(file) {
            Ok(text) => !is_free(&String::from_utf8_lossy(&text.unwrap_or_default()).to_ascii_lowercase()),
            Err(_) => true,
        })
    }
}

/// The setting that takes the place of this one, if any.
fn moved((key, value): &Setting, worktree: &Path, home: &Path) -> Option<OsString> {
    let value = value.as_deref()?;
    let is_lfs = LFS.iter().any(|(known, text)| known == key && value == OsStr::new(text));
    if is_lfs || value.is_empty() || key.contains('=') {
        return None;
    }
    let mut text = OsString::from(format!("{key}="));
    if is_like(key, PIPED) {
        let home = shell_word(home);
        // git puts the name of the file where `%f` is.
        let home = if key.ends_with(".process") { home } else { home.replace('%', "%%") };
        text.push(format!("cd {home} && "));
        text.push(value);
        return Some(text);
    }
    if !is_like(key, IN_PLACE) || !finds_from_here(value, worktree) {
        return None;
    }
    // A merge is a conflict then, and a signature fails.
    text.push("false");
    Some(text)
}

/// Whether a command finds something from the directory that it runs in.
fn finds_from_here(command: &OsStr, worktree: &Path) -> bool {
    let words = command.as_bytes().split(|byte| b" \t\n\"';&|()".contains(byte));
    words.filter(|word| !word.is_empty() && !word.starts_with(b"%")).any(|word| {
        let name = word.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let is_runner = RUNNERS.iter().any(|runner| runner.as_bytes() == name);
        let is_path = word.contains(&b'/') && !word.starts_with(b"/") && !word.starts_with(b"~");
        is_runner || is_path || worktree.join(OsStr::from_bytes(word)).symlink_metadata().is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_from_a_worktree_is_told() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("driver"), "").unwrap();
        let finds = |command: &str| finds_from_here(OsStr::new(command), dir.path());
        for command in ["./x %A", "npx npm-merge-driver merge %A", "scripts/x", "python x.py", "driver %A", "/bin/sh x"]
        {
            assert!(finds(command), "{command}");
        }
        for command in ["mergiraf merge --git %O %A %B -s %S", "true", "/usr/bin/x %A", "git-nbmergedriver merge %O %A"]
        {
            assert!(!finds(command), "{command}");
        }
    }
}
