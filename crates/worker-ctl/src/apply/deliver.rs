//! Delivers a text to a worker. The intent is saved before a byte is sent. If nothing was sent, the record goes back to
//! what it was.

use std::time::Duration;

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::printable;

use crate::apply::sandbox;
use crate::apply::session::{restart_with, resuming};
use crate::apply::transition;
use crate::context::Context;
use crate::facts::conflicts::read_conflicts;
use crate::failure;
use crate::hook_report;
use crate::layout;
use crate::plan::machine::{Input, over_question, refuse_over_question, until};
use crate::plan::prompt;
use crate::plan::resume::{Resume, resume};
use crate::poll;
use crate::program_config::{AgentTable, Delivery, Paste};
use crate::tmux::typing::{self, DeliveryVerdict};
use crate::work_repo::is_rebasing;
use crate::worker::{Task, TaskBeforeRebase, Worker};
use crate::worker_notes::Note;

/// Records an input that sends a text to the worker, and sends the text. A new task goes to a program with a clear
/// context.
pub fn deliver(ctx: &Context<'_>, before: &Worker, input: &Input, text: &str) -> Result<(Worker, DeliveryVerdict)> {
    let name = &before.name;
    let text = &typing::typable(text);
    let agent = ctx.root.agent_of(before)?;
    match after_limit(before, &agent, input) {
        // The program is started anew, over what it says of the limit.
        Some(_) => require_no_typist(ctx, before, input.is_forced()).map(drop)?,
        None => require_free(ctx, before, input.is_forced())?,
    }
    let is_begun = || Ok::<_, Failure>(ctx.worker(name)?.pending_send != before.pending_send);
    let sent = match transition::record(ctx, name, input) {
        Ok((worker, true)) => send(ctx, &worker, &agent, input, text),
        Ok((worker, false)) => {
            return Err(failure::WRONG_STATE.failure(format!("{} is {}", worker.name, worker.task.word())));
        }
        // The intent is written, and what follows has failed.
        Err(failure) if is_begun().unwrap_or(false) => {
            Err(typing::not_delivered(name, failure.hint("run the same command again")))
        }
        Err(failure) => return Err(failure),
    };
    match sent {
        Ok(verdict) => {
            let sent = transition::record(ctx, name, &Input::Sent).map_err(|failure| {
                let hint = "do not give it again if it is there; the next text goes with `--force`";
                let what = format!("the text was {} to {name}", verdict.word());
                unrecorded(failure, &what, format!("look with `worker-ctl peek {name}`; {hint}"))
            })?;
            Ok((sent.0, verdict))
        }
        Err(failure) if typing::is_nothing_typed(&failure) => {
            let back = Input::NotSent { back: Box::new(before.clone()) };
            match transition::record(ctx, name, &back) {
                Err(cause) if is_begun().unwrap_or(true) => {
                    let again = match input {
                        Input::Message { .. } => "run the same command again with `--force`".to_owned(),
                        Input::Start { queued: Some(_), .. } => "the queue gives it again".to_owned(),
                        _ => format!("run `worker-ctl start --resume {name}`, because {name} has its task now"),
                    };
                    return Err(unrecorded(cause, &failure.message, format!("mend the cause, then {again}")));
                }
                // The record is as it was before.
                Err(cause) => ctx.ui.warn(format!("{name}: {cause}")),
                Ok(_) => {}
            }
            Err(failure)
        }
        Err(mut failure) => {
            // A cause may say to run the same command again.
            if !failure::IN_DOUBT.is_kind_of(&failure) {
                failure.hints.clear();
            }
            Err(failure.hint(format!("it is unknown whether anything was typed; look with `worker-ctl peek {name}`")))
        }
    }
}

/// The failure to record how a delivery ended. What the cause says to do next would type a text twice, or is refused.
pub fn unrecorded(cause: Failure, what: &str, hint: String) -> Failure {
    let message = format!("{what}, but this could not be recorded: {}", cause.message);
    Failure { message, hints: vec![hint], ..cause }
}

