//! The rows of `status`: one for each agent and each worker, with what all tools say about its worktree.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use shopfloor_core::board::{BoardRow, Need, Standing};
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::time::local_minute;
use shopfloor_core::ui::in_front_words;

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
    /// Why a worker cannot work.
    pub fault: Option<String>,
    /// What a worker's program does.
    pub activity: Option<String>,
    /// The agent program that its worktree was made for.
    #[serde(skip)]
    pub agent: Option<String>,
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
    /// The steps of its set-up that run in the background.
    pub setup: Vec<String>,
    /// What a person should know about it, as it stands below the table.
    pub notes: Vec<String>,
    /// How many commits its branch has that the one on which its work lands lacks, and the other way round.
    pub ahead: Option<u64>,
    pub behind: Option<u64>,
    /// Whether its branch has had work of its own, and the one on which that lands has all of it.
    #[serde(skip)]
    pub is_merged: bool,
    /// The request of its branch, as the forge told it last.
    pub request: Option<Value>,
    /// The commit of its branch that has landed as another one.
    #[serde(skip)]
    pub landed: Option<String>,
    /// What a person reads on the board: of a worker's record, or what is wrong with an agent.
    #[serde(skip)]
    pub told: Told,
    /// The id of the agent that made it.
    #[serde(skip)]
    pub parent: Option<String>,
    /// The worker's record.
    #[serde(skip)]
    pub record: Value,
}

/// What worker-ctl says of a worker for a person, or worktree-spawn of an agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    pub need: Option<Need>,
    pub since: Option<i64>,
    pub text: String,
    /// What is wrong with an agent, or why nobody can tell how its worktree is.
    pub wrong: Option<String>,
}

/// Makes the rows: worktree-spawn's agents in its order, then the workers in other places. Where an agent is a worker too,
/// one row tells both.
pub fn rows(overview: &Overview) -> Vec<Row> {
    let agents = overview.agents.iter().filter(|record| record.get("worktree").is_some()).map(agent_row);
    let mut rows: Vec<Row> = agents.collect();
    // Nobody can tell then whether a program works or waits, or was started again.
    for row in rows.iter_mut().filter(|row| overview.unread.is_some() && ["up", "died"].contains(&&*row.alive)) {
        row.alive = row.alive.replace("died", "unknown");
        row.waits_for = Some("look");
        row.told.text = "what it does cannot be read".to_owned();
    }
    for worker in overview.workers.iter().map(worker_row) {
        let is_off = worker.record["repo"] == "own" && rows.iter().all(|row| row.worktree != worker.worktree);
        // One that git moved and that was deleted then is still its agent's. A seat is not the agent that works there.
        let is_agents = |row: &Row| row.is_own() && Some(&row.id) == worker.branch.as_ref();
        let is_moved = |row: &Row| is_off && row.told.wrong.is_some() && is_agents(row);
        let is_its = |row: &Row| row.worktree == worker.worktree || is_moved(row);
        let mut there: Vec<&mut Row> = rows.iter_mut().filter(|row| is_its(row) && row.kind != "worker").collect();
        // Where two records name one worktree, neither tells who works there.
        match &mut there[..] {
            [row] => {
                // A worktree that a person made is called like its branch until it has a worker.
                let name = if row.kind == "root" || !row.is_known { worker.name.clone() } else { row.name.clone() };
                let own = std::mem::take(*row);
                let Row { id, kind, is_main, is_known, is_as_made, is_merged, agent, dirty, pending, parent, .. } = own;
                let stat = own.stat.or(worker.stat);
                let (ahead, behind) = (worker.ahead.or(own.ahead), worker.behind.or(own.behind));
                let waits_for = worker.waits_for.or(own.told.wrong.is_some().then_some("look"));
                // A worktree that cannot be read says more than the task, and less than a question.
                let text = own.told.wrong.clone().filter(|_| worker.told.need.is_none()).unwrap_or(worker.told.text);
                let told = Told { text, wrong: own.told.wrong, ..worker.told };
                let counts = Row { stat, ahead, behind, is_merged, dirty, pending, told, waits_for, ..worker };
                **row = Row { name, id, kind, is_main, is_known, is_as_made, agent, parent, ..counts };
            }
            _ => rows.push(worker),
        }
    }
    let mut rows: Vec<Row> = rows.into_iter().map(|row| with_files(row, overview)).collect();
    // In a bare repository a worktree stands for it.
    let is_own = |row: &Row| row.kind == "root" && row.worker.is_none() && Path::new(&row.worktree) == overview.main;
    rows.iter_mut().for_each(|row| row.is_main |= is_own(row));
    // Who waits for a person comes first, who has waited longest above the others, below the main checkout.
    let since = |row: &Row| row.waits_for.and(row.told.since).unwrap_or(i64::MAX);
    rows.sort_by_key(|row| (!row.is_main, row.waits_for.is_none(), since(row)));
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
        stat: record.get("stat").cloned(),
        ahead: record["ahead"].as_u64(),
        behind: record["behind"].as_u64(),
        is_merged: record["merged"] == true,
        ..Row::default()
    }
}

