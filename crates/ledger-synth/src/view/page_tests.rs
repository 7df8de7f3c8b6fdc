//! Reads the rendered ledger back: nothing in a value can pass for structure.

use proptest::prelude::*;

use super::super::escape::{LinePosition, TextStyle, is_bidi, register};
use super::super::inline_markup::{has_plain_code, without_commits, without_tags};
use super::*;
use crate::entry::Entry;
use crate::event::LedgerEvent;
use crate::event_time;
use crate::front::Meta;
use crate::joined_ledger::Join;
use crate::plan::{Filter, join_all};
use crate::section::{Section, SectionName, Shape};
use crate::stored_event::EventRecord;

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
fn unguarded(line: &str, position: LinePosition, style: TextStyle) -> String {
    let at = line.len() - line.trim_start_matches([' ', '\t']).len();
    let bare = line[at..].trim_start_matches('\\');
    if bare.len() < line.len() - at && position.is_structure(style, bare) {
        return plain(&format!("{}{}", &line[..at], &line[at + 1..]));
    }
    plain(line)
}

/// One thing that a rendered ledger says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The name under which the section is merged.
    pub section: SectionName,
    pub key: Option<String>,
    pub text: String,
}

/// A text as a page writes it.
struct Written {
    section: SectionName,
    key: Option<String>,
    place: LinePosition,
    is_marked: bool,
    /// Each line, and how many blank lines stand before it.
    lines: Vec<(usize, String)>,
}

impl Written {
    fn read(self) -> Read {
        let Written { section, key, place, is_marked, lines } = self;
        let mut plain: Vec<String> = Vec::new();
        for (at, (gap, line)) in lines.iter().enumerate() {
            let place = if at == 0 { place } else { LinePosition::Continuation };
            let style = TextStyle::of_page(!is_marked);
            plain.extend(std::iter::repeat_n(String::new(), *gap));
            let line = unguarded(line, place, style);
            plain.push(if is_marked { without_commits(&line) } else { line });
        }
        if is_marked {
            let is_plain = has_plain_code(plain.iter().map(String::as_str));
            plain.iter_mut().for_each(|line| *line = without_tags(line, is_plain));
        }
        Read { section, key, text: plain.join("\n") }
    }
}

/// A reader of a rendered ledger.
#[derive(Default)]
struct Reader {
    all: Vec<Written>,
    section: Option<SectionName>,
    is_grouped: bool,
    /// The entries that the page counts and does not show.
    left: usize,
}

impl Reader {
    fn take(&mut self, section: SectionName, key: Option<String>, place: LinePosition, line: &str) {
        // Who said it and when ends the first line.
        let is_said = matches!(section.section(), Some(Section::Decisions | Section::OpenQuestions));
        let line = if is_said && self.is_grouped { line.rsplit_once(" (").expect("who said it").0 } else { line };
        let line = if key.is_some() { line.strip_prefix(' ').unwrap_or(line) } else { line };
        let lines = vec![(0, line.to_owned())];
        self.all.push(Written { section, key, place, is_marked: self.is_grouped, lines });
    }

    fn line(&mut self, line: &str, gap: usize) {
        if let Some(title) = line.strip_prefix("### ") {
            self.section = Some(SectionName::from_spelling(plain(title)));
        } else if let Some(more) = line.strip_prefix("  ") {
            if let Some(last) = self.all.last_mut() {
                last.lines.push((gap, more.to_owned()));
            }
        } else if let Some((section, text)) = register(line) {
            self.take(section.into(), None, LinePosition::Inline, text);
        } else if let Some(count) = line.strip_prefix("… ") {
            if count.starts_with("Now is by ") || count.starts_with("`ledger-synth explain ID`") {
                return;
            }
            let count =
                count.split_once(" more").filter(|(_, rest)| rest.contains(": `ledger-synth ")).expect("a count").0;
            self.left += count.parse::<usize>().expect("a count");
        } else if let Some(section) = self.section.clone() {
            self.entry(line, section);
        } else if let Some((who, text)) = line.strip_prefix("- **").and_then(|line| line.split_once("): ")) {
            assert!(self.is_grouped && who.contains("** ("), "{line}");
            self.take(Section::Now.into(), None, LinePosition::Inline, text);
        }
    }

    fn entry(&mut self, line: &str, section: SectionName) {
        let bullet = line.strip_prefix("- ");
        // A day, a fold, or an agent.
        if bullet.is_none() && section == Section::ThisSession && self.is_grouped {
            return;
        }
        let is_list = section.shape() == Some(Shape::List);
        let pair = bullet.and_then(|item| item.strip_prefix("**")).and_then(|item| item.split_once(":**"));
        let (key, text, place) = match (pair.filter(|_| !is_list), bullet) {
            (Some((key, value)), _) => (Some(plain(key)), value, LinePosition::Inline),
            (None, Some(item)) => (None, item, if is_list { LinePosition::Inline } else { LinePosition::Mixed }),
            (None, None) => (None, line, LinePosition::Margin),
        };
        self.take(section, key, place, text);
    }
}

/// Reads a rendered ledger back, and how many entries it only counts.
fn read(text: &str, is_grouped: bool) -> (Vec<Read>, usize) {
    let text = text.replace("\r\n", "\n");
    let end = text.rfind(FOOTER).unwrap_or(text.len());
    let mut reader = Reader { is_grouped, ..Reader::default() };
    let mut blank = 0;
    for line in text[..end].lines() {
        match line {
            "" => blank += 1,
            line => reader.line(line, std::mem::take(&mut blank)),
        }
    }
    (reader.all.into_iter().map(Written::read).collect(), reader.left)
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
        "a <details> `b",
        "`<T>` ",
        "3f2a9c01",
        "\\<",
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
        "… ",
        "… `ledger-synth explain ID`",
        "… Now is by x",
    ];
    prop::collection::vec(prop_oneof![prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), ".{0,4}"], 0..6)
        .prop_map(|pieces| pieces.concat())
}

