//! Making subtrees: branches, names, bases, and what exists already.

use std::collections::BTreeSet;
use std::process::Stdio;

use crate::support::spawn::{app, assert_nothing_left, branch_named, subtree};
use crate::support::world::{Repo, World, text, write};

#[test]
fn a_subtree_has_its_own_branch_and_git_status_stays_empty() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["Feature A"]);
    assert_eq!(child.path, app.path.join(".shopfloor/worktrees/feature-a"));
    assert_eq!(child.git(&["branch", "--show-current"]), "main.feature-a\n");
    assert_eq!(child.read("src/main.rs"), "fn main() {}\n");
    assert_eq!(app.git(&["status", "--porcelain"]) + &child.git(&["status", "--porcelain"]), "");
    app.git(&["add", "-A"]);
    app.run("git", &["diff", "--cached", "--quiet"]).exit(0);
    // The configuration can be checked in.
    app.write(".shopfloor/config.toml", "[worktree-spawn]\nmax_depth = 2\n");
    assert_eq!(app.git(&["status", "--porcelain"]), "?? .shopfloor/\n");
    app.git(&["add", "-A"]);
    assert_eq!(app.git(&["diff", "--cached", "--name-only"]), ".shopfloor/config.toml\n");
}

#[test]
fn depth_is_limited_for_subtrees_and_not_for_workers() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    let before = app.git(&["branch", "--list"]);
    child.spawn(&["subtree", "y"]).exit(1).err_has("max_depth");
    assert_eq!(app.git(&["branch", "--list"]), before);
    assert!(!child.has(".shopfloor/worktrees"));
    assert_eq!(child.spawn(&["worker", "y"]).exit(0).stdout, "main.x/y\n");
    let error = child.spawn(&["subtree", "y", "--json"]).exit(1).json();
    assert_eq!(text(&error, "/error/kind"), "depth");
    write(&app.path.join(".shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = 3\n");
    let deeper = subtree(&child, &["y"]);
    assert_eq!(deeper.path, child.path.join(".shopfloor/worktrees/y"));
    let who = deeper.spawn(&["whoami", "--json"]).exit(0).json();
    assert_eq!((text(&who, "/id"), text(&who, "/parent"), who["level"].as_u64()), ("main.x.y", "main.x", Some(3)));
    deeper.spawn(&["subtree", "z"]).exit(1).err_has("level 3");
    assert_eq!(child.git(&["status", "--porcelain"]), "");
}

#[test]
fn names_become_branches_and_bad_names_are_refused() {
    let w = World::new();
    let app = app(&w);
    app.git(&["switch", "-q", "-c", "feature/x"]);
    assert_eq!(subtree(&app, &["y"]).git(&["branch", "--show-current"]), "feature/x.y\n");
    app.git(&["switch", "-q", "--detach"]);
    app.spawn(&["subtree", "z"]).exit(2).err_has("`worktree-spawn subtree NAME --base-name main`");
    assert_eq!(subtree(&app, &["z", "--base-name", "v1"]).git(&["branch", "--show-current"]), "v1.z\n");
    app.git(&["switch", "-q", "main"]);
    for bad in ["!!!", "", ".."] {
        app.spawn(&["subtree", bad]).exit(2).err_has("no letter or digit");
    }
    assert_eq!(subtree(&app, &["../../etc"]).path, app.path.join(".shopfloor/worktrees/etc"));
    subtree(&app, &["feature/auth"]);
    app.spawn(&["subtree", "feature/auth"]).exit(1).err_has("--if-exists return");
    app.spawn(&["subtree", "feature-auth"]).exit(1).err_has("`feature-auth` and `feature/auth`");
    let second = subtree(&app, &["feature-auth", "--unique"]);
    assert_eq!(second.git(&["branch", "--show-current"]), "main.feature-auth-2\n");
    subtree(&app, &["café"]);
    app.spawn(&["subtree", "cafe\u{301}"]).exit(1).err_has("main.cafe");
    let long = format!("b{}", "/long".repeat(48));
    app.git(&["switch", "-q", "-c", &long]);
    app.spawn(&["subtree", "much-too-long"]).exit(2).err_has("255 bytes");
}

