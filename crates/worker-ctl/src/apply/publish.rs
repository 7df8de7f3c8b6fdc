//! Work onto the source's default branch: one commit, by compare-and-swap, and never a checkout, reset or stash of
//! anything that is a person's.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;

use crate::agent::regex;
use crate::facts::{Clone, git_failed};
use crate::root::Root;
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

/// What merging comes to, without touching anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The default branch has all of it.
    Nothing,
    Tree(String),
    Conflict,
}

fn pin(worker: &str) -> String {
    format!("refs/shopfloor/accept/{worker}")
}

fn journal_path(root: &Path, worker: &str) -> PathBuf {
    root.join("accept").join(format!("{worker}.json"))
}

pub fn merge(clone: &Clone, base: &str, sha: &str) -> Result<Merge> {
    let merged = clone.run(&clone.root, &["merge-tree", "--write-tree", "--no-messages", base, sha])?;
    let tree = String::from_utf8_lossy(&merged.stdout).lines().next().unwrap_or_default().to_owned();
    match merged.status.code() {
        0 if tree == clone.ask(&clone.root, &["rev-parse", &format!("{base}^{{tree}}")])? => Ok(Merge::Nothing),
        0 => Ok(Merge::Tree(tree)),
        1 => Ok(Merge::Conflict),
        _ => Err(git_failed("merge-tree", &merged)),
    }
}

