//! `cargo xtask ci`: every gate, the fastest first. When it runs as root, it runs the suite as an ordinary user, and
//! only those tests as root that need root.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::kills::Kills;
use crate::run::{cargo, find, project, run as program, target_dir};
use crate::stage::{Disk, Leg, Stage, User, is_root};
use crate::{generate, registry, test, tidy};

pub fn run() -> Result<()> {
    let before = changes()?;
    cargo(&["fmt", "--all", "--check"])?;
    tidy::run()?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    dependencies()?;
    oldest_rust()?;
    generate::run(true)?;
    if is_root() {
        suites()?
    } else {
        test::run(&[])?
    }
    if changes()? != before {
        bail!("the chores changed the working tree: see `git status`");
    }
    Ok(())
}

/// Checks the licences and sources of what we depend on by `deny.toml`.
fn dependencies() -> Result<()> {
    match find("cargo-deny") {
        Some(_) => cargo(&["deny", "check", "bans", "licenses", "sources"]),
        None => {
            eprintln!("xtask: skipped: deny.toml is not checked, because cargo-deny is not installed");
            Ok(())
        }
    }
}

/// Checks with the oldest Rust that `rust-version` promises.
fn oldest_rust() -> Result<()> {
    let version = env!("CARGO_PKG_RUST_VERSION");
    let installed = Command::new("rustup").args(["run", version, "cargo", "--version"]).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        eprintln!("xtask: skipped: Rust {version} is not tried, because that toolchain is not installed");
        return Ok(());
    }
    // A directory of its own: the two compilers cannot use each other's files.
    let dir = target_dir().join("oldest-rust");
    let args = ["run", version, "cargo", "check", "--workspace", "--all-targets", "--target-dir"];
    program("rustup", &[&args[..], &[&dir.to_string_lossy()]].concat())
}

/// Runs the suite as an ordinary user, and as root what needs root.
fn suites() -> Result<()> {
    test::require_programs()?;
    registry::install_recipe_programs()?;
    let stage = Stage::new()?;
    let first =
        Leg { user: User::Ordinary, disk: Disk::Tmpfs, kills: Kills::sample(), first_on_path: None, only: None };
    let skipped = stage.run(&first)?;
    let only = skipped.that_need("root");
    let mut left = skipped.but("root");
    if !only.is_empty() {
        left.extend(stage.run(&Leg { user: User::Root, only: Some(only), ..first })?);
    }
    test::report(&left);
    Ok(())
}

fn changes() -> Result<Vec<u8>> {
    let output = Command::new("git").args(["status", "--porcelain"]).current_dir(project()).output();
    Ok(output.context("cannot run git")?.stdout)
}
