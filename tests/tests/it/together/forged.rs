//! State below `.git` that all tools share, written by somebody else.

use crate::support::world::{World, write};

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

/// Whether a checkout is sparse, only its person says, and what a sparse one leaves out is what was committed.
#[test]
fn a_list_of_files_that_only_the_index_has_lends_nothing() {
    let w = World::new();
    let app = w.app();
    app.commit(".gitignore", "secret/\n");
    app.write("secret/key", "mine\n");
    app.sh("mkdir -p .git/info && echo '/*' > .git/info/sparse-checkout").exit(0);
    app.sh("id=$(printf '*\\n' | git hash-object -w --stdin) && git update-index --add --cacheinfo 100644,$id,.worktreeinclude && git update-index --skip-worktree .worktreeinclude").exit(0);
    let new = app.worktree("new");
    new.apply(&[]).succeeds().any_err();
    assert!(!new.has("secret"));
    app.git(&["config", "core.sparseCheckout", "true"]);
    new.apply(&[]).any_status().any_out().any_err();
    assert!(!new.has("secret"));
}

/// A worktree that leads to the git directory of the main checkout counts as no main checkout.
#[test]
fn a_worktree_that_leads_to_the_main_git_directory_is_refused() {
    let w = World::new();
    let app = w.app();
    app.commit("setup.sh", "echo good\n");
    app.approved("setup = [\"sh ./setup.sh\"]\n");
    app.apply(&[]).succeeds();
    let agent = app.worktree("agent");
    agent.write("setup.sh", "touch ran\n");
    agent.write(".git", &format!("gitdir: {}\n", app.path.join(".git").display()));
    std::fs::remove_file(app.path.join(".git/shopfloor/sweatfile-apply/record.json")).unwrap();
    agent.apply(&[]).exit(4).err_has("leads to the git directory of");
    assert!(!agent.has("ran"));
    // So is a directory with a link to it, whatever is run there.
    let inner = w.at(agent.path.join("inner"));
    inner.write("setup.sh", "touch ran\n");
    std::os::unix::fs::symlink(app.path.join(".git"), inner.path.join(".git")).unwrap();
    for line in [
        "sweatfile-apply",
        "overlay-sync add .env",
        "echo x | ledger-synth add --title x",
        "worktree-spawn subtree x",
        "shopfloor new x",
    ] {
        inner.sh(line).exit(4).err_has("leads to the git directory of");
    }
    assert!(!inner.has("ran") && !app.has(".git/shopfloor/main-checkout"));
    app.spawn(&["list"]).exit(0).out_has("main");
}

/// Only the user's list of roots makes a repository the clone of another one.
#[test]
fn a_repository_that_says_it_is_a_clone_gets_no_files_of_its_source() {
    let w = World::new();
    let (app, other) = (w.app(), w.repo("other"));
    other.commit(".gitignore", ".env\n");
    other.commit(".worktreeinclude", ".env\n");
    other.write(".env", "SECRET=1\n");
    let agent = app.worktree("agent");
    agent.sh("rm .git && git init -q .").exit(0);
    agent.git(&["config", "shopfloor.source", other.path.to_str().unwrap()]);
    agent.apply(&[]).any_status().any_out().any_err();
    assert!(!agent.has(".env"));
}

/// git fetches an object that is missing, from where and with which program the repository says.
#[test]
fn a_missing_object_is_fetched_by_no_command_that_asks() {
    let w = World::new();
    let app = w.app();
    app.sh("mkdir d e && echo 1 > d/f && echo 2 > e/f && git add -A && git commit -qm two").exit(0);
    let path = app.spawn(&["subtree", "a"]).exit(0).stdout.trim_end().to_owned();
    let (agent, mark) = (w.at(path), w.path("mark"));
    let evil = format!(
        "git init -q .r && cd .r && mkdir d e && echo 1 > d/f && echo 2 > e/f && git add -A && git commit -q -m x \
         && git sparse-checkout set --cone --sparse-index e && t=$(git rev-parse HEAD:d) \
         && rm -f .git/objects/${{t%${{t#??}}}}/${{t#??}} && git config core.repositoryformatversion 1 \
         && git config extensions.partialClone o && git config remote.o.promisor true && git config remote.o.url \"$PWD\" \
         && git config remote.o.uploadpack \"sh -c 'touch {}; false'\"",
        mark.display()
    );
    agent.sh(&evil).exit(0);
    let record = app.path.join(".git/worktrees/a");
    agent.sh(&format!("cp .r/.git/index '{0}/index' && echo \"$PWD/.r/.git\" > '{0}/commondir' && cp '{1}/refs/heads/main.a' .r/.git/refs/heads/", record.display(), app.path.join(".git").display())).exit(0);
    agent.sh("git status").any_status().any_out().any_err();
    assert!(mark.exists(), "git itself fetches, so the set-up is right");
    std::fs::remove_file(&mark).unwrap();
    for (tool, args) in
        [("shopfloor", &["status"][..]), ("sweatfile-apply", &["check", "--all"]), ("overlay-sync", &["status"])]
    {
        app.run(tool, args).any_status().any_out().any_err();
        assert!(!mark.exists(), "{tool}");
    }
}

