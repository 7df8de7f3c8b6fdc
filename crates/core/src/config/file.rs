//! One file of settings: a tool's table in it, and warnings about the rest.

use std::path::{Path, PathBuf};

use toml_edit::{Document, Item};

use super::setting::{INSIDE_ELSEWHERE, OPEN_ELSEWHERE, Row, Setting, SettingSource, SettingType, Trust, Value};
use crate::error::{Failure, Result};
use crate::text::{Position, did_you_mean};

/// The tools that have a table.
const TOOLS: [&str; 5] = ["sweatfile-apply", "overlay-sync", "ledger-synth", "worktree-spawn", "worker-ctl"];

/// What somebody reads in a shared file: its tables, and those in them. In worker-ctl's nothing else is read.
const TABLES: [(&[&str], &[&str]); 7] = [
    (&[], &TOOLS),
    (&["worker-ctl"], &["agents", "runners"]),
    (&["worker-ctl", "runners"], &["sandbox"]),
    (&["worktree-spawn"], &["agents"]),
    (&["overlay-sync"], &["path"]),
    (&["sweatfile-apply"], &[]),
    (&["ledger-synth"], &[]),
];

/// Warnings about what stands there under other names.
pub(super) fn unknown_tables(path: &Path, document: &Document<&str>) -> Vec<String> {
    let mut warnings = Vec::new();
    for (at, known) in TABLES {
        let table = at.iter().try_fold(document.as_item(), |item, key| item.get(*key));
        let all = table.and_then(Item::as_table_like).into_iter().flat_map(|table| table.iter());
        // Other settings are for their tool to judge.
        let is_setting = |item: &Item| at.first().is_some_and(|tool| *tool != "worker-ctl") && !item.is_table_like();
        for (key, item) in all.filter(|(key, item)| !known.contains(key) && !is_setting(item)) {
            let near = match TABLES.iter().find(|(_, known)| known.contains(&key)) {
                Some((place, _)) => format!("; did you mean `{}`?", [*place, &[key]].concat().join(".")),
                None => did_you_mean(key, known),
            };
            let line = Position::of(document.raw(), item.span().map_or(0, |span| span.start)).line;
            let name = [at, &[key]].concat().join(".");
            let noun = if item.is_table_like() { "table" } else { "setting" };
            warnings.push(format!("{}:{line}: unknown {noun} `{name}`{near}", path.display()));
        }
    }
    warnings
}

/// What a tool knows of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    /// The table's name: the tool's, in the files all tools share.
    pub(super) tool: &'a str,
    pub(super) settings: &'a [Setting],
    /// Keys that are not settings.
    pub(super) others: &'a [&'a str],
    /// What the file is, for the sources of its values.
    pub(super) source: fn(PathBuf, usize) -> SettingSource,
}

/// One file's table of the tool.
#[derive(Default)]
pub(super) struct File {
    pub(super) text: String,
    values: Vec<(Setting, Value)>,
    pub(super) rows: Vec<Row>,
    /// Whether it sets something guarded, for whichever tool.
    pub(super) is_guarded: bool,
}

