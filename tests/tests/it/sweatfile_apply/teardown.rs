//! Teardown: what a set-up started is undone when its worktree goes, each command once.

use crate::support::spawn;
use crate::support::world::{Repo, World, text, wait_for};

/// A repository whose worktrees start something by a stand-in for docker, which writes down where it was called, for which
/// project, and how. It fails while there is a file `~/broken`.
fn composed<'w>(w: &'w World, more: &str) -> Repo<'w> {
    let body =
        r#"echo "$(basename "$PWD") $COMPOSE_PROJECT_NAME: $*" >> ~/docker; ls -A >> ~/docker; [ ! -e ~/broken ]"#;
    w.program("docker", body);
    w.area(&format!(
        "setup = [\"docker compose up\"]\nteardown = [\"docker compose down -v\"{more}]\ntemplate = true\n\
         [env]\nCOMPOSE_PROJECT_NAME = \"{{branch|slug}}\"\n"
    ));
    w.app()
}

fn docker(w: &World) -> Vec<String> {
    let log = w.at(w.home("")).read("docker");
    log.lines().filter(|line| line.contains(": ")).map(str::to_owned).collect()
}

fn put<'w>(app: &Repo<'w>, name: &str) -> Repo<'w> {
    let wt = app.worktree(name);
    wt.apply(&[]).succeeds().any_err();
    wt
}

#[test]
fn remove_runs_it_once_before_the_files_go_and_keeps_what_fails() {
    let w = World::new();
    let app = composed(&w, ", \"false\", \"cat .sweatshop-env >> ~/later\"");
    let wt = put(&app, "wt");
    wt.apply(&["remove", "--dry-run"]).exit(0).any_err().out_has("would run");
    assert_eq!(docker(&w), ["wt wt: compose up"]);
    let strict = wt.apply(&["remove", "--strict"]).exit(4).any_out();
    strict.err_has("false").err_has("run the command again; when the worktree is gone, `sweatfile-apply sweep`");
    assert!(wt.has(".sweatshop-env") && !w.at(w.home("")).has("later"));
    let done = wt.apply(&["remove", "--json"]).exit(4).any_err().json();
    assert_eq!(done["teardown"]["ran"].as_array().unwrap().len(), 1, "{done}");
    assert!(text(&done, "/teardown/failed/0").contains("false"), "{done}");
    assert!(!wt.has(".sweatshop-env") && w.at(w.home("")).read("later").contains("COMPOSE"));
    assert_eq!(docker(&w), ["wt wt: compose up", "wt wt: compose down -v"]);
    // What has failed is tried again at the next removal, and when the worktree is gone; nothing else is.
    wt.apply(&["sweep", "-v"]).exit(0).err_has("nothing to do");
    wt.apply(&["remove"]).exit(4).any_out().err_has("false");
    app.git(&["worktree", "remove", "--force", "../wt"]);
    w.area("");
    app.apply(&["sweep"]).exit(4).any_out().err_has("false");
    assert_eq!(docker(&w).len(), 2);
}

#[test]
fn it_waits_for_no_daemon_that_a_command_leaves_behind() {
    let w = World::new();
    let app = w.app();
    let daemon = "sleep 600 & echo $! >> ~/pids";
    app.approved(&format!("teardown = [\"{daemon}\", \"{daemon}; echo out; echo why >&2; exit 3\"]\n"));
    app.apply(&[]).succeeds();
    let removed = app.apply(&["remove"]).exit(4);
    removed.out_has(&format!("app: {daemon}\n")).err_has("exit 3 (exit status 3 why)");
    app.sh("kill $(cat ~/pids)").exit(0);
}

#[test]
fn a_command_that_prints_without_end_is_ended() {
    let w = World::new();
    let app = w.app();
    app.approved("teardown = [\"truncate -s 300M /dev/stdout; exec sleep 606060\"]\n");
    app.apply(&[]).succeeds();
    app.apply(&["remove"]).exit(4).any_out().err_has("it wrote more than 256 MiB, and was ended");
}

