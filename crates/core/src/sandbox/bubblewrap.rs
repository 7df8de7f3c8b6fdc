//! The command line of bubblewrap. `docs/security.md` has the reason of each part.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::{INSIDE, NO_SANDBOX, SPOOL, Sandbox, SandboxSettings, bytes, objects, seccomp, terminal};
use crate::agents;
use crate::env::Env;
use crate::error::{Failure, Result};
use crate::fs;
use crate::git::Git;
use crate::path::real;
use crate::proc::{self, Cmd, Output, Status};

/// Our directory inside.
const OURS: &str = "/run/shopfloor";

/// Where texts for the agent lie.
pub(super) const TEXTS: &str = "/run/shopfloor/texts";

/// Whether this process is in a sandbox of ours.
pub fn is_inside(env: &Env) -> bool {
    env.var(SPOOL).is_some_and(|spool| Path::new(spool).starts_with(OURS))
}

/// The variables that a program in a terminal needs and who commits, which lead nowhere.
pub const TERMINAL: [&str; 17] = [
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "TERM",
    "COLORTERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "LANG",
    "LANGUAGE",
    "TZ",
    "NO_COLOR",
    "FORCE_COLOR",
    "USER",
    "LOGNAME",
    "COLUMNS",
    "LINES",
];

/// The tools that an agent finds first on its `PATH`.
const TOOLS: [&str; 6] =
    ["shopfloor", "sweatfile-apply", "overlay-sync", "ledger-synth", "worktree-spawn", "worker-ctl"];

/// Where everybody's programs lie, which are there inside.
const PUBLIC: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/etc", "/opt"];

/// How often what an agent does in the sandbox is looked at.
const TICK: Duration = Duration::from_millis(500);

/// How long git may take to move the agent's worktree.
const MOVE_LIMIT: Duration = Duration::from_secs(20);

/// How long work of ours inside may take.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

/// bubblewrap with what every sandbox has: nothing of the processes, the memory, the names and the rights outside.
fn bwrap(env: &Env) -> Result<Vec<OsString>> {
    let program = proc::find(env, "bwrap").filter(|_| cfg!(target_os = "linux")).ok_or_else(|| {
        NO_SANDBOX
            .failure("a sandbox needs Linux and bubblewrap, and bwrap is not on the PATH")
            .hint("install it: `apt install bubblewrap`, `dnf install bubblewrap` or `pacman -S bubblewrap`")
    })?;
    let unshared = ["user", "pid", "ipc", "uts", "cgroup-try"].map(|kind| format!("--unshare-{kind}").into());
    let rest = ["--die-with-parent", "--cap-drop", "ALL"].map(OsString::from);
    Ok(std::iter::once(program.into_os_string()).chain(unshared).chain(rest).collect())
}

/// The same without network, terminal and further namespaces, and with everybody's programs.
pub(super) fn closed(env: &Env) -> Result<Vec<OsString>> {
    let mut words = bwrap(env)?;
    words.extend(["--disable-userns", "--unshare-net", "--new-session"].map(OsString::from));
    words.extend(read_only(Path::new("/usr")));
    words.extend(links_of_root());
    Ok(words)
}

/// The directories of `/` that are links into `/usr`, or on an older system directories of their own.
fn links_of_root() -> Vec<OsString> {
    let mut args: Vec<OsString> = Vec::new();
    for name in ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"] {
        match (std::fs::read_link(name), Path::new(name).is_dir()) {
            (Ok(target), _) => args.extend(["--symlink".into(), target.into_os_string(), name.into()]),
            (Err(_), true) => args.extend(["--ro-bind", name, name].map(OsString::from)),
            (Err(_), false) => {}
        }
    }
    args
}

/// What everybody can read of `/etc` and `/opt`. As root an agent would read the rest, too: then each thing that everybody
/// can read is mounted by itself, in directories where there is something else.
fn readable() -> Vec<OsString> {
    let is_root = rustix::process::geteuid().is_root();
    let shown = |dir: &Path| if is_root { parts(dir) } else { None };
    let dirs = ["/etc", "/opt"].map(Path::new).into_iter().filter(|dir| dir.is_dir());
    dirs.flat_map(|dir| shown(dir).unwrap_or_else(|| read_only(dir).into())).collect()
}

