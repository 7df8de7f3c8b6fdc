//! Wires an agent's own hooks to `worker-ctl hook`, and the MCP server of worktree-spawn to an agent of that, for the session
//! of a worker alone: nothing is written into files of a person, or into a project's files that git knows.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shopfloor_core::agents::{self, AgentProgram, HookWiring, ProjectSettings};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::folder_trust::is_trusted;
use shopfloor_core::fs::{self, Content, Root, Staging};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::path::file_url;
use shopfloor_core::text::shell_word;

use crate::apply::sandbox;
use crate::apply::worktree_spawn::{self, SERVER};
use crate::context::Context;
use crate::layout;
use crate::program_config::{AgentTable, Variables};
use crate::worker::Worker;

/// How many seconds a hook may take until the program goes on without it.
const LIMIT: u64 = 10;

/// The plugin for opencode.
const OPENCODE: &str = include_str!("opencode_hooks.js");

/// What a program is started with: words of its command line, and variables.
pub type Launch = (Vec<String>, Variables);

/// How a program's hooks are wired: the words that `{hooks}` stands for, variables, and the files of ours that these name.
#[derive(Default)]
pub struct Wired {
    pub words: Vec<String>,
    pub variables: Variables,
    pub files: Vec<PathBuf>,
}

/// Makes an agent's program call our hooks and reach our server, if it goes on with the conversation `continued`.
pub fn wire(
    ctx: &Context<'_>,
    worker: &Worker,
    agent: &AgentTable,
    continued: Option<&str>,
    is_contained: bool,
) -> Result<Wired> {
    let nothing = || Ok(Wired::default());
    let Some(program) = agent.hooks.as_deref().and_then(agents::find) else { return nothing() };
    // Without our own program there is nothing to call.
    let (Some(hooks), Some(ours)) = (program.hooks, shopfloor_core::proc::own_program(ctx.env, layout::TOOL)) else {
        return nothing();
    };
    // Inside, our own program has another path.
    let ours = if is_contained { Path::new(sandbox::OURS).join(layout::TOOL) } else { ours };
    let within = if is_contained { "sandbox." } else { "" };
    let file = |extension: &str| layout::agent_file(&ctx.root.path, program.name, &format!("{within}{extension}"));
    let command = format!("{} hook {}", shell_word(&ours), program.name);
    let server = worktree_spawn::server(ctx, worker);
    match hooks.wiring {
        HookWiring::SettingsFlag(flag, servers_flag) => {
            // The program would ask about a server that the worktree names, unless it is ours.
            let is_ours = worktree_spawn::names_own_server(ctx, worker);
            let file = file(if is_ours { "mcp.json" } else { "json" });
            let more = if is_ours { json!({ "enabledMcpjsonServers": [SERVER] }) } else { json!({}) };
            write(&file, &settings(program, &command, LIMIT, more)?)?;
            let server = server.filter(|_| !is_ours).map(|[program, args @ ..]| {
                let servers = json!({ "mcpServers": { SERVER: { "command": program, "args": args } } });
                [servers_flag.to_owned(), servers.to_string()]
            });
            // This flag takes every word that follows, so the other one must come after it.
            let settings = [flag.to_owned(), file.to_string_lossy().into_owned()];
            let words = server.into_iter().flatten().chain(settings).collect();
            Ok(Wired { words, files: vec![file], ..Wired::default() })
        }
        HookWiring::Notify => {
            let words = json!([ours.to_string_lossy(), "hook", program.name]);
            let server = server.map(|[program, args @ ..]| {
                let args = json!(args);
                [format!("command={program}"), format!("args={args}"), "default_tools_approval_mode=\"approve\"".into()]
            });
            let server = server.into_iter().flatten().map(|setting| format!("mcp_servers.{SERVER}.{setting}"));
            let all = std::iter::once(format!("notify={words}")).chain(server);
            Ok(Wired { words: all.flat_map(|setting| ["-c".to_owned(), setting]).collect(), ..Wired::default() })
        }
        // A person's own configuration in that variable goes first.
        HookWiring::Plugin(variable) if ctx.env.var(variable).is_some() => nothing(),
        HookWiring::Plugin(variable) => {
            let (file, name) = (file("js"), json!(ours.to_string_lossy()).to_string());
            write(&file, &OPENCODE.replace("\"@PROGRAM@\"", &name))?;
            let mut config = json!({ "plugin": [file_url(&file)] });
            if let Some(command) = server {
                config["mcp"] = json!({ SERVER: { "type": "local", "command": command } });
            }
            let plugin = (variable.to_owned(), config.to_string());
            // It tells the plugin too that this is the worker's own program.
            let conversation = continued.unwrap_or_default().to_owned();
            let variables = vec![plugin, ("WORKER_CTL_CONVERSATION".to_owned(), conversation)];
            Ok(Wired { variables, files: vec![file], ..Wired::default() })
        }
        // Inside, no folder is one that the person trusts.
        HookWiring::Project(_) if is_contained => nothing(),
        HookWiring::Project(project) => {
            let text = settings(program, &command, LIMIT * project.per_second, json!({}))?;
            let place = || place(&ctx.of(worker)?, worker.tree(), &project, &text);
            ctx.warn_on_failure(&worker.name, place);
            nothing()
        }
    }
}

