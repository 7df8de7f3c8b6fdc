//! `add --worktree`: makes workers of worktrees of the person's own repository.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde_json::json;
use shopfloor_core::config::expand_home;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::known_dirs::note_worktree;
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::{Ui, printable};

use crate::apply::copied_files;
use crate::apply::new_worker::{self, WorkerOptions};
use crate::apply::push::refuse_agent;
use crate::apply::{repair, transition};
use crate::commands::add::Args;
use crate::commands::{self, about, init};
use crate::context::{Context, Flags};
use crate::facts::adoption::{self, Adoptable};
use crate::facts::{processes, version};
use crate::failure;
use crate::names::new_name;
use crate::plan::machine::Input;
use crate::program_config::AgentTable;
use crate::root::{follow_source, read_finished, root_list};
use crate::settings::users_agents;
use crate::store;
use crate::worker::{Adopted, LandAs, Pushed, Task, Worker};
use crate::worker_notes::Fault;

pub fn run(ui: &Ui, env: &Env, args: &Args, (root, flags): (Option<&Path>, &Flags)) -> Result<Exit> {
    let named = args.worktree.as_deref().unwrap_or(Path::new("-"));
    let is_list = named.as_os_str() == "-";
    let paths = if is_list { listed(&ui.input()?, args.nul) } else { vec![env.cwd.join(named)] };
    if is_list && args.name.is_some() {
        return Err(Failure::usage("a name is for one worktree").hint("leave it out, or name one worktree"));
    }
    let here = repository_here(env)?;
    // Where the git directory is elsewhere, only the main checkout itself tells where that is.
    let told = here.as_ref().filter(|here| !here.is_linked()).map(|here| here.main_checkout.clone());
    let env = &Env { main_checkout: told, ..env.clone() };
    // All are looked at before the first is adopted.
    let found = paths.iter().map(|path| adoption::look(env, &env.cwd.join(path))).collect::<Result<Vec<_>>>()?;
    let Some(first) = found.first() else {
        ui.nothing_to_do();
        return Ok(Exit::Done);
    };
    if let Some(other) = found.iter().find(|other| other.repo.common_dir != first.repo.common_dir) {
        let why = format!("{} and {} are of two repositories", first.path.display(), other.path.display());
        return Err(Failure::usage(why).hint("run the command once for each repository"));
    }
    refuse_another_repository(here.as_ref(), first)?;
    let agent = flags.text("agent");
    let git = Git::find(env)?;
    for found in &found {
        args.target.iter().try_for_each(|target| found.require_target(&git, target))?;
    }
    // Before a root is made, so that a no leaves none.
    let mut agreed = Vec::new();
    if read_finished(env, &first.repo.common_dir)?.is_none() {
        for found in &found {
            agreed.extend(shown(&found.path.to_string_lossy(), &own_programs(env, found)?));
        }
        require_accepted(ui, env, &agreed, args.yes)?;
    }
    let ctx = match find_root(ui, env, (first, agent.as_deref()), root, flags)? {
        Some(root) => Context::find(ui, env, Some(&root), flags.clone())?,
        None => {
            let would: Vec<String> =
                found.iter().map(|found| format!("make a root, and a worker of {}", found.path.display())).collect();
            return Ok(ui.would(&json!({}), &would));
        }
    };
    commands::recover(&ctx)?;
    let plan = plan(&ctx, args, flags, &found, is_list)?;
    let mut asked = changed_settings(&plan);
    asked.retain(|line| !agreed.contains(line));
    require_accepted(ui, env, &asked, args.yes)?;
    if let Some(here) = here.filter(|_| !ctx.is_dry) {
        here.remember_main_checkout(env)?;
    }
    for (worker, before) in plan {
        let is_new = before.as_ref() != Some(&worker);
        if is_new && !ctx.is_dry {
            adopt(&ctx, args, flags, (&worker, before.as_ref()))?;
        }
        print(&ctx, &worker, is_new);
    }
    version::keeps_push_urls(&ctx)?.into_iter().for_each(|why| ctx.ui.warn(why));
    Ok(Exit::Done)
}

/// The repository of the current directory, if that is in one.
fn repository_here(env: &Env) -> Result<Option<Repo>> {
    match Git::find(env)?.discover() {
        Err(failure) if failure.kind == "not_a_repository" => Ok(None),
        found => found.map(Some),
    }
}

