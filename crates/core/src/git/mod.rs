//! Runs the git program: finds the repository, and answers questions from porcelain output and exit codes alone.

mod discovery_cache;
mod exclude;
mod guard;
mod hook_config;
mod in_common_dir;
mod inner_losses;
mod integrity;
mod main_checkout;
mod own_index;
mod ownership;
mod proven_worktree;
mod relative_programs;
mod sanitized_common_dir;
mod worktrees;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::env::Env;
use crate::error::{Exit, Failure, Result};
use crate::fs;
use crate::proc::{self, Cmd, Output};

use self::guard::{NO_FETCH, NO_PROGRAMS, Pinned, as_committed, no_hooks};
pub use self::guard::{leads_back, recorded_dir, recorded_path};
pub use self::hook_config::ConfiguredHook;
pub use self::in_common_dir::{ref_failure, require_plain_ref, when_unlocked};
pub use self::integrity::{clean, refuse_linked_state, require_own_config, require_sound};
pub use self::main_checkout::bare_by_mistake;
pub use self::own_index::{FreshIndex, IndexEntries, OwnIndex, filled_links};
pub use self::ownership::{refuse_led_elsewhere, require_lasting_objects, require_writable_objects};
pub use self::proven_worktree::WorktreeDir;
pub use self::sanitized_common_dir::{LFS, Setting, as_alternate, trust_excludes, written};
pub use self::worktrees::{
    ListedWorktree, OPERATION_HEADS, commits_to_pick, has_no_files, head_of, named_commits, tips_of,
};

/// The variables that tie git to one repository: `git rev-parse --local-env-vars` of git 2.39 to 2.55 without
/// [`SETTING_VARS`]; a test compares them. A hook inherits them, and `git -C elsewhere` would still obey them.
pub const LOCAL_VARS: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
];

/// The settings that a person gave with `git -c` or in the environment. They lead to no repository: people's commands get
/// them, as a shell's do, and our own git obeys them, but for what each of our commands sets itself. Only where git works
/// for agents, in their clones, are they dropped.
pub const SETTING_VARS: [&str; 2] = ["GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"];

/// How long a look at an agent's files may take: git waits at a pipe in the place of `.gitignore` or `.gitattributes`.
pub const LOOK_LIMIT: Duration = Duration::from_secs(20);

/// How long a command may take: an agent may have put a pipe where git reads a file.
const DEADLINE: Duration = Duration::from_secs(600);

/// The git program and the environment it is called in.
#[derive(Clone, Debug)]
pub struct Git {
    program: PathBuf,
    env: Env,
    /// The git directory to use for a work tree whose `.git` does not name it, or must not be trusted to.
    pinned: Option<Pinned>,
    /// The variables that name the objects of a push while its hooks run. Commands in the same repository need them.
    quarantine: Vec<(&'static str, OsString)>,
    /// `core.excludesFile` in the present repository, if an earlier answer still holds.
    known_excludes: Option<Option<PathBuf>>,
}

/// The repository and worktree that we run in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repo {
    /// The top directory of the current work tree; `None` in a bare repository.
    pub worktree: Option<PathBuf>,
    /// This worktree's private git directory.
    pub git_dir: PathBuf,
    /// The git directory that all worktrees of the repository share.
    pub common_dir: PathBuf,
    /// The directory that git runs hooks from.
    pub hooks_dir: PathBuf,
    /// The main checkout, from which the repository's own files (`sweatfile`, `.shopfloor/`) are read.
    pub main_checkout: PathBuf,
    /// The checked-out branch without `refs/heads/`; `None` if HEAD is detached or the branch is unborn.
    pub branch: Option<String>,
    /// The source if this repository is a worker's clone (`shopfloor.source`), otherwise this repository.
    pub home: Home,
}

/// The repository whose files and approvals count: this one, or the source if this one is a worker's clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// Its main checkout.
    pub checkout: PathBuf,
    /// Its common directory.
    pub common_dir: PathBuf,
}

