//! The comments of a text. A merge that writes a text anew must not lose them silently.

use std::collections::HashMap;

use super::file_type::{CommentMark, FileType};
use super::texts::MergeInput;

/// The comments that a merged text should have, and how often each: a comment that only one side changed is taken from
/// that side.
pub struct Comments {
    kind: FileType,
    wanted: HashMap<String, usize>,
}

impl Comments {
    pub fn wanted(input: &MergeInput<'_>) -> Comments {
        let kind = input.kind;
        let base = comments(kind, input.base.unwrap_or_default());
        let (overlay, workspace) = (comments(kind, input.overlay), comments(kind, input.workspace));
        let of = |side: &HashMap<String, usize>, comment: &String| side.get(comment).copied().unwrap_or(0);
        let merged = |comment: &String| match (of(&base, comment), of(&overlay, comment), of(&workspace, comment)) {
            (b, o, x) if o == b => x,
            (b, o, x) if x == b => o,
            (_, o, x) => o.max(x),
        };
        let all = overlay.keys().chain(workspace.keys());
        Comments { kind, wanted: all.map(|comment| (comment.clone(), merged(comment))).collect() }
    }

    /// Those of the base that arrived in the workspace and that its text lacks.
    pub fn arrived(kind: FileType, base: &[u8], here: &[u8], arrivals: &[(Vec<u8>, Vec<u8>)]) -> Comments {
        let (base, here) = (comments(kind, base), comments(kind, here));
        let of = |side: &HashMap<String, usize>, comment: &String| side.get(comment).copied().unwrap_or(0);
        let mut came: HashMap<String, usize> = HashMap::new();
        for (before, after) in arrivals {
            let (before, after) = (comments(kind, before), comments(kind, after));
            for comment in after.keys().filter(|comment| of(&after, comment) > of(&before, comment)) {
                *came.entry(comment.clone()).or_default() += of(&after, comment) - of(&before, comment);
            }
        }
        let lacking = came.into_iter().filter(|(comment, _)| of(&base, comment) > of(&here, comment));
        let wanted = lacking.map(|(comment, n)| {
            let all = of(&base, &comment).min(of(&here, &comment) + n);
            (comment, all)
        });
        Comments { kind, wanted: wanted.collect() }
    }

    /// Puts comments that are missing into a text, at the lines where `donor` has them. A comment whose line the text
    /// does not have, or has twice, stays missing.
    pub fn carried(&self, bytes: &[u8], donor: &[u8]) -> Vec<u8> {
        let (Ok(text), Ok(donor)) = (std::str::from_utf8(bytes), std::str::from_utf8(donor)) else {
            return bytes.to_vec();
        };
        let mut missing = self.wanted.clone();
        for (comment, n) in comments(self.kind, bytes) {
            missing.entry(comment).and_modify(|wanted| *wanted = wanted.saturating_sub(n));
        }
        let lines: Vec<&str> = text.split('\n').collect();
        let theirs: Vec<&str> = donor.split('\n').collect();
        // Where each entry is; `None` for one that is there twice.
        let mut places: HashMap<String, Option<usize>> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            places.entry(entry_of(self.kind, line)).and_modify(|place| *place = None).or_insert(Some(at));
        }
        let (mut above, mut behind): (HashMap<usize, Vec<String>>, HashMap<usize, &str>) = Default::default();
        for (at, line) in theirs.iter().enumerate() {
            let Some((content, comment)) = commented(self.kind, line) else { continue };
            let Some(left) = missing.get_mut(comment).filter(|left| **left > 0) else { continue };
            let is_own_line = content.trim().is_empty();
            let anchor = match is_own_line {
                true => theirs[at..].iter().map(|line| entry_of(self.kind, line)).find(|entry| !entry.is_empty()),
                false => Some(entry_of(self.kind, line)),
            };
            let place = anchor.and_then(|anchor| places.get(&anchor).copied().flatten());
            let Some(at) = place.filter(|_| !content.trim().is_empty() || is_own_line) else { continue };
            if is_own_line {
                let indent = &lines[at][..lines[at].len() - lines[at].trim_start().len()];
                above.entry(at).or_default().push(format!("{indent}{}", line.trim()));
            } else if !behind.contains_key(&at) && commented(self.kind, lines[at]).is_none() {
                behind.insert(at, &line[content.trim_end().len()..]);
            } else {
                continue;
            }
            *left -= 1;
        }
        let mut carried: Vec<String> = Vec::with_capacity(lines.len());
        for (at, line) in lines.iter().enumerate() {
            carried.extend(above.remove(&at).unwrap_or_default());
            carried
                .push(behind.get(&at).map_or_else(|| (*line).to_owned(), |more| format!("{}{more}", line.trim_end())));
        }
        carried.join("\n").into_bytes()
    }

    /// All of them, for a hash.
    pub fn spelled(&self) -> String {
        let mut all: Vec<&str> = self.wanted.keys().map(String::as_str).collect();
        all.sort_unstable();
        all.join("\n")
    }

    pub fn missing_in(&self, bytes: &[u8]) -> usize {
        let found = comments(self.kind, bytes);
        self.wanted.iter().map(|(comment, n)| n.saturating_sub(found.get(comment).copied().unwrap_or(0))).sum()
    }

    pub fn is_exceeded_by(&self, bytes: &[u8]) -> bool {
        comments(self.kind, bytes).iter().any(|(comment, n)| n > self.wanted.get(comment).unwrap_or(&0))
    }
}

