//! `init`: creates a root for a repository. In the source it writes only the record of the root.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use shopfloor_core::config::expand_home;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, LFS, Repo, Setting, answer as git_answer, bare_by_mistake, written};
use shopfloor_core::known_dirs::{DirList, require_listable};
use shopfloor_core::lock::Lock;
use shopfloor_core::path::real;
use shopfloor_core::proc;
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::{Ui, printable};

use crate::apply::clone_hooks;
use crate::context::{Context, Flags};
use crate::failure;
use crate::layout::{self, RootLock};
use crate::root::{
    DEFAULT, default_branch, list_root, prove, read_finished, read_record, record_file, root_list, write_owner,
};
use crate::store::{self, State};
use crate::work_repo::{PUSH_URL, has_clone};

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Create the root in DIR [default: ~/workers, else ~/workers/NAME, ~/workers/NAME-2 and so on, whichever is free]
    #[arg(long, value_name = "DIR")]
    pub target: Option<PathBuf>,
}

/// The global flags, which `init` reads in its own way: `--root`, and those of settings.
type CommonFlags<'a> = (Option<&'a Path>, &'a Flags);

/// The branch that the clone's HEAD names. It never exists.
const NO_BRANCH: &str = "worker-ctl-none";

/// A root that is about to be created.
struct NewRoot {
    root: PathBuf,
    repo: Repo,
    source: PathBuf,
    branch: String,
    /// The root that the repository has recorded until now.
    recorded: Option<PathBuf>,
}

pub fn run(ui: &Ui, env: &Env, args: &Args, flags: CommonFlags<'_>) -> Result<Exit> {
    // Of two at once the second one finds the root of the first.
    let list = DirList::roots(env).filter(|_| !ui.is_dry());
    let _lock = list.map(|file| Lock::take(&file.path().with_extension("new.lock"))).transpose()?;
    let (git, mut new) = plan(env, args, flags)?;
    if ui.is_dry() {
        let would = format!("create {} for {} of {}", new.root.display(), new.branch, new.source.display());
        return Ok(ui.would(&answer(&new), &[would]));
    }
    new.repo.remember_main_checkout(env)?;
    fs::create_private_dir(&new.root)?;
    new.root = real(&new.root);
    make_clone(ui, env, &git, &new)?;
    record_root(env, &new)?;
    let root = new.root.as_path();
    if let Some(before) = new.recorded.as_ref().filter(|before| **before != new.root) {
        let (root, before) = (root.display(), before.display());
        ui.note(format!("the repository now records {root} as its root; name the other root with `--root {before}`"));
    }
    ui.json_or_line(&answer(&new), printable(&root.to_string_lossy()));
    Ok(Exit::Done)
}

/// The answer with `--json`.
fn answer(NewRoot { root, source, branch, .. }: &NewRoot) -> Value {
    json!({ "root": root.to_string_lossy(), "source": source.to_string_lossy(), "branch": branch })
}

/// Creates a root without a clone, for a repository that has none. Returns it; none in a dry run.
pub fn run_without_clone(
    (ui, env): (&Ui, &Env),
    (there, common): (&Path, &Path),
    root: Option<&Path>,
    flags: &Flags,
) -> Result<Option<PathBuf>> {
    let list = DirList::roots(env).filter(|_| !ui.is_dry());
    let _lock = list.map(|file| Lock::take(&file.path().with_extension("new.lock"))).transpose()?;
    // Another command may have made it meanwhile.
    if let Some(recorded) = read_finished(env, common)? {
        return Ok(Some(recorded));
    }
    let (_, mut new) = plan(&env.at(there)?, &Args { target: None }, (root, flags))?;
    if new.repo.common_dir != common {
        return Err(Failure::usage(format!("{} is another repository than the worktree's", new.source.display()))
            .hint("leave `--source` and WORKER_CTL_SOURCE out"));
    }
    if ui.is_dry() {
        return Ok(None);
    }
    fs::create_private_dir(&new.root)?;
    new.root = real(&new.root);
    write_owner(&new.root, &new.repo.common_dir)?;
    record_root(env, &new)?;
    Ok(Some(new.root))
}

