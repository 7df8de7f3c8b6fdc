//! The root: the directory that holds the configuration, the state, the clone and the worktrees. Which roots there
//! are, the user's own list says.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::agent_command::{CommandFields, READING_TOOLS};
use shopfloor_core::agents::{self, AgentProgram, SessionFile};
use shopfloor_core::config::expand_home;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, Repo, common_dir_of, recorded_dir};
use shopfloor_core::known_dirs::{self, DirList, require_listable};
use shopfloor_core::path::real;
use shopfloor_core::text::shell_word;

use crate::failure;
use crate::layout;
use crate::program_config::AgentTable;
use crate::settings::{RootConfig, TOOLS, WorkerTable};
use crate::worker::Worker;

/// What `{skip_permissions}` stands for in a table that does not say.
const SKIP_PERMISSIONS: &str = "--dangerously-skip-permissions";

/// The root that is tried last, outside of any repository.
pub const DEFAULT: &str = "~/workers";

/// A root and its configuration.
#[derive(Debug)]
pub struct WorkerRoot {
    pub path: PathBuf,
    pub config: RootConfig,
}

impl WorkerRoot {
    /// Finds the root: the one named, the one in `WORKER_CTL_ROOT`, the one above the current directory, or the one
    /// recorded in the current repository; outside of any repository the default one. Exit 2 when it is no root, or when
    /// the user's own list does not name it.
    pub fn find(env: &Env, named: Option<&Path>, flags: &[(&str, Option<&Path>)]) -> Result<WorkerRoot> {
        let path = match named.map(Path::to_path_buf).or_else(|| env.var("WORKER_CTL_ROOT").map(PathBuf::from)) {
            Some(named) => {
                let dir = env.cwd.join(expand_home(env, named));
                require_root(env, &dir).map(|_| dir)?
            }
            None => search(env)?,
        };
        let path = real(&path);
        if !root_list(env)?.load()?.contains_key(&path) {
            return Err(unlisted(&path));
        }
        Ok(WorkerRoot { config: RootConfig::load(env, &path, flags)?, path })
    }

    /// The same by files alone: only roots on the user's list, and no run of git.
    pub fn find_listed(env: &Env, named: Option<&Path>) -> Result<WorkerRoot> {
        let listed = root_list(env)?.load()?;
        let path = match named.map(Path::to_path_buf).or_else(|| env.var("WORKER_CTL_ROOT").map(PathBuf::from)) {
            Some(named) => real(&env.cwd.join(expand_home(env, named))),
            None => {
                let enclosing = env.cwd.ancestors().find(|dir| listed.contains_key(*dir)).map(Path::to_path_buf);
                let common = common_dir_of(&env.cwd);
                let is_recorded =
                    |root: &PathBuf| common.as_ref().is_some_and(|common| listed.get(root) == Some(&real(common)));
                let record = common.as_deref().map_or(Ok(None), read_record)?;
                match (enclosing.or_else(|| record.clone().filter(is_recorded)), record) {
                    (Some(found), _) => found,
                    (None, Some(record)) if !listed.contains_key(&record) => return Err(unlisted(&record)),
                    // Another repository's root says nothing of this one.
                    _ if common.is_some() => return Err(unrecorded(&env.cwd)),
                    _ => real(&expand_home(env, DEFAULT)),
                }
            }
        };
        match listed.contains_key(&path) {
            true => Ok(WorkerRoot { config: RootConfig::load(env, &path, &[])?, path }),
            false => Err(unlisted(&path)),
        }
    }

    pub fn worker(&self, name: &str) -> WorkerTable {
        self.config.workers.get(name).cloned().unwrap_or_default()
    }

