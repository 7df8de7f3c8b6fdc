//! Arguments that several commands take.

use clap::Args;
use shopfloor_core::error::Result;

use crate::facts::agents;
use crate::repository_view::Place;
use crate::spool::Spool;

/// The calling agent.
#[derive(Args, Clone, Debug, Default)]
pub struct CallerArgs {
    /// Act as this agent
    #[arg(long = "as", value_name = "ID")]
    pub id: Option<String>,
}

/// The session whose events are meant.
#[derive(Args, Clone, Debug, Default)]
pub struct SessionArgs {
    /// The session [default: the caller's]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    #[command(flatten)]
    pub caller: CallerArgs,
}

impl SessionArgs {
    /// The spool of the session: the one that is named, else the caller's. Exit 1 if there is no such session.
    pub fn spool(&self, place: &Place) -> Result<Spool> {
        let shared = place.shared();
        let known = match &self.session {
            None => agents::caller(place, self.caller.id.as_deref())?,
            // An agent whose worktree is gone may still have events.
            Some(name) if Spool::new(&shared, name).exists() => return Ok(Spool::new(&shared, name)),
            Some(name) => agents::require(place, name)?,
        };
        Ok(Spool::new(&shared, &known.agent.id).below(&known.agent.parents))
    }
}
