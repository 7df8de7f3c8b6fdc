//! The list of agents, for `list` and the MCP tool `list_agents`. Agents whose death nobody reported are reported by
//! the way.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::{Git, LOOK_LIMIT, bare_by_mistake, has_no_files};
use shopfloor_core::known_dirs;
use shopfloor_core::proc::{self, Status};
use shopfloor_core::text::both;
use shopfloor_core::ui::Ui;

use super::{runs, sandboxes};
use crate::agent_in_worktree::KnownAgent;
use crate::agent_run::{self, AgentRun, Deaths, Liveness};
use crate::facts::{agents, repository};
use crate::identity::AgentKind;
use crate::journal;
use crate::layout::{encoded, identity_file, sessions_dir};
use crate::repository_view::Place;
use crate::settings::Settings;
use crate::slug::is_branch_name;
use crate::spool::Spool;

// Which agents are listed, and how closely they are looked at.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ListingRequest {
    /// List only this agent and its descendants
    #[arg(long, value_name = "ID")]
    pub under: Option<String>,
    /// List only agents of this kind
    #[arg(long)]
    pub kind: Option<AgentKind>,
    /// List only agents whose command is running
    #[arg(long, conflicts_with = "dead")]
    pub live: bool,
    /// List only agents whose command has ended
    #[arg(long)]
    pub dead: bool,
    /// Also tell whether there are uncommitted changes, which is slower
    #[arg(long)]
    pub status: bool,
    /// Also count the lines that each worktree changes of the branch on which its work lands, and the commits that it is
    /// ahead of and behind that one, which is slower
    #[arg(long)]
    pub stat: bool,
    /// Ask this command whether an agent lives that `run` did not start: {id} {slug} {path} are filled in, exit 0 means
    /// yes, 1 no [env: WORKTREE_SPAWN_PROBE]
    #[arg(long, value_name = "CMD")]
    pub probe: Option<String>,
}

/// One agent in the list.
pub struct ListedAgent {
    pub known: KnownAgent,
    pub liveness: Liveness,
    pub exit: Option<Status>,
    /// The number of events that wait for it.
    pub pending: usize,
    pub children: usize,
    /// Whether its worktree has changes, if that was asked for and git can tell.
    pub is_dirty: Option<bool>,
    /// Why git could not look at its worktree.
    pub unread: Option<String>,
    /// Why commits in its sandbox were not taken, if that was asked for.
    pub refused: Option<String>,
    /// What its worktree changes of the branch on which its work lands, if that was asked for and can be told.
    pub stat: Option<DiffStat>,
    /// Whether its branch has had work of its own, and nothing that the one on which its work lands lacks.
    pub merged: Option<bool>,
    /// How many commits its branch has that the one on which its work lands lacks, and the other way round.
    pub distance: Option<(u64, u64)>,
}

/// How much changed, in commits and in files that git tracks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiffStat {
    pub files: u64,
    pub insertions: u64,
    pub deletions: u64,
}

impl ListedAgent {
    /// Whether the worktree holds another branch than the one it was made with.
    pub fn has_drifted(&self) -> bool {
        let KnownAgent { agent, worktree, error, .. } = &self.known;
        !worktree.is_main && error.is_none() && agent.birth_branch != worktree.branch
    }

    /// Why commits in its sandbox were not taken, or git could not look at its worktree.
    pub fn trouble(&self) -> Option<&str> {
        self.refused.as_ref().or(self.unread.as_ref()).map(String::as_str)
    }

