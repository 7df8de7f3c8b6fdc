//! `rm`: agents that are no longer needed, with their worktrees.

use std::cmp::Reverse;
use std::path::Path;

use serde_json::{Value, json};
use shopfloor_core::args::Common;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{require_own_config, require_plain_ref};
use shopfloor_core::proc::processes;
use shopfloor_core::ssh::UNREACHABLE;
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::ui::Ui;

use crate::commands::shell_init::FUNCTION;
use crate::commands::worker_commands::{here, require, way_to_adopt, worker};
use crate::commands::{exit_of, on_the_way, pass_on, quietly, words_for};
use crate::facts::overview::{self, in_one_line};
use crate::facts::repository::{self, Repository};
use crate::facts::run_tool::{Answer, ask};
use crate::plan::rows::{POOL, Row, rows};

/// Remove agents with their worktrees and branches, once their work has landed
///
/// Never lands anything: exits with 1 if something would be lost. With --force what would be lost is kept under a ref
/// first, which is named.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  shopfloor rm feature-a")]
pub struct Args {
    /// The agents: names, ids or branches
    #[arg(required_unless_present = "merged", value_name = "NAME")]
    pub names: Vec<String>,
    /// All agents whose requests were merged on the forge, as your own `gh` or `glab` tells
    #[arg(long, conflicts_with_all = ["names", "force"])]
    pub merged: bool,
    /// Do not ask; with --merged, also those whose requests were not made from here
    #[arg(long)]
    pub yes: bool,
    /// Also end what others have running there; what an agent or its set-up started is ended in any case
    #[arg(long, conflicts_with = "merged")]
    pub reap: bool,
    /// Remove them all the same, and keep what would be lost under a ref
    #[arg(long)]
    pub force: bool,
}

pub fn run(ui: &Ui, env: &Env, common: &Common, args: &Args) -> Result<Exit> {
    if args.merged { merged(ui, env, common, args.yes) } else { remove(ui, env, common, args) }
}

/// Whether the request of an agent was merged, as the forge told it last.
fn is_merged(row: &Row) -> bool {
    row.request.as_ref().is_some_and(|request| request["state"] == "merged")
}

/// Who stays, each with an exit and why.
type Stay = Vec<(Exit, String)>;

/// Takes in what was merged on the forge. Returns of whom, and who stays.
fn take_in(ui: &Ui, (env, there): (&Env, &Env), common: &Common, is_agreed: bool) -> Result<(Vec<String>, Stay)> {
    let (mut taken, mut stay) = (Vec::new(), Vec::new());
    for row in here(env)?.iter().filter(|row| is_merged(row) && row.task.as_deref() != Some("idle")) {
        let Some(worker) = &row.worker else { continue };
        if common.dry_run && row.task.as_deref() != Some("needs_review") {
            continue;
        }
        if common.dry_run {
            let would = format!("take in the request of {}", row.name);
            ui.would(&json!({ "id": row.id, "worktree": row.worktree }), &[would]);
            would_remove(ui, row);
            continue;
        }
        let mut words = ["worker-ctl", "--json", "accept", "--merged", worker].map(str::to_owned).to_vec();
        words.extend(is_agreed.then(|| "--yes".to_owned()));
        let done = quietly(ui, there, &words)?;
        match done.status.success() {
            true => taken.push(worker.clone()),
            // Its request was of earlier work.
            false if done.has_kind("not_found") => {}
            false => {
                let why = reason(failure_of(&done));
                stay.push((exit_of(done.status), format!("{} stays: {why}", printable(&row.name))));
            }
        }
    }
    Ok((taken, stay))
}

