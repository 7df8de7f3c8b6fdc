//! worker-ctl: comments at lines of reviewed work, which are kept until they are sent as one message.

use serde_json::{Value, json};

use crate::support::floor::Floor;
use crate::support::worker::{Staying, adopted_floor, event, hook, staff, tree};
use crate::support::world::{Repo, World, mode, wait_for, write};

const FIRST: &str =
    "fn a() {}\nfn b() {}\nfn c() {}\nfn d() {}\nfn e() {}\nfn f() {}\nfn g() {}\nfn h() {}\nfn i() {}\n";

/// A worker whose work is reviewed: a new file of nine lines, and one line of another taken away.
fn reviewed<'w>(floor: &Floor<'w>, name: &str) -> Repo<'w> {
    floor.app.commit("old.rs", "one\ntwo\n");
    floor.ctl(&["start", name, "--task", "think"]).succeeds().any_err();
    let at = tree(floor, name);
    at.write("ä b.rs", FIRST);
    at.write("old.rs", "one\n");
    at.git(&["add", "-A"]);
    at.git(&["commit", "-q", "-m", "Write it"]);
    floor.until(name, "needs_review");
    floor.ctl(&["review", name]).succeeds().any_err();
    at
}

/// Another version of its commit, which is reviewed, too.
fn amend(floor: &Floor<'_>, at: &Repo<'_>, name: &str, content: &str) {
    at.write("ä b.rs", content);
    at.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    floor.ctl(&["patrol"]).succeeds();
    floor.until(name, "needs_review");
    floor.ctl(&["review", name]).succeeds().any_err();
}

fn kept(floor: &Floor<'_>, name: &str) -> Vec<Value> {
    floor.ctl(&["comment", name, "--json"]).exit(0).json()["comments"].as_array().unwrap().clone()
}

