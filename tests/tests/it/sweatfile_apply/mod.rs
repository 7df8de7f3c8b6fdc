//! sweatfile-apply as its user meets it.

mod any_bytes;
mod approval;
mod caches;
mod check;
mod concurrent_changes;
mod design_examples;
mod env_file;
mod errors;
mod faults;
mod files;
mod forged_state;
mod held_setup;
mod hook;
mod include;
mod inherited;
mod init;
mod layers;
mod parallel;
mod placeholders;
mod readers;
mod remove;
mod review;
mod settings_approval;
mod setup;
mod steps;
mod teardown;
