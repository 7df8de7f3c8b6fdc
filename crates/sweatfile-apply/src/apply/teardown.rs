//! Undoes what the set-up of a worktree started: runs the commands that were recorded then, each once.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use shopfloor_core::approval::Approvals;
use shopfloor_core::child_env;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::path::RelPath;
use shopfloor_core::proc;
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::ui::Ui;

use crate::applied::Record;
use crate::apply::background;
use crate::facts::{self, Facts, LoadOptions};
use crate::failure;
use crate::flags::LayerFlags;
use crate::layer::{FILE, LayerName, MergedLayers};
use crate::layout;
use crate::plan::{Plan, SetupRun};
use crate::ports;
use crate::setup_step::{REPO_ROOT, WORKTREE};
use crate::teardown_record::{Step, Stored, TeardownRecord, Teardowns};
use crate::template;
use crate::worktree::OpenWorktree;

/// How long a command may take.
const LIMIT: Duration = Duration::from_secs(60);

/// What docker compose goes by, if a caller has set it.
const COMPOSE: [&str; 3] = ["COMPOSE_PROJECT_NAME", "COMPOSE_FILE", "COMPOSE_PROFILES"];

/// What came of the commands of some worktrees, one line each.
#[derive(Debug, Default, Serialize)]
pub struct TornDown {
    pub ran: Vec<String>,
    pub failed: Vec<String>,
    /// What waits, and for what.
    pub left: Vec<String>,
    /// What of that no sweep runs by itself: of records that nobody can read, and what was begun and cut off.
    #[serde(skip)]
    pub unswept: Vec<String>,
    /// How many of them wait only until the worktree is gone.
    #[serde(skip)]
    pub later: usize,
    /// What no sweep runs any more, as a person asked.
    #[serde(skip)]
    pub forgotten: Vec<String>,
}

impl TornDown {
    pub fn failure(&self) -> Option<Failure> {
        (!self.failed.is_empty()).then(|| {
            failure::TEARDOWN
                .failure("not all teardown commands succeeded")
                .details(self.failed.iter().map(|line| format!("  {line}")))
                .hint("mend the cause and run the command again; when the worktree is gone, `sweatfile-apply sweep` runs them, and `sweep --forget` gives up what fails then")
        })
    }

    /// What `--strict` asks for: exit 4 if a command failed, 1 if one waits.
    pub fn require_all(&self) -> Result<()> {
        self.failure().map_or(Ok(()), Err)?;
        if self.left.len() == self.later {
            return Ok(());
        }
        Err(failure::TEARDOWN
            .with(Exit::No, "not all teardown commands were run")
            .details(self.left.iter().map(|line| format!("  {line}")))
            .hint("settle what each waits for; without `--strict` the rest is removed, and they are kept"))
    }
}

/// Records what is to be run when this worktree goes, and warns if that cannot be. As long as the lock is held, it is not run.
pub fn record(
    worktree: &OpenWorktree,
    merged: &MergedLayers,
    facts: &Facts,
    plan: &Plan,
    warnings: &mut Vec<String>,
) -> Result<Option<Lock>> {
    let (repo, setup) = (&worktree.repo, &plan.setup);
    let is_set_up = setup.steps.is_empty() || !matches!(setup.run, SetupRun::LeftOut | SetupRun::Held);
    if merged.teardown.is_empty() || !is_set_up {
        return Ok(None);
    }
    let Some(teardowns) = Teardowns::of(&worktree.env) else {
        warnings
            .push("its teardown is not recorded: neither XDG_STATE_HOME nor HOME is set to an absolute path".into());
        return Ok(None);
    };
    if [&worktree.path, &repo.git_dir, &repo.home.common_dir].iter().any(|path| path.to_str().is_none()) {
        warnings.push("its teardown is not recorded: its path is not UTF-8".into());
        return Ok(None);
    }
    let digest = plan.layers.get(&LayerName::Repo).copied();
    let steps = merged.teardown.iter().enumerate().map(|(index, line)| {
        let command = template::command(line, merged, &facts.placeholders);
        let for_files = Some(template::for_files(line, merged, &facts.placeholders)).filter(|text| *text != command);
        let sweatfile = digest.filter(|_| index >= merged.area_teardown);
        Step { command, for_files, sweatfile, is_begun: false }
    });
    let record = TeardownRecord {
        common_dir: repo.home.common_dir.clone(),
        git_dir: repo.git_dir.clone(),
        dir_id: fs::dir_id(&repo.git_dir).unwrap_or_default(),
        path: worktree.path.clone(),
        branch: worktree.git.branch(repo)?.unwrap_or_else(|| DETACHED.into()),
        env: setup.env.clone(),
        ports: facts.placeholders.ports.values().copied().collect(),
        filled: template::filled(merged, &facts.placeholders),
        steps: steps.collect(),
        ..TeardownRecord::default()
    };
    // With `--yes` it is trusted for this run, and not when the worktree goes.
    let approvals = Approvals::load(&worktree.env)?;
    let is_approved = digest.map_or(Ok(true), |digest| approvals.has(&repo.home.common_dir, FILE, &digest))?;
    let runs = (!setup.steps.is_empty()).then_some(setup.run != SetupRun::Finished);
    teardowns.keep(record, runs, is_approved)
}

