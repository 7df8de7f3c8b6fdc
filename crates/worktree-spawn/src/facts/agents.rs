//! Who is there: the records in all git directories are the registry, and there is no other.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::proc;

use crate::apply::files::GEMINI;
use crate::facts::place::{Place, Tree};
use crate::identity::{self, Agent, Kind, ROOT};
use crate::spool::Spool;

/// An agent and where it is.
#[derive(Clone, Debug)]
pub struct Known {
    pub agent: Agent,
    pub tree: Tree,
    /// Whether it was spawned, or is the root; else somebody made its worktree by hand.
    pub is_managed: bool,
    /// Why its record cannot be read, if so.
    pub error: Option<String>,
}

/// Every agent of the repository, each worktree's own before those seated in it.
pub fn all(place: &Place) -> Result<Vec<Known>> {
    let trees = place.trees()?;
    // Read once for all that nobody spawned, and not at all where there are none.
    let recorded = OnceLock::new();
    let is_taken = |tree: &Tree, id: &str| is_taken(recorded.get_or_init(|| recorded_ids(place)), tree, id);
    let found = proc::map_parallel(&trees, |tree| in_tree_among(place, tree, &is_taken));
    Ok(found.into_iter().flatten().collect())
}

/// The agents of one worktree, its own first.
pub fn in_tree(place: &Place, tree: &Tree) -> Vec<Known> {
    in_tree_among(place, tree, &|tree, id| is_taken(&recorded_ids(place), tree, id))
}

/// `is_taken` tells whether another worktree's record has an id.
fn in_tree_among(place: &Place, tree: &Tree, is_taken: &dyn Fn(&Tree, &str) -> bool) -> Vec<Known> {
    let known = |agent: Agent, is_managed| Known { agent, tree: tree.clone(), is_managed, error: None };
    let unreadable = |slug: &str, failure: &Failure| Known {
        agent: Agent::root(slug, tree.branch.as_deref(), place.env.now),
        tree: tree.clone(),
        is_managed: false,
        error: Some(failure.to_string()),
    };
    let own = match own(place, tree, is_taken) {
        Ok((agent, is_recorded)) => known(agent.clone(), tree.is_main || (is_recorded && agent.kind != Kind::Root)),
        Err(failure) => unreadable(&entry_name(tree), &failure),
    };
    let seats = fs::list(&identity::seats(&tree.git_dir)).unwrap_or_default();
    let seated = seats.iter().filter_map(|slug| {
        let slug = slug.to_string_lossy();
        match Agent::load(&identity::seat(&tree.git_dir, &slug)) {
            Ok(agent) => agent.map(|agent| known(agent, true)),
            Err(failure) => Some(unreadable(&format!("{}/{slug}", own.agent.id), &failure)),
        }
    });
    let seated: Vec<Known> = seated.collect();
    std::iter::once(own).chain(seated).collect()
}

/// A worktree's own agent, and whether it is written down.
fn own(place: &Place, tree: &Tree, is_taken: &dyn Fn(&Tree, &str) -> bool) -> Result<(Agent, bool)> {
    if tree.is_main {
        return Ok((Agent::root(ROOT, tree.branch.as_deref(), place.env.now), true));
    }
    if let Some(agent) = Agent::load(&identity::record(&tree.git_dir))? {
        return Ok((agent, true));
    }
    if !tree.git_dir.join("HEAD").exists() {
        return Err(Failure::not_found(format!("the worktree {} is gone", tree.path.display())));
    }
    // Made by hand, in a bare layout, by another tool: a root of its own, called by its branch if nobody else is.
    let branch = tree.branch.clone().unwrap_or_default();
    let is_free = !branch.is_empty() && branch != ROOT && !is_taken(tree, &branch);
    let id = if is_free { branch } else { format!("{branch}@{}", entry_name(tree)) };
    Ok((Agent::root(&id, tree.branch.as_deref(), place.env.now), false))
}

/// The ids in the records of all worktrees, each with the git directories that have it.
fn recorded_ids(place: &Place) -> HashMap<String, Vec<PathBuf>> {
    let admin = place.common_dir.join("worktrees");
    let mut ids: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for dir in fs::list(&admin).unwrap_or_default().into_iter().map(|name| admin.join(name)) {
        if let Ok(Some(agent)) = Agent::load(&identity::record(&dir)) {
            ids.entry(agent.id).or_default().push(dir);
        }
    }
    ids
}

