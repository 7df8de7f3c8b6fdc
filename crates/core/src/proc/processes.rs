//! The processes of this user, as `/proc` tells them, else `ps`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::{Cmd, find};
use crate::env::Env;
use crate::fs;
use crate::path::real;
use crate::text::printable;

/// How long processes have after TERM before they are killed, and how long until that is over.
const GRACE: Duration = Duration::from_secs(5);

/// How often we look.
const TICK: Duration = Duration::from_millis(20);

/// A process. Its start time tells it apart from a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    started: u64,
}

/// Every living process by its number, with its parent.
pub fn list(env: &Env) -> BTreeMap<i32, (i32, Process)> {
    if !has_proc() {
        return list_with_ps(env);
    }
    let names = fs::list(Path::new("/proc")).unwrap_or_default();
    let pids = names.iter().filter_map(|name| name.to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, read(pid)?))).collect()
}

fn has_proc() -> bool {
    Path::new("/proc/self/stat").exists()
}

/// A process with its parent, as `/proc` tells them. One that has ended and was not waited for does not live.
fn read(pid: i32) -> Option<(i32, Process)> {
    let stat = fs::read(Path::new(&format!("/proc/{pid}/stat"))).ok()??;
    let (parent, started) = parse(&String::from_utf8_lossy(&stat))?;
    Some((parent, Process { pid, started }))
}

/// A process that runs, in a word that no later one with its number has; without `/proc`, its number.
pub fn word(pid: i32) -> Option<String> {
    if !has_proc() {
        return is_alive(pid).then(|| format!("{pid}.0"));
    }
    read(pid).map(|(_, Process { pid, started })| format!("{pid}.{started}"))
}

/// Whether a process runs.
pub fn is_alive(pid: i32) -> bool {
    match has_proc() {
        true => read(pid).is_some(),
        false => Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok()),
    }
}

/// The parent and the start time of a process, unless it has ended. The program's name may contain any character.
fn parse(stat: &str) -> Option<(i32, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let (state, parent, threads) = (fields.next()?, fields.next()?, fields.nth(15)?);
    // While another thread ends, its files are open, and locked.
    let has_ended = state == "Z" && matches!(threads, "0" | "1");
    (!has_ended).then_some((parent.parse().ok()?, fields.nth(1)?.parse().ok()?))
}

/// Every living process on a system without `/proc`.
fn list_with_ps(env: &Env) -> BTreeMap<i32, (i32, Process)> {
    let Some(ps) = find(env, "ps") else { return BTreeMap::new() };
    let output = Cmd::new(&ps, env).args(["-A", "-o", "pid=,ppid="]).capture();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    });
    pairs.map(|(pid, parent)| (pid, (parent, Process { pid, started: 0 }))).collect()
}

/// The directory that a process is in. Needs `/proc`.
pub fn directory(pid: i32) -> Option<PathBuf> {
    PathBuf::from(format!("/proc/{pid}/cwd")).read_link().ok()
}

/// Whether a process is in this directory, but in one that was removed: it does not see a later one there. Needs `/proc`.
pub fn is_in_deleted(pid: i32, dir: &Path) -> bool {
    let mut deleted = real(dir).into_os_string();
    deleted.push(" (deleted)");
    directory(pid) == Some(PathBuf::from(deleted))
}

/// When a program wrote to its terminal last, in seconds since 1970; none if it has no terminal. Needs `/proc`.
pub fn last_output(pid: i32) -> Option<i64> {
    let terminal = PathBuf::from(format!("/proc/{pid}/fd/1")).read_link().ok()?;
    terminal.starts_with("/dev/pts").then(|| fs::changed(&terminal))?.map(jiff::Timestamp::as_second)
}

/// The processes, out of `processes`, that are still alive.
pub fn retain_living(env: &Env, processes: &BTreeSet<Process>) -> BTreeSet<Process> {
    let all = if has_proc() { BTreeMap::new() } else { list_with_ps(env) };
    let now = |pid: i32| all.get(&pid).copied().or_else(|| read(pid));
    processes.iter().filter(|process| now(process.pid).is_some_and(|(_, now)| now == **process)).copied().collect()
}

/// The value of a variable in the environment that a process began with. Needs `/proc`.
pub fn variable(pid: i32, name: &str) -> Option<Vec<u8>> {
    let environ = fs::read(Path::new(&format!("/proc/{pid}/environ"))).ok().flatten()?;
    let mut entries = environ.split(|byte| *byte == 0);
    entries.find_map(|entry| Some(entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?.to_vec()))
}

/// The words that a process was called with. Needs `/proc`.
pub fn words(pid: i32) -> Vec<Vec<u8>> {
    let line = fs::read(Path::new(&format!("/proc/{pid}/cmdline"))).ok().flatten().unwrap_or_default();
    line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect()
}

/// What the system calls a process. Needs `/proc`.
fn name(pid: i32) -> String {
    let name = fs::read(Path::new(&format!("/proc/{pid}/comm"))).ok().flatten().unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().to_owned()
}

/// Our own process and its ancestors: to end one would end us.
pub fn ours(all: &BTreeMap<i32, (i32, Process)>) -> Vec<i32> {
    let parent = |pid: &i32| all.get(pid).map(|(parent, _)| *parent).filter(|parent| *parent > 1);
    std::iter::successors(i32::try_from(std::process::id()).ok(), parent).collect()
}

/// Whether the command was called from that directory, or below it. Needs `/proc`.
pub fn called_from(env: &Env, dir: &Path) -> bool {
    let Ok(dir) = dir.canonicalize() else { return false };
    ours(&list(env)).into_iter().filter_map(directory).any(|cwd| cwd.starts_with(&dir))
}

