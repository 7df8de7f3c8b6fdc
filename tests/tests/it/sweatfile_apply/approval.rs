//! The repository's sweatfile counts only after a person has approved its exact bytes.

use crate::support::world::{World, find, mode, text};

const SETUP: &str = "setup = [\"echo ran >> log\"]\n[env]\nA = \"1\"\n[files.x]\ncontent = \"c\"\n";

#[test]
fn an_unapproved_sweatfile_counts_as_absent_with_one_notice_and_exit_3() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nB = \"2\"\n");
    app.write("sweatfile", SETUP);
    let out = app.apply(&[]).exit(3).any_out();
    assert_eq!(out.stderr.matches("not approved").count(), 1);
    out.err_has("run `sweatfile-apply approve`");
    // The next command is right where this one was called, too.
    let (home, path) = (w.at(w.home("")), app.path.display());
    let there = format!("`sweatfile-apply -C {path} approve`");
    home.apply(&["-C", "eng/repos/app"]).exit(3).any_out().err_has(&there);
    home.apply(&["-C", "eng/repos/app", "check"]).exit(1).any_out().err_has(&there);
    home.apply(&["-C", "eng/repos/app", "approve"]).exit(3).err_has(&there.replace("approve`", "approve --yes`"));
    app.apply(&["show", "--repo-root", "."]).exit(0).any_out().err_has(&format!("--repo-root {path}/. approve`"));
    assert_eq!(app.read(".sweatshop-env"), "B=2\n");
    assert!(!app.has("log") && !app.has(".x"));
    let json = app.apply(&["--json"]).exit(3).json();
    assert_eq!(text(&json, "/error/kind"), "unapproved");
    assert_eq!(text(&json, "/layers/1/approval"), "required");
    // `check` runs nothing, so it reads the layer and reports what is missing.
    app.apply(&["check"]).exit(1).any_err().out_has("missing file: .x");
}

#[test]
fn yes_is_for_one_run_and_approve_for_all() {
    let w = World::new();
    let app = w.app();
    app.write("sweatfile", SETUP);
    app.apply(&["--yes"]).succeeds().any_err();
    assert_eq!(app.read("log"), "ran\n");
    app.apply(&[]).exit(3).any_err();
    app.apply(&["approve"]).exit(3).err_has("no terminal");
    app.apply(&["approve", "--yes"]).succeeds().err_has("run      echo ran >> log");
    app.apply(&[]).exit(0);
    let store = w.home(".local/state/shopfloor/approvals.toml");
    assert_eq!(mode(&store), 0o600);
    assert_eq!(mode(store.parent().unwrap()), 0o700);
}

#[test]
fn no_environment_variable_and_no_other_clone_has_the_approval() {
    let w = World::new();
    let app = w.app();
    app.approved(SETUP);
    w.at(w.home("eng/repos")).git(&["clone", "-q", "app", "clone"]);
    let clone = w.at(w.home("eng/repos/clone"));
    clone.write("sweatfile", SETUP);
    clone
        .run_with("sweatfile-apply", &[], &[("SWEATFILE_APPLY_YES", "1"), ("SHOPFLOOR_YES", "1")])
        .exit(3)
        .any_out()
        .any_err();
    assert!(!clone.has("log"));
}

#[test]
fn approvals_lists_files_and_revoke_removes_approvals() {
    let w = World::new();
    let app = w.app();
    let status = || text(&app.apply(&["approvals", "--json"]).exit(0).json_lines()[0], "/status").to_owned();
    // The example of the help says whether nothing waits.
    let help = app.apply(&["approvals", "--help"]).exit(0).stdout.clone();
    let example = help.split("Example:\n").nth(1).unwrap();
    let is_well = |exit: i32| assert!(find("jq").is_none() || app.sh(example).exits_with(exit), "{example}");
    assert_eq!(status(), "none");
    is_well(0);
    app.write("sweatfile", SETUP);
    assert_eq!(status(), "required");
    is_well(1);
    app.apply(&["approve", "--yes", "--dry-run"]).succeeds();
    assert_eq!(status(), "required");
    app.apply(&["approve", "--yes"]).succeeds();
    assert_eq!(status(), "approved");
    is_well(0);
    app.apply(&["revoke", "--dry-run"]).succeeds();
    assert_eq!(status(), "approved");
    app.apply(&["revoke"]).succeeds();
    assert_eq!(status(), "required");
    let sha = app.sh("sha256sum sweatfile | cut -d' ' -f1").exit(0).stdout;
    assert_eq!(text(&app.apply(&["approvals", "--json"]).exit(0).json_lines()[0], "/sha256"), sha.trim_end());
}

