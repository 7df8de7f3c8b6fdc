//! Steps of set-up that run in the background, each under a process of ours that keeps its log and records how it ended.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::processes::Process;
use shopfloor_core::proc::{self, processes};
use shopfloor_core::text::{printable, shell_word};

use crate::applied::Record;
use crate::layout;
use crate::plan::PlannedStep;
use crate::setup_step::{REPO_ROOT, STEP, WORKTREE};
use crate::worktree::OpenWorktree;

/// Tells its process what to run: a [`Task`] as JSON.
pub const TASK: &str = "SWEATFILE_TASK";

/// How long it may take until one runs.
const START: Duration = Duration::from_secs(10);

/// How much one may write: it must not fill the disk.
pub const MOST: usize = 256 << 20;

/// How many logs are kept beside the last one.
const KEPT: usize = 2;

/// A step as the process gets it that runs it.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct Task {
    key: String,
    name: String,
    command: String,
    /// The variables of the sweatfiles, which our own process does not obey.
    env: BTreeMap<String, String>,
    timeout: Option<Duration>,
}

/// Starts a step that was recorded as begun, and returns once it runs. It goes on when the terminal closes.
pub fn start(worktree: &OpenWorktree, step: &PlannedStep, vars: &BTreeMap<String, String>, env: &Env) -> Result<()> {
    let key = step.key().cloned().unwrap_or_default();
    let program = proc::own_program(env, layout::TOOL).ok_or_else(|| Failure::failed("cannot find sweatfile-apply"))?;
    let (name, timeout) = (step.step.name().to_owned(), step.step.timeout);
    let task = Task { key, name, command: step.command.clone(), env: vars.clone(), timeout };
    let json = serde_json::to_string(&task).map_err(|e| Failure::failed("cannot start a step").because(e))?;
    let words = [shell_word(&program), "run-step".into(), "--".into(), shell_word(Path::new(&task.name))];
    let line = format!("nohup {} > /dev/null 2>&1 < /dev/null &", words.join(" "));
    let cmd = proc::shell(env, &line)?.dir(&worktree.path).without_vars(LOCAL_VARS);
    cmd.var(WORKTREE, &worktree.path)
        .var(REPO_ROOT, &worktree.repo.home.checkout)
        .var(STEP, &task.key)
        .var(TASK, json)
        .capture()?;
    let (lock, begin) = (layout::step_lock(&worktree.repo, &task.key), Instant::now());
    let is_over =
        || Ok::<_, Failure>(Record::load(worktree)?.steps.get(&task.key).is_none_or(|run| run.status.is_some()));
    while !Lock::is_held(&lock)? && !is_over()? {
        if begin.elapsed() > START {
            return Err(Failure::failed(format!("the step `{}` did not start", task.name)));
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Ends what is left of a step whose process, or whose set-up, was killed: it must not run beside the next one. Without a key,
/// what is left of a list, which no variable tells from what an earlier one started for good: of that only what works in the
/// worktree.
pub fn end_orphans(worktree: &OpenWorktree, key: Option<&str>) {
    let all = processes::list(&worktree.env);
    let ours = processes::ours(&all);
    let is_its = |process: &Process| {
        let step = || processes::variable(process.pid, STEP);
        !ours.contains(&process.pid) && is_own(worktree, process.pid) && step().as_deref() == key.map(str::as_bytes)
    };
    let mut its = match key {
        Some(_) => all.values().map(|(_, process)| *process).collect(),
        None => processes::working_in(&worktree.env, &worktree.path),
    };
    its.retain(is_its);
    processes::reap_these(&worktree.env, its, |_| true);
}

/// Runs a step to its end, and records that. Exit 75 if it runs already.
pub fn run(worktree: &OpenWorktree, task: &Task) -> Result<()> {
    let lock = layout::step_lock(&worktree.repo, &task.key);
    // Who looks whether it is held, holds it for a moment.
    let _lock = Lock::take(&lock)?;
    let log = fs::new_log(&layout::step_log(&worktree.repo, &task.key), KEPT)?;
    let mut own = log.0.try_clone().map_err(|e| Failure::failed("cannot open a log").because(e))?;
    run_logged(worktree, task, log).inspect_err(|failure| {
        // Nobody else reads what went wrong.
        let _ = writeln!(own, "sweatfile-apply: {failure}");
    })
}

fn run_logged(worktree: &OpenWorktree, task: &Task, log: (File, File)) -> Result<()> {
    let errors = log.0.try_clone().map_err(|e| Failure::failed("cannot open a log").because(e))?;
    let mut own = errors.try_clone().map_err(|e| Failure::failed("cannot open a log").because(e))?;
    let cmd = proc::shell(&worktree.env, &task.command)?.dir(&worktree.path).without_vars(&[TASK]);
    let ended = cmd.error_file(errors).vars(&task.env).into_file(log, task.timeout.unwrap_or(Duration::MAX), MOST)?;
    if ended.is_none() {
        let _ = writeln!(
            own,
            "sweatfile-apply: ended, because it took longer than its timeout, or wrote more than 256 MiB"
        );
    }
    // As of timeout(1).
    Record::end_step(worktree, &task.key, ended.map_or(124, |(status, _)| status.code()))
}

/// Whether a step of the set-up of the worktree at this path runs, also if that is gone, and with it the step's lock.
pub fn runs_for(env: &Env, path: &Path) -> bool {
    let is_its = |pid: &i32| processes::variable(*pid, TASK).is_some() && is_of(path, *pid);
    processes::list(env).keys().any(is_its)
}

fn is_own(worktree: &OpenWorktree, pid: i32) -> bool {
    is_of(&worktree.path, pid)
}

fn is_of(path: &Path, pid: i32) -> bool {
    processes::variable(pid, WORKTREE).is_some_and(|value| value == path.as_os_str().as_encoded_bytes())
}

/// Tells that a set-up holds its lock.
pub fn still_runs(worktree: &OpenWorktree) -> Failure {
    Failure::new(Exit::Busy, "busy", format!("the set-up of {} still runs", worktree.path.display()))
        .hint("wait for it to end and run the same command again")
}

/// Ends those processes that set-up started, that still work in this worktree and that are meant, and waits for a set-up that
/// runs. Returns them in words.
pub fn end_all(worktree: &OpenWorktree, is_meant: impl Fn(i32) -> bool) -> Result<Vec<String>> {
    let reap = || processes::reap(&worktree.env, &worktree.path, |pid| is_own(worktree, pid) && is_meant(pid)).ended;
    let mut ended = reap();
    let setup_lock = layout::setup_lock(&worktree.repo);
    if Lock::is_held(&setup_lock)? {
        let taken = Lock::take(&setup_lock);
        taken.map_err(|failure| if failure.exit == Exit::Busy { still_runs(worktree) } else { failure })?;
        // What that set-up has started meanwhile.
        ended.extend(reap());
    }
    let record = Record::load(worktree)?;
    if record.is_begun && record.is_listed {
        end_orphans(worktree, None);
    }
    for (key, run) in record.steps {
        if Lock::is_held(&layout::step_lock(&worktree.repo, &key))? {
            let failure =
                Failure::new(Exit::No, "busy", format!("the step `{}` of set-up still runs", printable(&run.name)));
            return Err(failure.hint("wait for it: `sweatfile-apply wait`"));
        }
    }
    Ok(ended)
}
