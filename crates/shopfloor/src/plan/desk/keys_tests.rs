//! What keys do, in each mode and to each command.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};
use shopfloor_core::proc::Status;

use super::keys::{Action, action};
use super::list::{ListLine, lines};
use super::tests::{DIFF, asked, day, desk, in_review, of, one, press, shown, site};
use super::{Desk, Draft, Effect, Mode, SiteView, Target, What};
use crate::facts::desk_feed::Ended;
use crate::facts::run_tool::Answer;

/// What each key means on a desk, a line each.
fn table(desk: &Desk) -> String {
    use KeyCode::{BackTab, Backspace, Down, End, Enter, Esc, F, Home, Left, PageDown, PageUp, Right, Tab, Up};
    let special = [Backspace, BackTab, Down, End, Enter, Esc, F(1), Home, Left, PageDown, PageUp, Right, Tab, Up];
    let keys: Vec<KeyEvent> = (' '..='~').map(KeyCode::Char).chain(special).map(KeyEvent::from).collect();
    let control = ('a'..='z').map(|c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL));
    let named = |key: KeyEvent| {
        let control = if key.modifiers.is_empty() { "" } else { "C-" };
        Some(format!("{control}{} {:?}\n", key.code, action(desk, key)?))
    };
    keys.into_iter().chain(control).filter_map(named).collect()
}

fn with(mode: Mode, pending: Option<char>) -> Desk {
    Desk { mode, pending, ..one() }
}

