//! `archive`, `prune` and snapshots.

use std::process::Stdio;

use crate::support::ledger::{CURRENT, EVENTS, ROOT, event, synth, two_events};
use crate::support::world::{Output, World, find, needs, wait_for};

#[test]
fn a_changed_snapshot_is_never_skipped() {
    let w = World::new();
    let app = w.app();
    two_events(&app);
    synth(&app);
    app.ledger(&["archive"]).succeeds();
    let name = app.sh(&format!("ls {EVENTS}")).exit(0).stdout.trim().to_owned();
    let path = format!("{EVENTS}/{name}");
    let whole = app.read(&path);
    app.write(&path, &whole.replace('\n', "\r\n"));
    app.ledger(&["--check"]).succeeds();
    for bad in [
        whole.replace("of toast", "of roast"),
        whole[..whole.len() / 2].to_owned(),
        whole[..10].to_owned(),
        String::new(),
        format!("<<<<<<< HEAD\n{whole}"),
        whole.replace("snapshot: 1\n", ""),
        whole.replace("toast", "to\0st"),
        whole.replace("snapshot: 1", "snapshot: 2"),
    ] {
        app.write(&path, &bad);
        let before = app.read(CURRENT);
        let hint = if bad.contains("snapshot: 2") { "install the newest shopfloor" } else { "git checkout" };
        app.ledger(&["--no-confirm"]).exit(2).err_has(&name).err_has(hint);
        app.ledger(&["--check"]).exit(2).any_err();
        app.ledger(&["archive"]).exit(2).any_err();
        app.ledger(&["prune", "--retention", "0"]).exit(2).any_err();
        assert_eq!(app.read(CURRENT), before);
    }
    app.write(&path, &whole);
    app.ledger(&["--check"]).succeeds();
    app.write(&path, &whole.replace("snapshot: 1\n", &format!("snapshot: 1\nx: {}\n", "y".repeat(20_000))));
    app.ledger(&["--no-confirm"]).exit(2).err_has("the frontmatter is larger than 16 KiB");
    app.write(&path, &whole);
    // An event in it is told by its file's name as by its id.
    app.ledger(&["retract", "a.md"]).exit(1).err_has("is folded into a snapshot");
    // More than fits into memory, but a hole in a file takes no room.
    app.sh(&format!("truncate -s 64G {path}")).exit(0);
    app.ledger(&["--no-confirm"]).exit(2).err_has(&name).err_has("a line of it is too long");
}

#[test]
fn a_snapshot_larger_than_any_event_is_read() {
    let w = World::new();
    let app = w.app();
    for n in 0..60 {
        let body = format!("this_session:\n- item {n} {}\n", "of very many words ".repeat(1_200));
        event(&app, &format!("e{n}"), &format!("2026-01-10T00:00:{n:02}Z"), "x", &body);
    }
    let text = synth(&app);
    app.ledger(&["archive"]).succeeds();
    let path = format!("{EVENTS}/{}", app.sh(&format!("ls {EVENTS}")).exit(0).stdout.trim());
    let whole = app.read(&path);
    assert!(whole.len() > 1 << 20);
    for spelt in [whole.clone(), whole.replace('\n', "\r\n"), format!("\u{feff}{whole}")] {
        app.write(&path, &spelt);
        assert_eq!(synth(&app), text);
    }
    app.write(&path, &whole.replace("item 7 of", "item 8 of"));
    app.ledger(&["--check"]).exit(2).err_has("the snapshot was changed: its content has another hash");
}

