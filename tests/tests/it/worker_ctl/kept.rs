//! worker-ctl: `reset` and `nuke` take nothing along that they have not kept, and nothing of others.

use crate::support::floor::Floor;
use crate::support::worker::tree;
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