#[test]
fn a_sweep_runs_it_for_a_worktree_that_went_without_us() {
    let w = World::new();
    let app = composed(&w, "");
    let wt = put(&app, "wt");
    app.apply(&["sweep", "-v"]).exit(0).err_has("nothing to do");
    std::fs::remove_dir_all(&wt.path).unwrap();
    // As long as git knows it, it may have been moved.
    let prune = format!("`git -C {}/.git worktree prune` if it is gone", app.path.display());
    app.apply(&["sweep"]).exit(1).out_has(&prune);
    app.git(&["worktree", "prune"]);
    w.at(w.home("")).write("broken", "");
    app.apply(&["sweep"]).exit(4).any_out().err_has("docker compose down -v");
    std::fs::remove_file(w.home("broken")).unwrap();
    // One of its name is set up: the same words would take that one down.
    let again = app.path.with_file_name("wt");
    app.git(&["worktree", "add", "-q", "-b", "other", "../wt"]);
    app.apply(&["sweep"]).exit(1).out_has("has its name now");
    app.git(&["worktree", "remove", again.to_str().unwrap()]);
    app.git(&["worktree", "add", "-q", "../elsewhere", "wt"]);
    app.apply(&["sweep"]).exit(1).out_has("has `wt` now");
    app.git(&["worktree", "remove", "../elsewhere"]);
    app.apply(&["hook", "install"]).exit(0).any_out().any_err();
    app.run("git", &["worktree", "add", "-q", "../two"]).exit(0).err_has("wait for their teardown: 1");
    app.apply(&["sweep"]).exit(0).any_err().out_has("ran");
    app.apply(&["sweep"]).exit(0);
    // In an empty directory with its name, for its project, and never in another checkout.
    let lines: Vec<String> = w.at(w.home("")).read("docker").lines().map(str::to_owned).collect();
    let at = lines.iter().rposition(|line| line.contains("down")).unwrap();
    assert_eq!(lines[at..], ["wt wt: compose down -v"]);
    assert_eq!(docker(&w).iter().filter(|line| line.contains("down")).count(), 2);
}

#[test]
fn a_worktree_of_a_worker_is_pruned_in_the_workers_repository() {
    let w = World::new();
    let app = composed(&w, "");
    app.commit("a", "a");
    let wt = put(&w.workers_clone(&app, "clone"), "wt");
    std::fs::remove_dir_all(&wt.path).unwrap();
    let left = app.apply(&["sweep"]).exit(1).any_out().any_err().stdout.to_string();
    let prune = left.split('`').find(|part| part.ends_with(" prune")).unwrap();
    app.sh(prune).exit(0);
    app.apply(&["sweep"]).exit(0).any_err().out_has("ran ");
}

#[test]
fn a_repositorys_command_needs_its_approval_until_the_end() {
    let w = World::new();
    let app = w.app();
    app.commit("sweatfile", "teardown = [\"touch ~/down\"]\n");
    app.apply(&["approve", "--yes"]).exit(0).any_out().err_has("touch ~/down   (when it goes)");
    put(&app, "wt");
    app.apply(&["revoke"]).exit(0).any_out().any_err();
    app.git(&["worktree", "remove", "--force", "../wt"]);
    app.apply(&["sweep"]).exit(1).out_has("not approved any more");
    assert!(!w.at(w.home("")).has("down"));
    app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    app.apply(&["sweep"]).exit(0).any_err().out_has("ran");
    assert!(w.at(w.home("")).has("down"));
    // What was never approved is never recorded.
    app.write("sweatfile", "teardown = [\"touch ~/never\"]\n");
    let two = app.worktree("two");
    two.apply(&[]).exit(3).any_out().any_err();
    app.git(&["worktree", "remove", "--force", "../two"]);
    app.apply(&["sweep"]).exit(0).any_out();
    assert!(!w.at(w.home("")).has("never"));
}

