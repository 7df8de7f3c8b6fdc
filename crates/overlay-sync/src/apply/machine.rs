//! Everything that can happen to an overlay and its workspaces, in any order, over a ground in memory: edits,
//! deletions, clean-ups, late and repeated passes, a process that dies at any operation, somebody else who writes in
//! between, and a merge command that is right, wrong or slow.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use super::converge::{SyncOutcome, converge};
use super::memory::{Edit, MemoryGround, MemoryState, Program};
use crate::manifest::Workspace;
use crate::settings::{MergeCommand, OnConflict, Settings};

const WORKSPACES: u8 = 3;
const NOW: &str = "2026-01-01T00:00:00Z";
/// The name that several edits set differently. Every other name is set by one edit alone.
const SHARED: &str = "SHARED";

fn id(w: u8) -> Digest {
    Digest::of(&[w])
}

fn file(env: bool) -> RelPath {
    RelPath::parse(if env { ".env" } else { "settings.json" }).unwrap()
}

/// What somebody does to a text.
#[derive(Clone, Copy, Debug)]
enum TextChange {
    /// Sets a name that nobody else sets.
    Add,
    /// Sets a name that others may set too.
    Shared(u8),
    /// Removes one of the names.
    Take(u8),
    /// Writes the text as it was at the start.
    Stale,
}

#[derive(Clone, Debug)]
enum MachineStep {
    /// Somebody changes a file of a workspace, or of the overlay.
    Edit(Option<u8>, bool, TextChange),
    Delete(u8, bool),
    /// All files of a workspace are removed at once, as by `git clean`.
    Clean(u8),
    /// The directory goes away, or comes back.
    Away(u8),
    Pass(Vec<u8>),
    /// A pass that dies at this operation without anybody noticing.
    Killed(usize),
    /// A pass that dies at each operation in turn, each time from the same start, and is then run again.
    KilledEverywhere,
    /// A pass during which somebody writes just before this operation.
    Raced(usize, u8, bool),
    Program(Option<Program>),
    /// From now on conflicts are held, or decided by the rule.
    Hold(bool),
}

/// There is no model: the invariants are checked on what happened.
struct Anything;

impl ReferenceStateMachine for Anything {
    type State = ();
    type Transition = MachineStep;

    fn init_state() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn transitions((): &()) -> BoxedStrategy<MachineStep> {
        let w = || 0..WORKSPACES;
        let change = prop_oneof![
            5 => Just(TextChange::Add),
            3 => (0..4u8).prop_map(TextChange::Shared),
            2 => any::<u8>().prop_map(TextChange::Take),
            1 => Just(TextChange::Stale),
        ];
        let whose = prop_oneof![6 => w().prop_map(Some), 1 => Just(None)];
        let program = prop_oneof![Just(Program::Right), Just(Program::Wrong), Just(Program::Slow)];
        prop_oneof![
            10 => (whose, any::<bool>(), change).prop_map(|(w, env, change)| MachineStep::Edit(w, env, change)),
            1 => (w(), any::<bool>()).prop_map(|(w, env)| MachineStep::Delete(w, env)),
            1 => w().prop_map(MachineStep::Clean),
            1 => w().prop_map(MachineStep::Away),
            6 => Just((0..WORKSPACES).collect::<Vec<_>>()).prop_shuffle().prop_flat_map(|all| {
                (1..=all.len()).prop_map(move |n| MachineStep::Pass(all[..n].to_vec()))
            }),
            2 => (0..40usize).prop_map(MachineStep::Killed),
            1 => Just(MachineStep::KilledEverywhere),
            2 => (0..12usize, w(), any::<bool>()).prop_map(|(at, w, env)| MachineStep::Raced(at, w, env)),
            1 => proptest::option::of(program).prop_map(MachineStep::Program),
            1 => any::<bool>().prop_map(MachineStep::Hold),
        ]
        .boxed()
    }

    fn apply((): (), _: &MachineStep) {}
}

/// The overlay and its workspaces, and what is known of the edits.
#[derive(Clone, Debug)]
struct Floor {
    state: MemoryState,
    /// The names that somebody set and nobody removed.
    standing: BTreeMap<(bool, String), ()>,
    names: usize,
    /// The names of the start that an edit set after another one had removed them.
    set_again: BTreeSet<(bool, String)>,
    /// Whether somebody edited a text that a killed run may have written: nobody can tell the two apart.
    was_edited_unhealed: bool,
    /// Whether conflicts are held, and whether they ever were: bases are then composed of parts.
    is_hold: bool,
    had_parts: bool,
    /// Workspaces that are away, with their files.
    away: BTreeMap<Digest, super::memory::MemoryFiles>,
}

