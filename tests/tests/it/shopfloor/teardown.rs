//! shopfloor: what a set-up did is taken back, and nothing else.

use std::process::Stdio;

use shopfloor_core::lock::Lock;

use crate::support::door::{app, told};
use crate::support::worker::is_queued;
use crate::support::world::{Output, World, text, wait_for};

/// In a clone of a repository that somebody has set up, a set-up makes the rest, and that alone is taken back.
#[test]
fn a_teardown_leaves_what_was_checked_in_before() {
    let w = World::new();
    let app = w.repo("app");
    app.shopfloor(&["setup", "--yes"]).exit(0).any_out().any_err();
    app.git(&["add", "sweatfile", ".gitattributes"]);
    app.git(&["commit", "-q", "-m", "setup"]);
    app.git(&["clone", "-q", ".", "../mate"]);
    w.program("claude", "exec sleep 600");
    let mate = w.at(w.home("mate"));
    let before = told(&mate);
    mate.shopfloor(&["setup", "--yes"]).exit(0).any_err().out_has("ledger-synth install --claude");
    assert!(mate.has(".claude/settings.json") && mate.has(".git/hooks/post-checkout"));
    mate.shopfloor(&["teardown"]).exit(0).any_out().any_err();
    assert_eq!((mate.git(&["status", "--porcelain"]), mate.has(".claude/settings.json")), (String::new(), false));
    assert_eq!(told(&mate).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    // What the first person made is theirs to take back, though it is checked in.
    app.shopfloor(&["teardown"]).exit(0).any_out().any_err();
    assert!(!app.has("sweatfile") && !app.has(".gitattributes"));
    // Nor does a doctor set it up again, although the removal of these files is not committed.
    let doctor = app.shopfloor(&["doctor", "--repair", "--yes"]).any_status().any_err();
    doctor.out_has("ok     ledger-synth     state: not set up in this repository");
    assert!(!app.has(".git/hooks/pre-push") && !app.has(".gitattributes"));
    app.run("git", &["config", "merge.ledger-synth.driver"]).exit(1);
}

/// What a set-up finds half way, it makes too.
#[test]
fn a_setup_beside_a_teardown_leaves_a_whole_set_up() {
    let w = World::new();
    let app = w.repo("app");
    app.shopfloor(&["setup", "--yes"]).exit(0).any_out().any_err();
    std::fs::remove_file(app.path.join(".gitattributes")).unwrap();
    let lock = Lock::take(&app.path.join(".git/shopfloor/setup.lock")).unwrap();
    let mut command = w.command(w.path("bin/shopfloor"));
    command.args(["setup", "--yes"]).current_dir(&app.path).stdin(Stdio::null());
    let mut setup = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| is_queued(setup.id()) || setup.try_wait().unwrap().is_some());
    std::fs::remove_file(app.path.join("sweatfile")).unwrap();
    drop(lock);
    let ended = Output::from("shopfloor setup --yes".to_owned(), setup.wait_with_output().unwrap());
    ended.exit(0).any_err().out_has("sweatfile-apply init\n");
    assert!(app.has("sweatfile"));
}

/// Where git looks for hooks may have changed since, as where a package installs husky.
#[test]
fn hooks_are_taken_back_where_they_were_installed() {
    let w = World::new();
    let app = app(&w);
    app.write(".git/hooks/post-checkout", "#!/bin/sh\n");
    let before = told(&app);
    app.shopfloor(&["setup", "--yes"]).exit(0).any_out().any_err();
    app.sh("mkdir -p .husky/_; git config core.hooksPath .husky/_").exit(0);
    app.apply(&["hook", "uninstall", "-n"]).exit(0).out_has("would uninstall").out_has("/.git/hooks/post-checkout\n");
    let out = app.shopfloor(&["teardown", "--overlay", "--yes"]).exit(0).any_out();
    out.err_has("/.git/hooks/post-checkout\n").err_has("/.git/hooks/pre-push\n");
    app.git(&["config", "--unset", "core.hooksPath"]);
    assert_eq!(told(&app), before);
}

