//! worker-ctl: what was reviewed is what lands, with everything that belongs to it.

use crate::support::floor::Floor;
use crate::support::worker::{by_hand, head, staff, tip, tree};
use crate::support::world::{Repo, World, which};

/// Twenty lines, some of which are others.
fn lines(others: &[(usize, &str)]) -> String {
    let line =
        |n: usize| others.iter().find(|(at, _)| *at == n).map_or_else(|| n.to_string(), |(_, text)| (*text).into());
    (1..=20).map(|n| line(n) + "\n").collect()
}

/// Gives a worker a task that it leaves to the test.
fn begin<'w>(floor: &Floor<'w>, name: &str) -> Repo<'w> {
    floor.ctl(&["start", "--worker", name, "--prompt", "think"]).succeeds();
    tree(floor, name)
}

#[test]
fn a_rebase_beside_the_reviewed_lines_keeps_the_review() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.app.commit("f.txt", &lines(&[]));
    floor.ctl(&["patrol"]).succeeds().any_err();
    let adam = by_hand(&floor, "adam", &[("f.txt", &lines(&[(10, "ten")]))]);
    floor.ctl(&["review", "adam"]).succeeds();
    floor.app.commit("f.txt", &lines(&[(13, "thirteen")]));
    floor.ctl(&["patrol"]).succeeds().any_err();
    let status = floor.status("adam");
    assert_eq!((&status["reviewed_sha"], &status["notes"]), (&status["commit_sha"], &serde_json::json!([])));
    floor.ctl(&["accept", "adam"]).exit(0).any_out();
    assert_eq!(floor.app.git(&["show", "main:f.txt"]), lines(&[(10, "ten"), (13, "thirteen")]));
    assert_eq!(head(&adam), tip(&floor));
}

#[test]
fn a_rebase_that_changes_the_work_says_so_and_not_that_the_worker_committed() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.app.commit("f.txt", &lines(&[]));
    floor.ctl(&["patrol"]).succeeds().any_err();
    by_hand(&floor, "adam", &[("f.txt", &lines(&[(3, "three"), (17, "seventeen")]))]);
    floor.ctl(&["review", "adam"]).succeeds();
    floor.app.commit("f.txt", &lines(&[(3, "three")]));
    floor.ctl(&["patrol"]).succeeds().any_err();
    let (status, changed) = (floor.status("adam"), "its work changed when it was rebased");
    assert_eq!((&status["reviewed_sha"], &status["notes"]), (&serde_json::Value::Null, &serde_json::json!([changed])));
}

#[test]
fn a_rename_of_the_file_keeps_the_review() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.app.commit("f.txt", &lines(&[]));
    floor.ctl(&["patrol"]).succeeds().any_err();
    by_hand(&floor, "adam", &[("f.txt", &lines(&[(10, "ten")]))]);
    floor.ctl(&["review", "adam"]).succeeds();
    floor.app.sh("git mv f.txt g.txt && git commit -q -m Rename").exit(0);
    floor.ctl(&["patrol"]).succeeds().any_err();
    let status = floor.status("adam");
    assert_eq!((&status["reviewed_sha"], &status["notes"]), (&status["commit_sha"], &serde_json::json!([])));
    floor.ctl(&["accept", "adam"]).exit(0).any_out();
    assert_eq!(floor.app.git(&["show", "main:g.txt"]), lines(&[(10, "ten")]));
}

#[test]
fn attributes_count_where_there_is_no_checkout() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.app.commit(".gitattributes", "*.lock -merge\n*.list merge=union\n");
    floor.app.commit("gen.lock", &lines(&[]));
    floor.app.commit("a.list", "a\n");
    floor.ctl(&["patrol"]).succeeds().any_err();
    by_hand(&floor, "adam", &[("gen.lock", &lines(&[(1, "ours")])), ("a.list", "a\nours\n")]);
    floor.app.commit("gen.lock", &lines(&[(20, "theirs")]));
    floor.app.commit("a.list", "a\ntheirs\n");
    floor.ctl(&["accept", "adam"]).exit(1).any_out().err_has("gen.lock");
    assert_eq!(floor.app.git(&["show", "main:gen.lock"]), lines(&[(20, "theirs")]));
}

