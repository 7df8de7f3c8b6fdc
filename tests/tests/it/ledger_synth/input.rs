//! ledger-synth: what it is given, good and bad: places, filters, pages of others, damage.

use crate::support::ledger::{CURRENT, EVENTS, ROOT, event, field, section, synth};
use crate::support::world::{Repo, World, text, write};

fn two(repo: &Repo<'_>) {
    event(repo, "a", "2026-01-10T00:00:00Z", "toast", "now: one\nthis_session:\n- of toast\n");
    repo.write(
        &format!("{EVENTS}/b.md"),
        "---\nts: 2026-01-11T00:00:00Z\nagent: waffle\nbranch: feat/x\n---\nnow: two\nthis_session:\n- of waffle\n",
    );
}

#[test]
fn a_partial_view_is_printed_and_replaces_nothing() {
    let w = World::new();
    let app = w.app();
    two(&app);
    let whole = synth(&app);
    let out = app.ledger(&["--agent", "toast"]).exit(0).stdout;
    assert!(out.contains("**Now:** one") && !out.contains("waffle"), "{out}");
    let out = app.ledger(&["--branch", "feat/x", "--json"]).exit(0).json();
    assert_eq!((text(&out, "/now"), out["event_count"].as_u64(), text(&out, "/path")), ("two", Some(1), "-"));
    // Looked up here first, then in the ledger.
    for pattern in
        [format!("{EVENTS}/a*"), "events/a.md".into(), app.path.join(EVENTS).join("[a].md").display().to_string()]
    {
        let out = app.ledger(&["--input", &pattern]).exit(0).stdout;
        assert!(out.contains("**Now:** one") && !out.contains("waffle"), "{pattern}: {out}");
    }
    let both = app.ledger(&["--input", "events/a.md", "--input", "events/*.md", "--output", "-"]).exit(0).stdout;
    assert_eq!(both, whole);
    app.ledger(&["--input", "events/none*.md"]).exit(2).err_has("no file matches").err_has("hint: ");
    app.ledger(&["--agent", "toast", "--output", "part.md"]).exit(0).out_has("wrote ");
    app.ledger(&["--agent", "toast", "--output", "part.md"]).exit(0).out_has("unchanged ");
    assert!(app.read("part.md").contains("**Now:** one"));
    app.write("mine.md", "mine\n");
    app.ledger(&["--output", "mine.md"]).exit(2).err_has("was not written by ledger-synth");
    assert_eq!(app.read(CURRENT), whole);
    // What is folded is told of as long as the archive has it.
    app.ledger(&["archive"]).exit(0);
    assert!(app.ledger(&["--agent", "toast"]).exit(0).stdout.contains("**Now:** one"));
    for args in [
        &["--agent", "x", "--commit"][..],
        &["--check", "--archive"],
        &["--tree", "HEAD"],
        &["--input", "x", "--force"],
    ] {
        app.ledger(args).exit(2).any_err();
    }
    app.ledger(&["--check", "add", "--now", "x"]).exit(2).err_has("stands before a subcommand");
}

#[test]
fn all_worktrees_together_are_a_live_view() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T00:00:00Z", "toast", "now: here\n");
    let wt = app.worktree("wt");
    event(&wt, "a", "2026-01-10T00:00:00Z", "toast", "now: here\n");
    event(&wt, "b", "2026-01-11T00:00:00Z", "waffle", "now: there\n");
    let out = app.ledger(&["--all-worktrees"]).exit(0).stdout;
    assert!(out.contains("**Now:** there"));
    assert_eq!(field(&out, "event_count"), "2");
    assert!(!app.has(CURRENT));
}

