//! worker-ctl: `nuke` and `reset` lose nothing.

use crate::support::floor::Floor;
use crate::support::worker::{adopted_floor, by_hand, head, ref_with, staff, tip, tree};
use crate::support::world::{Repo, World, text, write};

/// Requires that nuke and reset refuse, that both name one of the losses, and that the worktree stays.
#[track_caller]
fn assert_refused(floor: &Floor<'_>, name: &str, losses: &[&str]) {
    for args in [&["nuke", name, "--yes"][..], &["reset", name]] {
        let refused = floor.ctl(args).exit(1);
        assert!(losses.iter().any(|loss| refused.stderr.contains(loss)), "no {losses:?} in {refused:?}");
    }
    assert_eq!(text(&floor.status(name), "/name"), name);
    assert!(tree(floor, name).has(".git"));
}

/// Runs the command with --force. Returns its output.
fn forced(floor: &Floor<'_>, command: &str, name: &str) -> String {
    let args: &[&str] =
        if command == "nuke" { &["nuke", name, "--yes", "--force"] } else { &["reset", name, "--force"] };
    let output = floor.ctl(args).exit(0).any_err().stdout.into();
    let at = tree(floor, name);
    match command {
        "nuke" => assert!(!at.path.exists()),
        _ => {
            let status = at.git(&["status"]);
            let is_over = status.starts_with(&format!("On branch worker/{name}\n")) && !status.contains("in progress");
            assert!(is_over, "{status}");
        }
    }
    output
}

/// Makes a commit on no branch.
fn detached(at: &Repo<'_>) -> String {
    at.git(&["switch", "-q", "--detach"]);
    at.commit("lone", "x\n");
    head(at)
}

/// Makes a commit that only a rebase under way refers to, which has not reached it yet.
fn rebasing(at: &Repo<'_>) -> String {
    at.git(&["switch", "-q", "--detach"]);
    at.commit("first", "x\n");
    at.commit("lone", "x\n");
    let sha = head(at);
    let onto = "refs/remotes/origin/main";
    at.run_with("git", &["rebase", "-q", "-i", onto], &[("GIT_SEQUENCE_EDITOR", "sed -i 1ibreak")]).succeeds();
    assert_eq!(head(at), at.git(&["rev-parse", onto]).trim_end());
    sha
}

/// Makes commits that only a cherry-pick of several under way refers to, after one with a conflict.
fn picking(at: &Repo<'_>) -> String {
    at.sh("git switch -q --detach && for n in 1 2 lone; do echo x > $n && echo $n > f && git add . && git commit -q -m $n; done && git branch side && git switch -q -").exit(0);
    let last = at.git(&["rev-parse", "side"]).trim().to_owned();
    at.sh("git cherry-pick side~1 side; git branch -q -D side").exit(0).any_out().any_err();
    last
}

/// Makes commits that only a merge of several under way refers to.
fn merging(at: &Repo<'_>) -> String {
    let begin = head(at);
    let commits = ["other", "lone"].map(|file| {
        at.git(&["switch", "-q", "--detach", &begin]);
        at.commit(file, "x\n");
        head(at)
    });
    at.git(&["switch", "-q", "--detach", &begin]);
    at.git(&["merge", "-q", "--no-commit", &commits[0], &commits[1]]);
    commits[1].clone()
}

