//! `doctor`: what is missing or wrong in the setup of a ledger.

use std::path::PathBuf;

use shopfloor_core::doctor::{self, DoctorArgs, Finding};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git_hook;
use shopfloor_core::ui::Ui;

use super::install;
use crate::apply::event::write_event;
use crate::apply::files;
use crate::apply::synthesis::refresh;
use crate::body;
use crate::canonical;
use crate::counted::counted;
use crate::draft::{LeftDraft, SessionDraft};
use crate::event::LedgerEvent;
use crate::facts::author::agent_name;
use crate::facts::gather::{load_archive, load_events};
use crate::facts::git_setup::{
    DRIVER_NAME, driver, git_setting, is_current_tracked, is_ours, is_set_up, merge_attribute,
};
use crate::facts::{CURRENT, Ledger};
use crate::failure;
use crate::front::Meta;
use crate::plan::archive::{StrandedFiles, file_name, stranded};
use crate::settings::{LedgerArgs, Tracked};
use crate::tool::TOOL;

/// What `doctor --repair` does.
enum LedgerRepair {
    Configure,
    Untrack,
    InstallHook(&'static str),
    WriteDraft(LeftDraft),
    /// Files of the archive that count nowhere.
    Restore(Vec<PathBuf>),
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: DoctorArgs) -> Result<Exit> {
    let ledger = match Ledger::find(ui, env, ledger_args) {
        Err(failure) if failure::SYMLINK.is_kind_of(&failure) => {
            let found = match is_set_up(env)? {
                true => Finding::bad("ledger", failure.to_string(), failure.hints.join("; "), None::<LedgerRepair>),
                // The link is somebody's own, for other notes.
                false => Finding::good("ledger", format!("none is set up in this repository; {failure}")),
            };
            return doctor::run(ui, &[found], args, |_| Ok(()));
        }
        found => found?,
    };
    let mut findings = match look_at_archive(&ledger) {
        Err(failure) if failure.exit == Exit::Bad => {
            vec![Finding::bad("archive", failure.to_string(), failure.hints.join("; "), None)]
        }
        findings => findings?,
    };
    match ledger.page.tracked {
        Tracked::Page => findings.extend(look_at_driver(&ledger)?),
        Tracked::Events => findings.push(look_at_ignore(&ledger)?),
    }
    findings.extend(look_at_hooks(&ledger)?);
    findings.extend(look_at_drafts(env, &ledger)?);
    doctor::run(ui, &findings, args, |repair| match repair {
        LedgerRepair::Configure => install::configure(&ledger, false, ledger.page.tracked, &[]).map(drop),
        LedgerRepair::Untrack => files::untrack_current(&ledger),
        LedgerRepair::Restore(paths) => restore(ui, env, &ledger, paths),
        LedgerRepair::WriteDraft(left) => write_draft(ui, env, &ledger, left),
        LedgerRepair::InstallHook(name) => {
            git_hook::install(&ledger.git, &ledger.repo, name, TOOL, false)?.require(name, TOOL)
        }
    })
}

/// Whether everything in the archive counts.
fn look_at_archive(ledger: &Ledger) -> Result<Vec<Finding<LedgerRepair>>> {
    let StrandedFiles { found, unreadable } = stranded(&load_events(ledger)?, load_archive(ledger)?)?;
    let such_as = |files: &[PathBuf]| {
        let first = files.first().map(|path| path.display().to_string()).unwrap_or_default();
        format!("{}, such as {first}", counted(files.len(), "file"))
    };
    let mut findings = Vec::new();
    if !unreadable.is_empty() {
        let what = format!("not everything in the archive can be read: {}", such_as(&unreadable));
        findings.push(Finding::bad("archive", what, "restore each file from git, or move it out of the archive", None));
    }
    if !found.is_empty() {
        let what = format!("not everything in the archive counts: {}", such_as(&found));
        let repair = LedgerRepair::Restore(found);
        findings.push(Finding::bad("archive", what, "ledger-synth doctor --repair", Some(repair)));
    }
    if findings.is_empty() {
        findings.push(Finding::good("archive", "every archived event counts"));
    }
    Ok(findings)
}

/// Moves files of the archive back, so that they count.
fn restore(ui: &Ui, env: &Env, ledger: &Ledger, paths: &[PathBuf]) -> Result<()> {
    for path in paths {
        let day = path.parent().map(file_name).unwrap_or_default();
        files::restore(ledger, &day, &file_name(path))?;
    }
    refresh(ui, env, ledger).map(drop)
}

/// Whether git ignores a page that is not to be in it.
fn look_at_ignore(ledger: &Ledger) -> Result<Finding<LedgerRepair>> {
    let install = "ledger-synth install --tracked events";
    if is_current_tracked(ledger)? {
        let detail = format!("{CURRENT} is in git, and `tracked` is `events`");
        return Ok(Finding::bad("ignored", detail, install, Some(LedgerRepair::Untrack)));
    }
    let path = ledger.rel(CURRENT)?;
    let ignored = ledger.git.ignored(ledger.top.path(), &[path.as_path().to_path_buf()], None)?;
    Ok(match ignored.is_empty() {
        false => Finding::good("ignored", format!("git ignores {path}")),
        true => Finding::bad("ignored", format!("git does not ignore {path}"), install, Some(LedgerRepair::Configure)),
    })
}

/// The merge driver and the attributes.
fn look_at_driver(ledger: &Ledger) -> Result<Vec<Finding<LedgerRepair>>> {
    let [_, (setting, _)] = driver();
    let install = "ledger-synth install";
    let mut findings = vec![match git_setting(ledger, setting)? {
        Some(driver) if is_ours(setting, &driver) => Finding::good("driver", driver),
        driver => {
            let detail = driver.unwrap_or_else(|| "the merge driver is not configured in this clone".into());
            Finding::bad("driver", detail, install, Some(LedgerRepair::Configure))
        }
    }];
    let path = ledger.in_tree().map(|prefix| format!("{prefix}/{CURRENT}"));
    let set = path.as_ref().map(|path| merge_attribute(ledger, path)).transpose()?.unwrap_or_default();
    let detail = format!("merge={set} for {}", path.unwrap_or_default());
    let has_line = || install::configure(ledger, true, Tracked::Page, &[]).is_ok_and(|would| would.files.is_empty());
    let (file, line) = (".gitattributes", format!("merge={DRIVER_NAME}"));
    let named = || ledger.git.cmd(ledger.top.path()).args(["grep", "--cached", "--quiet", &line, "--", file]).capture();
    let deleted = || ledger.git.ls_files(ledger.top.path(), &["--deleted".into(), "--".into(), file.into()]);
    let is_gone = || Ok::<_, Failure>(!deleted()?.is_empty() && named()?.status.success());
    findings.push(match set == DRIVER_NAME {
        // As `install --undo` leaves it: git goes by the one in its index.
        true if is_gone()? => {
            let fix = "commit that, or take it back: `git restore .gitattributes`";
            Finding::bad("attribute", ".gitattributes is deleted", fix, None)
        }
        true => Finding::good("attribute", detail),
        false if has_line() => {
            let own = ledger.repo.common_dir.join("info/attributes");
            let fix = format!("take out what overrules it: in {}, or further down in .gitattributes", own.display());
            Finding::bad("attribute", format!("{detail}, though .gitattributes names the driver"), fix, None)
        }
        false => Finding::bad("attribute", detail, install, Some(LedgerRepair::Configure)),
    });
    Ok(findings)
}

fn look_at_hooks(ledger: &Ledger) -> Result<Vec<Finding<LedgerRepair>>> {
    let finding = |name: &'static str| -> Result<Finding<LedgerRepair>> {
        if let Some((_, file)) = git_hook::runs(&ledger.git, &ledger.repo, name, TOOL)? {
            return Ok(Finding::good(name, file.display().to_string()));
        }
        let repair = LedgerRepair::InstallHook(name);
        let (fix, repair) = doctor::hook_fix(&ledger.git, &ledger.repo, name, TOOL, repair)?;
        Ok(Finding::bad(name, "the hook is not installed", fix, repair))
    };
    git_hook::of(TOOL).map(finding).collect()
}

