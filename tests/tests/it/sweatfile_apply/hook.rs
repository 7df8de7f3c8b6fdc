//! The post-checkout hook, called by real git.

use std::os::unix::fs::PermissionsExt;

use shopfloor_core::hash::Digest;

use crate::support::world::{Repo, World, write};

fn executable(repo: &Repo<'_>, hook: &str, body: &str) {
    repo.write(hook, &format!("#!/bin/sh\n{body}\n"));
    std::fs::set_permissions(repo.path.join(hook), std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Case 14 of the design.
#[test]
fn worktree_add_is_set_up_and_nothing_else_is() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"echo ran >> log\"]\n[env]\nA = \"1\"\n");
    app.apply(&["hook", "install"]).succeeds();
    let add = app.run("git", &["worktree", "add", "-q", "../wt"]).exit(0);
    assert_eq!(add.stderr.lines().filter(|l| !l.contains("[1/1]")).count(), 0, "{}", add.stderr);
    let wt = w.at(app.path.parent().unwrap().join("wt"));
    assert_eq!((wt.read("log"), wt.read(".sweatshop-env")), ("ran\n".into(), "A=1\n".into()));

    // Nothing happens on any checkout in an existing worktree or in the main checkout.
    wt.sh("rm log .sweatshop-env").exit(0);
    wt.commit("f", "f");
    wt.git(&["checkout", "-q", "-b", "b2"]);
    wt.git(&["checkout", "HEAD", "--", "f"]);
    wt.git(&["switch", "-q", "--orphan", "o"]);
    wt.git(&["switch", "-q", "b2"]);
    app.git(&["checkout", "-q", "-b", "m2"]);
    app.git(&["switch", "-q", "--orphan", "o2"]);
    app.git(&["switch", "-q", "main"]);
    for repo in [&wt, &app] {
        assert!(!repo.has("log") && !repo.has(".sweatshop-env"));
    }
    // A clone gets the hook from a template.
    app.sh("mkdir -p ~/template/hooks && cp .git/hooks/post-checkout ~/template/hooks").exit(0);
    app.git(&["clone", "-q", "--template", w.home("template").to_str().unwrap(), ".", "../clone"]);
    assert!(!w.home("eng/repos/clone/log").exists());
}

#[test]
fn an_unapproved_repository_is_one_notice_and_exit_0() {
    let w = World::new();
    let app = w.app();
    app.write("sweatfile", "setup = [\"touch evil\"]\n");
    app.apply(&["hook", "install"]).succeeds();
    let out = app.run("git", &["worktree", "add", "-q", "../wt"]).exit(0);
    assert_eq!(out.stderr.matches("sweatfile-apply: ").count(), 1, "{}", out.stderr);
    out.err_has("is not approved");
    assert!(!w.home("eng/repos/wt/evil").exists());
}

#[test]
fn problems_are_notices_and_the_worktree_is_created() {
    let w = World::new();
    let app = w.app();
    app.apply(&["hook", "install"]).succeeds();
    w.area("setup = [\"false\"]\n");
    app.run("git", &["worktree", "add", "-q", "../a"]).exit(0).err_has("notice: setup command 1 of 1 failed");
    w.area("setup = [\n");
    app.run("git", &["worktree", "add", "-q", "../b"]).exit(0).err_has("eng/sweatfile:1:10");
    assert!(w.home("eng/repos/b/.git").exists());
}

#[test]
fn a_foreign_hook_still_runs_keeps_its_status_and_comes_back() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n");
    executable(&app, ".git/hooks/post-checkout", "echo \"$@\" >> \"$HOME/foreign\"; exit 3");
    let before = app.read(".git/hooks/post-checkout");
    app.apply(&["hook", "install"]).succeeds().err_has("still runs first");
    app.apply(&["-v", "hook", "install"]).exit(0).err_has("is installed already");
    app.apply(&["hook", "status"]).succeeds();
    app.run("git", &["worktree", "add", "-q", "../wt"]).exit(3);
    let foreign = || std::fs::read_to_string(w.home("foreign")).unwrap();
    assert!(foreign().starts_with("0000000"));
    assert!(w.home("eng/repos/wt/.sweatshop-env").exists());
    app.run("git", &["checkout", "-q", "-b", "x"]).exit(1);
    assert_eq!(foreign().lines().count(), 2);
    app.apply(&["hook", "uninstall"]).succeeds();
    assert_eq!(app.read(".git/hooks/post-checkout"), before);
    assert!(!app.has(".git/hooks/post-checkout.before-shopfloor"));
    app.apply(&["hook", "status"]).exit(1).any_out();
    app.apply(&["hook", "uninstall"]).exit(0);
    assert_eq!(app.read(".git/hooks/post-checkout"), before);
    // git runs no hook that is not executable, and neither does ours.
    app.sh("chmod -x .git/hooks/post-checkout").exit(0);
    app.apply(&["hook", "install"]).exit(0).any_out().err_has("is not executable, so it does not run: ");
}

