//! ledger-synth: the cases of its design, through the binary.

use crate::support::ledger::{CURRENT, EVENTS, ROOT, event, field, section, synth};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::world::{Checked, Repo, World, write};

fn seed(repo: &Repo<'_>) {
    let text = include_str!("../../../fixtures/seed/event.md");
    repo.write(&format!("{EVENTS}/2026-01-10T13-03-52Z_toast.md"), text);
}

#[test]
fn case_1_the_seeds_event() {
    let w = World::new();
    let app = w.app();
    seed(&app);
    let text = synth(&app);
    assert!(text.contains("**Now:** Create PR from carmandale:fix/hooks-path-spaces to parcadei:main\n"), "{text}");
    let items = [
        "- Compiled TypeScript hooks",
        "- Forked parcadei/Continuous-Claude-v3",
        "- Wrapped 25 hooks in bash -c for spaced path support",
    ];
    assert_eq!(section(&text, "This Session"), items);
    assert_eq!(
        section(&text, "Decisions"),
        [
            "- **bash_c_wrapper:** Use bash -c '...' for shell quoting",
            "- **single_quotes_outer:** Single quotes outside, double inside"
        ]
    );
    assert_eq!(section(&text, "Checkpoints"), ["- Phase 5: validated (2026-01-10T13:00:00Z, toast)"]);
    assert_eq!((field(&text, "event_count"), field(&text, "latest_ts")), ("1".into(), "2026-01-10T13:03:52Z".into()));
    assert!(text.ends_with("\n\n---\n"), "{text}");
    let json = app.ledger(&["--json"]).exit(0).json();
    assert_eq!((json["event_count"].as_u64(), json["written"].as_bool()), (Some(1), Some(false)));
    assert_eq!(json["checkpoints"][0]["phase"], "5");
    assert_eq!(json["decisions"]["bash_c_wrapper"], "Use bash -c '...' for shell quoting");
}

#[test]
fn case_2_the_later_now_wins_whatever_files_are_called() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T10:00:00Z", "x", "now: early\n");
    event(&app, "b", "2026-01-10T11:00:00Z", "y", "now: late\n");
    let text = synth(&app);
    assert!(text.contains("**Now:** late"));
    app.sh(&format!("cd {EVENTS} && mv a.md t && mv b.md a.md && mv t b.md")).exit(0);
    assert_eq!(synth(&app), text);

    event(&app, "a", "2026-01-10T11:00:00Z", "alpha", "now: the greater text\n");
    event(&app, "b", "2026-01-10T11:00:00Z", "zeta", "now: a text of zeta\n");
    assert!(synth(&app).contains("**Now:** a text of zeta"));
}

#[test]
fn case_3_instants_and_whole_texts() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T00:00:00Z", "z", "now: whole\nthis_session:\n- same\n- a\n");
    event(&app, "b", "2026-01-10T00:00:00.500Z", "a", "now: half\nthis_session:\n- same\n- A\n");
    event(&app, "c", "2026-01-09T23:00:00+05:00", "a", "now: offset\nthis_session:\n- same\n");
    let text = synth(&app);
    assert!(text.contains("**Now:** half"));
    assert_eq!(section(&text, "This Session"), ["- A", "- a", "- same"]);
}

