//! `install`: sets up git, and if asked to Claude Code, for a ledger.

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::Root;
use shopfloor_core::hook_command::{self, HookCommand};
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::files;
use crate::claude;
use crate::facts::Ledger;
use crate::facts::clone::{DRIVER, attribute_line, git_setting};
use crate::settings::{Effect, LedgerArgs};
use crate::tool::TOOL;

/// Set up git in this repository: merge driver, attributes, hooks
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  ledger-synth install --claude")]
pub struct Args {
    /// Also set up Claude Code: hooks in .claude/settings.json and the skill `synthesize-ledgers`
    #[arg(long)]
    claude: bool,
}

/// A file or setting that was written.
#[derive(Serialize)]
struct InstallAnswer<'a> {
    wrote: &'a str,
    done: bool,
}

const ATTRIBUTES: &str = ".gitattributes";

/// A file of the work tree that is to change.
struct FileEdit {
    name: &'static str,
    before: String,
    after: String,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let effect = Effect::of(ui);
    let Configured { files, settings } = configure(&ledger, effect, args.claude)?;
    let file = if effect.is_dry() { "would write" } else { "wrote" };
    let setting = if effect.is_dry() { "would set" } else { "set" };
    let written = files.iter().map(|name| (file, *name));
    for (word, name) in written.chain(settings.into_iter().map(|name| (setting, name))) {
        if ui.is_json() {
            ui.json(&InstallAnswer { wrote: name, done: !effect.is_dry() });
        } else {
            ui.line(format!("{word} {}", printable(name)));
        }
    }
    let hooks = HookCommand::Install;
    hook_command::run(ui, env, TOOL, hooks, |_| Ok(None))?;
    if !files.is_empty() {
        ui.note(format!("commit {}, and run `ledger-synth install` once in each clone", files.join(", ")));
    }
    Ok(Exit::Done)
}

/// The files and settings that were written.
pub struct Configured {
    files: Vec<&'static str>,
    settings: Vec<&'static str>,
}

/// Sets up git in this clone, but for the hooks, and Claude Code if that is wanted.
pub fn configure(ledger: &Ledger, effect: Effect, wants_claude: bool) -> Result<Configured> {
    let worktree = Root::open(ledger.repo.require_worktree()?)?;
    // A file that cannot be edited is found before anything is written.
    let edits = edits(ledger, &worktree, wants_claude)?;
    for FileEdit { name, before, after } in &edits {
        if !effect.is_dry() {
            files::edit(ledger, &worktree, name, before, after)?;
        }
    }
    let files = edits.iter().map(|edit| edit.name).collect();
    Ok(Configured { files, settings: set_driver(ledger, effect)? })
}

/// The files that are to change.
fn edits(ledger: &Ledger, worktree: &Root, wants_claude: bool) -> Result<Vec<FileEdit>> {
    let mut edits = Vec::new();
    let attributes = read(worktree, ATTRIBUTES)?;
    let line = attribute_line(ledger)?;
    if !attributes.lines().any(|own| own.trim() == line) {
        let gap = if attributes.is_empty() || attributes.ends_with('\n') { "" } else { "\n" };
        let after = format!("{attributes}{gap}{line}\n");
        edits.push(FileEdit { name: ATTRIBUTES, before: attributes, after });
    }
    for name in claude::FILES {
        let before = read(worktree, name)?;
        if !wants_claude {
            continue;
        }
        let after = claude::set_up(name, &before).map_err(|why| {
            Failure::malformed(format!("{}:{why}", ledger.top.path().join(name).display()))
                .hint("fix the file and run the same command again")
        })?;
        if after != before {
            edits.push(FileEdit { name, before, after });
        }
    }
    Ok(edits)
}

/// Sets the merge driver, and returns the settings that were not set so before.
fn set_driver(ledger: &Ledger, effect: Effect) -> Result<Vec<&'static str>> {
    let mut names = Vec::new();
    for (name, value) in DRIVER {
        if git_setting(ledger, name)?.as_deref() != Some(value) {
            if !effect.is_dry() {
                files::set_git_setting(ledger, name, value)?;
            }
            names.push(name);
        }
    }
    Ok(names)
}

fn read(worktree: &Root, name: &str) -> Result<String> {
    let rel = RelPath::parse(name).map_err(|why| Failure::failed(why.to_string()))?;
    let bytes = worktree.read(&rel)?.unwrap_or_default();
    String::from_utf8(bytes).map_err(|_| Failure::malformed(format!("{} is not UTF-8", worktree.join(&rel).display())))
}
