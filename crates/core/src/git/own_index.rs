//! Indexes of our own, for questions that git's own index must not answer.

use std::path::{Path, PathBuf};

use super::Git;
use crate::error::Result;
use crate::fs;

/// A path for an index, below the user's own state, where no agent's sandbox lets it write: git follows a link that has
/// the name of the index. Where we cannot write there either, as in an agent's sandbox, it is a temporary file.
#[derive(Debug)]
pub struct OwnIndex(PathBuf);

impl Git {
    /// A path that nothing has yet.
    pub fn own_index(&self) -> Result<OwnIndex> {
        let temporary = self.env().var("TMPDIR").map_or(PathBuf::from("/tmp"), PathBuf::from);
        let own = self.env().state_home().map(|state| state.join("git"));
        let own = own.filter(|dir| fs::create_private_dir(dir).is_ok() && fs::can_write(dir));
        Ok(OwnIndex(own.unwrap_or(temporary).join(fs::unique_name())))
    }
}

impl OwnIndex {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for OwnIndex {
    fn drop(&mut self) {
        for file in [self.0.with_extension("lock"), self.0.clone()] {
            // What stays has a random name and is read by nobody.
            let _ = fs::remove(&file);
        }
    }
}
