//! Files that apply places: links, contents, copies and `.worktreeinclude`.

use crate::support::world::{World, mode, text};

/// Case 6 of the design.
#[test]
fn a_tracked_file_is_kept() {
    let w = World::new();
    let app = w.app();
    app.commit(".envrc", "mine\n");
    app.approved("[files.envrc]\ncontent = \"theirs\\n\"\n");
    app.git(&["add", "sweatfile"]);
    app.git(&["commit", "-q", "-m", "sweatfile"]);
    let out = app.apply(&["--json"]).exit(0).json();
    assert_eq!(text(&out, "/files/0/action"), "kept");
    assert_eq!(app.read(".envrc"), "mine\n");
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    app.apply(&[]).exit(0).out_has("kept .envrc");
}

#[test]
fn copies_keep_modes_and_are_independent() {
    let w = World::new();
    let app = w.app();
    w.at(w.home(""))
        .sh("mkdir -p eng/tool/sub; echo x > eng/tool/sub/run; chmod 755 eng/tool/sub/run; ln -s sub/run eng/tool/l")
        .exit(0);
    w.area("[files.tool]\ncopy = \"tool\"\n[files.run]\ncopy = \"tool/sub/run\"\n");
    app.apply(&[]).succeeds().any_err();
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
    let out = wt.apply(&[]).exit(0).any_err();
    out.out_has("created .env.local").err_has("node_modules/link is not copied");
    assert_eq!((wt.read(".env.local"), wt.read("node_modules/a/b.js")), ("TOKEN=1\n".into(), "js".into()));
    assert_eq!(mode(&wt.path.join(".env.local")), 0o600);
    assert!(!wt.has("not-ignored") && !wt.has("inner") && !wt.has("node_modules/link"));
    // An existing file is left alone.
    wt.write(".env.local", "TOKEN=mine\n");
    wt.apply(&[]).exit(0).any_err();
    assert_eq!(wt.read(".env.local"), "TOKEN=mine\n");
    // In the main checkout the files are the originals.
    assert_eq!(app.apply(&["--json"]).exit(0).json()["files"], serde_json::json!([]));
}

/// git reads no `.gitignore`, `.gitattributes`, `.mailmap` or `.gitmodules` that is a link.
#[test]
fn files_that_git_reads_only_if_they_are_no_links_are_copied() {
    let w = World::new();
    let app = w.app();
    std::fs::create_dir_all(w.home("eng")).unwrap();
    std::fs::write(w.home("eng/ig"), "secret\n").unwrap();
    let entry = |key: &str| format!("[files.\"{key}\"]\nsource = \"ig\"\n");
    let keys = ["gitignore", "gitattributes", "mailmap", "gitmodules", "claude/.gitignore", "dockerignore"];
    w.area(&format!("git_excludes = [\".*\"]\n{}", keys.map(entry).concat()));
    app.apply(&["show"]).exit(0).out_has("copy = ");
    app.apply(&[]).succeeds();
    for key in keys {
        let is_link = app.path.join(format!(".{key}")).is_symlink();
        assert_eq!(is_link, key == "dockerignore", "{key}");
    }
    app.write("secret", "x");
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    app.apply(&["check"]).exit(0);
}

#[test]
fn a_sweatfile_with_crlf_writes_files_without() {
    let w = World::new();
    let app = w.app();
    w.area("git_excludes = [\"/.*\"]\r\n[files.envrc]\r\ncontent = \"\"\"\r\ndotenv\r\nexport A=1\r\n\"\"\"\r\n[files.dos]\r\ncontent = \"a\\r\\n\"\r\n[env]\r\nB = \"\"\"x\r\ny\"\"\"\r\n");
    app.apply(&[]).exit(0).any_out().any_err();
    assert_eq!(app.read(".envrc"), "dotenv\nexport A=1\n");
    // What is written as an escape is meant.
    assert_eq!(app.read(".dos"), "a\r\n");
    assert!(!app.read(".sweatshop-env").contains('\r'));
}

#[test]
fn a_layer_that_takes_over_an_entry_replaces_an_unchanged_file() {
    let w = World::new();
    let app = w.app();
    w.area("[files.a]\ncontent = \"area\"\n[files.b]\ncontent = \"area\"\n[files.\"d/c\"]\ncontent = \"area\"\n");
    app.apply(&[]).succeeds().any_err();
    app.write(".b", "mine");
    app.approved("[files.a]\ncontent = \"repo\"\n[files.b]\ncontent = \"repo\"\n[files.\"d/c\"]\nsource = \"\"\n");
    app.apply(&["check"]).exit(1).any_out();
    let out = app.apply(&["--json"]).exit(0).json();
    let actions: Vec<_> = (0..3).map(|i| text(&out, &format!("/files/{i}/action"))).collect();
    assert_eq!(actions, ["created", "kept", "skipped"]);
    assert_eq!((app.read(".a"), app.read(".b")), ("repo".into(), "mine".into()));
    assert!(!app.has(".d"));
}

#[test]
fn content_is_created_once_and_drift_is_reported() {
    let w = World::new();
    let app = w.app();
    w.area("[files.a]\ncontent = \"1\"\n[files.empty]\ncontent = \"\"\n");
    app.apply(&[]).succeeds().any_err();
    assert_eq!(app.read(".empty"), "");
    w.area("[files.a]\ncontent = \"2\"\n[files.empty]\ncontent = \"\"\n");
    app.apply(&[]).exit(0).out_has("kept .a");
    assert_eq!(app.read(".a"), "1");
    let out = app.apply(&["check", "--json"]).exit(1).json();
    assert_eq!(text(&out, "/files/0/action"), "drifted");
    app.sh("rm .a").exit(0);
    app.apply(&["check"]).exit(1).any_err().out_has("missing file: .a");
    app.apply(&[]).succeeds().any_err();
    app.apply(&["check"]).exit(0);
}

#[test]
fn files_not_ignored_and_patterns_matching_tracked_files_are_warned_about() {
    let w = World::new();
    let app = w.app();
    app.commit(".claude/tracked", "x");
    w.area("git_excludes = [\".claude/\", \"/.in\"]\n[files.in]\ncontent = \"x\"\n[files.out]\ncontent = \"x\"\n");
    let dry = app.apply(&["-n"]).succeeds();
    let out = app.apply(&[]).succeeds();
    assert_eq!(dry.stderr, out.stderr, "patterns about to be added count in a dry run");
    out.err_has("`.claude/` matches tracked files (`.claude/tracked`)").err_has("add \"/.out\" to git_excludes");
    assert!(!out.stderr.contains(".in is not ignored"), "{}", out.stderr);
}
