//! What changes in `current.md`, as a diff that a person can read.

use std::io;

/// The most lines of a difference.
const LINES: usize = 50;

/// What would change in `current.md`.
pub fn difference(before: Option<&[u8]>, after: &str) -> Vec<String> {
    let before = before.map(|bytes| String::from_utf8_lossy(bytes).replace("\r\n", "\n")).unwrap_or_default();
    let diff = similar::TextDiff::from_lines(before.as_str(), after);
    let mut first = FirstLines::default();
    // Cannot fail: it is written to memory.
    diff.unified_diff().context_radius(1).header("current.md", "the events").to_writer(&mut first).unwrap_or_default();
    let mut lines: Vec<String> = String::from_utf8_lossy(&first.text).lines().map(str::to_owned).collect();
    if first.count > LINES {
        lines.truncate(LINES - 1);
        lines.push(format!("... {} more lines", first.count - (LINES - 1)));
    }
    lines
}

/// The first lines of what is written, because a difference may be as long as the longest page.
#[derive(Default)]
struct FirstLines {
    text: Vec<u8>,
    count: usize,
}

impl io::Write for FirstLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.count < LINES {
                self.text.extend_from_slice(line);
            }
            self.count += usize::from(line.ends_with(b"\n"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
