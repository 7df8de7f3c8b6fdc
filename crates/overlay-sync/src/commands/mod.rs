//! One file per subcommand (or a few that answer the same question): each reads, asks for a plan, and
//! prints or applies it.

pub mod add;
pub mod attach;
pub mod config;
pub mod drop;
pub mod hook;
pub mod leave;
pub mod log;
pub mod merge;
pub mod past;
pub mod status;
pub mod sync;
pub mod watch;
