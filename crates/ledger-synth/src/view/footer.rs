//! The footer of `current.md`, which marks a file as generated.

use std::borrow::Cow;

use shopfloor_core::error::Failure;
use shopfloor_core::hash::{Digest, DigestBuilder};

use crate::page_settings::PageFormat;

/// The beginning of the footer. [`PageScan`] looks for its lines.
pub const FOOTER: &str = "\n---\n_synthesized:\n";

/// The fields of the footer, in their order.
const KEYS: [&str; 7] = ["event_count", "latest_ts", "generated_at", "format", "inputs", "skipped", "output"];

/// What stands before each line of the footer: a blank line and four blanks make Markdown keep the lines apart.
pub fn margin(format: PageFormat) -> (&'static str, &'static str) {
    match format {
        PageFormat::One => ("", "  "),
        PageFormat::Two => ("\n", "    "),
    }
}

/// What the footer of a file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footer {
    /// None: a newer ledger-synth wrote it.
    pub format: Option<PageFormat>,
    /// The number of the format as it is written.
    pub number: u32,
    /// Whether the text above it is unchanged.
    pub is_intact: bool,
}

impl Footer {
    /// Parses what follows the first lines of a footer. `above` is the digest of the text above it.
    fn parse(text: &str, above: Digest) -> Footer {
        let field = |name: &str| text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(": "));
        // Intact means: the text above is unchanged, and nothing was added in or after the footer.
        let (own, rest) = text.split_once("\n\n---\n").unwrap_or_default();
        let number = field("format").and_then(|n| n.parse().ok()).unwrap_or(1);
        let format = PageFormat::of(number);
        let (begin, margin) = margin(format.unwrap_or_default());
        let is_it =
            |(line, key): (&str, &str)| line.strip_prefix(margin).is_some_and(|l| l.starts_with(&format!("{key}: ")));
        let is_plain = rest.is_empty()
            && own
                .strip_prefix(begin)
                .is_some_and(|own| own.lines().count() == KEYS.len() && own.lines().zip(KEYS).all(is_it));
        let is_intact = is_plain && field("output") == Some(&above.to_string());
        Footer { format, number, is_intact }
    }
}

/// Parses the footer of a generated file. None: a person wrote the file.
pub fn footer(text: &str) -> Option<Footer> {
    PageSummary::of(text.as_bytes()).footer
}

/// A text without the footer that marks it as generated. A blank line stands in the place of each of its lines; what a
/// person wrote into it or below it stays.
pub fn without_footer(text: &str) -> Cow<'_, str> {
    let Some(at) = footer(text).and_then(|_| text.rfind(FOOTER)) else { return text.into() };
    let (above, below) = text.split_at(at);
    let (mut lines, mut rules, mut keys, mut is_open) = (above.to_owned(), 0, KEYS.to_vec(), true);
    for line in below.lines() {
        // One rule opens the footer, and one closes it. Between them are its fields, each once.
        let is_rule = line.trim_end() == "---" && rules < 2;
        rules += usize::from(is_rule);
        let key = line.trim().split_once(": ").map(|(key, _)| key).filter(|_| line.starts_with(' '));
        let field = key.and_then(|key| keys.iter().position(|own| *own == key)).filter(|_| is_open);
        field.map(|at| keys.remove(at));
        let is_frame = is_rule || line.trim_end() == "_synthesized:" || field.is_some();
        is_open &= rules < 2 && (is_frame || line.trim().is_empty());
        lines.push_str(if is_frame { "" } else { line });
        lines.push('\n');
    }
    if lines[above.len()..].trim().is_empty() { above.into() } else { lines.into() }
}

/// Whether two texts of the ledger are the same except for line ends and the time of writing.
pub fn is_same(a: &str, b: &str) -> bool {
    a == b || PageMark::of(a) == PageMark::of(b)
}

