//! What programs do with files, as far as names tell: which files they run, what starts something in the settings of
//! agent programs and editors, and which variables do.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use serde::de::DeserializeOwned;
use shopfloor_core::env::starts_programs;
use shopfloor_core::text::is_like;

/// Files that programs run, besides those whose name ends in `rc`. The patterns here and below are in lower case and
/// match the end of a path.
const RUN: &str = ".flaskenv .vscode/tasks.json .vscode/launch.json *.code-workspace *.sublime-project \
    .zed/tasks.json .zed/debug.json .idea/* .run/* .fleet/* .helix/* .devcontainer/* .devcontainer.json mise.*toml \
    .mise.*toml .mise/* mise/* .tool-versions lefthook* .lefthook* .husky/* .pre-commit-config* prek.toml \
    .overcommit* .local-overcommit* .simple-git-hooks* .githooks/* .git-hooks/* makefile* gnumakefile* *.mk *.mak \
    cmake*presets.json justfile* .justfile* *.just taskfile* rakefile* *.rake procfile* tiltfile* vagrantfile* \
    docker-compose* compose.* *.tf *.gradle *.gradle.kts pom.xml .mvn/* package.json nodemon.json .air*.toml .pnpmfile* \
    bunfig.toml .cargo/config* *.bazelrc pyproject.toml pip.conf *.pth .bundle/* .rspec* .xcode.env* \
    local.properties .gitconfig* .ssh/config .nvim* .vim/* coc-settings.json .dir-locals* .gdbinit .lldbinit \
    .rprofile .tmux* .bash* .zsh* .profile .autoenv* sweatfile .shopfloor/* .wt.toml .workmux.yaml conductor.json \
    *.sh *.bash *.zsh *.fish *.ps1 *.bat *.cmd *.py *.js *.mjs *.cjs *.jsx *.ts *.mts *.cts *.tsx *.rb *.pl *.lua \
    *.php *.nix *.exs mprocs* process-compose* .overmind.env .foreman devbox.json devenv.* wrangler.* netlify.toml \
    vercel.json firebase.json .smug* .release-it.* .goreleaser* .trunk/* gradle.properties *.sbt .sbtopts \
    .jvmopts ansible.cfg .ghci phpunit.xml* phpstan* wp-cli.* *.csproj *.csproj.user *.vcxproj *.vcxproj.user *.fsproj *.fsproj.user profiles.clj .renviron \
    .gitpod.yml .lando* .theia/* dockerfile* containerfile* gemfile* .vimspector.json tox.ini pytest.ini \
    setup.cfg deno.json* .kube/config .aws/config conductor.* .conductor/* .superset/* wt.toml .gtrconfig brewfile* \
    snakefile* config/database.yml *_override.tf.json override.tf.json terragrunt.hcl pnpm-workspace.yaml build.rs \
    .python-version .mypy.ini .pytest.ini .flake8 .golangci.* babel.config.json cdk.json .bsp/* thorfile modd.conf \
    *.cmake .docker/config.json kubeconfig* \
    rust-toolchain* .rubocop* pylintrc mypy.ini .ocamlinit .user.ini tauri.conf.json nx.json project.json .moon/* \
    cliff.toml cog.toml release.toml trunk.toml go.work directory.build.* cmakelists.txt meson.build build.bazel guardfile \
    fastfile podfile capfile sconstruct jenkinsfile dvc.yaml nextflow.config pixi.toml bacon.toml skaffold.yaml \
    helmfile.yaml serverless.yml build.xml build.sc build.mill build.zig magefile.go guix.scm session.vim .hg/* .jj/* \
    launchsettings.json .externaltoolbuilders/* .lsp.json .github/hooks/* uv.toml supervisord.conf tmuxinator.y*ml \
    smug.y*ml workmux.y*ml .projections.json psalm.xml* .tern-project .circleci/* .sops.yaml jest.config.json \
    .markdownlint-cli2.* dprint.json* .dprint.json* electron-builder.* .neoconf.json angular.json local.settings.json \
    cabal.project* cabal.config *.cabal stack.yaml hie.y*ml .ghcid dune dune-project dune-workspace .merlin \
    book.toml mkdocs.y*ml _config.y*ml _quarto.y*ml antora-playbook.y*ml typedoc.json doxyfile* latexmkrc \
    rebar.config* erlang_ls.* sys.config vm.args hatch.toml pdm.toml .pdm.toml poetry.toml pipfile* pyvenv.cfg alembic.ini pants*.toml .pants.* \
    .buckconfig* .bazelversion gradle-wrapper.properties .mill-* .scalafix.conf deps.edn bb.edn shadow-cljs.edn \
    .nrepl.edn .lsp/config.edn omnisharp.json *.runsettings *.props *.targets nuget.config *.xcconfig *.ninja *.m4 \
    configure.ac sconscript* wscript conanfile* vcpkg*.json rust-analyzer.toml .rust-analyzer.toml nextest.toml cross.toml \
    .gitlab-ci* .github/workflows/* .github/actions/* .woodpecker* .drone.y*ml .travis.yml .cirrus.yml azure-pipelines* \
    bitbucket-pipelines.yml .buildkite/* earthfile docker-bake* dagger.json buildspec.y*ml .yardopts .solargraph.y*ml \
    .standard.yml .haml-lint.yml .slim-lint.yml .erb*lint.yml .simplecov sorbet/config steepfile dangerfile* config.ru \
    *.gemspec .sqlfluff .my.cnf my.cnf *.prisma sqlc.y*ml buf.gen* codegen.y*ml graphql.config.* ormconfig.* \
    jupyter_*config.json ipython_*config.json .jupyter/* .ipython/* kernel.json elm-watch.json elm-tooling.json \
    lighthouserc.* lerna.json ecosystem.config* jakefile* postcss.config.json stylelint.config.json .changeset/config.json \
    .htaccess php.ini web.config nginx.conf httpd.conf caddyfile* uwsgi.* *.service composer*.json phpcs.xml* .phpcs.xml* \
    .php_cs* phpbench.json* infection.json* captainhook.json grumphp.y*ml behat.y*ml codeception.y*ml .phpactor.* \
    .symfony*.yaml .ddev/*";