#[test]
fn names_of_any_script_become_branches() {
    let w = World::new();
    let app = app(&w);
    for (name, slug) in [("日本語 AI", "日本語-ai"), ("Привет", "привет"), ("हिन्दी", "हिन्दी"), ("Straße", "strasse")]
    {
        let child = subtree(&app, &[name]);
        assert_eq!(child.path, app.path.join(".shopfloor/worktrees").join(slug));
        assert_eq!(child.git(&["branch", "--show-current"]), format!("main.{slug}\n"));
        assert_eq!(child.spawn(&["whoami"]).exit(0).stdout, format!("main.{slug}\n"));
    }
    // Other tasks get other worktrees, and one task is found as it was typed.
    assert_ne!(subtree(&app, &["мир 2"]).path, subtree(&app, &["日本 2"]).path);
    let rocket = subtree(&app, &["🚀"]);
    assert!(rocket.path.to_string_lossy().contains("/agent-"), "{}", rocket.path.display());
    assert_eq!(app.spawn(&["path", "🚀"]).exit(0).stdout.trim_end(), rocket.path.to_string_lossy());
    app.spawn(&["path", "ПРИВЕТ"]).exit(0).any_out();
    app.spawn(&["subtree", "й"]).exit(0).any_out();
    app.spawn(&["subtree", "и\u{306}"]).exit(1).err_has("main.й");
    assert_eq!(app.spawn(&["worker", "作業"]).exit(0).stdout, "root/作業\n");
    app.spawn(&["doctor"]).exit(0).any_out().any_err();
}

#[test]
fn an_unborn_branch_and_an_unknown_start_are_refused() {
    let w = World::new();
    std::fs::create_dir_all(w.home("new")).unwrap();
    let new = w.at(w.home("new"));
    new.git(&["init", "-q", "-b", "main"]);
    new.spawn(&["subtree", "x"]).exit(2).err_has("no commit yet").err_has("make the first commit");
    new.sh("git commit -q --allow-empty -m first && git checkout -q --orphan docs").exit(0);
    new.spawn(&["subtree", "x"]).exit(2).err_has("`--from BRANCH`");
    new.git(&["switch", "-q", "main"]);
    // A repository that git cannot read has commits all the same.
    new.sh("git config core.repositoryformatversion 1 && git config extensions.unknownx true").exit(0);
    let refused = new.spawn(&["subtree", "x"]).any_status().any_out();
    assert!(*refused.status != Some(0) && !refused.stderr.contains("no commit yet"), "{refused}");
    refused.err_has("unknownx");
    let app = app(&w);
    app.spawn(&["subtree", "x", "--from", "nowhere"]).exit(2).err_has("`nowhere`");
    app.spawn(&["subtree", "x", "--from=--all"]).exit(2).err_has("there is no commit");
    assert!(!app.has(".shopfloor/worktrees"));
    w.at(w.home("")).spawn(&["list"]).exit(2).err_has("no usable git repository");
}

