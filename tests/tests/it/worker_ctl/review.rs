//! worker-ctl: what `review` shows on a terminal, and through which pager.

use crate::support::forge::Forge;
use crate::support::worker::{adopted_floor, by_hand, commit, head, staff, tree};
use crate::support::world::{World, text, which};

/// A control sequence of one character, one of two characters, a mark that turns the direction of a text, and a carriage
/// return. All of them hide text.
const HOSTILE: &str = "one\u{9b}2Ktwo\u{1b}[2Kthree\u{202e}four\rfive\u{7}\n";

const SHOWN: &str = "+one\\u{9b}2Ktwo\\u{1b}[2Kthree\\u{202e}four\\rfive\\u{7}";

#[test]
fn review_shows_control_characters_as_text_and_keeps_colours() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    by_hand(&floor, "adam", &[("a.txt", HOSTILE), ("crlf.txt", "dos\r\n")]);
    let shown = floor.ctl(&["review", "adam", "--interface", "git"]).exit(0);
    shown.out_has(SHOWN).out_has("+dos\r\n");
    // With `--json` the diff is as it is.
    let json = floor.ctl(&["review", "adam", "--json"]).exit(0).json();
    assert!(json["diff"].as_str().unwrap().contains(HOSTILE.trim_end()), "{json}");
    let line = "TERM=xterm PAGER=cat worker-ctl review adam --interface git";
    let shown = floor.root.on_terminal(line, "").exit(0);
    assert!(!shown.stdout.contains(['\u{9b}', '\u{202e}', '\u{7}']) && !shown.stdout.contains("\u{1b}[2K"), "{shown}");
    shown.out_has("\u{1b}[32m").out_has(SHOWN.trim_start_matches('+'));
}

#[test]
fn above_the_diff_stands_what_lands_and_what_has_changed() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["start", "--task", "Write a parser\nwith tests"]).succeeds();
    let adam = tree(&floor, "adam");
    adam.write("a.txt", "one\n");
    adam.git(&["add", "a.txt"]);
    let message = "Add a parser\n\nIt parses.\n\nCo-Authored-By: Scripted <bot@x>\nSigned-off-by: A <a@x>";
    adam.git(&["commit", "-q", "-m", message]);
    floor.until("adam", "needs_review");
    let lands = "Add a parser\n\nIt parses.\n\nSigned-off-by: A <a@x>";
    let shown = floor.ctl(&["review", "adam", "--interface", "git"]).exit(0).stdout.clone();
    let head = format!(
        "Worker: adam (scripted)\nTask:   Write a parser ...\nCommit: {}\nAuthor: Ada <ada@example.org>\n\n    {}\n\n a.txt | 1 +\n",
        head(&adam),
        lands.replace('\n', "\n    ").replace("    \n", "\n"),
    );
    assert!(shown.starts_with(&head) && shown.contains("\n\ndiff --git a/a.txt"), "{shown}\n{head}");
    let json = floor.ctl(&["review", "adam", "--json"]).exit(0).json();
    assert_eq!((text(&json, "/message"), &json["range_diff"]), (lands, &serde_json::Value::Null));
    // What has changed since comes first, also if the work was sent back or committed again meanwhile.
    floor.ctl(&["reject", "think more"]).succeeds();
    adam.write("a.txt", "two\n");
    adam.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    floor.until("adam", "needs_review");
    let shown = floor.ctl(&["review", "adam", "--interface", "git"]).exit(0).stdout.clone();
    let (since, rest) = shown.split_once("\nWorker: adam").unwrap();
    assert!(since.starts_with("Since the last review:\n\n    1:  ") && since.contains("-+one"), "{since}");
    assert!(since.contains("++two") && rest.contains("\n+two\n") && !rest.contains("one"), "{shown}");
    commit(&adam, "Test it", &["b.txt"], "b\n");
    floor.ctl(&["patrol"]).succeeds();
    let json = floor.ctl(&["review", "adam", "--json"]).exit(0).json();
    assert!(text(&json, "/range_diff").contains("> 2:  ") && text(&json, "/message").contains("- Test it"), "{json}");
    // The landed message is the one that was shown.
    floor.ctl(&["accept"]).succeeds();
    assert_eq!(floor.app.git(&["log", "-1", "--format=%B"]).trim_end(), text(&json, "/message"));
}