/// The directories of agent programs.
const AGENTS: &str = ".claude .codex .gemini .opencode .cursor .agents .amp .qwen .copilot .kiro .roo .kilocode \
    .windsurf .amazonq .continue .goose .factory .junie .pi .openhands .crush .augment .trae .vibe .codebuddy .rovodev \
    .auggie .codebuff .cline .mcp .zencoder .warp .kimi .iflow";

/// The directories below those in which a text says what to run.
const ORDERS: &str = "agent agents command* skill* prompt* hook* plugin* extension* tool tools workflow*";

/// The settings of agent programs and editors that are in none of their directories.
const SETTINGS: &str = ".claude.json *.mcp.json mcp.json mcp.jsonc mcp_config.json mcp-config.json *mcp_settings.json \
    opencode.json opencode.jsonc .opencode.json .aider.conf.yml .aider.conf.yaml .vscode/*.json .zed/*.json \
    crush.json .crush.json .config/goose/config.y*ml";

/// The key paths of such settings that start nothing: lists of permissions, the model, and what a person sees.
const HARMLESS: &str = "$schema permissions.allow permissions.ask permissions.deny tools.allowed allowedTools \
    disabledMcpjsonServers env.*_TELEMETRY env.MAX_* env.DISABLE_* env.CLAUDE_CODE_MAX_* model small_model \
    review_model model_context_window service_tier theme language verbose effortLevel alwaysThinkingEnabled fastMode \
    includeCoAuthoredBy includeGitInstructions attribution.* spinner* show* cleanupPeriodDays prefersReducedMotion \
    terminalProgressBarEnabled respectGitignore autoMemoryEnabled editorMode model_reasoning_* model_verbosity \
    personality hide* web_search file_opener check_for_update_on_startup tui.* history.* notice.* ui.* output.format \
    privacy.* general.vimMode general.previewFeatures general.checkpointing.* tools.shell.showColor vimMode \
    weak-model editor-model edit-format dark-mode light-mode pretty stream code-theme vim *-color map-tokens editor.* \
    diffEditor.* explorer.* breadcrumbs.* zenMode.* workbench.* window.* files.* search.* cSpell.words peacock.* \
    tab_size hard_tabs soft_wrap preferred_line_length buffer_font_* ui_font_* vim_mode icon_theme";

