//! A landing that is cut short leaves the person's checkout as it was.

use std::process::Stdio;

use crate::support::floor::Floor;
use crate::support::worker::{assert_landed, by_hand, head, refused, staff, tip, up, work};
use crate::support::world::{Repo, World, needs_mount, text, wait_for, which};

fn beside<'w>(app: &Repo<'w>, name: &str) -> Repo<'w> {
    app.world.at(app.path.with_file_name(name))
}

/// git writes the files and the index before it moves the branch.
#[test]
fn a_landing_that_git_cannot_finish_leaves_the_checkout_as_it_was() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    app.commit("gone", "g\n");
    up(&floor, &["adam"]);
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    let adam = beside(app, "adam");
    adam.sh("git merge -q main; git rm -q gone; echo x > come; echo y >> README.md; git add -A; git commit -qm Work")
        .exit(0)
        .any_out()
        .any_err();
    floor.until("adam", "needs_review");
    let old = tip(&floor);
    // A refusal touches nothing of a person's, also what is as the work has it.
    app.sh("echo x > come; rm gone; echo mine >> README.md").exit(0);
    floor.ctl(&["accept", "adam"]).exit(1).any_out().err_has("changes in the way");
    assert_eq!(app.git(&["status", "--porcelain"]), " M README.md\n D gone\n?? come\n");
    app.sh("rm come; git checkout -q README.md gone").exit(0);
    let refuse = "printf '#!/bin/sh\nif [ $1 = prepared ] && grep -q heads/main; then exit 1; fi\n' > .git/hooks/reference-transaction && chmod +x .git/hooks/reference-transaction";
    for (dirt, clean, status, says) in [
        ("touch .git/HEAD.lock", "rm .git/HEAD.lock", 75, "another git works in"),
        ("touch .git/refs/heads/main.lock", "rm .git/refs/heads/main.lock", 75, "another git works in"),
        (refuse, "rm .git/hooks/reference-transaction", 4, "nothing has changed"),
    ] {
        app.sh(dirt).exit(0).any_out().any_err();
        app.sh("echo mine > loose && git add loose").exit(0).any_out().any_err();
        floor.ctl(&["accept", "adam"]).exit(status).any_out().err_has(says);
        assert_eq!((tip(&floor), app.git(&["status", "--porcelain"])), (old.clone(), "A  loose\n".into()), "{dirt}");
        app.sh(clean).exit(0).any_out().any_err();
    }
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!(app.git(&["status", "--porcelain"]), "A  loose\n");
    assert_eq!(app.read("come"), "x\n");
}

/// git was killed when the index and the files were written, and the branch was not.
#[test]
fn a_move_that_was_killed_half_way_goes_on_where_the_files_are_those_of_its_end() {
    for (patterns, change, is_moved) in [("", "true", true), ("", "rm e/f", false), ("/*\n!/d/", "true", true)] {
        let w = World::new();
        let floor = staff(&w, &["adam"]);
        floor.app.commit("d/f", "one\n");
        floor.app.commit("e/f", "one\n");
        let adam = by_hand(&floor, "adam", &[("a", "one\n")]);
        if !patterns.is_empty() {
            adam.sh(&format!("printf '{patterns}\n' | git sparse-checkout set --no-cone --stdin")).exit(0).any_err();
        }
        floor.app.sh("echo two > d/f; echo two > e/f; git commit -qam More").exit(0);
        let real = which("git");
        let half = format!(
            "n=$#; case \"$*\" in *'reset --quiet --keep'*) ;; *) exec {0} \"$@\";; esac\n\
             exec bash -c '{0} \"${{@:1:$#-4}}\" read-tree -m -u HEAD \"${{!#}}\"; kill -KILL $$' -- \"$@\"",
            real.display()
        );
        w.program("git", &half);
        floor.ctl(&["accept", "adam"]).any_status().any_out().any_err();
        std::fs::remove_file(w.path("bin/git")).unwrap();
        assert_eq!(
            (adam.read("e/f"), adam.git(&["diff", "--cached", "--name-only", &tip(&floor)])),
            ("two\n".into(), String::new())
        );
        assert_ne!(head(&adam), tip(&floor));
        adam.sh(change).exit(0);
        let again = floor.ctl(&["accept", "adam"]).any_status().any_out().any_err();
        assert_eq!(head(&adam) == tip(&floor), is_moved, "{patterns} {change}: {again}");
    }
}

