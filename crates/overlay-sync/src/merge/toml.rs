//! TOML. The overlay's text is edited so that comments and order survive.

use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, TableLike, Value};

use super::list;
use super::tree::{Members, Tree};

/// Edits a text until its tree is `to`. The text of new entries comes from `donor`.
pub fn rewrite(text: &[u8], to: &Tree, donor: &[u8]) -> Option<Vec<u8>> {
    let (mut document, donor) = (document(text)?, document(donor)?);
    let Tree::Object(members) = to else { return None };
    table(document.as_table_mut(), Some(donor.as_table()), members)?;
    Some(document.to_string().into_bytes())
}

pub fn parse(bytes: &[u8]) -> Option<Tree> {
    Some(table_tree(document(bytes)?.as_table()))
}

fn document(bytes: &[u8]) -> Option<DocumentMut> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

fn table_tree(table: &dyn TableLike) -> Tree {
    let entries = table.iter().filter(|(_, item)| !item.is_none());
    Tree::Object(entries.map(|(key, item)| (key.to_owned(), item_tree(item))).collect())
}

fn item_tree(item: &Item) -> Tree {
    match item {
        Item::None => Tree::Leaf(String::new()),
        Item::Value(value) => value_tree(value),
        Item::Table(table) => table_tree(table),
        Item::ArrayOfTables(tables) => Tree::Array(tables.iter().map(|table| table_tree(table)).collect()),
    }
}

fn value_tree(value: &Value) -> Tree {
    match value {
        Value::Array(array) => Tree::Array(array.iter().map(value_tree).collect()),
        Value::InlineTable(table) => table_tree(table),
        Value::String(text) => Tree::Leaf(format!("{:?}", text.value())),
        Value::Integer(number) => Tree::Leaf(number.value().to_string()),
        Value::Float(number) => Tree::Leaf(format!("{:?}", number.value())),
        Value::Boolean(truth) => Tree::Leaf(truth.value().to_string()),
        Value::Datetime(time) => Tree::Leaf(time.value().to_string()),
    }
}

/// Edits a table until its tree is `to`. The text of new entries comes from `theirs`.
fn table(ours: &mut dyn TableLike, theirs: Option<&dyn TableLike>, to: &Members) -> Option<()> {
    let known: Vec<String> = ours.iter().map(|(key, _)| key.to_owned()).collect();
    for key in known.iter().filter(|key| !to.contains_key(*key)) {
        ours.remove(key);
    }
    for (key, tree) in to {
        let their_item = theirs.and_then(|t| t.get(key));
        match ours.get_mut(key) {
            Some(item) if item_tree(item) == *tree => {}
            Some(item) => change(item, their_item, tree)?,
            None => {
                let item = their_item?.clone();
                let blanks = theirs?.key(key)?.leaf_decor().suffix().filter(|_| item.is_value()).cloned();
                ours.insert(key, item);
                // Those before the sign are as they are there.
                if let (Some(blanks), Some(mut name)) = (blanks, ours.key_mut(key)) {
                    name.leaf_decor_mut().set_suffix(blanks);
                }
            }
        }
    }
    Some(())
}

fn change(ours: &mut Item, theirs: Option<&Item>, to: &Tree) -> Option<()> {
    if let (Tree::Object(members), Some(table)) = (to, ours.as_table_like_mut()) {
        self::table(table, theirs.and_then(Item::as_table_like), members)?;
        if table.is_empty() {
            // What only the names of its entries told of needs a header of its own.
            table.set_dotted(false);
            if let Some(table) = ours.as_table_mut() {
                table.set_implicit(false);
            }
        }
        return Some(());
    }
    if let (Tree::Array(items), Some(array)) = (to, ours.as_array_mut()) {
        let theirs_noted = theirs.and_then(Item::as_array).is_some_and(|array| array.to_string().contains('#'));
        if theirs_noted || array.to_string().contains('#') {
            // Only people see which element a comment in an array belongs to.
            return None;
        }
        return set(array, theirs.and_then(Item::as_array), items);
    }
    if let (Tree::Array(items), Some(tables)) = (to, ours.as_array_of_tables_mut()) {
        return set_tables(tables, theirs.and_then(Item::as_array_of_tables), items);
    }
    let theirs = theirs.filter(|item| item_tree(item) == *to)?;
    match (ours.as_value_mut(), theirs.as_value()) {
        (Some(ours), Some(theirs)) => {
            // The decor holds the comment behind the value.
            let decor = ours.decor().clone();
            *ours = theirs.clone();
            *ours.decor_mut() = decor;
        }
        _ => *ours = theirs.clone(),
    }
    Some(())
}

/// The same for `[[tables]]`. A record that both sides changed is edited.
fn set_tables(tables: &mut ArrayOfTables, theirs: Option<&ArrayOfTables>, to: &[Tree]) -> Option<()> {
    let trees = |tables: &ArrayOfTables| tables.iter().map(|table| table_tree(table)).collect::<Vec<_>>();
    let find = |tables: &ArrayOfTables| list::same(&trees(tables), to).into_iter();
    let ours = tables.clone();
    let empty = ArrayOfTables::new();
    let theirs = theirs.unwrap_or(&empty);
    let made = to.iter().zip(find(&ours).zip(find(theirs))).map(|(tree, (ours_at, theirs_at))| {
        let (own, their) = (ours_at.and_then(|at| ours.get(at)), theirs_at.and_then(|at| theirs.get(at)));
        if let Some(same) = own.into_iter().chain(their).find(|table| table_tree(*table) == *tree) {
            return Some(same.clone());
        }
        let mut edited = own?.clone();
        table(&mut edited, their.map(|their| their as &dyn TableLike), tree.members()?)?;
        Some(edited)
    });
    *tables = made.collect::<Option<_>>()?;
    Some(())
}

/// Makes an array hold `to` in this order, each element as one of the sides wrote it. Elements that keep their order
/// stay in place, with the layout around them.
fn set(array: &mut Array, theirs: Option<&Array>, to: &[Tree]) -> Option<()> {
    let from: Vec<Tree> = array.iter().map(value_tree).collect();
    let all: Vec<Value> = array.iter().chain(theirs.into_iter().flat_map(|array| array.iter())).cloned().collect();
    let is_same = |(at, tree): (Option<usize>, &Tree)| at.filter(|at| from[*at] == *tree);
    let kept: Vec<Option<usize>> = list::kept(&from, to).into_iter().zip(to).map(is_same).collect();
    for at in (0..from.len()).rev().filter(|at| !kept.contains(&Some(*at))) {
        array.remove(at);
    }
    for (at, tree) in to.iter().enumerate().filter(|(at, _)| kept[*at].is_none()) {
        let value = all.iter().find(|value| value_tree(value) == *tree)?.clone();
        if at == array.len() { array.push(value) } else { array.insert(at, value) }
    }
    Some(())
}