#[test]
fn nuke_and_reset_refuse_losses_and_keep_them_with_force() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["adam", "eve", "noah"] {
        floor.ctl(&["add", name]).succeeds();
    }
    floor.up();
    for name in ["adam", "eve"] {
        floor
            .ctl(&["start", "--worker", name, "--prompt", &format!("DIRTY loose {name}\nCOMMIT {name}.txt x Work")])
            .succeeds();
        floor.until(name, "needs_review");
    }
    floor.ctl(&["accept", "adam"]).exit(1).err_has("loose");
    floor.ctl(&["reset", "adam"]).exit(1).err_has("nowhere else");
    let kept = floor.ctl(&["reset", "adam", "--force"]).exit(0).stdout;
    assert_eq!(floor.root.git(&["show", &format!("{}:loose", kept.trim())]), "adam");
    assert_eq!(floor.root.git(&["show", &format!("{}:adam.txt", kept.trim())]), "x\n");
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
    floor.ctl(&["nuke", "noah"]).exit(3).err_has("--yes");
    floor.ctl(&["nuke", "noah", "--yes"]).succeeds();
    floor.ctl(&["nuke", "--all", "--yes"]).exit(1).err_has("eve has work");
    let done = floor.ctl(&["nuke", "--all", "--yes", "--force"]).exit(0).stdout;
    let kept = done.strip_prefix("removed adam\n").unwrap();
    assert_eq!(floor.root.git(&["show", &format!("{}:loose", kept.trim())]), "eve");
    assert_eq!(floor.ctl(&["status", "--json"]).exit(0).json()["workers"], serde_json::json!([]));
    assert!(!floor.root.read("config.toml").contains("[workers.eve]"));
    assert_eq!(floor.root.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn an_empty_commit_counts_as_work() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    tree(&floor, "adam").git(&["commit", "-q", "--allow-empty", "-m", "what was tried"]);
    for args in [&["nuke", "adam", "--yes"][..], &["reset", "adam"]] {
        floor.ctl(args).exit(1).err_has("what was tried");
    }
    let kept = floor.ctl(&["reset", "adam", "--force"]).exit(0).stdout;
    assert!(floor.root.git(&["log", "--format=%s", kept.trim_end()]).contains("what was tried"));
}

#[test]
fn a_reset_takes_back_what_git_was_told_not_to_look_at() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    adam.sh("git update-index --skip-worktree README.md && echo precious > README.md").exit(0);
    let kept = floor.ctl(&["reset", "adam", "--force"]).exit(0).stdout;
    assert_eq!(floor.root.git(&["show", &format!("{}:README.md", kept.trim())]), "precious\n");
    assert_eq!(
        (adam.read("README.md").as_str(), &*adam.git(&["ls-files", "-t", "README.md"])),
        ("app\n", "H README.md\n")
    );
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
}

#[test]
fn a_locked_worktree_is_not_removed() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    let adam = tree(&floor, "adam");
    adam.commit("a.txt", "x\n");
    let sha = head(&adam);
    floor.root.git(&["worktree", "lock", ".worktrees/adam"]);
    floor.ctl(&["nuke", "adam", "--yes", "--force"]).exit(1).err_has("locked");
    assert_eq!(floor.root.git(&["for-each-ref", "refs/shopfloor"]), "");
    assert_eq!((head(&adam), text(&floor.status("adam"), "/task")), (sha.clone(), "idle"));
    floor.root.git(&["worktree", "unlock", ".worktrees/adam"]);
    let output = floor.ctl(&["nuke", "adam", "--yes", "--force"]).exit(0).stdout;
    ref_with(&floor, &output, &sha);
    assert!(!floor.root.has(".worktrees/adam"));
}

#[test]
fn a_nested_repository_without_commits_is_kept() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    let adam = tree(&floor, "adam");
    adam.git(&["init", "-q", "nested"]);
    adam.write("nested/n", "n\n");
    adam.write("loose", "x\n");
    let output = floor.ctl(&["nuke", "adam", "--yes", "--force"]).exit(0).stdout;
    assert!(!floor.root.has(".worktrees/adam"));
    let found = floor.root.sh("find trash -path '*/nested/n' -o -path '*/nested/.git'").exit(0).stdout;
    assert_eq!(found.lines().count(), 2, "{found}");
    let kept = ref_with(&floor, &output, &tip(&floor));
    assert_eq!(floor.root.git(&["show", &format!("{kept}:loose")]), "x\n");
}

