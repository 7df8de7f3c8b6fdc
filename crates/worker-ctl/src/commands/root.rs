//! `root trust`: puts a root on the user's own list, once a person has seen its configuration.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use shopfloor_core::config::expand_home;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, answer as git_answer};
use shopfloor_core::path::real;
use shopfloor_core::ui::{Ui, printable};

use crate::commands::about_root;
use crate::failure;
use crate::layout;
use crate::root::{
    common_of, follow_source, list_root, read_record, require_root, require_source, root_list, write_owner,
};
use crate::settings::RootConfig;
use crate::work_repo::has_clone;

#[derive(Debug, Subcommand)]
pub enum RootCommand {
    /// Put a root on your list of roots, so that its configuration is used
    ///
    /// Shows its config.toml, which says what runs, and asks. Exits with 3 if nobody can be asked.
    #[command(after_help = "Example:\n  worker-ctl root trust ~/workers")]
    Trust(TrustArgs),
}

#[derive(Debug, Args)]
pub struct TrustArgs {
    /// The root
    pub dir: PathBuf,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
}

pub fn run(ui: &Ui, env: &Env, RootCommand::Trust(args): &RootCommand) -> Result<Exit> {
    let dir = env.cwd.join(expand_home(env, &args.dir));
    let root = &real(&dir);
    trust(ui, env, root, args.yes)?;
    if ui.is_dry() {
        return Ok(ui.would(&about_root(root), &[format!("list {}", root.display())]));
    }
    ui.json_or_done(&about_root(root), format!("listed {}", printable(&root.to_string_lossy())));
    Ok(Exit::Done)
}

/// Shows the configuration of a root, and lists the root if a person agrees. A dry run only says why that cannot be.
fn trust(ui: &Ui, env: &Env, root: &Path, is_agreed: bool) -> Result<()> {
    let known = require_root(env, root)?;
    if is_in_worktree(root) {
        return Err(failure::TAMPERED
            .failure(format!("{} lies in a worktree, where an agent can write", root.display()))
            .hint("move it out of there, or make another root: `worker-ctl init --target DIR`"));
    }
    // A person writes down where it has moved.
    let configured = RootConfig::load(env, root, &[])?;
    let configured = configured.given("source").map(|source| real(&root.join(expand_home(env, source))));
    let source = configured.filter(|source| source.is_dir()).unwrap_or_else(|| known.clone());
    // Of a root that is listed already, the source is what has moved.
    let listed = root_list(env)?.load()?;
    if listed.contains_key(root) {
        require_source(root, &source)?;
    }
    let before = match () {
        () if source != real(&known) => {
            Git::find(&env.at(&source)?)?.discover()?;
            format!(" (until now of {})", known.display())
        }
        () if !source.is_dir() => format!(" (which is missing; {})", follow_source(root)),
        () => String::new(),
    };
    if ui.is_dry() {
        return Ok(());
    }
    let shown = fs::read(&layout::config(root))?.unwrap_or_default();
    let title = format!("{}, a root of {}{before}, has this configuration:", root.display(), source.display());
    let config = String::from_utf8_lossy(&shown);
    let lines = config.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned);
    ui.show(&std::iter::once(title).chain(lines).collect::<Vec<_>>());
    let common = common_of(env, &source);
    // What is used already needs no word.
    let is_agreed = is_agreed || source == real(&known) && listed.get(root) == Some(&real(&common));
    ui.require_yes(is_agreed, "Run what it says, in this root from now on?", "the root was not listed")?;
    if fs::read(&layout::config(root))?.unwrap_or_default() != shown {
        return Err(Failure::failed("config.toml has changed meanwhile").hint("run the same command again"));
    }
    if source != real(&known) {
        if has_clone(root) {
            let set = Git::find(env)?.cmd(Path::new("/")).args(["config", "--file"]).arg(root.join(".git/config"));
            git_answer("config", &set.arg("shopfloor.source").arg(&source).capture()?)?;
        } else {
            write_owner(root, &common)?;
        }
    }
    list_root(env, root, Some(&common))
}

/// Whether a root lies in a worktree: `init` makes none there, where an agent could go on writing its configuration.
fn is_in_worktree(root: &Path) -> bool {
    root.ancestors().skip(1).any(|above| above.join(".git").symlink_metadata().is_ok())
}

/// Asks about the root that the current repository records, which may be from before there was a list. All other
/// failures stay as they are.
pub fn offer(ui: &Ui, env: &Env, failure: Failure) -> Result<()> {
    let is_old = failure::UNLISTED_ROOT.is_kind_of(&failure) && failure.exit == Exit::Decide;
    if !is_old || !ui.can_ask() || ui.is_dry() {
        return Err(failure);
    }
    let recorded = read_record(&Git::find(env)?.discover()?.home.common_dir)?.unwrap_or_default();
    if is_in_worktree(&recorded) {
        return Err(failure);
    }
    trust(ui, env, &real(&recorded), false)
}
