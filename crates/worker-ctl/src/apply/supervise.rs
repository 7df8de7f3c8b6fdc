//! The `up` that keeps running: it keeps all sessions up, and patrols until a signal asks it to end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc;
use shopfloor_core::time::Unit;

use crate::apply::bring_up::{bring_up, locked, make_missing};
use crate::apply::deliver::go_on;
use crate::apply::patrol::{self, PatrolScope};
use crate::apply::{check, give_task, host_status, recover, session, shutdown, transition};
use crate::attention::{SOON, ends};
use crate::context::Context;
use crate::facts::{clashes, processes};
use crate::failure;
use crate::layout::{self, RootLock};
use crate::notify_person::Bell;
use crate::plan::check::CheckStep;
use crate::plan::machine::Input;
use crate::plan::queue::assign;
use crate::session_file::UsageLimit;
use crate::store::{self, State};
use crate::tmux::{self, is_begun};
use crate::up_lock;
use crate::work_repo::{common_dir, has_clone};
use crate::worker::{Session, Worker};
use crate::worker_notes::{Fault, Note};

/// How often to check for new commits, new workers and signals. Each check costs a few `stat` calls.
const POLL: Duration = Duration::from_millis(250);

/// The interval between rounds while a text waits for a person to stop typing.
const SHORT_INTERVAL: Duration = Duration::from_secs(1);

/// The same while a job waits in a cluster, or a task for a worker that cannot take it yet.
const QUEUED_INTERVAL: Duration = Duration::from_secs(5);

/// What an `up` that keeps running does beside keeping the sessions up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Duties {
    /// It looks for commits and for programs that ended, and gives out the tasks of the queue.
    pub patrols: bool,
    /// Each program that it starts is made to go on with its task.
    pub resumes: bool,
    /// Tasks of programs that crashed go back to the queue.
    pub requeues: bool,
}

