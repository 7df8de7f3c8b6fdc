//! ledger-synth and git: commits, merges, rebases, pushes, and checks of a commit.

use std::collections::BTreeSet;

use crate::support::ledger::{CURRENT, EVENTS, commit_all, event, field, section, seed_event, synth};
use crate::support::world::{Repo, World, text, which, write};

/// Case 13 of the design.
#[test]
fn a_commit_takes_the_ledger_and_nothing_else() {
    let w = World::new();
    let app = w.app();
    app.commit("code", "1\n");
    app.write("code", "2\n");
    app.git(&["add", "code"]);
    app.write("code", "3\n");
    app.write("untracked", "x");
    seed_event(&app);
    app.write(&format!("{EVENTS}/:(glob)odd [name].md"), "---\nts: 2026-01-10T00:00:00Z\nagent: a\n---\nnow: x\n");
    let before = app.git(&["diff", "--cached"]);
    app.ledger(&["--no-confirm", "--commit"]).exit(0).out_has("committed");
    let names = app.git(&["-c", "core.quotePath=off", "show", "--name-only", "--format=", "HEAD"]);
    let names: Vec<&str> = names.lines().collect();
    let odd = format!("{EVENTS}/:(glob)odd [name].md");
    let toast = format!("{EVENTS}/2026-01-10T13-03-52Z_toast.md");
    assert_eq!(names, [CURRENT, &odd, &toast].into_iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
    assert_eq!(app.git(&["diff", "--cached"]), before);
    assert_eq!(app.git(&["status", "--porcelain"]), "MM code\n?? untracked\n");
    let head = app.git(&["rev-parse", "HEAD"]);
    app.ledger(&["-v", "--no-confirm", "--commit"]).exit(0).err_has("everything is committed already");
    assert_eq!(app.git(&["rev-parse", "HEAD"]), head);
}

/// A repository with a ledger of one event, set up and committed.
fn installed(w: &World) -> Repo<'_> {
    let app = w.app();
    app.ledger(&["install"]).succeeds();
    event(&app, "base", "2026-01-01T00:00:00Z", "base", "now: base\n");
    synth(&app);
    commit_all(&app);
    app
}

/// A branch with an event of its own, which its ledger includes.
fn work(repo: &Repo<'_>, branch: &str, from: &str, ts: &str) {
    repo.git(&["switch", "-q", "-c", branch, from]);
    event(repo, branch, ts, branch, &format!("now: of {branch}\nthis_session:\n- did {branch}\n"));
    repo.ledger(&["--no-confirm", "--commit"]).exit(0).out_has("committed");
}

#[test]
fn a_merge_of_two_regenerated_ledgers_is_clean_and_fresh() {
    let w = World::new();
    let app = installed(&w);
    work(&app, "a", "main", "2026-01-02T00:00:00Z");
    work(&app, "b", "main", "2026-01-03T00:00:00Z");
    app.git(&["merge", "-q", "--no-edit", "a"]);
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    let text = app.read(CURRENT);
    assert_eq!(section(&text, "This Session"), ["- did a", "- did b"]);
    assert!(text.contains("**Now:** of b"), "{text}");
    app.ledger(&["--check"]).succeeds();
    app.ledger(&["--check", "--tree", "HEAD"]).succeeds();
    app.git(&["switch", "-q", "a"]);
    app.git(&["merge", "-q", "--no-edit", "b"]);
    assert_eq!(app.read(CURRENT), text);
}

#[test]
fn a_rebase_and_a_cherry_pick_end_fresh_too() {
    let w = World::new();
    let app = installed(&w);
    work(&app, "a", "main", "2026-01-02T00:00:00Z");
    work(&app, "b", "main", "2026-01-03T00:00:00Z");
    // An older git does not tell the merge driver which commit it picks, so the ledger must be committed afterwards,
    // as the guide says.
    let finish = || {
        if crate::support::world::git_version(&app) < (2, 44) {
            app.ledger(&["--no-confirm", "--commit"]).exit(0);
        }
    };
    app.git(&["rebase", "-q", "a"]);
    finish();
    app.ledger(&["--check"]).succeeds();
    assert_eq!(section(&app.read(CURRENT), "This Session"), ["- did a", "- did b"]);
    work(&app, "c", "main", "2026-01-04T00:00:00Z");
    app.git(&["cherry-pick", "a"]);
    finish();
    assert_eq!(section(&app.read(CURRENT), "This Session"), ["- did a", "- did c"]);
    app.ledger(&["--check"]).succeeds();
}