#[test]
fn a_command_goes_by_the_approved_sweatfile_that_asked_for_it_last() {
    let w = World::new();
    let app = w.app();
    for (name, setup) in [("one", ""), ("two", "setup = [\"true\"]\n")] {
        let sweatfile = format!("{setup}teardown = [\"echo {name} >> ~/down\"]\n");
        app.approved(&sweatfile);
        let wt = put(&app, name);
        app.apply(&["revoke"]).exit(0).any_out().any_err();
        app.approved(&format!("{sweatfile}# x\n"));
        wt.apply(&[]).succeeds().any_err();
        // One that is trusted for a run takes the place of none.
        app.write("sweatfile", &format!("{sweatfile}# y\n"));
        wt.apply(&["--yes"]).succeeds().any_err();
        wt.apply(&["remove"]).exit(0).any_err().out_has("ran");
    }
    assert_eq!(w.at(w.home("")).read("down"), "one\ntwo\n");
}

#[test]
fn a_command_that_was_cut_off_is_not_run_again_by_itself() {
    let w = World::new();
    w.area("teardown = [\"echo $$ > ~/pid; echo x >> ~/begun; exec sleep 600\", \"touch ~/second\"]\n");
    let app = w.app();
    put(&app, "wt");
    app.git(&["worktree", "remove", "--force", "../wt"]);
    let mut sweep = w.command(w.path("bin/sweatfile-apply"));
    let mut sweep = sweep.arg("sweep").current_dir(&app.path).stderr(std::process::Stdio::null()).spawn().unwrap();
    wait_for(|| std::fs::read_to_string(w.home("begun")).is_ok_and(|text| text == "x\n"));
    sweep.kill().unwrap();
    sweep.wait().unwrap();
    app.sh("kill -9 $(cat ~/pid)").exit(0);
    app.apply(&["sweep"]).exit(1).any_err().out_has("--again");
    assert_eq!(w.at(w.home("")).read("begun"), "x\n");
    assert!(w.at(w.home("")).has("second"));
    w.program("sleep", "true");
    app.apply(&["sweep", "--again"]).exit(0).any_err().out_has("ran");
    app.apply(&["sweep", "--again"]).exit(0);
    assert_eq!(w.at(w.home("")).read("begun"), "x\nx\n");
}

#[test]
fn a_new_set_up_is_torn_down_although_an_earlier_teardown_was_cut_off() {
    let w = World::new();
    w.area("setup = [\"true\"]\nteardown = [\"echo down >> ~/down\"]\n");
    let app = w.app();
    let wt = put(&app, "wt");
    // As a kill leaves it.
    let records = w.at(w.home(".local/state/shopfloor/sweatfile-apply/teardown"));
    records.sh("sed -i 's/\"command\"/\"is_begun\": true, &/' *.json").exit(0);
    wt.apply(&[]).succeeds().any_err();
    wt.apply(&["remove"]).exit(0).any_err().out_has("it was begun and cut off");
    wt.apply(&["--setup-again"]).succeeds().any_err();
    wt.apply(&["remove"]).exit(0).any_err().out_has("ran ");
    assert_eq!(w.at(w.home("")).read("down"), "down\n");
}

#[test]
fn a_command_whose_end_could_not_be_written_is_named_and_stops_a_strict_removal() {
    let w = World::new();
    let state = ".local/state/shopfloor/sweatfile-apply/teardown";
    w.area(&format!("teardown = [\"mv ~/{state} ~/aside\", \"touch ~/second\"]\n[env]\nA = \"1\"\n"));
    let app = w.app();
    let wt = put(&app, "wt");
    wt.apply(&["remove"]).exit(4).any_out().err_has("was run; `sweatfile-apply sweep --again` would run it once more");
    w.at(w.home("")).sh(&format!("mv aside {state}")).exit(0);
    wt.apply(&["doctor"]).exit(1).any_err().out_has("begun and not ended").out_has("sweep --again");
    wt.apply(&["remove", "--strict"]).exit(1).any_out().err_has("it was begun and cut off");
    assert!(wt.has(".sweatshop-env") && w.at(w.home("")).has("second"));
    let told = wt.apply(&["hook", "run", "pre-remove", "."]).exit(0).any_out();
    told.err_has("not torn down: ").err_has("it was begun and cut off");
    assert!(!told.stderr.contains("tries again"), "{told}");
    wt.apply(&["remove"]).exit(0).any_err().out_has("it was begun and cut off");
    app.sh("rm -r .git/w*; sweatfile-apply doctor").exit(1).any_err().out_has("run `sweatfile-apply sweep --again`");
}