type Check = fn(&str) -> bool;
/// What some of those hold. For another type a program may skip the whole file, with what restricts it there.
const TYPES: &[(&str, Check)] = &[
    ("permissions.* tools.allowed allowedTools disabledMcp* cSpell.words", is_json::<Vec<String>>),
    (
        "$schema *model edit-format service_tier *-theme ui.theme tui.theme language effortLevel attribution.commit \
        attribution.pr editorMode model_verbosity personality web_search file_opener output.format *-color soft_wrap",
        is_json::<String>,
    ),
    (
        "verbose always* fastMode include* spinner*Enabled show* hide* prefers* terminal* respect* auto* check_for* \
        vim* *-mode pretty stream hard_tabs",
        is_json::<bool>,
    ),
    ("cleanupPeriodDays model_context_window map-tokens tab_size preferred_line_length", is_json::<f64>),
    ("env.*", |value| !value.starts_with(['[', '{']) && value != "null"),
    ("theme icon_theme", |value| value.starts_with('{') || is_json::<String>(value)),
];

/// Among those of editors, the ones that start something.
const HARMFUL: &str = "editor.codeActions* workbench.externalBrowser security.* chat.* task.* amp.* *.buildScripts.enable *.procMacro.enable \
    *.gradle.enabled *.maven.enabled *autoUpdate";

/// What a key path of such settings is about, by parts of its name. The first line that has one counts.
const KINDS: [(&str, &str); 7] = [
    ("hook notify", "a hook"),
    ("mcp servers", "an MCP server"),
    ("statusline status_line status-line", "a status line"),
    ("plugin marketplace extension", "a plugin"),
    ("helper auth credential", "a helper"),
    ("env", "the environment"),
    (
        "permission approv sandbox trust director project allow accept bypass yes danger always yolo",
        "wider permissions",
    ),
];

/// What a key path is about of which nothing is known.
pub const UNKNOWN: &str = "perhaps a program";

/// Whether programs run a file with this path.
pub fn is_run(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_rc =
        name.strip_prefix('.').is_some_and(|name| name.split('.').next().is_some_and(|name| name.ends_with("rc")));
    let is_agents = |below: String| {
        let has_orders = below.split('/').rev().skip(1).any(|dir| is_like(dir, ORDERS));
        has_orders || !is_like(&below, "*.md *.mdc") && !holds_settings(path)
    };
    is_rc || ends_like(path, RUN) || below_agents(path).is_some_and(is_agents)
}

