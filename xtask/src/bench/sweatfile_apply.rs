//! `sweatfile-apply` against git.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Bench, Limit, Row, median};

impl Bench {
    /// A repository with 200 files and two branches that differ in one.
    fn repository(&self, name: &str) -> Result<PathBuf> {
        let repo = self.dir.join("area").join(name);
        fs::create_dir_all(repo.join("src"))?;
        for i in 0..200 {
            fs::write(repo.join(format!("src/{i}.txt")), format!("file {i}\n"))?;
        }
        for line in [
            &["git", "init", "-q", "-b", "one"][..],
            &["git", "add", "."],
            &["git", "commit", "-q", "-m", "one"],
            &["git", "checkout", "-q", "-b", "two"],
            &["git", "commit", "-q", "--allow-empty", "-m", "two"],
        ] {
            self.must(line, &repo)?;
        }
        Ok(repo)
    }

    pub(super) fn sweatfile_apply(&self) -> Result<Vec<Row>> {
        let hooked = self.repository("hooked")?;
        let empty = self.repository("empty")?;
        self.must(&["sweatfile-apply", "hook", "install"], &hooked)?;
        let hook = empty.join(".git/hooks/post-checkout");
        fs::write(&hook, "#!/bin/sh\nexit 0\n")?;
        fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for i in 0..self.runs {
            let line = ["git", "checkout", "-q", if i % 2 == 0 { "one" } else { "two" }];
            with.push(self.once(&line, &hooked)?);
            without.push(self.once(&line, &empty)?);
        }

        fs::write(self.dir.join("area/linked"), "x")?;
        fs::write(
            self.dir.join("area/sweatfile"),
            "git_excludes = [\"/.a\", \"/.b\"]\nsetup = [\"true\"]\n[env]\nA = \"1\"\n[files.a]\ncontent = \"a\"\n[files.b]\nsource = \"linked\"\n",
        )?;
        self.must(&["git", "worktree", "add", "-q", "../wt", "one", "-f"], &hooked)?;
        let wt = self.dir.join("area/wt");
        self.must(&["sweatfile-apply"], &wt)?;
        let (mut apply, mut check, mut status) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.runs {
            apply.push(self.once(&["sweatfile-apply"], &wt)?);
            check.push(self.once(&["sweatfile-apply", "check"], &wt)?);
            status.push(self.once(&["git", "status"], &wt)?);
        }
        let processes = self.git_processes(&wt)?;
        let (with, without) = (median(with), median(without));
        let (apply, check, status) = (median(apply), median(check), median(status));
        Ok(vec![
            Row::ms("`git checkout` with our hook", with)
                .against("with an empty hook", without)
                .within(Limit::Times(1.1)),
            Row::ms("`sweatfile-apply`, up to date", apply).against("`git status`", status).within(Limit::AtMost(15.0)),
            Row::ms("`sweatfile-apply check`", check).against("`git status`", status).within(Limit::AtMost(15.0)),
            Row::count("git processes of an apply, up to date", processes, "processes").within(Limit::AtMost(3.0)),
        ])
    }

    /// The number of git processes that an `apply` starts, by the trace of git.
    fn git_processes(&self, wt: &Path) -> Result<f64> {
        let trace = self.dir.join("trace");
        let mut command = self.command(&["sweatfile-apply"], wt);
        command.env("GIT_TRACE2_EVENT", &trace).status()?;
        let text = fs::read_to_string(&trace)?;
        Ok(text.lines().filter(|l| l.contains("\"event\":\"start\"")).count() as f64)
    }
}
