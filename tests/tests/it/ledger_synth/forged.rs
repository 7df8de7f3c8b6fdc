//! State below `.git` that somebody else wrote: it is input, and nothing of a person's is deleted or shown for it.

use shopfloor_core::hash::Digest;

use crate::support::ledger::{CURRENT, EVENTS, event, run_with_input, synth};
use crate::support::world::{Repo, World, wait_for, write};

/// Puts a link to a directory of a person's in the place of a directory of our state.
fn link(app: &Repo<'_>, below: &str, to: &str) {
    app.sh(&format!("mkdir -p $(dirname {below}) && rm -rf {below} && ln -s {to} {below}")).exit(0);
}

/// `doctor --repair` writes drafts that were left as events, and the end of a session writes its own; both delete them.
#[test]
fn drafts_behind_a_link_are_neither_written_as_events_nor_deleted() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-02T00:00:00Z", "a", "now: a\n");
    synth(&app);
    let notes = w.home("notes");
    for name in ["plan.md", "draft.md", "session-s.md"] {
        write(&notes.join(name), "now: my secret\n");
    }
    app.sh("touch -d '3 days ago' ~/notes/*").exit(0);
    let (before, events) = (w.at(&notes).snapshot(), std::fs::read_dir(app.path.join(EVENTS)).unwrap().count());
    for below in ["drafts", "drafts/worktrees/gone-1"] {
        let below = format!(".git/shopfloor/ledger-synth/{below}");
        link(&app, &below, "~/notes");
        let out = app.ledger(&["doctor", "--repair", "--yes"]).exit(4);
        out.err_has("is a symbolic link, and our state has none").err_has("then remove it: `rm");
        let end = "echo '{\"session_id\":\"s\"}' | ledger-synth add --from-hook claude";
        app.sh(end).exit(0).err_has("is a symbolic link");
        app.ledger(&["add", "--draft", "--done", "x"]).exit(4).err_has("is a symbolic link");
        w.at(&notes).assert_untouched_since(&before);
        app.sh(&format!("rm {below}")).exit(0);
    }
    assert_eq!(std::fs::read_dir(app.path.join(EVENTS)).unwrap().count(), events);
    app.ledger(&["doctor"]).any_status().any_err().out_has("no session left a draft behind");
}

/// The list of sessions is cut when it is long, and the cache replaces files.
#[test]
fn no_directory_of_the_state_may_be_a_link() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-02T00:00:00Z", "a", "now: a\n");
    synth(&app);
    write(&w.home("mine/sessions"), &"mine\n".repeat(500));
    let before = w.at(w.home("mine")).snapshot();
    for below in ["", "/ledger-synth", "/ledger-synth/cache", "/ledger-synth/edited"] {
        let below = format!(".git/shopfloor{below}");
        app.sh(&format!("rm -rf kept && cp -r .git/shopfloor kept 2>/dev/null; rm -rf {below}")).any_status();
        link(&app, &below, "~/mine");
        app.ledger(&["add", "--done", "x"]).exit(4).err_has(&format!("{below} is a symbolic link"));
        app.sh(&format!("rm {below}; rm -rf .git/shopfloor && mv kept .git/shopfloor")).exit(0);
        w.at(w.home("mine")).assert_untouched_since(&before);
    }
}

/// What is remembered between runs can say that nothing has changed. It can do no more.
#[test]
fn a_forged_cache_is_no_reason_to_fail() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-02T00:00:00Z", "a", "now: a\n");
    synth(&app);
    event(&app, "b", "2026-01-03T00:00:00Z", "b", "now: b\n");
    synth(&app);
    let cache = app.path.join(".git/shopfloor/ledger-synth/cache");
    let forgeries = ["truncate -s 100G", "sh -c 'echo forged > \"$1\"' sh", "sh -c 'rm \"$1\"; mkfifo \"$1\"' sh"];
    for (at, forge) in forgeries.into_iter().enumerate() {
        // Nothing is remembered of files that changed within a tick of the clock.
        wait_for(|| {
            synth(&app);
            cache.read_dir().is_ok_and(|mut files| files.next().is_some())
        });
        app.sh(&format!("for file in {}/*; do {forge} \"$file\"; done", cache.display())).exit(0);
        event(&app, "c", "2026-01-04T00:00:00Z", "c", &format!("now: forgery number {at}\n"));
        app.ledger(&["--no-confirm"]).succeeds();
        assert!(app.read(CURRENT).contains(&format!("forgery number {at}")), "{forge}");
        app.sh(&format!("rm -rf {}", cache.display())).exit(0);
        synth(&app);
    }
}

