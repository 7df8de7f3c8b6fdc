//! A worktree of the person's own repository that is to become a worker's.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, Repo, has_no_files, recorded_path};
use shopfloor_core::git_hook;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::real;
use shopfloor_core::slug::ascii_slug;
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::written_files::Listed;

use crate::context::Context;
use crate::failure;
use crate::names::LONGEST_NAME;
use crate::store::{self, State};
use crate::work_repo::{MergeResult, WorkRepo, is_rebasing};
use crate::worker::{Adopted, Worker};

/// A linked worktree on a branch.
#[derive(Clone, Debug)]
pub struct Adoptable {
    pub path: PathBuf,
    pub branch: String,
    pub repo: Repo,
    pub record: Option<SpawnRecord>,
}

/// What worktree-spawn has recorded of the worktree's agent, as far as it counts here.
#[derive(Clone, Debug, Default)]
pub struct SpawnRecord {
    slug: String,
    /// The branch that its parent worked on, by a record that is ours.
    target: Option<String>,
    /// The branch that the worktree's own is called after.
    namesake: Option<String>,
}

/// The branches on which work of adopted worktrees lands, and which are gone.
pub fn gone_targets(ctx: &Context<'_>, state: &State) -> Result<BTreeSet<String>> {
    let Some(first) = state.workers.values().find(|worker| worker.adopted.is_some()) else {
        return Ok(BTreeSet::new());
    };
    let targets: BTreeSet<&str> = state.workers.values().filter_map(Worker::target).collect();
    let names: Vec<String> = targets.iter().map(|branch| format!("refs/heads/{branch}")).collect();
    let found = ctx.of(first)?.repo.commits(&names)?;
    let gone = targets.into_iter().zip(found).filter(|(_, sha)| sha.is_none());
    Ok(gone.map(|(branch, _)| branch.to_owned()).collect())
}

/// Finds a worktree. Exit 2 unless it is a linked worktree of the person's own repository, by that repository's record.
fn find_linked(env: &Env, path: &Path) -> Result<(PathBuf, Git, Repo)> {
    let refuse = |why: String, hint: String| Err(Failure::usage(why).hint(hint));
    let list = || "name a linked worktree: `git worktree list` shows them".to_owned();
    let Ok(path) = path.canonicalize() else {
        return refuse(format!("there is no worktree {}", path.display()), list());
    };
    let shown = path.display();
    if !path.join(".git").symlink_metadata().is_ok_and(|meta| meta.is_file()) {
        return refuse(format!("{shown} is not the top of a linked worktree"), list());
    }
    let mut git = Git::find(&env.at(&path)?)?;
    let repo = git.discover()?;
    if repo.worktree.as_ref() != Some(&path) || !repo.is_linked() {
        return refuse(format!("{shown} is the main checkout, or no worktree of its own"), list());
    }
    if repo.home.common_dir != repo.common_dir {
        let workers = store::load(&repo.main_checkout).map(|state| state.workers).unwrap_or_default();
        let hint = match workers.values().any(|worker| worker.tree() == path) {
            true => "it has a worker already: see `worker-ctl status`",
            false => "adopt one of your own repository; `worker-ctl add NAME` makes a worker in the clone",
        };
        return refuse(format!("{shown} is a worktree of a root's clone"), hint.into());
    }
    // As after `mv`. Where something is in its place, an agent may lead us to another's record.
    if let Some(place) = recorded_path(&repo.git_dir)?.filter(|place| place.symlink_metadata().is_err()) {
        return refuse(
            format!("git has recorded {shown} at {}, where nothing is", place.display()),
            format!("if you moved it, tell git so: `git worktree repair {}`", shell_word(&path)),
        );
    }
    git.guarded(&repo.common_dir, &path)?;
    Ok((path, git, repo))
}

/// Looks at a worktree. Exit 2 unless it is one that [`find_linked`] finds, and on a branch; exit 1 while it is being rebased, or
/// made.
pub fn look(env: &Env, path: &Path) -> Result<Adoptable> {
    let (path, git, repo) = find_linked(env, path)?;
    let shown = path.display();
    if is_rebasing(&path) {
        return Err(failure::WRONG_STATE
            .failure(format!("{shown} is being rebased"))
            .hint("finish the rebase, then run the same command again"));
    }
    let Some(branch) = git.branch(&repo)? else {
        return Err(Failure::usage(format!("{shown} is on no branch"))
            .hint(format!("give it one: `git -C {} switch -c NAME`", shell_word(&path))));
    };
    refuse_checked_out_twice(&git, &repo.common_dir, &path, &branch)?;
    refuse_half_made(&repo, &path, &branch)?;
    let record = read_record(env, &repo, &path, &branch)?;
    Ok(Adoptable { path, branch, repo, record })
}

