//! The shapes of handoff files that `migrate` reads.

use crate::support::ledger::EVENTS;
use crate::support::world::{World, text};

/// The headings of a page open sections whatever else they have, and everything else stays below them as it is written.
#[test]
fn a_page_of_markdown_keeps_its_structure() {
    let w = World::new();
    let app = w.app();
    app.write(
        "page.md",
        "Handoff of the lexer\n====================\n\n**Last updated:** 2026-03-02 at 1:05 PM\n\n> # Important\n> do not push\n\n## 🎯 Goal (this week)\nShip it\n\n\
         ## State\n- Done:\n  - [x] wrote the `a: b` parser\n- Now: [->] the tests\n- Next:\n  - [ ] announce\n\n\
         ## Key Decisions\n- lexer: by hand\n  - it is fast\n- **Decision:** use tokens\n\n### Storage\nOne file per event.\n\n\
         | Topic | Choice | Why |\n|---|---|---|\n| db | sqlite | small |\n\n\
         ## What Was Done\n### Backend\n- moved login\n\n• copied\n\n\
         ## Phases\n- **Phase 2**: done (2026-03-01T10:00:00Z, toast)\n- Phase 3: 20 of 22 tests (20 of 22, two are slow)\n\n\
         ## Open Questions / Risks\n\n| # | Question |\n|---|---|\n| 1 | Drop it? |\n\n\
         ## Problem\nWe had a bug in `x: y`:\n\n```\n# no heading\n```\n\nIt came back.\n\n## Resolved\n- budget: small\n\n## Empty\n\n[1]: https://example.com/one\n",
    );
    app.ledger(&["migrate", "--agent", "rusk", "page.md"]).succeeds();
    assert_eq!(app.ledger(&["migrate", "--check", "page.md"]).exit(0).stdout, "");
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!((text(&json, "/goal"), &json["now"]), ("Ship it", &serde_json::Value::Null));
    assert_eq!(text(&json, "/latest_ts"), "2026-03-02T13:05:00Z");
    assert_eq!(json["this_session"], serde_json::json!(["Backend: moved login", "Backend: • copied"]));
    assert_eq!(
        json["decisions"],
        serde_json::json!({
            "Storage": "One file per event.\n\n| Topic | Choice | Why |\n|---|---|---|\n| db | sqlite | small |",
            "lexer": "by hand\n- it is fast",
            "use tokens": ""
        })
    );
    let phases: Vec<_> = json["checkpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (text(one, "/phase"), text(one, "/status"), text(one, "/more")))
        .collect();
    assert_eq!(phases, [("2", "done", "agent: toast"), ("3", "20 of 22 tests (20 of 22, two are slow)", "")]);
    assert_eq!(json["open_questions"], serde_json::json!(["| # | Question |\n|---|---|\n| 1 | Drop it? |"]));
    let other = &json["other"];
    assert_eq!(
        other["Problem"],
        serde_json::json!(["We had a bug in `x: y`:\n\n```\n# no heading\n```\n\nIt came back."])
    );
    // Only headings and keys open sections.
    assert_eq!(
        other["State"],
        serde_json::json!(["Done:\n- [x] wrote the `a: b` parser", "Next:\n- [ ] announce", "Now: [->] the tests"])
    );
    assert_eq!(other["Answered Questions"], serde_json::json!(["budget: small"]));
    let above = "**Last updated:** 2026-03-02 at 1:05 PM\n\n> # Important\n> do not push";
    for note in [above, "[1]: https://example.com/one", "Empty"] {
        assert!(other.to_string().contains(&serde_json::to_string(note).unwrap()), "{note}: {other}");
    }
}

/// A time is read as people note it, and what was changed last tells how old a file is.
#[test]
fn a_handoff_is_as_old_as_its_last_change() {
    let w = World::new();
    let app = w.app();
    let time_of = |name: &str, file: &str| {
        app.write(name, file);
        let json = app.ledger(&["migrate", name, "--json"]).exit(0).json();
        assert_eq!(app.ledger(&["migrate", "--check", name]).exit(0).stdout, "", "{name}");
        (text(&json, "/ts").to_owned(), text(&json, "/agent").to_owned())
    };
    let of = |head: &str| time_of("h.md", &format!("---\n{head}\n---\n## Done\n- {head:?}\n"));
    assert_eq!(
        of("created: 2026-03-02T10:00:00Z\nupdated: 2026-03-09T10:00:00Z\nsession: s1\nagent: toast"),
        ("2026-03-09T10:00:00Z".into(), "toast".into())
    );
    assert_eq!(of("date: 2026-03-02 10:11:12 +0200\nresearcher: dana"), ("2026-03-02T08:11:12Z".into(), "dana".into()));
    assert_eq!(of("date: March 3, 2026\nagent: a").0, "2026-03-03T00:00:00Z");
    for (name, ts) in [
        ("20260304-101112-x.md", "2026-03-04T10:11:12Z"),
        ("x_2026-03-05.md", "2026-03-05T00:00:00Z"),
        ("2026-03-06/handoff.md", "2026-03-06T00:00:00Z"),
        ("2026-03-07-1738-x.md", "2026-03-07T17:38:00Z"),
    ] {
        assert_eq!(time_of(name, &format!("## Done\n- {name}\n")).0, ts, "{name}");
    }
    assert_eq!(time_of("t.md", "# Handoff 2026-03-08\n\n## Done\n- t\n").0, "2026-03-08T00:00:00Z");
    // All files without a time are named at once.
    for name in ["a.md", "b.md"] {
        app.write(name, "## Done\n- a\n");
    }
    app.ledger(&["migrate", "a.md", "t.md", "b.md"])
        .exit(2)
        .err_has("/a.md: its time is unknown")
        .err_has("/b.md: its time is unknown");
}

/// A list of maps with a time each is as many events.
#[test]
fn a_list_of_sessions_becomes_an_event_for_each() {
    let w = World::new();
    let app = w.app();
    app.write("log.yaml", "# the log\n- ts: 2026-03-02T10:00:00Z\n  agent: toast\n  now: a first step\n- ts: 2026-03-03T10:00:00Z\n  agent: waffle\n  now: a second step\n  done: [x]\n");
    app.ledger(&["migrate", "log.yaml"])
        .exit(0)
        .out_has("2026-03-02T10-00-00Z_toast.md")
        .out_has("2026-03-03T10-00-00Z_waffle.md");
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!((text(&json, "/now"), &json["this_session"]), ("a second step", &serde_json::json!(["x"])));
    app.ledger(&["migrate", "--check", "log.yaml"]).exit(0);
    app.sh(&format!("sed -i 's/first/x/' {EVENTS}/*")).exit(0);
    app.ledger(&["migrate", "--check", "log.yaml"]).exit(1).out_has("/log.yaml:4: a first step");
}

/// What handoffs of YAML have in the place of a list or a map is kept, and nothing is refused for it.
#[test]
fn every_value_of_a_yaml_handoff_has_a_place() {
    let w = World::new();
    let app = w.app();
    let notes: String = (0..1000).map(|n| format!("- 'see [file {n}] for more of it'\n")).collect();
    app.write(
        "h.yaml.md",
        &format!(
            "---\ndate: 2026-03-02T10:00:00Z\nagent: a\n---\ngoal: \"\"\nthis_session: # all of Monday\n- a\n- \"\"\ndecisions:\n- Use postgres for the store\n- topic: tokens\n  choice: jwt\n- [a, b]\n\
             checkpoints:\n- \"Phase 3: done\"\n- Phase 2 in progress\nnotes:\n{notes}"
        ),
    );
    app.write("map.yaml", "date: 2026-03-03T10:00:00Z\nagent: b\ndecisions:\n  3.10: pinned\n  empty:\n  gone: null\ncheckpoints:\n  a:\n    phase: inner\n    status: s\n");
    for n in [4, 5] {
        app.write(
            &format!("{n}.yaml"),
            &format!("date: 2026-03-0{n}T10:00:00Z\nagent: b\ndecisions:\n- id: 1\n  decision: Use part {n}\n"),
        );
    }
    app.ledger(&["migrate", "h.yaml.md", "map.yaml", "4.yaml", "5.yaml"]).exit(0).any_out();
    assert_eq!(app.ledger(&["migrate", "--check", "h.yaml.md", "map.yaml", "4.yaml", "5.yaml"]).exit(0).stdout, "");
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    assert_eq!(
        json["decisions"],
        serde_json::json!({"3.10": "pinned", "Use part 4": "id: 1", "Use part 5": "id: 1", "Use postgres for the store": "", "[a, b]": "", "empty": "", "tokens": "jwt"})
    );
    assert_eq!(json["goal"], serde_json::Value::Null);
    let notes = &json["other"]["notes"];
    assert_eq!(notes.as_array().map(Vec::len), Some(1001), "{notes}");
    let phases: Vec<_> = json["checkpoints"].as_array().unwrap().iter().map(|one| text(one, "/phase")).collect();
    assert_eq!(phases, ["2 in progress", "3", "inner"]);
}

/// A body that is one YAML map is read as YAML, as PyYAML writes it: lists without indentation, texts over several lines,
/// comments, lists of maps.
#[test]
fn a_body_of_yaml_keeps_its_structure() {
    let w = World::new();
    let app = w.app();
    app.write(
        "h.yaml.md",
        "---\nsession: s\ndate: 2026-01-10T13:00:00Z\n---\n\ndone_this_session:\n- task: \"Wrote: the tests\"\n  files:\n  - src/a.ts\n\
         decisions:\n  # settled on Monday\n- topic: store\n  choice: postgres\n- topic: tokens\n  choice: jwt\n  reason: signed\n- topic: store\n  choice: \"one file\" # for now, see #12\n\
         - auth: tokens are signed\n    by the gateway\ncheckpoints:\n- phase: 1\n  # twice\n  status: validated\n",
    );
    app.ledger(&["migrate", "h.yaml.md"]).succeeds();
    app.ledger(&["migrate", "--check", "h.yaml.md"]).exit(0).any_out();
    let answer = app.ledger(&["--json"]).succeeds().json();
    assert_eq!(answer["this_session"], serde_json::json!(["Wrote: the tests\nfiles: [src/a.ts]"]));
    let decisions = serde_json::json!({ "auth": "tokens are signed by the gateway", "store": "postgres\none file", "tokens": "jwt\nreason: signed" });
    assert_eq!(answer["decisions"], decisions);
    let checkpoint = &answer["checkpoints"][0];
    assert_eq!((text(checkpoint, "/phase"), text(checkpoint, "/status")), ("1", "validated"));
    assert_eq!(answer["other"]["notes"], serde_json::json!(["for now, see #12", "settled on Monday", "twice"]));
}

/// Words that only look like YAML, like a page of ours, or like a heading of many decisions change nothing.
#[test]
fn prose_is_taken_for_nothing_else() {
    let w = World::new();
    let app = w.app();
    app.write(
        "page.md",
        "## Ledger\n\n### This Session\n- Fixed (2026-01-09, after the outage, OPS-7)\n\n<summary>Why we rolled back</summary>\n\n… the rest: run `ledger-synth doctor` and ask Kim\n",
    );
    let stars: String = (0..70).map(|n| format!("- made *item{n}* good\n")).collect();
    app.write("stars.yaml", &format!("date: 2026-01-11\nagent: a\ndone:\n- Q&A page\n{stars}decisions:\n- topic: cache\n  why: it is\n- topic: db\n  why: old\n"));
    app.write("why.md", "Date: 2026-01-12\n\n## Decisions\n\n### Use Redis\nIt is fast\n\n#### Rationale\nWe know it\n\n### Decision 2\nNo ORM\n");
    app.ledger(&["migrate", "--ts", "2026-01-10T00:00:00Z", "--agent", "a", "page.md", "stars.yaml", "why.md"])
        .succeeds();
    let json = app.ledger(&["--json"]).exit(0).any_err().json();
    for text in
        ["Fixed (2026-01-09, after the outage, OPS-7)", "Why we rolled back", "and ask Kim", "made *item69* good"]
    {
        assert!(json.to_string().contains(text), "{text}: {json}");
    }
    assert_eq!(
        json["decisions"],
        serde_json::json!({"No ORM": "Decision 2", "Use Redis": "It is fast\nRationale\nWe know it", "cache": "why: it is", "db": "why: old"})
    );
    // All files that cannot be taken over are named at once, whatever is wrong with them.
    app.write("late.md", "## Done\n- a\n");
    app.ledger(&["migrate", "late.md", "gone.md"]).exit(2).err_has("/late.md: its time").err_has("/gone.md");
}
