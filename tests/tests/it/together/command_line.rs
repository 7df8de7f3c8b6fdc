//! What every tool's command line keeps to.

use crate::support::world::{TOOLS, World, text};

#[test]
fn help_and_version_are_answers() {
    let w = World::new();
    let app = w.app();
    let help = app.apply(&["--help"]).exit(0);
    assert_eq!(help.stderr, "");
    help.out_has("Exit codes:").out_has("Example:").out_has("[env: SWEATFILE_AREA]");
    app.apply(&["--version"]).exit(0).out_has("sweatfile-apply 0.1.0");
    for command in ["apply", "check", "show", "init", "approve", "approvals", "revoke", "remove", "config"] {
        app.apply(&[command, "--help"]).exit(0).out_has("Example:");
    }
    for (group, command) in [("env", "snapshot"), ("env", "diff"), ("env", "review"), ("hook", "run")] {
        app.apply(&[group, command, "--help"]).exit(0).out_has("Example:");
    }
    // The example names a hook of the tool.
    for tool in ["sweatfile-apply", "overlay-sync", "ledger-synth"] {
        let help = app.run(tool, &["hook", "run", "--help"]).exit(0).stdout.clone();
        let begin = format!("{tool} hook run ");
        let example = help.lines().find_map(|line| line.trim().strip_prefix(&begin)).unwrap();
        app.run(tool, &["hook", "run", example.split(' ').next().unwrap()]).exit(0);
    }
}

#[test]
fn bad_usage_exits_2_and_with_json_is_the_document() {
    let w = World::new();
    let app = w.app();
    let out = app.apply(&["--bogus"]).exit(2);
    assert_eq!(out.stdout, "");
    assert!(out.stderr.starts_with("sweatfile-apply: error: "), "{}", out.stderr);
    // What stands behind a word that is no command names none.
    app.shopfloor(&["exec", "x", "ls"]).exit(2).err_has("hint: run `shopfloor --help` to see");
    let json = app.apply(&["--json", "--bogus"]).exit(2).json();
    assert_eq!((json["v"].as_u64(), text(&json, "/error/kind")), (Some(1), "usage"));
    app.apply(&["--yes", "check"]).exit(2).err_has("stand before another command");
    app.apply(&["--no-setup", "--setup-again"]).exit(2).any_err();
}

#[test]
fn dry_run_prints_the_plan_and_changes_nothing() {
    let w = World::new();
    let app = w.app();
    w.area("git_excludes = [\"a\"]\nsetup = [\"touch ran\"]\n[env]\nP = \"{port}\"\n[files.x]\ncontent = \"x\"\n");
    let before = app.snapshot();
    let mut dry = app.apply(&["-n", "--json"]).exit(0).any_err().json();
    assert_eq!(dry.as_object_mut().unwrap().remove("dry_run"), Some(true.into()));
    app.assert_untouched_since(&before);
    assert!(!w.home(".local").exists());
    let mut done = app.apply(&["apply", "--json"]).exit(0).any_err().json();
    for key in ["status", "seconds"] {
        done["setup"][0][key] = serde_json::Value::Null;
    }
    assert_eq!(dry, done, "the dry run printed another plan");
    for args in [
        vec!["init", "-n"],
        vec!["remove", "-n"],
        vec!["hook", "install", "-n"],
        vec!["env", "snapshot", "-n"],
        vec!["revoke", "-n"],
    ] {
        let before = app.snapshot();
        app.apply(&args).succeeds();
        app.assert_untouched_since(&before);
    }
}

#[test]
fn quiet_drops_notices_and_keeps_warnings() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nsetup = [\"true\"]\n");
    let out = app.apply(&["-q"]).succeeds();
    out.err_has("warning: ");
    assert!(!out.stderr.contains("[1/1]"), "{}", out.stderr);
}

#[test]
fn a_closed_pipe_is_no_error_and_cancels_nothing() {
    let w = World::new();
    let app = w.app();
    w.area("git_excludes = [\"a\", \"b\", \"c\"]\n[files.x]\ncontent = \"x\"\n");
    let out = app.sh("{ sweatfile-apply; echo $? > code; } | head -n 0; cat code").exit(0).any_err();
    assert_eq!(out.stdout, "0\n");
    assert!(app.has(".x"));
}

