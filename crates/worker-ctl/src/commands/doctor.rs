//! `doctor`: checks for problems, each with its repair. A check that fails does not stop the others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args as ClapArgs;
use shopfloor_core::agents::AgentProgram;
use shopfloor_core::doctor::{self, DoctorArgs, Finding};
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::{Git, ListedWorktree, bare_by_mistake, recorded_dir};
use shopfloor_core::proc;
use shopfloor_core::sandbox as core_sandbox;
use shopfloor_core::text::{printable, shell_word};

use crate::apply::{check, clone_hooks, patrol, repair, runner, sandbox, transition};
use crate::commands;
use crate::context::Context;
use crate::facts::sandboxes::runner as runner_of;
use crate::facts::{adoption, version};
use crate::layout;
use crate::plan::machine::Input;
use crate::root::follow_source;
use crate::store::{self, State};
use crate::tmux::{self, Pane, Tmux};
use crate::work_repo::{PUSH_URL, common_dir, is_rebasing};
use crate::worker::{Adopted, Session, Task, Worker};
use crate::worker_notes::{Fault, Note};

#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(flatten)]
    pub doctor: DoctorArgs,
    /// Rebuild the state from the worktrees, the backups and the event log
    #[arg(long, conflicts_with = "repair")]
    pub rebuild: bool,
}

/// What carries out a repair.
type Repair<'a> = Box<dyn Fn() -> Result<()> + 'a>;

type Findings<'a> = Vec<Finding<Repair<'a>>>;

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let mut wanted = args.doctor;
    if wanted.repair {
        commands::recover(ctx).map(drop).unwrap_or_else(|failure| ctx.ui.warn(failure));
    }
    let findings = if args.rebuild { vec![find_rebuilt(ctx)?] } else { check_all(ctx) };
    wanted.repair |= args.rebuild;
    doctor::run(ctx.ui, &findings, wanted, |repair| repair())
}

/// The state as the worktrees, the backups and the event log say it should be.
fn find_rebuilt<'a>(ctx: &'a Context<'_>) -> Result<Finding<Repair<'a>>> {
    let rebuilt = repair::rebuilt_state(ctx)?;
    let lines = rebuilt.state.workers.values().map(|worker| format!("{}: {}", worker.name, worker.task.word()));
    lines.for_each(|line| ctx.ui.note(line));
    let detail = format!("{} workers have a worktree", rebuilt.state.workers.len());
    let write = move || repair::write_rebuilt(ctx, &rebuilt);
    Ok(Finding::bad("state", detail, "write this state", Some(Box::new(write))))
}

fn check_all<'a>(ctx: &'a Context<'_>) -> Findings<'a> {
    let loaded = store::load_any(&ctx.root.path);
    let loading = match &loaded {
        Ok(state) => Finding::good("state", format!("{} workers, revision {}", state.workers.len(), state.revision)),
        Err(failure) => Finding::bad("state", failure.to_string(), failure.hints.join("; "), None),
    };
    let is_loaded = loaded.is_ok();
    // Without a readable state the other checks still run, but they must not report each session and branch as one that
    // belongs to no worker.
    let state = loaded.unwrap_or_else(|_| State::new(&store::last_tmux_socket(&ctx.root.path)));
    let or_failure = |check: &'static str, findings: Result<Findings<'a>>, fix: &str| {
        findings.unwrap_or_else(|failure| vec![Finding::bad(check, failure.to_string(), fix, None)])
    };
    let mut all = check_programs(ctx, &state);
    all.push(loading);
    all.extend(check_sandboxes(ctx, &state));
    all.extend(check_runners(ctx, &state));
    all.extend(check_checks(ctx, &state));
    all.extend(state.workers.values().filter_map(|worker| check_record(ctx, worker)));
    all.extend(or_failure("sessions", check_sessions(ctx, &state, is_loaded), "look at tmux"));
    all.extend(or_failure("worktrees", check_worktrees(ctx, &state), "look at git"));
    all.extend(or_failure("branches", check_branches(ctx, &state, is_loaded), "look at git"));
    all.extend(or_failure("git", check_settings(ctx, &state), "look at the clone"));
    all.extend(or_failure("hooks", check_hooks(ctx), "look at the source and its clone"));
    all.extend(or_failure("programs", check_new_programs(ctx, &state), "look at the repository"));
    all
}

