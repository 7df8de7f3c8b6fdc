//! What a text says nothing about. A program that read a file before something arrived there, and writes it afterwards,
//! lacks what was added, has again what was taken away, and shows values that were replaced. That is no opinion: those
//! entries are put back as the base has them, and a person decides about the difference.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::file_type::{FileType, is_binary};
use super::tree::{Tree, has, join};
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

/// Compares `here`, which was edited, with the base and with what has arrived in the workspace.
pub fn freshness(kind: FileType, base: &[u8], here: &[u8], arrivals: &[Arrival]) -> Freshness {
    let texts = || arrivals.iter().flat_map(|(before, after)| [before.as_slice(), after]);
    if arrivals.is_empty() || base == here || [base, here].into_iter().chain(texts()).any(is_binary) {
        return Freshness::Fresh;
    }
    if !kind.is_tree() {
        return lines_freshness(kind, base, here, arrivals);
    }
    // A text without a tree is held elsewhere.
    let (Some(was), Some(now)) = (kind.tree(base), kind.tree(here)) else { return Freshness::Fresh };
    let trees: Vec<(Tree, Tree)> =
        arrivals.iter().filter_map(|(before, after)| kind.tree(before).zip(kind.tree(after))).collect();
    let changes: Vec<TreeChange<'_>> = trees.iter().map(|(before, after)| (Some(before), Some(after))).collect();
    let mut places = Vec::new();
    let wanted = refresh("", Some(&was), Some(&now), &differing(changes), &mut places);
    let Some(wanted) = wanted.filter(|_| !places.is_empty()) else { return Freshness::Fresh };
    if wanted.same(&was) {
        return Freshness::Stale(base.to_vec(), places);
    }
    kind.rewrite(here, &now, &wanted, base).map_or(Freshness::Cannot, |text| Freshness::Stale(text, places))
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
        (Some(Tree::Array(was)), Some(Tree::Array(now))) if is_set(was) && is_set(now) => {
            Some(Tree::Array(refresh_items(path, was, now, changes, places)))
        }
        _ if changes.iter().any(|(before, _)| same(*before, here)) => {
            let view = match (base, here) {
                (_, None) => OldView::Lacks,
                (None, _) => OldView::BringsBack,
                _ => OldView::Reverts,
            };
            places.push(StalePlace { view, place: path.to_owned() });
            base.cloned()
        }
        _ => here.cloned(),
    }
}