#[test]
fn comments_are_kept_until_they_are_sent_as_one_message() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["comment", "adam", "x:1", "no"]).exit(1).err_has("is idle");
    let at = reviewed(&floor, "adam");
    floor.ctl(&["comment", "adam", "ä b.rs:2", "Return an error here;\n$(touch mark) `x`"]).succeeds();
    floor.ctl(&["comment", "adam", "ä b.rs:9", "first words"]).succeeds();
    floor.ctl(&["comment", "adam", "ä b.rs:9", "Why i?"]).succeeds();
    floor.ctl(&["comment", "adam", "old.rs:-2", "Keep it"]).exit(0).out_has("old.rs:2 (of the old file): Keep it");
    for (place, says) in [
        ("ä b.rs:10", "no line ä b.rs:10"),
        ("old.rs:2", "no line old.rs:2"),
        ("else:1", "no line else:1"),
        ("ä b.rs", "no line of a file"),
        ("ä b.rs:x", "no line of a file"),
    ] {
        floor.ctl(&["comment", "adam", place, "no"]).exit(2).err_has(says);
    }
    floor.ctl(&["comment", "adam", "ä b.rs:1"]).exit(2).any_err();
    floor.ctl(&["comment", "adam", "ä b.rs:1", "dry", "-n"]).exit(0).out_has("dry");
    let all = kept(&floor, "adam");
    let keys = |comment: &Value| ["path", "side", "line", "quote", "hunk", "text"].map(|key| comment[key].clone());
    assert_eq!(
        keys(&all[1]),
        [json!("ä b.rs"), json!("new"), json!(9), json!("fn i() {}"), json!("@@ -0,0 +1,9 @@"), json!("Why i?")]
    );
    let file = floor.root.path.join("comments/adam.json");
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    assert_eq!(floor.ctl(&["review", "adam", "--json"]).exit(0).json()["comments"], json!(all));

    // What was written about an older commit goes to where its line is.
    let first = at.git(&["rev-parse", "HEAD"]);
    floor.ctl(&["comment", "adam", "--commit", "-x", "ä b.rs:4", "x"]).exit(2).any_err();
    // They go where their lines are; one whose line is gone stays, with the commit that it was about.
    let sha = at.git(&["rev-parse", "HEAD"]);
    amend(&floor, &at, "adam", &format!("fn new() {{}}\n{}", FIRST.replace("fn i() {}\n", "")));
    let all = kept(&floor, "adam");
    assert_eq!((&all[0]["line"], &all[0]["stale"]), (&json!(3), &Value::Null));
    assert_eq!((&all[1]["line"], &all[1]["stale"]), (&json!(9), &json!(sha.trim())));
    floor.ctl(&["comment", "adam", "old.rs:-2", "--delete"]).succeeds();
    floor.ctl(&["comment", "adam", "old.rs:-2", "--delete"]).exit(1).err_has("no comment there");
    floor.ctl(&["comment", "adam", "--commit", first.trim(), "--", "ä b.rs:8", "h"]).exit(0).out_has("ä b.rs:9: h");
    floor.ctl(&["comment", "adam", "ä b.rs:9", "--delete"]).succeeds();

    // Nothing is lost where nothing can be sent.
    let saved = std::fs::read_to_string(&file).unwrap();
    let reject = ["reject", "adam", "Two things:", "--comments", file.to_str().unwrap()];
    floor.ctl(&[&reject[..], &["-n"]].concat()).exit(0).out_has("Return an error here");
    floor.ctl(&["down", "adam"]).succeeds();
    floor.ctl(&reject).exit(4).err_has("adam: it is offline");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), saved);
    floor.ctl(&["up", "adam"]).succeeds();
    floor.ctl(&reject).succeeds().any_err();
    let sent = format!(
        "Your work was reviewed and needs changes:\n\nTwo things:\n\nä b.rs:3\n      1 +fn new() {{}}\n      2 +fn a() {{}}\n      3 +fn b() {{}}\n      \
         4 +fn c() {{}}\n      5 +fn d() {{}}\n      6 +fn e() {{}}\nReturn an error here;\n$(touch mark) `x`\n\nä b.rs:9 of the commit {}\n  \
         fn i() {{}}\nWhy i?\n\nAmend your commit.",
        &sha[..12]
    );
    wait_for(|| floor.prompts().last().is_some_and(|last| *last == sent));
    assert!(!file.exists() && kept(&floor, "adam").is_empty());

    // A command that was killed before it could say so has sent them all the same.
    write(&file, &saved);
    assert!(kept(&floor, "adam").iter().all(|comment| comment["sent"] == true));
    amend(&floor, &at, "adam", FIRST);
    floor.ctl(&reject).exit(1).err_has("all these comments were sent already");
    floor.ctl(&["comment", "adam", "ä b.rs:1", "and this"]).succeeds();
    floor.ctl(&["reject", "adam", "Once more:", "--comments", file.to_str().unwrap()]).succeeds();
    let sent = "Once more:\n\nä b.rs:1\n      1 +fn a() {}\n      2 +fn b() {}\n      3 +fn c() {}\n      4 +fn d() {}\nand this\n\nAmend";
    wait_for(|| floor.prompts().last().is_some_and(|last| last.contains(sent)));
    assert!(!file.exists());
    amend(&floor, &at, "adam", "fn a() {}\n");
    for named in ["deadbeef", "--all", ""] {
        let named = format!("--commit={named}");
        floor.ctl(&["comment", "adam", &named, "ä b.rs:1", "x"]).exit(2).err_has("is no commit").err_has("hint: ");
    }
    // What git would take for an option.
    write(&file, "{\"commit\":\"--all\",\"comments\":[]}");
    floor.ctl(&["comment", "adam"]).exit(4).err_has("`--all` is no commit");
    write(&file, "{");
    floor.ctl(&["comment", "adam", "ä b.rs:1", "x"]).exit(4).err_has("adam.json: ");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
    floor.ctl(&["nuke", "adam", "--force", "--yes"]).succeeds();
    floor.ctl(&["deinit", "--yes"]).exit(1).err_has("comments/ keeps comments that were not sent");
}

