//! Files that programs of set-up commands read by themselves hold set-up back, unless a person has read them.

use crate::support::world::World;

/// Programs that run what a branch brings, each with such a file.
const READ: &[(&str, &str)] = &[
    ("simple-git-hooks", ".simple-git-hooks.cjs"),
    ("simple-git-hooks", "simple-git-hooks.js"),
    ("husky install", ".huskyrc.js"),
    ("husky install", "husky.config.js"),
    ("lint-staged", ".lintstagedrc.js"),
    ("lint-staged", "lint-staged.config.mjs"),
    ("commitlint --from HEAD", "commitlint.config.ts"),
    ("commitlint --from HEAD", ".commitlintrc.cjs"),
    ("overcommit --install", ".overcommit.yml"),
    ("pod install", "Podfile"),
    ("gulp build", "gulpfile.js"),
    ("doit", "dodo.py"),
    ("alembic upgrade head", "migrations/env.py"),
    ("cabal build", "Setup.hs"),
    ("rebar3 compile", "rebar.config"),
    ("nimble install", "app.nimble"),
    ("shards install", "shard.yml"),
    ("mill compile", "build.sc"),
    ("mask setup", "maskfile.md"),
    ("vite build", "vite.config.ts"),
    ("eslint .", "eslint.config.js"),
    ("eslint .", ".eslintrc.cjs"),
    ("playwright install", "playwright.config.ts"),
    ("prettier --check .", ".prettierrc.mjs"),
    ("fastlane setup", "fastlane/Fastfile"),
    ("conan install .", "conanfile.py"),
    ("sphinx-build docs out", "docs/conf.py"),
    ("go run .", "main.go"),
    ("go test ./...", "a/a_test.go"),
    ("cargo run", "src/main.rs"),
    ("node .", "index.js"),
    ("rails db:setup", "config/application.rb"),
    ("flask db upgrade", "app.py"),
    ("django-admin migrate --pythonpath=.", "settings.py"),
    ("ng build", "angular.json"),
    ("prove -l", "t/a.t"),
    ("gdb -batch", ".gdbinit"),
    ("tmuxinator start", ".tmuxinator.yml"),
    ("perl -I. -MFoo -e 1", "Bar.pm"),
    ("perl -Ilib -MA::B -e 1", "lib/A/B.pm"),
    ("ruby -I. -rfoo -e 1", "foo.rb"),
];

#[test]
fn programs_of_an_area_wait_for_the_configuration_that_a_branch_brings() {
    let w = World::new();
    for (number, (command, file)) in READ.iter().enumerate() {
        let program = command.split(' ').next().unwrap();
        w.program(program, "echo ran >> ~/ran");
        w.area(&format!("setup = [{command:?}]\n"));
        let app = w.repo(&format!("eng/repos/app{number}"));
        app.apply(&[]).succeeds();
        std::fs::remove_file(w.home("ran")).unwrap();
        let wt = app.worktree(&format!("wt{number}"));
        wt.commit(file, "evil");
        wt.apply(&[]).exit(3).any_out().err_has(&format!("nobody has approved {file}"));
        assert!(!w.home("ran").exists(), "{command}: {file}");
    }
}

/// An agent may have put programs where `npm run` and `uv run` look first.
#[test]
fn setup_that_runs_again_waits_for_the_programs_in_a_worktree() {
    let w = World::new();
    let cases = [
        ("npm run build", "node_modules/.bin/tsc"),
        ("cd web && pnpm build", "web/node_modules/.bin/tsc"),
        ("uv run pytest", ".venv/bin/pytest"),
        ("poetry run x", ".venv/bin/x"),
    ];
    for (number, (command, file)) in cases.into_iter().enumerate() {
        for program in ["npm", "pnpm", "uv", "poetry"] {
            w.program(program, "echo ran >> ~/ran");
        }
        let app = w.repo(&format!("eng/repos/app{number}"));
        app.commit("web/x", "x");
        app.commit(".gitignore", "node_modules/\n.venv/\n");
        app.approved(&format!("setup = [{command:?}]\n"));
        let wt = app.worktree(&format!("wt{number}"));
        wt.apply(&[]).succeeds();
        wt.write(file, "evil");
        wt.write("node_modules/left/index.js", "whatever");
        std::fs::remove_file(w.home("ran")).unwrap();
        let dir = file.rsplit_once('/').unwrap().0;
        wt.apply(&["--setup-again"]).exit(3).any_out().err_has(&format!("nobody has approved {dir}"));
        assert!(!w.home("ran").exists(), "{command}");
        // What the main checkout has, too, is the person's own.
        app.write(file, "evil");
        wt.apply(&["--setup-again"]).succeeds();
        assert!(w.home("ran").exists());
    }
}

