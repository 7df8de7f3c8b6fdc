//! `KEY=value` lines. Variables are identified by their names, other lines by their text.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use indexmap::IndexMap;

use super::lines::{self, Disputed};
use super::texts::{MergeConflict, MergeInput, MergedText};

/// What identifies a line: the name of its variable and 0, or its text and how often that occurred up to here.
type LineId<'t> = (&'t [u8], usize);

fn by_id(bytes: &[u8]) -> IndexMap<LineId<'_>, &[u8]> {
    let mut seen: BTreeMap<&[u8], usize> = BTreeMap::new();
    let identified = lines::split(bytes).map(|line| match variable(line) {
        Some(name) => ((name, 0), line),
        None => {
            let count = seen.entry(line).or_default();
            *count += 1;
            ((line, *count), line)
        }
    });
    identified.collect()
}

pub fn variable(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    let line = line.strip_prefix(b"export ").unwrap_or(line).trim_ascii_start();
    // Many readers take blanks around the sign.
    let name = line[..line.iter().position(|b| *b == b'=')?].trim_ascii_end();
    let word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    (!name.is_empty() && name.iter().all(word)).then_some(name)
}

/// A text with each variable spelled alike: without `export`, and without quotes around the value.
pub fn canonical(bytes: &[u8]) -> Vec<u8> {
    let line = |line: &[u8]| match variable(line) {
        Some(name) => {
            let at = line.iter().position(|b| *b == b'=').map_or(line.len(), |at| at + 1);
            let value = line[at..].trim_ascii();
            let quoted = [b'"', b'\''].iter().find_map(|quote| value.strip_prefix(&[*quote])?.strip_suffix(&[*quote]));
            [name, b"=", quoted.unwrap_or(value)].concat()
        }
        None => line.to_vec(),
    };
    lines::split(bytes).map(line).collect::<Vec<_>>().join(&b'\n')
}

/// Whether variables identify their lines: each is set once, and no quoted value spans lines.
pub fn is_plain(bytes: &[u8]) -> bool {
    let mut seen = BTreeSet::new();
    lines::split(bytes).all(|line| variable(line).is_none_or(|name| seen.insert(name) && left_open(line).is_none()))
}

/// The quote with which the value of this line begins, if it does not end there. Any other quote is an ordinary
/// character.
fn left_open(line: &[u8]) -> Option<u8> {
    let value = line.iter().position(|b| *b == b'=').map_or(line, |at| &line[at + 1..]).trim_ascii_start();
    let (quote @ (b'"' | b'\''), rest) = value.split_first()? else { return None };
    (!closes(rest, *quote)).then_some(*quote)
}

fn closes(text: &[u8], quote: u8) -> bool {
    let mut is_escaped = false;
    text.iter().any(|b| {
        let closes = *b == quote && !is_escaped;
        is_escaped = *b == b'\\' && quote == b'"' && !is_escaped;
        closes
    })
}

/// Whether a value that begins in these lines goes on behind the last.
pub fn is_unfinished<'t>(lines: impl Iterator<Item = &'t [u8]>) -> bool {
    let quote = lines.fold(None::<u8>, |open, line| match open {
        Some(quote) => Some(quote).filter(|quote| !closes(line, *quote)),
        None => variable(line).and_then(|_| left_open(line)),
    });
    quote.is_some()
}

/// How often each variable is set.
fn most_set(bytes: &[u8]) -> HashMap<&[u8], usize> {
    lines::counted(lines::split(bytes).filter_map(variable))
}

pub fn merge(input: &MergeInput<'_>) -> MergedText {
    if ![input.base.unwrap_or_default(), input.overlay, input.workspace].into_iter().all(is_plain) {
        // A value spans lines, or a name is set twice, so the file is merged by lines.
        if input.base.is_none() {
            return lines::merge_text(input);
        }
        let merged = lines::merge_with(input, Disputed::BothAdded);
        let (theirs, ours) = (most_set(input.overlay), most_set(input.workspace));
        let allowed = |name: &[u8]| theirs.get(name).max(ours.get(name)).copied().unwrap_or(0);
        let is_once = most_set(&merged.bytes).iter().all(|(name, count)| *count <= allowed(name));
        return if is_once { merged } else { lines::merge(input) };
    }
    let [base, overlay, workspace] = [input.base.unwrap_or_default(), input.overlay, input.workspace].map(by_id);
    let mut conflicts = Vec::new();
    let mut merged: IndexMap<LineId<'_>, &[u8]> = IndexMap::new();
    let added = workspace.keys().filter(|id| !overlay.contains_key(*id));
    for id in overlay.keys().chain(added) {
        let [b, o, x] = [&base, &overlay, &workspace].map(|side| side.get(id).copied());
        let line = if o == x || b == x {
            o
        } else if b == o {
            x
        } else {
            let kept = input.rule.of(o, x);
            conflicts.push(MergeConflict { place: String::from_utf8_lossy(id.0).into_owned(), kept });
            kept.pick(o, x)
        };
        merged.extend(line.map(|line| (*id, line)));
    }
    // The line merge keeps lines in their places; it is taken when it has the same lines.
    let by_lines = lines::merge(input);
    let mut got: Vec<&[u8]> = lines::split(&by_lines.bytes).collect();
    let mut wanted: Vec<&[u8]> = merged.values().copied().collect();
    got.sort_unstable();
    wanted.sort_unstable();
    if by_lines.conflicts.is_empty() && got == wanted {
        return MergedText { conflicts, ..by_lines };
    }
    MergedText { bytes: lines::joined(merged.into_values(), [input.overlay, input.workspace]), conflicts }
}
