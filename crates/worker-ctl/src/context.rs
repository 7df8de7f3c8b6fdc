//! The context: a root with the values that every command needs to work on it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use shopfloor_core::args::SettingFlags;
use shopfloor_core::child_env;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::lock::Lock;
use shopfloor_core::ui::Ui;

use crate::layout::{self, RootLock};
use crate::menu;
use crate::program_config::regex;
use crate::root::WorkerRoot;
use crate::settings::{RootConfig, RootSettings};
use crate::store::{self, State};
use crate::tmux::Tmux;
use crate::work_repo::{ListedWorktrees, WorkRepo};
use crate::worker::Worker;

/// The settings given on the command line.
pub type Flags = SettingFlags<RootSettings>;

/// A lock in the root. A dry run holds none, because taking one creates a file.
#[derive(Debug)]
pub struct WorkerLock(#[expect(dead_code, reason = "it is held, not read")] Option<Lock>);

/// A root with the values that every command needs to work on it.
#[derive(Clone)]
pub struct Context<'a> {
    pub ui: &'a Ui,
    pub env: &'a Env,
    pub root: Arc<WorkerRoot>,
    /// The root's clone, or in a root without one the person's own repository.
    pub clone: WorkRepo,
    /// The repository that the worker at hand works in: see [`of`](Self::of).
    pub repo: WorkRepo,
    /// Set when a long-running command must end.
    pub ending: Arc<AtomicBool>,
    /// Whether to show only what a command would do.
    pub is_dry: bool,
    flags: Flags,
    for_programs: Arc<OnceLock<Env>>,
    /// The state that a dry run goes by once it has looked.
    foreseen: Arc<Mutex<Option<State>>>,
}

