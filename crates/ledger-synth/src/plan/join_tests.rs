//! The laws of the join, from events to the rendered ledger. The generators have few instants, agents and values, so
//! that ties are the rule.

use std::borrow::Cow;
use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::event::LedgerEvent;
use crate::front::Meta;
use crate::page_settings::PageFormat;
use crate::section::Section;
use crate::view::{SectionContent, View};
use crate::{canonical, event_file, instant, snapshot};

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

pub fn entry() -> impl Strategy<Value = Entry<'static>> {
    let text = || prop::sample::select(&TEXTS[..]).prop_map(Cow::Borrowed);
    let key = || prop::sample::select(&KEYS[..]).prop_map(Cow::Borrowed);
    let at = prop::sample::select(&["", "2026-01-10T14:00:00Z", "2026-01-10T13:00:00Z", "noon"][..]);
    prop_oneof![
        (prop::sample::select(&["now", "goal", "mood"][..]), text())
            .prop_map(|(section, text)| Entry::Text { section: section.into(), text }),
        (prop::sample::select(&["this_session", "open_questions", "resolved", "blockers"][..]), text())
            .prop_map(|(section, text)| Entry::Item { section: section.into(), text }),
        (prop::sample::select(&["decisions", "env"][..]), key(), prop::option::weighted(0.8, text()))
            .prop_map(|(section, key, value)| Entry::Pair { section: section.into(), key, value }),
        (prop::sample::select(&["1", "2", "10", "1a"][..]), prop::sample::select(&["x", "y"][..]), at).prop_map(
            |(phase, status, updated)| Entry::Checkpoint(Checkpoint {
                phase: phase.into(),
                status: status.into(),
                updated: updated.into(),
                more: "".into(),
            })
        ),
    ]
}

pub fn event() -> impl Strategy<Value = LedgerEvent<'static>> {
    let agent = prop::sample::select(&["alpha", "zeta", "m n"][..]);
    let branch = prop::option::of(prop::sample::select(&["main", "feat/x"][..]));
    let title = prop::option::of(prop::sample::select(&["t", "a longer title: of more than forty characters"][..]));
    (prop::sample::select(&INSTANTS[..]), agent, branch, title, prop::collection::vec(entry(), 0..6)).prop_map(
        |(ts, agent, branch, title, entries)| {
            let meta = Meta {
                ts: instant::parse(ts).expect("an instant"),
                agent: agent.into(),
                branch: branch.map(Cow::from),
                kind: None,
                reason: None,
                title: title.map(Cow::from),
            };
            LedgerEvent::new(meta, entries)
        },
    )
}

