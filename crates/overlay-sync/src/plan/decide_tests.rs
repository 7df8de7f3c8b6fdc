//! The decision for one file, over every case.

use std::collections::BTreeSet;

use shopfloor_core::path::RelPath;

use super::*;
use crate::merge::Grow;

/// A file to decide about. Each test changes the fields that it is about.
struct Case<'a> {
    base: Option<&'a str>,
    overlay: Option<&'a str>,
    here: Option<&'a str>,
    deleted: Option<&'a str>,
    accepted: Option<Digest>,
    kind: FileType,
    policy: Policy,
    removed: Vec<&'a str>,
    is_declared: bool,
    command: Option<BTreeSet<QuestionId>>,
}

fn case<'a>(base: Option<&'a str>, overlay: Option<&'a str>, here: Option<&'a str>) -> Case<'a> {
    let review = ["hooks", "mcpServers"].map(|key| EntryPath::parse(FileType::Json, key).unwrap());
    Case {
        base,
        overlay,
        here,
        deleted: None,
        accepted: None,
        kind: FileType::Text,
        policy: Policy { review: review.to_vec(), ..Policy::default() },
        removed: Vec::new(),
        is_declared: false,
        command: None,
    }
}

fn json<'a>(base: &'a str, overlay: &'a str, here: &'a str) -> Case<'a> {
    Case { kind: FileType::Json, ..case(Some(base), Some(overlay), Some(here)) }
}

impl Case<'_> {
    fn decide(&self) -> Decision {
        let digest = |text: &str| Digest::of(text.as_bytes());
        let removed: BTreeSet<String> = self.removed.iter().map(ToString::to_string).collect();
        decide(&FileView {
            base: self.base.map(|b| (digest(b), Some(b.as_bytes()))),
            overlay: self.overlay.map(str::as_bytes),
            here: self.here.map(str::as_bytes),
            accepted: &self.accepted.into_iter().collect(),
            deleted: self.deleted.map(digest),
            kind: self.kind,
            policy: &self.policy,
            arrivals: &[],
            is_whole: true,
            removed: &removed,
            is_declared: self.is_declared,
            is_retired: false,
            command: self.command.as_ref(),
            intent: None,
        })
    }

    /// The step in one line, then the part that waits.
    fn outcome(&self) -> String {
        let text =
            |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or("-".into(), |b| String::from_utf8_lossy(b).into_owned());
        let Decision { step, part } = self.decide();
        let step = match step {
            Step::Write(w) => format!("{} overlay:{} here:{}", w.rule, text(&w.overlay), text(&w.here)),
            Step::Hold(why, _) => format!("hold {why}"),
            Step::Adopt(_) => "adopt".into(),
            Step::Ask(_) => "ask".into(),
            other => format!("{other:?}").to_lowercase(),
        };
        part.map_or(step.clone(), |part| format!("{step}; waits: {}", part.why))
    }
}

#[test]
fn every_combination_of_base_overlay_and_here_has_its_step() {
    let (a, b, c) = (Some("a"), Some("b"), Some("c"));
    let cases = [
        ((None, None, None, None), "nothing"),
        ((None, a, None, None), "pull overlay:- here:a"),
        ((None, None, a, None), "nothing"),
        ((None, a, a, None), "adopt"),
        ((None, a, b, None), "last_write overlay:- here:a"),
        ((a, None, None, None), "forget"),
        ((a, a, None, None), "delete"),
        ((a, b, None, None), "pull overlay:- here:b"),
        ((a, None, a, None), "retire"),
        ((a, None, b, None), "push overlay:b here:-"),
        ((a, a, a, None), "nothing"),
        ((a, b, b, None), "adopt"),
        ((a, b, a, None), "pull overlay:- here:b"),
        ((a, a, b, None), "push overlay:b here:-"),
        ((a, b, c, None), "last_write overlay:c here:-"),
        ((None, a, None, a), "nothing"),
        ((None, b, None, a), "pull overlay:- here:b"),
        ((None, None, None, a), "forget"),
        ((a, a, Some(""), None), "hold it is empty"),
    ];
    for ((base, overlay, here, deleted), expected) in cases {
        let outcome = Case { deleted, ..case(base, overlay, here) }.outcome();
        assert_eq!(outcome, expected, "{base:?} {overlay:?} {here:?} {deleted:?}");
    }
}