/// Three branches that add and archive end in one ledger, merged in any order.
#[test]
fn any_order_of_merges_ends_in_the_same_ledger() {
    let w = World::new();
    let app = installed(&w);
    for (n, branch) in ["a", "b", "c"].into_iter().enumerate() {
        work(&app, branch, "main", &format!("2026-01-0{}T00:00:00Z", n + 2));
        if branch != "b" {
            app.ledger(&["--archive", "--no-confirm", "--commit"]).succeeds();
            event(&app, &format!("{branch}2"), "2026-01-09T00:00:00Z", branch, "open_questions:\n- more?\n");
            app.ledger(&["--no-confirm", "--commit"]).succeeds();
        }
    }
    let mut seen = Vec::new();
    for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"], ["b", "c", "a"], ["a", "c", "b"], ["c", "a", "b"]]
    {
        app.git(&["switch", "-q", "-C", "all", order[0]]);
        app.git(&["merge", "-q", "--no-edit", order[1]]);
        app.git(&["merge", "-q", "--no-edit", order[2]]);
        app.ledger(&["--check", "--tree", "HEAD"]).succeeds();
        seen.push(app.read(CURRENT));
    }
    assert_eq!(field(&seen[0], "event_count"), "6");
    seen.iter().for_each(|text| assert_eq!(text, &seen[0]));
    app.ledger(&["archive"]).succeeds();
    assert_eq!(app.read(CURRENT), seen[0]);
}

/// git runs no driver if only one side changed the file; the hook then updates it.
#[test]
fn the_hook_synthesises_what_the_driver_does_not_see() {
    let w = World::new();
    let app = installed(&w);
    app.git(&["switch", "-q", "-c", "a"]);
    event(&app, "a", "2026-01-02T00:00:00Z", "a", "now: of a\n");
    commit_all(&app);
    work(&app, "b", "main", "2026-01-03T00:00:00Z");
    let out = app.run("git", &["merge", "-q", "--no-edit", "a"]).exit(0);
    out.err_has("is newer than the last commit");
    app.ledger(&["--check"]).succeeds();
    app.ledger(&["--check", "--tree", "HEAD"]).exit(1).any_out().err_has("is stale");
    app.ledger(&["--no-confirm", "--commit"]).succeeds();
    app.ledger(&["--check", "--tree", "HEAD"]).succeeds();
}

#[test]
fn a_page_that_a_person_wrote_conflicts_like_any_text() {
    let w = World::new();
    let app = installed(&w);
    work(&app, "a", "main", "2026-01-02T00:00:00Z");
    app.git(&["switch", "-q", "-c", "b", "main"]);
    app.write(CURRENT, "# Mine\n");
    app.git(&["commit", "-q", "-a", "-m", "mine"]);
    app.run("git", &["merge", "-q", "--no-edit", "a"]).exit(1).any_out().any_err();
    let text = app.read(CURRENT);
    assert!(text.contains("# Mine") && text.contains("<<<<<<<") && text.contains("**Now:** of a"), "{text}");
    app.ledger(&["--no-confirm", "--commit"]).exit(1).err_has("a merge is in progress");
}

/// A commit made during a rebase would be lost if the rebase is aborted.
#[test]
fn nothing_is_committed_in_the_middle_of_a_rebase() {
    let w = World::new();
    let app = installed(&w);
    app.commit("f", "main\n");
    app.git(&["switch", "-q", "-c", "b", "HEAD~1"]);
    app.commit("f", "b\n");
    app.run("git", &["rebase", "-q", "main"]).exit(1).any_out().any_err();
    app.ledger(&["add", "--now", "said during the rebase", "--synth", "--commit"])
        .exit(1)
        .any_out()
        .err_has("a rebase is in progress");
    app.git(&["rebase", "--abort"]);
    assert!(synth(&app).contains("said during the rebase"));
}

