//! Setup commands use no file of a branch that nobody has read: the area's none that is tracked and not approved, the
//! repository's none that differs from the main checkout's.

use crate::support::world::{Repo, World, text, write};

/// Writes an area that allows any `.envrc`, and a `direnv` that logs where it is called.
fn area(w: &World, more: &str) {
    w.program("direnv", "echo \"$1 $PWD\" >> ~/allowed");
    w.area(&format!("setup = [\"direnv allow\"]\n{more}"));
}

fn allowed(w: &World) -> usize {
    std::fs::read_to_string(w.home("allowed")).unwrap_or_default().lines().count()
}

/// Applies, and checks that this file held setup back.
#[track_caller]
fn assert_held(repo: &Repo<'_>, file: &str) {
    let before = allowed(repo.world);
    let out = repo.apply(&[]).exit(3);
    out.err_has(&format!("nobody has approved {file}")).err_has("setup was held back").err_has("approve");
    out.out_has("skipped setup direnv allow");
    repo.apply(&["--json"]).exit(3).any_err().out_has("\"kind\":\"unapproved\"");
    repo.apply(&["--setup-again"]).exit(3).any_out().any_err();
    repo.apply(&["-n"]).exit(3).any_out().err_has(file);
    repo.apply(&["check"]).exit(1).out_has(&format!("setup is held back by {file}"));
    assert_eq!(allowed(repo.world), before, "setup ran over {file}");
}

#[test]
fn a_tracked_envrc_holds_setup_back_until_approved() {
    let w = World::new();
    let app = w.app();
    area(&w, "");
    app.commit(".envrc", "touch ~/evil\n");
    assert_held(&app, ".envrc");
    // In a hook the problem is a notice.
    app.apply(&["hook", "install"]).succeeds();
    let added = app.run("git", &["worktree", "add", "-q", "../wt"]).exit(0);
    added.err_has("nobody has approved .envrc").err_has("eng/repos/wt approve");
    let wt = w.at(w.home("eng/repos/wt"));
    assert_held(&wt, ".envrc");
    // The approval is for the content, here and in every worktree with the same file.
    wt.apply(&["approvals"]).exit(0).out_has("required").out_has("wt/.envrc");
    wt.apply(&["approve"]).exit(3).any_out().err_has("wt/.envrc as it is").err_has("touch ~/evil");
    wt.apply(&["approve", "--yes"]).succeeds().out_has("approved").out_has("wt/.envrc");
    wt.apply(&[]).succeeds().out_has("finished setup direnv allow");
    app.apply(&[]).succeeds();
    assert_eq!(allowed(&w), 2);
    app.apply(&["check"]).exit(0);
    wt.apply(&["--setup-again"]).succeeds();
    // One more character makes it another file.
    wt.commit(".envrc", "touch ~/evil2\n");
    let out = wt.apply(&["--setup-again"]).exit(3).any_out();
    out.err_has("nobody has approved .envrc");
    assert_eq!(allowed(&w), 3);
    // A file that git does not track is the user's own.
    let plain = w.repo("eng/repos/plain");
    plain.write(".envrc", "mine\n");
    plain.apply(&[]).succeeds();
    assert_eq!(allowed(&w), 4);
}

#[test]
fn on_a_terminal_a_person_is_asked_about_the_file() {
    let w = World::new();
    let app = w.app();
    area(&w, "");
    app.commit(".envrc", "touch ~/evil\n");
    app.on_terminal("sweatfile-apply", "n\n").exit(3).any_out();
    assert_eq!(allowed(&w), 0);
    let out = app.on_terminal("sweatfile-apply", "y\n").exit(0);
    assert!(out.stdout.contains("touch ~/evil"), "{}", out.stdout);
    assert_eq!(allowed(&w), 1);
}

