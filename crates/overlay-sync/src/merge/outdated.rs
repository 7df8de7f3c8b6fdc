//! Finds edits that were made from an outdated read: they lack what has been added since, have again what was taken
//! away, or an old value. Nobody meant that, so the base is put back there, and a person decides about the difference.

use std::collections::HashMap;

use super::comments::Comments;
use super::file_type::{FileType, is_binary};
use super::old_view::{Arrival, Freshness, OldView, StalePlace};
use super::tree::{Members, Tree, join};
use super::{lines, outdated_lines};

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
        return match refresh_items(path, &was, &now, changes, places) {
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

/// The elements of an array whose writer knew all changes: those of the base that stay, in its order, then the writer's
/// own. `None` if the writer knew everything.
fn refresh_items(
    path: &str,
    was: &[Tree],
    now: &[Tree],
    changes: &[TreeChange<'_>],
    places: &mut Vec<StalePlace>,
) -> Option<Vec<Tree>> {
    // A change from or to another type is none of elements.
    let is_list = |tree: &Option<&Tree>| tree.is_none_or(|tree| tree.items().is_some());
    let changes: Vec<_> = changes.iter().filter(|(before, after)| is_list(before) && is_list(after)).collect();
    let has = |tree: &Option<&Tree>, item: &Tree| tree.and_then(Tree::items).is_some_and(|items| items.contains(item));
    let came = |item: &Tree| changes.iter().any(|(before, after)| has(after, item) && !has(before, item));
    let went = |item: &Tree| changes.iter().any(|(before, after)| has(before, item) && !has(after, item));
    let place = |view, at: usize, item: &Tree| {
        StalePlace::new(view, format!("{path}[{at}]"), format!("{path}\0{}", item.spelling()).as_bytes())
    };
    let (mut kept, mut found) = (Vec::new(), Vec::new());
    // An element may occur several times. Of those in the text, the first ones are the base's.
    let in_text = lines::counted(now);
    let mut matched: HashMap<&Tree, usize> = HashMap::new();
    for (at, item) in was.iter().enumerate() {
        let count = matched.entry(item).or_default();
        if *count < in_text.get(item).copied().unwrap_or(0) {
            *count += 1;
        } else if came(item) {
            found.push(place(OldView::Lacks, at, item));
        } else {
            continue;
        }
        kept.push(item.clone());
    }
    for (at, item) in now.iter().enumerate() {
        match matched.get_mut(item) {
            Some(count) if *count > 0 => *count -= 1,
            None if went(item) => found.push(place(OldView::BringsBack, at, item)),
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
