//! `cargo xtask test`: the whole suite, with nextest where it is installed.

use anyhow::Result;

use crate::run::{cargo, find};

pub fn run(args: &[String]) -> Result<()> {
    // The smoke tests run the binaries that ship.
    cargo(&["build", "--workspace", "--bins"])?;
    let mut line = if find("cargo-nextest").is_some() {
        vec!["nextest", "run", "--workspace"]
    } else {
        vec!["test", "--workspace"]
    };
    line.extend(args.iter().map(String::as_str));
    cargo(&line)
}
