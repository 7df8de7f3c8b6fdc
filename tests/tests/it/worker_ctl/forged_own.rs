//! worker-ctl in the person's own repository, of which an agent writes all but the configuration and the hooks.

use crate::support::floor::Floor;
use crate::support::spawn::{state, subtree};
use crate::support::worker::{head, refused, tip, tree, up, work};
use crate::support::world::{Repo, World, which, write};

/// A worktree of the person's own, with a commit that no other branch has and with a file that is not committed.
fn persons<'w>(app: &Repo<'w>) -> Repo<'w> {
    app.git(&["worktree", "add", "-q", "-b", "pers", "../pers"]);
    let pers = app.world.at(app.path.with_file_name("pers"));
    pers.commit("own", "own\n");
    pers.write("draft", "hours of work\n");
    pers
}

#[test]
fn a_replaced_object_and_attributes_change_no_review() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    adam.commit("tool", "evil\n");
    adam.sh("git replace $(git rev-parse HEAD:tool) $(echo nice | git hash-object -w --stdin)").exit(0);
    app.write(".git/info/attributes", "* -diff merge=union\n");
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    floor.ctl(&["start", "adam", "--task", "x"]).exit(1).any_err();
    // The work that is there waits once it is adopted anew.
    floor.ctl(&["nuke", "adam", "--yes"]).exit(0).any_out();
    app.run("worker-ctl", &["add", "adam", "--worktree", "../adam"]).succeeds().any_err();
    floor.ctl(&["review", "adam"]).exit(0).any_err().out_has("+evil");
    app.commit("tool", "another\n");
    let old = tip(&floor);
    floor.ctl(&["accept", "adam"]).exit(1).any_out().any_err();
    assert_eq!(tip(&floor), old);
}

#[test]
fn a_pipe_in_the_place_of_a_log_holds_nobody_up() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    for log in ["events.jsonl", "adam.log"] {
        floor.root.sh(&format!("rm -f logs/{log} && mkfifo logs/{log}")).exit(0);
        tree(&floor, "adam").commit(log, "x\n");
        for (command, says) in [("patrol", log), ("events", "")] {
            let out = floor.root.sh(&format!("timeout 60 worker-ctl {command}")).any_status().any_out();
            assert_ne!(out.status, Some(124), "{log}");
            out.err_has(says);
        }
        floor.root.sh(&format!("rm logs/{log}")).exit(0);
    }
    assert_eq!(floor.status("adam")["commit_sha"], head(&tree(&floor, "adam")));
}

#[test]
fn attributes_beside_the_commits_hide_no_change_from_a_removal() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    adam.write("README.md", "app\r\n");
    app.write(".git/info/attributes", "* text\n");
    floor.ctl(&["nuke", "adam", "--worktree", "--yes"]).exit(1).err_has("README.md");
    assert_eq!(adam.read("README.md"), "app\r\n");
    let good: String = app.spawn(&["subtree", "good"]).exit(0).any_err().stdout.into();
    let good = w.at(good.trim_end());
    good.write("README.md", "app\r\n");
    app.spawn(&["remove", "good"]).exit(1).any_out().err_has("README.md");
    app.spawn(&["gc"]).exit(0).any_out().any_err();
    assert_eq!(good.read("README.md"), "app\r\n");
}

