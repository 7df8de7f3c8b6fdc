//! The laws of the merge, for any three texts of every type.

use proptest::prelude::*;

use super::tests::input;
use super::*;

/// A small document and edits of it, so that most sides share most of their content.
fn document() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![(0i64..4).prop_map(serde_json::Value::from), "[a-c]".prop_map(serde_json::Value::from)];
    let set = proptest::collection::btree_set("[a-f]", 0..4).prop_map(|s| serde_json::json!(s));
    let inner = proptest::collection::btree_map("[k-n]", prop_oneof![leaf.clone(), set.clone()], 0..4);
    let object = inner.prop_map(|m| serde_json::json!(m));
    proptest::collection::btree_map("[p-s]", prop_oneof![leaf, set, object], 0..4).prop_map(|m| serde_json::json!(m))
}

fn triples() -> impl Strategy<Value = (serde_json::Value, serde_json::Value, serde_json::Value)> {
    (document(), document(), document(), any::<u8>()).prop_map(|(base, o, x, mix)| {
        // The sides take most keys from the base, so that one-sided changes are common.
        let side = |own: &serde_json::Value, bits: u8| {
            let mut side = base.as_object().unwrap().clone();
            for (i, (key, value)) in own.as_object().unwrap().iter().enumerate() {
                if bits >> (i % 4) & 1 == 1 {
                    side.insert(key.clone(), value.clone());
                }
            }
            if bits & 8 != 0 {
                let first = side.keys().next().cloned();
                first.map(|key| side.remove(&key));
            }
            serde_json::Value::Object(side)
        };
        let (o, x) = (side(&o, mix & 15), side(&x, mix >> 4));
        (base, o, x)
    })
}

fn texts(kind: FileType, value: &serde_json::Value) -> String {
    match kind {
        FileType::Toml => ::toml_edit::ser::to_string(value).unwrap_or_default(),
        FileType::Yaml => serde_yaml::to_string(value).unwrap(),
        _ => serde_json::to_string_pretty(value).unwrap() + "\n",
    }
}

fn lines_of() -> impl Strategy<Value = String> {
    proptest::collection::vec("[A-D]=[1-3]|# [xy]", 0..6)
        .prop_map(|lines| lines.iter().map(|l| format!("{l}\n")).collect())
}

fn endings() -> impl Strategy<Value = String> {
    ("(\\PC?(\n|\r\n)|[AB]?\n|[AB]\r){0,5}", "[AB]?").prop_map(|(lines, last)| lines + &last)
}

/// A value and perhaps a comment above it.
type NotedValue = (u8, Option<u8>);

/// A document of keys with their notes.
type Noted = std::collections::BTreeMap<char, NotedValue>;

fn noted() -> impl Strategy<Value = (Noted, Noted, Noted)> {
    let entry = || (0u8..3, proptest::option::of(0u8..3));
    let whole = proptest::collection::btree_map(prop_oneof![Just('a'), Just('b'), Just('c'), Just('d')], entry(), 0..4);
    let change = || {
        proptest::collection::vec((prop_oneof![Just('a'), Just('c'), Just('e')], proptest::option::of(entry())), 0..2)
    };
    (whole, change(), change()).prop_map(|(base, o, x)| {
        let side = |changes: Vec<(char, Option<NotedValue>)>| {
            let mut side: Noted = base.clone();
            for (key, entry) in changes {
                match entry {
                    Some(entry) => drop(side.insert(key, entry)),
                    None => drop(side.remove(&key)),
                }
            }
            side
        };
        let (o, x) = (side(o), side(x));
        (base, o, x)
    })
}

fn noted_text(kind: FileType, noted: &Noted) -> String {
    let (mark, indent) = if kind == FileType::Json { ("//", "  ") } else { ("#", "") };
    let body: String = noted
        .iter()
        .map(|(key, (value, comment))| {
            // Comments are identified by their text, so the same comment must not occur at two places.
            let comment = comment.map(|n| format!("{indent}{mark} c{n}{key}\n")).unwrap_or_default();
            comment
                + &match kind {
                    FileType::Json => format!("{indent}\"{key}\": {value},\n"),
                    FileType::Toml => format!("{key} = {value}\n"),
                    FileType::Yaml => format!("{key}: {value}\n"),
                    _ => format!("{key}={value}\n"),
                }
        })
        .collect();
    if kind == FileType::Json { format!("{{\n{body}}}\n") } else { body }
}