/// Sends a text: as an argument where the program takes such a text so, else typed.
fn send(ctx: &Context<'_>, worker: &Worker, agent: &AgentTable, input: &Input, text: &str) -> Result<DeliveryVerdict> {
    let resume = match input {
        Input::Start { .. } | Input::Resume { is_continued: false, .. } => Some(Vec::new()),
        Input::Reject { .. } | Input::Conflict { .. } if !agent.resume.is_empty() => Some(resuming(worker, agent)),
        _ => after_limit(worker, agent, input),
    };
    match resume.filter(|_| agent.delivery == Delivery::Argv) {
        Some(resume) => restart_with(ctx, worker, text, resume).map(|()| DeliveryVerdict::Delivered),
        None => type_text(ctx, worker, agent, input, text),
    }
}

fn type_text(
    ctx: &Context<'_>,
    worker: &Worker,
    agent: &AgentTable,
    input: &Input,
    text: &str,
) -> Result<DeliveryVerdict> {
    let (root, name, force) = (&ctx.root.path, worker.name.as_str(), input.is_forced());
    let not_delivered = |failure| typing::not_delivered(name, failure);
    // From now on the text may have arrived.
    let is_typing = || transition::record(ctx, name, &Input::Typing { force }).map(drop).map_err(not_delivered);
    let tmux = ctx.tmux().map_err(not_delivered)?;
    let clears = matches!(input, Input::Start { .. }) && agent.clear.is_some();
    if clears {
        // The command that clears the context is typed too.
        is_typing()?;
    }
    let prepared = || -> Result<_> {
        let pane = typing::require_pane(&tmux, worker)?;
        let text = match agent.paste {
            Paste::File => {
                let file = typing::write_text_file(root, name, text)?;
                typing::file_prompt(&sandbox::shown(ctx, worker, &file)?)
            }
            Paste::Bracketed | Paste::Lines => text.to_owned(),
        };
        if agent.paste == Paste::Bracketed && text.contains('\n') && !force {
            typing::wait_for_paste(&tmux, &pane, &layout::worker_log(root, name))?;
            // It may have come to ask meanwhile.
            refuse_over_menu(ctx, worker)?;
        }
        if clears {
            typing::clear(&tmux, &pane, agent)
                .map_err(|failure| Failure { exit: Exit::Failed, ..failure::IN_DOUBT.failure(failure.message) })?;
        }
        Ok((pane, typing::load(&tmux, &text)?, text))
    };
    let (pane, buffer, text) = prepared().map_err(not_delivered)?;
    is_typing()?;
    let is_asking = || refuse_over_question(&ctx.worker(name)?, force);
    typing::type_buffer(&tmux, (name, &pane), agent, (&buffer, text.len()), force, &is_asking)?;
    let has_hook = worker.program.heard.is_some();
    Ok(if has_hook && is_heard(ctx, name, &text) { DeliveryVerdict::Delivered } else { DeliveryVerdict::Sent })
}

/// How long to wait for a hook that has spoken before, and how often to look.
const PATIENCE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(20);

/// Waits until the program's hook reports this text. Returns `false` when the time is up.
fn is_heard(ctx: &Context<'_>, name: &str, text: &str) -> bool {
    let expected = hook_report::digest(text);
    let is_it = |worker: Worker| worker.program.heard.as_ref() == Some(&expected);
    poll::holds(PATIENCE, POLL, || ctx.worker(name).is_ok_and(is_it))
}

/// Exit 1 while a worker's program asks a question or shows a menu, or a person types into its
/// pane, unless a person overrules that.
pub fn require_free(ctx: &Context<'_>, worker: &Worker, is_forced: bool) -> Result<()> {
    match require_no_typist(ctx, worker, is_forced)? {
        true => refuse_over_menu(ctx, worker),
        false => Ok(()),
    }
}

/// The same without a look at menus. Returns whether there is a screen to look at.
fn require_no_typist(ctx: &Context<'_>, worker: &Worker, is_forced: bool) -> Result<bool> {
    refuse_over_question(ctx.state()?.require(&worker.name)?, is_forced)?;
    let Some(pane) = worker.program.pane_id.as_deref().filter(|_| !is_forced) else { return Ok(false) };
    typing::require_free(&ctx.tmux()?, &worker.name, pane).map(|()| true)
}

