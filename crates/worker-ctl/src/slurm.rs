//! Slurm, which holds a worker's program as a job: the words that start one, and what `squeue` says.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::proc::{self, Cmd};
use shopfloor_core::text::printable;

/// How long Slurm may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// What a job asks for, `slurm = {…}` of a runner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct SlurmTable {
    partition: Option<String>,
    cpus: Option<u32>,
    mem: Option<String>,
    time: Option<String>,
    gres: Option<String>,
    /// Other words for `srun`.
    #[serde(default)]
    extra: Vec<String>,
}

impl SlurmTable {
    /// The word of `extra` by which we would not find its jobs again.
    pub fn hiding_word(&self) -> Option<&str> {
        let hides = |word: &&String| word.starts_with("-J") || word.starts_with("--job-name");
        self.extra.iter().find(hides).map(String::as_str)
    }

    /// The words that run what stands behind them as a job of this name. Inside of another job they ask for a new one too.
    pub fn command(&self, name: &str) -> Vec<String> {
        let own = ["env", "-u", "SLURM_JOB_ID", "-u", "SLURM_JOBID", "srun", "--quiet", "--pty", "--job-name", name];
        let options = [
            ("partition", self.partition.clone()),
            ("cpus-per-task", self.cpus.map(|count| count.to_string())),
            ("mem", self.mem.clone()),
            ("time", self.time.clone()),
            ("gres", self.gres.clone()),
        ];
        let options = options.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value?)));
        let place = ["--chdir", "{worktree}"].map(str::to_owned);
        own.map(str::to_owned).into_iter().chain(place).chain(options).chain(self.extra.iter().cloned()).collect()
    }
}

/// The name of a worker's next job, which none of these has.
pub fn next_name(jobs: &[Job], root: &Path, worker: &str) -> String {
    let prefix = prefix(root, worker);
    let last = of_worker(jobs, root, worker).into_iter().filter_map(|job| number(job, &prefix)).max();
    format!("{prefix}{}", last.unwrap_or(0).saturating_add(1))
}

/// The name of a look into a worker's runner, which is none of its jobs.
pub fn look_name(root: &Path, worker: &str) -> String {
    format!("{}look", prefix(root, worker))
}

/// How the names of a worker's jobs begin. A number follows.
fn prefix(root: &Path, worker: &str) -> String {
    let root = Digest::of(root.as_os_str().as_encoded_bytes()).to_string();
    format!("sf-{}-{worker}-", root.get(..8).unwrap_or_default())
}

/// A job, as `squeue` tells: its state is a word like `PENDING`, and the reason is why it waits or has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    id: u64,
    pub name: String,
    pub state: String,
    pub reason: String,
}

impl Job {
    fn parse(line: &str) -> Option<Job> {
        let mut words = line.splitn(4, ' ').map(printable);
        let id = words.next()?.parse().ok()?;
        Some(Job { id, name: words.next()?, state: words.next()?, reason: words.next()? })
    }

    /// Why it waits, if it does.
    pub fn waits_for(&self) -> Option<&str> {
        let reason = if self.reason == "None" { "no reason yet" } else { &self.reason };
        ["PENDING", "CONFIGURING", "REQUEUED"].contains(&self.state.as_str()).then_some(reason)
    }

    /// Whether its program has ended, and how is not noted yet.
    pub fn is_ending(&self) -> bool {
        self.state == "COMPLETING"
    }

    /// Whether nothing of it runs or will run.
    pub fn is_over(&self) -> bool {
        self.end().is_some() || ["COMPLETED", "FAILED"].contains(&self.state.as_str())
    }

    /// The word for an end that the exit code does not tell.
    pub fn end(&self) -> Option<&'static str> {
        Some(match self.state.as_str() {
            "TIMEOUT" | "DEADLINE" => "timeout",
            "PREEMPTED" => "preempted",
            "CANCELLED" => "cancelled",
            "NODE_FAIL" | "BOOT_FAIL" => "node_fail",
            "OUT_OF_MEMORY" => "out_of_memory",
            _ => return None,
        })
    }
}

/// The jobs of this user, also those that ended not long ago.
pub fn jobs(env: &Env) -> Result<Vec<Job>> {
    let said = run(env, "squeue", &["--me", "--noheader", "--states=all", "--format=%i %j %T %r"])?;
    Ok(said.lines().filter_map(Job::parse).collect())
}

/// The jobs of a worker among these.
pub fn of_worker<'j>(jobs: &'j [Job], root: &Path, worker: &str) -> Vec<&'j Job> {
    let prefix = prefix(root, worker);
    jobs.iter().filter(|job| number(job, &prefix).is_some()).collect()
}

fn number(job: &Job, prefix: &str) -> Option<u64> {
    job.name.strip_prefix(prefix)?.parse().ok()
}

/// Ends these jobs, with KILL at once where it `is_forced`.
pub fn cancel(env: &Env, jobs: &[&Job], is_forced: bool) -> Result<()> {
    let ids: Vec<String> = jobs.iter().map(|job| job.id.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    if ids.is_empty() {
        return Ok(());
    }
    if is_forced {
        // A job that waits takes no signal, which is said.
        let _ = run(env, "scancel", &[&["--quiet", "--signal=KILL"], ids.as_slice()].concat());
    }
    run(env, "scancel", &[&["--quiet"], ids.as_slice()].concat()).map(drop)
}

fn run(env: &Env, program: &str, args: &[&str]) -> Result<String> {
    let path = proc::require(env, program, "install the commands of Slurm, or choose another runner")?;
    let failed = |why: &str| Failure::failed(format!("{program} failed: {why}")).hint("see whether `sinfo` answers");
    // What a person wants to see of jobs hides some from us.
    let hides =
        |name: &&OsString| ["SQUEUE_", "SCANCEL_"].iter().any(|start| name.to_string_lossy().starts_with(start));
    let hiding: Vec<String> = env.vars.keys().filter(hides).map(|name| name.to_string_lossy().into_owned()).collect();
    let hiding: Vec<&str> = hiding.iter().map(String::as_str).collect();
    let cmd = Cmd::new(&path, env).without_vars(&hiding).args(args.iter().copied());
    match cmd.within(ANSWER).capture() {
        Ok(ended) if ended.status.success() => Ok(ended.text()),
        Ok(ended) => {
            Err(failed(&String::from_utf8_lossy(&ended.stderr).lines().last().map(printable).unwrap_or_default()))
        }
        Err(failure) if failure.kind == "deadline" => Err(failed("Slurm does not answer")),
        Err(failure) => Err(failure),
    }
}
