//! `.worktreeinclude`: links in copied directories, and a list that is no plain file or that a sparse checkout leaves out.

use crate::support::world::{Repo, World};

/// A repository whose `node_modules`, `.venv` and `.env` are ignored and asked for.
fn listed<'w>(w: &'w World, name: &str) -> Repo<'w> {
    let app = w.repo(&format!("eng/repos/{name}"));
    app.commit(".gitignore", "node_modules/\n.venv/\n.env\n.worktreeinclude\n");
    app.write(".worktreeinclude", "node_modules/\n.venv/\n.env\n");
    app.write(".env", "A=1\n");
    app
}

fn link(at: &Repo<'_>, path: &str) -> Option<String> {
    Some(at.path.join(path).read_link().ok()?.to_str()?.to_owned())
}

#[test]
fn a_copied_directory_has_its_links_and_works() {
    let w = World::new();
    let app = listed(&w, "app");
    app.commit("tracked", "x");
    app.write("node_modules/a/bin/a.js", "js");
    app.write("node_modules/.pnpm/b@1/node_modules/b/index.js", "b");
    app.sh(
        "cd node_modules; mkdir .bin @s; ln -s ../a/bin/a.js .bin/a; ln -s .pnpm/b@1/node_modules/b b; ln -s b chain; \
         ln -s ../.pnpm/b@1/node_modules/b @s/b; ln -s two one; ln -s one two; ln -s ../tracked tracked",
    )
    .exit(0);
    let wt = app.worktree("wt");
    // Everything is placed, without a warning.
    wt.apply(&[]).succeeds();
    assert_eq!(wt.read("node_modules/.bin/a"), "js");
    assert_eq!(
        (wt.read("node_modules/chain/index.js"), wt.read("node_modules/@s/b/index.js")),
        ("b".into(), "b".into())
    );
    assert_eq!(link(&wt, "node_modules/one").as_deref(), Some("two"));
    assert_eq!(link(&wt, "node_modules/tracked").as_deref(), Some("../tracked"));
    wt.apply(&["check"]).exit(0).err_has("takes ");
    wt.apply(&["remove"]).succeeds();
    assert!(!wt.has("node_modules") && app.has("node_modules/.bin/a"));
}

#[test]
fn a_link_that_leaves_what_is_copied_is_left_out_and_named_once() {
    let w = World::new();
    let app = listed(&w, "app");
    std::fs::create_dir_all(w.home("eng/out")).unwrap();
    std::fs::write(w.home("eng/out/s"), "secret").unwrap();
    app.write("node_modules/a/f", "x");
    app.write("secret/key", "not listed");
    app.sh(
        "cd node_modules; mkdir d; ln -s . self; ln -s $HOME/eng/out/s absolute; ln -s $PWD/a inside; ln -s nothing broken; \
         ln -s ../../../out/s out; ln -s ../node_modules/../../../out/s back; ln -s self/self/../../../../out/s d/through; \
         ln -s ../secret/key unlisted",
    )
    .exit(0);
    let wt = app.worktree("wt");
    let out = wt.apply(&[]).exit(0).any_out();
    out.err_has("node_modules/absolute and 6 more links in node_modules are not copied");
    assert_eq!(out.stderr.matches("not copied:").count(), 1, "{}", out.stderr);
    for left in ["absolute", "inside", "broken", "out", "back", "d/through", "unlisted"] {
        assert!(!wt.has(&format!("node_modules/{left}")), "{left}");
    }
    assert_eq!(wt.read("node_modules/self/a/f"), "x");
    wt.apply(&["check"]).exit(0).any_err();
}

#[test]
fn a_virtual_environment_whose_python_cannot_be_copied_is_left_out_whole() {
    let w = World::new();
    let app = listed(&w, "app");
    app.write(".venv/pyvenv.cfg", "home = /usr/bin\n");
    app.write(".venv/bin/pip", "#!/x\n");
    app.sh("ln -s /usr/bin/env .venv/bin/python; ln -s python .venv/bin/python3").exit(0);
    let wt = app.worktree("wt");
    let out = wt.apply(&[]).exit(0).any_out();
    out.err_has(".venv is not copied: it is a virtual environment, whose programs name the main checkout");
    assert!(!wt.has(".venv") && wt.read(".env") == "A=1\n");
    wt.apply(&["check"]).exit(0).any_err();
    // The one that the worktree has made meanwhile gets nothing of it.
    wt.sh("mkdir -p .venv/bin && ln -s /usr/bin/env .venv/bin/python && ln -s python .venv/bin/python3").exit(0);
    wt.apply(&[]).exit(0).any_out().any_err();
    assert!(!wt.has(".venv/bin/pip") && !wt.has(".venv/pyvenv.cfg"));
    wt.apply(&["check"]).exit(0).any_err();
}

