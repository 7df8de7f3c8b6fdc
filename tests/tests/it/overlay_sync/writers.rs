//! Several writers of one file: no line is lost, and the last edit wins.

use std::time::{Duration, Instant};

use crate::support::overlay::{Watch, scene};
use crate::support::world::{World, wait_for, write};

const JSON: [&str; 4] = [
    "{\n  \"a\": 1\n}\n",
    "{\n  \"a\": 1,\n  \"b\": 1\n}\n",
    "{\n  \"a\": 1,\n  \"c\": 1\n}\n",
    "{\n  \"a\": 1,\n  \"b\": 1,\n  \"c\": 1\n}\n",
];

/// Waits until a watch has not run for 1.5 s: a second after its first scan it scans once more, whatever has changed.
fn rest(watch: &Watch) {
    let status = format!("/proc/{}/status", watch.child.id());
    // Without /proc it always seems to rest.
    let runs = || {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        text.lines().filter(|line| line.contains("ctxt_switches")).map(str::to_owned).collect::<Vec<_>>()
    };
    let (mut last, mut since) = (runs(), Instant::now());
    wait_for(|| {
        let now = runs();
        if now != last {
            (last, since) = (now, Instant::now());
        }
        since.elapsed() > Duration::from_millis(1500)
    });
}

#[test]
fn after_a_rest_the_watch_still_waits_for_quiet() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=0\n");
    s.attach();
    let watch = Watch::with(&s, &["--debounce-ms", "1000", "--max-wait-ms", "4000"]);
    // Let it rest for longer than the quiet time.
    rest(&watch);
    let written = Instant::now();
    s.a.write(".env", "A=1\n");
    wait_for(|| s.b.read(".env") == "A=1\n");
    assert!(written.elapsed() >= Duration::from_millis(950), "it travelled after {:?}", written.elapsed());
    watch.end(&s);
}

#[test]
fn a_stale_edit_within_the_quiet_time_removes_nothing() {
    let w = World::new();
    let s = scene(&w);
    s.put(".data/notes.txt", "one\n");
    s.attach();
    let watch = Watch::with(&s, &["--debounce-ms", "700", "--max-wait-ms", "4000"]);
    rest(&watch);
    // B reads its copy, A writes, and a moment later B writes from what it read.
    let stale = s.b.read(".data/notes.txt");
    s.a.write(".data/notes.txt", "one\nfrom a\n");
    let start = Instant::now();
    wait_for(|| start.elapsed() > Duration::from_millis(100));
    s.b.write(".data/notes.txt", &format!("zero\n{stale}"));
    wait_for(|| s.text(".data/notes.txt") == "zero\none\nfrom a\n");
    wait_for(|| s.a.read(".data/notes.txt") == s.b.read(".data/notes.txt"));
    watch.end(&s);
}

/// An editor that saves by removing the file and creating it, with a sync in between.
#[test]
fn a_file_saved_by_remove_and_create_removes_no_edit_of_others() {
    let w = World::new();
    let s = scene(&w);
    for (path, old, others, edited, all) in [
        (".env", "A=1\n", "A=1\nB=1\n", "A=1\nC=1\n", "A=1\nB=1\nC=1\n"),
        (".data/x.txt", "1\n2\n3\n", "0\n1\n2\n3\n", "1\n2\n3\n4\n", "0\n1\n2\n3\n4\n"),
        (".data/x.json", JSON[0], JSON[1], JSON[2], JSON[3]),
    ] {
        s.put(path, old);
        s.attach();
        s.b.write(path, others);
        // The file is missing at this sync, which refills it with what B added.
        std::fs::remove_file(s.a.path.join(path)).unwrap();
        s.sync(0).any_err();
        assert_eq!(s.a.read(path), others, "{path} is filled again");
        // Another sync changes nothing.
        s.sync(0).any_err();
        s.a.write(path, edited);
        s.sync(0).any_err();
        s.all_are(path, all);
        // The old text again says nothing about what arrived, unless a person lets it through.
        s.a.write(path, old);
        s.sync(0).err_has("was written from an old view");
        assert!(!s.a.read(path).eq(old));
        s.app.overlay(&["accept", &s.held_ids()[0]]).succeeds().any_err();
        s.all_are(path, old);
        std::fs::remove_file(s.overlay(path)).unwrap();
        s.app.sh(&format!("rm -f ../a/{path} ../b/{path}")).exit(0);
        s.app.overlay(&["sync"]).any_status().any_out().any_err();
    }
}