/// The commands that are recorded for this worktree.
pub fn recorded(worktree: &OpenWorktree) -> Result<Vec<Step>> {
    let stored = Teardowns::of(&worktree.env).map(|teardowns| find(worktree, &teardowns)).transpose()?.flatten();
    Ok(stored.map(|stored| stored.record.steps).unwrap_or_default())
}

fn find(worktree: &OpenWorktree, teardowns: &Teardowns) -> Result<Option<Stored>> {
    let is_it = |stored: &Stored| stored.record.git_dir == worktree.repo.git_dir && stored.record.is_living();
    Ok(teardowns.load(&worktree.repo.home.common_dir)?.into_iter().find(is_it))
}

/// Whether the set-up of this worktree may have had a teardown: by the sweatfiles of today, or because it had others.
fn may_have_had(worktree: &OpenWorktree, dirs: &LayerFlags) -> Result<bool> {
    let layers = facts::load_layers(&worktree.env, &worktree.repo, dirs, LoadOptions::default())?;
    let is_as_then = |(name, digest): (&LayerName, &Digest)| {
        layers.layers.iter().any(|layer| layer.name == *name && layer.digest() == Some(*digest))
    };
    Ok(!layers.merged()?.teardown.is_empty() || !Record::load(worktree)?.layers.iter().all(is_as_then))
}

/// Runs what is recorded for this worktree, in it; nothing while files that the commands use are `held`: an agent may have
/// written them. With `strict`, the first command that fails is the last.
pub fn of_worktree(
    ui: &Ui,
    worktree: &OpenWorktree,
    dirs: &LayerFlags,
    held: &dyn Fn(&[Step]) -> Result<Vec<RelPath>>,
    strict: bool,
) -> Result<TornDown> {
    let (common_dir, mut done) = (&worktree.repo.home.common_dir, TornDown::default());
    let Some(teardowns) = Teardowns::of(&worktree.env) else { return Ok(done) };
    let Some(known) = find(worktree, &teardowns)? else {
        let earlier = teardowns.load(common_dir)?.into_iter().filter(|it| it.record.git_dir == worktree.repo.git_dir);
        for step in earlier.flat_map(|stored| stored.record.steps) {
            let why = "it is of an earlier directory here, which is gone, or this one was restored from a copy; when this one is gone";
            let sweep = if step.is_begun { "sweep --again" } else { "sweep" };
            let told = format!("{} ({why}, `sweatfile-apply {sweep}` runs it)", printable(&step.command));
            done.unswept.extend(step.is_begun.then(|| told.clone()));
            done.left.push(told);
        }
        done.later = done.left.len() - done.unswept.len();
        // Nothing else tells whose the others are.
        let told = |failure: &Failure| {
            let why = [vec!["it may be of this worktree".to_owned()], failure.hints.clone()].concat();
            format!("{failure} ({})", why.join("; "))
        };
        let (_, unread) = teardowns.load_all()?;
        if !unread.is_empty() && may_have_had(worktree, dirs).unwrap_or(true) {
            let told: Vec<String> = unread.iter().map(told).collect();
            done.left.extend(told.clone());
            done.unswept.extend(told);
        }
        return Ok(done);
    };
    if worktree.is_contained()? {
        // What it wrote may be what the commands find, whatever they name. When the worktree is gone, nothing of it is.
        let why = "its agent worked in a sandbox, so it waits until the worktree is gone: `sweatfile-apply sweep`";
        done.left.extend(known.record.steps.iter().map(|step| format!("{} ({why})", printable(&step.command))));
        done.later = done.left.len();
        return Ok(done);
    }
    let held = held(&known.record.steps)?;
    let _lock = if ui.is_dry() { None } else { Some(teardowns.lock(common_dir)?) };
    if let Some(mut stored) = find(worktree, &teardowns)? {
        if !ui.is_dry() && Lock::is_held(&stored.setup_lock())? {
            return Err(background::still_runs(worktree));
        }
        // An agent can write it.
        let repo = &worktree.repo;
        let odd = worktree.git.own_programs(&repo.common_dir, &repo.git_dir)?;
        let others = match (held.first(), odd.first()) {
            (Some(file), _) => Some(format!("nobody has approved {file}, which it uses")),
            (None, Some((key, _))) => Some(format!("config.worktree sets {key}, which git there would obey")),
            (None, None) => {
                belongs_to_others(&stored.record, &Living::read(worktree, &teardowns, Some(&stored.record))?, false)
            }
        };
        let how = How { dir: &worktree.path, others, strict, again: false };
        run(ui, worktree, &mut stored, how, &mut done)?;
    }
    // If the worktree stays after all, its set-up runs again.
    if !ui.is_dry() && !done.ran.is_empty() && worktree.path.is_dir() {
        Record::change(worktree, |record| {
            record.setup = None;
            record.steps.clear();
        })?;
    }
    Ok(done)
}

