//! Killing a command at every write, or as often as time allows.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::world::{Repo, find, skip};

/// The system calls that change a file, in groups that are counted on their own.
const CALLS: [&str; 4] =
    ["rename,renameat,renameat2", "fsync", "write", "linkat,symlinkat,mkdirat,unlinkat,unlink,mkdir,link"];

/// Kills a tool at every such call, each time in what `prepare` makes anew; then `verify` looks.
pub fn sweep<'w>(prepare: impl Fn(&str) -> Repo<'w>, args: &[&str], verify: impl Fn(&Repo<'w>, &str)) {
    sweep_tool("sweatfile-apply", prepare, args, verify);
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

/// Requires that a sweep killed at least so often, where it killed at every system call.
#[track_caller]
pub fn assert_often(kills: usize, least: usize) {
    assert!(kills >= least || strace().is_none(), "only {kills} kills");
}

/// The same for any tool; how often it was killed.
pub fn sweep_tool<'w>(
    tool: &str,
    prepare: impl Fn(&str) -> Repo<'w>,
    args: &[&str],
    verify: impl Fn(&Repo<'w>, &str),
) -> usize {
    let strace = strace();
    let mut kills = 0;
    for call in CALLS {
        let first = call.split(',').next().unwrap();
        for nth in 1.. {
            let repo = prepare(&format!("{first}-{nth}"));
            let killed = match &strace {
                Some(strace) => killed_by_strace(&repo, strace, call, nth, tool, args),
                // Without strace: killed after a while instead, a little later each time.
                None => nth <= 10 && killed_after(&repo, nth * 300, tool, args),
            };
            verify(&repo, &format!("after a kill at {call} {nth}"));
            if !killed {
                break;
            }
            kills += 1;
        }
    }
    assert!(kills >= 3, "only {kills} kills");
    kills
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