/// The laws that hold for every type of file.
fn laws(kind: FileType, base: &str, o: &str, x: &str) {
    let m = |b: &str, o: &str, x: &str| merge(&input(kind, b, o, x));
    assert_eq!(m(base, o, base).bytes, o.as_bytes(), "M(b,b,y) = y");
    assert_eq!(m(base, base, x).bytes, x.as_bytes(), "M(b,x,b) = x");
    assert_eq!(m(base, x, x).bytes, x.as_bytes(), "M(b,x,x) = x");
    let both = m(base, o, x);
    let text = String::from_utf8(both.bytes.clone()).unwrap();
    assert!(kind.parses(&both.bytes), "parses: {text}");
    if both.conflicts.is_empty() {
        assert_eq!(m(base, &text, x).bytes, both.bytes, "absorption: {text}");
        let swapped = m(base, x, o);
        assert!(swapped.conflicts.is_empty());
        assert_eq!(sorted(kind, &swapped.bytes), sorted(kind, &both.bytes), "commutes");
    }
    // Nothing is invented.
    let known: Vec<String> = [base, o, x].iter().flat_map(|t| kind.leaves(t.as_bytes()).unwrap()).collect();
    for leaf in kind.leaves(&both.bytes).unwrap() {
        let empty = leaf.ends_with("= []") || leaf.ends_with("= {}");
        assert!(empty || known.contains(&leaf), "invented {leaf}");
    }
}

fn sorted(kind: FileType, bytes: &[u8]) -> Vec<String> {
    let mut leaves = kind.leaves(bytes).unwrap();
    leaves.sort();
    leaves
}

proptest! {
    #[test]
    fn structured_merges_keep_the_laws((base, o, x) in triples()) {
        for kind in [FileType::Json, FileType::Toml, FileType::Yaml] {
            laws(kind, &texts(kind, &base), &texts(kind, &o), &texts(kind, &x));
        }
    }

    #[test]
    fn comments_keep_the_laws_and_none_is_doubled_or_lost_silently((base, o, x) in noted()) {
        for kind in [FileType::Json, FileType::Toml, FileType::Yaml, FileType::Env] {
            let [base, o, x] = [&base, &o, &x].map(|noted| noted_text(kind, noted));
            if kind == FileType::Yaml && [&base, &o, &x].iter().any(|text| !kind.parses(text.as_bytes()) || !text.contains(':')) {
                continue;
            }
            laws(kind, &base, &o, &x);
            let both = merge(&input(kind, &base, &o, &x));
            let text = String::from_utf8(both.bytes).unwrap();
            for comment in ["c0", "c1", "c2"] {
                let count = |text: &str| text.matches(comment).count();
                let (b, o, x, m) = (count(&base), count(&o), count(&x), count(&text));
                // Each side may have added the same words at another place.
                prop_assert!(m <= o.max(x) || m <= b + o.saturating_sub(b) + x.saturating_sub(b), "{kind:?} {comment}: {text}");
                let kept = m > 0 || o < b || x < b || o.max(x) == 0;
                prop_assert!(kept || !both.conflicts.is_empty(), "{kind:?} {comment} is gone: {text}");
            }
        }
    }

    #[test]
    fn line_merges_keep_the_laws(base in lines_of(), o in lines_of(), x in lines_of()) {
        laws(FileType::Env, &dedup(&base), &dedup(&o), &dedup(&x));
        let m = merge(&input(FileType::Text, &base, &o, &x));
        let known: Vec<&str> = [&base, &o, &x].iter().flat_map(|t| t.lines()).collect();
        prop_assert!(String::from_utf8(m.bytes).unwrap().lines().all(|l| known.contains(&l)));
    }

    /// With line endings of each kind, empty lines, and a last line that may have no ending.
    #[test]
    fn text_that_one_side_changed_is_that_side_byte_for_byte(base in endings(), o in endings(), x in endings()) {
        let m = |b: &str, o: &str, x: &str| String::from_utf8(merge_growing(&input(FileType::Text, b, o, x)).bytes).unwrap();
        prop_assert_eq!([m(&base, &o, &base), m(&base, &base, &x), m(&base, &x, &x)], [o, x.clone(), x]);
    }

    #[test]
    fn one_sided_additions_are_in_the_result((base, o, x) in triples()) {
        let m = merge(&input(FileType::Json, &texts(FileType::Json, &base), &texts(FileType::Json, &o), &texts(FileType::Json, &x)));
        let value: serde_json::Value = serde_json::from_slice(&m.bytes).unwrap();
        for (side, other) in [(&o, &x), (&x, &o)] {
            for (key, added) in side.as_object().unwrap() {
                if base.get(key).is_none() && other.get(key).is_none() {
                    prop_assert_eq!(value.get(key), Some(added));
                }
            }
        }
    }
}

