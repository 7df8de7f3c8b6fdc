//! The hosts of a root: other machines that have a root of their own for the same repository, which this one, their hub,
//! asks over ssh. What is kept of each lies in `hosts/` of the root.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::processes;
use shopfloor_core::text::nearest;

use crate::failure;
use crate::names::checked_name;
use crate::root::WorkerRoot;
use crate::settings::HostTable;

/// For how many seconds a command that got no answer is the same one.
const KNOWN_FOR: i64 = 3_600;

/// What ends a word, and what follows a name in a sentence.
const ENDS: [char; 5] = [',', ':', '.', ';', '\n'];
const VERBS: &str = "is was has have does did cannot conflicts runs works asks shows will stays needs and or";

/// A host with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    pub name: String,
    pub table: HostTable,
}

/// The host and the name there of a worker that is called `HOST:NAME`.
pub fn split(worker: &str) -> Option<(&str, &str)> {
    worker.split_once(':')
}

/// What a worker is called in the name of a ref, which has no colon. No worker's name has this sign.
pub fn ref_name(worker: &str) -> String {
    worker.replace(':', "+")
}

impl Host {
    /// An error of the host's own, marked as that where neither a worker's name nor that of a file from here says whose it is.
    pub fn marked(&self, said: &str, file: Option<&str>) -> String {
        let host = &self.name;
        match said.strip_prefix("error: ") {
            Some(why) if !why.contains(&format!("{host}:")) && !file.is_some_and(|file| why.starts_with(file)) => {
                format!("error: {host}: {why}")
            }
            _ => said.to_owned(),
        }
    }

    /// What the host says, for a person here: these workers have the names that they have here, as the first word and behind
    /// a word that tells of one, and in commands; and commands without one say where. As a name may be an ordinary word, in
    /// sentences it counts where no noun can follow.
    pub fn renamed(&self, text: &str, named: &[String], known: &[String]) -> String {
        let host = &self.name;
        let is_its = |word: &str| {
            let bare = word.trim_end_matches(ENDS);
            named.iter().chain(known).any(|name| name == bare)
        };
        let words = |text: &str, is_place: &dyn Fn(usize, &[&str]) -> bool| {
            let all: Vec<&str> = text.split(' ').collect();
            let renamed = all.iter().enumerate().map(|(n, word)| match is_its(word) && is_place(n, &all) {
                true => format!("{host}:{word}"),
                false => (*word).to_owned(),
            });
            renamed.collect::<Vec<_>>().join(" ")
        };
        let is_subject = |n: usize, all: &[&str]| match all[n + 1..] {
            [] => true,
            // The columns of a table.
            ["", _, ..] => n == 0,
            [next, ..] => all[n].ends_with(ENDS) || VERBS.split(' ').any(|verb| verb == next),
        };
        let tells = |n: usize, all: &[&str]| n > 0 && ["of", "to", "for", "worker"].contains(&all[n - 1]);
        let parts = text.split('`').enumerate().map(|(n, part)| match n % 2 {
            0 => words(part, &|word, all| (n == 0 && word == 0 || tells(word, all)) && is_subject(word, all)),
            // A quoted name, or a command, in which the first two words are the tool and what it does.
            _ if !part.contains(' ') => words(part, &|_, _| true),
            // Hosts are those from here, and so is the table, which has all machines.
            _ if part.starts_with("worker-ctl host ") || part.starts_with("worker-ctl status") => part.to_owned(),
            // The root of a host is made from here.
            _ if part.starts_with("worker-ctl init") => format!("worker-ctl host add {host} --ssh {}", self.table.ssh),
            _ => match words(part, &|word, _| word > 1) {
                said if said.starts_with("worker-ctl ") && !said.contains(&format!("{host}:")) => {
                    format!("{said} --host {host}")
                }
                said => said,
            },
        });
        parts.collect::<Vec<_>>().join("`")
    }
}

impl WorkerRoot {
    /// All hosts.
    pub fn hosts(&self) -> impl Iterator<Item = Host> {
        self.config.hosts.iter().map(|(name, table)| Host { name: name.clone(), table: table.clone() })
    }

    /// The host of this name. Exit 2 if there is none.
    pub fn host(&self, name: &str) -> Result<Host> {
        self.hosts().find(|host| host.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.config.hosts.keys().map(String::as_str).collect();
            Failure::usage(format!("no host is called `{name}`"))
                .details(nearest(name, &known).map(|near| format!("tip: did you mean `{near}`?")))
                .hint("`worker-ctl host list` lists the hosts; `worker-ctl host add NAME --ssh DEST` adds one")
        })
    }
}

/// The directory of what is kept of hosts.
pub fn dir(root: &Path) -> PathBuf {
    root.join("hosts")
}

/// The lock that is held while a host is told what it must do in order: what has landed, and where the branch is.
pub fn lock(root: &Path, host: &str) -> Result<Lock> {
    fs::create_private_dir(&dir(root))?;
    Lock::take(&dir(root).join(format!("{host}.lock")))
}

/// What a host said last: `hosts/NAME.json`. Whoever asks replaces it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LastSaid {
    pub v: u64,
    /// When it answered.
    pub at_unix: Option<i64>,
    /// Since when it does not.
    pub unreachable_since_unix: Option<i64>,
    /// Its workers, as its `status --json` has them. Their names are checked.
    pub workers: Vec<Value>,
}

