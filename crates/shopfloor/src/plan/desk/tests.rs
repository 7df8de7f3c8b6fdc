//! The desk in the situations of a day: what is drawn.

use crossterm::event::{Event, KeyCode};
use serde_json::{Value, json};
use shopfloor_core::diff;

use super::frame::frame;
use super::{Desk, Effect, Mode, SiteView};
use crate::ansi;
use crate::facts::desk_feed::{Content, Menu, Page, PageKind, Review};
use crate::facts::overview::{Floor, Overview};
use crate::screen::text;

const NOW: &str = "2026-11-28T12:41:00Z";

/// A worker's record, with what `more` says.
pub(super) fn worker(name: &str, needs: Option<&str>, ago: i64, more: Value) -> Value {
    let since: jiff::Timestamp = NOW.parse().unwrap();
    let since = jiff::Timestamp::from_second(since.as_second() - ago).unwrap().to_string();
    let task = if needs == Some("needs_review") { "needs_review" } else { "working" };
    let mut record = json!({ "name": name, "id": name, "worktree": format!("/w/{name}"), "branch": name, "alive": "up", "task": task,
        "activity": "unknown", "needs": needs, "since_at": since, "prompt": "", "target": "main", "commit": "c1" });
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record
}

pub(super) fn day() -> Vec<Value> {
    let stat = |added: u64, removed: u64| json!({ "files": 1, "insertions": added, "deletions": removed });
    vec![
        worker("gus", None, 180, json!({ "prompt": "Move errors to one type", "stat": stat(210, 80) })),
        worker(
            "ada",
            Some("needs_review"),
            20,
            json!({ "prompt": "Cover the parser with tests", "stat": stat(48, 12),
            "check": { "ok": true }, "clashes": [{ "with": "bob", "paths": ["a.rs"] }] }),
        ),
        worker("eve", Some("asks"), 25, json!({ "activity_text": "Bash: rm -rf build", "stat": stat(3, 0) })),
        worker("fay", Some("error"), 22, json!({ "fault": "exit 3", "check": { "ok": false } })),
        worker(
            "cid",
            None,
            2_340,
            json!({ "activity": "limited", "limit": "five_hour", "limited_until_at": "2026-11-28T13:20:00Z" }),
        ),
        worker("hal", None, 50, json!({ "task": "idle" })),
        worker("ivy", None, 50, json!({ "task": "idle", "alive": "down" })),
        worker(
            "日本語の名前",
            Some("rests"),
            7_300,
            json!({ "prompt": "ファイルを読む \u{202e}\u{1b}[2J and more words" }),
        ),
    ]
}

pub(super) fn site(name: &str, agents: Vec<Value>, workers: Vec<Value>) -> SiteView {
    let floor = Some(Floor { root: "/root".into(), is_up: true, queue: 7 });
    SiteView::new(name.into(), "3f2c1ab".into(), &Overview { agents, workers, floor, ..Overview::default() })
}

pub(super) fn desk(sites: Vec<SiteView>) -> Desk {
    let empty = sites.iter().map(|_| SiteView::default()).collect();
    let now = NOW.parse().unwrap();
    let mut desk = Desk { sites: empty, has_preview: true, now, size: (80, 24), ..Desk::default() };
    sites.into_iter().enumerate().for_each(|(at, site)| desk.set_site(at, site));
    desk
}

pub(super) fn one() -> Desk {
    let main = json!({ "id": "root", "name": "root", "kind": "root", "managed": true, "worktree": "/app", "branch": "main",
        "alive": "never" });
    desk(vec![site("app", vec![main], day())])
}

/// The keys, one after the other.
pub(super) fn press(desk: &mut Desk, keys: &str) -> Vec<Effect> {
    let code = |c: char| if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) };
    keys.chars().flat_map(|c| desk.input(&Event::Key(code(c).into()))).collect()
}

fn page(desk: &mut Desk, content: Content) {
    let (key, kind) = (desk.selected.clone().unwrap().1, desk.kind);
    desk.set_page(Page { key, kind, content });
}

pub(super) const DIFF: &str = "diff --git a/src/m3.rs b/src/m3.rs\n--- a/src/m3.rs\n+++ b/src/m3.rs\n@@ -40,2 +40,4 @@ mod m\n \
                    use std::io;\n+fn parse(s: &str) -> Ast {\n+\ts.parse().unwrap()\n+}\n-gone\ndiff --git a/b b/b\n\
                    --- a/b\n+++ b/b\n@@ -1 +1 @@\n-\u{1b}[2J\n+日本語\n";

fn reviewed() -> Review {
    let comments = vec![
        json!({ "path": "src/m3.rs", "side": "new", "line": 42, "text": "Return an error here; callers pass user input.\nAnd test it." }),
        json!({ "path": "old.rs", "side": "new", "line": 3, "quote": "let x;", "text": "Why?", "stale": "0123456789" }),
    ];
    Review { commit: "c1".into(), lines: diff::lines(DIFF), is_cut: false, files: 2, comments, since: Some((6, 1)) }
}

