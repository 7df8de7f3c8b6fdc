# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_worktree_spawn_global_optspecs
    string join \n C= n/dry-run json q/quiet v/verbose color= h/help V/version
end

function __fish_worktree_spawn_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_worktree_spawn_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_worktree_spawn_using_subcommand
    set -l cmd (__fish_worktree_spawn_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -s V -l version -d 'Print version'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "subtree" -d 'Make a worktree on a branch of its own for an agent, and print its path'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "worker" -d 'Give an agent a seat in this worktree, and print its id'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "run" -d 'Run an agent\'s command in its worktree, and report to its parent how it ended'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "env" -d 'Print an agent\'s environment, for `eval`'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "path" -d 'Print the path of the worktree in which an agent works'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "whoami" -d 'Print the calling agent: by `--as`, else the environment, else the worktree'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "notify" -d 'Send an event to the parent, which is kept until the parent takes it'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "hook" -d 'Answer an agent program\'s hooks, which send JSON on stdin'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "wait" -d 'Wait for events of the caller\'s session and print them as they arrive'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "ack" -d 'Acknowledge events that were delivered with a lease; exits with 1 if one is not found'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "events" -d 'Print the events that wait, and leave them where they are'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "list" -d 'List the agents'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "remove" -d 'Remove agents\' worktrees or seats, and their branches if everything on them is merged'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "gc" -d 'Remove agents that have ended and left nothing, and say why the others stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "doctor" -d 'Show what is wrong with worktrees and records, and how to repair it: exit 0 if nothing is, 1 if something is'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "repair" -d 'Finish what killed commands began, reconnect moved worktrees, restore exclude lines'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "mcp" -d 'Serve an agent\'s tools over MCP on stdin and stdout'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "config" -d 'Print the settings in force, each with its source'
complete -c worktree-spawn -n "__fish_worktree_spawn_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l task -d 'The task of the agent, which is kept in a file; `-` reads it from stdin' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l task-file -d 'A file with the task, or `-` for stdin' -r -F
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l agent -d 'The agent program that will work there [env: WORKTREE_SPAWN_AGENT] [default: claude]' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l from -d 'Start at this commit instead of HEAD' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l base-dir -l worktree-base -d 'Make the worktree below this directory [env: WORKTREE_SPAWN_WORKTREE_BASE] [default: .shopfloor/worktrees]' -r -F
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l base-name -d 'The name that stands for the branch if HEAD is detached' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l role -d 'The role of the agent, which its environment names [default: tl]' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l if-exists -d 'What to do if the subtree exists' -r -f -a "error\t'Refuse with exit 1'
return\t'Print the existing one and leave it unchanged'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l max-depth -d 'How deep subtrees may be nested; the root is level 1 [env: WORKTREE_SPAWN_MAX_DEPTH] [default: 2]' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l launcher -d 'Start the agent with this launcher: tmux, zellij, none, or a command line with {id} {slug} {path} {cmd} [env: WORKTREE_SPAWN_LAUNCHER] [default: none]' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l as -d 'Act as this agent' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l unique -d 'Append a number to the name if it is taken'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l reuse-branch -d 'Check out an existing branch of that name if it is free'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l require-clean -d 'Refuse if this worktree has uncommitted changes, because the new one will not have them'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l submodules -d 'Also fetch and check out submodules'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l no-git-hooks -d 'Do not run git\'s post-checkout hooks'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l launch -d 'Start the agent with the configured launcher'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand subtree" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand worker" -l task -d 'The task of the agent, which is kept in a file; `-` reads it from stdin' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand worker" -l task-file -d 'A file with the task, or `-` for stdin' -r -F
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand worker" -l agent -d 'The agent program that will work there [env: WORKTREE_SPAWN_AGENT] [default: claude]' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand worker" -l launcher -d 'Start the agent with this launcher: tmux, zellij, none, or a command line with {id} {slug} {path} {cmd} [env: WORKTREE_SPAWN_LAUNCHER] [default: none]' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand worker" -l as -d 'Act as this agent' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand worker" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand worker" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand worker" -l launch -d 'Start the agent with the configured launcher'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand worker" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand worker" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand worker" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand worker" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand worker" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand run" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand run" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand run" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand run" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand run" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand run" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand env" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand env" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand env" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand env" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand env" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand env" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand env" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand path" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand path" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand path" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand path" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand path" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand path" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand path" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand whoami" -l as -d 'Act as this agent' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand whoami" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand whoami" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand whoami" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand whoami" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand whoami" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand whoami" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand whoami" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand notify" -l as -d 'Act as this agent' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand notify" -l type -d 'The type of the event [default: worker_complete or subtree_complete; agent_message for info]' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand notify" -l dedupe -d 'Send the event once, however often the command is repeated with this key' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand notify" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand notify" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand notify" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand notify" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand notify" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand notify" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand notify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and not __fish_seen_subcommand_from worker-exit worktree-create worktree-remove help" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and not __fish_seen_subcommand_from worker-exit worktree-create worktree-remove help" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and not __fish_seen_subcommand_from worker-exit worktree-create worktree-remove help" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and not __fish_seen_subcommand_from worker-exit worktree-create worktree-remove help" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and not __fish_seen_subcommand_from worker-exit worktree-create worktree-remove help" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and not __fish_seen_subcommand_from worker-exit worktree-create worktree-remove help" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and not __fish_seen_subcommand_from worker-exit worktree-create worktree-remove help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and not __fish_seen_subcommand_from worker-exit worktree-create worktree-remove help" -f -a "worker-exit" -d 'Report the end of an agent\'s turn: for Claude Code\'s Stop and SubagentStop, Gemini CLI\'s AfterAgent'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and not __fish_seen_subcommand_from worker-exit worktree-create worktree-remove help" -f -a "worktree-create" -d 'Make a subtree and print its path: for Claude Code\'s WorktreeCreate'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and not __fish_seen_subcommand_from worker-exit worktree-create worktree-remove help" -f -a "worktree-remove" -d 'Remove a subtree if nothing is lost: for Claude Code\'s WorktreeRemove'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and not __fish_seen_subcommand_from worker-exit worktree-create worktree-remove help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worker-exit" -l as -d 'Act as this agent' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worker-exit" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worker-exit" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worker-exit" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worker-exit" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worker-exit" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worker-exit" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worker-exit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worktree-create" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worktree-create" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worktree-create" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worktree-create" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worktree-create" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worktree-create" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worktree-create" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worktree-remove" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worktree-remove" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worktree-remove" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worktree-remove" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worktree-remove" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worktree-remove" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from worktree-remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "worker-exit" -d 'Report the end of an agent\'s turn: for Claude Code\'s Stop and SubagentStop, Gemini CLI\'s AfterAgent'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "worktree-create" -d 'Make a subtree and print its path: for Claude Code\'s WorktreeCreate'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "worktree-remove" -d 'Remove a subtree if nothing is lost: for Claude Code\'s WorktreeRemove'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand wait" -l session -d 'The session [default: the caller\'s]' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand wait" -l as -d 'Act as this agent' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand wait" -l type -d 'Wait only for events of this type; may be repeated' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand wait" -l from -d 'Wait only for events from this agent; may be repeated' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand wait" -l after -d 'Wait only for events with a higher number' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand wait" -l count -d 'Exit after this number of events' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand wait" -l timeout -d 'Exit with 124 after this time: 90s, 30m, 2h' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand wait" -l lease -d 'Deliver an event again if `ack` does not acknowledge it within this time' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand wait" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand wait" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand wait" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand wait" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand wait" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand wait" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand wait" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand ack" -l session -d 'The session [default: the caller\'s]' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand ack" -l as -d 'Act as this agent' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand ack" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand ack" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand ack" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand ack" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand ack" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand ack" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand ack" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand events" -l session -d 'The session [default: the caller\'s]' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand events" -l as -d 'Act as this agent' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand events" -l since -d 'Start at a time, `30m` ago, after the event with this `seq`, or print `all`' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand events" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand events" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand events" -l follow -d 'Print new events as they arrive, until interrupted'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand events" -l all -d 'Print the events of every session'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand events" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand events" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand events" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand events" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand events" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand list" -l under -d 'List only this agent and its descendants' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand list" -l kind -d 'List only agents of this kind' -r -f -a "root\t''
subtree\t''
worker\t''"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand list" -l probe -d 'Ask this command whether an agent lives that `run` did not start: {id} {slug} {path} are filled in, exit 0 means yes, 1 no [env: WORKTREE_SPAWN_PROBE]' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand list" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand list" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand list" -l tree -d 'Draw the agents as a tree, with state, branch and number of waiting events'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand list" -s z -d 'Print only the paths of worktrees, each followed by NUL'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand list" -l live -d 'List only agents whose command is running'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand list" -l dead -d 'List only agents whose command has ended'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand list" -l status -d 'Also tell whether there are uncommitted changes, which is slower'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand list" -l stat -d 'Also count the lines that changed since each worktree was made, which is slower'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand list" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand list" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand list" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand list" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand remove" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand remove" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand remove" -l recursive -d 'Also remove the worktrees inside it, deepest first, after checking all of them'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand remove" -l force -d 'Remove it even with changes, which are kept under `refs/shopfloor/trash/`'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand remove" -l delete-branch -d 'Refuse if the branch cannot be deleted'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand remove" -l keep-branch -d 'Keep the branch'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand remove" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand remove" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand remove" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand remove" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand gc" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand gc" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand gc" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand gc" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand gc" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand gc" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand gc" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand doctor" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand doctor" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand doctor" -l repair -d 'Repair everything that can be repaired without losing anything; asks first, and exits with 3 if nobody can be asked'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand doctor" -l yes -d 'Do not ask for confirmation'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand doctor" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand doctor" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand doctor" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand doctor" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand repair" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand repair" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand repair" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand repair" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand repair" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand repair" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand repair" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand mcp" -l as -d 'Act as this agent' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand mcp" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand mcp" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand mcp" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand mcp" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand mcp" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand mcp" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand mcp" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand config" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand config" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand config" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand config" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand config" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand config" -s v -l verbose -d 'Say more'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand config" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "subtree" -d 'Make a worktree on a branch of its own for an agent, and print its path'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "worker" -d 'Give an agent a seat in this worktree, and print its id'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "run" -d 'Run an agent\'s command in its worktree, and report to its parent how it ended'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "env" -d 'Print an agent\'s environment, for `eval`'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "path" -d 'Print the path of the worktree in which an agent works'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "whoami" -d 'Print the calling agent: by `--as`, else the environment, else the worktree'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "notify" -d 'Send an event to the parent, which is kept until the parent takes it'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "hook" -d 'Answer an agent program\'s hooks, which send JSON on stdin'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "wait" -d 'Wait for events of the caller\'s session and print them as they arrive'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "ack" -d 'Acknowledge events that were delivered with a lease; exits with 1 if one is not found'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "events" -d 'Print the events that wait, and leave them where they are'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "list" -d 'List the agents'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "remove" -d 'Remove agents\' worktrees or seats, and their branches if everything on them is merged'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "gc" -d 'Remove agents that have ended and left nothing, and say why the others stay'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "doctor" -d 'Show what is wrong with worktrees and records, and how to repair it: exit 0 if nothing is, 1 if something is'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "repair" -d 'Finish what killed commands began, reconnect moved worktrees, restore exclude lines'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "mcp" -d 'Serve an agent\'s tools over MCP on stdin and stdout'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "config" -d 'Print the settings in force, each with its source'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and not __fish_seen_subcommand_from subtree worker run env path whoami notify hook wait ack events list remove gc doctor repair mcp config help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "worker-exit" -d 'Report the end of an agent\'s turn: for Claude Code\'s Stop and SubagentStop, Gemini CLI\'s AfterAgent'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "worktree-create" -d 'Make a subtree and print its path: for Claude Code\'s WorktreeCreate'
complete -c worktree-spawn -n "__fish_worktree_spawn_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "worktree-remove" -d 'Remove a subtree if nothing is lost: for Claude Code\'s WorktreeRemove'
