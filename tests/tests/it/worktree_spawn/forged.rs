//! State that an agent can write is input: a forged record deletes, moves, runs and reveals nothing.

use serde_json::json;

use crate::support::spawn::{
    UID, app, branch_named, commit_odd_name, identity, look_at_everything, precious, state, subtree,
};
use crate::support::world::{Repo, World, needs_mount, write};

#[test]
fn a_forged_removal_deletes_nothing() {
    let w = World::new();
    let app = app(&w);
    let precious = precious(&w);
    let child = subtree(&app, &["a"]);
    child.write("draft", "mine\n");
    let gitdir = format!("{}\n", child.path.join(".git").display());
    let record = app.path.join(".git/worktrees/a");
    // As the first versions wrote it, with every path where a person's files are.
    let old = |is_final: bool| {
        json!({"v": 1, "agents": [identity(&app, "a")], "path": child.path, "git_dir": record, "gitdir": gitdir,
            "aside": precious, "record_aside": w.home("precious"), "is_final": is_final, "deletes": ["main", "x"], "is_forced": true})
    };
    let new = |record: &str, name: &str| json!({"v": 2, "id": "main.a", "record": record, "name": name, "deletes": app.git(&["rev-parse", "main"]).trim()});
    for journal in [
        old(true),
        old(false),
        new("a", "a"),
        new("../../../../precious", "a"),
        new("a", "../../../../precious"),
        new("..", ".."),
        json!({"v": 9, "id": "main.a"}),
        json!([]),
    ] {
        write(&state(&app, &format!("removing/{UID}.json")), &journal.to_string());
        let said = look_at_everything(&app);
        let is_named = said.contains("set aside") && said.contains(&format!("{UID}.bad"));
        let is_sound = journal["record"] == "a" && journal["name"] == "a";
        assert!(is_named || is_sound, "{journal}: {said}");
        let _ = std::fs::remove_file(state(&app, &format!("removing/{UID}.bad")));
        assert_eq!(std::fs::read_to_string(precious.join("thesis")).unwrap(), "years of work\n", "{journal}");
        assert_eq!(child.read("draft"), "mine\n", "{journal}");
        assert_eq!(child.git(&["status", "--porcelain"]), "?? draft\n", "{journal}");
        assert!(!branch_named(&app, "main").is_empty() && !branch_named(&app, "main.a").is_empty(), "{journal}");
    }
}

#[test]
fn a_forged_final_removal_deletes_only_what_leads_back_to_its_record() {
    let w = World::new();
    let app = app(&w);
    let precious = precious(&w);
    let child = subtree(&app, &["a"]);
    let temporary = format!(".shopfloor-tmp-{UID}");
    // git's record, as if moved aside already, names a directory of a person's that has the right name but not our link.
    let victim = w.home(&temporary);
    std::fs::rename(&precious, &victim).unwrap();
    let gone = state(&app, &format!("gone/{UID}.git"));
    write(&gone.join("gitdir"), &format!("{}/.git\n", victim.display()));
    let journal = json!({"v": 2, "id": "main.a", "record": "a", "name": "precious", "deletes": null});
    write(&state(&app, &format!("removing/{UID}.json")), &journal.to_string());
    look_at_everything(&app);
    assert!(victim.join("thesis").exists());
    // The same with a link to the person's directory, and with `gone` as a link.
    std::fs::rename(&victim, &precious).unwrap();
    std::os::unix::fs::symlink(&precious, &victim).unwrap();
    write(&precious.join(".git"), &format!("gitdir: {}\n", app.path.join(".git/worktrees/a").display()));
    write(&gone.join("gitdir"), &format!("{}/.git\n", victim.display()));
    write(&state(&app, &format!("removing/{UID}.json")), &journal.to_string());
    look_at_everything(&app);
    assert!(precious.join("thesis").exists());
    assert!(child.has("README.md"));
}

