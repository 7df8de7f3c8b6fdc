//! What an agent can write into the clone makes no git command of ours run a program, go elsewhere or show less.

use std::os::unix::fs::PermissionsExt;

use crate::support::floor::Floor;
use crate::support::worker::{by_hand, staff, tip, tree, work};
use crate::support::world::{Repo, World, needs_mount, wait_for, write};

/// A program that leaves a mark and passes on what it gets.
fn evil(w: &World) -> String {
    let program = w.path("evil");
    write(&program, &format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", w.path("mark").display()));
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program.display().to_string()
}

/// Everything by which a clone's configuration runs a program on the host, or sends it elsewhere.
fn configuration(evil: &str) -> String {
    format!(
        "\n[core]\n\tpager = {evil}\n\thooksPath = {evil}-hooks\n\tsshCommand = {evil}\n\tfsmonitor = {evil}\n\
         \talternateRefsCommand = {evil}\n[pager]\n\tdiff = {evil}\n\tlog = {evil}\n[diff]\n\texternal = {evil}\n\
         [diff \"evil\"]\n\tcommand = {evil}\n\ttextconv = {evil}\n[merge]\n\tdefault = evil\n\
         [merge \"evil\"]\n\tdriver = {evil}\n[filter \"evil\"]\n\tclean = {evil}\n\tsmudge = {evil}\n\
         [filter \"lfs\"]\n\tclean = {evil} clean -- %f\n[remote \"origin\"]\n\tuploadpack = {evil}\n\
         [url \"/nowhere/\"]\n\tinsteadOf = /\n[gc]\n\trecentObjectsHook = {evil}\n\tauto = 1\n\
         [include]\n\tpath = {evil}-more\n[extensions]\n\tworktreeConfig = true\n"
    )
}

#[test]
fn git_on_the_host_writes_through_no_link_in_the_clone() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    work(&floor, "adam", "COMMIT README.md mine Change it");
    floor.app.commit("README.md", "theirs\n");
    let diary = w.path("diary");
    write(&diary, "of a person\n");
    // An agent learns the name of the conflict in a clone of its own.
    let adam = tree(&floor, "adam");
    let (root, app) = (floor.root.path.display(), floor.app.path.display());
    let learn = format!(
        "git clone -q '{root}' scratch && cd scratch && git config rerere.enabled true && git fetch -q '{root}' worker/adam \
         && git checkout -q FETCH_HEAD && git fetch -q '{app}' main; git rebase -q FETCH_HEAD > /dev/null; ls .git/rr-cache; rm -rf ../scratch"
    );
    let id = adam.sh(&learn).any_status().any_err().stdout.trim().to_owned();
    assert_eq!(id.len(), 40, "{id}");
    let records = format!(
        "cd .git && mkdir -p rr-cache/{id} && cd rr-cache/{id} && echo 1 > preimage && echo 2 > postimage \
         && ln -s '{0}' thisimage && ln -sf '{0}' ../../FETCH_HEAD",
        diary.display()
    );
    floor.root.sh(&records).exit(0);
    floor.ctl(&["accept", "adam"]).exit(1).err_has("asked to resolve the conflicts");
    assert_eq!(std::fs::read_to_string(&diary).unwrap(), "of a person\n");
}

