//! Everything that can happen to an overlay and its workspaces, in any order, over a ground in memory: edits,
//! deletions, clean-ups, late and repeated passes, programs that write from an old view or into a displaced file, a
//! process that dies at any operation, somebody else who writes in between, and a merge command that is right, wrong or
//! slow. Each run has one of the policies that a path can have.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest_state_machine::{StateMachineTest, prop_state_machine};
use shopfloor_core::config::Line;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use super::ground::{Edit, MemoryFiles, MemoryGround, MemoryState, Program};
use super::steps::{Anything, LOCAL, MachineStep, NOW, PathPolicy, SHARED, TextChange, WORKSPACES, file, id};
use crate::apply::converge::converge;
use crate::apply::outcome::SyncOutcome;
use crate::settings::Settings;
use crate::workspace::Workspace;

/// The overlay and its workspaces, and what is known of the edits.
#[derive(Clone, Debug)]
pub(super) struct Floor {
    pub(super) state: MemoryState,
    policy: PathPolicy,
    /// The names that are a workspace's own, with their values: they stay there and are nowhere else.
    own: BTreeMap<(u8, bool, String), String>,
    /// The files that the overlay gave up once: whether that or a new file came first is a matter of order.
    given_up: BTreeSet<bool>,
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
    /// Whether a run was ever cut off, or a text changed under it: then the overlay may have taken a base in that it
    /// never held.
    was_cut: bool,
    /// Workspaces that are away, with their files.
    away: BTreeMap<Digest, MemoryFiles>,
}

impl Floor {
    pub(super) fn new(policy: PathPolicy) -> Floor {
        let mut state = MemoryState::default();
        if policy == PathPolicy::Declared {
            state.declared.insert(file(true));
        }
        for env in [true, false].into_iter().filter(|env| !(*env && policy == PathPolicy::Declared)) {
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
            policy,
            own: BTreeMap::new(),
            given_up: BTreeSet::new(),
            standing: BTreeMap::new(),
            names: 0,
            set_again: BTreeSet::new(),
            was_edited_unhealed: false,
            is_hold: false,
            // A base is composed of parts where entries stay in their workspace.
            had_parts: matches!(policy, PathPolicy::Local | PathPolicy::Down | PathPolicy::Grow),
            was_cut: false,
            away: BTreeMap::new(),
        };
        floor.pass(&[0, 1, 2]).unwrap();
        floor
    }