/// The mounts of what everybody can read of a directory; none if that is all of it.
fn parts(dir: &Path) -> Option<Vec<OsString>> {
    let (mut args, mut is_all): (Vec<OsString>, _) = (vec!["--tmpfs".into(), dir.into()], true);
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, Ok(meta)) = (entry.path(), entry.metadata()) else { continue };
        let needed = if meta.is_dir() { 0o5 } else { 0o4 };
        match (std::fs::read_link(&path), meta.is_dir().then(|| parts(&path)).flatten()) {
            (Ok(target), _) => args.extend(["--symlink".into(), target.into(), path.into()]),
            (Err(_), _) if meta.mode() & needed != needed || !(meta.is_dir() || meta.is_file()) => is_all = false,
            (Err(_), Some(parts)) => {
                args.extend(parts);
                is_all = false;
            }
            (Err(_), None) => args.extend(read_only(&path)),
        }
    }
    args.extend(["--remount-ro".into(), dir.into()]);
    (!is_all).then_some(args)
}

/// The same path inside, which can only be read.
fn read_only(path: &Path) -> [OsString; 3] {
    ["--ro-bind".into(), path.into(), path.into()]
}

impl Sandbox {
    /// Runs `program` of the worktree's agent inside, in the foreground. `tool` is the name of the tool that runs, `vars` are
    /// its variables for the agent. Exit 2, kind `no_sandbox`, for a setting that would open what is to be closed, and where
    /// no sandbox could be made. Meanwhile the last argument is called twice a second.
    pub fn run(
        &self,
        tool: &str,
        program: &Path,
        args: &[OsString],
        vars: Vec<(OsString, OsString)>,
        meanwhile: &(dyn Fn() + Sync),
    ) -> Result<Status> {
        let own = self.program_files(program);
        // By the name that it was called by, where that is there inside.
        let is_there =
            PUBLIC.map(Path::new).into_iter().chain([&*self.worktree]).chain(own.iter().map(PathBuf::as_path));
        let program = match is_there.into_iter().any(|dir| program.starts_with(dir)) {
            true => program.to_path_buf(),
            false => program.canonicalize().unwrap_or_else(|_| program.into()),
        };
        let mut words = self.mounts(&own)?;
        // The exit code alone does not tell whether anything ran inside.
        let (filter, status) = (memory("seccomp", &seccomp_program())?, memory("status", b"")?);
        words.extend(["--seccomp".into(), number(&filter), "--json-status-fd".into(), number(&status)]);
        words.extend(["--".into(), format!("{OURS}/bin/{tool}").into(), INSIDE.into(), "--".into(), program.into()]);
        words.extend(args.iter().cloned());
        let (first, rest) = words.split_first().ok_or_else(|| Failure::failed("no command"))?;
        let cmd = Cmd::new(Path::new(first), &self.env).args(rest.iter().cloned()).dir(&self.worktree);
        let cmd = cmd.only_vars(self.variables(vars, &own)).keeping(vec![filter, status.clone()]);
        let has_ended = AtomicBool::new(false);
        let ended = thread::scope(|scope| -> Result<Status> {
            let watch = || {
                while !has_ended.load(Ordering::SeqCst) {
                    meanwhile();
                    thread::park_timeout(TICK);
                }
            };
            let watch = thread::Builder::new().spawn_scoped(scope, watch).map_err(proc::no_thread)?;
            let ended = terminal::run(&cmd);
            has_ended.store(true, Ordering::SeqCst);
            watch.thread().unpark();
            ended
        })?;
        let mut text = String::new();
        let file = status.try_clone().map(std::fs::File::from);
        let _ = file.and_then(|mut file| file.rewind().and_then(|()| file.read_to_string(&mut text)));
        match ended == Status::Exited(1) && !text.contains("exit-code") {
            true => Err(NO_SANDBOX.failure("the sandbox could not be made").hint("see what `shopfloor doctor` says")),
            false => Ok(ended),
        }
    }

