//! Launchers: command lines that show an agent to a person. Their fields are filled in, each as one word for a shell.

use std::path::Path;

use shopfloor_core::config::Line;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::proc::{self, Cmd};
use shopfloor_core::text::{escape_format, shell_word};

use crate::agent_in_worktree::KnownAgent;

/// The launchers that have a name. A new one needs an entry here and a word in the help of `--launcher`.
const PRESETS: [(&str, &str); 2] = [
    ("tmux", "tmux new-window -d -n {slug} -c {path} {cmd}"),
    ("zellij", "zellij run --name {slug} --cwd {path} -- sh -c {cmd}"),
];

/// The launcher that starts nothing.
pub const NONE: &str = "none";

/// Text as one word for a shell.
pub fn word(text: &str) -> String {
    shell_word(Path::new(text))
}

/// What a field's value goes through.
type Filter = fn(&str) -> String;

/// What makes names and directories the words that a launcher takes: tmux expands formats in both, and in no command.
fn escape_of(launcher: &str) -> Filter {
    let is_part = |c: char| c.is_alphanumeric() || "._-".contains(c);
    if launcher.split(|c| !is_part(c)).any(|word| word == "tmux") { escape_format } else { str::to_owned }
}

/// Fills in a template's fields, each quoted for what reads the template.
fn fill(template: &str, known: &KnownAgent, cmd: &str, quote: Filter, escape: Filter) -> String {
    let fields = [
        ("{id}", quote(&escape(&known.agent.id))),
        ("{slug}", quote(&escape(&known.agent.slug))),
        ("{path}", quote(&escape(&known.worktree.path.to_string_lossy()))),
        ("{cmd}", quote(cmd)),
    ];
    // One pass, so that braces in a field's value are not filled in.
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let field = fields.iter().find(|(name, _)| rest.starts_with(name));
        let (text, length) = field.map_or(("{", 1), |(name, text)| (text, name.len()));
        out.push_str(text);
        rest = &rest[length..];
    }
    out + rest
}

/// The command that a template gives for an agent, in the agent's worktree.
pub fn command(env: &Env, line: &Line, known: &KnownAgent, cmd: &str) -> Result<Cmd> {
    let ready = match line {
        Line::Shell(template) => {
            let template = PRESETS.iter().find(|(name, _)| name == template).map_or(template.as_str(), |(_, t)| t);
            let sh = proc::find(env, "sh").ok_or_else(|| Failure::failed("sh is not on the PATH"))?;
            Cmd::new(&sh, env).arg("-c").arg(fill(template, known, cmd, word, escape_of(template)))
        }
        Line::Argv(argv) => {
            let escape = escape_of(&argv.join(" "));
            let argv: Vec<String> = argv.iter().map(|arg| fill(arg, known, cmd, str::to_owned, escape)).collect();
            let (name, args) = argv.split_first().ok_or_else(|| Failure::malformed("the launcher is empty"))?;
            let found = if name.contains('/') { Some(env.cwd.join(name)) } else { proc::find(env, name) };
            let found = found.ok_or_else(|| Failure::failed(format!("{name} is not on the PATH")))?;
            Cmd::new(&found, env).args(args)
        }
    };
    Ok(ready.dir(&known.worktree.path).without_vars(LOCAL_VARS))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::identity::Agent;
    use crate::repository_view::Worktree;

    #[test]
    fn fields_are_words_and_are_filled_in_once() {
        let mut agent = Agent::root("a'b", None, Timestamp::UNIX_EPOCH);
        agent.slug = "{cmd}".into();
        let worktree =
            Worktree { path: "/x y".into(), git_dir: "/g".into(), branch: None, is_main: true, is_lost: false };
        let known = KnownAgent::spawned(agent, worktree);
        let line = fill("go {slug} {id} {path} {x} {cmd}", &known, "run 'it'", word, str::to_owned);
        assert_eq!(line, r"go '{cmd}' 'a'\''b' '/x y' {x} 'run '\''it'\'''");
        assert_eq!(fill("{path}", &known, "", str::to_owned, str::to_owned), "/x y");
        // An agent can write its identity.
        let forged = fill("{slug} {cmd}", &known, "#(x)", str::to_owned, |text| escape_format(&format!("#({text})")));
        assert_eq!(forged, "##({cmd}) #(x)");
    }

    #[test]
    fn only_what_speaks_to_tmux_gets_formats_escaped() {
        for (launcher, shown) in [
            (PRESETS[0].1, "##(x)"),
            ("[ -n \"$TMUX\" ] && /usr/bin/tmux split-window -c {path}", "##(x)"),
            ("tmux;true", "##(x)"),
            (PRESETS[1].1, "#(x)"),
            ("tmux-session {slug}", "#(x)"),
        ] {
            assert_eq!(escape_of(launcher)("#(x)"), shown, "{launcher}");
        }
    }
}