#[test]
fn a_push_of_a_stale_ledger_is_refused() {
    let w = World::new();
    let app = installed(&w);
    app.git(&["init", "-q", "--bare", "../origin.git"]);
    app.git(&["remote", "add", "origin", "../origin.git"]);
    write(&app.path.join(".git/hooks/pre-push.before-shopfloor"), "#!/bin/sh\ncat >> \"$HOME/refs\"\n");
    app.sh("chmod +x .git/hooks/pre-push.before-shopfloor").exit(0);
    app.git(&["push", "-q", "origin", "main"]);
    event(&app, "x", "2026-01-02T00:00:00Z", "x", "now: x\n");
    commit_all(&app);
    let out = app.run("git", &["push", "-q", "origin", "main"]).exit(1);
    out.err_has("refs/heads/main would be pushed with a stale ledger").err_has("+**Now:** x");
    app.git(&["push", "-q", "origin", "main~1:refs/heads/other"]);
    app.run_with("git", &["push", "-q", "origin", "main"], &[("SHOPFLOOR", "0")]).exit(0);
    app.git(&["push", "-q", "origin", "--delete", "other"]);
    // A tool that could not be started has refused nothing: npm's script without node.
    write(&w.home("broken/ledger-synth"), "#!/bin/sh\nexit 127\n");
    app.sh("chmod +x ~/broken/ledger-synth; PATH=~/broken:$PATH git push -q origin main:refs/heads/third").exit(0);
    app.git(&["push", "-q", "origin", "--delete", "third"]);
    app.ledger(&["--no-confirm", "--commit"]).succeeds();
    app.git(&["push", "-q", "origin", "main"]);
    // A hook that was there before gets all refs as well.
    let refs = std::fs::read_to_string(w.home("refs")).unwrap();
    assert!(refs.lines().count() >= 4 && refs.contains("refs/heads/other"), "{refs}");
    // The check needs no work tree.
    let bare = w.at(app.path.parent().unwrap().join("origin.git"));
    let out = bare.ledger(&["--check", "--tree", "main", "--json"]).exit(0).json();
    assert_eq!(out["fresh"], true);
    bare.ledger(&["--check", "--tree", "main~1"]).exit(1).any_err().out_has("+**Now:** x");
    bare.ledger(&["--check", "--tree", "nothing"]).exit(2).err_has("`nothing` is not a commit");
    bare.ledger(&["--check"]).exit(2).err_has("has no work tree");
}

/// pre-commit hands refs over in its own words; one that names nothing must not pass for a ref that is fresh.
#[test]
fn a_push_of_an_unknown_ref_is_refused() {
    let w = World::new();
    let app = installed(&w);
    let push = |line: &str| app.sh(&format!("echo '{line}' | ledger-synth hook run pre-push"));
    push("refs/heads/main main - -").exit(0);
    push("(delete) 0000000000000000000000000000000000000000 refs/heads/x -").exit(0);
    for line in ["- nonsense - -", "-  - -"] {
        push(line).exit(2).err_has("is not a commit");
    }
    app.sh("git tag tree HEAD^{tree}").exit(0);
    push("refs/tags/tree tree - -").exit(0);
    event(&app, "x", "2026-01-02T00:00:00Z", "x", "now: x\n");
    commit_all(&app);
    push("refs/heads/main main - -").exit(1).err_has("stale ledger");
}

