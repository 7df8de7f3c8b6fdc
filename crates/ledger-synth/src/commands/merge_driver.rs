//! `merge-driver`: what git calls to merge `current.md`. It synthesises the events of both sides from git's objects,
//! so that the merge commit is fresh and clean.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::files;
use crate::facts::CURRENT;
use crate::facts::objects::{Blobs, Objects, tree_path};
use crate::failure;
use crate::plan::join;
use crate::settings::{LedgerArgs, Settings};
use crate::view::{self, View};

/// Merge `current.md` when git asks for it, from the events of both sides
///
/// Exits with 1 if the text outside of the events conflicts, as git expects of a driver.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Example:\n  # as `install` does:\n  git config merge.ledger-synth.driver \\\n    'ledger-synth merge-driver %O %A %B --path %P --label %Y'"
)]
pub struct Args {
    /// The common ancestor's file
    base: PathBuf,
    /// Our file, which becomes the result
    ours: PathBuf,
    /// Their file
    theirs: PathBuf,
    /// The path of the file in the repository
    #[arg(long, allow_hyphen_values = true)]
    path: Option<PathBuf>,
    /// The name that git gives their side
    #[arg(long, allow_hyphen_values = true)]
    label: Option<String>,
}

/// To git, exit 1 is a conflict and more than 128 ends the merge. So every failure is exit 1, or keeps our side.
pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let (git, repo) = Git::here(env)?;
    let [ours, theirs] = [&args.ours, &args.theirs].map(|side| env.cwd.join(side));
    if let Some(side) = [&ours, &theirs].into_iter().find(|side| !side.is_file()) {
        return Err(Failure::not_found(format!("there is no file {}", side.display()))
            .hint("git names the files when it calls this: see `ledger-synth merge-driver --help`"));
    }
    let path = ours.to_string_lossy();
    if ui.is_dry() {
        let would = format!("would merge {} into {}", printable(&theirs.to_string_lossy()), printable(&path));
        ui.json_or_line(&json!({ "path": path, "would": [would] }), would);
        return Ok(Exit::Done);
    }
    let exit = merge(ui, env, ledger_args, args, (&git, &repo))?;
    if ui.is_json() {
        ui.json(&json!({ "path": path, "conflicts": exit != Exit::Done }));
    }
    Ok(exit)
}

/// Merges their side into the file with ours.
fn merge(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args, (git, repo): (&Git, &Repo)) -> Result<Exit> {
    // git calls this for merge bases that it merges with each other, too, and the environment names the outer merge. If
    // the text that comes of them were the page of one side, git would take the other side's without another call.
    if args.label.as_deref().is_some_and(|label| label.starts_with("Temporary merge branch ")) {
        return as_text(env, git, args);
    }
    let ours = env.cwd.join(&args.ours);
    let text = fs::read_text(&ours)?.unwrap_or_default();
    let theirs = fs::read_text(&env.cwd.join(&args.theirs))?.unwrap_or_default();
    let footers = [&text, &theirs].map(|side| std::str::from_utf8(side).ok().and_then(view::footer));
    let [Some(our_footer), Some(their_footer)] = &footers else {
        ui.warn("a person wrote one of the two sides, so they are merged as text");
        return as_text(env, git, args);
    };
    if our_footer.is_newer() || their_footer.is_newer() {
        ui.warn("a newer ledger-synth wrote one of the two sides, so they are merged as text");
        return as_text(env, git, args);
    }
    for (side, _) in [(&text, our_footer), (&theirs, their_footer)].iter().filter(|(_, footer)| !footer.is_intact) {
        let kept = files::keep_edited(repo, side)?;
        ui.warn(format!("one of the two sides was edited by hand; its content is kept in {}", kept.display()));
    }
    match synthesise(ui, env, ledger_args, args, git, repo) {
        Ok(Some(merged)) => {
            files::write_output(&ours, &merged)?;
            return Ok(Exit::Done);
        }
        Ok(None) => {}
        // What to do next is the same, whatever it was: git itself fetches what a partial clone left out.
        Err(failure) => ui.problem(&Failure { hints: Vec::new(), ..failure }),
    }
    // Our side is a valid ledger until the events of both sides are there.
    ui.note("kept our side of the ledger for now; run `ledger-synth --yes --commit` once git is done");
    Ok(Exit::Done)
}

