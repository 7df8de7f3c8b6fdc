//! The tools from outside: real git, real `sh`, a home of their own, both streams and the status.

mod world;

mod any_bytes;
mod approval;
mod bad_input;
mod beyond_seed;
mod cases;
mod command_line;
mod docs;
mod env_file;
mod faults;
mod hook;
mod layers;
mod ledger;
mod ledger_add;
mod ledger_faults;
mod ledger_git;
mod ledger_input;
mod merge;
mod overlay;
mod overlay_command;
mod overlay_edges;
mod overlay_policy;
mod overlay_review;
mod overlay_watch;
mod parallel;
mod races;
mod remove;
mod review;
mod seed;
mod shipped;
