//! Reads a directory of events. Only regular files are opened, and no link is followed.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::BufReader;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shopfloor_core::error::{At, Failure, Result};
use shopfloor_core::fs::{Bytes, Root};
use shopfloor_core::path::RelPath;
use shopfloor_core::proc::map_parallel;

use super::{EventFileContent, Events};
use crate::event::LedgerEvent;
use crate::event_file::{self, LIMIT, Malformed};
use crate::snapshot;
use crate::stored_event::EventRecord;

/// How often a directory is read again if it changes in the meantime.
const PATIENCE: usize = 1_000;

/// How often a changing directory is listed until two listings agree.
const STEADY: usize = 50;

pub fn is_event_name(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    bytes.ends_with(b".md") && !bytes.starts_with(b".")
}

/// Whether a file was probably meant to be an event.
fn is_misnamed(name: &OsStr) -> bool {
    let extension = Path::new(name).extension().unwrap_or_default().to_string_lossy().trim_end().to_lowercase();
    // Some programs keep a file of their own beside each one.
    let is_beside = name.as_bytes().starts_with(b"._") || name.as_bytes().starts_with(b".#");
    let is_bare = !name.as_bytes().contains(&b'.');
    let endings = ["md", "mdx", "markdown", "yaml", "yml", "json", "txt"];
    !is_event_name(name) && !is_beside && (is_bare || endings.contains(&&*extension))
}

/// Whether a file is an event, or was probably meant to be one.
pub fn is_looked_at(name: &OsStr) -> bool {
    is_event_name(name) || is_misnamed(name)
}

/// Parses the content of a file.
pub fn content(name: &OsStr, bytes: &[u8]) -> EventFileContent {
    if is_misnamed(name) {
        return EventFileContent::Misnamed;
    }
    if snapshot::is_one(name.as_bytes(), bytes) {
        return EventFileContent::Snapshot(snapshot::parse(bytes));
    }
    if bytes.len() > LIMIT {
        return EventFileContent::Malformed(Malformed::new(1, "larger than 1 MiB"));
    }
    let event = event_file::decode(bytes).and_then(|text| LedgerEvent::parse(&text));
    event.map_or_else(EventFileContent::Malformed, |event| EventFileContent::Event(Box::new(EventRecord::new(event))))
}

/// What loading a file came to.
enum Loaded {
    Read(EventFileContent),
    Gone,
    /// It is no regular file.
    Other,
}

fn load(dir: &Root, name: &OsStr) -> Result<Loaded> {
    let mut bytes = Vec::new();
    Ok(match dir.load(name, LIMIT, &mut bytes)? {
        Bytes::Gone => Loaded::Gone,
        Bytes::Other => Loaded::Other,
        Bytes::Head(file, _) if snapshot::is_one(name.as_bytes(), &bytes) => {
            let read = snapshot::read(BufReader::new(file)).at_path("read", || dir.path().join(name))?;
            Loaded::Read(EventFileContent::Snapshot(read))
        }
        Bytes::Head(..) => Loaded::Read(EventFileContent::Malformed(Malformed::new(1, "larger than 1 MiB"))),
        Bytes::All(_) => Loaded::Read(content(name, &bytes)),
    })
}

/// Reads a directory of events as it was at one time, even if files are removed or folded while it is read.
pub fn read(dir: &Root) -> Result<Events> {
    for _ in 0..PATIENCE {
        let names = steady_names(dir)?;
        if let Some(mut events) = read_named(dir, &names)?
            && is_unfolded(&names, &names_in(dir)?)
        {
            events.others.extend(dir.others(is_looked_at)?.iter().map(|name| dir.path().join(name)));
            return Ok(events);
        }
    }
    Err(Failure::failed(format!("{} changes faster than it can be read", dir.path().display()))
        .hint("wait for other commands to end and run the same command again"))
}

/// The names of the event files, sorted.
fn names_in(dir: &Root) -> Result<Vec<OsString>> {
    let mut names = dir.names(is_looked_at)?;
    names.sort_unstable();
    Ok(names)
}

/// The names of the event files at one time. A single listing may miss both an event that appears and a snapshot that
/// disappears; two listings that agree have missed nothing. If writers never pause we go on without, because writers
/// only add.
fn steady_names(dir: &Root) -> Result<Vec<OsString>> {
    let mut names = names_in(dir)?;
    for _ in 0..STEADY {
        let again = names_in(dir)?;
        if again == names {
            break;
        }
        names = again;
    }
    Ok(names)
}

/// Whether nothing went between two listings and no snapshot came: a snapshot is there before what it stands for goes.
fn is_unfolded(before: &[OsString], after: &[OsString]) -> bool {
    if before == after {
        return true;
    }
    let (old, new): (HashSet<_>, HashSet<_>) = (before.iter().collect(), after.iter().collect());
    let is_snapshot = |name: &OsString| name.as_bytes().starts_with(b"snapshot_");
    old.is_subset(&new) && new.difference(&old).all(|name| !is_snapshot(name))
}

/// Reads the named files. None: one of them is gone.
fn read_named(dir: &Root, names: &[OsString]) -> Result<Option<Events>> {
    let mut events = Events::default();
    for (name, loaded) in names.iter().zip(map_parallel(names, |name| load(dir, name))) {
        match loaded? {
            Loaded::Read(content) => events.add_file(dir.path().join(name), content),
            Loaded::Gone => return Ok(None),
            Loaded::Other => events.others.push(dir.path().join(name)),
        }
    }
    Ok(Some(events))
}

/// Files named one by one, in this order.
pub fn files(paths: &[PathBuf]) -> Result<Events> {
    let mut events = Events::default();
    for path in paths {
        let dir = Root::open(path.parent().unwrap_or(path))?;
        let Some(name) = path.file_name() else { continue };
        // Nothing else is opened: that would wake who writes to a pipe.
        let is_file = dir.stats_of(&[name.to_owned()])?.iter().any(Option::is_some);
        let content = match if is_file { load(&dir, name)? } else { Loaded::Other } {
            Loaded::Read(content) => content,
            Loaded::Gone | Loaded::Other => EventFileContent::Malformed(Malformed::new(1, "not a regular file")),
        };
        events.add_file(path.clone(), content);
    }
    Ok(events)
}

/// Reads `archive/`, a directory per day, in the order of the paths.
pub fn read_archive(archive: &Root) -> Result<Events> {
    let mut events = Events::default();
    for day in archive.dirs()? {
        let Ok(rel) = RelPath::parse_os(&day) else { continue };
        let Some(dir) = archive.below(&rel)? else { continue };
        // What is deleted meanwhile is left out.
        let day = loop {
            if let Some(events) = read_named(&dir, &names_in(&dir)?)? {
                break events;
            }
        };
        events.append(day);
    }
    Ok(events)
}
