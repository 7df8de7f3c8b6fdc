//! The order of rooms: an import runs from an upper room to a lower one, and never in a circle.

use std::collections::{BTreeMap, BTreeSet};

/// core's rooms, the lowest first; each may use those on an earlier line, and on its own line as long as no circle comes of
/// it.
const CORE: &[&[&str]] = &[
    &["text", "path", "hash", "env", "error", "time", "agents", "agent_command", "slug", "since", "diff", "sys"],
    &["proc", "fs", "lock", "written_files", "known_dirs", "child_env", "editor", "ssh"],
    &["git", "config", "approval", "hook_manager", "git_hook", "pre_remove", "folder_trust", "forge", "sandbox"],
    &["ui", "board", "args", "doctor", "hook_subcommand"],
    &["lib"],
];

/// A tool's rooms, the lowest first. Every file without a room of its own is a noun, below all of them.
const TOOL: &[&[&str]] = &[&["facts"], &["plan"], &["apply"], &["commands"], &["cli"], &["lib", "main"]];

/// A crate's source files, by their modules' paths: `commands/add`, and `commands` for its `mod.rs`.
pub struct Crate<'a> {
    name: &'a str,
    files: BTreeMap<String, &'a str>,
}

impl<'a> Crate<'a> {
    /// Of all files with their paths below the project and their texts.
    pub fn all(files: &'a [(String, String)]) -> Vec<Crate<'a>> {
        let mut crates: BTreeMap<&str, BTreeMap<String, &str>> = BTreeMap::new();
        for (path, text) in files {
            let below = path.strip_prefix("crates/").unwrap_or(path);
            let Some((name, file)) = below.split_once("/src/").filter(|(name, _)| !name.contains('/')) else {
                continue;
            };
            let module = file.trim_end_matches(".rs").trim_end_matches("/mod");
            // Tests stand above everything.
            if !module.ends_with("tests") {
                crates.entry(name).or_default().insert(module.to_owned(), text);
            }
        }
        crates.into_iter().map(|(name, files)| Crate { name, files }).collect()
    }

    /// Every import that climbs, and every circle.
    pub fn problems(&self) -> Vec<String> {
        let imports: BTreeMap<&str, BTreeSet<String>> =
            self.files.iter().map(|(module, text)| (module.as_str(), self.imports(module, text))).collect();
        let mut problems = Vec::new();
        for (module, used) in &imports {
            for used in used.iter().filter(|used| self.level(used) > self.level(module)) {
                problems.push(format!("{}: `{module}` must not use `{used}`, which stands above it", self.name));
            }
        }
        problems.extend(
            circles(&imports).into_iter().map(|circle| {
                format!("{}: these files import each other in a circle: {}", self.name, circle.join(", "))
            }),
        );
        problems
    }

    fn level(&self, module: &str) -> usize {
        let room = module.split('/').next().unwrap_or(module);
        match self.name {
            // The chores have no order of rooms, only no circles.
            "xtask" => 0,
            "core" => CORE.iter().position(|rooms| rooms.contains(&room)).unwrap_or(CORE.len()),
            _ => TOOL.iter().position(|rooms| rooms.contains(&room)).map_or(0, |level| level + 1),
        }
    }

    /// The modules that a file names, outside of its unit tests and comments.
    fn imports(&self, module: &str, text: &str) -> BTreeSet<String> {
        let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text);
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code: String = lines.flat_map(|line| [line, "\n"]).collect();
        let mut used = BTreeSet::new();
        let above: Vec<String> = module.split('/').map(str::to_owned).collect();
        let above = &above[..above.len() - 1];
        for (start, base) in [("crate::", &[][..]), ("super::", above)] {
            for (at, _) in code.match_indices(start) {
                let is_whole = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
                let named = if is_whole { paths(&code[at + start.len()..]) } else { vec![] };
                used.extend(named.iter().map(|path| self.owner(&[base, path].concat())));
            }
        }
        used.remove(module);
        used
    }

    /// The file that a path leads to.
    fn owner(&self, path: &[String]) -> String {
        let longest = (1..=path.len()).rev().map(|n| path[..n].join("/")).find(|path| self.files.contains_key(path));
        longest.unwrap_or_else(|| "lib".to_owned())
    }
}

