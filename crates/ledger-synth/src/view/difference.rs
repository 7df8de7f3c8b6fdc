//! What changes in `current.md`, as a diff that a person can read.

use std::time::Duration;

use similar::TextDiff;

/// The most lines of a difference.
const LINES: usize = 50;

/// How long a large page of a person is compared; what is shown after that time is right, but may be longer than needed.
const PATIENCE: Duration = Duration::from_secs(1);

/// What would change in a text that becomes another, but for line ends.
pub fn difference(before: &str, after: &str) -> Vec<String> {
    let before = before.replace("\r\n", "\n");
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(before.as_str(), after);
    let text = diff.unified_diff().context_radius(1).header("current.md", "the events").to_string();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.len() > LINES {
        let more = lines.len() + 1 - LINES;
        lines.truncate(LINES - 1);
        lines.push(format!("... {more} more lines"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_difference_is_cut() {
        let text = |word: &str| (0..40).map(|n| format!("{word} {n}\n")).collect::<String>();
        let lines = difference(&text("old"), &text("new"));
        assert_eq!((lines.len(), lines.last().map(String::as_str)), (50, Some("... 34 more lines")));
    }

    #[test]
    fn a_missing_line_end_shows() {
        assert_eq!(difference("a\nb", "a\nb\n")[4..], ["-b", "\\ No newline at end of file", "+b"]);
        assert_eq!(difference("a\r\n", "a\n"), [""; 0]);
    }
}