/// Exit 1 for a worktree of worktree-spawn's, or without files, whose spawn is under way, or was killed: the next one would
/// undo it. A journal alone, which an agent can write, says nothing of others.
fn refuse_half_made(repo: &Repo, path: &Path, branch: &str) -> Result<()> {
    let dir = repo.shared_state("worktree-spawn").join("journal");
    let journals = fs::list(&dir).unwrap_or_default().into_iter().map(|name| dir.join(name));
    let is_its = |journal: PathBuf| {
        let text = fs::read_no_follow(&journal).ok().flatten().unwrap_or_default();
        let spawn = serde_json::from_slice::<serde_json::Value>(&text).unwrap_or_default();
        spawn["branch"].as_str().or(spawn["id"].as_str()) == Some(branch)
    };
    let mut journals = journals.filter(|journal| journal.extension().is_some_and(|end| end == "json"));
    let is_spawns = has_no_files(path) || repo.worktree_state("worktree-spawn").join("identity.json").exists();
    match is_spawns && journals.any(is_its) {
        false => Ok(()),
        true => Err(failure::WRONG_STATE
            .failure(format!("the spawn of {} is under way, or was killed", path.display()))
            .hint("once nothing works on it any more, `worktree-spawn repair` undoes it, or says why it stays")),
    }
}

/// Where git has moved the worktree of an adopted worker, whatever branch it is on. Its record leads there, and what is there
/// must lead back to the same record.
pub fn moved(ctx: &Context<'_>, worker: &Worker) -> Option<String> {
    let adopted = worker.adopted.as_ref()?;
    if worker.tree().symlink_metadata().is_ok() && !worker.is_replaced(&ctx.source()) {
        return None;
    }
    let record = ctx.of(worker).ok()?.repo.common.join("worktrees").join(&adopted.record);
    let (path, git, repo) = find_linked(ctx.env, &recorded_path(&record).ok()??).ok()?;
    let is_its = !is_leaving(&path) && is_of(&repo, git.branch(&repo).ok()?.as_ref(), worker);
    is_its.then(|| path.to_string_lossy().into_owned())
}

/// Whether a worktree on this branch is the one that a worker was made from, which may have been moved since.
fn is_of(repo: &Repo, branch: Option<&String>, worker: &Worker) -> bool {
    let is_its = |Adopted { record, record_id, .. }: &Adopted| {
        let is_same = match record_id {
            Some(id) => fs::dir_id(&repo.git_dir).as_ref() == Some(id),
            None => branch == Some(&worker.branch),
        };
        is_same && !record.is_empty() && repo.git_dir.ends_with(record)
    };
    worker.adopted.as_ref().is_some_and(is_its)
}

/// Whether a removal is under way, which gives the worktree such a name first.
pub fn is_leaving(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(fs::RESERVED))
}

/// Exit 2 while a branch is checked out in another worktree, too. git does not do that, but an agent can write the `HEAD` of
/// its worktree, and what we do to the worker's branch would be done to the other one's.
pub fn refuse_checked_out_twice(git: &Git, common_dir: &Path, own: &Path, branch: &str) -> Result<()> {
    let all = git.list_worktrees(common_dir)?;
    match all.into_iter().find(|tree| tree.branch.as_deref() == Some(branch) && real(&tree.path) != own) {
        None => Ok(()),
        Some(other) => Err(failure::WRONG_STATE
            .failure(format!("{branch} is checked out in {}, too", other.path.display()))
            .hint(format!("give the worktree a branch of its own: `git -C {} switch -c NAME`", shell_word(own)))),
    }
}

/// Reads the record of worktree-spawn. An agent can write it: only one that the user's own list has, about this directory and
/// this branch, says where work lands. Any other proposes a name, and a branch for `add` to look at.
fn read_record(env: &Env, repo: &Repo, path: &Path, branch: &str) -> Result<Option<SpawnRecord>> {
    let file = repo.worktree_state("worktree-spawn").join("identity.json");
    let text = fs::read_no_follow(&file)?.unwrap_or_default();
    let Ok(record) = serde_json::from_slice::<serde_json::Value>(&text) else { return Ok(None) };
    let field = |name: &str| record[name].as_str().map(str::to_owned).filter(|text| !text.contains(char::is_control));
    let Some(slug) = field("slug") else { return Ok(None) };
    // The branch of a subtree is its parent's with its own slug.
    let namesake = branch.rsplit_once('.').filter(|(_, last)| *last == slug).map(|(parent, _)| parent.to_owned());
    let is_ours = field("birth_branch").as_deref() == Some(branch)
        && field("directory") == fs::dir_id(path)
        && Listed::read(env).has(&file, &text);
    Ok(Some(SpawnRecord { slug, target: field("target").filter(|_| is_ours), namesake }))
}

