//! The source's objects, as a measure of the clone's. An agent can put objects into the clone that are not what their
//! names say: git reads files and directories as they are, and hashes only what a fetch brings.

use std::path::PathBuf;

use shopfloor_core::error::Result;
use shopfloor_core::proc::Cmd;

use crate::work_repo::WorkRepo;

impl WorkRepo {
    /// A person's own directory for the hooks of all repositories. What the clone names does not count.
    pub fn shared_hooks(&self) -> Result<Option<PathBuf>> {
        let asked = self.git.cmd(&self.top).args(["config", "--type=path", "--get", "core.hooksPath"]).capture()?;
        let named = String::from_utf8_lossy(&asked.stdout).trim_end().to_owned();
        Ok(Some(named).filter(|named| !named.is_empty()).map(PathBuf::from))
    }

    /// The command, for writing the files of these commits, with the source's objects if it has all of them.
    pub fn reading_source(&self, cmd: Cmd, shas: &[&str]) -> Result<Cmd> {
        if self.is_own {
            return Ok(cmd);
        }
        for sha in shas {
            if !self.by_source()?.args(["cat-file", "-e", &format!("{sha}^{{commit}}")]).capture()?.status.success() {
                return Ok(cmd);
            }
        }
        Ok(cmd.var("GIT_OBJECT_DIRECTORY", &self.objects))
    }

    /// git in the clone that sees the source's objects, and none of the clone's.
    pub fn by_source(&self) -> Result<Cmd> {
        Ok(self.cmd(&self.top)?.var("GIT_OBJECT_DIRECTORY", &self.objects))
    }

    /// Whether the work begins at several commits of the default branch. A review compares it with one of them, and a
    /// merge can take back what the others lack.
    pub fn has_several_bases(&self, base: &str, sha: &str) -> Result<bool> {
        let bases = self.run(&self.top, &["merge-base", "--all", base, sha])?;
        Ok(bases.stdout.iter().filter(|byte| **byte == b'\n').count() > 1)
    }
}
