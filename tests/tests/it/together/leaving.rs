//! Before a worktree goes, the other tools take in what only it has; killed anywhere, a removal is finished by whoever
//! comes next.

use crate::support::floor::Floor;
use crate::support::spawn::{app, subtree};
use crate::support::sweep::{assert_often, sweep_tool};
use crate::support::worker::tree;
use crate::support::world::{Repo, World, text, wait_for, write};

const SETTINGS: &str = ".claude/settings.local.json";

/// Permissions and variables that all worktrees share, and that an agent is about to add to.
fn shared<'w>(w: &'w World) -> Repo<'w> {
    let app = app(w);
    share(&app);
    app
}

fn share(app: &Repo<'_>) {
    app.commit(".gitignore", ".claude/\n.sweatshop-env\n");
    app.world.area("[env]\nEDITOR = \"vi\"\n");
    app.write(SETTINGS, "{\n  \"permissions\": {\n    \"allow\": [\n      \"a\"\n    ]\n  }\n}\n");
    app.overlay(&["add", SETTINGS]).succeeds();
    app.overlay(&["attach"]).succeeds();
    app.overlay(&["hook", "install"]).succeeds();
    app.apply(&["hook", "install"]).succeeds();
}

/// What an agent learns: a permission, a variable.
fn learn(at: &Repo<'_>, what: &str) {
    let learned = at.read(SETTINGS).replace("\"a\"", &format!("\"a\",\n      \"{what}\""));
    at.write(SETTINGS, &learned);
    at.write(".sweatshop-env", &format!("{}NEW_{what}=1\n", at.read(".sweatshop-env")));
}

/// Both are still to be had, with the worktree gone.
#[track_caller]
fn assert_kept(app: &Repo<'_>, at: &Repo<'_>, what: &str) {
    assert!(!at.path.exists());
    app.overlay(&["sync"]).exit(0);
    assert!(app.read(SETTINGS).contains(&format!("\"{what}\"")), "{}", app.read(SETTINGS));
    let kept = kept_variables(app);
    let kept = kept.iter().find(|text| text.contains(&format!("\nNEW_{what}=1\n"))).unwrap();
    assert!(kept.starts_with(&format!("# .sweatshop-env of {}\n", at.path.display())), "{kept}");
}