#[test]
fn a_move_that_git_cannot_finish_leaves_the_worktree_as_it_was() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.app.commit("d/f", "one\n");
    let adam = by_hand(&floor, "adam", &[("a", "one\n")]);
    floor.app.commit("come", "x\n");
    floor.app.commit("d/f", "two\n");
    adam.sh("chmod 500 d").exit(0);
    let says = "unable to unlink old 'd/f'";
    floor.root.run_bound("worker-ctl", &["rebase", "adam"]).exit(4).any_out().err_has(says);
    assert_eq!(adam.git(&["status", "--porcelain"]), "");
    floor.root.run_bound("worker-ctl", &["accept", "adam"]).exit(0).any_out().err_has(says).err_has("stays as it is");
    assert_eq!(adam.git(&["status", "--porcelain"]), "");
    assert_eq!((adam.read("a") + &adam.read("d/f"), adam.has("come")), ("one\none\n".into(), false));
}

#[test]
fn a_file_that_git_cannot_delete_in_a_landing_is_named() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    app.commit("d/f", "one\n");
    up(&floor, &["adam"]);
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    beside(app, "adam").sh("git merge -q main; git rm -q d/f; git commit -qm Work").exit(0).any_out().any_err();
    floor.until("adam", "needs_review");
    app.sh("chmod 500 d").exit(0);
    let accepted = floor.root.run_bound("worker-ctl", &["accept", "adam"]).exit(0).any_out();
    app.sh("chmod 700 d").exit(0);
    accepted.err_has("in the checkout of main: unable to unlink 'd/f'");
    assert_eq!(app.git(&["status", "--porcelain"]), "?? d/\n");
}

#[test]
fn a_checkout_of_nobodys_that_another_git_holds_is_busy_wherever_it_is() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    app.git(&["worktree", "add", "-q", "-b", "rel", "../rel"]);
    app.git(&["worktree", "add", "-q", "-b", "eve", "../eve"]);
    app.run("worker-ctl", &["add", "--worktree", "../eve", "--target", "rel"]).succeeds().any_err();
    let (eve, rel) = (beside(app, "eve"), beside(app, "rel"));
    // What a file has is the beginning of what it gets.
    eve.commit("README.md", "app\none\n");
    floor.ctl(&["patrol"]).succeeds().any_err();
    let lock = rel.git(&["rev-parse", "--path-format=absolute", "--git-path", "index.lock"]);
    std::fs::write(lock.trim_end(), "").unwrap();
    assert_eq!(refused(&floor, &["accept", "eve"], 75), "busy");
    std::fs::remove_file(lock.trim_end()).unwrap();
    floor.ctl(&["accept", "eve"]).exit(0).any_out().any_err();
    assert_eq!(rel.read("README.md"), "app\none\n");
}

/// Once the branch has moved, what fails after that does not hide it.
#[test]
fn an_accept_that_cannot_move_the_worktree_says_that_the_work_landed() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    // git writes files and index before it locks the branch.
    for locked in ["refs/heads/BRANCH", "worktrees/adam/index"] {
        let adam = by_hand(&floor, "adam", &[("f", locked)]);
        floor.app.commit("come", locked);
        let (old, work) = (tip(&floor), head(&adam));
        let branch = adam.git(&["symbolic-ref", "--short", "HEAD"]);
        let lock = format!(".git/{}.lock", locked.replace("BRANCH", branch.trim_end()));
        floor.root.write(&lock, "");
        let answer = floor.ctl(&["accept", "adam", "--json"]).exit(75).any_err().json();
        assert_eq!((text(&answer, "/outcome"), text(&answer, "/error/kind")), ("accepted", "busy"));
        assert_eq!(text(&answer, "/commit"), tip(&floor));
        let message = text(&answer, "/error/message");
        assert!(message.starts_with("the work of adam has landed on main, but not all is done: "), "{message}");
        assert_eq!((head(&adam), adam.git(&["status", "--porcelain"])), (work, String::new()), "{locked}");
        std::fs::remove_file(floor.root.path.join(lock)).unwrap();
        let patrol = floor.ctl(&["patrol"]).exit(0).any_out();
        assert!(patrol.stderr.contains("finished an `accept` of adam\n"), "{patrol}");
        assert_landed(&floor, "adam", &old, locked);
    }
    // What has come in the way meanwhile is named.
    let adam = by_hand(&floor, "adam", &[("f", "last")]);
    floor.app.commit("anew", "theirs\n");
    floor.root.write(".git/worktrees/adam/index.lock", "");
    floor.ctl(&["accept", "adam"]).exit(75).any_out().any_err();
    std::fs::remove_file(floor.root.path.join(".git/worktrees/adam/index.lock")).unwrap();
    adam.write("anew", "mine\n");
    let patrol = floor.ctl(&["patrol"]).exit(0).any_out();
    patrol
        .err_has("stays as it is: ")
        .err_has("anew would be lost: a file comes in its place; move what is there away");
    assert_eq!(adam.read("anew"), "mine\n");
}