#[test]
fn commits_on_no_branch_are_refused_or_kept() {
    let w = World::new();
    let floor = Floor::new(&w);
    for (loss, make) in [
        ("detached", detached as fn(&Repo<'_>) -> String),
        ("rebasing", rebasing),
        ("merging", merging),
        ("picking", picking),
    ] {
        for command in ["nuke", "reset"] {
            let name = format!("{loss}-{command}");
            floor.ctl(&["add", &name]).succeeds();
            let at = tree(&floor, &name);
            let sha = make(&at);
            assert_refused(&floor, &name, &["lone", &sha[..7]]);
            let output = forced(&floor, command, &name);
            let kept = ref_with(&floor, &output, &sha);
            assert_eq!(floor.root.git(&["show", &format!("{sha}:lone")]), "x\n", "{kept}");
        }
    }
}

#[test]
fn commits_that_only_the_log_of_a_clones_worktree_names_are_kept() {
    let w = World::new();
    let floor = Floor::new(&w);
    for name in ["adam", "eve", "noah"] {
        floor.ctl(&["add", name]).succeeds();
    }
    // What has landed goes.
    let eve = tree(&floor, "eve");
    eve.commit("e", "e\n");
    eve.git(&["reset", "-q", "--hard", "HEAD~1"]);
    floor.app.commit("e", "e\n");
    assert_eq!(floor.ctl(&["nuke", "eve", "--yes"]).exit(0).stdout, "removed eve\n");
    assert_eq!(floor.root.git(&["for-each-ref", "refs/shopfloor"]), "");
    let adam = tree(&floor, "adam");
    let sha = detached(&adam);
    adam.git(&["switch", "-q", "worker/adam"]);
    assert_eq!(floor.ctl(&["nuke", "adam", "--yes"]).exit(0).stdout, "removed adam\n");
    assert!(!floor.root.git(&["for-each-ref", "--contains", &sha, "refs/shopfloor/trash/adam/"]).is_empty());
    // A root that goes gives them to the source, also those of a worker that goes with it.
    let noah = tree(&floor, "noah");
    noah.commit("n", "n\n");
    let last = head(&noah);
    noah.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let done = floor.ctl(&["deinit", "--yes"]).exit(0).any_out();
    for (name, sha) in [("adam", &sha), ("noah", &last)] {
        let below = format!("refs/shopfloor/trash/{name}/");
        done.err_has(&format!("keeps work that has not landed: {below}"));
        assert!(!floor.app.git(&["for-each-ref", "--contains", sha, &below]).is_empty());
    }
    assert!(!floor.root.path.exists());
    // The floor ends its sessions there.
    std::fs::create_dir(&floor.root.path).unwrap();
}

#[test]
fn untracked_files_and_nested_repositories_are_refused_or_kept() {
    let w = World::new();
    let floor = Floor::new(&w);
    for command in ["nuke", "reset"] {
        floor.ctl(&["add", "adam"]).succeeds();
        let adam = tree(&floor, "adam");
        adam.write("some where/loose", "x\n");
        assert_refused(&floor, "adam", &["loose"]);
        let kept = ref_with(&floor, &forced(&floor, command, "adam"), &tip(&floor));
        assert_eq!(floor.root.git(&["show", &format!("{kept}:some where/loose")]), "x\n");
        // A nested repository is kept as a whole, with its commits.
        let eve = format!("eve-{command}");
        floor.ctl(&["add", &eve]).succeeds();
        let nested = w.at(tree(&floor, &eve).path.join("nested"));
        tree(&floor, &eve).git(&["init", "-q", "nested"]);
        nested.commit("n", "n\n");
        let sha = head(&nested);
        assert_refused(&floor, &eve, &["nested"]);
        let output = forced(&floor, command, &eve);
        assert!(!nested.path.exists());
        let dir = output.lines().map(|line| floor.root.path.join(line)).find(|path| path.is_dir());
        let dir = dir.unwrap_or_else(|| panic!("no directory is named: {output}"));
        assert!(dir.starts_with(floor.root.path.join("trash")), "{output}");
        let found = w.at(&dir).sh("find . -name .git -prune -printf '%h\\n'").exit(0).stdout;
        let holds = |at: &str| {
            let kept = w.at(dir.join(at));
            kept.has("n")
                && kept.run("git", &["rev-parse", "HEAD"]).any_status().any_out().any_err().stdout.trim_end() == sha
        };
        assert!(found.lines().any(holds), "{found}");
    }
    // Without losses nothing is kept.
    floor.ctl(&["add", "noah"]).succeeds();
    assert_eq!(floor.ctl(&["nuke", "noah", "--yes", "--force"]).exit(0).stdout, "removed noah\n");
}

#[test]
fn deinit_removes_a_root_and_nothing_that_is_somebodys() {
    let w = World::new();
    let floor = Floor::new(&w);
    let (root, app) = (&floor.root, &floor.app);
    let refused = |why: &str| {
        floor.ctl(&["deinit", "--yes"]).exit(1).err_has(why);
        floor.ctl(&["deinit", "-n"]).exit(1).err_has(why);
        assert!(root.has("config.toml") && root.has("state.json") && root.has(".git/config"));
    };
    let fresh = w.home("fresh");
    app.run("worker-ctl", &["init", "--target", fresh.to_str().unwrap()]).exit(0).any_out().any_err();
    let config = root.read("config.toml");
    root.write("notes.md", "mine");
    refused("notes.md in it is not from worker-ctl");
    std::fs::remove_file(root.path.join("notes.md")).unwrap();
    // The root of the next repository lies in the first one.
    for (dir, why) in
        [("other", "other in it is not from worker-ctl"), (".worktrees/mine", "a worktree mine that no worker")]
    {
        root.write(&format!("{dir}/file"), "mine");
        refused(why);
        std::fs::remove_dir_all(root.path.join(dir)).unwrap();
    }
    root.write("other/config.toml", "");
    refused("other in it is another root");
    std::fs::remove_dir_all(root.path.join("other")).unwrap();
    root.git(&["update-ref", "refs/heads/keep", "refs/remotes/origin/main"]);
    refused("its clone keeps refs/heads/keep");
    root.git(&["update-ref", "-d", "refs/heads/keep"]);
    let moved = app.path.with_file_name("moved");
    std::fs::rename(&app.path, &moved).unwrap();
    refused("it may hold the last copy");
    std::fs::rename(&moved, &app.path).unwrap();
    floor.ctl(&["add", "eve"]).succeeds();
    tree(&floor, "eve").write("work", "work");
    refused("eve has work that is nowhere else");
    std::fs::remove_file(tree(&floor, "eve").path.join("work")).unwrap();
    floor.ctl(&["deinit"]).exit(3).err_has("nothing was removed");
    floor.ctl(&["deinit", "-n"]).exit(0).out_has("would remove eve").out_has(root.path.to_str().unwrap());
    write(&w.home("my workers.config.toml"), "older\n");
    let removed = floor.ctl(&["deinit", "--yes"]).exit(0);
    removed.out_has("removed ").err_has("your config.toml is kept: ").err_has("my workers.config-1.toml");
    assert!(!root.path.exists() && fresh.exists());
    // An edited configuration is a person's work.
    assert_eq!(std::fs::read_to_string(w.home("my workers.config-1.toml")).unwrap(), config);
    let left: Vec<_> = std::fs::read_dir(w.home("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains(".removed-")), "{left:?}");
    // The floor ends its sessions there.
    std::fs::create_dir(&root.path).unwrap();
}

/// HEAD still names it, so git takes all files for new.
#[test]
fn a_worker_whose_branch_was_deleted_is_reset_and_removed_with_force() {
    let w = World::new();
    let floor = Floor::new(&w);
    for (name, command) in [("adam", "reset"), ("eve", "nuke")] {
        floor.ctl(&["add", name]).succeeds();
        let at = tree(&floor, name);
        at.write("wip", "mine\n");
        at.git(&["update-ref", "-d", &format!("refs/heads/worker/{name}")]);
        floor.ctl(&["patrol"]).succeeds();
        let back = format!("branch worker/{name} {}`, or run `worker-ctl reset {name} --force`", tip(&floor));
        floor.ctl(&["doctor"]).exit(1).any_err().out_has(&back);
        let kept = forced(&floor, command, name);
        let kept = kept.lines().find(|line| line.starts_with("refs/shopfloor/trash/")).unwrap();
        assert_eq!(floor.root.git(&["show", &format!("{kept}:wip")]), "mine\n");
    }
    assert_eq!(head(&tree(&floor, "adam")), tip(&floor));
}

#[test]
fn deinit_removes_the_directory_of_a_socket_outside_of_the_root() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    let root = w.at(w.home(&"long".repeat(25)));
    app.run("worker-ctl", &["init", "--target", root.path.to_str().unwrap()]).succeeds();
    let status = root.run("worker-ctl", &["status", "--json"]).exit(0).json();
    let dir = std::path::Path::new(text(&status, "/tmux_socket")).parent().unwrap();
    assert!(dir.is_dir() && !dir.starts_with(&root.path), "{status}");
    app.run("worker-ctl", &["deinit", "--yes"]).succeeds();
    assert!(!dir.exists(), "{status}");
}

/// Nobody has to end an `up` whose workers have nothing to do.
#[test]
fn deinit_ends_a_running_up() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["up", "--detach"]).exit(0).any_err();
    floor.ctl(&["wait", "adam", "--for", "idle", "--timeout", "1m"]).exit(0).any_out();
    let pid = floor.ctl(&["status", "--json"]).exit(0).json()["daemon"].clone();
    assert!(!pid.is_null(), "up runs");
    let root = floor.root.path.to_str().unwrap();
    floor.app.run("worker-ctl", &["--root", root, "deinit", "--yes"]).exit(0).any_err().out_has("removed");
    assert!(!floor.root.path.exists());
    std::fs::create_dir(&floor.root.path).unwrap();
}

#[test]
fn deinit_leaves_a_worker_its_task() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    floor.ctl(&["deinit", "--yes"]).exit(1).err_has("adam has a task or works").err_has("worker-ctl reset adam");
    assert_eq!(text(&floor.status("adam"), "/status"), "working");
}

