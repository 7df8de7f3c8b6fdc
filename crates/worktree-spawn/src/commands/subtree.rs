//! `subtree`: a worktree on a branch of its own.

use std::path::PathBuf;

use serde_json::{Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Git;
use shopfloor_core::proc;
use shopfloor_core::ui::Ui;

use crate::apply::spawn::{self, How, Made, Site};
use crate::cli::{IfExists, SubtreeArgs, Task};
use crate::facts::agents::{self, Known, task_file};
use crate::facts::place::Place;
use crate::facts::spawn as facts;
use crate::journal;
use crate::launcher;
use crate::native::Native;
use crate::plan::spawn::{Decision, Facts, Plan, Request, branch_prefix, candidates, place_of, plan};
use crate::settings::{Flags, Settings};

pub fn run(ui: &Ui, env: &Env, args: &SubtreeArgs) -> Result<Exit> {
    if ui.is_json() && !args.command.is_empty() {
        return Err(Failure::usage("with a command the answer is what that prints, and no JSON")
            .hint("leave `--json` out, or run it afterwards with `worktree-spawn run ID -- CMD`"));
    }
    let place = Place::find(env)?;
    let answer = spawn(ui, env, &place, args)?;
    if !args.command.is_empty() {
        let (id, path) = (&answer.known.agent.id, answer.known.tree.path.display());
        if args.dry_run.dry_run {
            ui.note(format!("would run the command as {id} in {path}"));
            return Ok(Exit::Done);
        }
        ui.note(format!("{id} works in {path}"));
        return super::run::run(ui, env, id, &args.command, false);
    }
    if ui.is_json() {
        ui.json(&answer.json());
    } else {
        ui.answer(&[answer.known.tree.path.as_os_str().as_encoded_bytes(), b"\n"].concat());
    }
    match answer.failure {
        Some(failure) if ui.is_json() => Ok(failure.exit),
        Some(failure) => Err(failure),
        None => Ok(Exit::Done),
    }
}

/// An agent that was made, or was there.
#[derive(Debug)]
pub struct Answer {
    pub known: Known,
    pub created: bool,
    pub config: PathBuf,
    pub mcp_config: PathBuf,
    pub warnings: Vec<String>,
    /// It is there, and something else failed.
    pub failure: Option<Failure>,
}

impl Answer {
    pub fn json(&self) -> Value {
        let agent = &self.known.agent;
        let task = task_file(&self.known);
        let mut answer = json!({
            "id": agent.id, "kind": agent.kind, "slug": agent.slug, "path": self.known.tree.path,
            "birth_branch": agent.birth_branch, "parent": agent.parent, "level": agent.level,
            "base_sha": agent.base_sha, "created": self.created,
            "task_file": task.exists().then_some(task), "config": self.config, "mcp_config": Some(&self.mcp_config).filter(|path| !path.as_os_str().is_empty()),
            "warnings": self.warnings,
        });
        if let (Some(failure), Some(map)) = (&self.failure, answer.as_object_mut()) {
            map.insert("error".into(), failure.to_json());
        }
        answer
    }
}

/// Makes a subtree of whoever calls.
pub fn spawn(ui: &Ui, env: &Env, place: &Place, args: &SubtreeArgs) -> Result<Answer> {
    let flags = Flags {
        agent: args.agent.as_deref(),
        launcher: args.launch.launcher.as_deref(),
        max_depth: args.max_depth.as_deref(),
        probe: None,
    };
    let settings = Settings::load(env, place, flags)?;
    settings.warnings.iter().for_each(|warning| ui.warn(warning));
    let caller = agents::caller(place, args.identity.id.as_deref())?;
    // Its worktree is where the new one starts, wherever it was named from.
    let place = &seen_from(place, &caller);
    if args.role.as_deref().is_some_and(|role| role.contains(char::is_control)) {
        return Err(Failure::usage("--role must be a word or a few on one line"));
    }
    let request = Request {
        name: args.name.clone(),
        role: args.role.clone(),
        agent: settings.agent.clone(),
        returns_existing: args.if_exists == IfExists::Return,
        is_unique: args.unique,
        reuses_branch: args.reuse_branch,
        names_start: args.from.is_some(),
        base_name: args.base_name.clone(),
        max_depth: settings.max_depth,
        base: facts::base_dir(place, &settings.worktree_base, args.base_dir.as_deref()),
    };
    if args.launch.launch || args.launch.launcher.is_some() {
        settings.command_of(&settings.agent)?;
    }
    let task = read_task(ui, env, &args.task)?;
    let git = Git::find(env)?;
    let wish = Wish { request: &request, caller: &caller, from: args.from.as_deref() };
    let native = if place.has_ref_storage { None } else { Native::open(env, place.require_here()?) };
    if args.dry_run.dry_run {
        let base = facts::base(&git, native.as_ref(), place, wish.from)?;
        let decision = decide(place, &git, native.as_ref(), &wish, &base)?;
        return Ok(preview(ui, decision, &caller));
    }
    if args.require_clean {
        require_clean(&git, place)?;
    }
    let repo = place.repo();
    // Linked worktrees could not find it otherwise, where the git directory lies elsewhere.
    repo.remember_main_checkout()?;
    let deferred = proc::defer_signals();
    let spinner = ui.spinner(&format!("making a worktree for {}", request.name));
    let site = Site {
        ui,
        spinner: spinner.as_ref(),
        env,
        place,
        git: &git,
        repo: &repo,
        native: native.as_ref(),
        interrupted: deferred.interrupted,
    };
    let how = How { task, submodules: args.submodules, no_git_hooks: args.no_git_hooks };
    let mut answer = match make(ui, &site, &wish, &how)? {
        Ok(made) => {
            let known = Known { agent: made.agent, tree: made.tree, is_managed: true, error: None };
            made.warnings.iter().for_each(|warning| ui.warn(warning));
            answer_for(known, true, made.mcp_config, made.warnings)
        }
        Err(known) => {
            let mcp = [".mcp.json", ".shopfloor/mcp.json"].map(|name| known.tree.path.join(name));
            let mcp = if mcp[1].exists() { mcp[1].clone() } else { mcp[0].clone() };
            let task = how.task.map(|_| format!("{} was there, and its task is as it was", known.agent.id));
            task.iter().for_each(|warning| ui.warn(warning));
            answer_for(known, false, mcp, task.into_iter().collect())
        }
    };
    drop(spinner);
    drop(deferred);
    if args.launch.launch || args.launch.launcher.is_some() {
        launch(ui, env, &settings, &mut answer);
    }
    Ok(answer)
}

fn answer_for(known: Known, created: bool, mcp_config: PathBuf, warnings: Vec<String>) -> Answer {
    let config = known.tree.path.join(".shopfloor/config.local.toml");
    Answer { known, created, config, mcp_config, warnings, failure: None }
}

/// Starts the agent, or says how a person does: whoever asked must not wait for one that nobody started.
pub fn launch(ui: &Ui, env: &Env, settings: &Settings, answer: &mut Answer) {
    match launcher::launch(env, settings, &answer.known) {
        Ok(true) => {}
        Ok(false) => {
            let line = launcher::run_line(env, settings, &answer.known).unwrap_or_default();
            let warning =
                format!("no launcher is set, so {} is not started; start it with `{line}`", answer.known.agent.id);
            ui.warn(&warning);
            answer.warnings.push(warning);
        }
        Err(failure) => answer.failure = Some(failure),
    }
}

/// The repository as the caller's own worktree shows it.
pub fn seen_from(place: &Place, caller: &Known) -> Place {
    Place { here: Some(caller.tree.clone()), ..place.clone() }
}

/// What is wanted, by whom.
struct Wish<'a> {
    request: &'a Request,
    caller: &'a Known,
    from: Option<&'a str>,
}

