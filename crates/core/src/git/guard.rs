//! git in a worktree that somebody else writes to. An agent may rewrite its worktree's `.git` file, its
//! `config.worktree` and the configuration of any repository it puts inside; none of that may make a git
//! command of ours run a program, or work on another repository.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Git, failed, nul_fields, private_dir};
use crate::error::{Exit, Failure, Result};
use crate::fs;

/// What turns off the programs that git runs by itself, in every command of ours.
pub(super) const NO_PROGRAMS: [&str; 2] = ["-c", "core.fsmonitor=false"];

/// The same for commands in worktrees, where no hook is meant and no submodule is touched along.
pub(super) const NO_HOOKS: [&str; 4] = ["-c", "core.hooksPath=/dev/null", "-c", "submodule.recurse=false"];

/// Keys of a `config.worktree` that decide what files look like, and run nothing. `git sparse-checkout` writes some.
const HARMLESS: [&str; 14] = [
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.autocrlf",
    "core.bare",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.longpaths",
    "core.precomposeunicode",
    "core.quotepath",
    "core.safecrlf",
    "core.symlinks",
    "user.email",
    "user.name",
];

/// Sections of which every key is harmless.
const HARMLESS_SECTIONS: [&str; 3] = ["advice.", "color.", "index."];

/// Where git is told to look, instead of in the worktree itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pinned {
    pub(super) worktree: PathBuf,
    pub(super) git_dir: PathBuf,
    /// None: as the git directory says.
    pub(super) common_dir: Option<PathBuf>,
}

impl Git {
    /// git for the linked worktree at `worktree` of the repository with this common directory: every command in it
    /// works on what the repository has recorded of it, whatever its `.git` file says. Exit 4, kind `tampered`, where
    /// that file leads elsewhere, or its `config.worktree` holds what could run a program.
    pub fn guarded(&self, common_dir: &Path, worktree: &Path) -> Result<Git> {
        let git_dir = recorded_dir(common_dir, worktree)?;
        let own = private_dir(worktree);
        if own.is_none() || own != git_dir.as_ref().and_then(|dir| dir.canonicalize().ok()) {
            let wanted = git_dir.map_or_else(|| "a record of this repository".into(), |dir| dir.display().to_string());
            let why = format!("{} does not lead to {wanted}", worktree.join(".git").display());
            return Err(tampered(why).hint("`git worktree repair` in the repository writes it again"));
        }
        let git_dir = git_dir.unwrap_or_default();
        let common = fs::read(&git_dir.join("commondir"))?.unwrap_or_default();
        let common = git_dir.join(OsStr::from_bytes(common.trim_ascii_end())).canonicalize().ok();
        if common != common_dir.canonicalize().ok() {
            let file = git_dir.join("commondir");
            return Err(tampered(format!("{} does not lead to {}", file.display(), common_dir.display()))
                .hint("write `../..` into it again"));
        }
        self.refuse_programs(&git_dir.join("config.worktree"))?;
        let pinned = Pinned { worktree: worktree.to_path_buf(), git_dir, common_dir: Some(common_dir.to_path_buf()) };
        Ok(Git { pinned: Some(pinned), ..self.clone() })
    }

    /// Refuses a configuration of a worktree's own that could run something. Most have none, which costs nothing.
    fn refuse_programs(&self, file: &Path) -> Result<()> {
        if fs::read(file)?.is_none_or(|text| text.trim_ascii().is_empty()) {
            return Ok(());
        }
        let dir = file.parent().unwrap_or(file);
        let cmd = self.cmd(dir).args(["config", "--file"]).arg(file);
        let output = cmd.args(["--no-includes", "--name-only", "-z", "--list"]).capture()?;
        if !output.status.success() {
            return Err(tampered(format!("{} cannot be read", file.display()))
                .because(anyhow::anyhow!(super::git_said(&output))));
        }
        let is_harmless =
            |key: &str| HARMLESS.contains(&key) || HARMLESS_SECTIONS.iter().any(|section| key.starts_with(section));
        let keys = nul_fields(&output.stdout).map(|key| String::from_utf8_lossy(key).into_owned());
        match keys.into_iter().find(|key| !is_harmless(key)) {
            None => Ok(()),
            Some(key) => {
                Err(tampered(format!("{} sets `{key}`, which may run a program", file.display())).hint(format!(
                    "take it out, if you did not set it: `git config --file {} --unset-all {key}`",
                    crate::text::shell_word(file)
                )))
            }
        }
    }

