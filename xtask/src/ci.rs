//! `cargo xtask ci`: every gate, in the order that fails fastest.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::{cargo, project};
use crate::{generate, test, tidy};

pub fn run() -> Result<()> {
    let before = changes()?;
    cargo(&["fmt", "--all", "--check"])?;
    tidy::run()?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    generate::run(true)?;
    test::run(&[])?;
    if changes()? != before {
        bail!("the chores changed the working tree: see `git status`");
    }
    Ok(())
}

fn changes() -> Result<Vec<u8>> {
    let output = Command::new("git").args(["status", "--porcelain"]).current_dir(project()).output();
    Ok(output.context("cannot run git")?.stdout)
}
