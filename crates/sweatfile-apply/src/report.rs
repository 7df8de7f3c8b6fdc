//! The answer of apply and check: one value that is printed as lines or as JSON.

use serde::Serialize;
use shopfloor_core::approval::Status;
use shopfloor_core::ui::{Ui, printable};

use crate::layer::{Layer, Name};

/// What happened, or would happen, to one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Written, placed or run now.
    Created,
    /// Somebody else's, or changed since; left as it is.
    Kept,
    Failed,
    /// As wanted already.
    Unchanged,
    /// Not done, for the reason given.
    Skipped,
    /// `check`: differs from what the sweatfiles say.
    Drifted,
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Action::Created => "created",
            Action::Kept => "kept",
            Action::Failed => "failed",
            Action::Unchanged => "unchanged",
            Action::Skipped => "skipped",
            Action::Drifted => "drifted",
        })
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub worktree: String,
    pub layers: Vec<LayerLine>,
    pub excludes: Vec<ExcludeLine>,
    pub files: Vec<FileLine>,
    pub env: EnvLine,
    pub setup: Vec<SetupLine>,
    pub warnings: Vec<String>,
    /// Each difference, in words; filled by `check`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<serde_json::Value>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LayerLine {
    pub name: Name,
    pub path: String,
    pub found: bool,
    pub approval: Status,
}

#[derive(Clone, Debug, Serialize)]
pub struct ExcludeLine {
    pub pattern: String,
    pub action: Action,
}

#[derive(Clone, Debug, Serialize)]
pub struct FileLine {
    pub path: String,
    pub action: Action,
    pub why: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct EnvLine {
    pub action: Action,
    pub keys: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SetupLine {
    pub command: String,
    pub action: Action,
    pub status: Option<i32>,
    pub seconds: Option<f64>,
}

impl LayerLine {
    pub fn of(layer: &Layer) -> LayerLine {
        LayerLine {
            name: layer.name,
            path: layer.path.display().to_string(),
            found: layer.text.is_some(),
            approval: layer.approval,
        }
    }
}

impl Report {
    /// The lines of apply: what is not as it was, each with its reason; in a dry run, what would not be.
    pub fn print(&self, ui: &Ui, dry_run: bool) {
        let did = |action: Action, word: &'static str| match (dry_run, action) {
            (true, Action::Created) => format!("would have {word}"),
            (false, Action::Created) => word.to_owned(),
            (_, action) => action.to_string(),
        };
        for exclude in self.excludes.iter().filter(|e| e.action != Action::Unchanged) {
            ui.line(format!("{} exclude {}", did(exclude.action, "created"), printable(&exclude.pattern)));
        }
        for file in self.files.iter().filter(|f| f.action != Action::Unchanged) {
            ui.line(format!("{} {} ({})", did(file.action, "created"), printable(&file.path), printable(&file.why)));
        }
        if self.env.action != Action::Unchanged {
            let why = printable(self.env.why.as_deref().unwrap_or_default());
            ui.line(format!("{} {} ({why})", did(self.env.action, "updated"), crate::env_file::FILE));
        }
        for setup in self.setup.iter().filter(|s| s.action != Action::Unchanged) {
            let status = match setup.status {
                Some(status) if status != 0 => format!(" (status {status})"),
                _ => String::new(),
            };
            ui.line(format!("{} setup {}{status}", did(setup.action, "finished"), printable(&setup.command)));
        }
    }
}