    /// A listed agent as scripts read it. The keys are a promise; the last ones are there if they were asked for.
    pub fn answer(&self) -> Value {
        let KnownAgent { agent, worktree, is_managed, error, .. } = &self.known;
        let is_known = error.is_none();
        let liveness = if is_known { self.liveness } else { Liveness::Unknown };
        let lost = format!(
            "its worktree is not where git's record says; `worktree-spawn repair` finds it or says how it comes back; if you \
             deleted it: `worktree-spawn remove {}`",
            agent.id
        );
        let more = json!({
            "slug": is_known.then_some(&agent.slug),
            "agent": agent.agent.as_ref().filter(|_| is_known),
            "branch": worktree.branch,
            "drift": self.has_drifted(),
            "state": liveness.word(),
            "alive": liveness.alive(),
            "exit": self.exit,
            "pending": self.pending,
            "children": self.children,
            "managed": is_managed,
            "error": error.as_deref().or(worktree.is_lost.then_some(lost.as_str())).or(self.trouble()),
        });
        let (dirty, (ahead, behind)) = (self.is_dirty, self.distance.unzip());
        let mut asked =
            json!({ "dirty": dirty, "stat": self.stat, "ahead": ahead, "behind": behind, "merged": self.merged });
        asked.as_object_mut().into_iter().for_each(|asked| asked.retain(|_, value| !value.is_null()));
        both(both(both(json!({ "v": 1 }), self.known.keys()), more), asked)
    }
}

/// All agents, and none of a worktree whose spawn is under way, or was killed, and has neither recorded its agent nor written
/// files. Where no journal can be read, each counts as made.
fn made(place: &Place) -> Result<Vec<KnownAgent>> {
    let (mut all, begun) = (agents::all(place)?, journal::branches_begun(&place.shared()).unwrap_or_default());
    all.retain(|KnownAgent { worktree, .. }| {
        let is_begun = worktree.branch.as_ref().is_some_and(|branch| begun.contains(branch));
        let is_half_made = || has_no_files(&worktree.path) && !identity_file(&worktree.git_dir).exists();
        worktree.is_main || worktree.is_lost || !is_begun || !is_half_made()
    });
    Ok(all)
}

/// Lists the agents.
pub fn list(ui: &Ui, env: &Env, place: &Place, request: &ListingRequest) -> Result<Vec<ListedAgent>> {
    let settings = Settings::load(env, &place.home, &[("probe", request.probe.as_deref().map(Path::new))])?;
    settings.warnings.iter().for_each(|warning| ui.warn(warning));
    // git then counts the main checkout as none, and so does the list.
    let bare = bare_by_mistake(&place.common_dir);
    bare.iter().for_each(|failure| ui.warn(format!("{failure}; {}", failure.hints.join("; "))));
    let all = made(place)?;
    let under = request.under.as_deref().map(|name| agents::require(place, name)).transpose()?;
    let shared = place.shared();
    let runs = agent_run::all(&shared)?.into_iter().map(|run| (run.agent.id.clone(), run));
    let mut last_runs: BTreeMap<String, AgentRun> = runs.collect();
    let sessions: Vec<_> = fs::list(&sessions_dir(&shared))?;
    let mut children = BTreeMap::<String, usize>::new();
    all.iter().filter_map(|known| known.agent.parent.clone()).for_each(|id| *children.entry(id).or_default() += 1);
    let (roots, mut listed) = (known_dirs::roots(env).unwrap_or_default(), Vec::new());
    for known in all {
        let agent = &known.agent;
        let is_under =
            under.as_ref().is_none_or(|top| agent.id == top.agent.id || agent.parents.contains(&top.agent.id));
        let is_nobodys = known_dirs::is_for_checks(&roots, &known.worktree.path);
        if !is_under || is_nobodys || request.kind.is_some_and(|kind| kind != agent.kind || known.error.is_some()) {
            continue;
        }
        let last = last_runs.remove(&agent.id);
        let (liveness, exit) = liveness(ui, env, place, &settings, &known, last)?;
        let is_dead = matches!(liveness, Liveness::Exited | Liveness::Died);
        if (request.live && liveness != Liveness::Live) || (request.dead && !is_dead) {
            continue;
        }
        let has_session = sessions.binary_search(&encoded(&agent.id).into()).is_ok();
        let pending = if has_session { Spool::new(&shared, &agent.id).pending()? } else { 0 };
        let children = children.get(&agent.id).copied().unwrap_or(0);
        let (is_dirty, unread, refused, stat, merged, distance) = (None, None, None, None, None, None);
        listed.push(ListedAgent {
            known,
            liveness,
            exit,
            pending,
            children,
            is_dirty,
            unread,
            refused,
            stat,
            merged,
            distance,
        });
    }
    if (request.status || request.stat) && !ui.is_dry() {
        for listed in &mut listed {
            let sandbox = sandboxes::of(env, place, &listed.known);
            let id = &listed.known.agent.id;
            listed.refused = sandbox.and_then(|sandbox| sandboxes::take_in(ui, env, place, &sandbox, id));
        }
    }
    if request.status {
        look_for_changes(&Git::find(env)?, place, &mut listed);
    }
    if request.stat {
        let main = repository::current_branch(place, &place.common_dir, &place.common_dir)?.flatten();
        count_changes(&Git::find(env)?, place, &mut listed, main.as_deref())?;
    }
    Ok(listed)
}

