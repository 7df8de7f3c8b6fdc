//! The descriptions of the five tools that a client gets.

use rmcp::model::Tool;
use serde_json::{Value, json};

/// The five tools, with the names and arguments that the design gives them.
pub fn tools() -> Vec<Tool> {
    let text = |what: &str| json!({ "type": "string", "description": what });
    let tool = |name: &'static str, what: &'static str, properties: Value, required: &[&str]| {
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        Tool::new(name, what, schema.as_object().cloned().unwrap_or_default())
    };
    let worker = json!({
        "type": "object",
        "properties": {
            "name": text("What it is called"),
            "prompt": text("What it is to do, whole"),
            "agent": text("The program that does it, such as claude or gemini"),
        },
        "required": ["name", "prompt"],
    });
    vec![
        tool(
            "spawn_subtree",
            "Give a part of your task to an agent of its own, in a git worktree on a branch of its own",
            json!({ "task": text("What it is to do, whole"), "branch_name": text("What the branch is called") }),
            &["task", "branch_name"],
        ),
        tool(
            "spawn_workers",
            "Seat workers in your own worktree, each with its own task",
            json!({ "workers": { "type": "array", "items": worker, "minItems": 1 } }),
            &["workers"],
        ),
        tool(
            "notify_parent",
            "Tell your parent how it went, or something it should know; it is kept until the parent takes it",
            json!({
                "status": { "type": "string", "enum": ["success", "failure", "info"] },
                "message": text("What there is to say"),
            }),
            &["status", "message"],
        ),
        tool(
            "wait_for_event",
            "Wait until one of those you spawned has something to tell, and take that event; next time say with after_event_id \
             that you have it",
            json!({
                "types": {
                    "type": "array", "items": { "type": "string" },
                    "description": "Only these: worker_complete, subtree_complete, worker_idle, worker_exited, worker_died, agent_message",
                },
                "timeout_secs": { "type": "integer", "minimum": 0, "description": "How long to wait (50)" },
                "after_event_id": {
                    "type": "integer", "minimum": 0,
                    "description": "The `id` of the last event you got here: always give it, or an event you had to wait for comes once more",
                },
            }),
            &[],
        ),
        tool("list_agents", "List all agents, how they are and what waits for them", json!({}), &[]),
    ]
}
