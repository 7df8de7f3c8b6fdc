//! The files an agent finds: its task, its role, the way to its tools. Nothing that is there is replaced, but for JSON
//! that ours is merged into.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::{self, Content, Root, Staging};
use shopfloor_core::git::Git;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::{Position, shell_word};

use crate::facts::agents::Known;
use crate::facts::place::Tree;
use crate::identity::{self, Agent, Kind};

/// What `.shopfloor/.gitignore` says.
const IGNORE: &str = "*\n!config.toml\n";

/// The program whose settings are of another form, and named by a variable.
pub const GEMINI: &str = "gemini";

/// The name agents know our MCP server by.
const SERVER: &str = "shopfloor";

/// A worktree's files, and where those that are not whole yet stand.
struct Files {
    root: Root,
    staging: Staging,
}

impl Files {
    fn open(tree: &Tree) -> Result<Files> {
        let root = Root::open(&tree.path)?;
        let staging = Staging::shared(&identity::state(&tree.git_dir).join("tmp"), &root)?;
        Ok(Files { root, staging })
    }

    /// Writes a file where none is.
    fn create(&self, path: &str, bytes: &[u8], mode: Option<u32>) -> Result<bool> {
        let path = rel(path)?;
        self.staging.file(&self.root, &path, bytes, mode)?.place(&self.root, &path)
    }

    /// Writes a file, in place of what it was.
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
        Err(Failure::failed(format!("{} is being written by others", self.root.join(&path).display())))
    }

    /// Merges into a JSON file; the text that is there stays as it is where it does not say the same.
    fn merge(&self, path: &str, edit: impl Fn(&CstObject) -> Option<()>) -> Result<()> {
        let target = rel(path)?;
        let text = self.root.read(&target)?.unwrap_or_default();
        let wrong = |why: String| {
            Failure::malformed(format!("{}: {why}", self.root.join(&target).display()))
                .hint("mend the file, or move it away")
        };
        let text = String::from_utf8(text).map_err(|_| wrong("not UTF-8".into()))?;
        let text = if text.trim().is_empty() { "{}\n" } else { &text };
        let options = ParseOptions { allow_comments: true, allow_trailing_commas: true, ..ParseOptions::default() };
        let parsed = CstRootNode::parse(text, &options)
            .map_err(|e| wrong(format!("{}: {}", Position::of(text, e.range().start), e.kind())))?;
        let merged = parsed.object_value().and_then(|object| edit(&object));
        merged.ok_or_else(|| wrong("it has something else where ours belongs".into()))?;
        self.write(path, parsed.to_string().as_bytes(), None)
    }
}

fn rel(path: &str) -> Result<RelPath> {
    RelPath::parse(path).map_err(|e| Failure::failed(format!("{path}: {e}")))
}

/// Exit 2 where one of these files is checked in: an agent would be handed a stranger's hooks and servers as its user's.
fn refuse_tracked(env: &Env, tree: &Tree, paths: &[&str]) -> Result<()> {
    let there = paths.iter().filter(|path| tree.path.join(path).symlink_metadata().is_ok());
    let there: Vec<OsString> = there.map(|path| format!(":(top,literal){path}").into()).collect();
    if there.is_empty() {
        return Ok(());
    }
    let listed = Git::find(env)?.ls_files(&tree.path, &[&["--".into()], &there[..]].concat())?;
    let Some(path) = listed.first() else { return Ok(()) };
    let why = format!("{} is checked in, and the agent would take what it says", tree.path.join(path).display());
    Err(Failure::new(Exit::Bad, "checked_in", why)
        .hint(format!("read it, then take it out of the repository: `git rm --cached {}`", shell_word(path))))
}

/// Makes `.shopfloor/` of a worktree ignore itself.
pub fn ignore_itself(tree: &Tree) -> Result<()> {
    let files = Files::open(tree)?;
    files.create(".shopfloor/.gitignore", IGNORE.as_bytes(), None).map(drop)
}

