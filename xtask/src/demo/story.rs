//! What the demo shows: one project, two agents, five tools.

/// A comment, and the commands that are typed.
pub struct Step {
    pub says: &'static str,
    pub types: &'static [&'static str],
}

/// What is there before the demo begins.
pub const BEFORE: &str = r#"git init -q -b main app && cd app
printf '.env\n.claude/settings.local.json\n' > .gitignore && git add .gitignore && git commit -qm Start
echo 'API=http://localhost' > .env
mkdir .claude && echo '{ "permissions": { "allow": ["Read"] } }' > .claude/settings.local.json"#;

/// The scripted agent. It shows `> ` when it takes input, reads, and commits.
pub const AGENT: &str = r#"#!/bin/sh
commit() {
    echo "$2" > "$1" && git add "$1" && git commit -q "$3" "$4"
}
printf '> '
while read -r line; do
    case $line in
        *'return a Result'*) commit parser.rs 'fn parse(text: &str) -> Result<Tree, Error>' --amend --no-edit ;;
        *'Write the parser'*) [ -e parser.rs ] || commit parser.rs 'fn parse(text: &str) -> Tree' -m 'Write the parser' ;;
        *'Write the lexer'*) commit lexer.rs 'fn lex(text: &str) -> Tokens' -m 'Write the lexer' ;;
    esac
done
"#;

pub const STEPS: &[Step] = &[
    Step {
        says: "Git ignores this project's .env and its agents' permissions. Set it up for agents, once.",
        types: &["shopfloor setup --yes 2> /dev/null && git add -A && git commit -q -m 'Set up shopfloor'"],
    },
    Step {
        says: "The sweatfile says what else a worktree needs. It counts once you have approved it.",
        types: &[r#"printf '[env]\nRUST_LOG = "debug"\n' > sweatfile && sweatfile-apply approve --yes 2> /dev/null"#],
    },
    Step {
        says: "Claude Code, Codex, Gemini CLI, aider and opencode are known. This agent is a script.",
        types: &["worker-ctl init && cat >> ~/workers/config.toml <<'END'\n\
                  [agents.script]\n\
                  command = [\"agent\"]\n\
                  ready = { pattern = \"^>\" }\n\
                  END"],
    },
    Step {
        says: "Two workers. The hooks have set up the worktree of each.",
        types: &[
            "cd ~/workers && worker-ctl add adam --agent script && worker-ctl add eve --agent script",
            "cd .worktrees/eve && cat .env .sweatshop-env .claude/settings.local.json",
        ],
    },
    Step {
        says: "adam is granted a permission. eve has it too, and so will every new worktree.",
        types: &[
            r#"cd ../adam && sed -i 's/"Read"/&, "Bash(make:*)"/' .claude/settings.local.json"#,
            "overlay-sync sync && cat ../eve/.claude/settings.local.json",
        ],
    },
    Step {
        says: "Start both in tmux, give each a task, and wait until a person is needed.",
        types: &[
            "worker-ctl -q up --detach && worker-ctl -q wait adam eve --for idle --timeout 1m",
            "worker-ctl -q start --worker adam --task 'Write the parser' > /dev/null",
            "worker-ctl -q start --worker eve --task 'Write the lexer' > /dev/null",
            "worker-ctl -q wait adam eve --for needs_review --timeout 1m && cd ~/app && shopfloor status",
        ],
    },
    Step { says: "Review the work that has waited longest.", types: &["worker-ctl review --interface git"] },
    Step {
        says: "Send it back to the same session. The agent amends its commit.",
        types: &[
            "worker-ctl -q reject 'Please return a Result' && worker-ctl -q wait adam --for needs_review",
            "worker-ctl review --interface git adam | grep '^+fn'",
        ],
    },
    Step {
        says: "Accept: the work lands on main as one commit, which is printed. Then the other agent's work.",
        types: &["worker-ctl -q accept && worker-ctl review --interface git | grep '^+fn' && worker-ctl -q accept"],
    },
    Step {
        says: "Agents note what they did and decided, each on a branch. Git merges that without conflicts.",
        types: &[
            "git worktree add -q ../notes && ledger-synth -q add --done 'Wrote the lexer' --synth --commit",
            "ledger-synth -q -C ../notes add --done 'Wrote the parser' --decision api=Result --synth --commit",
            "git merge --no-edit notes > /dev/null && grep '^- ' thoughts/shared/handoffs/current.md",
        ],
    },
    Step {
        says: "An agent can have agents of its own. Each has a parent, which gets its report.",
        types: &[
            "shopfloor new docs -- worktree-spawn notify success 'Described the parser' 2> /dev/null",
            "worktree-spawn list --tree && worktree-spawn wait | grep -o '\"message\":[^,]*'",
        ],
    },
    Step {
        says: "The end of the day. Whatever is not merged would stay.",
        types: &["worker-ctl down && shopfloor rm docs 2> /dev/null"],
    },
];
