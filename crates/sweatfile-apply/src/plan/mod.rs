//! Decides which steps to take, from the facts and the merged sweatfiles. All functions here are pure. `apply` executes
//! a plan; `--dry-run` and `check` print the same plan.

mod apply;
mod env;
mod files;
pub mod removal;
pub mod review;
mod setup;

pub use self::apply::{Plan, known_record, plan};
pub use self::env::EnvOperation;
pub use self::files::{FileOperation, FileStep, FileToPlace};
pub use self::setup::{PlannedStep, SetupPlan, SetupRun, held_files, unapproved};
