//! sweatfile-apply as its user meets it.

mod any_bytes;
mod approval;
mod bad_input;
mod beyond_seed;
mod cases;
mod env_file;
mod faults;
mod held;
mod hook;
mod layers;
mod parallel;
mod races;
mod remove;
mod review;
mod seed;
mod trust;
