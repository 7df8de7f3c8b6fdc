complete --keep-order --exclusive --command shopfloor --arguments "(SHOPFLOOR_COMPLETE=fish shopfloor -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
