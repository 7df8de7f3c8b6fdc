//! The binaries that ship, built by `cargo xtask test` beside the one that links them all; and files
//! written by released versions, which are read for ever.

use crate::support::world::{TOOLS, World, built, project, text, write};

#[test]
fn the_shipped_binaries_run() {
    let w = World::new();
    for tool in TOOLS {
        let binary = built(tool);
        assert!(binary.exists(), "{} is not built: run the tests with `cargo xtask test`", binary.display());
        let app = w.at(w.path("tmp"));
        let out = app.run(binary.to_str().unwrap(), &["--version"]).exit(0);
        assert_eq!(out.stdout, format!("{tool} {}\n", env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn files_of_version_1_are_read() {
    let w = World::new();
    let app = w.app();
    let fixture = |name: &str| {
        let path = project().join("tests/fixtures/v1").join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        text.replace("@HOME@", w.home("").to_str().unwrap().trim_end_matches('/'))
    };
    app.write("sweatfile", &fixture("sweatfile"));
    app.write(".sweatshop-env", &fixture("sweatshop-env"));
    app.write(".a", "a");
    let state = |name: &str| app.path.join(".git/shopfloor/sweatfile-apply").join(name);
    write(&w.home(".local/state/shopfloor/approvals.toml"), &fixture("approvals.toml"));
    write(&state("record.json"), &fixture("record.json"));
    write(&state("ports.json"), &fixture("ports.json"));
    write(&state("snapshot.env"), &fixture("snapshot.env"));
    write(&app.path.join(".git/info/exclude"), &fixture("exclude"));
    app.apply(&["approvals"]).exit(0).out_has("approved");
    app.sh("chmod 600 .sweatshop-env").exit(0);
    let out = app.apply(&["check"]).exit(0);
    assert_eq!(out.stdout, "");
    assert_eq!(app.apply(&["env", "diff"]).exit(0).stdout, "added MINE\n");
    app.apply(&["remove"]).exit(0).out_has("removed .a").out_has("left .sweatshop-env (set by hand: MINE)");
}

/// Events keep their identity, snapshots their meaning and the ledger its bytes.
#[test]
fn a_ledger_of_version_1_is_read() {
    let w = World::new();
    let app = w.app();
    let fixture = project().join("tests/fixtures/v1/ledger");
    app.sh(&format!("mkdir -p thoughts/shared && cp -r {} thoughts/shared/handoffs", fixture.display())).exit(0);
    app.ledger(&["--check"]).succeeds();
    app.ledger(&["-v", "--no-confirm"]).exit(0).err_has("is up to date");
    app.ledger(&["archive"]).succeeds();
    app.ledger(&["--check"]).succeeds();
    let written = app.read("thoughts/shared/handoffs/current.md");
    assert_eq!(written, std::fs::read_to_string(fixture.join("current.md")).unwrap());
}

/// Agents stay who they are, their events arrive, what a killed spawn left is undone.
#[test]
fn agents_of_version_1_are_read() {
    let w = World::new();
    let app = w.app();
    let fixture = project().join("tests/fixtures/v1/spawn");
    app.git(&["worktree", "add", "-q", "-b", "main.feature-a", "../feature-a"]);
    app.git(&["branch", "main.half"]);
    let copy = "cp -r FIXTURE/worktree .git/worktrees/feature-a/shopfloor/worktree-spawn && cp -r FIXTURE/common .git/shopfloor/worktree-spawn && \
                sed -i \"s|@APP@|$PWD|g; s|@HEAD@|$(git rev-parse HEAD)|\" .git/shopfloor/worktree-spawn/journal/*.json";
    let copy = copy.replace("FIXTURE", fixture.to_str().unwrap());
    app.sh(&format!("mkdir -p .git/worktrees/feature-a/shopfloor .git/shopfloor && {copy}")).exit(0);
    let rows = app.spawn(&["list", "--json"]).exit(0).json_lines();
    let shown: Vec<(&str, &str)> = rows.iter().map(|row| (text(row, "/id"), text(row, "/state"))).collect();
    assert_eq!(shown, [("root", "never"), ("main.feature-a", "never"), ("main.feature-a/w", "exited")]);
    assert_eq!((rows[0]["pending"].as_u64(), rows[1]["pending"].as_u64()), (Some(2), Some(1)));
    let child = w.at(app.path.with_file_name("feature-a"));
    // Said before with this key, and a number that no one had.
    let again = child.spawn(&["notify", "info", "again", "--dedupe", "k", "--json"]).exit(0).json();
    assert_eq!((again["id"].as_u64(), again["repeated"].as_bool()), (Some(1), Some(true)));
    assert_eq!(child.spawn(&["notify", "info", "more", "--json"]).exit(0).json()["id"], 3);
    let heard = app.spawn(&["wait", "--count", "3"]).exit(0).json_lines();
    let heard: Vec<&str> = heard.iter().map(|event| text(event, "/message")).collect();
    assert_eq!(heard, ["hello", "done", "more"]);
    // The lease has run out.
    assert_eq!(text(&child.spawn(&["wait"]).exit(0).json(), "/message"), "exit 3");
    app.spawn(&["repair"]).exit(0).out_has("undid the spawn of main.half");
    assert_eq!(app.git(&["branch", "--list", "main.half"]), "");
}

/// Every state that a worker can be in, and what happened.
#[test]
fn workers_of_version_1_are_read() {
    let w = World::new();
    let fixture = project().join("tests/fixtures/v1/worker");
    let root = w.at(w.home("root"));
    let copy = format!("cp -r {} root && mkdir root/.worktrees", fixture.display());
    w.at(w.home("")).sh(&copy).exit(0);
    // A fixture holds no clone; this is what makes it a root.
    root.sh("git init -q . && git config shopfloor.source /source-of-it").exit(0);
    root.run("worker-ctl", &["root", "trust", ".", "--yes"]).succeeds();
    let status = root.run("worker-ctl", &["status", "--json"]).exit(0).json();
    let row = |worker: &serde_json::Value| {
        ["/name", "/status", "/task", "/session"].map(|key| text(worker, key).to_owned()).join(" ")
    };
    let rows: Vec<String> = status["workers"].as_array().unwrap().iter().map(row).collect();
    let known = [
        "idle offline idle down",
        "rejected error rejected exited",
        "torn offline rebasing down",
        "waiting offline needs_review exited",
        "working offline working down",
    ];
    assert_eq!(rows, known);
    assert_eq!(status["workers"][4]["pending"]["what"], "start");
    assert_eq!(text(&root.run("worker-ctl", &["events", "--json"]).exit(0).json_lines()[0], "/event"), "session_begun");
    let settings = root.run("worker-ctl", &["config", "--json"]).exit(0);
    settings.out_has("just check");
    assert_eq!(settings.stderr, "");
}
