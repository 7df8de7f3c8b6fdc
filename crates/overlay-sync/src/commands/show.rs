//! `show`: a displaced text, byte for byte.

use std::io::{self, IsTerminal};

use serde_json::json;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable_lines;
use shopfloor_core::ui::Ui;

use crate::facts::overlay::Overlay;
use crate::facts::versions::find_text;
use crate::far::encode;

/// Print a displaced text byte for byte; for a conflict's id the losing side
///
/// Exits with 1 if nothing has this hash or id.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  overlay-sync show 3f2a9c")]
pub struct Args {
    /// A hash, the id of a conflict or of a change, or the beginning of one
    id: String,
}

pub fn run(ui: &Ui, overlay: &Overlay, args: &Args) -> Result<Exit> {
    let (bytes, _) = find_text(overlay, &args.id)?;
    if ui.is_json() {
        let (key, text) = match String::from_utf8(bytes.clone()) {
            Ok(text) => ("text", text),
            Err(_) => ("base64", encode(&bytes)),
        };
        ui.json(&json!({ "sha256": Digest::of(&bytes), (key): text }));
    } else {
        // An agent may have written what a terminal obeys.
        ui.answer(&if io::stdout().is_terminal() { printable_lines(&bytes, false) } else { bytes });
    }
    Ok(Exit::Done)
}
