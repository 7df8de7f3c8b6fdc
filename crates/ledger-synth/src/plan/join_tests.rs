//! The laws of the join, from events to the rendered ledger. The generators have few instants, agents and values, so
//! that ties are the rule.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::entry::{Checkpoint, RETRACT};
use crate::event::LedgerEvent;
use crate::front::Meta;
use crate::section::{Section, SectionName};
use crate::view::View;
use crate::{canonical, event_file, event_time, snapshot};

const INSTANTS: [&str; 6] = [
    "2026-01-10T13:00:00Z",
    "2026-01-10T13:00:00.000Z",
    "2026-01-10t18:30:00+05:30",
    "2026-01-10T13:00:00.5Z",
    "2026-01-11 00:00:00Z",
    "2026-01-09T23:59:59.999999999-00:00",
];

const TEXTS: [&str; 14] = [
    "a",
    "A",
    "b: c",
    "# x",
    "---",
    "use \"x\" here: now",
    "`foo` removed",
    "@me",
    "issue #12",
    "~",
    "two\nlines",
    "<!-- x",
    "é\u{202e}",
    "**k:** v",
];

const KEYS: [&str; 4] = ["k", "dash-key", "with blank", "k: v"];

pub fn entry() -> impl Strategy<Value = Entry> {
    let text = || prop::sample::select(&TEXTS[..]).prop_map(str::to_owned);
    let key = || prop::sample::select(&KEYS[..]).prop_map(str::to_owned);
    let at = prop::sample::select(&["", "2026-01-10T14:00:00Z", "2026-01-10T13:00:00Z", "noon"][..]);
    prop_oneof![
        (prop::sample::select(&["now", "goal", "mood"][..]), text())
            .prop_map(|(section, text)| Entry::Text { section: section.into(), text }),
        (prop::sample::select(&["this_session", "open_questions", "resolved", "blockers"][..]), text())
            .prop_map(|(section, text)| Entry::Item { section: section.into(), text }),
        (prop::sample::select(&["decisions", "env"][..]), key(), prop::option::weighted(0.8, text()))
            .prop_map(|(section, key, value)| Entry::Pair { section: section.into(), key, value }),
        (prop::sample::select(&["1", "2", "10", "1a"][..]), prop::sample::select(&["x", "y"][..]), at).prop_map(
            |(phase, status, updated)| Entry::from(Checkpoint {
                phase: phase.into(),
                status: status.into(),
                updated: updated.into(),
                more: "".into(),
            })
        ),
    ]
}

pub fn event() -> impl Strategy<Value = LedgerEvent> {
    let agent = prop::sample::select(&["alpha", "zeta", "m n"][..]);
    let branch = prop::option::of(prop::sample::select(&["main", "feat/x"][..]));
    let title = prop::option::of(prop::sample::select(&["t", "a longer title: of more than forty characters"][..]));
    (prop::sample::select(&INSTANTS[..]), agent, branch, title, prop::collection::vec(entry(), 0..6)).prop_map(
        |(ts, agent, branch, title, entries)| {
            let meta = Meta {
                ts: event_time::parse(ts).expect("an instant"),
                agent: agent.into(),
                branch: branch.map(str::to_owned),
                kind: None,
                reason: None,
                title: title.map(str::to_owned),
            };
            LedgerEvent::new(meta, entries)
        },
    )
}

fn records(events: &[LedgerEvent]) -> Vec<EventRecord> {
    events.iter().cloned().map(EventRecord::new).collect()
}

fn whole<'a>(records: &'a [EventRecord], snapshots: &'a [Snapshot]) -> Join<'a> {
    join_all(records.iter(), &snapshots.iter().collect::<Vec<_>>(), &Filter::default())
}

/// What a reader sees: the file and the banner's lines.
fn shown(records: &[EventRecord], snapshots: &[String]) -> String {
    seen(&whole(records, &parsed(snapshots)))
}

fn parsed(snapshots: &[String]) -> Vec<Snapshot> {
    snapshots.iter().map(|text| snapshot::parse(text.as_bytes()).expect("a snapshot")).collect()
}

/// The page, everything that it does not show, and the banner's lines of a join.
fn seen(join: &Join<'_>) -> String {
    let lines: Vec<_> = join.events.values().map(|event| crate::view::event_line(event)).collect();
    format!("{}{}{lines:?}", page(join), snapshot::statements(join))
}

fn page(join: &Join<'_>) -> String {
    View::new(join, None).render(0, None)
}

fn folded(records: &[EventRecord], snapshots: &[String]) -> String {
    snapshot::render(&whole(records, &parsed(snapshots))).1
}

