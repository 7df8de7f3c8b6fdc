//! Who runs our hooks: git's own directory, another one, the configuration, or a program that manages hooks.

use std::os::unix::fs::PermissionsExt;

use crate::support::door::told;
use crate::support::floor::Floor;
use crate::support::world::{Repo, World, git_version, skip};

/// A repository whose `.env` each new worktree gets from the hook of sweatfile-apply.
fn app(w: &World) -> Repo<'_> {
    let app = w.app();
    app.commit(".gitignore", ".env\n");
    app.commit(".worktreeinclude", ".env\n");
    app.write(".env", "A=1\n");
    app
}

/// An agent would stop at some exit codes, and reads stdout.
#[test]
fn hooks_that_agents_call_end_with_0_whatever_is_wrong() {
    let w = World::new();
    let app = w.app();
    for (line, exit) in [
        ("ledger-synth add --from-hook claude", 0),
        ("ledger-synth add --from-hook claude --bogus", 0),
        ("ledger-synth -C /nonexist add --from-hook=claude", 0),
        ("ledger-synth banner --for-hook claude", 0),
        ("worker-ctl -C /nonexist hook claude", 0),
        ("worker-ctl --host nosuch hook claude", 0),
        ("worktree-spawn -C /nonexist hook worker-exit", 0),
        ("worktree-spawn hook worktree-create", 1),
        ("worktree-spawn -C /nonexist hook worktree-create", 1),
    ] {
        for begin in ["mkdir gone && cd gone && rmdir ../gone && ", "SHOPFLOOR_NOW=bad "] {
            let out = app.sh(&format!("{begin}{line} < /dev/null")).exit(exit).any_err();
            assert_eq!(out.stdout, "", "{begin}{line}");
        }
    }
}

/// `core.hooksPath` is read as git reads a path.
#[test]
fn a_directory_for_hooks_that_others_share_gets_none_however_it_is_spelled() {
    let mut w = World::new();
    let global = w.home(".gitconfig");
    w.set("GIT_CONFIG_GLOBAL", global.to_str().unwrap());
    let shared = w.home("eng/repos/hooks");
    for (n, value) in ["~/eng/repos/hooks", "~/eng/repos/hooks/", "../hooks"].iter().enumerate() {
        std::fs::create_dir_all(&shared).unwrap();
        std::fs::write(&global, format!("[core]\n\thooksPath = {value}\n")).unwrap();
        let app = w.repo(&format!("eng/repos/app{n}"));
        let out = app.shopfloor(&["setup", "--yes"]).succeeds().any_err();
        assert_eq!(std::fs::read_dir(&shared).unwrap().count(), 0, "{value}: {out}");
        out.err_has("that other repositories share");
        let out = app.apply(&["hook", "install"]).succeeds().any_err();
        out.err_has(&format!("every repository that uses {} runs", shared.display()));
        assert!(shared.join("post-checkout").exists(), "{value}");
        // Another repository that finds it there leaves it there.
        let other = w.repo(&format!("eng/repos/other{n}"));
        other.apply(&["hook", "install"]).succeeds();
        let stays = other.apply(&["hook", "uninstall"]).exit(1).any_out();
        stays.err_has("stays: core.hooksPath is ").err_has("take it out yourself: `rm ");
        app.apply(&["hook", "uninstall"]).succeeds();
        assert!(!shared.join("post-checkout").exists(), "{value}");
        std::fs::remove_dir_all(&shared).unwrap();
    }
}

/// The list alone tells afterwards which repository has put it there.
#[test]
fn a_stub_that_others_share_is_listed_before_it_is_there() {
    let w = World::new();
    let app = w.app();
    let shared = w.home("shared");
    app.git(&["config", "core.hooksPath", shared.to_str().unwrap()]);
    app.sh("mkdir -p .git/shopfloor/hooks/x").exit(0);
    app.apply(&["hook", "install"]).exit(4).any_out().any_err();
    assert!(!shared.join("post-checkout").exists());
    app.sh("rm -r .git/shopfloor/hooks").exit(0);
    app.apply(&["hook", "install"]).succeeds();
    app.apply(&["hook", "uninstall"]).succeeds();
    assert!(!shared.join("post-checkout").exists());
}

