//! One file per subcommand, and what they share.

pub mod accept;
pub mod add;
pub mod config;
pub mod doctor;
pub mod events;
pub mod hook;
pub mod init;
pub mod message;
pub mod nuke;
pub mod patrol;
pub mod peek;
pub mod rebase;
pub mod review;
pub mod start;
pub mod status;
pub mod up;
pub mod wait;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc;
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::{Ui, printable};

use crate::agent::Delivery;
use crate::apply::{publish, rebase as onto, session};
use crate::cli::Cli;
use crate::facts::Clone;
use crate::log;
use crate::plan::machine::{Action, Event, apply};
use crate::root::Root;
use crate::store;
use crate::tmux::Tmux;
use crate::tmux::deliver::{self, Verdict};
use crate::worker::{Task, Worker};

/// How many files with changes are listed.
const MOST: usize = 20;

/// What `--dry-run` says.
pub fn show(ui: &Ui, what: impl Display) {
    match ui.is_json() {
        true => ui.json(&json!({ "dry_run": true, "would": what.to_string() })),
        false => ui.line(format!("would {}", printable(&what.to_string()))),
    }
}

/// A root and what works on it.
pub struct Site<'a> {
    pub ui: &'a Ui,
    pub env: &'a Env,
    pub root: Root,
    pub clone: Clone,
    /// Set once a program that stays is to end.
    pub ending: Arc<AtomicBool>,
    /// Whether to show only what would be done.
    pub is_dry: bool,
    flags: Vec<(&'static str, Option<PathBuf>)>,
    /// The accepts that this command found half done and finished, with the commits that landed.
    finished: Arc<Mutex<BTreeMap<String, String>>>,
}

