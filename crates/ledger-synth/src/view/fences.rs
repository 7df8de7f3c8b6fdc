//! Finds closed code fences in a text: only those are shown on a page as they are.

use super::escape::escaped;

/// Which lines of a text belong to code between fences, with these. A fence that the text leaves open could hide the
/// page after it, and so could one that a reader of Markdown takes for something else; of those none is told.
pub fn fenced(lines: &[&str]) -> Vec<bool> {
    let mut code = vec![false; lines.len()];
    let is_deep = |line: &&str| depth(line) > 1 && Fence::of(line).is_some();
    if lines.iter().any(is_deep) {
        return code;
    }
    // The shortest fences of each kind that nothing closes, so that no text is read more than a few times.
    let mut open = [usize::MAX; 2];
    // The first line stands after a marker.
    let mut at = 1;
    while at < lines.len() {
        if lines[at - 1].trim_start().starts_with('<') && !code[at - 1] {
            // In HTML a fence is none until a blank line.
            break;
        }
        let fence = Fence::of(lines[at]).filter(|fence| fence.may_open(lines[at]));
        let Some(fence) = fence.filter(|fence| fence.length < open[usize::from(fence.is_tilde)]) else {
            at += 1;
            continue;
        };
        match lines[at + 1..].iter().position(|line| Fence::of(line).is_some_and(|end| end.closes(&fence))) {
            Some(after) => {
                let end = at + 1 + after;
                code[at..=end].fill(true);
                at = end + 1;
            }
            None => {
                open[usize::from(fence.is_tilde)] = fence.length;
                at += 1;
            }
        }
    }
    code
}

/// The width of a line's indentation; a tab is wider than any that counts here.
fn depth(line: &str) -> usize {
    let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
    if line[..blanks].contains('\t') { usize::MAX } else { blanks }
}

/// A line that begins with a fence.
struct Fence<'t> {
    is_tilde: bool,
    length: usize,
    /// What stands after it, such as the language.
    info: &'t str,
}

impl<'t> Fence<'t> {
    fn of(line: &'t str) -> Option<Fence<'t>> {
        let bare = line.trim_start_matches([' ', '\t']);
        let mark = bare.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = bare.trim_start_matches(mark);
        let length = bare.len() - info.len();
        let fence = Fence { is_tilde: mark == '~', length, info: info.trim_matches([' ', '\t']) };
        (length >= 3).then_some(fence)
    }

    /// The name of a language is all that may follow: more could be changed where it is written.
    fn may_open(&self, line: &str) -> bool {
        let is_name = |c: char| c.is_ascii_alphabetic() || "+#-".contains(c);
        self.info.chars().all(is_name) && escaped(line, "") == line
    }

    fn closes(&self, open: &Fence<'_>) -> bool {
        self.is_tilde == open.is_tilde && self.length >= open.length && self.info.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_that_its_text_closes_is_code() {
        let of = |text: &str| {
            let lines: Vec<&str> = text.split('\n').collect();
            fenced(&lines).iter().map(|is_code| if *is_code { 'c' } else { '.' }).collect::<String>()
        };
        for (text, expected) in [
            ("Ran\n```sh\nmake\n```\nthen", ".ccc."),
            ("Ran\n~~~\nmake\n~~~", ".ccc"),
            ("Ran\n```sh\nmake", "..."),
            ("A\n```\nx\n```\nB\n```\ny\n```", ".ccc.ccc"),
            ("A\n````md\n```\nx\n```\n````", ".ccccc"),
            ("A\n````\nx\n```\ny", "....."),
            ("A\n```\nx\n~~~\ny", "....."),
            ("A\n~~~\n```\nx\n```", "..ccc"),
            // A reader of Markdown may see another fence in these.
            ("```\nx\n```", "..."),
            ("A\n```\nx\n  ```\n```", "....."),
            ("A\n\t```\nx\n\t```", "...."),
            ("<div>\n```\n\n```", "...."),
            ("A\n``` a`b\nx\n```", "...."),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }
}
