//! Records of agents count if they are ours and about the directory that is there.

use serde_json::json;

use crate::support::spawn::{
    UID, app, assert_nothing_left, branch_named, identity, look_at_everything, precious, state, subtree,
};
use crate::support::world::{World, text, write};

/// Only the user's own list says which records worktree-spawn has written, so none of an agent's names a person's worktree.
#[test]
fn a_record_that_is_not_listed_removes_and_runs_nothing() {
    let w = World::new();
    let app = app(&w);
    app.write(".gitignore", ".env\n");
    app.git(&["add", "."]);
    app.git(&["commit", "-qm", "ignore"]);
    let eve = subtree(&app, &["eve"]);
    let pers = app.worktree("pers");
    pers.write(".env", "mine\n");
    let state = |name: &str| app.path.join(format!(".git/worktrees/{name}/shopfloor/worktree-spawn/identity.json"));
    let record = std::fs::read_to_string(state("eve")).unwrap();
    // Eve's record is the person's worktree's from now on, under eve's name or the branch's.
    for (id, birth) in [("main.eve", "main.eve"), ("pers", "pers")] {
        let forged = record.replace("\"id\":\"main.eve\"", &format!("\"id\":\"{id}\""));
        let forged = forged.replace("\"birth_branch\":\"main.eve\"", &format!("\"birth_branch\":\"{birth}\""));
        write(&state("pers"), &forged);
        write(&state("eve"), &record.replace("eve", "zoe"));
        app.spawn(&["gc"]).exit(0).any_out().any_err();
        if id == "main.eve" {
            // Scripts go where this says.
            app.spawn(&["subtree", "eve", "--if-exists", "return"]).exit(1).err_has("is not one that you have written");
        }
        for args in [&["remove", id][..], &["remove", "--force", id], &["run", id, "--", "touch", "ran"]] {
            app.spawn(args).exit(1).any_out().err_has("is not one that you have written");
        }
        assert_eq!((pers.read(".env"), pers.has("ran")), ("mine\n".into(), false), "{id}");
    }
    assert!(eve.has(".git"));
    // Nor does git's record of eve's worktree that names another directory.
    write(&state("eve"), &record);
    let own = app.path.join(".git/worktrees/eve/gitdir");
    let leads = std::fs::read_to_string(&own).unwrap();
    write(&own, &format!("{}/.git\n", pers.path.display()));
    app.spawn(&["run", "main.eve", "--", "touch", "ran"]).exit(1).any_out().err_has("not one that you have written");
    app.spawn(&["remove", "--force", "main.eve"]).any_status().any_out().any_err();
    assert_eq!((pers.read(".env"), pers.has("ran")), ("mine\n".into(), false));
    if own.exists() {
        write(&own, &leads);
    }
    // Nor does another record of eve's that leads there.
    let aaa = app.path.join(".git/worktrees/aaa");
    app.sh("cp -r .git/worktrees/eve .git/worktrees/aaa && rm -r .git/worktrees/pers/shopfloor").exit(0);
    write(&aaa.join("gitdir"), &format!("{}/.git\n", pers.path.display()));
    write(&aaa.join("shopfloor/worktree-spawn/identity.json"), &record.replace("main.eve", "main.aaa"));
    for args in
        [&["remove", "main.aaa"][..], &["remove", "--force", "main.aaa"], &["run", "main.aaa", "--", "touch", "ran"]]
    {
        app.spawn(args).any_status().any_out().any_err();
    }
    assert_eq!((pers.read(".env"), pers.has("ran")), ("mine\n".into(), false));
}

#[test]
fn a_listed_record_of_an_earlier_worktree_is_not_that_of_a_later_one() {
    let w = World::new();
    let app = app(&w);
    app.sh("echo .env > .gitignore && git add . && git commit -qm ignore").exit(0);
    for removal in ["worktree-spawn remove pers", "git worktree remove --force .shopfloor/worktrees/pers"] {
        let pers = subtree(&app, &["pers"]);
        let state = app.path.join(".git/worktrees/pers/shopfloor");
        let kept = app.path.join(".git/kept");
        app.sh(&format!("cp -a .git/worktrees/pers .git/kept && {removal} && git branch -D main.pers || true"))
            .exit(0)
            .any_out()
            .any_err();
        assert!(!pers.path.exists());
        // The person's own, at the same place; the agent puts back what it has kept, and then git's whole record.
        app.git(&["worktree", "add", "-q", "-f", "-b", "main.pers", pers.path.to_str().unwrap()]);
        pers.write(".env", "mine\n");
        app.sh("mkdir -p .git/worktrees/pers && cp -a .git/kept/shopfloor .git/worktrees/pers/").exit(0);
        for args in
            [&["remove", "pers"][..], &["remove", "--force", "main.pers"], &["run", "pers", "--", "touch", "ran"]]
        {
            app.spawn(args).exit(1).any_out().err_has("is not one that you have written");
        }
        app.spawn(&["gc"]).exit(0).any_out().any_err();
        assert_eq!((pers.read(".env"), pers.has("ran")), ("mine\n".into(), false), "{removal}");
        app.sh("git worktree remove --force .shopfloor/worktrees/pers && git branch -D main.pers && rm -rf .git/kept")
            .exit(0)
            .any_out();
        assert!(kept.symlink_metadata().is_err() && !state.exists());
    }
}