#[test]
fn host_git_obeys_nothing_that_the_clone_configures() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    let evil = evil(&w);
    work(&floor, "adam", "COMMIT notes.txt mine Write it");
    work(&floor, "eve", "COMMIT README.md hers Change it");
    let config = floor.root.read(".git/config");
    floor.root.write(".git/config", &(config + &configuration(&evil)));
    write(&w.path("evil-more"), &format!("[filter \"more\"]\n\tclean = {evil}\n"));
    for place in [".git/config.worktree", ".git/worktrees/adam/config.worktree"] {
        floor.root.write(place, &configuration(&evil));
    }
    floor.root.write(".git/info/attributes", "* filter=evil diff=evil merge=evil\n*.txt -diff filter=lfs\n");
    for hook in ["post-checkout", "reference-transaction", "post-index-change", "pre-rebase"] {
        for dir in [".git/hooks", "../../evil-hooks"] {
            floor.root.write(&format!("{dir}/{hook}"), &format!("#!/bin/sh\nexec {evil} < /dev/null\n"));
            floor.root.sh(&format!("chmod +x {dir}/{hook}")).exit(0);
        }
    }
    // A blob that stands for another one would hide what lands.
    let blob = floor.root.git(&["rev-parse", "worker/adam:notes.txt"]);
    let harmless = floor.root.sh("echo harmless | git hash-object -w --stdin --no-filters").exit(0).stdout.clone();
    floor.root.git(&["update-ref", &format!("refs/replace/{}", blob.trim()), harmless.trim()]);
    let mark = || std::fs::read_to_string(w.path("mark")).unwrap_or_default();
    // What the set-up above ran itself is not ours.
    let _ = std::fs::remove_file(w.path("mark"));
    floor.app.commit("README.md", "theirs\n");
    for args in [&["status"][..], &["patrol"], &["doctor"], &["clashes"]] {
        floor.ctl(args).any_status().any_out().any_err();
        assert_eq!(mark(), "", "{args:?}");
    }
    let shown = floor.ctl(&["review", "adam", "--interface", "git"]).exit(0).any_err();
    assert!(shown.stdout.contains("+mine"), "{}", *shown.stdout);
    let on_terminal = floor.root.on_terminal("PAGER=cat worker-ctl review adam --interface git", "");
    assert!(on_terminal.any_status().any_err().stdout.contains("mine"));
    let old = tip(&floor);
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_ne!(tip(&floor), old);
    assert_eq!(floor.app.git(&["show", "main:notes.txt"]), "mine\n");
    for args in [
        &["rebase", "eve"][..],
        &["reset", "eve", "--force"],
        &["add", "noah"],
        &["doctor", "--repair", "--yes"],
        &["nuke", "eve", "--yes", "--force"],
    ] {
        floor.ctl(args).any_status().any_out().any_err();
        assert_eq!(mark(), "", "{args:?}");
    }
    assert!(tree(&floor, "noah").has("README.md"));
}

#[test]
fn links_below_the_clones_refs_and_logs_lead_nowhere() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    work(&floor, "adam", "COMMIT notes.txt mine Write it");
    let other = w.repo("other");
    other.commit("a", "a\n");
    other.git(&["branch", "dear"]);
    let refs = other.git(&["for-each-ref"]);
    write(&w.home("profile"), "mine\n");
    // git would append to it whatever it logs.
    floor.root.sh("mkdir -p .git/logs/refs/heads/worker && ln -sf ~/profile .git/logs/refs/heads/worker/adam").exit(0);
    floor.ctl(&["accept", "adam"]).exit(4).err_has("logs/refs/heads/worker/adam is not a file");
    assert_eq!(std::fs::read_to_string(w.home("profile")).unwrap(), "mine\n");
    floor.root.sh("rm .git/logs/refs/heads/worker/adam").exit(0);
    floor.root.sh("cd .git/refs/remotes && rm -rf origin && ln -s ~/other/.git/refs/heads origin").exit(0);
    for args in [&["patrol"][..], &["status"], &["reset", "adam", "--force"], &["nuke", "adam", "--yes", "--force"]] {
        floor.ctl(args).exit(4).err_has("refs/remotes/origin is not a file");
    }
    assert_eq!(other.git(&["for-each-ref"]), refs);
    // The way back is the one that the message names.
    floor.root.sh("rm .git/refs/remotes/origin").exit(0);
    floor.ctl(&["patrol"]).succeeds();
}

#[test]
fn what_git_was_told_not_to_look_at_is_work_and_a_mount_stays() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    adam.sh("git update-index --skip-worktree README.md && echo precious > README.md").exit(0);
    for args in [&["nuke", "adam", "--yes"][..], &["reset", "adam"]] {
        floor.ctl(args).exit(1).err_has("README.md");
    }
    assert_eq!(adam.read("README.md"), "precious\n");
    let data = w.home("data");
    write(&data.join("photo"), "x\n");
    std::fs::create_dir(adam.path.join("data")).unwrap();
    let mount = format!("mount --bind '{}' '{}'", data.display(), adam.path.join("data").display());
    if needs_mount(&floor.app, &mount) {
        for args in [&["nuke", "adam", "--yes", "--force"][..], &["reset", "adam", "--force"]] {
            floor.ctl(args).exit(1).err_has("something is mounted at");
        }
        assert_eq!(adam.read("README.md"), "precious\n");
        assert!(data.join("photo").exists());
        floor.app.sh(&format!("umount '{}'", adam.path.join("data").display())).exit(0);
    }
    floor.ctl(&["nuke", "adam", "--yes", "--force"]).succeeds();
    let kept = floor.root.git(&["for-each-ref", "--format=%(refname)", "refs/shopfloor/trash/adam"]);
    assert_eq!(floor.root.git(&["show", &format!("{}:README.md", kept.trim())]), "precious\n");
}

