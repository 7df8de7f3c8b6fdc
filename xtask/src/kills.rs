//! The points at which kill sweeps kill: all of them, or a sample that a printed seed repeats.

use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};

/// The variable that asks for whole sweeps.
const WHOLE: &str = "SHOPFLOOR_FAULTS";

/// The variable that chooses the sample.
const SEED: &str = "SHOPFLOOR_SEED";

/// Which points the kill sweeps of a run kill at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kills {
    Whole,
    Sample { seed: u64 },
}

impl Kills {
    /// A sample by the seed in the environment, or by a new one. Says which, so that the run can be repeated.
    pub fn sample() -> Kills {
        let given = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
        // A number of at most ten digits is easily copied.
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(std::process::id()) & 0xffff_ffff);
        eprintln!("xtask: the kill sweeps are sampled with {SEED}={seed}; `cargo xtask faults` runs them whole");
        Kills::Sample { seed }
    }

    /// What the tests read it from.
    pub fn variable(self) -> (&'static str, OsString) {
        match self {
            Kills::Whole => (WHOLE, "whole".into()),
            Kills::Sample { seed } => (SEED, seed.to_string().into()),
        }
    }
}
