//! `shell-init`: the shell function with which `go` changes the directory.

use clap::ValueEnum;
use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

/// Print the shell function with which `shopfloor go` changes the directory
///
/// Put the line of the example into your shell's start-up file. The function also takes you back to the main checkout
/// when `shopfloor done` has removed the directory you are in.
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
const POSIX: &str = r#"shopfloor() {
    local shopfloor_word shopfloor_verb= shopfloor_skip= shopfloor_dir shopfloor_exit
    for shopfloor_word in "$@"; do
        if [ -n "$shopfloor_skip" ]; then shopfloor_skip=; continue; fi
        case "$shopfloor_word" in
            -h|--help|--json) shopfloor_verb=; break ;;
            -C|--color) shopfloor_skip=1 ;;
            -*) ;;
            *) shopfloor_verb=${shopfloor_verb:-$shopfloor_word} ;;
        esac
    done
    # Where the answer is read by a program, it is the path.
    [ -t 1 ] || [ "$shopfloor_verb" != go ] || shopfloor_verb=
    case "$shopfloor_verb" in
        go)
            shopfloor_dir=$(SHOPFLOOR_FUNCTION=1 command shopfloor "$@") && cd -- "$shopfloor_dir" ;;
        done)
            shopfloor_dir=$(command shopfloor go 2>/dev/null)
            SHOPFLOOR_FUNCTION=1 command shopfloor "$@"
            shopfloor_exit=$?
            [ -d "$PWD" ] || cd -- "$shopfloor_dir" || true
            return "$shopfloor_exit" ;;
        *) command shopfloor "$@" ;;
    esac
}
"#;

/// The function for fish.
const FISH: &str = r#"function shopfloor
    set -l verb
    set -l skip 0
    for word in $argv
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case -h --help --json
                set verb
                break
            case -C --color
                set skip 1
            case '-*'
            case '*'
                set -q verb[1]; or set verb $word
        end
    end
    # Where the answer is read by a program, it is the path.
    if test "$verb" = go; and not isatty stdout
        set verb
    end
    switch "$verb"
        case go
            set -l dir (SHOPFLOOR_FUNCTION=1 command shopfloor $argv)
            and cd -- $dir
        case done
            set -l dir (command shopfloor go 2>/dev/null)
            SHOPFLOOR_FUNCTION=1 command shopfloor $argv
            set -l code $status
            test -d "$PWD"; or cd -- $dir
            return $code
        case '*'
            command shopfloor $argv
    end
end
"#;

/// The answer with `--json`.
#[derive(Serialize)]
struct ScriptAnswer<'a> {
    text: &'a str,
}

pub fn run(ui: &Ui, _: &Env, args: &Args) -> Result<Exit> {
    let text = if args.shell == Shell::Fish { FISH } else { POSIX };
    if ui.is_json() {
        ui.json(&ScriptAnswer { text });
    } else {
        ui.answer(text.as_bytes());
    }
    Ok(Exit::Done)
}