#[test]
fn on_a_terminal_the_prompt_shows_what_would_run_and_defaults_to_no() {
    let w = World::new();
    let app = w.app();
    app.write("sweatfile", "setup = [\"echo \\u001b[2J ran >> log\"]\n[env]\nLD_PRELOAD = \"x\"\n");
    let out = app.on_terminal("sweatfile-apply", "\n").exit(3);
    out.out_has("echo \\u{1b}[2J ran >> log")
        .out_has("LD_PRELOAD   (changes what other programs run)")
        .out_has("[y/N]");
    assert!(!app.has("log"));
    app.on_terminal("sweatfile-apply", "y\n").succeeds();
    assert!(app.has("log"));
    // The approval is recorded, so nobody is asked again.
    app.apply(&[]).exit(0);
    app.write("sweatfile", "setup = [\"echo other >> log\"]\n");
    let out = app.on_terminal("sweatfile-apply approve", "n\n").exit(3);
    out.out_has("changed since its last approval").out_has("+setup = [\"echo other >> log\"]");
}

#[test]
fn setup_on_a_terminal_shows_output_and_does_not_wait_for_daemons() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"echo to-stdout; echo to-stderr >&2; sleep 600 & echo $! > pid\"]\n");
    let out = app.on_terminal("sweatfile-apply", "").exit(0);
    out.out_has("to-stdout").out_has("to-stderr").out_has("[1/1]");
    app.sh("kill $(cat pid)").exit(0);
}

#[test]
fn a_sweatfile_that_leads_out_of_the_repository_is_refused() {
    let w = World::new();
    let app = w.app();
    crate::support::world::write(&w.home("private"), "setup = [\"touch evil\"]\n");
    std::os::unix::fs::symlink(w.home("private"), app.path.join("sweatfile")).unwrap();
    app.apply(&["--yes"]).exit(2).err_has("is a link that leaves the repository");
    std::fs::remove_file(app.path.join("sweatfile")).unwrap();
    app.write("conf/sweatfile", "[env]\nA = \"1\"\n");
    std::os::unix::fs::symlink("conf/sweatfile", app.path.join("sweatfile")).unwrap();
    app.apply(&["--yes"]).succeeds();
}

#[test]
fn a_sweatfile_behind_a_link_to_nothing_does_not_count_as_deleted() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n");
    app.approved("[env]\nB = \"1\"\n");
    app.apply(&[]).succeeds();
    for (file, target) in [(w.home("eng/sweatfile"), "../gone/own"), (app.path.join("sweatfile"), "gone")] {
        let aside = w.home("aside");
        std::fs::rename(&file, &aside).unwrap();
        std::os::unix::fs::symlink(target, &file).unwrap();
        for args in [&[][..], &["check"]] {
            app.apply(args).exit(2).err_has(&format!("{} is a link to {target}, which is not there", file.display()));
        }
        assert_eq!(app.read(".sweatshop-env"), "A=1\nB=1\n");
        std::fs::rename(&aside, &file).unwrap();
    }
    app.apply(&["check"]).exit(0);
}

#[test]
fn a_store_that_is_newer_or_damaged_is_refused() {
    let w = World::new();
    let app = w.app();
    app.approved(SETUP);
    let store = w.home(".local/state/shopfloor/approvals.toml");
    let good = std::fs::read_to_string(&store).unwrap();
    for (bad, says) in [
        ("version = 99\n", "newer than this program knows"),
        ("x", "approvals.toml:1:2: key with no value"),
        ("version = 1\nallow = 1\n", "approvals.toml:2:1: unknown field"),
    ] {
        std::fs::write(&store, bad).unwrap();
        app.apply(&[]).exit(2).err_has(says);
        assert_eq!(std::fs::read_to_string(&store).unwrap(), bad);
    }
    std::fs::write(&store, good).unwrap();
    app.apply(&[]).succeeds().any_err();
}

#[test]
fn a_terminal_is_asked_about_the_repositorys_configuration_too() {
    let w = World::new();
    let app = w.app();
    crate::support::world::write(&w.path("area/sweatfile"), "[env]\nA = \"named\"\n");
    app.write(".shopfloor/config.toml", &format!("[sweatfile-apply]\narea = \"{}\"\n", w.path("area").display()));
    app.on_terminal("sweatfile-apply", "y\n").exit(0).out_has("area = ");
    assert_eq!(app.read(".sweatshop-env"), "A=named\n");
}

#[test]
fn the_summary_shows_what_is_cleared() {
    let w = World::new();
    let app = w.app();
    app.write("sweatfile", "setup = []\n[env]\nA = \"\"\n[files.x]\nsource = \"\"\n");
    let out = app.apply(&["approve", "--yes"]).succeeds();
    out.err_has("drop     the inherited setup").err_has("unset    A").err_has("drop     .x");
    assert_eq!(app.apply(&["approve", "--yes"]).exit(0).stdout, "");
    w.repo("eng/repos/none").apply(&["-v", "approve"]).exit(0).err_has("nothing to approve");
}

/// Case 13 of the design.
#[test]
fn an_approval_holds_for_all_worktrees_until_a_character_changes() {
    let w = World::new();
    let app = w.app();
    app.approved("setup = [\"echo 1 >> log\"]\n");
    let wt = app.worktree("wt");
    wt.apply(&[]).succeeds();
    assert_eq!(wt.read("log"), "1\n");
    app.write("sweatfile", "setup = [\"echo 2 >> log\"]\n");
    wt.apply(&[]).exit(3).err_has("not approved");
    assert_eq!(wt.read("log"), "1\n");
    wt.apply(&["approve", "--yes"]).succeeds();
    wt.apply(&[]).succeeds();
    assert_eq!(wt.read("log"), "1\n2\n");
}

