//! A machine of its own for each test: home, PATH, git identity, and nothing of the real one.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use crate::support::output::{Checked, Output};

pub const TOOLS: [&str; 6] =
    ["sweatfile-apply", "overlay-sync", "ledger-synth", "worktree-spawn", "worker-ctl", "shopfloor"];

/// A temporary home with the tools on its PATH. Dropping it deletes everything in it.
pub struct World {
    dir: tempfile::TempDir,
    vars: BTreeMap<String, String>,
}

impl World {
    pub fn new() -> World {
        World::below(&scratch())
    }

    pub fn below(parent: &Path) -> World {
        let dir = tempfile::tempdir_in(parent.canonicalize().unwrap()).unwrap();
        let top = dir.path();
        for name in ["home", "bin", "tmp"] {
            std::fs::create_dir(top.join(name)).unwrap();
        }
        for tool in TOOLS {
            std::os::unix::fs::symlink(built("tools"), top.join("bin").join(tool)).unwrap();
        }
        let path = |name: &str| top.join(name).to_string_lossy().into_owned();
        let git = which("git");
        let vars = [
            ("HOME", path("home")),
            ("PATH", format!("{}:{}:/usr/local/bin:/usr/bin:/bin", path("bin"), git.parent().unwrap().display())),
            ("TMPDIR", path("tmp")),
            ("LC_ALL", "C.UTF-8".into()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_AUTHOR_NAME", "Ada".into()),
            ("GIT_AUTHOR_EMAIL", "ada@example.org".into()),
            ("GIT_COMMITTER_NAME", "Ada".into()),
            ("GIT_COMMITTER_EMAIL", "ada@example.org".into()),
            ("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z".into()),
            ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z".into()),
            // A test whose agent does nothing is told so within its minute.
            ("WORKER_CTL_SILENT_AFTER", "50s".into()),
        ];
        let vars = vars.map(|(name, value)| (name.to_owned(), value)).into();
        World { dir, vars }
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    /// A directory on another file system than this world's; none where there is no other.
    pub fn other_disk(&self) -> Option<tempfile::TempDir> {
        let device = |path: &Path| path.metadata().unwrap().dev();
        let is_other = |dir: &&Path| dir.is_dir() && device(dir) != device(&self.home(""));
        let mut far = ["/dev/shm", "/var/tmp", "/tmp"].map(Path::new).into_iter().filter(is_other);
        let found = far.find_map(|dir| tempfile::tempdir_in(dir).ok());
        if found.is_none() {
            skip("a second file system");
        }
        found
    }

    pub fn home(&self, below: &str) -> PathBuf {
        self.dir.path().join("home").join(below)
    }

    /// Sets a variable for every later command.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.vars.insert(name.to_owned(), value.into());
    }

    /// Puts a program (a shell script's body) on the PATH, before all others.
    pub fn program(&self, name: &str, body: &str) {
        let path = self.path("bin").join(name);
        // The tools are links in this directory; do not write through them.
        let _ = std::fs::remove_file(&path);
        write(&path, &format!("#!/bin/sh\n{body}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A repository below home with one empty commit on `main`.
    pub fn repo(&self, below_home: &str) -> Repo<'_> {
        let path = self.home(below_home);
        std::fs::create_dir_all(&path).unwrap();
        let repo = Repo { world: self, path };
        repo.git(&["init", "-q", "-b", "main"]);
        repo.git(&["commit", "-q", "--allow-empty", "-m", "start"]);
        repo
    }

    /// The repository most tests use, `eng/repos/app`, whose area is `eng`.
    pub fn app(&self) -> Repo<'_> {
        self.repo("eng/repos/app")
    }

    /// The area's sweatfile of [`World::app`].
    pub fn area(&self, sweatfile: &str) {
        write(&self.home("eng/sweatfile"), sweatfile);
    }

    /// A clone of `source` in home that counts as a root of worker-ctl's.
    pub fn workers_clone(&self, source: &Repo<'_>, name: &str) -> Repo<'_> {
        let clone = self.at(self.home(name));
        self.at(self.home("")).git(&["clone", "-q", source.path.to_str().unwrap(), name]);
        clone.git(&["config", "shopfloor.source", source.path.to_str().unwrap()]);
        let list = self.home(".local/state/shopfloor/roots");
        let listed = std::fs::read_to_string(&list).unwrap_or_default();
        let line = format!("{}\t{}\n", clone.path.display(), source.path.join(".git").display());
        write(&list, &(listed + &line));
        clone
    }

    pub fn at(&self, path: impl Into<PathBuf>) -> Repo<'_> {
        Repo { world: self, path: path.into() }
    }

    /// A command with this world's environment and no other.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let name = program.as_ref();
        // By its path: for a name the standard library copies this whole process first.
        let dirs = std::env::split_paths(self.vars.get("PATH").map_or("", String::as_str));
        let found =
            dirs.map(|dir| dir.join(name)).find(|path| path.metadata().is_ok_and(|meta| meta.mode() & 0o111 != 0));
        let mut command = Command::new(found.as_deref().map_or(name, Path::as_os_str));
        command.arg0(name).env_clear().envs(&self.vars).stdin(Stdio::null());
        command
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // What ends a little later than the test would make the directory again.
        if !std::thread::panicking() {
            wait_for(|| !lives_in(&self.home("")));
        }
        let is_gone = || match std::fs::remove_dir_all(self.dir.path()) {
            Ok(()) => true,
            Err(e) => e.kind() == std::io::ErrorKind::NotFound,
        };
        if is_gone() {
            return;
        }
        // A test may have made files unreadable.
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(self.dir.path()).stderr(Stdio::null()).status();
        // A process of the test may be about to end, and still write.
        if !std::thread::panicking() {
            wait_for(is_gone);
        }
    }
}

/// Whether a process has this home.
fn lives_in(home: &Path) -> bool {
    let home = home.to_string_lossy();
    let variable = format!("HOME={}", home.trim_end_matches('/'));
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let variables = processes.filter_map(|process| std::fs::read(process.path().join("environ")).ok());
    variables.into_iter().any(|text| text.split(|byte| *byte == 0).any(|one| one == variable.as_bytes()))
}

/// The directory for temporary files: one in memory if it has room for a gigabyte, because the tools sync every file
/// that they write, and a disk takes its time. `TMPDIR` names another one.
fn scratch() -> PathBuf {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let has_room = mounts.lines().any(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        let size = fields.get(3).and_then(|options| options.split(',').find_map(|option| option.strip_prefix("size=")));
        let kilobytes = size.map(|size| size.trim_end_matches('k').parse().unwrap_or(0));
        fields[1..].starts_with(&["/dev/shm", "tmpfs"]) && kilobytes.is_none_or(|kilobytes: u64| kilobytes >= 1 << 20)
    });
    match std::env::var_os("TMPDIR") {
        None if has_room => "/dev/shm".into(),
        _ => std::env::temp_dir(),
    }
}

