//! `remove` loses nothing.

use crate::support::spawn::{app, branch_named, start, subtree};
use crate::support::world::{Repo, World, needs_ordinary_user, text, wait_for, which, write};

fn branches(app: &Repo<'_>) -> String {
    app.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])
}

#[test]
fn a_branch_is_deleted_only_if_another_one_contains_it() {
    let w = World::new();
    let app = app(&w);
    for name in ["unmerged", "merged", "squashed", "picked"] {
        let child = subtree(&app, &[name]);
        child.commit(&format!("{name}-1"), "1\n");
        child.commit(&format!("{name}-2"), "2\n");
    }
    app.spawn(&["remove", "unmerged", "--delete-branch"]).exit(1).err_has("commits that main lacks");
    assert!(app.has(".shopfloor/worktrees/unmerged"));
    app.spawn(&["remove", "unmerged"]).succeeds().err_has("main.unmerged stays");
    assert!(!app.has(".shopfloor/worktrees/unmerged"));
    app.git(&["merge", "-q", "--no-ff", "--no-edit", "main.merged"]);
    app.git(&["merge", "-q", "--squash", "main.squashed"]);
    app.git(&["commit", "-q", "-m", "squashed"]);
    app.git(&["cherry-pick", "main.picked~1", "main.picked"]);
    app.commit("later", "x");
    for name in ["merged", "squashed", "picked"] {
        let json = app.spawn(&["remove", name, "--json"]).exit(0).json();
        assert_eq!(text(&json, "/deleted_branch"), format!("main.{name}"));
    }
    assert_eq!(branches(&app), "main\nmain.unmerged\n");
    let kept = subtree(&app, &["kept"]);
    app.spawn(&["remove", "kept", "--keep-branch"]).succeeds();
    assert!(!kept.path.exists() && branches(&app).contains("main.kept"));
    app.spawn(&["remove", "kept"]).exit(1).err_has("no agent `kept`");
    app.spawn(&["remove", "root"]).exit(1).any_err();
}

/// The parent's own work has landed, so the child's has landed above it.
#[test]
fn a_branch_is_compared_with_the_one_above_where_its_parents_is_gone() {
    let w = World::new();
    let app = app(&w);
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 4\n");
    let parent = subtree(&app, &["a"]);
    let child = subtree(&parent, &["b"]);
    child.commit("f", "1\n");
    parent.git(&["switch", "-q", "--detach"]);
    app.git(&["branch", "-q", "-D", "main.a"]);
    app.spawn(&["remove", "b", "--delete-branch"]).exit(1).err_has("main.a.b has commits that main lacks");
    app.git(&["merge", "-q", "main.a.b"]);
    let json = app.spawn(&["remove", "b", "--json"]).exit(0).json();
    assert_eq!(text(&json, "/deleted_branch"), "main.a.b");
}

#[test]
fn changes_are_refused_or_kept() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    child.commit("committed", "1\n");
    child.write("README.md", "staged\n");
    child.git(&["add", "README.md"]);
    child.write("README.md", "changed\n");
    child.write("sub dir/new", "untracked\n");
    let refused = app.spawn(&["remove", "x"]).exit(1);
    refused.err_has("uncommitted changes").err_has("README.md").err_has("sub dir/new");
    app.spawn(&["remove", "x", "-n", "--force"]).succeeds();
    assert!(child.has("sub dir/new"));
    let name = app.spawn(&["remove", "x", "--force", "--delete-branch"]).succeeds().stdout;
    assert!(name.starts_with("refs/shopfloor/trash/main.x/"), "{name}");
    let name = name.trim();
    let show = |what: &str| app.git(&["show", what]);
    assert_eq!(show(&format!("{name}:README.md")), "changed\n");
    assert_eq!(show(&format!("{name}:sub dir/new")), "untracked\n");
    assert_eq!(show(&format!("{name}:committed")), "1\n");
    assert_eq!(show(&format!("{name}^2:README.md")), "staged\n");
    assert_eq!(branches(&app), "main\n");
    // Commits on no branch, and a merge under way.
    let loose = subtree(&app, &["loose"]);
    loose.git(&["switch", "-q", "--detach"]);
    loose.commit("loose", "1\n");
    app.spawn(&["remove", "loose"]).exit(1).err_has("on no branch");
    app.spawn(&["remove", "loose", "--force"]).succeeds().out_has("refs/shopfloor/trash/main.loose/");
    let locked = subtree(&app, &["locked"]);
    app.git(&["worktree", "lock", "--reason", "on a stick", locked.path.to_str().unwrap()]);
    app.spawn(&["remove", "locked", "--force"]).exit(1).err_has("on a stick");
    locked.spawn(&["remove", "locked"]).exit(1).any_err();
}