/// Runs until a signal asks it to end. Then it ends all sessions; tasks stay as they are.
pub fn keep_up(ctx: &Context<'_>, duties: Duties) -> Result<Exit> {
    // Without a readable state there is nothing to keep up, and only a person can repair that.
    let state = ctx.state()?;
    // Without tmux there is nothing to wait for.
    ctx.tmux()?;
    let (send, signals) = mpsc::channel();
    // Before our number is in the lock. The default handler takes the second signal and ends us at once.
    let ending = ctx.ending.clone();
    proc::handle_signals(move |signal| !ending.fetch_or(true, Ordering::SeqCst) && send.send(signal).is_ok());
    let _lock = up_lock::take(&ctx.root.path)?;
    let patrolling = || Lock::take(&layout::lock(&ctx.root.path, RootLock::Patrolling));
    let _patrolling = duties.patrols.then(patrolling).transpose()?;
    not_started(&state).iter().for_each(|line| ctx.ui.warn(line));
    let (mut ctx, mut changed) = (ctx.reload()?, None);
    // Programs start in threads, so that a slow one does not delay the patrol.
    let shared = Shared::default();
    let mut rounds = Rounds { duties, is_first: true, ..Rounds::default() };
    thread::scope(|scope| {
        let (mut starters, mut hosts) = (Vec::new(), None::<(Instant, Option<thread::ScopedJoinHandle<'_, ()>>)>);
        loop {
            // If the file cannot be read, the previous configuration stays.
            let now = fs::changed(&layout::config(&ctx.root.path));
            if changed.replace(now) != Some(now) {
                let renewed = ctx.reload().map(|renewed| ctx = renewed);
                shared.warn(&ctx, "config", renewed.err().map(|failure| failure.to_string()));
            }
            let is_due = rounds.is_due(&ctx, &shared);
            if is_due.is_err() {
                // The threads check whether they must end.
                ctx.ending.store(true, Ordering::SeqCst);
            }
            if is_due? {
                // The steps are independent: a failure of one does not prevent the others.
                if let Some((own, names)) = rounds.find_starts(&ctx, &shared) {
                    let shared = &shared;
                    starters.extend(proc::begin(scope, move || start_all(&own, &names, duties.resumes, shared)));
                }
                rounds.look(&ctx, &shared);
                for (name, errand) in rounds.find_errands(&ctx, &shared) {
                    let (own, shared) = (ctx.clone(), &shared);
                    starters.extend(proc::begin(scope, move || run_errand(&own, &name, &errand, shared)));
                }
            }
            // A host that is slow delays nobody.
            let is_idle = |(began, asking): &(Instant, Option<thread::ScopedJoinHandle<'_, ()>>)| {
                asking.as_ref().is_none_or(|asking| asking.is_finished()) && began.elapsed() >= patrol_interval(&ctx)
            };
            if !ctx.root.config.hosts.is_empty() && hosts.as_ref().is_none_or(is_idle) {
                let (own, shared) = (ctx.clone(), &shared);
                let ask = move || shared.warn(&own, "hosts", host_status::look_after(&own));
                hosts = Some((Instant::now(), proc::begin(scope, ask).ok()));
            }
            starters.retain(|starter: &thread::ScopedJoinHandle<'_, ()>| !starter.is_finished());
            if let Ok(signal) = signals.recv_timeout(POLL) {
                ctx.ui.note("ending all sessions");
                up_lock::limit_shutdown(signal);
                // The threads check whether they must end.
                starters.into_iter().for_each(|starter| drop(starter.join()));
                shutdown::end_all(&ctx, false)?;
                return Ok(Exit::Signal(u8::try_from(signal).unwrap_or(0)));
            }
        }
    })
}

/// The values that the loop shares with the threads that start programs.
#[derive(Default)]
struct Shared {
    /// The workers whose programs are being started.
    starting: Mutex<BTreeSet<String>>,
    /// What is being done for a worker.
    errands: Mutex<BTreeMap<String, Errand>>,
    /// The workers that could not be helped, when that was tried, and the commit of the work that they had then.
    failed: Mutex<BTreeMap<String, (Instant, Option<String>)>>,
    /// Whether something may have been passed over for an errand that has ended since, or for a set-up or another command
    /// whose end changes no file.
    is_passed_over: AtomicBool,
    /// The latest warnings of each kind.
    warned: Mutex<BTreeMap<String, BTreeSet<String>>>,
}

impl Shared {
    /// Prints each warning once. A warning is printed again only if it was gone in between.
    fn warn(&self, ctx: &Context<'_>, kind: &str, warnings: impl IntoIterator<Item = String>) {
        let warnings: Vec<String> = warnings.into_iter().collect();
        let mut all = locked(&self.warned);
        let before = all.entry(kind.to_owned()).or_default();
        warnings.iter().filter(|warning| !before.contains(*warning)).for_each(|warning| ctx.ui.warn(warning));
        *before = warnings.into_iter().collect();
    }
}

/// The state of the loop between its rounds. Each round looks at all workers.
#[derive(Default)]
struct Rounds {
    duties: Duties,
    /// The result of [`read_mtimes`] at the start of the last round.
    seen: Vec<Option<jiff::Timestamp>>,
    last: Option<Instant>,
    /// The programs that ran at the end of the last round.
    programs: Vec<i32>,
    is_first: bool,
    /// Whether a text waits for a person to stop typing.
    is_waiting: bool,
    /// Whether a worker's job waits in a cluster.
    is_queued: bool,
    bell: Bell,
    /// The usage limits that workers have hit, each with the time at which its program is told to go on, and the same on a
    /// clock that nobody sets.
    limits: BTreeMap<String, (UsageLimit, Option<i64>, Option<Instant>)>,
}

impl Rounds {
    /// Whether a round is due, and the state can be read. Exit 4 once a newer version has written it.
    fn is_due(&mut self, ctx: &Context<'_>, shared: &Shared) -> Result<bool> {
        let interval = patrol_interval(ctx);
        let interval = if self.is_waiting { interval.min(SHORT_INTERVAL) } else { interval };
        // Slurm tells nobody that a job runs, and no file that a set-up is over.
        let is_due = self.is_queued || shared.is_passed_over.load(Ordering::Relaxed);
        let interval = if is_due { interval.min(QUEUED_INTERVAL) } else { interval };
        let now = read_mtimes(ctx);
        // tmux 3.3 misses some ends, so its hook does not tell of every one. Each end counts once, whatever comes of it.
        let running = self.programs.len();
        self.programs.retain(|pid| processes::is_alive(*pid));
        let has_ended = self.programs.len() < running;
        let is_limit_over = self.limits.values().any(|(.., end)| end.is_some_and(|end| end <= Instant::now()));
        if self.last.is_some_and(|last| last.elapsed() < interval) && now == self.seen && !has_ended && !is_limit_over {
            return Ok(false);
        }
        (self.seen, self.last) = (now, Some(Instant::now()));
        shared.is_passed_over.store(false, Ordering::Relaxed);
        let unreadable = ctx.state().err().map(|failure| failure.to_string());
        let is_readable = unreadable.is_none();
        if !is_readable {
            let goes_on = "the sessions go on; start `up` of the newer version, which keeps them up";
            store::require_ours(&ctx.root.path).map_err(|failure| failure.hint(goes_on))?;
        }
        // If the state cannot be read, the next round is due when the file changes.
        shared.warn(ctx, "state", unreadable);
        Ok(is_readable)
    }

    /// Patrols, and rings for work that has come to need a review.
    fn look(&mut self, ctx: &Context<'_>, shared: &Shared) {
        if self.duties.patrols {
            self.patrol(ctx, shared);
        }
        if let Ok(state) = ctx.state() {
            self.bell.look(ctx, &state, &|worker| check::is_for_nobody_yet(ctx, worker));
            self.is_queued = state.workers.values().any(|worker| worker.program.job_waits_for.is_some());
            self.note_limits(ctx, &state);
            // A check that was void is repeated once the worktree rests.
            self.is_waiting |= state.workers.values().any(|worker| check::is_soon_due(ctx, worker));
            let up = state.workers.values().filter(|worker| worker.program.session == Session::Up);
            self.programs =
                up.filter_map(|worker| worker.program.pane_pid).filter(|pid| processes::is_alive(*pid)).collect();
        }
    }

    /// Keeps by the monotonic clock when limited programs are told to go on. Soon after a limit is hit, its end may be told.
    fn note_limits(&mut self, ctx: &Context<'_>, state: &State) {
        let now = ctx.now();
        self.limits.retain(|name, _| state.workers.get(name).is_some_and(|worker| worker.program.limit.is_some()));
        for worker in state.workers.values() {
            let Some(limit) = &worker.program.limit else { continue };
            let ends = ends(&ctx.root, worker, limit);
            let is_known = |(known, end, _): &(UsageLimit, Option<i64>, _)| known == limit && *end == ends;
            if !self.limits.get(&worker.name).is_some_and(is_known) {
                let seconds = ends.map(|end| u64::try_from(end - now).unwrap_or(0));
                let end = seconds.and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds)));
                self.limits.insert(worker.name.clone(), (limit.clone(), ends, end));
            }
            self.is_waiting |= limit.until_unix.is_none() && now - limit.since_unix < SOON;
        }
    }

    /// The workers whose programs must be started.
    fn find_starts<'a>(&mut self, ctx: &Context<'a>, shared: &Shared) -> Option<(Context<'a>, Vec<String>)> {
        match find_missing(ctx, self.is_first).and_then(|missing| Ok((missing, ctx.reload()?))) {
            Ok(((failures, mut names), own)) => {
                self.is_first = false;
                shared.warn(ctx, "tick", failures);
                names.retain(|name| locked(&shared.starting).insert(name.clone()));
                (!names.is_empty()).then_some((own, names))
            }
            Err(failure) => {
                shared.warn(ctx, "tick", warning_unless_state(&failure));
                None
            }
        }
    }

    /// The limit of a worker's program that is over, or none where only a note tells that one was.
    fn limit_over(&self, worker: &Worker) -> Option<Option<UsageLimit>> {
        let noted = worker.notes.iter().any(|note| matches!(note, Note::LimitOver(_)));
        match (&worker.program.limit, self.limits.get(&worker.name)) {
            (None, _) => (noted && worker.has_open_task()).then_some(None),
            (Some(limit), Some((known, _, end))) => {
                (known == limit && end.is_some_and(|end| end <= Instant::now())).then(|| Some(limit.clone()))
            }
            (Some(_), None) => None,
        }
    }

    /// What is to be done for workers that nothing is done for yet. Who could not be helped is left alone for an interval, or
    /// until it has committed.
    fn find_errands(&mut self, ctx: &Context<'_>, shared: &Shared) -> Vec<(String, Errand)> {
        let Ok(state) = ctx.state() else { return Vec::new() };
        let interval = patrol_interval(ctx);
        locked(&shared.failed).retain(|name, (tried, work)| {
            tried.elapsed() < interval && state.workers.get(name).is_some_and(|worker| worker.work.commit_sha == *work)
        });
        let mut under_way = locked(&shared.errands);
        let is_free = |worker: &Worker| {
            !under_way.contains_key(&worker.name)
                && !locked(&shared.failed).contains_key(&worker.name)
                && !locked(&shared.starting).contains(&worker.name)
        };
        let mut found: Vec<(String, Errand)> = Vec::new();
        for worker in state.workers.values().filter(|worker| self.duties.patrols && is_free(worker)) {
            let Some(over) = self.limit_over(worker) else { continue };
            if worker.program.session == Session::Up && worker.pending_send.is_none() {
                found.push((worker.name.clone(), Errand::GoOn(over)));
            }
        }
        // Who is not helped now is looked at again after an interval.
        let later = Instant::now() + interval;
        self.limits
            .values_mut()
            .filter_map(|(.., end)| end.as_mut())
            .filter(|end| **end <= Instant::now())
            .for_each(|end| *end = later);
        if self.duties.patrols {
            let jobs = usize::try_from(ctx.root.config.settings.number("check_jobs")).unwrap_or(1).max(1);
            let jobs = jobs.saturating_sub(under_way.values().filter(|errand| matches!(errand, Errand::Check)).count());
            let due = |step: CheckStep| {
                let workers = state.workers.values().filter(|worker| is_free(worker));
                workers.filter(move |worker| check::due(ctx, worker) == Some(step)).map(|worker| worker.name.clone())
            };
            let due: Vec<String> = due(CheckStep::Tell).chain(due(CheckStep::Run).take(jobs)).collect();
            found.extend(due.into_iter().map(|name| (name, Errand::Check)));
        }
        if self.duties.requeues {
            let crashed =
                state.workers.values().filter(|worker| give_task::crashed_with_queued(worker) && is_free(worker));
            found.extend(crashed.map(|worker| (worker.name.clone(), Errand::PutBack(Box::new(worker.clone())))));
        }
        if self.duties.patrols && !state.queue.waiting.is_empty() {
            let in_hand = under_way.values().filter_map(|errand| match errand {
                Errand::Give(id) => Some(id.clone()),
                Errand::PutBack(_) | Errand::GoOn(_) | Errand::Check => None,
            });
            let in_hand: BTreeSet<String> = in_hand.collect();
            let room = ERRANDS.min(give_task::room(ctx, &state)).saturating_sub(in_hand.len());
            let held = give_task::held_agents(ctx, &state);
            let agent = |worker: &Worker| {
                let agent = ctx.root.agent_name(worker);
                (is_free(worker) && !held.contains(&agent)).then_some(agent)
            };
            let in_pool = |worker: &Worker| !ctx.root.worker(&worker.name).excluded_from_pool;
            let given = assign(&state, (&in_hand, room), &agent, &in_pool);
            found.extend(given.into_iter().map(|(name, id)| (name, Errand::Give(id))));
        }
        // One at a time for each worker.
        let mut names = BTreeSet::new();
        found.retain(|(name, _)| names.insert(name.clone()));
        under_way.extend(found.iter().cloned());
        found
    }

    /// Records what happened and rebases reviews.
    fn patrol(&mut self, ctx: &Context<'_>, shared: &Shared) {
        let patrol = || {
            // The root may have got its clone meanwhile.
            let renewed = (ctx.clone.is_own && has_clone(&ctx.root.path)).then(|| ctx.reload()).transpose()?;
            let ctx = renewed.as_ref().unwrap_or(ctx);
            let _tick = ctx.lock_root(RootLock::Patrol)?;
            recover::finish_all(ctx)?;
            shared.is_passed_over.fetch_or(patrol::tick(ctx, PatrolScope::All)?, Ordering::Relaxed);
            let waits = patrol::refresh(ctx, false)?;
            // Nothing depends on it.
            let warnings = Mutex::new(Vec::new());
            let found = clashes::find(ctx, &|warning| locked(&warnings).push(warning));
            let warnings = warnings.into_inner().unwrap_or_default();
            shared.warn(ctx, "clashes", warnings.into_iter().chain(found.err().map(|failure| failure.to_string())));
            Ok(waits)
        };
        match patrol() {
            Ok(waits) => {
                self.is_waiting = !waits.is_empty();
                shared.warn(ctx, "patrol", None);
                shared.warn(ctx, "typing", waits);
            }
            Err(failure) => shared.warn(ctx, "patrol", warning_unless_state(&failure)),
        }
    }
}

