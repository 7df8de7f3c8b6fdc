//! What a reader finds in `current.md`: days, agents, ids, limits.

use crate::support::ledger::{CURRENT, EVENTS, event, field, section, synth};
use crate::support::world::{Repo, World, text};

/// An event of a branch, with a thing done, a decision and a question.
fn said(app: &Repo<'_>, n: usize, day: usize, agent: &str) {
    let body = format!(
        "now: work {n}\nthis_session:\n- did {n}\ndecisions:\n  key-{n}: value {n}\nopen_questions:\n- question {n}?\n\
         checkpoints:\n- phase: 1\n  status: reached {n}\n"
    );
    app.write(
        &format!("{EVENTS}/{n:04}.md"),
        &format!(
            "---\nts: 2026-01-{day:02}T{:02}:{:02}:00Z\nagent: {agent}\nbranch: feat/{agent}\n---\n{body}",
            n / 60 % 24,
            n % 60
        ),
    );
}

#[test]
fn one_agent_and_day_look_as_in_the_seed_and_more_are_grouped() {
    let w = World::new();
    let app = w.app();
    said(&app, 1, 10, "toast");
    let text = synth(&app);
    assert!(
        text.contains("**Now:** work 1\n\n### This Session\n- did 1\n\n### Decisions\n- **key-1:** value 1\n\n"),
        "{text}"
    );
    assert!(
        text.contains("\n### Open Questions\n- question 1?\n\n---\n_synthesized:\n\n    event_count: 1\n"),
        "{text}"
    );
    said(&app, 2, 11, "waffle");
    said(&app, 3, 11, "toast");
    let text = synth(&app);
    let begin = "## Ledger\n\n**Now:** work 3\n\n- **waffle** (2026-01-11): work 2\n\n… Now is by toast, 2026-01-11; `ledger-synth explain ID` tells what an entry replaced, and `ledger-synth add --resolve ID` closes a question\n\n### This Session\n\n#### 2026-01-11\n\n**toast** on `feat/toast` (";
    assert!(text.starts_with(begin), "{text}");
    let fold =
        "\n- did 2\n\n<details>\n<summary>2026-01-10: 1 item by 1 agent</summary>\n\n**toast** on `feat/toast` (";
    assert!(
        text.contains(fold)
            && text.contains("\n- did 1\n\n</details>\n\n### Decisions\n- **key-2:** value 2 (2026-01-11, waffle, "),
        "{text}"
    );
    // The decisions and questions of the newest day come first.
    let places = ["**key-2:**", "**key-3:**", "**key-1:**", "- question 2?", "- question 3?", "- question 1?"];
    assert!(places.map(|word| text.find(word).unwrap()).is_sorted(), "{text}");
    // The latest checkpoint of each agent and phase, and a count.
    assert_eq!(
        section(&text, "Checkpoints"),
        ["- Phase 1: reached 2 (2026-01-11T00:02:00Z, waffle)", "- Phase 1: reached 3 (2026-01-11T00:03:00Z, toast)"]
    );
    assert!(text.contains("\n… 1 more, earlier ones: `ledger-synth notes --since 2026-01-10`\n"), "{text}");
    // The same after the events are archived and pruned, in a clone, and in git's objects.
    app.ledger(&["archive"]).exit(0).any_out();
    assert_eq!(app.read(CURRENT), text);
    app.ledger(&["prune", "--retention", "0"]).exit(0).any_out();
    assert_eq!(synth(&app), text);
    app.sh("git add -A && git commit -qm x && git clone -q --bare . ../page.git").exit(0);
    w.at(app.path.parent().unwrap().join("page.git")).ledger(&["--check", "--tree", "HEAD"]).succeeds();
}

#[test]
fn a_page_of_a_thousand_events_is_small_and_says_what_it_leaves_out() {
    let w = World::new();
    let app = w.app();
    for n in 0..1000 {
        said(&app, n, 1 + n / 40, ["toast", "waffle", "crisp"][n % 3]);
    }
    let text = synth(&app);
    assert!(text.len() < 60_000 && text.contains("- did 999\n"), "{}", text.len());
    let shown = section(&text, "Decisions").len();
    let left = 1000 - shown;
    assert!(
        shown > 50 && text.contains(&format!("\n… {left} more: `ledger-synth notes --since 2026-01-01`\n")),
        "{shown} {text}"
    );
    // What is new is on the first screen.
    let screen: Vec<_> = text.lines().take(24).collect();
    assert!(screen.contains(&"- did 999") && screen.contains(&"#### 2026-01-25"), "{screen:?}");
    app.ledger(&["--check"]).succeeds();
    let notes = app.ledger(&["notes", "--since", "2026-01-01"]).exit(0).stdout;
    assert_eq!(section(&notes, "Decisions").len(), 1000);
}

