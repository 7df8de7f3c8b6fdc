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
