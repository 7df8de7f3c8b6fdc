//! Reads the lines of a body into sections and their pieces.

use serde_yaml::Value;

use crate::entry::NOTES;
use crate::section::{Section, SectionName, Shape};
use crate::yaml_scalar;

/// The longest key at the margin, in characters, unless it is quoted.
pub const LONG_KEY: usize = 80;

/// A field of a map in a list: its key, and its value unless that is null.
pub type Field = (String, Option<String>);

/// One section as it was written.
pub struct WrittenSection {
    pub name: SectionName,
    pub pieces: Vec<Piece>,
    /// Whether it has a value of its own, after which prose no longer belongs to it.
    has_text: bool,
    /// Whether a heading opened it, below which people write sentences.
    is_headed: bool,
}

impl WrittenSection {
    fn new(name: SectionName) -> WrittenSection {
        WrittenSection { name, pieces: Vec::new(), has_text: false, is_headed: false }
    }
}

/// A piece of a section.
pub enum Piece {
    /// A value of the section itself.
    Text(String),
    /// A list item: its fields, where it is a map, and its text, unless only its fields count.
    Item(Vec<Field>, String),
    /// An entry of a map; without a value it removes the key.
    Pair(String, Option<String>),
}

/// Reads the sections of a body, in the order written.
pub fn sections(body: &str) -> Vec<WrittenSection> {
    let lines: Vec<&str> = body.split_terminator('\n').map(str::trim_end).collect();
    // The whole body may be indented, or be inside a fence marked as YAML.
    let dedented = yaml_scalar::dedented(&lines);
    let mut reader =
        BodyReader { lines: unfenced(&dedented), at: 0, sections: Vec::with_capacity(8), unclosed: [usize::MAX; 2] };
    while reader.at < reader.lines.len() {
        reader.line();
    }
    reader.sections
}

/// The lines inside a fence, if the whole body is inside one.
fn unfenced<'l, 'a>(lines: &'l [&'a str]) -> &'l [&'a str] {
    let from = lines.iter().take_while(|line| line.is_empty()).count();
    let to = lines.len() - lines[from..].iter().rev().take_while(|line| line.is_empty()).count();
    match &lines[from..to] {
        ["```yaml" | "```yml", inside @ .., "```"] | ["~~~yaml" | "~~~yml", inside @ .., "~~~"]
            if !inside.iter().any(|line| line.starts_with("```") || line.starts_with("~~~")) =>
        {
            inside
        }
        _ => lines,
    }
}

struct BodyReader<'l> {
    lines: &'l [&'l str],
    at: usize,
    sections: Vec<WrittenSection>,
    /// The length from which fences of backticks, and fences of tildes, are never closed.
    unclosed: [usize; 2],
}

impl<'l> BodyReader<'l> {
    /// Reads what begins at the current line.
    fn line(&mut self) {
        let line = self.lines[self.at];
        let indent = yaml_scalar::indent(line);
        if line.is_empty() || (indent == 0 && matches!(line, "---" | "...")) {
            self.at += 1;
        } else if indent > 0 {
            self.inside(line, indent);
        } else if let Some(close) = self.fence(line) {
            let text = self.lines[self.at..=close].join("\n");
            self.at = close + 1;
            self.push(Piece::Item(Vec::new(), text));
        } else if let Some(title) = heading(line) {
            self.at += 1;
            if let Some(title) = title {
                self.open(title.to_owned());
                self.sections.iter_mut().last().iter_mut().for_each(|section| section.is_headed = true);
            }
        } else if let Some(first) = yaml_scalar::bullet(line) {
            self.item(first, 0);
        } else if let Some((key, rest)) =
            yaml_scalar::pair(line).filter(|(key, _)| is_key_like(line, key) && !self.is_sentence(key))
        {
            self.at += 1;
            self.section(key.into_owned(), rest);
        } else if let Some((key, rest)) = bold(line).filter(|(key, _)| Section::from_spelling(key).is_some()) {
            // The form in `current.md`.
            self.at += 1;
            self.section(key.to_owned(), rest);
        } else {
            self.paragraph();
        }
    }

    /// Reads an indented line that continues no item: it belongs to the block of its section.
    fn inside(&mut self, line: &str, indent: usize) {
        if let Some(first) = yaml_scalar::bullet(&line[indent..]) {
            return self.item(first, indent);
        }
        if let Some((key, rest)) = yaml_scalar::pair(line) {
            self.at += 1;
            let value = value(rest, self.block(indent));
            return self.push(Piece::Pair(key.into_owned(), value));
        }
        let block = self.block(0);
        self.push(Piece::Text(yaml_scalar::nested(block)));
    }

