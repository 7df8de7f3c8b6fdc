//! worker-ctl: `runner = "sandbox"`, from a task to landed work.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::floor::Floor;
use crate::support::forge::Forge;
use crate::support::sandbox::works;
use crate::support::worker::{assert_landed, configure, event, program, prompts, table, tip, tree, work};
use crate::support::world::{Repo, World, find, skip, text, wait_for, which, write};

/// A floor with a worker in a sandbox, if this machine can make one.
fn contained(w: &World) -> Option<Floor<'_>> {
    works(w).then(|| {
        let floor = Floor::new(w);
        let more = "env = { SCRIPTED_LOG = \"/home/agent/prompts.jsonl\" }\n";
        table(&floor, "boxed", &[&program()], more);
        floor.ctl(&["add", "adam", "--runner", "sandbox", "--agent", "boxed"]).succeeds();
        floor.up();
        floor
    })
}

/// The prompts that the contained agent got.
fn prompts_inside(w: &World) -> Vec<String> {
    let boxes = std::fs::read_dir(w.home(".local/state/shopfloor/boxes")).into_iter().flatten().flatten();
    boxes.flat_map(|dir| prompts(&dir.path().join("home/prompts.jsonl"))).collect()
}

/// Lets the contained agent run a line.
fn run_inside(floor: &Floor<'_>, line: &str) {
    floor.ctl(&["message", "adam", &format!("RUN {line}"), "--force"]).succeeds();
}

fn hook_inside(floor: &Floor<'_>, payload: &Value) {
    run_inside(floor, &format!("echo '{payload}' | worker-ctl hook claude"));
}

#[test]
fn a_contained_worker_goes_from_its_task_to_landed_work() {
    let w = World::new();
    let Some(floor) = contained(&w) else { return };
    assert!(floor.root.read("config.toml").contains("runner = \"sandbox\""));
    assert_eq!(floor.status("adam")["runner"], "sandbox");
    floor.ctl(&["doctor"]).any_status().any_err().out_has("bubblewrap").out_has("for 1 workers");
    work(&floor, "adam", "COMMIT a.txt one Write a");
    // Its stashes are its own.
    let told = prompts_inside(&w).concat();
    assert!(told.contains("Make a single commit") && !told.contains("git stash"), "{told}");
    floor.ctl(&["review", "adam"]).exit(0).out_has("+one");
    floor.ctl(&["reject", "AMEND a.txt two"]).succeeds();
    wait_for(|| prompts_inside(&w).len() == 2);
    floor.until("adam", "needs_review");
    let old = tip(&floor);
    floor.ctl(&["review", "adam"]).exit(0).out_has("+two");
    floor.ctl(&["accept"]).succeeds();
    assert_landed(&floor, "adam", &old, "contained");
    // The next task begins on what has landed, inside too.
    work(&floor, "adam", "COMMIT b.txt one Write b");
    assert_eq!(
        tree(&floor, "adam").git(&["log", "--format=%s"]).lines().take(2).collect::<Vec<_>>(),
        ["Write b", "Write a"]
    );
    floor.ctl(&["accept", "adam"]).succeeds().err_has("was not reviewed");
    assert_eq!(floor.app.read("b.txt"), "one\n");
    // What was amended is kept when its sandbox goes.
    floor.ctl(&["nuke", "adam", "--yes"]).exit(0).any_out().any_err();
    let kept = floor.root.git(&["log", "-p", "--format=", "--glob=refs/shopfloor/trash/adam", "--", "a.txt"]);
    assert!(kept.contains("+one"), "{kept}");
}

/// What is pushed is what came out of the sandbox and was shown, whatever its agent has committed since.
#[test]
fn a_request_pushes_what_came_out_of_the_sandbox() {
    let mut w = World::new();
    let Some(forge) = Forge::start(&mut w) else { return };
    let Some(floor) = contained(&w) else { return };
    forge.take(&floor.app);
    work(&floor, "adam", "COMMIT a.txt one Write a");
    let sha = text(&floor.status("adam"), "/commit").to_owned();
    floor.ctl(&["request", "adam", "--yes"]).exit(0).any_err().out_has("pull/100");
    assert_eq!(Forge::bare(&w).git(&["rev-parse", "worker/adam"]).trim_end(), sha);
    // An agent in a sandbox has no login, and reaches no remote of the person's.
    run_inside(
        &floor,
        "echo \"t=$GH_TOKEN\" > seen; git push origin HEAD:refs/heads/own > pushed 2>&1; echo $? >> pushed",
    );
    wait_for(|| tree(&floor, "adam").has("pushed") && tree(&floor, "adam").read("pushed").ends_with('\n'));
    assert_eq!(tree(&floor, "adam").read("seen"), "t=\n");
    assert_eq!(Forge::bare(&w).git(&["branch", "--list", "own"]), "");
}

