//! Programs of the person's configuration that git would find from the directory in which it runs: `./x`,
//! `node_modules/.bin/x`, `npx x`. In an agent's worktree that is whatever the agent has put there.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::Git;
use super::discovery_cache::configuration_files;
use super::sanitized_common_dir::{LFS, Setting, pair};
use crate::error::Result;
use crate::fs;
use crate::text::{is_like, shell_word};

/// The settings whose program gets everything through pipes, so that it runs as well elsewhere.
const PIPED: &str = "filter.*.clean filter.*.smudge filter.*.process";

/// Those whose program works on files beside the others.
const IN_PLACE: &str = "merge.*.driver gpg.program gpg.*.program gpg.ssh.defaultkeycommand";

/// Programs that look for nothing in the current directory.
const KNOWN: &str = "mergiraf git-nbmergedriver gpg gpg2 gpgsm ssh-keygen gitsign smimesign true false";

/// Programs that look for others there, also if they are named by their paths.
const RUNNERS: &str = "bash bun bunx bundle cargo composer dash deno direnv dotnet env go gradle java just make mise mix \
    nix node npm npx perl php pipx pnpm poetry python* rake ruby sh uv uvx yarn zsh";

impl Git {
    /// The settings, as `-c` takes them, by which the person's filters run in their own checkout `home` instead of an
    /// agent's worktree, and no other program runs that is found from there.
    pub(super) fn away_from(&self, worktree: &Path, home: &Path) -> Result<Vec<OsString>> {
        if !self.may_have_programs(home) {
            return Ok(Vec::new());
        }
        let settings = self.settings_in(home)?;
        let mut all: Vec<OsString> = settings.iter().filter_map(|setting| moved(setting, worktree, home)).collect();
        // A file can be included for some branches or worktrees only. What the worktree's own files say is an agent's word.
        let others = self.settings_in(worktree)?.into_iter().filter(|setting| !settings.contains(setting));
        all.extend(others.filter_map(|setting| {
            let is_program = is_like(&setting.0, PIPED) || is_like(&setting.0, IN_PLACE);
            let is_found = setting.1.as_ref().is_some_and(|value| finds_from_here(value, worktree));
            (is_program && is_found && !setting.0.contains('=')).then(|| OsString::from(format!("{}=false", setting.0)))
        }));
        Ok(all)
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
            let text = text.replace("[filter \"lfs\"]", "");
            !["[filter", "[merge", "[gpg", "[include"].iter().any(|name| text.contains(name))
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
    let text = command.to_string_lossy();
    let mut words = text.split([' ', '\t', '\n', '"', '\'', ';', '&', '|', '(', ')']).filter(|word| !word.is_empty());
    let first = words.clone().next().unwrap_or_default();
    let name = first.rsplit('/').next().unwrap_or_default();
    let is_runner = !first.starts_with('/') && !is_like(first, KNOWN) || is_like(name, RUNNERS);
    is_runner
        || text.contains(['$', '`', '\\'])
        || words.any(|word| {
            let is_path = word.contains('/') && !word.starts_with('/') && !word.starts_with('~');
            !word.starts_with('%')
                && (is_path || worktree.join(word).symlink_metadata().is_ok() && !word.starts_with('/'))
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
        for command in [
            "./x %A",
            "npx npm-merge-driver merge %A",
            "scripts/x",
            "python x.py",
            "driver %A",
            "/bin/sh x",
            "\"$(git rev-parse --show-toplevel)\"/x",
            "uv run x",
            "/usr/bin/python3.11 -m x",
            "/usr/bin/x driver",
        ] {
            assert!(finds(command), "{command}");
        }
        for command in ["mergiraf merge --git %O %A %B -s %S", "true", "/usr/bin/x %A", "git-nbmergedriver merge %O %A"]
        {
            assert!(!finds(command), "{command}");
        }
    }
}
