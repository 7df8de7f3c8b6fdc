//! `cargo xtask gen`: writes the files that are derived from the binaries. They are committed, and CI compares them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Command;
use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};
use shopfloor_core::args::COMPLETE;

use crate::demo;
use crate::run::project;

/// The shells that are told how to complete, each with the directory in which it looks for that, below the prefix of an
/// installation.
const SHELLS: [(&dyn EnvCompleter, &str); 3] =
    [(&Bash, "share/bash-completion/completions"), (&Zsh, ZSH), (&Fish, "share/fish/vendor_completions.d")];

/// Where zsh looks below /usr/local.
pub const ZSH: &str = "share/zsh/site-functions";

/// The command lines, by tool.
fn commands() -> Vec<Command> {
    vec![
        sweatfile_apply::command(),
        overlay_sync::command(),
        ledger_synth::command(),
        worktree_spawn::command(),
        worker_ctl::command(),
        shopfloor::command(),
    ]
}

/// Writes every generated file, or with `check` fails when one differs.
pub fn run(check: bool) -> Result<()> {
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for command in commands() {
        let name = format!("docs/cli/{}.md", command.get_name());
        files.push((name.into(), reference(command).into_bytes()));
    }
    let man = man_pages().into_iter().map(|(file, bytes)| (Path::new("docs/cli/man").join(file), bytes));
    let completions =
        completions().into_iter().map(|(_, file, bytes)| (Path::new("docs/cli/completions").join(file), bytes));
    files.extend(man.chain(completions));
    files.push(("docs/demo.svg".into(), demo::picture()?.into_bytes()));

    let mut stale = Vec::new();
    for (file, bytes) in &files {
        let path = project().join(file);
        if fs::read(&path).is_ok_and(|old| old == *bytes) {
            continue;
        }
        if check {
            stale.push(file.display().to_string());
            continue;
        }
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}", file.display());
    }
    if !stale.is_empty() {
        bail!("not up to date: {}; run `cargo xtask gen`", stale.join(", "));
    }
    Ok(())
}

/// One page per tool and subcommand.
pub fn man_pages() -> Vec<(String, Vec<u8>)> {
    let mut pages = Vec::new();
    for mut command in commands() {
        command.build();
        pages_of(&command, &mut pages);
    }
    pages
}

fn pages_of(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) {
    let mut bytes = Vec::new();
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let man = clap_mangen::Man::new(command.clone()).title(name.to_uppercase()).date("");
    if man.render(&mut bytes).is_ok() {
        pages.push((format!("{name}.1"), bytes));
    }
    for sub in command.get_subcommands().filter(|c| c.get_name() != "help") {
        pages_of(sub, pages);
    }
}

/// What tells each shell how to complete the words of each tool: it asks the tool itself. With the directory that the
/// shell looks in, and the name that it looks for.
pub fn completions() -> Vec<(&'static str, String, Vec<u8>)> {
    let mut all = Vec::new();
    for command in commands() {
        let tool = command.get_name().to_owned();
        for (shell, dir) in SHELLS {
            let mut bytes = Vec::new();
            // Writing to memory does not fail.
            let _ = shell.write_registration(COMPLETE, &tool, &tool, &tool, &mut bytes);
            let file = match shell.name() {
                "zsh" => {
                    // zsh loads the file when it completes for the first time, and has to be answered then too.
                    let function = format!("_clap_dynamic_completer_{}", tool.replace('-', "_"));
                    bytes.extend(format!("[ \"$funcstack[1]\" = _{tool} ] && {function} \"$@\"\n").bytes());
                    format!("_{tool}")
                }
                "fish" => format!("{tool}.fish"),
                _ => tool.clone(),
            };
            all.push((dir, file, bytes));
        }
    }
    all
}

/// A page with every `--help` of a tool.
fn reference(mut command: Command) -> String {
    command.build();
    let mut page = format!("# {}\n\nGenerated from the binary by `cargo xtask gen`.\n", command.get_name());
    section(&command, &mut page);
    page
}

fn section(command: &Command, page: &mut String) {
    let name = command.get_display_name().unwrap_or(command.get_name()).replace('-', " ");
    let name = match command.get_bin_name() {
        Some(bin) => bin.to_owned(),
        None => name,
    };
    let help = command.clone().term_width(100).render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    page.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim()));
    for sub in command.get_subcommands().filter(|c| c.get_name() != "help") {
        section(sub, page);
    }
}
