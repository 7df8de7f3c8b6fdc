//! `overlay-sync` where an edit could get lost between the cases of the design.

use std::path::Path;

use crate::support::overlay::{OVERLAY, Scene, scene};
use crate::support::world::{World, project, skip, text, wait_for};

const SETTINGS: &str = ".claude/settings.json";

/// What a workspace made of a file, with both attached and all settled before.
fn edited<'w>(w: &'w World, path: &str, start: &str, here: &str) -> Scene<'w> {
    let s = scene(w);
    s.put(path, start);
    s.attach();
    s.a.write(path, here);
    s
}

fn held(s: &Scene<'_>) -> String {
    let lines = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
    text(lines.iter().find(|l| text(l, "/state") == "held").unwrap(), "/id").to_owned()
}

#[test]
fn deny_does_not_shrink_by_repetition_or_by_another_shape() {
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
    s.sync(0);
    s.all_are(".env", "KEY=\"one\nthree\n\"\nA=1\nB=1\nC=2\n");
    s.a.write(".env", "P=a\nP=$P:b\nP=$P:c\n");
    s.put(".env", "P=a\nP=$P:b\nP=$P:c\n");
    s.sync(0);
    s.a.write(".env", "P=a\nP=$P:b\nP=$P:c\nA=1\n");
    s.b.write(".env", "P=0\nP=$P:b\nP=$P:c\n");
    s.sync(0);
    let all = s.text(".env");
    assert!(all.starts_with("P=0\nP=$P:b\nP=$P:c\n"), "{all}");
}

#[test]
fn an_edit_of_a_comment_travels_past_an_edit_of_a_value() {
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
        s.sync(0);
        s.all_are(path, &start.replace("# old", "# new").replace(value, &other));
    }
}

#[test]
fn yaml_that_is_written_anew_is_the_same_to_every_reader() {
    let w = World::new();
    let start = "ports: [\"22:22\"]\nhours: '8:30'\nanswer: \"no\"\nsince: \"2024-01-01\"\ncount: 1\n";
    let s = edited(&w, ".env.yaml", start, &start.replace("22\"]", "22\", \"80:80\"]"));
    s.b.write(".env.yaml", &start.replace("22\"]", "22\", '443:44']"));
    s.sync(0);
    let ports = "ports:\n- \"22:22\"\n- \"80:80\"\n- '443:44'\n";
    s.all_are(".env.yaml", &start.replace("ports: [\"22:22\"]\n", ports));
}

#[test]
fn no_spelling_of_a_text_gets_around_the_review() {
    for number in ["1e999", "123456789012345678901234567890"] {
        let w = World::new();
        let start = format!("{{\"a\": {number}}}\n");
        let code = format!("{{\"a\": {number}, \"hooks\": {{\"Stop\": [{{\"command\": \"curl evil\"}}]}}}}\n");
        let s = edited(&w, SETTINGS, &start, &code);
        s.sync(1).any_err();
        assert_eq!((s.text(SETTINGS), s.b.read(SETTINGS)), (start.clone(), start));
    }
}

#[test]
fn restore_fills_what_is_gone_and_keeps_what_was_edited() {
    let w = World::new();
    let s = edited(&w, ".env", "A=1\nB=1\n", "A=2\nB=1\n");
    s.put("x.sh", "date\n");
    s.b.write(".env", "A=1\nB=2\n");
    s.sync(0);
    s.a.write(".env", "A=3\nB=2\n");
    s.a.sh("rm x.sh").exit(0);
    s.app.overlay(&["sync", "--restore", s.a.path.to_str().unwrap()]).exit(0);
    s.all_are(".env", "A=3\nB=2\n");
    s.all_are("x.sh", "date\n");
}

