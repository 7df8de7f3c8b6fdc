complete --keep-order --exclusive --command worker-ctl --arguments "(SHOPFLOOR_COMPLETE=fish worker-ctl -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
