//! The only room that writes into worktrees: it executes plans and decides nothing again.

pub mod background;
mod made;
mod remove;
mod setup;
mod steps;
pub mod teardown;
mod write_sweatfile;

pub use self::remove::{RemovedItems, release_excludes, remove};
pub use self::setup::setup;
pub use self::steps::{place, placing_failure, write_env_file};
pub use self::write_sweatfile::{promote, remove_sweatfile, write_sweatfile};