    /// Passes over these workspaces, as a run does.
    pub(super) fn pass(&mut self, order: &[u8]) -> Option<SyncOutcome> {
        let slow = self.state.program == Some(Program::Slow);
        self.state.meanwhile = if slow { self.change(Some(0), true, TextChange::Shared(8)) } else { None };
        let edit = self.state.meanwhile.clone();
        let before = self.state.clone();
        let settings = Settings {
            merge_command: before.program.map(|_| Line::Shell("x".into())),
            holds: self.is_hold,
            per_path: self.policy.rule().into_iter().collect(),
            ..Settings::default()
        };
        self.had_parts |= self.is_hold;
        self.was_cut |= before.dies_at.is_some() || before.raced.is_some() || edit.is_some();
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
                let held = |side| state.history.contains(&(side, path.clone(), base.sha256));
                assert!(self.had_parts || held(Some(workspace.id)), "the workspace held the base of {path}");
                assert!(self.had_parts || self.was_cut || held(None), "the overlay held the base of {path}");
            }
        }
        // A change of one side alone is no conflict and raises no question.
        let disputed = |path: &RelPath| {
            let of = |files: &MemoryFiles| files.get(path).map(|(bytes, _)| Digest::of(bytes));
            let is_changed = |w: &&Workspace| {
                before.here.get(&w.id).is_some_and(|files| of(files) != w.files.get(path).map(|b| b.sha256))
            };
            let overlay = before.manifests.values().any(|w| w.files.get(path).map(|b| b.sha256) != of(&before.overlay));
            // An edit of a refilled file counts as one of the text from before.
            let is_refilled = before.manifests.values().any(|w| w.refilled.contains_key(path));
            before.manifests.values().filter(is_changed).count() + usize::from(overlay) > 1 || is_refilled
        };
        let raced = before.raced.is_some() || before.meanwhile.is_some() || !before.late.is_empty();
        if !raced && ![true, false].into_iter().any(|env| disputed(&file(env))) {
            assert_eq!(state.conflicts.len(), before.conflicts.len(), "a conflict of one side with nobody");
            assert_eq!(state.asked, before.asked);
        }
    }

    pub(super) fn change(&mut self, whose: Option<u8>, env: bool, change: TextChange) -> Option<Edit> {
        let id = whose.map(id);
        let bytes = self.state.files(id)?.get(&file(env)).map(|(bytes, _)| bytes.clone());
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
            // In the overlay the name is nobody's own.
            TextChange::Own(_) if whose.is_none() && self.policy == PathPolicy::Local => return None,
            TextChange::Own(value) => drop(now.insert(LOCAL.into(), value.to_string())),
        }
        let bytes = text(env, &now);
        if let Some(w) = whose.filter(|_| self.policy.is_down(env)) {
            self.keeps_own(w, env, &before, &now, |_| true);
            return Some((id, file(env), bytes));
        }
        if let Some(w) = whose.filter(|_| self.policy == PathPolicy::Local) {
            self.keeps_own(w, env, &before, &now, |name| name == LOCAL);
        }
        // A text that lacks what arrived there says nothing about it.
        let arrived = id.map(|id| self.arrived(id, env)).unwrap_or_default();
        // Where entries only grow, a workspace removes nothing that was synced.
        let synced = id.filter(|_| self.policy == PathPolicy::Grow).map(|id| self.synced(id, env)).unwrap_or_default();
        let stays = |name: &String| now.contains_key(name) || arrived.contains(name) || synced.contains(name);
        let gone = before.keys().filter(|name| !stays(name));
        for name in gone {
            self.standing.remove(&(env, name.clone()));
        }
        for name in now.keys().filter(|name| !before.contains_key(*name) && name.starts_with('N')) {
            self.standing.insert((env, name.clone()), ());
        }
        let new = now.keys().filter(|name| !before.contains_key(*name) && !name.starts_with('N'));
        self.set_again.extend(new.map(|name| (env, name.clone())));
        Some((id, file(env), bytes))
    }

    /// Remembers the names that are a workspace's own.
    fn keeps_own(
        &mut self,
        w: u8,
        env: bool,
        before: &BTreeMap<String, String>,
        now: &BTreeMap<String, String>,
        is_own: impl Fn(&str) -> bool,
    ) {
        self.own.retain(|(v, e, name), _| (*v, *e) != (w, env) || now.contains_key(name));
        let new = now.iter().filter(|(name, value)| is_own(name) && before.get(*name) != Some(*value));
        self.own.extend(new.map(|(name, value)| ((w, env, name.clone()), value.clone())));
    }

    /// A program adds a name to what it has open: the displaced file, or the one in the workspace.
    fn write_open(&mut self, w: Option<u8>, env: bool) {
        let (id, path) = (w.map(id), file(env));
        let is_there = self.state.files(id).is_some_and(|files| files.contains_key(&path));
        let mut late = self.state.late.iter_mut().filter(|(of, late)| *of == id && late.path.as_ref() == Some(&path));
        if let Some((_, late)) = late.find(|(_, late)| late.is_open) {
            self.names += 1;
            let name = format!("N{}", self.names);
            let mut now = names(env, &late.bytes);
            now.insert(name.clone(), "1".into());
            late.bytes = text(env, &now);
            if is_there {
                self.standing.insert((env, name), ());
            }
        } else if self.state.open.contains(&(id, path))
            && let Some(edit) = self.change(w, env, TextChange::Add)
        {
            self.was_edited_unhealed |= !self.state.announced.is_empty();
            self.state.edit(&edit);
        }
    }

    /// Programs close a file.
    fn close(&mut self, w: Option<u8>, env: bool) {
        let (id, path) = (w.map(id), file(env));
        for (_, late) in self.state.late.iter_mut().filter(|(of, late)| *of == id && late.path.as_ref() == Some(&path))
        {
            late.is_open = false;
        }
        self.state.open.remove(&(id, path));
    }

    /// The names in the base of a workspace.
    fn synced(&self, id: Digest, env: bool) -> BTreeSet<String> {
        let base = self.state.manifests.get(&id).and_then(|workspace| workspace.files.get(&file(env)));
        let bytes = base.and_then(|base| self.state.objects.get(&base.sha256));
        bytes.map(|bytes| names(env, bytes).into_keys().collect()).unwrap_or_default()
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
        self.state.open.remove(&(Some(id(w)), file(env)));
        self.own.retain(|(v, e, _), _| (*v, *e) != (w, env));
        let late: Vec<Vec<u8>> =
            self.state.late.iter().filter(|(of, _)| *of == Some(id(w))).map(|(_, l)| l.bytes.clone()).collect();
        for name in late.iter().flat_map(|bytes| names(bytes.first() != Some(&b'{'), bytes).into_keys()) {
            self.standing.remove(&(env, name));
        }
        if let Some((bytes, _)) = self.state.here.get_mut(&id(w)).and_then(|files| files.remove(&file(env))) {
            for name in names(env, &bytes).keys() {
                self.standing.remove(&(env, name.clone()));
            }
        }
    }

    /// At rest, one run (passes until quiet) brings everything in step, and another one writes nothing.
    pub(super) fn settle(&mut self, order: &[u8]) {
        for (id, files) in std::mem::take(&mut self.away) {
            self.state.here.insert(id, files);
        }
        for w in (0..WORKSPACES).map(Some).chain([None]) {
            [true, false].into_iter().for_each(|env| self.close(w, env));
        }
        (self.state.dies_at, self.state.raced) = (None, None);
        if self.state.program == Some(Program::Slow) {
            self.state.program = Some(Program::Right);
        }
        self.pass(order).unwrap();
        if !self.state.late.is_empty() {
            // What came late for a missing file waits until a pass has refilled the file.
            self.pass(order).unwrap();
        }
        let writes = self.state.writes;
        self.pass(order).unwrap();
        assert_eq!(self.state.writes, writes, "a second run writes nothing");
        for env in [true, false] {
            let path = file(env);
            let of =
                |files: &MemoryFiles| files.get(&path).map(|(bytes, _)| String::from_utf8_lossy(bytes).into_owned());
            let overlay = of(&self.state.overlay);
            let mut is_free = true;
            for workspace in self.state.manifests.values() {
                let here = of(&self.state.here[&workspace.id]);
                let is_cleaned = workspace.files.len() >= 2 && self.state.here[&workspace.id].is_empty();
                let is_held = workspace.held.contains_key(&path);
                is_free &= !is_held;
                // What the overlay gave up is no longer managed.
                let is_unmanaged = overlay.is_none() && !workspace.files.contains_key(&path);
                if !is_held && !workspace.deleted.contains_key(&path) && !is_cleaned && !is_unmanaged {
                    self.is_in_step(workspace, env, here.as_deref(), overlay.as_deref());
                }
            }
            is_free &= overlay.is_some();
            let found = overlay.map(|text| names(env, text.as_bytes())).unwrap_or_default();
            for (_, name) in self.standing.keys().filter(|(e, _)| *e == env && is_free) {
                assert!(found.contains_key(name), "{name} was set by one and taken away by nobody: {found:?}");
            }
        }
        self.owns_what_is_its_own();
        let is_halted = |id: &Digest| self.state.here[id].is_empty();
        assert!(self.state.intents.keys().all(|(id, _)| is_halted(id)), "{:?}", self.state.intents);
    }
}

