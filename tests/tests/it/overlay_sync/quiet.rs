//! Files that have not changed since the last pass are not read again.

use std::cell::Cell;
use std::path::Path;

use crate::support::overlay::{OVERLAY, scene};
use crate::support::world::{World, skip, traced, wait_for, which, write};

fn changes_are_noticed(w: &World) {
    let s = scene(w);
    s.put(".env", "A=0\n");
    s.put(".data/x", "0\n");
    s.attach();
    // Until git's answers are remembered: nothing that they depend on has just changed.
    let n = Cell::new(0);
    wait_for(|| {
        n.set(n.get() + 1);
        s.put(".env", &format!("A={}\n", n.get()));
        s.put(".data/x", &format!("{}\n", n.get()));
        s.sync(0).any_err();
        s.git_answers() == 2
    });
    // The file is tracked in one workspace and no longer ignored in the other: both stay as they are.
    s.a.git(&["add", "-f", ".env"]);
    s.b.write(".gitignore", "*.sh\n.data/\n*.jsonl\n");
    let before = (s.a.read(".env"), s.b.read(".env"));
    // Wait until the change is too old to be asked about in any case.
    let age = |path: &std::path::Path| path.metadata().unwrap().modified().unwrap().elapsed().unwrap_or_default();
    wait_for(|| age(&s.b.path.join(".gitignore")).as_millis() > 300);
    s.put(".env", "A=new\n");
    let out = s.app.overlay(&["sync", "-v"]).exit(0);
    out.err_has("/a: .env is tracked there").err_has("/b: .env is not ignored by git there");
    assert_eq!((s.a.read(".env"), s.b.read(".env")), before);
    // An edit of the same length with its time set back is still an edit.
    wait_for(|| s.sync(0).any_err().stdout.is_empty());
    let text = s.a.read(".data/x");
    let edited = text.replace(char::is_numeric, "x");
    s.a.sh(&format!("touch -r .data/x ../then && printf '{}\\n' > .data/x && touch -r ../then .data/x", edited.trim()))
        .exit(0);
    s.sync(0).any_err();
    s.all_are(".data/x", &edited);
}

/// Below /dev/shm files are ordinary files: git is asked about them again once its answer may have changed.
#[test]
fn a_tracked_file_below_dev_shm_stays_as_it_is() {
    if !Path::new("/dev/shm").is_dir() {
        skip("/dev/shm");
        return;
    }
    let w = World::below(Path::new("/dev/shm"));
    changes_are_noticed(&w);
}

#[test]
fn a_quiet_file_is_read_again_once_anything_about_it_changed() {
    changes_are_noticed(&World::new());
}

/// git is asked where the repository is only if its answer may have changed.
#[test]
fn a_sync_with_nothing_to_do_starts_no_process() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=0\n");
    s.attach();
    let processes = || {
        let (out, calls) = traced(&s.app, "execve", "overlay-sync", &["sync"])?;
        assert_eq!((*out.status, out.stdout.as_str()), (Some(0), ""), "{out}");
        drop(out.any_err());
        Some(calls.iter().filter(|call| call.contains(") = 0")).count())
    };
    if processes().is_none() {
        return;
    }
    let is_alone = || processes() == Some(1);
    wait_for(is_alone);
    // Hooks elsewhere, and files that git's configuration includes, are told by git alone.
    let odd = [("core.hooksPath", "elsewhere"), ("include.path", "more"), ("shopfloor.source", "/not/there")];
    for (key, value) in odd {
        s.app.git(&["config", key, value]);
        let config = s.app.path.join(".git/config");
        wait_for(|| config.metadata().unwrap().modified().unwrap().elapsed().unwrap_or_default().as_millis() > 300);
        assert!(!is_alone() && !is_alone(), "{key}");
        s.app.git(&["config", "--unset", key]);
        wait_for(is_alone);
    }
    // Another repository begins here.
    s.app.sh("mkdir inner && git init -q inner").exit(0);
    let inner = w.at(s.app.path.join("inner"));
    inner.overlay(&["sync"]).exit(0).err_has("there is no overlay yet");
    s.app.sh("rm -r inner/.git").exit(0);
    assert_eq!(inner.overlay(&["sync"]).exit(0).any_err().stdout, "");
}

