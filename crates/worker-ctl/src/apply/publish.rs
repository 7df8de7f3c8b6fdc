//! Work onto the source's default branch: one commit, by compare-and-swap, and never a checkout, reset or stash of
//! anything that is a person's.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{ListedWorktree, failed, private_dir};

use crate::agent::regex;
use crate::clone::{LOGGED, SourceClone, require_source};
use crate::layout;
use crate::plan::accept::Accept;
use crate::site::Site;
use crate::worker::Worker;

/// What is about to be published; found after a kill there is one question: does the source have it?
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Journal {
    pub v: u64,
    pub worker: String,
    pub old: String,
    pub new: String,
    /// The worker's commit that it lands.
    pub work: String,
}

/// The kind of failure of a publication that came too late: once more on what the branch is by now.
pub const MOVED: &str = "moved";

fn pin(worker: &str) -> String {
    format!("refs/shopfloor/accept/{worker}")
}

/// Makes the one commit: author and date of the work, its message without what the agent signs with.
pub fn commit(site: &Site<'_>, worker: &Worker, plan: &Accept, tree: &str, message: Option<&str>) -> Result<String> {
    let Site { clone, root, .. } = site;
    let Accept { base, sha, .. } = plan;
    let dir = &clone.root;
    let range = format!("{base}..{sha}");
    let listed = clone.ask(dir, &["rev-list", "--reverse", "--topo-order", &range])?;
    let first = listed.lines().next().unwrap_or(sha).to_owned();
    let text = match message {
        Some(message) => message.to_owned(),
        None => {
            let read = |sha| clone.ask(dir, &[&["log", "-1", "--format=%B"], &LOGGED[..], &[sha]].concat());
            let messages: Vec<String> = listed.lines().map(read).collect::<Result<_>>()?;
            let strip = root.agent_of(worker)?.strip;
            let strip = strip.iter().map(|pattern| regex(pattern)).collect::<Result<Vec<_>>>()?;
            squashed(&messages, &|line| strip.iter().any(|pattern| pattern.is_match(line)))
        }
    };
    let text = text.trim();
    let prompt = worker.prompt.as_deref().and_then(|prompt| prompt.lines().next()).unwrap_or_default();
    let text = if text.is_empty() { format!("worker {}: {prompt}", worker.name) } else { text.to_owned() };
    let about = clone.ask(dir, &[&["log", "-1", "--format=%an%x00%ae%x00%aI"], &LOGGED[..], &[&first]].concat())?;
    let mut about = about.split('\0');
    let mut next = || about.next().unwrap_or_default().to_owned();
    let cmd = clone
        .git
        .cmd(dir)
        .var("GIT_AUTHOR_NAME", next())
        .var("GIT_AUTHOR_EMAIL", next())
        .var("GIT_AUTHOR_DATE", next());
    let made =
        cmd.args(["commit-tree", tree, "-p", base, "-F", "-"]).input(format!("{text}\n").into_bytes()).capture()?;
    if !made.status.success() {
        return Err(failed("commit-tree", &made));
    }
    Ok(String::from_utf8_lossy(&made.stdout).trim().to_owned())
}

