//! `init` writes a starter sweatfile.

use crate::support::world::World;

#[test]
fn init_writes_a_starter_once() {
    let w = World::new();
    let app = w.app();
    let wt = app.worktree("wt");
    let out = wt.apply(&["init"]).succeeds();
    assert_eq!(out.stdout.trim_end(), app.path.join("sweatfile").to_str().unwrap());
    let text = app.read("sweatfile");
    assert!(text.find("setup =").unwrap() < text.find("[env]").unwrap(), "arrays come before tables");
    wt.apply(&["show"]).succeeds();
    // Without the comment signs it is a valid sweatfile too.
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
