//! worker-ctl: what an agent writes beside its commits takes nobody else's work away and holds nobody up.

use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

use crate::support::floor::Floor;
use crate::support::worker::{by_hand, commit, configure, head, refused, staff, tree, work};
use crate::support::world::{World, text, write};

fn hex(id: &str) -> Vec<u8> {
    (0..id.len() / 2).map(|n| u8::from_str_radix(&id[2 * n..2 * n + 2], 16).unwrap()).collect()
}

/// Writes a graph of these commits into the clone, each with its one parent, as git writes it (gitformat-commit-graph).
fn forge_graph(floor: &Floor<'_>, mut commits: Vec<(String, Option<String>)>) {
    commits.sort();
    let place = |id: &Option<String>| match id {
        Some(id) => u32::try_from(commits.iter().position(|(other, _)| other == id).unwrap()).unwrap(),
        None => 0x7000_0000,
    };
    let (mut ids, mut data) = (Vec::new(), Vec::new());
    for (at, (id, parent)) in commits.iter().enumerate() {
        ids.extend(hex(id));
        data.extend(hex(floor.root.git(&["rev-parse", &format!("{id}^{{tree}}")]).trim()));
        let time: u32 = floor.root.git(&["log", "-1", "--format=%ct", id]).trim().parse().unwrap();
        let level = if parent.is_none() { 1_u32 } else { 2 + u32::from(at > usize::MAX / 2) };
        [place(parent), 0x7000_0000, level << 2, time].iter().for_each(|number| data.extend(number.to_be_bytes()));
    }
    let fan = (0..=255_u8).flat_map(|first| {
        let count = commits.iter().filter(|(id, _)| hex(&id[..2])[0] <= first).count();
        u32::try_from(count).unwrap().to_be_bytes()
    });
    let chunks = [(b"OIDF", fan.collect::<Vec<u8>>()), (b"OIDL", ids), (b"CDAT", data)];
    let mut graph = [b"CGPH".as_slice(), &[1, 1, 3, 0]].concat();
    let mut offset = 8 + 12 * 4_u64;
    for (name, chunk) in &chunks {
        graph.extend([name.as_slice(), &offset.to_be_bytes()].concat());
        offset += chunk.len() as u64;
    }
    graph.extend([&[0; 4][..], &offset.to_be_bytes()].concat());
    chunks.iter().for_each(|(_, chunk)| graph.extend(chunk));
    graph.extend([0; 20]);
    let file = floor.root.path.join(".git/objects/info/commit-graph");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, graph).unwrap();
}

#[test]
fn no_forged_graph_or_log_says_that_work_is_merged() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.app.commit("b.txt", "b\n");
    for name in ["adam", "eve"] {
        floor.ctl(&["add", name]).succeeds();
    }
    floor.up();
    let eve = tree(&floor, "eve");
    commit(&eve, "Work of eve", &["eve.txt"], "eve\n");
    let work = head(&eve);
    let ids = floor.app.git(&["log", "--format=%H", "main"]);
    let [main, before, ..] = ids.lines().collect::<Vec<_>>()[..] else { panic!("{ids}") };
    forge_graph(
        &floor,
        vec![(main.to_owned(), Some(before.to_owned())), (before.to_owned(), Some(work.clone())), (work.clone(), None)],
    );
    let believed = floor.root.run("git", &["merge-base", "--is-ancestor", &work, main]).any_status();
    assert_eq!(believed.status, Some(0), "git itself must believe the graph");
    assert_eq!(refused(&floor, &["nuke", "eve", "--yes"], 1), "unmerged");
    floor.ctl(&["deinit", "--yes"]).exit(1).any_err();
    // The log of the default branch, by which an idle worker's commits were merged once.
    let log = floor.root.path.join(".git/logs/refs/remotes/origin/main");
    let line = |from: &str, to: &str| format!("{from} {to} x <x@x> 1 +0000\tfetch\n");
    let text = std::fs::read_to_string(&log).unwrap_or_default() + &line(main, &work) + &line(&work, main);
    write(&log, &text);
    assert_eq!(refused(&floor, &["start", "eve", "--task", "x"], 1), "unmerged");
    assert_eq!((head(&eve), eve.read("eve.txt")), (work, "eve\n".to_owned()));
}

#[test]
fn forged_stashes_and_packs_hold_nobody_up() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    let list = floor.root.path.join(".git/logs/refs/stash");
    let line = |sha: &str| format!("{} {sha} x <x@x> 1 +0000\tWIP on worker/eve: x\n", "0".repeat(40));
    // One commit three thousand times is one stash.
    write(&list, &line(&head(&floor.app)).repeat(3000));
    let start = Instant::now();
    floor.ctl(&["reset", "eve", "--force"]).exit(0).any_out().any_err();
    let many: String = (0..3000).map(|n| line(&format!("{n:040x}"))).collect();
    write(&list, &many);
    floor.ctl(&["nuke", "eve", "--yes", "--force"]).exit(2).err_has("logs/refs/stash").err_has("3000 stashes");
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    std::fs::remove_file(&list).unwrap();
    // git opens each index of a pack, and would wait for a pipe.
    for at in [&floor.root, &floor.app] {
        let pack = at.path.join(".git/objects/pack/pack-1111111111111111111111111111111111111111");
        write(&pack.with_extension("pack"), "x");
        at.run("mkfifo", &[std::str::from_utf8(pack.with_extension("idx").as_os_str().as_bytes()).unwrap()]).exit(0);
        let start = Instant::now();
        floor.ctl(&["add", "carl"]).exit(4).err_has(".idx is not a file");
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
        ["idx", "pack"].iter().for_each(|end| std::fs::remove_file(pack.with_extension(end)).unwrap());
    }
}

