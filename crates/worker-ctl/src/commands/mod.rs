//! One file per subcommand, and what they share.

pub mod accept;
pub mod add;
pub mod doctor;
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

use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::lock::Lock;
use shopfloor_core::ui::Ui;

use crate::apply::publish;
use crate::facts::Clone;
use crate::plan::machine::{Action, Event, apply};
use crate::root::Root;
use crate::store;
use crate::tmux::{Tmux, deliver};
use crate::worker::Worker;

/// A root and what works on it.
pub struct Site<'a> {
    pub ui: &'a Ui,
    pub env: &'a Env,
    pub root: Root,
    pub clone: Clone,
}

impl<'a> Site<'a> {
    pub fn find(ui: &'a Ui, env: &'a Env, named: Option<&Path>) -> Result<Site<'a>> {
        let root = Root::find(env, named)?;
        let clone = Clone::new(&Git::find(env)?, &root);
        Ok(Site { ui, env, root, clone })
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
        let done = store::update(&self.root.path, |state| {
            let worker = state.require(name)?.clone();
            let (next, actions) = apply(&worker, event, now)?;
            state.workers.insert(name.to_owned(), next.clone());
            Ok((next, actions))
        })?;
        for action in &done.1 {
            let pin = format!("refs/shopfloor/review/{name}");
            match action {
                Action::Pin(sha) => drop(self.clone.ask(&self.root.path, &["update-ref", &pin, sha])?),
                Action::Unpin => drop(self.clone.run(&self.root.path, &["update-ref", "-d", &pin])?),
                Action::Announce if self.root.config.defaults.sound_on_review => {
                    self.ui.note(format!("{name} needs review: `worker-ctl review {name}`"));
                }
                Action::Announce | Action::Deliver => {}
            }
        }
        Ok(done)
    }

    /// Long work on one worker, one at a time.
    pub fn lock(&self, name: &str) -> Result<Lock> {
        Lock::take(&self.root.path.join("locks").join(format!("{name}.lock")))
    }

    /// Lets an event happen that ends in a text for the worker. The intent is saved before a byte is typed; when nothing was,
    /// all is as before.
    pub fn deliver(&self, before: &Worker, event: &Event, text: &str) -> Result<(Worker, deliver::Verdict)> {
        let (worker, _) = self.record(&before.name, event)?;
        let agent = self.root.agent(&worker.agent)?;
        match self.tmux().and_then(|tmux| deliver::deliver(&tmux, &self.root.path, &worker, &agent, text)) {
            Ok(verdict) => Ok((self.record(&before.name, &Event::Sent)?.0, verdict)),
            Err(failure) if failure.kind == "not_delivered" => {
                self.record(&before.name, &Event::NotSent { back: Box::new(before.clone()) })?;
                Err(failure)
            }
            Err(failure) => Err(failure.hint("whether anything was typed is not known; look with `worker-ctl peek`")),
        }
    }

    /// Finishes accepts that a kill left in between. One whose worker's lock is held is nobody's but its holder's.
    pub fn finish_accepts(&self) -> Result<()> {
        for name in publish::journals(&self.clone)? {
            let Some(_lock) = Lock::try_take(&self.root.path.join("locks").join(format!("{name}.lock")))? else {
                continue;
            };
            let Some(new) = publish::left_behind(&self.clone, &self.source(), &name)? else { continue };
            if let Ok(worker) = store::load(&self.root.path)?.require(&name).cloned() {
                accept::settle(self, &worker, &new)?;
                self.ui.note(format!("finished the acceptance of {name}, which was killed"));
            }
            publish::drop_journal(&self.clone, &name)?;
        }
        Ok(())
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
