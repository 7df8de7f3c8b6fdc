//! Writes what is derived from the command lines of the tools below a directory: `cli/` with a page of every `--help`
//! for each tool, and `share/` with man pages and completions as they are installed.

use std::path::Path;

use clap::Command;
use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};
use shopfloor_core::args::COMPLETE;

/// The shells that are told how to complete, each with the directory in which it looks for that, below the prefix of an
/// installation.
const SHELLS: [(&dyn EnvCompleter, &str); 3] = [
    (&Bash, "share/bash-completion/completions"),
    (&Zsh, "share/zsh/site-functions"),
    (&Fish, "share/fish/vendor_completions.d"),
];

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

fn main() -> std::io::Result<()> {
    let Some(dir) = std::env::args_os().nth(1) else {
        eprintln!("usage: reference DIR");
        std::process::exit(2);
    };
    let dir = Path::new(&dir);
    let put = |below: String, bytes: &[u8]| {
        let path = dir.join(below);
        std::fs::create_dir_all(path.parent().unwrap_or(dir))?;
        std::fs::write(path, bytes)
    };
    for command in commands() {
        let mut built = command.clone();
        built.build();
        require_sound(&built);
        put(format!("cli/{}.md", command.get_name()), reference(command.clone()).as_bytes())?;
    }
    for (file, bytes) in man_pages() {
        put(format!("share/man/man1/{file}"), &bytes)?;
    }
    for (place, file, bytes) in completions() {
        put(format!("{place}/{file}"), &bytes)?;
    }
    Ok(())
}

/// Panics where two arguments of a command share a name, or one conflicts with another that is not there. clap's own
/// checks of this are off: in each start of a tool without optimisations they would take a third of its time.
fn require_sound(command: &Command) {
    let mut names = std::collections::BTreeSet::new();
    for arg in command.get_arguments() {
        let longs = arg.get_long_and_visible_aliases().unwrap_or_default().into_iter().map(|long| format!("--{long}"));
        let shorts =
            arg.get_short_and_visible_aliases().unwrap_or_default().into_iter().map(|short| format!("-{short}"));
        for name in longs.chain(shorts).chain([arg.get_id().to_string()]) {
            assert!(names.insert(name.clone()), "`{}` has `{name}` twice", command.get_name());
        }
        command.get_arg_conflicts_with(arg);
    }
    command.get_subcommands().for_each(require_sound);
}

/// One page per tool and subcommand.
fn man_pages() -> Vec<(String, Vec<u8>)> {
    let mut pages = Vec::new();
    for command in commands() {
        let mut command = for_man(command);
        command.build();
        let source = format!("{} {}", command.get_name(), command.get_version().unwrap_or_default());
        pages_of(&command, source.trim_end(), &mut pages);
    }
    pages
}

/// The command line with all that its pages tell: clap_mangen leaves out what `-h` does not show, and refers to a page
/// of each subcommand, though `help` has none.
fn for_man(command: Command) -> Command {
    let command = command.disable_help_subcommand(true).mut_args(|arg| arg.hide_short_help(false));
    command.mut_subcommands(for_man)
}

fn pages_of(command: &Command, source: &str, pages: &mut Vec<(String, Vec<u8>)>) {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let usage = usage(command);
    // The synopsis is what `--help` shows: with the values of options, and `--` where a command follows.
    let command_with_usage = command.clone().override_usage(usage);
    let man = clap_mangen::Man::new(command_with_usage).title(name.to_uppercase()).source(source).date("");
    let mut bytes = Vec::new();
    if man.render(&mut bytes).is_ok() {
        pages.push((format!("{name}.1"), bytes));
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        pages_of(sub, source, pages);
    }
}

/// The lines of `Usage:`, without this word.
fn usage(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    usage.strip_prefix("Usage:").unwrap_or(&usage).trim().to_owned()
}

/// What tells each shell how to complete the words of each tool: it asks the tool itself. With the directory that the
/// shell looks in, and the name that it looks for.
fn completions() -> Vec<(&'static str, String, Vec<u8>)> {
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
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set()) {
        section(sub, page);
    }
}
