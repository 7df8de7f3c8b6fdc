//! Where comments stand in the diff of some work, and how they are sent.

use std::cmp::Reverse;

use shopfloor_core::diff::{DiffLine, LineKind};

use crate::comments::{Comment, Comments, Side};

/// How many lines before and after a line are sent with a comment.
const AROUND: usize = 3;

/// The line of a diff that a comment names by its number.
pub fn find(lines: &[DiffLine], comment: &Comment) -> Option<usize> {
    // Where commits land as they are, the last one has the file as it will be.
    lines.iter().rposition(|line| is_at(line, comment) && number(line, comment.side) == Some(comment.line))
}

fn is_at(line: &DiffLine, comment: &Comment) -> bool {
    *line.path == *comment.path && number(line, comment.side).is_some()
}

/// The number of a line on a side.
fn number(line: &DiffLine, side: Side) -> Option<usize> {
    match side {
        Side::Old => line.numbers.0,
        Side::New => line.numbers.1,
    }
}

/// The comments as they stand in the diff of `commit`. Of those that were written on another commit, whose diff is `old`
/// if it is still there, each goes to where its line and the neighbours of that are; one whose line is gone is stale.
pub fn follow(mut kept: Comments, commit: &str, lines: &[DiffLine], old: &[DiffLine]) -> Comments {
    if kept.commit == commit {
        return kept;
    }
    let written_on = std::mem::replace(&mut kept.commit, commit.to_owned());
    for comment in kept.comments.iter_mut().filter(|comment| comment.stale.is_none()) {
        match moved(lines, old, comment) {
            Some(at) => at_line(comment, &lines[at]),
            None => comment.stale = Some(written_on.clone()),
        }
    }
    kept
}

/// Puts a comment at a line, in the side that it has.
pub fn at_line(comment: &mut Comment, line: &DiffLine) {
    comment.line = number(line, comment.side).unwrap_or(comment.line);
    (comment.hunk, comment.quote) = (cut(&line.hunk), cut(&line.text));
}

/// Where the line of a comment is now.
fn moved(lines: &[DiffLine], old: &[DiffLine], comment: &Comment) -> Option<usize> {
    let neighbours = |lines: &[DiffLine], at: usize| {
        [at.checked_sub(1), Some(at + 1)].map(|beside| {
            let line = lines.get(beside?).filter(|line| line.number().is_some())?;
            Some(line.text.clone())
        })
    };
    let before = find(old, comment).map(|at| neighbours(old, at));
    let alike = |at: usize| {
        let now = neighbours(lines, at);
        before.iter().flatten().zip(&now).filter(|(before, now)| before.is_some() && before == now).count()
    };
    // A line without a word is like many others.
    let is_telling = comment.quote.chars().any(char::is_alphanumeric);
    let is_same = |at: &usize| {
        let line = &lines[*at];
        is_at(line, comment) && cut(&line.text) == comment.quote && (is_telling || alike(*at) > 0)
    };
    let distance = |at: usize| number(&lines[at], comment.side).map_or(usize::MAX, |now| now.abs_diff(comment.line));
    (0..lines.len()).filter(is_same).min_by_key(|at| (Reverse(alike(*at)), distance(*at)))
}

/// The text that is sent for all comments.
pub fn message(kept: &Comments, lines: &[DiffLine]) -> String {
    let mut all: Vec<&Comment> = kept.comments.iter().collect();
    all.sort_by_key(|comment| find(lines, comment).filter(|_| comment.stale.is_none()).unwrap_or(usize::MAX));
    let texts: Vec<String> = all.into_iter().map(|comment| one(comment, lines)).collect();
    texts.join("\n")
}

/// Where a comment is, as a person reads it.
pub fn place(comment: &Comment) -> String {
    let removed = if comment.side == Side::Old { " (of the old file)" } else { "" };
    let stale = comment
        .stale
        .as_ref()
        .map_or(String::new(), |commit| format!(" of the commit {}", commit.chars().take(12).collect::<String>()));
    format!("{}:{}{removed}{stale}", comment.path, comment.line)
}

fn one(comment: &Comment, lines: &[DiffLine]) -> String {
    let at = find(lines, comment).filter(|_| comment.stale.is_none());
    let shown = match at {
        Some(at) => around(lines, at).into_iter().map(quoted).collect(),
        None => format!("  {}\n", comment.quote),
    };
    format!("{}\n{shown}{}\n", place(comment), comment.text)
}

