//! `show`: a displaced text, byte for byte.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use crate::facts::kept::content;
use crate::facts::overlay::Overlay;
use crate::flags::OverlayFlags;

/// Print a displaced text byte for byte; for a conflict's id the losing side
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  overlay-sync show 3f2a9c")]
pub struct Args {
    /// A hash, a conflict's id, or the beginning of one
    id: String,
}

pub fn run(ui: &Ui, env: &Env, flags: &OverlayFlags, args: &Args) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, flags)?;
    ui.answer(&content(&overlay, &args.id)?);
    Ok(Exit::Done)
}
