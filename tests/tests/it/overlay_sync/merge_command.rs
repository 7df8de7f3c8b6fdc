//! The merge command: it is asked about conflicts, and its answer is checked.

use std::time::{Duration, Instant};

use crate::support::overlay::{OVERLAY, SETTINGS, Scene, configure, scene};
use crate::support::world::{World, text, wait_for, write};

const A: &str = "{\"model\": \"a\", \"k\": 1, \"one\": 1}";

const B: &str = "{\"model\": \"b\", \"k\": 1, \"two\": 2}";

/// Makes a conflict to ask about: A's text is in the overlay when B's turn comes.
fn dispute(s: &Scene<'_>) {
    s.put(SETTINGS, "{\"model\": \"x\", \"k\": 1}");
    s.attach();
    s.a.write(SETTINGS, A);
    s.b.write(SETTINGS, B);
}

fn set_command(w: &World, command: &str) {
    let timeout = if command.contains("sleep") { 700 } else { 20_000 };
    let text = format!("[overlay-sync]\nmerge_command = {command}\nmerge_timeout_ms = {timeout}\n");
    write(&w.home(".config/shopfloor/config.toml"), &text);
}

#[test]
fn the_rule_decides_when_the_merge_command_is_missing() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync]\nmerge_command = [\"no-such-program\"]\n");
    s.put(SETTINGS, "{\"m\": 1}");
    s.attach();
    s.a.write(SETTINGS, "{\"m\": 2}");
    s.b.write(SETTINGS, "{\"m\": 3}");
    s.sync(1).err_has("the merge command no-such-program is not on the PATH; `on_conflict` decides");
    s.all_are(SETTINGS, "{\"m\": 3}");
}

#[test]
fn a_good_answer_is_taken_and_leaves_no_conflict() {
    let w = World::new();
    let s = scene(&w);
    w.program(
        "merger",
        "cat > ~/stdin; cat \"$OVERLAY_SYNC_BASE\" \"$OVERLAY_SYNC_CURRENT\" \"$OVERLAY_SYNC_WORKSPACE\" > ~/files\n\
         stat -c %a \"$OVERLAY_SYNC_CURRENT\" > ~/mode; echo \"$OVERLAY_SYNC_PATH\" \"$@\" > ~/path\n\
         printf '{\"model\": \"a\", \"k\": 1, \"one\": 1, \"two\": 2}'",
    );
    set_command(&w, "[\"merger\", \"--merge\"]");
    dispute(&s);
    let out = s.app.overlay(&["sync", "--json"]).exit(0);
    assert!(out.json_lines().iter().any(|l| text(l, "/rule") == "command"), "{}", out.stdout);
    s.all_are(SETTINGS, "{\"model\": \"a\", \"k\": 1, \"one\": 1, \"two\": 2}");
    assert_eq!(s.app.overlay(&["conflicts"]).exit(0).stdout, "");
    let read = |name: &str| std::fs::read_to_string(w.home(name)).unwrap();
    assert!(
        read("stdin").starts_with("Merge these two versions of a configuration file.") && read("stdin").contains(A)
    );
    assert!(read("stdin").find(A).unwrap() < read("stdin").find(B).unwrap());
    assert_eq!(read("files"), format!("{{\"model\": \"x\", \"k\": 1}}{A}{B}"));
    assert_eq!((read("mode").trim(), read("path").trim()), ("600", ".data/shared.json --merge"));
    assert_eq!(s.sync(0).stdout, "");
    // The command is not asked about a change of one side.
    std::fs::remove_file(w.home("stdin")).unwrap();
    s.a.write(SETTINGS, A);
    s.sync(0).any_err();
    assert!(!w.home("stdin").exists());
}

/// Case 7 of the design.
#[test]
fn a_bad_answer_reaches_no_file_and_the_rule_decides() {
    for (command, why) in [
        ("echo 'Here is your merged file: PROSE'", "gave an answer that does not parse"),
        ("true", "gave an answer that is empty"),
        ("printf '{\"model\": \"PROSE'", "gave an answer that does not parse"),
        (
            "printf '```json\\n{\"model\": \"a\", \"k\": 1, \"one\": 1, \"two\": 2}\\n```\\n'",
            "contains a fence or conflict markers",
        ),
        ("head -c 50000000 /dev/zero | tr '\\0' 'P'", "took too long or wrote too much"),
        (
            "printf '{\"model\": \"PROSE\", \"k\": 1, \"one\": 1, \"two\": 2}'",
            "adds something that is in none of the inputs",
        ),
        ("printf '{\"model\": \"a\", \"k\": 1}'", "leaves out what one side added or both kept"),
        ("cat \"$OVERLAY_SYNC_WORKSPACE\"; exit 1", "failed with exit status 1"),
        ("sleep 600", "took too long or wrote too much"),
    ] {
        let w = World::new();
        let s = scene(&w);
        set_command(&w, &format!("{command:?}"));
        dispute(&s);
        let start = Instant::now();
        let out = s.sync(1);
        assert!(start.elapsed() < Duration::from_secs(20), "{command}: {:?}", start.elapsed());
        out.err_has(": the merge command ")
            .err_has(&format!("{why}; `on_conflict` decides"))
            .err_has("a conflict was decided by rule");
        assert!(!out.stderr.contains("PROSE"), "{}", out.stderr);
        s.all_are(SETTINGS, &s.text(SETTINGS));
        let merged: serde_json::Value = serde_json::from_str(&s.text(SETTINGS)).unwrap();
        assert_eq!(merged, serde_json::json!({"model": "b", "k": 1, "one": 1, "two": 2}));
        let conflict = &s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines()[0];
        let show = |hash: &str| s.app.overlay(&["show", text(conflict, hash)]).exit(0).stdout;
        assert_eq!((show("/overlay").as_str(), show("/here").as_str()), (A, B));
    }
}