#[test]
fn nested_worktrees_are_checked_first_and_removed_deepest_first() {
    let w = World::new();
    let app = app(&w);
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 4\n");
    let a = subtree(&app, &["a"]);
    let b = subtree(&a, &["b"]);
    let c = subtree(&b, &["c"]);
    c.write("work", "mine");
    for options in [&["remove", "root"][..], &["remove", "root", "--recursive"]] {
        app.spawn(options).exit(1).err_has("root is the main checkout, which is never removed");
        let refused = app.spawn(&[options, &["--json"]].concat()).exit(1).any_err().json();
        assert_eq!(text(&refused, "/error/kind"), "main_checkout");
    }
    app.spawn(&["remove", "a"]).exit(1).err_has("main.a.b at");
    app.spawn(&["remove", "a", "--recursive"]).exit(1).err_has("uncommitted changes");
    assert!(c.has("work") && b.has("README.md") && a.has("README.md"));
    let status = app.run("git", &["worktree", "list"]).exit(0).stdout.lines().count();
    assert_eq!(status, 4);
    std::fs::remove_file(c.path.join("work")).unwrap();
    let ids: Vec<String> = app
        .spawn(&["remove", "a", "--recursive", "--json"])
        .exit(0)
        .json_lines()
        .iter()
        .map(|row| text(row, "/id").to_owned())
        .collect();
    assert_eq!(ids, ["main.a.b.c", "main.a.b", "main.a"]);
    assert_eq!(branches(&app), "main\n");
    assert_eq!(app.spawn(&["list", "--json"]).exit(0).json_lines().len(), 1);
    let a = subtree(&app, &["a"]);
    a.spawn(&["remove", "a"]).exit(1).err_has("this command runs in");
}

#[test]
fn children_go_before_their_parents_wherever_they_lie() {
    let w = World::new();
    let app = app(&w);
    let base = w.home("wt");
    let base = base.to_str().unwrap();
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 3\n");
    for args in [&["remove", "main.a", "main.a.b"][..], &["gc"]] {
        let a = subtree(&app, &["a", "--base-dir", base]);
        let b = subtree(&a, &["b", "--base-dir", base]);
        b.commit(args[0], "b\n");
        a.git(&["merge", "-q", "--no-ff", "--no-edit", "main.a.b"]);
        app.git(&["merge", "-q", "--no-ff", "--no-edit", "main.a"]);
        for id in ["main.a", "main.a.b"] {
            app.spawn(&["run", id, "--", "true"]).succeeds();
        }
        // The events of the two ends wait.
        for at in [&a, &app] {
            at.spawn(&["wait"]).succeeds();
        }
        app.spawn(args).succeeds();
        assert_eq!(branches(&app), "main\n", "{args:?}");
    }
}

#[test]
fn an_agent_whose_spawn_is_under_way_is_not_removed() {
    let w = World::new();
    let app = app(&w);
    app.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch $HOME/begun\nread line < $HOME/gate\n");
    app.sh("chmod +x .git/hooks/post-checkout; mkfifo $HOME/gate").exit(0);
    let spawn = start(&app, &["subtree", "x"]);
    wait_for(|| w.home("begun").exists());
    for args in [&["remove", "x"][..], &["remove", "x", "--force"]] {
        app.spawn(args).exit(75).err_has("the spawn of main.x is still under way");
    }
    app.sh("echo go > $HOME/gate").exit(0);
    assert!(spawn.wait_with_output().unwrap().status.success());
    app.spawn(&["remove", "x"]).succeeds();
}

#[test]
fn a_damaged_index_has_a_way_out() {
    let w = World::new();
    let app = app(&w);
    let x = subtree(&app, &["x"]);
    x.write("new", "mine\n");
    app.write(".git/worktrees/x/index", "garbage");
    let refused = app.spawn(&["remove", "x", "--force"]).exit(4).stderr;
    let way = refused.split('`').nth(1).unwrap().to_owned();
    app.sh(&way).exit(0);
    let kept = app.spawn(&["remove", "x", "--force"]).exit(0).any_err().stdout;
    let show = |file: &str| app.git(&["show", &format!("{}:{file}", kept.trim())]);
    assert_eq!((show("new"), show("index.damaged")), ("mine\n".into(), "garbage".into()));
}

