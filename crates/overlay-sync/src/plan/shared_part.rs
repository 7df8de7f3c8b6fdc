//! The part of a file that a workspace shares. Entries of its own (`local`) and additions that wait for a person are
//! taken out of all three texts before the decision, and each side gets its own back afterwards. So they neither leave
//! nor enter a workspace, and the rest of an edit is synced.

use std::collections::BTreeSet;

use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use super::decision::{FileView, StaleText, Step, WaitingPart};
use crate::execution_risk::{self, Starting};
use crate::merge::{
    EntryPath, FileType, Freshness, Grow, Grown, additions, donate, entries, freshness, grown, strip, unsafe_entries,
};

/// Why a file is held whose own entries cannot be separated.
pub const INSEPARABLE: &str = "its own entries cannot be told from the others";

/// The three texts without the entries that are not shared.
#[derive(Clone, Debug)]
pub struct SharedView {
    entries: Vec<EntryPath>,
    base: Option<(Digest, Option<Vec<u8>>)>,
    overlay: Option<Vec<u8>>,
    here: Option<Vec<u8>>,
    /// The texts and parts that a person accepted; for a whole text also its shared part.
    accepted: BTreeSet<Digest>,
    pub part: Option<WaitingPart>,
}

impl SharedView {
    /// The shared part of a file; `None` when all of it is shared. The error says why the entries cannot be told
    /// apart. `disputed` are entries that wait as well.
    pub fn cut(file: &FileView<'_>, disputed: &[EntryPath]) -> Result<Option<SharedView>, String> {
        let (waiting, part) = waiting(file)?;
        let own = file.policy.local.iter().cloned().chain(disputed.iter().cloned());
        let entries: Vec<EntryPath> = own.chain(waiting).collect();
        if entries.is_empty() || file.here.is_some() && file.here == file.overlay {
            return Ok(None);
        }
        let part_of = |bytes: Option<&[u8]>| match bytes {
            None => Ok(None),
            // The gate or the merge deals with an empty text.
            Some([]) => Ok(Some(Vec::new())),
            Some(bytes) => strip(file.kind, bytes, &entries).map(Some).ok_or_else(|| INSEPARABLE.to_owned()),
        };
        let base_bytes = part_of(file.base.and_then(|(_, bytes)| bytes))?;
        let (mut overlay, mut here) = (part_of(file.overlay)?, part_of(file.here)?);
        // An entry that is taken out leaves its layout behind, so texts with the same content count as equal.
        let same = |a: &[u8], b: &[u8]| a != b && file.kind.has_same_content(a, b);
        if let Some(base) = &base_bytes {
            for side in [&mut overlay, &mut here].into_iter().flatten() {
                if same(side, base) {
                    side.clone_from(base);
                }
            }
        }
        if let (Some(overlay), Some(here)) = (&overlay, &mut here)
            && same(overlay, here)
        {
            here.clone_from(overlay);
        }
        let base = file.base.map(|(digest, _)| match base_bytes {
            Some(bytes) => (Digest::of(&bytes), Some(bytes)),
            None => (digest, None),
        });
        let mut accepted = file.accepted.clone();
        for (whole, shared) in [(file.here, &here), (file.overlay, &overlay)] {
            if let (Some(whole), Some(shared)) = (whole, shared)
                && file.accepted.contains(&Digest::of(whole))
            {
                accepted.insert(Digest::of(shared));
            }
        }
        Ok(Some(SharedView { entries, base, overlay, here, accepted, part }))
    }

    /// The same file without the entries that are not shared.
    pub fn shared<'v>(&'v self, file: &FileView<'v>) -> FileView<'v> {
        FileView {
            base: self.base.as_ref().map(|(digest, bytes)| (*digest, bytes.as_deref())),
            overlay: self.overlay.as_deref(),
            here: self.here.as_deref(),
            // A deletion is remembered with the digest of the overlay's whole text.
            deleted: file.deleted.map(|then| match (file.overlay, &self.overlay) {
                (Some(whole), Some(shared)) if Digest::of(whole) == then => Digest::of(shared),
                _ => then,
            }),
            accepted: &self.accepted,
            is_whole: false,
            ..*file
        }
    }