/// Whether a text is a program, as far as its first bytes tell: a script, or an ELF, Windows or Mach-O file.
pub fn is_program(text: &[u8]) -> bool {
    let starts: [&[u8]; 7] =
        [b"#!", b"\x7fELF", b"MZ", b"\xfe\xed\xfa", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"];
    starts.iter().any(|start| text.starts_with(start))
}

/// Whether agent programs or editors take their settings from a file with this path.
pub fn holds_settings(path: &Path) -> bool {
    let is_data = |below: String| is_like(&below, "*.json *.jsonc *.toml *.yaml *.yml");
    ends_like(path, SETTINGS) || below_agents(path).is_some_and(is_data)
}

/// Whether keys at the top of a file with this path have dots, or are blocks for a language, as those of VS Code.
pub fn has_dotted_keys(path: &Path) -> bool {
    ends_like(path, ".vscode/*")
}

/// What follows the directory of an agent program in a path.
fn below_agents(path: &Path) -> Option<String> {
    let path = path.to_string_lossy().to_lowercase();
    let mut parts = path.split('/');
    parts.find(|part| is_like(part, AGENTS))?;
    Some(parts.collect::<Vec<_>>().join("/")).filter(|below| !below.is_empty())
}

fn ends_like(path: &Path, patterns: &str) -> bool {
    // On some file systems all spellings of a name are one file.
    let path = path.to_string_lossy().to_lowercase();
    path.match_indices('/').map(|(at, _)| at + 1).chain([0]).any(|at| is_like(&path[at..], patterns))
}

fn is_json<T: DeserializeOwned>(value: &str) -> bool {
    serde_json::from_str::<T>(value).is_ok()
}

/// Whether a value, as JSON spells it, has the type that is known of this key path.
pub fn has_known_type(path: &str, value: &str) -> bool {
    TYPES.iter().all(|(paths, fits)| !is_like(path, paths) || fits(value))
}

/// Whether nothing below this key path of such settings starts a program or frees one from asking.
pub fn is_harmless(path: &str) -> bool {
    is_like(path, HARMLESS) && !is_like(path, HARMFUL) && path.strip_prefix("env.").is_none_or(is_name)
}

/// Whether this can only be the name of one variable. One that is called `A=1 B` sets `A` in a program that is given it.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| !c.is_ascii_digit()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether this value starts nothing there: a switch or a number as a variable or under a key of an editor, which has
/// dots, and a mode in which an agent asks.
pub fn is_harmless_value(path: &str, is_dotted: bool, value: &str) -> bool {
    let is_free = |path: &str| kind(path) == UNKNOWN && !is_like(path, HARMFUL);
    let is_number = |value: &str| matches!(value, "true" | "false") || value.parse::<f64>().is_ok();
    match path.strip_prefix("env.") {
        Some(name) => is_name(name) && !starts_programs(name) && is_number(value.trim_matches('"')),
        None if path == "permissions.defaultMode" => matches!(value, "\"plan\"" | "\"default\""),
        None => is_dotted && is_free(path) && is_number(value),
    }
}

/// Whether there are harmless key paths below this one.
pub fn has_harmless(path: &str) -> bool {
    let is_below = |key: &str| key.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
    path.is_empty() || HARMLESS.split_ascii_whitespace().any(is_below)
}

/// Whether a key path of such settings may restrict what agents do unasked.
pub fn restricts(path: &str) -> bool {
    let is_free = is_harmless(path) && !is_like(path, "permissions.* tools.* allowedTools disabledMcp*");
    !is_free && !path.starts_with("env.")
}

/// What a key path of such settings, or a variable, is about.
pub fn kind(path: &str) -> &'static str {
    let (name, variable) = (path.to_lowercase(), path.trim_start_matches("env."));
    let is_about = |parts: &str| parts.split(' ').any(|part| name.contains(part));
    match KINDS.iter().find(|(parts, _)| is_about(parts)) {
        _ if variable == variable.to_uppercase() && starts_programs(variable) => "the environment",
        Some((_, kind)) => kind,
        None => UNKNOWN,
    }
}

/// Where a line ends for the most generous of its readers.
const ENDS: [char; 10] = ['\n', '\r', '\x0b', '\x0c', '\x1c', '\x1d', '\x1e', '\u{85}', '\u{2028}', '\u{2029}'];

/// What those lines of an environment may start that no known text has. By default nothing starts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Starting {
    /// The variables that start programs, by their names or because their value is a command.
    pub names: BTreeSet<String>,
    /// Whether a line sets no variable: a shell would run it.
    pub has_command: bool,
}

/// A line with the quote that is open at its beginning, and what of it is the value of a variable, without a quoted
/// beginning.
struct Line<'t> {
    before: Option<char>,
    text: &'t str,
    value: &'t str,
    bare: &'t str,
    /// Whether readers differ in whether a quote is open here.
    is_uncertain: bool,
}

