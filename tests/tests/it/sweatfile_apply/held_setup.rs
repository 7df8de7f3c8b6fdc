//! The area's setup commands do not use tracked files that nobody has approved.

use crate::support::world::{Repo, World, text, write};

/// Writes an area that allows any `.envrc`, and a `direnv` that logs where it is called.
fn area(w: &World, more: &str) {
    w.program("direnv", "echo \"$1 $PWD\" >> ~/allowed");
    w.area(&format!("setup = [\"direnv allow\"]\n{more}"));
}

fn allowed(w: &World) -> usize {
    std::fs::read_to_string(w.home("allowed")).unwrap_or_default().lines().count()
}

/// Applies, and checks that this file held setup back.
#[track_caller]
fn assert_held(repo: &Repo<'_>, file: &str) {
    let before = allowed(repo.world);
    let out = repo.apply(&[]).exit(3);
    out.err_has(&format!("{file} is tracked")).err_has("setup was held back").err_has("approve");
    out.out_has("skipped setup direnv allow");
    repo.apply(&["--json"]).exit(3).any_err().out_has("\"kind\":\"unapproved\"");
    repo.apply(&["--setup-again"]).exit(3).any_out().any_err();
    repo.apply(&["-n"]).exit(3).any_out().err_has(file);
    repo.apply(&["check"]).exit(1).out_has(&format!("setup is held back by {file}"));
    assert_eq!(allowed(repo.world), before, "setup ran over {file}");
}

#[test]
fn a_tracked_envrc_holds_setup_back_until_approved() {
    let w = World::new();
    let app = w.app();
    area(&w, "");
    app.commit(".envrc", "touch ~/evil\n");
    assert_held(&app, ".envrc");
    // In a hook the problem is a notice.
    app.apply(&["hook", "install"]).succeeds();
    let added = app.run("git", &["worktree", "add", "-q", "../wt"]).exit(0);
    added.err_has(".envrc is tracked").err_has("eng/repos/wt approve");
    let wt = w.at(w.home("eng/repos/wt"));
    assert_held(&wt, ".envrc");
    // The approval is for the content, here and in every worktree with the same file.
    wt.apply(&["approvals"]).exit(0).out_has("required").out_has("wt/.envrc");
    wt.apply(&["approve"]).exit(3).err_has("wt/.envrc is tracked").err_has("touch ~/evil");
    wt.apply(&["approve", "--yes"]).succeeds().out_has("approved").out_has("wt/.envrc");
    wt.apply(&[]).succeeds().out_has("finished setup direnv allow");
    app.apply(&[]).succeeds();
    assert_eq!(allowed(&w), 2);
    app.apply(&["check"]).exit(0);
    wt.apply(&["--setup-again"]).succeeds();
    // One more character makes it another file.
    wt.commit(".envrc", "touch ~/evil2\n");
    let out = wt.apply(&["--setup-again"]).exit(3).any_out();
    out.err_has(".envrc is tracked");
    assert_eq!(allowed(&w), 3);
    // A file that git does not track is the user's own.
    let plain = w.repo("eng/repos/plain");
    plain.write(".envrc", "mine\n");
    plain.apply(&[]).succeeds();
    assert_eq!(allowed(&w), 4);
}

#[test]
fn on_a_terminal_a_person_is_asked_about_the_file() {
    let w = World::new();
    let app = w.app();
    area(&w, "");
    app.commit(".envrc", "touch ~/evil\n");
    app.on_terminal("sweatfile-apply", "n\n").exit(3).any_out();
    assert_eq!(allowed(&w), 0);
    let out = app.on_terminal("sweatfile-apply", "y\n").exit(0);
    assert!(out.stdout.contains("touch ~/evil"), "{}", out.stdout);
    assert_eq!(allowed(&w), 1);
}

