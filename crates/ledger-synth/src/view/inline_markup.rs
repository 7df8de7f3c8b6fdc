//! What a page for readers changes in a text: commits become code, and HTML is shown instead of taken.

use std::ops::Range;

use super::escape::is_html;

/// Whether HTML inside the code of a text is no HTML: all backticks of its lines are single, in pairs, and no backslash
/// stands before one. In other texts nobody can say where code begins.
pub fn has_plain_code<'t>(mut lines: impl Iterator<Item = &'t str>) -> bool {
    lines.all(|line| {
        let ticks = line.bytes().filter(|b| *b == b'`').count();
        ticks % 2 == 0 && !line.contains("``") && !line.contains("\\`")
    })
}

/// Marks the commits and the tags of a line. This can be reversed.
pub fn marked(line: &str, has_plain_code: bool) -> String {
    with_commits(&with_tags(line, has_plain_code))
}

/// The reverse of [`marked`].
#[cfg(test)]
fn unmarked(line: &str, has_plain_code: bool) -> String {
    without_tags(&without_commits(line), has_plain_code)
}

/// Writes a backslash before each HTML tag, which could hide what follows it or end the fold that it is in. Backslashes
/// before the tag are doubled, because they would take the effect of ours away.
fn with_tags(line: &str, has_plain_code: bool) -> String {
    let (mut out, mut from) = (String::new(), 0);
    for at in tags(line, has_plain_code) {
        let slashes = slashes_before(line, at);
        out.push_str(&format!("{}{}<", &line[from..at], "\\".repeat(slashes + 1)));
        from = at + 1;
    }
    out + &line[from..]
}

/// The reverse of [`with_tags`].
#[cfg(test)]
pub fn without_tags(line: &str, has_plain_code: bool) -> String {
    let (mut out, mut from) = (String::new(), 0);
    for at in tags(line, has_plain_code) {
        let slashes = slashes_before(line, at);
        out.push_str(&line[from..at - slashes.div_ceil(2)]);
        from = at;
    }
    out + &line[from..]
}

fn slashes_before(line: &str, at: usize) -> usize {
    line[..at].bytes().rev().take_while(|b| *b == b'\\').count()
}

fn tags(line: &str, has_plain_code: bool) -> Vec<usize> {
    let (mut found, mut is_code) = (Vec::new(), false);
    for (at, c) in line.char_indices() {
        let rest = &line[at..];
        is_code ^= c == '`';
        // `escaped` sees to comments.
        if is_html(rest) && !rest.starts_with("<!--") && !(is_code && has_plain_code) {
            found.push(at);
        }
    }
    found
}

/// Writes a backtick before and after each commit of a line. A commit that has backticks around it gets one more, so
/// that this can be reversed; one that has a single one, or is inside other code, stays as it is.
fn with_commits(line: &str) -> String {
    let (mut out, mut from, mut seen, mut is_code) = (String::new(), 0, 0, false);
    for at in commits(line) {
        is_code ^= line[seen..at.start].bytes().filter(|b| *b == b'`').count() % 2 == 1;
        seen = at.start;
        let ticks = [line[..at.start].ends_with('`'), line[at.end..].starts_with('`')];
        if ticks == [true, true] || (ticks == [false, false] && !is_code) {
            out.push_str(&format!("{}`{}`", &line[from..at.start], &line[at.clone()]));
            from = at.end;
        }
    }
    out + &line[from..]
}

/// The reverse of [`with_commits`].
#[cfg(test)]
pub fn without_commits(line: &str) -> String {
    let (mut out, mut from) = (String::new(), 0);
    let is_quoted = |at: &Range<usize>| line[..at.start].ends_with('`') && line[at.end..].starts_with('`');
    for at in commits(line).into_iter().filter(is_quoted) {
        out.push_str(&format!("{}{}", &line[from..at.start - 1], &line[at.clone()]));
        from = at.end + 1;
    }
    out + &line[from..]
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

    fn shown(line: &str) -> String {
        marked(line, has_plain_code([line].into_iter()))
    }

    #[test]
    fn commits_are_code_tags_are_text_and_other_words_stay() {
        for (line, want) in [
            ("Fixed in 3f2a9c01.", "Fixed in `3f2a9c01`."),
            ("`3f2a9c01` and 3f2a9c02", "``3f2a9c01`` and `3f2a9c02`"),
            ("run `git show 3f2a9c01`, then 3f2a9c02", "run `git show 3f2a9c01`, then `3f2a9c02`"),
            ("use `Vec<T>`, not Vec<T> </details>", "use `Vec<T>`, not Vec\\<T> \\</details>"),
            ("a \\<b> <!-- c 1 < 2", "a \\\\\\<b> <!-- c 1 < 2"),
            ("<details>", "\\<details>"),
            // Nobody can say whether this is code.
            ("the `x </details> ``y``", "the `x \\</details> ``y``"),
            ("esc \\` then </details> then `", "esc \\` then \\</details> then `"),
            (
                "1234567 deadbeef 3f2a9c x3f2a9c01 3f2a9c01.rs 2026-01-10",
                "1234567 deadbeef 3f2a9c x3f2a9c01 3f2a9c01.rs 2026-01-10",
            ),
        ] {
            assert_eq!(shown(line), want);
        }
    }

    /// A text of many tags or commits takes a time that grows with it.
    #[test]
    fn a_long_line_is_read_once() {
        for word in ["x <a ", "a1b2c3d ", "` "] {
            let line = word.repeat(200_000);
            assert_eq!(unmarked(&shown(&line), has_plain_code([&*line].into_iter())), line);
        }
    }

    proptest! {
        #[test]
        fn marks_can_be_taken_away(line in "(`{0,3}|3f2a9c01|3f2a9c0b|x| |\\.|<|/|!|--|\\\\){0,14}") {
            let has_plain_code = has_plain_code([&*line].into_iter());
            let shown = marked(&line, has_plain_code);
            prop_assert_eq!(unmarked(&shown, has_plain_code), line);
        }
    }
}
