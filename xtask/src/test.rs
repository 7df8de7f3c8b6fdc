//! `cargo xtask test`: the whole suite, with nextest where it is installed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::kills::Kills;
use crate::registry::recipe_programs;
use crate::run::{Build, Missing, build, cargo_with, find};

/// The variable with the path of the file that lists skipped tests.
pub const SKIPPED: &str = "SHOPFLOOR_SKIPPED";

pub fn run(args: &[String]) -> Result<()> {
    run_with(Kills::sample(), args)
}

/// Runs the suite with these kill sweeps.
pub fn run_with(kills: Kills, args: &[String]) -> Result<()> {
    require_programs()?;
    // The smoke tests run the binaries that ship.
    build(Build::Debug)?;
    let dir = tempfile::tempdir().context("cannot create a temporary directory")?;
    let skipped = dir.path().join("skipped");
    let (threads, places) = (threads(), places());
    // Go on after the first failure.
    let mut line = match find("cargo-nextest") {
        Some(_) => vec!["nextest", "run", "--workspace", "--exclude", "reference", "--no-fail-fast"],
        None => vec!["test", "--workspace", "--exclude", "reference", "--no-fail-fast"],
    };
    line.extend(args.iter().map(String::as_str));
    let (name, value) = kills.variable();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::env::split_paths(&path).chain(recipe_programs()))?;
    let variables = [
        ("PATH", path.as_os_str()),
        (SKIPPED, skipped.as_os_str()),
        (name, &value),
        ("NEXTEST_TEST_THREADS", &places),
        ("RUST_TEST_THREADS", &threads),
    ];
    let done = cargo_with(&line, &variables);
    report(&Skipped::read(&skipped)?);
    done.with_context(|| format!("to repeat it: {name}={}", value.display()))
}

/// How many tests run at once: more than there are processors, because many tests wait for a program. On two
/// processors, eight at once take four fifths of the time of four.
pub fn threads() -> OsString {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    (processors * 2 + 4).to_string().into()
}

/// The places of nextest, of which `.config/nextest.toml` gives one or two to a test.
fn places() -> OsString {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    (processors * 4 + 4).to_string().into()
}

/// Fails once, with what to install, instead of in every test that needs a program.
pub fn require_programs() -> Result<()> {
    for (program, package) in [("tmux", "tmux"), ("git", "git"), ("script", "bsdutils"), ("setpriv", "util-linux")] {
        if find(program).is_none() {
            bail!(Missing(format!("the tests need {program}; on Debian: `apt-get install {package}`")));
        }
    }
    Ok(())
}

/// The tests that could not run here, and what each of them lacked.
#[derive(Clone, Debug, Default)]
pub struct Skipped(BTreeSet<(String, String)>);

impl Skipped {
    pub fn read(file: &Path) -> Result<Skipped> {
        if !file.exists() {
            return Ok(Skipped::default());
        }
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        Ok(Skipped(lines.map(|(missing, test)| (missing.to_owned(), test.to_owned())).collect()))
    }

    /// The names of the tests that need this.
    pub fn that_need(&self, missing: &str) -> Vec<String> {
        self.0.iter().filter(|(what, _)| what == missing).map(|(_, test)| test.clone()).collect()
    }

    /// Without the tests that need this.
    pub fn but(mut self, missing: &str) -> Skipped {
        self.0.retain(|(what, _)| what != missing);
        self
    }

    /// Adds the skipped tests of another run.
    pub fn extend(&mut self, others: Skipped) {
        self.0.extend(others.0);
    }
}

/// Prints the skipped tests, so that nobody takes them for passed.
pub fn report(skipped: &Skipped) {
    match skipped.0.len() {
        0 => eprintln!("xtask: no test was skipped"),
        1 => eprintln!("xtask: 1 test was skipped:"),
        count => eprintln!("xtask: {count} tests were skipped:"),
    }
    skipped.0.iter().for_each(|(missing, test)| eprintln!("  {test} (needs {missing})"));
}

/// A directory for temporary files that every user can reach.
pub fn open_dir() -> Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let is_open = |dir: &&Path| {
        dir.ancestors().all(|dir| dir.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o001 != 0))
    };
    let found = ["/var/tmp", "/tmp"].map(Path::new).into_iter().find(is_open);
    found.map(Path::to_path_buf).context("neither /var/tmp nor /tmp is open to all users")
}