fn records(events: &[LedgerEvent<'_>]) -> Vec<EventRecord> {
    events.iter().map(EventRecord::new).collect()
}

/// What a reader sees: the file and the banner's lines.
fn shown(records: &[EventRecord], snapshots: &[String]) -> String {
    let snapshots = parsed(snapshots);
    let join = join(records, &snapshots.iter().collect::<Vec<_>>(), &Filter::default());
    seen(&join)
}

fn parsed(snapshots: &[String]) -> Vec<Snapshot> {
    snapshots.iter().map(|text| snapshot::parse(text.as_bytes()).expect("a snapshot")).collect()
}

/// The pages and the banner's lines of a join.
fn seen(join: &Join<'_>) -> String {
    let mut sources: Vec<_> =
        join.sources.iter().map(|source| (source.ts, source.id, crate::view::source_line(source))).collect();
    sources.sort();
    format!("{}{sources:?}", pages(join))
}

/// The page in every format.
fn pages(join: &Join<'_>) -> String {
    let view = View::new(join, None);
    [PageFormat::One, PageFormat::Two].map(|format| view.render(format, 0, None)).concat()
}

fn folded(records: &[EventRecord], snapshots: &[String]) -> String {
    let snapshots = parsed(snapshots);
    snapshot_of(&join(records, &snapshots.iter().collect::<Vec<_>>(), &Filter::default()))
}

fn snapshot_of(join: &Join<'_>) -> String {
    let mut text = Vec::new();
    let written = snapshot::write::<()>(join, &snapshot::content(join), |piece| {
        text.extend_from_slice(piece);
        Ok(())
    });
    written.expect("a snapshot");
    String::from_utf8(text).expect("a text")
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

    /// A join that is remembered and resumed says the same as a join of everything.
    #[test]
    fn resuming_changes_nothing(
        events in prop::collection::vec(event(), 0..8),
        bad in event(),
        retracts in any::<bool>(),
        a in any::<u8>(),
        first in any::<u8>(),
    ) {
        let mut all = records(&events);
        if retracts {
            let retract = Entry::Item { section: RETRACT.into(), text: EventRecord::new(&bad).id().to_string().into() };
            all.insert(0, EventRecord::new(&LedgerEvent::new(bad.meta.clone(), vec![retract])));
        }
        let part = |mask: u8| all.iter().enumerate().filter(move |(at, _)| *at == 0 || mask >> (at % 8) & 1 == 1).map(|(_, record)| record);
        let tidy = folded(&part(a).cloned().collect::<Vec<_>>(), &[]);
        let read = parsed(std::slice::from_ref(&tidy));
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("cache").join("join");
        Base::write(&path, &[[7; 16]], &join(part(first), &[&read[0]], &Filter::default())).expect("a base");
        let base = Base::load(&path).expect("the base");
        prop_assert!(base.has(&[7; 16]) && base.count() == 1);
        // The retracted event comes last, and some events come again.
        let rest: Vec<EventRecord> = all.iter().skip(1).chain([&EventRecord::new(&bad)]).cloned().collect();
        let whole: Vec<EventRecord> = part(first).chain(&rest).cloned().collect();
        let (resumed, want) = (resume(&base, rest.iter()), join(&whole, &[&read[0]], &Filter::default()));
        prop_assert_eq!(seen(&resumed), seen(&want));
        prop_assert_eq!(&resumed.retracted, &want.retracted);
        prop_assert_eq!(snapshot_of(&resumed), snapshot_of(&want));
    }

    /// `prune` deletes archived events that are said, and `doctor` names the others.
    #[test]
    fn an_event_is_said_where_it_changes_nothing(
        events in prop::collection::vec(event(), 1..6),
        others in prop::collection::vec(entry(), 0..12),
        more in event(),
    ) {
        let mut all = records(&events);
        let read = parsed(&[folded(&all, &[])]);
        let variant = |entry| LedgerEvent::new(events[0].meta.clone(), vec![entry]);
        all.extend(others.into_iter().map(|entry| EventRecord::of(&variant(entry), &events[0])));
        all.push(EventRecord::new(&more));
        let content = |record: Option<&EventRecord>| snapshot::content(&join(record, &[&read[0]], &Filter::default()));
        let known = KnownJoin::of(&[], &[&read[0]]);
        for record in &all {
            prop_assert_eq!(known.says(record), content(Some(record)) == content(None));
        }
    }

    #[test]
    fn a_snapshot_is_read_whole_or_not_at_all(events in prop::collection::vec(event(), 1..6), at in any::<prop::sample::Index>()) {
        let all = records(&events);
        let text = folded(&all, &[]);
        for spelt in [text.clone(), text.replace('\n', "\r\n"), format!("\u{feff}{}", text), format!("\n{}", text)] {
            let read = snapshot::parse(spelt.as_bytes()).expect("a snapshot");
            prop_assert!(text.contains(&read.content.to_string()));
            prop_assert_eq!(seen(&join(&[], &[&read], &Filter::default())), shown(&all, &[]));
        }
        prop_assert!(snapshot::parse(&text.as_bytes()[..at.index(text.len())]).is_err());
        prop_assert!(snapshot::parse((text + "x\n").as_bytes()).is_err());
    }

    /// Events that share an id because they were one in their first form are all heard, whichever comes first.
    #[test]
    fn events_of_one_id_are_all_heard(events in prop::collection::vec(event(), 1..6), other in prop::collection::vec(entry(), 0..6)) {
        let mut all = records(&events);
        let variant = LedgerEvent::new(events[0].meta.clone(), other);
        all.push(EventRecord::of(&variant, &events[0]));
        let want = shown(&all, &[]);
        all.reverse();
        prop_assert_eq!(&shown(&all, &[]), &want);
        prop_assert_eq!(&shown(&[], &[folded(&all, &[])]), &want);
        let (first, rest) = all.split_at(1);
        prop_assert_eq!(&shown(rest, &[folded(first, &[])]), &want);
        let parts = [folded(first, &[]), folded(rest, &[])];
        prop_assert_eq!(&shown(&[], &[folded(&[], &parts)]), &want);
    }

    #[test]
    fn more_events_never_turn_anything_back(
        events in prop::collection::vec(event(), 1..8),
        more in event(),
    ) {
        let (few, mut all) = (records(&events), records(&events));
        all.push(EventRecord::new(&more));
        let (few, all) = (join(&few, &[], &Filter::default()), join(&all, &[], &Filter::default()));
        prop_assert!(all.sources.len() >= few.sources.len() && all.latest() >= few.latest());
        for (name, section) in &few.sections {
            let grown = &all.sections[name];
            for (text, of) in &section.items {
                let now = grown.items.iter().find(|(t, _)| t == text).expect("an item that stays");
                prop_assert!(all.source(now.1).ts >= few.source(*of).ts);
            }
            for (key, (_, of)) in &section.pairs {
                let now = grown.pairs.iter().find(|(k, _)| k == key).expect("a key that stays");
                prop_assert!(all.source(now.1.1).ts >= few.source(*of).ts);
            }
            if let Some((_, of)) = &section.text {
                prop_assert!(grown.text.as_ref().is_some_and(|(_, now)| all.source(*now).ts >= few.source(*of).ts));
            }
        }
    }

    /// Everything an event says is shown, beaten by something newer, or removed by name.
    #[test]
    fn nothing_is_lost(events in prop::collection::vec(event(), 1..8)) {
        let all = records(&events);
        let joined = join(&all, &[], &Filter::default());
        let view = View::new(&joined, None);
        let newer = |event: &LedgerEvent<'_>, is_it: &dyn Fn(&Entry<'_>) -> bool| {
            let stamp = |event: &LedgerEvent<'_>| (event.meta.ts, event.meta.agent.to_string());
            events.iter().any(|other| stamp(other) >= stamp(event) && other.entries.iter().any(is_it))
        };
        let contents: Vec<_> = view.sections.iter().map(|(section, content)| (SectionName::from(*section), content)).collect();
        let content = |name: &SectionName<'_>| contents.iter().find(|(own, _)| own == name).map(|(_, content)| *content);
        let other = |name: &SectionName<'_>| view.others.iter().find(|other| other.key == name.as_str());
        for event in &events {
            for entry in &event.entries {
                let is_there = match entry {
                    Entry::Text { section, text } => {
                        matches!(content(section), Some(SectionContent::Register(Some(told))) if told.text == &**text)
                            || other(section).is_some_and(|other| other.text.is_some_and(|told| told.text == &**text))
                            || newer(event, &|e| matches!(e, Entry::Text { section: s, text: t } if s == section && t != text))
                    }
                    Entry::Item { section, .. } if *section == Section::Resolved => true,
                    Entry::Item { section, text } => {
                        matches!(content(section), Some(SectionContent::List(items)) if items.iter().any(|told| told.text == &**text))
                            || other(section).is_some_and(|other| other.items.iter().any(|told| told.text == &**text))
                            || (*section == Section::OpenQuestions
                                && newer(event, &|e| matches!(e, Entry::Item { section, text: t } if *section == Section::Resolved && t == text)))
                    }
                    Entry::Pair { section, key, value } => {
                        let pairs: Vec<(&str, &str)> = match content(section) {
                            Some(SectionContent::Map(pairs)) => pairs.iter().map(|(key, told)| (*key, told.text)).collect(),
                            _ => other(section).map_or(Vec::new(), |other| other.pairs.iter().map(|(key, told)| (*key, told.text)).collect()),
                        };
                        let shown = pairs.iter().any(|(k, v)| k == key && Some(*v) == value.as_deref());
                        shown || newer(event, &|e| matches!(e, Entry::Pair { section: s, key: k, value: v } if s == section && k == key && v != value))
                            || value.is_none()
                    }
                    Entry::Checkpoint(c) => {
                        matches!(content(&Section::Checkpoints.into()), Some(SectionContent::Checkpoints(all))
                            if all.iter().any(|r| r.checkpoint.phase == c.phase && r.checkpoint.status == c.status && r.checkpoint.updated == c.updated && r.by.agent == event.meta.agent))
                    }
                };
                prop_assert!(is_there, "{entry:?} of {event:?}");
            }
        }
        let shown: BTreeSet<_> = joined.sources.iter().map(|source| source.id).collect();
        prop_assert_eq!(shown, all.iter().map(|record| record.id()).collect());
    }

    /// A retracted event does not count, wherever its retraction is.
    #[test]
    fn a_retracted_event_does_not_count(events in prop::collection::vec(event(), 1..6), bad in event(), word in event()) {
        let bad = EventRecord::new(&bad);
        let mut rest = records(&events);
        rest.retain(|record| record.id() != bad.id());
        let mut word = word;
        word.entries.push(Entry::Item { section: RETRACT.into(), text: bad.id().to_string().into() });
        let word = EventRecord::new(&LedgerEvent::new(word.meta, word.entries));
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
        let (filtered, own) = (records(&own), join(&all, &[], &filter));
        let want = join(&filtered, &[], &Filter::default());
        prop_assert_eq!(pages(&own), pages(&want));
        prop_assert!(own.sources.iter().all(|source| source.agent == "alpha"));
    }

    /// An event is the same however it is spelt.
    #[test]
    fn spelling_changes_nothing(event in event(), spelt in prop::sample::select(&INSTANTS[..])) {
        let event = LedgerEvent::new(Meta { ts: instant::parse(spelt).expect("an instant"), ..event.meta }, event.entries);
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
