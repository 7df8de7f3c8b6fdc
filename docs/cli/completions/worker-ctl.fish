# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_worker_ctl_global_optspecs
    string join \n C= n/dry-run json q/quiet v/verbose color= root= agent= model= skip-permissions= allowed-tools= patrol-interval-secs= sound-on-review= branch-prefix= on-event= before-attach= after-attach= source= branch= validate= h/help V/version
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
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -s V -l version -d 'Print version'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "init" -d 'Create a root for a repository: a clone without a checkout, a configuration and a state'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "deinit" -d 'Remove a root that has no workers and keeps no work'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "add" -d 'Create a worker with a branch, a worktree and a record in the state'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "up" -d 'Keep all sessions up and patrol until interrupted; with names, only start those sessions'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "down" -d 'End all sessions and keep their tasks'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "status" -d 'Show all workers'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "start" -d 'Give a task to an idle worker'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "message" -d 'Send a message to a worker'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "attach" -d 'Attach your terminal to a worker\'s session'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "peek" -d 'Print the screen of a worker\'s terminal'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "wait" -d 'Wait until workers reach a state: exit 124 when the time is up, 1 when they cannot reach it'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "review" -d 'Show a worker\'s work and record that it was reviewed'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "reject" -d 'Send the reviewed work back to its worker with the changes you want'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "accept" -d 'Land a worker\'s work on the source\'s default branch as one commit'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "rebase" -d 'Rebase a worker\'s work onto the default branch; on a conflict, ask the worker to resolve it'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "doctor" -d 'Check for problems and show how to repair them: exit 0 without problems, 1 with problems'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "reset" -d 'Take a worker\'s task away and put its worktree on the default branch'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "nuke" -d 'Remove a worker with its session, worktree and branch'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "patrol" -d 'Look once for workers that committed and programs that ended'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "events" -d 'Print the events of workers'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "hook" -d 'Record what an agent\'s own hook tells; always exits 0 with an empty stdout'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "config" -d 'Show every setting with its source'
complete -c worker-ctl -n "__fish_worker_ctl_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l target -d 'Create the root in DIR [default: ~/workers, or ~/workers/NAME if ~/workers is another repository\'s root]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand deinit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l role-prompt -d 'Add TEXT to each of the worker\'s tasks' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l no-patrol -d 'Keep sessions up without looking for commits'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l detach -d 'Run in the background'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand up" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l force -d 'Kill programs at once, without waiting for them to end'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand down" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l watch -d 'Keep showing the workers until interrupted'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l task -l prompt -d 'The task; `-` reads it from stdin' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l task-file -l prompt-file -d 'Read the task from a file; `-` is stdin' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l worker -d 'Give the task to this worker [default: the one that has been idle longest]' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l resume -d 'Send a worker its current task again, after a restart' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l force -d 'Send even if a text may be in the worker\'s input line, somebody types in its terminal, or its program asks a question'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand start" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l force -d 'Send even if the worker has no task, a text may be in its input line, somebody types in its terminal, or its program asks a question'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand message" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand attach" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l lines -d 'Print N lines above the screen too' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand peek" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l for -d 'Wait for this state: idle, working, needs_review, rejected, rebasing, error or offline; or until its program is busy, asks or rests' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l timeout -d 'Give up after this time: 90s, 30m, 2h' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l all -d 'Wait for all workers'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l any -d 'Wait until one of them is in the state, not all'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand wait" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l interface -d 'Show the diff with PROGRAM [default: difftastic if it is installed, else git]' -r -f -a "git\t''
difftastic\t''
vscode\t''"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand review" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l force -d 'Send even if a text may be in the worker\'s input line, somebody types in its terminal, or its program asks a question'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reject" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l message -d 'Use TEXT as the commit message [default: the message of the work]' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l force -d 'Accept work even if it changed since its review or has conflict markers, somebody types in the worker\'s terminal, or its program asks a question'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand accept" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l force -d 'Ask the worker to resolve conflicts even if a text may be in its input line, somebody types in its terminal, or its program asks a question'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand rebase" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l repair -d 'Repair everything that can be repaired without losing anything; asks first, and exits with 3 if nobody can be asked'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l yes -d 'Do not ask for confirmation'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l rebuild -d 'Rebuild the state from the worktrees, the backups and the event log'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l all -d 'Reset all workers'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l force -d 'Reset a worker even if it has unmerged work, and keep that work under refs/shopfloor/trash/'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand reset" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l all -d 'Remove all workers'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l force -d 'Remove a worker even if it has unmerged work, and keep that work under refs/shopfloor/trash/'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l yes -d 'Do not ask for confirmation'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand nuke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l sessions -d 'Look only for programs that ended, as tmux does when one ends'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand patrol" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l since -d 'Start at a time or a duration ago (`30m`), after the event with this `seq`, or with `all`' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l follow -d 'Print new events until interrupted'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand events" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand hook" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -l agent -d 'Run this agent: a preset, or a table of config.toml [env: WORKER_CTL_AGENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -l model -d 'Use this model for the agent [env: WORKER_CTL_MODEL]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -l skip-permissions -d 'Pass --dangerously-skip-permissions to the agent if its command has {skip_permissions} [env: WORKER_CTL_SKIP_PERMISSIONS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -l allowed-tools -d 'Allow the agent these tools, separated by commas [env: WORKER_CTL_ALLOWED_TOOLS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -l patrol-interval-secs -d 'Let `up` patrol at this interval, such as 30s; a number alone is seconds [env: WORKER_CTL_PATROL_INTERVAL_SECS]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -l sound-on-review -d 'Ring the bell when a worker needs review [env: WORKER_CTL_SOUND_ON_REVIEW]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -l branch-prefix -d 'Prefix the branches of new workers with PREFIX [env: WORKER_CTL_BRANCH_PREFIX]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -l on-event -d 'Run COMMAND at every event [env: WORKER_CTL_ON_EVENT]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -l before-attach -d 'Run COMMAND in the worktree before `attach` starts [env: WORKER_CTL_BEFORE_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -l after-attach -d 'Run COMMAND in the worktree after `attach` ends [env: WORKER_CTL_AFTER_ATTACH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -l source -d 'Land accepted work on this repository [env: WORKER_CTL_SOURCE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -l branch -d 'Land accepted work on this branch of the source [env: WORKER_CTL_BRANCH]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -l validate -d 'Ask workers to run COMMAND before they commit [env: WORKER_CTL_VALIDATE]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -l root -d 'Use the root in DIR [env: WORKER_CTL_ROOT] [default: the root above the current directory, else the one recorded in this repository; outside of any repository ~/workers]' -r -F
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -s v -l verbose -d 'Say more'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand config" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "init" -d 'Create a root for a repository: a clone without a checkout, a configuration and a state'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "deinit" -d 'Remove a root that has no workers and keeps no work'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "add" -d 'Create a worker with a branch, a worktree and a record in the state'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "up" -d 'Keep all sessions up and patrol until interrupted; with names, only start those sessions'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "down" -d 'End all sessions and keep their tasks'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "status" -d 'Show all workers'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "start" -d 'Give a task to an idle worker'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "message" -d 'Send a message to a worker'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "attach" -d 'Attach your terminal to a worker\'s session'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "peek" -d 'Print the screen of a worker\'s terminal'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "wait" -d 'Wait until workers reach a state: exit 124 when the time is up, 1 when they cannot reach it'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "review" -d 'Show a worker\'s work and record that it was reviewed'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "reject" -d 'Send the reviewed work back to its worker with the changes you want'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "accept" -d 'Land a worker\'s work on the source\'s default branch as one commit'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "rebase" -d 'Rebase a worker\'s work onto the default branch; on a conflict, ask the worker to resolve it'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "doctor" -d 'Check for problems and show how to repair them: exit 0 without problems, 1 with problems'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "reset" -d 'Take a worker\'s task away and put its worktree on the default branch'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "nuke" -d 'Remove a worker with its session, worktree and branch'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "patrol" -d 'Look once for workers that committed and programs that ended'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "events" -d 'Print the events of workers'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "hook" -d 'Record what an agent\'s own hook tells; always exits 0 with an empty stdout'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "config" -d 'Show every setting with its source'
complete -c worker-ctl -n "__fish_worker_ctl_using_subcommand help; and not __fish_seen_subcommand_from init deinit add up down status start message attach peek wait review reject accept rebase doctor reset nuke patrol events hook config help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