/// The processes whose current directory is a directory or below it, but for us, our ancestors and tmux servers. Needs `/proc`.
pub fn working_in(env: &Env, dir: &Path) -> BTreeSet<Process> {
    let Ok(dir) = dir.canonicalize() else { return BTreeSet::new() };
    let all = list(env);
    let is_tmux = |pid: i32| name(pid) == "tmux: server";
    let is_there = |pid: &i32| directory(*pid).is_some_and(|cwd| cwd.starts_with(&dir)) && !is_tmux(*pid);
    let mut pids: BTreeSet<i32> = all.keys().copied().filter(is_there).collect();
    let ours = ours(&all);
    pids.retain(|pid| !ours.contains(pid));
    pids.into_iter().filter_map(|pid| Some(all.get(&pid)?.1)).collect()
}

/// What became of the processes that worked in a directory, each in words.
#[derive(Debug, Default)]
pub struct Reaped {
    /// These were ended.
    pub ended: Vec<String>,
    /// These go on.
    pub left: Vec<String>,
}

impl Reaped {
    /// As notes for a person.
    pub fn notes(&self, dir: &Path) -> Vec<String> {
        let dir = dir.display();
        let ended = self.ended.iter().map(|what| format!("ended {what}, which worked in {dir}"));
        ended.chain(self.left.iter().map(|what| format!("{what} works in {dir}, and goes on"))).collect()
    }
}

/// A process in words: its number, and what it was called with.
pub fn describe(process: Process) -> String {
    let mut words =
        words(process.pid).iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>();
    // The program without its directory.
    words.iter_mut().take(1).for_each(|word| *word = word.rsplit('/').next().unwrap_or_default().to_owned());
    let line = if words.is_empty() { name(process.pid) } else { words.join(" ") };
    let line: String = printable(&line).chars().take(60).collect();
    format!("{} ({line})", process.pid)
}

/// Those processes out of these that none of them started.
fn uppermost(all: &BTreeMap<i32, (i32, Process)>, of: &BTreeSet<Process>) -> Vec<Process> {
    let parent = |process: &Process| all.get(&process.pid).map(|(parent, _)| *parent);
    of.iter().filter(|process| !of.iter().any(|other| Some(other.pid) == parent(process))).copied().collect()
}

/// What works in a directory, in words. What a named one started is not named.
pub fn named_in(env: &Env, dir: &Path) -> Vec<String> {
    named(env, &working_in(env, dir))
}

/// These processes in words, without what a named one started.
pub fn named(env: &Env, processes: &BTreeSet<Process>) -> Vec<String> {
    uppermost(&list(env), processes).into_iter().map(describe).collect()
}

/// Ends those processes that work in a directory and are meant, and names the others. What a named one started is not named.
pub fn reap(env: &Env, dir: &Path, is_meant: impl Fn(i32) -> bool) -> Reaped {
    reap_these(env, working_in(env, dir), |process| is_meant(process.pid))
}

/// The same of these processes.
pub fn reap_these(env: &Env, working: BTreeSet<Process>, is_meant: impl Fn(&Process) -> bool) -> Reaped {
    let (meant, others): (BTreeSet<Process>, BTreeSet<Process>) = working.into_iter().partition(is_meant);
    if meant.is_empty() && others.is_empty() {
        return Reaped::default();
    }
    let all = list(env);
    let told: Vec<(Process, String)> =
        uppermost(&all, &meant).into_iter().map(|process| (process, describe(process))).collect();
    let stubborn = end(env, meant);
    let left = uppermost(&all, &others).into_iter().map(describe).chain(stubborn.iter().copied().map(describe));
    let ended = told.into_iter().filter(|(process, _)| !stubborn.contains(process)).map(|(_, what)| what);
    Reaped { left: left.collect(), ended: ended.collect() }
}

/// Asks processes to end, and kills those that do not within 5 s. Returns those that live on.
pub fn end(env: &Env, mut processes: BTreeSet<Process>) -> BTreeSet<Process> {
    for signal in [Signal::TERM, Signal::KILL] {
        // A number may be another's by now.
        processes = retain_living(env, &processes);
        for pid in processes.iter().filter_map(|process| Pid::from_raw(process.pid)) {
            let _ = kill_process(pid, signal);
        }
        let begin = Instant::now();
        while !processes.is_empty() && begin.elapsed() < GRACE {
            thread::sleep(TICK);
            processes = retain_living(env, &processes);
        }
    }
    processes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_even_if_its_name_has_spaces_and_brackets() {
        let fields = "S 7 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 1 2 3";
        assert_eq!(parse(&format!("12 (a) b (c)) {fields}")), Some((7, 9876)));
        assert_eq!(parse(&format!("12 (x) {}", fields.replacen('S', "Z", 1))), None);
        // Its first thread has ended, another one not yet.
        let threads = fields.replacen("20 0 1", "20 0 2", 1).replacen('S', "Z", 1);
        assert_eq!(parse(&format!("12 (x) {threads}")), Some((7, 9876)));
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn a_process_is_in_a_directory_that_was_removed_and_in_no_other() {
        use std::io::Read;
        let here = tempfile::tempdir().unwrap();
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "mkdir x && cd x && rmdir ../x && echo && exec cat"]).current_dir(here.path());
        let mut child =
            command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let is_in = [here.path(), &here.path().join("x")].map(|dir| is_in_deleted(pid, dir));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(is_in, [false, cfg!(target_os = "linux")]);
    }
}