#[test]
fn the_tools_that_remove_worktrees_run_it() {
    let w = World::new();
    let app = composed(&w, "");
    app.commit("a.txt", "a\n");
    put(&app, "wt");
    app.run("worktree-spawn", &["remove", "../wt", "--force"]).any_status().any_out().any_err();
    app.apply(&["hook", "install"]).exit(0).any_out().any_err();
    app.run("worktree-spawn", &["subtree", "one"]).exit(0).any_out().any_err();
    let told = "would tear down: ";
    app.run("worktree-spawn", &["remove", "one", "--force", "-n"]).exit(0).any_out().err_has(told);
    assert!(!docker(&w).last().unwrap().ends_with("down -v"), "{:?}", docker(&w));
    app.run("worktree-spawn", &["remove", "one", "--force"]).exit(0).any_out().err_has("torn down");
    assert!(docker(&w).last().unwrap().ends_with("down -v"), "{:?}", docker(&w));
    app.apply(&["sweep"]).exit(0).any_out();
    // So does worker-ctl, whose worktrees are of another repository.
    let root = w.home("crew");
    app.run("worker-ctl", &["init", "--source", ".", "--target", root.to_str().unwrap()]).exit(0).any_out().any_err();
    let root = w.at(root);
    root.run("worker-ctl", &["add", "adam"]).exit(0).any_out().any_err();
    assert_eq!(docker(&w).last().unwrap(), "adam worker-adam: compose up");
    root.run("worker-ctl", &["nuke", "adam", "-n"]).exit(0).any_out().err_has(told);
    root.run("worker-ctl", &["nuke", "adam", "--yes"]).exit(0).any_out().err_has("torn down");
    assert_eq!(docker(&w).last().unwrap(), "adam worker-adam: compose down -v");
    app.apply(&["sweep"]).exit(0).any_out();
}

#[test]
fn nothing_is_taken_down_of_a_worktree_that_cannot_be_kept_or_moved() {
    let w = World::new();
    let app = composed(&w, "");
    app.commit("a.txt", "a\n");
    app.apply(&["hook", "install"]).exit(0).any_out().any_err();
    let one = w.at(app.spawn(&["subtree", "one"]).exit(0).any_err().stdout.trim_end());
    one.write("new", "work\n");
    let root = w.at(w.home("crew"));
    let init = ["init", "--source", ".", "--target", root.path.to_str().unwrap()];
    app.run("worker-ctl", &init).exit(0).any_out().any_err();
    root.run("worker-ctl", &["add", "adam"]).exit(0).any_out().any_err();
    root.write(".worktrees/adam/new", "work\n");
    let (remove, nuke) = (["worktree-spawn", "remove", "one"], ["worker-ctl", "nuke", "adam", "--yes"]);
    for (at, words, dir) in [
        (&app, &remove[..], ".shopfloor/worktrees"),
        (&app, &remove, ".git/worktrees"),
        (&app, &remove, ".git/objects"),
        (&app, &remove, ".git/objects/??"),
        (&root, &nuke, ".worktrees"),
        (&root, &nuke, ".git/objects"),
    ] {
        at.sh(&format!("chmod a-w {dir}")).exit(0);
        for more in [&["--force", "-n"][..], &["--force"]] {
            at.run_bound(words[0], &[&words[1..], more].concat()).exit(4).any_out().err_has("cannot write to ");
        }
        at.sh(&format!("chmod u+w {dir}")).exit(0);
    }
    assert!(docker(&w).iter().all(|line| line.ends_with("compose up")), "{:?}", docker(&w));
    app.sh("mkdir -m 500 .git/objects/no").exit(0);
    app.run_bound("worktree-spawn", &["remove", "one", "--force"]).exit(0).any_out().err_has("torn down");
    root.run("worker-ctl", &["nuke", "adam", "--yes", "--force"]).exit(0).any_out().err_has("torn down");
}

