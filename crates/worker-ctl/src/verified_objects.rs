//! Compares git objects in the clone with the source's: an agent can store one whose content its name does not match,
//! and git hashes only what a fetch brings.

use std::path::PathBuf;

use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::{answer, failed};
use shopfloor_core::proc::{Cmd, Status};
use shopfloor_core::text::shell_word;

use crate::failure;
use crate::work_repo::WorkRepo;

/// A copy of some objects, each under the name that its content has; removed when dropped.
pub struct HashedObjects(PathBuf);

impl Drop for HashedObjects {
    fn drop(&mut self) {
        // What stays has a random name and is read by nobody.
        let _ = fs::remove_tree(&self.0);
    }
}

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

    /// This repository with a copy of all objects that `new` brings onto `base`, and of what they replace. In the person's
    /// own repository no fetch hashes them. Exit 4, kind `tampered`, if one is not what its name says.
    pub fn with_hashed_objects(&self, base: &str, new: &str) -> Result<(WorkRepo, HashedObjects)> {
        let ask = |args: &[&str]| answer(args[0], &self.cmd(&self.top)?.args(args.iter().copied()).capture()?);
        let mut ids = ask(&["rev-list", "--objects", "--no-object-names", new, &format!("^{base}")])?;
        ids += &format!("\n{base}\n{}\n", ask(&["rev-parse", &format!("{base}^{{tree}}")])?);
        // Old and new mode, old and new object.
        for line in ask(&["diff-tree", "-r", "-t", "--no-renames", base, new])?.lines() {
            let fields: Vec<&str> = line.trim_start_matches(':').splitn(5, ' ').collect();
            let [old_mode, new_mode, old, new, _] = fields[..] else { continue };
            for (mode, id) in [(old_mode, old), (new_mode, new)] {
                if !["000000", "160000"].contains(&mode) {
                    ids += &format!("{id}\n");
                }
            }
        }
        let locks = self.root.join("locks");
        // What killed commands have left there.
        fs::sweep_old_temporaries(&locks)?;
        let copy = HashedObjects(locks.join(fs::unique_name()));
        let HashedObjects(dir) = &copy;
        [dir.clone(), dir.join("info"), dir.join("pack")].iter().try_for_each(|dir| fs::create_private_dir(dir))?;
        let pack = dir.join("pack/pack");
        let cmd = self.cmd(&self.top)?.args(["pack-objects", "-q", "--no-reuse-object", "--window=0"]).arg(&pack);
        // git moves the pack there from its own directory of objects, which may be on another disk.
        let others = format!("{}\n", self.objects.display());
        fs::replace(&dir.join("info/alternates"), others.as_bytes(), Some(fs::PRIVATE))?;
        let cmd = cmd.var("GIT_OBJECT_DIRECTORY", dir);
        let packed = cmd.input(ids.into_bytes()).capture()?;
        let look = format!("`git -C {} fsck`", shell_word(&self.top));
        // It hashes nothing. A full disk stops it, too.
        if !packed.status.success() {
            return Err(failed("pack-objects", &packed)
                .hint(format!("mend the cause, then run the same command again; {look} looks at all objects")));
        }
        let index = format!("{}-{}.idx", pack.display(), packed.text());
        // It hashes them.
        let verified = self.cmd(&self.top)?.arg("verify-pack").arg(index).capture()?;
        match verified.status {
            Status::Exited(0) => {}
            Status::Exited(_) => {
                return Err(failure::TAMPERED
                    .failure(format!("an object that {new} brings, or one that it replaces, is not what its name says"))
                    .because(std::io::Error::other(String::from_utf8_lossy(&verified.stderr).trim().to_owned()))
                    .hint(format!("look at them: {look}")));
            }
            Status::Signalled(_) => return Err(failed("verify-pack", &verified)),
        }
        let mut repo = self.clone();
        repo.objects.clone_from(dir);
        Ok((repo, copy))
    }
}
