//! What changes in `current.md`, as a diff that a person can read.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;
use shopfloor_core::error::Result;
use similar::udiff::UnifiedHunkHeader;
use similar::{Algorithm, ChangeTag, DiffOp, capture_diff, group_diff_ops};

use super::contents::View;
use crate::page_settings::PageFormat;

/// The most lines of a difference.
const LINES: usize = 50;

/// How many lines are compared at a time, if there are lines that both texts have once: a comparison needs several
/// times the memory of what it compares.
const SEGMENT: usize = 4096;

/// A text that can be read several times. It is passed on in pieces of whole lines, because a page of format 1 may be
/// too large to be kept beside the events.
type Pieces<'t> = dyn Fn(&mut dyn FnMut(&[u8])) -> Result<()> + 't;

impl View<'_> {
    /// What would change in a page that is replaced by this view.
    pub fn difference(
        &self,
        before: &Pieces<'_>,
        format: PageFormat,
        skipped: usize,
        stamp: Option<Timestamp>,
    ) -> Result<Vec<String>> {
        difference(before, &|pass_on| {
            self.render_to(format, skipped, stamp, &mut |piece| pass_on(piece.as_bytes()));
            Ok(())
        })
    }
}

fn difference(before: &Pieces<'_>, after: &Pieces<'_>) -> Result<Vec<String>> {
    // Lines are compared by their hashes, and the texts of those that are shown are read again.
    let (old, new) = (hashes(before)?, hashes(after)?);
    let mut rows = Rows::default();
    for group in group_diff_ops(operations(&old, &new), 1) {
        rows.add(|| Row::Header(UnifiedHunkHeader::new(&group).to_string()));
        for change in group.iter().flat_map(|op| op.iter_changes(&old, &new)) {
            rows.add(|| match change.tag() {
                ChangeTag::Insert => Row::New(change.new_index().unwrap_or_default()),
                tag => {
                    Row::Old(if tag == ChangeTag::Delete { '-' } else { ' ' }, change.old_index().unwrap_or_default())
                }
            });
        }
    }
    rows.lines(before, after)
}

/// What makes the new lines of the old ones.
fn operations(old: &[u64], new: &[u64]) -> Vec<DiffOp> {
    let mut operations: Vec<DiffOp> = Vec::new();
    let mut from = (0, 0);
    for to in anchors(old, new).into_iter().chain([(old.len(), new.len())]) {
        for operation in capture_diff(Algorithm::Myers, old, from.0..to.0, new, from.1..to.1) {
            match (operations.last_mut(), operation) {
                (Some(DiffOp::Equal { len, .. }), DiffOp::Equal { len: more, .. }) => *len += more,
                _ => operations.push(operation),
            }
        }
        from = to;
    }
    operations
}

/// Pairs of equal lines, in ascending order, between which the texts are compared.
fn anchors(old: &[u64], new: &[u64]) -> Vec<(usize, usize)> {
    let mut found: HashMap<u64, [(usize, usize); 2]> =
        old.iter().step_by(SEGMENT).skip(1).map(|hash| (*hash, [(0, 0); 2])).collect();
    for (side, hashes) in [old, new].into_iter().enumerate() {
        for (at, hash) in hashes.iter().enumerate() {
            if let Some(places) = found.get_mut(hash) {
                places[side] = (places[side].0 + 1, at);
            }
        }
    }
    let unique = found.into_values().filter(|places| places.iter().all(|(count, _)| *count == 1));
    let mut anchors: Vec<(usize, usize)> = unique.map(|[(_, old), (_, new)]| (old, new)).collect();
    anchors.sort_unstable();
    let mut last = 0;
    anchors.retain(|(_, new)| {
        let is_later = *new > last;
        last = last.max(*new);
        is_later
    });
    anchors
}

/// The hash of each line.
fn hashes(text: &Pieces<'_>) -> Result<Vec<u64>> {
    let mut hashes = Vec::new();
    text(&mut |piece| {
        hashes.extend(lines(piece).map(|line| {
            let mut hasher = DefaultHasher::new();
            line.hash(&mut hasher);
            hasher.finish()
        }));
    })?;
    Ok(hashes)
}

