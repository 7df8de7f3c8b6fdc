//! The agent's own repository, made once from what the agent could not write yet.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{NO_SANDBOX, Sandbox, objects};
use crate::agents;
use crate::error::{Failure, Result};
use crate::fs;
use crate::git::{Git, LOOK_LIMIT, Setting, run_git, written};

/// Where an agent's `git fetch` and `git push` end, with this sentence in their error.
const NOWHERE: &str = "/nonexistent/a-sandboxed-agent-cannot-push-or-fetch";

/// What of the person's configuration the agent's git obeys too: who commits, what files look like, and the programs of
/// git-lfs and ours.
const TAKEN: [&str; 14] = [
    "user.name",
    "user.email",
    "init.defaultbranch",
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.symlinks",
    "core.ignorecase",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "filter.lfs.",
    "merge.ledger-synth.",
    "merge.conflictstyle",
    "extensions.objectformat",
];

/// What stands in a worktree's private git directory while git waits for somebody.
const UNDER_WAY: [&str; 6] =
    ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG"];

impl Sandbox {
    /// Makes the sandbox if it is not there yet. Exit 2, kind `no_sandbox`, where this is a repository or a state that a
    /// sandbox cannot take over; exit 4, kind `tampered`, where the `.git` file of the worktree does not lead to its record.
    /// `base` is the branch where work lands and its commit; without one it is that of the main checkout.
    pub fn make(&self, base: Option<(String, String)>) -> Result<()> {
        self.make_on(base, None)
    }

    /// The same for a worktree of ours that may be on no branch: inside it is on one of this name.
    pub fn make_on(&self, base: Option<(String, String)>, detached: Option<&str>) -> Result<()> {
        self.require_own_dot_git()?;
        let git = Git::find(&self.env)?.guarded(&self.common_dir, &self.worktree)?;
        if self.is_made() {
            return self.follow_move();
        }
        let settings = git.settings_in(&self.worktree)?;
        self.refuse_unknown(&git, &settings)?;
        let mut branch = git.text(&self.worktree, &["symbolic-ref", "-q", "HEAD"])?;
        let tip = git.text(&self.worktree, &["rev-parse", "-q", "--verify", "HEAD^{commit}"])?;
        if let Some(name) = detached.filter(|_| branch.is_empty()) {
            branch = format!("refs/heads/{name}");
        }
        if !branch.starts_with("refs/heads/") || tip.is_empty() {
            return Err(NO_SANDBOX
                .failure(format!("{} is on no branch with a commit", self.worktree.display()))
                .hint("check out a branch there first: `git switch -c NAME`"));
        }
        // What a kill left of a sandbox that nobody has used.
        if self.dir.exists() {
            fs::remove_tree(&self.dir)?;
        }
        let base = base.map(|(name, tip)| (format!("refs/heads/{name}"), tip));
        let base = base.map_or_else(|| self.base(&git), |base| Ok(Some(base)))?;
        self.fill(&settings, (&branch, &tip), base)?;
        self.follow(&tip);
        let common = Git::find(&self.env)?.common(&self.common_dir)?;
        let refs = format!("update {} {tip}\nupdate {}/{tip} {tip}\n", self.own_ref("in"), self.own_ref("box"));
        self.update_refs(&common, refs)?;
        // The last one: from now on it is made.
        fs::replace(&self.dir.join("worktree"), self.worktree.as_os_str().as_bytes(), Some(fs::PRIVATE))
    }

    /// Tells the private repository where its worktree lies now.
    fn follow_move(&self) -> Result<()> {
        let (known, own) = (self.dir.join("worktree"), self.worktree.as_os_str().as_bytes());
        if fs::read_no_follow(&known)?.as_deref() == Some(own) {
            return Ok(());
        }
        let cmd = self.contained_cmd(false, "printf '%s/.git\\n' \"$TOP\" > /box/git/worktrees/\"$NAME\"/gitdir")?;
        let cmd = cmd.var("TOP", &self.worktree).var("NAME", self.name()).within(super::bubblewrap::LIMIT);
        run_git("worktree repair", cmd)?;
        fs::replace(&known, own, Some(fs::PRIVATE))
    }