impl Adoptable {
    /// Whether it is the worktree that a worker was made from.
    pub fn is_of(&self, worker: &Worker) -> bool {
        is_of(&self.repo, Some(&self.branch), worker)
    }

    /// A free name: the slug that it has, or else the last part of its path.
    pub fn free_name(&self, is_taken: impl Fn(&str) -> bool) -> Result<String> {
        let last = self.path.file_name().unwrap_or_default().to_string_lossy();
        let named = self.record.as_ref().map_or(last.as_ref(), |record| record.slug.as_str());
        let slug = ascii_slug(named, LONGEST_NAME, "worker").unwrap_or_else(|| "worker".into());
        let numbered = (2..1000).map(|n| {
            let end = format!("-{n}");
            format!("{}{end}", &slug[..slug.len().min(LONGEST_NAME - end.len())])
        });
        // `all` is everybody, and the others are what commands and git call the main checkout.
        let is_kept = |name: &String| ["all", "main", "root", "head"].contains(&name.as_str());
        let free = std::iter::once(slug.clone()).chain(numbered).find(|name| !is_kept(name) && !is_taken(name));
        free.ok_or_else(|| {
            Failure::usage("no name is free").hint("name the worker: `worker-ctl add NAME --worktree PATH`")
        })
    }

    /// The branch that its work lands on: the named one, else the one that its parent works on, else the root's. Exit 2
    /// unless that is another branch and exists here, or if only its name tells of a parent that is no worker.
    pub fn target(&self, ctx: &Context<'_>, named: Option<&str>) -> Result<String> {
        let record = self.record.clone().unwrap_or_default();
        let usual = &*ctx.clone.branch;
        let is_workers = |branch: &str| -> Result<bool> {
            Ok(ctx.state()?.workers.values().any(|worker| worker.adopted.is_some() && worker.branch == branch))
        };
        if let (None, None, Some(namesake)) = (named, &record.target, &record.namesake)
            && namesake != usual
            && !is_workers(namesake)?
        {
            let message = format!("{} is called after {namesake}, where no worker works", self.branch);
            let [namesake, usual] = [namesake.as_str(), usual].map(|branch| shell_word(branch.as_ref()));
            return Err(Failure::usage(message)
                .hint(format!("say where its work lands: `--target {namesake}` or `--target {usual}`")));
        }
        let key = format!("branch.{}.workmux-base", self.branch);
        let workmux = || ctx.clone.git.config(&self.repo.common_dir, &key, None);
        let target = match named.map(str::to_owned).or(record.target).or(record.namesake) {
            Some(target) => target,
            None => workmux()?.map_or_else(|| usual.to_owned(), |name| name.to_string_lossy().into_owned()),
        };
        self.require_target(&Git::find(ctx.env)?, &target).map(|()| target)
    }

    /// Exit 2 unless this is another branch than the worktree's, exists here, and is no other name of a branch.
    pub fn require_target(&self, git: &Git, target: &str) -> Result<()> {
        let hint = "name another branch with `--target BRANCH`; `git branch` lists them";
        if target == self.branch {
            return Err(Failure::usage(format!("{} is the branch that its work would land on", self.branch)).hint(hint));
        }
        let common = &self.repo.common_dir;
        let name = format!("refs/heads/{target}");
        let ask = |args: &[&str]| git.common(common)?.cmd(common).args(args.iter().copied()).capture();
        if let Some(of) = ask(&["symbolic-ref", "--quiet", &name])?.text().strip_prefix("refs/heads/") {
            return Err(Failure::usage(format!("`{target}` is another name of the branch `{of}`"))
                .hint(format!("name that one: `--target {}`", shell_word(of.as_ref()))));
        }
        match ask(&["rev-parse", "--verify", "--quiet", &name])?.status.success() {
            true => Ok(()),
            false => Err(Failure::usage(format!("there is no branch `{target}` here")).hint(hint)),
        }
    }
}

/// The hooks of a repository that are not ours, and the settings by which git runs or reaches something, each with a digest:
/// agents in the repository can write them, unless something contains them.
pub fn programs(git: &Git, common_dir: &Path) -> Result<BTreeSet<String>> {
    let with_digest = |name: String, text: &[u8]| format!("{name} {}", &Digest::of(text).to_string()[..16]);
    let settings = git.settings_that_run(common_dir)?;
    let checkout = common_dir.parent().unwrap_or(common_dir);
    let named = settings.iter().filter(|(key, _)| key == "core.hookspath").filter_map(|(_, dir)| dir.as_ref());
    let dirs: Vec<PathBuf> = named.map(|dir| checkout.join(dir)).chain([common_dir.join("hooks")]).collect();
    let settings = settings
        .into_iter()
        .map(|(key, value)| with_digest(format!("the setting {key}"), value.unwrap_or_default().as_encoded_bytes()));
    let listed = dirs.iter().map(|dir| Ok(fs::list(dir)?.into_iter().map(|name| dir.join(name))));
    let hooks = listed.collect::<Result<Vec<_>>>()?.into_iter().flatten().filter_map(|path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let text = fs::read_no_follow(&path).ok()??;
        let is_ours = git_hook::refuse_foreign(git.env(), &name, &path).is_ok();
        (!name.ends_with(".sample") && !is_ours).then(|| with_digest(format!("the hook {name}"), &text))
    });
    Ok(settings.chain(hooks).collect())
}