impl Git {
    /// Finds git on the PATH. Exit 4 if it is not there.
    pub fn find(env: &Env) -> Result<Git> {
        let program = proc::require(env, "git", "install git, 2.39 or newer, and run the command again")?;
        Ok(Git { program, env: env.clone(), pinned: None, quarantine: Vec::new(), known_excludes: None })
    }

    /// git, and the repository of the current directory: [`find`](Git::find) and [`discover`](Git::discover).
    pub fn here(env: &Env) -> Result<(Git, Repo)> {
        let mut git = Git::find(env)?;
        let repo = git.discover()?;
        Ok((git, repo))
    }

    /// The environment that git is called in.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// A git command in `dir` that ignores inherited repository variables. It has no pager, no prompt, no optional
    /// locks, no translations and no stdin, and fetches nothing.
    pub fn cmd(&self, dir: &Path) -> Cmd {
        self.own(dir).var("GIT_NO_LAZY_FETCH", "1").args(NO_FETCH)
    }

    /// Like `cmd_alone`, for what fetches, or writes the files of a commit, which a partial clone fetches.
    pub fn fetching(&self, dir: &Path) -> Cmd {
        self.own(dir).args(no_hooks().flat_map(|setting| ["-c".to_owned(), setting]))
    }

    fn own(&self, dir: &Path) -> Cmd {
        let cmd = as_committed(self.inherited(dir));
        let cmd = self.quarantine.iter().fold(cmd, |cmd, (name, value)| cmd.var(*name, value));
        // A bare repository that we were led to is none that lies in somebody's way: `explicit` is for those.
        let cmd = cmd.args(["-c", "safe.bareRepository=all"].into_iter().filter(|_| dir != self.env.cwd));
        // The variables of a clone in which agents work.
        let is_agents = self.pinned.as_ref().is_some_and(|pinned| !pinned.vars.is_empty());
        let cmd = if is_agents { cmd.without_vars(&SETTING_VARS) } else { cmd };
        self.pin(cmd, dir).within(DEADLINE)
    }

    /// Like `cmd`, but runs no hooks and does not touch submodules.
    pub fn cmd_alone(&self, dir: &Path) -> Cmd {
        self.fetching(dir).var("GIT_NO_LAZY_FETCH", "1").args(NO_FETCH)
    }

    fn inherited(&self, dir: &Path) -> Cmd {
        Cmd::new(&self.program, &self.env)
            .dir(dir)
            .var("LC_ALL", "C")
            .var("GIT_OPTIONAL_LOCKS", "0")
            .var("GIT_TERMINAL_PROMPT", "0")
            // A filter of the person's, `python3 -m nbstripout` for one, must not load a module from the worktree.
            .var("PYTHONSAFEPATH", "1")
            .without_vars(&[
                "GIT_TRACE",
                "GIT_LITERAL_PATHSPECS",
                "GIT_GLOB_PATHSPECS",
                "GIT_NOGLOB_PATHSPECS",
                "GIT_ICASE_PATHSPECS",
            ])
            .arg("--no-pager")
            .args(NO_PROGRAMS)
    }

