//! Errors: they name the file, the line and the next command, and come before anything is changed.

use crate::support::world::{World, text};

#[test]
fn all_problems_of_all_layers_are_reported_together() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [1]\n[env]\nPORT = 3000\n");
    app.write("sweatfile", "[files.settings.json]\nsource = \"/x\"\n[files.\"../x\"]\nsource = \"/x\"\n");
    let before = app.snapshot();
    let out = app.apply(&[]).exit(2);
    let home = w.home("");
    insta::assert_snapshot!(out.stderr.replace(home.to_str().unwrap(), "~/"), @r#"
    sweatfile-apply: error: 4 problems in the sweatfiles; nothing was changed
      ~/eng/sweatfile:1:10: `setup` must hold strings and tables only, not integer
      ~/eng/sweatfile:3:1: `PORT` in [env] must be a string, not an integer; write `PORT = "3000"`
      ~/eng/repos/app/sweatfile:1:17: files entry `settings`: unknown key `json`; a key with a dot needs quotes: `[files."settings.json"]`
      ~/eng/repos/app/sweatfile:3:8: files entry `../x`: the path must not have `.` or `..` components
      hint: fix the lines named, then run `sweatfile-apply show` to see the result
    "#);
    app.assert_untouched_since(&before);
    let json = app.apply(&["--json"]).exit(2).json();
    assert_eq!(text(&json, "/error/kind"), "malformed");
    assert!(text(&json, "/error/message").contains("sweatfile:3:1:"));
}

#[test]
fn every_escaping_destination_is_refused() {
    let w = World::new();
    let app = w.app();
    for key in [
        "",
        ".",
        "..",
        "/etc/x",
        "a/../../x",
        "a//b",
        "a/",
        "./a",
        ".envrc",
        "git/hooks/x",
        "GIT",
        "a/.git/x",
        "sweatshop-env",
        "sweatshop-env.bak",
    ] {
        w.area(&format!("[files.\"{key}\"]\ncontent = \"x\"\n"));
        let before = app.snapshot();
        app.apply(&[]).exit(2).err_has("eng/sweatfile:1:");
        app.assert_untouched_since(&before);
    }
}

#[test]
fn a_clash_between_layers_is_found_before_anything_is_placed() {
    let w = World::new();
    let app = w.app();
    w.area("[files.claude]\nsource = \"/tmp\"\n");
    app.write("sweatfile", "[files.\"claude/x\"]\ncontent = \"x\"\n");
    app.apply(&["--yes"]).exit(2).err_has("one lies inside the other");
    assert!(!app.has(".claude"));
}

#[test]
fn a_missing_source_fails_alone_and_setup_is_not_run() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"touch ran\"]\n[files.a]\nsource = \"gone\"\n[files.b]\ncontent = \"b\"\n[files.c]\ncopy = \"gone\"\n");
    let out = app.apply(&["--json"]).exit(4).any_err().json();
    assert_eq!((text(&out, "/files/0/action"), text(&out, "/files/1/action")), ("failed", "created"));
    assert_eq!(text(&out, "/setup/0/action"), "skipped");
    assert!(!app.has(".a") && app.has(".b") && !app.has("ran"));
    let failed = app.apply(&[]).exit(4).any_out();
    failed.err_has("everything else is in place").err_has("the source").err_has("eng/gone does not exist");
    app.apply(&["check"]).exit(1).out_has("does not exist");
    crate::support::world::write(&w.home("eng/gone"), "here\n");
    app.apply(&[]).succeeds().any_err();
    assert_eq!(app.path.join(".a").read_link().unwrap(), w.home("eng/gone"));
    assert_eq!(app.read(".c"), "here\n");
    assert!(app.path.join(".c").symlink_metadata().unwrap().is_file());
    assert!(app.has("ran"));
}

