//! Files of the source that git knows nothing of, and every worktree gets: never committed, never a way out of the source.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Content, Root, Staging};
use shopfloor_core::git::{Git, private_dir};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::ui::printable;

use crate::layout;
use crate::settings::{CopiedFile, CopyMode};
use crate::site::Site;

/// Brings them into a worktree; what the source has not is left out. Exit 2 where a path leads out.
pub fn bring(site: &Site<'_>, worktree: &Path) -> Result<()> {
    let copies = &site.root.config.repo.copy;
    if copies.is_empty() {
        return Ok(());
    }
    let source = Root::open(&site.source())?;
    let there = Root::open(worktree)?;
    let private = private_dir(worktree).ok_or_else(|| Failure::failed("the worktree has no git directory"))?;
    let record = layout::private(&private).join("copies.json");
    let mut brought: Brought =
        fs::read_own(&record)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    brought.version = 1;
    let staging = Staging::open(&private, &there)?;
    exclude(site, &copies.iter().map(|copy| Ok(paths(copy)?.1)).collect::<Result<Vec<_>>>()?)?;
    for copy in copies {
        let (from, to) = paths(copy)?;
        let name = to.as_path().to_string_lossy().into_owned();
        let tracked = site.clone.run(worktree, &["--literal-pathspecs", "ls-files", "--", &name])?;
        if !tracked.stdout.is_empty() {
            site.ui.warn(format!("{} is tracked, so it is not copied", printable(&name)));
            continue;
        }
        let Some((bytes, mode)) = source.read_whole(&from)? else { continue };
        let target = source.join(&from);
        let wanted = match copy.mode {
            CopyMode::Copy => Content::File(Digest::of(&bytes)),
            CopyMode::Link => Content::Link(target.clone()),
        };
        let staged = || match copy.mode {
            CopyMode::Copy => staging.file(&there, &to, &bytes, Some(mode)),
            CopyMode::Link => staging.link(&there, &to, &target),
        };
        match there.content(&to)? {
            None => drop(staged()?.place(&there, &to)?),
            Some(have) if have == wanted => {}
            // What somebody changed here is somebody's work.
            Some(have) if brought.files.get(&name) == Some(&mark(&have)) => {
                staged()?.swap(&there, &to, &have)?;
            }
            Some(_) => {
                site.ui.warn(format!("{} was changed in {}, so it stays", printable(&name), worktree.display()));
                continue;
            }
        }
        brought.files.insert(name, mark(&wanted));
    }
    let text = serde_json::to_string(&brought).map_err(|e| Failure::failed("cannot write it down").because(e))?;
    fs::create_private_dir(&layout::private(&private))?;
    fs::replace(&record, format!("{text}\n").as_bytes(), Some(fs::PRIVATE))
}

/// What was brought where, as it was then.
#[derive(Default, Serialize, Deserialize)]
struct Brought {
    version: u64,
    files: BTreeMap<String, String>,
}

fn mark(content: &Content) -> String {
    match content {
        Content::File(digest) | Content::Tree(digest) => digest.to_string(),
        Content::Link(target) => format!("link {}", target.display()),
    }
}

fn paths(copy: &CopiedFile) -> Result<(RelPath, RelPath)> {
    let parse = |text: &str| {
        RelPath::parse(text).map_err(|e| {
            Failure::malformed(format!("`copy` in config.toml: {}", e.0)).hint("name a file below the source")
        })
    };
    Ok((parse(&copy.from)?, parse(copy.to.as_ref().unwrap_or(&copy.from))?))
}

/// In the clone's own list, so that no `git add -A` takes it in.
fn exclude(site: &Site<'_>, paths: &[RelPath]) -> Result<()> {
    let there = site.env.at(&site.root.path)?;
    let repo = Git::find(&there)?.discover()?;
    repo.rewrite_exclude(|before| {
        let mut text = before.to_vec();
        for line in paths.iter().map(RelPath::pattern) {
            if text.split(|b| *b == b'\n').any(|known| known == line.as_bytes()) {
                continue;
            }
            if !text.is_empty() && !text.ends_with(b"\n") {
                text.push(b'\n');
            }
            text.extend(line.into_bytes());
            text.push(b'\n');
        }
        Ok(text)
    })
}
