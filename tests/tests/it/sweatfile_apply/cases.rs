//! The cases of the design, by number.

use crate::support::world::{World, mode, text};

#[test]
fn case_1_without_sweatfiles_only_the_env_file_is_excluded() {
    let w = World::new();
    let app = w.app();
    let before = app.git(&["status", "--porcelain"]);
    app.apply(&[]).exit(0);
    app.apply(&[]).exit(0);
    assert_eq!(app.excludes(), [".sweatshop-env"]);
    assert_eq!(app.git(&["status", "--porcelain"]), before);
    assert_eq!(std::fs::read_dir(&app.path).unwrap().count(), 1, "nothing but .git");
}

#[test]
fn case_2_arrays_append_in_order_and_empty_clears() {
    let w = World::new();
    let app = w.app();
    w.area("git_excludes = [\"a\"]\nsetup = [\"echo area >> log\"]");
    app.approved("git_excludes = [\"b\"]\nsetup = [\"echo repo >> log\"]");
    let wt = app.worktree("wt");
    wt.apply(&[]).exit(0);
    assert_eq!(wt.read("log"), "area\nrepo\n");
    let excludes = wt.excludes();
    let at = |pattern: &str| excludes.iter().position(|l| l == pattern).unwrap();
    assert!(at("a") < at("b"), "{excludes:?}");

    app.approved("setup = []");
    let other = app.worktree("other");
    other.apply(&[]).exit(0);
    assert!(!other.has("log"));
}

#[test]
fn case_3_an_empty_value_removes_the_inherited_key() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\nB = \"2\"\n");
    app.approved("[env]\nA = \"\"\n");
    app.apply(&[]).exit(0);
    assert_eq!(app.read(".sweatshop-env"), "B=2\n");
    assert_eq!(mode(&app.path.join(".sweatshop-env")), 0o600);
}

#[test]
fn case_4_an_empty_source_clears_the_entry_and_makes_no_directory() {
    let w = World::new();
    let app = w.app();
    crate::support::world::write(&w.home("settings.json"), "{}");
    w.area("[files.\"claude/settings.local.json\"]\nsource = \"~/settings.json\"\n");
    app.approved("[files.\"claude/settings.local.json\"]\nsource = \"\"\n");
    app.apply(&[]).exit(0);
    assert!(!app.has(".claude"));
}

#[test]
fn case_5_a_malformed_layer_changes_nothing_at_all() {
    let w = World::new();
    let app = w.app();
    w.area("git_excludes = [\"a\"]\nsetup = [\"echo ran >> log\"]\n[env]\nA = \"1\"\n");
    for bad in ["[files.x]\nsource = \"/etc/hosts\"\ncontent = \"c\"\n", "setup = [\n"] {
        app.write("sweatfile", bad);
        let before = app.snapshot();
        let out = app.apply(&["--yes"]).exit(2);
        app.assert_untouched_since(&before);
        assert_eq!(out.stdout, "");
        out.err_has("repos/app/sweatfile:");
        // Malformed comes before approval.
        app.apply(&[]).exit(2).any_err();
        app.apply(&["approve", "--yes"]).exit(2).any_err();
    }
}

#[test]
fn case_6_a_tracked_file_is_kept() {
    let w = World::new();
    let app = w.app();
    app.commit(".envrc", "mine\n");
    app.approved("[files.envrc]\ncontent = \"theirs\\n\"\n");
    app.git(&["add", "sweatfile"]);
    app.git(&["commit", "-q", "-m", "sweatfile"]);
    let out = app.apply(&["--json"]).exit(0).json();
    assert_eq!(text(&out, "/files/0/action"), "kept");
    assert_eq!(app.read(".envrc"), "mine\n");
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    app.apply(&[]).exit(0).out_has("kept .envrc");
}

#[test]
fn case_7_applying_again_changes_no_byte_and_no_time() {
    let w = World::new();
    let app = w.app();
    crate::support::world::write(&w.home("s"), "s");
    w.area("git_excludes = [\".x\", \".link\"]\nsetup = [\"echo ran >> log\"]\n[env]\nA = \"a b\"\n[files.x]\ncontent = \"c\"\n[files.link]\nsource = \"~/s\"\n");
    app.apply(&[]).exit(0);
    let before = app.snapshot();
    let out = app.apply(&[]).exit(0);
    assert_eq!((out.stdout.as_str(), out.stderr.as_str()), ("", ""));
    app.assert_untouched_since(&before);
    assert_eq!(app.read("log"), "ran\n");
}

