//! worker-ctl: a directory at the place of a submodule is nobody's to empty, in a person's checkout or in a worktree.

use crate::support::floor::Floor;
use crate::support::worker::{LATER, commit, head, staff, tip, tree};
use crate::support::world::{Repo, World, text};

/// Gives adam a task that these commands in his worktree finish with one commit.
fn work_of<'w>(floor: &Floor<'w>, commands: &str) -> Repo<'w> {
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    let adam = tree(floor, "adam");
    adam.sh(&format!("{commands} && git commit -q -m 'Change it'")).exit(0).any_err();
    floor.until("adam", "needs_review");
    adam
}

/// A gitlink that names no commit that anybody has.
const LINK: &str = "160000,1234567890123456789012345678901234567890";

#[test]
fn accept_empties_no_directory_of_a_persons() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.app.commit(".gitignore", "data/\n");
    floor.app.write("data/key", "precious\n");
    floor.app.write("notes/deep/n", "mine\n");
    // The first work lands beside the directories, the second would take their place.
    let links = format!("git update-index --add --cacheinfo {LINK},data --cacheinfo {LINK},notes/deep");
    let adam = work_of(&floor, &format!("{links} && mkdir -p data notes/deep"));
    floor.ctl(&["accept", "adam"]).succeeds().any_err();
    assert_eq!(floor.app.read("data/key") + &floor.app.read("notes/deep/n"), "precious\nmine\n");
    for (path, from) in [("data", "data"), ("notes", "notes/deep")] {
        let old = tip(&floor);
        work_of(
            &floor,
            &format!("rm -rf {path} && git update-index --force-remove {from} && echo x > {path} && git add -f {path}"),
        );
        floor.ctl(&["accept", "adam"]).exit(1).err_has(&format!("{from} would be emptied")).err_has("mv ");
        assert_eq!(floor.app.read("data/key") + &floor.app.read("notes/deep/n"), "precious\nmine\n");
        assert_eq!((tip(&floor), text(&floor.status("adam"), "/status")), (old.clone(), "needs_review"));
        floor.ctl(&["reset", "adam", "--force"]).exit(0).any_out();
        assert_eq!(head(&adam), old);
    }
    // Out of the way, it lands.
    work_of(&floor, "rmdir data && git update-index --force-remove data && echo x > data && git add -f data");
    floor.app.sh("mv data ../data.kept").exit(0);
    floor.ctl(&["accept", "adam"]).succeeds().any_err();
    assert_eq!(floor.app.read("data"), "x\n");
}

/// git takes away what it ignores where a directory comes.
#[test]
fn no_ignored_file_goes_where_a_directory_comes() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    commit(&adam, "Work", &["d/f"], "one\n");
    app.commit(".gitignore", "d\n");
    let old = tip(&floor);
    for file in ["echo mine > d", "ln -s nowhere d"] {
        app.sh(file).exit(0);
        floor.ctl(&["accept", "adam"]).exit(1).any_out().err_has("/d would be lost: a directory comes").err_has("mv ");
        app.sh("rm d").exit(0);
        assert_eq!(tip(&floor), old);
    }
    for (file, text, command) in [
        ("MERGE_HEAD", old.as_str(), "merge"),
        ("CHERRY_PICK_HEAD", old.as_str(), "cherry-pick"),
        ("REVERT_HEAD", old.as_str(), "revert"),
        ("sequencer/todo", "pick 1234567 Next", "cherry-pick"),
        ("sequencer/todo", "revert 1234567 Next", "revert"),
        ("rebase-apply/applying", "", "am"),
    ] {
        app.write(&format!(".git/{file}"), &format!("{text}\n"));
        let refused = floor.ctl(&["accept", "adam"]).exit(1).any_out();
        refused.err_has(&format!("`git {command}` is under way in")).err_has(&format!("{command} --abort`"));
        app.sh(&format!("rm -r .git/{}", file.split('/').next().unwrap())).exit(0);
    }
    assert_eq!(tip(&floor), old);
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!(app.read("d/f"), "one\n");
    // In a worker's worktree, too.
    adam.git(&["rm", "-qr", "d"]);
    adam.run_with("git", &["commit", "-qm", "Take it out"], &LATER).exit(0);
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    app.sh("mkdir d && echo two > d/f && git add -f d && git commit -qm again").exit(0);
    commit(&adam, "Other", &["other"], "x\n");
    adam.write("d", "mine\n");
    let refused = floor.ctl(&["accept", "adam"]).exit(1).any_out();
    refused.err_has("adam/d would be lost: a directory comes in its place").err_has("adam-d.kept`");
    assert_eq!(adam.read("d"), "mine\n");
}

