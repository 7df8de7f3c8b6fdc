//! `sync` keeps files in step between an overlay and real worktrees.

use crate::support::overlay::{OVERLAY, SETTINGS, configure, edited, id, scene};
use crate::support::world::{Repo, World, text, write};

/// Case 3 of the design.
/// A sparse file may be larger than all memory.
#[test]
fn a_file_that_cannot_be_read_does_not_stop_the_others() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.a.sh("truncate -s 7T .env").exit(0);
    s.b.write(".env", "A=1\nB=1\n");
    s.app.overlay(&["sync"]).exit(4).any_out().err_has("/a: .env: it has more than 512 MB");
    assert_eq!(s.text(".env"), "A=1\nB=1\n");
}

#[test]
fn an_edit_reaches_every_workspace_and_a_second_sync_writes_nothing() {
    let w = World::new();
    let s = scene(&w);
    s.put(SETTINGS, "{\n  \"a\": 1\n}\n");
    s.attach();
    s.a.write(SETTINGS, "{\n  \"a\": 2\n}\n");
    let lines = s.app.overlay(&["sync", "--json"]).exit(0).json_lines();
    let rules: Vec<_> = lines.iter().map(|l| text(l, "/rule")).collect();
    assert_eq!(rules, ["push", "propagate"]);
    s.all_are(SETTINGS, "{\n  \"a\": 2\n}\n");
    s.a.sh("touch .data/shared.json").exit(0);
    let before = (s.a.snapshot(), s.b.snapshot(), w.at(s.overlay("")).snapshot());
    assert_eq!(s.sync(0).stdout, "");
    s.a.assert_untouched_since(&before.0);
    s.b.assert_untouched_since(&before.1);
    w.at(s.overlay("")).assert_untouched_since(&before.2);
    s.put(SETTINGS, "{\"by\": \"hand\"}");
    s.sync(0).any_err();
    s.all_are(SETTINGS, "{\"by\": \"hand\"}");
}

/// Case 4 of the design.
#[test]
fn permissions_that_two_agents_add_are_both_kept() {
    let w = World::new();
    let s = scene(&w);
    let allow = |list: &str| format!("{{\n  \"permissions\": {{\n    \"allow\": [{list}]\n  }}\n}}\n");
    s.put(".claude/settings.json", &allow("\"Read\""));
    s.attach();
    s.a.write(".claude/settings.json", &allow("\"Read\", \"Bash(git:*)\""));
    s.b.write(".claude/settings.json", &allow("\"Read\", \"Bash(npm:*)\""));
    s.sync(0).any_err();
    s.all_are(".claude/settings.json", &allow("\"Read\", \"Bash(git:*)\", \"Bash(npm:*)\""));
    assert_eq!(s.sync(0).stdout, "");
    // A removal in a workspace does not spread; one in the overlay does.
    s.a.write(".claude/settings.json", &allow("\"Read\""));
    s.sync(0).any_err();
    s.all_are(".claude/settings.json", &allow("\"Read\", \"Bash(git:*)\", \"Bash(npm:*)\""));
    s.put(".claude/settings.json", &allow("\"Read\", \"Bash(npm:*)\""));
    s.sync(0).any_err();
    s.all_are(".claude/settings.json", &allow("\"Read\", \"Bash(npm:*)\""));
}

/// Case 6 of the design.
#[test]
fn edits_of_different_env_lines_and_records_are_merged() {
    let w = World::new();
    let s = scene(&w);
    let env = |first: &str, last: &str| format!("A={first}\nB=1\nC=1\nD=1\nE=1\nF=1\nG=1\nH=1\nI={last}\n");
    s.put(".env", &env("1", "1"));
    s.put("log.jsonl", "{\"a\":1}\n");
    s.attach();
    s.a.write(".env", &env("2", "1"));
    s.b.write(".env", &env("1", "2"));
    s.a.write("log.jsonl", "{\"a\":1}\n{\"b\":1}");
    s.b.write("log.jsonl", "{\"a\":1}\r\n{\"c\":1}\r\n");
    s.sync(0).any_err();
    s.all_are(".env", &env("2", "2"));
    for record in ["{\"a\":1}", "{\"b\":1}", "{\"c\":1}"] {
        assert_eq!(s.text("log.jsonl").matches(record).count(), 1);
    }
}

