//! Handoff files of Markdown: the lists below headings that name a section are read, and everything else stays as it is
//! written, below its heading.
//!
//! A page is cut at its headings and at the items of its lists. What lies between two cuts is one text, so no word of a
//! page is lost.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};

use crate::body::bold;
use crate::entry::{Entry, NOTES};
use crate::entry_from_text::entry_from_text;
use crate::section::{Section, SectionName, Shape};
use crate::yaml_scalar;

/// What a page says.
#[derive(Default)]
pub struct MarkdownPage {
    /// Its first heading, unless that opens a section.
    pub title: Option<String>,
    pub entries: Vec<Entry>,
}

/// A block at the left margin of a page, as it is written.
enum Block<'t> {
    Heading(HeadingLevel, &'t str),
    /// An item of a list, with its mark.
    Item(&'t str),
    /// A paragraph in which lines such as `**Goal:** text` open sections.
    Keyed(&'t str),
    /// Everything between two other blocks.
    Text(&'t str),
}

/// Whether its headings part it: one names a section that has rules of its own, or is no comment of YAML.
pub fn has_sections(text: &str) -> bool {
    let parts = |level: HeadingLevel, title: &str| level > HeadingLevel::H1 || is_known(title);
    blocks(text).iter().any(|block| matches!(block, Block::Heading(level, title) if parts(*level, title)))
}

/// Reads a page.
pub fn read(text: &str) -> MarkdownPage {
    let mut page = MarkdownPage::default();
    let mut open = OpenSection::new(NOTES.into(), HeadingLevel::H1);
    let mut blocks = blocks(text).into_iter().peekable();
    let mut is_first = true;
    while let Some(block) = blocks.next() {
        match block {
            Block::Heading(level, title) => {
                match level == HeadingLevel::H1 && is_first && !is_known(title) {
                    true => page.title = Some(title.to_owned()).filter(|title| !title.is_empty()),
                    false => open.heading(level, title, &mut page.entries),
                }
                is_first = false;
            }
            Block::Item(text) | Block::Keyed(text) | Block::Text(text) => {
                let (text, label) = open.without_label(text);
                let is_introduction = text.ends_with(':') && matches!(blocks.peek(), Some(Block::Item(_)));
                let may_open = open.name.section().is_none() || open.level == LABEL;
                match block {
                    Block::Item(_) => open.say(item_text(text), &mut page.entries),
                    Block::Keyed(_) if may_open => open.keyed(text, &mut page.entries),
                    _ => open.text(text, is_introduction, &mut page.entries),
                }
                if let Some(label) = label {
                    open.heading(LABEL, label, &mut page.entries);
                }
            }
        }
    }
    open.end(&mut page.entries);
    page
}

/// The level of a label such as `**Decisions:**` alone on its line: any heading ends what it opens.
const LABEL: HeadingLevel = HeadingLevel::H6;

/// A section while its blocks are read.
struct OpenSection {
    name: SectionName,
    level: HeadingLevel,
    /// The last heading, until something stands below it.
    heading: Option<String>,
    /// A heading below that of a section with rules, and its level.
    part: Option<(HeadingLevel, String)>,
}

impl OpenSection {
    fn new(name: SectionName, level: HeadingLevel) -> OpenSection {
        OpenSection { name, level, heading: None, part: None }
    }

    fn heading(&mut self, level: HeadingLevel, title: &str, entries: &mut Vec<Entry>) {
        let is_inside = self.name.section().is_some() && self.level < level && !is_known(title);
        if title.is_empty() {
            return;
        }
        match &self.part {
            // A heading such as `Rationale` below that of a decision is a part of its text.
            Some((own, _)) if is_inside && *own < level => return self.say(title.to_owned(), entries),
            _ => self.end(entries),
        }
        if is_inside {
            self.part = Some((level, title.to_owned()));
        } else {
            *self = OpenSection::new(SectionName::meant(title), level);
        }
        self.heading = Some(title.to_owned()).filter(|_| is_inside || self.name.section().is_none());
        // As in `## Goal (this week)`.
        entries.extend(Some(title).filter(|title| self.heading.is_none() && says_more(title)).map(Entry::note));
    }

    /// A heading below which there is nothing may be all that somebody wrote.
    fn end(&mut self, entries: &mut Vec<Entry>) {
        entries.extend(self.heading.take().map(|heading| Entry::note(&heading)));
    }

    /// A text without the label on its last line, which is the heading of what follows, and the label. What another
    /// label opened ends at any label; otherwise it must name a section that has rules, not below a part of another.
    fn without_label<'t>(&self, text: &'t str) -> (&'t str, Option<&'t str>) {
        let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
        let is_one = |(key, rest): &(&str, &str)| {
            let is_heading = self.level == LABEL || (self.part.is_none() && is_known(key));
            rest.is_empty() && !key.trim().is_empty() && is_heading
        };
        bold(last).filter(is_one).map_or((text, None), |(key, _)| (before.trim_end(), Some(key.trim())))
    }

    /// Takes a text that is no item.
    fn text(&mut self, text: &str, is_introduction: bool, entries: &mut Vec<Entry>) {
        if text.is_empty() {
            return;
        }
        let is_note = match self.name.shape() {
            Some(Shape::Map | Shape::Checkpoints) => self.part.is_none() || is_introduction,
            Some(Shape::List) => is_introduction,
            Some(Shape::Register) | None => false,
        };
        if is_note { entries.push(Entry::note(text)) } else { self.say(text.to_owned(), entries) }
    }

    /// Takes a paragraph whose lines may open sections.
    fn keyed(&mut self, paragraph: &str, entries: &mut Vec<Entry>) {
        let mut texts: Vec<(SectionName, String)> = Vec::new();
        for line in paragraph.lines() {
            match (bold(line), texts.last_mut()) {
                (Some((key, rest)), _) if is_known(key) => {
                    entries.extend(Some(key).filter(|key| says_more(key)).map(Entry::note));
                    texts.push((SectionName::meant(key), rest.to_owned()));
                }
                (None, Some((_, text))) => text.push_str(&format!("\n{line}")),
                _ => texts.push((self.name.clone(), line.to_owned())),
            }
        }
        for (name, text) in texts.into_iter().filter(|(_, text)| !text.trim().is_empty()) {
            match name == self.name {
                true => self.say(text, entries),
                false => entries.push(entry_from_text(&name, text.trim().to_owned())),
            }
        }
    }

    /// Takes a text in the shape of the section.
    fn say(&mut self, text: String, entries: &mut Vec<Entry>) {
        if text.trim().is_empty() {
            return;
        }
        let heading = self.heading.take();
        let entry = match (self.name.shape(), &self.part) {
            (Some(_), _) if says_nothing(&text) => {
                Entry::note(&heading.map_or_else(|| text.clone(), |heading| format!("{heading}: {text}")))
            }
            // Other files have a decision of this number too.
            (Some(Shape::Map), Some((_, part))) if is_number(part) => {
                entry_from_text(&self.name, format!("{text}\n{part}"))
            }
            (Some(Shape::Map), Some((_, part))) => {
                Entry::Pair { section: self.name.clone(), key: part.clone(), value: Some(text) }
            }
            (_, Some((_, part))) => entry_from_text(&self.name, format!("{part}: {text}")),
            (_, None) => entry_from_text(&self.name, text),
        };
        entries.push(entry);
    }
}

/// Whether a text only says that there is nothing.
fn says_nothing(text: &str) -> bool {
    let bare = text.trim().trim_matches(['.', '*', '_', '(', ')', '-', '–']).to_lowercase();
    ["", "none", "n/a", "nothing", "nothing yet", "none yet", "tbd"].contains(&&*bare)
}

/// Whether a name is that of a section that has rules of its own.
pub fn is_known(name: &str) -> bool {
    Section::meant(name).is_some()
}

/// Whether the name of a section has words besides, as in `Goal (this week)`.
fn says_more(name: &str) -> bool {
    name.contains(['(', '/'])
}

/// Whether a heading below that of decisions only numbers one: `Decision 1`, `2.`
fn is_number(heading: &str) -> bool {
    let mut words = heading.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(|word| word.bytes().all(|byte| byte.is_ascii_digit()) || word.eq_ignore_ascii_case("decision"))
}

/// The text of an item without its mark. A number stays, because it gives the order.
fn item_text(item: &str) -> String {
    let item = item.trim_start();
    let item = item.strip_prefix(['-', '*', '+']).map_or(item, str::trim_start);
    let lines: Vec<&str> = item.lines().map(str::trim_end).collect();
    lines.split_first().map_or_else(String::new, |(first, rest)| yaml_scalar::joined(first, rest))
}

/// The blocks of a text. Every word is in one of them.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut end = 0;
    let between = |range: Range<usize>| text.get(range).map(str::trim).filter(|text| !text.is_empty()).map(Block::Text);
    for (range, block) in cuts(text) {
        blocks.extend(between(end..range.start));
        end = end.max(range.end);
        blocks.extend(block);
    }
    blocks.extend(between(end..text.len()));
    blocks
}

/// The blocks at which a page is cut, with their places. A rule has no text.
fn cuts(text: &str) -> Vec<(Range<usize>, Option<Block<'_>>)> {
    let (mut depth, mut found) = (0, Vec::new());
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let slice = text[range.clone()].trim_end();
        let outer = depth;
        match &event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
        let opens = |line: &str| bold(line).is_some_and(|(key, _)| is_known(key));
        let block = match (event, outer) {
            (Event::Start(Tag::Heading { level, .. }), 0) => match title(slice) {
                Some(title) => Some(Block::Heading(level, title)),
                None => continue,
            },
            (Event::Start(Tag::Item), 1) => Some(Block::Item(slice)),
            (Event::Start(Tag::Paragraph), 0) if slice.lines().any(opens) => Some(Block::Keyed(slice)),
            (Event::Rule, 0) => None,
            _ => continue,
        };
        found.push((range, block));
    }
    found
}

/// The title of a heading. None: it is the text above a rule, which Markdown takes for one.
fn title(heading: &str) -> Option<&str> {
    if let Some(title) = heading.trim_start().strip_prefix('#') {
        let title = title.trim_start_matches('#').trim();
        let bare = title.trim_end_matches('#');
        // A `#` after the title belongs to it unless a blank separates them, as in `## C#`.
        return Some(if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim_end() } else { title });
    }
    let (title, _) = heading.rsplit_once('\n')?;
    (!title.contains(['\n', ':'])).then(|| title.trim())
}
