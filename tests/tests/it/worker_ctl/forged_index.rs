//! worker-ctl: what git's index says of a worktree, or of a checkout of the source, loses nobody's files.

use std::path::Path;

use crate::support::floor::Floor;
use crate::support::worker::{adopted_floor, by_hand, head, refused, staff, tip, tree};
use crate::support::world::{Repo, World, write};

/// Puts one object in the place of another in a file of git's.
fn forge(file: &Path, from: &str, to: &str) {
    let bytes = |hex: &str| -> Vec<u8> {
        (0..hex.trim().len() / 2).map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap()).collect()
    };
    let (from, to, text) = (bytes(from), bytes(to), std::fs::read(file).unwrap());
    let at = text.windows(from.len()).position(|part| part == from).expect("the object is not in the file");
    std::fs::write(file, [&text[..at], &to, &text[at + from.len()..]].concat()).unwrap();
}

/// Makes an index say of this file that it is as it was committed.
fn hide(floor: &Floor<'_>, at: &Repo<'_>, name: &str, file: &str) {
    at.sh(&format!("touch -d '1 minute ago' {file} && git add {file}")).exit(0);
    let index = floor.root.path.join(format!(".git/worktrees/{name}/index"));
    forge(&index, &at.git(&["rev-parse", &format!(":{file}")]), &at.git(&["rev-parse", &format!("HEAD:{file}")]));
    assert_eq!(at.git(&["status", "--porcelain"]), "", "git sees it");
}

#[test]
fn no_command_takes_away_a_change_that_the_index_hides() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve", "noah", "abel"]);
    for name in ["eve", "noah", "abel"] {
        by_hand(&floor, name, &[(name, "1\n")]);
    }
    floor.ctl(&["review", "abel"]).exit(0).any_out().any_err();
    for name in ["adam", "eve", "noah", "abel"] {
        let at = tree(&floor, name);
        at.write("README.md", "a day of work\n");
        hide(&floor, &at, name, "README.md");
    }
    floor.app.commit("README.md", "theirs\n");
    floor.ctl(&["start", "adam", "--task", "x"]).exit(1).err_has("uncommitted changes");
    floor.ctl(&["rebase", "eve"]).exit(1).err_has("uncommitted changes");
    floor.ctl(&["accept", "abel"]).exit(1).err_has("uncommitted changes");
    floor.ctl(&["patrol"]).any_status().any_out().any_err();
    for name in ["adam", "eve", "noah", "abel"] {
        assert_eq!(tree(&floor, name).read("README.md"), "a day of work\n", "{name}");
        floor.ctl(&["nuke", name, "--yes"]).exit(1).err_has("README.md");
    }
}

/// With this setting git takes each file for unchanged whose entry it writes.
#[test]
fn a_setting_that_hides_changes_hides_none_from_a_removal() {
    let w = World::new();
    let floor = adopted_floor(&w);
    floor.app.git(&["config", "core.ignoreStat", "true"]);
    let adam = tree(&floor, "adam");
    adam.write("README.md", "a day of work\n");
    floor.app.shopfloor(&["rm", "adam"]).exit(1).err_has("README.md");
    let at = floor.app.spawn(&["subtree", "x"]).succeeds().any_err().stdout.clone();
    w.at(at.trim()).write("README.md", "mine\n");
    floor.app.spawn(&["remove", "x"]).exit(1).any_out().err_has("README.md");
    let kept = floor.ctl(&["nuke", "adam", "--worktree", "--yes", "--force"]).exit(0).any_err().stdout;
    let kept = kept.lines().find(|line| line.starts_with("refs/")).unwrap();
    assert_eq!(floor.app.git(&["show", &format!("{kept}:README.md")]), "a day of work\n");
}

#[test]
fn a_directory_that_the_index_says_is_as_committed_is_looked_at() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.app.sh("mkdir docs && echo d > docs/d && git add docs && git commit -qm docs").exit(0);
    floor.ctl(&["add", "adam"]).succeeds();
    let adam = tree(&floor, "adam");
    adam.write("docs/d", "a day of work\n");
    adam.write("docs/notes", "mine\n");
    adam.git(&["add", "docs"]);
    // What git remembers of whole directories is put back to what was committed.
    let (new, old) = (adam.git(&["write-tree"]), adam.git(&["rev-parse", "HEAD^{tree}"]));
    let docs = |tree: &str| adam.git(&["rev-parse", &format!("{}:docs", tree.trim())]);
    let index = floor.root.path.join(".git/worktrees/adam/index");
    forge(&index, &docs(&new), &docs(&old));
    forge(&index, &new, &old);
    assert_eq!(adam.git(&["status", "--porcelain"]), "", "git sees it");
    floor.ctl(&["nuke", "adam", "--yes"]).exit(1).err_has("docs/d").err_has("docs/notes");
    let kept = floor.ctl(&["nuke", "adam", "--yes", "--force"]).exit(0).stdout;
    assert_eq!(floor.root.git(&["show", &format!("{}:docs/notes", kept.trim())]), "mine\n");
    assert_eq!(floor.root.git(&["show", &format!("{}:docs/d", kept.trim())]), "a day of work\n");
}

