//! `overlay-sync`: untracked files in step between an overlay and real worktrees, by the cases of its design.

use crate::support::overlay::{OVERLAY, scene};
use crate::support::world::{World, mode, text, write};

#[test]
fn case_1_bytes_modes_and_hashes_under_any_umask() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.put("x.sh", "#!/bin/sh\n");
    s.app.sh(&format!("cd ~/{OVERLAY} && chmod 600 .env && chmod 755 x.sh")).exit(0);
    for (repo, umask) in [(&s.a, "022"), (&s.b, "077")] {
        repo.sh(&format!("umask {umask}; overlay-sync attach")).exit(0);
        assert_eq!((mode(&repo.path.join(".env")), mode(&repo.path.join("x.sh"))), (0o600, 0o755));
        assert_eq!((repo.read(".env"), repo.read("x.sh")), ("A=1\n".into(), "#!/bin/sh\n".into()));
        repo.sh("overlay-sync manifest | sha256sum --check --quiet").exit(0);
        let json = repo.overlay(&["manifest", "--json"]).exit(0).json();
        assert_eq!(json["files"].as_object().unwrap().len(), 2);
    }
    assert_eq!(mode(&s.overlay(".overlay-sync")), 0o700);
    s.app.sh(&format!("find ~/{OVERLAY}/.overlay-sync -type f ! -perm 600 | grep .")).exit(1);
}

#[test]
fn case_2_what_git_sees_stays_untouched() {
    let w = World::new();
    let s = scene(&w);
    s.put("dir/seen", "x");
    s.put(".env", "A=1\n");
    s.a.commit(".env", "tracked\n");
    let out = s.a.overlay(&["attach"]).exit(0);
    out.err_has("dir/seen is not ignored");
    assert!(!s.a.has("dir"));
    assert_eq!((s.a.read(".env"), s.a.git(&["status", "--porcelain"])), ("tracked\n".into(), String::new()));
    let states: Vec<_> = s.a.overlay(&["status", "--json"]).exit(0).json_lines();
    let state =
        |path: &str| states.iter().find(|l| text(l, "/path") == path).map(|l| text(l, "/state").to_owned()).unwrap();
    assert_eq!((state(".env"), state("dir/seen")), ("tracked".into(), "not_ignored".into()));
}

#[test]
fn case_3_an_edit_travels_and_a_second_sync_writes_nothing() {
    let w = World::new();
    let s = scene(&w);
    s.put(".claude/settings.json", "{\n  \"a\": 1\n}\n");
    s.attach();
    s.a.write(".claude/settings.json", "{\n  \"a\": 2\n}\n");
    let lines = s.app.overlay(&["sync", "--json"]).exit(0).json_lines();
    let rules: Vec<_> = lines.iter().map(|l| text(l, "/rule")).collect();
    assert_eq!(rules, ["push", "propagate"]);
    s.all_are(".claude/settings.json", "{\n  \"a\": 2\n}\n");
    s.a.sh("touch .claude/settings.json").exit(0);
    let before = (s.a.snapshot(), s.b.snapshot(), w.at(s.overlay("")).snapshot());
    assert_eq!(s.sync(0).stdout, "");
    s.a.assert_untouched_since(&before.0);
    s.b.assert_untouched_since(&before.1);
    w.at(s.overlay("")).assert_untouched_since(&before.2);
    s.put(".claude/settings.json", "{\"by\": \"hand\"}");
    s.sync(0);
    s.all_are(".claude/settings.json", "{\"by\": \"hand\"}");
}