/// The command may change what git ignores.
#[test]
fn git_is_asked_again_after_the_merge_command() {
    let w = World::new();
    let s = scene(&w);
    s.put("notes.txt", "1\n2\n3\n");
    let exclude = s.app.path.join(".git/info/exclude");
    write(&exclude, "notes.txt\n");
    s.attach();
    // Until it is remembered that git ignores the file.
    wait_for(|| {
        s.a.sh("date +%N >> notes.txt").exit(0);
        s.sync(0).any_err();
        s.git_answers() == 2
    });
    let text = s.text("notes.txt");
    set_command(
        &w,
        &format!("\"cat {} > /dev/null; : > {}; cat $OVERLAY_SYNC_WORKSPACE\"", exclude.display(), exclude.display()),
    );
    let (two, deux) = (text.replacen('2', "two", 1), text.replacen('2', "deux", 1));
    s.a.write("notes.txt", &two);
    s.put("notes.txt", &deux);
    s.app.overlay(&["sync"]).any_status().any_out().any_err();
    assert!(std::fs::read(&exclude).unwrap().is_empty());
    assert_eq!((s.a.read("notes.txt"), s.text("notes.txt")), (two, deux));
    s.app.overlay(&["sync"]).any_status().any_out().err_has("is not ignored by git there");
}

/// A workspace whose files are all removed meanwhile is left alone, as if they had been removed before.
#[test]
fn a_workspace_that_is_cleaned_during_the_merge_command_is_left_alone() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    let a = s.a.path.display();
    let answer = "{\\\"model\\\": \\\"a\\\", \\\"k\\\": 1, \\\"one\\\": 1, \\\"two\\\": 2}";
    set_command(&w, &format!("\"rm -r {a}/.data {a}/.env; printf '{answer}'\""));
    dispute(&s);
    s.sync(1).err_has("all files are gone from");
    s.sync(1).err_has("all files are gone from");
    let restored = s.app.overlay(&["sync", "--restore", s.a.path.to_str().unwrap()]).exit(0);
    restored.any_out().any_err();
    s.all_are(".env", "A=1\n");
}

#[test]
fn secrets_are_sent_only_where_the_settings_allow_it() {
    let w = World::new();
    let s = scene(&w);
    set_command(&w, "\"touch ~/asked; cat $OVERLAY_SYNC_CURRENT\"");
    let conflict = |n: u32| {
        s.a.write(".env", &format!("TOKEN=a{n}\n"));
        s.b.write(".env", &format!("TOKEN=b{n}\n"));
        s.app.overlay(&["sync"])
    };
    s.put(".env", "TOKEN=x\n");
    s.put(".data/private", "secret x\n");
    s.app.sh(&format!("chmod 600 ~/{}/.data/private", OVERLAY)).exit(0);
    s.attach();
    conflict(1).exit(1).any_out().any_err();
    s.a.sh("echo secret a > .data/private").exit(0);
    s.b.sh("echo secret b > .data/private").exit(0);
    s.sync(1).any_err();
    assert!(!w.home("asked").exists());
    let file = w.home(".config/shopfloor/config.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    write(&file, &format!("{config}[overlay-sync.path.\".env\"]\nsend = true\n"));
    conflict(2).succeeds();
    assert!(w.home("asked").exists());
    s.all_are(".env", "TOKEN=a2\n");
}

#[test]
fn the_repositorys_merge_command_needs_approval() {
    let w = World::new();
    let s = scene(&w);
    s.app.write(".shopfloor/config.toml", "[overlay-sync]\nmerge_command = \"touch ~/asked\"\n");
    dispute(&s);
    s.app.overlay(&["sync"]).exit(1).any_out().err_has("needs approval");
    assert!(!w.home("asked").exists());
    let config = s.app.overlay(&["config"]).exit(0);
    config.out_has("merge_command = (unset)").out_has("merge_timeout_ms").err_has("needs approval");
}

#[test]
fn the_lock_is_free_while_the_command_works_and_edits_count() {
    let w = World::new();
    let s = scene(&w);
    // While it is asked the first time, another sync runs and the workspace in question is edited. The second time it
    // answers at once.
    w.program(
        "merger",
        "echo x >> ~/asked\n\
         if [ \"$(wc -l < ~/asked)\" = 1 ]; then\n\
         printf '{\"model\": \"b\", \"k\": 1, \"two\": 2, \"late\": 3}' > ~/eng/repos/b/.data/shared.json\n\
         OVERLAY_SYNC_MERGE_COMMAND= overlay-sync -C ~/eng/repos/a sync ~/eng/repos/a > ~/inner 2>&1; echo $? >> ~/inner\n\
         fi\n\
         case $(cat \"$OVERLAY_SYNC_WORKSPACE\") in *late*) late=', \"late\": 3';; esac\n\
         printf '{\"model\": \"b\", \"k\": 1, \"one\": 1, \"two\": 2%s}' \"$late\"",
    );
    set_command(&w, "[\"merger\"]");
    dispute(&s);
    s.sync(0).any_err();
    let read = |name: &str| std::fs::read_to_string(w.home(name)).unwrap();
    assert_eq!(read("inner"), "0\n");
    assert_eq!(read("asked"), "x\nx\n");
    s.all_are(SETTINGS, "{\"model\": \"b\", \"k\": 1, \"one\": 1, \"two\": 2, \"late\": 3}");
}