/// The lines of the same hunk around one, without what says that a file ends without a line end.
fn around(lines: &[DiffLine], at: usize) -> Vec<&DiffLine> {
    let is_text = |line: &&DiffLine| line.kind != LineKind::Head || !line.text.starts_with('\\');
    let is_near = |line: &&DiffLine| !matches!(line.kind, LineKind::Head | LineKind::Hunk);
    let before = lines[..at].iter().rev().filter(is_text).take_while(is_near).take(AROUND);
    let mut near: Vec<&DiffLine> = before.collect();
    near.reverse();
    near.extend(lines[at..].iter().filter(is_text).take_while(is_near).take(1 + AROUND));
    near
}

fn quoted(line: &DiffLine) -> String {
    format!("  {:>5} {}{}\n", line.number().unwrap_or_default(), line.sign(), cut(&line.text))
}

/// Whether a comment on the work with this diff was sent with this text, in which a review asked for changes.
pub fn is_sent(comment: &Comment, lines: &[DiffLine], text: &str) -> bool {
    let sent = one(comment, lines);
    text.split_once(sent.trim_end()).is_some_and(|(before, after)| {
        (before.is_empty() || before.ends_with("\n\n")) && (after.trim().is_empty() || after.starts_with("\n\n"))
    })
}

/// How much of a line is kept with a comment, and sent.
const MOST_QUOTED: usize = 500;

fn cut(line: &str) -> String {
    line.chars().take(MOST_QUOTED).collect()
}

/// The mark of a comment in a diff that a person edits.
pub const MARK: &str = "#:";

/// The comments in a diff to which a person has added lines that begin with the mark, each below the line that it is
/// about. Else the number of the line of the text that is wrong, and why.
pub fn edited(text: &str, lines: &[DiffLine]) -> Result<Vec<Comment>, (usize, String)> {
    let mut comments: Vec<Comment> = Vec::new();
    let (mut next, mut is_going_on) = (0_usize, false);
    for (at, line) in text.lines().enumerate() {
        if let Some(said) = line.strip_prefix(MARK) {
            let said = said.strip_prefix(' ').unwrap_or(said);
            let about = next.checked_sub(1).and_then(|at| lines.get(at)).filter(|line| line.number().is_some());
            let Some(about) = about else { return Err((at + 1, "no line of a file stands above this comment".into())) };
            match comments.last_mut().filter(|_| is_going_on) {
                Some(comment) => comment.text += &format!("\n{said}"),
                None => comments.push(new(about, said.to_owned())),
            }
            is_going_on = true;
        } else if is_line(lines.get(next), line) {
            (next, is_going_on) = (next + 1, false);
        } else if !line.starts_with('#') && !line.is_empty() {
            return Err((at + 1, "this line is not the next one of the diff".into()));
        }
    }
    comments.retain(|comment| !comment.text.trim().is_empty());
    Ok(comments)
}

/// A comment about a line.
pub fn new(line: &DiffLine, text: String) -> Comment {
    let side = if line.kind == LineKind::Removed { Side::Old } else { Side::New };
    let mut comment = Comment { path: line.path.to_string(), side, text, ..Comment::default() };
    at_line(&mut comment, line);
    comment
}

/// Whether a line of a text is this line of a diff, as it is shown.
fn is_line(line: Option<&DiffLine>, text: &str) -> bool {
    line.is_some_and(|line| shown(line) == text)
}

/// A line of a diff as a person edits it.
pub fn shown(line: &DiffLine) -> String {
    let text = shopfloor_core::text::printable_lines(line.text.as_bytes(), false);
    format!("{}{}", line.sign(), String::from_utf8_lossy(&text))
}

#[cfg(test)]
mod tests {
    use shopfloor_core::diff::lines;

    use super::*;

    const OLD: &str = "--- a/x\n+++ b/x\n@@ -1,2 +1,6 @@\n a\n+one\n+}\n+two\n+}\n-gone\n+three\n";

    fn comment(side: Side, line: usize) -> Comment {
        let old = lines(OLD);
        let mut comment = Comment { path: "x".into(), side, line, text: format!("c{line}"), ..Comment::default() };
        let at = find(&old, &comment).unwrap();
        at_line(&mut comment, &old[at]);
        comment
    }

