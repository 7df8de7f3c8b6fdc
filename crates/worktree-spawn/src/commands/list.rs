//! `list`: who is there, how they are, what waits for them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Git;
use shopfloor_core::proc;
use shopfloor_core::ui::{Ui, printable};

use crate::cli::ListArgs;
use crate::facts::agents::{self, Known};
use crate::facts::place::{Place, Tree};
use crate::facts::spawn::git_failed;
use crate::identity::{Kind, encoded};
use crate::launcher;
use crate::life::{self, State};
use crate::native::Native;
use crate::settings::{Flags, Settings};
use crate::spool::{self, Spool};

/// One agent, as it is listed.
struct Row {
    known: Known,
    state: State,
    exit: Option<Value>,
    pending: usize,
    children: usize,
    /// Whether its files are changed, where that was asked; why git cannot tell.
    is_dirty: Option<std::result::Result<bool, String>>,
}

/// A row as scripts read it; the keys are a promise.
#[derive(Serialize)]
struct Record<'r> {
    v: u64,
    id: &'r str,
    kind: Option<Kind>,
    slug: Option<&'r String>,
    path: &'r Path,
    parent: Option<&'r str>,
    level: Option<u64>,
    birth_branch: Option<&'r str>,
    branch: Option<&'r str>,
    drift: bool,
    state: &'static str,
    exit: Option<&'r Value>,
    pending: usize,
    children: usize,
    managed: bool,
    error: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dirty: Option<bool>,
}

impl Row {
    fn has_drifted(&self) -> bool {
        let agent = &self.known.agent;
        !self.known.tree.is_main && self.known.error.is_none() && agent.birth_branch != self.known.tree.branch
    }

    fn record(&self) -> Record<'_> {
        let Known { agent, tree, is_managed, error } = &self.known;
        let is_known = error.is_none();
        let lost = "its worktree is not where git has it; `worktree-spawn repair` looks for it";
        Record {
            v: 1,
            id: &agent.id,
            kind: is_known.then_some(agent.kind),
            slug: is_known.then_some(&agent.slug),
            path: &tree.path,
            parent: agent.parent.as_deref(),
            level: is_known.then_some(agent.level),
            birth_branch: agent.birth_branch.as_deref().filter(|_| is_known),
            branch: tree.branch.as_deref(),
            drift: self.has_drifted(),
            state: if is_known { self.state.word() } else { State::Unknown.word() },
            exit: self.exit.as_ref(),
            pending: self.pending,
            children: self.children,
            managed: *is_managed,
            error: error.as_deref().or(tree.is_lost.then_some(lost)).or(self.trouble()),
            dirty: self.is_dirty.as_ref().and_then(|dirty| dirty.as_ref().ok().copied()),
        }
    }

    fn trouble(&self) -> Option<&str> {
        self.is_dirty.as_ref().and_then(|dirty| dirty.as_ref().err()).map(String::as_str)
    }

    /// For a person: one line.
    fn text(&self) -> String {
        let Known { agent, tree, is_managed, error } = &self.known;
        if let Some(error) = error {
            return format!("{}: {}", printable(&agent.id), printable(error));
        }
        let mut words = vec![self.state.word().to_owned()];
        if let Some(exit) = &self.exit {
            let end = exit.as_object().and_then(|end| end.iter().next().map(|(key, n)| format!("{key} {n}")));
            words.extend(end);
        }
        let branch = tree.branch.as_deref().unwrap_or("(detached)");
        if agent.kind != Kind::Worker {
            words.push(if self.has_drifted() { format!("on {branch}") } else { branch.to_owned() });
        }
        if self.pending > 0 {
            words.push(format!("{} pending", self.pending));
        }
        if let Some(Ok(true)) = self.is_dirty {
            words.push("changed".to_owned());
        }
        words.extend(self.trouble().map(str::to_owned));
        if !is_managed {
            words.push("made by hand".into());
        }
        if tree.is_lost {
            words.push("not there: run `worktree-spawn repair`".into());
        }
        words.iter().map(|word| printable(word)).collect::<Vec<_>>().join(", ")
    }
}