#[test]
fn nothing_is_forgotten_and_nothing_runs_that_was_not_approved_then() {
    let w = World::new();
    let app = w.app();
    app.write("stop.sh", "echo person >> ~/down\n");
    app.commit("sweatfile", "teardown = [\"sh ./stop.sh\", \"echo repo >> ~/down\"]\n");
    app.git(&["add", "stop.sh"]);
    app.git(&["commit", "-qm", "stop"]);
    app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    let (one, two, three) = (put(&app, "one"), put(&app, "two"), put(&app, "three"));
    // What changes later changes nothing of what was set up.
    app.write("sweatfile", "teardown = []\n");
    one.apply(&[]).exit(3).any_out().any_err();
    one.apply(&["remove"]).exit(0).any_out().any_err();
    let down = || w.at(w.home("")).read("down");
    assert_eq!(down(), "person\nrepo\n");
    // A file that an agent has rewritten runs for nobody.
    two.write("stop.sh", "echo agent >> ~/down\n");
    two.git(&["commit", "-qam", "agent"]);
    two.apply(&["remove"]).exit(0).any_err().out_has("nobody has approved stop.sh");
    assert_eq!(down(), "person\nrepo\n");
    // Another text that is approved after a revocation is another text.
    app.apply(&["revoke"]).exit(0).any_out().any_err();
    app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    three.apply(&["remove"]).exit(0).any_err().out_has("not approved any more");
    assert_eq!(down(), "person\nrepo\n");
}

#[test]
fn what_another_worktree_has_by_now_is_left() {
    let w = World::new();
    w.area("template = true\nteardown = [\"echo {branch|slug} >> ~/down\"]\n");
    let app = w.app();
    let at = |name: &str, branch: &str| {
        app.git(&["worktree", "add", "-q", "-b", branch, &format!("../{name}")]);
        let wt = w.at(app.path.with_file_name(name));
        wt.apply(&[]).succeeds().any_err();
        wt
    };
    let (gone, same) = (at("gone", "feat/a"), at("same", "feat-a"));
    app.git(&["worktree", "remove", "--force", gone.path.to_str().unwrap()]);
    app.apply(&["sweep"]).exit(1).out_has("another worktree has `feat-a` now");
    // The living one is asked, too, once it has given its branch away.
    same.git(&["switch", "-qc", "other"]);
    app.git(&["worktree", "add", "-q", "../third", "feat-a"]);
    same.apply(&["remove"]).exit(0).any_err().out_has("another worktree has `feat-a` now");
    assert!(!w.at(w.home("")).has("down"));
    // A value within quotes would be code.
    for line in ["echo 'x-{branch}'", "echo \\\"{branch}\\\"", "cat <<E\\n{branch}\\nE"] {
        w.area(&format!("template = true\nteardown = [\"{line}\"]\n"));
        app.apply(&[]).exit(2).err_has("within quotes");
    }
}

#[test]
fn a_worktree_whose_record_somebody_took_away_is_not_torn_down() {
    let w = World::new();
    w.area("teardown = [\"touch ~/down\"]\n");
    let app = w.app();
    let wt = put(&app, "wt");
    std::fs::remove_dir_all(app.path.join(".git/worktrees/wt")).unwrap();
    app.apply(&["sweep"]).exit(1).out_has("its directory is still there");
    assert!(!w.at(w.home("")).has("down"));
    std::fs::remove_dir_all(&wt.path).unwrap();
    app.apply(&["sweep"]).exit(0).any_err().out_has("ran");
    assert!(w.at(w.home("")).has("down"));
}

#[test]
fn after_a_restore_from_a_copy_the_teardown_is_named_and_left() {
    let w = World::new();
    w.area("teardown = [\"touch ~/down\"]\n");
    let app = w.app();
    let wt = put(&app, "wt");
    w.at(w.home("")).sh("cp -a eng copy && rm -rf eng && mv copy eng").exit(0);
    wt.apply(&["remove"]).exit(0).any_err().out_has("touch ~/down (").out_has("restored from a copy");
    assert!(!w.at(w.home("")).has("down"));
    app.git(&["worktree", "remove", "--force", "../wt"]);
    app.apply(&["sweep"]).exit(0).any_err().out_has("ran ");
    assert!(w.at(w.home("")).has("down"));
}

