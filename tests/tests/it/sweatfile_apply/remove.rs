//! `remove` removes what apply placed and nobody changed since.

use crate::support::world::{World, write};

const AREA: &str = "git_excludes = [\"/.a\", \"/.d/\"]\n[env]\nA = \"1\"\n[files.a]\ncontent = \"a\"\n[files.\"d/e/f\"]\ncontent = \"f\"\n[files.link]\nsource = \"~/s\"\n[files.copy]\ncopy = \"~/s\"\n";

#[test]
fn everything_unchanged_goes_and_the_worktree_is_as_before() {
    let w = World::new();
    let app = w.app();
    write(&w.home("s"), "s");
    let wt = app.worktree("wt");
    let before = wt.snapshot();
    w.area(AREA);
    wt.apply(&[]).succeeds().any_err();
    wt.apply(&["remove"]).exit(0).out_has("removed .d/e/f").out_has("removed .link");
    wt.assert_untouched_since(&before);
    assert_eq!(wt.excludes(), Vec::<String>::new());
    wt.apply(&["remove"]).exit(0);
    // Applying again works.
    wt.apply(&[]).succeeds().any_err();
    wt.apply(&["check"]).exit(0);
}

#[test]
fn changed_files_stay_and_are_listed_with_the_reason() {
    let w = World::new();
    let app = w.app();
    write(&w.home("s"), "s");
    w.area(AREA);
    let (wt, sibling) = (app.worktree("wt"), app.worktree("sibling"));
    wt.apply(&[]).succeeds().any_err();
    sibling.apply(&[]).succeeds().any_err();
    wt.write(".a", "edited");
    wt.write(".d/mine", "mine");
    wt.sh("echo MINE=1 >> .sweatshop-env; echo changed > ~/s").exit(0);
    let json = wt.apply(&["remove", "--json"]).exit(0).json();
    let what = |l: &serde_json::Value| l.get("path").or(l.get("exclude")).unwrap().as_str().unwrap().to_owned();
    let left: Vec<String> = json["left"].as_array().unwrap().iter().map(what).collect();
    assert_eq!(left, [".a", ".copy", ".sweatshop-env", ".sweatshop-env", "/.a", "/.d/"]);
    assert_eq!(
        (wt.read(".a"), wt.read(".copy"), wt.read(".sweatshop-env")),
        ("edited".into(), "s".into(), "MINE=1\n".into())
    );
    assert!(wt.has(".d/mine") && !wt.has(".d/e") && !wt.has(".link"));
    assert_eq!(wt.excludes(), ["/.a", "/.d/", ".sweatshop-env"]);
    sibling.apply(&["check"]).exit(1).out_has(".copy");
}

#[test]
fn a_file_that_was_there_before_is_never_taken() {
    let w = World::new();
    let app = w.app();
    app.commit(".a", "a");
    app.write(".link", "mine");
    w.area("[files.a]\ncontent = \"a\"\n[files.link]\ncontent = \"mine\"\n");
    app.apply(&[]).succeeds();
    app.apply(&["remove"]).succeeds();
    assert_eq!((app.read(".a"), app.read(".link")), ("a".into(), "mine".into()));
}

#[test]
fn exclude_lines_that_remaining_files_need_stay() {
    let w = World::new();
    let app = w.app();
    app.sh("echo mine/ >> .git/info/exclude").exit(0);
    w.area("git_excludes = [\"/.a\", \"/.b\", \"mine/\"]\n[files.a]\ncontent = \"a\"\n[files.b]\ncontent = \"b\"\n");
    app.apply(&[]).succeeds();
    app.write(".a", "edited");
    let out = app.apply(&["remove"]).exit(0);
    out.out_has("left exclude /.a (the files that stay would make the worktree dirty)").out_has("removed exclude /.b");
    assert!(!out.stdout.contains("mine/"), "a line of somebody else's is neither removed nor left: {}", out.stdout);
    assert_eq!(
        (app.excludes(), app.git(&["status", "--porcelain"])),
        (vec!["mine/".into(), "/.a".into()], String::new())
    );
}