#[test]
fn case_4_bullets_are_what_was_written() {
    let w = World::new();
    let app = w.app();
    let bullets = ["Fixed: the cache", "[x] done", "`foo` removed", "@me asked", "issue #12 fixed", "10", "true", "~"];
    let body: String = bullets.iter().map(|text| format!("- {text}\n")).collect();
    event(&app, "a", "2026-01-10T00:00:00Z", "x", &format!("this_session:\n{body}"));
    let json = app.ledger(&["--json"]).exit(0).json();
    let found: BTreeSet<_> = json["this_session"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    assert_eq!(found, bullets.into());
    let shown: BTreeSet<_> = section(&app.read(CURRENT), "This Session").into_iter().collect();
    assert_eq!(shown, bullets.iter().map(|text| format!("- {text}")).collect());
}

#[test]
fn case_5_keys_and_values_of_decisions_are_verbatim() {
    let w = World::new();
    let app = w.app();
    let body = "decisions:\n  Checkpoint vs Handoff: use \"x\" here: now\n  dash-key: b\n";
    event(&app, "a", "2026-01-10T00:00:00Z", "x", body);
    let json = app.ledger(&["--json"]).exit(0).json();
    assert_eq!(json["decisions"]["Checkpoint vs Handoff"], "use \"x\" here: now");
    assert_eq!(json["decisions"]["dash-key"], "b");
}

#[test]
fn case_6_checkpoints_are_all_kept_in_order() {
    let w = World::new();
    let app = w.app();
    event(
        &app,
        "a",
        "2026-01-10T20:00:00Z",
        "x",
        "checkpoints:\n- phase: 1\n  status: validated\n  updated: 2026-01-10T14:00:00Z\n- status: x\n  phase: 7\n",
    );
    event(
        &app,
        "b",
        "2026-01-10T09:00:00Z",
        "x",
        "checkpoints:\n- phase: 1\n  status: in_progress\n- {phase: 2, status: in-progress}\n",
    );
    assert_eq!(
        section(&synth(&app), "Checkpoints"),
        [
            "- Phase 1: in_progress (2026-01-10T09:00:00Z, x)",
            "- Phase 2: in-progress (2026-01-10T09:00:00Z, x)",
            "- Phase 1: validated (2026-01-10T14:00:00Z, x)",
            "- Phase 7: x (2026-01-10T20:00:00Z, x)",
        ]
    );
}

#[test]
fn case_7_malformed_files_are_skipped_whole_and_named() {
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
    let out = app.ledger(&["--no-confirm"]).exit(0);
    for name in bad.iter().map(|(name, _)| *name).chain(["latin"]) {
        out.err_has(&format!("{EVENTS}/{name}.md:"));
    }
    out.err_has("bad-ts.md:2: `ts: yesterday` is no RFC 3339 time")
        .err_has("latin.md:5: not UTF-8")
        .err_has("nul.md:5:");
    let text = app.read(CURRENT);
    assert_eq!((field(&text, "event_count"), field(&text, "skipped")), ("1".into(), "9".into()));
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!(json["skipped"].as_array().unwrap().len(), 9);
    app.ledger(&["lint"]).exit(2).out_has("no-agent.md:1: no `agent`");
}

#[test]
fn case_8_unknown_sections_are_shown_after_the_known() {
    let w = World::new();
    let app = w.app();
    let body = "this_session:\n- one\nblockers:\n- a wall\nNext-Steps:\n- climb\nopen_questions: [why, how]\n";
    event(&app, "a", "2026-01-10T00:00:00Z", "x", body);
    let text = synth(&app);
    assert_eq!(section(&text, "This Session"), ["- one"]);
    assert_eq!(section(&text, "blockers"), ["- a wall"]);
    assert_eq!(section(&text, "Next-Steps"), ["- climb"]);
    assert_eq!(section(&text, "Open Questions"), ["- how", "- why"]);
    let at = |title: &str| text.find(&format!("### {title}")).unwrap();
    assert!(at("This Session") < at("Open Questions") && at("Open Questions") < at("Next-Steps"));
    assert!(at("Next-Steps") < at("blockers"));
    assert_eq!(app.ledger(&["--json"]).exit(0).json()["other"]["blockers"][0], "a wall");
}

#[test]
fn case_9_the_bytes_depend_on_the_events_alone() {
    let w = World::new();
    let app = w.app();
    seed(&app);
    event(&app, "b", "2026-01-11T00:00:00+02:00", "ï", "this_session:\n- Iıİi\n- ÄäZz\n");
    let text = synth(&app);
    let mtime = || app.path.join(CURRENT).metadata().unwrap().mtime_nsec();
    let first = mtime();
    app.ledger(&["--no-confirm"]).exit(0).out_has("unchanged");
    assert_eq!(mtime(), first);
    app.run_with("ledger-synth", &["--no-confirm"], &[("TZ", "Asia/Tokyo"), ("LC_ALL", "tr_TR.UTF-8")]).exit(0);
    w.at(app.path.join(EVENTS)).ledger(&["--no-confirm"]).exit(0);
    app.sh("rm -rf .git/shopfloor").exit(0);
    app.ledger(&["--no-confirm"]).exit(0);
    assert_eq!((app.read(CURRENT), mtime()), (text.clone(), first));
    app.sh(&format!("rm {CURRENT}")).exit(0);
    app.run_with("ledger-synth", &["--no-confirm"], &[("TZ", "Asia/Tokyo"), ("LC_ALL", "tr_TR.UTF-8")]).exit(0);
    assert_eq!(app.read(CURRENT), text);
    app.run_with("ledger-synth", &["--check"], &[("SHOPFLOOR_NOW", "2031-01-01T00:00:00Z")]).exit(0);
    app.git(&["add", "."]);
    app.git(&["commit", "-q", "-m", "ledger"]);
    app.git(&["clone", "-q", ".", "../clone"]);
    let clone = w.at(app.path.parent().unwrap().join("clone"));
    let out = clone.ledger(&["--check", "--json"]).exit(0).json();
    assert_eq!(out["fresh"], true);
}

#[test]
fn case_10_check_tells_what_is_stale_and_writes_nothing() {
    let w = World::new();
    let app = w.app();
    seed(&app);
    synth(&app);
    app.ledger(&["--check"]).exit(0);
    event(&app, "b", "2026-01-12T00:00:00Z", "b", "now: newer\n");
    let before = app.snapshot();
    let out = app.ledger(&["--check"]).exit(1);
    out.out_has("+**Now:** newer").err_has("run `ledger-synth --no-confirm`");
    assert!(out.stdout.lines().count() <= 50);
    app.assert_untouched_since(&before);
    synth(&app);
    app.sh(&format!("sed -i 's/$/\\r/' {CURRENT}")).exit(0);
    app.ledger(&["--check"]).exit(0);
    app.ledger(&["--no-confirm"]).exit(0).out_has("unchanged");
    app.sh(&format!("sed -i 's/newer/edited/' {CURRENT}")).exit(0);
    app.ledger(&["--check"]).exit(1).err_has("it was edited by hand");
    app.sh(&format!("rm {CURRENT}")).exit(0);
    app.ledger(&["--check"]).exit(1).err_has("it is missing");
}

#[test]
fn case_11_archiving_changes_nothing_that_is_seen() {
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
    app.ledger(&["--archive", "--no-confirm"]).exit(0).out_has("archived 30 files");
    assert_eq!(app.read(CURRENT), text);
    let files = || app.sh("find thoughts -type f | sort | xargs sha256sum").exit(0).stdout;
    let archived = files();
    assert_eq!(std::fs::read_dir(app.path.join(EVENTS)).unwrap().count(), 1);
    app.ledger(&["--archive", "--no-confirm"]).exit(0).err_has("nothing to archive");
    assert_eq!(files(), archived);
    let some = "find archive -type f | sort | head -5 | xargs -I% cp % events/";
    app.sh(&format!("cd {ROOT} && {some}")).exit(0);
    app.ledger(&["--no-confirm"]).exit(0).out_has("unchanged");
    assert_eq!(app.read(CURRENT), text);
    app.ledger(&["archive"]).exit(0);
    assert_eq!(files(), archived);
    app.ledger(&["--check"]).exit(0);
    app.ledger(&["prune", "--retention", "0"]).exit(0).out_has("deleted 30 files");
    app.ledger(&["--check"]).exit(0);
    assert_eq!(synth(&app), text);
}

#[test]
fn case_12_a_question_is_resolved_until_it_is_asked_again() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T10:00:00Z", "x", "open_questions:\n- why?\n");
    assert_eq!(section(&synth(&app), "Open Questions"), ["- why?"]);
    event(&app, "b", "2026-01-10T11:00:00Z", "y", "resolved:\n- why?\n");
    assert_eq!(section(&synth(&app), "Open Questions"), Vec::<String>::new());
    app.ledger(&["archive"]).exit(0);
    assert_eq!(section(&synth(&app), "Open Questions"), Vec::<String>::new());
    event(&app, "c", "2026-01-10T12:00:00Z", "x", "open_questions:\n- why?\n");
    assert_eq!(section(&synth(&app), "Open Questions"), ["- why?"]);
    app.ledger(&["archive"]).exit(0);
    assert_eq!(section(&synth(&app), "Open Questions"), ["- why?"]);
}