/// The overlay is called after the directory. A step that made nothing is nothing to take back.
#[test]
fn a_repository_that_is_called_like_another_one_is_taken_back_too() {
    let w = World::new();
    let (first, second) = (w.repo("one/same"), w.repo("two/same"));
    for app in [&first, &second] {
        app.commit(".gitignore", ".env\n");
        app.write(".env", "A=1\n");
    }
    let before = told(&second);
    first.shopfloor(&["setup", "--yes"]).exit(0).any_out().any_err();
    let out = second.shopfloor(&["setup", "--yes"]).exit(1).any_out();
    out.err_has("not set up: overlay").err_has("`overlay-sync --overlay DIR`");
    let private = second.shopfloor(&["setup", "--yes", "--private"]).exit(1).any_out();
    private
        .err_has("`shopfloor setup --private` again")
        .err_has("a line /.shopfloor/ in the file of `git rev-parse --git-path info/exclude` keeps");
    second.shopfloor(&["teardown"]).exit(0).any_out().any_err();
    assert_eq!(told(&second), before);
}

/// A worktree that has a file of its own keeps it.
#[test]
fn a_worktree_with_files_of_its_own_is_left_out_and_named() {
    let w = World::new();
    let app = app(&w);
    let (same, other) = (app.worktree("same"), app.worktree("other"));
    same.write(".env", "A=1\n");
    other.write(".env", "A=other\n");
    let out = app.shopfloor(&["setup", "--yes"]).exit(0);
    out.err_has("other has a .env of its own, so it is not attached");
    assert!(out.stdout.contains(&format!("attach {} {}\n", app.path.display(), same.path.display())), "{out}");
    assert_eq!((other.read(".env"), same.read(".env")), ("A=other\n".into(), "A=1\n".into()));
}

/// As long as an agent has a worktree, git has to ignore what the tools put there.
#[test]
fn a_teardown_waits_for_the_worktrees_of_agents() {
    let w = World::new();
    let app = w.repo("app");
    let before = told(&app);
    app.shopfloor(&["setup", "--yes"]).exit(0).any_out().any_err();
    app.git(&["add", "-A"]);
    app.git(&["commit", "-q", "-m", "setup"]);
    let own = app.worktree("own");
    app.shopfloor(&["new", "feat"]).exit(0).any_out().any_err();
    app.shopfloor(&["teardown", "-n"]).exit(1).any_out().err_has("for the agent main.feat");
    app.shopfloor(&["teardown"]).exit(1).any_out().err_has("for the agent main.feat; `shopfloor rm` removes it");
    app.shopfloor(&["rm", "feat"]).exit(0).any_out().any_err();
    // Those of a worktree that a person made are needed, too.
    app.shopfloor(&["teardown"]).exit(1).any_out().err_has("/own, too; `sweatfile-apply -C ");
    own.apply(&["remove"]).exit(0).any_out().any_err();
    // And those of the main checkout, which a person has set up.
    app.apply(&[]).exit(0).any_out().any_err();
    let out = app.shopfloor(&["teardown"]).exit(1).any_out();
    out.err_has(&format!("are for {}, too; `sweatfile-apply -C ", app.path.display()));
    app.apply(&["remove"]).exit(0).any_out().any_err();
    app.shopfloor(&["teardown"]).exit(0).any_out().any_err();
    assert_eq!(told(&app), before);
}

/// What a first teardown removed is not called edited by the next one.
#[test]
fn a_second_teardown_names_only_what_a_person_edited() {
    let w = World::new();
    let app = app(&w);
    app.shopfloor(&["setup", "--yes"]).exit(0).any_out().any_err();
    app.write(".claude/skills/shopfloor/SKILL.md", "mine\n");
    app.shopfloor(&["teardown"]).exit(1).any_out().err_has("SKILL.md is not as `setup` left it");
    let again = app.shopfloor(&["teardown"]).exit(1).any_out();
    again.err_has(".claude/skills/shopfloor/SKILL.md is not as `setup` left it");
    assert_eq!(again.stderr.matches("is not as `setup` left it").count(), 1, "{again}");
    assert_eq!(app.read(".claude/skills/shopfloor/SKILL.md"), "mine\n");
}

#[test]
fn what_a_missing_tool_leaves_is_not_called_changed() {
    let w = World::new();
    let app = app(&w);
    app.shopfloor(&["setup", "--yes"]).exit(0).any_out().any_err();
    std::fs::remove_file(w.path("bin/ledger-synth")).unwrap();
    let out = app.shopfloor(&["teardown"]).exit(1).any_out();
    out.err_has("ledger stays: ledger-synth is not on the PATH");
    assert!(!out.stderr.contains("was changed"), "{out}");
}