#[test]
fn an_ignored_repository_with_commits_of_its_own_is_not_removed() {
    let w = World::new();
    let app = app(&w);
    app.commit(".gitignore", "vendor/\n");
    let child = subtree(&app, &["x"]);
    child.sh("mkdir -p vendor/deep && git init -q vendor/deep/lib && cd vendor/deep/lib && git commit -q --allow-empty -m mine").exit(0);
    let refused = app.spawn(&["remove", "x"]).exit(1);
    refused.err_has("the repository in vendor/deep/lib, which git ignores, has commits that are nowhere else");
    app.spawn(&["remove", "x", "--force"]).exit(1).any_err();
    assert!(child.has("vendor/deep/lib/.git"));
    // Commits that are elsewhere too are not lost.
    child.sh("git clone -q --bare vendor/deep/lib ../lib.git && cd vendor/deep/lib && git remote add o ../../../../lib.git && git fetch -q o").exit(0);
    child.write("vendor/deep/lib/new", "work\n");
    app.spawn(&["remove", "x"]).exit(1).err_has("has changes of its own");
    child.sh("rm vendor/deep/lib/new").exit(0);
    // A repository inside that one, which it ignores.
    child.sh("cd vendor/deep/lib && echo in > .git/info/exclude && git init -q in && touch in/mine").exit(0);
    app.spawn(&["remove", "x"]).exit(1).err_has("vendor/deep/lib/in, which git ignores, has changes of its own");
    child.sh("rm vendor/deep/lib/in/mine").exit(0);
    app.spawn(&["remove", "x"]).succeeds();
}

#[test]
fn losses_are_refused_or_kept_under_a_ref() {
    let w = World::new();
    let app = app(&w);
    // A repository inside, of which git would only keep the commit id.
    let nest = subtree(&app, &["nest"]);
    nest.sh("git init -q inner && cd inner && git commit -q --allow-empty -m precious").exit(0);
    app.spawn(&["remove", "nest", "--force"]).exit(1).err_has("repository of its own");
    // Commits that only an operation under way refers to.
    let stash = subtree(&app, &["stash"]);
    stash.commit("README.md", "theirs\n");
    app.commit("README.md", "ours\n");
    stash.write("src/main.rs", "precious\n");
    let _ = stash.run("git", &["rebase", "-q", "--autostash", "main"]).exit(1).any_out().any_err();
    let kept = app.spawn(&["remove", "stash", "--force"]).succeeds().stdout;
    let parents = app.git(&["rev-list", "--parents", "-n1", kept.trim()]);
    // The one of the index has a directory for each stage.
    let shown =
        |sha: &str| app.run("git", &["show", &format!("{sha}:src/main.rs")]).any_status().any_err().stdout.clone();
    let has = |sha: &str| shown(sha) == "precious\n";
    assert!(parents.split_whitespace().any(has), "{parents}");
    // A worktree that is not there, as on a removable disk.
    let away = subtree(&app, &["away"]);
    away.git(&["switch", "-q", "--detach"]);
    away.commit("loose", "1\n");
    let loose = away.git(&["rev-parse", "HEAD"]);
    app.git(&["worktree", "lock", away.path.to_str().unwrap()]);
    let stick = app.path.with_file_name("stick");
    std::fs::rename(&away.path, &stick).unwrap();
    app.spawn(&["remove", "away", "--force"]).exit(1).err_has("is locked");
    app.git(&["worktree", "unlock", away.path.to_str().unwrap()]);
    app.spawn(&["remove", "away"]).exit(1).err_has("is not there");
    app.spawn(&["subtree", "away", "--if-exists", "return"]).exit(1).err_has("is not there");
    app.spawn(&["gc"]).exit(0).err_has("kept main.away");
    let kept = app.spawn(&["remove", "away", "--force"]).exit(0).stdout;
    assert_eq!(app.git(&["rev-parse", kept.trim()]), loose);
    // A branch that another worktree has checked out as well.
    subtree(&app, &["two"]);
    app.git(&["worktree", "add", "-q", "--force", "../dup", "main.two"]);
    app.spawn(&["remove", "main.two", "--delete-branch"]).exit(1).err_has("as well");
    app.spawn(&["remove", "main.two"]).succeeds().err_has("checked out at");
    assert_eq!(branch_named(&app, "main.two"), "main.two\n");
}

