//! The elements of a list in a merge: what tells them apart, and where each goes.

use std::collections::{BTreeMap, HashMap, HashSet};

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::lines::counted;
use super::tree::{Members, Tree};

/// The keys by which the records of a list are told apart, in the order in which they are tried. `+` joins two.
const IDENTITIES: &str =
    "id _id uuid name label taskName repo hooks command matcher+command key module event host image";

/// Where the order of the elements says what is done, even if all of them differ.
const SEQUENCES: &str =
    "args argv arguments command cmd entrypoint steps stages pipeline script before_script after_script";

/// What each element of these lists is known by, if all are records and no list has one of them twice.
pub fn identities<const N: usize>(lists: [&[Tree]; N]) -> Option<[Vec<String>; N]> {
    if lists.iter().all(|items| items.is_empty()) {
        return None;
    }
    let known = |identity: &dyn Fn(&Tree) -> Option<String>| {
        let ids = lists.map(|items| items.iter().map_while(identity).collect::<Vec<_>>());
        let is_known = |(ids, items): (&Vec<String>, &&[Tree])| ids.len() == items.len() && are_distinct(ids);
        ids.iter().zip(&lists).all(is_known).then_some(ids)
    };
    // Two hooks that both sides brought may begin with the same command.
    let is_one = |keys: &str, ids: &[Vec<String>; N]| {
        let is_twice = |id: &String| ids[1..].iter().filter(|side| side.contains(id)).count() > 1;
        keys != "hooks" || ids[1..].iter().flatten().all(|id| ids[0].contains(id) || !is_twice(id))
    };
    let by_keys = || {
        let mut all = IDENTITIES.split(' ');
        all.find_map(|keys| known(&|item| identity(item, keys)).filter(|ids| is_one(keys, ids)))
    };
    known(&assigned).or_else(by_keys)
}

/// The same where no key tells all of them apart: each is known by the first of the keys that most of the lists have, as
/// far as the first list has it and none has it twice, and any other by all that it holds: two that both came new are two.
pub fn single_identities<const N: usize>(lists: [&[Tree]; N]) -> [Vec<String>; N] {
    let named = |item: &Tree| -> Vec<String> {
        let keys = IDENTITIES.split(' ');
        keys.filter_map(|keys| identity(item, keys).map(|value| format!("{keys}={value}"))).collect()
    };
    let names = lists.map(|items| items.iter().map(named).collect::<Vec<_>>());
    let counts = names.each_ref().map(|names| counted(names.iter().flatten()));
    let spread = |name: &String| {
        let found = counts.iter().filter_map(|counts| counts.get(name).copied()).collect::<Vec<usize>>();
        if counts[0].contains_key(name) && found.iter().all(|count| *count == 1) { found.len() } else { 0 }
    };
    let known_by = |(item, names): (&Tree, &Vec<String>)| {
        let best = names.iter().map(|name| (spread(name), name)).rev().max_by_key(|(lists, _)| *lists);
        best.filter(|(lists, _)| *lists > 1).map_or_else(|| item.spelling(), |(_, name)| name.clone())
    };
    std::array::from_fn(|at| lists[at].iter().zip(&names[at]).map(known_by).collect())
}

/// The name of a variable that an element sets, as those of an environment in a compose file do.
fn assigned(item: &Tree) -> Option<String> {
    let text = matches!(item, Tree::Leaf(_)).then(|| item.name())?;
    let (name, _) = text.split_once('=')?;
    let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    (!name.is_empty() && is_name(name)).then(|| name.to_owned())
}

/// The values of these keys. The commands of a hook may be in a list of its own: the first of them, to which others may
/// come, stands for `hooks`, and all of them for `command`.
fn identity(item: &Tree, keys: &str) -> Option<String> {
    let value = |key: &str| match (item.key(key), item.key("hooks").and_then(Tree::items)) {
        (Some(Tree::Array(hooks)), _) if key == "hooks" => identity(hooks.first()?, "command"),
        (Some(leaf @ Tree::Leaf(_)), _) if key != "hooks" => Some(leaf.name()),
        (None, Some(hooks)) if key == "command" => {
            let commands = hooks.iter().map(|hook| identity(hook, "command"));
            Some(commands.collect::<Option<Vec<_>>>()?.join("\u{1}"))
        }
        _ => None,
    };
    Some(keys.split('+').map(value).collect::<Option<Vec<_>>>()?.join("\u{0}"))
}