#[test]
fn a_page_a_person_wrote_is_replaced_on_demand_only() {
    let w = World::new();
    let app = w.app();
    two(&app);
    let page = "# Ledger\n\nUpdated: 2026-01-12T00:00:00Z\n\n## Now\nBy hand\n\n## Decisions\n- **db:** postgres\n\n## Open Questions\n- Which?\n";
    app.write(CURRENT, page);
    let before = w.at(app.path.join("thoughts"));
    let snapshot = before.snapshot();
    app.ledger(&["--no-confirm"]).exit(2).err_has("was not written by ledger-synth").err_has("--adopt");
    app.ledger(&["--check"]).exit(1).err_has("was not written by ledger-synth");
    app.ledger(&["--no-confirm", "--adopt", "-n"]).exit(0);
    before.assert_untouched_since(&snapshot);
    app.ledger(&["--no-confirm", "--adopt"]).exit(0).err_has("took current.md over as");
    let json = app.ledger(&["--json"]).exit(0).json();
    assert_eq!((text(&json, "/now"), text(&json, "/decisions/db")), ("By hand", "postgres"));
    assert_eq!((text(&json, "/open_questions/0"), json["event_count"].as_u64()), ("Which?", Some(3)));
    app.ledger(&["--check"]).exit(0);
    app.write(CURRENT, page);
    app.ledger(&["--no-confirm", "--adopt"]).exit(0);
    assert_eq!(field(&app.read(CURRENT), "event_count"), "3", "it is taken over once");
    app.write(CURRENT, "mine\n");
    app.ledger(&["--check"]).exit(1).err_has("run `ledger-synth --adopt`");
    app.ledger(&["--no-confirm", "--force"]).exit(0).err_has("is kept in");
    app.ledger(&["--check"]).exit(0);
    let kept = app.sh("grep -rl '^mine' .git/shopfloor/ledger-synth/edited").exit(0).stdout;
    assert_eq!(kept.lines().count(), 1);
}

#[test]
fn an_edit_by_hand_is_kept_aside() {
    let w = World::new();
    let app = w.app();
    two(&app);
    let text = synth(&app);
    app.write(CURRENT, &text.replace("- of toast", "- of toast, and more"));
    let out = app.ledger(&["--no-confirm"]).exit(0);
    out.err_has("was edited by hand; what it held is kept in");
    assert_eq!(app.read(CURRENT), text);
    app.sh("grep -r 'and more' .git/shopfloor/ledger-synth/edited").exit(0);
    app.write(CURRENT, &format!("{text}\n## Mine\n- do not lose this\n"));
    app.ledger(&["--check"]).exit(1).err_has("it was edited by hand");
    app.ledger(&["--no-confirm"]).exit(0).err_has("was edited by hand");
    app.sh("grep -r 'do not lose this' .git/shopfloor/ledger-synth/edited").exit(0);
    app.write(CURRENT, &text.replace("format: 1", "format: 2"));
    app.ledger(&["--no-confirm"]).exit(2).err_has("written by a newer ledger-synth");
    app.ledger(&["--check"]).exit(2).err_has("written by a newer ledger-synth");
}

#[test]
fn the_root_is_where_it_is_said_to_be() {
    let w = World::new();
    let app = w.app();
    let wt = app.worktree("wt");
    wt.ledger(&["--root", "main", "add", "--now", "of main"]).exit(0);
    assert!(app.has(EVENTS) && !wt.has(EVENTS));
    wt.run_with("ledger-synth", &["--no-confirm"], &[("LEDGER_SYNTH_ROOT", "main")]).exit(0);
    assert!(app.read(CURRENT).contains("**Now:** of main"));
    wt.sh("mkdir sub").exit(0);
    let sub = w.at(wt.path.join("sub"));
    sub.ledger(&["--root", "led", "add", "--now", "x"]).exit(0);
    assert!(wt.has("sub/led/events"));
    sub.run_with("ledger-synth", &["add", "--now", "x"], &[("LEDGER_SYNTH_ROOT", "led")]).exit(0);
    assert!(wt.has("led/events"));
    let outside = w.home("outside");
    app.ledger(&["--root", outside.to_str().unwrap(), "add", "--now", "x"])
        .exit(2)
        .err_has("there is no directory")
        .err_has("mkdir -p");
    std::fs::create_dir(&outside).unwrap();
    app.ledger(&["--root", outside.to_str().unwrap(), "add", "--now", "x"]).exit(0);
    app.ledger(&["--root", outside.to_str().unwrap(), "--no-confirm"]).exit(0);
    assert!(outside.join("current.md").exists());
    app.ledger(&["--root", outside.to_str().unwrap(), "--no-confirm", "--commit"]).exit(2).err_has("in no work tree");
    // A checked-in setting leads nowhere else without a person's word.
    app.write(".shopfloor/config.toml", &format!("[ledger-synth]\nroot = {outside:?}\n"));
    app.ledger(&["config"]).exit(0).out_has("root = worktree (default)").err_has("approve");
    write(&w.home(".config/shopfloor/config.toml"), "[ledger-synth]\nsession_window = \"1d\"\nretention = \"soon\"\n");
    app.ledger(&["--no-confirm"]).exit(2).err_has("retention must be a time, not `soon`").err_has("config.toml:3");
}

