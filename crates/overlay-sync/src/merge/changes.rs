//! What differs between two texts, in places a person can find: key paths and indices, variables, or counts of lines.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::file_type::{FileType, is_binary};
use super::tree::{Tree, join};
use super::{env, lines};

/// The places at which a text was changed. They hold no content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    #[serde(default)]
    pub adds: Vec<String>,
    #[serde(default)]
    pub removes: Vec<String>,
    #[serde(default)]
    pub changes: Vec<String>,
}

impl std::fmt::Display for Changes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all = [("removes", &self.removes), ("changes", &self.changes), ("adds", &self.adds)];
        let parts = all.iter().filter(|(_, places)| !places.is_empty());
        let parts: Vec<String> = parts.map(|(verb, places)| format!("{verb} {}", places.join(", "))).collect();
        f.write_str(&parts.join("; "))
    }
}

/// Compares two texts. A text that is missing is an empty one.
pub fn changes(kind: FileType, before: &[u8], after: &[u8]) -> Changes {
    let mut found = Changes::default();
    if before == after {
        return found;
    }
    if is_binary(before) || is_binary(after) {
        found.changes.push("the bytes".to_owned());
        return found;
    }
    if let (Some(before), Some(after)) = (kind.tree(before), kind.tree(after)) {
        compare("", Some(&before), Some(&after), &mut found);
        if found == Changes::default() {
            found.changes.push("the layout".to_owned());
        }
        return found;
    }
    if kind == FileType::Env && env::is_plain(before) && env::is_plain(after) {
        let [was, now] = [before, after].map(variables);
        compare("", Some(&was), Some(&now), &mut found);
        if found != Changes::default() {
            return found;
        }
    }
    count_lines(kind, before, after, &mut found);
    found
}

fn compare(path: &str, before: Option<&Tree>, after: Option<&Tree>, found: &mut Changes) {
    let place = if path.is_empty() { "the whole file".to_owned() } else { path.to_owned() };
    match (before, after) {
        _ if before == after => {}
        (None, _) => found.adds.push(place),
        (_, None) => found.removes.push(place),
        (Some(Tree::Object(was)), Some(Tree::Object(now))) => {
            for key in was.keys().chain(now.keys().filter(|key| !was.contains_key(*key))) {
                compare(&join(path, key), was.get(key), now.get(key), found);
            }
        }
        (Some(Tree::Array(was)), Some(Tree::Array(now))) => {
            let [before, after] = [was, now].map(|items| items.iter().collect::<HashSet<_>>());
            let gone = was.iter().enumerate().filter(|(_, item)| !after.contains(item));
            let new = now.iter().enumerate().filter(|(_, item)| !before.contains(item));
            let (gone, new): (Vec<_>, Vec<_>) = (gone.collect(), new.collect());
            if gone.is_empty() && new.is_empty() {
                found.changes.push(place);
            }
            found.removes.extend(gone.iter().map(|(at, _)| format!("{path}[{at}]")));
            found.adds.extend(new.iter().map(|(at, _)| format!("{path}[{at}]")));
        }
        (Some(_), Some(_)) => found.changes.push(place),
    }
}

/// The variables of a text with their lines.
fn variables(bytes: &[u8]) -> Tree {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let all = lines::split(bytes).filter_map(|line| Some((text(env::variable(line)?), Tree::Leaf(text(line)))));
    Tree::Object(all.collect())
}

fn count_lines(kind: FileType, before: &[u8], after: &[u8], found: &mut Changes) {
    let (was, now): (Vec<_>, Vec<_>) = (lines::split(before).collect(), lines::split(after).collect());
    let (mut gone, mut new) = (0, 0);
    for op in capture_diff_slices(Algorithm::Myers, &was, &now) {
        if !matches!(op, DiffOp::Equal { .. }) {
            gone += op.old_range().len();
            new += op.new_range().len();
        }
    }
    let name = if kind == FileType::JsonLines { "record" } else { "line" };
    let counted = |count: usize| format!("{count} {name}{}", if count == 1 { "" } else { "s" });
    found.removes.extend((gone > 0).then(|| counted(gone)));
    found.adds.extend((new > 0).then(|| counted(new)));
    if gone + new == 0 {
        found.changes.push("line endings".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_and_contents_are_not() {
        let told = |kind, before: &str, after: &str| changes(kind, before.as_bytes(), after.as_bytes()).to_string();
        let before = r#"{"env": {"A": "1", "B": "2"}, "model": "x", "list": ["a", "b"], "seq": [1, 1]}"#;
        let after = r#"{"env": {"A": "2"}, "list": ["b", "c", "d"], "seq": [1, 1, 1], "new": {"deep": 1}}"#;
        assert_eq!(
            told(FileType::Json, before, after),
            "removes env.B, model, list[0]; changes env.A, seq; adds list[1], list[2], new"
        );
        assert_eq!(told(FileType::Json, "{}", "{ }"), "changes the layout");
        assert_eq!(told(FileType::Json, "[]", "{}"), "changes the whole file");
        assert_eq!(told(FileType::Env, "A=1\nB=1\n", "A=2\nC=1\n"), "removes B; changes A; adds C");
        assert_eq!(told(FileType::Env, "A=1\n", "# x\nA=1\n"), "adds 1 line");
        assert_eq!(told(FileType::Text, "a\nb\n", "b\nc\nd\n"), "removes 1 line; adds 2 lines");
        assert_eq!(told(FileType::JsonLines, "", "{}\n"), "adds 1 record");
        assert_eq!(told(FileType::Text, "a\n", "a\r\n"), "changes line endings");
        assert_eq!(told(FileType::Text, "a\0", "b\0"), "changes the bytes");
    }
}