#[test]
fn existing_branches_and_directories_are_never_overwritten() {
    let w = World::new();
    let app = app(&w);
    app.write(".shopfloor/worktrees/x/mine", "work");
    app.spawn(&["subtree", "x"]).exit(1).err_has("already exists");
    assert_eq!(app.read(".shopfloor/worktrees/x/mine"), "work");
    app.git(&["branch", "main.y"]);
    let error = app.spawn(&["subtree", "y", "--json"]).exit(1).json();
    assert_eq!(text(&error, "/error/kind"), "exists");
    assert_eq!(app.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
    app.commit("later", "1");
    let reused = app.spawn(&["subtree", "y", "--reuse-branch", "--json"]).exit(0).json();
    assert_eq!(text(&reused, "/base_sha"), app.git(&["rev-parse", "main~1"]).trim());
    assert!(!w.at(text(&reused, "/path")).has("later"));
    // An empty directory counts as free.
    std::fs::create_dir_all(app.path.join(".shopfloor/worktrees/empty")).unwrap();
    subtree(&app, &["empty"]);
    // An existing subtree is returned unchanged.
    let first = subtree(&app, &["again"]);
    first.write("mine", "work");
    let again = app.spawn(&["subtree", "again", "--if-exists", "return", "--json"]).exit(0).json();
    assert_eq!((text(&again, "/path"), again["created"].as_bool()), (first.path.to_str().unwrap(), Some(false)));
    assert_eq!(first.read("mine"), "work");
    app.spawn(&["subtree", "Again", "--if-exists", "return"]).exit(1).err_has("`Again` and `again`");
    // What is in the way of its configuration stays, as in a new one.
    first.sh("ln -sf nowhere .mcp.json").exit(0);
    let beside = app.spawn(&["subtree", "again", "--if-exists", "return", "--json"]).exit(0);
    beside.err_has("/.mcp.json").err_has(", so the agent finds its tools in .shopfloor/mcp.json");
    assert_eq!(text(&beside.json(), "/mcp_config"), first.path.join(".shopfloor/mcp.json").to_str().unwrap());
    assert!(first.path.join(".mcp.json").is_symlink() && first.has(".shopfloor/mcp.json"));
}

#[test]
fn a_dry_run_changes_nothing() {
    let w = World::new();
    let app = app(&w);
    let before = app.snapshot();
    let out = app.spawn(&["subtree", "x", "--dry-run"]).succeeds();
    assert_eq!(out.stdout, format!("{}\n", app.path.join(".shopfloor/worktrees/x").display()));
    app.spawn(&["worker", "x", "-n"]).succeeds().err_has("would seat root/x");
    app.assert_untouched_since(&before);
    app.spawn(&["subtree", "x", "--require-clean", "-q"]).succeeds();
    app.write("README.md", "changed\n");
    app.spawn(&["subtree", "y", "--require-clean"]).exit(1).err_has("uncommitted changes");
}

#[test]
fn a_base_may_be_anywhere_and_may_change() {
    let w = World::new();
    let app = app(&w);
    let old = subtree(&app, &["old"]);
    let outside = w.home("wt");
    write(
        &w.home(".config/shopfloor/config.toml"),
        &format!("[worktree-spawn]\nworktree_base = {outside:?}\nmax_depth = 3\n"),
    );
    let child = subtree(&app, &["new"]);
    assert_eq!(child.path, outside.join("new"));
    assert_eq!(subtree(&child, &["deep"]).path, outside.join("new.deep"));
    let ids = app.spawn(&["list", "--json"]).exit(0).json_lines();
    let ids: BTreeSet<&str> = ids.iter().map(|row| text(row, "/id")).collect();
    assert_eq!(ids, ["root", "main.old", "main.new", "main.new.deep"].into());
    assert_eq!(app.spawn(&["path", "old"]).exit(0).stdout, format!("{}\n", old.path.display()));
    // A base inside the worktree, outside `.shopfloor`, is hidden too.
    assert_eq!(subtree(&app, &["in", "--base-dir", "trees"]).path, app.path.join("trees/in"));
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    // The repository's file may name a base outside only once it is approved.
    std::fs::remove_file(w.home(".config/shopfloor/config.toml")).unwrap();
    app.write(".shopfloor/config.toml", "[worktree-spawn]\nworktree_base = \"../escape\"\n");
    let out = app.spawn(&["subtree", "kept"]).exit(0);
    assert_eq!(out.err_has("approval").stdout, format!("{}\n", app.path.join(".shopfloor/worktrees/kept").display()));
    app.apply(&["approve", "--yes"]).succeeds();
    assert_eq!(subtree(&app, &["led"]).path, app.path.parent().unwrap().join("escape/led"));
    // A base that is a link is not followed, because a branch could contain one.
    app.git(&["switch", "-q", "-c", "evil"]);
    app.sh("ln -s /tmp trap").exit(0);
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nworktree_base = \"trap/wt\"\n");
    app.write(".shopfloor/config.toml", "");
    app.spawn(&["subtree", "x"]).exit(2).err_has("trap is not a directory");
}

