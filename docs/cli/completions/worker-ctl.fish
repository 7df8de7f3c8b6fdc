# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_worker_ctl_global_optspecs
    string join \n C= json q/quiet v/verbose color= root= h/help V/version
end

function __fish_worker_ctl_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_worker_ctl_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_worker_ctl_using_subcommand
    set -l cmd (__fish_worker_ctl_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -s V -l version -d 'Print version'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "init" -d 'Make a root for a repository: a clone without a checkout, a configuration, a state'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "add" -d 'Make a worker: a branch, a worktree, a place in the state'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "up" -d 'Keep all sessions up and look after them, until interrupted; with names, start those sessions and end'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "down" -d 'End all sessions; tasks stay as they are'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "status" -d 'Show all workers'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "start" -d 'Give a task to an idle worker'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "message" -d 'Tell a worker something'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "attach" -d 'Sit down at a worker\'s terminal'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "peek" -d 'Print what a worker\'s terminal shows'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "wait" -d 'Wait until workers are at something: 124 when they are not in time'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "rebase" -d 'Put a worker\'s commit onto what the default branch is by now; on a conflict the worker is told'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "doctor" -d 'Tell what is wrong, and what mends it: 0 nothing, 1 something'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "reset" -d 'Take a worker\'s task away: idle again, on the default branch'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "nuke" -d 'Remove a worker: session, worktree, branch'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "patrol" -d 'Look once: who committed, whose program ended'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "review" -d 'Show what a worker did, and remember that it was shown'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "reject" -d 'Send the reviewed worker back with what should change'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "accept" -d 'Put a worker\'s work on the default branch of the source, as one commit'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l source -d 'The repository work goes to' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l target -d 'The root to make [default: ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l branch -d 'The branch work goes to [default: the source\'s default branch]' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l agent -d 'The program, by its table in config.toml' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l model -d 'The model it uses' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l role-prompt -d 'What it should know of itself' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l no-patrol -d 'Do not look who committed or ended'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l detach -d 'In the background'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l force -d 'Do not wait for programs to end by themselves'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l prompt -d 'What is to be done' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l prompt-file -d 'The same from a file, or from stdin (`-`)' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l worker -d 'The worker [default: the one that has been idle longest]' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l force -d 'Also when it has no task'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -s n -d 'So many lines above the screen too' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l for -d 'idle, working, needs_review, rejected, rebasing, error or offline' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l timeout -d 'Give up after this time: 90s, 30m, 2h' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l repair -d 'Mend what can be mended without losing anything'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l rebuild -d 'Write the state anew from the worktrees'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l yes -d 'Do not ask'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l force -d 'Also where work would be lost, which is kept under refs/shopfloor/trash/'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l all -d 'All of them'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l force -d 'Also where work would be lost, which is kept under refs/shopfloor/trash/'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l yes -d 'Do not ask'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l message -d 'The commit\'s message [default: the work\'s own]' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l root -d 'The root [env: WORKER_CTL_ROOT] [default: above the current directory, or ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l force -d 'Also when it changed since it was reviewed'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "init" -d 'Make a root for a repository: a clone without a checkout, a configuration, a state'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "add" -d 'Make a worker: a branch, a worktree, a place in the state'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "up" -d 'Keep all sessions up and look after them, until interrupted; with names, start those sessions and end'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "down" -d 'End all sessions; tasks stay as they are'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "status" -d 'Show all workers'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "start" -d 'Give a task to an idle worker'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "message" -d 'Tell a worker something'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "attach" -d 'Sit down at a worker\'s terminal'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "peek" -d 'Print what a worker\'s terminal shows'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "wait" -d 'Wait until workers are at something: 124 when they are not in time'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "rebase" -d 'Put a worker\'s commit onto what the default branch is by now; on a conflict the worker is told'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "doctor" -d 'Tell what is wrong, and what mends it: 0 nothing, 1 something'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "reset" -d 'Take a worker\'s task away: idle again, on the default branch'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "nuke" -d 'Remove a worker: session, worktree, branch'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "patrol" -d 'Look once: who committed, whose program ended'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "review" -d 'Show what a worker did, and remember that it was shown'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "reject" -d 'Send the reviewed worker back with what should change'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "accept" -d 'Put a worker\'s work on the default branch of the source, as one commit'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init add up down status start message attach peek wait rebase doctor reset nuke patrol review reject accept help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
