//! The verbs of an agent's life. Each runs a command of worker-ctl for the worker in the row of that name.

use std::path::Path;

use serde_json::{Value, json};
use shopfloor_core::args::{Common, is_dashed_text};
use shopfloor_core::board::Need;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::path::real;
use shopfloor_core::text::{nearest, printable, shell_word};
use shopfloor_core::ui::Ui;

use crate::commands::{on_the_way, pass_on, word_of};
use crate::facts::run_tool::{ask, usual_agent};
use crate::facts::{overview, repository};
use crate::plan::names::named;
use crate::plan::rows::{Row, rows};

/// The tool that the verbs run.
const TOOL: &str = "worker-ctl";

/// Whom a verb is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    /// One agent.
    One,
    /// One agent, or nobody: then worker-ctl chooses.
    Perhaps,
    /// Any number of agents, or all.
    Several,
}

/// A verb: the command of worker-ctl that it runs, and whom it is about.
#[derive(Clone, Copy, Debug)]
pub struct Verb {
    pub name: &'static str,
    pub command: &'static str,
    pub whom: Whom,
    /// Which worktrees without a worker become one unasked.
    pub adopts: Adopts,
}

/// The options that each verb takes, besides those of all commands and `--yes`. Those with `=` have a value, which may be
/// the next word.
const OPTIONS: [(&str, &str); 13] = [
    ("adopt", "--target= --land= --agent= --model= --ask --yolo"),
    ("attach", ""),
    ("start", "--task= --task-file= --force --resume="),
    ("send", "--force"),
    ("answer", "--force"),
    ("peek", "--lines="),
    ("wait", "--all --any --for= --timeout="),
    ("review", "--interface= --pin --no-pin"),
    ("back", "--force --from-request --all-authors --edit --comments="),
    ("land", "--message= --land= --force --no-check --push"),
    ("request", "--draft --title="),
    ("stop", "--force"),
    ("resume", "--all --force"),
];

/// The options that all commands have, besides `-C`.
pub const COMMON: [&str; 5] = ["--json", "--dry-run", "--quiet", "--verbose", "--color"];

/// The options of the verb of this name.
pub fn options(name: &str) -> Option<impl Iterator<Item = &'static str>> {
    let (_, options) = OPTIONS.iter().find(|(verb, _)| *verb == name)?;
    Some(options.split_whitespace().map(|option| option.trim_end_matches('=')).chain(["--yes"]))
}

/// Whether the value of an option of this verb is the next word.
fn takes_next(verb: &str, word: &str) -> bool {
    let options = OPTIONS.iter().filter(|(name, _)| *name == verb).flat_map(|(_, options)| options.split_whitespace());
    options.filter_map(|option| option.strip_suffix('=')).any(|option| option == word)
}

/// Which worktrees without a worker a verb makes one of unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopts {
    None,
    /// Those that `new` made.
    Own,
    /// Those too that are on the branch that their directory is called after.
    AsMade,
}

impl Adopts {
    /// Whether this one is meant by the name. An agent chooses what is checked out in its worktree: then a person names
    /// the branch.
    fn is_for(self, row: &Row, name: &str) -> bool {
        let is_meant = row.is_as_made || row.branch.as_deref() == Some(name);
        match self {
            Adopts::None => false,
            Adopts::Own => is_meant && row.is_own(),
            Adopts::AsMade => is_meant,
        }
    }
}

/// The words after a verb.
#[derive(clap::Args, Clone, Debug)]
pub struct Words {
    /// The agent, by its name, its id or its branch, and what else the command takes
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "NAME")]
    pub words: Vec<String>,
}

