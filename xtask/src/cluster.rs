//! `cargo xtask cluster`: workers as jobs of a real Slurm of one node, which each of these tests starts.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::stage::is_root;
use crate::test;

/// Debian's packages, each with a program of it.
const PACKAGES: [(&str, &str); 4] = [
    ("munge", "/usr/sbin/munged"),
    ("slurmctld", "/usr/sbin/slurmctld"),
    ("slurmd", "/usr/sbin/slurmd"),
    ("slurm-client", "/usr/bin/srun"),
];

pub fn run() -> Result<()> {
    let is_missing = |(_, program): &&(&str, &str)| !Path::new(program).is_file();
    let missing: Vec<&str> = PACKAGES.iter().filter(is_missing).map(|(package, _)| *package).collect();
    if !missing.is_empty() && is_root() {
        let mut install = Command::new("apt-get");
        install.env("DEBIAN_FRONTEND", "noninteractive").args(["install", "-y", "-qq", "--no-install-recommends"]);
        install.args(&missing).status()?;
    }
    if let Some((package, program)) = PACKAGES.iter().find(is_missing) {
        bail!("{program} is missing; install it, as with `apt-get install {package}`");
    }
    test::run(&["worker_ctl::cluster".to_owned()])
}
