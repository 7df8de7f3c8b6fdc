//! `deinit`: removes a root that holds nothing any more.

use std::path::Path;

use clap::Args as ClapArgs;
use serde::Serialize;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Git;
use shopfloor_core::lock::Lock;
use shopfloor_core::text::{printable, shell_word};

use crate::commands;
use crate::commands::init::config;
use crate::layout::{self, RootLock};
use crate::root::{read_record, record_file};
use crate::site::Site;
use crate::store;

#[derive(Debug, ClapArgs)]
pub struct Args {}

/// The answer with `--json`.
#[derive(Serialize)]
struct DeinitAnswer<'a> {
    root: &'a Path,
}

pub fn run(site: &Site<'_>, _: &Args) -> Result<Exit> {
    let root = &site.root.path;
    let source = site.source();
    if site.is_dry {
        refuse_loss(site)?;
        commands::show(site.ui, DeinitAnswer { root }, &[format!("remove {}", root.display())]);
        return Ok(Exit::Done);
    }
    commands::recover(site)?;
    let _daemon = Lock::try_take(&layout::lock(root, RootLock::Daemon))?.ok_or_else(|| {
        refusal(site, "`worker-ctl up` runs").hint("end it with `worker-ctl down`, then run the same command again")
    })?;
    let _state = site.lock_root(RootLock::State)?;
    refuse_loss(site)?;
    // Its socket may lie outside of the root.
    if let Ok(tmux) = site.tmux() {
        if !tmux.panes()?.is_empty() {
            return Err(refusal(site, "its tmux has sessions").hint("end them with `worker-ctl down`"));
        }
        tmux.kill()?;
    }
    // The configuration makes the directory a root, so it goes first: a killed command leaves what `init` can use.
    fs::remove(&layout::config(root))?;
    fs::remove_tree(root)?;
    let git_dir = Git::find(&site.env.at(&source)?)?.discover()?.common_dir;
    if read_record(&git_dir)?.is_some_and(|recorded| recorded == *root) {
        let record = record_file(&git_dir);
        fs::remove(&record)?;
        fs::remove_empty_dir(record.parent().unwrap_or(&git_dir));
    }
    if site.ui.is_json() {
        site.ui.json(&DeinitAnswer { root });
    } else {
        site.ui.done(format!("removed {}", printable(&root.to_string_lossy())));
    }
    Ok(Exit::Done)
}

/// Exit 1 while the root has workers, work that was kept, or a configuration that a person edited.
fn refuse_loss(site: &Site<'_>) -> Result<()> {
    let root = &site.root.path;
    let workers: Vec<String> = store::load(root)?.workers.keys().cloned().collect();
    if !workers.is_empty() {
        return Err(refusal(site, &format!("it has workers: {}", workers.join(", ")))
            .hint("remove them with `worker-ctl nuke --all`, which keeps those with work"));
    }
    let by_hand = || format!("save what you need, then remove it yourself: `rm -r {}`", shell_word(root));
    let kept = site.clone.run(root, &["for-each-ref", "--format=%(refname)", "refs/shopfloor/trash"])?;
    if !kept.stdout.is_empty() || !fs::list(&layout::all_trash(root))?.is_empty() {
        return Err(
            refusal(site, "it keeps work that was given up, under refs/shopfloor/trash/ or in trash/").hint(by_hand())
        );
    }
    let branch = site.root.config.repo.branch.clone();
    let text = fs::read_own(&layout::config(root))?.unwrap_or_default();
    if text != config(&site.source(), &branch).into_bytes() {
        return Err(refusal(site, "config.toml was edited").hint(by_hand()));
    }
    Ok(())
}

fn refusal(site: &Site<'_>, why: &str) -> Failure {
    Failure::new(Exit::No, "in_use", format!("{} stays: {why}", site.root.path.display()))
}
