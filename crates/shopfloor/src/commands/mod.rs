//! One file per subcommand.

pub mod desk;
pub mod doctor;
pub mod go;
pub mod jump;
pub mod new;
mod new_args;
mod new_from_forge;
pub mod rm;
pub mod setup;
pub mod shell_init;
pub mod skills;
pub mod status;
pub mod teardown;
pub mod worker_commands;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use shopfloor_core::args::Common;
use shopfloor_core::env::{Env, FRONT};
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::proc::Status;
use shopfloor_core::slug::slug;
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::ui::Ui;

use crate::facts::repository::{self, Repository};
use crate::facts::run_tool::{Answer, answer_of, command};
use crate::plan::rows::Row;
use crate::setup_log::Record;

/// Runs a tool in our place, with the flags that all tools share. Its output and its exit code are the answer.
pub fn pass_on(ui: &Ui, env: &Env, common: &Common, tool: &str, words: Vec<String>) -> Result<Exit> {
    // From inside of a worker's worktree, the repository it belongs to.
    let env = repository::home(env)?;
    let words_shown = words.iter().map(|word| shell_word(word.as_ref())).collect::<Vec<_>>().join(" ");
    ui.detail(format!("{tool} {words_shown}"));
    let all = words_for(common, tool, words);
    command(&env, &all)?.var(FRONT, "1").foreground().map(exit_of)
}

/// Runs a tool, shows what it says to a person, and returns its answer.
pub fn quietly(ui: &Ui, env: &Env, words: &[String]) -> Result<Answer> {
    let mut words = words.to_vec();
    if ui.is_quiet() && !words.iter().any(|word| word == "-q") {
        words.insert(1, "-q".to_owned());
    }
    let answer = answer_of(&words[0], command(env, &words)?.var(FRONT, "1"))?;
    ui.pass_through(None, answer.said.as_bytes());
    Ok(answer)
}

/// Runs a command of worker-ctl that is no part of the answer, unless it fails or keeps work.
pub fn on_the_way(ui: &Ui, env: &Env, common: &Common, words: &[&str], worker: &str) -> Result<Exit> {
    let quiet = Common { quiet: true, ..common.clone() };
    let words = words.iter().chain(&["--", worker]).map(|word| (*word).to_owned()).collect();
    if !common.json {
        return pass_on(ui, env, &quiet, "worker-ctl", words);
    }
    let done = quietly(ui, &repository::home(env)?, &words_for(&quiet, "worker-ctl", words))?;
    // Where work is kept is said in any case.
    let keeps = done.records.iter().any(|record| record["kept"].as_array().is_some_and(|kept| !kept.is_empty()));
    if keeps || !done.status.success() {
        ui.answer(done.text.as_bytes());
    }
    Ok(exit_of(done.status))
}

/// Our exit where a tool's is the answer.
fn exit_of(status: Status) -> Exit {
    u8::try_from(status.code()).map_or(Exit::Failed, Exit::Command)
}

/// The words of a tool's command, with the flags that all tools share.
fn words_for(common: &Common, tool: &str, words: Vec<String>) -> Vec<String> {
    let flags = [(common.dry_run, "-n"), (common.json, "--json"), (common.quiet, "-q"), (common.verbose, "-v")];
    let color = common.color.to_possible_value();
    let color = ["--color", color.as_ref().map_or("auto", PossibleValue::get_name)];
    let shared = flags.into_iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| flag).chain(color);
    std::iter::once(tool).chain(shared).map(str::to_owned).chain(words).collect()
}

/// What names a worktree on a command line: its path, or its name where a terminal would show another path.
pub fn word_of(row: &Row) -> String {
    let word = if printable(&row.worktree) == row.worktree { &row.worktree } else { &row.name };
    shell_word(word.as_ref())
}

/// Whether the slug of a name is what commands, git or a person call the main checkout. No agent is called so.
pub fn is_main_name(Repository { git, repo, .. }: &Repository, name: &str) -> Result<bool> {
    let Some(own) = slug(name) else { return Ok(false) };
    let branch = git.branch(repo)?.and_then(|branch| slug(&branch));
    Ok(["main", "root", "head"].contains(&own.as_str()) || branch == Some(own))
}

/// Whether a call without a command shows the table: in a repository that is set up, and as JSON, which the help is not.
pub fn shows_table(ui: &Ui, env: &Env) -> Result<bool> {
    let found = match repository::find_near(env) {
        Err(failure) if failure.kind == "not_a_repository" && !ui.is_json() && repository::is_outside(env)? => {
            return Ok(false);
        }
        found => found?,
    };
    Ok(ui.is_json() || !Record::load(&found.repo.common_dir)?.steps.is_empty())
}

/// The commands of worker-ctl that have no other name here, but `hook`, which the other tools have, too.
pub const PASSED_ON: [&str; 17] = [
    "rebase", "reset", "events", "patrol", "config", "init", "deinit", "root", "add", "nuke", "queue", "check",
    "clashes", "cost", "comment", "host", "login",
];

/// The name by which a command that is passed on was typed, which is no value of an option.
pub fn as_typed(env: &Env) -> &str {
    let words: Vec<&str> = env.args.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    let is_typed = |pair: &&[&str]| !["-C", "--color"].contains(&pair[0]) && PASSED_ON.contains(&pair[1]);
    words.windows(2).find(is_typed).map_or(PASSED_ON[0], |pair| pair[1])
}
