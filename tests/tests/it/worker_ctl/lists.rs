//! worker-ctl: the user's own list of roots.

use std::path::Path;

use crate::support::floor::Floor;
use crate::support::world::{Repo, World, mode, text, write};

/// What an agent can make: a directory that looks like a root of this repository, and the repository's record of it.
fn forge<'w>(app: &Repo<'w>) -> Repo<'w> {
    let w = app.world;
    let (forged, mark) = (w.at(w.home("forged")), w.home("mark"));
    std::fs::create_dir_all(forged.path.join(".worktrees")).unwrap();
    forged.git(&["init", "-q", "."]);
    forged.git(&["config", "shopfloor.source", app.path.to_str().unwrap()]);
    let config = format!(
        "[defaults]\nagent = \"evil\"\non_event = [\"touch\", {mark:?}]\nbefore_attach = [\"touch\", {mark:?}]\n\
         [repo]\nsource = {:?}\nbranch = \"main\"\n[agents.evil]\ncommand = [\"touch\", {mark:?}]\n[workers.x]\n",
        app.path
    );
    forged.write("config.toml", &config);
    forged.write("state.json", "{\"version\":1,\"revision\":1,\"tmux_socket\":\"tmux.sock\",\"workers\":{}}");
    write(&app.path.join(".git/shopfloor/worker-ctl/root"), &format!("{}\n", forged.path.display()));
    forged
}

fn read(list: &Path) -> String {
    std::fs::read_to_string(list).unwrap()
}

#[test]
fn a_root_that_the_users_list_does_not_name_is_not_used() {
    let w = World::new();
    let app = w.repo("a");
    let mine = w.home("mine").to_str().unwrap().to_owned();
    app.run("worker-ctl", &["init", "--target", &mine]).succeeds();
    let forged = forge(&app);
    let root = forged.path.to_str().unwrap();
    let (before, hint) = (forged.snapshot(), format!("worker-ctl root trust {root}"));
    for args in [
        &["up", "x"][..],
        &["up", "--detach"],
        &["patrol"],
        &["status"],
        &["config"],
        &["attach", "x"],
        &["accept", "x"],
        &["doctor", "--repair", "--yes"],
        &["deinit", "--yes"],
    ] {
        app.run("worker-ctl", args).exit(2).err_has(&hint);
        forged.run("worker-ctl", args).exit(2).err_has(&hint);
        app.run("worker-ctl", &[&["--root", root][..], args].concat()).exit(2).err_has(&hint);
        app.run_with("worker-ctl", args, &[("WORKER_CTL_ROOT", root)]).exit(2).err_has(&hint);
    }
    let json = app.run("worker-ctl", &["--json", "status"]).exit(2).json();
    assert_eq!(text(&json, "/error/kind"), "unlisted_root");
    // The hook of an agent does nothing, and is no failure for the agent.
    let vars = [("WORKER_CTL_ROOT", root), ("WORKER_CTL_WORKER", "x")];
    let payload = "{\"hook_event_name\":\"Stop\",\"session_id\":\"s\"}";
    let hook = app.run_with("worker-ctl", &["hook", "claude", payload], &vars).exit(0);
    assert_eq!(hook.err_has("is not on your list of roots").stdout, "");
    assert!(!w.home("mark").exists(), "a command of the forged root ran");
    forged.assert_untouched_since(&before);
    app.run("worker-ctl", &["--root", &mine, "status"]).exit(0);
    // Without a home there is no list, and nothing can be put on it.
    for args in [&["status"][..], &["--root", &mine, "status"], &["root", "trust", &mine, "--yes"]] {
        let refused = app.run_with("worker-ctl", args, &[("HOME", "")]).exit(2);
        refused.err_has("there is no place for the list of roots").err_has("set HOME to an absolute path");
    }
}

