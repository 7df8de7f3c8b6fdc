//! JSON as people and agents write it: with comments, trailing commas and any indentation. The merged tree is written
//! as edits of one side's text, so that comments, order and layout survive.

use std::collections::{HashMap, HashSet};

use jsonc_parser::ast::Value;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::list;
use super::tree::{Members, Tree, quoted};

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

/// Edits a text whose tree is `from` until its tree is `to`. One that shows no blanks of its own gets those of `donor`.
pub fn rewrite(text: &[u8], from: &Tree, to: &Tree, donor: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    let mark = text.strip_prefix('\u{feff}').map_or("", |_| "\u{feff}");
    let root = CstRootNode::parse(text.trim_start_matches('\u{feff}'), &OPTIONS).ok()?;
    let style = JsonStyle::of(text, &String::from_utf8_lossy(donor));
    edit(&root.value()?, from, to, style, &|value| root.set_value(value))?;
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
            let mut members = Members::with_capacity(object.properties.len());
            for property in &object.properties {
                // A key that occurs twice has two values.
                if members.insert(property.name.as_str().to_owned(), tree(&property.value)?).is_some() {
                    return None;
                }
            }
            Tree::Object(members)
        }
        Value::Array(array) => Tree::Array(array.elements.iter().map(tree).collect::<Option<_>>()?),
        Value::NumberLit(number) => Tree::Leaf(number.value.to_owned()),
        Value::StringLit(text) => Tree::Leaf(quoted(&text.value)),
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
    fn of(text: &str, donor: &str) -> JsonStyle {
        let shown = if text.contains("\":") || text.contains(',') { text } else { donor };
        JsonStyle {
            is_one_line: !text.trim().contains('\n') && !text.contains("/*"),
            is_compact: shown.contains("\":") && !shown.contains("\": "),
        }
    }

    fn comma(self) -> &'static str {
        if self.is_compact { "," } else { ", " }
    }

    /// A member of an object on one line.
    fn member(self, key: &str, tree: &Tree) -> String {
        let blank = if self.is_compact { "" } else { " " };
        format!("{}:{blank}{}", quoted(key), self.inline(tree))
    }

    /// A tree on one line.
    fn inline(self, tree: &Tree) -> String {
        match tree {
            Tree::Leaf(leaf) => leaf.clone(),
            Tree::Array(items) => {
                format!("[{}]", items.iter().map(|item| self.inline(item)).collect::<Vec<_>>().join(self.comma()))
            }
            Tree::Object(members) => {
                let members: Vec<String> = members.iter().map(|(key, tree)| self.member(key, tree)).collect();
                format!("{{{}}}", members.join(self.comma()))
            }
        }
    }
}

/// Edits `node`, whose tree is `from`, until its tree is `to`.
fn edit(node: &CstNode, from: &Tree, to: &Tree, style: JsonStyle, replace: &dyn Fn(CstInputValue)) -> Option<()> {
    match (from, to) {
        _ if from == to => {}
        (Tree::Object(from), Tree::Object(to)) if !style.is_one_line || from.keys().any(|key| to.contains_key(key)) => {
            object(&node.as_object()?, from, to, style)?;
        }
        (Tree::Array(from), Tree::Array(to)) => array(&node.as_array()?, from, to, style, replace)?,
        _ => replace(value(to, style)?),
    }
    Some(())
}

fn object(object: &CstObject, from: &Members, to: &Members, style: JsonStyle) -> Option<()> {
    // Properties are found by their decoded names, in a map because an object may have thousands.
    let named = |p: CstObjectProp| Some((p.decoded_name()?, p));
    let properties: HashMap<String, CstObjectProp> =
        object.properties().into_iter().map(named).collect::<Option<_>>()?;
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        properties.get(key)?.clone().remove();
    }
    let mut added = Vec::new();
    for (key, tree) in to {
        match from.get(key) {
            None => added.push((key, tree)),
            Some(old) => {
                let property = properties.get(key)?;
                edit(&property.value()?, old, tree, style, &|value| property.clone().set_value(value))?;
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
                object.append(key, value(tree, style)?);
            }
        }
    }
    Some(())
}

fn array(
    array: &CstArray,
    from: &[Tree],
    to: &[Tree],
    style: JsonStyle,
    replace: &dyn Fn(CstInputValue),
) -> Option<()> {
    let kept = list::kept(from, to);
    let elements = array.elements();
    if style.is_one_line {
        let items = to.iter().zip(kept).map(|(item, was)| match was.filter(|was| from[*was] == *item) {
            Some(was) => elements[was].to_string(),
            None => style.inline(item),
        });
        replace(CstInputValue::Number(format!("[{}]", items.collect::<Vec<_>>().join(style.comma()))));
        return Some(());
    }
    let stay: HashSet<usize> = kept.iter().flatten().copied().collect();
    for element in elements.iter().enumerate().filter(|(at, _)| !stay.contains(at)).map(|(_, element)| element) {
        element.clone().remove();
    }
    for (at, (item, was)) in to.iter().zip(kept).enumerate() {
        match was {
            Some(was) => edit(&elements[was], &from[was], item, style, &|_| {})?,
            None => drop(array.insert(at, value(item, style)?)),
        }
    }
    Some(())
}

fn value(tree: &Tree, style: JsonStyle) -> Option<CstInputValue> {
    Some(match tree {
        _ if style.is_one_line => CstInputValue::Number(style.inline(tree)),
        Tree::Object(members) => {
            let members = members.iter().map(|(key, tree)| Some((key.clone(), value(tree, style)?)));
            CstInputValue::Object(members.collect::<Option<_>>()?)
        }
        Tree::Array(items) => CstInputValue::Array(items.iter().map(|item| value(item, style)).collect::<Option<_>>()?),
        Tree::Leaf(text) if text.starts_with('"') => CstInputValue::String(serde_json::from_str(text).ok()?),
        // Anything else is written as it is spelled.
        Tree::Leaf(leaf) => CstInputValue::Number(leaf.clone()),
    })
}
