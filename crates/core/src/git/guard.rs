//! git in a worktree that somebody else writes to. An agent may rewrite its worktree's `.git` file, its private git
//! directory and the configuration of any repository it puts inside. None of that may make a git command of ours run a
//! program, wait for ever, or work on another repository.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::integrity::{
    clean, refuse_linked_state, refuse_other_objects, require_plain, require_plain_common, require_plain_for_others,
    tampered,
};
use super::proven_worktree::WorktreeDir;
use super::sanitized_common_dir::{Owner, Setting, require_no_way_out, runs_nothing};
use super::{Git, LOCAL_VARS, nul_fields, private_dir, run_git};
use crate::error::{Exit, Failure, Result};
use crate::fs;
use crate::known_dirs::{self, DirList};
use crate::path::real;
use crate::proc::Cmd;

/// What turns off, in every command of ours, the programs that git runs by itself, rerere (it writes conflicts, whose
/// text may be an agent's, through links in `rr-cache`), the automatic gc, which follows links as it prunes, and the
/// commit graph: a forged one says that work is merged. Of a file that is larger than the threshold git compares and
/// merges no lines, which takes twenty times its size in memory. The file that orders a diff may be a pipe. An index that is
/// written to be compared with the files must not say that all of them are as they were. Authors are those of the commits.
pub(super) const NO_PROGRAMS: [&str; 18] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "rerere.enabled=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "core.commitGraph=false",
    "-c",
    "core.bigFileThreshold=32m",
    "-c",
    "diff.orderFile=/dev/null",
    "-c",
    "core.ignoreStat=false",
    "-c",
    "log.mailmap=false",
];

/// No fetch of objects that are missing: who can write the repository's files chooses from where, with which program.
pub(super) const NO_FETCH: [&str; 2] = ["-c", "protocol.allow=never"];

/// The same for commands in worktrees, where no hook is meant and no submodule is touched along. git 2.55 has hooks in
/// the configuration, too, which an event turns off.
pub(super) fn no_hooks() -> impl Iterator<Item = String> {
    let settings = ["core.hooksPath=/dev/null", "submodule.recurse=false"].map(str::to_owned);
    settings.into_iter().chain(EVENTS.split(' ').map(|event| format!("hook.{event}.enabled=false")))
}

/// The events at which such commands would run hooks: reset, checkout, rebase, update-ref, fetch.
const EVENTS: &str = "reference-transaction post-index-change post-checkout prepare-commit-msg post-commit post-rewrite \
                      pre-rebase";

/// Where git is told to look, instead of in the worktree itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pinned {
    pub(super) worktree: PathBuf,
    pub(super) git_dir: PathBuf,
    /// None: as the git directory says.
    pub(super) common_dir: Option<PathBuf>,
    /// The worktree's own settings, as `-c` takes them.
    pub(super) settings: Vec<OsString>,
    /// The person's checkout, where their filters run, if the common directory does not tell.
    pub(super) home: Option<PathBuf>,
    /// Further variables for git.
    pub(super) vars: &'static [(&'static str, &'static str)],
    /// The index, if it is not the git directory's.
    pub(super) index: Option<PathBuf>,
}

/// What an agent may have written beside its commits changes no history that we judge by, or that a person is shown.
pub(super) fn as_committed(cmd: Cmd) -> Cmd {
    let cmd = cmd.without_vars(LOCAL_VARS).var("GIT_NO_REPLACE_OBJECTS", "1");
    cmd.var("GIT_GRAFT_FILE", "/dev/null").args(["-c", "advice.graftFileDeprecated=false"])
}

/// In a clone of ours, nothing that an agent wrote beside its commits replaces an object or makes git fetch one.
pub(super) const AS_COMMITTED: &[(&str, &str)] = &[("GIT_NO_REPLACE_OBJECTS", "1"), ("GIT_NO_LAZY_FETCH", "1")];

/// Nothing that an agent wrote replaces an object.
pub(super) const NO_REPLACED: &[(&str, &str)] = &[("GIT_NO_REPLACE_OBJECTS", "1")];

impl Pinned {
    pub(super) fn new(worktree: &Path, git_dir: PathBuf, common_dir: Option<PathBuf>) -> Pinned {
        let (worktree, settings) = (worktree.to_path_buf(), Vec::new());
        Pinned { worktree, git_dir, common_dir, settings, home: None, vars: &[], index: None }
    }
}

