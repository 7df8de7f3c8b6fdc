//! Records of this tool's own state: one line of JSON in a private file.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;

/// Replaces a record.
pub fn save(path: &Path, record: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(record).map_err(|e| Failure::failed("cannot write a record").because(e))?;
    fs::replace(path, format!("{text}\n").as_bytes(), Some(fs::PRIVATE))
}

/// Loads a record. A file that is missing or malformed gives the default.
pub fn load_or_default<R: DeserializeOwned + Default>(path: &Path) -> Result<R> {
    let bytes = fs::read_no_follow(path)?.unwrap_or_default();
    Ok(serde_json::from_slice(&bytes).unwrap_or_default())
}