#[test]
fn a_message_lands_with_its_letters_its_trailers_and_its_authors() {
    let mut w = World::new();
    let config = w.home("gitconfig");
    std::fs::write(&config, "[i18n]\n\tcommitEncoding = ISO-8859-1\n[commit]\n\tgpgSign = false\n").unwrap();
    w.set("GIT_CONFIG_GLOBAL", config.display().to_string());
    let floor = staff(&w, &["adam"]);
    let adam = begin(&floor, "adam");
    std::fs::write(w.path("message"), b"Gr\xfcn\n\nWhy.\n\nSigned-off-by: J\xfcrgen <j@x>\n").unwrap();
    adam.write("a", "1\n");
    adam.git(&["add", "a"]);
    adam.git(&["commit", "-q", "-F", w.path("message").to_str().unwrap()]);
    let more = "fix: second\n\nIts body.\n\nBREAKING CHANGE: it is\n  another one\nCloses: #45";
    let messages = [(more, "Ada <ada@example.org>"), ("docs", "Eve <e@x>"), ("fixup! fix: second", "Eve <e@x>")];
    for (n, (message, author)) in messages.into_iter().enumerate() {
        adam.write("b", &n.to_string());
        adam.git(&["add", "b"]);
        adam.git(&["commit", "-q", "--author", author, "-m", message]);
    }
    floor.until("adam", "needs_review");
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    let landed = floor.app.git(&["log", "-1", "--encoding=UTF-8", "--format=%B", "main"]);
    let expected = "Grün\n\nWhy.\n\n- fix: second\n- docs\n\nSigned-off-by: Jürgen <j@x>\nBREAKING CHANGE: it is\n  \
                    another one\nCloses: #45\nCo-authored-by: Eve <e@x>\n\n";
    assert_eq!(landed, expected);
}

#[test]
fn work_that_lands_unsigned_in_a_source_that_signs_is_said_to_be_so() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    by_hand(&floor, "adam", &[("a", "1\n")]);
    floor.app.git(&["config", "commit.gpgSign", "true"]);
    floor.ctl(&["accept", "adam"]).exit(0).any_out().err_has("the source signs its commits");
}

#[test]
fn a_remembered_resolution_is_asked_about_again() {
    let mut w = World::new();
    let config = w.home("gitconfig");
    std::fs::write(&config, "[rerere]\n\tenabled = true\n\tautoUpdate = true\n").unwrap();
    w.set("GIT_CONFIG_GLOBAL", config.display().to_string());
    let floor = staff(&w, &["adam"]);
    floor.app.commit("f.txt", &lines(&[]));
    floor.ctl(&["patrol"]).succeeds().any_err();
    for round in ["one", "two"] {
        let adam = by_hand(&floor, "adam", &[("f.txt", &lines(&[(5, "ours")]))]);
        floor.app.commit("f.txt", &lines(&[(5, "theirs")]));
        floor.ctl(&["accept", "adam"]).exit(1).any_out().err_has("f.txt");
        adam.write("f.txt", &lines(&[(5, "both")]));
        adam.git(&["add", "f.txt"]);
        adam.git(&["-c", "core.editor=true", "rebase", "--continue"]);
        floor.until("adam", "needs_review");
        floor.ctl(&["accept", "adam", "--force"]).exit(0).any_out().any_err();
        assert_eq!(floor.app.git(&["show", "main:f.txt"]), lines(&[(5, "both")]), "{round}");
        floor.app.commit("f.txt", &lines(&[]));
        floor.ctl(&["patrol"]).succeeds().any_err();
        floor.ctl(&["reset", "adam"]).any_status().any_out().any_err();
    }
}

