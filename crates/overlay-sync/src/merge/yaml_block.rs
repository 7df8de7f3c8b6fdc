//! YAML in block style, edited entry by entry: what an edit does not touch keeps its comments, quotes and layout. The
//! structure is read from indentation alone, so the caller parses the result and compares it with what was wanted.

use std::collections::HashMap;

use super::tree::{ItemSet, Tree, by_key};
use super::yaml_text::{parse, written};

/// The lines of a value, without those of its key.
#[derive(Clone, Copy, Debug)]
struct Block {
    start: usize,
    end: usize,
    /// The column of the first entry, if it begins in the middle of the first line, as after a dash.
    first: Option<usize>,
}

/// An entry of a block: a key with its value, or an element of a list.
#[derive(Clone, Debug)]
struct BlockEntry {
    /// The key; `None` for an element.
    key: Option<String>,
    start: usize,
    end: usize,
    indent: usize,
    /// The column where its head ends, behind the colon or the dash.
    head: usize,
    /// The column where a value begins in the first line.
    value: Option<usize>,
}

impl BlockEntry {
    /// Its value as a block.
    fn block(&self) -> Block {
        match self.value {
            Some(first) => Block { start: self.start, end: self.end, first: Some(first) },
            None => Block { start: self.start + 1, end: self.end, first: None },
        }
    }
}

/// Lines `start..end` become these lines.
struct BlockEdit {
    start: usize,
    end: usize,
    lines: Vec<String>,
}

/// Whether a text has the markers between documents.
pub fn has_markers(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("---"))
}

/// Edits a text whose tree is `from` until its tree is `to`. What `donor` has of that is copied from there. `None` when
/// the text is not in block style where it must change.
pub fn edit(text: &str, from: &Tree, to: &Tree, donor: &str) -> Option<String> {
    if text.contains('\r') {
        let unix = |text: &str| text.replace("\r\n", "\n");
        let edited = edit(&Some(unix(text)).filter(|text| !text.contains('\r'))?, from, to, &unix(donor))?;
        return Some(edited.replace('\n', "\r\n"));
    }
    if let Some(text) = text.strip_prefix('\u{feff}') {
        return Some(format!("\u{feff}{}", edit(text, from, to, donor.trim_start_matches('\u{feff}'))?));
    }
    let (parts, given) = (documents(text), documents(donor));
    if parts.len() < 2 {
        return edit_document(text, from, to, donor);
    }
    let mut edited = String::new();
    for (i, part) in parts.iter().enumerate() {
        let key = format!("document {}", i + 1);
        edited.push_str(&edit_document(part, from.key(&key)?, to.key(&key)?, given.get(i).unwrap_or(&""))?);
    }
    Some(edited)
}

