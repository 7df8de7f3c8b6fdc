//! The files of a new worktree through gix: what `git worktree add` would have written, proven by a test over
//! generated repositories. Everything that could come out differently is left to git.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use gix::bstr::ByteSlice;
use shopfloor_core::env::Env;
use shopfloor_core::fs;
use shopfloor_core::git::LOCAL_VARS;

/// Attributes that say nothing about what a file looks like in a worktree, or what both agree on.
const KNOWN: [&str; 9] =
    ["text", "eol", "binary", "diff", "merge", "whitespace", "conflict-marker-size", "delta", "encoding"];

/// The same by their beginning.
const KNOWN_BEGINNINGS: [&str; 2] = ["linguist-", "export-"];

/// Sections and settings that change what a checkout does, or what an index looks like.
const UNUSUAL: [&str; 15] = [
    "core.sparseCheckout",
    "core.autocrlf",
    "core.eol",
    "core.ignoreCase",
    "core.precomposeUnicode",
    "core.checkStat",
    "core.trustctime",
    "core.splitIndex",
    "core.fsmonitor",
    "core.untrackedCache",
    "core.bigFileThreshold",
    "core.sharedRepository",
    "index.sparse",
    "index.version",
    "feature.manyFiles",
];

/// Does it, and says whether; `false` leaves a tree git can write over.
pub fn checkout(
    env: &Env,
    tree: &Path,
    interrupted: &AtomicBool,
) -> Result<bool, Box<dyn std::error::Error + Send + Sync>> {
    // A hook's variables speak of another repository, and gix would listen to them.
    if LOCAL_VARS.iter().any(|name| env.var(name).is_some()) {
        return Ok(false);
    }
    let repo = gix::open(tree)?;
    if is_unusual(&repo) {
        return Ok(false);
    }
    let root = repo.head_tree_id()?;
    let state = repo.index_from_tree(&root)?;
    let mut index = state;
    if !entries_are_plain(&repo, &index)? {
        return Ok(false);
    }
    let mut options = repo.checkout_options(gix::worktree::stack::state::attributes::Source::IdMapping)?;
    options.destination_is_initially_empty = true;
    let (files, bytes) = (gix::progress::Discard, gix::progress::Discard);
    let objects = repo.objects.clone().into_arc()?;
    let outcome = gix::worktree::state::checkout(&mut index, tree, objects, &files, &bytes, interrupted, options)?;
    let is_whole = outcome.errors.is_empty()
        && outcome.collisions.is_empty()
        && outcome.delayed_paths_unknown.is_empty()
        && outcome.delayed_paths_unprocessed.is_empty();
    if !is_whole || interrupted.load(Ordering::SeqCst) {
        return Ok(false);
    }
    index.write(gix::index::write::Options::default())?;
    Ok(true)
}

fn is_unusual(repo: &gix::Repository) -> bool {
    let config = repo.config_snapshot();
    let is_set = |key: &str| config.string(key).is_some_and(|value| value != "false");
    let is_off = |key: &str| config.boolean(key) == Some(false);
    UNUSUAL.iter().any(|key| is_set(key))
        || is_off("core.symlinks")
        || is_off("core.fileMode")
        || config.plumbing().sections_by_name("extensions").is_some_and(|mut sections| {
            sections.any(|section| section.value_names().any(|name| !name.eq_ignore_ascii_case("worktreeconfig")))
        })
}

/// Whether every entry is a file or a link, and nothing is smudged.
fn entries_are_plain(
    repo: &gix::Repository,
    index: &gix::index::File,
) -> Result<bool, Box<dyn std::error::Error + Send + Sync>> {
    use gix::index::entry::Mode;
    for entry in index.entries() {
        if !(entry.mode == Mode::FILE || entry.mode == Mode::FILE_EXECUTABLE || entry.mode == Mode::SYMLINK) {
            return Ok(false);
        }
        let path = entry.path(index);
        if (path == ".gitattributes" || path.ends_with(b"/.gitattributes"))
            && (entry.mode == Mode::SYMLINK || !attributes_are_plain(&repo.find_object(entry.id)?.data))
        {
            return Ok(false);
        }
    }
    let config = repo.config_snapshot();
    let named = config.trusted_path("core.attributesFile")?;
    let info = repo.common_dir().join("info/attributes");
    for path in named.into_iter().chain([info]) {
        if fs::read_text(&path)?.is_some_and(|text| !attributes_are_plain(&text)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether all attributes in a file are known ones.
fn attributes_are_plain(text: &[u8]) -> bool {
    text.lines().all(|line| {
        let line = line.trim();
        if line.is_empty() || line.starts_with(b"#") {
            return true;
        }
        // A macro could hide anything, a quoted pattern the attributes behind it.
        if line.starts_with(b"[") || line.starts_with(b"\"") {
            return false;
        }
        let words = line.fields().skip(1);
        words.map(|word| word.trim_start_with(|c| c == '-' || c == '!')).all(|word| {
            let name = word.split(|b| *b == b'=').next().unwrap_or(word);
            KNOWN.iter().any(|known| name == known.as_bytes())
                || KNOWN_BEGINNINGS.iter().any(|known| name.starts_with(known.as_bytes()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_that_smudge_are_left_to_git() {
        for plain in
            ["", "# x\n", "* text=auto\n*.bat eol=crlf\n*.png binary -diff\n", "docs/** linguist-documentation\n"]
        {
            assert!(attributes_are_plain(plain.as_bytes()), "{plain}");
        }
        for odd in [
            "*.bin filter=lfs",
            "* ident",
            "*.txt working-tree-encoding=UTF-16",
            "[attr]x filter=y",
            "\"a b\" filter=lfs",
            "* crlf",
        ] {
            assert!(!attributes_are_plain(odd.as_bytes()), "{odd}");
        }
    }
}
