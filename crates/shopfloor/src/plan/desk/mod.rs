//! The desk: what it shows, as values. Keys change them or ask for an effect; nothing here reads or runs anything.

mod comments;
mod foot;
pub mod frame;
pub mod keys;
pub mod list;
mod moves;
mod texts;
pub mod update;

#[cfg(test)]
mod keys_tests;
#[cfg(test)]
mod tests;

use serde_json::Value;
use shopfloor_core::text::printable;

use self::frame::broken;

use crate::facts::desk_feed::{Content, Menu, Page, PageKind, Review, Wanted};
use crate::facts::overview::{Floor, Overview};
use crate::plan::rows::{Row, rows};
use shopfloor_core::diff::{DiffLine, LineKind};

/// A repository on the desk.
#[derive(Clone, Debug, Default)]
pub struct SiteView {
    pub name: String,
    /// Its last commit.
    pub head: String,
    pub floor: Option<Floor>,
    pub rows: Vec<Row>,
    pub problems: Vec<String>,
    /// Whether the tools have told of it.
    pub is_told: bool,
}

impl SiteView {
    pub fn new(name: String, head: String, overview: &Overview) -> SiteView {
        let (floor, problems) = (overview.floor.clone(), overview.problems.clone());
        SiteView { name, head, floor, rows: rows(overview), problems, is_told: true }
    }
}

/// What the next key is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Browse,
    /// A text, to the agent that was selected when it was begun.
    Write(Draft),
    /// Whether to land the work that was shown, with this message.
    Land(Target, String),
    Help,
}

/// A text that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub what: What,
    pub to: Target,
    pub text: String,
}

/// What a text is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The words that rows must have.
    Filter,
    Send,
    /// A task, for an agent that has none.
    Task,
    Back,
    /// A name, and a task.
    New,
    /// A comment at a place of a commit, and the text of the one that is there.
    Comment {
        place: String,
        commit: String,
        before: Option<String>,
    },
}

/// Whom a command is about. It stays the same while rows come and go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    pub site: usize,
    pub key: String,
    pub worker: String,
}

/// A command that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    pub about: Option<String>,
    pub verb: String,
    /// The text that goes with it, or of the comment that it deletes.
    pub draft: Option<Draft>,
}

/// Everything on the desk.
#[derive(Clone, Debug, Default)]
pub struct Desk {
    pub sites: Vec<SiteView>,
    pub now: jiff::Timestamp,
    /// The columns and rows of the terminal.
    pub size: (u16, u16),
    /// The key of the selected agent, or nothing for the line of the idle ones, and its repository.
    pub selected: Option<(usize, String)>,
    /// Whether a person has selected it.
    pub is_chosen: bool,
    pub kind: PageKind,
    pub has_preview: bool,
    /// Whether keys move in the lower half.
    pub is_inside: bool,
    pub mode: Mode,
    pub filter: String,
    pub shows_idle: bool,
    pub page: Option<Page>,
    /// The row of the diff, or how many lines the page is turned.
    pub at: usize,
    /// Since when letters are no keys, because a text was meant that nobody had asked for.
    pub deaf: Option<jiff::Timestamp>,
    /// The first key of two.
    pub pending: Option<char>,
    /// What the last command said.
    pub said: Option<String>,
    pub running: Vec<Running>,
    /// How often comments were changed, menus answered, or pages left: then a page is asked for anew.
    pub changes: u64,
    /// The comment that was deleted last.
    pub deleted: Option<Draft>,
    /// Whose work has landed or was sent back, by keys, with its commit and state of before, which may still be told.
    pub settled: Vec<(String, [Value; 2])>,
    /// Whose work is to land once its review is shown.
    pub landing: Option<Target>,
}

/// What a key asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A command of ours, about this agent, with this input.
    Run {
        site: usize,
        about: Option<String>,
        words: Vec<String>,
        input: Option<String>,
    },
    /// The agent's terminal, until the person comes back.
    Attach(Target),
    /// A text in the person's editor.
    Edit(Draft),
    /// An address in the person's browser.
    Open(String),
    Suspend,
    Quit,
}

/// A row of the page with the diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffRow {
    /// A comment whose line is gone.
    Stale(usize),
    /// A line of the diff.
    Line(usize),
    /// A line of a comment on the line above.
    Comment(usize, String),
    /// That there are more lines than are shown.
    Cut,
}

/// How many lines of a comment are shown, and how much of each. All of it is in the editor.
const MOST_SHOWN: usize = 100;
const MOST_CHARS: usize = 1_000;

