//! `patrol`: looks at all workers once.

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::hook_command::DryRun;
use shopfloor_core::proc;

use crate::apply::patrol::{self, PatrolScope};
use crate::apply::recover;
use crate::commands;
use crate::layout::RootLock;
use crate::site::Site;
use crate::store;

#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(flatten)]
    pub dry: DryRun,
}

pub fn run(site: &Site<'_>) -> Result<Exit> {
    // Wait for a patrol that is under way, however long it takes.
    let _tick = loop {
        match site.lock_root(RootLock::Patrol) {
            Err(failure) if failure.exit == Exit::Busy => proc::check_interrupt()?,
            lock => break lock?,
        }
    };
    if site.is_dry {
        for (worker, input) in patrol::look(site, PatrolScope::All)? {
            let (name, detail) = input.describe();
            commands::show(site.ui, format!("record for {}: {name} {detail}", worker.name));
        }
        return Ok(Exit::Done);
    }
    recover::finish_all(site)?;
    patrol::tick(site, PatrolScope::All)?;
    patrol::refresh(site)?.iter().for_each(|waiting| site.ui.note(waiting));
    let all: Vec<String> = store::load(&site.root.path)?.workers.into_keys().collect();
    commands::print_statuses(site, &all)
}
