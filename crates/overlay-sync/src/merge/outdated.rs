//! Finds edits that were made from an outdated read: they lack what has been added since, have again what was taken
//! away, or an old value. Nobody meant that, so the base is put back there, and a person decides about the difference.

use std::collections::HashMap;

use super::comments::Comments;
use super::file_type::{FileType, is_binary};
use super::old_view::{Arrival, Freshness, OldView, StalePlace};
use super::tree::{Members, Tree, join};
use super::{jsonl, lines, list, outdated_lines};

/// Compares `here`, which was edited, with the base and with what has arrived in the workspace. `is_whole` says whether
/// the two are whole texts, as those that arrived are.
pub fn freshness(kind: FileType, base: &[u8], here: &[u8], arrivals: &[Arrival], is_whole: bool) -> Freshness {
    if arrivals.is_empty() || base == here {
        return Freshness::Fresh;
    }
    // The old text itself has nothing of its own, whatever differs.
    let is_old = is_whole && arrivals.iter().any(|(before, _)| before == here);
    match compare(kind, base, here, arrivals) {
        Freshness::Stale(_, places) if is_old => Freshness::Stale(base.to_vec(), places),
        _ if is_old => {
            let whole = StalePlace::new(OldView::Reverts, "the whole file", here);
            Freshness::Stale(base.to_vec(), vec![whole])
        }
        freshness => freshness,
    }
}

fn compare(kind: FileType, base: &[u8], here: &[u8], arrivals: &[Arrival]) -> Freshness {
    let texts = arrivals.iter().flat_map(|(before, after)| [before.as_slice(), after]);
    if texts.chain([base, here]).any(is_binary) {
        return Freshness::Fresh;
    }
    if kind == FileType::JsonLines {
        return compare_records(base, here, arrivals);
    }
    if !kind.is_tree() {
        return outdated_lines::freshness(kind, base, here, arrivals);
    }
    // A text without a tree is held elsewhere.
    let (Some(was), Some(now)) = (kind.tree(base), kind.tree(here)) else { return Freshness::Fresh };
    let tree = |bytes: &[u8]| match bytes.trim_ascii().is_empty() {
        true => Some(Tree::Object(Members::new())),
        false => kind.tree(bytes),
    };
    let trees: Vec<(Tree, Tree)> =
        arrivals.iter().filter_map(|(before, after)| tree(before).zip(tree(after))).collect();
    let changes = differing(trees.iter().map(|(before, after)| (Some(before), Some(after))));
    let (mut text, mut places) = (here.to_vec(), Vec::new());
    let wanted = refresh("", Some(&was), Some(&now), &changes, &mut places);
    if !places.is_empty() && wanted.as_ref() == Some(&was) {
        return Freshness::Stale(base.to_vec(), places);
    }
    if let Some(wanted) = wanted.filter(|wanted| *wanted != now) {
        // Where the text cannot be edited by its tree, its lines may do.
        let by_lines = || match outdated_lines::freshness(FileType::Text, base, here, arrivals) {
            Freshness::Stale(text, _) => Some(text).filter(|text| kind.tree(text).as_ref() == Some(&wanted)),
            _ => None,
        };
        let Some(edited) = kind.rewrite(here, &now, &wanted, base).or_else(by_lines) else { return Freshness::Cannot };
        text = edited;
    }
    // A comment that arrived counts as an entry, if there is a place for it.
    let arrived = Comments::arrived(kind, base, &text, arrivals);
    let carried = arrived.carried(&text, base);
    if arrived.missing_in(&carried) < arrived.missing_in(&text) && kind.tree(&carried) == kind.tree(&text) {
        places.push(StalePlace::new(OldView::Lacks, "comments", arrived.spelled().as_bytes()));
        text = carried;
    }
    if places.is_empty() { Freshness::Fresh } else { Freshness::Stale(text, places) }
}

/// The same for lines of records, which are a list.
fn compare_records(base: &[u8], here: &[u8], arrivals: &[Arrival]) -> Freshness {
    let [was, mut now] = [base, here].map(jsonl::tree);
    let mut places = Vec::new();
    // One at a time, and what it changed: a log may be long, and have arrived in many parts.
    for (before, after) in arrivals {
        let [before, after] = jsonl::differing([before, after]);
        let changes = differing(std::iter::once((Some(&before), Some(&after))));
        now = refresh("", Some(&was), Some(&now), &changes, &mut places).unwrap_or(now);
    }
    if places.is_empty() {
        return Freshness::Fresh;
    }
    let is_base = now == was;
    let rewritten = || now.items().and_then(|wanted| jsonl::rewrite(here, wanted, base));
    let text = if is_base { Some(base.to_vec()) } else { rewritten() };
    text.map_or(Freshness::Cannot, |text| Freshness::Stale(text, places))
}

/// What an arrival changed at one place: before and after. `None` is absent.
type TreeChange<'t> = (Option<&'t Tree>, Option<&'t Tree>);

fn differing<'t>(changes: impl Iterator<Item = TreeChange<'t>>) -> Vec<TreeChange<'t>> {
    changes.filter(|(before, after)| before != after).collect()
}

