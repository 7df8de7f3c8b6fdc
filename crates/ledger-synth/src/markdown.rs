//! The sections of a handoff file that is Markdown: what stands below its headings.

use std::borrow::Cow;
use std::mem::take;
use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};

use crate::body::{self, NOTES, bold};
use crate::entry::{Checkpoint, Entry};
use crate::scalar;
use crate::section::{Section, SectionName, meant};

/// How deep lists may nest in which an item such as `- Done:` opens a section.
const NESTING: usize = 4;

/// Fields that only mark a text as a decision; what it is about is their value.
const DECIDED: [&str; 3] = ["decision", "choice", "decided"];

/// Words of headings that many decisions have.
const GENERIC: [&str; 9] =
    ["decision", "decisions", "rationale", "why", "context", "option", "options", "alternatives", "notes"];

/// Columns of a table that say nothing besides the section.
const BARE: [&str; 6] = ["decision", "choice", "value", "status", "state", "what"];

/// What a page says.
pub struct MarkdownPage {
    /// Its first heading, unless that opens a section.
    pub title: Option<String>,
    pub entries: Vec<Entry>,
}

/// Whether a text has headings, or items such as `- Goal: text`, that open sections.
pub fn has_sections(text: &str) -> bool {
    let headings: Vec<_> = headings(text).collect();
    let has_headings = headings.iter().any(|(level, title)| *level > HeadingLevel::H1 || is_known(title));
    let opens = |text: &str| pair(text).is_some_and(|(key, _)| is_known(key));
    let is_item = |block: &Block<'_>| matches!(block, Block::Item(item) if opens(unmarked(item.lines().next().unwrap_or_default())));
    // A text with keys at the margin is no list.
    let is_key = |line: &str| line.starts_with(char::is_alphanumeric) && opens(line);
    let has_items = || blocks(text).iter().any(is_item) && !text.lines().any(is_key);
    has_headings || headings.len() > 1 || has_items()
}

/// Whether one of its headings names a section that has rules of its own.
pub fn names_a_section(text: &str) -> bool {
    headings(text).any(|(_, title)| is_known(title))
}

/// Reads the sections of a page.
pub fn read(text: &str) -> MarkdownPage {
    let mut reader = PageReader::default();
    reader.text(&with_marks(text));
    reader.end_section();
    MarkdownPage { title: reader.title, entries: reader.entries }
}

/// A text with Markdown's mark for items in the place of those that people copy from elsewhere.
fn with_marks(text: &str) -> Cow<'_, str> {
    let mark = |line: &str| {
        let bare = line.trim_start();
        let rest = bare.strip_prefix(['•', '◦', '▪']).filter(|rest| rest.starts_with([' ', '\t']))?;
        Some(format!("{}-{rest}", &line[..line.len() - bare.len()]))
    };
    if !text.contains(['•', '◦', '▪']) {
        return text.into();
    }
    text.lines().map(|line| mark(line).unwrap_or_else(|| line.to_owned()) + "\n").collect::<String>().into()
}

fn headings(text: &str) -> impl Iterator<Item = (HeadingLevel, &str)> {
    blocks(text).into_iter().filter_map(|block| match block {
        Block::Heading(level, title) => Some((level, title)),
        _ => None,
    })
}

fn is_known(name: &str) -> bool {
    named(name).section().is_some()
}

fn named(name: &str) -> SectionName {
    meant(SectionName::from_spelling(name.to_owned()))
}

/// A block at the left margin of a page, as it is written.
#[derive(Clone, Copy)]
enum Block<'t> {
    Heading(HeadingLevel, &'t str),
    /// An item of a list, with its mark.
    Item(&'t str),
    Table(&'t str),
    Text(&'t str),
}

/// The blocks of a text. Every word is in one of them.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut end = 0;
    for (range, block) in parsed_blocks(text) {
        // The address of a link is in no block, but somebody wrote it.
        blocks.extend(between(text, end..range.start));
        end = end.max(range.end);
        blocks.extend(block);
    }
    blocks.extend(between(text, end..text.len()));
    blocks
}

fn between(text: &str, range: Range<usize>) -> Option<Block<'_>> {
    let text = text.get(range)?.trim();
    (!text.is_empty()).then_some(Block::Text(text))
}

/// The blocks with their places. A rule has no text.
fn parsed_blocks(text: &str) -> Vec<(Range<usize>, Option<Block<'_>>)> {
    let (mut depth, mut found) = (0, Vec::new());
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let slice = text[range.clone()].trim_end();
        let outer = depth;
        match &event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
        let block = match (event, outer) {
            (Event::Start(Tag::List(_)), 0) => continue,
            (Event::Start(Tag::Heading { level, .. }), 0) => Some(heading(level, slice)),
            (Event::Start(Tag::Item), 1) => Some(Block::Item(slice)),
            (Event::Start(Tag::Table(_)), 0) => Some(Block::Table(slice)),
            (Event::Rule, 0) => None,
            (Event::End(_), _) => continue,
            (_, 0) => Some(Block::Text(slice)),
            _ => continue,
        };
        found.push((range, block));
    }
    found
}

