//! Old views in texts of lines.

use std::collections::{HashMap, HashSet};

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::file_type::FileType;
use super::old_view::{Arrival, Freshness, OldView, StalePlace};
use super::{env, lines};

/// How a line of the base came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    /// Not with an arrival.
    Not,
    /// It was added.
    Added,
    /// It replaced other lines.
    Instead,
}

/// What arrivals did to lines: how each line of the base came, and how many of each line went.
fn arrived<'l>(kind: FileType, base: &[&'l [u8]], arrivals: &'l [Arrival]) -> (Vec<Came>, HashMap<&'l [u8], usize>) {
    let (mut in_base, mut went) = (vec![Came::Not; base.len()], HashMap::new());
    for (before, after) in arrivals {
        let (before, after): (Vec<_>, Vec<_>) = (lines::split(before).collect(), lines::split(after).collect());
        let (known, left) = (lines::counted(before.iter().copied()), lines::counted(after.iter().copied()));
        for (line, count_before) in &known {
            *went.entry(*line).or_default() += count_before.saturating_sub(count(&left, line));
        }
        let mut came = vec![Came::Not; after.len()];
        for op in capture_diff_slices(Algorithm::Myers, &before, &after).into_iter().filter(is_change) {
            // Only new lines replace others, and only lines that are gone were replaced: the rest was moved.
            // Of more lines than were replaced, nobody can tell which were added.
            let gone = before[op.old_range()].iter().filter(|line| !left.contains_key(*line)).count();
            let new = after[op.new_range()].iter().filter(|line| !known.contains_key(*line)).count();
            for at in op.new_range() {
                came[at] = match count(&known, after[at]) {
                    0 if new <= gone => Came::Instead,
                    before if before < count(&left, after[at]) => Came::Added,
                    _ => Came::Not,
                };
            }
        }
        for op in capture_diff_slices(Algorithm::Myers, &after, base).into_iter().filter(|op| !is_change(op)) {
            for (from, to) in op.old_range().zip(op.new_range()).filter(|(from, _)| came[*from] != Came::Not) {
                in_base[to] = came[from];
            }
        }
        // A line that is unlike any from before is known wherever it has been moved to.
        let new = after.iter().zip(&came).filter(|(line, _)| !known.contains_key(*line));
        let new: HashMap<&[u8], Came> = new.map(|(line, how)| (*line, *how)).collect();
        // So is a variable, whatever its value is now.
        let names = [&before, &after]
            .map(|text| text.iter().filter_map(|line| variable(kind, line)).collect::<HashSet<&[u8]>>());
        let is_new = |name: &[u8]| names[1].contains(name) && !names[0].contains(name);
        for (line, how) in base.iter().zip(&mut in_base) {
            *how = match variable(kind, line) {
                Some(name) if is_new(name) => Came::Added,
                _ => new.get(line).copied().unwrap_or(*how),
            };
        }
    }
    (in_base, went)
}

fn count(counts: &HashMap<&[u8], usize>, line: &[u8]) -> usize {
    counts.get(line).copied().unwrap_or(0)
}

fn is_change(op: &DiffOp) -> bool {
    !matches!(op, DiffOp::Equal { .. })
}

