//! worker-ctl: `init` creates a root and only reads the source.

use crate::support::worker::{by_hand, staff};
use crate::support::world::{Repo, World, needs_ordinary_user};

#[test]
fn init_only_reads_the_source() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    app.git(&["switch", "-q", "-c", "feature"]);
    app.write("README.md", "changed\n");
    let image = |app: &Repo<'_>| {
        (
            app.git(&["rev-parse", "HEAD"]),
            app.git(&["status", "--porcelain"]),
            std::fs::read(app.path.join(".git/index")).unwrap(),
        )
    };
    let before = image(&app);
    let root = w.home("workers");
    app.run("worker-ctl", &["init"]).succeeds();
    assert_eq!(image(&app), before);
    let config = std::fs::read_to_string(root.join("config.toml")).unwrap();
    assert!(config.contains("branch = \"main\""), "{config}");
    app.run("worker-ctl", &["init"]).exit(1).err_has("is a root already");
    assert_eq!(std::fs::read_to_string(root.join("config.toml")).unwrap(), config);
    app.git(&["branch", "-q", "-m", "main", "trunk"]);
    let other = w.home("other");
    app.run("worker-ctl", &["init", "--target", other.to_str().unwrap()]).exit(2).err_has("--branch");
    assert!(!other.exists());
    app.run("worker-ctl", &["init", "--target", other.to_str().unwrap(), "--branch", "trunk"]).succeeds();
    // An agent cannot push from the clone.
    assert!(
        !w.at(&other).run("git", &["push", "-q", "origin", "refs/remotes/origin/trunk:refs/heads/x"]).exits_with(0)
    );
    assert_eq!(app.git(&["branch", "--list", "x"]), "");
}

/// As after a rename.
#[test]
fn work_lands_on_no_other_name_of_a_branch() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let app = &floor.app;
    by_hand(&floor, "adam", &[("a", "1\n")]);
    app.sh("git branch -q -m master && git symbolic-ref refs/heads/main refs/heads/master").exit(0);
    floor.ctl(&["review", "adam"]).exit(0).any_out().any_err();
    let refused = floor.ctl(&["accept", "adam"]).exit(4).any_out();
    refused.err_has("main names another ref").err_has("set `branch` in `[repo]` of config.toml");
    app.git(&["worktree", "add", "-q", "-b", "feat", "../feat"]);
    app.run("worker-ctl", &["add", "--worktree", "../feat", "--target", "main"]).exit(2).err_has("`--target master`");
    let other = w.home("other").display().to_string();
    app.run("worker-ctl", &["init", "--target", &other, "--branch", "main"]).exit(2).err_has("`--branch master`");
    // The branch itself is found without its name.
    app.run("worker-ctl", &["init", "--target", &other]).succeeds();
    assert!(w.at(&other).read("config.toml").contains("branch = \"master\""));
}

/// The branch is then chosen as `init` does it.
#[test]
fn a_root_whose_configuration_names_no_branch_works_on_the_sources_own() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    app.git(&["switch", "-q", "-c", "feature"]);
    app.commit("other.md", "other\n");
    app.run("worker-ctl", &["init"]).succeeds();
    let root = w.at(w.home("workers"));
    let config = root.read("config.toml");
    for (name, line) in [("adam", ""), ("eve", "branch = \"\"")] {
        root.write("config.toml", &config.replace("branch = \"main\"", line));
        root.run("worker-ctl", &["add", name]).exit(0).any_out();
        assert!(!w.at(w.home(&format!("workers/.worktrees/{name}"))).has("other.md"), "{line}");
    }
    app.git(&["branch", "master"]);
    root.run("worker-ctl", &["status"]).exit(2).err_has("`branch` in `[repo]` of config.toml");
    root.write("config.toml", &config.replace("\"main\"", "\"nosuch\""));
    root.run("worker-ctl", &["doctor"]).exit(1).any_err().out_has("the source has no branch nosuch");
}

#[test]
fn init_reads_variables_and_flags_win() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    app.git(&["branch", "trunk"]);
    let [root, other] = ["root", "other"].map(|name| w.home(name).to_str().unwrap().to_owned());
    let source = app.path.to_str().unwrap();
    let vars = [("WORKER_CTL_ROOT", root.as_str()), ("WORKER_CTL_SOURCE", source), ("WORKER_CTL_BRANCH", "trunk")];
    let config = |root: &str| w.at(root).read("config.toml");
    let home = w.at(w.home(""));
    home.run_with("worker-ctl", &["init"], &vars).succeeds();
    assert!(config(&root).contains("branch = \"trunk\"") && config(&root).contains(source), "{}", config(&root));
    home.run_with("worker-ctl", &["init", "--target", &other, "--branch", "main"], &vars).succeeds();
    assert!(config(&other).contains("branch = \"main\""), "{}", config(&other));
}

/// What manages the hooks of the source does not manage those of its clone.
#[test]
fn the_hooks_that_a_manager_runs_are_installed_in_the_clone() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    app.write("sweatfile", "[env]\nWHO = \"agent\"\n");
    app.apply(&["approve", "--yes"]).succeeds().any_err();
    app.write("lefthook.yml", "post-checkout:\n  jobs:\n    - run: sweatfile-apply hook run post-checkout {0}\n");
    app.write(".git/hooks/post-checkout", "#!/bin/sh\ncall_lefthook run post-checkout\n");
    app.sh("chmod +x .git/hooks/post-checkout").exit(0);
    app.run("worker-ctl", &["init"]).succeeds();
    app.run("worker-ctl", &["add", "adam"]).exit(0).any_out();
    assert_eq!(w.at(w.home("workers/.worktrees/adam")).read(".sweatshop-env"), "WHO=agent\n");
}

