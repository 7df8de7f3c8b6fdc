//! worktree-spawn gc: what it finds without asking git, and what that costs.

use crate::support::spawn::{app, subtree};
use crate::support::world::{World, traced};

#[test]
fn a_gc_of_many_starts_no_more_processes_than_one_of_few() {
    let w = World::new();
    let app = app(&w);
    app.write(".gitignore", "ignored/\n");
    app.git(&["add", ".gitignore"]);
    app.git(&["commit", "-q", "-m", "ignore"]);
    let mut counts = Vec::new();
    for round in 0..3 {
        for shape in ["alive", "merged", "missing", "dirty", "detached"] {
            let child = subtree(&app, &[&format!("{shape}-{round}")]);
            child.write("ignored/deep/file", "x");
            if shape == "alive" {
                continue;
            }
            if shape != "dirty" {
                child.commit(&format!("{shape}-{round}"), "theirs\n");
            }
            match shape {
                "merged" => drop(app.git(&["merge", "-q", "--no-edit", &format!("main.{shape}-{round}")])),
                "dirty" => child.write("new", "x"),
                "detached" => drop(child.git(&["switch", "-q", "--detach"])),
                _ => {}
            }
            app.spawn(&["run", &format!("main.{shape}-{round}"), "--", "true"]).exit(0);
        }
        app.commit(&format!("later-{round}"), "main\n");
        let Some((said, started)) = traced(&app, "execve", "worktree-spawn", &["gc", "-n"]) else { return };
        for (shape, why) in [
            ("alive", "kept main.alive-0: it was never run"),
            ("merged", "would remove main.merged-0"),
            ("missing", "kept main.missing-0: main.missing-0 has commits that main has not"),
            ("dirty", "kept main.dirty-0: it has uncommitted changes"),
            ("detached", "kept main.detached-0: it no longer holds the branch it was made with"),
        ] {
            assert!(said.stdout.contains(why), "{shape}: {}", said.stdout);
        }
        counts.push(started.iter().filter(|line| line.contains("/git\"") && line.ends_with("= 0")).count());
    }
    assert!(counts[0] <= 2 && counts.iter().all(|count| *count == counts[0]), "{counts:?}");
}

#[test]
fn a_gc_finds_what_git_finds() {
    let w = World::new();
    let app = app(&w);
    app.write(".gitignore", "ignored/\n");
    app.git(&["add", ".gitignore"]);
    app.git(&["commit", "-q", "-m", "ignore"]);
    let end = |name: &str| app.spawn(&["run", &format!("main.{name}"), "--", "true"]).exit(0);
    for name in ["squashed", "picked", "half-picked", "same-path", "merges", "loose", "tagged"] {
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
    app.commit("same-path-1", "another text\n");
    app.commit("same-path-2", "another text\n");
    let said = app.spawn(&["gc", "-n"]).exit(0).stdout;
    for line in [
        "would remove main.squashed\n",
        "would remove main.picked\n",
        "kept main.half-picked: main.half-picked has commits that main has not\n",
        "kept main.same-path: main.same-path has commits that main has not\n",
        "kept main.merges: main.merges has commits that main has not\n",
        "kept main.loose: it has commits that are on no branch\n",
        "kept main.tagged: it no longer holds the branch it was made with\n",
        "kept main.holder: the repository in ignored/lib, which git ignores, has commits that are nowhere else\n",
    ] {
        assert!(said.contains(line), "{line}{said}");
    }
}
