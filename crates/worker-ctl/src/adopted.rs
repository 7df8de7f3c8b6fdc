//! What is known of a branch beside its worker's task: the worktree that a person had made for it, and what others have of it.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use shopfloor_core::text::shell_word;

/// What is known of a worktree of the person's own repository that became a worker's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adopted {
    /// The branch that its work lands on.
    pub target: String,
    /// The branch that the work of the worker on that branch landed on, if that worker was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_target: Option<String>,
    /// The name of git's record of the worktree. It leads back to the worktree, also when that is moved.
    #[serde(default)]
    pub record: String,
    /// Tells that directory from the one that git makes for a later worktree at the same place. None: an earlier version
    /// adopted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_id: Option<String>,
    /// The commit that its branch was at when its task began, or when it was adopted. A reset goes there.
    pub began: String,
    /// Where the commits branch off that its branch had before its first task. They land with that, so they wait for a
    /// review until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<String>,
    /// How its work lands.
    #[serde(default)]
    pub land: LandAs,
    /// What of a branch that others have too has landed last. The branch stays where it is, so the work on top begins there.
    #[serde(default)]
    pub landed: Option<LandedTip>,
    /// The commit as which its work has landed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed_as: Option<String>,
    /// The hooks of the repository, and the settings by which git runs something, when it was adopted. None: an earlier
    /// version adopted it.
    #[serde(default)]
    pub programs: Option<BTreeSet<String>>,
    /// The settings of its own by which git runs or redirects something, as a person has accepted them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<(String, String)>,
}

/// A branch that others have as that of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pushed {
    /// The repository that got the request, which a person has seen.
    pub place: String,
    /// Its commits that are there or were, the last one last: also one that is about to be pushed.
    pub tips: Vec<String>,
    /// Whether that was for earlier work, so that the branch is the worker's own again.
    #[serde(default)]
    pub is_over: bool,
}

impl Pushed {
    /// Whether this commit was pushed, or was there when the worker began.
    pub fn has(&self, sha: &str) -> bool {
        self.tips.iter().any(|tip| tip == sha)
    }
}

/// Work that landed as another commit, while its branch stayed where it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandedTip {
    /// The branch's own commit.
    pub tip: String,
    /// The commit of the other branch that has it.
    pub commit: String,
}

/// What to do with a worker without a task. The branch on which the work of an adopted worktree lands may lack something that
/// it had.
pub fn idle_hint(adopted: Option<&Adopted>, worktree: &Path) -> String {
    match adopted {
        None => "it has nothing that has not landed; `worker-ctl status` shows who has".to_owned(),
        Some(Adopted { target, .. }) => format!(
            "nothing of it waits for a review; if {target} lacks some of its work: `worker-ctl add --worktree {}`",
            shell_word(worktree)
        ),
    }
}

/// How the work of an adopted worktree lands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LandAs {
    /// As one commit.
    #[default]
    Squash,
    /// As its own commits, on the branch that it lands on.
    Commits,
}
