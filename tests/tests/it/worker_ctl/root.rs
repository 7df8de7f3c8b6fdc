//! worker-ctl: what counts as a root, and which one a command uses.

use crate::support::floor::Floor;
use crate::support::world::{World, text, write};

/// A configuration that leaves a file at every event and every start of an agent.
fn hostile(w: &World) -> String {
    let mark = w.home("mark");
    format!(
        "[defaults]\nagent = \"evil\"\non_event = [\"touch\", {mark:?}]\nbefore_attach = [\"touch\", {mark:?}]\n\
         [repo]\nsource = \".\"\nbranch = \"main\"\n[agents.evil]\ncommand = [\"touch\", {mark:?}]\n[workers.x]\n"
    )
}

#[test]
fn a_clone_is_never_a_root_whatever_it_tracks() {
    let w = World::new();
    let app = w.app();
    app.commit("config.toml", &hostile(&w));
    app.commit(".worktrees/x/keep", "");
    let state = "{\"version\":1,\"revision\":1,\"tmux_socket\":\"tmux.sock\",\"workers\":{}}";
    app.commit("state.json", state);
    app.git(&["clone", "-q", ".", "../victim"]);
    let victim = w.at(w.home("eng/repos/victim"));
    let before = victim.snapshot();
    for args in [
        &["wait", "x", "--for", "idle", "--timeout", "1s"][..],
        &["status"],
        &["patrol"],
        &["up", "x"],
        &["up", "--detach"],
        &["attach", "x"],
        &["down"],
        &["nuke", "--all", "--yes"],
        &["doctor", "--rebuild", "--yes"],
        &["config"],
    ] {
        let root = victim.path.to_str().unwrap();
        victim.run("worker-ctl", args).exit(2).err_has("no root of worker-ctl is recorded");
        w.at(victim.path.join(".worktrees/x")).run("worker-ctl", args).exit(2).err_has("no root of worker-ctl");
        let named = victim.run("worker-ctl", &[&["--root", root][..], args].concat()).exit(2);
        named.err_has("does not set shopfloor.source");
        victim.run_with("worker-ctl", args, &[("WORKER_CTL_ROOT", root)]).exit(2).err_has("shopfloor.source");
    }
    assert!(!w.home("mark").exists(), "a command of the clone ran");
    victim.assert_untouched_since(&before);
    // A source that is set anywhere but in the clone's own configuration does not count.
    let global = w.home("gitconfig");
    write(&global, &format!("[shopfloor]\n\tsource = {}\n", app.path.display()));
    let vars = [("GIT_CONFIG_GLOBAL", global.to_str().unwrap())];
    victim.run_with("worker-ctl", &["status"], &vars).exit(2).any_err();
    victim.git(&["config", "include.path", global.to_str().unwrap()]);
    victim.run("worker-ctl", &["status"]).exit(2).any_err();
    // `.git` must be a directory, not a link or a file that leads to one.
    let floor_like = w.home("link");
    std::fs::create_dir(&floor_like).unwrap();
    victim.git(&["config", "shopfloor.source", app.path.to_str().unwrap()]);
    std::os::unix::fs::symlink(victim.path.join(".git"), floor_like.join(".git")).unwrap();
    std::fs::copy(victim.path.join("config.toml"), floor_like.join("config.toml")).unwrap();
    let link = floor_like.to_str().unwrap();
    w.at(w.home("")).run("worker-ctl", &["--root", link, "status"]).exit(2).err_has("it has no .git directory");
}

#[test]
fn a_directory_of_another_user_is_not_a_root() {
    if !crate::support::world::needs_root() {
        return;
    }
    let w = World::new();
    let floor = Floor::new(&w);
    for path in ["config.toml", ".git", "."] {
        let path = floor.root.path.join(path);
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
        floor.ctl(&["--root", ".", "status"]).exit(2).err_has("belongs to another user");
        floor.ctl(&["status"]).exit(2).any_err();
        std::os::unix::fs::chown(&path, Some(0), None).unwrap();
    }
    floor.ctl(&["status"]).exit(0);
}