/// The findings of a check, or that all is well.
fn or_good<'a>(mut findings: Findings<'a>, check: &'static str, detail: impl Into<String>) -> Findings<'a> {
    if findings.is_empty() {
        findings.push(Finding::good(check, detail));
    }
    findings
}

fn check_programs<'a>(ctx: &Context<'_>, state: &State) -> Findings<'a> {
    let mut names: BTreeSet<String> = ["git", "tmux"].map(str::to_owned).into();
    for worker in state.workers.values() {
        names.extend(ctx.root.agent_of(worker).ok().and_then(|agent| agent.command.first().cloned()));
    }
    let is_there =
        |name: &str| if name.contains('/') { Path::new(name).is_file() } else { proc::find(ctx.env, name).is_some() };
    let presets: Vec<_> = state.workers.values().filter_map(|worker| ctx.root.preset_of(worker)).collect();
    let check = |name: String| match (is_there(&name), presets.iter().find(|preset| preset.name == name)) {
        (true, Some(program)) => Finding::good("programs", describe_version(ctx, program)),
        (true, None) => Finding::good("programs", name),
        (false, _) => Finding::bad("programs", format!("{name} is not installed"), format!("install {name}"), None),
    };
    names.into_iter().map(check).collect()
}

/// Whose code the check of `config.toml` runs, and with whose rights.
fn check_checks<'a>(ctx: &Context<'_>, state: &State) -> Findings<'a> {
    if check::command(&ctx.root).is_none() {
        return Findings::new();
    }
    let outside: Vec<&str> = (state.workers.values())
        .filter(|worker| !sandbox::is_wanted(ctx, worker))
        .map(|worker| worker.name.as_str())
        .collect();
    let names = outside.join(", ");
    vec![match (outside.is_empty(), ctx.root.config.settings.truth("check_on_host")) {
        (true, _) => Finding::good("check", "it runs in sandboxes"),
        (false, true) => {
            Finding::good("check", format!("it runs the code of {names} with your rights, as `check_on_host` says"))
        }
        (false, false) => Finding::bad(
            "check",
            format!("it is not run for {names}: it would run their code with your rights"),
            "run them in a sandbox (`runner = \"sandbox\"`), or set `check_on_host = true` in [repo] of config.toml",
            None,
        ),
    }]
}

/// The bubblewrap on whose PATH codex's own sandbox starts nothing (tried: Debian's 0.8.0, with codex 0.169.0).
const BREAKS_CODEX: &str = "bubblewrap 0.8.";

/// Whether sandboxes can be made, and what is left of those whose worktrees are gone.
fn check_sandboxes<'a>(ctx: &Context<'_>, state: &State) -> Findings<'a> {
    let (inside, outside): (Vec<&Worker>, _) =
        state.workers.values().partition(|worker| sandbox::is_wanted(ctx, worker));
    let can = core_sandbox::describe(ctx.env);
    let mut findings = Findings::new();
    let is_broken = can.as_ref().is_ok_and(|version| version.starts_with(BREAKS_CODEX));
    let skips = |worker: &Worker| {
        let own = ctx.root.worker(&worker.name).skip_permissions;
        own.unwrap_or_else(|| ctx.root.config.settings.truth("skip_permissions"))
    };
    let runs_codex =
        |worker: &&Worker| !skips(worker) && ctx.root.preset_of(worker).is_some_and(|program| program.name == "codex");
    if let Some(worker) = outside.into_iter().find(|worker| is_broken && runs_codex(worker)) {
        let detail =
            format!("{}: codex's own sandbox may start nothing where {BREAKS_CODEX}x is on the PATH", worker.name);
        let fix = format!(
            "run it in ours (`runner = \"sandbox\"` in [workers.{}] of config.toml), or install a newer bubblewrap",
            worker.name
        );
        findings.push(Finding::bad("sandbox", detail, fix, None));
    }
    for (dir, worktree) in core_sandbox::abandoned(ctx.env) {
        let (detail, fix) = (
            format!("the sandbox of {} is left", worktree.display()),
            format!("delete it, if nothing of it is missed: {}", shell_word(&dir)),
        );
        findings.push(Finding::bad("sandbox", detail, fix, None));
    }
    findings.push(match can {
        Ok(version) => Finding::good("sandbox", format!("{version}, for {} workers", inside.len())),
        Err(failure) if inside.is_empty() => Finding::good("sandbox", format!("none: {failure}")),
        Err(failure) => Finding::bad("sandbox", failure.to_string(), failure.hints.join("; "), None),
    });
    findings
}