/// What is kept of the variables of removed worktrees.
fn kept_variables(app: &Repo<'_>) -> Vec<String> {
    let dir = app.path.join(".git/shopfloor/sweatfile-apply/removed");
    let files = std::fs::read_dir(dir).into_iter().flatten().map(|file| file.unwrap().path());
    files.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn what_an_agent_learned_outlives_its_worktree_whoever_removes_it() {
    let w = World::new();
    let app = shared(&w);
    let removed = subtree(&app, &["removed"]);
    learn(&removed, "x");
    let json = app.spawn(&["remove", "removed", "--json"]).exit(0);
    assert_eq!(json.json()["removed"], true);
    json.err_has("kept NEW_x of").err_has("sweatfile-apply/removed/");
    assert_kept(&app, &removed, "x");

    let collected = subtree(&app, &["collected"]);
    app.spawn(&["run", "main.collected", "--", "true"]).exit(0);
    app.spawn(&["wait", "--timeout", "10s"]).succeeds();
    learn(&collected, "y");
    app.spawn(&["gc", "--dry-run"]).succeeds();
    assert!(!kept_variables(&app).iter().any(|text| text.contains("NEW_y")));
    app.spawn(&["gc"]).succeeds().out_has("removed main.collected");
    assert_kept(&app, &collected, "y");
    app.apply(&["doctor"]).exit(0).out_has("variables of 2 removed worktrees are in");
}

#[test]
fn a_worker_that_is_nuked_or_reset_takes_nothing_with_it() {
    let w = World::new();
    let floor = Floor::new(&w);
    let app = floor.app.clone();
    share(&app);
    floor.ctl(&["add", "adam"]).succeeds();
    floor.up();
    let adam = tree(&floor, "adam");
    adam.overlay(&["attach"]).succeeds();
    adam.apply(&["-q"]).succeeds();
    learn(&adam, "x");
    floor.ctl(&["reset", "adam"]).succeeds();
    // It stays, with its own; only the overlay has it too.
    assert!(adam.read(".sweatshop-env").contains("NEW_x"));
    assert!(kept_variables(&app).is_empty());
    app.overlay(&["sync"]).exit(0);
    assert!(app.read(SETTINGS).contains("\"x\""));
    learn(&adam, "y");
    floor.ctl(&["nuke", "adam", "--yes"]).succeeds().err_has("NEW_y");
    assert_kept(&app, &adam, "y");
    assert!(!app.overlay(&["status"]).exit(0).stdout.contains("adam"));
}

#[test]
fn what_cannot_be_taken_in_stops_a_removal_unless_it_is_forced() {
    let w = World::new();
    let app = shared(&w);
    let child = subtree(&app, &["x"]);
    app.spawn(&["run", "main.x", "--", "true"]).exit(0);
    app.spawn(&["wait", "--timeout", "10s"]).succeeds();
    child.write(SETTINGS, "{ \"permissions\": {");
    let overlays = w.at(w.home(".local/share/shopfloor"));
    let (before, shared) = (child.snapshot(), overlays.snapshot());
    app.spawn(&["remove", "x", "-n"]).exit(1).any_out().err_has(SETTINGS);
    app.spawn(&["gc", "-n"]).exit(0).any_out().err_has(SETTINGS);
    overlays.assert_untouched_since(&shared);
    let refused = app.spawn(&["remove", "x", "--json"]).exit(1);
    assert_eq!(text(&refused.json(), "/error/kind"), "pre_remove");
    assert!(text(&refused.json(), "/error/message").contains(SETTINGS), "{refused:?}");
    child.assert_untouched_since(&before);
    child.overlay(&["hook", "run", "pre-remove", "."]).exit(1).err_has(SETTINGS);
    app.spawn(&["remove", "x", "--force"]).succeeds().err_has(SETTINGS);
    assert!(!child.path.exists());
    // Its text can be had back.
    app.overlay(&["sync"]).exit(0);
    let held = app.overlay(&["conflicts", "--json"]).exit(0).json();
    assert_eq!(text(&held, "/state"), "recorded");
    let id = text(&held, "/here");
    app.overlay(&["restore", id, "--to", "back.json"]).succeeds();
    assert_eq!(app.read("back.json"), "{ \"permissions\": {");

    // A tool that fails without a word refuses as well.
    let child = subtree(&app, &["y"]);
    w.program("overlay-sync", "exit 7");
    let refused = app.spawn(&["remove", "y"]).exit(1);
    refused.err_has("y is not removed, because a hook before the removal failed");
    refused.err_has("overlay-sync: its pre-remove ended with exit status 7").err_has("`overlay-sync hook run ");
    assert!(child.path.exists());
    app.spawn(&["remove", "y", "--force"]).succeeds();
}

#[test]
fn a_path_that_a_tool_does_not_manage_is_no_obstacle() {
    let w = World::new();
    let app = app(&w);
    let plain = app.worktree("plain");
    for tool in ["overlay-sync", "sweatfile-apply"] {
        for path in [plain.path.to_str().unwrap(), "/", "/nowhere", "src"] {
            let said = app.run(tool, &["hook", "run", "pre-remove", path]).exit(0);
            assert_eq!(said.stdout + &said.stderr, "", "{tool} {path}");
        }
        app.run(tool, &["hook", "run", "pre-remove"]).exit(2).err_has("one path");
        let off = app.run_with(tool, &["hook", "run", "pre-remove", "."], &[("SHOPFLOOR", "0")]).exit(0);
        assert_eq!(off.stderr, "");
    }
    app.run("ledger-synth", &["hook", "run", "pre-remove", "."]).exit(2).err_has("no hook");
}

#[test]
fn worktrees_that_git_no_longer_lists_are_not_named() {
    let w = World::new();
    let app = shared(&w);
    let (gone, moved) = (subtree(&app, &["gone"]), app.worktree("moved"));
    app.overlay(&["attach", "../moved"]).exit(0);
    app.git(&["worktree", "remove", "--force", gone.path.to_str().unwrap()]);
    std::fs::rename(&moved.path, w.home("elsewhere")).unwrap();
    assert!(!app.overlay(&["status"]).exit(0).stdout.contains("gone"));
    let said = app.overlay(&["sync"]).exit(0);
    assert!(!said.stderr.contains("gone"), "{said:?}");
    said.err_has("moved does not exist");
    let workspaces = w.home(".local/share/shopfloor/overlays/app/.overlay-sync/workspaces");
    assert_eq!(std::fs::read_dir(workspaces).unwrap().count(), 2);
}

#[test]
fn with_a_watch_running_nothing_is_lost_either() {
    let w = World::new();
    let app = shared(&w);
    let child = subtree(&app, &["x"]);
    let mut watch = w.command("overlay-sync");
    let mut watch = watch.arg("watch").current_dir(&app.path).spawn().unwrap();
    let lock = w.home(".local/share/shopfloor/overlays/app/.overlay-sync/watch.lock");
    wait_for(|| std::fs::read_to_string(&lock).is_ok_and(|pid| !pid.is_empty()));
    learn(&child, "x");
    app.spawn(&["remove", "x"]).succeeds();
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert_kept(&app, &child, "x");
}

#[test]
fn killed_at_every_write_a_removal_is_finished_by_the_next_command() {
    let w = World::new();
    let app = app(&w);
    let kills = sweep_tool(
        "worktree-spawn",
        |when| {
            let child = subtree(&app, &["x"]);
            child.commit("src/more/deep", when);
            app.git(&["merge", "-q", "main.x"]);
            app.clone()
        },
        &["-q", "remove", "x"],
        |app, when| {
            // Whoever comes next finishes it, or finds it as it was.
            app.spawn(&["wait", "--timeout", "0s"]).exit(124).any_err();
            let child = w.at(app.path.join(".shopfloor/worktrees/x"));
            if child.path.exists() {
                assert_eq!(child.git(&["status", "--porcelain"]), "", "{when}");
                assert_eq!(child.spawn(&["whoami"]).exit(0).stdout, "main.x\n", "{when}");
                app.spawn(&["-q", "remove", "x"]).exit(0);
            }
            assert!(!child.path.exists(), "{when}");
            assert!(!app.git(&["worktree", "list"]).contains("worktrees/x"), "{when}");
            assert_eq!(app.git(&["branch", "--list", "main.x"]), "", "{when}");
            let left = || {
                let dirs = "cd .git/shopfloor/worktree-spawn && find . -path './removing/*' -o -path './gone/*' -o -path './journal/*'";
                app.sh(dirs).exit(0).stdout
            };
            // The empty lock of a removal that is over may be there until the next repair.
            assert!(left().lines().all(|file| file.ends_with(".lock")), "{when}: {}", left());
            app.spawn(&["repair"]).exit(0);
            assert_eq!(app.spawn(&["repair"]).exit(0).stdout, "", "{when}");
            assert_eq!(left(), "", "{when}");
        },
    );
    assert_often(kills, 8);
}

#[test]
fn what_is_written_while_a_worktree_is_removed_keeps_it() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    // The last chance for a writer: the pre-remove of another tool has just ended.
    w.program("sweatfile-apply", &format!("echo new > '{}/new'", child.path.display()));
    app.spawn(&["remove", "x"]).exit(1).err_has("new");
    assert_eq!(child.read("new"), "new\n");
    assert_eq!(child.spawn(&["whoami"]).exit(0).stdout, "main.x\n");
}

