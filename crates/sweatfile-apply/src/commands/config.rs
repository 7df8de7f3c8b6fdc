//! `config`: the settings in force, each with its source.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::Git;
use shopfloor_core::ui::Ui;

use crate::facts::{self, LoadOptions};
use crate::flags::LayerFlags;

pub fn run(ui: &Ui, env: &Env, dirs: &LayerFlags) -> Result<Exit> {
    let repo = Git::find(env)?.discover()?;
    let config = facts::load_settings(env, &repo, dirs, LoadOptions::default())?;
    ui.config(&config);
    config.all_warnings().iter().for_each(|warning| ui.warn(warning));
    Ok(Exit::Done)
}
