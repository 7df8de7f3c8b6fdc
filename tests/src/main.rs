//! All tools in one binary, which chooses one by the name that it is called by. The tests link it under each tool's
//! name.

use std::process::ExitCode;

fn main() -> ExitCode {
    let argv0 = std::env::args_os().next().unwrap_or_default();
    let name = std::path::Path::new(&argv0).file_name().unwrap_or_default().to_os_string();
    match name.to_str() {
        Some("ledger-synth") => ledger_synth::main(),
        Some("overlay-sync") => overlay_sync::main(),
        Some("shopfloor") => shopfloor::main(),
        Some("sweatfile-apply") => sweatfile_apply::main(),
        Some("worker-ctl") => worker_ctl::main(),
        Some("worktree-spawn") => worktree_spawn::main(),
        _ => {
            eprintln!("it: no tool is called {name:?}");
            ExitCode::from(2)
        }
    }
}
