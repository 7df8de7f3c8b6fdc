//! Decides which key brings a program's menu closer to the wanted line.

use std::cmp::Ordering;

use regex_lite::Regex;

/// The marks of a selected line.
const MARKS: [char; 3] = ['❯', '›', '●'];

/// The key, as tmux names keys, that leads towards the line that `choose` matches; none while the menu is not drawn
/// completely, or the line is not in it. The selected line is the last marked one, because a transcript above may have
/// marks as well.
pub fn next_key(screen: &str, choose: &Regex) -> Option<&'static str> {
    let lines: Vec<&str> = screen.lines().collect();
    let is_marked = |line: &&str| line.trim_start_matches([' ', '│', '|']).starts_with(MARKS);
    let selected = lines.iter().rposition(is_marked)?;
    let wanted = lines.iter().rposition(|line| choose.is_match(line))?;
    Some(match selected.cmp(&wanted) {
        Ordering::Equal => "Enter",
        Ordering::Less => "Down",
        Ordering::Greater => "Up",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_menu_is_walked_line_by_line_and_then_confirmed() {
        let trust = Regex::new("Yes, I trust").unwrap();
        for (screen, key) in [
            ("Trust?\n\n❯ No, exit\n  Yes, I trust this folder\n", Some("Down")),
            ("Trust?\n\n❯ 1. Yes, I trust this folder\n  2. No, exit\n", Some("Enter")),
            ("Trust?\n  Yes, I trust this folder\n  Read more\n │ › No, exit\n", Some("Up")),
            ("❯ an old prompt\n\n  Yes, I trust this folder\n● No\n", Some("Up")),
            // Half drawn, or another question.
            ("Trust?\n\n❯ No, exit\n", None),
            ("Trust?\n  Yes, I trust this folder\n", None),
            ("", None),
        ] {
            assert_eq!(next_key(screen, &trust), key, "{screen}");
        }
    }
}
