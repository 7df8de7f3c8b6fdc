//! What programs do with files, as far as names tell: which files they run, what starts something in the settings of
//! agent programs and editors, and which variables do.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use shopfloor_core::env::starts_programs;
use shopfloor_core::text::is_like;

/// Files that programs run. The patterns here and below are in lower case and match the end of a path.
const RUN: &str = ".envrc* .flaskenv .vscode/tasks.json .vscode/launch.json *.code-workspace .zed/tasks.json \
    .zed/debug.json .idea/* .devcontainer/* .devcontainer.json .claude/hooks/* .claude/commands/* .claude/agents/* \
    .claude/skills/* .claude/plugins/* .codex/hooks/* .codex/skills/* .codex/prompts/* .codex/agents/* \
    .gemini/commands/* .gemini/extensions/* .gemini/hooks/* .gemini/skills/* .opencode/plugin* .opencode/tool* \
    .opencode/command* .opencode/agent* .opencode/skill* .cursor/hooks/* .cursor/commands/* .agents/* mise.*toml \
    .mise.*toml .mise/* mise/* .tool-versions lefthook* .lefthook* .husky/* .huskyrc* .pre-commit-config* prek.toml \
    .overcommit* .local-overcommit* .lintstagedrc* .simple-git-hooks* .githooks/* .git-hooks/* makefile* gnumakefile* \
    *.mk justfile* .justfile* *.just taskfile* rakefile* procfile* tiltfile* vagrantfile* .npmrc .yarnrc* .pnpmfile* \
    bunfig.toml .cargo/config* *.bazelrc .mvn/* pip.conf .gitconfig* .ssh/config .exrc .nvim* .vimrc .vim/* \
    .dir-locals* .gdbinit .lldbinit .tmux* .bash* .zsh* .profile *.sh *.bash *.zsh *.fish *.ps1 *.bat *.cmd *.py *.js \
    *.mjs *.cjs *.ts *.rb *.pl *.lua *.php";

/// The settings of agent programs and editors.
const SETTINGS: &str = ".claude/settings*.json .claude.json *.mcp.json mcp.json mcp.jsonc mcp_config.json \
    mcp-config.json *mcp_settings.json .codex/*.toml .codex/*.json .gemini/*.json opencode.json opencode.jsonc \
    .opencode.json .opencode/*.json .opencode/*.jsonc .aider.conf.yml .aider.conf.yaml .cursor/*.json .vscode/*.json \
    .zed/*.json .amp/*.json .qwen/*.json .copilot/*.json .kiro/*.json .roo/*.json .kilocode/*.json .windsurf/*.json \
    .amazonq/*.json .continue/*.yaml .continue/*.json crush.json .crush.json .goose/*.yaml .factory/*.json \
    .junie/*.json";

/// The key paths of such settings that start nothing: lists of permissions, the model, and what a person sees.
const HARMLESS: &str = "$schema permissions.allow permissions.ask permissions.deny tools.allowed allowedTools env.* \
    model small_model theme language outputStyle verbose effortLevel alwaysThinkingEnabled includeCoAuthoredBy \
    attribution.* spinner* editorMode model_reasoning_* model_verbosity personality hide_agent_reasoning \
    show_raw_agent_reasoning tui.theme tui.animations tui.notifications ui.theme ui.customThemes ui.hide* ui.show* \
    general.vimMode vimMode hide* weak-model editor-model edit-format dark-mode light-mode pretty stream code-theme \
    show-diffs vim *-color map-tokens editor.font* editor.tabSize editor.indentSize editor.insertSpaces \
    editor.detectIndentation editor.line* editor.rulers editor.wordWrap* editor.minimap.* editor.render* \
    editor.cursor* editor.guides.* workbench.colorTheme workbench.colorCustomizations workbench.iconTheme \
    window.zoomLevel files.eol files.encoding files.insertFinalNewline files.trim* files.exclude search.exclude \
    tab_size hard_tabs soft_wrap preferred_line_length buffer_font_* ui_font_* vim_mode icon_theme";

/// What a key path of such settings is about, by parts of its name. The first line that has one counts.
const KINDS: [(&str, &str); 7] = [
    ("hook notify", "a hook"),
    ("mcp servers", "an MCP server"),
    ("statusline status_line status-line", "a status line"),
    ("plugin marketplace extension", "a plugin"),
    ("helper auth credential", "a helper"),
    ("env", "the environment"),
    ("permission approv sandbox trust director project allow accept bypass yes", "wider permissions"),
];

/// Whether programs run a file with this path.
pub fn is_run(path: &Path) -> bool {
    ends_like(path, RUN)
}

/// Whether agent programs or editors take their settings from a file with this path.
pub fn holds_settings(path: &Path) -> bool {
    ends_like(path, SETTINGS)
}

fn ends_like(path: &Path, patterns: &str) -> bool {
    // On some file systems all spellings of a name are one file.
    let path = path.to_string_lossy().to_lowercase();
    path.match_indices('/').map(|(at, _)| at + 1).chain([0]).any(|at| is_like(&path[at..], patterns))
}