#[test]
fn work_follows_what_lands_and_a_conflict_is_merged_by_its_agent() {
    let w = World::new();
    let Some(floor) = contained(&w) else { return };
    work(&floor, "adam", "COMMIT a.txt one Write a");
    floor.app.commit("other.txt", "x\n");
    floor.ctl(&["rebase", "adam"]).succeeds();
    let log = tree(&floor, "adam").git(&["log", "--format=%s"]);
    assert!(log.starts_with("Write a\nother.txt"), "{log}");
    floor.app.commit("a.txt", "theirs\n");
    floor.ctl(&["accept", "adam"]).exit(1).any_out().any_err();
    assert_eq!(text(&floor.status("adam"), "/status"), "rebasing");
    wait_for(|| prompts_inside(&w).len() == 2);
    assert!(prompts_inside(&w)[1].contains("git rebase main"));
    run_inside(&floor, "git rebase main; echo both > a.txt; git add a.txt; GIT_EDITOR=true git rebase --continue");
    floor.until("adam", "needs_review");
    floor.ctl(&["accept", "adam"]).succeeds().any_err();
    assert_eq!(floor.app.read("a.txt"), "both\n");
}

#[test]
fn a_file_that_git_ignores_inside_is_not_overwritten() {
    let w = World::new();
    let Some(floor) = contained(&w) else { return };
    floor.app.commit(".gitignore", "*.local\n");
    work(&floor, "adam", "RUN mkdir x.local; echo mine > x.local/keys\nCOMMIT a.txt one Write a");
    floor.app.commit("x.local", "theirs\n");
    floor.ctl(&["rebase", "adam"]).exit(1).any_out().err_has("x.local/keys would be lost");
    floor.ctl(&["accept", "adam"]).exit(1).any_out().err_has("x.local/keys would be lost");
    assert_eq!(tree(&floor, "adam").read("x.local/keys"), "mine\n");
}

#[test]
fn a_move_that_git_cannot_finish_inside_leaves_the_worktree_as_it_was() {
    let w = World::new();
    let Some(floor) = contained(&w) else { return };
    floor.app.commit("d/f", "one\n");
    work(&floor, "adam", "RUN chmod 500 d\nCOMMIT a.txt one Write a");
    floor.app.commit("come", "x\n");
    floor.app.commit("d/f", "two\n");
    let (adam, says) = (tree(&floor, "adam"), "unable to unlink old 'd/f'");
    floor.ctl(&["rebase", "adam"]).exit(4).any_out().err_has(says).err_has("-c core.hooksPath=/dev/null rebase --onto");
    assert_eq!(adam.git(&["status", "--porcelain"]), "");
    floor.ctl(&["accept", "adam"]).exit(0).any_out().err_has(says).err_has("-c core.hooksPath=/dev/null reset --keep");
    assert_eq!((adam.read("a.txt") + &adam.read("d/f"), adam.has("come")), ("one\none\n".into(), false));
    run_inside(&floor, "test -z \"$(git status --porcelain)\" && touch clean");
    wait_for(|| adam.has("clean"));
}

#[test]
fn a_move_whose_sandbox_is_killed_is_done_by_the_next_command() {
    let w = World::new();
    let Some(floor) = contained(&w) else { return };
    let (real, kill) = (which("bwrap").display().to_string(), "kill -KILL $$");
    for (n, deed) in [kill.to_owned(), format!("'{real}' \"$@\"; {kill}")].iter().enumerate() {
        work(&floor, "adam", &format!("COMMIT {n}.txt one Write {n}"));
        let old = tip(&floor);
        w.program("bwrap", &format!("case \"$*\" in *'reset -q --keep'*) {deed} ;; esac; exec '{real}' \"$@\""));
        floor.ctl(&["accept", "adam"]).exit(4).any_out().err_has("not all is done: the sandbox ended with signal 9");
        std::fs::remove_file(w.path("bin/bwrap")).unwrap();
        floor.ctl(&["patrol"]).succeeds().any_err();
        assert_landed(&floor, "adam", &old, deed);
    }
}

