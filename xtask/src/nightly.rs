//! `cargo xtask nightly`: the rounds that are too long for every change. It prints when each last ran.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use anyhow::{Result, bail};

use crate::kills::Kills;
use crate::races::RACES;
use crate::run::{cargo, target_dir};
use crate::stage::{Disk, Leg, Stage, User, is_root};
use crate::{registry, test};

/// The oldest git that the README promises to support.
const OLDEST_GIT: &str = "2.39";

/// How many times the tests in [`RACES`] run under load.
const TIMES: usize = 20;

/// The rounds, with what each tries.
const ROUNDS: [(&str, &str); 9] = [
    ("tmpfs", "whole kill sweeps as an ordinary user, temporary files on tmpfs"),
    ("ext4", "the same on ext4"),
    ("root", "the same as root, on tmpfs"),
    ("root-ext4", "the same as root, on ext4"),
    ("oldest-git", "the suite with the oldest git that is promised"),
    ("races", "the tests about races, twenty times under load"),
    ("agents", "all rounds with the agent programs themselves"),
    ("dist", "the packages as they are published, with their sizes"),
    ("bench", "the tools against other programs"),
];

#[derive(clap::Args)]
pub struct Args {
    /// The rounds to run [default: all]
    rounds: Vec<String>,
    /// Run nothing; print when each round last ran
    #[arg(long)]
    list: bool,
}

pub fn run(args: &Args) -> Result<()> {
    if let Some(unknown) = args.rounds.iter().find(|name| ROUNDS.iter().all(|(known, _)| known != name)) {
        bail!("there is no round `{unknown}`; `cargo xtask nightly --list` lists them");
    }
    let is_wanted = |name: &str| !args.list && (args.rounds.is_empty() || args.rounds.iter().any(|n| n == name));
    let mut failed = Vec::new();
    for (name, _) in ROUNDS.iter().filter(|(name, _)| is_wanted(name)) {
        let done = round(name);
        if let Err(failure) = &done {
            eprintln!("xtask: {name}: {failure:#}");
            failed.push(*name);
        }
        record(name, done.is_ok())?;
    }
    let ran = ran()?;
    for (name, what) in ROUNDS {
        println!("{name:10}  {:32}  {what}", ran.get(name).map_or("never ran here", String::as_str));
    }
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
}

fn round(name: &str) -> Result<()> {
    match name {
        "agents" => return cargo(&["xtask", "agents"]),
        "dist" => return cargo(&["xtask", "dist"]),
        "bench" => return cargo(&["xtask", "bench"]),
        _ if !is_root() => bail!("this round makes users and mounts file systems: run it as root"),
        _ => {}
    }
    test::require_programs()?;
    registry::install_recipe_programs()?;
    let stage = Stage::new()?;
    let (user, disk) = match name {
        "ext4" => (User::Ordinary, Disk::Ext4),
        "root" => (User::Root, Disk::Tmpfs),
        "root-ext4" => (User::Root, Disk::Ext4),
        _ => (User::Ordinary, Disk::Tmpfs),
    };
    let whole = Leg { user, disk, kills: Kills::Whole, first_on_path: None, only: None };
    match name {
        "races" => races(&stage, &Leg { only: Some(RACES.map(str::to_owned).to_vec()), ..whole }),
        "oldest-git" => match oldest_git() {
            Some(dir) => stage.run(&Leg { first_on_path: Some(dir), ..whole }).map(drop),
            None => bail!("git {OLDEST_GIT} is not on the PATH"),
        },
        _ => stage.run(&whole).map(|skipped| test::report(&skipped)),
    }
}

fn races(stage: &Stage, leg: &Leg) -> Result<()> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let done = (0..TIMES).try_for_each(|_| stage.run(leg).map(drop));
        is_over.store(true, Ordering::Relaxed);
        done
    })
}

/// The directory of a git of the oldest version.
fn oldest_git() -> Option<PathBuf> {
    let dirs = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&dirs).find(|dir| {
        let output = Command::new(dir.join("git")).arg("--version").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(&format!(" {OLDEST_GIT}.")))
    })
}

/// When each round last ran in this target directory, and how it ended.
fn ran() -> Result<BTreeMap<String, String>> {
    let dir = target_dir().join("nightly");
    if !dir.is_dir() {
        return Ok(BTreeMap::new());
    }
    let mut ran = BTreeMap::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let days =
            SystemTime::now().duration_since(entry.metadata()?.modified()?).unwrap_or_default().as_secs() / 86_400;
        let when = match days {
            0 => "today".to_owned(),
            1 => "yesterday".to_owned(),
            days => format!("{days} days ago"),
        };
        let how = std::fs::read_to_string(entry.path())?;
        ran.insert(entry.file_name().to_string_lossy().into_owned(), format!("{how} {when}"));
    }
    Ok(ran)
}

fn record(name: &str, has_passed: bool) -> Result<()> {
    let dir = target_dir().join("nightly");
    std::fs::create_dir_all(&dir)?;
    Ok(std::fs::write(dir.join(name), if has_passed { "passed" } else { "failed" })?)
}
