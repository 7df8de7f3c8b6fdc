//! Templates and ports, copies, `.worktreeinclude`, layers that change their mind.

use std::collections::BTreeSet;

use crate::support::world::{World, mode, text, write};

#[test]
fn placeholders_are_filled_where_asked_for() {
    let w = World::new();
    let app = w.app();
    let area = "template = true\n[env]\nHERE = \"{worktree} {branch} {repo} {other} {port:web}\"\n\
                [files.on]\ntemplate = true\ncontent = \"{repo} {port} {x}\"\n[files.off]\ncontent = \"{repo}\"\n";
    w.area(area);
    let wt = app.worktree("wt");
    wt.apply(&[]).exit(0).any_err();
    let env = wt.read(".sweatshop-env");
    let start = format!("HERE='{} wt app {{other}} 2", wt.path.display());
    assert!(env.starts_with(&start), "{env}");
    assert!(wt.read(".on").starts_with("app 2") && wt.read(".on").ends_with(" {x}"), "{}", wt.read(".on"));
    assert_eq!(wt.read(".off"), "{repo}");
    wt.apply(&["check"]).exit(0);
}

#[test]
fn ports_are_stable_and_no_two_worktrees_share_one() {
    let w = World::new();
    let app = w.app();
    w.area("template = true\n[env]\nP = \"{port}\"\nQ = \"{port:q}\"\n");
    let worktrees: Vec<_> = (0..8).map(|i| app.worktree(&format!("w{i}"))).collect();
    std::thread::scope(|scope| {
        for wt in &worktrees {
            scope.spawn(|| wt.apply(&[]).exit(0));
        }
    });
    let read = || -> Vec<String> {
        worktrees
            .iter()
            .flat_map(|wt| wt.read(".sweatshop-env").lines().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    };
    let first = read();
    let ports: BTreeSet<&str> = first.iter().map(|l| l.split_once('=').unwrap().1).collect();
    assert_eq!((first.len(), ports.len()), (16, 16), "{first:?}");
    for wt in &worktrees {
        wt.sh("rm .sweatshop-env").exit(0);
        wt.apply(&[]).exit(0);
    }
    assert_eq!(read(), first);
}

#[test]
fn copies_keep_modes_and_are_independent() {
    let w = World::new();
    let app = w.app();
    w.at(w.home(""))
        .sh("mkdir -p eng/tool/sub; echo x > eng/tool/sub/run; chmod 755 eng/tool/sub/run; ln -s sub/run eng/tool/l")
        .exit(0);
    w.area("[files.tool]\ncopy = \"tool\"\n[files.run]\ncopy = \"tool/sub/run\"\n");
    app.apply(&[]).exit(0).any_err();
    assert_eq!((app.read(".tool/sub/run"), mode(&app.path.join(".run"))), ("x\n".into(), 0o755));
    assert_eq!(app.path.join(".tool/l").read_link().unwrap().to_str(), Some("sub/run"));
    app.apply(&["check"]).exit(0);
    app.write(".tool/sub/run", "mine");
    app.apply(&["check"]).exit(1).out_has(".tool: changed content");
    app.apply(&[]).exit(0).out_has("kept .tool");
    assert_eq!(app.read(".tool/sub/run"), "mine");
    assert_eq!(std::fs::read_to_string(w.home("eng/tool/sub/run")).unwrap(), "x\n");
}

#[test]
fn worktreeinclude_copies_ignored_files_when_absent() {
    let w = World::new();
    let app = w.app();
    app.commit(".gitignore", ".env*\nnode_modules/\n/other/\n");
    app.commit(".worktreeinclude", ".env.local\nnode_modules/\nnot-ignored\nlink\n");
    app.write(".env.local", "TOKEN=1\n");
    app.write("node_modules/a/b.js", "js");
    app.write("not-ignored", "x");
    app.sh("chmod 600 .env.local; ln -s /etc/passwd node_modules/link; git worktree add -q inner").exit(0);
    let wt = app.worktree("wt");
    let out = wt.apply(&[]).exit(0);
    out.out_has("created .env.local").err_has("node_modules/link is not copied");
    assert_eq!((wt.read(".env.local"), wt.read("node_modules/a/b.js")), ("TOKEN=1\n".into(), "js".into()));
    assert_eq!(mode(&wt.path.join(".env.local")), 0o600);
    assert!(!wt.has("not-ignored") && !wt.has("inner") && !wt.has("node_modules/link"));
    // Present: left alone.
    wt.write(".env.local", "TOKEN=mine\n");
    wt.apply(&[]).exit(0).any_err();
    assert_eq!(wt.read(".env.local"), "TOKEN=mine\n");
    // The main checkout is the original itself.
    assert_eq!(app.apply(&["--json"]).exit(0).json()["files"], serde_json::json!([]));
}

#[test]
fn another_layer_that_comes_to_win_replaces_what_nobody_changed() {
    let w = World::new();
    let app = w.app();
    w.area("[files.a]\ncontent = \"area\"\n[files.b]\ncontent = \"area\"\n[files.\"d/c\"]\ncontent = \"area\"\n");
    app.apply(&[]).exit(0).any_err();
    app.write(".b", "mine");
    app.approved("[files.a]\ncontent = \"repo\"\n[files.b]\ncontent = \"repo\"\n[files.\"d/c\"]\nsource = \"\"\n");
    app.apply(&["check"]).exit(1);
    let out = app.apply(&["--json"]).exit(0).json();
    let actions: Vec<_> = (0..3).map(|i| text(&out, &format!("/files/{i}/action"))).collect();
    assert_eq!(actions, ["created", "kept", "skipped"]);
    assert_eq!((app.read(".a"), app.read(".b")), ("repo".into(), "mine".into()));
    assert!(!app.has(".d"));
}

#[test]
fn content_is_created_once_and_drift_is_told() {
    let w = World::new();
    let app = w.app();
    w.area("[files.a]\ncontent = \"1\"\n[files.empty]\ncontent = \"\"\n");
    app.apply(&[]).exit(0).any_err();
    assert_eq!(app.read(".empty"), "");
    w.area("[files.a]\ncontent = \"2\"\n[files.empty]\ncontent = \"\"\n");
    app.apply(&[]).exit(0).out_has("kept .a");
    assert_eq!(app.read(".a"), "1");
    let out = app.apply(&["check", "--json"]).exit(1).json();
    assert_eq!(text(&out, "/files/0/action"), "drifted");
    app.sh("rm .a").exit(0);
    app.apply(&["check"]).exit(1).any_err().out_has("missing file: .a");
    app.apply(&[]).exit(0).any_err();
    app.apply(&["check"]).exit(0);
}

#[test]
fn check_names_each_difference() {
    let w = World::new();
    let app = w.app();
    write(&w.home("s"), "s");
    w.area("git_excludes = [\"a\"]\n[env]\nA = \"1\"\n[files.l]\nsource = \"~/s\"\n");
    let out = app.apply(&["check"]).exit(1).any_err();
    out.out_has("is not applied here").out_has("missing exclude: .sweatshop-env").out_has("missing exclude: a");
    out.out_has("missing file: .l").out_has("A is missing");
    app.apply(&[]).exit(0).any_err();
    let out = app.apply(&["check"]).exit(0);
    assert_eq!(out.stdout, "");
    app.sh("rm .l; cp ~/s .l").exit(0);
    app.apply(&["check"]).exit(1).out_has(".l: changed content");
}

#[test]
fn what_git_does_not_ignore_and_what_it_tracks_is_warned_of() {
    let w = World::new();
    let app = w.app();
    app.commit(".claude/tracked", "x");
    w.area("git_excludes = [\".claude/\", \"/.in\"]\n[files.in]\ncontent = \"x\"\n[files.out]\ncontent = \"x\"\n");
    let dry = app.apply(&["-n"]).exit(0);
    let out = app.apply(&[]).exit(0);
    assert_eq!(dry.stderr, out.stderr, "patterns about to be added count in a dry run");
    out.err_has("`.claude/` matches tracked files (`.claude/tracked`)").err_has("add \"/.out\" to git_excludes");
    assert!(!out.stderr.contains(".in is not ignored"), "{}", out.stderr);
}

#[test]
fn setup_runs_once_per_list_and_again_when_asked() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"echo 1 >> log\"]\n");
    app.apply(&["--no-setup"]).exit(0);
    assert!(!app.has("log"));
    app.apply(&[]).exit(0);
    app.apply(&[]).exit(0);
    assert_eq!(app.read("log"), "1\n");
    app.apply(&["--setup-again"]).exit(0);
    assert_eq!(app.read("log"), "1\n1\n");
    w.area("setup = [\"echo 2 >> log\"]\n");
    app.apply(&[]).exit(0);
    assert_eq!(app.read("log"), "1\n1\n2\n");
}