/// git is not asked again as long as neither configuration has changed.
#[test]
fn what_host_git_obeys_follows_the_clones_configuration_and_the_persons() {
    let w = World::new();
    let floor = Floor::new(&w);
    let obeyed = || {
        floor.ctl(&["status"]).succeeds();
        floor.root.read("git/config")
    };
    // A change within a tick of the file system's clock would not show, so git is asked until then.
    wait_for(|| obeyed().starts_with("# made for "));
    let before = obeyed();
    assert_eq!(obeyed(), before);
    let config = floor.root.read(".git/config");
    let filter = "[filter \"mine\"]";
    floor.root.write(".git/config", &format!("{config}{filter}\n\tclean = cat\n"));
    assert!(!obeyed().contains(filter));
    floor.app.git(&["config", "filter.mine.clean", "cat"]);
    assert!(obeyed().contains(filter));
    floor.app.git(&["config", "--unset", "filter.mine.clean"]);
    assert!(!obeyed().contains(filter));
}

#[test]
fn no_link_in_the_record_of_a_worktree_is_followed() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    let diary = w.home("diary");
    write(&diary.join("todo"), "live\n");
    let eve = tree(&floor, "eve");
    eve.sh("echo part > new && git add new && echo whole > new").exit(0);
    let before = eve.git(&["status", "--porcelain"]);
    assert_eq!(before, "AM new\n");
    let at = |name: &str| floor.root.path.join(".git/worktrees/adam").join(name);
    for (name, target) in [
        ("rebase-merge", diary.clone()),
        ("rebase-apply", "../eve".into()),
        // The checkout of `reset` ends a cherry-pick.
        ("sequencer", diary.clone()),
        ("index", "../eve/index".into()),
        ("modules", diary.clone()),
    ] {
        let own = std::fs::read(at(name)).unwrap_or_default();
        let _ = std::fs::remove_file(at(name));
        std::os::unix::fs::symlink(&target, at(name)).unwrap();
        floor.root.sh("git rev-parse worker/adam > .git/worktrees/adam/CHERRY_PICK_HEAD").exit(0);
        for args in [&["reset", "adam"][..], &["reset", "adam", "--force"]] {
            floor.ctl(args).exit(4).err_has(&format!(".git/worktrees/adam/{name} is not a file"));
        }
        floor.ctl(&["status"]).any_status().any_out().any_err();
        assert_eq!(std::fs::read_to_string(diary.join("todo")).unwrap(), "live\n", "{name}");
        assert_eq!(eve.git(&["status", "--porcelain"]), before, "{name}");
        std::fs::remove_file(at(name)).unwrap();
        std::fs::remove_file(at("CHERRY_PICK_HEAD")).unwrap();
        if !own.is_empty() {
            std::fs::write(at(name), own).unwrap();
        }
    }
    // What Emacs puts beside a message that it edits leads nowhere, and git never opens it.
    std::os::unix::fs::symlink("me@here.1", at(".#COMMIT_EDITMSG")).unwrap();
    floor.ctl(&["reset", "adam", "--force"]).succeeds();
}

#[test]
fn a_reset_in_a_rebase_keeps_what_the_rebase_put_aside() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    adam.sh("echo 1 > a && git add a && git commit -qm a && echo 2 > README.md && git commit -qam b && echo loose > a")
        .exit(0);
    adam.sh("GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i --autostash HEAD~1")
        .any_status()
        .any_out()
        .any_err();
    assert!(floor.root.has(".git/worktrees/adam/rebase-merge/autostash"));
    let kept = floor.ctl(&["reset", "adam", "--force"]).succeeds().stdout;
    let trash = floor.root.git(&["for-each-ref", "--format=%(refname)", "refs/shopfloor/trash/adam"]);
    assert!(floor.root.git(&["log", "-m", "-p", "--format=", trash.trim()]).contains("+loose"), "{}", *kept);
    assert!(!floor.root.has(".git/worktrees/adam/rebase-merge"));
    assert_eq!(adam.git(&["status", "--porcelain"]), "");
}