/// Makes the clone of a root that has none, for its first worker in a worktree of the clone.
pub fn add_clone(ctx: &Context<'_>) -> Result<()> {
    let _lock = ctx.lock_root(RootLock::Fetch)?;
    if has_clone(&ctx.root.path) {
        return Ok(());
    }
    let (root, source, branch) = (ctx.root.path.clone(), ctx.source(), ctx.clone.branch.clone());
    let mut git = Git::find(&ctx.env.at(&source)?)?;
    let repo = git.discover()?;
    refuse_partial(&git, &repo)?;
    let new = NewRoot { root, repo, source, branch, recorded: None };
    fs::create_private_dir(&layout::worktrees(&new.root))?;
    make_clone(ctx.ui, ctx.env, &git, &new)?;
    fs::remove(&layout::owner(&new.root))
}

/// Finds the repository, its branch, and a directory for the root. Nothing is written.
fn plan(env: &Env, args: &Args, (root, flags): CommonFlags<'_>) -> Result<(Git, NewRoot)> {
    let absolute = |path: &Path| env.cwd.join(expand_home(env, path));
    let given =
        |flag: Option<&Path>, name: &str| flag.map(Path::to_path_buf).or_else(|| env.var(name).map(PathBuf::from));
    let (source, branch) =
        (given(flags.value("source"), "WORKER_CTL_SOURCE"), given(flags.value("branch"), "WORKER_CTL_BRANCH"));
    let target = given(args.target.as_deref().or(root), "WORKER_CTL_ROOT");
    if let Some(source) = source.as_deref().map(absolute).filter(|source| !source.is_dir()) {
        return Err(Failure::usage(format!("the source {} is not a directory", source.display()))
            .hint("name a repository on this machine with `--source`"));
    }
    let there = env.at(&source.as_deref().map_or_else(|| env.cwd.clone(), absolute))?;
    let mut git = Git::find(&there)?;
    let repo = git.discover()?;
    if let Ok(source) = prove(env, &repo.main_checkout)? {
        let why = format!("{} is itself a root, of {}", repo.main_checkout.display(), source.display());
        return Err(failure::EXISTS.failure(why).hint("use that root, or name another repository with `--source`"));
    }
    if let (None, Some(failure)) = (&repo.worktree, bare_by_mistake(&repo.common_dir)) {
        return Err(failure);
    }
    let source = repo.worktree.clone().unwrap_or_else(|| repo.common_dir.clone());
    refuse_partial(&git, &repo)?;
    let named = branch.map(|name| name.to_string_lossy().into_owned());
    let branch = default_branch(&git, &source, named.as_deref())?;
    let recorded = read_record(&repo.common_dir)?;
    // One that is gone is replaced.
    let of = recorded.as_ref().map(|recorded| prove(env, recorded)).transpose()?.and_then(std::result::Result::ok);
    let root = match (&target, recorded.as_ref().zip(of)) {
        (Some(target), _) => absolute(target),
        (None, Some((recorded, source))) => {
            let why = format!("{} is a root already, of {}", recorded.display(), source.display());
            return Err(failure::EXISTS
                .failure(why)
                .hint("use that root, or create a second one with `--target DIR`, which is then recorded instead"));
        }
        (None, None) => default_target(env, &git, &repo.main_checkout, &source)?,
    };
    [&root, &repo.common_dir].into_iter().try_for_each(|path| require_listable(path))?;
    require_nameable(&root, "choose another directory with `--root DIR`")?;
    require_nameable(&source, "give its directory a name in UTF-8")?;
    refuse_taken(&git, &root, &source)?;
    // A home that is a repository has the usual place in it.
    if target.is_some() {
        refuse_inside(&git, &root, &source, &repo.common_dir)?;
    }
    // Of a root that cannot be recorded nothing is made.
    let (list, record) = (root_list(env)?, record_file(&repo.common_dir)?);
    [list.path(), &record].into_iter().filter_map(|path| path.parent()).try_for_each(fs::require_writable)?;
    Ok((git, NewRoot { root, repo, source, branch, recorded }))
}