#[test]
fn a_down_file_is_never_pushed() {
    let (a, b, c) = (Some("a\nx\n"), Some("a\nb\nx\n"), Some("c\nx\n"));
    for (base, overlay, here, expected) in [
        (a, a, b, "nothing"),
        (a, b, a, "pull overlay:- here:a\nb\nx\n"),
        (a, b, c, "last_write overlay:- here:-"),
        (a, None, b, "retire"),
        (None, None, a, "nothing"),
    ] {
        let policy = Policy { is_down: true, ..Policy::default() };
        let outcome = Case { policy, is_declared: true, ..case(base, overlay, here) }.outcome();
        assert_eq!(outcome, expected, "{base:?} {overlay:?} {here:?}");
    }
}

#[test]
fn deletions_in_the_overlay_spread_where_the_policy_says_so() {
    let policy = Policy { spreads_deletions: true, ..Policy::default() };
    let outcome = |here| Case { policy: policy.clone(), ..case(Some("a"), None, Some(here)) }.outcome();
    assert_eq!((outcome("a").as_str(), outcome("b").as_str()), ("remove", "push overlay:b here:-"));
}

#[test]
fn a_declared_file_enters_once_it_is_whole_and_runs_no_code() {
    let outcome = |kind, here| Case { is_declared: true, kind, ..case(None, None, Some(here)) }.outcome();
    assert_eq!(outcome(FileType::Text, "a"), "adopt overlay:a here:-");
    assert_eq!(outcome(FileType::Text, ""), "hold it is empty");
    assert_eq!(outcome(FileType::Json, "{\"a\":"), "hold it does not parse");
    assert!(outcome(FileType::Json, "{\"mcpServers\": {\"x\": {}}}").starts_with("hold it is new and adds"));
}

#[test]
fn broken_and_gutted_edits_are_held() {
    let full: String = (0..9).map(|i| format!("\"k{i}\": {i}, ")).collect();
    let base = format!("{{{full}\"z\": 0}}");
    assert_eq!(json(&base, &base, "{\"k0\":").outcome(), "hold it no longer parses");
    assert_eq!(json(&base, &base, "{\"k0\": 0}").outcome(), "hold 9 of 10 entries vanished at once");
    assert!(json(&base, "{", &base).outcome().starts_with("hold in the overlay"));
    // Without a base nobody can tell what it adds.
    let fresh = Case { kind: FileType::Json, ..case(None, Some("{}"), Some("{\"a\": 1, \"a\": 2}")) };
    assert!(fresh.outcome().contains("nobody can tell"), "{}", fresh.outcome());
}

#[test]
fn additions_that_run_code_wait_while_the_rest_is_synced() {
    let here = r#"{"hooks": {"Stop": ["rm"]}, "a": 1}"#;
    let adds = json("{}", "{}", here);
    let outcome = adds.outcome();
    assert!(outcome.starts_with("push overlay:{") && outcome.contains("waits: it adds to `hooks`"), "{outcome}");
    let Decision { step: Step::Write(write), part: Some(part) } = adds.decide() else { panic!("{outcome}") };
    let value = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
    assert_eq!(value(&write.overlay.unwrap()), serde_json::json!({"a": 1}));
    assert_eq!((write.here, value(&write.base)), (None, serde_json::json!({"a": 1})));
    // Once accepted, it is an edit like any other; a different addition waits again.
    let accepted = Case { accepted: Some(part.digest), ..json("{\"a\": 1}", "{\"a\": 1}", here) };
    assert_eq!(accepted.outcome(), format!("push overlay:{here} here:-"));
    let other = here.replace("rm", "rm -r");
    let another = Case { accepted: Some(part.digest), ..json("{\"a\": 1}", "{\"a\": 1}", &other) };
    assert!(another.outcome().starts_with("nothing; waits"), "{}", another.outcome());
    // The overlay's own additions were made by a person. While a workspace's additions wait, others do not arrive
    // there, and are not lost.
    let hooked = r#"{"hooks": {"Stop": ["x"]}, "a": 1}"#;
    assert!(json("{}", hooked, "{}").outcome().starts_with("pull"));
    assert!(json(hooked, hooked, &hooked.replace(": 1", ": 2")).outcome().starts_with("push"));
    let Decision { step: Step::Write(write), .. } = json("{\"a\": 1}", &hooked.replace(": 1", ": 2"), here).decide()
    else {
        panic!("the rest comes")
    };
    assert_eq!(value(&write.here.unwrap()), serde_json::json!({"hooks": {"Stop": ["rm"]}, "a": 2}));
    assert_eq!((write.overlay, value(&write.base)), (None, serde_json::json!({"a": 2})));
}