#[test]
fn accept_merges_in_no_repository_of_an_agents() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    work(&floor, "adam", "COMMIT notes.txt mine Write it");
    work(&floor, "eve", "COMMIT more.txt mine Write it");
    let evil = evil(&w);
    let (app, path) = (&floor.app, w.home("agents"));
    app.git(&["switch", "-q", "-c", "feature"]);
    app.git(&["worktree", "add", "-q", path.to_str().unwrap(), "main"]);
    let agents = w.at(&path);
    let hook = format!("#!/bin/sh\nexec {evil} \"$0\" < /dev/null\n");
    let before = agents.read(".git");
    // A repository of the agent's that has the same branch.
    agents.sh("git clone -q --bare . .r && git --git-dir=.r config core.bare false").exit(0).any_err();
    agents.sh(&format!("cp '{}/.git/worktrees/agents/index' .r/ && rm -rf .r/hooks", app.path.display())).exit(0);
    agents.sh(&format!("echo '{}/.git/objects' > .r/objects/info/alternates", app.path.display())).exit(0);
    agents.sh("echo .r >> $(git rev-parse --git-common-dir)/info/exclude && echo 'gitdir: .r' > .git").exit(0);
    agents.write(".r/hooks/post-merge", &hook);
    agents.sh("chmod +x .r/hooks/post-merge").exit(0);
    let old = tip(&floor);
    floor.ctl(&["accept", "adam"]).exit(4).err_has("agents/.git does not lead to");
    assert!(!w.path("mark").exists() && tip(&floor) == old);
    // A directory of hooks that the checkout itself has is the agent's, too.
    agents.write(".git", &before);
    agents.sh("mv .r/hooks tools").exit(0);
    app.git(&["config", "core.hooksPath", "tools"]);
    floor.ctl(&["accept", "adam"]).succeeds();
    assert!(!w.path("mark").exists() && tip(&floor) != old);
    app.git(&["config", "--unset", "core.hooksPath"]);
    app.write(".git/hooks/post-merge", &hook);
    app.sh("chmod +x .git/hooks/post-merge").exit(0);
    // Whose files a linked checkout has, nobody can say. The hooks run in the main checkout.
    let marked = |worker: &str| {
        floor.ctl(&["accept", worker]).succeeds();
        w.path("mark").exists()
    };
    assert!(!marked("eve"));
    work(&floor, "eve", "COMMIT last.txt mine Write it");
    app.git(&["worktree", "remove", "--force", path.to_str().unwrap()]);
    app.git(&["switch", "-q", "main"]);
    assert!(marked("eve"));
}

#[test]
fn accept_lands_by_no_configuration_that_an_agent_of_the_source_writes() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    work(&floor, "adam", "COMMIT notes.txt mine Write it");
    let evil = evil(&w);
    floor.app.git(&["config", "extensions.worktreeConfig", "true"]);
    floor.app.write(".git/config.worktree", &configuration(&evil));
    floor.app.write(".git/info/attributes", "* filter=evil diff=evil merge=evil\n");
    floor.ctl(&["accept", "adam"]).succeeds();
    assert!(!w.path("mark").exists());
    floor.app.sh("rm .git/config.worktree .git/info/attributes").exit(0);
    assert_eq!(floor.app.git(&["show", "main:notes.txt"]), "mine\n");
}

#[test]
fn accept_overwrites_no_change_that_the_sources_index_hides() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    work(&floor, "adam", "COMMIT README.md adams Change it");
    let app = &floor.app;
    app.write("README.md", "a day of work\n");
    let blob = |name: &str| -> Vec<u8> {
        let hex = app.git(&["rev-parse", name]);
        hex.trim()
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    };
    app.sh("touch -d '1 minute ago' README.md && git add README.md").exit(0);
    // What stat says of the changed file stays beside the blob of the commit.
    let mut index = std::fs::read(app.path.join(".git/index")).unwrap();
    let (old, new) = (blob("HEAD:README.md"), blob(":README.md"));
    let at = index.windows(new.len()).position(|bytes| bytes == new).unwrap();
    index[at..at + old.len()].copy_from_slice(&old);
    std::fs::write(app.path.join(".git/index"), index).unwrap();
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    let old = tip(&floor);
    floor.ctl(&["accept", "adam"]).exit(1).err_has("has changes in the way");
    assert_eq!((app.read("README.md").as_str(), tip(&floor)), ("a day of work\n", old));
}

