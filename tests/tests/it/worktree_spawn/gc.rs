//! `gc`: what it removes, and what looking costs.

use crate::support::spawn::{app, subtree};
use crate::support::sweep::rounds;
use crate::support::world::{World, text, which, write};

#[test]
fn a_worktree_in_a_closed_directory_is_not_gone() {
    let w = World::new();
    let app = app(&w);
    app.spawn(&["subtree", "feat", "--", "true"]).succeeds();
    for closed in [".shopfloor/worktrees/feat", ".shopfloor/worktrees"] {
        app.sh(&format!("chmod 000 {closed}")).exit(0);
        app.run_bound("worktree-spawn", &["gc"]).exit(0).any_out().err_has("kept main.feat: cannot look at");
        app.run_bound("worktree-spawn", &["list", "--status"]).exit(0).any_err().out_has("cannot look at");
        app.run_bound("worktree-spawn", &["remove", "main.feat"]).exit(4).any_out().err_has("cannot look at");
        app.sh(&format!("chmod 755 {closed}")).exit(0);
        assert!(app.git(&["branch", "--list", "main.feat"]).contains("main.feat"));
    }
    // An agent can close its own worktree. Forced, a removal opens that, and nothing above it.
    app.sh("chmod 000 .shopfloor/worktrees").exit(0);
    app.run_bound("worktree-spawn", &["remove", "--force", "main.feat"]).exit(4).any_out().err_has("cannot look at");
    app.sh("chmod 755 .shopfloor/worktrees && chmod 000 .shopfloor/worktrees/feat").exit(0);
    app.run_bound("worktree-spawn", &["remove", "--force", "main.feat"]).exit(0).any_err().out_has("removed main.feat");
}

#[test]
fn gc_starts_as_many_processes_per_agent_for_many_agents_as_for_few() {
    let mut w = World::new();
    // What many users have in their configuration.
    let usual = "[filter \"lfs\"]\nclean = false\nrequired = true\n[includeIf \"gitdir:/work/\"]\npath = ~/work\n";
    write(&w.home("gitconfig"), usual);
    w.set("GIT_CONFIG_GLOBAL", w.home("gitconfig").to_string_lossy());
    let (git, count) = (which("git"), w.path("count"));
    w.program("git", &format!("echo >> '{}'; exec '{}' \"$@\"", count.display(), git.display()));
    let app = app(&w);
    app.write(".gitignore", "ignored/\n");
    app.git(&["add", ".gitignore"]);
    app.git(&["commit", "-q", "-m", "ignore"]);
    let mut counts = Vec::new();
    for round in 0..rounds(2, 3) {
        for shape in ["alive", "merged", "missing", "dirty", "detached", "squashed", "picked", "holder", "keeper"] {
            let name = format!("{shape}-{round}");
            if shape == "alive" {
                subtree(&app, &[&name]);
                continue;
            }
            let work = format!("echo theirs > {name} && git add {name} && git commit -q -m {name}");
            let work = match shape {
                "dirty" => "echo x > new".to_owned(),
                "detached" => work + " && git switch -q --detach",
                "squashed" => work + " && echo $PPID > more && git add more && git commit -q -m more",
                "holder" => format!("{work} && git clone -q '{}' ignored/lib", app.path.display()),
                "keeper" => work + " && git init -q ignored/lib && git -C ignored/lib commit -q --allow-empty -m own",
                _ => work,
            };
            let work = format!("mkdir -p ignored/deep && echo x > ignored/deep/file && {work}");
            app.spawn(&["subtree", &name, "--", "sh", "-c", &work]).succeeds();
            let branch = format!("main.{name}");
            match shape {
                "merged" => drop(app.git(&["merge", "-q", "--no-edit", &branch])),
                "squashed" => {
                    app.git(&["merge", "-q", "--squash", &branch]);
                    app.git(&["commit", "-q", "-m", "squashed"]);
                }
                "picked" => drop(app.git(&["cherry-pick", &branch])),
                _ => {}
            }
        }
        app.commit(&format!("later-{round}"), "main\n");
        write(&count, "");
        let said = app.spawn(&["gc", "-n"]).exit(0);
        counts.push(std::fs::read_to_string(&count).unwrap().len());
        for (shape, why) in [
            ("alive", "kept main.alive-0: it was never run"),
            ("merged", "would remove main.merged-0"),
            ("missing", "kept main.missing-0: main.missing-0 has commits that main lacks"),
            ("dirty", "kept main.dirty-0: it has uncommitted changes"),
            ("detached", "kept main.detached-0: it no longer holds the branch it was made with"),
            ("squashed", "would remove main.squashed-0"),
            ("picked", "would remove main.picked-0"),
            ("holder", "kept main.holder-0: main.holder-0 has commits that main lacks"),
            ("keeper", "kept main.keeper-0: the repository in ignored/lib, which git ignores, has commits"),
        ] {
            let all = format!("{}{}", *said.stdout, *said.stderr);
            assert!(all.contains(why), "{shape}: {all}");
        }
    }
    // git looks at each agent that has ended: no more often as there are more of them.
    let each = counts[0];
    assert!(each > 40, "{counts:?}");
    assert!(counts.iter().enumerate().all(|(more, count)| *count <= each * (more + 1)), "{counts:?}");
}