/// How often all workers are looked at, whatever happens.
fn patrol_interval(ctx: &Context<'_>) -> Duration {
    ctx.root.config.settings.duration("patrol_interval_secs", Unit::Seconds).max(Duration::from_secs(1))
}

/// Something that takes long and that is done for one worker, beside the rounds.
#[derive(Clone, Debug)]
enum Errand {
    /// It gets the task of the queue with this id.
    Give(String),
    /// Its program crashed, and its task goes back to the queue.
    PutBack(Box<Worker>),
    /// This usage limit is over, or one was before, and it goes on with its task.
    GoOn(Option<UsageLimit>),
    /// Its work is checked, and it is told what failed.
    Check,
}

/// How many errands are run at the same time.
const ERRANDS: usize = 8;

fn run_errand(ctx: &Context<'_>, name: &str, errand: &Errand, shared: &Shared) {
    let work = ctx.worker(name).ok().and_then(|worker| worker.work.commit_sha);
    let done = ctx.reload().and_then(|ctx| match errand {
        Errand::Give(id) => {
            let is_it = |errand: &Errand, id: &str| matches!(errand, Errand::Give(given) if given == id);
            let is_given = |id: &str| locked(&shared.errands).values().any(|errand| is_it(errand, id));
            give_task::take(&ctx, name, id, &is_given).map(|()| true)
        }
        Errand::PutBack(worker) => give_task::put_back(&ctx, worker).map(|()| true),
        Errand::Check => check::look_after(&ctx, name),
        Errand::GoOn(over) => {
            let worker = ctx.worker(name)?;
            // It may have gone on, or have hit another one.
            if worker.program.limit != *over {
                return Ok(true);
            }
            if over.is_some() {
                transition::observe(&ctx, &worker, &Input::LimitOver)?;
            }
            go_on(&ctx, name, false).map(|_| true)
        }
    });
    let said = done.as_ref().err().map(|failure| format!("{name}: {failure}"));
    if said.is_some() {
        locked(&shared.failed).insert(name.to_owned(), (Instant::now(), work));
    }
    shared.warn(ctx, &format!("worker {name}"), said);
    locked(&shared.errands).remove(name);
    shared.is_passed_over.fetch_or(done.unwrap_or(true), Ordering::Relaxed);
}