#[test]
fn a_conflict_is_told_by_what_happened() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve", "cain"]);
    for (path, text) in [("d/one", lines(&[])), ("d/two", lines(&[(1, "x")])), ("big", "1\n".into())] {
        floor.app.commit(path, &text);
    }
    floor.ctl(&["patrol"]).succeeds().any_err();
    by_hand(&floor, "adam", &[("d/new", "n\n")]);
    let eve = begin(&floor, "eve");
    eve.sh("rm big && ln -s README.md big && git add big && git commit -q -m link").exit(0);
    floor.until("eve", "needs_review");
    let cain = begin(&floor, "cain");
    cain.sh("printf 'a\\0b' > bin && git add bin && git commit -q -m bin").exit(0);
    floor.until("cain", "needs_review");
    floor.app.sh("git mv d e && echo other > big && printf 'a\\0c' > bin && git add . && git commit -q -m all").exit(0);
    let told = |name: &str, what: &str| {
        floor.ctl(&["accept", name]).exit(1).any_out().err_has(what);
    };
    told("adam", "e/new (new file in a directory that main renamed to e)");
    told("eve", "big (link against file)");
    told("cain", "bin (add/add)");
}

#[test]
fn no_worker_puts_anything_on_the_list_of_stashes() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = begin(&floor, "adam");
    adam.write("README.md", "mine\n");
    let refused = adam.sh("git stash").exit(128);
    refused.err_has("all workers share the list of stashes; make a commit instead");
    assert_eq!((adam.read("README.md"), adam.git(&["stash", "list"])), ("mine\n".into(), String::new()));
    // What git puts aside itself and cannot put back is stored.
    floor.app.commit("README.md", "theirs\n");
    adam.git(&["fetch", "-q"]);
    let _ = adam.sh("git rebase -q --autostash origin/main").any_status().any_out().any_err();
    assert!(adam.git(&["stash", "list"]).contains("autostash"));
}

#[test]
fn files_that_every_checkout_shows_as_changed_are_named_with_their_cure() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.app.commit("t.txt", "a\r\nb\r\n");
    floor.app.commit(".gitattributes", "*.txt text eol=lf\n");
    floor.ctl(&["reset", "adam"]).any_status().any_out().any_err();
    let refused = floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).exit(1);
    refused.err_has("a fresh checkout has t.txt changed too").err_has("git add --renormalize .");
    floor.app.sh("git add --renormalize . && git commit -q -m lf").exit(0);
    floor.ctl(&["reset", "adam", "--force"]).succeeds().any_err();
    floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).succeeds();
}

/// Nobody is to commit in the source for that.
#[test]
fn what_is_committed_while_somebody_looks_is_not_taken_for_a_matter_of_attributes() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let adam = tree(&floor, "adam");
    adam.write("thought", "half\n");
    let (git, dir) = (which("git"), adam.path.display());
    let commit = format!(
        "(cd '{dir}' && unset GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE && {0} add -A && {0} commit -q -m late)",
        git.display()
    );
    let when = "rev-parse --verify --quiet HEAD:thought";
    w.program("git", &format!("case \"$*\" in *'{when}'*) {commit};; esac\nexec {} \"$@\"", git.display()));
    let refused = floor.ctl(&["start", "--worker", "adam", "--prompt", "think"]).exit(1);
    assert!(refused.stderr.contains("uncommitted changes") && !refused.stderr.contains("renormalize"), "{refused}");
    assert_eq!(adam.git(&["log", "-1", "--format=%s"]), "late\n");
}

#[test]
fn a_filter_that_fails_in_the_checkout_leaves_it_as_it_was() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.app.commit(".gitattributes", "*.bin filter=x\n");
    for (key, value) in [("clean", "cat"), ("smudge", "false"), ("required", "true")] {
        floor.app.git(&["config", &format!("filter.x.{key}"), value]);
    }
    floor.ctl(&["reset", "adam"]).any_status().any_out().any_err();
    by_hand(&floor, "adam", &[("README.md", "two\n"), ("Added", "1\n"), ("b.bin", "b\n")]);
    floor.app.write("mine", "1\n");
    let hook = floor.app.path.join(".git/hooks/post-checkout");
    floor
        .app
        .sh(&format!("printf '#!/bin/sh\\ntouch \"$HOME/ran\"\\n' > '{0}' && chmod +x '{0}'", hook.display()))
        .exit(0);
    let old = tip(&floor);
    floor
        .ctl(&["accept", "adam"])
        .exit(1)
        .err_has("a filter cannot write the files of")
        .err_has("smudge filter x failed");
    assert_eq!((tip(&floor), floor.app.git(&["status", "--porcelain"])), (old, "?? mine\n".to_owned()));
    assert!(!w.home("ran").exists());
}
