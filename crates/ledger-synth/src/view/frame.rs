//! The frame of `current.md`: its title, and the footer that marks it as generated. The format is described in
//! `docs/formats.md`.

use jiff::Timestamp;
use shopfloor_core::hash::Digest;

use super::escape::escaped;
use super::footer::{FOOTER, FORMAT};
use super::grouped;
use super::model::View;
use crate::event_time::EventTime;
use crate::stored_event::EventRecord;

impl View<'_> {
    /// Renders `current.md`. `stamp` is the wall clock, if somebody asked for it.
    pub fn render(&self, skipped: usize, stamp: Option<Timestamp>) -> String {
        let mut page = "## Ledger\n".to_owned();
        grouped::sections(&mut page, self);
        let latest = self.latest.unwrap_or_default();
        let fields = [
            ("event_count", self.event_count.to_string()),
            ("latest_ts", latest.to_string()),
            ("generated_at", stamp.map_or(latest, EventTime::from).to_string()),
            ("format", FORMAT.to_string()),
            ("inputs", self.inputs.to_string()),
            ("skipped", skipped.to_string()),
            ("output", Digest::of(page.as_bytes()).to_string()),
        ];
        page.push_str(FOOTER);
        // A blank line and four blanks make Markdown keep the lines apart.
        page.push('\n');
        fields.iter().for_each(|(name, value)| page.push_str(&format!("    {name}: {value}\n")));
        page.push_str("\n---\n");
        page
    }
}

/// Renders an event for the banner and the preview.
pub fn event_line(event: &EventRecord) -> String {
    // Minutes are enough to tell sessions apart.
    let ts = event.ts().to_string();
    let about = event.about();
    let gap = if about.is_empty() { "" } else { " - " };
    format!("{} ({}){gap}{}", escaped(event.agent(), ""), ts.get(..16).unwrap_or(&ts), escaped(&about, ""))
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
