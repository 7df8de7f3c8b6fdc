//! Helpers for tests of workers: how they are created, played, killed and checked.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::support::floor::Floor;
use crate::support::world::{Repo, World, built, text, wait_for, which};

/// The committer date of workers. It is later than all others, so that a landed commit never equals a worker's by chance.
pub const LATER: [(&str, &str); 1] = [("GIT_COMMITTER_DATE", "2026-02-02T00:00:00Z")];

/// A floor on which these workers are up.
pub fn staff<'w>(w: &'w World, names: &[&str]) -> Floor<'w> {
    let floor = Floor::new(w);
    for name in names {
        floor.ctl(&["add", name]).succeeds();
    }
    up(&floor, names);
    floor
}

/// Starts the sessions of these workers.
pub fn up(floor: &Floor<'_>, names: &[&str]) {
    floor.root.run_with("worker-ctl", &[&["up"], names].concat(), &LATER).succeeds();
}

/// A worker's worktree.
pub fn tree<'w>(floor: &Floor<'w>, name: &str) -> Repo<'w> {
    match floor.root.path.join(".worktrees").join(name) {
        own if own.exists() || floor.root.has(".git") => floor.root.world.at(own),
        _ => floor.root.world.at(text(&floor.status(name), "/worktree")),
    }
}

pub fn head(at: &Repo<'_>) -> String {
    at.git(&["rev-parse", "HEAD"]).trim_end().to_owned()
}

/// The tip of the source's default branch.
pub fn tip(floor: &Floor<'_>) -> String {
    floor.app.git(&["rev-parse", "refs/heads/main"]).trim_end().to_owned()
}

/// Gives a worker a task, and waits until its commit needs review.
pub fn work(floor: &Floor<'_>, name: &str, prompt: &str) {
    floor.ctl(&["start", "--worker", name, "--prompt", prompt]).succeeds();
    floor.until(name, "needs_review");
}

/// Gives a worker a task, makes one commit per file in its worktree, and waits until the last one needs review.
pub fn by_hand<'w>(floor: &Floor<'w>, name: &str, files: &[(&str, &str)]) -> Repo<'w> {
    floor.ctl(&["start", "--worker", name, "--prompt", "think"]).succeeds();
    let at = tree(floor, name);
    for (file, text) in files.iter().copied() {
        commit(&at, file, &[file], text);
    }
    floor.until(name, "needs_review");
    at
}

/// Commits these files as a worker does.
pub fn commit(at: &Repo<'_>, message: &str, files: &[&str], text: &str) {
    for file in files {
        at.write(file, text);
        at.git(&["add", file]);
    }
    at.run_with("git", &["commit", "-q", "-m", message], &LATER).exit(0);
}

/// Requires that exactly one commit has landed on `old`, that the worker is idle at that commit, and that nothing is left over.
#[track_caller]
pub fn assert_landed(floor: &Floor<'_>, name: &str, old: &str, when: &str) {
    assert_eq!(floor.app.git(&["log", "--format=%P", &format!("{old}..refs/heads/main")]).trim_end(), old, "{when}");
    let (worker, new) = (floor.status(name), tip(floor));
    assert_eq!((text(&worker, "/task"), worker["commit_sha"].is_null()), ("idle", true), "{when}");
    let at = tree(floor, name);
    let branch = format!("refs/heads/{}", text(&worker, "/branch"));
    assert_eq!(at.git(&["rev-parse", "--symbolic-full-name", "HEAD"]).trim_end(), branch, "{when}");
    assert_eq!((head(&at), at.git(&["status", "--porcelain"])), (new, String::new()), "{when}");
    for repo in [&floor.app, &floor.root].into_iter().filter(|repo| repo.has(".git")) {
        assert_eq!(repo.git(&["for-each-ref", "refs/shopfloor/accept"]), "", "{when}");
    }
}

/// Replaces a text in config.toml.
pub fn configure(floor: &Floor<'_>, from: &str, to: &str) {
    let config = floor.root.read("config.toml");
    assert!(config.contains(from), "no `{from}` in {config}");
    write_config(floor, &config.replacen(from, to, 1));
}

/// Adds an agent's table to config.toml.
pub fn table(floor: &Floor<'_>, name: &str, command: &[&str], more: &str) {
    let config = floor.root.read("config.toml");
    let ready = if more.contains("ready =") { "" } else { "ready = { pattern = \"^>\" }\n" };
    let table = format!("\n[agents.{name}]\ncommand = {command:?}\n{ready}{more}");
    write_config(floor, &(config + &table));
}

