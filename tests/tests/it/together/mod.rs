//! Tests of what several tools share.

mod answers;
mod command_line;
mod completion;
mod docs;
mod forged;
mod guard;
mod hooks;
mod leaving;
mod led_elsewhere;
mod man;
mod recipes;
mod shipped;
mod vocabulary;