/// Runs a verb.
pub fn run(ui: &Ui, env: &Env, common: &Common, verb: Verb, words: &[String]) -> Result<Exit> {
    let words = &names_first(verb.name, words);
    refuse_unknown(verb, words)?;
    let is_yes = words.iter().any(|word| word == "--yes");
    let words: Vec<&String> = words.iter().filter(|word| *word != "--yes").collect();
    let names = words.iter().take_while(|word| !word.starts_with('-')).count();
    let names = match verb.whom {
        Whom::Several => names,
        Whom::One | Whom::Perhaps => names.min(1),
    };
    if names == 0 && verb.whom == Whom::One {
        return Err(Failure::usage("the agent is missing").hint("name one: `shopfloor status` lists them"));
    }
    // Nobody is looked for without a name, and all programs can be ended whatever is known of them.
    let is_for_you = verb.command == "wait" && waits_for_you(&words[names..]);
    let rows = match names {
        0 if !is_for_you => Vec::new(),
        // worker-ctl knows whom it waits for where nothing else can be said, as in a bare repository.
        0 => here(env).or_else(|failure| match failure.exit {
            Exit::Bad => Ok(Vec::new()),
            _ => Err(failure),
        })?,
        _ => here(env)?,
    };
    if is_for_you && answer_wait(ui, &rows, &words[..names])? {
        return Ok(Exit::Done);
    }
    let mut all = vec![verb.command.to_owned()];
    for name in &words[..names] {
        let row = require(&rows, name)?;
        let adopts = is_yes || verb.adopts.is_for(row, name);
        if verb.command == "accept"
            && row.worker.is_none()
            && !row.is_main
            && overview::has_nothing(env, &row.worktree)?
        {
            let why = format!("{} has nothing that has not landed", printable(name));
            return Err(Failure::new(Exit::No, "wrong_state", why).hint("`shopfloor status` shows who has"));
        }
        if common.dry_run && row.worker.is_none() && !row.is_main && adopts {
            would_adopt(ui, verb, row);
            continue;
        }
        all.push(worker(ui, env, row, adopts)?);
    }
    // A dry run has nobody else to ask for.
    if names > 0 && all.len() == 1 {
        return Ok(Exit::Done);
    }
    let is_all = verb.whom == Whom::Several && names == 0 && !words.iter().any(|word| *word == "--all");
    all.extend((is_all && verb.command != "down").then(|| "--all".to_owned()));
    all.extend(words[names..].iter().map(|word| (*word).clone()));
    let asks = ["accept", "request"].contains(&verb.command);
    all.extend((is_yes && asks).then(|| "--yes".to_owned()));
    pass_on(ui, env, common, TOOL, all)
}

/// Whether these options of `wait` ask for whoever needs a person.
fn waits_for_you(options: &[&String]) -> bool {
    let is_you = |word: &&String| ["you", "--for=you"].contains(&word.as_str());
    options.iter().any(is_you) || !options.iter().any(|word| word.starts_with("--for"))
}

/// Answers a `wait` for a person if one of those without a worker needs one: worker-ctl knows nothing of them.
fn answer_wait(ui: &Ui, rows: &[Row], names: &[&String]) -> Result<bool> {
    let chosen: Vec<&Row> = match names {
        [] => rows.iter().collect(),
        _ => names.iter().map(|name| require(rows, name)).collect::<Result<_>>()?,
    };
    let mut needy: Vec<&Row> = chosen.into_iter().filter(|row| row.waits_for.is_some()).collect();
    if needy.iter().all(|row| row.worker.is_some()) {
        return Ok(false);
    }
    needy.sort_by_key(|row| row.told.since.unwrap_or(i64::MAX));
    let name = |row: &Row| row.worker.clone().unwrap_or_else(|| row.name.clone());
    let why = |row: &Row| row.told.need.unwrap_or(Need::Fault).word();
    if ui.is_json() {
        let all = needy
            .iter()
            .map(|row| json!({ "name": name(row), "id": row.id, "status": row.on_board().state, "why": why(row) }));
        ui.json(&json!({ "workers": all.collect::<Vec<_>>() }));
    } else {
        needy.iter().for_each(|row| ui.done(format!("{} {}", printable(&name(row)), why(row))));
    }
    Ok(true)
}

