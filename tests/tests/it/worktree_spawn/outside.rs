//! What an agent writes before a command or while it runs makes the command change nothing outside of the agent's
//! worktree, and run nothing.

use std::path::{Path, PathBuf};

use serde_json::json;
use shopfloor_core::fs::dir_id;

use crate::support::spawn::{app, subtree};
use crate::support::world::{Repo, World, mode, which, write};

const UID: &str = "00000000000000000000000000000abc";

/// A file of a person's.
fn diary(w: &World) -> PathBuf {
    let file = w.home("you/diary");
    write(&file, "my diary\n");
    file
}

fn state(app: &Repo<'_>, record: &str) -> PathBuf {
    app.path.join(format!(".git/worktrees/{record}/shopfloor/worktree-spawn"))
}

fn link(target: &Path, link: &Path) {
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(target, link).unwrap();
}

/// Makes the record of the worktree `record` one of an agent `id`.
fn claim(app: &Repo<'_>, record: &str, id: &str) {
    let file = state(app, "a").join("identity.json");
    let text =
        std::fs::read_to_string(file).unwrap().replace("main.a", id).replace("\"slug\":\"a\"", "\"slug\":\"zz\"");
    write(&state(app, record).join("identity.json"), &text);
}

/// Lists the claim of `below`, a worktree in that of `a`, as if a spawn of ours had made it.
fn list(app: &Repo<'_>, a: &Path, below: &str) {
    let record = state(app, "precious").join("identity.json");
    let its = |dir: &Path| format!("\"directory\":\"{}\"", dir_id(dir).unwrap());
    let text = std::fs::read_to_string(&record).unwrap();
    write(&record, &text.replace(&its(a), &its(&a.join(below))));
    let line = "echo \"$(sha256sum < {0} | cut -c1-64) {0}\" >> ~/.local/state/shopfloor/own-files";
    app.sh(&line.replace("{0}", record.to_str().unwrap())).exit(0);
}

/// The journal of a spawn of `id` that was killed.
fn killed(app: &Repo<'_>, id: &str, name: &str) {
    let journal = json!({"v": 2, "id": id, "name": name, "makes_branch": false, "base_sha": app.git(&["rev-parse", "main"]).trim()});
    let file = app.path.join(format!(".git/shopfloor/worktree-spawn/journal/{UID}.json"));
    write(&file, &journal.to_string());
}

/// A git that runs `then` after each command that has `word` among its arguments, from the `nth` on.
fn git_and_then(w: &World, word: &str, nth: usize, then: &str) {
    let (git, count) = (which("git"), w.path("count"));
    let body = format!(
        "'{git}' \"$@\"; code=$?\ncase \" $* \" in *\" {word} \"*) echo >> '{count}'\n[ $(wc -l < '{count}') -lt {nth} ] || {{ {then}; }} ;; esac\nexit $code",
        git = git.display(),
        count = count.display()
    );
    w.program("git", &body);
}

/// Exchanges the directory `sub` of an agent's worktree for a link to a directory of the person's.
fn swap(child: &Repo<'_>, victim: &Path) -> String {
    let sub = child.path.join("sub");
    format!("[ -L '{0}' ] || {{ mv '{0}' '{0}.real'; ln -s '{1}' '{0}'; }}", sub.display(), victim.display())
}

#[test]
fn no_index_of_ours_is_written_through_a_link() {
    let w = World::new();
    let app = app(&w);
    let diary = diary(&w);
    let child = subtree(&app, &["a"]);
    child.git(&["worktree", "add", "-q", "--no-checkout", "-b", "main.zz", "zz", "main"]);
    claim(&app, "zz", "main.zz");
    for name in ["undo-index", "undo-index.lock", "trash-index", "unhidden-index"] {
        link(&diary, &state(&app, "zz").join(name));
    }
    killed(&app, "main.zz", "zz");
    app.spawn(&["subtree", "b"]).any_status().any_out().any_err();
    app.spawn(&["repair"]).any_status().any_out().any_err();
    app.spawn(&["remove", "--force", "main.zz"]).any_status().any_out().any_err();
    assert_eq!(std::fs::read_to_string(&diary).unwrap(), "my diary\n");
}

#[test]
fn no_index_of_ours_is_written_through_a_link_that_is_put_there_meanwhile() {
    let w = World::new();
    let app = app(&w);
    let diary = diary(&w);
    let child = subtree(&app, &["a"]);
    child.write("README.md", "changed\n");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let index = state(&app, "a").join("trash-index");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = std::os::unix::fs::symlink(&diary, &index);
            }
        });
        app.spawn(&["remove", "--force", "main.a"]).any_status().any_out().any_err();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(std::fs::read_to_string(&diary).unwrap(), "my diary\n");
}