/// Drafts that would stay unread: what a session kept for its end, and the end never came.
fn look_at_drafts(env: &Env, ledger: &Ledger) -> Result<Vec<Finding<LedgerRepair>>> {
    let left = ledger.drafts().left(env)?;
    if left.is_empty() {
        return Ok(vec![Finding::good("drafts", "no session left a draft behind")]);
    }
    let finding = |left: LeftDraft| {
        let why = match &left.removed {
            None => "nobody changed it for a day".to_owned(),
            Some(worktree) => format!("the worktree {worktree} is removed"),
        };
        let detail = format!("{} was never written as an event: {why}", left.path.display());
        Finding::bad("drafts", detail, "ledger-synth doctor --repair", Some(LedgerRepair::WriteDraft(left)))
    };
    Ok(left.into_iter().map(finding).collect())
}

/// Writes the event that the session would have written at its end, and the page. It has the time of the draft, so what
/// others said later stays newer, and a second try writes the same event.
fn write_draft(ui: &Ui, env: &Env, ledger: &Ledger, left: &LeftDraft) -> Result<()> {
    let draft = SessionDraft::open(left.path.clone(), false)?;
    let entries = body::parse(&draft.text);
    let bytes = SessionDraft::bytes(&left.path)?;
    if entries.is_empty() && !bytes.is_empty() || draft.text.as_bytes() != bytes {
        let kept = files::keep_edited(&ledger.repo, &bytes)?;
        ui.note(format!("not all of {} could be read; it is kept in {}", left.path.display(), kept.display()));
    }
    if !entries.is_empty() {
        let agent = agent_name(env, ledger, left.agent.as_deref())?;
        let (ts, kind) = (left.ts().min(env.now.into()), Some("session_end".into()));
        let event = LedgerEvent::new(Meta { ts, agent, branch: None, kind, reason: None, title: None }, entries);
        let id = canonical::id(&event);
        if load_events(ledger)?.records().all(|record| record.id != id) {
            write_event(env, ledger, event, false)?;
        }
    }
    draft.remove()?;
    if left.removed.is_some() {
        left.path.parent().map(fs::remove_empty_dir);
    }
    // The event is written, whatever is wrong with the page.
    ui.or_problem(refresh(ui, env, ledger));
    Ok(())
}
