//! What happens to a worker: the state machine's answer goes into the state, then to the refs, the log and the command that
//! wants to know.

use serde_json::Value;
use shopfloor_core::error::Result;
use shopfloor_core::proc;
use shopfloor_core::text::shell_word;

use crate::layout;
use crate::log;
use crate::plan::machine::{Effect, Input, apply};
use crate::site::Site;
use crate::store;
use crate::tmux::typing;
use crate::worker::{Task, Worker};

/// Lets something happen to a worker as the state has it now. Gives back its new record, and whether a text is to be
/// delivered to it.
pub fn record(site: &Site<'_>, name: &str, input: &Input) -> Result<(Worker, bool)> {
    let now = site.now();
    let (before, after, effects, revision) = store::update(&site.root.path, |state| {
        let worker = state.require(name)?.clone();
        let (next, effects) = apply(&worker, input, now)?;
        let revision = state.put(next.clone());
        Ok((worker, next, effects, revision))
    })?;
    follow_up(site, &before, &after, input, &effects, revision)?;
    Ok((after, effects.contains(&Effect::Deliver)))
}

/// The same for what was seen of a worker in the state `seen`: nothing, if its record has changed since. The next look
/// sees it then.
pub fn observe(site: &Site<'_>, seen: &Worker, input: &Input) -> Result<Option<Worker>> {
    let now = site.now();
    let done = store::update(&site.root.path, |state| {
        if state.workers.get(&seen.name) != Some(seen) {
            return Ok(None);
        }
        let (next, effects) = apply(seen, input, now)?;
        let revision = state.put(next.clone());
        Ok(Some((next, effects, revision)))
    })?;
    let Some((after, effects, revision)) = done else { return Ok(None) };
    follow_up(site, seen, &after, input, &effects, revision)?;
    Ok(Some(after))
}

fn follow_up(
    site: &Site<'_>,
    before: &Worker,
    after: &Worker,
    input: &Input,
    effects: &[Effect],
    revision: u64,
) -> Result<()> {
    let root = &site.root.path;
    let pin = format!("refs/shopfloor/review/{}", after.name);
    let kept = format!("refs/shopfloor/pre/{}", after.name);
    for effect in effects {
        match effect {
            Effect::Pin(sha) => drop(site.clone.ask(root, &["update-ref", &pin, sha])?),
            Effect::Unpin if before.reviewed_sha.is_some() => {
                site.clone.run(root, &["update-ref", "-d", &pin])?;
            }
            Effect::Keep(sha) => drop(site.clone.ask(root, &["update-ref", &kept, sha])?),
            Effect::Unpin | Effect::Deliver => {}
        }
    }
    if after.task == Task::Idle && before.task != Task::Idle {
        site.clone.run(root, &["update-ref", "-d", &kept])?;
        site.warn_on_failure(&after.name, || typing::forget_files(root, &after.name));
    }
    if matches!(input, Input::Typing) || before == after && !matches!(input, Input::Sent) {
        return Ok(());
    }
    // It has happened, whether or not anybody hears of it.
    let record = log::record(site.env.later().now, before, after, input.describe(), revision);
    site.warn_on_failure(&after.name, || tell(site, &record));
    Ok(())
}

/// Logs a record, and starts the command in `on_event` with it.
fn tell(site: &Site<'_>, record: &Value) -> Result<()> {
    let root = &site.root.path;
    log::append(root, record)?;
    let Some(command) = &site.root.config.defaults.on_event else { return Ok(()) };
    let log = layout::on_event_log(root);
    log::rotate(&log)?;
    // In the background: nobody waits for it, and its failure is its own.
    let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
    let line = format!("{{ {}\n}} >> {} 2>&1 < /dev/null &", command.shell(), shell_word(&log));
    let started = proc::shell(site.env, &line)?
        .dir(root)
        .var("WORKER_CTL_ROOT", root.as_os_str())
        // With a worker's own variable the command would count as its process, and end with it.
        .without_vars(&["WORKER_CTL_WORKER"])
        .var("WORKER_CTL_EVENT", text("event"))
        .var("WORKER_CTL_NAME", text("worker"))
        .var("WORKER_CTL_FROM", text("from"))
        .var("WORKER_CTL_TO", text("to"))
        .var("WORKER_CTL_DETAIL", text("detail"))
        .capture()?;
    if !started.status.success() {
        site.ui.warn("`on_event` cannot be run");
    }
    Ok(())
}

/// Deletes the refs that keep what was reviewed, and what a worker had before a rebase.
pub fn unpin(site: &Site<'_>, name: &str) -> Result<()> {
    ["review", "pre"].iter().try_for_each(|kind| {
        site.clone.run(&site.root.path, &["update-ref", "-d", &format!("refs/shopfloor/{kind}/{name}")]).map(drop)
    })
}
