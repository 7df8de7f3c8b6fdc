//! Files that count only once a person has approved their bytes, and the summary that the person reads.

use std::path::PathBuf;

use shopfloor_core::approval::{self, ApprovalStatus, Approvals};
use shopfloor_core::config;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::git::Repo;
use shopfloor_core::path::RelPath;

use crate::layer::FILE;
use crate::sweatfile;

/// A file that needs approval.
pub struct Approvable {
    /// Its name in the store of approvals.
    pub name: String,
    pub path: PathBuf,
    /// The bytes that a person approves; none when there is no such file.
    pub bytes: Option<Vec<u8>>,
    /// What comes with it, for the summary.
    pub more: Vec<String>,
}

/// Where a file lies below its checkout, by its name in the store of approvals.
pub fn path_of(name: &str) -> &str {
    name.strip_prefix("worktree:").unwrap_or(name)
}

/// The name under which a tracked file is approved. No other approvable file has a name that begins like this.
pub fn tracked_name(path: &RelPath) -> String {
    format!("worktree:{path}")
}

impl Approvable {
    pub fn status(&self, env: &Env, repo: &Repo) -> Result<ApprovalStatus> {
        match &self.bytes {
            Some(bytes) => Approvals::load(env)?.status(&repo.home.common_dir, &self.name, bytes),
            None => Ok(ApprovalStatus::None),
        }
    }

    /// Records the approval of these bytes for every worktree of this clone.
    pub fn approve(&self, env: &Env, repo: &Repo) -> Result<()> {
        approval::approve(env, &repo.home.common_dir, &self.name, &self.text())
    }

    /// What the file asks for (commands, destinations and names of variables), and the changes since its last
    /// approval.
    pub fn summary(&self, env: &Env, repo: &Repo) -> Result<Vec<String>> {
        let text = self.text();
        let path = self.path.display();
        let mut lines = vec![format!("{path} would:")];
        if self.name == FILE {
            lines.extend(sweatfile::parse(self.bytes()).sweatfile.requests());
            lines.extend(self.more.iter().cloned());
        } else if self.name == config::REPOSITORY_FILE {
            lines.push("  set what runs commands or reaches outside the repository:".into());
            lines.extend(text.lines().map(|l| format!("    {l}")));
        } else {
            lines = vec![format!("setup commands would use {path} as it is:")];
            lines.extend(text.lines().map(|l| format!("    {l}")));
        }
        let last = Approvals::load(env)?.last_text(&repo.home.common_dir, &self.name)?;
        if let Some(before) = last.filter(|before| *before != text) {
            lines.push("changed since its last approval:".into());
            let diff = similar::TextDiff::from_lines(before.as_str(), &text);
            let diff = diff.unified_diff().context_radius(1).header("approved", "now").to_string();
            lines.extend(diff.lines().map(|l| format!("  {l}")));
        }
        Ok(lines)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }
}
