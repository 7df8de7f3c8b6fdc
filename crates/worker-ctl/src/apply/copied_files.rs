//! Copies untracked files of the source into every worktree. They are excluded from git, and a path can never lead out
//! of the source or the worktree.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use shopfloor_core::agents;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Content, Root, Staging};
use shopfloor_core::git::{Git, trust_excludes};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::ui::printable;

use crate::context::Context;
use crate::layout;
use crate::settings::{CopiedFile, CopyMode};

/// Copies the configured files into a worktree, except those that the source does not have. Exit 2 for a path that
/// leads out of the source or the worktree.
pub fn copy_all(ctx: &Context<'_>, worktree: &Path) -> Result<()> {
    let copies = &ctx.root.config.copy;
    // The files of an adopted worktree are the person's own.
    if copies.is_empty() || ctx.repo.is_own {
        return Ok(());
    }
    let source = Root::open(&ctx.source())?;
    let target = Root::open(worktree)?;
    let private = ctx.repo.git_dir(worktree)?;
    let path = layout::private(&private)?.join("copies.json");
    let mut copied: CopiedFiles =
        fs::read_own(&path)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    copied.version = 1;
    let staging = Staging::open(&private, &target)?;
    exclude_patterns(ctx, &copies.iter().map(|copy| Ok(paths(copy)?.1.pattern())).collect::<Result<Vec<_>>>()?)?;
    for copy in copies {
        let (from, to) = paths(copy)?;
        let name = to.as_path().to_string_lossy().into_owned();
        let tracked = ctx.repo.run(worktree, &["--literal-pathspecs", "ls-files", "--", &name])?;
        if !tracked.stdout.is_empty() {
            ctx.ui.warn(format!("{} is tracked, so it is not copied", printable(&name)));
            continue;
        }
        let Some((bytes, mode)) = source.read_whole(&from)? else { continue };
        let origin = source.join(&from);
        let expected = match copy.mode {
            CopyMode::Copy => Content::File(Digest::of(&bytes)),
            CopyMode::Link => Content::Link(origin.clone()),
        };
        let stage = || match copy.mode {
            CopyMode::Copy => staging.file(&target, &to, &bytes, Some(mode)),
            CopyMode::Link => staging.link(&target, &to, &origin),
        };
        match target.content(&to)? {
            None => drop(stage()?.place(&target, &to)?),
            Some(current) if current == expected => {}
            // The file is still as we copied it. A file that was changed in the worktree is the worker's own work.
            Some(current) if copied.files.get(&name) == Some(&fingerprint(&current)) => {
                stage()?.swap(&target, &to, &current)?;
            }
            Some(_) => {
                ctx.ui.warn(format!("{} was changed in {}, so it stays", printable(&name), worktree.display()));
                continue;
            }
        }
        copied.files.insert(name, fingerprint(&expected));
    }
    let text = serde_json::to_string(&copied)
        .map_err(|e| Failure::failed("cannot write the record of copied files").because(e))?;
    fs::create_private_dir(path.parent().unwrap_or(&private))?;
    fs::replace(&path, format!("{text}\n").as_bytes(), Some(fs::PRIVATE))
}

/// The record of the files that were copied into a worktree, with the fingerprint of each at that time.
#[derive(Default, Serialize, Deserialize)]
struct CopiedFiles {
    version: u64,
    files: BTreeMap<String, String>,
}

fn fingerprint(content: &Content) -> String {
    match content {
        Content::File(digest) | Content::Tree(digest) => digest.to_string(),
        Content::Link(target) => format!("link {}", target.display()),
    }
}

fn paths(copy: &CopiedFile) -> Result<(RelPath, RelPath)> {
    let parse = |text: &str| {
        RelPath::parse(text).map_err(|e| {
            Failure::malformed(format!("`copy` in config.toml: {}", e.0)).hint("name a file inside the source")
        })
    };
    Ok((parse(&copy.from)?, parse(copy.to.as_ref().unwrap_or(&copy.from))?))
}

/// Leaves out what an agent's program leaves in its worktree.
pub fn exclude_leftovers(ctx: &Context<'_>, agent: &str) -> Result<()> {
    let leaves = agents::find(agent).map(|program| program.leaves).unwrap_or_default();
    exclude_patterns(ctx, &leaves.iter().map(|pattern| (*pattern).to_owned()).collect::<Vec<_>>())
}

/// Adds patterns to the exclude list of the repository that workers work in, so that `git add -A` leaves these files out.
pub fn exclude_patterns(ctx: &Context<'_>, patterns: &[String]) -> Result<()> {
    if patterns.is_empty() {
        return Ok(());
    }
    let top = if ctx.repo.is_own { ctx.source() } else { ctx.root.path.clone() };
    if !ctx.repo.is_own {
        trust_excludes(&layout::host_git(&ctx.root.path), patterns.iter().map(String::as_bytes))?;
    }
    let repo = Git::find(&ctx.env.at(&top)?)?.discover()?;
    repo.rewrite_exclude(|before| {
        let mut text = before.to_vec();
        for line in patterns {
            if text.split(|b| *b == b'\n').any(|listed| listed == line.as_bytes()) {
                continue;
            }
            if !text.is_empty() && !text.ends_with(b"\n") {
                text.push(b'\n');
            }
            text.extend(line.as_bytes());
            text.push(b'\n');
        }
        Ok(text)
    })
}
