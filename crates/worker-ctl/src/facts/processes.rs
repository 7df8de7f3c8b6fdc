//! The processes of a worker: the descendants of its pane, and those that have its mark in their initial environment.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use shopfloor_core::agents::PROGRAMS;
use shopfloor_core::env::Env;
use shopfloor_core::fs;
use shopfloor_core::proc::processes::{self, list, variable, words};

pub use shopfloor_core::proc::processes::{Process, directory, is_alive, is_in_deleted, last_output, retain_living};

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
    let own = processes::ours(&all);
    ours.retain(|pid| !own.contains(pid));
    ours.into_iter().filter(|pid| Some(*pid) != server).filter_map(|pid| Some(all.get(&pid)?.1)).collect()
}

/// Programs that start others, and are no agents themselves.
const STARTERS: [&str; 21] = [
    "env", "sh", "bash", "zsh", "node", "npx", "npm", "pnpm", "bun", "bunx", "deno", "python", "python3", "uv", "uvx",
    "docker", "podman", "nix", "nice", "timeout", "sudo",
];

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
        directory(pid).filter(|cwd| cwd.starts_with(worktree) && !is_marked(pid, root, &[worker]))?;
        // A script comes after its interpreter.
        let words = words(pid);
        let words: Vec<&OsStr> =
            words.iter().take(2).filter_map(|word| Path::new(OsStr::from_bytes(word)).file_name()).collect();
        known.iter().find(|known| words.contains(*known)).map(|known| (pid, known.to_string_lossy().into_owned()))
    };
    pids.filter_map(program).collect()
}

fn is_marked(pid: i32, root: &Path, workers: &[&str]) -> bool {
    let has =
        |name: &str, is_wanted: &dyn Fn(&[u8]) -> bool| variable(pid, name).is_some_and(|value| is_wanted(&value));
    has("WORKER_CTL_ROOT", &|value| value == root.as_os_str().as_encoded_bytes())
        && has("WORKER_CTL_WORKER", &|value| workers.iter().any(|worker| worker.as_bytes() == value))
}