#[test]
fn an_agent_that_was_removed_still_tells_what_it_has_to_say() {
    let w = World::new();
    let app = app(&w);
    app.commit(".shopfloor/config.toml", "[worktree-spawn]\nmax_depth = 3\n");
    let take = || app.spawn(&["wait", "--timeout", "9s"]).exit(0).json();
    let child = subtree(&app, &["x"]);
    child.spawn(&["worker", "w"]).succeeds();
    let inner = subtree(&child, &["y"]);
    let gone = |at: &Repo<'_>, id: &str, remove: &str, then: &str| {
        let app = app.path.display();
        let line =
            format!("eval \"$(worktree-spawn env {id})\"; (cd {app} && worktree-spawn -q {remove}) || exit 99; {then}");
        at.sh(&line)
    };
    // Its record is gone, and its directory is its parent's.
    gone(&child, "main.x/w", "remove main.x/w", "worktree-spawn notify success seat").succeeds();
    let seat = child.spawn(&["wait", "--timeout", "9s"]).exit(0).json();
    assert_eq!((text(&seat, "/message"), text(&seat, "/type")), ("seat", "worker_complete"));
    assert_eq!((text(&seat, "/from/id"), text(&seat, "/forwarded_from")), ("main.x/w", "main.x/w"));
    // Its directory is gone, and its parent's with it.
    let said = gone(&inner, "main.x.y", "remove --recursive x", "worktree-spawn notify failure inner");
    said.succeeds();
    let told = take();
    assert_eq!((text(&told, "/message"), text(&told, "/from/id")), ("inner", "main.x.y"));
    assert_eq!((text(&told, "/forwarded_from"), text(&told, "/status")), ("main.x", "failure"));
    // By name, and through the hook of its program, wherever that runs.
    app.spawn(&["notify", "info", "named", "--as", "main.x"]).succeeds();
    assert_eq!((text(&take(), "/message")), "named");
    let hook = "echo '{\"hook_event_name\":\"Stop\",\"cwd\":\"/nowhere\",\"last_assistant_message\":\"hook\"}' | worktree-spawn hook worker-exit --as main.z";
    let last = subtree(&app, &["z"]);
    gone(&last, "main.z", "remove z", hook).succeeds();
    assert_eq!(text(&take(), "/message"), "hook");
    // One that git itself took away has only its environment to go by.
    let by_hand = subtree(&app, &["hand"]);
    let line = "eval \"$(worktree-spawn env main.hand)\"; git worktree remove --force . && cd / && worktree-spawn notify info bare";
    by_hand.sh(line).succeeds();
    assert_eq!(text(&take(), "/message"), "bare");
    // Nobody's name is as unknown as ever, and what is no agent's word needs a directory.
    app.spawn(&["notify", "info", "x", "--as", "main.nobody"]).exit(1).any_err();
    let lost = w.home("lost");
    std::fs::create_dir(&lost).unwrap();
    w.at(&lost).sh("rmdir ../lost; worktree-spawn list").exit(4).err_has("current directory");
    let nobodys = w.at(&app.path).sh("mkdir lost; cd lost; rmdir ../lost; worktree-spawn notify info x").exit(4);
    nobodys.err_has("cannot read the current directory").err_has("hint: change to one that exists");
}