#[test]
fn a_module_that_takes_the_place_of_pythons_own_holds_setup_back() {
    let w = World::new();
    let app = w.app();
    app.commit("sweatfile", "setup = [\"python3 -m venv --help\"]\n");
    app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    let a = app.worktree("a");
    a.apply(&[]).exit(0).any_out().any_err();
    let runs = "open('ran', 'w')\n";
    for (module, is_committed) in [("logging.py", true), ("argparse.py", false), ("json/__init__.py", false)] {
        let b = app.worktree("b");
        b.write(module, runs);
        if is_committed {
            b.sh(&format!("git add . && git commit -qm x {module}")).exit(0);
        }
        b.apply(&[]).exit(3).any_out().err_has(&format!("nobody has approved {module}"));
        assert!(!b.has("ran"), "{module}");
        app.git(&["worktree", "remove", "--force", b.path.to_str().unwrap()]);
        app.git(&["branch", "-D", "b"]);
    }
}

/// git lists a directory without tracked files as a whole, and an agent says in its index and ignore file which are.
#[test]
fn a_file_in_a_directory_that_git_lists_as_a_whole_holds_setup_back() {
    let w = World::new();
    let app = w.app();
    app.write("conf/a.mk", "\n");
    app.write("Makefile", "-include conf/*.mk local/*.mk\nprep:\n\t@:\n");
    app.write(".gitignore", "local\n");
    app.commit("sweatfile", "setup = [\"make -s prep\"]\n");
    app.sh("git add . && git commit -qm make").exit(0);
    app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    let runs = "$(shell touch ran)\n";
    for (name, file, line) in [
        ("a", "conf/z.mk", "git rm -rq --cached conf"),
        ("b", "local/deep/z.mk", "true"),
        ("c", "else/z.mk", "ln -s else out && printf 'else\nout\n' >> $(git rev-parse --git-path info/exclude)"),
    ] {
        let at = app.worktree(name);
        at.write(file, runs);
        at.sh(line).exit(0);
        at.apply(&[]).exit(3).any_out().err_has(&format!("nobody has approved {file}"));
        assert!(!at.has("ran"), "{file}");
    }
}

#[test]
fn a_directory_that_seems_endless_holds_setup_back() {
    let w = World::new();
    let app = w.app();
    app.write("Makefile", "-include local/*.mk\nprep:\n\t@:\n");
    app.write(".gitignore", "local\n");
    app.commit("sweatfile", "setup = [\"make -s prep\"]\n");
    app.sh("git add . && git commit -qm make").exit(0);
    app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    let a = app.worktree("a");
    // Links that lead round and round, as many paths as anybody would wait for.
    a.sh("mkdir -p local/f/0 local/f/1 local/f/2 && for i in 0 1 2; do for k in a b c d; do ln -s ../$(((i+1)%3)) local/f/$i/$k; done; done")
        .exit(0);
    a.write("local/z.mk", "$(shell touch ran)\n");
    a.apply(&[]).exit(3).any_out().err_has("nobody has approved local/z.mk");
    assert!(!a.has("ran"));
}

/// Commands find files by variables that no text of theirs names.
#[test]
fn a_file_that_a_variable_names_holds_setup_back() {
    let w = World::new();
    for (number, (command, variable)) in [
        ("sh $X", "X = 'tools/x.sh'"),
        ("eval $CMD", "CMD = 'sh tools/x.sh'"),
        ("sh $X", "X = '{worktree}/tools/x.sh'"),
        ("bash -c true", "BASH_ENV = './tools/x.sh'"),
    ]
    .into_iter()
    .enumerate()
    {
        let app = w.repo(&format!("eng/repos/var{number}"));
        app.commit("tools/x.sh", "echo person >> ~/ran\n");
        app.commit("test/a", "a\n");
        let text = format!("template = true\nsetup = [{command:?}]\n[env]\n{variable}\nNODE_ENV = 'test'\n");
        app.commit("sweatfile", &text);
        app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
        // A word that is no path names no directory.
        let one = app.worktree(&format!("one{number}"));
        one.commit("test/a", "b\n");
        one.apply(&[]).exit(0).any_out().any_err();
        let two = app.worktree(&format!("two{number}"));
        two.commit("tools/x.sh", "echo agent >> ~/ran\n");
        two.apply(&[]).exit(3).any_out().err_has("nobody has approved tools/x.sh");
    }
    assert!(!std::fs::read_to_string(w.home("ran")).unwrap_or_default().contains("agent"));
}