/// Exit 2 for a worktree of another repository than the current directory's: an agent can lead its own to one that it made.
fn refuse_another_repository(here: Option<&Repo>, found: &Adoptable) -> Result<()> {
    match here {
        Some(here) if here.home.common_dir != found.repo.common_dir => {
            let (path, common) = (found.path.display(), found.repo.common_dir.display());
            Err(Failure::usage(format!("{path} is a worktree of another repository, {common}"))
                .hint("if that is right, run the same command in the main checkout of that repository"))
        }
        _ => Ok(()),
    }
}

/// The paths in a list, one a line or up to each NUL.
fn listed(text: &[u8], is_nul: bool) -> Vec<PathBuf> {
    let end = if is_nul { b'\0' } else { b'\n' };
    let paths = text.split(|byte| *byte == end).filter(|path| !path.is_empty());
    paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()
}

/// The root of the worktree's repository: the one that the repository records, else a new one without a clone. None in a
/// dry run that would make it. Exit 2 if another one is named.
fn find_root(
    ui: &Ui,
    env: &Env,
    (found, agent): (&Adoptable, Option<&str>),
    named: Option<&Path>,
    flags: &Flags,
) -> Result<Option<PathBuf>> {
    let given = named.map(Path::to_path_buf).or_else(|| env.var("WORKER_CTL_ROOT").map(PathBuf::from));
    let given = given.map(|dir| env.cwd.join(expand_home(env, dir)));
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    match (read_finished(env, &found.repo.common_dir)?, given) {
        (Some(recorded), Some(given)) if real(&recorded) != real(&given) => {
            let why =
                format!("{} is not the root of this repository, which is {}", given.display(), recorded.display());
            Err(Failure::usage(why).hint("leave `--root` and WORKER_CTL_ROOT out, or name that root"))
        }
        (Some(recorded), _) => {
            // A record counts only for a root of this repository.
            let listed = root_list(env)?.load()?;
            let others = listed.get(&real(&recorded)).filter(|common| real(common) != real(&found.repo.common_dir));
            match others {
                None => Ok(Some(recorded)),
                Some(common) if !common.is_dir() => {
                    let why = format!("the repository {} of the root {} is gone", common.display(), recorded.display());
                    Err(failure::NOT_INITIALISED.failure(why).hint(follow_source(&recorded)))
                }
                Some(_) => Err(failure::NOT_INITIALISED
                    .failure(format!("{}, the root that the repository records, is another one's", recorded.display()))
                    .hint("create a root for this repository with `worker-ctl init --target DIR`")),
            }
        }
        (None, _) => {
            // A new root has the presets, and what the user has for all roots.
            let (users, _) = users_agents(env)?;
            if let Some(agent) =
                agent.filter(|agent| AgentTable::preset(agent).is_none() && !users.contains_key(*agent))
            {
                return Err(Failure::malformed(format!("no command is configured for the agent `{agent}`"))
                    .hint("set `command` in `[worker-ctl.agents.NAME]` of your own config.toml"));
            }
            init::run_without_clone((ui, env), (found.repo.home.found_at(), &found.repo.common_dir), named, flags)
        }
    }
}