impl Floor {
    fn new() -> Floor {
        let mut state = MemoryState::default();
        for env in [true, false] {
            state.edit(&(
                None,
                file(env),
                text(env, &BTreeMap::from([("FIRST".into(), "1".into()), (SHARED.into(), "0".into())])),
            ));
        }
        for w in 0..WORKSPACES {
            let root = std::path::PathBuf::from(format!("/w{w}"));
            state.manifests.insert(id(w), Workspace { id: id(w), ..Workspace::new(&root, &root.join(".git")) });
            state.here.insert(id(w), BTreeMap::new());
        }
        let mut floor = Floor {
            state,
            standing: BTreeMap::new(),
            names: 0,
            set_again: BTreeSet::new(),
            was_edited_unhealed: false,
            is_hold: false,
            had_parts: false,
            away: BTreeMap::new(),
        };
        floor.pass(&[0, 1, 2]).unwrap();
        floor
    }

    /// Passes over these workspaces, as a run does.
    fn pass(&mut self, order: &[u8]) -> Option<SyncOutcome> {
        let slow = self.state.program == Some(Program::Slow);
        self.state.meanwhile = if slow { self.change(Some(0), true, TextChange::Shared(8)) } else { None };
        let edit = self.state.meanwhile.clone();
        let before = self.state.clone();
        let settings = Settings {
            merge_command: before.program.map(|_| MergeCommand {
                line: "x".into(),
                argv: Vec::new(),
                timeout: std::time::Duration::ZERO,
            }),
            on_conflict: if self.is_hold { OnConflict::Hold } else { OnConflict::Workspace },
            ..Settings::default()
        };
        self.had_parts |= self.is_hold;
        let mut workspaces: Vec<Workspace> = order.iter().map(|w| before.manifests[&id(*w)].clone()).collect();
        let mut ground = MemoryGround(std::cell::RefCell::new(std::mem::take(&mut self.state)));
        let outcome = converge(&mut ground, &settings, NOW, &mut workspaces);
        self.state = ground.0.into_inner();
        if let (Some((_, _, bytes)), None) = (edit, self.state.meanwhile.take()) {
            self.overwritten(true, &bytes);
        }
        if self.state.dies_at.is_some() {
            // No one can restore a text that was read and not kept before the process died. One that is still in place
            // is not lost.
            assert!(self.state.read.keys().all(|digest| before.read.contains_key(digest) || self.state.has(digest)));
            self.state.read.clone_from(&before.read);
        }
        self.check(&before);
        outcome.ok()
    }

    /// What holds after every run, completed or killed.
    fn check(&self, before: &MemoryState) {
        let state = &self.state;
        for digest in state.read.keys() {
            assert!(state.has(digest), "lost: {:?}", String::from_utf8_lossy(&state.read[digest]));
        }
        for workspace in state.manifests.values() {
            for (path, base) in &workspace.files {
                assert!(state.objects.contains_key(&base.sha256), "the base of {path} can be had");
                for side in [None, Some(workspace.id)].into_iter().filter(|_| !self.had_parts) {
                    assert!(
                        state.history.contains(&(side, path.clone(), base.sha256)),
                        "both sides held the base of {path}"
                    );
                }
            }
        }
        // A change of one side alone is no conflict and raises no question.
        let disputed = |path: &RelPath| {
            let of = |files: &super::memory::MemoryFiles| files.get(path).map(|(bytes, _)| Digest::of(bytes));
            let is_changed = |w: &&Workspace| {
                before.here.get(&w.id).is_some_and(|files| of(files) != w.files.get(path).map(|b| b.sha256))
            };
            let overlay = before.manifests.values().any(|w| w.files.get(path).map(|b| b.sha256) != of(&before.overlay));
            // An edit of a refilled file counts as one of the text from before.
            let is_refilled = before.manifests.values().any(|w| w.refilled.contains_key(path));
            before.manifests.values().filter(is_changed).count() + usize::from(overlay) > 1 || is_refilled
        };
        let raced = before.raced.is_some() || before.meanwhile.is_some();
        if !raced && ![true, false].into_iter().any(|env| disputed(&file(env))) {
            assert_eq!(state.conflicts.len(), before.conflicts.len(), "a conflict of one side with nobody");
            assert_eq!(state.asked, before.asked);
        }
    }

