//! worker-ctl: agents of worktree-spawn as workers, with their parents and children.

use serde_json::{Value, json};

use crate::support::floor::Floor;
use crate::support::mcp::Client;
use crate::support::worker::{commit, deadly_git, event, head, hook, kill_and_wait, refused, tip, tree, up, work};
use crate::support::world::{Repo, World, text, wait_for, which, write};

/// A repository whose agents may have children, with the subtree `x` of the main checkout, and `x`'s own subtree `y`, both
/// workers.
fn family(w: &World) -> (Floor<'_>, Repo<'_>, Repo<'_>) {
    which("tmux");
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 3\n");
    let app = w.app();
    app.commit("README.md", "app\n");
    let add = "worktree-spawn subtree NAME | worker-ctl add --worktree -";
    let spawn = |at: &Repo<'_>, name: &str| w.at(at.sh(&add.replace("NAME", name)).exit(0).any_err().stdout.trim_end());
    let x = spawn(&app, "x");
    let y = spawn(&x, "y");
    (Floor::of(app, w), x, y)
}

/// The events that wait for an agent, taken out of its session.
fn taken(at: &Repo<'_>) -> Vec<Value> {
    std::iter::from_fn(|| {
        let out = at.spawn(&["wait", "--timeout", "0"]);
        let is_there = out.status == Some(0);
        let out = out.any_status().any_err();
        is_there.then(|| serde_json::from_str(out.stdout.trim()).unwrap())
    })
    .collect()
}

/// The first event that comes for an agent.
fn next(at: &Repo<'_>) -> Value {
    at.spawn(&["wait", "--timeout", "20s"]).exit(0).json()
}

#[test]
fn a_spawned_agent_runs_under_its_own_tool_and_its_parent_is_told_once() {
    let w = World::new();
    let (floor, ..) = family(&w);
    let app = &floor.app;
    app.git(&["remote", "add", "origin", "/nowhere"]);
    app.sh("git config user.name Ada && git config user.email a@x").exit(0);
    up(&floor, &["x"]);
    let alive = || {
        let rows = app.spawn(&["list", "--json"]).exit(0).json_lines();
        let row = rows.iter().find(|row| row["id"] == "main.x").unwrap().clone();
        text(&row, "/alive").to_owned()
    };
    assert_eq!(alive(), "up");
    let pane = &floor.status("x")["pane_pid"];
    let environment =
        app.sh(&format!("cat /proc/$(echo $(cat /proc/{pane}/task/*/children))/environ | tr '\\0' '\\n'")).exit(0);
    for line in [
        "SHOPFLOOR_AGENT_ID=main.x\n",
        "WORKER_CTL_WORKER=x\n",
        "GIT_CONFIG_COUNT=4\n",
        "GIT_CONFIG_KEY_0=remote.origin.pushurl\n",
        "GIT_CONFIG_KEY_2=user.name\n",
    ] {
        assert!(environment.stdout.contains(line), "{line}: {}", environment.stdout);
    }
    // What a person does is no report.
    work(&floor, "x", "COMMIT f one First");
    floor.ctl(&["review", "x"]).exit(0).any_out();
    floor.ctl(&["reject", "again\nCOMMIT f two Second"]).succeeds();
    floor.until("x", "needs_review");
    floor.ctl(&["down"]).succeeds().any_err();
    assert_eq!((alive(), taken(app).len()), ("exited".into(), 0));
    floor.ctl(&["accept", "x"]).exit(0).any_out().any_err();
    let told = next(app);
    let of = |told: &Value, key: &str| text(told, key).to_owned();
    assert_eq!(
        (of(&told, "/type"), of(&told, "/status"), of(&told, "/message")),
        ("subtree_complete".into(), "success".into(), "landed on main".into())
    );
    up(&floor, &["x"]);
    kill_and_wait(&floor, "x");
    let told = next(app);
    assert_eq!((of(&told, "/from/id"), of(&told, "/status")), ("main.x".into(), "failure".into()));
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    assert_eq!(taken(app).len(), 0);
}

