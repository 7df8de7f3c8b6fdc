//! The state in the overlay: what is read, and what is refused.

use crate::support::overlay::scene;
use crate::support::world::{World, project, text};

/// Case 15 of the design.
#[test]
fn state_that_leads_outside_is_refused_and_output_shows_no_contents() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "TOKEN=secret\n");
    s.attach();
    s.a.write(".env", "TOKEN=hidden\n");
    for args in [["status", "--json"], ["sync", "--json"], ["log", "--json"], ["sync", "-v"]] {
        let out = s.app.overlay(&args).exit(0);
        assert!(!out.stdout.contains("secret") && !out.stderr.contains("hidden") && !out.stdout.contains("hidden"));
    }
    let states = s.overlay(".overlay-sync/workspaces");
    let record = std::fs::read_dir(&states).unwrap().next().unwrap().unwrap().path();
    let good = std::fs::read_to_string(&record).unwrap();
    for bad in ["../x", "/etc/x", "a/../../x", ".git/config"] {
        std::fs::write(&record, good.replace("\".env\"", &format!("\"{bad}\""))).unwrap();
        s.app.overlay(&["sync"]).exit(2).err_has(".json:");
        s.app.overlay(&["watch", "-q"]).exit(2).err_has(".json:");
    }
    // Nor is the state itself a file of a workspace.
    std::fs::write(&record, good.replace("\".env\"", "\".overlay-sync/lock\"")).unwrap();
    s.app.overlay(&["sync"]).exit(0).any_out().err_has("lock stays untouched: its name is reserved");
    s.app.overlay(&["drop", ".overlay-sync/lock", "x"]).exit(1).any_out().any_err();
    assert!(!s.a.has(".overlay-sync") && !s.b.has(".overlay-sync"));
    std::fs::write(&record, good.replace("\"v\":1", "\"v\":9")).unwrap();
    s.app.overlay(&["sync"]).exit(2).err_has("a newer version of this program wrote it");
}

#[test]
fn what_the_hint_about_a_damaged_record_of_the_repository_says_mends_it() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    std::fs::write(s.overlay(".overlay-sync/repository.json"), "").unwrap();
    s.app.overlay(&["doctor"]).exit(1).any_err().out_has("write it again");
    let failed = s.app.overlay(&["sync"]).exit(2);
    assert_eq!(failed.stdout, "");
    s.app.sh(failed.stderr.split('`').nth(1).unwrap()).exit(0);
    s.app.overlay(&["sync"]).succeeds();
    s.app.overlay(&["doctor"]).exit(0).any_out().any_err();
}

#[test]
fn state_of_version_1_is_still_read() {
    let w = World::new();
    let s = scene(&w);
    let fixture = project().join("tests/fixtures/v1/overlay");
    let root = s.app.path.to_str().unwrap();
    let overlay = s.overlay("");
    s.app.sh(&format!(
        "mkdir -p {o} && cp -r {f}/overlay-sync {o}/.overlay-sync && cp {f}/env {o}/.env && cp {f}/env.gone {o}/.env.gone \
         && cp -r {f}/claude {o}/.claude && find {o} -type f -exec sed -i s#@ROOT@#{root}# {{}} + && chmod -R go= {o} \
         && cd {o}/.overlay-sync/workspaces && id=$(sed -n 's/.*\"id\": \"\\(.*\\)\",/\\1/p' workspace.json) && mv workspace.json $id.json \
         && mkdir -p {root}/.git/shopfloor/overlay-sync && printf %s $id > {root}/.git/shopfloor/overlay-sync/id",
        f = fixture.display(),
        o = overlay.display(),
    ))
    .exit(0);
    // The state that version left: an empty file is held, so is a part of another, and a third was deleted here.
    s.app.write(".env", "");
    s.app.write(
        ".claude/settings.json",
        "{\"permissions\": {\"allow\": [\"Read\", \"Bash(rm:*)\"]}, \"model\": \"h\"}\n",
    );
    let out = s.app.overlay(&["sync"]).exit(1);
    out.err_has(".env is held: it is empty").err_has("it brings back an entry that was removed");
    assert_eq!((out.stdout.as_str(), s.app.has(".env.gone")), ("", false));
    let lines = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
    let states: Vec<_> = lines.iter().map(|line| text(line, "/state")).collect();
    assert_eq!(states, ["recorded", "held", "held"]);
    s.app.overlay(&["show", "5bb600bb6bbd"]).exit(0).out_has("\"o\"");
    s.app.overlay(&["log"]).exit(0).out_has("last_write");
    s.app.write(".env", "A=1\nB=2\n");
    s.app.overlay(&["sync"]).exit(1).any_err().out_has("push .env");
}

/// `git worktree prune` removes the record of a worktree that is away for a moment.
#[test]
fn a_workspace_that_still_stands_is_not_forgotten_with_its_record() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.b.write(".env", "A=1\nB=2\n");
    let (away, back) = ("mv .git/worktrees/b ../record", "mv ../record .git/worktrees/b");
    for relative in ["true", "echo gitdir: ../app/.git/worktrees/b > ../b/.git"] {
        s.app.sh(&format!("{relative} && {away}")).exit(0);
        let what = "/b is no workspace of this repository any more; bring it back";
        s.sync(0).err_has(what);
        s.app.overlay(&["check"]).exit(1).any_err().out_has("of this repository any more");
        s.app.overlay(&["doctor"]).exit(1).any_err().out_has(what);
        s.app.sh(back).exit(0);
    }
    s.sync(0).any_err();
    s.all_are(".env", "A=1\nB=2\n");
    // The directory of another repository is none of it, and one that is away is forgotten.
    s.app.sh(&format!("{away} && mv ../b ../aside && git init -q ../b")).exit(0);
    s.sync(0).any_err();
    s.app.sh(&format!("rm -rf ../b && {back} && mv ../aside ../b")).exit(0);
    assert!(!s.app.overlay(&["status"]).exit(0).stdout.contains("/b)"));
    s.app.sh("rm -rf ../a && git worktree prune").exit(0);
    s.sync(0).any_err();
    assert_eq!(s.app.overlay(&["status"]).exit(0).any_err().stdout, "");
}
