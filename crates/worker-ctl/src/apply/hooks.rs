//! Wires an agent's own hooks to `worker-ctl hook`, for the session of a worker alone: nothing is written into files of a
//! person or a project.

use std::path::Path;

use serde_json::json;
use shopfloor_core::agents::{self, AgentProgram, HookWiring};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::text::shell_word;

use crate::agent::AgentTable;
use crate::layout;
use crate::site::Site;

/// How many seconds a hook may take until the program goes on without it.
const LIMIT: u64 = 10;

/// The plugin for opencode.
const OPENCODE: &str = include_str!("opencode_hooks.js");

/// What makes a program call our hooks.
#[derive(Debug, Default)]
pub struct Wires {
    /// The words that `{hooks}` stands for.
    pub words: Vec<String>,
    /// Variables of the program.
    pub variables: Vec<(&'static str, String)>,
}

/// Writes what the hooks of an agent's program need, and returns what the program must be started with.
pub fn wire(site: &Site<'_>, agent: &AgentTable) -> Result<Wires> {
    let Some(program) = agent.hooks.as_deref().and_then(agents::find) else { return Ok(Wires::default()) };
    // Without our own program there is nothing to call.
    let (Some(hooks), Some(ours)) = (program.hooks, layout::own_program(site.env)) else {
        return Ok(Wires::default());
    };
    let file = |extension: &str| layout::agent_file(&site.root.path, program.name, extension);
    let mut wires = Wires::default();
    match hooks.wiring {
        HookWiring::SettingsFlag(flag) => {
            let command = format!("{} hook {}", shell_word(&ours), program.name);
            let file = file("json");
            write(&file, &settings(program, &command)?)?;
            wires.words = vec![flag.to_owned(), file.to_string_lossy().into_owned()];
        }
        HookWiring::Notify => {
            let words = json!([ours.to_string_lossy(), "hook", program.name]);
            wires.words = vec!["-c".to_owned(), format!("notify={words}")];
        }
        // A person's own configuration in that variable goes first.
        HookWiring::Plugin(variable) if site.env.var(variable).is_some() => {}
        HookWiring::Plugin(variable) => {
            let (file, name) = (file("js"), json!(ours.to_string_lossy()).to_string());
            write(&file, &OPENCODE.replace("\"@PROGRAM@\"", &name))?;
            let url = file_url(&file);
            wires.variables = vec![(variable, json!({ "plugin": [url] }).to_string())];
        }
        HookWiring::None => {}
    }
    Ok(wires)
}

/// The URL of a file.
fn file_url(file: &Path) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte);
    let bytes = file.as_os_str().as_encoded_bytes().iter();
    let encoded: String = bytes
        .map(|byte| if is_plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    format!("file://{encoded}")
}

fn write(file: &Path, text: &str) -> Result<()> {
    if fs::read_own(file)?.as_deref() == Some(text.as_bytes()) {
        return Ok(());
    }
    fs::create_private_dir(file.parent().unwrap_or(file))?;
    fs::replace(file, text.as_bytes(), Some(fs::PRIVATE))
}

/// Settings in which every event that tells something calls `command`.
fn settings(program: &AgentProgram, command: &str) -> Result<String> {
    let events = program.hooks.iter().flat_map(|hooks| hooks.events);
    let call = json!([{ "hooks": [{ "type": "command", "command": command, "timeout": LIMIT }] }]);
    let hooks: serde_json::Map<_, _> = events.map(|(event, _)| ((*event).to_owned(), call.clone())).collect();
    let text = serde_json::to_string_pretty(&json!({ "hooks": hooks }));
    text.map(|text| text + "\n").map_err(|e| Failure::failed("cannot write the hooks' settings").because(e))
}
