//! Reporting something to the parent, for `notify` and the MCP tool `notify_parent`.

use serde::{Deserialize, Serialize};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::sandbox;

use super::send_event;
use crate::agent_in_worktree::KnownAgent;
use crate::agent_run;
use crate::event::{EventDraft, EventStatus, completion};
use crate::facts::agents;
use crate::repository_view::Place;
use crate::spool::Published;

/// A report to the parent.
pub struct Notification<'a> {
    pub status: EventStatus,
    pub message: &'a str,
    pub kind: Option<&'a str>,
    pub dedupe: Option<&'a str>,
    /// The files that it is about.
    pub paths: &'a [String],
    /// The reporting agent, if it is named.
    pub named: Option<&'a str>,
}

/// A report to the parent, as an agent writes it into its spool inside.
#[derive(Serialize, Deserialize)]
pub struct Report {
    pub notify: EventStatus,
    pub message: String,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub dedupe: Option<String>,
    #[serde(default)]
    pub paths: Vec<String>,
}

/// The reporting agent, and the agent that would get the report. Refuses what [`notify`] refuses.
pub fn check(place: &Place, notification: &Notification<'_>) -> Result<(KnownAgent, String)> {
    if notification.message.trim().is_empty() {
        return Err(Failure::usage("the message is empty").hint("say in a few words what the parent should know"));
    }
    if notification.kind.is_some_and(|kind| kind.trim().is_empty()) {
        return Err(Failure::usage("the type is empty").hint("leave `--type` out, or name one"));
    }
    let caller = agents::speaker(place, notification.named)?;
    // What is recorded of the agent is outside, where the report is checked again.
    if let (true, Some(parent)) = (sandbox::is_inside(&place.env), place.env.var("SHOPFLOOR_PARENT")) {
        return Ok((caller, parent.to_string_lossy().into_owned()));
    }
    let (_, to) = send_event::recipient(place, &caller.agent)?;
    Ok((caller, to))
}

/// Publishes a report for the parent of the reporting agent.
pub fn notify(env: &Env, place: &Place, notification: &Notification<'_>) -> Result<Published> {
    let (caller, to) = check(place, notification)?;
    if sandbox::is_inside(env) {
        return report(env, notification, to);
    }
    let message = notification.message.trim_end();
    let usual = match notification.status {
        EventStatus::Info => "agent_message",
        EventStatus::Success | EventStatus::Failure => completion(caller.agent.kind),
    };
    let draft = EventDraft {
        kind: notification.kind.unwrap_or(usual).to_owned(),
        status: notification.status,
        message: message.to_owned(),
        more: if notification.paths.is_empty() { Vec::new() } else { vec![("paths", notification.paths.into())] },
    };
    let published = send_event::send(env, place, &caller, draft, notification.dedupe)?;
    if notification.status != EventStatus::Info {
        agent_run::mark_reported(&place.shared(), &caller.agent.id)?;
    }
    Ok(published)
}

/// Leaves a report in the spool of the sandbox that this process is in.
fn report(env: &Env, notification: &Notification<'_>, to: String) -> Result<Published> {
    let Notification { status, message, kind, dedupe, paths, .. } = *notification;
    let own = |text: Option<&str>| text.map(str::to_owned);
    let (kind, dedupe, paths) = (own(kind), own(dedupe), paths.to_vec());
    let report = Report { notify: status, message: message.to_owned(), kind, dedupe, paths };
    let uid = sandbox::report(env, &serde_json::to_vec(&report).unwrap_or_default())?;
    Ok(Published { uid, id: 0, to, is_repeated: false })
}
