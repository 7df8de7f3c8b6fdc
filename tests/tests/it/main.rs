//! End-to-end tests of the tools: real git, real `sh`, a home of their own. They check the status and both streams.

mod support;

mod ledger_synth;
mod overlay_sync;
mod shopfloor;
mod sweatfile_apply;
mod together;
mod worker_ctl;
mod worktree_spawn;