/// The worker that each worktree becomes, and its record before that.
fn plan(
    ctx: &Context<'_>,
    args: &Args,
    flags: &Flags,
    found: &[Adoptable],
    is_list: bool,
) -> Result<Vec<(Worker, Option<Worker>)>> {
    let mut state = ctx.state()?;
    let mut plan = Vec::new();
    for found in found {
        let path = found.path.to_string_lossy().into_owned();
        if let Some((root, name)) = in_another_root(ctx, found)? {
            return Err(failure::EXISTS
                .failure(format!("{path} is the worker {name} of another root, {}", root.display()))
                .hint(format!("`worker-ctl --root {} nuke {name}` forgets it there", shell_word(&root))));
        }
        let at_path = state.workers.values().find(|worker| worker.worktree_path == path);
        // git has a branch checked out in one worktree only, which may have been moved.
        let is_its = |worker: &&Worker| worker.adopted.is_some() && worker.branch == found.branch;
        let own = state.workers.values().find(|worker| found.is_of(worker));
        if let Some(worker) = own.or(at_path).or_else(|| state.workers.values().find(is_its)) {
            let before = Some(worker.clone());
            if !is_list {
                let again = again(ctx, args, found, worker)?;
                if again != *worker {
                    plan.push((again, before));
                    continue;
                }
                return Err(failure::EXISTS
                    .failure(format!("{path} is the worker {} already", worker.name))
                    .hint(format!("see `worker-ctl status`; `worker-ctl nuke {}` forgets it", worker.name)));
            }
            plan.push((worker.clone(), before));
            continue;
        }
        let name = match &args.name {
            Some(typed) => new_name(typed)?,
            None => found.free_name(|name| {
                state.workers.contains_key(name)
                    || ctx.root.config.workers.get(name).is_some_and(|table| !table.adopted)
            })?,
        };
        if state.workers.contains_key(&name) {
            return Err(failure::EXISTS
                .failure(format!("the worker {name} exists already"))
                .hint("choose another name"));
        }
        let mut worker = describe(ctx, flags, found, &name, (args.target.as_deref(), args.land))?;
        let began = worker.adopted.as_ref().map(|adopted| adopted.began.clone());
        let pushed =
            args.request.clone().map(|place| Pushed { place, tips: began.into_iter().collect(), is_over: false });
        worker.pushed = pushed;
        state.workers.insert(name, worker.clone());
        plan.push((worker, None));
    }
    Ok(plan)
}

/// What a worker becomes that is added again: what stands in the repository and the worktree is known from then on, and its
/// work lands where and how this command says.
fn again(ctx: &Context<'_>, args: &Args, found: &Adoptable, worker: &Worker) -> Result<Worker> {
    let mut again = worker.clone();
    let (accepted, programs) = (own_programs(ctx.env, found)?, programs(ctx, found)?);
    if let Some(adopted) = &mut again.adopted {
        if adopted.programs.as_ref() != Some(&programs) {
            refuse_agent(ctx.env, "nothing was adopted")?;
        }
        (adopted.accepted, adopted.programs) = (accepted, Some(programs));
        adopted.land = args.land.unwrap_or(adopted.land);
        // Also a worktree that was made again, or moved after its repository was restored, if the person says that it is the
        // worker's.
        if (found.is_of(worker) || found.branch == worker.branch)
            && (found.path == worker.tree() || !worker.has_tree(&ctx.source()))
        {
            (adopted.record, adopted.record_id) = record(found);
            again.worktree_path = found.path.to_string_lossy().into_owned();
        }
    }
    if let Some(target) = args.target.as_deref().filter(|target| worker.target() != Some(target)) {
        again.set_target(&found.target(ctx, Some(target))?);
    }
    if again.task == Task::Idle && again.tree() == found.path && again.branch == found.branch {
        take_unlanded(ctx, &mut again)?;
    }
    Ok(again)
}

/// The settings of the worktrees' own of those that become workers, or are added again.
fn changed_settings(plan: &[(Worker, Option<Worker>)]) -> Vec<String> {
    let is_changed = |worker: &Worker, before: &Worker| worker.adopted != before.adopted;
    let changed =
        plan.iter().filter(|(worker, before)| before.as_ref().is_none_or(|before| is_changed(worker, before)));
    let settings = changed.filter_map(|(worker, _)| Some((worker, &worker.adopted.as_ref()?.accepted)));
    settings.flat_map(|(worker, accepted)| shown(&worker.worktree_path, accepted)).collect()
}

/// Such settings as a person sees them.
fn shown(worktree: &str, settings: &[(String, String)]) -> Vec<String> {
    settings.iter().map(|(key, value)| format!("the configuration of {worktree} has {key}={value}")).collect()
}

/// Asks before git obeys what the worktrees' own configuration runs or redirects, which an agent may have written.
fn require_accepted(ui: &Ui, env: &Env, asked: &[String], is_agreed: bool) -> Result<()> {
    if asked.is_empty() {
        return Ok(());
    }
    let question = "Let git obey that there, as it stands now?";
    ui.show(asked);
    if ui.is_dry() {
        ui.note(format!("this is asked first: {question}"));
        return Ok(());
    }
    refuse_agent(env, "nothing was adopted")?;
    ui.require_yes(is_agreed, question, "nothing was adopted")
}