#[test]
fn what_only_a_worktree_names_is_refused_or_kept() {
    let w = World::new();
    let app = app(&w);
    app.commit(".gitignore", "ign/\nig\n");
    // A ref of the worktree's own.
    let own = subtree(&app, &["own"]);
    own.sh("git commit -q --allow-empty -m Precious && git update-ref refs/worktree/keep HEAD && git reset -q --hard HEAD~1").exit(0);
    let sha = own.git(&["rev-parse", "refs/worktree/keep"]);
    app.spawn(&["remove", "own"]).exit(1).err_has("1 commits that are on no branch");
    let kept = app.spawn(&["remove", "own", "--force"]).exit(0).any_err().stdout.clone();
    assert!(app.git(&["rev-list", kept.trim()]).contains(sha.trim()));
    // A cherry-pick between two of its commits.
    let pick = subtree(&app, &["pick"]);
    pick.sh("git switch -q -c side && for n in 1 2 3; do echo $n > f$n && git add . && git commit -q -m $n; done && git switch -q main.pick && echo z > f2 && git add f2 && git commit -q -m z").exit(0);
    let last = pick.git(&["rev-parse", "side"]);
    pick.sh(
        "git cherry-pick main.pick..side; echo r > f2 && git add f2 && git commit -q -m 2 && git branch -q -D side",
    )
    .exit(0)
    .any_out()
    .any_err();
    app.git(&["merge", "-q", "main.pick"]);
    app.spawn(&["remove", "pick"]).exit(1).err_has("git is in the middle of something");
    let kept = app.spawn(&["remove", "pick", "--force"]).exit(0).any_err().stdout.clone();
    assert!(app.git(&["rev-list", kept.trim()]).contains(last.trim()));
    // A repository without files.
    let bare = subtree(&app, &["bare"]);
    bare.sh("git init -q --bare ign/x.git && git push -q ign/x.git HEAD:refs/heads/copy && git -C ign/x.git update-ref refs/heads/mine $(git -C ign/x.git commit-tree -m Precious HEAD^{tree} 2>/dev/null || git -C ign/x.git commit-tree -m Precious copy^{tree})").exit(0);
    app.spawn(&["remove", "bare"]).exit(1).err_has("the repository in ign/x.git, which git ignores, has commits");
    // A repository that git cannot use lists its files as if they were ours.
    let inner = subtree(&app, &["inner"]);
    inner
        .sh("git init -q in && cd in && echo x > f && git add f && git commit -q -m Precious && : > .git/HEAD")
        .exit(0);
    for force in [&[][..], &["--force"]] {
        app.spawn(&[&["remove", "inner"], force].concat()).exit(1).err_has("in/ is a repository of its own");
    }
}

#[test]
fn a_forced_removal_keeps_files_that_patterns_or_git_leave_out() {
    let w = World::new();
    let app = app(&w);
    app.commit(".gitignore", "ig\n");
    app.commit("docs/d", "d\n");
    let sparse = subtree(&app, &["sparse"]);
    sparse.git(&["sparse-checkout", "set", "src"]);
    sparse.write("docs/d", "precious\n");
    sparse.write("docs/new", "precious\n");
    let kept = app.spawn(&["remove", "sparse", "--force"]).exit(0).any_err().stdout.clone();
    for file in ["docs/d", "docs/new"] {
        assert_eq!(app.git(&["show", &format!("{}:{file}", kept.trim())]), "precious\n", "{file}");
    }
    let staged = subtree(&app, &["staged"]);
    staged.write("ig", "first\n");
    staged.git(&["add", "-f", "ig"]);
    staged.write("ig", "precious\n");
    let kept = app.spawn(&["remove", "staged", "--force"]).exit(0).any_err().stdout.clone();
    assert_eq!(app.git(&["show", &format!("{}:ig", kept.trim())]), "precious\n");
}

#[test]
fn what_git_cannot_keep_is_named_with_what_helps() {
    let w = World::new();
    let app = app(&w);
    let feat = subtree(&app, &["feat"]);
    feat.sh("mkdir -p sub/.GIT; echo x > sub/.GIT/a; echo y > sub/closed; chmod 000 sub/closed").exit(0);
    let (remove, sub) = (["remove", "--force", "feat"], feat.path.join("sub").display().to_string());
    for line in [format!("mv {sub}/.GIT {sub}/moved-away"), format!("chmod u+r {sub}/closed")] {
        app.run_bound("worktree-spawn", &remove).exit(4).any_out().err_has(&format!("`{line}`"));
        app.sh(&line).exit(0);
    }
    let kept = app.spawn(&remove).exit(0).any_err().stdout.clone();
    assert_eq!(app.git(&["show", &format!("{}:sub/moved-away/a", kept.trim())]), "x\n");
}

