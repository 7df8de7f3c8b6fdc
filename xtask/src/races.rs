//! The tests that are about races, or failed because of one: `cargo xtask nightly` repeats them under load.

/// Tests about races, and tests that a race once broke. `cargo xtask tidy` checks that each exists.
pub const RACES: [&str; 21] = [
    "ledger_synth::concurrency::synthesisers_and_writers_at_once_lose_nothing",
    "ledger_synth::git::commits_at_once_undo_nothing_of_each_other",
    "ledger_synth::check::check_works_in_a_read_only_checkout",
    "overlay_sync::sync::simultaneous_syncs_lose_no_edit",
    "overlay_sync::watch::edits_under_watch_arrive_even_while_one_side_never_rests",
    "overlay_sync::watch::worktrees_that_come_and_go_do_not_end_a_watch",
    "sweatfile_apply::parallel::sixteen_worktrees_at_once_lose_no_exclude_line",
    "sweatfile_apply::concurrent_changes::a_file_that_appears_while_apply_runs_is_kept",
    "sweatfile_apply::concurrent_changes::a_variable_added_while_apply_runs_is_not_lost",
    "sweatfile_apply::concurrent_changes::removing_one_worktree_keeps_the_exclude_lines_of_another",
    "worktree_spawn::forwarding::an_agent_that_outlives_its_parent_reports_to_the_next_ancestor",
    "worktree_spawn::events::an_event_is_delivered_again_when_its_lease_ends",
    "worktree_spawn::events::publishing_while_a_wait_begins_never_hangs_it",
    "worktree_spawn::mcp::a_client_that_disconnects_while_it_waits_takes_no_event",
    "shopfloor::reap::a_worker_gets_no_task_while_its_set_up_runs_and_its_programs_go_with_it",
    "worker_ctl::daemon::up_starts_new_workers_adopts_sessions_and_ends_with_down",
    "worker_ctl::delivery::a_prompt_arrives_byte_for_byte_and_once",
    "worker_ctl::accept::concurrent_accepts_and_patrols_land_one_after_the_other",
    "worker_ctl::sessions::no_process_outlives_down",
    "worker_ctl::typing::a_running_up_waits_with_its_text_until_nobody_types",
    "worker_ctl::typing::nothing_is_typed_into_a_persons_line",
];
