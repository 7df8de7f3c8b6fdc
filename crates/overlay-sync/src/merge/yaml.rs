//! YAML: the merged tree decides, and lines are taken as the text when they say the same; comments and
//! layout survive wherever the two sides did not touch the same lines.

use serde_yaml::Value;

use super::tree::{self, Tree};
use super::{Input, Merged};

/// Parsing is quadratic in depth, so size is capped well before it hurts.
const LIMIT: usize = 100 * 1024;

pub fn merge(input: &Input<'_>) -> Option<Merged> {
    tree::merge(input, false, parse, |_, merged| Some(serde_yaml::to_string(&value(merged)?).ok()?.into_bytes()))
}

/// The tree of one document; none for several, for keys that are no strings, and for tags.
pub fn parse(bytes: &[u8]) -> Option<Tree> {
    if bytes.len() > LIMIT {
        return None;
    }
    tree(&serde_yaml::from_slice::<Value>(bytes).ok()?)
}

fn tree(value: &Value) -> Option<Tree> {
    Some(match value {
        Value::Mapping(mapping) => {
            let entries = mapping.iter().map(|(key, value)| Some((key.as_str()?.to_owned(), tree(value)?)));
            Tree::Object(entries.collect::<Option<_>>()?)
        }
        Value::Sequence(items) => Tree::Array(items.iter().map(tree).collect::<Option<_>>()?),
        Value::Tagged(_) => return None,
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
