//! The comments of a text. A merge that writes a text anew must not lose them silently.

use std::collections::HashMap;

use super::file_type::FileType;

/// The comments that a merged text should have, and how often each: a comment that only one side changed is taken from
/// that side.
pub struct Comments {
    kind: FileType,
    wanted: HashMap<String, usize>,
}

impl Comments {
    /// Those that a text should have in which these changes of a base are merged.
    pub fn wanted(kind: FileType, base: &[u8], overlay: &[u8], workspace: &[u8]) -> Comments {
        let [base, overlay, workspace] = [base, overlay, workspace].map(|text| comments(kind, text));
        let merged = |comment: &String| match [&base, &overlay, &workspace].map(|side| count(side, comment)) {
            [b, o, x] if o == b => x,
            [b, o, x] if x == b => o,
            [_, o, x] => o.max(x),
        };
        let all = overlay.keys().chain(workspace.keys());
        Comments { kind, wanted: all.map(|comment| (comment.clone(), merged(comment))).collect() }
    }

    /// Those of the base that arrived in the workspace and that its text lacks.
    pub fn arrived(kind: FileType, base: &[u8], here: &[u8], arrivals: &[(Vec<u8>, Vec<u8>)]) -> Comments {
        let (base, here) = (comments(kind, base), comments(kind, here));
        let arrivals: Vec<_> =
            arrivals.iter().map(|(before, after)| (comments(kind, before), comments(kind, after))).collect();
        let came =
            |comment: &str| arrivals.iter().any(|(before, after)| count(after, comment) > count(before, comment));
        let wanted = base.into_iter().filter(|(comment, n)| *n > count(&here, comment) && came(comment));
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
        // Each line with what it says.
        let mut lines: Vec<(String, String)> =
            text.split('\n').map(|line| (content_of(self.kind, line), line.to_owned())).collect();
        let theirs: Vec<&str> = donor.split('\n').collect();
        for (at, line) in theirs.iter().enumerate() {
            let Some((content, comment)) = commented(self.kind, line) else { continue };
            let Some(left) = missing.get_mut(comment).filter(|left| **left > 0) else { continue };
            let is_above = content.trim().is_empty();
            let mut below = theirs[at..].iter().filter(|line| !is_above || !content_of(self.kind, line).is_empty());
            let Some(place) = below.next().and_then(|anchor| self.line_of(&lines, anchor)) else { continue };
            let here = &lines[place].1;
            if is_above {
                let line = format!("{}{}", indent(here), line.trim());
                lines.insert(place, (String::new(), line));
            } else if commented(self.kind, here).is_none() {
                lines[place].1 = format!("{}{}", here.trim_end(), &line[content.trim_end().len()..]);
            } else {
                continue;
            }
            *left -= 1;
        }
        lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n").into_bytes()
    }

    /// Where the entry of a line is: the only line that says the same, or the only one with that key and indentation.
    fn line_of(&self, lines: &[(String, String)], anchor: &str) -> Option<usize> {
        let content = content_of(self.kind, anchor);
        let only = |is: &dyn Fn(&(String, String)) -> bool| {
            let mut places = (0..lines.len()).filter(|at| is(&lines[*at]));
            places.next().filter(|_| places.next().is_none())
        };
        let is_entry = |(other, line): &(String, String)| {
            !other.is_empty() && key_of(other) == key_of(&content) && indent(line) == indent(anchor)
        };
        only(&|(other, _)| *other == content).or_else(|| only(&is_entry))
    }

    /// All of them, for a hash.
    pub fn spelled(&self) -> String {
        let mut all: Vec<&str> = self.wanted.keys().map(String::as_str).collect();
        all.sort_unstable();
        all.join("\n")
    }

    pub fn missing_in(&self, bytes: &[u8]) -> usize {
        let found = comments(self.kind, bytes);
        self.wanted.iter().map(|(comment, n)| n.saturating_sub(count(&found, comment))).sum()
    }

    pub fn is_exceeded_by(&self, bytes: &[u8]) -> bool {
        comments(self.kind, bytes).iter().any(|(comment, n)| *n > count(&self.wanted, comment))
    }
}

fn count(counts: &HashMap<String, usize>, comment: &str) -> usize {
    counts.get(comment).copied().unwrap_or(0)
}

/// A line without the comment at its end, and that comment.
fn commented(kind: FileType, line: &str) -> Option<(&str, &str)> {
    let line = line.trim_end();
    let found = comments(kind, line.as_bytes());
    let (comment, 1) = found.iter().next().filter(|_| found.len() == 1)? else { return None };
    let content = line.strip_suffix(comment.as_str())?;
    Some((content, &line[content.len()..]))
}

/// What a line says without a comment and without the comma that depends on its neighbour.
fn content_of(kind: FileType, line: &str) -> String {
    let content = commented(kind, line).map_or(line, |(content, _)| content);
    content.trim().trim_end_matches(',').to_owned()
}

/// The key of an entry, or all that it says.
fn key_of(content: &str) -> &str {
    content.split_once([':', '=']).map_or(content, |(key, _)| key.trim_end())
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// The comments of a text, and how often each occurs.
fn comments(kind: FileType, bytes: &[u8]) -> HashMap<String, usize> {
    let is_json = kind.is_json();
    let text = String::from_utf8_lossy(bytes);
    let (mut all, mut quote, mut before) = (HashMap::new(), None, None);
    // Most large files have none.
    let may_have = text.contains('#') || is_json && (text.contains("//") || text.contains("/*"));
    let mut rest = if may_have { &*text } else { "" };
    while let Some(here) = rest.chars().next() {
        let mut taken = here.len_utf8();
        let starts_word = before.is_none_or(|c: char| c.is_whitespace() || "[{(,:=".contains(c));
        let is_comment = match kind {
            FileType::Json | FileType::Jsonc => rest.starts_with("//") || rest.starts_with("/*"),
            FileType::Toml => here == '#',
            _ => here == '#' && before.is_none_or(char::is_whitespace),
        };
        if let Some(open) = quote {
            if here == '\\' && open == '"' {
                taken += rest[taken..].chars().next().map_or(0, char::len_utf8);
            }
            // At the end of a line an open quote turns out to be an apostrophe.
            if here == open || here == '\n' && !is_json {
                quote = None;
            }
        } else if is_comment {
            let end = match rest.starts_with("/*") {
                true => rest[2..].find("*/").map(|end| end + 4),
                false => rest.find('\n'),
            };
            taken = end.unwrap_or(rest.len());
            *all.entry(rest[..taken].trim_end().to_owned()).or_default() += 1;
        } else if here == '"' || here == '\'' && !is_json && starts_word {
            quote = Some(here);
        }
        before = rest[..taken].chars().next_back();
        rest = &rest[taken..];
    }
    all
}
