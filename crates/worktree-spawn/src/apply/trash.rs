//! Keeping what a forced removal destroys: a commit of all files that are not ignored, under a ref of its own.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{
    self, FreshIndex, Git, OPERATION_HEADS, answer, commits_to_pick, named_commits, nul_fields, run_git,
};
use shopfloor_core::proc::Output;

use crate::agent_in_worktree::KnownAgent;
use crate::facts::merged_commits::commit_cmd;
use crate::facts::repository;
use crate::failure;
use crate::repository_view::Place;

/// Keeps a worktree's HEAD, index and changes, and returns the ref.
pub fn keep(env: &Env, git: &Git, place: &Place, known: &KnownAgent) -> Result<String> {
    let dir = &known.worktree.path;
    let git = &known.worktree.git(git, place)?;
    let head = answer("rev-parse", &git.cmd_alone(dir).args(["rev-parse", "HEAD"]).capture()?)?;
    let mut parents = vec![head.clone()];
    // The staged version may be another one.
    let staged = staged_tree(git, dir, |args| git.cmd_alone(dir).args(args.iter().copied()).capture())?;
    if let Some(staged) = &staged {
        parents.push(make_commit(git, dir, &[staged, "-p", &head, "-m", "index"])?);
    }
    let heads = [&OPERATION_HEADS[..], &["REBASE_HEAD", "ORIG_HEAD"]].concat();
    let own = git.own_refs(dir, &known.worktree.git_dir)?;
    let git_dir = &known.worktree.git_dir;
    let others = own.into_iter().chain(commits_to_pick(git_dir)?).chain(git.patches(dir, git_dir)?);
    for sha in named_commits(git_dir, &heads)?.into_iter().chain(others) {
        let found = repository::commit(git, dir, &format!("{sha}^{{commit}}"))?;
        parents.extend(found.filter(|sha| !parents.contains(sha)));
    }
    let tree = snapshot(git, dir)?;
    let message = format!("what {} had when it was removed", known.agent.id);
    let mut args = vec![tree.as_str()];
    for parent in &parents {
        args.extend(["-p", parent.as_str()]);
    }
    args.extend(["-m", &message]);
    let commit = make_commit(git, dir, &args)?;
    keep_commit(env, git, place, known, &commit)
}

fn make_commit(git: &Git, dir: &Path, args: &[&str]) -> Result<String> {
    answer("commit-tree", &commit_cmd(git, dir, args).capture()?)
}

/// The tree of all files that are not ignored, written through an index of its own.
fn snapshot(git: &Git, dir: &Path) -> Result<String> {
    let index = git.own_index()?;
    let with_index = |args: &[&str], input: Vec<u8>| {
        let cmd = git.cmd_alone(dir).var("GIT_INDEX_FILE", index.path());
        answer(args[0], &cmd.args(args.iter().copied()).input(input).capture()?)
    };
    match with_index(&["read-tree", "HEAD"], Vec::new()) {
        // An agent can make a commit whose tree git puts into no index. The commit is kept, and all files that are there.
        Err(failure) if failure::GIT.is_kind_of(&failure) => {}
        read => drop(read?),
    }
    // git must not enter repositories inside, because an agent may have written their configuration.
    let inner = git.inner(dir)?;
    git.add_all(dir, &index, inner.iter().map(|path| path.to_string_lossy().into_owned()))?;
    // A file that is staged although git ignores it.
    let staged = git.ls_files(dir, &["--cached".into(), "--ignored".into(), "--exclude-standard".into()])?;
    let there = staged.iter().filter(|path| !inner.contains(path) && dir.join(path).symlink_metadata().is_ok());
    let there: Vec<u8> = there.flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
    if !there.is_empty() {
        let forced = ["--literal-pathspecs", "add", "--force", "--sparse"];
        with_index(&[&forced[..], &["--pathspec-from-file=-", "--pathspec-file-nul"]].concat(), there)?;
    }
    with_index(&["write-tree"], Vec::new())
}

/// Names the ref under which a removal of this agent kept something last, for a message; nothing if there is none.
pub fn last_of(git: &Git, place: &Place, id: &str) -> Result<String> {
    let git = git.common(&place.common_dir)?;
    let how = ["for-each-ref", "--format=%(refname)", "--sort=-refname", "--count=1"];
    let found = git.cmd(&place.common_dir).args(how).arg(format!("refs/shopfloor/trash/{id}/")).capture()?.text();
    Ok(if found.is_empty() { found } else { format!("; what was kept of {id} last is {found}") })
}

/// Whether the worktree, wherever it is now, has the HEAD and the files that are kept under this ref.
pub fn is_as_kept(git: &Git, dir: &Path, kept: &str) -> Result<bool> {
    let revs = ["HEAD".to_owned(), format!("{kept}^1"), format!("{kept}^{{tree}}")];
    let found: Vec<_> = revs.iter().map(|rev| repository::commit(git, dir, rev)).collect::<Result<_>>()?;
    let [head, kept_head, tree] = &found[..] else { return Ok(false) };
    Ok(head == kept_head && tree.as_ref() == Some(&snapshot(git, dir)?))
}

