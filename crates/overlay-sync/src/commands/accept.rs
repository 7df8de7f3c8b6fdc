//! `accept`: a held text spreads as it is.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use super::verdict;
use crate::apply::verdict::HeldVerdict;
use crate::flags::OverlayFlags;

/// Let a held text spread as it is
///
/// Exits with 1 if no such text is held, or if it conflicts elsewhere.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  overlay-sync accept 3f2a9c01d7be")]
pub struct Args {
    /// The id that `conflicts` prints, or its beginning
    id: String,
}

pub fn run(ui: &Ui, env: &Env, flags: &OverlayFlags, args: &Args) -> Result<Exit> {
    verdict::run(ui, env, flags, &args.id, HeldVerdict::Accept)
}