/// Writes settings into a worktree in which they count, out of git's sight. A file that is not ours stays.
fn place(ctx: &Context<'_>, worktree: &Path, project: &ProjectSettings, text: &str) -> Result<()> {
    if !is_trusted(ctx.env, project, worktree) {
        return Ok(());
    }
    let tracked = ctx.repo.run(worktree, &["--literal-pathspecs", "ls-files", "--", project.file])?;
    let private = ctx.repo.git_dir(worktree)?;
    let path = rel(project.file)?;
    let root = Root::open(worktree)?;
    let placed = layout::private(&private)?.join("hooks");
    let new = Digest::of(text.as_bytes());
    let ours = fs::read_own(&placed)?;
    let is_ours = |digest: &Digest| ours.as_deref() == Some(digest.to_string().as_bytes());
    let old = match root.content(&path) {
        Ok(None) => None,
        Ok(Some(Content::File(digest))) if digest != new && is_ours(&digest) => Some(Content::File(digest)),
        // What is there, or behind a link, is somebody else's.
        Ok(Some(_)) | Err(_) => return Ok(()),
    };
    if !tracked.stdout.is_empty() {
        return Ok(());
    }
    let (ignore, patterns) = project.ignore_file();
    let ignore = rel(&ignore)?;
    let staging = Staging::open(&private, &root)?;
    staging.file(&root, &ignore, patterns.as_bytes(), None)?.place(&root, &ignore)?;
    if root.read(&ignore)?.as_deref() != Some(patterns.as_bytes()) {
        return Ok(());
    }
    let staged = staging.file(&root, &path, text.as_bytes(), Some(fs::PRIVATE))?;
    if staged.place_over(&root, &path, old.as_ref())? { write(&placed, &new.to_string()) } else { Ok(()) }
}

fn rel(path: &str) -> Result<RelPath> {
    RelPath::parse(path).map_err(|e| Failure::failed(format!("{path}: {e}")))
}

fn write(file: &Path, text: &str) -> Result<()> {
    if fs::read_own(file)?.as_deref() == Some(text.as_bytes()) {
        return Ok(());
    }
    fs::create_private_dir(file.parent().unwrap_or(file))?;
    // Several workers may be started at once.
    fs::replace_in_swept(file, text.as_bytes(), Some(fs::PRIVATE))
}

/// Settings in which every event that tells something calls `command`, for at most `limit` in the program's unit, besides
/// the settings in `more`.
fn settings(program: &AgentProgram, command: &str, limit: u64, mut more: Value) -> Result<String> {
    let events = program.hooks.iter().flat_map(|hooks| hooks.events);
    let call = json!([{ "hooks": [{ "type": "command", "command": command, "timeout": limit }] }]);
    let hooks: serde_json::Map<_, _> = events.map(|(event, _)| ((*event).to_owned(), call.clone())).collect();
    more["hooks"] = hooks.into();
    let text = serde_json::to_string_pretty(&more);
    text.map(|text| text + "\n").map_err(|e| Failure::failed("cannot write the hooks' settings").because(e))
}
