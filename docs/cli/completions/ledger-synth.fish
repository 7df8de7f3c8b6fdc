# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_ledger_synth_global_optspecs
    string join \n C= n/dry-run json q/quiet v/verbose color= root= retention= session-window= min-interval= yes input= archive commit check tree= strict stamp o/output= branch= agent= all-worktrees force adopt h/help V/version
end

function __fish_ledger_synth_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_ledger_synth_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_ledger_synth_using_subcommand
    set -l cmd (__fish_ledger_synth_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l input -d 'Read these files instead of `events/`, and print the result unless --output is given' -r
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l tree -d 'With --check: look at this commit, in git\'s objects' -r
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -s o -l output -d 'Write to this file instead of `current.md`; `-` prints' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l branch -d 'Print the ledger of this branch\'s events only' -r
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l agent -d 'Print the ledger of this agent\'s events only' -r
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l yes -l no-confirm -d 'Do not ask for confirmation'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l archive -d 'Fold all events into one snapshot and move them to `archive/`; `current.md` stays as it is'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l commit -d 'Commit the ledger\'s files, and nothing else'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l check -d 'Check whether `current.md` matches its events, and write nothing: 0 if it does, 1 if not, 2 if events are malformed'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l strict -d 'Fail (exit 2) on malformed events and events from the future, instead of warning of them'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l stamp -d 'Write the current time into `generated_at`'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l all-worktrees -d 'Print the ledger of the events of all worktrees together'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l force -d 'Replace a `current.md` that a person wrote'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l adopt -d 'Turn a `current.md` that a person wrote into an event first'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -s V -l version -d 'Print version'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "add" -d 'Write an event and print its path'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "banner" -d 'Synthesise, then print what a session needs to know at its start'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "archive" -d 'Fold events into one snapshot and move them to `archive/`; `current.md` stays as it is'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "prune" -d 'Delete archived events that a snapshot covers and that are older than --retention'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "check" -d 'Check whether `current.md` matches its events, and write nothing: exit 0 yes, 1 no, 2 if events are malformed'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "explain" -d 'Show who said something, when, and what it replaced, newest first: exit 1 if nobody did'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "conflicts" -d 'List what agents disagreed on, and what counts'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "retract" -d 'Retract one event by writing another: exit 1 if a snapshot already holds it'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "lint" -d 'Check event files: exit 0 if all are well-formed, 2 if not'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "migrate" -d 'Turn handoff files of other shapes into events, and leave the files where they are'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "merge-driver" -d 'Merge `current.md` when git asks for it, from the events of both sides'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "install" -d 'Set up git in this repository: merge driver, attributes, hooks'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "doctor" -d 'Show what is missing or wrong, and what fixes it: exit 0 if nothing is wrong, 1 if something is'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "hook" -d 'Synthesise after merges and rebases, check before a push'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "config" -d 'Print the settings in force, each with its source'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l now -d 'What is being done now' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l goal -d 'What the work is for' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l done -d 'Something that was done' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l decision -d 'Something that was decided; `K=` removes the decision' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l question -d 'A question that is open' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l resolve -d 'A question that is answered, in the words in which it was asked' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l checkpoint -d 'The status of a phase' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l agent -d 'The agent that writes the event [env: LEDGER_SYNTH_AGENT] [default: the worktree\'s name]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l type -d 'The type of the event, such as session_end or checkpoint' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l reason -d 'Why the event is written' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l title -d 'What the event is about, in a few words' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l from-hook -d 'Take agent, reason and directory from the JSON that this agent program gives its SessionEnd hook on stdin' -r -f -a "claude\t'Claude Code'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l draft -d 'Keep the sections for the end of the session, in git\'s private directory, instead of writing an event'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l synth -d 'Synthesise afterwards'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l commit -d 'With --synth: commit the ledger\'s files'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -l max-bytes -d 'Print at most N bytes, and how many events are left out' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -l for-hook -d 'Answer a SessionStart hook of this agent program with the ledger as context' -r -f -a "claude\t'Claude Code'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -l older-than -d 'Only events older than this, such as 7d' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand check" -l tree -d 'Look at this commit, in git\'s objects' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand check" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand check" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand check" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand check" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand check" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand check" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand check" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand check" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand check" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand check" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -l agent -d 'The agent that retracts the event [env: LEDGER_SYNTH_AGENT] [default: the worktree\'s name]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -l ts -d 'The time of files that do not tell it in their text or name (RFC 3339)' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -l agent -d 'The agent of files that do not name one [env: LEDGER_SYNTH_AGENT] [default: the worktree\'s name]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -l path -d 'The path of the file in the repository' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -l label -d 'The name that git gives their side' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -l claude -d 'Also set up Claude Code: hooks in .claude/settings.json and the skill `synthesize-ledgers`'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -l repair -d 'Repair everything that can be repaired without losing anything; asks first, and exits with 3 if nobody can be asked'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -l yes -d 'Do not ask for confirmation'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "install" -d 'Install this tool\'s git hooks, keeping a hook that is there already'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "uninstall" -d 'Take the hooks out again and put back what was there before'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "status" -d 'Tell whether the hooks are installed: 0 yes, 1 no'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "run" -d 'Run a hook as its stub does, with git\'s own arguments'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "install" -d 'Install this tool\'s git hooks, keeping a hook that is there already'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "uninstall" -d 'Take the hooks out again and put back what was there before'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "status" -d 'Tell whether the hooks are installed: 0 yes, 1 no'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run a hook as its stub does, with git\'s own arguments'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -l retention -d 'How long `prune` keeps archived events, such as 7d; `never` keeps all [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -l session-window -d 'How far This Session reaches back from the newest event, such as 1d [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -l min-interval -d 'The shortest time between two commits of the ledger by --commit, such as 30m [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -l root -d 'The directory of the ledger: `worktree` (thoughts/shared/handoffs in this worktree), `main` (the same in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune check explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "add" -d 'Write an event and print its path'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune check explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "banner" -d 'Synthesise, then print what a session needs to know at its start'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune check explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "archive" -d 'Fold events into one snapshot and move them to `archive/`; `current.md` stays as it is'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune check explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "prune" -d 'Delete archived events that a snapshot covers and that are older than --retention'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune check explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "check" -d 'Check whether `current.md` matches its events, and write nothing: exit 0 yes, 1 no, 2 if events are malformed'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune check explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "explain" -d 'Show who said something, when, and what it replaced, newest first: exit 1 if nobody did'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune check explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "conflicts" -d 'List what agents disagreed on, and what counts'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune check explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "retract" -d 'Retract one event by writing another: exit 1 if a snapshot already holds it'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune check explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "lint" -d 'Check event files: exit 0 if all are well-formed, 2 if not'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune check explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "migrate" -d 'Turn handoff files of other shapes into events, and leave the files where they are'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune check explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "merge-driver" -d 'Merge `current.md` when git asks for it, from the events of both sides'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune check explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "install" -d 'Set up git in this repository: merge driver, attributes, hooks'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune check explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "doctor" -d 'Show what is missing or wrong, and what fixes it: exit 0 if nothing is wrong, 1 if something is'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune check explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "hook" -d 'Synthesise after merges and rebases, check before a push'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune check explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "config" -d 'Print the settings in force, each with its source'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune check explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "install" -d 'Install this tool\'s git hooks, keeping a hook that is there already'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "uninstall" -d 'Take the hooks out again and put back what was there before'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "status" -d 'Tell whether the hooks are installed: 0 yes, 1 no'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "run" -d 'Run a hook as its stub does, with git\'s own arguments'
