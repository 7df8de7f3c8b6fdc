//! The files of an agent: its task, its role, and the configuration by which it finds its tools. Files that exist are
//! not replaced; into JSON files ours is merged.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::errors::ParseError;
use serde_json::Value;
use shopfloor_core::agents::{GEMINI_PROJECT, SettingsForm};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::folder_trust::is_trusted;
use shopfloor_core::fs::{self, Content, Found, Root, Staging};
use shopfloor_core::git::{Git, WorktreeDir};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::{Position, shell_word};

use crate::agent_in_worktree::{IGNORE_FILE, KnownAgent, OWN_MCP_FILE, ROLE_FILE, SETTINGS_FILE, TASK_FILE, seat_dir};
use crate::facts::agent_environment::settings_form;
use crate::failure;
use crate::identity::{Agent, AgentKind};
use crate::launcher::word;
use crate::layout;
use crate::repository_view::Worktree;
use crate::tool::program;

/// The text of `.shopfloor/.gitignore`.
const IGNORE: &str = "*\n!config.toml\n";

/// The name of our MCP server in configurations.
const SERVER: &str = "shopfloor";

/// A worktree's files, and the directory of those that are not whole yet.
struct WorktreeFiles {
    root: Root,
    staging: Staging,
}

impl WorktreeFiles {
    fn open(worktree: &Worktree) -> Result<WorktreeFiles> {
        let root = open_root(worktree)?;
        let staging = Staging::shared(&layout::temporary_dir(&layout::state_dir(&worktree.git_dir)), &root)?;
        Ok(WorktreeFiles { root, staging })
    }

    /// Writes a file if there is none.
    fn create(&self, path: &str, bytes: &[u8], mode: Option<u32>) -> Result<bool> {
        let path = rel(path)?;
        self.staging.file(&self.root, &path, bytes, mode)?.place(&self.root, &path)
    }

    /// Writes a file, or replaces it.
    fn write(&self, path: &str, bytes: &[u8], mode: Option<u32>) -> Result<()> {
        let path = rel(path)?;
        for _ in 0..10 {
            let staged = self.staging.file(&self.root, &path, bytes, mode)?;
            let is_placed = match self.root.read_whole(&path)? {
                Some((old, _)) if old == bytes => return Ok(()),
                Some((old, _)) => staged.swap(&self.root, &path, &Content::File(Digest::of(&old)))?,
                None => staged.place(&self.root, &path)?,
            };
            if is_placed {
                return Ok(());
            }
        }
        Err(Failure::failed(format!("{} is being written by other processes", self.root.join(&path).display())))
    }

    /// Edits a JSON file. Text that the edit does not concern stays as it is.
    fn merge(&self, path: &str, edit: impl Fn(&CstObject) -> Option<()>) -> Result<()> {
        let target = rel(path)?;
        let text = self.root.read(&target)?.unwrap_or_default();
        let wrong = |why: String| {
            Failure::malformed(format!("{}: {why}", self.root.join(&target).display()))
                .hint("fix the file, or move it away")
        };
        let text = String::from_utf8(text).map_err(|_| wrong("not UTF-8".into()))?;
        let text = if text.trim().is_empty() { "{}\n" } else { &text };
        let parsed =
            parse(text).map_err(|e| wrong(format!("{}: {}", Position::of(text, e.range().start), e.kind())))?;
        let merged = parsed.object_value().and_then(|object| edit(&object));
        merged.ok_or_else(|| wrong("it has a value of another kind where ours belongs".into()))?;
        self.write(path, parsed.to_string().as_bytes(), None)
    }

    /// Takes ours out of a JSON file, and removes the file if that was all. What cannot be understood stays.
    fn take_back(&self, path: &str, edit: impl Fn(&CstObject)) -> Result<()> {
        let target = rel(path)?;
        let text = self.root.read(&target).ok().flatten().and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(text) = text else { return Ok(()) };
        let Ok(parsed) = parse(&text) else { return Ok(()) };
        parsed.object_value().iter().for_each(edit);
        let left = parsed.to_string();
        if left.split_whitespace().collect::<String>() == "{}" {
            let was = Content::File(Digest::of(text.as_bytes()));
            return self.staging.remove(&self.root, &target, &was).map(drop);
        }
        self.write(path, left.as_bytes(), None)
    }