/// The lines of a piece, and whether a line end follows each.
fn lines(piece: &[u8]) -> impl Iterator<Item = (&[u8], bool)> {
    piece.split_inclusive(|byte| *byte == b'\n').map(|line| match line.strip_suffix(b"\n") {
        Some(line) => (line.strip_suffix(b"\r").unwrap_or(line), true),
        None => (line, false),
    })
}

/// A row of a difference.
enum Row {
    Header(String),
    /// The sign and the number of a line of the old text.
    Old(char, usize),
    New(usize),
}

/// The first rows of a difference, which may be as long as the longest page.
#[derive(Default)]
struct Rows {
    first: Vec<Row>,
    count: usize,
}

impl Rows {
    fn add(&mut self, row: impl FnOnce() -> Row) {
        if self.count < LINES {
            self.first.push(row());
        }
        self.count += 1;
    }

    /// The difference in lines of text.
    fn lines(mut self, before: &Pieces<'_>, after: &Pieces<'_>) -> Result<Vec<String>> {
        // The two lines that name the texts count too.
        let more = (self.count + 2).checked_sub(LINES).filter(|more| *more > 0).map(|more| more + 1);
        self.first.truncate(if more.is_some() { LINES - 3 } else { LINES });
        let old = texts(
            before,
            self.first.iter().filter_map(|row| if let Row::Old(_, at) = row { Some(*at) } else { None }),
        )?;
        let new =
            texts(after, self.first.iter().filter_map(|row| if let Row::New(at) = row { Some(*at) } else { None }))?;
        let text = |of: &HashMap<usize, String>, at: usize| of.get(&at).cloned().unwrap_or_default();
        let mut lines =
            if self.first.is_empty() { Vec::new() } else { vec!["--- current.md".into(), "+++ the events".into()] };
        lines.extend(self.first.iter().map(|row| match row {
            Row::Header(header) => header.clone(),
            Row::Old(sign, at) => format!("{sign}{}", text(&old, *at)),
            Row::New(at) => format!("+{}", text(&new, *at)),
        }));
        lines.extend(more.map(|more| format!("... {more} more lines")));
        Ok(lines)
    }
}

/// The texts of the lines with these numbers.
fn texts(text: &Pieces<'_>, numbers: impl Iterator<Item = usize>) -> Result<HashMap<usize, String>> {
    let mut texts: HashMap<usize, String> = numbers.map(|at| (at, String::new())).collect();
    let mut at = 0;
    text(&mut |piece| {
        for (line, ends) in lines(piece) {
            if let Some(text) = texts.get_mut(&at) {
                let end = if ends { "" } else { " (no newline at the end of the file)" };
                *text = String::from_utf8_lossy(line).into_owned() + end;
            }
            at += 1;
        }
    })?;
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(old: &str, new: &str) -> Vec<String> {
        let text = |text: &str| {
            let text = text.to_owned();
            move |pass_on: &mut dyn FnMut(&[u8])| -> Result<()> {
                text.split_inclusive('\n').for_each(|line| pass_on(line.as_bytes()));
                Ok(())
            }
        };
        difference(&text(old), &text(new)).unwrap()
    }

    #[test]
    fn long_texts_are_compared_in_segments() {
        let old: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 4096\n", "line 4096\nadded\n").replace("line 15000\n", "");
        assert_eq!(
            changes(&old, &new).join("\n"),
            "--- current.md\n+++ the events\n@@ -4097,2 +4097,3 @@\n line 4096\n+added\n line 4097\n\
             @@ -15000,3 +15001,2 @@\n line 14999\n-line 15000\n line 15001"
        );
    }

    #[test]
    fn a_long_difference_is_cut() {
        let text = |word: &str| (0..40).map(|n| format!("{word} {n}\n")).collect::<String>();
        let lines = changes(&text("old"), &text("new"));
        assert_eq!((lines.len(), lines.last().map(String::as_str)), (50, Some("... 34 more lines")));
    }

    #[test]
    fn a_missing_line_end_shows() {
        assert_eq!(changes("a\nb", "a\nb\n")[4..], ["-b (no newline at the end of the file)", "+b"]);
        assert_eq!(changes("a\r\n", "a\n"), [""; 0]);
    }
}