/// What is selected with a worker's row.
pub(super) fn of(name: &str) -> Option<(usize, String)> {
    Some((0, format!("/w/{name}\t{name}")))
}

/// Ada's review.
pub(super) fn in_review() -> Desk {
    let mut desk = one();
    desk.selected = of("ada");
    desk.kind = PageKind::Diff;
    page(&mut desk, Content::Diff(Box::new(reviewed())));
    desk.is_inside = true;
    desk
}

pub(super) fn asked() -> Desk {
    let mut desk = one();
    desk.selected = of("eve");
    let menu = Menu { id: "m1".into(), lines: vec!["1. Yes".into(), "2. No".into()] };
    page(&mut desk, Content::Screen(ansi::lines("Run it?\n\u{1b}[36m❯ 1. Yes\u{1b}[0m\n  2. No"), Some(menu)));
    desk
}

fn families() -> Desk {
    let agent = |id: &str, parent: &str| json!({ "id": id, "name": id, "kind": "subtree", "managed": true, "worktree": format!("/w/{id}"), "branch": id, "parent": parent, "alive": "up" });
    let agents = vec![agent("kid", "gus"), agent("gus", "root"), agent("x", "y"), agent("y", "x")];
    let workers = vec![
        worker("gus", None, 5, json!({})),
        worker("kid", None, 6, json!({})),
        worker("x", None, 7, json!({})),
        worker("y", None, 8, json!({})),
    ];
    let mut stopped = site(
        "tools",
        vec![],
        vec![worker("zoe", Some("silent"), 600, json!({ "prompt": "p" })), worker("abe", None, 1, json!({}))],
    );
    stopped.floor = Some(Floor::default());
    desk(vec![site("app", agents, workers), stopped])
}

fn situations() -> Vec<(&'static str, Desk)> {
    let with = |mut desk: Desk, keys: &str| {
        press(&mut desk, keys);
        desk
    };
    let mut refused = one();
    refused.said = Some("ada's work conflicts with main\nhint: run `shopfloor rebase ada`, then review it again, because it is another work then".into());
    let mut task = one();
    task.kind = PageKind::Task;
    page(
        &mut task,
        Content::Text(vec!["Agent: claude".into(), String::new(), "Cover the parser with tests. ".repeat(8)]),
    );
    vec![
        ("nobody", desk(vec![site("app", vec![], vec![])])),
        ("a day", one()),
        ("asked", asked()),
        ("review", in_review()),
        ("comment", with(in_review(), "jjjjc now this")),
        ("land", Desk { mode: Mode::Land(in_review().target().unwrap(), "Write it".into()), ..in_review() }),
        ("message", with(one(), "sUse the helper")),
        ("filter", with(one(), "/gus")),
        ("no preview, idle ones", with(one(), "pG\n")),
        ("refusal", refused),
        ("task", task),
        ("families and repositories", families()),
        ("help", with(one(), "?")),
    ]
}

pub(super) fn shown(desk: &Desk, size: (u16, u16)) -> String {
    text(&frame(desk, size).0, false).join("\n").trim_end().to_owned()
}