#[test]
fn only_what_archive_wrote_is_read_as_a_snapshot() {
    let w = World::new();
    let app = w.app();
    two_events(&app);
    app.write(&format!("{EVENTS}/u.md"), "---\nts: 2026-01-10T00:00:00Z\nagent: x\nsnapshot: took one of the db\n");
    app.ledger(&["--no-confirm"]).succeeds().err_has("u.md:1: the frontmatter has no closing");
    app.sh(&format!("rm {EVENTS}/u.md")).exit(0);
    event(&app, "snapshot_notes", "2026-01-08T00:00:00Z", "x", "goal: an event like any other\n");
    assert!(synth(&app).contains("an event like any other"));
    app.sh(&format!("rm {EVENTS}/snapshot_notes.md")).exit(0);
    let text = synth(&app);
    event(&app, "old", "0000-01-01T00:00:00+05:00", "x", "now: before all years\n");
    app.ledger(&["--no-confirm"]).succeeds().err_has("old.md:2: `ts: 0000-01-01T00:00:00+05:00`");
    app.sh(&format!("rm {EVENTS}/old.md")).exit(0);
    app.ledger(&["archive"]).succeeds();
    app.sh(&format!("sed -i '1i\\\\' {EVENTS}/snapshot_*.md")).exit(0);
    assert_eq!(synth(&app), text, "a blank line before it changes nothing");
    app.sh(&format!("rm {EVENTS}/*")).exit(0);
    app.ledger(&["--check"]).exit(1).err_has("its events are gone");
    app.sh(&format!("ln -s $PWD/{ROOT} lnk")).exit(0);
    for path in [CURRENT, "lnk/current.md", "thoughts/shared/handoffs/../handoffs/current.md"] {
        app.ledger(&["--output", path, "--agent", "x"]).exit(2).err_has("a ledger's own");
    }
    assert_eq!(app.read(CURRENT), text);
}

/// Case 11 of the design.
#[test]
fn archiving_changes_nothing_that_is_shown() {
    let w = World::new();
    let app = w.app();
    for n in 0..30 {
        let agent = ["a", "b", "c"][n % 3];
        let body = format!(
            "now: n{n}\nthis_session:\n- item {n}\ndecisions:\n  k{}: v{n}\ncheckpoints:\n- phase: {n}\n",
            n % 4
        );
        event(&app, &format!("e{n}"), &format!("2026-01-{:02}T00:00:00Z", 1 + n % 9), agent, &body);
    }
    let text = synth(&app);
    app.ledger(&["--archive"]).exit(3).any_err();
    app.ledger(&["--archive", "-n"]).exit(0).any_err().out_has("would have archived 30 files");
    app.ledger(&["--archive", "--no-confirm"]).exit(0).out_has("archived 30 files");
    assert_eq!(app.read(CURRENT), text);
    let files = || app.sh("find thoughts -type f | sort | xargs sha256sum").exit(0).stdout;
    let archived = files();
    assert_eq!(std::fs::read_dir(app.path.join(EVENTS)).unwrap().count(), 1);
    app.ledger(&["-v", "--archive", "--no-confirm"]).exit(0).err_has("nothing to archive");
    assert_eq!(files(), archived);
    let some = "find archive -type f | sort | head -5 | xargs -I% cp % events/";
    app.sh(&format!("cd {ROOT} && {some}")).exit(0);
    app.ledger(&["-v", "--no-confirm"]).exit(0).err_has("is up to date");
    assert_eq!(app.read(CURRENT), text);
    app.ledger(&["archive"]).succeeds();
    assert_eq!(files(), archived);
    app.ledger(&["--check"]).succeeds();
    app.ledger(&["prune", "--retention", "0"]).exit(0).out_has("deleted 30 files");
    app.ledger(&["--check"]).succeeds();
    assert_eq!(synth(&app), text);
}