/// The documents of a stream, each with the marker before it.
fn documents(text: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = vec![0];
    let mut at = 0;
    let mut has_content = false;
    for line in text.split_inclusive('\n') {
        if line.starts_with("---") && has_content {
            starts.push(at);
        }
        has_content |= !is_void(line);
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect()
}

fn edit_document(text: &str, from: &Tree, to: &Tree, donor: &str) -> Option<String> {
    let given = parse(donor.as_bytes());
    let (lines, donor) = (text.lines().collect::<Vec<_>>(), donor.lines().collect::<Vec<_>>());
    let model = lines.iter().chain(&donor).flat_map(|line| [line, "\n"]).collect();
    let mut editor = BlockEditor { lines: &lines, donor: &donor, model, edits: Vec::new() };
    let theirs = given.as_ref().zip(whole(&donor));
    editor.block(whole(&lines)?, from, to, theirs)?;
    let edited = editor.finish().join("\n");
    Some(if text.ends_with('\n') { edited + "\n" } else { edited })
}

/// Everything behind the marker of a document.
fn whole(lines: &[&str]) -> Option<Block> {
    let marker = lines.iter().position(|line| !is_void(line)).filter(|at| lines[*at].starts_with("---"));
    let is_bare = marker.is_none_or(|at| is_void(&lines[at][3..]));
    is_bare.then_some(Block { start: marker.map_or(0, |at| at + 1), end: lines.len(), first: None })
}

/// Whether there is nothing but blanks or a comment.
fn is_void(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_element(content: &str) -> bool {
    content == "-" || content.starts_with("- ")
}

/// A key at the beginning of a line, and how long it is with its colon.
fn key(content: &str) -> Option<(String, usize)> {
    let is_quoted = content.starts_with(['"', '\'']);
    let end = match is_quoted {
        true => quoted_length(content)?,
        false => content.match_indices(':').map(|(at, _)| at).find(|at| is_end(&content[at + 1..]))?,
    };
    if !content[end..].starts_with(':') || !is_end(&content[end + 1..]) {
        return None;
    }
    let name = &content[..end];
    if !is_quoted && name.starts_with(|c: char| "[]{}#&*!|>%@`?,".contains(c)) {
        return None;
    }
    let Tree::Leaf(leaf) = parse(format!("[{name}]").as_bytes()).and_then(only)? else { return None };
    Some((serde_json::from_str(&leaf).ok()?, end + 1))
}

/// How long the quoted scalar at the beginning of a text is. In single quotes a quote is written twice.
fn quoted_length(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut rest = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = rest.next() {
        let is_doubled = quote == '\'' && c == quote && rest.peek().is_some_and(|(_, next)| *next == quote);
        if is_doubled || quote == '"' && c == '\\' {
            rest.next();
        } else if c == quote {
            return Some(at + 1);
        }
    }
    None
}

fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}

fn only(tree: Tree) -> Option<Tree> {
    match tree {
        Tree::Array(items) if items.len() == 1 => items.into_iter().next(),
        _ => None,
    }
}

/// The entries of a block; `None` when it is not in block style.
fn entries(lines: &[&str], block: Block) -> Option<Vec<BlockEntry>> {
    let mut all: Vec<BlockEntry> = Vec::new();
    let mut at = block.start;
    while at < block.end {
        let column = block.first.filter(|_| at == block.start).unwrap_or_else(|| indent(lines[at]));
        let content = lines[at].get(column..)?;
        if is_void(content) {
            at += 1;
            continue;
        }
        let (key, length) = match is_element(content) {
            true => (None, 1),
            false => key(content).map(|(key, length)| (Some(key), length))?,
        };
        if all.first().is_some_and(|first| (first.indent, first.key.is_some()) != (column, key.is_some())) {
            return None;
        }
        let head = column + length;
        let rest = lines[at].get(head..)?;
        let value = (!is_void(rest)).then(|| head + indent(rest));
        let mut entry = BlockEntry { key, start: at, end: at + 1, indent: column, head, value };
        entry.end = end(lines, block.end, &entry);
        at = entry.end;
        all.push(entry);
    }
    Some(all)
}

/// The line behind the last one of an entry. Blank lines and comments behind it are not its own, unless they are
/// indented.
fn end(lines: &[&str], limit: usize, entry: &BlockEntry) -> usize {
    let mut end = entry.start + 1;
    for (at, line) in lines.iter().enumerate().take(limit).skip(entry.start + 1) {
        if line.trim().is_empty() {
            continue;
        }
        let is_list = entry.key.is_some() && entry.value.is_none() && is_element(line.trim());
        if indent(line) > entry.indent || is_list && indent(line) == entry.indent {
            end = at + 1;
        } else if !is_void(line) {
            break;
        }
    }
    end
}

struct BlockEditor<'t> {
    lines: &'t [&'t str],
    donor: &'t [&'t str],
    /// Both texts, as a model for quotes.
    model: String,
    edits: Vec<BlockEdit>,
}

