//! ledger-synth: what writes events, and what greets a session.

use std::io::Write;
use std::process::Stdio;

use crate::support::ledger::{CURRENT, EVENTS, event, field, section, synth};
use crate::support::world::{Checked, Output, Repo, World, text, write};

/// Runs ledger-synth with this on stdin.
#[track_caller]
pub fn fed(repo: &Repo<'_>, args: &[&str], input: &str) -> Output {
    let mut child = repo.world.command(repo.world.path("bin/ledger-synth"));
    let child = child.args(args).current_dir(&repo.path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.stderr(Stdio::piped()).spawn().unwrap();
    // A command that reads nothing has closed it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Output::from(format!("ledger-synth {}", args.join(" ")), child.wait_with_output().unwrap())
}

#[test]
fn add_writes_every_section_and_tells_what_it_wrote() {
    let w = World::new();
    let app = w.app();
    let args = [
        "add",
        "--now",
        "- dashed: 'now'",
        "--goal",
        "ship # it",
        "--done",
        "-x",
        "--done",
        "two\nlines",
        "--decision",
        "k=v=w",
        "--decision",
        "gone=",
        "--question",
        "why?",
        "--question",
        "how?",
        "--resolve",
        "how?",
        "--checkpoint",
        "5a:in-progress: half",
        "--agent",
        "to/../ast é",
        "--type",
        "note",
        "--reason",
        "r",
        "--title",
        "t: t",
        "--json",
    ];
    let now = [("SHOPFLOOR_NOW", "2026-01-10T13:03:52.5Z")];
    let out = app.run_with("ledger-synth", &args, &now).exit(0).json();
    assert_eq!((text(&out, "/agent"), text(&out, "/ts")), ("to/../ast é", "2026-01-10T13:03:52.5Z"));
    assert_eq!(text(&out, "/id").len(), 64);
    let path = text(&out, "/path");
    assert!(path.ends_with(&format!("{EVENTS}/2026-01-10T13-03-52.5Z_to%2F..%2Fast%20%C3%A9.md")), "{path}");
    let json = app.ledger(&["--json"]).exit(0).json();
    assert_eq!((text(&json, "/now"), text(&json, "/goal")), ("- dashed: 'now'", "ship # it"));
    assert_eq!(json["this_session"], serde_json::json!(["-x", "two\nlines"]));
    assert_eq!(json["decisions"], serde_json::json!({ "k": "v=w" }));
    assert_eq!(json["open_questions"], serde_json::json!(["why?"]));
    assert_eq!(json["checkpoints"][0]["status"], "in-progress: half");
    let shown = app.read(CURRENT);
    assert_eq!(section(&shown, "This Session"), ["- -x", "- two", "  lines"]);
    assert_eq!(section(&shown, "Checkpoints"), ["- Phase 5a: in-progress: half (2026-01-10T13:03:52.5Z, to/../ast é)"]);
    // The very same again is another file and the same event.
    let again = app.run_with("ledger-synth", &args, &now).exit(0).json();
    assert_ne!(text(&again, "/ts"), text(&out, "/ts"), "a stamp is newer than all its writer can have read");
}

#[test]
fn add_takes_a_body_on_stdin_and_says_when_there_is_nothing_to_say() {
    let w = World::new();
    let app = w.app();
    fed(&app, &["add", "--agent", "a"], "now: Review\nthis_session:\n- `x` done\n- Fixed: y\n").exit(0);
    let json = app.ledger(&["--json"]).exit(0).json();
    assert_eq!(json["this_session"], serde_json::json!(["Fixed: y", "`x` done"]));
    fed(&app, &["add"], "---\nts: 2026-01-10T00:00:00Z\nagent: whole\n---\ngoal: g\n")
        .exit(0)
        .out_has("2026-01-10T00-00-00Z_whole.md");
    app.ledger(&["add"]).exit(2).err_has("nothing to write down").err_has("hint: ");
    fed(&app, &["add"], "---\nagent: x\n---\nnow: y\n").exit(2).err_has("stdin:1: no `ts`");
    fed(&app, &["add"], "now: a\0b\n").exit(2).err_has("stdin:1: a NUL byte");
    app.ledger(&["add", "--decision", "novalue"]).exit(2).err_has("must be KEY=VALUE");
    app.ledger(&["add", "--checkpoint", "x"]).exit(2).err_has("must be PHASE:STATUS");
    app.ledger(&["add", "--now", " "]).exit(2).err_has("is empty");
    let before = app.snapshot();
    app.ledger(&["add", "--now", "x", "-n"]).exit(0).out_has(EVENTS);
    app.assert_untouched_since(&before);
    // Whose it is: the environment's word, else the worktree's name.
    app.ledger(&["add", "--now", "x"]).exit(0).out_has("_app.md");
    app.run_with("ledger-synth", &["add", "--now", "x"], &[("LEDGER_SYNTH_AGENT", "env")]).exit(0).out_has("_env.md");
}

#[test]
fn a_lagging_clock_loses_nothing_and_a_mad_one_pins_nothing() {
    let w = World::new();
    let app = w.app();
    event(&app, "ahead", "2026-01-10T20:00:00Z", "x", "now: ahead\n");
    event(&app, "mad", "2026-03-01T00:00:00Z", "x", "goal: mad\n");
    let now = [("SHOPFLOOR_NOW", "2026-01-10T13:00:00Z")];
    let out = app.run_with("ledger-synth", &["add", "--now", "after", "--json"], &now).exit(0).json();
    assert_eq!(text(&out, "/ts"), "2026-01-10T20:00:00.001Z");
    let out = app.run_with("ledger-synth", &["--no-confirm"], &now).exit(0);
    out.err_has("mad.md: its time is in the future");
    assert!(app.read(CURRENT).contains("**Now:** after"));
    app.run_with("ledger-synth", &["--check"], &now).exit(2).err_has("events from the future");
    app.run_with("ledger-synth", &["--no-confirm", "--strict"], &now).exit(2).any_err();
    app.run_with("ledger-synth", &["archive"], &now).exit(0).any_err().out_has("archived 2 files");
    app.run_with("ledger-synth", &["retract", "mad.md"], &now).exit(0);
    app.run_with("ledger-synth", &["--no-confirm", "--strict"], &now).exit(0);
    assert!(!app.read(CURRENT).contains("mad\n"));
    app.run_with("ledger-synth", &["--check"], &now).exit(0);
}

#[test]
fn what_is_retracted_is_gone_until_it_is_folded() {
    let w = World::new();
    let app = w.app();
    event(&app, "good", "2026-01-10T00:00:00Z", "x", "now: good\n");
    event(&app, "bad", "2026-01-11T00:00:00Z", "x", "now: bad\nthis_session:\n- bad\n");
    let id = app.ledger(&["explain", "now", "--json"]).exit(0).json_lines();
    let bad = text(&id[0], "/event").to_owned();
    assert_eq!((text(&id[0], "/value"), &id[0]["beaten"]), ("bad", &serde_json::json!(false)));
    app.ledger(&["retract", &bad[..10]]).exit(0);
    let shown = synth(&app);
    assert!(shown.contains("**Now:** good") && !shown.contains("- bad"), "{shown}");
    app.ledger(&["retract", &bad]).exit(0).err_has("disowned already");
    app.ledger(&["archive"]).exit(0);
    assert_eq!(synth(&app), shown);
    app.ledger(&["--check"]).exit(0);
    let good = app.ledger(&["explain", "now", "--json"]).exit(0).json_lines();
    app.ledger(&["retract", text(&good[0], "/event")]).exit(1).err_has("folded into a snapshot");
    app.ledger(&["retract", "ffffffff"]).exit(1).err_has("no event is called");
}

#[test]
fn who_decided_what_and_who_disagreed() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T00:00:00Z", "toast", "now: one\ndecisions:\n  auth: jwt\n  same: x\n");
    event(&app, "b", "2026-01-11T00:00:00Z", "waffle", "now: two\ndecisions:\n  auth: sessions\n  same: x\n");
    let lines = app.ledger(&["explain", "auth", "--json"]).exit(0).json_lines();
    let said: Vec<_> =
        lines.iter().map(|l| (text(l, "/value"), text(l, "/agent"), l["beaten"].as_bool().unwrap())).collect();
    assert_eq!(said, [("sessions", "waffle", false), ("jwt", "toast", true)]);
    assert_eq!((text(&lines[0], "/section"), text(&lines[0], "/key")), ("decisions", "auth"));
    app.ledger(&["explain", "decisions.auth"])
        .exit(0)
        .out_has("jwt (2026-01-10T00:00:00Z, toast, ")
        .out_has("[replaced]");
    app.ledger(&["explain", "nobody"]).exit(1).err_has("nobody said anything of `nobody`");
    let keys = |out: Checked| {
        out.json_lines().iter().map(|l| l["key"].as_str().unwrap_or("now").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(keys(app.ledger(&["conflicts", "--json"]).exit(0)), ["auth", "auth", "now", "now"]);
    // What a snapshot no longer knows the archive does.
    app.ledger(&["archive"]).exit(0);
    assert_eq!(keys(app.ledger(&["conflicts", "--json"]).exit(0)), ["auth", "auth", "now", "now"]);
    assert_eq!(app.ledger(&["explain", "auth", "--json"]).exit(0).json_lines().len(), 2);
    app.ledger(&["--branch", "none"]).exit(0).err_has("no event matches");
    let out = app.ledger(&["--agent", "toast"]).exit(0);
    assert!(out.stdout.contains("jwt") && !out.stdout.contains("sessions"), "{}", out.stdout);
}

#[test]
fn the_banner_is_the_seeds() {
    let w = World::new();
    let app = w.app();
    event(&app, "1", "2026-01-10T13:03:52Z", "toast", "goal: Fix hooks for paths with spaces\nnow: hooks fix\n");
    app.write(
        &format!("{EVENTS}/2.md"),
        "---\nts: 2026-01-10T14:15:00Z\nagent: waffle\nbranch: main\ntitle: tests\n---\nthis_session:\n- x\n",
    );
    event(&app, "3", "2026-01-11T08:00:00Z", "\"crisp\\e\"", "now: Create PR to upstream\n");
    let out = app.ledger(&["banner"]).exit(0);
    let want = "━━━ SESSION START ━━━\n📋 Continuity synthesized from 3 events:\n   • crisp\\u{1b} (2026-01-11T08:00) - Create PR to upstream\n   \
                • waffle (2026-01-10T14:15) - tests\n   • toast (2026-01-10T13:03) - hooks fix\n\n   Goal: Fix hooks for paths with spaces\n   \
                Now: Create PR to upstream\n━━━━━━━━━━━━━━━━━━━━━\n";
    assert_eq!(out.stdout, want);
    app.ledger(&["--check"]).exit(0);
    let json = app.ledger(&["banner", "--json"]).exit(0).json();
    assert_eq!((json["event_count"].as_u64(), text(&json, "/events/1/title")), (Some(3), "tests"));
    let out = app.ledger(&["banner", "--max-bytes", "300"]).exit(0);
    assert!(out.stdout.len() <= 300 && out.stdout.contains("more"), "{} {}", out.stdout.len(), out.stdout);

    let answer = app.ledger(&["banner", "--for-hook", "claude"]).exit(0).json();
    assert_eq!(text(&answer, "/hookSpecificOutput/hookEventName"), "SessionStart");
    assert!(text(&answer, "/hookSpecificOutput/additionalContext").contains("Create PR to upstream"));
    // A session starts, whatever is wrong.
    let out = w.at(w.path("tmp")).ledger(&["banner", "--for-hook", "claude"]).exit(0);
    assert_eq!(out.stdout, "");
    out.err_has("notice: ");
}

#[test]
fn a_page_from_before_there_were_events_is_shown_and_left_alone() {
    let w = World::new();
    let app = w.app();
    app.write(CURRENT, "# Handoff\n\nNow: the old way\n");
    let thoughts = w.at(app.path.join("thoughts"));
    let before = thoughts.snapshot();
    app.ledger(&["banner"]).exit(0).out_has("Now: the old way");
    app.ledger(&["--no-confirm"]).exit(0).err_has("there are no events");
    app.ledger(&["--check"]).exit(0);
    thoughts.assert_untouched_since(&before);
}

#[test]
fn a_claude_code_session_ends_in_an_event_if_it_left_anything() {
    let w = World::new();
    let app = w.app();
    let payload = format!(
        "{{\"session_id\":\"abc12345-6789\",\"transcript_path\":\"/t.jsonl\",\"cwd\":{:?},\"hook_event_name\":\"SessionEnd\",\"reason\":\"clear\"}}",
        app.path
    );
    let elsewhere = w.at(w.path("tmp"));
    let hook = ["add", "--from-hook", "claude", "--synth", "--commit"];
    fed(&elsewhere, &hook, &payload).exit(0).err_has("left nothing");
    assert!(!app.has(EVENTS));
    app.ledger(&["add", "--draft", "--done", "first thing", "--now", "then"]).exit(0);
    app.ledger(&["add", "--draft", "--done", "- second: thing"]).exit(0);
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    fed(&elsewhere, &hook, &payload).exit(0).out_has("_abc12345.md");
    let shown = app.read(CURRENT);
    assert_eq!(section(&shown, "This Session"), ["- - second: thing", "- first thing"]);
    let names = app.git(&["show", "--name-only", "--format=", "HEAD"]);
    assert_eq!(names.lines().count(), 2, "{names}");
    let written = app.sh(&format!("cat {EVENTS}/*_abc12345.md")).exit(0).stdout;
    assert!(written.contains("type: session_end\nreason: clear\n"), "{written}");
    // The draft is used up.
    fed(&app, &hook, &payload).exit(0).err_has("left nothing");
    fed(&app, &hook, "not json").exit(0).err_has("notice: stdin is not the JSON of a Claude Code hook");
    // What is said counts, whatever the hook was given; and the hook never fails.
    fed(&app, &["add", "--from-hook", "claude", "--done", "all the same"], "").exit(0).out_has(EVENTS);
    app.write(".git/MERGE_HEAD", &app.git(&["rev-parse", "HEAD"]));
    fed(&app, &[&hook[..], &["--json", "--done", "in a merge"]].concat(), &payload).exit(0).out_has("\"error\"");
    app.sh("rm .git/MERGE_HEAD").exit(0);
    fed(&app, &["add", "--from-hook", "claude", "--done", "by flag"], &payload).exit(0);
    assert_eq!(field(&synth(&app), "event_count"), "4");
}

#[test]
fn handoffs_of_other_shapes_become_events() {
    let w = World::new();
    let app = w.app();
    write(
        &app.path.join("old/2026-01-11_05-07_auth.md"),
        "---\nsession: auth-refactor\nstatus: active\n---\n\n# Handoff\n\n**Goal:** Move auth\n**Now:** Test login\n\n## Done this session\n- [x] Moved `login`\n\n## Decisions\n- **tokens:** jwt\n\n## Questions\n- Rotate keys?\n",
    );
    write(&app.path.join("old/note.md"), "just a line\n");
    let before = app.snapshot();
    app.ledger(&["migrate", "old/2026-01-11_05-07_auth.md", "old/note.md"])
        .exit(2)
        .err_has("note.md: nothing tells when");
    app.assert_untouched_since(&before);
    app.ledger(&["migrate", "old/2026-01-11_05-07_auth.md"]).exit(0).out_has("2026-01-11T05-07-00Z_auth-refactor.md");
    app.ledger(&["migrate", "old/2026-01-11_05-07_auth.md"]).exit(0).err_has("is an event already");
    app.ledger(&["migrate", "old/note.md", "--ts", "2026-01-01T00:00:00Z", "--agent", "me"]).exit(0);
    let json = app.ledger(&["--json"]).exit(0).json();
    assert_eq!((text(&json, "/goal"), text(&json, "/now")), ("Move auth", "Test login"));
    assert_eq!(json["this_session"], serde_json::json!(["[x] Moved `login`"]));
    assert_eq!((text(&json, "/decisions/tokens"), text(&json, "/open_questions/0")), ("jwt", "Rotate keys?"));
    assert_eq!(text(&json, "/other/status"), "active");
    assert_eq!(text(&json, "/other/notes/0"), "just a line");
}

#[test]
fn drafts_lose_nothing_and_the_later_word_counts() {
    let w = World::new();
    let app = w.app();
    std::thread::scope(|scope| {
        for n in 0..12 {
            let app = &app;
            scope.spawn(move || app.ledger(&["add", "--draft", "--done", &format!("item {n}")]).exit(0));
        }
    });
    app.ledger(&["add", "--draft", "--now", "zzz first", "--decision", "k=zzz"]).exit(0);
    app.ledger(&["add", "--draft", "--now", "aaa then", "--decision", "k=aaa"]).exit(0);
    for flag in ["--question", "--resolve", "--question"] {
        app.ledger(&["add", "--draft", flag, "why?"]).exit(0);
    }
    app.write(".git/MERGE_HEAD", &app.git(&["rev-parse", "HEAD"]));
    // What follows the event fails, and the event stands; the draft is used up.
    let hook = ["add", "--from-hook", "claude", "--synth", "--commit"];
    fed(&app, &hook, "{}")
        .exit(0)
        .err_has("the event is written, but not synthesised or committed: a merge is going on");
    app.sh("rm .git/MERGE_HEAD").exit(0);
    fed(&app, &hook, "{}").exit(0).err_has("left nothing");
    let json = app.ledger(&["--json"]).exit(0).json();
    assert_eq!((text(&json, "/now"), text(&json, "/decisions/k")), ("aaa then", "aaa"));
    assert_eq!((json["this_session"].as_array().unwrap().len(), json["event_count"].as_u64()), (12, Some(1)));
    assert_eq!(json["open_questions"], serde_json::json!(["why?"]), "it was asked again");
}

#[test]
fn an_agent_can_write_whatever_is_wrong_with_what_others_wrote() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T00:00:00Z", "x", "now: a\n");
    app.ledger(&["archive"]).exit(0);
    app.sh(&format!("sed -i 's/\"now\"/\"then\"/' {EVENTS}/snapshot_*.md")).exit(0);
    app.ledger(&["add", "--now", "still here"]).exit(0).err_has("the event has the clock's time").out_has(EVENTS);
    for body in [
        "env:\n  node: 20\n- extra\n",
        "risks: text\nrisks:\n  a: b\n",
        "checkpoints:\n- phase: 5\n  notes: |\n    a\n    b\n",
    ] {
        fed(&app, &["add"], body).exit(0).any_err();
    }
    let long = format!("## {}\n- x\n", "long ".repeat(30));
    fed(&app, &["add", "--title", &"[".repeat(70)], &long).exit(0).any_err();
    let json = fed(&app, &["add", "--json", "--now", "x", "--synth"], "").exit(4).any_err().json();
    assert!(text(&json, "/path").contains(EVENTS) && text(&json, "/error/message").contains("snapshot"), "{json}");
}

#[test]
fn frontmatter_that_is_no_yaml_says_what_it_says() {
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

/// An agent that has read `current.md` writes in its form.
#[test]
fn events_may_look_like_the_ledger_itself() {
    let w = World::new();
    let app = w.app();
    let body = "## Ledger\n\n**Goal:** Ship\n\n**Now:** Test\n\n### This Session\n- did: x\n\n## Decisions:\n- **lexer:** by hand\n- parser: own\n  why: faster\n\n## Next\n1. one\n2. two\n\n## C#\n- x\n";
    event(&app, "a", "2026-01-10T00:00:00Z", "x", body);
    let json = app.ledger(&["--json"]).exit(0).json();
    assert_eq!((text(&json, "/goal"), text(&json, "/now"), text(&json, "/this_session/0")), ("Ship", "Test", "did: x"));
    assert_eq!(json["decisions"], serde_json::json!({ "lexer": "by hand", "parser": "own\nwhy: faster" }));
    assert_eq!(json["other"], serde_json::json!({ "C#": ["x"], "Next": ["1. one", "2. two"] }));
}

#[test]
fn a_comment_behind_a_quoted_text_is_text() {
    let w = World::new();
    let app = w.app();
    let body =
        "this_session:\n- \"foo\" # see \"bar\"\n- 'a' and 'b'\n- [x, y] # see [z]\ndecisions:\n- {gone: null}\n";
    event(&app, "a", "2026-01-10T00:00:00Z", "x", body);
    let json = app.ledger(&["--json"]).exit(0).json();
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
    let json = app.ledger(&["--json"]).exit(0).json();
    assert_eq!((text(&json, "/now"), text(&json, "/goal"), text(&json, "/decisions/k")), ("indented", "fenced", "v"));
    assert_eq!(json["this_session"], serde_json::json!(["one more", "two"]));
    fed(&app, &["add"], "now: x\n<<<<<<< HEAD\n").exit(2).err_has("stdin:2: a conflict marker");
    let id = app.ledger(&["retract", "a.md"]).exit(0).stdout;
    app.ledger(&["retract", id.trim()]).exit(1).err_has("cannot be taken back");
}

/// Words of flow collections are what was written, and bold keys are keys however their colon stands.
#[test]
fn numbers_and_bold_words_are_what_was_written() {
    let w = World::new();
    let app = w.app();
    let body = "decisions:\n- {python: 3.10}\n- **lexer**: by hand\n- **parser:** own\nversions: [1.10, 007, 1e3, 0x1f, true, ~, '1.0', a: b]\ncheckpoints: [{phase: 5.10, status: ok}]\n";
    event(&app, "a", "2026-01-10T00:00:00Z", "x", body);
    event(&app, "b", "2026-01-09T00:00:00Z", "x", "goal: |\n\ttabbed\n\tmore\n");
    let json = app.ledger(&["--json"]).exit(0).json();
    assert_eq!(json["decisions"], serde_json::json!({ "python": "3.10", "lexer": "by hand", "parser": "own" }));
    assert_eq!((text(&json, "/checkpoints/0/phase"), text(&json, "/goal")), ("5.10", "tabbed\nmore"));
    for word in ["1.10", "007", "1e3", "0x1f", "true", "1.0"] {
        assert!(json["other"]["versions"].as_array().unwrap().iter().any(|v| v == word), "{word}: {json}");
    }
}

#[test]
fn a_resolution_that_resolves_nothing_is_refused_with_the_nearest_question() {
    let w = World::new();
    let app = w.app();
    app.ledger(&["add", "--question", "Which lexer?", "--question", "Who reviews?"]).exit(0);
    let refused = app.ledger(&["add", "--resolve", "Which lexer", "--done", "x"]).exit(1);
    refused.err_has("no open question is `Which lexer`").err_has("the nearest is `Which lexer?`");
    app.ledger(&["add", "--draft", "--resolve", "Who reviews"]).exit(1).err_has("`Who reviews?`");
    app.ledger(&["--no-confirm"]).exit(0);
    assert!(!app.read(CURRENT).contains("- x"));
    app.ledger(&["add", "--resolve", "Which lexer?"]).exit(0);
    // Once is enough.
    app.ledger(&["add", "--resolve", "Which lexer?"]).exit(1).err_has("Who reviews?");
    app.ledger(&["add", "--question", "New?", "--resolve", "New?"]).exit(0);
    app.ledger(&["add", "--draft", "--question", "Kept?"]).exit(0);
    app.ledger(&["add", "--draft", "--resolve", "Kept?"]).exit(0);
    app.ledger(&["add", "--resolve", "Who reviews?"]).exit(0);
}

/// The shape of every event that the first version of this design wrote: sections within the frontmatter.
#[test]
fn sections_inside_a_frontmatter_keep_their_shape() {
    let w = World::new();
    let app = w.app();
    app.write(
        "old.md",
        "---\nts: 2026-01-10T13:03:52.000Z\nagent: toast\nbranch: main\ntype: session_end\ngoal: Ship it\n\
         now: \"Create: the PR\"\nthis_session:\n- Forked it\n- \"Wrapped 25 hooks: all\"\n- two\n\
         decisions:\n  bash_c_wrapper: \"Use bash -c '...'\"\n  quotes: single\ncheckpoints:\n- phase: 5\n  status: validated\n  \
         updated: 2026-01-10T13:00:00Z\n- phase: 6\n  status: begun\nopen_questions:\n- Why?\nnext:\n- Write docs\n- Ship\n\
         files:\n  created: [a.rs, b.rs]\nempty: []\n---\n",
    );
    app.ledger(&["migrate", "old.md"]).exit(0);
    let json = app.ledger(&["--json"]).exit(0).json();
    assert_eq!((text(&json, "/goal"), text(&json, "/now")), ("Ship it", "Create: the PR"));
    assert_eq!(json["this_session"], serde_json::json!(["Forked it", "Wrapped 25 hooks: all", "two"]));
    assert_eq!(json["decisions"], serde_json::json!({ "bash_c_wrapper": "Use bash -c '...'", "quotes": "single" }));
    let checkpoints = json["checkpoints"].as_array().unwrap();
    let told: Vec<_> = checkpoints.iter().map(|c| (text(c, "/phase"), text(c, "/status"))).collect();
    assert_eq!(told, [("5", "validated"), ("6", "begun")]);
    assert_eq!(json["open_questions"], serde_json::json!(["Why?"]));
    let shown = app.read(CURRENT);
    assert_eq!(section(&shown, "next"), ["- Ship", "- Write docs"], "{shown}");
    assert!(shown.contains("a.rs") && shown.contains("b.rs"), "{shown}");
}

#[test]
fn drafts_of_two_sessions_in_one_worktree_are_two() {
    let w = World::new();
    let app = w.app();
    let variables = app.path.join("variables");
    // What Claude Code does: the hook's file is read before each later command of that session.
    let session = |id: &str, line: &str| {
        let begin = format!("echo '{{\"session_id\":\"{id}\"}}' | ledger-synth banner --for-hook claude");
        let vars = [("CLAUDE_ENV_FILE", variables.to_str().unwrap())];
        app.run_with("sh", &["-c", &begin], &vars).exit(0);
        let told = app.read("variables");
        std::fs::remove_file(&variables).unwrap();
        app.sh(&format!("{told}\n{line}")).exit(0);
    };
    let end = |id: &str| {
        app.sh(&format!("echo '{{\"session_id\":\"{id}\"}}' | ledger-synth add --from-hook claude --json"))
            .exit(0)
            .json()
    };
    session("11111111-aaaa", "ledger-synth add --draft --done one --now first");
    session("22222222-bbbb", "ledger-synth add --draft --done two --now second");
    let first = end("11111111-aaaa");
    let event = std::fs::read_to_string(text(&first, "/path")).unwrap();
    assert!(event.contains("one") && !event.contains("two") && text(&first, "/agent") == "11111111", "{event}");
    let second = std::fs::read_to_string(text(&end("22222222-bbbb"), "/path")).unwrap();
    assert!(second.contains("two") && !second.contains("one"), "{second}");
    // By name, too: of those seated in one worktree.
    for agent in ["root/a", "root/b"] {
        let vars = [("SHOPFLOOR_AGENT_ID", agent)];
        app.run_with("ledger-synth", &["add", "--draft", "--done", agent], &vars).exit(0);
    }
    let hook = "echo '{}' | ledger-synth add --from-hook claude --json";
    let told = app.run_with("sh", &["-c", hook], &[("SHOPFLOOR_AGENT_ID", "root/b")]).exit(0).json();
    let event = std::fs::read_to_string(text(&told, "/path")).unwrap();
    assert!(event.contains("root/b") && !event.contains("root/a"), "{event}");
    // The end of a session that nobody named takes what nobody's is, and nothing of those that have their own end.
    app.ledger(&["add", "--draft", "--done", "nobody's"]).exit(0);
    let told = app.sh(hook).exit(0).json();
    let event = std::fs::read_to_string(text(&told, "/path")).unwrap();
    assert!(event.contains("nobody's") && !event.contains("root/a"), "{event}");
}

#[test]
fn a_frontmatter_that_is_no_yaml_is_read_line_by_line() {
    let w = World::new();
    let app = w.app();
    app.write("m.md", "---\ndate: 2026-01-02T03:04:05Z\nagent: z\nnow: do it: now\nopen_questions:\n  - Why?\n---\n# H\n\n## Done\n- x\n");
    let out = app.ledger(&["migrate", "m.md", "--json"]).exit(0).json();
    assert_eq!((text(&out, "/agent"), text(&out, "/ts")), ("z", "2026-01-02T03:04:05Z"));
    let json = app.ledger(&["--json"]).exit(0).json();
    assert_eq!(text(&json, "/now"), "do it: now");
    assert_eq!(json["open_questions"], serde_json::json!(["Why?"]));
    assert_eq!(json["this_session"], serde_json::json!(["x"]));
}
