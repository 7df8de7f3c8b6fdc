//! What git says about hooks: where they are, and which ones its configuration has.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::{Git, Repo, nul_fields};
use crate::error::Result;
use crate::text::shell_word;

/// A hook in git's configuration, which git runs by `sh` from version 2.54 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredHook {
    /// Its `hook.NAME.command`.
    pub command: String,
    /// The file that has the command.
    pub file: PathBuf,
}

impl Git {
    /// The value of `core.hooksPath`, if it is set; a tilde is expanded, and a relative path stays relative.
    pub fn hooks_path(&self, repo: &Repo) -> Result<Option<PathBuf>> {
        Ok(self.config(&repo.git_dir, "core.hooksPath", Some("--type=path"))?.map(PathBuf::from))
    }

    /// What takes `core.hooksPath` back, in words: it may be set in several files.
    pub fn unset_hooks_path(&self, repo: &Repo) -> Result<String> {
        let asked = self.cmd(&repo.git_dir).args(["config", "-z", "--show-scope", "--get", "core.hooksPath"]);
        let said = asked.var("GIT_DIR", &repo.git_dir).capture()?.stdout;
        let scope = nul_fields(&said).next().map(String::from_utf8_lossy).unwrap_or("local".into());
        Ok(match &*scope {
            "command" => "leave it out: `git -c` or a variable sets it".to_owned(),
            file => format!("unset it: `git config --{file} --unset core.hooksPath`"),
        })
    }

    /// Why hooks stay as they are where git runs them from a directory that is not this repository's own, and how a
    /// person changes that.
    pub fn foreign_hooks(&self, repo: &Repo) -> Result<String> {
        let what = format!("{}, which is not this repository's own", repo.hooks_dir.display());
        Ok(match self.hooks_path(repo)? {
            Some(_) => format!("core.hooksPath is {what}; {}", self.unset_hooks_path(repo)?),
            None => {
                let own = shell_word(&repo.common_dir.join("hooks"));
                format!("{own} leads to {what}; move it away: `mv {own} {own}.old`")
            }
        })
    }

    /// The hooks of an event that git's configuration has, in the order in which git runs them. An older git knows no
    /// such hooks, and no `git hook list`.
    pub fn configured_hooks(&self, dir: &Path, event: &str) -> Result<Vec<ConfiguredHook>> {
        let listed = self.cmd(dir).args(["hook", "list", "-z", event]).capture()?;
        let names = nul_fields(&listed.stdout).filter(|_| listed.status.success()).map(String::from_utf8_lossy);
        let mut hooks = Vec::new();
        // What is disabled has a word and a tab before its name.
        for name in names.filter(|name| !name.contains('\t') && name != "hook from hookdir") {
            let key = format!("hook.{name}.command");
            let asked = self.cmd(dir).args(["config", "-z", "--show-origin", "--get", &key]).capture()?;
            if let [origin, command] = nul_fields(&asked.stdout).collect::<Vec<_>>()[..] {
                let origin = origin.strip_prefix(b"file:").unwrap_or(origin).to_vec();
                let file = dir.join(PathBuf::from(OsString::from_vec(origin)));
                hooks.push(ConfiguredHook { command: String::from_utf8_lossy(command).into_owned(), file });
            }
        }
        Ok(hooks)
    }
}

impl Repo {
    /// Whether the directory that git runs hooks from is this repository's own, and not one that others may share, or
    /// that of a repository inside.
    pub fn has_own_hooks(&self) -> bool {
        // Whatever an agent puts there. Where this leads elsewhere, git tells the other path.
        if self.hooks_dir == self.common_dir.join("hooks") {
            return true;
        }
        let own = [Some(&self.common_dir), Some(&self.main_checkout), self.worktree.as_ref()];
        let is_anothers = |dir: &Path| {
            let has = |name: &str| dir.join(name).symlink_metadata().is_ok();
            has(".git") || has("HEAD") && has("objects")
        };
        own.into_iter().flatten().any(|own| {
            let mut inside = self.hooks_dir.ancestors().take_while(|dir| *dir != own.as_path());
            self.hooks_dir.starts_with(own) && !inside.any(is_anothers)
        })
    }
}
