//! What the text of an event means.

use std::collections::BTreeSet;

use crate::support::ledger::{CURRENT, EVENTS, event, run_with_input, section, synth};
use crate::support::sweep::rounds;
use crate::support::world::{World, text};

#[test]
fn a_frontmatter_that_is_not_yaml_is_read_as_written() {
    let w = World::new();
    let app = w.app();
    for (n, line) in [
        "title: Fix: the cache",
        "title: `foo` removed",
        "title: [WIP] parser",
        "title: @me",
        "reason: \"a\" then",
        "tags: [a, b",
    ]
    .iter()
    .enumerate()
    {
        app.write(
            &format!("{EVENTS}/{n}.md"),
            &format!("---\nts: 2026-01-0{}T00:00:00Z\nagent: x\n{line}\n---\nnow: n\n", n + 1),
        );
    }
    let json = app.ledger(&["banner", "--json"]).exit(0).json();
    assert_eq!(json["event_count"], 6);
    let titles: Vec<_> = json["events"].as_array().unwrap().iter().map(|e| text(e, "/title")).collect();
    assert_eq!(titles[2..], ["@me", "[WIP] parser", "`foo` removed", "Fix: the cache"]);
}

/// An agent that has read `current.md` may write in its form.
#[test]
fn an_event_may_look_like_current_md() {
    let w = World::new();
    let app = w.app();
    let body = "## Ledger\n\n**Goal:** Ship\n\n**Now:** Test\n\n### This Session\n- did: x\n\n## Decisions:\n- **lexer:** by hand\n- parser: own\n  why: faster\n\n## Next\n1. one\n2. two\n\n## C#\n- x\n";
    event(&app, "a", "2026-01-10T00:00:00Z", "x", body);
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!((text(&json, "/goal"), text(&json, "/now"), text(&json, "/this_session/0")), ("Ship", "Test", "did: x"));
    assert_eq!(json["decisions"], serde_json::json!({ "lexer": "by hand", "parser": "own\nwhy: faster" }));
    assert_eq!(json["other"], serde_json::json!({ "C#": ["x"], "Next": ["1. one", "2. two"] }));
}

#[test]
fn a_comment_after_a_quoted_text_is_text() {
    let w = World::new();
    let app = w.app();
    let body =
        "this_session:\n- \"foo\" # see \"bar\"\n- 'a' and 'b'\n- [x, y] # see [z]\ndecisions:\n- {gone: null}\n";
    event(&app, "a", "2026-01-10T00:00:00Z", "x", body);
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!(json["this_session"], serde_json::json!(["\"foo\" # see \"bar\"", "'a' and 'b'", "[x, y] # see [z]"]));
    assert_eq!(json["decisions"], serde_json::json!({}));
}

#[test]
fn a_body_may_be_indented_or_fenced_as_a_whole() {
    let w = World::new();
    let app = w.app();
    event(
        &app,
        "a",
        "2026-01-10T00:00:00Z",
        "x",
        "  now: indented\n  this_session:\n  - one\n    more\n  decisions:\n    k: v\n",
    );
    event(&app, "b", "2026-01-09T00:00:00Z", "x", "```yaml\ngoal: fenced\nthis_session:\n- two\n```\n");
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!((text(&json, "/now"), text(&json, "/goal"), text(&json, "/decisions/k")), ("indented", "fenced", "v"));
    assert_eq!(json["this_session"], serde_json::json!(["one more", "two"]));
    run_with_input(&app, &["add"], "now: x\n<<<<<<< HEAD\n").exit(2).err_has("stdin:2: git's conflict markers");
    let id = app.ledger(&["retract", "a.md"]).exit(0).stdout;
    app.ledger(&["retract", id.trim()]).exit(1).err_has("cannot be undone");
}

/// Words in flow collections are kept as written, and bold keys may have the colon inside or outside.
#[test]
fn numbers_and_bold_keys_are_kept_as_written() {
    let w = World::new();
    let app = w.app();
    let body = "decisions:\n- {python: 3.10}\n- **lexer**: by hand\n- **parser:** own\nversions: [1.10, 007, 1e3, 0x1f, true, ~, '1.0', a: b]\ncheckpoints: [{phase: 5.10, status: ok}]\n";
    event(&app, "a", "2026-01-10T00:00:00Z", "x", body);
    event(&app, "b", "2026-01-09T00:00:00Z", "x", "goal: |\n\ttabbed\n\tmore\n");
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!(json["decisions"], serde_json::json!({ "python": "3.10", "lexer": "by hand", "parser": "own" }));
    assert_eq!((text(&json, "/checkpoints/0/phase"), text(&json, "/goal")), ("5.10", "tabbed\nmore"));
    for word in ["1.10", "007", "1e3", "0x1f", "true", "1.0"] {
        assert!(json["other"]["versions"].as_array().unwrap().iter().any(|v| v == word), "{word}: {json}");
    }
}

