//! `add`: a branch, a worktree, a place in the state.

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::ui::printable;
use toml_edit::DocumentMut;

use super::Site;
use crate::store;
use crate::worker::{Worker, checked_name};

/// What is said of the new one.
pub struct Wanted<'a> {
    pub agent: Option<&'a str>,
    pub model: Option<&'a str>,
    pub role_prompt: Option<&'a str>,
}

pub fn run(site: &Site<'_>, name: &str, wanted: &Wanted<'_>) -> Result<Exit> {
    checked_name(name)?;
    let agent = wanted.agent.unwrap_or(&site.root.config.defaults.agent).to_owned();
    site.root.agent(&agent)?;
    let _lock = site.lock(name)?;
    let exists = |what: String| Failure::new(Exit::No, "exists", what);
    if store::load(&site.root.path)?.workers.contains_key(name) {
        return Err(exists(format!("there is a worker {name} already")).hint("choose another name"));
    }
    let branch = format!("{}{name}", site.root.config.defaults.branch_prefix);
    let worktree = site.root.worktree(name);
    site.clone.fetch()?;
    let base = site.clone.require_base()?;
    let dir = &site.root.path;
    if let Some(tip) = site.clone.commit(dir, &format!("refs/heads/{branch}"))? {
        if site.clone.ahead(&tip)? > 0 {
            return Err(exists(format!("the branch {branch} has commits that are not merged"))
                .hint("look at them, then delete or rename it in the root"));
        }
        site.clone.ask(dir, &["branch", "-q", "-D", &branch])?;
    }
    if worktree.symlink_metadata().is_ok() {
        return Err(
            exists(format!("{} is there already", worktree.display())).hint("move it away, or choose another name")
        );
    }
    let path = worktree.to_string_lossy().into_owned();
    site.clone.ask(dir, &["worktree", "add", "--quiet", "--no-track", "-b", &branch, &path, &base])?;
    configure(site, name, wanted)?;
    let now = site.now();
    let added = store::update(dir, |state| {
        state.workers.insert(name.to_owned(), Worker::new(name, &agent, &path, &branch, now));
        Ok(())
    });
    if let Err(failure) = added {
        site.clone.run(dir, &["worktree", "remove", "--force", &path])?;
        site.clone.run(dir, &["branch", "-q", "-D", &branch])?;
        return Err(failure);
    }
    if site.ui.is_json() {
        site.ui.json(&serde_json::json!({ "worker": name, "worktree_path": path, "branch": branch }));
    } else {
        site.ui.line(printable(&path));
    }
    Ok(Exit::Done)
}

/// Its table in config.toml; everything else there stays, comments too.
fn configure(site: &Site<'_>, name: &str, wanted: &Wanted<'_>) -> Result<()> {
    let path = site.root.path.join("config.toml");
    let text = String::from_utf8(fs::read(&path)?.unwrap_or_default())
        .map_err(|_| Failure::malformed(format!("{}: not UTF-8", path.display())))?;
    let mut document: DocumentMut = text.parse().map_err(|e| Failure::malformed(format!("{}: {e}", path.display())))?;
    let workers = document["workers"].or_insert(toml_edit::table());
    if let Some(table) = workers.as_table_mut() {
        table.set_implicit(true);
    }
    let worker = workers[name].or_insert(toml_edit::table());
    let said = [("agent", wanted.agent), ("model", wanted.model), ("role_prompt", wanted.role_prompt)];
    for (key, value) in said.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        worker[key] = toml_edit::value(value);
    }
    fs::replace(&path, document.to_string().as_bytes(), None)
}