/// The lines of an environment as a shell reads them.
fn read_lines(text: &str) -> Vec<Line<'_>> {
    // For a shell other ends of lines are none.
    let may_span = !text.contains(&ENDS[1..]);
    let (mut quote, mut is_uncertain) = (None, false);
    let mut all = Vec::new();
    for text in text.split(ENDS).map(|line| line.trim().trim_start_matches('\u{feff}')) {
        let before: Option<char> = quote.take();
        if before.is_none() && (text.is_empty() || text.starts_with('#')) {
            continue;
        }
        let value = match before {
            Some(_) => text,
            None => match text.split_once(['=', ':']) {
                // After `NAME = ` a shell looks for a program of that name.
                Some((name, value)) if is_spaced(name) => value.trim_start(),
                // After `NAME= ` it runs the rest of the line.
                Some((_, value)) => value,
                None => text,
            },
        };
        let (bare, open) = (unquoted(value, before), open_behind(value, before));
        quote = open.filter(|_| may_span);
        let has_escapes = value.contains('\\');
        // An escaped blank begins no comment.
        let bare = if has_escapes { bare } else { bare.split(" #").next().unwrap_or_default().trim_end() };
        all.push(Line { before, text, value, bare, is_uncertain });
        is_uncertain |= open.is_some() && !may_span;
    }
    all
}

/// What the new lines of an environment may start. A line is known only where it stood in the same quotes.
pub fn starting(text: &[u8], known: &[&[u8]]) -> Starting {
    let texts: Vec<String> = known.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    let known: HashSet<(Option<char>, &str)> =
        texts.iter().flat_map(|text| read_lines(text)).map(|line| (line.before, line.text)).collect();
    let text = String::from_utf8_lossy(text);
    let mut starting = Starting::default();
    for line in read_lines(&text).into_iter().filter(|line| !known.contains(&(line.before, line.text))) {
        let is_command = goes_on(line.bare) || expands(line.value);
        starting.names.extend(assigned(line.text, is_command && line.before.is_none()));
        starting.has_command |= match line.before {
            _ if line.is_uncertain => true,
            Some(_) => is_command,
            None => !sets_variable(line.text),
        };
    }
    starting
}

/// Whether a shell does more with a value outside of quotes than take it: a further word, command or redirection. `&` in
/// an address only sets a variable, whose name is looked at.
fn goes_on(bare: &str) -> bool {
    let mut parts = bare.split('&').skip(1).peekable();
    let has_parts = parts.peek().is_some();
    bare.contains([' ', '\t', ';', '|', '(', '"', '\'', '<', '>'])
        || has_parts && !parts.all(|part| part.contains('=') && sets_variable(part))
}

/// Whether a shell or make runs something to expand a value, in quotes or not: all but `$NAME`, `${NAME}` and
/// `${NAME:-text}`.
fn expands(value: &str) -> bool {
    let is_simple = |rest: &str| {
        let name = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        name.len() < rest.len() && name.trim_start_matches(':').starts_with(['}', '-', '+', '?', '='])
    };
    value.contains("$(")
        || value.contains("$[")
        || value.contains('`')
        || value.split("${").skip(1).any(|rest| !is_simple(rest))
}

/// The quote that is open for a shell behind a text, at whose beginning `open` is.
fn open_behind(text: &str, open: Option<char>) -> Option<char> {
    let (mut quote, mut last) = (open, ' ');
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => drop(chars.next()),
            (None, '#') if last == ' ' || last == '\t' => break,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
        last = c;
    }
    quote
}

/// What follows the quoted beginning of a text.
fn unquoted(text: &str, open: Option<char>) -> &str {
    let begins = text.chars().next().filter(|c| open.is_none() && matches!(c, '"' | '\''));
    match open.or(begins) {
        // Readers differ in what a backslash does.
        Some(quote) if !text.contains('\\') => {
            let quoted = &text[begins.map_or(0, char::len_utf8)..];
            quoted.split_once(quote).map_or("", |(_, rest)| rest)
        }
        _ => text,
    }
}

/// Whether there are blanks behind the name of a variable. No program has a name in capital letters.
fn is_spaced(name: &str) -> bool {
    name.ends_with([' ', '\t']) && name.chars().all(|c| !c.is_ascii_lowercase())
}

