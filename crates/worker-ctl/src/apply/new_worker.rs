//! Creates a worker: its table in `config.toml`, its branch and worktree, and its record in the state.

use std::path::Path;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::ListedWorktree;
use shopfloor_core::sandbox::require_available;
use toml_edit::DocumentMut;

use crate::apply::{clone_hooks, copied_files};
use crate::context::Context;
use crate::failure;
use crate::layout::{self, RootLock};
use crate::worker::Worker;

/// The options that a person gives for a new worker. The rest comes from the configuration.
#[derive(Clone, Debug, Default)]
pub struct WorkerOptions {
    pub agent: Option<String>,
    pub model: Option<String>,
    pub role_prompt: Option<String>,
    pub skip_permissions: Option<bool>,
    pub runner: Option<String>,
    /// Whether it is a worktree of the person's own repository.
    pub is_adopted: bool,
}

/// A worker that can be created.
pub struct NewWorker {
    name: String,
    agent: String,
    branch: String,
    /// The commit of the branch, if a branch of this name is left. The default branch has it.
    tip: Option<String>,
}

/// Checks that a worker can be created.
pub fn check(ctx: &Context<'_>, name: &str, options: &WorkerOptions) -> Result<NewWorker> {
    let agent = options
        .agent
        .clone()
        .or(ctx.root.worker(name).agent)
        .unwrap_or_else(|| ctx.root.config.text("agent").to_owned());
    ctx.root.agent(&agent)?;
    let exists = |message: String| failure::EXISTS.failure(message);
    if ctx.state()?.workers.contains_key(name) {
        return Err(exists(format!("the worker {name} exists already")).hint("choose another name"));
    }
    let branch = ctx.root.config.branch_of(name);
    let tip = ctx.clone.commit(&ctx.root.path, &format!("refs/heads/{branch}"))?;
    if let Some(tip) = &tip
        && ctx.clone.ahead(tip)? > 0
    {
        return Err(exists(format!("the branch {branch} has commits that are not merged"))
            .hint("look at them, then delete or rename the branch in the root"));
    }
    Ok(NewWorker { name: name.to_owned(), agent, branch, tip })
}

/// Exit 2, kind `no_sandbox`, if a worker of this name is to run in a sandbox, and none can be made here.
pub fn require_runner(ctx: &Context<'_>, name: &str, given: Option<&str>) -> Result<()> {
    let own = ctx.root.worker(name).runner;
    let runner = given.or(own.as_deref()).unwrap_or_else(|| ctx.root.config.text("runner"));
    if runner == "sandbox" { require_available(ctx.env) } else { Ok(()) }
}

/// Creates the branch, the worktree and the record. The caller holds the worker's lock since the check.
pub fn make(ctx: &Context<'_>, new: NewWorker) -> Result<Worker> {
    let NewWorker { name, agent, branch, tip } = new;
    let base = ctx.clone.fetched(&ctx.source())?;
    let worktree = layout::worktree(&ctx.root.path, &name);
    let path = worktree.to_string_lossy().into_owned();
    // A worktree that a killed command left is adopted, unless something in it has changed.
    let tree = ctx.clone.trees()?.remove(&worktree);
    let can_adopt = |tree: &ListedWorktree| -> Result<bool> {
        Ok(tree.branch.as_ref() == Some(&branch) && worktree.is_dir() && ctx.clone.dirty(&worktree)?.is_empty())
    };
    let is_unfilled = fs::list(&worktree).is_ok_and(|names| names == [".git"]);
    let is_new = match &tree {
        Some(tree) if (is_unfilled && tree.branch.as_ref() == Some(&branch)) || can_adopt(tree)? => false,
        None if worktree.symlink_metadata().is_err() => true,
        _ => {
            return Err(failure::EXISTS
                .failure(format!("{} exists already", worktree.display()))
                .hint("move that directory away, or choose another name"));
        }
    };
    let worker = Worker::new(&name, &agent, &path, &branch, ctx.now());
    let prepare = || -> Result<()> {
        if is_new {
            if let Some(tip) = &tip {
                // Delete the branch only if it is still at this commit.
                let branch = format!("refs/heads/{branch}");
                ctx.clone.update_ref(&["-d", &branch, tip])?;
            }
            ctx.clone.add_worktree(&worktree, &branch, Some(&base))?;
        }
        if is_new || is_unfilled {
            clone_hooks::fill_worktree(ctx, &worktree)?;
        }
        copied_files::copy_all(ctx, &worktree)?;
        copied_files::exclude_leftovers(ctx, &agent)?;
        ctx.update(|state| {
            state.workers.insert(name, worker.clone());
            Ok(())
        })
    };
    if let Err(failure) = prepare() {
        if is_new || is_unfilled {
            undo(ctx, &worktree, &branch, &base)?;
        }
        return Err(failure);
    }
    Ok(worker)
}

