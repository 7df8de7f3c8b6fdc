//! Copies the git-lfs objects of landing work to the source, and looks for the commits of its submodules there: git
//! does neither.

use std::path::{Path, PathBuf};

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Content, Root, Staging};
use shopfloor_core::git::{answer, failed, private_dir, recorded_dir};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::{printable, shell_word};

use crate::context::Context;
use crate::failure;
use crate::work_identity::PLAIN;
use crate::work_repo::common_dir;
use crate::worker::Checkout;

/// The git-lfs objects that `tree` names, `base` does not and the source lacks. Exit 1 when the clone lacks one too, or
/// when only the worker has a commit of a submodule: nobody could check such work out. A host's worker has no checkout here.
pub fn read(ctx: &Context<'_>, place: Option<Checkout<'_>>, base: &str, tree: &str) -> Result<Vec<Digest>> {
    let settings = ["-c", "core.quotePath=false", "-c", "core.attributesFile=/dev/null", "diff"];
    let only = ["-G^(oid sha256:|Subproject commit )", base, tree];
    let diff = ctx.repo.ask(&ctx.repo.top, &[&settings[..], &PLAIN, &only].concat())?;
    if diff.is_empty() {
        return Ok(Vec::new());
    }
    let (own, there) = stores(ctx)?;
    let (mut path, mut oids) = ("", Vec::new());
    for line in diff.lines() {
        if let Some(name) = line.strip_prefix("+++ ") {
            // git quotes odd names, and puts a tab after a name with blanks.
            let name = name.trim_end_matches('\t').trim_matches('"');
            path = name.strip_prefix("b/").unwrap_or(name);
        } else if let Some(sha) = line.strip_prefix("+Subproject commit ") {
            place.map_or(Ok(()), |place| refuse_lone(ctx, place, path, sha))?;
        } else if let Some(oid) = line.strip_prefix("+oid sha256:").and_then(Digest::parse)
            && !has(&there, &oid)?
        {
            if has(&own, &oid)? {
                oids.push(oid);
            } else if !diff.contains(&format!("\n-oid sha256:{oid}\n")) {
                // The base does not have it under another name.
                refuse_lost(ctx, place, (tree, path))?;
            }
        }
    }
    Ok(oids)
}

/// Exit 1 when git-lfs handles the file. Another file may look like a pointer and be none.
fn refuse_lost(ctx: &Context<'_>, place: Option<Checkout<'_>>, (tree, path): (&str, &str)) -> Result<()> {
    let asked = match place {
        Some(place) => ctx.repo.run(place.tree, &["check-attr", "-z", "filter", "--", path])?,
        // git before 2.40 does not know that option; then the file counts as one.
        None => ctx.repo.run(&ctx.repo.top, &["check-attr", "--source", tree, "-z", "filter", "--", path])?,
    };
    if place.is_some() && !asked.status.success() {
        return Err(failed("check-attr", &asked));
    }
    if asked.status.success() && !asked.text().ends_with("\0lfs\0") {
        return Ok(());
    }
    let why = format!("neither the clone nor the source has the git-lfs object of {}", printable(path));
    let hint = "run `git lfs fetch --all` in the source if a server has it, or have the file's content committed again";
    Err(failure::LFS.failure(why).hint(hint))
}