#[test]
fn comments_that_cannot_be_taken_out_are_sent_all_the_same() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    reviewed(&floor, "adam");
    floor.ctl(&["comment", "adam", "ä b.rs:2", "Say why."]).succeeds();
    let lock = floor.root.path.join("locks/comments.lock");
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    let file = floor.root.path.join("comments/adam.json");
    let sent = floor.ctl(&["reject", "adam", "--comments", file.to_str().unwrap()]).exit(0).any_out();
    sent.err_has("warning: the text was sent to adam, but its comments could not be taken out: ");
    wait_for(|| floor.prompts().last().is_some_and(|last| last.contains("Say why.")));
    assert_eq!(floor.status("adam")["task"], "rejected");
    floor.ctl(&["comment", "adam"]).exit(0).out_has("ä b.rs:2 (was sent): Say why.");
}

#[test]
fn comments_written_by_hand_name_lines_of_the_diff() {
    let w = World::new();
    let floor = adopted_floor(&w);
    let at = reviewed(&floor, "adam");
    // A name that git writes in quotes.
    at.write("a\\\"b.rs", "q\n");
    at.git(&["add", "-A"]);
    amend(&floor, &at, "adam", FIRST);
    let reject = |document: &Value| {
        write(&w.home("c.json"), &document.to_string());
        floor.ctl(&["reject", "adam", "--comments", w.home("c.json").to_str().unwrap()])
    };
    let one = |path: &str, line: u64| json!([{ "path": path, "line": line, "text": "Say why." }]);
    for (document, says) in [
        (one("ä b.rs", 10), "the diff of adam has no line ä b.rs:10"),
        (one("gone.rs", 1), "the diff of adam has no line gone.rs:1"),
        (json!([{ "path": "old.rs", "line": 2, "text": "x" }]), "no line old.rs:2"),
        (json!([]), "holds no comment"),
        (json!([{ "path": "ä b.rs", "text": "x" }]), "missing field"),
        (json!([{ "path": "ä b.rs", "line": 1, "text": " " }]), "comment 1 has no text"),
        (json!({ "v": 2, "comments": [] }), "version 2 is newer"),
        (json!({ "commit": "--output=x", "comments": [] }), "`--output=x` is no commit"),
        (json!("x"), "c.json: "),
    ] {
        reject(&document).exit(2).err_has(says);
    }
    floor.ctl(&["reject", "adam", "--comments", "/nowhere"]).exit(2).err_has("/nowhere does not exist");
    assert_eq!(floor.status("adam")["task"], "needs_review");
    floor.ctl(&["comment", "adam", "a\\\"b.rs:1", "Why?", "-n"]).exit(0).out_has("a\\\"b.rs:1: Why?");
    let document = json!({ "comments": [{ "path": "a\\\"b.rs", "line": 1, "text": "Why?" },
        { "path": "old.rs", "side": "old", "line": 2, "text": "Keep it." }] });
    write(&w.home("c.json"), &document.to_string());
    floor.app.sh("worker-ctl reject adam --comments - < ~/c.json").succeeds().any_err();
    let sent = "a\\\"b.rs:1\n      1 +q\nWhy?\n\nold.rs:2 (of the old file)\n      1  one\n      2 -two\nKeep it.\n\nAmend your commit.";
    wait_for(|| floor.prompts().last().is_some_and(|last| last.ends_with(sent) && !last.contains("fn a")));
}