impl File {
    /// Reads a file; one that is not there sets nothing.
    pub(super) fn parse(
        path: &Path,
        bytes: Option<Vec<u8>>,
        known: Known<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<File> {
        let Some(bytes) = bytes else { return Ok(File::default()) };
        let Known { tool, settings, .. } = known;
        let wrong = |at: Position, what: String| Failure::malformed(format!("{}:{at}: {what}", path.display()));
        let text = String::from_utf8(bytes).map_err(|e| {
            let valid = e.utf8_error().valid_up_to();
            let at = Position::of(&String::from_utf8_lossy(&e.as_bytes()[..valid]), valid);
            wrong(at, "not UTF-8".into())
        })?;
        let document = Document::parse(text.as_str()).map_err(|e| {
            let at = Position::of(&text, e.span().map_or(0, |s| s.start));
            wrong(at, e.message().to_owned())
        })?;
        // A file that only one tool reads has tables of its own.
        let is_shared = TOOLS.contains(&tool);
        if is_shared {
            warnings.extend(unknown_tables(path, &document));
        }
        let mut reader = Reader { path, text: &text, known, warnings };
        let mut is_guarded = is_shared && TOOLS.iter().any(|other| *other != tool && sets_guarded(&document, other));
        let (mut values, mut rows) = (Vec::new(), Vec::new());
        if let Some(item) = document.get(tool) {
            values = reader.table(tool, item, settings)?;
            for setting in settings {
                let SettingType::Tables(inner) = setting.kind else { continue };
                let Some(item) = item.get(setting.name) else { continue };
                let named = item.as_table_like().ok_or_else(|| reader.wrong(setting.name, setting.kind, item))?;
                for (name, item) in named.iter() {
                    let table = format!("{tool}.{}.{name:?}", setting.name);
                    let values = reader.table(&table, item, inner)?;
                    rows.push(Row { setting: setting.name, name: name.to_owned(), values });
                }
            }
        }
        drop(document);
        is_guarded |= values.iter().chain(rows.iter().flat_map(|row| &row.values)).any(needs_approval);
        Ok(File { text, values, rows, is_guarded })
    }

    pub(super) fn value(&self, name: &str) -> Option<Value> {
        self.values.iter().find(|(setting, _)| setting.name == name).map(|(_, value)| value.clone())
    }

    /// Forgets what only the user's own file may set, approved or not. Returns a warning about each such value.
    pub(super) fn leave_out_users(&mut self) -> Vec<String> {
        let mut warnings = Vec::new();
        for values in self.rows.iter_mut().map(|row| &mut row.values).chain([&mut self.values]) {
            values.retain(|(Setting { name, trust, .. }, value)| {
                let is_users = *trust == Trust::User;
                if let (true, SettingSource::Repository(path, line)) = (is_users, &value.source) {
                    let path = path.display();
                    warnings.push(format!("{path}:{line}: only the user's own config.toml may set `{name}`"));
                }
                !is_users
            });
        }
        warnings
    }

    /// Forgets what is guarded; `true` when that is anything.
    pub(super) fn leave_out_guarded(&mut self) -> bool {
        let all = self.rows.iter_mut().map(|row| &mut row.values).chain([&mut self.values]);
        all.fold(false, |any, values| {
            let before = values.len();
            values.retain(|said| !needs_approval(said));
            any || values.len() < before
        })
    }
}

fn needs_approval((setting, value): &(Setting, Value)) -> bool {
    setting.trust.needs_approval(Some(&value.text))
}

/// Whether the table of another tool, itself or in a table of it, sets something that needs approval.
fn sets_guarded(document: &Document<&str>, tool: &str) -> bool {
    let is_guarded = |name: &str, item: &Item| {
        let name = format!("{tool}.{name}");
        let is_inside = INSIDE_ELSEWHERE.contains(&name.as_str());
        let trust = if is_inside { Trust::Inside } else { Trust::Approved };
        !OPEN_ELSEWHERE.contains(&name.as_str()) && trust.needs_approval(item.as_str())
    };
    let Some(table) = document.get(tool).and_then(Item::as_table_like) else { return false };
    table.iter().any(|(key, item)| match item.as_table_like() {
        // Tables of settings, each under a name.
        Some(named) => named
            .iter()
            .filter_map(|(_, table)| table.as_table_like())
            .any(|table| table.iter().any(|(inner, item)| is_guarded(&format!("{key}.{inner}"), item))),
        None => is_guarded(key, item),
    })
}

/// What reading a file needs to tell where something is wrong.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    known: Known<'a>,
    warnings: &'a mut Vec<String>,
}

impl Reader<'_> {
    fn at(&self, item: &Item) -> Position {
        Position::of(self.text, item.span().map_or(0, |s| s.start))
    }

    fn warn(&mut self, item: &Item, what: String) {
        let warning = format!("{}:{}: {what}", self.path.display(), self.at(item).line);
        self.warnings.push(warning);
    }

    fn wrong(&self, key: &str, kind: SettingType, item: &Item) -> Failure {
        let value = match kind {
            SettingType::Choice(_) => item.as_str().map_or(item.type_name().to_owned(), |word| format!("`{word}`")),
            SettingType::Number | SettingType::Duration(_) | SettingType::DurationOrNever => {
                format!("`{}`", item.to_string().trim())
            }
            _ => item.type_name().to_owned(),
        };
        let what = format!("`{key}` must be {}, not {value}", kind.wanted());
        Failure::malformed(format!("{}:{}: {what}", self.path.display(), self.at(item)))
    }

    /// What a table sets, but for tables in it.
    fn table(&mut self, name: &str, item: &Item, settings: &[Setting]) -> Result<Vec<(Setting, Value)>> {
        let Some(table) = item.as_table_like() else {
            let what = format!("{}:{}: `{name}` must be a table", self.path.display(), self.at(item));
            return Err(Failure::malformed(what).hint(format!("write `[{name}]`")));
        };
        let mut values = Vec::new();
        for (key, item) in table.iter() {
            let Some(setting) = settings.iter().find(|s| s.name == key) else {
                // Tables in a shared file are named by `unknown_tables`.
                if self.known.others.contains(&key) || TOOLS.contains(&name) && item.is_table_like() {
                    continue;
                }
                let names: Vec<_> = settings.iter().map(|s| s.name).collect();
                self.warn(item, format!("unknown setting `{key}`{}", did_you_mean(key, &names)));
                continue;
            };
            if matches!(setting.kind, SettingType::Tables(_)) {
                continue;
            }
            let (text, items) = setting.kind.read(item).ok_or_else(|| self.wrong(key, setting.kind, item))?;
            let source = (self.known.source)(self.path.to_path_buf(), self.at(item).line);
            values.push((*setting, Value { text, items, source }));
        }
        Ok(values)
    }
}