    /// The step with each side's own entries put back into its text; `None` when they cannot be put back.
    pub fn restore(&self, file: &FileView<'_>, step: Step) -> Option<Step> {
        let own = |bytes: &[u8], donor: Option<&[u8]>| match donor.filter(|donor| !donor.is_empty()) {
            Some(donor) => donate(file.kind, bytes, &self.entries, donor),
            None => Some(bytes.to_vec()),
        };
        let base = file.base.and_then(|(_, bytes)| bytes);
        Some(match step {
            Step::Adopt(bytes) => {
                let bytes = own(&bytes, base)?;
                if file.base.map(|(digest, _)| digest) == Some(Digest::of(&bytes)) && file.deleted.is_none() {
                    return Some(Step::Nothing);
                }
                Step::Adopt(bytes)
            }
            Step::Write(mut write) => {
                for (side, donor) in [(&mut write.overlay, file.overlay), (&mut write.here, file.here)] {
                    if let Some(bytes) = side {
                        let whole = own(bytes, donor)?;
                        *side = (Some(whole.as_slice()) != donor).then_some(whole);
                    }
                }
                write.base = own(&write.base, base)?;
                write.read = own(&write.read, base)?;
                Step::Write(write)
            }
            // The workspace keeps entries of its own.
            Step::Remove if self.here.as_deref() != file.here => Step::Retire,
            // A person sees and accepts whole texts.
            Step::Hold(why, text) => {
                let sides = [(&self.here, file.here), (&self.overlay, file.overlay)];
                let of = |shared: &Option<Vec<u8>>| shared.as_deref().map(Digest::of) == Some(text);
                let whole = sides.iter().find(|(shared, _)| of(shared)).and_then(|(_, whole)| *whole);
                Step::Hold(why, whole.map_or(text, Digest::of))
            }
            other => other,
        })
    }
}

/// The workspace's text as it goes into the merge.
pub struct SideText {
    pub bytes: Vec<u8>,
    /// How many entries that only grow were put back.
    pub grown: usize,
    pub stale: Option<StaleText>,
}

/// Puts back the entries that the workspace cannot remove, and those that its text lacks only because of an old view.
/// The error says why they cannot be put back.
pub fn side_text(file: &FileView<'_>, base: Option<&[u8]>, here: &[u8]) -> Result<SideText, String> {
    let plain = SideText { bytes: here.to_vec(), grown: 0, stale: None };
    let is_accepted = file.accepted.contains(&Digest::of(here)) || has_accepted_part(file);
    let Some(base) = base.filter(|_| !is_accepted) else { return Ok(plain) };
    let mut side = match grown(file.kind, file.policy.grow, base, here) {
        Grown::Same => plain,
        Grown::Back(bytes, grown) => SideText { bytes, grown, stale: None },
        Grown::Cannot => {
            return Err("it removes entries from lists that only grow, and they cannot be put back".into());
        }
    };
    if file.policy.is_down {
        return Ok(side);
    }
    // A text in which entries in dispute wait may file like an old text.
    let is_whole = file.is_whole && !file.policy.holds;
    match freshness(file.kind, base, &side.bytes, file.arrivals, is_whole) {
        Freshness::Fresh => {}
        Freshness::Stale(fresh, places) => {
            let here = std::mem::replace(&mut side.bytes, fresh.clone());
            side.stale = Some(StaleText { here, fresh, places });
        }
        Freshness::Cannot => {
            return Err("it was written from an old view, and what arrived meanwhile cannot be put back".into());
        }
    }
    Ok(side)
}

/// Whether a person has accepted the additions of this text.
fn has_accepted_part(file: &FileView<'_>) -> bool {
    let none = BTreeSet::new();
    let part = || waiting(&FileView { accepted: &none, ..*file }).ok().and_then(|(_, part)| part);
    !file.accepted.is_empty() && part().is_some_and(|part| file.accepted.contains(&part.digest))
}

/// The additions that wait for a person, and why. The error says why all of the text waits.
type Waiting = Result<(Vec<EntryPath>, Option<WaitingPart>), String>;