#[test]
fn a_killed_spawn_whose_directory_is_exchanged_after_the_look_takes_nothing_away() {
    let w = World::new();
    let app = app(&w);
    let diary = diary(&w);
    let victim = w.home("you/precious");
    write(&victim.join("thesis"), "years of work\n");
    write(&victim.join(".shopfloor/task.md"), "mine\n");
    let child = subtree(&app, &["a"]);
    std::fs::create_dir(child.path.join("sub")).unwrap();
    child.git(&["worktree", "add", "-q", "--no-checkout", "-b", "main.zz", "sub/precious", "main"]);
    claim(&app, "precious", "main.zz");
    list(&app, &child.path, "sub/precious");
    killed(&app, "main.zz", "precious");
    git_and_then(&w, "--ignored", 1, &swap(&child, diary.parent().unwrap()));
    app.spawn(&["subtree", "b"]).any_status().any_out().any_err();
    assert!(child.path.join("sub").is_symlink());
    assert!(victim.join("thesis").exists() && victim.join(".shopfloor/task.md").exists());
}

#[test]
fn a_removal_whose_directory_is_exchanged_after_the_look_takes_nothing_away() {
    let w = World::new();
    let app = app(&w);
    let diary = diary(&w);
    let victim = w.home("you/precious");
    write(&victim.join("thesis"), "years of work\n");
    let child = subtree(&app, &["a"]);
    std::fs::create_dir(child.path.join("sub")).unwrap();
    app.git(&["branch", "tmp"]);
    child.git(&["worktree", "add", "-q", "-b", "tmp.zz", "sub/precious", "tmp"]);
    claim(&app, "precious", "tmp.zz");
    list(&app, &child.path, "sub/precious");
    std::fs::create_dir(app.path.join(".git/worktrees/precious/modules")).unwrap();
    w.at(child.path.join("sub/precious")).spawn(&["run", "tmp.zz", "--", "true"]).exit(0);
    git_and_then(&w, "merge-base", 2, &swap(&child, diary.parent().unwrap()));
    app.spawn(&["gc"]).any_status().any_out().any_err();
    assert!(child.path.join("sub").is_symlink());
    assert!(victim.join("thesis").exists());
}

/// Hooks that leave a mark, and a configuration that runs them.
fn hooks(w: &World, dir: &Path) -> String {
    for hook in ["reference-transaction", "post-checkout", "post-index-change"] {
        let file = dir.join("hooks").join(hook);
        write(&file, &format!("#!/bin/sh\necho {hook} >> '{}'\n", w.path("mark").display()));
        w.at(dir).run("chmod", &["+x", file.to_str().unwrap()]).exit(0);
    }
    format!("[core]\n\thooksPath = {}\n", dir.join("hooks").display())
}

#[track_caller]
fn assert_unmarked(w: &World) {
    assert_eq!(std::fs::read_to_string(w.path("mark")).unwrap_or_default(), "");
}

#[test]
fn a_commondir_in_the_common_directory_is_refused() {
    let w = World::new();
    let app = app(&w);
    let (a, b) = (subtree(&app, &["a"]), subtree(&app, &["b"]));
    subtree(&app, &["c"]);
    // The agent's own common directory, which leads to the real refs and objects.
    let evil = a.path.join("evil");
    write(&evil.join("config"), "");
    let git = app.path.join(".git");
    for name in ["objects", "refs", "logs", "worktrees"] {
        link(&git.join(name), &evil.join(name));
    }
    let run = hooks(&w, &evil);
    write(&evil.join("config"), &format!("{}{run}", std::fs::read_to_string(git.join("config")).unwrap()));
    write(&git.join("commondir"), &format!("{}\n", evil.display()));
    for at in [&app, &b] {
        for args in [&["remove", "main.c"][..], &["subtree", "d"], &["gc"], &["repair"], &["list"]] {
            at.spawn(args).exit(4).err_has(".git/commondir");
        }
        at.shopfloor(&["status"]).exit(4).err_has(".git/commondir").out_has("");
    }
    assert_unmarked(&w);
    // The same file, put there when git is about to change a branch.
    let put = git.join("commondir");
    std::fs::remove_file(&put).unwrap();
    let body = format!(
        "case \"$*\" in *update-ref*|*merge-base*) echo '{}' > '{put}'; trap 'rm -f \"{put}\"' EXIT;; esac\n'{}' \"$@\"",
        evil.display(),
        which("git").display(),
        put = put.display()
    );
    w.program("git", &body);
    b.spawn(&["remove", "main.c"]).succeeds();
    b.spawn(&["subtree", "e"]).any_status().any_out().any_err();
    assert_unmarked(&w);
}

