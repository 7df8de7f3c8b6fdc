//! One file per subcommand.

pub mod ack;
pub mod config;
pub mod events;
pub mod gc;
pub mod hook;
pub mod list;
pub mod mcp;
pub mod notify;
pub mod remove;
pub mod repair;
pub mod run;
pub mod subtree;
pub mod wait;
pub mod whoami;
pub mod worker;
