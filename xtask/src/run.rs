//! Running other programs, and where things are.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The tools, in the order in which documents list them.
pub const TOOLS: [&str; 6] =
    ["sweatfile-apply", "overlay-sync", "ledger-synth", "worktree-spawn", "worker-ctl", "shopfloor"];

/// A program that the chore needs is missing; exit 2.
#[derive(Debug)]
pub struct Missing(pub String);

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// The top of the project.
pub fn project() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

/// Runs a program in the project with its output shown. Fails unless it exits with 0.
pub fn run(program: &str, args: &[&str]) -> Result<()> {
    run_with(program, args, &[])
}

/// Runs a program like [`run`], with these variables.
fn run_with(program: &str, args: &[&str], vars: &[(&str, &OsStr)]) -> Result<()> {
    let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
    eprintln!("xtask: {name} {}", args.join(" "));
    let status = Command::new(program).args(args).envs(vars.iter().copied()).current_dir(project()).status();
    let status = status.with_context(|| format!("cannot run {program}"))?;
    if !status.success() {
        bail!("{name} {} failed: {status}", args.join(" "));
    }
    Ok(())
}

/// Runs the cargo that runs us.
pub fn cargo(args: &[&str]) -> Result<()> {
    cargo_with(args, &[])
}

/// Runs cargo with these variables.
pub fn cargo_with(args: &[&str], vars: &[(&str, &OsStr)]) -> Result<()> {
    run_with(&cargo_program(), args, vars)
}

/// The cargo that runs us.
pub fn cargo_program() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

/// The directory that cargo builds in.
pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| project().join("target"), |dir| project().join(dir))
}

/// What is built, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// The tools and what the tests run, as the tests build them: nothing is compiled twice.
    Debug,
    /// The same with what `gen` needs.
    Reference,
    /// The tools and the reference for a person who builds them.
    Release,
    /// The same for packages: slower to build, and smaller.
    Dist,
}

/// Builds the tools. Returns the directory of the binaries.
pub fn build(what: Build) -> Result<PathBuf> {
    let profile = match what {
        Build::Debug => {
            cargo(&["build", "--workspace", "--exclude", "reference", "--bins"])?;
            return Ok(target_dir().join("debug"));
        }
        Build::Reference => {
            cargo(&["build", "--workspace", "--bins"])?;
            return Ok(target_dir().join("debug"));
        }
        Build::Release => "release",
        Build::Dist => "dist",
    };
    let mut args = vec!["build", "--profile", profile, "--package", "reference"];
    args.extend(TOOLS.iter().flat_map(|tool| ["--package", tool]));
    cargo(&args)?;
    Ok(target_dir().join(profile))
}

/// The path of a program on the PATH.
pub fn find(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// A command with an environment of its own: this home, these binaries first on the PATH, and a fixed identity and
/// time. Nothing else is passed on from the user's environment.
pub fn isolated(program: impl AsRef<OsStr>, home: &Path, bin: &Path) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::iter::once(bin.to_path_buf()).chain(std::env::split_paths(&path));
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).env("PATH", std::env::join_paths(dirs).unwrap_or(path));
    command.env("LC_ALL", "C.UTF-8").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Ada").env(format!("GIT_{who}_EMAIL"), "ada@example.org");
        command.env(format!("GIT_{who}_DATE"), "2026-01-01T00:00:00Z");
    }
    command.stdin(std::process::Stdio::null());
    command
}