/// What is known of a `current.md` whose text is not kept. A page of format 1 may be large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSummary {
    /// None: a person wrote the file.
    pub footer: Option<Footer>,
    /// Whether it has no text but blanks.
    pub is_blank: bool,
    /// None: it is not UTF-8, so we did not write it.
    mark: Option<Digest>,
}

impl PageSummary {
    pub fn of(page: &[u8]) -> PageSummary {
        let mut scan = PageScan::default();
        scan.add(page);
        scan.finish()
    }

    /// Whether the page is the same as the one with this mark.
    pub fn is(&self, mark: Digest) -> bool {
        self.mark == Some(mark)
    }
}

/// Summarises a page that comes in pieces of whole lines.
#[derive(Default)]
pub struct PageScan {
    mark: PageMark,
    is_foreign: bool,
    has_text: bool,
    /// The text up to now, without its last line end, which would belong to a footer.
    above: DigestBuilder,
    has_line: bool,
    /// The digest of the text above the line before, if that may begin a footer.
    begun: Option<Digest>,
    /// The digest of the text above the last footer, and what follows the first lines of that footer.
    footer: Option<(Digest, String)>,
}

impl PageScan {
    pub fn add(&mut self, piece: &[u8]) {
        self.has_text |= !piece.trim_ascii().is_empty();
        match std::str::from_utf8(piece) {
            Ok(text) => {
                self.mark.add(text);
                text.split_inclusive('\n').for_each(|line| self.line(line));
            }
            Err(_) => self.is_foreign = true,
        }
    }

    fn line(&mut self, line: &str) {
        let (text, ends) = match line.strip_suffix('\n') {
            Some(text) => (text.strip_suffix('\r').unwrap_or(text), true),
            None => (line, false),
        };
        let above = (text == "---" && ends && self.has_line).then(|| self.above.clone().finish());
        match self.begun.take() {
            Some(above) if text == "_synthesized:" && ends => self.footer = Some((above, String::new())),
            _ => {
                if let Some((_, below)) = &mut self.footer {
                    below.push_str(text);
                    below.push_str(if ends { "\n" } else { "" });
                }
            }
        }
        self.begun = above;
        self.above.add(if self.has_line { b"\n" } else { b"" });
        self.above.add(text.as_bytes());
        self.has_line = true;
    }

    pub fn finish(self) -> PageSummary {
        let footer = self.footer.filter(|_| !self.is_foreign);
        PageSummary {
            footer: footer.map(|(above, below)| Footer::parse(&below, above)),
            is_blank: !self.has_text,
            mark: (!self.is_foreign).then(|| self.mark.finish()),
        }
    }
}

/// The digest of what counts when pages are compared. The page comes in pieces of whole lines.
#[derive(Default)]
pub struct PageMark {
    digest: DigestBuilder,
    is_footer: bool,
}

impl PageMark {
    pub fn of(page: &str) -> Digest {
        let mut mark = PageMark::default();
        mark.add(page);
        mark.finish()
    }

    pub fn add(&mut self, piece: &str) {
        for line in piece.split_inclusive('\n') {
            let text = line.strip_suffix('\n').unwrap_or(line);
            let (text, ends) = (text.strip_suffix('\r').unwrap_or(text), text.len() < line.len());
            // No value has such a line at the left margin.
            self.is_footer |= text == "---";
            if self.is_footer && text.trim_start().starts_with("generated_at: ") {
                continue;
            }
            self.digest.add(text.as_bytes());
            self.digest.add(if ends { b"\n" } else { b"" });
        }
    }

    pub fn finish(self) -> Digest {
        self.digest.finish()
    }
}

/// The failure for a file, under the name given, whose format we do not know.
pub fn newer_format(name: &str, footer: &Footer) -> Failure {
    Failure::malformed(format!("{name} has format {}, written by a newer ledger-synth", footer.number))
        .hint("update shopfloor: `cargo xtask install` in its checkout")
}
