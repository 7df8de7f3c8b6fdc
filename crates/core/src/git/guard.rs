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
const HARMLESS: [&str; 22] = [
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.autocrlf",
    "core.bare",
    "core.commentchar",
    "core.eol",
    "core.filemode",
    // Overruled in every command.
    "core.fsmonitor",
    "core.ignorecase",
    "core.longpaths",
    "core.precomposeunicode",
    "core.quotepath",
    "core.safecrlf",
    "core.symlinks",
    "diff.algorithm",
    "diff.colormoved",
    "diff.renames",
    "merge.conflictstyle",
    "core.untrackedcache",
    "user.email",
    "user.name",
    "user.signingkey",
];

/// Sections of which every key is harmless.
const HARMLESS_SECTIONS: [&str; 8] = ["advice.", "branch.", "color.", "commit.", "index.", "pull.", "push.", "status."];

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
        if worktree.is_symlink() {
            return Err(tampered(format!("{} is a symbolic link, and no worktree", worktree.display()))
                .hint("remove the link, and bring the worktree back to its place"));
        }
        let git_dir = recorded_dir(common_dir, worktree)?;
        let own = private_dir(worktree);
        if own.is_none() || own != git_dir.as_ref().and_then(|dir| dir.canonicalize().ok()) {
            let wanted = git_dir.map_or_else(|| "a record of this repository".into(), |dir| dir.display().to_string());
            let why = format!("{} does not lead to {wanted}", worktree.join(".git").display());
            let (common_dir, dir) = (crate::text::shell_word(common_dir), crate::text::shell_word(worktree));
            return Err(tampered(why).hint(format!(
                "if that is not your doing, move {dir}/.git away, then `git -C {common_dir} worktree repair` writes it again"
            )));
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
        let odd: Vec<String> = keys.filter(|key| !is_harmless(key)).collect();
        match odd.first() {
            None => Ok(()),
            Some(key) => Err(tampered(format!("{} sets {}, not known to run nothing", file.display(), quoted(&odd)))
                .hint(format!(
                    "take it out, if you did not set it: `git config --file {} --unset-all {key}`",
                    crate::text::shell_word(file)
                ))),
        }
    }

    /// The repositories inside a worktree that its index has as submodules, whoever put them there, and that are
    /// filled: their paths below it. No command of ours lets git go into one by itself. One process.
    pub fn inner(&self, worktree: &Path) -> Result<Vec<PathBuf>> {
        let listed = self.cmd(worktree).args(["ls-files", "--stage", "-z"]).capture()?;
        if !listed.status.success() {
            return Err(failed("ls-files", &listed));
        }
        let links = nul_fields(&listed.stdout).filter(|entry| entry.starts_with(b"160000 "));
        let paths = links.filter_map(|entry| entry.splitn(2, |b| *b == b'\t').nth(1));
        let paths = paths.map(|path| PathBuf::from(OsStr::from_bytes(path)));
        Ok(paths.filter(|path| worktree.join(path).join(".git").symlink_metadata().is_ok()).collect())
    }

    /// What would be lost with the repositories inside a worktree, if anything: changes, or commits that are nowhere
    /// else. Of one whose own configuration could make git run a program nobody can tell, and so it is said.
    pub fn inner_losses(&self, worktree: &Path) -> Result<Option<String>> {
        let mut places: Vec<PathBuf> = self.inner(worktree)?.into_iter().map(|path| worktree.join(path)).collect();
        let mut seen = BTreeSet::new();
        while let Some(place) = places.pop() {
            // Links may lead in circles.
            if !seen.insert(place.canonicalize().unwrap_or_else(|_| place.clone())) {
                continue;
            }
            let shown = place.strip_prefix(worktree).unwrap_or(&place).display().to_string();
            if let Some(why) = self.inner_loss(&place)? {
                return Ok(Some(format!("the submodule {shown} {why}")));
            }
            places.extend(self.inner(&place)?.into_iter().map(|path| place.join(path)));
        }
        Ok(None)
    }

    /// The same of repositories in directories that git ignores, which `git status` never mentions: a linked worktree
    /// of this one is none of them.
    pub fn ignored_losses(&self, common_dir: &Path, worktree: &Path) -> Result<Option<String>> {
        let how = ["--others", "--ignored", "--exclude-standard", "--directory"].map(Into::into);
        let dirs = self.ls_files(worktree, &how)?.into_iter().map(|path| worktree.join(path));
        for dir in dirs.filter(|dir| dir.symlink_metadata().is_ok_and(|meta| meta.is_dir())) {
            let mut entries = walkdir::WalkDir::new(dir).into_iter();
            while let Some(entry) = entries.next() {
                let Ok(entry) = entry else { continue };
                let place = entry.path();
                if entry.file_name() == ".git" && entry.file_type().is_dir() {
                    entries.skip_current_dir();
                    continue;
                }
                if !entry.file_type().is_dir() || place.join(".git").symlink_metadata().is_err() {
                    continue;
                }
                let shown = place.strip_prefix(worktree).unwrap_or(place).display().to_string();
                let is_linked = super::common_dir_of(place) == common_dir.canonicalize().ok();
                if !is_linked && let Some(why) = self.inner_loss(place)? {
                    return Ok(Some(format!("the repository in {shown}, which git ignores, {why}")));
                }
            }
        }
        Ok(None)
    }

    fn inner_loss(&self, place: &Path) -> Result<Option<String>> {
        let ask = |args: &[&str]| {
            let cmd = self.cmd_alone(place).var("GIT_NO_LAZY_FETCH", "1");
            cmd.args(args.iter().copied()).capture()
        };
        let listed = ask(&["config", "--show-scope", "--name-only", "-z", "--list"])?;
        if !listed.status.success() {
            return Ok(Some(format!("cannot be looked at: {}", super::git_said(&listed))));
        }
        let fields: Vec<&[u8]> = nul_fields(&listed.stdout).collect();
        let own = fields.chunks(2).filter(|pair| matches!(pair.first(), Some(&b"local" | &b"worktree")));
        let runs = |key: &[u8]| RUN_BY_LOOKING.iter().any(|part| key.starts_with(part.0) && key.ends_with(part.1));
        if let Some(key) = own.filter_map(|pair| pair.get(1)).find(|key| runs(key)) {
            let key = String::from_utf8_lossy(key);
            return Ok(Some(format!("sets `{key}`, which may run a program, so git is not asked about it")));
        }
        let status = ask(&["status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=dirty"])?;
        let loose = ask(&["rev-list", "-n1", "--all", "--not", "--remotes"])?;
        let stashed = ask(&["rev-parse", "--quiet", "--verify", "refs/stash"])?;
        Ok(match () {
            () if !status.status.success() => Some(format!("cannot be looked at: {}", super::git_said(&status))),
            () if !status.stdout.is_empty() => Some("has changes of its own".into()),
            () if !loose.status.success() || !loose.stdout.is_empty() => {
                Some("has commits that are nowhere else".into())
            }
            () if stashed.status.success() => Some("has a stash".into()),
            () => None,
        })
    }
}

/// The directories of a worktree that are repositories of their own; none if a directory cannot be read.
pub fn repositories_inside(worktree: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut entries = walkdir::WalkDir::new(worktree).min_depth(1).into_iter();
    while let Some(entry) = entries.next() {
        let entry = entry.ok()?;
        if entry.file_name() == ".git" {
            if entry.file_type().is_dir() {
                entries.skip_current_dir();
            }
            if entry.depth() > 1 {
                found.extend(entry.path().parent().map(Path::to_path_buf));
            }
        }
    }
    Some(found)
}

/// How keys begin and end by which a look at a repository runs a program; file monitors and hooks are off anyway.
const RUN_BY_LOOKING: [(&[u8], &[u8]); 6] = [
    (b"filter.", b".clean"),
    (b"filter.", b".smudge"),
    (b"filter.", b".process"),
    // Missing objects are fetched, by any command that a remote names.
    (b"extensions.partialclone", b""),
    (b"remote.", b".promisor"),
    (b"remote.", b".partialclonefilter"),
];

fn quoted(keys: &[String]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

fn tampered(why: String) -> Failure {
    Failure::new(Exit::Failed, "tampered", why)
}

/// The private git directory that a repository has recorded for a linked worktree: not what the worktree says of
/// itself.
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
