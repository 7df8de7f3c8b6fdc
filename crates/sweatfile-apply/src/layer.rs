//! Layers: which sweatfiles count here, and what they say together.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Serialize;
use shopfloor_core::approval::Status;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::Position;

use crate::sweatfile::{Body, Parsed, key_of, prefix_clashes};

/// The name of every sweatfile.
pub const FILE: &str = "sweatfile";

/// Where a layer comes from; a later one wins over an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Name {
    /// The user's own defaults for an area of their home directory; trusted.
    Area,
    /// The repository's; counts only once approved.
    Repo,
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Name::Area => "area",
            Name::Repo => "repo",
        })
    }
}

/// One layer as it was read: the bytes looked at, hashed, shown and executed are these.
#[derive(Clone, Debug)]
pub struct Layer {
    pub name: Name,
    /// Where its sweatfile is or would be.
    pub path: PathBuf,
    /// `None`: there is no such file.
    pub text: Option<Text>,
    pub approval: Status,
}

/// A sweatfile's bytes and what they mean.
#[derive(Clone, Debug)]
pub struct Text {
    pub bytes: Vec<u8>,
    pub parsed: Parsed,
}

impl Layer {
    pub fn digest(&self) -> Option<Digest> {
        self.text.as_ref().map(|t| Digest::of(&t.bytes))
    }

    /// Whether it takes part: it exists and needs no approval any more.
    pub fn counts(&self) -> bool {
        self.text.is_some() && self.approval != Status::Required
    }
}

/// What all layers say together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    pub git_excludes: Vec<String>,
    pub env: BTreeMap<String, EnvValue>,
    pub files: BTreeMap<RelPath, Wish>,
    /// Destinations an inner layer took away, and which layer did.
    pub cleared: BTreeMap<RelPath, Name>,
    pub setup: Vec<String>,
    /// How many of them, at the front, are the area's.
    pub area_setup: usize,
    /// Whether a layer that exists is not among them, for want of approval: what it may have brought
    /// when it counted is then left alone.
    pub left_out: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvValue {
    pub text: String,
    pub template: bool,
}

/// A destination and what should lie there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    pub body: Body,
    pub layer: Name,
    /// The sweatfile that says so, and where in it.
    pub file: PathBuf,
    pub at: Position,
    /// Whether its layer counts; of one that does not, nothing it names is read.
    pub counts: bool,
}

/// Merges layers, outermost first: arrays append or, when empty, clear; tables merge per key.
pub fn merge<'a>(layers: impl Iterator<Item = &'a Layer>) -> Merged {
    let mut merged = Merged::default();
    for layer in layers {
        let Some(text) = &layer.text else { continue };
        let sweatfile = &text.parsed.sweatfile;
        append(&mut merged.git_excludes, &sweatfile.git_excludes);
        append(&mut merged.setup, &sweatfile.setup);
        if layer.name == Name::Area || merged.setup.is_empty() {
            merged.area_setup = merged.setup.len();
        }
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
                let wish = Wish {
                    body: entry.body.clone(),
                    layer: layer.name,
                    file: layer.path.clone(),
                    at: entry.at,
                    counts: layer.counts(),
                };
                merged.files.insert(path.clone(), wish);
                merged.cleared.remove(path);
            }
        }
    }
    let mut seen = HashSet::new();
    merged.git_excludes.retain(|pattern| seen.insert(pattern.clone()));
    merged
}

fn append(inherited: &mut Vec<String>, own: &Option<Vec<String>>) {
    match own {
        None => {}
        Some(own) if own.is_empty() => inherited.clear(),
        Some(own) => inherited.extend(own.iter().cloned()),
    }
}

impl Merged {
    /// Identifies the list of setup commands.
    pub fn setup_digest(&self) -> Digest {
        Digest::of(serde_json::to_string(&self.setup).unwrap_or_default().as_bytes())
    }

    /// What is wrong with the layers together though each is fine: `FILE:LINE:COLUMN: what`.
    pub fn problems(&self) -> Vec<String> {
        prefix_clashes(self.files.iter().map(|(path, wish)| (path, &wish.body)))
            .into_iter()
            .map(|(outer, inner)| {
                let (o, i) = (&self.files[&outer], &self.files[&inner]);
                let (place, other) = if i.layer >= o.layer { (i, o) } else { (o, i) };
                format!(
                    "{}:{}: files entries `{}` and `{}`: one lies inside the other (see {}:{})",
                    place.file.display(),
                    place.at,
                    key_of(&outer),
                    key_of(&inner),
                    other.file.display(),
                    other.at
                )
            })
            .collect()
    }
}

