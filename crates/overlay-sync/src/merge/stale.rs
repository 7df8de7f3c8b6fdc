//! What a text says nothing about. A program that read a file before something arrived there, and writes it afterwards,
//! lacks what was added, has again what was taken away, and shows values that were replaced. That is no opinion: those
//! entries are put back as the base has them, and a person decides about the difference.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use shopfloor_core::hash::Digest;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::comments::Comments;
use super::file_type::{FileType, is_binary};
use super::tree::{ItemSet, Members, Tree, by_key, join, member, members};
use super::{env, lines};

/// A text that a workspace had, and the one that a pass wrote in its place.
pub type Arrival = (Vec<u8>, Vec<u8>);

/// A text compared with what arrived before it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// It knows everything.
    Fresh,
    /// The text as it would be if its writer had known, and where the two differ.
    Stale(Vec<u8>, Vec<StalePlace>),
    /// It does not know everything, and cannot be edited so that it does.
    Cannot,
}

/// Where a text shows an old view.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StalePlace {
    pub view: OldView,
    /// A key path, a variable, or a line.
    pub place: String,
    /// The hash of what is lacking, back, or reverted there: lines and indices move.
    pub content: Digest,
}

impl StalePlace {
    fn new(view: OldView, place: impl Into<String>, content: &[u8]) -> StalePlace {
        StalePlace { view, place: place.into(), content: Digest::of(content) }
    }
}

/// How an old view shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OldView {
    /// The text lacks what arrived.
    Lacks,
    /// It has what was taken away.
    BringsBack,
    /// It shows a value that was replaced.
    Reverts,
}

impl std::fmt::Display for StalePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verb = match self.view {
            OldView::Lacks => "lacks",
            OldView::BringsBack => "brings back",
            OldView::Reverts => "reverts",
        };
        write!(f, "{verb} {}", self.place)
    }
}

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
    let texts = || arrivals.iter().flat_map(|(before, after)| [before.as_slice(), after]);
    if [base, here].into_iter().chain(texts()).any(is_binary) {
        return Freshness::Fresh;
    }
    if !kind.is_tree() {
        return lines_freshness(kind, base, here, arrivals);
    }
    // A text without a tree is held elsewhere.
    let (Some(was), Some(now)) = (kind.tree(base), kind.tree(here)) else { return Freshness::Fresh };
    let tree = |bytes: &[u8]| match bytes.trim_ascii().is_empty() {
        true => Some(Rc::new(Tree::Object(Vec::new()))),
        false => kind.tree(bytes),
    };
    let trees: Vec<(Rc<Tree>, Rc<Tree>)> =
        arrivals.iter().filter_map(|(before, after)| tree(before).zip(tree(after))).collect();
    let changes: Vec<TreeChange<'_>> = trees.iter().map(|(before, after)| (Some(&**before), Some(&**after))).collect();
    let mut places = Vec::new();
    let wanted = refresh("", Some(&was), Some(&now), &differing(changes), &mut places);
    let Some(wanted) = wanted.filter(|_| !places.is_empty()) else {
        return with_comments(kind, base, here.to_vec(), places, arrivals).unwrap_or(Freshness::Fresh);
    };
    if wanted.same(&was) {
        return Freshness::Stale(base.to_vec(), places);
    }
    // Where the text cannot be edited by its tree, its lines may do.
    let by_lines = || match lines_freshness(FileType::Text, base, here, arrivals) {
        Freshness::Stale(text, _) if kind.tree(&text).is_some_and(|tree| tree.same(&wanted)) => Some(text),
        _ => None,
    };
    let text = kind.rewrite(here, &now, &wanted, base).or_else(by_lines);
    let Some(text) = text else { return Freshness::Cannot };
    with_comments(kind, base, text.clone(), places.clone(), arrivals).unwrap_or(Freshness::Stale(text, places))
}