#[test]
fn what_is_staged_beside_a_conflict_is_kept() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    adam.sh("echo 1 > f && git add f && git commit -q -m 1 && git switch -q -c side HEAD~1 && echo 2 > f && git add f && git commit -q -m 2 && git switch -q -").exit(0);
    adam.sh("git merge -q side; echo staged > other && git add other && echo later > other")
        .exit(0)
        .any_out()
        .any_err();
    let kept = floor.ctl(&["reset", "adam", "--force"]).exit(0).stdout;
    let staged = floor.root.git(&["log", "--format=%H", "--grep", "^staged work of adam$", kept.trim()]);
    assert_eq!(floor.root.git(&["show", &format!("{}:other", staged.trim())]), "staged\n");
    assert_eq!(floor.root.git(&["show", &format!("{}:other", kept.trim())]), "later\n");
}

/// An agent can close its worktree, and directories there, to everybody: that is told, and a forced removal opens them. Nor
/// does it matter how deep directories are.
#[test]
fn a_closed_worktree_is_named_and_goes_when_that_is_forced() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let (app, adam) = (&floor.app, tree(&floor, "adam"));
    let spawned = |name: &str| w.at(app.spawn(&["subtree", name]).exit(0).any_err().stdout.trim_end());
    let (x, y) = (spawned("x"), spawned("y"));
    app.run("worker-ctl", &["add", "--worktree", x.path.to_str().unwrap()]).succeeds().any_err();
    for at in [&adam, &x, &y] {
        at.sh("mkdir z && echo x > z/new && chmod 0 z .").exit(0);
    }
    app.run_bound("shopfloor", &["status"]).any_status().any_err().out_has("x: cannot look at ");
    let (nuke, open) = (["nuke", "adam", "--worktree", "--yes"], "`chmod u+rwx ");
    floor.root.run_bound("worker-ctl", &nuke).exit(4).any_out().err_has(open);
    floor.root.run_bound("worker-ctl", &["reset", "adam", "--force", "--yes"]).exit(0).any_out().any_err();
    assert!(!adam.has("z"));
    adam.sh("mkdir z; chmod 0 z .").exit(0);
    floor.root.run_bound("worker-ctl", &[&nuke[..], &["--force"]].concat()).exit(0).any_out().any_err();
    app.run_bound("worktree-spawn", &["remove", "y"]).exit(4).any_out().err_has(open);
    let deep = "perl -e 'for (1..3000) { mkdir q(d); chdir q(d) }'";
    app.sh(&format!("chmod 700 '{0}' && cd '{0}' && {deep}", y.path.display())).exit(0);
    let remove = "ulimit -n 256; exec worktree-spawn remove y --force";
    let kept = app.run_bound("sh", &["-c", remove]).exit(0).any_err().stdout;
    assert_eq!(app.git(&["show", &format!("{}:z/new", kept.trim())]), "x\n");
    app.run_bound("shopfloor", &["rm", "x", "--force"]).exit(0).any_out().any_err();
    assert!([adam, x, y].iter().all(|at| !at.path.exists()));
}