#[test]
fn a_base_in_the_repositorys_own_file_has_plain_characters_only() {
    let w = World::new();
    let app = app(&w);
    let set =
        |base: &str| app.write(".shopfloor/config.toml", &format!("[worktree-spawn]\nworktree_base = \"{base}\"\n"));
    let before = app.git(&["for-each-ref"]);
    for odd in [".wt/#(touch ~/P)", "a\\u001bb", "a\\u009bb", "a\\u202eb", "a\\nb", "x;y", "$(x)", "`x`", "a~b", "a'b"]
    {
        set(odd);
        for args in [&["subtree", "x"][..], &["worker", "w"]] {
            let refused = app.spawn(args).exit(2);
            refused.err_has("`worktree_base` may not contain").err_has(".shopfloor/config.toml:2");
        }
    }
    assert_eq!(app.git(&["for-each-ref"]), before);
    set("wälder/a b.c-d_1");
    assert_eq!(subtree(&app, &["x"]).path, app.path.join("wälder/a b.c-d_1/x"));
    // A person's own configuration may name any directory.
    app.write(".shopfloor/config.toml", "");
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nworktree_base = \"we#(ird\"\n");
    assert_eq!(subtree(&app, &["y"]).path, app.path.join("we#(ird/y"));
    // We know no other user's home, and make no directory that is called so.
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nworktree_base = \"~ada/wt\"\n");
    app.spawn(&["subtree", "z"]).exit(2).err_has("in the home of another user");
    write(&w.home(".config/shopfloor/config.toml"), "[overlay-sync]\noverlay = \"~ada/wt\"\n");
    app.overlay(&["status"]).exit(2).err_has("write the home of another user out");
    app.overlay(&["--overlay", "~ada/wt", "status"]).exit(2).err_has("write the home of another user out");
    assert!(!app.has("~ada") && !app.has(".shopfloor/~ada"));
}

#[test]
fn a_negative_depth_is_refused_with_its_value() {
    let w = World::new();
    let app = app(&w);
    write(&w.home(".config/shopfloor/config.toml"), "[worktree-spawn]\nmax_depth = -1\n");
    app.spawn(&["subtree", "x"]).exit(2).err_has("`max_depth` must be a whole number from 0, not `-1`");
}

#[test]
fn a_base_is_in_no_git_directory() {
    let w = World::new();
    let app = app(&w);
    app.sh("ln -s .git door").exit(0);
    let before = app.snapshot();
    for base in [".git", ".git/refs/heads", ".git/new/er", ".GIT/x", "src/.Git", "door/x"] {
        app.spawn(&["subtree", "x", "--base-dir", base]).exit(2).err_has("in a git directory");
        write(&w.home(".config/shopfloor/config.toml"), &format!("[worktree-spawn]\nworktree_base = \"{base}\"\n"));
        app.spawn(&["subtree", "x"]).exit(2).any_err();
        std::fs::remove_file(w.home(".config/shopfloor/config.toml")).unwrap();
    }
    app.sh("rm -r .git/shopfloor").any_status().any_err();
    app.assert_same_paths_since(&before);
    assert_eq!(app.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main\n");
}

#[test]
fn a_base_that_no_exclude_line_can_hold_is_refused() {
    let w = World::new();
    let app = app(&w);
    app.spawn(&["subtree", "x", "--base-dir", "a\nb"]).exit(2).err_has("no line of info/exclude can hold");
    app.sh("worktree-spawn subtree x --base-dir \"$(printf 'a\\377')\"").exit(2).err_has("no line of info/exclude");
    assert_eq!(app.git(&["branch", "--list", "main.x"]), "");
    // Where no line is needed, any directory will do.
    app.spawn(&["subtree", "x", "--base-dir", "../a\nb"]).succeeds();
}

#[test]
fn a_base_among_sources_hides_only_the_worktree() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["x", "--base-dir", "src"]);
    app.write("src/new.c", "mine");
    assert_eq!(app.git(&["status", "--porcelain", "-uall"]), "?? src/new.c\n");
    app.spawn(&["remove", "x"]).succeeds();
    assert_eq!(app.git(&["status", "--porcelain", "-uall"]), "?? src/new.c\n");
    assert!(app.excludes().iter().all(|line| !line.contains("src")), "{:?}", app.excludes());
}

