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

/// A report to the parent, also as an agent writes it into its spool inside.
#[derive(Serialize, Deserialize)]
pub struct Report {
    #[serde(rename = "notify")]
    pub status: EventStatus,
    pub message: String,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub dedupe: Option<String>,
    /// The files that it is about.
    #[serde(default)]
    pub paths: Vec<String>,
}

/// The reporting agent, which may be named, and the agent that would get the report. Refuses what [`notify`] refuses.
pub fn check(place: &Place, report: &Report, named: Option<&str>) -> Result<(KnownAgent, String)> {
    if report.message.trim().is_empty() {
        return Err(Failure::usage("the message is empty").hint("say in a few words what the parent should know"));
    }
    if report.kind.as_ref().is_some_and(|kind| kind.trim().is_empty()) {
        return Err(Failure::usage("the type is empty").hint("leave `--type` out, or name one"));
    }
    let caller = agents::speaker(place, named)?;
    // What is recorded of the agent is outside, where the report is checked again.
    if let (true, Some(parent)) = (sandbox::is_inside(&place.env), place.env.var("SHOPFLOOR_PARENT")) {
        return Ok((caller, parent.to_string_lossy().into_owned()));
    }
    let (_, to) = send_event::recipient(place, &caller.agent)?;
    Ok((caller, to))
}

/// Publishes a report for the parent of the reporting agent; from inside of a sandbox, leaves it in the spool there.
pub fn notify(env: &Env, place: &Place, report: Report, named: Option<&str>) -> Result<Published> {
    let (caller, to) = check(place, &report, named)?;
    if sandbox::is_inside(env) {
        let uid = sandbox::report(env, &serde_json::to_vec(&report).unwrap_or_default())?;
        return Ok(Published { uid, id: 0, to, is_repeated: false });
    }
    let Report { status, message, kind, dedupe, paths } = report;
    let usual = match status {
        EventStatus::Info => "agent_message",
        EventStatus::Success | EventStatus::Failure => completion(caller.agent.kind),
    };
    let draft = EventDraft {
        kind: kind.unwrap_or_else(|| usual.to_owned()),
        status,
        message: message.trim_end().to_owned(),
        more: if paths.is_empty() { Vec::new() } else { vec![("paths", paths.into())] },
    };
    let published = send_event::send(env, place, &caller, draft, dedupe.as_deref())?;
    if status != EventStatus::Info {
        agent_run::mark_reported(&place.shared(), &caller.agent.id)?;
    }
    Ok(published)
}