#[test]
fn a_worktree_inside_whose_record_is_broken_is_work_that_would_be_lost() {
    let w = World::new();
    let app = app(&w);
    let a = subtree(&app, &["a"]);
    let c = w.at(a.spawn(&["subtree", "--max-depth", "5", "c"]).exit(0).any_err().stdout.trim_end());
    c.write("work", "a day\n");
    app.spawn(&["remove", "a"]).exit(1).err_has("there are worktrees inside");
    app.run("worker-ctl", &["add", "--worktree", a.path.to_str().unwrap()]).exit(0).any_out().any_err();
    let record = app.path.join(".git/worktrees/c");
    for broken in ["echo /nonexistent/c/.git > gitdir", "rm gitdir", "mv HEAD H"] {
        app.sh(&format!("cp -a {0} kept && cd {0} && {broken}", record.display())).exit(0);
        app.spawn(&["remove", "main.a"]).exit(1).err_has("/worktrees/c, which git ignores, ");
        app.spawn(&["gc"]).exit(0).any_out().err_has("kept main.a: ");
        app.run("worker-ctl", &["nuke", "a", "--worktree", "--yes"]).exit(1).any_out().err_has("/worktrees/c, ");
        assert_eq!(c.read("work"), "a day\n", "{broken}");
        app.sh(&format!("rm -rf {0} && mv kept {0}", record.display())).exit(0);
    }
}

#[test]
fn changes_of_any_size_are_refused_before_anybody_waits() {
    let w = World::new();
    let app = app(&w);
    let a = subtree(&app, &["a"]);
    std::fs::File::create(a.path.join("big")).unwrap().set_len(400 << 30).unwrap();
    app.spawn(&["remove", "--force", "a"]).exit(1).err_has("too large to keep: 400 GiB");
    assert!(a.has("big"));
    std::fs::remove_file(a.path.join("big")).unwrap();
    app.spawn(&["remove", "a"]).succeeds();
}

#[test]
fn a_forged_journal_undoes_no_worktree_that_a_person_made() {
    let w = World::new();
    let app = app(&w);
    app.sh("mkdir .gemini && echo '{}' | tee .mcp.json > .gemini/settings.json && git add -A && git commit -qm files")
        .exit(0);
    subtree(&app, &["a"]);
    let pers = app.worktree("pers");
    pers.write(".mcp.json", "{\"mine\":1}\n");
    let record = identity(&app, "a").to_string();
    let state_of = |name: &str| app.path.join(format!(".git/worktrees/{name}/shopfloor/worktree-spawn/identity.json"));
    write(&state_of("pers"), &record.replace("\"id\":\"main.a\"", "\"id\":\"main.z\""));
    let sha = app.git(&["rev-parse", "main"]).trim().to_owned();
    let journal =
        json!({"v": 2, "id": "main.z", "name": "pers", "branch": "pers", "makes_branch": true, "base_sha": sha});
    write(&state(&app, &format!("journal/{UID}.json")), &journal.to_string());
    look_at_everything(&app);
    assert_eq!(pers.read(".mcp.json"), "{\"mine\":1}\n");
    assert!(!branch_named(&app, "pers").is_empty());
    // One of an agent that is ours: a ref that only its worktree has is work, and so is a tracked file of its own.
    let a = w.at(app.spawn(&["path", "main.a"]).exit(0).stdout.trim_end());
    let journal = json!({"v": 2, "id": "main.a", "name": "a", "makes_branch": true, "base_sha": sha});
    for line in [
        "git update-ref refs/worktree/keep $(git commit-tree -m x HEAD^{tree})",
        "git update-ref -d refs/worktree/keep; echo mine > .mcp.json",
    ] {
        a.sh(line).exit(0);
        write(&state(&app, &format!("journal/{UID}.json")), &journal.to_string());
        look_at_everything(&app);
        assert!(a.has(".git"), "{line}");
    }
    // The same while the worktree is away.
    a.sh("git checkout -q .mcp.json && git update-ref refs/worktree/keep $(git commit-tree -m x HEAD^{tree})").exit(0);
    std::fs::rename(&a.path, w.home("away")).unwrap();
    // Nor does an empty head say that git has not made it yet.
    let staged = app.worktree("staged");
    staged.write("new", "mine\n");
    staged.git(&["add", "new"]);
    std::fs::rename(&staged.path, w.home("staged")).unwrap();
    write(&app.path.join(".git/worktrees/staged/HEAD"), "");
    for (id, agent) in [("main.a", "a"), ("main.z", "pers"), ("staged", "staged")] {
        let journal = json!({"v": 2, "id": id, "name": agent, "makes_branch": false, "base_sha": sha});
        write(&state(&app, &format!("journal/{UID}.json")), &journal.to_string());
        look_at_everything(&app);
        let record = app.path.join(format!(".git/worktrees/{agent}/HEAD"));
        assert!(record.exists(), "{id}");
    }
}

