//! `revoke`: takes every approval of this clone back.

use serde_json::json;
use shopfloor_core::approval::{self, Approvals};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::Git;
use shopfloor_core::ui::Ui;

pub fn run(ui: &Ui, env: &Env) -> Result<Exit> {
    let repo = Git::find(env)?.discover()?;
    let dry_run = ui.is_dry();
    let count = match dry_run {
        true => Approvals::load(env)?.count(&repo.home.common_dir)?,
        false => approval::revoke(env, &repo.home.common_dir)?,
    };
    if ui.is_json() {
        ui.json(&match dry_run {
            true => json!({ "revoked": 0, "would_revoke": count }),
            false => json!({ "revoked": count }),
        });
    } else if count > 0 {
        ui.done(format!("{} {count}", if dry_run { "would revoke" } else { "revoked" }));
    } else {
        ui.detail("there is no approval to revoke");
    }
    Ok(Exit::Done)
}