#[test]
fn a_ref_of_ours_that_names_another_ref_changes_nothing_there() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    let pers = persons(app);
    let own = head(&pers);
    up(&floor, &["adam"]);
    work(&floor, "adam", "COMMIT f one First");
    for kind in ["review", "pre", "accept"] {
        app.write(&format!(".git/refs/shopfloor/{kind}/adam"), "ref: refs/heads/pers\n");
    }
    floor.ctl(&["review", "adam"]).exit(4).any_out().err_has("names another ref");
    floor.ctl(&["patrol"]).any_status().any_out().any_err();
    floor.ctl(&["nuke", "adam", "--yes"]).any_status().any_out().any_err();
    assert_eq!((head(&pers), app.git(&["rev-parse", "pers"])), (own.clone(), format!("{own}\n")));
    // Nor through the link of a log, or a branch that is another's name.
    app.sh("rm -rf .git/refs/shopfloor .git/logs/refs/shopfloor").exit(0);
    let victim = w.home("victim");
    std::fs::create_dir_all(app.path.join(".git/logs/refs/shopfloor/review")).unwrap();
    std::os::unix::fs::symlink(&victim, app.path.join(".git/logs/refs/shopfloor/review/eve")).unwrap();
    std::fs::write(&victim, "mine\n").unwrap();
    app.git(&["worktree", "add", "-q", "-b", "eve", "../eve"]);
    let eve = w.at(app.path.with_file_name("eve"));
    eve.commit("e", "e\n");
    app.run("worker-ctl", &["add", "eve", "--worktree", "../eve"]).succeeds().any_err();
    floor.ctl(&["review", "eve"]).exit(4).any_out().err_has("is not a file");
    app.write(".git/refs/heads/eve", "ref: refs/heads/pers\n");
    floor.ctl(&["reset", "eve", "--yes", "--force"]).any_status().any_out().any_err();
    assert_eq!((head(&pers), std::fs::read_to_string(&victim).unwrap()), (own, "mine\n".to_owned()));
}

#[test]
fn a_ref_in_the_place_of_a_directory_of_our_refs_is_named_with_what_removes_it() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    up(&floor, &["adam"]);
    work(&floor, "adam", "COMMIT f one First");
    let remove = |name: &str| format!("update-ref --no-deref -d {name}`");
    for name in ["refs/shopfloor", "refs/shopfloor/review", "refs/shopfloor/review/adam/x"] {
        for pack in ["true", "git pack-refs --all"] {
            app.sh(&format!("git update-ref {name} HEAD && {pack}")).exit(0);
            floor.ctl(&["review", "adam"]).exit(4).any_out().err_has(&remove(name));
            assert_eq!(refused(&floor, &["review", "adam"], 4), "tampered", "{name}");
            app.git(&["update-ref", "--no-deref", "-d", name]);
        }
    }
    let lock = ".git/refs/shopfloor/review/adam.lock";
    app.write(lock, "");
    floor.ctl(&["review", "adam"]).exit(4).any_out().err_has(&format!("{lock}`"));
    app.sh(&format!("rm {lock}")).exit(0);
    floor.ctl(&["review", "adam"]).exit(0).any_out().any_err();
    let child = subtree(app, &["a"]);
    child.write("draft", "mine\n");
    app.git(&["update-ref", "refs/shopfloor/trash/main.a", "HEAD"]);
    app.spawn(&["remove", "a", "--force"]).exit(4).any_out().err_has(&remove("refs/shopfloor/trash/main.a"));
    assert_eq!(child.read("draft"), "mine\n");
}

#[test]
fn a_worker_is_not_moved_onto_another_worktree() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    // git lists the newest record first or last.
    app.git(&["worktree", "add", "-q", "--detach", "../aa"]);
    let pers = persons(app);
    app.git(&["worktree", "add", "-q", "--detach", "../zz"]);
    let before = pers.snapshot();
    app.sh(&format!(
        "rm -rf ../adam .git/worktrees/adam && for at in aa zz; do \
         echo {}/.git > .git/worktrees/$at/gitdir && echo ref: refs/heads/feature/adam > .git/worktrees/$at/HEAD; done",
        pers.path.display()
    ))
    .exit(0);
    floor.ctl(&["patrol"]).any_status().any_out().any_err();
    // It may be forgotten, because its worktree is gone.
    let status: String = floor.ctl(&["status", "--json"]).exit(0).any_err().stdout.into();
    assert!(!status.contains(pers.path.to_str().unwrap()), "{status}");
    floor.ctl(&["reset", "adam", "--force", "--yes"]).any_status().any_out().any_err();
    app.write(".git/refs/heads/pers", "ref: refs/heads/feature/adam\n");
    floor.ctl(&["patrol"]).any_status().any_out().any_err();
    floor.ctl(&["nuke", "adam", "--worktree", "--force", "--yes"]).any_status().any_out().any_err();
    pers.assert_untouched_since(&before);
}