/// A line without the comment at its end, and that comment.
fn commented(kind: FileType, line: &str) -> Option<(&str, &str)> {
    let line = line.trim_end();
    let found = comments(kind, line.as_bytes());
    let (comment, 1) = found.iter().next().filter(|_| found.len() == 1)? else { return None };
    let content = line.strip_suffix(comment.as_str())?;
    Some((content, &line[content.len()..]))
}

/// The entry that a line is: its key, or all that it says without a comment and without the comma that depends on its
/// neighbour.
fn entry_of(kind: FileType, line: &str) -> String {
    let content = commented(kind, line).map_or(line, |(content, _)| content);
    let content = content.trim().trim_end_matches(',');
    content.split_once([':', '=']).map_or(content, |(key, _)| key.trim_end()).to_owned()
}

/// The comments of a text, and how often each occurs.
fn comments(kind: FileType, bytes: &[u8]) -> HashMap<String, usize> {
    let mark = kind.comment_mark();
    let text = String::from_utf8_lossy(bytes);
    let (mut all, mut quote, mut before) = (HashMap::new(), None, None);
    // Most large files have none.
    let may_have = match mark {
        CommentMark::Slashes => text.contains("//") || text.contains("/*"),
        CommentMark::Hash | CommentMark::HashAfterBlank => text.contains('#'),
    };
    let mut rest = if may_have { &*text } else { "" };
    while let Some(here) = rest.chars().next() {
        let mut taken = here.len_utf8();
        let starts_word = before.is_none_or(|c: char| c.is_whitespace() || "[{(,:=".contains(c));
        let is_comment = match mark {
            CommentMark::Slashes => rest.starts_with("//") || rest.starts_with("/*"),
            CommentMark::Hash => here == '#',
            CommentMark::HashAfterBlank => here == '#' && before.is_none_or(char::is_whitespace),
        };
        if let Some(open) = quote {
            if here == '\\' && open == '"' {
                taken += rest[taken..].chars().next().map_or(0, char::len_utf8);
            }
            // At the end of a line an open quote turns out to be an apostrophe.
            if here == open || here == '\n' && mark != CommentMark::Slashes {
                quote = None;
            }
        } else if is_comment {
            let end = match rest.starts_with("/*") {
                true => rest[2..].find("*/").map(|end| end + 4),
                false => rest.find('\n'),
            };
            taken = end.unwrap_or(rest.len());
            *all.entry(rest[..taken].trim_end().to_owned()).or_default() += 1;
        } else if here == '"' || here == '\'' && mark != CommentMark::Slashes && starts_word {
            quote = Some(here);
        }
        before = rest[..taken].chars().next_back();
        rest = &rest[taken..];
    }
    all
}
