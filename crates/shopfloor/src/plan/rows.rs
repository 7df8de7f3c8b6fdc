//! The rows of `status`: one for each agent and each worker, with what all tools say about its worktree.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use shopfloor_core::slug::slug;

use crate::facts::overview::Overview;

/// The kind of worker-ctl's workers.
pub const POOL: &str = "pool";

/// What all tools say about one agent or worker and its worktree. The keys are a promise.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    pub name: String,
    pub id: String,
    /// `root`, `subtree` or `worker` of worktree-spawn, or `pool`: a worker of worker-ctl.
    pub kind: String,
    /// The worker that works there, by worker-ctl's name.
    pub worker: Option<String>,
    #[serde(skip)]
    pub is_main: bool,
    /// Whether its id and name are not only an agent's word.
    #[serde(skip)]
    pub is_known: bool,
    /// Whether it was made here and is on the branch that it was made with, or is on one that is called like its directory.
    #[serde(skip)]
    pub is_as_made: bool,
    pub worktree: String,
    pub branch: Option<String>,
    pub alive: String,
    /// The state of a worker's task.
    pub task: Option<String>,
    /// What a worker's program does.
    pub activity: Option<String>,
    /// What a person has to do: `answer`, `review`, `look` or `resume`.
    pub waits_for: Option<&'static str>,
    pub dirty: Option<bool>,
    pub stat: Option<Value>,
    /// How many events wait for the agent.
    pub pending: u64,
    /// How many files are held until a person decides.
    pub held: usize,
    /// How many files are not in step with the overlay.
    pub unsynced: usize,
    /// How many things differ from the sweatfiles.
    pub drift: usize,
}

/// Makes the rows: worktree-spawn's agents in its order, then the workers in other places. Where an agent is a worker too,
/// one row tells both.
pub fn rows(overview: &Overview) -> Vec<Row> {
    let agents = overview.agents.iter().filter(|record| record.get("worktree").is_some()).map(agent_row);
    let mut rows: Vec<Row> = agents.collect();
    for worker in overview.workers.iter().map(worker_row) {
        // A seat in a worktree is not the agent that works there.
        let mut there: Vec<&mut Row> =
            rows.iter_mut().filter(|row| row.worktree == worker.worktree && row.kind != "worker").collect();
        // Where two records name one worktree, neither tells who works there.
        match &mut there[..] {
            [row] => {
                // A worktree that a person made is called like its branch until it has a worker.
                let name = if row.kind == "root" || !row.is_known { worker.name } else { row.name.clone() };
                let Row { worker, branch, task, activity, waits_for, alive, .. } = worker;
                **row = Row { name, worker, branch, task, activity, waits_for, alive, ..std::mem::take(*row) };
            }
            _ => rows.push(worker),
        }
    }
    let mut rows: Vec<Row> = rows.into_iter().map(|row| with_files(row, overview)).collect();
    // Who waits for a person comes first, below the main checkout.
    rows.sort_by_key(|row| (!row.is_main, row.waits_for.is_none()));
    rows
}

/// What worktree-spawn and worker-ctl both say.
fn row(record: &Value) -> Row {
    Row {
        name: text(record, "name").or_else(|| text(record, "id")).unwrap_or_default(),
        id: text(record, "id").unwrap_or_default(),
        worktree: text(record, "worktree").unwrap_or_default(),
        branch: text(record, "branch"),
        alive: text(record, "alive").unwrap_or_default(),
        ..Row::default()
    }
}

fn agent_row(record: &Value) -> Row {
    // Its command ended with another code than 0, or with a signal.
    let has_failed = record["exit"].is_object() && record["exit"]["code"] != 0;
    let is_bad = record["alive"] == "died" || has_failed || record["error"].is_string();
    Row {
        kind: text(record, "kind").unwrap_or_default(),
        waits_for: is_bad.then_some("look"),
        dirty: record["dirty"].as_bool(),
        stat: record.get("stat").cloned(),
        pending: record["pending"].as_u64().unwrap_or(0),
        is_main: record["id"] == "root",
        // Whoever made a worktree by hand gave it no name, and an agent can.
        is_known: record["managed"] == true || record["id"] == record["branch"],
        is_as_made: match record["managed"] == true {
            true => record["drift"] != true,
            false => is_called_alike(record),
        },
        ..row(record)
    }
}