#[test]
fn doctor_knows_the_hooks_that_a_manager_runs() {
    let w = World::new();
    let app = installed(&w);
    app.ledger(&["hook", "uninstall"]).succeeds();
    app.ledger(&["doctor"]).exit(1).out_has("the hook is not installed");
    app.git(&["config", "core.hooksPath", ".husky/_"]);
    for hook in ["pre-push", "post-merge", "post-rewrite"] {
        app.write(&format!(".husky/_/{hook}"), "#!/bin/sh\n");
        app.write(&format!(".husky/{hook}"), &format!("ledger-synth hook run {hook} \"$@\"\n"));
    }
    app.sh("chmod +x .husky/_/*").exit(0);
    app.ledger(&["hook", "status"]).succeeds();
    app.ledger(&["doctor"]).exit(0).out_has(".husky/pre-push");
}

#[test]
fn install_and_doctor_agree_and_uninstall_leaves_nothing() {
    let w = World::new();
    let app = w.app();
    app.write(".claude/settings.json", "{ // mine\n  \"model\": \"x\"\n}\n");
    app.write(".gitattributes", "*.png binary");
    let out = app.ledger(&["doctor", "--json"]).exit(1);
    let fixes: Vec<_> =
        out.json_lines().iter().filter(|l| l["ok"] == false).map(|l| text(l, "/fix").to_owned()).collect();
    assert!(fixes.contains(&"ledger-synth install".to_owned()), "{fixes:?}");
    let before = app.snapshot();
    app.ledger(&["install", "--claude", "-n"]).succeeds().out_has("would write .gitattributes");
    app.assert_untouched_since(&before);
    app.ledger(&["install", "--claude"]).succeeds().err_has("commit .gitattributes, .claude/settings.json, ");
    assert_eq!(app.read(".gitattributes"), format!("*.png binary\n/{CURRENT} merge=ledger-synth text eol=lf"));
    let settings = app.read(".claude/settings.json");
    assert!(settings.contains("// mine") && settings.contains("ledger-synth add --from-hook claude"), "{settings}");
    assert!(app.read(".claude/skills/synthesize-ledgers/SKILL.md").contains("merge ledgers"));
    event(&app, "a", "2026-01-02T00:00:00Z", "a", "now: a\n");
    synth(&app);
    let again = app.snapshot();
    app.ledger(&["install", "--claude"]).exit(0);
    app.assert_untouched_since(&again);
    app.ledger(&["doctor"]).succeeds();
    // `install` cannot mend what git reads after its line.
    app.write(".git/info/attributes", "*.md merge=union\n");
    let overruled = app.ledger(&["doctor"]).exit(1);
    overruled.out_has("merge=union").out_has(".git/info/attributes");
    assert!(!overruled.stdout.contains("ledger-synth install"), "{overruled}");
    app.ledger(&["doctor", "--repair", "--yes"]).exit(1).any_out();
    app.sh("rm .git/info/attributes").exit(0);
    app.write(".claude/settings.json", "{ oops");
    app.ledger(&["install", "--claude"]).exit(2).err_has(".claude/settings.json:1:");
    app.ledger(&["hook", "status"]).succeeds();
    app.ledger(&["hook", "uninstall"]).succeeds();
    app.ledger(&["hook", "status"]).exit(1).any_out();
    assert!(!app.has(".git/hooks/pre-push") && !app.has(".git/hooks/post-merge"));
}

/// What somebody changed since is theirs.
#[test]
fn install_undo_takes_out_what_install_wrote_and_nothing_else() {
    let w = World::new();
    let app = w.app();
    app.ledger(&["install", "--claude", "--codex"]).succeeds();
    app.ledger(&["hook", "uninstall"]).succeeds();
    let before = app.snapshot();
    app.ledger(&["install", "--undo", "--claude", "--codex", "-n"]).exit(0).out_has("would remove .gitattributes");
    app.assert_untouched_since(&before);
    let out = app.ledger(&["install", "--undo", "--claude", "--codex"]).exit(0);
    out.out_has("removed .gitattributes").out_has("unset merge.ledger-synth.driver");
    assert!(!app.has(".gitattributes") && !app.has(".claude") && !app.has(".codex") && !app.has(".agents"));
    app.run("git", &["config", "--get-regexp", "ledger-synth"]).exit(1);
    app.write(".claude/settings.json", "{ // mine\n  \"model\": \"x\"\n}\n");
    // Without a last line end.
    app.write(".gitattributes", "*.png binary");
    app.ledger(&["install", "--claude"]).succeeds();
    app.git(&["config", "merge.ledger-synth.name", "mine"]);
    app.write(".claude/skills/synthesize-ledgers/SKILL.md", "mine\n");
    let out = app.ledger(&["install", "--undo", "--claude"]).exit(1);
    out.out_has("edited .claude/settings.json").err_has("SKILL.md is not as `install` wrote it, and stays");
    assert_eq!(app.read(".claude/skills/synthesize-ledgers/SKILL.md"), "mine\n");
    assert_eq!(app.read(".gitattributes"), "*.png binary");
    let settings = app.read(".claude/settings.json");
    assert!(settings.contains("// mine") && settings.contains("model") && !settings.contains("ledger"), "{settings}");
    assert_eq!(app.git(&["config", "--get-regexp", "ledger-synth"]), "merge.ledger-synth.name mine\n");
}