/// Whether an agent runs, and how its last run ended. A death that cannot be recorded is told all the same.
fn liveness(
    ui: &Ui,
    env: &Env,
    place: &Place,
    settings: &Settings,
    known: &KnownAgent,
    last: Option<AgentRun>,
) -> Result<(Liveness, Option<Status>)> {
    let look = |deaths| runs::liveness(env, place, settings.probe.as_ref(), known, last.clone(), deaths);
    look(Deaths::of(ui)).or_else(|failure| {
        ui.warn(format!("the end of the run of {} is not recorded: {failure}", known.agent.id));
        look(Deaths::Noticed)
    })
}

/// Looks whether there are changes in each worktree.
fn look_for_changes(git: &Git, place: &Place, all: &mut [ListedAgent]) {
    let found = proc::map_parallel(&*all, |listed| {
        let worktree = &listed.known.worktree;
        let is_dirty = || repository::is_dirty(&worktree.git(git, place)?, worktree);
        (!worktree.is_lost).then(is_dirty).transpose()
    });
    for (listed, found) in all.iter_mut().zip(found) {
        match found {
            Ok(is_dirty) => listed.is_dirty = is_dirty,
            Err(failure) => listed.unread = Some(failure.to_string()),
        }
    }
}

/// The branch on which its work lands: its parent's, else `main`, the main checkout's or that of a bare repository.
fn target_of<'k>(known: &'k KnownAgent, main: Option<&'k str>) -> Option<&'k str> {
    known.agent.target.as_deref().or(main).filter(|target| is_branch_name(target))
}

/// Counts how far each branch is from the one on which its work lands, and what its worktree changes.
fn count_changes(git: &Git, place: &Place, all: &mut [ListedAgent], main: Option<&str>) -> Result<()> {
    let mut known = BTreeMap::new();
    for listed in all.iter_mut().filter(|listed| !listed.known.worktree.is_main) {
        let Some(target) = target_of(&listed.known, main) else { continue };
        let distances = match known.entry(target.to_owned()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let base = format!("refs/heads/{}", entry.key());
                entry.insert(git.ahead_behind(&place.common_dir, &base).unwrap_or_default())
            }
        };
        listed.distance = listed.known.worktree.branch.as_ref().and_then(|branch| distances.get(branch).copied());
    }
    let found = proc::map_parallel(&*all, |listed| changes(git, place, listed, target_of(&listed.known, main)));
    for (listed, found) in all.iter_mut().zip(found) {
        match found {
            Ok(found) => (listed.stat, listed.merged) = found,
            Err(failure) => listed.unread = Some(failure.to_string()),
        }
    }
    Ok(())
}

