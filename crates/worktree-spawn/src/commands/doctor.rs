//! `doctor`: what killed commands and moved directories have left, and what mends it.

use shopfloor_core::doctor::{self, DoctorArgs, Finding};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, bare_by_mistake};
use shopfloor_core::ui::Ui;

use super::repair;
use crate::apply::repair::lacks_files;
use crate::apply::{lock_and_excludes, remove, undo};
use crate::facts::moved::{listed_as_gone, moved};
use crate::facts::{agents, repository};
use crate::identity::AgentKind;
use crate::journal::{self, RemovalJournal, SpawnJournal};
use crate::repository_view::Place;
use crate::settings::Settings;
use crate::spool;

/// Show what is wrong with worktrees and records, and how to repair it: exit 0 if nothing is, 1 if something is
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  worktree-spawn doctor --json | jq -r 'select(.ok | not).fix'")]
pub struct Args {
    #[command(flatten)]
    pub doctor: DoctorArgs,
}

/// There is one repair, which mends everything. This is what it has to mend: the detail of a finding.
struct RepairAll(String);

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find(env)?;
    let findings = check(env, &place)?;
    let repair_all = || repair::repair_all(env, &place, &|_, text| ui.note(text));
    if args.doctor.repair && !ui.is_dry() && findings.iter().all(|finding| finding.ok) {
        // `repair` also mends what cannot be seen from here, such as exclude lines.
        repair_all()?;
    }
    let mut left: Option<Vec<String>> = None;
    doctor::run(ui, &findings, args.doctor, |RepairAll(detail)| {
        if left.is_none() {
            repair_all()?;
            left = Some(check(env, &place)?.into_iter().filter(|finding| !finding.ok).map(|f| f.detail).collect());
        }
        match left.iter().flatten().any(|left| left == detail) {
            true => Err(Failure::failed(format!("this could not be repaired: {detail}"))),
            false => Ok(()),
        }
    })
}

fn check(env: &Env, place: &Place) -> Result<Vec<Finding<RepairAll>>> {
    let mut findings = check_journals(env, place)?;
    // git would wait for ever on such a record, so the commands leave its worktree out.
    if let Err(failure) = Git::find(env)?.require_sound_records(&place.common_dir) {
        findings.push(Finding::bad("records", failure.message, failure.hints.join("; "), None));
    }
    findings.extend(check_worktrees(env, place)?);
    Ok(findings)
}

/// Something that the repair mends.
fn mendable(check: &'static str, detail: String, fix: String) -> Finding<RepairAll> {
    let repair = RepairAll(detail.clone());
    Finding::bad(check, detail, fix, Some(repair))
}

/// The spawns and removals that were killed.
fn check_journals(env: &Env, place: &Place) -> Result<Vec<Finding<RepairAll>>> {
    let (shared, git) = (place.shared(), Git::find(env)?);
    let mut findings = Vec::new();
    for (id, uid, _) in journal::left_behind::<RemovalJournal>(&shared)? {
        let (detail, fix) = match remove::leftover(place, &uid).map(|at| (fs::size_of(&at), at)) {
            Some((size, at)) => {
                let at = at.display();
                (format!("files of {id} are left in {at} ({size})"), format!("delete {at}, or try again"))
            }
            None => (format!("the removal of {id} was killed"), format!("finish the removal of {id}")),
        };
        findings.push(mendable("removals", detail, fix));
    }
    for (id, _, spawn) in journal::left_behind::<SpawnJournal>(&shared)? {
        let fix = undo::foresee(place, &git, &id, &spawn);
        findings.push(mendable("spawns", format!("the spawn of {id} was killed"), fix));
    }
    if findings.is_empty() {
        findings.push(Finding::good("spawns", "no spawn or removal was killed"));
    }
    Ok(findings)
}

/// The worktrees that are elsewhere or gone.
fn check_places(env: &Env, place: &Place) -> Result<Vec<Finding<RepairAll>>> {
    let settings = Settings::load(env, &place.home, &[])?;
    let moved = moved(place, &settings.worktree_base)?;
    let mut findings = Vec::new();
    if let Some(failure) = bare_by_mistake(&place.common_dir) {
        findings.push(Finding::bad("worktrees", failure.message, failure.hints.join("; "), None));
    }
    for found in &moved {
        let (was, path) = (found.worktree.path.display(), found.path.display());
        let detail = match found.says {
            None => format!("{path} has lost its `.git` file"),
            _ if found.worktree.path == found.path => {
                format!("{path} does not lead to this repository, which was moved")
            }
            _ => format!("{was} was moved to {path}"),
        };
        findings.push(mendable("worktrees", detail, format!("reconnect {path}")));
    }
    for path in listed_as_gone(place)? {
        let detail = format!("{} is listed as a worktree of a repository that is gone", path.display());
        findings.push(mendable("worktrees", detail, "list it as one of this repository".into()));
    }
    for (detail, fix) in repair::lost(place, &Git::find(env)?, &moved)? {
        findings.push(Finding::bad("worktrees", detail, fix, None));
    }
    Ok(findings)
}

/// The worktrees, and the agents that lack something or whose records are damaged.
fn check_worktrees(env: &Env, place: &Place) -> Result<Vec<Finding<RepairAll>>> {
    let mut findings = check_places(env, place)?;
    let all = agents::all(place)?;
    for known in &all {
        if let Some(why) = &known.error {
            let detail = format!("the record of {} cannot be read: {why}", known.agent.id);
            findings.push(Finding::bad("agents", detail, &known.cure, None));
        }
    }
    let own: Vec<_> =
        all.iter().filter(|known| known.agent.kind != AgentKind::Worker && known.error.is_none()).collect();
    for (n, one) in own.iter().enumerate() {
        if let Some(other) = own[..n].iter().find(|other| other.agent.id == one.agent.id) {
            let copied = agents::copied(other, one);
            findings.push(Finding::bad("agents", copied.message, copied.hints.join("; "), None));
        }
    }
    if all.iter().any(|known| known.agent.kind == AgentKind::Subtree) && lock_and_excludes::lacks_excludes(place)? {
        let detail = "info/exclude lacks lines that hide agents' files".to_owned();
        findings.push(mendable("excludes", detail, "add the lines".into()));
    }
    for spool in spool::all(&place.shared())? {
        for path in spool.unreadable()? {
            let fix = format!("look at it; the next reader of events moves it to {}", spool.bad_dir().display());
            findings.push(Finding::bad("events", format!("{} is no event", path.display()), fix, None));
        }
        let bad = fs::list(&spool.bad_dir())?.len();
        if bad > 0 {
            let detail = format!("{bad} files for {} are no events", spool.session);
            let fix = format!("read and delete them: {}", spool.bad_dir().display());
            findings.push(Finding::bad("events", detail, fix, None));
        }
    }
    for known in all.iter().filter(|known| lacks_files(known)) {
        let id = &known.agent.id;
        let (detail, fix) = (format!("{id} has lost its configuration"), format!("restore the configuration of {id}"));
        findings.push(mendable("files", detail, fix));
    }
    if findings.is_empty() {
        findings.push(Finding::good("worktrees", format!("{} registered", repository::worktrees(place)?.len())));
    }
    Ok(findings)
}
