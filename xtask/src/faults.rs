//! `cargo xtask faults`: the suite with every kill sweep whole. `cargo xtask test` kills at a sample of the points.

use anyhow::Result;

use crate::kills::Kills;
use crate::test;

pub fn run(args: &[String]) -> Result<()> {
    test::run_with(Kills::Whole, args)
}
