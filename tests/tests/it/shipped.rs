//! The binaries that ship, built by `cargo xtask test` beside the one that links them all; and files
//! written by released versions, which are read for ever.

use std::path::Path;

use crate::world::{TOOLS, World, write};

#[test]
fn the_shipped_binaries_run() {
    let w = World::new();
    let beside = Path::new(env!("CARGO_BIN_EXE_tools")).parent().unwrap();
    for tool in TOOLS {
        let binary = beside.join(tool);
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
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/v1").join(name);
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
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/v1/ledger");
    app.sh(&format!("mkdir -p thoughts/shared && cp -r {} thoughts/shared/handoffs", fixture.display())).exit(0);
    app.ledger(&["--check"]).exit(0);
    app.ledger(&["--no-confirm"]).exit(0).out_has("unchanged");
    app.ledger(&["archive"]).exit(0);
    app.ledger(&["--check"]).exit(0);
    let written = app.read("thoughts/shared/handoffs/current.md");
    assert_eq!(written, std::fs::read_to_string(fixture.join("current.md")).unwrap());
}
