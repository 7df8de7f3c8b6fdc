//! What the demo shows: one project, two agents, from a task to landed work.

/// A comment, and the commands that are typed.
pub struct Step {
    pub says: &'static str,
    pub types: &'static [&'static str],
}

/// What is there before the demo begins: a project that is set up.
pub const BEFORE: &str = r#"git init -q -b main app && cd app
printf '.env\n' > .gitignore && echo 'API=http://localhost' > .env
git add .gitignore && git commit -qm Start
shopfloor setup --yes > /dev/null 2>&1 && git add -A && git commit -q -m 'Set up shopfloor'
mkdir -p ~/.config/shopfloor && cat > ~/.config/shopfloor/config.toml <<'END'
[worktree-spawn]
agent = "script"
[worker-ctl.agents.script]
command = ["agent"]
ready = { pattern = "^>" }
END
"#;

/// The scripted agent. It shows `> ` when it takes input, reads, asks once, and commits.
pub const AGENT: &str = r#"#!/bin/sh
tell() {
    printf '{"hook_event_name":"%s","session_id":"s"%s}' "$1" "$2" | worker-ctl hook claude > /dev/null 2>&1
}
commit() {
    echo "$2" > "$1" && git add "$1" && git commit -q "$3" "$4"
}
tell SessionStart
printf '> '
while read -r line; do
    case $line in
        *'return a Result'*) commit parser.rs 'fn parse(text: &str) -> Result<Tree, Error>' --amend --no-edit ;;
        *'Write the parser'*) [ -e parser.rs ] || commit parser.rs 'fn parse(text: &str) -> Tree' -m 'Write the parser' ;;
        *'Write the lexer'*)
            tell UserPromptSubmit
            printf 'Run `cargo add logos`?\n❯ 1. Yes\n  2. No\n'
            tell PermissionRequest ',"tool_name":"Bash","tool_input":{"command":"cargo add logos"}'
            read -r line
            printf '\033[2J\033[H> '
            tell PostToolUse
            commit lexer.rs 'fn lex(text: &str) -> Tokens' -m 'Write the lexer'
            tell Stop ;;
    esac
done
"#;

pub const STEPS: &[Step] = &[
    Step {
        says: "Two agents, each with a task in a worktree of its own.",
        types: &["shopfloor -q new parser 'Write the parser'", "shopfloor -q new lexer 'Write the lexer'"],
    },
    Step {
        says: "Who needs you? `shopfloor desk` shows it, and does the rest by keys.",
        types: &["shopfloor -q wait lexer && shopfloor -q wait parser && shopfloor desk --print 76x12"],
    },
    Step {
        says: "One asks, so answer. The other is done, so look at its work, and send it back.",
        types: &[
            "shopfloor -q answer lexer 1 && shopfloor review parser --pin | grep '^+fn'",
            "shopfloor -q back parser 'Please return a Result' && shopfloor wait parser --timeout 1m",
        ],
    },
    Step {
        says: "It is better now. Land it: nothing lands that you have not seen.",
        types: &[
            "shopfloor review parser --pin | grep '^+fn'",
            "shopfloor -q land parser > /dev/null && git log -1 --stat --format='%h %s'",
        ],
    },
];