#[test]
fn what_both_sides_have_committed_is_joined() {
    let w = World::new();
    let Some(floor) = contained(&w) else { return };
    let task = "RUN mkfifo go; read x < go; rm go; echo 4 > f; git add f; git commit -qm four";
    floor.ctl(&["start", "adam", "--task", task]).succeeds();
    let adam = tree(&floor, "adam");
    wait_for(|| adam.has("go"));
    // Where the branch is checked out.
    adam.commit("new", "mine\n");
    adam.commit("README.md", "mine\n");
    adam.sh("echo > go").exit(0);
    wait_for(|| floor.status("adam")["notes"].to_string().contains("was moved outside"));
    adam.write("f", "5\n");
    floor.ctl(&["rebase", "adam"]).exit(1).any_out().err_has("adam has changes, or its commits conflict");
    assert_eq!((adam.read("f"), adam.read("new")), ("5\n".into(), "mine\n".into()));
    adam.write("f", "4\n");
    floor.ctl(&["rebase", "adam"]).succeeds();
    assert_eq!(adam.git(&["log", "--format=%s", "-3"]), "four\nREADME.md\nnew\n");
    assert_eq!((adam.git(&["status", "--porcelain"]), adam.read("new")), (String::new(), "mine\n".into()));
}

#[test]
fn hooks_inside_are_heard_and_a_crash_loses_nothing() {
    let w = World::new();
    let Some(floor) = contained(&w) else { return };
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    hook_inside(
        &floor,
        &json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": { "command": "ls" } }),
    );
    wait_for(|| text(&floor.status("adam"), "/activity") == "asks");
    hook_inside(&floor, &event("Stop"));
    wait_for(|| text(&floor.status("adam"), "/activity") == "rests");
    floor.ctl(&["message", "adam", "COMMIT a.txt one Write a\nEXIT 7"]).succeeds();
    floor.until("adam", "error");
    floor.ctl(&["resume", "adam"]).exit(0).any_out().any_err();
    floor.until("adam", "needs_review");
    floor.ctl(&["down"]).succeeds();
    floor.ctl(&["accept", "adam"]).succeeds().any_err();
    assert_eq!(floor.app.read("a.txt"), "one\n");
}

#[test]
fn a_text_in_a_file_is_read_inside() {
    let w = World::new();
    let Some(floor) = contained(&w) else { return };
    configure(&floor, "[agents.boxed]", "[agents.boxed]\npaste = \"file\"");
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    wait_for(|| prompts_inside(&w).len() == 1);
    let line = prompts_inside(&w)[0].clone();
    let file = line.strip_prefix("Read ").and_then(|rest| rest.strip_suffix(" and do what it says.")).unwrap();
    configure(&floor, "paste = \"file\"", "");
    run_inside(&floor, &format!("cp {file} read; echo x >> {file} || echo kept >> read"));
    wait_for(|| tree(&floor, "adam").has("read") && tree(&floor, "adam").read("read").ends_with("kept\n"));
    assert!(tree(&floor, "adam").read("read").contains("\n\nthink"));
}

#[test]
fn what_is_refused_is_told_and_a_reset_keeps_what_is_inside() {
    let w = World::new();
    let Some(floor) = contained(&w) else { return };
    work(&floor, "adam", "COMMIT a.txt one Write a");
    run_inside(&floor, "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; git commit -m sub");
    wait_for(|| floor.status("adam")["notes"].to_string().contains("import refused"));
    assert_eq!(floor.status("adam")["needs"], "error");
    floor.ctl(&["nuke", "adam", "--yes"]).exit(1).err_has("work that is nowhere else");
    // What nobody should take goes aside.
    floor.ctl(&["add", "eve", "--runner", "sandbox", "--agent", "boxed"]).succeeds();
    floor.ctl(&["up", "eve"]).succeeds();
    let line = "RUN git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; git commit -m sub; chmod 0 .git-blame f";
    floor.ctl(&["start", "--worker", "eve", "--task", line]).succeeds();
    wait_for(|| floor.status("eve")["notes"].to_string().contains("import refused"));
    let kept = floor.ctl(&["reset", "eve", "--force"]).exit(0).any_err().stdout.clone();
    assert!(kept.contains("/boxes/"), "{kept}");
    floor.ctl(&["nuke", "eve", "--yes", "--force"]).exit(0).any_out().any_err();
    run_inside(&floor, "git reset --hard HEAD~1");
    wait_for(|| floor.status("adam")["notes"] == json!([]));
    floor.until("adam", "needs_review");
    floor.ctl(&["reset", "adam"]).exit(1).any_err();
    floor.ctl(&["reset", "adam", "--force"]).exit(0).any_out().any_err();
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
    work(&floor, "adam", "COMMIT b.txt one Write b");
    floor.ctl(&["nuke", "adam", "--yes", "--force"]).exit(0).any_out().any_err();
    // So does what was refused and given up inside since: the log there still names it.
    assert_eq!(std::fs::read_dir(w.home(".local/state/shopfloor/boxes")).unwrap().count(), 2);
    floor.ctl(&["doctor"]).exit(1).any_err().out_has("is left");
}

