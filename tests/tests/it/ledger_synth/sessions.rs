//! What greets a session, and what it leaves: the banner, drafts and hooks.

use crate::support::ledger::{CURRENT, EVENTS, event, field, run_with_input, section, synth};
use crate::support::world::{Repo, World, skip, text, write};

#[test]
fn the_banner_lists_events_newest_first_and_keeps_to_its_size() {
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
                Now: Create PR to upstream\n━━━━━━━━━━━━━━━━━━━━━\n\nNow, by agent:\n- Create PR to upstream (2026-01-11, crisp\\u{1b})\n\
                - hooks fix (2026-01-10, toast)\n\nDone, the newest first:\n- x (2026-01-10, waffle)\n\n\
                Leave word at each milestone and before you end: `ledger-synth add --done WHAT --decision KEY=WHY --question WHAT --now WHERE`\n";
    assert_eq!(out.stdout, want);
    app.ledger(&["--check"]).succeeds();
    let json = app.ledger(&["banner", "--json"]).exit(0).json();
    assert_eq!((json["event_count"].as_u64(), text(&json, "/events/1/title")), (Some(3), "tests"));
    let out = app.ledger(&["banner", "--max-bytes", "300"]).exit(0);
    assert!(out.stdout.len() <= 300 && out.stdout.contains("more"), "{} {}", out.stdout.len(), out.stdout);
    let least = app.ledger(&["banner", "--max-bytes", "50"]).exit(0).stdout;
    assert!(least.starts_with("Leave word") && least.lines().count() == 1, "{least}");

    let answer = app.ledger(&["banner", "--for-hook", "claude"]).exit(0).json();
    assert_eq!(text(&answer, "/hookSpecificOutput/hookEventName"), "SessionStart");
    assert!(text(&answer, "/hookSpecificOutput/additionalContext").contains("Create PR to upstream"));
    // A session starts whatever is wrong with its ledger.
    let out = w.at(w.path("tmp")).ledger(&["banner", "--for-hook", "claude"]).exit(0);
    assert_eq!(out.stdout, "");
    out.err_has("notice: ");
}

