//! What a sync makes of two edits of one file.

use crate::support::overlay::{SETTINGS, edited};
use crate::support::world::World;

#[test]
fn deny_lists_do_not_shrink_by_repetition_or_another_shape() {
    for other in [r#"["x", "y", "y"]"#, "null", "{}"] {
        let w = World::new();
        let start = "{\"permissions\": {\"deny\": [\"rm\", \"dd\", \"dd\"]}}\n";
        let s = edited(&w, SETTINGS, start, &format!("{{\"permissions\": {{\"deny\": {other}}}}}\n"));
        s.app.overlay(&["sync"]).any_status().any_out().any_err();
        let all = s.text(SETTINGS);
        assert!(all.contains("\"rm\"") && all.contains("\"dd\""), "{other}: {all}");
        assert_eq!(s.b.read(SETTINGS), all);
    }
    for other in ["{\"permissions\": 1}\n", "[]\n", "{}\n"] {
        let w = World::new();
        let start = "{\"permissions\": {\"deny\": [\"rm\"]}}\n";
        let s = edited(&w, SETTINGS, start, other);
        s.app.overlay(&["sync"]).any_status().any_out().any_err();
        assert_eq!((s.text(SETTINGS), s.b.read(SETTINGS)), (start.into(), start.into()));
    }
}

#[test]
fn values_of_several_lines_and_repeated_variables_stay_whole() {
    let w = World::new();
    let key = "KEY=\"one\ntwo\n\"\n";
    let s = edited(&w, ".env", &format!("{key}A=1\nB=1\nC=1\n"), &format!("{key}A=1\nB=1\nC=2\n"));
    s.b.write(".env", "KEY=\"one\nthree\n\"\nA=1\nB=1\nC=1\n");
    s.sync(0).any_err();
    s.all_are(".env", "KEY=\"one\nthree\n\"\nA=1\nB=1\nC=2\n");
    let w = World::new();
    let s = edited(&w, ".env", "P=a\nP=$P:b\n", "P=a\nP=$P:b\nP=$P:c\n");
    s.sync(0).any_err();
    s.a.write(".env", "P=a\nP=$P:b\nP=$P:c\nA=1\n");
    s.b.write(".env", "P=0\nP=$P:b\nP=$P:c\n");
    s.sync(0).any_err();
    let all = s.text(".env");
    assert!(all.starts_with("P=0\nP=$P:b\nP=$P:c\n"), "{all}");
}

/// What a workspace has made of something that arrived counts as arrived.
#[test]
fn an_old_view_takes_away_no_change_of_what_arrived() {
    let key = |more: &str| format!("KEY=\"one\ntwo\"\nA=1\n{more}");
    for (path, [old, theirs, own, view, all]) in [
        (".env", ["N=0\nA=1\n", "N=1\nA=1\n", "N=2\nA=1\n", "N=0\nA=1\nM=1\n", "N=2\nA=1\nM=1\n"].map(str::to_owned)),
        // Moved, too.
        (".env", ["N=0\nA=1\n", "N=1\nA=1\n", "N=2\nA=1\n", "A=1\nN=0\nM=1\n", "N=2\nA=1\nM=1\n"].map(str::to_owned)),
        (".env", ["", "P=1\n", "P=2\n", "Q=1\n", "P=2\nQ=1\n"].map(key)),
        (".data/x.md", ["a\nn 0\n", "a\nn 1\n", "a\nn 2\n", "a\nn 0\nm\n", "a\nn 2\nm\n"].map(str::to_owned)),
    ] {
        let w = World::new();
        let s = edited(&w, path, &old, &theirs);
        s.sync(0).any_err();
        s.b.write(path, &own);
        assert_eq!(s.sync(0).stderr, "", "{path}");
        s.b.write(path, &view);
        s.sync(0).err_has("was written from an old view");
        s.all_are(path, &all);
    }
}

#[test]
fn edits_of_a_comment_and_of_a_value_are_both_kept() {
    let files = [
        (".env.toml", "# old\na = 1\nb = 1\nc = 1\nd = 1\n", "d = 1"),
        (".env.yaml", "# old\na: 1\nb: 1\nc: 1\nd: 1\n", "d: 1"),
        (".env.jsonc", "// # old\n{\n  \"a\": 1,\n  \"b\": 1,\n  \"c\": 1,\n  \"d\": 1\n}\n", "\"d\": 1"),
    ];
    for (path, start, value) in files {
        let w = World::new();
        let s = edited(&w, path, start, &start.replace("# old", "# new"));
        let other = value.replace('1', "2");
        s.b.write(path, &start.replace(value, &other));
        s.sync(0).any_err();
        s.all_are(path, &start.replace("# old", "# new").replace(value, &other));
    }
}

#[test]
fn what_is_added_to_a_yaml_list_in_brackets_stays_there_in_its_quotes() {
    let w = World::new();
    let start = "ports: [\"22:22\"]\nhours: '8:30'\nanswer: \"no\"\nsince: \"2024-01-01\"\ncount: 1\n";
    let s = edited(&w, ".env.yaml", start, &start.replace("22\"]", "22\", \"80:80\"]"));
    s.b.write(".env.yaml", &start.replace("22\"]", "22\", '443:44']"));
    s.sync(0).any_err();
    s.all_are(".env.yaml", &start.replace("22\"]", "22\", \"80:80\", '443:44']"));
}
