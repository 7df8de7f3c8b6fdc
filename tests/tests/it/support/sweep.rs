//! Kills a command at its writes or around its git commands, and lets the test look at what is left.
//!
//! The normal run kills at a sample of these points, which a seed chooses; `cargo xtask faults` kills at each of them.

use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use crate::support::floor::Floor;
use crate::support::world::{Repo, find, skip};

/// The system calls that change a file, in groups of which a sample takes one each.
const CALLS: [&[&str]; 4] = [
    &["rename", "renameat", "renameat2"],
    &["fsync"],
    &["write"],
    &["link", "linkat", "mkdir", "mkdirat", "symlinkat", "unlink", "unlinkat"],
];

/// How many points of a group there are without strace: then a sweep kills after a while, a little later each time.
const TIMES: u32 = 10;

/// Kills sweatfile-apply at its writes, each time in what `prepare` makes anew; then `verify` looks.
pub fn sweep<'w>(prepare: impl Fn(&str) -> Repo<'w>, args: &[&str], verify: impl Fn(&Repo<'w>, &str)) {
    sweep_tool("sweatfile-apply", prepare, args, verify);
}

/// Kills any tool at its writes. Returns at how many points it can be killed.
pub fn sweep_tool<'w>(
    tool: &str,
    prepare: impl Fn(&str) -> Repo<'w>,
    args: &[&str],
    verify: impl Fn(&Repo<'w>, &str),
) -> usize {
    let strace = strace();
    let kill = |call: &str, nth: u32| {
        let repo = prepare(&format!("{call}-{nth}"));
        let killed = match &strace {
            Some(strace) => killed_by_strace(&repo, strace, call, nth, tool, args),
            None => nth <= TIMES && killed_after(&repo, nth * 300, tool, args),
        };
        verify(&repo, &format!("after a kill at {call} {nth}"));
        killed
    };
    let groups = match &strace {
        Some(strace) => {
            let repo = prepare("unharmed");
            let groups = points_of(&repo, strace, tool, args);
            verify(&repo, "after no kill");
            groups
        }
        None => CALLS.map(|calls| (1..=TIMES).map(|nth| (calls[0], nth)).collect()),
    };
    let points = kill_at_each(&groups, &format!("{tool} {}", args.join(" ")), kill);
    assert!(points >= 3, "only {points} points to kill at");
    points
}

/// Kills worker-ctl before and after its git commands that change something; `deadly_git` must be on the PATH. Returns
/// at how many points it can be killed.
pub fn sweep_git(floor: &Floor<'_>, prepare: impl Fn(), args: &[&str], verify: impl Fn(&str)) -> usize {
    let counter = floor.root.world.path("count");
    let run = |when: &str, nth: u32| {
        prepare();
        let _ = std::fs::remove_file(&counter);
        let vars = [("KILL_AT", nth.to_string()), ("KILL_WHEN", when.to_owned())];
        let vars = vars.each_ref().map(|(name, value)| (*name, value.as_str()));
        floor.root.run_with("worker-ctl", args, &vars).any_status().any_out().any_err().status.is_none()
    };
    let kill = |when: &str, nth| {
        let killed = run(when, nth);
        verify(&format!("{when} git command {nth}"));
        killed
    };
    run("never", 0);
    let made: u32 = std::fs::read_to_string(&counter).unwrap_or_default().trim().parse().unwrap_or_default();
    verify("after no kill");
    let groups = ["before", "after"].map(|when| (1..=made).map(|nth| (when, nth)).collect());
    kill_at_each(&groups, &format!("worker-ctl {} around git", args.join(" ")), kill)
}

/// How often a test repeats what only a race can break: `many` times in a whole round (`cargo xtask faults`), else a few.
pub fn rounds(few: usize, many: usize) -> usize {
    match Choice::get() {
        Choice::Whole => many,
        Choice::Sample { .. } => few,
    }
}

/// Requires that a sweep found so many points, where strace counts them.
#[track_caller]
pub fn assert_often(points: usize, least: usize) {
    assert!(points >= least || strace().is_none(), "only {points} points to kill at");
}

/// Which points a sweep kills at.
#[derive(Clone, Copy)]
enum Choice {
    Whole,
    Sample { seed: u64 },
}