#[test]
fn nothing_is_written_through_a_link() {
    let w = World::new();
    let app = w.app();
    std::fs::create_dir(w.path("outside")).unwrap();
    std::os::unix::fs::symlink(w.path("outside"), app.path.join(".claude")).unwrap();
    std::os::unix::fs::symlink("nowhere", app.path.join(".dangling")).unwrap();
    app.git(&["add", "."]);
    app.git(&["commit", "-q", "-m", "links"]);
    w.area("[files.\"claude/x\"]\ncontent = \"x\"\n[files.dangling]\ncontent = \"x\"\n");
    let wt = app.worktree("wt");
    let out = wt.apply(&["--json"]).exit(4).json();
    assert_eq!((text(&out, "/files/0/action"), text(&out, "/files/1/action")), ("failed", "kept"));
    assert_eq!(std::fs::read_dir(w.path("outside")).unwrap().count(), 0);
    assert!(!wt.has("nowhere"));

    // The same for the env file and info/exclude.
    let other = w.repo("eng/repos/other");
    w.area("[env]\nA = \"1\"\n");
    crate::support::world::write(&w.path("outside/target"), "mine\n");
    std::os::unix::fs::symlink(w.path("outside/target"), other.path.join(".sweatshop-env")).unwrap();
    let out = other.apply(&["--json"]).exit(4).json();
    assert_eq!(text(&out, "/env/action"), "failed");
    let exclude = other.path.join(".git/info/exclude");
    std::fs::remove_file(&exclude).unwrap();
    std::os::unix::fs::symlink(w.path("outside/target"), &exclude).unwrap();
    other.apply(&[]).exit(4).err_has("is a symbolic link");
    assert_eq!(std::fs::read_to_string(w.path("outside/target")).unwrap(), "mine\n");
}

#[test]
fn directories_without_a_worktree_are_refused() {
    let w = World::new();
    let app = w.app();
    let nowhere = w.at(w.path("tmp"));
    nowhere.apply(&[]).exit(2).err_has("no usable git repository").err_has("-C DIR");
    let beside = format!("{}/..", app.path.display());
    nowhere.apply(&["-C", &beside]).exit(2).err_has("no usable git repository").err_has("or make one with `git init`");
    assert_eq!(text(&nowhere.apply(&["--json"]).exit(2).json(), "/error/kind"), "not_a_repository");
    app.apply(&["-C", "gone"]).exit(2).err_has("cannot change to `gone`");
    w.at(app.path.join(".git")).apply(&[]).exit(2).err_has("no work tree");
    // A directory below the top is fine.
    std::fs::create_dir(app.path.join("sub")).unwrap();
    w.area("[env]\nA = \"1\"\n");
    w.at(app.path.join("sub")).apply(&[]).succeeds();
    assert!(app.has(".sweatshop-env") && !app.has("sub/.sweatshop-env"));
}

#[test]
fn a_sweatfile_that_is_not_a_text_file_is_refused() {
    let w = World::new();
    let app = w.app();
    let sweatfile = w.home("eng/sweatfile");
    std::fs::write(&sweatfile, b"setup = [\"\xff\"]\n").unwrap();
    app.apply(&[]).exit(2).err_has("eng/sweatfile:1:11: not UTF-8");
    std::fs::write(&sweatfile, vec![b'#'; 2 << 20]).unwrap();
    app.apply(&[]).exit(2).err_has("larger than 1 MiB");
    std::fs::remove_file(&sweatfile).unwrap();
    app.sh("mkfifo ~/eng/sweatfile").exit(0);
    app.apply(&[]).exit(2).err_has("not a regular file");
    std::fs::remove_file(&sweatfile).unwrap();
    std::fs::create_dir(&sweatfile).unwrap();
    app.apply(&[]).exit(2).err_has("not a regular file");
}

#[test]
fn an_unwritable_worktree_fails_and_reports_what_was_done() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"touch ran\"]\n[files.\"d/x\"]\ncontent = \"x\"\n");
    let wt = app.worktree("wt");
    app.sh("chmod 555 ../wt").exit(0);
    let out = wt.run_bound("sweatfile-apply", &[]).exit(4);
    out.err_has(".d/x").err_has("Permission denied").out_has("failed .d/x");
    assert!(!wt.has("ran") && !wt.has(".d"));
    app.sh("chmod 755 ../wt").exit(0);
    wt.run_bound("sweatfile-apply", &[]).succeeds().any_err();
    assert!(wt.has("ran") && wt.has(".d/x"));
}