/// A directory to run commands in: a checkout, a worktree.
#[derive(Clone)]
pub struct Repo<'w> {
    pub world: &'w World,
    pub path: PathBuf,
}

impl Repo<'_> {
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        // A look takes no lock that a commit of an agent would meet.
        self.run_with("git", args, &[("GIT_OPTIONAL_LOCKS", "0")]).exit(0).any_err().stdout.into()
    }

    /// Runs sweatfile-apply.
    #[track_caller]
    pub fn apply(&self, args: &[&str]) -> Output {
        self.run("sweatfile-apply", args)
    }

    /// Runs overlay-sync.
    #[track_caller]
    pub fn overlay(&self, args: &[&str]) -> Output {
        self.run("overlay-sync", args)
    }

    /// Runs ledger-synth.
    #[track_caller]
    pub fn ledger(&self, args: &[&str]) -> Output {
        self.run("ledger-synth", args)
    }

    /// Runs the front door.
    #[track_caller]
    pub fn shopfloor(&self, args: &[&str]) -> Output {
        self.run("shopfloor", args)
    }

    /// Runs worktree-spawn.
    #[track_caller]
    pub fn spawn(&self, args: &[&str]) -> Output {
        self.run("worktree-spawn", args)
    }

    #[track_caller]
    pub fn run(&self, program: &str, args: &[&str]) -> Output {
        self.run_with(program, args, &[])
    }

    /// Runs a program that file permissions apply to: root runs it without the capabilities that override them.
    #[track_caller]
    pub fn run_bound(&self, program: &str, args: &[&str]) -> Output {
        if !is_root() {
            return self.run(program, args);
        }
        let bound = ["--bounding-set=-all", "--inh-caps=-all", "--", program];
        self.run("setpriv", &[&bound[..], args].concat())
    }

    #[track_caller]
    pub fn run_with(&self, program: &str, args: &[&str], vars: &[(&str, &str)]) -> Output {
        let on_path = self.world.path("bin").join(program);
        let program = if on_path.exists() { on_path } else { PathBuf::from(program) };
        let mut command = self.world.command(&program);
        command.args(args).current_dir(&self.path).envs(vars.iter().copied());
        Output::of(command)
    }

    /// Runs a line of shell.
    #[track_caller]
    pub fn sh(&self, line: &str) -> Output {
        self.run("sh", &["-c", line])
    }

    /// Runs a command line on a terminal, with these keys typed.
    #[track_caller]
    pub fn on_terminal(&self, line: &str, keys: &str) -> Output {
        let mut command = self.world.command("script");
        command.args(["-qefc", line, "/dev/null"]).current_dir(&self.path).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("script (Debian: bsdutils) gives the tests a terminal");
        // Keep stdin open: when it is closed, `script` hangs up on the command.
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(keys.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        Output::from(format!("{line} (on a terminal)"), output)
    }

    /// `git worktree add ../NAME`, hooks and all.
    pub fn worktree(&self, name: &str) -> Self {
        let path = self.path.parent().unwrap().join(name);
        self.run("git", &["worktree", "add", "-q", path.to_str().unwrap()]).succeeds();
        Repo { world: self.world, path }
    }

    /// The repository's sweatfile, approved.
    pub fn approved(&self, sweatfile: &str) {
        self.write("sweatfile", sweatfile);
        self.apply(&["approve", "--yes"]).succeeds().any_err();
    }

    pub fn write(&self, below: &str, text: &str) {
        write(&self.path.join(below), text);
    }

    pub fn read(&self, below: &str) -> String {
        let path = self.path.join(below);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    pub fn has(&self, below: &str) -> bool {
        self.path.join(below).symlink_metadata().is_ok()
    }

    pub fn commit(&self, below: &str, text: &str) {
        self.write(below, text);
        self.git(&["add", "-f", below]);
        self.git(&["commit", "-q", "-m", below]);
    }

    /// `info/exclude` without git's own comment lines.
    pub fn excludes(&self) -> Vec<String> {
        let path = self.git(&["rev-parse", "--path-format=absolute", "--git-path", "info/exclude"]);
        let text = std::fs::read_to_string(path.trim_end()).unwrap_or_default();
        text.lines().filter(|l| !l.starts_with('#')).map(str::to_owned).collect()
    }

    /// Every path below, with kind, mode, mtime and content.
    pub fn snapshot(&self) -> Snapshot {
        let mut all = BTreeMap::new();
        snapshot(&self.path, &self.path, &mut all);
        Snapshot(all)
    }

    /// Requires that nothing below has changed.
    #[track_caller]
    pub fn assert_untouched_since(&self, before: &Snapshot) {
        let now = self.snapshot();
        let paths = before.0.keys().chain(now.0.keys());
        let touched: Vec<_> = paths.filter(|p| before.0.get(*p) != now.0.get(*p)).collect();
        assert!(touched.is_empty(), "touched: {touched:?}");
    }

    /// Requires that no file was made or removed below. Their contents may have changed.
    #[track_caller]
    pub fn assert_same_paths_since(&self, before: &Snapshot) {
        let now = self.snapshot();
        let differ: Vec<_> = before
            .0
            .keys()
            .filter(|path| !now.0.contains_key(*path))
            .chain(now.0.keys().filter(|path| !before.0.contains_key(*path)))
            .collect();
        assert!(differ.is_empty(), "made or removed: {differ:?}");
    }

    /// Requires that the files of the snapshot have not changed. There may be new ones.
    #[track_caller]
    pub fn assert_only_added_since(&self, before: &Snapshot) {
        let now = self.snapshot();
        let touched: Vec<_> = before.0.keys().filter(|p| before.0.get(*p) != now.0.get(*p)).collect();
        assert!(touched.is_empty(), "touched: {touched:?}");
    }
}

/// The files below a directory at one time.
pub struct Snapshot(BTreeMap<PathBuf, String>);

fn snapshot(top: &Path, dir: &Path, all: &mut BTreeMap<PathBuf, String>) {
    use std::os::unix::fs::MetadataExt;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = path.symlink_metadata().unwrap();
        let body = if meta.is_symlink() {
            format!("{:?}", path.read_link().unwrap())
        } else if meta.is_file() {
            shopfloor_core::hash::Digest::of(&std::fs::read(&path).unwrap()).to_string()
        } else {
            String::new()
        };
        let times = if meta.is_dir() { 0 } else { meta.mtime_nsec() + meta.mtime() * 1_000_000_000 };
        all.insert(path.strip_prefix(top).unwrap().to_owned(), format!("{:o} {times} {body}", meta.mode()));
        if meta.is_dir() {
            snapshot(top, &path, all);
        }
    }
}