/// The variable that a line of such a file sets.
fn variable(kind: FileType, line: &[u8]) -> Option<&[u8]> {
    if kind == FileType::Env { env::variable(line) } else { None }
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// Compares two texts of lines, as `stale.rs` does any texts.
pub fn freshness(kind: FileType, base: &[u8], here: &[u8], arrivals: &[Arrival]) -> Freshness {
    // A variable that is set twice, or a value of several lines, has no name of its own.
    let mut texts = arrivals.iter().flat_map(|(before, after)| [before.as_slice(), after]).chain([base, here]);
    let is_env = kind == FileType::Env && texts.all(env::is_plain);
    // Lines are compared by what they say, and written as they are spelled.
    let compared = |text: &[u8]| if is_env { env::canonical(text) } else { text.to_vec() };
    let arrivals: Vec<Arrival> = arrivals.iter().map(|(before, after)| (compared(before), compared(after))).collect();
    let (base_compared, here_compared) = (compared(base), compared(here));
    let (was, now): (Vec<_>, Vec<_>) = (lines::split(&base_compared).collect(), lines::split(&here_compared).collect());
    let (was_spelled, now_spelled): (Vec<_>, Vec<_>) = (lines::split(base).collect(), lines::split(here).collect());
    let (in_base, in_here) = (lines::counted(was.iter().copied()), lines::counted(now.iter().copied()));
    let (mut came, went) = arrived(kind, &was, &arrivals);
    let ops = capture_diff_slices(Algorithm::Myers, &was, &now);
    let is_back = brought_back(&ops, &now, went, |line| count(&in_here, line) > count(&in_base, line));
    count_successors(kind, &ops, [&was, &now], &is_back, &mut came);
    let is_short = |line: &[u8]| count(&in_here, line) < count(&in_base, line);
    // How many lines of its own the text has for a variable, less those of the base that it lacks.
    let mut own: HashMap<&[u8], isize> = HashMap::new();
    for op in ops.iter().filter(|op| is_change(op)) {
        let lacking = was[op.old_range()].iter().filter(|line| is_short(line));
        lacking.filter_map(|line| variable(kind, line)).for_each(|name| *own.entry(name).or_default() -= 1);
        let new = op.new_range().filter(|at| !is_back[*at]).filter_map(|at| variable(kind, now[at]));
        new.for_each(|name| *own.entry(name).or_default() += 1);
    }
    let place = |view, line: &[u8], at: usize| {
        let name = variable(kind, line).filter(|_| is_env).map(|name| String::from_utf8_lossy(name).into_owned());
        StalePlace::new(view, name.unwrap_or_else(|| format!("line {}", at + 1)), line)
    };
    let (mut fresh, mut places) = (Vec::new(), Vec::new());
    for op in &ops {
        if !is_change(op) {
            fresh.extend_from_slice(&now_spelled[op.new_range()]);
            continue;
        }
        let (back, new): (Vec<usize>, Vec<usize>) = op.new_range().partition(|at| is_back[*at]);
        let is_lacking = |at: &usize| {
            let line = was[*at];
            // Other lines in the place of lines that replaced others are an edit, and so is a value of its own.
            let is_edit = match variable(kind, line) {
                Some(name) => own.get(name).is_some_and(|more| *more >= 0),
                None => came[*at] == Came::Instead && back.is_empty() && !new.is_empty(),
            };
            // A line that the text has as often as the base was only moved.
            came[*at] != Came::Not && is_short(line) && !is_edit
        };
        let lacking: Vec<usize> = op.old_range().filter(is_lacking).collect();
        if lacking.iter().any(|at| !is_blank(was[*at])) {
            fresh.extend(lacking.iter().map(|at| was_spelled[*at]));
            let named = lacking.iter().filter(|at| !is_blank(was[**at]));
            places.extend(named.map(|at| place(OldView::Lacks, was[*at], *at)));
        }
        places.extend(back.iter().map(|at| place(OldView::BringsBack, now[*at], *at)));
        fresh.extend(new.iter().map(|at| now_spelled[*at]));
    }
    match places.is_empty() {
        true => Freshness::Fresh,
        false if fresh == was_spelled => Freshness::Stale(base.to_vec(), reverts(&places)),
        false => Freshness::Stale(lines::joined(fresh, [here, base]), reverts(&places)),
    }
}

/// Which lines of an edited text are lines that went: as many of each as went, among those that an edit may bring back.
fn brought_back(
    ops: &[DiffOp],
    now: &[&[u8]],
    mut went: HashMap<&[u8], usize>,
    may_be: impl Fn(&[u8]) -> bool,
) -> Vec<bool> {
    let mut is_back = vec![false; now.len()];
    for at in ops.iter().filter(|op| is_change(op)).flat_map(DiffOp::new_range) {
        if let Some(left) = went.get_mut(now[at]).filter(|left| **left > 0 && !is_blank(now[at]) && may_be(now[at])) {
            *left -= 1;
            is_back[at] = true;
        }
    }
    is_back
}

/// Counts a line of the base as come that was made of one that came instead of a line that is back: the value that the
/// variable has now, or the line in its place.
fn count_successors(kind: FileType, ops: &[DiffOp], [was, now]: [&[&[u8]]; 2], is_back: &[bool], came: &mut [Came]) {
    for op in ops.iter().filter(|op| is_change(op)) {
        let is_known = op.old_range().any(|at| came[at] == Came::Instead);
        for (nth, at) in op.new_range().enumerate().filter(|(_, at)| is_back[*at]) {
            let successor = match variable(kind, now[at]) {
                Some(name) => was.iter().position(|line| variable(kind, line) == Some(name)),
                None if is_known => None,
                None => op.old_range().nth(nth).or(op.old_range().next_back()),
            };
            if let Some(at) = successor.filter(|at| came[*at] == Came::Not) {
                came[at] = Came::Instead;
            }
        }
    }
}

/// A variable that lacks its new value and has its old one again shows a value that was replaced.
fn reverts(places: &[StalePlace]) -> Vec<StalePlace> {
    let twice = |place: &str| places.iter().filter(|other| other.place == place).count() > 1;
    let mut merged: Vec<StalePlace> = Vec::new();
    for found in places {
        let is_reverted = !found.place.starts_with("line ") && twice(&found.place);
        let view = if is_reverted { OldView::Reverts } else { found.view };
        if !is_reverted || merged.iter().all(|known| known.place != found.place) {
            merged.push(StalePlace { view, ..found.clone() });
        }
    }
    merged
}