#[test]
fn a_failing_git_is_an_error() {
    let w = World::new();
    let app = w.app();
    w.area("[files.x]\ncontent = \"x\"\n");
    let git = crate::support::world::which("git");
    w.program(
        "git",
        &format!("case \"$*\" in *check-ignore*) echo boom >&2; exit 128 ;; esac\nexec {} \"$@\"", git.display()),
    );
    let before = app.snapshot();
    app.apply(&[]).exit(4).err_has("git check-ignore failed").err_has("boom");
    app.assert_only_added_since(&before);
    assert!(!app.has(".x"));
}

#[test]
fn no_pattern_brings_the_env_file_back() {
    let w = World::new();
    let app = w.app();
    w.area("git_excludes = [\"!.sweatshop-env\", \"!*\"]\n[env]\nA = \"secret\"\n");
    app.apply(&[]).succeeds();
    app.apply(&["check"]).exit(0);
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    // A .gitignore outranks info/exclude, so apply can only warn.
    app.commit(".gitignore", "!.sweatshop-env\n");
    app.apply(&[]).exit(0).err_has("git does not ignore .sweatshop-env");
    app.apply(&["check"]).exit(1).any_err().out_has(".sweatshop-env is not ignored by git");
    w.area("git_excludes = [\"# <<< sweatfile-apply <<<\"]\n");
    app.apply(&[]).exit(2).err_has("would be a comment");
}

#[test]
fn a_copy_of_a_directory_around_the_worktree_is_refused() {
    let w = World::new();
    let app = w.app();
    app.write("sweatfile", "[files.all]\ncopy = \".\"\n");
    let wt = app.worktree("wt");
    wt.apply(&["--yes"]).exit(4).any_out().err_has("lies in it");
    assert!(!wt.has(".all"));
}

#[test]
fn one_odd_path_does_not_stop_the_others() {
    let w = World::new();
    let app = w.app();
    let other = w.repo("eng/repos/other");
    let url = other.path.to_str().unwrap();
    app.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, ".claude"]);
    app.commit(".gitignore", ":(glob)x\n");
    app.write(".worktreeinclude", "*glob*\n");
    app.write(":(glob)x", "odd");
    w.area("[files.\"claude/x\"]\ncontent = \"x\"\n[files.y]\ncontent = \"y\"\n");
    let wt = app.worktree("wt");
    wt.apply(&[]).succeeds().any_err();
    assert_eq!((wt.read(".y"), wt.read(":(glob)x")), ("y".into(), "odd".into()));
    w.area(&format!("[files.{}]\ncontent = \"x\"\n", "k".repeat(300)));
    wt.apply(&[]).exit(2).err_has("longer than 255 bytes");
}

#[test]
fn a_dry_run_reports_the_same_failures() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"true\"]\n[files.a]\nsource = \"gone\"\n");
    let (mut dry, real) = (app.apply(&["-n", "--json"]).exit(4).json(), app.apply(&["--json"]).exit(4).json());
    assert_eq!(dry.as_object_mut().unwrap().remove("dry_run"), Some(true.into()));
    assert_eq!(dry, real);
}

