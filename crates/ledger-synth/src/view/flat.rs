//! The pages of format 1: every text once, in bytewise order.

use super::contents::{SectionContent, View};
use super::escape::{LinePosition, escaped};
use super::pieces::PageOut;
use super::write::{TextStyle, bullet, heading, pair, reached, value};

/// Renders the sections.
pub fn sections(out: &mut PageOut<'_>, view: &View<'_>) {
    for (section, content) in &view.sections {
        self::section(out, section.title(), content);
    }
    for other in &view.others {
        heading(out.piece(), &escaped(other.key, ""));
        if let Some(told) = other.text {
            value(out.piece(), told.text, LinePosition::Paragraph, TextStyle::AsIs, "");
        }
        other.items.iter().for_each(|item| bullet(out.piece(), item.text, LinePosition::Mixed, TextStyle::AsIs, ""));
        other.pairs.iter().for_each(|(key, told)| pair(out.piece(), key, told.text, TextStyle::AsIs, ""));
    }
}

fn section(out: &mut PageOut<'_>, title: &str, content: &SectionContent<'_>) {
    match content {
        SectionContent::Register(None) => {}
        SectionContent::Register(Some(told)) => register(out, title, told.text),
        SectionContent::List(items) if !items.is_empty() => {
            heading(out.piece(), title);
            items.iter().for_each(|told| bullet(out.piece(), told.text, LinePosition::Inline, TextStyle::AsIs, ""));
        }
        SectionContent::Map(pairs) if !pairs.is_empty() => {
            heading(out.piece(), title);
            pairs.iter().for_each(|(key, told)| pair(out.piece(), key, told.text, TextStyle::AsIs, ""));
        }
        SectionContent::Checkpoints(all) if !all.is_empty() => {
            heading(out.piece(), title);
            all.iter().for_each(|one| reached(out.piece(), one, TextStyle::AsIs));
        }
        SectionContent::List(_) | SectionContent::Map(_) | SectionContent::Checkpoints(_) => {}
    }
}

fn register(out: &mut PageOut<'_>, title: &str, text: &str) {
    out.piece().push_str(&format!("\n**{title}:** "));
    value(out.piece(), text, LinePosition::Inline, TextStyle::AsIs, "");
}