#[test]
fn a_damaged_record_and_a_missing_home_stop_nobody() {
    let w = World::new();
    w.area("setup = [\"touch set-up\"]\nteardown = [\"true\"]\n");
    let app = w.app();
    w.at(w.home("")).write(".local/state/shopfloor/sweatfile-apply/teardown/0.json", "{\"v\": 99}");
    app.apply(&["hook", "install"]).exit(0).any_out().any_err();
    app.run("git", &["worktree", "add", "-q", "../wt"]).exit(0).any_err();
    let wt = w.at(app.path.with_file_name("wt"));
    assert!(wt.has("set-up"));
    app.apply(&["sweep"]).exit(1).out_has("0.json");
    let homeless = "env -u HOME -u XDG_STATE_HOME PATH=\"$PATH\" sweatfile-apply";
    wt.sh(&format!("{homeless} hook run pre-remove .")).exit(0).any_out().any_err();
    app.sh(&format!("{homeless} sweep")).exit(0).any_out().any_err();
    wt.apply(&["remove"]).exit(0).any_err().out_has("ran");
    // It is told where it may be of the worktree.
    let pre_remove = ["hook", "run", "pre-remove", "."];
    let told = wt.apply(&pre_remove).exit(0).any_out();
    told.err_has("not torn down: ").err_has("0.json");
    assert!(!told.stderr.contains("tries again"), "{told}");
    w.area("setup = [\"touch set-up\"]\n");
    app.run("git", &["worktree", "add", "-q", "../two"]).exit(0).any_out().any_err();
    let told = w.at(app.path.with_file_name("two")).apply(&pre_remove).exit(0).any_out().any_err();
    assert!(!told.stderr.contains("0.json"), "{told}");
}

#[test]
fn a_sweep_frees_what_no_worktree_uses_and_others_name_what_waits() {
    let w = World::new();
    w.area("git_excludes = [\"/.made\"]\nteardown = [\"touch ~/down\"]\ntemplate = true\n[env]\nPORT = \"{port}\"\n");
    let app = w.app();
    put(&app, "wt");
    assert!(app.excludes().contains(&"/.made".to_owned()));
    app.apply(&["doctor"]).exit(0).any_out().any_err();
    app.git(&["worktree", "remove", "--force", "../wt"]);
    app.apply(&["doctor"]).exit(1).any_err().out_has("worktrees that are gone and wait for it: 1");
    app.spawn(&["gc"]).exit(0).err_has("wait for their teardown: `sweatfile-apply sweep`");
    let dry = app.apply(&["sweep", "--dry-run"]).exit(0).any_err();
    dry.out_has("would run").out_has("would free ports: 1").out_has("would free exclude /.made");
    let dry = app.apply(&["sweep", "--dry-run", "--json"]).exit(0).any_err().json();
    let excludes = serde_json::json!(["/.made", ".sweatshop-env"]);
    assert_eq!((&dry["ports_freed"], &dry["excludes"]), (&1.into(), &excludes), "{dry}");
    assert!(app.excludes().contains(&"/.made".to_owned()));
    // What a killed removal of worktree-spawn has left goes, too.
    let common = app.path.join(".git/shopfloor/worktree-spawn/gone/x.git");
    std::fs::create_dir_all(&common).unwrap();
    w.program("worktree-spawn", "echo \"$*\" >> ~/called");
    let done = app.apply(&["sweep", "--json"]).exit(0).any_err().json();
    assert_eq!((&done["ports_freed"], &done["excludes"]), (&1.into(), &excludes), "{done}");
    assert!(app.excludes().is_empty() && w.at(w.home("")).has("down"));
    assert_eq!(w.at(w.home("")).read("called"), "repair --json\n");
    app.apply(&["doctor"]).exit(0).any_out().any_err();
    put(&app, "two");
    app.git(&["worktree", "remove", "--force", "../two"]);
    let done = app.apply(&["sweep"]).exit(0).any_err();
    done.out_has("freed ports: 1").out_has("freed exclude /.made");
}