/// Whether the runners of workers run anything, each once.
fn check_runners<'a>(ctx: &Context<'_>, state: &State) -> Findings<'a> {
    let mut seen = BTreeSet::new();
    let first = state.workers.values().filter(|worker| seen.insert(runner_of(ctx, worker)));
    let found = first.filter_map(|worker| runner::look(ctx, worker));
    let finding = |found| match found {
        Ok(detail) => Finding::good("runner", detail),
        Err(detail) => Finding::bad("runner", detail, "run its `command` of config.toml by hand", None),
    };
    found.map(finding).collect()
}

/// How long a program may take to print its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// A program with its version. Another version than those that were tried is no problem in itself.
fn describe_version(ctx: &Context<'_>, program: &AgentProgram) -> String {
    let AgentProgram { name, versions, .. } = program;
    match version::installed(ctx, program, VERSION_LIMIT) {
        Some(version) if versions.contains(&version.as_str()) => format!("{name} {version}"),
        Some(version) => format!("{name} {version}; its preset was tried with {}", versions.join(" and ")),
        None => format!("{name} of an unknown version; its preset was tried with {}", versions.join(" and ")),
    }
}

/// An invalid record, timestamps in the future, a worker off its branch, or a fault.
fn check_record<'a>(ctx: &'a Context<'_>, worker: &Worker) -> Option<Finding<Repair<'a>>> {
    let name = worker.name.clone();
    let mut clamped = worker.clone();
    clamped.clamp(ctx.now());
    if let Err(why) = worker.check() {
        let fix = format!("rebuild the record of {name} from its worktree");
        return Some(Finding::bad("state", why, fix, Some(Box::new(move || repair::rebuild_record(ctx, &name)))));
    }
    if clamped != *worker {
        let detail = format!("{name}: timestamps are in the future");
        let clamp = move |state: &mut State| {
            state.workers.get_mut(&name).into_iter().for_each(|worker| worker.clamp(ctx.now()));
        };
        let clamp = move || store::update_any(&ctx.root.path, &clamp);
        return Some(Finding::bad("state", detail, "set them to now", Some(Box::new(clamp))));
    }
    // A target that is gone is found with the worktree.
    if let Some(note) = strayed(ctx, worker) {
        let head = ctx.of(worker).and_then(|ctx| ctx.repo.head(worker.tree()));
        if head.is_ok_and(|(branch, sha)| branch.as_ref() == Some(&worker.branch) && sha.is_some()) {
            let detail = format!("{name} is on {} again, and its note is old: {note}", worker.branch);
            let clear = move || transition::record(ctx, &name, &Input::Strayed { note: None }).map(drop);
            return Some(Finding::bad("branches", detail, "take the note back", Some(Box::new(clear))));
        }
        let base = || ctx.of(worker).and_then(|ctx| ctx.repo.require_base()).ok();
        let fix = match &note {
            Note::HeadUnreadable(head) => worker.head_hint(head),
            Note::BranchGone(_) => format!("{}, or run `worker-ctl reset {name} --force`", worker.branch_hint(base())),
            _ => format!("check out {} in {}, or run `worker-ctl reset {name}`", worker.branch, worker.worktree_path),
        };
        return Some(Finding::bad("branches", format!("{name}: {note}"), fix, None));
    }
    let fault = worker.program.fault.clone().filter(|fault| *fault != Fault::WorktreeMissing)?;
    let detail = format!("{name} is in error: {fault}");
    let fix = format!("clear the error of {name}, which keeps its task");
    let mended = Input::Mended { reason: fault };
    let clear = move || transition::record(ctx, &name, &mended).map(drop);
    Some(Finding::bad("workers", detail, fix, Some(Box::new(clear))))
}