#[test]
fn init_copies_hooks_and_merge_drivers_and_refuses_a_directory_in_use() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    app.run("sweatfile-apply", &["hook", "install"]).succeeds();
    app.run("ledger-synth", &["install"]).succeeds();
    app.write("sweatfile", "[env]\nWHO = \"agent\"\n");
    app.git(&["add", "-A"]);
    app.git(&["commit", "-q", "-m", "set up"]);
    app.run("sweatfile-apply", &["approve", "--yes"]).succeeds();
    // A directory with other files is refused.
    let root = w.home("root");
    let init = || app.run("worker-ctl", &["init", "--target", root.to_str().unwrap()]);
    w.repo("root").commit("mine", "x\n");
    init().exit(1).err_has("not empty");
    w.at(&root).sh("rm mine").exit(0);
    init().exit(1).err_has("another repository");
    // The files of a killed init are adopted.
    w.at(&root).sh("rm -rf .git && git init -q --initial-branch worker-ctl-none . && mkdir locks").exit(0);
    init().succeeds();
    let root = w.at(&root);
    root.run("worker-ctl", &["add", "adam", "--agent", "aider"]).succeeds();
    root.read(".worktrees/adam/.sweatshop-env").lines().find(|line| *line == "WHO=agent").unwrap();
    assert!(root.git(&["config", "merge.ledger-synth.driver"]).starts_with("ledger-synth merge-driver"));
}

#[test]
fn no_root_is_made_where_its_source_would_change() {
    let w = World::new();
    let app = w.app();
    app.commit(".gitignore", "/ignored/\n");
    for target in ["inside", "deep/inside", ".git/inside", "ignored/../inside"] {
        app.run("worker-ctl", &["init", "--target", target]).exit(2).err_has("outside of it");
    }
    assert_eq!(app.git(&["status", "--porcelain"]), "");
    app.run("worker-ctl", &["init", "--target", "ignored"]).exit(0).out_has("ignored");
    assert_eq!(app.git(&["status", "--porcelain"]), "");
}

#[test]
fn the_usual_place_is_taken_also_where_the_home_is_a_repository() {
    for args in [&["init"][..], &["add", "--worktree", "../linked"]] {
        let w = World::new();
        let home = w.repo("");
        home.git(&["worktree", "add", "-q", "-b", "linked", "../linked"]);
        let refused = home.run("worker-ctl", &[&["--root", "inside"][..], args].concat()).exit(2);
        refused.any_out().err_has("outside of it").err_has("--root DIR");
        home.run("worker-ctl", args).exit(0).any_out().any_err();
        assert!(home.has("workers/config.toml") && !home.has("inside"), "{args:?}");
    }
}

#[test]
fn a_root_that_cannot_be_recorded_is_not_begun() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    for home in ["env -u HOME", "HOME=", "HOME=here"] {
        let refused = app.sh(&format!("{home} worker-ctl init --target ../root")).exit(2);
        refused.err_has("there is no place for the list of roots").err_has("set HOME to an absolute path");
    }
    assert!(!app.has("../root"));
    if needs_ordinary_user() {
        app.sh("mkdir -p .git/shopfloor && chmod 500 .git/shopfloor").exit(0);
        app.run("worker-ctl", &["init", "--target", "../root"]).exit(4).err_has(".git/shopfloor");
        assert!(!app.has("../root"));
    }
}

/// A program that takes such a path for text would make the root, or read the source, at another place.
#[test]
fn no_root_is_made_where_a_path_is_not_utf_8() {
    let w = World::new();
    let app = w.app();
    app.commit("README.md", "app\n");
    for line in
        ["HOME=$(printf '%s/h\\377' \"$HOME\") worker-ctl init", "worker-ctl init --target \"$(printf '../r\\377')\""]
    {
        app.sh(line).exit(2).any_out().err_has("its path is not UTF-8").err_has("--root DIR");
    }
    app.sh("git clone -q . \"$(printf '../odd\\377')\" && cp -r . \"$(printf '../odd\\357\\277\\275')\"").succeeds();
    for line in
        ["cd \"$(printf '../odd\\377')\" && worker-ctl init", "worker-ctl init --source \"$(printf '../odd\\377')\""]
    {
        app.sh(line).exit(2).any_out().err_has("its path is not UTF-8").err_has("a name in UTF-8");
    }
    assert_eq!(app.sh("ls -d ~/workers ~/h*/workers ../r* 2> /dev/null").any_status().stdout, "");
}

#[test]
fn a_partial_clone_is_refused_with_the_command_that_fills_it() {
    let w = World::new();
    let up = w.app();
    up.commit("README.md", "app\n");
    up.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", up.path.display());
    w.at(w.home("")).git(&["clone", "-q", "--no-checkout", "--filter=blob:none", &url, "partial"]);
    let partial = w.at(w.home("partial"));
    let refused = partial.run("worker-ctl", &["init", "--target", "../root"]).exit(2);
    refused.err_has("is a partial clone");
    let fill = "git config --unset-all remote.origin.partialCloneFilter && git fetch --refetch origin";
    refused.err_has(fill);
    assert!(!w.home("root").exists());
    partial.sh(fill).exit(0).any_out().any_err();
    partial.run("worker-ctl", &["init", "--target", "../root"]).exit(0).any_out();
}
