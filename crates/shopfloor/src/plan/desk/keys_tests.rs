//! What keys do, in each mode and to each command.

use serde_json::{Value, json};
use shopfloor_core::proc::Status;

use super::keys::{Action, HELP, action};
use super::list::{ListLine, lines};
use super::tests::{DIFF, asked, day, in_review, one, press, shown, site};
use super::{Desk, Effect, Mode, What};
use crate::facts::desk_feed::Ended;
use crate::facts::run_tool::Answer;
use crate::screen::Key;

/// What each key means on a desk, a line each.
fn table(desk: &Desk) -> String {
    let special = [
        Key::Enter,
        Key::Esc,
        Key::Tab,
        Key::Backspace,
        Key::Up,
        Key::Down,
        Key::Left,
        Key::Right,
        Key::PageUp,
        Key::PageDown,
        Key::Home,
        Key::End,
    ];
    let letters = (' '..='~').map(Key::Char).chain(('a'..='z').map(Key::Ctrl));
    let keys: Vec<Key> = letters.chain(special).collect();
    let named = |key: &Key| action(desk, *key).map(|action| format!("{key:?} {action:?}"));
    keys.iter().filter_map(named).map(|line| line.replace("Char('", "").replace("')", "") + "\n").collect()
}

fn with(mode: Mode, pending: Option<char>) -> Desk {
    Desk { mode, pending, ..one() }
}

#[test]
fn each_key_means_one_thing() {
    insta::assert_snapshot!(table(&with(Mode::Browse, None)), @r"
      NextPage
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
    [ Begin('[
    ] Begin(']
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
    Ctrl('b PageUp
    Ctrl('c Quit
    Ctrl('d PageDown
    Ctrl('f PageDown
    Ctrl('u PageUp
    Ctrl('z Suspend
    Enter Attach
    Esc Out
    Tab NextPage
    Up Up
    Down Down
    Left Out
    Right In
    PageUp PageUp
    PageDown PageDown
    Home First
    End Last
    ");
}

#[test]
fn keys_mean_something_else_in_texts_and_questions() {
    // Whatever else is pressed ends what was begun.
    let two = |first: char| {
        table(&with(Mode::Browse, Some(first)))
            .lines()
            .filter(|line| !line.ends_with("Cancel"))
            .collect::<Vec<_>>()
            .join("; ")
    };
    assert_eq!((two(']'), two('[')), ("c NextChange; f NextFile".into(), "c LastChange; f LastFile".into()));
    let land = table(&with(Mode::Land, None));
    assert_eq!(
        land.lines().filter(|line| line.ends_with(" Enter")).collect::<Vec<_>>(),
        ["Y Enter", "y Enter", "Enter Enter"]
    );
    for mode in [Mode::Filter, Mode::Write(What::Send, String::new())] {
        assert!((' '..='~').all(|c| action(&with(mode.clone(), None), Key::Char(c)) == Some(Action::Type(c))));
    }
    // Every key is in the help.
    let help: String = HELP.iter().flat_map(|(keys, what)| [*keys, " ", *what, "\n"]).collect();
    let told = |c: &char| help.contains(*c) || ('2'..='8').contains(c);
    assert!((' '..='~').filter(|c| action(&one(), Key::Char(*c)).is_some()).all(|c| told(&c)), "{help}");
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
            "Edit { place: \"src/m3.rs:42\", text: \"Return an error here; callers pass user input.\\nAnd test it.\" }",
        ),
        (in_review(), "x", "worker-ctl reject ada --comments /root/comments/ada.json"),
        (in_review(), "a\n", "worker-ctl accept ada"),
        (in_review(), "ay", "worker-ctl accept ada"),
        (in_review(), "an", ""),
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
        (one(), "jjj\n", "Attach { site: 0, worker: \"ada\" }"),
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
    press(&mut desk, "ay");
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
    let record = json!({ "commit": "c1", "message": "m", "diff": DIFF, "comments": [], "range_diff": "1:  a\n    ++x\n    -+y" });
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