/// Exit 2 for a path that neither the configuration nor the state of a root can name.
fn require_nameable(path: &Path, hint: &str) -> Result<()> {
    match path.to_str() {
        Some(_) => Ok(()),
        None => Err(Failure::usage(format!("{} cannot be used: its path is not UTF-8", path.display())).hint(hint)),
    }
}

/// Exit 2 for a partial clone that lacks objects: git gives them to nobody, and fetches them only where it needs them.
fn refuse_partial(git: &Git, repo: &Repo) -> Result<()> {
    let remote = |(key, _): &Setting| Some(key.strip_prefix("remote.")?.strip_suffix(".promisor")?.to_owned());
    let Some(remote) = git.settings_in(&repo.common_dir)?.iter().find_map(remote) else { return Ok(()) };
    let all = ["rev-list", "--objects", "--quiet", "--missing=error", "--branches"];
    if git.cmd(&repo.common_dir).var("GIT_NO_LAZY_FETCH", "1").args(all).capture()?.status.success() {
        return Ok(());
    }
    let why = format!("{} is a partial clone, which lacks objects that workers need", repo.main_checkout.display());
    let unset = shell_word(format!("remote.{remote}.partialCloneFilter").as_ref());
    let (unset, remote) = (format!("git config --unset-all {unset}"), shell_word(remote.as_ref()));
    Err(Failure::usage(why).hint(format!("fill it: `{unset} && git fetch --refetch {remote}`")))
}

/// Creates the clone, without a checkout, and with the hooks of the source. It gets its name when it is complete, because
/// git does not go on where another git was killed.
fn make_clone(ui: &Ui, env: &Env, git: &Git, new: &NewRoot) -> Result<()> {
    let (root, git_dir) = (new.root.as_path(), new.root.join(".git"));
    fs::sweep_temporaries(root)?;
    if git_dir.symlink_metadata().is_ok() {
        fill_clone(env, git, new, root)?;
    } else {
        let half_made = root.join(fs::unique_name());
        fs::create_private_dir(&half_made)?;
        fill_clone(env, git, new, &half_made)?;
        fs::rename_over(&half_made.join(".git"), &git_dir)?;
        fs::remove_empty_dir(&half_made);
    }
    let hooks = clone_hooks::compare(env, &new.source, root, None)?;
    hooks.bring(env)?.iter().for_each(|warning| ui.warn(warning));
    Ok(())
}

/// Makes the repository in `dir`, with the settings and the branches. Every step may be repeated.
fn fill_clone(env: &Env, git: &Git, new: &NewRoot, dir: &Path) -> Result<()> {
    let run = |dir: &Path, args: &[&str]| -> Result<String> {
        let cmd = git.cmd(dir).var("GIT_DEFAULT_REF_FORMAT", "files");
        git_answer(args[0], &cmd.args(args.iter().copied()).capture()?)
    };
    let format = format!("--object-format={}", run(&new.source, &["rev-parse", "--show-object-format"])?);
    run(dir, &["init", "--quiet", "--template=", "--initial-branch", NO_BRANCH, &format])?;
    let settings = written(&settings(env, git, new)?);
    let file = dir.join(".git/config");
    let own = fs::read_text(&file)?.unwrap_or_default();
    if !own.ends_with(&settings) {
        fs::replace(&file, &[own, settings].concat(), None)?;
    }
    let fetch =
        ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--update-shallow", "--no-write-fetch-head"];
    git_answer("fetch", &git.fetching(dir).args(fetch).arg("origin").capture()?)?;
    let branch = format!("refs/remotes/origin/{}^{{commit}}", new.branch);
    run(dir, &["rev-parse", "--verify", "--quiet", &branch]).map(drop)
}

