//! `info/exclude`: the patterns that all worktrees of a repository share.

use super::Repo;
use crate::error::Result;
use crate::fs;
use crate::lock::Lock;

impl Repo {
    /// The contents of `info/exclude`, which the main checkout and all worktrees share; empty if there is no such file.
    /// Refuses a link.
    pub fn read_exclude(&self) -> Result<Vec<u8>> {
        let info = self.common_dir.join("info");
        fs::refuse_link(&info)?;
        Ok(fs::read_no_follow(&info.join("exclude"))?.unwrap_or_default())
    }

    /// Rewrites `info/exclude` with `edit`, under the lock that all tools use for it. `edit` gets the contents that its
    /// result replaces. A file that this made goes with its last line, and one that it ended ends as before.
    pub fn rewrite_exclude(&self, edit: impl FnOnce(&[u8]) -> Result<Vec<u8>>) -> Result<()> {
        let _lock = Lock::take(&self.common_dir.join("shopfloor/exclude.lock"))?;
        let before = self.read_exclude()?;
        let after = edit(&before)?;
        if after == before {
            return Ok(());
        }
        let path = self.common_dir.join("info/exclude");
        let (made, cut) = ["made", "cut"].map(|name| self.common_dir.join(format!("shopfloor/exclude.{name}"))).into();
        if after.is_empty() && made.exists() {
            fs::remove(&path)?;
            return fs::remove(&made);
        }
        if !path.exists() {
            fs::replace(&made, b"", Some(fs::PRIVATE))?;
        }
        fs::create_dir(&self.common_dir.join("info"))?;
        // What somebody wrote without a line end at the end gets one from our lines, and loses it with them.
        if !before.is_empty() && !before.ends_with(b"\n") {
            fs::replace(&cut, &before, Some(fs::PRIVATE))?;
        } else if let Some(own) = fs::read_no_follow(&cut)?
            && after.strip_suffix(b"\n") == Some(&own[..])
        {
            fs::replace(&path, &own, None)?;
            return fs::remove(&cut);
        }
        fs::replace(&path, &after, None)
    }

    /// Adds the names of temporary files to `info/exclude`, for the case that they must be in a worktree. Otherwise,
    /// after a kill, `git add -A` could stage a secret.
    pub fn exclude_reserved(&self) -> Result<()> {
        let pattern = format!("{}*", fs::RESERVED).into_bytes();
        let is_there = |text: &[u8]| text.split(|b| *b == b'\n').any(|line| line.trim_ascii_end() == pattern);
        if is_there(&self.read_exclude()?) {
            return Ok(());
        }
        self.rewrite_exclude(|text| {
            let gap: &[u8] = if text.is_empty() || text.ends_with(b"\n") { b"" } else { b"\n" };
            Ok(if is_there(text) { text.to_vec() } else { [text, gap, &pattern, b"\n"].concat() })
        })
    }
}