#[test]
fn a_parent_lands_its_children_and_they_talk() {
    let w = World::new();
    let (floor, x, y) = family(&w);
    let app = &floor.app;
    up(&floor, &["x", "y"]);
    floor.ctl(&["start", "x", "--task", "think"]).succeeds();
    hook(&floor, "x", &event("UserPromptSubmit"));
    work(&floor, "y", "COMMIT f one First");
    // Nobody else lands on the branch of an agent at work.
    assert_eq!(refused(&floor, &["accept", "y"], 1), "busy");
    assert_eq!(text(&next(&x), "/type"), "child_blocked");
    let mut parent = Client::connect(&x, ".mcp.json");
    // Its own changes are in the way.
    x.write("f", "mine\n");
    assert!(parent.refused("land_child", json!({ "name": "y" })).contains("in the way"));
    let told = next(&x);
    assert_eq!((text(&told, "/type"), &told["paths"]), ("child_blocked", &json!(["f"])));
    x.sh("rm f").exit(0);
    let landed = parent.call("land_child", json!({ "name": "y" }));
    assert_eq!(
        (text(&landed, "/outcome"), text(&landed, "/branch"), x.read("f")),
        ("accepted", "main.x", "one\n".into())
    );
    let told = next(&x);
    let of = |key: &str| text(&told, key).to_owned();
    assert_eq!(
        (of("/type"), of("/from/id"), &told["paths"]),
        ("child_landed".into(), "main.x.y".into(), &json!(["f"]))
    );
    assert_eq!(taken(&x).len(), 0);
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    assert_eq!(
        (text(&floor.status("x"), "/task"), tip(&floor)),
        ("working", app.git(&["rev-parse", "main"]).trim_end().into())
    );
    // A message is one of a person's, and says who speaks.
    floor.ctl(&["start", "y", "--task", "more"]).succeeds();
    assert!(parent.refused("send_agent", json!({ "to": "y", "text": " \n" })).contains("the text is empty"));
    parent.call("send_agent", json!({ "to": "main.x.y", "text": "hurry" }));
    wait_for(|| floor.prompts().iter().any(|prompt| prompt == "[from main.x] hurry"));
    let mut child = Client::connect(&y, ".mcp.json");
    child.call("send_agent", json!({ "to": "x", "text": "soon" }));
    wait_for(|| floor.prompts().iter().any(|prompt| prompt == "[from main.x.y] soon"));
    assert!(
        child
            .refused("send_agent", json!({ "to": "root", "text": "hi" }))
            .contains("neither your parent nor your child")
    );
    assert!(child.refused("land_child", json!({ "name": "x" })).contains("is not your child"));
    assert!(parent.refused("send_agent", json!({ "to": "nobody", "text": "hi" })).contains("there is no agent"));
    // What lands further, a person has seen.
    app.write(".mcp.json", &x.read(".mcp.json").replace("main.x", "root"));
    let mut root = Client::connect(app, ".mcp.json");
    let why = root.refused("land_child", json!({ "name": "x" }));
    assert!(why.contains("root is no worker") && why.contains("nobody's worker") && !why.contains("add"), "{why}");
    assert!(
        root.refused("send_agent", json!({ "to": "y", "text": "hi" })).contains("neither your parent nor your child")
    );
}

#[test]
fn a_child_brings_none_of_its_parents_commits_and_outlives_its_branch() {
    let w = World::new();
    let (floor, x, y) = family(&w);
    let app = &floor.app;
    up(&floor, &["x", "y"]);
    work(&floor, "x", "COMMIT p one Parent");
    floor.ctl(&["nuke", "y", "--yes"]).exit(0).any_out();
    y.git(&["merge", "-q", "main.x"]);
    y.commit("c", "c\n");
    app.run("worker-ctl", &["add", "--worktree", &y.path.to_string_lossy()]).succeeds().any_err();
    app.commit("other", "other\n");
    // The parent's commit is another one once it has landed, and its branch is there.
    floor.ctl(&["accept", "x"]).exit(0).any_out().any_err();
    assert_eq!(head(&x), tip(&floor));
    floor.ctl(&["rebase", "y"]).exit(0).any_out().any_err();
    assert_eq!(y.git(&["log", "--format=%s", "main.x.."]), "c\n");
    // The parent's branch goes, and its work lands where the parent's did.
    floor.ctl(&["down"]).succeeds().any_err();
    floor.ctl(&["nuke", "x", "--yes"]).exit(0).any_out();
    x.sh("git switch -q --detach && git branch -q -D main.x").exit(0);
    floor.ctl(&["review", "y", "-n"]).exit(0).any_err().out_has("Lands:  on main\n").out_has("+c");
    floor.ctl(&["accept", "y", "-n"]).exit(0).any_err().out_has("on main");
    floor.ctl(&["patrol"]).exit(0).any_out().err_has("the work of y lands on main from now on");
    floor.ctl(&["patrol"]).exit(0).any_out();
    floor.ctl(&["review", "y"]).exit(0).any_err().out_has("Lands:  on main").out_has("+c");
    floor.ctl(&["accept", "y"]).exit(0).any_out().any_err();
    assert_eq!(app.read("c"), "c\n");
}

