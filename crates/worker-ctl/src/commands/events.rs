//! `events`: what happened to workers.

use std::fs::File;
use std::io::Read;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use shopfloor_core::error::{At, Exit, Result};
use shopfloor_core::fs;
use shopfloor_core::proc;
use shopfloor_core::ui::printable;

use super::Site;
use crate::log;

/// How often is looked whether there is more.
const POLL: Duration = Duration::from_millis(200);

pub fn run(site: &Site<'_>, follow: bool) -> Result<Exit> {
    let path = log::events(&site.root.path);
    let mut rest = Vec::new();
    if let Some(older) = fs::read_own(&log::older(&path))? {
        rest = older;
    }
    let mut file: Option<File> = None;
    loop {
        match &mut file {
            None => file = File::open(&path).ok(),
            // Put aside: what was not read yet stands there, then comes the new one.
            Some(open) if !fs::is_open_at(open, &path) => {
                open.read_to_end(&mut rest).at("read", &path)?;
                file = File::open(&path).ok();
            }
            Some(_) => {}
        }
        if let Some(open) = &mut file {
            open.read_to_end(&mut rest).at("read", &path)?;
        }
        tell(site, &mut rest);
        if !follow || !site.ui.is_taken(Duration::ZERO) {
            return Ok(Exit::Done);
        }
        proc::check_interrupt()?;
        thread::sleep(POLL);
    }
}

/// Whole lines; what a writer has not finished stays.
fn tell(site: &Site<'_>, rest: &mut Vec<u8>) {
    let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') else { return };
    let lines: Vec<u8> = rest.drain(..=end).collect();
    for line in lines.split(|byte| *byte == b'\n') {
        let Ok(record) = serde_json::from_slice::<Value>(line) else { continue };
        if site.ui.is_json() {
            site.ui.json(&record);
        } else {
            site.ui.line(printable(&log::told(&record)));
        }
    }
}
