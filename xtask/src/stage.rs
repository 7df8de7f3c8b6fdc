//! Copies the built tests and the files they read to a place that every user can read. The suite can then run as an
//! ordinary user, who has neither a toolchain nor this checkout.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::kills::Kills;
use crate::registry::recipe_programs;
use crate::run::{Build, TOOLS, build, cargo_program, find, project, target_dir};
use crate::test::{SKIPPED, Skipped, open_dir, threads};

/// The user that is created for the suite. Its home is there, because sshd goes to it, and is nobody's.
const NAME: &str = "shopfloor-tests";

/// Who runs the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    Root,
    /// A user without special rights, whose home nobody else can read.
    Ordinary,
}

/// The file system that holds temporary files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    Tmpfs,
    Ext4,
}

/// One run of the suite, or of a part of it.
#[derive(Clone, Debug)]
pub struct Leg {
    pub user: User,
    pub disk: Disk,
    pub kills: Kills,
    /// This directory comes first on the PATH.
    pub first_on_path: Option<PathBuf>,
    /// The full names of the tests of package `it` to run; without it, all tests run.
    pub only: Option<Vec<String>>,
}

impl std::fmt::Display for Leg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = self.only.as_ref().map_or("the suite".to_owned(), |only| format!("{} tests", only.len()));
        let user = match self.user {
            User::Root => "root",
            User::Ordinary => "an ordinary user",
        };
        let disk = match self.disk {
            Disk::Tmpfs => "tmpfs",
            Disk::Ext4 => "ext4",
        };
        write!(f, "{what} as {user}, temporary files on {disk}")?;
        self.first_on_path.iter().try_for_each(|dir| write!(f, ", with the programs of {}", dir.display()))
    }
}

/// A test binary, and the package directory to run it in.
struct Binary {
    path: PathBuf,
    package: PathBuf,
}

pub struct Stage {
    dir: TempDir,
    binaries: Vec<Binary>,
}

impl Stage {
    /// Builds everything and copies it into place.
    pub fn new() -> Result<Stage> {
        build(Build::Debug)?;
        let built = built_tests()?;
        let dir = tempfile::Builder::new().prefix("shopfloor-tests-").tempdir_in(open_dir()?)?;
        open(dir.path())?;
        copy_project(&dir.path().join("project"))?;
        let target = dir.path().join("target/debug");
        std::fs::create_dir_all(target.join("deps"))?;
        for name in TOOLS.iter().chain(&["tools", "agent"]) {
            place(&target_dir().join("debug").join(name), &target.join(name))?;
        }
        let mut binaries = Vec::new();
        for (executable, manifest) in built {
            let path = target.join("deps").join(executable.file_name().unwrap_or_default());
            place(&executable, &path)?;
            let package = manifest.parent().and_then(|dir| dir.strip_prefix(project()).ok()).unwrap_or(Path::new(""));
            binaries.push(Binary { path, package: dir.path().join("project").join(package) });
        }
        Ok(Stage { dir, binaries })
    }