/// A heading, or the text above a rule that Markdown takes for one.
fn heading(level: HeadingLevel, slice: &str) -> Block<'_> {
    if let Some(title) = slice.trim_start().strip_prefix('#') {
        let title = title.trim_start_matches('#').trim();
        let bare = title.trim_end_matches('#');
        // A `#` after the title belongs to it unless a blank separates them, as in `## C#`.
        return Block::Heading(level, if bare.ends_with([' ', '\t']) { bare.trim_end() } else { title });
    }
    match slice.rsplit_once('\n') {
        Some((title, _)) if !title.contains(['\n', ':']) => Block::Heading(level, title.trim()),
        _ => Block::Text(slice),
    }
}

/// The text of a block without Markdown's mark for it, folded where it is prose.
fn folded(block: &str) -> String {
    let lines: Vec<&str> = block.lines().map(str::trim_end).collect();
    let Some((first, rest)) = lines.split_first() else { return String::new() };
    scalar::joined(first.trim_start(), rest)
}

/// An item without its mark. A number stays, because it gives the order.
fn unmarked(item: &str) -> &str {
    let item = item.trim_start();
    item.strip_prefix(['-', '*', '+']).map_or(item, str::trim_start)
}

/// A text that begins with a name: `Done: rest`, `**Done:** rest`, and the lines below.
fn labelled(text: &str) -> Option<(&str, String)> {
    let (first, below) = text.split_once('\n').unwrap_or((text, ""));
    let (key, rest) = pair(first)?;
    let below: Vec<&str> = below.lines().collect();
    Some((key, format!("{rest}\n{}", scalar::dedented(&below).join("\n"))))
}

/// The name at the beginning of a line, and what it names. Half a code span is no name.
fn pair(line: &str) -> Option<(&str, &str)> {
    if let Some(inside) = line.strip_prefix("**")
        && let Some((key, rest)) = inside.split_once("**")
        && let Some(rest) = rest.trim_start().strip_prefix(['—', '–', '-']).filter(|rest| rest.starts_with(' '))
        && !key.is_empty()
    {
        return Some((key, rest.trim()));
    }
    let plain = || {
        let (key, rest) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, "")))?;
        Some((key.trim(), rest.trim()))
    };
    bold(line).or_else(plain).filter(|(key, _)| !key.is_empty() && key.matches('`').count() % 2 == 0)
}

/// The cells of a row.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim().replace("\\|", "\0");
    let row = row.strip_prefix('|').unwrap_or(&row);
    let row = row.strip_suffix('|').unwrap_or(row);
    row.split('|').map(|cell| cell.replace('\0', "|").trim().to_owned()).collect()
}

/// A section while it is read.
struct OpenSection {
    name: SectionName,
    level: HeadingLevel,
    /// The heading, until something stands below it.
    heading: Option<String>,
    /// A heading below that of a section with rules, and its level.
    part: Option<(HeadingLevel, String)>,
}

#[derive(Default)]
struct PageReader {
    title: Option<String>,
    section: Option<OpenSection>,
    /// Paragraphs of one section without rules, which make one text.
    prose: Vec<String>,
    depth: usize,
    entries: Vec<Entry>,
}

impl PageReader {
    fn text(&mut self, text: &str) {
        let blocks = blocks(text);
        let mut at = 0;
        while let Some(block) = blocks.get(at) {
            let items: Vec<&str> = blocks[at..]
                .iter()
                .map_while(|block| if let Block::Item(item) = block { Some(*item) } else { None })
                .collect();
            at += items.len().max(1);
            match *block {
                Block::Heading(level, title) => self.heading(level, title),
                Block::Item(_) => self.list(&items),
                Block::Table(table) => self.table(table),
                Block::Text(text) => {
                    let is_introduction = text.ends_with(':') && matches!(blocks.get(at), Some(Block::Item(_)));
                    self.paragraph(text, is_introduction);
                }
            }
        }
        self.end_prose();
    }