#[test]
fn files_that_the_area_places_do_not_hold_setup_back() {
    let w = World::new();
    let app = w.app();
    write(&w.home("eng/shared"), "shared\n");
    area(
        &w,
        "[files.envrc]\ncontent = \"good\\n\"\n[files.copied]\ncopy = \"shared\"\n[files.linked]\nsource = \"shared\"\n",
    );
    app.apply(&[]).succeeds().any_err();
    assert_eq!(allowed(&w), 1);
    // A tracked file with the area's content.
    let same = w.repo("eng/repos/same");
    same.commit(".envrc", "good\n");
    same.commit(".copied", "shared\n");
    same.sh(&format!("ln -s {} .linked && git add .linked && git commit -qm linked", w.home("eng/shared").display()))
        .any_status()
        .any_out()
        .any_err();
    same.apply(&[]).succeeds();
    assert_eq!(allowed(&w), 2);
    // A tracked file with another content.
    for file in [".envrc", ".copied", ".linked"] {
        let other = w.repo(&format!("eng/repos/other{file}"));
        other.commit(file, "theirs\n");
        assert_held(&other, file);
        other.git(&["rm", "-q", "--cached", file]);
        other.apply(&[]).succeeds();
    }
    // A link is approved together with the text behind it: another text needs another approval.
    let link = w.repo("eng/repos/link");
    link.commit("behind", "one\n");
    link.sh("ln -s behind .envrc && git add .envrc && git commit -qm link").exit(0);
    assert_held(&link, ".envrc");
    link.apply(&["approve"]).exit(3).any_out().err_has("    one");
    link.apply(&["approve", "--yes"]).succeeds();
    link.write("behind", "two\n");
    assert_held(&link, ".envrc");
}

#[test]
fn an_envrc_in_a_directory_holds_back_only_the_areas_commands() {
    let w = World::new();
    let app = w.app();
    area(&w, "");
    app.commit("sub/dir/.envrc", "touch ~/evil\n");
    assert_held(&app, "sub/dir/.envrc");
    // Approved commands of the repository may use the repository's files.
    app.approved("setup = []\n");
    app.apply(&[]).exit(0);
    app.approved("setup = [\"touch ran\"]\n");
    app.commit("sub/dir/.envrc", "touch ~/evil2\n");
    app.apply(&[]).exit(3).any_out().any_err();
    assert!(!app.has("ran"), "setup runs in its order, or not at all");
    w.area("");
    app.apply(&[]).succeeds();
    assert!(app.has("ran"));
    // Several files are each reported by name, even next to a sweatfile that does not count.
    area(&w, "");
    let both = w.repo("eng/repos/both");
    both.commit("sub/.envrc", "x\n");
    both.commit(".envrc", "x\n");
    both.write("sweatfile", "setup = [\"false\"]\n");
    let out = both.apply(&[]).exit(3).any_out();
    out.err_has("sweatfile is not approved")
        .err_has("  nobody has approved sub/.envrc")
        .err_has("  nobody has approved .envrc");
    let json = both.apply(&["--json"]).exit(3).json();
    assert!(text(&json, "/error/message").contains("sub/.envrc"), "{json}");
}

/// A submodule's files come from the branch too, which chooses the submodule's commit.
#[test]
fn a_file_of_a_submodule_holds_setup_back() {
    let w = World::new();
    let app = w.app();
    write(&w.home("eng/dev.sh"), "touch ~/good\n");
    area(&w, "[files.\"tools/dev.sh\"]\ncopy = \"dev.sh\"\n");
    let tools = w.repo("tools");
    tools.commit("dev.sh", "touch ~/evil\n");
    tools.commit(".envrc", "touch ~/evil\n");
    app.sh(&format!(
        "git -c protocol.file.allow=always submodule -q add {} .tools && git commit -qm tools",
        tools.path.display()
    ))
    .exit(0);
    assert_held(&app, ".tools/dev.sh");
    assert_held(&app, ".tools/.envrc");
}

#[test]
fn a_tracked_env_file_holds_setup_back_too() {
    let w = World::new();
    let app = w.app();
    area(&w, "[files.envrc]\ncontent = \"dotenv_if_exists .sweatshop-env\\n\"\n");
    app.commit(".sweatshop-env", "PATH=.x:/usr/bin\n");
    assert_held(&app, ".sweatshop-env");
}