#[test]
fn a_review_compares_only_a_childs_own_commits_after_its_parent_has_landed() {
    let w = World::new();
    let (floor, x, y) = family(&w);
    x.commit("p", "p\n");
    y.git(&["merge", "-q", "main.x"]);
    y.commit("c", "c\n");
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    floor.ctl(&["review", "y"]).exit(0).any_out().any_err();
    floor.app.commit("other", "other\n");
    floor.ctl(&["accept", "x"]).exit(0).any_out().any_err();
    y.commit("d", "d\n");
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    let review = floor.ctl(&["review", "y", "--json"]).exit(0).any_err().json();
    let since: Vec<&str> = text(&review, "/range_diff").lines().map(str::trim).collect();
    assert!(since.len() == 2 && since[0].ends_with(" c") && since[1].starts_with("-:  ---"), "{since:?}");
}

#[test]
fn children_follow_their_parent_when_it_rests() {
    let w = World::new();
    let (floor, x, y) = family(&w);
    up(&floor, &["x", "y"]);
    work(&floor, "y", "COMMIT c c Child");
    floor.ctl(&["start", "x", "--task", "think"]).succeeds();
    hook(&floor, "x", &event("UserPromptSubmit"));
    commit(&x, "Mine", &["m"], "m\n");
    let before = head(&y);
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    assert_eq!(head(&y), before);
    hook(&floor, "x", &event("Stop"));
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    assert_eq!(y.git(&["rev-parse", "HEAD~"]).trim_end(), head(&x));
    // A parent in a rebase of its own is not disturbed.
    let git_dir = x.git(&["rev-parse", "--absolute-git-dir"]);
    x.sh(&format!("mkdir {}/rebase-merge", git_dir.trim_end())).exit(0);
    assert_eq!(refused(&floor, &["accept", "y", "--force"], 1), "busy");
    assert_eq!(tree(&floor, "y").git(&["rev-parse", "HEAD~"]).trim_end(), head(&x));
}

#[test]
fn a_parent_whose_hooks_tell_nothing_rests_after_a_minute_of_silence() {
    let w = World::new();
    let (floor, x, _) = family(&w);
    up(&floor, &["x", "y"]);
    work(&floor, "y", "COMMIT c c Child");
    floor.ctl(&["start", "x", "--task", "think"]).succeeds();
    assert_eq!(refused(&floor, &["accept", "y"], 1), "busy");
    let later = [("SHOPFLOOR_NOW", "2100-01-01T00:00:00Z")];
    floor.root.run_with("worker-ctl", &["accept", "y"], &later).exit(0).any_out().any_err();
    assert_eq!(x.read("c"), "c\n");
}

#[test]
fn a_parent_does_not_take_its_childrens_worktrees_along() {
    let w = World::new();
    let (floor, _, y) = family(&w);
    y.write("precious", "work\n");
    floor.ctl(&["nuke", "x", "--worktree", "--yes", "--force"]).exit(1).err_has("lies inside of");
    assert_eq!(y.read("precious"), "work\n");
}

/// Whether a later accept needs no further look at the worker's work.
fn is_reviewed(floor: &Floor<'_>, name: &str) -> bool {
    let state: Value = serde_json::from_str(&floor.root.read("state.json")).unwrap();
    let worker = &state["workers"][name];
    !worker["reviewed_sha"].is_null() && worker["reviewed_sha"] == worker["commit_sha"]
}

