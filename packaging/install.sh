#!/bin/sh
# Installs shopfloor @VERSION@ without root and without a compiler, or takes it away again:
#
#   curl -fsSL @URL@/install.sh | sh
#   sh install.sh [--prefix DIR] [--base-url URL]     # DIR is ~/.local
#   sh install.sh --uninstall [--prefix DIR]
#
# Everything is between braces, so that a script that was cut off in transit does nothing.

{
set -eu

fail() {
    printf 'install.sh: error: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf '  hint: %s\n' "$2" >&2
    exit 1
}

# The files that a release may have, so that nothing else below the prefix is ever replaced or deleted.
is_ours() {
    case "/$1/" in */../* | *//*/* | */./*) return 1 ;; esac
    # Nothing of ours is deeper, where a directory could be a link.
    case "$1" in
        bin/*/* | share/man/man1/*/* | share/bash-completion/completions/*/* | share/zsh/site-functions/*/*) return 1 ;;
        share/fish/vendor_completions.d/*/* | share/doc/shopfloor/*/* | share/shopfloor/*/*) return 1 ;;
    esac
    case "$1" in
        bin/shopfloor | bin/sweatfile-apply | bin/overlay-sync | bin/ledger-synth | bin/worktree-spawn | bin/worker-ctl) ;;
        share/man/man1/*.1 | share/bash-completion/completions/* | share/zsh/site-functions/_*) ;;
        share/fish/vendor_completions.d/*.fish | share/doc/shopfloor/* | share/shopfloor/*) ;;
        *) return 1 ;;
    esac
}

sum_of() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum < "$1" | cut -d ' ' -f 1
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 < "$1" | cut -d ' ' -f 1
    else
        fail "there is no sha256sum and no shasum to check the download with" "install one of them"
    fi
}

fetch() {
    if command -v curl >/dev/null 2>&1; then
        curl --fail --silent --show-error --location --connect-timeout 30 --speed-limit 1 --speed-time 30 --output "$2" "$1"
    elif command -v wget >/dev/null 2>&1; then
        wget -q -t 2 -T 30 -O "$2" "$1"
    else
        fail "there is no curl and no wget to download with" "install one of them"
    fi
}

# Writes each installed file, with the sum that it had, one per line.
list_of() {
    (cd "$1" && find . -type f | sed 's,^\./,,' | sort | while IFS= read -r file; do
        printf '%s  %s\n' "$(sum_of "$file")" "$file"
    done)
}

target() {
    os=$(uname -s) arch=$(uname -m)
    case "$arch" in
        x86_64 | amd64) arch=x86_64 ;;
        aarch64 | arm64) arch=aarch64 ;;
        *) fail "there are no binaries for the processor $arch" "build them: @REPOSITORY@#from-source" ;;
    esac
    case "$os" in
        Linux) printf '%s\n' "$arch-unknown-linux-gnu" ;;
        Darwin) printf '%s\n' "$arch-apple-darwin" ;;
        *) fail "there are no binaries for $os" "shopfloor runs on Linux and macOS" ;;
    esac
}

# Whether version $1 is at least version $2: 2.36, 2.9.
is_at_least() {
    [ "$(printf '%s\n%s\n' "$1" "$2" | sort -t . -k 1,1n -k 2,2n | head -n 1)" = "$2" ]
}

# The name of the tarball for this machine, as the list of sums has it. A name may end with the glibc that it needs.
tarball_in() {
    name=$(sed -n "s/^[0-9a-f]\{64\} [ *]\(shopfloor-@VERSION@-$2[a-z0-9.-]*\.tar\.xz\)\$/\1/p" "$1" | head -n 1)
    [ -n "$name" ] || fail "the release has no binaries for $2" "build them: @REPOSITORY@#from-source"
    needs=$(printf '%s\n' "$name" | sed -n 's/.*-glibc\([0-9.]*\)\.tar\.xz$/\1/p')
    case "$2" in *-linux-gnu) needs=${needs:-@GLIBC@} ;; esac
    if [ -n "$needs" ]; then
        has=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/^glibc //') || has=
        [ -n "$has" ] || fail "the binaries need glibc $needs, and this system has another C library"
        is_at_least "$has" "$needs" || fail "the binaries need glibc $needs or newer, and this system has $has" "build them: @REPOSITORY@#from-source"
    fi
    printf '%s\n' "$name"
}

install_all() {
    what=$(target)
    mkdir -p "$prefix" 2>/dev/null && [ -w "$prefix" ] || fail "cannot write to $prefix" "choose another directory: \`--prefix DIR\`"
    # Below the prefix, so that each file comes by a rename.
    scratch=$(mktemp -d "$prefix/.shopfloor-install.XXXXXX") || fail "cannot write to $prefix" "choose another directory: \`--prefix DIR\`"
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    fetch "$base_url/SHA256SUMS" "$scratch/SHA256SUMS" || fail "cannot download $base_url/SHA256SUMS"
    name=$(tarball_in "$scratch/SHA256SUMS" "$what") || exit 1
    fetch "$base_url/$name" "$scratch/$name" || fail "cannot download $base_url/$name"
    wanted=$(grep -F " $name" "$scratch/SHA256SUMS" | head -n 1 | cut -d ' ' -f 1)
    got=$(sum_of "$scratch/$name")
    [ "$wanted" = "$got" ] || fail "$name is damaged or not what was published: its SHA-256 is $got, and not $wanted" "run the command again; if that does not help, tell us: @REPOSITORY@/issues"
    mkdir "$scratch/tree"
    tar -xJf "$scratch/$name" -C "$scratch/tree" || fail "cannot unpack $name" "install tar and xz"
    set -- "$scratch"/tree/*
    tree=$1
    printf 'install.sh\n' > "$scratch/origin"
    mkdir -p "$tree/share/shopfloor"
    mv "$scratch/origin" "$tree/share/shopfloor/origin"
    list_of "$tree" > "$scratch/list"
    # All are looked at before the first is replaced.
    while read -r _ file; do
        is_ours "$file" || fail "the release has a file that it should not have: $file"
        if [ -e "$prefix/$file" ] || [ -L "$prefix/$file" ]; then
            grep -q "^[0-9a-f]*  $file\$" "$list" 2>/dev/null || fail "$prefix/$file is there already, and not ours" "remove it, or choose another directory: \`--prefix DIR\`"
            [ -f "$prefix/$file" ] && [ ! -L "$prefix/$file" ] && grep -qxF "$(sum_of "$prefix/$file")  $file" "$list" ||
                fail "$prefix/$file has changed since it was installed" "remove it, or choose another directory: \`--prefix DIR\`"
        fi
    done < "$scratch/list"
    # Whoever is killed meanwhile finds both lists, and may run this again or take it away.
    mkdir -p "$(dirname "$list")"
    { [ ! -f "$list" ] || cat "$list"; cat "$scratch/list"; } | sort -u > "$scratch/both"
    cp "$scratch/both" "$scratch/before"
    mv -f "$scratch/both" "$list"
    while read -r _ file; do
        mkdir -p "$(dirname "$prefix/$file")"
        mv -f "$tree/$file" "$prefix/$file"
    done < "$scratch/list"
    # What an earlier version had, and this one has no more.
    while read -r sum file; do
        grep -q "^[0-9a-f]*  $file\$" "$scratch/list" || take_away "$sum" "$file" || :
    done < "$scratch/before"
    mv -f "$scratch/list" "$list"
    echo "installed shopfloor @VERSION@ in $prefix/bin, with man pages and completions below $prefix/share"
    case ":$PATH:" in *":$prefix/bin:"*) ;; *) echo "add $prefix/bin to your PATH" ;; esac
    echo "to undo it: curl -fsSL $base_url/install.sh | sh -s -- --uninstall --prefix '$prefix'"
}

# Deletes a file that we installed, as it was then.
take_away() {
    if ! is_ours "$2"; then
        echo "kept $prefix/$2, which is not ours" >&2
        return 1
    elif [ -L "$prefix/$2" ] || { [ -e "$prefix/$2" ] && [ "$(sum_of "$prefix/$2")" != "$1" ]; }; then
        echo "kept $prefix/$2, which has changed" >&2
        return 1
    fi
    rm -f "$prefix/$2"
}

uninstall_all() {
    [ -f "$list" ] || fail "nothing is installed in $prefix" "name the directory: \`--prefix DIR\`"
    command -v sha256sum >/dev/null 2>&1 || command -v shasum >/dev/null 2>&1 ||
        fail "there is no sha256sum and no shasum to see what has changed" "install one of them"
    kept=0
    while read -r sum file; do
        take_away "$sum" "$file" || kept=1
    done < "$list"
    rm -f "$list"
    # Directories that others use are not empty.
    for dir in share/shopfloor share/doc/shopfloor share/doc share/man/man1 share/man share/bash-completion/completions \
        share/bash-completion share/zsh/site-functions share/zsh share/fish/vendor_completions.d share/fish share bin; do
        rmdir "$prefix/$dir" 2>/dev/null || :
    done
    echo "removed shopfloor from $prefix"
    exit "$kept"
}

main() {
    prefix=${HOME:+$HOME/.local} base_url=@URL@ action=install_all
    while [ $# -gt 0 ]; do
        case "$1" in
            --prefix | --base-url)
                [ $# -gt 1 ] || fail "a value is required for $1"
                if [ "$1" = --prefix ]; then prefix=$2; else base_url=${2%/}; fi
                shift
                ;;
            --uninstall) action=uninstall_all ;;
            *) fail "unexpected argument $1" "it takes --prefix DIR, --base-url URL and --uninstall" ;;
        esac
        shift
    done
    [ -n "$prefix" ] || fail "HOME is not set, or --prefix is empty" "name a directory: \`--prefix DIR\`"
    case "$prefix" in /*) ;; *) prefix=$PWD/$prefix ;; esac
    list=$prefix/share/shopfloor/installed
    "$action"
}

main "$@"
}
