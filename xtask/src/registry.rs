//! Programs that a chore takes from the Rust registry.

use std::path::PathBuf;

use anyhow::Result;

use crate::run::{cargo, find, target_dir};

/// The path of a program from the registry: the one on the PATH, or one that is built once, below the target directory
/// with these features.
pub fn program(name: &str, version: &str, features: &str) -> Result<PathBuf> {
    if let Some(path) = find(name) {
        return Ok(path);
    }
    let root = target_dir().join("tools").join(format!("{name}-{version}"));
    let path = root.join("bin").join(name);
    if !path.is_file() {
        let root = root.to_string_lossy();
        // Built without optimisation, because it runs for a second and the build takes a minute.
        let how = ["--locked", "--debug", "--no-default-features", "--features", features];
        cargo(&[&["install", name, "--version", version, "--root", &root], &how[..]].concat())?;
    }
    Ok(path)
}
