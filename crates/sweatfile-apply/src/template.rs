//! Placeholders in templates: `{worktree}`, `{branch}`, `{repo}`, `{default_branch}`, `{parent_branch}`, each also through a filter, as
//! `{branch|slug}`; and `{port}` and `{port:NAME}`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use shopfloor_core::text::shell_word;

use crate::layer::MergedLayers;
use crate::placeholder::{FILTERS, NAMES, filtered, insides, port_name};
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
    /// The branch that others start from.
    pub default_branch: String,
    /// The branch on which the agent's work lands; else the default branch.
    pub parent_branch: String,
    pub ports: BTreeMap<String, u16>,
}

/// Fills in the placeholders; other braces stay as they are.
pub fn expand(text: &str, values: &Placeholders) -> String {
    expand_with(text, values, &str::to_owned)
}

/// A command with its placeholders filled in, if it has any, each value as one word of the shell.
pub fn command(text: &str, merged: &MergedLayers, values: &Placeholders) -> String {
    match merged.templates.contains(text) {
        true => expand_with(text, values, &|value| shell_word(Path::new(value))),
        false => text.to_owned(),
    }
}

/// A command as it is looked at for the files that it uses. A value that is a word of its own, as in `-p {branch}`, names none,
/// whatever files have its name; one that is a part of a word, as in `{branch}/x`, does.
pub fn for_files(text: &str, merged: &MergedLayers, values: &Placeholders) -> String {
    if !merged.templates.contains(text) {
        return text.to_owned();
    }
    let values = Placeholders { worktree: ".".into(), ..values.clone() };
    let is_end = |c: char| c.is_whitespace() || "=;&()<>".contains(c);
    let words = text.split_inclusive(is_end).map(|part| {
        let word = part.trim_end_matches(is_end);
        let is_value = word.rfind('{') == Some(0) && word.ends_with('}') && has_placeholder(word);
        // As it stands, so that what comes after an option is not taken for its value.
        if is_value { part.to_owned() } else { expand(part, &values) }
    });
    words.collect()
}

fn expand_with(text: &str, values: &Placeholders, form: &dyn Fn(&str) -> String) -> String {
    let plain = |name: &str| match name {
        "worktree" => Some(values.worktree.clone()),
        "branch" => Some(values.branch.clone()),
        "repo" => Some(values.repo.clone()),
        "default_branch" => Some(values.default_branch.clone()),
        "parent_branch" => Some(values.parent_branch.clone()),
        _ => None,
    };
    let value = |inside: &str| match inside.split_once('|') {
        Some((name, filter)) => filtered(&plain(name)?, filter),
        None => plain(inside).or_else(|| values.ports.get(port_name(inside)?).map(u16::to_string)),
    };
    let mut parts = text.split('{');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}').and_then(|(name, rest)| Some((value(name)?, rest))) {
            Some((value, rest)) => out.extend([&*form(&value), rest]),
            None => out.extend(["{", part]),
        }
    }
    out
}

/// Whether the text contains a placeholder.
pub fn has_placeholder(text: &str) -> bool {
    NAMES.iter().any(|name| names(text, name)) || !port_names(text).is_empty()
}

/// Whether the text contains the placeholder with this name, with a filter or without.
pub fn names(text: &str, name: &str) -> bool {
    text.contains(&format!("{{{name}}}")) || text.contains(&format!("{{{name}|"))
}

fn port_names(text: &str) -> BTreeSet<String> {
    insides(text).filter_map(port_name).map(str::to_owned).collect()
}

/// The texts in which placeholders are filled in.
pub fn templates(merged: &MergedLayers) -> impl Iterator<Item = &str> {
    let env = merged.env.values().filter(|v| v.template).map(|v| v.text.as_str());
    let files = merged.files.values().filter_map(|wish| match &wish.body {
        Body::Content { text, template: true } => Some(text.as_str()),
        _ => None,
    });
    env.chain(files).chain(commands(merged))
}

/// The commands that have placeholders.
fn commands(merged: &MergedLayers) -> impl Iterator<Item = &str> {
    let all = merged.setup.iter().map(|step| &step.run).chain(&merged.teardown);
    all.filter(|line| merged.templates.contains(*line)).map(String::as_str)
}

/// What is filled in for the placeholders of variables and commands, but for what all worktrees of a repository share.
pub fn filled(merged: &MergedLayers, values: &Placeholders) -> BTreeSet<String> {
    let env = merged.env.values().filter(|v| v.template).map(|v| v.text.as_str());
    let is_own = |inside: &&str| inside.starts_with("worktree") || inside.starts_with("branch");
    let own = env.chain(commands(merged)).flat_map(insides).filter(is_own);
    own.map(|inside| expand(&format!("{{{inside}}}"), values)).collect()
}

/// What could be filled in for a worktree at this path, on this branch.
pub fn values_of(path: &Path, branch: &str) -> BTreeSet<String> {
    let both = [path.to_string_lossy().into_owned(), branch.to_owned()];
    let filters = |value: &String| FILTERS.iter().filter_map(|filter| filtered(value, filter)).collect::<Vec<_>>();
    both.iter().flat_map(filters).chain(both.iter().cloned()).collect()
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
            default_branch: "main".into(),
            parent_branch: "main".into(),
            ports: BTreeMap::from([(String::new(), 20_001), ("web".into(), 20_002)]),
        };
        assert_eq!(
            expand("{worktree} {branch} {repo} {port} {port:web} {x} {{branch}} { {port:} {port:other} }", &values),
            "/w b r 20001 20002 {x} {b} { {port:} {port:other} }"
        );
    }

    #[test]
    fn a_filter_works_on_what_it_knows_and_other_braces_stay() {
        let values = Placeholders { branch: "feat/Größe 2".into(), ..Placeholders::default() };
        assert_eq!(expand("{branch|slug} {branch|} {x|slug}", &values), "feat-grosse-2 {branch|} {x|slug}");
    }

    #[test]
    fn a_value_names_files_only_as_a_part_of_a_word() {
        let text = "x -p {branch} --n={branch|slug};y {branch}/x env-{branch}.sh {worktree}/z {port} {other}";
        let merged = MergedLayers { templates: BTreeSet::from([text.to_owned()]), ..MergedLayers::default() };
        let values = Placeholders { worktree: "/w".into(), branch: "docs".into(), ..Placeholders::default() };
        assert_eq!(
            for_files(text, &merged, &values),
            "x -p {branch} --n={branch|slug};y docs/x env-docs.sh ./z {port} {other}"
        );
    }

    #[test]
    fn each_port_name_is_found_once() {
        assert_eq!(port_names("{port} {port:a} {port:a} {porta}"), BTreeSet::from([String::new(), "a".into()]));
        assert!(has_placeholder("x{port:a}") && !has_placeholder("{ports}"));
    }
}