    pub(super) fn update_refs(&self, git: &Git, lines: String) -> Result<()> {
        let cmd = git.cmd_alone(&self.common_dir).args(["update-ref", "--stdin"]);
        run_git("update-ref", cmd.input(lines.into_bytes())).map(drop)
    }

    fn fill(&self, settings: &[Setting], (branch, tip): (&str, &str), base: Option<(String, String)>) -> Result<()> {
        let own = self.git_dir();
        let record = own.join("worktrees").join(self.name());
        for dir in [&self.dir, &self.home(), &self.spool(), &self.texts(), &own] {
            fs::create_private_dir(dir)?;
        }
        for dir in ["objects/info", "objects/pack", "refs/tags", "info", "logs", "hooks"] {
            fs::create_dir(&own.join(dir))?;
        }
        fs::create_dir(&record)?;
        let write = |path: PathBuf, text: &[u8]| -> Result<()> {
            path.parent().map_or(Ok(()), fs::create_dir)?;
            fs::replace(&path, text, None)
        };
        let mut taken: Vec<Setting> = settings.iter().filter(|setting| is_taken(setting)).cloned().collect();
        let set = |key: &str, value: &str| (key.to_owned(), Some(value.into()));
        let is_sha256 = taken.iter().any(|(key, _)| key == "extensions.objectformat");
        taken.extend([
            set("core.repositoryformatversion", if is_sha256 { "1" } else { "0" }),
            set("core.bare", "false"),
            set("core.logallrefupdates", "true"),
            set("gc.auto", "0"),
            set("maintenance.auto", "false"),
            set("commit.gpgsign", "false"),
            set("tag.gpgsign", "false"),
            set("remote.origin.url", NOWHERE),
        ]);
        write(own.join("config"), &written(&taken))?;
        let person: Vec<Setting> =
            taken.iter().filter(|(key, _)| key.starts_with("user.") || key.starts_with("init.")).cloned().collect();
        write(self.home().join(".gitconfig"), &written(&person))?;
        let alternates = objects::inside(&self.common_dir, "/run/shopfloor/objects").into_iter();
        let alternates: String = alternates.map(|(_, inside)| format!("{inside}\n")).collect();
        write(own.join("objects/info/alternates"), alternates.as_bytes())?;
        let line = |text: &str| format!("{text}\n").into_bytes();
        // git believes that this branch is checked out somewhere else.
        write(own.join("HEAD"), b"ref: refs/heads/of-the-main-checkout\n")?;
        write(own.join(branch), &line(tip))?;
        if let Some((name, tip)) = base.filter(|(name, _)| name != branch) {
            write(own.join(&name), &line(&tip))?;
            write(own.join(name.replacen("refs/heads/", "refs/remotes/origin/", 1)), &line(&tip))?;
        }
        write(record.join("HEAD"), &line(&format!("ref: {branch}")))?;
        write(record.join("commondir"), b"../..\n")?;
        write(record.join("gitdir"), &[self.worktree.join(".git").as_os_str().as_bytes(), b"\n"].concat())?;
        self.copy(&self.record, &record, &|name| name == "index" || name.starts_with("sharedindex."))?;
        self.copy(&self.record.join("info"), &record.join("info"), &|name| name == "sparse-checkout")?;
        self.copy(&self.common_dir, &own, &|name| name == "shallow")?;
        self.copy(&self.common_dir.join("info"), &own.join("info"), &|name| name == "exclude")?;
        self.copy_hooks(&own.join("hooks"))?;
        self.fill_home()
    }

    /// Puts into the agent's home what its program asks every person for once. From then on nothing is written there from
    /// outside.
    fn fill_home(&self) -> Result<()> {
        let Some(home) = self.env.home() else { return Ok(()) };
        for (path, keys) in agents::PROGRAMS.iter().flat_map(|program| program.begins_with) {
            let Some(mut text) = fs::read(&home.join(path)).ok().flatten() else { continue };
            if !keys.is_empty() {
                let Ok(Value::Object(mut all)) = serde_json::from_slice(&text) else { continue };
                all.retain(|key, _| keys.contains(&key.as_str()));
                text = Value::Object(all).to_string().into_bytes();
            }
            let own = self.home().join(path);
            own.parent().map_or(Ok(()), fs::create_dir)?;
            fs::replace(&own, &text, Some(fs::PRIVATE))?;
        }
        Ok(())
    }