/// One message of several commits: the oldest one's, the subjects of the others, everybody's sign-offs; nothing that an
/// agent signs with.
fn squashed(messages: &[String], is_stripped: &dyn Fn(&str) -> bool) -> String {
    let kept: Vec<String> = messages
        .iter()
        .map(|text| text.lines().filter(|line| !is_stripped(line)).collect::<Vec<_>>().join("\n").trim().to_owned())
        .collect();
    let Some((first, others)) = kept.split_first() else { return String::new() };
    let (body, mut trailers) = match first.rsplit_once("\n\n") {
        Some((body, last)) if last.lines().all(is_trailer) => (body, last.lines().collect::<Vec<_>>()),
        _ => (first.as_str(), Vec::new()),
    };
    let subjects: Vec<String> = others.iter().filter_map(|text| Some(format!("- {}", text.lines().next()?))).collect();
    for line in others.iter().flat_map(|text| text.lines()).filter(|line| line.starts_with("Signed-off-by: ")) {
        if !trailers.contains(&line) {
            trailers.push(line);
        }
    }
    let parts = [body.trim_end().to_owned(), subjects.join("\n"), trailers.join("\n")];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn is_trailer(line: &str) -> bool {
    line.split_once(": ")
        .is_some_and(|(key, _)| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'))
}

/// Remembers what is about to land, so that after a kill the rest can be done.
pub fn begin(clone: &SourceClone, plan: &Accept, new: &str) -> Result<()> {
    let Accept { name, sha, base, .. } = plan.clone();
    clone.ask(&clone.root, &["update-ref", &pin(&name), new])?;
    let path = layout::journal(&clone.root, &name);
    let journal = Journal { v: 1, worker: name, old: base, new: new.to_owned(), work: sha };
    let text = serde_json::to_string(&journal).map_err(|e| Failure::failed("cannot write a journal").because(e))?;
    fs::create_private_dir(&layout::journals(&clone.root))?;
    fs::replace(&path, format!("{text}\n").as_bytes(), Some(fs::PRIVATE))
}

/// Publishes `new` on top of the commit it was made for. Exit 1 when the branch has moved, or somebody's changes are in the way: then nothing
/// has changed.
pub fn publish(clone: &SourceClone, source: &Path, plan: &Accept, new: &str) -> Result<()> {
    begin(clone, plan, new)?;
    let name = pin(&plan.name);
    let refspec = format!("+{name}:{name}");
    let root = clone.root.to_string_lossy().into_owned();
    let how = ["--quiet", "--no-write-fetch-head", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"];
    let published = clone
        .ask(source, &[&["fetch"], &how[..], &[&root, &refspec]].concat())
        .and_then(|_| advance(clone, source, &plan.base, new));
    // A ref that stays keeps a commit, and no more.
    clone.run(source, &["update-ref", "-d", &name])?;
    if published.is_err() {
        drop_journal(clone, &plan.name)?;
    }
    published
}

/// Where the source has its default branch checked out.
fn checked_out(clone: &SourceClone, source: &Path, branch: &str) -> Result<Option<PathBuf>> {
    let refuse = |why: String, hint: &str| Err(Failure::new(Exit::No, "not_published", why).hint(hint));
    let mut found: Option<PathBuf> = None;
    for ListedWorktree { path: at, branch: on, .. } in clone.git.list_worktrees(source)? {
        if private_dir(&at).is_some_and(|dir| holds_branch(&dir, clone, branch)) {
            let why = format!("{} is being rebased or bisected at {}", clone.branch, at.display());
            return refuse(why, "finish that, then run the same command again");
        }
        if on.as_ref() == Some(&clone.branch)
            && let Some(other) = found.replace(at.clone())
        {
            let why = format!("{} is checked out at {} and at {}", clone.branch, other.display(), at.display());
            return refuse(why, "leave it checked out in one place");
        }
    }
    let Some(mut at) = found else { return Ok(None) };
    let is_there = |at: &Path| {
        private_dir(at).is_some() && clone.branch_of(at).is_ok_and(|on| on.as_deref() == Some(&clone.branch))
    };
    // git tells the git directory where that is elsewhere than the checkout.
    if !is_there(&at) && is_there(source) {
        at = source.to_owned();
    }
    if !is_there(&at) {
        let why = format!("{} is checked out at {}, which cannot be reached", clone.branch, at.display());
        return refuse(why, "bring that back, or `git worktree prune` in the source");
    }
    Ok(Some(at))
}

/// Whether a rebase or a bisection under way in a worktree is of the branch.
fn holds_branch(git_dir: &Path, clone: &SourceClone, branch: &str) -> bool {
    let says = |file: &str| {
        let text = fs::read(&git_dir.join(file)).ok().flatten().unwrap_or_default();
        String::from_utf8_lossy(&text).trim().to_owned()
    };
    ["rebase-merge/head-name", "rebase-apply/head-name"].iter().any(|file| says(file) == branch)
        || says("BISECT_START") == clone.branch
}

fn advance(clone: &SourceClone, source: &Path, old: &str, new: &str) -> Result<()> {
    let branch = format!("refs/heads/{}", clone.branch);
    let moved = || {
        let why = format!("{} of the source has moved", clone.branch);
        Failure::new(Exit::No, MOVED, why).hint("run the same command again")
    };
    let now = || clone.commit(source, &branch);
    if now()?.as_deref() != Some(old) {
        return Err(moved());
    }
    let done = match checked_out(clone, source, &branch)? {
        // git refuses where a changed file is in the way, and leaves every other change alone.
        Some(at) => {
            let how = [
                "--no-overwrite-ignore",
                "--ff-only",
                "--no-squash",
                "--commit",
                "--no-autostash",
                "--no-verify-signatures",
                "--no-verify",
            ];
            let merged = clone.run_with_hooks(&at, &[&["merge", "--quiet"], &how[..], &[new]].concat())?;
            (merged, Some(at))
        }
        None => {
            let how = ["update-ref", "-m", "worker-ctl: accept", &branch, new, old];
            (clone.run_with_hooks(source, &how)?, None)
        }
    };
    // A hook of the source may have gone on from there.
    let now = now()?;
    let has_it = now.is_some() && clone.run(source, &["merge-base", "--is-ancestor", new, &branch])?.status.success();
    let said = String::from_utf8_lossy(&done.0.stderr).trim().to_owned();
    match done {
        _ if has_it => Ok(()),
        _ if now.as_deref() != Some(old) => Err(moved()),
        (_, Some(at)) => {
            let why = format!("{} has changes in the way", at.display());
            let hint = "commit or stash those, then run the same command again";
            Err(Failure::new(Exit::No, "not_published", why).because(std::io::Error::other(said)).hint(hint))
        }
        (output, None) => Err(failed("update-ref", &output)),
    }
}

pub fn drop_journal(clone: &SourceClone, worker: &str) -> Result<()> {
    clone.ask(&clone.root, &["update-ref", "-d", &pin(worker)])?;
    // Last: as long as it is there, the rest is done again.
    fs::remove(&layout::journal(&clone.root, worker))
}

/// The workers whose accept has begun and not ended: under way, or left by a kill.
pub fn journals(root: &Path) -> Result<Vec<String>> {
    let names = fs::list(&layout::journals(root))?;
    Ok(names.iter().filter_map(|name| name.to_str()?.strip_suffix(".json").map(str::to_owned)).collect())
}

/// What an accept that a kill left came to: the work and the commit it became, when the source has that, so that the rest
/// is to be done. Else its journal is dropped.
pub fn find_landed(clone: &SourceClone, source: &Path, worker: &str) -> Result<Option<(String, String)>> {
    let Some(bytes) = fs::read_no_follow(&layout::journal(&clone.root, worker))? else { return Ok(None) };
    let journal: Journal = serde_json::from_slice(&bytes).map_err(|e| {
        Failure::failed(format!("{} cannot be read", layout::journal(&clone.root, worker).display()))
            .because(e)
            .hint("move it away; whether that work was accepted the source's log tells")
    })?;
    let branch = format!("refs/heads/{}", clone.branch);
    require_source(source)?;
    clone.run(source, &["update-ref", "-d", &pin(worker)])?;
    let has_it = clone.commit(source, &journal.new)?.is_some()
        && clone.run(source, &["merge-base", "--is-ancestor", &journal.new, &branch])?.status.success();
    if !has_it {
        drop_journal(clone, worker)?;
    }
    Ok(has_it.then_some((journal.work, journal.new)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_messages_become_one() {
        let is_stripped = |line: &str| line.starts_with("Co-authored-by: bot");
        let one =
            |texts: &[&str]| squashed(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), &is_stripped);
        assert_eq!(
            one(&["Add a\n\nWhy.\n\nCo-authored-by: bot <b@x>\nSigned-off-by: A <a@x>\n"]),
            "Add a\n\nWhy.\n\nSigned-off-by: A <a@x>"
        );
        assert_eq!(
            one(&["Add a\n\nSigned-off-by: A <a@x>", "Fix a\n\nmore\n\nSigned-off-by: B <b@x>", "Test a"]),
            "Add a\n\n- Fix a\n- Test a\n\nSigned-off-by: A <a@x>\nSigned-off-by: B <b@x>"
        );
        assert_eq!(one(&["Co-authored-by: bot <b@x>"]), "");
    }
}
