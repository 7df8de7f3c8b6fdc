//! An agent can write everything below the repository's git directory. What it forges there makes nothing of a person's
//! disappear, and runs nothing.

use serde_json::{Value, json};
use shopfloor_core::hash::Digest;

use crate::support::world::{Repo, World, write};

const STATE: &str = ".git/shopfloor/sweatfile-apply";

/// A record that claims these files, each with the layer it is said to come from and its text, and these variables.
fn record(files: &[(&str, &str, &str)], env: &[(&str, &str)]) -> String {
    let file = |(path, layer, text): &(&str, &str, &str)| {
        let content = json!({ "file": Digest::of(text.as_bytes()).to_string() });
        ((*path).to_owned(), json!({ "layer": layer, "content": content }))
    };
    let files: serde_json::Map<String, Value> = files.iter().map(file).collect();
    let env: serde_json::Map<String, Value> = env.iter().map(|(k, v)| ((*k).to_owned(), json!(v))).collect();
    let record =
        json!({ "v": 1, "layers": {}, "excludes": [], "files": files, "dirs": ["d"], "env": env, "setup": null });
    record.to_string()
}

fn forge(app: &Repo<'_>, file: &str, text: &str) {
    app.write(&format!("{STATE}/{file}"), text);
}

#[test]
fn remove_takes_nothing_that_only_a_forged_record_names() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n[files.a]\ncontent = \"a\"\n[files.b]\ncontent = \"b\"\n");
    for (path, text) in [("notes", "mine"), ("d/x", "mine"), (".a", "a"), (".b", "mine")] {
        app.write(path, text);
    }
    app.write(".sweatshop-env", "A=1\nTOKEN=mine\n");
    let files = [("notes", "area", "mine"), ("d/x", "repo", "mine"), (".a", "area", "a"), (".b", "area", "mine")];
    forge(&app, "record.json", &record(&files, &[("A", "1"), ("TOKEN", "mine")]));
    for args in [&["remove", "-n"][..], &["remove"]] {
        let out = app.apply(args).exit(0);
        for path in ["notes", "d/x", ".b"] {
            out.out_has(&format!("left {path} (nothing shows that apply placed it)"));
        }
        out.out_has("set by hand: TOKEN");
    }
    assert_eq!((app.read("notes"), app.read("d/x"), app.read(".b")), ("mine".into(), "mine".into(), "mine".into()));
    // What the sweatfiles would write now is known all the same.
    assert!(!app.has(".a"));
    assert_eq!(app.read(".sweatshop-env"), "TOKEN=mine\n");
}

#[test]
fn apply_overwrites_and_removes_nothing_that_only_a_forged_record_claims() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"area\"\n[files.a]\ncontent = \"area\"\n[files.b]\ncontent = \"area\"\n");
    app.approved("[files.a]\ncontent = \"repo\"\n[files.b]\nsource = \"\"\n");
    app.write(".a", "mine");
    app.write(".b", "mine");
    app.write(".sweatshop-env", "A=mine\nTOKEN=mine\n");
    let files = [(".a", "area", "mine"), (".b", "area", "mine")];
    forge(&app, "record.json", &record(&files, &[("A", "mine"), ("TOKEN", "mine")]));
    app.apply(&[]).exit(0).any_err().out_has("kept .a");
    assert_eq!((app.read(".a"), app.read(".b")), ("mine".into(), "mine".into()));
    assert_eq!(app.read(".sweatshop-env"), "A=mine\nTOKEN=mine\n");
}

#[test]
fn a_genuine_record_that_an_agent_edits_or_moves_claims_nothing_more() {
    let w = World::new();
    let app = w.app();
    let area = "[env]\nA = \"1\"\n[files.a]\ncontent = \"a\"\n";
    w.area(&format!("{area}[files.b]\ncontent = \"b\"\n"));
    let wt = app.worktree("wt");
    wt.apply(&[]).succeeds().any_err();
    w.area(area);
    app.apply(&[]).succeeds().any_err();
    app.sh("echo TOKEN=mine >> .sweatshop-env; echo mine > notes").exit(0);
    let mut edited: Value = serde_json::from_str(&app.read(&format!("{STATE}/record.json"))).unwrap();
    edited["env"]["TOKEN"] = json!("mine");
    edited["files"]["notes"] = json!({ "layer": "area", "content": { "file": Digest::of(b"mine\n").to_string() } });
    forge(&app, "record.json", &edited.to_string());
    app.apply(&[]).succeeds();
    app.apply(&["remove"]).exit(0).out_has("removed .a").out_has("set by hand: TOKEN");
    assert_eq!((app.read("notes"), app.read(".sweatshop-env")), ("mine\n".into(), "TOKEN=mine\n".into()));
    // Another worktree's record is not this one's.
    app.write(".a", "a");
    w.area("");
    let others = app.read(".git/worktrees/wt/shopfloor/sweatfile-apply/record.json");
    forge(&app, "record.json", &others);
    app.apply(&["remove"]).exit(0).out_has("left .a (nothing shows that apply placed it)");
    assert_eq!(app.read(".a"), "a");
    // The genuine one knows what it placed although no sweatfile names it any more.
    wt.apply(&["remove"]).exit(0).out_has("removed .a");
}