/// A warning about a failure, unless it is about the state, which has a warning of its own.
fn warning_unless_state(failure: &Failure) -> Option<String> {
    (!failure::STATE.is_kind_of(failure)).then(|| failure.to_string())
}

fn start_all(ctx: &Context<'_>, names: &[String], resumes: bool, shared: &Shared) {
    let then = |name: &str| if resumes { go_on(ctx, name, false).map(drop) } else { Ok(()) };
    let failures = bring_up(ctx, names, &then, &|name| {
        locked(&shared.starting).remove(name);
    });
    locked(&shared.starting).retain(|name| !names.contains(name));
    shared.warn(ctx, "start", failures.iter().map(ToString::to_string));
}

/// The workers that `up` leaves alone until a person has looked at them, a line each.
pub fn not_started(state: &State) -> Vec<String> {
    let is_left = |worker: &Worker| !matches!(worker.program.fault, None | Some(Fault::NoSandbox));
    let stays = |worker: &&Worker| worker.program.session != Session::Up && is_left(worker);
    let line = |worker: &Worker| {
        let why = worker.program.fault.as_ref().map(ToString::to_string).unwrap_or_default();
        let name = &worker.name;
        format!(
            "{name} is not started: its program ended up in an error ({why}); `worker-ctl up {name}` starts it again"
        )
    };
    state.workers.values().filter(stays).map(line).collect()
}

