//! ledger-synth as its user meets it.

mod add;
mod faults;
mod git;
mod input;
mod synthesis;