#[test]
fn a_window_hides_what_earlier_sessions_did() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-01T00:00:00Z", "x", "this_session:\n- old\n- again\ndecisions:\n  k: v\n");
    event(&app, "b", "2026-01-09T00:00:00Z", "x", "this_session:\n- new\n- again\n");
    let out = app.ledger(&["--no-confirm", "--session-window", "1d"]).exit(0);
    out.out_has("wrote");
    let text = app.read(CURRENT);
    assert_eq!(section(&text, "This Session"), ["- again", "- new"]);
    assert!(text.contains("**k:** v"));
    app.ledger(&["--check", "--session-window", "1d"]).exit(0);
    app.ledger(&["--check"]).exit(1).any_err();
}

#[test]
fn what_is_no_regular_file_is_not_opened() {
    let w = World::new();
    let app = w.app();
    two(&app);
    let text = synth(&app);
    app.sh(&format!("cd {EVENTS} && mkfifo f.md && mkdir d.md && ln -s a.md l.md && ln -s /etc/passwd p.md && cp a.md .hidden.md && cp a.md a.txt"))
        .exit(0);
    app.ledger(&["--no-confirm"]).exit(0).out_has("unchanged");
    assert_eq!(app.read(CURRENT), text);
    app.ledger(&["--check"]).exit(0);
    // A directory reached by a link is not the ledger.
    let wt = app.worktree("wt");
    wt.sh(&format!("mkdir -p {ROOT} elsewhere && ln -s ../../../elsewhere {EVENTS}")).exit(0);
    wt.ledger(&["add", "--now", "x"]).exit(4).err_has("is a link or no directory");
    assert_eq!(wt.sh("ls elsewhere").exit(0).stdout, "");
    wt.sh(&format!("rm {EVENTS} && mkdir {EVENTS} && ln -s /etc/passwd {CURRENT}")).exit(0);
    event(&wt, "a", "2026-01-10T00:00:00Z", "toast", "now: one\n");
    wt.ledger(&["--no-confirm"]).exit(4).err_has("is no regular file");
}

#[test]
fn an_event_that_cannot_be_read_is_no_malformed_one() {
    let w = World::new();
    let app = w.app();
    two(&app);
    synth(&app);
    let text = app.read(CURRENT);
    event(&app, "c", "2026-01-12T00:00:00Z", "x", "now: secret\n");
    app.sh(&format!("chmod 000 {EVENTS}/c.md")).exit(0);
    let out = app.run_bound("ledger-synth", &["--no-confirm"]).exit(4);
    out.err_has("cannot read").err_has("c.md").err_has("Permission denied");
    assert_eq!(app.read(CURRENT), text);
    app.run_bound("ledger-synth", &["--check"]).exit(4).any_err();
}

#[test]
fn a_damaged_cache_is_read_past() {
    let w = World::new();
    let app = w.app();
    for n in 0..20 {
        event(
            &app,
            &format!("e{n}"),
            &format!("2026-01-{:02}T00:00:00Z", n + 1),
            "x",
            &format!("this_session:\n- item {n}\n"),
        );
    }
    let text = synth(&app);
    // Files are remembered only once their times have come to rest.
    let started = std::time::Instant::now();
    let cache = loop {
        app.ledger(&["--json"]).exit(0);
        let found = app.sh("ls -d $PWD/.git/shopfloor/ledger-synth/cache/*.events 2>/dev/null; true").exit(0).stdout;
        if !found.is_empty() {
            break found.trim().to_owned();
        }
        assert!(started.elapsed().as_secs() < 30, "nothing is remembered");
    };
    let whole = std::fs::read(&cache).unwrap();
    let damaged = |at: usize, len: usize| {
        let mut bytes = whole.clone();
        bytes.truncate(len);
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 0x40;
        }
        std::fs::write(&cache, bytes).unwrap();
        app.ledger(&["--json"]).exit(0);
        assert_eq!(app.read(CURRENT), text, "byte {at} of {len}");
    };
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        damaged(at, whole.len());
    }
    for len in (0..whole.len()).step_by(whole.len() / 20) {
        damaged(usize::MAX, len);
    }
    std::fs::write(&cache, b"ledger-synth events 9\nwhatever").unwrap();
    std::fs::remove_file(app.path.join(CURRENT)).unwrap();
    assert_eq!(synth(&app), text);
}