#[test]
fn a_person_logs_in_inside() {
    let w = World::new();
    let Some(floor) = contained(&w) else { return };
    floor.ctl(&["login", "adam"]).exit(2).err_has("boxed has no command for that");
    table(&floor, "claude", &[&program()], "");
    configure(&floor, "agent = \"boxed\"", "agent = \"claude\"");
    floor.ctl(&["-n", "login", "adam"]).exit(0).out_has("auth login` in its sandbox");
    let script = "#!/bin/sh\n[ \"$*\" = 'auth login' ] && echo secret > /home/agent/login\n";
    write(&w.home("bin/claude"), script);
    floor.root.sh(&format!("chmod +x '{}'", w.home("bin/claude").display())).exit(0);
    let line = format!("command = [\"{}\"]", w.home("bin/claude").display());
    configure(&floor, &format!("[agents.claude]\ncommand = [{:?}]", program()), &format!("[agents.claude]\n{line}"));
    floor.ctl(&["login", "adam"]).succeeds();
    let boxes = std::fs::read_dir(w.home(".local/state/shopfloor/boxes")).unwrap().flatten();
    let logged_in = boxes.filter(|dir| dir.path().join("home/login").exists()).count();
    assert_eq!((logged_in, w.home("login").exists()), (1, false));
    floor.ctl(&["add", "eve"]).succeeds();
    floor.ctl(&["login", "eve"]).exit(1).err_has("eve runs in no sandbox");
}

#[test]
fn how_much_comes_out_at_once_is_a_setting() {
    let w = World::new();
    let Some(floor) = contained(&w) else { return };
    let limits = |text: &str| format!("\n[runners.sandbox]\nlimits = {{ {text} }}\n");
    let config = floor.root.read("config.toml");
    floor.root.write("config.toml", &(config.clone() + &limits("object = \"much\"")));
    floor.ctl(&["status"]).exit(2).err_has("`object = \"much\"` of [runners.sandbox] is no size");
    floor.root.write("config.toml", &(config.clone() + "\n[runners.sandbox]\nnetwrok = false\n"));
    floor
        .ctl(&["status"])
        .exit(2)
        .err_has("config.toml:")
        .err_has("unknown setting `netwrok`; did you mean `network`?");
    floor.root.write("config.toml", &(config.clone() + &limits("commits = 0")));
    // What the root's table does not say is as in the person's own.
    write(&w.home(".config/shopfloor/config.toml"), "[worker-ctl.runners.sandbox]\nnetwork = false\n");
    floor.ctl(&["down"]).succeeds();
    floor.ctl(&["up", "adam"]).succeeds();
    let task = "RUN readlink /proc/self/ns/net > net; git add net\nCOMMIT a.txt one Write a";
    floor.ctl(&["start", "adam", "--task", task]).succeeds();
    wait_for(|| floor.status("adam")["notes"].to_string().contains("1 new commits"));
    floor.root.write("config.toml", &(config + &limits("commits = 1")));
    floor.until("adam", "needs_review");
    let network = tree(&floor, "adam").read("net");
    assert!(network.starts_with("net:") && network != floor.app.sh("readlink /proc/self/ns/net").exit(0).stdout);
}

