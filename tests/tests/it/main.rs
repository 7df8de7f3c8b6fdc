//! The tools from outside: real git, real `sh`, a home of their own, both streams and the status.

mod support;

mod ledger_synth;
mod overlay_sync;
mod sweatfile_apply;
mod together;
mod worker_ctl;
mod worktree_spawn;