/// Without the overlay a detach that was killed could never be done again.
#[test]
fn an_overlay_stays_if_its_detach_fails_and_counts_as_taken_back_once_it_is_deleted() {
    let w = World::new();
    let app = app(&w);
    app.shopfloor(&["setup", "--yes"]).exit(0).any_out().any_err();
    let (link, overlay) = (w.path("bin/overlay-sync"), w.home(".local/share/shopfloor/overlays/app"));
    let program = link.read_link().unwrap();
    let killed = "[ \"$1\" = detach ] && kill -KILL $$\nexec ~/overlay-sync \"$@\"";
    w.program("overlay-sync", &format!("ln -sf {} ~/overlay-sync\n{killed}", program.display()));
    let out = app.shopfloor(&["teardown", "--overlay", "--yes"]).exit(1).any_out();
    out.err_has("overlay stays: `overlay-sync detach` failed");
    assert!(overlay.join(".env").exists(), "{out}");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&program, &link).unwrap();
    std::fs::remove_dir_all(overlay.join(".overlay-sync")).unwrap();
    app.shopfloor(&["teardown"]).exit(1).any_out().err_has("has lost its state");
    std::fs::remove_dir_all(&overlay).unwrap();
    for args in [&["teardown", "-n"][..], &["teardown", "--overlay"]] {
        app.shopfloor(args).exit(0).any_out().err_has("the overlay is not there, so it counts as taken back");
    }
    assert!(app.has(".env") && !app.has(".git/shopfloor/setup.json"));
}

/// `setup` did not make it, so it is not its to take back.
#[test]
fn a_teardown_names_the_root_of_the_agents() {
    let w = World::new();
    let app = w.repo("app");
    app.run("worker-ctl", &["init"]).exit(0).any_out().any_err();
    app.shopfloor(&["teardown"]).exit(0).any_out().err_has("stays; `shopfloor deinit` removes it");
    app.shopfloor(&["deinit", "--yes"]).exit(0).any_out().any_err();
    let out = app.shopfloor(&["teardown"]).exit(0).any_out().any_err();
    assert!(!out.stderr.contains("deinit"), "{out}");
}

/// `setup` writes through no link, so nothing is to be taken out behind one.
#[test]
fn a_teardown_leaves_links_alone() {
    let w = World::new();
    let links = [
        ("file", "mkdir .claude && echo '{}' > ~/own.json && ln -s ~/own.json .claude/settings.json"),
        ("dangling", "mkdir .claude && ln -s nowhere .claude/settings.json"),
        ("dir", "mkdir ~/dot && ln -s ~/dot .claude"),
    ];
    for (name, line) in links {
        let app = w.repo(name);
        app.sh(&format!("{line} && git add -A && git commit -qm own")).exit(0);
        let before = told(&app);
        app.shopfloor(&["setup", "--yes"]).exit(0).any_out().any_err();
        app.shopfloor(&["teardown"]).exit(0).any_out().any_err();
        assert_eq!((told(&app), app.git(&["status", "--porcelain"])), (before, String::new()), "{name}");
    }
    // With a program for which it would write there, the set-up says what to do instead.
    w.program("claude", "exec sleep 600");
    let app = w.repo("claude");
    app.sh("ln -s ~/dot .claude").exit(0);
    let out = app.shopfloor(&["setup", "--yes"]).exit(1).any_out();
    out.err_has("not set up: ledger, skills").err_has("hint: put a directory in the place of .claude");
    app.shopfloor(&["teardown"]).exit(0).any_out().any_err();
    // One that is to be kept is not read.
    let (app, skill) = (w.repo("skills"), ".claude/skills/overlay-sync/SKILL.md");
    app.shopfloor(&["skills"]).succeeds();
    app.sh(&format!("ln -sf nowhere {skill}")).exit(0);
    app.shopfloor(&["skills", "--undo", &format!("--keep={skill}")]).succeeds();
    assert!(!app.has(".claude/skills/shopfloor/SKILL.md"));
    app.shopfloor(&["skills", "--undo"]).exit(1).err_has(&format!("{skill} stays as it is"));
    let left = app.shopfloor(&["skills", "--undo", "--json"]).exit(1).any_err().json();
    assert_eq!((text(&left, "/path"), text(&left, "/action")), (skill, "kept"));
    assert!(app.has(skill));
}
