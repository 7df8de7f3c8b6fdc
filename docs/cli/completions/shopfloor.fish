# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_shopfloor_global_optspecs
    string join \n C= n/dry-run json q/quiet v/verbose color= h/help V/version
end

function __fish_shopfloor_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_shopfloor_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_shopfloor_using_subcommand
    set -l cmd (__fish_shopfloor_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c shopfloor -n "__fish_shopfloor_needs_command" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c shopfloor -n "__fish_shopfloor_needs_command" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c shopfloor -n "__fish_shopfloor_needs_command" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c shopfloor -n "__fish_shopfloor_needs_command" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c shopfloor -n "__fish_shopfloor_needs_command" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c shopfloor -n "__fish_shopfloor_needs_command" -s v -l verbose -d 'Say more'
complete -c shopfloor -n "__fish_shopfloor_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c shopfloor -n "__fish_shopfloor_needs_command" -s V -l version -d 'Print version'
complete -c shopfloor -n "__fish_shopfloor_needs_command" -f -a "setup" -d 'Set up this repository for agents, step by step, and ask before each step'
complete -c shopfloor -n "__fish_shopfloor_needs_command" -f -a "teardown" -d 'Take back what `setup` did in this repository'
complete -c shopfloor -n "__fish_shopfloor_needs_command" -f -a "status" -d 'Show all worktrees in one table: who works there, who waits for you, and what is not in step'
complete -c shopfloor -n "__fish_shopfloor_needs_command" -f -a "doctor" -d 'Show what the doctors of the five tools find, and their versions: exit 0 if nothing is wrong, 1 if something is'
complete -c shopfloor -n "__fish_shopfloor_needs_command" -f -a "new" -d 'Make a worktree for an agent, and print its path or run a command there'
complete -c shopfloor -n "__fish_shopfloor_needs_command" -f -a "go" -d 'Change to the worktree of an agent or a worker, or print its path'
complete -c shopfloor -n "__fish_shopfloor_needs_command" -f -a "done" -d 'Remove the worktrees of agents whose work is done'
complete -c shopfloor -n "__fish_shopfloor_needs_command" -f -a "shell-init" -d 'Print the shell function with which `shopfloor go` changes the directory'
complete -c shopfloor -n "__fish_shopfloor_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand setup" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c shopfloor -n "__fish_shopfloor_using_subcommand setup" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c shopfloor -n "__fish_shopfloor_using_subcommand setup" -l yes -d 'Take every step without asking'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand setup" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand setup" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand setup" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand setup" -s v -l verbose -d 'Say more'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand setup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand teardown" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c shopfloor -n "__fish_shopfloor_using_subcommand teardown" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c shopfloor -n "__fish_shopfloor_using_subcommand teardown" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand teardown" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand teardown" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand teardown" -s v -l verbose -d 'Say more'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand teardown" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand status" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c shopfloor -n "__fish_shopfloor_using_subcommand status" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c shopfloor -n "__fish_shopfloor_using_subcommand status" -l watch -d 'Keep showing the table until interrupted'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand status" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand status" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand status" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand status" -s v -l verbose -d 'Say more'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand doctor" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c shopfloor -n "__fish_shopfloor_using_subcommand doctor" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c shopfloor -n "__fish_shopfloor_using_subcommand doctor" -l repair -d 'Repair everything that can be repaired without losing anything; asks first, and exits with 3 if nobody can be asked'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand doctor" -l yes -d 'Do not ask for confirmation'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand doctor" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand doctor" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand doctor" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand doctor" -s v -l verbose -d 'Say more'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand new" -l task -d 'The task of the agent; `-` reads it from stdin' -r
complete -c shopfloor -n "__fish_shopfloor_using_subcommand new" -l task-file -d 'A file with the task, or `-` for stdin' -r -F
complete -c shopfloor -n "__fish_shopfloor_using_subcommand new" -l agent -d 'The agent program that will work there' -r
complete -c shopfloor -n "__fish_shopfloor_using_subcommand new" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c shopfloor -n "__fish_shopfloor_using_subcommand new" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c shopfloor -n "__fish_shopfloor_using_subcommand new" -l launch -d 'Start the agent program there with its task, in a window of tmux or zellij or with the configured launcher'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand new" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand new" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand new" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand new" -s v -l verbose -d 'Say more'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand new" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand go" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c shopfloor -n "__fish_shopfloor_using_subcommand go" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c shopfloor -n "__fish_shopfloor_using_subcommand go" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand go" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand go" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand go" -s v -l verbose -d 'Say more'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand go" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand done" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c shopfloor -n "__fish_shopfloor_using_subcommand done" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c shopfloor -n "__fish_shopfloor_using_subcommand done" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand done" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand done" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand done" -s v -l verbose -d 'Say more'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand done" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand shell-init" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c shopfloor -n "__fish_shopfloor_using_subcommand shell-init" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c shopfloor -n "__fish_shopfloor_using_subcommand shell-init" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand shell-init" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand shell-init" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand shell-init" -s v -l verbose -d 'Say more'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand shell-init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand help; and not __fish_seen_subcommand_from setup teardown status doctor new go done shell-init help" -f -a "setup" -d 'Set up this repository for agents, step by step, and ask before each step'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand help; and not __fish_seen_subcommand_from setup teardown status doctor new go done shell-init help" -f -a "teardown" -d 'Take back what `setup` did in this repository'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand help; and not __fish_seen_subcommand_from setup teardown status doctor new go done shell-init help" -f -a "status" -d 'Show all worktrees in one table: who works there, who waits for you, and what is not in step'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand help; and not __fish_seen_subcommand_from setup teardown status doctor new go done shell-init help" -f -a "doctor" -d 'Show what the doctors of the five tools find, and their versions: exit 0 if nothing is wrong, 1 if something is'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand help; and not __fish_seen_subcommand_from setup teardown status doctor new go done shell-init help" -f -a "new" -d 'Make a worktree for an agent, and print its path or run a command there'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand help; and not __fish_seen_subcommand_from setup teardown status doctor new go done shell-init help" -f -a "go" -d 'Change to the worktree of an agent or a worker, or print its path'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand help; and not __fish_seen_subcommand_from setup teardown status doctor new go done shell-init help" -f -a "done" -d 'Remove the worktrees of agents whose work is done'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand help; and not __fish_seen_subcommand_from setup teardown status doctor new go done shell-init help" -f -a "shell-init" -d 'Print the shell function with which `shopfloor go` changes the directory'
complete -c shopfloor -n "__fish_shopfloor_using_subcommand help; and not __fish_seen_subcommand_from setup teardown status doctor new go done shell-init help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
