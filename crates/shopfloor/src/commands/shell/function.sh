shopfloor() {
    local shopfloor_word shopfloor_verb= shopfloor_skip= shopfloor_dir shopfloor_exit
    for shopfloor_word in "$@"; do
        if [ -n "$shopfloor_skip" ]; then shopfloor_skip=; continue; fi
        case "$shopfloor_word" in
            -h|--help|--json) shopfloor_verb=; break ;;
            -C|--color) shopfloor_skip=1 ;;
            -*) ;;
            *) shopfloor_verb=${shopfloor_verb:-$shopfloor_word} ;;
        esac
    done
    [ "$shopfloor_verb" != open ] || shopfloor_verb=go
    # Where the answer is read by a program, it is the path.
    [ -t 1 ] || [ "$shopfloor_verb" != go ] || shopfloor_verb=
    case "$shopfloor_verb" in
        go)
            shopfloor_dir=$(SHOPFLOOR_FUNCTION=1 command shopfloor "$@") && cd -- "$shopfloor_dir" ;;
        rm|done|remove)
            shopfloor_dir=$(command shopfloor go 2>/dev/null)
            SHOPFLOOR_FUNCTION=1 command shopfloor "$@"
            shopfloor_exit=$?
            [ -d "$PWD" ] || cd -- "$shopfloor_dir" || true
            return "$shopfloor_exit" ;;
        *) command shopfloor "$@" ;;
    esac
}
