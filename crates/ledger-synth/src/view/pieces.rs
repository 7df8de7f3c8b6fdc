//! A page in pieces.

use shopfloor_core::hash::{Digest, DigestBuilder};

/// How long a piece of a page may become, in bytes, before an entry is added to it.
const PIECE: usize = 64 << 10;

/// A page while it is rendered. It is passed on in pieces, because a page of format 1 shows everything that was ever
/// said.
pub struct PageOut<'p> {
    piece: String,
    digest: DigestBuilder,
    pass_on: &'p mut dyn FnMut(&str),
}

impl<'p> PageOut<'p> {
    pub fn new(pass_on: &'p mut dyn FnMut(&str)) -> PageOut<'p> {
        PageOut { piece: String::with_capacity(PIECE), digest: DigestBuilder::default(), pass_on }
    }

    /// The piece at the end, to which an entry is added next.
    pub fn piece(&mut self) -> &mut String {
        if self.piece.len() > PIECE {
            self.pass_on();
        }
        &mut self.piece
    }

    /// Passes on what there is.
    pub fn pass_on(&mut self) {
        self.digest.add(self.piece.as_bytes());
        (self.pass_on)(&self.piece);
        self.piece.clear();
    }

    /// The digest of all that was said up to now.
    pub fn digest(&mut self) -> Digest {
        self.pass_on();
        self.digest.clone().finish()
    }
}