#[test]
fn each_key_means_one_thing() {
    insta::assert_snapshot!(table(&with(Mode::Browse, None)), @r"
    Space NextPage
    / Filter
    1 Answer(1)
    2 Answer(2)
    3 Answer(3)
    4 Answer(4)
    5 Answer(5)
    6 Answer(6)
    7 Answer(7)
    8 Answer(8)
    9 Answer(9)
    ? Help
    G Last
    R Resume
    U StartUp
    [ Begin('[')
    ] Begin(']')
    a Land
    b Request
    c Comment
    d Delete
    e Edit
    g First
    h Out
    j Down
    k Up
    l In
    n New
    o Oldest
    p Preview
    q Quit
    r Review
    s Send
    u Restore
    x Back
    Down Down
    End Last
    Enter Attach
    Esc Out
    Home First
    Left Out
    Page Down PageDown
    Page Up PageUp
    Right In
    Tab NextPage
    Up Up
    C-c Quit
    C-d PageDown
    C-u PageUp
    C-z Suspend
    ");
}

#[test]
fn keys_mean_something_else_in_texts_and_questions() {
    // Whatever else is pressed ends what was begun.
    let two = |first: char| {
        table(&with(Mode::Browse, Some(first)))
            .lines()
            .filter(|line| !line.ends_with("Cancel") && !line.ends_with("Suspend"))
            .collect::<Vec<_>>()
            .join("; ")
    };
    assert_eq!((two(']'), two('[')), ("c NextChange; f NextFile".into(), "c LastChange; f LastFile".into()));
    let land = table(&with(Mode::Land(Target::default(), String::new()), None));
    let lands: Vec<&str> = land.lines().filter(|line| line.ends_with(" Enter")).collect();
    assert_eq!(lands, ["y Enter"]);
    let write = with(Mode::Write(Draft { what: What::Send, to: Target::default(), text: String::new() }), None);
    assert!((' '..='~').all(|c| action(&write, KeyCode::Char(c).into()) == Some(Action::Type(c))));
}

fn ran(effects: &[Effect]) -> Vec<String> {
    let run = |effect: &Effect| match effect {
        Effect::Run { words, input, .. } => {
            words.join(" ") + &input.as_ref().map_or(String::new(), |input| format!(" < {input}"))
        }
        other => format!("{other:?}"),
    };
    effects.iter().map(run).collect()
}

/// No `up` runs.
fn stopped() -> Desk {
    let mut desk = one();
    desk.sites[0].floor = None;
    desk
}

#[test]
fn what_is_named_next_can_be_done() {
    let nobody = || desk(vec![site("app", vec![], vec![])]);
    for (mut desk, keys, said) in [
        (one(), "U", "`up` runs already"),
        (one(), "/ada\nb", "it has no request; `shopfloor request ada` makes one"),
        (one(), "Gr", "select an agent first: Enter shows the idle ones"),
        (one(), "/zzz\n\n", "no agent has this word: Esc shows all"),
        (nobody(), "\n", "no agent yet: `n` makes one"),
        (nobody(), "r", "no agent yet: `n` makes one"),
        (Desk { sites: vec![SiteView::default()], ..Desk::default() }, "\n", "looking …"),
    ] {
        assert_eq!(ran(&press(&mut desk, keys)), [""; 0], "{keys}");
        assert_eq!(desk.said.as_deref(), Some(said), "{keys}");
    }
}

#[test]
fn keys_run_the_commands_of_the_tools() {
    for (mut desk, keys, expected) in [
        (in_review(), "]c]cc the text\n", "worker-ctl comment ada --commit c1 -- b:-1 - <  the text"),
        (in_review(), "]ccx\n", "worker-ctl comment ada --commit c1 -- src/m3.rs:41 - < x"),
        (in_review(), "]cjd", "worker-ctl comment ada --delete -- src/m3.rs:42"),
        (in_review(), "gd", "worker-ctl comment ada --delete -- old.rs:3"),
        (
            in_review(),
            "]cje",
            "Edit(Draft { what: Comment { place: \"src/m3.rs:42\", commit: \"c1\", \
             before: Some(\"Return an error here; callers pass user input.\\nAnd test it.\") }, to: Target { site: 0, key: \"/w/ada\\tada\", \
             worker: \"ada\" }, text: \"Return an error here; callers pass user input.\\nAnd test it.\" })",
        ),
        // A comment whose line is gone is only deleted or sent.
        (in_review(), "gc", ""),
        // What lands is pinned before it is asked about.
        (in_review(), "ay", "worker-ctl review ada --pin-up-to 20000"),
        (in_review(), "ra", "worker-ctl review ada --pin-up-to 20000"),
        // Nobody agrees to what is not shown.
        (Desk { size: (40, 11), ..in_review() }, "ray", ""),
        (Desk { size: (40, 11), ..asked() }, "1", ""),
        // A text that nobody had asked for is none.
        (one(), "/ada\ncalways y\n", ""),
        (one(), "G2sa day\n", ""),
        (asked(), "1", "worker-ctl answer eve 1 --menu m1"),
        // Once a menu that was drawn.
        (asked(), "22", "worker-ctl answer eve 2 --menu m1"),
        (asked(), "3", ""),
        (one(), "1", ""),
        (one(), "/fay\nosgo on\n", "worker-ctl message 日本語の名前 - < go on"),
        (one(), "/fay\nsgo on\n", "worker-ctl message fay - < go on"),
        (one(), "/fay\ns \n", ""),
        (one(), "/ada\nr", "worker-ctl review ada --pin-up-to 20000"),
        // First the diff is shown, with the comments that would go.
        (one(), "/ada\nx", ""),
        (one(), "/ada\nR", "worker-ctl resume ada"),
        (one(), "nzoe  Write the tests\n", "shopfloor new zoe --task - < Write the tests"),
        (one(), "nzoe --yolo\n", "shopfloor new zoe --task - < --yolo"),
        (one(), "n--yolo zoe\n", ""),
        (one(), "nzoe\n", ""),
        (one(), "U", ""),
        (stopped(), "U", "worker-ctl up --detach"),
        (one(), "b", ""),
        (one(), "jjj\n", "Attach(Target { site: 0, key: \"/w/ada\\tada\", worker: \"ada\" })"),
        (one(), "?q", ""),
        (one(), "q", "Quit"),
    ] {
        let ran = ran(&press(&mut desk, keys));
        assert_eq!(ran.join("\n"), expected, "{keys}");
    }
}

/// A command about ada has ended.
fn end(desk: &mut Desk, words: &[&str], code: i32, record: Value) {
    let error = record.pointer("/error/message").and_then(Value::as_str).map(str::to_owned);
    let (tool, text, said) = (words[0].to_owned(), String::new(), String::new());
    let answer = Answer { tool, status: Status::Exited(code), error, records: vec![record], text, said };
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    desk.end(&Ended { words, about: of("ada").map(|(_, key)| key), answer: Ok(answer) });
}

fn refused() -> Value {
    json!({ "error": { "message": "it conflicts", "hints": ["rebase it"] } })
}

#[test]
fn what_a_command_says_is_shown_and_the_next_one_who_waits_is_selected() {
    let mut desk = in_review();
    let record = json!({ "commit": "c1", "message": "m", "diff": DIFF, "comments": [], "range_diff": "1:  a\n    ++x\n    -+y" });
    press(&mut desk, "a");
    assert!(shown(&desk, (80, 24)).contains("review …"));
    end(&mut desk, &["worker-ctl", "review", "ada"], 0, record.clone());
    assert!(shown(&desk, (80, 24)).ends_with(" y lands ada on main, other keys do not: “m”"));
    // It lands what was shown, whoever is selected by now.
    desk.set_site(0, site("app", vec![], day().into_iter().filter(|row| row["name"] != "ada").collect()));
    assert_eq!(ran(&press(&mut desk, "y")), ["worker-ctl accept ada"]);
    desk.set_site(0, site("app", vec![], day()));
    desk.selected = of("ada");
    assert!(shown(&desk, (80, 24)).contains("accept …"));
    end(&mut desk, &["worker-ctl", "accept", "ada"], 1, refused());
    let screen = shown(&desk, (80, 24));
    assert!(screen.ends_with(" it conflicts\n hint: rebase it") && !screen.contains("accept …"), "{screen}");
    assert_eq!(desk.selected, of("ada"));
    end(&mut desk, &["worker-ctl", "accept", "ada"], 0, json!({}));
    assert_eq!((desk.selected.clone(), desk.is_inside), (of("ada"), false));
    // What was asked before that is told later.
    let mut later = day();
    later.iter_mut().for_each(|row| row["reviewed_sha"] = "c1".into());
    desk.set_site(0, site("app", vec![], later.clone()));
    assert!(!shown(&desk, (80, 24)).contains("● ada"));
    later.iter_mut().filter(|row| row["name"] == "ada").for_each(|row| row["commit"] = "c2".into());
    desk.set_site(0, site("app", vec![], later));
    assert!(shown(&desk, (80, 24)).contains("● ada"));
    // A review that has come is gone into, if it is still wanted.
    press(&mut desk, "o");
    end(&mut desk, &["worker-ctl", "review", "ada"], 0, record.clone());
    assert!(!desk.is_inside && desk.review().is_none());
    press(&mut desk, "jjj");
    end(&mut desk, &["worker-ctl", "review", "ada"], 0, record);
    assert!(desk.is_inside && desk.review().is_some_and(|review| review.since == Some((1, 1))));
}

#[test]
fn an_agent_without_a_program_is_given_its_first_task() {
    let agent = json!({ "id": "main.cid", "name": "cid", "kind": "subtree", "managed": true, "worktree": "/w/cid",
        "branch": "main.cid", "alive": "never" });
    let mut desk = desk(vec![site("app", vec![agent], vec![])]);
    press(&mut desk, "\n");
    let screen = shown(&desk, (80, 24));
    assert!(
        screen.contains("\n s give a task  n new  ? keys ") && screen.ends_with(" shopfloor start cid …"),
        "{screen}"
    );
    assert_eq!(press(&mut desk, "R"), []);
    assert!(desk.said.as_ref().is_some_and(|said| said.ends_with("`s` gives it a task")), "{:?}", desk.said);
    for keys in ["sDo it\n", "ncid Do it\n"] {
        assert_eq!(ran(&press(&mut desk, keys)), ["shopfloor start main.cid - < Do it"]);
    }
    // So is one whose program was ended.
    let mut desk = one();
    assert_eq!(ran(&press(&mut desk, "/ivy\nsDo it\n")), ["shopfloor start ivy - < Do it"]);
}

#[test]
fn the_filter_finds_what_a_row_shows() {
    let mut desk = stopped();
    for (keys, found) in [("/review", "ada"), ("/CLASH", "ada"), ("/five", "cid"), ("/+210", "gus"), ("/feature", "")] {
        press(&mut desk, &format!("{keys}\n"));
        assert_eq!(desk.row().map_or("", |(_, row)| row.name.as_str()), found, "{keys}");
    }
    // With no row there is no selection, until there is one.
    assert!(shown(&desk, (80, 24)).contains("no agent has this word"));
    assert_eq!((press(&mut desk, "ra"), desk.selected.clone()), (vec![], None));
    desk.input(&Event::Key(KeyCode::Esc.into()));
    assert_eq!(desk.row().unwrap().1.name, "日本語の名前");
    // Of several, the one whose name it is.
    let mut workers = day();
    workers.iter_mut().filter(|row| row["name"] == "eve").for_each(|row| row["activity_text"] = "Ask gus".into());
    desk.set_site(0, site("app", vec![], workers));
    press(&mut desk, "/gus\n");
    assert_eq!((desk.row().unwrap().1.name.as_str(), lines(&desk).len()), ("gus", 3));
}

#[test]
fn a_page_that_was_left_meanwhile_is_asked_for_anew() {
    let mut desk = in_review();
    let before = desk.wanted();
    press(&mut desk, "hjk");
    assert!(desk.page.is_none() && desk.selected == of("ada"));
    assert_ne!(desk.wanted(), before);
    let before = desk.wanted();
    assert_eq!(desk.wanted(), before);
    press(&mut desk, "    ");
    assert_ne!(desk.wanted(), before);
}

#[test]
fn the_selection_stays_where_it_is_when_rows_come_and_go() {
    let mut desk = one();
    press(&mut desk, "j");
    assert_eq!(desk.selected, of("eve"));
    let but = |gone: &str| site("app", vec![], day().into_iter().filter(|row| row["name"] != gone).collect());
    desk.set_site(0, but("fay"));
    assert_eq!(desk.selected, of("eve"));
    desk.set_site(0, but("eve"));
    assert_eq!(desk.selected, of("fay"));
    desk.set_site(0, site("app", vec![], vec![]));
    assert_eq!((desk.selected.clone(), press(&mut desk, "\nrsa1G")), (Some((0, String::new())), vec![]));
    assert!(lines(&desk).iter().all(|line| matches!(line, ListLine::Idle(..))));
}

#[test]
fn a_text_is_kept_until_its_command_has_taken_it() {
    let mut desk = in_review();
    press(&mut desk, "]cjcsomething else\n");
    let comment = ["worker-ctl", "comment", "ada", "--commit", "c1", "--", "src/m3.rs:42", "-"];
    end(&mut desk, &comment, 2, refused());
    let screen = shown(&desk, (80, 24));
    assert!(
        screen.contains(" hint: rebase it\n src/m3.rs:42: ") && screen.ends_with("And test it.something else"),
        "{screen}"
    );
    assert_eq!(ran(&press(&mut desk, "\n")).len(), 1);
    // A deletion is taken back for the agent that it was about, until that has worked.
    let mut desk = in_review();
    press(&mut desk, "]cjd");
    end(&mut desk, &["worker-ctl", "comment", "ada", "--delete", "--", "src/m3.rs:42"], 0, json!({}));
    desk.selected = of("eve");
    assert_eq!(press(&mut desk, "u"), []);
    desk.selected = of("ada");
    let back = [
        "worker-ctl comment ada --commit c1 -- src/m3.rs:42 - < Return an error here; callers pass user input.\nAnd test it.",
    ];
    for (code, answer) in [(4, refused()), (0, json!({}))] {
        assert_eq!(ran(&press(&mut desk, "u")), back);
        end(&mut desk, &comment, code, answer);
        desk.mode = Mode::Browse;
    }
    assert_eq!(press(&mut desk, "u"), []);
    // Nor is one that was emptied gone without a word.
    press(&mut desk, "c");
    let Mode::Write(draft) = std::mem::take(&mut desk.mode) else { panic!("c asks for no text") };
    let emptied = desk.written(Draft { text: "\n".into(), ..draft });
    assert_eq!(ran(emptied.as_slice()), ["worker-ctl comment ada --delete -- src/m3.rs:42"]);
    end(&mut desk, &["worker-ctl", "comment", "ada", "--delete", "--", "src/m3.rs:42"], 0, json!({}));
    assert!(shown(&desk, (80, 24)).contains("`u` takes that back"));
    assert_eq!(ran(&press(&mut desk, "u")), back);
    // What is sent is what is shown.
    let mut desk = in_review();
    let [Effect::Run { words, input: Some(sent), .. }] = &press(&mut desk, "x")[..] else { panic!("x sends nothing") };
    let sent: Value = serde_json::from_str(sent).unwrap();
    assert_eq!(words.join(" "), "worker-ctl reject ada --comments -");
    assert_eq!((&sent["commit"], sent["comments"].as_array().unwrap().len()), (&json!("c1"), 2));
}

#[test]
fn a_question_about_landing_comes_over_no_text_and_to_no_other_agent() {
    let record = json!({ "commit": "c1", "message": "m", "diff": DIFF });
    let mut desk = in_review();
    press(&mut desk, "aswhy");
    end(&mut desk, &["worker-ctl", "review", "ada"], 0, record.clone());
    assert_eq!(ran(&press(&mut desk, "y\n")), ["worker-ctl message ada - < whyy"]);
    let mut desk = in_review();
    press(&mut desk, "a");
    desk.landing = Some(Target { key: "/w/bob\tbob".into(), ..Target::default() });
    end(&mut desk, &["worker-ctl", "review", "ada"], 0, record);
    assert_eq!(desk.mode, Mode::Browse);
    assert!(desk.landing.is_some());
}

#[test]
fn a_key_hits_the_agent_that_is_selected() {
    // Who becomes idle stays in sight while selected, and a seat is not the agent whose worktree it has.
    let mut desk = one();
    press(&mut desk, "j");
    let mut rows = day();
    rows.iter_mut()
        .filter(|row| row["name"] == "eve")
        .for_each(|row| (row["needs"], row["task"]) = (Value::Null, "idle".into()));
    let seat = json!({ "id": "helper", "name": "helper", "kind": "worker", "managed": true, "worktree": "/w/eve", "alive": "up", "parent": "x" });
    desk.set_site(0, site("app", vec![seat], rows));
    assert_eq!(desk.selected, of("eve"));
    press(&mut desk, "/helper\n");
    assert_eq!(desk.row().unwrap().1.name, "helper");
    assert_eq!(press(&mut desk, "Rr"), []);
    assert_eq!(lines(&desk).iter().filter(|line| line.key() == desk.selected).count(), 1);
    // Until a person selects one, it is the first.
    let mut desk = Desk { sites: vec![SiteView::default()], ..Desk::default() };
    let first = shown(&desk, (80, 24));
    assert!(first.contains("looking …") && !first.contains("need you"), "{first}");
    desk.set_site(0, site("app", vec![], day().into_iter().filter(|row| row["name"] == "gus").collect()));
    assert_eq!(desk.selected, of("gus"));
    desk.set_site(0, site("app", vec![], day()));
    assert_eq!(desk.selected, of("日本語の名前"));
}
