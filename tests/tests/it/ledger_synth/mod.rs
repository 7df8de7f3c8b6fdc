//! End-to-end tests of ledger-synth.

mod add;
mod archive;
mod cache;
mod check;
mod commits;
mod concurrency;
mod current_md;
mod event_files;
mod event_format;
mod faults;
mod forged;
mod git;
mod handoffs;
mod history;
mod hosts;
mod merge_driver;
mod migrate;
mod page;
mod partial_views;
mod sessions;
mod settings;
mod synthesis;