#[test]
fn install_and_uninstall_leave_no_trace() {
    let w = World::new();
    let app = w.app();
    app.sh("rm -r .git/hooks").exit(0);
    app.apply(&["hook", "install"]).succeeds();
    let stub = app.read(".git/hooks/post-checkout");
    assert!(stub.contains("# shopfloor hook v1: sweatfile-apply\n"), "{stub}");
    app.apply(&["hook", "uninstall"]).succeeds();
    assert!(!app.has(".git/hooks/post-checkout"));
    app.write(".git/hooks/post-checkout", "#!/bin/sh\n# shopfloor hook v9: sweatfile-apply\n");
    app.apply(&["hook", "install"]).exit(2).err_has("newer shopfloor");
}

#[test]
fn a_missing_binary_and_shopfloor_0_do_nothing_with_exit_0() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n");
    app.apply(&["hook", "install"]).succeeds();
    app.run_with("git", &["worktree", "add", "-q", "../off"], &[("SHOPFLOOR", "0")]).exit(0);
    assert!(!w.home("eng/repos/off/.sweatshop-env").exists());
    std::fs::remove_file(w.path("bin/sweatfile-apply")).unwrap();
    let out = app.run("git", &["worktree", "add", "-q", "../wt"]).exit(0);
    assert_eq!(out.stderr.lines().count(), 1, "{}", out.stderr);
    out.err_has("sweatfile-apply: not on the PATH");
}

#[test]
fn the_stub_starts_no_process_on_an_ordinary_checkout() {
    let w = World::new();
    let app = w.app();
    app.apply(&["hook", "install"]).succeeds();
    w.program("sweatfile-apply", "touch \"$HOME/called\"");
    app.git(&["checkout", "-q", "-b", "x"]);
    assert!(!w.home("called").exists());
    app.git(&["worktree", "add", "-q", "../wt"]);
    assert!(w.home("called").exists());
}

#[test]
fn links_are_not_written_through() {
    let w = World::new();
    let app = w.app();
    write(&w.home("shared-hook"), "#!/bin/sh\n");
    std::os::unix::fs::symlink(w.home("shared-hook"), app.path.join(".git/hooks/post-checkout")).unwrap();
    app.apply(&["hook", "install"])
        .exit(4)
        .err_has("is a symbolic link")
        .err_has("sweatfile-apply hook run post-checkout \"$@\"");
    assert_eq!(std::fs::read_to_string(w.home("shared-hook")).unwrap(), "#!/bin/sh\n");
}

#[test]
fn other_hook_managers_get_a_line_to_add() {
    let w = World::new();
    let app = w.app();
    app.git(&["config", "core.hooksPath", ".husky/_"]);
    let out = app.apply(&["hook", "install"]).exit(0);
    let guarded = "! command -v sweatfile-apply >/dev/null || sweatfile-apply hook run post-checkout";
    assert_eq!(out.stdout, format!("{guarded} \"$@\"\n"));
    out.err_has("husky owns the hooks").err_has(".husky/post-checkout");
    assert!(!app.has(".husky"));
    app.git(&["config", "--unset", "core.hooksPath"]);

    executable(&app, ".git/hooks/pre-commit", "call_lefthook run pre-commit");
    let out = app.apply(&["hook", "install"]).exit(0);
    assert_eq!(out.stdout, format!("- {{name: sweatfile-apply, run: \"{guarded} {{0}}\"}}\n"));
    out.err_has("lefthook.yml, below `post-checkout: jobs:`");
    executable(&app, ".git/hooks/pre-commit", "# File generated by pre-commit: https://pre-commit.com");
    app.apply(&["hook", "install"]).succeeds().out_has("stages: [post-checkout]");
    assert!(!app.has(".git/hooks/post-checkout"));

    // A directory that no manager owns is used, as git uses it.
    let shared = w.home("hooks");
    app.git(&["config", "core.hooksPath", shared.to_str().unwrap()]);
    app.apply(&["hook", "install"]).succeeds().err_has("every repository that uses");
    assert!(shared.join("post-checkout").exists());
}