#[test]
fn hostile_names_do_not_reach_the_terminal() {
    let w = World::new();
    let app = w.app();
    w.area("[files.\"a\\u001b[2Jb\\u202ec\"]\ncontent = \"x\"\n");
    let out = app.apply(&[]).exit(0);
    assert!(!out.stdout.contains('\u{1b}') && !out.stderr.contains('\u{202e}'));
    let json = app.apply(&["--json"]).exit(0).json();
    assert_eq!(text(&json, "/files/0/path"), ".a\u{1b}[2Jb\u{202e}c");
}

#[test]
fn the_scrubbed_variables_are_those_of_the_installed_git() {
    let w = World::new();
    let listed = w.app().git(&["rev-parse", "--local-env-vars"]);
    let known = [shopfloor_core::git::LOCAL_VARS, &shopfloor_core::git::SETTING_VARS].concat();
    let missing: Vec<&str> = listed.lines().filter(|v| !known.contains(v)).collect();
    assert!(missing.is_empty(), "this git ties these to a repository too: {missing:?}");
}

#[test]
fn json_has_the_promised_keys() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"true\"]\n[env]\nA = \"1\"\n[files.x]\ncontent = \"x\"\n");
    for args in [vec!["--json", "--dry-run"], vec!["--json"], vec!["--json", "check"]] {
        let out = app.apply(&args).any_status().any_out().any_err();
        let json = out.json();
        let keys = |pointer: &str| -> Vec<String> {
            json.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect()
        };
        let top = keys("");
        assert_eq!(top[..8], ["v", "worktree", "layers", "excludes", "files", "env", "setup", "warnings"]);
        assert_eq!(keys("/layers/0"), ["name", "path", "found", "approval"]);
        assert_eq!(keys("/excludes/0"), ["pattern", "action"]);
        assert_eq!(keys("/files/0"), ["path", "action", "why"]);
        assert_eq!(keys("/env")[..2], ["action", "keys"]);
        assert_eq!(keys("/setup/0"), ["command", "action", "status", "seconds"]);
    }
}

#[test]
fn git_processes_stay_at_three_for_a_worktree_that_is_up_to_date() {
    let w = World::new();
    let app = w.app();
    w.area("git_excludes = [\"/.x\"]\n[env]\nA = \"1\"\n[files.x]\ncontent = \"x\"\n");
    app.commit(".gitignore", "secret\n");
    app.write(".worktreeinclude", "secret\n");
    app.write("secret", "s");
    let wt = app.worktree("wt");
    wt.apply(&[]).succeeds();
    let git = crate::support::world::which("git");
    w.program("git", &format!("echo \"$@\" >> {}\nexec {} \"$@\"", w.path("calls").display(), git.display()));
    for args in [vec![], vec!["check"]] {
        wt.apply(&args).exit(0);
        let calls = std::fs::read_to_string(w.path("calls")).unwrap();
        assert!(calls.lines().count() <= 3, "{calls}");
        std::fs::remove_file(w.path("calls")).unwrap();
    }
}

#[test]
fn readers_that_go_away_cancel_nothing_and_a_full_disk_is_said() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"for i in 1 2 3; do echo $i; done; touch one\", \"echo x; touch two\"]\n");
    app.sh("sweatfile-apply 2>&1 | head -n 1").succeeds();
    assert!(app.has("one") && app.has("two"));
    w.area("setup = [\"seq 300000\"]\n");
    let out = app.apply(&["-q"]).succeeds();
    assert_eq!(out.stderr.lines().count(), 300_000, "all of a flood comes through");
    for json in ["", "--json"] {
        app.sh(&format!("sweatfile-apply show {json} > /dev/full")).exit(4).err_has("cannot write the answer");
    }
    w.area("git_excludes = [\"more\"]\n");
    app.apply(&["check", "--json"]).exit(1).any_out();
    app.sh("sweatfile-apply check --json > /dev/full").exit(4).err_has("cannot write the answer");
    app.sh("shopfloor --help > /dev/full").exit(4).err_has("cannot write the answer");
}

