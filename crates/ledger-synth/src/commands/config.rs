//! `config`: the settings in force, each with its source.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::Git;
use shopfloor_core::ui::Ui;

use crate::settings::{LedgerArgs, load_config};

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs) -> Result<Exit> {
    let repo = Git::find(env)?.discover()?;
    let config = load_config(env, &repo, ledger_args)?;
    ui.config(&config);
    config.all_warnings().iter().for_each(|warning| ui.warn(warning));
    Ok(Exit::Done)
}