/// The paths that a text begins with: one, or those of a tree in braces.
fn paths(text: &str) -> Vec<Vec<String>> {
    let name: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let rest = &text[name.len()..];
    if let Some(inner) = rest.strip_prefix('{') {
        return split_tree(inner).into_iter().flat_map(|part| paths(part.trim())).collect();
    }
    if name.is_empty() {
        return vec![vec![]];
    }
    match rest.strip_prefix("::") {
        Some(more) => {
            let below = paths(more).into_iter();
            below.map(|below| [vec![name.clone()], below].concat()).collect()
        }
        None => vec![vec![name]],
    }
}

/// What stands between commas up to the brace that closes.
fn split_tree(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                parts.push(&text[from..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.into_iter().filter(|part| !part.trim().is_empty()).collect()
}

/// Groups of files that reach each other. A folder's `mod.rs` and the files in it count as one room, so an import between
/// the two makes no circle.
fn circles(imports: &BTreeMap<&str, BTreeSet<String>>) -> Vec<Vec<String>> {
    let is_kin = |a: &str, b: &str| a.starts_with(&format!("{b}/")) || b.starts_with(&format!("{a}/"));
    let next = |module: &str| -> Vec<&str> {
        let used = imports.get(module).into_iter().flatten().map(String::as_str);
        used.filter(|used| !is_kin(module, used)).collect()
    };
    let reach = |module: &str| -> BTreeSet<String> {
        let (mut seen, mut open) = (BTreeSet::new(), next(module));
        while let Some(used) = open.pop() {
            if seen.insert(used.to_owned()) {
                open.extend(next(used));
            }
        }
        seen
    };
    let reached: BTreeMap<&str, BTreeSet<String>> = imports.keys().map(|module| (*module, reach(module))).collect();
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    for (module, there) in &reached {
        let circle: Vec<String> = there
            .iter()
            .filter(|other| reached.get(other.as_str()).is_some_and(|back| back.contains(*module)))
            .cloned()
            .collect();
        if !circle.is_empty() {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, String)> =
            files.iter().map(|(path, text)| (format!("crates/x/src/{path}"), (*text).to_owned())).collect();
        Crate::all(&files).iter().flat_map(Crate::problems).collect()
    }

    #[test]
    fn an_arrow_that_climbs_is_named_however_it_is_written() {
        let lib = ("lib.rs", "mod commands;");
        for climbing in [
            "use crate::commands::add;",
            "use crate::{commands::add, plan};",
            "use crate::{\n    plan::{self, b},\n    commands,\n};",
            "fn f() { crate::commands::add::run() }",
        ] {
            let files = [lib, ("commands/mod.rs", ""), ("commands/add.rs", ""), ("plan.rs", ""), ("noun.rs", climbing)];
            let found = problems(&files);
            assert!(found.iter().any(|what| what.contains("`noun` must not use `commands")), "{climbing}: {found:?}");
        }
        let found = problems(&[lib, ("facts.rs", "use crate::TOOL;")]);
        assert_eq!(found, ["x: `facts` must not use `lib`, which stands above it"]);
        let down = [lib, ("commands/mod.rs", "use crate::noun::A;\n// use crate::cli;\n"), ("noun.rs", "")];
        assert_eq!(problems(&down), Vec::<String>::new());
        assert_eq!(
            problems(&[("noun.rs", "\n#[cfg(test)]\nmod tests {\n use crate::commands;\n}")]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_circle_is_named_once_and_a_folder_is_no_circle() {
        let found = problems(&[("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;"), ("c.rs", "use crate::a;")]);
        assert_eq!(found, ["x: these files import each other in a circle: a, b, c"]);
        let folder = [("merge/mod.rs", "use crate::merge::tree::T;"), ("merge/tree.rs", "use crate::merge::Kind;")];
        assert_eq!(problems(&folder), Vec::<String>::new());
        let siblings = [("m/mod.rs", ""), ("m/a.rs", "use super::b::B;"), ("m/b.rs", "use crate::m::a::A;")];
        assert_eq!(problems(&siblings).len(), 1);
    }
}
