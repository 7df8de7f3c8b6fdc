//! The frame of `current.md`: its title, and the footer that marks it as generated. The format is described in
//! `docs/formats.md`.

use jiff::Timestamp;
use shopfloor_core::hash::{Digest, DigestBuilder};

use super::contents::View;
use super::escape::escaped;
use super::footer::{FOOTER, PageMark, margin};
use super::pieces::PageOut;
use super::{flat, grouped};
use crate::instant::EventTime;
use crate::page_settings::PageFormat;
use crate::source::Source;

impl View<'_> {
    /// Renders `current.md`. `stamp` is the wall clock, if somebody asked for it.
    pub fn render(&self, format: PageFormat, skipped: usize, stamp: Option<Timestamp>) -> String {
        // Rendered twice, because a page of format 1 that grows needs room for itself twice.
        let mut size = 0;
        self.render_to(format, skipped, stamp, &mut |piece| size += piece.len());
        let mut page = String::with_capacity(size);
        self.render_to(format, skipped, stamp, &mut |piece| page.push_str(piece));
        page
    }

    /// The mark of a page, by which [`PageSummary`](super::PageSummary) knows it.
    pub fn mark(&self, format: PageFormat, skipped: usize) -> Digest {
        let mut mark = PageMark::default();
        self.render_to(format, skipped, None, &mut |piece| mark.add(piece));
        mark.finish()
    }

    /// The digest of a page that names no skipped files.
    pub fn digest(&self, format: PageFormat) -> Digest {
        let mut digest = DigestBuilder::default();
        self.render_to(format, 0, None, &mut |piece| digest.add(piece.as_bytes()));
        digest.finish()
    }

    /// Renders `current.md` in pieces of whole lines.
    pub fn render_to(
        &self,
        format: PageFormat,
        skipped: usize,
        stamp: Option<Timestamp>,
        pass_on: &mut dyn FnMut(&str),
    ) {
        let mut out = PageOut::new(pass_on);
        out.piece().push_str("## Ledger\n");
        match format {
            PageFormat::One => flat::sections(&mut out, self),
            PageFormat::Two => grouped::sections(out.piece(), self),
        }
        let hash = out.digest();
        let latest = self.latest.unwrap_or_default();
        let fields = [
            ("event_count", self.event_count.to_string()),
            ("latest_ts", latest.to_string()),
            ("generated_at", stamp.map_or(latest, EventTime::from).to_string()),
            ("format", format.number().to_string()),
            ("inputs", self.inputs.to_string()),
            ("skipped", skipped.to_string()),
            ("output", hash.to_string()),
        ];
        let (begin, margin) = margin(format);
        let end = out.piece();
        end.push_str(&format!("{FOOTER}{begin}"));
        fields.iter().for_each(|(name, value)| end.push_str(&format!("{margin}{name}: {value}\n")));
        end.push_str("\n---\n");
        out.pass_on();
    }
}

/// Renders an event for the banner and the preview.
pub fn source_line(source: &Source<'_>) -> String {
    // Minutes are enough to tell sessions apart.
    let ts = source.ts.to_string();
    let about = source.about();
    let gap = if about.is_empty() { "" } else { " - " };
    format!("{} ({}){gap}{}", escaped(source.agent, ""), ts.get(..16).unwrap_or(&ts), escaped(&about, ""))
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
