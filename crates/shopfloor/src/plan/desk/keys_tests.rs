//! What keys do, in each mode and to each command.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};
use shopfloor_core::proc::Status;

use super::keys::{Action, action};
use super::list::{ListLine, lines};
use super::tests::{DIFF, asked, day, in_review, one, press, shown, site};
use super::{Desk, Effect, Mode, Target, What};
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
    let land = table(&with(Mode::Land(Target::default()), None));
    let lands: Vec<&str> = land.lines().filter(|line| line.ends_with(" Enter")).collect();
    assert_eq!(lands, ["Y Enter", "y Enter", "Enter Enter"]);
    let write = Mode::Write { what: What::Send, to: Target::default(), text: String::new() };
    for mode in [Mode::Filter, write] {
        let typed = |c: char| action(&with(mode.clone(), None), KeyCode::Char(c).into()) == Some(Action::Type(c));
        assert!((' '..='~').all(typed));
    }
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

#[test]
fn keys_run_the_commands_of_the_tools() {
    for (mut desk, keys, expected) in [
        (in_review(), "]c]cc the text\n", "worker-ctl comment ada b:-1 - <  the text"),
        (in_review(), "]ccx\n", "worker-ctl comment ada src/m3.rs:41 - < x"),
        (in_review(), "]cjd", "worker-ctl comment ada src/m3.rs:42 --delete"),
        (in_review(), "gd", "worker-ctl comment ada old.rs:3 --delete"),
        (
            in_review(),
            "]cje",
            "Edit { place: \"src/m3.rs:42\", to: Target { site: 0, worktree: \"/w/ada\", worker: \"ada\" }, text: \"Return an error here; callers pass user input.\\nAnd test it.\" }",
        ),
        (in_review(), "x", "worker-ctl reject ada --comments /root/comments/ada.json"),
        // What lands is pinned before it is asked about.
        (in_review(), "ay", "worker-ctl review ada"),
        (asked(), "1", "worker-ctl answer eve 1 --menu m1"),
        // Once a menu that was drawn.
        (asked(), "22", "worker-ctl answer eve 2 --menu m1"),
        (asked(), "3", ""),
        (one(), "1", ""),
        (one(), "/fay\nsgo on\n", "worker-ctl message fay - < go on"),
        (one(), "/fay\ns \n", ""),
        (one(), "/ada\nr", "worker-ctl review ada"),
        (one(), "/ada\nxDo it\n", "worker-ctl reject ada - < Do it"),
        (one(), "/ada\nR", "worker-ctl resume ada"),
        (one(), "nzoe  Write the tests\n", "shopfloor new zoe Write the tests"),
        (one(), "nzoe\n", ""),
        (one(), "U", "worker-ctl up --detach"),
        (one(), "b", ""),
        (one(), "jjj\n", "Attach(Target { site: 0, worktree: \"/w/ada\", worker: \"ada\" })"),
        (one(), "?q", ""),
        (one(), "q", "Quit"),
    ] {
        let ran = ran(&press(&mut desk, keys));
        assert_eq!(ran.join("\n"), expected, "{keys}");
    }
}

#[test]
fn what_a_command_says_is_shown_and_the_next_one_who_waits_is_selected() {
    let end = |desk: &mut Desk, words: &[&str], code: i32, record: Value| {
        let answer = Answer {
            status: Status::Exited(code),
            error: record.pointer("/error/message").and_then(Value::as_str).map(str::to_owned),
            records: vec![record],
            text: String::new(),
        };
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        desk.end(&Ended { words, about: Some("/w/ada".into()), answer: Ok(answer) });
    };
    let mut desk = in_review();
    let record = json!({ "commit": "c1", "message": "m", "diff": DIFF, "comments": [], "range_diff": "1:  a\n    ++x\n    -+y" });
    press(&mut desk, "a");
    assert!(shown(&desk, (80, 24)).contains("review …"));
    end(&mut desk, &["worker-ctl", "review", "ada"], 0, record.clone());
    assert!(shown(&desk, (80, 24)).ends_with(" land ada on main: m  y lands, any other key does not"));
    // It lands what was shown, whoever is selected by now.
    desk.set_site(0, site("app", vec![], day().into_iter().filter(|row| row["name"] != "ada").collect()));
    assert_eq!(ran(&press(&mut desk, "y")), ["worker-ctl accept ada"]);
    desk.set_site(0, site("app", vec![], day()));
    desk.selected = Some((0, "/w/ada".into()));
    assert!(shown(&desk, (80, 24)).contains("accept …"));
    end(
        &mut desk,
        &["worker-ctl", "accept", "ada"],
        1,
        json!({ "error": { "message": "it conflicts", "hints": ["rebase it"] } }),
    );
    let screen = shown(&desk, (80, 24));
    assert!(screen.ends_with(" it conflicts\n hint: rebase it") && !screen.contains("accept …"), "{screen}");
    assert_eq!(desk.selected, Some((0, "/w/ada".into())));
    end(&mut desk, &["worker-ctl", "accept", "ada"], 0, json!({}));
    assert_eq!((desk.selected.clone(), desk.is_inside), (Some((0, "/w/日本語の名前".into())), false));
    // A review that has come is gone into, if it is still wanted.
    end(&mut desk, &["worker-ctl", "review", "ada"], 0, record.clone());
    assert!(!desk.is_inside && desk.review().is_none());
    press(&mut desk, "jjj");
    end(&mut desk, &["worker-ctl", "review", "ada"], 0, record);
    assert!(desk.is_inside && desk.review().is_some_and(|review| review.since == Some((1, 1))));
}

#[test]
fn the_selection_stays_where_it_is_when_rows_come_and_go() {
    let mut desk = one();
    press(&mut desk, "j");
    assert_eq!(desk.selected, Some((0, "/w/eve".into())));
    let but = |gone: &str| site("app", vec![], day().into_iter().filter(|row| row["name"] != gone).collect());
    desk.set_site(0, but("fay"));
    assert_eq!(desk.selected, Some((0, "/w/eve".into())));
    desk.set_site(0, but("eve"));
    assert_eq!(desk.selected, Some((0, "/w/fay".into())));
    desk.set_site(0, site("app", vec![], vec![]));
    assert_eq!((desk.selected.clone(), press(&mut desk, "\nrsa1G")), (Some((0, String::new())), vec![]));
    assert!(lines(&desk).iter().all(|line| matches!(line, ListLine::Idle(..))));
}
