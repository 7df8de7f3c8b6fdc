//! Workers, which sit in their parent's worktree.

use crate::support::spawn::{app, subtree};
use crate::support::world::{World, text};

#[test]
fn workers_sit_in_their_parents_worktree() {
    let w = World::new();
    let app = app(&w);
    let (a, b) = (subtree(&app, &["a"]), subtree(&app, &["b"]));
    let json = a.spawn(&["worker", "rust-impl", "--agent", "gemini", "--task", "do it", "--json"]).exit(0).json();
    let settings = a.path.join(".shopfloor/agents/rust-impl/settings.json");
    assert_eq!((text(&json, "/config"), text(&json, "/path")), (settings.to_str().unwrap(), a.path.to_str().unwrap()));
    assert_eq!((text(&json, "/id"), text(&json, "/birth_branch")), ("main.a/rust-impl", "main.a"));
    let settings: serde_json::Value =
        serde_json::from_str(&a.read(".shopfloor/agents/rust-impl/settings.json")).unwrap();
    assert!(text(&settings, "/hooks/AfterAgent/0/hooks/0/command").ends_with("hook worker-exit --as main.a/rust-impl"));
    assert_eq!(settings["mcpServers"]["shopfloor"]["args"], serde_json::json!(["mcp", "--as", "main.a/rust-impl"]));
    for child in [&a, &b] {
        child.spawn(&["worker", "x"]).succeeds();
        child.spawn(&["worker", "x"]).exit(1).err_has("already exists");
    }
    // As with a subtree, nobody could tell later that its record is ours.
    a.sh("env -u HOME worktree-spawn worker alone").exit(2).err_has("there is no place for your own state");
    a.spawn(&["path", "alone"]).exit(1).any_err();
    // Two seats with the same slug, in two worktrees.
    app.spawn(&["path", "x"]).exit(1).err_has("main.a/x and main.b/x");
    for (child, id) in [(&a, "main.a/x"), (&b, "main.b/x")] {
        let run = ["run", id, "--", "worktree-spawn", "notify", "success", "done"];
        child.spawn(&run).succeeds();
        let event = child.spawn(&["wait", "--timeout", "10s"]).exit(0).json();
        assert_eq!((text(&event, "/from/id"), text(&event, "/type")), (id, "worker_complete"));
    }
    assert_eq!(a.git(&["status", "--porcelain"]), "");
    // The environment cannot name an agent of another worktree.
    let as_a = [("SHOPFLOOR_AGENT_ID", "main.a")];
    b.run_with("worktree-spawn", &["whoami"], &as_a).exit(2).err_has("main.b");
    b.run_with("worktree-spawn", &["whoami", "--as", "main.b/x"], &as_a).exit(0).out_has("main.b/x");
    assert_eq!(
        a.run_with("worktree-spawn", &["whoami"], &[("SHOPFLOOR_AGENT_ID", "main.a/x")]).exit(0).stdout,
        "main.a/x\n"
    );
    app.spawn(&["whoami", "--as", "nobody"]).exit(1).err_has("no agent `nobody`");
    // A seat that a seat asks for is in the same worktree.
    let beside = a.run_with("worktree-spawn", &["worker", "helper"], &[("SHOPFLOOR_AGENT_ID", "main.a/x")]).exit(0);
    assert_eq!(beside.stdout, "main.a/helper\n");
    a.run_with("worktree-spawn", &["subtree", "s"], &[("SHOPFLOOR_AGENT_ID", "main.a/x")]).exit(1).err_has("level 3");
}