    fn heading(&mut self, level: HeadingLevel, title: &str) {
        if title.is_empty() {
            return;
        }
        if level == HeadingLevel::H1 && self.title.is_none() && self.section.is_none() && !is_known(title) {
            self.title = Some(title.to_owned());
            return;
        }
        let name = named(title);
        if let Some(open) = self.section.as_mut().filter(|open| open.level < level)
            && open.name.section().is_some()
            && name.section().is_none()
        {
            // A heading such as `Rationale` below that of a decision is a part of its text.
            let decides = open.part.as_ref().is_some_and(|(own, part)| *own < level && !is_generic(part));
            if decides && is_generic(title) {
                return self.said(title.to_owned());
            }
            open.part = Some((level, title.to_owned()));
            let empty = open.heading.replace(title.to_owned());
            empty.into_iter().for_each(|title| self.push_item(NOTES.into(), title));
            return;
        }
        self.end_section();
        // As in `## Done: the parser`.
        let part = title.split_once(": ").filter(|(key, _)| name.section().is_none() && is_known(key));
        let (name, part) = part.map_or((name, None), |(key, part)| (named(key), Some((level, part.to_owned()))));
        // As in `## Goal (this week)`.
        let says_more = part.is_none() && name.section().is_some() && title.contains(['(', '/']);
        if says_more {
            self.push_item(NOTES.into(), title.to_owned());
        }
        let heading =
            name.section().is_none().then(|| title.to_owned()).or(part.as_ref().map(|(_, part)| part.clone()));
        self.section = Some(OpenSection { name, level, heading, part });
    }

    /// A heading below which there is nothing may be all that somebody wrote.
    fn end_section(&mut self) {
        self.end_prose();
        if let Some(heading) = self.section.take().and_then(|open| open.heading) {
            self.push_item(NOTES.into(), heading);
        }
    }

    fn end_prose(&mut self) {
        if !self.prose.is_empty() {
            let text = take(&mut self.prose).join("\n\n");
            self.push_item(self.name(), text);
        }
    }

    fn name(&self) -> SectionName {
        self.section.as_ref().map_or(NOTES.into(), |open| open.name.clone())
    }

    fn push_item(&mut self, section: SectionName, text: String) {
        if text.trim().is_empty() {
            return;
        }
        self.entries.push(Entry::Item { section, text });
    }

    /// Reads a text that belongs to another section than what stands around it.
    fn inside(&mut self, key: &str, text: &str) {
        self.end_prose();
        let name = named(key);
        if text.trim().is_empty() || name.section().is_some() && key.contains(['(', '/']) {
            self.push_item(NOTES.into(), key.to_owned());
        }
        let open = OpenSection { name, level: HeadingLevel::H6, heading: None, part: None };
        let outer = self.section.replace(open);
        self.depth += 1;
        // What follows a label on its line is no heading.
        let (first, below) = text.split_once('\n').unwrap_or((text, ""));
        match first.trim_start().starts_with('#') {
            true => {
                self.plain_paragraph(first.trim(), false);
                self.text(below);
            }
            false => self.text(text),
        }
        self.depth -= 1;
        self.section = outer;
    }

    fn is_without_rules(&self) -> bool {
        self.section.as_ref().is_none_or(|open| open.name.section().is_none())
    }

    fn list(&mut self, items: &[&str]) {
        self.end_prose();
        let labels: Vec<_> = items.iter().map(|item| labelled(unmarked(item))).collect();
        let opens = |label: &Option<(&str, String)>| label.as_ref().is_some_and(|(key, _)| is_known(key));
        let has_sections = self.is_without_rules() && self.depth < NESTING && labels.iter().any(opens);
        for (item, label) in items.iter().zip(labels) {
            match label {
                Some((key, text)) if has_sections && (is_known(key) || text.starts_with('\n')) => {
                    self.inside(key, &text);
                }
                _ => self.said(folded(unmarked(item))),
            }
        }
    }

    fn paragraph(&mut self, text: &str, is_introduction: bool) {
        let strong = text.strip_prefix("**").and_then(|rest| rest.strip_suffix("**"));
        if let Some(title) = strong.filter(|title| !title.contains(['*', '\n']) && is_known(title)) {
            return self.heading(HeadingLevel::H6, title);
        }
        // Lines such as `**Goal:** text` stand for themselves.
        let is_free = self.is_without_rules();
        let is_label = |line: &str| bold(line).is_some_and(|(key, _)| is_free || is_known(key));
        let first = text.lines().next().unwrap_or_default();
        let begins = is_free && pair(first).is_some_and(|(key, _)| is_known(key));
        let opens = self.depth < NESTING && (begins || text.lines().any(is_label));
        if !opens {
            return self.plain_paragraph(text, is_introduction);
        }
        let mut parts: Vec<Vec<&str>> = Vec::new();
        for line in text.lines() {
            match parts.last_mut().filter(|_| !is_label(line)) {
                Some(part) => part.push(line),
                None => parts.push(vec![line]),
            }
        }
        for part in parts {
            let part = part.join("\n");
            match labelled(&part).filter(|(key, _)| is_label(part.lines().next().unwrap_or_default()) || is_known(key))
            {
                Some((key, text)) => self.inside(key, &text),
                None => self.plain_paragraph(&part, false),
            }
        }
    }

