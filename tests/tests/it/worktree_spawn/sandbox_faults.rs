//! `run --sandbox` on machines where something is missing or full, and where agents leave what is hard to remove.

use crate::support::sandbox::{contained, inside, tip, works};
use crate::support::spawn::{app, subtree};
use crate::support::world::{World, which};

#[test]
fn a_full_disk_leaves_nothing_of_an_import_and_is_named() {
    let w = World::new();
    let Some((app, _)) = contained(&w) else { return };
    inside(&app, "true").succeeds();
    // The disk of the repository has no room, where git leaves what it has begun.
    let git = which("git").display().to_string();
    let full = "echo x > \"${GIT_OBJECT_DIRECTORY:-$GIT_DIR/objects}/pack/tmp_pack_x\"; echo 'fatal: No space left' >&2; exit 128";
    w.program(
        "git",
        &format!("case \" $* \" in *' --strict '*) ;; *' index-pack '*) {full} ;; esac; exec '{git}' \"$@\""),
    );
    let found = |name: &str| app.sh(&format!("find .git -name '{name}'")).exit(0).stdout.clone();
    let line = "head -c 300000 /dev/urandom > b; git add b; git commit -qm late";
    inside(&app, line).exit(0).err_has("No space left");
    assert_eq!((found("tmp_*"), found("*.pack")), (String::new(), String::new()));
    std::fs::remove_file(w.path("bin/git")).unwrap();
    // There is no room for the pack itself.
    let limited = app.sh("trap '' XFSZ; ulimit -f 200; exec worktree-spawn list --status").exit(0).any_out();
    limited.err_has("or there is no room to pack them").err_has("File too large");
    app.spawn(&["list", "--status"]).exit(0).any_out();
    assert_eq!((tip(&app), found("tmp_*")), ("late".into(), String::new()));
    app.git(&["fsck"]);
}

#[test]
fn an_old_bubblewrap_is_named_where_it_is_looked_for() {
    let w = World::new();
    let Some((app, _)) = contained(&w) else { return };
    inside(&app, "true").succeeds();
    let old = "*' --version '*) echo 'bubblewrap 0.6.1'; exit ;; *' --disable-userns '*) echo 'bwrap: Unknown option' >&2; exit 1 ;;";
    w.program("bwrap", &format!("case \" $* \" in {old} esac; exec '{}' \"$@\"", which("bwrap").display()));
    inside(&app, "true").exit(2).err_has("Unknown option").err_has("install bubblewrap 0.8 or newer");
    app.shopfloor(&["new", "x", "task", "--sandbox"]).exit(2).any_out().err_has("no sandbox can be made");
    // The agent has not done anything that is refused.
    let said = app.spawn(&["list", "--status"]).exit(0);
    assert!(!said.stdout.contains("import refused"), "{said}");
    said.err_has("no sandbox can be made");
}

#[test]
fn no_umask_takes_a_directory_from_its_owner() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["feat"]);
    app.sh("umask 0177; worktree-spawn run main.feat -- true").succeeds();
    if works(&w) {
        let commit = "git commit -q --allow-empty -m inside";
        app.sh(&format!("umask 0777; worktree-spawn run main.feat --sandbox -- {commit}")).succeeds();
        assert_eq!(tip(&app), "inside");
    }
    let closed = app.sh("find .git ~/.local/state -type d ! -perm -700").exit(0);
    assert_eq!(closed.stdout, "");
}

#[test]
fn what_only_a_worktree_inside_names_is_counted_and_kept() {
    let w = World::new();
    let Some((app, _)) = contained(&w) else { return };
    // By a merge under way, refs of the worktree's own, the HEAD of a second worktree, and what that is still to pick.
    let line = "set -e; new() { git commit-tree -p HEAD -m $1 HEAD^{tree}; }; git merge -q --no-ff --no-commit $(new merged); \
        git update-ref refs/worktree/x $(new own); git update-ref refs/bisect/x $(new bisected); \
        git worktree add -q --detach ~/wt $(new detached); cd ~/wt; git cherry-pick $(new first) $(new picked) || true";
    inside(&app, line).exit(0).any_out().any_err();
    app.spawn(&["remove", "main.feat"]).exit(1).err_has("the sandbox of main.feat has 6 commits");
    app.spawn(&["remove", "main.feat", "--force"]).exit(0).any_out().err_has("is below refs/shopfloor/trash/");
    let kept = app.git(&["log", "--no-walk", "--format=%s", "--glob=refs/shopfloor/trash/main.feat/sandbox"]);
    for name in ["merged", "own", "bisected", "detached", "picked"] {
        assert!(kept.lines().any(|line| line == name), "{name}: {kept}");
    }
}

#[test]
fn commits_that_the_branch_has_left_are_kept() {
    let w = World::new();
    let Some((app, _)) = contained(&w) else { return };
    inside(&app, "git commit -q --allow-empty -m imported").succeeds();
    let new = "git commit -q --allow-empty";
    inside(&app, &format!("git reset -q --hard HEAD~1; {new} -m unseen; {new} --amend -m last")).succeeds();
    assert_eq!(tip(&app), "last");
    app.git(&["merge", "-q", "--ff-only", "main.feat"]);
    app.spawn(&["remove", "main.feat"]).exit(0).any_out().any_err();
    let kept = app.git(&["log", "--format=%s", "--glob=refs/shopfloor/trash/main.feat"]);
    for name in ["imported", "unseen"] {
        assert!(kept.lines().any(|line| line == name), "{name}: {kept}");
    }
}
