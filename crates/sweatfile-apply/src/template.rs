//! Placeholders in templates: `{worktree}`, `{branch}`, `{repo}`, `{port}` and `{port:NAME}`.

use std::collections::{BTreeMap, BTreeSet};

use crate::layer::MergedLayers;
use crate::sweatfile::Body;

/// The values of the placeholders in one worktree.
#[derive(Clone, Debug, Default)]
pub struct Placeholders {
    /// The worktree's absolute path.
    pub worktree: String,
    /// The branch without `refs/heads/`; `HEAD` when detached.
    pub branch: String,
    /// The name of the main checkout's directory.
    pub repo: String,
    pub ports: BTreeMap<String, u16>,
}

/// Fills in the placeholders; other braces stay as they are.
pub fn expand(text: &str, values: &Placeholders) -> String {
    let value = |name: &str| match name {
        "worktree" => Some(values.worktree.clone()),
        "branch" => Some(values.branch.clone()),
        "repo" => Some(values.repo.clone()),
        _ => values.ports.get(port_name(name)?).map(u16::to_string),
    };
    let mut parts = text.split('{');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}').and_then(|(name, rest)| Some((value(name)?, rest))) {
            Some((value, rest)) => out.extend([&value, rest]),
            None => out.extend(["{", part]),
        }
    }
    out
}

/// Whether the text contains a placeholder.
pub fn has_placeholder(text: &str) -> bool {
    let names = ["{worktree}", "{branch}", "{repo}"];
    names.iter().any(|name| text.contains(name)) || !port_names(text).is_empty()
}

/// The name in `port:NAME`, or the empty name of a plain `port`.
fn port_name(inside: &str) -> Option<&str> {
    if inside == "port" {
        return Some("");
    }
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    inside.strip_prefix("port:").filter(|name| !name.is_empty() && name.chars().all(word))
}

fn port_names(text: &str) -> BTreeSet<String> {
    let insides = text.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(inside, _)| inside));
    insides.filter_map(port_name).map(str::to_owned).collect()
}

/// The texts in which placeholders are filled in.
pub fn templates(merged: &MergedLayers) -> impl Iterator<Item = &str> {
    let env = merged.env.values().filter(|v| v.template).map(|v| v.text.as_str());
    let files = merged.files.values().filter_map(|wish| match &wish.body {
        Body::Content { text, template: true } => Some(text.as_str()),
        _ => None,
    });
    env.chain(files)
}

/// The names of all ports that the layers use.
pub fn port_names_used(merged: &MergedLayers) -> BTreeSet<String> {
    templates(merged).flat_map(port_names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_placeholders_are_filled_in_and_other_braces_stay() {
        let values = Placeholders {
            worktree: "/w".into(),
            branch: "b".into(),
            repo: "r".into(),
            ports: BTreeMap::from([(String::new(), 20_001), ("web".into(), 20_002)]),
        };
        assert_eq!(
            expand("{worktree} {branch} {repo} {port} {port:web} {x} {{branch}} { {port:} {port:other} }", &values),
            "/w b r 20001 20002 {x} {b} { {port:} {port:other} }"
        );
    }

    #[test]
    fn each_port_name_is_found_once() {
        assert_eq!(port_names("{port} {port:a} {port:a} {porta}"), BTreeSet::from([String::new(), "a".into()]));
        assert!(has_placeholder("x{port:a}") && !has_placeholder("{ports}"));
    }
}