#[test]
fn no_log_of_a_branch_is_written_through_a_link() {
    let w = World::new();
    let app = app(&w);
    let diary = diary(&w);
    let logs = app.path.join(".git/logs/refs/heads");
    link(&diary, &logs.join("main.b"));
    app.spawn(&["subtree", "b"]).exit(4).err_has("logs/refs/heads/main.b");
    assert_eq!(std::fs::read_to_string(&diary).unwrap(), "my diary\n");
    std::fs::remove_file(logs.join("main.b")).unwrap();
    // The log of a branch that goes is deleted.
    subtree(&app, &["main"]);
    write(&w.home("you/main.main"), "my diary\n");
    std::fs::rename(&logs, logs.with_file_name("was")).unwrap();
    link(diary.parent().unwrap(), &logs);
    app.spawn(&["remove", "main.main"]).any_status().any_out().any_err();
    assert!(w.home("you/main.main").exists());
}

#[test]
fn what_git_writes_in_a_record_is_no_link() {
    let w = World::new();
    let app = app(&w);
    let diary = diary(&w);
    subtree(&app, &["a"]);
    for name in ["COMMIT_EDITMSG", "index.lock", "ORIG_HEAD"] {
        let file = app.path.join(".git/worktrees/a").join(name);
        let _ = std::fs::rename(&file, w.path("was"));
        link(&diary, &file);
        app.spawn(&["remove", "main.a"]).exit(4).err_has(name);
        std::fs::remove_file(&file).unwrap();
    }
    app.spawn(&["remove", "main.a"]).succeeds();
}

#[test]
fn the_main_checkouts_own_configuration_gives_a_spawn_no_hooks() {
    let w = World::new();
    let app = app(&w);
    let (a, b) = (subtree(&app, &["a"]), subtree(&app, &["b"]));
    subtree(&app, &["c"]);
    app.git(&["config", "extensions.worktreeConfig", "true"]);
    let file = app.path.join(".git/config.worktree");
    write(&file, &hooks(&w, &a.path));
    b.spawn(&["remove", "main.c"]).succeeds();
    assert_unmarked(&w);
    let d =
        w.at(app.spawn(&["subtree", "d"]).exit(0).err_has("could run something: core.hookspath;").stdout.trim_end());
    d.commit("a", "a\n");
    app.spawn(&["remove", "main.b"]).succeeds();
    assert_unmarked(&w);
    // Claude Code and git-lfs write such settings, and git copies them.
    let keys = [
        "alias.st",
        "core.abbrev",
        "core.attributesfile",
        "core.editor",
        "core.excludesfile",
        "core.pager",
        "core.sshcommand",
        "credential.helper",
        "fetch.prune",
        "filter.lfs.process",
        "gpg.format",
        "http.proxy",
        "interactive.difffilter",
        "lfs.url",
        "log.date",
        "merge.ff",
        "merge.tool",
        "remote.origin.url",
        "rerere.enabled",
        "tag.gpgsign",
        "user.useconfigonly",
        "worktree.userelativepaths",
    ];
    std::fs::remove_file(&file).unwrap();
    for key in keys {
        app.git(&["config", "--worktree", key, if key == "core.abbrev" { "8" } else { "true" }]);
    }
    app.spawn(&["subtree", "f"]).exit(0).any_out().err_has("core.editor").err_has("worktree.userelativepaths");
    app.spawn(&["remove", "main.f"]).succeeds();
    for (key, value) in [("hook.x.command", "true"), ("include.path", "/x"), ("includeIf.onbranch:main.path", "/x")] {
        std::fs::remove_file(&file).unwrap();
        app.git(&["config", "--worktree", key, value]);
        app.spawn(&["subtree", "g"]).exit(4).err_has("config.worktree sets").err_has("--unset-all");
        assert_eq!(app.git(&["branch", "--list", "main.g"]), "", "{key}");
    }
    // What `git sparse-checkout` and a person write there is in nobody's way.
    write(&file, "[core]\n\tsparseCheckout = false\n[user]\n\temail = ada@example.org\n");
    app.spawn(&["subtree", "e"]).succeeds();
}

