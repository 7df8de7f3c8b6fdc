//! A root and what works on it: values that every command is given.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::lock::Lock;
use shopfloor_core::ui::Ui;

use crate::clone::SourceClone;
use crate::layout::{self, RootLock};
use crate::root::Root;
use crate::store;
use crate::tmux::Tmux;

/// Settings as they were given on the command line, each with its name.
pub type SettingFlagValues = Vec<(&'static str, Option<PathBuf>)>;

/// A root and what works on it.
pub struct Site<'a> {
    pub ui: &'a Ui,
    pub env: &'a Env,
    pub root: Root,
    pub clone: SourceClone,
    /// Set once a program that stays is to end.
    pub ending: Arc<AtomicBool>,
    /// Whether to show only what would be done.
    pub is_dry: bool,
    flags: SettingFlagValues,
}

impl<'a> Site<'a> {
    /// Finds the root and reads its configuration. Exit 2 where there is none.
    pub fn find(
        ui: &'a Ui,
        env: &'a Env,
        named: Option<&Path>,
        flags: SettingFlagValues,
        is_dry: bool,
    ) -> Result<Site<'a>> {
        let root = Root::find(env, named, &borrowed(&flags))?;
        root.config.said.said().iter().for_each(|warning| ui.warn(warning));
        let clone = SourceClone::new(&Git::find(env)?, &root);
        Ok(Site { ui, env, root, clone, ending: Arc::default(), is_dry, flags })
    }

    /// The same with the configuration as it is now.
    pub fn reload(&self) -> Result<Site<'a>> {
        let root = Root::load(self.env, self.root.path.clone(), &borrowed(&self.flags))?;
        let clone = SourceClone::new(&self.clone.git, &root);
        let (ending, flags) = (self.ending.clone(), self.flags.clone());
        Ok(Site { ui: self.ui, env: self.env, root, clone, ending, is_dry: self.is_dry, flags })
    }

    /// The flags for settings as arguments, for a command that is started with the same ones.
    pub fn flag_arguments(&self) -> Vec<OsString> {
        let given = self.flags.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        given.flat_map(|(name, value)| [format!("--{}", name.replace('_', "-")).into(), value.clone().into()]).collect()
    }

    /// Fails once a program that stays is to end. Work that takes long asks in between.
    pub fn check_ending(&self) -> Result<()> {
        match self.ending.load(Ordering::SeqCst) {
            true => Err(Failure::failed("asked to end")),
            false => Ok(()),
        }
    }

    /// The root's tmux.
    pub fn tmux(&self) -> Result<Tmux> {
        Tmux::find(self.env, &store::load(&self.root.path)?.tmux_socket)
    }

    /// The repository that work goes to.
    pub fn source(&self) -> PathBuf {
        self.root.source(self.env)
    }

    /// Seconds since 1970.
    pub fn now(&self) -> i64 {
        self.env.later().now.as_second()
    }

    /// The time as it is written in names.
    pub fn stamp(&self) -> String {
        self.env.later().now.strftime("%Y%m%dT%H%M%S.%3fZ").to_string()
    }

    /// Takes a worker's lock, for long work on it.
    pub fn lock(&self, worker: &str) -> Result<Lock> {
        Lock::take(&layout::worker_lock(&self.root.path, worker))
    }

    /// A worker's lock, where nobody holds it.
    pub fn try_lock(&self, worker: &str) -> Result<Option<Lock>> {
        Lock::try_take(&layout::worker_lock(&self.root.path, worker))
    }

    /// Takes a lock of which the root has one.
    pub fn lock_root(&self, lock: RootLock) -> Result<Lock> {
        Lock::take(&layout::lock(&self.root.path, lock))
    }

    /// Warns about one worker's failure, so that the rest is carried on with.
    pub fn warn_on_failure(&self, worker: &str, work: impl FnOnce() -> Result<()>) {
        if let Err(failure) = work() {
            self.ui.warn(format!("{worker}: {failure}"));
        }
    }
}

fn borrowed(flags: &SettingFlagValues) -> Vec<(&'static str, Option<&Path>)> {
    flags.iter().map(|(name, value)| (*name, value.as_deref())).collect()
}
