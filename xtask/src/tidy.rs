//! `cargo xtask tidy`: checks the rules that no compiler checks. Each message has the reason.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use walkdir::WalkDir;

use crate::architecture;
use crate::habits;
use crate::rooms;
use crate::run::project;

/// No file is longer, its unit tests included.
const LONGEST: usize = 500;

pub fn run() -> Result<()> {
    let mut problems = Vec::new();
    let mut texts = Vec::new();
    for path in sources() {
        let text = fs::read_to_string(&path)?;
        let name = path.strip_prefix(project()).unwrap_or(&path).to_path_buf();
        problems.extend(file(&name, &text).into_iter().map(|what| format!("{}: {what}", name.display())));
        texts.push((name.display().to_string(), text));
    }
    problems.extend(rooms::Crate::all(&texts).iter().flat_map(rooms::Crate::problems));
    problems.extend(documents()?);
    problems.extend(architecture::problems()?);
    problems.extend(habits::problems()?);
    if problems.is_empty() {
        return Ok(());
    }
    bail!("not tidy:\n  {}", problems.join("\n  "));
}

fn sources() -> Vec<PathBuf> {
    let tops = ["crates", "tests", "xtask"].map(|top| project().join(top));
    let entries = tops.into_iter().flat_map(|top| WalkDir::new(top).sort_by_file_name()).filter_map(Result::ok);
    entries.map(walkdir::DirEntry::into_path).filter(|p| p.extension().is_some_and(|e| e == "rs")).collect()
}

/// The problems of one source file.
fn file(name: &Path, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let lines = text.lines().count();
    if lines > LONGEST {
        problems.push(format!("{lines} lines; a file fits in the head ({LONGEST} at most)"));
    }
    if !text.starts_with("//! ") {
        problems.push("the first line must say what the file is for (`//! ...`)".into());
    }
    if name.starts_with("xtask/src/tidy.rs") {
        return problems;
    }
    let is_test = name.starts_with("tests");
    let in_core = name.starts_with("crates/core/src");
    let mut forbid = |when: bool, needle: &str, why: &str| {
        for (number, line) in text.lines().enumerate().filter(|(_, l)| when && l.contains(needle)) {
            if !line.trim_start().starts_with("//") {
                problems.push(format!("line {}: `{needle}`: {why}", number + 1));
            }
        }
    };
    forbid(true, "#[allow(", "use #[expect(lint, reason = ...)]");
    forbid(true, "#[ignore", "a test runs or is deleted");
    forbid(is_test && !name.ends_with("world.rs"), "thread::sleep", "poll with `wait_for`, which sleeps");
    let in_proc = name.starts_with("crates/core/src/proc");
    forbid(in_core && !in_proc, "duct::", "processes are spawned in proc/ alone");
    forbid(in_core && !in_proc, "Command::new", "processes are spawned in proc/ alone");
    forbid(in_core && !name.ends_with("ui.rs") && !name.ends_with("args.rs"), "stdout().lock", "only ui.rs prints");
    let knows_clap = ["args.rs", "doctor.rs", "hook_subcommand.rs"].iter().any(|file| name.ends_with(file));
    forbid(in_core && !knows_clap, "use clap", "only args.rs, doctor.rs and hook_subcommand.rs know clap");
    let tool = name.starts_with("crates") && !in_core;
    // State files are written by the noun that owns their format; worktrees by apply alone.
    let may_write = name.components().any(|c| matches!(c.as_os_str().to_str(), Some("apply" | "apply.rs")));
    for needle in ["Staging::open(", ".place(", ".swap(", ".place_over("] {
        forbid(tool && !may_write, needle, "only the room `apply` writes into worktrees");
    }
    problems.extend(habits::imports_of_tests(name, text));
    problems
}

/// The problems of the documents.
fn documents() -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let documents =
        WalkDir::new(project().join("docs")).into_iter().filter_map(Result::ok).map(walkdir::DirEntry::into_path);
    let top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| project().join(name));
    for path in top.into_iter().chain(documents.filter(|p| p.extension().is_some_and(|e| e == "md"))) {
        let text = fs::read_to_string(&path)?;
        let dir = path.parent().unwrap_or(&path);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            if !file.is_empty() && !file.contains("://") && !dir.join(file).exists() {
                problems.push(format!("{}: a link leads nowhere: {target}", path.display()));
            }
        }
    }
    Ok(problems)
}