/// Whether a worktree is on the branch that its directory is called after, as git and Claude Code name them.
fn is_called_alike(record: &Value) -> bool {
    let branch = record["branch"].as_str().unwrap_or_default();
    let dir = Path::new(record["worktree"].as_str().unwrap_or_default()).file_name();
    dir.is_some_and(|dir| [branch, branch.strip_prefix("worktree-").unwrap_or(branch)].iter().any(|name| dir == *name))
}

fn worker_row(record: &Value) -> Row {
    let activity = text(record, "activity");
    let waits_for = text(record, "needs").and_then(|needs| match needs.as_str() {
        "asks" | "rests" => Some("answer"),
        "needs_review" => Some("review"),
        "error" | "silent" => Some("look"),
        "fresh" | "resume" => Some("resume"),
        _ => None,
    });
    let (kind, worker) = (POOL.to_owned(), text(record, "name"));
    Row { kind, worker, task: text(record, "task"), activity, waits_for, is_known: true, ..row(record) }
}

/// Adds what is known about the files of the row's worktree.
fn with_files(mut row: Row, overview: &Overview) -> Row {
    let is_here = |record: &&Value| text(record, "worktree").as_ref() == Some(&row.worktree);
    let states = || overview.overlay.iter().filter(is_here).filter_map(|record| record["state"].as_str());
    let held = states().filter(|state| *state == "held").count();
    let unsynced = states().filter(|state| ["changed", "pulled", "unreachable"].contains(state)).count();
    // The main checkout is a person's own: nobody has to set it up.
    let sweatfile = overview.sweatfiles.iter().find(is_here).filter(|_| row.kind != "root");
    // Where there is no sweatfile, nothing can differ from it.
    let has_layer =
        |record: &Value| record["layers"].as_array().into_iter().flatten().any(|layer| layer["found"] == true);
    let drift =
        sweatfile.filter(|record| has_layer(record)).and_then(|record| record["drift"].as_array()).map_or(0, Vec::len);
    row.waits_for = row.waits_for.or((held > 0).then_some("look"));
    Row { held, unsynced, drift, ..row }
}

fn text(record: &Value, key: &str) -> Option<String> {
    record.get(key)?.as_str().map(str::to_owned)
}