pub fn run(ui: &Ui, env: &Env, args: &ListArgs) -> Result<Exit> {
    let place = Place::find(env)?;
    let rows = rows(ui, env, &place, args)?;
    if args.z {
        let mut paths = Vec::new();
        for row in rows.iter().filter(|row| !row.known.tree.is_lost) {
            let path = row.known.tree.path.as_os_str().as_encoded_bytes();
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        ui.answer(&paths.into_iter().flat_map(|path| [path, b"\0"].concat()).collect::<Vec<u8>>());
    } else if ui.is_json() {
        // In one write: a listing of a thousand is one answer.
        let mut lines = Vec::new();
        for row in &rows {
            let written = serde_json::to_writer(&mut lines, &row.record());
            written.map_err(|e| Failure::failed("cannot write a record").because(e))?;
            lines.push(b'\n');
        }
        ui.answer(&lines);
    } else if args.tree {
        draw(ui, &rows);
    } else {
        let width = rows.iter().map(|row| row.known.agent.id.chars().count()).max().unwrap_or(0);
        for row in &rows {
            let id = printable(&row.known.agent.id);
            let kind = if row.known.error.is_some() { "error" } else { row.known.agent.kind.word() };
            let path = printable(&row.known.tree.path.to_string_lossy());
            ui.line(format!("{id:width$}  {kind:7}  {}  {path}", row.text()));
        }
    }
    Ok(Exit::Done)
}

/// The agents asked for, as JSON.
pub fn json_rows(ui: &Ui, env: &Env, place: &Place) -> Result<Vec<Value>> {
    let rows = rows(ui, env, place, &ListArgs::default())?;
    Ok(rows.iter().filter_map(|row| serde_json::to_value(row.record()).ok()).collect())
}

fn rows(ui: &Ui, env: &Env, place: &Place, args: &ListArgs) -> Result<Vec<Row>> {
    let settings = Settings::load(env, place, Flags { probe: args.probe.as_deref(), ..Flags::default() })?;
    settings.warnings.iter().for_each(|warning| ui.warn(warning));
    let all = agents::all(place)?;
    let under = args.under.as_deref().map(|name| agents::require(place, name)).transpose()?;
    let shared = place.shared();
    let mut lives: BTreeMap<String, life::Life> =
        life::all(&shared)?.into_iter().map(|life| (life.agent.id.clone(), life)).collect();
    let sessions: Vec<_> = fs::list(&spool::sessions(&shared))?;
    let mut children: BTreeMap<String, usize> = BTreeMap::new();
    for known in &all {
        if let Some(parent) = &known.agent.parent {
            *children.entry(parent.clone()).or_default() += 1;
        }
    }
    let mut rows = Vec::new();
    for known in all {
        let agent = &known.agent;
        let is_under =
            under.as_ref().is_none_or(|top| agent.id == top.agent.id || agent.parents.contains(&top.agent.id));
        if !is_under || args.kind.is_some_and(|kind| kind.kind() != agent.kind || known.error.is_some()) {
            continue;
        }
        let life = lives.remove(&agent.id);
        let (state, exit) = launcher::state(env, place, settings.probe.as_ref(), &known, life)?;
        let is_dead = matches!(state, State::Exited | State::Died);
        if (args.live && state != State::Live) || (args.dead && !is_dead) {
            continue;
        }
        let has_session = sessions.binary_search(&encoded(&agent.id).into()).is_ok();
        let pending = if has_session { Spool::of(&shared, &agent.id).pending()? } else { 0 };
        let children = children.get(&agent.id).copied().unwrap_or(0);
        rows.push(Row { known, state, exit, pending, children, is_dirty: None });
    }
    if args.status {
        let git = Git::find(env)?;
        let dirty = proc::map_parallel(&rows, |row| {
            let tree = &row.known.tree;
            (!tree.is_lost).then(|| is_changed(&git, place, tree).map_err(|failure| failure.to_string()))
        });
        rows.iter_mut().zip(dirty).for_each(|(row, dirty)| row.is_dirty = dirty);
    }
    Ok(rows)
}

fn is_changed(git: &Git, place: &Place, tree: &Tree) -> Result<bool> {
    let git = tree.git(git, place)?;
    // A process each is what a listing of many would wait for.
    let native = if place.has_ref_storage { None } else { Native::open(&place.env, tree) };
    if let Some(is_changed) = native.and_then(|native| native.is_changed()) {
        return Ok(is_changed);
    }
    let how = ["status", "--porcelain", "-z", "--ignore-submodules=dirty"];
    let output = git.cmd_alone(&tree.path).args(how).capture()?;
    match output.status.success() {
        true => Ok(!output.stdout.is_empty()),
        false => Err(git_failed("status", &output)),
    }
}

/// The tree of parents, children in the order they are listed.
fn draw(ui: &Ui, rows: &[Row]) {
    let ids: Vec<&str> = rows.iter().map(|row| row.known.agent.id.as_str()).collect();
    let is_top = |row: &&Row| row.known.agent.parent.as_deref().is_none_or(|parent| !ids.contains(&parent));
    let mut seen = BTreeSet::new();
    for row in rows.iter().filter(is_top) {
        branch(ui, rows, row, "", "", &mut seen);
    }
    // Records that say they are above each other.
    for row in rows {
        if !seen.contains(row.known.agent.id.as_str()) {
            branch(ui, rows, row, "", "", &mut seen);
        }
    }
}

fn branch<'r>(ui: &Ui, rows: &'r [Row], row: &'r Row, first: &str, rest: &str, seen: &mut BTreeSet<&'r str>) {
    if !seen.insert(&row.known.agent.id) {
        return;
    }
    let name = if row.known.agent.kind == Kind::Worker { &row.known.agent.slug } else { &row.known.agent.id };
    ui.line(format!("{first}{}  {}", printable(name), row.text()));
    let id = Some(row.known.agent.id.as_str());
    let below: Vec<&Row> = rows.iter().filter(|other| other.known.agent.parent.as_deref() == id).collect();
    for (n, child) in below.iter().enumerate() {
        let (fork, line) = if n + 1 == below.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        branch(ui, rows, child, &format!("{rest}{fork}"), &format!("{rest}{line}"), seen);
    }
}