#[test]
fn a_root_from_before_the_list_is_used_once_a_person_has_seen_its_configuration() {
    let w = World::new();
    let app = w.repo("a");
    app.run("worker-ctl", &["init"]).succeeds();
    let (root, list) = (w.at(w.home("workers")), w.home(".local/state/shopfloor/roots"));
    let line = format!("{}\t{}\n", root.path.display(), app.path.join(".git").display());
    assert_eq!((read(&list), mode(&list)), (line.clone(), 0o600));
    std::fs::remove_file(&list).unwrap();
    // Nobody can be asked.
    let hint = format!("worker-ctl root trust {}", root.path.display());
    for args in [&["status"][..], &["up", "--detach"], &["doctor", "--repair", "--yes"]] {
        app.run("worker-ctl", args).exit(3).err_has(&hint);
        root.run("worker-ctl", args).exit(2).err_has(&hint);
    }
    app.run("worker-ctl", &["root", "trust", root.path.to_str().unwrap()]).exit(3).err_has("--yes");
    // A person is asked, and a dry run changes nothing.
    let asked = |command: &str, keys: &str, exit: i32| {
        let shown = app.on_terminal(command, keys).exit(exit);
        assert_eq!(shown.stdout.contains("skip_permissions = true"), !command.contains(" -n "), "{shown}");
    };
    asked("worker-ctl status", "n\n", 3);
    asked("worker-ctl -n patrol", "y\n", 3);
    assert!(!list.exists());
    asked("worker-ctl status", "y\n", 0);
    assert_eq!(read(&list), line);
    app.run("worker-ctl", &["status"]).exit(0);
    root.run("worker-ctl", &["status"]).exit(0);
    // With `--yes` nobody is asked, and no line comes twice.
    for _ in 0..2 {
        let listed = root.run("worker-ctl", &["root", "trust", ".", "--yes"]).exit(0);
        listed.err_has("skip_permissions = true").out_has("listed ");
        assert_eq!(read(&list), line);
    }
    // What is listed already needs no word.
    root.run("worker-ctl", &["root", "trust", "."]).exit(0).any_out().any_err();
    assert_eq!(read(&list), line);
}

#[test]
fn the_list_follows_init_and_deinit_and_holds_no_odd_paths() {
    let w = World::new();
    let (a, b) = (w.repo("a"), w.repo("b"));
    for app in [&a, &b] {
        app.run("worker-ctl", &["init"]).succeeds();
    }
    let list = w.home(".local/state/shopfloor/roots");
    assert_eq!(read(&list).lines().count(), 2);
    let other = format!("{}\t{}\n", w.home("workers/b").display(), b.path.join(".git").display());
    // The other root lies in this one, and keeps it.
    a.run("worker-ctl", &["deinit", "--yes"]).exit(1).any_err();
    assert_eq!(read(&list).lines().count(), 2);
    let moved = w.home("moved");
    std::fs::rename(w.home("workers/b"), &moved).unwrap();
    a.run("worker-ctl", &["deinit", "--yes"]).exit(0).any_out();
    assert_eq!(read(&list), other);
    let before = read(&list);
    for odd in ["with\ttab", "with\nend"] {
        a.run("worker-ctl", &["init", "--target", odd]).exit(2).err_has("a tab or a line end");
        assert!(!a.has(odd));
    }
    assert_eq!(read(&list), before);
    // What is no root is not listed either.
    b.run("worker-ctl", &["root", "trust", "."]).exit(2).err_has("is not a root of worker-ctl");
}

#[test]
fn a_record_of_ours_is_not_written_through_a_link() {
    let w = World::new();
    let app = w.app();
    write(&w.home("precious/root"), "mine\n");
    std::fs::create_dir_all(app.path.join(".git/shopfloor")).unwrap();
    std::os::unix::fs::symlink(w.home("precious"), app.path.join(".git/shopfloor/worker-ctl")).unwrap();
    app.run("worker-ctl", &["init"]).exit(4).err_has("is a symbolic link");
    assert_eq!(w.at(w.home("precious")).read("root"), "mine\n");
    assert!(!w.home("workers").exists());
}

/// The directory of a worktree in the clone's git directory is the agent's to write.
#[test]
fn files_of_ours_in_a_git_directory_are_not_reached_through_links() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.app.commit(".gitignore", "big.db\n");
    floor.app.write("big.db", "data");
    let config = floor.root.read("config.toml");
    floor.root.write("config.toml", &config.replace("[repo]\n", "[repo]\ncopy = [{ from = \"big.db\" }]\n"));
    floor.ctl(&["add", "adam"]).succeeds();
    let own = floor.root.path.join(".git/worktrees/adam/shopfloor");
    std::fs::rename(&own, w.home("kept")).unwrap();
    for file in ["rebasing", "copies.json", "hooks"] {
        write(&w.home("precious/worker-ctl").join(file), "mine\n");
    }
    // A young mark of a rebase would stay in any case.
    w.at(w.home("precious/worker-ctl")).sh("touch -d 2020-01-01 *").exit(0);
    std::os::unix::fs::symlink(w.home("precious"), &own).unwrap();
    let precious = w.at(w.home("precious"));
    let before = precious.snapshot();
    floor.ctl(&["patrol"]).any_status().any_out().any_err();
    floor.ctl(&["up", "adam"]).any_status().any_out().any_err();
    floor.ctl(&["start", "--worker", "adam", "--task", "t"]).exit(4).err_has("is a symbolic link");
    precious.assert_untouched_since(&before);
}
