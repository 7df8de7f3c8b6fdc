//! A workspace as the overlay knows it: where it is, how it is recognized, and for each file the content that both
//! sides held last.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Root};
use shopfloor_core::git::{WorktreeDir, common_dir_of, private_dir, recorded_path};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::shell_word;
use shopfloor_core::{proc, time};

use crate::far_place::FarPlace;
use crate::tool::TOOL;

/// The version of every format of state in the overlay.
pub const VERSION: u32 = 1;

/// How many arrivals of a file are remembered whatever their age, and how many at most.
const ARRIVALS: usize = 16;
const MOST_ARRIVALS: usize = 1000;

/// How long all of them are remembered.
const DAY: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);

/// One attached workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workspace {
    pub v: u32,
    /// A random id that is also kept in the worktree's private git directory: a worktree made anew at the same path is
    /// another workspace.
    pub id: Digest,
    pub root: PathBuf,
    pub git_dir: PathBuf,
    /// It is an overlay of another machine. Its root and git directory are no paths here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far: Option<FarPlace>,
    pub files: BTreeMap<RelPath, BaseFile>,
    /// Files deleted here, with the overlay's content at that time. They are not refilled until it changes.
    pub deleted: BTreeMap<RelPath, Digest>,
    /// Files that were gone here and filled again, with the base from before: a program that saves by removing and
    /// creating still writes from that.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refilled: BTreeMap<RelPath, Digest>,
    /// Files that the overlay gave up, with their last base, in case it gets them back.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub retired: BTreeMap<RelPath, Digest>,
    /// What passes wrote here in place of another text, oldest first: programs may still write from what was there before.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arrived: BTreeMap<RelPath, Vec<ArrivedText>>,
    /// What texts that were written from an old view would have changed. A person can let it through.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stale: BTreeMap<RelPath, HeldText>,
    /// What waits for a person or for the next edit.
    pub held: BTreeMap<RelPath, HeldText>,
    /// The digests of texts that a person accepted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accepted: BTreeMap<RelPath, BTreeSet<Digest>>,
    /// The digests of texts of new files that a person keeps out of the overlay.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rejected: BTreeMap<RelPath, Digest>,
}

/// A text that a pass wrote, and the one that was there before. In the manifest it is one string, because a log that is
/// synced all day has hundreds of them in each workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArrivedText {
    pub time: String,
    pub before: Digest,
    pub after: Digest,
}

impl From<ArrivedText> for String {
    fn from(arrived: ArrivedText) -> String {
        format!("{} {} {}", arrived.time, arrived.before, arrived.after)
    }
}

impl TryFrom<String> for ArrivedText {
    type Error = &'static str;

    fn try_from(text: String) -> std::result::Result<ArrivedText, &'static str> {
        let mut parts = text.split(' ');
        let time = parts.next().unwrap_or_default().to_owned();
        let mut digest = || parts.next().and_then(Digest::parse).ok_or("an arrival is a time and two digests");
        Ok(ArrivedText { time, before: digest()?, after: digest()? })
    }
}

/// A text that waits, as a whole or in part, instead of being synced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldText {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The digest of the whole text, or of the part that waits, or of what differs at `places`.
    #[serde(alias = "content")]
    pub text: Digest,
    pub since: String,
    /// Whether only a part waits while the rest is synced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub part: bool,
    /// Both sides' whole texts when it was held. Of a text that was written from an old view, the second one is the same
    /// text with what its writer did not know.
    pub here: Option<Digest>,
    #[serde(alias = "fresh")]
    pub overlay: Option<Digest>,
    /// Where these two then differ, such as `lacks env.PORT`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
}

/// How many digits an id has that a person's word is given to.
pub const ID: usize = 32;

impl HeldText {
    /// The id that `accept` and `reject` take. The same text in two files has two ids. It is so long that nobody finds two
    /// texts with one.
    pub fn id(&self, path: &RelPath) -> String {
        Digest::of(format!("{path}\0{}", self.text).as_bytes()).to_string()[..ID].to_owned()
    }

    /// Whether it is what a text that was written from an old view would have changed.
    pub fn is_stale(&self) -> bool {
        !self.places.is_empty()
    }

    /// Whether it is the overlay's text that waits. Then there is no other text that `reject` could give back.
    pub fn is_overlays(&self) -> bool {
        Some(self.text) == self.overlay && self.here != self.overlay
    }
}

/// A content that the workspace and the overlay both held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaseFile {
    pub sha256: Digest,
    pub mode: u32,
}