/// Takes in what was merged on the forge, and removes the agents that have nothing else.
fn merged(ui: &Ui, env: &Env, common: &Common, is_agreed: bool) -> Result<Exit> {
    let there = repository::near(env)?;
    overview::ask_forge(&there, true)?;
    let (taken, mut stay) = take_in(ui, (env, &there), common, is_agreed)?;
    let rows = here(env)?;
    // Also what was taken in before, by `land` or by a command that was cut off. In the clone the branch has moved on then.
    let was_taken = |row: &Row| row.landed.is_some() || row.record["landed_prompt"].is_string();
    let is_taken = |row: &&Row| was_taken(row) || row.worker.as_ref().is_some_and(|name| taken.contains(name));
    let is_over = |row: &&Row| is_merged(row) && row.task.as_deref() == Some("idle");
    let over: Vec<&Row> = rows.iter().filter(is_over).filter(is_taken).collect();
    if over.is_empty() && stay.is_empty() {
        ui.nothing_to_do();
    }
    for row in over {
        let names = vec![row.worker.clone().unwrap_or_else(|| row.name.clone())];
        // What worktree-spawn notes of the branch is not so a moment later.
        let quiet = Common { quiet: true, ..common.clone() };
        let args = Args { names, merged: true, force: false, yes: false, reap: false };
        let name = printable(&row.name);
        match remove(ui, env, &quiet, &args) {
            // Somebody has ended it.
            Err(failure) if failure.exit.code() > 128 => return Err(failure),
            Err(failure) => stay.push((failure.exit, format!("{name} stays: {}", reason(failure)))),
            Ok(_) if common.dry_run => {}
            Ok(_) => {
                if !ui.is_json() {
                    ui.done(format!("removed {name}"));
                }
                if let Err(failure) = delete_branch(&there, row) {
                    let exit = failure.exit;
                    stay.push((exit, format!("{name} is removed, but not all of its branch: {}", reason(failure))));
                }
            }
        }
    }
    require_none(stay)
}

/// Fails with the worst exit if some stay. An error is the last line of an answer.
fn require_none(stay: Stay) -> Result<Exit> {
    let worst = stay.iter().map(|(exit, _)| *exit).max_by_key(|exit| exit.code());
    worst.map_or(Ok(Exit::Done), |worst| {
        let failure = Failure::new(worst, "incomplete", "not all that belongs to merged requests is removed");
        let lines = stay.iter().map(|(_, line)| format!("  {line}"));
        Err(failure
            .details(lines)
            .hint("`shopfloor status` shows them; mend what it says, then run the same command again"))
    })
}

/// Deletes the branch of a removed agent if it is where it was when its request was merged. A ref of ours keeps the commit.
fn delete_branch(env: &Env, row: &Row) -> Result<()> {
    let (Some(branch), Some(tip)) = (&row.branch, &row.landed) else { return Ok(()) };
    let Repository { git, repo, main } = repository::find(env)?;
    let (own, name) = (git.common(&repo.common_dir)?, format!("refs/heads/{branch}"));
    require_plain_ref(&repo.common_dir, &name)?;
    own.cmd(&repo.common_dir).args(["update-ref", "--no-deref", "-d", &name, tip]).capture()?;
    let left = own.cmd(&repo.common_dir).args(["show-ref", "--verify", "--quiet", &name]).capture()?;
    if !left.status.success() {
        require_own_config(&repo.common_dir)?;
        git.cmd(&main).args(["config", "--remove-section", &format!("branch.{branch}")]).capture()?;
    }
    Ok(())
}