#[test]
fn a_review_shows_all_of_a_change_whatever_lies_in_the_clone() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let (lib, adam) = (w.repo("lib"), tree(&floor, "adam"));
    lib.commit("a", "1\n");
    let (one, two) = (lib.git(&["rev-parse", "HEAD"]), floor.app.git(&["rev-parse", "HEAD"]));
    let link = |at: &Repo<'_>, sha: &str| {
        at.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},lib", sha.trim())]);
    };
    link(&floor.app, &one);
    floor.app.git(&["commit", "-q", "-m", "lib"]);
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
    link(&adam, &two);
    adam.write("z.js", "evil()\n");
    adam.git(&["add", "z.js"]);
    adam.git(&["commit", "-q", "-m", "work"]);
    floor.until("adam", "needs_review");
    // The clone's top has no checkout, and git asks the index for what a work tree does not have.
    let index = "blob() { git hash-object -w --stdin; }\n\
                 m=$(printf '[submodule \"lib\"]\\n\\tpath = lib\\n\\turl = x\\n\\tignore = all\\n' | blob) && a=$(echo '* -diff' | blob) &&\n\
                 git update-index --add --cacheinfo 100644,$m,.gitmodules --cacheinfo 100644,$a,.gitattributes";
    floor.root.sh(index).exit(0);
    for args in [&["review", "adam", "--interface", "git"][..], &["review", "adam", "--json"]] {
        let shown = floor.ctl(args).exit(0).any_err();
        assert!(shown.stdout.contains("+evil()"), "{}", *shown.stdout);
        assert!(shown.stdout.contains(&format!("+Subproject commit {}", two.trim())), "{}", *shown.stdout);
    }
}

#[test]
fn the_same_lines_at_another_place_are_not_the_reviewed_work() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let body = |first: &str, second: &str| {
        let function = |name: &str, line: &str| format!("{name}() {{\n  a\n  b\n  c\n{line}\n\n\n}}\nx\ny\nz\n");
        function("is_debug", first) + &function("is_admin", second)
    };
    floor.app.commit("auth.sh", &body("", ""));
    let adam = by_hand(&floor, "adam", &[("auth.sh", &body("  return 0\n", ""))]);
    floor.ctl(&["review", "adam"]).succeeds();
    // What only lands on another commit stays reviewed.
    floor.app.commit("other", "x\n");
    floor.ctl(&["rebase", "adam"]).succeeds();
    assert_eq!(floor.status("adam")["reviewed_sha"], floor.status("adam")["commit_sha"]);
    adam.write("auth.sh", &body("", "  return 0\n"));
    adam.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    floor.ctl(&["patrol"]).succeeds().any_err();
    let old = tip(&floor);
    floor.ctl(&["accept"]).exit(1).err_has("was not reviewed");
    floor.ctl(&["accept", "adam"]).exit(1).err_has("changed since it was reviewed");
    assert_eq!(tip(&floor), old);
}

#[test]
fn a_pipe_in_one_worktree_does_not_hold_up_the_others() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    for name in ["adam", "eve"] {
        by_hand(&floor, name, &[(name, "1\n")]);
    }
    tree(&floor, "adam").sh("mkfifo .gitattributes").exit(0);
    floor.app.commit("README.md", "theirs\n");
    let told = floor.ctl(&["patrol"]).exit(0);
    told.err_has("adam: git took longer than 20 s in").err_has("/adam/.gitattributes, which is a pipe");
    // She is on the new commit.
    tree(&floor, "eve").git(&["merge-base", "--is-ancestor", &tip(&floor), "HEAD"]);
    // It is not waited for again.
    floor.ctl(&["patrol"]).succeeds();
}

#[test]
fn directories_deeper_than_files_can_be_open_are_removed() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.root.sh("echo ign >> .git/info/exclude").exit(0);
    let deep = "mkdir ign && cd ign && ln -s ~ home && i=0 && while [ $i -lt 600 ]; do mkdir d f && cd d && i=$((i + 1)); done";
    tree(&floor, "adam").sh(deep).exit(0);
    write(&w.home("diary"), "mine\n");
    floor.root.sh("ulimit -n 256 && worker-ctl nuke adam --yes --force").succeeds();
    assert!(!floor.root.has(".worktrees/adam"));
    assert_eq!(std::fs::read_to_string(w.home("diary")).unwrap(), "mine\n");
}

#[test]
fn a_merge_of_endless_commits_is_named_and_ends_at_once() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    let sha = tip(&floor);
    floor.root.write(".git/worktrees/adam/MERGE_HEAD", &format!("{sha}\n").repeat(101));
    for command in ["nuke", "reset"] {
        let refused = floor.ctl(&[command, "adam", "--force"]).exit(2);
        refused.err_has("MERGE_HEAD names 101 commits").err_has("look at it and move it away");
        assert!(tree(&floor, "adam").has("README.md"));
    }
    floor.root.write(".git/worktrees/adam/MERGE_HEAD", &format!("{sha}\n").repeat(100));
    floor.ctl(&["nuke", "adam", "--force", "--yes"]).exit(0).any_out().any_err();
}