#[test]
fn a_worktree_added_from_inside_another_hook_is_set_up() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"git rev-parse --show-toplevel > top\"]\n");
    app.apply(&["hook", "install"]).succeeds();
    executable(&app, ".git/hooks/pre-commit", "env -u GIT_INDEX_FILE git worktree add -q ../nested");
    app.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    let nested = w.at(w.home("eng/repos/nested"));
    assert_eq!(nested.read("top").trim_end(), nested.path.to_str().unwrap());
}

#[test]
fn unknown_hooks_and_strange_arguments_are_harmless() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n");
    let wt = app.worktree("wt");
    let null = "0".repeat(40);
    app.apply(&["hook", "run", "pre-push"]).exit(2).any_err();
    for args in [vec![], vec![null.as_str()], vec!["x", "y", "1"], vec![&null, "y", "0"], vec!["000", "y", "1"]] {
        wt.apply(&[&["hook", "run", "post-checkout"], args.as_slice()].concat()).exit(0);
        assert!(!wt.has(".sweatshop-env"), "{args:?}");
    }
    // Outside any repository the hook prints a notice and does not fail.
    w.at(w.path("tmp")).apply(&["hook", "run", "post-checkout", &null, "y", "1"]).exit(0).err_has("notice: ");
    let null = "0".repeat(64);
    wt.apply(&["hook", "run", "post-checkout", &null, "y", "1"]).exit(0);
    assert!(wt.has(".sweatshop-env"));
}

#[test]
fn an_edited_stub_is_neither_replaced_nor_removed() {
    let w = World::new();
    let app = w.app();
    app.apply(&["hook", "install"]).succeeds();
    app.sh("echo 'echo mine' >> .git/hooks/post-checkout").exit(0);
    let edited = app.read(".git/hooks/post-checkout");
    app.apply(&["hook", "install"]).exit(1).err_has("was edited since it was installed");
    app.apply(&["hook", "uninstall"]).exit(1).any_err();
    assert_eq!(app.read(".git/hooks/post-checkout"), edited);
}

/// The hook of ledger-synth as it was written before stubs were listed.
const EARLIER_PRE_PUSH: &str = r#"#!/bin/sh
# shopfloor hook v1: ledger-synth
# Written by `hook install`; `hook uninstall` takes it away and puts back what was here before.
status=0
refs=$(cat)
if [ -x "$0.before-shopfloor" ]; then
    printf '%s' "$refs${refs:+
}" | "$0.before-shopfloor" "$@" || exit $?
fi
if [ "$SHOPFLOOR" = 0 ]; then exit 0; fi
for tool in ledger-synth; do
    if command -v "$tool" >/dev/null 2>&1; then
        printf '%s' "$refs${refs:+
}" | "$tool" hook run pre-push "$@" || status=$?
    else
        echo "$tool: not on the PATH, so nothing was checked; run 'cargo xtask install' in shopfloor's checkout" >&2
    fi
done
exit "$status"
"#;

#[test]
fn a_stub_of_another_version_is_renewed_and_taken_out() {
    let w = World::new();
    let app = w.app();
    let hooks = ["post-checkout", "post-merge", "post-rewrite", "pre-push"].map(|hook| format!(".git/hooks/{hook}"));
    let both = |verb: &str| {
        for tool in ["sweatfile-apply", "ledger-synth"] {
            app.run(tool, &["hook", verb]).succeeds();
        }
    };
    both("install");
    let now = hooks.each_ref().map(|hook| app.read(hook));
    let put_earlier = || {
        for (hook, text) in hooks.iter().zip(&now) {
            let words = ["install shopfloor again", "run 'cargo xtask install' in shopfloor's checkout"];
            app.write(hook, &text.replace(words[0], words[1]));
        }
        app.write(&hooks[3], EARLIER_PRE_PUSH);
    };
    put_earlier();
    both("install");
    assert_eq!(hooks.each_ref().map(|hook| app.read(hook)), now);
    put_earlier();
    both("uninstall");
    assert!(hooks.iter().all(|hook| !app.has(hook)));

    // Any other is known by the list.
    app.apply(&["hook", "install"]).succeeds();
    let other = format!("{}# of another version\n", now[0]);
    app.write(&hooks[0], &other);
    app.apply(&["hook", "install"]).exit(1).err_has("was edited since it was installed");
    let list = w.home(".local/state/shopfloor/own-files");
    let line = |text: &str| format!("{} {}\n", Digest::of(text.as_bytes()), app.path.join(&hooks[0]).display());
    let listed = std::fs::read_to_string(&list).unwrap();
    assert!(listed.contains(&line(&now[0])), "{listed}");
    std::fs::write(&list, listed + &line(&other)).unwrap();
    app.apply(&["hook", "install"]).succeeds();
    assert_eq!(app.read(&hooks[0]), now[0]);
}

