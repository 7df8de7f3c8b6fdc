//! What the forge said last of the repository's requests: `requests.json` of the root.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shopfloor_core::error::Result;
use shopfloor_core::forge::{Forge, Place, Request};
use shopfloor_core::fs;

use crate::layout;

/// For how many seconds an answer is not asked for again.
const FRESH: i64 = 60;

/// A branch here, what it is called at the remote, and whose repository that is.
#[derive(Clone, Debug)]
pub struct Named {
    pub branch: String,
    pub head: String,
    pub owner: String,
}

/// The requests, and which one each branch has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Requests {
    version: u64,
    /// When the forge was asked.
    at_unix: i64,
    requests: Vec<Request>,
    branches: BTreeMap<String, u64>,
}

impl Requests {
    /// What was kept. A file that cannot be read counts as none.
    pub fn last(root: &Path) -> Requests {
        let text = fs::read_no_follow(&layout::requests(root)).ok().flatten().unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// What the forge says, which is asked once a minute.
    pub fn ask((root, now, is_now): (&Path, i64, bool), forge: &Forge, branches: &[Named]) -> Result<Requests> {
        let last = Requests::last(root);
        if !is_now && (0..FRESH).contains(&(now - last.at_unix)) {
            return Ok(last.found(&forge.place, branches));
        }
        let asked = Requests { version: 1, at_unix: now, requests: forge.list(None)?, branches: BTreeMap::new() };
        Ok(asked.found(&forge.place, branches))
    }

    /// What it says now of one branch, beside what was kept.
    pub fn ask_now(root: &Path, forge: &Forge, branch: &Named) -> Result<Requests> {
        let mut last = Requests::last(root);
        let asked = forge.list(Some(&branch.head))?;
        last.requests.retain(|request| request.head != branch.head);
        last.requests = [asked, last.requests].concat();
        Ok(last.found(&forge.place, std::slice::from_ref(branch)))
    }

    /// With the request of each of these branches.
    fn found(mut self, place: &Place, branches: &[Named]) -> Requests {
        for Named { branch, head, owner } in branches {
            let is_fork = !owner.is_empty() && !owner.eq_ignore_ascii_case(place.owner());
            let is_its = |request: &&Request| {
                let is_theirs = request.is_cross == is_fork;
                request.head == *head
                    && is_theirs
                    && (!is_fork || request.owner.is_empty() || request.owner.eq_ignore_ascii_case(owner))
            };
            let mut its = self.requests.iter().filter(is_its);
            // The newest comes first. An open one goes before those of earlier work on a branch of this name.
            let found = its.clone().find(|request| request.state == "open").or_else(|| its.next());
            match found.map(|request| request.number) {
                Some(number) => self.branches.insert(branch.clone(), number),
                None => self.branches.remove(branch),
            };
        }
        self
    }

    /// Takes the request of a branch away, because it is another's.
    pub fn forget(&mut self, branch: &str) {
        self.branches.remove(branch);
    }

    /// Keeps it for those who do not ask.
    pub fn keep(self, root: &Path) -> Result<Requests> {
        fs::replace(&layout::requests(root), &serde_json::to_vec(&self).unwrap_or_default(), Some(fs::PRIVATE))?;
        Ok(self)
    }

    /// Keeps the request of a branch, if that is known, and has the next one who wants to know more ask anew.
    pub fn learn(root: &Path, branch: &str, request: Option<Request>) -> Result<()> {
        let mut last = Requests { version: 1, at_unix: 0, ..Requests::last(root) };
        if let Some(request) = request {
            last.branches.insert(branch.to_owned(), request.number);
            last.requests.retain(|known| known.number != request.number);
            last.requests.insert(0, request);
        }
        last.keep(root).map(drop)
    }

    /// Whether a request of this branch was merged at this commit.
    pub fn was_merged(&self, head: &str, oid: &str) -> bool {
        let is_it = |request: &Request| request.state == "merged" && request.head == head && request.oid == oid;
        self.requests.iter().any(is_it)
    }

    /// The request of a branch.
    pub fn of(&self, branch: &str) -> Option<&Request> {
        let number = self.branches.get(branch)?;
        self.requests.iter().find(|request| request.number == *number)
    }

    /// The same with `--json`.
    pub fn row(&self, branch: &str) -> Option<Value> {
        let Request { number, url, state, ci, review, .. } = self.of(branch)?;
        let at = Some(self.at_unix).filter(|at| *at > 0).and_then(|at| jiff::Timestamp::from_second(at).ok());
        let at = at.map(shopfloor_core::time::render);
        Some(json!({ "number": number, "url": url, "state": state, "ci": ci, "review": review, "at": at }))
    }
}
