//! worker-ctl: what work names outside of git's own objects lands with it, and stashes count as work.

use shopfloor_core::hash::Digest;

use crate::support::floor::Floor;
use crate::support::worker::{by_hand, head, ref_with, staff, tip, tree, up};
use crate::support::world::{Repo, World, text, wait_for, write};

/// A pointer file of git-lfs for this content, and the path of its object in a git directory.
fn pointer(content: &str) -> (String, String) {
    let oid = Digest::of(content.as_bytes()).to_string();
    let file = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {}\n", content.len());
    (file, format!("lfs/objects/{}/{}/{oid}", &oid[..2], &oid[2..4]))
}

/// The program of git-lfs as far as these tests need it: a clone gets what it lacks from its source.
const LFS: &str = r#"git_dir=$(git rev-parse --path-format=absolute --git-common-dir)
file=$(mktemp)
cat > "$file"
path() { echo "lfs/objects/$(echo "$1" | cut -c1-2)/$(echo "$1" | cut -c3-4)/$1"; }
case $1 in
smudge)
    path=$(path "$(sed -n 's/^oid sha256://p' "$file")")
    cat "$git_dir/$path" 2> /dev/null || cat "$(git config shopfloor.source)/.git/$path" ;;
clean)
    if grep -q '^oid sha256:' "$file"; then cat "$file"; exit; fi
    oid=$(sha256sum < "$file" | cut -c1-64)
    mkdir -p "$(dirname "$git_dir/$(path "$oid")")"
    cp "$file" "$git_dir/$(path "$oid")"
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %s\n' "$oid" $(($(wc -c < "$file"))) ;;
esac"#;

/// A floor with the worker adam, on which git-lfs handles `*.bin` and the source has something else checked out.
fn lfs_floor(w: &World) -> Floor<'_> {
    let floor = Floor::new(w);
    floor.app.commit(".gitattributes", "*.bin filter=lfs\n");
    floor.app.git(&["switch", "-q", "-c", "desk"]);
    floor.ctl(&["add", "adam"]).succeeds();
    up(&floor, &["adam"]);
    floor
}

#[test]
fn the_source_gets_the_git_lfs_objects_of_work_that_lands() {
    let w = World::new();
    let floor = lfs_floor(&w);
    let [(first, first_at), (second, second_at)] = ["one", "two"].map(pointer);
    floor.root.write(&format!(".git/{first_at}"), "one");
    floor.root.write(&format!(".git/{second_at}"), "two");
    by_hand(&floor, "adam", &[("a name.bin", &first), ("a name.bin", &second)]);
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_eq!(floor.app.git(&["show", "main:a name.bin"]), second);
    assert_eq!(floor.app.read(&format!(".git/{second_at}")), "two");
    assert!(!floor.app.has(&format!(".git/{first_at}")), "only the landed tree's objects are needed");
    // Its history names the others.
    floor.ctl(&["nuke", "adam", "--yes"]).succeeds();
    floor.ctl(&["deinit", "--yes"]).succeeds();
    assert_eq!(floor.app.read(&format!(".git/{first_at}")), "one");
    assert_eq!(floor.app.read(&format!(".git/{second_at}")), "two");
    // The floor ends its sessions there.
    std::fs::create_dir(&floor.root.path).unwrap();
}

