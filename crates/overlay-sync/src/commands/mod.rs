//! One file per subcommand: each reads, asks for a plan, and prints or applies it.

pub mod merge;