    fn variables(&self, vars: Vec<(OsString, OsString)>, own: &[PathBuf]) -> BTreeMap<OsString, OsString> {
        let program_vars = agents::PROGRAMS.iter().flat_map(|program| program.keys.iter().copied());
        let named = TERMINAL.into_iter().chain(program_vars).chain(self.settings.env.iter().map(String::as_str));
        let mut all: BTreeMap<OsString, OsString> =
            named.filter_map(|name| Some((name.into(), self.env.var(name)?.into()))).collect();
        all.extend(
            self.env
                .vars
                .iter()
                .filter(|(name, _)| name.as_bytes().starts_with(b"LC_"))
                .map(|(a, b)| (a.clone(), b.clone())),
        );
        all.extend(vars);
        let dirs = own.iter().chain(&self.settings.read).map(PathBuf::as_path);
        let path = std::iter::once(Path::new("/run/shopfloor/bin"))
            .chain(dirs.filter(|dir| dir.is_dir() && !dir.as_os_str().as_bytes().contains(&b':')))
            .chain(["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"].map(Path::new));
        all.insert("PATH".into(), std::env::join_paths(path).unwrap_or_default());
        all.insert("HOME".into(), self.home_inside().into());
        all.insert("SHELL".into(), "/bin/sh".into());
        all.insert(SPOOL.into(), format!("{OURS}/spool").into());
        all
    }