/// A program that was built with the tests. It is beside them, even if they were copied elsewhere.
pub fn built(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join(name)
}

/// The top of the project the tests belong to.
pub fn project() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    own.parent().unwrap().to_path_buf()
}

/// Writes a file with the directories above it.
pub fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

pub fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

/// The path of a program that the tests need. Fails with the command that installs it.
pub fn which(name: &str) -> PathBuf {
    find(name).unwrap_or_else(|| panic!("{name} is not on the PATH; Debian: apt-get install {name}"))
}

/// The path of a program that only some machines have.
pub fn find(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// The git of the tests: `(2, 39)`.
pub fn git_version(at: &Repo<'_>) -> (u32, u32) {
    let said = at.git(&["--version"]);
    let mut numbers = said.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

/// Polls until `holds` does. The deadline is against hanging, and no time limit.
#[track_caller]
pub fn wait_for(mut holds: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    loop {
        let asked = std::time::Instant::now();
        if holds() {
            return;
        }
        assert!(start.elapsed().as_secs() < 180, "waited for three minutes");
        // The one sleep of the suite: without it each waiting test would keep a core busy. The more a question costs,
        // the less often it is asked.
        std::thread::sleep((asked.elapsed() * 4).max(std::time::Duration::from_millis(10)));
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    Path::new("/proc/self").metadata().is_ok_and(|own| own.uid() == 0)
}

/// Whether the test runs as root. If not, this reports the test as skipped, and the test returns.
#[must_use]
pub fn needs_root() -> bool {
    is_root() || skip("root")
}

/// Whether the test runs as an ordinary user, whom file modes hold. If not, this reports the test as skipped, and it returns.
#[must_use]
pub fn needs_ordinary_user() -> bool {
    !is_root() || skip("an ordinary user")
}

/// Whether a program is installed. If not, this reports the test as skipped, and the test returns.
#[must_use]
pub fn needs(program: &str) -> bool {
    find(program).is_some() || skip(program)
}

/// Mounts something, which only root can do. If that fails, this reports the test as skipped, and the test returns.
#[must_use]
pub fn needs_mount(here: &Repo<'_>, line: &str) -> bool {
    needs_root() && (here.sh(line).status == Some(0) || skip("mounting"))
}

/// Reports this test as skipped because something is missing. `cargo xtask test` lists these tests at the end, and
/// `cargo xtask ci` runs those that need root as root.
pub fn skip(missing: &str) -> bool {
    let thread = std::thread::current().name().unwrap_or_default().to_owned();
    // A runner that runs one test in a process may run it on the main thread.
    let named = std::env::args().skip_while(|arg| arg != "--exact").nth(1);
    let first = std::env::args().nth(1).filter(|arg| !arg.starts_with('-'));
    let test =
        if thread == "main" { named.filter(|n| !n.starts_with('-')).or(first).unwrap_or(thread) } else { thread };
    eprintln!("skipped, needs {missing}: {test}");
    if let Some(file) = std::env::var_os("SHOPFLOOR_SKIPPED") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(file);
        file.unwrap().write_all(format!("{missing}\t{test}\n").as_bytes()).unwrap();
    }
    false
}

/// The value at a JSON pointer, as a string.
#[track_caller]
pub fn text<'j>(json: &'j serde_json::Value, pointer: &str) -> &'j str {
    json.pointer(pointer).and_then(|v| v.as_str()).unwrap_or_else(|| panic!("no string at {pointer} in {json}"))
}

/// The system calls of this kind that a tool and its children make, one line each. Without strace the test is skipped.
pub fn traced(at: &Repo<'_>, call: &str, tool: &str, args: &[&str]) -> Option<(Checked, Vec<String>)> {
    if !needs("strace") {
        return None;
    }
    let log = at.world.path("trace");
    let tool = at.world.path("bin").join(tool);
    let trace = format!("trace={call}");
    // Only these calls stop the processes: otherwise each call does.
    let strace =
        ["-f", "--seccomp-bpf", "-qq", "-s", "200", "-o", log.to_str().unwrap(), "-e", &trace, tool.to_str().unwrap()];
    let output = at.run("strace", &[&strace[..], args].concat()).succeeds();
    let lines = std::fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
    Some((output, lines))
}