impl<'a> Site<'a> {
    pub fn find(ui: &'a Ui, env: &'a Env, cli: &Cli) -> Result<Site<'a>> {
        let flags = cli.settings.all();
        let root = Root::find(env, cli.root.as_deref(), &flags)?;
        root.config.said.said().iter().for_each(|warning| ui.warn(warning));
        let clone = Clone::new(&Git::find(env)?, &root);
        let flags = flags.map(|(name, value)| (name, value.map(Path::to_path_buf))).into();
        Ok(Site {
            ui,
            env,
            root,
            clone,
            ending: Arc::default(),
            is_dry: cli.command.is_dry(),
            flags,
            finished: Arc::default(),
        })
    }

    /// The same with the configuration as it is by now.
    pub fn again(&self) -> Result<Site<'a>> {
        let flags: Vec<(&str, Option<&Path>)> =
            self.flags.iter().map(|(name, value)| (*name, value.as_deref())).collect();
        let root = Root::load(self.env, self.root.path.clone(), &flags)?;
        let clone = Clone::new(&self.clone.git, &root);
        let (ending, flags) = (self.ending.clone(), self.flags.clone());
        Ok(Site {
            ui: self.ui,
            env: self.env,
            root,
            clone,
            ending,
            is_dry: self.is_dry,
            flags,
            finished: self.finished.clone(),
        })
    }

    /// The flags for settings, as they were given.
    pub fn flags(&self) -> Vec<OsString> {
        let given = self.flags.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        given.flat_map(|(name, value)| [format!("--{}", name.replace('_', "-")).into(), value.clone().into()]).collect()
    }

    /// With `--dry-run` says what would be done, and is true: then that is all.
    pub fn would(&self, what: impl Display) -> bool {
        if self.is_dry {
            show(self.ui, what);
        }
        self.is_dry
    }

    /// Exit 1 where a worktree has something uncommitted.
    pub fn require_clean(&self, worker: &Worker) -> Result<()> {
        let dirty = self.clone.dirty(Path::new(&worker.worktree_path))?;
        if dirty.is_empty() {
            return Ok(());
        }
        let more = dirty.len().saturating_sub(MOST).checked_sub(1).map(|n| format!("  and {} more", n + 1));
        Err(Failure::new(Exit::No, "dirty", format!("{} has uncommitted changes", worker.worktree_path))
            .details(dirty.into_iter().take(MOST).map(|path| format!("  {path}")).chain(more))
            .hint(format!("ask for a commit: `worker-ctl message {} 'Commit your changes'`", worker.name)))
    }

    /// Fails once a program that stays is to end: what takes long looks at it.
    pub fn check_ending(&self) -> Result<()> {
        match self.ending.load(Ordering::SeqCst) {
            true => Err(Failure::failed("asked to end")),
            false => Ok(()),
        }
    }

    pub fn tmux(&self) -> Result<Tmux> {
        Tmux::find(self.env, &store::load(&self.root.path)?.tmux_socket)
    }

    pub fn source(&self) -> PathBuf {
        self.root.source(self.env)
    }

    pub fn now(&self) -> i64 {
        self.env.later().now.as_second()
    }

    /// Lets something happen to a worker, in the state as it is by now. What is to be done is the caller's, but for pins.
    pub fn record(&self, name: &str, event: &Event) -> Result<(Worker, Vec<Action>)> {
        let now = self.now();
        let (before, after, actions, revision) = store::update(&self.root.path, |state| {
            let worker = state.require(name)?.clone();
            let (next, actions) = apply(&worker, event, now)?;
            let revision = state.put(next.clone());
            Ok((worker, next, actions, revision))
        })?;
        self.follow_up(&before, &after, event, &actions, revision)?;
        Ok((after, actions))
    }

    /// The same for what was seen of a worker as `seen`: nothing, if it has changed since. The next look sees it.
    pub fn observe(&self, seen: &Worker, event: &Event) -> Result<Option<Worker>> {
        let now = self.now();
        let done = store::update(&self.root.path, |state| {
            if state.workers.get(&seen.name) != Some(seen) {
                return Ok(None);
            }
            let (next, actions) = apply(seen, event, now)?;
            let revision = state.put(next.clone());
            Ok(Some((next, actions, revision)))
        })?;
        let Some((after, actions, revision)) = done else { return Ok(None) };
        self.follow_up(seen, &after, event, &actions, revision)?;
        Ok(Some(after))
    }

    /// Pins, logs, and the command that wants to know.
    fn follow_up(
        &self,
        before: &Worker,
        after: &Worker,
        event: &Event,
        actions: &[Action],
        revision: u64,
    ) -> Result<()> {
        let pin = format!("refs/shopfloor/review/{}", after.name);
        let kept = format!("refs/shopfloor/pre/{}", after.name);
        for action in actions {
            match action {
                Action::Pin(sha) => drop(self.clone.ask(&self.root.path, &["update-ref", &pin, sha])?),
                Action::Unpin if before.reviewed_sha.is_some() => {
                    self.clone.run(&self.root.path, &["update-ref", "-d", &pin])?;
                }
                Action::Keep(sha) => drop(self.clone.ask(&self.root.path, &["update-ref", &kept, sha])?),
                Action::Unpin | Action::Deliver => {}
            }
        }
        if after.task == Task::Idle && before.task != Task::Idle {
            self.clone.run(&self.root.path, &["update-ref", "-d", &kept])?;
            self.go_on(&after.name, || deliver::forget_files(&self.root.path, &after.name));
        }
        if matches!(event, Event::Typing) || before == after && !matches!(event, Event::Sent) {
            return Ok(());
        }
        // It has happened, whoever hears of it.
        if let Err(failure) = self.tell(&log::record(self.env.later().now, before, after, event, revision)) {
            self.ui.warn(format!("{}: {failure}", after.name));
        }
        Ok(())
    }

    /// Logs it, and lets the command know that wants to.
    fn tell(&self, record: &Value) -> Result<()> {
        log::append(&self.root.path, record)?;
        let Some(command) = &self.root.config.defaults.on_event else { return Ok(()) };
        let log = log::of_on_event(&self.root.path);
        log::rotate(&log)?;
        // In the background: nobody waits for it, and its failure is its own.
        let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
        let line = format!("{{ {}\n}} >> {} 2>&1 < /dev/null &", command.shell(), shell_word(&log));
        let started = proc::shell(self.env, &line)?
            .dir(&self.root.path)
            .var("WORKER_CTL_ROOT", self.root.path.as_os_str())
            // With a worker's own variable it would count as its process, and end with it.
            .without_vars(&["WORKER_CTL_WORKER"])
            .var("WORKER_CTL_EVENT", text("event"))
            .var("WORKER_CTL_NAME", text("worker"))
            .var("WORKER_CTL_FROM", text("from"))
            .var("WORKER_CTL_TO", text("to"))
            .var("WORKER_CTL_DETAIL", text("detail"))
            .capture()?;
        if !started.status.success() {
            self.ui.warn("`on_event` cannot be run");
        }
        Ok(())
    }

    /// Long work on one worker, one at a time.
    pub fn lock(&self, name: &str) -> Result<Lock> {
        Lock::take(&self.lock_path(name))
    }

    /// A worker's lock where nobody holds it.
    pub fn try_lock(&self, name: &str) -> Result<Option<Lock>> {
        Lock::try_take(&self.lock_path(name))
    }

    fn lock_path(&self, name: &str) -> PathBuf {
        self.root.path.join("locks").join(format!("worker-{name}.lock"))
    }

    /// Work of which there is one at a time in the whole root: `publish`, `patrol`, `config`.
    pub fn lock_out(&self, what: &str) -> Result<Lock> {
        Lock::take(&self.root.path.join("locks").join(format!("{what}.lock")))
    }

    /// Lets an event happen that ends in a text for the worker. The intent is saved before a byte is typed; when nothing was,
    /// all is as before. A task goes to a program that starts afresh.
    pub fn deliver(&self, before: &Worker, event: &Event, text: &str) -> Result<(Worker, Verdict)> {
        let text = &deliver::typable(text);
        let agent = self.root.agent_of(before)?;
        self.require_free(before, event.is_forced())?;
        let (worker, actions) = self.record(&before.name, event)?;
        if !actions.contains(&Action::Deliver) {
            return Err(Failure::new(Exit::No, "wrong_state", format!("{} is {}", worker.name, worker.task.word())));
        }
        let is_task = matches!(event, Event::Start { .. } | Event::Resume { .. });
        let not = |failure| deliver::not_delivered(&worker.name, failure);
        let is_fresh = matches!(event, Event::Start { .. });
        let done = match agent.delivery {
            Delivery::Argv if is_task => session::start_with(self, &worker, text).map(|()| Verdict::Delivered),
            _ => self.tmux().map_err(not).and_then(|tmux| {
                if is_fresh && agent.clear.is_some() {
                    // That is typed too.
                    self.record(&before.name, &Event::Typing).map_err(not)?;
                }
                let how = deliver::How { is_fresh, is_forced: event.is_forced() };
                let ready = deliver::prepare(&tmux, &self.root.path, &worker, &agent, text, how).map_err(not)?;
                self.record(&before.name, &Event::Typing).map_err(not)?;
                deliver::deliver(&tmux, &self.root.path, &worker, &agent, ready)
            }),
        };
        match done {
            Ok(verdict) => Ok((self.record(&before.name, &Event::Sent)?.0, verdict)),
            Err(failure) if deliver::is_nothing_typed(&failure) => {
                self.record(&before.name, &Event::NotSent { back: Box::new(before.clone()) })?;
                Err(failure)
            }
            Err(failure) => Err(failure.hint("whether anything was typed is not known; look with `worker-ctl peek`")),
        }
    }

    /// Exit 1 while a person types into a worker's pane, unless that is overruled.
    pub fn require_free(&self, worker: &Worker, is_forced: bool) -> Result<()> {
        let Some(pane) = worker.pane_id.as_deref().filter(|_| !is_forced) else { return Ok(()) };
        deliver::require_free(&self.tmux()?, &worker.name, pane)
    }

    /// What these workers are at, as the answer with `--json`.
    pub fn statuses(&self, names: &[String]) -> Result<()> {
        if self.ui.is_json() {
            let state = store::load(&self.root.path)?;
            let workers = state.workers.values().filter(|worker| names.contains(&worker.name));
            let rows: Vec<Value> =
                workers.map(|worker| json!({ "name": worker.name, "status": worker.status() })).collect();
            self.ui.json(&json!({ "workers": rows }));
        }
        Ok(())
    }

    /// What a delivery came to.
    pub fn told(&self, name: &str, delivered: Result<(Worker, Verdict)>) -> Result<Exit> {
        match delivered {
            Ok((worker, verdict)) if self.ui.is_json() => {
                let status = worker.status();
                self.ui.json(&json!({ "worker": name, "delivery": verdict.word(), "status": status }));
                Ok(Exit::Done)
            }
            Ok(_) => {
                self.ui.line(name);
                Ok(Exit::Done)
            }
            Err(failure) if deliver::is_nothing_typed(&failure) && self.ui.is_json() => {
                let state = store::load(&self.root.path)?;
                let (status, error) = (state.require(name)?.status(), failure.to_json());
                let told = json!({ "worker": name, "delivery": deliver::NOT, "status": status, "error": error });
                self.ui.json(&told);
                Ok(failure.exit)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Finishes what a kill left in between; every command that writes begins with it. What another process is at, and
    /// holds the lock of, is not touched.
    pub fn finish_left(&self) -> Result<()> {
        if self.is_dry {
            return Ok(());
        }
        for name in publish::journals(&self.clone)? {
            self.go_on(&name, || self.finish_accept(&name));
        }
        let state = store::load(&self.root.path)?;
        let is_left =
            |worker: &&Worker| worker.pending_send.is_some() || onto::is_left(worker) || self.has_pins(worker);
        for worker in state.workers.values().filter(is_left) {
            self.go_on(&worker.name, || {
                let Some(_lock) = self.try_lock(&worker.name)? else { return Ok(()) };
                let now = store::load(&self.root.path)?.require(&worker.name)?.clone();
                if now.pending_send.is_some()
                    && let Some(worker) = self.observe(&now, &Event::Doubt)?
                {
                    worker.notes.iter().for_each(|note| self.ui.warn(format!("{}: {note}", worker.name)));
                }
                if self.has_pins(&now) {
                    self.unpin(&now.name)?;
                }
                onto::finish_left(self, &now)
            });
        }
        Ok(())
    }

    /// Whether an idle one's refs are left.
    fn has_pins(&self, worker: &Worker) -> bool {
        let refs = self.root.path.join(".git/refs/shopfloor");
        worker.task == Task::Idle && ["review", "pre"].iter().any(|kind| refs.join(kind).join(&worker.name).exists())
    }

    /// Lets go of everything that is kept for a task.
    pub fn unpin(&self, name: &str) -> Result<()> {
        ["review", "pre"].iter().try_for_each(|kind| {
            self.clone.run(&self.root.path, &["update-ref", "-d", &format!("refs/shopfloor/{kind}/{name}")]).map(drop)
        })
    }

    /// What landed of an accept that this command found half done and finished.
    pub fn finished(&self, name: &str) -> Option<String> {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// What one worker hinders is no reason to leave the others alone.
    pub fn go_on(&self, name: &str, work: impl FnOnce() -> Result<()>) {
        if let Err(failure) = work() {
            self.ui.warn(format!("{name}: {failure}"));
        }
    }

    /// An acceptance that a kill left in between. One whose worker's lock is held is nobody's but its holder's.
    fn finish_accept(&self, name: &str) -> Result<()> {
        let Some(_lock) = self.try_lock(name)? else { return Ok(()) };
        let Some((landed, new)) = publish::left_behind(&self.clone, &self.source(), name)? else { return Ok(()) };
        if let Some(worker) = store::load(&self.root.path)?.workers.get(name) {
            accept::settle(self, worker, &landed, &new)?;
            self.ui.note(format!("finished the acceptance of {name}, which was killed"));
            self.finished.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), new);
        }
        publish::drop_journal(&self.clone, name)
    }

    /// A text that a person gives: as it is, from a file, or from stdin.
    pub fn text(&self, text: Option<&str>, file: Option<&Path>) -> Result<String> {
        let bytes = match (text, file) {
            (Some("-"), _) => self.ui.input()?,
            (Some(text), _) => text.as_bytes().to_vec(),
            (None, Some(file)) if file.as_os_str() == "-" => self.ui.input()?,
            (None, Some(file)) => shopfloor_core::fs::read(&self.env.cwd.join(file))?.ok_or_else(|| {
                Failure::malformed(format!("there is no file {}", file.display())).hint("name a file that is there")
            })?,
            (None, None) => {
                return Err(Failure::usage("a prompt is missing").hint("give it with `--prompt` or `--prompt-file`"));
            }
        };
        deliver::cleaned(bytes)
    }
}
