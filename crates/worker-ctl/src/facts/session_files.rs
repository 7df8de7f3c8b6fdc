//! Finds and reads what a worker's program writes about its session. In a sandbox that is in the agent's home there, where
//! no link is followed.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use shopfloor_core::agents::SessionFile;
use shopfloor_core::fs::{Root, read_tail};
use shopfloor_core::path::{RelPath, real};
use shopfloor_core::sandbox::Sandbox;

use crate::context::Context;
use crate::session_file::{self, Cost, UsageLimit};
use crate::worker::Worker;

/// How much of a file's end is read for a limit, and of its beginning to know whose it is.
const TAIL: u64 = 64 << 10;
const HEAD: u64 = 256 << 10;

/// A file that is larger tells no cost.
const LARGEST: u64 = 64 << 20;

/// How many files of sessions are looked at.
const MOST: usize = 50;

/// How many days a session is looked for.
const DAYS: i64 = 40;

/// The usage limit that the file of a worker's session tells, if it is still ahead.
pub fn limit(ctx: &Context<'_>, sandbox: Option<&Sandbox>, worker: &Worker) -> Option<UsageLimit> {
    let (kind, _, file) = open(ctx, sandbox, worker)?;
    let (tail, now) = (read_tail(&file, TAIL).ok()?, ctx.now());
    match kind {
        SessionFile::Transcript => session_file::in_transcript(&tail, now),
        SessionFile::Rollout => session_file::in_rollout(&tail, worker.program.begun_unix.unwrap_or(0), now),
        SessionFile::Chat | SessionFile::None => None,
    }
}

/// What the session cost of which a worker's program writes, with the name of the file; none if that is not known.
pub fn cost(ctx: &Context<'_>, sandbox: Option<&Sandbox>, worker: &Worker) -> Option<(String, Cost)> {
    let (kind, name, mut file) = open(ctx, sandbox, worker)?;
    file.rewind().ok()?;
    let mut text = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut text).ok().filter(|size| *size as u64 <= LARGEST)?;
    let cost = match kind {
        SessionFile::Transcript => session_file::cost_in_transcript(&text),
        SessionFile::Rollout => session_file::cost_in_rollout(&text),
        SessionFile::Chat => session_file::cost_in_chat(&text),
        SessionFile::None => return None,
    };
    Some((name, cost))
}

fn open(ctx: &Context<'_>, sandbox: Option<&Sandbox>, worker: &Worker) -> Option<(SessionFile, String, File)> {
    let kind = ctx.root.session_file_of(worker);
    if kind == SessionFile::Rollout {
        let (root, rel) = rollout(ctx, sandbox, worker)?;
        return Some((kind, rel.name().to_string_lossy().into_owned(), regular(&root, &rel)?));
    }
    let named = worker.program.session_file.as_deref().map(Path::new).filter(|path| path.is_absolute())?;
    let (root, rel) = match sandbox {
        Some(sandbox) => sandbox.in_home(named)?,
        None => {
            // No link below the person's home is followed.
            let home = ctx.env.home().and_then(|home| Some((home, named.strip_prefix(home).ok()?)));
            let (root, rel) = home.unwrap_or((named.parent()?, Path::new(named.file_name()?)));
            (Root::open(&real(root)).ok()?, RelPath::parse_os(rel.as_os_str()).ok()?)
        }
    };
    Some((kind, rel.name().to_string_lossy().into_owned(), regular(&root, &rel)?))
}

/// A regular file, opened.
fn regular(root: &Root, rel: &RelPath) -> Option<File> {
    root.open_regular(rel).ok()?.map(|(file, _)| file)
}

/// codex's file of the conversation that its hook named, else the newest one of a session in the worker's worktree.
fn rollout(ctx: &Context<'_>, sandbox: Option<&Sandbox>, worker: &Worker) -> Option<(Root, RelPath)> {
    let (root, sessions) = match sandbox {
        Some(sandbox) => {
            let (root, _) = sandbox.in_home(&sandbox.path_in_home(".codex"))?;
            let sessions = root.path().join(".codex/sessions");
            (root, sessions)
        }
        None => {
            // Its program is started with the variables of the agent's table.
            let told = ctx.root.agent_of(worker).ok().and_then(|agent| agent.env.get("CODEX_HOME").map(PathBuf::from));
            let own = told.or_else(|| ctx.env.var("CODEX_HOME").map(PathBuf::from)).filter(|home| home.is_absolute());
            let root = Root::open(&real(&own.or_else(|| Some(ctx.env.home()?.join(".codex")))?)).ok()?;
            let sessions = root.path().join("sessions");
            (root, sessions)
        }
    };
    let today = ctx.env.later().now;
    let from = jiff::Timestamp::from_second(worker.program.begun_unix?).ok()?;
    let days = (0..DAYS).map(|day| today + jiff::SignedDuration::from_hours(24 * (1 - day)));
    // The directories are named by the day of the person's clock.
    let days = days.take_while(|day| *day > from - jiff::SignedDuration::from_hours(48));
    let dirs: Vec<PathBuf> = days.map(|day| sessions.join(day.strftime("%Y/%m/%d").to_string())).collect();
    let is_entered = |dir: &Path| dirs.iter().any(|wanted| wanted.starts_with(dir));
    let mut files = root.files_in(&is_entered).ok()?.files;
    files.retain(|file| {
        file.name().to_string_lossy().starts_with("rollout-") && dirs.iter().any(|dir| root.join(file).starts_with(dir))
    });
    // Their names begin with the time.
    files.sort_by_key(|file| std::cmp::Reverse(file.name().to_owned()));
    let conversation = worker.work.conversation.as_ref().map(|id| format!("-{id}.jsonl"));
    if let Some(file) =
        conversation.and_then(|end| files.iter().find(|file| file.name().to_string_lossy().ends_with(&end)))
    {
        let file = file.clone();
        return Some((root, file));
    }
    let found = files.into_iter().take(MOST).find(|file| regular(&root, file).is_some_and(|file| is_of(&file, worker)));
    found.map(|file| (root, file))
}

/// Whether a rollout's first row names the worker's worktree.
fn is_of(file: &File, worker: &Worker) -> bool {
    let mut head = Vec::new();
    if Read::take(file, HEAD).read_to_end(&mut head).is_err() {
        return false;
    }
    let row =
        head.split(|byte| *byte == b'\n').next().and_then(|row| serde_json::from_slice::<serde_json::Value>(row).ok());
    row.is_some_and(|row| row["payload"]["cwd"].as_str().is_some_and(|cwd| Path::new(cwd) == worker.tree()))
}
