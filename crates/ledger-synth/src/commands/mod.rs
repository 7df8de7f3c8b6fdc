//! One file per subcommand (or a few that answer the same question): each reads, asks for the join, and prints or
//! applies what it comes to.

pub mod add;
pub mod adopt;
pub mod archive;
pub mod banner;
pub mod check;
pub mod config;
pub mod explain;
pub mod hook;
pub mod install;
pub mod lint;
pub mod merge_driver;
pub mod migrate;
pub mod retract;
pub mod synth;