/// The settings of the source that its clone gets too. Some agents run git without the user's own configuration, and a
/// commit needs an identity.
pub const KEPT: [&str; 4] = ["user.name", "user.email", "merge.ledger-synth.name", "merge.ledger-synth.driver"];

/// The settings of the clone.
fn settings(env: &Env, git: &Git, new: &NewRoot) -> Result<Vec<Setting>> {
    let source = new.source.as_os_str();
    let own = |key: &str, value: &OsStr| (key.to_owned(), Some(value.to_owned()));
    let mut settings = vec![
        own("remote.origin.url", source),
        own("remote.origin.fetch", OsStr::new("+refs/heads/*:refs/remotes/origin/*")),
        // No agent pushes.
        own("remote.origin.pushurl", OsStr::new(PUSH_URL)),
        own("rerere.enabled", OsStr::new("true")),
        own("gc.auto", OsStr::new("0")),
        own("core.logAllRefUpdates", OsStr::new("true")),
        own("shopfloor.source", source),
    ];
    let theirs = git.settings_in(&new.repo.common_dir)?;
    settings.extend(theirs.into_iter().filter(|(key, _)| KEPT.contains(&key.as_str())));
    // As `git lfs install` writes them. Without git-lfs, its pointer files are checked out.
    if proc::find(env, "git-lfs").is_some() {
        settings.extend(LFS.map(|(key, value)| own(key, OsStr::new(value))));
    }
    Ok(settings)
}

/// Writes the state, the line of the user's list, the repository's record of the root, and the configuration. The
/// configuration comes last, because it makes the directory a root. The list comes before the record, because it proves
/// that a root without a configuration is ours.
fn record_root(env: &Env, new: &NewRoot) -> Result<()> {
    let NewRoot { root, repo, source, branch, .. } = new;
    for dir in [".worktrees", "logs", "locks"] {
        fs::create_private_dir(&root.join(dir))?;
    }
    store::create(root, &State::new(&store::new_tmux_socket(env, root)?))?;
    list_root(env, root, Some(&repo.common_dir))?;
    let record = record_file(&repo.common_dir)?;
    fs::create_private_dir(record.parent().unwrap_or(&repo.common_dir))?;
    fs::replace(&record, format!("{}\n", root.display()).as_bytes(), Some(fs::PRIVATE))?;
    if has_clone(root) {
        Git::find(env)?.in_clone(root, &layout::host_git(root), source)?;
    }
    fs::replace(&layout::config(root), config(source, branch).as_bytes(), None)
}

/// The directory of a new root when none is named: `~/workers`, or the first free one below if that is taken, by the name of
/// the main checkout. A root of this very source is not passed over, because its workers would be out of sight, unless all of
/// them are gone with an earlier repository at its path. Nothing is made in what may be somebody's checkout: the caller
/// refuses that.
fn default_target(env: &Env, git: &Git, checkout: &Path, source: &Path) -> Result<PathBuf> {
    let default = expand_home(env, DEFAULT);
    let stem = checkout.file_stem().filter(|_| checkout.extension().is_some_and(|end| end == "git"));
    let Some(name) = stem.or(checkout.file_name()).filter(|_| default.is_dir()) else { return Ok(default) };
    let (mut dir, mut count) = (default.clone(), 0);
    loop {
        let proof = prove(env, &dir)?;
        let is_free = match &proof {
            Ok(other) => other == source && (has_clone(&dir) || has_worktrees(&dir)),
            Err(_) => refuse_taken(git, &dir, source).is_ok(),
        };
        if is_free || count == 0 && proof.is_err() && !is_outside_repositories(env, &dir) {
            return Ok(dir);
        }
        count += 1;
        let end = if count > 1 { format!("-{count}") } else { String::new() };
        dir = default.join([name, OsStr::new(&end)].into_iter().collect::<OsString>());
    }
}