#[test]
fn comments_are_written_into_the_diff_in_an_editor() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    reviewed(&floor, "adam");
    let reject = |script: &str, more: &[&str]| {
        let editor = format!("sed -i '{script}'");
        floor.root.run_with(
            "worker-ctl",
            &[&["reject", "adam", "--edit"], more].concat(),
            &[("EDITOR", editor.as_str())],
        )
    };
    floor.ctl(&["reject", "adam", "--edit"]).exit(2).err_has("an editor needs a terminal").err_has("EDITOR");
    reject("", &[]).exit(1).err_has("no comment was written");
    reject("/^+fn c/s/c/d/", &[]).exit(2).err_has("is not the next one of the diff").err_has("comments/adam.edited");
    assert!(floor.root.read("comments/adam.edited").contains("+fn d() {}\n+fn d() {}"));
    reject("1a #: x", &[]).exit(2).err_has("line 2 of what was edited: no line of a file stands above");
    floor
        .root
        .run_with("worker-ctl", &["reject", "adam", "--edit"], &[("EDITOR", "false")])
        .exit(4)
        .err_has("`false` ended with");
    assert_eq!(floor.status("adam")["task"], "needs_review");
    // What cannot be sent is kept.
    floor.ctl(&["down", "adam"]).succeeds();
    reject("/^+fn h/a #: Unsent.", &[]).exit(4).err_has("adam: it is offline");
    floor.ctl(&["comment", "adam"]).exit(0).out_has("ä b.rs:8: Unsent.");
    floor.ctl(&["comment", "adam", "ä b.rs:8", "--delete"]).succeeds();
    floor.ctl(&["up", "adam"]).succeeds();
    let mine = [("EDITOR", "true"), ("WORKER_CTL_WORKER", "adam")];
    floor.root.run_with("worker-ctl", &["reject", "adam", "--edit"], &mine).exit(3).any_err();
    reject("/^+fn c/a #: Say more\\n#: about c.", &["First:"]).succeeds().any_err();
    let sent = "First:\n\nä b.rs:3\n      1 +fn a() {}\n      2 +fn b() {}\n      3 +fn c() {}\n      4 +fn d() {}\n      \
                5 +fn e() {}\n      6 +fn f() {}\nSay more\nabout c.\n\nAmend your commit.";
    wait_for(|| floor.prompts().last().is_some_and(|last| last.ends_with(sent)));
}

#[test]
fn one_line_tells_a_status_bar_who_waits() {
    let w = World::new();
    let floor = staff(&w, &["adam", "beth", "carl"]);
    let line = |dir: &Repo<'_>| dir.run("worker-ctl", &["status", "--line"]).exit(0).stdout.clone();
    assert_eq!(line(&floor.root), "\n");
    reviewed(&floor, "adam");
    floor.ctl(&["start", "beth", "--task", "think"]).succeeds();
    assert_eq!(line(&floor.root), "1 review up stopped\n");
    let asks = json!({ "hook_event_name": "PermissionRequest", "session_id": "s-1", "tool_name": "Bash", "tool_input": { "command": "ls" } });
    hook(&floor, "beth", &asks);
    let _up = Staying::new(&floor, &["up"]);
    wait_for(|| !line(&floor.root).contains("up stopped"));
    // From anywhere that belongs to the root, without git.
    for dir in [&floor.root, &floor.app, &tree(&floor, "adam")] {
        assert_eq!(line(dir), "1 asks 1 review\n");
    }
    // Another repository has no workers here.
    let other = w.repo("other").run("worker-ctl", &["status", "--line"]).exit(2);
    other.err_has("no root of worker-ctl is recorded in the repository");
    floor.ctl(&["status", "--line", "--json"]).exit(2).any_err().out_has("is no JSON");
    let none = w.home("empty");
    std::fs::create_dir(&none).unwrap();
    let without = [("PATH", none.to_str().unwrap())];
    let bar = |args: &[&str]| floor.app.run_with("worker-ctl", &[&["status", "--line"], args].concat(), &without);
    assert_eq!(bar(&[]).exit(0).stdout, "1 asks 1 review\n");
    hook(&floor, "beth", &event("Stop"));
    floor.until("beth", "working");
    assert_eq!(bar(&[]).exit(0).stdout, "1 review 1 rests\n");
    let elsewhere = w.home("empty");
    bar(&["--root", elsewhere.to_str().unwrap()]).exit(2).err_has("is not on your list of roots");
    floor.root.write("state.json", "{");
    assert_eq!(bar(&[]).exit(4).any_err().stdout, "?\n");
}
