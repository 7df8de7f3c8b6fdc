//! Which files are read as events.

use crate::support::ledger::{CURRENT, EVENTS, ROOT, event, field, synth, two_events};
use crate::support::world::World;

#[test]
fn only_regular_files_are_opened() {
    let w = World::new();
    let app = w.app();
    two_events(&app);
    let text = synth(&app);
    app.sh(&format!("cd {EVENTS} && mkfifo f.md && mkdir d.md && ln -s a.md l.md && ln -s /etc/passwd p.md && cp a.md .hidden.md && cp a.md a.txt"))
        .exit(0);
    app.ledger(&["-v", "--no-confirm"]).exit(0).err_has("is up to date");
    assert_eq!(app.read(CURRENT), text);
    app.ledger(&["--check"]).succeeds();
    // A directory that is reached through a link is not the ledger.
    let wt = app.worktree("wt");
    wt.sh(&format!("mkdir -p {ROOT} elsewhere && ln -s ../../../elsewhere {EVENTS}")).exit(0);
    wt.ledger(&["add", "--now", "x"]).exit(4).err_has("is a link or no directory");
    assert_eq!(wt.sh("ls elsewhere").exit(0).stdout, "");
    wt.sh(&format!("rm {EVENTS} && mkdir {EVENTS} && ln -s /etc/passwd {CURRENT}")).exit(0);
    event(&wt, "a", "2026-01-10T00:00:00Z", "toast", "now: one\n");
    wt.ledger(&["--no-confirm"]).exit(4).err_has("is not a regular file");
}

/// Nothing is set up for a ledger that no command can reach.
#[test]
fn a_link_on_the_way_to_the_ledger_is_refused_with_its_real_place() {
    let w = World::new();
    let app = w.app();
    app.sh("mkdir -p docs/t && ln -s docs/t thoughts").exit(0);
    let place = format!("--root {}/docs/t/shared/handoffs`", app.path.display());
    // Who has no ledger may have a link there for other notes: what only looks finds nothing to say.
    app.ledger(&["check"]).exit(0).out_has("(0 events)").err_has("no ledger is set up in this repository");
    app.ledger(&["doctor"]).exit(0).out_has("ok      ledger     none is set up");
    app.shopfloor(&["status"]).succeeds();
    app.shopfloor(&["doctor"]).exit(0).out_has("state: not set up in this repository");
    let dry = app.shopfloor(&["setup", "-n"]).exit(0);
    dry.err_has("is where the ledger would be, so none is set up");
    assert!(!dry.stdout.contains("ledger-synth"), "{dry}");
    for args in [&["add", "--done", "x"][..], &["--yes", "--commit"], &["install"]] {
        app.ledger(args).exit(4).err_has("thoughts is a link or no directory").err_has(&place);
    }
    assert!(!app.has(".gitattributes") && !app.has(".git/hooks/pre-push"));
    app.ledger(&["hook", "install"]).succeeds();
    app.ledger(&["check"]).exit(4).err_has("thoughts is a link or no directory").err_has(&place);
    app.ledger(&["doctor"]).exit(1).out_has("wrong   ledger").out_has(&place);
    app.ledger(&["install", "--undo"]).succeeds();
}

#[test]
fn an_unreadable_event_stops_the_synthesis() {
    let w = World::new();
    let app = w.app();
    two_events(&app);
    synth(&app);
    let text = app.read(CURRENT);
    event(&app, "c", "2026-01-12T00:00:00Z", "x", "now: secret\n");
    app.sh(&format!("chmod 000 {EVENTS}/c.md")).exit(0);
    let out = app.run_bound("ledger-synth", &["--no-confirm"]).exit(4);
    out.err_has("cannot read").err_has("c.md").err_has("Permission denied");
    assert_eq!(app.read(CURRENT), text);
    app.run_bound("ledger-synth", &["--check"]).exit(4).any_err();
}

