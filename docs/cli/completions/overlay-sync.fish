# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_overlay_sync_global_optspecs
    string join \n C= n/dry-run json q/quiet v/verbose color= overlay= on-conflict= debounce-ms= max-wait-ms= enabled= merge-command= merge-timeout-ms= paths= review= h/help V/version
end

function __fish_overlay_sync_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_overlay_sync_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_overlay_sync_using_subcommand
    set -l cmd (__fish_overlay_sync_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -s V -l version -d 'Print version'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "attach" -d 'Copy the overlay into workspaces and keep them in step from now on'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "detach" -d 'Sync workspaces a last time, then leave them alone; without a path all of them'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "sync" -d 'Sync the overlay and all attached workspaces: 0 all in step, 1 something is held or conflicted'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "watch" -d 'Stay in the foreground and sync whenever something changes'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "add" -d 'Copy files into the overlay and manage them from now on'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "status" -d 'Show the state of every file in every workspace: hashes and reasons, never contents'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "check" -d 'Check whether every file is in step: exit 0 yes, 1 no'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "manifest" -d 'Print the hashes of what a workspace and the overlay last had in common'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "conflicts" -d 'List the conflicts that were decided, oldest first, then what is held'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "show" -d 'Print a displaced text byte for byte; for a conflict\'s id the losing side'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "restore" -d 'Put a displaced text back, or write it to another file'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "accept" -d 'Let a held text spread as it is'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "reject" -d 'Give the workspace the overlay\'s text instead of the held one, which is kept'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "drop" -d 'Remove an entry of a file everywhere: a key path, a variable, an item of a list, a whole line'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "log" -d 'Print what was synced, from where to where and by which rule'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "doctor" -d 'Show what is wrong with the overlay and its records, and how to repair it: exit 0 if nothing is, 1 if something is'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "hook" -d 'Attach every worktree that `git worktree add` creates'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "merge" -d 'Merge three files by what they mean: 0 clean, 1 conflicts or any failure'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "config" -d 'Print the settings in force, each with its source'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -s z -d 'Paths on stdin end with NUL'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand attach" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -s z -d 'Paths on stdin end with NUL'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand detach" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -l restore -d 'Refill a workspace whose files are all gone' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -s z -d 'Paths on stdin end with NUL'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand sync" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand watch" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand watch" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand watch" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand watch" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand watch" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand watch" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand watch" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand watch" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand watch" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand watch" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand watch" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand watch" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand watch" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand watch" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand watch" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand add" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand add" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand add" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand add" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand add" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand add" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand add" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand add" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand add" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand add" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand add" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand add" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand add" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand add" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand add" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -s z -d 'Paths on stdin end with NUL'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -s z -d 'Paths on stdin end with NUL'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand manifest" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand manifest" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand manifest" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand manifest" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand manifest" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand manifest" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand manifest" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand manifest" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand manifest" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand manifest" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand manifest" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand manifest" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand manifest" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand manifest" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand manifest" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand manifest" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand conflicts" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand conflicts" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand conflicts" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand conflicts" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand conflicts" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand conflicts" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand conflicts" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand conflicts" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand conflicts" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand conflicts" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand conflicts" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand conflicts" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand conflicts" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand conflicts" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand conflicts" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand conflicts" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand show" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand show" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand show" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand show" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand show" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand show" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand show" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand show" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand show" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand show" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand show" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand show" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand show" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand show" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand show" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -l to -d 'Write it to this new file instead; an existing file is not overwritten' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand restore" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand accept" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand accept" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand accept" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand accept" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand accept" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand accept" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand accept" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand accept" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand accept" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand accept" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand accept" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand accept" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand accept" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand accept" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand accept" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand accept" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand reject" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand reject" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand reject" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand reject" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand reject" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand reject" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand reject" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand reject" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand reject" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand reject" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand reject" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand reject" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand reject" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand reject" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand reject" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand reject" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand drop" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand drop" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand drop" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand drop" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand drop" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand drop" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand drop" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand drop" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand drop" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand drop" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand drop" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand drop" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand drop" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand drop" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand drop" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand drop" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -l since -d 'Start at a time, `30m` ago, after the record with this `seq`, or print `all`' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -l follow -d 'Print new records as they come, until ended'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand log" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -l repair -d 'Repair everything that can be repaired without losing anything; asks first, and exits with 3 if nobody can be asked'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -l yes -d 'Do not ask for confirmation'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "install" -d 'Install this tool\'s git hooks, keeping a hook that is there already'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "uninstall" -d 'Take the hooks out again and put back what was there before'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "status" -d 'Tell whether the hooks are installed: 0 yes, 1 no'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "run" -d 'Run a hook as its stub does, with git\'s own arguments'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from install" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from install" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from install" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from install" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from install" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from install" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from install" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from install" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from install" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from install" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from install" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from install" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from install" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from install" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from install" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from status" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from status" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from status" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from status" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from status" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from status" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from status" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from status" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from status" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from status" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from status" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from status" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from status" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from status" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from run" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from run" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from run" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from run" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from run" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from run" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from run" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from run" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from run" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from run" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from run" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from run" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from run" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from run" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "install" -d 'Install this tool\'s git hooks, keeping a hook that is there already'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "uninstall" -d 'Take the hooks out again and put back what was there before'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "status" -d 'Tell whether the hooks are installed: 0 yes, 1 no'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run a hook as its stub does, with git\'s own arguments'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l path -d 'Tell the file\'s type by this name instead of OVERLAY\'s' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l write -d 'Replace OVERLAY with the result instead of printing it'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand config" -l overlay -d 'The overlay\'s directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user\'s data]' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand config" -l on-conflict -d 'What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'
hold\t'A person\'s: the file waits'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand config" -l debounce-ms -d 'How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand config" -l max-wait-ms -d 'How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand config" -l enabled -d 'Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand config" -l merge-command -d 'A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand config" -l merge-timeout-ms -d 'How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand config" -l paths -d 'Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand config" -l review -d 'Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand config" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand config" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand config" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand config" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand config" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand config" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand config" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "attach" -d 'Copy the overlay into workspaces and keep them in step from now on'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "detach" -d 'Sync workspaces a last time, then leave them alone; without a path all of them'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "sync" -d 'Sync the overlay and all attached workspaces: 0 all in step, 1 something is held or conflicted'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "watch" -d 'Stay in the foreground and sync whenever something changes'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "add" -d 'Copy files into the overlay and manage them from now on'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "status" -d 'Show the state of every file in every workspace: hashes and reasons, never contents'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "check" -d 'Check whether every file is in step: exit 0 yes, 1 no'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "manifest" -d 'Print the hashes of what a workspace and the overlay last had in common'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "conflicts" -d 'List the conflicts that were decided, oldest first, then what is held'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "show" -d 'Print a displaced text byte for byte; for a conflict\'s id the losing side'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "restore" -d 'Put a displaced text back, or write it to another file'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "accept" -d 'Let a held text spread as it is'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "reject" -d 'Give the workspace the overlay\'s text instead of the held one, which is kept'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "drop" -d 'Remove an entry of a file everywhere: a key path, a variable, an item of a list, a whole line'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "log" -d 'Print what was synced, from where to where and by which rule'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "doctor" -d 'Show what is wrong with the overlay and its records, and how to repair it: exit 0 if nothing is, 1 if something is'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "hook" -d 'Attach every worktree that `git worktree add` creates'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "merge" -d 'Merge three files by what they mean: 0 clean, 1 conflicts or any failure'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "config" -d 'Print the settings in force, each with its source'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from attach detach sync watch add status check manifest conflicts show restore accept reject drop log doctor hook merge config help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "install" -d 'Install this tool\'s git hooks, keeping a hook that is there already'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "uninstall" -d 'Take the hooks out again and put back what was there before'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "status" -d 'Tell whether the hooks are installed: 0 yes, 1 no'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "run" -d 'Run a hook as its stub does, with git\'s own arguments'
