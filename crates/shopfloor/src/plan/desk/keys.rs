//! What each key means.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Desk, Mode};

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

/// The keys of the list and of the page, what they mean, and what the help says of them.
pub const KEYS: [(&str, Action, &str); 33] = [
    ("j Down", Action::Down, "one down"),
    ("k Up", Action::Up, "one up"),
    ("C-d PageDown", Action::PageDown, "ten down"),
    ("C-u PageUp", Action::PageUp, "ten up"),
    ("g Home", Action::First, "to the first"),
    ("G End", Action::Last, "to the last"),
    ("o", Action::Oldest, "who has waited longest"),
    ("/", Action::Filter, "only rows with a word"),
    ("Tab Space", Action::NextPage, "next page"),
    ("l Right", Action::In, "into the page"),
    ("h Left Esc", Action::Out, "out; all rows again"),
    ("p", Action::Preview, "page off and on"),
    ("]c", Action::NextChange, "next change of the diff"),
    ("[c", Action::LastChange, "last change"),
    ("]f", Action::NextFile, "next file"),
    ("[f", Action::LastFile, "last file"),
    ("Enter", Action::Attach, "attach; show idle agents"),
    ("r", Action::Review, "review, noted as seen"),
    ("a", Action::Land, "land, after one question"),
    ("c", Action::Comment, "comment on the line"),
    ("e", Action::Edit, "the same in your editor"),
    ("d", Action::Delete, "delete the comment"),
    ("u", Action::Restore, "take the deletion back"),
    ("x", Action::Back, "send back"),
    ("s", Action::Send, "message, or a task"),
    ("n", Action::New, "new agent"),
    ("R", Action::Resume, "let it go on"),
    ("U", Action::StartUp, "start `up`"),
    ("b", Action::Request, "its request in a browser"),
    ("?", Action::Help, "this page"),
    ("C-z", Action::Suspend, "suspend the desk"),
    ("q C-c", Action::Quit, "leave; agents go on"),
    ("1-9", Action::Answer(0), "answer the menu"),
];

/// What a key means on the desk as it is.
pub fn action(desk: &Desk, key: KeyEvent) -> Option<Action> {
    let name = name(key);
    if name == "C-z" {
        return Some(Action::Suspend);
    }
    match &desk.mode {
        Mode::Write(_) => in_text(key, &name),
        Mode::Land(..) if name == "y" => Some(Action::Enter),
        Mode::Land(..) | Mode::Help => Some(Action::Cancel),
        Mode::Browse => match (desk.pending, key.code) {
            (Some(first), _) => Some(found(&format!("{first}{name}")).unwrap_or(Action::Cancel)),
            (None, KeyCode::Char(first @ ('[' | ']'))) => Some(Action::Begin(first)),
            (None, KeyCode::Char(digit @ '1'..='9')) => digit.to_digit(10).map(|digit| Action::Answer(digit as usize)),
            (None, _) => found(&name),
        },
    }
}

/// How the table names a key.
fn name(key: KeyEvent) -> String {
    match key.code {
        KeyCode::Char(' ') => "Space".into(),
        KeyCode::Char(c) if key.modifiers.contains(KeyModifiers::CONTROL) => format!("C-{c}"),
        KeyCode::Char(c) => c.to_string(),
        code => format!("{code:?}"),
    }
}

fn found(name: &str) -> Option<Action> {
    KEYS.iter().find(|(keys, ..)| keys.split(' ').any(|key| key == name)).map(|(_, action, _)| *action)
}

fn in_text(key: KeyEvent, name: &str) -> Option<Action> {
    Some(match (key.code, name) {
        (KeyCode::Enter, _) => Action::Enter,
        (KeyCode::Esc, _) | (_, "C-c") => Action::Cancel,
        (KeyCode::Backspace, _) | (_, "C-h") => Action::Erase,
        (KeyCode::Char(c), _) if !key.modifiers.contains(KeyModifiers::CONTROL) => Action::Type(c),
        _ => return None,
    })
}
