//! The state of what a step of set-up depends on.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

use shopfloor_core::error::Result;
use shopfloor_core::fs::Content;
use shopfloor_core::path::RelPath;

use super::files::content_of;
use crate::setup_step::SetupStep;
use crate::worktree::OpenWorktree;

/// What an input is that is not there.
const MISSING: &str = "missing";

/// The inputs of a step, each with what identifies its content. A pattern stands for the files that match it and that git
/// tracks or does not ignore.
pub fn read(worktree: &OpenWorktree, step: &SetupStep) -> Result<BTreeMap<String, String>> {
    let mut inputs = BTreeMap::new();
    for input in &step.inputs {
        if input.contains(['*', '?', '[']) {
            let pattern = format!(":(glob){input}");
            let options = ["-c", "-o", "--exclude-standard", "--", &pattern].map(Into::into);
            let found = worktree.git.ls_files(&worktree.path, &options)?;
            let found = found.iter().filter_map(|path| RelPath::parse_os(path.as_os_str()).ok());
            inputs.extend(found.map(|path| (path.to_string(), state(worktree, &path))));
        } else if let Ok(path) = RelPath::parse(input.trim_end_matches('/')) {
            inputs.insert(input.clone(), state(worktree, &path));
        }
    }
    Ok(inputs)
}

/// Of a larger file its size and time count.
const LARGE: u64 = 64 << 20;

fn state(worktree: &OpenWorktree, path: &RelPath) -> String {
    if let Ok(meta) = worktree.root.join(path).metadata()
        && meta.is_file()
        && meta.len() > LARGE
    {
        return format!("{} bytes of {}.{}", meta.len(), meta.mtime(), meta.mtime_nsec());
    }
    match worktree.root.content(path) {
        Ok(None) => MISSING.into(),
        Ok(Some(Content::File(digest) | Content::Tree(digest))) => digest.to_string(),
        // What a file behind a link has counts. A directory behind one may be anything, and as large as that.
        Ok(Some(Content::Link(target))) => {
            let behind = worktree.root.join(path);
            let is_file = behind.metadata().is_ok_and(|meta| meta.is_file());
            match is_file.then(|| content_of(&behind)) {
                Some(Ok(Content::File(digest))) => digest.to_string(),
                _ => format!("a link to {}", target.display()),
            }
        }
        Err(failure) => failure.to_string(),
    }
}
