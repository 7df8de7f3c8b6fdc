//! Asks the merge command about three texts, and checks its answer.

use std::path::Path;

use shopfloor_core::config::Line;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::path::RelPath;
use shopfloor_core::proc::{self, Cmd};

use crate::facts::overlay::Overlay;
use crate::merge::{self, MergeInput};

/// What the command answered, or in words why that cannot be taken.
pub type CommandAnswer = std::result::Result<Vec<u8>, String>;

/// Asks the overlay's merge command about the three texts of a file. It runs in the main checkout, and its output is
/// collected in the overlay's state.
pub fn ask(overlay: &Overlay, path: &RelPath, input: &MergeInput<'_>) -> Result<CommandAnswer> {
    let env = &overlay.env;
    let Some(program) = &overlay.settings.merge_command else { return Ok(Err("is not set".into())) };
    let base = fs::Temporary::with(env, input.base.unwrap_or_default())?;
    let (current, workspace) = (fs::Temporary::with(env, input.overlay)?, fs::Temporary::with(env, input.workspace)?);
    let command = match program {
        Line::Shell(line) => proc::shell(env, line)?,
        Line::Argv(argv) => {
            let [name, args @ ..] = argv.as_slice() else { return Ok(Err("is empty".into())) };
            let named = Path::new(name);
            let found = if named.is_absolute() { Some(named.to_path_buf()) } else { proc::find(env, name) };
            let Some(found) = found else { return Ok(Err(format!("{name} is not on the PATH"))) };
            Cmd::new(&found, env).args(args)
        }
    };
    let command = command
        .dir(&overlay.repo.home.checkout)
        .var("OVERLAY_SYNC_BASE", base.path())
        .var("OVERLAY_SYNC_CURRENT", current.path())
        .var("OVERLAY_SYNC_WORKSPACE", workspace.path())
        .var("OVERLAY_SYNC_PATH", path.as_path())
        .input(prompt(input));
    let scratch = fs::scratch(&overlay.store.staging())?;
    let Some(output) = command.capture_within(scratch, overlay.settings.merge_timeout, merge::limit(input))? else {
        return Ok(Err("took too long or wrote too much".into()));
    };
    if !output.status.success() {
        return Ok(Err(format!("failed with {}", output.status)));
    }
    Ok(match merge::check(input, &output.stdout) {
        None => Ok(output.stdout),
        Some(why) => Err(format!("gave an answer that {why}")),
    })
}

/// What the command reads on stdin.
fn prompt(input: &MergeInput<'_>) -> Vec<u8> {
    let head = "Merge these two versions of a configuration file. Both have been
modified independently from a common base.

Rules:
- For JSON files with arrays: union the arrays (keep all unique entries)
- For key-value settings: keep entries from both versions
- Never remove entries that exist in either version
- If values conflict for the same key, prefer VERSION B (the workspace version)
- Output ONLY the merged file content, no explanation or markdown fencing

VERSION A (current overlay):
";
    let between = b"\nVERSION B (workspace modification):\n".as_slice();
    [head.as_bytes(), input.overlay, between, input.workspace, b"\n"].concat()
}
