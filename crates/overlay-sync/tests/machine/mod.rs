//! The state machine of a sync, over a ground in memory. The files stand here because they are no part of the program,
//! and are compiled into the unit tests of `apply`, because they drive what is private to it.

mod cases;
mod floor;
mod ground;
mod steps;