impl LastSaid {
    /// Reads it. A file that cannot be read counts as none.
    pub fn load(root: &Path, host: &str) -> LastSaid {
        let text = fs::read_no_follow(&dir(root).join(format!("{host}.json"))).ok().flatten().unwrap_or_default();
        serde_json::from_slice(&text).ok().filter(|said: &LastSaid| said.v <= 1).unwrap_or_default()
    }

    /// The workers, as the host calls them.
    pub fn names(&self) -> Vec<String> {
        self.workers.iter().filter_map(|row| row["name"].as_str().map(str::to_owned)).collect()
    }

    pub fn keep(&self, root: &Path, host: &str) -> Result<()> {
        write(root, &format!("{host}.json"), &LastSaid { v: 1, ..self.clone() })
    }

    /// With the workers of an answer. Exit 4 if not all of them can be read: whoever is left out would count as gone.
    pub fn answered(host: &Host, answer: &Value, now: i64) -> Result<LastSaid> {
        let mut seen = BTreeSet::new();
        let is_good = |row: &Value| {
            let name = row["name"].as_str().filter(|name| row["v"] == 1 && checked_name(name).is_ok());
            name.is_some_and(|name| seen.insert(name.to_owned()))
        };
        let workers = answer["workers"].as_array().filter(|rows| rows.iter().all(is_good));
        let workers = workers.cloned().ok_or_else(|| {
            failure::there(4, format!("{}: its `status` does not list its workers as it does here", host.name))
        })?;
        Ok(LastSaid { v: 1, at_unix: Some(now), unreachable_since_unix: None, workers })
    }
}

/// What a person has reviewed of the work of a host's workers, and where the host's branch is: `hosts/NAME.work.json`. It is
/// written under the host's lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostWork {
    pub v: u64,
    /// The default branch's commit that the host has.
    pub pushed: Option<String>,
    pub reviews: BTreeMap<String, SeenWork>,
    /// Commands without an answer, by the digest of their words and who sent them last: under which id they begin something,
    /// and since when.
    pub unanswered: BTreeMap<String, (String, i64)>,
}

/// What stands for the digest of work of which nobody knows whether it was sent back.
pub const PERHAPS: &str = "?";

/// Some work that a person has reviewed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenWork {
    pub sha: String,
    /// Its digest, which does not depend on the commit that it sits on; empty once it was sent back, and [`PERHAPS`] if it
    /// may have been.
    pub patch: String,
}

impl HostWork {
    /// Exit 4 if the file cannot be read: without it, work counts as never reviewed.
    pub fn load(root: &Path, host: &str) -> Result<HostWork> {
        let path = dir(root).join(format!("{host}.work.json"));
        let Some(text) = fs::read_no_follow(&path)? else { return Ok(HostWork::default()) };
        let unreadable = || Failure::failed(format!("{} cannot be read", path.display()));
        let work: HostWork = serde_json::from_slice(&text)
            .map_err(|e| unreadable().because(e).hint("move it away, and review the work of that host again"))?;
        match work.v > 1 {
            true => Err(unreadable().hint("a later version of worker-ctl wrote it: use that one")),
            false => Ok(work),
        }
    }

    /// Remembers a command that is about to be sent. Returns its entry, its id, and whether it is the one of an earlier try,
    /// which was never answered and has ended. Another one of the same words that is at work is another command.
    pub fn begin(&mut self, words: &str, now: i64) -> (String, String, bool) {
        self.unanswered.retain(|_, (_, at)| now - *at < KNOWN_FOR);
        let now_with = |pid: &str| processes::word(pid.parse().ok()?);
        let runs = |sender: &str| sender.split_once('.').and_then(|(pid, _)| now_with(pid)).as_deref() == Some(sender);
        let has_ended =
            |of: &&String| of.strip_prefix(words).is_some_and(|sender| !runs(sender.trim_start_matches('-')));
        let earlier = self.unanswered.keys().find(has_ended).cloned();
        let known = earlier.and_then(|entry| self.unanswered.remove(&entry));
        let is_again = known.is_some();
        let id = known.map_or_else(|| Digest::of(fs::unique_name().as_bytes()).to_string(), |(id, _)| id);
        let own = processes::word(std::process::id().cast_signed()).unwrap_or_default();
        let entry = format!("{words}-{own}");
        self.unanswered.insert(entry.clone(), (id.clone(), now));
        (entry, id, is_again)
    }

    /// Changes it. The caller holds the host's lock.
    pub fn update(root: &Path, host: &str, change: impl FnOnce(&mut HostWork)) -> Result<()> {
        let before = HostWork::load(root, host)?;
        let mut after = HostWork { v: 1, ..before.clone() };
        change(&mut after);
        if after == before { Ok(()) } else { write(root, &format!("{host}.work.json"), &after) }
    }
}

fn write(root: &Path, name: &str, value: &impl Serialize) -> Result<()> {
    fs::create_private_dir(&dir(root))?;
    let text = serde_json::to_vec(value).map_err(|e| Failure::failed(format!("cannot write {name}")).because(e))?;
    fs::replace(&dir(root).join(name), &text, Some(fs::PRIVATE))
}

/// Forgets what was kept of a host.
pub fn forget(root: &Path, host: &str) -> Result<()> {
    let of = |end: &str| dir(root).join(format!("{host}{end}"));
    fs::remove_tree(&of(".in"))?;
    [".json", ".work.json", ".lock"].iter().try_for_each(|end| fs::remove(&of(end)))
}