#[test]
fn work_without_its_git_lfs_object_does_not_land() {
    let w = World::new();
    let floor = lfs_floor(&w);
    let (file, object) = pointer("one");
    by_hand(&floor, "adam", &[("b.bin", &file)]);
    let old = tip(&floor);
    let refused = |how: &[&str], exit: i32, why: &str| {
        floor.ctl(&[&["accept", "adam"], how].concat()).exit(exit).err_has(why);
        assert_eq!(tip(&floor), old, "{why}");
        assert!(!floor.app.has(&format!(".git/{object}")), "{why}");
    };
    let lost = "neither the clone nor the source has the git-lfs object of b.bin";
    refused(&[], 1, lost);
    refused(&["--force"], 1, lost);
    refused(&["-n"], 1, lost);
    let error = floor.ctl(&["accept", "adam", "--json"]).exit(1).json();
    assert_eq!(text(&error, "/error/kind"), "lfs");
    // Another content than its name says.
    floor.root.write(&format!(".git/{object}"), "two");
    refused(&[], 1, "is damaged");
    // Nothing is read through a link.
    let elsewhere = w.home("elsewhere");
    write(&elsewhere.join(&object), "one");
    for dir in [".git/lfs/objects", ".git/lfs"] {
        std::fs::remove_dir_all(floor.root.path.join(dir)).unwrap();
        let target = elsewhere.join(dir.trim_start_matches(".git/"));
        std::os::unix::fs::symlink(target, floor.root.path.join(dir)).unwrap();
        refused(&[], 4, &format!("{dir} is not a file"));
        std::fs::remove_file(floor.root.path.join(dir)).unwrap();
        std::fs::create_dir(floor.root.path.join(dir)).unwrap();
    }
    // The source has it, wherever its store is.
    let store = w.home("store");
    floor.app.git(&["config", "lfs.storage", store.to_str().unwrap()]);
    floor.root.write(&format!(".git/{object}"), "one");
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_eq!(std::fs::read_to_string(store.join(object.trim_start_matches("lfs/"))).unwrap(), "one");
}

#[test]
fn pointers_that_need_no_object_land() {
    let w = World::new();
    let floor = Floor::new(&w);
    // The source has never fetched this object, and where git-lfs is installed it is not to.
    floor.app.commit(".lfsconfig", "[lfs]\n\tfetchexclude = *\n");
    floor.app.commit("old.bin", &pointer("old").0);
    floor.app.commit(".gitattributes", "*.bin filter=lfs\n");
    floor.ctl(&["add", "adam"]).succeeds();
    up(&floor, &["adam"]);
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    let adam = tree(&floor, "adam");
    adam.git(&["mv", "old.bin", "new.bin"]);
    adam.commit("fixture.txt", &pointer("nowhere").0);
    floor.until("adam", "needs_review");
    floor.ctl(&["accept", "adam"]).succeeds();
    assert!(floor.app.has("new.bin") && floor.app.has("fixture.txt"));
}

#[test]
fn a_checkout_of_the_branch_gets_the_contents_or_stays_as_it_is() {
    let mut w = World::new();
    w.program("test-lfs", LFS);
    let config = w.home("gitconfig");
    write(&config, "[filter \"lfs\"]\nclean = test-lfs clean\nsmudge = test-lfs smudge\nrequired = true\n");
    w.set("GIT_CONFIG_GLOBAL", config.to_str().unwrap());
    let floor = Floor::new(&w);
    floor.app.commit(".gitattributes", "*.bin filter=lfs\n");
    floor.app.commit("a.bin", "old");
    floor.ctl(&["add", "adam"]).succeeds();
    up(&floor, &["adam"]);
    let (file, object) = pointer("new");
    by_hand(&floor, "adam", &[("README.md", "more\n"), ("a.bin", &file)]);
    let old = tip(&floor);
    floor.ctl(&["accept", "adam"]).exit(1).err_has("the git-lfs object of a.bin");
    assert_eq!((tip(&floor), floor.app.git(&["status", "--porcelain"])), (old, String::new()));
    assert_eq!(floor.app.read("a.bin") + &floor.app.read("README.md"), "oldapp\n");
    floor.root.write(&format!(".git/{object}"), "new");
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_eq!(floor.app.read("a.bin") + &floor.app.read("README.md"), "newmore\n");
    assert_eq!(floor.app.git(&["status", "--porcelain"]), "");
}

/// Runs `git submodule`, which may clone from this machine.
fn submodule(at: &Repo<'_>, args: &[&str]) {
    at.git(&[&["-c", "protocol.file.allow=always", "submodule", "--quiet"], args].concat());
}