#[test]
fn a_review_outlives_the_landing_of_the_parent() {
    let w = World::new();
    let (floor, x, y) = family(&w);
    up(&floor, &["x", "y"]);
    work(&floor, "x", "COMMIT p one Parent");
    floor.ctl(&["nuke", "y", "--yes"]).exit(0).any_out();
    y.git(&["merge", "-q", "main.x"]);
    y.commit("c", "c\n");
    floor.app.run("worker-ctl", &["add", "--worktree", &y.path.to_string_lossy()]).succeeds().any_err();
    floor.ctl(&["review", "y"]).exit(0).any_out();
    floor.app.commit("other", "other\n");
    floor.ctl(&["accept", "x"]).exit(0).any_out().any_err();
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    assert_eq!(y.git(&["rev-parse", "HEAD~"]).trim_end(), head(&x));
    assert!(is_reviewed(&floor, "y"));
    floor.ctl(&["accept", "y"]).exit(0).any_out().any_err();
}

#[test]
fn a_child_follows_its_squashed_parent_before_it_lands() {
    let w = World::new();
    let (floor, x, y) = family(&w);
    x.commit("p", "parents\n");
    x.commit("q", "parents\n");
    y.git(&["merge", "-q", "main.x"]);
    y.commit("c", "childs\n");
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    floor.ctl(&["review", "y"]).exit(0).any_out().any_err();
    floor.ctl(&["accept", "x"]).exit(0).any_out().any_err();
    // Who only looks moves nothing, and sees what is going to land.
    let before = head(&y);
    let shown = floor.ctl(&["review", "y", "--no-pin"]).exit(0).any_err();
    assert!(shown.stdout.contains("+childs") && !shown.stdout.contains("parents"), "{shown}");
    floor.ctl(&["accept", "y", "-n"]).exit(0).any_err().out_has("would rebase y onto");
    assert_eq!(head(&y), before);
    let landed = floor.ctl(&["accept", "y"]).exit(0).any_out();
    assert!(!landed.stderr.contains("was not reviewed"), "{landed}");
    assert_eq!(x.git(&["log", "--format=%s", "main.."]), "c\n");
}

#[test]
fn a_child_whose_parent_has_landed_and_is_gone_lands_without_its_parents_commits() {
    let w = World::new();
    let (floor, x, y) = family(&w);
    x.commit("p", "parents\n");
    x.commit("q", "parents\n");
    floor.ctl(&["nuke", "y", "--yes"]).exit(0).any_out().any_err();
    y.git(&["merge", "-q", "main.x"]);
    y.commit("c", "childs\n");
    floor.app.run("worker-ctl", &["add", "--worktree", &y.path.to_string_lossy()]).succeeds().any_err();
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    floor.ctl(&["accept", "x"]).exit(0).any_out().any_err();
    floor.ctl(&["nuke", "x", "--yes"]).exit(0).any_out().any_err();
    x.sh("git switch -q --detach && git branch -q -D main.x").exit(0);
    let before = head(&y);
    let shown = floor.ctl(&["review", "y", "--no-pin"]).exit(0).any_err();
    assert!(shown.stdout.contains("+childs") && !shown.stdout.contains("parents"), "{shown}");
    floor.ctl(&["accept", "y", "-n"]).exit(0).any_err().out_has("would rebase y onto");
    assert_eq!(head(&y), before);
    let landed = tip(&floor);
    floor.ctl(&["accept", "y"]).exit(0).any_out().any_err();
    assert_eq!(floor.app.git(&["log", "--format=%s", &format!("{landed}..")]), "c\n");
}

#[test]
fn a_target_that_is_gone_is_not_guessed() {
    let w = World::new();
    which("tmux");
    let app = w.app();
    app.commit("README.md", "app\n");
    app.sh("git branch rel && git branch rel.1 && git worktree add -q -b feat ../feat").exit(0);
    let feat = w.at(app.path.with_file_name("feat"));
    feat.commit("f", "f\n");
    app.run("worker-ctl", &["add", "--worktree", "../feat", "--target", "rel.1"]).succeeds().any_err();
    let floor = Floor::of(app, &w);
    floor.ctl(&["review", "feat"]).exit(0).any_out();
    floor.app.git(&["branch", "-q", "-D", "rel.1"]);
    floor.ctl(&["patrol"]).any_status().any_out().any_err();
    assert_eq!(text(&floor.status("feat"), "/target"), "rel.1");
    floor.ctl(&["accept", "feat"]).exit(4).err_has("--target");
    // Whoever names another one looks at the work again.
    assert!(is_reviewed(&floor, "feat"));
    let add = ["add", "--worktree", "../feat", "--target", "rel"];
    floor.app.run("worker-ctl", &add).exit(0).any_out().err_has("lands on rel");
    assert_eq!((text(&floor.status("feat"), "/target"), is_reviewed(&floor, "feat")), ("rel", false));
    floor.app.run("worker-ctl", &add).exit(1).err_has("already");
    floor.ctl(&["accept", "feat"]).exit(1).any_out().err_has("changed since it was reviewed");
    floor.ctl(&["review", "feat"]).exit(0).any_out();
    floor.ctl(&["accept", "feat"]).exit(0).any_out().any_err();
    assert_eq!(floor.app.git(&["show", "rel:f"]), "f\n");
}