#[test]
fn files_in_the_place_of_a_submodule_are_kept() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    for (name, command) in [("adam", "nuke"), ("eve", "reset")] {
        let at = tree(&floor, name);
        let link = format!("160000,{},out", head(&at));
        at.git(&["update-index", "--add", "--cacheinfo", &link]);
        at.git(&["commit", "-q", "-m", "link"]);
        at.write("out/results", "mine\n");
        let args: &[&str] = if command == "nuke" { &["--force", "--yes"] } else { &["--force"] };
        assert_eq!(refused(&floor, &[&[command, name][..], &args[1..]].concat(), 1), "unmerged");
        floor.ctl(&[&[command, name][..], args].concat()).exit(0).any_out();
        let found = floor.root.sh(&format!("find trash/{name} -name results")).exit(0).stdout;
        assert_eq!(found.lines().count(), 1, "{command}: {found}");
    }
}

#[test]
fn a_file_that_lands_takes_no_directory_away() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    by_hand(&floor, "adam", &[("notes", "the work\n")]);
    let app = &floor.app;
    // The source's index says of a person's untracked files that they are tracked.
    app.write("notes/mine", "mine\n");
    app.git(&["add", "notes"]);
    let old = tip(&floor);
    let away = format!("`mv {0} {0}.kept`", app.path.join("notes").display());
    floor.ctl(&["accept", "adam"]).exit(1).err_has("notes/mine would be lost").err_has(&away);
    assert_eq!((tip(&floor), app.read("notes/mine")), (old, "mine\n".into()));
    app.git(&["rm", "-q", "--cached", "-r", "notes"]);
    std::fs::rename(app.path.join("notes"), app.path.join("notes.kept")).unwrap();
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
}

#[test]
fn an_ignored_file_of_another_worker_is_not_overwritten() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.app.commit(".gitignore", "*.local\n");
    for name in ["adam", "eve"] {
        floor.ctl(&["add", name]).succeeds();
    }
    floor.up();
    let adam = by_hand(&floor, "adam", &[("a", "1\n")]);
    by_hand(&floor, "eve", &[("e", "1\n")]);
    tree(&floor, "eve").sh("echo theirs > x.local && git add -f x.local && git commit -q --amend --no-edit").exit(0);
    floor.until("eve", "needs_review");
    adam.write("x.local", "keys\n");
    floor.ctl(&["review", "eve"]).exit(0).any_out().any_err();
    floor.ctl(&["accept", "eve"]).exit(0).any_out().any_err();
    floor.ctl(&["patrol"]).exit(0).any_out().err_has("x.local would be lost");
    assert_eq!(adam.read("x.local"), "keys\n");
}

#[test]
fn the_record_of_one_worktree_stops_no_other_worker() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    let record = floor.root.path.join(".git/worktrees/adam");
    let elsewhere = tree(&floor, "adam").path.join("away");
    by_hand(&floor, "eve", &[("e", "1\n")]);
    // A directory in the place of a file, and a common directory in which a pipe lies.
    for (make, undo) in [
        (format!("mkdir '{}/locked'", record.display()), format!("rmdir '{}/locked'", record.display())),
        (
            format!(
                "mkdir -p '{0}/refs' '{0}/objects' && mkfifo '{0}/packed-refs' && echo 'ref: refs/heads/main' > '{0}/HEAD' && echo '{0}' > '{1}/commondir'",
                elsewhere.display(),
                record.display()
            ),
            format!("echo ../.. > '{}/commondir'", record.display()),
        ),
    ] {
        floor.root.sh(&make).exit(0);
        floor.ctl(&["patrol"]).exit(0).any_out().err_has("adam: ");
        floor.ctl(&["review", "eve"]).exit(0).any_out().err_has("adam: ");
        // git reads it to make a worktree, and no branch is made before.
        floor.ctl(&["add", "abel"]).exit(4).any_out().err_has("worktrees/adam/").err_has("move it away");
        floor.root.sh(&undo).exit(0);
    }
    let pipe = format!("cd '{}' && mv index ../../was && mkfifo index", record.display());
    floor.root.sh(&pipe).exit(0);
    floor.ctl(&["add", "abel"]).exit(0).any_out().any_err();
    floor.root.sh(&format!("mv -f '{0}/../../was' '{0}/index'", record.display())).exit(0);
    floor.ctl(&["accept", "eve"]).exit(0).any_out().any_err();
}

