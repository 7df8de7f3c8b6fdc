//! Reads the ledger's own events, with the help of what earlier runs remembered.

use std::collections::HashSet;
use std::path::PathBuf;

use jiff::Timestamp;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;

use super::directory::{self, CacheUse, DirectoryRead, LedgerLock, ListingDetail};
use super::objects::{self, CommitTree, Objects};
use super::{ARCHIVE, EVENTS, Events, Ledger, OpenPage, sparse};
use crate::cache::{self, Base, FileKey, LazyPack};
use crate::entry::Entry;
use crate::join::Join;
use crate::record::EventRecord;
use crate::settings::Effect;
use crate::snapshot::Snapshot;
use crate::view::{PageScan, PageSummary};

/// How events are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct GatherMode {
    /// A dry run writes nothing and does not hold the lock.
    pub effect: Effect,
    /// Whether the wall clock will be written.
    pub stamp: bool,
    /// Skip reading the events if nothing changed since the ledger was in order.
    pub may_be_quiet: bool,
    /// Leave out the events of an earlier join that still holds, and return that instead.
    pub may_resume: bool,
}

/// What was found in `events/`.
#[derive(Default)]
pub struct Gathered {
    /// The number of events, if nothing changed since the ledger was in order. Then they were not read.
    pub quiet: Option<usize>,
    /// An earlier join of events that are all still there.
    pub base: Option<Base>,
    /// The events that are not in the base.
    pub events: Events,
    pub memory: RunMemory,
}

/// Reads the events. The caller holds the lock, except in a dry run.
pub fn gather(ledger: &Ledger, mode: GatherMode) -> Result<Gathered> {
    let left_out = left_out(ledger)?;
    let Some(dir) = ledger.open(EVENTS)? else {
        return Ok(Gathered { events: left_out.events, ..Gathered::default() });
    };
    let is_whole = left_out.events.is_empty();
    let mut memory = RunMemory::new(ledger, &mode);
    // Without a cache nothing can be found by what is known of a file.
    let detail = if memory.has_files() { ListingDetail::Stats } else { ListingDetail::Names };
    let listing = directory::list(&dir, detail)?;
    memory.print = memory.since.and_then(|since| {
        let current = ledger.current_stat().ok().flatten();
        cache::print(&listing.files, current.as_ref(), &memory.options, since)
    });
    if !is_whole {
        // Nothing here tells when the index changes.
        memory.print = None;
    }
    if let Some(count) = memory.quiet_count().filter(|_| mode.may_be_quiet) {
        return Ok(Gathered { quiet: Some(count), ..Gathered::default() });
    }
    let lock = if mode.effect.is_dry() { LedgerLock::Free } else { LedgerLock::Held };
    let base = if mode.may_resume && is_whole { Base::load(&memory.base) } else { None };
    let pack = LazyPack::new(&memory.pack);
    let mut cache = CacheUse { base, pack, since: memory.since, ..CacheUse::default() };
    let mut read = directory::read(&dir, &cache, Some(listing), lock)?;
    if read.has_base && cache.base.as_ref().is_some_and(|base| needs_all(&read.events, base)) {
        cache.base = None;
        read = directory::read(&dir, &cache, None, lock)?;
    }
    if !read.of_first {
        memory.print = None;
    }
    if !read.has_base {
        cache.base = None;
        memory.remember(&cache.pack, &read);
    }
    if is_whole && memory.since.is_some() && is_join_due(&read, cache.base.as_ref()) {
        memory.due = Some(DueJoin { files: read.settled, late: read.late });
    }
    let mut events = read.events;
    events.add(left_out.events);
    Ok(Gathered { quiet: None, base: cache.base, events, memory })
}

/// Whether only a join of everything takes these events in: one of them retracts another event, or a snapshot says that
/// events are folded.
fn needs_all(events: &Events, base: &Base) -> bool {
    let mut records = events.records.iter();
    !events.snapshots.is_empty()
        || records.any(|record| {
            let entries = record.decode().map(|event| event.entries).unwrap_or_default();
            entries.iter().filter_map(Entry::retracted).any(|id| !base.retracted.contains(&id))
        })
}

/// Whether the join of this run is worth remembering: most events were read before, or many came since the last one was
/// remembered.
fn is_join_due(read: &DirectoryRead, base: Option<&Base>) -> bool {
    let late = read.late.len() + read.late_snapshots;
    match base {
        None => read.late_snapshots == 0 && 2 * read.hits >= read.events.records.len(),
        Some(base) => read.events.records.len() - late > 64 + base.count() / 64,
    }
}

