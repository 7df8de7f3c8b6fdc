//! What an agent can write into the clone makes no git command of ours run a program, go elsewhere or show less.

use std::os::unix::fs::PermissionsExt;

use crate::support::worker::{staff, tip, tree, work};
use crate::support::world::{World, write};

/// A program that leaves a mark and passes on what it gets.
fn evil(w: &World) -> String {
    let program = w.path("evil");
    write(&program, &format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", w.path("mark").display()));
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program.display().to_string()
}

/// Everything by which a clone's configuration runs a program on the host, or sends it elsewhere.
fn configuration(evil: &str) -> String {
    format!(
        "\n[core]\n\tpager = {evil}\n\thooksPath = {evil}-hooks\n\tsshCommand = {evil}\n\tfsmonitor = {evil}\n\
         \talternateRefsCommand = {evil}\n[pager]\n\tdiff = {evil}\n\tlog = {evil}\n[diff]\n\texternal = {evil}\n\
         [diff \"evil\"]\n\tcommand = {evil}\n\ttextconv = {evil}\n[merge]\n\tdefault = evil\n\
         [merge \"evil\"]\n\tdriver = {evil}\n[filter \"evil\"]\n\tclean = {evil}\n\tsmudge = {evil}\n\
         [filter \"lfs\"]\n\tclean = {evil} clean -- %f\n[remote \"origin\"]\n\tuploadpack = {evil}\n\
         [url \"/nowhere/\"]\n\tinsteadOf = /\n[gc]\n\trecentObjectsHook = {evil}\n\tauto = 1\n\
         [include]\n\tpath = {evil}-more\n[extensions]\n\tworktreeConfig = true\n"
    )
}

#[test]
fn host_git_obeys_nothing_that_the_clone_configures() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    let evil = evil(&w);
    work(&floor, "adam", "COMMIT notes.txt mine Write it");
    work(&floor, "eve", "COMMIT README.md hers Change it");
    let config = floor.root.read(".git/config");
    floor.root.write(".git/config", &(config + &configuration(&evil)));
    write(&w.path("evil-more"), &format!("[filter \"more\"]\n\tclean = {evil}\n"));
    for place in [".git/config.worktree", ".git/worktrees/adam/config.worktree"] {
        floor.root.write(place, &configuration(&evil));
    }
    floor.root.write(".git/info/attributes", "* filter=evil diff=evil merge=evil\n*.txt -diff filter=lfs\n");
    for hook in ["post-checkout", "reference-transaction", "post-index-change", "pre-rebase"] {
        for dir in [".git/hooks", "../../evil-hooks"] {
            floor.root.write(&format!("{dir}/{hook}"), &format!("#!/bin/sh\nexec {evil} < /dev/null\n"));
            floor.root.sh(&format!("chmod +x {dir}/{hook}")).exit(0);
        }
    }
    // A blob that stands for another one would hide what lands.
    let blob = floor.root.git(&["rev-parse", "worker/adam:notes.txt"]);
    let harmless = floor.root.sh("echo harmless | git hash-object -w --stdin --no-filters").exit(0).stdout.clone();
    floor.root.git(&["update-ref", &format!("refs/replace/{}", blob.trim()), harmless.trim()]);
    let mark = || std::fs::read_to_string(w.path("mark")).unwrap_or_default();
    // What the set-up above ran itself is not ours.
    let _ = std::fs::remove_file(w.path("mark"));
    floor.app.commit("README.md", "theirs\n");
    for args in [&["status"][..], &["patrol"], &["doctor"], &["clashes"]] {
        floor.ctl(args).any_status().any_out().any_err();
        assert_eq!(mark(), "", "{args:?}");
    }
    let shown = floor.ctl(&["review", "adam", "--interface", "git"]).exit(0).any_err();
    assert!(shown.stdout.contains("+mine"), "{}", *shown.stdout);
    let on_terminal = floor.root.on_terminal("PAGER=cat worker-ctl review adam --interface git", "");
    assert!(on_terminal.any_status().any_err().stdout.contains("mine"));
    let old = tip(&floor);
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_ne!(tip(&floor), old);
    assert_eq!(floor.app.git(&["show", "main:notes.txt"]), "mine\n");
    for args in [
        &["rebase", "eve"][..],
        &["reset", "eve", "--force"],
        &["add", "noah"],
        &["doctor", "--repair", "--yes"],
        &["nuke", "eve", "--yes", "--force"],
    ] {
        floor.ctl(args).any_status().any_out().any_err();
        assert_eq!(mark(), "", "{args:?}");
    }
    assert!(tree(&floor, "noah").has("README.md"));
}