    fn plain_paragraph(&mut self, text: &str, is_introduction: bool) {
        let text = folded(text);
        match self.is_without_rules() {
            true => {
                self.section.iter_mut().for_each(|open| open.heading = None);
                self.prose.push(text);
            }
            // The bullets after it still belong to the section.
            false if is_introduction => self.push_item(NOTES.into(), text),
            false => self.said(text),
        }
    }

    /// A table is one text, but each row of decisions or checkpoints is one of them.
    fn table(&mut self, table: &str) {
        self.end_prose();
        let lines: Vec<&str> = table.lines().map(str::trim_end).collect();
        let name = self.name();
        let [head, _, rows @ ..] = lines.as_slice() else { return self.said(lines.join("\n")) };
        let columns = cells(head);
        let row = |line: &&str| {
            let cells = cells(line);
            let (first, rest) = cells.split_first().filter(|_| cells.iter().any(|cell| !cell.is_empty()))?;
            let named = |(column, cell): (&str, &String)| match BARE.contains(&&*column.to_lowercase()) {
                true => cell.clone(),
                false => format!("{column}: {cell}"),
            };
            // A row may have more cells than the head.
            let names = columns.iter().skip(1).map(String::as_str).chain(std::iter::repeat(BARE[0]));
            let rest: Vec<_> = names.zip(rest).filter(|(_, cell)| !cell.is_empty()).map(named).collect();
            Some((first.clone(), rest.join("\n")))
        };
        match name.section() {
            Some(Section::Decisions) => {
                let rows = rows.iter().filter_map(row);
                let decision =
                    |(key, value): (String, String)| Entry::Pair { section: name.clone(), key, value: Some(value) };
                self.entries.extend(rows.map(decision));
            }
            Some(Section::Checkpoints) => {
                let rows = rows.iter().filter_map(row);
                let reached = |(phase, status): (String, String)| {
                    let phase = phase.strip_prefix("Phase ").unwrap_or(&phase).to_owned();
                    Entry::Checkpoint(Checkpoint { phase, status, ..Checkpoint::default() })
                };
                self.entries.extend(rows.map(reached));
            }
            _ => self.said(lines.join("\n")),
        }
    }

    /// Takes a text in the shape of the section.
    fn said(&mut self, text: String) {
        if text.trim().is_empty() {
            return;
        }
        let name = self.name();
        let part = self.section.as_mut().and_then(|open| {
            open.heading = None;
            open.part.as_ref().map(|(_, part)| part.clone())
        });
        let entry = match (name.section(), part) {
            (Some(Section::Decisions), Some(part)) if is_generic(&part) => {
                // Other files have the same number.
                decision(name, &format!("{text}\n{part}"))
            }
            (Some(Section::Decisions), Some(part)) => Some(Entry::Pair { section: name, key: part, value: Some(text) }),
            (Some(Section::Decisions), None) => decision(name, &text),
            (Some(Section::Checkpoints), Some(phase)) => checkpoint(&format!("{phase}: {text}")),
            (Some(Section::Checkpoints), None) => checkpoint(&text),
            (_, Some(part)) => Some(Entry::Item { section: name, text: format!("{part}: {text}") }),
            (_, None) => Some(Entry::Item { section: name, text }),
        };
        self.entries.extend(entry);
    }
}

/// Whether a heading below that of decisions tells nothing of what is decided: `Decision 1`, `2.`, `Rationale`.
fn is_generic(heading: &str) -> bool {
    let words = heading.to_lowercase();
    let mut words = words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(|word| word.bytes().all(|byte| byte.is_ascii_digit()) || GENERIC.contains(&word))
}

/// The decision that a text says. One without a key is its own key. None: the text is empty.
pub fn decision(section: SectionName, text: &str) -> Option<Entry> {
    let (first, below) = text.split_once('\n').unwrap_or((text, ""));
    // The first line of a quote or of code is no key.
    let (first, below) = if first.starts_with(['`', '~', '>', '|', '<']) { (text, "") } else { (first, below) };
    let (key, value) = match pair(first) {
        Some((key, value)) if DECIDED.contains(&&*key.to_lowercase()) && !value.is_empty() => (value, ""),
        Some((key, value)) => (key, value),
        None => (first, ""),
    };
    let value = [value, below].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    let decision = Entry::Pair { section, key: key.to_owned(), value: Some(value) };
    (!text.trim().is_empty()).then_some(decision)
}

/// The checkpoint that a text says: its phase, a colon, and how far it is. None: the text is empty.
pub fn checkpoint(text: &str) -> Option<Entry> {
    let (first, below) = text.split_once('\n').unwrap_or((text, ""));
    let mut checkpoint = body::shown_checkpoint(&first.replace("**", ""));
    if !below.is_empty() {
        checkpoint.status = format!("{}\n{below}", checkpoint.status);
    }
    (!text.trim().is_empty()).then_some(Entry::Checkpoint(checkpoint))
}
