//! Texts that a run reads once.

use std::collections::HashMap;

use shopfloor_core::hash::Digest;

/// Small texts of the store that this run has read. Many workspaces have the same base.
#[derive(Debug, Default)]
pub struct Texts(HashMap<Digest, Vec<u8>>);

impl Texts {
    pub fn get(&self, digest: &Digest) -> Option<Vec<u8>> {
        self.0.get(digest).cloned()
    }

    pub fn add(&mut self, digest: Digest, text: &[u8]) {
        if self.0.len() >= 256 {
            self.0.clear();
        }
        if text.len() <= 1 << 16 {
            self.0.insert(digest, text.to_vec());
        }
    }
}