#[test]
fn a_suggested_pattern_matches_only_its_file() {
    let w = World::new();
    let app = w.app();
    w.area("[files.\"*\"]\ncontent = \"x\"\n");
    app.apply(&[]).succeeds().err_has(r#"add "/.\\*" to git_excludes"#);
}

#[test]
fn state_of_a_newer_version_is_refused() {
    let w = World::new();
    let app = w.app();
    w.area("template = true\n[env]\nP = \"{port}\"\n");
    app.apply(&[]).succeeds();
    for name in ["record.json", "ports.json"] {
        let path = format!(".git/shopfloor/sweatfile-apply/{name}");
        let good = app.read(&path);
        app.write(&path, "{\"v\": 99, \"new\": 1}");
        app.apply(&[]).exit(2).err_has("version 99, newer than this program knows");
        app.write(&path, "{");
        app.apply(&[]).exit(2).err_has(name);
        app.write(&path, &good);
    }
    app.apply(&["check"]).exit(0);
}

#[test]
fn a_record_of_a_teardown_that_cannot_be_read_is_told_when_a_worktree_goes() {
    let w = World::new();
    w.area("teardown = [\"true\"]\n");
    let app = w.app();
    let wt = app.worktree("wt");
    wt.apply(&[]).succeeds();
    let records = w.at(w.home(".local/state/shopfloor/sweatfile-apply/teardown"));
    for (spoil, why) in [
        ("sed -i 's/\"v\": 1/\"v\": 9/' *.json", "has version 9, newer than this program knows"),
        ("for file in *.json; do echo '{' > $file; done", "what it names is then not torn down"),
    ] {
        records.sh(spoil).exit(0);
        wt.apply(&["remove"]).exit(0).any_err().out_has(why);
        wt.apply(&["hook", "run", "pre-remove", "."]).exit(0).any_out().err_has(why);
        app.apply(&["doctor"]).exit(1).any_err().out_has(why);
    }
}

#[test]
fn exclude_lines_with_the_same_ending_stay_whole() {
    let w = World::new();
    let app = w.app();
    app.sh("echo .sweatshop-env >> .git/info/exclude").exit(0);
    w.area("git_excludes = [\"*.sweatshop-env\"]\n");
    app.apply(&[]).succeeds();
    w.area("git_excludes = [\"*.sweatshop-env\", \"b\"]\n");
    app.apply(&[]).succeeds();
    assert_eq!(app.excludes(), [".sweatshop-env", "*.sweatshop-env", "b"]);
}

#[test]
fn an_unreadable_path_fails_alone() {
    let w = World::new();
    let app = w.app();
    crate::support::world::write(&w.home("d/x"), "x");
    w.area("[files.d]\ncopy = \"~/d\"\n[files.y]\ncontent = \"y\"\n");
    app.run_bound("sweatfile-apply", &[]).succeeds().any_err();
    app.sh("echo secret > .d/closed; chmod 000 .d/closed; rm .y").exit(0);
    app.run_bound("sweatfile-apply", &[]).exit(4).any_out().err_has(".d: cannot read");
    assert_eq!(app.read(".y"), "y");
    app.run_bound("sweatfile-apply", &["check"]).exit(1).out_has(".d: cannot read");
    app.run_bound("sweatfile-apply", &["remove"]).exit(0).out_has("left .d (cannot read");
    assert!(app.has(".d/closed") && !app.has(".y"));
}

#[test]
fn files_named_by_an_unapproved_sweatfile_are_not_read() {
    let w = World::new();
    let app = w.app();
    // Reading this file to its end would never finish.
    app.write("sweatfile", "[files.x]\ncopy = \"/proc/self/pagemap\"\n");
    app.apply(&["check"]).exit(1).any_err().out_has("missing file: .x");
    app.apply(&["show"]).succeeds();
    app.apply(&[]).exit(3).any_out().any_err();
}

#[test]
fn the_repositorys_configuration_is_not_read_through_a_link() {
    let w = World::new();
    let app = w.app();
    crate::support::world::write(&w.path("elsewhere/config.toml"), "[sweatfile-apply]\narea = 3\n");
    std::os::unix::fs::symlink(w.path("elsewhere"), app.path.join(".shopfloor")).unwrap();
    app.apply(&[]).exit(4).err_has("is a link or no directory");
    std::fs::remove_file(app.path.join(".shopfloor")).unwrap();
    std::fs::create_dir(app.path.join(".shopfloor")).unwrap();
    std::os::unix::fs::symlink(w.path("elsewhere/config.toml"), app.path.join(".shopfloor/config.toml")).unwrap();
    app.apply(&[]).exit(4).err_has("is a symbolic link");
}

/// Case 5 of the design.
#[test]
fn a_malformed_layer_changes_nothing_at_all() {
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
        // A malformed layer is reported before its approval is looked at.
        app.apply(&[]).exit(2).any_err();
        app.apply(&["approve", "--yes"]).exit(2).any_err();
    }
}