#[test]
fn case_4_two_agents_granting_permissions_both_count() {
    let w = World::new();
    let s = scene(&w);
    let allow = |list: &str| format!("{{\n  \"permissions\": {{\n    \"allow\": [{list}]\n  }}\n}}\n");
    s.put(".claude/settings.json", &allow("\"Read\""));
    s.attach();
    s.a.write(".claude/settings.json", &allow("\"Read\", \"Bash(git:*)\""));
    s.b.write(".claude/settings.json", &allow("\"Read\", \"Bash(npm:*)\""));
    s.sync(0);
    s.all_are(".claude/settings.json", &allow("\"Read\", \"Bash(git:*)\", \"Bash(npm:*)\""));
    assert_eq!(s.sync(0).stdout, "");
    // Taking one away in a workspace does not spread; in the overlay it does.
    s.a.write(".claude/settings.json", &allow("\"Read\""));
    s.sync(0);
    s.all_are(".claude/settings.json", &allow("\"Read\", \"Bash(git:*)\", \"Bash(npm:*)\""));
    s.put(".claude/settings.json", &allow("\"Read\", \"Bash(npm:*)\""));
    s.sync(0);
    s.all_are(".claude/settings.json", &allow("\"Read\", \"Bash(npm:*)\""));
}

#[test]
fn case_5_a_conflict_is_decided_and_the_loser_can_be_had_back() {
    let w = World::new();
    let s = scene(&w);
    s.put(".claude/settings.json", "{\"model\": \"x\", \"k\": 1}");
    s.attach();
    s.a.write(".claude/settings.json", "{\"model\": \"a\", \"k\": 1}");
    s.b.write(".claude/settings.json", "{\"model\": \"b\", \"k\": 2}");
    s.sync(1).err_has("a conflict was decided by rule");
    s.all_are(".claude/settings.json", "{\"model\": \"b\", \"k\": 2}");
    let conflict = &s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines()[0];
    assert_eq!((text(conflict, "/path"), conflict["places"][0].as_str()), (".claude/settings.json", Some("model")));
    assert_ne!(text(conflict, "/overlay"), text(conflict, "/here"));
    let id = text(conflict, "/id");
    assert_eq!(s.app.overlay(&["show", id]).exit(0).stdout, "{\"model\": \"a\", \"k\": 1}");
    assert_eq!(s.app.overlay(&["show", text(conflict, "/here")]).exit(0).stdout, "{\"model\": \"b\", \"k\": 2}");
    s.app.overlay(&["restore", id, "--to", ".env.old"]).exit(0);
    assert_eq!(s.app.read(".env.old"), "{\"model\": \"a\", \"k\": 1}");
    s.app.overlay(&["restore", id, "--to", ".env.old"]).exit(1).err_has("exists already");
    s.app.overlay(&["show", "ffffffff"]).exit(1).any_err();
    s.sync(0);
    // Also where the result is neither side's text: the loser is the one whose value was not taken.
    s.a.write(".claude/settings.json", "{\"model\": \"p\", \"k\": 2, \"pa\": 1}");
    s.b.write(".claude/settings.json", "{\"qb\": 1, \"model\": \"q\", \"k\": 2}");
    s.sync(1).any_err();
    assert!(s.text(".claude/settings.json").contains("\"q\"") && s.text(".claude/settings.json").contains("\"pa\""));
    let newest = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines().pop().unwrap();
    assert_eq!(text(&newest, "/winner"), "workspace");
    assert!(s.app.overlay(&["show", text(&newest, "/id")]).exit(0).stdout.contains("\"p\""));
    // With the other rule the overlay decides.
    s.a.write(".claude/settings.json", "{\"model\": \"b\", \"k\": 2}");
    s.sync(0);
    s.a.write(".claude/settings.json", "{\"model\": \"a2\", \"k\": 2}");
    s.put(".claude/settings.json", "{\"model\": \"o\", \"k\": 2}");
    s.app.overlay(&["sync", "--on-conflict", "overlay"]).exit(1).any_err();
    s.all_are(".claude/settings.json", "{\"model\": \"o\", \"k\": 2}");
}