    fn change(&mut self, whose: Option<u8>, env: bool, change: TextChange) -> Option<Edit> {
        let id = whose.map(id);
        let files = match id {
            None => Some(&self.state.overlay),
            Some(id) => self.state.here.get(&id),
        };
        let bytes = files?.get(&file(env)).map(|(bytes, _)| bytes.clone());
        let before = bytes.as_deref().map(|bytes| names(env, bytes)).unwrap_or_default();
        let mut now = before.clone();
        match change {
            TextChange::Add => {
                self.names += 1;
                now.insert(format!("N{}", self.names), "1".into());
            }
            TextChange::Shared(value) => drop(now.insert(SHARED.into(), value.to_string())),
            TextChange::Take(n) => {
                let name = before.keys().nth(usize::from(n) % before.len().max(1))?.clone();
                now.remove(&name);
            }
            TextChange::Stale => now = BTreeMap::from([("FIRST".into(), "1".into()), (SHARED.into(), "0".into())]),
        }
        // A text that lacks what arrived there says nothing about it.
        let arrived = id.map(|id| self.arrived(id, env)).unwrap_or_default();
        for name in before.keys().filter(|name| !now.contains_key(*name) && !arrived.contains(*name)) {
            self.standing.remove(&(env, name.clone()));
        }
        for name in now.keys().filter(|name| !before.contains_key(*name) && name.starts_with('N')) {
            self.standing.insert((env, name.clone()), ());
        }
        let new = now.keys().filter(|name| !before.contains_key(*name) && !name.starts_with('N'));
        self.set_again.extend(new.map(|name| (env, name.clone())));
        Some((id, file(env), text(env, &now)))
    }

    /// The names that have arrived in a workspace, as far as it remembers that.
    fn arrived(&self, id: Digest, env: bool) -> BTreeSet<String> {
        let all = self.state.manifests.get(&id).and_then(|workspace| workspace.arrived.get(&file(env)));
        let names = |digest: &Digest| self.state.objects.get(digest).map(|bytes| names(env, bytes)).unwrap_or_default();
        let added = all.into_iter().flatten().map(|arrived| (names(&arrived.before), names(&arrived.after)));
        added.flat_map(|(before, after)| after.into_keys().filter(move |name| !before.contains_key(name))).collect()
    }

    /// Somebody writes a text that was begun a while ago, which removes what came meanwhile.
    fn overwritten(&mut self, env: bool, bytes: &[u8]) {
        let found = names(env, bytes);
        self.standing.retain(|(e, name), ()| *e != env || found.contains_key(name));
    }

    /// A deleted file's names are no longer expected.
    fn forget(&mut self, w: u8, env: bool) {
        if let Some((bytes, _)) = self.state.here.get_mut(&id(w)).and_then(|files| files.remove(&file(env))) {
            for name in names(env, &bytes).keys() {
                self.standing.remove(&(env, name.clone()));
            }
        }
    }

    /// At rest, one run (passes until quiet) brings everything in step, and another one writes nothing.
    fn settle(&mut self, order: &[u8]) {
        for (id, files) in std::mem::take(&mut self.away) {
            self.state.here.insert(id, files);
        }
        (self.state.dies_at, self.state.raced) = (None, None);
        if self.state.program == Some(Program::Slow) {
            self.state.program = Some(Program::Right);
        }
        self.pass(order).unwrap();
        let writes = self.state.writes;
        self.pass(order).unwrap();
        assert_eq!(self.state.writes, writes, "a second run writes nothing");
        for env in [true, false] {
            let path = file(env);
            let of = |files: &super::memory::MemoryFiles| {
                files.get(&path).map(|(bytes, _)| String::from_utf8_lossy(bytes).into_owned())
            };
            let overlay = of(&self.state.overlay);
            let mut is_free = true;
            for workspace in self.state.manifests.values() {
                let here = of(&self.state.here[&workspace.id]);
                let is_cleaned = workspace.files.len() >= 2 && self.state.here[&workspace.id].is_empty();
                let is_held = workspace.held.contains_key(&path);
                is_free &= !is_held;
                if !is_held && !workspace.deleted.contains_key(&path) && !is_cleaned {
                    assert_eq!(here, overlay, "{path} of {}", workspace.root.display());
                    assert_eq!(
                        workspace.files.get(&path).map(|base| base.sha256),
                        overlay.as_deref().map(|t| Digest::of(t.as_bytes()))
                    );
                }
            }
            let found = overlay.map(|text| names(env, text.as_bytes())).unwrap_or_default();
            for (_, name) in self.standing.keys().filter(|(e, _)| *e == env && is_free) {
                assert!(found.contains_key(name), "{name} was set by one and taken away by nobody: {found:?}");
            }
        }
        let is_halted = |id: &Digest| self.state.here[id].is_empty();
        assert!(self.state.intents.keys().all(|(id, _)| is_halted(id)), "{:?}", self.state.intents);
    }
}

