//! `.sweatshop-env` as its readers read it: a real `sh`, and a real direnv where there is one.

use proptest::prelude::*;

use crate::support::world::{Repo, World, mode, needs, text};

/// Applies these values from an area's sweatfile, and returns the values that `reader` reads from the file. `reader` is a
/// line of shell that prints NUL-separated `NAME=value`.
fn read_back(app: &Repo<'_>, values: &[String], reader: &str) -> Vec<String> {
    let lines = values.iter().enumerate().map(|(i, v)| {
        format!("V{i} = {}\n", serde_json::Value::from(v.as_str()).to_string().replace('\u{7f}', "\\u007f"))
    });
    app.world.area(&format!("[env]\n{}", lines.collect::<String>()));
    app.apply(&["-q"]).succeeds().any_err();
    let out = app.sh(reader).exit(0).stdout;
    let mut read = vec![String::new(); values.len()];
    for entry in out.split('\0') {
        if let Some((name, value)) = entry.split_once('=')
            && let Some(index) = name.strip_prefix('V').and_then(|n| n.parse::<usize>().ok())
        {
            read[index] = value.to_owned();
        }
    }
    read
}

const SH: &str = "set -a; . ./.sweatshop-env; env -0";
const DIRENV: &str = "bash -c 'eval \"$(direnv dotenv bash .sweatshop-env)\"; env -0'";

fn values() -> impl Strategy<Value = Vec<String>> {
    let nasty = "[ '\"$`\\\\!#~*;&|<>(){}a-c=:\\t%]{1,8}";
    proptest::collection::vec(prop_oneof![nasty, "[^\\x00\\r\\n]{1,12}"], 40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn sh_reads_every_value_without_a_newline(values in values()) {
        let w = World::new();
        prop_assert_eq!(read_back(&w.app(), &values, SH), values);
    }

    #[test]
    fn direnv_reads_every_value_that_has_a_common_spelling(values in values()) {
        if needs("direnv") {
            let w = World::new();
            let values: Vec<String> =
                values.into_iter().filter(|v| !(v.contains('\'') && v.contains(['$', '\\', '`']))).collect();
            prop_assert_eq!(read_back(&w.app(), &values, DIRENV), values);
        }
    }
}

#[test]
fn the_three_way_merge_over_several_applies() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\nB = \"1\"\n");
    app.apply(&[]).succeeds();
    app.apply(&["check"]).exit(0);
    w.area("[env]\nA = \"2\"\n");
    let check = app.apply(&["check"]).exit(1);
    check.out_has("older sweatfile").out_has("A has an older value").out_has("B is no longer in the sweatfiles");
    app.apply(&[]).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "A=2\n");
    // A lost file is written again.
    std::fs::remove_file(app.path.join(".sweatshop-env")).unwrap();
    app.apply(&["check"]).exit(1).out_has("A is missing");
    app.apply(&[]).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "A=2\n");
    // A file without variables is deleted.
    w.area("");
    app.apply(&[]).succeeds();
    assert!(!app.has(".sweatshop-env"));
}

#[test]
fn a_file_readable_by_others_is_made_private_again() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n");
    app.apply(&[]).succeeds();
    app.sh("chmod 644 .sweatshop-env").exit(0);
    app.apply(&["check"]).exit(1).out_has("readable by others");
    app.apply(&[]).succeeds();
    assert_eq!(mode(&app.path.join(".sweatshop-env")), 0o600);
}

#[test]
fn modes_hold_under_any_umask() {
    let w = World::new();
    for (umask, content) in [("000", 0o644), ("077", 0o600)] {
        let app = w.repo(&format!("eng/repos/app-{umask}"));
        w.area("[env]\nA = \"1\"\n[files.\"d/x\"]\ncontent = \"x\"\n");
        app.sh(&format!("umask {umask}; sweatfile-apply")).succeeds().any_err();
        assert_eq!(mode(&app.path.join(".sweatshop-env")), 0o600);
        assert_eq!(mode(&app.path.join(".d/x")), content);
        assert_eq!(mode(&app.path.join(".git/shopfloor")), 0o700);
        assert_eq!(mode(&app.path.join(".git/shopfloor/sweatfile-apply/record.json")), 0o600);
    }
}

#[test]
fn an_envrc_that_does_not_load_the_file_is_warned_about() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n");
    assert!(!app.apply(&[]).succeeds().stderr.contains(".envrc"), "no .envrc, no warning");
    app.commit(".envrc", "use flake\n");
    app.apply(&[]).exit(0).err_has("dotenv_if_exists .sweatshop-env");
    app.commit(".envrc", "dotenv_if_exists .sweatshop-env\n");
    assert_eq!(app.apply(&[]).exit(0).stderr, "");
    let json = app.apply(&["--json"]).exit(0).json();
    assert_eq!(text(&json, "/env/action"), "unchanged");
}

#[test]
fn variables_removed_by_hand_stay_removed_to_the_last() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n");
    app.apply(&[]).succeeds();
    app.write(".sweatshop-env", "");
    for _ in 0..2 {
        app.apply(&["check"]).exit(0);
        app.apply(&[]).exit(0);
        assert_eq!(app.read(".sweatshop-env"), "");
    }
    w.area("[env]\nA = \"2\"\n");
    app.apply(&[]).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "A=2\n");
}

/// Case 8 of the design.
#[test]
fn a_newline_never_becomes_a_line_and_setup_sees_the_real_one() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"printf %s \\\"$A\\\" > seen\"]\n[env]\nA = \"x\\nPATH=/evil\"\n");
    app.apply(&[]).succeeds().err_has("the value of A");
    assert!(!app.read(".sweatshop-env").lines().any(|l| l.starts_with("PATH=")));
    assert_eq!(app.read("seen"), "x\nPATH=/evil");
}

/// Case 9 of the design.
#[test]
fn a_variable_added_by_hand_survives() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\nB = \"1\"\n");
    app.apply(&[]).succeeds();
    app.write(".sweatshop-env", "A=1\nB=by-hand\nMINE=1\n");
    app.apply(&["check"]).exit(0);
    w.area("[env]\nA = \"2\"\nB = \"2\"\n");
    app.apply(&[]).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "A=2\nB=by-hand\nMINE=1\n");
    w.area("");
    app.apply(&[]).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "B=by-hand\nMINE=1\n");
}