#[test]
fn without_its_record_setup_runs_again_but_no_file_that_an_agent_changed() {
    let w = World::new();
    let app = w.app();
    app.commit("setup.sh", "echo good >> log\n");
    app.approved("setup = [\"sh ./setup.sh\"]\n");
    let wt = app.worktree("wt");
    wt.apply(&[]).succeeds();
    wt.sh("rm \"$(git rev-parse --git-dir)/shopfloor/sweatfile-apply/record.json\"").exit(0);
    wt.write("setup.sh", "echo evil >> log\n");
    wt.apply(&[]).exit(3).any_out().err_has("nobody has approved setup.sh");
    // Nor if it takes the file out of its index.
    wt.git(&["rm", "-q", "--cached", "setup.sh"]);
    wt.apply(&[]).exit(3).any_out().err_has("nobody has approved setup.sh");
    // Nor if it writes a record by which set-up has made the file.
    let mut forged: Value = serde_json::from_str(&record(&[], &[])).unwrap();
    forged["made"] = json!({ "setup.sh": Digest::of(b"echo evil >> log\n").to_string() });
    write(&app.path.join(".git/worktrees/wt/shopfloor/sweatfile-apply/record.json"), &forged.to_string());
    wt.apply(&[]).exit(3).any_out().err_has("nobody has approved setup.sh");
    assert_eq!(wt.read("log"), "good\n");
}

#[test]
fn a_forged_snapshot_restores_nothing() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n");
    app.apply(&[]).succeeds();
    app.apply(&["env", "snapshot"]).succeeds();
    app.sh("sed -i s/A=1/A=2/ .sweatshop-env").exit(0);
    let taken = app.read(&format!("{STATE}/snapshot.env"));
    forge(&app, "snapshot.env", "A=evil\n");
    let out = app.apply(&["env", "review", "--discard", "A"]).exit(4);
    out.err_has("snapshot.env is not as it was taken").err_has("env snapshot");
    // Another one would end the question about what is new.
    out.err_has("earlier version").err_has("env diff --reveal").err_has("take out what should not stay");
    assert_eq!(app.read(".sweatshop-env"), "A=2\n");
    // A forged one is not made genuine by an apply.
    w.area("[env]\nA = \"1\"\nB = \"1\"\n");
    app.apply(&[]).succeeds();
    app.apply(&["env", "review", "--discard", "A"]).exit(4).err_has("snapshot.env");
    forge(&app, "snapshot.env", &taken);
    app.apply(&["env", "review", "--discard", "A", "--keep", "B"]).succeeds();
    assert_eq!(app.read(".sweatshop-env"), "A=1\nB=1\n");
}

#[test]
fn variables_that_a_forged_record_calls_applied_are_kept_when_the_worktree_goes() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n");
    let wt = app.worktree("wt");
    wt.apply(&[]).succeeds();
    wt.sh("echo MINE=1 >> .sweatshop-env").exit(0);
    let state = ".git/worktrees/wt/shopfloor/sweatfile-apply";
    app.write(&format!("{state}/record.json"), &record(&[], &[("A", "1"), ("MINE", "1")]));
    app.write(&format!("{state}/snapshot.env"), "A=1\nMINE=1\n");
    let kept = app.apply(&["hook", "run", "pre-remove", "../wt"]).exit(0).err_has("kept A, MINE of").stderr.clone();
    let kept = kept.trim_end().rsplit(" in ").next().unwrap();
    assert!(std::fs::read_to_string(kept).unwrap().ends_with("\nA=1\nMINE=1\n"));
    // The same is not kept twice.
    app.apply(&["hook", "run", "pre-remove", "../wt"]).exit(0).err_has(kept);
}

