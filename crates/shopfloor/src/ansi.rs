//! Text with the colours that a terminal shows, as escape sequences, in styled pieces.

use ratatui_core::style::{Color, Modifier, Style};

/// A line in pieces.
pub type StyledLine = Vec<(String, Style)>;

/// The lines of a text whose only escape sequences set colours. A colour goes on over line ends.
pub fn lines(text: &str) -> Vec<StyledLine> {
    let mut style = Style::new();
    text.lines().map(|line| pieces(line, &mut style)).collect()
}

fn pieces(line: &str, style: &mut Style) -> StyledLine {
    let mut parts = line.split("\u{1b}[");
    let mut pieces = vec![(parts.next().unwrap_or_default().to_owned(), *style)];
    for part in parts {
        let (codes, text) = part.split_once('m').unwrap_or(("", part));
        let mut codes = codes.split([';', ':']).map(|code| code.parse::<u8>().unwrap_or(0));
        while let Some(code) = codes.next() {
            *style = with(*style, code, &mut codes);
        }
        pieces.push((text.to_owned(), *style));
    }
    pieces.retain(|(text, _)| !text.is_empty());
    pieces
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
    if let Some((_, modifier)) = MODIFIERS.iter().find(|(set, _)| *set == code) {
        return style.add_modifier(*modifier);
    }
    match code {
        0 => Style::new(),
        22 => style.remove_modifier(Modifier::BOLD | Modifier::DIM),
        23..=29 => match MODIFIERS.iter().find(|(set, _)| *set + 20 == code) {
            Some((_, modifier)) => style.remove_modifier(*modifier),
            None => style,
        },
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
        let text: Vec<_> =
            read.iter().map(|line| line.iter().map(|(text, _)| text.as_str()).collect::<String>()).collect();
        assert_eq!(text, ["ab", "cdefgh"]);
        assert_eq!(read[0][1].1, red.add_modifier(Modifier::BOLD));
        assert_eq!(read[1][0].1, read[0][1].1);
        assert_eq!(read[1][1].1, red.remove_modifier(Modifier::BOLD | Modifier::DIM));
        assert_eq!(read[1][2].1, Style::new());
        assert_eq!(read[1][3].1, Style::new().fg(Color::Indexed(200)).bg(Color::Rgb(1, 2, 3)));
        assert_eq!((read[1][4].1, read[1][5].1.fg), (Style::new(), Some(Color::Indexed(15))));
        assert_eq!(lines("\u{1b}[38m\u{1b}[").len(), 1);
    }
}