#[test]
fn a_repository_never_uses_the_root_of_another() {
    let w = World::new();
    let (a, b) = (w.repo("a"), w.repo("b"));
    a.run("worker-ctl", &["init"]).succeeds();
    let root = w.home("workers");
    std::fs::create_dir_all(b.path.join("sub")).unwrap();
    for dir in [&b.path, &b.path.join("sub")] {
        let refused = w.at(dir).run("worker-ctl", &["status"]).exit(2);
        refused.err_has(&format!("no root of worker-ctl is recorded in the repository {}", b.path.display()));
        refused.err_has(&format!("{} is the root of {}", root.display(), a.path.display()));
        refused.err_has("worker-ctl init");
        let json = w.at(dir).run("worker-ctl", &["--json", "accept", "adam"]).exit(2).json();
        assert_eq!(json["error"]["kind"], "not_initialised");
    }
    // In a repository that git refuses, no other root is used.
    write(&w.home("c/.git"), "gitdir: nowhere\n");
    w.at(w.home("c")).run("worker-ctl", &["status"]).exit(2).err_has("no usable git repository");
    // Outside of any repository the default root is used.
    std::fs::create_dir(w.home("plain")).unwrap();
    w.at(w.home("plain")).run("worker-ctl", &["status"]).exit(0);
    // A recorded root that is missing is not replaced by another one.
    b.run("worker-ctl", &["init"]).succeeds();
    std::fs::rename(w.home("workers/b"), w.home("elsewhere")).unwrap();
    b.run("worker-ctl", &["status"]).exit(2).err_has("workers/b").err_has("the directory does not exist");
}

#[test]
fn init_keeps_roots_apart_and_says_which_one_is_recorded() {
    let w = World::new();
    let (a, b) = (w.repo("a"), w.repo("b"));
    a.run("worker-ctl", &["init"]).exit(0).out_has("/home/workers\n");
    b.run("worker-ctl", &["init", "-n"]).exit(0).out_has("home/workers/b");
    assert!(!w.home("workers/b").exists());
    assert_eq!(b.run("worker-ctl", &["init"]).exit(0).stdout, format!("{}\n", w.home("workers/b").display()));
    assert_eq!(b.run("worker-ctl", &["status", "--json"]).exit(0).json()["workers"], serde_json::json!([]));
    // The two roots do not see each other's workers.
    w.at(w.home("workers")).run("worker-ctl", &["add", "adam"]).succeeds();
    assert!(w.home("workers/.worktrees/adam").exists());
    assert_eq!(b.run("worker-ctl", &["status", "--json"]).exit(0).json()["workers"], serde_json::json!([]));
    // No agent is installed here.
    a.run("worker-ctl", &["doctor"]).exit(1).out_has("ok      worktrees  adam");
    // A second root for the same source needs --target.
    for place in [&a.path, &a.worktree("linked").path] {
        w.at(place).run("worker-ctl", &["init"]).exit(1).err_has("workers is a root already").err_has("--target");
    }
    let second = w.home("second");
    let output = a.run("worker-ctl", &["init", "--target", second.to_str().unwrap()]).succeeds();
    output.err_has(&format!("the repository now records {} as its root", second.display()));
    output.err_has(&format!("--root {}", w.home("workers").display()));
    assert_eq!(a.run("worker-ctl", &["status", "--json"]).exit(0).json()["workers"], serde_json::json!([]));
}

#[test]
fn a_root_has_the_name_of_its_repository_and_a_number_where_that_is_taken() {
    let w = World::new();
    w.repo("first").run("worker-ctl", &["init"]).succeeds();
    for (dir, root) in [("d1", "app"), ("d2", "app-2"), ("d3", "app-3")] {
        let app = w.repo(&format!("{dir}/app"));
        let feat = app.worktree("feat");
        app.run("worker-ctl", &["add", "--worktree", "../feat"]).succeeds().any_err();
        assert!(w.home(&format!("workers/{root}/owner.json")).exists(), "{root}");
        w.at(feat.path).run("worker-ctl", &["status"]).exit(0).out_has("feat");
    }
    // Files of the person's own are in the way as a root is.
    write(&w.home("workers/wrap/mine"), "x\n");
    let ways = [("a", "feat", &["add", "--worktree", "."][..], "wrap-2"), ("b", "main", &["init"], "wrap-3")];
    for (dir, branch, args, root) in ways {
        let wrapper = w.home(dir).join("wrap");
        let bare = wrapper.join(".bare");
        w.at(w.home("d1/app")).git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
        write(&wrapper.join(".git"), "gitdir: ./.bare\n");
        w.at(&bare).git(&["worktree", "add", "-q", &format!("../{branch}"), branch]);
        w.at(wrapper.join(branch)).run("worker-ctl", args).exit(0).any_out().any_err();
        assert!(w.home(&format!("workers/{root}/config.toml")).exists(), "{root}");
    }
}