    /// Refuses to make a seat whose task file is there with another text, or is none (exit 1).
    fn require_own_task(&self, path: &str, task: &[u8]) -> Result<()> {
        let target = rel(path)?;
        match self.root.look(&target)? {
            Found::Missing | Found::Blocked(_) => Ok(()),
            Found::File(_) if self.root.read_whole(&target)?.is_some_and(|(text, _)| text == task) => Ok(()),
            _ => Err(failure::EXISTS
                .failure(format!("{} is there already, and is not this task", self.root.join(&target).display()))
                .hint("move it away, or choose another name for the agent")),
        }
    }
}

fn parse(text: &str) -> std::result::Result<CstRootNode, ParseError> {
    let options = ParseOptions { allow_comments: true, allow_trailing_commas: true, ..ParseOptions::default() };
    CstRootNode::parse(text, &options)
}

/// A worktree's directory. That of a linked one is the one that git's record leads to.
fn open_root(worktree: &Worktree) -> Result<Root> {
    match worktree.is_main {
        true => Root::open(&worktree.path),
        false => WorktreeDir::require(&worktree.path, &worktree.git_dir).map(WorktreeDir::into_root),
    }
}

fn rel(path: &str) -> Result<RelPath> {
    RelPath::parse(path).map_err(|e| Failure::failed(format!("{path}: {e}")))
}

/// Refuses files that are checked in (exit 2): the agent would take a stranger's hooks and servers for its user's.
fn refuse_tracked(env: &Env, worktree: &Worktree, paths: &[&str]) -> Result<()> {
    let there = paths.iter().filter(|path| worktree.path.join(path).symlink_metadata().is_ok());
    let there: Vec<OsString> = there.map(|path| format!(":(top,literal){path}").into()).collect();
    if there.is_empty() {
        return Ok(());
    }
    let listed = Git::find(env)?.ls_files(&worktree.path, &[&["--".into()], &there[..]].concat())?;
    let Some(path) = listed.first() else { return Ok(()) };
    let why = format!("{} is checked in, and the agent would trust it", worktree.path.join(path).display());
    Err(failure::CHECKED_IN
        .with(Exit::Bad, why)
        .hint(format!("read it, then take it out of the repository: `git rm --cached {}`", shell_word(path))))
}

/// Makes the `.shopfloor/` of a worktree ignore itself.
pub fn ignore_itself(worktree: &Worktree) -> Result<()> {
    let files = WorktreeFiles::open(worktree)?;
    files.create(IGNORE_FILE, IGNORE.as_bytes(), None).map(drop)
}

/// Writes the files that a subtree has before the repository's hooks run.
pub fn furnish(env: &Env, worktree: &Worktree, agent: &Agent, task: Option<&[u8]>) -> Result<()> {
    let files = WorktreeFiles::open(worktree)?;
    refuse_tracked(env, worktree, &[TASK_FILE, OWN_MCP_FILE, SETTINGS_FILE])?;
    files.create(IGNORE_FILE, IGNORE.as_bytes(), None)?;
    // A string of JSON is one of TOML as well.
    let role = Value::from(agent.role.clone().unwrap_or_default());
    files.create(ROLE_FILE, format!("role = {role}\n").as_bytes(), None)?;
    if let Some(task) = task {
        files.write(TASK_FILE, task, Some(fs::PRIVATE))?;
    }
    Ok(())
}

/// Writes the configuration by which a subtree's agent finds its tools, and returns the MCP file's path. `path` is
/// `.mcp.json`, which agent programs find by themselves, or a file of ours where that one is checked in.
pub fn connect(env: &Env, worktree: &Worktree, agent: &Agent, path: &str) -> Result<PathBuf> {
    let files = WorktreeFiles::open(worktree)?;
    files.merge(path, |object| add_server(object, env, &agent.id, SettingsForm::Claude))?;
    let form = settings_form(agent.agent.as_deref());
    if form == SettingsForm::Gemini {
        let is_read = is_trusted(env, &GEMINI_PROJECT, &worktree.path) && hide_project_settings(env, worktree, &files)?;
        files.merge(if is_read { GEMINI_PROJECT.file } else { SETTINGS_FILE }, |object| {
            add_turn_hooks(object, env, agent, form)?;
            add_server(object, env, &agent.id, form)
        })?;
    }
    Ok(worktree.path.join(path))
}