/// git-lfs deletes old files in the `tmp` of its directory, and takes an object's text from wherever a link leads.
#[test]
fn links_among_what_git_lfs_keeps_are_refused() {
    let w = World::new();
    let app = w.app();
    std::fs::create_dir_all(w.home("mine/tmp")).unwrap();
    for (link, to) in [(".git/lfs", "~/mine"), (".git/lfs/tmp", "~/mine"), (".git/lfs/objects/00/00/0000", "~/secret")]
    {
        app.sh(&format!("rm -rf .git/lfs && mkdir -p $(dirname {link}) && ln -s {to} {link}")).exit(0);
        app.spawn(&["subtree", "a"]).exit(4).err_has(&format!("{link} is not a file"));
    }
    app.sh("rm -rf .git/lfs && ln -s ~/mine .git/lfs").exit(0);
    app.spawn(&["subtree", "b"]).exit(4).err_has("git config lfs.storage DIR");
    app.sh("rm -rf .git/lfs").exit(0);
    app.spawn(&["subtree", "a"]).exit(0).any_out().any_err();
}

/// git waits at each of these until its deadline, and so would whoever asks it.
#[test]
fn a_pipe_where_git_reads_a_file_of_the_repository_is_named() {
    let w = World::new();
    let app = w.app();
    for file in [
        "info/exclude",
        "info/attributes",
        "info/sparse-checkout",
        "objects/info/alternates",
        "objects/info/commit-graph",
    ] {
        app.sh(&format!("mkdir -p .git/objects/info && rm -f .git/{file} && mkfifo .git/{file}")).exit(0);
        app.spawn(&["subtree", "a"]).exit(4).err_has(&format!(".git/{file} is not a file"));
        app.run("shopfloor", &["status"]).exit(4).err_has(&format!(".git/{file} is not a file"));
        app.sh(&format!("rm .git/{file}")).exit(0);
    }
}

/// The main checkout's own `config.worktree` is a file below `.git`. What it names runs in no command that a person
/// gives there, with a commit or without.
#[test]
fn a_configuration_of_the_main_checkout_that_an_agent_wrote_runs_nothing() {
    let w = World::new();
    let app = w.app();
    app.shopfloor(&["setup", "--yes"]).any_status().any_out().any_err();
    app.sh("git add -A && git commit -qm setup && git config extensions.worktreeConfig true").exit(0);
    let (mark, hooks) = (w.path("mark"), w.path("hooks"));
    let evil = format!("#!/bin/sh\ntouch {}\ncat\n", mark.display());
    for hook in ["pre-commit", "commit-msg", "post-index-change", "reference-transaction"] {
        write(&hooks.join(hook), &evil);
    }
    write(&w.path("evil"), &evil);
    app.sh(&format!("chmod +x {}/* {}", hooks.display(), w.path("evil").display())).exit(0);
    let config = format!(
        "[core]\n\thooksPath = {}\n[filter \"e\"]\n\tclean = {evil}\n[gpg]\n\tprogram = {evil}\n[commit]\n\tgpgSign = true\n",
        hooks.display(),
        evil = w.path("evil").display()
    );
    app.write(".git/config.worktree", &config);
    app.write(".git/info/attributes", "* filter=e\n");
    app.sh("echo more >> README.md; git hash-object --path README.md README.md").any_status().any_out().any_err();
    assert!(mark.exists(), "git itself runs it, so the set-up is right");
    std::fs::remove_file(&mark).unwrap();
    app.ledger(&["add", "--agent", "me", "--now", "x", "--synth", "--commit"]).exit(0).any_out().any_err();
    assert!(!mark.exists(), "ledger-synth");
    assert!(
        app.git(&["-c", "core.hooksPath=/dev/null", "-c", "filter.e.clean=cat", "log", "-1", "--format=%s"])
            .starts_with("ledger: ")
    );
    app.sh("touch sweatfile README.md").exit(0);
    app.shopfloor(&["teardown"]).any_status().any_out().any_err();
    assert!(!mark.exists(), "shopfloor");
}

/// Through a link in its log, a commit writes a line into any file.
#[test]
fn a_commit_of_the_ledger_writes_no_log_through_a_link() {
    let w = World::new();
    let app = w.app();
    write(&w.home("mine"), "mine\n");
    app.git(&["switch", "-qc", "topic"]);
    for log in ["logs/HEAD", "logs/refs/heads/topic", "logs/refs"] {
        app.sh(&format!("cp -r .git/logs .kept && rm -rf .git/{log} && ln -s ~/mine .git/{log}")).exit(0);
        let out = app.ledger(&["add", "--agent", "me", "--now", "x", "--synth", "--commit"]).exit(4).any_out();
        out.err_has("is not a file");
        assert_eq!(std::fs::read_to_string(w.home("mine")).unwrap(), "mine\n");
        app.sh("rm -rf .git/logs && mv .kept .git/logs").exit(0);
    }
}