/// Why a worktree is not on the worker's branch, as the next patrol would find it, or the last one has found it.
fn strayed(ctx: &Context<'_>, worker: &Worker) -> Option<Note> {
    let look = || -> Result<Option<Input>> {
        let ctx = &ctx.of(worker)?;
        let trees = ctx.repo.trees()?;
        let tree = trees.get(worker.tree()).filter(|_| worker.has_tree(&ctx.source()));
        tree.map_or(Ok(None), |tree| patrol::find_strayed(ctx, worker, tree, false))
    };
    match look() {
        Ok(Some(Input::Strayed { note: Some(note) })) => Some(note),
        _ => worker.notes.iter().find(|note| note.is_of_own_branch()).cloned(),
    }
}

fn check_sessions<'a>(ctx: &'a Context<'_>, state: &State, is_loaded: bool) -> Result<Findings<'a>> {
    let tmux = Tmux::find(ctx.env, &state.tmux_socket)?;
    let panes = tmux.panes()?;
    let mut findings = Findings::new();
    // A person may have renamed the session of a worker.
    let is_workers = |pane: &&Pane| {
        let is_its = |worker: &Worker| worker.session_id == pane.session || worker.name == pane.worker;
        state.workers.values().any(is_its)
    };
    let known: BTreeSet<&str> = panes.iter().filter(is_workers).map(|pane| &*pane.session).collect();
    let all: BTreeSet<&str> = panes.iter().filter(|_| is_loaded).map(|pane| &*pane.session).collect();
    for session in all.difference(&known) {
        let detail = format!("the session {session} belongs to no worker");
        // One in which we started nothing is a person's.
        if !panes.iter().any(|pane| pane.session == *session && !pane.worker.is_empty()) {
            let fix = format!("end it if nobody needs it: `{}`", tmux.kill_line(session));
            findings.push(Finding::bad("sessions", detail, fix, None));
            continue;
        }
        let fix = format!("end the session {session}");
        let target = format!("={session}:");
        let end = move || ctx.tmux()?.must(&["kill-session", "-t", &target]).map(drop);
        findings.push(Finding::bad("sessions", detail, fix, Some(Box::new(end))));
    }
    for worker in state.workers.values().filter(|worker| worker.status() != "offline" && worker.status() != "error") {
        if tmux::find(&panes, worker).is_none() {
            let name = worker.name.clone();
            let (detail, fix) = (format!("{name} has no session"), format!("record that {name} is offline"));
            let record = move || repair::record_gone(ctx, &name);
            findings.push(Finding::bad("sessions", detail, fix, Some(Box::new(record))));
        }
    }
    Ok(or_good(findings, "sessions", format!("{} panes", panes.len())))
}

fn check_worktrees<'a>(ctx: &'a Context<'_>, state: &State) -> Result<Findings<'a>> {
    if state.workers.is_empty() {
        let count = ctx.clone.trees()?.len().saturating_sub(1);
        return Ok(vec![Finding::good("worktrees", format!("{count} registered"))]);
    }
    Ok(state.workers.values().map(|worker| check_worktree(ctx, worker)).collect())
}

