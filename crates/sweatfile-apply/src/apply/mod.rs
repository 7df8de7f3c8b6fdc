//! The only room that writes into worktrees: it executes plans and decides nothing again.

mod place;
mod remove;
mod setup;
mod sweatfile;

pub use self::place::{place, placing_failure, write_env_file};
pub use self::remove::{RemovedItems, remove};
pub use self::setup::setup;
pub use self::sweatfile::{promote, remove_sweatfile, write_sweatfile};