#[test]
fn a_state_directory_that_is_a_link_is_refused_and_nothing_behind_it_changes() {
    let w = World::new();
    let app = w.app();
    w.area("[env]\nA = \"1\"\n[files.a]\ncontent = \"a\"\n");
    let wt = app.worktree("wt");
    wt.apply(&[]).succeeds().any_err();
    write(&w.home("store/precious"), "mine");
    let store = w.at(w.home("store"));
    let before = store.snapshot();
    app.sh(&format!("mkdir -p {STATE} && ln -s ~/store {STATE}/removed")).exit(0);
    app.apply(&["hook", "run", "pre-remove", "../wt"]).exit(1).err_has("removed is a symbolic link");
    wt.apply(&[]).exit(4).err_has("removed is a symbolic link");
    app.sh(&format!("rm {STATE}/removed; rm -r {STATE}; ln -s ~/store {STATE}")).exit(0);
    for args in [&[][..], &["remove"], &["init"], &["env", "snapshot"], &["env", "review"]] {
        app.apply(args).exit(4).err_has("sweatfile-apply is a symbolic link");
    }
    store.assert_untouched_since(&before);
}

#[test]
fn a_lock_that_is_a_link_is_not_followed() {
    let w = World::new();
    let app = w.app();
    w.area("template = true\nsetup = [\"true\"]\n[env]\nP = \"{port}\"\n");
    write(&w.home("precious"), "mine");
    for lock in ["lock", "ports.lock", "setup.lock"] {
        app.sh(&format!("mkdir -p {STATE} && ln -s ~/precious {STATE}/{lock}")).exit(0);
        app.apply(&[]).exit(4).any_out().err_has(lock);
        app.sh(&format!("rm {STATE}/{lock}")).exit(0);
    }
    assert_eq!(std::fs::read_to_string(w.home("precious")).unwrap(), "mine");
    app.apply(&[]).succeeds();
}

#[test]
fn what_is_remembered_of_the_exclude_file_deletes_no_line_of_others() {
    let w = World::new();
    let app = w.app();
    app.write(".git/info/exclude", "mine\n");
    app.write(".git/shopfloor/exclude.made", "");
    app.write(".git/shopfloor/exclude.cut", "forged");
    w.area("[env]\nA = \"1\"\n");
    app.apply(&[]).succeeds();
    app.apply(&["remove"]).succeeds();
    assert_eq!(app.read(".git/info/exclude"), "mine\n");
}

#[test]
fn a_forged_port_outside_of_the_range_is_not_used() {
    let w = World::new();
    let app = w.app();
    w.area("template = true\n[env]\nP = \"{port}\"\n");
    forge(&app, "ports.json", &json!({ "v": 1, "worktrees": { "": { "": 22 } } }).to_string());
    app.apply(&[]).succeeds();
    let port: u16 = app.read(".sweatshop-env").trim().strip_prefix("P=").unwrap().parse().unwrap();
    assert!((20_000..30_000).contains(&port), "{port}");
    app.apply(&["check"]).exit(0);
}

#[test]
fn a_port_that_an_agent_gave_to_two_worktrees_stays_with_the_one_that_had_it() {
    let w = World::new();
    let app = w.app();
    w.area("template = true\n[env]\nP = \"{port}\"\n");
    let (other, own) = (app.worktree("a"), app.worktree("b"));
    for wt in [&other, &own] {
        wt.apply(&[]).succeeds();
    }
    let env = own.read(".sweatshop-env");
    let port: u16 = env.trim().strip_prefix("P=").unwrap().parse().unwrap();
    let both = json!({ "worktrees/a": { "": port }, "worktrees/b": { "": port } });
    forge(&app, "ports.json", &json!({ "v": 1, "worktrees": both }).to_string());
    app.apply(&["doctor"]).exit(1).any_err().out_has(&format!("several worktrees have the port {port}"));
    own.apply(&["check"]).exit(0);
    other.apply(&[]).succeeds();
    own.apply(&[]).succeeds();
    assert_eq!(own.read(".sweatshop-env"), env);
    assert_ne!(other.read(".sweatshop-env"), env);
    app.apply(&["doctor"]).exit(0).any_out().any_err();
}

#[test]
fn a_forged_main_checkout_is_not_used() {
    let w = World::new();
    let app = w.app();
    app.commit("Makefile", "all:\n\techo good >> log\n");
    app.approved("setup = [\"make\"]\n");
    w.program("make", "cat Makefile >> ~/made");
    let agent = app.worktree("agent");
    agent.commit(".gitignore", ".env\n");
    agent.commit("Makefile", "all:\n\techo evil >> log\n");
    agent.write(".env", "BASH_ENV=evil\n");
    agent.write(".worktreeinclude", ".env\n");
    agent.write("sweatfile", "setup = [\"make\"]\n");
    app.write(".git/shopfloor/main-checkout", agent.path.to_str().unwrap());
    agent.git(&["checkout", "-q", "-b", "next"]);
    let next = w.at(app.path.with_file_name("next-wt"));
    app.git(&["worktree", "add", "-q", next.path.to_str().unwrap(), "agent"]);
    next.apply(&[]).exit(3).any_out().err_has("nobody has approved Makefile");
    assert!(!next.has(".env") && !w.home("made").exists());
}

