//! `reject`: a workspace gets the overlay's text instead of the one that is held.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use super::verdict;
use crate::apply::verdict::HeldVerdict;
use crate::flags::OverlayFlags;

/// Give the workspace the overlay's text instead of the held one, which is kept
///
/// Exits with 1 if no such text is held.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  overlay-sync reject 3f2a9c01d7be")]
pub struct Args {
    /// The id that `conflicts` prints, or its beginning
    id: String,
}

pub fn run(ui: &Ui, env: &Env, flags: &OverlayFlags, args: &Args) -> Result<Exit> {
    verdict::run(ui, env, flags, &args.id, HeldVerdict::Reject)
}
