//! The body of an event: a line grammar that accepts what agents really write. It looks like YAML, and where YAML would
//! read text it reads the same text; but no line can spoil the others, and nothing is dropped.

mod grammar;
mod interpret;
mod read;
mod render;

pub use grammar::Grammar;
pub use interpret::{parse, parse_lines, shown_checkpoint};
pub use read::{NOTES, bold, lines};
pub use render::render;