fn check_worktree<'a>(ctx: &'a Context<'_>, worker: &Worker) -> Finding<Repair<'a>> {
    let (name, path) = (worker.name.clone(), worker.tree());
    let is_cloned = worker.adopted.is_none();
    let bad = |detail: String, fix: String, repair| Finding::bad("worktrees", detail, fix, repair);
    if is_cloned && !path.is_dir() && path.parent() != Some(&layout::worktrees(&ctx.root.path)) {
        let root = ctx.root.path.display();
        let detail = format!("the worktree of {name} is {}, but the root is {root} now", path.display());
        return bad(detail, layout::back(&ctx.root.path, path), None);
    }
    if let Some(moved) = moved_to(ctx, worker) {
        let detail = format!("the worktree of {name}, {}, was moved to {}", path.display(), moved.display());
        let [clone, from, to] = [&*ctx.clone.top, &moved, path].map(shell_word);
        let fix = match is_cloned {
            true => format!("move it back: `git -C {clone} worktree move {from} {to}`"),
            false if adoption::moved(ctx, worker).is_some() => "have it go on there: `worker-ctl patrol`".to_owned(),
            false => format!("if it is to go on there: `worker-ctl add --worktree {from}`"),
        };
        return bad(detail, fix, None);
    }
    if worker.is_replaced(&ctx.source())
        && let Err(failure) = worker.require_tree(&ctx.source())
    {
        return bad(failure.message, failure.hints.join("; "), None);
    }
    if !path.is_dir() && !is_cloned {
        let fix = format!(
            "if you moved it: `git worktree repair PLACE` in its repository, then `worker-ctl patrol`; if you removed \
             it: `worker-ctl nuke {name}`"
        );
        return bad(format!("the worktree of {name}, {}, is missing", path.display()), fix, None);
    }
    if !is_cloned && let Err(failure) = ctx.of(worker).and_then(|ctx| ctx.repo.require_base()) {
        return bad(format!("{name}: {}", failure.message), failure.hints.join("; "), None);
    }
    if !path.is_dir() {
        let detail = format!("the worktree of {name} is missing");
        let fix = format!("restore {} from {}", worker.worktree_path, worker.branch);
        return bad(detail, fix, Some(Box::new(move || repair::restore_worktree(ctx, &name))));
    }
    let dirty = match ctx.of(worker).and_then(|ctx| ctx.repo.dirty(path)) {
        Ok(dirty) => dirty.len(),
        Err(failure) => {
            let fix = failure.hints.first().cloned().unwrap_or_else(|| "look at the worktree with git".into());
            return bad(format!("{name}: {failure}"), fix, None);
        }
    };
    if is_rebasing(path) && !matches!(worker.task, Task::Rebasing { .. }) {
        if worker.program.session == Session::Up {
            let fix = format!("let the agent finish the rebase, or look with `worker-ctl attach {name}`");
            return bad(format!("{name} is in a rebase of its own"), fix, None);
        }
        let detail = format!("{name} has a rebase under way, but no session");
        let fix = format!("abort the rebase of {name}, and keep its commits");
        return bad(detail, fix, Some(Box::new(move || repair::abort_rebase(ctx, &name))));
    }
    Finding::good("worktrees", if dirty == 0 { name } else { format!("{name}, {dirty} uncommitted") })
}

/// Where git has a worker's worktree that is no longer at its place, if it has it.
fn moved_to(ctx: &Context<'_>, worker: &Worker) -> Option<PathBuf> {
    if worker.has_tree(&ctx.source()) {
        return None;
    }
    let is_elsewhere = |tree: &ListedWorktree| tree.path != worker.tree() && tree.path.is_dir();
    let is_its = |tree: &ListedWorktree| tree.branch.as_ref() == Some(&worker.branch) && is_elsewhere(tree);
    let trees = || ctx.of(worker).and_then(|ctx| ctx.repo.trees()).ok();
    adoption::moved(ctx, worker).map(PathBuf::from).or_else(|| Some(trees()?.into_values().find(is_its)?.path))
}

fn check_branches<'a>(ctx: &Context<'_>, state: &State, is_loaded: bool) -> Result<Findings<'a>> {
    // In the person's own repository a branch may be anybody's.
    if ctx.clone.is_own {
        return Ok(Findings::new());
    }
    let prefix = format!("refs/heads/{}", ctx.root.config.text("branch_prefix"));
    let listed = ctx.clone.ask(&ctx.root.path, &["for-each-ref", "--format=%(refname:short)", &prefix])?;
    let orphans =
        listed.lines().filter(|name| is_loaded && !state.workers.values().any(|worker| worker.branch == *name));
    let fix = "look at the branch, then delete it with git";
    let orphans = orphans.map(|name| Finding::bad("branches", format!("{name} belongs to no worker"), fix, None));
    Ok(or_good(orphans.collect(), "branches", format!("{} branches", listed.lines().count())))
}

