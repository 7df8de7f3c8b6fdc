//! Where the ledger is, and the settings that change it.

use crate::support::ledger::{CURRENT, EVENTS, commit_all, event, section, synth};
use crate::support::world::{Checked, Repo, World, write};

#[test]
fn root_chooses_the_directory_of_the_ledger() {
    let w = World::new();
    let app = w.app();
    let wt = app.worktree("wt");
    wt.ledger(&["--root", "main", "add", "--now", "of main"]).succeeds();
    assert!(app.has(EVENTS) && !wt.has(EVENTS));
    wt.run_with("ledger-synth", &["--no-confirm"], &[("LEDGER_SYNTH_ROOT", "main")]).succeeds();
    assert!(app.read(CURRENT).contains("**Now:** of main"));
    wt.sh("mkdir sub").exit(0);
    let sub = w.at(wt.path.join("sub"));
    sub.ledger(&["--root", "led", "add", "--now", "x"]).succeeds();
    assert!(wt.has("sub/led/events"));
    sub.run_with("ledger-synth", &["add", "--now", "x"], &[("LEDGER_SYNTH_ROOT", "led")]).succeeds();
    assert!(wt.has("led/events"));
    let outside = w.home("outside");
    app.ledger(&["--root", outside.to_str().unwrap(), "add", "--now", "x"])
        .exit(2)
        .err_has("there is no directory")
        .err_has("mkdir -p");
    std::fs::create_dir(&outside).unwrap();
    app.ledger(&["--root", outside.to_str().unwrap(), "add", "--now", "x"]).succeeds();
    app.ledger(&["--root", outside.to_str().unwrap(), "--no-confirm"]).succeeds();
    assert!(outside.join("current.md").exists());
    app.ledger(&["--root", outside.to_str().unwrap(), "--no-confirm", "--commit"])
        .exit(2)
        .err_has("not in a work tree");
    // A checked-in setting needs approval to lead to another directory.
    app.write(".shopfloor/config.toml", &format!("[ledger-synth]\nroot = {outside:?}\n"));
    app.ledger(&["config"]).exit(0).out_has("root = worktree (default)").err_has("approve");
    write(&w.home(".config/shopfloor/config.toml"), "[ledger-synth]\nsession_window = \"1d\"\nretention = \"soon\"\n");
    app.ledger(&["--no-confirm"]).exit(2).err_has("`retention` must be a length of time").err_has("config.toml:3");
}

#[test]
fn session_window_hides_what_earlier_sessions_did() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-01T00:00:00Z", "x", "this_session:\n- old\n- again\ndecisions:\n  k: v\n");
    event(&app, "b", "2026-01-09T00:00:00Z", "x", "this_session:\n- new\n- again\n");
    let shown = |out: &str| section(out, "This Session");
    app.ledger(&["--no-confirm"]).exit(0).out_has("wrote");
    let all = app.read(CURRENT);
    assert_eq!(shown(&all), ["- again", "- new", "- old"]);
    // A flag, a variable and the user's own file decide what is printed, and nothing about the page.
    let out = app.ledger(&["--output", "-", "--session-window", "1d"]).exit(0);
    assert_eq!(shown(&out.stdout), ["- again", "- new"]);
    write(&w.home(".config/shopfloor/config.toml"), "[ledger-synth]\nsession_window = \"1d\"\n");
    assert_eq!(shown(&app.ledger(&["--output", "-"]).exit(0).stdout), ["- again", "- new"]);
    app.run_with("ledger-synth", &["--no-confirm"], &[("LEDGER_SYNTH_SESSION_WINDOW", "1d")]).exit(0);
    app.ledger(&["--check", "--session-window", "1d"]).succeeds();
    assert_eq!(app.read(CURRENT), all);
    // The tree's own file decides about the page, in every clone and in git's objects.
    app.write(".shopfloor/config.toml", "[ledger-synth]\nsession_window = \"1d\"\n");
    app.ledger(&["--check"]).exit(1).any_err().out_has("- old");
    app.ledger(&["--no-confirm"]).exit(0).out_has("wrote");
    let text = app.read(CURRENT);
    assert_eq!(shown(&text), ["- again", "- new"]);
    assert!(text.contains("**k:** v"));
    app.sh("git add -A && git commit -qm x && git clone -q --bare . ../window.git").exit(0);
    let bare = w.at(app.path.parent().unwrap().join("window.git"));
    bare.ledger(&["--check", "--tree", "HEAD"]).succeeds();
    let wt = app.worktree("wt");
    wt.ledger(&["--check"]).succeeds();
    // A linked worktree has its own.
    wt.write(".shopfloor/config.toml", "");
    wt.ledger(&["--check"]).exit(1).any_out().any_err();
    app.ledger(&["--check"]).succeeds();
    wt.write(".shopfloor/config.toml", "[ledger-synth]\ntracked = \"events\"\n");
    wt.ledger(&["config"]).exit(0).out_has("tracked = events (").out_has("session_window = 1d (");
    app.ledger(&["config"]).exit(0).out_has("tracked = page (default)");
}