#[test]
fn a_worker_that_is_to_be_contained_never_runs_without() {
    let w = World::new();
    let floor = Floor::new(&w);
    w.program("bwrap", "echo no >&2; exit 1");
    floor.ctl(&["add", "adam", "--runner", "sandbox"]).exit(2).err_has("no sandbox can be made");
    assert!(!floor.root.has(".worktrees/adam") && !floor.root.read("config.toml").contains("[workers.adam]"));
    floor.ctl(&["add", "adam"]).succeeds();
    configure(&floor, "[workers.adam]", "[workers.adam]\nrunner = \"sandbox\"");
    floor.ctl(&["up", "--detach"]).exit(0).any_out().any_err();
    let row = floor.status("adam");
    assert_eq!((text(&row, "/status"), text(&row, "/fault")), ("error", "no sandbox"));
    floor.ctl(&["down"]).succeeds();
    floor.ctl(&["up", "adam"]).exit(2).any_out().err_has("no sandbox can be made");
    floor.ctl(&["doctor"]).exit(1).any_err().out_has("no sandbox can be made");
    assert_eq!(floor.prompts().len(), 0);
    configure(&floor, "[workers.adam]\nrunner = \"sandbox\"", "[workers.adam]\nrunner = \"box\"");
    floor.ctl(&["status"]).exit(2).err_has("no runner is called `box`");
    configure(&floor, "runner = \"box\"", "runner = \"none\"");
}

/// A person's own repository, where agents of `new` are the scripted one, if this machine can make sandboxes.
fn own_repository(w: &World) -> Option<Repo<'_>> {
    if !works(w) {
        return None;
    }
    let app = w.app();
    app.commit("README.md", "app\n");
    let agent = format!(
        "[worktree-spawn]\nagent = \"boxed\"\n[worker-ctl.agents.boxed]\ncommand = [{:?}]\n\
         env = {{ SCRIPTED_LOG = \"/home/agent/prompts.jsonl\" }}\nready = {{ pattern = \"^>\" }}\n",
        program()
    );
    write(&w.home(".config/shopfloor/config.toml"), &agent);
    Some(app)
}

#[test]
fn what_was_refused_is_forgotten_once_anybody_has_taken_it_in() {
    let w = World::new();
    let Some(app) = own_repository(&w) else { return };
    app.shopfloor(&["new", "feat", "COMMIT a.txt one Write a", "--sandbox"]).exit(0).any_out().any_err();
    app.shopfloor(&["wait", "feat", "--for", "needs_review"]).succeeds();
    app.shopfloor(&["stop", "feat", "--force"]).exit(0).any_out().any_err();
    let (real, says) = (which("bwrap").display().to_string(), "echo 'bwrap: no room' >&2; exit 1");
    w.program("bwrap", &format!("case \"$*\" in *pack-objects*) {says} ;; esac; exec '{real}' \"$@\""));
    let late = ["run", "main.feat", "--sandbox", "--", "git", "commit", "-q", "--allow-empty", "-m", "late"];
    app.spawn(&late).any_status().any_out().err_has("import refused");
    let workers = w.at(w.home("workers"));
    let status = || workers.run("worker-ctl", &["status", "--json"]).exit(0).any_err().json();
    let notes = || status()["workers"][0]["notes"].to_string();
    workers.run("worker-ctl", &["rebase", "feat"]).any_status().any_out().any_err();
    assert!(notes().contains("no room to pack them; bwrap: no room"), "{}", notes());
    std::fs::remove_file(w.path("bin/bwrap")).unwrap();
    app.spawn(&["list", "--status"]).exit(0).any_out();
    workers.run("worker-ctl", &["patrol"]).exit(0).any_out().any_err();
    assert!(!notes().contains("import refused"), "{}", notes());
    workers.run("worker-ctl", &["down", "--force"]).any_status().any_out().any_err();
}