/// The ledger's files that are not in this work tree because it is a sparse checkout.
fn left_out(ledger: &Ledger) -> Result<CommitTree> {
    let Some(prefix) = ledger.in_tree() else { return Ok(CommitTree::default()) };
    let mut blobs = sparse::left_out(&ledger.git, &ledger.top, prefix)?;
    blobs.retain(|below, _| objects::is_ours(below));
    if blobs.is_empty() {
        return Ok(CommitTree::default());
    }
    Objects::at(&ledger.git, &ledger.repo, prefix.as_path())?.read(&blobs)
}

/// The events in the ledger of a commit, folded ones included. None: there is no such commit.
pub fn events_of_commit(ledger: &Ledger, rev: &str) -> Result<Option<HashSet<Digest>>> {
    let Some(prefix) = ledger.in_tree() else { return Ok(None) };
    let objects = Objects::at(&ledger.git, &ledger.repo, prefix.as_path())?;
    let Ok(commit) = objects.commit(rev) else { return Ok(None) };
    let events = objects.tree(&commit)?.events;
    let folded = events.covered()?;
    Ok(Some(events.records.iter().map(|record| record.id()).chain(folded).collect()))
}

/// Whether the ledger has a directory of events, here or left out of this sparse checkout.
pub fn has_events(ledger: &Ledger) -> Result<bool> {
    Ok(ledger.open(EVENTS)?.is_some() || !left_out(ledger)?.events.is_empty())
}

/// Whether this sparse checkout leaves files of the ledger out.
pub fn has_left_out(ledger: &Ledger) -> Result<bool> {
    let left_out = left_out(ledger)?;
    Ok(!left_out.events.is_empty() || left_out.current.is_some())
}

/// A page to compare with.
pub enum OldPage {
    Open(OpenPage),
    /// From git's objects.
    Bytes(Vec<u8>),
    Missing,
}

impl OldPage {
    /// Opens `current.md`, here or left out of this sparse checkout.
    pub fn find(ledger: &Ledger) -> Result<OldPage> {
        Ok(match ledger.open_current()? {
            Some(page) => OldPage::Open(page),
            None => left_out(ledger)?.current.map_or(OldPage::Missing, OldPage::Bytes),
        })
    }

    /// Passes on its text in pieces of whole lines.
    pub fn read(&self, pass_on: &mut dyn FnMut(&[u8])) -> Result<()> {
        match self {
            OldPage::Open(page) => page.lines(pass_on)?,
            OldPage::Bytes(bytes) => pass_on(bytes),
            OldPage::Missing => {}
        }
        Ok(())
    }

    /// What is known of it. None: there is none.
    pub fn summary(&self) -> Result<Option<PageSummary>> {
        if matches!(self, OldPage::Missing) {
            return Ok(None);
        }
        let mut scan = PageScan::default();
        self.read(&mut |piece| scan.add(piece))?;
        Ok(Some(scan.finish()))
    }
}

/// Loads the events of the ledger without its lock.
pub fn load_events(ledger: &Ledger) -> Result<Events> {
    let mut events = gather(ledger, GatherMode { effect: Effect::DryRun, ..GatherMode::default() })?.events;
    events.sort();
    Ok(events)
}

/// What is remembered between runs, and the start of this run by the file system's clock.
#[derive(Default)]
pub struct RunMemory {
    pack: PathBuf,
    base: PathBuf,
    quiet: PathBuf,
    due: Option<DueJoin>,
    /// None in a dry run.
    since: Option<Timestamp>,
    /// The options that decide the text of `current.md`.
    options: String,
    print: Option<Vec<u8>>,
}

/// A join that is to be remembered.
struct DueJoin {
    files: Vec<FileKey>,
    /// The events that must be left out of it, because they may change without a new time, in ascending order.
    late: Vec<usize>,
}

/// Loads the events of the ledger, and those archived events that a snapshot covers and for which `wanted` is true. Other
/// archived events do not count.
pub fn load_events_with_archive(ledger: &Ledger, wanted: impl Fn(&EventRecord) -> bool) -> Result<Events> {
    let mut events = load_events(ledger)?;
    let covered = events.covered()?;
    each_archived(ledger, |mut part| {
        part.retain(|record| covered.contains(&record.id()) && wanted(record));
        events.add(part);
        Ok(())
    })?;
    Ok(events)
}