#[test]
fn lines_that_two_writers_append_are_both_kept() {
    let w = World::new();
    let s = scene(&w);
    let notes = ".data/notes.md";
    s.put(notes, "# Notes\n");
    s.attach();
    s.a.write(notes, "# Notes\n- from a\n");
    s.b.write(notes, "# Notes\n- from b\n");
    // It counts as a conflict, but no line is lost.
    let out = s.sync(1);
    out.err_has("conflict");
    s.all_are(notes, "# Notes\n- from a\n- from b\n");
    let conflicts = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
    assert_eq!((conflicts.len(), &conflicts[0]["state"]), (1, &serde_json::json!("recorded")));
    s.sync(0).any_err();
    s.all_are(notes, "# Notes\n- from a\n- from b\n");
    // Under `grow` it is no conflict.
    write(&w.home(".config/shopfloor/config.toml"), "[overlay-sync.path.\"**/*.md\"]\npolicy = \"grow\"\n");
    s.a.write(notes, "# Notes\n- from a\n- from b\n- more of a\n");
    s.b.write(notes, "# Notes\n- from a\n- from b\n- more of b\n");
    s.sync(0).any_err();
    s.all_are(notes, "# Notes\n- from a\n- from b\n- more of a\n- more of b\n");
    // Without a common base the overlay wins.
    let fresh = s.app.worktree("fresh");
    fresh.write(notes, "mine\n");
    w.at(&fresh.path).overlay(&["attach"]).any_status().any_out().any_err();
    assert!(!fresh.read(notes).contains("mine"), "{}", fresh.read(notes));
    assert_eq!(fresh.read(notes), s.text(notes));
}

/// The last line has no ending at first, or there is no line at all.
#[test]
fn lines_appended_where_no_newline_was_are_both_kept() {
    let w = World::new();
    let s = scene(&w);
    let cases = [
        (".data/n.txt", "1\n2", "1\n2\na", "1\n2\nb", "1\n2\na\nb"),
        (".data/crlf.txt", "1\r\n2", "1\r\n2\r\na\r\n", "1\r\n2\r\nb\r\n", "1\r\n2\r\na\r\nb\r\n"),
        (".data/e.md", "", "a\n", "b\n", "a\nb\n"),
        // Who ended a line ends it still, so that the next one is no part of it.
        (".data/o.md", "1\n", "1\na", "1\nb\n", "1\na\nb\n"),
    ];
    cases.iter().for_each(|(path, start, ..)| s.put(path, start));
    s.attach();
    for (path, _, a, b, _) in cases {
        s.a.write(path, a);
        s.b.write(path, b);
    }
    s.sync(1).err_has("conflict");
    cases.iter().for_each(|(path, .., all)| s.all_are(path, all));
    s.sync(0).any_err();
    cases.iter().for_each(|(path, .., all)| s.all_are(path, all));
    // What a workspace has beyond the overlay's text comes with it, after empty lines too.
    s.put(".data/e.md", "a\n\n");
    let fresh = s.app.worktree("fresh");
    fresh.write(".data/e.md", "a\n\nb");
    w.at(&fresh.path).overlay(&["attach"]).any_status().any_out().any_err();
    assert_eq!((fresh.read(".data/e.md"), s.text(".data/e.md")), ("a\n\nb".to_owned(), "a\n\nb".to_owned()));
    s.put(".data/n.txt", "1\n2");
    let other = s.app.worktree("other");
    other.write(".data/n.txt", "1\n2\nb\n");
    w.at(&other.path).overlay(&["attach"]).any_status().any_out().any_err();
    assert_eq!((other.read(".data/n.txt"), s.text(".data/n.txt")), ("1\n2\nb\n".to_owned(), "1\n2\nb\n".to_owned()));
}

#[test]
fn the_last_edit_wins_a_line_that_both_changed() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "PORT=1\n");
    s.put(".data/x.json", "{\"m\": 1}\n");
    s.attach();
    // Passes go by name; the edits of each file have another order.
    for (path, a, b) in [
        (".env", ("PORT=2\n", "2026-01-02T00:00:02Z"), ("PORT=3\n", "2026-01-02T00:00:01Z")),
        (".data/x.json", ("{\"m\": 2}\n", "2026-01-02T00:00:01Z"), ("{\"m\": 3}\n", "2026-01-02T00:00:02Z")),
    ] {
        s.a.write(path, a.0);
        s.b.write(path, b.0);
        s.a.sh(&format!("touch -d {} {path}", a.1)).exit(0);
        s.b.sh(&format!("touch -d {} {path}", b.1)).exit(0);
    }
    s.sync(1).any_err();
    s.all_are(".env", "PORT=2\n");
    s.all_are(".data/x.json", "{\"m\": 3}\n");
}