    fn item(&mut self, first: &str, indent: usize) {
        self.at += 1;
        let rest = self.block(indent);
        let fields = fields(first, rest);
        if first.is_empty() && rest.is_empty() {
            return;
        }
        let shape = self.sections.last().and_then(|section| section.name.shape());
        let text = match shape {
            // Only its fields count.
            Some(Shape::Checkpoints) if fields.len() > 1 => String::new(),
            _ if first.is_empty() => yaml_scalar::nested(rest),
            _ => yaml_scalar::text(first, rest),
        };
        self.push(Piece::Item(fields, text));
    }

    /// Reads `key:` or `key: value` at the left margin.
    fn section(&mut self, key: String, rest: &str) {
        self.open(key);
        if rest.is_empty() {
            return;
        }
        let block = self.block(0);
        let is_register = self.sections.last().is_some_and(|section| section.name.shape() == Some(Shape::Register));
        match yaml_scalar::flow(rest, block).filter(|_| !is_register) {
            Some(Value::Sequence(items)) => {
                for item in &items {
                    self.push(Piece::Item(pairs(item), yaml_scalar::plain(item)));
                }
            }
            Some(value) => {
                for (key, value) in pairs(&value) {
                    self.push(Piece::Pair(key, value));
                }
            }
            None if yaml_scalar::is_null(rest, block) => {}
            None => self.push(Piece::Text(yaml_scalar::text(rest, block))),
        }
    }

    /// Whether words before a colon begin a sentence: below the heading of a section that we know, words that name no
    /// section do. So do three words or more right below its key.
    fn is_sentence(&self, key: &str) -> bool {
        let words = || key.split_whitespace().count();
        let is_below = |section: &WrittenSection| {
            let is_first = || section.pieces.is_empty() && words() >= 3;
            section.name.section().is_some() && ((section.is_headed && words() >= 2) || is_first())
        };
        self.sections.last().is_some_and(is_below) && Section::from_spelling(key).is_none()
    }

    /// Whether bullets follow a line that ends with a colon, which only introduces them.
    fn is_introduction(&self, line: &str, next: usize) -> bool {
        let next = self.lines[next..].iter().find(|line| !line.is_empty());
        line.ends_with(':') && next.is_some_and(|next| yaml_scalar::bullet(next.trim_start()).is_some())
    }

    /// Reads prose at the left margin: an item of the section before it, or a note if that section has a value of its
    /// own.
    fn paragraph(&mut self) {
        let (from, lines) = (self.at, self.lines);
        let goes_on = |line: &str| {
            yaml_scalar::indent(line) > 0
                || (yaml_scalar::bullet(line).is_none()
                    && heading(line).is_none()
                    && yaml_scalar::pair(line).is_none_or(|(key, _)| !is_key_like(line, &key))
                    && line != "---")
        };
        let end = from + 1 + lines[from + 1..].iter().take_while(|line| !line.is_empty() && goes_on(line)).count();
        self.at = end;
        let rest = &lines[from + 1..end];
        // The row of a table is not the header of a YAML block.
        let is_row = lines[from].strip_prefix('|').is_some_and(|row| row.contains('|'));
        let text = if is_row { yaml_scalar::joined(lines[from], rest) } else { yaml_scalar::text(lines[from], rest) };
        let text = Piece::Item(Vec::new(), text);
        let is_introduction = self.is_introduction(lines[end - 1], end);
        let note = |text| WrittenSection { pieces: vec![text], ..WrittenSection::new(NOTES.into()) };
        match self.sections.last_mut().filter(|section| !section.has_text) {
            // The bullets after it still belong to the section.
            Some(section) if is_introduction && section.name.section().is_some() => {
                let at = self.sections.len() - 1;
                self.sections.insert(at, note(text));
            }
            Some(section) => section.pieces.push(text),
            None => self.sections.push(note(text)),
        }
    }