/// The record of a worktree as a worker.
fn describe(
    ctx: &Context<'_>,
    flags: &Flags,
    found: &Adoptable,
    name: &str,
    (target, land): (Option<&str>, Option<LandAs>),
) -> Result<Worker> {
    let agent = flags.text("agent").or_else(|| ctx.root.worker(name).agent);
    let agent = agent.unwrap_or_else(|| ctx.root.config.text("agent").to_owned());
    ctx.root.agent(&agent)?;
    let target = found.target(ctx, target)?;
    let mut worker = Worker::new(name, &agent, &found.path.to_string_lossy(), &found.branch, ctx.now());
    let (accepted, programs) = (own_programs(ctx.env, found)?, Some(programs(ctx, found)?));
    let (land, (record, record_id)) = (land.unwrap_or_default(), record(found));
    worker.adopted = Some(Adopted { target, record, record_id, land, programs, accepted, ..Adopted::default() });
    let of_branch = &ctx.of(&worker)?;
    if let (Some(adopted), Some(tip)) = (&mut worker.adopted, of_branch.repo.head(&found.path)?.1) {
        adopted.landed = repair::find_landed(of_branch, name, &found.branch, &tip)?;
    }
    let head = take_unlanded(ctx, &mut worker)?;
    worker.adopted.iter_mut().for_each(|adopted| adopted.began.clone_from(&head));
    Ok(worker)
}

/// Has what its target lacks wait for a review. Returns the commit of its branch.
fn take_unlanded(ctx: &Context<'_>, worker: &mut Worker) -> Result<String> {
    let ctx = &ctx.of(worker)?;
    let (head, unlanded) = adoption::unlanded(ctx, worker.tree())?;
    if unlanded.is_some() {
        worker.task = Task::NeedsReview;
        worker.work.onto_sha = Some(ctx.repo.fork(worker, &head)?);
        worker.adopted.iter_mut().for_each(|adopted| {
            adopted.earlier.clone_from(&worker.work.onto_sha);
            adopted.began.clone_from(&head);
        });
        worker.work.review_since_unix = Some(ctx.now());
        worker.work.commit_sha = unlanded;
    }
    Ok(head)
}

/// The name of git's record of a worktree, and what tells it from a later one.
fn record(found: &Adoptable) -> (String, Option<String>) {
    let dir = &found.repo.git_dir;
    (dir.file_name().unwrap_or_default().to_string_lossy().into_owned(), fs::dir_id(dir))
}

/// The settings of the worktree itself by which git runs or redirects something.
fn own_programs(env: &Env, found: &Adoptable) -> Result<Vec<(String, String)>> {
    adoption::own_programs(&Git::find(env)?, &found.repo.common_dir, &found.repo.git_dir)
}

/// The hooks and settings of the repository that an agent may have written.
fn programs(ctx: &Context<'_>, found: &Adoptable) -> Result<BTreeSet<String>> {
    adoption::programs(&Git::find(ctx.env)?, &found.repo.common_dir)
}

fn adopt(ctx: &Context<'_>, args: &Args, flags: &Flags, (worker, before): (&Worker, Option<&Worker>)) -> Result<()> {
    let name = &worker.name;
    let _lock = ctx.lock(name)?;
    note_worktree(ctx.env, Path::new(&worker.worktree_path), &ctx.of(worker)?.repo.common)?;
    if let Some(known) = ctx.state()?.workers.get(name) {
        // Another command may have taken the name, or may have said something else of the worktree, meanwhile.
        if before.is_none_or(|before| known.adopted != before.adopted) {
            let hint = match known.worktree_path == worker.worktree_path {
                true => {
                    "see `worker-ctl status`; the same command with `--target` or `--land` changes where and how its work \
                     lands"
                }
                false => "give this one another name",
            };
            return Err(failure::EXISTS
                .failure(format!("{name} is a worker in {} by now", printable(&known.worktree_path)))
                .hint(hint));
        }
        return accept_anew(ctx, known, worker);
    }
    let [agent, model, runner] = ["agent", "model", "runner"].map(|name| flags.text(name));
    new_worker::require_runner(ctx, name, runner.as_deref())?;
    // Where nothing contains an agent in the person's own repository, it asks.
    let is_contained = runner.as_deref().unwrap_or_else(|| ctx.root.config.text("runner")) == "sandbox";
    let (role_prompt, skip_permissions) = (args.role_prompt.clone(), Some(args.yolo || is_contained && !args.ask));
    let options = WorkerOptions { agent, model, role_prompt, skip_permissions, runner, is_adopted: true };
    let (before, after) = new_worker::configure(ctx, name, &options)?;
    if let Err(failure) = new_worker::adopt(ctx, worker) {
        return new_worker::restore_config(ctx, &before, &after).and(Err(failure));
    }
    copied_files::exclude_leftovers(&ctx.of(worker)?, &worker.agent)?;
    let path = Path::new(&worker.worktree_path);
    for (_, program) in processes::others_in(path, &ctx.root.path, name, &ctx.root.commands()) {
        ctx.ui.note(format!(
            "{program} runs in {} already and is not ours; once it has ended, `worker-ctl up {name}` goes on there",
            shell_word(path)
        ));
    }
    Ok(())
}