#[test]
fn what_a_clone_of_ours_does_not_have_counts_for_nothing() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    by_hand(&floor, "adam", &[("a", "1\n")]);
    // It has files for refs.
    let config = floor.root.read(".git/config");
    floor.root.write(".git/config", &format!("{config}[extensions]\n\trefStorage = reftable\n"));
    assert_eq!(refused(&floor, &["nuke", "adam", "--yes"], 1), "unmerged");
    floor.root.write(".git/config", &config);
    // A ref that git cannot read is fetched again.
    floor.app.commit("README.md", "theirs\n");
    let base = floor.root.path.join(".git/refs/remotes/origin/main");
    write(&base, &format!(" {}", std::fs::read_to_string(&base).unwrap()));
    floor.ctl(&["patrol"]).exit(0).any_out().any_err();
    assert_eq!(floor.root.git(&["rev-parse", "refs/remotes/origin/main"]).trim_end(), tip(&floor));
    // It takes objects from nowhere else.
    floor.root.write(".git/objects/info/alternates", "/elsewhere\n");
    floor.ctl(&["review", "adam"]).exit(4).err_has("alternates names objects elsewhere");
    std::fs::remove_file(floor.root.path.join(".git/objects/info/alternates")).unwrap();
    floor.ctl(&["review", "adam"]).exit(0).any_out().any_err();
}

#[test]
fn an_author_who_changes_after_the_review_needs_another_one() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = by_hand(&floor, "adam", &[("a", "1\n")]);
    floor.ctl(&["review", "adam"]).exit(0).out_has("Author: Ada <ada@example.org>");
    adam.git(&["commit", "-q", "--amend", "--no-edit", "--author", "Eve <e@x>"]);
    floor.ctl(&["patrol"]).exit(0).any_out();
    assert_eq!(refused(&floor, &["accept", "adam"], 1), "changed");
    floor.ctl(&["review", "adam"]).exit(0).out_has("Author: Eve <e@x>");
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    assert_eq!(floor.app.git(&["log", "-1", "--format=%an"]), "Eve\n");
}

#[test]
fn a_commit_whose_encoding_makes_another_text_of_it_is_not_reviewed() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = by_hand(&floor, "adam", &[("a", "1\n")]);
    let sha = adam.git(&["rev-parse", "HEAD"]);
    let forged = |author: &str, header: &str| {
        let script = format!("s/+0000$/-0500/; s/^author [^<]*/author {author} /; s/^committer .*/&{header}/");
        let made = format!(
            "git cat-file commit {} | LC_ALL=C sed \"{script}\" | git hash-object -t commit -w --literally --stdin",
            sha.trim()
        );
        adam.sh(&format!("git reset -q --hard $({made})")).exit(0);
        floor.ctl(&["patrol"]).exit(0).any_out();
    };
    // An even number of bytes becomes nothing.
    for author in ["Ada", "Adams"] {
        forged(author, "\\nencoding UTF-16");
        for command in [&["review", "adam"][..], &["accept", "adam", "-n"], &["accept", "adam"]] {
            floor.ctl(command).exit(1).any_out().err_has("git reads another text");
        }
    }
    // Here one text can be written in several ways.
    forged("A+AGQ-am", "\\nencoding UTF-7");
    floor.ctl(&["review", "adam"]).exit(1).any_out().err_has("git reads another text");
    // Letters that are none are compared as well.
    forged("Ad$(printf '\\351')", "");
    floor.ctl(&["review", "adam"]).exit(0).out_has("Author: Ad");
    forged("Ad$(printf '\\350')", "");
    assert_eq!(refused(&floor, &["accept", "adam"], 1), "changed");
}

#[test]
fn markers_are_found_whatever_colours_a_person_likes() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = by_hand(&floor, "adam", &[("README.md", "mine\n")]);
    floor.app.commit("README.md", "theirs\n");
    floor.ctl(&["rebase", "adam"]).exit(1).any_err();
    commit_markers(&adam);
    floor.until("adam", "needs_review");
    floor.app.git(&["config", "color.ui", "always"]);
    floor.root.git(&["config", "color.grep", "always"]);
    floor.ctl(&["review", "adam"]).exit(0).any_out().any_err();
    assert_eq!(refused(&floor, &["accept", "adam"], 1), "markers");
}

/// Ends a rebase with the markers of its conflict in the file.
fn commit_markers(at: &Repo<'_>) {
    at.sh("git add README.md && GIT_EDITOR=true git rebase --continue").exit(0).any_out().any_err();
}
