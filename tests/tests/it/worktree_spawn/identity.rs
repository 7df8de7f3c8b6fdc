//! Who an agent is, and that it stays who it is.

use crate::support::spawn::{app, subtree};
use crate::support::world::{World, mode, text, write};

#[test]
fn a_copied_record_is_named_with_both_worktrees() {
    let w = World::new();
    let app = app(&w);
    let (a, b) = (subtree(&app, &["a"]), subtree(&app, &["b"]));
    let record = |name: &str| app.path.join(format!(".git/worktrees/{name}/shopfloor/worktree-spawn/identity.json"));
    std::fs::copy(record("a"), record("b")).unwrap();
    let both = format!("{} and {} both have the record of main.a", a.path.display(), b.path.display());
    for name in ["a", "main.a"] {
        app.spawn(&["path", name]).exit(1).err_has(&both);
    }
    let doctor = app.spawn(&["doctor"]).exit(1);
    doctor.out_has(&both).out_has(&format!("`mv {}", record("b").display()));
}

#[test]
fn doctor_says_how_to_get_out_of_a_record_that_cannot_be_read() {
    let w = World::new();
    let app = app(&w);
    let d = subtree(&app, &["d"]);
    let file = app.path.join(".git/worktrees/d/shopfloor/worktree-spawn/identity.json");
    let record = std::fs::read_to_string(&file).unwrap();
    write(&file, &record.replace("\"v\":1", "\"v\":9"));
    app.spawn(&["doctor"]).exit(1).out_has("is newer than this program knows; use the version of worktree-spawn");
    app.sh(&format!("chmod 0 {}", file.display())).exit(0);
    let doctor = app.run_bound("worktree-spawn", &["doctor"]).exit(1);
    doctor.out_has("Permission denied").out_has("`chmod u+r ");
    app.sh(&format!("chmod 600 {}", file.display())).exit(0);
    write(&file, "{b");
    let doctor = app.spawn(&["doctor"]).exit(1).stdout;
    let way = doctor.split('`').nth(1).unwrap().to_owned();
    app.spawn(&["remove", "d", "--force"]).exit(2).err_has("the record of d cannot be read").err_has(&way);
    app.sh(&way).exit(0);
    app.git(&["worktree", "remove", d.path.to_str().unwrap()]);
    app.spawn(&["doctor"]).exit(0).any_out();
}

#[test]
fn an_identity_survives_everything_but_the_removal_of_its_worktree() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["Feature A", "--role", "lead"]);
    let who = |args: &[&str]| child.spawn(&[&["whoami", "--json"], args].concat()).exit(0).json();
    let before = who(&[]);
    assert_eq!(
        before,
        serde_json::json!({
            "v": 1, "id": "main.feature-a", "kind": "subtree", "session": "main.feature-a", "parent": "root",
            "birth_branch": "main.feature-a", "level": 2, "path": child.path, "name": "feature-a", "worktree": child.path,
        })
    );
    assert_eq!(child.read(".shopfloor/config.local.toml"), "role = \"lead\"\n");
    child.git(&["switch", "-q", "-c", "other"]);
    child.git(&["branch", "-m", "other", "renamed"]);
    child.git(&["clean", "-qffdx"]);
    assert_eq!(who(&[]), before);
    let row = app.spawn(&["list", "--json", "--kind", "subtree"]).exit(0).json();
    assert_eq!((text(&row, "/branch"), text(&row, "/birth_branch")), ("renamed", "main.feature-a"));
    assert_eq!(row["drift"], true);
    child.git(&["switch", "-q", "--detach"]);
    assert_eq!(who(&[]), before);
    app.git(&["worktree", "move", child.path.to_str().unwrap(), app.path.with_file_name("moved").to_str().unwrap()]);
    let moved = w.at(app.path.with_file_name("moved"));
    assert_eq!(text(&moved.spawn(&["whoami", "--json"]).exit(0).json(), "/id"), "main.feature-a");
    let record = app.path.join(".git/worktrees/feature-a/shopfloor/worktree-spawn/identity.json");
    assert_eq!(mode(&record), 0o600);
    let record: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(record).unwrap()).unwrap();
    assert_eq!((text(&record, "/requested"), text(&record, "/role")), ("Feature A", "lead"));
    assert_eq!(record["parents"], serde_json::json!(["root"]));
    assert_eq!(text(&record, "/base_sha"), app.git(&["rev-parse", "HEAD"]).trim());
}

