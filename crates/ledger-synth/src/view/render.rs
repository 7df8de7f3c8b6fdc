//! Renders `current.md`, a pure function of the events. The format is described in `docs/formats.md`.

use jiff::Timestamp;
use shopfloor_core::hash::Digest;

use super::contents::{ReachedCheckpoint, SectionContent, View};
use super::escape::{LinePosition, escaped, guarded};
use super::footer::{FOOTER, FORMAT};
use crate::entry::Checkpoint;
use crate::source::Source;

impl View<'_> {
    /// Renders `current.md`. `stamp` is the wall clock, if somebody asked for it.
    pub fn render(&self, skipped: usize, stamp: Option<Timestamp>) -> String {
        let mut out = String::with_capacity(self.size());
        out.push_str("## Ledger\n");
        for (section, content) in &self.sections {
            self::section(&mut out, section.title(), content);
        }
        for other in &self.others {
            heading(&mut out, &escaped(other.key, ""));
            if let Some(text) = other.text {
                value(&mut out, text, LinePosition::Paragraph);
            }
            bullets(&mut out, &other.items, LinePosition::Mixed);
            entries(&mut out, &other.pairs);
        }
        let hash = Digest::of(out.as_bytes());
        let latest = self.latest.unwrap_or_default();
        out.push_str(FOOTER);
        out.push_str(&format!(
            "  event_count: {}\n  latest_ts: {latest}\n  generated_at: {}\n  format: {FORMAT}\n  inputs: {}\n  \
             skipped: {skipped}\n  output: {hash}\n\n---\n",
            self.event_count,
            stamp.unwrap_or(latest),
            self.inputs,
        ));
        out
    }

    /// The approximate length of the text.
    fn size(&self) -> usize {
        let size = |content: &SectionContent<'_>| match content {
            SectionContent::List(items) => items.iter().map(|text| text.len() + 4).sum(),
            SectionContent::Checkpoints(all) => 80 * all.len(),
            SectionContent::Register(_) | SectionContent::Map(_) => 0,
        };
        self.sections.iter().map(|(_, content)| size(content)).sum::<usize>() + (4 << 10)
    }
}

/// Renders an event for the banner and the preview.
pub fn source_line(source: &Source<'_>) -> String {
    // Minutes are enough to tell sessions apart.
    let ts = source.ts.to_string();
    let about = source.about();
    let gap = if about.is_empty() { "" } else { " - " };
    format!("{} ({}){gap}{}", escaped(&source.agent, ""), ts.get(..16).unwrap_or(&ts), escaped(&about, ""))
}

fn heading(out: &mut String, title: &str) {
    out.push_str("\n### ");
    out.push_str(title);
    out.push('\n');
}

fn section(out: &mut String, title: &str, content: &SectionContent<'_>) {
    match content {
        SectionContent::Register(None) => {}
        SectionContent::Register(Some(text)) => {
            out.push_str(&format!("\n**{title}:** "));
            value(out, text, LinePosition::Inline);
        }
        SectionContent::List(items) if !items.is_empty() => {
            heading(out, title);
            bullets(out, items, LinePosition::Inline);
        }
        SectionContent::Map(pairs) if !pairs.is_empty() => {
            heading(out, title);
            entries(out, pairs);
        }
        SectionContent::Checkpoints(all) if !all.is_empty() => {
            heading(out, title);
            all.iter().for_each(|one| reached(out, one));
        }
        SectionContent::List(_) | SectionContent::Map(_) | SectionContent::Checkpoints(_) => {}
    }
}

fn bullets(out: &mut String, items: &[&str], place: LinePosition) {
    for item in items {
        out.push_str("- ");
        value(out, item, place);
    }
}

fn entries(out: &mut String, pairs: &[(&str, &str)]) {
    for (key, text) in pairs {
        let key = escaped(key, if key.contains(":**") { ":" } else { "" });
        out.push_str(&format!("- **{key}:**"));
        if !text.is_empty() {
            out.push(' ');
        }
        value(out, text, LinePosition::Inline);
    }
}

fn reached(out: &mut String, one: &ReachedCheckpoint<'_>) {
    let ReachedCheckpoint { checkpoint: Checkpoint { phase, status, updated, more }, agent } = one;
    let phase = escaped(phase, if phase.contains(": ") { ":" } else { "" });
    out.push_str(&format!("- Phase {phase}: {}", escaped(status, "")));
    out.push_str(&format!(" ({}, {})", escaped(updated, "(,"), escaped(agent, "(")));
    out.push('\n');
    for line in more.lines() {
        out.push_str(&format!("  {}\n", guarded(line, LinePosition::Continuation)));
    }
}

/// Writes a text. Its further lines are indented.
fn value(out: &mut String, text: &str, place: LinePosition) {
    // Blanks at the margin would make the text a part of the item before it.
    let body = if place == LinePosition::Paragraph { text.trim_start_matches(['\n', ' ', '\t']) } else { text };
    let margin = &text[..text.len() - body.len()];
    margin.chars().for_each(|c| out.push_str(&format!("\\u{{{:x}}}", u32::from(c))));
    let mut lines = body.split('\n').peekable();
    let first = lines.next().unwrap_or_default();
    out.push_str(&if margin.is_empty() { guarded(first, place) } else { escaped(first, "") });
    while let Some(line) = lines.next() {
        out.push('\n');
        // A line end at the very end would be lost without an indented line after it.
        if !line.is_empty() || lines.peek().is_none() {
            out.push_str("  ");
            out.push_str(&guarded(line, LinePosition::Continuation));
        }
    }
    out.push('\n');
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
