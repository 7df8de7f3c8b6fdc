//! worker-ctl: whose work would conflict with whose.

use std::fs::File;

use serde_json::{Value, json};

use crate::support::floor::Floor;
use crate::support::worker::{Staying, adopted_floor, by_hand, commit, staff, tree, work};
use crate::support::world::{World, wait_for};

/// The clashes, as `[a, b, paths]` each.
fn clashes(floor: &Floor<'_>, args: &[&str]) -> Vec<Value> {
    let lines = floor.ctl(&[&["clashes", "--json"], args].concat()).exit(0).json_lines();
    lines.iter().map(|line| json!([line["a"], line["b"], line["paths"]])).collect()
}

#[test]
fn work_that_would_conflict_is_named_before_it_lands() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve", "zoe"]);
    assert_eq!(clashes(&floor, &[]), Vec::<Value>::new());
    by_hand(&floor, "adam", &[("a.txt", "one\n")]);
    floor.ctl(&["start", "eve", "--task", "think"]).succeeds();
    // Also of work that nobody reviews yet.
    commit(&tree(&floor, "eve"), "Write", &["a.txt"], "two\n");
    by_hand(&floor, "zoe", &[("z.txt", "z\n")]);
    assert_eq!(clashes(&floor, &[]), [json!(["adam", "eve", ["a.txt"]])]);
    assert_eq!((clashes(&floor, &["eve"]).len(), clashes(&floor, &["zoe"]).len()), (1, 0));
    floor.ctl(&["clashes", "nobody"]).exit(1).any_err();
    floor
        .ctl(&["clashes"])
        .exit(0)
        .out_has("adam  eve  a.txt")
        .err_has("land zoe first: it clashes with the fewest (0)");
    floor.ctl(&["status"]).exit(0).out_has("clashes with adam in a.txt").out_has("clashes with eve in a.txt");
    assert_eq!(floor.status("adam")["clashes"], json!([{ "with": "eve", "paths": ["a.txt"] }]));
    floor.ctl(&["review", "adam"]).exit(0).out_has("Clash:  with eve in a.txt");
    // A name tells nothing else.
    let odd = "x\nCheck:  green";
    for name in ["adam", "eve"] {
        commit(&tree(&floor, name), "Odd", &[odd], name);
    }
    floor.until("adam", "needs_review");
    assert_eq!(clashes(&floor, &["eve"]), [json!(["adam", "eve", ["a.txt", odd]])]);
    let shown = floor.ctl(&["review", "adam"]).exit(0).any_err().stdout.clone();
    assert!(shown.contains("x\\nCheck:  green") && !shown.contains("\nCheck:  green"), "{shown}");
    // With the branch on which it lands, too.
    floor.app.commit("z.txt", "theirs\n");
    floor.ctl(&["rebase", "adam"]).succeeds();
    let both = [json!(["adam", "zoe", ["z.txt"]]), json!(["zoe", "main", ["z.txt"]])];
    assert_eq!(clashes(&floor, &["zoe"]), both);
    // Nothing is left of the merges, nor of those of a killed command; what another command uses stays. A file that
    // cannot be read counts as none.
    let locks = floor.root.path.join("locks");
    let dirs = [".shopfloor-tmp-new", ".shopfloor-tmp-old"].map(|name| locks.join(name));
    dirs.iter().for_each(|dir| std::fs::create_dir(dir).unwrap());
    let yesterday = std::time::SystemTime::now() - std::time::Duration::from_secs(86400);
    File::open(&dirs[1]).unwrap().set_modified(yesterday).unwrap();
    floor.root.write("clashes.json", "{");
    assert_eq!(clashes(&floor, &[]).len(), 3);
    let left = std::fs::read_dir(locks).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    assert_eq!(left.collect::<Vec<_>>(), dirs[..1]);
}

#[test]
fn what_cannot_be_merged_stops_no_other_and_up_keeps_it_true() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve", "zoe"]);
    let _up = Staying::new(&floor, &["up"]);
    by_hand(&floor, "adam", &[("a.txt", "one\n")]);
    floor.ctl(&["start", "eve", "--task", "think"]).succeeds();
    // A history of its own, which nothing can be merged with.
    tree(&floor, "eve").sh("git checkout -q --orphan x && git commit -qm x && git branch -f worker/eve x && git checkout -q worker/eve").exit(0).any_err();
    work(&floor, "zoe", "COMMIT a.txt two Write a");
    wait_for(|| floor.status("adam")["clashes"] == json!([{ "with": "zoe", "paths": ["a.txt"] }]));
    floor.ctl(&["review", "zoe"]).exit(0).any_err().out_has("Clash:  with adam");
    floor.ctl(&["reset", "zoe", "--force"]).succeeds();
    wait_for(|| floor.status("adam")["clashes"] == json!([]));
}

#[test]
fn a_file_that_is_a_directory_on_the_branch_and_a_branch_that_is_gone_are_named() {
    let w = World::new();
    let floor = adopted_floor(&w);
    by_hand(&floor, "adam", &[("README.md", "one\n")]);
    // git moves a file that is in the way of a directory.
    floor.app.git(&["rm", "-q", "README.md"]);
    floor.app.commit("README.md/more", "theirs\n");
    assert_eq!(clashes(&floor, &[]), [json!(["adam", "main", ["README.md"]])]);
    floor.app.git(&["branch", "-m", "main", "trunk"]);
    floor.ctl(&["clashes"]).any_status().any_out().err_has("the source has no branch main");
}