/// A file that is written again in the same instant, with the same size and times, is read again.
#[test]
fn the_cache_never_hides_an_edit() {
    let w = World::new();
    let app = w.app();
    for n in 0..30 {
        event(&app, "a", "2026-01-10T00:00:00Z", "x", &format!("now: n{:02}\n", n));
        app.sh(&format!("touch -d 2026-01-01T00:00:00Z {EVENTS}/a.md")).exit(0);
        assert!(synth(&app).contains(&format!("**Now:** n{n:02}\n")));
    }
}

#[test]
fn a_snapshot_that_was_changed_is_never_passed_over() {
    let w = World::new();
    let app = w.app();
    two(&app);
    synth(&app);
    app.ledger(&["archive"]).exit(0);
    let name = app.sh(&format!("ls {EVENTS}")).exit(0).stdout.trim().to_owned();
    let path = format!("{EVENTS}/{name}");
    let whole = app.read(&path);
    app.write(&path, &whole.replace('\n', "\r\n"));
    app.ledger(&["--check"]).exit(0);
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
        app.ledger(&["--no-confirm"]).exit(2).err_has(&name).err_has("git checkout");
        app.ledger(&["--check"]).exit(2).any_err();
        app.ledger(&["archive"]).exit(2).any_err();
        app.ledger(&["prune", "--retention", "0"]).exit(2).any_err();
        assert_eq!(app.read(CURRENT), before);
    }
    app.write(&path, &whole);
    app.ledger(&["--check"]).exit(0);
}

#[test]
fn a_lock_that_is_held_is_waited_for_and_then_told() {
    let w = World::new();
    let app = w.app();
    two(&app);
    synth(&app);
    event(&app, "c", "2026-01-12T00:00:00Z", "x", "now: three\n");
    let lock = app.sh("ls $PWD/.git/shopfloor/ledger-synth/*.synth.lock").exit(0).stdout.trim().to_owned();
    let held = std::fs::File::open(lock).unwrap();
    held.lock().unwrap();
    app.ledger(&["--check"]).exit(1).any_err();
    app.ledger(&["add", "--now", "x"]).exit(0);
    app.ledger(&["--no-confirm"]).exit(75).err_has("another process holds").err_has("hint: ");
    drop(held);
    app.ledger(&["--no-confirm"]).exit(0);
}

#[test]
fn hostile_bodies_cost_little_and_touch_no_other_event() {
    let w = World::new();
    let app = w.app();
    event(&app, "good", "2026-01-10T00:00:00Z", "x", "now: good\n");
    let nasty = [
        "[", "{", "- ", "\"", "'", "a: ", ": ", "#", "|\n ", "  - x\n", "```\n", "\\", "&a ", "*a ", "!", "?", "~\n",
        "<!--",
    ];
    for (n, piece) in nasty.iter().enumerate() {
        let body = piece.repeat((1 << 20) / piece.len() - 200);
        event(&app, &format!("n{n}"), "2026-01-09T00:00:00Z", "x", &body);
        event(&app, &format!("l{n}"), "2026-01-09T00:00:00Z", "x", &format!("blockers:\n- {body}"));
    }
    let start = std::time::Instant::now();
    let text = synth(&app);
    // A deadline against hanging, not a measure: a quadratic reading of a mebibyte takes minutes.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    assert!(text.contains("**Now:** good\n"));
    let growing = |range: &mut dyn Iterator<Item = usize>| range.map(|n| "`".repeat(n) + "x\n\n").collect::<String>();
    let fences = growing(&mut (67..140)) + &"```x\n\n".repeat(100_000);
    event(&app, "fences", "2026-01-09T00:00:00Z", "x", &fences);
    event(&app, "growing", "2026-01-09T00:00:00Z", "x", &growing(&mut (3..1_000)));
    event(&app, "shrinking", "2026-01-09T00:00:00Z", "x", &growing(&mut (3..1_000).rev()));
    synth(&app);
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    app.write(
        &format!("{EVENTS}/front.md"),
        &format!("---\nts: 2026-01-10T00:00:00Z\nagent: {}\n---\n", "[".repeat(100_000)),
    );
    app.ledger(&["--no-confirm"]).exit(0).err_has("front.md:1: the frontmatter is larger than 16 KiB");
}