#[test]
fn worktrees_made_by_hand_are_roots() {
    let w = World::new();
    let app = app(&w);
    app.git(&["worktree", "add", "-q", ".shopfloor/worktrees/by-hand", "-b", "topic"]);
    let hand = w.at(app.path.join(".shopfloor/worktrees/by-hand"));
    let row = app.spawn(&["list", "--json"]).exit(0).json_lines().remove(1);
    assert_eq!((text(&row, "/kind"), text(&row, "/id"), row["managed"].as_bool()), ("root", "topic", Some(false)));
    // A dry run decides nothing for later.
    for args in [&["whoami"][..], &["subtree", "x"], &["worker", "x"], &["events"]] {
        hand.spawn(&[args, &["-n"]].concat()).exit(0).any_out().any_err();
    }
    hand.spawn(&["notify", "info", "hello", "-n"]).exit(1).any_err();
    assert!(!app.has(".git/worktrees/by-hand/shopfloor/worktree-spawn/identity.json"));
    assert!(!w.home(".local/state/shopfloor/own-files").exists());
    let who = hand.spawn(&["whoami", "--json"]).exit(0).json();
    assert_eq!((text(&who, "/id"), text(&who, "/session"), who["level"].as_u64()), ("topic", "topic", Some(1)));
    hand.git(&["switch", "-q", "-c", "elsewhere"]);
    assert_eq!(hand.spawn(&["whoami"]).exit(0).stdout, "topic\n");
    let child = subtree(&hand, &["x"]);
    assert_eq!(child.git(&["branch", "--show-current"]), "topic.x\n");
    child.spawn(&["notify", "info", "hello"]).succeeds();
    assert_eq!(text(&hand.spawn(&["wait", "--timeout", "10s"]).exit(0).json(), "/to"), "topic");
    hand.spawn(&["notify", "info", "hello"]).exit(1).err_has("no parent");
    // The error names the worktrees inside before it hints at a command that would destroy them.
    app.spawn(&["remove", "topic"]).exit(1).err_has("topic.x at");
    app.spawn(&["remove", "topic.x"]).succeeds();
    app.spawn(&["remove", "topic"]).exit(1).err_has("git worktree remove");
}

#[test]
fn ids_are_unique() {
    let w = World::new();
    let app = app(&w);
    app.git(&["worktree", "add", "-q", "-b", "root", "../root"]);
    let stranger = w.at(app.path.with_file_name("root"));
    assert_eq!(stranger.spawn(&["whoami"]).exit(0).stdout, "root@root\n");
    let child = subtree(&app, &["x"]);
    child.git(&["switch", "-q", "-c", "elsewhere"]);
    app.git(&["worktree", "add", "-q", "../hand", "main.x"]);
    assert_eq!(w.at(app.path.with_file_name("hand")).spawn(&["whoami"]).exit(0).stdout, "main.x@hand\n");
    assert_eq!(app.spawn(&["path", "main.x"]).exit(0).stdout, format!("{}\n", child.path.display()));
    // Agents whose records name each other as parents are drawn as well.
    let record = app.path.join(".git/worktrees/x/shopfloor/worktree-spawn/identity.json");
    let text = std::fs::read_to_string(&record).unwrap().replace("\"parent\":\"root\"", "\"parent\":\"main.x\"");
    std::fs::write(&record, text).unwrap();
    app.spawn(&["list", "--tree"]).exit(0).out_has("main.x  ");
    let text = std::fs::read_to_string(&record).unwrap().replace("\"slug\":\"x\"", "\"slug\":\"../x\"");
    std::fs::write(&record, text).unwrap();
    app.spawn(&["list", "--json"]).exit(0).out_has("is not a slug");
}

#[test]
fn records_and_events_of_a_later_version_are_left_alone() {
    let w = World::new();
    let app = app(&w);
    let child = subtree(&app, &["x"]);
    child.spawn(&["notify", "info", "known"]).succeeds();
    let new = app.path.join(".git/shopfloor/worktree-spawn/session/root/new");
    write(&new.join("00000000000000000002.json"), "{\"v\":2,\"id\":2}\n");
    child.spawn(&["notify", "info", "after"]).succeeds();
    let heard = app.spawn(&["wait", "--count", "2", "--timeout", "9s"]).exit(0);
    heard.err_has("newer than this program knows");
    assert_eq!(text(&heard.json_lines()[1], "/message"), "after");
    assert!(new.join("00000000000000000002.json").exists());
    let record = app.path.join(".git/worktrees/x/shopfloor/worktree-spawn/identity.json");
    let text = std::fs::read_to_string(&record).unwrap().replace("\"v\":1", "\"v\":2");
    std::fs::write(&record, text).unwrap();
    child.spawn(&["whoami"]).exit(2).err_has("use the version of worktree-spawn that wrote it");
}

#[test]
fn an_environment_that_names_a_removed_agent_is_refused() {
    let w = World::new();
    let child = subtree(&app(&w), &["s"]);
    child
        .run_with("worktree-spawn", &["whoami"], &[("SHOPFLOOR_AGENT_ID", "main.gone")])
        .exit(2)
        .err_has("may have been removed");
}