/// Whether nothing below this key path of such settings starts a program or frees one from asking.
pub fn is_harmless(path: &str) -> bool {
    is_like(path, HARMLESS) && !path.strip_prefix("env.").is_some_and(starts_programs)
}

/// Whether there are harmless key paths below this one.
pub fn has_harmless(path: &str) -> bool {
    let is_below = |key: &str| key.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
    path.is_empty() || HARMLESS.split_ascii_whitespace().any(is_below)
}

/// What a key path of such settings, or a variable, is about.
pub fn kind(path: &str) -> &'static str {
    let name = path.to_lowercase();
    let is_about = |parts: &str| parts.split(' ').any(|part| name.contains(part));
    match KINDS.iter().find(|(parts, _)| is_about(parts)) {
        _ if starts_programs(path) => "the environment",
        Some((_, kind)) => kind,
        None => "perhaps a program",
    }
}

/// Where a line ends for the most generous of its readers.
const ENDS: [char; 4] = ['\n', '\r', '\u{2028}', '\u{2029}'];

/// The variables that start programs, by their names or because their value is a command, in those lines of an
/// environment that no known text has.
pub fn starting(text: &[u8], known: &[&[u8]]) -> BTreeSet<String> {
    let texts: Vec<String> = known.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    let known: HashSet<&str> = texts.iter().flat_map(|text| text.split(ENDS)).map(str::trim).collect();
    let text = String::from_utf8_lossy(text);
    let new = text.split(ENDS).map(str::trim).filter(|line| !line.starts_with('#') && !known.contains(line));
    new.flat_map(assigned).collect()
}

/// The variables that a line sets, in whatever way (`export A=x`, `A: x`, `x; A=y`), and that start programs.
fn assigned(line: &str) -> Vec<String> {
    let is_command = line.contains("$(") || line.contains('`');
    let names = line.match_indices(['=', ':']).enumerate().filter_map(|(n, (at, _))| {
        let before = line[..at].trim_end_matches([' ', '\t', '"', '\'', '+']);
        let name = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
        (n == 0 && is_command || starts_programs(name)).then(|| name.to_owned())
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_paths() {
        let of = |path: &str| (is_run(Path::new(path)), holds_settings(Path::new(path)));
        for path in
            [".claude/settings.local.json", "sub/.Claude/Settings.json", ".mcp.json", "x/mcp.json", ".codex/a.toml"]
        {
            assert_eq!(of(path), (false, true), "{path}");
        }
        for path in [".envrc", "sub/.envrc.local", ".claude/hooks/a/b", "mise.local.toml", "X.SH"] {
            assert_eq!(of(path), (true, false), "{path}");
        }
        assert!(of(".vscode/tasks.json").0);
        for path in [".env", ".claude/x.json", "claude/settings.json", "docker-compose.override.yml", "a.md"] {
            assert_eq!(of(path), (false, false), "{path}");
        }
    }

    #[test]
    fn key_paths_are_harmless_or_have_a_kind() {
        for path in ["permissions.allow", "model", "env.PORT", "editor.fontSize", "tui.theme", "tool-output-color"] {
            assert!(is_harmless(path), "{path}");
        }
        for (path, about) in [
            ("permissions.defaultMode", "wider permissions"),
            ("env.LD_PRELOAD", "the environment"),
            ("GIT_PAGER", "the environment"),
            ("enableAllProjectMcpServers", "an MCP server"),
            ("hooks.Stop", "a hook"),
            ("statusLine", "a status line"),
            ("gcpAuthRefresh", "a helper"),
            ("enabledPlugins", "a plugin"),
            ("formatter", "perhaps a program"),
        ] {
            assert!(!is_harmless(path) && kind(path) == about, "{path}: {}", kind(path));
        }
        assert!(has_harmless("permissions") && has_harmless("env") && !has_harmless("hooks") && !has_harmless("mod"));
    }

    #[test]
    fn variables_that_start_programs_are_found_in_every_spelling() {
        let found =
            |text: &str| starting(text.as_bytes(), &[b"PATH=/usr/bin\n"]).into_iter().collect::<Vec<_>>().join(" ");
        for (text, expected) in [
            ("A=1\nPORT=2\n# PATH=/x\nURL=http://x:80/?a=b\n", ""),
            ("PATH=/usr/bin\n", ""),
            ("PATH=/x\n", "PATH"),
            ("  export  PATH = /x\n", "PATH"),
            ("\"PATH\": /x\n", "PATH"),
            ("A=1; B=2 ENV=/x\n", "ENV"),
            ("A=1\rENV=/x", "ENV"),
            ("#\u{2028}ENV=/x", "ENV"),
            ("A=`date`\nB=$(date)\nC=$B\n", "A B"),
            ("npm_config_shell=/x\nMY_PAGER=x\nPATHS=1\n", "MY_PAGER npm_config_shell"),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }
}