    /// The table of the agent with this name. Exit 2 when no command is configured for it.
    pub fn agent(&self, name: &str) -> Result<AgentTable> {
        let agent = self.config.agents.get(name).cloned().or_else(|| AgentTable::preset(name));
        let agent = agent.filter(|agent| !agent.command.is_empty()).ok_or_else(|| {
            Failure::malformed(format!("no command is configured for the agent `{name}`")).hint(format!(
                "set `command` in `[agents.{name}]` of {}, or for all roots in `[worker-ctl.agents.{name}]` of your \
                     own config.toml",
                layout::config(&self.path).display()
            ))
        })?;
        agent.check()?;
        Ok(agent)
    }

    /// The programs of the agents in `config.toml`.
    pub fn commands(&self) -> Vec<String> {
        self.config.agents.values().filter_map(|agent| agent.command.first().cloned()).collect()
    }

    /// The name of a worker's agent: as `config.toml` says now, else as it was when the worker was created.
    pub fn agent_name(&self, worker: &Worker) -> String {
        self.worker(&worker.name).agent.unwrap_or_else(|| worker.agent.clone())
    }

    /// The table of a worker's agent.
    pub fn agent_of(&self, worker: &Worker) -> Result<AgentTable> {
        self.agent(&self.agent_name(worker))
    }

    /// The program that a worker runs, if it runs a preset.
    pub fn preset_of(&self, worker: &Worker) -> Option<&'static AgentProgram> {
        let name = self.agent_name(worker);
        agents::find(&name).filter(|_| !self.config.agents.contains_key(&name))
    }

    /// The kind of file that a worker's program writes about its session.
    pub fn session_file_of(&self, worker: &Worker) -> SessionFile {
        let program = self.agent_of(worker).ok().and_then(|agent| agents::find(agent.hooks.as_deref()?));
        program.map_or(SessionFile::None, |program| program.session_file)
    }

    /// The argv of a worker's agent. `hooks` are the words that `{hooks}` stands for.
    /// `common_dir` is that of the repository that the worker works in.
    pub fn command(&self, worker: &Worker, agent: &AgentTable, hooks: &[String], common_dir: &Path) -> Vec<String> {
        // The default model is one of the default agent.
        let is_default = self.agent_name(worker) == self.config.text("agent");
        let default = self.config.given("model").map(str::to_owned).filter(|_| is_default);
        let model = self.worker(&worker.name).model.or(default).or(agent.model.clone());
        // Not what the worktree says of itself, because its agent can write that.
        let git_dir = recorded_dir(common_dir, worker.tree()).ok().flatten().unwrap_or_default();
        let skip = agent.skip_permissions.clone().unwrap_or_else(|| vec![SKIP_PERMISSIONS.to_owned()]);
        let own = self.worker(&worker.name).skip_permissions;
        let skips = own.unwrap_or_else(|| self.config.settings.truth("skip_permissions"));
        // What an agent may do unasked that is to ask, unless a person has chosen.
        let allowed = self.config.items("allowed_tools");
        let allowed = if own == Some(false) && allowed == TOOLS { READING_TOOLS.to_owned() } else { allowed };
        let fields = CommandFields {
            worktree: worker.tree(),
            git_dir: &git_dir,
            git_common_dir: common_dir,
            model: model.as_deref(),
            permissions: if skips { &skip } else { &agent.ask_permissions },
            allowed_tools: &allowed,
            hooks,
        };
        fields.argv(&agent.command)
    }

    pub fn source(&self, env: &Env) -> PathBuf {
        self.path.join(expand_home(env, self.config.text("source")))
    }

    /// The branch that work lands on: the one of the configuration, else the one that `init` would choose. What the clone
    /// says of that does not count, because agents can write to it.
    pub fn branch(&self, git: &Git, source: &Path, common_dir: &Path) -> Result<String> {
        match self.config.given("branch") {
            Some(branch) => Ok(branch.to_owned()),
            None => {
                require_source(&self.path, source)?;
                default_branch(&git.common(common_dir)?, common_dir, None)
            }
        }
    }
}

/// The source of a directory that is a root, or why it is none.
pub type Proof = std::result::Result<PathBuf, String>;