/// On a full page, a section without rules of its own leaves room for the others, and shows what is newest.
#[test]
fn a_large_section_without_rules_keeps_no_other_away() {
    let w = World::new();
    let app = w.app();
    for n in 0..600 {
        let (ts, more) = (format!("2026-01-{:02}T{:02}:00:00Z", 1 + n / 24, n % 24), "x".repeat(80));
        // The newest is the last in the order of bytes.
        event(&app, &format!("{n}.md"), &ts, "toast", &format!("Feedback:\n- idea {n:03} {more}\n"));
    }
    event(&app, "small.md", "2026-01-01T00:00:00Z", "rusk", "Zoo:\n- one animal\nYard: swept\n");
    let page = synth(&app);
    assert!(page.len() < 10 << 10, "{}", page.len());
    assert!(section(&page, "Feedback").iter().any(|line| line.starts_with("- idea 599 ")), "{page}");
    assert!(page.contains(" more: `ledger-synth explain Feedback`\n"), "{page}");
    assert!(page.contains("\n### Yard\nswept\n\n### Zoo\n- one animal\n"), "{page}");
}

/// No text ends a fold or hides what follows it, and commits are shown as code.
#[test]
fn texts_stay_texts_in_a_page_for_readers() {
    let w = World::new();
    let app = w.app();
    event(
        &app,
        "a",
        "2026-01-10T00:00:00Z",
        "x",
        "this_session:\n- fixed in 3f2a9c01 </details> now\n- <details>\n- use `Vec<T>`\n",
    );
    event(&app, "b", "2026-01-11T00:00:00Z", "y", "now: later\n");
    event(
        &app,
        "c",
        "2026-01-12T00:00:00Z",
        "<b> z",
        "goal: no <details> here\ndecisions:\n  use <i>: x\nrisks:\n- <details> y\n",
    );
    let text = synth(&app);
    assert!(text.contains("**Goal:** no \\<details> here\n") && text.contains("- \\<details> y\n"), "{text}");
    assert!(text.contains("- **use \\u{3c}i>:** x (2026-01-12, \\u{3c}b> z, "), "{text}");
    assert_eq!(
        section(&text, "This Session"),
        ["- \\<details>", "- fixed in `3f2a9c01` \\</details> now", "- use `Vec<T>`"]
    );
    assert_eq!(text.matches("\n</details>\n").count(), 1);
    // An empty first line would make a heading of the line above.
    app.ledger(&["add", "--agent", "y", "--done", "\nfoo"]).exit(0).any_out();
    assert!(synth(&app).contains("\n- \\u{a}foo\n"));
}

#[test]
fn short_ids_name_questions_decisions_events_and_conflicts() {
    let w = World::new();
    let app = w.app();
    event(
        &app,
        "a",
        "2026-01-10T00:00:00Z",
        "toast",
        "open_questions:\n- 1. Drop Windows?\n- Which port?\ndecisions:\n  auth: jwt\n",
    );
    event(&app, "b", "2026-01-11T00:00:00Z", "waffle", "decisions:\n  auth: sessions\nthis_session:\n- wrong\n");
    let page = synth(&app);
    let id_of = |line: &str| {
        let line = page.lines().find(|own| own.starts_with(line)).unwrap_or_else(|| panic!("no {line} in {page}"));
        line.rsplit([' ', '(']).next().unwrap().trim_end_matches([')', ':']).to_owned()
    };
    let (port, auth, wrong) = (id_of("- Which port?"), id_of("- **auth:**"), id_of("**waffle**"));
    assert!([&port, &auth, &wrong].iter().all(|id| id.len() == 8), "{page}");
    app.ledger(&["explain", &port]).exit(0).out_has("open_questions: Which port?");
    app.ledger(&["explain", &auth[..7]]).exit(0).out_has("decisions.auth: sessions").out_has("jwt");
    app.ledger(&["explain", &wrong]).exit(0).out_has("this_session: wrong");
    let long = app.ledger(&["explain", &wrong, "--json"]).exit(0).stdout;
    let long = serde_json::from_str::<serde_json::Value>(long.lines().next().unwrap()).unwrap();
    app.ledger(&["explain", text(&long, "/event")]).exit(0).out_has("this_session: wrong");
    // A conflict is between agents; it is closed until one of them decides anew.
    app.ledger(&["conflicts"]).exit(0).out_has(&format!("{auth} decisions.auth: sessions"));
    app.ledger(&["conflicts", "--close", &auth[..5]]).exit(0).out_has(EVENTS);
    app.ledger(&["conflicts"]).exit(0).err_has("nobody disagrees");
    app.ledger(&["conflicts", "--close", &auth]).exit(1).err_has("there is no open conflict");
    app.ledger(&["add", "--agent", "toast", "--decision", "auth=sessions"]).exit(0).any_out();
    app.ledger(&["conflicts"]).exit(0).err_has("nobody disagrees");
    app.ledger(&["add", "--agent", "crisp", "--decision", "auth=oauth"]).exit(0).any_out();
    app.ledger(&["conflicts"]).exit(0).out_has("decisions.auth: oauth");
    app.ledger(&["conflicts", "--close", "auth"]).exit(0).any_out();
    assert!(!synth(&app).contains("closed_conflicts"));
    // A question is resolved by its id, or without its number.
    app.ledger(&["add", "--resolve", &port[..6]]).exit(0).any_out();
    app.ledger(&["add", "--resolve", "Drop Windows?"]).exit(0).any_out();
    app.ledger(&["add", "--resolve", &port]).exit(1).err_has("there is no open question");
    assert_eq!(section(&synth(&app), "Open Questions"), Vec::<String>::new());
    app.ledger(&["retract", &wrong]).exit(0).any_out();
    assert!(!synth(&app).contains("wrong"));
    // Ids that begin alike are not guessed at.
    for n in 0..40 {
        event(&app, &format!("q{n}"), "2026-01-12T00:00:00Z", "z", &format!("open_questions:\n- q{n}?\n"));
    }
    let count = |prefix: &str| synth(&app).lines().filter(|line| line.contains(&format!(", z, {prefix}"))).count();
    let prefix = ('a'..='z').map(String::from).find(|prefix| count(prefix) > 1).unwrap();
    app.ledger(&["add", "--resolve", &prefix]).exit(1).err_has("open questions");
}

