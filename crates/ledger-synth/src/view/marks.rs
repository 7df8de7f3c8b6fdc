//! What a page for readers changes in a line: commits become code, and HTML is shown instead of taken.

use std::borrow::Cow;
use std::ops::Range;

/// Marks the commits and the tags of a line. This can be reversed.
pub fn marked(line: &str) -> Cow<'_, str> {
    match with_tags(line) {
        Cow::Borrowed(line) => with_commits(line),
        Cow::Owned(line) => with_commits(&line).into_owned().into(),
    }
}

/// The reverse of [`marked`].
#[cfg(test)]
pub fn unmarked(line: &str) -> String {
    without_tags(&without_commits(line))
}

/// Writes a backslash before each HTML tag, which could hide what follows it or end the fold that it is in. A tag
/// inside code is not one, and those that begin a line are guarded by their place.
fn with_tags(line: &str) -> Cow<'_, str> {
    let (mut out, mut from) = (String::new(), 0);
    for at in tags(line) {
        out.push_str(&format!("{}\\<", &line[from..at]));
        from = at + 1;
    }
    if from == 0 { line.into() } else { (out + &line[from..]).into() }
}

#[cfg(test)]
fn without_tags(line: &str) -> String {
    let (mut out, mut from) = (String::new(), 0);
    for at in tags(line).into_iter().filter(|at| line[..*at].ends_with('\\')) {
        out.push_str(&line[from..at - 1]);
        from = at;
    }
    out + &line[from..]
}

fn tags(line: &str) -> Vec<usize> {
    let begins = |rest: &str| rest.starts_with(|c: char| c.is_alphabetic() || matches!(c, '/' | '!' | '?'));
    let is_tag = |at: &usize| {
        let (before, after) = (&line[..*at], &line[*at + 1..]);
        let is_code = is_in_code(before) && after.contains('`');
        // `escaped` sees to comments.
        begins(after) && !after.starts_with("!--") && !is_code && !before.trim_matches([' ', '\t', '\\']).is_empty()
    };
    line.match_indices('<').map(|(at, _)| at).filter(is_tag).collect()
}

/// Whether a text ends inside code.
fn is_in_code(before: &str) -> bool {
    before.bytes().filter(|b| *b == b'`').count() % 2 == 1
}

/// Writes a backtick before and after each commit of a line. A commit that has backticks around it gets one more, so
/// that this can be reversed; a commit inside other code stays as it is.
fn with_commits(line: &str) -> Cow<'_, str> {
    let (mut out, mut from) = (String::new(), 0);
    for at in commits(line) {
        if is_in_code(&line[..at.start]) && !is_quoted(line, &at) {
            continue;
        }
        out.push_str(&format!("{}`{}`", &line[from..at.start], &line[at.clone()]));
        from = at.end;
    }
    if from == 0 { line.into() } else { (out + &line[from..]).into() }
}

#[cfg(test)]
fn without_commits(line: &str) -> String {
    let (mut out, mut from) = (String::new(), 0);
    for at in commits(line).into_iter().filter(|at| is_quoted(line, at)) {
        out.push_str(&format!("{}{}", &line[from..at.start - 1], &line[at.clone()]));
        from = at.end + 1;
    }
    out + &line[from..]
}

fn is_quoted(line: &str, at: &Range<usize>) -> bool {
    line[..at.start].ends_with('`') && line[at.end..].starts_with('`')
}

/// The words that look like the id of a commit: seven to forty hex digits, at least one of them a digit and one a
/// letter.
fn commits(line: &str) -> Vec<Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '.' | '@');
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = line[from..].find(is_word).map(|at| from + at) {
        let end = line[start..].find(|c| !is_word(c)).map_or(line.len(), |at| start + at);
        // The full stop of a sentence is not a part of its last word.
        let word = line[start..end].trim_end_matches('.');
        let is_hex = word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let has = |test: fn(&u8) -> bool| word.as_bytes().iter().any(test);
        if is_hex && (7..=40).contains(&word.len()) && has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) {
            found.push(start..start + word.len());
        }
        from = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn commits_are_code_tags_are_text_and_other_words_stay() {
        for (line, want) in [
            ("Fixed in 3f2a9c01.", "Fixed in `3f2a9c01`."),
            ("`3f2a9c01` and 3f2a9c02", "``3f2a9c01`` and `3f2a9c02`"),
            ("run `git show 3f2a9c01`, then 3f2a9c02", "run `git show 3f2a9c01`, then `3f2a9c02`"),
            ("use `Vec<T>`, not Vec<T> </details>", "use `Vec<T>`, not Vec\\<T> \\</details>"),
            ("a \\<b> <!-- c 1 < 2", "a \\\\<b> <!-- c 1 < 2"),
            (
                "1234567 deadbeef 3f2a9c x3f2a9c01 3f2a9c01.rs 2026-01-10",
                "1234567 deadbeef 3f2a9c x3f2a9c01 3f2a9c01.rs 2026-01-10",
            ),
        ] {
            assert_eq!(marked(line), want);
        }
    }

    proptest! {
        #[test]
        fn marks_can_be_taken_away(line in "(`{0,3}|3f2a9c01|3f2a9c0b|x| |\\.|<|/|!|--|\\\\){0,14}") {
            prop_assert_eq!(unmarked(&marked(&line)), line);
        }
    }
}