#[test]
fn unusual_hook_directories_are_reported() {
    let w = World::new();
    let app = w.app();
    // A compiled hook belongs to somebody else and is left alone.
    std::fs::write(app.path.join(".git/hooks/pre-commit"), vec![7; 3 << 20]).unwrap();
    app.apply(&["hook", "install"]).succeeds();
    app.apply(&["hook", "uninstall"]).succeeds();
    app.git(&["config", "core.hooksPath", "/dev/null"]);
    let told = app.apply(&["hook", "install"]).exit(2);
    told.err_has("core.hooksPath is /dev/null").err_has("unset it: `git config --local --unset core.hooksPath`");
    app.git(&["config", "--local", "--unset", "core.hooksPath"]);
    w.at(w.home("")).write("gitconfig", "[core]\n\thooksPath = /dev/null\n");
    let file = w.home("gitconfig");
    let global = [("GIT_CONFIG_GLOBAL", file.to_str().unwrap())];
    let told = app.run_with("sweatfile-apply", &["hook", "install"], &global).exit(2);
    told.err_has("unset it: `git config --global --unset core.hooksPath`");
    app.sh("mv .git/hooks ../kept && : >.git/hooks").exit(0);
    let told = app.apply(&["hook", "install"]).exit(2);
    told.err_has(".git/hooks is not a directory for hooks").err_has("move it away: `mv /");
    app.sh("rm .git/hooks && mv ../kept .git/hooks").exit(0);
    app.sh("mv .git/hooks ../hooks && ln -s ../../hooks .git/hooks").exit(0);
    app.apply(&["hook", "install"]).exit(4).err_has("is a symbolic link");
    assert!(!w.home("eng/repos/hooks/post-checkout").exists());
}

#[test]
fn what_is_in_the_place_of_a_hook_is_refused_before_anything_is_changed() {
    let w = World::new();
    let app = w.app();
    let names = [".git/hooks/post-checkout", ".git/hooks/post-checkout.before-shopfloor"];
    for name in names {
        app.sh(&format!("mkfifo {name}")).exit(0);
        for words in [&["hook", "install", "-n"][..], &["hook", "install"]] {
            app.apply(words).exit(2).err_has(&format!("{name} is not a regular file"));
        }
        std::fs::remove_file(app.path.join(name)).unwrap();
        assert!(names.iter().all(|name| !app.has(name)));
    }
    app.sh("mkfifo .git/hooks/post-merge").exit(0);
    app.ledger(&["hook", "install"]).exit(2).err_has("post-merge is not a regular file");
    assert!(!app.has(".git/hooks/pre-push"));
    app.sh("rm .git/hooks/post-merge").exit(0);
    for name in ["post-merge", "post-merge.before-shopfloor"] {
        executable(&app, &format!(".git/hooks/{name}"), "true");
    }
    for words in [&["hook", "install", "-n"][..], &["hook", "install"]] {
        app.ledger(words).exit(1).any_out().err_has("post-merge.before-shopfloor exists from an earlier installation");
    }
    assert!(!app.has(".git/hooks/pre-push"));
}

#[test]
fn quiet_and_json_hold_in_the_hook_too() {
    let w = World::new();
    let app = w.app();
    app.write("sweatfile", "[env]\nA = \"1\"\n");
    let wt = app.worktree("wt");
    let null = "0".repeat(40);
    let out = wt.apply(&["-q", "hook", "run", "post-checkout", &null, "x", "1"]).exit(0);
    assert_eq!((out.stdout.as_str(), out.stderr.as_str()), ("", ""));
    let out = wt.apply(&["--json", "hook", "run", "nope"]).exit(2).json();
    assert_eq!(crate::support::world::text(&out, "/error/kind"), "usage");
}