#[test]
fn a_parent_hears_of_a_landing_that_was_killed() {
    let w = World::new();
    let (floor, x, y) = family(&w);
    deadly_git(&w);
    let mut kills = 0;
    for n in 1.. {
        let file = format!("f{n}");
        y.commit(&file, "x\n");
        floor.ctl(&["patrol"]).exit(0).any_out().any_err();
        std::fs::write(w.path("count"), "0").unwrap();
        let at = n.to_string();
        let vars = [("KILL_AT", at.as_str()), ("KILL_WHEN", "after")];
        let is_killed = floor
            .root
            .run_with("worker-ctl", &["accept", "y"], &vars)
            .any_status()
            .any_out()
            .any_err()
            .status
            .is_none();
        kills += usize::from(is_killed);
        floor.ctl(&["patrol"]).exit(0).any_out().any_err();
        let has_landed = x.has(&file);
        let journals = std::fs::read_dir(floor.root.path.join("accept")).into_iter().flatten();
        assert_eq!(journals.count(), 0, "killed after {n}");
        if !has_landed {
            floor.ctl(&["accept", "y"]).exit(0).any_out().any_err();
        }
        let told = next(&x);
        assert_eq!((text(&told, "/type"), &told["paths"]), ("child_landed", &json!([file])), "killed after {n}");
        assert_eq!(taken(&x).len(), 0, "killed after {n}");
        if !is_killed {
            break;
        }
    }
    assert!(kills >= 4, "{kills}");
}

#[test]
fn children_that_land_at_once_wait_for_each_other() {
    let w = World::new();
    let (floor, x, y) = family(&w);
    let add = "worktree-spawn subtree z | worker-ctl add --worktree -";
    let z = w.at(x.sh(add).exit(0).any_err().stdout.trim_end());
    y.commit("y", "y\n");
    z.commit("z", "z\n");
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    let at_once = "worker-ctl accept y & worker-ctl accept z; second=$?; wait $!; exit $(($? + second))";
    floor.root.sh(at_once).exit(0).any_out().any_err();
    assert_eq!((x.read("y"), x.read("z")), ("y\n".into(), "z\n".into()));
    assert!(taken(&x).iter().all(|told| text(told, "/type") == "child_landed"));
}

#[test]
fn an_idle_agent_that_commits_waits_for_a_review_again() {
    let w = World::new();
    let (floor, x, y) = family(&w);
    for file in ["one", "two"] {
        y.commit(file, "x\n");
        floor.ctl(&["patrol"]).exit(0).any_out().any_err();
        assert_eq!(text(&floor.status("y"), "/task"), "needs_review", "{file}");
        let mut parent = Client::connect(&x, ".mcp.json");
        assert_eq!(text(&parent.call("land_child", json!({ "name": "y" })), "/outcome"), "accepted");
        assert_eq!(text(&floor.status("y"), "/task"), "idle");
    }
    assert!(x.has("two"));
    // What the branch has already is nothing to review.
    floor.app.sh("git merge -q main.x").exit(0);
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    assert_eq!(text(&floor.status("y"), "/task"), "idle");
}

#[test]
fn a_parent_hears_of_a_worktree_that_is_gone() {
    let w = World::new();
    let (floor, x, y) = family(&w);
    std::fs::rename(&y.path, w.home("away")).unwrap();
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    let told = next(&x);
    assert_eq!((text(&told, "/from/id"), text(&told, "/status")), ("main.x.y", "failure"));
    std::fs::rename(w.home("away"), &y.path).unwrap();
}