/// Keeps what is staged in a worktree that is not there, and the commit of its HEAD if that is detached.
pub fn keep_lost(env: &Env, git: &Git, place: &Place, known: &KnownAgent) -> Result<Option<String>> {
    let (dir, record) = (&place.common_dir, &known.worktree.git_dir);
    let common = &git.common(dir)?;
    let name = known.worktree.branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
    let tip = repository::commit(common, dir, &name.unwrap_or_else(|| git::head_of(record)))?;
    let detached = tip.clone().filter(|_| known.worktree.branch.is_none());
    let of_tip = tip.as_ref().map_or(Ok(None), |tip| repository::commit(common, dir, &format!("{tip}^{{tree}}")))?;
    let staged = tree_of_lost(common, dir, record)?.filter(|tree| Some(tree) != of_tip.as_ref());
    let message = format!("what was staged for {} when it was removed", known.agent.id);
    let commit = match &staged {
        Some(tree) => {
            let mut args = vec![tree.as_str()];
            args.extend(tip.iter().flat_map(|tip| ["-p", tip.as_str()]));
            args.extend(["-m", &message]);
            Some(make_commit(common, dir, &args)?)
        }
        None => detached,
    };
    commit.map(|commit| keep_commit(env, git, place, known, &commit)).transpose()
}

/// The tree of what is staged, by git commands that use the index; in a conflict, of which git writes none, one with a
/// directory for each stage. None if git cannot read the index, or objects are missing.
fn staged_tree(git: &Git, dir: &Path, ask: impl Fn(&[&str]) -> Result<Output>) -> Result<Option<String>> {
    let written = ask(&["write-tree"])?;
    if written.status.success() {
        return Ok(Some(written.text()));
    }
    let listed = ask(&["ls-files", "--stage", "-z"])?;
    if !listed.status.success() {
        return Ok(None);
    }
    // `MODE OBJECT STAGE<TAB>PATH`
    let in_its_stage = |entry: &[u8]| {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        let (about, stage) = entry[..tab].split_at_checked(tab.checked_sub(1)?)?;
        Some([about, b"0\t", stage, b"/", &entry[tab + 1..], b"\0"].concat())
    };
    let entries = nul_fields(&listed.stdout).filter_map(in_its_stage).flatten().collect();
    let tree = FreshIndex::with(git, dir, entries)?.ask(&["write-tree"], Vec::new());
    Ok(tree.ok().map(|tree| String::from_utf8_lossy(&tree).trim().to_owned()))
}

/// The tree of what is staged by the index of a worktree that is not there; if there is none, a tree with the index itself.
fn tree_of_lost(git: &Git, dir: &Path, record: &Path) -> Result<Option<String>> {
    let Some(bytes) = fs::read_own(&record.join("index"))? else { return Ok(None) };
    // git would write through a link in its place.
    let copy = git.own_index()?;
    fs::replace(copy.path(), &bytes, Some(fs::PRIVATE))?;
    // What a split index shares with others lies in the record.
    let is_split = fs::list(record)?.iter().any(|name| name.as_bytes().starts_with(b"sharedindex."));
    if is_split {
        git::require_sound(record)?;
    }
    let git_dir = if is_split { record } else { dir };
    let ask = |args: &[&str]| {
        let cmd = git.cmd_alone(dir).var("GIT_DIR", git_dir).var("GIT_INDEX_FILE", copy.path());
        cmd.args(args.iter().copied()).capture()
    };
    if let Some(tree) = staged_tree(git, dir, ask)? {
        return Ok(Some(tree));
    }
    let blob = git.cmd_alone(dir).args(["hash-object", "-w", "--stdin"]).input(bytes).capture()?;
    let entry = format!("100644 blob {}\tindex\n", answer("hash-object", &blob)?);
    answer("mktree", &git.cmd_alone(dir).arg("mktree").input(entry.into_bytes()).capture()?).map(Some)
}

/// Puts commits that no ref has any more under a new one.
pub fn keep_commits(env: &Env, git: &Git, place: &Place, known: &KnownAgent, commits: &[String]) -> Result<()> {
    let commit = match commits {
        [] => return Ok(()),
        [only] => only.clone(),
        [first, ..] => {
            let (tree, message) = (format!("{first}^{{tree}}"), format!("commits of {}", known.agent.id));
            let parents = commits.iter().flat_map(|commit| ["-p", commit.as_str()]);
            let args: Vec<&str> = [tree.as_str()].into_iter().chain(parents).chain(["-m", message.as_str()]).collect();
            make_commit(&git.common(&place.common_dir)?, &place.common_dir, &args)?
        }
    };
    keep_commit(env, git, place, known, &commit).map(drop)
}

/// Puts a commit under a new ref.
pub fn keep_commit(env: &Env, git: &Git, place: &Place, known: &KnownAgent, commit: &str) -> Result<String> {
    let time = env.later().now.strftime("%Y%m%dT%H%M%S.%3fZ").to_string();
    let name = format!("refs/shopfloor/trash/{}/{time}", known.agent.id);
    // The ref must be new, so that nothing kept earlier is replaced.
    let null = "0".repeat(commit.len());
    git::require_plain_ref(&place.common_dir, &name)?;
    let git = git.common(&place.common_dir)?;
    let kept = run_git("update-ref", git.cmd(&place.common_dir).args(["update-ref", &name, commit, &null]));
    let kept = kept.map_err(|failure| git::ref_failure(&place.common_dir, &name, failure));
    kept.map_err(|failure| Failure { message: format!("cannot keep the changes: {}", failure.message), ..failure })?;
    Ok(name)
}