#[test]
fn gc_agrees_with_git() {
    let w = World::new();
    let app = app(&w);
    app.write(".gitignore", "ignored/\n");
    app.git(&["add", ".gitignore"]);
    app.git(&["commit", "-q", "-m", "ignore"]);
    let end = |name: &str| app.spawn(&["run", &format!("main.{name}"), "--", "true"]).exit(0);
    for name in ["squashed", "picked", "half-picked", "same-path", "merges", "loose", "tagged", "updated"] {
        let child = subtree(&app, &[name]);
        child.commit(&format!("{name}-1"), "1\n");
        child.commit(&format!("{name}-2"), "2\n");
        match name {
            "merges" => {
                child.git(&["switch", "-q", "-c", "side", "main"]);
                child.commit("side", "1\n");
                child.git(&["switch", "-q", "main.merges"]);
                child.git(&["merge", "-q", "--no-edit", "side"]);
            }
            "updated" => {
                app.commit("meanwhile", "1\n");
                child.git(&["merge", "-q", "--no-edit", "main"]);
                child.commit("updated-3", "3\n");
            }
            "loose" | "tagged" => {
                child.git(&["switch", "-q", "--detach"]);
                child.commit("more", "1\n");
            }
            _ => {}
        }
        if name == "tagged" {
            child.git(&["tag", "-a", "-m", "kept", "kept"]);
        }
        end(name);
    }
    let holder = subtree(&app, &["holder"]);
    holder.sh("git init -q ignored/lib && git -C ignored/lib commit -q --allow-empty -m own").exit(0);
    end("holder");
    app.git(&["merge", "-q", "--squash", "main.squashed"]);
    app.git(&["commit", "-q", "-m", "squashed"]);
    app.git(&["cherry-pick", "main.picked~1", "main.picked", "main.half-picked"]);
    app.git(&["merge", "-q", "--squash", "main.updated"]);
    app.git(&["commit", "-q", "-m", "updated"]);
    app.commit("same-path-1", "another text\n");
    app.commit("same-path-2", "another text\n");
    let out = app.spawn(&["gc", "-n"]).exit(0);
    let said = format!("{}{}", *out.stdout, *out.stderr);
    for line in [
        "would remove main.squashed\n",
        "would remove main.picked\n",
        "would remove main.updated\n",
        "kept main.half-picked: main.half-picked has commits that main lacks\n",
        "kept main.same-path: main.same-path has commits that main lacks\n",
        "kept main.merges: main.merges has commits that main lacks\n",
        "kept main.loose: it has commits that are on no branch\n",
        "kept main.tagged: it no longer holds the branch it was made with\n",
        "kept main.holder: the repository in ignored/lib, which git ignores, has commits that are nowhere else\n",
    ] {
        assert!(said.contains(line), "{line}{said}");
    }
}

