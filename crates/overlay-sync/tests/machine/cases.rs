//! Single cases of the state machine: some were found by chance, others are too rare for that.

use proptest_state_machine::StateMachineTest;

use super::floor::{Floor, names, text};
use super::ground::Program;
use super::steps::{MachineStep, PathPolicy, SHARED, TextChange, file, id};
use crate::apply::recovery::planned_write;
use crate::apply::workspace_plan::PlannedFile;
use crate::plan::{Decision, Step, WriteStep};
use crate::storage::ReadFile;

impl Floor {
    /// The state after these steps.
    fn after(policy: PathPolicy, steps: &[MachineStep]) -> Floor {
        steps
            .iter()
            .fold(Floor::new(policy), |floor, step| <Floor as StateMachineTest>::apply(floor, &policy, step.clone()))
    }
}

/// What a killed run wrote into a workspace is not an edit of that workspace: once removed elsewhere, it stays away.
#[test]
fn a_killed_runs_write_does_not_come_back() {
    let mut floor = Floor::new(PathPolicy::Plain);
    let edit = floor.change(Some(0), false, TextChange::Add).unwrap();
    floor.state.edit(&edit);
    let start = floor.clone();
    floor.pass(&[0, 1, 2]).unwrap();
    assert!(floor.state.writes >= start.state.writes + 8);
    for at in start.state.writes..floor.state.writes {
        for order in [[0, 1, 2], [2, 0, 1]] {
            let mut killed = start.clone();
            killed.state.dies_at = Some(at);
            killed.pass(&[0, 1, 2]);
            let edit = killed.change(Some(0), false, TextChange::Take(1)).unwrap();
            killed.state.edit(&edit);
            killed.settle(&order);
            let found = names(false, &killed.state.overlay[&file(false)].0);
            assert!(!found.contains_key("N1"), "after a kill at {at}, in order {order:?}: {found:?}");
        }
    }
}

/// A program saves in place, with two writes: what the first one lacks is no removal.
#[test]
fn a_text_that_is_completed_while_it_is_synced_keeps_what_it_had() {
    for env in [true, false] {
        let mut floor = Floor::new(PathPolicy::Plain);
        for _ in 0..6 {
            let edit = floor.change(Some(1), env, TextChange::Add).unwrap();
            floor.state.edit(&edit);
        }
        floor.pass(&[0, 1, 2]).unwrap();
        let other = floor.change(Some(0), env, TextChange::Add).unwrap();
        floor.state.edit(&other);
        let whole = (Some(id(1)), file(env), floor.state.here[&id(1)][&file(env)].0.clone());
        let mut torn = names(env, &whole.2);
        torn.retain(|name, _| !["N5", "N6"].contains(&name.as_str()));
        floor.state.edit(&(whole.0, file(env), text(env, &torn)));
        let start = floor.clone();
        floor.pass(&[0, 1, 2]).unwrap();
        for at in start.state.writes..floor.state.writes {
            for is_killed in [true, false] {
                let mut floor = start.clone();
                match is_killed {
                    true => floor.state.dies_at = Some(at),
                    false => floor.state.raced = Some((at, whole.clone())),
                }
                floor.pass(&[0, 1, 2]);
                if floor.state.raced.take().is_some() || is_killed {
                    floor.state.edit(&whole);
                }
                floor.settle(&[0, 1, 2]);
                let found = names(env, &floor.state.overlay[&file(env)].0);
                let all = (1..8).map(|n| format!("N{n}"));
                let lost: Vec<String> = all.filter(|name| !found.contains_key(name)).collect();
                assert!(lost.is_empty(), "{lost:?} after {at}, killed: {is_killed}: {found:?}");
                assert!(floor.state.conflicts.is_empty());
            }
        }
    }
}

/// A right answer is not asked for again, wherever the run dies after it arrived.
#[test]
fn the_merge_command_is_not_asked_twice() {
    let mut floor = Floor::new(PathPolicy::Plain);
    floor.state.program = Some(Program::Right);
    for (w, value) in [(0, 1), (1, 2)] {
        let edit = floor.change(Some(w), false, TextChange::Shared(value)).unwrap();
        floor.state.edit(&edit);
    }
    let start = floor.clone();
    floor.pass(&[0, 1, 2]).unwrap();
    assert_eq!((floor.state.asked, floor.state.conflicts.len()), (1, 0));
    let mut remembered = 0;
    for at in start.state.writes..floor.state.writes {
        let mut killed = start.clone();
        killed.state.dies_at = Some(at);
        killed.pass(&[0, 1, 2]);
        let knew = !killed.state.intents.is_empty();
        remembered += usize::from(knew);
        let asked = killed.state.asked;
        killed.settle(&[0, 1, 2]);
        assert!(!knew || killed.state.asked == asked, "asked again after a kill at {at}");
        assert_eq!(names(false, &killed.state.overlay[&file(false)].0)[SHARED], "2");
    }
    assert!(remembered >= 3, "{remembered}");
}