/// The one commit: author and date of the work, its message without what the agent signs with.
pub fn commit(
    clone: &Clone,
    root: &Root,
    worker: &Worker,
    tree: &str,
    base: &str,
    sha: &str,
    message: Option<&str>,
) -> Result<String> {
    let dir = &clone.root;
    let range = format!("{base}..{sha}");
    let listed = clone.ask(dir, &["rev-list", "--reverse", &range])?;
    let first = listed.lines().next().unwrap_or(sha).to_owned();
    let text = match message {
        Some(message) => message.to_owned(),
        None => {
            let listed = listed.lines().map(|sha| clone.ask(dir, &["log", "-1", "--format=%B", sha]));
            let messages: Vec<String> = listed.collect::<Result<_>>()?;
            let mut strip = Vec::new();
            for pattern in &root.agent(&worker.agent)?.strip {
                strip.push(regex(pattern)?);
            }
            squashed(&messages, &|line| strip.iter().any(|pattern| pattern.is_match(line)))
        }
    };
    let text = text.trim();
    let prompt = worker.prompt.as_deref().and_then(|prompt| prompt.lines().next()).unwrap_or_default();
    let text = if text.is_empty() { format!("worker {}: {prompt}", worker.name) } else { text.to_owned() };
    let about = clone.ask(dir, &["log", "-1", "--format=%an%x00%ae%x00%aI", &first])?;
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
        return Err(git_failed("commit-tree", &made));
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

/// Publishes `new` on top of `old`. Exit 1 when the branch has moved, or somebody's changes are in the way: then nothing
/// has changed.
pub fn publish(clone: &Clone, source: &Path, worker: &str, work: &str, old: &str, new: &str) -> Result<()> {
    let name = pin(worker);
    clone.ask(&clone.root, &["update-ref", &name, new])?;
    let text = |text: &str| text.to_owned();
    let journal = Journal { v: 1, worker: text(worker), old: text(old), new: text(new), work: text(work) };
    let text = serde_json::to_string(&journal).map_err(|e| Failure::failed("cannot write a journal").because(e))?;
    fs::create_private_dir(&clone.root.join("accept"))?;
    fs::replace(&journal_path(&clone.root, worker), format!("{text}\n").as_bytes(), Some(fs::PRIVATE))?;
    let refspec = format!("{name}:{name}");
    let root = clone.root.to_string_lossy().into_owned();
    clone.ask(source, &["fetch", "--quiet", "--no-write-fetch-head", "--no-tags", &root, &refspec])?;
    let published = advance(clone, source, old, new);
    clone.ask(source, &["update-ref", "-d", &name])?;
    if published.is_err() {
        drop_journal(clone, worker)?;
    }
    published
}

fn advance(clone: &Clone, source: &Path, old: &str, new: &str) -> Result<()> {
    let branch = format!("refs/heads/{}", clone.branch);
    let refuse = |why: String| Failure::new(Exit::No, "not_published", why);
    let moved = || {
        let why = format!("{} of the source has moved", clone.branch);
        Failure::new(Exit::No, MOVED, why).hint("run the same command again")
    };
    let has_moved = || clone.commit(source, &branch).map(|now| now.as_deref() != Some(old));
    if has_moved()? {
        return Err(moved());
    }
    let listed = clone.run(source, &["worktree", "list", "--porcelain", "-z"])?;
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut at = PathBuf::new();
    let mut checked_out = None;
    for field in text.split('\0') {
        if let Some(path) = field.strip_prefix("worktree ") {
            at = PathBuf::from(path);
        } else if field.strip_prefix("branch ") == Some(branch.as_str()) {
            checked_out = Some(at.clone());
        }
        let git_dir = shopfloor_core::git::private_dir(&at);
        let holds = |dir: &Path| {
            let name = fs::read(&dir.join("head-name")).unwrap_or_default().unwrap_or_default();
            String::from_utf8_lossy(&name).trim() == branch
        };
        let is_bisected = |dir: &Path| {
            let start = fs::read(&dir.join("BISECT_START")).unwrap_or_default().unwrap_or_default();
            String::from_utf8_lossy(&start).trim() == clone.branch
        };
        let Some(dir) = git_dir else { continue };
        if holds(&dir.join("rebase-merge")) || holds(&dir.join("rebase-apply")) || is_bisected(&dir) {
            return Err(refuse(format!("{} is being rebased or bisected at {}", clone.branch, at.display()))
                .hint("finish that, then run the same command again"));
        }
    }
    match checked_out {
        // git refuses where a changed file is in the way, and leaves every other change alone.
        Some(at) => {
            let merged = clone.run(&at, &["merge", "--ff-only", "--quiet", "--no-verify", new])?;
            if !merged.status.success() && has_moved()? {
                return Err(moved());
            }
            if !merged.status.success() {
                let said = String::from_utf8_lossy(&merged.stderr).trim().to_owned();
                return Err(refuse(format!("{} has changes in the way", at.display()))
                    .because(std::io::Error::other(said))
                    .hint("commit or stash those, then run the same command again"));
            }
        }
        None => {
            let message = "worker-ctl: accept";
            if !clone.run(source, &["update-ref", "-m", message, &branch, new, old])?.status.success() {
                return Err(moved());
            }
        }
    }
    Ok(())
}

pub fn drop_journal(clone: &Clone, worker: &str) -> Result<()> {
    fs::remove(&journal_path(&clone.root, worker))?;
    clone.ask(&clone.root, &["update-ref", "-d", &pin(worker)]).map(drop)
}

/// The workers whose accept has begun and not ended: under way, or left by a kill.
pub fn journals(clone: &Clone) -> Result<Vec<String>> {
    let names = fs::list(&clone.root.join("accept"))?;
    Ok(names.iter().filter_map(|name| name.to_str()?.strip_suffix(".json").map(str::to_owned)).collect())
}

/// What an accept that a kill left came to: the work and the commit it became, when the source has that, so that the rest
/// is to be done. Else its journal is dropped.
pub fn left_behind(clone: &Clone, source: &Path, worker: &str) -> Result<Option<(String, String)>> {
    let Some(bytes) = fs::read_no_follow(&journal_path(&clone.root, worker))? else { return Ok(None) };
    let journal: Journal = serde_json::from_slice(&bytes).map_err(|e| {
        Failure::failed(format!("{} cannot be read", journal_path(&clone.root, worker).display()))
            .because(e)
            .hint("move it away; whether that work was accepted the source's log tells")
    })?;
    let branch = format!("refs/heads/{}", clone.branch);
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
