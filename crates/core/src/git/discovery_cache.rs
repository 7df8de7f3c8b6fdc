//! Finds a repository again without a git process, for commands that take less time than a git process does.

use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::main_checkout::MEMORY;
use super::{Git, Home, LOCAL_VARS, Repo, SETTING_VARS, common_of, failed, private_dir, refuse_linked_state};
use crate::env::Env;
use crate::error::Result;
use crate::fs::{self, Stat};

/// Part of each fingerprint, so that a file of an earlier version counts for nothing.
const VERSION: u32 = 3;

impl Git {
    /// Like [`discover`](Git::discover), but asks git only if something has changed on which its last answer depended.
    /// A fingerprint of what the answer depends on is in the file `shopfloor/NAME` in the worktree's git directory,
    /// together with git's answer about `core.excludesFile`. The answer does not contain the branch.
    pub fn discover_again(&mut self, name: &str) -> Result<Repo> {
        let Some(known) = Known::look(&self.env, &self.program) else { return self.discover() };
        let repo = &known.repo;
        [&repo.common_dir, &repo.git_dir].into_iter().try_for_each(|dir| refuse_linked_state(dir))?;
        // That file is an agent's to write, too.
        self.refuse_led_away(repo, repo.worktree.as_deref())?;
        let file = known.repo.git_dir.join("shopfloor").join(name);
        let mut print = known.print.to_string().into_bytes();
        print.push(b'\n');
        let saved = fs::read_no_follow(&file).ok().flatten().unwrap_or_default();
        if let Some(excludes) = saved.strip_prefix(&*print) {
            let excludes = Some(PathBuf::from(OsStr::from_bytes(excludes))).filter(|path| !path.as_os_str().is_empty());
            self.known_excludes = Some(excludes);
            return Ok(known.repo);
        }
        let asked = Repo { branch: None, ..self.discover()? };
        let has_dir = file.parent().is_some_and(Path::is_dir);
        if known.repo == asked && known.is_settled && has_dir && known.is_whole() {
            let excludes = self.excludes_file(&asked)?;
            print.extend(excludes.iter().flat_map(|path| path.as_os_str().as_bytes()));
            // Without the file git is asked again.
            let _ = fs::replace(&file, &print, Some(fs::PRIVATE));
        }
        Ok(asked)
    }

    /// The file of ignore patterns for all work trees (`core.excludesFile`), if one is configured.
    pub fn excludes_file(&self, repo: &Repo) -> Result<Option<PathBuf>> {
        if let Some(known) = &self.known_excludes {
            return Ok(known.clone());
        }
        let cmd = self.cmd(&repo.common_dir).args(["config", "-z", "--type=path", "--get", "core.excludesFile"]);
        let output = cmd.var("GIT_DIR", &repo.common_dir).capture()?;
        match output.status.code() {
            0 => Ok(output.stdout.strip_suffix(b"\0").map(|v| PathBuf::from(OsStr::from_bytes(v)))),
            // It is not configured.
            1 => Ok(None),
            _ => Err(failed("config", &output)),
        }
    }
}

/// A fingerprint of git's configuration in the current directory, if it covers everything that git reads there.
pub(super) fn configuration_print(env: &Env, program: &Path) -> Option<u64> {
    let known = Known::look(env, program)?;
    (known.is_settled && known.is_whole()).then_some(known.print)
}

/// The files of git's configuration in the current directory, if it can be told without git which these are.
pub(super) fn configuration_files(env: &Env, program: &Path) -> Option<Vec<PathBuf>> {
    Known::look(env, program).map(|known| known.configs)
}

/// What plain files say of the repository of the current directory. It counts only if git has said the same of the same
/// files.
struct Known {
    repo: Repo,
    /// The fingerprint of everything that git's answer depends on.
    print: u64,
    /// Whether a change after this look would show in the fingerprint.
    is_settled: bool,
    /// git's configuration files. The fingerprint does not cover files that these include.
    configs: Vec<PathBuf>,
}