impl Workspace {
    pub fn new(root: &Path, git_dir: &Path) -> Workspace {
        Workspace {
            v: VERSION,
            id: Digest::random(),
            root: root.to_path_buf(),
            git_dir: git_dir.to_path_buf(),
            far: None,
            files: BTreeMap::new(),
            deleted: BTreeMap::new(),
            refilled: BTreeMap::new(),
            retired: BTreeMap::new(),
            arrived: BTreeMap::new(),
            stale: BTreeMap::new(),
            held: BTreeMap::new(),
            accepted: BTreeMap::new(),
            rejected: BTreeMap::new(),
        }
    }

    /// A workspace that is an overlay of another machine.
    pub fn of_machine(place: FarPlace) -> Workspace {
        let name = PathBuf::from(place.name());
        Workspace { far: Some(place), ..Workspace::new(&name, &name) }
    }

    /// Records what both sides hold from now on.
    pub fn set_base(&mut self, path: &RelPath, base: BaseFile) {
        self.files.insert(path.clone(), base);
        self.deleted.remove(path);
        self.retired.remove(path);
        // A person accepts or rejects one text; that is used up now.
        self.accepted.remove(path);
        self.rejected.remove(path);
    }

    /// Remembers the text that the overlay has taken from a file, which was not written yet.
    pub fn note_read(&mut self, path: &RelPath, read: BaseFile) {
        self.files.insert(path.clone(), read);
        self.retired.remove(path);
        self.refilled.remove(path);
    }

    /// Remembers that a pass wrote `after` in place of `before`. What happened in the last day is remembered, and the
    /// last [`ARRIVALS`] of what came before.
    pub fn note_arrival(&mut self, path: &RelPath, time: &str, before: Digest, after: Digest) {
        let all = self.arrived.entry(path.clone()).or_default();
        all.retain(|arrived| (arrived.before, arrived.after) != (before, after));
        all.push(ArrivedText { time: time.to_owned(), before, after });
        // A log has hundreds of them, so their times, which all have one form, are compared as texts.
        let yesterday =
            time.parse::<jiff::Timestamp>().ok().and_then(|now| now.checked_sub(DAY).ok()).map(time::render);
        let is_recent = |arrived: &ArrivedText| yesterday.as_ref().is_none_or(|yesterday| arrived.time > *yesterday);
        let (count, mut index) = (all.len(), 0);
        all.retain(|arrived| {
            index += 1;
            index + ARRIVALS > count || index + MOST_ARRIVALS > count && is_recent(arrived)
        });
    }

    /// Every text that the manifest refers to. What arrived is not among them: no program writes from a text that the
    /// store has collected.
    pub fn contents(&self) -> impl Iterator<Item = Digest> {
        let held = self.held.values().flat_map(|held| [Some(held.text), held.here]).flatten();
        let past = self.deleted.values().chain(self.refilled.values()).chain(self.retired.values());
        let stale = self.stale.values().flat_map(|part| [part.here, part.overlay]).flatten();
        self.files.values().map(|base| base.sha256).chain(past.copied()).chain(held).chain(stale)
    }

    /// The file in a git directory that holds the id of its workspace.
    pub fn mark_in(git_dir: &Path) -> PathBuf {
        Workspace::state_in(git_dir).join("id")
    }

    /// The directory in a git directory for files that are not complete yet.
    pub fn staging_in(git_dir: &Path) -> PathBuf {
        Workspace::state_in(git_dir).join("tmp")
    }

    fn state_in(git_dir: &Path) -> PathBuf {
        git_dir.join("shopfloor").join(TOOL)
    }

    /// The overlay that a worktree is attached to, according to its private git directory.
    pub fn overlay_of(git_dir: &Path) -> Result<Option<PathBuf>> {
        let named = fs::read_no_follow(&Workspace::state_in(git_dir).join("overlay"))?;
        Ok(named.map(|named| PathBuf::from(OsStr::from_bytes(&named))))
    }

    /// The overlays that the worktrees of a repository were attached to, according to the worktrees.
    pub fn overlays_of(common_dir: &Path) -> impl Iterator<Item = PathBuf> {
        let linked = std::fs::read_dir(common_dir.join("worktrees")).into_iter().flatten().flatten();
        let dirs = linked.map(|entry| entry.path()).chain([common_dir.to_path_buf()]);
        dirs.filter_map(|dir| Workspace::overlay_of(&dir).ok().flatten())
    }

    /// The directory for files that are not complete yet.
    pub fn staging(&self) -> PathBuf {
        Workspace::staging_in(&self.git_dir)
    }

    /// Refuses links on the way to its state: whoever can write there could lead us anywhere with one.
    pub fn refuse_links(&self) -> Result<()> {
        self.staging().ancestors().take(3).try_for_each(fs::refuse_link)
    }

