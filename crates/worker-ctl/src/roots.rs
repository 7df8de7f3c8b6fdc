//! Writing the user's own list of roots, and refusing a root that it does not name.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::roots;
use shopfloor_core::text::shell_word;

use crate::failure;

/// Lists a root as the one of this repository; without one, takes the root out of the list.
pub fn record(env: &Env, root: &Path, common: Option<&Path>) -> Result<()> {
    let file = roots::file(env).ok_or_else(|| {
        Failure::usage("there is no place for the list of roots").hint("set HOME and run the command again")
    })?;
    let _lock = Lock::take(&file.with_extension("lock"))?;
    let mut all = roots::load(env)?;
    all.remove(root);
    if let Some(common) = common {
        let common = common.canonicalize().unwrap_or_else(|_| common.to_path_buf());
        [root, &common].into_iter().try_for_each(check)?;
        all.insert(root.to_path_buf(), common);
    }
    let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
    let lines = all.iter().flat_map(|(root, common)| [bytes(root), b"\t".into(), bytes(common), b"\n".into()].concat());
    fs::replace(&file, &lines.collect::<Vec<u8>>(), Some(fs::PRIVATE))
}

/// Exit 2 for a path that no line of the list can hold.
pub fn check(path: &Path) -> Result<()> {
    match path.as_os_str().as_bytes().iter().any(|byte| b"\t\n".contains(byte)) {
        true => Err(Failure::usage(format!("{} has a tab or a line end in its path", path.display()))
            .hint("choose a path without them")),
        false => Ok(()),
    }
}

/// The failure of a root that the list does not name.
pub fn unlisted(root: &Path) -> Failure {
    failure::UNLISTED_ROOT
        .failure(format!("{} is not on your list of roots, so it is not used", root.display()))
        .hint(format!("see what it would run, and list it: `worker-ctl root trust {}`", shell_word(root)))
}
