//! Where state lies: every file and directory that more than one room uses is named here.
//!
//! `shared` is the state that all worktrees of a repository share, below its common git directory.

use std::path::{Path, PathBuf};

use shopfloor_core::hash::Digest;

use crate::tool::TOOL;

/// This tool's state below a git directory, private or common.
pub fn state_dir(git_dir: &Path) -> PathBuf {
    git_dir.join("shopfloor").join(TOOL)
}

/// The record of a worktree's own agent.
pub fn identity_file(git_dir: &Path) -> PathBuf {
    state_dir(git_dir).join("identity.json")
}

/// The directories of the seats in a worktree, one per seat.
pub fn seats_dir(git_dir: &Path) -> PathBuf {
    state_dir(git_dir).join("workers")
}

/// The record of one seat.
pub fn seat_file(git_dir: &Path, slug: &str) -> PathBuf {
    seats_dir(git_dir).join(slug).join("identity.json")
}

/// Temporary files, below any state directory.
pub fn temporary_dir(state: &Path) -> PathBuf {
    state.join("tmp")
}

/// Worktrees that were moved away and are being deleted.
pub fn gone_dir(shared: &Path) -> PathBuf {
    shared.join("gone")
}

/// The records and locks of agents' runs.
pub fn runs_dir(shared: &Path) -> PathBuf {
    shared.join("runs")
}

/// The spools, one directory per session.
pub fn sessions_dir(shared: &Path) -> PathBuf {
    shared.join("session")
}

/// An id as a file name. Everything but letters, digits, `_`, `-` and inner dots is percent-encoded; a name that would
/// be too long ends in a hash of the id.
pub fn encoded(id: &str) -> String {
    let mut name = String::new();
    for (i, b) in id.bytes().enumerate() {
        if b.is_ascii_alphanumeric() || b == b'_' || b == b'-' || (b == b'.' && i > 0) {
            name.push(char::from(b));
        } else {
            name.push_str(&format!("%{b:02X}"));
        }
    }
    if name.len() > 200 {
        name.truncate(160);
        name = format!("{name}%%{}", &Digest::of(id.as_bytes()).to_string()[..32]);
    }
    name
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_are_encoded_into_names() {
        assert_eq!(encoded("main.feature-a"), "main.feature-a");
        assert_eq!(encoded("feature/x.y"), "feature%2Fx.y");
        assert_eq!(encoded("..") + &encoded("%"), "%2E.%25");
        assert!(encoded(&"ü".repeat(200)).len() < 200);
    }

    proptest! {
        #[test]
        fn no_two_ids_share_a_name(a in "[a-zA-Z0-9./%ü]{1,80}", b in "[a-zA-Z0-9./%ü]{1,80}") {
            prop_assert_eq!(a == b, encoded(&a) == encoded(&b));
        }
    }
}
