//! What a sweatfile asks for, as a person reads it before approving.

use shopfloor_core::path::RelPath;
use shopfloor_core::text::is_like;

use crate::env_variable;
use crate::sweatfile::{Body, Sweatfile};

impl Sweatfile {
    /// The requests of the sweatfile, as a person reads them before approving: with the contents of files, and which of those
    /// run code. Values of variables are left out.
    pub fn requests(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.setup.iter().flatten().map(|step| format!("  run      {}{}", step.run, step.note())).collect();
        lines.extend(self.teardown.iter().flatten().map(|command| format!("  run      {command}   (when it goes)")));
        for (path, entry) in &self.files {
            let (line, text) = match &entry.body {
                Body::Clear => (format!("  drop     {path}"), ""),
                Body::Source(source) => (format!("  link     {path} -> {source}"), ""),
                Body::Copy(source) => (format!("  copy     {path} from {source}"), ""),
                Body::Content { text, .. } => (format!("  write    {path}"), text.as_str()),
            };
            let note = if runs_code(path, text) { "   (programs run what it says)" } else { "" };
            lines.push(format!("{line}{note}"));
            lines.extend(text.lines().map(|line| format!("             {line}")));
        }
        lines.extend(self.caches.iter().map(|(path, cache)| match (cache.is_cleared, cache.is_linked) {
            (true, _) => format!("  drop     {path}"),
            (false, true) => format!("  link     {path} -> the main checkout's, file by file"),
            (false, false) => format!("  copy     {path} from the main checkout"),
        }));
        lines.extend(self.env.iter().map(|(name, value)| match (value.is_empty(), env_variable::danger_note(name)) {
            (true, _) => format!("  unset    {name}"),
            (false, None) => format!("  set      {name}"),
            (false, Some(note)) => format!("  set      {name}   {note}"),
        }));
        lines.extend(self.git_excludes.iter().flatten().map(|pattern| format!("  exclude  {pattern}")));
        let lists = [("teardown", &self.teardown), ("git_excludes", &self.git_excludes)];
        let cleared = lists.into_iter().filter(|(_, list)| list.as_ref().is_some_and(Vec::is_empty));
        let setup = self.setup.as_ref().filter(|steps| steps.is_empty()).map(|_| "setup");
        let cleared = setup.into_iter().chain(cleared.map(|(name, _)| name));
        lines.extend(cleared.map(|name| format!("  drop     the inherited {name}")));
        if lines.is_empty() {
            lines.push("  change nothing".into());
        }
        lines
    }
}

/// Files and directories, by their whole paths, in which programs find what they run.
const CODE: &str = ".claude .claude/settings*.json .claude/hooks* .codex .codex/config.toml .cursor .cursor/mcp.json .gemini \
                    .gemini/settings.json .vscode .vscode/tasks.json .husky .husky/* .cargo .cargo/config* .config/mise*";

/// Whether programs are known to run what a file of this name says.
pub fn runs_code(path: &RelPath, text: &str) -> bool {
    let (whole, name) = (path.to_string(), path.name().to_string_lossy().into_owned());
    is_like(&name, ".envrc mise.toml .mise.toml .mcp.json lefthook* .lefthook* .pnpmfile*")
        || is_like(&whole, CODE)
        || name == "package.json" && text.contains("install\"")
}
