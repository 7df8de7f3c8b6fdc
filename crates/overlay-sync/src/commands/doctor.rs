//! `doctor`: what is wrong with the overlay's state, and what mends it.

use shopfloor_core::doctor::{self, DoctorArgs, Finding};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::Ui;

use crate::apply::disk_storage::Disk;
use crate::apply::sync::sync_all;
use crate::apply::workspace_plan::{RunContext, plan_files};
use crate::facts::file_view::Scope;
use crate::facts::overlay::Overlay;
use crate::storage::Ground;
use crate::tool::TOOL;
use crate::workspace::Workspace;

/// What this tool can repair.
enum Repair {
    /// A sync forgets the workspaces that are gone and finishes what a killed run began.
    SyncAll,
    InstallHook,
}

pub fn run(ui: &Ui, overlay: Result<Overlay>, args: DoctorArgs) -> Result<Exit> {
    let overlay = match overlay {
        Err(failure) if failure.kind == "malformed" => {
            // What is damaged must be reported here, and not end the report.
            return doctor::run(ui, &[failed("state", &failure)], args, |_| Ok(()));
        }
        overlay => overlay?,
    };
    let mut findings = check(&overlay)?;
    findings.push(doctor::check_hook(&overlay.git, &overlay.repo, TOOL, Repair::InstallHook));
    doctor::run(ui, &findings, args, |repair| {
        if let Repair::InstallHook = repair {
            return doctor::install_hook(&overlay.git, &overlay.repo, TOOL);
        }
        match sync_all(&overlay)?.failures.as_slice() {
            [] => Ok(()),
            failures => Err(Failure::failed("not everything could be synced").details(failures.to_vec())),
        }
    })
}

fn check(overlay: &Overlay) -> Result<Vec<Finding<Repair>>> {
    let dir = overlay.dir.display();
    if overlay.is_unmade() {
        return Ok(vec![Finding::good("overlay", format!("there is none yet; it would be {dir}"))]);
    }
    if let Err(failure) = overlay.require() {
        return Ok(vec![failed("overlay", &failure)]);
    }
    let workspaces = overlay.workspaces(&[]);
    let has_files = workspaces.as_ref().is_ok_and(|all| all.iter().any(|workspace| workspace.files.len() >= 2));
    let disk = Disk::open(overlay, None)?;
    let context = RunContext { overlay: disk.overlay()?, ..RunContext::default() };
    let is_emptied = has_files && context.overlay.is_empty();
    let mut findings = vec![match is_emptied {
        true => failed("overlay", &overlay.gone("was emptied")),
        false => Finding::good("overlay", dir.to_string()),
    }];
    let look = |workspace: &Workspace| check_workspace(overlay, &disk, &context, workspace);
    findings.extend(match workspaces {
        Ok(workspaces) => workspaces.iter().map(look).collect::<Vec<_>>(),
        Err(failure) => vec![failed("state", &failure)],
    });
    findings.push(match overlay.store.announced()?.len() {
        0 => Finding::good("writes", "no run was killed while it wrote"),
        count => Finding::bad(
            "writes",
            format!("a run was killed before it had written {count} texts"),
            "finish it with a sync",
            Some(Repair::SyncAll),
        ),
    });
    Ok(findings)
}

/// What a failed check found. No sync repairs that.
fn failed(check: &'static str, failure: &Failure) -> Finding<Repair> {
    Finding::bad(check, failure.to_string(), failure.hints.join("; "), None)
}

fn check_workspace(overlay: &Overlay, disk: &Disk<'_>, context: &RunContext, workspace: &Workspace) -> Finding<Repair> {
    let root = workspace.root.display();
    let looked = workspace.is_present().and_then(|is_present| {
        // A sync fails there, too, where git gives no answer. Other machines are not asked.
        if is_present && workspace.far.is_none() {
            plan_files(disk, &overlay.settings, context, workspace, Scope::All)?;
        }
        Ok(is_present)
    });
    match (workspace.is_gone(), looked) {
        // A worktree that git removed is nothing to worry about.
        (true, _) => Finding {
            repair: Some(Repair::SyncAll),
            ..Finding::good("workspace", format!("{root} was removed; the next sync forgets it"))
        },
        (false, Err(failure)) => {
            let fix = match failure.hints.is_empty() {
                true => format!("look at it: `git -C {} status`", shell_word(&workspace.root)),
                false => failure.hints.join("; "),
            };
            Finding::bad("workspace", format!("{root}: {failure}"), fix, None)
        }
        (false, Ok(false)) => {
            let (why, what_helps) = workspace.absence();
            Finding::bad("workspace", format!("{root} {why}"), what_helps, None)
        }
        (false, Ok(true)) => Finding::good("workspace", root.to_string()),
    }
}
