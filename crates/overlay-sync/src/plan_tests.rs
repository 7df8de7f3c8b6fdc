//! The decision for one file, over every case, and what a few passes over many workspaces come to.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

fn decide_with(base: Option<&str>, overlay: Option<&str>, here: Option<&str>, deleted: Option<&str>) -> String {
    let digest = |text: &str| Digest::of(text.as_bytes());
    let look = Look {
        base: base.map(|b| (digest(b), Some(b.as_bytes()))),
        overlay: overlay.map(str::as_bytes),
        here: here.map(str::as_bytes),
        accepted: None,
        deleted: deleted.map(digest),
        kind: Kind::Text,
        rule: Rule::Workspace,
    };
    let text = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or("-".into(), |b| String::from_utf8(b.clone()).unwrap());
    match decide(&look) {
        Step::Write(w) => format!("{} overlay:{} here:{}", w.did, text(&w.overlay), text(&w.here)),
        Step::Hold(why, _) => format!("hold {why}"),
        other => format!("{other:?}").to_lowercase(),
    }
}

#[test]
fn every_case_of_base_overlay_and_here() {
    let (a, b, c) = (Some("a"), Some("b"), Some("c"));
    let cases = [
        ((None, None, None, None), "nothing"),
        ((None, a, None, None), "pull overlay:- here:a"),
        ((None, None, a, None), "nothing"),
        ((None, a, a, None), "adopt"),
        ((None, a, b, None), "last_write overlay:- here:a"),
        ((a, None, None, None), "retire"),
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
        ((None, None, None, a), "retire"),
        ((a, a, Some(""), None), "hold it is empty"),
    ];
    for ((base, overlay, here, deleted), expected) in cases {
        assert_eq!(decide_with(base, overlay, here, deleted), expected, "{base:?} {overlay:?} {here:?} {deleted:?}");
    }
}

fn json(base: &str, overlay: &str, here: &str) -> Step {
    decide(&Look {
        base: Some((Digest::of(base.as_bytes()), Some(base.as_bytes()))),
        overlay: Some(overlay.as_bytes()),
        here: Some(here.as_bytes()),
        accepted: None,
        deleted: None,
        kind: Kind::Json,
        rule: Rule::Workspace,
    })
}