/// How a situation looks on 80 × 24, without the empty rows.
fn look(name: &str) -> String {
    let (_, desk) = situations().into_iter().find(|(other, _)| *other == name).unwrap();
    shown(&desk, (80, 24)).lines().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_day_shows_who_waits_first() {
    insta::assert_snapshot!(look("a day"), @r"
     app · main 3f2c1ab · up · 4 need you · 1 limited until 13:20             12:41
     … 日本語の名前 rests      2h  ファイルを読む \u{202e}\u{1b}[2J and more words
     ? eve          asks      25s  Bash: rm -rf build                         +3 -0
     ✗ fay          error     22s  exit 3                                   ✗ check
     ● ada          review    20s  Cover the parser wi… ✓ check  +48 -12  clash bob
     ▶ gus          working    3m  Move errors to one type                 +210 -80
     ◷ cid          limited   39m  five_hour, goes on 13:20
       2 idle · queue 7
    ─ 日本語の名前 · [terminal] diff task log ──────────────────────────────────────
     reading …
     ⏎ attach  s send  Tab page  n new  ? keys      shopfloor send '日本語の名前' …
    ");
    insta::assert_snapshot!(look("nobody"), @r"
     app · no branch 3f2c1ab · up · 0 need you                                12:41
       queue 7
    ────────────────────────────────────────────────────────────────────────────────
     n new  ⏎ show idle  o oldest  ? keys  q quit                  shopfloor status
    ");
    insta::assert_snapshot!(look("families and repositories"), @r"
     2 repositories · up stopped (U starts it) · 1 need you                   12:41
     ~ zoe   silent    10m  tools: p
     app
     ▶ gus   working    5s
     ▶   kid working    6s
     ▶ x     working    7s
     ▶ y     working    8s
       queue 7
     tools  up stopped
     ▶ abe   working    1s
    ─ zoe · [terminal] diff task log ───────────────────────────────────────────────
     reading …
     ⏎ attach  s send  Tab page  n new  ? keys                 shopfloor attach zoe
    ");
    insta::assert_snapshot!(look("no preview, idle ones"), @r"
    app · main 3f2c1ab · up · 4 need you · 1 limited until 13:20             12:41
    … 日本語の名前 rests      2h  ファイルを読む \u{202e}\u{1b}[2J and more words
    ? eve          asks      25s  Bash: rm -rf build                         +3 -0
    ✗ fay          error     22s  exit 3                                   ✗ check
    ● ada          review    20s  Cover the parser wi… ✓ check  +48 -12  clash bob
    ▶ gus          working    3m  Move errors to one type                 +210 -80
    ◷ cid          limited   39m  five_hour, goes on 13:20
    · hal          idle      50s
    ○ ivy          offline   50s
      ⏎ hides the idle ones · queue 7
    s give a task  ⏎ attach  n new  ? keys                    shopfloor attach hal
    ");
}

#[test]
fn a_review_shows_comments_at_their_lines() {
    insta::assert_snapshot!(look("review"), @r"
     app · main 3f2c1ab · up · 4 need you · 1 limited until 13:20             12:41
     … 日本語の名前 rests      2h  ファイルを読む \u{202e}\u{1b}[2J and more words
     ? eve          asks      25s  Bash: rm -rf build                         +3 -0
     ✗ fay          error     22s  exit 3                                   ✗ check
     ● ada          review    20s  Cover the parser wi… ✓ check  +48 -12  clash bob
     ▶ gus          working    3m  Move errors to one type                 +210 -80
     ◷ cid          limited   39m  five_hour, goes on 13:20
       2 idle · queue 7
    ─ ada · terminal [diff] task log ─ since your last look: +6 -1 ─────────────────
     stale, of 0123456: old.rs:3  let x;
         │ Why?
    diff --git a/src/m3.rs b/src/m3.rs
    --- a/src/m3.rs
    +++ b/src/m3.rs
    @@ -40,2 +40,4 @@ mod m
       40  use std::io;
       41 +fn parse(s: &str) -> Ast {
       42▌+    s.parse().unwrap()
         │ Return an error here; callers pass user input.
         │ And test it.
       43 +}
       41 -gone
    diff --git a/b b/b
     c comment  e in editor  ]f next file  x back with 2 comments  a land  ? keys
    ");
}

#[test]
fn the_page_and_the_foot_show_what_is_asked_and_said() {
    let page = |name: &str| look(name).lines().skip(8).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(page("asked"), @r"
    ─ eve · [terminal] diff task log ───────────────────────────────────────────────
    Run it?
    ❯ 1. Yes
      2. No
     1-9 answer  ⏎ attach  s send  ? keys                    shopfloor answer eve …
    ");
    insta::assert_snapshot!(page("comment"), @r"
    ─ ada · terminal [diff] task log ─ src/m3.rs 1/2 ─ since your last look: +6 -1 ─
     stale, of 0123456: old.rs:3  let x;
         │ Why?
    diff --git a/src/m3.rs b/src/m3.rs
    --- a/src/m3.rs
    +++ b/src/m3.rs
    @@ -40,2 +40,4 @@ mod m
       40  use std::io;
       41 +fn parse(s: &str) -> Ast {
       42▌+    s.parse().unwrap()
         │ Return an error here; callers pass user input.
         │ And test it.
       43 +}
       41 -gone
    diff --git a/b b/b
     src/m3.rs:40:  now this
    ");
    insta::assert_snapshot!(page("land").lines().last().unwrap(), @r" y lands ada on main without 2 comments, other keys do not: “Write it”");
    insta::assert_snapshot!(page("message"), @r"
    ─ 日本語の名前 · [terminal] diff task log ──────────────────────────────────────
     reading …
     message to 日本語の名前: Use the helper
    ");
    insta::assert_snapshot!(page("refusal"), @r"
    ─ 日本語の名前 · [terminal] diff task log ──────────────────────────────────────
     reading …
     ada's work conflicts with main
     hint: run `shopfloor rebase ada`, then review it again, because it is another
     work then
    ");
    insta::assert_snapshot!(page("task"), @r"
    ─ 日本語の名前 · terminal diff [task] log ──────────────────────────────────────
    Agent: claude
    Cover the parser with tests. Cover the parser with tests. Cover the parser with
    tests. Cover the parser with tests. Cover the parser with tests. Cover the
    parser with tests. Cover the parser with tests. Cover the parser with tests.
     ⏎ attach  s send  Tab page  n new  ? keys      shopfloor send '日本語の名前' …
    ");
    insta::assert_snapshot!(look("filter"), @r"
     app · main 3f2c1ab · up · 4 need you · 1 limited until 13:20 · only /gus 12:41
     ▶ gus  working    3m  Move errors to one type                         +210 -80
       queue 7
    ─ gus · [terminal] diff task log ───────────────────────────────────────────────
     reading …
     /gus
    ");
}

#[test]
fn on_a_narrow_desk_a_question_takes_more_rows_and_shows_where_it_is_cut() {
    let asks = |message: &str| {
        let desk = Desk { mode: Mode::Land(in_review().target().unwrap(), message.into()), ..in_review() };
        shown(&desk, (40, 20)).lines().skip(17).map(|line| format!("{line}\n")).collect::<String>()
    };
    let whole = " y lands ada on main without 2\n comments, other keys do not: “Cover\n the parser with tests”\n";
    assert_eq!(asks("Cover the parser with tests"), whole);
    assert!(asks(&"Cover the parser ".repeat(5)).ends_with(" the parser Cover the parser Cover the…\n"));
}

#[test]
fn a_narrow_desk_has_marks_names_ages_and_words() {
    insta::assert_snapshot!(shown(&in_review(), (40, 20)), @r"
     app · up · 4 need you · 1 limited unti…
     … 日本語の…    2h  ファイルを読む \u{…
     ? eve         25s  Bash: rm -rf build
     ✗ fay         22s  exit 3
     ● ada         20s  Cover the parser w…
     ▶ gus          3m  Move errors to one…
     ◷ cid         39m  five_hour, goes on…
       2 idle · queue 7
    ─ ada · terminal [diff] task log ─ since
     stale, of 0123456: old.rs:3  let x;
         │ Why?
    diff --git a/src/m3.rs b/src/m3.rs
    --- a/src/m3.rs
    +++ b/src/m3.rs
    @@ -40,2 +40,4 @@ mod m
       40  use std::io;
       41 +fn parse(s: &str) -> Ast {
       42▌+    s.parse().unwrap()
         │ Return an error here; callers pas
     c comment  e in editor  ]f next file  x
    ");
    let wide = shown(&in_review(), (200, 50));
    let first: Vec<String> = wide.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    insta::assert_snapshot!(first[4], @r"● ada review 20s Cover the parser with tests ✓ check +48 -12 clash bob");
    assert_eq!(wide.lines().count(), 50);
}

#[test]
fn flags_are_shown_by_their_letters() {
    let desk = Desk { said: Some("flag \u{1f1e9}\u{1f1ea} x".into()), ..one() };
    assert!(shown(&desk, (80, 24)).ends_with("\n flag DE x"));
}

#[test]
fn long_texts_hold_nothing_up() {
    let (long, begun) = ("a\u{301}日\n".repeat(300_000), std::time::Instant::now());
    let mut desk = one();
    press(&mut desk, "s");
    desk.input(&Event::Paste(long.clone()));
    let screen = shown(&desk, (80, 24));
    assert!(screen.contains(" message to 日本語の名前: ") && screen.ends_with("日\\n"), "{screen}");
    let (mut desk, mut review) = (in_review(), reviewed());
    review.comments[0]["text"] = long.into();
    page(&mut desk, Content::Diff(Box::new(review)));
    press(&mut desk, "G");
    assert!(shown(&desk, (80, 24)).contains("     │ …\n   43 +}"));
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

#[test]
fn every_size_is_drawn_and_no_row_is_too_wide() {
    for (name, desk) in situations() {
        for size in [(1, 1), (2, 3), (20, 5), (40, 20), (59, 11), (80, 12), (80, 24), (200, 50)] {
            let (buffer, cursor) = frame(&desk, size);
            let rows = text(&buffer, false);
            let width = |row: &String| ratatui_core::text::Span::raw(row.as_str()).width();
            assert!(rows.iter().all(|row| width(row) <= usize::from(size.0)), "{name} {size:?}: {rows:#?}");
            assert!(!rows.concat().contains(char::is_control), "{name} {size:?}");
            assert!(cursor.is_none_or(|at| at.x < size.0 && at.y < size.1), "{name} {size:?} {cursor:?}");
            // Colours are not what tells states apart.
            let coloured = text(&buffer, true).join("\n");
            let plain: String = ansi::lines(&coloured)
                .iter()
                .map(|line| line.iter().map(|(text, _)| text.as_str()).collect::<String>() + "\n")
                .collect();
            let plain: Vec<&str> = plain.lines().map(str::trim_end).collect();
            assert_eq!(plain, rows.iter().map(String::as_str).collect::<Vec<_>>(), "{name} {size:?}");
        }
    }
}