#[test]
fn files_that_the_area_places_do_not_hold_setup_back() {
    let w = World::new();
    let app = w.app();
    write(&w.home("eng/shared"), "shared\n");
    area(
        &w,
        "[files.envrc]\ncontent = \"good\\n\"\n[files.copied]\ncopy = \"shared\"\n[files.linked]\nsource = \"shared\"\n",
    );
    app.apply(&[]).succeeds().any_err();
    assert_eq!(allowed(&w), 1);
    // A tracked file with the area's content.
    let same = w.repo("eng/repos/same");
    same.commit(".envrc", "good\n");
    same.commit(".copied", "shared\n");
    same.sh(&format!("ln -s {} .linked && git add .linked && git commit -qm linked", w.home("eng/shared").display()))
        .any_status()
        .any_out()
        .any_err();
    same.apply(&[]).succeeds();
    assert_eq!(allowed(&w), 2);
    // A tracked file with another content.
    for file in [".envrc", ".copied", ".linked"] {
        let other = w.repo(&format!("eng/repos/other{file}"));
        other.commit(file, "theirs\n");
        assert_held(&other, file);
        other.git(&["rm", "-q", "--cached", file]);
        other.apply(&[]).succeeds();
    }
    // A link is approved together with the text behind it: another text needs another approval.
    let link = w.repo("eng/repos/link");
    link.commit("behind", "one\n");
    link.sh("ln -s behind .envrc && git add .envrc && git commit -qm link").exit(0);
    assert_held(&link, ".envrc");
    link.apply(&["approve"]).exit(3).err_has("    one");
    link.apply(&["approve", "--yes"]).succeeds();
    link.write("behind", "two\n");
    assert_held(&link, ".envrc");
}

#[test]
fn an_envrc_in_a_directory_holds_back_only_the_areas_commands() {
    let w = World::new();
    let app = w.app();
    area(&w, "");
    app.commit("sub/dir/.envrc", "touch ~/evil\n");
    assert_held(&app, "sub/dir/.envrc");
    // Approved commands of the repository may use the repository's files.
    app.approved("setup = []\n");
    app.apply(&[]).exit(0);
    app.approved("setup = [\"touch ran\"]\n");
    app.commit("sub/dir/.envrc", "touch ~/evil2\n");
    app.apply(&[]).exit(3).any_out().any_err();
    assert!(!app.has("ran"), "setup runs in its order, or not at all");
    w.area("");
    app.apply(&[]).succeeds();
    assert!(app.has("ran"));
    // Several files are each reported by name, even next to a sweatfile that does not count.
    area(&w, "");
    let both = w.repo("eng/repos/both");
    both.commit("sub/.envrc", "x\n");
    both.commit(".envrc", "x\n");
    both.write("sweatfile", "setup = [\"false\"]\n");
    let out = both.apply(&[]).exit(3).any_out();
    out.err_has("sweatfile is not approved").err_has("  sub/.envrc is tracked").err_has("  .envrc is tracked");
    let json = both.apply(&["--json"]).exit(3).json();
    assert!(text(&json, "/error/message").contains("sub/.envrc"), "{json}");
}

/// A submodule's files come from the branch too, which chooses the submodule's commit.
#[test]
fn a_file_of_a_submodule_holds_setup_back() {
    let w = World::new();
    let app = w.app();
    write(&w.home("eng/dev.sh"), "touch ~/good\n");
    area(&w, "[files.\"tools/dev.sh\"]\ncopy = \"dev.sh\"\n");
    let tools = w.repo("tools");
    tools.commit("dev.sh", "touch ~/evil\n");
    tools.commit(".envrc", "touch ~/evil\n");
    app.sh(&format!(
        "git -c protocol.file.allow=always submodule -q add {} .tools && git commit -qm tools",
        tools.path.display()
    ))
    .exit(0);
    assert_held(&app, ".tools/dev.sh");
    assert_held(&app, ".tools/.envrc");
}

#[test]
fn a_tracked_env_file_holds_setup_back_too() {
    let w = World::new();
    let app = w.app();
    area(&w, "[files.envrc]\ncontent = \"dotenv_if_exists .sweatshop-env\\n\"\n");
    app.commit(".sweatshop-env", "PATH=.x:/usr/bin\n");
    assert_held(&app, ".sweatshop-env");
}