#[test]
fn a_name_that_was_used_again_is_not_finished_off_with_its_former_owner() {
    let w = World::new();
    let app = app(&w);
    let state = app.path.join(".git/shopfloor/worktree-spawn");
    let uid = "0123456789abcdef0123456789abcdef";
    let journal = |path: &std::path::Path| {
        let work = serde_json::json!({
            "v": 2, "id": "main.x", "record": "x", "name": path.file_name().unwrap().to_str(),
            "deletes": app.git(&["rev-parse", "main"]).trim_end(),
        });
        write(&state.join(format!("removing/{uid}.json")), &work.to_string());
        path.with_file_name(format!(".shopfloor-tmp-{uid}"))
    };
    let child = subtree(&app, &["x"]);
    // Killed before anything was moved, then moved by a person.
    journal(&child.path);
    app.git(&["worktree", "move", child.path.to_str().unwrap(), "../moved"]);
    app.spawn(&["gc"]).exit(0).err_has("before it began");
    let moved = w.at(app.path.join("../moved"));
    assert_eq!(moved.git(&["branch", "--show-current"]), "main.x\n");
    // Killed once its files were moved; then git let go of the record, and made another of its name.
    let aside = journal(&moved.path);
    std::fs::rename(&moved.path, &aside).unwrap();
    std::fs::write(aside.join("kept"), "kept\n").unwrap();
    app.git(&["worktree", "prune"]);
    let other = app.path.join("../elsewhere/x");
    app.git(&["worktree", "add", "-q", other.to_str().unwrap(), "main.x"]);
    app.spawn(&["gc"]).exit(0).err_has("before it began");
    assert_eq!(w.at(&other).git(&["status", "--porcelain"]), "");
    assert_eq!(w.at(&other).git(&["branch", "--show-current"]), "main.x\n");
    assert_eq!(std::fs::read_to_string(aside.join("kept")).unwrap(), "kept\n");
}

