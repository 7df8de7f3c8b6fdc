//! overlay-sync as its user meets it.

mod command;
mod edges;
mod merge;
mod policy;
mod review;
mod sync;
mod watch;
mod writers;