fn remove(ui: &Ui, env: &Env, common: &Common, args: &Args) -> Result<Exit> {
    let main = repository::find_near(env)?.main;
    // Counting what has not landed may take a while, and stops no removal that is forced.
    let read = if args.force { overview::places } else { overview::counted_places };
    let rows = rows(&read(&env.at(&main)?)?);
    // All are looked at before the first is removed.
    let in_vain = |failure: Failure| if args.names.len() == 1 { failure } else { failure.hint(NOTHING) };
    let chosen = inner_first(look_at(ui, env, &main, args, &rows).map_err(in_vain)?);
    require_reaping(ui, env, if args.reap && !common.dry_run { &chosen } else { &[] }, args.yes)?;
    let there = if env.var(FUNCTION).is_some() { &env.at(&main)? } else { env };
    // Whatever refuses has to before a worker is given up.
    if let Some(refused) = would_refuse(ui, there, common, args, &chosen)? {
        return Ok(refused);
    }
    // Of agents that are no workers all go or none, which worktree-spawn sees to.
    let (force, are_plain) = (args.force.then_some("--force"), chosen.iter().all(|row| row.worker.is_none()));
    let spawned = [&["remove"][..], if args.reap { &["--reap", "--yes"] } else { &[] }].concat();
    let nuke = [&["nuke", "--yes"][..], if args.reap { &["--reap"] } else { &[] }].concat();
    let call = |tool: &str, words: &[&str], names: &[&str]| -> Result<Exit> {
        let words = words.iter().filter(|word| !(common.quiet && **word == "-q"));
        let words: Vec<&str> = words.chain(&force).chain(&["--"]).chain(names).copied().collect();
        step(ui, there, (common, args.merged), tool, &words)
    };
    let first = |words: &[&str], worker: &str| step_before(ui, there, (common, args.merged), words, worker);
    let holds_others = |row: &Row| chosen.iter().any(|other| lies_inside(other, row));
    for (at, row) in chosen.iter().enumerate().filter(|_| !are_plain) {
        let done = match row.worker.as_deref() {
            Some(worker) if row.kind == POOL => call("worker-ctl", &nuke, &[worker])?,
            Some(worker) if row.kind == "root" => {
                call("worker-ctl", &[&nuke[..], &["--worktree"]].concat(), &[worker])?
            }
            // What lies inside of it is still there, and of a running one worktree-spawn does not say what it leaves.
            worker if common.dry_run && (holds_others(row) || worker.is_some() && row.alive == "up" && !args.force) => {
                let ended = worker.map_or(Ok(Exit::Done), |worker| call("worker-ctl", &["-q", "down"], &[worker]))?;
                if ended.code() == 0 {
                    would_remove(ui, row);
                }
                ended
            }
            // worktree-spawn knows what lies inside of it, and asks whether somebody works there.
            Some(worker) => {
                let ended = first(&[&["down"][..], force.as_slice()].concat(), worker)?;
                let removed = if ended.code() == 0 { call("worktree-spawn", &spawned, &[&row.id]) } else { Ok(ended) };
                let is_gone = removed.as_ref().is_ok_and(|exit| exit.code() == 0);
                if ended.code() == 0 && !is_gone && row.alive == "up" {
                    ui.note(format!("its session was ended; `shopfloor resume {worker}` starts it again"));
                }
                // Of a worker whose worktree is gone nothing is left to lose.
                let forget = [&["nuke", "--yes"][..], force.as_slice()].concat();
                if is_gone && !common.dry_run { first(&forget, worker)? } else { removed? }
            }
            None => call("worktree-spawn", &spawned, &[&row.id])?,
        };
        // An error is the last line of an answer.
        if done.code() != 0 {
            chosen.iter().skip(at + 1).for_each(|row| ui.note(format!("{} was not removed", printable(&row.name))));
            return Ok(done);
        }
    }
    let ids = chosen.iter().map(|row| row.id.as_str()).collect::<Vec<_>>();
    let removed = if are_plain { call("worktree-spawn", &spawned, &ids)? } else { Exit::Done };
    if !common.dry_run && removed.code() == 0 {
        take_reports(ui, (&env.at(&main)?, &env.cwd), &args.names, &rows)?;
        // Where the worktrees were, if that was the last one.
        repository::worktree_base(&main).map(|base| fs::remove_empty_dir(&base));
    }
    Ok(removed)
}

/// Runs a tool whose answer is ours.
fn step(ui: &Ui, env: &Env, (common, is_one): (&Common, bool), tool: &str, words: &[&str]) -> Result<Exit> {
    match is_one {
        true => one_of_several(ui, env, common, (tool, true), words),
        false => pass_on(ui, env, common, tool, words.iter().map(|word| (*word).to_owned()).collect()),
    }
}

