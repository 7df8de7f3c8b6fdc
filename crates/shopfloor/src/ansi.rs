//! Text with the colours that a terminal shows, as escape sequences, in styled pieces.

use ratatui_core::style::{Color, Modifier, Style};
use shopfloor_core::text::printable;

/// A line in pieces.
pub type StyledLine = Vec<(String, Style)>;

/// The lines of a screen. A colour goes on over line ends; sequences that set no colour are left out.
pub fn lines(text: &str) -> Vec<StyledLine> {
    let mut style = Style::new();
    text.lines().map(|line| pieces(line, &mut style)).collect()
}

fn pieces(line: &str, style: &mut Style) -> StyledLine {
    let mut parts = line.split('\u{1b}');
    let mut pieces = vec![(parts.next().unwrap_or_default(), *style)];
    for part in parts {
        let is_end = |c: char| ('@'..='~').contains(&c);
        let (sequence, text) = match part.strip_prefix('[') {
            Some(rest) => rest.split_at(rest.find(is_end).map_or(rest.len(), |end| end + 1)),
            // The address of a link; it ends in a bell, or in an escape and a backslash.
            None => {
                ("", part.split_once('\u{7}').map_or(part.strip_prefix('\\').unwrap_or_default(), |(_, text)| text))
            }
        };
        if let Some(codes) = sequence.strip_suffix('m') {
            let mut codes = codes.split([';', ':']).map(|code| code.parse::<u8>().unwrap_or(0));
            while let Some(code) = codes.next() {
                *style = with(*style, code, &mut codes);
            }
        }
        pieces.push((text, *style));
    }
    // What switches to characters for lines is no text.
    let shown = |text: &str| printable(&text.replace(['\u{e}', '\u{f}'], ""));
    pieces.into_iter().map(|(text, style)| (shown(text), style)).filter(|(text, _)| !text.is_empty()).collect()
}

/// The style after a code, which may take more codes.
fn with(style: Style, code: u8, more: &mut impl Iterator<Item = u8>) -> Style {
    const MODIFIERS: [(u8, Modifier); 6] = [
        (1, Modifier::BOLD),
        (2, Modifier::DIM),
        (3, Modifier::ITALIC),
        (4, Modifier::UNDERLINED),
        (7, Modifier::REVERSED),
        (9, Modifier::CROSSED_OUT),
    ];
    let modifier = |code: u8| MODIFIERS.iter().find(|(set, _)| *set == code).map(|(_, modifier)| *modifier);
    match code {
        0 => Style::new(),
        1..=9 => modifier(code).map_or(style, |modifier| style.add_modifier(modifier)),
        22 => style.remove_modifier(Modifier::BOLD | Modifier::DIM),
        23..=29 => modifier(code - 20).map_or(style, |modifier| style.remove_modifier(modifier)),
        30..=37 => style.fg(Color::Indexed(code - 30)),
        40..=47 => style.bg(Color::Indexed(code - 40)),
        90..=97 => style.fg(Color::Indexed(code - 82)),
        100..=107 => style.bg(Color::Indexed(code - 92)),
        38 => extended(more).map_or(style, |color| style.fg(color)),
        48 => extended(more).map_or(style, |color| style.bg(color)),
        39 => style.fg(Color::Reset),
        49 => style.bg(Color::Reset),
        _ => style,
    }
}

fn extended(more: &mut impl Iterator<Item = u8>) -> Option<Color> {
    match more.next()? {
        5 => Some(Color::Indexed(more.next()?)),
        2 => Some(Color::Rgb(more.next()?, more.next()?, more.next()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_from_their_sequences() {
        let red = Style::new().fg(Color::Indexed(1));
        let read =
            lines("a\u{1b}[31;1mb\nc\u{1b}[22md\u{1b}[0me\u{1b}[38;5;200;48;2;1;2;3mf\u{1b}[mg\u{1b}[97mh\u{1b}[39m");
        let text = |read: &[StyledLine]| -> Vec<String> {
            read.iter().map(|line| line.iter().map(|(text, _)| text.as_str()).collect()).collect()
        };
        assert_eq!(text(&read), ["ab", "cdefgh"]);
        assert_eq!(read[0][1].1, red.add_modifier(Modifier::BOLD));
        assert_eq!(read[1][0].1, read[0][1].1);
        assert_eq!(read[1][1].1, red.remove_modifier(Modifier::BOLD | Modifier::DIM));
        assert_eq!(read[1][2].1, Style::new());
        assert_eq!(read[1][3].1, Style::new().fg(Color::Indexed(200)).bg(Color::Rgb(1, 2, 3)));
        assert_eq!((read[1][4].1, read[1][5].1.fg), (Style::new(), Some(Color::Indexed(15))));
        // What a terminal would obey.
        let hostile =
            "a\u{1b}[2Jb\u{1b}]8;;http://x\u{7}c\u{1b}]0;t\u{1b}\\d\u{e}e\u{9b}2J\u{1b}[31\n\u{1b}[38m\u{1b}[\u{1b}";
        assert_eq!(text(&lines(hostile)), ["abcde\\u{9b}2J", ""]);
    }
}
