//! One file per subcommand: each reads, asks for a plan, and prints or applies it. The others hold what several share.

pub mod add;
pub mod archive;
pub mod banner;
pub mod check;
pub mod config;
pub mod conflicts;
pub mod doctor;
pub mod explain;
mod filtered_view;
pub mod hook;
pub mod install;
pub mod merge_driver;
pub mod migrate;
pub mod notes;
mod output;
pub mod prune;
pub mod retract;
mod section_flags;
pub mod synth;
pub mod synth_args;