/// An agent can write the configuration by which git finds them.
#[test]
fn hooks_of_another_repository_are_neither_repaired_nor_taken_out() {
    let w = World::new();
    let (app, other) = (w.repo("app"), w.repo("other"));
    for repo in [&app, &other] {
        repo.shopfloor(&["setup", "--yes"]).exit(0).any_out().any_err();
    }
    let hooks = |repo: &Repo<'_>| repo.path.join(".git/hooks").to_string_lossy().into_owned();
    for third in [w.repo("third"), w.repo("app/inside")] {
        executable(&third, ".git/hooks/post-checkout", "true");
        let before = told(&third);
        app.git(&["config", "core.hooksPath", &hooks(&third)]);
        for tool in ["sweatfile-apply", "ledger-synth"] {
            let out = app.run(tool, &["doctor", "--repair", "--yes"]).exit(1).any_err();
            out.out_has("; core.hooksPath is ")
                .out_has("unset it: `git config --local --unset core.hooksPath`; if it is to run there: `");
        }
        app.shopfloor(&["doctor", "--repair", "--yes"]).exit(1).any_err().out_has("; core.hooksPath is ");
        assert_eq!(told(&third), before);
    }
    app.git(&["config", "--unset", "core.hooksPath"]);
    let before = told(&other);
    app.git(&["config", "extensions.worktreeConfig", "true"]);
    app.git(&["config", "--worktree", "core.hooksPath", &hooks(&other)]);
    app.apply(&["hook", "uninstall", "-n"]).exit(1).any_err().out_has("/app/.git/hooks/post-checkout\n");
    let out = app.shopfloor(&["teardown", "--yes"]).exit(1).any_out();
    out.err_has("/app/.git/hooks/post-checkout\n")
        .err_has("/other/.git/hooks/post-checkout still runs sweatfile-apply");
    out.err_has("unset it: `git config --worktree --unset core.hooksPath`");
    assert_eq!(told(&other), before);
    assert!(!app.has(".git/hooks/post-checkout") && !app.has(".git/hooks/pre-push"));
}

#[test]
fn a_directory_for_hooks_in_the_repository_itself_is_its_own() {
    let w = World::new();
    let app = app(&w);
    for dir in [".git/hooks".to_owned(), app.path.join(".git/hooks").to_string_lossy().into_owned()] {
        app.git(&["config", "core.hooksPath", &dir]);
        assert_eq!(app.apply(&["hook", "install"]).exit(0).any_out().stderr, "");
        // In a linked worktree the relative one leads below a file. No tool needs it there.
        let path = app.spawn(&["subtree", &format!("a{}", dir.len())]).exit(0).stdout;
        let linked = w.at(path.trim_end());
        assert_eq!(linked.read(".env"), "A=1\n");
        linked.apply(&["check"]).exit(0).any_out();
        app.apply(&["hook", "uninstall"]).succeeds();
    }
    // Also if an agent makes it look like a repository.
    app.git(&["config", "--unset", "core.hooksPath"]);
    app.apply(&["hook", "install"]).succeeds();
    app.sh("cd .git/hooks && mkdir .git objects && touch HEAD").exit(0);
    app.apply(&["hook", "uninstall"]).succeeds();
    assert!(!app.has(".git/hooks/post-checkout"));
    let own = app.path.join(".githooks");
    app.git(&["config", "core.hooksPath", own.to_str().unwrap()]);
    let out = app.apply(&["hook", "install"]).exit(0).any_out();
    assert!(!out.stderr.contains("every repository") && own.join("post-checkout").exists(), "{out}");
    // git runs no hook at all.
    app.git(&["config", "core.hooksPath", ""]);
    app.apply(&["check"]).any_status().any_out();
    app.apply(&["hook", "status"]).exit(1).any_out();
    app.apply(&["hook", "install"]).exit(2).err_has("not a directory for hooks");
}