#[test]
fn an_accept_that_cannot_delete_its_own_ref_says_that_the_work_landed() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    up(&floor, &["adam"]);
    by_hand(&floor, "adam", &[("f", "one\n")]);
    let old = tip(&floor);
    floor.app.write(".git/packed-refs.lock", "");
    let accepted = floor.ctl(&["accept", "adam"]).exit(4);
    assert_eq!(accepted.stdout, tip(&floor) + "\n");
    accepted.err_has("the work of adam has landed on main, but not all is done: ");
    std::fs::remove_file(floor.app.path.join(".git/packed-refs.lock")).unwrap();
    floor.ctl(&["patrol"]).exit(0).any_out().err_has("finished an `accept` of adam");
    assert_landed(&floor, "adam", &old, "the list of refs was locked");
}

/// git moves a file between its directories by rename, which fails from disk to disk.
#[test]
fn work_lands_where_the_repository_is_on_another_disk_than_the_root() {
    let w = World::new();
    which("tmux");
    let Some(far) = w.other_disk() else { return };
    let app = w.at(far.path().join("app"));
    w.at(far.path()).sh("git init -q app && git -C app commit -q --allow-empty -m first").exit(0).any_out().any_err();
    app.git(&["worktree", "add", "-q", "-b", "feat", "../feat"]);
    app.run("worker-ctl", &["add", "feat", "--worktree", "../feat"]).exit(0).any_out().any_err();
    let floor = Floor::of(app.clone(), &w);
    up(&floor, &["feat"]);
    work(&floor, "feat", "COMMIT f one Work");
    floor.ctl(&["accept", "feat"]).exit(0).any_out().any_err();
    assert_eq!(app.read("f"), "one\n");
}

/// The files of git's merge are written, the branch is not moved yet.
#[test]
fn a_landing_that_is_interrupted_or_killed_is_taken_back() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam", "eve"]);
    let app = &floor.app;
    app.commit(".gitattributes", "*.slow filter=slow\n");
    app.commit("gone", "g\n");
    app.sh("mkfifo ~/gate; git config filter.slow.clean cat").exit(0);
    app.git(&["config", "filter.slow.smudge", "touch ~/started; cat ~/gate; cat"]);
    up(&floor, &["adam", "eve"]);
    by_hand(&floor, "eve", &[("other", "o\n")]);
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    beside(app, "adam")
        .sh("git -c filter.slow.smudge=cat merge -q main; git rm -q gone; echo y >> README.md; echo x > anew; echo z > z.slow; git add -A; git commit -qm Work")
        .exit(0)
        .any_out()
        .any_err();
    floor.until("adam", "needs_review");
    let old = tip(&floor);
    let land = || {
        let mut command = w.command(w.path("bin/worker-ctl"));
        command.current_dir(&app.path).args(["accept", "adam"]).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        wait_for(|| w.home("started").exists());
        std::fs::remove_file(w.home("started")).unwrap();
        child
    };
    let mut child = land();
    app.sh(&format!("kill -INT {}", child.id())).exit(0);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!((tip(&floor), app.git(&["status", "--porcelain"])), (old.clone(), String::new()));
    // With the program that waits for git, or git alone.
    for whom in ["$$$", ""] {
        let mut child = land();
        let whom = whom.replace("$$$", &child.id().to_string());
        app.sh(&format!("kill -9 {whom} $(pgrep -P {})", child.id())).exit(0);
        // What git had started ends, and with it who waits for its output.
        app.sh("timeout 5 sh -c 'echo > ~/gate'").any_status();
        child.wait().unwrap();
        let half = app.git(&["status", "--porcelain"]);
        assert_ne!(half, "");
        // While that git may still work, nobody lands, and nobody forgets what has to be put back.
        for args in [&["accept", "adam"][..], &["accept", "eve"], &["nuke", "adam", "--force", "--yes"]] {
            assert_eq!(refused(&floor, args, 75), "not_put_back", "{args:?}");
        }
        assert_eq!((tip(&floor), app.git(&["status", "--porcelain"])), (old.clone(), half));
        app.sh("rm .git/index.lock").exit(0);
        app.git(&["config", "filter.slow.smudge", "cat"]);
        floor.ctl(&["patrol"]).exit(0).any_out().any_err();
        assert_eq!((tip(&floor), app.git(&["status", "--porcelain"])), (old.clone(), String::new()));
        app.git(&["config", "filter.slow.smudge", "touch ~/started; cat ~/gate; cat"]);
    }
    app.git(&["config", "filter.slow.smudge", "cat"]);
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!((app.read("anew"), app.git(&["status", "--porcelain"])), ("x\n".into(), String::new()));
}