/// Says in a dry run what a verb does with a worktree that becomes an agent's on the way.
fn would_adopt(ui: &Ui, verb: Verb, row: &Row) {
    let then = match verb.command {
        "start" => Some("start it with the task"),
        "up" | "resume" => Some("start its program"),
        "accept" => Some("land its work"),
        "request" => Some("push its work, and make a request for it"),
        _ => None,
    };
    let would = std::iter::once(format!("make an agent of {}", row.worktree)).chain(then.map(str::to_owned));
    let whom = json!({ "name": row.name, "id": row.id, "worktree": row.worktree, "branch": row.branch });
    ui.would(&whom, &would.collect::<Vec<_>>());
}

/// The same words with the options behind the others. After `--` there are no options.
fn names_first(verb: &str, words: &[String]) -> Vec<String> {
    let texts = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let is_value = |at: usize| at > 0 && takes_next(verb, &words[at - 1]);
    let (names, options): (Vec<usize>, Vec<usize>) =
        (0..texts).partition(|at| !is_option(&words[*at]) && !is_value(*at));
    names.into_iter().chain(options).chain(texts..words.len()).map(|at| words[at].clone()).collect()
}

/// Whether a word is an option. `-` is stdin.
fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && !is_dashed_text(word.as_ref())
}

/// Refuses an option that the verb does not take, also in the place of a text. After `--` all is text.
pub fn refuse_unknown(Verb { name, command, .. }: Verb, words: &[String]) -> Result<()> {
    let has_text = ["message", "reject"].contains(&command);
    let known: Vec<&str> = options(name).into_iter().flatten().collect();
    let is_looked_at = |word: &str| word.starts_with("--") || has_text && is_option(word);
    let is_unknown =
        |word: &&String| is_looked_at(word) && !known.contains(&word.split('=').next().unwrap_or_default());
    match words.iter().take_while(|word| *word != "--").find(is_unknown) {
        None => Ok(()),
        Some(word) => {
            let typed = word.split('=').next().unwrap_or_default().trim_start_matches('-');
            let names: Vec<&str> = known.iter().chain(&COMMON).map(|option| option.trim_start_matches('-')).collect();
            Err(Failure::usage(format!("unexpected argument '{}' found", printable(word)))
                .details(nearest(typed, &names).map(|near| format!("tip: a similar argument exists: '--{near}'")))
                .hint(format!("run `shopfloor {name} --help` to see what it takes")))
        }
    }
}

/// The rows of the repository.
pub fn here(env: &Env) -> Result<Vec<Row>> {
    Ok(rows(&overview::places(&repository::near(env)?)?))
}

/// The row of this name. Exit 1 if none has it, or several.
pub fn require<'r>(rows: &'r [Row], name: &str) -> Result<&'r Row> {
    match &named(rows, name)[..] {
        [row] => Ok(row),
        [] => {
            let names = rows.iter().map(|row| row.name.as_str()).filter(|other| !named(rows, other).is_empty());
            let names: Vec<&str> = names.collect();
            Err(Failure::not_found(format!("there is no worktree called {}", printable(name)))
                .details(nearest(name, &names).map(|near| format!("tip: did you mean `{}`?", printable(near))))
                .hint("`shopfloor status` lists the worktrees; `shopfloor new NAME` makes one"))
        }
        several => {
            let words = several.iter().map(|row| {
                let is_its = |word: &&String| matches!(named(rows, word)[..], [only] if std::ptr::eq(only, *row));
                let word = row.branch.iter().chain([&row.id]).find(is_its);
                printable(word.unwrap_or(&row.worktree))
            });
            let message = format!("{} could be {}", printable(name), words.collect::<Vec<_>>().join(" or "));
            Err(Failure::new(Exit::No, "ambiguous", message).hint("name one of them"))
        }
    }
}