#[test]
fn the_areas_commands_use_no_file_of_an_unread_branch_whatever_program_reads_it() {
    let w = World::new();
    let cases = [
        ("mise trust", "mise.toml"),
        ("mise trust --all", ".config/mise/conf.d/x.toml"),
        ("asdf install", ".tool-versions"),
        ("npm install", "web/package.json"),
        ("pnpm install", "pnpm-lock.yaml"),
        ("lefthook install", ".lefthook.toml"),
        ("uv sync", "pyproject.toml"),
        ("pip install -e .", "setup.py"),
        ("poetry install", "poetry.lock"),
        ("make setup", "GNUmakefile"),
        ("just setup", "Justfile"),
        ("bundle", "Gemfile"),
        ("cargo build", "tools/build.rs"),
        ("cd tools && ./x", "tools/x"),
        ("for f in setup.d/*; do . ./$f; done", "setup.d/1"),
    ];
    for (number, (command, file)) in cases.into_iter().enumerate() {
        w.program(command.split(' ').next().unwrap(), "echo ran >> ~/ran");
        w.area(&format!("setup = [{command:?}]\n"));
        let app = w.repo(&format!("eng/repos/app{number}"));
        app.commit(file, "echo ran >> ~/ran\n");
        app.sh(&format!("chmod +x {file} && git commit -qam x")).any_status().any_out().any_err();
        app.apply(&[]).exit(3).any_out().err_has(&format!("nobody has approved {file}")).err_has("setup was held back");
        app.apply(&["check"]).exit(1).out_has(&format!("setup is held back by {file}"));
        assert!(!w.home("ran").exists(), "{command} ran with {file}");
        app.apply(&["approve", "--yes"]).succeeds();
        app.apply(&[]).succeeds();
        std::fs::remove_file(w.home("ran")).unwrap();
    }
}

/// Commits a file and approves a set-up, and returns a worktree whose branch has another text in it.
fn changed<'w>(app: &Repo<'w>, setup: &str, file: &str) -> Repo<'w> {
    app.commit(file, "echo good >> log\n");
    app.approved(&format!("setup = [{setup:?}]\n"));
    let name = format!("{}-wt", app.path.file_name().unwrap().to_str().unwrap());
    let wt = app.worktree(&name);
    wt.commit(file, "echo evil >> log\n");
    wt
}

#[test]
fn an_approved_setup_runs_no_file_that_a_branch_has_changed() {
    let w = World::new();
    let app = w.app();
    let agent = changed(&app, "sh scripts/setup.sh", "scripts/setup.sh");
    // A branch that does not touch the file is set up.
    let plain = app.worktree("plain");
    plain.commit("other", "x");
    plain.apply(&[]).succeeds();
    assert_eq!(plain.read("log"), "good\n");
    let held = agent.apply(&[]).exit(3);
    held.err_has("nobody has approved scripts/setup.sh").err_has("app-wt approve").out_has("skipped setup");
    agent.apply(&["--yes"]).exit(3).any_out().err_has("scripts/setup.sh");
    agent.apply(&["check"]).exit(1).out_has("setup is held back by scripts/setup.sh");
    // In a hook the problem is a notice.
    app.apply(&["hook", "install"]).succeeds();
    app.git(&["branch", "again", "app-wt"]);
    let added = app.run("git", &["worktree", "add", "-q", "../again", "again"]).exit(0);
    added.err_has("nobody has approved scripts/setup.sh");
    let again = w.at(app.path.with_file_name("again"));
    assert!(!agent.has("log") && !again.has("log"));
    // A person reads and approves this text, for every worktree.
    agent.apply(&["approve"]).exit(3).any_out().err_has("echo evil >> log");
    agent.apply(&["approve", "--yes"]).succeeds();
    agent.apply(&[]).succeeds();
    again.apply(&[]).succeeds();
    assert_eq!((agent.read("log"), again.read("log")), ("evil\n".into(), "evil\n".into()));
    again.write("scripts/setup.sh", "echo worse >> log\n");
    again.apply(&["--setup-again"]).exit(3).any_out().err_has("scripts/setup.sh");
}