/// The end of a session commits where nobody looks, and where an agent says that it was.
#[test]
fn the_end_of_a_session_runs_nothing_of_an_agents_and_writes_through_no_link() {
    let w = World::new();
    let app = w.app();
    let mark = w.path("mark");
    let evil = format!("#!/bin/sh\necho $0 >> '{}'\ncat\n", mark.display());
    let end = |at: &Repo<'_>, n: u32| {
        at.ledger(&["add", "--draft", "--done", "x"]).any_status().any_out().any_err();
        let payload =
            format!("{{\"session_id\":\"s{n}\",\"cwd\":\"{}\",\"hook_event_name\":\"SessionEnd\"}}", at.path.display());
        run_with_input(at, &["add", "--from-hook", "claude", "--synth", "--commit"], &payload)
            .exit(0)
            .any_out()
            .any_err();
    };
    // A repository that the agent made in its worktree, with hooks, a filter and a program for signatures.
    let agent = app.worktree("agent");
    agent.sh("git init -q -b main sub && mkdir hooks").exit(0);
    let sub = w.at(agent.path.join("sub"));
    for hook in ["sub/.git/hooks/pre-commit", "sub/.git/hooks/reference-transaction", "hooks/pre-commit"] {
        agent.write(hook, &evil);
        agent.sh(&format!("chmod +x {hook}")).exit(0);
    }
    sub.sh("cp .git/hooks/pre-commit x && git config filter.x.clean $PWD/x && git config gpg.program $PWD/x").exit(0);
    sub.sh("git config commit.gpgSign false && echo '* filter=x' > .git/info/attributes").exit(0);
    end(&sub, 1);
    assert!(!mark.exists() && sub.git(&["log", "--format=%s"]).contains("ledger"), "it is committed all the same");
    // Its worktree's own configuration.
    app.git(&["config", "extensions.worktreeConfig", "true"]);
    agent.git(&["config", "--worktree", "core.hooksPath", agent.path.join("hooks").to_str().unwrap()]);
    end(&agent, 2);
    assert!(!mark.exists());
    // A link where git puts the message.
    let diary = w.path("diary");
    write(&diary, "of a person\n");
    for (at, git_dir) in [(&agent, ".git/worktrees/agent"), (&app, ".git")] {
        app.sh(&format!("ln -sf '{}' {git_dir}/COMMIT_EDITMSG", diary.display())).exit(0);
        end(at, 3);
        at.ledger(&["add", "--done", "y", "--synth", "--commit"])
            .exit(4)
            .any_out()
            .err_has("COMMIT_EDITMSG is not a file");
        assert_eq!(std::fs::read_to_string(&diary).unwrap(), "of a person\n");
        app.sh(&format!("rm {git_dir}/COMMIT_EDITMSG")).exit(0);
    }
}

#[test]
fn no_event_goes_because_a_snapshot_says_that_it_has_it() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-02T00:00:00Z", "a", "now: kept words\n");
    let written = app.read(&format!("{EVENTS}/a.md"));
    app.ledger(&["archive"]).exit(0).any_out();
    let made = app.sh(&format!("cat {EVENTS}/snapshot_*.md && rm {EVENTS}/snapshot_*.md")).exit(0).stdout.clone();
    // The same event, without what it says.
    let body: String = made.lines().filter(|line| line.contains("\"event\"")).map(|line| format!("{line}\n")).collect();
    let content = Digest::of(body.as_bytes()).to_string();
    let front = "ts: 2026-01-02T00:00:00.000Z\nagent: ledger-synth\ntype: snapshot\nsnapshot: 1\ncontent: ";
    app.write(&format!("{EVENTS}/snapshot_{}.md", &content[..16]), &format!("---\n{front}{content}\n---\n{body}"));
    // In the archive it stays.
    app.ledger(&["prune", "--retention", "0"]).exit(0).any_out().any_err();
    let archived = app.sh(&format!("find {EVENTS}/../archive -name a.md")).exit(0).stdout.clone();
    assert_eq!(app.read(archived.trim()), written);
    // In the ledger it is archived with what it says.
    app.write(&format!("{EVENTS}/a.md"), &written);
    app.ledger(&["archive"]).exit(0).any_out();
    app.ledger(&["prune", "--retention", "0"]).exit(0).any_out().any_err();
    assert!(synth(&app).contains("kept words"));
}