#[test]
fn an_exclude_line_that_ends_in_a_blank_goes_too_once_nobody_needs_it() {
    let w = World::new();
    let app = w.app();
    w.area("git_excludes = [\"sp \", \"b\\\\ \", \"d\\t\", \"/.a \"]\n[files.a]\ncontent = \"a\"\n");
    app.apply(&[]).succeeds();
    app.apply(&["sweep"]).exit(0);
    app.write(".a", "edited");
    let out = app.apply(&["remove"]).exit(0);
    out.out_has("removed exclude sp \n").out_has("removed exclude b\\ \n").out_has("removed exclude d\\t\n");
    out.out_has("left exclude /.a  (the files that stay would make the worktree dirty)");
    assert_eq!(app.excludes(), ["/.a "]);
}

#[test]
fn a_failed_removal_ends_in_4_and_keeps_the_exclude_line() {
    let w = World::new();
    let app = w.app();
    w.area("git_excludes = [\"/.d/\"]\n[files.\"d/x\"]\ncontent = \"x\"\n");
    app.run_bound("sweatfile-apply", &[]).succeeds();
    app.sh("chmod 555 .d").exit(0);
    app.run_bound("sweatfile-apply", &["remove"]).exit(4).err_has(".d/x").err_has("Permission denied");
    assert!(app.has(".d/x") && app.excludes().contains(&"/.d/".to_owned()));
    app.sh("chmod 755 .d").exit(0);
    app.run_bound("sweatfile-apply", &["remove"]).succeeds();
    assert!(!app.has(".d"));
}

#[test]
fn items_removed_before_an_error_are_reported() {
    let w = World::new();
    let app = w.app();
    w.area("git_excludes = [\"/.a\"]\n[files.a]\ncontent = \"a\"\n");
    app.apply(&[]).succeeds();
    app.sh("mv .git/info/exclude ~/exclude; ln -s ~/exclude .git/info/exclude").exit(0);
    let json = app.apply(&["remove", "--json"]).exit(4).json();
    assert_eq!(json["removed"], serde_json::json!([".a"]));
    assert!(crate::support::world::text(&json, "/error/message").contains("is a symbolic link"));
}

#[test]
fn an_exclude_line_that_still_hides_a_file_stays() {
    let w = World::new();
    let app = w.app();
    w.area("git_excludes = [\".venv/\", \"/.gone\"]\nsetup = [\"mkdir .venv && touch .venv/x\"]\n[env]\nA = \"1\"\n");
    let wt = app.worktree("wt");
    wt.apply(&[]).succeeds();
    wt.apply(&["remove"]).exit(0).out_has("left exclude .venv/").out_has("removed exclude /.gone");
    assert_eq!(wt.git(&["status", "--porcelain"]), "");
    app.git(&["worktree", "remove", wt.path.to_str().unwrap()]);
    // When the hidden file is gone, the line is removed too, from any directory.
    app.apply(&[]).succeeds();
    app.sh("rm -r .venv").exit(0);
    app.apply(&["remove"]).exit(0).out_has("removed exclude .venv/");
}

#[test]
fn a_worktree_whose_record_cannot_be_read_keeps_the_exclude_lines_and_stops_nobody() {
    let w = World::new();
    let app = w.app();
    w.area("git_excludes = [\"/.a\"]\n[files.a]\ncontent = \"a\"\n");
    let wt = app.worktree("wt");
    app.apply(&[]).succeeds();
    for spoil in
        ["echo 'not json' > record.json", "echo '{\"v\": 99}' > record.json", "rm record.json; mkfifo record.json"]
    {
        wt.sh(&format!(
            "cd $(git rev-parse --git-dir); mkdir -p shopfloor/sweatfile-apply; cd shopfloor/sweatfile-apply; {spoil}"
        ))
        .exit(0);
        app.apply(&["doctor", "--repair", "--yes"]).exit(0).any_out().any_err();
        let out = app.apply(&["remove"]).exit(0);
        out.out_has("removed .a").out_has("left exclude /.a (another worktree relies on it)").err_has("record.json");
        assert!(app.excludes().contains(&"/.a".to_owned()), "{spoil}");
        app.apply(&[]).exit(0).any_out().any_err();
    }
}