/// A text with the comments that have arrived and that it lacks; `None` if it lacks none, or has no place for them.
fn with_comments(
    kind: FileType,
    base: &[u8],
    text: Vec<u8>,
    mut places: Vec<StalePlace>,
    arrivals: &[Arrival],
) -> Option<Freshness> {
    let arrived = Comments::arrived(kind, base, &text, arrivals);
    let lost = arrived.missing_in(&text);
    let carried = if lost > 0 { arrived.carried(&text, base) } else { return None };
    let is_same = kind.tree(&carried).zip(kind.tree(&text)).is_some_and(|(a, b)| a.same(&b));
    if !is_same || arrived.missing_in(&carried) >= lost {
        return None;
    }
    places.push(StalePlace::new(OldView::Lacks, "comments", arrived.spelled().as_bytes()));
    Some(Freshness::Stale(carried, places))
}

/// What an arrival changed at one place: before and after. `None` is absent.
type TreeChange<'t> = (Option<&'t Tree>, Option<&'t Tree>);

fn same(a: Option<&Tree>, b: Option<&Tree>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.same(b),
        (None, None) => true,
        _ => false,
    }
}

fn differing(changes: Vec<TreeChange<'_>>) -> Vec<TreeChange<'_>> {
    changes.into_iter().filter(|(before, after)| !same(*before, *after)).collect()
}

/// The tree at `path` as its writer would have it who knew all changes.
fn refresh(
    path: &str,
    base: Option<&Tree>,
    here: Option<&Tree>,
    changes: &[TreeChange<'_>],
    places: &mut Vec<StalePlace>,
) -> Option<Tree> {
    if changes.is_empty() || same(base, here) {
        return here.cloned();
    }
    let none = Vec::new();
    match (base, here) {
        (Some(Tree::Object(was)), Some(Tree::Object(now))) => {
            Some(Tree::Object(refresh_entries(path, was, now, changes, places)))
        }
        // Single entries of an object may have arrived that the text lacks as a whole, or the other way round.
        (Some(Tree::Object(was)), None) if !was.is_empty() => {
            let entries = refresh_entries(path, was, &none, changes, places);
            (!entries.is_empty()).then_some(Tree::Object(entries))
        }
        (None, Some(Tree::Object(now))) if !now.is_empty() => {
            let entries = refresh_entries(path, &none, now, changes, places);
            (!entries.is_empty()).then_some(Tree::Object(entries))
        }
        (Some(Tree::Array(was)), Some(Tree::Array(now))) => {
            refresh_items(path, was, now, changes, places).map(Tree::Array).or_else(|| here.cloned())
        }
        (Some(Tree::Array(was)), None) if !was.is_empty() => {
            refresh_items(path, was, &[], changes, places).map(Tree::Array)
        }
        (None, Some(Tree::Array(now))) if !now.is_empty() => {
            let kept = refresh_items(path, &[], now, changes, places);
            kept.map_or_else(|| here.cloned(), |kept| (!kept.is_empty()).then_some(Tree::Array(kept)))
        }
        _ if changes.iter().any(|(before, _)| same(*before, here)) => {
            let view = match (base, here) {
                (_, None) => OldView::Lacks,
                (None, _) => OldView::BringsBack,
                _ => OldView::Reverts,
            };
            let content = base.or(here).map(Tree::spelling).unwrap_or_default();
            places.push(StalePlace::new(view, path, format!("{path}\0{content}").as_bytes()));
            base.cloned()
        }
        _ => here.cloned(),
    }
}

fn refresh_entries<'t>(
    path: &str,
    was: &[(String, Tree)],
    now: &[(String, Tree)],
    changes: &[TreeChange<'t>],
    places: &mut Vec<StalePlace>,
) -> Vec<(String, Tree)> {
    let changes: Vec<_> = changes.iter().map(|(before, after)| (members(*before), members(*after))).collect();
    let (base, here) = (by_key(was), by_key(now));
    let missing = was.iter().filter(|(key, _)| !here.contains_key(key.as_str()));
    let mut entries = Vec::new();
    for (key, _) in now.iter().chain(missing) {
        let of = |(before, after): &(Members<'t>, Members<'t>)| (member(before, key), member(after, key));
        let below = differing(changes.iter().map(of).collect());
        let tree = refresh(&join(path, key), member(&base, key), member(&here, key), &below, places);
        entries.extend(tree.map(|tree| (key.clone(), tree)));
    }
    entries
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
    let items = |tree: Option<&Tree>| match tree {
        Some(Tree::Array(items)) => Some(ItemSet::of(items)),
        None => Some(ItemSet::of(&[])),
        _ => None,
    };
    let sets: Vec<(ItemSet, ItemSet)> =
        changes.iter().filter_map(|(before, after)| items(*before).zip(items(*after))).collect();
    let came = |item: &Tree| sets.iter().any(|(before, after)| after.has(item) && !before.has(item));
    let went = |item: &Tree| sets.iter().any(|(before, after)| before.has(item) && !after.has(item));
    let place = |view, at: usize, item: &Tree| {
        StalePlace::new(view, format!("{path}[{at}]"), format!("{path}\0{}", item.spelling()).as_bytes())
    };
    let (mut kept, mut found) = (Vec::new(), Vec::new());
    // The places of equal elements, the first of them last.
    let mut places_of: HashMap<String, Vec<usize>> = HashMap::new();
    now.iter().enumerate().rev().for_each(|(at, item)| places_of.entry(item.spelling()).or_default().push(at));
    let mut is_left = vec![true; now.len()];
    for (at, item) in was.iter().enumerate() {
        match places_of.get_mut(&item.spelling()).and_then(Vec::pop) {
            Some(here) => is_left[here] = false,
            None if came(item) => found.push(place(OldView::Lacks, at, item)),
            None => continue,
        }
        kept.push(item.clone());
    }
    let known = ItemSet::of(was);
    for (at, item) in now.iter().enumerate().filter(|(at, _)| is_left[*at]) {
        match went(item) && !known.has(item) {
            true => found.push(place(OldView::BringsBack, at, item)),
            false => kept.push(item.clone()),
        }
    }
    let is_stale = !found.is_empty();
    places.extend(found);
    is_stale.then_some(kept)
}

/// The variable that a line of such a file sets.
fn variable(kind: FileType, line: &[u8]) -> Option<&[u8]> {
    if kind == FileType::Env { env::variable(line) } else { None }
}

/// How often each line occurs.
fn counted<'l>(lines: &[&'l [u8]]) -> HashMap<&'l [u8], usize> {
    let mut counts = HashMap::new();
    lines.iter().for_each(|line| *counts.entry(*line).or_default() += 1);
    counts
}