#[test]
fn a_file_is_held_however_an_approved_setup_uses_it() {
    let w = World::new();
    for program in ["make", "npm", "yarn", "bun", "just", "uv", "poetry", "pip", "bazel", "kubectl", "act"] {
        w.program(program, "echo evil >> log");
    }
    let cases = [
        ("bash ./x", "x"),
        ("sh a/../x.sh", "x.sh"),
        ("cd tools && ./x", "tools/x"),
        ("D=tools; sh \"$D/x.sh\"", "tools/x.sh"),
        ("sh < 'tools/set up.sh'", "tools/set up.sh"),
        ("for f in tools/*.sh; do . ./$f; done", "tools/x.sh"),
        ("make", "Makefile"),
        ("make -C sub", "sub/rules.mk"),
        ("npm ci", "package.json"),
        ("npm ci", ".npmrc"),
        ("yarn", ".yarn/releases/yarn.cjs"),
        ("bun install", "bunfig.toml"),
        ("just setup", "justfile"),
        ("uv sync", "pyproject.toml"),
        ("poetry install", "poetry.lock"),
        ("pip install -r dev.txt", "base.txt"),
        ("uv pip install -r reqs/dev.txt", "reqs/con.in"),
        ("bazel build //...", "tools/BUILD"),
        ("kubectl apply -k .", "deployment.yaml"),
        ("act", ".github/workflows/ci.yml"),
        ("run-parts tools", "tools/x"),
        ("node ./tools/setup", "tools/setup.js"),
        ("python3 -m tools.setup", "tools/setup.py"),
        ("python3 -c 'import tools.setup'", "tools/setup.py"),
        ("sh tools/\"\"x", "tools/x"),
        ("cd tools && for f in *; do . ./$f; done", "tools/x"),
    ];
    for (number, (command, file)) in cases.into_iter().enumerate() {
        let app = w.repo(&format!("eng/repos/app{number}"));
        let wt = changed(&app, command, file);
        wt.apply(&[]).exit(3).any_out().err_has(&format!("nobody has approved {file}"));
        assert!(!wt.has("log"), "{command} ran with {file}");
    }
}

#[test]
fn links_are_followed_to_the_file_that_a_branch_has_changed() {
    let w = World::new();
    let app = w.app();
    app.commit("real/one", "echo good >> log\n");
    app.sh("ln -s real/one two; ln -s two three; git add two three; git commit -qm links").exit(0);
    app.approved("setup = [\"sh ./three\"]\n");
    let (same, agent, moved) = (app.worktree("same"), app.worktree("agent"), app.worktree("moved"));
    same.apply(&[]).succeeds();
    agent.commit("real/one", "echo evil >> log\n");
    agent.apply(&[]).exit(3).any_out().err_has("nobody has approved three");
    agent.apply(&["approve"]).exit(3).any_out().err_has("echo evil >> log");
    // A directory that became a link to another one.
    app.approved("setup = [\"sh real/one\"]\n");
    moved.sh("git mv real evil && echo 'echo evil >> log' > evil/one && ln -s evil real && git add -A").exit(0);
    moved.apply(&[]).exit(3).any_out().err_has("nobody has approved");
    assert!(same.has("log") && !agent.has("log") && !moved.has("log"));
}

#[test]
fn moving_the_default_branch_does_not_make_its_files_read() {
    let w = World::new();
    let app = w.app();
    let agent = changed(&app, "sh ./setup.sh", "setup.sh");
    agent.git(&["update-ref", "refs/heads/main", "HEAD"]);
    let next = app.worktree("next");
    assert_eq!(next.read("setup.sh"), "echo evil >> log\n");
    next.apply(&[]).exit(3).any_out().err_has("nobody has approved setup.sh");
    assert!(!next.has("log"));
}