    /// The branch of the main checkout, where work is to land, and its commit.
    fn base(&self, git: &Git) -> Result<Option<(String, String)>> {
        let common = Git::find(&self.env)?.common(&self.common_dir)?;
        let name = common.cmd(&self.common_dir).args(["symbolic-ref", "-q", "HEAD"]).capture()?.text();
        if !name.starts_with("refs/heads/") {
            return Ok(None);
        }
        let tip = git.text(&self.worktree, &["rev-parse", "-q", "--verify", &format!("{name}^{{commit}}")])?;
        Ok((!tip.is_empty()).then_some((name, tip)))
    }

    /// Copies files that git keeps, as they are.
    fn copy(&self, from: &Path, to: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Result<()> {
        for name in fs::list(from)?.iter().filter(|name| name.to_str().is_some_and(is_wanted)) {
            if let Some(text) = fs::read_no_follow(&from.join(name))? {
                fs::create_dir(to)?;
                fs::replace(&to.join(name), &text, None)?;
            }
        }
        Ok(())
    }

    /// Copies the person's hooks, which run inside then; not ours, which need what is outside.
    fn copy_hooks(&self, to: &Path) -> Result<()> {
        let from = self.common_dir.join("hooks");
        let is_hook = |name: &str| {
            let meta = from.join(name).symlink_metadata();
            !name.contains('.') && meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o100 != 0)
        };
        for name in fs::list(&from)?.iter().filter(|name| name.to_str().is_some_and(is_hook)) {
            let text = fs::read_no_follow(&from.join(name))?.unwrap_or_default();
            let shown = String::from_utf8_lossy(&text);
            if ![crate::git_hook::FINGERPRINT, "# worker-ctl: "].iter().any(|ours| shown.contains(ours)) {
                fs::replace(&to.join(name), &text, Some(0o755))?;
            }
        }
        Ok(())
    }

    fn refuse_unknown(&self, git: &Git, settings: &[Setting]) -> Result<()> {
        let refuse =
            |what: &str, hint: &str| Err(NO_SANDBOX.failure(format!("{} {what}", self.worktree.display())).hint(hint));
        let is_partial = |(key, value): &Setting| {
            key == "extensions.partialclone"
                || (key.ends_with(".promisor") && value.as_deref() != Some(OsStr::new("false")))
        };
        if settings.iter().any(is_partial) {
            return refuse(
                "belongs to a partial clone, whose objects a contained agent cannot fetch",
                "clone it whole, without `--filter`",
            );
        }
        let entries = git.index_entries(&self.worktree, LOOK_LIMIT)?;
        let has_links = entries.each().any(|(about, _)| about.starts_with(b"160000 "));
        if !self.settings.gitlinks && (has_links || self.worktree.join(".gitmodules").symlink_metadata().is_ok()) {
            return refuse(
                "has submodules, which a contained agent cannot fetch",
                &format!("set `gitlinks = true` in {} to go on without them", self.settings.table),
            );
        }
        match UNDER_WAY.iter().find(|name| self.record.join(name).exists()) {
            Some(name) => refuse(&format!("is in the middle of something ({name})"), "finish or abort it there first"),
            None => Ok(()),
        }
    }

    /// Fails, kind `tampered`, unless the worktree's `.git` is a file of one name that leads to its record.
    fn require_own_dot_git(&self) -> Result<()> {
        let dot_git = self.worktree.join(".git");
        let meta = dot_git.symlink_metadata().map_err(|e| Failure::failed("cannot read a .git file").because(e))?;
        if meta.is_file() && meta.nlink() == 1 {
            return Ok(());
        }
        Err(Failure::new(
            crate::error::Exit::Failed,
            "tampered",
            format!("{} is not the file that git made", dot_git.display()),
        )
        .hint("look at it: it must be one regular file with a single name"))
    }
}

fn is_taken((key, value): &Setting) -> bool {
    // Hooks in the worktree run inside, too. Any others are not there.
    let has_hooks = key == "core.hookspath" && value.as_ref().is_some_and(|path| Path::new(path).is_relative());
    has_hooks || TAKEN.iter().any(|taken| key == taken || taken.ends_with('.') && key.starts_with(taken))
}