#[test]
fn parallel_spawns_of_one_name_and_of_many_names() {
    let w = World::new();
    let app = app(&w);
    app.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    app.git(&["remote", "add", "origin", "/nowhere"]);
    let config = app.read(".git/config");
    let start = |args: &[&str]| {
        let mut command = w.command(w.path("bin/worktree-spawn"));
        command.args(args).current_dir(&app.path).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let same: Vec<_> = (0..20).map(|_| start(&["subtree", "same"])).collect();
    let codes: Vec<_> = same.into_iter().map(|child| child.wait_with_output().unwrap().status.code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 1))), "{codes:?}");
    let spawn = |n: usize| start(&["subtree", &format!("n{n}"), "--from", "origin/main"]);
    let mine: Vec<_> = (0..40).map(|n| (n, spawn(n))).collect();
    for (n, child) in mine {
        let mut output = child.wait_with_output().unwrap();
        // The last one may not get its turn within the ten seconds after which a command is to be repeated.
        while output.status.code() == Some(75) {
            output = spawn(n).wait_with_output().unwrap();
        }
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(app.read(".git/config"), config);
    assert_eq!(app.spawn(&["list", "--json"]).exit(0).json_lines().len(), 42);
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    for n in 0..40 {
        let child = w.at(app.path.join(format!(".shopfloor/worktrees/n{n}")));
        assert_eq!(child.git(&["status", "--porcelain"]) + &child.read("README.md"), "app\n");
    }
    // `--if-exists return` waits until the subtree is whole.
    let both: Vec<_> = (0..8).map(|_| start(&["subtree", "one", "--if-exists", "return", "--json"])).collect();
    let answers: Vec<serde_json::Value> = both
        .into_iter()
        .map(|child| serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap())
        .collect();
    assert_eq!(answers.iter().filter(|answer| answer["created"] == true).count(), 1);
    assert!(answers.iter().all(|answer| text(answer, "/path") == text(&answers[0], "/path")));
}

#[test]
fn a_command_runs_in_the_subtree_or_not_at_all() {
    let w = World::new();
    let app = app(&w);
    let ran = app
        .spawn(&["subtree", "x", "--task", "t", "--", "sh", "-c", "pwd; echo $SHOPFLOOR_AGENT_ID; exit 3"])
        .exit(3)
        .any_err();
    let path = app.path.join(".shopfloor/worktrees/x");
    assert_eq!(ran.stdout, format!("{}\nmain.x\n", path.display()));
    // The end is reported as under `run`.
    assert_eq!(text(&app.spawn(&["wait", "--timeout", "9s"]).exit(0).json(), "/message"), "exit 3");
    // If the spawn fails, the command does not run anywhere.
    app.spawn(&["subtree", "x", "--", "touch", "ran"]).exit(1).any_err();
    assert!(!app.has("ran") && !path.join("ran").exists());
    app.spawn(&["subtree", "x", "--if-exists", "return", "--", "touch", "ran"]).succeeds();
    assert!(path.join("ran").exists() && !app.has("ran"));
    app.spawn(&["subtree", "y", "-n", "--", "touch", "ran"]).exit(0).err_has("would run");
    assert!(!app.has(".shopfloor/worktrees/y"));
    app.spawn(&["subtree", "y", "--launch", "--", "true"]).exit(2).any_err();
}

#[test]
fn bad_names_and_roles_are_refused() {
    let w = World::new();
    let app = app(&w);
    app.spawn(&["subtree", "lock"]).exit(2).err_has("main.lock");
    app.spawn(&["subtree", "x", "--base-name", "a..b"]).exit(2).err_has("--base-name");
    app.spawn(&["subtree", "x", "--role", "a\nb"]).exit(2).err_has("--role");
    for name in ["root", "HEAD"] {
        app.spawn(&["subtree", name]).exit(2).err_has("is no name for an agent");
    }
}

#[test]
fn an_existing_subtree_keeps_its_task() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["y"]);
    app.spawn(&["subtree", "y", "--if-exists", "return", "--task", "late"])
        .succeeds()
        .err_has("y existed already: the file of its task is unchanged");
}