#[test]
fn a_repository_that_git_does_not_take_for_one_is_kept_as_a_whole() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    for (name, command) in [("adam", "reset"), ("eve", "nuke")] {
        let at = tree(&floor, name);
        at.sh(
            "git init -q -b main in/lib && cd in/lib && echo a > a && git add a && git commit -q -m a && rm .git/HEAD",
        )
        .exit(0);
        assert!(at.git(&["status", "--porcelain", "--untracked-files=all"]).contains("?? in/lib/a"));
        let args = if command == "nuke" { vec![command, name, "--yes"] } else { vec![command, name] };
        floor.ctl(&args).exit(1).err_has("in/lib/");
        let kept = floor.ctl(&[&args[..], &["--force"]].concat()).exit(0).any_err().stdout.clone();
        let dir = kept.lines().find(|line| line.starts_with('/')).unwrap_or_else(|| panic!("{kept}"));
        let below = if command == "nuke" { "worktree/in/lib" } else { "in/lib" };
        assert!(std::path::Path::new(dir).join(below).join(".git/objects").is_dir(), "{kept}");
    }
}

#[test]
fn no_rebase_of_ours_empties_a_submodule_of_a_worker() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.app.sh("git init -q -b main inner && cd inner && git commit -q --allow-empty -m inner && cd .. && git add inner && git commit -q -m 'Add it'").exit(0).any_err();
    floor.ctl(&["reset", "adam"]).exit(0).any_out();
    let adam = work_of(&floor, "echo a > a.txt && git add a.txt");
    adam.sh(&format!("git clone -q '{}/inner' inner && echo precious > inner/new", floor.app.path.display()))
        .exit(0)
        .any_err();
    floor.app.sh("git rm -qf --cached inner && mv inner ../inner.kept && echo x > inner && git add inner && git commit -q -m 'A file'").exit(0);
    let old = head(&adam);
    floor.ctl(&["patrol"]).succeeds().any_err();
    floor.ctl(&["rebase", "adam"]).exit(1).err_has("inner would be emptied");
    assert_eq!((head(&adam), adam.read("inner/new")), (old, "precious\n".to_owned()));
}

#[test]
fn reset_keeps_a_repository_that_was_committed_in_the_place_of_a_file() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    work_of(
        &floor,
        "git rm -qf README.md && git init -q -b main README.md && \
         (cd README.md && echo work > lib.c && git add lib.c && git commit -q -m Work) && git add README.md",
    );
    let kept = floor.ctl(&["reset", "adam", "--force"]).exit(0).any_err().stdout.clone();
    let dir = kept.lines().find(|line| line.starts_with('/')).unwrap_or_else(|| panic!("{kept}"));
    assert_eq!(std::fs::read_to_string(format!("{dir}/README.md/lib.c")).unwrap(), "work\n");
    assert_eq!(tree(&floor, "adam").read("README.md"), "app\n");
}

#[test]
fn a_worktree_in_an_ignored_directory_of_a_worker_outlives_it() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    adam.sh("echo '*.ign' >> $(git rev-parse --git-path info/exclude) && mkdir x.ign && git worktree add -q x.ign/n -b nn && echo work > x.ign/n/p").exit(0);
    for line in ["true", "rm \"$(git -C x.ign/n rev-parse --git-dir)/gitdir\""] {
        adam.sh(line).exit(0);
        floor.ctl(&["nuke", "adam", "--yes"]).exit(1).any_out().err_has("x.ign/n");
        floor.ctl(&["deinit", "--yes"]).exit(1).any_out().any_err();
        assert_eq!(adam.read("x.ign/n/p"), "work\n", "{line}");
    }
}