/// Whether a person's common directory has something that agents may write and git would obey: settings of one worktree,
/// or attributes, by which a change can look like none.
pub(super) fn needs_stand_in(common_dir: &Path) -> Result<bool> {
    Ok(common_dir.join("info/attributes").symlink_metadata().is_ok() || reads_own_settings(common_dir)?)
}

/// Whether git reads the `config.worktree` of each worktree: only if the shared configuration says so.
pub(super) fn reads_own_settings(common_dir: &Path) -> Result<bool> {
    const EXTENSION: &[u8] = b"worktreeconfig";
    let shared = fs::read_text(&common_dir.join("config"))?.unwrap_or_default().to_ascii_lowercase();
    Ok(shared.windows(EXTENSION.len()).any(|part| part == EXTENSION))
}

impl Git {
    /// git for the linked worktree at `worktree` of the repository with this common directory: every command in it
    /// works on what the repository has recorded of it, whatever its `.git` file says, obeys of its `config.worktree`
    /// only what runs nothing, and has a deadline. Exit 4, kind `tampered`, where that file leads elsewhere, or where
    /// something other than a file lies where git reads one; kind `lost`, where there is no such directory.
    pub fn guarded(&self, common_dir: &Path, worktree: &Path) -> Result<Git> {
        if worktree.is_symlink() {
            return Err(tampered(format!("{} is a symbolic link, and no worktree", worktree.display()))
                .hint("remove the link, and bring the worktree back to its place"));
        }
        if !fs::is_there(worktree)? {
            return Err(Failure::new(Exit::Failed, "lost", format!("{} is not there", worktree.display()))
                .hint(format!(
                    "if it was moved, run `git -C {} worktree repair PLACE`, with its new place",
                    crate::text::shell_word(common_dir)
                ))
                .hint("if it was deleted, and is an agent's, `worktree-spawn remove --force NAME` forgets it, and its commits stay"));
        }
        let git_dir = recorded_dir(common_dir, worktree)?;
        git_dir.as_deref().map_or(Ok(()), require_plain)?;
        // One that is closed does not lead elsewhere.
        fs::is_there(&worktree.join(".git"))?;
        let own = private_dir(worktree);
        if own.is_none() || own != git_dir.as_ref().and_then(|dir| dir.canonicalize().ok()) {
            let dot_git = worktree.join(".git");
            let shown = crate::text::shell_word(&dot_git);
            // `git worktree repair` would believe every other record, too.
            let (env, at) = (self.env(), real(worktree));
            let is_in_root = |roots: BTreeMap<PathBuf, PathBuf>| roots.keys().any(|root| at.starts_with(root));
            let is_listed = DirList::worktrees(env)
                .is_some_and(|list| list.load().is_ok_and(|all| all.contains_key(&at)))
                || known_dirs::roots(env).is_ok_and(is_in_root);
            let (wanted, hint) = match git_dir {
                // Where no command of the person's has made it, an agent may have written the record, about any directory.
                Some(dir) if !is_listed => (dir.display().to_string(), format!("look at it: `ls -ld {shown}`")),
                Some(dir) => {
                    let line = crate::text::shell_word(format!("gitdir: {}", dir.display()).as_ref());
                    // A repository that somebody made there may have commits.
                    let away = match dot_git.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                        true => format!("mv {shown} {}", crate::text::shell_word(&worktree.join("git-that-was-here"))),
                        false => format!("rm -f {shown}"),
                    };
                    let hint = format!(
                        "if that is not your doing, end what runs there, then `{away} && echo {line} > {shown}`"
                    );
                    (dir.display().to_string(), hint)
                }
                None => ("a record of this repository".into(), format!("look at it: `ls -ld {shown}`")),
            };
            return Err(tampered(format!("{} does not lead to {wanted}", dot_git.display())).hint(hint));
        }
        let git_dir = git_dir.unwrap_or_default();
        let common = fs::read(&git_dir.join("commondir"))?.unwrap_or_default();
        let common = git_dir.join(OsStr::from_bytes(common.trim_ascii_end())).canonicalize().ok();
        if common != common_dir.canonicalize().ok() {
            let file = git_dir.join("commondir");
            return Err(tampered(format!("{} does not lead to {}", file.display(), common_dir.display()))
                .hint("write `../..` into it again"));
        }
        refuse_linked_state(&git_dir)?;
        let reads_own = reads_own_settings(common_dir)?;
        let (stand_in, vars) = match &self.pinned {
            Some(clone) if clone.git_dir == common_dir => (clone.common_dir.clone(), clone.vars),
            _ if needs_stand_in(common_dir)? => (self.stand_in_of(common_dir, &git_dir)?, NO_REPLACED),
            _ => (None, NO_REPLACED),
        };
        let mut settings = if reads_own { self.own_settings(&git_dir)? } else { Vec::new() };
        let home = self.pinned.as_ref().and_then(|pinned| pinned.home.clone());
        let home = home.unwrap_or_else(|| checkout_of(common_dir).to_path_buf());
        settings.extend(self.away_from(worktree, &home)?);
        let home = Some(home);
        let common_dir = stand_in.unwrap_or_else(|| common_dir.to_path_buf());
        let pinned = Pinned { settings, home, vars, ..Pinned::new(worktree, git_dir, Some(common_dir)) };
        Ok(Git { pinned: Some(pinned), ..self.clone() })
    }

    /// The same for the main checkout of a repository, whose `config.worktree` an agent may be able to write, too.
    pub fn guarded_main(&self, common_dir: &Path, checkout: &Path) -> Result<Git> {
        require_plain_common(common_dir)?;
        let own = Pinned::new(checkout, common_dir.to_path_buf(), Some(common_dir.to_path_buf()));
        let mut pinned = Pinned { vars: NO_REPLACED, ..own };
        if needs_stand_in(common_dir)? {
            pinned.common_dir = self.stand_in_of(common_dir, common_dir)?.or(pinned.common_dir);
        }
        if reads_own_settings(common_dir)? {
            pinned.settings = self.own_settings(common_dir)?;
        }
        Ok(Git { pinned: Some(pinned), ..self.clone() })
    }

    /// What a git command prints in `dir` as text, without the line ends at its end, whether or not it fails.
    pub fn text(&self, dir: &Path, args: &[&str]) -> Result<String> {
        Ok(self.cmd(dir).args(args.iter().copied()).capture()?.text())
    }

    /// git in a checkout with its hooks, as when a person gives the command. The hooks of a linked checkout are the
    /// repository's, and never files of its own; of its `config.worktree` only what runs nothing counts.
    pub fn typed(&self, common_dir: &Path, checkout: &Path, is_linked: bool) -> Result<Git> {
        let mut git = match is_linked {
            true => self.guarded(common_dir, checkout)?,
            false => self.guarded_main(common_dir, checkout)?,
        };
        let used = PathBuf::from(git.text(checkout, &["rev-parse", "--path-format=absolute", "--git-path", "hooks"])?);
        let usual = common_dir.join("hooks");
        let hooks = match () {
            () if is_linked && used.starts_with(checkout) => PathBuf::from("/dev/null"),
            // git that reads no configuration of a worktree looks for them elsewhere.
            () if used != usual && git.text(checkout, &["config", "--get", "core.hooksPath"])?.is_empty() => usual,
            () => return Ok(git),
        };
        let mut setting = OsString::from("core.hooksPath=");
        setting.push(hooks);
        git.pinned.iter_mut().for_each(|pinned| pinned.settings.push(setting.clone()));
        Ok(git)
    }

    /// The settings in the private git directory of a worktree by which git would run or redirect something, if it read
    /// them: those of [`runs_nothing`]'s kind it reads anyway.
    pub fn own_programs(&self, common_dir: &Path, git_dir: &Path) -> Result<Vec<Setting>> {
        let is_read = reads_own_settings(common_dir)?;
        let mut settings = if is_read { self.settings(&git_dir.join("config.worktree"))? } else { Vec::new() };
        settings.retain(|setting| !runs_nothing(setting));
        Ok(settings)
    }

    /// Whether it works only on one repository, whatever its files say.
    pub fn is_pinned(&self) -> bool {
        self.pinned.is_some()
    }

    /// The stand-in for a person's common directory. Where the user's state cannot be written, as in an agent's sandbox,
    /// there is none, and a worktree whose own configuration could run something is refused.
    pub(super) fn stand_in_of(&self, common_dir: &Path, git_dir: &Path) -> Result<Option<PathBuf>> {
        match self.stand_in(common_dir, &Owner::Person) {
            Ok(dir) => Ok(Some(dir)),
            Err(failure) if failure.is_write_refused() || self.env.state_home().is_none() => {
                self.refuse_own_programs(git_dir).map(|()| None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// git for a clone of ours in which agents work, at `root`. No command of it in the clone or, through
    /// [`guarded`](Self::guarded), in a worktree of the clone obeys a filter, a redirection or a helper that the clone's
    /// own configuration names, unless git reads the same in `theirs`, a directory of the person's.
    /// `dir` is the stand-in's place, outside of the clone's own directory.
    pub fn in_clone(&self, root: &Path, dir: &Path, theirs: &Path) -> Result<Git> {
        let git_dir = root.join(".git");
        let owner = Owner::Agents { dir: dir.to_path_buf(), theirs: theirs.to_path_buf() };
        // A directory that git would make is made in its place first. A file is made through its link. Agents' own git
        // needs `rr-cache`; ours does not use it.
        require_no_way_out(&git_dir)?;
        refuse_other_objects(&git_dir)?;
        ["info", "lfs", "logs", "rr-cache"].iter().try_for_each(|name| fs::create_dir(&git_dir.join(name)))?;
        let common_dir = self.stand_in(&git_dir, &owner)?;
        // The clone's top has no checkout: an index there would only lend its attributes and submodules.
        let index = Some(common_dir.join("no-index"));
        let home = Some(theirs.to_path_buf());
        let pinned = Pinned { vars: AS_COMMITTED, index, home, ..Pinned::new(root, git_dir, Some(common_dir)) };
        Ok(Git { pinned: Some(pinned), ..self.clone() })
    }

    pub(super) fn pinned_at(&self, dir: &Path) -> Option<&Pinned> {
        self.pinned.as_ref().filter(|pinned| pinned.worktree == dir)
    }

    /// A git command for a person: in the foreground, with their pager, where there is no deadline.
    pub fn shown(&self, dir: &Path) -> Cmd {
        self.pin(as_committed(Cmd::new(&self.program, &self.env).dir(dir).args(NO_PROGRAMS)), dir)
    }

    /// The stand-in for the common directory of a clone in which agents work, where they cannot write.
    pub(super) fn clones_stand_in(&self) -> Option<&Path> {
        self.pinned.as_ref().filter(|pinned| pinned.vars == AS_COMMITTED)?.common_dir.as_deref()
    }

    /// Names the git directory to use in a pinned work tree.
    pub(super) fn pin(&self, cmd: Cmd, dir: &Path) -> Cmd {
        let Some(pinned) = self.pinned_at(dir) else { return cmd };
        let cmd = cmd.var("GIT_DIR", &pinned.git_dir);
        // The common directory itself is no work tree.
        let cmd = match pinned.worktree == pinned.git_dir {
            // git would read its attributes and who is who from the files that lie there.
            true => cmd.dir(Path::new("/")),
            false => cmd.var("GIT_WORK_TREE", &pinned.worktree),
        };
        let cmd = pinned.vars.iter().fold(cmd, |cmd, (name, value)| cmd.var(*name, *value));
        let cmd = pinned.index.iter().fold(cmd, |cmd, index| cmd.var("GIT_INDEX_FILE", index));
        let cmd = pinned.settings.iter().fold(cmd, |cmd, setting| cmd.arg("-c").arg(setting));
        pinned.common_dir.iter().fold(cmd, |cmd, common_dir| cmd.var("GIT_COMMON_DIR", common_dir))
    }

    /// Fails with the kind `tampered`, naming the file, if git would wait for ever on the record of a worktree.
    pub fn require_sound_records(&self, common_dir: &Path) -> Result<()> {
        let all = common_dir.join("worktrees");
        fs::list(&all)?.iter().try_for_each(|name| require_plain(&all.join(name)))
    }

    /// The same of what `git worktree add` reads of all records.
    pub fn require_records_for_another(&self, common_dir: &Path) -> Result<()> {
        let all = common_dir.join("worktrees");
        fs::list(&all)?.iter().try_for_each(|name| require_plain_for_others(&all.join(name)))
    }

    /// Looks again which worktrees of the clone git can read, for programs that keep running.
    pub fn look_again(&self) -> Result<()> {
        let clone = self.pinned.as_ref().and_then(|pinned| Some((&pinned.git_dir, pinned.common_dir.as_ref()?)));
        let clone = clone.filter(|(git_dir, stand_in)| git_dir != stand_in);
        clone.map_or(Ok(()), |(git_dir, stand_in)| super::sanitized_common_dir::link_worktrees(git_dir, stand_in))
    }

    /// The repositories inside a worktree that its index has as submodules, whoever put them there, and that are
    /// filled: their paths below it. No command of ours lets git go into one by itself. One process.
    pub fn inner(&self, worktree: &Path) -> Result<Vec<PathBuf>> {
        let cmd = self.cmd(worktree);
        // The configuration of a submodule may name a path that its worktree has no more.
        let cmd = match private_dir(worktree).filter(|_| self.pinned_at(worktree).is_none()) {
            Some(git_dir) => cmd.var("GIT_DIR", git_dir).var("GIT_WORK_TREE", worktree),
            None => cmd,
        };
        let listed = run_git("ls-files", cmd.args(["ls-files", "--stage", "-z"]))?;
        let links = nul_fields(&listed).filter(|entry| entry.starts_with(b"160000 "));
        let paths = links.filter_map(|entry| entry.splitn(2, |b| *b == b'\t').nth(1));
        let paths = paths.map(|path| PathBuf::from(OsStr::from_bytes(path)));
        Ok(paths.filter(|path| worktree.join(path).join(".git").symlink_metadata().is_ok()).collect())
    }

    /// The outermost directory above a path of a worktree that has a `.git`. git lists the files in it one by one if it
    /// cannot use that as a repository.
    pub fn repository_above(worktree: &Path, path: &Path) -> Option<PathBuf> {
        let has_git = |dir: &&Path| worktree.join(dir).join(".git").symlink_metadata().is_ok();
        let above = path.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty());
        above.filter(has_git).last().map(Path::to_path_buf)
    }
}

/// The directory of the main checkout, or one in which nobody's programs are.
fn checkout_of(common_dir: &Path) -> &Path {
    let parent = common_dir.parent().filter(|_| common_dir.ends_with(".git") || common_dir.ends_with(".bare"));
    parent.unwrap_or(Path::new("/"))
}

/// The path of a linked worktree by git's record of it, `worktrees/NAME` in the common directory; none if the record is
/// gone. git may write the path relative to the record, which may be moved: `.` and `..` are resolved as text.
pub fn recorded_path(record: &Path) -> Result<Option<PathBuf>> {
    let Some(says) = fs::read_no_follow(&record.join("gitdir"))? else { return Ok(None) };
    let dot_git = clean(&record.join(OsStr::from_bytes(says.trim_ascii_end())));
    Ok(dot_git.parent().map(Path::to_path_buf))
}

/// Whether a worktree is a directory, and no link, whose `.git` is a plain file that names this record. The record need
/// not exist any more.
pub fn leads_back(worktree: &Path, record: &Path) -> bool {
    WorktreeDir::open(worktree, record).is_ok_and(|found| found.is_some())
}

/// The private git directory that a repository has recorded for a linked worktree: not what the worktree says of
/// itself. Where several records name it, because an agent wrote its path into another's, it is the one that the
/// worktree names, too.
pub fn recorded_dir(common_dir: &Path, worktree: &Path) -> Result<Option<PathBuf>> {
    let all = common_dir.join("worktrees");
    let is_at = |path: &Path| {
        path == worktree || path.canonicalize().is_ok_and(|path| worktree.canonicalize().is_ok_and(|own| own == path))
    };
    // Another worktree's record that cannot be read is no reason not to find this one.
    let names_it = |record: &PathBuf| recorded_path(record).is_ok_and(|path| path.is_some_and(|path| is_at(&path)));
    // Mostly it is called as the worktree is.
    let usual = worktree.file_name().map(|name| all.join(name)).filter(names_it);
    if usual.as_ref().is_some_and(|record| leads_back(worktree, record)) {
        return Ok(usual);
    }
    let mut others: Vec<PathBuf> = fs::list(&all)?.iter().map(|name| all.join(name)).filter(names_it).collect();
    let own = others.iter().position(|record| leads_back(worktree, record)).map(|at| others.swap_remove(at));
    Ok(own.or(usual).or_else(|| others.pop()))
}