    /// Finds the repository of the current directory. Exit 2, kind `not_a_repository`, if there is none.
    ///
    /// With `-C`, inherited git variables are ignored. Without `-C` (for example in a hook), they name the work tree.
    /// If that work tree's own `.git` names another repository, the other repository is used, because later git
    /// commands in the work tree will use it too. If the work tree has no `.git` of its own, the inherited git
    /// directory stays in use (`pinned`).
    pub fn discover(&mut self) -> Result<Repo> {
        // git would wait for ever on a pipe. As text, `r/..` is below `r`.
        let cwd = crate::path::real(&self.env.cwd);
        let above = cwd.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok());
        let git_dir = above.and_then(private_dir);
        git_dir.as_deref().map_or(Ok(()), integrity::require_sound)?;
        let found = self.find_repo()?;
        self.refuse_led_away(&found, above.filter(|_| git_dir == found.git_dir.canonicalize().ok()))?;
        let dirs = [&found.common_dir, &found.git_dir, &found.home.common_dir];
        dirs.into_iter().try_for_each(|dir| refuse_linked_state(dir))?;
        Ok(found)
    }

    fn find_repo(&mut self) -> Result<Repo> {
        let cwd = self.env.cwd.clone();
        if self.env.cwd_named || self.env.var("GIT_DIR").is_none() {
            let found = self.locate(&cwd, self.cmd(&cwd))?;
            self.refuse_checked_in(&found)?;
            return Ok(found);
        }
        let named = self.locate(&cwd, self.inherited(&cwd));
        if let (Ok(named), Some(_)) = (&named, self.env.var("GIT_QUARANTINE_PATH"))
            && self.is_own_hook(named)
        {
            let dirs = ["GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"];
            self.quarantine =
                dirs.into_iter().filter_map(|name| Some((name, self.env.var(name)?.to_os_string()))).collect();
        }
        let place = named.as_ref().ok().and_then(|repo| repo.worktree.clone()).unwrap_or_else(|| cwd.clone());
        match (self.locate(&place, self.cmd(&place)), named) {
            (Ok(own), _) => Ok(own),
            (Err(_), Ok(named)) => {
                let git_dir = named.git_dir.clone();
                self.pinned = named.worktree.as_deref().map(|worktree| Pinned::new(worktree, git_dir, None));
                Ok(named)
            }
            (Err(failure), Err(_)) => Err(failure),
        }
    }

    /// Whether the inherited `GIT_DIR` belongs to this worktree. git sets it for the hooks of an ordinary checkout, but
    /// not for the hooks of `git worktree add`.
    pub fn is_own_hook(&self, repo: &Repo) -> bool {
        let Some(dir) = self.env.var("GIT_DIR") else { return false };
        let named = self.env.cwd.join(dir);
        named.canonicalize().is_ok_and(|named| repo.git_dir.canonicalize().is_ok_and(|own| own == named))
    }

    fn locate(&self, cwd: &Path, cmd: Cmd) -> Result<Repo> {
        let ask = |path| {
            let asked = cmd.clone().args(["rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir"]);
            asked.args(["--git-path", path, "--show-toplevel", "--symbolic-full-name", "HEAD"]).capture()
        };
        let mut output = ask("hooks")?;
        // git stops at a `core.hooksPath` that leads nowhere: an empty one, or `.git/hooks` in a linked worktree.
        let no_hooks = output.stdout.split_inclusive(|b| *b == b'\n').count() == 2;
        if no_hooks {
            output = ask("info")?;
        }
        // In a bare repository git stops at --show-toplevel; on an unborn branch it prints HEAD and then stops.
        let lines: Vec<&[u8]> = output.stdout.strip_suffix(b"\n").unwrap_or(&[]).split(|b| *b == b'\n').collect();
        let path = |i: usize| lines.get(i).map(|l| PathBuf::from(OsString::from_vec(l.to_vec())));
        let (Some(git_dir), Some(common_dir), Some(hooks_dir)) = (path(0), path(1), path(2)) else {
            if matches!(output.status, proc::Status::Signalled(_)) {
                return Err(failed("rev-parse", &output).hint("run the same command again"));
            }
            let why = format!("no usable git repository at {}", cwd.display());
            return Err(Failure::new(Exit::Bad, "not_a_repository", why)
                .because(anyhow::anyhow!(git_said(&output)))
                .hint(main_checkout::way_out(cwd)));
        };
        if lines.len() > 5 {
            let asked = cmd.args(["rev-parse", "--path-format=absolute", "--git-common-dir"]).capture()?.stdout;
            let is_common = asked.strip_suffix(b"\n").is_some_and(|path| path.contains(&b'\n'));
            let what = if is_common { "repository" } else { "worktree" };
            let message = format!("the {what}'s path at {} contains a newline", cwd.display());
            return Err(Failure::new(Exit::Bad, "bad_path", message)
                .hint(format!("move the {what} to a path without a newline")));
        }
        let worktree = path(3).filter(|p| p.is_absolute());
        let branch =
            lines.get(4).and_then(|l| l.strip_prefix(b"refs/heads/")).map(|b| String::from_utf8_lossy(b).into());
        let main_checkout = self.main_checkout(&git_dir, &common_dir, worktree.as_deref())?;
        let home = Home { checkout: main_checkout.clone(), common_dir: common_dir.clone() };
        let mut repo = Repo { worktree, git_dir, common_dir, hooks_dir, main_checkout, branch, home };
        if no_hooks {
            let named = self.hooks_path(&repo)?.filter(|path| !path.as_os_str().is_empty());
            let top = repo.worktree.as_ref().unwrap_or(&repo.git_dir);
            // git puts the name of the hook behind an empty path, and a slash between them.
            repo.hooks_dir = named.map_or(PathBuf::from("/"), |path| clean(&top.join(path)));
        }
        if let Some(source) = self.source(&repo)? {
            let common_dir = source.join(".git");
            repo.home = match common_dir.is_dir() {
                true => Home { checkout: source, common_dir },
                false => self.locate(&source, self.cmd(&source))?.home,
            };
        }
        Ok(repo)
    }

    /// Refuses a repository that consists of files checked into another repository, because a stranger may have written
    /// its configuration. git accepts a directory of any name as a bare repository.
    fn refuse_checked_in(&self, repo: &Repo) -> Result<()> {
        if repo.common_dir.components().any(|part| part.as_os_str() == ".git") {
            // git never tracks files below a directory of this name.
            return Ok(());
        }
        let own = repo.common_dir.canonicalize().ok();
        let encloses = |dir: &&Path| private_dir(dir).is_some_and(|found| Some(&found) != own.as_ref());
        let Some(outer) = repo.common_dir.ancestors().skip(1).find(encloses) else { return Ok(()) };
        let head = repo.common_dir.join("HEAD");
        let cmd = self.cmd(outer).args(["--literal-pathspecs", "ls-files", "--error-unmatch", "--"]).arg(&head);
        match cmd.capture()?.status.success() {
            false => Ok(()),
            true => Err(Failure::new(
                Exit::Bad,
                "checked_in",
                format!("{} is a repository that is checked into {}", repo.common_dir.display(), outer.display()),
            )
            .hint("its configuration is not to be trusted: leave that directory, or clone the repository elsewhere")),
        }
    }

    /// One value of a repository's configuration. `kind` is an option by which git reads it, such as `--type=path`.
    pub fn config(&self, git_dir: &Path, name: &str, kind: Option<&str>) -> Result<Option<OsString>> {
        let cmd = self.cmd(git_dir).args(["config", "-z"]).args(kind).args(["--get", name]);
        let output = cmd.var("GIT_DIR", git_dir).capture()?;
        let value = output.stdout.strip_suffix(b"\0").map(|v| OsString::from_vec(v.to_vec()));
        Ok(value.filter(|_| output.status.success()))
    }

    /// The checked-out branch, even if it is unborn; `None` if HEAD is detached.
    pub fn branch(&self, repo: &Repo) -> Result<Option<String>> {
        let (None, Some(worktree)) = (&repo.branch, &repo.worktree) else { return Ok(repo.branch.clone()) };
        let name = self.cmd(worktree).args(["symbolic-ref", "--quiet", "HEAD"]).capture()?.text();
        // HEAD may be at a ref that is no branch, as jj's `refs/jj/root`.
        Ok(name.strip_prefix("refs/heads/").map(str::to_owned))
    }

    /// The paths among these (relative to `worktree`) that git ignores and does not track. Starts one process. No path
    /// may have a link among its parents, because git would then not answer for the others.
    pub fn ignored(&self, worktree: &Path, paths: &[PathBuf], excludes_file: Option<&Path>) -> Result<Vec<PathBuf>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut cmd = self.cmd(worktree);
        if let Some(file) = excludes_file {
            let mut setting = OsString::from("core.excludesFile=");
            setting.push(file);
            cmd = cmd.arg("-c").arg(setting);
        }
        let ask = |paths: &[PathBuf]| {
            let asked = cmd.clone().args(["check-ignore", "-z", "--stdin"]).input(nul_list(paths));
            let output = asked.within(LOOK_LIMIT).capture()?;
            match output.status.code() {
                0 | 1 => Ok(nul_paths(&output.stdout)),
                _ => Err(failed("check-ignore", &output)),
            }
        };
        // If git refuses one path, as in a submodule, it answers for none. Then each is asked about alone.
        ask(paths).or_else(|failure| {
            if failure.kind == "deadline" {
                return Err(failure);
            }
            let one_by_one: Vec<_> = paths.iter().map(|p| ask(std::slice::from_ref(p))).collect();
            if one_by_one.iter().all(Result::is_err) {
                return Err(failure);
            }
            Ok(one_by_one.into_iter().flatten().flatten().collect())
        })
    }

    /// The patterns that make git ignore these paths, from all files of patterns.
    pub fn ignoring_patterns(&self, worktree: &Path, paths: &[PathBuf]) -> Result<Vec<String>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let cmd = self.cmd(worktree).args(["check-ignore", "-v", "-z", "--no-index", "--stdin"]);
        let output = cmd.input(nul_list(paths)).within(LOOK_LIMIT).capture()?;
        // Four fields each: source, line, pattern, path.
        let fields: Vec<&[u8]> = output.stdout.split(|b| *b == 0).collect();
        Ok(fields.chunks(4).filter_map(|f| f.get(2)).map(|p| String::from_utf8_lossy(p).into_owned()).collect())
    }

    /// A file at the top of a main checkout that is not there only because the checkout is sparse, as it was committed.
    /// Starts a process only in a checkout that was sparse at some time.
    pub fn sparse_file(&self, home: &Home, name: &str) -> Result<Option<Vec<u8>>> {
        // Only a person can have written what makes a checkout sparse: the file with the patterns is an agent's to write.
        let config = fs::read_text(&home.common_dir.join("config"))?.unwrap_or_default().to_ascii_lowercase();
        let says = |key: &[u8]| config.windows(key.len()).any(|part| part == key);
        let may_be_sparse = says(b"sparsecheckout") || says(b"worktreeconfig");
        let patterns = home.common_dir.join("info/sparse-checkout");
        if !may_be_sparse || !patterns.exists() || home.checkout.join(name).symlink_metadata().is_ok() {
            return Ok(None);
        }
        let listed = self.cmd(&home.checkout).args(["ls-files", "-t", "-z", "--", name]).capture()?;
        if listed.stdout != format!("S {name}\0").as_bytes() {
            return Ok(None);
        }
        // As it was committed, whatever the index says.
        let blob = self.cmd(&home.checkout).args(["cat-file", "blob"]).arg(format!("HEAD:{name}"));
        run_git("cat-file", blob).map(Some)
    }

    /// The paths that `git ls-files -z ARGS` lists.
    pub fn ls_files(&self, worktree: &Path, args: &[OsString]) -> Result<Vec<PathBuf>> {
        let cmd = self.cmd(worktree).args(["ls-files", "-z"]).args(args.iter().cloned());
        Ok(nul_paths(&run_git("ls-files", cmd.within(LOOK_LIMIT))?))
    }
}