#[test]
fn dash_c_adds_up_and_an_empty_one_changes_nothing() {
    let w = World::new();
    let app = w.app();
    let top = w.at(w.home("eng"));
    top.apply(&["-C", "repos", "-C", "", "-C", "app", "show"]).succeeds();
    app.apply(&["-C", "gone", "show"]).exit(2).err_has("No such file or directory");
    // From a directory that was removed, a whole path leads out.
    let from_gone = |line: &str| app.sh(&format!("mkdir away && cd away && rmdir ../away && {line}"));
    let path = app.path.display();
    for tool in TOOLS {
        let out = from_gone(&format!("{tool} -C '{path}' config")).any_status().any_out().any_err();
        assert!(!out.stderr.contains("cannot read the current directory"), "{out}");
        for words in ["config", "-C .. config", "-C .. -C / config"] {
            let out = from_gone(&format!("{tool} {words}")).exit(4);
            out.err_has("cannot read the current directory").err_has("hint: change to one that exists");
        }
    }
    from_gone(&format!("sweatfile-apply -C '' -C '{path}' show")).succeeds();
}

#[test]
fn an_interrupted_run_answers_with_what_it_did() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"true\", \"kill -TERM $PPID; sleep 600\", \"touch never\"]\n[files.x]\ncontent = \"x\"\n");
    let json = app.apply(&["--json"]).exit(128 + 15).any_err().json();
    assert_eq!((text(&json, "/error/kind"), text(&json, "/files/0/action")), ("interrupted", "created"));
    let actions: Vec<_> = (0..3).map(|i| text(&json, &format!("/setup/{i}/action"))).collect();
    assert_eq!(actions, ["created", "failed", "skipped"]);
}

#[test]
fn colours_follow_the_flag_and_the_time_its_variable() {
    let w = World::new();
    let app = w.app();
    let red = "\u{1b}[";
    assert!(app.apply(&["--color", "always", "hook", "run", "x"]).exit(2).stderr.contains("error"));
    app.write("sweatfile", "[env]\nA = \"1\"\n");
    assert!(app.apply(&["--color", "always"]).exit(3).any_out().stderr.contains(red));
    assert!(!app.apply(&[]).exit(3).stderr.contains(red));
    assert!(app.on_terminal("sweatfile-apply -q", "n\n").exit(3).stdout.contains(red));
    for (line, has_colors) in [
        ("NO_COLOR=1 sweatfile-apply -q", false),
        ("TERM=dumb sweatfile-apply -q", false),
        ("TERM=dumb sweatfile-apply -q --color always", true),
        ("TERM=dumb sweatfile-apply --help", false),
        ("sweatfile-apply check --help --color=never", false),
        ("sweatfile-apply --color never --help", false),
        ("NO_COLOR=1 sweatfile-apply --color always --help | cat", true),
    ] {
        let out = app.on_terminal(line, "n\n").any_status().any_err();
        assert_eq!(out.stdout.contains(red), has_colors, "{out}");
    }
    app.run_with("sweatfile-apply", &["approve", "--yes"], &[("SHOPFLOOR_NOW", "2001-02-03T04:05:06Z")]).succeeds();
    let store = std::fs::read_to_string(w.home(".local/state/shopfloor/approvals.toml")).unwrap();
    assert!(store.contains("approved = \"2001-02-03T04:05:06Z\""), "{store}");
    let out = app.run_with("sweatfile-apply", &["show", "--json"], &[("SHOPFLOOR_NOW", "soon")]).exit(2).json();
    assert_eq!(text(&out, "/error/kind"), "usage");
    app.apply(&["-v"]).succeeds().err_has("repo layer: ");
}

#[test]
fn paths_that_are_not_utf_8_are_no_reason_to_panic() {
    use std::os::unix::ffi::OsStringExt;
    let w = World::new();
    let app = w.app();
    let odd = w.home("eng").join(std::ffi::OsString::from_vec(b"odd-\xff".to_vec()));
    std::fs::rename(&app.path, &odd).unwrap();
    let odd = w.at(odd);
    for args in [
        vec!["init"],
        vec!["env", "snapshot"],
        vec!["hook", "install"],
        vec!["hook", "status"],
        vec!["hook", "uninstall"],
        vec!["remove"],
        vec!["show"],
    ] {
        odd.apply(&[&["--json"], args.as_slice()].concat()).succeeds().json();
    }
}