#[test]
fn a_landing_that_cannot_be_put_back_is_put_back_later() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, git) = (&floor.app, which("git"));
    up(&floor, &["adam"]);
    by_hand(&floor, "adam", &[("README.md", "theirs\n")]);
    let old = tip(&floor);
    let body = format!(
        "case \" $* \" in *' merge --quiet '*) echo theirs > '{}'; exit 1;; *' checkout --quiet '*) exit 1;; esac\n\
         exec '{}' \"$@\"",
        app.path.join("README.md").display(),
        git.display()
    );
    w.program("git", &body);
    for _ in 0..2 {
        assert_eq!(refused(&floor, &["accept", "adam"], 4), "not_put_back");
    }
    w.program("git", &format!("exec '{}' \"$@\"", git.display()));
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    assert_eq!((tip(&floor), app.git(&["status", "--porcelain"])), (old, String::new()));
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!(app.read("README.md"), "theirs\n");
}

#[test]
fn a_landing_whose_git_was_killed_before_it_wrote_says_so() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, git) = (&floor.app, which("git"));
    up(&floor, &["adam"]);
    by_hand(&floor, "adam", &[("f", "one\n")]);
    let lock = app.path.join(".git/index.lock");
    let killed = format!("case \" $* \" in *' merge --quiet '*) touch '{}'; kill -9 $$;; esac\n", lock.display());
    w.program("git", &format!("{killed}exec '{}' \"$@\"", git.display()));
    let accepted = floor.ctl(&["accept", "adam"]).exit(4).any_out();
    accepted.err_has("git merge failed with signal 9").err_has("nothing has changed").err_has("`index.lock`");
    w.program("git", &format!("exec '{}' \"$@\"", git.display()));
    floor.ctl(&["accept", "adam"]).exit(75).any_out().err_has("another git works in");
    std::fs::remove_file(lock).unwrap();
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!((app.read("f"), app.git(&["status", "--porcelain"])), ("one\n".into(), String::new()));
}

/// Nothing is wrong with the objects then.
#[test]
fn objects_that_git_cannot_copy_are_not_said_to_be_tampered_with() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    up(&floor, &["adam"]);
    by_hand(&floor, "adam", &[("f", "one\n")]);
    let (git, says) = (which("git"), "fatal: write error: No space left on device");
    let full = format!("case \" $* \" in *' pack-objects '*) echo '{says}' >&2; exit 128;; esac\n");
    w.program("git", &format!("{full}exec '{}' \"$@\"", git.display()));
    assert_eq!(refused(&floor, &["accept", "adam"], 4), "git");
    floor.ctl(&["accept", "adam"]).exit(4).any_out().err_has(says).err_has("mend the cause");
}

#[test]
fn a_full_disk_leaves_nothing_of_a_landing() {
    let w = World::new();
    which("tmux");
    let disk = w.path("disk");
    std::fs::create_dir(&disk).unwrap();
    if !needs_mount(&w.at(w.path("")), "mount -t tmpfs -o size=4m tmpfs disk") {
        return;
    }
    let app = w.at(disk.join("app"));
    w.at(&disk).sh("git init -q app && cd app && echo a > a && git add a && git commit -qm first").exit(0).any_out();
    app.git(&["worktree", "add", "-q", "-b", "feat", &w.home("feat").to_string_lossy()]);
    app.run("worker-ctl", &["add", "feat", "--worktree", &w.home("feat").to_string_lossy()])
        .exit(0)
        .any_out()
        .any_err();
    let floor = Floor::of(app.clone(), &w);
    up(&floor, &["feat"]);
    floor.ctl(&["start", "feat", "--task", "think"]).succeeds();
    w.at(w.home("feat"))
        .sh("yes abc | head -c 400000 > big; echo b > a; echo z > zz; git add -A; git commit -qm Work")
        .exit(0)
        .any_err();
    floor.until("feat", "needs_review");
    app.sh("dd if=/dev/zero of=../full bs=1k count=$(($(df --output=avail -k .. | tail -1) - 200)) status=none")
        .any_status();
    floor.ctl(&["accept", "feat"]).exit(4).any_out().err_has("nothing has changed");
    app.sh("rm ../full").exit(0);
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    floor.ctl(&["accept", "feat"]).exit(0).any_out().any_err();
    assert_eq!(app.read("zz"), "z\n");
    w.at(w.path("")).sh("umount -l disk").exit(0);
}
