//! `setup`: prepares a repository for agents, step by step.

use std::path::PathBuf;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::setup::{carry_out, show_dry};
use crate::facts::repository::{self, Repository};
use crate::facts::run_tool::ask;
use crate::facts::setup_facts::{self, Surroundings};
use crate::plan::setup as plan;
use crate::setup_log::Record;
use crate::step::Step;
use crate::tool::TOOLS;

/// Set up this repository for agents, step by step
///
/// Says what is there, asks about each step that is missing, and then prints each command that it runs. You could type
/// all of them yourself. `shopfloor teardown` takes everything back. Exits with 1 if a command fails or if you have to add
/// lines for a program that manages your hooks, and with 3 if nobody can be asked.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  shopfloor setup -n      # shows the commands\n  shopfloor setup --yes")]
pub struct Args {
    /// Take every step without asking
    #[arg(long)]
    pub yes: bool,
    /// Write nothing where others find it: for a repository that you share with people who do not use this
    #[arg(long)]
    pub private: bool,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let repository = repository::find_main(env)?;
    let here = env.at(&repository.main)?;
    let found = setup_facts::read(env, &repository, args.private)?;
    tell(ui, &found);
    plan::notes(&found).iter().for_each(|note| ui.note(note));
    let steps = plan::steps(&found);
    if steps.is_empty() {
        ui.note("everything is set up");
        return Ok(Exit::Done);
    }
    if ui.is_dry() {
        for step in &steps {
            step.commands.iter().for_each(|words| show_dry(ui, step.name, words));
        }
        return Ok(Exit::Done);
    }
    if !args.yes && !ui.can_ask() {
        steps.iter().for_each(|step| ui.show(&proposal(step)));
        return Err(ui.undecided("nothing was set up"));
    }
    let mut wanted = Vec::new();
    for step in &steps {
        if !args.yes {
            ui.show(&proposal(step));
        }
        if args.yes || ui.confirm("Do this?") {
            wanted.push(step.name);
        }
    }
    if wanted.is_empty() {
        ui.note("nothing was set up");
        return Ok(Exit::Done);
    }
    // Another set-up may have come first, or a teardown, which may have been half way at the first look.
    let _lock = Record::lock(&repository.repo.common_dir)?;
    let found = setup_facts::read(env, &repository, args.private)?;
    let shown: Vec<&str> = steps.iter().map(|step| step.name).collect();
    let (steps, rest): (Vec<Step>, Vec<Step>) =
        plan::steps(&found).into_iter().partition(|step| args.yes || wanted.contains(&step.name));
    let mut failed: Vec<&str> = rest.iter().map(|step| step.name).filter(|name| !shown.contains(name)).collect();
    for step in &steps {
        let is_done = carry_out(ui, &here, &repository, step, &found.present);
        // Ctrl-C ends all of it.
        proc::check_interrupt()?;
        let is_done = is_done.unwrap_or_else(|failure| {
            let hints: String = failure.hints.iter().map(|hint| format!("; {hint}")).collect();
            ui.warn(format!("{}: {failure}{hints}", step.name));
            false
        });
        failed.extend((!is_done).then_some(step.name));
    }
    name_ignored(ui, &repository, &steps, &found.present)?;
    if !failed.is_empty() {
        return Err(incomplete(&failed, args.private));
    }
    let first = if args.private { "" } else { "commit what `git status` shows; then " };
    ui.note(format!("{first}`shopfloor new NAME` makes a worktree for an agent"));
    // What others would find is left out, so that nobody has to add or commit it.
    let record = Record::load(&repository.repo.common_dir)?;
    if !args.private {
        require_lines(&here, &record)?;
    }
    Ok(Exit::Done)
}

fn incomplete(failed: &[&str], is_private: bool) -> Failure {
    let failure = Failure::new(Exit::No, "incomplete", format!("not set up: {}", failed.join(", ")));
    if !is_private {
        return failure.hint("do what the hints say, then run `shopfloor setup` again");
    }
    // A setting in the person's own file would be that of all repositories.
    failure
        .hint("do what the hints say, then run `shopfloor setup --private` again")
        .hint("a line /.shopfloor/ in the file of `git rev-parse --git-path info/exclude` keeps a config.toml there out of git")
}

