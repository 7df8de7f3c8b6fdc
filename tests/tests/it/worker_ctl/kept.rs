//! worker-ctl: `reset` and `nuke` take nothing along that they have not kept, and nothing of others.

use crate::support::floor::Floor;
use crate::support::worker::{adopted_floor, by_hand, head, tip, tree};
use crate::support::world::World;

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