/// The same, but in the file of ours, with a warning, if that is not possible in the other one. Warns where a person's gemini
/// will find none of it.
pub fn connect_somehow(
    env: &Env,
    worktree: &Worktree,
    agent: &Agent,
    path: &str,
    warnings: &mut Vec<String>,
) -> Result<PathBuf> {
    let mcp = connect(env, worktree, agent, path).or_else(|failure| {
        // What has failed may have come after the file was written.
        warnings.push(format!("{failure}, so the agent finds its tools in {OWN_MCP_FILE}"));
        connect(env, worktree, agent, OWN_MCP_FILE)
    })?;
    // gemini reads a file that a variable names only if the superuser owns it.
    let is_unread = || worktree.path.join(SETTINGS_FILE).symlink_metadata().is_ok_and(|meta| meta.uid() != 0);
    let is_gemini = settings_form(agent.agent.as_deref()) == SettingsForm::Gemini;
    if is_gemini && is_unread() && is_trusted(env, &GEMINI_PROJECT, &worktree.path) {
        let file = GEMINI_PROJECT.file;
        warnings.push(format!(
            "{file} there is not ours, so gemini gets neither the MCP server nor the hook that reports the end of a turn; \
             keep your settings in ~/{file} and take that file out of the repository (`git rm --cached {file}`), or let the \
             agent report with `worktree-spawn notify`"
        ));
    }
    Ok(mcp)
}

/// Makes git ignore the settings that gemini reads in a worktree. `false` if they, or the ignore file beside them, are
/// somebody else's.
fn hide_project_settings(env: &Env, worktree: &Worktree, files: &WorktreeFiles) -> Result<bool> {
    let (ignore, patterns) = GEMINI_PROJECT.ignore_file();
    let text = |path: &str| files.root.read(&rel(path)?);
    let is_ours = |ignored: Option<Vec<u8>>| ignored.as_deref() == Some(patterns.as_bytes());
    // A link leads to somebody else's.
    let (Ok(settings), Ok(ignored)) = (text(GEMINI_PROJECT.file), text(&ignore)) else { return Ok(false) };
    if settings.is_some() && !is_ours(ignored) {
        return Ok(false);
    }
    let file = [OsString::from("--"), format!(":(top,literal){}", GEMINI_PROJECT.file).into()];
    if !Git::find(env)?.ls_files(&worktree.path, &file)?.is_empty() {
        return Ok(false);
    }
    files.create(&ignore, patterns.as_bytes(), None)?;
    Ok(is_ours(text(&ignore)?))
}

/// Writes the files of a seat, and returns the path of the MCP configuration, which gemini has in its settings.
pub fn seat(env: &Env, seated: &KnownAgent, task: Option<&[u8]>) -> Result<PathBuf> {
    let (worktree, agent) = (&seated.worktree, &seated.agent);
    let files = WorktreeFiles::open(worktree)?;
    files.create(IGNORE_FILE, IGNORE.as_bytes(), None)?;
    let dir = seat_dir(&agent.slug);
    refuse_tracked(env, worktree, &[&dir])?;
    let task_file = format!("{dir}/task.md");
    task.map_or(Ok(()), |task| files.require_own_task(&task_file, task))?;
    let settings = format!("{dir}/settings.json");
    let form = settings_form(agent.agent.as_deref());
    let mcp = match form {
        SettingsForm::Gemini => settings.clone(),
        SettingsForm::Claude => format!("{dir}/mcp.json"),
    };
    files.merge(&settings, |object| add_turn_hooks(object, env, agent, form))?;
    files.merge(&mcp, |object| add_server(object, env, &agent.id, form))?;
    if let Some(task) = task
        && !files.create(&task_file, task, Some(fs::PRIVATE))?
    {
        files.require_own_task(&task_file, task)?;
    }
    Ok(worktree.path.join(mcp))
}

/// Adds the hooks that an agent program calls at the end of a turn.
fn add_turn_hooks(settings: &CstObject, env: &Env, agent: &Agent, form: SettingsForm) -> Option<()> {
    // The program hands the command to a shell.
    let command = format!("{} hook worker-exit --as {}", word(&program(env)), word(&agent.id));
    let hooks = settings.object_value_or_create("hooks")?;
    form.turn_hooks().iter().try_for_each(|event| add_hook(&hooks, event, &command))
}