/// What an archived file says and no snapshot does is not lost from view: `doctor` names it and moves it back.
#[test]
fn what_only_the_archive_says_is_named_and_moved_back() {
    let w = World::new();
    let app = w.app();
    two_events(&app);
    app.ledger(&["archive"]).succeeds();
    let doctor = |files: &str| {
        let words = format!("not everything in the archive counts: {files}");
        app.ledger(&["doctor"]).exit(1).out_has(&words);
    };
    app.sh(&format!(
        "sed -i '0,/^agent: /s//goal: ship it\\nblockers: waiting for the key\\nagent: /' {ROOT}/archive/*/a.md"
    ))
    .exit(0);
    doctor("1 file");
    app.ledger(&["explain", "blockers"]).exit(1).err_has("nobody said anything");
    // A file that cannot be read, and a snapshot that no other one was made of.
    let merged = format!("{ROOT}/archive/2026-01-10/merged.md");
    app.write(&merged, "<<<<<<< HEAD\n");
    app.ledger(&["doctor"]).exit(1).out_has("not everything in the archive can be read: 1 file, such as /");
    app.sh(&format!("rm {merged}; mv {EVENTS}/snapshot_* {ROOT}/archive/2026-01-10/")).exit(0);
    event(&app, "new", "2026-02-01T00:00:00Z", "x", "now: later\n");
    doctor("3 files");
    // An event of the same name stays as it is.
    event(&app, "a", "2026-02-02T00:00:00Z", "x", "this_session:\n- of the same name\n");
    app.ledger(&["doctor", "--repair", "--yes"]).any_status().any_out().any_err();
    app.ledger(&["doctor"]).any_status().out_has("every archived event counts");
    app.ledger(&["explain", "blockers"]).exit(0).out_has("waiting for the key");
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert!(json["this_session"].as_array().is_some_and(|items| items.contains(&"of the same name".into())), "{json}");
    assert_eq!(json["other"]["blockers"], "waiting for the key");
    // A damaged snapshot does no harm if another one says the same.
    app.ledger(&["archive"]).exit(0).any_out();
    event(&app, "newer", "2026-02-03T00:00:00Z", "x", "now: much later\n");
    app.ledger(&["archive"]).exit(0).any_out();
    app.sh(&format!("for file in {ROOT}/archive/*/snapshot_*; do echo x >> $file; done")).exit(0);
    app.ledger(&["doctor"]).any_status().out_has("every archived event counts");
}

/// The answer tells what was deleted, also if the rest cannot be.
#[test]
fn prune_tells_what_it_deleted_before_it_failed() {
    let w = World::new();
    let app = w.app();
    for n in 0..3 {
        event(&app, &format!("e{n}"), "2026-01-10T00:00:00Z", &format!("agent{n}"), "this_session:\n- an item\n");
    }
    app.ledger(&["archive"]).succeeds();
    let args = ["-e", "trace=unlinkat", "-e", "inject=unlinkat:error=EIO:when=2"];
    let line = format!(
        "strace -f -qq -o /dev/null {} {} prune --retention 0 --json",
        args.join(" "),
        w.path("bin/ledger-synth").display()
    );
    if !needs("strace") {
        return;
    }
    let json = app.sh(&line).exit(4).any_err().json();
    let deleted = json["deleted"].as_array().unwrap();
    assert_eq!((deleted.len(), json["error"]["kind"].is_string()), (1, true), "{json}");
    assert!(!std::path::Path::new(deleted[0].as_str().unwrap()).exists());
}

/// Git and editors do not know the lock, so a file is looked at once more before it is deleted.
#[test]
fn prune_keeps_what_changes_meanwhile() {
    let w = World::new();
    if !needs("strace") {
        return;
    }
    let app = w.app();
    for n in 0..3 {
        event(&app, &format!("e{n}"), "2026-01-10T00:00:00Z", &format!("agent{n}"), "this_session:\n- an item\n");
    }
    app.ledger(&["archive"]).succeeds();
    let slowly =
        ["-f", "-qq", "-o", "/dev/null", "-e", "trace=unlinkat", "-e", "inject=unlinkat:delay_enter=2000000:when=2"];
    let mut prune = w.command(find("strace").unwrap());
    let prune = prune.args(slowly).arg(w.path("bin/ledger-synth")).args(["prune", "--retention", "0"]);
    let prune = prune.current_dir(&app.path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let last = format!("{ROOT}/archive/2026-01-10/e2.md");
    wait_for(|| !app.has(&format!("{ROOT}/archive/2026-01-10/e0.md")));
    app.write(&last, &(app.read(&last) + "- merged from another branch\n"));
    let out = Output::from("prune".to_owned(), prune.wait_with_output().unwrap());
    out.exit(0).out_has("deleted 2 files").err_has("1 file changed meanwhile and stays");
    assert!(app.read(&last).contains("merged from another branch"));
}

/// Its name can be no name in the archive.
#[test]
fn a_file_whose_name_is_not_utf_8_is_not_archived() {
    let w = World::new();
    let app = w.app();
    two_events(&app);
    app.sh(&format!("cd {EVENTS} && mv a.md \"$(printf 'a\\377.md')\"")).exit(0);
    app.ledger(&["archive"]).exit(0).out_has("archived 1 file into");
    app.ledger(&["-v", "archive"]).exit(0).err_has("nothing to archive");
    assert!(synth(&app).contains("- of toast"));
}