/// The content of `owner.json`: the common directory of the repository that a root without a clone is for.
#[derive(Serialize, Deserialize)]
struct RootOwner {
    v: u64,
    common: PathBuf,
}

/// Writes for which repository a root without a clone is.
pub fn write_owner(root: &Path, common_dir: &Path) -> Result<()> {
    let owner = RootOwner { v: 1, common: real(common_dir) };
    let text =
        serde_json::to_string(&owner).map_err(|e| Failure::failed("cannot write the root's owner").because(e))?;
    fs::replace(&layout::owner(root), format!("{text}\n").as_bytes(), Some(fs::PRIVATE))
}

/// Whether `dir` is a root. A root's configuration runs commands, so the proof must be something that a cloned
/// repository cannot contain: `.git` is a real directory whose own configuration names a source, or `owner.json` names a
/// repository, and nobody else can write to these, `dir` and `config.toml`. The user's list decides in the end.
pub fn prove(env: &Env, dir: &Path) -> Result<Proof> {
    let none = |why: &str| Ok(Err(why.to_owned()));
    let (config, git_dir, owner) = (layout::config(dir), dir.join(".git"), layout::owner(dir));
    if !dir.is_dir() {
        return none("the directory does not exist");
    }
    if !config.is_file() {
        return none("it has no config.toml");
    }
    if let Some(text) = fs::read_no_follow(&owner)? {
        if let Some(why) = [dir, &owner, &config].into_iter().find_map(|path| fs::open_to_others(path, env.home())) {
            return none(&why);
        }
        let owner: Option<RootOwner> = serde_json::from_slice(&text).ok();
        let common = owner.filter(|owner| owner.v == 1).map(|owner| owner.common);
        let checkout = common.map(|common| match common.parent().filter(|_| common.ends_with(".git")) {
            Some(checkout) => checkout.to_path_buf(),
            None => common,
        });
        return Ok(checkout.ok_or_else(|| "its owner.json cannot be read".to_owned()));
    }
    if !git_dir.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return none("it has no .git directory");
    }
    if let Some(why) = [dir, &git_dir, &config].into_iter().find_map(|path| fs::open_to_others(path, env.home())) {
        return none(&why);
    }
    let source = Git::find(env)?.recorded_source(&git_dir)?;
    Ok(source.ok_or_else(|| "its .git/config does not set shopfloor.source".to_owned()))
}

/// The source of a root. Exit 2 unless the directory is one.
pub fn require_root(env: &Env, dir: &Path) -> Result<PathBuf> {
    prove(env, dir)?.map_err(|why| {
        failure::NOT_INITIALISED
            .failure(format!("{} is not a root of worker-ctl: {why}", dir.display()))
            .hint("create a root with `worker-ctl init --source REPOSITORY`, or name one with `WORKER_CTL_ROOT=DIR`")
    })
}

fn search(env: &Env) -> Result<PathBuf> {
    if let Some(enclosing) = find_enclosing(env)? {
        return Ok(enclosing);
    }
    let default = expand_home(env, DEFAULT);
    match Git::find(env)?.discover() {
        Ok(repo) => find_recorded(env, &repo, &default),
        // Here is a repository that git cannot use. Falling back would send work to another repository's source.
        Err(failure) if env.cwd.ancestors().any(|dir| dir.join(".git").symlink_metadata().is_ok()) => Err(failure),
        Err(failure) if failure.kind != "not_a_repository" => Err(failure),
        Err(_) => require_root(env, &default).map(|_| default),
    }
}

