//! `serve`: lets the overlay-sync of another machine use this overlay as a workspace of its own. It reads requests to the
//! end of stdin, and answers each in a line.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::path::RelPath;
use shopfloor_core::time;
use shopfloor_core::ui::Ui;

use crate::apply::attach::attach;
use crate::apply::disk_storage::Disk;
use crate::apply::sync::sync_all;
use crate::facts::overlay::Overlay;
use crate::far::{Answer, FarFile, LARGEST, PROTOCOL, Request, decode};
use crate::settings::OverlayFlags;
use crate::storage::{Ground, Side};
use crate::store::LogRecord;
use crate::sync_action::SyncRule;
use crate::workspace::Workspace;

/// How many bytes of requests are read: a file in base64, and what is around it.
const MOST: u64 = 2 * LARGEST;

/// Who has written what `serve` was told to, in the log.
const HUB: &str = "another machine";

pub fn run(ui: &Ui, env: &Env, flags: &OverlayFlags) -> Result<Exit> {
    say(ui, &Answer { serve: Some(PROTOCOL), done: true, ..Answer::default() });
    let requests = ui.input_up_to(MOST)?;
    let overlay = Overlay::find(ui, env, flags)?;
    for line in requests.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let request = serde_json::from_slice(line).map_err(|e| {
            Failure::malformed("stdin has no request").because(e).hint("`overlay-sync attach --ssh` asks")
        })?;
        say(ui, &answer(&overlay, request)?);
    }
    Ok(Exit::Done)
}

fn say(ui: &Ui, answer: &Answer) {
    ui.line(serde_json::to_string(answer).unwrap_or_default());
}

fn answer(overlay: &Overlay, request: Request) -> Result<Answer> {
    let path = |text: &str| {
        RelPath::parse(text)
            .map_err(|why| Failure::malformed(format!("{text}: {why}")).hint("only names of files are served"))
    };
    match request {
        Request::Attach => {
            drop(overlay.create()?);
            let is_new = Workspace::load_all(&overlay.store.workspaces())?.is_empty();
            let mut answer = Answer { done: true, ..Answer::default() };
            if is_new {
                let worktrees = overlay.git.worktrees(&overlay.repo)?;
                let living = worktrees.into_iter().filter_map(|(root, git)| Some((root.canonicalize().ok()?, git)));
                answer.open = attach(overlay, living.collect())?.outcome.open;
            }
            Ok(answer)
        }
        Request::Sync => Ok(Answer { done: true, open: sync_all(overlay)?.open, ..Answer::default() }),
        Request::List => {
            let open = sync_all(overlay)?.open;
            let disk = Disk::open(overlay, None)?;
            let files = disk.overlay()?.into_iter().filter(|(_, why)| why.is_none()).map(|(path, _)| path);
            let read = |path: RelPath| Some(FarFile::new(&path, &disk.read(Side::Overlay, &path).ok()?.ok()??, false));
            Ok(Answer { done: true, files: files.filter_map(read).collect(), open, ..Answer::default() })
        }
        Request::Read { path: name } => now(&Disk::open(overlay, None)?, &path(&name)?, true),
        Request::Replace { path: name, expected, mode, data } => {
            let path = path(&name)?;
            let new = data.map(|data| decode(&data).filter(|bytes| bytes.len() as u64 <= LARGEST));
            let new = new
                .map(|bytes| bytes.ok_or_else(|| Failure::malformed(format!("{name}: no text")).hint("send base64")));
            let disk = Disk::open(overlay, Some(overlay.lock()?))?;
            let before = disk.read(Side::Overlay, &path)?;
            let Some(before) = before.ok().filter(|now| now.as_ref().map(|file| file.sha256) == expected) else {
                return now(&disk, &path, false);
            };
            before.as_ref().map(|before| disk.keep(&before.bytes)).transpose()?;
            let mut record = LogRecord::new(&time::render(overlay.env.now), HUB.as_ref(), &path, SyncRule::Push);
            let is_done = match new.transpose()? {
                Some(bytes) => {
                    record.to = Some(disk.keep(&bytes)?);
                    disk.put(Side::Overlay, &path, expected, &bytes, mode & 0o777)?
                }
                None => expected.map_or(Ok(true), |expected| disk.remove_from_overlay(&path, expected))?,
            };
            if !is_done {
                return now(&Disk::open(overlay, None)?, &path, false);
            }
            disk.log(&[LogRecord { from: expected, ..record }])?;
            Ok(Answer { done: true, ..Answer::default() })
        }
    }
}

/// What is at a path now.
fn now(disk: &Disk<'_>, path: &RelPath, done: bool) -> Result<Answer> {
    let file = disk.read(Side::Overlay, path)?.ok().flatten();
    let files = file.iter().map(|file| FarFile::new(path, file, true)).collect();
    Ok(Answer { done, files, ..Answer::default() })
}
