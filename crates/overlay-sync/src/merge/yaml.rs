//! YAML: the merged tree decides, and lines are taken as the text when they say the same; comments and
//! layout survive wherever the two sides did not touch the same lines.

use serde::Deserialize;
use serde_yaml::Value;

use super::tree::{self, Tree};
use super::{Input, Kind, Merged, Rule, lines};

/// Parsing is quadratic in depth, so size is capped well before it hurts.
const LIMIT: usize = 100 * 1024;

pub fn merge(input: &Input<'_>) -> Option<Merged> {
    tree::merge(input, parse, |text, from, to, _| rewrite(text, from, to))
}

/// Edits a text that says `from` until it says `to`: the difference of the two, each written plainly, is
/// put onto the text where its lines allow, so that comments stay; else it is written anew, if it has no
/// comment or mark that would be lost by that.
pub fn rewrite(text: &[u8], from: &Tree, to: &Tree) -> Option<Vec<u8>> {
    if text.split(|b| *b == b'\n').any(|line| line.starts_with(b"---")) {
        // Several documents, or marks around one: these are not written anew.
        return None;
    }
    let plain = |tree| Some(serde_yaml::to_string(&value(tree)?).ok()?.into_bytes());
    let (from, wanted) = (plain(from)?, plain(&to.in_order_of(from))?);
    let input = Input { base: Some(&from), overlay: text, workspace: &wanted, kind: Kind::Yaml, rule: Rule::Overlay };
    let edited = lines::merge(&input);
    let says = edited.conflicts.is_empty() && parse(&edited.bytes).is_some_and(|said| said.same(to));
    let is_bare = !text.iter().any(|b| b"#&*!|>".contains(b));
    if says { Some(edited.bytes) } else { is_bare.then_some(wanted) }
}

/// The tree of a document, or of several by their numbers; none for keys that are no strings, and for tags.
pub fn parse(bytes: &[u8]) -> Option<Tree> {
    if bytes.len() > LIMIT {
        return None;
    }
    // To the parser a byte order mark is a blank, by which the first key is further in than the second.
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
        // JSON, by which leaves are spelt, has no word for these.
        Value::Number(number) if number.as_f64().is_some_and(|n| !n.is_finite()) => return None,
        leaf => Tree::Leaf(serde_json::to_string(leaf).ok()?),
    })
}

fn value(tree: &Tree) -> Option<Value> {
    Some(match tree {
        Tree::Object(entries) => {
            let entries = entries.iter().map(|(key, tree)| Some((Value::from(key.as_str()), value(tree)?)));
            Value::Mapping(entries.collect::<Option<_>>()?)
        }
        Tree::Array(items) => Value::Sequence(items.iter().map(value).collect::<Option<_>>()?),
        Tree::Leaf(leaf) => serde_json::from_str(leaf).ok()?,
    })
}