/// Records what a person has said and accepted of a worker that was adopted before.
fn accept_anew(ctx: &Context<'_>, before: &Worker, after: &Worker) -> Result<()> {
    let (Some(old), Some(new)) = (&before.adopted, &after.adopted) else { return Ok(()) };
    let word = |(key, value): &(String, String)| printable(&format!("{key}={value}"));
    for setting in old.accepted.iter().filter(|setting| !new.accepted.contains(setting)) {
        ctx.ui.note(format!("git no longer obeys {} there", word(setting)));
    }
    for setting in new.accepted.iter().filter(|setting| !old.accepted.contains(setting)) {
        ctx.ui.note(format!("git obeys {} there from now on", word(setting)));
    }
    let known = old.programs.iter().flatten().collect::<BTreeSet<_>>();
    for program in new.programs.iter().flatten().filter(|program| !known.contains(program)) {
        ctx.ui.note(format!("{} is known from now on", adoption::without_digest(program)));
    }
    ctx.update_worker(&after.name, |worker| {
        if old.target != new.target {
            worker.set_target(&new.target);
        }
        worker.adopted = Some(new.clone());
        worker.worktree_path.clone_from(&after.worktree_path);
    })?;
    if let (Task::Idle, Some(sha)) = (&before.task, after.work.commit_sha.clone()) {
        transition::record(ctx, &after.name, &Input::Commit { sha, onto: after.work.onto_sha.clone() })?;
    }
    if before.program.fault == Some(Fault::WorktreeMissing) && after.has_tree(&ctx.source()) {
        transition::record(ctx, &after.name, &Input::Mended { reason: Fault::WorktreeMissing })?;
    }
    Ok(())
}

fn print(ctx: &Context<'_>, worker: &Worker, is_new: bool) {
    let (path, branch, target) = (worker.worktree_path.as_str(), worker.branch.as_str(), worker.target());
    let task = worker.task.word();
    let keys = json!({ "worktree_path": path, "worktree": path, "branch": branch, "target": target, "task": task });
    let answer = about(&worker.name, keys);
    let target = target.unwrap_or_default();
    match ctx.is_dry {
        true if is_new => {
            let would = format!("make {path} the worker {}, whose work lands on {target}", worker.name);
            ctx.ui.would(&answer, &[would]);
        }
        _ if ctx.ui.is_json() => ctx.ui.json(&answer),
        _ => {
            ctx.ui.line(printable(path));
            if is_new {
                let branch = printable(branch);
                let target = printable(target);
                ctx.ui.note(format!("it is the worker {}, and its work on {branch} lands on {target}", worker.name));
            }
        }
    }
}

/// The worker of another root of this repository that works in this worktree.
fn in_another_root(ctx: &Context<'_>, found: &Adoptable) -> Result<Option<(PathBuf, String)>> {
    let others = shopfloor_core::known_dirs::roots(ctx.env)?.into_keys().filter(|root| *root != ctx.root.path);
    for root in others {
        let workers = store::load(&root).map(|state| state.workers).unwrap_or_default();
        let is_its = |worker: &&Worker| Path::new(&worker.worktree_path) == found.path;
        if let Some(worker) = workers.values().find(is_its) {
            return Ok(Some((root, worker.name.clone())));
        }
    }
    Ok(None)
}
