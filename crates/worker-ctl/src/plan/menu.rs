//! Decides which key brings a program's menu closer to the wanted line.

use regex_lite::Regex;

/// What to do about a menu on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MenuStep {
    Up,
    Down,
    /// The wanted line is selected.
    Confirm,
    /// The menu is not drawn completely, or the line is not in it.
    Look,
}

impl MenuStep {
    /// The key for it, as tmux names keys.
    pub fn key(self) -> Option<&'static str> {
        match self {
            MenuStep::Up => Some("Up"),
            MenuStep::Down => Some("Down"),
            MenuStep::Confirm => Some("Enter"),
            MenuStep::Look => None,
        }
    }
}

/// The marks of a selected line.
const MARKS: [char; 3] = ['❯', '›', '●'];

/// The next step towards the line that `choose` matches. The selected line is the last marked one, because a
/// transcript above may have marks as well.
pub fn next_step(screen: &str, choose: &Regex) -> MenuStep {
    let lines: Vec<&str> = screen.lines().collect();
    let is_marked = |line: &&str| line.trim_start_matches([' ', '│', '|']).starts_with(MARKS);
    let selected = lines.iter().rposition(is_marked);
    let wanted = lines.iter().rposition(|line| choose.is_match(line));
    match (selected, wanted) {
        (Some(selected), Some(wanted)) if selected == wanted => MenuStep::Confirm,
        (Some(selected), Some(wanted)) if selected < wanted => MenuStep::Down,
        (Some(_), Some(_)) => MenuStep::Up,
        _ => MenuStep::Look,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_menu_is_walked_line_by_line_and_then_confirmed() {
        let trust = Regex::new("Yes, I trust").unwrap();
        for (screen, step) in [
            ("Trust?\n\n❯ No, exit\n  Yes, I trust this folder\n", MenuStep::Down),
            ("Trust?\n\n❯ 1. Yes, I trust this folder\n  2. No, exit\n", MenuStep::Confirm),
            ("Trust?\n  Yes, I trust this folder\n  Read more\n │ › No, exit\n", MenuStep::Up),
            ("❯ an old prompt\n\n  Yes, I trust this folder\n● No\n", MenuStep::Up),
            // Half drawn, or another question.
            ("Trust?\n\n❯ No, exit\n", MenuStep::Look),
            ("Trust?\n  Yes, I trust this folder\n", MenuStep::Look),
            ("", MenuStep::Look),
        ] {
            assert_eq!(next_step(screen, &trust), step, "{screen}");
        }
    }
}
