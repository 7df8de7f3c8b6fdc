//! JSON as people and agents write it: with comments, trailing commas and any indentation. The merged tree is written
//! as edits of one side's text, so that comments, order and layout survive.

use std::collections::{HashMap, HashSet};

use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::parsed;
use super::texts::{MergeInput, MergedText};
use super::tree::{self, Tree};

/// Comments and trailing commas, but nothing else: an agent must be able to read the file back.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub fn merge(input: &MergeInput<'_>) -> Option<MergedText> {
    tree::merge(input, |bytes| parsed::tree(input.kind, bytes, parse), |text, from, to, _| rewrite(text, from, to))
}

/// Edits a text whose tree is `from` until its tree is `to`.
pub fn rewrite(text: &[u8], from: &Tree, to: &Tree) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    let mark = text.strip_prefix('\u{feff}').map_or("", |_| "\u{feff}");
    let root = CstRootNode::parse(text.trim_start_matches('\u{feff}'), &OPTIONS).ok()?;
    let style = JsonStyle::of(text);
    edit(&root.value()?, from, to, style, |value| root.set_value(value))?;
    Some(format!("{mark}{root}").into_bytes())
}

/// The tree of a text; `None` when it is not JSON or has a key twice. Numbers stay as they are written, because
/// programs read `1e3` or 20 digits differently.
pub fn parse(bytes: &[u8]) -> Option<Tree> {
    let text = std::str::from_utf8(bytes).ok()?;
    // The nodes that edits need would cost five times as much.
    let parsed = parse_to_ast(text.trim_start_matches('\u{feff}'), &CollectOptions::default(), &OPTIONS).ok()?;
    tree(&parsed.value?)
}

fn tree(value: &Value<'_>) -> Option<Tree> {
    Some(match value {
        Value::Object(object) => {
            let mut seen = HashSet::with_capacity(object.properties.len());
            let property = |property: &ObjectProp<'_>| {
                let name = property.name.as_str();
                Some((name.to_owned(), tree(&property.value)?))
            };
            if !object.properties.iter().all(|property| seen.insert(property.name.as_str())) {
                return None;
            }
            Tree::Object(object.properties.iter().map(property).collect::<Option<_>>()?)
        }
        Value::Array(array) => Tree::Array(array.elements.iter().map(tree).collect::<Option<_>>()?),
        Value::NumberLit(number) => Tree::Leaf(number.value.to_owned()),
        Value::StringLit(text) => Tree::Leaf(serde_json::Value::from(&*text.value).to_string()),
        Value::BooleanLit(is) => Tree::Leaf(is.value.to_string()),
        Value::NullKeyword(_) => Tree::Leaf("null".to_owned()),
    })
}

/// How a text is laid out.
#[derive(Clone, Copy, Debug)]
struct JsonStyle {
    /// All of it is on one line, so the library must not begin another one.
    is_one_line: bool,
    /// There are no blanks behind colons and commas.
    is_compact: bool,
}

impl JsonStyle {
    fn of(text: &str) -> JsonStyle {
        JsonStyle {
            is_one_line: !text.trim().contains('\n') && !text.contains("/*"),
            is_compact: text.contains("\":") && !text.contains("\": "),
        }
    }

    fn comma(self) -> &'static str {
        if self.is_compact { "," } else { ", " }
    }

    /// A member of an object on one line.
    fn member(self, key: &str, tree: &Tree) -> String {
        let blank = if self.is_compact { "" } else { " " };
        format!("{}:{blank}{}", serde_json::Value::from(key), self.inline(tree))
    }

    /// A tree on one line.
    fn inline(self, tree: &Tree) -> String {
        match tree {
            Tree::Leaf(leaf) => leaf.clone(),
            Tree::Array(items) => {
                format!("[{}]", items.iter().map(|item| self.inline(item)).collect::<Vec<_>>().join(self.comma()))
            }
            Tree::Object(entries) => {
                let members: Vec<String> = entries.iter().map(|(key, tree)| self.member(key, tree)).collect();
                format!("{{{}}}", members.join(self.comma()))
            }
        }
    }
}

