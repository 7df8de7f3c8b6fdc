//! What changes in `current.md`, as a diff that a person can read.

/// The most lines of a difference.
const LINES: usize = 50;

/// What would change in `current.md`.
pub fn difference(before: Option<&[u8]>, after: &str) -> Vec<String> {
    let before = before.map(|bytes| String::from_utf8_lossy(bytes).replace("\r\n", "\n")).unwrap_or_default();
    let diff = similar::TextDiff::from_lines(before.as_str(), after);
    let text = diff.unified_diff().context_radius(1).header("current.md", "the events").to_string();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.len() > LINES {
        let more = lines.len() - (LINES - 1);
        lines.truncate(LINES - 1);
        lines.push(format!("... {more} more lines"));
    }
    lines
}
