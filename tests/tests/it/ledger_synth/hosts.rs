//! Hosts that merge without drivers, and sparse checkouts.

use crate::support::ledger::{CURRENT, EVENTS, commit_all, event, section, synth};
use crate::support::world::{World, text};

/// Two branches that both added and synthesised merge on a bare host without a conflict.
#[test]
fn a_bare_host_merges_branches_whose_events_alone_are_tracked() {
    let w = World::new();
    let app = w.app();
    app.ledger(&["add", "--agent", "base", "--now", "base", "--synth"]).exit(0).any_out();
    commit_all(&app);
    app.ledger(&["install", "--tracked", "events"])
        .exit(0)
        .out_has("wrote .gitignore\nwrote .shopfloor/config.toml\n")
        .err_has("conflicts once");
    assert!(app.read(".gitignore").contains("/thoughts/shared/handoffs/current.md\n"));
    assert!(!app.has(".gitattributes") && app.has(CURRENT));
    commit_all(&app);
    assert_eq!(app.git(&["ls-files", CURRENT]), "");
    app.ledger(&["doctor"]).exit(0).out_has("git ignores thoughts/shared/handoffs/current.md");
    // A line that takes it back.
    let ignored = app.read(".gitignore");
    app.write(".gitignore", &format!("{ignored}!*.md\n"));
    app.ledger(&["doctor"]).exit(1).out_has("git does not ignore thoughts/shared/handoffs/current.md");
    app.ledger(&["install", "--tracked", "events"]).exit(0).any_out().any_err();
    app.ledger(&["doctor"]).exit(0).out_has("git ignores thoughts/shared/handoffs/current.md");
    app.write(".gitignore", &ignored);
    for branch in ["a", "b"] {
        app.git(&["switch", "-q", "-c", branch, "main"]);
        app.ledger(&["add", "--agent", branch, "--done", branch, "--synth", "--commit"]).exit(0).any_out();
        assert_eq!(app.git(&["status", "--porcelain"]), "");
        // Every page is stale on another branch, and that is no matter.
        app.ledger(&["--check"]).exit(0).any_out();
    }
    app.git(&["clone", "-q", "--bare", ".", "../host.git"]);
    let host = w.at(app.path.parent().unwrap().join("host.git"));
    let tree = host.git(&["merge-tree", "--write-tree", "a", "b"]);
    let files = host.git(&["ls-tree", "-r", "--name-only", tree.trim()]);
    assert_eq!(files.lines().filter(|file| file.starts_with(EVENTS)).count(), 3, "{files}");
    host.ledger(&["--check", "--tree", "b"]).exit(0).any_out();
    // The hook makes the page after a merge.
    std::fs::remove_file(app.path.join(CURRENT)).unwrap();
    app.git(&["merge", "-q", "--no-edit", "a"]);
    assert_eq!(section(&app.read(CURRENT), "This Session"), ["- a", "- b"]);
    // Bad events are judged all the same.
    app.write(&format!("{EVENTS}/bad.md"), "no event\n");
    app.ledger(&["--check"]).exit(2).any_out().any_err();
    std::fs::remove_file(app.path.join(EVENTS).join("bad.md")).unwrap();
    // And back.
    app.ledger(&["install", "--tracked", "page"]).exit(0).any_err().out_has("removed .gitignore\n");
    assert!(!app.has(".gitignore") && app.has(".gitattributes"));
    app.ledger(&["--no-confirm", "--commit"]).exit(0).any_out();
    assert!(!app.git(&["ls-files", CURRENT]).is_empty());
}

/// The files that `install` writes for each program, and a setting that somebody made stays.
#[test]
fn install_sets_up_the_programs_of_the_table() {
    let w = World::new();
    let app = w.app();
    app.write(".gemini/settings.json", "{\n  // ours\n  \"theme\": \"x\"\n}\n");
    app.ledger(&["install", "--claude", "--codex", "--gemini"]).exit(0).any_out().any_err();
    let skill = app.read(".claude/skills/synthesize-ledgers/SKILL.md");
    assert_eq!(app.read(".agents/skills/synthesize-ledgers/SKILL.md"), skill);
    assert!(skill.contains("description: Leave word") && skill.contains("each milestone"), "{skill}");
    for (file, program) in
        [(".claude/settings.json", "claude"), (".codex/hooks.json", "codex"), (".gemini/settings.json", "gemini")]
    {
        let hooks = app.read(file);
        assert!(hooks.contains(&format!("ledger-synth banner --for-hook {program}")), "{hooks}");
        assert!(hooks.contains(&format!("ledger-synth add --from-hook {program} --synth --commit")), "{hooks}");
    }
    let gemini = app.read(".gemini/settings.json");
    assert!(gemini.contains("// ours") && gemini.contains("\"name\": \"ledger\""), "{gemini}");
    let again = app.ledger(&["install", "--claude", "--codex", "--gemini"]).exit(0).any_err().stdout;
    assert!(!again.contains("wrote"), "{again}");
    // On a terminal the person is asked what is to be in git.
    let out = app.on_terminal("ledger-synth install", "y\n").exit(0);
    assert!(out.stdout.contains("Keep only the events in git"), "{}", out.stdout);
    assert!(app.read(".shopfloor/config.toml").contains("tracked = \"events\""));
}

/// A cone that leaves the ledger out neither makes a page of one event nor fails.
#[test]
fn a_sparse_checkout_has_the_whole_ledger() {
    let w = World::new();
    let app = w.app();
    for n in 1..4 {
        event(&app, &n.to_string(), &format!("2026-01-0{n}T00:00:00Z"), "x", &format!("this_session:\n- did {n}\n"));
    }
    app.write("src/a.txt", "a\n");
    let page = synth(&app);
    commit_all(&app);
    app.git(&["clone", "-q", "--sparse", ".", "../sparse"]);
    let sparse = w.at(app.path.parent().unwrap().join("sparse"));
    sparse.git(&["sparse-checkout", "set", "--cone", "src"]);
    assert!(!sparse.has("thoughts") && sparse.has("src/a.txt"));
    sparse.ledger(&["--check"]).exit(0).any_out();
    sparse.ledger(&["banner"]).exit(0).out_has("synthesized from 3 events");
    sparse.ledger(&["--no-confirm"]).exit(0);
    assert!(!sparse.has("thoughts"), "nothing to write down, nothing written");
    let written = sparse
        .ledger(&["add", "--agent", "y", "--done", "here", "--synth", "--commit", "--json"])
        .exit(0)
        .any_err()
        .json();
    assert_eq!(text(&written, "/agent"), "y");
    let now = sparse.read(CURRENT);
    assert_eq!(section(&now, "This Session"), ["- did 1", "- did 2", "- did 3", "- here"], "{now}");
    assert_eq!(sparse.git(&["status", "--porcelain"]), "");
    sparse.ledger(&["--check", "--tree", "HEAD"]).exit(0).any_out();
    sparse.ledger(&["archive"]).exit(2).err_has("git sparse-checkout add thoughts/shared/handoffs");
    app.git(&["pull", "-q", "../sparse", "HEAD"]);
    assert_eq!(app.read(CURRENT), now);
    assert!(now != page);
}