#[test]
fn a_repository_that_was_made_anew_gets_a_root_of_its_own() {
    let w = World::new();
    for (name, root) in [("x", "workers"), ("y", "workers/rc")] {
        let app = w.repo("t/rc");
        let linked = format!("../{name}");
        app.git(&["worktree", "add", "-q", "-b", name, &linked]);
        app.run("worker-ctl", &["add", "--worktree", &linked]).exit(0).any_out().any_err();
        assert!(w.home(root).join("owner.json").exists(), "{root}");
        // A root whose record is lost still has its workers.
        app.sh("mv .git/shopfloor/worker-ctl/root record").exit(0);
        app.run("worker-ctl", &["init"]).exit(1).err_has("is a root already");
        app.sh("rm -rf ../../t").exit(0);
    }
}

#[test]
fn no_root_is_made_in_a_repository_that_is_where_roots_are() {
    let w = World::new();
    let (own, other) = (w.repo("workers"), w.repo("other"));
    own.commit("mine", "x\n");
    let linked = other.worktree("linked");
    for (at, args) in [(&own, &["init"][..]), (&other, &["init"]), (&linked, &["add", "--worktree", "."])] {
        at.run("worker-ctl", args).exit(1).any_out().err_has("workers is not empty").err_has("--root DIR");
    }
    assert_eq!(own.git(&["status", "--porcelain"]), "");
    // A bare one, and a directory of one that is the person's home.
    let bare = "rm -rf workers && git clone -q --bare other workers";
    for line in [bare, "rm -rf workers/* && touch workers/mine && git init -q ."] {
        w.at(w.home("")).sh(line).exit(0);
        other.run("worker-ctl", &["init"]).exit(1).any_out().err_has("workers is not empty");
    }
}

/// An agent can make its own worktree look like a root. Commands in it still use the root around it.
#[test]
fn a_workers_worktree_is_never_a_root() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    let adam = w.at(floor.root.path.join(".worktrees/adam"));
    adam.sh("mkdir sub && cd sub && git init -q . && git config shopfloor.source /x && mkdir .worktrees").exit(0);
    adam.write("sub/config.toml", &hostile(&w));
    adam.write("sub/state.json", "{\"version\":1,\"revision\":1,\"tmux_socket\":\"t\",\"workers\":{}}");
    for at in ["", "sub", "sub/.worktrees"] {
        let workers = w.at(adam.path.join(at)).run("worker-ctl", &["status", "--json"]).exit(0).json();
        assert_eq!(workers["workers"][0]["name"], "adam", "{at}");
    }
    assert!(!w.home("mark").exists());
}

#[test]
fn a_copy_of_a_repository_does_not_use_the_originals_root() {
    let w = World::new();
    let a = w.repo("a");
    a.run("worker-ctl", &["init"]).succeeds();
    a.sh("cp -a . ../copy").exit(0);
    let copy = w.at(w.home("copy"));
    let refused = copy.run("worker-ctl", &["accept", "adam"]).exit(2);
    refused
        .err_has("home/workers, the root recorded in the repository")
        .err_has(&format!("is the root of {}", a.path.display()));
    a.run("worker-ctl", &["status"]).exit(0);
    // A source that has moved still has its root, because no other repository claims it.
    std::fs::rename(&a.path, w.home("moved")).unwrap();
    w.at(w.home("moved")).run("worker-ctl", &["status"]).exit(0);
}

#[test]
fn an_unrelated_repository_below_a_root_does_not_belong_to_it() {
    let w = World::new();
    let (a, b) = (w.repo("a"), w.repo("workers/x/b"));
    a.run("worker-ctl", &["init", "--target", w.home("a-root").to_str().unwrap()]).succeeds();
    let around = w.home("workers");
    a.run("worker-ctl", &["init", "--target", around.to_str().unwrap()]).exit(1).any_err();
    std::fs::rename(w.home("a-root"), w.home("kept")).unwrap();
    w.at(w.home("")).sh("mv workers/x x && rmdir workers && mv kept workers && mv x workers/x").exit(0);
    w.at(&around).run("worker-ctl", &["root", "trust", ".", "--yes"]).succeeds();
    w.at(&around).run("worker-ctl", &["status"]).exit(0);
    b.run("worker-ctl", &["status"]).exit(2).err_has("no root of worker-ctl is recorded in the repository");
    b.run("worker-ctl", &["init", "--target", w.home("b-root").to_str().unwrap()]).succeeds();
    let root = b.run("worker-ctl", &["status", "--json"]).exit(0).json();
    assert!(crate::support::world::text(&root, "/tmux_socket").contains("b-root"), "{root}");
    // No root can be created for a root.
    w.at(&around).run("worker-ctl", &["init"]).exit(1).err_has("is itself a root");
}

