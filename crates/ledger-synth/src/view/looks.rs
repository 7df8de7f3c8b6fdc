//! How the texts of a page for readers look.

use super::escape::LinePosition;
use super::write::TextStyle;

/// As in the seed if all of the page is from one agent and one day, otherwise marked.
pub fn looks(is_of_one: bool) -> (LinePosition, TextStyle) {
    match is_of_one {
        true => (LinePosition::Inline, TextStyle::AsIs),
        false => (LinePosition::Told, TextStyle::Marked),
    }
}