/// How a line of the base came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Came {
    /// Not with an arrival.
    #[default]
    Not,
    /// It was added.
    Added,
    /// It replaced other lines.
    Instead,
}

/// What arrivals did to lines: how each line of the base came, and how often each line went.
struct LineChanges<'l> {
    came: Vec<Came>,
    went: HashMap<&'l [u8], usize>,
}

impl<'l> LineChanges<'l> {
    fn of(base: &[&'l [u8]], arrivals: &'l [Arrival]) -> LineChanges<'l> {
        let mut changes = LineChanges { came: vec![Came::Not; base.len()], went: HashMap::new() };
        for (before, after) in arrivals {
            let (before, after): (Vec<_>, Vec<_>) = (lines::split(before).collect(), lines::split(after).collect());
            let mut came = vec![Came::Not; after.len()];
            let (known, left): (HashSet<&[u8]>, HashSet<&[u8]>) =
                (before.iter().copied().collect(), after.iter().copied().collect());
            for op in capture_diff_slices(Algorithm::Myers, &before, &after) {
                if !matches!(op, DiffOp::Equal { .. }) {
                    // Only new lines replace others, and only lines that are gone were replaced: the rest was moved.
                    // Of more lines than were replaced, nobody can tell which were added.
                    let (old, new) = (&before[op.old_range()], op.new_range());
                    let gone = old.iter().filter(|line| !left.contains(*line)).count();
                    came[new.clone()].fill(Came::Added);
                    let new: Vec<usize> = new.filter(|at| !known.contains(&after[*at])).collect();
                    new.iter().filter(|_| new.len() <= gone).for_each(|at| came[*at] = Came::Instead);
                    old.iter().for_each(|line| *changes.went.entry(*line).or_default() += 1);
                }
            }
            for op in capture_diff_slices(Algorithm::Myers, &after, base) {
                if matches!(op, DiffOp::Equal { .. }) {
                    for (from, to) in op.old_range().zip(op.new_range()) {
                        changes.came[to] = if came[from] == Came::Not { changes.came[to] } else { came[from] };
                    }
                }
            }
            // A line that is unlike any from before is known wherever it has been moved to.
            let new = after.iter().zip(&came).filter(|(line, how)| **how != Came::Not && !before.contains(line));
            let new: HashMap<&[u8], Came> = new.map(|(line, how)| (*line, *how)).collect();
            for (line, how) in base.iter().zip(&mut changes.came) {
                *how = new.get(line).copied().unwrap_or(*how);
            }
        }
        changes
    }
}