/// Runs a command of worker-ctl that is no part of the answer.
fn step_before(ui: &Ui, env: &Env, (common, is_one): (&Common, bool), words: &[&str], worker: &str) -> Result<Exit> {
    match is_one {
        true => one_of_several(ui, env, common, ("worker-ctl", false), &[words, &["--", worker]].concat()),
        false => on_the_way(ui, env, common, words, worker),
    }
}

/// Runs a tool for one of several agents, and returns its failure: the error of all is the last line. Its answer is ours, or
/// else only where work is kept.
fn one_of_several(ui: &Ui, env: &Env, common: &Common, call: (&str, bool), words: &[&str]) -> Result<Exit> {
    let (tool, is_answer) = call;
    let asked = Common { json: common.json || !common.dry_run, ..common.clone() };
    let words = words_for(&asked, tool, words.iter().map(|word| (*word).to_owned()).collect());
    let done = quietly(ui, &repository::home(env)?, &words)?;
    if !done.status.success() {
        return Err(failure_of(&done));
    }
    let kept = done.records.iter().filter_map(|record| record["kept"].as_array()).flatten();
    let mut kept = kept.filter_map(Value::as_str).peekable();
    match common.json || common.dry_run {
        true if is_answer || kept.peek().is_some() => ui.answer(done.text.as_bytes()),
        true => {}
        false => kept.for_each(|place| ui.line(printable(place))),
    }
    Ok(Exit::Done)
}

/// Why something failed, and what to run next, in one line.
fn reason(failure: Failure) -> String {
    in_one_line(failure.to_string(), failure.hints)
}

fn failure_of(answer: &Answer) -> Failure {
    answer.told_as(|why| Failure::new(exit_of(answer.status), "incomplete", why))
}

/// The same agents, those whose worktrees lie inside of others first.
fn inner_first(named: Vec<&Row>) -> Vec<&Row> {
    let mut chosen = named.clone();
    chosen.sort_by_key(|row| Reverse(named.iter().filter(|other| lies_inside(row, other)).count()));
    chosen
}

/// Whether an agent's worktree lies inside of another one's.
fn lies_inside(row: &Row, other: &Row) -> bool {
    row.worktree != other.worktree && Path::new(&row.worktree).starts_with(&other.worktree)
}

/// Asks worktree-spawn whether it would refuse to remove these worktrees, forced or not, and says why.
fn would_refuse(ui: &Ui, env: &Env, common: &Common, args: &Args, chosen: &[&Row]) -> Result<Option<Exit>> {
    let spawned: Vec<&Row> = chosen.iter().copied().filter(|row| row.kind == "subtree").collect();
    if common.dry_run || spawned.iter().all(|row| row.worker.is_none()) {
        return Ok(None);
    }
    // An agent may have closed its worktree, and a dry run does not open it.
    spawned.iter().filter(|row| args.force && row.is_known).for_each(|row| fs::open_up(Path::new(&row.worktree)));
    let ids = spawned.iter().map(|row| row.id.as_str());
    let words = ["remove", "--force", "--"].into_iter().chain(ids).map(str::to_owned).collect();
    let dry = Common { quiet: true, dry_run: true, json: common.json || args.merged, ..common.clone() };
    let would = quietly(ui, &repository::home(env)?, &words_for(&dry, "worktree-spawn", words))?;
    if would.status.success() {
        return Ok(None);
    }
    if args.merged {
        return Err(failure_of(&would));
    }
    // That it was a dry run is no part of the answer.
    let errors = would.records.iter().filter_map(|record| record.get("error"));
    errors.for_each(|error| ui.json(&json!({ "error": error })));
    if chosen.len() > 1 {
        ui.note(NOTHING);
    }
    Ok(Some(exit_of(would.status)))
}

/// What is said of several if one cannot go.
const NOTHING: &str = "nothing was removed";