    /// Runs the tests and returns those that were skipped. Fails when a test fails, or leaves a file or a process
    /// behind.
    pub fn run(&self, leg: &Leg) -> Result<Skipped> {
        eprintln!("xtask: {leg}");
        self.require_named(leg)?;
        let ids = match leg.user {
            User::Root => None,
            User::Ordinary => Some(ordinary_user()?),
        };
        let scratch = Scratch::new(leg.disk)?;
        let own = |name: &str, below: &Path| -> Result<PathBuf> {
            let dir = below.join(name);
            std::fs::create_dir(&dir)?;
            std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700))?;
            if let Some((uid, gid)) = ids {
                std::os::unix::fs::chown(&dir, Some(uid), Some(gid))?;
            }
            Ok(dir)
        };
        let (home, tmp) = (own("home", scratch.path())?, own("tmp", scratch.path())?);
        let skipped = home.join("skipped");
        let mut failed = Vec::new();
        for binary in self.chosen(leg) {
            let mut command = match ids {
                None => Command::new(&binary.path),
                Some((uid, gid)) => {
                    let mut command = Command::new("setpriv");
                    command.args([format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".to_owned()]);
                    command.arg("--").arg(&binary.path);
                    command
                }
            };
            command.args(leg.only.iter().flatten()).args(leg.only.as_ref().map(|_| "--exact"));
            command.env_clear().envs(self.variables(leg, binary, &home, &tmp, &skipped)).current_dir(&binary.package);
            let status = command.stdin(Stdio::null()).status().context("cannot run the tests")?;
            if !status.success() {
                failed.push(binary.path.file_name().unwrap_or_default().to_string_lossy().into_owned());
            }
        }
        let left: Vec<String> =
            std::fs::read_dir(&tmp)?.filter_map(|e| Some(e.ok()?.path().display().to_string())).collect();
        let living = ids.map(|(uid, _)| living(uid, scratch.path())).unwrap_or_default();
        match () {
            () if !failed.is_empty() => bail!("{leg}: tests of {} failed", failed.join(", ")),
            () if !left.is_empty() => bail!("{leg}: tests left {}", left.join(", ")),
            () if !living.is_empty() => bail!("{leg}: tests left running: {}", living.join("; ")),
            () => Skipped::read(&skipped),
        }
    }

    /// Fails for a name that no test has: such a run would pass without testing anything.
    fn require_named(&self, leg: &Leg) -> Result<()> {
        let Some(only) = &leg.only else { return Ok(()) };
        let mut known = String::new();
        for binary in self.chosen(leg) {
            let output = Command::new(&binary.path).args(["--list", "--format", "terse"]).output()?;
            known.push_str(&String::from_utf8_lossy(&output.stdout));
        }
        match only.iter().find(|name| !known.lines().any(|line| line.strip_suffix(": test") == Some(name))) {
            None => Ok(()),
            Some(name) => bail!("there is no test called {name}"),
        }
    }

    fn chosen(&self, leg: &Leg) -> impl Iterator<Item = &Binary> {
        let is_wanted =
            |binary: &&Binary| leg.only.is_none() || binary.package.ends_with("project/tests") && is_it(&binary.path);
        self.binaries.iter().filter(is_wanted)
    }

    fn variables(
        &self,
        leg: &Leg,
        binary: &Binary,
        home: &Path,
        tmp: &Path,
        skipped: &Path,
    ) -> BTreeMap<String, OsString> {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let dirs = leg.first_on_path.iter().cloned().chain(std::env::split_paths(&paths)).chain(recipe_programs());
        let user = if leg.user == User::Root { "root" } else { NAME };
        let ((kills, which), threads) = (leg.kills.variable(), threads());
        let variables: [(&str, &OsStr); 8] = [
            ("HOME", home.as_os_str()),
            ("TMPDIR", tmp.as_os_str()),
            ("USER", OsStr::new(user)),
            ("CARGO_MANIFEST_DIR", binary.package.as_os_str()),
            ("RUST_BACKTRACE", OsStr::new("0")),
            ("RUST_TEST_THREADS", &threads),
            (SKIPPED, skipped.as_os_str()),
            (kills, &which),
        ];
        let mut all: BTreeMap<_, _> = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        all.insert("PATH".into(), std::env::join_paths(dirs).unwrap_or(paths));
        all.insert("INSTA_WORKSPACE_ROOT".into(), self.dir.path().join("project").into_os_string());
        all
    }
}

fn is_it(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("it-"))
}

/// The test binaries, each with the manifest of its package.
fn built_tests() -> Result<Vec<(PathBuf, PathBuf)>> {
    let args =
        ["test", "--workspace", "--exclude", "reference", "--no-run", "--message-format=json-render-diagnostics"];
    eprintln!("xtask: cargo {}", args.join(" "));
    let output = Command::new(cargo_program()).args(args).current_dir(project()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("cargo test --no-run failed: {}", output.status);
    }
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let tests = messages.filter(|message| message["profile"]["test"] == true).filter_map(|message| {
        Some((message["executable"].as_str()?.into(), message["manifest_path"].as_str()?.into()))
    });
    Ok(tests.collect())
}

/// Copies everything that git would commit.
fn copy_project(to: &Path) -> Result<()> {
    let how = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = Command::new("git").args(how).current_dir(project()).output().context("cannot run git")?;
    for name in String::from_utf8_lossy(&listed.stdout).split('\0').filter(|name| !name.is_empty()) {
        let (from, to) = (project().join(name), to.join(name));
        if from.is_file() {
            std::fs::create_dir_all(to.parent().unwrap_or(&to))?;
            std::fs::copy(&from, &to).with_context(|| format!("cannot copy {name}"))?;
            open(&to)?;
        }
    }
    let dirs = walkdir::WalkDir::new(to).into_iter().filter_map(Result::ok).filter(|entry| entry.file_type().is_dir());
    dirs.map(walkdir::DirEntry::into_path).try_for_each(|dir| open(&dir))
}

/// Puts a program there, as a hard link where possible.
fn place(from: &Path, to: &Path) -> Result<()> {
    let is_open = from.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o005 == 0o005);
    if !is_open || std::fs::hard_link(from, to).is_err() {
        std::fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
        open(to)?;
    }
    Ok(())
}

/// Makes it readable for everybody.
fn open(path: &Path) -> Result<()> {
    let mode = path.metadata()?.permissions().mode();
    let more = if mode & 0o100 == 0 { 0o044 } else { 0o055 };
    Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode | more))?)
}

/// Whether this is the superuser.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    Path::new("/proc/self").metadata().is_ok_and(|own| own.uid() == 0)
}

