//! YAML as trees, and trees as YAML.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex_lite::Regex;
use serde::Deserialize;
use serde_yaml::Value;

use super::tree::Tree;

/// Parsing takes quadratic time in depth, so larger texts are not parsed.
const LIMIT: usize = 100 * 1024;

/// Surrounds a text that is to be quoted. The character is in the private use area; a file that contains it is not
/// written anew.
const QUOTED: char = '\u{e000}';

/// Plain words that some reader does not take for text: the words, numbers and times of YAML 1.1 (yaml.org/type) and of
/// 1.2's core schema, and Ruby's numbers with commas and symbols.
static NO_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    let number = r"[-+]?[0-9][0-9_,]*(:[0-9]+)*(\.[0-9_]*)?(e[-+]?[0-9]+)?|[-+]?\.[0-9_]+(e[-+]?[0-9]+)?";
    let based = r"[-+]?0(x[0-9a-f_]+|o[0-7_]+|b[01_]+)|[-+]?\.inf|\.nan";
    let time = r"-?[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([ t][-+0-9:. z]*)?";
    let word = r"y|yes|n|no|true|false|on|off|null|~|<<|=|:\w+";
    Regex::new(&format!("(?i)^({number}|{based}|{time}|{word})$")).expect("the pattern is fixed")
});

/// Writes a tree as a text that every reader reads alike. Strings stay strings, with the quotes that they have in
/// `model`. A string that is not quoted there, in this line or as this key, is written without quotes too.
pub fn written(tree: &Tree, model: &str) -> Option<Vec<u8>> {
    if model.contains(QUOTED) || tree.spelling().contains(QUOTED) {
        return None;
    }
    let lines: HashSet<&str> = model.lines().map(bare).collect();
    let keys = lines.iter().filter_map(|line| line.split_once(": ").map(|(key, _)| key).or(line.strip_suffix(':')));
    let keys: HashSet<&str> = keys.collect();
    let marked = serde_yaml::to_string(&value(tree)?).ok()?;
    let mut text = String::with_capacity(marked.len());
    for line in marked.split_inclusive('\n') {
        let plain = line.replace(QUOTED, "");
        let parts: Vec<&str> = line.split(QUOTED).collect();
        let is_quoted =
            |part: &&str| [format!("\"{part}\""), format!("'{part}'")].iter().any(|text| model.contains(text));
        if lines.contains(bare(&plain)) && !parts.iter().skip(1).step_by(2).any(is_quoted) {
            text.push_str(&plain);
            continue;
        }
        for (i, part) in parts.iter().enumerate() {
            let is_known_key = parts.get(i + 1).is_some_and(|rest| rest.starts_with(':')) && keys.contains(part);
            let double = format!("\"{part}\"");
            match i % 2 {
                1 if is_known_key => text.push_str(part),
                1 if model.contains(&double) => text.push_str(&double),
                1 => text.extend(["'", *part, "'"]),
                _ => text.push_str(part),
            }
        }
    }
    parse(text.as_bytes())?.same(tree).then(|| text.into_bytes())
}

/// The content of a block's line, without its indentation and its comment.
fn bare(line: &str) -> &str {
    line.split(" #").next().unwrap_or(line).trim().trim_start_matches("- ")
}

/// A string for the emitter, which knows only one dialect, marked where another dialect needs quotes.
fn marked(text: &str) -> Value {
    if NO_TEXT.is_match(text) { Value::from(format!("{QUOTED}{text}{QUOTED}")) } else { Value::from(text) }
}

/// The tree of a document, or of several documents by their numbers; `None` when it has keys that are not strings, or
/// tags.
pub fn parse(bytes: &[u8]) -> Option<Tree> {
    if bytes.len() > LIMIT {
        return None;
    }
    // To the parser a byte order mark is a blank, which would indent the first key.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let documents = serde_yaml::Deserializer::from_slice(bytes).map(|one| tree(&Value::deserialize(one).ok()?));
    let mut documents = documents.collect::<Option<Vec<Tree>>>()?;
    if documents.len() < 2 {
        return documents.pop();
    }
    let numbered = documents.into_iter().enumerate().map(|(i, tree)| (format!("document {}", i + 1), tree));
    Some(Tree::Object(numbered.collect()))
}

fn tree(value: &Value) -> Option<Tree> {
    Some(match value {
        Value::Mapping(mapping) => {
            let entries = mapping.iter().map(|(key, value)| Some((key.as_str()?.to_owned(), tree(value)?)));
            Tree::Object(entries.collect::<Option<_>>()?)
        }
        Value::Sequence(items) => Tree::Array(items.iter().map(tree).collect::<Option<_>>()?),
        Value::Tagged(_) => return None,
        // Leaves are spelled as JSON, which cannot express these.
        Value::Number(number) if number.as_f64().is_some_and(|n| !n.is_finite()) => return None,
        leaf => Tree::Leaf(serde_json::to_string(leaf).ok()?),
    })
}

fn value(tree: &Tree) -> Option<Value> {
    Some(match tree {
        Tree::Object(entries) => {
            let entries = entries.iter().map(|(key, tree)| Some((marked(key), value(tree)?)));
            Value::Mapping(entries.collect::<Option<_>>()?)
        }
        Tree::Array(items) => Value::Sequence(items.iter().map(value).collect::<Option<_>>()?),
        Tree::Leaf(leaf) => match serde_json::from_str(leaf).ok()? {
            Value::String(text) => marked(&text),
            other => other,
        },
    })
}