/// The private git directory of a work tree: the directory `.git`, or the directory that the file `.git` names.
pub fn private_dir(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    if dot_git.is_dir() {
        return dot_git.canonicalize().ok();
    }
    let text = fs::read(&dot_git).ok()??;
    let named = text.strip_prefix(b"gitdir: ")?.trim_ascii_end();
    root.join(OsStr::from_bytes(named)).canonicalize().ok()
}

/// The common directory of the repository whose work tree contains `dir`, as files tell it; does not run git.
pub fn common_dir_of(dir: &Path) -> Option<PathBuf> {
    let top = dir.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok())?;
    common_of(&private_dir(top)?)
}

/// The common directory that a private git directory names, or itself if it names none.
pub fn common_of(git_dir: &Path) -> Option<PathBuf> {
    match fs::read(&git_dir.join("commondir")).ok()? {
        Some(text) => git_dir.join(OsStr::from_bytes(text.trim_ascii_end())).canonicalize().ok(),
        None => Some(git_dir.to_path_buf()),
    }
}

impl Repo {
    /// The work tree, or exit 2 in a bare repository.
    pub fn require_worktree(&self) -> Result<&Path> {
        self.worktree.as_deref().ok_or_else(|| no_worktree(&self.common_dir, &self.git_dir))
    }