#[test]
fn an_overlay_that_is_gone_keeps_the_worktrees_that_have_edits_for_it() {
    let w = World::new();
    let app = shared(&w);
    let child = subtree(&app, &["x"]);
    learn(&child, "x");
    let data = w.home(".local/share/shopfloor");
    std::fs::rename(&data, w.home("off")).unwrap();
    app.spawn(&["remove", "x"]).exit(1).err_has("overlay");
    // Another one that was named by mistake is not asked instead.
    let typo = [("OVERLAY_SYNC_OVERLAY", w.home("typo").to_str().unwrap().to_owned())];
    let typo = [(typo[0].0, typo[0].1.as_str())];
    app.run_with("worktree-spawn", &["remove", "x"], &typo).exit(1).any_err();
    assert!(child.path.exists());
    std::fs::rename(w.home("off"), &data).unwrap();
    // The worktree says which overlay is its own, but an agent could have written that.
    app.run_with("worktree-spawn", &["remove", "x"], &typo).exit(1).err_has("says that it is attached to");
    app.spawn(&["remove", "x"]).succeeds();
    assert_kept(&app, &child, "x");
}

#[test]
fn a_name_used_twice_and_a_link_inside_keep_what_they_had() {
    let w = World::new();
    let app = shared(&w);
    for value in ["1", "2"] {
        let child = subtree(&app, &["x"]);
        child.write(".sweatshop-env", &format!("TWICE={value}\n"));
        app.spawn(&["remove", "x"]).succeeds();
    }
    let mut kept = kept_variables(&app);
    kept.sort();
    assert!(kept[0].ends_with("\nTWICE=1\n") && kept[1].ends_with("\nTWICE=2\n"), "{kept:?}");
    let child = subtree(&app, &["linked"]);
    child.write(".claude/mine", "INSIDE=1\n");
    std::fs::remove_file(child.path.join(".sweatshop-env")).unwrap();
    std::os::unix::fs::symlink(".claude/mine", child.path.join(".sweatshop-env")).unwrap();
    app.spawn(&["remove", "linked"]).exit(1).err_has(".sweatshop-env");
    assert!(child.has(".claude/mine"));
}

#[test]
fn one_that_was_removed_does_not_speak_for_the_one_that_has_its_name_now() {
    let w = World::new();
    let app = app(&w);
    let first = subtree(&app, &["x"]);
    let old = first.spawn(&["env", "main.x"]).succeeds().stdout;
    let id = || text(&app.spawn(&["whoami", "--as", "main.x", "--json"]).exit(0).json(), "/path").to_owned();
    app.spawn(&["remove", "x"]).succeeds();
    let second = subtree(&app, &["x"]);
    assert_eq!(id(), second.path.to_str().unwrap());
    app.sh(&format!("{old}\ncd / && worktree-spawn notify success 'of the first'")).succeeds();
    let event = app.spawn(&["wait", "--timeout", "9s"]).exit(0).json();
    assert_eq!((text(&event, "/message"), text(&event, "/from/id")), ("of the first", "main.x"));
    assert_eq!(text(&event, "/forwarded_from"), "main.x");
    // The one that lives speaks for itself, and nothing was forwarded.
    second.spawn(&["notify", "success", "of the second"]).succeeds();
    let event = app.spawn(&["wait", "--timeout", "9s"]).exit(0).json();
    assert_eq!(event.get("forwarded_from"), None, "{event}");
}