/// The ids of the user and its group. Creates the user if there is none yet.
pub fn ordinary_user() -> Result<(u32, u32)> {
    let number = |flag: &str| -> Option<u32> {
        let output = Command::new("id").args([flag, NAME]).stderr(Stdio::null()).output().ok()?;
        String::from_utf8_lossy(&output.stdout).trim().parse().ok()
    };
    if number("-u").is_none() {
        let useradd = find("useradd").context("cannot create a user: useradd is not on the PATH")?;
        let how = ["--system", "--user-group", "--no-create-home", "--home-dir", "/", "--shell", "/bin/sh", NAME];
        let status = Command::new(useradd).args(how).status()?;
        if !status.success() {
            bail!("cannot create the user {NAME}: useradd failed with {status}");
        }
    }
    Ok((number("-u").context("the user has no id")?, number("-g").context("the user has no group id")?))
}

/// A user's processes that a test below `scratch` has started, each with its number, its command line and its directory,
/// which tells whose test left it. They have some seconds to end.
fn living(uid: u32, scratch: &Path) -> Vec<String> {
    let mut left = Vec::new();
    for _ in 0..50 {
        left = processes(uid, scratch);
        if left.is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    left
}

fn processes(uid: u32, scratch: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let own = entries.filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()));
    let own = own.filter(|entry| entry.metadata().is_ok_and(|meta| meta.uid() == uid));
    let told = |entry: std::fs::DirEntry| {
        let line = String::from_utf8_lossy(&std::fs::read(entry.path().join("cmdline")).ok()?).replace('\0', " ");
        let dir = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        // The number of a user may be in use elsewhere on the machine.
        let variables = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let is_ours =
            dir.starts_with(scratch) || String::from_utf8_lossy(&variables).contains(&*scratch.to_string_lossy());
        let pid = entry.file_name();
        (is_ours && !line.is_empty()).then(|| format!("{} ({} in {})", line.trim_end(), pid.display(), dir.display()))
    };
    own.filter_map(told).collect()
}

/// A directory on a file system of this kind. Dropping it deletes it.
struct Scratch {
    dir: Option<TempDir>,
    mounted: Option<PathBuf>,
}

impl Scratch {
    fn new(disk: Disk) -> Result<Scratch> {
        let kind = |dir: &Path| -> String {
            let output = Command::new("stat").args(["--file-system", "--format=%T"]).arg(dir).output();
            output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
        };
        let wanted = match disk {
            Disk::Tmpfs => "tmpfs",
            Disk::Ext4 => "ext2/ext3",
        };
        let open = open_dir()?;
        let place = [Path::new("/dev/shm"), &open].into_iter().find(|dir| kind(dir) == wanted);
        let make = |place: &Path| -> Result<TempDir> {
            let dir = tempfile::Builder::new().prefix("sf-").tempdir_in(place)?;
            std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755))?;
            Ok(dir)
        };
        if let Some(place) = place {
            return Ok(Scratch { dir: Some(make(place)?), mounted: None });
        }
        // Only root can mount one.
        let dir = make(&open)?;
        let at = dir.path().join("disk");
        let line = match disk {
            Disk::Tmpfs => "mkdir disk && mount -t tmpfs tmpfs disk",
            Disk::Ext4 => {
                "mkdir disk && truncate -s 8G image && mkfs.ext4 -q image && mount -o loop image disk && chmod 755 disk"
            }
        };
        let status = Command::new("sh").args(["-c", line]).current_dir(dir.path()).status()?;
        if !status.success() {
            bail!("no {wanted} is here, and none can be mounted");
        }
        Ok(Scratch { dir: Some(dir), mounted: Some(at) })
    }

    fn path(&self) -> &Path {
        let own = self.dir.as_ref().map_or(Path::new("/"), TempDir::path);
        self.mounted.as_deref().unwrap_or(own)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(at) = &self.mounted {
            let _ = Command::new("umount").arg("--lazy").arg(at).status();
        }
        drop(self.dir.take());
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn what_a_test_left_running_is_named_with_its_directory() {
        let (scratch, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let own = std::fs::metadata("/proc/self").unwrap().uid();
        let mut by_dir = Command::new("sleep").arg("601").current_dir(scratch.path()).spawn().unwrap();
        let mut by_variable = Command::new("sleep").arg("602").env("HOME", scratch.path().join("h")).spawn().unwrap();
        // A program that has just been started may not have its variables yet, and may still have its parent's words.
        let since = std::time::Instant::now();
        let is_there = |found: &str| found.contains("sleep 601 (") && found.contains("sleep 602 (");
        let mut found = String::new();
        while !is_there(&found) && since.elapsed().as_secs() < 60 {
            found = processes(own, scratch.path()).join("\n");
        }
        let strange = processes(own, other.path());
        for child in [&mut by_dir, &mut by_variable] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(is_there(&found) && found.contains(&*scratch.path().to_string_lossy()), "{found}");
        assert!(strange.is_empty(), "{strange:?}");
        assert_eq!(processes(own, scratch.path()), Vec::<String>::new());
    }
}