#[test]
fn repair_leaves_the_git_files_of_other_repositories() {
    let w = World::new();
    let app = app(&w);
    let you = w.at(w.home("you"));
    std::fs::create_dir(&you.path).unwrap();
    you.sh("git init -q --separate-git-dir store.git mine && git init -q other && cd other && git commit -q --allow-empty -m o && \
            git worktree add -q ../wt && echo 'gitdir: ../other/.git/worktrees/wt' > ../wt/.git && \
            echo ../../../../wt/.git > .git/worktrees/wt/gitdir && git worktree add -q ../away && mv ../away ../elsewhere")
        .exit(0)
        .any_err();
    let a = subtree(&app, &["a"]);
    for name in ["mine", "wt", "away", "mv"] {
        a.git(&["worktree", "add", "-q", "--detach", name]);
    }
    a.sh("rm -rf mine wt away").exit(0);
    let names = |name: &str, path: PathBuf| {
        write(&app.path.join(format!(".git/worktrees/{name}/gitdir")), &format!("{}/.git\n", path.display()));
    };
    names("mine", you.path.join("mine"));
    names("wt", you.path.join("wt"));
    names("away", you.path.join("elsewhere"));
    names("mv", PathBuf::from("/no/1/2/3/4/5/6/7/8/9/10/11/12/mv"));
    let before = you.sh("cat mine/.git wt/.git elsewhere/.git").exit(0).stdout.clone();
    app.spawn(&["repair"]).exit(0).any_err().out_has("worktrees/a/mv");
    assert_eq!(you.sh("cat mine/.git wt/.git elsewhere/.git").exit(0).stdout, before);
    assert_eq!(w.at(a.path.join("mv")).git(&["status", "--porcelain"]), "");
}

#[test]
fn links_in_the_state_of_another_worktree_are_refused() {
    let w = World::new();
    let app = app(&w);
    subtree(&app, &["a"]);
    let diary = diary(&w);
    let you = diary.parent().unwrap();
    write(&you.join(".shopfloor-tmp-precious"), "mine\n");
    w.at(you).sh("chmod 755 . && touch -d '3 days ago' .shopfloor-tmp-precious && rm -rf ~/eng/repos/app/.shopfloor/worktrees/a/.mcp.json").exit(0);
    let _ = std::fs::remove_dir_all(state(&app, "a").join("tmp"));
    link(you, &state(&app, "a").join("tmp"));
    app.spawn(&["repair"]).any_status().any_err().out_has("is a symbolic link");
    assert_eq!(mode(you) & 0o777, 0o755);
    assert!(you.join(".shopfloor-tmp-precious").exists());
}

#[test]
fn a_repository_inside_that_leads_out_is_not_written_to() {
    let w = World::new();
    let app = app(&w);
    write(&app.path.join(".git/info/exclude"), "inner\n");
    let other = w.repo("you/other");
    let child = subtree(&app, &["a"]);
    write(&child.path.join("inner/x/.git"), &format!("gitdir: {}\n", other.path.join(".git").display()));
    app.spawn(&["remove", "main.a"]).exit(1).err_has("inner/x");
    assert!(!other.has(".git/lfs") && !other.has(".git/rr-cache"));
}

#[test]
fn a_worktree_that_leads_to_a_repository_of_its_own_is_refused() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["a"]);
    let mark = w.path("mark");
    child
        .sh("git init -q --separate-git-dir .own x && rm -rf x && git --git-dir=.own --work-tree=. add README.md && \
             git --git-dir=.own --work-tree=. commit -qm e && echo '* filter=x' > .own/info/attributes && \
             echo \"gitdir: $PWD/.own\" > .git && echo ho > README.md")
        .exit(0)
        .any_err();
    let config = format!(
        "[core]\n\tworktree = {}\n[filter \"x\"]\n\tclean = echo clean >> {}; cat\n",
        child.path.display(),
        mark.display()
    );
    let file = child.path.join(".own/config");
    write(&file, &format!("{}{config}", std::fs::read_to_string(&file).unwrap()));
    child.shopfloor(&["status"]).exit(4).err_has("leads elsewhere");
    child.spawn(&["list", "--status"]).exit(4).err_has("leads elsewhere");
    assert_unmarked(&w);
    // A repository of its own below the worktree is the person's to use.
    child
        .sh("git init -q below && cd below && git commit -q --allow-empty -m e && worktree-spawn list")
        .exit(0)
        .any_out();
}