#[test]
fn a_moved_worktree_keeps_its_past() {
    let w = World::new();
    let s = edited(&w, ".env", "A=1\nB=1\n", "A=1\nB=2\n");
    s.app.git(&["worktree", "move", "../a", "../c"]);
    s.put(".env", "A=2\nB=1\n");
    s.app.sh("cd ../c && overlay-sync attach").exit(0);
    assert_eq!(s.app.read("../c/.env"), "A=2\nB=2\n");
    assert_eq!(s.app.overlay(&["conflicts"]).exit(0).stdout, "");
}

#[test]
fn reject_takes_back_only_what_was_held() {
    let w = World::new();
    let s = edited(&w, SETTINGS, "{\"a\": 1}\n", "{\"a\":");
    s.sync(1).any_err();
    let id = held(&s);
    s.a.write(SETTINGS, "{\"a\": 2}\n");
    s.app.overlay(&["reject", &id]).exit(1).err_has("is not what was held any more");
    assert_eq!(s.a.read(SETTINGS), "{\"a\": 2}\n");
    s.a.write(SETTINGS, "{\"a\":");
    s.a.sh("git add -f .claude").exit(0);
    s.app.overlay(&["reject", &id]).exit(1).any_err();
    assert_eq!(s.a.read(SETTINGS), "{\"a\":");
    // Whatever is git's business now holds nothing back.
    s.sync(0);
    s.a.overlay(&["detach", "."]).exit(0);
}

#[test]
fn what_is_accepted_is_accepted_wherever_it_comes_to() {
    let w = World::new();
    let s = edited(&w, ".env", "A=1\nB=1\nC=1\nD=1\nE=1\nF=1\nG=1\nH=1\n", "A=1\n");
    s.sync(1).err_has("7 of 8 entries vanished");
    s.app.overlay(&["accept", &held(&s)]).exit(0).any_err();
    s.all_are(".env", "A=1\n");
    assert_eq!(s.app.overlay(&["conflicts"]).exit(0).stdout, "");
}

#[test]
fn a_missing_overlay_is_told_from_every_worktree_and_not_made_anew() {
    let w = World::new();
    let s = edited(&w, ".env", "A=1\n", "A=1\n");
    s.app.sh(&format!("mv ~/{OVERLAY} ~/elsewhere")).exit(0);
    for repo in [&s.app, &s.a] {
        repo.overlay(&["sync"]).exit(1).err_has("is not there; nothing was touched");
    }
    assert!(!w.home(OVERLAY).exists() && s.a.has(".env"));
    s.app.sh(&format!("mv ~/elsewhere ~/{OVERLAY}")).exit(0);
    s.sync(0);
}

#[test]
fn every_workspace_is_told_what_git_does_not_ignore_there() {
    let w = World::new();
    let s = edited(&w, ".env", "A=1\n", "A=2\n");
    s.put("seen.txt", "x\n");
    let out = s.sync(0);
    out.err_has("/a: seen.txt is not ignored").err_has("/b: seen.txt is not ignored");
    assert_eq!(out.stderr.matches("is not ignored").count(), 2);
    assert!(!s.a.has("seen.txt") && !s.b.has("seen.txt"));
}

/// Below /dev/shm a repository's files are files like any others: what git says of them is asked again once it may have
/// changed.
#[test]
fn below_dev_a_tracked_file_stays_as_it_is() {
    if !Path::new("/dev/shm").is_dir() {
        skip("/dev/shm");
        return;
    }
    let w = World::below(Path::new("/dev/shm"));
    what_was_quiet(&w);
}

#[test]
fn what_was_quiet_is_looked_at_again_once_anything_about_it_changed() {
    what_was_quiet(&World::new());
}