/// The worker in the row of this name. Where there is none, the worktree becomes one, if that is meant.
pub fn worker(ui: &Ui, env: &Env, row: &Row, adopts: bool) -> Result<String> {
    if let Some(worker) = &row.worker {
        return Ok(worker.clone());
    }
    let shown = printable(&row.name);
    if row.is_main {
        return Err(Failure::new(
            Exit::No,
            "main_checkout",
            format!("{shown} is the main checkout, where you work yourself"),
        )
        .hint("`shopfloor new NAME` makes a worktree for an agent"));
    }
    if row.kind == "worker" {
        let why = format!("{shown} is a seat in the worktree of another agent, and has no terminal of its own");
        return Err(Failure::new(Exit::No, "no_worker", why).hint("start its program there yourself"));
    }
    if !adopts {
        let (path, branch) = (word_of(row), printable(row.branch.as_deref().unwrap_or("no branch")));
        if row.is_own() && row.is_as_made {
            let failure = Failure::new(Exit::No, "no_worker", format!("no agent was started in {shown} yet"));
            return Err(failure.hint(format!(
                "start one with a task: `shopfloor start {} TASK`, or make an agent of it: `shopfloor adopt {path}`",
                shell_word(row.name.as_ref())
            )));
        }
        return Err(Failure::new(
            Exit::No,
            "no_worker",
            format!("{shown}, on {branch}, was not started here, so it cannot be asked"),
        )
        .hint(match row.branch {
            Some(_) => format!("{}, and so does `--yes`", way_to_adopt(row)),
            None => way_to_adopt(row),
        }));
    }
    let program = program(env, Some(row))?;
    let add = [TOOL, "add", "--worktree", &row.worktree].into_iter().map(str::to_owned);
    let add: Vec<String> = add.chain(program.map(|program| format!("--agent={program}"))).collect();
    let adopted = ask(&repository::near(env)?, &add.iter().map(String::as_str).collect::<Vec<_>>())?;
    let text = |key: &str| adopted.records.iter().find_map(|record| record[key].as_str().map(printable));
    if let (Some(name), Some(target)) = (text("name"), text("target")) {
        let branch = printable(row.branch.as_deref().unwrap_or_default());
        ui.note(format!("{shown} is the agent {name} from now on, and its work on {branch} lands on {target}"));
        return Ok(name);
    }
    let (exit, kind) = match adopted.status.code() {
        1 => (Exit::No, "wrong_state"),
        2 => (Exit::Bad, "usage"),
        // What its own configuration runs, a person has to see.
        3 => (Exit::Decide, "undecided"),
        _ => (Exit::Failed, "failed"),
    };
    Err(Failure::new(exit, kind, format!("{shown} cannot be adopted on the way"))
        .details(adopted.error.iter().flat_map(|why| why.lines()).map(str::to_owned))
        .hint(format!("look at what it says: `shopfloor adopt {}`", word_of(row))))
}

/// What makes an agent of a worktree. One on no branch gets a branch first.
pub fn way_to_adopt(row: &Row) -> String {
    let path = word_of(row);
    let first = match row.branch {
        Some(_) => String::new(),
        None => format!("`git -C {path} switch -c NAME` gives it a branch, then "),
    };
    format!("{first}`shopfloor adopt {path}` makes an agent of it")
}

/// `adopt`: makes an agent of a worktree, which may be named as the table names it.
pub fn adopt(ui: &Ui, env: &Env, common: &Common, mut words: Vec<String>) -> Result<Exit> {
    let verb = Verb { name: "adopt", command: "add", whom: Whom::One, adopts: Adopts::None };
    refuse_unknown(verb, &words)?;
    let is_value = |at: usize| at > 0 && takes_next("adopt", &words[at - 1]);
    let at = (0..words.len()).find(|at| !words[*at].starts_with('-') && !is_value(*at)).ok_or_else(|| {
        Failure::usage("the worktree is missing").hint("name its directory: `shopfloor adopt ../app-fix`")
    })?;
    words[..=at].rotate_right(1);
    let (rows, path) = (here(env)?, env.cwd.join(&words[0]));
    let row = match path.exists() {
        true => rows.iter().find(|row| Path::new(&row.worktree) == real(&path)),
        false => match named(&rows, &words[0])[..] {
            [row] => Some(row),
            _ => None,
        },
    };
    if let Some(row) = row.filter(|_| !path.exists()) {
        words[0].clone_from(&row.worktree);
    }
    if !words.iter().any(|word| word.starts_with("--agent")) {
        words.extend(program(env, row)?.map(|program| format!("--agent={program}")));
    }
    pass_on(ui, env, common, TOOL, [&["add".to_owned(), "--worktree".to_owned()], &words[..]].concat())
}