#[test]
fn a_worktree_that_says_it_is_the_main_checkout_is_refused() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    app.write("README.md", "staged\n");
    app.git(&["add", "README.md"]);
    let (old, staged) = (tip(&floor), app.git(&["diff", "--cached"]));
    adam.write(".git", &format!("gitdir: {}\n", app.path.join(".git").display()));
    for record in [true, false] {
        if !record {
            app.sh("rm -r .git/worktrees/adam").exit(0);
        }
        floor.ctl(&["reset", "adam", "--force", "--yes"]).exit(4).any_out().err_has("does not lead to");
        assert_eq!((tip(&floor), app.git(&["diff", "--cached"])), (old.clone(), staged.clone()));
        assert_eq!(app.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    }
}

#[test]
fn no_hook_runs_where_an_agent_may_have_written_what_it_runs() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam", "eve"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    app.write(".git/hooks/post-merge", "#!/bin/sh\n[ ! -f post.sh ] || sh post.sh\n");
    app.sh("chmod +x .git/hooks/post-merge && git switch -q -c topic").exit(0);
    // Another worker's agent says that it has the branch on which the work lands.
    let other = tree(&floor, "eve");
    app.write(".git/worktrees/eve/HEAD", "ref: refs/heads/main\n");
    other.write("post.sh", "touch ../ran\n");
    adam.commit("f", "f\n");
    floor.ctl(&["nuke", "adam", "--yes"]).exit(0).any_out();
    app.run("worker-ctl", &["add", "adam", "--worktree", "../adam"]).succeeds().any_err();
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!((other.read("f"), app.path.with_file_name("ran").exists()), ("f\n".into(), false));
}

#[test]
fn commits_that_land_as_they_are_are_each_reviewed() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    app.git(&["worktree", "add", "-q", "-b", "feat", "../feat"]);
    let feat = w.at(app.path.with_file_name("feat"));
    feat.commit("one", "1\n");
    let second = "echo 2 > two; git add two; GIT_COMMITTER_NAME='Some Body' git commit -q -m Second -m 'its body'";
    feat.sh(second).exit(0);
    app.run("worker-ctl", &["add", "feat", "--worktree", "../feat", "--land", "commits"]).succeeds().any_err();
    let floor = Floor::of(app, &w);
    let app = &floor.app;
    app.git(&["config", "format.pretty", "oneline"]);
    let shown = floor.ctl(&["review", "feat"]).exit(0).any_err();
    shown.out_has("its body").out_has("Commit:     Some Body").out_has("+1\n").out_has("+2\n");
    // The same in the end, with the same messages, and something else in between.
    let first = feat.git(&["log", "-1", "--format=%B", "HEAD~"]);
    feat.sh(&format!(
        "git reset -q --hard main && echo 1 > one && echo evil > evil && git add . && git commit -q -m '{}' && \
         git rm -q evil && echo 2 > two && git add two && git commit -q -m Second -m 'its body'",
        first.trim()
    ))
    .exit(0)
    .any_out();
    let old = tip(&floor);
    floor.ctl(&["accept", "feat"]).exit(1).any_out().any_err();
    assert_eq!(tip(&floor), old);
    floor.ctl(&["review", "feat"]).exit(0).any_err().out_has("+evil");
    floor.ctl(&["accept", "feat"]).exit(0).any_out().any_err();
    // Nor do they after a review of the whole.
    app.git(&["worktree", "add", "-q", "-b", "eve", "../eve"]);
    w.at(app.path.with_file_name("eve")).commit("e", "e\n");
    // Nor does a journal of a spawn that nobody began keep it from being adopted.
    write(&state(app, "journal/abc.json"), "{\"id\":\"eve\"}");
    app.run("worker-ctl", &["add", "--worktree", "../eve"]).succeeds().any_err();
    // One that worktree-spawn makes is refused until its spawn is over, also once it has files.
    let half = app.spawn(&["subtree", "half"]).exit(0).any_err().stdout.trim().to_owned();
    write(&state(app, "journal/abd.json"), "{\"id\":\"main.half\"}");
    app.run("worker-ctl", &["add", "--worktree", &half]).exit(1).err_has("is under way, or was killed");
    floor.ctl(&["review", "eve"]).exit(0).any_out().any_err();
    floor.ctl(&["accept", "eve", "--land", "commits"]).exit(2).err_has("was reviewed as one commit");
    floor.ctl(&["accept", "eve"]).exit(0).any_out().any_err();
}