/// Keeps the first line of each variable and comment: a merge drops repeated ones, as programs that read the file do.
fn dedup(text: &str) -> String {
    let mut seen = Vec::new();
    let key = |line: &str| line.split('=').next().unwrap_or_default().to_owned();
    text.lines()
        .filter(|l| {
            !seen.contains(&key(l)) && {
                seen.push(key(l));
                true
            }
        })
        .map(|l| format!("{l}\n"))
        .collect()
}

/// Untouched text is that of one side, byte for byte.
#[test]
fn blanks_and_line_endings_that_nobody_changed_stay() {
    for (kind, base, overlay, workspace, expected) in [
        (FileType::Json, "{\"a\":null}", "{}", "{\"a\":null,\"b\":2}", "{\"b\":2}"),
        (FileType::Toml, "a=1\nb=1\n", "a=1\nd=1\n", "a=1\nb=1\nc=inf\ne=07:32:00\n", "a=1\nd=1\nc=inf\ne=07:32:00\n"),
        (
            FileType::JsonLines,
            "{\"a\":1}\n\n{\"b\":1}\n",
            "{\"a\":1}\n\n{\"b\":1}\n{\"c\":1}\n",
            "{\"a\":1}\n\n{\"b\":1}\n\n{\"d\":1}\n",
            "{\"a\":1}\n\n{\"b\":1}\n{\"c\":1}\n\n{\"d\":1}\n",
        ),
        (FileType::Env, "A=1\rB=1\r", "A=2\rB=1\r", "A=1\rB=2\r", "A=1\rB=2\r"),
        (FileType::Env, "A=1\nB=1", "A=2\nB=1", "A=1\nB=2", "A=2\nB=2"),
        (FileType::Text, "a\rb\rc\rd\r", "A\rb\rc\rd\r", "a\rb\rc\rD\r", "A\rb\rc\rD\r"),
        (FileType::Text, "a\rb\nc\nd\n", "A\rb\nc\nd\n", "a\rb\nc\nD\n", "A\rb\nc\nD\n"),
    ] {
        let merged = merge(&input(kind, base, overlay, workspace));
        assert_eq!(String::from_utf8(merged.bytes).unwrap(), expected, "{kind:?}");
    }
}

/// What a large file costs grows with its size. If each of its keys were looked for among all others, this would take
/// minutes.
#[test]
fn a_large_object_is_compared_key_by_key() {
    let text = |n: usize| {
        let keys: Vec<String> =
            (0..20_000).map(|i| format!("\"key-{i}\": {}", if i % 1_000 == 999 { n } else { 0 })).collect();
        format!("{{{}}}", keys.join(",\n")).into_bytes()
    };
    let (old, new) = (text(1), text(2));
    assert_eq!(changes(FileType::Json, &old, &new).changes.len(), 20);
    // Somebody writes from the old view, with a change of their own.
    let here = String::from_utf8(old.clone()).unwrap().replace("\"key-0\": 0", "\"key-0\": 5").into_bytes();
    match freshness(FileType::Json, &new, &here, &[(old, new.clone())], true) {
        Freshness::Stale(_, places) => assert_eq!(places.len(), 20),
        _ => panic!("what arrived is not missed"),
    }
}

/// The first entry and its comment change on one side, and the other side puts a new entry before it.
#[test]
fn comments_are_carried_to_the_side_that_can_take_them() {
    let base = "{\n  // old\n  \"c\": 0,\n}\n";
    let changed = "{\n  // new\n  \"c\": 1,\n}\n";
    let added = "{\n  // first\n  \"a\": 0,\n  // old\n  \"c\": 0,\n}\n";
    for (o, x) in [(changed, added), (added, changed)] {
        let merged = merge(&input(FileType::Json, base, o, x));
        let text = String::from_utf8(merged.bytes).unwrap();
        assert!(merged.conflicts.is_empty(), "{text}");
        assert!(text.contains("// new") && text.contains("// first") && !text.contains("// old"), "{text}");
    }
}
