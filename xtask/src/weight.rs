//! `cargo xtask weight`: what the tools weigh, as the table of `docs/weight.md`: shipped lines and packages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::generate::files_below;
use crate::run::{TOOLS, cargo_program, project};

#[derive(clap::Args)]
pub struct Args {
    /// Also print the lines of each room
    #[arg(long)]
    pub rooms: bool,
}

/// The most lines that a crate may ship, by `docs/weight.md`.
const LINES: [(&str, usize); 7] = [
    ("core", 5600),
    ("ledger-synth", 8900),
    ("overlay-sync", 8300),
    ("worktree-spawn", 6500),
    ("worker-ctl", 8500),
    ("sweatfile-apply", 4700),
    ("shopfloor", 1500),
];

pub fn run(args: &Args) -> Result<()> {
    println!("| measure | now | must |\n|---|---|---|");
    let lock = std::fs::read_to_string(project().join("Cargo.lock")).context("cannot read Cargo.lock")?;
    println!("| packages in `Cargo.lock` | {} | 231 |", lock.lines().filter(|line| *line == "[[package]]").count());
    let mut heaviest = (0, "");
    for tool in TOOLS {
        heaviest = heaviest.max((packages(tool)?, tool));
    }
    println!("| packages of the heaviest tool ({}) | {} | 118 |", heaviest.1, heaviest.0);
    let (mut all, mut rooms) = (0, Vec::new());
    for (name, most) in LINES {
        let counted = lines(&project().join("crates").join(name).join("src"))?;
        let sum: usize = counted.values().sum();
        println!("| lines of `{name}` | {sum} | {most} |");
        all += sum;
        rooms.extend(counted.into_iter().map(|(room, lines)| (name, room, lines)));
    }
    println!("| lines that ship | {all} | 44500 |");
    if args.rooms {
        println!("\n| crate | room | lines |\n|---|---|---|");
        rooms.iter().for_each(|(name, room, lines)| println!("| {name} | {room} | {lines} |"));
    }
    Ok(())
}

/// How many packages a tool is built from.
fn packages(tool: &str) -> Result<usize> {
    let how = ["tree", "--package", tool, "--edges", "normal", "--prefix", "none", "--format", "{p}"];
    let output = Command::new(cargo_program()).args(how).current_dir(project()).output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let packages = text.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "));
    Ok(packages.collect::<BTreeSet<_>>().len())
}

/// The shipped lines below a directory, by room: a file or a folder at its top.
fn lines(dir: &Path) -> Result<BTreeMap<String, usize>> {
    let mut rooms = BTreeMap::new();
    for below in files_below(dir).into_iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
        let file = dir.join(&below);
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name == "tests.rs" || name.ends_with("_tests.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let room = below.components().next().map(|first| first.as_os_str().to_string_lossy().into_owned());
        *rooms.entry(room.unwrap_or_default()).or_default() += shipped(&text);
    }
    Ok(rooms)
}

/// The lines of code, without comments, blank lines and what is for tests alone.
fn shipped(text: &str) -> usize {
    let mut lines = text.lines();
    let mut count = 0;
    while let Some(line) = lines.next() {
        let code = line.trim();
        if code == "#[cfg(test)]" {
            // As rustfmt writes it, an item ends in its first line, or with a brace below that.
            let end = format!("{}}}", line.split('#').next().unwrap_or_default());
            let item = lines.find(|next| !next.trim().starts_with("#[")).unwrap_or_default();
            if !item.ends_with(';') {
                lines.find(|next| *next == end);
            }
        } else if !code.is_empty() && !code.starts_with("//") {
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shipped_code_is_counted() {
        let text = "//! What.\n\nuse a;\n// Why.\nfn f() {}\n#[cfg(test)]\n#[path = \"x_tests.rs\"]\nmod tests;\nfn g() {}\n\
                    #[cfg(test)]\nmod more {\n    fn h() {}\n}\n\
                    impl A {\n    #[cfg(test)]\n    fn i() {\n        let x = {\n        };\n    }\n\n    fn j() {}\n}\n";
        assert_eq!(shipped(text), 6);
    }
}