    /// The lines that are indented further, without blank lines at the end.
    fn block(&mut self, indent: usize) -> &'l [&'l str] {
        let (from, lines) = (self.at, self.lines);
        let belongs = |line: &&&str| line.is_empty() || yaml_scalar::indent(line) > indent;
        let all = lines[from..].iter().take_while(belongs).count();
        let blank = lines[from..from + all].iter().rev().take_while(|line| line.is_empty()).count();
        self.at = from + all - blank;
        &lines[from..self.at]
    }

    /// The line that closes the fence that this line opens.
    fn fence(&mut self, line: &str) -> Option<usize> {
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = |line: &str| line.len() - line.trim_start_matches(mark).len();
        let open = length(line);
        let shortest = if mark == '`' { &mut self.unclosed[0] } else { &mut self.unclosed[1] };
        if open < 3 || open >= *shortest {
            return None;
        }
        let closes = |line: &str| length(line.trim_start()) >= open && line.trim_start_matches([' ', mark]).is_empty();
        let close = (self.at + 1..self.lines.len()).find(|at| closes(self.lines[*at]));
        if close.is_none() {
            // Later fences of this length are not closed either.
            *shortest = open;
        }
        close
    }

    fn open(&mut self, key: String) {
        self.sections.push(WrittenSection::new(SectionName::from_spelling(key)));
    }

    fn push(&mut self, piece: Piece) {
        match self.sections.last_mut() {
            Some(section) => {
                section.has_text |= matches!(piece, Piece::Text(_));
                section.pieces.push(piece);
            }
            None => self.sections.push(WrittenSection { pieces: vec![piece], ..WrittenSection::new(NOTES.into()) }),
        }
    }
}

/// A Markdown heading, which opens a section; `Some(None)` for a YAML comment, which says nothing.
fn heading(line: &str) -> Option<Option<&str>> {
    if !line.starts_with('#') {
        return None;
    }
    let level = line.bytes().take_while(|b| *b == b'#').count();
    let title = line[level..].trim();
    // A `#` after the title belongs to it unless a blank separates them, as in `## C#`.
    let bare = title.trim_end_matches('#');
    let title = if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim_end() } else { title };
    let title = title.trim_end_matches(':').trim_end();
    if level > 6 || !(line.len() == level || line[level..].starts_with([' ', '\t'])) {
        return None;
    }
    let is_section = !title.is_empty() && (level > 1 || Section::from_spelling(title).is_some());
    Some(is_section.then_some(title))
}

/// Whether the words before the colon of a line may be the key of a section.
fn is_key_like(line: &str, key: &str) -> bool {
    let starts =
        line.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '\'' | '.' | '/' | '(' | '$'));
    let is_short = || key.len() <= LONG_KEY || line.starts_with(['"', '\'']) || key.chars().count() <= LONG_KEY;
    starts && is_short()
}

/// Parses `**key:** text`, which `current.md` has and people write.
pub fn bold(line: &str) -> Option<(&str, &str)> {
    let inside = line.strip_prefix("**")?;
    let (key, rest) = inside.split_once(":**").or_else(|| inside.split_once("**:"))?;
    (!key.contains("**") && !key.is_empty()).then(|| (key, rest.trim()))
}

/// The fields of a list item that is a map, in the order written.
fn fields(first: &str, rest: &[&str]) -> Vec<Field> {
    if let Some(value) = yaml_scalar::flow(first, rest) {
        return pairs(&value);
    }
    // Most items are text, so this comes first.
    let Some((key, value)) = yaml_scalar::pair(first) else { return Vec::new() };
    let lines = yaml_scalar::dedented(rest);
    let mut fields = Vec::new();
    let (mut key, mut value, mut from) = (key.into_owned(), value, 0);
    for at in 0..=lines.len() {
        let next = lines.get(at);
        if next.is_some_and(|line| line.is_empty() || yaml_scalar::indent(line) > 0) {
            continue;
        }
        let block = &lines[from..at];
        fields.push((std::mem::take(&mut key), self::value(value, block)));
        if let Some(line) = next {
            let Some((k, v)) = yaml_scalar::pair(line) else { return Vec::new() };
            (key, value, from) = (k.into_owned(), v, at + 1);
        }
    }
    fields
}

/// The value of a key, from the text behind it and the lines that belong to it. None: it is null.
fn value(first: &str, block: &[&str]) -> Option<String> {
    match (first.is_empty(), yaml_scalar::is_null(first, block)) {
        (_, true) => None,
        (true, _) => Some(yaml_scalar::nested(block)),
        (false, _) => Some(yaml_scalar::text(first, block)),
    }
}

fn pairs(value: &Value) -> Vec<Field> {
    let Value::Mapping(map) = value else { return Vec::new() };
    map.iter()
        .map(|(key, value)| (yaml_scalar::plain(key), (!value.is_null()).then(|| yaml_scalar::plain(value))))
        .collect()
}