/// A file that was edited in one of the others has its own turn.
#[test]
fn a_sync_of_one_workspace_reaches_the_others() {
    let w = World::new();
    let s = edited(&w, ".env", "A=1\n", "A=2\n");
    s.app.overlay(&["sync", "../a"]).exit(0).any_err().out_has("propagate .env");
    s.all_are(".env", "A=2\n");
    s.put(".env.two", "A=1\n");
    s.sync(0).any_err();
    s.a.write(".env", "A=2\nB=1\n");
    s.a.write(".env.two", "A=2\n");
    s.b.write(".env", "A=2\nC=1\n");
    s.app.overlay(&["sync", "../a"]).exit(0).any_out().any_err();
    assert_eq!((s.b.read(".env"), s.text(".env")), ("A=2\nC=1\n".into(), "A=2\nB=1\n".into()));
    assert_eq!(s.b.read(".env.two"), "A=2\n");
    s.sync(0).any_err();
    s.all_are(".env", "A=2\nB=1\nC=1\n");
    // One that was emptied gets nothing of it: it waits for a person's word.
    for file in [".env", ".env.two"] {
        std::fs::remove_file(s.b.path.join(file)).unwrap();
    }
    s.a.write(".env.new", "N=1\n");
    let paths = [("OVERLAY_SYNC_PATHS", ".env.*")];
    s.a.run_with("overlay-sync", &["sync", "."], &paths).exit(0).any_err().out_has("adopt .env.new");
    assert!(!s.b.has(".env.new"));
    s.app.overlay(&["sync"]).exit(1).any_out().err_has("all files are gone");
    s.app.overlay(&["sync", "--restore", "../b"]).any_status().any_out().any_err();
    assert_eq!((s.b.read(".env"), s.b.read(".env.new")), ("A=2\nB=1\nC=1\n".into(), "N=1\n".into()));
    // A last pass reaches them too.
    s.a.write(".env", "A=3\nB=1\nC=1\n");
    s.a.overlay(&["detach", "."]).succeeds().any_err();
    s.all_are(".env", "A=3\nB=1\nC=1\n");
}

/// Case 13 of the design.
#[test]
fn simultaneous_syncs_lose_no_edit() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "START=1\n");
    s.attach();
    for round in 0..10 {
        s.a.sh(&format!("echo A{round}=1 >> .env")).exit(0);
        s.b.sh(&format!("echo B{round}=1 >> .env")).exit(0);
        std::thread::scope(|scope| {
            for repo in [&s.a, &s.b] {
                scope.spawn(|| repo.overlay(&["sync"]).succeeds());
            }
        });
    }
    s.sync(0).any_err();
    let all = s.text(".env");
    for round in 0..10 {
        assert!(all.contains(&format!("A{round}=1\n")) && all.contains(&format!("B{round}=1\n")), "{all}");
    }
    s.all_are(".env", &all);
}

#[test]
fn links_are_not_followed_on_either_side() {
    let w = World::new();
    let s = scene(&w);
    write(&w.home("key"), "private key\n");
    s.put(".env", "A=1\n");
    s.attach();
    s.a.sh("rm .env; ln -s ~/key .env").exit(0);
    s.sync(0).err_has("is a link, which is not followed");
    assert_eq!((s.text(".env"), s.b.read(".env")), ("A=1\n".into(), "A=1\n".into()));
    s.app.sh(&format!("ln -s ~/key ~/{OVERLAY}/.env.link; mkdir ~/out; ln -s ~/out ../b/.data")).exit(0);
    s.put(".data/x", "x");
    s.sync(0).any_err();
    assert!(!s.b.has(".env.link") && !w.home("out/x").exists() && s.a.has(".data/x"));
}

#[test]
fn a_dry_run_names_the_places_that_would_change() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.a.write(".env", "A=2\nB=1\n");
    let records = s.app.overlay(&["sync", "-n", "--json"]).exit(0).json_lines();
    let of = |key: &str| text(&records[0], key);
    assert_eq!((of("/rule"), of("/changes/0"), of("/adds/0")), ("push", "A", "B"));
    assert_eq!(s.text(".env"), "A=1\n");
}

#[test]
fn a_dry_run_of_any_command_changes_nothing() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\nB=1\n");
    s.put(".env.other", "A=1\n");
    s.attach();
    s.a.write(".env", "");
    s.b.write(".env.new", "N=1\n");
    s.sync(1).any_err();
    let held = s.held();
    s.b.write(".env.other", "");
    let before = (w.at(s.overlay("")).snapshot(), s.a.snapshot(), s.b.snapshot());
    for (args, status, told) in [
        (&["sync"][..], 1, "/b): it is empty"),
        (&["add", ".env.new"], 0, "would add .env.new"),
        (&["detach"], 1, "would hold .env.other ("),
        (&["accept", id(&held[0])], 0, "would accept .env"),
        (&["reject", id(&held[0])], 0, "would reject .env"),
        (&["drop", ".env", "A"], 1, "would drop A from .env"),
        (&["watch"], 1, "would hold .env.other ("),
    ] {
        s.b.overlay(&[args, &["-n"]].concat()).exit(status).any_err().out_has(told);
    }
    s.app.overlay(&["attach", "-n"]).exit(0).out_has("would pull .env");
    s.app.overlay(&["hook", "install", "-n"]).exit(0).out_has("would install");
    assert!(!s.app.has(".git/hooks/post-checkout") && !s.app.has(".env"));
    w.at(s.overlay("")).assert_untouched_since(&before.0);
    s.a.assert_untouched_since(&before.1);
    s.b.assert_untouched_since(&before.2);
    let config = s.app.overlay(&["config"]).exit(0);
    config.out_has("debounce_ms = 2000 (default)").out_has("review = hooks,mcpServers (default)");
}