/// Creates missing workers, and finds those whose sessions must be started; in the first round also those whose program
/// ended without a fault. Returns the failures and the names.
fn find_missing(ctx: &Context<'_>, is_first: bool) -> Result<(Vec<String>, Vec<String>)> {
    let failures = make_missing(ctx, None);
    if is_first {
        ctx.update(|state| {
            for Worker { program, .. } in state.workers.values_mut() {
                program.is_stopped = false;
                // There may be one again.
                program.fault.take_if(|fault| *fault == Fault::NoSandbox);
            }
            Ok(())
        })?;
    }
    let state = ctx.state()?;
    let panes = ctx.tmux()?.panes()?;
    // Sessions that an earlier `up` left are adopted as they are, unless the program was never recorded as ready for input.
    for worker in
        state.workers.values().filter(|worker| worker.program.session != Session::Up && worker.program.fault.is_none())
    {
        if let Some(pane) = tmux::find(&panes, worker).filter(|pane| pane.end.is_none() && !is_begun(worker, pane))
            && let Some(_lock) = ctx.try_lock(&worker.name)?
        {
            let up = Input::SessionUp { pane: pane.id.clone(), pid: pane.pid };
            transition::observe(ctx, worker, &session::unrecorded_start(worker, pane).unwrap_or(up))?;
        }
    }
    // Record crashes before anything is started, so that a program with an unrecorded crash is not restarted.
    patrol::tick(ctx, PatrolScope::Sessions)?;
    let state = ctx.state()?;
    let is_missing = |worker: &&Worker| {
        let pane = tmux::find(&panes, worker);
        let needs_start = pane.is_none_or(|pane| is_first && pane.end.is_some() || is_begun(worker, pane));
        let is_queued = worker.program.job_waits_for.is_some() && pane.is_some();
        worker.program.fault.is_none() && needs_start && !is_queued && !worker.program.is_stopped
    };
    // Another process is starting a worker whose lock is held.
    let is_free = |worker: &&Worker| {
        worker.program.pane_id.is_none() || ctx.try_lock(&worker.name).is_ok_and(|lock| lock.is_some())
    };
    let names = state.workers.values().filter(is_missing).filter(is_free).map(|worker| worker.name.clone()).collect();
    Ok((failures, names))
}

/// The modification times of the files that change when somebody commits, adds a worker or gives a task.
fn read_mtimes(ctx: &Context<'_>) -> Vec<Option<jiff::Timestamp>> {
    let root = &ctx.root.path;
    let has_adopted = ctx.root.config.workers.values().any(|table| table.adopted);
    let source = has_adopted.then(|| common_dir(&ctx.source()));
    let records = [Some(root.join(".git")), source].into_iter().flatten().flat_map(|common| {
        let all = common.join("worktrees");
        fs::list(&all).unwrap_or_default().into_iter().map(move |name| all.join(name))
    });
    // Where refs are stored in tables, HEAD has no log of its own.
    let heads =
        records.flat_map(|record| ["logs/HEAD", "reftable/tables.list"].map(|file| fs::changed(&record.join(file))));
    let own = [layout::config(root), layout::state(root)].map(|path| fs::changed(&path));
    own.into_iter().chain(heads).collect()
}