pub fn spelled(items: &[Tree]) -> Vec<String> {
    items.iter().map(Tree::spelling).collect()
}

/// For each element of `to` its number in `from`, if it is there, changed or not.
pub fn same(from: &[Tree], to: &[Tree]) -> Vec<Option<usize>> {
    let [from, to] = identities([from, to]).unwrap_or_else(|| single_identities([from, to]));
    let numbers: HashMap<&String, usize> = from.iter().enumerate().rev().map(|(at, item)| (item, at)).collect();
    to.iter().map(|item| numbers.get(item).copied()).collect()
}

/// The same for records of a log, of which only those with an id of their own are there if they were changed.
pub fn same_ids(from: &[Tree], to: &[Tree]) -> Vec<Option<usize>> {
    let id = |item: &Tree| ["id", "_id", "uuid"].iter().find_map(|key| Some(format!("{key}={}", identity(item, key)?)));
    let [ids, wanted] = [from, to].map(|items| items.iter().map(|item| id(item).unwrap_or_else(|| item.spelling())));
    let [ids, wanted] = [ids.collect::<Vec<_>>(), wanted.collect()];
    if !are_distinct(&ids) || !are_distinct(&wanted) {
        return equal(from, to);
    }
    let numbers: HashMap<&String, usize> = ids.iter().enumerate().map(|(at, id)| (id, at)).collect();
    wanted.iter().map(|id| numbers.get(id).copied()).collect()
}

/// The same for elements that are there unchanged.
pub fn equal(from: &[Tree], to: &[Tree]) -> Vec<Option<usize>> {
    let numbers: HashMap<&Tree, usize> = from.iter().enumerate().rev().map(|(at, item)| (item, at)).collect();
    to.iter().map(|item| numbers.get(item).copied()).collect()
}

/// The same for elements that keep their order; one that moved is new.
pub fn kept(from: &[Tree], to: &[Tree]) -> Vec<Option<usize>> {
    let [old, new] = identities([from, to]).unwrap_or_else(|| single_identities([from, to]));
    let mut kept = vec![None; to.len()];
    for op in difference(&old, &new) {
        if matches!(op, DiffOp::Equal { .. }) {
            op.new_range().zip(op.old_range()).for_each(|(at, was)| kept[at] = Some(was));
        }
    }
    kept
}

pub fn are_distinct<T: Eq + std::hash::Hash>(items: &[T]) -> bool {
    items.iter().collect::<HashSet<_>>().len() == items.len()
}

/// Whether the list at this path is a sequence and no set: a list of arguments, or steps that are done in turn.
pub fn is_sequence(path: &str, lists: &[&[Tree]]) -> bool {
    let key = path.rsplit('.').next().unwrap_or_default();
    let is_option = |item: &Tree| matches!(item, Tree::Leaf(leaf) if leaf.starts_with("\"-"));
    SEQUENCES.split(' ').any(|name| name == key) || lists.iter().any(|items| items.iter().any(is_option))
}

/// Lists that are longer together are compared as a whole, because a comparison may take quadratic time.
const LIMIT: usize = 5_000;

/// What differs between two lists.
fn difference(old: &[String], new: &[String]) -> Vec<DiffOp> {
    if old.len() + new.len() <= LIMIT {
        return capture_diff_slices(Algorithm::Myers, old, new);
    }
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_len, new_len) = (old.len() - head - tail, new.len() - head - tail);
    let equal = |old_index, new_index, len| DiffOp::Equal { old_index, new_index, len };
    let middle = match (old_len, new_len) {
        (0, _) => DiffOp::Insert { old_index: head, new_index: head, new_len },
        (_, 0) => DiffOp::Delete { old_index: head, old_len, new_index: head },
        _ => DiffOp::Replace { old_index: head, old_len, new_index: head, new_len },
    };
    vec![equal(0, 0, head), middle, equal(old.len() - tail, new.len() - tail, tail)]
}

/// An edit of a list: what it put where. A place is the number of an element of the base.
#[derive(Default)]
struct ListEdit<'l> {
    before: BTreeMap<usize, &'l [String]>,
    instead: BTreeMap<usize, &'l [String]>,
    gone: HashSet<usize>,
}

