//! One file per subcommand: each reads, asks for a plan, and prints or applies it.

pub mod apply;
pub mod approvals;
pub mod approve;
pub mod check;
pub mod config;
pub mod convert;
pub mod doctor;
pub mod env;
pub mod hook;
pub mod init;
pub mod remove;
pub mod revoke;
pub mod show;
pub mod sweep;
pub mod wait;