/// The rows of the names. Refuses what would be lost, a worktree that a person made (with an agent's its branch goes, too,
/// and that one is theirs), and one that a shell would be left in.
fn look_at<'r>(ui: &Ui, env: &Env, main: &Path, args: &Args, rows: &'r [Row]) -> Result<Vec<&'r Row>> {
    let chosen = args.names.iter().map(|name| require(rows, name)).collect::<Result<Vec<_>>>()?;
    chosen.iter().try_for_each(|row| refuse(row, args.force))?;
    chosen.iter().filter(|_| !args.force).try_for_each(|row| refuse_unlanded(&env.at(main)?, row))?;
    if let Some(plain) = chosen.iter().find(|row| row.kind == "root" && row.worker.is_none()) {
        worker(ui, env, plain, false).map_err(|failure| {
            // Here `--yes` makes no agent of it. git would delete all that it ignores there, and an agent can have written the
            // record that names the directory.
            Failure { hints: vec![way_to_adopt(plain)], ..failure }
        })?;
    }
    // The shell function leaves a directory that is gone; without it, a shell would be left in one.
    // The main checkout is in a record that is wrong, which worktree-spawn refuses.
    let is_main = |row: &Row| row.is_main || Path::new(&row.worktree) == main;
    let is_left = |row: &&&Row| row.kind != "worker" && !is_main(row) && env.cwd.starts_with(&row.worktree);
    if let Some(row) = chosen.iter().find(|row| env.var(FUNCTION).is_none() && is_left(row)) {
        return Err(runs_in(row, main));
    }
    Ok(chosen)
}

fn runs_in(row: &Row, main: &Path) -> Failure {
    let what = format!("this command runs in {}", printable(&row.worktree));
    Failure::new(Exit::No, "here", what).hint(format!("run it elsewhere: `cd {}`", shell_word(main)))
}

/// Asks whether what works in their worktrees here may be ended.
fn require_reaping(ui: &Ui, env: &Env, rows: &[&Row], is_agreed: bool) -> Result<()> {
    let here = rows.iter().filter(|row| !row.id.contains(':'));
    let told = here.flat_map(|row| processes::named_in(env, Path::new(&row.worktree))).collect::<Vec<_>>().join(", ");
    ui.require_yes(is_agreed || told.is_empty(), &format!("End {told}?"), format!("nothing was removed: {told}"))
}

/// What would come once its program has ended; worktree-spawn does not look at what a running one leaves.
fn would_remove(ui: &Ui, row: &Row) {
    let (id, place) = (printable(&row.id), printable(&row.worktree));
    let answer = json!({ "id": row.id, "worktree": row.worktree, "removed": false, "dry_run": true });
    ui.json_or_line(&answer, format!("would remove {id} at {place}, if nothing is lost then"));
}

/// More of them stay: a live agent can go on for ever.
const MOST_REPORTS: &str = "20";

/// Shows the reports of agents that are gone, to the main checkout and to the worktree that the command runs in, and takes
/// them, because they would wait for ever. With `-q` they stay, and where nobody can read them.
fn take_reports(ui: &Ui, (env, cwd): (&Env, &Path), names: &[String], rows: &[Row]) -> Result<()> {
    let around = rows.iter().map(|row| row.worktree.as_str()).filter(|dir| cwd.starts_with(dir));
    let here = around.max_by_key(|dir| dir.len());
    let is_here = |id: &&str| rows.iter().any(|row| row.id == **id && !row.is_main && Some(&row.worktree[..]) == here);
    for name in names {
        let row = require(rows, name)?;
        if ui.is_quiet() || row.kind != "subtree" {
            continue;
        }
        let own = row.parent.as_deref().filter(is_here).map(|id| vec!["--session", id]);
        for session in std::iter::once(Vec::new()).chain(own) {
            let wait = ["worktree-spawn", "wait", "--from", &row.id, "--timeout", "0s", "--count", MOST_REPORTS];
            let reports = ask(env, &[&wait[..], &["--lease", "9s"], &session[..]].concat())?.records;
            let told = |report: &Value| {
                let text = |key: &str| printable(report[key].as_str().unwrap_or_default());
                format!("{} reported {}: {}", printable(&row.name), text("status"), text("message"))
            };
            // An agent can have written any text for a uid.
            let uid = |report: &&Value| report["uid"].as_str().is_some_and(|uid| !uid.starts_with('-'));
            let reports: Vec<&Value> = reports.iter().filter(uid).collect();
            let uids = reports.iter().filter_map(|report| report["uid"].as_str());
            if !reports.is_empty() && ui.tell(reports.iter().map(|report| told(report))) {
                ask(env, &["worktree-spawn", "ack"].into_iter().chain(uids).collect::<Vec<_>>())?;
            }
        }
    }
    Ok(())
}