#[test]
fn nothing_is_made_for_a_program_that_is_not_there() {
    let w = World::new();
    let app = app(&w);
    for program in ["no-such-program", ""] {
        app.spawn(&["subtree", "x", "--", program]).exit(4).err_has("is not on the PATH").err_has("after `--`");
        assert_nothing_left(&app, "x", program);
    }
    assert_eq!(app.spawn(&["events"]).exit(0).stdout, "");
    // The worktree may have it.
    app.write("tool", "#!/bin/sh\necho here\n");
    app.sh("chmod +x tool; git add -A; git commit -q -m tool").exit(0);
    assert_eq!(app.spawn(&["subtree", "x", "--", "./tool"]).exit(0).any_err().stdout, "here\n");
}

#[test]
fn a_named_branch_is_made_or_checked_out_and_stays() {
    let w = World::new();
    let app = app(&w);
    let start = app.git(&["rev-parse", "main"]);
    for (remote, branch) in [("one", "far"), ("one", "both"), ("two", "both")] {
        app.git(&["update-ref", &format!("refs/remotes/{remote}/team/{branch}"), "main"]);
        app.git(&["commit", "-q", "--allow-empty", "-m", remote]);
    }
    app.git(&["branch", "here", "main~1"]);
    let made = |name: &str, branch: &str| subtree(&app, &[name, "--branch", branch]);
    let at = |agent: &Repo<'_>| agent.git(&["log", "-1", "--format=%D %H"]);
    let (new, far, here) = (made("a", "team/new"), made("b", "team/far"), made("c", "here"));
    assert!(
        at(&new).starts_with("HEAD -> team/new, main ") && at(&far).ends_with(&start) && at(&here).contains("here")
    );
    assert_eq!(new.spawn(&["whoami"]).exit(0).stdout, "main.a\n");
    // Its children are called after it, not after the branch.
    assert!(subtree(&new, &["--max-depth", "5", "kid"]).path.ends_with("kid"));
    assert!(!branch_named(&app, "main.a.kid").is_empty());
    app.spawn(&["subtree", "d", "--branch", "team/both"])
        .exit(1)
        .err_has("are different commits")
        .err_has("--from one/");
    app.spawn(&["subtree", "d", "--branch", "one/team/far"]).exit(2).err_has("`--branch team/far`");
    subtree(&app, &["d", "--branch", "team/both", "--from", "two/team/both"]);
    for (branch, status, why) in [
        ("main", 1, "is checked out at"),
        ("team/new", 1, "is checked out at"),
        ("team", 1, "cannot exist beside"),
        ("here/below", 1, "cannot exist beside here"),
        ("main/x/y", 1, "cannot exist beside main"),
        ("HEAD", 2, "does not accept"),
        ("a..b", 2, "does not accept"),
        ("-x", 2, ""),
    ] {
        app.spawn(&["subtree", "e", &format!("--branch={branch}")]).exit(status).any_out().err_has(why);
    }
    let again = |branch: &str| app.spawn(&["subtree", "b", "--if-exists", "return", "--branch", branch]);
    again("team/far").exit(0).out_has("/b\n");
    again("here").exit(1).err_has("main.b exists").err_has("was not made on here");
    app.spawn(&["remove", "b"]).exit(0).any_out().err_has("the branch team/far stays");
    assert!(!branch_named(&app, "team/far").is_empty());
    // A spawn that fails leaves no branch that it made.
    app.write(".git/hooks/post-checkout", "#!/bin/sh\nkill -9 $PPID\n");
    app.sh("chmod +x .git/hooks/post-checkout").exit(0);
    app.spawn(&["subtree", "f", "--branch", "team/killed"]).any_status().any_out().any_err();
    app.sh("rm .git/hooks/post-checkout").exit(0);
    app.spawn(&["repair"]).any_status().any_out().any_err();
    let is_left = !branch_named(&app, "team/killed").is_empty();
    assert_eq!(is_left, app.path.join(".shopfloor/worktrees/f").exists());
}
