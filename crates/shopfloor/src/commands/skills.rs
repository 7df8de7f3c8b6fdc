//! `skills`: tells agents how to use the tools.

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::Root;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::skills::create;
use crate::facts::repository;
use crate::skill::{DIR, SKILLS};

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
}

/// A skill, with `--json`.
#[derive(Serialize)]
struct SkillAnswer<'a> {
    name: &'a str,
    path: &'a str,
    /// `written`, `kept` (it differs) or `unchanged`.
    action: &'a str,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let repository = repository::find(env)?;
    let top = Root::open(repository.repo.require_worktree()?)?;
    for skill in &SKILLS {
        let path = format!("{}/{}/SKILL.md", args.dir.trim_end_matches('/'), skill.name);
        let file = RelPath::parse(&path).map_err(|why| {
            Failure::usage(format!("--dir {}: {why}", args.dir)).hint("name a directory below the top of this worktree")
        })?;
        let action = match top.read(&file)? {
            Some(text) if text == skill.text.as_bytes() => "unchanged",
            Some(_) => "kept",
            None if ui.is_dry() || create(&repository, &top, &file, skill.text)? => "written",
            None => "kept",
        };
        if ui.is_json() {
            ui.json(&SkillAnswer { name: skill.name, path: &path, action });
            continue;
        }
        match action {
            "written" if ui.is_dry() => ui.line(format!("would write {}", printable(&path))),
            "written" => ui.done(format!("wrote {}", printable(&path))),
            "kept" => ui.note(format!("{} differs and stays; delete it to get the new one", printable(&path))),
            _ => {}
        }
    }
    Ok(Exit::Done)
}