#[test]
fn case_13_a_commit_takes_the_ledger_and_nothing_else() {
    let w = World::new();
    let app = w.app();
    app.commit("code", "1\n");
    app.write("code", "2\n");
    app.git(&["add", "code"]);
    app.write("code", "3\n");
    app.write("untracked", "x");
    seed(&app);
    app.write(&format!("{EVENTS}/:(glob)odd [name].md"), "---\nts: 2026-01-10T00:00:00Z\nagent: a\n---\nnow: x\n");
    let before = app.git(&["diff", "--cached"]);
    app.ledger(&["--no-confirm", "--commit"]).exit(0).out_has("committed");
    let names = app.git(&["-c", "core.quotePath=off", "show", "--name-only", "--format=", "HEAD"]);
    let names: Vec<&str> = names.lines().collect();
    let odd = format!("{EVENTS}/:(glob)odd [name].md");
    let toast = format!("{EVENTS}/2026-01-10T13-03-52Z_toast.md");
    assert_eq!(names, [CURRENT, &odd, &toast].into_iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
    assert_eq!(app.git(&["diff", "--cached"]), before);
    assert_eq!(app.git(&["status", "--porcelain"]), "MM code\n?? untracked\n");
    let head = app.git(&["rev-parse", "HEAD"]);
    app.ledger(&["--no-confirm", "--commit"]).exit(0).err_has("everything is committed already");
    assert_eq!(app.git(&["rev-parse", "HEAD"]), head);
}

#[test]
fn case_14_synthesisers_and_writers_at_once() {
    const WRITERS: usize = 8;
    const EACH: usize = 200;
    let w = World::new();
    let app = w.app();
    seed(&app);
    synth(&app);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    while !done.load(Ordering::SeqCst) {
                        let text = app.read(CURRENT);
                        assert!(text.starts_with("## Ledger\n") && text.ends_with("\n\n---\n"), "torn: {text}");
                    }
                })
            })
            .collect();
        let (app, stop) = (&app, &done);
        let synths: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(move || {
                    while !stop.load(Ordering::SeqCst) {
                        drop(app.ledger(&["--no-confirm"]).exit(0));
                    }
                })
            })
            .collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|n| {
                scope.spawn(move || {
                    let lines = format!(
                        "i=0; while [ $i -lt {EACH} ]; do ledger-synth add --agent w{n} --done \"w{n} did $i\" >/dev/null || exit 1; i=$((i+1)); done"
                    );
                    app.sh(&lines).exit(0);
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::SeqCst);
        synths.into_iter().chain(readers).for_each(|thread| thread.join().unwrap());
    });
    let text = synth(&app);
    assert_eq!(field(&text, "event_count"), (WRITERS * EACH + 1).to_string());
    assert_eq!(section(&text, "This Session").len(), WRITERS * EACH + 3);
    app.ledger(&["--check"]).exit(0);
    let left = app.sh("find . -name '.shopfloor-tmp-*' -o -name '*.tmp'").exit(0);
    assert_eq!(left.stdout, "");
}