#[test]
fn each_stage_of_a_conflict_and_a_split_index_are_kept() {
    let w = World::new();
    let app = app(&w);
    for (name, of_index) in [("lost", ""), ("there", "^2")] {
        let (child, base) = (subtree(&app, &[name]), app.read("README.md"));
        child.commit("README.md", "ours\n");
        app.commit("README.md", name);
        child.run("git", &["merge", "-q", "main"]).exit(1).any_out().any_err();
        child.write("new", "staged\n");
        child.git(&["add", "new"]);
        if name == "lost" {
            std::fs::remove_dir_all(&child.path).unwrap();
        }
        let kept = app.spawn(&["remove", name, "--force"]).exit(0).any_err().stdout.clone();
        let readme = [("1/README.md", base.as_str()), ("2/README.md", "ours\n"), ("3/README.md", name)];
        for (file, text) in [("0/new", "staged\n")].into_iter().chain(readme) {
            assert_eq!(app.git(&["show", &format!("{}{of_index}:{file}", kept.trim())]), text, "{name} {file}");
        }
    }
    let split = subtree(&app, &["split"]);
    split.git(&["update-index", "--split-index"]);
    split.write("new", "staged\n");
    split.git(&["add", "new"]);
    std::fs::remove_dir_all(&split.path).unwrap();
    let kept = app.spawn(&["remove", "split", "--force"]).exit(0).any_err().stdout.clone();
    for (file, text) in [("new", "staged\n"), ("src/main.rs", "fn main() {}\n")] {
        assert_eq!(app.git(&["show", &format!("{}:{file}", kept.trim())]), text);
    }
}

#[test]
fn dry_runs_of_notify_ack_and_remove_change_nothing() {
    let w = World::new();
    let app = app(&w);
    let y = subtree(&app, &["y"]);
    assert_eq!(y.spawn(&["notify", "info", "x", "-n"]).exit(0).stdout, "would tell root as main.y\n");
    // A dry run refuses what the command would refuse.
    app.spawn(&["notify", "info", "x", "-n"]).exit(1).err_has("no parent");
    y.spawn(&["ack", "u", "-n"]).exit(1).err_has("no event here has the uid u");
    let gone = app.spawn(&["remove", "y", "-n"]).exit(0).stdout;
    assert!(gone.contains("would remove main.y at") && gone.contains("would delete the branch main.y"), "{gone}");
    assert_eq!(app.spawn(&["events", "--all"]).exit(0).stdout, "");
    y.commit("a", "1\n");
    let objects = app.git(&["count-objects"]);
    app.spawn(&["remove", "y", "--force", "-n"]).exit(0).any_out().any_err();
    assert_eq!(app.git(&["count-objects"]), objects);
}

#[test]
fn a_merged_birth_branch_goes_also_if_the_worktree_holds_another() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["switched"]).git(&["switch", "-q", "-c", "feature/switched"]);
    let own = subtree(&app, &["own"]);
    own.commit("own", "1\n");
    own.git(&["switch", "-q", "-c", "feature/own", "main"]);
    subtree(&app, &["renamed"]).git(&["branch", "-m", "feature/renamed"]);
    for name in ["switched", "own", "renamed"] {
        let held = format!("feature/{name}");
        app.spawn(&["remove", name, "--delete-branch"]).exit(1).err_has("does not hold the branch");
        let out = app.spawn(&["remove", name]).succeeds();
        out.err_has(&format!("the branch {held} stays")).err_has(&format!("`git branch -d {held}`"));
    }
    assert_eq!(branches(&app), "feature/own\nfeature/renamed\nfeature/switched\nmain\nmain.own\n");
}

#[test]
fn a_removal_of_several_says_that_nothing_was_removed() {
    let w = World::new();
    let app = app(&w);
    let (good, dirty) = (subtree(&app, &["good"]), subtree(&app, &["dirty"]));
    dirty.write("new", "1\n");
    for other in ["bad", "dirty"] {
        app.spawn(&["remove", "good", other]).exit(1).err_has("nothing was removed");
        assert!(good.path.exists());
    }
    let one = app.spawn(&["remove", "bad"]).exit(1).any_err();
    assert!(!one.stderr.contains("nothing was removed"), "{one}");
}