/// Whether a worktree of a worker is there, or nobody can tell.
fn has_worktrees(root: &Path) -> bool {
    store::load_any(root).map_or(true, |state| state.workers.values().any(|worker| worker.tree().is_dir()))
}

/// Whether it is certain that a directory is no repository and lies in none.
fn is_outside_repositories(env: &Env, dir: &Path) -> bool {
    let found = env.at(dir).and_then(|there| Git::find(&there)?.discover());
    found.is_err_and(|failure| failure.kind == "not_a_repository")
}

/// Exit 1 when the directory has anything but the files that a killed `init` for this source left.
pub fn refuse_taken(git: &Git, root: &Path, source: &Path) -> Result<()> {
    let refuse = |why: String, hint: &str| Err(failure::EXISTS.failure(why).hint(hint));
    let other = "choose another directory with `--root DIR`";
    if layout::config(root).exists() {
        let hint = "use that root, or choose another directory with `--root DIR`";
        return refuse(format!("{} is a root already", root.display()), hint);
    }
    if !root.is_dir() {
        return match root.symlink_metadata().is_ok() {
            true => refuse(format!("{} is not a directory", root.display()), other),
            false => Ok(()),
        };
    }
    let is_ours = |name: &str| {
        [".git", ".worktrees", "git", "locks", "logs", "owner.json", "state.json"].contains(&name)
            || name.starts_with(fs::RESERVED)
    };
    if fs::list(root)?.iter().any(|name| !name.to_str().is_some_and(is_ours)) {
        return refuse(format!("{} is not empty", root.display()), other);
    }
    if root.join(".git").symlink_metadata().is_err() {
        return Ok(());
    }
    let is_of_source = git.text(root, &["config", "--local", "--get", "shopfloor.source"])? == source.to_string_lossy();
    let is_new = git.text(root, &["symbolic-ref", "HEAD"])? == format!("refs/heads/{NO_BRANCH}")
        && git.text(root, &["for-each-ref"])?.is_empty();
    match is_of_source || is_new {
        true => Ok(()),
        false => refuse(format!("{} is another repository", root.display()), other),
    }
}

/// Exit 2 for a root that is named in its own source, where it would be a change, unless git ignores the place.
fn refuse_inside(git: &Git, root: &Path, source: &Path, common_dir: &Path) -> Result<()> {
    let there = root.ancestors().find(|dir| dir.exists()).unwrap_or(root);
    let place = real(there).join(root.strip_prefix(there).unwrap_or(root));
    // The name of a directory that is not there yet ends in a slash.
    let below = place.strip_prefix(real(source)).ok().map(|below| below.join(""));
    let is_seen = |below: PathBuf| git.ignored(source, &[below], None).map_or(true, |ignored| ignored.is_empty());
    if !place.starts_with(real(common_dir)) && !below.is_some_and(is_seen) {
        return Ok(());
    }
    let why = format!("{} lies in {}, of which it would be the root", root.display(), source.display());
    Err(Failure::usage(why).hint("choose another directory with `--root DIR`, outside of it"))
}

/// The configuration of a new root.
pub fn config(source: &Path, branch: &str) -> String {
    let quoted = |text: &str| toml_edit::Value::from(text).to_string();
    format!(
        "[defaults]\nagent = \"claude\"\n# model = \"opus\"\n# runner = \"sandbox\"\nskip_permissions = true\n\
         allowed_tools = [\"Bash\", \"Edit\", \"Read\", \"Write\", \"Glob\", \"Grep\"]\npatrol_interval_secs = 60\nsound_on_review = true\n\n\
         [repo]\nsource ={}\nbranch ={}\n",
        format_args!(" {}", quoted(&source.to_string_lossy()).trim()),
        format_args!(" {}", quoted(branch).trim())
    )
}