    /// Variables for a git command that looks into the repositories inside a worktree (submodules, and whatever an
    /// agent put there): they keep filters and drivers of those repositories' own configuration from running. git
    /// passes them on to the processes it starts there. One process, and two for each such repository.
    pub fn mute_inner(&self, worktree: &Path) -> Result<Vec<(String, String)>> {
        let mut keys: Vec<String> = Vec::new();
        let mut places = vec![worktree.to_path_buf()];
        let mut seen = BTreeSet::new();
        while let Some(place) = places.pop() {
            // Links may lead in circles.
            if !seen.insert(place.canonicalize().unwrap_or_else(|_| place.clone())) {
                continue;
            }
            let listed = self.cmd(&place).args(["ls-files", "--stage", "-z"]).capture()?;
            if !listed.status.success() {
                return Err(failed("ls-files", &listed));
            }
            let links = nul_fields(&listed.stdout).filter(|entry| entry.starts_with(b"160000 "));
            let paths = links.filter_map(|entry| entry.splitn(2, |b| *b == b'\t').nth(1));
            let inner = paths.map(|path| place.join(OsStr::from_bytes(path))).filter(|dir| dir.join(".git").exists());
            for dir in inner {
                keys.extend(self.programs_of(&dir)?);
                places.push(dir);
            }
        }
        keys.sort();
        keys.dedup();
        let numbered = keys.iter().enumerate().flat_map(|(n, key)| {
            let off = if key.ends_with(".required") { "false" } else { "" };
            [(format!("GIT_CONFIG_KEY_{n}"), key.clone()), (format!("GIT_CONFIG_VALUE_{n}"), off.to_owned())]
        });
        let count = ("GIT_CONFIG_COUNT".to_owned(), keys.len().to_string());
        Ok(numbered.chain([count]).collect())
    }

    /// The keys of a repository's own configuration that name filters and drivers.
    fn programs_of(&self, dir: &Path) -> Result<Vec<String>> {
        let cmd = self.cmd(dir).args(["config", "--show-scope", "--name-only", "-z", "--get-regexp"]);
        let output = cmd.arg("^(filter|diff|merge)\\.").capture()?;
        // 1: there are none.
        if output.status.code() > 1 {
            return Err(failed("config", &output));
        }
        let fields: Vec<&[u8]> = nul_fields(&output.stdout).collect();
        let own = fields.chunks(2).filter(|pair| matches!(pair.first(), Some(&b"local" | &b"worktree")));
        Ok(own.filter_map(|pair| pair.get(1)).map(|key| String::from_utf8_lossy(key).into_owned()).collect())
    }
}

fn tampered(why: String) -> Failure {
    Failure::new(Exit::Failed, "tampered", why)
}

/// The private git directory that a repository has recorded for a linked worktree: not what the worktree says of itself.
pub fn recorded_dir(common_dir: &Path, worktree: &Path) -> Result<Option<PathBuf>> {
    let all = common_dir.join("worktrees");
    let leads_here = |dir: &Path| -> Result<bool> {
        let Some(says) = fs::read(&dir.join("gitdir"))? else { return Ok(false) };
        let dot_git = dir.join(OsStr::from_bytes(says.trim_ascii_end()));
        let wanted = worktree.join(".git");
        let real = |path: &Path| path.parent().and_then(|dir| dir.canonicalize().ok());
        Ok(dot_git == wanted || (real(&dot_git).is_some() && real(&dot_git) == real(&wanted)))
    };
    // Mostly it is called as the worktree is.
    let usual = worktree.file_name().map(|name| all.join(name));
    if let Some(usual) = usual
        && leads_here(&usual)?
    {
        return Ok(Some(usual));
    }
    for name in fs::list(&all)? {
        if leads_here(&all.join(&name))? {
            return Ok(Some(all.join(name)));
        }
    }
    Ok(None)
}
