//! A sandbox for an agent in a linked worktree, in which git works: bubblewrap around the program, with a private
//! repository in the place of the shared one. Commits come in as from a stranger, by object id and pack; git outside
//! never reads what an agent can write. It holds an agent back from everything outside of its worktree but the network
//! and what everybody can read; it is no protection against a fault of the kernel.

mod available;
mod bubblewrap;
mod import;
mod incoming;
mod moves;
mod objects;
mod private_repository;
mod seccomp;
mod spool;
mod terminal;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::config::expand_home;
use crate::env::Env;
use crate::error::{Exit, Failure, FailureKind, Result};
use crate::fs;
use crate::git::{Git, recorded_dir};
use crate::hash::Digest;
use crate::path::RelPath;
use crate::proc::Cmd;
use crate::sys;
use crate::text::{Position, of_unknown_key};

pub use self::available::require_available;
pub use self::bubblewrap::{TERMINAL, is_inside};
pub use self::import::Imported;
pub use self::incoming::Incoming;
pub use self::spool::{HOOK, NOTIFY, report};

/// There is no sandbox on this machine, or none for this worktree.
pub const NO_SANDBOX: FailureKind = FailureKind::new("no_sandbox", Exit::Bad);

/// What an agent made in its sandbox is not taken.
pub const REFUSED: FailureKind = FailureKind::new("import_refused", Exit::No);

/// The subcommand that every tool with sandboxes has, for the first thing that runs inside.
pub const INSIDE: &str = "inside-sandbox";

/// Where an agent finds its reports' directory, in the variable of this name.
pub const SPOOL: &str = "SHOPFLOOR_SPOOL";

/// What a person has set for sandboxes, in `[runners.sandbox]`. A slip of the pen there would leave open what is to be closed,
/// so an unknown key is an error.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxSettings {
    /// Whether programs reach the network, and with it the services of this machine.
    pub network: bool,
    /// Further directories and files that programs can read.
    pub read: Vec<PathBuf>,
    /// Further variables that programs get.
    pub env: Vec<String>,
    /// Devices below `/dev` that programs get.
    pub devices: Vec<PathBuf>,
    /// Whether programs can make sandboxes of their own inside.
    pub nested: bool,
    /// Whether commits may have submodules.
    pub gitlinks: bool,
    /// The size of `/tmp`, which is memory.
    pub tmp: String,
    /// What is taken of an agent's commits at once.
    pub limits: ImportLimits,
    /// The table with these settings, for messages.
    #[serde(skip)]
    pub table: &'static str,
}

/// The table of the user's own configuration, and that of a root's.
const USERS_TABLE: &str = "[worker-ctl.runners.sandbox]";
const ROOTS_TABLE: &str = "[runners.sandbox]";

/// How much of what an agent has committed comes out of a sandbox at once.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImportLimits {
    /// How many seconds each step may take.
    pub seconds: u64,
    /// How many commits.
    pub commits: usize,
    /// The size of an object.
    pub object: String,
    /// The size of all objects.
    pub total: String,
}

impl Default for ImportLimits {
    fn default() -> ImportLimits {
        ImportLimits { seconds: 60, commits: 2_000, object: "100M".into(), total: "2G".into() }
    }
}

impl Default for SandboxSettings {
    fn default() -> SandboxSettings {
        let (read, env, devices) = (Vec::new(), Vec::new(), Vec::new());
        let (limits, tmp, table) = (ImportLimits::default(), "1G".into(), USERS_TABLE);
        SandboxSettings { network: true, read, env, devices, nested: false, gitlinks: false, tmp, limits, table }
    }
}

/// The runners of agents in a configuration: the sandbox, and others of `T` by name.
#[derive(Debug)]
pub struct Runners<T> {
    /// Its settings.
    pub sandbox: Option<SandboxSettings>,
    /// The others.
    pub others: BTreeMap<String, T>,
}

impl<T> Default for Runners<T> {
    fn default() -> Runners<T> {
        Runners { sandbox: None, others: BTreeMap::new() }
    }
}

