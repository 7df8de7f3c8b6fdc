//! Layers: the sweatfiles that count for a worktree, and what they amount to when merged.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use serde::Serialize;
use shopfloor_core::approval::ApprovalStatus;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::{self, Position};
use toml::{Table, Value};

use crate::cache::Cache;
use crate::setup_step::SetupStep;
use crate::sweatfile::{Body, ParsedSweatfile, key_of, prefix_clashes};

/// The name of every sweatfile.
pub const FILE: &str = "sweatfile";

/// The layers, outermost first; a later one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayerName {
    /// The user's own sweatfile for an area, which is trusted.
    Area,
    /// The repository's sweatfile, which counts only once approved.
    Repo,
}

impl std::fmt::Display for LayerName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&text::word(self))
    }
}

/// One layer. Its bytes are read once: the bytes hashed, shown and executed are the same.
#[derive(Clone, Debug)]
pub struct Layer {
    pub name: LayerName,
    /// The path of its sweatfile, which may not exist.
    pub path: PathBuf,
    /// None when there is no such file.
    pub text: Option<LayerText>,
    pub approval: ApprovalStatus,
}

/// The bytes of a sweatfile, and their parsed form.
#[derive(Clone, Debug)]
pub struct LayerText {
    pub bytes: Vec<u8>,
    pub parsed: ParsedSweatfile,
}

impl Layer {
    pub fn digest(&self) -> Option<Digest> {
        self.text.as_ref().map(|t| Digest::of(&t.bytes))
    }

    /// Whether it exists and needs no further approval.
    pub fn counts(&self) -> bool {
        self.text.is_some() && self.approval != ApprovalStatus::Required
    }
}

/// The layers merged into one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergedLayers {
    pub git_excludes: Vec<String>,
    pub env: BTreeMap<String, EnvValue>,
    pub files: BTreeMap<RelPath, MergedFile>,
    /// The destinations that an inner layer cleared, each with that layer.
    pub cleared: BTreeMap<RelPath, LayerName>,
    /// Also those that are cleared, which `.worktreeinclude` may name.
    pub caches: BTreeMap<RelPath, Cache>,
    pub setup: Vec<SetupStep>,
    pub teardown: Vec<String>,
    /// How many of its commands, counted from the front, are the area's.
    pub area_teardown: usize,
    /// The commands that have placeholders.
    pub templates: BTreeSet<String>,
    /// Whether an existing layer was left out, because it is not approved or others can change it. Whatever it brought
    /// while it counted is then left alone.
    pub left_out: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvValue {
    pub text: String,
    pub template: bool,
}

/// An entry of `[files]` after merging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedFile {
    pub body: Body,
    pub layer: LayerName,
    /// The sweatfile of the entry, and the position in it.
    pub file: PathBuf,
    pub at: Position,
    /// Whether its layer counts. Files that an entry of another layer names are not read.
    pub counts: bool,
}

/// Merges layers, outermost first. An array appends, or clears when it is empty; tables merge per key.
pub fn merge<'a>(layers: impl Iterator<Item = &'a Layer>) -> MergedLayers {
    let mut merged = MergedLayers::default();
    for layer in layers {
        let Some(text) = &layer.text else { continue };
        let sweatfile = &text.parsed.sweatfile;
        append(&mut merged.git_excludes, &sweatfile.git_excludes);
        let is_area = layer.name == LayerName::Area;
        let of_layer = |step: &SetupStep| SetupStep { is_area, ..step.clone() };
        append(&mut merged.setup, &sweatfile.setup.as_ref().map(|steps| steps.iter().map(of_layer).collect()));
        append(&mut merged.teardown, &sweatfile.teardown);
        if is_area || merged.teardown.is_empty() {
            merged.area_teardown = merged.teardown.len();
        }
        let setup = sweatfile.setup.iter().flatten().map(|step| &step.run);
        let commands = setup.chain(sweatfile.teardown.iter().flatten());
        merged.templates.extend(commands.filter(|_| sweatfile.template).cloned());
        merged.caches.extend(sweatfile.caches.clone());
        for (key, value) in &sweatfile.env {
            if value.is_empty() {
                merged.env.remove(key);
            } else {
                let value = EnvValue { text: value.clone(), template: sweatfile.template };
                merged.env.insert(key.clone(), value);
            }
        }
        for (path, entry) in &sweatfile.files {
            if entry.body == Body::Clear {
                merged.files.remove(path);
                merged.cleared.insert(path.clone(), layer.name);
            } else {
                let file = MergedFile {
                    body: entry.body.clone(),
                    layer: layer.name,
                    file: layer.path.clone(),
                    at: entry.at,
                    counts: layer.counts(),
                };
                merged.files.insert(path.clone(), file);
                merged.cleared.remove(path);
            }
        }
    }
    let mut seen = HashSet::new();
    merged.git_excludes.retain(|pattern| seen.insert(pattern.clone()));
    merged
}

