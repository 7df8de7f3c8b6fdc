//! Copies of a work's commits on top of the branch that they land on, for a branch that others have too and that nobody
//! here rebases.

use shopfloor_core::error::Result;
use shopfloor_core::git::failed;

use crate::apply::publish;
use crate::context::Context;
use crate::failure;
use crate::plan::accept::Accept;

/// Makes the copies without touching a checkout, and returns the last one. Exit 1 if one of the commits conflicts, or if
/// together they are something else than `tree`, which the merge of the work gives.
pub fn make(ctx: &Context<'_>, plan: &Accept, tree: &str) -> Result<String> {
    let (repo, Accept { name, base, sha, .. }) = (&ctx.repo, plan);
    let refuse = |why: String| {
        Err(failure::CONFLICT.failure(why).hint(format!("land one commit: `worker-ctl accept {name} --land squash`")))
    };
    let tree_of = |commit: &str| repo.ask(&repo.top, &["rev-parse", &format!("{commit}^{{tree}}")]);
    let range = repo.range(&repo.begin(sha)?, sha);
    let listed = repo.log(&["--reverse", "--format=%H%x00%an%x00%ae%x00%aI%x00%B%x00"], &range)?;
    let fields: Vec<&str> = listed.split('\0').map(|field| field.strip_prefix('\n').unwrap_or(field)).collect();
    let mut last = base.clone();
    for commit in fields.chunks_exact(5) {
        let [id, author @ .., message] = commit else { continue };
        let merged = repo.merge_tree(&last, Some(&format!("{id}^")), id, &[])?;
        let merged_tree = merged.text().lines().next().unwrap_or_default().to_owned();
        match merged.status.code() {
            // The branch has this one already.
            0 if merged_tree == tree_of(&last)? => continue,
            0 => {}
            1 => {
                let short = id.get(..12).unwrap_or(id);
                return refuse(format!("the commit {short} of {name} conflicts with {}", repo.branch));
            }
            _ => return Err(failed("merge-tree", &merged)),
        }
        last = publish::commit_tree(repo, (&merged_tree, &last), author.iter().copied(), message)?;
    }
    match tree_of(&last)? == tree {
        true => Ok(last),
        false => {
            refuse(format!("the commits of {name}, one by one, are something else on {} than together", repo.branch))
        }
    }
}
