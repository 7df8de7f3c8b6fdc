//! Reads the menu on an agent's screen, and finds the key that leads to a line.

use std::cmp::Ordering;

use regex_lite::Regex;

/// The marks of a selected line.
const MARKS: [char; 3] = ['❯', '›', '●'];

/// The key, as tmux names keys, that leads towards the line that `choose` matches; none while the menu is not drawn
/// completely, or the line is not in it. The selected line is the last marked one, because a transcript above may have
/// marks as well.
pub fn next_key(screen: &str, choose: &Regex) -> Option<&'static str> {
    let lines: Vec<&str> = screen.lines().collect();
    let selected = lines.iter().rposition(|line| is_marked(line))?;
    let wanted = lines.iter().rposition(|line| choose.is_match(line))?;
    Some(key(selected, wanted))
}

/// The key that leads from one line of a menu to another, and confirms that one.
pub fn key(selected: usize, wanted: usize) -> &'static str {
    match selected.cmp(&wanted) {
        Ordering::Equal => "Enter",
        Ordering::Less => "Down",
        Ordering::Greater => "Up",
    }
}

/// The lines of a menu, each with its number, and which of them is selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Menu {
    pub lines: Vec<String>,
    pub selected: usize,
    /// The line of the screen with which it begins.
    pub first: usize,
}

impl Menu {
    /// The menu that a screen shows: the numbered lines around the selected one, or, where that has no number, the lines
    /// beside it, which are numbered here.
    pub fn read(screen: &str) -> Option<Menu> {
        let shown: Vec<&str> = screen.lines().collect();
        let at = shown.iter().rposition(|line| is_marked(line))?;
        let lines: Vec<&str> = shown.iter().map(|line| bare(line)).collect();
        // A text in the menu can look like its selected line.
        let is_choice = |line: &&&str| is_marked(line) && number(bare(line)).is_some();
        if shown.iter().filter(is_choice).count() > 1 {
            return None;
        }
        // The mark of an input line.
        if !is_text(lines[at]) {
            return None;
        }
        if number(lines[at]).is_none() {
            let above = lines[..at].iter().rev().take_while(|line| is_text(line)).count();
            let below = lines[at..].iter().take_while(|line| is_text(line)).count();
            let block = lines[at - above..at + below].iter().zip(1..);
            return (above + below > 1).then(|| Menu {
                lines: block.map(|(line, n)| format!("{n}. {line}")).collect(),
                selected: above,
                first: at - above,
            });
        }
        let (mut menu, mut next) = (vec![lines[at]], number(lines[at]));
        for line in &lines[at + 1..] {
            if number(line).is_some() && number(line) == next.map(|n| n + 1) {
                menu.push(line);
                next = number(line);
            }
        }
        let (mut before, mut first) = (number(lines[at]), at);
        for (place, line) in lines[..at].iter().enumerate().rev() {
            if number(line).is_some() && number(line) == before.map(|n| n.wrapping_sub(1)) {
                menu.insert(0, line);
                (before, first) = (number(line), place);
            }
        }
        let selected = menu.iter().position(|line| *line == lines[at]).unwrap_or_default();
        (menu.len() > 1).then(|| Menu { lines: menu.into_iter().map(str::to_owned).collect(), selected, first })
    }

    /// The lines that a person means: the one with this number, or those that this pattern matches in any case.
    pub fn find(&self, wanted: &Wanted) -> Vec<usize> {
        let is_wanted = |line: &str| match wanted {
            Wanted::Number(wanted) => number(line) == Some(*wanted),
            Wanted::Pattern(pattern) => pattern.is_match(line),
        };
        (0..self.lines.len()).filter(|at| is_wanted(&self.lines[*at])).collect()
    }
}