#[test]
fn gc_compares_changes_not_the_files_around_them() {
    let w = World::new();
    let app = app(&w);
    let lines = |edit: &dyn Fn(usize) -> String| (1..=40).map(|n| edit(n) + "\n").collect::<String>();
    let plain = |n: usize| format!("line {n}");
    for name in ["shifted", "near", "spaced", "twice", "mode", "binary"] {
        app.commit(&format!("{name}.txt"), &lines(&plain));
    }
    let end = |name: &str| app.spawn(&["run", &format!("main.{name}"), "--", "true"]).exit(0);
    let at_20 = |text: &'static str| lines(&move |n| if n == 20 { text.into() } else { plain(n) });
    let both = |text: &'static str| lines(&move |n| if n == 10 || n == 30 { text.into() } else { plain(n) });
    for (name, text) in [
        ("shifted", at_20("theirs")),
        ("near", at_20("theirs")),
        ("spaced", at_20("their text")),
        ("twice", both("theirs")),
        ("mode", at_20("theirs")),
        ("binary", "\0theirs".into()),
    ] {
        subtree(&app, &[name]).commit(&format!("{name}.txt"), &text);
        end(name);
    }
    // With a submodule, which git does not show to this person.
    let linked = subtree(&app, &["linked"]);
    linked.sh("mkdir lib && git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),lib").exit(0);
    linked.commit("linked.txt", "theirs");
    end("linked");
    app.commit("linked.txt", "theirs");
    app.git(&["config", "diff.ignoreSubmodules", "all"]);
    // The same change further down, beside a changed line, with another space, half of it, with a mode, and as bytes.
    app.commit("shifted.txt", &("top\n".repeat(30) + &lines(&plain)));
    app.commit("shifted.txt", &("top\n".repeat(30) + &at_20("theirs")));
    let near = |text: &'static str| {
        lines(&move |n| match n {
            20 => text.into(),
            21 => "ours".into(),
            n => plain(n),
        })
    };
    app.commit("near.txt", &near("line 20"));
    app.commit("near.txt", &near("theirs"));
    app.commit("spaced.txt", &at_20("their  text"));
    app.commit("twice.txt", &lines(&|n| if n == 10 { "theirs".into() } else { plain(n) }));
    app.git(&["update-index", "--chmod=+x", "mode.txt"]);
    app.sh("chmod +x mode.txt").exit(0);
    app.commit("mode.txt", &at_20("theirs"));
    app.commit("binary.txt", "\0ours");
    let out = app.spawn(&["gc", "-n"]).exit(0);
    let said = format!("{}{}", *out.stdout, *out.stderr);
    let kept = |name: &str| format!("kept main.{name}: main.{name} has commits that main lacks\n");
    assert!(said.contains("would remove main.shifted\n"), "{said}");
    for name in ["near", "spaced", "twice", "mode", "binary", "linked"] {
        assert!(said.contains(&kept(name)), "{name}: {said}");
    }
}

#[test]
fn gc_removes_agents_that_have_left_nothing() {
    let w = World::new();
    let app = app(&w);
    let spawned = |name: &str| {
        let child = subtree(&app, &[name]);
        app.spawn(&["run", &format!("main.{name}"), "--", "true"]).exit(0);
        child
    };
    spawned("done");
    spawned("dirty").write("work", "x");
    spawned("unmerged").commit("work", "x");
    subtree(&app, &["fresh"]);
    app.spawn(&["worker", "ended"]).succeeds();
    app.spawn(&["run", "root/ended", "--", "false"]).exit(1);
    let rows = |args: &[&str]| -> Vec<(String, String)> {
        let rows = app.spawn(&[&["gc", "--json"], args].concat()).exit(0).json_lines();
        let mut rows: Vec<_> =
            rows.iter().map(|row| (text(row, "/id").to_owned(), text(row, "/action").to_owned())).collect();
        rows.sort();
        rows
    };
    let expected = |removed: &str| {
        [
            ("main.dirty", "kept"),
            ("main.done", removed),
            ("main.fresh", "kept"),
            ("main.unmerged", "kept"),
            ("root/ended", removed),
        ]
        .map(|(id, action)| (id.to_owned(), action.to_owned()))
    };
    assert_eq!(rows(&["--dry-run"]), expected("would_remove"));
    assert_eq!(rows(&[]), expected("removed"));
    let out = app.spawn(&["gc"]).exit(0);
    let said = &*out.stderr;
    for why in [
        "main.dirty: it has uncommitted changes",
        "main.fresh: it was never run",
        "main.unmerged has commits that main lacks",
    ] {
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(app.spawn(&["list", "--json"]).exit(0).json_lines().len(), 4);
}

#[test]
fn gc_keeps_agents_with_seats_and_agents_that_never_ran() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    child.spawn(&["worker", "w", "--task", "important"]).succeeds();
    app.spawn(&["run", "main.x", "--", "true"]).exit(0);
    let out = app.spawn(&["gc"]).exit(0);
    let said = &*out.stderr;
    assert!(said.contains("kept main.x/w") && said.contains("kept main.x: there are seats in it"), "{said}");
    assert_eq!(child.read(".shopfloor/agents/w/task.md"), "important");
    // A new agent of the same name does not inherit the runs of the earlier one.
    child.spawn(&["remove", "main.x/w"]).succeeds();
    app.git(&["worktree", "remove", child.path.to_str().unwrap()]);
    app.git(&["branch", "-q", "-D", "main.x"]);
    subtree(&app, &["x", "--task", "new"]);
    assert_eq!(text(&app.spawn(&["list", "--json", "--kind", "subtree"]).exit(0).json(), "/state"), "never");
    app.spawn(&["gc"]).exit(0).err_has("kept main.x: it was never run");
}