/// git holds a directory open on each level, and says nothing of what lies deeper than that takes it.
#[test]
fn what_lies_too_deep_for_git_is_lost_with_no_worktree_and_stops_no_reset() {
    let w = World::new();
    let floor = Floor::adopted(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    let bound = |args: &str| floor.root.run("sh", &["-c", &format!("ulimit -n 256; exec worker-ctl {args}")]);
    // What git ignores, and a name that is no text.
    floor.app.sh("mkdir -p .git/info; echo .env >> .git/info/exclude").exit(0);
    adam.write("src/.env", "x\n");
    for levels in [300, 3000] {
        let deep = format!("mkdir qq(\\xff); chdir qq(\\xff); for (1..{levels}) {{ mkdir q(d); chdir q(d) }}");
        adam.sh(&format!("cd src; perl -e '{deep} open F, q(>), q(f)'")).exit(0);
        bound("nuke adam --worktree --yes").exit(1).any_out().err_has("nobody can read what is so deep in src/");
        let kept = bound("reset adam --force --yes").exit(0).any_err();
        let trash = kept.stdout.lines().find(|line| line.starts_with('/')).unwrap_or_else(|| panic!("{kept}"));
        w.at(trash).sh("test -d src/*/d && ! test -e src/.env").exit(0);
        assert_eq!(adam.sh("ls -A src").exit(0).stdout, ".env\n");
        floor.root.sh("rm -rf trash").exit(0);
    }
}

#[test]
fn an_adopted_worker_whose_branch_was_deleted_is_told_so_and_can_be_reset() {
    let w = World::new();
    let floor = adopted_floor(&w);
    let at = by_hand(&floor, "adam", &[("a", "1\n")]);
    let sha = head(&at);
    at.git(&["switch", "-q", "--detach"]);
    at.git(&["branch", "-q", "-D", "feature/adam"]);
    for args in [&["accept", "adam"][..], &["accept", "adam", "--force"], &["rebase", "adam"]] {
        let refused = floor.ctl(args).exit(1).any_out();
        refused.err_has("the branch feature/adam of adam was deleted");
        refused.err_has(&format!("branch feature/adam {sha}`")).err_has("switch feature/adam`");
    }
    floor.ctl(&["reset", "adam", "--yes"]).exit(1).any_out().err_has("work that is nowhere else");
    let reset = || {
        floor.ctl(&["reset", "adam", "--yes", "--force"]).exit(0).any_err().out_has("refs/shopfloor/trash/adam/");
        assert_eq!(at.git(&["symbolic-ref", "HEAD"]), "refs/heads/feature/adam\n");
        assert_eq!((at.git(&["status", "--porcelain"]), head(&at)), (String::new(), tip(&floor)));
    };
    reset();
    assert!(!at.git(&["for-each-ref", "--contains", &sha, "refs/shopfloor/trash/"]).is_empty());
    // Also where git takes all files for new.
    at.git(&["update-ref", "-d", "refs/heads/feature/adam"]);
    reset();
    // What nobody has committed cannot be accepted.
    at.write("loose", "x\n");
    floor.ctl(&["nuke", "adam", "--worktree", "--yes"]).exit(1).any_out().err_has("loose").err_has("commit the files");
}

#[test]
fn a_reset_changes_nothing_while_the_branch_is_checked_out_elsewhere() {
    let w = World::new();
    let floor = adopted_floor(&w);
    let at = by_hand(&floor, "adam", &[("a", "1\n")]);
    at.git(&["switch", "-q", "--detach"]);
    floor.app.git(&["worktree", "add", "-q", "../other", "feature/adam"]);
    let refused = floor.ctl(&["reset", "adam", "--force", "--yes"]).exit(1);
    refused.err_has("feature/adam is checked out in ").err_has("/other switch --detach`");
    assert_eq!(floor.app.git(&["for-each-ref", "refs/shopfloor/trash"]), "");
    floor.app.sh(refused.stderr.split('`').nth(1).unwrap()).exit(0).any_out().any_err();
    floor.ctl(&["reset", "adam", "--force", "--yes"]).exit(0).any_out().any_err();
}

#[test]
fn the_branch_of_an_adopted_worktree_stays_while_its_target_lacks_commits_of_it() {
    let w = World::new();
    let floor = adopted_floor(&w);
    let at = by_hand(&floor, "adam", &[("a", "1\n")]);
    let (app, sha) = (&floor.app, head(&at));
    app.shopfloor(&["reset", "adam"]).exit(1).any_out().err_has("land the work (`shopfloor land adam`) or save it");
    app.shopfloor(&["-n", "rm", "adam", "--force"]).exit(0).any_err().out_has("; feature/adam stays");
    let says = "the branch feature/adam stays: it has commits that main lacks";
    app.shopfloor(&["rm", "adam", "--force"]).exit(0).any_out().err_has(says);
    assert!(!at.path.exists());
    assert_eq!(app.git(&["rev-parse", "refs/heads/feature/adam"]).trim_end(), sha);
}