/// Case 7 of the design.
#[test]
fn malformed_files_are_skipped_whole_and_named() {
    let w = World::new();
    let app = w.app();
    app.write(&format!("{EVENTS}/good.md"), "---\nts: 2026-01-10T00:00:00Z\nagent: a\ntitle: t\n---");
    let bad = [
        ("no-ts", "---\nagent: a\n---\nnow: x\n".to_owned()),
        ("bad-ts", "---\nts: yesterday\nagent: a\n---\nnow: x\n".to_owned()),
        ("no-agent", "---\nts: 2026-01-10T00:00:00Z\n---\nnow: x\n".to_owned()),
        ("empty", String::new()),
        ("big", format!("---\nts: 2026-01-10T00:00:00Z\nagent: a\n---\nnow: {}\n", "x".repeat(2 << 20))),
        ("nul", "---\nts: 2026-01-10T00:00:00Z\nagent: a\n---\nnow: x\0y\n".to_owned()),
        ("open", "---\nts: 2026-01-10T00:00:00Z\nagent: a\nnow: x\n".to_owned()),
        (
            "conflict",
            "---\nts: 2026-01-10T00:00:00Z\nagent: a\n---\n<<<<<<< HEAD\nnow: x\n=======\n>>>>>>> b\n".to_owned(),
        ),
    ];
    for (name, text) in &bad {
        app.write(&format!("{EVENTS}/{name}.md"), text);
    }
    std::fs::write(
        app.path.join(format!("{EVENTS}/latin.md")),
        b"---\nts: 2026-01-10T00:00:00Z\nagent: a\n---\nnow: caf\xe9\n",
    )
    .unwrap();
    let before = w.at(app.path.join("thoughts")).snapshot();
    app.ledger(&["--no-confirm", "--strict"]).exit(2).err_has("malformed events; nothing was written");
    app.ledger(&["--check"]).exit(2).any_out().any_err();
    w.at(app.path.join("thoughts")).assert_untouched_since(&before);
    let out = app.ledger(&["--no-confirm"]).succeeds();
    for name in bad.iter().map(|(name, _)| *name).chain(["latin"]) {
        out.err_has(&format!("{EVENTS}/{name}.md:"));
    }
    out.err_has("bad-ts.md:2: `ts: yesterday` is not an RFC 3339 time")
        .err_has("latin.md:5: not UTF-8")
        .err_has("nul.md:5:");
    let text = app.read(CURRENT);
    assert_eq!((field(&text, "event_count"), field(&text, "skipped")), ("1".into(), "9".into()));
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!(json["skipped"].as_array().unwrap().len(), 9);
    app.ledger(&["lint"]).exit(2).out_has("no-agent.md:1: no `agent`");
}

#[test]
fn files_that_were_meant_to_be_events_are_named() {
    let w = World::new();
    let app = w.app();
    two_events(&app);
    let text = synth(&app);
    let names = ["x.yaml", "y.yml", "x.MD", "x.markdown", "x.txt", ".h.md"];
    names.iter().for_each(|name| drop(app.sh(&format!("cp {EVENTS}/a.md {EVENTS}/{name}")).exit(0)));
    app.sh(&format!("cd {EVENTS} && touch .gitkeep a.md~ ._a.md a.md.swp")).exit(0);
    let synth = app.ledger(&["--no-confirm"]).exit(0).any_out();
    let lint = app.ledger(&["lint"]).any_status().any_err();
    for name in names {
        let rule = if name.starts_with('.') { "does not begin with a dot" } else { "ends in `.md`" };
        synth.err_has(&format!("{EVENTS}/{name}: not read, because an event's name {rule}"));
        lint.out_has(&format!("{EVENTS}/{name}:1: warning: not read"));
    }
    assert_eq!(app.read(CURRENT), text);
    app.ledger(&["--check"]).exit(0).any_out();
    app.ledger(&["check", "--strict"]).exit(2).any_out().any_err();
    app.ledger(&["--no-confirm", "--strict"]).exit(2).any_out().err_has("files that are not read");
}

#[test]
fn links_pipes_and_directories_among_events_are_named() {
    let w = World::new();
    let app = w.app();
    two_events(&app);
    let text = synth(&app);
    app.sh(&format!("cd {EVENTS} && mkdir d.md sub .x && cp a.md sub/z.md && ln -s a.md l.md && mkfifo p.md")).exit(0);
    let synth = app.ledger(&["--no-confirm"]).exit(0).any_out();
    let lint = app.ledger(&["lint"]).exit(0).any_err();
    for name in ["d.md", "sub", "l.md", "p.md"] {
        synth.err_has(&format!("{EVENTS}/{name}: not read, because an event is a regular file"));
        lint.out_has(&format!("{EVENTS}/{name}:1: warning: not read"));
    }
    assert!(!synth.stderr.contains("/.x"), "{synth}");
    assert_eq!(app.read(CURRENT), text);
    app.ledger(&["check", "--strict"]).exit(2).any_out().any_err();
    app.ledger(&["--no-confirm", "--strict"]).exit(2).any_out().err_has("files that are not read");
}