#[test]
fn no_branchs_name_becomes_a_command() {
    let w = World::new();
    let app = w.app();
    let file = "[files.envrc]\ntemplate = true\ncontent = \"B={branch}\\n\"\n";
    app.approved(&format!("setup = [\"sh ./.envrc\"]\n{file}"));
    let agent = app.worktree("agent");
    agent.git(&["checkout", "-q", "-b", "x$(touch${IFS}ran)"]);
    agent.apply(&[]).any_status().any_out().err_has("a character that shells obey");
    assert!(!agent.has("ran") && !agent.has(".envrc"));
    agent.git(&["checkout", "-q", "-b", "feature/x_1"]);
    agent.apply(&[]).any_status().any_out().any_err();
    assert_eq!(agent.read(".envrc"), "B=feature/x_1\n");
}

#[test]
fn a_forged_record_of_steps_and_caches_hinders_and_takes_nothing() {
    let w = World::new();
    let app = w.app();
    app.commit(".gitignore", "/mine/\n/sweatfile\n");
    app.approved("setup = [{ run = \"touch ~/ran\", name = \"x\", background = true }]\n");
    app.write("mine/notes", "the same in both");
    let wt = app.worktree("wt");
    wt.write("mine/notes", "the same in both");
    wt.apply(&[]).exit(0).any_out().any_err();
    wt.apply(&["wait"]).exit(0).any_err();
    std::fs::remove_file(w.home("ran")).unwrap();
    let state = app.path.join(".git/worktrees/wt/shopfloor/sweatfile-apply");
    let real = std::fs::read_to_string(state.join("record.json")).unwrap();
    let forge = |change: &dyn Fn(&mut Value)| {
        let mut forged: Value = serde_json::from_str(&real).unwrap();
        change(&mut forged);
        write(&state.join("record.json"), &forged.to_string());
    };
    forge(&|record| record["caches"] = json!(["mine"]));
    wt.apply(&["remove"]).exit(0).out_has("left mine (nothing shows that apply placed it)");
    assert_eq!(wt.read("mine/notes"), "the same in both");
    // A step of the agent's own words is none; the approved one runs, or does not.
    forge(&|record| {
        record["steps"] = json!({ "0123456789abcdef": { "name": "\u{1b}[2J", "inputs": {}, "status": 7 } })
    });
    wt.apply(&["wait"]).exit(4).any_out().err_has("`\\u{1b}[2J` failed with status 7");
    wt.apply(&[]).exit(0).any_out().any_err();
    wt.apply(&["wait"]).exit(0).any_err();
    assert!(w.at(w.home("")).has("ran"));
    // Nor does a key lead to files elsewhere.
    let outside = std::fs::File::create(w.home("outside.lock")).unwrap();
    outside.lock().unwrap();
    let key = w.home("outside").display().to_string();
    forge(&|record| record["steps"] = json!({ &key: { "name": "x", "inputs": {}, "status": 7 } }));
    wt.apply(&["wait", "--timeout", "0"]).exit(0);
    write(&state.join("record.json"), &real);
    // A lock that nobody lets go, and a directory that leads elsewhere.
    let steps = state.join("steps");
    let lock = std::fs::read_dir(&steps)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "lock"))
        .unwrap();
    let held = std::fs::File::open(&lock).unwrap();
    held.lock().unwrap();
    wt.apply(&["wait", "--timeout", "10ms"]).exit(124).any_out().any_err();
    wt.run("sweatfile-apply", &["hook", "run", "pre-remove", "."]).exit(1).any_out().err_has("still runs");
    wt.apply(&["--setup-again"]).exit(0).any_out().any_err();
    drop(held);
    std::fs::remove_dir_all(&steps).unwrap();
    std::fs::create_dir(w.home("elsewhere")).unwrap();
    std::os::unix::fs::symlink(w.home("elsewhere"), &steps).unwrap();
    wt.apply(&["--setup-again"]).any_status().any_out().any_err();
    wt.apply(&["wait"]).any_status().any_out().any_err();
    let made = std::fs::read_dir(w.home("elsewhere")).unwrap().count();
    assert_eq!(made, 0, "{made} files in a directory that the agent named");
}