/// The arrivals that brought a line which the text lacks, or took away one which it has: a day can have a thousand.
fn concerning(
    arrivals: Vec<Arrival>,
    in_base: &HashMap<&[u8], usize>,
    in_here: &HashMap<&[u8], usize>,
) -> Vec<Arrival> {
    let more = |of: &HashMap<&[u8], usize>, than: &HashMap<&[u8], usize>| -> HashSet<Vec<u8>> {
        let lines = of.iter().filter(|(line, n)| than.get(*line).is_none_or(|other| other < *n));
        lines.map(|(line, _)| line.to_vec()).collect()
    };
    let (lacking, extra) = (more(in_base, in_here), more(in_here, in_base));
    let count = |text: &[u8], of: &HashSet<Vec<u8>>| -> HashMap<Vec<u8>, usize> {
        let mut counts = HashMap::new();
        lines::split(text)
            .filter(|line| of.contains(*line))
            .for_each(|line| *counts.entry(line.to_vec()).or_default() += 1);
        counts
    };
    let has_more = |a: &[u8], b: &[u8], of: &HashSet<Vec<u8>>| {
        let (a, b) = (count(a, of), count(b, of));
        a.iter().any(|(line, n)| b.get(line).is_none_or(|other| other < n))
    };
    let concerns = |(before, after): &Arrival| has_more(after, before, &lacking) || has_more(before, after, &extra);
    arrivals.into_iter().filter(concerns).collect()
}