#[test]
fn an_agent_of_new_in_the_persons_own_repository_is_contained() {
    let w = World::new();
    let Some(app) = own_repository(&w) else { return };
    let bait = w.home("bait");
    write(&app.path.join(".git/hooks/post-commit"), &format!("#!/bin/sh\ntouch {}\n", bait.display()));
    app.sh("chmod +x .git/hooks/post-commit").exit(0);
    write(&app.path.join(".env"), "SECRET=1\n");
    app.shopfloor(&["new", "later", "--sandbox"]).exit(2).err_has("for an agent with a task");
    let read = format!("RUN cat {}/.env > found", app.path.display());
    let task = format!("{read}\nRUN worktree-spawn notify info half\nCOMMIT a.txt one Write a");
    let path = app.shopfloor(&["new", "feat", &task, "--sandbox"]).exit(0).any_err().stdout;
    let does = |words: &[&str]| app.shopfloor(words).exit(0).any_err().stdout.clone();
    does(&["wait", "feat", "--for", "needs_review"]);
    let event = app.spawn(&["wait", "--timeout", "20s"]).exit(0).json();
    assert_eq!((text(&event, "/message"), text(&event, "/from/id")), ("half", "main.feat"), "{event}");
    assert_eq!(w.at(path.trim_end()).read("found"), "");
    assert!(does(&["review", "feat", "--pin"]).contains("+one"));
    does(&["back", "feat", "RUN rm found\nAMEND a.txt two"]);
    does(&["wait", "feat", "--for", "needs_review"]);
    does(&["review", "feat", "--pin"]);
    does(&["land", "feat"]);
    // Once contained, it stays so, whoever adopts it again.
    let workers = w.at(w.home("workers"));
    workers.run("worker-ctl", &["nuke", "feat", "--yes"]).exit(0).any_out().any_err();
    does(&["adopt", path.trim_end()]);
    does(&["start", "feat", &format!("{read}\nRUN test -s found || rm found; touch done")]);
    wait_for(|| w.at(path.trim_end()).has("done"));
    assert!(!w.at(path.trim_end()).has("found"));
    std::fs::remove_file(w.at(path.trim_end()).path.join("done")).unwrap();
    assert!(workers.run("worker-ctl", &["status", "--json"]).exit(0).stdout.contains("\"runner\":\"sandbox\""));
    does(&["stop", "feat", "--force"]);
    assert_eq!((app.read("a.txt"), bait.exists()), ("two\n".into(), false));
    does(&["rm", "feat", "--force"]);
    assert!(!w.at(path.trim_end()).has("") && !app.git(&["for-each-ref"]).contains("refs/shopfloor/in"));
    assert!(app.git(&["log", "-p", "--format=", "--glob=refs/shopfloor/trash/main.feat"]).contains("+one"));
    w.at(w.home("workers")).run("worker-ctl", &["down", "--force"]).any_status().any_out().any_err();
}

/// The recipe of docs/sandbox.md: srt inside holds the program to a list of domains, and the sandbox holds srt.
#[test]
fn srt_inside_holds_a_program_to_a_list_of_domains() {
    // It has a /dev of its own, and nothing of ours lies below that.
    let w = World::below(Path::new("/var/tmp"));
    let (Some(srt), true) = (find("srt"), ["socat", "rg"].iter().all(|name| find(name).is_some())) else {
        let _ = skip("srt, socat and rg");
        return;
    };
    // As root srt wants a right that nothing has in a sandbox.
    let is_root = w.at(w.home("")).sh("id -u").exit(0).stdout.trim() == "0";
    if is_root && !skip("an ordinary user") || !works(&w) {
        return;
    }
    let floor = Floor::new(&w);
    let programs = srt.ancestors().nth(3).unwrap();
    write(
        &w.home("srt.json"),
        r#"{"enableWeakerNestedSandbox": true, "network": {"allowedDomains": ["example.org"], "deniedDomains": []},
            "filesystem": {"denyRead": [], "allowWrite": ["/"], "denyWrite": []}}"#,
    );
    let settings = w.home("srt.json");
    let config = floor.root.read("config.toml");
    let read = format!("[runners.sandbox]\nnested = true\nread = [{programs:?}, {settings:?}, {:?}]\n", program());
    floor.root.write("config.toml", &format!("{config}\n{read}"));
    let env = "env = { SCRIPTED_LOG = \"/home/agent/prompts.jsonl\" }\n";
    // It puts empty files into the directory that it starts in.
    let inside = format!(
        r#"cd && exec '{}' --settings '{}' -c "cd ${{OLDPWD@Q}} && exec ${{*@Q}}""#,
        srt.display(),
        settings.display()
    );
    let command = ["bash", "-c", &inside, "bash", &program()];
    table(&floor, "listed", &command, env);
    floor.ctl(&["add", "adam", "--runner", "sandbox", "--agent", "listed"]).succeeds();
    floor.up();
    // Another domain is refused by srt's proxy, and there is no way around it.
    let ask = "curl -s -o /dev/null -w '%{http_connect}' https://pypi.org > asked; \
               curl -s --noproxy '*' --max-time 5 https://pypi.org > /dev/null; echo \" $?\" >> asked; git add asked";
    work(&floor, "adam", &format!("RUN {ask}\nCOMMIT a.txt one Write a"));
    assert_eq!(tree(&floor, "adam").read("asked"), "403 6\n");
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!(floor.app.read("a.txt"), "one\n");
}
