//! Delivers a text to a worker. The intent is saved before a byte is sent. If nothing was sent, the record goes back to
//! what it was.

use shopfloor_core::error::{Exit, Failure, Result};

use crate::agent::{AgentTable, Delivery};
use crate::apply::handover::{Handover, Taken, hand_over};
use crate::apply::session::{self, Conversation};
use crate::apply::transition;
use crate::plan::machine::{Input, refuse_over_question};
use crate::site::Site;
use crate::store;
use crate::tmux::typing::{self, DeliveryVerdict, TypingOptions};
use crate::worker::{Activity, Worker};

/// Records an input that sends a text to the worker, and sends the text. A new task goes to a program with a clear
/// context.
pub fn deliver(site: &Site<'_>, before: &Worker, input: &Input, text: &str) -> Result<(Worker, DeliveryVerdict)> {
    let name = &before.name;
    let text = &typing::typable(text);
    let agent = site.root.agent_of(before)?;
    require_free(site, before, input.is_forced())?;
    let (worker, must_deliver) = transition::record(site, name, input)?;
    if !must_deliver {
        return Err(Failure::new(Exit::No, "wrong_state", format!("{} is {}", worker.name, worker.task.word())));
    }
    match send(site, &worker, &agent, input, text) {
        Ok(Sent { verdict, conversation }) => {
            Ok((transition::record(site, name, &Input::Sent { conversation })?.0, verdict))
        }
        Err(failure) if typing::is_nothing_typed(&failure) => {
            transition::record(site, name, &Input::NotSent { back: Box::new(before.clone()) })?;
            Err(failure)
        }
        Err(failure) => Err(failure.hint("it is unknown whether anything was typed; look with `worker-ctl peek`")),
    }
}

/// A text that was sent.
struct Sent {
    verdict: DeliveryVerdict,
    /// The conversation that the text belongs to, if the program told it.
    conversation: Option<String>,
}

/// Sends a text in the first way that the program allows: at its socket, as an argument, or typed.
fn send(site: &Site<'_>, worker: &Worker, agent: &AgentTable, input: &Input, text: &str) -> Result<Sent> {
    let options = TypingOptions { is_fresh: matches!(input, Input::Start { .. }), is_forced: input.is_forced() };
    let (conversation, has_argument) = match input {
        Input::Start { .. } | Input::Resume { .. } => (Conversation::New, true),
        Input::Reject { .. } | Input::Conflict { .. } => (Conversation::Continued, !agent.resume.is_empty()),
        _ => (Conversation::Continued, false),
    };
    let is_argv = has_argument && agent.delivery == Delivery::Argv;
    // A text that is forced may be the answer to a question on the screen.
    let is_asking = worker.activity == Activity::Asks && conversation == Conversation::Continued;
    let handover = if options.is_forced && (is_asking || matches!(input, Input::Message { .. })) {
        Handover::NoSocket
    } else {
        let before_send = || record_typing(site, worker, options.is_forced);
        let handover = hand_over(site, worker, agent, text, conversation, options.is_forced, before_send);
        handover.map_err(|failure| typing::not_delivered(&worker.name, failure))?
    };
    let verdict = match handover {
        Handover::Taken(Taken { is_exact, conversation }) => {
            let verdict = if is_exact { DeliveryVerdict::Delivered } else { DeliveryVerdict::Sent };
            return Ok(Sent { verdict, conversation });
        }
        // A restart ends the turn that the text may have begun.
        Handover::NoSocket | Handover::Gone | Handover::Unknown if is_argv => {
            site.ui.detail(format!("the program of {} is started anew with the text ({handover:?})", worker.name));
            session::restart_with(site, worker, text, conversation).map(|()| DeliveryVerdict::Delivered)
        }
        Handover::NoSocket => type_text(site, worker, text, options),
        Handover::Asks => Err(Failure::new(
            Exit::No,
            typing::OCCUPIED,
            format!("nothing was sent to {}: it asks a question", worker.name),
        )
        .hint(format!("answer with `worker-ctl attach {}`, or run the same command with `--force`", worker.name))),
        // What is typed would meet another conversation.
        Handover::Gone => Err(typing::not_delivered(
            &worker.name,
            Failure::failed("its program does not have the conversation of the task any more"),
        )),
        Handover::Unknown => Err(Failure::failed(format!("the program of {} did not answer", worker.name))),
    };
    verdict.map(|verdict| Sent { verdict, conversation: None })
}

/// Records that a text is about to reach the program. Exit 1 if the program asks a question, unless that is overruled.
fn record_typing(site: &Site<'_>, worker: &Worker, force: bool) -> Result<()> {
    let recorded = transition::record(site, &worker.name, &Input::Typing { force });
    recorded.map(drop).map_err(|failure| typing::not_delivered(&worker.name, failure))
}

fn type_text(site: &Site<'_>, worker: &Worker, text: &str, options: TypingOptions) -> Result<DeliveryVerdict> {
    let not_delivered = |failure| typing::not_delivered(&worker.name, failure);
    let force = options.is_forced;
    let is_typing = || record_typing(site, worker, force);
    let tmux = site.tmux().map_err(not_delivered)?;
    let agent = site.root.agent_of(worker)?;
    if options.is_fresh && agent.clear.is_some() {
        // The command that clears the context is typed too.
        is_typing()?;
    }
    let ready = typing::prepare(&tmux, &site.root.path, worker, &agent, text, options).map_err(not_delivered)?;
    is_typing()?;
    let is_asking = || {
        let state = store::load(&site.root.path)?;
        refuse_over_question(state.require(&worker.name)?, force).map(drop)
    };
    typing::deliver(&tmux, &site.root.path, worker, &agent, ready, &is_asking)
}

/// Exit 1 while a worker's program asks a question, or a person types into its pane, unless a person overrules that.
pub fn require_free(site: &Site<'_>, worker: &Worker, is_forced: bool) -> Result<()> {
    refuse_over_question(store::load(&site.root.path)?.require(&worker.name)?, is_forced)?;
    let Some(pane) = worker.pane_id.as_deref().filter(|_| !is_forced) else { return Ok(()) };
    typing::require_free(&site.tmux()?, &worker.name, pane)
}