#[test]
fn a_forged_spawn_takes_back_nothing_of_a_persons() {
    let w = World::new();
    let app = app(&w);
    std::fs::create_dir(w.home("empty")).unwrap();
    app.git(&["branch", "feature"]);
    app.sh("git switch -q -c lonely && git commit -q --allow-empty -m lonely && git switch -q main").exit(0);
    app.git(&["worktree", "add", "-q", "../byhand", "-b", "byhand"]);
    let hand = w.at(app.path.with_file_name("byhand"));
    let tip = |name: &str| app.git(&["rev-parse", name]).trim().to_owned();
    for id in ["lonely", "byhand"] {
        let journal = json!({"v": 1, "id": id, "name": id, "branch": id, "path": w.home("empty"), "makes_branch": true,
            "base_sha": tip(id), "makes_dirs": [w.home("empty")]});
        write(&state(&app, &format!("journal/{UID}.json")), &journal.to_string());
        app.spawn(&["list"]).exit(0).out_has("byhand");
        let said = look_at_everything(&app);
        assert_eq!(said.contains("byhand stays, which it did not make"), id == "byhand", "{said}");
        assert!(w.home("empty").is_dir() && hand.has("README.md"), "{id}");
        assert!(!branch_named(&app, id).is_empty(), "{id}");
        assert_eq!(hand.git(&["status", "--porcelain"]), "", "{id}");
    }
    std::fs::remove_dir_all(state(&app, "journal")).unwrap();
    write(&state(&app, "journal"), "");
    app.spawn(&["list"]).exit(0).out_has("byhand");
}

#[test]
fn a_forged_run_touches_no_file_elsewhere() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["a"]);
    let target = w.home("keys/mine.alive");
    write(&target, "key\n");
    app.sh("chmod 755 ~/keys").exit(0);
    std::fs::create_dir_all(state(&app, "runs/main.a.")).unwrap();
    let run = json!({"v": 1, "agent": identity(&app, "a"), "incarnation": "/../../../../../../../keys/mine",
        "pid": 1, "started": "2026-01-01T00:00:00Z", "ended": null, "exit": null, "died": false});
    write(&state(&app, "runs/main.a.json"), &run.to_string());
    look_at_everything(&app);
    assert!(target.exists());
    assert_eq!(crate::support::world::mode(&w.home("keys")) & 0o777, 0o755);
}

#[test]
fn a_seat_that_says_it_is_a_subtree_is_none() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["a"]);
    let seat = state(&app, "workers/a/identity.json");
    write(&seat, &identity(&app, "a").to_string().replace("main.a", "main.b"));
    app.spawn(&["remove", "main.b", "--force"]).exit(1).err_has("no agent");
    app.write("precious", "x\n");
    look_at_everything(&app);
    assert!(app.has("precious") && app.has(".git/HEAD"));
}

#[test]
fn a_copied_record_makes_a_name_ambiguous() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["a"]);
    let eve = subtree(&app, &["eve"]);
    write(
        &app.path.join(".git/worktrees/eve/shopfloor/worktree-spawn/identity.json"),
        &identity(&app, "a").to_string(),
    );
    app.spawn(&["path", "main.a"]).exit(1).err_has("both have the record of main.a");
    assert!(eve.has("README.md"));
}

#[test]
fn links_in_our_state_are_refused_and_named() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["a"]);
    let mail = w.home("Maildir");
    write(&mail.join("new/1"), "letter\n");
    for below in ["session/root", "runs", "gone", "removing", "journal"] {
        let link = state(&app, below);
        let was = state(&app, "was");
        let had = std::fs::rename(&link, &was).is_ok();
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&mail, &link).unwrap();
        for args in [&["wait", "--timeout", "0s"][..], &["gc"], &["repair"], &["subtree", "b"]] {
            app.spawn(args).exit(4).err_has("is a symbolic link");
        }
        assert!(mail.join("new/1").exists(), "{below}");
        std::fs::remove_file(&link).unwrap();
        if had {
            std::fs::rename(&was, &link).unwrap();
        }
    }
    app.spawn(&["list"]).succeeds();
}

#[test]
fn what_git_was_told_not_to_look_at_counts_as_a_change() {
    for flag in ["--skip-worktree", "--assume-unchanged"] {
        let w = World::new();
        let app = app(&w);
        let child = subtree(&app, &["a"]);
        child.sh(&format!("git update-index {flag} README.md && echo precious > README.md")).exit(0);
        app.spawn(&["remove", "a"]).exit(1).err_has("README.md");
        app.spawn(&["gc"]).exit(0).any_out().any_err();
        assert_eq!(child.read("README.md"), "precious\n", "{flag}");
        app.spawn(&["remove", "a", "--force"]).succeeds();
        let kept = app.git(&["for-each-ref", "--format=%(refname)", "refs/shopfloor/trash"]);
        assert_eq!(app.git(&["show", &format!("{}:README.md", kept.trim())]), "precious\n", "{flag}");
        // Without a change it is in nobody's way.
        let child = subtree(&app, &["b"]);
        child.git(&["update-index", flag, "README.md"]);
        app.spawn(&["remove", "b"]).succeeds();
    }
}