/// A file of patterns whose name begins with `~` is another one in another home.
#[test]
fn another_home_has_another_file_of_patterns() {
    let w = World::new();
    let s = scene(&w);
    let homes = ["home one", "home two"].map(|name| w.path(name));
    homes.iter().for_each(|home| write(&home.join("patterns"), "own.cfg\n"));
    s.app.git(&["config", "core.excludesFile", "~/patterns"]);
    s.put("own.cfg", "0\n");
    let overlay = s.w.home(OVERLAY);
    let run = |home: &Path, args: &[&str]| {
        let vars = [("HOME", home.to_str().unwrap()), ("OVERLAY_SYNC_OVERLAY", overlay.to_str().unwrap())];
        s.a.run_with("overlay-sync", args, &vars)
    };
    let sync = |home: &Path| run(home, &["sync", "-v"]);
    run(&homes[0], &["attach", ".", "../b"]).exit(0).any_out().any_err();
    let memory = s.app.path.join(".git/worktrees/a/shopfloor/overlay-sync/repository");
    let n = Cell::new(0);
    for home in &homes {
        wait_for(|| {
            n.set(n.get() + 1);
            s.put("own.cfg", &format!("{}\n", n.get()));
            sync(home).exit(0).any_out().any_err();
            std::fs::read_to_string(&memory).is_ok_and(|text| text.contains(home.to_str().unwrap()))
        });
    }
    let patterns = homes[1].join("patterns");
    write(&patterns, "# nothing\n");
    wait_for(|| patterns.metadata().unwrap().modified().unwrap().elapsed().unwrap_or_default().as_millis() > 300);
    let before = s.a.read("own.cfg");
    s.put("own.cfg", "new\n");
    sync(&homes[1]).exit(0).any_out().err_has("own.cfg is not ignored by git there");
    assert_eq!(s.a.read("own.cfg"), before);
}

/// The main checkout's own configuration may name the file of patterns, and a worktree notices that.
#[test]
fn the_main_checkouts_file_of_patterns_is_not_remembered_too_long() {
    let w = World::new();
    let s = scene(&w);
    let patterns = w.home("patterns");
    write(&patterns, "own.cfg\n");
    s.app.git(&["config", "extensions.worktreeConfig", "true"]);
    s.put(".env", "A=0\n");
    s.attach();
    let memory = s.a.path.join("../app/.git/worktrees/a/shopfloor/overlay-sync/repository");
    let sync = || s.a.overlay(&["sync"]).exit(0).any_out().any_err();
    let known = || std::fs::read_to_string(&memory).unwrap_or_default();
    wait_for(|| {
        sync();
        !known().is_empty()
    });
    s.app.git(&["config", "--worktree", "core.excludesFile", patterns.to_str().unwrap()]);
    wait_for(|| {
        sync();
        known().contains(patterns.to_str().unwrap())
    });
}

/// A git that fails has not said that there is no file of patterns.
#[test]
fn what_git_could_not_say_is_no_answer() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    let git = which("git");
    w.program("git", &format!("case \"$*\" in *core.excludesFile*) exit 3;; esac\nexec {} \"$@\"", git.display()));
    s.put(".env", "A=2\n");
    s.app.overlay(&["sync"]).any_status().any_out().err_has("git config failed");
    assert_eq!((s.a.read(".env"), s.b.read(".env")), ("A=1\n".to_owned(), "A=1\n".to_owned()));
    std::fs::remove_file(w.path("bin/git")).unwrap();
    s.sync(0).any_err();
    s.all_are(".env", "A=2\n");
}

/// git is asked for its file of patterns only if the answer may have changed, and what the file says counts at once.
#[test]
fn the_file_of_patterns_for_all_repositories_is_known_until_it_may_be_another() {
    let w = World::new();
    let s = scene(&w);
    let [mine, other] = ["mine", "other"].map(|name| w.home(name));
    write(&mine, "own.cfg\n");
    write(&other, "# nothing\n");
    s.put("own.cfg", "0\n");
    s.app.git(&["config", "core.excludesFile", mine.to_str().unwrap()]);
    s.attach();
    let n = Cell::new(0);
    let is_alone = || {
        n.set(n.get() + 1);
        s.put("own.cfg", &format!("{}\n", n.get()));
        let (out, calls) = traced(&s.app, "execve", "overlay-sync", &["sync"])?;
        drop(out.any_out().any_err());
        Some(calls.iter().filter(|call| call.contains(") = 0")).count() == 1)
    };
    if is_alone().is_none() {
        return;
    }
    let age = |path: &Path| path.metadata().unwrap().modified().unwrap().elapsed().unwrap_or_default().as_millis();
    let changes: [(&dyn Fn(), &Path); 2] = [
        (
            &|| drop(s.app.git(&["config", "core.excludesFile", other.to_str().unwrap()])),
            &s.app.path.join(".git/config"),
        ),
        (&|| write(&mine, "# nothing\n"), &mine),
    ];
    for (change, changed) in changes {
        wait_for(|| is_alone() == Some(true));
        let before = s.a.read("own.cfg");
        change();
        wait_for(|| age(changed) > 300);
        s.put("own.cfg", "new\n");
        s.app.overlay(&["sync", "-v"]).exit(0).err_has("own.cfg is not ignored by git there");
        assert_eq!(s.a.read("own.cfg"), before);
        write(&mine, "own.cfg\n");
        s.app.git(&["config", "core.excludesFile", mine.to_str().unwrap()]);
    }
}
