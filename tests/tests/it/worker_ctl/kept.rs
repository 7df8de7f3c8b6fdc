//! worker-ctl: `reset` and `nuke` take nothing along that they have not kept, and nothing of others.

use crate::support::floor::Floor;
use crate::support::worker::{adopted_floor, by_hand, head, tip, tree};
use crate::support::world::{Repo, World, which};

/// A floor with adam, in the person's own repository or in the clone, whose program is not up.
fn at_rest(w: &World, is_own: bool) -> Floor<'_> {
    if is_own {
        return Floor::adopted(w, &["adam"]);
    }
    let floor = Floor::new(w);
    floor.ctl(&["add", "adam"]).succeeds();
    floor
}

#[test]
fn a_reset_takes_no_worktree_along_that_lies_inside() {
    for is_own in [true, false] {
        let w = World::new();
        let floor = at_rest(&w, is_own);
        let adam = tree(&floor, "adam");
        adam.sh("git worktree add -q --detach nw && echo x > nw/precious").exit(0).any_out().any_err();
        for args in [&["reset", "adam", "--yes"][..], &["reset", "adam", "--yes", "--force"]] {
            floor.ctl(args).exit(1).any_out().err_has("/nw lies inside of ").err_has("remove that one first");
        }
        if is_own {
            // What git ignores stays.
            floor.app.sh("mkdir -p .git/info; echo nw/ >> .git/info/exclude").exit(0);
            floor.ctl(&["reset", "adam", "--yes"]).exit(0).any_out().any_err();
        }
        assert_eq!(adam.read("nw/precious"), "x\n");
    }
}

#[test]
fn a_branch_that_is_checked_out_twice_is_not_moved() {
    let w = World::new();
    let floor = adopted_floor(&w);
    let at = by_hand(&floor, "adam", &[("a", "1\n")]);
    floor.app.git(&["worktree", "add", "-q", "-f", "../other", "feature/adam"]);
    floor.app.commit("later", "x\n");
    let (sha, main) = (head(&at), tip(&floor));
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    for args in [["rebase", "adam"], ["accept", "adam"]] {
        let refused = floor.ctl(&args).exit(1).any_out();
        refused.err_has("feature/adam is checked out in ").err_has("/other switch --detach`");
    }
    assert_eq!((head(&at), tip(&floor)), (sha, main));
    floor.app.git(&["-C", "../other", "switch", "-q", "--detach"]);
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!(head(&at), tip(&floor));
}

#[test]
fn the_patches_of_a_git_am_under_way_are_refused_and_kept_with_force() {
    // The mail is gone, and no file is changed.
    let begin = "for n in one two; do echo $n > README.md; git commit -qam $n; done; git format-patch -q -1 -o ..; \
                 git reset -q --hard HEAD~2; git am -q ../0001*; rm ../0001*";
    for is_own in [true, false] {
        let w = World::new();
        let floor = at_rest(&w, is_own);
        let has_patch = |at: &Repo<'_>, kept: &str| {
            let log = at.git(&["log", "--full-history", "-p", "--format=", kept.trim(), "--", "patches"]);
            assert!(log.contains("\n++two\n"), "{kept}: {log}");
        };
        let adam = tree(&floor, "adam");
        adam.sh(begin).exit(0).any_out().any_err();
        for args in [&["reset", "adam", "--yes"][..], &["nuke", "adam", "--worktree", "--yes"]] {
            floor.ctl(args).exit(1).any_out().err_has("the patches of a `git am` under way");
        }
        has_patch(&adam, &floor.ctl(&["reset", "adam", "--yes", "--force"]).exit(0).any_err().stdout);
        assert!(!adam.git(&["status"]).contains("am session"));
        if is_own {
            let x = w.at(floor.app.spawn(&["subtree", "x"]).exit(0).any_err().stdout.trim_end());
            x.sh(begin).exit(0).any_out().any_err();
            floor.app.spawn(&["remove", "x"]).exit(1).any_out().err_has("git is in the middle of something");
            let kept = floor.app.spawn(&["remove", "x", "--force"]).exit(0).any_err();
            has_patch(&floor.app, &kept.stdout);
        }
    }
}

#[test]
fn what_is_saved_while_a_worktree_is_given_up_is_not_lost() {
    for is_own in [true, false] {
        let w = World::new();
        let floor = at_rest(&w, is_own);
        let (git, adam) = (which("git"), tree(&floor, "adam"));
        // Somebody saves a file just before git does this.
        let late = |at: &str, file: &str| {
            let save = format!("case \" $* \" in *'{at}'*) echo late >> '{}' ;; esac", adam.path.join(file).display());
            w.program("git", &format!("{save}; exec '{}' \"$@\"", git.display()));
        };
        for file in ["README.md", "new"] {
            late(" update-index -q ", file);
            floor.ctl(&["reset", "adam", "--yes"]).exit(1).any_out().err_has("has changed meanwhile");
            assert!(adam.read(file).ends_with("late\n"));
            adam.sh("git checkout -q README.md; rm -f new").exit(0);
        }
        // What comes after the look is left where it is.
        late(" checkout --quiet --force ", "later");
        floor.ctl(&["reset", "adam", "--yes"]).exit(0).any_out().any_err();
        assert_eq!(adam.read("later"), "late\n");
        adam.sh("rm later").exit(0);
        late(" update-index -q ", "new");
        let nuke = ["nuke", "adam", "--worktree", "--yes"];
        floor.ctl(&nuke).exit(1).any_out().err_has("has changed meanwhile");
        assert_eq!(adam.read("new"), "late\n");
    }
}
