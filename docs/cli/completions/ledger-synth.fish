# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_ledger_synth_global_optspecs
    string join \n C= json q/quiet v/verbose color= root= retention= session-window= min-interval= n/dry-run no-confirm input= archive commit check tree= strict stamp o/output= branch= agent= all-worktrees force adopt h/help V/version
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
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l input -d 'Read these files instead of `events/`; printed unless --output is given' -r
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l tree -d 'With --check: of this commit, read from git\'s objects' -r
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -s o -l output -d 'Write to this file instead of `current.md`; `-` prints' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l branch -d 'Only events of this branch; printed' -r
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l agent -d 'Only events of this agent; printed' -r
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l no-confirm -d 'Never ask; for scripts and hooks'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l archive -d 'Fold all events into one snapshot and move them to `archive/`; `current.md` stays as it is'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l commit -d 'Commit the ledger\'s files, and nothing else'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l check -d 'Write nothing: 0 when `current.md` is what the events come to, 1 when not, 2 when events are malformed'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l strict -d 'Malformed events and such from the future are an error (exit 2), not a warning'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l stamp -d 'Put the wall clock into `generated_at`'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l all-worktrees -d 'The events of all worktrees together; printed'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l force -d 'Replace a `current.md` that a person wrote'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -l adopt -d 'Turn a `current.md` that a person wrote into an event first'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -s V -l version -d 'Print version'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "add" -d 'Write an event and print its path'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "banner" -d 'Synthesise, then print what a session needs to know at its start'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "archive" -d 'Fold events into one snapshot and move them to `archive/`; `current.md` stays as it is'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "prune" -d 'Delete archived events that a snapshot covers and that are older than --retention'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "explain" -d 'Tell who said something, when, and what it replaced, newest first: 1 when nobody did'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "conflicts" -d 'List what agents disagreed on, and what counts'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "retract" -d 'Disown one event, by writing another that says so: 1 when it is folded into a snapshot already'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "lint" -d 'Check event files: 0 all well-formed, 2 not'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "migrate" -d 'Turn handoff files of other shapes into events, which are left where they are'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "merge-driver" -d 'What git calls to merge `current.md`: both sides\' events come to one file'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "install" -d 'Set up git in this repository: merge driver, attributes, hooks'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "doctor" -d 'Tell what is missing or wrong, and what mends it: 0 nothing, 1 something'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "hook" -d 'Synthesise after merges and rebases, check before a push'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "config" -d 'Print the settings in force, each with its source'
complete -c ledger-synth -n "__fish_ledger_synth_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l now -d 'What is going on now' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l goal -d 'What it is all for' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l done -d 'Something that was done' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l decision -d 'Something that was decided; `K=` says that nothing is any more' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l question -d 'A question that is open' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l resolve -d 'A question that is answered, in its words' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l checkpoint -d 'How far a phase is' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l agent -d 'Who says so [env: LEDGER_SYNTH_AGENT] [default: the worktree\'s name]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l type -d 'What kind of event, such as session_end or checkpoint' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l reason -d 'Why there is one' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l title -d 'What it is about, in a few words' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l from-hook -d 'Take agent, reason and place from the JSON this agent program gives its SessionEnd hooks on stdin' -r -f -a "claude\t'Claude Code'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l draft -d 'Keep the sections for the session\'s end instead of writing an event; a file in git\'s private directory'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l synth -d 'Synthesise afterwards'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l commit -d 'With --synth: commit the ledger\'s files'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -l max-bytes -d 'How much is printed at most; the rest is counted' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -l for-hook -d 'Answer a SessionStart hook of this agent program, with the ledger as its context' -r -f -a "claude\t'Claude Code'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand banner" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -l older-than -d 'Only events older than this, such as 7d' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand archive" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand prune" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand conflicts" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -l agent -d 'Who says so [env: LEDGER_SYNTH_AGENT] [default: the worktree\'s name]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand retract" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -l ts -d 'When they were written, where neither the file nor its name says it (RFC 3339)' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -l agent -d 'Who wrote them, where the file does not say [env: LEDGER_SYNTH_AGENT] [default: the worktree\'s name]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand migrate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -l path -d 'Where it lies in the repository' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -l label -d 'What git calls their side' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand merge-driver" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -l claude -d 'Also Claude Code: hooks in .claude/settings.json and the skill `synthesize-ledgers`'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "install" -d 'Install this tool\'s git hooks, keeping a hook that is there already'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "uninstall" -d 'Take the hooks out again and put back what was there before'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "status" -d 'Tell whether the hooks are installed: 0 yes, 1 no'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "run" -d 'What a hook\'s stub calls, with git\'s own arguments'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "install" -d 'Install this tool\'s git hooks, keeping a hook that is there already'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "uninstall" -d 'Take the hooks out again and put back what was there before'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "status" -d 'Tell whether the hooks are installed: 0 yes, 1 no'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "run" -d 'What a hook\'s stub calls, with git\'s own arguments'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -l root -d 'The ledger\'s directory: `worktree` (thoughts/shared/handoffs in this one), `main` (in the main checkout) or a path [env: LEDGER_SYNTH_ROOT] [default: worktree]' -r -F
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -l retention -d 'How long `prune` keeps archived events, such as 7d, or never to delete none [env: LEDGER_SYNTH_RETENTION] [default: 7d]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -l session-window -d 'Leave things said in earlier sessions out: how far This Session reaches back from the newest event [env: LEDGER_SYNTH_SESSION_WINDOW] [default: no limit]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -l min-interval -d 'With --commit: how long after the ledger\'s last commit the next one may come [env: LEDGER_SYNTH_MIN_INTERVAL] [default: 30m, for checkpoints]' -r
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -s v -l verbose -d 'Say more'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand config" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "add" -d 'Write an event and print its path'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "banner" -d 'Synthesise, then print what a session needs to know at its start'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "archive" -d 'Fold events into one snapshot and move them to `archive/`; `current.md` stays as it is'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "prune" -d 'Delete archived events that a snapshot covers and that are older than --retention'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "explain" -d 'Tell who said something, when, and what it replaced, newest first: 1 when nobody did'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "conflicts" -d 'List what agents disagreed on, and what counts'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "retract" -d 'Disown one event, by writing another that says so: 1 when it is folded into a snapshot already'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "lint" -d 'Check event files: 0 all well-formed, 2 not'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "migrate" -d 'Turn handoff files of other shapes into events, which are left where they are'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "merge-driver" -d 'What git calls to merge `current.md`: both sides\' events come to one file'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "install" -d 'Set up git in this repository: merge driver, attributes, hooks'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "doctor" -d 'Tell what is missing or wrong, and what mends it: 0 nothing, 1 something'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "hook" -d 'Synthesise after merges and rebases, check before a push'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "config" -d 'Print the settings in force, each with its source'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and not __fish_seen_subcommand_from add banner archive prune explain conflicts retract lint migrate merge-driver install doctor hook config help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "install" -d 'Install this tool\'s git hooks, keeping a hook that is there already'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "uninstall" -d 'Take the hooks out again and put back what was there before'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "status" -d 'Tell whether the hooks are installed: 0 yes, 1 no'
complete -c ledger-synth -n "__fish_ledger_synth_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "run" -d 'What a hook\'s stub calls, with git\'s own arguments'
