//! Reads the rendered ledger back: nothing in a value can pass for structure.

use proptest::prelude::*;

use super::super::escape::{is_bidi, register};
use super::super::footer;
use super::*;
use crate::canonical::CanonicalEvent;
use crate::entry::Entry;
use crate::event::LedgerEvent;
use crate::front::Meta;
use crate::instant;
use crate::plan::{Filter, join};
use crate::section::{SectionName, Shape};

/// The reverse of [`escaped`].
fn plain(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let slashes = rest[at..].bytes().take_while(|b| *b == b'\\').count();
        let after = &rest[at + slashes..];
        let hex = after.strip_prefix("u{").and_then(|inside| inside.split_once('}'));
        let escape = hex.and_then(|(hex, rest)| Some((char::from_u32(u32::from_str_radix(hex, 16).ok()?)?, rest)));
        match escape {
            Some((c, next)) if slashes == 1 => {
                out.push(c);
                rest = next;
                continue;
            }
            _ if after.starts_with("u{") || after.starts_with("<!--") => out.push_str(&"\\".repeat(slashes - 1)),
            _ => out.push_str(&"\\".repeat(slashes)),
        }
        rest = after;
    }
    out + rest
}

/// The reverse of [`guarded`].
fn unguarded(line: &str, position: LinePosition) -> String {
    let at = line.len() - line.trim_start_matches([' ', '\t']).len();
    let bare = line[at..].trim_start_matches('\\');
    if bare.len() < line.len() - at && position.is_structure(bare) {
        return plain(&format!("{}{}", &line[..at], &line[at + 1..]));
    }
    plain(line)
}

/// One thing that a rendered ledger says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The name under which the section is merged.
    pub section: SectionName<'static>,
    pub key: Option<String>,
    pub text: String,
}

/// Reads a rendered ledger back.
pub fn read(text: &str) -> Vec<Read> {
    let text = text.replace("\r\n", "\n");
    let end = text.rfind(FOOTER).unwrap_or(text.len());
    let (mut all, mut section): (Vec<Read>, _) = (Vec::new(), None::<SectionName<'static>>);
    let mut blank = 0;
    for line in text[..end].lines() {
        if line.is_empty() {
            blank += 1;
            continue;
        }
        let gap = std::mem::take(&mut blank);
        if let Some(title) = line.strip_prefix("### ") {
            section = Some(SectionName::from_spelling(plain(title).into()));
        } else if let Some(more) = line.strip_prefix("  ") {
            if let Some(last) = all.last_mut() {
                last.text.push_str(&"\n".repeat(gap + 1));
                last.text.push_str(&unguarded(more, LinePosition::Continuation));
            }
        } else if let Some((section, text)) = register(line) {
            all.push(Read { section: section.into(), key: None, text: unguarded(text, LinePosition::Inline) });
        } else if let Some(section) = &section {
            let bullet = line.strip_prefix("- ");
            let is_list = section.shape() == Some(Shape::List);
            let pair = bullet.and_then(|item| item.strip_prefix("**")).and_then(|item| item.split_once(":**"));
            let (key, text, place) = match (pair.filter(|_| !is_list), bullet) {
                (Some((key, value)), _) => {
                    (Some(plain(key)), value.strip_prefix(' ').unwrap_or(value), LinePosition::Inline)
                }
                (None, Some(item)) => (None, item, if is_list { LinePosition::Inline } else { LinePosition::Mixed }),
                (None, None) => (None, line, LinePosition::Paragraph),
            };
            all.push(Read { section: section.clone(), key, text: unguarded(text, place) });
        }
    }
    all
}

fn nasty() -> impl Strategy<Value = String> {
    let pieces = [
        "# h",
        "### Decisions",
        "---",
        "_synthesized:",
        "- ",
        "- x",
        "**Now:** x",
        "**Goal:** ",
        "**k:** v",
        ":**",
        "```",
        "~~~",
        "===",
        "***",
        "___",
        "<style>",
        "<!x",
        "</p",
        "<!--",
        "\\<!--",
        "\\",
        "\\u{1b}",
        "\u{1b}[2J",
        "\u{202e}",
        "\u{0}x",
        "\n",
        "\n\n",
        "\n  ",
        "  ",
        "\t",
        "é",
        "\u{2028}",
        "x",
        ": ",
        " (",
        ")",
        ", ",
        "Phase 1",
        "\r",
        "\\#",
        "u{a}",
        "-->",
        "\u{feff}",
    ];
    prop::collection::vec(prop_oneof![prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), ".{0,4}"], 0..6)
        .prop_map(|pieces| pieces.concat())
}

fn event_of(entries: Vec<Entry<'static>>) -> LedgerEvent<'static> {
    let ts = instant::parse("2026-01-10T13:00:00Z").expect("an instant");
    LedgerEvent::new(Meta { ts, agent: "a, (b)".into(), branch: None, kind: None, reason: None, title: None }, entries)
}

fn rendered(event: &LedgerEvent<'_>) -> String {
    let records = [CanonicalEvent::encode(event)];
    let join = join(&records, &[], &Filter::default());
    View::new(&join, None).render(0, None)
}

proptest! {
    #[test]
    fn escapes_are_reversible(text in nasty()) {
        prop_assert_eq!(plain(&escaped(&text, "(")), text);
    }

    /// Every entry comes back under its own section, and nothing else does.
    #[test]
    fn no_value_can_pass_for_structure(
        registers in prop::collection::btree_map(prop::sample::select(vec!["now", "goal", "mood"]), nasty(), 0..3),
        items in prop::collection::btree_set((prop::sample::select(vec!["this_session", "open_questions", "blockers", "mood"]), nasty()), 0..5),
        pairs in prop::collection::btree_map((prop::sample::select(vec!["decisions", "env", "mood"]), nasty()), nasty(), 0..4),
    ) {
        let mut entries: Vec<Entry<'static>> = Vec::new();
        let mut want: Vec<Read> = Vec::new();
        for (section, text) in registers.into_iter().filter(|(_, text)| !text.is_empty()) {
            want.push(Read { section: section.into(), key: None, text: text.clone() });
            entries.push(Entry::Text { section: section.into(), text: text.into() });
        }
        for (section, text) in items.into_iter().filter(|(_, text)| !text.is_empty()) {
            want.push(Read { section: section.into(), key: None, text: text.clone() });
            entries.push(Entry::Item { section: section.into(), text: text.into() });
        }
        for ((section, key), value) in pairs {
            want.push(Read { section: section.into(), key: Some(key.clone()), text: value.clone() });
            entries.push(Entry::Pair { section: section.into(), key: key.into(), value: Some(value.into()) });
        }
        let text = rendered(&event_of(entries));
        let mut found = read(&text);
        let order = |read: &Read| (read.section.clone(), read.key.clone(), read.text.clone());
        found.sort_by_key(order);
        want.sort_by_key(order);
        prop_assert_eq!(found, want, "{}", text);
        let hidden = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_bidi(c);
        prop_assert!(!text.contains(hidden));
        prop_assert!(footer(&text).is_some_and(|footer| footer.is_intact));
    }
}