fn append<T: Clone>(inherited: &mut Vec<T>, own: &Option<Vec<T>>) {
    match own {
        None => {}
        Some(own) if own.is_empty() => inherited.clear(),
        Some(own) => inherited.extend(own.iter().cloned()),
    }
}

impl MergedLayers {
    /// A digest that identifies the list of setup commands, without those that have a state of their own.
    pub fn setup_digest(&self) -> Digest {
        let list: Vec<&String> = self.setup.iter().filter(|step| step.key().is_none()).map(|step| &step.run).collect();
        Digest::of(serde_json::to_string(&list).unwrap_or_default().as_bytes())
    }

    /// The contradictions between layers that are valid on their own, each with `FILE:LINE:COLUMN`.
    pub fn problems(&self) -> Vec<String> {
        let place = |file: &MergedFile| format!("{}:{}", file.file.display(), file.at);
        let problem = |(outer, inner): (RelPath, RelPath)| {
            let (o, i) = (&self.files[&outer], &self.files[&inner]);
            let (at, other) = if i.layer >= o.layer { (place(i), place(o)) } else { (place(o), place(i)) };
            let (outer, inner) = (key_of(&outer), key_of(&inner));
            format!("{at}: files entries `{outer}` and `{inner}`: one lies inside the other (see {other})")
        };
        let clashes = prefix_clashes(self.files.iter().map(|(path, file)| (path, &file.body)));
        clashes.into_iter().map(problem).collect()
    }

    /// The result as a TOML table. `resolve` gives the path that a `source` or `copy` of an entry names, and `secret`
    /// the form in which values and contents are printed.
    pub fn to_toml(&self, resolve: impl Fn(&MergedFile, &str) -> PathBuf, secret: impl Fn(&str) -> String) -> Table {
        let strings = |list: &[String]| Value::from(list.to_vec());
        let mut table = Table::new();
        table.insert("git_excludes".into(), strings(&self.git_excludes));
        table.insert("setup".into(), Value::Array(self.setup.iter().map(SetupStep::to_toml).collect()));
        if !self.teardown.is_empty() {
            table.insert("teardown".into(), strings(&self.teardown));
        }
        if self.env.values().any(|v| v.template) || !self.templates.is_empty() {
            table.insert("template".into(), true.into());
        }
        let env = self.env.iter().map(|(key, value)| (key.clone(), secret(&value.text).into()));
        table.insert("env".into(), env.collect::<Table>().into());
        let files = self.files.iter().map(|(path, file)| {
            let path_of = |text: &str| Value::from(resolve(file, text).to_string_lossy().into_owned());
            (key_of(path), Value::from(file.body.to_toml(path_of, &secret)))
        });
        table.insert("files".into(), files.collect::<Table>().into());
        if !self.caches.is_empty() {
            let caches = self.caches.iter().map(|(path, cache)| (path.to_string(), Value::from(cache.to_toml())));
            table.insert("caches".into(), caches.collect::<Table>().into());
        }
        table
    }
}

impl Body {
    fn to_toml(&self, path_of: impl Fn(&str) -> Value, secret: impl Fn(&str) -> String) -> Table {
        let mut entry = Table::new();
        match self {
            Body::Clear => {}
            Body::Source(text) => drop(entry.insert("source".into(), path_of(text))),
            Body::Copy(text) => drop(entry.insert("copy".into(), path_of(text))),
            Body::Content { text, template } => {
                entry.insert("content".into(), secret(text).into());
                if *template {
                    entry.insert("template".into(), true.into());
                }
            }
        }
        entry
    }
}

