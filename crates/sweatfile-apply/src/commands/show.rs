//! `show`: the merged result as TOML, or the layers it comes from.

use shopfloor_core::approval::ApprovalStatus;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::facts::{self, LoadOptions, source_path};
use crate::flags::LayerFlags;
use crate::layer::Layer;
use crate::report::LayerLine;

const REDACTED: &str = "<redacted: use --reveal>";

/// Print the merged result as TOML
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  sweatfile-apply show --layers")]
pub struct Args {
    /// Print each layer with its path instead, and whether it exists
    #[arg(long)]
    pub layers: bool,
    /// Print env values and file contents too
    #[arg(long)]
    pub reveal: bool,
}

pub fn run(ui: &Ui, env: &Env, dirs: &LayerFlags, args: &Args) -> Result<Exit> {
    let repo = Git::find(env)?.discover()?;
    let layers = facts::load_layers(env, &repo, dirs, LoadOptions::default())?;
    layers.warnings().iter().for_each(|warning| ui.warn(warning));
    if args.layers {
        layers.layers.iter().for_each(|layer| print_layer(ui, layer));
        return Ok(Exit::Done);
    }
    for layer in layers.layers.iter().filter(|l| l.approval == ApprovalStatus::Required) {
        let (path, call) = (layer.path.display(), dirs.call(env, None));
        ui.note(format!("{path} is shown but not approved; run `{call} approve`"));
    }
    let secret = |text: &str| if args.reveal { text.to_owned() } else { REDACTED.to_owned() };
    let table = layers.merged()?.to_toml(|file, text| source_path(env, &file.file, text), secret);
    if ui.is_json() {
        ui.json(&table);
    } else {
        let text = toml::to_string_pretty(&table).map_err(|e| Failure::failed("cannot print the result").because(e))?;
        ui.answer(printable_toml(&text).as_bytes());
    }
    Ok(Exit::Done)
}

fn print_layer(ui: &Ui, layer: &Layer) {
    let line = LayerLine::new(layer);
    if ui.is_json() {
        return ui.json(&line);
    }
    let approval = match layer.approval {
        ApprovalStatus::None => "",
        ApprovalStatus::Required => ", not approved",
        ApprovalStatus::Approved => ", approved",
    };
    let found = if line.found { "found" } else { "not found" };
    ui.line(format!("{} {} ({found}{approval})", line.name, printable(&line.path)));
}

/// Escapes the characters that TOML leaves as they are but a terminal obeys. Line ends and tabs are layout and stay.
pub fn printable_toml(text: &str) -> String {
    let escape = |c: char| match printable(c.encode_utf8(&mut [0; 4])) {
        _ if c == '\n' || c == '\t' => c.to_string(),
        shown if shown.starts_with("\\u{") => format!("\\U{:08X}", u32::from(c)),
        shown => shown,
    };
    text.chars().map(escape).collect()
}
