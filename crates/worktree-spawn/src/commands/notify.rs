//! `notify`: tell the parent something.

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::ui::{Ui, printable};
use shopfloor_core::{error::Exit, fs};

use crate::cli::NotifyArgs;
use crate::event::{Draft, Status, completion};
use crate::facts::agents;
use crate::facts::place::Place;
use crate::spool::Published;
use crate::{life, post};

pub fn run(ui: &Ui, env: &Env, args: &NotifyArgs) -> Result<Exit> {
    let place = Place::of_speaker(env)?;
    let message = match args.message.as_deref() {
        None | Some("-") => String::from_utf8(ui.input_up_to(fs::STATE_LIMIT)?)
            .map_err(|_| Failure::malformed("the message on stdin is not UTF-8"))?,
        Some(text) => text.to_owned(),
    };
    let said = Said {
        status: args.status,
        message: &message,
        kind: args.kind.as_deref(),
        dedupe: args.dedupe.as_deref(),
        named: args.identity.id.as_deref(),
    };
    if args.dry_run.dry_run {
        let caller = agents::speaker(&place, said.named)?;
        let parent = caller.agent.parent.as_deref().unwrap_or("nobody");
        ui.line(format!("would tell {} as {}", printable(parent), printable(&caller.agent.id)));
        return Ok(Exit::Done);
    }
    let published = notify(env, &place, &said)?;
    if published.is_repeated {
        ui.note(format!("that was said before, as event {}", published.id));
    }
    if ui.is_json() {
        ui.json(
            &json!({ "uid": published.uid, "id": published.id, "to": published.to, "repeated": published.is_repeated }),
        );
    } else {
        ui.detail(format!("event {} for {}", published.id, printable(&published.to)));
    }
    Ok(Exit::Done)
}

/// What is told.
pub struct Said<'a> {
    pub status: Status,
    pub message: &'a str,
    pub kind: Option<&'a str>,
    pub dedupe: Option<&'a str>,
    pub named: Option<&'a str>,
}

/// Publishes it for the caller's parent.
pub fn notify(env: &Env, place: &Place, said: &Said<'_>) -> Result<Published> {
    let message = said.message.trim_end();
    if message.trim().is_empty() {
        return Err(Failure::usage("the message is empty").hint("say what there is to know in a few words"));
    }
    if said.kind.is_some_and(|kind| kind.trim().is_empty()) {
        return Err(Failure::usage("the type is empty").hint("leave `--type` out, or name one"));
    }
    let caller = agents::speaker(place, said.named)?;
    let usual = match said.status {
        Status::Info => "agent_message",
        _ => completion(caller.agent.kind),
    };
    let draft = Draft {
        kind: said.kind.unwrap_or(usual).to_owned(),
        status: said.status,
        message: message.to_owned(),
        branch: caller.tree.branch.clone(),
        head: post::head(env, place, &caller.tree),
        more: Vec::new(),
    };
    let published = post::send(env, place, &caller, draft, said.dedupe)?;
    if said.status != Status::Info {
        life::completed(&place.shared(), &caller.agent.id)?;
    }
    Ok(published)
}
