//! Installs the source's git hooks and merge driver in the clone, so that its worktrees are set up and merged like the
//! source's own. The source may get them after the clone was made.

use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::{Git, Repo, failed, nul_fields, trust_excludes};
use shopfloor_core::git_hook::{self, Installed};

use crate::context::Context;
use crate::layout;

/// All worktrees of the clone share one list of stashes, so that one worker's work could land with another's. What a
/// rebase or merge puts aside itself would be lost if it could not be stored.
const REFUSES_STASHES: &str = include_str!("refuse_stashes.sh");

/// What the source has and its clone lacks.
#[derive(Debug)]
pub struct MissingHooks {
    git: Git,
    clone: Repo,
    /// Each with the tool that it runs.
    hooks: Vec<(&'static str, &'static str)>,
    settings: Vec<(String, String)>,
    /// The clone's own hook, if it is not there.
    own: Option<PathBuf>,
    /// The tools whose hook in the source something has taken away, or all that it lacks if each is to run.
    pub lost: Vec<&'static str>,
}

/// Compares the clone at `root` with its source. Hooks go into the clone's own directory, unless the person has another
/// one for all repositories, `shared`.
pub fn compare(env: &Env, source: &Path, root: &Path, shared: Option<&Path>) -> Result<MissingHooks> {
    let (mut git, mut source_git) = (Git::find(&env.at(root)?)?, Git::find(&env.at(source)?)?);
    let (clone, source) = (git.discover()?, source_git.discover()?);
    let clone = Repo { hooks_dir: clone.common_dir.join("hooks"), ..clone };
    let own = Some(clone.hooks_dir.join("reference-transaction")).filter(|_| shared.is_none());
    // An agent can put a link to another directory in the place of the clone's.
    let is_elsewhere = clone.hooks_dir.symlink_metadata().is_ok_and(|dir| !dir.is_dir());
    let own = own.filter(|path| !is_elsewhere && path.symlink_metadata().is_err());
    let mut missing = MissingHooks { git, clone, hooks: Vec::new(), settings: Vec::new(), own, lost: Vec::new() };
    for (name, tools) in git_hook::HOOKS.iter().filter(|_| shared.is_none()) {
        // One of an earlier version is written anew, and what an agent has made of it is told where it would run.
        let is_missing = |tool: &str| match git_hook::install_stub(env, &missing.clone, (name, tool), true) {
            Ok(Installed::Stub { changed, .. }) => changed,
            _ => git_hook::stubs(env, &missing.clone, name, tool).is_empty(),
        };
        for tool in tools.iter().filter(|tool| is_missing(tool)) {
            // What manages the hooks of the source does not manage those of its clone.
            if git_hook::runs(&source_git, &source, name, tool)?.is_some() {
                missing.hooks.push((name, tool));
            }
        }
    }
    // `shopfloor new` sets worktrees up whatever hooks there are.
    let always = env.var("SHOPFLOOR_SETUP").is_some_and(|word| word == "always");
    missing.lost = git_hook::missing(&source_git, &source, "post-checkout", always)?;
    let ask = |git: &Git, dir: &Path| {
        let asked =
            git.cmd(dir).args(["config", "-z", "--get-regexp", r"^merge\.ledger-synth\.(name|driver)$"]).capture()?;
        Ok(nul_fields(&asked.stdout).map(|field| String::from_utf8_lossy(field).into_owned()).collect::<Vec<_>>())
    };
    let wanted = ask(&source_git, &source.common_dir)?;
    let own = if wanted.is_empty() { Vec::new() } else { ask(&missing.git, root)? };
    for setting in wanted.into_iter().filter(|setting| !own.contains(setting)) {
        missing.settings.extend(setting.split_once('\n').map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
    Ok(missing)
}

impl MissingHooks {
    /// What is missing, in words.
    pub fn names(&self) -> Vec<String> {
        let hooks = self.hooks.iter().map(|(name, tool)| format!("{name} of {tool}"));
        let own = self.own.iter().map(|_| "the hook that refuses stashes".to_owned());
        hooks.chain(self.settings.iter().map(|(key, _)| key.clone())).chain(own).collect()
    }

    /// Brings what is missing. Returns what a person should know. A hook that somebody else wrote there stays.
    pub fn bring(&self, env: &Env) -> Result<Vec<String>> {
        let mut warnings = Vec::new();
        for (name, tool) in &self.hooks {
            let path = self.clone.hooks_dir.join(name);
            let brought = git_hook::refuse_foreign(env, name, &path)
                .and_then(|()| git_hook::install_stub(env, &self.clone, (name, tool), false));
            warnings.extend(brought.err().map(|e| format!("the hook {name} of {tool} is not installed: {e}")));
        }
        if let Some(path) = &self.own {
            fs::create_private_dir(&self.clone.hooks_dir)?;
            fs::replace(path, REFUSES_STASHES.as_bytes(), Some(0o755))?;
        }
        for (key, value) in &self.settings {
            let set = self.git.cmd(&self.clone.common_dir).args(["config", "--replace-all", key, value]).capture()?;
            if !set.status.success() {
                return Err(failed("config", &set));
            }
        }
        Ok(warnings)
    }
}

/// Compares the clone of a root with its source.
pub fn of(ctx: &Context<'_>) -> Result<MissingHooks> {
    compare(ctx.env, &ctx.source(), &ctx.root.path, ctx.clone.shared_hooks()?.as_deref())
}

/// Writes the files of a new worktree, and runs the source's hooks there.
pub fn fill_worktree(ctx: &Context<'_>, worktree: &Path) -> Result<()> {
    let shared = ctx.clone.shared_hooks()?;
    let missing = compare(ctx.env, &ctx.source(), &ctx.root.path, shared.as_deref())?;
    let mut warnings = missing.bring(ctx.env)?;
    // The clone's own list of files to leave out, which agents write too.
    let listed = || fs::read_no_follow(&ctx.clone.common.join("info/exclude")).map(Option::unwrap_or_default);
    let before = listed()?;
    warnings.extend(ctx.clone.fill_worktree(worktree, shared.as_deref(), &missing.lost)?);
    // What the source's hooks have added meanwhile.
    let (old, new): (Vec<_>, _) = (before.split(|b| *b == b'\n').collect(), listed()?);
    let added = new.split(|b| *b == b'\n').filter(|line| !line.is_empty() && !old.contains(line));
    trust_excludes(&layout::host_git(&ctx.root.path), added)?;
    warnings.iter().for_each(|warning| ctx.ui.warn(warning));
    Ok(())
}