fn executable(repo: &Repo<'_>, hook: &str, body: &str) {
    repo.write(hook, &format!("#!/bin/sh\n{body}\n"));
    std::fs::set_permissions(repo.path.join(hook), std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The stub that a manager writes.
fn stub(manager: &str) -> &'static str {
    match manager {
        "lefthook" => "call_lefthook run post-checkout \"$@\"",
        "pre-commit" => "# File generated by pre-commit: https://pre-commit.com",
        "prek" => "# File generated by prek: https://github.com/j178/prek",
        "simple-git-hooks" => "if [ \"$SKIP_SIMPLE_GIT_HOOKS\" = \"1\" ]; then\n    exit 0\nfi",
        _ => ". \"$(dirname \"$0\")/husky.sh\"",
    }
}

/// The entry to add is one for the file that is there, and counts once it is there.
#[test]
fn each_manager_is_known_by_its_files_and_asked_in_their_syntax() {
    let w = World::new();
    let app = w.app();
    let yaml = |text: &str, entry: &str| format!("{text}\npost-checkout:\n  jobs:\n    {entry}\n");
    let json = |text: &str, entry: &str| format!("{{{text} \"post-checkout\": {{\"jobs\": [{entry}]}}}}");
    let toml = |text: &str, entry: &str| format!("{text}\n{entry}\n");
    let list = |_: &str, entry: &str| format!("repos:\n{entry}\n");
    let object = |_: &str, entry: &str| format!("{{{entry}}}");
    let package = |_: &str, entry: &str| format!("{{\"simple-git-hooks\": {{{entry}}}}}");
    let husky = |_: &str, entry: &str| format!("{{\"husky\": {{\"hooks\": {{{entry}}}}}}}");
    let rc = |_: &str, entry: &str| format!("{{\"hooks\": {{{entry}}}}}");
    type Filled<'a> = &'a dyn Fn(&str, &str) -> String;
    let cases: [(&str, &str, &str, Filled<'_>); 17] = [
        ("lefthook", "lefthook.yml", "pre-push: {}", &yaml),
        ("lefthook", ".lefthook.yaml", "pre-push: {}", &yaml),
        ("lefthook", ".config/lefthook.yml", "pre-push: {}", &yaml),
        ("lefthook", "lefthook.toml", "[pre-push]", &toml),
        ("lefthook", ".lefthook.toml", "[pre-push]", &toml),
        ("lefthook", ".config/lefthook.json", "", &json),
        ("lefthook", "lefthook.jsonc", "\n// mine\n", &json),
        ("pre-commit", ".pre-commit-config.yaml", "repos: []", &list),
        ("prek", ".pre-commit-config.yml", "repos: []", &list),
        ("prek", "prek.toml", "", &toml),
        ("simple-git-hooks", "package.json", "{\"simple-git-hooks\": {}}", &package),
        ("simple-git-hooks", ".simple-git-hooks.json", "{}", &object),
        ("simple-git-hooks", "simple-git-hooks.cjs", "", &object),
        ("husky", "package.json", "{\"husky\": {}}", &husky),
        ("husky", ".huskyrc.json", "{}", &rc),
        ("husky", ".huskyrc", "{}", &rc),
        ("husky", ".huskyrc.yaml", "hooks: {}", &|_, entry| format!("hooks:\n  {entry}\n")),
    ];
    for (manager, file, text, filled) in cases {
        let case = format!("{manager}, {file}");
        app.write(file, text);
        executable(&app, ".git/hooks/pre-push", stub(manager));
        let out = app.apply(&["hook", "install"]).exit(0);
        out.err_has(&format!("{manager} owns the hooks")).err_has(&format!("to {file}"));
        assert!(out.stdout.contains("sweatfile-apply hook run post-checkout"), "{case}: {out}");
        app.write(file, &filled(text, out.stdout.trim_end()));
        if !file.ends_with("js") {
            let out = app.apply(&["hook", "install"]).exit(0);
            out.err_has("git does not run its post-checkout yet; run `");
            assert_eq!(out.stdout, "", "{case}");
        }
        let calls = match manager {
            "simple-git-hooks" => "\nsweatfile-apply hook run post-checkout \"$@\"",
            _ => "",
        };
        executable(&app, ".git/hooks/post-checkout", &format!("{}{calls}", stub(manager)));
        let status = app.apply(&["hook", "status"]).exit(0).any_out();
        assert!(status.stdout.contains(&format!("(by {manager})")), "{case}: {status}");
        app.sh(&format!("rm -r {file} .git/hooks/post-checkout .git/hooks/pre-push")).exit(0);
    }
}

/// What only looks like a call is none, and a call in another spelling is one.
#[test]
fn a_manager_s_configuration_is_read_as_the_manager_reads_it() {
    let w = World::new();
    let app = w.app();
    let call = "sweatfile-apply hook run post-checkout";
    let lefthook = [
        (
            0,
            "\"post-checkout\":\n  commands:\n    a:\n      run: >-\n        sweatfile-apply\n        hook run \"post-checkout\" {0}\n"
                .into(),
        ),
        (0, "post-checkout:\n  scripts:\n    sf.sh: {runner: sh}\n".into()),
        (1, format!("post-merge:\n  jobs: [{{run: {call}}}]\npost-checkout: {{}}\n")),
        (1, format!("post-checkout:\n  skip: true\n  jobs: [{{run: {call}}}]\n")),
        (1, format!("post-checkout:\n  jobs:\n    # - run: {call}\n    - run: 'true'\n")),
    ];
    app.write(".lefthook/post-checkout/sf.sh", &format!("{call} \"$@\"\n"));
    let expect = |code: i32, file: &str, text: &str| {
        app.write(file, text);
        let status = app.apply(&["hook", "status"]).any_status().any_out();
        assert_eq!(status.status, Some(code), "{text}");
    };
    executable(&app, ".git/hooks/post-checkout", stub("lefthook"));
    lefthook.iter().for_each(|(code, text)| expect(*code, "lefthook.yml", text));
    executable(&app, ".git/hooks/post-checkout", stub("pre-commit"));
    let hook = |more: &str| format!("repos:\n- repo: local\n  hooks:\n  - id: a\n    entry: {call}\n{more}");
    expect(0, ".pre-commit-config.yaml", &hook(""));
    expect(0, ".pre-commit-config.yaml", &hook("    stages: [post-checkout]\n"));
    expect(1, ".pre-commit-config.yaml", &hook("    stages: [post-merge]\n"));
    expect(1, ".pre-commit-config.yaml", &hook("default_stages: [pre-commit]\n"));
    let other = format!("{}\nARGS=(hook-impl --config=.pc.yaml --hook-type=post-checkout)", stub("pre-commit"));
    executable(&app, ".git/hooks/post-checkout", &other);
    expect(0, ".pc.yaml", &hook(""));
    // Hooks of a person's own.
    for (code, body) in [
        (0, "for t in sweatfile-apply overlay-sync; do\n  \"$t\" hook run post-checkout \"$@\"\ndone".to_owned()),
        (1, format!("echo 'never: {call}'")),
        (0, format!("echo x | {call} \"$@\"")),
        (1, "for f in \"$0.d\"/*; do \"$f\" \"$@\"; done".into()),
    ] {
        executable(&app, ".git/hooks/post-checkout", &body);
        expect(code, "x", &body);
    }
    executable(&app, ".git/hooks/post-checkout.d/sf", &format!("{call} \"$@\""));
    executable(&app, ".git/hooks/post-checkout", "for f in \"${0%/*}\"/post-checkout.d/*; do \"$f\" \"$@\"; done");
    expect(0, "x", "");
    // husky 9 in another directory.
    app.sh("mkdir -p .config/husky/_ && touch .config/husky/_/h && git config core.hooksPath .config/husky/_").exit(0);
    app.apply(&["hook", "install"]).exit(0).any_out().err_has("to .config/husky/post-checkout");
    executable(&app, ".config/husky/_/post-checkout", ". h");
    expect(0, ".config/husky/post-checkout", &format!("{call} \"$@\"\n"));
}

/// What a person has installed and git no longer runs is said where it is missed, and comes back.
#[test]
fn a_stub_that_something_took_away_is_missed() {
    let w = World::new();
    let app = app(&w);
    app.apply(&["hook", "install"]).succeeds();
    app.spawn(&["subtree", "well"]).succeeds();
    let lost = [
        "mv .git/hooks/post-checkout .git/hooks/post-checkout.old; printf '#!/bin/sh\\n' > .git/hooks/post-checkout; \
         chmod +x .git/hooks/post-checkout",
        "rm .git/hooks/post-checkout",
        "chmod -x .git/hooks/post-checkout",
        "mv .git/hooks/post-checkout .git/hooks/post-checkout.bak",
        "mkdir -p .githooks; git config core.hooksPath .githooks",
    ];
    for (n, line) in lost.iter().enumerate() {
        app.sh(line).exit(0);
        app.apply(&["hook", "status"]).exit(1).out_has("not installed");
        let spawned = app.shopfloor(&["new", &format!("a{n}")]).exit(0).any_out().any_err();
        assert_eq!(w.at(spawned.stdout.trim_end()).read(".env"), "A=1\n", "{line}");
        app.apply(&["doctor"]).exit(1).out_has("hooks      not installed; run `sweatfile-apply hook install`");
        app.shopfloor(&["doctor"]).exit(1).out_has("wrong  sweatfile-apply  hooks: not installed");
        app.shopfloor(&["doctor", "--repair", "--yes"]).any_status().any_out().any_err();
        app.apply(&["hook", "status"]).exit(0).any_out();
        let spawned = app.spawn(&["subtree", &format!("b{n}")]).succeeds();
        assert_eq!(w.at(spawned.stdout.trim_end()).read(".env"), "A=1\n", "{line}");
    }
    // What was put aside goes as well.
    app.git(&["config", "--unset", "core.hooksPath"]);
    app.sh("rm -f .git/hooks/post-checkout*").exit(0);
    app.apply(&["hook", "install"]).succeeds();
    app.sh("cd .git/hooks; cp -p post-checkout post-checkout.legacy; mv post-checkout post-checkout.old").exit(0);
    executable(&app, ".git/hooks/post-checkout", stub("pre-commit"));
    app.apply(&["hook", "status"]).exit(0).out_has("post-checkout.legacy (by pre-commit)");
    app.apply(&["hook", "uninstall"]).succeeds();
    assert!(!app.has(".git/hooks/post-checkout.old") && !app.has(".git/hooks/post-checkout.legacy"));
    // Nobody relies on it any more. A list that we did not write does not count.
    app.write(".git/shopfloor/hooks", "post-checkout overlay-sync\n");
    app.spawn(&["subtree", "last"]).succeeds();
    app.apply(&["doctor"]).exit(0).out_has("not installed");
}

/// Whether git has hooks in its configuration.
fn has_configured_hooks(app: &Repo<'_>) -> bool {
    let asked = app.sh("git hook list post-checkout").any_status().any_out().any_err();
    asked.status != Some(129) || skip("git 2.54")
}

#[test]
fn hooks_in_the_configuration_run_for_our_worktrees_and_count() {
    let w = World::new();
    let app = app(&w);
    if !has_configured_hooks(&app) {
        return;
    }
    app.git(&[
        "config",
        "hook.own.command",
        "printf '%s|' configured \"${GIT_DIR-none}\" >> \"$HOME/log\"; f() { echo \"$3\" >> \"$HOME/log\"; }; f",
    ]);
    app.git(&["config", "hook.own.event", "post-checkout"]);
    executable(&app, ".git/hooks/post-checkout", "echo file >> \"$HOME/log\"");
    let log = || {
        let text = std::fs::read_to_string(w.home("log")).unwrap_or_default();
        std::fs::write(w.home("log"), "").unwrap();
        text
    };
    app.git(&["worktree", "add", "-q", "../one"]);
    let as_git = log();
    assert_eq!(as_git, "configured|none|1\nfile\n");
    app.spawn(&["subtree", "two"]).exit(0).any_out();
    assert_eq!(log(), as_git);
    app.git(&["config", "hook.own.enabled", "false"]);
    app.spawn(&["subtree", "three"]).exit(0).any_out();
    assert_eq!(log(), "file\n");
    // Where our own commands run no hooks, they run none of these, which git 2.54 alone cannot be told.
    if git_version(&app) >= (2, 55) {
        app.git(&["config", "hook.all.command", "echo all >> \"$HOME/log\";:"]);
        for event in ["reference-transaction", "post-index-change"] {
            app.git(&["config", "--add", "hook.all.event", event]);
        }
        log();
        app.spawn(&["subtree", "four"]).exit(0).any_out();
        assert_eq!(log(), "file\n");
        app.git(&["config", "--remove-section", "hook.all"]);
    }

    app.sh("rm .git/hooks/post-checkout").exit(0);
    app.apply(&["hook", "status"]).exit(1).any_out();
    app.git(&["config", "hook.sf.command", "sweatfile-apply hook run post-checkout"]);
    app.git(&["config", "hook.sf.event", "post-checkout"]);
    app.apply(&["hook", "status"]).exit(0).out_has(".git/config (by git's configuration)");
    let out = app.apply(&["hook", "install"]).exit(0);
    assert_eq!(out.stdout, "");
    assert!(!app.has(".git/hooks/post-checkout"));
    app.apply(&["doctor"]).exit(0).out_has("hooks      installed");
    let setup = app.shopfloor(&["setup", "-n"]).exit(0).any_err();
    assert!(!setup.stdout.contains("sweatfile-apply hook install"), "{setup}");
    let path = app.spawn(&["subtree", "five"]).exit(0).stdout;
    assert_eq!(w.at(path.trim_end()).read(".env"), "A=1\n");
    app.apply(&["hook", "uninstall"]).exit(1).err_has("which git's configuration runs; delete it");
}

/// The source's hooks and merge driver may come after the root.
#[test]
fn workers_get_hooks_that_came_after_the_root() {
    let w = World::new();
    let floor = Floor::new(&w);
    let app = &floor.app;
    app.commit(".gitignore", ".env\n");
    app.commit(".worktreeinclude", ".env\n");
    app.write(".env", "A=1\n");
    floor.ctl(&["doctor"]).exit(0).out_has("hooks      the clone has those of the source");
    app.apply(&["hook", "install"]).succeeds();
    app.ledger(&["install"]).succeeds().any_err();
    let wrong = floor.ctl(&["doctor"]).exit(1);
    wrong.out_has(
        "wrong   hooks      the clone lacks what the source has: post-checkout of sweatfile-apply, pre-push of",
    );
    // What an agent told git about hooks in the clone does not count.
    floor.root.git(&["config", "core.hooksPath", ".husky/_"]);
    ["one", "two"]
        .iter()
        .for_each(|driver| drop(floor.root.git(&["config", "--add", "merge.ledger-synth.driver", driver])));
    floor.ctl(&["add", "adam"]).succeeds();
    assert_eq!(floor.root.read(".worktrees/adam/.env"), "A=1\n");
    floor.ctl(&["doctor"]).any_status().out_has("the clone has those of the source");
    assert!(floor.root.git(&["config", "merge.ledger-synth.driver"]).starts_with("ledger-synth merge-driver"));
    floor.root.sh("rm .git/hooks/*").exit(0);
    floor.ctl(&["doctor", "--repair", "--yes"]).any_status().out_has("fixed   hooks");
    // One of an earlier version is written anew.
    let stub = floor.root.read(".git/hooks/post-checkout");
    let words = ["install shopfloor again", "run 'cargo xtask install' in shopfloor's checkout"];
    floor.root.write(".git/hooks/post-checkout", &stub.replace(words[0], words[1]));
    floor.ctl(&["add", "seth"]).succeeds();
    assert_eq!(floor.root.read(".worktrees/seth/.env"), "A=1\n");
    assert_eq!(floor.root.read(".git/hooks/post-checkout"), stub);
    app.sh("rm .git/hooks/post-checkout").exit(0);
    floor.ctl(&["doctor"]).exit(1).out_has("git does not run the hook of sweatfile-apply in ");
    floor.root.sh("rm .git/hooks/post-checkout").exit(0);
    floor.ctl(&["add", "eva"]).succeeds();
    assert_eq!(floor.root.read(".worktrees/eva/.env"), "A=1\n");
}