    /// A home that is used for nothing else on this machine.
    pub(super) fn home_inside(&self) -> &'static str {
        let homes = ["/home/agent", "/home/shopfloor-agent"];
        let own =
            [&self.worktree, &self.common_dir, &self.dir].into_iter().chain(&self.settings.read).chain(&self.files);
        let all: Vec<&Path> = own.map(PathBuf::as_path).chain(self.env.home()).collect();
        let is_used = |home: &&str| all.iter().any(|path| path.starts_with(home));
        homes.into_iter().find(|home| !is_used(home)).unwrap_or(homes[0])
    }

    fn mounts(&self, own: &[PathBuf]) -> Result<Vec<OsString>> {
        let (worktree, dot_git) = (&self.worktree, self.worktree.join(".git"));
        let mut words = bwrap(&self.env)?;
        if !self.settings.nested {
            words.push("--disable-userns".into());
        }
        if !self.settings.network {
            words.push("--unshare-net".into());
        }
        words.extend(read_only(Path::new("/usr")));
        words.extend(links_of_root());
        words.extend(readable());
        words.extend(["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"].map(OsString::from));
        words.extend(["--ro-bind-try", "/proc/sysrq-trigger", "/proc/sysrq-trigger"].map(OsString::from));
        words.extend(["--dev", "/dev"].map(OsString::from));
        for device in &self.settings.devices {
            self.require_harmless("devices", device)?;
            words.extend(["--dev-bind-try".into(), device.into(), device.into()]);
        }
        let tmp = bytes(&self.settings.tmp).unwrap_or_default().to_string();
        words.extend(["--size", &tmp, "--tmpfs", "/tmp"].map(OsString::from));
        words.extend(["--size", "268435456", "--tmpfs", "/dev/shm"].map(OsString::from));
        words.extend(["--size", "67108864", "--tmpfs", "/run", "--remount-ro", "/dev"].map(OsString::from));
        words.extend(["--symlink", "../tmp", "/var/tmp"].map(OsString::from));
        if let Ok(resolver) = Path::new("/etc/resolv.conf").canonicalize()
            && !resolver.starts_with("/etc")
        {
            words.extend(read_only(&resolver));
        }
        words.extend(["--bind".into(), self.home().into(), self.home_inside().into()]);
        self.settings.read.iter().try_for_each(|path| self.require_harmless("read", path))?;
        own.iter().chain(&self.settings.read).for_each(|path| words.extend(read_only(path)));
        words.extend(["--bind".into(), worktree.into(), worktree.into()]);
        words.extend(read_only(&dot_git));
        self.hooks_inside()?.iter().for_each(|hooks| words.extend(read_only(hooks)));
        words.extend(["--bind".into(), self.git_dir().into(), self.common_dir.clone().into()]);
        words.extend(self.objects(&format!("{OURS}/objects")));
        // Those of other repositories are named by their own paths, too.
        let others = objects::inside(&self.common_dir, "").into_iter().skip(1).map(|(dir, _)| dir);
        others.filter(|dir| !dir.starts_with(worktree)).for_each(|dir| words.extend(read_only(&dir)));
        words.extend(["--bind".into(), self.spool().into(), format!("{OURS}/spool").into()]);
        words.extend(["--ro-bind".into(), self.texts().into(), TEXTS.into()]);
        for (tool, found, program) in self.tools() {
            // Files in the worktree, and the person's settings, may name them by their own paths.
            let is_shown = ["/usr", "/bin", "/opt"].iter().any(|dir| found.starts_with(dir));
            let own = (!is_shown && !found.starts_with(worktree)).then(|| found.into_os_string());
            for inside in own.into_iter().chain([format!("{OURS}/bin/{tool}").into()]) {
                words.extend(["--ro-bind".into(), program.clone().into(), inside]);
            }
        }
        self.files.iter().for_each(|file| words.extend(read_only(file)));
        words.extend(["--remount-ro".into(), "/".into(), "--chdir".into(), worktree.into()]);
        Ok(words)
    }

    /// The top directories in the worktree in which the person's git looks for hooks there: nothing may be written there.
    /// Fails, kind `tampered`, where one is a link.
    fn hooks_inside(&self) -> Result<Vec<PathBuf>> {
        // The worktree's own settings count, and files that are included only there.
        let set = Git::find(&self.env)?.config(&self.record, "core.hooksPath", Some("--type=path"))?;
        let set = set.filter(|path| !path.is_empty()).map(|path| self.worktree.join(path));
        // The same with its links followed, as far as it is there.
        let followed = |path: &Path| {
            path.ancestors().find_map(|dir| Some(dir.canonicalize().ok()?.join(path.strip_prefix(dir).ok()?)))
        };
        let real = set.as_deref().and_then(followed);
        let mut tops = Vec::new();
        for inside in set.iter().chain(&real).filter_map(|path| path.strip_prefix(&self.worktree).ok()) {
            // A directory before a `..` could become a link to elsewhere.
            let first = inside.components().next().filter(|_| !inside.iter().any(|part| part == ".."));
            let Some(Component::Normal(first)) = first else {
                let failure = NO_SANDBOX.failure("core.hooksPath leads through the worktree");
                return Err(failure.hint("name a directory of its own, without `..`"));
            };
            let top = self.worktree.join(first);
            match top.symlink_metadata() {
                Ok(meta) if meta.is_dir() => {}
                // git looks there as soon as it is there.
                Err(_) => fs::create_dir(&top)?,
                Ok(_) => {
                    let why = format!("{} is no directory", top.display());
                    return Err(Failure::new(crate::error::Exit::Failed, "tampered", why)
                        .hint("git looks for hooks there: look at it, and take it away"));
                }
            }
            tops.push(top);
        }
        Ok(tops)
    }

    /// The objects of the repository outside, and of those that it takes objects from.
    fn objects(&self, at: &str) -> Vec<OsString> {
        let all = objects::inside(&self.common_dir, at).into_iter();
        all.flat_map(|(dir, inside)| ["--ro-bind".into(), dir.into_os_string(), inside.into()]).collect()
    }

    /// Our own programs, each with its name, its path and the file that it is.
    fn tools(&self) -> Vec<(&'static str, PathBuf, PathBuf)> {
        let own = std::env::current_exe().ok();
        let own = own.filter(|own| TOOLS.iter().any(|tool| own.ends_with(tool)));
        let find = |tool: &'static str| {
            let own = own.as_deref().and_then(Path::parent).map(|dir| dir.join(tool)).filter(|file| file.is_file());
            let found = own.or_else(|| proc::find(&self.env, tool))?;
            let program = found.canonicalize().ok()?;
            Some((tool, found, program))
        };
        TOOLS.into_iter().filter_map(find).collect()
    }

    /// What a program consists of, where it does not lie where everybody's programs lie: its directory, or the modules of
    /// its package, and the same of its interpreter.
    fn program_files(&self, program: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut next = Some(program.to_path_buf());
        // Nothing is opened because a file says so that the agent can write.
        let is_agents = |path: &Path| path.starts_with(&self.worktree);
        while let Some(path) = next.take().filter(|path| !is_agents(path) && files.len() < 4) {
            let Some(real) = path.canonicalize().ok().filter(|real| !is_agents(real)) else { break };
            let is_python = |prefix: &&Path| prefix.join("pyvenv.cfg").is_file();
            // Of a virtual environment, the program is a link to one outside.
            let venv = path.parent().and_then(Path::parent).filter(is_python).map(Path::to_path_buf);
            files.extend(venv.filter(|venv| self.require_harmless("read", venv).is_ok()));
            if !PUBLIC.iter().any(|dir| real.starts_with(dir)) {
                let parts: Vec<&OsStr> = real.iter().collect();
                let modules = parts.iter().position(|part| *part == "node_modules");
                let modules = modules.map(|at| parts[..=at].iter().collect::<PathBuf>());
                // Python has its modules beside the directory of its program.
                let python = real.file_name().is_some_and(|name| name.as_bytes().starts_with(b"python"));
                let prefix = real.parent().and_then(Path::parent);
                let prefix = prefix.filter(|prefix| python || is_python(prefix)).map(Path::to_path_buf);
                let dir =
                    modules.or(prefix).or_else(|| real.parent().map(Path::to_path_buf)).unwrap_or_else(|| real.clone());
                files.push(if self.require_harmless("read", &dir).is_ok() { dir } else { real.clone() });
            }
            let head = fs::read_head(&real).ok().flatten().unwrap_or_default();
            next = interpreter(&self.env, &head);
        }
        files.dedup();
        files
    }

    /// Exit 2 if what is named by this key leads to what is to be closed. Of a root nothing is read: who reaches the socket
    /// there commands tmux outside.
    fn require_harmless(&self, key: &str, path: &Path) -> Result<()> {
        let (place, roots) = (real(path), crate::known_dirs::roots(&self.env)?);
        let own = [Some(self.worktree.as_path()), Some(&self.common_dir), Some(&self.dir), self.env.home()];
        let mut closed = own.into_iter().flatten().chain(roots.keys().map(PathBuf::as_path));
        let held = closed.find(|closed| real(closed).starts_with(&place)).map(|closed| ("holds", closed));
        let root = roots.keys().find(|root| place.starts_with(root)).map(|root| ("lies in", root.as_path()));
        let named = format!("`{key}` of {} names {}", self.settings.table, path.display());
        let is_below_dev = path.starts_with("/dev")
            && !path.iter().any(|part| part == "..")
            && place.parent().is_some_and(|dir| dir.starts_with("/dev"));
        match held.or(root) {
            Some((how, closed)) => {
                let failure = NO_SANDBOX.failure(format!("{named}, which {how} {}", closed.display()));
                Err(failure.hint("name only the directories of the programs that the agent needs"))
            }
            // A device may come and go.
            None if key == "devices" && is_below_dev => Ok(()),
            None if key == "devices" => {
                Err(NO_SANDBOX.failure(format!("{named}, which is not below /dev")).hint("name a device there"))
            }
            None if !path.is_absolute() || !path.exists() => {
                Err(NO_SANDBOX.failure(format!("{named}, which is not there")).hint("write a whole path that exists"))
            }
            None => Ok(()),
        }
    }

    /// Runs a script of ours for `sh` where the agent works. The agent's hooks and filters may run there.
    pub(super) fn inside(&self, script: &str, args: &[&str]) -> Result<Output> {
        self.command(&[&["/bin/sh", "-c", script, "sh"], args].concat(), false)?
            .var("LC_ALL", "C")
            .within(MOVE_LIMIT)
            .capture()
    }

    /// A command inside, without a terminal. The network is there only if the settings and the caller want it.
    pub fn command(&self, argv: &[&str], has_network: bool) -> Result<Cmd> {
        let network = has_network && self.settings.network;
        let inner = Sandbox { settings: SandboxSettings { network, ..self.settings.clone() }, ..self.clone() };
        let mut words = inner.mounts(&[])?;
        let filter = memory("seccomp", &seccomp_program())?;
        words.extend(["--new-session".into(), "--seccomp".into(), number(&filter), "--".into()]);
        words.extend(argv.iter().map(OsString::from));
        let (first, rest) = words.split_first().ok_or_else(|| Failure::failed("no command"))?;
        let cmd = Cmd::new(Path::new(first), &self.env).args(rest.iter().cloned()).dir(&self.worktree);
        Ok(cmd.only_vars(self.variables(Vec::new(), &[])).keeping(vec![filter]))
    }

    /// Runs a line of ours for `sh` in a sandbox without network and terminal, where `/box` is this sandbox's directory: only
    /// to be read, or with what is the agent's to be written. Fails with the kind `deadline` if it takes too long.
    pub(super) fn contained(&self, is_read_only: bool, line: &str) -> Result<Output> {
        self.contained_cmd(is_read_only, line)?.within(LIMIT).capture()
    }

    pub(super) fn contained_cmd(&self, is_read_only: bool, line: &str) -> Result<Cmd> {
        let mut words = closed(&self.env)?;
        // Of devices, only the one in which nothing is: an agent's file can be a link to any other.
        words.extend(["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"].map(OsString::from));
        words.extend(["--dev-bind", "/dev/null", "/dev/null"].map(OsString::from));
        words.extend(["--tmpfs", "/tmp", "--size", "67108864", "--tmpfs", "/g"].map(OsString::from));
        let bind = if is_read_only { "--ro-bind" } else { "--bind" };
        for name in ["git", "home"] {
            words.extend([bind.into(), self.dir.join(name).into(), format!("/box/{name}").into()]);
        }
        words.extend(self.objects("/objects"));
        words.extend(["--ro-bind-try".into(), self.common_dir.join("shallow").into(), "/shallow".into()]);
        words.extend(["--chdir", "/g", "--", "/bin/sh", "-c", line].map(OsString::from));
        let (first, rest) = words.split_first().ok_or_else(|| Failure::failed("no command"))?;
        let vars = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/tmp"), ("LC_ALL", "C")];
        let vars = vars.map(|(name, value)| (name.into(), value.into()));
        Ok(Cmd::new(Path::new(first), &self.env).args(rest.iter().cloned()).dir(Path::new("/")).only_vars(vars.into()))
    }
}