#[test]
fn a_directory_that_anybody_can_write_to_is_not_a_root() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.root.sh("chmod o+w config.toml").exit(0);
    floor.ctl(&["--root", ".", "status"]).exit(2).err_has("others can write to").err_has("chmod go-w");
    floor.root.sh("chmod o-w config.toml").exit(0);
    floor.ctl(&["status"]).exit(0);
}

#[test]
fn a_moved_root_creates_nothing_at_its_old_path() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    let moved = w.at(w.home("moved"));
    std::fs::rename(&floor.root.path, &moved.path).unwrap();
    moved.write(".worktrees/adam/wip", "work\n");
    moved.run("worker-ctl", &["status"]).exit(2).err_has("is not on your list of roots");
    moved.run("worker-ctl", &["root", "trust", ".", "--yes"]).succeeds();
    let answer = moved.run("worker-ctl", &["doctor", "--repair", "--yes"]).exit(1);
    answer.out_has("but the root is").out_has("move the root back: `mv ");
    assert!(!floor.root.path.exists());
    moved.sh("git worktree repair .worktrees/*").succeeds();
    moved.run("worker-ctl", &["doctor", "--rebuild", "--yes"]).succeeds();
    assert!(moved.has(".worktrees/adam/wip"));
    moved.run("worker-ctl", &["patrol"]).succeeds();
    std::fs::rename(&moved.path, &floor.root.path).unwrap();
    floor.root.sh("git worktree repair .worktrees/*").succeeds();
    floor.ctl(&["doctor", "--rebuild", "--yes"]).succeeds();
}

#[test]
fn a_root_follows_its_source_once_a_person_says_so() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (other, second) = (w.repo("b"), w.home("second"));
    other.run("worker-ctl", &["init", "--target", second.to_str().unwrap()]).succeeds();
    // A root without a clone, and one with.
    for (root, app) in [(&floor.root.path, &floor.app.path), (&second, &other.path)] {
        let (root, moved) = (w.at(root), w.at(app.with_file_name("moved")));
        std::fs::rename(app, &moved.path).unwrap();
        if root.path == floor.root.path {
            moved.git(&["worktree", "repair", "../adam"]);
            let refused = root.run("worker-ctl", &["review", "adam"]).exit(4).any_out();
            refused.err_has(&format!("the source {} is missing", app.display())).err_has("worker-ctl root trust");
        }
        let doctor = root.run("worker-ctl", &["doctor"]).exit(1).any_err();
        doctor.out_has("if it has moved, set `source` in `[repo]`");
        assert!(!doctor.stdout.contains("git branch"), "{doctor}");
        let linked = moved.worktree("linked");
        let adopt = || moved.run("worker-ctl", &["add", "--worktree", linked.path.to_str().unwrap()]);
        adopt().exit(2).any_out().err_has("is gone").err_has("worker-ctl root trust");
        for words in [&["root", "trust", ".", "--yes"][..], &["-n", "root", "trust", "."]] {
            root.run("worker-ctl", words)
                .exit(4)
                .any_out()
                .err_has("is missing")
                .err_has("if it has moved, set `source`");
        }
        let config = root.read("config.toml").replace(app.to_str().unwrap(), moved.path.to_str().unwrap());
        root.write("config.toml", &config);
        let trusted = root.run("worker-ctl", &["root", "trust", ".", "--yes"]).exit(0).any_out();
        trusted.err_has(&format!("a root of {}", moved.path.display()));
        let list = std::fs::read_to_string(w.home(".local/state/shopfloor/roots")).unwrap();
        let line = format!("{}\t{}\n", root.path.display(), moved.path.join(".git").display());
        assert!(list.contains(&line), "{list}");
        adopt().exit(0).any_out().any_err();
    }
}

/// Nothing but the person tells that it is the same one: all directories of git's are others.
#[test]
fn a_worktree_that_moved_after_its_repository_was_restored_is_the_workers_if_a_person_says_so() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let app = &floor.app;
    app.sh("mv .git old && cp -a old .git && git worktree move ../adam ../moved").exit(0).any_out().any_err();
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    assert!(text(&floor.status("adam"), "/worktree").ends_with("/adam"));
    floor.ctl(&["doctor"]).exit(1).any_err().out_has("/moved; if it is to go on there: `worker-ctl add --worktree ");
    app.run("worker-ctl", &["add", "--worktree", "../moved"]).succeeds().any_err();
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    let status = floor.status("adam");
    assert!(text(&status, "/worktree").ends_with("/moved") && text(&status, "/status") == "offline", "{status}");
}