#[test]
fn a_commit_that_fails_leaves_the_index_as_it_was() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-02T00:00:00Z", "a", "now: a\n");
    app.write("other", "x");
    app.git(&["add", "other"]);
    write(&app.path.join(".git/hooks/pre-commit"), "#!/bin/sh\necho no >&2; exit 1\n");
    app.sh("chmod +x .git/hooks/pre-commit").exit(0);
    let before = app.git(&["status", "--porcelain", "-uall"]);
    app.ledger(&["--no-confirm", "--commit"]).exit(4).any_out().err_has("git commit failed").err_has("caused by: no");
    let after = app.git(&["status", "--porcelain", "-uall"]);
    assert_eq!(after.replace(&format!("?? {CURRENT}\n"), ""), before);
    app.sh("rm .git/hooks/pre-commit").exit(0);
    app.write(".gitignore", "/thoughts/**/a.md\n");
    app.ledger(&["--no-confirm", "--commit"]).exit(2).err_has("git ignores").err_has("a.md");
    app.write(".gitignore", "thoughts/\n");
    app.ledger(&["--no-confirm", "--commit"]).exit(2).err_has("git ignores").err_has("git check-ignore -v");
}

#[test]
fn an_unborn_branch_and_a_detached_head_can_be_committed_to() {
    let w = World::new();
    let app = w.app();
    app.git(&["switch", "-q", "--orphan", "new"]);
    event(&app, "a", "2026-01-02T00:00:00Z", "a", "now: a\n");
    app.ledger(&["--no-confirm", "--commit", "-n"]).exit(0).out_has("would commit 2 files");
    app.ledger(&["--no-confirm", "--commit"]).succeeds();
    app.git(&["switch", "-q", "--detach"]);
    event(&app, "b", "2026-01-03T00:00:00Z", "a", "now: b\n");
    app.ledger(&["--no-confirm", "--commit"]).succeeds();
    assert_eq!(app.git(&["status", "--porcelain"]), "");
}

#[test]
fn checkpoints_are_committed_every_half_hour_and_others_at_once() {
    let mut w = World::new();
    w.set("GIT_COMMITTER_DATE", "2026-01-10T12:00:00Z");
    let app = w.app();
    let at = |time: &'static str| [("SHOPFLOOR_NOW", time)];
    let add = |time, kind: &str, more: &[&str]| {
        let args = [&["add", "--now", time, "--type", kind, "--synth", "--commit"], more].concat();
        app.run_with("ledger-synth", &args, &at(time)).succeeds();
        app.git(&["status", "--porcelain"]).is_empty()
    };
    assert!(add("2026-01-10T12:00:00Z", "session_end", &[]));
    assert!(!add("2026-01-10T12:10:00Z", "checkpoint", &[]));
    assert!(add("2026-01-10T12:40:00Z", "checkpoint", &[]));
    assert!(add("2026-01-10T12:10:00Z", "handoff", &[]));
    assert!(!add("2026-01-10T12:20:00Z", "handoff", &["--min-interval", "1h"]));
    let out = app
        .run_with("ledger-synth", &["--no-confirm", "--commit", "--min-interval", "30m"], &at("2026-01-10T12:20:00Z"))
        .exit(0);
    out.err_has("too recent");
    assert!(add("2026-01-10T12:20:00Z", "handoff", &[]));
}