#[test]
fn no_object_lands_that_is_not_what_its_name_says() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam", "eve"]);
    let app = &floor.app;
    let file = |name: &str, path: &str| {
        let sha = app.git(&["rev-parse", &format!("feature/{name}:{path}")]);
        app.path.join(format!(".git/objects/{}/{}", &sha[..2], sha[2..].trim()))
    };
    // What killed commands have left goes as well.
    let indexes = w.home(".local/state/shopfloor/git");
    for left in [floor.root.path.join("locks/.shopfloor-tmp-old"), indexes.join(".shopfloor-tmp-old")] {
        app.sh(&format!("mkdir -p '{0}' && touch -d yesterday '{0}'", left.display())).exit(0);
    }
    for (name, land) in [("adam", "squash"), ("eve", "commits")] {
        let at = tree(&floor, name);
        at.git(&["reset", "-q", "--hard", "main"]);
        at.commit(name, &format!("evil {name}\n"));
        at.commit("nice", &format!("nice {name}\n"));
        floor.ctl(&["nuke", name, "--yes"]).exit(0).any_out();
        let path = format!("../{name}");
        app.run("worker-ctl", &["add", name, "--worktree", &path, "--land", land]).succeeds().any_err();
        let (evil, nice, kept) = (file(name, name), file(name, "nice"), app.path.join("../kept"));
        std::fs::rename(&evil, &kept).unwrap();
        std::fs::copy(&nice, &evil).unwrap();
        let shown = floor.ctl(&["review", name]).exit(0).any_err().stdout.clone();
        assert!(!shown.contains("+evil"));
        let old = tip(&floor);
        floor.ctl(&["accept", name]).exit(4).any_out().err_has("is not what its name says").err_has("fsck");
        assert_eq!(tip(&floor), old);
        // The right one comes back once it was reviewed.
        std::fs::rename(&kept, &evil).unwrap();
        floor.ctl(&["accept", name]).exit(1).any_out().any_err();
        assert_eq!(tip(&floor), old);
        floor.ctl(&["review", name]).exit(0).any_err().out_has("+evil");
        floor.ctl(&["accept", name]).exit(0).any_out().any_err();
        let left = floor.root.sh("find locks -mindepth 1 -type d").exit(0).stdout.clone();
        assert_eq!(left, "");
        assert_eq!(std::fs::read_dir(&indexes).unwrap().count(), 0);
    }
}

/// git takes objects from wherever a list or a link leads: from what a removal deletes, too.
#[test]
fn nothing_lands_or_goes_while_objects_lie_where_a_removal_deletes() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam", "eve"]);
    let app = &floor.app;
    app.spawn(&["subtree", "good"]).exit(0).any_out().any_err();
    for (name, hide, says, mend) in [
        (
            "adam",
            "echo $D > $C/objects/info/alternates && \
             export GIT_OBJECT_DIRECTORY=$D GIT_ALTERNATE_OBJECT_DIRECTORIES=$C/objects",
            "repack -A -d",
            "git -C .git repack -q -A -d && rm .git/objects/info/alternates",
        ),
        (
            "eve",
            "mv $C/objects/pack $D && ln -s $D/pack $C/objects/pack",
            "cp -rL",
            "cd .git/objects && cp -rL pack copy && rm pack && mv copy pack",
        ),
    ] {
        tree(&floor, name)
            .sh(&format!(
                "C=$(git rev-parse --path-format=absolute --git-common-dir) D=$(git rev-parse --absolute-git-dir)/store && \
                 mkdir $D && {hide} && echo x > {name} && git add {name} && git commit -qm {name}"
            ))
            .exit(0);
        floor.ctl(&["nuke", name, "--yes"]).exit(0).any_out().any_err();
        app.run("worker-ctl", &["add", name, "--worktree", &format!("../{name}")]).succeeds().any_err();
        let old = tip(&floor);
        floor.ctl(&["accept", name]).exit(4).any_out().err_has(says);
        floor.ctl(&["nuke", name, "--worktree", "--force", "--yes"]).exit(4).any_out().err_has(says);
        app.spawn(&["remove", "good"]).exit(4).any_out().err_has(says);
        assert_eq!(tip(&floor), old);
        app.sh(mend).exit(0).any_err();
        floor.ctl(&["accept", name]).exit(0).any_out().any_err();
        floor.ctl(&["nuke", name, "--worktree", "--yes"]).exit(0).any_out().any_err();
        app.git(&["fsck", "--no-dangling"]);
    }
    app.spawn(&["remove", "good"]).exit(0).any_out().any_err();
}