#[test]
fn what_is_approved_shows_contents_and_what_runs() {
    let w = World::new();
    let app = w.app();
    let agents = "claude/settings.local.json claude/hooks/x.sh gemini/settings.json codex/config.toml cursor/mcp.json";
    let others = "envrc vscode/tasks.json husky/pre-push config/mise/config.toml cargo/config.toml pnpmfile.cjs notes";
    let files: Vec<&str> = agents.split(' ').chain(others.split(' ')).collect();
    let entries = files.iter().map(|key| format!("[files.\"{key}\"]\ncontent = \"line of {key}\\n\\u001b[2J\"\n"));
    app.commit("sweatfile", &entries.collect::<String>());
    let shown = app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    for key in files {
        let line = format!("write    .{key}");
        let line = shown.stderr.lines().find(|shown| shown.contains(&line)).unwrap().to_owned();
        assert_eq!(line.ends_with("(programs run what it says)"), key != "notes", "{line}");
        assert!(shown.stderr.contains(&format!("line of {key}\n")), "{}", shown.stderr);
    }
    assert!(!shown.stderr.contains('\u{1b}'), "{:?}", shown.stderr);
}

#[test]
fn a_repository_made_anew_at_a_path_inherits_no_approval() {
    let w = World::new();
    let app = w.app();
    app.commit("sweatfile", "setup = [\"touch ~/ran\"]\n");
    app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    let moved = app.path.with_file_name("moved");
    std::fs::rename(&app.path, &moved).unwrap();
    let again = w.app();
    again.commit("sweatfile", "setup = [\"touch ~/ran\"]\n");
    again.apply(&[]).exit(3).any_out().err_has("is not approved");
    assert!(!w.at(w.home("")).has("ran"));
    // The first one, back at its place, has its own.
    std::fs::remove_dir_all(&again.path).unwrap();
    std::fs::rename(&moved, &app.path).unwrap();
    app.apply(&[]).succeeds().any_err();
    assert!(w.at(w.home("")).has("ran"));
}

#[test]
fn a_person_can_be_asked_only_about_what_a_commit_has_too() {
    let w = World::new();
    let app = w.app();
    app.commit("setup.sh", "echo reviewed >> ~/ran\n");
    app.commit("sweatfile", "setup = [\"sh ./setup.sh\", \"sh ./other.sh\"]\n");
    app.commit("other.sh", "true\n");
    app.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    app.apply(&["approve", "--from", "origin/main"]).exit(3).any_out().err_has("no terminal to ask on");
    app.apply(&["approve", "--from", "origin/main", "--yes"]).exit(0).any_err().out_has("approved ");
    // The main checkout is on another branch, so nothing of it counts as read.
    app.git(&["checkout", "-q", "-b", "elsewhere"]);
    let wt = app.worktree("wt");
    wt.commit("other.sh", "touch ~/evil\n");
    wt.commit("setup.sh", "echo more >> ~/ran\n");
    let more = wt.git(&["rev-parse", "HEAD"]);
    app.git(&["update-ref", "refs/remotes/origin/main", more.trim_end()]);
    wt.commit("other.sh", "touch ~/worse\n");
    let done = wt.apply(&["approve", "--from", "origin/main", "--yes"]).exit(3);
    done.out_has("wt/setup.sh").err_has("other.sh is not as origin/main has it");
    assert!(!done.stdout.contains("other.sh"), "{}", done.stdout);
    wt.apply(&[]).exit(3).any_out().err_has("other.sh");
    // A branch that an agent calls so is not what others see.
    let worse = wt.git(&["rev-parse", "HEAD"]);
    app.git(&["update-ref", "refs/heads/origin/main", worse.trim_end()]);
    app.git(&["tag", "origin/main", worse.trim_end()]);
    wt.apply(&["approve", "--from", "origin/main", "--yes"])
        .exit(3)
        .any_out()
        .err_has("other.sh is not as origin/main has it");
    for commit in ["origin/none", "--help-me", "HEAD:setup.sh"] {
        wt.apply(&["approve", &format!("--from={commit}")]).exit(2).any_out().err_has("there is no commit");
    }
}

#[test]
fn what_worktreeinclude_brings_is_told_with_the_sweatfile() {
    let w = World::new();
    let app = w.app();
    app.commit(".gitignore", ".env*\n/node_modules/\n");
    app.write(".worktreeinclude", ".env*\nnode_modules/\nsweatfile\n");
    app.sh("mkdir node_modules; touch .env .envrc node_modules/a").exit(0);
    app.commit("sweatfile", "setup = [\"true\"]\n");
    let told = app.apply(&["approve", "--yes"]).exit(0).any_out();
    told.err_has("copy     .env as .worktreeinclude asks\n")
        .err_has("copy     node_modules/ as .worktreeinclude asks\n");
    told.err_has("copy     .envrc as .worktreeinclude asks   (programs run what it says)");
    assert_eq!(told.stderr.matches(".worktreeinclude asks").count(), 3, "{}", told.stderr);
}
