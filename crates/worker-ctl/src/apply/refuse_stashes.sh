#!/bin/sh
# worker-ctl: the list of stashes is shared by all workers, so nothing new is put on it.
[ "$1" = prepared ] || exit 0
while read -r old new ref; do
  case $ref:$new in
  refs/stash:*[!0]*)
    dir=$(git rev-parse --git-dir)
    for own in rebase-merge/autostash rebase-apply/autostash MERGE_AUTOSTASH; do
      [ ! -e "$dir/$own" ] || exit 0
    done
    echo "worker-ctl: all workers share the list of stashes; make a commit instead" >&2
    exit 1
    ;;
  esac
done