fn lines_freshness(kind: FileType, base: &[u8], here: &[u8], arrivals: &[Arrival]) -> Freshness {
    // A variable that is set twice, or a value of several lines, has no name of its own.
    let texts = arrivals.iter().flat_map(|(before, after)| [before.as_slice(), after]).chain([base, here]);
    let kind = if kind == FileType::Env && !texts.into_iter().all(env::is_plain) { FileType::Text } else { kind };
    // Lines are compared by what they say, and written as they are spelled.
    let spelled = |text: &[u8]| if kind == FileType::Env { env::canonical(text) } else { text.to_vec() };
    let arrivals: Vec<Arrival> = arrivals.iter().map(|(before, after)| (spelled(before), spelled(after))).collect();
    let (plain_base, plain_here) = (spelled(base), spelled(here));
    let (was, now): (Vec<_>, Vec<_>) = (lines::split(&plain_base).collect(), lines::split(&plain_here).collect());
    let (was_spelled, now_spelled): (Vec<_>, Vec<_>) = (lines::split(base).collect(), lines::split(here).collect());
    let (in_base, in_here) = (counted(&was), counted(&now));
    let arrivals = concerning(arrivals, &in_base, &in_here);
    let LineChanges { came, went } = LineChanges::of(&was, &arrivals);
    let count = |counts: &HashMap<&[u8], usize>, line: &[u8]| counts.get(line).copied().unwrap_or(0);
    let is_blank = |line: &[u8]| line.trim_ascii().is_empty();
    let ops = capture_diff_slices(Algorithm::Myers, &was, &now);
    let is_back =
        brought_back(&ops, &now, went, |line| count(&in_here, line) > count(&in_base, line) && !is_blank(line));
    let has_own = |name: &[u8]| {
        let mut own = now.iter().zip(&is_back).filter(|(_, is_back)| !**is_back);
        own.any(|(line, _)| env::variable(line) == Some(name))
    };
    let name = |line: &[u8], at: usize| match variable(kind, line) {
        Some(name) => String::from_utf8_lossy(name).into_owned(),
        None => format!("line {}", at + 1),
    };
    let (mut fresh, mut places) = (Vec::new(), Vec::new());
    for op in &ops {
        if matches!(op, DiffOp::Equal { .. }) {
            fresh.extend_from_slice(&now_spelled[op.new_range()]);
            continue;
        }
        let (back, own): (Vec<usize>, Vec<usize>) = op.new_range().partition(|at| is_back[*at]);
        let is_lacking = |at: &usize| {
            let line = was[*at];
            // Other lines in the place of lines that replaced others are an edit, and so is a value of its own.
            let is_edit = match variable(kind, line) {
                Some(name) => has_own(name),
                None => came[*at] == Came::Instead && back.is_empty() && !own.is_empty(),
            };
            // A line that the base has once, and the text as well, was only moved.
            let is_moved = count(&in_base, line) == 1 && count(&in_here, line) > 0;
            came[*at] != Came::Not && !is_moved && !is_edit
        };
        let lacking: Vec<usize> = op.old_range().filter(is_lacking).collect();
        if lacking.iter().any(|at| !is_blank(was[*at])) {
            fresh.extend(lacking.iter().map(|at| was_spelled[*at]));
            let told = lacking.iter().filter(|at| !is_blank(was[**at]));
            places.extend(told.map(|at| StalePlace::new(OldView::Lacks, name(was[*at], *at), was[*at])));
        }
        places.extend(back.iter().map(|at| StalePlace::new(OldView::BringsBack, name(now[*at], *at), now[*at])));
        fresh.extend(own.iter().map(|at| now_spelled[*at]));
    }
    if places.is_empty() {
        return Freshness::Fresh;
    }
    if fresh == was_spelled {
        return Freshness::Stale(base.to_vec(), reverts(&places));
    }
    let end = lines::ending(here).or(lines::ending(base)).unwrap_or(b"\n");
    Freshness::Stale(fresh.iter().flat_map(|line| [*line, end].concat()).collect(), reverts(&places))
}

/// Which lines of an edited text are lines that went: as many of each as went, among those that an edit may bring back.
fn brought_back(
    ops: &[DiffOp],
    now: &[&[u8]],
    mut went: HashMap<&[u8], usize>,
    may_be: impl Fn(&[u8]) -> bool,
) -> Vec<bool> {
    let mut is_back = vec![false; now.len()];
    for at in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })).flat_map(DiffOp::new_range) {
        if let Some(left) = went.get_mut(now[at]).filter(|left| **left > 0 && may_be(now[at])) {
            *left -= 1;
            is_back[at] = true;
        }
    }
    is_back
}

/// A variable that lacks its new value and has its old one again shows a value that was replaced.
fn reverts(places: &[StalePlace]) -> Vec<StalePlace> {
    let twice = |place: &str| places.iter().filter(|other| other.place == place).count() > 1;
    let mut told: Vec<StalePlace> = Vec::new();
    for found in places {
        let is_reverted = !found.place.starts_with("line ") && twice(&found.place);
        let view = if is_reverted { OldView::Reverts } else { found.view };
        if !is_reverted || told.iter().all(|known| known.place != found.place) {
            told.push(StalePlace { view, ..found.clone() });
        }
    }
    told
}

#[cfg(test)]
#[path = "stale_tests.rs"]
mod tests;
