//! The frame of `current.md`: its title, and the footer that marks it as generated and by which it is recognised. The
//! format is described in `docs/formats.md`.

use std::borrow::Cow;

use jiff::Timestamp;
use shopfloor_core::error::Failure;
use shopfloor_core::hash::Digest;

use super::escape::escaped;
use super::grouped;
use super::model::View;
use crate::event_time::EventTime;
use crate::stored_event::EventRecord;

/// The format of the pages that we write. Those of an older one, and those of the first tool, which has none, are ours
/// too: they are replaced.
const FORMAT: u32 = 2;

/// The beginning of the footer.
const FOOTER: &str = "\n---\n_synthesized:\n";

/// The fields of the footer, in their order.
const KEYS: [&str; 7] = ["event_count", "latest_ts", "generated_at", "format", "inputs", "skipped", "output"];

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

/// What the footer of a file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footer {
    pub format: u32,
    /// Whether the text above it is unchanged, and nothing was added in or after it.
    pub is_intact: bool,
}

impl Footer {
    /// Whether a newer ledger-synth wrote the file.
    pub fn is_newer(&self) -> bool {
        self.format > FORMAT
    }

    /// Whether an older ledger-synth wrote the file, or the first tool.
    pub fn is_older(&self) -> bool {
        self.format < FORMAT
    }
}

/// Parses the footer of a generated file. None: a person wrote the file.
pub fn footer(page: &str) -> Option<Footer> {
    let page = page.replace("\r\n", "\n");
    let (above, below) = page.rsplit_once(FOOTER)?;
    let field = |name: &str| below.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(": "));
    let (own, rest) = below.split_once("\n\n---\n").unwrap_or_default();
    let own: Vec<&str> = own.trim_start_matches('\n').lines().collect();
    let is_it =
        |(line, key): (&&str, &str)| line.trim_start().strip_prefix(key).is_some_and(|rest| rest.starts_with(": "));
    let is_plain = rest.is_empty() && own.len() == KEYS.len() && own.iter().zip(KEYS).all(is_it);
    Some(Footer {
        format: field("format").and_then(|number| number.parse().ok()).unwrap_or(1),
        is_intact: is_plain && field("output") == Some(&Digest::of(above.as_bytes()).to_string()),
    })
}

/// A text without the footer that marks it as generated. A blank line stands in the place of each of its lines; what a
/// person wrote into it or below it stays.
pub fn without_footer(text: &str) -> Cow<'_, str> {
    let Some(at) = text.rfind(FOOTER) else {
        return without_listed_footer(text).map_or(Cow::Borrowed(text), Cow::Owned);
    };
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

/// The same for a footer of the first tool that is a list.
fn without_listed_footer(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mark = lines.iter().rposition(|line| matches!(line.trim(), "_Synthesized from:_" | "*Synthesized from:*"))?;
    let rule = lines[..mark].iter().rposition(|line| !line.trim().is_empty())?;
    if lines[rule].trim_end() != "---" {
        return None;
    }
    let mut keys = vec!["- Events:", "- Latest:", "- Branches:", "- Generated:"];
    let is_of_it = |line: &&&str| {
        let line = line.trim();
        let field = keys.iter().position(|key| line.starts_with(*key));
        field.map(|at| keys.remove(at));
        line.is_empty() || field.is_some()
    };
    let end = mark + 1 + lines[mark + 1..].iter().take_while(is_of_it).count();
    let kept = lines.iter().enumerate().map(|(at, line)| if (rule..end).contains(&at) { "" } else { *line });
    Some(kept.collect::<Vec<_>>().join("\n"))
}

/// Whether two pages are the same except for line ends and the time of writing.
pub fn is_same(a: &str, b: &str) -> bool {
    a == b || undated(a) == undated(b)
}

/// A page without carriage returns and the time of writing.
fn undated(page: &str) -> String {
    let page = page.replace("\r\n", "\n");
    let Some((above, below)) = page.rsplit_once(FOOTER) else { return page };
    let below = below.split_inclusive('\n').filter(|line| !line.trim_start().starts_with("generated_at: "));
    [above, FOOTER].into_iter().chain(below).collect()
}

/// The failure for a file, under the name given, whose format we do not know.
pub fn newer_format(name: &str, footer: &Footer) -> Failure {
    Failure::malformed(format!("{name} has format {}, written by a newer ledger-synth", footer.format))
        .hint("install the newest shopfloor")
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
