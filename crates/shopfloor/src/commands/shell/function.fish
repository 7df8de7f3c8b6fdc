function shopfloor
    set -l verb
    set -l skip 0
    for word in $argv
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case -h --help --json
                set verb
                break
            case -C --color
                set skip 1
            case '-*'
            case '*'
                set -q verb[1]; or set verb $word
        end
    end
    test "$verb" = open; and set verb go
    # Where the answer is read by a program, it is the path.
    if test "$verb" = go; and not isatty stdout
        set verb
    end
    switch "$verb"
        case go
            set -l dir (SHOPFLOOR_FUNCTION=1 command shopfloor $argv)
            and cd -- $dir
        case rm done remove
            set -l dir (command shopfloor go 2>/dev/null)
            SHOPFLOOR_FUNCTION=1 command shopfloor $argv
            set -l code $status
            test -d "$PWD"; or cd -- $dir
            return $code
        case '*'
            command shopfloor $argv
    end
end