#[test]
fn commits_at_once_undo_nothing_of_each_other() {
    let w = World::new();
    let app = w.app();
    for round in 0..4 {
        event(&app, &format!("e{round}"), &format!("2026-01-0{}T00:00:00Z", round + 1), "x", "now: x\n");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| app.ledger(&["--no-confirm", "--commit"]).succeeds());
            }
        });
        assert_eq!(app.git(&["status", "--porcelain"]), "", "round {round}");
    }
    // Other files there are not touched, tracked or not, and a squashed merge keeps its message.
    app.commit(&format!("{EVENTS}/todo.txt"), "1");
    app.write(&format!("{EVENTS}/todo.txt"), "2");
    app.write(".git/SQUASH_MSG", "prepared\n");
    app.git(&["add", &format!("{EVENTS}/todo.txt")]);
    app.ledger(&["--no-confirm", "--commit"]).exit(1).err_has("a squashed merge is in progress");
    // One that brought nothing leaves its message, too.
    app.git(&["restore", "--staged", &format!("{EVENTS}/todo.txt")]);
    event(&app, "last", "2026-01-09T00:00:00Z", "x", "now: y\n");
    app.ledger(&["--no-confirm", "--commit"]).succeeds().any_err();
    assert_eq!(app.git(&["status", "--porcelain"]), format!(" M {EVENTS}/todo.txt\n"));
}

/// No snapshot holds an edit of an event that another branch archived, so the edit is reported.
#[test]
fn an_edit_of_an_event_that_others_archived_is_reported() {
    let w = World::new();
    let app = installed(&w);
    app.git(&["switch", "-q", "-c", "a"]);
    app.ledger(&["--archive", "--no-confirm", "--commit"]).succeeds();
    app.git(&["switch", "-q", "main"]);
    event(&app, "base", "2026-01-01T00:00:00Z", "base", "now: base\nthis_session:\n- forgot this one\n");
    app.ledger(&["--no-confirm", "--commit"]).succeeds();
    let out = app.run("git", &["merge", "-q", "--no-edit", "a"]).exit(0);
    out.err_has("counts nowhere").err_has("archive/2026-01-01/base.md");
    app.ledger(&["doctor"]).exit(1).out_has("not everything in the archive counts: 1 file");
    app.ledger(&["-v", "prune", "--retention", "0"]).exit(0).err_has("nothing in the archive is covered");
    app.sh(&format!("mv {EVENTS}/../archive/2026-01-01/base.md {EVENTS}/")).exit(0);
    assert!(synth(&app).contains("- forgot this one"));
}

#[test]
fn each_ledger_is_merged_on_its_own() {
    let w = World::new();
    let app = installed(&w);
    let second = ["--root", "docs/ledger"];
    app.ledger(&[&second[..], &["install"]].concat()).succeeds();
    let add = |branch: &str| {
        app.git(&["switch", "-q", "-c", branch, "main"]);
        app.ledger(&[&second[..], &["add", "--agent", branch, "--done", branch, "--synth"]].concat()).succeeds();
        commit_all(&app);
    };
    commit_all(&app);
    add("a");
    add("b");
    app.git(&["merge", "-q", "--no-edit", "a"]);
    let text = app.read("docs/ledger/current.md");
    assert_eq!(section(&text, "This Session"), ["- a", "- b"]);
    assert!(!text.contains("base"), "{text}");
    app.ledger(&[&second[..], &["--check"]].concat()).succeeds();
    app.ledger(&["--check"]).succeeds();
}