/// The program for an agent: the one that `new` was told, or the one that a person's settings name. None: the default of
/// the root.
fn program(env: &Env, row: Option<&Row>) -> Result<Option<String>> {
    let told = row.filter(|row| row.is_own()).and_then(|row| row.agent.clone()).filter(|program| program != "claude");
    told.map_or_else(|| usual_agent(env), |program| Ok(Some(program)))
}

/// `start`: gives an agent a task, and starts its program first where it does not run.
pub fn start(ui: &Ui, env: &Env, common: &Common, words: &[String]) -> Result<Exit> {
    let verb = Verb { name: "start", command: "start", whom: Whom::Perhaps, adopts: Adopts::Own };
    let mut words = names_first(verb.name, words);
    if let Some(more) = words.iter().take_while(|word| !is_option(word)).nth(2) {
        return Err(Failure::usage(format!("unexpected argument '{}' found", printable(more)))
            .hint("a task of several words needs quotes: `shopfloor start NAME 'TASK'`"));
    }
    match &mut words[..] {
        [name] if !name.starts_with('-') => {
            return Err(Failure::usage(format!("what is {} to do?", printable(name)))
                .hint(format!("say it: `shopfloor start {} TASK`", shell_word(name.as_ref()))));
        }
        [name, task, ..] if !name.starts_with('-') && !is_option(task.as_str()) => {
            *task = format!("--task={task}");
            refuse_unknown(verb, &words)?;
            let name = &words[0];
            let rows = here(env)?;
            let row = require(&rows, name)?;
            // What was there before its first task waits for a review with that.
            let is_free = match row.task.as_deref() {
                None | Some("idle") => true,
                Some(task) => task == "needs_review" && row.record["prompt"].is_null(),
            };
            let is_yes = words.iter().any(|word| word == "--yes");
            let can_start = is_free && (row.worker.is_some() || is_yes || verb.adopts.is_for(row, name));
            if can_start && row.alive != "up" && !common.dry_run {
                let worker = worker(ui, env, row, is_yes || verb.adopts.is_for(row, name))?;
                let started = on_the_way(ui, env, common, &["up"], &worker)?;
                if started.code() != 0 {
                    return Ok(started);
                }
            }
        }
        _ => {}
    }
    run(ui, env, common, verb, &words)
}

/// `review`: counts as seen where a person sees it, or says so.
pub fn review(ui: &Ui, env: &Env, common: &Common, mut words: Vec<String>) -> Result<Exit> {
    let says = |options: &[&str]| words.iter().any(|word| options.contains(&word.as_str()));
    let is_said = env.stdout_is_terminal || says(&["--pin", "--yes", "--no-pin"]);
    words.retain(|word| word != "--pin");
    words.extend((!is_said).then(|| "--no-pin".to_owned()));
    let verb = Verb { name: "review", command: "review", whom: Whom::Perhaps, adopts: Adopts::None };
    let exit = run(ui, env, common, verb, &words)?;
    if !is_said && exit.code() == 0 {
        ui.note("this is no terminal, so it does not count as a review; with `--pin` it does");
    }
    Ok(exit)
}