    /// Whether this is a linked worktree, made by `git worktree add`.
    pub fn is_linked(&self) -> bool {
        self.git_dir != self.common_dir
    }

    /// The directory for state of this worktree. git removes it together with the worktree, and `git status` does not
    /// show it.
    pub fn worktree_state(&self, tool: &str) -> PathBuf {
        self.git_dir.join("shopfloor").join(tool)
    }

    /// The directory for state that all worktrees of the repository share.
    pub fn shared_state(&self, tool: &str) -> PathBuf {
        self.common_dir.join("shopfloor").join(tool)
    }

    /// The private git directories of all worktrees, the main checkout's first.
    pub fn all_git_dirs(&self) -> Result<Vec<PathBuf>> {
        let linked = self.common_dir.join("worktrees");
        let names = fs::list(&linked)?;
        Ok(std::iter::once(self.common_dir.clone()).chain(names.into_iter().map(|n| linked.join(n))).collect())
    }
}

/// The failure of a command that needs a work tree, at this git directory of a repository. Exit 2.
pub fn no_worktree(common_dir: &Path, git_dir: &Path) -> Failure {
    bare_by_mistake(common_dir).unwrap_or_else(|| {
        Failure::new(Exit::Bad, "no_worktree", format!("{} has no work tree", git_dir.display()))
            .hint("run the command inside a work tree; `git worktree list` shows them")
    })
}

