//! What ends us, and the processes that we wait for.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{GRACE, Output, TICK, collect, start_thread};
use crate::error::{Exit, Failure, Result};

/// How long we wait for the output's end of what was ended.
const OUTPUT_END: Duration = Duration::from_secs(1);

/// The signal that asked us to end, once one came while a child ran.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

/// The leaders of the groups that run now.
static GROUPS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

pub(super) fn groups() -> std::sync::MutexGuard<'static, Vec<u32>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many [`Deferred`] values are alive.
static DEFERRED: AtomicUsize = AtomicUsize::new(0);

/// Whether we are tidying up after a signal.
static IS_TIDYING: AtomicBool = AtomicBool::new(false);

/// From now on SIGINT, SIGTERM and SIGHUP end running children but not us. Work in progress must call
/// [`check_interrupt`], and undo what it began.
pub fn defer_signals() -> Deferred {
    DEFERRED.fetch_add(1, Ordering::SeqCst);
    watch_signals();
    Deferred(())
}

/// While this value lives, a signal does not end us.
#[derive(Debug)]
pub struct Deferred(());

impl Drop for Deferred {
    fn drop(&mut self) {
        DEFERRED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Tidies up after a signal. Children may be started again; a further signal ends them.
pub fn tidy_up<T>(work: impl FnOnce() -> T) -> T {
    IS_TIDYING.store(true, Ordering::SeqCst);
    let done = work();
    IS_TIDYING.store(false, Ordering::SeqCst);
    done
}

/// Fails (exit 128+n) once a signal asked us to end.
pub fn check_interrupt() -> Result<()> {
    match CAUGHT.load(Ordering::SeqCst) {
        0 => Ok(()),
        _ if IS_TIDYING.load(Ordering::SeqCst) => Ok(()),
        signal => Err(Failure::new(
            Exit::Signal(u8::try_from(signal).unwrap_or(0)),
            "interrupted",
            format!("ended by signal {signal}"),
        )),
    }
}

type Handler = Box<dyn Fn(i32) -> bool + Send + Sync>;

/// The handler that receives signals in a program that tidies up by itself.
static HANDLER: OnceLock<Handler> = OnceLock::new();

/// From now on SIGINT, SIGTERM and SIGHUP go to `handler` alone and end neither us nor a running child, unless the
/// handler returns `false`; then we end as without it. For programs that keep running and finish what they are doing.
pub fn handle_signals(handler: impl Fn(i32) -> bool + Send + Sync + 'static) {
    let _ = HANDLER.set(Box::new(handler));
    watch_signals();
}

/// A child in its own group does not see a Ctrl-C that is meant for all of us, so its group is ended;
/// without a child the signal does what it does by default, which our writes survive by design.
pub(super) fn watch_signals() {
    static STARTED: OnceLock<()> = OnceLock::new();
    STARTED.get_or_init(|| {
        let (send, caught) = mpsc::channel::<Signals>();
        let receive = move || {
            let Ok(mut signals) = caught.recv() else { return };
            for signal in signals.forever() {
                if let Some(handler) = HANDLER.get() {
                    if !handler(signal) {
                        let _ = signal_hook::low_level::emulate_default_handler(signal);
                    }
                    continue;
                }
                // Before we look: nothing but what tidies up starts after this.
                let again = CAUGHT.swap(signal, Ordering::SeqCst) != 0;
                let running = groups().clone();
                if running.is_empty() && DEFERRED.load(Ordering::SeqCst) == 0 {
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
                // A shell lets what it starts in the background ignore SIGINT.
                end_groups(&running, if again { Signal::KILL } else { Signal::TERM });
                // Without it, another signal kills.
                let _ = start_thread(move || {
                    thread::sleep(GRACE);
                    // What was begun to tidy up is not cut off.
                    let now = groups().clone();
                    let still: Vec<u32> = running.into_iter().filter(|pid| now.contains(pid)).collect();
                    end_groups(&still, Signal::KILL);
                });
            }
        };
        // Where nobody would receive them, they do what they do by default.
        if start_thread(receive).is_ok()
            && let Ok(signals) = Signals::new([SIGINT, SIGTERM, SIGHUP])
        {
            let _ = send.send(signals);
        }
    });
}

pub(super) fn end_groups(pids: &[u32], signal: Signal) {
    for pid in pids {
        if let Some(pid) = i32::try_from(*pid).ok().and_then(Pid::from_raw)
            && kill_process_group(pid, signal).is_err()
        {
            // It is not a group leader yet, so only it is signalled.
            let _ = kill_process(pid, signal);
        }
    }
}

/// Ends a child, which is asked first unless it `is_asked` already, and waits for it and its output. A process outside of its
/// group may hold that open for ever, as a stopped server of tmux does, so it is given up soon after the group is gone.
pub(super) fn end(handle: &duct::Handle, is_asked: bool) -> io::Result<Output> {
    let (pids, begin) = (handle.pids(), Instant::now());
    if !is_asked {
        // git removes its locks when it is asked to end.
        end_groups(&pids, Signal::TERM);
    }
    while begin.elapsed() < GRACE && left(&pids).next().is_some() {
        if let Some(output) = handle.wait_timeout(TICK)? {
            return Ok(collect(output));
        }
    }
    end_groups(&pids, Signal::KILL);
    handle.wait_timeout(OUTPUT_END)?.map(collect).ok_or_else(|| io::ErrorKind::TimedOut.into())
}

/// Kills what is left of groups whose leaders have ended, when it `is_time`.
pub(super) fn end_rest(pids: &[u32], is_time: impl Fn() -> bool) {
    while !is_time() && left(pids).next().is_some() {
        thread::sleep(TICK);
    }
    // The number of a leader may be another's by now, but not that of a group that is still there.
    for group in left(pids) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Those of the groups that are still there.
fn left(pids: &[u32]) -> impl Iterator<Item = Pid> {
    let groups = pids.iter().filter_map(|pid| Pid::from_raw(i32::try_from(*pid).ok()?));
    groups.filter(|group| test_kill_process_group(*group).is_ok())
}
