//! The texts of a file that was migrated, for the proof that none is lost.

use serde_yaml::{Mapping, Value};

use crate::front_sections::map_of;
use crate::{handoff, markdown, page, view};

/// How many lines below the text before it a text of YAML is looked for.
const FAR: usize = 1000;

/// A text of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceText {
    /// Counted from 1.
    pub line: usize,
    pub text: String,
    pub kind: TextKind,
    /// The text together with the line before it and with the line behind it, if it has few words: a paragraph may be
    /// held as one text.
    pub wrapped: Vec<String>,
}

/// What stands for a text in an event besides the same words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// Nothing.
    Plain,
    /// A time in another spelling: it is the value of a key such as `date`.
    Labelled,
    /// A section that has another name.
    Name,
}

/// The words of a text, one blank around each. Marks and quotes are not words.
pub fn words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(String::from(" "), |all, word| all + word + " ")
}

/// The texts of a file: the values of what is YAML, the lines of everything else. The footer of a generated page says
/// nothing.
pub fn texts_of(file: &str) -> Vec<SourceText> {
    let file = view::without_footer(file);
    let file = page::without_frame(&file);
    let lines: Vec<&str> = file.lines().collect();
    let is_rule = |line: &&str| line.trim_end() == "---";
    let mut parts = Vec::new();
    let mut from = 0;
    // A frontmatter, if there is one, and the rest.
    if lines.first().is_some_and(is_rule)
        && let Some(end) = lines.iter().skip(1).position(is_rule)
    {
        parts.push((1, &lines[1..=end]));
        from = end + 2;
    }
    parts.push((from, lines.get(from..).unwrap_or_default()));
    parts.into_iter().flat_map(|(from, lines)| part(from, lines)).collect()
}

fn part(from: usize, lines: &[&str]) -> Vec<SourceText> {
    let text = lines.join("\n");
    match map_of(&text).filter(|_| !markdown::names_a_section(&text)) {
        Some(map) => texts_of_yaml(from, lines, map),
        None => texts_of_lines(from, lines),
    }
}

fn texts_of_yaml(from: usize, lines: &[&str], map: Mapping) -> Vec<SourceText> {
    let mut leaves = Vec::new();
    for (key, value) in &map {
        // A section without a text says nothing.
        let is_empty = matches!(value, Value::Null)
            || value.as_str() == Some("")
            || value.as_sequence().is_some_and(Vec::is_empty)
            || value.as_mapping().is_some_and(Mapping::is_empty);
        if !is_empty {
            leaves_of(
                &Value::Mapping(Mapping::from_iter([(key.clone(), value.clone())])),
                TextKind::Plain,
                &mut leaves,
            );
        }
    }
    // The texts are in the order of the lines. Far lines are not searched, because that takes long in long files.
    let mut last = 0;
    let mut line_of = |leaf: &str| {
        let first = leaf.lines().next().unwrap_or_default();
        let at = lines[last..].iter().take(FAR).position(|line| line.contains(first));
        last += at.unwrap_or_default();
        from + last + 1
    };
    let unread = unread(lines);
    // The line has more of this text than YAML tells.
    for cut in unread.iter().filter_map(|unread| unread.cut.as_ref()) {
        leaves.iter().position(|(text, _)| text == cut).map(|at| leaves.remove(at));
    }
    let source = |line, text, kind| SourceText { line, text, kind, wrapped: Vec::new() };
    let leaves = leaves.into_iter().map(|(text, kind)| source(line_of(&text), text, kind));
    let unread = unread.into_iter().map(|one| source(from + one.at + 1, one.text, TextKind::Plain));
    leaves.chain(unread).collect()
}

fn texts_of_lines(from: usize, lines: &[&str]) -> Vec<SourceText> {
    let mut all: Vec<Vec<(String, TextKind)>> = lines.iter().map(|line| pieces(line)).collect();
    for (at, line) in lines.iter().enumerate().skip(1) {
        // A line of the other kind of heading.
        let is_underline = |mark: char| line.len() > 1 && line.trim_end().trim_matches(mark).is_empty();
        if is_underline('=') || is_underline('-') {
            all[at - 1].iter_mut().for_each(|(_, kind)| *kind = TextKind::Name);
        }
    }
    let mut texts = Vec::new();
    for (at, pieces) in all.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| all[at].last());
        let behind = all.get(at + 1).and_then(|pieces| pieces.first());
        for (text, kind) in pieces {
            let is_short = words(text).split_whitespace().count() <= 2;
            let joined = [
                before.map(|(before, _)| format!("{before} {text}")),
                behind.map(|(behind, _)| format!("{text} {behind}")),
            ];
            let wrapped = joined.into_iter().flatten().filter(|_| is_short).collect();
            texts.push(SourceText { line: from + at + 1, text: text.clone(), kind: *kind, wrapped });
        }
    }
    texts
}