#[test]
fn a_record_that_names_a_link_runs_nothing_behind_it() {
    let w = World::new();
    let app = app(&w);
    let a = subtree(&app, &["a"]);
    let precious = precious(&w);
    std::os::unix::fs::symlink(&precious, a.path.join("l")).unwrap();
    write(&app.path.join(".git/worktrees/a/gitdir"), &format!("{}/l/.git\n", a.path.display()));
    app.spawn(&["run", "main.a", "--", "touch", "ran"]).exit(1).any_out().any_err();
    assert!(!precious.join("ran").exists());
    // Nor does a directory that is no worktree leave the PATH of others.
    let b = subtree(&app, &["b"]);
    write(&app.path.join(".git/worktrees/a/gitdir"), "/usr/bin/.git\n");
    let path = app.spawn(&["run", "main.b", "--", "sh", "-c", "echo $PATH"]).exit(0).any_err();
    assert!(b.has(".git") && path.stdout.contains(":/usr/bin:"), "{path}");
}

#[test]
fn a_forged_seat_deletes_nothing_and_a_seat_only_what_is_its_own() {
    let w = World::new();
    let app = app(&w);
    app.write(".shopfloor/agents/eve/task.md", "mine\n");
    let other = w.repo("other");
    other.spawn(&["worker", "eve", "--task", "t"]).exit(0).any_out().any_err();
    other.spawn(&["run", "root/eve", "--", "true"]).exit(0).any_out().any_err();
    app.sh("mkdir -p .git/shopfloor/worktree-spawn && cp -r ~/other/.git/shopfloor/worktree-spawn/workers ~/other/.git/shopfloor/worktree-spawn/runs .git/shopfloor/worktree-spawn/")
        .exit(0);
    app.spawn(&["gc"]).any_status().any_out().any_err();
    app.spawn(&["remove", "root/eve"]).any_status().any_out().any_err();
    assert_eq!(app.read(".shopfloor/agents/eve/task.md"), "mine\n");
    other.write(".shopfloor/agents/eve/notes", "mine\n");
    other.sh("cp -r .git/shopfloor/worktree-spawn/workers kept").exit(0);
    other.spawn(&["remove", "root/eve"]).exit(0).any_out().any_err();
    assert!(other.has(".shopfloor/agents/eve/notes") && !other.has(".shopfloor/agents/eve/task.md"));
    // Its record, put back, is that of nobody.
    other.write(".shopfloor/agents/eve/task.md", "mine\n");
    other.sh("mkdir -p .git/shopfloor/worktree-spawn && cp -r kept .git/shopfloor/worktree-spawn/workers").exit(0);
    other.spawn(&["remove", "root/eve"]).any_status().any_out().any_err();
    assert_eq!(other.read(".shopfloor/agents/eve/task.md"), "mine\n");
}

#[test]
fn a_forged_end_of_a_run_lets_gc_take_no_worktree_in_which_a_program_works() {
    let w = World::new();
    let app = app(&w);
    let a = subtree(&app, &["a"]);
    a.sh("setsid sh -c 'worktree-spawn run main.a -- sleep 60' > /dev/null 2>&1 & echo $! > ~/pid").exit(0);
    let runs = state(&app, "runs/main.a.json");
    crate::support::world::wait_for(|| runs.exists());
    let text = std::fs::read_to_string(&runs).unwrap();
    let mut run: serde_json::Value = serde_json::from_str(&text).unwrap();
    (run["ended"], run["exit"]) = (json!("2026-01-01T00:00:00Z"), json!({"code": 0}));
    write(&runs, &run.to_string());
    app.spawn(&["gc"]).exit(0).any_out().err_has("kept main.a: a program works in it");
    app.sh("pkill -g $(cat ~/pid) || kill $(cat ~/pid)").any_status().any_out().any_err();
    assert!(a.has(".git"));
}