#[test]
fn in_the_main_checkout_an_approved_setup_runs_the_default_branchs_files() {
    let w = World::new();
    let app = w.app();
    app.commit("setup.sh", "echo good >> log\n");
    app.sh("ln -s setup.sh link; git add link; git commit -qm link").exit(0);
    app.approved("setup = [\"sh ./link\"]\n");
    app.git(&["checkout", "-q", "-b", "agent"]);
    app.commit("setup.sh", "echo evil >> log\n");
    app.apply(&[]).exit(3).any_out().err_has("nobody has approved link");
    app.git(&["checkout", "-q", "main"]);
    app.git(&["checkout", "-q", "-b", "other"]);
    app.commit("other", "x");
    // Nor by making a ref.
    app.git(&["update-ref", "refs/heads/master", "agent"]);
    app.git(&["update-ref", "refs/heads/main", "agent"]);
    app.git(&["checkout", "-q", "agent"]);
    app.apply(&[]).exit(3).any_out().err_has("nobody has approved link");
    assert!(!app.has("log"));
    // What was there when the set-up was approved counts on each branch.
    app.git(&["checkout", "-q", "other"]);
    app.apply(&[]).succeeds();
    assert_eq!(app.read("log"), "good\n");
    app.git(&["branch", "-q", "-m", "main", "trunk"]);
    app.write("setup.sh", "echo evil >> log\n");
    app.apply(&["--setup-again"]).exit(3).any_out().err_has("nobody has approved link");
}

#[test]
fn without_a_known_default_branch_the_main_checkouts_files_are_approved_with_the_set_up() {
    let w = World::new();
    let app = w.app();
    app.commit("setup.sh", "echo good >> log\n");
    app.git(&["branch", "-q", "-m", "main", "trunk"]);
    app.approved("setup = [\"sh ./setup.sh\"]\n");
    app.apply(&[]).succeeds();
    app.git(&["checkout", "-q", "-b", "agent"]);
    app.commit("setup.sh", "echo evil >> log\n");
    app.apply(&["--setup-again"]).exit(3).any_out().err_has("nobody has approved setup.sh");
    assert_eq!(app.read("log"), "good\n");
}

#[test]
fn an_approved_setup_runs_no_file_that_is_in_no_index_and_not_in_the_main_checkout() {
    let w = World::new();
    w.program("make", "echo evil >> log");
    let cases = [
        ("make", "GNUmakefile", ""),
        ("[ ! -f local.sh ] || sh ./local.sh", "local.sh", "echo local.sh > .gitignore"),
        ("sh new/x.sh", "new/x.sh", ""),
        ("sh ./x.sh", "x.sh", "git rm -q --cached x.sh; git -C ../app2 rm -q --cached x.sh"),
    ];
    for (number, (command, file, hide)) in cases.into_iter().enumerate() {
        let app = w.repo(&format!("eng/repos/app{number}"));
        app.commit("x.sh", "echo good >> log\n");
        app.approved(&format!("setup = [{command:?}]\n"));
        let wt = app.worktree(&format!("wt{number}"));
        wt.write(file, "echo evil >> log\n");
        wt.sh(&hide.replace("app2", &format!("app{number}"))).exit(0);
        wt.apply(&[]).exit(3).any_out().err_has("nobody has approved");
        assert!(!wt.has("log"), "{command} ran with {file}");
        // What the main checkout has on disk is no reason to wait.
        app.write(file, "echo evil >> log\n");
        wt.apply(&[]).succeeds();
    }
    let app = w.repo("eng/repos/index");
    let wt = changed(&app, "sh x.sh", "x.sh");
    wt.git(&["rm", "-q", "--cached", "x.sh"]);
    app.write(".git/index", "x");
    wt.apply(&[]).exit(4).err_has("ls-files");
    assert!(!wt.has("log"));
}