/// Runs what is recorded for worktrees of this repository that are gone, each in an empty directory of its own that has the
/// worktree's name. With `again` also what was begun; with `forget` what fails or may not run is given up.
pub fn sweep(ui: &Ui, worktree: &OpenWorktree, (strict, again, forget): (bool, bool, bool)) -> Result<TornDown> {
    let (common_dir, mut done) = (&worktree.repo.home.common_dir, TornDown::default());
    let Some(teardowns) = Teardowns::of(&worktree.env) else { return Ok(done) };
    done.left.extend(teardowns.load_all()?.1.iter().map(Failure::to_string));
    let at = worktree.git.worktrees(&worktree.repo)?;
    let is_moved = |record: &TeardownRecord| at.iter().any(|(_, git_dir)| *git_dir == record.git_dir);
    for Stored { record, .. } in teardowns.load(common_dir)? {
        if record.is_living() && !record.path.is_dir() && !is_moved(&record) {
            // A worker's repository is another one.
            let repo = record.git_dir.ancestors().find(|dir| dir.join("objects").is_dir()).unwrap_or(common_dir);
            let git = format!("git -C {} worktree", shell_word(repo));
            let why =
                format!("git has a record of it: `{git} repair PLACE` if it was moved, `{git} prune` if it is gone");
            done.left.push(format!("{} ({why})", record.path.display()));
        }
    }
    let gone = || -> Result<Vec<Stored>> {
        Ok(teardowns.load(common_dir)?.into_iter().filter(|stored| !stored.record.is_living()).collect())
    };
    if gone()?.is_empty() {
        return Ok(done);
    }
    let _lock = if ui.is_dry() { None } else { Some(teardowns.lock(common_dir)?) };
    let living = Living::read(worktree, &teardowns, None)?;
    for mut stored in gone()? {
        // A disk that is away may bring it back.
        if !stored.record.git_dir.ancestors().skip(1).any(|dir| dir.join("HEAD").is_file()) {
            done.left.push(format!("{}: its repository is not there", stored.record.path.display()));
            continue;
        }
        // An agent can take away git's record of a worktree in which another one works.
        let path = &stored.record.path;
        let is_there =
            || (path.is_dir() || fs::is_there(path).is_err()).then(|| "its directory is still there".to_owned());
        let runs = Lock::is_held(&stored.setup_lock())? || background::runs_for(&worktree.env, path);
        let is_set_up = runs.then(|| "its set-up still runs".to_owned());
        let others = is_set_up.or_else(|| belongs_to_others(&stored.record, &living, true)).or_else(is_there);
        let place = teardowns.dir.join("in").join(stored.record.dir_id.replace('@', "-"));
        // By its name go programs such as docker compose.
        let dir = place.join(stored.record.path.file_name().unwrap_or_default());
        if !ui.is_dry() {
            fs::create_private_dir(&dir)?;
        }
        let gives_up = forget && others.is_none();
        let (failed, left) = (done.failed.len(), done.left.len());
        let ran = run(ui, worktree, &mut stored, How { dir: &dir, others, strict, again }, &mut done);
        if !ui.is_dry() {
            fs::remove_tree(&place)?;
        }
        ran?;
        // What a signal has kept from running has not failed.
        proc::check_interrupt()?;
        if gives_up {
            done.forgotten.extend(done.failed.drain(failed..).chain(done.left.drain(left..)));
        }
        if gives_up && !ui.is_dry() {
            stored.record.steps.clear();
            stored.save()?;
        }
        if strict && !done.failed.is_empty() {
            break;
        }
    }
    Ok(done)
}

