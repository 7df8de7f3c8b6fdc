//! How a clone is set up for a ledger: the merge driver and its attribute, in git's configuration.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::git::{Git, nul_fields};
use shopfloor_core::git_hook::{self, own_path};

use super::{CURRENT, Ledger};
use crate::tool::TOOL;

/// The name of the driver in git's attributes.
pub const DRIVER_NAME: &str = "ledger-synth";

const COMMAND: &str = "ledger-synth merge-driver %O %A %B --path %P --label %Y";

/// The settings of the driver in git's configuration: its description, and the command it runs.
pub fn driver() -> [(&'static str, String); 2] {
    let path = own_path().replace('\n', "; ");
    // git would fill something in.
    let path = if path.contains('%') { "" } else { &path };
    [
        ("merge.ledger-synth.name", "both sides' events in one ledger".to_owned()),
        ("merge.ledger-synth.driver", format!("{path}{COMMAND}")),
    ]
}

/// Whether some copy of this program has set this: nothing runs but it, from some directory.
pub fn is_ours(name: &str, value: &str) -> bool {
    let is_dir = |word: &str| !word.contains(|c: char| c.is_whitespace() || "$`;&|()<>\\\"".contains(c));
    let path = value.strip_suffix(COMMAND).and_then(|path| path.strip_prefix("PATH=")?.strip_suffix(":$PATH; "));
    value == COMMAND || path.is_some_and(is_dir) || driver().iter().any(|(own, set)| *own == name && set == value)
}

/// Whether somebody has set this repository up for a ledger, wherever that is: the driver is configured, or a hook runs.
pub fn is_set_up(env: &Env) -> Result<bool> {
    let (git, repo) = Git::here(env)?;
    let [_, (setting, _)] = driver();
    let mut is_set_up = git.config(&repo.git_dir, setting, None)?.is_some();
    for hook in git_hook::of(TOOL) {
        is_set_up |= git_hook::wanted(&git, &repo, hook, false)?.contains(&TOOL);
    }
    Ok(is_set_up)
}

/// Reads a setting of git's configuration.
pub fn git_setting(ledger: &Ledger, name: &str) -> Result<Option<String>> {
    let value = ledger.git.config(&ledger.repo.git_dir, name, None)?;
    Ok(value.map(|value| value.to_string_lossy().into_owned()))
}

/// The line of `.gitignore` for a ledger whose page is not in git: a pattern, in which some characters have a meaning.
pub fn ignore_line(ledger: &Ledger) -> Result<String> {
    if ledger.in_tree().is_none() {
        return Err(Failure::usage(format!("{} is not in a work tree", ledger.dir.display())));
    }
    Ok(ledger.rel(CURRENT)?.pattern())
}

/// Whether `current.md` is in git's index.
pub fn is_current_tracked(ledger: &Ledger) -> Result<bool> {
    let Some(prefix) = ledger.in_tree() else { return Ok(false) };
    let path = prefix.as_path().join(CURRENT).into_os_string();
    Ok(!ledger.git.ls_files(ledger.top.path(), &["--cached".into(), "--".into(), path])?.is_empty())
}

/// The line of `.gitattributes` for this ledger.
pub fn attribute_line(ledger: &Ledger) -> Result<String> {
    let path = ignore_line(ledger)?;
    // A blank ends a pattern unless it is quoted.
    let is_plain = !path.contains([' ', '\t', '"', '\\']);
    let path = if is_plain { path } else { format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\"")) };
    Ok(format!("{path} merge={DRIVER_NAME} text eol=lf"))
}

/// The merge driver that git would use for a path.
pub fn merge_attribute(ledger: &Ledger, path: &str) -> Result<String> {
    let output = ledger.git.cmd(ledger.top.path()).args(["check-attr", "-z", "merge", "--", path]).capture()?;
    Ok(nul_fields(&output.stdout).nth(2).map(|value| String::from_utf8_lossy(value).into_owned()).unwrap_or_default())
}
