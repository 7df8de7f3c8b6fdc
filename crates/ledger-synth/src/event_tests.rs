//! Proves writer and reader together, and the body grammar against YAML's.

use proptest::prelude::*;
use serde_yaml::Value;

use super::*;
use crate::entry::Checkpoint;
use crate::section::Section;

fn text() -> impl Strategy<Value = String> {
    let pieces = [
        "a",
        "b c",
        ": ",
        " #",
        "#",
        "- ",
        "'",
        "\"",
        "\\",
        "|",
        ">",
        "[",
        "]",
        "{",
        "}",
        ",",
        "&x",
        "*x",
        "!t",
        "%",
        "@",
        "`",
        "~",
        "null",
        "true",
        "1",
        "---",
        "...",
        "<<<<<<< x",
        ">>>>>>> ",
        "```",
        "é",
        "\u{1F600}",
        "\u{feff}",
        "\u{85}",
        "\u{2028}",
        "\u{1b}",
        "\t",
        "\n",
        "\n\n",
        "  ",
        "\r",
        "now:",
        "decisions:\n  k: v",
        "- x\n- y",
        "Phase 1: x",
        "## Now",
        "?",
        "=",
        "<<",
        "0x1f",
        "1e3",
        "2026-01-10",
        "-",
    ];
    let piece = prop_oneof![4 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)];
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat().replace('\0', "0"))
}