proptest! {
    #[test]
    fn order_and_repetition_change_nothing(
        events in prop::collection::vec(event(), 0..8),
        order in any::<prop::sample::Index>(),
        copies in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let all = records(&events);
        let want = shown(&all, &[]);
        let mut other = all.clone();
        if !all.is_empty() {
            other.rotate_left(order.index(all.len()));
            other.reverse();
            other.extend(copies.iter().map(|at| at.get(&all).clone()));
        }
        prop_assert_eq!(shown(&other, &[]), want);
    }

    /// The view is the same whatever is folded: any part, twice, overlapping, nested, in any order.
    #[test]
    fn folding_changes_nothing(
        events in prop::collection::vec(event(), 1..8),
        a in any::<u8>(),
        b in any::<u8>(),
        live in any::<u8>(),
    ) {
        let all = records(&events);
        let part = |mask: u8| -> Vec<EventRecord> {
            all.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1).map(|(_, record)| record.clone()).collect()
        };
        let want = shown(&all, &[]);
        let (one, two) = (folded(&part(a), &[]), folded(&part(b), &[]));
        let rest = part(!(a | b) | live);
        prop_assert_eq!(&shown(&rest, &[one.clone(), two.clone()]), &want);
        prop_assert_eq!(&shown(&rest, &[two.clone(), one.clone()]), &want);
        let both = folded(&[], &[one.clone(), two.clone()]);
        prop_assert_eq!(&shown(&rest, std::slice::from_ref(&both)), &want);
        prop_assert_eq!(&shown(&rest, &[both.clone(), one.clone()]), &want);
        let nested = folded(&rest, std::slice::from_ref(&both));
        prop_assert_eq!(&shown(&[], std::slice::from_ref(&nested)), &want);
        prop_assert_eq!(&shown(&all, &[nested.clone(), both, two]), &want);
        // The same set gives the same file, however it was folded.
        let again = folded(&all, &[nested.clone(), one]);
        let entries = |text: &str| text.lines().filter(|line| !line.starts_with("{\"snapshot\"")).skip(7).map(str::to_owned).collect::<Vec<_>>();
        prop_assert_eq!(entries(&again), entries(&nested));
    }

    #[test]
    fn a_snapshot_is_read_whole_or_not_at_all(events in prop::collection::vec(event(), 1..6), at in any::<prop::sample::Index>()) {
        let all = records(&events);
        let text = folded(&all, &[]);
        for spelt in [text.clone(), text.replace('\n', "\r\n"), format!("\u{feff}{}", text), format!("\n{}", text)] {
            let read = snapshot::parse(spelt.as_bytes()).expect("a snapshot");
            prop_assert!(text.contains(&read.content.to_string()));
            prop_assert_eq!(seen(&whole(&[], &[read])), shown(&all, &[]));
        }
        prop_assert!(snapshot::parse(&text.as_bytes()[..at.index(text.len())]).is_err());
        prop_assert!(snapshot::parse((text + "x\n").as_bytes()).is_err());
    }

    #[test]
    fn more_events_never_turn_anything_back(
        events in prop::collection::vec(event(), 1..8),
        more in event(),
    ) {
        let (few, mut all) = (records(&events), records(&events));
        all.push(EventRecord::new(more));
        let (few, all) = (whole(&few, &[]), whole(&all, &[]));
        prop_assert!(all.events.len() >= few.events.len() && all.latest() >= few.latest());
        for (name, section) in &few.sections {
            let grown = &all.sections[name];
            for (text, by) in &section.items {
                prop_assert!(grown.items[text].ts() >= by.ts());
            }
            for (key, quote) in &section.pairs {
                prop_assert!(grown.pairs[key].by.ts() >= quote.by.ts());
            }
            if let Some(quote) = &section.text {
                prop_assert!(grown.text.as_ref().is_some_and(|now| now.by.ts() >= quote.by.ts()));
            }
        }
    }

    /// Everything an event says is shown, beaten by something newer, or removed by name.
    #[test]
    fn nothing_is_lost(events in prop::collection::vec(event(), 1..8)) {
        let all = records(&events);
        let joined = whole(&all, &[]);
        let view = View::new(&joined, None);
        let newer = |event: &LedgerEvent, is_it: &dyn Fn(&Entry) -> bool| {
            let stamp = |event: &LedgerEvent| (event.meta.ts, event.meta.agent.to_string());
            events.iter().any(|other| stamp(other) >= stamp(event) && other.entries.iter().any(is_it))
        };
        let register = |section: &SectionName| match section.section() {
            Some(Section::Now) => view.now(),
            Some(Section::Goal) => view.goal,
            _ => None,
        };
        let list = |section: &SectionName| match section.section() {
            Some(Section::ThisSession) => view.this_session.clone(),
            Some(Section::OpenQuestions) => view.open_questions.clone(),
            _ => Vec::new(),
        };
        let other = |name: &SectionName| view.others.iter().find(|other| other.key == name.as_str());
        for event in &events {
            for entry in &event.entries {
                let is_there = match entry {
                    Entry::Text { section, text } => {
                        register(section).is_some_and(|quote| quote.text == text)
                            || other(section).is_some_and(|other| other.text.is_some_and(|quote| quote.text == text))
                            || newer(event, &|e| matches!(e, Entry::Text { section: s, text: t } if s == section && t != text))
                    }
                    Entry::Item { section, .. } if *section == Section::Resolved => true,
                    Entry::Item { section, text } => {
                        list(section).iter().any(|quote| quote.text == text)
                            || other(section).is_some_and(|other| other.items.iter().any(|quote| quote.text == text))
                            || (*section == Section::OpenQuestions
                                && newer(event, &|e| matches!(e, Entry::Item { section, text: t } if *section == Section::Resolved && t == text)))
                    }
                    Entry::Pair { section, key, value } => {
                        let pairs = match section.section() {
                            Some(Section::Decisions) => view.decisions.clone(),
                            _ => other(section).map_or(Vec::new(), |other| other.pairs.clone()),
                        };
                        let shown = pairs.iter().any(|(k, quote)| k == key && Some(quote.text) == value.as_deref());
                        shown || newer(event, &|e| matches!(e, Entry::Pair { section: s, key: k, value: v } if s == section && k == key && v != value))
                            || value.is_none()
                    }
                    Entry::Checkpoint(c) => {
                        view.checkpoints.iter().any(|reached| reached.checkpoint == &**c && reached.by.agent() == event.meta.agent)
                    }
                };
                prop_assert!(is_there, "{entry:?} of {event:?}");
            }
        }
        let shown: BTreeSet<_> = joined.events.keys().copied().collect();
        prop_assert_eq!(shown, all.iter().map(|record| record.id).collect());
    }

    /// A retracted event does not count, wherever its retraction is.
    #[test]
    fn a_retracted_event_does_not_count(events in prop::collection::vec(event(), 1..6), bad in event(), word in event()) {
        let bad = EventRecord::new(bad);
        let mut rest = records(&events);
        rest.retain(|record| record.id != bad.id);
        let mut word = word;
        word.entries.push(Entry::Item { section: RETRACT.into(), text: bad.id.to_string() });
        let word = EventRecord::new(LedgerEvent::new(word.meta, word.entries));
        rest.push(word);
        let want = shown(&rest, &[]);
        let with = [rest.clone(), vec![bad.clone()]].concat();
        prop_assert_eq!(&shown(&with, &[]), &want);
        // The same if the retraction is folded and the retracted event is not.
        let tidy = folded(&rest, &[]);
        prop_assert_eq!(&shown(std::slice::from_ref(&bad), &[tidy]), &want);
    }

    #[test]
    fn a_filter_takes_what_it_names(events in prop::collection::vec(event(), 1..8)) {
        let all = records(&events);
        let filter = Filter { agent: Some("alpha".into()), ..Filter::default() };
        let own: Vec<_> = events.iter().filter(|event| event.meta.agent == "alpha").cloned().collect();
        let (filtered, own) = (records(&own), join_all(all.iter(), &[], &filter));
        let want = whole(&filtered, &[]);
        prop_assert_eq!(page(&own), page(&want));
        prop_assert!(own.events.values().all(|event| event.agent() == "alpha"));
    }

    /// An event is the same however it is spelt.
    #[test]
    fn spelling_changes_nothing(event in event(), spelt in prop::sample::select(&INSTANTS[..])) {
        let event = LedgerEvent::new(Meta { ts: event_time::parse(spelt).expect("an instant"), ..event.meta }, event.entries);
        let text = event.render();
        let id = |text: &str| LedgerEvent::parse(text).map(|event| canonical::id(&event));
        let want = Ok(canonical::id(&event));
        prop_assert_eq!(id(&text), want.clone(), "{}", text);
        let front = format!("ts: {}\n", event.meta.ts);
        for other in [
            text.replacen(&front, &format!("ts: '{spelt}'  \n"), 1),
            text.replacen(&front, &format!("ts: \"{spelt}\" # when\n"), 1),
            text.replacen(&format!("---\n{front}"), "--- \n", 1).replacen("\n---\n", &format!("\nts: {spelt}\n---  \n\n\n"), 1),
            format!("{text}\n\n"),
            text.trim_end().to_owned(),
        ] {
            prop_assert_eq!(id(&other), want.clone(), "{}", other);
        }
        let crlf = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        let read = event_file::decode(crlf.as_bytes()).expect("a text");
        prop_assert_eq!(id(&read), want);
    }
}