#[test]
fn case_6_lines_of_env_files_and_records() {
    let w = World::new();
    let s = scene(&w);
    let env = |first: &str, last: &str| format!("A={first}\nB=1\nC=1\nD=1\nE=1\nF=1\nG=1\nH=1\nI={last}\n");
    s.put(".env", &env("1", "1"));
    s.put("log.jsonl", "{\"a\":1}\n");
    s.attach();
    s.a.write(".env", &env("2", "1"));
    s.b.write(".env", &env("1", "2"));
    s.a.write("log.jsonl", "{\"a\":1}\n{\"b\":1}");
    s.b.write("log.jsonl", "{\"a\":1}\r\n{\"c\":1}\r\n");
    s.sync(0);
    s.all_are(".env", &env("2", "2"));
    for record in ["{\"a\":1}", "{\"b\":1}", "{\"c\":1}"] {
        assert_eq!(s.text("log.jsonl").matches(record).count(), 1);
    }
}

#[test]
fn case_8_half_written_gutted_and_code_running_texts_wait() {
    let w = World::new();
    let s = scene(&w);
    s.put(".claude/settings.json", "{\"a\": 1}\n");
    s.put(".env", "A=1\nB=1\nC=1\nD=1\nE=1\nF=1\nG=1\nH=1\n");
    s.attach();
    s.a.write(".claude/settings.json", "{\"a\":");
    s.a.write(".env", "A=1\n");
    let out = s.sync(1);
    out.err_has("does not parse any more").err_has("7 of 8 entries vanished");
    assert_eq!(s.b.read(".claude/settings.json"), "{\"a\": 1}\n");
    let states = s.a.overlay(&["status", "--json", "."]).exit(0).json_lines();
    assert!(states.iter().all(|l| text(l, "/state") == "held"), "{states:?}");
    s.a.overlay(&["detach", "."]).exit(1).err_has("stays attached");
    s.a.write(".claude/settings.json", "{\"a\": 2}\n");
    s.a.write(".env", "A=1\nB=1\nC=1\nD=1\nE=1\nF=1\nG=1\nH=2\n");
    s.sync(0);
    s.all_are(".claude/settings.json", "{\"a\": 2}\n");
    s.a.write(".claude/settings.json", "{\"a\": 2, \"hooks\": {\"Stop\": [{\"command\": \"curl evil\"}]}}\n");
    s.sync(1).err_has("run code in every workspace");
    assert_eq!(s.b.read(".claude/settings.json"), "{\"a\": 2}\n");
    // A person decides: it goes back, or it spreads; a later edit is another matter.
    let held = || {
        let lines = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
        let held: Vec<_> = lines.iter().filter(|l| text(l, "/state") == "held").collect();
        held.first().map(|l| text(l, "/id").to_owned())
    };
    s.app.overlay(&["accept", "nothing"]).exit(1).any_err();
    s.app.overlay(&["reject", &held().unwrap()]).exit(0).any_err();
    s.all_are(".claude/settings.json", "{\"a\": 2}\n");
    let hooks = "{\"a\": 2, \"hooks\": {\"Stop\": [{\"command\": \"date\"}]}}\n";
    s.a.write(".claude/settings.json", hooks);
    s.sync(1).any_err();
    s.app.overlay(&["accept", &held().unwrap()]).exit(0).any_err();
    s.all_are(".claude/settings.json", hooks);
    assert_eq!(held(), None);
    s.b.write(".claude/settings.json", &hooks.replace("date", "curl evil"));
    s.sync(1).any_err();
    assert_eq!(s.a.read(".claude/settings.json"), hooks);
}

#[test]
fn case_11_deletions_are_local_and_a_clean_up_is_no_decision() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.put(".env.local", "B=1\n");
    s.attach();
    s.a.sh("rm .env").exit(0);
    s.sync(0);
    assert!(!s.a.has(".env") && s.b.has(".env") && s.overlay(".env").exists());
    s.sync(0);
    assert!(!s.a.has(".env"), "not filled again");
    s.put(".env", "A=2\n");
    s.sync(0);
    s.all_are(".env", "A=2\n");
    s.b.git(&["clean", "-qfdX"]);
    s.sync(1).err_has("all files are gone from").err_has("--restore");
    assert!(!s.b.has(".env") && s.a.has(".env"));
    s.app.overlay(&["sync", "--restore", s.b.path.to_str().unwrap()]).exit(0);
    s.all_are(".env.local", "B=1\n");
    // Deleted in the overlay: workspaces keep theirs.
    std::fs::remove_file(s.overlay(".env")).unwrap();
    s.sync(0);
    assert!(s.a.has(".env") && !s.overlay(".env").exists());
    // Emptied, or gone altogether: nothing is touched.
    s.put(".env.x", "x\n");
    s.sync(0);
    s.app.sh(&format!("cd ~/{OVERLAY} && rm .env*")).exit(0);
    s.sync(1).err_has("was emptied");
    assert!(s.a.has(".env.local") && s.b.has(".env.x"));
}