/// What a subtree finds before the repository's hooks run.
pub fn furnish(env: &Env, tree: &Tree, agent: &Agent, task: Option<&[u8]>) -> Result<()> {
    let files = Files::open(tree)?;
    refuse_tracked(env, tree, &[".shopfloor/task.md", ".shopfloor/mcp.json", ".shopfloor/settings.json"])?;
    files.create(".shopfloor/.gitignore", IGNORE.as_bytes(), None)?;
    let role = agent.role.clone().unwrap_or_default();
    let role: String = role.chars().flat_map(|c| if c == '"' || c == '\\' { vec!['\\', c] } else { vec![c] }).collect();
    files.create(".shopfloor/config.local.toml", format!("role = \"{role}\"\n").as_bytes(), None)?;
    if let Some(task) = task {
        files.write(".shopfloor/task.md", task, Some(fs::PRIVATE))?;
    }
    Ok(())
}

/// The subtree's way to its tools: `.mcp.json`, or where that is checked in a file of ours. Says which.
pub fn connect(env: &Env, tree: &Tree, agent: &Agent, is_tracked: bool) -> Result<PathBuf> {
    let files = Files::open(tree)?;
    let path = if is_tracked { ".shopfloor/mcp.json" } else { ".mcp.json" };
    files.merge(path, |object| add_server(object, env, &agent.id))?;
    if agent.agent.as_deref() == Some(GEMINI) {
        let hook = turn_hook(env, &agent.id);
        files.merge(".shopfloor/settings.json", |object| {
            add_hook(&object.object_value_or_create("hooks")?, "AfterAgent", &hook)?;
            add_server(object, env, &agent.id)
        })?;
    }
    Ok(tree.path.join(path))
}

/// The command an agent program runs at the end of a turn, in the shell it hands it to.
fn turn_hook(env: &Env, id: &str) -> String {
    format!("{} hook worker-exit --as {}", shell_word(Path::new(&program(env))), shell_word(Path::new(id)))
}

/// What someone seated in a worktree finds. Gives back the settings' path, and the MCP configuration's.
pub fn seat(env: &Env, seated: &Known, task: Option<&[u8]>) -> Result<(PathBuf, PathBuf)> {
    let (tree, agent) = (&seated.tree, &seated.agent);
    let files = Files::open(tree)?;
    files.create(".shopfloor/.gitignore", IGNORE.as_bytes(), None)?;
    let dir = format!(".shopfloor/agents/{}", agent.slug);
    refuse_tracked(env, tree, &[&dir])?;
    let settings = format!("{dir}/settings.json");
    let hook = turn_hook(env, &agent.id);
    let is_gemini = agent.agent.as_deref() == Some(GEMINI);
    let events: &[&str] = if is_gemini { &["AfterAgent"] } else { &["Stop", "SubagentStop"] };
    files.merge(&settings, |object| {
        let hooks = object.object_value_or_create("hooks")?;
        for event in events {
            add_hook(&hooks, event, &hook)?;
        }
        if is_gemini { add_server(object, env, &agent.id) } else { Some(()) }
    })?;
    let mcp = if is_gemini {
        settings.clone()
    } else {
        let mcp = format!("{dir}/mcp.json");
        files.merge(&mcp, |object| add_server(object, env, &agent.id))?;
        mcp
    };
    if let Some(task) = task {
        files.write(&format!("{dir}/task.md"), task, Some(fs::PRIVATE))?;
    }
    Ok((tree.path.join(settings), tree.path.join(mcp)))
}

fn add_server(object: &CstObject, env: &Env, id: &str) -> Option<()> {
    let text = |text: &str| CstInputValue::String(text.to_owned());
    let args = CstInputValue::Array(["mcp", "--as", id].into_iter().map(text).collect());
    let server = CstInputValue::Object(vec![("command".into(), text(&program(env))), ("args".into(), args)]);
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

/// How others start us: by name where that was how we were started, else by where we lie.
pub fn program(env: &Env) -> String {
    let name = env.args.first().cloned().unwrap_or_default();
    let path = Path::new(&name);
    if path.components().count() < 2 {
        return crate::TOOL.to_owned();
    }
    env.cwd.join(path).to_string_lossy().into_owned()
}

/// Whether an agent's own directory of settings goes with it.
pub fn unseat(known: &Known) -> Result<()> {
    if known.agent.kind == Kind::Worker {
        let root = Root::open(&known.tree.path)?;
        let dir = rel(&format!(".shopfloor/agents/{}", known.agent.slug))?;
        if matches!(root.look(&dir)?, shopfloor_core::fs::Found::Dir) {
            fs::remove_tree(&root.join(&dir))?;
        }
    }
    Ok(())
}
