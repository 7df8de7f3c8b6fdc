//! `show`: a displaced text, byte for byte.

use std::io::{self, IsTerminal};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable_lines;
use shopfloor_core::ui::Ui;

use crate::facts::overlay::Overlay;
use crate::facts::versions::find_text;

/// Print a displaced text byte for byte; for a conflict's id the losing side
///
/// Exits with 1 if nothing has this hash or id.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  overlay-sync show 3f2a9c")]
pub struct Args {
    /// A hash, the id of a conflict or of a change, or the beginning of one
    id: String,
}

/// The text, or its bytes in base64 if it is not UTF-8.
#[derive(Serialize)]
struct ShowAnswer {
    sha256: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

pub fn run(ui: &Ui, overlay: &Overlay, args: &Args) -> Result<Exit> {
    let (bytes, _) = find_text(overlay, &args.id)?;
    if ui.is_json() {
        let (text, base64) = match String::from_utf8(bytes.clone()) {
            Ok(text) => (Some(text), None),
            Err(_) => (None, Some(BASE64.encode(&bytes))),
        };
        ui.json(&ShowAnswer { sha256: Digest::of(&bytes), text, base64 });
    } else {
        // An agent may have written what a terminal obeys.
        ui.answer(&if io::stdout().is_terminal() { printable_lines(&bytes, false) } else { bytes });
    }
    Ok(Exit::Done)
}
