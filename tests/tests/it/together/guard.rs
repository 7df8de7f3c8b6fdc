//! What an agent can write into its worktree, and into git's files about it, makes no git command of ours run a
//! program, nor work on another repository.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::floor::Floor;
use crate::support::worker::{floor, staff, tree, work};
use crate::support::world::{Repo, World, write};

/// A program that leaves a mark: as a filter it passes on what it gets, as a monitor of files it tells nothing.
fn evil(w: &World) -> String {
    let program = w.path("evil");
    write(&program, &format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", w.path("mark").display()));
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program.display().to_string()
}

/// Everything by which git's configuration runs a program in commands that look at a worktree.
fn configuration(evil: &str) -> String {
    format!(
        "[core]\n\tfsmonitor = {evil}\n\thooksPath = {}\n[diff]\n\texternal = {evil}\n\
         [diff \"evil\"]\n\ttextconv = {evil}\n\tcommand = {evil}\n[filter \"evil\"]\n\tclean = {evil}\n\tsmudge = {evil}\n\
         [filter \"e=v=il\"]\n\tclean = {evil}\n[merge \"evil\"]\n\tdriver = {evil}\n",
        Path::new(evil).with_file_name("evil-hooks").display()
    )
}

/// Hooks for everything git has a hook for here.
fn hooks(w: &World, evil: &str, dir: &Path) {
    for hook in
        ["post-checkout", "post-rewrite", "pre-rebase", "reference-transaction", "post-index-change", "pre-commit"]
    {
        write(&dir.join(hook), &format!("#!/bin/sh\nexec {evil} {hook} < /dev/null\n"));
        std::fs::set_permissions(dir.join(hook), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    assert!(!w.path("mark").exists());
}

#[track_caller]
fn assert_unmarked(w: &World, when: &str) {
    let mark = std::fs::read_to_string(w.path("mark")).unwrap_or_default();
    assert_eq!(mark, "", "{when}");
}

/// A repository elsewhere with everything in its configuration that runs a program.
fn elsewhere(w: &World, evil: &str) -> std::path::PathBuf {
    let other = w.repo("elsewhere");
    other.commit("README.md", "other\n");
    write(&other.path.join(".git/config"), &format!("{}[user]\n\tname = x\n", configuration(evil)));
    other.path.join(".git")
}

type Attack = fn(&World, &str, &Repo<'_>, &Path);

/// What an agent does in its worktree, whose git directory is the last.
const ATTACKS: [(&str, Attack); 4] = [
    ("its .git leads elsewhere", |w, evil, tree, _| {
        let other = elsewhere(w, evil);
        write(&tree.path.join(".git"), &format!("gitdir: {}\n", other.display()));
    }),
    ("its .git is a repository", |w, evil, tree, _| {
        let other = elsewhere(w, evil);
        std::fs::remove_file(tree.path.join(".git")).unwrap();
        tree.sh(&format!("cp -r '{}' .git", other.display())).exit(0);
    }),
    ("its commondir leads elsewhere", |w, evil, _, git_dir| {
        let other = elsewhere(w, evil);
        write(&git_dir.join("commondir"), &format!("{}\n", other.display()));
    }),
    ("its config.worktree runs programs", |_, evil, tree, git_dir| {
        tree.git(&["config", "extensions.worktreeConfig", "true"]);
        tree.sh("printf '* filter=evil diff=evil merge=evil\\n' > .gitattributes").exit(0);
        write(&git_dir.join("config.worktree"), &configuration(evil));
    }),
];

fn commands_of_worker_ctl(floor: &Floor<'_>, when: &str) {
    for args in [
        &["status"][..],
        &["patrol"],
        &["review", "adam", "--interface", "git"],
        &["review", "adam", "--json"],
        &["accept", "adam"],
        &["rebase", "adam"],
        &["doctor"],
        &["doctor", "--repair", "--yes"],
        &["reset", "adam"],
        &["reset", "adam", "--force"],
        &["start", "--worker", "adam", "--prompt", "think"],
        &["nuke", "adam", "--yes"],
        &["nuke", "adam", "--yes", "--force"],
    ] {
        floor.ctl(args).any_status().any_out().any_err();
        assert_unmarked(floor.root.world, &format!("{when}: {args:?}"));
    }
}

#[test]
fn worker_ctl_runs_nothing_that_an_agent_configured() {
    for (when, attack) in ATTACKS {
        let w = World::new();
        let floor = staff(&w, &["adam"]);
        let evil = evil(&w);
        work(&floor, "adam", "COMMIT README.md mine Change it");
        let adam = tree(&floor, "adam");
        attack(&w, &evil, &adam, &floor.root.path.join(".git/worktrees/adam"));
        hooks(&w, &evil, &w.path("evil-hooks"));
        let sources = floor.app.git(&["rev-parse", "main"]);
        // What is in its configuration is not read; then its new file of attributes is what stands in the way.
        let status = if when.contains("config.worktree") { 1 } else { 4 };
        floor.ctl(&["accept", "adam"]).exit(status).err_has("adam");
        assert_unmarked(&w, when);
        assert_eq!(floor.app.git(&["rev-parse", "main"]), sources, "{when}");
        floor.app.commit("README.md", "theirs\n");
        commands_of_worker_ctl(&floor, when);
        let is_there = adam.path.join("README.md").exists();
        assert_eq!(is_there, !when.contains("config.worktree"), "nothing was removed: {when}");
        if w.home("elsewhere").exists() {
            w.at(w.home("elsewhere")).run("git", &["fsck"]).exit(0).any_err();
        }
    }
}

#[test]
fn worktree_spawn_runs_nothing_that_an_agent_configured() {
    for (when, attack) in ATTACKS {
        let w = World::new();
        let evil = evil(&w);
        let app = w.app();
        app.commit("README.md", "app\n");
        let path = app.spawn(&["subtree", "x", "--no-git-hooks"]).exit(0).stdout;
        let child = w.at(path.trim_end());
        child.write("new", "work\n");
        attack(&w, &evil, &child, &app.path.join(".git/worktrees/x"));
        hooks(&w, &evil, &w.path("evil-hooks"));
        for args in [
            &["list", "--status"][..],
            &["gc"],
            &["remove", "x"],
            &["remove", "x", "--force"],
            &["repair"],
            &["list", "--status"],
        ] {
            app.spawn(args).any_status().any_out().any_err();
            assert_unmarked(&w, &format!("{when}: {args:?}"));
        }
        // Settings that git does not read are no reason to refuse; what was there is kept all the same.
        let kept = app.git(&["for-each-ref", "--format=%(refname)", "refs/shopfloor/trash"]);
        let is_kept = kept.lines().any(|name| app.git(&["show", &format!("{name}:new")]) == "work\n");
        assert!(child.has("new") || is_kept, "something was lost: {when}");
    }
}

/// A repository inside a worktree that counts as a submodule, with files that look changed and are not.
fn inner(tree: &Repo<'_>, config: &[u8]) {
    let lines = "git init -q sub && cd sub && printf 'a\\n' > a && cp a b && printf '* filter=evil\\nb filter=e\\377x\\n' > .gitattributes \
                 && git add . && git commit -qm sub";
    tree.sh(lines).exit(0);
    tree.sh("git add sub 2> /dev/null && git commit -qm sub && touch -d 2001-01-01 sub/a sub/b").exit(0);
    let mut all = std::fs::read(tree.path.join("sub/.git/config")).unwrap();
    all.extend(config);
    std::fs::write(tree.path.join("sub/.git/config"), all).unwrap();
    tree.write("untracked", "work\n");
}

/// What an inner repository's configuration can run, also under a name that is no text, and by fetching what is
/// missing.
fn inner_configurations(evil: &str) -> [Vec<u8>; 3] {
    let odd = [b"[filter \"e\xffx\"]\n\tclean = ".as_slice(), evil.as_bytes(), b"\n"].concat();
    let promisor = format!(
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = ev\n[remote \"ev\"]\n\turl = .\n\tpromisor = true\n\tuploadpack = {evil}\n"
    );
    [configuration(evil).into_bytes(), odd, promisor.into_bytes()]
}

#[test]
fn a_repository_inside_a_worktree_runs_nothing() {
    // A worker anew for each command, which thereby does all that it would do.
    for n in 0..3 {
        for args in [
            &["accept", "adam"][..],
            &["reset", "adam", "--force"],
            &["nuke", "adam", "--yes", "--force"],
            &["doctor", "--repair", "--yes"],
        ] {
            let w = World::new();
            let floor = floor(&w);
            let evil = evil(&w);
            hooks(&w, &evil, &w.path("evil-hooks"));
            floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
            let adam = tree(&floor, "adam");
            inner(&adam, &inner_configurations(&evil)[n]);
            if n == 2 {
                adam.sh("cd sub && t=$(git rev-parse 'HEAD^{tree}') && rm -f .git/objects/${t%${t#??}}/${t#??}")
                    .exit(0);
            }
            floor.ctl(&["patrol"]).succeeds();
            let is_done = floor.ctl(args).exits_with(0);
            assert_unmarked(&w, &format!("a submodule of worker-ctl's, {n}: {args:?}"));
            if args[0] == "nuke" || args[0] == "reset" {
                // Done, and nothing of it is lost.
                assert!(is_done, "{args:?}");
                let kept = floor.root.sh("cd .git && git rev-parse --verify -q $(git for-each-ref --format='%(refname)' refs/shopfloor/trash):untracked");
                kept.succeeds();
                let sub = floor.root.sh("find trash .worktrees -path '*sub/a' 2> /dev/null | grep -q .");
                sub.exit(0);
            }
        }
        let w = World::new();
        let evil = evil(&w);
        let app = w.repo("spawning");
        app.commit("README.md", "app\n");
        let child = w.at(app.spawn(&["subtree", "x"]).exit(0).stdout.trim_end());
        inner(&child, &inner_configurations(&evil)[n]);
        for args in [&["list", "--status"][..], &["gc"], &["remove", "x"], &["remove", "x", "--force"]] {
            app.spawn(args).any_status().any_out().any_err();
            assert_unmarked(&w, &format!("a submodule of worktree-spawn's, {n}: {args:?}"));
        }
        child
            .run_with(
                "worktree-spawn",
                &["subtree", "y", "--require-clean", "--no-git-hooks"],
                &[("WORKTREE_SPAWN_MAX_DEPTH", "3")],
            )
            .any_status()
            .any_out()
            .any_err();
        assert_unmarked(&w, &format!("a spawn from there, {n}"));
        assert!(child.has("sub/a") && child.has("untracked"), "it is not known to hold nothing else: {n}");
    }
}

#[test]
fn a_submodule_with_settings_of_its_own_is_in_nobodys_way() {
    let w = World::new();
    let app = w.repo("spawning");
    let lib = w.repo("lib");
    lib.commit("l", "l\n");
    app.sh(&format!(
        "git -c protocol.file.allow=always submodule -q add {} sub && git commit -qm sub",
        lib.path.display()
    ))
    .exit(0);
    let child = w.at(app.spawn(&["subtree", "x"]).exit(0).stdout.trim_end());
    child.sh("git -c protocol.file.allow=always submodule -q update --init && git -C sub config diff.algorithm histogram").exit(0);
    child.sh("git -C sub config user.name x").exit(0);
    // What it has that is nowhere else keeps it, and is named.
    child.write("sub/new", "work\n");
    app.spawn(&["remove", "x"]).exit(1).err_has("the submodule sub has changes of its own");
    child.sh("cd sub && git add . && git commit -qm new && cd .. && git add sub && git commit -qm sub").exit(0);
    app.spawn(&["remove", "x"]).exit(1).err_has("the submodule sub has commits that are nowhere else");
    child.sh("cd sub && git reset -q --hard HEAD~ && cd .. && git add sub && git commit -qm back").exit(0);
    app.spawn(&["remove", "x"]).succeeds();
    assert!(!child.path.exists());
}

#[test]
fn a_spawn_copies_no_program_that_an_agent_configured() {
    let w = World::new();
    let evil = evil(&w);
    let app = w.app();
    app.commit("README.md", "app\n");
    let child = w.at(app.spawn(&["subtree", "x"]).exit(0).stdout.trim_end());
    child.commit(".gitattributes", "* filter=evil\n");
    child.git(&["config", "extensions.worktreeConfig", "true"]);
    write(&app.path.join(".git/worktrees/x/config.worktree"), &configuration(&evil));
    hooks(&w, &evil, &w.path("evil-hooks"));
    let deeper = [("WORKTREE_SPAWN_MAX_DEPTH", "5")];
    for (name, options) in [("y", &["--no-git-hooks"][..]), ("z", &[])] {
        let line = [&["subtree", name], options].concat();
        let made = child.run_with("worktree-spawn", &line, &deeper).exit(0);
        made.err_has("could run something: core.fsmonitor, core.hookspath, diff.external");
        assert_unmarked(&w, "a spawn from a worktree with programs");
        // git itself runs nothing there either.
        w.at(made.stdout.trim_end()).git(&["status"]);
        assert_unmarked(&w, "git in the new worktree");
        app.spawn(&["remove", &format!("main.x.{name}")]).succeeds();
    }
    // Looking at it, and removing it, is not in anybody's way: git does not read that file.
    app.spawn(&["list", "--status"]).exit(0).out_has("main.x");
    assert_unmarked(&w, "a list");
    app.spawn(&["remove", "x"]).succeeds();
    assert_unmarked(&w, "a removal");
}

#[test]
fn hooks_that_lie_in_the_worktree_are_not_run_where_none_is_meant() {
    let mut w = World::new();
    let config = w.path("gitconfig");
    w.set("GIT_CONFIG_GLOBAL", config.to_string_lossy());
    let floor = staff(&w, &["adam"]);
    let evil = evil(&w);
    work(&floor, "adam", "COMMIT README.md mine Change it");
    write(&config, "[core]\n\thooksPath = .githooks\n");
    hooks(&w, &evil, &tree(&floor, "adam").path.join(".githooks"));
    floor.app.commit("other", "theirs\n");
    commands_of_worker_ctl(&floor, "hooks below the worktree");
}

#[test]
fn a_worktree_of_its_own_settings_works_on() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
    let adam = tree(&floor, "adam");
    adam.git(&["sparse-checkout", "set", "--no-cone", "/*"]);
    for setting in [["user.name", "Adam"], ["core.untrackedCache", "true"], ["pull.rebase", "true"]] {
        adam.git(&[&["config", "--worktree"][..], &setting].concat());
    }
    assert!(floor.root.has(".git/worktrees/adam/config.worktree"));
    adam.commit("mine", "x\n");
    floor.until("adam", "needs_review");
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_eq!(floor.app.git(&["show", "main:mine"]), "x\n");
}

#[test]
fn a_worktree_that_leads_elsewhere_is_told_with_what_mends_it() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    work(&floor, "adam", "COMMIT README.md mine Change it");
    let adam = tree(&floor, "adam");
    let before = adam.read(".git");
    adam.write(".git", &format!("gitdir: {}\n", floor.app.path.join(".git").display()));
    let json = floor.ctl(&["accept", "adam", "--json"]).exit(4).json();
    assert_eq!(crate::support::world::text(&json, "/error/kind"), "tampered");
    let told = floor.ctl(&["nuke", "adam", "--yes", "--force"]).exit(4);
    told.err_has(".worktrees/adam/.git does not lead to");
    assert!(floor.app.has(".git/HEAD"));
    // The command that the hint names.
    let hint = told.stderr.split('`').nth(1).unwrap().to_owned();
    adam.sh(&hint).exit(0);
    assert_eq!(adam.read(".git"), before);
    // The others go on.
    floor.ctl(&["nuke", "eve", "--yes"]).succeeds();
    // One without any says as little about what it has.
    std::fs::remove_file(adam.path.join(".git")).unwrap();
    adam.write("new", "work\n");
    floor.ctl(&["nuke", "adam", "--yes"]).exit(4).err_has("does not lead to");
    assert!(adam.has("new"));
    std::fs::remove_file(adam.path.join("new")).unwrap();
    adam.write(".git", &before);
    floor.ctl(&["accept", "adam"]).succeeds();
}

#[test]
fn a_repository_that_is_checked_in_is_not_used() {
    let w = World::new();
    let app = w.app();
    let trusted = w.repo("eng/repos/trusted");
    trusted.approved("setup = [\"touch $HOME/ran\"]\n");
    app.sh("git init -q --bare inner && mkdir -p inner/refs/heads && touch inner/refs/heads/.keep inner/objects/.keep")
        .exit(0);
    let config = format!(
        "[core]\n\tbare = false\n\tworktree = {}\n[shopfloor]\n\tsource = {}\n",
        w.home("eng/victim").display(),
        trusted.path.display()
    );
    app.write("inner/config", &config);
    std::fs::create_dir_all(w.home("eng/victim")).unwrap();
    app.git(&["add", "-f", "inner"]);
    app.git(&["commit", "-q", "-m", "inner"]);
    app.git(&["clone", "-q", ".", "../clone"]);
    let inner = w.at(w.home("eng/repos/clone/inner"));
    for (tool, args) in [
        ("sweatfile-apply", &[][..]),
        ("sweatfile-apply", &["hook", "install"]),
        ("overlay-sync", &["status"]),
        ("overlay-sync", &["attach"]),
        ("ledger-synth", &["--no-confirm"]),
        ("worktree-spawn", &["list"]),
        ("worker-ctl", &["status"]),
        ("worker-ctl", &["init"]),
    ] {
        let refused = inner.run(tool, args).exit(2);
        refused.err_has("eng/repos/clone/inner is a repository that is checked into");
    }
    assert!(!w.home("ran").exists());
    // One that lies there and is nobody's file is the user's own.
    let own = w.at(app.path.join("own"));
    app.sh("git init -q --bare own").exit(0);
    own.spawn(&["list"]).exit(0);
}

#[test]
fn no_agent_is_handed_settings_that_are_checked_in() {
    let w = World::new();
    let hooks = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"touch ~/ran\"}]}]}}";
    for file in ["agents/w/settings.json", "agents/w/mcp.json", "agents/w/task.md"] {
        let app = w.repo(&format!("seat-{}", file.replace('/', "-")));
        app.commit(&format!(".shopfloor/{file}"), hooks);
        let refused = app.spawn(&["worker", "w", "--agent", "claude"]).exit(2);
        refused.err_has(&format!(".shopfloor/{file} is checked in")).err_has("git rm --cached");
        assert_eq!(app.read(&format!(".shopfloor/{file}")), hooks);
        app.git(&["rm", "-q", "--cached", &format!(".shopfloor/{file}")]);
        app.spawn(&["worker", "w"]).succeeds();
    }
    for file in ["mcp.json", "settings.json", "task.md"] {
        let app = w.repo(&format!("subtree-{file}"));
        app.commit(&format!(".shopfloor/{file}"), hooks);
        app.commit(".mcp.json", "{}\n");
        app.spawn(&["subtree", "x"]).exit(2).err_has(&format!(".shopfloor/{file} is checked in"));
        assert!(!app.has(".shopfloor/worktrees/x"), "nothing is left of it");
        assert_eq!(app.git(&["branch", "--list", "main.x"]), "");
    }
}

/// Ending a rebase moves the branch that git's record of it names, and that record is the agent's to write.
#[test]
fn a_rebase_that_is_said_to_be_anothers_is_not_ended() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    work(&floor, "adam", "COMMIT a adams Add a");
    work(&floor, "eve", "COMMIT e eves Add e");
    let eves = floor.root.git(&["rev-parse", "refs/heads/worker/eve"]);
    let git_dir = floor.root.path.join(".git/worktrees/adam");
    let (adams, base) = (
        floor.root.git(&["rev-parse", "refs/heads/worker/adam"]),
        floor.root.git(&["rev-parse", "refs/remotes/origin/main"]),
    );
    for (file, text) in [("head-name", "refs/heads/worker/eve\n"), ("orig-head", &adams), ("onto", &base)] {
        write(&git_dir.join("rebase-merge").join(file), text);
    }
    write(&git_dir.join("shopfloor/worker-ctl/rebasing"), &format!("{} {}", adams.trim(), base));
    tree(&floor, "adam").git(&["checkout", "-q", "--detach", base.trim()]);
    floor.ctl(&["patrol"]).any_status().any_out().any_err().err_has("is recorded for refs/heads/worker/eve");
    floor.ctl(&["doctor", "--repair", "--yes"]).any_status().any_out().any_err();
    floor.ctl(&["reset", "adam", "--force"]).exit(4).any_err();
    assert_eq!(floor.root.git(&["rev-parse", "refs/heads/worker/eve"]), eves);
}

#[test]
fn what_stands_in_a_worktrees_place_is_neither_removed_nor_written_to() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    let child = w.at(app.spawn(&["subtree", "x"]).exit(0).stdout.trim_end());
    let aside = w.home("aside");
    std::fs::rename(&child.path, &aside).unwrap();
    std::os::unix::fs::symlink(&aside, &child.path).unwrap();
    write(&aside.join("key"), "secret\n");
    app.spawn(&["remove", "x", "--force"]).exit(1).err_has("is not one that you have written");
    assert!(aside.join("key").exists() && aside.join("README.md").exists());
    app.spawn(&["list"]).exit(0).out_has("main.x");
    std::fs::remove_file(&child.path).unwrap();
    std::os::unix::fs::symlink(&app.path, &child.path).unwrap();
    app.spawn(&["repair"]).any_status().any_out().any_err();
    assert!(!app.has(".mcp.json"));
}

#[test]
fn a_configuration_that_is_swapped_in_meanwhile_runs_nothing() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let evil = evil(&w);
    work(&floor, "adam", "COMMIT README.md mine Change it");
    let adam = tree(&floor, "adam");
    adam.git(&["config", "extensions.worktreeConfig", "true"]);
    let app = w.app();
    let child = w.at(app.spawn(&["subtree", "x"]).exit(0).stdout.trim_end());
    child.git(&["config", "extensions.worktreeConfig", "true"]);
    for (tree, dir) in
        [(&adam, floor.root.path.join(".git/worktrees/adam")), (&child, app.path.join(".git/worktrees/x"))]
    {
        write(&dir.join("evil"), &configuration(&evil));
        write(&tree.path.join(".gitattributes"), "* filter=evil\n");
        write(&tree.path.join("README.md"), "touched\n");
        let swap = "while :; do cp evil t && mv t config.worktree; rm -f config.worktree; done";
        let mut swapper = w.command("sh").args(["-c", swap]).current_dir(&dir).spawn().unwrap();
        for _ in 0..10 {
            floor.ctl(&["accept", "adam"]).any_status().any_out().any_err();
            app.spawn(&["list", "--status"]).any_status().any_out().any_err();
            app.spawn(&["remove", "x"]).any_status().any_out().any_err();
        }
        swapper.kill().unwrap();
        swapper.wait().unwrap();
        assert_unmarked(&w, "a configuration that comes and goes");
    }
}

#[test]
fn what_is_no_file_where_git_reads_one_is_told_and_not_waited_for() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    work(&floor, "eve", "COMMIT README.md mine Change it");
    let head = floor.root.path.join(".git/worktrees/adam/HEAD");
    let was = std::fs::read(&head).unwrap();
    std::fs::remove_file(&head).unwrap();
    floor.root.sh("mkfifo .git/worktrees/adam/HEAD").exit(0);
    // It stops nobody else.
    floor.ctl(&["patrol"]).exit(0).any_out().err_has("HEAD is not a file");
    floor.ctl(&["review", "adam"]).exit(1).any_err();
    floor.ctl(&["review", "eve", "--interface", "git"]).exit(0).any_err().out_has("mine");
    floor.ctl(&["accept", "eve"]).exit(0).any_out().any_err();
    assert_eq!(floor.app.git(&["show", "main:README.md"]), "mine\n");
    std::fs::remove_file(&head).unwrap();
    std::fs::write(&head, was).unwrap();
    floor.ctl(&["patrol"]).succeeds();
}
