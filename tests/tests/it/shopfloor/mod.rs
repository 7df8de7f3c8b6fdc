//! shopfloor, the front door, as its user meets it.

mod daily;
mod desk;
mod first_day;
mod names;
mod reap;
mod requests;
mod rm;
mod setup;
mod teardown;
mod verbs;