/// Adds our server. Gemini is told to call it without a question.
fn add_server(object: &CstObject, env: &Env, id: &str, form: SettingsForm) -> Option<()> {
    let text = |text: &str| CstInputValue::String(text.to_owned());
    let args = CstInputValue::Array(["mcp", "--as", id].into_iter().map(text).collect());
    let trust = (form == SettingsForm::Gemini).then(|| ("trust".into(), CstInputValue::Bool(true)));
    let server = [("command".into(), text(&program(env))), ("args".into(), args)].into_iter().chain(trust);
    let server = CstInputValue::Object(server.collect());
    let servers = object.object_value_or_create("mcpServers")?;
    match servers.get(SERVER) {
        Some(property) => property.set_value(server),
        None => drop(servers.append(SERVER, server)),
    }
    Some(())
}

fn add_hook(hooks: &CstObject, event: &str, command: &str) -> Option<()> {
    let list = hooks.array_value_or_create(event)?;
    let is_there = list.elements().iter().filter_map(|node| node.to_serde_value()).any(|value: Value| {
        let commands = value.get("hooks").and_then(Value::as_array).cloned().unwrap_or_default();
        commands.iter().any(|hook| hook.get("command").and_then(Value::as_str) == Some(command))
    });
    if !is_there {
        let text = |text: &str| CstInputValue::String(text.to_owned());
        let hook = vec![("type".to_owned(), text("command")), ("command".to_owned(), text(command))];
        let hooks = CstInputValue::Array(vec![CstInputValue::Object(hook)]);
        list.append(CstInputValue::Object(vec![("hooks".to_owned(), hooks)]));
    }
    Some(())
}

/// Takes out what [`add_turn_hooks`] and [`add_server`] have added for this agent.
fn take_ours_out(object: &CstObject, id: &str) {
    let end = format!(" hook worker-exit --as {}", word(id));
    let is_ours = |hook: &CstNode| {
        let hook = hook.to_serde_value().unwrap_or_default();
        hook.get("command").and_then(Value::as_str).is_some_and(|command| command.ends_with(&end))
    };
    if let Some(events) = object.object_value("hooks") {
        for event in events.properties() {
            let Some(list) = event.array_value() else { continue };
            for entry in list.elements() {
                let hooks = entry.as_object().and_then(|entry| entry.array_value("hooks"));
                let ours: Vec<CstNode> = hooks.iter().flat_map(|hooks| hooks.elements()).filter(is_ours).collect();
                let is_all = hooks.is_some_and(|hooks| hooks.elements().len() == ours.len()) && !ours.is_empty();
                ours.into_iter().for_each(CstNode::remove);
                if is_all {
                    entry.remove();
                }
            }
            if list.elements().is_empty() {
                event.remove();
            }
        }
        if events.properties().is_empty() {
            object.get("hooks").into_iter().for_each(CstObjectProp::remove);
        }
    }
    if let Some(servers) = object.object_value("mcpServers") {
        let ours = servers.get(SERVER).filter(|server| {
            let server = server.value().and_then(|server| server.to_serde_value()).unwrap_or_default();
            server.get("args") == Some(&serde_json::json!(["mcp", "--as", id]))
        });
        ours.into_iter().for_each(CstObjectProp::remove);
        if servers.properties().is_empty() {
            object.get("mcpServers").into_iter().for_each(CstObjectProp::remove);
        }
    }
}

/// Takes back what was written for a seat, and removes its directory, and that of all seats, if nothing else is in it.
pub fn unseat(known: &KnownAgent) -> Result<()> {
    let agent = &known.agent;
    let dir = seat_dir(&agent.slug);
    let files = WorktreeFiles::open(&known.worktree)?;
    if agent.kind != AgentKind::Worker || !matches!(files.root.look(&rel(&dir)?)?, Found::Dir) {
        return Ok(());
    }
    for name in ["settings.json", "mcp.json"] {
        files.take_back(&format!("{dir}/{name}"), |object| take_ours_out(object, &agent.id))?;
    }
    let task = rel(&format!("{dir}/task.md"))?;
    let text = files.root.read_whole(&task)?.map(|(text, _)| Digest::of(&text));
    // A record of an earlier version has no digest; then the task stays.
    if let Some(text) = text.filter(|text| agent.task.as_ref() == Some(&text.to_string())) {
        files.staging.remove(&files.root, &task, &Content::File(text))?;
    }
    [&*dir, ".shopfloor/agents"].into_iter().try_for_each(|dir| files.root.remove_empty_dir(&rel(dir)?).map(drop))
}