#[test]
fn with_relative_links_nothing_stays_behind() {
    let w = World::new();
    let app = app(&w);
    // The versions of git before 2.48 do not write such links, but read them.
    let relative = |child: &Repo<'_>| {
        let name = child.path.file_name().unwrap().to_str().unwrap().to_owned();
        child.write(".git", &format!("gitdir: ../../../.git/worktrees/{name}\n"));
        let gitdir = app.path.join(format!(".git/worktrees/{name}/gitdir"));
        write(&gitdir, &format!("../../../.shopfloor/worktrees/{name}/.git\n"));
        child.git(&["status"]);
    };
    for (name, remove) in [("a", &["remove", "a"][..]), ("b", &["remove", "b", "--force"]), ("c", &["gc"])] {
        let child = subtree(&app, &[name]);
        child.write(".shopfloor/secret", "s\n");
        app.spawn(&["run", &format!("main.{name}"), "--", "true"]).exit(0);
        relative(&child);
        let path = format!("{}\n", child.path.display());
        assert_eq!(app.spawn(&["path", &format!("main.{name}")]).exit(0).stdout, path);
        app.spawn(&["doctor"]).exit(0).any_out();
        app.spawn(remove).succeeds();
        let left = app.sh("ls -A .shopfloor/worktrees 2>/dev/null; true").exit(0).stdout.clone();
        assert_eq!(left, "", "{name}");
    }
}

#[test]
fn a_mount_inside_is_refused_and_named() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["a"]);
    let data = w.home("data");
    write(&data.join("photo"), "x\n");
    std::fs::create_dir_all(child.path.join(".shopfloor/with blank")).unwrap();
    let mounted = child.path.join(".shopfloor/with blank");
    app.spawn(&["run", "main.a", "--", "true"]).exit(0);
    if !needs_mount(&app, &format!("mount --bind '{}' '{}'", data.display(), mounted.display())) {
        return;
    }
    for args in [&["remove", "a"][..], &["remove", "a", "--force"], &["gc"]] {
        let out = app.spawn(args).any_status();
        assert!(format!("{}{}", *out.stdout, *out.stderr).contains("with blank"), "{args:?}: {}", *out.stderr);
        assert!(data.join("photo").exists() && child.has("README.md"), "{args:?}");
    }
    app.sh(&format!("umount '{}'", mounted.display())).exit(0);
    app.spawn(&["remove", "a"]).succeeds();
    assert!(data.join("photo").exists());
}

#[test]
fn a_forged_spawn_leaves_what_a_person_locked_used_or_wrote() {
    let w = World::new();
    let app = app(&w);
    let task = subtree(&app, &["task", "--task", "my words"]);
    let locked = subtree(&app, &["locked"]);
    app.git(&["worktree", "lock", locked.path.to_str().unwrap()]);
    let used = subtree(&app, &["used"]);
    app.spawn(&["run", "main.used", "--", "true"]).exit(0);
    let hidden = subtree(&app, &["hidden"]);
    hidden.sh("git update-index --skip-worktree README.md && echo precious > README.md").exit(0);
    let sha = app.git(&["rev-parse", "main"]).trim().to_owned();
    for (n, name) in ["task", "locked", "used", "hidden"].iter().enumerate() {
        let journal =
            json!({"v": 2, "id": format!("main.{name}"), "name": name, "makes_branch": true, "base_sha": sha});
        write(&state(&app, &format!("journal/{}{n}.json", &UID[1..])), &journal.to_string());
    }
    let said = app.spawn(&["repair"]).exit(0).any_err().stdout.clone();
    assert!(locked.has("README.md") && used.has("README.md"), "{said}");
    assert_eq!(hidden.read("README.md"), "precious\n");
    // An agent that never ran had only its task; that text is kept.
    let kept = app.sh("cat .git/shopfloor/worktree-spawn/undone/*.md").any_status().any_err().stdout.clone();
    assert!(task.has(".shopfloor/task.md") || kept == "my words", "{said}");
}

