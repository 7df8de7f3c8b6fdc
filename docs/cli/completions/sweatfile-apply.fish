# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_sweatfile_apply_global_optspecs
    string join \n C= n/dry-run json q/quiet v/verbose color= area= repo-root= yes no-setup setup-again h/help V/version
end

function __fish_sweatfile_apply_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_sweatfile_apply_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_sweatfile_apply_using_subcommand
    set -l cmd (__fish_sweatfile_apply_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -l yes -d 'Approve the repository\'s sweatfile for this run only'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -l no-setup -d 'Skip the setup commands'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -l setup-again -d 'Run the setup commands even if they finished before'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -s V -l version -d 'Print version'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -f -a "apply" -d 'Set up this worktree (the default)'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -f -a "check" -d 'Check whether this worktree matches its sweatfiles: exit 0 yes, 1 drift'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -f -a "show" -d 'Print the merged result as TOML'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -f -a "init" -d 'Write a commented starter sweatfile into the main checkout'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -f -a "approve" -d 'Approve the repository\'s sweatfile as it is now, for all worktrees of this clone'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -f -a "approvals" -d 'List the repository\'s files that need approval, and whether they have it'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -f -a "revoke" -d 'Revoke every approval of this clone'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -f -a "env" -d 'Review the changes to .sweatshop-env since a snapshot'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -f -a "remove" -d 'Remove what apply placed and nobody changed since'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -f -a "doctor" -d 'Show what is wrong with the records of this worktree, and how to repair it: exit 0 if nothing is, 1 if something is'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -f -a "hook" -d 'Set up every worktree that `git worktree add` creates'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -f -a "config" -d 'Print the settings in force, each with its source'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand apply" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand apply" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand apply" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand apply" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand apply" -l yes -d 'Approve the repository\'s sweatfile for this run only'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand apply" -l no-setup -d 'Skip the setup commands'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand apply" -l setup-again -d 'Run the setup commands even if they finished before'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand apply" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand apply" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand apply" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand apply" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand check" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand check" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand check" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand check" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand check" -l strict -d 'Treat a misplaced `setup` or `git_excludes` as an error'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand check" -l all -d 'Check all worktrees of the repository; each line begins with the worktree\'s path'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand check" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand check" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand check" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand check" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand show" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand show" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand show" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand show" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand show" -l layers -d 'Print each layer with its path instead, and whether it exists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand show" -l reveal -d 'Print env values and file contents too'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand show" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand show" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand show" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand show" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand init" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand init" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand init" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand init" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand init" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand init" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand init" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand init" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approve" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approve" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approve" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approve" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approve" -l yes -d 'Approve without asking, and print what is trusted'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approve" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approve" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approve" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approve" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approvals" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approvals" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approvals" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approvals" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approvals" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approvals" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approvals" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approvals" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand approvals" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand revoke" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand revoke" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand revoke" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand revoke" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand revoke" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand revoke" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand revoke" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand revoke" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand revoke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and not __fish_seen_subcommand_from snapshot diff review help" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and not __fish_seen_subcommand_from snapshot diff review help" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and not __fish_seen_subcommand_from snapshot diff review help" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and not __fish_seen_subcommand_from snapshot diff review help" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and not __fish_seen_subcommand_from snapshot diff review help" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and not __fish_seen_subcommand_from snapshot diff review help" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and not __fish_seen_subcommand_from snapshot diff review help" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and not __fish_seen_subcommand_from snapshot diff review help" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and not __fish_seen_subcommand_from snapshot diff review help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and not __fish_seen_subcommand_from snapshot diff review help" -f -a "snapshot" -d 'Take a snapshot of .sweatshop-env, unless an earlier one is not yet reviewed'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and not __fish_seen_subcommand_from snapshot diff review help" -f -a "diff" -d 'List what was added or changed since the snapshot'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and not __fish_seen_subcommand_from snapshot diff review help" -f -a "review" -d 'Decide about each change: promote it into the repository\'s sweatfile, keep it here, or discard it'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and not __fish_seen_subcommand_from snapshot diff review help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from snapshot" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from snapshot" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from snapshot" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from snapshot" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from snapshot" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from snapshot" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from snapshot" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from snapshot" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from snapshot" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from diff" -l removed -d 'List what removed worktrees had added instead; PATH or TIME selects one of them' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from diff" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from diff" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from diff" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from diff" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from diff" -l reveal -d 'Print the values too'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from diff" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from diff" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from diff" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from diff" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from review" -l promote -d 'Write this variable into the repository\'s sweatfile' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from review" -l keep -d 'Keep this variable in this worktree only' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from review" -l discard -d 'Restore the old value, or remove an added variable' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from review" -l removed -d 'Decide about what removed worktrees had added; PATH or TIME selects one of them' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from review" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from review" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from review" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from review" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from review" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from review" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from review" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from review" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from review" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from help" -f -a "snapshot" -d 'Take a snapshot of .sweatshop-env, unless an earlier one is not yet reviewed'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from help" -f -a "diff" -d 'List what was added or changed since the snapshot'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from help" -f -a "review" -d 'Decide about each change: promote it into the repository\'s sweatfile, keep it here, or discard it'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand env; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand remove" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand remove" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand remove" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand remove" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand remove" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand remove" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand remove" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand remove" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand doctor" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand doctor" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand doctor" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand doctor" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand doctor" -l repair -d 'Repair everything that can be repaired without losing anything; asks first, and exits with 3 if nobody can be asked'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand doctor" -l yes -d 'Do not ask for confirmation'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand doctor" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand doctor" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand doctor" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand doctor" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "install" -d 'Install this tool\'s git hooks, keeping a hook that is there already'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "uninstall" -d 'Take the hooks out again and put back what was there before'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "status" -d 'Tell whether the hooks are installed: 0 yes, 1 no'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "run" -d 'Run a hook as its stub does, with git\'s own arguments'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and not __fish_seen_subcommand_from install uninstall status run help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from install" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from install" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from install" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from install" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from install" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from install" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from install" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from install" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from install" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from uninstall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from status" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from status" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from status" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from status" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from status" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from status" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from status" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from run" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from run" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from run" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from run" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from run" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from run" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from run" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "install" -d 'Install this tool\'s git hooks, keeping a hook that is there already'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "uninstall" -d 'Take the hooks out again and put back what was there before'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "status" -d 'Tell whether the hooks are installed: 0 yes, 1 no'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run a hook as its stub does, with git\'s own arguments'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand hook; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand config" -l area -d 'Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand config" -l repo-root -d 'Read the repository layer from DIR/sweatfile instead of the main checkout\'s' -r -F
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand config" -s C -d 'Run as if started in DIR; a second one starts from the first' -r
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand config" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal'
always\t'Always'
never\t'Never'"
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand config" -s n -l dry-run -d 'Show what would be done and change nothing'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand config" -l json -d 'Answer in JSON: one document, or JSON Lines for lists'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand config" -s q -l quiet -d 'Leave notices out; warnings and errors stay'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand config" -s v -l verbose -d 'Say more'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand config" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and not __fish_seen_subcommand_from apply check show init approve approvals revoke env remove doctor hook config help" -f -a "apply" -d 'Set up this worktree (the default)'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and not __fish_seen_subcommand_from apply check show init approve approvals revoke env remove doctor hook config help" -f -a "check" -d 'Check whether this worktree matches its sweatfiles: exit 0 yes, 1 drift'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and not __fish_seen_subcommand_from apply check show init approve approvals revoke env remove doctor hook config help" -f -a "show" -d 'Print the merged result as TOML'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and not __fish_seen_subcommand_from apply check show init approve approvals revoke env remove doctor hook config help" -f -a "init" -d 'Write a commented starter sweatfile into the main checkout'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and not __fish_seen_subcommand_from apply check show init approve approvals revoke env remove doctor hook config help" -f -a "approve" -d 'Approve the repository\'s sweatfile as it is now, for all worktrees of this clone'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and not __fish_seen_subcommand_from apply check show init approve approvals revoke env remove doctor hook config help" -f -a "approvals" -d 'List the repository\'s files that need approval, and whether they have it'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and not __fish_seen_subcommand_from apply check show init approve approvals revoke env remove doctor hook config help" -f -a "revoke" -d 'Revoke every approval of this clone'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and not __fish_seen_subcommand_from apply check show init approve approvals revoke env remove doctor hook config help" -f -a "env" -d 'Review the changes to .sweatshop-env since a snapshot'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and not __fish_seen_subcommand_from apply check show init approve approvals revoke env remove doctor hook config help" -f -a "remove" -d 'Remove what apply placed and nobody changed since'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and not __fish_seen_subcommand_from apply check show init approve approvals revoke env remove doctor hook config help" -f -a "doctor" -d 'Show what is wrong with the records of this worktree, and how to repair it: exit 0 if nothing is, 1 if something is'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and not __fish_seen_subcommand_from apply check show init approve approvals revoke env remove doctor hook config help" -f -a "hook" -d 'Set up every worktree that `git worktree add` creates'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and not __fish_seen_subcommand_from apply check show init approve approvals revoke env remove doctor hook config help" -f -a "config" -d 'Print the settings in force, each with its source'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and not __fish_seen_subcommand_from apply check show init approve approvals revoke env remove doctor hook config help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and __fish_seen_subcommand_from env" -f -a "snapshot" -d 'Take a snapshot of .sweatshop-env, unless an earlier one is not yet reviewed'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and __fish_seen_subcommand_from env" -f -a "diff" -d 'List what was added or changed since the snapshot'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and __fish_seen_subcommand_from env" -f -a "review" -d 'Decide about each change: promote it into the repository\'s sweatfile, keep it here, or discard it'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "install" -d 'Install this tool\'s git hooks, keeping a hook that is there already'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "uninstall" -d 'Take the hooks out again and put back what was there before'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "status" -d 'Tell whether the hooks are installed: 0 yes, 1 no'
complete -c sweatfile-apply -n "__fish_sweatfile_apply_using_subcommand help; and __fish_seen_subcommand_from hook" -f -a "run" -d 'Run a hook as its stub does, with git\'s own arguments'