#[test]
fn a_setup_command_may_call_the_tool_itself() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"echo in >> log; sweatfile-apply; sweatfile-apply check > drift || true\"]\n");
    let out = app.apply(&[]).exit(0);
    out.err_has("inside the setup of this worktree");
    assert_eq!(app.read("log"), "in\n");
    assert_eq!(app.read("drift"), "setup never finished with these commands\n");
}

#[test]
fn init_writes_a_starter_once() {
    let w = World::new();
    let app = w.app();
    let wt = app.worktree("wt");
    let out = wt.apply(&["init"]).exit(0);
    assert_eq!(out.stdout.trim_end(), app.path.join("sweatfile").to_str().unwrap());
    let text = app.read("sweatfile");
    assert!(text.find("setup =").unwrap() < text.find("[env]").unwrap(), "arrays stand above tables");
    wt.apply(&["show"]).exit(0);
    // Uncommented it is a good sweatfile too.
    app.write(
        "sweatfile",
        &text
            .lines()
            .filter(|l| !l.starts_with("# ") || l.contains('=') || l.contains(['[', '"']))
            .map(|l| format!("{}\n", l.trim_start_matches("# ")))
            .collect::<String>(),
    );
    app.write("mine", "");
    let out = wt.apply(&["init"]).exit(1);
    out.err_has("exists already");
    assert_eq!(crate::support::world::text(&wt.apply(&["init", "--json"]).exit(1).json(), "/error/kind"), "exists");
}