/// git keeps pushed objects apart until the hook accepts them, and the hook finds them there.
#[test]
fn a_servers_hook_checks_what_is_being_pushed() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-01T00:00:00Z", "x", "now: a\n");
    app.ledger(&["--no-confirm"]).succeeds();
    app.sh("git add -A && git commit -qm fresh && git clone -q --bare . ../server.git && git remote add server ../server.git").exit(0);
    let bare = w.at(app.path.parent().unwrap().join("server.git"));
    for hook in ["pre-receive", "update"] {
        let line = match hook {
            "update" => "ledger-synth --check --tree \"$3\"",
            _ => "while read -r old new ref; do ledger-synth --check --tree \"$new\" || exit 1; done",
        };
        bare.write(&format!("hooks/{hook}"), &format!("#!/bin/sh\n{line}\n"));
        bare.sh(&format!("chmod +x hooks/{hook}")).exit(0);
        event(&app, hook, "2026-01-02T00:00:00Z", "x", &format!("now: {hook}\n"));
        app.sh("git add -A && git commit -qm stale").exit(0);
        let refused = app.run("git", &["push", "-q", "server", "main"]).exit(1);
        refused.err_has("is stale");
        app.ledger(&["--no-confirm"]).succeeds();
        app.sh("git add -A && git commit -qm fresh").exit(0);
        app.run("git", &["push", "-q", "server", "main"]).succeeds();
        bare.sh(&format!("rm hooks/{hook}")).exit(0);
    }
}

/// An `archive` that moves files while they are committed does not make the commit fail.
#[test]
fn a_commit_is_tried_again_if_its_files_move() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-10T00:00:00Z", "toast", "now: x\n");
    let (from, day) = (format!("{EVENTS}/a.md"), format!("{EVENTS}/../archive/2026-01-10"));
    let git = which("git").display().to_string();
    w.program(
        "git",
        &format!("case \"$*\" in *' add '*) if [ -e {from} ]; then mkdir -p {day}; mv {from} {day}/; fi;; esac\nexec {git} \"$@\"\n"),
    );
    app.ledger(&["--yes", "--commit"]).exit(0).any_out();
    assert!(app.git(&["ls-files"]).contains("archive/2026-01-10/a.md"));
}

/// npm's script on the PATH would start node first, where the PATH of a merge may have neither.
#[test]
fn the_merge_driver_of_a_copy_from_npm_is_the_program_itself() {
    let w = World::new();
    let app = w.app();
    event(&app, "a", "2026-01-01T00:00:00Z", "x", "now: a\n");
    let own = "mkdir -p ~/npm/bin ~/npm/share/shopfloor; cp $(command -v ledger-synth) ~/npm/bin
        echo npm > ~/npm/share/shopfloor/origin
        mkdir ~/scripts; printf '#!/bin/sh\\nexit 127\\n' > ~/scripts/ledger-synth; chmod +x ~/scripts/ledger-synth";
    app.sh(own).exit(0);
    app.sh("~/npm/bin/ledger-synth install && ~/npm/bin/ledger-synth --no-confirm").exit(0).any_out().any_err();
    commit_all(&app);
    app.sh("~/npm/bin/ledger-synth install").exit(0).any_err();
    for side in ["side", "main"] {
        app.sh(&format!("git checkout -q {}", if side == "side" { "-b side" } else { "main" })).exit(0);
        event(&app, side, "2026-01-02T00:00:00Z", side, &format!("now: {side}\n"));
        app.sh("~/npm/bin/ledger-synth --no-confirm").exit(0).any_out().any_err();
        commit_all(&app);
    }
    app.sh("PATH=~/scripts:$PATH git merge -q --no-edit side").exit(0).any_out().any_err();
    // Another copy takes it for ours, and nothing that runs more.
    let config = "git config merge.ledger-synth.driver";
    let own = app.sh(config).exit(0).stdout.trim_end().to_owned();
    let forged = own.replace("PATH=", "PATH=x touch ");
    app.sh(&format!("{config} '{forged}'")).exit(0);
    app.ledger(&["doctor"]).exit(1).out_has("PATH=x touch");
    app.sh(&format!("{config} '{own}'")).exit(0);
    app.ledger(&["doctor"]).any_status().any_err().out_has("ok      driver");
    app.ledger(&["install", "--undo"]).exit(0).out_has("unset merge.ledger-synth.driver");
}
