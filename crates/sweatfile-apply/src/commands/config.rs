//! `config`: the settings in force, each with its source.

use serde_json::json;
use shopfloor_core::config;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::Git;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::TOOL;
use crate::cli::Places;
use crate::facts::SETTINGS;

pub fn run(ui: &Ui, env: &Env, places: &Places) -> Result<Exit> {
    let repo = Git::find(env)?.discover()?;
    let flags = [("area", places.area.as_deref())];
    let config = config::load(env, &repo.home, TOOL, SETTINGS, &flags, false)?;
    config.warnings.iter().for_each(|warning| ui.warn(warning));
    if config.unapproved {
        ui.note(format!("{} sets what needs approval; run `sweatfile-apply approve`", config::REPOSITORY_FILE));
    }
    for (name, value) in config.all() {
        let source = value.map_or("default".to_owned(), |v| v.source.to_string());
        if ui.is_json() {
            ui.json(&json!({ "name": name, "value": value.map(|v| &v.text), "source": source }));
        } else {
            let value = value.map_or("(found from the checkout's path)", |v| &v.text);
            ui.line(format!("{name} = {} ({})", printable(value), printable(&source)));
        }
    }
    Ok(Exit::Done)
}