/// The rows of a diff with its comments, whose lines are broken where the screen ends.
pub fn diff_rows(review: &Review, width: usize) -> Vec<DiffRow> {
    let lines = |at: usize| {
        let text = review.comments[at]["text"].as_str().unwrap_or_default();
        let room = width.saturating_sub(8).max(8);
        let sent = if review.comments[at]["sent"] == true { "(was sent) " } else { "" };
        let text = format!("{sent}{text}");
        let mut text: Vec<String> =
            text.lines().take(MOST_SHOWN + 1).map(|line| line.chars().take(MOST_CHARS).collect()).collect();
        text.iter_mut().skip(MOST_SHOWN).for_each(|line| *line = "…".to_owned());
        text.into_iter()
            .flat_map(move |line| broken(&printable(&line), room))
            .map(move |line| DiffRow::Comment(at, line))
    };
    let is_stale = |at: &usize| review.comments[*at]["stale"].is_string();
    let stale = (0..review.comments.len()).filter(is_stale);
    let mut all: Vec<DiffRow> = stale.flat_map(|at| std::iter::once(DiffRow::Stale(at)).chain(lines(at))).collect();
    let placed: Vec<(usize, usize)> = (0..review.comments.len())
        .filter(|at| !is_stale(at))
        .filter_map(|at| Some((review.lines.iter().rposition(|line| is_at(&review.comments[at], line))?, at)))
        .collect();
    for line in 0..review.lines.len() {
        all.push(DiffRow::Line(line));
        all.extend(placed.iter().filter(|(place, _)| *place == line).flat_map(|(_, at)| lines(*at)));
    }
    all.extend(review.is_cut.then_some(DiffRow::Cut));
    all
}

/// Whether a comment is about this line.
fn is_at(comment: &Value, line: &DiffLine) -> bool {
    let number = if comment["side"] == "old" { line.numbers.0 } else { line.numbers.1 };
    comment["path"] == *line.path
        && number.is_some()
        && number == comment["line"].as_u64().and_then(|n| n.try_into().ok())
}

/// How `worker-ctl comment` names a line.
fn place(line: &DiffLine) -> Option<String> {
    let old = if line.kind == LineKind::Removed { "-" } else { "" };
    line.number().map(|number| format!("{}:{old}{number}", line.path))
}

/// What tells a row from all others of its repository: a seat has the worktree of another agent.
pub fn key(row: &Row) -> String {
    format!("{}\t{}", row.worktree, row.id)
}

impl Desk {
    /// What is said where there is no row.
    fn nobody(&self) -> &'static str {
        match self.sites.iter().all(|site| site.is_told) {
            true => "no agent yet: `n` makes one",
            false => "looking …",
        }
    }

    /// The selected agent.
    pub fn row(&self) -> Option<(usize, &Row)> {
        let (site, selected) = self.selected.as_ref()?;
        let row = self.sites.get(*site)?.rows.iter().find(|row| key(row) == *selected)?;
        Some((*site, row))
    }

    /// The selected agent as a command is about it, if it has a worker.
    pub fn target(&self) -> Option<Target> {
        let (site, row) = self.row()?;
        Some(Target { site, key: key(row), worker: row.worker.clone()? })
    }

    /// The page that is to be shown.
    pub fn wanted(&self) -> Option<Wanted> {
        let (site, row) = self.row().filter(|_| self.has_preview)?;
        let is_diff = self.kind == PageKind::Diff;
        Some(Wanted {
            site,
            key: key(row),
            worker: row.worker.clone(),
            root: self.sites[site].floor.as_ref().map(|floor| floor.root.clone()),
            kind: self.kind,
            version: format!("{} {:?} {}", row.record["commit"], row.task, self.changes),
            record: if is_diff { Value::Null } else { row.record.clone() },
        })
    }

    /// The page, if it is the selected agent's.
    pub fn shown(&self) -> Option<&Page> {
        let (_, selected) = self.selected.as_ref()?;
        self.page.as_ref().filter(|page| page.key == *selected && page.kind == self.kind)
    }

    /// The menu that is drawn.
    pub fn menu(&self) -> Option<&Menu> {
        match &self.shown()?.content {
            Content::Screen(_, menu) => menu.as_ref(),
            _ => None,
        }
    }

    /// The rows of the diff that is shown.
    pub fn diff(&self) -> Option<(&Review, Vec<DiffRow>)> {
        let review = self.review()?;
        Some((review, diff_rows(review, usize::from(self.size.0))))
    }

    /// The diff on the page, if one is shown.
    pub fn review(&self) -> Option<&Review> {
        match &self.shown()?.content {
            Content::Diff(review) => Some(review),
            Content::Text(_) | Content::Screen(..) => None,
        }
    }
}
