//! Applies an input to a worker: writes the new record to the state, then updates refs and the log, and runs
//! `on_event`.

use serde_json::Value;
use shopfloor_core::error::Result;

use crate::apply::worktree_spawn::{self, ParentReport, in_background};
use crate::context::Context;
use crate::facts::{sandboxes, session_files};
use crate::log;
use crate::plan::machine::{Input, SideEffect, apply};
use crate::store::State;
use crate::task_queue::QueuedTask;
use crate::tmux::typing;
use crate::worker::{Task, Worker};

/// Applies an input to a worker's current record. Returns the new record, and whether a text must be delivered.
pub fn record(ctx: &Context<'_>, name: &str, input: &Input) -> Result<(Worker, bool)> {
    record_with(ctx, name, input, |_| ())
}

/// The same, with what else changes in the state by the same write.
pub fn record_with(
    ctx: &Context<'_>,
    name: &str,
    input: &Input,
    more: impl FnOnce(&mut State),
) -> Result<(Worker, bool)> {
    let now = ctx.now();
    let step = ctx.update(|state| {
        let step = step(state, state.require(name)?.clone(), input, now)?;
        more(state);
        Ok(step)
    })?;
    follow_up(ctx, &step, input)?;
    Ok((step.after, step.effects.contains(&SideEffect::Deliver)))
}

/// Applies an input that was observed while the record was `seen`. Returns nothing if the record has changed since;
/// then the next patrol observes it again.
pub fn observe(ctx: &Context<'_>, seen: &Worker, input: &Input) -> Result<Option<Worker>> {
    let now = ctx.now();
    let applied = ctx.update(|state| match state.workers.get(&seen.name) == Some(seen) {
        true => step(state, seen.clone(), input, now).map(Some),
        false => Ok(None),
    })?;
    let Some(step) = applied else { return Ok(None) };
    follow_up(ctx, &step, input)?;
    Ok(Some(step.after))
}

/// A step that the state has taken, with the revision that it has then.
struct Step {
    before: Worker,
    after: Worker,
    effects: Vec<SideEffect>,
    revision: u64,
}

fn step(state: &mut State, before: Worker, input: &Input, now: i64) -> Result<Step> {
    let (after, effects) = apply(&before, input, now)?;
    keep_queue(state, &before, &after, input)?;
    let revision = state.put(after.clone());
    Ok(Step { before, after, effects, revision })
}

/// Keeps the queue true as a worker goes from one record to the next: the task that it gets leaves the queue, one that it
/// never got comes back to its place, and one that landed is remembered.
fn keep_queue(state: &mut State, before: &Worker, after: &Worker, input: &Input) -> Result<()> {
    let (had, has) = (before.work.queued.as_ref(), after.work.queued.as_ref());
    match (had, has) {
        (None, Some(task)) => {
            let at = state.queue.position(&task.id)?;
            state.queue.waiting.remove(at);
        }
        (Some(task), None) => match input {
            Input::Accepted => state.queue.land(&task.id),
            // It counts as no try: nobody has seen it.
            Input::NotSent { .. } | Input::Doubt => {
                state.queue.put_back(QueuedTask { tries: task.tries.saturating_sub(1), ..task.clone() });
            }
            Input::Reset { requeue: true } => state.queue.put_back(task.clone()),
            _ => {}
        },
        (None, None) | (Some(_), Some(_)) => {}
    }
    Ok(())
}

fn follow_up(ctx: &Context<'_>, Step { before, after, effects, revision }: &Step, input: &Input) -> Result<()> {
    let ctx = &ctx.of(after)?;
    let root = &ctx.root.path;
    let pin = format!("refs/shopfloor/review/{}", after.name);
    let kept = format!("refs/shopfloor/pre/{}", after.name);
    let mut dropped = Vec::new();
    for effect in effects {
        match effect {
            SideEffect::Pin(sha) => ctx.repo.update_ref(&[&pin, sha])?,
            SideEffect::Unpin if before.work.reviewed_sha.is_some() => dropped.push(pin.clone()),
            SideEffect::Keep(sha) => ctx.repo.update_ref(&[&kept, sha])?,
            SideEffect::Unpin | SideEffect::Deliver => {}
        }
    }
    let is_over = after.task == Task::Idle || matches!(input, Input::Reset { .. });
    if is_over && before.task != Task::Idle {
        dropped.push(kept);
        ctx.warn_on_failure(&after.name, || typing::remove_text_files(root, &after.name));
    }
    ctx.repo.drop_refs(&dropped)?;
    if matches!(
        input,
        Input::Commit { .. } | Input::Accepted | Input::Reset { .. } | Input::Exited { .. } | Input::SessionGone
    ) {
        ctx.warn_on_failure(&after.name, || note_cost(ctx, before));
    }
    if matches!(input, Input::Typing { .. } | Input::Restarting { .. }) || before == after && *input != Input::Sent {
        return Ok(());
    }
    let activity = |worker: &Worker| (worker.activity(), worker.reported.activity_text.clone());
    if matches!(input, Input::Reported(_)) && activity(before) == activity(after) {
        return Ok(());
    }
    // The input is applied already, so a failure to log it is only a warning.
    let record = log::record(ctx.env.later().now, before, after, input.describe(), *revision);
    ctx.warn_on_failure(&after.name, || publish_event(ctx, &record));
    // Now the agent of an adopted worktree cannot go on, which its parent is told.
    if let Some(fault) = after.program.fault.as_ref().filter(|_| before.program.fault != after.program.fault) {
        let (key, message) = (format!("worker-ctl:{}:{revision}", after.name), fault.to_string());
        let told = ParentReport { status: "failure", kind: None, message, paths: &[], key };
        worktree_spawn::tell_parent(ctx, after, &told);
    }
    Ok(())
}

/// Keeps what the session of a worker has cost so far.
fn note_cost(ctx: &Context<'_>, worker: &Worker) -> Result<()> {
    let sandbox = sandboxes::of(ctx, worker)?;
    let Some((session, cost)) = session_files::cost(ctx, sandbox.as_ref(), worker) else { return Ok(()) };
    ctx.update_worker(&worker.name, |worker| worker.spent.note(session, cost))
}

/// Logs a record, and starts the `on_event` command with it.
fn publish_event(ctx: &Context<'_>, record: &Value) -> Result<()> {
    log::append(&ctx.root.path, record)?;
    let Some(command) = ctx.root.config.command("on_event") else { return Ok(()) };
    let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
    let keys = ["event", "from", "to", "detail", "activity"];
    let vars = keys.iter().map(|key| (format!("WORKER_CTL_{}", key.to_uppercase()), text(key)));
    let vars: Vec<_> = vars.chain([("WORKER_CTL_NAME".to_owned(), text("worker"))]).collect();
    in_background(ctx, &command.shell(), &vars)
}

/// Deletes the refs that keep a worker's reviewed commit and its commit from before a rebase.
pub fn unpin(ctx: &Context<'_>, name: &str) -> Result<()> {
    let mut refs = ["review", "pre"].map(|kind| format!("refs/shopfloor/{kind}/{name}")).into_iter();
    refs.try_for_each(|name| ctx.repo.drop_refs(&[name]))
}
