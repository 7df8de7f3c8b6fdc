//! Delivering a text to a worker. The intent is saved before a byte is typed; when nothing was typed, all is as before.

use shopfloor_core::error::{Exit, Failure, Result};

use crate::agent::Delivery;
use crate::apply::{session, transition};
use crate::plan::machine::Input;
use crate::site::Site;
use crate::tmux::typing::{self, TypingOptions, Verdict};
use crate::worker::Worker;

/// Lets something happen to a worker that ends in a text for it. A task goes to a program that starts afresh.
pub fn deliver(site: &Site<'_>, before: &Worker, input: &Input, text: &str) -> Result<(Worker, Verdict)> {
    let name = &before.name;
    let text = &typing::typable(text);
    let agent = site.root.agent_of(before)?;
    require_free(site, before, input.is_forced())?;
    let (worker, is_wanted) = transition::record(site, name, input)?;
    if !is_wanted {
        return Err(Failure::new(Exit::No, "wrong_state", format!("{} is {}", worker.name, worker.task.word())));
    }
    let is_task = matches!(input, Input::Start { .. } | Input::Resume { .. });
    let options = TypingOptions { is_fresh: matches!(input, Input::Start { .. }), is_forced: input.is_forced() };
    let done = match agent.delivery {
        Delivery::Argv if is_task => session::start_with(site, &worker, text).map(|()| Verdict::Delivered),
        _ => type_text(site, &worker, text, options),
    };
    match done {
        Ok(verdict) => Ok((transition::record(site, name, &Input::Sent)?.0, verdict)),
        Err(failure) if typing::is_nothing_typed(&failure) => {
            transition::record(site, name, &Input::NotSent { back: Box::new(before.clone()) })?;
            Err(failure)
        }
        Err(failure) => Err(failure.hint("whether anything was typed is not known; look with `worker-ctl peek`")),
    }
}

fn type_text(site: &Site<'_>, worker: &Worker, text: &str, options: TypingOptions) -> Result<Verdict> {
    let not_delivered = |failure| typing::not_delivered(&worker.name, failure);
    let is_typing = || transition::record(site, &worker.name, &Input::Typing).map_err(not_delivered);
    let tmux = site.tmux().map_err(not_delivered)?;
    let agent = site.root.agent_of(worker)?;
    if options.is_fresh && agent.clear.is_some() {
        // The command that clears its context is typed too.
        is_typing()?;
    }
    let ready = typing::prepare(&tmux, &site.root.path, worker, &agent, text, options).map_err(not_delivered)?;
    is_typing()?;
    typing::deliver(&tmux, &site.root.path, worker, &agent, ready)
}

/// Exit 1 while a person types into a worker's pane, unless that is overruled.
pub fn require_free(site: &Site<'_>, worker: &Worker, is_forced: bool) -> Result<()> {
    let Some(pane) = worker.pane_id.as_deref().filter(|_| !is_forced) else { return Ok(()) };
    typing::require_free(&site.tmux()?, &worker.name, pane)
}