/// The area directory of a checkout: the first component of its path below the home directory.
///
/// None when the checkout is not below home, is itself that directory, or the directory lies in a
/// git work tree: then its sweatfile would be a repository's, and trusted. Pure: `is_work_tree` says
/// whether a directory holds a `.git`.
pub fn area(home: &Path, checkout: &Path, is_work_tree: impl Fn(&Path) -> bool) -> Result<PathBuf, NoArea> {
    let below = checkout.strip_prefix(home).map_err(|_| NoArea::OutsideHome)?;
    let first = below.components().next().ok_or(NoArea::OutsideHome)?;
    let area = home.join(first);
    if area == checkout {
        return Err(NoArea::IsCheckout);
    }
    match area.ancestors().find(|dir| is_work_tree(dir)) {
        Some(dir) => Err(NoArea::InWorkTree(area.clone(), dir.to_path_buf())),
        None => Ok(area),
    }
}

/// Why there is no area layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoArea {
    OutsideHome,
    IsCheckout,
    /// The area directory, and the work tree it lies in.
    InWorkTree(PathBuf, PathBuf),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweatfile::{Entry, Sweatfile, parse};
    use proptest::prelude::*;

    fn layer(name: Name, text: &str) -> Layer {
        let text = Text { bytes: text.into(), parsed: parse(text.as_bytes()) };
        Layer { name, path: format!("/{name}/sweatfile").into(), text: Some(text), approval: Status::Approved }
    }

    fn merged(area: &str, repo: &str) -> Merged {
        merge([layer(Name::Area, area), layer(Name::Repo, repo)].iter())
    }

    #[test]
    fn arrays_append_or_clear_and_absent_inherits() {
        let both = merged("setup = [\"a\"]\ngit_excludes = [\"x\"]", "setup = [\"b\"]");
        assert_eq!((both.setup, both.git_excludes), (vec!["a".into(), "b".into()], vec!["x".into()]));
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
        assert_eq!((x.layer, &x.body), (Name::Repo, &Body::Content { text: "c".into(), template: false }));
        assert_eq!(m.cleared[&RelPath::parse(".y").unwrap()], Name::Repo);
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
    fn the_area_lies_above_the_checkout_and_in_no_work_tree() {
        let home = Path::new("/h");
        let none = |_: &Path| false;
        assert_eq!(area(home, Path::new("/h/eng/repos/x"), none), Ok("/h/eng".into()));
        assert_eq!(area(home, Path::new("/h/x"), none), Err(NoArea::IsCheckout));
        assert_eq!(area(home, Path::new("/srv/x"), none), Err(NoArea::OutsideHome));
        assert_eq!(area(home, Path::new("/h"), none), Err(NoArea::OutsideHome));
        let dotfiles = |dir: &Path| dir == Path::new("/h");
        assert_eq!(area(home, Path::new("/h/eng/x"), dotfiles), Err(NoArea::InWorkTree("/h/eng".into(), "/h".into())));
    }

    fn any_layer(name: Name) -> impl Strategy<Value = Layer> {
        let array = || proptest::option::of(proptest::collection::vec("[a-c]", 0..3));
        let env = proptest::collection::btree_map("[A-C]", "[12]?", 0..3);
        let body = prop_oneof![Just(Body::Clear), "[s-u]".prop_map(Body::Source)];
        let files = proptest::collection::btree_map("\\.[x-z]", body, 0..3);
        (array(), array(), env, files).prop_map(move |(git_excludes, setup, env, files)| {
            let at = Position { line: 1, column: 1 };
            let files = files.into_iter().map(|(p, body)| (RelPath::parse(&p).unwrap(), Entry { body, at })).collect();
            let sweatfile = Sweatfile { git_excludes, env, files, setup, template: false };
            let text = Text { bytes: vec![], parsed: Parsed { sweatfile, ..Parsed::default() } };
            Layer { name, path: "/s".into(), text: Some(text), approval: Status::Approved }
        })
    }

    proptest! {
        #[test]
        fn merging_follows_the_seeds_table(area in any_layer(Name::Area), repo in any_layer(Name::Repo)) {
            let (a, r) = (&area.text.as_ref().unwrap().parsed.sweatfile, &repo.text.as_ref().unwrap().parsed.sweatfile);
            let m = merge([&area, &repo].into_iter());
            let expected = match &r.setup {
                Some(own) if own.is_empty() => vec![],
                own => a.setup.iter().chain(own).flatten().cloned().collect(),
            };
            prop_assert_eq!(&m.setup, &expected);
            for key in ["A", "B", "C"] {
                let expected = r.env.get(key).or(a.env.get(key)).filter(|v| !v.is_empty());
                prop_assert_eq!(m.env.get(key).map(|v| &v.text), expected);
            }
            for path in [".x", ".y", ".z"].map(|p| RelPath::parse(p).unwrap()) {
                let winner = r.files.get(&path).map(|e| (Name::Repo, e)).or(a.files.get(&path).map(|e| (Name::Area, e)));
                let expected = winner.filter(|(_, e)| e.body != Body::Clear).map(|(n, e)| (n, e.body.clone()));
                prop_assert_eq!(m.files.get(&path).map(|w| (w.layer, w.body.clone())), expected);
            }
        }

        #[test]
        fn an_empty_layer_changes_nothing(area in any_layer(Name::Area)) {
            let empty = layer(Name::Repo, "");
            prop_assert_eq!(merge([&area, &empty].into_iter()), merge([&area].into_iter()));
        }
    }
}