fn event_of(agent: &'static str, ts: &str, entries: Vec<Entry>) -> LedgerEvent {
    let ts = event_time::parse(ts).expect("an instant");
    let branch = Some("feat/`x`, (y)".into());
    LedgerEvent::new(Meta { ts, agent: agent.into(), branch, kind: None, reason: None, title: None }, entries)
}

fn records(events: &[LedgerEvent]) -> Vec<EventRecord> {
    events.iter().cloned().map(EventRecord::new).collect()
}

fn whole(records: &[EventRecord]) -> Join<'_> {
    join_all(records.iter(), &[], &Filter::default())
}

/// Reads the page of these events back.
fn check(events: &[LedgerEvent], want: &[Read]) -> Result<(), TestCaseError> {
    let records = records(events);
    let join = whole(&records);
    let view = View::new(&join, None);
    let order = |read: &Read| (read.section.clone(), read.key.clone(), read.text.clone());
    let mut want = want.to_vec();
    want.sort_by_key(order);
    let text = view.render(0, None);
    let (mut found, left) = read(&text, !view.is_of_one);
    found.sort_by_key(order);
    prop_assert_eq!(&found, &want, "{}", text);
    prop_assert_eq!(left, 0);
    let hidden = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_bidi(c);
    prop_assert!(!text.contains(hidden));
    prop_assert!(footer(&text).is_some_and(|footer| footer.is_intact && footer.format == FORMAT));
    Ok(())
}

proptest! {
    #[test]
    fn escapes_are_reversible(text in nasty()) {
        prop_assert_eq!(plain(&escaped(&text, "(")), text);
    }

    /// Every entry comes back under its own section, and nothing else does, in a page of one agent and in one of two.
    #[test]
    fn no_value_can_pass_for_structure(
        registers in prop::collection::btree_map(prop::sample::select(vec!["now", "goal", "mood"]), nasty(), 0..3),
        items in prop::collection::btree_set((prop::sample::select(vec!["this_session", "open_questions", "blockers", "mood"]), nasty()), 0..5),
        pairs in prop::collection::btree_map((prop::sample::select(vec!["decisions", "env", "mood"]), nasty()), nasty(), 0..4),
        now in nasty(),
    ) {
        let mut entries: Vec<Entry> = Vec::new();
        let mut want: Vec<Read> = Vec::new();
        for (section, text) in registers.into_iter().filter(|(_, text)| !text.is_empty()) {
            want.push(Read { section: section.into(), key: None, text: text.clone() });
            entries.push(Entry::Text { section: section.into(), text });
        }
        for (section, text) in items.into_iter().filter(|(_, text)| !text.is_empty()) {
            want.push(Read { section: section.into(), key: None, text: text.clone() });
            entries.push(Entry::Item { section: section.into(), text });
        }
        for ((section, key), value) in pairs {
            want.push(Read { section: section.into(), key: Some(key.clone()), text: value.clone() });
            entries.push(Entry::Pair { section: section.into(), key, value: Some(value) });
        }
        let one = event_of("a, (b)** x", "2026-01-10T13:00:00Z", entries);
        check(std::slice::from_ref(&one), &want)?;
        // The text of another agent's `now`.
        let other = vec![Entry::Text { section: Section::Now.into(), text: now.clone() }];
        let other = event_of("z", "2026-01-11T13:00:00Z", if now.is_empty() { Vec::new() } else { other });
        let records = records(&[one, other]);
        let text = View::new(&whole(&records), None).render(0, None);
        if !now.is_empty() {
            want.push(Read { section: Section::Now.into(), key: None, text: now });
        }
        let order = |read: &Read| (read.section.clone(), read.key.clone(), read.text.clone());
        let (mut found, left) = read(&text, true);
        found.sort_by_key(order);
        want.sort_by_key(order);
        prop_assert_eq!(found, want, "{}", text);
        prop_assert_eq!(left, 0);
    }
}

/// A page of a thousand events is limited; what it shows and what it counts is everything.
#[test]
fn a_large_page_counts_what_it_leaves_out() {
    let said = |n: usize| {
        let item = |section: Section| Entry::Item {
            section: section.into(),
            text: format!("{} {n} {}", section.word(), "x".repeat(90)),
        };
        let value = Some(format!("value {n} {}", "x".repeat(90)));
        vec![
            item(Section::ThisSession),
            item(Section::OpenQuestions),
            Entry::Pair { section: Section::Decisions.into(), key: format!("key {n}"), value },
        ]
    };
    let agents = ["toast", "waffle", "crisp", "rusk"];
    let event =
        |n: usize| event_of(agents[n % 4], &format!("2026-01-{:02}T{:02}:00:00Z", 1 + n / 24 % 28, n % 24), said(n));
    let records: Vec<_> = (0..1000).map(|n| EventRecord::new(event(n))).collect();
    let text = View::new(&whole(&records), None).render(0, None);
    let (found, left) = read(&text, true);
    assert!(text.len() < 60 << 10, "{}", text.len());
    assert_eq!(found.len() + left, 3000);
    let count = |section: Section| found.iter().filter(|read| read.section == section).count();
    let counts = [Section::ThisSession, Section::OpenQuestions, Section::Decisions].map(count);
    assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
    // The newest are shown.
    assert!(found.iter().any(|read| read.text.starts_with("this_session 671 ")), "{text}");
}
