//! Writing the user's own list of roots, and refusing a root that it does not name.

use std::path::Path;

use shopfloor_core::dir_list::{DirList, require_listable};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::path::real;
use shopfloor_core::text::shell_word;

use crate::failure;

/// Lists a root as the one of this repository; without one, takes the root out of the list.
pub fn record(env: &Env, root: &Path, common: Option<&Path>) -> Result<()> {
    let list = DirList::roots(env).ok_or_else(|| {
        Failure::usage("there is no place for the list of roots").hint("set HOME and run the command again")
    })?;
    let common = common.map(real);
    if let Some(common) = &common {
        [root, common].into_iter().try_for_each(require_listable)?;
    }
    list.update(|all| {
        all.remove(root);
        all.extend(common.map(|common| (root.to_path_buf(), common)));
    })
}

/// The failure of a root that the list does not name.
pub fn unlisted(root: &Path) -> Failure {
    failure::UNLISTED_ROOT
        .failure(format!("{} is not on your list of roots, so it is not used", root.display()))
        .hint(format!("see what it would run, and list it: `worker-ctl root trust {}`", shell_word(root)))
}