#[test]
fn broken_gutted_and_code_running_edits_wait() {
    let full: String = (0..9).map(|i| format!("\"k{i}\": {i}, ")).collect();
    let base = format!("{{{full}\"z\": 0}}");
    assert!(matches!(json(&base, &base, "{\"k0\":"), Step::Hold(why, _) if why.contains("parse")));
    assert!(matches!(json(&base, &base, "{\"k0\": 0}"), Step::Hold(why, _) if why.contains("9 of 10")));
    assert!(matches!(json("{}", "{}", r#"{"hooks": {"Stop": ["rm"]}}"#), Step::Hold(why, _) if why.contains("hooks")));
    assert!(matches!(json("{}", "{}", r#"{"mcpServers": {"x": {"command": "x"}}}"#), Step::Hold(..)));
    // The overlay's own are a person's, and hooks that were there are no addition.
    assert!(matches!(json("{}", r#"{"hooks": {"Stop": ["x"]}}"#, "{}"), Step::Write(_)));
    let hooked = r#"{"hooks": {"Stop": ["x"]}}"#;
    assert!(matches!(json(hooked, hooked, r#"{"hooks": {"Stop": ["x"]}, "a": 1}"#), Step::Write(_)));
}

/// A model: one file, an overlay and workspaces, passes in some order. What a pass reads goes into the
/// store first.
#[derive(Clone, Debug, Default)]
struct Model {
    overlay: Option<String>,
    here: BTreeMap<usize, String>,
    base: BTreeMap<usize, String>,
    deleted: BTreeMap<usize, Digest>,
    /// The base before a deletion.
    past: BTreeMap<usize, String>,
    kept: Vec<String>,
    conflicts: usize,
    held: BTreeSet<usize>,
    holds: usize,
}

impl Model {
    /// One pass for one workspace; says whether it wrote.
    fn pass(&mut self, w: usize) -> bool {
        self.held.remove(&w);
        let base = self.base.get(&w).or(self.past.get(&w)).cloned();
        let (overlay, here) = (self.overlay.clone(), self.here.get(&w).cloned());
        self.kept.extend(overlay.iter().chain(&here).cloned());
        let step = decide(&Look {
            base: base.as_ref().map(|b| (Digest::of(b.as_bytes()), Some(b.as_bytes()))),
            overlay: overlay.as_ref().map(String::as_bytes),
            here: here.as_ref().map(String::as_bytes),
            accepted: None,
            deleted: self.deleted.get(&w).copied(),
            kind: Kind::Env,
            rule: Rule::Workspace,
        });
        match step {
            Step::Nothing => false,
            Step::Hold(..) => {
                self.held.insert(w);
                self.holds += 1;
                false
            }
            Step::Adopt => {
                self.past.remove(&w);
                self.deleted.remove(&w);
                self.base.insert(w, overlay.unwrap());
                false
            }
            Step::Delete => {
                self.deleted.insert(w, Digest::of(overlay.unwrap().as_bytes()));
                self.past.extend(self.base.remove(&w).map(|base| (w, base)));
                false
            }
            Step::Retire => {
                self.base.remove(&w);
                self.past.remove(&w);
                self.deleted.remove(&w);
                false
            }
            Step::Write(write) => {
                self.conflicts += usize::from(!write.conflicts.is_empty());
                let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
                if let Some(bytes) = write.overlay {
                    self.overlay = Some(text(bytes));
                }
                if let Some(bytes) = write.here {
                    self.here.insert(w, text(bytes));
                }
                self.base.insert(w, self.here[&w].clone());
                self.past.remove(&w);
                self.deleted.remove(&w);
                true
            }
        }
    }

    fn quiet(&mut self, order: &[usize]) -> usize {
        (0..5).take_while(|_| order.iter().filter(|w| self.pass(**w)).count() > 0).count()
    }
}

#[derive(Clone, Debug)]
enum Op {
    Edit(usize, String),
    Overlay(String),
    Delete(usize),
    Pass(usize),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let text = || {
        proptest::collection::vec("[A-D]=[1-3]", 1..4)
            .prop_map(|l| l.iter().map(|l| format!("{l}\n")).collect::<String>())
    };
    let op = prop_oneof![
        4 => (0usize..3, text()).prop_map(|(w, t)| Op::Edit(w, t)),
        1 => text().prop_map(Op::Overlay),
        1 => (0usize..3).prop_map(Op::Delete),
        4 => (0usize..3).prop_map(Op::Pass),
    ];
    proptest::collection::vec(op, 0..24)
}

proptest! {
    /// Whatever happened: nothing a pass has read is lost, two rounds converge (what is held excepted), a
    /// third writes nothing.
    #[test]
    fn passes_converge_and_lose_nothing(start in "A=1\nB=[12]\n", ops in ops()) {
        let mut model = Model { overlay: Some(start), ..Model::default() };
        let order = [0, 1, 2];
        model.quiet(&order);
        let mut seen: Vec<String> = Vec::new();
        for op in ops {
            match op {
                Op::Edit(w, text) => drop(model.here.insert(w, text)),
                Op::Overlay(text) => model.overlay = Some(text),
                Op::Delete(w) => drop(model.here.remove(&w)),
                Op::Pass(w) => {
                    seen.extend(model.here.get(&w).cloned());
                    model.pass(w);
                }
            }
        }
        model.holds = 0;
        let rounds = model.quiet(&order);
        // What was held for one round may be free in the next, because of another's edit.
        prop_assert!(rounds <= 2 + model.holds.min(1), "{rounds} rounds: {model:?}");
        for (w, text) in &model.here {
            prop_assert!(model.held.contains(w) || Some(text) == model.overlay.as_ref(), "{w}: {model:?}");
        }
        prop_assert!(seen.iter().all(|text| model.kept.contains(text)));
    }

    /// Deleting and creating anew is an edit like any other, also when a pass looks in between.
    #[test]
    fn deleted_and_back_is_an_edit(text in "[A-D]=[1-3]\n[E-G]=[1-3]\n") {
        let mut model = Model { overlay: Some("A=1\n".into()), ..Model::default() };
        model.quiet(&[0, 1]);
        model.here.remove(&0);
        model.pass(0);
        model.here.insert(0, text.clone());
        model.quiet(&[0, 1]);
        prop_assert_eq!((model.conflicts, &model.here[&1], model.overlay), (0, &text, Some(text.clone())));
    }

    /// An edit by one workspace alone never conflicts and reaches everybody.
    #[test]
    fn a_lone_edit_is_everywhere_without_conflict(text in "[A-D]=[1-3]\n[E-G]=[1-3]\n", w in 0usize..3) {
        let mut model = Model { overlay: Some("A=1\n".into()), ..Model::default() };
        model.quiet(&[0, 1, 2]);
        model.here.insert(w, text.clone());
        model.quiet(&[2, 0, 1]);
        prop_assert_eq!(model.conflicts, 0);
        prop_assert!(model.here.values().all(|t| *t == text) && model.overlay == Some(text));
    }
}
