//! What the forge said last of the repository's requests: `requests.json` of the root.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shopfloor_core::error::Result;
use shopfloor_core::forge::{Forge, Request};
use shopfloor_core::fs;

use crate::layout;

/// For how many seconds an answer is not asked for again.
const FRESH: i64 = 60;

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

    /// What the forge says, which is asked once a minute, or now. `owner` tells whose repository a branch is pushed to.
    pub fn ask(
        (root, now, is_now): (&Path, i64, bool),
        forge: &Forge,
        branches: &[String],
        owner: &dyn Fn(&str) -> Result<String>,
    ) -> Result<Requests> {
        let mut asked = Requests::last(root);
        if is_now || !(0..FRESH).contains(&(now - asked.at_unix)) {
            asked = Requests { version: 1, at_unix: now, requests: forge.list()?, branches: BTreeMap::new() };
        }
        for branch in branches {
            let owner = owner(branch)?;
            let is_its = |request: &&Request| {
                request.head == *branch && (!request.is_cross || !owner.is_empty() && request.owner == owner)
            };
            let mut its = asked.requests.iter().filter(is_its);
            // The newest comes first. An open one goes before those of earlier work on a branch of this name.
            let found = its.clone().find(|request| request.state == "open").or_else(|| its.next());
            asked.branches.extend(found.map(|request| (branch.clone(), request.number)));
        }
        Ok(asked)
    }

    /// Keeps it for those who do not ask.
    pub fn keep(self, root: &Path) -> Result<Requests> {
        fs::replace(&layout::requests(root), &serde_json::to_vec(&self).unwrap_or_default(), Some(fs::PRIVATE))?;
        Ok(self)
    }

    /// The request of a branch.
    pub fn of(&self, branch: &str) -> Option<&Request> {
        let number = self.branches.get(branch)?;
        self.requests.iter().find(|request| request.number == *number)
    }

    /// The same with `--json`.
    pub fn row(&self, branch: &str) -> Option<Value> {
        let Request { number, url, state, ci, review, .. } = self.of(branch)?;
        let at = jiff::Timestamp::from_second(self.at_unix).ok().map(shopfloor_core::time::render);
        Some(json!({ "number": number, "url": url, "state": state, "ci": ci, "review": review, "at": at }))
    }
}