#[test]
fn bytes_that_are_not_utf8_are_synced_and_such_names_are_reported() {
    use std::os::unix::ffi::OsStrExt;
    let w = World::new();
    let s = scene(&w);
    s.put(".data/x.bin", "");
    s.put(".env", "");
    std::fs::write(s.overlay(".env"), b"A=\xff\xfe\nB=1\n").unwrap();
    let name = std::ffi::OsStr::from_bytes(b".env\xff");
    std::fs::write(s.overlay("").join(name), "x").unwrap();
    s.attach();
    s.a.overlay(&["sync"]).exit(0).err_has("its name is not UTF-8");
    assert!(!s.a.path.join(name).exists());
    let read = |repo: &Repo<'_>, file: &str| std::fs::read(repo.path.join(file)).unwrap();
    std::fs::write(s.a.path.join(".env"), b"A=\xff\xfe\nB=2\n").unwrap();
    std::fs::write(s.b.path.join(".env"), b"A=\xff\xfe\nB=1\nC=\xfd\n").unwrap();
    std::fs::write(s.a.path.join(".data/x.bin"), b"\0\x01\xff").unwrap();
    s.sync(0).any_err();
    assert_eq!((read(&s.a, ".env"), read(&s.b, ".env")), (b"A=\xff\xfe\nB=2\nC=\xfd\n".to_vec(), read(&s.a, ".env")));
    assert_eq!(read(&s.b, ".data/x.bin"), b"\0\x01\xff");
    // Of two binaries one is taken as a whole, and the other can be restored.
    std::fs::write(s.a.path.join(".data/x.bin"), b"\0a").unwrap();
    std::fs::write(s.b.path.join(".data/x.bin"), b"\0b").unwrap();
    s.sync(1).any_err();
    assert_eq!((read(&s.a, ".data/x.bin"), read(&s.b, ".data/x.bin")), (b"\0b".to_vec(), b"\0b".to_vec()));
    let conflicts = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
    assert_eq!(s.app.overlay(&["show", id(&conflicts[0])]).exit(0).stdout, "\0a");
}

/// A pattern for everything takes what is small and cannot be made again.
#[test]
fn a_glob_takes_no_large_file_and_nothing_that_can_be_made_again() {
    let w = World::new();
    let s = scene(&w);
    configure(&w, "[overlay-sync]\npaths = [\"*\", \"./.data/target/kept.json\"]\npaths_max_bytes = 1000\n");
    s.put(".env", "A=1\n");
    s.attach();
    s.a.write(".env.local", "B=1\n");
    s.a.write(".data/big.sh", &"x".repeat(1001));
    s.a.write(".data/node_modules/x.json", "{}\n");
    s.a.write(".data/target/kept.json", "{}\n");
    s.a.write(".data/x.log", "1\n");
    s.sync(0).any_err();
    assert_eq!((s.b.read(".env.local").as_str(), s.b.read(".data/target/kept.json").as_str()), ("B=1\n", "{}\n"));
    for path in [".data/big.sh", ".data/node_modules/x.json", ".data/x.log"] {
        assert!(!s.b.has(path) && !s.overlay(path).exists(), "{path}");
    }
    s.app.overlay(&["status"]).exit(0).out_has("too_large .data/big.sh").out_has("paths_max_bytes");
    s.app.overlay(&["check"]).exit(0);
    for (flag, value) in [("--paths-max-bytes", "1001"), ("--paths-except", "*.sh")] {
        let out = s.app.overlay(&["status", flag, value]).exit(0).any_err();
        assert!(!out.stdout.contains("too_large"), "{out}");
    }
    // A person may take it.
    s.a.overlay(&["add", ".data/big.sh"]).succeeds().any_err();
    s.sync(0).any_err();
    assert_eq!(s.b.read(".data/big.sh").len(), 1001);
    configure(&w, "[overlay-sync]\npaths_except = [\"/etc\"]\n");
    s.app.overlay(&["sync"]).exit(2).err_has("`paths_except` cannot be `/etc`");
}