/// Makes a worker of a worktree that is there. The caller holds the worker's lock.
pub fn adopt(ctx: &Context<'_>, worker: &Worker) -> Result<()> {
    ctx.update(|state| {
        let is_same = |other: &&Worker| other.name == worker.name || other.worktree_path == worker.worktree_path;
        if let Some(other) = state.workers.values().find(is_same) {
            return Err(failure::EXISTS
                .failure(format!("{} is the worker {} already", other.worktree_path, other.name))
                .hint("see `worker-ctl status`"));
        }
        state.workers.insert(worker.name.clone(), worker.clone());
        Ok(())
    })
}

/// Takes back a worktree that was made just now, and its branch.
fn undo(ctx: &Context<'_>, worktree: &Path, branch: &str, base: &str) -> Result<()> {
    if worktree.symlink_metadata().is_ok() {
        ctx.clone.remove_worktree(worktree)?;
    }
    let name = format!("refs/heads/{branch}");
    // git may not have come to make it.
    match ctx.clone.commit(&ctx.clone.top, &name)? {
        None => Ok(()),
        Some(_) => ctx.clone.update_ref(&["-d", &name, base]),
    }
}

/// Writes the worker's table in `config.toml`. Returns the file's text before and after.
pub fn configure(ctx: &Context<'_>, name: &str, options: &WorkerOptions) -> Result<(String, String)> {
    edit_config(ctx, |document| {
        let workers = document["workers"].or_insert(toml_edit::table());
        // An inline table cannot hold another table.
        if let Some(inline) = workers.as_inline_table() {
            *workers = toml_edit::Item::Table(inline.clone().into_table());
        }
        if let Some(table) = workers.as_table_mut() {
            table.set_implicit(true);
        }
        let worker = workers[name].or_insert(toml_edit::table());
        let given = [
            ("agent", &options.agent),
            ("model", &options.model),
            ("role_prompt", &options.role_prompt),
            ("runner", &options.runner),
        ];
        for (key, value) in given.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?))) {
            worker[key] = toml_edit::value(value);
        }
        if let Some(skips) = options.skip_permissions {
            worker["skip_permissions"] = toml_edit::value(skips);
        }
        if options.is_adopted {
            worker["adopted"] = toml_edit::value(true);
        }
    })
}

/// Edits `config.toml`. The rest of the file stays, with its comments. Returns the file's text before and after.
pub fn edit_config(ctx: &Context<'_>, edit: impl FnOnce(&mut DocumentMut)) -> Result<(String, String)> {
    let _lock = ctx.lock_root(RootLock::Config)?;
    let path = layout::config(&ctx.root.path);
    let before = String::from_utf8(fs::read(&path)?.unwrap_or_default())
        .map_err(|_| Failure::malformed(format!("{}: not UTF-8", path.display())))?;
    let mut document: DocumentMut =
        before.parse().map_err(|e| Failure::malformed(format!("{}: {e}", path.display())))?;
    edit(&mut document);
    let after = document.to_string();
    if after != before {
        fs::replace(&path, after.as_bytes(), None)?;
    }
    Ok((before, after))
}

/// Restores `config.toml`, unless somebody else has changed it since.
pub fn restore_config(ctx: &Context<'_>, before: &str, after: &str) -> Result<()> {
    let _lock = ctx.lock_root(RootLock::Config)?;
    let path = layout::config(&ctx.root.path);
    match fs::read(&path)?.unwrap_or_default() == after.as_bytes() {
        true => fs::replace(&path, before.as_bytes(), None),
        false => Ok(()),
    }
}
