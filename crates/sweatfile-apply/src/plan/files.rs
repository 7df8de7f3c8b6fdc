//! What to do at each destination, given the merged entry, the current file and the one that apply placed before.

use std::path::PathBuf;
use std::sync::Arc;

use shopfloor_core::fs::{Content, Found};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::applied::PlacedFile;
use crate::facts::{CacheSource, Facts};
use crate::layer::{LayerName, MergedFile, MergedLayers};
use crate::report::ItemAction;
use crate::sweatfile::Body;
use crate::template;

#[derive(Debug, PartialEq, Eq)]
pub struct FileStep {
    pub path: RelPath,
    pub action: ItemAction,
    pub why: String,
    pub operation: FileOperation,
    /// Its entry in the record afterwards; none when nothing of ours is there.
    pub placed: Option<PlacedFile>,
    pub drifts: bool,
}

/// The operation at one destination.
#[derive(Debug, PartialEq, Eq)]
pub enum FileOperation {
    Nothing,
    /// Place the file instead of exactly this content, which apply placed, or where there is none.
    Place(Option<Content>, FileToPlace),
    /// Remove exactly this content, which apply placed.
    Take(Content),
    /// The file is gone already: forget it, and remove the directories made for it.
    Forget,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileToPlace {
    Link(PathBuf),
    Write(Vec<u8>),
    Copy(PathBuf),
    Cache(Arc<CacheSource>),
}

/// Plans a step for every destination that has an entry, was cleared, or comes from `.worktreeinclude`.
pub fn plan(merged: &MergedLayers, facts: &Facts) -> Vec<FileStep> {
    let wanted = merged.files.iter().map(|(path, entry)| step(path, entry, merged, facts));
    let cleared = merged.cleared.iter().filter_map(|(path, by)| {
        let (placed, current) = (facts.record.files.get(path)?, facts.current.get(path)?);
        if current.found == Found::Missing {
            let step = FileStep::new(path, ItemAction::Unchanged, "cleared".into(), FileOperation::Forget, None);
            return Some(FileStep { drifts: false, ..step });
        }
        let content = current.content.clone()?;
        if placed.layer == Some(*by) || !placed.has_content(&content) {
            return None;
        }
        let why = format!("the {by} sweatfile clears it, so the placed file is removed");
        Some(FileStep::new(path, ItemAction::Skipped, why, FileOperation::Take(content), None))
    });
    // A cache that is copied brings its files.
    let is_cached = |path: &RelPath| facts.caches.keys().any(|cache| cache.is_parent_of(path));
    let included = facts.included.iter().filter(|(path, _)| !merged.files.contains_key(*path) && !is_cached(path));
    let included = included.map(|(path, (from, content))| {
        let make = match content {
            Content::Link(target) => FileToPlace::Link(target.clone()),
            _ => FileToPlace::Copy(from.clone()),
        };
        let placed = make.placed(None, content);
        let why = "copied as .worktreeinclude asks".to_owned();
        FileStep::new(path, ItemAction::Created, why, FileOperation::Place(None, make), Some(placed))
    });
    // And another cache in it.
    let is_brought = |path: &RelPath| {
        facts.caches.iter().any(|(outer, source)| {
            let below = path.as_path().strip_prefix(outer.as_path());
            below.is_ok_and(|below| source.parts.dirs.iter().any(|dir| dir == below))
        })
    };
    let caches = facts.caches.iter().filter(|(path, _)| !is_brought(path)).map(|(path, source)| {
        let place = FileOperation::Place(None, FileToPlace::Cache(source.clone()));
        let step = FileStep::new(path, ItemAction::Created, source.made_by.clone(), place, None);
        FileStep { drifts: false, ..step }
    });
    wanted.chain(cleared).chain(included).chain(caches).collect()
}

impl FileToPlace {
    /// Its entry in the record once it is placed.
    fn placed(&self, layer: Option<LayerName>, content: &Content) -> PlacedFile {
        let copied_from = match self {
            FileToPlace::Copy(from) => Some(from.clone()),
            _ => None,
        };
        PlacedFile { layer, content: content.clone(), copied_from, replaces: None }
    }
}

impl FileStep {
    fn new(
        path: &RelPath,
        action: ItemAction,
        why: String,
        operation: FileOperation,
        placed: Option<PlacedFile>,
    ) -> FileStep {
        FileStep { path: path.clone(), action, why, operation, placed, drifts: true }
    }
}

/// What can end a quoted text in a script, or run something within one.
const OBEYED: &[char] = &['$', '`', '"', '\'', ';', '&', '|', '<', '>', '(', ')', '{', '}', '#', '!'];

/// The file that an entry describes.
struct DesiredFile {
    make: FileToPlace,
    content: Content,
    /// How it is made, as the report says it.
    made_by: String,
}

fn desired(path: &RelPath, entry: &MergedFile, facts: &Facts) -> Result<DesiredFile, String> {
    let original = || facts.originals.get(path).cloned().unwrap_or_else(|| Err("its source was not read".to_owned()));
    Ok(match &entry.body {
        Body::Clear => return Err("cleared".to_owned()),
        Body::Source(_) => {
            let (from, content) = original()?;
            let made_by = format!("link to {}", from.display());
            DesiredFile { content, make: FileToPlace::Link(from), made_by }
        }
        Body::Copy(_) => {
            let (from, content) = original()?;
            let made_by = format!("copy of {}", from.display());
            DesiredFile { content, make: FileToPlace::Copy(from), made_by }
        }
        Body::Content { text, template } => {
            // Agents name branches, and set-up may run the file.
            let values = &facts.placeholders;
            let branches = [
                ("{branch}", &values.branch),
                ("{default_branch}", &values.default_branch),
                ("{parent_branch}", &values.parent_branch),
            ];
            let is_obeyed = |(name, branch): &&(&str, &String)| text.contains(name) && branch.contains(OBEYED);
            if let Some((_, branch)) = branches.iter().find(is_obeyed).filter(|_| *template) {
                return Err(format!("the branch `{branch}` has a character that shells obey"));
            }
            let text = if *template { template::expand(text, &facts.placeholders) } else { text.clone() };
            let content = Content::File(Digest::of(text.as_bytes()));
            DesiredFile { content, make: FileToPlace::Write(text.into_bytes()), made_by: "written".into() }
        }
    })
}

/// The content that an entry describes; none when its original cannot be read.
pub fn desired_content(path: &RelPath, entry: &MergedFile, facts: &Facts) -> Option<Content> {
    desired(path, entry, facts).ok().map(|desired| desired.content)
}

fn step(path: &RelPath, entry: &MergedFile, merged: &MergedLayers, facts: &Facts) -> FileStep {
    let current = facts.current.get(path).cloned().unwrap_or_default();
    let before = facts.record.files.get(path);
    let step = |action, why, operation, placed| FileStep::new(path, action, why, operation, placed);
    let placed = |desired: &DesiredFile| Some(desired.make.placed(Some(entry.layer), &desired.content));
    let keep = |why: &str| step(ItemAction::Kept, why.to_owned(), FileOperation::Nothing, before.cloned());
    let fail = |why: String| step(ItemAction::Failed, why, FileOperation::Nothing, before.cloned());

    if let Some(problem) = current.problem {
        return fail(problem);
    }
    if let Found::Blocked(at) = &current.found {
        return fail(format!("{at} is a link or not a directory, so nothing is placed below it"));
    }
    let desired = desired(path, entry, facts);
    if current.found == Found::Missing {
        return match desired {
            Ok(desired) => {
                let placed = placed(&desired);
                step(ItemAction::Created, desired.made_by, FileOperation::Place(None, desired.make), placed)
            }
            Err(why) => fail(why),
        };
    }
    let Some(before) = before else {
        return FileStep { drifts: false, ..keep("it was there before") };
    };
    let is_as_desired = desired.as_ref().is_ok_and(|desired| current.content.as_ref() == Some(&desired.content));
    let untouched = current.content.as_ref().filter(|content| before.has_content(content)).cloned();
    match (desired, untouched) {
        (Ok(desired), _) if is_as_desired => {
            let placed = placed(&desired);
            FileStep { drifts: false, ..step(ItemAction::Unchanged, desired.made_by, FileOperation::Nothing, placed) }
        }
        (_, None) => keep("changed content: edited since it was placed"),
        (_, Some(_)) if merged.left_out && before.layer > Some(entry.layer) => {
            FileStep { drifts: false, ..keep("its sweatfile changed and is not approved") }
        }
        (Ok(desired), Some(content))
            if before.layer != Some(entry.layer) || before.replaces.as_ref() == Some(&content) =>
        {
            let placed = placed(&desired);
            let why = format!("{}, because the {} sweatfile now defines it", desired.made_by, entry.layer);
            step(ItemAction::Created, why, FileOperation::Place(Some(content), desired.make), placed)
        }
        // A file is created once and never updated.
        (Ok(_), _) => {
            keep("changed content: the sweatfile now describes another file; remove this one and apply again")
        }
        (Err(why), _) => fail(why),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use shopfloor_core::text::Position;

    use super::*;
    use crate::applied::Record;
    use crate::facts::files::CurrentFile;

    fn rel(path: &str) -> RelPath {
        RelPath::parse(path).unwrap()
    }

    fn entry(layer: LayerName, text: &str) -> MergedFile {
        let body = Body::Content { text: text.into(), template: false };
        MergedFile { body, layer, file: "/s".into(), at: Position { line: 1, column: 1 }, counts: true }
    }

    fn content(text: &str) -> Content {
        Content::File(Digest::of(text.as_bytes()))
    }

    /// The step at `.x`, for which the repo wants `wanted`, when `current` exists there and `before` was placed.
    fn decide(wanted: &str, current: Option<&str>, before: Option<(LayerName, &str)>) -> FileStep {
        let mut facts = Facts::default();
        let found = if current.is_some() { Found::File(0o644) } else { Found::Missing };
        facts.current.insert(rel(".x"), CurrentFile { found, content: current.map(content), problem: None });
        let files = before.map(|(layer, text)| {
            (rel(".x"), PlacedFile { layer: Some(layer), content: content(text), copied_from: None, replaces: None })
        });
        facts.record = Record { files: files.into_iter().collect(), ..Record::default() };
        let merged = MergedLayers {
            files: BTreeMap::from([(rel(".x"), entry(LayerName::Repo, wanted))]),
            ..MergedLayers::default()
        };
        plan(&merged, &facts).remove(0)
    }

    #[test]
    fn every_case_of_wanted_current_and_placed_content() {
        let show = |s: FileStep| {
            let work = match s.operation {
                FileOperation::Nothing => "nothing",
                FileOperation::Place(None, _) => "create",
                FileOperation::Place(Some(_), _) => "swap",
                FileOperation::Take(_) | FileOperation::Forget => "take",
            };
            format!("{} {work} drift={}", shopfloor_core::text::word(&s.action), s.drifts)
        };
        let (area, repo) = (LayerName::Area, LayerName::Repo);
        assert_eq!(show(decide("a", None, None)), "created create drift=true");
        assert_eq!(show(decide("a", None, Some((repo, "a")))), "created create drift=true");
        assert_eq!(show(decide("a", Some("a"), None)), "kept nothing drift=false");
        assert_eq!(show(decide("a", Some("b"), None)), "kept nothing drift=false");
        assert_eq!(show(decide("a", Some("a"), Some((repo, "a")))), "unchanged nothing drift=false");
        assert_eq!(show(decide("a", Some("b"), Some((repo, "b")))), "kept nothing drift=true");
        assert_eq!(show(decide("a", Some("c"), Some((repo, "b")))), "kept nothing drift=true");
        assert_eq!(show(decide("a", Some("b"), Some((area, "b")))), "created swap drift=true");
        assert_eq!(show(decide("a", Some("c"), Some((area, "b")))), "kept nothing drift=true");
        assert_eq!(show(decide("a", Some("a"), Some((area, "a")))), "unchanged nothing drift=false");
    }

    #[test]
    fn a_clear_removes_only_unchanged_files_of_another_layer() {
        let cleared = |current: &str, before: (LayerName, &str)| {
            let mut facts = Facts::default();
            facts.current.insert(
                rel(".x"),
                CurrentFile { found: Found::File(0o644), content: Some(content(current)), problem: None },
            );
            let placed =
                PlacedFile { layer: Some(before.0), content: content(before.1), copied_from: None, replaces: None };
            facts.record.files.insert(rel(".x"), placed);
            let merged =
                MergedLayers { cleared: BTreeMap::from([(rel(".x"), LayerName::Repo)]), ..MergedLayers::default() };
            plan(&merged, &facts).len()
        };
        assert_eq!(cleared("a", (LayerName::Area, "a")), 1);
        assert_eq!(cleared("b", (LayerName::Area, "a")), 0);
        assert_eq!(cleared("a", (LayerName::Repo, "a")), 0);
    }
}