fn refresh_entries(
    path: &str,
    was: &[(String, Tree)],
    now: &[(String, Tree)],
    changes: &[TreeChange<'_>],
    places: &mut Vec<StalePlace>,
) -> Vec<(String, Tree)> {
    let find = |entries: &'_ [(String, Tree)], key: &str| entries.iter().position(|(other, _)| other == key);
    let missing = was.iter().filter(|(key, _)| find(now, key).is_none());
    let mut entries = Vec::new();
    for (key, _) in now.iter().chain(missing) {
        let below = changes
            .iter()
            .map(|(before, after)| (before.and_then(|tree| tree.key(key)), after.and_then(|tree| tree.key(key))));
        let below = differing(below.collect());
        let of = |entries: &'_ [(String, Tree)]| find(entries, key).map(|at| entries[at].1.clone());
        let tree = refresh(&join(path, key), of(was).as_ref(), of(now).as_ref(), &below, places);
        entries.extend(tree.map(|tree| (key.clone(), tree)));
    }
    entries
}

/// Whether an array has no element twice.
fn is_set(items: &[Tree]) -> bool {
    let mut spellings: Vec<String> = items.iter().map(Tree::spelling).collect();
    spellings.sort_unstable();
    spellings.windows(2).all(|pair| pair[0] != pair[1])
}

fn refresh_items(
    path: &str,
    was: &[Tree],
    now: &[Tree],
    changes: &[TreeChange<'_>],
    places: &mut Vec<StalePlace>,
) -> Vec<Tree> {
    let items = |tree: Option<&Tree>| match tree {
        Some(Tree::Array(items)) => Some(items.clone()),
        None => Some(Vec::new()),
        _ => None,
    };
    let sets: Vec<(Vec<Tree>, Vec<Tree>)> =
        changes.iter().filter_map(|(before, after)| items(*before).zip(items(*after))).collect();
    let came = |item: &Tree| sets.iter().any(|(before, after)| has(after, item) && !has(before, item));
    let went = |item: &Tree| sets.iter().any(|(before, after)| has(before, item) && !has(after, item));
    let mut kept = Vec::new();
    for (at, item) in was.iter().enumerate() {
        let is_here = has(now, item);
        if !is_here && came(item) {
            places.push(StalePlace { view: OldView::Lacks, place: format!("{path}[{at}]") });
        }
        kept.extend((is_here || came(item)).then(|| item.clone()));
    }
    for (at, item) in now.iter().enumerate().filter(|(_, item)| !has(was, item)) {
        if went(item) {
            places.push(StalePlace { view: OldView::BringsBack, place: format!("{path}[{at}]") });
        } else {
            kept.push(item.clone());
        }
    }
    kept
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
            for op in capture_diff_slices(Algorithm::Myers, &before, &after) {
                if !matches!(op, DiffOp::Equal { .. }) {
                    let how = if op.old_range().is_empty() { Came::Added } else { Came::Instead };
                    came[op.new_range()].fill(how);
                    before[op.old_range()].iter().for_each(|line| *changes.went.entry(*line).or_default() += 1);
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

fn lines_freshness(kind: FileType, base: &[u8], here: &[u8], arrivals: &[Arrival]) -> Freshness {
    let (was, now): (Vec<_>, Vec<_>) = (lines::split(base).collect(), lines::split(here).collect());
    let LineChanges { came, went } = LineChanges::of(&was, arrivals);
    let (in_base, in_here) = (counted(&was), counted(&now));
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
            fresh.extend_from_slice(&now[op.new_range()]);
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
            came[*at] != Came::Not && count(&in_here, line) < count(&in_base, line) && !is_edit
        };
        let lacking: Vec<usize> = op.old_range().filter(is_lacking).collect();
        if lacking.iter().any(|at| !is_blank(was[*at])) {
            fresh.extend(lacking.iter().map(|at| was[*at]));
            let told = lacking.iter().filter(|at| !is_blank(was[**at]));
            places.extend(told.map(|at| StalePlace { view: OldView::Lacks, place: name(was[*at], *at) }));
        }
        places.extend(back.iter().map(|at| StalePlace { view: OldView::BringsBack, place: name(now[*at], *at) }));
        fresh.extend(own.iter().map(|at| now[*at]));
    }
    if places.is_empty() {
        return Freshness::Fresh;
    }
    if fresh == was {
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
    for StalePlace { view, place } in places {
        let view = if twice(place) { OldView::Reverts } else { *view };
        let place = StalePlace { view, place: place.clone() };
        if !told.contains(&place) {
            told.push(place);
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stale(kind: FileType, base: &str, here: &str, arrivals: &[(&str, &str)]) -> (String, Vec<String>) {
        let arrivals: Vec<Arrival> =
            arrivals.iter().map(|(before, after)| (before.as_bytes().to_vec(), after.as_bytes().to_vec())).collect();
        match freshness(kind, base.as_bytes(), here.as_bytes(), &arrivals) {
            Freshness::Fresh => (here.to_owned(), Vec::new()),
            Freshness::Stale(text, places) => {
                (String::from_utf8(text).unwrap(), places.iter().map(ToString::to_string).collect())
            }
            Freshness::Cannot => panic!("it can"),
        }
    }

    #[test]
    fn json_entries_are_put_back_and_own_edits_stay() {
        let (before, after) = (r#"{"a":1,"env":{"A":"1"}}"#, r#"{"a":2,"env":{"A":"1","B":"2"},"list":["x"]}"#);
        let json = |here| stale(FileType::Json, after, here, &[(before, after)]);
        let (text, places) = json(r#"{"a":1,"env":{"A":"1"},"own":true}"#);
        assert_eq!(places, ["reverts a", "lacks env.B", "lacks list"]);
        assert!(is_same(&text, r#"{"a":2,"env":{"A":"1","B":"2"},"own":true,"list":["x"]}"#), "{text}");
        // The old text itself.
        assert_eq!(json(before).0, after);
        // What did not arrive may go, and a value of its own is an edit.
        assert_eq!(json(r#"{"a":3,"env":{"B":"2"},"list":["x"]}"#).1, Vec::<String>::new());
        // Of an object that is gone only what arrived comes back.
        let (text, places) = json(r#"{"a":2,"list":["x"]}"#);
        assert!(
            is_same(&text, r#"{"a":2,"list":["x"],"env":{"B":"2"}}"#) && places == ["lacks env.B"],
            "{text} {places:?}"
        );
    }

    fn is_same(a: &str, b: &str) -> bool {
        FileType::Json.has_same_content(a.as_bytes(), b.as_bytes())
    }

    #[test]
    fn elements_and_entries_that_were_taken_away_stay_away() {
        let (before, after) = (r#"{"list":["a","b"],"old":{"x":1}}"#, r#"{"list":["a","c"]}"#);
        let (text, places) =
            stale(FileType::Json, after, r#"{"list":["a","b","own"],"old":{"x":1,"y":2}}"#, &[(before, after)]);
        assert_eq!(places, ["lacks list[1]", "brings back list[1]", "brings back old.x"]);
        assert!(is_same(&text, r#"{"list":["a","c","own"],"old":{"y":2}}"#), "{text}");
    }

    #[test]
    fn lines_are_put_back_in_their_places() {
        let (before, after) = ("one\ntwo\nthree\n", "one\nnew\ntwo\n");
        let text = |here| stale(FileType::Text, after, here, &[(before, after)]);
        assert_eq!(text("one\ntwo\nthree\nown\n").0, "one\nnew\ntwo\nown\n");
        assert_eq!(text(before).0, after);
        assert_eq!(text("one\nnew\n").1, Vec::<String>::new());
        // A line in the place of one that arrived is kept beside it; one in the place of a replacement is an edit.
        assert_eq!(stale(FileType::Text, "1\nnew\n", "1\nown\n", &[("1\n", "1\nnew\n")]).0, "1\nnew\nown\n");
        let instead = [("port = 1\n", "port = 2\n")];
        assert_eq!(stale(FileType::Text, "port = 2\n", "port = 3\n", &instead).1, Vec::<String>::new());
        assert_eq!(stale(FileType::Text, "port = 2\n", "port = 1\nown\n", &instead).0, "port = 2\nown\n");
        // What arrived is known wherever it was moved to.
        let moved = [("one\n", "one\ntwo\n"), ("one\ntwo\n", "two\none\n")];
        assert_eq!(stale(FileType::Text, "two\none\n", "one\nown\n", &moved).0, "two\none\nown\n");
        // A line that moved is not lacking.
        assert_eq!(text("new\none\ntwo\n").1, Vec::<String>::new());
    }

    #[test]
    fn variables_are_known_by_their_names() {
        let (before, after) = ("A=1\nB=1\n", "A=2\nB=1\nC=1\n");
        let env = |here| stale(FileType::Env, after, here, &[(before, after)]);
        assert_eq!(
            env("A=1\nB=1\nOWN=1\n"),
            ("A=2\nB=1\nC=1\nOWN=1\n".into(), vec!["reverts A".into(), "lacks C".into()])
        );
        // A value of its own is an edit, wherever it stands.
        assert_eq!(env("B=1\nC=1\nA=3\n").1, Vec::<String>::new());
        assert_eq!(env("A=3\nB=1\nC=1\n").1, Vec::<String>::new());
        assert_eq!(env("A=2\nC=1\n").1, Vec::<String>::new());
    }
}