/// `send`: a message to an agent. An agent may talk to its parent and to its children, and says who it is.
pub fn send(ui: &Ui, env: &Env, common: &Common, words: &[String]) -> Result<Exit> {
    let verb = Verb { name: "send", command: "message", whom: Whom::One, adopts: Adopts::None };
    let Some(own) = env.var("SHOPFLOOR_AGENT_ID").and_then(|id| id.to_str()) else {
        return run(ui, env, common, verb, words);
    };
    let words = &names_first(verb.name, words);
    refuse_unknown(verb, words)?;
    let (options, texts) = parted(words.iter().cloned());
    let [name, text] = &texts[..] else { return run(ui, env, common, verb, words) };
    let overview = overview::places(&repository::near(env)?)?;
    let rows = rows(&overview);
    let other = &require(&rows, name)?.id;
    let parent = |id: &str| {
        let record = overview.agents.iter().find(|record| record["id"] == id);
        record.and_then(|record: &Value| record["parent"].as_str())
    };
    if parent(own) != Some(other) && parent(other) != Some(own) {
        let why = format!("{} is neither your parent nor your child", printable(name));
        return Err(Failure::new(Exit::No, "not_related", why).hint("tell your parent: it can pass that on"));
    }
    let said = [name.clone(), format!("[from {own}] {text}")];
    run(ui, env, common, verb, &[&said[..], &options[..]].concat())
}

/// Words that were not refused, as options and others. After `--` there are no options.
fn parted(words: impl Iterator<Item = String>) -> (Vec<String>, Vec<String>) {
    let mut is_text = false;
    let (options, mut others): (Vec<String>, Vec<String>) = words.partition(|word| {
        is_text |= word == "--";
        !is_text && word.starts_with("--")
    });
    if let Some(end) = others.iter().position(|word| word == "--") {
        others.remove(end);
    }
    (options, others)
}

/// `back`: sends reviewed work back. A name alone is no text.
pub fn back(ui: &Ui, env: &Env, common: &Common, words: &[String]) -> Result<Exit> {
    let verb = Verb { name: "back", command: "reject", whom: Whom::One, adopts: Adopts::None };
    refuse_unknown(verb, words)?;
    // The file of comments is the word behind.
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let file = words[..end].iter().position(|word| word == "--comments").filter(|at| at + 1 < end);
    let comments = file.map_or(Vec::new(), |at| words[at..at + 2].to_vec());
    let rest = words.iter().enumerate().filter(|(at, _)| file.is_none_or(|file| *at != file && *at != file + 1));
    let (options, texts) = parted(rest.map(|(_, word)| word.clone()));
    let is_request = options.iter().any(|option| option == "--from-request");
    let is_whole = |option: &String| option == "--edit" || option.starts_with("--comments=");
    let has_text = is_request || file.is_some() || options.iter().any(is_whole);
    let passed = options.iter().filter(|option| is_request || *option != "--yes").cloned();
    let mut all: Vec<String> = std::iter::once("reject".to_owned()).chain(comments).chain(passed).collect();
    match &texts[..] {
        [name] if has_text => all.push(worker(ui, env, require(&here(env)?, name)?, false)?),
        [] => return Err(Failure::usage("the agent is missing").hint("name one: `shopfloor status` lists them")),
        [only] if !named(&here(env)?, only).is_empty() => {
            return Err(Failure::usage(format!("what is {} to change?", printable(only)))
                .hint(format!("say it: `shopfloor back {} TEXT`", shell_word(only.as_ref()))));
        }
        // A name that is mistyped would go to whoever was reviewed last.
        [word] if !word.contains(char::is_whitespace) => {
            let rows = here(env)?;
            return require(&rows, word)
                .map(|_| Exit::Done)
                .map_err(|failure| failure.hint("a text of one word needs the name: `shopfloor back NAME TEXT`"));
        }
        [text] => all.extend(["--".to_owned(), text.clone()]),
        [name, text @ ..] => {
            let worker = worker(ui, env, require(&here(env)?, name)?, options.iter().any(|option| option == "--yes"))?;
            all.extend([vec!["--".to_owned(), worker], text.to_vec()].concat());
        }
    }
    pass_on(ui, env, common, TOOL, all)
}
