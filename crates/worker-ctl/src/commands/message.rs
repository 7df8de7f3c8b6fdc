//! `message`: a word to a worker.

use shopfloor_core::error::{Exit, Result};

use super::Site;
use crate::plan::machine::Event;
use crate::store;

pub fn run(site: &Site<'_>, name: &str, message: &str, force: bool) -> Result<Exit> {
    let text = site.text(Some(message), None)?;
    site.finish_left()?;
    store::load(&site.root.path)?.require(name)?;
    let _lock = site.lock(name)?;
    let worker = store::load(&site.root.path)?.require(name)?.clone();
    if let Err(failure) = crate::plan::machine::apply(&worker, &Event::Message { force }, 0) {
        return site.told(name, Err(failure));
    }
    if site.would(format!("type {} bytes to {name}", text.len())) {
        return Ok(Exit::Done);
    }
    site.told(&worker.name, site.deliver(&worker, &Event::Message { force }, &text))
}
