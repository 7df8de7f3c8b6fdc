//! One file per subcommand: its arguments, what it does, and its answer.

pub mod ack;
pub mod config;
pub mod doctor;
pub mod env;
pub mod events;
pub mod gc;
pub mod hook;
pub mod list;
pub mod mcp;
pub mod notify;
pub mod path;
pub mod remove;
pub mod repair;
pub mod run;
pub mod shared_args;
pub mod spawned;
pub mod subtree;
pub mod trust;
pub mod wait;
pub mod whoami;
pub mod worker;