/// A resolution without the number that the question has, written into the file by hand.
#[test]
fn a_number_before_a_question_does_not_count() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T00:00:00Z", "x", "open_questions:\n- 2. Drop Windows?\n- 3. Stay?\n");
    event(&app, "b", "2026-01-10T01:00:00Z", "x", "resolved:\n- Drop Windows?\n");
    assert_eq!(section(&synth(&app), "Open Questions"), ["- 3. Stay?"]);
    // Questions that differ in nothing but the number are several.
    event(&app, "a", "2026-01-10T00:00:00Z", "x", "open_questions:\n- 1. Drop Windows?\n- 2. Drop Windows?\n");
    assert_eq!(section(&synth(&app), "Open Questions").len(), 2);
    app.ledger(&["add", "--resolve", "Drop Windows?"]).exit(1).err_has("fits 2 open questions");
}

/// A time that nobody can read does not make a checkpoint the latest for ever.
#[test]
fn the_latest_checkpoint_is_the_latest_whatever_its_time_looks_like() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T00:00:00Z", "x", "checkpoints:\n- phase: 5\n  status: begun\n  updated: yesterday\n");
    event(&app, "b", "2026-01-12T00:00:00Z", "x", "checkpoints:\n- phase: 5\n  status: validated\n");
    assert_eq!(section(&synth(&app), "Checkpoints"), ["- Phase 5: validated (2026-01-12T00:00:00Z, x)"]);
    app.ledger(&["banner"]).exit(0).out_has("- Phase 5: validated");
}

#[test]
fn notes_say_what_was_decided_and_done_since_a_tag_or_a_day() {
    let w = World::new();
    let app = w.app();
    said(&app, 1, 10, "toast");
    app.sh("git add -A && GIT_COMMITTER_DATE=2026-01-10T12:00:00Z git commit -qm x && git tag v1").exit(0);
    said(&app, 2, 11, "waffle");
    let all = app.ledger(&["notes"]).exit(0).stdout;
    assert!(all.starts_with("## Notes\n\n### Decisions\n- **key-1:** value 1 (2026-01-10, toast, "), "{all}");
    for since in ["v1", "2026-01-11", "2026-01-11T00:00:00Z", "HEAD"] {
        let new = app.ledger(&["notes", "--since", since]).exit(0).stdout;
        let begin = format!("## Notes since {since}\n\n### Decisions\n- **key-2:** value 2 (2026-01-11, waffle, ");
        assert!(
            new.starts_with(&begin) && new.contains("\n### Done\n\n#### 2026-01-11\n\n**waffle** on `feat/waffle` ("),
            "{new}"
        );
        assert!(!new.contains("did 1"), "{new}");
    }
    // A tag may look like a number, and a branch that is merged later brings older events.
    app.sh("git tag 1.2 v1 && git switch -q -c late v1").exit(0);
    said(&app, 3, 5, "crisp");
    app.sh("git add -A && git commit -qm late && git switch -q main && git merge -q --no-edit late").exit(0).any_out();
    let late = app.ledger(&["notes", "--since", "1.2"]).exit(0).stdout;
    assert!(late.contains("did 3") && !late.contains("did 1"), "{late}");
    app.sh(&format!("git rm -q {EVENTS}/0003.md")).exit(0);
    app.ledger(&["notes", "--since", "v9"]).exit(2).err_has("`v9` is not a tag");
    app.ledger(&["notes", "--since", "2027-01-01"]).exit(0).err_has("nothing was said");
    let lines = app.ledger(&["notes", "--since", "v1", "--json"]).exit(0).json_lines();
    let said: Vec<_> =
        lines.iter().map(|line| (text(line, "/section"), text(line, "/text"), text(line, "/agent"))).collect();
    let want = [
        ("decisions", "value 2", "waffle"),
        ("this_session", "did 2", "waffle"),
        ("checkpoints", "reached 2", "waffle"),
        ("open_questions", "question 2?", "waffle"),
    ];
    assert_eq!(said, want);
    assert_eq!(app.ledger(&["notes", "--agent", "toast", "--json"]).exit(0).json_lines().len(), 4);
}

