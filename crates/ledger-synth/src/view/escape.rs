//! Escapes for `current.md`: no value can pass for structure, or hide what follows it.

use crate::section::Section;

/// The position of a line, which decides what it could be mistaken for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LinePosition {
    /// After a marker or a key.
    Inline,
    /// In a list whose other items may have keys.
    Mixed,
    /// After the indentation of a further line.
    Continuation,
    /// At the left margin, where a line of our own may follow that begins with `… `.
    Margin,
}

/// How the lines of a text are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    AsIs,
    /// With commits as code, and HTML as text.
    Marked,
}

impl TextStyle {
    /// As in the seed if all of the page is from one agent and one day.
    pub fn of_page(is_of_one: bool) -> TextStyle {
        if is_of_one { TextStyle::AsIs } else { TextStyle::Marked }
    }
}

impl LinePosition {
    /// Whether a line that begins like this would be structure here and needs a backslash.
    pub fn is_structure(self, style: TextStyle, bare: &str) -> bool {
        let may_divide = match self {
            LinePosition::Inline => style == TextStyle::Marked,
            LinePosition::Mixed => false,
            LinePosition::Continuation | LinePosition::Margin => true,
        };
        ["#", "---", "===", "```", "~~~"].iter().any(|mark| bare.starts_with(mark))
            || (self == LinePosition::Mixed && bare.starts_with("**") && bare.contains(":**"))
            || (may_divide && ["***", "___"].iter().any(|mark| bare.starts_with(mark)))
            || (self == LinePosition::Continuation && style == TextStyle::AsIs && is_html(bare))
            || (self == LinePosition::Margin
                && (bare.starts_with("- ") || bare.starts_with("… ") || register(bare).is_some()))
    }
}

/// Whether a line that begins like this is HTML, which could hide the text after it.
pub fn is_html(bare: &str) -> bool {
    bare.strip_prefix('<').is_some_and(|rest| rest.starts_with(|c: char| c.is_alphabetic() || "/!?".contains(c)))
}

/// Writes a line so that it is no structure.
pub fn guarded(line: &str, place: LinePosition, style: TextStyle) -> String {
    let line = escaped(line, "");
    let at = line.len() - line.trim_start_matches([' ', '\t']).len();
    if !place.is_structure(style, line[at..].trim_start_matches('\\')) {
        return line;
    }
    format!("{}\\{}", &line[..at], &line[at..])
}

/// Escapes the characters that a terminal or a reader would not show, and those in `more`, and puts a backslash
/// before a comment that would hide the text after it. The tests prove that this is reversible.
pub fn escaped(text: &str, more: &str) -> String {
    let is_hidden = |c: char| (c.is_control() && c != '\t') || is_bidi(c) || more.contains(c);
    if !text.contains(is_hidden) && !text.contains("\\u{") && !text.contains("<!--") {
        return text.to_owned();
    }
    let (mut out, mut slashes) = (String::with_capacity(text.len() + 8), 0);
    for (at, c) in text.char_indices() {
        if c == '\\' {
            slashes += 1;
            continue;
        }
        let is_escape = slashes > 0 && text[at..].starts_with("u{");
        if is_hidden(c) {
            // A backslash before an escape would be read as a part of it.
            out.push_str(&"\\u{5c}".repeat(slashes));
            out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
        } else {
            out.push_str(&"\\".repeat(slashes + usize::from(is_escape || text[at..].starts_with("<!--"))));
            out.push(c);
        }
        slashes = 0;
    }
    out + &"\\".repeat(slashes)
}

/// Whether a character changes the direction of a line (Unicode UAX #9) or breaks it.
pub fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Parses a line that shows a register, such as `**Now:** text`.
pub fn register(line: &str) -> Option<(Section, &str)> {
    let inside = line.strip_prefix("**")?;
    [Section::Goal, Section::Now].into_iter().find_map(|section| {
        let text = inside.strip_prefix(section.title())?.strip_prefix(":** ")?;
        Some((section, text))
    })
}