/// The root that the current directory belongs to. An unrelated repository below a root does not belong to it.
/// Everything inside a worker's worktree belongs to the root, even if its files claim otherwise, because the agent can
/// write them.
fn find_enclosing(env: &Env) -> Result<Option<PathBuf>> {
    let own = common_dir_of(&env.cwd);
    let mut found: Option<&Path> = None;
    for above in env.cwd.ancestors() {
        let is_part = found.map_or_else(
            || {
                let is_top = own == above.join(".git").canonicalize().ok() || layout::owner(above).is_file();
                env.cwd.starts_with(layout::worktrees(above)) || is_top
            },
            |inner| inner.starts_with(layout::worktrees(above)),
        );
        if is_part && prove(env, above)?.is_ok() {
            found = Some(above);
        }
    }
    Ok(found.map(Path::to_path_buf))
}

/// The root recorded in a repository. It is never another repository's root, because work would land on that
/// repository. Exit 3 when no root of the repository is listed: then this one may be from before there was a list.
fn find_recorded(env: &Env, repo: &Repo, default: &Path) -> Result<PathBuf> {
    let here = repo.home.checkout.display();
    let Some(root) = read_record(&repo.home.common_dir)? else {
        let other = prove(env, default)?.ok();
        let other = other.map(|source| format!("{} is the root of {}", default.display(), source.display()));
        return Err(unrecorded(&repo.home.checkout).details(other));
    };
    let root = real(&root);
    let shown = root.display();
    let source = prove(env, &root)?.map_err(|why| {
        let why = format!("{shown}, the root recorded in the repository {here}, is not a root: {why}");
        failure::NOT_A_ROOT.failure(why).hint(
            "restore it, name another root with `WORKER_CTL_ROOT=DIR`, or, if it is gone for good, record a new one: \
             `worker-ctl init`",
        )
    })?;
    let (own, all) = (real(&repo.home.common_dir), root_list(env)?.load()?);
    let common = all.get(&root).cloned().unwrap_or_else(|| common_of(env, &source));
    // A copied repository records the root of the original. A repository that is gone may have moved here.
    if common.is_dir() && real(&common) != own {
        let source = source.display();
        let why = format!("{shown}, the root recorded in the repository {here}, is the root of {source}");
        let hint = "create a root for this repository with `worker-ctl init --target DIR`, or name that root with `WORKER_CTL_ROOT=DIR`";
        return Err(failure::NOT_INITIALISED.failure(why).hint(hint));
    }
    match all.contains_key(&root) || all.values().any(|common| real(common) == own) {
        true => Ok(root),
        false => Err(Failure { exit: Exit::Decide, ..unlisted(&root) }),
    }
}

/// The common directory of a source, or the source itself where no repository is.
pub fn common_of(env: &Env, source: &Path) -> PathBuf {
    let found = env.at(source).and_then(|env| Git::find(&env)?.discover());
    found.map_or_else(|_| source.to_path_buf(), |repo| repo.common_dir)
}

/// The root that a repository's common directory records, if any.
pub fn read_record(common_dir: &Path) -> Result<Option<PathBuf>> {
    let bytes = fs::read(&record_file(common_dir)?)?;
    Ok(bytes.map(|bytes| PathBuf::from(OsStr::from_bytes(bytes.trim_ascii_end()))).filter(|path| path.is_absolute()))
}

/// The same, unless a command was killed before it finished that root: the user's list names it, its state was never changed,
/// and it lacks its configuration, which is written last.
pub fn read_finished(env: &Env, common_dir: &Path) -> Result<Option<PathBuf>> {
    let Some(recorded) = read_record(common_dir)? else { return Ok(None) };
    let is_listed = known_dirs::roots(env)?.get(&real(&recorded)) == Some(&real(common_dir));
    let is_new = layout::state(&recorded).is_file() && !layout::backup(&recorded, 0).exists();
    let is_half_made = is_listed && is_new && layout::config(&recorded).symlink_metadata().is_err();
    Ok((!is_half_made).then_some(recorded))
}

/// The file in a source's git directory that records which root was cloned from it.
pub fn record_file(common_dir: &Path) -> Result<PathBuf> {
    Ok(layout::private(common_dir)?.join("root"))
}

