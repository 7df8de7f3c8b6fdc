//! The processes of a worker: the descendants of its pane, and those that have its mark in their initial environment.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, test_kill_process};
use shopfloor_core::agents::PROGRAMS;
use shopfloor_core::env::Env;
use shopfloor_core::fs;
use shopfloor_core::proc::{self, Cmd};

/// A process. Its start time tells it apart from a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    pub pid: i32,
    started: u64,
}

/// Every living process, with its parent.
fn list(env: &Env) -> BTreeMap<i32, (i32, Process)> {
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
    if fields.next()? == "Z" {
        return None;
    }
    Some((fields.next()?.parse().ok()?, fields.nth(17)?.parse().ok()?))
}

/// Every living process on a system without `/proc`.
fn list_with_ps(env: &Env) -> BTreeMap<i32, (i32, Process)> {
    let Some(ps) = proc::find(env, "ps") else { return BTreeMap::new() };
    let output = Cmd::new(&ps, env).args(["-A", "-o", "pid=,ppid="]).capture();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    });
    pairs.map(|(pid, parent)| (pid, (parent, Process { pid, started: 0 }))).collect()
}

/// Every process of these workers of a root. Our own process, its ancestors and the tmux server are left out.
pub fn find(env: &Env, root: &Path, workers: &[&str], panes: &[i32], server: Option<i32>) -> BTreeSet<Process> {
    let all = list(env);
    let mut ours: BTreeSet<i32> = panes.iter().copied().filter(|pid| all.contains_key(pid)).collect();
    ours.extend(all.keys().copied().filter(|pid| is_marked(*pid, root, workers)));
    loop {
        let before = ours.len();
        ours.extend(
            all.iter().filter(|(_, (parent, _))| ours.contains(parent)).map(|(pid, _)| *pid).collect::<Vec<_>>(),
        );
        if ours.len() == before {
            break;
        }
    }
    let mut ancestor = i32::try_from(std::process::id()).ok();
    while let Some(pid) = ancestor {
        ours.remove(&pid);
        ancestor = all.get(&pid).map(|(parent, _)| *parent).filter(|parent| *parent > 1);
    }
    ours.into_iter().filter(|pid| Some(*pid) != server).filter_map(|pid| Some(all.get(&pid)?.1)).collect()
}

/// Programs that start others, and are no agents themselves.
const STARTERS: [&str; 9] = ["env", "sh", "bash", "zsh", "node", "npx", "python", "python3", "uvx"];

/// The agent programs, known ones and those of these commands, that run in a worktree and are not this worker's, with their
/// names. Needs `/proc`.
pub fn others_in(worktree: &Path, root: &Path, worker: &str, commands: &[String]) -> Vec<(i32, String)> {
    let known: Vec<&OsStr> = PROGRAMS.iter().map(|known| OsStr::new(known.name)).collect();
    let is_own = |name: &&OsStr| !STARTERS.iter().any(|starter| name == starter);
    let configured = commands.iter().filter_map(|command| Path::new(command).file_name()).filter(is_own);
    let known: Vec<&OsStr> = known.into_iter().chain(configured).collect();
    let names = fs::list(Path::new("/proc")).unwrap_or_default();
    let pids = names.iter().filter_map(|name| name.to_str()?.parse::<i32>().ok());
    let program = |pid: i32| {
        let dir = PathBuf::from(format!("/proc/{pid}"));
        directory(pid).filter(|cwd| cwd.starts_with(worktree) && !is_marked(pid, root, &[worker]))?;
        let words = fs::read(&dir.join("cmdline")).ok().flatten()?;
        // A script comes after its interpreter.
        let words =
            words.split(|byte| *byte == 0).take(2).filter_map(|word| Path::new(OsStr::from_bytes(word)).file_name());
        let words: Vec<&OsStr> = words.collect();
        known.iter().find(|known| words.contains(*known)).map(|known| (pid, known.to_string_lossy().into_owned()))
    };
    pids.filter_map(program).collect()
}

/// The directory that a process is in. Needs `/proc`.
pub fn directory(pid: i32) -> Option<PathBuf> {
    PathBuf::from(format!("/proc/{pid}/cwd")).read_link().ok()
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

fn is_marked(pid: i32, root: &Path, workers: &[&str]) -> bool {
    let environ = fs::read(Path::new(&format!("/proc/{pid}/environ"))).ok().flatten().unwrap_or_default();
    let has = |name: &str, is_wanted: &dyn Fn(&[u8]) -> bool| {
        let mut entries = environ.split(|byte| *byte == 0);
        entries.any(|entry| entry.strip_prefix(name.as_bytes()).is_some_and(is_wanted))
    };
    has("WORKER_CTL_ROOT=", &|value| value == root.as_os_str().as_encoded_bytes())
        && has("WORKER_CTL_WORKER=", &|value| workers.iter().any(|worker| worker.as_bytes() == value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_even_if_its_name_has_spaces_and_brackets() {
        let fields = "S 7 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 1 2 3";
        assert_eq!(parse(&format!("12 (a) b (c)) {fields}")), Some((7, 9876)));
        assert_eq!(parse(&format!("12 (x) {}", fields.replacen('S', "Z", 1))), None);
        assert_eq!(parse("nonsense"), None);
    }
}