#[test]
fn a_hook_that_another_manager_runs_counts_as_installed() {
    let w = World::new();
    let app = w.app();
    let status = |code: i32| app.apply(&["hook", "status"]).exit(code).any_out();
    status(1);
    let call = "sweatfile-apply hook run post-checkout \"$@\"";
    // In a handwritten hook, a commented-out line does not count, and neither does a file that is not executable.
    executable(&app, ".git/hooks/post-checkout", &format!("# {call}"));
    status(1);
    executable(&app, ".git/hooks/post-checkout", call);
    status(0).out_has("by the hook itself");
    app.sh("chmod -x .git/hooks/post-checkout").exit(0);
    status(1);
    for (manager, stub, file) in [
        ("lefthook", "call_lefthook run post-checkout", "lefthook.yml"),
        ("pre-commit", "# File generated by pre-commit: https://pre-commit.com", ".pre-commit-config.yaml"),
    ] {
        executable(&app, ".git/hooks/post-checkout", stub);
        status(1);
        let entry = app.apply(&["hook", "install"]).succeeds().stdout;
        // At the top level it belongs to no entry.
        app.write(file, &entry);
        status(1);
        let top = if manager == "lefthook" { "post-checkout:\n  jobs:\n    " } else { "repos:\n" };
        app.write(file, &format!("{top}{entry}"));
        // git does not run it before the manager has told git.
        executable(&app, ".git/hooks/pre-push", stub);
        app.sh("rm .git/hooks/post-checkout").exit(0);
        let unwired = app.apply(&["hook", "install"]).exit(0);
        unwired.err_has("git does not run its post-checkout yet; run `").err_has(" install");
        assert_eq!(unwired.stdout, "");
        app.sh("rm .git/hooks/pre-push").exit(0);
        executable(&app, ".git/hooks/post-checkout", stub);
        let json = app.apply(&["hook", "status", "--json"]).exit(0).json();
        assert_eq!((json["manager"].as_str().unwrap_or_default(), json["installed"].as_bool()), (manager, Some(true)));
        // There is nothing left to add.
        let again = app.apply(&["hook", "install", "-v"]).exit(0);
        again.err_has("post-checkout is installed already").err_has(file);
        assert_eq!(again.stdout, "");
        let json = app.apply(&["hook", "install", "--json"]).exit(0).json();
        assert_eq!((json["manager"].as_str().unwrap_or_default(), json["installed"].as_bool()), (manager, Some(true)));
    }
    app.git(&["config", "core.hooksPath", ".husky/_"]);
    executable(&app, ".husky/_/post-checkout", ". h");
    status(1);
    app.write(".husky/post-checkout", &format!("{call}\n"));
    status(0).out_has(".husky/post-checkout (by husky)");
    // `git clean -fdX` takes husky's own scripts away.
    let unwired = |command: &str| {
        let out = app.apply(&["hook", "install"]).exit(0);
        out.err_has(&format!("husky has the call, but git does not run its post-checkout yet; run `{command}`"));
        assert_eq!(out.stdout, "");
        app.apply(&["doctor"]).exit(1).out_has(&format!("hooks      not installed; run `{command}`"));
        app.shopfloor(&["doctor"]).exit(1).out_has(&format!("hooks: not installed; run `{command}`"));
    };
    app.sh("rm -r .husky/_").exit(0);
    unwired("npx husky .husky");
    // husky 8 has none.
    app.git(&["config", "core.hooksPath", ".husky"]);
    unwired("chmod +x .husky/post-checkout");
}

/// The scripts that npm puts on the PATH start node before the tool.
#[test]
fn the_hook_of_a_copy_from_npm_starts_the_program_itself() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n");
    let own = "mkdir -p ~/npm/bin ~/npm/share/shopfloor && cp $(command -v sweatfile-apply) ~/npm/bin
        echo npm > ~/npm/share/shopfloor/origin; mkdir ~/scripts
        printf '#!/bin/sh\\nexit 9\\n' > ~/scripts/sweatfile-apply; chmod +x ~/scripts/sweatfile-apply";
    app.sh(own).exit(0);
    let install = "~/npm/bin/sweatfile-apply hook install";
    app.sh(install).exit(0).any_out().any_err();
    assert!(app.read(".git/hooks/post-checkout").contains("npm/bin:$PATH\n"));
    app.sh("PATH=~/scripts:$PATH git worktree add -q ../a").exit(0).any_err();
    assert!(w.home("eng/repos/a/.sweatshop-env").exists());
    app.sh(&format!("{install} -v")).exit(0).any_out().err_has("is installed already");
    // Where an agent could have written: a directory that no copy of ours has listed.
    let stub = app.read(".git/hooks/post-checkout");
    app.sh("sed -i \"s,^PATH=.*npm/bin,PATH=$HOME/evil,\" .git/hooks/post-checkout").exit(0);
    app.apply(&["hook", "install"]).exit(1).err_has("was edited since it was installed");
    app.write(".git/hooks/post-checkout", &stub);
    // When the copy is gone, the PATH has another one, which takes its own place in the hook.
    app.sh("rm -r ~/npm && git worktree add -q ../b").exit(0).any_err();
    assert!(w.home("eng/repos/b/.sweatshop-env").exists());
    app.apply(&["hook", "install"]).succeeds();
    assert!(!app.read(".git/hooks/post-checkout").contains("PATH="));
}