    /// Whether its private git directory still holds the id, wherever its files are now.
    pub fn is_marked(&self) -> Result<bool> {
        if self.far.is_some() {
            return Ok(false);
        }
        let id = fs::read_no_follow(&Workspace::mark_in(&self.git_dir))?;
        Ok(id.as_deref() == Some(self.id.to_string().as_bytes()))
    }

    /// Writes the id and the overlay's path into the worktree's private git directory.
    pub fn write_mark(&self, overlay: &Path) -> Result<()> {
        let dir = Workspace::state_in(&self.git_dir);
        self.refuse_links()?;
        fs::create_private_dir(&dir)?;
        fs::replace(&dir.join("overlay"), overlay.as_os_str().as_bytes(), Some(fs::PRIVATE))?;
        fs::replace(&Workspace::mark_in(&self.git_dir), self.id.to_string().as_bytes(), Some(fs::PRIVATE))
    }

    /// Whether the directory at `root` is still this workspace, and not another repository's; exit 4 where nobody can
    /// tell.
    pub fn is_present(&self) -> Result<bool> {
        if self.far.is_some() {
            return Ok(true);
        }
        if self.is_at_root() {
            return self.is_marked();
        }
        // What cannot be entered or read is there all the same.
        fs::read_head(&self.root.join(".git"))?;
        fs::read_head(&self.git_dir)?;
        Ok(false)
    }

    /// Whether what is at `root` has its git directory.
    fn is_at_root(&self) -> bool {
        let own = self.git_dir.canonicalize().ok();
        own.is_some() && private_dir(&self.root) == own
    }

    /// Whether its git directory holds the id of another workspace, from which it was copied.
    pub fn has_other_id(&self) -> bool {
        let is_unmarked = || self.is_marked().is_ok_and(|is_marked| !is_marked);
        self.far.is_none() && self.is_at_root() && Workspace::mark_in(&self.git_dir).exists() && is_unmarked()
    }

    /// Whether its git directory lacks only the id: a run was killed while it attached or detached it.
    fn lacks_id(&self) -> bool {
        let overlay = Workspace::state_in(&self.git_dir).join("overlay");
        self.far.is_none() && !Workspace::mark_in(&self.git_dir).exists() && overlay.exists()
    }

    /// Where its worktree is now, if git has moved it.
    fn moved_to(&self) -> Option<PathBuf> {
        let root = recorded_path(&self.git_dir).ok()??;
        let leads_back = private_dir(&root) == self.git_dir.canonicalize().ok();
        (leads_back && !self.is_at_root() && self.is_marked().unwrap_or(false)).then_some(root)
    }

    /// Why it is not present, and what to do about that.
    pub fn absence(&self) -> (String, String) {
        let root = shell_word(&self.root);
        if let Some(moved) = self.moved_to() {
            // Detaching it would forget what its edits are merged with.
            return (
                format!("was moved to {}", moved.display()),
                format!("run `overlay-sync attach {}`", shell_word(&moved)),
            );
        }
        let detach = format!("`overlay-sync detach {root}`");
        let (why, what_helps) = match self.root.symlink_metadata() {
            Ok(_) if self.has_other_id() => {
                ("has the id of another workspace", format!("run `overlay-sync attach {root}`, which gives it its own"))
            }
            Ok(_) if self.is_at_root() && self.lacks_id() => (
                "is half attached: its attach or detach was interrupted",
                format!("finish that with {detach}, or run `overlay-sync attach {root}`"),
            ),
            Ok(_) => (
                "is no workspace of this repository any more",
                format!("bring it back, or leave it alone with {detach}"),
            ),
            Err(_) => ("does not exist", format!("bring its disk back, or forget it with {detach}")),
        };
        (why.to_owned(), what_helps)
    }

    /// Opens its directory. A linked worktree is proven by what lies in the open directory, because the way to it may lead
    /// elsewhere meanwhile; else exit 4, kind `tampered`.
    pub fn open(&self) -> Result<Root> {
        match self.git_dir.parent().is_some_and(|dir| dir.ends_with("worktrees")) {
            true => WorktreeDir::require(&self.root, &self.git_dir).map(WorktreeDir::into_root),
            false => Root::open(&self.root),
        }
    }