/// The hooks of the source, which its clone needs as well.
fn check_hooks<'a>(ctx: &'a Context<'_>) -> Result<Findings<'a>> {
    if !ctx.source().exists() || ctx.clone.is_own {
        return Ok(Findings::new());
    }
    let missing = clone_hooks::of(ctx)?;
    let lost = |tool: &&str| {
        let fix = format!("run `{tool} hook install` there");
        Finding::bad("hooks", format!("git does not run the hook of {tool} in {}", ctx.source().display()), fix, None)
    };
    let mut findings: Findings<'a> = missing.lost.iter().map(lost).collect();
    let names = missing.names().join(", ");
    if !names.is_empty() {
        let detail = format!("the clone lacks what the source has: {names}");
        let bring = move || {
            let warnings = missing.bring(ctx.env)?;
            warnings.iter().for_each(|warning| ctx.ui.warn(warning));
            Ok(())
        };
        findings.push(Finding::bad("hooks", detail, "bring them into the clone", Some(Box::new(bring))));
    }
    Ok(or_good(findings, "hooks", "the clone has those of the source"))
}

/// Hooks and settings that the person's own repository, and their worktrees, have had since agents work there.
fn check_new_programs<'a>(ctx: &Context<'_>, state: &State) -> Result<Findings<'a>> {
    let Some(first) = state.workers.values().find(|worker| worker.adopted.is_some()) else {
        return Ok(Findings::new());
    };
    let (git, common) = (Git::find(ctx.env)?, ctx.of(first)?.repo.common);
    let now = adoption::programs(&git, &common)?;
    let mut findings = Findings::new();
    for worker in state.workers.values() {
        let Some(Adopted { programs: Some(before), accepted, .. }) = &worker.adopted else { continue };
        let own = recorded_dir(&common, worker.tree())?.map(|dir| adoption::own_programs(&git, &common, &dir));
        let own = own.transpose()?.unwrap_or_default().into_iter().filter(|setting| !accepted.contains(setting));
        let own = own.map(|(key, _)| printable(&format!("the setting {key} of its worktree")));
        let new: Vec<String> =
            now.difference(before).map(|program| adoption::without_digest(program)).chain(own).collect();
        let detail = format!("since {} was adopted, the repository has got {}", worker.name, new.join(", "));
        let fix = format!(
            "take out what you did not put there; then `worker-ctl add --worktree {}` takes the rest as known",
            shell_word(worker.tree())
        );
        findings.extend((!new.is_empty()).then(|| Finding::bad("programs", detail, fix, None)));
    }
    Ok(findings)
}

fn check_settings<'a>(ctx: &'a Context<'_>, state: &State) -> Result<Findings<'a>> {
    let mut findings = Findings::new();
    let expected = [("rerere.enabled", "true"), ("remote.origin.pushurl", PUSH_URL)];
    for (key, value) in expected.into_iter().filter(|_| !ctx.clone.is_own) {
        if ctx.clone.run(&ctx.root.path, &["config", "--file", ".git/config", "--get", key])?.text() != value {
            let set = ["config", "--file", ".git/config", key, value];
            let set = move || ctx.clone.ask(&ctx.root.path, &set).map(drop);
            let detail = format!("{key} is not {value}");
            findings.push(Finding::bad("git", detail, format!("set {key}"), Some(Box::new(set))));
        }
    }
    let source = ctx.source();
    if !source.exists() {
        let detail = format!("the source {} is missing", source.display());
        findings.push(Finding::bad("git", detail, follow_source(&ctx.root.path), None));
    }
    if let Some(failure) = bare_by_mistake(&common_dir(&source)) {
        findings.push(Finding::bad("git", failure.message, failure.hints.join("; "), None));
    }
    let at = if ctx.clone.is_own { &ctx.clone.top } else { &source };
    let branch = &ctx.clone.branch;
    if source.exists() && ctx.clone.commit(at, &format!("refs/heads/{branch}"))?.is_none() {
        let fix = "set `branch` in `[repo]` of config.toml to the branch that work goes to";
        findings.push(Finding::bad("git", format!("the source has no branch {branch}"), fix, None));
    }
    let has_adopted = state.workers.values().any(|worker| worker.adopted.is_some());
    if source.exists()
        && has_adopted
        && let Some(why) = version::keeps_push_urls(ctx)?
    {
        findings.push(Finding::bad("git", why, "update git", None));
    }
    Ok(or_good(findings, "git", if ctx.clone.is_own { "there is no clone" } else { "the clone is configured" }))
}