impl Floor {
    /// Whether a workspace's file is as the policy wants it.
    fn is_in_step(&self, workspace: &Workspace, env: bool, here: Option<&str>, overlay: Option<&str>) {
        let at = format!("{} of {}", file(env), workspace.root.display());
        let base = workspace.files.get(&file(env)).map(|base| base.sha256);
        let is_base = base == overlay.map(|text| Digest::of(text.as_bytes()));
        match self.policy {
            PathPolicy::Local => {
                let shared = |text: Option<&str>| {
                    let mut all = text.map(|text| names(env, text.as_bytes()))?;
                    all.remove(LOCAL);
                    Some(all)
                };
                assert_eq!(shared(here), shared(overlay), "{at}");
            }
            PathPolicy::Down if env => assert!(is_base, "{at}"),
            _ => {
                assert_eq!(here, overlay, "{at}");
                assert!(is_base, "{at}");
            }
        }
    }

    /// What is a workspace's own is there, and nowhere else.
    fn owns_what_is_its_own(&self) {
        for ((w, env, name), value) in &self.own {
            let of = |files: &MemoryFiles| files.get(&file(*env)).map(|(bytes, _)| names(*env, bytes));
            let here = of(&self.state.here[&id(*w)]).unwrap_or_default();
            // The overlay's changes of the same name are merged in.
            let is_shared = self.policy == PathPolicy::Down && matches!(name.as_str(), SHARED | "FIRST" | LOCAL);
            if !is_shared {
                assert_eq!(here.get(name), Some(value), "{name} is its own");
                assert!(!of(&self.state.overlay).unwrap_or_default().contains_key(name), "{name} stays there");
            }
        }
    }
}