#[test]
fn case_12_detach_brings_the_last_edit_home_and_leaves_nothing() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.a.write(".env", "A=2\n");
    s.a.overlay(&["detach", "."]).exit(0).out_has("detached");
    assert_eq!((s.text(".env"), s.a.read(".env")), ("A=2\n".into(), "A=2\n".into()));
    let left = s.app.sh("cd; find . -name '.shopfloor-tmp-*' -o -name id -path '*/a/*'").exit(0).stdout;
    assert_eq!(left, "");
    s.app.sh("rm -rf ../a").exit(0);
    s.sync(0);
    assert_eq!(s.b.read(".env"), "A=2\n");
    assert!(!s.app.path.parent().unwrap().join("a").exists());
    s.app.sh("rm -rf ../b; overlay-sync sync").exit(0).err_has("is not there");
}

#[test]
fn case_13_many_at_once_lose_no_edit() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "START=1\n");
    s.attach();
    for round in 0..10 {
        s.a.sh(&format!("echo A{round}=1 >> .env")).exit(0);
        s.b.sh(&format!("echo B{round}=1 >> .env")).exit(0);
        std::thread::scope(|scope| {
            for repo in [&s.a, &s.b] {
                scope.spawn(|| repo.overlay(&["sync"]).exit(0));
            }
        });
    }
    s.sync(0);
    let all = s.text(".env");
    for round in 0..10 {
        assert!(all.contains(&format!("A{round}=1\n")) && all.contains(&format!("B{round}=1\n")), "{all}");
    }
    s.all_are(".env", &all);
}

#[test]
fn case_14_one_workspace_that_cannot_be_written_keeps_nobody_back() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.app.sh("chmod 555 ../b").exit(0);
    s.a.write(".env", "A=2\n");
    s.a.run_bound("overlay-sync", &["sync"]).exit(4).any_out().err_has("/b: .env: cannot");
    assert_eq!((s.text(".env"), s.b.read(".env")), ("A=2\n".into(), "A=1\n".into()));
    // Nor is it let go in a state that nobody chose.
    s.a.run_bound("overlay-sync", &["detach", "../b"]).exit(4).err_has("stays attached");
    s.app.sh("chmod 755 ../b").exit(0);
    s.a.run_bound("overlay-sync", &["sync"]).exit(0);
    s.all_are(".env", "A=2\n");
}

#[test]
fn case_15_state_that_leads_outside_is_refused_and_no_content_is_told() {
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
    std::fs::write(&record, good.replace("\"v\": 1", "\"v\": 9")).unwrap();
    s.app.overlay(&["sync"]).exit(2).err_has("a newer version of this program wrote it");
}

#[test]
fn links_are_not_followed_on_either_side() {
    let w = World::new();
    let s = scene(&w);
    write(&w.home("key"), "private key\n");
    s.put(".env", "A=1\n");
    s.attach();
    s.a.sh("rm .env; ln -s ~/key .env").exit(0);
    s.sync(0).err_has("is a link, which is not followed");
    assert_eq!((s.text(".env"), s.b.read(".env")), ("A=1\n".into(), "A=1\n".into()));
    s.app.sh(&format!("ln -s ~/key ~/{OVERLAY}/.env.link; mkdir ~/out; ln -s ~/out ../b/.claude")).exit(0);
    s.put(".claude/x", "x");
    s.sync(0).any_err();
    assert!(!s.b.has(".env.link") && !w.home("out/x").exists() && s.a.has(".claude/x"));
}

