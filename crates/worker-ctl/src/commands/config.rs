//! `config`: every setting with where it comes from.

use shopfloor_core::error::{Exit, Result};

use crate::site::Site;

pub fn run(site: &Site<'_>) -> Result<Exit> {
    site.ui.config(&site.root.config.said);
    Ok(Exit::Done)
}