pub(super) fn text(env: bool, names: &BTreeMap<String, String>) -> Vec<u8> {
    if env {
        return names.iter().flat_map(|(name, value)| format!("{name}={value}\n").into_bytes()).collect();
    }
    serde_json::to_vec_pretty(names).unwrap()
}

pub(super) fn names(env: bool, bytes: &[u8]) -> BTreeMap<String, String> {
    if !env {
        return serde_json::from_slice(bytes).unwrap();
    }
    let text = String::from_utf8_lossy(bytes).into_owned();
    text.lines().filter_map(|line| line.split_once('=')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
}

impl StateMachineTest for Floor {
    type SystemUnderTest = Floor;
    type Reference = Anything;

    fn init_test(policy: &PathPolicy) -> Floor {
        Floor::new(*policy)
    }

    fn apply(mut floor: Floor, _: &PathPolicy, step: MachineStep) -> Floor {
        let all = [0, 1, 2];
        // Which of two texts of one moment is a workspace's own cannot be told.
        let is_own = matches!(floor.policy, PathPolicy::Local | PathPolicy::Down);
        match step {
            MachineStep::Raced(..) | MachineStep::Program(_) if is_own => {}
            MachineStep::GiveUp(env) => {
                if floor.state.overlay.contains_key(&file(!env)) {
                    floor.state.overlay.remove(&file(env));
                    floor.state.open.remove(&(None, file(env)));
                    floor.given_up.insert(env);
                    floor.standing.retain(|(e, _), ()| *e != env);
                }
            }
            MachineStep::Open(w, env) => {
                if floor.state.files(w.map(id)).is_some_and(|files| files.contains_key(&file(env))) {
                    floor.state.open.insert((w.map(id), file(env)));
                }
            }
            MachineStep::Late(w, env) if !is_own => floor.write_open(w, env),
            MachineStep::Late(..) => {}
            MachineStep::Close(w, env) => floor.close(w, env),
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
            MachineStep::Program(program) => floor.state.program = program,
        }
        floor
    }

    fn teardown(floor: Floor, _: PathPolicy) {
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
            for env in [true, false].into_iter().filter(|env| !one.given_up.contains(env)) {
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