impl<'l> ListEdit<'l> {
    fn of(base: &[String], side: &'l [String]) -> ListEdit<'l> {
        let mut edit = ListEdit::default();
        for op in difference(base, side) {
            let (old, new) = (op.old_range(), &side[op.new_range()]);
            match op {
                DiffOp::Equal { .. } => {}
                DiffOp::Insert { .. } => drop(edit.before.insert(old.start, new)),
                DiffOp::Delete { .. } => edit.gone.extend(old),
                DiffOp::Replace { .. } => {
                    // Each takes the place of one, and the rest that of the last.
                    for at in old.clone() {
                        let from = (at - old.start).min(new.len());
                        let to = if at + 1 == old.end { new.len() } else { (from + 1).min(new.len()) };
                        edit.instead.insert(at, &new[from..to]);
                    }
                    edit.gone.extend(old);
                }
            }
        }
        edit
    }
}

/// Whether one side of a sequence removed or changed what the other changed, or an option whose value the other changed.
fn are_entangled(base: &[String], [theirs, ours]: &[ListEdit<'_>; 2]) -> bool {
    let put = |edit: &ListEdit<'_>, at: usize| edit.instead.get(&at).copied().unwrap_or_default().to_vec();
    let is_disputed =
        |at: usize| theirs.gone.contains(&at) && ours.gone.contains(&at) && put(theirs, at) != put(ours, at);
    let is_split = |at: usize, one: &ListEdit<'_>, other: &ListEdit<'_>| {
        let is_option = at > 0 && base[at - 1].starts_with("\"-") && !base[at].starts_with("\"-");
        is_option && one.gone.contains(&at) && other.gone.contains(&(at - 1)) && !one.gone.contains(&(at - 1))
    };
    (0..base.len()).any(|at| is_disputed(at) || is_split(at, theirs, ours) || is_split(at, ours, theirs))
}

/// The elements of a set that each side put in place of one of the base that neither has any more, where the other
/// side put another. What a side put beyond that is an addition.
pub fn disputed<'l>([base, overlay, workspace]: &'l [Vec<String>; 3]) -> [HashSet<&'l String>; 2] {
    let edits = [overlay, workspace].map(|side| ListEdit::of(base, side));
    let [old, theirs, ours] = [base, overlay, workspace].map(HashSet::<&String>::from_iter);
    let new = |edit: &ListEdit<'l>, at: usize, other: &HashSet<&String>| -> Option<&'l String> {
        edit.instead.get(&at)?.first().filter(|item| !old.contains(item) && !other.contains(item))
    };
    let mut disputed: [HashSet<&'l String>; 2] = [HashSet::new(), HashSet::new()];
    for at in (0..base.len()).filter(|at| !theirs.contains(&base[*at]) && !ours.contains(&base[*at])) {
        if let (Some(theirs), Some(ours)) = (new(&edits[0], at, &ours), new(&edits[1], at, &theirs)) {
            disputed[0].insert(theirs);
            disputed[1].insert(ours);
        }
    }
    disputed
}

/// The elements of a list after two edits of it, each where a side put it; where both put some, the overlay's come
/// first. Of a set, `left` is what the merge left; each of these occurs once. `None` if both sides of a sequence put
/// different elements in one place.
pub fn merged(left: Option<&Members>, [base, overlay, workspace]: &[Vec<String>; 3]) -> Option<Vec<String>> {
    let edits = [overlay, workspace].map(|side| ListEdit::of(base, side));
    let all = [overlay, workspace].map(HashSet::<&String>::from_iter);
    let put = |[theirs, ours]: [Option<&&[String]>; 2]| match (theirs.copied(), ours.copied()) {
        (theirs, None | Some([])) => Some(theirs.unwrap_or_default().to_vec()),
        (None | Some([]), Some(ours)) => Some(ours.to_vec()),
        (Some(theirs), Some(ours)) if left.is_some() => Some([theirs, ours].concat()),
        (Some(theirs), Some(ours)) => (theirs == ours).then(|| theirs.to_vec()),
    };
    if left.is_none() && are_entangled(base, &edits) {
        return None;
    }
    let mut merged = Vec::new();
    for at in 0..=base.len() {
        merged.extend(put(edits.each_ref().map(|edit| edit.before.get(&at)))?);
        // What one side removed and the other changed is in neither list of both.
        let stays = |item: &&String| {
            edits.iter().all(|edit| !edit.gone.contains(&at))
                || left.is_some() && !all.iter().all(|side| side.contains(item))
        };
        merged.extend(base.get(at).filter(stays).cloned());
        merged.extend(put(edits.each_ref().map(|edit| edit.instead.get(&at)))?);
    }
    let mut seen = HashSet::new();
    merged.retain(|item| left.is_none_or(|left| left.contains_key(item) && seen.insert(item.clone())));
    Some(merged)
}