/// The row of this name: an agent's or worker's name or id, a branch, or the last part of a path; else the name that
/// `new` made of it. All rows that fit, if none fits better.
pub fn named<'r>(rows: &'r [Row], name: &str) -> Vec<&'r Row> {
    // `new` turns blanks and signs into dashes.
    let name = if name.len() > 1 { name.trim_end_matches('/') } else { name };
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let dashed = words.collect::<Vec<_>>().join("-").to_lowercase();
    let is_below = |row: &Row| row.worktree == name || row.worktree.ends_with(&format!("/{name}"));
    // The id of a worker or a main checkout is its name, and comes no sooner than other names.
    let slug = slug(name);
    let fits: [&dyn Fn(&Row) -> bool; 5] = [
        &|row| row.is_known && row.id == name && ![POOL, "root"].contains(&row.kind.as_str()),
        &|row| row.is_known && row.name == name || row.worker.as_deref() == Some(name),
        &|row| row.branch.as_deref() == Some(name) || is_below(row),
        &|row| row.is_known && row.name == dashed,
        &|row| row.is_known && slug.as_ref() == Some(&row.name),
    ];
    for fit in fits {
        let mut found: Vec<&Row> = rows.iter().filter(|row| fit(row)).collect();
        found.dedup_by(|a, b| a.worktree == b.worktree);
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// The table that a person reads.
pub fn table(rows: &[Row], here: &str) -> Vec<Vec<String>> {
    let head = ["NAME", "STATE", "WAITS FOR", "BRANCH", "CHANGES", "FILES", "EVENTS", "WORKTREE"];
    let head = head.map(str::to_owned).to_vec();
    std::iter::once(head).chain(rows.iter().map(|row| cells(row, here))).collect()
}

fn cells(row: &Row, here: &str) -> Vec<String> {
    let state = match (&row.task, &row.activity) {
        (Some(task), _) if row.alive != "up" => format!("offline, task {task}"),
        (Some(task), Some(activity)) if activity != "unknown" => format!("{task}, {activity}"),
        (Some(task), _) => task.clone(),
        (None, _) => row.alive.clone(),
    };
    let waits = row.waits_for.map_or(String::new(), |what| format!("you: {what}"));
    let stat = row.stat.as_ref().filter(|stat| stat["files"] != 0);
    let mut changes: Vec<String> =
        stat.map(|stat| format!("+{} -{}", stat["insertions"], stat["deletions"])).into_iter().collect();
    changes.extend((row.dirty == Some(true)).then(|| "uncommitted".to_owned()));
    let counts = [(row.held, "held"), (row.unsynced, "unsynced"), (row.drift, "drifted")];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let files: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
    let pending = if row.pending > 0 { row.pending.to_string() } else { String::new() };
    let below =
        |dir: &Path| Path::new(&row.worktree).strip_prefix(dir).ok().map(|path| path.to_string_lossy().into_owned());
    let beside = Path::new(here).parent().filter(|parent| parent.parent().is_some()).and_then(below);
    let place = match (below(Path::new(here)), beside) {
        (Some(below), _) if below.is_empty() => ".".to_owned(),
        (Some(below), _) => below,
        (None, Some(beside)) => format!("../{beside}"),
        (None, None) => row.worktree.clone(),
    };
    let branch = row.branch.clone().unwrap_or_default();
    vec![row.name.clone(), state, waits, branch, changes.join(", "), files.join(", "), pending, place]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn overview() -> Overview {
        let agent = |id: &str, name: &str, path: &str| json!({ "id": id, "name": name, "kind": "subtree", "worktree": path, "branch": id, "alive": "up", "pending": 2 });
        Overview {
            agents: vec![agent("main.a", "a", "/app/a"), agent("main.b", "b", "/app/b"), agent("x.b", "b", "/app/c")],
            workers: vec![json!({ "name": "adam", "id": "adam", "status": "needs_review", "task": "needs_review",
                "activity": "rests", "needs": "needs_review", "worktree": "/w/adam", "branch": "worker/adam", "alive": "up" })],
            overlay: vec![
                json!({ "worktree": "/app/a", "state": "held" }),
                json!({ "worktree": "/app/a", "state": "changed" }),
                json!({ "worktree": "/app/b", "state": "clean" }),
            ],
            sweatfiles: vec![
                json!({ "worktree": "/app/a", "layers": [{ "found": true }], "drift": ["x"] }),
                json!({ "worktree": "/app/b", "layers": [{ "found": false }], "drift": ["x"] }),
            ],
            ledger: None,
            problems: Vec::new(),
        }
    }

    #[test]
    fn a_row_has_what_all_tools_say_about_its_worktree() {
        let rows = rows(&overview());
        let counts: Vec<_> = rows.iter().map(|row| (row.held, row.unsynced, row.drift, row.pending)).collect();
        assert_eq!(counts, [(1, 1, 1, 2), (0, 0, 0, 0), (0, 0, 0, 2), (0, 0, 0, 2)]);
        assert_eq!(
            rows.iter().map(|row| row.waits_for).collect::<Vec<_>>(),
            [Some("look"), Some("review"), None, None]
        );
    }

    #[test]
    fn a_path_is_short_below_and_beside_the_main_checkout() {
        let place = |worktree: &str| cells(&Row { worktree: worktree.to_owned(), ..Row::default() }, "/src/app").pop();
        for (worktree, shown) in
            [("/src/app", "."), ("/src/app/x/y", "x/y"), ("/src/app2", "../app2"), ("/else/x", "/else/x")]
        {
            assert_eq!(place(worktree).as_deref(), Some(shown));
        }
    }

    #[test]
    fn an_id_comes_before_a_name_and_a_name_before_a_branch() {
        let rows = rows(&overview());
        let paths = |name: &str| named(&rows, name).iter().map(|row| row.worktree.clone()).collect::<Vec<_>>();
        assert_eq!(paths("main.b"), ["/app/b"]);
        assert_eq!(paths("b"), ["/app/b", "/app/c"]);
        assert_eq!(paths("worker/adam"), ["/w/adam"]);
        assert_eq!(paths("c"), ["/app/c"]);
        assert!(paths("nobody").is_empty());
    }
}