#[test]
fn what_was_a_worktree_may_have_links_and_records_may_have_sockets() {
    let w = World::new();
    let app = app(&w);
    for dir in ["gone", "undone"] {
        let dir = state(&app, &format!("{dir}/{UID}"));
        std::fs::create_dir_all(&dir).unwrap();
        std::os::unix::fs::symlink("AGENTS.md", dir.join("CLAUDE.md")).unwrap();
    }
    subtree(&app, &["a"]);
    let record = app.path.join(".git/worktrees/a");
    let _socket = std::os::unix::net::UnixListener::bind(record.join("fsmonitor--daemon.ipc")).unwrap();
    std::os::unix::fs::symlink("me@host.1:2", record.join(".#COMMIT_EDITMSG")).unwrap();
    app.spawn(&["list", "--status"]).succeeds();
    app.spawn(&["remove", "a"]).succeeds();
}

#[test]
fn a_repository_behind_a_link_leaves_nothing_behind() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["a"]);
    child.write(".shopfloor/secret", "s\n");
    let disk = w.home("disk");
    std::fs::create_dir(&disk).unwrap();
    std::fs::rename(&app.path, disk.join("app")).unwrap();
    std::os::unix::fs::symlink(disk.join("app"), &app.path).unwrap();
    app.spawn(&["remove", "a"]).succeeds();
    assert_eq!(app.sh("ls -A .shopfloor/worktrees 2>/dev/null; true").exit(0).stdout, "");
}

#[test]
fn objects_that_stand_for_others_make_no_branch_merged() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["a"]);
    child.commit("own", "work\n");
    app.spawn(&["run", "main.a", "--", "true"]).exit(0);
    let (main, own) = (app.git(&["rev-parse", "main"]), app.git(&["rev-parse", "main.a"]));
    app.sh(&format!("git replace --graft {} {}", main.trim(), own.trim())).exit(0);
    app.spawn(&["gc"]).exit(0).any_out().any_err();
    assert!(child.has("own") && !branch_named(&app, "main.a").is_empty());
}

#[test]
fn a_branch_that_goes_because_its_changes_are_elsewhere_keeps_its_tip() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["a"]);
    child.commit("own", "work\n");
    let tip = child.git(&["rev-parse", "HEAD"]);
    app.sh("git cherry-pick main.a > /dev/null && git commit -q --amend -m other").exit(0);
    app.spawn(&["remove", "a"]).succeeds();
    assert_eq!(branch_named(&app, "main.a"), "");
    assert_eq!(app.git(&["for-each-ref", "--format=%(objectname)", "refs/shopfloor/trash/main.a"]), tip);
}

/// git puts the tree of none of them into an index, and compares the last one with nothing.
#[test]
fn a_worktree_whose_commit_has_a_name_that_git_refuses_is_removed_and_kept() {
    let w = World::new();
    let app = app(&w);
    for name in ["..", ".git/config", "../odd/", ""] {
        let child = subtree(&app, &["a"]);
        child.write("draft", "mine\n");
        child.write("README.md", "changed\n");
        commit_odd_name(&child, name);
        let tip = child.git(&["rev-parse", "HEAD"]);
        app.spawn(&["remove", "a"]).exit(1).any_out().err_has("draft");
        app.spawn(&["remove", "a", "--force"]).exit(0).any_out().any_err();
        assert!(!child.path.exists(), "{name}");
        let kept = app.git(&["for-each-ref", "--format=%(refname)", "refs/shopfloor/trash/main.a"]);
        let of_kept = |what: &str| app.git(&["show", &format!("{}{what}", kept.trim_end())]);
        assert_eq!((of_kept(":draft"), of_kept(":README.md")), ("mine\n".into(), "changed\n".into()), "{name}");
        assert_eq!(app.git(&["rev-parse", &format!("{}^1", kept.trim_end())]), tip, "{name}");
        app.git(&["branch", "-D", "main.a"]);
        app.git(&["update-ref", "-d", kept.trim_end()]);
    }
}