#[test]
fn a_claude_code_session_ends_in_an_event_if_it_left_a_draft() {
    let w = World::new();
    let app = w.app();
    let payload = format!(
        "{{\"session_id\":\"abc12345-6789\",\"transcript_path\":\"/t.jsonl\",\"cwd\":{:?},\"hook_event_name\":\"SessionEnd\",\"reason\":\"clear\"}}",
        app.path
    );
    let elsewhere = w.at(w.path("tmp"));
    let hook = ["add", "--from-hook", "claude", "--synth", "--commit"];
    // What to do is said once per session.
    run_with_input(&elsewhere, &hook, &payload)
        .exit(0)
        .err_has("session abc12345-6789 left no word")
        .err_has("ledger-synth add");
    assert_eq!(run_with_input(&elsewhere, &hook, &payload).exit(0).any_out().stderr.as_str(), "");
    assert!(!app.has(EVENTS));
    app.ledger(&["add", "--draft", "--done", "first thing", "--now", "then"]).succeeds();
    app.ledger(&["add", "--draft", "--done", "- second: thing"]).succeeds();
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    run_with_input(&elsewhere, &hook, &payload).exit(0).out_has("_abc12345.md");
    let shown = app.read(CURRENT);
    assert_eq!(section(&shown, "This Session"), ["- - second: thing", "- first thing"]);
    let names = app.git(&["show", "--name-only", "--format=", "HEAD"]);
    assert_eq!(names.lines().count(), 2, "{names}");
    let written = app.sh(&format!("cat {EVENTS}/*_abc12345.md")).exit(0).stdout;
    assert!(written.contains("type: session_end\nreason: clear\n"), "{written}");
    // The draft is gone.
    assert_eq!(run_with_input(&app, &hook, &payload).exit(0).any_out().stderr.as_str(), "");
    assert_eq!(run_with_input(&app, &hook, r#"{"reason":"\ud83d"}"#).exit(0).any_out().stderr.as_str(), "");
    run_with_input(&app, &hook, "not json").exit(0).err_has("notice: stdin is not the JSON of a Claude Code hook");
    let told = run_with_input(&app, &["add", "--from-hook", "codex"], "not json").exit(0).any_out();
    told.err_has("the JSON of a Codex hook").err_has("`ledger-synth add --from-hook codex`");
    // Flags count whatever is on stdin, and the hook never fails.
    run_with_input(&app, &["add", "--from-hook", "claude", "--done", "all the same"], "").succeeds().out_has(EVENTS);
    app.write(".git/MERGE_HEAD", &app.git(&["rev-parse", "HEAD"]));
    run_with_input(&app, &[&hook[..], &["--json", "--done", "in a merge"]].concat(), &payload)
        .exit(0)
        .out_has("\"error\"");
    app.sh("rm .git/MERGE_HEAD").exit(0);
    run_with_input(&app, &["add", "--from-hook", "claude", "--done", "by flag"], &payload).succeeds();
    assert_eq!(field(&synth(&app), "event_count"), "4");
}

#[test]
fn drafts_lose_nothing_and_the_later_text_counts() {
    let w = World::new();
    let app = w.app();
    std::thread::scope(|scope| {
        for n in 0..12 {
            let app = &app;
            scope.spawn(move || app.ledger(&["add", "--draft", "--done", &format!("item {n}")]).succeeds());
        }
    });
    app.ledger(&["add", "--draft", "--now", "zzz first", "--decision", "k=zzz"]).succeeds();
    app.ledger(&["add", "--draft", "--now", "aaa then", "--decision", "k=aaa"]).succeeds();
    for flag in ["--question", "--resolve", "--question"] {
        app.ledger(&["add", "--draft", flag, "why?"]).succeeds();
    }
    app.write(".git/MERGE_HEAD", &app.git(&["rev-parse", "HEAD"]));
    // The commit fails after the event is written. The event stays, and the draft is gone.
    let hook = ["add", "--from-hook", "claude", "--synth", "--commit"];
    run_with_input(&app, &hook, "{}")
        .succeeds()
        .err_has("the event is written and synthesised, but not committed: a merge is in progress");
    app.sh("rm .git/MERGE_HEAD").exit(0);
    assert_eq!(run_with_input(&app, &hook, "{}").exit(0).any_out().stderr.as_str(), "");
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!((text(&json, "/now"), text(&json, "/decisions/k")), ("aaa then", "aaa"));
    assert_eq!((json["this_session"].as_array().unwrap().len(), json["event_count"].as_u64()), (12, Some(1)));
    assert_eq!(json["open_questions"], serde_json::json!(["why?"]), "it was asked again");
}

#[test]
fn sessions_in_one_worktree_have_a_draft_each() {
    let w = World::new();
    let app = w.app();
    let variables = app.path.join("variables");
    // Like Claude Code, which runs the hook's file before each later command of the session.
    let session = |id: &str, line: &str| {
        let begin = format!("echo '{{\"session_id\":\"{id}\"}}' | ledger-synth banner --for-hook claude");
        let vars = [("CLAUDE_ENV_FILE", variables.to_str().unwrap())];
        app.run_with("sh", &["-c", &begin], &vars).succeeds();
        let told = app.read("variables");
        std::fs::remove_file(&variables).unwrap();
        app.sh(&format!("{told}\n{line}")).succeeds();
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
    // Agents in one worktree have a draft each by name, too.
    for agent in ["root/a", "root/b"] {
        let vars = [("SHOPFLOOR_AGENT_ID", agent)];
        app.run_with("ledger-synth", &["add", "--draft", "--done", agent], &vars).succeeds();
    }
    let hook = "echo '{}' | ledger-synth add --from-hook claude --json";
    let told = app.run_with("sh", &["-c", hook], &[("SHOPFLOOR_AGENT_ID", "root/b")]).exit(0).json();
    let event = std::fs::read_to_string(text(&told, "/path")).unwrap();
    assert!(event.contains("root/b") && !event.contains("root/a"), "{event}");
    // A session without a name takes the draft without a name, and no other.
    app.ledger(&["add", "--draft", "--done", "nobody's"]).succeeds();
    let told = app.sh(hook).exit(0).json();
    let event = std::fs::read_to_string(text(&told, "/path")).unwrap();
    assert!(event.contains("nobody's") && !event.contains("root/a"), "{event}");
}

/// Every session is told how to leave word, whichever program it runs and whatever the ledger holds.
#[test]
fn every_session_is_told_how_to_leave_word() {
    let w = World::new();
    let app = w.app();
    for program in ["claude", "codex", "gemini"] {
        let answer = app.ledger(&["banner", "--for-hook", program]).exit(0).json();
        assert!(text(&answer, "/hookSpecificOutput/additionalContext").starts_with("Leave word at each milestone"));
    }
    app.ledger(&["add", "--agent", "a", "--done", "one", "--synth"]).exit(0).any_out().any_err();
    let answer = app.ledger(&["banner", "--for-hook", "codex", "--max-bytes", "400"]).exit(0).json();
    let context = text(&answer, "/hookSpecificOutput/additionalContext");
    assert!(context.len() <= 400 && context.contains("ledger-synth add"), "{context}");
    app.ledger(&["banner"]).exit(0).out_has("Leave word");
    // An old page and an empty ledger tell it as well.
    let empty = w.repo("empty");
    empty.ledger(&["banner"]).exit(0).out_has("ledger-synth add").err_has("there are no events");
    empty.write(CURRENT, "# Handoff\n");
    empty.ledger(&["banner"]).exit(0).out_has("# Handoff\n").out_has("ledger-synth add");
}

/// Ids that begin alike, as those made within a minute do, are ids of two sessions.
#[test]
fn sessions_whose_ids_begin_alike_have_a_draft_each() {
    let w = World::new();
    let app = w.app();
    let ids = ["0193b2f4-6a10-7c3e-8000-000000000001", "0193b2f4-9b22-7aaa-8000-000000000002"];
    for id in ids {
        app.ledger(&["add", "--session", id, "--draft", "--done", id]).exit(0).any_err();
    }
    let payload = format!("{{\"session_id\":\"{}\"}}", ids[0]);
    let written = run_with_input(&app, &["add", "--from-hook", "codex", "--json"], &payload).exit(0).json();
    let event = std::fs::read_to_string(text(&written, "/path")).unwrap();
    assert!(event.contains(ids[0]) && !event.contains(ids[1]) && text(&written, "/agent") == "00000001", "{event}");
}

/// A session that wrote an event itself is told nothing at its end, also after it was compacted.
#[test]
fn a_session_that_wrote_is_told_nothing() {
    let w = World::new();
    let app = w.app();
    let payload = "{\"session_id\":\"s1\"}";
    let begin = || run_with_input(&app, &["banner", "--for-hook", "codex"], payload).exit(0).any_out();
    begin();
    app.ledger(&["add", "--done", "worked"]).exit(0).any_out();
    begin();
    let end = ["add", "--from-hook", "codex"];
    assert_eq!(run_with_input(&app, &end, payload).exit(0).any_out().stderr.as_str(), "");
    // What another session wrote is not its word.
    run_with_input(&app, &["banner", "--for-hook", "codex"], "{\"session_id\":\"s2\"}").exit(0).any_out();
    app.ledger(&["add", "--session", "s3", "--done", "other"]).exit(0).any_out();
    run_with_input(&app, &end, "{\"session_id\":\"s2\"}").exit(0).err_has("session s2 left no word");
}

/// The answer for programs names the newest thousand events and counts all.
#[test]
fn a_banner_for_programs_has_a_thousand_events() {
    let w = World::new();
    let app = w.app();
    for n in 0..1002 {
        event(&app, &n.to_string(), &format!("2026-01-10T00:{:02}:{:02}Z", n / 60, n % 60), "x", "now: x\n");
    }
    let json = app.ledger(&["banner", "--json"]).exit(0).json();
    assert_eq!((json["event_count"].as_u64(), json["events"].as_array().unwrap().len()), (Some(1002), 1000));
    assert_eq!(text(&json, "/events/0/ts"), "2026-01-10T00:16:41Z");
}

/// The findings of `doctor` about drafts.
fn left_drafts(app: &Repo<'_>, status: i32) -> Vec<serde_json::Value> {
    let found = app.ledger(&["doctor", "--json"]).exit(status).json_lines();
    found.into_iter().filter(|one| one["check"] == "drafts" && one["ok"] == false).collect()
}

/// What a session kept for its end outlives its worktree and a program that was killed.
#[test]
fn a_draft_that_no_session_will_write_is_not_lost() {
    let w = World::new();
    let app = w.app();
    let toast = app.worktree("toast");
    toast.ledger(&["add", "--draft", "--done", "of the removed", "--session", "aaaaaaaa-1"]).succeeds();
    let vars = [("SHOPFLOOR_AGENT_ID", "root/b")];
    toast.run_with("ledger-synth", &["add", "--draft", "--done", "by name"], &vars).succeeds();
    toast.ledger(&["add", "--draft", "--done", "nameless", "--now", "stale"]).succeeds();
    let keep = ["add", "--draft", "--done", "kept long", "--decision", "db=sqlite", "--json"];
    let kept = text(&app.ledger(&keep).succeeds().json(), "/draft").to_owned();
    app.ledger(&["add", "--draft", "--done", "session goes on", "--session", "s2"]).succeeds();
    app.ledger(&["install"]).succeeds();
    // The worktree is there, and nobody knows yet whether the sessions go on.
    assert!(left_drafts(&app, 0).is_empty());
    app.git(&["worktree", "remove", "--force", toast.path.to_str().unwrap()]);
    app.sh(&format!("touch -d '2 days ago' '{kept}' .git/shopfloor/ledger-synth/drafts/worktrees/*/*.md")).exit(0);
    // Another worktree of that name has other sessions.
    app.git(&["branch", "-D", "toast"]);
    let toast = app.worktree("toast");
    assert_eq!(run_with_input(&toast, &["add", "--from-hook", "claude"], "{}").exit(0).any_out().stderr.as_str(), "");
    toast.sh(&format!("test -z \"$(ls {EVENTS} 2>/dev/null)\"")).exit(0);
    app.ledger(&["add", "--agent", "waffle", "--now", "newer", "--decision", "db=postgres", "--synth"]).succeeds();
    let left = left_drafts(&app, 1);
    assert_eq!(left.len(), 4, "{left:?}");
    let of_removed = left.iter().filter(|one| text(one, "/detail").contains("the worktree toast is removed"));
    assert_eq!(of_removed.count(), 3);
    app.ledger(&["doctor", "--repair", "--yes"]).exit(0).out_has("fixed");
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!((text(&json, "/now"), text(&json, "/decisions/db")), ("newer", "postgres"), "a draft is older");
    let written = app.sh(&format!("cat {EVENTS}/*.md")).exit(0).stdout;
    for text in ["of the removed", "by name", "nameless", "kept long"] {
        assert_eq!(written.matches(text).count(), 1, "{text}: {written}");
    }
    let top = app.path.file_name().unwrap().to_str().unwrap();
    for agent in ["aaaaaaaa", "root/b", "toast", top] {
        assert!(written.contains(&format!("agent: {agent}\n")), "{agent}: {written}");
    }
    assert!(!written.contains("session goes on"), "{written}");
    app.ledger(&["--check"]).succeeds();
    assert!(left_drafts(&app, 0).is_empty());
    let rest = app.sh("ls .git/shopfloor/ledger-synth/drafts").exit(0);
    assert_eq!(rest.stdout, "session-s2.lock\nsession-s2.md\nworktrees\n");
}

/// A draft is written once and removed, whatever goes wrong in between.
#[test]
fn the_draft_of_nobody_is_written_once() {
    let w = World::new();
    let app = w.app();
    let repair = || app.ledger(&["doctor", "--repair", "--yes"]);
    let old = |path: &str| app.sh(&format!("touch -d 2026-01-10T00:00:00Z '{path}'")).exit(0);
    let kept =
        text(&app.ledger(&["add", "--draft", "--done", "said once", "--json"]).succeeds().json(), "/draft").to_owned();
    let draft = std::fs::read_to_string(&kept).unwrap();
    old(&kept);
    repair().any_status().any_err().out_has("fixed");
    // As if it had been killed before the draft was removed.
    write(kept.as_ref(), &draft);
    old(&kept);
    repair().any_status().any_err().any_out();
    let events = app.sh(&format!("cat {EVENTS}/*.md")).exit(0).stdout;
    assert_eq!(events.matches("said once").count(), 1, "{events}");
    // What says nothing is kept all the same.
    write(kept.as_ref(), "# only a comment\n");
    old(&kept);
    repair().any_status().any_out().err_has("it is kept in");
    app.sh("grep -rq 'only a comment' .git/shopfloor/ledger-synth/edited").exit(0);
    // The page cannot be written, and the event is.
    app.ledger(&["add", "--draft", "--done", "said beside a page"]).succeeds();
    old(&kept);
    app.write(CURRENT, "mine\n");
    repair().any_status().err_has(CURRENT).out_has("fixed");
    app.sh(&format!("grep -q 'said beside a page' {EVENTS}/*.md")).exit(0);
    // A draft can be written as an event.
    let half = |x: &str| format!("this_session:\n- {}\n", x.repeat(600 << 10));
    run_with_input(&app, &["add", "--draft"], &half("a")).succeeds();
    run_with_input(&app, &["add", "--draft"], &half("b")).exit(2).err_has("larger than an event");
}

/// A program may say several times that a session ends, and the ids of Codex begin with the time.
#[test]
fn a_session_that_ends_three_times_left_word_once() {
    let w = World::new();
    let app = w.app();
    let ids = ["01a20a39-a386-7000-8000-00000000000a", "01a20a39-a544-7000-8000-00000000000b"];
    for id in ids {
        let vars = [("CODEX_SESSION_ID", id), ("CLAUDE_CODE_SESSION_ID", "outer")];
        app.run_with("ledger-synth", &["add", "--draft", "--done", id], &vars).succeeds();
    }
    for id in ids {
        let end = || run_with_input(&app, &["add", "--from-hook", "codex"], &format!("{{\"session_id\":\"{id}\"}}"));
        end().succeeds();
        for _ in 0..2 {
            assert_eq!(end().exit(0).any_out().stderr.as_str(), "");
        }
    }
    // The variable names a session as its id does.
    let vars = [("LEDGER_SYNTH_SESSION", "wt.task_7")];
    app.run_with("ledger-synth", &["add", "--draft", "--done", "by variable"], &vars).succeeds();
    let end = "echo '{\"session_id\":\"other\"}' | ledger-synth add --from-hook claude";
    app.run_with("sh", &["-c", end], &vars).succeeds();
    let written = app.sh(&format!("cat {EVENTS}/*.md")).exit(0).stdout;
    assert!(written.contains("by variable"), "{written}");
    assert!(written.contains("agent: \"0000000a\"\n") && written.contains("agent: \"0000000b\"\n"), "{written}");
}

/// An agent whose sandbox lets it write in its worktree alone leaves word all the same.
#[test]
fn an_event_is_written_where_gits_directory_is_read_only() {
    let w = World::new();
    let app = w.app();
    let sandboxed = |line: &str| {
        app.sh(&format!(
            "unshare -rm sh -c 'mount --bind .git .git && mount -o remount,ro,bind .git || exit 77; {line}'"
        ))
    };
    if !sandboxed("true").exits_with(0) {
        skip("read-only mounts (unshare)");
        return;
    }
    sandboxed("ledger-synth add --now x").succeeds();
    assert_eq!(app.sh(&format!("cat {EVENTS}/*.md")).exit(0).stdout.matches("now: x").count(), 1);
    sandboxed("ledger-synth add --draft --now y").exit(4).err_has("the same command without `--draft`");
    app.sh("! git status --porcelain --ignored | grep shopfloor-tmp").exit(0);
}

/// Whatever is wrong with the ledger, a session is told how to leave word, and sees what can be read.
#[test]
fn a_session_is_told_what_can_be_read() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T00:00:00Z", "toast", "this_session:\n- the first item\n");
    synth(&app);
    app.ledger(&["archive"]).succeeds();
    let started = |problem: &str| {
        let out = run_with_input(&app, &["banner", "--for-hook", "claude"], "{\"session_id\":\"s\"}").exit(0);
        out.err_has(problem);
        text(&out.json(), "/hookSpecificOutput/additionalContext").to_owned()
    };
    app.sh(&format!("sed -i '$a x' {EVENTS}/snapshot_*")).exit(0);
    let told = started("the snapshot was changed");
    assert!(
        told.contains("cannot be read") && told.contains("the first item") && told.contains("Leave word"),
        "{told}"
    );
    app.write(".shopfloor/config.toml", "[bad");
    assert!(started("config.toml:1").starts_with("Leave word"));
}

/// What a session says and what it keeps for its end are of one agent, so that it does not disagree with itself.
#[test]
fn a_session_speaks_as_one_agent() {
    let w = World::new();
    let app = w.app();
    let vars = [("CLAUDE_CODE_SESSION_ID", "3f2a91bc-aaaa-4bbb-8ccc-1234567890ab")];
    let add =
        |args: &[&str]| app.run_with("ledger-synth", &[&["add"], args].concat(), &vars).exit(0).any_out().any_err();
    add(&["--now", "first", "--decision", "db=one"]);
    add(&["--draft", "--now", "last", "--decision", "db=two"]);
    let end = format!(r#"{{"session_id":"{}","reason":"clear"}}"#, vars[0].1);
    run_with_input(&app, &["add", "--from-hook", "claude"], &end).exit(0).any_out();
    let files = app.sh(&format!("ls {EVENTS}")).exit(0).stdout;
    assert!(files.lines().count() == 2 && files.lines().all(|name| name.contains("_3f2a91bc")), "{files}");
    app.ledger(&["conflicts"]).exit(0).err_has("nobody disagrees");
    assert!(!synth(&app).contains("first"));
    // The name of an agent counts more.
    let named = [vars[0], ("LEDGER_SYNTH_AGENT", "toast")];
    app.run_with("ledger-synth", &["add", "--done", "x"], &named).exit(0).out_has("_toast.md");
}

/// Sessions whose ids differ have drafts of their own.
#[test]
fn each_session_has_its_own_draft() {
    let w = World::new();
    let app = w.app();
    for id in ["A/B", "AB", "///"] {
        app.ledger(&["add", "--draft", "--session", id, "--done", &format!("of {id}")]).exit(0).any_err();
    }
    assert_eq!(app.sh("ls .git/shopfloor/ledger-synth/drafts/session-*.md").exit(0).stdout.lines().count(), 3);
    for id in ["A/B", "AB", "///"] {
        run_with_input(&app, &["add", "--from-hook", "claude"], &format!(r#"{{"session_id":"{id}"}}"#))
            .exit(0)
            .any_out();
    }
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!(json["this_session"], serde_json::json!(["of ///", "of A/B", "of AB"]));
}