/// The program that a script names in its first line.
fn interpreter(env: &Env, head: &[u8]) -> Option<PathBuf> {
    let line = String::from_utf8_lossy(head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?).into_owned();
    let mut words = line.split_whitespace();
    let first = words.next().filter(|first| first.starts_with('/'))?;
    match first.ends_with("/env") {
        true => proc::find(env, words.find(|word| !word.starts_with('-')).filter(|name| !name.contains('/'))?),
        false => Some(first.into()),
    }
}

/// A nameless file that children get open, with this content.
#[cfg(target_os = "linux")]
fn memory(name: &str, bytes: &[u8]) -> Result<Arc<OwnedFd>> {
    let cannot = |e: std::io::Error| Failure::failed("cannot make a nameless file").because(e);
    let fd = rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::empty()).map_err(|e| cannot(e.into()))?;
    let mut file = std::fs::File::from(fd);
    file.write_all(bytes).and_then(|()| file.rewind()).map_err(cannot)?;
    Ok(Arc::new(file.into()))
}

#[cfg(not(target_os = "linux"))]
fn memory(_: &str, _: &[u8]) -> Result<Arc<OwnedFd>> {
    Err(NO_SANDBOX.failure("a sandbox needs Linux"))
}

#[cfg(target_os = "linux")]
fn seccomp_program() -> Vec<u8> {
    seccomp::program()
}

#[cfg(not(target_os = "linux"))]
fn seccomp_program() -> Vec<u8> {
    Vec::new()
}

fn number(file: &Arc<OwnedFd>) -> OsString {
    use std::os::fd::AsRawFd;
    file.as_raw_fd().to_string().into()
}