/// The area directory of a checkout: the first component of its path below the home directory. There is none when the
/// checkout is not below home or is itself that directory.
pub fn area(home: &Path, checkout: &Path) -> Option<PathBuf> {
    let first = checkout.strip_prefix(home).ok()?.components().next()?;
    Some(home.join(first)).filter(|area| area != checkout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweatfile::{FileEntry, Sweatfile, parse};
    use proptest::prelude::*;

    fn layer(name: LayerName, text: &str) -> Layer {
        let text = LayerText { bytes: text.into(), parsed: parse(text.as_bytes()) };
        Layer { name, path: format!("/{name}/sweatfile").into(), text: Some(text), approval: ApprovalStatus::Approved }
    }

    fn merged(area: &str, repo: &str) -> MergedLayers {
        merge([layer(LayerName::Area, area), layer(LayerName::Repo, repo)].iter())
    }

    #[test]
    fn arrays_append_or_clear_and_absent_inherits() {
        let both = merged("setup = [\"a\"]\ngit_excludes = [\"x\"]", "setup = [\"b\"]");
        let runs: Vec<&str> = both.setup.iter().map(|step| step.run.as_str()).collect();
        assert_eq!((runs, both.git_excludes), (vec!["a", "b"], vec!["x".into()]));
        assert!(merged("setup = [\"a\"]", "setup = []").setup.is_empty());
    }

    #[test]
    fn keys_merge_whole_and_clear_one_by_one() {
        let m = merged(
            "[env]\nA=\"1\"\nB=\"2\"\n[files.x]\nsource=\"/s\"\n[files.y]\nsource=\"/s\"",
            "[env]\nA=\"\"\n[files.x]\ncontent=\"c\"\n[files.y]\nsource=\"\"",
        );
        assert_eq!(m.env.keys().collect::<Vec<_>>(), ["B"]);
        let x = &m.files[&RelPath::parse(".x").unwrap()];
        assert_eq!((x.layer, &x.body), (LayerName::Repo, &Body::Content { text: "c".into(), template: false }));
        assert_eq!(m.cleared[&RelPath::parse(".y").unwrap()], LayerName::Repo);
    }

    #[test]
    fn a_clash_between_layers_is_a_problem_and_a_cleared_one_is_not() {
        let area = "[files.claude]\nsource=\"/s\"";
        let problems = merged(area, "[files.\"claude/x\"]\ncontent=\"\"").problems();
        assert_eq!(
            problems,
            [
                "/repo/sweatfile:1:8: files entries `claude` and `claude/x`: one lies inside the other (see /area/sweatfile:1:8)"
            ]
        );
        assert!(merged(area, "[files.claude]\nsource=\"\"\n[files.\"claude/x\"]\ncontent=\"\"").problems().is_empty());
    }

    #[test]
    fn the_area_lies_above_the_checkout_and_below_home() {
        let area = |checkout: &str| area(Path::new("/h"), Path::new(checkout));
        assert_eq!(area("/h/eng/repos/x"), Some("/h/eng".into()));
        assert_eq!([area("/h/x"), area("/srv/x"), area("/h")], [None, None, None]);
    }

    fn any_layer(name: LayerName) -> impl Strategy<Value = Layer> {
        let array = || proptest::option::of(proptest::collection::vec("[a-c]", 0..3));
        let env = proptest::collection::btree_map("[A-C]", "[12]?", 0..3);
        let body = prop_oneof![Just(Body::Clear), "[s-u]".prop_map(Body::Source)];
        let files = proptest::collection::btree_map("\\.[x-z]", body, 0..3);
        (array(), array(), env, files).prop_map(move |(git_excludes, setup, env, files)| {
            let at = Position { line: 1, column: 1 };
            let files =
                files.into_iter().map(|(p, body)| (RelPath::parse(&p).unwrap(), FileEntry { body, at })).collect();
            let setup = setup.map(|setup: Vec<String>| setup.iter().map(|run| SetupStep::plain(run)).collect());
            let sweatfile = Sweatfile { git_excludes, env, files, setup, ..Sweatfile::default() };
            let text = LayerText { bytes: vec![], parsed: ParsedSweatfile { sweatfile, ..ParsedSweatfile::default() } };
            Layer { name, path: "/s".into(), text: Some(text), approval: ApprovalStatus::Approved }
        })
    }

    proptest! {
        #[test]
        fn merging_follows_the_seeds_table(area in any_layer(LayerName::Area), repo in any_layer(LayerName::Repo)) {
            let (a, r) = (&area.text.as_ref().unwrap().parsed.sweatfile, &repo.text.as_ref().unwrap().parsed.sweatfile);
            let m = merge([&area, &repo].into_iter());
            let expected = match &r.setup {
                Some(own) if own.is_empty() => vec![],
                own => a.setup.iter().chain(own).flatten().map(|step| step.run.clone()).collect(),
            };
            prop_assert_eq!(m.setup.iter().map(|step| step.run.clone()).collect::<Vec<_>>(), expected);
            for key in ["A", "B", "C"] {
                let expected = r.env.get(key).or(a.env.get(key)).filter(|v| !v.is_empty());
                prop_assert_eq!(m.env.get(key).map(|v| &v.text), expected);
            }
            for path in [".x", ".y", ".z"].map(|p| RelPath::parse(p).unwrap()) {
                let winner = r.files.get(&path).map(|e| (LayerName::Repo, e)).or(a.files.get(&path).map(|e| (LayerName::Area, e)));
                let expected = winner.filter(|(_, e)| e.body != Body::Clear).map(|(n, e)| (n, e.body.clone()));
                prop_assert_eq!(m.files.get(&path).map(|w| (w.layer, w.body.clone())), expected);
            }
        }

        #[test]
        fn an_empty_layer_changes_nothing(area in any_layer(LayerName::Area)) {
            let empty = layer(LayerName::Repo, "");
            prop_assert_eq!(merge([&area, &empty].into_iter()), merge([&area].into_iter()));
        }
    }
}