fn unmerged(row: &Row) -> Failure {
    let name = printable(&row.name);
    let is_gone = !row.id.contains(':') && !Path::new(&row.worktree).is_dir();
    let land = match is_gone {
        true => "its worktree is gone: bring it back".to_owned(),
        false => format!("land it: `shopfloor land {}`", shell_word(row.name.as_ref())),
    };
    Failure::new(Exit::No, "unmerged", format!("the work of {name} has not landed"))
        .hint(format!("{land}, or use `--force`, which keeps it on its branch or under a ref"))
}

/// Refuses a branch that has commits which the one on which its work lands lacks.
fn refuse_unlanded(env: &Env, row: &Row) -> Result<()> {
    if row.ahead.is_none_or(|ahead| ahead == 0) || !["subtree", "root"].contains(&row.kind.as_str()) {
        return Ok(());
    }
    // As other commits it has landed, too: of a worker the count says so, and of others that its branch would go.
    if row.worker.is_none() {
        // So has what another branch has, as the one from which it was made.
        let Repository { git, main, .. } = repository::find(env)?;
        let others = format!("--exclude={}", row.branch.as_deref().unwrap_or_default());
        let own = ["rev-list", "-n1", row.branch.as_deref().unwrap_or("HEAD"), "--not", &others, "--branches", "--"];
        let own = git.cmd_alone(&main).args(own).capture()?;
        if own.status.success() && own.stdout.is_empty() {
            return Ok(());
        }
        let would = ask(env, &["worktree-spawn", "-n", "remove", &row.id])?;
        if would.status.code() != 0 || would.records.iter().any(|record| record["deleted_branch"].is_string()) {
            return Ok(());
        }
    }
    Err(unmerged(row))
}

/// Refuses to remove the main checkout, and work that has not landed.
fn refuse(row: &Row, is_forced: bool) -> Result<()> {
    let name = printable(&row.name);
    if row.is_main {
        return Err(Failure::new(
            Exit::No,
            "main_checkout",
            format!("{name} is the main checkout, which is never removed"),
        )
        .hint("`shopfloor status` lists what can be"));
    }
    match row.task.as_deref() {
        // What its host said last may not be so any more, and nothing can land or go there.
        _ if row.record["unreachable_since_at"].is_string() => {
            let why = format!("there is no answer from the host of {name}");
            Err(UNREACHABLE.failure(why).hint("run the same command again once `shopfloor status` shows it"))
        }
        Some("needs_review") if !is_forced => Err(unmerged(row)),
        Some(task) if task != "idle" && !is_forced => {
            let refused = Failure::new(Exit::No, "wrong_state", format!("{name} has a task: {task}"));
            let name = shell_word(row.name.as_ref());
            Err(refused.hint(match row.activity.as_deref() {
                Some("rests") => format!(
                    "it waits for you: `shopfloor send {name} TEXT`, or use `--force`, which keeps what is there"
                ),
                _ => format!("wait for it: `shopfloor wait {name}`, or use `--force`, which keeps what is there"),
            }))
        }
        _ => Ok(()),
    }
}