/// Its server runs outside of the agent's sandbox, so it makes no worker of a worktree that an agent calls its child.
#[test]
fn land_child_adopts_nothing() {
    let w = World::new();
    let (floor, x, y) = family(&w);
    let app = &floor.app;
    let pers = app.worktree("pers");
    pers.commit("unfinished", "unfinished\n");
    let state = |name: &str| app.path.join(format!(".git/worktrees/{name}/shopfloor/worktree-spawn/identity.json"));
    let record = std::fs::read_to_string(state("y")).unwrap();
    write(&state("pers"), &record.replace("\"main.x.y\"", "\"main.x.pers\"").replace("\"y\"", "\"pers\""));
    let mut parent = Client::connect(&x, ".mcp.json");
    assert!(parent.refused("land_child", json!({ "name": "pers" })).contains("is no worker"));
    floor.ctl(&["nuke", "y", "--yes"]).exit(0).any_out();
    y.commit("f", "f\n");
    assert!(parent.refused("land_child", json!({ "name": "y" })).contains("a person makes a worker of it"));
    let workers = floor.ctl(&["status", "--json"]).exit(0).json();
    assert!(!workers.to_string().contains(pers.path.to_str().unwrap()));
    // Nor does it serve another agent than that of the worktree in which it runs.
    let own = x.read(".mcp.json");
    x.write(".mcp.json", &own.replace("main.x", "root"));
    let mut root = Client::connect(&x, ".mcp.json");
    for (tool, args) in [
        ("spawn_workers", json!({ "workers": [{ "name": "z", "prompt": "t" }] })),
        ("send_agent", json!({ "to": "x", "text": "hi" })),
    ] {
        assert!(root.refused(tool, args).contains("runs in another worktree"), "{tool}");
    }
    x.write(".mcp.json", &own);
    // Nor one by a record that is not ours.
    write(&state("x"), &std::fs::read_to_string(state("x")).unwrap().replace("\"tl\"", "\"x\""));
    let why = parent.refused("spawn_subtree", json!({ "branch_name": "z", "task": "t" }));
    assert!(why.contains("is not one that you have written"), "{why}");
}

#[test]
fn a_parent_that_is_no_worker_is_not_disturbed_while_it_works() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    app.git(&["worktree", "add", "-q", "-b", "parent", "../parent"]);
    app.git(&["worktree", "add", "-q", "-b", "child", "../child"]);
    app.run("worker-ctl", &["add", "--worktree", "../child", "--target", "parent"]).exit(0).any_out().any_err();
    let floor = Floor::of(app.clone(), &w);
    let (parent, child) = (w.at(app.path.with_file_name("parent")), w.at(app.path.with_file_name("child")));
    let make = |name: &str| {
        child.commit(name, "x\n");
        floor.ctl(&["patrol"]).any_status().any_out().any_err();
        assert_eq!(text(&floor.status("child"), "/task"), "needs_review");
    };
    make("a");
    // A program called claude, without a terminal; then one in a terminal that is silent after a while.
    app.run("cp", &[which("sleep").to_str().unwrap(), w.home("claude").to_str().unwrap()]).exit(0);
    let mut running = w.command(w.home("claude")).arg("600").current_dir(&parent.path).spawn().unwrap();
    let busy = floor.ctl(&["accept", "child"]).exit(1);
    busy.err_has("claude in").err_has("works on parent").err_has("--force");
    // From its own directory it asks itself.
    let agent = [("SHOPFLOOR_AGENT_ID", "parent")];
    child.run_with("shopfloor", &["land", "child"], &agent).exit(3).err_has("the agent parent wants to land it");
    parent.run_with("shopfloor", &["land", "child"], &agent).exit(0).any_out().any_err();
    assert!(parent.has("a") && !app.has("a"));
    running.kill().unwrap();
    running.wait().unwrap();
    make("b");
    let claude = w.home("claude 600").display().to_string();
    let script = format!("script -qfc '{claude}' /dev/null < /dev/null > /dev/null");
    let mut running = w.command(which("sh")).args(["-c", &script]).current_dir(&parent.path).spawn().unwrap();
    wait_for(|| app.sh(&format!("pgrep -fx '{claude}'")).any_status().any_out().any_err().status == Some(0));
    floor.ctl(&["accept", "child"]).exit(1).err_has("works on parent");
    let later = [("SHOPFLOOR_NOW", "2100-01-01T00:00:00Z")];
    floor.root.run_with("worker-ctl", &["accept", "child"], &later).exit(0).any_out().any_err();
    assert!(parent.has("b"));
    app.sh(&format!("pkill -fx '{claude}'")).exit(0);
    running.wait().unwrap();
}