impl Choice {
    /// `SHOPFLOOR_FAULTS=whole` asks for every point, `SHOPFLOOR_SEED` for the sample of an earlier run.
    fn get() -> Choice {
        static SEED: LazyLock<u64> = LazyLock::new(|| match std::env::var("SHOPFLOOR_SEED") {
            Ok(seed) => seed.parse().expect("SHOPFLOOR_SEED is a number"),
            // Not the whole range, so that a person can copy it.
            Err(_) => u64::from(RandomState::new().hash_one(std::process::id()) as u32),
        });
        match std::env::var("SHOPFLOOR_FAULTS").as_deref() {
            Ok("whole") => Choice::Whole,
            Ok(other) => panic!("SHOPFLOOR_FAULTS is `{other}`; only `whole` is known"),
            Err(_) => Choice::Sample { seed: *SEED },
        }
    }
}

/// A point at which a command can be killed: the kind, and a number that counts the points of this kind from 1.
pub type Point<'k> = (&'k str, u32);

/// Calls `kill` for the points of each group, or a sample of them. It returns whether the command was killed there. Returns the number of
/// points.
pub fn kill_at_each(groups: &[Vec<Point<'_>>], what: &str, kill: impl Fn(&str, u32) -> bool) -> usize {
    let all = groups.iter().map(Vec::len).sum::<usize>();
    let killed: usize = match Choice::get() {
        Choice::Whole => groups.iter().flatten().filter(|(kind, nth)| kill(kind, *nth)).count(),
        Choice::Sample { seed } => {
            // The runner shows this when the test fails.
            let counts: Vec<usize> = groups.iter().map(Vec::len).collect();
            eprintln!("`{what}` is killed at one of each of {counts:?} points; the same again: SHOPFLOOR_SEED={seed}");
            eprintln!("kill at every point: `cargo xtask faults`, or SHOPFLOOR_FAULTS=whole");
            // A command may come to fewer points when it finds a directory or a cache of an earlier run: try others.
            let sample = |group: &Vec<Point<'_>>| {
                let points = shuffled(seed, what, group.clone());
                usize::from(points.iter().any(|(kind, nth)| kill(kind, *nth)))
            };
            groups.iter().map(sample).sum()
        }
    };
    let least = groups.iter().filter(|group| !group.is_empty()).count().min(3);
    assert!(killed >= least, "only {killed} kills at {all} points");
    all
}

/// The points in an order that depends on the seed.
fn shuffled<'k>(seed: u64, what: &str, mut points: Vec<Point<'k>>) -> Vec<Point<'k>> {
    points.sort_by_cached_key(|point| {
        let mut hasher = DefaultHasher::new();
        (seed, what, point).hash(&mut hasher);
        hasher.finish()
    });
    points
}

/// strace, where there is one that may trace. Without it a sweep kills after a while instead, and counts as skipped.
fn strace() -> Option<PathBuf> {
    let may_trace = |strace: &PathBuf| {
        let probe = Command::new(strace).args(["-qq", "-o", "/dev/null", "true"]).status();
        probe.is_ok_and(|status| status.success())
    };
    let strace = find("strace").filter(may_trace);
    if strace.is_none() {
        skip("strace");
    }
    strace
}

/// Runs the command to its end, and finds the points of each group of calls.
fn points_of(repo: &Repo<'_>, strace: &Path, tool: &str, args: &[&str]) -> [Vec<Point<'static>>; CALLS.len()] {
    let log = repo.world.path("calls");
    let mut command = repo.world.command(strace);
    let trace = format!("trace={}", CALLS.concat().join(","));
    command.args(["-qq", "-e", &trace, "-e", "signal=none", "-o"]).arg(&log);
    command.arg(repo.world.path("bin").join(tool)).args(args).current_dir(&repo.path);
    command.output().unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    let points_of = |call: &'static str| {
        let lines = text.lines().filter(move |line| line.split('(').next() == Some(call));
        lines.zip(1..).map(move |(_, nth)| (call, nth))
    };
    CALLS.map(|calls| calls.iter().flat_map(|call| points_of(call)).collect())
}

fn killed_by_strace(repo: &Repo<'_>, strace: &Path, call: &str, nth: u32, tool: &str, args: &[&str]) -> bool {
    let mut command = repo.world.command(strace);
    command.args(["-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e"]);
    command.arg(format!("inject={call}:signal=KILL:when={nth}"));
    command.arg(repo.world.path("bin").join(tool)).args(args).current_dir(&repo.path);
    command.output().unwrap().status.signal() == Some(9)
}

fn killed_after(repo: &Repo<'_>, micros: u32, tool: &str, args: &[&str]) -> bool {
    let mut command = repo.world.command(repo.world.path("bin").join(tool));
    let command = command.args(args).current_dir(&repo.path).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    std::thread::park_timeout(std::time::Duration::from_micros(micros.into()));
    child.kill().unwrap();
    child.wait().unwrap();
    true
}
