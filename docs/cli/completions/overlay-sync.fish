# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_overlay_sync_global_optspecs
    string join \n C= json q/quiet v/verbose color= h/help V/version
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
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -s V -l version -d 'Print version'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "merge" -d 'Merge three files by what they mean: 0 clean, 1 conflicts or any failure'
complete -c overlay-sync -n "__fish_overlay_sync_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l path -d 'The name to tell the file\'s type by, when the three have others' -r -F
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l on-conflict -d 'Which side decides what conflicts' -r -f -a "workspace\t'The workspace\'s: last write wins'
overlay\t'The overlay\'s'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l write -d 'Replace OVERLAY by the result instead of printing it'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -s v -l verbose -d 'Say more'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand merge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from merge help" -f -a "merge" -d 'Merge three files by what they mean: 0 clean, 1 conflicts or any failure'
complete -c overlay-sync -n "__fish_overlay_sync_using_subcommand help; and not __fish_seen_subcommand_from merge help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