#[test]
fn what_a_person_agrees_to_has_whole_paths_and_says_whether_it_was_reviewed() {
    const PATH: &str = ".github/workflows/docs-for-the-parser-and-all-of-its-error-messages-in-english-and-french.yml";
    let mut w = World::new();
    let Some(forge) = Forge::start(&mut w) else { return };
    let floor = adopted_floor(&w);
    forge.take(&floor.app);
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds().any_err();
    let adam = tree(&floor, "adam");
    commit(&adam, "Say one", &[PATH], "one\n");
    floor.until("adam", "needs_review");
    let whole = format!(" {PATH} | 1 +\n");
    let request = || floor.ctl(&["request", "adam"]).exit(3);
    request().err_has(&whole).err_has("\n  nobody has reviewed it\n");
    floor.ctl(&["accept", "adam", "--push"]).exit(3).err_has(&whole);
    floor.ctl(&["review", "adam", "--interface", "git"]).exit(0).any_err().out_has(&whole);
    let reviewed = request();
    assert!(reviewed.stderr.contains(&whole) && !reviewed.stderr.contains("nobody has reviewed"), "{reviewed}");
    commit(&adam, "Say two", &["b.txt"], "two\n");
    floor.ctl(&["patrol"]).succeeds().any_err();
    request().err_has("\n  its review counts no more\n");
}

#[test]
fn a_text_without_a_name_goes_to_nobody_if_another_has_landed_since_the_review() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    by_hand(&floor, "adam", &[("a", "1\n")]);
    by_hand(&floor, "eve", &[("b", "1\n")]);
    floor.ctl(&["review", "adam"]).succeeds();
    floor.ctl(&["accept", "eve"]).succeeds().any_err();
    let asked = floor.ctl(&["reject", "again"]).exit(2);
    asked.err_has("eve has landed since adam was reviewed").err_has("`worker-ctl reject adam TEXT`");
    floor.ctl(&["review", "adam"]).succeeds();
    floor.ctl(&["reject", "again"]).succeeds();
}

#[test]
fn review_uses_the_pager_of_the_person_and_not_that_of_a_repository() {
    let w = World::new();
    which("sed");
    let (staffed, adopted) = (staff(&w, &["adam"]), World::new());
    by_hand(&staffed, "adam", &[("a.txt", "one\n")]);
    let own = adopted_floor(&adopted);
    by_hand(&own, "adam", &[("a.txt", "one\n")]);
    for (key, floor) in ["core.pager", "pager.diff"].into_iter().flat_map(|key| [(key, &staffed.root), (key, &own.app)])
    {
        floor.git(&["config", key, "touch ~/mark; cat"]);
    }
    own.app.on_terminal("TERM=xterm PAGER=cat worker-ctl review adam --interface git", "").exit(0).out_has("one");
    assert!(!adopted.home("mark").exists(), "the repository's pager ran");
    let floor = staffed;
    let review = |settings: &str| {
        let line = format!("TERM=xterm {settings} worker-ctl review adam --interface git");
        floor.root.on_terminal(&line, "").exit(0)
    };
    review("PAGER='sed s/^/paged:/'").out_has("paged:");
    // Settings of the person's own configuration come before `PAGER`.
    crate::support::world::write(&w.home("gitconfig"), "[pager]\n\tdiff = sed s/^/mine:/\n");
    let own = format!("GIT_CONFIG_GLOBAL={} PAGER=cat", w.home("gitconfig").display());
    review(&own).out_has("mine:");
    crate::support::world::write(&w.home("gitconfig"), "[pager]\n\tdiff = false\n");
    let plain = review(&own.replace("PAGER=cat", "PAGER='sed s/^/paged:/'"));
    assert!(!plain.stdout.contains("paged:"), "{plain}");
    plain.out_has("one");
    assert!(!w.home("mark").exists(), "the clone's pager ran");
}

#[test]
fn what_nobody_could_see_does_not_count_as_reviewed() {
    for is_adopted in [false, true] {
        let w = World::new();
        let floor = if is_adopted { adopted_floor(&w) } else { staff(&w, &["adam"]) };
        by_hand(&floor, "adam", &[("a.txt", "one\n")]);
        let is_reviewed = || !floor.status("adam")["reviewed_sha"].is_null();
        floor
            .ctl(&["review", "adam", "--interface", "vscode"])
            .exit(4)
            .err_has("code is not on the PATH")
            .err_has(UNSEEN);
        assert!(!is_reviewed());
        floor.app.sh("worker-ctl review adam > /dev/full").exit(4).err_has(UNSEEN);
        assert!(!is_reviewed());
        let paged = |pager: &str| {
            let line = format!("TERM=xterm GIT_PAGER={pager} worker-ctl review adam --interface git");
            floor.app.on_terminal(&line, "")
        };
        paged("no-pager").exit(4).out_has("the pager `no-pager` failed").out_has(UNSEEN);
        assert!(!is_reviewed());
        let repository = if is_adopted { &floor.app } else { &floor.root };
        repository.write(".git/refs/shopfloor/review/adam.lock", "");
        floor.ctl(&["review", "adam"]).exit(4).err_has(UNSEEN);
        assert!(!is_reviewed());
        std::fs::remove_file(repository.path.join(".git/refs/shopfloor/review/adam.lock")).unwrap();
        paged("cat").exit(0).out_has("one");
        assert!(is_reviewed());
        // A review that fails later takes nothing away.
        floor.ctl(&["review", "adam", "--interface", "vscode"]).exit(4).any_err();
        assert!(is_reviewed());
    }
}

const UNSEEN: &str = "it does not count as reviewed";
