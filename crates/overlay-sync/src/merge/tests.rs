//! What a merge makes of real files.

use super::*;

pub(super) fn input<'a>(kind: FileType, base: &'a str, overlay: &'a str, workspace: &'a str) -> MergeInput<'a> {
    MergeInput {
        base: Some(base.as_bytes()),
        overlay: overlay.as_bytes(),
        workspace: workspace.as_bytes(),
        kind,
        rule: Rule::Workspace,
    }
}

fn merged(kind: FileType, base: &str, overlay: &str, workspace: &str) -> (String, Vec<String>) {
    let merged = merge(&input(kind, base, overlay, workspace));
    (String::from_utf8(merged.bytes).unwrap(), merged.conflicts.into_iter().map(|c| c.place).collect())
}

#[test]
fn additions_of_two_agents_to_one_array_and_comments_are_kept() {
    let base = "{\n  // ours\n  \"permissions\": {\n    \"allow\": [\"Bash(ls:*)\"]\n  }\n}\n";
    let overlay = base.replace("[\"Bash(ls:*)\"]", "[\"Bash(ls:*)\", \"Bash(git:*)\"]");
    let workspace = base
        .replace("[\"Bash(ls:*)\"]", "[\"Bash(ls:*)\", \"Bash(npm:*)\"]")
        .replace("{\n  //", "{\n  \"model\": \"x\",\n  //");
    let (text, conflicts) = merged(FileType::Json, base, &overlay, &workspace);
    insta::assert_snapshot!(text, @r#"
    {
      // ours
      "permissions": {
        "allow": ["Bash(ls:*)", "Bash(git:*)", "Bash(npm:*)"]
      },
      "model": "x"
    }
    "#);
    assert!(conflicts.is_empty());
}

#[test]
fn a_scalar_both_changed_is_a_conflict_and_one_sided_changes_beside_it_stay() {
    let (text, conflicts) = merged(
        FileType::Json,
        r#"{"a": 1, "b": 1, "c": 1}"#,
        r#"{"a": 2, "b": 1, "c": 2}"#,
        r#"{"a": 3, "b": 3, "c": 1}"#,
    );
    assert_eq!((text.as_str(), conflicts), (r#"{"a": 3, "b": 3, "c": 2}"#, vec!["a".to_owned()]));
}

#[test]
fn a_change_against_a_deletion_is_kept_and_is_a_conflict() {
    let (text, conflicts) = merged(FileType::Json, r#"{"a": {"x": 1}}"#, r#"{}"#, r#"{"a": {"x": 2}}"#);
    assert_eq!((text.as_str(), conflicts.len()), (r#"{"a": {"x": 2}}"#, 1));
}

#[test]
fn permissions_only_grow() {
    let base = r#"{"permissions": {"allow": ["a", "b"], "deny": ["c"]}, "x": [1, 2]}"#;
    let workspace = r#"{"permissions": {"allow": ["b", "new"]}, "x": [2]}"#;
    let grow = |grow, overlay: &str| {
        let Grown::Back(text, count) = grown(FileType::Json, grow, base.as_bytes(), workspace.as_bytes()) else {
            panic!("nothing was put back")
        };
        let merged = merge(&MergeInput { workspace: &text, ..input(FileType::Json, base, overlay, "") });
        assert!(merged.conflicts.is_empty(), "{:?}", merged.conflicts);
        (serde_json::from_slice::<serde_json::Value>(&merged.bytes).unwrap(), count)
    };
    let both = serde_json::json!({"permissions": {"allow": ["a", "b", "new"], "deny": ["c"]}, "x": [2]});
    assert_eq!(grow(Grow::Permissions, base), (both.clone(), 2));
    // Only the overlay removes entries.
    let mut revoked = both.clone();
    revoked["permissions"]["allow"] = serde_json::json!(["b", "new"]);
    assert_eq!(grow(Grow::Permissions, &base.replace("\"a\", ", "")).0, revoked);
    // Without the policy `deny` still grows; with it for the whole file, everything stays.
    let three_way = serde_json::json!({"permissions": {"allow": ["b", "new"], "deny": ["c"]}, "x": [2]});
    assert_eq!(grow(Grow::Deny, base), (three_way, 1));
    let mut all = both;
    all["x"] = serde_json::json!([1, 2]);
    assert_eq!(grow(Grow::All, base), (all, 3));
}

#[test]
fn entries_that_only_grow_cannot_be_replaced_and_additions_are_kept() {
    let base = r#"{"permissions": {"allow": ["a"]}}"#;
    let grow = |grow, workspace: &str| grown(FileType::Json, grow, base.as_bytes(), workspace.as_bytes());
    for away in ["{}", r#"{"permissions": null}"#, r#"{"permissions": {"allow": "all"}}"#, r#"{"permissions": []}"#] {
        assert_eq!(grow(Grow::Permissions, away), Grown::Back(base.as_bytes().to_vec(), 1), "{away}");
    }
    assert_eq!(grow(Grow::Permissions, r#"{ "model": "x", "permissions": {"allow": ["a", "b"]} }"#), Grown::Same);
    let lines = |base: &str, now: &str| grown(FileType::Text, Grow::All, base.as_bytes(), now.as_bytes());
    assert_eq!(lines("a\nb\nc\n", "a\nC\nd\n"), Grown::Back(b"a\nb\nc\nC\nd\n".to_vec(), 2));
    assert_eq!(lines("a\n", "a\nb\n"), Grown::Same);
    // An odd number elsewhere in the file does not let a removal through.
    let odd = base.replace("\"a\"", "").replace('}', ", \"n\": 1e3}");
    assert!(matches!(grow(Grow::Permissions, &odd.replacen(", \"n\": 1e3}", "}", 1)), Grown::Back(_, 1)), "{odd}");
    let yaml = |now: &[u8]| grown(FileType::Yaml, Grow::All, b"l:\n  - a\n  - b\n", now);
    assert_eq!(yaml(b"l: [b, c] # why\n"), Grown::Back(b"l: [a, b, c] # why\n".to_vec(), 1));
    assert_eq!(yaml(b"l: [b, # why\n  c]\n"), Grown::Back(b"l: [a, b, # why\n  c]\n".to_vec(), 1));
    let env = grown(FileType::Env, Grow::All, b"A=1\nB=1\n", b"A=2\n");
    assert_eq!(env, Grown::Back(b"B=1\nA=2\n".to_vec(), 1));
}

#[test]
fn entries_are_found_taken_out_and_put_back() {
    let text = "{\n  // why\n  \"env\": {\n    \"PORT\": \"3000\", // mine\n    \"LOG\": \"info\"\n  },\n  \"allow\": [\"Bash(rm:*)\", \"Read\"]\n}\n";
    let entry = |kind, address: &str| EntryPath::parse(kind, address).unwrap();
    let port = [entry(FileType::Json, "env.PORT")];
    let stripped = strip(FileType::Json, text.as_bytes(), &port).unwrap();
    let shared = String::from_utf8(stripped.clone()).unwrap();
    assert!(!shared.contains("3000") && shared.contains("// why") && shared.contains("\"LOG\": \"info\""), "{shared}");
    assert_eq!(donate(FileType::Json, &stripped, &port, text.as_bytes()).unwrap(), text.as_bytes());
    let changed = shared.replace("info", "debug");
    let back = String::from_utf8(donate(FileType::Json, changed.as_bytes(), &port, text.as_bytes()).unwrap()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&back.replace("// why", "").replace("// mine", "")).unwrap();
    assert_eq!((value["env"]["PORT"].as_str(), value["env"]["LOG"].as_str()), (Some("3000"), Some("debug")), "{back}");
    let item = entry(FileType::Json, "allow.\"Bash(rm:*)\"");
    assert_eq!((item.count(FileType::Json, text.as_bytes()), item.to_string().as_str()), (1, "allow.\"Bash(rm:*)\""));
    let without = strip(FileType::Json, text.as_bytes(), &[item]).unwrap();
    let without = String::from_utf8(without).unwrap();
    assert!(without.contains("\"Read\"]\n") && !without.contains("rm"), "{without}");
    for bad in ["", "a.", ".a", "\"a", "\"a\"b"] {
        assert_eq!(EntryPath::parse(FileType::Json, bad), None, "{bad}");
    }
    let env = [entry(FileType::Env, "PORT")];
    assert_eq!(strip(FileType::Env, b"A=1\nexport PORT=2\nB=1\n", &env).unwrap(), b"A=1\nB=1\n");
    assert_eq!(donate(FileType::Env, b"A=2\nB=1\n", &env, b"A=1\nPORT=2\nB=1").unwrap(), b"A=2\nPORT=2\nB=1\n");
    let (toml, key) = (b"# top\n[a]\nx = 1 # one\ny = 2\n", [entry(FileType::Toml, "a.x")]);
    let stripped = strip(FileType::Toml, toml, &key).unwrap();
    assert_eq!(donate(FileType::Toml, &stripped, &key, toml).unwrap(), toml);
    let (yaml, key) = (b"# top\na:\n  x: 1\n  y: 2\n", [entry(FileType::Yaml, "a.x")]);
    assert_eq!(String::from_utf8(strip(FileType::Yaml, yaml, &key).unwrap()).unwrap(), "# top\na:\n  y: 2\n");
}

#[test]
fn a_member_counts_as_new_when_any_part_of_it_is() {
    let hooks =
        [EntryPath::parse(FileType::Json, "hooks").unwrap(), EntryPath::parse(FileType::Json, "mcpServers").unwrap()];
    let known = r#"{"hooks": {"Stop": [{"matcher": "A", "command": "x"}, {"matcher": "B", "command": "y"}]}, "mcpServers": {"s": {"args": ["-i", "f"]}}}"#;
    let adds = |now: &str| additions(FileType::Json, now.as_bytes(), &hooks, &[known.as_bytes()]).len();
    assert_eq!(adds(known), 0);
    assert_eq!(adds(r#"{"hooks": {"Stop": [{"command": "y", "matcher": "B"}]}}"#), 0, "taking away adds nothing");
    assert_eq!(adds(&known.replace("\"x\"", "\"y\"")), 1, "parts put together anew are another hook");
    assert_eq!(adds(&known.replace("\"-i\", ", "")), 1, "less of a command is another command");
    assert_eq!(adds(&known.replace("\"s\"", "\"t\"")), 1);
    assert_eq!(adds(r#"{"hooks": ["x"]}"#), 1);
}

#[test]
fn an_answer_may_choose_but_not_invent_or_lose() {
    let (b, o, x) = (r#"{"m": 1, "k": 1}"#, r#"{"m": 2, "k": 1, "o": 1}"#, r#"{"m": 3, "k": 1, "x": 1}"#);
    let refusal = |answer: &str| check(&input(FileType::Json, b, o, x), answer.as_bytes());
    assert_eq!(refusal(r#"{"m": 2, "k": 1, "o": 1, "x": 1}"#), None);
    assert_eq!(refusal(r#"{"m": 3, "k": 1, "o": 1, "x": 1}"#), None);
    for (answer, why) in [
        (r#"{"m": 4, "k": 1, "o": 1, "x": 1}"#, "adds something"),
        (r#"{"m": 3, "k": 1, "x": 1}"#, "leaves out"),
        (r#"{"m": 3, "o": 1, "x": 1}"#, "leaves out"),
        ("", "empty"),
        ("Here is the merge:", "parse"),
        ("```json\n{}\n```", "fence"),
        ("{\"m\": 3", "parse"),
        ("\0", "NUL"),
    ] {
        assert!(refusal(answer).is_some_and(|why_not| why_not.contains(why)), "{answer}: {:?}", refusal(answer));
    }
    assert!(refusal(&" ".repeat(5000)).unwrap().contains("too long"));
    assert!(check(&input(FileType::Json, b, o, x), b"\xff").unwrap().contains("UTF-8"));
    // Nor may it bring back what one side removed.
    let (b, o, x) = (r#"{"m": 1, "rm": 1}"#, r#"{"m": 2}"#, r#"{"m": 3, "rm": 1}"#);
    let back = check(&input(FileType::Json, b, o, x), x.as_bytes());
    assert_eq!(back, Some("brings back what one side removed"));
    let (o, x) = (r#"{"m": 2, "k": 1, "o": 1}"#, r#"{"m": 3, "k": 1, "x": 1}"#);
    let no_base = MergeInput { base: None, ..input(FileType::Json, "", o, x) };
    assert_eq!(check(&no_base, br#"{"m": 3, "k": 1, "o": 1, "x": 1}"#), None);
}

#[test]
fn without_a_base_everything_is_kept_and_the_overlay_wins_conflicts() {
    let merged =
        merge(&MergeInput { base: None, ..input(FileType::Json, "", r#"{"a": 1, "b": 1}"#, r#"{"a": 2, "c": 2}"#) });
    let value: serde_json::Value = serde_json::from_slice(&merged.bytes).unwrap();
    assert_eq!(value, serde_json::json!({"a": 1, "b": 1, "c": 2}));
    assert_eq!(merged.conflicts.len(), 1);
}

#[test]
fn env_lines_merge_by_variable() {
    let base = "# head\nA=1\nB=1\nC=1\n";
    let (text, conflicts) = merged(FileType::Env, base, "# head\nA=2\nB=1\nC=1\nNEW=o\n", "# head\nA=1\nB=1\nNEW2=x\n");
    assert_eq!((text.as_str(), conflicts.len()), ("# head\nA=2\nB=1\nNEW=o\nNEW2=x\n", 0));
    let (text, conflicts) = merged(FileType::Env, base, &base.replace("B=1", "B=o"), &base.replace("B=1", "B=x"));
    assert_eq!((text.as_str(), conflicts), ("# head\nA=1\nB=x\nC=1\n", vec!["B".to_owned()]));
}

#[test]
fn records_of_json_lines_occur_once_whatever_their_line_endings() {
    let (text, _) =
        merged(FileType::JsonLines, "{\"a\":1}\n", "{\"a\":1}\n{\"b\":1}", "{\"a\":1}\r\n{\"c\":1}\r\n{\"b\":1}\r\n");
    assert_eq!(text, "{\"a\":1}\n{\"b\":1}\n{\"c\":1}\n");
}

#[test]
fn toml_and_yaml_keep_their_comments() {
    let base = "# ours\n[a]\nx = 1 # one\nlist = [\"p\"]\n";
    let (text, conflicts) = merged(
        FileType::Toml,
        base,
        &base.replace("[\"p\"]", "[\"p\", \"o\"]"),
        &format!("{}\n[b]\ny = 2 # two\n", base.replace("x = 1", "x = 3").replace("[\"p\"]", "[\"p\", \"w\"]")),
    );
    assert_eq!(text, "# ours\n[a]\nx = 3 # one\nlist = [\"p\", \"o\", \"w\"]\n\n[b]\ny = 2 # two\n");
    assert!(conflicts.is_empty());
    let base = "# ours\na: 1\nb: 1\nc: 1\nd: 1\n";
    let (text, conflicts) =
        merged(FileType::Yaml, base, &base.replace("a: 1", "a: 2"), &base.replace("d: 1", "d: 2 # why"));
    assert_eq!((text.as_str(), conflicts.len()), ("# ours\na: 2\nb: 1\nc: 1\nd: 2 # why\n", 0));
}

#[test]
fn a_last_line_without_its_ending_is_not_joined_to_the_next() {
    let (text, _) = merged(FileType::Text, "a\nb", "new\na\nb", "a\nb\nc");
    assert_eq!(text, "new\na\nb\nc");
}

#[test]
fn a_text_that_does_not_parse_or_is_binary_is_taken_whole() {
    assert_eq!(merged(FileType::Json, "{}", "{\"a\":1}", "{\"b\":").1, ["whole file"]);
    assert_eq!(merged(FileType::Json, "{\"a\": 1}", "{\"a\": 2}", "{\"a\": 1, \"a\": 3}").1, ["whole file"]);
    assert_eq!(merged(FileType::Text, "a", "b\0", "c").1, ["whole file"]);
}

#[test]
fn comments_of_either_side_are_kept_or_their_loss_is_a_conflict() {
    let base = "{\n  \"a\": 1\n}\n";
    let noted = "{\n  // do not remove\n  \"a\": 1\n}\n";
    let changed = base.replace('1', "2");
    let (text, conflicts) = merged(FileType::Json, base, noted, &changed);
    assert!(text.contains("// do not remove") && text.contains("\"a\": 2") && conflicts.is_empty(), "{text}");
    let (text, conflicts) = merged(FileType::Json, base, &changed, noted);
    assert!(text.contains("// do not remove") && text.contains("\"a\": 2") && conflicts.is_empty(), "{text}");
    let (text, conflicts) =
        merged(FileType::Json, "{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2, // o\n}", "{\"a\":2, // x\n\"b\":2}");
    assert_eq!((conflicts, text.contains("\"a\":2")), (vec!["comments".to_owned()], true), "{text}");
    let base = "# top\na: 1 # one\nl:\n  - x\n# tail\n";
    let (text, conflicts) =
        merged(FileType::Yaml, base, &base.replace("- x\n", "- x\n  - o\n"), &base.replace("- x\n", "- x\n  - w\n"));
    assert_eq!((text.as_str(), conflicts.len()), ("# top\na: 1 # one\nl:\n  - x\n  - o\n  - w\n# tail\n", 0));
}

#[test]
fn one_sided_changes_are_kept_in_every_structured_type() {
    // A number stays as it is written, however long.
    let (base, o, x) = (
        "{\"n\": 12345678901234567890, \"l\": []}",
        "{\"n\": 12345678901234567890, \"l\": [], \"o\": 1e3}",
        "{\"n\": 12345678901234567890, \"l\": [1]}",
    );
    let (text, conflicts) = merged(FileType::Json, base, o, x);
    assert!(text.contains("12345678901234567890") && text.contains("1e3") && text.contains("[1]"), "{text}");
    assert!(conflicts.is_empty());
    let table = |n: u32| format!("[[s]]\nn = {n}\n");
    let (text, conflicts) =
        merged(FileType::Toml, &table(1), &(table(1) + "\n" + &table(2)), &(table(1) + "# three\n" + &table(3)));
    assert!(conflicts.is_empty() && (1..4).all(|n| text.contains(&format!("n = {n}\n"))), "{text}");
    let (text, conflicts) = merged(FileType::Yaml, "a: 1\n---\nb: 1\n", "a: 2\n---\nb: 1\n", "a: 1\n---\nb: 2\n");
    assert_eq!((text.as_str(), conflicts.len()), ("a: 2\n---\nb: 2\n", 0));
    let (text, conflicts) = merged(FileType::Env, "A=1\n", "A=1\nC=2\n", "A=1\nK=\"x\ny\"\n");
    assert_eq!((text.as_str(), conflicts.len()), ("A=1\nC=2\nK=\"x\ny\"\n", 0));
    let (text, _) = merged(FileType::Env, "\u{feff}A=1\n", "\u{feff}A=1\nQ=1\n", "\u{feff}A=2\n");
    assert_eq!(text, "\u{feff}A=2\nQ=1\n");
    // A value that programs read differently is not written anew.
    let odd = "n: .nan\nl: [1]\n";
    let (text, conflicts) = merged(FileType::Yaml, odd, &odd.replace("[1]", "[1, 2]"), &odd.replace("[1]", "[1, 3]"));
    assert!(text.contains(".nan") && conflicts.len() == 1, "{text}");
}

#[test]
fn nothing_is_doubled_where_lines_of_both_sides_are_kept() {
    let no_base = |kind, o: &str, x: &str| {
        let merged = merge(&MergeInput { base: None, ..input(kind, "", o, x) });
        (String::from_utf8(merged.bytes).unwrap(), merged.conflicts.len())
    };
    let env = |a: u32, more: &str| format!("A={a}\nMOTD=\"it's up\"\nB=1\n{more}");
    assert_eq!(no_base(FileType::Env, &env(1, ""), &env(2, "C=3\n")), (env(1, "C=3\n"), 1));
    let key = |a: u32| format!("A={a}\nKEY=\"x\ny\"\n");
    assert_eq!(no_base(FileType::Env, &key(1), &key(2)), (key(1), 1));
    let (text, conflicts) = merged(FileType::Env, &key(1), &(key(1) + "PORT=1\n"), &(key(1) + "PORT=2\n"));
    assert_eq!((text, conflicts.len()), (key(1) + "PORT=2\n", 1));
    let (text, _) = no_base(FileType::Yaml, "# head\na: 1\n", "# head\nb: 2\n");
    assert_eq!(text.matches("# head").count(), 1, "{text}");
    let (text, _) = merged(FileType::Yaml, "# old\na: 1\n", "# new\na: 1\n", "# new\n# more\na: 1\n");
    assert_eq!(text.matches("# new").count(), 1, "{text}");
    // A string may look like a comment.
    let allow = |list: &str| format!("{{\n  \"allow\": [\"Read(src/**)\", \"a\\\"b // c\"{list}]\n}}\n");
    let (text, conflicts) = merged(FileType::Json, &allow(""), &allow(", \"git\""), &allow(", \"npm\""));
    assert_eq!((text, conflicts), (allow(", \"git\", \"npm\""), vec![]));
    // Without a base the lines that both texts have in common serve as one.
    assert_eq!(no_base(FileType::Text, "l1\nl2\n", "l1\nl2\nmine\n"), ("l1\nl2\nmine\n".into(), 0));
    // Line endings are merged separately.
    let (text, conflicts) = merged(FileType::Text, "1\r\n2\r\n3\r\n", "1\r\n2\r\n3\r\n4\r\n", "1\n2x\n3\n");
    assert_eq!((text.as_str(), conflicts.len()), ("1\n2x\n3\n4\n", 0));
    // Comments in an array stay with their elements, and a table that both sides changed is a conflict of its lines.
    let list = |items: &str| format!("a = [\n{items}]\n");
    let (text, conflicts) = merged(
        FileType::Toml,
        &list(" 1, # one\n 2, # two\n"),
        &list(" 1, # one\n"),
        &list(" 1, # one\n 2, # two\n 3, # three\n"),
    );
    assert!(!text.contains("3, # one") && !text.contains("1, # two") && !conflicts.is_empty(), "{text}");
    let tables = |t: u32, more: &str| format!("t = {t}\n[[p]]\nn = 1\n{more}[[p]]\nn = 2\n");
    let (text, conflicts) = merged(FileType::Toml, &tables(1, ""), &tables(2, "x = 1\n"), &tables(1, "y = 1\n"));
    assert!(text.starts_with("t = 2\n") && conflicts != ["whole file"], "{text} {conflicts:?}");
    let (text, conflicts) = merged(FileType::Toml, "a = [2]\nb = 1\n", "a = [1, 1, 1]\nb = 2\n", "a = [1]\nb = 1\n");
    assert_eq!((text.as_str(), conflicts), ("a = [1]\nb = 2\n", vec!["a".to_owned()]));
    assert!(["b", "a"].iter().all(|key| FileType::Yaml.parses(format!("\u{feff}a: 1\n{key}: 1\n").as_bytes())));
    let (text, _) = merged(FileType::Yaml, "a: 1\nb: 1\n", "a: 1\nb: 1\nl: 2\n", "\u{feff}a: 1\nb: 1\nz: 3\n");
    assert!(text.starts_with('\u{feff}') && text.contains("l: 2") && text.contains("z: 3"), "{text}");
    // An added comment stays in its place, and a removed byte order mark is gone.
    let (text, _) =
        merged(FileType::Env, "A=1\nB=1\nC=1\nD=1\n", "A=1\nB=1\nC=1\nD=2\n", "# why\nA=1\nB=1\nC=1\nD=1\n");
    assert_eq!(text, "# why\nA=1\nB=1\nC=1\nD=2\n");
    let (text, _) = merged(FileType::Env, "\u{feff}A=1\nB=1\n", "\u{feff}A=2\nB=1\n", "A=1\nB=1\n");
    assert_eq!(text, "A=2\nB=1\n");
}

#[test]
fn a_persons_decision_deletes_too_and_conflicts_record_the_kept_side() {
    let (b, o, x) = ("{\"m\": 1, \"k\": 1}", "{\"m\": 2, \"k\": 1}", "{\"k\": 1}");
    let by = |rule| merge(&MergeInput { rule, ..input(FileType::Json, b, o, x) });
    let kept = |merged: &MergedText| merged.conflicts.iter().map(|c| c.kept).collect::<Vec<_>>();
    let ruled = by(Rule::Workspace);
    assert_eq!((ruled.bytes.as_slice(), kept(&ruled)), (o.as_bytes(), vec![Rule::Overlay]));
    assert_eq!(by(Rule::Person).bytes, x.as_bytes());
    let by = |rule| merge(&MergeInput { rule, ..input(FileType::Env, "A=1\nB=1\n", "A=2\nB=1\n", "B=1\n") });
    assert_eq!((by(Rule::Workspace).bytes, by(Rule::Person).bytes), (b"A=2\nB=1\n".to_vec(), b"B=1\n".to_vec()));
}

#[test]
fn a_string_that_some_reader_takes_for_another_type_keeps_its_quotes() {
    let kept = [
        "22:22",
        "190:20:30.15",
        "no",
        "y",
        "On",
        "2024-01-01",
        "2001-12-14 21:59:43.10 -5",
        "2001-12-14t21:59:43Z",
        "1_000",
        "1,000",
        "0b10_1",
        "0o14",
        "014",
        "0x_1F",
        "+12",
        ".5",
        "1.",
        "1e3",
        "685_230.15",
        "-.inf",
        ".NaN",
        "~",
        "null",
        "<<",
        "=",
        ":80",
        "12345678901234567890",
    ];
    for quote in ['"', '\''] {
        let text = |more: &str| {
            let values = kept.iter().map(|text| format!("- {quote}{text}{quote}\n")).collect::<String>();
            let keys = kept.iter().map(|text| format!("{quote}{text}{quote}: 1\n")).collect::<String>();
            format!("{keys}values:\n{values}plain: [1.2.3, a:b, nobody, {more}]\n")
        };
        let (merged, conflicts) = merged(FileType::Yaml, &text("x"), &text("x, o"), &text("x, w"));
        assert!(conflicts.is_empty(), "{conflicts:?}");
        for text in kept {
            let quoted = format!("{quote}{text}{quote}");
            assert!(
                merged.contains(&format!("- {quoted}\n")) && merged.contains(&format!("{quoted}: 1\n")),
                "{merged}"
            );
        }
        assert!(merged.contains("plain: [1.2.3, a:b, nobody, x, o, w]\n"), "{merged}");
    }
    // Each side's elements stay as they are written.
    let (text, _) = merged(FileType::Yaml, "l: [1]\n", "l: [1, '8:30', no]\n", "l: [1, true, \"2.5\"]\n");
    assert_eq!(text, "l: [1, '8:30', no, true, \"2.5\"]\n");
    // What no side changed keeps its spelling.
    let base = "on: no\ny: [1]\n";
    let (text, conflicts) =
        merged(FileType::Yaml, base, &base.replace('1', "1, 2"), &(base.replace('1', "1, 3") + "off: \"no\"\n"));
    assert_eq!((text.as_str(), conflicts.len()), ("on: no\ny: [1, 2, 3]\noff: \"no\"\n", 0));
    let (text, _) = merged(FileType::Yaml, "l: [1]\n", "l: [1, 2]\n", "l: [1, 3]\ndebug: no\nsince: 2024-01-01\n");
    assert_eq!(text, "l: [1, 2, 3]\ndebug: no\nsince: 2024-01-01\n");
}

/// Comments of both sides go with the entries that they stand at.
#[test]
fn comments_at_other_entries_are_no_conflict() {
    let base = "{\n  \"a\": 1,\n  \"b\": 1\n}\n";
    let overlay = "{\n  // why a\n  \"a\": 2,\n  \"b\": 1, // was 0\n  \"c\": [1, 2]\n}\n";
    let workspace = "{\n  \"a\": 1, // one\n  // two\n  \"b\": 2,\n  \"d\": true\n}\n";
    let (text, conflicts) = merged(FileType::Json, base, overlay, workspace);
    assert!(conflicts.is_empty(), "{conflicts:?}\n{text}");
    insta::assert_snapshot!(text, @r#"
    {
      // why a
      "a": 2, // one
      // two
      "b": 2, // was 0
      "c": [1, 2],
      "d": true
    }
    "#);
    let base = "a = 1\nb = 1\n";
    let (text, conflicts) = merged(FileType::Toml, base, "# why\na = 2\nb = 1\n", "a = 1 # one\nb = 2\n");
    assert_eq!((text.as_str(), conflicts.len()), ("# why\na = 2 # one\nb = 2\n", 0));
}

/// JSON that is on one line stays there, in its own spelling.
#[test]
fn json_on_one_line_stays_on_one_line() {
    for (base, overlay, workspace, expected) in [
        ("{}", "{\"a\": 1}", "{\"b\": [1, {\"c\": 2}]}", "{\"a\": 1, \"b\": [1, {\"c\": 2}]}"),
        ("{\"e\":{}}", "{\"e\":{\"x\":1}}", "{\"e\":{\"y\":2}}", "{\"e\":{\"x\":1,\"y\":2}}"),
        ("{\"l\":[]}", "{\"l\":[1]}", "{\"l\":[{\"a\":2}]}", "{\"l\":[1,{\"a\":2}]}"),
        ("{\"l\":[1]}", "{\"l\":[1,2]}", "{\"l\":[1],\"k\":\"v\"}", "{\"l\":[1,2],\"k\":\"v\"}"),
        ("[1, 2]\n", "[1, 2, 3]\n", "[2]\n", "[2, 3]\n"),
    ] {
        let (text, conflicts) = merged(FileType::Json, base, overlay, workspace);
        assert_eq!((text.as_str(), conflicts.len()), (expected, 0));
    }
}

/// Both sides change places that a line merge takes for one.
#[test]
fn block_yaml_keeps_its_comments_quotes_and_layout() {
    let base =
        "# top\nname: 'x'  # who\nenv:\n    # first\n    A: \"1\"\nlist:\n    - one   # 1\n    - two\n\nlast: yes\n";
    let overlay = base.replace("    A: \"1\"\n", "    A: \"2\"\n    # their own\n    B: |\n      b\n\n      c\n");
    let workspace = base
        .replace("    A: \"1\"\n", "    A: \"1\"\n    C: 'c' # mine\n")
        .replace("    - two\n", "    - three\n    - {k: v}\n");
    let (text, conflicts) = merged(FileType::Yaml, base, &overlay, &workspace);
    assert!(conflicts.is_empty(), "{conflicts:?}\n{text}");
    insta::assert_snapshot!(text, @r#"
    # top
    name: 'x'  # who
    env:
        # first
        A: "2"
        # their own
        B: |
          b

          c
        C: 'c' # mine
    list:
        - one   # 1
        - three
        - {k: v}

    last: yes
    "#);
    // Documents of a stream are edited one by one.
    let stream = |a: &str, b: &str| format!("---\n# one\na: {a}\n---\nb: {b} # two\n");
    let (text, conflicts) =
        merged(FileType::Yaml, &stream("[1]", "[1]"), &stream("[1, 2]", "[1, 2]"), &stream("[1, 3]", "[3]"));
    assert_eq!((text, conflicts.len()), (stream("[1, 2, 3]", "[3, 2]"), 0));
    // Quotes in quotes, and what looks like a comment.
    for (base, overlay, workspace, expected) in [
        ("a: 'it'' #s' # real\nb: 1\n", "a: 'it'' #s' # real\nb: 2\n", "a: new\nb: 1\n", "a: new # real\nb: 2\n"),
        (
            "a: [1, 'x # y', 2] # c\n",
            "a: [1, 'x # y', 2, 3] # c\n",
            "a: [1, 'x # y'] # c\n",
            "a: [1, 'x # y', 3] # c\n",
        ),
        (
            "\"a: b\": 1\n'c''d': 2\ne: 1\n",
            "\"a: b\": 2\n'c''d': 2\ne: 1\n",
            "\"a: b\": 1\n'c''d': 3\ne: 1\n",
            "\"a: b\": 2\n'c''d': 3\ne: 1\n",
        ),
    ] {
        let (text, _) = merged(FileType::Yaml, base, overlay, workspace);
        assert_eq!(text, expected);
    }
    // What becomes empty stays in the line of its key.
    let (text, conflicts) = merged(FileType::Yaml, "c:\n- 1\nb:\n- 1\n", "c: []\nb:\n- 1\n", "c:\n- 1\nb: []\n");
    assert_eq!((text.as_str(), conflicts.len()), ("c: []\nb: []\n", 0));
    // Elements with keys of their own are edited where they are.
    let steps =
        |a: &str, b: &str| format!("steps:\n  - run: {a}\n    # why\n    env: {{}}\n  -   name: x\n      run: {b}\n");
    let (text, _) = merged(FileType::Yaml, &steps("a", "b"), &steps("a2", "b"), &steps("a", "b2"));
    assert_eq!(text, steps("a2", "b2"));
}
