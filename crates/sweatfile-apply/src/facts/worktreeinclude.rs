//! `.worktreeinclude`: the git-ignored files of the main checkout that a worktree gets copies of.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use shopfloor_core::error::Result;
use shopfloor_core::fs::{Content, Found, Root};
use shopfloor_core::path::RelPath;
use shopfloor_core::text::shell_word;

use crate::env_file;
use crate::layer::MergedLayers;
use crate::worktree::OpenWorktree;

/// The file's name, at the top of the main checkout; it has gitignore syntax.
const FILE: &str = ".worktreeinclude";

/// The absent files that are asked for, each with its original. A link is made anew, with the same target.
pub type IncludedFiles = BTreeMap<RelPath, (PathBuf, Content)>;

/// Finds the files that match, are ignored in the main checkout, and are absent from the worktree, each with its original,
/// and warns about those that are not copied.
pub fn read(worktree: &OpenWorktree, merged: &MergedLayers, warnings: &mut Vec<String>) -> Result<IncludedFiles> {
    let mut included = IncludedFiles::new();
    let checkout = &worktree.repo.home.checkout;
    if *checkout == worktree.path || !checkout.join(".git").exists() {
        return Ok(included);
    }
    let patterns = patterns(worktree, warnings)?;
    if patterns.is_empty() {
        return Ok(included);
    }
    let matching = worktree.git.ls_files(checkout, &[&["-o".into(), "-i".into()], &patterns[..]].concat())?;
    let matching: BTreeSet<PathBuf> = matching.into_iter().collect();
    let main = Root::open(checkout)?;
    let (mut absent, mut left) = (Vec::new(), Vec::new());
    for path in &matching {
        // git lists a nested repository as `dir/`; names that git knows and we refuse are not copied.
        let Ok(rel) = RelPath::parse_os(path.as_os_str()) else { continue };
        let reserved = rel.to_string().starts_with(env_file::FILE);
        let taken =
            merged.files.keys().any(|entry| entry == &rel || entry.is_parent_of(&rel) || rel.is_parent_of(entry));
        if reserved || taken {
            continue;
        }
        let (found, is_missing) = (main.look(&rel)?, worktree.root.look(&rel)? == Found::Missing);
        match found {
            // Also where the worktree has one of its own: the rest of a virtual environment must not be mixed into that.
            Found::Link(target) if !stays(worktree, path, &target, &matching) => left.push((path.clone(), is_missing)),
            _ if !is_missing => {}
            _ if path.to_str().is_none() => warnings.push(format!("{rel} is not copied: its name is not UTF-8")),
            Found::File(_) | Found::Link(_) => absent.push(path.clone()),
            _ => warnings.push(format!("{rel} is not copied: it is not a regular file")),
        }
    }
    leave_out(&mut absent, left, &matching, warnings);
    let ignored: HashSet<PathBuf> = worktree.git.ignored(checkout, &absent, None)?.into_iter().collect();
    for path in absent.into_iter().filter(|p| ignored.contains(p)) {
        let Ok(rel) = RelPath::parse_os(path.as_os_str()) else { continue };
        match main.content(&rel) {
            Ok(content) => included.extend(content.map(|content| (rel, (checkout.join(&path), content)))),
            Err(why) => warnings.push(format!("{rel} is not copied: {why}")),
        }
    }
    Ok(included)
}

/// The list as arguments of `git ls-files`. Only patterns are read from it, so it may be a link to anywhere.
fn patterns(worktree: &OpenWorktree, warnings: &mut Vec<String>) -> Result<Vec<OsString>> {
    let list = worktree.repo.home.checkout.join(FILE);
    let why = match (list.metadata(), list.symlink_metadata()) {
        (Ok(meta), _) if meta.is_file() => return Ok(vec!["--exclude-from".into(), list.into_os_string()]),
        (Err(_), Err(_)) => {
            // An agent can write the commit that the main checkout is at, so its own file counts alone.
            if worktree.git.sparse_file(&worktree.repo.home, FILE)?.is_some() {
                let checkout = shell_word(&worktree.repo.home.checkout);
                warnings.push(format!(
                    "{FILE} is not read: the main checkout is sparse and leaves it out; `git -C {checkout} sparse-checkout \
                     add /{FILE}` brings it"
                ));
            }
            return Ok(Vec::new());
        }
        (Err(e), _) => e.to_string(),
        (Ok(_), _) => "it is not a file".to_owned(),
    };
    warnings.push(format!("{} is not read: {why}", list.display()));
    Ok(Vec::new())
}

/// Whether a link can be made in the worktree, too: it does not lead out of it, and leads to something that is copied
/// along or is there already. It goes up only at its beginning: behind a name that is itself a link, `..` could lead
/// anywhere.
fn stays(worktree: &OpenWorktree, path: &Path, target: &Path, matching: &BTreeSet<PathBuf>) -> bool {
    let up = target.components().take_while(|part| *part == Component::ParentDir).count();
    let down: PathBuf = target.components().skip(up).collect();
    let goes_down = down.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let Some(place) = path.ancestors().nth(up + 1).filter(|_| goes_down).map(|above| above.join(down)) else {
        return false;
    };
    place.ancestors().any(|above| matching.contains(above))
        || matching.range(place.clone()..).next().is_some_and(|first| first.starts_with(&place))
        || worktree.path.join(&place).symlink_metadata().is_ok()
}

/// Says once for each directory which links are left out. A virtual environment without one of its links would be half a
/// one, so it is left out whole.
fn leave_out(
    absent: &mut Vec<PathBuf>,
    left: Vec<(PathBuf, bool)>,
    matching: &BTreeSet<PathBuf>,
    warnings: &mut Vec<String>,
) {
    let mut by_dir: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    let is_environment = |dir: &&Path| matching.contains(&dir.join("pyvenv.cfg"));
    for (link, is_missing) in left {
        let environment = link.ancestors().find(is_environment);
        if let Some(dir) = environment {
            absent.retain(|path| !path.starts_with(dir));
        }
        let top = environment.or_else(|| link.iter().next().map(Path::new)).unwrap_or(&link).to_path_buf();
        if is_missing {
            by_dir.entry(top).or_default().push(link);
        }
    }
    for (dir, links) in by_dir {
        let (shown, first, more) = (dir.display(), links[0].display(), links.len() - 1);
        warnings.push(if is_environment(&&*dir) {
            format!("{shown} is not copied: it is a virtual environment, and {first} leads out of it")
        } else if more == 0 {
            format!("{first} is not copied: the link leads out of what is copied")
        } else {
            format!("{first} and {more} more links in {shown} are not copied: they lead out of what is copied")
        });
    }
}