#[test]
fn a_repository_inside_of_a_worktree_outlives_a_reset() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    adam.sh("git init -q inner && cd inner && echo work > f && git add f && git commit -q -m f").exit(0);
    floor.ctl(&["reset", "adam", "--force", "--yes"]).exit(0).any_out().any_err();
    let kept = floor.root.sh("find trash -name f").exit(0).stdout.clone();
    assert_eq!((floor.root.read(kept.trim()), adam.has("inner")), ("work\n".into(), false));
}

#[test]
fn a_name_in_between_makes_other_work() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    app.git(&["worktree", "add", "-q", "-b", "feat", "../feat"]);
    let feat = w.at(app.path.with_file_name("feat"));
    let work = |name: &str| {
        let line = format!(
            "git reset -q --hard main && echo payload > {name} && git add . && git commit -qm First && \
             git mv {name} last && git commit -qm Second"
        );
        feat.sh(&line).exit(0);
    };
    work("harmless");
    app.run("worker-ctl", &["add", "feat", "--worktree", "../feat", "--land", "commits"]).succeeds().any_err();
    let floor = Floor::of(app, &w);
    floor.ctl(&["review", "feat"]).exit(0).any_out().any_err();
    floor.app.commit("other", "other\n");
    let old = tip(&floor);
    work("conftest.py");
    floor.ctl(&["patrol"]).any_status().any_out().any_err();
    floor.ctl(&["accept", "feat"]).exit(1).any_out().any_err();
    assert_eq!(tip(&floor), old);
}

#[test]
fn attributes_in_the_git_directory_hide_nothing_from_a_review() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    adam.commit("tool", "evil\n");
    app.write(".git/.gitattributes", "* -diff\n");
    floor.ctl(&["nuke", "adam", "--yes"]).exit(0).any_out();
    app.run("worker-ctl", &["add", "adam", "--worktree", "../adam"]).succeeds().any_err();
    floor.ctl(&["review", "adam"]).exit(0).any_err().out_has("+evil");
    // Nor those of a file that the configuration names, and no list for the order of a diff holds one up.
    let (attributes, order) = (w.home("attributes"), w.home("order"));
    write(&attributes, "* -diff\n");
    app.git(&["config", "core.attributesFile", attributes.to_str().unwrap()]);
    app.git(&["config", "diff.orderFile", order.to_str().unwrap()]);
    app.git(&["config", "diff.default.binary", "true"]);
    app.sh(&format!("mkfifo {}", order.display())).exit(0);
    floor.ctl(&["review", "adam"]).exit(0).any_err().out_has("+evil").out_has("tool | 1 +");
}

/// Each commit lands as it is, and has to be seen.
#[test]
fn grafts_hide_no_commit_from_a_review() {
    let w = World::new();
    let app = w.app();
    app.git(&["worktree", "add", "-q", "../adam"]);
    app.run("worker-ctl", &["add", "adam", "--worktree", "../adam", "--land", "commits"]).succeeds().any_err();
    let adam = w.at(app.path.with_file_name("adam"));
    let floor = Floor::of(app, &w);
    adam.commit("hidden", "evil\n");
    adam.git(&["rm", "-q", "hidden"]);
    adam.git(&["commit", "-qm", "Remove it"]);
    adam.commit("good", "good\n");
    floor.app.write(".git/info/grafts", &format!("{} {}", head(&adam), tip(&floor)));
    floor.ctl(&["review", "adam"]).exit(0).any_err().out_has("+evil").out_has("+good");
}

