//! What can happen in the state machine, and under which policies.

use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;
use shopfloor_core::config::{Row, Setting, SettingSource, SettingType, Trust, Value};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use super::ground::Program;
use crate::settings::Glob;

pub(super) const WORKSPACES: u8 = 3;
pub(super) const NOW: &str = "2026-01-01T00:00:00Z";
/// The name that several edits set differently. Every other name is set by one edit alone.
pub(super) const SHARED: &str = "SHARED";
/// The name that stays in its workspace under [`PathPolicy::Local`].
pub(super) const LOCAL: &str = "LOCAL";

/// How the paths of a run are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PathPolicy {
    #[default]
    Plain,
    /// `local = ["LOCAL"]`
    Local,
    /// `direction = "down"` for `.env`
    Down,
    /// `delete = "propagate"`
    Propagate,
    /// `policy = "grow"`
    Grow,
    /// `.env` is declared, and at first no side has it.
    Declared,
}

impl PathPolicy {
    pub(super) fn rule(self) -> Option<(Glob, Row)> {
        let (name, setting, text) = match self {
            PathPolicy::Plain | PathPolicy::Declared => return None,
            PathPolicy::Local => ("*", "local", LOCAL),
            PathPolicy::Down => (".env", "direction", "down"),
            PathPolicy::Propagate => ("*", "delete", "propagate"),
            PathPolicy::Grow => ("*", "policy", "grow"),
        };
        let setting = Setting::new(setting, "", SettingType::Text, Trust::Open);
        let value = Value { text: text.into(), items: vec![text.into()], source: SettingSource::Flag };
        let row = Row { setting: "path", name: name.into(), values: vec![(setting, value)] };
        Some((Glob::parse(name).unwrap(), row))
    }

    /// Whether a workspace's changes of this file stay there.
    pub(super) fn is_down(self, env: bool) -> bool {
        self == PathPolicy::Down && env
    }
}

pub(super) fn id(w: u8) -> Digest {
    Digest::of(&[w])
}

pub(super) fn file(env: bool) -> RelPath {
    RelPath::parse(if env { ".env" } else { "settings.json" }).unwrap()
}

/// What somebody does to a text.
#[derive(Clone, Copy, Debug)]
pub(super) enum TextChange {
    /// Sets a name that nobody else sets.
    Add,
    /// Sets a name that others may set too.
    Shared(u8),
    /// Removes one of the names.
    Take(u8),
    /// Writes the text as it was at the start.
    Stale,
    /// Sets the name that may be the workspace's own.
    Own(u8),
}

#[derive(Clone, Debug)]
pub(super) enum MachineStep {
    /// Somebody changes a file of a workspace, or of the overlay.
    Edit(Option<u8>, bool, TextChange),
    Delete(u8, bool),
    /// The overlay's file is deleted.
    GiveUp(bool),
    /// A program opens a file of a workspace or of the overlay, adds a name to what it has open, or closes it.
    Open(Option<u8>, bool),
    Late(Option<u8>, bool),
    Close(Option<u8>, bool),
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
pub(super) struct Anything;

impl ReferenceStateMachine for Anything {
    type State = PathPolicy;
    type Transition = MachineStep;

    fn init_state() -> BoxedStrategy<PathPolicy> {
        use PathPolicy as Is;
        let special =
            prop_oneof![Just(Is::Local), Just(Is::Down), Just(Is::Propagate), Just(Is::Grow), Just(Is::Declared)];
        prop_oneof![1 => Just(Is::Plain), 1 => special].boxed()
    }

    fn transitions(_: &PathPolicy) -> BoxedStrategy<MachineStep> {
        let w = || 0..WORKSPACES;
        let change = prop_oneof![
            5 => Just(TextChange::Add),
            3 => (0..4u8).prop_map(TextChange::Shared),
            2 => any::<u8>().prop_map(TextChange::Take),
            1 => Just(TextChange::Stale),
            1 => any::<u8>().prop_map(TextChange::Own),
        ];
        let whose = prop_oneof![6 => w().prop_map(Some), 1 => Just(None)];
        let side = || prop_oneof![3 => w().prop_map(Some), 1 => Just(None)];
        let program = prop_oneof![Just(Program::Right), Just(Program::Wrong), Just(Program::Slow)];
        prop_oneof![
            10 => (whose, any::<bool>(), change).prop_map(|(w, env, change)| MachineStep::Edit(w, env, change)),
            1 => (w(), any::<bool>()).prop_map(|(w, env)| MachineStep::Delete(w, env)),
            1 => any::<bool>().prop_map(MachineStep::GiveUp),
            1 => (side(), any::<bool>()).prop_map(|(w, env)| MachineStep::Open(w, env)),
            2 => (side(), any::<bool>()).prop_map(|(w, env)| MachineStep::Late(w, env)),
            1 => (side(), any::<bool>()).prop_map(|(w, env)| MachineStep::Close(w, env)),
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

    fn apply(policy: PathPolicy, _: &MachineStep) -> PathPolicy {
        policy
    }
}