/// Makes it, or finds it there: then whole, whoever is just making it.
fn make(ui: &Ui, site: &Site<'_>, wish: &Wish<'_>, how: &How) -> Result<std::result::Result<Made, Known>> {
    let base = facts::base(site.git, site.native, site.place, wish.from)?;
    let mut start = std::time::Instant::now();
    loop {
        let lock = spawn::lock(site.place)?;
        spawn::recover(site.place, site.git, false)?.iter().for_each(|said| ui.note(said));
        match decide(site.place, site.git, site.native, wish, &base)? {
            Decision::Make(plan) => {
                let begun = spawn::begin(site, &plan)?;
                drop(lock);
                let mut made = spawn::finish(site, &base, begun, how)?;
                made.warnings.extend(plan.warning);
                return Ok(Ok(made));
            }
            Decision::Return(known) => {
                drop(lock);
                if !journal::is_under_way(&site.place.shared(), &known.agent.id)? {
                    return Ok(Err(*known));
                }
                if start.elapsed().as_secs() > 60 {
                    ui.note(format!("waiting for {}, which another process is making", known.agent.id));
                    start = std::time::Instant::now();
                }
                proc::check_interrupt()?;
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
    }
}

/// Reads what the plan needs, and plans.
fn decide(place: &Place, git: &Git, native: Option<&Native>, wish: &Wish<'_>, base: &facts::Base) -> Result<Decision> {
    let all = agents::all(place)?;
    let today = wish.caller.tree.branch.as_deref();
    let prefix = branch_prefix(&wish.caller.agent, today, wish.request.base_name.as_deref())?;
    let slugs = candidates(&wish.request.name, wish.request.is_unique)?;
    let first = slugs.first().cloned().unwrap_or_default();
    let stem: String = if wish.request.is_unique { first.chars().take(40).collect() } else { first };
    let branches = facts::branches(git, native, place, &format!("{prefix}.{stem}"))?;
    facts::refuse_links(&wish.caller.tree.path, &wish.request.base)?;
    let known = Facts {
        caller: wish.caller,
        all: &all,
        base_sha: base.sha.clone(),
        branches,
        occupied: Default::default(),
        now: place.env.now,
    };
    let paths: Vec<PathBuf> = slugs.iter().map(|slug| place_of(&known, wish.request, slug)).collect();
    plan(&Facts { occupied: facts::occupied(&paths), ..known }, wish.request)
}

fn preview(ui: &Ui, decision: Decision, caller: &Known) -> Answer {
    match decision {
        Decision::Return(known) => answer_for(*known, false, PathBuf::new(), Vec::new()),
        Decision::Make(plan) => {
            let Plan { agent, branch, path, base_sha, makes_branch, .. } = *plan;
            let verb = if makes_branch { "make" } else { "check out" };
            ui.note(format!("would {verb} the branch {branch} at {base_sha} in {}", path.display()));
            let tree = crate::facts::place::Tree { path, branch: Some(branch), ..caller.tree.clone() };
            answer_for(Known { agent, tree, is_managed: true, error: None }, false, PathBuf::new(), Vec::new())
        }
    }
}

fn require_clean(git: &Git, place: &Place) -> Result<()> {
    let here = place.require_here()?;
    let status =
        here.git(git, place)?.cmd_alone(&here.path).args(["status", "--porcelain", "-z", "--ignore-submodules=dirty"]);
    let status = status.capture()?;
    if !status.status.success() {
        return Err(facts::git_failed("status", &status));
    }
    if status.stdout.is_empty() {
        return Ok(());
    }
    Err(Failure::new(Exit::No, "dirty", format!("{} has uncommitted changes", here.path.display()))
        .hint("commit them first, or leave `--require-clean` out: the new worktree starts at HEAD without them"))
}

/// The task's bytes, wherever they are.
pub fn read_task(ui: &Ui, env: &Env, task: &Task) -> Result<Option<Vec<u8>>> {
    if let Some(text) = &task.task {
        return Ok(Some(text.clone().into_bytes()));
    }
    let Some(file) = &task.task_file else { return Ok(None) };
    if file.as_os_str() == "-" {
        return ui.input_up_to(fs::STATE_LIMIT).map(Some);
    }
    let path = env.cwd.join(file);
    fs::read_text(&path)?.map(Some).ok_or_else(|| {
        Failure::new(Exit::Bad, "not_found", format!("there is no task file {}", path.display()))
            .hint("name a file that is there, `-` for stdin, or give the text with `--task`")
    })
}