fn text(env: bool, names: &BTreeMap<String, String>) -> Vec<u8> {
    if env {
        return names.iter().flat_map(|(name, value)| format!("{name}={value}\n").into_bytes()).collect();
    }
    serde_json::to_vec_pretty(names).unwrap()
}

fn names(env: bool, bytes: &[u8]) -> BTreeMap<String, String> {
    if !env {
        return serde_json::from_slice(bytes).unwrap();
    }
    let text = String::from_utf8_lossy(bytes).into_owned();
    text.lines().filter_map(|line| line.split_once('=')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
}

impl StateMachineTest for Floor {
    type SystemUnderTest = Floor;
    type Reference = Anything;

    fn init_test((): &()) -> Floor {
        Floor::new()
    }

    fn apply(mut floor: Floor, (): &(), step: MachineStep) -> Floor {
        let all = [0, 1, 2];
        match step {
            MachineStep::Edit(w, env, change) => {
                if let Some(edit) = floor.change(w, env, change) {
                    floor.was_edited_unhealed |= !floor.state.announced.is_empty();
                    floor.state.edit(&edit);
                }
            }
            MachineStep::Delete(w, env) => floor.forget(w, env),
            MachineStep::Clean(w) => [true, false].into_iter().for_each(|env| floor.forget(w, env)),
            MachineStep::Away(w) => match floor.away.remove(&id(w)) {
                Some(files) => drop(floor.state.here.insert(id(w), files)),
                None => floor.away.extend(floor.state.here.remove(&id(w)).map(|files| (id(w), files))),
            },
            MachineStep::Pass(order) => drop(floor.pass(&order)),
            MachineStep::Killed(after) => {
                floor.state.dies_at = Some(floor.state.writes + after);
                floor.pass(&all);
                floor.state.dies_at = None;
            }
            MachineStep::KilledEverywhere => {
                let start = floor.clone();
                floor.pass(&all);
                for at in start.state.writes..floor.state.writes {
                    let mut killed = start.clone();
                    killed.state.dies_at = Some(at);
                    killed.pass(&all);
                    killed.settle(&all);
                }
            }
            MachineStep::Raced(after, w, env) => {
                if let Some(edit) = floor.change(Some(w), env, TextChange::Shared(9)) {
                    floor.overwritten(env, &edit.2);
                    floor.state.raced = Some((floor.state.writes + after, edit));
                    floor.pass(&all);
                    floor.state.raced = None;
                }
            }
            MachineStep::Hold(is_hold) => floor.is_hold = is_hold,
            MachineStep::Program(program) => {
                floor.state.program = program;
            }
        }
        floor
    }

    fn teardown(floor: Floor, (): ()) {
        // Without a conflict the result is the same in any order.
        let (mut one, mut other) = (floor.clone(), floor);
        let conflicts = one.state.conflicts.len();
        one.settle(&[0, 1, 2]);
        other.settle(&[2, 0, 1]);
        let is_free = |floor: &Floor| {
            floor.state.conflicts.len() == conflicts && floor.state.manifests.values().all(|w| w.held.is_empty())
        };
        let is_told = one.state.program.is_none() && !one.had_parts && !one.was_edited_unhealed;
        if is_free(&one) && is_free(&other) && is_told {
            for env in [true, false] {
                // Setting again what another edit removed is a dispute that no base shows.
                let is_free = |name: &String| name != SHARED && !one.set_again.contains(&(env, name.clone()));
                let found = |floor: &Floor| {
                    let (bytes, _) = floor.state.overlay.get(&file(env))?;
                    Some(names(env, bytes).into_keys().filter(is_free).collect::<Vec<_>>())
                };
                assert_eq!(found(&one), found(&other), "the order of passes matters");
            }
        }
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_lost_and_all_workspaces_end_in_step(sequential 1..24 => Floor);
}

#[path = "machine_cases.rs"]
mod cases;