#[test]
fn a_workers_clone_is_compared_with_its_source() {
    let w = World::new();
    let app = w.app();
    app.commit("setup.sh", "echo good >> log\n");
    app.approved("setup = [\"sh ./setup.sh\"]\n");
    for (name, text, code) in [("same", "echo good >> log\n", 0), ("changed", "echo evil >> log\n", 3)] {
        let clone = w.workers_clone(&app, name);
        clone.write("setup.sh", text);
        clone.apply(&[]).exit(code).any_out().any_err();
        assert_eq!(clone.has("log"), code == 0, "{name}");
    }
}

/// A person who looks at an agent's branch in the main checkout has not read it.
#[test]
fn a_main_checkout_at_another_branch_vouches_for_no_file() {
    let w = World::new();
    let app = w.app();
    app.commit("setup.sh", "echo good >> log\n");
    app.approved("setup = [\"sh ./setup.sh\"]\n");
    app.git(&["add", "sweatfile"]);
    app.git(&["commit", "-q", "-m", "set up"]);
    app.git(&["switch", "-q", "-c", "agents"]);
    app.commit("setup.sh", "echo evil >> log\n");
    let wt = app.worktree("look");
    wt.apply(&[]).exit(3).any_out().err_has("nobody has approved setup.sh");
    app.git(&["switch", "-q", "main"]);
    let wt = app.worktree("work");
    wt.apply(&[]).succeeds();
    assert_eq!(wt.read("log"), "echo good >> log\n".replace("echo ", "").replace(" >> log", ""));
}

/// An agent's index can call any directory a submodule.
#[test]
fn a_directory_that_the_index_calls_a_submodule_is_looked_at() {
    let w = World::new();
    let app = w.app();
    app.approved("setup = [\"cargo --version || true\"]\n");
    let wt = app.worktree("agent");
    wt.write(".cargo/config.toml", "[build]\n");
    wt.sh("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),.cargo").exit(0);
    wt.apply(&[]).exit(3).any_out().err_has("nobody has approved .cargo");
}

/// What a layer places from the main checkout is the person's own only while that is on the default branch.
#[test]
fn a_placed_file_of_an_unread_branch_holds_setup_back() {
    let w = World::new();
    w.program("direnv", "sh ./.envrc");
    for (number, (entry, key, command)) in [
        ("source = 'tools/s.sh'", "'s.sh'", "sh .s.sh"),
        ("copy = 'tools/s.sh'", "'s.sh'", "sh .s.sh"),
        ("copy = 'tools/s.sh'", "envrc", "direnv allow"),
        ("source = 'tools'", "tools", "sh .tools/s.sh"),
    ]
    .into_iter()
    .enumerate()
    {
        let app = w.repo(&format!("eng/repos/placed{number}"));
        app.commit("tools/s.sh", "echo person >> ~/ran\n");
        app.commit("sweatfile", &format!("setup = [{command:?}]\n[files.{key}]\n{entry}\n"));
        app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
        let one = app.worktree(&format!("one{number}"));
        one.apply(&[]).exit(0).any_out().any_err();
        let ran = || std::fs::read_to_string(w.home("ran")).unwrap_or_default();
        assert_eq!(ran(), "person\n", "{entry}");
        one.apply(&["--setup-again"]).exit(0).any_out().any_err();
        app.git(&["checkout", "-qb", "agent"]);
        app.commit("tools/s.sh", "echo agent >> ~/ran\n");
        let two = app.worktree(&format!("two{number}"));
        two.apply(&[]).exit(3).any_out().err_has("nobody has approved");
        // Placed by now.
        two.apply(&[]).exit(3).any_out().err_has("nobody has approved");
        assert_eq!(ran(), "person\nperson\n", "{entry}");
        two.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
        two.apply(&[]).exit(0).any_out().any_err();
        assert_eq!(ran(), "person\nperson\nagent\n", "{entry}");
        std::fs::remove_file(w.home("ran")).unwrap();
    }
}
