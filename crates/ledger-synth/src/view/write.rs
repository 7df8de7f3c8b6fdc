//! Writes texts into a page, so that they read back and no text passes for structure.

use super::escape::{LinePosition, TextStyle, escaped, guarded};
use super::fences::fenced;
use super::inline_markup::{has_plain_code, marked};
use super::model::ReachedCheckpoint;
use crate::entry::Checkpoint;

impl TextStyle {
    fn line(self, line: &str, has_plain_code: bool) -> String {
        match self {
            TextStyle::AsIs => line.to_owned(),
            TextStyle::Marked => marked(line, has_plain_code),
        }
    }

    /// The characters that are escaped in names and keys: a tag in them would be taken.
    fn tags(self) -> &'static str {
        match self {
            TextStyle::AsIs => "",
            TextStyle::Marked => "<`",
        }
    }
}

/// A text with the end of its line. Its further lines are indented; `end` ends the first line.
pub fn value(text: &str, place: LinePosition, style: TextStyle, end: &str) -> String {
    let mut out = String::new();
    // Blanks at the margin would make the text a part of the item before it.
    // An empty first line after the line of an agent would make a heading of that.
    let is_trimmed = place == LinePosition::Margin || (style == TextStyle::Marked && text.starts_with('\n'));
    let body = if is_trimmed { text.trim_start_matches(['\n', ' ', '\t']) } else { text };
    let margin = &text[..text.len() - body.len()];
    margin.chars().for_each(|c| out.push_str(&format!("\\u{{{:x}}}", u32::from(c))));
    let has_plain_code = has_plain_code(text.split('\n'));
    let lines: Vec<&str> = body.split('\n').collect();
    let code = fenced(&lines);
    let mut lines = lines.into_iter().zip(code).peekable();
    let first = style.line(lines.next().unwrap_or_default().0, has_plain_code);
    out.push_str(&if margin.is_empty() { guarded(&first, place, style) } else { escaped(&first, "") });
    out.push_str(end);
    while let Some((line, is_code)) = lines.next() {
        out.push('\n');
        // A line end at the very end would be lost without an indented line after it.
        if !line.is_empty() || lines.peek().is_none() {
            out.push_str("  ");
            let line = style.line(line, has_plain_code);
            // With a backslash of its own, code would read back without it.
            let is_bare = is_code && !line.trim_start_matches([' ', '\t']).starts_with('\\');
            let shown = if is_bare { escaped(&line, "") } else { guarded(&line, LinePosition::Continuation, style) };
            out.push_str(&shown);
        }
    }
    out + "\n"
}

/// A name between `**`.
pub fn strong(name: &str) -> String {
    format!("**{}**", escaped(name, "*<`"))
}

pub fn heading(out: &mut String, title: &str) {
    out.push_str(&format!("\n### {title}\n"));
}

pub fn bullet(text: &str, place: LinePosition, style: TextStyle, end: &str) -> String {
    format!("- {}", value(text, place, style, end))
}

/// A key of a map and its text.
pub fn pair(key: &str, text: &str, style: TextStyle, end: &str) -> String {
    let colon = if key.contains(":**") { ":" } else { "" };
    let key = escaped(key, &format!("{colon}{}", style.tags()));
    let gap = if text.is_empty() { "" } else { " " };
    format!("- **{key}:**{gap}{}", value(text, LinePosition::Inline, style, end))
}

pub fn reached(one: &ReachedCheckpoint<'_>, style: TextStyle) -> String {
    let ReachedCheckpoint { checkpoint: Checkpoint { phase, status, updated, more }, by, .. } = one;
    let colon = if phase.contains(": ") { ":" } else { "" };
    let tags = style.tags();
    let mut out = format!("- Phase {}: {}", escaped(phase, &format!("{colon}{tags}")), escaped(status, tags));
    let (updated, agent) = (escaped(updated, &format!("(,{tags}")), escaped(by.agent(), &format!("({tags}")));
    out.push_str(&format!(" ({updated}, {agent})\n"));
    for line in more.lines() {
        let line = style.line(line, false);
        out.push_str(&format!("  {}\n", guarded(&line, LinePosition::Continuation, style)));
    }
    out
}

/// Says how many entries are not shown, and which command shows them.
pub fn more(out: &mut String, count: usize, command: &str) {
    if count > 0 {
        out.push_str(&format!("\n… {count} more: `ledger-synth {command}`\n"));
    }
}
