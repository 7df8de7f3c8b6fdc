//! A text that a person writes in the editor of their choice.

use crate::env::Env;
use crate::error::{Failure, Result};
use crate::fs::{self, Temporary};
use crate::proc::{self, Cmd};

/// The text after the person has edited it in `$VISUAL`, else `$EDITOR`, else `vi`, as git takes them. Exit 2 if none is
/// named where no terminal can show `vi`, and 4 if the editor fails.
pub fn edit(env: &Env, text: &str) -> Result<String> {
    let mut named = ["VISUAL", "EDITOR"].iter().filter_map(|name| env.var(name)?.to_str());
    let editor = named.find(|name| !name.trim().is_empty());
    if editor.is_none() && !(env.can_ask && env.stdout_is_terminal) {
        return Err(Failure::usage("an editor needs a terminal")
            .hint("run the command on one, or name an editor that needs none with the variable EDITOR"));
    }
    let editor = editor.unwrap_or("vi");
    let file = Temporary::with(env, text.as_bytes())?;
    let sh = proc::find(env, "sh").ok_or_else(|| Failure::failed("sh is not on the PATH"))?;
    let status = Cmd::new(&sh, env).args(["-c", &format!("{editor} \"$@\""), editor]).arg(file.path()).foreground()?;
    if !status.success() {
        return Err(Failure::failed(format!("the editor `{editor}` ended with {status}"))
            .hint("choose another one with the variable EDITOR"));
    }
    let edited = fs::read_own(file.path())?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&edited).into_owned())
}