fn what_was_quiet(w: &World) {
    let s = scene(w);
    s.put(".env", "A=0\n");
    s.put(".claude/x", "0\n");
    s.attach();
    // Until git's word about a workspace is remembered: nothing that it rests on changed just now.
    let cache = s.app.path.join(".git/shopfloor/overlay-sync/quiet-files.json");
    let n = std::cell::Cell::new(0);
    let remembered = || {
        let text = std::fs::read_to_string(&cache).unwrap_or_default();
        text.matches("\"g\":").count() >= 4 && !text.contains("\"g\":0")
    };
    wait_for(|| {
        n.set(n.get() + 1);
        s.put(".env", &format!("A={}\n", n.get()));
        s.put(".claude/x", &format!("{}\n", n.get()));
        s.sync(0);
        remembered()
    });
    // Tracked in one, not ignored any more in the other: both stay as they are.
    s.a.git(&["add", "-f", ".env"]);
    s.b.write(".gitignore", "*.sh\n.claude/\n*.jsonl\n");
    let before = (s.a.read(".env"), s.b.read(".env"));
    // Not so fresh that it would be asked about anyway.
    let age = |path: &std::path::Path| path.metadata().unwrap().modified().unwrap().elapsed().unwrap_or_default();
    wait_for(|| age(&s.b.path.join(".gitignore")).as_millis() > 300);
    s.put(".env", "A=new\n");
    let out = s.app.overlay(&["sync", "-v"]).exit(0);
    out.err_has("/a: .env is tracked there").err_has("/b: .env is not ignored by git there");
    assert_eq!((s.a.read(".env"), s.b.read(".env")), before);
    // An edit of the same length, its time set back: still an edit.
    wait_for(|| s.sync(0).any_err().stdout.is_empty());
    let text = s.a.read(".claude/x");
    let edited = text.replace(char::is_numeric, "x");
    s.a.sh(&format!(
        "touch -r .claude/x ../then && printf '{}\\n' > .claude/x && touch -r ../then .claude/x",
        edited.trim()
    ))
    .exit(0);
    s.sync(0).any_err();
    s.all_are(".claude/x", &edited);
}

#[test]
fn state_of_version_one_is_read_for_ever() {
    let w = World::new();
    let s = scene(&w);
    let fixture = project().join("tests/fixtures/v1/overlay");
    let root = s.app.path.to_str().unwrap();
    let overlay = s.overlay("");
    s.app.sh(&format!(
        "mkdir -p {o} && cp -r {f}/overlay-sync {o}/.overlay-sync && cp {f}/env {o}/.env && cp {f}/env.gone {o}/.env.gone \
         && cp -r {f}/claude {o}/.claude && find {o} -type f -exec sed -i s#@ROOT@#{root}# {{}} + && chmod -R go= {o} \
         && cd {o}/.overlay-sync/workspaces && id=$(sed -n 's/.*\"id\": \"\\(.*\\)\",/\\1/p' workspace.json) && mv workspace.json $id.json \
         && mkdir -p {root}/.git/shopfloor/overlay-sync && printf %s $id > {root}/.git/shopfloor/overlay-sync/id",
        f = fixture.display(),
        o = overlay.display(),
    ))
    .exit(0);
    // As that version left it: an empty file is held, a part of another, a third was deleted here.
    s.app.write(".env", "");
    s.app.write(
        ".claude/settings.json",
        "{\"permissions\": {\"allow\": [\"Read\", \"Bash(rm:*)\"]}, \"model\": \"h\"}\n",
    );
    let out = s.app.overlay(&["sync"]).exit(1);
    out.err_has(".env is held: it is empty").err_has("it brings back an entry that was removed");
    assert_eq!((out.stdout.as_str(), s.app.has(".env.gone")), ("", false));
    let lines = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
    let states: Vec<_> = lines.iter().map(|line| crate::support::world::text(line, "/state")).collect();
    assert_eq!(states, ["recorded", "held", "held"]);
    s.app.overlay(&["show", "5bb600bb6bbd"]).exit(0).out_has("\"o\"");
    s.app.overlay(&["log"]).exit(0).out_has("last_write");
    s.app.write(".env", "A=1\nB=2\n");
    s.app.overlay(&["sync"]).exit(1).any_err().out_has("push .env");
}