/// What YAML does not tell of a line: a comment, or a number as it is spelled.
struct Unread {
    /// The number of the line, from 0.
    at: usize,
    text: String,
    /// What YAML tells instead.
    cut: Option<String>,
}

fn unread(lines: &[&str]) -> Vec<Unread> {
    let mut found = Vec::new();
    let mut block = None;
    for (at, line) in lines.iter().enumerate() {
        let bare = line.trim_start();
        let margin = line.len() - bare.len();
        if block.is_some_and(|block| bare.is_empty() || margin > block) {
            continue;
        }
        let bare = bare.trim_start_matches("- ");
        let value = bare.split_once(": ").map_or(bare, |(_, value)| value).trim();
        block = value.starts_with(['|', '>']).then_some(margin);
        let (said, comment) = without_comment(if bare.starts_with('#') { bare } else { value });
        let is_words = !said.is_empty() && !said.starts_with(['"', '\'', '[', '{', '|', '>']);
        if !comment.is_empty() {
            let text = if is_words { value } else { comment };
            found.push(Unread { at, text: text.to_owned(), cut: is_words.then(|| said.trim().to_owned()) });
        }
        if is_words && !comment.is_empty() {
            continue;
        }
        let is_number = |word: &&str| word.len() <= 64 && matches!(serde_yaml::from_str(word), Ok(Value::Number(_)));
        let numbers = said.split([',', '[', ']', '{', '}']).map(str::trim).filter(is_number);
        found.extend(numbers.map(|word| Unread { at, text: word.to_owned(), cut: None }));
    }
    found
}

/// The value of a line of YAML, and the text of the comment behind it.
fn without_comment(value: &str) -> (&str, &str) {
    // A quote may have ` #` in it.
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let from = quote.and_then(|quote| value.rfind(quote)).unwrap_or(0);
    let at = if value.starts_with('#') { Some(0) } else { value[from..].find(" #").map(|at| from + at) };
    let (said, comment) = value.split_at(at.unwrap_or(value.len()));
    (said, comment.trim_start_matches([' ', '#']).trim_end())
}

/// The keys and values of a YAML value. A key that only says what its value is, as `task` or `phase` do, is not a text.
fn leaves_of(value: &Value, kind: TextKind, leaves: &mut Vec<(String, TextKind)>) {
    match value {
        Value::Mapping(map) => {
            for (key, value) in map {
                let key = crate::scalar::plain(key);
                let is_label = is_label(&key);
                if !is_label {
                    leaves.push((key, TextKind::Name));
                }
                leaves_of(value, if is_label { TextKind::Labelled } else { TextKind::Plain }, leaves);
            }
        }
        Value::Sequence(items) => items.iter().for_each(|item| leaves_of(item, kind, leaves)),
        value => leaves.push((crate::scalar::plain(value), kind)),
    }
}

/// Words that say what their value is, and stand for nothing themselves.
fn is_label(key: &str) -> bool {
    let key = key.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let labels = [
        "task", "phase", "status", "decision", "what", "choice", "key", "title", "name", "topic", "id", "text",
        "value", "state", "time", "branch", "type", "reason",
    ];
    labels.contains(&&*key) || handoff::is_head_key(&key)
}

/// The texts of a line that is not YAML: its key and its value, if it has both.
fn pieces(line: &str) -> Vec<(String, TextKind)> {
    let line = line.trim();
    if line.starts_with('|') && line.ends_with('|') && line.len() > 2 {
        let cells = line[1..line.len() - 1].split('|').map(str::trim);
        let cells = cells.filter(|cell| !cell.trim_matches(['-', ':']).is_empty() && !is_label(cell));
        return cells.map(|cell| (cell.replace('\\', ""), TextKind::Name)).collect();
    }
    let bare = line.trim_start_matches(['-', '*', '+', '#', '>', ' ', '\t']).trim_end_matches(['#', ' ']);
    // The colon of `**Now:** Create the PR` ends the key.
    let bare = bare.replacen(":**", "**:", 1).replacen(":__", "__:", 1);
    let is_name = line.starts_with('#') || bare.ends_with("**") || bare.ends_with(':');
    let pair = bare.split_once(": ").or_else(|| bare.strip_suffix(':').map(|key| (key, "")));
    // An empty value says nothing.
    let is_empty = |value: &str| matches!(value.trim(), "[]" | "{}" | "null" | "~" | "\"\"");
    let texts = match pair {
        Some((_, value)) if is_empty(value) => Vec::new(),
        Some((key, value)) if is_label(key) => {
            vec![(value, TextKind::Labelled)]
        }
        Some((key, value)) => vec![(key, TextKind::Name), (value, TextKind::Plain)],
        None => vec![(&*bare, if is_name { TextKind::Name } else { TextKind::Plain })],
    };
    let is_fence = |text: &str| text.starts_with("```") || text.starts_with("~~~");
    let texts = texts.into_iter().map(|(text, kind)| (text.trim().to_owned(), kind));
    texts.filter(|(text, _)| !text.is_empty() && !is_fence(text)).collect()
}