/// How many worktrees that are gone wait for their teardown.
pub fn waiting(worktree: &OpenWorktree) -> usize {
    let all = Teardowns::of(&worktree.env).and_then(|all| all.load(&worktree.repo.home.common_dir).ok());
    all.unwrap_or_default().iter().filter(|stored| !stored.record.is_living()).count()
}

/// The commands of this repository that were begun and have not ended, one line each. None while some run.
pub fn cut_off(worktree: &OpenWorktree) -> Vec<String> {
    let common_dir = &worktree.repo.home.common_dir;
    let all = Teardowns::of(&worktree.env).filter(|all| !all.is_locked(common_dir));
    let all = all.and_then(|all| all.load(common_dir).ok());
    let of = |Stored { record, .. }: Stored| {
        let name = printable(&record.path.display().to_string());
        let begun = record.steps.into_iter().filter(|step| step.is_begun);
        begun.map(|step| format!("{name}: {}", printable(&step.command))).collect::<Vec<_>>()
    };
    all.unwrap_or_default().into_iter().flat_map(of).collect()
}

/// Why records cannot be read, if some cannot.
pub fn unreadable(worktree: &OpenWorktree) -> Vec<Failure> {
    let all = Teardowns::of(&worktree.env).map(|all| all.load_all());
    all.map_or_else(Vec::new, |all| all.map_or_else(|failure| vec![failure], |(_, damaged)| damaged))
}

/// What the branch of a worktree on no branch is called.
const DETACHED: &str = "HEAD";

/// What living worktrees have: of this repository all, of others those that have a teardown.
struct Living {
    /// Their directories' names, as docker compose spells them.
    names: BTreeSet<String>,
    /// What could be filled in for placeholders.
    values: BTreeSet<String>,
    ports: BTreeSet<u16>,
}

impl Living {
    fn read(worktree: &OpenWorktree, teardowns: &Teardowns, but: Option<&TeardownRecord>) -> Result<Living> {
        let mut living = Living { names: BTreeSet::new(), values: BTreeSet::new(), ports: BTreeSet::new() };
        for tree in worktree.git.list_worktrees(&worktree.repo.common_dir)? {
            if but.is_none() || tree.path != worktree.path {
                let branch = tree.branch.unwrap_or_else(|| DETACHED.into());
                living.values.extend(template::values_of(&tree.path, &branch));
                living.names.extend(name(&tree.path));
            }
        }
        let is_other = |record: &TeardownRecord| but.is_none_or(|but| record.git_dir != but.git_dir);
        for Stored { record, .. } in teardowns.load_all()?.0 {
            if record.is_living() && is_other(&record) {
                living.names.extend(name(&record.path));
                living.values.extend(record.filled);
                living.values.extend(template::values_of(&record.path, &record.branch));
                living.ports.extend(record.ports);
            }
        }
        if but.is_none() {
            living.ports.extend(ports::of_living(&worktree.repo)?);
        }
        Ok(living)
    }
}

fn name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().to_lowercase())
}

/// Whether another worktree has by now what this one had: then the commands would take that away. A worktree that is gone
/// also shares the name of its directory, which is what programs such as docker compose go by.
fn belongs_to_others(record: &TeardownRecord, living: &Living, is_gone: bool) -> Option<String> {
    if is_gone && name(&record.path).is_some_and(|name| living.names.contains(&name)) {
        return Some("another worktree has its name now".into());
    }
    if let Some(value) = record.filled.intersection(&living.values).next() {
        return Some(format!("another worktree has `{value}` now"));
    }
    let port = record.ports.intersection(&living.ports).next()?;
    Some(format!("another worktree has the port {port} now"))
}

/// How recorded commands are run.
struct How<'d> {
    dir: &'d Path,
    /// Why none is run, if what they take down belongs to others.
    others: Option<String>,
    /// Whether the first one that fails is the last.
    strict: bool,
    /// Also what was begun and cut off.
    again: bool,
}