/// Records keep their numbers when a long log is set aside.
#[test]
fn a_long_log_is_set_aside_and_its_records_are_still_found() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    let log = s.overlay(".overlay-sync/log.jsonl");
    let change = |n: usize| {
        s.a.write(".env", &format!("A={n}\n"));
        s.sync(0).any_err();
    };
    let long = |n: usize| {
        let line = std::fs::read_to_string(&log).unwrap().lines().next().unwrap().to_owned() + "\n";
        // Few long records are read sooner than many short ones.
        let line = line.replacen(r#""workspace":"/"#, &format!(r#""workspace":"/{}/"#, "w".repeat(5_000)), 1);
        let lines = line.repeat((5 << 20) / line.len());
        std::fs::write(&log, &lines).unwrap();
        change(n);
        lines.lines().count()
    };
    let last = || {
        let lines = s.app.overlay(&["log", "--json"]).exit(0).json_lines();
        (lines.len(), lines.last().unwrap()["seq"].as_u64().unwrap())
    };
    let first = long(2);
    assert!(std::fs::metadata(&log).unwrap().len() < 4096);
    let (found, seq) = last();
    assert_eq!((found, seq), (first + 2, first as u64 + 2));
    change(3);
    assert_eq!(last().1, seq + 2);
    // The oldest records go when the next long log is set aside.
    let second = long(4);
    let (found, seq) = last();
    assert_eq!((found, seq), (second + 2, (first + second) as u64 + 2));
    let after = format!("{}", seq - 1);
    assert_eq!(s.app.overlay(&["log", "--since", &after]).exit(0).stdout.lines().count(), 1);
}

/// Claude Code writes permissions of a worktree into the main checkout's file.
#[test]
fn status_says_that_the_main_checkout_misses_permissions() {
    let w = World::new();
    let s = scene(&w);
    s.put(".claude/settings.local.json", "{}\n");
    s.attach();
    s.app.overlay(&["status"]).exit(0).any_out().err_has("Claude Code writes");
    s.app.overlay(&["attach"]).succeeds().any_err();
    assert!(!s.app.overlay(&["status"]).exit(0).any_out().any_err().stderr.contains("Claude Code"));
}

/// The hook warns where git would show a managed file.
#[test]
fn the_hook_says_when_a_managed_file_is_not_ignored() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.app.overlay(&["hook", "install"]).succeeds().any_err();
    s.app.git(&["rm", "-q", ".gitignore"]);
    s.app.git(&["commit", "-qm", "Ignore nothing"]);
    let out = s.app.run("git", &["worktree", "add", "-q", "../c"]).exit(0);
    out.err_has(".env is not ignored by git there");
    assert!(!w.at(s.app.path.with_file_name("c")).has(".env"));
}

/// A large file that git does not ignore is named once, and git is asked about it once.
#[test]
fn a_large_file_that_stays_untouched_is_named_once() {
    let w = World::new();
    let s = scene(&w);
    s.put("large.cfg", &"0123456789abcdef\n".repeat(80_000));
    s.put(".env", "A=0\n");
    s.a.overlay(&["attach", ".", "../b"]).exit(0).any_out().any_err();
    let out = s.sync(0);
    out.err_has("large.cfg is not ignored by git there");
    let named = out.stderr.lines().filter(|line| line.contains("large.cfg")).count();
    assert_eq!(named, 2, "once for each workspace: {out}");
}

#[test]
fn a_large_file_is_merged_like_any_other() {
    let w = World::new();
    let s = scene(&w);
    let large = |n: &str| {
        let keys: Vec<String> = (0..40_000).map(|i| format!("  \"key{i:06}\": \"some text {n}\"")).collect();
        format!("{{\n{}\n}}\n", keys.join(",\n"))
    };
    let text = large("0");
    assert!(text.len() > 1 << 20);
    s.put(".data/a.json", &text);
    s.put(".env", "A=0\n");
    s.attach();
    s.a.write(".data/a.json", &text.replace("key000007", "mine"));
    s.put(".data/a.json", &text.replace("key000009", "theirs"));
    s.b.write(".env", "A=1\n");
    s.sync(0).any_err();
    s.all_are(".env", "A=1\n");
    s.all_are(".data/a.json", &text.replace("key000007", "mine").replace("key000009", "theirs"));
    // A workspace whose files are all gone is still left alone.
    s.a.sh("rm -r .data .env").exit(0);
    s.sync(1).err_has("all files are gone from");
}