/// The words with which a program is started anew that goes on after a usage limit, if it takes its text so.
fn after_limit(worker: &Worker, agent: &AgentTable, input: &Input) -> Option<Vec<String>> {
    let is_over = worker.notes.iter().any(|note| matches!(note, Note::LimitOver(_)));
    let is_due = is_over && agent.delivery == Delivery::Argv && !agent.resume.is_empty();
    (is_due && matches!(input, Input::Resume { .. })).then(|| resuming(worker, agent))
}

/// Exit 1 while a worker's program shows a menu: some questions no hook tells, and a text that is typed there is lost, or
/// chooses a line.
fn refuse_over_menu(ctx: &Context<'_>, worker: &Worker) -> Result<()> {
    let Some(selected) = ctx.question_on_screen(worker) else { return Ok(()) };
    Err(over_question(&worker.name, &format!("it shows a menu: {}", printable(&selected))))
}

/// What a program gets that went on with the conversation that knows its task.
const CONTINUE: &str = "Continue with your task.";

/// Sends a worker what it needs to go on, if anything. Returns what that was.
pub fn go_on(ctx: &Context<'_>, name: &str, is_forced: bool) -> Result<Option<Resume>> {
    let _lock = ctx.lock(name)?;
    let mut worker = ctx.worker(name)?;
    if let Some(limit) = &worker.program.limit {
        if limit.until_unix.is_some() && limit.holds(ctx.now()) && !is_forced {
            let until = until(limit, ctx.now());
            ctx.ui.note(format!("{name} has hit a usage limit{until}; a running `up` lets it go on then"));
            return Ok(None);
        }
        worker = transition::record(ctx, name, &Input::LimitOver)?.0;
    }
    let Some(what) = resume(&worker) else { return Ok(None) };
    let text = match what {
        Resume::Continue => CONTINUE.to_owned(),
        Resume::Task => whole_task(ctx, &worker)?,
    };
    let input = Input::Resume { is_continued: what == Resume::Continue, force: is_forced };
    deliver(ctx, &worker, &input, &text)?;
    Ok(Some(what))
}

/// All that a worker was told of its task, for a program that knows nothing of it: the task, what to change, and the
/// conflicts.
pub fn whole_task(ctx: &Context<'_>, worker: &Worker) -> Result<String> {
    let is_rejected = matches!(worker.task, Task::Rejected | Task::Rebasing { from: TaskBeforeRebase::Rejected, .. });
    let task = task_text(ctx, worker, worker.work.prompt.as_deref().unwrap_or_default());
    let changes = worker.work.changes.clone().filter(|_| is_rejected);
    let texts = [Some(task), changes, conflicts_text(ctx, worker)?];
    Ok(texts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
}

/// The text about the conflicts that a worker was asked to resolve, as they are now.
fn conflicts_text(ctx: &Context<'_>, worker: &Worker) -> Result<Option<String>> {
    if !matches!(worker.task, Task::Rebasing { .. }) {
        return Ok(None);
    }
    let ctx = &ctx.of(worker)?;
    let (branch, validate) = (&ctx.repo.branch, ctx.root.config.given("validate"));
    if sandbox::of(ctx, worker)?.is_some() {
        return Ok(Some(prompt::rebase(branch, validate, &worker.work.conflicted)));
    }
    let tree = worker.tree();
    match is_rebasing(tree) {
        true => Ok(Some(prompt::conflicts(branch, validate, &read_conflicts(&ctx.repo, tree)?))),
        // The rebase has ended, and no patrol has seen that yet.
        false => Ok(None),
    }
}

/// The text of a task, as a program gets it.
pub fn task_text(ctx: &Context<'_>, worker: &Worker, prompt: &str) -> String {
    let (validate, role) = (ctx.root.config.given("validate"), ctx.root.worker(&worker.name).role_prompt);
    let place = (worker.worktree_path.as_str(), sandbox::is_wanted(ctx, worker));
    prompt::task(place, &ctx.source(), validate, &role, prompt)
}