#[test]
fn in_a_bare_repository_the_whole_is_checked_and_swept_without_a_worktree_too() {
    let w = World::new();
    w.area("git_excludes = [\"/.made\"]\nteardown = [\"touch ~/down\"]\n");
    let (app, wrap) = (w.app(), w.at(w.home("eng/wrap")));
    app.git(&["clone", "-q", "--bare", ".", wrap.path.join(".bare").to_str().unwrap()]);
    wrap.write(".git", "gitdir: ./.bare\n");
    wrap.git(&["worktree", "add", "-q", "wt", "main"]);
    let wt = w.at(wrap.path.join("wt"));
    wt.apply(&[]).succeeds().any_err();
    for at in [&wt, &wrap] {
        at.apply(&["check", "--all"]).exit(0);
        at.apply(&["sweep", "-v"]).exit(0).err_has("nothing to do");
    }
    wrap.git(&["worktree", "remove", "--force", "wt"]);
    wrap.apply(&["doctor"]).exit(1).any_err().out_has("worktrees that are gone and wait for it: 1");
    wrap.apply(&["sweep"]).exit(0).any_err().out_has("ran").out_has("freed exclude /.made");
    assert!(w.home("down").exists());
    w.at(wrap.path.join(".bare")).apply(&["doctor"]).exit(0).any_out();
    wrap.apply(&[]).exit(2).err_has("no work tree");
}

#[test]
fn a_sweep_names_no_other_agents_worktree() {
    let w = World::new();
    let app = spawn::app(&w);
    let other = spawn::subtree(&app, &["other"]);
    std::fs::rename(&other.path, w.home("away")).unwrap();
    std::fs::create_dir_all(app.path.join(".git/shopfloor/worktree-spawn/gone/x.git")).unwrap();
    let done = app.apply(&["sweep"]).exit(0).any_out();
    assert!(!done.stderr.contains("other"), "{done}");
}

#[test]
fn an_areas_teardown_uses_no_file_of_a_branch_that_nobody_has_read() {
    let w = World::new();
    w.area("teardown = [\"sh ./down.sh\"]\n");
    let app = w.app();
    app.commit("down.sh", "touch ~/evil\n");
    let wt = put(&app, "wt");
    // As in set-up, also if the main checkout has the same.
    wt.apply(&["remove"]).exit(0).any_err().out_has("nobody has approved down.sh");
    assert!(!w.at(w.home("")).has("evil"));
    wt.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    wt.apply(&["remove"]).exit(0).any_err().out_has("ran");
}

#[test]
fn a_branch_that_has_the_name_of_a_directory_names_no_file_by_itself() {
    let w = World::new();
    w.program("docker", "echo \"$*\" >> ~/docker");
    let app = w.app();
    app.commit("docs/a.md", "a\n");
    app.commit("docs/stop.sh", "echo stop >> ~/docker\n");
    app.approved(
        "template = true\nsetup = [\"docker up -p {branch}\"]\nteardown = [\"docker down -p {branch}\", \"sh {branch}/stop.sh\"]\n",
    );
    let wt = put(&app, "docs");
    wt.write("docs/a.md", "agent\n");
    wt.apply(&["--setup-again"]).succeeds().any_err();
    wt.write("docs/stop.sh", "echo agent >> ~/docker\n");
    wt.apply(&["remove"]).exit(0).any_err().out_has("nobody has approved docs/stop.sh, which it uses");
    let asked = wt.apply(&["approvals"]).exit(0).any_err();
    assert!(!asked.out_has("docs/stop.sh").stdout.contains("a.md"), "{asked}");
    wt.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    wt.apply(&["remove"]).exit(0).any_err().out_has("ran");
    assert_eq!(w.at(w.home("")).read("docker"), "up -p docs\nup -p docs\ndown -p docs\nagent\n");
}

#[test]
fn where_an_agent_has_configured_git_the_teardown_waits() {
    let w = World::new();
    w.area("teardown = [\"git status > ~/down\"]\n");
    let app = w.app();
    let wt = put(&app, "wt");
    wt.sh("git config extensions.worktreeConfig true && git config --worktree core.fsmonitor 'touch ~/evil; false'")
        .exit(0);
    wt.apply(&["remove"]).exit(0).any_err().out_has("config.worktree sets core.fsmonitor");
    assert!(!w.home("down").exists() && !w.home("evil").exists());
}