impl<'a> Context<'a> {
    /// Finds the root and loads its configuration. Exit 2 when there is no root.
    pub fn find(ui: &'a Ui, env: &'a Env, named: Option<&Path>, flags: Flags) -> Result<Context<'a>> {
        let root = WorkerRoot::find(env, named, &flags.all())?;
        root.config.settings.all_warnings().iter().for_each(|warning| ui.warn(warning));
        let clone = WorkRepo::new(&Git::find(env)?, &root, &root.source(env), ui.is_dry())?;
        let (repo, is_dry) = (clone.clone(), ui.is_dry());
        let (ending, for_programs, foreseen) = (Arc::default(), Arc::default(), Arc::default());
        Ok(Context { ui, env, root: Arc::new(root), clone, repo, ending, is_dry, flags, for_programs, foreseen })
    }

    /// The same for work on this worker, in the repository that it works in. What a function does for a worker, it does in
    /// such a context.
    pub fn of(&self, worker: &Worker) -> Result<Context<'a>> {
        let repo = match &worker.adopted {
            None => self.clone.clone(),
            Some(adopted) => {
                let git = Git::find(self.env)?;
                WorkRepo::own(&git, &self.root.path, &self.source(), &adopted.target, self.is_dry)?.after(adopted)?
            }
        };
        Ok(Context { repo, ..self.clone() })
    }

    /// The same for a command that only looks, as in a dry run.
    pub fn looking(&self) -> Context<'a> {
        let mut looking = Context { is_dry: true, ..self.clone() };
        (looking.clone.is_dry, looking.repo.is_dry) = (true, true);
        looking
    }

    /// All worktrees that these workers may work in, by path.
    pub fn trees(&self, state: &State) -> Result<ListedWorktrees> {
        let mut all = self.clone.trees()?;
        if let Some(worker) = state.workers.values().find(|worker| worker.adopted.is_some() && !self.clone.is_own) {
            // Where the source is gone, the others go on.
            match self.of(worker).and_then(|ctx| ctx.repo.trees()) {
                Ok(own) => all.extend(own),
                Err(failure) => self.ui.warn(failure),
            }
        }
        Ok(all)
    }

    /// The same with the configuration loaded again.
    pub fn reload(&self) -> Result<Context<'a>> {
        let path = self.root.path.clone();
        let root = WorkerRoot { config: RootConfig::load(self.env, &path, &self.flags.all())?, path };
        let clone = WorkRepo::new(&Git::find(self.env)?, &root, &root.source(self.env), self.is_dry)?;
        Ok(Context { root: Arc::new(root), repo: clone.clone(), clone, ..self.clone() })
    }

    /// The same with these flags.
    pub fn with_flags(self, flags: Flags) -> Result<Context<'a>> {
        Context { flags, ..self }.reload()
    }

    /// The setting flags as arguments, for starting another command with the same settings.
    pub fn flag_arguments(&self) -> Vec<OsString> {
        let given = self.flags.all().into_iter().filter_map(|(name, value)| Some((name, value?)));
        given.flat_map(|(name, value)| [format!("--{}", name.replace('_', "-")).into(), value.into()]).collect()
    }

    /// What this flag of a setting was given.
    pub fn flag(&self, name: &str) -> Option<&str> {
        self.flags.value(name).and_then(Path::to_str)
    }

    /// The `--on-event` of this command as a variable, for the hooks of tmux and of agents.
    pub fn event_variable(&self) -> Vec<(&'static str, String)> {
        let given = self.flag("on_event");
        given.map(|command| ("WORKER_CTL_ON_EVENT", command.to_owned())).into_iter().collect()
    }

    /// Fails when a long-running command must end. Long work checks this between its steps.
    pub fn check_ending(&self) -> Result<()> {
        match self.ending.load(Ordering::SeqCst) {
            true => Err(Failure::failed("asked to end")),
            false => Ok(()),
        }
    }

    /// The root's tmux.
    pub fn tmux(&self) -> Result<Tmux> {
        Tmux::find(self.env, &self.tmux_socket()?)
    }

    /// The selected line of the menu of numbered lines on the screen of a worker's program.
    pub fn question_on_screen(&self, worker: &Worker) -> Option<String> {
        let screen = self.tmux().ok()?.capture(worker.program.pane_id.as_deref()?, 0).ok()?;
        self.question_in(&screen, worker)
    }

    /// The same on this screen of its program.
    pub fn question_in(&self, screen: &str, worker: &Worker) -> Option<String> {
        let ready = self.root.agent_of(worker).ok().and_then(|agent| regex(agent.ready.pattern.as_deref()?).ok());
        menu::question(screen, ready.as_ref()).map(str::to_owned)
    }

    /// The same with the environment for programs in workers' worktrees.
    pub fn tmux_for_programs(&self) -> Result<Tmux> {
        Tmux::find(self.env_for_programs(), &self.tmux_socket()?)
    }

    /// The environment for those: the person's, less what leads into the source or a worktree of it.
    pub fn env_for_programs(&self) -> &Env {
        self.for_programs.get_or_init(|| {
            // Sessions start without the source, too.
            let all = self.clone.git.list_worktrees(&self.source()).unwrap_or_default();
            let all: Vec<PathBuf> = all.into_iter().map(|listed| listed.path).collect();
            child_env::for_worktree(self.env, &self.root.path, &all)
        })
    }

    /// Where the root's tmux listens. Another place is recorded if that one cannot be used: the root was moved, or the
    /// directory outside of it is gone or another user's.
    fn tmux_socket(&self) -> Result<PathBuf> {
        let root = &self.root.path;
        let recorded = store::load(root)?.tmux_socket;
        if self.is_dry || layout::is_tmux_socket(root, &recorded) {
            return Ok(recorded);
        }
        store::update(root, |state| {
            if !layout::is_tmux_socket(root, &state.tmux_socket) {
                state.tmux_socket = store::new_tmux_socket(self.env, root)?;
            }
            Ok(state.tmux_socket.clone())
        })
    }

    /// The repository that accepted work lands on.
    pub fn source(&self) -> PathBuf {
        self.root.source(self.env)
    }

    /// Loads the state; in a dry run that has looked, the one that it goes by. Exit 4 when it cannot be read.
    pub fn state(&self) -> Result<State> {
        let foreseen = self.foreseen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        foreseen.filter(|_| self.is_dry).map_or_else(|| store::load(&self.root.path), Ok)
    }

    /// Lets a dry run go by this state from here on.
    pub fn foresee(&self, state: State) {
        *self.foreseen.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
    }

    /// Loads a worker's record. Exit 1 when there is none.
    pub fn worker(&self, name: &str) -> Result<Worker> {
        self.state()?.require(name).cloned()
    }

    /// Loads, changes and saves the state under its lock.
    pub fn update<T>(&self, change: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        store::update(&self.root.path, change)
    }

    /// The same for a worker's record, if there is one.
    pub fn update_worker(&self, name: &str, change: impl FnOnce(&mut Worker)) -> Result<()> {
        self.update(|state| {
            state.workers.get_mut(name).map(change);
            Ok(())
        })
    }

    /// Seconds since 1970.
    pub fn now(&self) -> i64 {
        self.env.later().now.as_second()
    }

    /// The current time in the form used in names.
    pub fn stamp(&self) -> String {
        self.env.later().now.strftime("%Y%m%dT%H%M%S.%3fZ").to_string()
    }

    /// Takes a worker's lock, which is held during long work on that worker.
    pub fn lock(&self, worker: &str) -> Result<WorkerLock> {
        self.take(&layout::worker_lock(&self.root.path, worker))
    }

    /// Takes a worker's lock unless another process holds it.
    pub fn try_lock(&self, worker: &str) -> Result<Option<WorkerLock>> {
        if self.is_dry {
            return Ok(Some(WorkerLock(None)));
        }
        Ok(Lock::try_take(&layout::worker_lock(&self.root.path, worker))?.map(|lock| WorkerLock(Some(lock))))
    }

    /// Takes one of the root's own locks.
    pub fn lock_root(&self, lock: RootLock) -> Result<WorkerLock> {
        self.take(&layout::lock(&self.root.path, lock))
    }

    fn take(&self, path: &Path) -> Result<WorkerLock> {
        Ok(WorkerLock(if self.is_dry { None } else { Some(Lock::take(path)?) }))
    }

    /// Warns about one worker's failure, so that the caller can carry on with the rest.
    pub fn warn_on_failure(&self, worker: &str, work: impl FnOnce() -> Result<()>) {
        if let Err(failure) = work() {
            self.ui.warn(format!("{worker}: {failure}"));
        }
    }
}