#[test]
fn a_file_of_any_length_in_a_few_bytes_stops_no_other_worker() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    floor.ctl(&["start", "eve", "--task", "think"]).succeeds();
    let eve = tree(&floor, "eve");
    // 280 names of one file: 280 MB of diff in some kilobytes.
    let names = "for n in $(seq 280); do printf '100644 blob %s\\tf%s\\n' \"$blob\" $n; done";
    eve.sh(&format!(
        "git sparse-checkout set --no-cone '/README.md' && \
         blob=$(head -c 1000000 /dev/zero | tr '\\0' y | git hash-object -w --stdin) && tree=$({names} | git mktree) && \
         git reset -q --hard $(git commit-tree $tree -p HEAD -m Big)"
    ))
    .exit(0);
    floor.until("eve", "needs_review");
    assert_eq!(refused(&floor, &["review", "eve"], 1), "too_large");
    work(&floor, "adam", "COMMIT a.txt a Write a");
    floor.ctl(&["patrol"]).succeeds().any_err();
    floor.ctl(&["review", "adam", "--interface", "git"]).exit(0).any_err().out_has("+a");
    floor.ctl(&["accept", "adam"]).succeeds().any_err();
}

#[test]
fn what_only_a_worktree_has_is_work() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    let adam = tree(&floor, "adam");
    adam.sh("git checkout -q --detach && git commit -q --allow-empty -m Experiment && git update-ref refs/worktree/experiment HEAD && git checkout -q worker/adam").exit(0);
    floor.ctl(&["nuke", "adam", "--yes"]).exit(1).err_has("Experiment");
    floor.ctl(&["nuke", "adam", "--yes", "--force"]).exit(0).any_out();
    let eve = tree(&floor, "eve");
    floor.app.commit(".gitignore", "build/\n");
    floor.ctl(&["reset", "eve"]).exit(0).any_out();
    eve.sh("git init -q -b main build/repo && cd build/repo && git commit -q --allow-empty -m Precious").exit(0);
    floor.ctl(&["nuke", "eve", "--yes"]).exit(1).err_has("build/repo, which git ignores");
    let kept = floor.ctl(&["nuke", "eve", "--yes", "--force"]).exit(0).stdout.clone();
    let dir = kept.lines().find(|line| line.starts_with('/')).unwrap_or_else(|| panic!("{kept}"));
    assert!(std::path::Path::new(dir).join("worktree/build/repo/.git/HEAD").exists(), "{kept}");
}

#[test]
fn an_untracked_file_is_one_whatever_case_its_name_has() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.app.git(&["config", "extensions.worktreeConfig", "true"]);
    by_hand(&floor, "adam", &[("secret", "agent's\n")]);
    floor.app.write("secret", "mine\n");
    // An agent of the source says that names differ by more than case, and that the file is tracked by another name.
    floor.app.git(&["config", "--file", ".git/config.worktree", "core.ignorecase", "true"]);
    floor.app.sh("touch -d '1 hour ago' secret && cp secret Secret && touch -r secret Secret && git add Secret && ln -f secret Secret && git update-index -q --refresh; rm Secret").any_status().any_out().any_err();
    floor.ctl(&["accept", "adam"]).exit(1).any_err();
    assert_eq!(floor.app.read("secret"), "mine\n");
}

#[test]
fn no_list_of_an_agents_hides_another_ones_work() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.app.write("private", "key\n");
    floor.app.sh("echo private >> .git/info/exclude").exit(0);
    configure(&floor, "[repo]\n", "[repo]\ncopy = [{ from = \"private\" }]\n");
    for name in ["adam", "eve"] {
        floor.ctl(&["add", name]).succeeds();
    }
    let eve = tree(&floor, "eve");
    eve.write("precious", "work\n");
    floor.root.sh("echo '*' >> .git/info/exclude").exit(0);
    assert_eq!(eve.git(&["status", "--porcelain"]), "", "git itself must obey the list");
    floor.ctl(&["nuke", "eve", "--yes"]).exit(1).err_has("  precious");
    let kept = floor.ctl(&["nuke", "eve", "--yes", "--force"]).exit(0).stdout.clone();
    assert_eq!(floor.root.git(&["show", &format!("{}:precious", kept.trim())]), "work\n");
    // What we left out ourselves is left out.
    floor.ctl(&["nuke", "adam", "--yes"]).succeeds();
}

#[test]
fn a_repair_runs_no_hook_of_an_agents() {
    let mut w = World::new();
    write(&w.home("gitconfig"), "[core]\n\thooksPath = .githooks\n[user]\n\tname = A\n\temail = a@x\n");
    let config = w.home("gitconfig").display().to_string();
    w.set("GIT_CONFIG_GLOBAL", &config);
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    let adam = tree(&floor, "adam");
    let mark = w.home("mark");
    adam.write(".githooks/post-checkout", &format!("#!/bin/sh\ntouch '{}'\n", mark.display()));
    adam.sh("chmod +x .githooks/post-checkout && git add . && git commit -q -m Hook").exit(0);
    adam.sh("mv . ../../gone 2>/dev/null || mv \"$PWD\" \"$PWD/../../gone\"").exit(0);
    floor.ctl(&["doctor", "--repair", "--yes"]).any_status().any_out().err_has("left out the hook");
    assert!(!mark.exists());
    assert_eq!(text(&floor.status("adam"), "/status"), "offline");
}