/// Whether a line is `NAME=value` or `NAME: value`.
fn sets_variable(line: &str) -> bool {
    let Some((name, _)) = line.split_once(['=', ':']) else { return false };
    let name = if is_spaced(name) { name.trim_end() } else { name };
    let name = name.strip_prefix("export ").unwrap_or(name).trim_start().trim_matches(['"', '\'', '+']);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.contains(is_word) && name.chars().all(|c| is_word(c) || "-.".contains(c))
}

/// The variables that a line sets, in whatever way (`export A=x`, `A: x`, `x; A=y`), and that start programs. The value
/// of the first may be a command.
fn assigned(line: &str, is_command: bool) -> Vec<String> {
    let name = |(at, _): (usize, &str)| {
        let before = line[..at].trim_end_matches([' ', '\t', '"', '\'', '+']);
        before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().map(str::to_owned)
    };
    let all: Vec<String> = line.match_indices(['=', ':']).filter_map(name).collect();
    let starters: Vec<String> = all.iter().filter(|name| starts_programs(name)).cloned().collect();
    if starters.is_empty() && is_command { all.into_iter().take(1).collect() } else { starters }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_paths() {
        let of = |path: &str| (is_run(Path::new(path)), holds_settings(Path::new(path)));
        for path in [
            ".claude/settings.local.json",
            "sub/.Claude/Settings.json",
            ".mcp.json",
            "x/mcp.json",
            ".codex/a.toml",
            ".config/goose/config.yaml",
        ] {
            assert_eq!(of(path), (false, true), "{path}");
        }
        let run = ".envrc sub/.envrc.local .claude/hooks/a/b .claude/skills/x.md a/.kiro/x mise.local.toml X.SH \
            compose.override.yml mprocs.yaml .docker/config.json kubeconfig.yaml init.gradle x.bazelrc toolchain.cmake \
            .bsp/sbt.json sub/process-compose.override.yml jest.config.json .markdownlint-cli2.jsonc dprint.json \
            electron-builder.yml .neoconf.json angular.json api/local.settings.json \
            cabal.project.local cabal.project.freeze hie.yaml docs/book.toml CMakePresets.json rebar.config \
            rebar.config.script hatch.toml .gitlab-ci-local.yml .yardopts .sqlfluff .solargraph.yml .rubocop_todo.yml \
            jupyter_server_config.json elm-watch.json public/.htaccess Debug.xcconfig composer.json";
        for path in run.split_ascii_whitespace() {
            assert_eq!(of(path), (true, false), "{path}");
        }
        assert!(of(".vscode/tasks.json").0);
        for path in
            [".env", "x.json", "claude/settings.json", ".claude/rules/a.md", ".cursor/rules/b.mdc", "a.md", "src"]
        {
            assert_eq!(of(path), (false, false), "{path}");
        }
    }

    #[test]
    fn key_paths_are_harmless_or_have_a_kind() {
        for path in ["permissions.allow", "model", "env.MAX_X", "editor.fontSize", "tui.theme", "tool-output-color"] {
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
            ("formatter", UNKNOWN),
        ] {
            assert!(!is_harmless(path) && kind(path) == about, "{path}: {}", kind(path));
        }
        for (path, is_dotted, value, is_none) in [
            ("env.PORT", false, "\"80\"", true),
            ("env.PORT", false, "\"x\"", false),
            ("env.GIT_X", false, "1", false),
            ("git.autofetch", true, "true", true),
            ("git.path", true, "\"/x\"", false),
            ("x", false, "true", false),
            ("security.x", true, "false", false),
        ] {
            assert_eq!(is_harmless_value(path, is_dotted, value), is_none, "{path}");
        }
        assert!(has_harmless("permissions") && has_harmless("env") && !has_harmless("hooks") && !has_harmless("mod"));
    }

    #[test]
    fn variables_that_start_programs_are_found_in_every_spelling() {
        let found = |text: &str| {
            starting(text.as_bytes(), &[b"PATH=/usr/bin\n"]).names.into_iter().collect::<Vec<_>>().join(" ")
        };
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
            ("A=1 # b c\nE= ls\nF=#; ls\nB=\"a b; c\"\nC='x' # d\nD=a b\n", "D E F"),
            ("U=http://x/?a=1&b=2\nV=x?a&/x\nW=1>/x\nX=<<Y\nY=x?a=1&PATH=/x\n", "PATH V W X"),
            ("A=${B}\nB=${B:-x}/$C\nC=\"${B@P}\"\nD='${shell x}'\nE=${!B}\n", "C D E"),
            ("npm_config_shell=/x\nMY_PAGER=x\nPATHS=1\n", "MY_PAGER npm_config_shell"),
            ("GOOSE_MODE=auto\n", "GOOSE_MODE"),
            ("CCACHE_COMPILER=/x\nSPARK_CONF_DIR=/x\n", "CCACHE_COMPILER SPARK_CONF_DIR"),
            ("OCL_ICD_VENDORS=/x\nBUILDKITE_HOOKS_PATH=/x\n", "BUILDKITE_HOOKS_PATH OCL_ICD_VENDORS"),
            ("DJANGO_SETTINGS_MODULE=x\nAPP_SETTINGS=x\nSETTINGS=x\n", "APP_SETTINGS DJANGO_SETTINGS_MODULE"),
            ("UVICORN_PORT=8000\nSTACK_NAME=dev\nAIRFLOW_UID=1\nCOVERAGE_FILE=x\nXR_SCENE=x\nPDM_HOST=x\n", ""),
            ("UVICORN_APP=x\nSTACK_ROOT=/x\nAIRFLOW__X__Y=x\n", "AIRFLOW__X__Y STACK_ROOT UVICORN_APP"),
            ("SCREENRC=/x\nCPATH=/x\nCPLUS_INCLUDE_PATH=/x\n", "CPATH CPLUS_INCLUDE_PATH SCREENRC"),
            ("LIBRARY_PATH=/x\nEDGEDRIVER_PATH=/x\nDART_SDK=/x\n", "DART_SDK EDGEDRIVER_PATH LIBRARY_PATH"),
            ("FLUTTER_APP=x\nMANPATH=/x\nLOGGING_LEVEL=x\nSPRING_PROFILES_ACTIVE=dev\nSCALA_VERSION=3\n", ""),
            ("NODE_CONFIG_DIR=/x\nMDBOOK_BUILD=x\nPORT_SCRIPT=x\n", "MDBOOK_BUILD NODE_CONFIG_DIR PORT_SCRIPT"),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
        let has_command = |text: &str| starting(text.as_bytes(), &[b"old command\n"]).has_command;
        assert!(!has_command("A=1\nexport B=1\n\n# c\nD:1\nold command\nE=\"x\n1 2\n\"\n"));
        // Known in quotes, and a command without them.
        assert!(starting(b"A=\nls x\n", &[b"A=\"\nls x\n\"\n"]).has_command);
        assert!(!starting(b"B=1\nA=\"\nls x\n\"\n", &[b"A=\"\nls x\n\"\n"]).has_command);
        // Where a quote ends differs with the reader.
        for text in
            ["A=\\ #;ls\n", "A=\"\n\\ #\";ls\n", "A=\"\nx\\\nB=\";ls #\"\n", "#\u{c}#\nA=\"\nB=\";ls #\"\n", ". = 1\n"]
        {
            let found = starting(text.as_bytes(), &[]);
            assert!(found.has_command || !found.names.is_empty(), "{text}");
        }
        assert!(!has_command("A=\"a \\\" b\"\nB=2\n") && !has_command("A=a\\b\nB='x\\y'\nC=1\n"));
        for text in
            ["A=1\n'ls'\n", "rm = x\n", "A=\"x\ny\"; ls\n", "A=1 # it's\nls\n", "#\u{c}A=\"\nls\n", "A=\\\"\nls\n"]
        {
            assert!(has_command(text), "{text}");
        }
    }
}