    /// Whether git has removed its worktree: the repository is still there, but has no record of the worktree, and no
    /// directory is there that names this record. A worktree that was only moved away, or whose disk is not mounted, may
    /// come back, and so may the record of one that still stands.
    pub fn is_gone(&self) -> bool {
        if self.far.is_some() {
            return false;
        }
        let worktrees = self.git_dir.parent().filter(|dir| dir.ends_with("worktrees"));
        let common_dir = worktrees.and_then(Path::parent);
        matches!(self.git_dir.try_exists(), Ok(false))
            && common_dir.is_some_and(|dir| dir.join("HEAD").exists())
            && !self.names_record()
    }

    /// Whether the directory at `root` names its git directory, which need not exist. One that cannot be read may.
    fn names_record(&self) -> bool {
        let Ok(text) = fs::read_head(&self.root.join(".git")) else { return true };
        let text = text.unwrap_or_default();
        let Some(named) = text.strip_prefix(b"gitdir: ") else { return false };
        let named = self.root.join(OsStr::from_bytes(named.trim_ascii_end()));
        // Only the common directory, two levels above the record, is certain to be there.
        let record = |dir: &Path| Some((dir.parent()?.parent()?.canonicalize().ok()?, dir.file_name()?.to_owned()));
        record(&named).is_some_and(|named| record(&self.git_dir) == Some(named))
    }

    /// The git directory that all worktrees of its repository share. For a worker's clone that is the clone's own.
    pub fn common_dir(&self) -> PathBuf {
        common_dir_of(&self.root).unwrap_or_else(|| self.git_dir.clone())
    }

    /// The name of the manifest of the workspace with this id.
    pub fn file_name(id: &Digest) -> String {
        format!("{id}.json")
    }

    /// Writes the manifest. Whoever writes has opened the store and swept it.
    pub fn save(&self, dir: &Path) -> Result<()> {
        let text = serde_json::to_vec(self).map_err(|e| Failure::failed("cannot write the manifest").because(e))?;
        fs::replace_in_swept(&dir.join(Workspace::file_name(&self.id)), &text, Some(fs::PRIVATE))
    }

    pub fn forget(&self, dir: &Path) -> Result<()> {
        let (mark, overlay) = (Workspace::mark_in(&self.git_dir), Workspace::state_in(&self.git_dir).join("overlay"));
        // Another workspace may have taken its place.
        if self.is_marked()? || self.lacks_id() {
            fs::remove(&mark)?;
            fs::remove(&overlay)?;
        }
        // This goes last: without it no later run finds the rest.
        fs::remove(&dir.join(Workspace::file_name(&self.id)))
    }

    /// Every manifest in `dir`, ordered by root. Paths that lead outside are refused as they are read.
    pub fn load_all(dir: &Path) -> Result<Vec<Workspace>> {
        let is_record = |name: &str| name.ends_with(".json") && !name.starts_with(fs::RESERVED);
        let names: Vec<_> = fs::list(dir)?.into_iter().filter(|name| is_record(&name.to_string_lossy())).collect();
        let hint = "move the file away and attach the workspace again; that overwrites nothing";
        let read = |name: &OsString| -> Result<Option<Workspace>> {
            let path = dir.join(name);
            fs::read_no_follow(&path)?.map(|bytes| parse_state(&path, &bytes, hint)).transpose()
        };
        let read = proc::map_parallel(&names, read);
        let mut all = read.into_iter().filter_map(Result::transpose).collect::<Result<Vec<_>>>()?;
        all.sort_by(|a, b| a.root.cmp(&b.root));
        Ok(all)
    }
}

/// Parses a state file of the overlay; the hint is for one that is damaged. A newer version than this program knows is
/// refused, not misread.
pub fn parse_state<T: for<'de> Deserialize<'de>>(path: &Path, bytes: &[u8], hint: &str) -> Result<T> {
    #[derive(Deserialize)]
    struct StateVersion {
        v: u32,
    }
    let refuse = |what: &str, hint: &str| Failure::malformed(format!("{}: {what}", path.display())).hint(hint);
    match serde_json::from_slice(bytes) {
        Ok(StateVersion { v }) if v > VERSION => {
            Err(refuse("a newer version of this program wrote it", "use that version"))
        }
        _ => serde_json::from_slice(bytes).map_err(|e| refuse(&e.to_string(), hint)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_earlier_version_remembered_of_an_old_view_is_read() {
        let [here, fresh, content] = [b"h", b"f", b"c"].map(|text| Digest::of(text));
        let known = serde_json::json!({
            "since": "2026-01-01T00:00:00Z", "here": here, "fresh": fresh, "places": ["lacks A"], "content": content
        });
        let part: HeldText = serde_json::from_value(known).unwrap();
        assert_eq!((part.text, part.here, part.overlay), (content, Some(here), Some(fresh)));
        assert!(part.is_stale());
    }
}