/// Adds the scripted agent with these flags under this name. Returns the path of its log.
pub fn agent(floor: &Floor<'_>, name: &str, flags: &[&str], more: &str) -> PathBuf {
    let log = floor.root.world.home(&format!("{name}.jsonl"));
    let (variable, program) = (format!("SCRIPTED_LOG={}", log.display()), program());
    table(floor, name, &[&["env", variable.as_str(), program.as_str()][..], flags].concat(), more);
    log
}

/// The prompts in such a log.
pub fn prompts(log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    // A line without an end is still being written.
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Replaces config.toml in one step, because an `up` may be reading it.
fn write_config(floor: &Floor<'_>, text: &str) {
    floor.root.write("config.toml.new", text);
    std::fs::rename(floor.root.path.join("config.toml.new"), floor.root.path.join("config.toml")).unwrap();
}

/// The path of the scripted agent.
pub fn program() -> String {
    built("agent").to_str().unwrap().to_owned()
}

/// Runs a command of the root's own tmux. Returns its output.
pub fn tmux(floor: &Floor<'_>, args: &[&str]) -> String {
    let status = floor.ctl(&["status", "--json"]).exit(0).json();
    floor.root.run("tmux", &[&["-S", text(&status, "/tmux_socket")][..], args].concat()).exit(0).stdout.into()
}

/// Kills a worker's program, and waits until tmux has noticed. The state does not know yet, as if tmux's hook had failed.
pub fn kill_agent(floor: &Floor<'_>, name: &str) {
    tmux(floor, &["set-hook", "-gu", "pane-died"]);
    floor.root.sh(&format!("kill -9 {}", floor.status(name)["pane_pid"])).exit(0);
    let target = format!("=worker-{name}:");
    wait_for(|| tmux(floor, &["display-message", "-p", "-t", &target, "#{pane_dead}"]) == "1\n");
}

/// Kills a worker's program, and waits until tmux's own hook has recorded that. Nothing else patrols.
pub fn kill_and_wait(floor: &Floor<'_>, name: &str) {
    let server = tmux(floor, &["display-message", "-p", "#{pid}"]);
    floor.root.sh(&format!("kill -9 {}", floor.status(name)["pane_pid"])).exit(0);
    wait_for(|| {
        // tmux 3.3 misses some ends until it gets another signal.
        floor.root.sh(&format!("kill -CHLD {server}")).exit(0);
        floor.status(name)["fault"] == "signal 9"
    });
}

/// Runs a command that must fail with this status. Returns the kind of its failure.
pub fn refused(floor: &Floor<'_>, args: &[&str], status: i32) -> String {
    let answer = floor.ctl(&[args, &["--json"][..]].concat()).exit(status).any_err().json();
    text(&answer, "/error/kind").to_owned()
}

/// Every living process that has this root in its initial environment.
pub fn marked(floor: &Floor<'_>) -> Vec<String> {
    let mark = format!("WORKER_CTL_ROOT={}", floor.root.path.display());
    let names = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_marked = |pid: &String| {
        // A process that has ended has no environment.
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
    };
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).filter(is_marked).collect()
}

/// Sends a message with its text on stdin.
pub fn send_message(floor: &Floor<'_>, name: &str, text: &str) {
    let world = floor.root.world;
    let mut command = world.command(world.path("bin/worker-ctl"));
    command.args(["message", name, "-", "--force"]).current_dir(&floor.root.path);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{name}");
}

/// A floor with adam, who gets tasks as an argument, because typing is slow.
pub fn floor(w: &World) -> Floor<'_> {
    let floor = Floor::new(w);
    floor.ctl(&["add", "adam"]).succeeds();
    up_quickly(floor)
}

/// The same in a worktree of the person's own repository.
pub fn adopted_floor(w: &World) -> Floor<'_> {
    up_quickly(Floor::adopted(w, &["adam"]))
}

