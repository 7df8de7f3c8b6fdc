//! `config`: the settings in force, each with its source.

use shopfloor_core::config;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::Git;
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
    ui.config(&config);
    Ok(Exit::Done)
}