#[test]
fn a_commit_of_a_submodule_that_only_its_worker_has_does_not_land() {
    let w = World::new();
    let floor = Floor::new(&w);
    let lib = w.repo("lib");
    lib.commit("file", "1\n");
    submodule(&floor.app, &["add", lib.path.to_str().unwrap(), "lib"]);
    floor.app.git(&["commit", "-q", "-m", "Add lib"]);
    floor.ctl(&["add", "adam"]).succeeds();
    up(&floor, &["adam"]);
    let adam = tree(&floor, "adam");
    submodule(&adam, &["update", "--init"]);
    let inner = w.at(adam.path.join("lib"));
    let bump = |text: &str| {
        floor.ctl(&["start", "--prompt", "think"]).succeeds();
        inner.commit("file", text);
        adam.git(&["commit", "-q", "-a", "-m", "Change lib"]);
        floor.until("adam", "needs_review");
    };
    bump("2\n");
    let (old, sha) = (tip(&floor), head(&inner));
    for how in [&[][..], &["--force"], &["-n"]] {
        floor.ctl(&[&["accept", "adam"], how].concat()).exit(1).err_has(&format!("only adam has the commit {sha}"));
    }
    // Without its .git file, too.
    std::fs::rename(inner.path.join(".git"), w.home("aside")).unwrap();
    let error = floor.ctl(&["accept", "adam", "--json"]).exit(1).json();
    std::fs::rename(w.home("aside"), inner.path.join(".git")).unwrap();
    assert_eq!((text(&error, "/error/kind"), tip(&floor)), ("submodule", old));
    assert_eq!(floor.app.git(&["status", "--porcelain"]), "");
    // What the hint says is enough.
    let command = text(&error, "/error/hints/0").split('`').nth(1).unwrap().to_owned();
    floor.app.sh(&command).exit(0).any_err();
    floor.ctl(&["accept", "adam"]).succeeds();
    submodule(&floor.app, &["update"]);
    assert_eq!(floor.app.read("lib/file"), "2\n");
    // A commit that was pushed is elsewhere.
    bump("3\n");
    inner.git(&["push", "-q", "origin", "HEAD:refs/heads/adam"]);
    floor.ctl(&["accept", "adam"]).succeeds();
    submodule(&floor.app, &["update"]);
    assert_eq!(floor.app.read("lib/file"), "3\n");
}

#[test]
fn a_stash_is_the_work_of_the_worker_that_made_it() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    let eve = tree(&floor, "eve");
    eve.write("only.txt", "eves\n");
    eve.git(&["-c", "core.hooksPath=/dev/null", "stash", "-q", "--include-untracked"]);
    let sha = eve.git(&["rev-parse", "refs/stash"]).trim_end().to_owned();
    eve.write("README.md", "eves\n");
    eve.git(&["-c", "core.hooksPath=/dev/null", "stash", "push", "-q", "-m", "mine"]);
    let list = eve.git(&["stash", "list"]);
    let note = "it has 2 in `git stash list`, which all workers share";
    assert_eq!(floor.status("eve")["notes"], serde_json::json!([note]));
    assert_eq!(floor.status("adam")["notes"], serde_json::json!([]));
    floor.ctl(&["status"]).exit(0).out_has(note);
    for args in [&["reset", "eve"][..], &["nuke", "eve", "--yes"], &["nuke", "--all", "--yes"]] {
        floor.ctl(args).exit(1).err_has("stash WIP on worker/eve: ").err_has("stash On worker/eve: mine");
    }
    floor.ctl(&["deinit", "--yes"]).exit(1).any_err();
    floor.ctl(&["reset", "adam"]).succeeds();
    // They are kept once, and stay in git's list.
    let output: String = floor.ctl(&["reset", "eve", "--force"]).exit(0).any_err().stdout.into();
    ref_with(&floor, &output, &sha);
    assert_eq!(eve.git(&["stash", "list"]), list);
    floor.ctl(&["reset", "eve"]).succeeds();
    floor.ctl(&["nuke", "eve", "--yes"]).succeeds();
    assert_eq!(floor.root.git(&["show", &format!("{sha}^3:only.txt")]), "eves\n");
    // A worker is told not to make one.
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
    wait_for(|| floor.prompts().iter().any(|prompt| prompt.contains("Do not use `git stash`")));
}

#[test]
fn a_worktree_on_the_branch_of_a_lost_one_stays_its_own_workers() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam", "eve"]);
    up(&floor, &["adam"]);
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    let before = text(&floor.status("adam"), "/worktree").to_owned();
    floor.app.git(&["worktree", "remove", "--force", "../adam"]);
    tree(&floor, "eve").git(&["switch", "-q", "feature/adam"]);
    floor.app.run("worker-ctl", &["add", "--worktree", "../eve"]).exit(1).err_has("is the worker eve already");
    assert_eq!(text(&floor.status("adam"), "/worktree"), before);
}