/// 60 events with a question and a decision each: a session is told of at least twenty of both.
#[test]
fn the_context_of_a_session_has_room_for_each_section() {
    let w = World::new();
    let app = w.app();
    for n in 0..60 {
        let body = format!(
            "goal: ship it\nnow: work on part {n}\nthis_session:\n- did part {n}\ndecisions:\n  part-{n}: chosen because of the reasons of {n}\n\
             open_questions:\n- shall part {n} be written again, or wait for the next?\n"
        );
        event(
            &app,
            &format!("{n:02}"),
            &format!("2026-01-10T{:02}:{:02}:00Z", n / 60, n % 60),
            &format!("agent-{}", n % 5),
            &body,
        );
    }
    let answer = app.ledger(&["banner", "--for-hook", "claude"]).exit(0).json();
    let context = text(&answer, "/hookSpecificOutput/additionalContext");
    assert!(context.len() <= 10_000, "{}", context.len());
    let count = |word: &str| context.lines().filter(|line| line.contains(word)).count();
    assert!(count("be written again") >= 20 && count("chosen because") >= 20, "{context}");
    assert_eq!(context.lines().filter(|line| line.starts_with("   • ")).count(), 10);
    for part in [
        "Goal: ship it",
        "Now, by agent:",
        "more: `ledger-synth explain open_questions`",
        "more: `ledger-synth explain decisions`",
        "Leave word",
    ] {
        assert!(context.contains(part), "no {part}: {context}");
    }
    // The newest come first.
    let at = |what: &str| context.find(what).unwrap_or_else(|| panic!("no {what}: {context}"));
    assert!(at("part-59: ") < at("part-58: ") && at("part 59 be") < at("part 58 be"));
    // Less room is shared out as well.
    let answer = app.ledger(&["banner", "--for-hook", "claude", "--max-bytes", "3000"]).exit(0).json();
    let context = text(&answer, "/hookSpecificOutput/additionalContext");
    assert!(context.len() <= 3000 && context.contains("Decisions:") && context.contains("Open questions"), "{context}");
}

#[test]
fn the_last_second_of_9999_is_a_time() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "9999-12-31T23:59:59Z", "x", "now: far\n");
    app.ledger(&["--no-confirm"]).exit(0).any_out().err_has("its time is in the future: 9999-12-31T23:59:59Z");
    assert_eq!(field(&app.read(CURRENT), "latest_ts"), "9999-12-31T23:59:59Z");
    app.ledger(&["add", "--now", "today"]).exit(0).any_out();
    app.ledger(&["retract", "a.md"]).exit(0).any_out();
    assert!(synth(&app).contains("**Now:** today"));
}

#[test]
fn code_that_its_text_closes_is_shown_as_code() {
    let w = World::new();
    let app = w.app();
    let text = "Fixed it:\n```sh\n# twice\nmake test\n```\nthen more";
    app.ledger(&["add", "--agent", "ada", "--done", text]).exit(0).any_out();
    let page = synth(&app);
    assert!(page.contains("- Fixed it:\n  ```sh\n  # twice\n  make test\n  ```\n  then more\n"), "{page}");
    // One that is open could hide all that follows.
    app.ledger(&["add", "--agent", "ada", "--done", "Again:\n```sh\nmake"]).exit(0).any_out();
    let page = synth(&app);
    assert!(page.contains("- Again:\n  \\```sh\n  make\n") && page.contains("\n  ```sh\n  # twice\n"), "{page}");
}