/// The tree at `path` as its writer would have it who knew all changes.
fn refresh(
    path: &str,
    base: Option<&Tree>,
    here: Option<&Tree>,
    changes: &[TreeChange<'_>],
    places: &mut Vec<StalePlace>,
) -> Option<Tree> {
    if changes.is_empty() || base == here {
        return here.cloned();
    }
    // Single entries of an object or array may have arrived that the text lacks as a whole, or the other way round.
    let members = |tree: Option<&Tree>| tree.map_or_else(|| Some(Members::new()), |tree| tree.members().cloned());
    if let (Some(was), Some(now)) = (members(base), members(here))
        && !(was.is_empty() && now.is_empty())
    {
        let entries = refresh_members(path, &was, &now, changes, places);
        let is_gone = entries.is_empty() && (base.is_none() || here.is_none());
        return (!is_gone).then_some(Tree::Object(entries));
    }
    let items = |tree: Option<&Tree>| tree.map_or_else(|| Some(Vec::new()), |tree| tree.items().cloned());
    if let (Some(was), Some(now)) = (items(base), items(here))
        && !(was.is_empty() && now.is_empty())
    {
        let mut kept: Option<Vec<Tree>> = None;
        for change in changes {
            kept = refresh_items(path, &was, kept.as_deref().unwrap_or(&now), *change, places).or(kept);
        }
        return match kept {
            None => here.cloned(),
            Some(kept) if kept.is_empty() && base.is_none() => None,
            Some(kept) => Some(Tree::Array(kept)),
        };
    }
    if !changes.iter().any(|(before, _)| *before == here) {
        return here.cloned();
    }
    let view = match (base, here) {
        (_, None) => OldView::Lacks,
        (None, _) => OldView::BringsBack,
        _ => OldView::Reverts,
    };
    let content = base.or(here).map(Tree::spelling).unwrap_or_default();
    places.push(StalePlace::new(view, path, format!("{path}\0{content}").as_bytes()));
    base.cloned()
}

fn refresh_members<'t>(
    path: &str,
    was: &Members,
    now: &Members,
    changes: &[TreeChange<'t>],
    places: &mut Vec<StalePlace>,
) -> Members {
    let missing = was.keys().filter(|key| !now.contains_key(*key));
    let refreshed = now.keys().chain(missing).filter_map(|key| {
        let at = |tree: Option<&'t Tree>| tree.and_then(|tree| tree.key(key));
        let below = differing(changes.iter().map(|(before, after)| (at(*before), at(*after))));
        Some((key.clone(), refresh(&join(path, key), was.get(key), now.get(key), &below, places)?))
    });
    refreshed.collect()
}

/// The elements of an array whose writer knew this change: those of the base that stay, in its order, then the writer's
/// own. They are matched as in a merge, and a record that both have is compared by key. `None` if the writer knew it.
fn refresh_items<'t>(
    path: &str,
    was: &[Tree],
    now: &[Tree],
    (before, after): TreeChange<'t>,
    places: &mut Vec<StalePlace>,
) -> Option<Vec<Tree>> {
    // A change from or to another type is none of elements.
    let items = |tree: Option<&'t Tree>| tree.map_or(Some(&[][..]), |tree| tree.items().map(Vec::as_slice));
    let lists = [was, now, items(before)?, items(after)?];
    let keys = list::identities(lists).unwrap_or_else(|| list::single_identities(lists));
    let [in_text, before, after] =
        [1, 2, 3].map(|at| keys[at].iter().zip(lists[at]).collect::<HashMap<&String, &Tree>>());
    let place = |view, at: usize, item: &Tree| {
        StalePlace::new(view, format!("{path}[{at}]"), format!("{path}\0{}", item.spelling()).as_bytes())
    };
    let (mut kept, mut found) = (Vec::new(), Vec::new());
    // An element may occur several times. Of those in the text, the first ones are the base's.
    let counts = lines::counted(&keys[1]);
    let mut matched: HashMap<&String, usize> = HashMap::new();
    for (at, (key, item)) in keys[0].iter().zip(was).enumerate() {
        let (old, new) = (before.get(key).copied(), after.get(key).copied());
        let count = matched.entry(key).or_default();
        if *count < counts.get(key).copied().unwrap_or(0) {
            *count += 1;
            let below = differing(std::iter::once((old, new)));
            kept.extend(refresh(&join(path, key), Some(item), in_text.get(key).copied(), &below, &mut found));
        } else if old != new && (old.is_none() || new == Some(item)) {
            // A part of a record would be another one, so it comes back as a whole.
            found.push(place(OldView::Lacks, at, item));
            kept.push(item.clone());
        }
    }
    for (at, (key, item)) in keys[1].iter().zip(now).enumerate() {
        let went = before.get(key) == Some(&item) && after.get(key) != Some(&item);
        match matched.get_mut(key) {
            Some(count) if *count > 0 => *count -= 1,
            None if went => found.push(place(OldView::BringsBack, at, item)),
            _ => kept.push(item.clone()),
        }
    }
    let is_stale = !found.is_empty();
    places.extend(found);
    is_stale.then_some(kept)
}

#[cfg(test)]
#[path = "outdated_tests.rs"]
mod tests;
