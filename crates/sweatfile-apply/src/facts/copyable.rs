//! What of the main checkout can be copied so that it works in another worktree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Why a virtual environment of Python is not copied: pip in a copy would change the original.
pub const ENVIRONMENT: &str =
    "it is a virtual environment, whose programs name the main checkout; let a set-up command make one";

/// The virtual environment that a path is in, if it is in one; both below the checkout.
pub fn environment<'p>(checkout: &Path, path: &'p Path) -> Option<&'p Path> {
    path.ancestors().skip(1).find(|dir| checkout.join(dir).join("pyvenv.cfg").exists())
}

/// Whether a link can be made in the worktree, too: it does not lead out of it, and leads to something that is copied
/// along or is there already. It goes up only at its beginning: behind a name that is itself a link, `..` could lead
/// anywhere.
pub fn stays(worktree: &Path, path: &Path, target: &Path, copied: &BTreeSet<PathBuf>) -> bool {
    let up = target.components().take_while(|part| *part == Component::ParentDir).count();
    let down: PathBuf = target.components().skip(up).collect();
    let goes_down = down.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let Some(place) = path.ancestors().nth(up + 1).filter(|_| goes_down).map(|above| above.join(down)) else {
        return false;
    };
    place.ancestors().any(|above| copied.contains(above))
        || copied.range(place.clone()..).next().is_some_and(|first| first.starts_with(&place))
        || worktree.join(&place).symlink_metadata().is_ok()
}

/// Says once for each directory which links are left out.
pub fn name_left(left: impl IntoIterator<Item = PathBuf>, warnings: &mut Vec<String>) {
    let mut by_dir: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for link in left {
        let top = link.iter().next().map(Path::new).unwrap_or(&link).to_path_buf();
        by_dir.entry(top).or_default().push(link);
    }
    for (dir, mut links) in by_dir {
        links.sort();
        let (shown, first, more) = (dir.display(), links[0].display(), links.len() - 1);
        warnings.push(match more {
            0 => format!("{first} is not copied: the link leads out of what is copied"),
            _ => format!("{first} and {more} more links in {shown} are not copied: they lead out of what is copied"),
        });
    }
}