#[test]
fn a_record_of_an_earlier_version_is_taken_over_once_a_person_has_seen_it() {
    let w = World::new();
    let app = app(&w);
    let a = subtree(&app, &["a"]);
    let file = app.path.join(".git/worktrees/a/shopfloor/worktree-spawn/identity.json");
    let mut record = identity(&app, "a");
    record.as_object_mut().unwrap().remove("directory");
    write(&file, &record.to_string());
    app.spawn(&["remove", "a"]).exit(1).err_has("worktree-spawn trust main.a");
    // Of one that is not there nothing can be seen.
    let away = a.path.with_file_name("away");
    std::fs::rename(&a.path, &away).unwrap();
    let lost = app.spawn(&["remove", "a"]).exit(1);
    lost.err_has("`worktree-spawn repair` finds it").err_has("`git worktree remove ");
    assert!(!lost.stderr.contains("worktree-spawn trust"), "{lost}");
    std::fs::rename(&away, &a.path).unwrap();
    app.spawn(&["trust", "a"]).exit(3).err_has("main.a works in ").err_has(" for root, and its work lands on main");
    app.spawn(&["trust", "a", "--yes", "-n"]).exit(0).any_err().out_has("would list main.a");
    app.spawn(&["remove", "a"]).exit(1).any_err();
    // Where the list cannot be written it is not said to be.
    app.sh("mv ~/.local/state/shopfloor ~/kept && echo > ~/.local/state/shopfloor").exit(0);
    app.spawn(&["trust", "a", "--yes"]).exit(4).any_err();
    app.sh("rm ~/.local/state/shopfloor && mv ~/kept ~/.local/state/shopfloor").exit(0);
    app.spawn(&["trust", "a", "--yes"]).exit(0).any_err().out_has("listed main.a");
    app.spawn(&["trust", "a", "--yes"]).succeeds();
    app.spawn(&["trust", "root"]).exit(1).err_has("is no agent with a worktree of its own");
    app.spawn(&["run", "a", "--", "true"]).exit(0).any_err();
    app.spawn(&["remove", "a"]).exit(0).any_err().any_out();
    assert!(!a.path.exists());
}

#[test]
fn where_no_record_can_be_listed_only_an_agent_spawns_and_a_person_lists_it_later() {
    let w = World::new();
    let app = app(&w);
    app.sh("mkdir -m 555 ~/closed").exit(0);
    let closed = format!("XDG_STATE_HOME={}", w.home("closed").display());
    let spawn =
        |vars: &[&str], args: &[&str]| app.run_bound("env", &[vars, &["worktree-spawn", "subtree"], args].concat());
    let agents = [closed.as_str(), "SHOPFLOOR_AGENT_ID=root"];
    for args in [&["a"][..], &["a", "-n"], &["a", "--", "true"]] {
        spawn(&agents[..1], args).exit(4).err_has("cannot write to ").err_has("set XDG_STATE_HOME");
    }
    spawn(&["-u", "HOME"], &["a"]).exit(2).err_has("there is no place for your own state");
    for args in [&["a", "--", "true"][..], &["a", "--launcher", "true"]] {
        spawn(&agents, args).exit(4).err_has("set XDG_STATE_HOME");
    }
    assert_nothing_left(&app, "a", "without a list");
    let made = spawn(&agents, &["a", "--json"]).exit(0).any_err().json();
    assert!(text(&made, "/warnings/0").contains("`worktree-spawn trust main.a`"), "{made}");
    app.spawn(&["run", "a", "--", "true"]).exit(1).err_has("by an earlier version").err_has("with another home");
    app.spawn(&["trust", "a", "--yes"]).exit(0).any_err().any_out();
    app.spawn(&["run", "a", "--", "true"]).exit(0);
}

#[test]
fn a_branch_that_seems_merged_is_kept() {
    let w = World::new();
    let app = app(&w);
    for (name, removal) in [
        ("a", "worktree-spawn remove main.a"),
        ("b", "shopfloor rm b"),
        ("c", "worker-ctl add --worktree .shopfloor/worktrees/c && worker-ctl nuke c --worktree --yes"),
    ] {
        let agent = subtree(&app, &[name]);
        agent.commit("work", name);
        let (work, main) = (agent.git(&["rev-parse", "HEAD"]), app.git(&["rev-parse", "main"]));
        app.git(&["update-ref", "refs/heads/main", work.trim()]);
        app.sh(removal).exit(0).any_out().any_err();
        app.git(&["update-ref", "refs/heads/main", main.trim()]);
        assert!(!agent.path.exists(), "{removal}");
        let kept = app.git(&["for-each-ref", "--format=%(objectname)", "refs/shopfloor/trash/"]);
        assert!(kept.contains(work.trim()), "{removal}: {kept}");
    }
}
