//! `remove` takes back what apply placed and nobody changed since.

use crate::world::{World, text, write};

const AREA: &str = "git_excludes = [\"/.a\", \"/.d/\"]\n[env]\nA = \"1\"\n[files.a]\ncontent = \"a\"\n[files.\"d/e/f\"]\ncontent = \"f\"\n[files.link]\nsource = \"~/s\"\n[files.copy]\ncopy = \"~/s\"\n";

#[test]
fn everything_unchanged_goes_and_the_worktree_is_as_before() {
    let w = World::new();
    let app = w.app();
    write(&w.home("s"), "s");
    let wt = app.worktree("wt");
    let before = wt.snapshot();
    w.area(AREA);
    wt.apply(&[]).exit(0);
    wt.apply(&["remove"]).exit(0).out_has("removed .d/e/f").out_has("removed .link");
    wt.assert_untouched_since(&before);
    assert_eq!(wt.excludes(), Vec::<String>::new());
    wt.apply(&["remove"]).exit(0);
    // And it can be applied again.
    wt.apply(&[]).exit(0);
    wt.apply(&["check"]).exit(0);
}

#[test]
fn what_changed_stays_and_is_listed_with_the_reason() {
    let w = World::new();
    let app = w.app();
    write(&w.home("s"), "s");
    w.area(AREA);
    let (wt, sibling) = (app.worktree("wt"), app.worktree("sibling"));
    wt.apply(&[]).exit(0);
    sibling.apply(&[]).exit(0);
    wt.write(".a", "edited");
    wt.write(".d/mine", "mine");
    wt.sh("echo MINE=1 >> .sweatshop-env; echo changed > ~/s").exit(0);
    let json = wt.apply(&["remove", "--json"]).exit(0).json();
    let left: Vec<_> = json["left"].as_array().unwrap().iter().map(|l| text(l, "/path")).collect();
    assert_eq!(left, [".a", ".copy", ".sweatshop-env", "exclude .sweatshop-env", "exclude /.a", "exclude /.d/"]);
    assert_eq!(
        (wt.read(".a"), wt.read(".copy"), wt.read(".sweatshop-env")),
        ("edited".into(), "s".into(), "MINE=1\n".into())
    );
    assert!(wt.has(".d/mine") && !wt.has(".d/e") && !wt.has(".link"));
    assert_eq!(wt.excludes(), [".sweatshop-env", "/.a", "/.d/"]);
    sibling.apply(&["check"]).exit(1).out_has(".copy");
}

#[test]
fn a_file_that_was_there_before_is_never_taken() {
    let w = World::new();
    let app = w.app();
    app.commit(".a", "a");
    app.write(".link", "mine");
    w.area("[files.a]\ncontent = \"a\"\n[files.link]\ncontent = \"mine\"\n");
    app.apply(&[]).exit(0);
    app.apply(&["remove"]).exit(0);
    assert_eq!((app.read(".a"), app.read(".link")), ("a".into(), "mine".into()));
}
