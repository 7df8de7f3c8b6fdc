//! `notify`: report something to the parent.

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::sandbox;
use shopfloor_core::ui::{Ui, printable};

use super::shared_args::CallerArgs;
use crate::apply::notify::{self, Report};
use crate::event::EventStatus;
use crate::facts::repository;

/// Send an event to the parent, which is kept until the parent takes it
///
/// Exits with 1 if the agent has no parent.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Example:\n  worktree-spawn notify success 'All tests pass'\n  git log --oneline -3 | worktree-spawn notify info -"
)]
pub struct Args {
    /// How it went
    pub status: EventStatus,
    /// The message; read from stdin if it is `-` or missing
    #[arg(value_name = "MSG", allow_hyphen_values = true)]
    pub message: Option<String>,
    #[command(flatten)]
    pub caller: CallerArgs,
    /// The type of the event [default: worker_complete or subtree_complete; agent_message for info]
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Send the event once, however often the command is repeated with this key
    #[arg(long, value_name = "KEY")]
    pub dedupe: Option<String>,
    /// Name a file that the event is about, as one of its `paths`; may be repeated
    #[arg(long = "path", value_name = "FILE")]
    pub paths: Vec<String>,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find_for_speaker(env)?;
    let message = match args.message.as_deref() {
        None | Some("-") => String::from_utf8(ui.input_up_to(fs::STATE_LIMIT)?)
            .map_err(|_| Failure::malformed("the message on stdin is not UTF-8"))?,
        Some(text) => text.to_owned(),
    };
    let (kind, dedupe, paths) = (args.kind.clone(), args.dedupe.clone(), args.paths.clone());
    let (report, named) = (Report { status: args.status, message, kind, dedupe, paths }, args.caller.id.as_deref());
    if ui.is_dry() {
        let (caller, to) = notify::check(&place, &report, named)?;
        match ui.is_json() {
            true => ui.json(&json!({ "uid": null, "id": null, "seq": null, "to": to, "repeated": false })),
            false => ui.line(format!("would tell {} as {}", printable(&to), printable(&caller.agent.id))),
        }
        return Ok(Exit::Done);
    }
    let published = notify::notify(env, &place, report, named)?;
    if published.is_repeated {
        ui.detail(format!("already sent, as event {}", published.id));
    }
    // From a sandbox, the event gets its number outside.
    if sandbox::is_inside(env) && !ui.is_json() {
        ui.done(format!("left a report for {}", printable(&published.to)));
    } else if ui.is_json() {
        let (id, to) = (Some(published.id).filter(|_| !sandbox::is_inside(env)), &published.to);
        ui.json(&json!({ "uid": published.uid, "id": id, "seq": id, "to": to, "repeated": published.is_repeated }));
    } else if !published.is_repeated {
        ui.done(format!("told {} with event {}", printable(&published.to), published.id));
    }
    Ok(Exit::Done)
}
