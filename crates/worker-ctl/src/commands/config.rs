//! `config`: prints every setting with its source.

use shopfloor_core::error::{Exit, Result};

use crate::site::Site;

pub fn run(site: &Site<'_>) -> Result<Exit> {
    site.ui.config(&site.root.config.settings);
    Ok(Exit::Done)
}
