//! worker-ctl: what `review` shows on a terminal, and through which pager.

use crate::support::worker::{by_hand, staff};
use crate::support::world::{World, which};

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
fn review_uses_the_pager_of_the_person_and_not_that_of_the_clone() {
    let w = World::new();
    which("sed");
    let floor = staff(&w, &["adam"]);
    by_hand(&floor, "adam", &[("a.txt", "one\n")]);
    for key in ["core.pager", "pager.diff"] {
        floor.root.git(&["config", key, "touch ~/mark; cat"]);
    }
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