/// The paths as input for `--stdin -z`. The `./` prevents git from reading `:(glob)x` as pathspec magic, which
/// check-ignore cannot turn off in another way.
fn nul_list(paths: &[PathBuf]) -> Vec<u8> {
    paths.iter().flat_map(|p| [b"./", p.as_os_str().as_bytes(), b"\0"].concat()).collect()
}

/// The fields of an output with `-z`.
pub fn nul_fields(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|b| *b == 0).filter(|field| !field.is_empty())
}

fn nul_paths(bytes: &[u8]) -> Vec<PathBuf> {
    nul_fields(bytes)
        .map(|p| p.strip_prefix(b"./").unwrap_or(p))
        .map(|p| PathBuf::from(OsString::from_vec(p.to_vec())))
        .collect()
}

/// The failure of a git command, with what git printed. Exit 4, kind `git`.
pub fn failed(command: &str, output: &Output) -> Failure {
    Failure::new(Exit::Failed, "git", format!("git {command} failed with {}", output.status))
        .because(anyhow::anyhow!(git_said(output)))
}

/// Runs a command of git that must succeed, and returns what it prints. `command` is its name.
pub fn run_git(command: &str, cmd: Cmd) -> Result<Vec<u8>> {
    let output = cmd.capture()?;
    if output.status.success() { Ok(output.stdout) } else { Err(failed(command, &output)) }
}

/// The text that a git command printed; fails if git failed.
pub fn answer(command: &str, output: &Output) -> Result<String> {
    if output.status.success() { Ok(output.text()) } else { Err(failed(command, output)) }
}

fn git_said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let said = text.trim();
    if said.is_empty() { output.status.to_string() } else { said.to_owned() }
}
