//! `cargo xtask ci`: every gate, the fastest first. When it runs as root, it runs the suite as an ordinary user, and
//! only those tests as root that need root.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};

use crate::kills::Kills;
use crate::races::RACES;
use crate::run::{cargo, find, project, run as program, target_dir};
use crate::stage::{Disk, Leg, Stage, User, is_root};
use crate::{generate, registry, test, tidy};

/// The oldest git that the README promises to support.
const OLDEST_GIT: &str = "2.39";

/// How many times the tests in [`RACES`] run under load.
const TIMES: usize = 20;

pub fn run(is_full: bool) -> Result<()> {
    let before = changes()?;
    cargo(&["fmt", "--all", "--check"])?;
    tidy::run()?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    dependencies()?;
    oldest_rust()?;
    generate::run(true)?;
    match is_root() {
        true => suites(is_full)?,
        false if is_full => bail!("`--full` makes users and mounts file systems: run it as root"),
        false => test::run(&[])?,
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

/// Runs the suite as an ordinary user, and as root what needs root; with `is_full` in every combination.
fn suites(is_full: bool) -> Result<()> {
    test::require_programs()?;
    registry::install_recipe_programs()?;
    let stage = Stage::new()?;
    let kills = if is_full { Kills::Whole } else { Kills::sample() };
    let whole = |user, disk| Leg { user, disk, kills, first_on_path: None, only: None };
    let first = stage.run(&whole(User::Ordinary, Disk::Tmpfs));
    let mut failures = Vec::new();
    match first {
        Ok(skipped) => {
            let only = skipped.that_need("root");
            let mut left = skipped.but("root");
            if !only.is_empty() {
                match stage.run(&Leg { only: Some(only), ..whole(User::Root, Disk::Tmpfs) }) {
                    Ok(skipped) => left.extend(skipped),
                    Err(failure) => failures.push(failure),
                }
            }
            test::report(&left);
        }
        Err(failure) => failures.push(failure),
    }
    if is_full {
        failures.extend(more(&stage, &whole));
    }
    match failures.len() {
        0 => Ok(()),
        _ => bail!("{}", failures.iter().map(|failure| format!("{failure:#}")).collect::<Vec<_>>().join("\n  ")),
    }
}

fn more(stage: &Stage, whole: &dyn Fn(User, Disk) -> Leg) -> Vec<anyhow::Error> {
    let mut legs =
        vec![whole(User::Ordinary, Disk::Ext4), whole(User::Root, Disk::Tmpfs), whole(User::Root, Disk::Ext4)];
    match oldest_git() {
        Some(dir) => legs.push(Leg { first_on_path: Some(dir), ..whole(User::Ordinary, Disk::Tmpfs) }),
        None => eprintln!("xtask: skipped: git {OLDEST_GIT} is not tried, because it is not installed"),
    }
    let mut failures: Vec<_> = legs.iter().filter_map(|leg| stage.run(leg).err()).collect();
    let only = Some(RACES.map(str::to_owned).to_vec());
    let races = Leg { only, ..whole(User::Ordinary, Disk::Tmpfs) };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        failures.extend((0..TIMES).filter_map(|_| stage.run(&races).err()));
        is_over.store(true, Ordering::Relaxed);
    });
    failures
}

/// The directory of a git of the oldest version.
fn oldest_git() -> Option<PathBuf> {
    let dirs = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&dirs).find(|dir| {
        let output = Command::new(dir.join("git")).arg("--version").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(&format!(" {OLDEST_GIT}.")))
    })
}

fn changes() -> Result<Vec<u8>> {
    let output = Command::new("git").args(["status", "--porcelain"]).current_dir(project()).output();
    Ok(output.context("cannot run git")?.stdout)
}