/// Whether the record of another worktree has this id.
fn is_taken(recorded: &HashMap<String, Vec<PathBuf>>, tree: &Tree, id: &str) -> bool {
    recorded.get(id).is_some_and(|dirs| dirs.iter().any(|dir| *dir != tree.git_dir))
}

/// The name git has for a linked worktree.
fn entry_name(tree: &Tree) -> String {
    tree.git_dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The agent whose worktree we stand in. One that nobody spawned is written down at its first use: whatever is
/// checked out there later, it stays who it is.
pub fn here(place: &Place) -> Result<Known> {
    let tree = place.require_here()?;
    let (agent, is_recorded) = own(place, tree, &|tree, id| is_taken(&recorded_ids(place), tree, id))?;
    if !is_recorded {
        // Where that cannot be written it holds for today.
        let _ = agent.save(&identity::record(&tree.git_dir));
    }
    Ok(Known {
        is_managed: tree.is_main || (is_recorded && agent.kind != Kind::Root),
        agent,
        tree: tree.clone(),
        error: None,
    })
}

/// Who calls: named outright, else by the environment, else by where we stand. An environment that speaks of an
/// agent elsewhere is refused: a guess would send its words in another's name.
pub fn caller(place: &Place, named: Option<&str>) -> Result<Known> {
    if let Some(name) = named {
        return require(place, name);
    }
    let variable = place.env.var("SHOPFLOOR_AGENT_ID").map(|id| id.to_string_lossy().into_owned());
    let Some(id) = variable else { return here(place) };
    let tree = place.require_here()?;
    let own = here(place)?;
    if own.agent.id == id {
        return Ok(own);
    }
    if let Some(seated) = in_tree(place, tree).into_iter().skip(1).find(|known| known.agent.id == id) {
        return Ok(seated);
    }
    if all(place)?.iter().all(|known| known.agent.id != id) {
        return Err(Failure::new(
            Exit::Bad,
            "identity",
            format!("SHOPFLOOR_AGENT_ID says {id}, and there is no such agent"),
        )
        .hint(format!(
            "it may have been removed; `unset SHOPFLOOR_AGENT_ID`, or name who speaks: `--as {}`",
            own.agent.id
        )));
    }
    Err(Failure::new(
        Exit::Bad,
        "identity",
        format!("SHOPFLOOR_AGENT_ID says {id}, but this is the worktree of {}", own.agent.id),
    )
    .hint(format!("name the one that is meant: `--as {id}` or `--as {}`", own.agent.id))
    .hint(format!("or change to its worktree: `cd \"$(worktree-spawn path {id})\"`")))
}

/// Who speaks: as [`caller`], but also an agent that was removed, by what is left of it: its tombstone, else the record
/// in its environment.
pub fn speaker(place: &Place, named: Option<&str>) -> Result<Known> {
    let variable = |name| place.env.var(name).map(|text| text.to_string_lossy().into_owned());
    let id = named.map(str::to_owned).or_else(|| variable("SHOPFLOOR_AGENT_ID"));
    let failure = match (caller(place, named), &id) {
        (Err(failure), Some(_)) => failure,
        (done, _) => return done,
    };
    let Some(id) = id.filter(|_| ["not_found", "identity", "no_worktree"].contains(&failure.kind)) else {
        return Err(failure);
    };
    let told =
        variable("SHOPFLOOR_RECORD").and_then(|text| Agent::parse(Path::new("SHOPFLOOR_RECORD"), text.as_bytes()).ok());
    let own = told.filter(|agent| named.is_none() && agent.id == id);
    if let Some(known) = all(place)?.into_iter().find(|known| known.agent.id == id) {
        let is_later = own.as_ref().is_some_and(|own| own.incarnation != known.agent.incarnation);
        // It is there, and only we stand elsewhere: in no worktree at all, or in one that is not its own. One that was
        // removed does not speak for the one that has its name now.
        if !is_later {
            return if place.here.is_none() { Ok(known) } else { Err(failure) };
        }
    }
    let agent = match own {
        Some(own) => Some(own),
        None => Spool::of(&place.shared(), &id).buried()?,
    };
    let gone = |agent: Agent| {
        let (path, git_dir) = (place.common_dir.clone(), place.common_dir.clone());
        let tree = Tree { path, git_dir, branch: None, is_main: false, is_lost: true };
        Known { agent, tree, is_managed: false, error: None }
    };
    agent.map(gone).ok_or(failure)
}

impl Known {
    /// It was removed, and only its identity is left.
    pub fn is_gone(&self) -> bool {
        self.tree.is_lost && !self.is_managed && self.error.is_none()
    }
}

/// The agent of this id, or with this slug if only one has it. Exit 1 otherwise.
pub fn require(place: &Place, name: &str) -> Result<Known> {
    // Most often it is one of here.
    if let Some(tree) = &place.here
        && let Some(known) = in_tree(place, tree).into_iter().find(|known| known.agent.id == name)
    {
        return Ok(known);
    }
    let all = all(place)?;
    if let Some(known) = all.iter().find(|known| known.agent.id == name) {
        return match &known.error {
            None => Ok(known.clone()),
            Some(why) => Err(Failure::malformed(format!("the record of {name} cannot be read")).details([why.clone()])),
        };
    }
    let mut with_slug = all.iter().filter(|known| known.agent.slug == name && known.error.is_none());
    match (with_slug.next(), with_slug.next()) {
        (Some(known), None) => Ok(known.clone()),
        (Some(first), Some(second)) => {
            let others = with_slug.map(|known| known.agent.id.clone());
            let ids: Vec<String> =
                [first.agent.id.clone(), second.agent.id.clone()].into_iter().chain(others).collect();
            Err(Failure::new(Exit::No, "ambiguous", format!("`{name}` is the slug of {}", ids.join(" and ")))
                .hint("name one by its whole id"))
        }
        (None, _) => Err(Failure::not_found(format!("there is no agent `{name}`"))
            .hint("run `worktree-spawn list` to see who is there")),
    }
}

/// The directory for settings of someone seated in a worktree.
pub fn settings_dir(known: &Known) -> PathBuf {
    known.tree.path.join(".shopfloor/agents").join(&known.agent.slug)
}

/// The file with an agent's task, whether it is there or not.
pub fn task_file(known: &Known) -> PathBuf {
    match known.agent.kind {
        Kind::Worker => settings_dir(known).join("task.md"),
        _ => known.tree.path.join(".shopfloor/task.md"),
    }
}

/// Variables that not every agent has: what an outer one was told is not for an inner one.
pub const OPTIONAL: [&str; 4] =
    ["SHOPFLOOR_TASK_FILE", "SHOPFLOOR_SETTINGS", "SHOPFLOOR_MCP_CONFIG", "GEMINI_CLI_SYSTEM_SETTINGS_PATH"];

/// What a launched agent finds in its environment, in this order.
pub fn variables(known: &Known) -> Vec<(&'static str, String)> {
    let agent = &known.agent;
    let mut all = vec![
        ("SHOPFLOOR_AGENT_ID", agent.id.clone()),
        ("SHOPFLOOR_SESSION_ID", agent.id.clone()),
        ("SHOPFLOOR_PARENT", agent.parent.clone().unwrap_or_default()),
        ("SHOPFLOOR_ROLE", agent.role.clone().unwrap_or_default()),
    ];
    // What finds it again once its worktree is gone.
    let git_dir = &known.tree.git_dir;
    let common_dir = if known.tree.is_main { Some(git_dir.as_path()) } else { git_dir.parent().and_then(Path::parent) };
    all.extend(common_dir.map(|dir| ("SHOPFLOOR_REPOSITORY", dir.to_string_lossy().into_owned())));
    all.extend(serde_json::to_string(agent).ok().map(|record| ("SHOPFLOOR_RECORD", record)));
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let mut file = |name, path: PathBuf| {
        if path.exists() {
            all.push((name, text(path)));
        }
    };
    file("SHOPFLOOR_TASK_FILE", task_file(known));
    match agent.kind {
        Kind::Worker => {
            let settings = settings_dir(known).join("settings.json");
            if agent.agent.as_deref() == Some(GEMINI) {
                file("GEMINI_CLI_SYSTEM_SETTINGS_PATH", settings);
            } else {
                file("SHOPFLOOR_SETTINGS", settings);
                file("SHOPFLOOR_MCP_CONFIG", settings_dir(known).join("mcp.json"));
            }
        }
        // `.mcp.json` is found without being told.
        _ if agent.agent.as_deref() == Some(GEMINI) => {
            file("GEMINI_CLI_SYSTEM_SETTINGS_PATH", known.tree.path.join(".shopfloor/settings.json"));
        }
        _ => file("SHOPFLOOR_MCP_CONFIG", known.tree.path.join(".shopfloor/mcp.json")),
    }

    all
}