#[test]
fn case_8_a_newline_never_becomes_a_line_and_setup_sees_the_real_one() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"printf %s \\\"$A\\\" > seen\"]\n[env]\nA = \"x\\nPATH=/evil\"\n");
    app.apply(&[]).exit(0).err_has("the value of A");
    assert!(!app.read(".sweatshop-env").lines().any(|l| l.starts_with("PATH=")));
    assert_eq!(app.read("seen"), "x\nPATH=/evil");
}

#[test]
fn case_9_a_variable_added_by_hand_survives() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\nB = \"1\"\n");
    app.apply(&[]).exit(0);
    app.write(".sweatshop-env", "A=1\nB=by-hand\nMINE=1\n");
    app.apply(&["check"]).exit(0);
    w.area("[env]\nA = \"2\"\nB = \"2\"\n");
    app.apply(&[]).exit(0);
    assert_eq!(app.read(".sweatshop-env"), "A=2\nB=by-hand\nMINE=1\n");
    w.area("");
    app.apply(&[]).exit(0);
    assert_eq!(app.read(".sweatshop-env"), "B=by-hand\nMINE=1\n");
}

#[test]
fn case_11_a_failing_command_stops_the_rest_and_a_later_run_starts_again() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"echo 1 >> log\", \"test -e fixed\", \"touch never\"]\n");
    let out = app.apply(&[]).exit(4).any_out();
    out.err_has("test -e fixed").err_has("exit status 1");
    assert!(!app.has("never"));
    let json = app.apply(&["--json"]).exit(4).any_err().json();
    let actions: Vec<&str> = (0..3).map(|i| text(&json, &format!("/setup/{i}/action"))).collect();
    assert_eq!(actions, ["created", "failed", "skipped"]);
    assert_eq!(json["setup"][1]["status"], 1);
    assert_eq!(text(&json, "/error/kind"), "setup");
    app.apply(&["check"]).exit(1).out_has("setup never finished");
    app.write("fixed", "");
    app.apply(&[]).exit(0);
    assert_eq!(app.read("log"), "1\n1\n1\n");
    app.apply(&["check"]).exit(0);
}

#[test]
fn case_12_setup_sees_its_own_worktree_whatever_git_dir_says() {
    let w = World::new();
    let app = w.app();
    let other = w.repo("eng/repos/other");
    w.area("setup = [\"git rev-parse --show-toplevel > top\"]\n");
    app.approved("[env]\nA = \"1\"\n");
    let wt = app.worktree("wt");
    let git_dir = other.path.join(".git");
    let hook_env = [("GIT_DIR", git_dir.to_str().unwrap()), ("GIT_INDEX_FILE", "index")];
    wt.run_with("sweatfile-apply", &[], &hook_env).exit(0);
    assert_eq!(wt.read("top").trim_end(), wt.path.to_str().unwrap());
    assert_eq!(wt.read(".sweatshop-env"), "A=1\n");
    // With -C the directory named decides.
    let named = app.worktree("named");
    other.run_with("sweatfile-apply", &["-C", named.path.to_str().unwrap()], &hook_env).exit(0);
    assert_eq!(named.read("top").trim_end(), named.path.to_str().unwrap());
    assert!(!other.has(".sweatshop-env") && other.excludes().is_empty());
}

#[test]
fn case_13_an_approval_holds_for_all_worktrees_until_a_character_changes() {
    let w = World::new();
    let app = w.app();
    app.approved("setup = [\"echo 1 >> log\"]\n");
    let wt = app.worktree("wt");
    wt.apply(&[]).exit(0);
    assert_eq!(wt.read("log"), "1\n");
    app.write("sweatfile", "setup = [\"echo 2 >> log\"]\n");
    wt.apply(&[]).exit(3).err_has("not approved");
    assert_eq!(wt.read("log"), "1\n");
    wt.apply(&["approve", "--yes"]).exit(0);
    wt.apply(&[]).exit(0);
    assert_eq!(wt.read("log"), "1\n2\n");
}
