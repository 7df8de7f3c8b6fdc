//! The examples of the design work as written, byte for byte.

use crate::support::world::{Repo, World, write};

const FORMAT: &str = include_str!("../../../fixtures/seed/format.toml");
const ENG: &str = include_str!("../../../fixtures/seed/eng.toml");
const GO: &str = include_str!("../../../fixtures/seed/go.toml");
const RUST: &str = include_str!("../../../fixtures/seed/rust.toml");
const CLEARS: &str = include_str!("../../../fixtures/seed/clears.toml");

/// A home with the files that the examples name, and programs that log what setup runs.
fn world() -> World {
    let w = World::new();
    write(&w.home("eng/rcm-worktrees/envrc"), "dotenv_if_exists .sweatshop-env\n");
    write(&w.home("eng/rcm-worktrees/claude/settings.local.json"), "{}\n");
    for program in ["direnv", "go", "cargo"] {
        w.program(program, &format!("echo {program} $* >> \"$HOME/log\""));
    }
    w
}

fn log(w: &World) -> String {
    std::fs::read_to_string(w.home("log")).unwrap_or_default()
}

fn assert_area_files(app: &Repo<'_>) {
    let w = app.world;
    assert_eq!(
        app.path.join(".claude/settings.local.json").read_link().unwrap(),
        w.home("eng/rcm-worktrees/claude/settings.local.json")
    );
    assert_eq!(app.read(".sweatshop-env"), "EDITOR=nvim\n");
    assert_eq!(app.excludes(), [".claude/", ".direnv/", ".sweatshop-env"]);
}

#[test]
fn the_format_example_works_as_written() {
    let w = world();
    let app = w.app();
    w.area(FORMAT);
    app.apply(&[]).succeeds().err_has("eng/sweatfile:22:1: `setup` is below a table header");
    assert_eq!(app.path.join(".envrc").read_link().unwrap(), w.home("eng/rcm-worktrees/envrc"));
    assert_eq!(app.read(".tool-versions"), "golang 1.23.0\n");
    assert_area_files(&app);
    assert_eq!(log(&w), "direnv allow\n");
    app.apply(&["check"]).exit(0).any_err();
    app.apply(&["check", "--strict"]).exit(2).err_has("move it above the first table");
}

#[test]
fn the_area_example_works_alone() {
    let w = world();
    let app = w.app();
    w.area(ENG);
    app.apply(&[]).succeeds().any_err();
    assert_area_files(&app);
    assert_eq!(log(&w), "direnv allow\n");
}

#[test]
fn the_go_project_appends_its_command() {
    let w = world();
    let app = w.app();
    w.area(ENG);
    app.approved(GO);
    app.apply(&[]).succeeds().any_err();
    assert_area_files(&app);
    assert_eq!(log(&w), "direnv allow\ngo mod download\n");
}

#[test]
fn the_rust_project_overrides_the_envrc_and_is_warned_that_it_loads_no_env() {
    let w = world();
    let app = w.app();
    w.area(ENG);
    app.approved(RUST);
    let out = app.apply(&[]).succeeds();
    out.err_has("add the line `dotenv_if_exists .sweatshop-env`");
    assert_eq!(app.read(".envrc"), "source_env \"$HOME\"\nuse flake \"$HOME/eng/devenvs/rust\"\n");
    assert!(app.path.join(".envrc").symlink_metadata().unwrap().is_file());
    assert_area_files(&app);
    assert_eq!(log(&w), "direnv allow\ncargo fetch\n");
}

#[test]
fn the_project_that_clears_setup_inherits_the_rest() {
    let w = world();
    let app = w.app();
    w.area(ENG);
    app.approved(CLEARS);
    app.apply(&[]).succeeds().any_err();
    assert_area_files(&app);
    assert_eq!(log(&w), "");
}
