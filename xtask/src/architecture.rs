//! What `cargo xtask tidy` asks of ARCHITECTURE.md: that a newcomer can read it, and that its paths exist.

use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::run::project;

/// What a newcomer reads in ten minutes.
const LONGEST: usize = 110;

/// How many topics a reader finds in a row of a table without searching.
const TOPICS: usize = 3;

pub fn problems() -> Result<Vec<String>> {
    let text = fs::read_to_string(project().join("ARCHITECTURE.md"))?;
    let problems = page(&text, &|tool, path| exists(&project(), tool, path));
    Ok(problems.into_iter().map(|what| format!("ARCHITECTURE.md: {what}")).collect())
}

/// The problems of the page. `exists` tells whether there is a path, in the crate that a row is about if it names one.
fn page(text: &str, exists: &dyn Fn(Option<&str>, &str) -> bool) -> Vec<String> {
    let mut problems = Vec::new();
    if text.lines().count() > LONGEST {
        problems.push(format!("more than {LONGEST} lines"));
    }
    for (number, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line)) {
        let cells: Vec<&str> = line.strip_prefix('|').map_or(vec![], |row| row.split('|').collect());
        if cells.iter().any(|cell| cell.split(" / ").count() > TOPICS) {
            problems.push(format!("line {number}: more than {TOPICS} topics in a row"));
        }
        let first = cells.first().and_then(|cell| cell.trim().strip_prefix('`')?.strip_suffix('`'));
        let tool = first.filter(|name| !name.contains(['`', '.', '/']));
        let named = line.split('`').skip(1).step_by(2);
        for path in named.filter(|name| name.ends_with(".rs") || (name.ends_with('/') && !name.contains(' '))) {
            if !exists(tool, path) {
                problems.push(format!("line {number}: there is no {path}"));
            }
        }
    }
    problems
}

/// Whether a path is there: below the project, below the sources of core, or below those of a tool. A text that is
/// about no tool means the rooms, which every tool may have.
fn exists(project: &Path, tool: Option<&str>, path: &str) -> bool {
    let crates = project.join("crates");
    if let Some(below) = path.strip_prefix("core/") {
        return crates.join("core/src").join(below).exists();
    }
    let is_in = |name: &str| crates.join(name).join("src").join(path).exists();
    let is_in_a_tool = || {
        let names = fs::read_dir(&crates).into_iter().flatten().filter_map(Result::ok);
        names.map(|entry| entry.file_name()).any(|name| name.to_str().is_some_and(is_in))
    };
    project.join(path).exists() || tool.map_or_else(is_in_a_tool, is_in)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_names_at_most_three_topics_and_only_paths_that_exist() {
        let problems = |text: &str| page(text, &|tool, path| (tool, path) == (Some("a"), "b.rs"));
        assert_eq!(problems("| `a` | x / y / z | `b.rs` |\n"), [""; 0]);
        assert_eq!(problems("| `a` | w / x / y / z | `b.rs` |\n"), ["line 1: more than 3 topics in a row"]);
        assert_eq!(problems("| `a` | x | `b.rs`, `d/` |\n"), ["line 1: there is no d/"]);
        assert_eq!(problems("| `c` | x | `b.rs` |\n"), ["line 1: there is no b.rs"]);
        let anywhere = |text: &str| page(text, &|tool, _| tool.is_none());
        assert_eq!(anywhere("| nouns | `b.rs` |\n| `d/`, `e.rs` | y |\nin `b.rs`\n"), [""; 0]);
        assert_eq!(problems("x / y / z / w in `words of a sentence/`\n"), [""; 0]);
        assert_eq!(problems(&"\n".repeat(LONGEST + 1)), ["more than 110 lines"]);
    }
}
