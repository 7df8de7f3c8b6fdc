//! State below `.git` that all tools share, written by somebody else.

use crate::support::world::World;

/// The checkout that a repository remembers lends its files to new worktrees, so it has to be this repository's.
#[test]
fn a_forged_main_checkout_lends_no_files_to_a_new_worktree() {
    let w = World::new();
    let (app, other) = (w.app(), w.repo("other"));
    for (repo, env) in [(&app, "A=mine\n"), (&other, "SECRET=1\n")] {
        repo.commit(".gitignore", ".env\n");
        repo.commit(".worktreeinclude", ".env\n");
        repo.write(".env", env);
    }
    let linked = app.worktree("linked");
    // A directory in a worktree of an agent that leads back to the repository.
    linked.write("fake/.git", &format!("gitdir: {}\n", app.path.join(".git").display()));
    linked.write("fake/.worktreeinclude", ".env\n");
    linked.write("fake/.env", "EVIL=1\n");
    for (at, checkout) in [&other.path, &linked.path.join("fake")].into_iter().enumerate() {
        app.sh(&format!("mkdir -p .git/shopfloor && printf %s {} > .git/shopfloor/main-checkout", checkout.display()))
            .exit(0);
        let new = app.worktree(&format!("new{at}"));
        new.apply(&[]).succeeds().any_err();
        assert_eq!(new.read(".env"), "A=mine\n", "{}", checkout.display());
    }
}