fn agent_row(record: &Value) -> Row {
    // Its command ended with another code than 0, or with a signal.
    let has_failed = record["exit"].is_object() && record["exit"]["code"] != 0;
    let is_bad = record["alive"] == "died" || has_failed || record["error"].is_string();
    let wrong = text(record, "error").map(|error| in_front_words(&error));
    Row {
        kind: text(record, "kind").unwrap_or_default(),
        agent: text(record, "agent").filter(|_| record["managed"] == true),
        waits_for: is_bad.then_some("look"),
        dirty: record["dirty"].as_bool(),
        pending: record["pending"].as_u64().unwrap_or(0),
        parent: text(record, "parent"),
        told: Told { text: wrong.clone().unwrap_or_default(), wrong, ..Told::default() },
        // Whoever made a worktree by hand gave it no name, and an agent can.
        is_main: record["id"] == "root" && record["managed"] == true,
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
    let need = text(record, "needs").and_then(|word| Need::of_word(&word));
    // A commit that nobody has looked at yet: `review` does.
    let has_more = record["task"] == "working" && record["ahead"].as_u64().is_some_and(|ahead| ahead > 0);
    let need = if need == Some(Need::Rests) && has_more { Some(Need::Review) } else { need };
    let since = text(record, "since_at").and_then(|time| time.parse::<jiff::Timestamp>().ok());
    let says = |key: &str| text(record, key).filter(|_| need != Some(Need::Review));
    let unreachable = text(record, "unreachable_since_at").map(|since| format!("unreachable since {since}"));
    let said = says("activity_text").filter(|_| need == Some(Need::Asks)).or_else(|| says("fault"));
    let said = said.or_else(|| notes(record).next());
    let told = Told {
        need,
        since: since.map(jiff::Timestamp::as_second),
        text: unreachable
            .or(said)
            .or_else(|| Some(text(record, "prompt")?.lines().next()?.to_owned()))
            .unwrap_or_default(),
        wrong: None,
    };
    // Of a host's worker the id is its whole name.
    let own = row(record);
    // What it said last may not be so any more.
    let alive = if record["unreachable_since_at"].is_string() { "unknown".to_owned() } else { own.alive.clone() };
    let name = text(record, "host").map_or_else(|| own.name.clone(), |_| own.id.clone());
    Row {
        kind: POOL.to_owned(),
        worker: Some(name.clone()),
        name,
        alive,
        task: text(record, "task"),
        fault: text(record, "fault"),
        activity: text(record, "activity"),
        waits_for: need.map(Need::verb),
        is_known: true,
        told,
        request: Some(record["request"].clone()).filter(|request| request.is_object()),
        landed: text(record, "landed"),
        record: record.clone(),
        ..own
    }
}

/// What is wrong with it, and what worker-ctl notes; else whether nobody looks at its commits because no `up` runs.
fn noted(row: &Row, is_up: bool) -> Vec<String> {
    let noted: Vec<String> = row.told.wrong.iter().cloned().chain(notes(&row.record)).collect();
    let is_working = row.task.as_deref() == Some("working") && row.told.need.is_none() && row.ahead > Some(0);
    // On its own host another `up` looks.
    let is_unseen = is_working && row.record["has_new"] != false && row.record["host"].is_null() && !is_up;
    let how = "`shopfloor patrol` looks once, a running `worker-ctl up --detach` always";
    let unseen = is_unseen.then(|| format!("it has commits, and nobody looks whether they are to be reviewed: {how}"));
    if noted.is_empty() { unseen.into_iter().collect() } else { noted }
}

/// What a person should know about a worker.
fn notes(record: &Value) -> impl Iterator<Item = String> {
    record["notes"].as_array().into_iter().flatten().filter_map(|note| note.as_str().map(in_front_words))
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
    let sweatfile = sweatfile.filter(|record| has_layer(record));
    let steps = sweatfile.and_then(|record| record["setup"].as_array()).into_iter().flatten();
    let running = steps.filter(|step| step["action"] == "running");
    let setup: Vec<String> = running.filter_map(|step| text(step, "name").or_else(|| text(step, "command"))).collect();
    let drift = sweatfile.and_then(|record| record["drift"].as_array()).map_or(0, Vec::len);
    // Each of these is a difference, too, until it has ended.
    let drift = drift.saturating_sub(setup.len());
    row.waits_for = row.waits_for.or((held > 0).then_some("look"));
    Row { held, unsynced, drift, setup, notes: noted(&row, overview.is_up()), ..row }
}

fn text(record: &Value, key: &str) -> Option<String> {
    record.get(key)?.as_str().map(str::to_owned)
}

impl Row {
    /// Whether `new` made its worktree.
    pub fn is_own(&self) -> bool {
        self.kind == "subtree" && self.is_known
    }

    /// What it is up to.
    pub fn standing(&self) -> Standing {
        match (self.told.need, self.waits_for, self.task.as_deref()) {
            (Some(need), ..) => Standing::Needs(need),
            (None, Some(_), _) => Standing::Needs(Need::Fault),
            (None, None, Some(_)) if self.alive != "up" => Standing::Offline,
            (None, None, Some("idle")) => Standing::Idle,
            (None, None, None) if self.alive != "up" => Standing::Idle,
            _ => Standing::Works,
        }
    }

    /// When a limited agent goes on.
    pub fn limited_until(&self, now: jiff::Timestamp) -> Option<String> {
        let time = self.record["limited_until_at"].as_str()?.parse().ok()?;
        Some(local_minute(time, now))
    }

    /// Whether the board shows it. In the main checkout a person works.
    pub fn is_on_board(&self) -> bool {
        !self.is_main || self.waits_for.is_some()
    }

    /// Its row on the board.
    pub fn on_board(&self) -> BoardRow {
        let does = self.activity.clone().filter(|activity| activity != "unknown").unwrap_or_default();
        let verb = self.waits_for.map(|verb| format!("{verb} {}: ", self.worker.as_ref().unwrap_or(&self.name)));
        let mut parts = [changes(self), files(self), self.told.text.clone()];
        // What a person has to know comes first.
        parts.rotate_right(usize::from(self.told.need.is_some()));
        let said = parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("; ");
        BoardRow {
            name: self.shown_name(),
            state: match &self.task {
                Some(_) if self.alive == "queued" => self.alive.clone(),
                Some(_) if self.alive == "unknown" => "unreachable".to_owned(),
                Some(_) if self.fault.is_some() => "error".to_owned(),
                Some(_) if self.alive != "up" => "offline".to_owned(),
                Some(task) => task.clone(),
                None => self.state(),
            },
            does,
            since: self.told.since,
            what: verb.unwrap_or_default() + &said,
            standing: self.standing(),
        }
    }

    /// The main checkout has no name of its own.
    fn shown_name(&self) -> String {
        if self.is_main { "main checkout".to_owned() } else { self.name.clone() }
    }

    /// Whether its command runs, in words.
    fn state(&self) -> String {
        match self.alive.as_str() {
            "never" if self.is_main => String::new(),
            "never" => "not started".to_owned(),
            other => other.to_owned(),
        }
    }
}

/// The table that a person reads.
pub fn table(rows: &[Row], here: &str, now: jiff::Timestamp) -> Vec<Vec<String>> {
    let head = ["NAME", "STATE", "WAITS FOR", "BRANCH", "CHANGES", "FILES", "EVENTS", "WORKTREE"];
    let head = head.map(str::to_owned).to_vec();
    std::iter::once(head).chain(rows.iter().map(|row| cells(row, here, now))).collect()
}

fn cells(row: &Row, here: &str, now: jiff::Timestamp) -> Vec<String> {
    let state = match (&row.task, &row.fault, &row.activity) {
        (Some(task), ..) if row.alive == "unknown" => format!("unreachable, task {task}"),
        (Some(task), Some(fault), _) => format!("error ({fault}), task {task}"),
        (Some(task), ..) if row.record["seen"] == false => format!("offline (not seen), task {task}"),
        (Some(task), ..) if row.alive != "up" => format!("offline, task {task}"),
        (Some(task), _, Some(activity)) if activity != "unknown" => {
            let until = row.limited_until(now).filter(|_| activity == "limited");
            format!("{task}, {activity}{}", until.map_or(String::new(), |at| format!(" until {at}")))
        }
        (Some(task), ..) => task.clone(),
        (None, ..) => row.state(),
    };
    let waits = row.waits_for.map_or(String::new(), |what| format!("you: {what}"));
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
    vec![row.shown_name(), state, waits, branch, changes(row), files(row), pending, place]
}

/// What its branch has that has not landed, and what is not committed.
fn changes(row: &Row) -> String {
    let stat = row.stat.as_ref().filter(|stat| stat["files"] != 0);
    // Work that has landed as another commit is still a change.
    let has_work = row.is_merged || row.landed.is_some() || stat.is_some();
    // Its branch may have lost the commit that waits for a review.
    let is_open = row.record["commit_sha"].is_string() && row.record["stat"]["files"] != 0;
    let is_merged = row.ahead == Some(0) && has_work && !is_open && row.dirty != Some(true);
    let stat = stat.filter(|_| !is_merged);
    let mut changes: Vec<String> =
        stat.map(|stat| format!("+{} -{}", stat["insertions"], stat["deletions"])).into_iter().collect();
    let counts = [(row.ahead, "ahead"), (row.behind, "behind")];
    let counts = counts.into_iter().filter(|(_, what)| !row.is_main && (!is_merged || *what != "ahead"));
    let counts = counts.filter_map(|(count, what)| Some(format!("{} {what}", count.filter(|count| *count > 0)?)));
    changes.extend(counts);
    changes.extend(is_merged.then(|| "merged".to_owned()));
    changes.extend((row.dirty == Some(true)).then(|| "uncommitted".to_owned()));
    changes.extend(row.request.as_ref().map(|request| {
        let state = request["state"].as_str().unwrap_or_default();
        let ci = request["ci"].as_str().filter(|ci| *ci == "failed").map_or("", |_| ", checks failed");
        format!("request {} {}{ci}", request["number"], printable(state))
    }));
    changes.join(", ")
}

/// What is to be done about its files.
fn files(row: &Row) -> String {
    let counts = [(row.held, "held"), (row.unsynced, "unsynced"), (row.drift, "drifted")];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let running = row.setup.iter().map(|step| format!("set-up runs: {}", printable(step)));
    counts.map(|(count, what)| format!("{count} {what}")).chain(running).collect::<Vec<_>>().join(", ")
}

/// What to know about agents, and what the counts that the table shows mean, each with the command that tells more.
pub fn legend(rows: &[Row]) -> Vec<String> {
    let told = rows.iter().flat_map(|row| row.notes.iter().map(move |note| format!("{}: {note}", row.shown_name())));
    let told = told.map(|line| printable(&line));
    let any = |is_so: fn(&Row) -> bool| rows.iter().any(is_so);
    let all = [
        (any(|row| row.held > 0), "held: files that wait for your decision: `overlay-sync status`"),
        (any(|row| row.unsynced > 0), "unsynced: files that are not the same everywhere: `overlay-sync sync`"),
        (any(|row| row.drift > 0), "drifted: differs from its sweatfile: `sweatfile-apply check --all`"),
    ];
    let how = "EVENTS: reports of agents that nobody has read: `worktree-spawn wait --session";
    let unread = rows.iter().filter(|row| row.pending > 0);
    let unread = unread.map(|row| printable(&format!("{how} {}`", shell_word(row.id.as_ref()))));
    told.chain(all.iter().filter(|(is_shown, _)| *is_shown).map(|(_, text)| (*text).to_owned())).chain(unread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: jiff::Timestamp = jiff::Timestamp::UNIX_EPOCH;
    use crate::facts::run_tool::Answer;
    use serde_json::json;
    use shopfloor_core::error::Failure;

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
            ..Overview::default()
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
        // Where a worker works, too, it is told that nobody can read the worktree.
        let mut all = overview();
        all.agents[0]["error"] = "git took longer than 20 s".into();
        all.workers[0]["worktree"] = "/app/a".into();
        assert_eq!(legend(&super::rows(&all))[0], "a: git took longer than 20 s");
        // Where nobody can say what programs do, a person looks.
        let mut all = overview();
        all.agents[1]["alive"] = "died".into();
        let unread = Some(Answer::not_started(&Failure::failed("cannot run it")));
        let unread = super::rows(&Overview { workers: vec![], unread, ..all });
        assert!(unread.iter().all(|row| row.waits_for == Some("look") && row.alive != "died"));
    }

    #[test]
    fn of_a_host_that_does_not_answer_that_is_told() {
        let worker = json!({ "name": "eve", "id": "big:eve", "host": "big", "task": "needs_review", "needs": "needs_review",
            "activity": "rests", "worktree": "big:/w/eve", "alive": "up", "unreachable_since_at": "2026-01-01T00:00:00Z" });
        let row = worker_row(&worker);
        assert_eq!((row.alive.as_str(), row.on_board().state.as_str()), ("unknown", "unreachable"));
        assert_eq!(cells(&row, "/app", NOW)[..3], ["big:eve", "unreachable, task needs_review", "you: review"]);
    }

    #[test]
    fn an_agent_whose_terminal_is_gone_with_all_others_waits_to_be_resumed() {
        let worker = |task: &str, needs: Option<&str>| json!({ "name": "eve", "id": "eve", "task": task, "needs": needs, "alive": "down", "seen": false });
        let shown = |task, needs| cells(&worker_row(&worker(task, needs)), "/app", NOW)[1..3].to_vec();
        assert_eq!(shown("working", Some("resume")), ["offline (not seen), task working", "you: resume"]);
        assert_eq!(shown("idle", None), ["offline (not seen), task idle", ""]);
    }

    #[test]
    fn a_path_is_short_below_and_beside_the_main_checkout() {
        let row = |worktree: &str| Row { worktree: worktree.to_owned(), ..Row::default() };
        let pairs = [("/src/app", "."), ("/src/app/x/y", "x/y"), ("/src/app2", "../app2"), ("/else/x", "/else/x")];
        for (worktree, shown) in pairs {
            assert_eq!(cells(&row(worktree), "/src/app", NOW).pop().as_deref(), Some(shown));
        }
    }
}