/// The user's list of roots. Exit 2 where there is no place for it.
pub fn root_list(env: &Env) -> Result<DirList> {
    DirList::roots(env).ok_or_else(|| Env::no_state_home("the list of roots"))
}

/// Lists a root as the one of this repository; without one, takes the root out of the list.
pub fn list_root(env: &Env, root: &Path, common: Option<&Path>) -> Result<()> {
    let list = root_list(env)?;
    let common = common.map(real);
    if let Some(common) = &common {
        [root, common].into_iter().try_for_each(require_listable)?;
    }
    list.update(|all| {
        all.remove(root);
        all.extend(common.map(|common| (root.to_path_buf(), common)));
    })
}

/// What leads a root to its source again, which has moved.
pub fn follow_source(root: &Path) -> String {
    let config = layout::config(root);
    format!(
        "if it has moved, set `source` in `[repo]` of {} to where it is, then run `worker-ctl root trust {}`",
        config.display(),
        shell_word(root)
    )
}

/// Exit 4 when the source of a root is missing.
pub fn require_source(root: &Path, source: &Path) -> Result<()> {
    match source.is_dir() {
        true => Ok(()),
        false => Err(Failure::failed(format!("the source {} is missing", source.display()))
            .hint(format!("bring it back; {}", follow_source(root)))),
    }
}

/// The failure of a repository that has no root.
fn unrecorded(here: &Path) -> Failure {
    failure::NOT_INITIALISED
        .failure(format!("no root of worker-ctl is recorded in the repository {}", here.display()))
        .hint("create a root with `worker-ctl init`, or name one with `WORKER_CTL_ROOT=DIR`")
}

/// The failure of a root that the list does not name.
fn unlisted(root: &Path) -> Failure {
    failure::UNLISTED_ROOT
        .failure(format!("{} is not on your list of roots, so it is not used", root.display()))
        .hint(format!("see what it would run, and list it: `worker-ctl root trust {}`", shell_word(root)))
}

/// The default branch: the named one, else the source's `origin/HEAD`, else `main` or `master` if exactly one of them
/// exists. It does not depend on the branch that is checked out. A symbolic ref is no branch: it is passed over, and
/// refused where it is named (exit 2).
pub fn default_branch(git: &Git, source: &Path, named: Option<&str>) -> Result<String> {
    let ask = |args: &[&str]| -> Result<String> { Ok(git.cmd(source).args(args.iter().copied()).capture()?.text()) };
    let listed = ask(&["for-each-ref", "--format=%(refname:lstrip=2) %(symref:lstrip=2)", "refs/heads"])?;
    let find = |name: &str| listed.lines().filter_map(|line| line.split_once(' ')).find(|(branch, _)| *branch == name);
    // No work lands on a symbolic ref: that is only another name of a branch.
    let exists = |name: &str| find(name).is_some_and(|(_, of)| of.is_empty());
    if let Some(name) = named.filter(|name| !exists(name)) {
        return Err(match find(name) {
            Some((_, of)) => Failure::usage(format!("`{name}` is another name of the branch `{of}`"))
                .hint(format!("name that one: `--branch {}`", shell_word(of.as_ref()))),
            None => Failure::usage(format!("the source has no branch `{name}`"))
                .hint("`git branch` in the source lists its branches"),
        });
    }
    let head = ask(&["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"])?;
    let head = head.trim().strip_prefix("refs/remotes/origin/").filter(|name| exists(name));
    match (named.or(head), exists("main"), exists("master")) {
        (Some(name), ..) => Ok(name.to_owned()),
        (None, true, false) => Ok("main".into()),
        (None, false, true) => Ok("master".into()),
        _ if listed.is_empty() => {
            Err(Failure::usage("the source has no commit yet").hint("make a commit in the source first"))
        }
        _ => Err(Failure::usage("cannot tell which branch accepted work lands on").hint(
            "name the branch: `worker-ctl init --branch NAME`, or, in a root, `branch` in `[repo]` of config.toml",
        )),
    }
}