#[test]
fn hostile_bodies_cost_little_and_touch_no_other_event() {
    let w = World::new();
    let app = w.app();
    event(&app, "good", "2026-01-10T00:00:00Z", "x", "now: good\n");
    let nasty = [
        "[", "{", "- ", "\"", "'", "a: ", ": ", "#", "|\n ", "  - x\n", "```\n", "\\", "&a ", "*a ", "!", "?", "~\n",
        "<!--",
    ];
    for (n, piece) in nasty.iter().enumerate() {
        let body = piece.repeat(rounds(1 << 18, 1 << 20) / piece.len() - 200);
        event(&app, &format!("n{n}"), "2026-01-09T00:00:00Z", "x", &body);
        event(&app, &format!("l{n}"), "2026-01-09T00:00:00Z", "x", &format!("blockers:\n- {body}"));
    }
    let start = std::time::Instant::now();
    let text = synth(&app);
    // This deadline is no benchmark: reading a mebibyte in quadratic time takes minutes.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    assert!(text.contains("**Now:** good\n"));
    let growing = |range: &mut dyn Iterator<Item = usize>| range.map(|n| "`".repeat(n) + "x\n\n").collect::<String>();
    let fences = growing(&mut (67..140)) + &"```x\n\n".repeat(100_000);
    event(&app, "fences", "2026-01-09T00:00:00Z", "x", &fences);
    event(&app, "growing", "2026-01-09T00:00:00Z", "x", &growing(&mut (3..1_000)));
    event(&app, "shrinking", "2026-01-09T00:00:00Z", "x", &growing(&mut (3..1_000).rev()));
    synth(&app);
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    app.write(
        &format!("{EVENTS}/front.md"),
        &format!("---\nts: 2026-01-10T00:00:00Z\nagent: {}\n---\n", "[".repeat(100_000)),
    );
    app.ledger(&["--no-confirm"]).succeeds().err_has("front.md:1: the frontmatter is larger than 16 KiB");
}

/// Case 4 of the design.
#[test]
fn bullets_are_kept_as_written() {
    let w = World::new();
    let app = w.app();
    let bullets = ["Fixed: the cache", "[x] done", "`foo` removed", "@me asked", "issue #12 fixed", "10", "true", "~"];
    let body: String = bullets.iter().map(|text| format!("- {text}\n")).collect();
    event(&app, "a", "2026-01-10T00:00:00Z", "x", &format!("this_session:\n{body}"));
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    let found: BTreeSet<_> = json["this_session"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    assert_eq!(found, bullets.into());
    let shown: BTreeSet<_> = section(&app.read(CURRENT), "This Session").into_iter().collect();
    assert_eq!(shown, bullets.iter().map(|text| format!("- {text}")).collect());
}

/// Case 5 of the design.
#[test]
fn decision_keys_and_values_are_kept_as_written() {
    let w = World::new();
    let app = w.app();
    let body = "decisions:\n  Checkpoint vs Handoff: use \"x\" here: now\n  dash-key: b\n";
    event(&app, "a", "2026-01-10T00:00:00Z", "x", body);
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!(json["decisions"]["Checkpoint vs Handoff"], "use \"x\" here: now");
    assert_eq!(json["decisions"]["dash-key"], "b");
}

#[test]
fn prose_below_a_heading_is_no_section_and_bullets_are_not_folded() {
    let w = World::new();
    let app = w.app();
    let body = "## Decisions\nWe settled these today:\n- lexer: by hand\n\n## This Session\n- Fixed the hooks:\n  - wrapped\n  - compiled\n- Ran\n  ```\n  cargo test\n  ```\n\nNext-Steps:\n- ship\n";
    event(&app, "a", "2026-01-10T00:00:00Z", "x", body);
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!(json["decisions"], serde_json::json!({ "lexer": "by hand" }));
    assert_eq!(
        json["this_session"],
        serde_json::json!(["Fixed the hooks:\n- wrapped\n- compiled", "Ran\n```\ncargo test\n```"])
    );
    assert_eq!(json["other"], serde_json::json!({ "Next-Steps": ["ship"], "notes": ["We settled these today:"] }));
    event(&app, "b", "2026-01-10T00:00:00Z", "x", "decission:\n- y\n");
    app.ledger(&["lint"]).exit(0).out_has("the section `decission` is shown on its own; did you mean `decisions`?");
    run_with_input(&app, &["add"], "this_sesion:\n- x\n").exit(0).any_out().err_has("did you mean `this_session`?");
}