fn up_quickly(floor: Floor<'_>) -> Floor<'_> {
    let config = floor.root.read("config.toml");
    let table = "[agents.scripted]\n";
    floor.root.write("config.toml", &config.replace(table, &format!("{table}delivery = \"argv\"\n")));
    up(&floor, &["adam"]);
    floor
}

/// A git that kills its caller just before or just after the nth command that changes something.
pub fn deadly_git(w: &World) {
    let (git, count) = (which("git"), w.path("count"));
    w.program(
        "git",
        &format!(
            "case \" $* \" in *' update-ref '*|*' commit-tree '*|*' fetch '*|*' merge '*|*' reset '*|*' rebase '*|*' checkout '*|*' clean '*|*' worktree remove '*) ;; *) KILL_AT= ;; esac\n\
             [ -n \"$KILL_AT\" ] || exec '{git}' \"$@\"\n\
             n=$(cat '{count}' 2>/dev/null); n=$((${{n:-0}} + 1)); echo $n > '{count}'\n\
             [ \"$n $KILL_WHEN\" = \"$KILL_AT before\" ] && kill -KILL $PPID && exit 1\n\
             '{git}' \"$@\"; code=$?\n\
             [ \"$n $KILL_WHEN\" = \"$KILL_AT after\" ] && kill -KILL $PPID\n\
             exit $code",
            git = git.display(),
            count = count.display(),
        ),
    );
}

/// The printed ref that contains this commit.
#[track_caller]
pub fn ref_with(floor: &Floor<'_>, output: &str, sha: &str) -> String {
    let mut refs = output.lines().filter(|line| line.starts_with("refs/shopfloor/trash/"));
    let holds = |name: &&str| floor.root.run("git", &["merge-base", "--is-ancestor", sha, name]).status == Some(0);
    refs.find(holds).unwrap_or_else(|| panic!("no ref contains {sha}: {output}")).to_owned()
}

/// Whether a process waits for a lock. Without /proc/locks this is always true.
pub fn is_queued(pid: u32) -> bool {
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let is_its = |line: &str| line.contains("-> FLOCK") && line.split_whitespace().any(|word| word == pid.to_string());
    !Path::new("/proc/locks").exists() || locks.lines().any(is_its)
}

/// A command that keeps running, with its output in files. It ends with the test, which shows what it said if it fails.
pub struct Staying {
    child: Child,
    out: PathBuf,
    errors: PathBuf,
}

impl Staying {
    pub fn new(floor: &Floor<'_>, args: &[&str]) -> Staying {
        let world = floor.root.world;
        let out = world.home(&args.join(" "));
        let mut command = world.command(world.path("bin/worker-ctl"));
        let errors = out.with_extension("stderr");
        command.args(args).current_dir(&floor.root.path);
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&errors).unwrap());
        Staying { child: command.spawn().unwrap(), out, errors }
    }

    pub fn out(&self) -> String {
        std::fs::read_to_string(&self.out).unwrap()
    }

    pub fn errors(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap()
    }

    /// Waits until it has ended by itself. Returns its exit code.
    pub fn ended(&mut self) -> Option<i32> {
        wait_for(|| self.child.try_wait().unwrap().is_some());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Staying {
    fn drop(&mut self) {
        let ended = self.child.try_wait();
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let errors = std::fs::read_to_string(&self.errors).unwrap_or_default();
            eprintln!("{}: {ended:?}\n{errors}", self.out.display());
        }
    }
}

/// Whether there is a worker with this name and this status.
pub fn is_at(floor: &Floor<'_>, name: &str, status: &str) -> bool {
    let all = floor.ctl(&["status", "--json"]).exit(0).json();
    all["workers"].as_array().unwrap().iter().any(|worker| worker["name"] == name && worker["status"] == status)
}

/// Whether there is a worker with this name.
pub fn exists(floor: &Floor<'_>, name: &str) -> bool {
    let all = floor.ctl(&["status", "--json"]).exit(0).json();
    all["workers"].as_array().unwrap().iter().any(|worker| worker["name"] == name)
}

/// Runs several commands at the same time, which must all succeed.
pub fn run_together(floor: &Floor<'_>, commands: &[&[&str]]) {
    let world = floor.root.world;
    let mut children = Vec::new();
    for args in commands {
        let mut command = world.command(world.path("bin/worker-ctl"));
        command.args(*args).current_dir(&floor.root.path).stdout(Stdio::null());
        children.push(command.spawn().unwrap());
    }
    for (mut child, args) in children.into_iter().zip(commands) {
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}");
    }
}

/// Calls the hook as an agent's program in a worker's session does.
pub fn hook(floor: &Floor<'_>, name: &str, payload: &Value) {
    hook_of(floor, name, "claude", &payload.to_string());
}

#[track_caller]
pub fn hook_of(floor: &Floor<'_>, name: &str, program: &str, payload: &str) {
    let world = floor.root.world;
    let mut command = world.command(world.path("bin/worker-ctl"));
    command.args(["hook", program]).current_dir(&floor.root.path);
    command.env("WORKER_CTL_ROOT", &floor.root.path).env("WORKER_CTL_WORKER", name);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!((out.status.code(), out.stdout.len()), (Some(0), 0), "{}", String::from_utf8_lossy(&out.stderr));
}

/// An event of the conversation `s-1`, as claude tells it.
pub fn event(name: &str) -> Value {
    json!({ "hook_event_name": name, "session_id": "s-1" })
}
