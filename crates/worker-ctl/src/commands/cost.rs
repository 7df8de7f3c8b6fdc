//! `cost`: what workers' sessions cost, as their programs count it.

use serde_json::{Value, json};
use shopfloor_core::error::{Exit, Result};

use crate::commands::joined;
use crate::context::Context;
use crate::facts::{sandboxes, session_files};
use crate::session_file::Cost;

pub fn run(ctx: &Context<'_>) -> Result<Exit> {
    let state = ctx.state()?;
    let (mut rows, mut total) = (Vec::new(), Cost::default());
    for worker in state.workers.values() {
        let mut spent = worker.spent.clone();
        let sandbox = sandboxes::of(ctx, worker).unwrap_or_default();
        session_files::cost(ctx, sandbox.as_ref(), worker).into_iter().for_each(|(name, cost)| spent.note(name, cost));
        let cost = spent.sum();
        total = total.plus(&cost);
        rows.push((worker.name.as_str(), Some(worker.task.word()), cost));
    }
    rows.push(("total", None, total));
    if ctx.ui.is_json() {
        let row = |(name, task, cost): &(&str, Option<&str>, Cost)| -> Value {
            joined(json!({ "name": name, "task": task }), serde_json::to_value(cost).unwrap_or_default())
        };
        ctx.ui.json_lines(rows.iter().map(row));
        return Ok(Exit::Done);
    }
    let width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    ctx.ui.line(format!("{:width$}  {:>12}  {:>12}  {:>12}  {:>10}", "NAME", "IN", "CACHED", "OUT", "DOLLARS"));
    for (name, _, Cost { input, out, cached, dollars }) in rows {
        let dollars = dollars.map_or("-".to_owned(), |dollars| format!("{dollars:.2}"));
        ctx.ui.line(format!("{name:width$}  {input:>12}  {cached:>12}  {out:>12}  {dollars:>10}"));
    }
    Ok(Exit::Done)
}