/// A page of the first tool, or of format 1, is ours: it is replaced, and what only it says is kept aside.
#[test]
fn a_page_of_an_older_format_is_replaced() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-02T00:00:00Z", "x", "this_session:\n- one\n");
    let new = synth(&app);
    let page = "## Ledger\n\n### This Session\n- one\n";
    let fields = "  event_count: 1\n  latest_ts: 2026-01-02T00:00:00Z\n  generated_at: 2026-01-02T00:00:00Z\n";
    let app_hash = app.sh(&format!("printf {page:?} | sha256sum | cut -d' ' -f1")).exit(0).stdout.trim().to_owned();
    let own = format!("  format: 1\n  inputs: {}\n  skipped: 0\n  output: {app_hash}\n", "0".repeat(64));
    let footer = |more: &str| format!("\n---\n_synthesized:\n{fields}{more}\n---\n");
    let edited =
        || app.sh("ls .git/shopfloor/ledger-synth/edited 2>/dev/null | wc -l").exit(0).stdout.trim().to_owned();
    for (old, kept) in [(format!("{page}{}", footer(&own)), "0"), (format!("{page}{}", footer("")), "1")] {
        app.write(CURRENT, &old);
        app.ledger(&["--check"]).exit(1).any_out().err_has("an older ledger-synth wrote it");
        app.ledger(&["--yes"]).exit(0).any_err().out_has("wrote ");
        assert_eq!((app.read(CURRENT), edited().as_str()), (new.clone(), kept), "{old}");
    }
}

/// Case 15 of the design.
#[test]
fn every_directory_and_hook_of_a_worktree_sees_its_ledger() {
    let w = World::new();
    let app = w.app();
    let add = |repo: &Repo<'_>, text: &str| -> Checked { repo.ledger(&["add", "--now", text]).succeeds() };
    app.sh("mkdir -p deep/er").exit(0);
    let deep = w.at(app.path.join("deep/er"));
    let path = add(&deep, "deep").stdout;
    assert!(path.starts_with(app.path.join(EVENTS).to_str().unwrap()), "{path}");
    deep.ledger(&["--no-confirm"]).succeeds();
    assert!(app.read(CURRENT).contains("**Now:** deep"));

    let wt = app.worktree("wt");
    add(&wt, "linked");
    wt.ledger(&["--no-confirm"]).succeeds();
    assert!(wt.read(CURRENT).contains("**Now:** linked") && app.read(CURRENT).contains("**Now:** deep"));

    app.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = w.at(app.path.parent().unwrap().join("bare.git"));
    let of_bare = bare.worktree("of-bare");
    add(&of_bare, "bare");
    of_bare.ledger(&["--no-confirm"]).succeeds();
    assert!(of_bare.read(CURRENT).contains("**Now:** bare"));

    // In a hook, git exports the repository in which it works.
    write(&app.path.join(".git/hooks/pre-commit"), "#!/bin/sh\nledger-synth add --now hooked --synth\n");
    app.sh("chmod +x .git/hooks/pre-commit").exit(0);
    wt.sh("git commit -q --allow-empty -m x").succeeds();
    assert!(wt.read(CURRENT).contains("**Now:** hooked") && app.read(CURRENT).contains("**Now:** deep"));
}

#[test]
fn a_file_of_hooks_that_was_there_before_install_stays() {
    let w = World::new();
    let app = w.app();
    let file = ".claude/settings.json";
    let install = || app.ledger(&["install", "--claude"]).succeeds();
    let undo = || app.ledger(&["install", "--undo", "--claude"]).exit(0).any_out();
    app.write(file, "{\"hooks\":{}}");
    install();
    undo();
    assert_eq!(app.read(file).split_whitespace().collect::<String>(), "{}");
    app.commit(file, "{}\n");
    install();
    undo();
    assert_eq!(app.read(file), "{}\n");
    install();
    commit_all(&app);
    undo();
    assert_eq!(app.read(file), "{}\n");
    // What nobody has changed since has every byte as it was; what somebody changed lacks only what is ours.
    for own in ["{\"model\":\"x\"}\n", "{ \"hooks\": {} }\n", "{\"hooks\":{\"SessionStart\":[]}}"] {
        app.commit(file, own);
        install();
        undo();
        assert_eq!(app.read(file), own);
        install();
        commit_all(&app);
        undo();
        assert_eq!(app.read(file), own);
    }
    app.commit(file, "{\"model\":\"x\"}\n");
    install();
    app.write(file, &app.read(file).replace("\"x\"", "\"y\""));
    undo();
    let kept: serde_json::Value = serde_json::from_str(&app.read(file)).unwrap();
    assert_eq!(kept, serde_json::json!({ "model": "y" }));
    // One that `install` made goes, also if it was committed.
    app.sh(&format!("git rm -qf {file} && git commit -qm gone")).exit(0);
    install();
    commit_all(&app);
    undo();
    assert!(!app.has(file));
}