#[test]
fn a_person_is_shown_what_would_change_and_asked() {
    let w = World::new();
    let app = w.app();
    two(&app);
    let out = app.on_terminal("ledger-synth", "n\n").exit(3);
    assert!(out.stdout.contains("waffle (2026-01-11T00:00)") && out.stdout.contains("+**Now:** two"), "{}", out.stdout);
    assert!(!app.has(CURRENT));
    let out = app.on_terminal("ledger-synth", "y\nn\nn\n").exit(0);
    assert!(
        out.stdout.contains("archive the events now?") && out.stdout.contains("commit the ledger?"),
        "{}",
        out.stdout
    );
    assert!(app.has(CURRENT) && app.has(&format!("{EVENTS}/a.md")));
    app.on_terminal("ledger-synth", "y\ny\n").exit(0);
    assert!(!app.has(&format!("{EVENTS}/a.md")));
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    app.ledger(&["--check"]).exit(0);
}

#[test]
fn a_stamp_is_no_reason_to_write() {
    let w = World::new();
    let app = w.app();
    // With --json every command answers with a document, also when there is nothing to do.
    for args in [
        &["prune", "--json"][..],
        &["prune", "--json", "--retention", "never"],
        &["archive", "--json"],
        &["--json"],
        &["--check", "--json"],
    ] {
        app.ledger(args).exit(0).json();
    }
    assert!(
        text(&app.ledger(&["add", "--draft", "--now", "x", "--json"]).exit(0).json(), "/draft").ends_with("draft.md")
    );
    two(&app);
    let at = |time: &'static str| [("SHOPFLOOR_NOW", time)];
    app.run_with("ledger-synth", &["--no-confirm", "--stamp"], &at("2026-02-01T00:00:00Z")).exit(0).out_has("wrote");
    assert_eq!(field(&app.read(CURRENT), "generated_at"), "2026-02-01T00:00:00Z");
    app.run_with("ledger-synth", &["--no-confirm", "--stamp"], &at("2026-02-02T00:00:00Z"))
        .exit(0)
        .out_has("unchanged");
    app.ledger(&["--check"]).exit(0);
    assert_eq!(field(&app.read(CURRENT), "generated_at"), "2026-02-01T00:00:00Z");
}

#[test]
fn read_only_checkouts_can_be_checked() {
    let w = World::new();
    let app = w.app();
    two(&app);
    synth(&app);
    app.sh("chmod -R a-w .").exit(0);
    app.run_bound("ledger-synth", &["--check"]).exit(0);
    app.run_bound("ledger-synth", &["--no-confirm"]).exit(4).any_err();
    app.sh("chmod -R u+w .").exit(0);
}

#[test]
fn what_only_looks_like_a_snapshot_is_an_event_and_the_other_way_round() {
    let w = World::new();
    let app = w.app();
    two(&app);
    app.write(&format!("{EVENTS}/u.md"), "---\nts: 2026-01-10T00:00:00Z\nagent: x\nsnapshot: took one of the db\n");
    app.ledger(&["--no-confirm"]).exit(0).err_has("u.md:1: the frontmatter has no closing");
    app.sh(&format!("rm {EVENTS}/u.md")).exit(0);
    event(&app, "snapshot_notes", "2026-01-08T00:00:00Z", "x", "goal: an event like any other\n");
    assert!(synth(&app).contains("an event like any other"));
    app.sh(&format!("rm {EVENTS}/snapshot_notes.md")).exit(0);
    let text = synth(&app);
    event(&app, "old", "0000-01-01T00:00:00+05:00", "x", "now: before all years\n");
    app.ledger(&["--no-confirm"]).exit(0).err_has("old.md:2: `ts: 0000-01-01T00:00:00+05:00`");
    app.sh(&format!("rm {EVENTS}/old.md")).exit(0);
    app.ledger(&["archive"]).exit(0);
    app.sh(&format!("sed -i '1i\\\\' {EVENTS}/snapshot_*.md")).exit(0);
    assert_eq!(synth(&app), text, "a blank line before it changes nothing");
    app.sh(&format!("rm {EVENTS}/*")).exit(0);
    app.ledger(&["--check"]).exit(1).err_has("there are no events any more");
    app.sh(&format!("ln -s $PWD/{ROOT} lnk")).exit(0);
    for path in [CURRENT, "lnk/current.md", "thoughts/shared/handoffs/../handoffs/current.md"] {
        app.ledger(&["--output", path, "--agent", "x"]).exit(2).err_has("a ledger's own");
    }
    assert_eq!(app.read(CURRENT), text);
}
