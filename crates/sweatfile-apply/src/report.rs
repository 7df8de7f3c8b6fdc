//! The answer of `apply` and `check`, printed as lines or as JSON.

use serde::Serialize;
use shopfloor_core::approval::ApprovalStatus;
use shopfloor_core::fs::DiskUse;
use shopfloor_core::text;
use shopfloor_core::ui::{Ui, printable};

use crate::env_file;
use crate::layer::{Layer, LayerName};

/// What happened, or would happen, to one item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemAction {
    /// Written, placed or run now.
    Created,
    /// Left as it is: apply did not place it, or it was changed since.
    Kept,
    Failed,
    /// In the background.
    Running,
    /// Already as wanted.
    #[default]
    Unchanged,
    /// Not done, for the reason given.
    Skipped,
    /// For `check`: it differs from the sweatfiles.
    Drifted,
}

/// Which command a report is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFor {
    Apply,
    Check,
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
    /// Each difference in words; filled by `check`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<Vec<String>>,
    /// Filled by `check`, where there are caches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskUse>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LayerLine {
    pub name: LayerName,
    pub path: String,
    pub found: bool,
    pub approval: ApprovalStatus,
}

#[derive(Clone, Debug, Serialize)]
pub struct ExcludeLine {
    pub pattern: String,
    pub action: ItemAction,
}

#[derive(Clone, Debug, Serialize)]
pub struct FileLine {
    pub path: String,
    pub action: ItemAction,
    pub why: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EnvLine {
    pub action: ItemAction,
    pub keys: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct SetupLine {
    pub command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    pub action: ItemAction,
    pub status: Option<i32>,
    pub seconds: Option<f64>,
}

impl LayerLine {
    pub fn new(layer: &Layer) -> LayerLine {
        LayerLine {
            name: layer.name,
            path: layer.path.display().to_string(),
            found: layer.text.is_some(),
            approval: layer.approval,
        }
    }
}

impl Report {
    /// Marks what is to be done as skipped, but for setup.
    pub fn skip(&mut self) {
        let excludes = self.excludes.iter_mut().map(|line| &mut line.action);
        let actions = excludes.chain(self.files.iter_mut().map(|line| &mut line.action)).chain([&mut self.env.action]);
        actions.filter(|action| **action == ItemAction::Created).for_each(|action| *action = ItemAction::Skipped);
    }

    /// Prints a line for each item that changed, or in a dry run would change, with the reason.
    pub fn print(&self, ui: &Ui) {
        let mut lines = Vec::new();
        let did = |action: ItemAction, word: &'static str| match (ui.is_dry(), action) {
            (true, ItemAction::Created) => format!("would have {word}"),
            (true, ItemAction::Running) => "would be running".to_owned(),
            (false, ItemAction::Created) => word.to_owned(),
            (_, action) => text::word(&action),
        };
        for exclude in self.excludes.iter().filter(|e| e.action != ItemAction::Unchanged) {
            lines.push(format!("{} exclude {}", did(exclude.action, "created"), printable(&exclude.pattern)));
        }
        for file in self.files.iter().filter(|f| f.action != ItemAction::Unchanged) {
            lines.push(format!("{} {} ({})", did(file.action, "created"), printable(&file.path), printable(&file.why)));
        }
        if self.env.action != ItemAction::Unchanged {
            let why = printable(self.env.why.as_deref().unwrap_or_default());
            lines.push(format!("{} {} ({why})", did(self.env.action, "updated"), env_file::FILE));
        }
        for setup in self.setup.iter().filter(|s| s.action != ItemAction::Unchanged) {
            let status = match setup.status {
                Some(status) if status != 0 => format!(" (status {status})"),
                _ => String::new(),
            };
            lines.push(format!("{} setup {}{status}", did(setup.action, "finished"), printable(&setup.command)));
        }
        lines.iter().for_each(|line| ui.line(line));
        if lines.is_empty() {
            ui.nothing_to_do();
        }
    }
}
