//! `skills`: tells agents how to use the tools.

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::{Found, Root};
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::skills::{create, remove};
use crate::facts::repository;
use crate::skill::{self, DIR, SKILLS};

/// Write the skills that tell agents how to use the tools
///
/// A skill that is there already stays as it is, so that your edits are kept; one that differs is named. Claude Code and
/// opencode read .claude/skills, other programs read .agents/skills.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  shopfloor skills\n  shopfloor skills --dir .agents/skills")]
pub struct Args {
    /// The directory for the skills, below the top of this worktree
    #[arg(long, value_name = "DIR", default_value = DIR)]
    pub dir: String,
    /// Remove the skills that nobody has edited instead; exits with 1 if one stays
    #[arg(long)]
    pub undo: bool,
    /// With --undo: leave this file as it is; may be given several times
    #[arg(long, value_name = "FILE", requires = "undo")]
    pub keep: Vec<String>,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let repository = repository::find(env)?;
    let top = Root::open(repository.repo.require_worktree()?)?;
    let mut exit = Exit::Done;
    for (name, text) in SKILLS {
        let path = skill::file(&args.dir, name);
        let file = RelPath::parse(&path).map_err(|why| {
            Failure::usage(format!("--dir {}: {why}", args.dir)).hint("name a directory below the top of this worktree")
        })?;
        if args.keep.contains(&path) {
            continue;
        }
        let found = if args.undo { top.look(&file)? } else { Found::Missing };
        if !matches!(found, Found::Missing | Found::File(_)) {
            ui.warn(format!("{} stays as it is: a link, or no file, is there", printable(&path)));
            // We write nothing behind a link, so there is nothing to take back.
            if !matches!(found, Found::Blocked(_)) {
                exit = Exit::No;
            }
            if ui.is_json() {
                ui.json(&json!({ "name": name, "path": path, "action": "kept" }));
            }
            continue;
        }
        let is_same = |own: &[u8]| own == text.as_bytes();
        let action = match top.read(&file)? {
            None if args.undo => continue,
            None if ui.is_dry() || create(&repository, &top, &file, text)? => "written",
            Some(own) if is_same(&own) && !args.undo => "unchanged",
            Some(own) if is_same(&own) && (ui.is_dry() || remove(&repository, &top, &file, text)?) => "removed",
            _ => "kept",
        };
        if action == "kept" && args.undo {
            exit = Exit::No;
            ui.warn(format!("{} is not as `setup` left it", printable(&path)));
        }
        if ui.is_json() {
            ui.json(&json!({ "name": name, "path": path, "action": action }));
            continue;
        }
        let [would, did] = match action {
            "written" => ["would write", "wrote"],
            "removed" => ["would remove", "removed"],
            "kept" if !args.undo => {
                ui.note(format!("{} differs and stays; delete it to get the new one", printable(&path)));
                continue;
            }
            _ => continue,
        };
        match ui.is_dry() {
            true => ui.line(format!("{would} {}", printable(&path))),
            false => ui.done(format!("{did} {}", printable(&path))),
        }
    }
    Ok(exit)
}