impl Known {
    fn look(env: &Env, program: &Path) -> Option<Known> {
        if LOCAL_VARS.iter().chain(&SETTING_VARS).any(|name| env.var(name).is_some()) {
            return None;
        }
        let cwd = env.cwd.canonicalize().ok()?;
        let is_there = |path: PathBuf| path.symlink_metadata().is_ok();
        let top = cwd.ancestors().find(|dir| is_there(dir.join(".git")) || is_there(dir.join("HEAD")))?;
        let git_dir = private_dir(top)?;
        let common_dir = common_of(&git_dir)?;
        let is_plain = common_dir.ends_with(".git") || common_dir.ends_with(".bare");
        let main_checkout = match git_dir == common_dir {
            true => top.to_path_buf(),
            false => common_dir.parent().filter(|_| is_plain)?.to_path_buf(),
        };
        let home = env.home().map(Path::to_path_buf);
        let xdg = env.var("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| Some(home.as_ref()?.join(".config")));
        let mut configs = vec!["/etc/gitconfig".into(), common_dir.join("config")];
        // git reads the one of the main checkout if it is asked about the repository.
        configs.extend([&git_dir, &common_dir].map(|dir| dir.join("config.worktree")));
        configs.extend(program.ancestors().nth(2).map(|prefix| prefix.join("etc/gitconfig")));
        configs.extend(home.as_ref().map(|home| home.join(".gitconfig")));
        configs.extend(xdg.map(|dir| dir.join("git/config")));
        let names = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];
        configs.extend(names.iter().filter_map(|name| env.var(name)).map(PathBuf::from));
        let own = ["HEAD", "commondir"].map(|name| git_dir.join(name));
        let others = [&own[..], &[top.join(".git"), common_dir.join(MEMORY), program.to_path_buf()]].concat();
        // The times of a device such as /dev/null mean nothing, and those of a directory change too often.
        let is_file = |stat: &Stat| !stat.is_dir() && !stat.is_device();
        let files = || configs.iter().chain(&others).map(|path| Stat::at(path).filter(is_file));
        let mut hasher = DefaultHasher::new();
        // A value may begin with `~`, so the same files say something else in another home.
        (VERSION, &cwd, &git_dir, &home, &configs, files().collect::<Vec<_>>()).hash(&mut hasher);
        ["objects", "refs"].map(|name| common_dir.join(name).is_dir()).hash(&mut hasher);
        // git refuses the repository of another user, and goes up no further than a file system reaches.
        let owner = |path: &Path| path.symlink_metadata().map(|meta| (meta.uid(), meta.ino(), meta.dev())).ok();
        [&cwd, top, &top.join(".git"), &git_dir, &common_dir].map(owner).hash(&mut hasher);
        (rustix::process::geteuid().as_raw(), env.var("SUDO_UID")).hash(&mut hasher);
        let is_gits = |name: &OsStr| name.as_bytes().starts_with(b"GIT_");
        env.vars.iter().filter(|(name, _)| is_gits(name)).for_each(|var| var.hash(&mut hasher));
        let is_settled = files().flatten().all(|stat| stat.is_settled(env.now));
        let hooks_dir = common_dir.join("hooks");
        let home = Home { checkout: main_checkout.clone(), common_dir: common_dir.clone() };
        let worktree = Some(top.to_path_buf());
        let repo = Repo { worktree, git_dir, common_dir, hooks_dir, main_checkout, branch: None, home };
        Some(Known { repo, print: hasher.finish(), is_settled, configs })
    }

    /// Whether the fingerprint covers everything: no configuration file includes another one, or names a source or a
    /// main checkout, which count only while they are there.
    fn is_whole(&self) -> bool {
        let has = |text: &[u8], word: &[u8]| text.to_ascii_lowercase().windows(word.len()).any(|part| part == word);
        let is_plain = |text: Vec<u8>| !has(&text, b"[include") && !has(&text, b"[shopfloor");
        let is_whole = |path: &PathBuf| fs::read(path).is_ok_and(|text| text.is_none_or(is_plain));
        !self.repo.common_dir.join(MEMORY).exists()
            && self.configs.iter().all(|path| Stat::at(path).is_some_and(|stat| stat.is_device()) || is_whole(path))
    }
}