/// What waits of a file.
fn waiting(file: &FileView<'_>) -> Waiting {
    let none = Ok((Vec::new(), None));
    let Some(here) = file.here else { return none };
    let is_managed = file.overlay.is_some() || file.base.is_some() && !file.is_retired;
    let is_same = file.overlay == Some(here) || file.base.is_some_and(|(digest, _)| digest == Digest::of(here));
    // The gate holds an empty text.
    if !is_managed || is_same || here.is_empty() || file.policy.is_down {
        return none;
    }
    let base = file.base.and_then(|(_, bytes)| bytes);
    if file.kind.is_tree() && file.kind.tree(here).is_none() {
        // The gate holds a text that no longer parses. Any other must be held here.
        let is_gated = !file.kind.parses(here) && base.is_some_and(|base| file.kind.parses(base));
        let may_add = || may_contain(here, &file.policy.review) || started(file, here, &[], false).is_err();
        if !is_gated && (file.kind.is_json() || may_add()) {
            return Err("it cannot be taken apart, so nobody can tell what it adds".into());
        }
        return none;
    }
    reviewed(file, base, here)
}

/// Whether a text that does not parse may contain one of these keys in any spelling.
fn may_contain(text: &[u8], keys: &[EntryPath]) -> bool {
    let text = String::from_utf8_lossy(text).to_lowercase();
    text.contains('\\') || text.contains('\0') || keys.iter().any(|key| text.contains(&key.first().to_lowercase()))
}

/// The entries of a text that may start a program: those it adds to, and those it takes from. The error says why all of
/// the text waits.
fn started(file: &FileView<'_>, text: &[u8], known: &[&[u8]], is_edit: bool) -> Result<[Vec<EntryPath>; 2], String> {
    let review = &file.policy.review;
    let mut found = [additions(file.kind, text, review, known), Vec::new()];
    let Some(path) = file.policy.reviewed.as_ref().map(RelPath::as_path) else { return Ok(found) };
    let texts = [known, &[text]].concat();
    let runs = "programs run this file (a program)";
    let is_executable = file.policy.mode & 0o111 != 0;
    if is_executable || execution_risk::is_run(path) || texts.iter().any(|text| execution_risk::is_program(text)) {
        return Err(runs.into());
    }
    if execution_risk::holds_settings(path) {
        let mut entries = unsafe_entries(file.kind, &texts, execution_risk::has_dotted_keys(path)).ok_or(runs)?;
        let own = review.iter().filter(|key| !entries.contains(key));
        found[0] = additions(file.kind, text, &entries.iter().chain(own).cloned().collect::<Vec<_>>(), known);
        refuse_endless(found[0].len())?;
        let less: Vec<_> = known.iter().map(|known| additions(file.kind, known, &entries, &[text])).collect();
        entries.retain(|entry| !found[0].contains(entry) && less.iter().all(|less| less.contains(entry)));
        // A mode in which an agent asks is harmless where it comes, and not where it goes.
        let mode: Vec<_> = EntryPath::parse(file.kind, "permissions.defaultMode").into_iter().collect();
        let has_mode = |text: &&[u8]| !additions(file.kind, text, &mode, &[]).is_empty();
        if !known.is_empty() && known.iter().all(has_mode) && !has_mode(&text) {
            entries.extend(mode.into_iter().filter(|mode| !entries.contains(mode)).collect::<Vec<_>>());
        }
        found[1].extend(entries.into_iter().filter(|_| is_edit));
    }
    if file.kind == FileType::Env {
        let names = |text: &[u8]| execution_risk::starting(text, known).names;
        refuse_endless(names(text).len())?;
        found[0].extend(names(text).iter().filter_map(|name| EntryPath::parse(file.kind, name)));
        // A reader may find a variable where no entry is, so a line of it would stay behind.
        if !found[0].is_empty() && strip(file.kind, text, &found[0]).is_none_or(|left| !names(&left).is_empty()) {
            return Err(format!("it {}", adds(&found[0])));
        }
        if execution_risk::starting(text, known).has_command {
            return Err("a line of it sets no variable, and a shell would run it (a program)".into());
        }
    }
    Ok(found)
}