#[test]
fn a_linked_list_is_read_and_one_that_is_no_file_is_named() {
    let w = World::new();
    std::fs::create_dir_all(w.home("dotfiles")).unwrap();
    std::fs::write(w.home("dotfiles/list"), ".env\n").unwrap();
    for (name, make) in [("absolute", "ln -s ~/dotfiles/list"), ("relative", "echo .env > list; ln -s list")] {
        let app = listed(&w, name);
        app.sh(&format!("rm .worktreeinclude; {make} .worktreeinclude")).exit(0);
        let wt = app.worktree(&format!("w-{name}"));
        wt.apply(&[]).succeeds();
        assert_eq!(wt.read(".env"), "A=1\n", "{name}");
    }
    for (name, make) in
        [("broken", "ln -s none"), ("cycle", "ln -s .worktreeinclude"), ("dir", "mkdir"), ("pipe", "mkfifo")]
    {
        let app = listed(&w, name);
        app.sh(&format!("rm .worktreeinclude; {make} .worktreeinclude")).exit(0);
        let wt = app.worktree(&format!("w-{name}"));
        wt.apply(&[]).exit(0).any_out().err_has("/.worktreeinclude is not read: ");
    }
    let app = listed(&w, "closed");
    app.write("sweatfile", "[env]\nA = \"1\"\n");
    app.sh("chmod 000 .worktreeinclude").exit(0);
    app.run_bound("sweatfile-apply", &["approve", "--yes"]).exit(0).any_out().any_err();
    let wt = app.worktree("w-closed");
    wt.run_bound("sweatfile-apply", &[]).exit(0).any_out().err_has("/.worktreeinclude is not read: Permission denied");
    assert!(wt.has(".sweatshop-env"));
}

#[test]
fn what_a_sparse_main_checkout_leaves_out_counts() {
    let w = World::new();
    let app = w.app();
    app.commit(".gitignore", ".env\n");
    app.commit("a/x", "x");
    app.commit(".worktreeinclude", "# private\n.env\n!other\n");
    app.commit("sweatfile", "[env]\nX = \"1\"\n");
    app.write(".env", "A=1\n");
    app.apply(&["approve", "--yes"]).succeeds();
    app.git(&["sparse-checkout", "set", "--no-cone", "/a/", "/.gitignore"]);
    assert!(!app.has("sweatfile") && !app.has(".worktreeinclude"));
    let wt = app.worktree("wt");
    // An agent can write what the main checkout has committed, so a list of private files is a file there or none.
    wt.apply(&[]).exit(0).any_out().err_has(".worktreeinclude is not read: the main checkout is sparse");
    assert!(wt.read(".sweatshop-env") == "X=1\n" && !wt.has(".env"));
    app.git(&["sparse-checkout", "add", "/.worktreeinclude"]);
    wt.apply(&[]).succeeds();
    assert_eq!(wt.read(".env"), "A=1\n");
    app.apply(&["show"]).exit(0).out_has("X = ");
    // What only the index has counts for nothing. Other bytes need an approval, and a file that a person deleted counts for
    // nothing.
    app.sh(
        "printf '[env]\\nX = \"2\"\\n' > new; git update-index --cacheinfo 100644,$(git hash-object -w new),sweatfile; \
            git update-index --skip-worktree sweatfile; rm new",
    )
    .exit(0);
    wt.apply(&[]).succeeds();
    app.git(&["commit", "-q", "-m", "other"]);
    wt.apply(&[]).exit(3).any_out().err_has("sweatfile is not approved");
    app.git(&["sparse-checkout", "disable"]);
    app.sh("rm sweatfile").exit(0);
    app.worktree("late").apply(&[]).succeeds();
    assert!(!w.home("eng/repos/late/.sweatshop-env").exists());
}
