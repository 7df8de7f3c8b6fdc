//! The descriptions of the five tools that a client gets.

use rmcp::model::Tool;
use serde_json::{Value, json};

/// The five tools, with the names and arguments that the design gives them.
pub fn tools() -> Vec<Tool> {
    vec![
        tool(
            "spawn_subtree",
            "Give a part of your task to an agent of its own, in a git worktree on a branch of its own",
            json!({ "task": text("The whole task"), "branch_name": text("The name of the branch") }),
            &["task", "branch_name"],
        ),
        tool(
            "spawn_workers",
            "Seat workers in your own worktree, each with a task of its own",
            json!({ "workers": { "type": "array", "items": worker(), "minItems": 1 } }),
            &["workers"],
        ),
        tool(
            "notify_parent",
            "Report to your parent how your task went, or something it should know; the report is kept until the parent takes it",
            json!({
                "status": { "type": "string", "enum": ["success", "failure", "info"] },
                "message": text("The report"),
            }),
            &["status", "message"],
        ),
        tool(
            "wait_for_event",
            "Wait until an agent that you spawned reports something, and take that event; acknowledge it with after_event_id in \
             the next call",
            json!({
                "types": {
                    "type": "array", "items": { "type": "string" },
                    "description": "Only events of these types: worker_complete, subtree_complete, worker_idle, worker_exited, worker_died, agent_message",
                },
                "timeout_secs": { "type": "integer", "minimum": 0, "description": "How many seconds to wait (50)" },
                "after_event_id": {
                    "type": "integer", "minimum": 0,
                    "description": "The `id` of the last event you got here: always give it, or an event that you had to wait for is delivered once more",
                },
            }),
            &[],
        ),
        tool(
            "list_agents",
            "List all agents, with their state and the number of events that wait for them",
            json!({}),
            &[],
        ),
    ]
}

fn tool(name: &'static str, what: &'static str, properties: Value, required: &[&str]) -> Tool {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    Tool::new(name, what, schema.as_object().cloned().unwrap_or_default())
}

fn text(what: &str) -> Value {
    json!({ "type": "string", "description": what })
}

/// A worker as `spawn_workers` takes it.
fn worker() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": text("The name of the agent"),
            "prompt": text("The whole task"),
            "agent": text("The agent program, such as claude or gemini"),
        },
        "required": ["name", "prompt"],
    })
}