/// Edits `node`, whose tree is `from`, until its tree is `to`.
fn edit(node: &CstNode, from: &Tree, to: &Tree, style: JsonStyle, replace: impl FnOnce(CstInputValue)) -> Option<()> {
    match (from, to) {
        _ if from == to => {}
        (Tree::Object(from), Tree::Object(wanted)) => {
            let stays = tree::by_key(wanted);
            match style.is_one_line && !from.iter().any(|(key, _)| stays.contains_key(key.as_str())) {
                true => replace(CstInputValue::Number(style.inline(to))),
                false => object(&node.as_object()?, from, wanted, style)?,
            }
        }
        (Tree::Array(from), Tree::Array(to)) if keeps_order(from, to) => {
            let node = node.as_array()?;
            match style.is_one_line {
                true => replace(CstInputValue::Number(array_on_one_line(&node, from, to, style))),
                false => array(&node, from, to)?,
            }
        }
        _ if style.is_one_line => replace(CstInputValue::Number(style.inline(to))),
        _ => replace(value(to)?),
    }
    Some(())
}

/// An array on one line: the elements that stay as they are spelled, then the new ones.
fn array_on_one_line(array: &CstArray, from: &[Tree], to: &[Tree], style: JsonStyle) -> String {
    let wanted: HashSet<&Tree> = to.iter().collect();
    let kept = array.elements().into_iter().zip(from).filter(|(_, item)| wanted.contains(item));
    let mut items: Vec<String> = kept.map(|(element, _)| element.to_string()).collect();
    items.extend(to[items.len()..].iter().map(|item| style.inline(item)));
    format!("[{}]", items.join(style.comma()))
}

fn object(object: &CstObject, from: &[(String, Tree)], to: &[(String, Tree)], style: JsonStyle) -> Option<()> {
    // Properties are found by their decoded names, in a map because an object may have thousands.
    let named = |p: CstObjectProp| Some((p.decoded_name()?, p));
    let properties: HashMap<String, CstObjectProp> =
        object.properties().into_iter().map(named).collect::<Option<_>>()?;
    let (known, wanted) = (tree::by_key(from), tree::by_key(to));
    for (key, _) in from.iter().filter(|(key, _)| !wanted.contains_key(key.as_str())) {
        properties.get(key)?.clone().remove();
    }
    let mut added = Vec::new();
    for (key, tree) in to {
        match known.get(key.as_str()) {
            None => added.push((key, tree)),
            Some(old) if *old == tree => {}
            Some(old) => {
                let property = properties.get(key)?;
                edit(&property.value()?, old, tree, style, |value| property.clone().set_value(value))?;
            }
        }
    }
    if added.is_empty() {
        return Some(());
    }
    match object.properties().last() {
        // An object on one line stays on one line. New properties are written behind the last value, because the
        // library would give each property a line of its own and move all of them each time.
        Some(last) if !object.to_string().contains('\n') => {
            let more = added.iter().map(|(key, tree)| format!("{}{}", style.comma(), style.member(key, tree)));
            last.set_value(CstInputValue::Number(format!("{}{}", last.value()?, more.collect::<String>())));
        }
        _ => {
            for (key, tree) in added {
                object.append(key, value(tree)?);
            }
        }
    }
    Some(())
}

/// Whether `to` is `from` with elements removed and others appended.
fn keeps_order(from: &[Tree], to: &[Tree]) -> bool {
    let wanted: HashSet<&Tree> = to.iter().collect();
    let kept: Vec<&Tree> = from.iter().filter(|item| wanted.contains(item)).collect();
    to.len() >= kept.len() && to.iter().zip(&kept).all(|(a, b)| a == *b)
}

fn array(array: &CstArray, from: &[Tree], to: &[Tree]) -> Option<()> {
    let wanted: HashSet<&Tree> = to.iter().collect();
    let mut kept = 0;
    for (element, item) in array.elements().into_iter().zip(from) {
        if wanted.contains(item) {
            kept += 1;
        } else {
            element.remove();
        }
    }
    to[kept..].iter().try_for_each(|item| value(item).map(|value| drop(array.append(value))))
}

fn value(tree: &Tree) -> Option<CstInputValue> {
    Some(match tree {
        Tree::Object(entries) => {
            let entries = entries.iter().map(|(key, tree)| Some((key.clone(), value(tree)?)));
            CstInputValue::Object(entries.collect::<Option<_>>()?)
        }
        Tree::Array(items) => CstInputValue::Array(items.iter().map(value).collect::<Option<_>>()?),
        Tree::Leaf(leaf) => match leaf.as_str() {
            "null" => CstInputValue::Null,
            "true" => CstInputValue::Bool(true),
            "false" => CstInputValue::Bool(false),
            text if text.starts_with('"') => CstInputValue::String(serde_json::from_str(text).ok()?),
            number => CstInputValue::Number(number.to_owned()),
        },
    })
}