/// Exit 1 when the worker has a commit of a submodule that none of its remotes and not the source has.
fn refuse_lone(ctx: &Context<'_>, place: Checkout<'_>, path: &str, sha: &str) -> Result<()> {
    let (repo, tree) = (&ctx.repo, place.tree);
    repo.path_in(tree, path.as_bytes())?;
    // A submodule that was taken out of the worktree again leaves its repository.
    let left = recorded_dir(&repo.common, tree)?.map(|dir| dir.join("modules").join(path)).filter(|dir| dir.is_dir());
    let Some(own) = private_dir(&tree.join(path)).or(left) else { return Ok(()) };
    // An agent writes its submodules' configuration. So git reads only objects there, and refs as a fetch does.
    let finds = |git_dir: &Path, revisions: &[&str]| -> Result<bool> {
        let cmd = repo.cmd(&repo.top)?.var("GIT_OBJECT_DIRECTORY", git_dir.join("objects"));
        let output = cmd.args(["rev-list", "-n1"]).args(revisions.iter().copied()).capture()?;
        Ok(output.status.success() && !output.stdout.is_empty())
    };
    let asked = repo.git.fetching(&repo.top).args(["ls-remote", "--quiet"]).arg(&own).arg("refs/remotes/*");
    let listed = answer("ls-remote", &asked.capture()?)?;
    let tips: Vec<&str> = listed.lines().filter_map(|line| Some(line.split_once('\t')?.0)).collect();
    let there = ctx.source().join(path);
    let is_sha = sha.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_sha
        || !finds(&own, &[&[sha, "--not"], &tips[..]].concat())?
        || private_dir(&there).map(|dir| finds(&dir, &["--no-walk", sha])).transpose()? == Some(true)
    {
        return Ok(());
    }
    let Checkout { worker: name, branch, .. } = place;
    let why = format!("only {name} has the commit {sha} of the submodule {}", printable(path));
    let next = match private_dir(&there) {
        Some(_) => {
            let refspec = shell_word(format!("{sha}:refs/heads/{branch}").as_ref());
            format!("git -C {} fetch {} {refspec}", shell_word(&there), shell_word(&own))
        }
        None => format!("git clone {} {}", shell_word(&tree.join(path)), shell_word(&there)),
    };
    Err(failure::SUBMODULE
        .failure(why)
        .hint(format!("run `{next}`, or ask {name} to push that commit; then run the same command again")))
}

/// The stores of git-lfs: the clone's, which agents write to, and the source's, which a person may have put elsewhere.
fn stores(ctx: &Context<'_>) -> Result<(PathBuf, PathBuf)> {
    let (own, source) = (ctx.repo.common.join("lfs"), ctx.source());
    fs::refuse_link(&own)?;
    let storage = ["config", "--type=path", "--default", "lfs", "--get", "lfs.storage"];
    Ok((own, common_dir(&source).join(ctx.repo.ask(&source, &storage)?)))
}

/// The path of an object in a store.
fn path_of(oid: &Digest) -> Result<RelPath> {
    let hex = oid.to_string();
    RelPath::parse(&format!("objects/{}/{}/{hex}", &hex[..2], &hex[2..4])).map_err(|e| Failure::failed(e.0))
}

fn has(store: &Path, oid: &Digest) -> Result<bool> {
    Ok(store.is_dir() && Root::open(store)?.open_regular(&path_of(oid)?)?.is_some())
}

/// Copies these objects of the clone to the source. Exit 1 at one that is not what its name says.
pub fn copy(ctx: &Context<'_>, oids: &[Digest]) -> Result<()> {
    if oids.is_empty() {
        return Ok(());
    }
    let (own, there) = stores(ctx)?;
    fs::create_dir(&there)?;
    let (from, to, staging) = (Root::open(&own)?, Root::open(&there)?, Staging::beside());
    for oid in oids {
        let path = path_of(oid)?;
        let damaged = || {
            failure::LFS
                .failure(format!("{} is damaged", from.join(&path).display()))
                .hint("move it away, and have the file's content committed again")
        };
        let (mut file, _) = from.open_regular(&path)?.ok_or_else(damaged)?;
        staging.sweep_beside(&to, std::iter::once(&path))?;
        let staged = staging.file_from(&to, &path, &mut file)?;
        if staged.written() != Some(&Content::File(*oid)) {
            return Err(damaged());
        }
        staged.place(&to, &path)?;
    }
    Ok(())
}

/// Copies all objects of the clone that the source lacks.
pub fn copy_all(ctx: &Context<'_>) -> Result<()> {
    let (own, there) = stores(ctx)?;
    let files = if own.is_dir() { Root::open(&own)?.files(&[])?.files } else { Vec::new() };
    let mut oids = Vec::new();
    for oid in files.iter().filter_map(|file| Digest::parse(file.name().to_str()?)) {
        if has(&own, &oid)? && !has(&there, &oid)? {
            oids.push(oid);
        }
    }
    copy(ctx, &oids)
}
