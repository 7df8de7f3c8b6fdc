//! What the shopfloor tools share: everything about the machine (files, locks, processes, git, configuration,
//! approvals, hooks, terminal) and nothing about their own subjects.
//!
//! Rooms import downwards only: `text path hash env error time agents agent_command slug since diff
//! sys` ← `proc fs lock written_files
//! known_dirs child_env editor` ← `git config approval hook_manager git_hook pre_remove folder_trust forge
//! sandbox` ← `ui board args doctor
//! hook_subcommand`. `cargo xtask tidy` holds them to it.

pub mod text;

pub mod agent_command;
pub mod agents;
pub mod diff;
pub mod env;
pub mod error;
pub mod hash;
pub mod path;
pub mod since;
pub mod slug;
mod sys;
pub mod time;

pub mod child_env;
pub mod editor;
pub mod fs;
pub mod known_dirs;
pub mod lock;
pub mod proc;
pub mod ssh;
pub mod written_files;

pub mod approval;
pub mod config;
pub mod folder_trust;
pub mod forge;
pub mod git;
pub mod git_hook;
pub mod hook_manager;
pub mod pre_remove;
pub mod sandbox;

pub mod args;
pub mod board;
pub mod doctor;
pub mod hook_subcommand;
pub mod ui;