#[test]
fn only_what_is_harmless_in_the_settings_of_an_agent_does_not_wait() {
    let at = |path: &str| Policy { reviewed: RelPath::parse(path).ok(), ..Policy::default() };
    let agent = |base, overlay, here| Case { policy: at(".claude/settings.json"), ..json(base, overlay, here) };
    let waits = |case: Case<'_>| case.decide().part.map(|part| part.why);
    for (base, here, why) in [
        ("{}", r#"{"permissions": {"allow": ["a"]}, "model": "x"}"#, None),
        ("{}", r#"{"x": 1}"#, Some("it adds to `x` (perhaps a program), which is not known to be harmless")),
        (r#"{"x": 1, "y": 1}"#, r#"{"y": 1}"#, Some("it takes away from `x` (perhaps a program)")),
        (r#"{"notify": ["a", "b"]}"#, r#"{"notify": ["b", "a"]}"#, Some("it adds to `notify` (a hook), which")),
        (r#"{"hooks": {"A": ["x"]}}"#, r#"{"hooks": {"A": ["x"]}, "theme": "t"}"#, None),
    ] {
        let told = waits(agent(base, base, here));
        assert_eq!(told.is_some(), why.is_some(), "{here}: {told:?}");
        assert!(told.unwrap_or_default().starts_with(why.unwrap_or_default()), "{here}");
    }
    // Nothing is left behind of an object that is new, and what the overlay has given up is not taken away again.
    assert!(agent("{}", "{}", r#"{"env": {"PATH": "/x"}}"#).outcome().starts_with("nothing; waits: it adds to `env`"));
    assert_eq!(waits(agent(r#"{"x": 1, "m": 1}"#, r#"{"m": 1}"#, r#"{"m": 1}"#)), None);
    // Without a base nobody took anything away.
    let first = Case { base: None, ..agent("", r#"{"x": 1}"#, r#"{"model": "y"}"#) };
    assert_eq!(waits(first), None);
    let broken = Case { base: None, kind: FileType::Toml, ..agent("", "a = 1\n", "a = [") };
    assert!(broken.outcome().contains("nobody can tell"), "{}", broken.outcome());
    let script = Case { policy: at("notes"), ..case(Some("#!/bin/sh\n"), Some("#!/bin/sh\n"), Some("evil\n")) };
    assert_eq!(script.outcome(), "hold programs run this file (a program)");
    let empty = Case { policy: at(".envrc"), ..case(Some("a"), Some("a"), Some("")) };
    assert_eq!(empty.outcome(), "hold it is empty");
}

#[test]
fn local_entries_neither_leave_nor_enter() {
    let policy = Policy { local: vec![EntryPath::parse(FileType::Json, "env.PORT").unwrap()], ..Policy::default() };
    let local =
        |base, overlay, here| Case { policy: policy.clone(), kind: FileType::Json, ..case(base, overlay, here) };
    let text = |port: u32, log: &str| format!("{{\"env\": {{\"LOG\": \"{log}\", \"PORT\": {port}}}}}");
    let shared = "{\"env\": {\"LOG\": \"a\"}}";
    let (o, x, edited, newer) = (text(1, "a"), text(2, "a"), text(2, "b"), text(3, "c"));
    assert_eq!(local(Some(shared), Some(&o), Some(&x)).outcome(), "nothing");
    let outcome = local(Some(shared), Some(&o), Some(&edited)).outcome();
    assert_eq!(outcome, format!("push overlay:{} here:-", text(1, "b")));
    let outcome = local(Some(shared), Some(&newer), Some(&x)).outcome();
    assert_eq!(outcome, format!("pull overlay:- here:{}", text(2, "c")));
    // A new file arrives, and is pushed, without them.
    let parsed = |outcome: String| outcome.split_once(":{").map(|(_, text)| format!("{{{text}")).unwrap();
    let came = parsed(local(None, Some(&o), None).outcome());
    assert_eq!(serde_json::from_str::<serde_json::Value>(&came).unwrap(), serde_json::json!({"env": {"LOG": "a"}}));
    assert_eq!(
        local(Some(&o), Some(&o), Some("{\"env\": ")).outcome(),
        "hold its own entries cannot be told from the others"
    );
}

#[test]
fn a_removed_entry_waits_when_it_comes_back() {
    let allow = |list: &str| format!("{{\"permissions\": {{\"allow\": [{list}]}}}}");
    let (without, with) = (allow("\"a\""), allow("\"a\", \"rm\", \"new\""));
    let case = Case { removed: vec!["permissions.allow.rm"], ..json(&without, &without, &with) };
    assert_eq!(
        case.outcome(),
        format!("push overlay:{} here:-; waits: it brings back an entry that was removed", allow("\"a\", \"new\""))
    );
    let Decision { part: Some(part), .. } = case.decide() else { panic!("it waits") };
    let accepted = Case { accepted: Some(part.digest), ..case };
    assert_eq!(accepted.outcome(), format!("push overlay:{with} here:-"));
}

#[test]
fn a_workspace_under_grow_only_adds() {
    let allow = |list: &str| format!("{{\"permissions\": {{\"allow\": [{list}]}}, \"m\": 1}}");
    let (both, one) = (allow("\"a\", \"b\""), allow("\"a\""));
    let Decision { step: Step::Write(write), .. } = json(&both, &both, &one).decide() else { panic!("it is put back") };
    assert_eq!(
        (write.overlay, write.here, write.grown, write.rule),
        (None, Some(both.clone().into_bytes()), 1, SyncRule::Merge)
    );
    let three_way = Policy { grow: Grow::Deny, ..Policy::default() };
    assert_eq!(Case { policy: three_way, ..json(&both, &both, &one) }.outcome(), format!("push overlay:{one} here:-"));
}

#[test]
fn a_conflict_is_held_or_asked_about_where_the_policy_says_so() {
    let (b, o, x) = ("{\"m\": 1}", "{\"m\": 2}", "{\"m\": 3}");
    let hold = Policy { holds: true, ..Policy::default() };
    let held = Case { policy: hold, ..json(b, o, x) };
    assert_eq!(held.outcome(), "nothing; waits: both sides changed m");
    let part = held.decide().part.unwrap();
    let accepted = Case { accepted: Some(part.digest), ..held };
    assert_eq!(accepted.outcome(), format!("last_write overlay:{x} here:-"));
    // Only what is in dispute waits.
    let more = "{\"m\": 3, \"new\": 1}";
    let beside = Case { policy: accepted.policy.clone(), ..json(b, o, more) };
    let outcome: String = beside.outcome().split_whitespace().collect();
    assert_eq!(outcome, "pushoverlay:{\"m\":2,\"new\":1}here:-;waits:bothsideschangedm");
    let lines = Case { policy: accepted.policy.clone(), ..case(Some("a\n"), Some("b\n"), Some("c\n")) };
    assert_eq!(lines.outcome(), "hold both sides changed line 1");
    let ask = Case { command: Some(BTreeSet::new()), ..json(b, o, x) };
    let Step::Ask(question) = ask.decide().step else { panic!("{}", ask.outcome()) };
    let refused = Case { command: Some(BTreeSet::from([question.id()])), ..json(b, o, x) };
    assert_eq!(refused.outcome(), format!("last_write overlay:{x} here:-"));
    // The merge command is not asked about what only one side changed, or what is taken as a whole.
    assert!(Case { command: Some(BTreeSet::new()), ..json(b, b, x) }.outcome().starts_with("push"));
    assert!(
        Case { command: Some(BTreeSet::new()), ..case(None, Some("a\0"), Some("b\0")) }
            .outcome()
            .starts_with("last_write")
    );
}