/// Whether a merge of two texts starts a program that neither of them starts: the quotes of one may close those of the
/// other.
pub fn runs_merged(file: &FileView<'_>, merged: &[u8], sides: &[&[u8]]) -> bool {
    let is_looked_at = file.kind == FileType::Env && file.policy.reviewed.is_some();
    let is_new = sides.iter().all(|side| *side != merged);
    is_looked_at && is_new && execution_risk::starting(merged, sides) != Starting::default()
}

/// Each entry is looked for in each line of each text.
const MOST_ENTRIES: usize = 200;

fn refuse_endless(count: usize) -> Result<(), String> {
    match count > MOST_ENTRIES {
        true => Err(format!("it adds {count} entries that may start programs, too many to look at each")),
        false => Ok(()),
    }
}

fn adds(entries: &[EntryPath]) -> String {
    let is_unknown = |entry: &EntryPath| execution_risk::kind(&entry.to_string()) == execution_risk::UNKNOWN;
    let why =
        if entries.iter().all(is_unknown) { "is not known to be harmless" } else { "may run code in every workspace" };
    format!("adds to {}, which {why}", named(entries))
}

/// Entries in words, each with what it is about.
fn named(entries: &[EntryPath]) -> String {
    let names = entries.iter().map(|entry| format!("`{entry}` ({})", execution_risk::kind(&entry.to_string())));
    names.collect::<Vec<_>>().join(" and ")
}

/// Why a file that no side knows waits; `None` if nothing starts from it.
pub fn why_new(file: &FileView<'_>, here: &[u8]) -> Option<String> {
    match started(file, here, &[], false) {
        Ok([added, _]) => (!added.is_empty()).then(|| format!("it is new and {}", adds(&added))),
        Err(why) => Some(format!("it is new, and {why}")),
    }
}

/// The changes of a text that parses which wait for a person.
fn reviewed(file: &FileView<'_>, base: Option<&[u8]>, here: &[u8]) -> Waiting {
    // What never leaves the workspace starts nothing elsewhere, and brings nothing back.
    let shared = |text: &[u8]| strip(file.kind, text, &file.policy.local).unwrap_or_else(|| text.to_vec());
    let (base, overlay, here) = (base.map(shared), file.overlay.map(shared), shared(here));
    let (base, here) = (base.as_deref(), here.as_slice());
    let known: Vec<&[u8]> = base.into_iter().chain(overlay.as_deref()).collect();
    let [added, mut taken] = started(file, here, &known, base.is_some())?;
    if !taken.is_empty() {
        // What the text only lacks because of an old view is put back, and waits for nobody.
        let side = side_text(&FileView { accepted: &BTreeSet::new(), ..*file }, base, here)?;
        [_, taken] = started(file, &side.bytes, &known, base.is_some())?;
    }
    let mut why: Vec<String> = Vec::new();
    why.extend((!added.is_empty()).then(|| format!("it {}", adds(&added))));
    why.extend((!taken.is_empty()).then(|| format!("it takes away from {}", named(&taken))));
    let mut waiting = [added, taken].concat();
    if !file.removed.is_empty() {
        let in_known: BTreeSet<String> = known.iter().flat_map(|bytes| entries(file.kind, Grow::All, bytes)).collect();
        let back: Vec<EntryPath> = entries(file.kind, Grow::All, here)
            .into_iter()
            .filter(|entry| file.removed.contains(entry) && !in_known.contains(entry))
            .filter_map(|entry| EntryPath::parse(file.kind, &entry))
            .collect();
        if !back.is_empty() {
            let what =
                if back.len() == 1 { "an entry that was".into() } else { format!("{} entries that were", back.len()) };
            why.push(format!("it brings back {what} removed"));
            waiting.extend(back);
        }
    }
    if waiting.is_empty() {
        return Ok((waiting, None));
    }
    let part = WaitingPart::new(file.kind, here, &waiting, why.join("; "));
    if file.accepted.contains(&part.digest) {
        return Ok((Vec::new(), None));
    }
    Ok((waiting, Some(part)))
}