/// Loads what is said for which `wanted` is true by the archived events that a snapshot in `events` covers.
pub fn load_archived(
    ledger: &Ledger,
    events: &Events,
    wanted: impl Fn(&Digest, &Entry<'_, &str>) -> bool,
) -> Result<Events> {
    let covered = events.covered()?;
    let mut archived = Events::default();
    each_archived(ledger, |mut part| {
        part.pare(|id, entry| covered.contains(id) && wanted(id, entry));
        archived.add(part);
        Ok(())
    })?;
    Ok(archived)
}

/// Files of the archive.
#[derive(Default)]
pub struct ArchivedFiles {
    /// Those that were asked for.
    pub found: Vec<PathBuf>,
    /// Those that cannot be read.
    pub unreadable: Vec<PathBuf>,
}

impl ArchivedFiles {
    /// Finds the files for which `is_event` or `is_snapshot` is true.
    pub fn find(
        ledger: &Ledger,
        is_event: impl Fn(&EventRecord) -> bool,
        is_snapshot: impl Fn(&Snapshot) -> bool,
    ) -> Result<ArchivedFiles> {
        let ArchivedFiles { mut found, mut unreadable } = ArchivedFiles::default();
        each_archived(ledger, |mut part| {
            part.retain(&is_event);
            found.extend(part.files.iter().map(|file| file.path()));
            unreadable.extend(part.skipped.into_iter().map(|file| file.path));
            for file in part.snapshots {
                match file.read {
                    Ok(snapshot) => found.extend(is_snapshot(&snapshot).then_some(file.path)),
                    Err(_) => unreadable.push(file.path),
                }
            }
            Ok(())
        })?;
        Ok(ArchivedFiles { found, unreadable })
    }
}

/// Passes on the events of the archive, in parts.
pub fn each_archived(ledger: &Ledger, pass_on: impl FnMut(Events) -> Result<()>) -> Result<()> {
    ledger.open(ARCHIVE)?.map_or(Ok(()), |archive| directory::each_archived(&archive, pass_on))
}

impl RunMemory {
    fn new(ledger: &Ledger, mode: &GatherMode) -> RunMemory {
        let dir = ledger.state().join("cache");
        let path = |what: &str| dir.join(cache::name(&ledger.word(), what));
        let (pack, base, quiet) = (path("events"), path("join"), path("quiet"));
        let since = if mode.effect.is_dry() { None } else { fs::clock(&dir).ok() };
        let word = format!("{:?} {:?} {}", ledger.page, ledger.settings.root, mode.stamp);
        RunMemory { pack, base, quiet, since, options: word, ..RunMemory::default() }
    }

    /// Whether there is anything to look events up in.
    fn has_files(&self) -> bool {
        self.pack.exists() || self.base.exists() || self.quiet.exists()
    }

    /// The number of events, if nothing changed since the ledger was in order.
    fn quiet_count(&self) -> Option<usize> {
        let print = self.print.as_ref()?;
        let known = fs::read_no_follow(&self.quiet).ok()??;
        let rest = known.strip_prefix(print.as_slice())?;
        std::str::from_utf8(rest).ok()?.trim_end().parse().ok()
    }

    /// Updates the cache. If it cannot be written, the next run only takes longer.
    fn remember(&self, pack: &LazyPack, read: &DirectoryRead) {
        if let Some(pack) = pack.loaded().filter(|_| self.since.is_some()) {
            drop(pack.update(&self.pack, &read.events.records, &read.fresh, read.hits));
        }
    }

    /// The events that must be left out of the join that is to be remembered, in ascending order. None: no join is to be
    /// remembered.
    pub fn late(&self) -> Option<&[usize]> {
        self.due.as_ref().map(|due| due.late.as_slice())
    }

    /// Remembers the join of everything but the late events. If it cannot be written, the next run only takes longer.
    pub fn remember_join(&self, join: &Join<'_>) {
        if let Some(due) = &self.due {
            drop(Base::write(&self.base, &due.files, join));
        }
    }

    /// Remembers that the ledger is in order, with this many events.
    pub fn remember_quiet(&self, count: usize) {
        let Some(print) = self.print.as_ref() else { return };
        let text = [print.as_slice(), format!("{count}\n").as_bytes()].concat();
        let written = fs::CacheFile::create(&self.quiet).and_then(|mut file| {
            file.write(&text)?;
            file.finish()
        });
        drop(written);
    }
}