/// Whoever reads without the lock while events are folded and come back sees all of them, one way or the other.
#[test]
fn readers_see_every_event_while_others_archive() {
    let w = World::new();
    let app = w.app();
    for n in 0..150 {
        event(
            &app,
            &format!("e{n:03}"),
            "2026-01-10T00:00:00Z",
            &format!("w{n}"),
            &format!("this_session:\n- item {n}\n"),
        );
    }
    let whole = synth(&app);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (app, done, whole) = (&app, &done, &whole);
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(move || {
                    let mut seen = 0;
                    while !done.load(Ordering::SeqCst) {
                        assert_eq!(&app.ledger(&["--output", "-"]).exit(0).stdout, whole);
                        seen += 1;
                    }
                    seen
                })
            })
            .collect();
        for _ in 0..6 {
            app.ledger(&["archive"]).exit(0);
            app.sh(&format!("mv {ROOT}/archive/*/*.md {EVENTS}/ && rm {EVENTS}/snapshot_*")).exit(0);
        }
        done.store(true, Ordering::SeqCst);
        let seen: usize = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
        assert!(seen > 3, "{seen}");
    });
}

#[test]
fn case_15_every_place_sees_the_same_directory() {
    let w = World::new();
    let app = w.app();
    let add = |repo: &Repo<'_>, text: &str| -> Checked { repo.ledger(&["add", "--now", text]).exit(0) };
    app.sh("mkdir -p deep/er").exit(0);
    let deep = w.at(app.path.join("deep/er"));
    let path = add(&deep, "deep").stdout;
    assert!(path.starts_with(app.path.join(EVENTS).to_str().unwrap()), "{path}");
    deep.ledger(&["--no-confirm"]).exit(0);
    assert!(app.read(CURRENT).contains("**Now:** deep"));

    let wt = app.worktree("wt");
    add(&wt, "linked");
    wt.ledger(&["--no-confirm"]).exit(0);
    assert!(wt.read(CURRENT).contains("**Now:** linked") && app.read(CURRENT).contains("**Now:** deep"));

    app.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = w.at(app.path.parent().unwrap().join("bare.git"));
    let of_bare = bare.worktree("of-bare");
    add(&of_bare, "bare");
    of_bare.ledger(&["--no-confirm"]).exit(0);
    assert!(of_bare.read(CURRENT).contains("**Now:** bare"));

    // In a hook git exports where it is at work.
    write(&app.path.join(".git/hooks/pre-commit"), "#!/bin/sh\nledger-synth add --now hooked --synth\n");
    app.sh("chmod +x .git/hooks/pre-commit").exit(0);
    wt.sh("git commit -q --allow-empty -m x").exit(0);
    assert!(wt.read(CURRENT).contains("**Now:** hooked") && app.read(CURRENT).contains("**Now:** deep"));
}