/// A text that a flag can hold: one that is not blank.
fn statement() -> impl Strategy<Value = String> {
    text().prop_filter("says nothing", |text| !text.trim().is_empty())
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let register = (prop::sample::select(vec!["now", "goal"]), statement());
    let item = (prop::sample::select(vec!["this_session", "open_questions", "resolved"]), statement());
    let pair = (statement(), prop::option::weighted(0.8, text()));
    let checkpoint = (statement(), text());
    let all = (
        prop::collection::btree_map(register.0, register.1, 0..3),
        prop::collection::vec(item, 0..4),
        prop::collection::btree_map(pair.0, pair.1, 0..3),
        prop::collection::vec(checkpoint, 0..3),
    );
    all.prop_map(|(registers, items, pairs, checkpoints)| {
        let mut entries = Vec::new();
        entries.extend(registers.into_iter().map(|(section, text)| Entry::Text { section: section.into(), text }));
        entries.extend(items.into_iter().map(|(section, text)| Entry::Item { section: section.into(), text }));
        let pairs: std::collections::BTreeMap<_, _> =
            pairs.into_iter().map(|(key, value)| (key.trim().to_owned(), value)).collect();
        entries.extend(pairs.into_iter().map(|(key, value)| Entry::Pair { section: "decisions".into(), key, value }));
        entries.extend(checkpoints.into_iter().map(|(phase, status)| {
            Entry::from(Checkpoint {
                phase: phase.trim().to_owned(),
                status: status.trim().to_owned(),
                ..Checkpoint::default()
            })
        }));
        entries
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_add_writes_is_what_is_read(agent in statement(), branch in statement(), title in statement(), entries in entries()) {
        let ts = event_time::parse("2026-01-10T13:00:00.123Z").expect("an instant");
        let meta = Meta { ts, agent, branch: Some(branch), kind: None, reason: None, title: Some(title) };
        let event = LedgerEvent::new(meta, entries);
        let file = event.render();
        let read = LedgerEvent::parse(&file);
        prop_assert_eq!(read.as_ref(), Ok(&event), "{}", file);

        // Any YAML reader reads the same.
        let parts = event_file::split(&file).expect("an event");
        let front: Value = serde_yaml::from_str(parts.front).expect("a frontmatter");
        prop_assert_eq!(front["agent"].as_str(), Some(event.meta.agent.as_str()));
        let body: Value = serde_yaml::from_str(parts.body).unwrap_or_else(|e| panic!("{e}: {}", parts.body));
        for entry in &event.entries {
            let is_there = match entry {
                Entry::Text { section, text } => body[section.as_str()].as_str() == Some(text),
                Entry::Item { section, text } => {
                    body[section.as_str()].as_sequence().is_some_and(|items| items.iter().any(|item| item.as_str() == Some(text)))
                }
                Entry::Pair { section, key, value } => body[section.as_str()].get(&**key).is_some_and(|v| v.as_str() == value.as_deref()),
                Entry::Checkpoint(c) => body[Section::Checkpoints.word()].as_sequence().is_some_and(|all| {
                    all.iter().any(|one| one["phase"].as_str() == Some(&c.phase) && one["status"].as_str() == Some(&c.status))
                }),
            };
            prop_assert!(is_there, "{entry:?} in {}", parts.body);
        }
    }

    /// A body of any shape can be rendered again and says the same.
    #[test]
    fn any_body_can_be_written_again(pieces in prop::collection::vec(prop_oneof![
        prop::sample::select(vec![
            "now: ", "env:\n", "risks: text\n", "risks:\n", "  a: b\n", "  node: 20\n", "- extra\n", "- x: y\n  z: |\n    1\n    2\n",
            "checkpoints:\n", "- phase: 5\n  note: |\n    a\n    b\n", "## A heading that is longer than eighty characters, for it goes on and on and on, to here\n",
            "prose\n", "```\nx\n```\n", "decisions:\n", "  k: null\n", "- {a: null, b: [1]}\n", "- task:\n", "1. one\n", "**Now:** x\n", "- **k:** v\n", "\n",
            "  continued\n", "# c\n", "goal: \"x\" # y\n", "\"a\\n\": b\n", "- 'a' 'b'\n", "retract:\n",
        ]).prop_map(str::to_owned),
        text(),
    ], 0..8)) {
        let body = pieces.concat();
        let ts = event_time::parse("2026-01-10T13:00:00Z").expect("an instant");
        let meta = Meta { ts, agent: "a".into(), branch: None, kind: None, reason: None, title: None };
        let event = LedgerEvent::new(meta, crate::body::parse(&body));
        let file = event.render();
        if file.contains("<<<<<<<") || file.contains(">>>>>>>") {
            return Ok(());
        }
        let read = LedgerEvent::parse(&file);
        prop_assert_eq!(read.as_ref(), Ok(&event), "{}\n=>\n{}", body, file);
    }

    /// If strict YAML reads a text and the source has no ` #`, we read the same text.
    #[test]
    fn bullets_are_read_as_yaml_reads_texts(bullets in prop::collection::vec(text(), 1..4)) {
        let body: String = bullets.iter().map(|text| format!("- {}\n", text.replace('\n', "\n  "))).collect();
        let source = format!("this_session:\n{body}");
        // A comment right after a block's mark is not YAML, but the parser that we compare with accepts it.
        if source.contains("|#") || source.contains(">#") {
            return Ok(());
        }
        // YAML folds a further line that is a bullet or begins a fence, and we do not.
        let begins_anew = |line: &str| crate::yaml_scalar::bullet(line).is_some() || line.starts_with(['`', '|', '>']);
        if source.lines().any(|line| line.strip_prefix("  ").is_some_and(|line| begins_anew(line.trim_start()))) {
            return Ok(());
        }
        // We drop blanks at the end of a line, also in a block.
        if source.lines().any(|line| line != "- " && line.ends_with(' ')) {
            return Ok(());
        }
        let Ok(yaml) = serde_yaml::from_str::<Value>(&source) else { return Ok(()) };
        let Some(items) = yaml["this_session"].as_sequence() else { return Ok(()) };
        // libyaml takes a `#` right behind a quote for a comment; YAML 1.2 (section 6.6) wants a blank before it.
        let is_lenient = source.contains("'#") || source.contains("\"#");
        if is_lenient || source.contains(" #") || items.len() != bullets.len() || source.contains(['\t', '\u{a0}', '\u{feff}', '\u{85}', '\u{2028}', '\r']) {
            return Ok(());
        }
        let Some(texts) = items.iter().map(Value::as_str).collect::<Option<Vec<_>>>() else { return Ok(()) };
        // A tag or an anchor changes what a text is, and agents do not write them.
        if source.contains(['&', '!', '*']) || texts.iter().any(|text| text.trim().is_empty()) {
            return Ok(());
        }
        let mut want: Vec<String> = texts.into_iter().map(str::to_owned).collect();
        let mut found: Vec<String> = crate::body::parse(&source).into_iter().filter_map(|entry| match entry {
            Entry::Item { text, .. } => Some(text),
            _ => None,
        }).collect();
        want.sort();
        found.sort();
        prop_assert_eq!(found, want, "{}", source);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), body in text()) {
        read(&bytes);
        read(&[b"---\nts: 2026-01-10T13:00:00Z\nagent: a\n---\n", body.as_bytes(), &bytes].concat());
    }
}

fn read(bytes: &[u8]) {
    if let Ok(text) = event_file::decode(bytes) {
        let _ = LedgerEvent::parse(&text);
    }
}

/// Fields that are not ours may have any shape. Those of the first tool count where ours are missing.
#[test]
fn other_fields_of_a_frontmatter_change_nothing() {
    let meta = |front: &str| Meta::parse(front).map(|meta| (meta.ts.to_string(), meta.agent.to_string()));
    let ours = Ok(("2026-01-10T13:00:00Z".to_owned(), "a".to_owned()));
    for front in [
        "\"ts\": 2026-01-10T13:00:00Z\n\"agent\": a\nsession_id: [1]",
        "ts:\n  2026-01-10T13:00:00Z\nagent: a\nsession_id:\n- 1\nschema_version: 1",
        "{ts: \"2026-01-10T13:00:00Z\", agent: a, timestamp: {b: c}}",
        "schema_version: 1.0.0\ntimestamp: 2026-01-10T13:00:00Z\nsession_id: a",
    ] {
        assert_eq!(meta(front).map_err(|problem| problem.why), ours, "{front}");
    }
    assert!(meta("timestamp: 2026-01-10T13:00:00Z\nsession_id: a").is_err());
}
