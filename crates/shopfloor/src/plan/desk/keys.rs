//! What each key means.

use super::{Desk, Mode};
use crate::screen::Key;

/// What a person asks for with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Filter,
    NextPage,
    In,
    Out,
    NextChange,
    LastChange,
    NextFile,
    LastFile,
    Begin(char),
    Preview,
    Answer(usize),
    Attach,
    Send,
    Review,
    Comment,
    Edit,
    Delete,
    Restore,
    Back,
    Land,
    New,
    Resume,
    StartUp,
    Oldest,
    Request,
    Help,
    Suspend,
    Quit,
    /// In a text: a character, one less, the end, or none of it.
    Type(char),
    Erase,
    Enter,
    Cancel,
}

/// The keys of the list and of the page, with the words of the help.
pub const HELP: [(&str, &str); 27] = [
    ("j k ↑ ↓", "move; g G first and last; Ctrl-D Ctrl-U half a page"),
    ("/", "show only agents with this word; Esc ends it"),
    ("Tab Space", "next page of the lower half: terminal, diff, task, log"),
    ("→ l", "into the lower half; ← h Esc out of it"),
    ("]c [c", "next and last change of the diff"),
    ("]f [f", "next and last file of the diff"),
    ("p", "turn the lower half off and on"),
    ("Enter", "attach to the agent's terminal; show idle agents"),
    ("1-9", "answer the menu of an agent that asks"),
    ("s", "send a message"),
    ("r", "review: show the diff, and record that it was seen"),
    ("c", "comment on the line of the diff"),
    ("e", "the same in your editor"),
    ("d", "delete the comment on the line"),
    ("u", "take the deletion back"),
    ("x", "send the work back, with the comments or with a text"),
    ("a", "land the work, after one question"),
    ("n", "new agent: a name, and a task"),
    ("R", "let the agent go on with its task"),
    ("U", "start `up`, which keeps agents running"),
    ("o", "go to the agent that has waited longest"),
    ("b", "open the request in a browser"),
    ("?", "this page"),
    ("Ctrl-Z", "suspend the desk"),
    ("q Ctrl-C", "leave the desk; agents go on"),
    ("mouse", "click an agent, turn the wheel over the page"),
    ("marks", "? asks  ✗ error  ● review  … rests  ↻ resume  ◷ limited  ~ silent  ▶ works"),
];

/// What a key means on the desk as it is.
pub fn action(desk: &Desk, key: Key) -> Option<Action> {
    match &desk.mode {
        Mode::Filter | Mode::Write(..) => in_text(key),
        Mode::Land => Some(match key {
            Key::Char('y' | 'Y') | Key::Enter => Action::Enter,
            Key::Ctrl('z') => Action::Suspend,
            _ => Action::Cancel,
        }),
        Mode::Help => Some(if key == Key::Ctrl('z') { Action::Suspend } else { Action::Cancel }),
        Mode::Browse => match (desk.pending, key) {
            (Some(first), Key::Char(second)) => of_two(first, second),
            (Some(_), _) => Some(Action::Cancel),
            (None, key) => of_one(key),
        },
    }
}

fn in_text(key: Key) -> Option<Action> {
    Some(match key {
        Key::Char(c) => Action::Type(c),
        Key::Backspace | Key::Ctrl('h') => Action::Erase,
        Key::Enter => Action::Enter,
        Key::Esc | Key::Ctrl('c') => Action::Cancel,
        Key::Ctrl('z') => Action::Suspend,
        _ => return None,
    })
}

fn of_two(first: char, second: char) -> Option<Action> {
    Some(match (first, second) {
        (']', 'c') => Action::NextChange,
        ('[', 'c') => Action::LastChange,
        (']', 'f') => Action::NextFile,
        ('[', 'f') => Action::LastFile,
        _ => Action::Cancel,
    })
}

fn of_one(key: Key) -> Option<Action> {
    Some(match key {
        Key::Char('j') | Key::Down => Action::Down,
        Key::Char('k') | Key::Up => Action::Up,
        Key::PageDown | Key::Ctrl('d' | 'f') => Action::PageDown,
        Key::PageUp | Key::Ctrl('u' | 'b') => Action::PageUp,
        Key::Char('g') | Key::Home => Action::First,
        Key::Char('G') | Key::End => Action::Last,
        Key::Char('/') => Action::Filter,
        Key::Tab | Key::Char(' ') => Action::NextPage,
        Key::Right | Key::Char('l') => Action::In,
        Key::Left | Key::Char('h') | Key::Esc => Action::Out,
        Key::Char(first @ ('[' | ']')) => Action::Begin(first),
        Key::Char('p') => Action::Preview,
        Key::Char(digit @ '1'..='9') => Action::Answer(digit as usize - '0' as usize),
        Key::Enter => Action::Attach,
        Key::Char('s') => Action::Send,
        Key::Char('r') => Action::Review,
        Key::Char('c') => Action::Comment,
        Key::Char('e') => Action::Edit,
        Key::Char('d') => Action::Delete,
        Key::Char('u') => Action::Restore,
        Key::Char('x') => Action::Back,
        Key::Char('a') => Action::Land,
        Key::Char('n') => Action::New,
        Key::Char('R') => Action::Resume,
        Key::Char('U') => Action::StartUp,
        Key::Char('o') => Action::Oldest,
        Key::Char('b') => Action::Request,
        Key::Char('?') => Action::Help,
        Key::Ctrl('z') => Action::Suspend,
        Key::Char('q') | Key::Ctrl('c') => Action::Quit,
        _ => return None,
    })
}