/// A pass that writes neither side announces something about its own workspace only: others do not hold that base.
#[test]
fn a_base_that_moves_without_a_write_concerns_one_workspace() {
    let side = |text: &str| Some(ReadFile::new(text.into(), 0o600));
    let write = WriteStep::plain(None, None, b"o".to_vec(), crate::sync_action::SyncRule::Merge);
    let seen = crate::facts::file_view::SeenFile {
        path: file(true),
        base: None,
        base_bytes: None,
        overlay: side("o"),
        here: side("x"),
        arrivals: Vec::new(),
        policy: crate::settings::Policy::default(),
        may_ask: false,
        left_alone: None,
    };
    let planned = PlannedFile { seen, decision: Decision { step: Step::Write(Box::new(write)), part: None } };
    let floor = Floor::new(PathPolicy::Plain);
    let write = planned_write(&floor.state.manifests[&id(1)], &planned).unwrap();
    assert_eq!((write.workspace, write.writes_here), (Some(id(1)), false));
}

/// A case that was found by chance: one workspace removes a name that another one, which had removed it too, sets again.
#[test]
fn setting_again_what_another_edit_removed_is_a_dispute() {
    let edit = |w, change| MachineStep::Edit(Some(w), false, change);
    let gone = [edit(0, TextChange::Take(0)), MachineStep::Clean(2), edit(2, TextChange::Add)];
    let steps = gone.into_iter().chain([MachineStep::Pass(vec![2]), edit(2, TextChange::Stale)]);
    let floor = steps.fold(Floor::new(PathPolicy::Plain), |floor, step| Floor::apply(floor, &PathPolicy::Plain, step));
    Floor::teardown(floor, PathPolicy::Plain);
}

/// Cases that were found by chance, with writers that know an old text: variables in another order, and a text that a
/// killed run had written.
#[test]
fn an_old_view_takes_nothing_away_in_any_order_of_lines() {
    let edit = |w, change| MachineStep::Edit(Some(w), true, change);
    let one = [edit(0, TextChange::Shared(2)), edit(1, TextChange::Add), MachineStep::Killed(12)];
    let one = one.into_iter().chain([edit(2, TextChange::Add), edit(1, TextChange::Shared(1))]);
    let other = [edit(1, TextChange::Add), edit(0, TextChange::Add), MachineStep::Killed(20), edit(2, TextChange::Add)];
    let other = other.into_iter().chain([MachineStep::Pass(vec![0, 1, 2]), edit(2, TextChange::Stale)]);
    for steps in [one.collect::<Vec<_>>(), other.collect()] {
        let floor = steps
            .into_iter()
            .fold(Floor::new(PathPolicy::Plain), |floor, step| Floor::apply(floor, &PathPolicy::Plain, step));
        Floor::teardown(floor, PathPolicy::Plain);
    }
}

/// A case that was found by chance: a workspace's own variable stands between others that both sides added.
#[test]
fn what_is_a_workspaces_own_is_at_rest_after_one_run() {
    let edit = |w, change| MachineStep::Edit(Some(w), true, change);
    let steps = [edit(2, TextChange::Own(0)), edit(2, TextChange::Add), MachineStep::Away(2), edit(1, TextChange::Add)];
    let steps = steps.into_iter().chain([MachineStep::Pass(vec![0, 1])]);
    let floor = steps.fold(Floor::new(PathPolicy::Local), |floor, step| Floor::apply(floor, &PathPolicy::Local, step));
    Floor::teardown(floor, PathPolicy::Local);
}

/// An intent is forgotten when the overlay gives its file up before it is executed.
#[test]
fn an_intent_about_a_file_that_was_given_up_is_forgotten() {
    use MachineStep::{Edit, GiveUp, Killed, Raced};
    let steps = [
        GiveUp(true),
        Raced(1, 0, true),
        Edit(None, true, TextChange::Add),
        Killed(5),
        GiveUp(true),
        Edit(Some(0), false, TextChange::Add),
    ];
    let floor = Floor::after(PathPolicy::Propagate, &steps);
    assert_eq!(floor.state.intents.len(), 1);
    floor.clone().settle(&[0, 1, 2]);
}

/// Nothing waits in a file that the overlay has given up.
#[test]
fn a_part_does_not_wait_in_a_file_that_was_given_up() {
    use MachineStep::{Delete, Edit, GiveUp, Pass};
    let steps = [
        Edit(None, false, TextChange::Take(85)),
        Pass(vec![0]),
        Edit(Some(0), false, TextChange::Shared(0)),
        Delete(0, true),
        GiveUp(false),
        Pass(vec![0, 1, 2]),
    ];
    let floor = Floor::after(PathPolicy::Grow, &steps);
    assert!(floor.state.manifests[&id(0)].held.is_empty());
}

/// Sides that a pass leaves with one text agree, although they disagreed about an entry before: nothing of it waits.
#[test]
fn nothing_waits_where_both_sides_end_with_one_text() {
    use MachineStep::{Delete, Edit, Hold, Pass, Raced};
    let steps = [
        Edit(Some(2), true, TextChange::Shared(1)),
        Edit(Some(0), true, TextChange::Add),
        Pass(vec![0, 1, 2]),
        Edit(Some(0), false, TextChange::Add),
        Raced(0, 1, true),
        Delete(0, false),
        Hold(true),
        Edit(None, true, TextChange::Stale),
        Edit(Some(1), true, TextChange::Shared(0)),
    ];
    let mut floor = Floor::after(PathPolicy::Plain, &steps);
    floor.pass(&[0, 1, 2]).unwrap();
    let workspace = &floor.state.manifests[&id(1)];
    assert_eq!(floor.state.here[&id(1)][&file(true)].0, floor.state.overlay[&file(true)].0);
    assert!(workspace.held.is_empty(), "{:?}", workspace.held);
}