#[test]
fn add_attach_of_own_files_and_other_repositories() {
    let w = World::new();
    let s = scene(&w);
    s.a.write(".env", "A=1\n");
    s.a.overlay(&["add", ".gitignore"]).exit(1).err_has("git does not ignore");
    s.a.overlay(&["add", "../b/.env"]).exit(2).any_err();
    s.a.overlay(&["add", ".env"]).exit(0).out_has("added .env");
    // A different file that is there already: nothing of either is lost, the overlay decides.
    s.b.write(".env", "A=2\nB=2\n");
    s.b.overlay(&["attach"]).exit(1).any_err();
    assert_eq!(s.b.read(".env"), "A=1\nB=2\n");
    let id = text(&s.b.overlay(&["conflicts", "--json"]).exit(0).json_lines()[0], "/id").to_owned();
    assert_eq!(s.b.overlay(&["show", &id]).exit(0).stdout, "A=2\nB=2\n");
    // Paths from a pipeline.
    let piped = s.app.sh("git worktree list --porcelain -z | sed -zn 's/^worktree //p' | overlay-sync attach -z -");
    piped.exit(0).err_has("attached");
    let other = w.repo("eng/repos/other");
    other
        .overlay(&["--overlay", s.overlay("").to_str().unwrap(), "attach"])
        .exit(2)
        .err_has("belongs to")
        .err_has("--overlay");
    s.a.overlay(&["attach", other.path.to_str().unwrap()]).exit(2).err_has("another repository");
    s.a.overlay(&["config", "--json"]).exit(0);
    let dry = s.a.sh("echo C=1 >> .env; overlay-sync sync -n --json").exit(0);
    assert_eq!(text(&dry.json_lines()[0], "/rule"), "push");
    assert!(!s.text(".env").contains("C=1"));
}

#[test]
fn a_workspace_made_anew_at_the_same_path_is_another_one() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.put(".env.local", "B=1\n");
    s.attach();
    s.app.git(&["worktree", "remove", "--force", "../b"]);
    s.app.git(&["worktree", "add", "-q", "../b", "b"]);
    // Its absent files are no deletions: it is not attached yet, and gets everything when it is.
    s.sync(0).err_has("is not there");
    s.b.overlay(&["attach"]).exit(0);
    s.all_are(".env", "A=1\n");
    assert_eq!(s.app.overlay(&["status"]).exit(0).stdout.matches("clean").count(), 4);
}

#[test]
fn one_stub_runs_both_tools_in_their_order() {
    let w = World::new();
    let s = scene(&w);
    w.area("[files.\"claude/x\"]\ncontent = \"x\"\n");
    s.put(".env", "A=1\n");
    s.app.overlay(&["hook", "install"]).exit(0);
    s.app.apply(&["hook", "install"]).exit(0);
    let stub = s.app.read(".git/hooks/post-checkout");
    assert!(stub.contains("# shopfloor hook v1: sweatfile-apply overlay-sync\n"), "{stub}");
    let wt = s.app.worktree("new");
    assert_eq!((wt.read(".claude/x"), wt.read(".env")), ("x".into(), "A=1\n".into()));
    s.a.overlay(&["attach"]).exit(0);
    wt.write(".env", "A=2\n");
    s.sync(0);
    assert_eq!(s.a.read(".env"), "A=2\n");
    s.app.apply(&["hook", "uninstall"]).exit(0);
    assert_eq!(
        (*s.app.apply(&["hook", "status"]).exit(1).status, *s.app.overlay(&["hook", "status"]).exit(0).status),
        (Some(1), Some(0))
    );
    s.app.overlay(&["hook", "uninstall"]).exit(0);
    assert!(!s.app.has(".git/hooks/post-checkout"));
    // Where nobody uses an overlay the hook leaves no trace.
    let other = w.repo("eng/repos/other");
    other.overlay(&["hook", "install"]).exit(0);
    other.worktree("other-wt");
    assert!(!w.home(".local/share/shopfloor/overlays/other").exists());
}