/// Names the files that these steps wrote and that git ignores.
fn name_ignored(ui: &Ui, repository: &Repository, steps: &[Step], present: &[String]) -> Result<()> {
    let is_new = |file: &&String| !present.contains(file) && repository.main.join(file).exists();
    let written: Vec<PathBuf> = steps.iter().flat_map(|step| &step.files).filter(is_new).map(PathBuf::from).collect();
    for path in repository.git.ignored(&repository.main, &written, None)? {
        ui.note(format!("git ignores {}, so new worktrees do not get it", path.display()));
    }
    Ok(())
}

/// Exit 1 with what a person has to add where another program manages the hooks, a block for each file, and with the
/// commands by which that program makes git run what is there.
fn require_lines(env: &Env, record: &Record) -> Result<()> {
    let (mut blocks, mut commands) = (Vec::<(String, Vec<String>)>::new(), Vec::<String>::new());
    let mut last = String::new();
    for tool in TOOLS.iter().filter(|tool| record.has_hooks(tool)) {
        for asked in ask(env, &[tool, "hook", "install", "--dry-run"])?.records {
            let command = asked["command"].as_str().filter(|command| !commands.iter().any(|other| other == command));
            commands.extend(command.map(str::to_owned));
            let (Some(file), Some(entry)) = (asked["file"].as_str(), asked["entry"].as_str()) else { continue };
            let below = asked["below"].as_str().unwrap_or_default();
            if blocks.iter().all(|(other, _)| other != file) {
                blocks.push((file.to_owned(), Vec::new()));
            }
            let Some((_, lines)) = blocks.iter_mut().find(|(other, _)| other == file) else { continue };
            let is_yaml = file.ends_with(".yml") || file.ends_with(".yaml");
            let keys: Vec<&str> = below.split_whitespace().collect();
            if below != last {
                lines.extend(keys.iter().enumerate().map(|(depth, key)| format!("{}{key}", "  ".repeat(depth))));
                below.clone_into(&mut last);
            }
            let indent = "  ".repeat(if is_yaml { keys.len() } else { 0 });
            lines.extend(entry.lines().map(|line| format!("{indent}{line}")));
        }
    }
    if blocks.is_empty() && commands.is_empty() {
        return Ok(());
    }
    let add = (!blocks.is_empty()).then(|| "add these lines".to_owned());
    let run = commands.iter().map(|command| format!("`{command}` makes git run the lines that are there"));
    let hints: Vec<String> = add.into_iter().chain(run).collect();
    let block = |(file, lines): (String, Vec<String>)| {
        let head = format!("so that git runs the tools, add to {}:", printable(&file));
        std::iter::once(head).chain(lines.into_iter().map(|line| format!("    {}", printable(&line))))
    };
    Err(Failure::new(Exit::No, "incomplete", "git does not run the hooks of the tools yet")
        .details(blocks.into_iter().flat_map(block))
        .hint(format!("{}; then `shopfloor doctor` shows whether git runs the hooks", hints.join(", and "))))
}

/// Says what is there.
fn tell(ui: &Ui, found: &Surroundings) {
    let list = |names: String| if names.is_empty() { "none".to_owned() } else { printable(&names) };
    let yes = |is: bool| if is { "yes" } else { "no" };
    ui.note(format!("agents on the PATH: {}; tmux: {}", list(found.agents.join(", ")), yes(found.has_tmux)));
    let sandbox = found.sandbox.clone().map_or_else(
        || "agents can be contained: `shopfloor new NAME TASK --sandbox`".to_owned(),
        |why| format!("no sandbox for agents: {why}"),
    );
    ui.note(sandbox);
    ui.note(format!("files that git ignores and agents need: {}", list(found.local_files.join(", "))));
}

/// A step as a person decides about it.
fn proposal(step: &Step) -> Vec<String> {
    let commands = step.commands.iter().map(|words| format!("    {}", printable(&words.line())));
    std::iter::once(printable(&step.purpose)).chain(commands).collect()
}