fn run(ui: &Ui, worktree: &OpenWorktree, stored: &mut Stored, how: How<'_>, done: &mut TornDown) -> Result<()> {
    let How { dir, others, strict, again } = how;
    let approvals = Approvals::load(&worktree.env)?;
    let is_approved = |step: &Step| -> Result<bool> {
        let Some(digest) = &step.sweatfile else { return Ok(true) };
        approvals.has(&worktree.repo.home.common_dir, FILE, digest)
    };
    let all: Vec<PathBuf> = worktree.git.worktrees(&worktree.repo)?.into_iter().map(|(path, _)| path).collect();
    let env = child_env::for_worktree(&worktree.env, dir, &all);
    let mut at = 0;
    while at < stored.record.steps.len() {
        let step = stored.record.steps[at].clone();
        let line = format!("{}: {}", printable(&stored.record.path.display().to_string()), printable(&step.command));
        let waits_for = match (&others, step.is_begun && !again) {
            (Some(others), _) => Some(others.clone()),
            (None, true) => Some(
                "it was begun and cut off; when the worktree is gone, `sweatfile-apply sweep --again` runs it".into(),
            ),
            (None, false) if !is_approved(&step)? => Some("its sweatfile is not approved any more".into()),
            (None, false) => None,
        };
        if let Some(why) = waits_for {
            let line = format!("{line} ({why})");
            done.unswept.extend((step.is_begun && !again).then(|| line.clone()));
            done.left.push(line);
            at += 1;
            continue;
        }
        if ui.is_dry() {
            // Where it cannot be recorded as begun, it is not run.
            stored.setup_lock().parent().map_or(Ok(()), fs::require_writable)?;
            done.ran.push(line);
            at += 1;
            continue;
        }
        stored.record.steps[at].is_begun = true;
        if let Err(failure) = stored.save() {
            // The mark may be there all the same, and nothing is begun.
            stored.record.steps[at].is_begun = step.is_begun;
            let _ = stored.save();
            return Err(failure);
        }
        ui.note(&line);
        let failed = run_step(&env, worktree, &stored.record, (&step.command, dir))
            .unwrap_or_else(|failure| Some(failure.to_string()));
        match failed {
            None => {
                stored.record.steps.remove(at);
                done.ran.push(line.clone());
            }
            Some(failed) => {
                stored.record.steps[at].is_begun = false;
                done.failed.push(format!("{line} ({failed})"));
                at += 1;
            }
        }
        let told = || format!("{line} was run; `sweatfile-apply sweep --again` would run it once more");
        stored.save().map_err(|failure| failure.hint(told()))?;
        if strict && !done.failed.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Runs a command, and returns in words how it failed, if it did.
fn run_step(
    env: &Env,
    worktree: &OpenWorktree,
    record: &TeardownRecord,
    (command, dir): (&str, &Path),
) -> Result<Option<String>> {
    // Else a command in an empty directory finds what is around it, or what the caller works on.
    let cmd = proc::shell(env, command)?.dir(dir).without_vars(LOCAL_VARS).without_vars(&COMPOSE);
    let cmd = cmd.var("GIT_CEILING_DIRECTORIES", dir.parent().unwrap_or(dir)).vars(&record.env);
    let cmd = cmd.var(WORKTREE, &record.path).var(REPO_ROOT, &worktree.repo.home.checkout);
    // Into files, not pipes: as set-up, it waits for no daemon that the command leaves behind.
    let scratch = || fs::scratch(&layout::setup_output(&worktree.repo));
    let ((errors, mut said), begin) = (scratch()?, Instant::now());
    let Some((status, _)) = cmd.error_file(errors).into_file(scratch()?, LIMIT, background::MOST)? else {
        return Ok(Some(match begin.elapsed() < LIMIT {
            true => format!("it wrote more than {} MiB, and was ended", background::MOST >> 20),
            false => format!("it took longer than {} s, and was ended", LIMIT.as_secs()),
        }));
    };
    if status.success() {
        return Ok(None);
    }
    let mut text = Vec::new();
    // Without what it said there is still its status.
    let _ = said.read_to_end(&mut text);
    let last = String::from_utf8_lossy(&text).lines().last().map(printable).unwrap_or_default();
    Ok(Some(format!("{status} {last}").trim_end().to_owned()))
}
