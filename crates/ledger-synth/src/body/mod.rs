//! The body of an event: a line grammar that accepts what agents really write. It looks like YAML, and where YAML would
//! read text it reads the same text; but no line can spoil the others, and nothing is dropped.

mod interpret;
mod read;
mod render;

pub use interpret::{parse, shown_checkpoint};
pub use read::bold;
pub use render::render;
