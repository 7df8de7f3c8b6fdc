//! `shell-init`: the shell function with which `go` changes the directory.

use clap::ValueEnum;
use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

/// Print the shell function with which `shopfloor go` changes the directory
///
/// Put the line of the example into your shell's start-up file. The function also takes you back to the main checkout
/// when `shopfloor rm` has removed the directory you are in.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  eval \"$(shopfloor shell-init bash)\"      # in ~/.bashrc\n  eval \"$(shopfloor shell-init zsh)\"       # in ~/.zshrc\n  shopfloor shell-init fish | source       # in ~/.config/fish/config.fish"
)]
pub struct Args {
    /// Your shell
    pub shell: Shell,
}

/// A shell that has functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// The variable that the function sets.
pub const FUNCTION: &str = "SHOPFLOOR_FUNCTION";

/// The function for bash and zsh. The subcommand is the first word that is no option and no directory of `-C`.
const POSIX: &str = include_str!("shell/function.sh");

/// The function for fish.
const FISH: &str = include_str!("shell/function.fish");

pub fn run(ui: &Ui, _: &Env, args: &Args) -> Result<Exit> {
    let text = if args.shell == Shell::Fish { FISH } else { POSIX };
    if ui.is_json() {
        ui.json(&json!({ "text": text }));
    } else {
        ui.answer(text.as_bytes());
    }
    Ok(Exit::Done)
}