    #[test]
    fn comments_follow_their_line_and_its_neighbours() {
        let all = vec![comment(Side::New, 2), comment(Side::New, 5), comment(Side::Old, 2), comment(Side::New, 6)];
        let kept = Comments { v: 1, commit: "old".into(), comments: all };
        let new = lines("--- a/x\n+++ b/x\n@@ -9,2 +9,7 @@\n a\n+}\n+one\n+}\n+new\n+two\n+}\n-gone\n+changed\n");
        let now = follow(kept.clone(), "new", &new, &lines(OLD));
        let at: Vec<_> = now.comments.iter().map(|c| (c.line, c.quote.as_str(), c.stale.as_deref())).collect();
        assert_eq!(at, [(11, "one", None), (15, "}", None), (10, "gone", None), (6, "three", Some("old"))]);
        // The same line with other neighbours is nearer.
        let two = lines("--- a/x\n+++ b/x\n@@ -0,0 +1,5 @@\n+x\n+one\n+a\n+one\n+}\n");
        assert_eq!(follow(kept.clone(), "new", &two, &lines(OLD)).comments[0].line, 4);
        // Of a brace whose neighbours nobody knows, nobody knows the place.
        assert_eq!(follow(kept.clone(), "new", &new, &[]).comments[1].stale.as_deref(), Some("old"));
        assert_eq!(follow(kept.clone(), "old", &new, &[]), kept);
        // It stays stale, with the commit that it was written on.
        assert_eq!(follow(now, "newer", &lines(OLD), &new).comments[3].stale.as_deref(), Some("old"));
    }

    #[test]
    fn a_message_has_the_lines_around_each_comment() {
        let stale = Comment { stale: Some("0123456789abcdef".into()), ..comment(Side::New, 4) };
        let kept = Comments {
            v: 1,
            commit: "old".into(),
            comments: vec![comment(Side::New, 2), stale, comment(Side::Old, 2)],
        };
        assert_eq!(
            message(&kept, &lines(OLD)),
            "x:2\n      1  a\n      2 +one\n      3 +}\n      4 +two\n      5 +}\nc2\n\n\
             x:2 (of the old file)\n      3 +}\n      4 +two\n      5 +}\n      2 -gone\n      6 +three\nc2\n\n\
             x:4 of the commit 0123456789ab\n  two\nc4\n"
        );
        let sent =
            |comment: &Comment| is_sent(comment, &lines(OLD), &format!("Two:\n\n{}", message(&kept, &lines(OLD))));
        assert!(kept.comments.iter().all(sent) && !sent(&comment(Side::New, 3)));
        // Part of another one's text.
        assert!(!sent(&Comment { text: "c".into(), ..comment(Side::New, 2) }));
    }

    #[test]
    fn the_end_of_a_file_without_a_line_end_hides_no_line() {
        let end = "\\ No newline at end of file";
        let diff = lines(&format!("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n{end}\n+c\n{end}\n"));
        let last = Comment { quote: "c".into(), ..comment(Side::New, 2) };
        let kept = Comments { comments: vec![last], ..Comments::default() };
        assert_eq!(message(&kept, &diff), "x:2\n      1  a\n      2 -b\n      2 +c\nc2\n");
    }

    #[test]
    fn comments_are_read_from_an_edited_diff() {
        let diff = lines(OLD);
        let text = "# what to do\n--- a/x\n+++ b/x\n@@ -1,2 +1,6 @@\n a\n+one\n#: Why one?\n#:\n#: Say two.\n+}\n+two\n+}\n-gone\n#: Keep it.\n+three\n\n";
        let found = edited(text, &diff).unwrap();
        let found: Vec<_> = found.iter().map(|c| (c.side, c.line, c.quote.as_str(), c.text.as_str())).collect();
        assert_eq!(found, [(Side::New, 2, "one", "Why one?\n\nSay two."), (Side::Old, 2, "gone", "Keep it.")]);
        assert_eq!(edited("#: x\n", &diff).unwrap_err().0, 1);
        assert_eq!(edited("--- a/x\n#: x\n", &diff).unwrap_err().0, 2);
        assert_eq!(edited("--- a/x\n+++ b/y\n", &diff).unwrap_err().0, 2);
    }
}