/// git says nothing of what is in a directory that it cannot read.
#[test]
fn what_nobody_can_read_is_not_removed() {
    let w = World::new();
    if !needs_ordinary_user() {
        return;
    }
    let app = app(&w);
    app.commit(".gitignore", "ignored/\n");
    let feat = subtree(&app, &["feat"]);
    feat.sh("mkdir new ignored; echo work > new/s; chmod 000 new ignored").exit(0);
    app.spawn(&["remove", "feat"]).exit(1).err_has("nobody can read what is in new");
    app.spawn(&["gc"]).any_status().any_err().any_out();
    assert!(feat.has("new"));
    // A forced removal opens what is the user's own, and keeps it.
    let kept = app.spawn(&["remove", "feat", "--force"]).exit(0).any_err().stdout.clone();
    assert_eq!(app.git(&["show", &format!("{}:new/s", kept.trim())]), "work\n");
}

#[test]
fn what_is_written_after_a_forced_removal_has_kept_the_rest_is_not_deleted() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    child.write("new", "work\n");
    let late = format!("[ -e '{0}' ] || echo late > '{0}'", child.path.join("late").display());
    let body =
        format!("case \"$*\" in *refs/shopfloor/trash/*) {late};; esac\nexec '{}' \"$@\"", which("git").display());
    w.program("git", &body);
    app.spawn(&["remove", "x", "--force"]).exit(1).any_out().err_has("is still changing");
    assert_eq!((child.read("new"), child.read("late")), ("work\n".into(), "late\n".into()));
    let kept = app.spawn(&["remove", "x", "--force"]).exit(0).any_err().stdout.clone();
    assert!(!child.path.exists());
    assert_eq!(app.git(&["show", &format!("{}:late", kept.trim())]), "late\n");
}

#[test]
fn another_repository_in_the_place_of_a_worktree_is_named_and_stays() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    std::fs::rename(&child.path, w.home("aside")).unwrap();
    app.sh(&format!("git init -q -b main '{}'", child.path.display())).exit(0);
    for words in [&["remove", "x"][..], &["remove", "x", "--force"]] {
        let refused = app.spawn(words).exit(1);
        refused.err_has("another repository is in the place of main.x").err_has(".other`");
    }
    assert!(child.has(".git/HEAD"));
}

/// `git commit --amend` and `git reset` leave such commits all the time, so they are no reason to refuse.
#[test]
fn commits_that_only_the_log_of_a_worktree_names_are_kept() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["plain"]);
    app.spawn(&["remove", "plain"]).succeeds();
    assert_eq!(app.git(&["for-each-ref", "refs/shopfloor"]), "");
    for (name, removal) in [
        ("a", "worktree-spawn remove main.a"),
        ("b", "worker-ctl add --worktree .shopfloor/worktrees/b && worker-ctl nuke b --worktree --yes"),
    ] {
        let child = subtree(&app, &[name]);
        child.git(&["switch", "-q", "--detach"]);
        let made = ["1", "2"].map(|n| {
            child.commit("f", &format!("{name}{n}"));
            let sha = child.git(&["rev-parse", "HEAD"]);
            child.git(&["reset", "-q", "--hard", "HEAD~1"]);
            sha
        });
        child.git(&["switch", "-q", &format!("main.{name}")]);
        app.sh(removal).exit(0).any_out().any_err();
        assert!(!child.path.exists(), "{removal}");
        for sha in made {
            let kept = app.git(&["for-each-ref", "--contains", sha.trim(), "refs/shopfloor/trash/"]);
            assert_eq!(kept.lines().count(), 1, "{removal}: {kept}");
        }
    }
}

/// git does not read on at a commit without its parent.
#[test]
fn a_forged_log_of_a_worktree_stops_no_removal() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["a"]);
    let (tree, who) = (child.git(&["rev-parse", "HEAD^{tree}"]), "a <a> 1 +0000");
    let commit = format!("tree {tree}parent {}\nauthor {who}\ncommitter {who}\n\nx\n", "1".repeat(40));
    app.write("../commit", &commit);
    let sha = app.git(&["hash-object", "-t", "commit", "-w", "../commit"]);
    app.sh(&format!("echo '{0} {0} a <a> 1 +0000' >> .git/worktrees/a/logs/HEAD", sha.trim())).exit(0);
    app.spawn(&["remove", "a"]).succeeds();
    assert!(!child.path.exists());
}