#[test]
fn state_directories_are_closed_again() {
    let w = World::new();
    let app = w.app();
    app.write("sweatfile", "[env]\nA = \"1\"\n");
    app.sh("mkdir -p -m 777 ~/.local/state/shopfloor .git/shopfloor").exit(0);
    app.apply(&["approve", "--yes"]).succeeds();
    assert_eq!(crate::support::world::mode(&w.home(".local/state/shopfloor")), 0o700);
}

#[test]
fn quiet_is_quiet_and_a_dry_run_says_would() {
    let w = World::new();
    let app = w.app();
    app.write("sweatfile", "setup = [\"true\"]\n");
    let silent = |out: crate::support::world::Checked| assert_eq!(out.stdout + &out.stderr, "");
    app.commit(".gitignore", ".env\n");
    silent(app.apply(&["approve", "--yes", "-q"]).exit(0));
    assert_eq!(app.apply(&["revoke", "-n"]).exit(0).stdout, "would revoke 1\n");
    assert_eq!(app.apply(&["revoke"]).exit(0).stdout, "revoked 1\n");
    app.write(".env", "A=1\n");
    silent(app.overlay(&["-q", "add", ".env"]).exit(0));
    let other = app.worktree("other");
    silent(other.overlay(&["attach", "-q"]).exit(0));
    assert_eq!(other.read(".env"), "A=1\n");
}

/// A tip is the word that somebody meant, not one that looks like it and does something else.
#[test]
fn a_slip_is_answered_with_the_word_that_was_meant() {
    let w = World::new();
    let app = w.repo("app");
    for (tool, word, meant) in [
        ("shopfloor", "statsu", "status"),
        ("shopfloor", "delete", "rm"),
        ("worker-ctl", "remove", "nuke"),
        ("worker-ctl", "done", "nuke"),
        ("worker-ctl", "stop", "down"),
        ("overlay-sync", "remove", "drop"),
        ("worktree-spawn", "ls", "list"),
    ] {
        let out = app.run(tool, &[word]).exit(2);
        out.err_has(&format!("tip: did you mean `{meant}`?"));
        assert_eq!(out.stderr.matches("tip:").count(), 1, "{out}");
    }
    let out = app.shopfloor(&["new", "feat", "--brnch", "x"]).exit(2);
    assert!(!out.stderr.contains("as a value"), "{out}");
}

#[test]
fn only_the_run_of_a_hook_lists_the_settings_that_it_uses() {
    let w = World::new();
    let app = w.app();
    for command in ["install", "uninstall", "status"] {
        let help = app.overlay(&["hook", command, "--help"]).exit(0);
        assert!(!help.stdout.contains("OVERLAY_SYNC_"), "{help}");
        // They are taken all the same, as by every command.
        app.overlay(&["hook", command, "--paths", "x", "--help"]).exit(0).any_out();
    }
    app.overlay(&["hook", "run", "--help"]).exit(0).out_has("OVERLAY_SYNC_PATHS");
}

#[test]
fn where_no_thread_can_be_started_a_command_fails_and_says_so() {
    let w = World::new();
    let app = w.app();
    // The system gives no thread so large a stack.
    let no_threads = [("RUST_MIN_STACK", "1152921504606846976")];
    for (tool, command) in [("ledger-synth", "check"), ("overlay-sync", "status")] {
        app.run_with(tool, &[command], &no_threads).exit(4).any_out().err_has("cannot start a thread");
    }
}

#[test]
fn every_tool_waits_for_git_where_the_ends_of_children_are_ignored() {
    let w = World::new();
    for (tool, args, code) in [
        ("sweatfile-apply", "check", 1),
        ("overlay-sync", "doctor", 0),
        ("ledger-synth", "doctor", 1),
        ("worktree-spawn", "list", 0),
        ("worker-ctl", "init", 0),
        ("shopfloor", "status", 0),
    ] {
        let app = w.repo(&format!("eng/repos/{tool}"));
        let out = app.sh(&format!("env --ignore-signal=CHLD {tool} -n {args}")).exit(code).any_out().any_err();
        assert!(!out.stderr.contains("No child processes"), "{tool}: {}", out.stderr);
    }
}
