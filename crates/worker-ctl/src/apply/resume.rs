//! Makes workers go on with their tasks after a restart. A worker that goes on already gets nothing.

use shopfloor_core::error::Result;

use crate::apply::deliver::deliver;
use crate::context::Context;
use crate::plan::machine::Input;
use crate::plan::prompt;
use crate::plan::resume::{Resume, resume};
use crate::worker::{Task, Worker};

/// What a program gets that went on with the conversation that knows its task.
const CONTINUE: &str = "Continue with your task.";

/// Sends a worker what it needs to go on, if anything. Returns what that was.
pub fn go_on(ctx: &Context<'_>, name: &str, is_forced: bool) -> Result<Option<Resume>> {
    let _lock = ctx.lock(name)?;
    let worker = ctx.worker(name)?;
    let Some(what) = resume(&worker) else { return Ok(None) };
    let text = match what {
        Resume::Continue => CONTINUE.to_owned(),
        Resume::Task => {
            let task = task_text(ctx, &worker, worker.work.prompt.as_deref().unwrap_or_default());
            let changes = worker.work.changes.as_deref().filter(|_| worker.task == Task::Rejected);
            [Some(task.as_str()), changes].into_iter().flatten().collect::<Vec<_>>().join("\n\n")
        }
    };
    let input = Input::Resume { is_continued: what == Resume::Continue, force: is_forced };
    deliver(ctx, &worker, &input, &text)?;
    Ok(Some(what))
}

/// The text of a task, as a program gets it.
pub fn task_text(ctx: &Context<'_>, worker: &Worker, prompt: &str) -> String {
    let (validate, role) = (ctx.root.config.given("validate"), ctx.root.worker(&worker.name).role_prompt);
    prompt::task(&worker.worktree_path, &ctx.source(), validate, &role, prompt)
}
