//! `config`: the settings in force, each with its source.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use crate::facts::repository;
use crate::settings::load_config;

pub fn run(ui: &Ui, env: &Env) -> Result<Exit> {
    let place = repository::find(env)?;
    let config = load_config(env, &place.home, &[])?;
    ui.config(&config);
    config.all_warnings().iter().for_each(|warning| ui.warn(warning));
    Ok(Exit::Done)
}
