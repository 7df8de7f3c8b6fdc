//! Wires an agent's own hooks to `worker-ctl hook`, for the session of a worker alone: nothing is written into files of a
//! person or a project.

use serde_json::json;
use shopfloor_core::agents::{self, AgentProgram, HookWiring};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::text::shell_word;

use crate::agent::AgentTable;
use crate::layout;
use crate::site::Site;
use crate::worker::Worker;

/// How many seconds a hook may take until the program goes on without it.
const LIMIT: u64 = 10;

/// Writes what the hooks of a worker's program need, and returns the words that `{hooks}` stands for.
pub fn wire(site: &Site<'_>, _worker: &Worker, agent: &AgentTable) -> Result<Vec<String>> {
    let Some(program) = agent.hooks.as_deref().and_then(agents::find) else { return Ok(Vec::new()) };
    let Some(hooks) = program.hooks else { return Ok(Vec::new()) };
    // Without our own program there is nothing to call.
    let Some(ours) = layout::own_program(site.env) else { return Ok(Vec::new()) };
    match hooks.wiring {
        HookWiring::SettingsFlag(flag) => {
            let command = format!("{} hook {}", shell_word(&ours), program.name);
            let file = layout::agent_settings(&site.root.path, program.name);
            let text = settings(program, &command)?;
            if fs::read_own(&file)?.as_deref() != Some(text.as_bytes()) {
                fs::create_private_dir(file.parent().unwrap_or(&site.root.path))?;
                fs::replace(&file, text.as_bytes(), Some(fs::PRIVATE))?;
            }
            Ok(vec![flag.to_owned(), file.to_string_lossy().into_owned()])
        }
        HookWiring::Notify => {
            let words = json!([ours.to_string_lossy(), "hook", program.name]);
            Ok(vec!["-c".to_owned(), format!("notify={words}")])
        }
    }
}

/// Settings in which every event that tells something calls `command`.
fn settings(program: &AgentProgram, command: &str) -> Result<String> {
    let events = program.hooks.iter().flat_map(|hooks| hooks.events);
    let call = json!([{ "hooks": [{ "type": "command", "command": command, "timeout": LIMIT }] }]);
    let hooks: serde_json::Map<_, _> = events.map(|(event, _)| ((*event).to_owned(), call.clone())).collect();
    let text = serde_json::to_string_pretty(&json!({ "hooks": hooks }));
    text.map(|text| text + "\n").map_err(|e| Failure::failed("cannot write the hooks' settings").because(e))
}