// By hand, because a flattened table loses the places of its faults.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Runners<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Tables<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Tables<T> {
            type Value = Runners<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table for each runner")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Runners<T>, A::Error> {
                let mut all = Runners::default();
                while let Some(name) = map.next_key::<String>()? {
                    match name.as_str() {
                        "sandbox" => all.sandbox = Some(map.next_value()?),
                        _ => drop(all.others.insert(name, map.next_value()?)),
                    }
                }
                Ok(all)
            }
        }
        deserializer.deserialize_map(Tables(PhantomData))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsersFile {
    #[serde(rename = "worker-ctl")]
    own: UsersTable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsersTable {
    runners: Runners<IgnoredAny>,
}

impl SandboxSettings {
    /// Those of the table `[worker-ctl.runners.sandbox]` of the user's own configuration. Exit 2 with file, line and column
    /// where it is invalid.
    pub fn of_user(env: &Env) -> Result<SandboxSettings> {
        Self::of_root(env, "")
    }

    /// The same with those of a root's configuration over them, key by key. `root` is its text, in which they are valid.
    pub fn of_root(env: &Env, root: &str) -> Result<SandboxSettings> {
        let path = env.config_home().map(|dir| dir.join("config.toml"));
        let text = path.as_ref().map_or(Ok(None), |path| fs::read(path))?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let file: UsersFile = toml::from_str(&text).map_err(|e| {
            let at = Position::of(&text, e.span().map_or(0, |span| span.start));
            let path = path.unwrap_or_default();
            Failure::malformed(format!("{}:{at}: {}", path.display(), of_unknown_key(e.message())))
        })?;
        let users = file.own.runners.sandbox.unwrap_or_default().checked(env)?;
        let roots = table_at(root, &["runners", "sandbox"]);
        if roots.is_empty() {
            return Ok(users);
        }
        let mut all = table_at(&text, &["worker-ctl", "runners", "sandbox"]);
        all.extend(roots);
        let all: SandboxSettings = all.try_into().map_err(|e| Failure::malformed(format!("{ROOTS_TABLE}: {e}")))?;
        SandboxSettings { table: ROOTS_TABLE, ..all }.checked(env)
    }

    /// The same with whole paths. Exit 2 for a size that is none.
    fn checked(mut self, env: &Env) -> Result<SandboxSettings> {
        self.read.iter_mut().for_each(|path| *path = expand_home(env, path.as_path()));
        let sizes = [("tmp", &self.tmp), ("object", &self.limits.object), ("total", &self.limits.total)];
        if let Some((key, size)) = sizes.into_iter().find(|(_, size)| bytes(size).is_none()) {
            return Err(Failure::malformed(format!("`{key} = {size:?}` of {} is no size", self.table))
                .hint("write it as \"512M\" or \"2G\""));
        }
        Ok(self)
    }
}

/// What a configuration has in the table of this name.
fn table_at(text: &str, name: &[&str]) -> toml::Table {
    let all = text.parse().map(toml::Value::Table).ok();
    let found = all.and_then(|all| name.iter().try_fold(all, |table, key| table.get(key).cloned()));
    if let Some(toml::Value::Table(found)) = found { found } else { toml::Table::new() }
}

/// A size as `512M` or `2G`.
fn bytes(text: &str) -> Option<u64> {
    let unit = match text.trim_start_matches(|c: char| c.is_ascii_digit()) {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    text.trim_end_matches(['K', 'M', 'G']).parse::<u64>().ok()?.checked_mul(unit).filter(|size| *size > 0)
}

/// The sandbox of one worktree, whether it was made yet or not.
#[derive(Clone, Debug)]
pub struct Sandbox {
    env: Env,
    settings: SandboxSettings,
    /// Ours, where no agent can write: `git` and `home` inside are the agent's.
    dir: PathBuf,
    worktree: PathBuf,
    common_dir: PathBuf,
    /// The worktree's private git directory outside.
    record: PathBuf,
    /// Files of ours that the program reads, at the same path inside.
    files: Vec<PathBuf>,
}

impl Sandbox {
    /// That of the linked worktree at `worktree`, in the user's own state. Another worktree that later has the same
    /// name gets another one. Exit 2, kind `no_sandbox`, for a main checkout.
    pub fn of(env: &Env, common_dir: &Path, worktree: &Path, settings: SandboxSettings) -> Result<Sandbox> {
        let common_dir = fs_real(common_dir)?;
        let worktree = fs_real(worktree)?;
        let boxes = boxes(env)
            .ok_or_else(|| NO_SANDBOX.failure("there is no place for state").hint("set HOME to an absolute path"))?;
        let record = recorded_dir(&common_dir, &worktree)?.filter(|record| *record != common_dir);
        let record = record.ok_or_else(|| {
            NO_SANDBOX
                .failure(format!("{} is no linked worktree, so it cannot be contained", worktree.display()))
                .hint("give the agent a worktree of its own: `worktree-spawn subtree NAME`")
        })?;
        let dir = box_of(&boxes, &common_dir, &record)?;
        Ok(Sandbox { env: env.clone(), settings, dir, worktree, common_dir, record, files: Vec::new() })
    }

    /// Whether an agent has been in the sandbox of the worktree that has this private git directory, wherever it is now.
    pub fn was_entered(env: &Env, common_dir: &Path, git_dir: &Path) -> Result<bool> {
        let Some(boxes) = boxes(env).filter(|boxes| boxes.exists()) else { return Ok(false) };
        Ok(box_of(&boxes, &fs_real(common_dir)?, &fs_real(git_dir)?)?.join("worktree").exists())
    }

    /// The same with files of ours that the program reads, at the same path inside.
    pub fn with_files(self, files: Vec<PathBuf>) -> Sandbox {
        Sandbox { files, ..self }
    }

    /// Whether it was made: an agent has been in it.
    pub fn is_made(&self) -> bool {
        self.dir.join("worktree").exists()
    }

    /// Where the agent's reports come out.
    fn spool(&self) -> PathBuf {
        self.dir.join("spool")
    }

    /// Puts a text where the agent can read it, and nobody inside can write. Returns its path inside.
    pub fn put_text(&self, name: &OsStr, text: &[u8]) -> Result<PathBuf> {
        fs::replace(&self.texts().join(name), text, Some(fs::PRIVATE))?;
        Ok(Path::new(bubblewrap::TEXTS).join(name))
    }

    fn texts(&self) -> PathBuf {
        self.dir.join("texts")
    }

    /// The name of the worktree's private git directory.
    fn name(&self) -> &OsStr {
        self.record.file_name().unwrap_or_default()
    }

    /// The private repository.
    pub fn git_dir(&self) -> PathBuf {
        self.dir.join("git")
    }

    /// The agent's home.
    fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    /// The path inside of something in the agent's home.
    pub fn path_in_home(&self, name: &str) -> PathBuf {
        Path::new(self.home_inside()).join(name)
    }

    /// The agent's home, opened, and the path in it that this path means inside. Nothing in it is followed.
    pub fn in_home(&self, inside: &Path) -> Option<(fs::Root, RelPath)> {
        let rel = inside.strip_prefix(self.home_inside()).ok()?;
        Some((fs::Root::open(&self.home()).ok()?, RelPath::parse_os(rel.as_os_str()).ok()?))
    }

    /// A ref of ours outside, for this worktree.
    fn own_ref(&self, kind: &str) -> String {
        format!("refs/shopfloor/{kind}/{}", self.name().to_string_lossy())
    }

    /// Deletes it, with all that was not imported. What an agent made of its directories is no obstacle.
    pub fn remove(&self) -> Result<()> {
        if !self.dir.exists() {
            return Ok(());
        }
        let _lock = self.lock()?;
        // An agent can take its own rights away, and nest directories deeper than a path can name.
        self.contained(
            false,
            "chmod -R u+rwX /box/git /box/home; rm -rf /box/git/* /box/git/.[!.]* /box/home/* /box/home/.[!.]*",
        )?;
        fs::remove_tree(&self.dir)?;
        let git = Git::find(&self.env)?.common(&self.common_dir)?;
        for kind in ["in", "box"] {
            let refs =
                git.cmd(&self.common_dir).args(["for-each-ref", "--format=delete %(refname)", &self.own_ref(kind)]);
            let input = refs.capture()?.stdout;
            git.cmd_alone(&self.common_dir).args(["update-ref", "--stdin"]).input(input).capture()?;
        }
        Ok(())
    }

    /// Puts it aside with all that is in it, so that the next start makes a new one. Returns where the private repository is.
    pub fn put_aside(&self) -> Result<PathBuf> {
        let aside = self.dir.with_extension(fs::unique_name());
        fs::rename_over(&self.dir, &aside)?;
        Ok(aside.join("git"))
    }

    /// Lets everything in the worktree be read, which the agent can have denied.
    pub fn open_worktree(&self) -> Result<()> {
        self.inside("chmod -R u+rwX .", &[]).map(drop)
    }
}

/// The sandbox of a worktree with this record, among all. A repository that is moved keeps its sandboxes. Where the file
/// system does not tell when a directory was made, its paths count, so that another worktree never gets this one's; so they
/// did everywhere once.
fn box_of(boxes: &Path, common_dir: &Path, record: &Path) -> Result<PathBuf> {
    let meta = std::fs::metadata(record).map_err(|e| Failure::failed("cannot read a worktree's record").because(e))?;
    let born = meta.created().ok().map(|time| format!("{time:?}"));
    let named = |key: String| boxes.join(&Digest::of(key.as_bytes()).to_string()[..32]);
    let by_path = named(format!("{}\n{}\n{}\n{born:?}", common_dir.display(), record.display(), meta.ino()));
    Ok(match born {
        Some(born) if !by_path.exists() => named(format!("{}\n{born}", meta.ino())),
        _ => by_path,
    })
}

/// The version of bubblewrap, and what of Landlock closes further, for a person. Fails as [`require_available`].
pub fn describe(env: &Env) -> Result<String> {
    require_available(env)?;
    let own = available::version(env).unwrap_or_default();
    let landlock = match sys::landlock_version() {
        6.. => "",
        _ => {
            "; this kernel's Landlock leaves the abstract sockets of other programs open, which `network = false` closes"
        }
    };
    Ok(format!("{own}{landlock}"))
}

/// The sandboxes that were put aside or whose worktrees are gone, each with its directory and where its worktree was.
pub fn abandoned(env: &Env) -> Vec<(PathBuf, PathBuf)> {
    let Some(boxes) = boxes(env) else { return Vec::new() };
    let of = |name: &std::ffi::OsString| {
        let dir = boxes.join(name);
        let worktree = fs::read_no_follow(&dir.join("worktree")).ok().flatten()?;
        Some((dir, PathBuf::from(OsStr::from_bytes(&worktree))))
    };
    let all = fs::list(&boxes).unwrap_or_default();
    // A worktree that was made anew at the same place has another one.
    let is_its = |(dir, worktree): &(PathBuf, PathBuf)| {
        let common_dir = crate::git::common_dir_of(worktree);
        let now = common_dir.and_then(|common| Sandbox::of(env, &common, worktree, SandboxSettings::default()).ok());
        now.is_some_and(|now| now.dir == *dir)
    };
    all.iter().filter_map(of).filter(|found| !is_its(found)).collect()
}

/// Where sandboxes lie in the user's own state.
fn boxes(env: &Env) -> Option<PathBuf> {
    Some(env.state_home()?.join("boxes"))
}

/// The failure of what an agent cannot do in a sandbox: the repository inside is its own.
pub fn not_inside() -> Failure {
    NO_SANDBOX.failure("this does not work in a sandbox").hint("report to the parent or the person what is to be done")
}

/// Whether there are sandboxes at all.
pub fn are_any(env: &Env) -> bool {
    boxes(env).is_some_and(|dir| dir.is_dir())
}

fn fs_real(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|e| Failure::failed(format!("cannot read {}", path.display())).because(e))
}

/// What [`INSIDE`] does: it is the first of ours inside, gives signals back their meaning, closes what Landlock can, and
/// becomes the agent's program. Returns why that failed.
pub fn enter(env: &Env, command: &[OsString]) -> Failure {
    let Some((program, args)) = command.split_first() else { return Failure::usage("a command is missing") };
    sys::default_signals();
    sys::close_files_at_exec();
    // Where the kernel has none, `doctor` says so.
    let _ = sys::close_abstract_sockets();
    Cmd::new(Path::new(program), env).args(args).exec()
}