/// Synthesises the ledger of the merge. None: nothing says which commits are merged.
fn synthesise(
    ui: &Ui,
    env: &Env,
    ledger_args: &LedgerArgs,
    args: &Args,
    git: &Git,
    repo: &Repo,
) -> Result<Option<String>> {
    let settings = Settings::load(env, repo, ledger_args)?;
    // There may be several ledgers; git says which one it merges.
    let objects = match args.path.as_deref().and_then(Path::parent).filter(|dir| !dir.as_os_str().is_empty()) {
        Some(dir) => Objects::at(git, repo, tree_path(dir)?),
        None => Objects::new(env, git, repo, &settings)?,
    };
    let head = objects.commit("HEAD")?;
    let merges = merges(env, &objects, &head, args.label.as_deref())?;
    if merges.is_empty() {
        return Ok(None);
    }
    let (mut blobs, mut page) = (objects.blobs(&head)?, objects.page_settings(Some(&head))?);
    for (base, theirs) in &merges {
        let old = base.as_deref().map(|base| objects.blobs(base)).transpose()?.unwrap_or_default();
        blobs = merged(&old, blobs, objects.blobs(theirs)?);
        let old = objects.page_settings(base.as_deref())?;
        page = page.merged(&old, &objects.page_settings(Some(theirs))?);
    }
    // The merge makes this file.
    blobs.remove(Path::new(CURRENT));
    let tree = objects.read(&blobs)?;
    tree.events.skipped.iter().for_each(|skipped| ui.warn(format!("skipped {skipped}")));
    let join = join(&tree.events)?;
    let view = View::new(&join, page.session_window);
    Ok((view.event_count > 0).then(|| view.render(tree.events.skipped.len(), None)))
}

/// The commits that git is merging into ours, each behind the common ancestor, if there is one. A merge names them in
/// its environment. A cherry-pick, revert or rebase names its commit in the label of their side, since git 2.44.
fn merges(env: &Env, objects: &Objects<'_>, ours: &str, label: Option<&str>) -> Result<Vec<(Option<String>, String)>> {
    let heads: Vec<String> =
        env.vars.keys().filter_map(|name| name.to_str()?.strip_prefix("GITHEAD_").map(str::to_owned)).collect();
    let mut merges = Vec::new();
    for head in heads.iter().filter(|head| **head != ours) {
        // Other names, such as a stash or the label of a picked commit, are skipped.
        if let Ok(theirs) = objects.commit(head) {
            let base = objects.answer(&["merge-base", ours, &theirs])?;
            merges.push((base, theirs));
        }
    }
    if !merges.is_empty() {
        return Ok(merges);
    }
    // `3f2a9c0 (its subject)`: a picked or rebased commit, of which only its own change is merged. `parent of 3f2a9c0
    // (its subject)`: a reverted one, from which its change leads back to its parent.
    let named = label.and_then(|label| label.split_once(" (")).map(|(name, _)| name);
    let reverted = named.and_then(|name| name.strip_prefix("parent of "));
    if let Some(id) = reverted.or(named).filter(|id| id.len() >= 4 && id.bytes().all(|b| b.is_ascii_hexdigit()))
        && let Ok(commit) = objects.commit(id)
    {
        let parent = objects.commit(&format!("{commit}^")).ok();
        match reverted {
            None => merges.push((parent, commit)),
            // Nothing says which parent of a merge it leads back to.
            Some(_) if objects.commit(&format!("{commit}^2")).is_ok() => {}
            Some(_) => merges.extend(parent.map(|parent| (Some(commit), parent))),
        }
    }
    Ok(merges)
}

/// Merges three ways by path. Two new files with one name are both kept.
fn merged(base: &Blobs, ours: Blobs, theirs: Blobs) -> Blobs {
    let mut result = Blobs::new();
    let paths = ours.keys().chain(theirs.keys()).cloned().collect::<BTreeSet<_>>();
    for path in paths {
        let (b, o, t) = (base.get(&path), ours.get(&path), theirs.get(&path));
        match (o, t) {
            _ if o == t || t == b => result.extend(o.map(|sha| (path, sha.clone()))),
            _ if o == b => result.extend(t.map(|sha| (path, sha.clone()))),
            _ if path == Path::new(CURRENT) => {}
            _ => {
                // Both are events, whose names mean nothing.
                let other =
                    path.with_file_name(format!("theirs-{}", path.file_name().unwrap_or_default().to_string_lossy()));
                result.extend(o.map(|sha| (path, sha.clone())));
                result.extend(t.map(|sha| (other, sha.clone())));
            }
        }
    }
    result
}

/// Merges `current.md` like any text, with git's conflict markers where both sides changed a line.
fn as_text(env: &Env, git: &Git, args: &Args) -> Result<Exit> {
    let cmd = git.cmd(&env.cwd).args(["merge-file", "-L", "ours", "-L", "base", "-L", "theirs"]);
    let output = cmd.args([&args.ours, &args.base, &args.theirs]).capture()?;
    match output.status.code() {
        0 => Ok(Exit::Done),
        1..=127 => Ok(Exit::No),
        _ => Err(failure::GIT.with(Exit::No, format!("git merge-file failed with {}", output.status))),
    }
}