impl BlockEditor<'_> {
    fn finish(mut self) -> Vec<String> {
        let mut lines: Vec<String> = self.lines.iter().map(|line| (*line).to_owned()).collect();
        // From the end, so that no edit moves the lines of another one.
        self.edits.sort_by_key(|edit| (edit.start, edit.end));
        for edit in self.edits.into_iter().rev() {
            lines.splice(edit.start..edit.end, edit.lines);
        }
        lines
    }

    /// Edits a block; on `None` nothing was edited.
    fn block(&mut self, block: Block, from: &Tree, to: &Tree, donor: Option<(&Tree, Block)>) -> Option<()> {
        let before = self.edits.len();
        let edited = match (from, to) {
            _ if from.same(to) => Some(()),
            (Tree::Object(from), Tree::Object(to)) if !to.is_empty() => self.map(block, from, to, donor),
            (Tree::Array(from), Tree::Array(to)) if !to.is_empty() => self.list(block, from, to, donor),
            _ => None,
        };
        if edited.is_none() {
            self.edits.truncate(before);
        }
        edited
    }

    fn map(
        &mut self,
        block: Block,
        from: &[(String, Tree)],
        to: &[(String, Tree)],
        donor: Option<(&Tree, Block)>,
    ) -> Option<()> {
        let all = entries(self.lines, block)?;
        let own: HashMap<&str, &BlockEntry> = all.iter().filter_map(|e| Some((e.key.as_deref()?, e))).collect();
        let theirs = donor.and_then(|(_, block)| entries(self.donor, block)).unwrap_or_default();
        let theirs: HashMap<&str, &BlockEntry> = theirs.iter().filter_map(|e| Some((e.key.as_deref()?, e))).collect();
        let (known, wanted) = (by_key(from), by_key(to));
        if own.len() != known.len() || all.len() != known.len() {
            return None;
        }
        for (key, _) in from.iter().filter(|(key, _)| !wanted.contains_key(key.as_str())) {
            self.delete(block, own.get(key.as_str())?)?;
        }
        let last = all.last()?;
        for (key, tree) in to {
            let given = donor.and_then(|(given, _)| given.key(key)).zip(theirs.get(key.as_str()).copied());
            match known.get(key.as_str()) {
                Some(old) => self.value(own.get(key.as_str())?, old, tree, given)?,
                None => {
                    let lines = match given.filter(|(given, _)| given.same(tree)) {
                        Some((_, entry)) => self.copied(entry, last.indent),
                        None => self.emitted(&Tree::Object(vec![(key.clone(), tree.clone())]), last.indent)?,
                    };
                    self.edits.push(BlockEdit { start: last.end, end: last.end, lines });
                }
            }
        }
        Some(())
    }

    fn list(&mut self, block: Block, from: &[Tree], to: &[Tree], donor: Option<(&Tree, Block)>) -> Option<()> {
        let all = entries(self.lines, block)?;
        let last = all.last()?;
        if all.len() != from.len() || last.key.is_some() {
            return None;
        }
        let theirs = donor.and_then(|(_, block)| entries(self.donor, block)).unwrap_or_default();
        let theirs: Vec<(&Tree, &BlockEntry)> = match donor {
            Some((Tree::Array(items), _)) if items.len() == theirs.len() => items.iter().zip(&theirs).collect(),
            _ => Vec::new(),
        };
        let wanted = ItemSet::of(to);
        let kept: Vec<&Tree> = from.iter().filter(|item| wanted.has(item)).collect();
        let keeps_order = to.len() >= kept.len() && to.iter().zip(&kept).all(|(a, b)| a.same(b));
        if !keeps_order {
            // The same elements, some of them changed.
            let mut pairs = all.iter().zip(from.iter().zip(to));
            let is_paired = from.len() == to.len();
            return is_paired.then(|| pairs.try_for_each(|(entry, (old, new))| self.value(entry, old, new, None)))?;
        }
        for (entry, _) in all.iter().zip(from).filter(|(_, item)| !wanted.has(item)) {
            self.delete(block, entry)?;
        }
        for item in &to[kept.len()..] {
            let lines = match theirs.iter().find(|(given, _)| given.same(item)) {
                Some((_, entry)) => self.copied(entry, last.indent),
                None => self.emitted(&Tree::Array(vec![item.clone()]), last.indent)?,
            };
            self.edits.push(BlockEdit { start: last.end, end: last.end, lines });
        }
        Some(())
    }

    /// Deletes an entry, but not the one that begins in the middle of a line.
    fn delete(&mut self, block: Block, entry: &BlockEntry) -> Option<()> {
        let is_inner = block.first.is_some() && entry.start == block.start;
        (!is_inner).then(|| self.edits.push(BlockEdit { start: entry.start, end: entry.end, lines: Vec::new() }))
    }

    /// Edits the value of an entry.
    fn value(&mut self, entry: &BlockEntry, old: &Tree, new: &Tree, given: Option<(&Tree, &BlockEntry)>) -> Option<()> {
        let donor = given.map(|(tree, entry)| (tree, entry.block()));
        if old.same(new) || self.block(entry.block(), old, new, donor).is_some() {
            return Some(());
        }
        let line = self.lines[entry.start];
        let is_scalar = entry.end == entry.start + 1 && matches!(new, Tree::Leaf(_));
        let flow = entry.value.filter(|_| entry.end == entry.start + 1).and_then(|at| self.flow(&line[at..], new));
        if !is_scalar && flow.is_none() && self.lines[entry.start..entry.end].iter().any(|line| line.contains('#')) {
            // Only people see what a comment in there belongs to.
            return None;
        }
        let lines = match (given.filter(|(tree, _)| tree.same(new)), entry.value) {
            // One value in one line: what is behind it stays.
            (given, Some(at)) if is_scalar || flow.is_some() => {
                let given = given.and_then(|(_, entry)| self.scalar(entry));
                let value = match given.or(flow) {
                    Some(value) => value,
                    None => self.emitted(new, 0)?.join("\n"),
                };
                let rest = &line[at + scalar_length(&line[at..])..];
                vec![format!("{} {value}{rest}", &line[..entry.head])]
            }
            (Some((_, theirs)), _) if theirs.key.is_some() => {
                let mut lines = self.copied_bare(theirs, entry.indent);
                let head = &self.donor[theirs.start][theirs.head..];
                *lines.first_mut()? = format!("{}{head}", &line[..entry.head]);
                lines
            }
            _ => {
                let value = self.emitted(new, entry.indent + if matches!(new, Tree::Array(_)) { 0 } else { 2 })?;
                let is_nested = matches!(new, Tree::Object(entries) if !entries.is_empty())
                    || matches!(new, Tree::Array(items) if !items.is_empty());
                match (is_nested, entry.key.is_some()) {
                    (true, true) => std::iter::once(line[..entry.head].to_owned()).chain(value).collect(),
                    _ => {
                        let (first, rest) = value.split_first()?;
                        let first = format!("{} {}", &line[..entry.head], first.trim_start());
                        std::iter::once(first).chain(rest.iter().cloned()).collect()
                    }
                }
            }
        };
        self.edits.push(BlockEdit { start: entry.start, end: entry.end, lines });
        Some(())
    }

    /// A list of scalars in one line, where the text has one in brackets.
    fn flow(&self, text: &str, new: &Tree) -> Option<String> {
        let Tree::Array(items) = new else { return None };
        let is_plain = text.starts_with('[') && items.iter().all(|item| matches!(item, Tree::Leaf(_)));
        let items = items.iter().filter(|_| is_plain).map(|item| Some(self.emitted(item, 0)?.join("\n")));
        let items = items.collect::<Option<Vec<String>>>()?;
        is_plain.then(|| format!("[{}]", items.join(", ")))
    }

    /// The scalar that the donor has in the first line of an entry, if that is all of it.
    fn scalar(&self, entry: &BlockEntry) -> Option<String> {
        let text = &self.donor[entry.start][entry.value?..];
        (entry.end == entry.start + 1).then(|| text[..scalar_length(text)].to_owned())
    }

    /// The donor's lines of an entry with the comments directly above it that this text does not have.
    fn copied(&self, entry: &BlockEntry, to: usize) -> Vec<String> {
        let above = self.donor[..entry.start].iter().rev().take_while(|line| line.trim().starts_with('#'));
        let is_new = |line: &&&str| !self.lines.iter().any(|own| own.trim() == line.trim());
        let mut comments: Vec<String> = above.filter(is_new).map(|line| format!("{:to$}{}", "", line.trim())).collect();
        comments.reverse();
        comments.into_iter().chain(self.copied_bare(entry, to)).collect()
    }

    /// The donor's lines of an entry, indented by `to`.
    fn copied_bare(&self, entry: &BlockEntry, to: usize) -> Vec<String> {
        let moved = |line: &&str| match line.get(entry.indent.min(indent(line))..) {
            Some(rest) if !rest.is_empty() => format!("{:to$}{rest}", ""),
            _ => String::new(),
        };
        let mut lines: Vec<String> = self.donor[entry.start..entry.end].iter().map(moved).collect();
        if let (Some(first), Some(line)) = (lines.first_mut(), self.donor[entry.start].get(entry.indent..)) {
            // It may begin behind a dash.
            *first = format!("{:to$}{line}", "");
        }
        lines
    }

    /// The lines of a tree that no text has.
    fn emitted(&self, tree: &Tree, indent: usize) -> Option<Vec<String>> {
        let text = String::from_utf8(written(tree, &self.model)?).ok()?;
        Some(text.lines().map(|line| format!("{:indent$}{line}", "")).collect())
    }
}

/// How long the value at the beginning of a text is, without a comment behind it. A quote begins a scalar at the
/// beginning of the value and behind what separates the elements of a list in brackets.
fn scalar_length(text: &str) -> usize {
    let is_flow = text.starts_with(['[', '{']);
    let (mut at, mut before) = (0, ',');
    while let Some(c) = text[at..].chars().next() {
        let is_start = at == 0 || is_flow && matches!(before, ',' | '[' | '{' | ':');
        match quoted_length(&text[at..]).filter(|_| is_start) {
            Some(length) => {
                at += length;
                before = c;
                continue;
            }
            None if c == '#' && text[..at].ends_with(' ') => break,
            None => at += c.len_utf8(),
        }
        before = if c == ' ' { before } else { c };
    }
    text[..at].trim_end().len()
}