/// What a worktree changes of the branch on which its work lands, else since it was made, and whether all of its work has
/// landed; none for a worktree that was made by hand, and where git fails. Fails where git cannot look there, of which one
/// try is enough.
fn changes(
    git: &Git,
    place: &Place,
    listed: &ListedAgent,
    target: Option<&str>,
) -> Result<(Option<DiffStat>, Option<bool>)> {
    let KnownAgent { agent, worktree, .. } = &listed.known;
    let is_read = !worktree.is_lost && listed.unread.is_none();
    let Some(birth) = agent.base_sha.as_deref().filter(|_| is_read) else { return Ok((None, None)) };
    let git = worktree.git(git, place)?;
    let target = target.map(|target| format!("refs/heads/{target}"));
    // A rebased branch, or one that has merged the other, has the other's changes as well.
    let diff_stat = |between: &[&str]| diff_stat(&git, &worktree.path, between);
    let own = target.as_ref().map_or(Ok(None), |target| diff_stat(&["--merge-base", target]))?;
    let stat = if own.is_some() { own } else { diff_stat(&[birth])? };
    let refs = worktree.branch.as_ref().map(|branch| format!("refs/heads/{branch}")).zip(target);
    let is_merged = listed.distance.zip(refs).map(|((ahead, _), (branch, target))| -> Result<bool> {
        Ok(ahead == 0
            && diff_stat(&[birth, "HEAD"])?.is_some_and(|stat| stat.files > 0)
            && has_had_work(&git, &worktree.path, (&branch, &target), birth))
    });
    Ok((stat, is_merged.transpose()?))
}

/// Whether a branch was, since it was made, at a commit where the one on which its work lands had not been before, so that it
/// has not only followed that one. Where git keeps no log of them, it counts as having had work.
fn has_had_work(git: &Git, worktree: &Path, (branch, target): (&str, &str), birth: &str) -> bool {
    // Newest first, each commit with the time, and with what moved the branch.
    let past = |name: &str| -> Vec<(String, i64, String)> {
        let show = ["reflog", "show", "--date=unix", "--format=%H %gd %gs", name, "--"];
        let entry = |line: &str| {
            let (commit, rest) = line.split_once(' ')?;
            let (at, how) = rest.split_once(' ').unwrap_or((rest, ""));
            Some((commit.to_owned(), at.rsplit_once("@{")?.1.trim_end_matches('}').parse().ok()?, how.to_owned()))
        };
        let output = git.cmd(worktree).args(show).within(LOOK_LIMIT).capture();
        output.map(|output| output.text().lines().filter_map(entry).collect()).unwrap_or_default()
    };
    let first_there: BTreeMap<String, i64> = past(target).into_iter().map(|(commit, at, _)| (commit, at)).collect();
    let mut since = past(branch).into_iter().take_while(|(commit, ..)| commit != birth).peekable();
    since.peek().is_none()
        || since.any(|(commit, at, how)| match first_there.get(&commit) {
            // Both may have been there within one second.
            Some(first) => *first > at || *first == at && !is_move(&how),
            // The other one may have been moved past it.
            None => !is_move(&how),
        })
}

/// Whether an entry of a branch's log tells of a commit that was there before; of one that a rebase has made, earlier entries
/// tell.
fn is_move(how: &str) -> bool {
    let (what, rest) = how.split_once(": ").unwrap_or((how, ""));
    ["reset", "branch"].contains(&what) || what.ends_with("(finish)") || rest == "Fast-forward"
}

/// Counts the lines of a difference; none where git fails.
fn diff_stat(git: &Git, worktree: &Path, between: &[&str]) -> Result<Option<DiffStat>> {
    let how = ["diff", "--numstat", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules"];
    let output = git.cmd(worktree).args(how).args(between).arg("--").within(LOOK_LIMIT).capture()?;
    if !output.status.success() {
        return Ok(None);
    }
    let mut stat = DiffStat::default();
    for line in output.text().lines() {
        let mut counts = line.split('\t').map(|count| count.parse().unwrap_or(0));
        stat.files += 1;
        stat.insertions += counts.next().unwrap_or(0);
        stat.deletions += counts.next().unwrap_or(0);
    }
    Ok(Some(stat))
}
