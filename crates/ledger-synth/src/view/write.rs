//! Writes texts into a page, so that they read back and no text passes for structure.

use std::borrow::Cow;

use super::contents::ReachedCheckpoint;
use super::escape::{LinePosition, escaped, guarded};
use super::marks::marked;
use crate::entry::Checkpoint;

/// How the lines of a text are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    AsIs,
    /// With commits as code, and HTML as text.
    Marked,
}

impl TextStyle {
    fn line(self, line: &str) -> Cow<'_, str> {
        match self {
            TextStyle::AsIs => line.into(),
            TextStyle::Marked => marked(line),
        }
    }
}

/// Writes a text. Its further lines are indented; `end` ends the first line.
pub fn value(out: &mut String, text: &str, place: LinePosition, style: TextStyle, end: &str) {
    // Blanks at the margin would make the text a part of the item before it.
    let body = if place.is_at_margin() { text.trim_start_matches(['\n', ' ', '\t']) } else { text };
    let margin = &text[..text.len() - body.len()];
    margin.chars().for_each(|c| out.push_str(&format!("\\u{{{:x}}}", u32::from(c))));
    let mut lines = body.split('\n').peekable();
    let first = style.line(lines.next().unwrap_or_default());
    out.push_str(&if margin.is_empty() { guarded(&first, place) } else { escaped(&first, "") });
    out.push_str(end);
    while let Some(line) = lines.next() {
        out.push('\n');
        // A line end at the very end would be lost without an indented line after it.
        if !line.is_empty() || lines.peek().is_none() {
            out.push_str("  ");
            out.push_str(&guarded(&style.line(line), LinePosition::Continuation));
        }
    }
    out.push('\n');
}

pub fn heading(out: &mut String, title: &str) {
    out.push_str("\n### ");
    out.push_str(title);
    out.push('\n');
}

pub fn bullet(out: &mut String, text: &str, place: LinePosition, style: TextStyle, end: &str) {
    out.push_str("- ");
    value(out, text, place, style, end);
}

/// Writes a key of a map and its text.
pub fn pair(out: &mut String, key: &str, text: &str, style: TextStyle, end: &str) {
    let key = escaped(key, if key.contains(":**") { ":" } else { "" });
    out.push_str(&format!("- **{key}:**"));
    if !text.is_empty() {
        out.push(' ');
    }
    let place = if style == TextStyle::Marked { LinePosition::Told } else { LinePosition::Inline };
    value(out, text, place, style, end);
}

pub fn reached(out: &mut String, one: &ReachedCheckpoint<'_>) {
    let ReachedCheckpoint { checkpoint: Checkpoint { phase, status, updated, more }, by } = one;
    let phase = escaped(phase, if phase.contains(": ") { ":" } else { "" });
    out.push_str(&format!("- Phase {phase}: {}", escaped(status, "")));
    out.push_str(&format!(" ({}, {})", escaped(updated, "(,"), escaped(&by.agent, "(")));
    out.push('\n');
    for line in more.lines() {
        out.push_str(&format!("  {}\n", guarded(line, LinePosition::Continuation)));
    }
}