/// The selected line of a menu of numbered lines that a screen shows: a question, whether or not the program tells that
/// it asks one. An input line below it, by its mark or by the program's own pattern, means that the program waits there.
/// Programs with a `●` in their menus have no mark before their input line, so of them nothing is known.
pub fn question<'s>(screen: &'s str, ready: Option<&Regex>) -> Option<&'s str> {
    let lines: Vec<&str> = screen.lines().collect();
    let at = lines.iter().rposition(|line| is_marked(line))?;
    let selected = number(bare(lines[at])).filter(|_| !lines[at].trim_start_matches(FRAME).starts_with('●'))?;
    let is_input = |line: &&str| ready.is_some_and(|ready| ready.is_match(line));
    let is_menu = lines.iter().any(|line| number(bare(line)).is_some_and(|other| other.abs_diff(selected) == 1));
    (is_menu && !lines[at + 1..].iter().any(is_input)).then(|| bare(lines[at]))
}

/// Which line of a menu a person means.
#[derive(Clone, Debug)]
pub enum Wanted {
    Number(usize),
    Pattern(Regex),
}

fn is_marked(line: &str) -> bool {
    line.trim_start_matches(FRAME).starts_with(MARKS)
}

/// What is drawn around a menu.
const FRAME: [char; 4] = [' ', '│', '|', '┃'];

/// A line without its frame and its mark.
fn bare(line: &str) -> &str {
    line.trim_matches(FRAME).trim_start_matches(MARKS).trim_matches(FRAME)
}

fn is_text(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

/// The number that a line of a menu begins with.
fn number(line: &str) -> Option<usize> {
    let digits = line.find(|c: char| !c.is_ascii_digit())?;
    line[digits..].starts_with([')', '.']).then(|| line[..digits].parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_menu_is_read_from_its_screen() {
        for (screen, lines, selected) in [
            (
                "Do you want to run it?\n 1. an old list\n❯ 1. Yes\n  2. Yes, and don't ask\n     again\n  3. No (esc)\n\nEsc to cancel\n",
                &["1. Yes", "2. Yes, and don't ask", "3. No (esc)"][..],
                0,
            ),
            (
                "╭────╮\n│ Apply?     │\n│   1. Once  │\n│ ● 2. Always │\n│            │\n│   3. No    │\n╰────╯",
                &["1. Once", "2. Always", "3. No"],
                1,
            ),
            ("Trust?\n\n  No, exit\n❯ Yes, I trust it\n\nEnter\n", &["1. No, exit", "2. Yes, I trust it"], 1),
        ] {
            let menu = Menu::read(screen).unwrap();
            assert_eq!(
                (menu.lines.as_slice(), menu.selected),
                (lines.iter().map(ToString::to_string).collect::<Vec<_>>().as_slice(), selected),
                "{screen}"
            );
        }
        for screen in [
            "no menu\n\n",
            "some output\nmore output\n❯ \n",
            "╭──╮\n│ ❯  │\n╰──╯\n",
            "❯ 1. Yes\n  2. x/\n ❯ 3. No\n  3. No\n",
            "❯ a prompt\n",
        ] {
            assert_eq!(Menu::read(screen), None, "{screen}");
        }
        let menu = Menu::read("❯ 1. Yes\n  2. No\n  3. Never\n").unwrap();
        let find = |pattern: &str| menu.find(&Wanted::Pattern(Regex::new(&format!("(?i){pattern}")).unwrap()));
        assert_eq!((menu.find(&Wanted::Number(2)), menu.find(&Wanted::Number(9))), (vec![1], vec![]));
        assert_eq!((find("yes"), find("^[0-9]. n")), (vec![0], vec![1, 2]));
    }

    #[test]
    fn a_question_is_seen_by_its_last_marked_line() {
        let ready = Regex::new("^> ").unwrap();
        for (screen, selected) in [
            ("Run it?\n❯ 1. Yes\n  2. No\n", Some("1. Yes")),
            // The text of the question may look like a line of the menu, so that `answer` cannot read it.
            ("❯ 1. Yes\n  2. x/\n ❯ 3. No\n  3. No\n", Some("3. No")),
            ("│ ❯ 2. No │\n│  1. Yes │\n", Some("2. No")),
            // What was said before stands above the input line.
            ("❯ 1. Yes\n  2. No\n❯ \n", None),
            ("❯ 1. Yes\n  2. No\n\n> \n", None),
            ("❯ 1. a list of one\n", None),
            ("● 1. Yes\n  2. No\n", None),
        ] {
            assert_eq!(question(screen, Some(&ready)), selected, "{screen}");
        }
    }

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
