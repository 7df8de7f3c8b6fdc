//! `show`: the merged result as TOML, or the layers it comes from.

use serde_json::json;
use shopfloor_core::approval::Status;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;
use toml::{Table, Value};

use crate::cli::Places;
use crate::facts::{self, source_path};
use crate::layer::Merged;
use crate::report::LayerLine;
use crate::sweatfile::{Body, key_of};

const REDACTED: &str = "<redacted: use --reveal>";

pub fn run(ui: &Ui, env: &Env, places: &Places, only_layers: bool, reveal: bool) -> Result<Exit> {
    let repo = Git::find(env)?.discover()?;
    let layers = facts::load_layers(env, &repo, places, false, false)?;
    layers.warnings().iter().for_each(|warning| ui.warn(warning));
    if only_layers {
        for layer in &layers.layers {
            let line = LayerLine::of(layer);
            if ui.is_json() {
                ui.json(&line);
            } else {
                let approval = match layer.approval {
                    Status::None => "",
                    Status::Required => ", not approved",
                    Status::Approved => ", approved",
                };
                let found = if line.found { "found" } else { "not found" };
                ui.line(format!("{} {} ({found}{approval})", line.name, printable(&line.path)));
            }
        }
        return Ok(Exit::Done);
    }
    for layer in layers.layers.iter().filter(|l| l.approval == Status::Required) {
        ui.note(format!("{} is shown but not approved; run `sweatfile-apply approve`", layer.path.display()));
    }
    let merged = layers.merged()?;
    let table = table(env, &merged, reveal);
    if ui.is_json() {
        ui.json(&json!(table));
    } else {
        let text = toml::to_string_pretty(&table).map_err(|e| Failure::failed("cannot print the result").because(e))?;
        ui.answer(printable_toml(&text).as_bytes());
    }
    Ok(Exit::Done)
}

/// TOML leaves some characters unescaped that a terminal obeys; line ends and tabs are layout.
fn printable_toml(text: &str) -> String {
    let escape = |c: char| match printable(c.encode_utf8(&mut [0; 4])) {
        _ if c == '\n' || c == '\t' => c.to_string(),
        shown if shown.starts_with("\\u{") => format!("\\U{:08X}", u32::from(c)),
        shown => shown,
    };
    text.chars().map(escape).collect()
}

fn table(env: &Env, merged: &Merged, reveal: bool) -> Table {
    let secret = |text: &str| Value::from(if reveal { text } else { REDACTED });
    let values = merged.env.iter().map(|(key, value)| (key.clone(), secret(&value.text))).collect::<Table>();
    let files = merged.files.iter().map(|(path, wish)| {
        let mut entry = Table::new();
        let place = |text: &str| Value::from(source_path(env, &wish.file, text).to_string_lossy().into_owned());
        match &wish.body {
            Body::Clear => {}
            Body::Source(text) => drop(entry.insert("source".into(), place(text))),
            Body::Copy(text) => drop(entry.insert("copy".into(), place(text))),
            Body::Content { text, template } => {
                entry.insert("content".into(), secret(text));
                if *template {
                    entry.insert("template".into(), true.into());
                }
            }
        }
        (key_of(path), Value::from(entry))
    });
    let strings = |list: &[String]| Value::from(list.to_vec());
    let mut table = Table::new();
    table.insert("git_excludes".into(), strings(&merged.git_excludes));
    table.insert("setup".into(), strings(&merged.setup));
    if merged.env.values().any(|v| v.template) {
        table.insert("template".into(), true.into());
    }
    table.insert("env".into(), values.into());
    table.insert("files".into(), Value::from(files.collect::<Table>()));
    table
}