/// The settings of a worktree's own by which git runs or redirects something; `git_dir` is the repository's record of it.
pub fn own_programs(git: &Git, common_dir: &Path, git_dir: &Path) -> Result<Vec<(String, String)>> {
    let text = |value: Option<OsString>| value.map_or("true".into(), |value| value.to_string_lossy().into_owned());
    Ok(git.own_programs(common_dir, git_dir)?.into_iter().map(|(key, value)| (key, text(value))).collect())
}

/// The words for one of [`programs`].
pub fn without_digest(program: &str) -> String {
    printable(program.rsplit_once(' ').map_or("", |(name, _)| name))
}

/// The commit of a worker's branch, if the branch that it lands on lacks something of it.
pub fn unlanded(ctx: &Context<'_>, worktree: &Path) -> Result<(String, Option<String>)> {
    let Some(head) = ctx.repo.head(worktree)?.1 else {
        return Err(Failure::usage(format!("{} has no commit", worktree.display())).hint("make a commit there first"));
    };
    let merged = ctx.repo.merge(&ctx.repo.require_base()?, &head)?;
    let lacks = merged != MergeResult::Nothing;
    Ok((head.clone(), lacks.then_some(head)))
}

/// Whether the branch on which a worker's work lands went back to before its last landing. One that went on from there, as with
/// `git commit --amend`, may have the work in another form.
pub fn was_taken_back(ctx: &Context<'_>, adopted: &Adopted) -> Result<bool> {
    let Some(landed) = &adopted.landed_as else { return Ok(false) };
    let (repo, base) = (&ctx.repo, ctx.repo.base());
    Ok(!repo.has(&base, landed)? && repo.has(landed, &base)? && repo.was_base(&ctx.source(), landed)?)
}

impl WorkRepo {
    /// Whether the branch on which an adopted worker's work lands has its last landing, if only as other commits with the same
    /// changes. Where git cannot tell, it has.
    pub fn has_landing(&self, adopted: &Adopted) -> Result<bool> {
        let Some(landed) = &adopted.landed_as else { return Ok(true) };
        let range = format!("{}...{landed}", self.base());
        let lacks = self.run(&self.top, &["rev-list", "--cherry-pick", "--right-only", "--no-merges", &range])?;
        Ok(lacks.text().is_empty())
    }

    /// Whether a merge is among the commits that the base lacks.
    pub fn has_merges(&self, base: &str, sha: &str) -> Result<bool> {
        Ok(self.ask(&self.top, &["rev-list", "--count", "--merges", &format!("{base}..{sha}")])? != "0")
    }

    /// Whether a branch of the person's own repository is others' too: a remote has one of that name, or commits of it that the
    /// branch that its work lands on lacks, or its upstream has its name. Nobody but its worker moves it then.
    pub fn is_shared(&self, branch: &str) -> Result<bool> {
        if !self.is_own {
            return Ok(false);
        }
        // The name of a remote may have slashes.
        for remote in self.ask(&self.top, &["remote"])?.lines() {
            if self.commit(&self.top, &format!("refs/remotes/{remote}/{branch}"))?.is_some() {
                return Ok(true);
            }
        }
        let (own, base) = (format!("refs/heads/{branch}"), self.base());
        // A clone of one branch has no ref for what was pushed.
        let upstream = |key: &str| self.git.config(&self.top, &format!("branch.{branch}.{key}"), None);
        if upstream("merge")?.is_some_and(|name| name == own.as_str())
            && upstream("remote")?.is_some_and(|remote| remote != ".")
        {
            return Ok(true);
        }
        // Without one of the two branches there is nothing to tell.
        let count =
            |more: &[&str]| self.run(&self.top, &[&["rev-list", "--count", &own, "--not", &base], more].concat());
        Ok(count(&[])?.text() != count(&["--remotes"])?.text())
    }

    /// Whether the branch that an adopted worktree's work lands on has all of a commit, whatever its history is.
    pub fn has_content(&self, sha: &str) -> Result<bool> {
        Ok(self.is_own && self.merge(&self.require_base()?, sha)? == MergeResult::Nothing)
    }
}