#[test]
fn a_setting_that_stops_git_status_is_named() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["a"]);
    app.git(&["config", "status.showUntrackedFiles", "bogus"]);
    for remove in [&["remove", "a"][..], &["remove", "a", "--force"]] {
        app.spawn(remove).exit(4).any_out().err_has("bad config variable 'status.showuntrackedfiles'");
    }
    assert!(child.path.exists());
}

#[test]
fn a_branch_that_names_another_stays_and_its_worktree_is_removed_whole() {
    let w = World::new();
    let app = app(&w);
    app.git(&["branch", "precious"]);
    for remove in [&["remove", "a"][..], &["remove", "a", "--force"]] {
        let child = subtree(&app, &["a"]);
        app.git(&["symbolic-ref", "refs/heads/main.a", "refs/heads/precious"]);
        let said = app.spawn(remove).exit(0).any_out();
        said.err_has("the branch main.a stays: ").err_has("main.a names another ref; look at it: `cat ");
        assert!(!said.stderr.contains("git branch -D"), "{said}");
        assert!(!child.path.exists());
        app.spawn(&["doctor"]).succeeds();
        app.git(&["branch", "-D", "main.a"]);
        assert_eq!(branch_named(&app, "precious"), "precious\n");
    }
    // git deletes what a link above a log leads to.
    subtree(&app, &["a"]);
    write(&w.home("dir/main.a"), "mine\n");
    app.sh("mv .git/logs/refs/heads .git/x && ln -s ~/dir .git/logs/refs/heads").exit(0);
    let said = app.spawn(&["remove", "a"]).exit(0).any_out();
    said.err_has("the branch main.a stays: ").err_has("heads is not a file; ");
    assert!(!said.stderr.contains("git branch -D"), "{said}");
    assert_eq!(std::fs::read_to_string(w.home("dir/main.a")).unwrap(), "mine\n");
}

/// git follows the HEAD of every record, wherever it leads.
#[test]
fn a_head_that_leads_to_a_pipe_holds_up_no_spawn() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["eve"]);
    for (to, file) in [("worktrees/eve/index", "index"), ("_X", "_X")] {
        app.sh(&format!(
            "cd .git/worktrees/eve && cp HEAD ../../was && rm -f {file} && mkfifo {file} && echo ref: {to} > HEAD"
        ))
        .exit(0);
        app.spawn(&["subtree", "new"]).exit(4).err_has(&format!("eve/{file} is not a file"));
        app.sh(&format!("cd .git/worktrees/eve && rm {file} && mv ../../was HEAD")).exit(0);
        // As long as a hash.
        app.sh(&format!("mkfifo .git/worktrees/eve/x; printf '%-40s\\n' 'ref: {to}' > .git/refs/heads/on")).exit(0);
        app.spawn(&["subtree", "new"]).exit(4).err_has("refs/heads/on names what is no ref");
        app.sh("rm .git/worktrees/eve/x .git/refs/heads/on").exit(0);
    }
    app.spawn(&["subtree", "new"]).succeeds();
}

#[test]
fn a_pipe_in_one_record_is_named_and_stops_only_what_must_read_it() {
    for file in ["HEAD", "gitdir", "commondir", "index", "config.worktree", "logs/HEAD"] {
        let w = World::new();
        let app = app(&w);
        let adam = subtree(&app, &["adam"]);
        subtree(&app, &["eve"]);
        app.sh(&format!("cd .git/worktrees/eve && touch {file} && mv {file} ../../was && mkfifo {file}")).exit(0);
        app.spawn(&["list", "--status"]).any_status().any_err().out_has("main.adam");
        // git reads the other files in her own worktree only.
        if ["HEAD", "gitdir", "commondir"].contains(&file) {
            app.spawn(&["subtree", "new"]).exit(4).err_has(&format!("eve/{file} is not a file"));
        } else {
            app.spawn(&["subtree", "beside"]).exit(0).any_out().any_err();
        }
        assert!(app.apply(&["check", "--all"]).any_status().any_err().any_out().status != Some(124));
        app.shopfloor(&["status"]).any_status().any_err().out_has("adam");
        app.spawn(&["remove", "adam"]).succeeds();
        assert!(!adam.path.exists(), "{file}");
        app.sh(&format!("cd .git/worktrees/eve && mv ../../was {file}")).exit(0);
        app.spawn(&["subtree", "new"]).succeeds();
    }
}