/// git starts what a configuration names in the worktree that it works on.
#[test]
fn a_persons_programs_are_those_of_their_checkout() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit(".gitattributes", "*.x filter=own merge=own\n");
    app.commit("tools/own", "#!/bin/sh\ntr a-z A-Z\n");
    app.sh("chmod +x tools/own").exit(0);
    app.git(&["config", "filter.own.clean", "tools/own"]);
    app.git(&["config", "merge.own.driver", "tools/own < %A"]);
    app.commit("f.x", "text\n");
    assert_eq!(app.git(&["show", "HEAD:f.x"]), "TEXT\n");
    let ran = w.home("ran");
    for (name, args) in [("adam", &["--worktree", "../adam"][..]), ("eve", &[])] {
        let at = app.spawn(&["subtree", name, "--base-dir", ".."]).exit(0).any_err().stdout.trim_end().to_owned();
        let at = w.at(at);
        at.write("tools/own", &format!("#!/bin/sh\ntouch {}\ncat\n", ran.display()));
        at.sh("chmod +x tools/own && echo more >> f.x").exit(0);
        if !args.is_empty() {
            app.run("worker-ctl", &["add", "--worktree", at.path.to_str().unwrap()]).succeeds().any_err();
        }
    }
    let floor = Floor::of(app, &w);
    let app = &floor.app;
    for args in
        [&["status"][..], &["patrol"], &["start", "adam", "--task", "x"], &["nuke", "adam", "--worktree", "--yes"]]
    {
        floor.ctl(args).any_status().any_out().any_err();
        assert!(!ran.exists(), "{args:?}");
    }
    for args in [&["list", "--status"][..], &["gc"], &["remove", "eve"], &["remove", "eve", "--force"]] {
        app.spawn(args).any_status().any_out().any_err();
        assert!(!ran.exists(), "{args:?}");
    }
}

/// It is on no branch, too, so nothing but git's own record tells that it is there.
#[test]
fn no_agent_makes_its_worktree_another_one_than_its_own() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let forge = "git switch -q --detach && mkdir .x && echo \"$PWD/.git\" > .x/gitdir && echo 'gitdir: .x' > .git";
    tree(&floor, "adam").sh(forge).exit(0);
    for args in [&["nuke", "adam", "--worktree", "--yes"][..], &["reset", "adam", "--yes", "--force"]] {
        assert_eq!(refused(&floor, args, 4), "tampered", "{args:?}");
    }
    floor.ctl(&["patrol"]).exit(0).any_out().err_has("does not lead to");
    assert_eq!(floor.status("adam")["name"], "adam");
}

/// Neither a file that the configuration names nor one in the git directory gives a commit another author.
#[test]
fn an_author_is_shown_as_the_commit_names_it() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    app.git(&["worktree", "add", "-q", "-b", "feat", "../feat"]);
    let feat = w.at(app.path.with_file_name("feat"));
    feat.sh("echo x > x; git add x; git commit -q --author='Mallory <m@evil>' -m Work").exit(0);
    let map = w.home("map");
    write(&map, "Ada <ada@example.org> <m@evil>\n");
    app.write(".git/.mailmap", "Ada <ada@example.org> <m@evil>\n");
    app.git(&["config", "mailmap.file", map.to_str().unwrap()]);
    app.git(&["config", "log.mailmap", "true"]);
    app.run("worker-ctl", &["add", "feat", "--worktree", "../feat", "--land", "commits"]).succeeds().any_err();
    let shown = app.run("worker-ctl", &["review", "feat"]).exit(0).any_err().stdout.clone();
    assert!(shown.matches("Mallory <m@evil>").count() >= 2 && !shown.contains("Author:     Ada"), "{shown}");
}
