//! What programs start from files does not travel from one workspace to the others unasked.

use crate::support::overlay::{Scene, configure, id, scene};
use crate::support::world::{World, text};

const LOCAL: &str = ".claude/settings.local.json";

/// A scene that ignores the files of many programs. The overlay has these, and so have the workspaces.
fn ignoring<'w>(w: &'w World, files: &[(&str, &str)]) -> Scene<'w> {
    let s = scene(w);
    s.app.sh("printf '%s\\n' '.[a-z]*' '*.json*' '*.toml' '*.yml' '*.local' 'x*' >> .git/info/exclude").exit(0);
    for (path, text) in files {
        s.put(path, text);
    }
    s.attach();
    s
}

/// Why a file is held.
#[track_caller]
fn why(s: &Scene<'_>, path: &str) -> String {
    let held = s.held();
    let of = held.iter().find(|held| text(held, "/path") == path);
    text(of.unwrap_or_else(|| panic!("{path} waits for nobody")), "/places/0").to_owned()
}

/// A file, its text, the text that an agent writes, the entry that waits, and what it is.
const SETTINGS: [[&str; 5]; 39] = [
    [LOCAL, "{}", r#"{"statusLine": {"type": "command", "command": "evil"}}"#, "statusLine", "a status line"],
    [".claude/settings.json", "{}", r#"{"apiKeyHelper": "evil"}"#, "apiKeyHelper", "a helper"],
    ["a/.claude/settings.json", "{}", r#"{"awsAuthRefresh": "evil"}"#, "awsAuthRefresh", "a helper"],
    ["b/.claude/settings.json", "{}", r#"{"env": {"BASH_ENV": "/x"}}"#, "env", "the environment"],
    [
        "c/.claude/settings.json",
        r#"{"env": {"A": "1"}}"#,
        r#"{"env": {"A": "1", "NODE_OPTIONS": "-r /x"}}"#,
        "env.NODE_OPTIONS",
        "the environment",
    ],
    [
        "d/.claude/settings.json",
        r#"{"permissions": {"allow": ["Read"]}}"#,
        r#"{"permissions": {"allow": ["Read"], "defaultMode": "bypassPermissions"}}"#,
        "permissions.defaultMode",
        "wider permissions",
    ],
    [
        "e/.claude/settings.json",
        r#"{"permissions": {"additionalDirectories": ["a"]}}"#,
        r#"{"permissions": {"additionalDirectories": ["a", "/"]}}"#,
        "permissions",
        "wider permissions",
    ],
    ["f/.claude/settings.json", "{}", r#"{"enableAllProjectMcpServers": true}"#, "enableAll", "an MCP server"],
    ["g/.claude/settings.json", "{}", r#"{"enabledMcpjsonServers": ["x"]}"#, "enabledMcp", "an MCP server"],
    ["h/.claude/settings.json", "{}", r#"{"enabledPlugins": {"x@y": true}}"#, "enabledPlugins", "a plugin"],
    ["i/.claude/settings.json", "{}", r#"{"sandbox": {"enabled": false}}"#, "sandbox", "wider permissions"],
    ["j/.claude/settings.json", "{}", r#"{"whatNobodyKnows": "evil"}"#, "whatNobodyKnows", "perhaps a program"],
    ["k/.claude/settings.json", "{}", r#"{"env": {"Npm_config_script_shell": "/x"}}"#, "env", "the environment"],
    ["l/.claude/settings.json", "{}", r#"{"env": {"GOCACHEPROG": "/x"}}"#, "env", "the environment"],
    ["m/.claude/settings.json", "{}", r#"{"env": {"NOBODY_KNOWS": "/x"}}"#, "env", "the environment"],
    ["n/.claude/x.json", "{}", r#"{"permissions": {"allow": ["R", {"x": 1}]}}"#, "permissions", "wider permissions"],
    ["o/.claude/settings.json", "{}", r#"{"model": {"x": "y"}}"#, "model", "perhaps a program"],
    ["s/.claude/settings.json", "{}", r#"{"$schema": [], "theme": []}"#, "$schema", "perhaps a program"],
    ["p/.claude/settings.json", "{}", r#"{"cleanupPeriodDays": "9"}"#, "cleanup", "perhaps a program"],
    ["q/.claude/settings.json", "{}", r#"{"env": {"MAX_X": {}}}"#, "env", "the environment"],
    ["t/.claude/settings.json", "{}", r#"{"env": {"FOO": []}}"#, "env", "the environment"],
    ["z/.claude/settings.json", "{}", r#"{"permissions.allow": ["X"]}"#, "permissions.allow", "wider permissions"],
    ["y/.claude/settings.json", "{}", r#"{"[x]": {"model": "m"}, "a.b": true}"#, "[x]", "perhaps a program"],
    [
        "w/.claude/settings.json",
        r#"{"env": {"DISABLE_X": "1"}}"#,
        r#"{"env": {"DISABLE_X": null, "MAX_X": null}}"#,
        "env",
        "the environment",
    ],
    [
        "v/.claude/settings.json",
        "{}",
        r#"{"env": {"NODE_OPTIONS=-r/x -": "1", "PATH=/x:_TELEMETRY": ":/y", " ENV": "1", "A\nENV": 1, "export ENV": 1}}"#,
        "env",
        "the environment",
    ],
    ["u/.claude/settings.json", "{}", r#"{"attribution": {"commit": []}}"#, "attribution", "perhaps a program"],
    ["r/.claude/settings.json", "{}", r#"{"outputStyle": "x"}"#, "outputStyle", "perhaps a program"],
    ["b/.vscode/settings.json", "{}", r#"{"amp.x": true}"#, "amp.x", "perhaps a program"],
    [
        "c/.vscode/settings.json",
        "{}",
        r#"{"claudeCode.allowDangerouslySkip": true}"#,
        "allowDanger",
        "wider permissions",
    ],
    [".mcp.json", "{}", r#"{"servers": {"x": {"command": "evil"}}}"#, "servers", "an MCP server"],
    [".vscode/mcp.json", "{}", r#"{"servers": {"x": {"command": "evil"}}}"#, "servers", "an MCP server"],
    [".vscode/settings.json", "{}", r#"{"chat.tools.autoApprove": true}"#, "autoApprove", "wider permissions"],
    [".codex/config.toml", "a = 1\n", "a = 1\nnotify = [\"evil\"]\n", "notify", "a hook"],
    ["a/.codex/config.toml", "a = 1\n", "a = 1\n[mcp_servers.x]\ncommand = \"evil\"\n", "mcp_servers", "an MCP server"],
    ["b/.codex/config.toml", "a = 1\n", "a = 1\napproval_policy = \"never\"\n", "approval_policy", "wider permissions"],
    [".gemini/settings.json", "{}", r#"{"tools": {"discoveryCommand": "evil"}}"#, "tools", "perhaps a program"],
    ["opencode.json", "{}", r#"{"permission": "allow"}"#, "permission", "wider permissions"],
    [".aider.conf.yml", "model: x\n", "model: x\nlint-cmd: evil\n", "lint-cmd", "perhaps a program"],
    [".cursor/cli.json", "{}", r#"{"hooks": {"stop": [{"command": "evil"}]}}"#, "hooks", "a hook"],
];

#[test]
fn what_starts_something_waits_in_the_settings_of_every_program() {
    let w = World::new();
    let s = ignoring(&w, &SETTINGS.map(|[path, start, ..]| (path, start)));
    for [path, _, edit, ..] in SETTINGS {
        s.a.write(path, edit);
    }
    s.sync(1).any_err();
    for [path, start, edit, entry, kind] in SETTINGS {
        s.all_but(&s.a, path, start);
        assert_eq!(s.a.read(path), edit);
        let why = why(&s, path);
        let told = why.split_once(&format!("({kind})")).is_some_and(|(before, _)| before.contains(entry));
        assert!(told && why.starts_with("it adds to `"), "{path}: {why}");
    }
    // Nothing more is to be done, and a person lets it through.
    assert_eq!(s.sync(1).any_err().stdout, "");
    for held in s.held() {
        s.app.overlay(&["accept", id(&held)]).succeeds().any_err();
    }
    for [path, _, edit, ..] in SETTINGS {
        s.all_are(path, edit);
    }
    assert_eq!(s.sync(0).stdout, "");
}

#[test]
fn permissions_and_what_a_person_sees_spread_at_once() {
    for (path, start, edit) in [
        (
            LOCAL,
            "{}",
            r#"{"permissions": {"allow": ["Bash"], "ask": ["Web"], "deny": ["Read"]}, "model": "m", "env": {"A": "1"}}"#,
        ),
        (".claude/settings.json", r#"{"hooks": {"Stop": []}}"#, r#"{"hooks": {"Stop": []}, "theme": "dark"}"#),
        (".codex/config.toml", "notify = [\"x\"]\n", "notify = [\"x\"]\nmodel = \"m\"\n[tui]\ntheme = \"t\"\n"),
        (".gemini/settings.json", "{}", r#"{"ui": {"theme": "t"}, "tools": {"allowed": ["a"]}}"#),
        (".vscode/settings.json", "{}", r#"{"editor.tabSize": 2, "editor.fontFamily": "f"}"#),
        (
            "a/.vscode/settings.json",
            "{}",
            r#"{"editor.formatOnSave": true, "[rust]": {"editor.defaultFormatter": "x"}, "git.autofetch": true, "cSpell.words": ["a"]}"#,
        ),
        (
            "a/.claude/settings.json",
            "{}",
            r#"{"cleanupPeriodDays": 9, "env": {"DISABLE_TELEMETRY": "x", "MY_LIMIT": "20"}}"#,
        ),
        (
            "b/.claude/settings.json",
            "{}",
            r#"{"permissions": {"defaultMode": "plan"}, "disabledMcpjsonServers": ["a"]}"#,
        ),
        ("a/.codex/config.toml", "a = 1\n", "a = 1\nweb_search = \"live\"\n[history]\npersistence = \"none\"\n"),
        (".claude/rules/x.md", "a\n", "b\n"),
        (".zed/settings.json", "{}", r#"{"tab_size": 2, "buffer_font_size": 12}"#),
        (".aider.conf.yml", "lint-cmd: x\n", "lint-cmd: x\ndark-mode: true\n"),
        (".cursor/cli.json", "{}", r#"{"permissions": {"allow": ["Shell(ls)"]}}"#),
    ] {
        let w = World::new();
        let s = ignoring(&w, &[(path, start)]);
        s.a.write(path, edit);
        assert_eq!(s.sync(0).stderr, "", "{path}");
        s.all_are(path, edit);
    }
}

#[test]
fn the_rest_of_an_edit_travels_and_what_starts_something_can_be_rejected() {
    let w = World::new();
    let s = ignoring(&w, &[(LOCAL, "{\"model\": \"a\"}")]);
    s.a.write(
        LOCAL,
        "{\"model\": \"b\", \"env\": {\"PATH\": \"/x\", \"B\": \"1\"}, \"statusLine\": {\"command\": \"evil\"}}",
    );
    s.sync(1).any_err();
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let rest = serde_json::json!({"model": "b", "env": {"B": "1"}});
    assert_eq!((json(&s.text(LOCAL)), json(&s.b.read(LOCAL))), (rest.clone(), rest.clone()));
    let told = why(&s, LOCAL);
    assert!(told.contains("`env.PATH` (the environment) and `statusLine` (a status line)"), "{told}");
    s.app.overlay(&["reject", id(&s.held()[0])]).succeeds().any_err();
    assert_eq!(json(&s.a.read(LOCAL)), rest);
    s.sync(0).any_err();
    // The person's own edits in the overlay wait for nobody.
    let own = "{\"model\": \"b\", \"apiKeyHelper\": \"mine\"}";
    s.put(LOCAL, own);
    s.sync(0).any_err();
    s.all_are(LOCAL, own);
}

#[test]
fn what_keeps_agents_in_is_not_taken_away_unasked() {
    let w = World::new();
    let start = r#"{"model": "a", "sandbox": {"enabled": true}}"#;
    let s = ignoring(&w, &[(LOCAL, start)]);
    s.a.write(LOCAL, r#"{"model": "b"}"#);
    s.sync(1).any_err();
    assert_eq!(why(&s, LOCAL), "it takes away from `sandbox` (wider permissions)");
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let rest = json(&start.replace("\"a\"", "\"b\""));
    assert_eq!((json(&s.text(LOCAL)), json(&s.b.read(LOCAL))), (rest.clone(), rest));
    s.app.overlay(&["accept", id(&s.held()[0])]).succeeds().any_err();
    s.all_are(LOCAL, r#"{"model": "b"}"#);
    // A mode in which an agent asks first is harmless where it comes.
    let asks = r#"{"model": "b", "permissions": {"defaultMode": "plan"}}"#;
    s.a.write(LOCAL, asks);
    s.sync(0).any_err();
    s.all_are(LOCAL, asks);
    s.a.write(LOCAL, r#"{"model": "b"}"#);
    s.sync(1).any_err();
    assert_eq!(why(&s, LOCAL), "it takes away from `permissions.defaultMode` (wider permissions)");
    s.all_but(&s.a, LOCAL, asks);
    s.app.overlay(&["reject", id(&s.held()[0])]).succeeds().any_err();
    s.put(LOCAL, r#"{"model": "b"}"#);
    s.sync(0).any_err();
    // A program that does not know of it yet takes nothing away.
    s.put(LOCAL, &start.replace("\"a\"", "\"b\""));
    s.sync(0).any_err();
    s.a.write(LOCAL, r#"{"model": "c"}"#);
    s.sync(0).err_has("was written from an old view: it lacks sandbox.enabled");
    s.all_are(LOCAL, &s.text(LOCAL));
    assert!(s.text(LOCAL).contains("enabled") && s.text(LOCAL).contains("\"c\""));
}

#[test]
fn variables_that_start_programs_wait_and_others_do_not() {
    let w = World::new();
    let s = ignoring(&w, &[(".env", "A=1\n")]);
    for name in ["BASH_ENV", "ENV", "NODE_OPTIONS", "LD_PRELOAD", "PATH", "GIT_SSH_COMMAND", "PYTHONSTARTUP", "EDITOR"]
    {
        s.a.write(".env", &format!("A=1\nexport {name}=/x\n"));
        s.sync(1).err_has(&format!("a part of .env is held: it adds to `{name}` (the environment)"));
        s.all_but(&s.a, ".env", "A=1\n");
    }
    s.a.write(".env", "A=2\nEDITOR=/x\nPORT=1\n");
    s.sync(1).any_err();
    s.all_but(&s.a, ".env", "A=2\nPORT=1\n");
    s.app.overlay(&["accept", id(&s.held()[0])]).succeeds().any_err();
    s.all_are(".env", "A=2\nEDITOR=/x\nPORT=1\n");
    // Who changes its value changes what is started.
    s.b.write(".env", "A=2\nEDITOR=/y\nPORT=1\n");
    s.sync(1).any_err();
    s.all_but(&s.b, ".env", "A=2\nEDITOR=/x\nPORT=1\n");
    s.b.write(".env", "A=2\nEDITOR=/x\nPORT=2\n");
    s.sync(0).any_err();
    s.all_are(".env", "A=2\nEDITOR=/x\nPORT=2\n");
}

#[test]
fn a_variable_that_only_some_readers_see_holds_the_whole_file() {
    let w = World::new();
    let s = ignoring(&w, &[(".env", "A=1\n")]);
    for line in ["PATH: /x", "A=1 PATH=/x", "PATH+=:/x", "# note\rGIT_SSH=/x", "B=\"x\nPATH=/x\"", "\u{feff}PATH=/x"] {
        s.a.write(".env", &format!("A=2\n{line}\n"));
        s.sync(1).err_has("/a: .env is held: it adds to `");
        s.all_but(&s.a, ".env", "A=1\n");
    }
    for line in ["touch /x", ". ./x", "ls() { evil; }", "alias ls=evil", "set -gx PATH /x", "'evil'", "a[0]=/x"] {
        s.a.write(".env", &format!("A=1\n{line}\n"));
        s.sync(1).err_has("/a: .env is held: ");
        s.all_but(&s.a, ".env", "A=1\n");
    }
    for end in ['\x0b', '\x0c', '\x1c', '\x1d', '\x1e', '\u{85}'] {
        s.a.write(".env", &format!("A=1\n#{end}PATH=/x\n"));
        s.sync(1).err_has("/a: .env is held: it adds to `PATH`");
    }
    for value in [
        "1; evil",
        "1 evil /x",
        "1&&evil",
        "<(evil)",
        "\"1\" evil",
        "a&./evil",
        "1>x",
        "1<<X",
        "\"${B@P}\"",
        "${shell x}",
    ] {
        s.a.write(".env", &format!("A=1\nC={value}\n"));
        s.sync(1).err_has("a part of .env is held: it adds to `C` (perhaps a program)");
    }
    s.a.write(".env", "A=1\nB=$(curl evil)\n# PATH=/x\n");
    s.sync(1).err_has("a part of .env is held: it adds to `B` (perhaps a program)");
    s.all_but(&s.a, ".env", "A=1\n# PATH=/x\n");
}

#[test]
fn an_address_with_arguments_is_no_command_and_a_line_that_leaves_its_quotes_is_a_new_one() {
    let w = World::new();
    let s = ignoring(&w, &[(".env", "A=1\n")]);
    let urls = "A=1\nU=postgres://h/x?a=1&b=2\nV=${HOME}/${X:-y}/$Z\n";
    s.a.write(".env", urls);
    s.sync(0).any_err();
    s.all_are(".env", urls);
    let quoted = "A=1\nX=\"\ntouch /x\n\"\n";
    s.a.write(".env", quoted);
    s.sync(0).any_err();
    s.all_are(".env", quoted);
    s.a.write(".env", "A=1\ntouch /x\n");
    s.sync(1).err_has(".env is held: a line of it sets no variable");
    s.all_but(&s.a, ".env", quoted);
}

#[test]
fn a_byte_order_mark_that_readers_do_not_take_waits() {
    let w = World::new();
    let s = ignoring(&w, &[(".env", "A=1\nB=2\n"), ("x.toml", "a = 1\n")]);
    for (path, text) in [(".env", "A=1\nB=2\n"), ("x.toml", "a = 1\n")] {
        s.a.write(path, &format!("\u{feff}{text}"));
        s.sync(1).err_has("it begins with a byte order mark now");
        s.all_but(&s.a, path, text);
        s.a.write(path, text);
    }
}

#[test]
fn more_entries_than_a_person_can_look_at_hold_the_file_at_once() {
    let w = World::new();
    let s = ignoring(&w, &[(".env", "A=1\n"), (LOCAL, "{}")]);
    s.a.write(".env", &(0..20_000).map(|n| format!("V{n}=ls x\n")).collect::<String>());
    let hooks: Vec<String> = (0..20_000).map(|n| format!("\"hook{n}\": \"ls\"")).collect();
    s.a.write(LOCAL, &format!("{{{}}}", hooks.join(", ")));
    let start = std::time::Instant::now();
    s.sync(1).err_has("it adds 20000 entries that may start programs").err_has("settings.local.json is held");
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    s.all_but(&s.a, ".env", "A=1\n");
}

#[test]
fn no_repository_frees_agents_of_what_restricts_them() {
    let w = World::new();
    let rules = r#"{"permissions": {"allow": ["Read"], "ask": ["Bash(git push:*)"], "deny": ["Bash(rm:*)"]}, "disabledMcpjsonServers": ["evil"]}"#;
    let s = ignoring(&w, &[(LOCAL, rules)]);
    s.app.write(
        ".shopfloor/config.toml",
        "[overlay-sync.path.\"settings.local.json\"]\npolicy = \"three-way\"\nlocal = [\"permissions.deny\", \"model\"]\n",
    );
    s.a.write(LOCAL, r#"{"model": "mine", "permissions": {"allow": ["Read"]}}"#);
    s.sync(0).out_has("3 entries it removed are kept");
    // What the file may say is that a model stays in its worktree.
    s.all_but(&s.a, LOCAL, rules);
    assert!(
        ["git push", "rm:*", "evil", "mine"].iter().all(|text| s.a.read(LOCAL).contains(text)),
        "{}",
        s.a.read(LOCAL)
    );
    let new = s.app.worktree("new");
    s.app.overlay(&["attach", new.path.to_str().unwrap()]).succeeds().any_err();
    assert!(new.read(LOCAL).contains("Bash(rm:*)"), "{}", new.read(LOCAL));
}

#[test]
fn a_text_under_review_is_shown_as_text() {
    let w = World::new();
    let s = ignoring(&w, &[(LOCAL, "{}")]);
    s.a.write(LOCAL, "{\"hooks\": \"evil\"}\u{1b}[1A\u{1b}[2K\u{9b}2J\u{202e}\n");
    s.sync(1).any_err();
    let held = s.held();
    let shown = s.app.on_terminal(&format!("overlay-sync show {}", id(&held[0])), "").exit(0);
    assert!(!shown.stdout.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{shown}");
    shown.out_has("evil").out_has("\\u{1b}[2K");
    let json = s.app.overlay(&["show", id(&held[0]), "--json"]).exit(0);
    assert!(json.stdout.is_ascii() && json.json()["text"].as_str().unwrap().contains('\u{202e}'), "{json}");
}

#[test]
fn a_file_that_programs_run_waits_as_a_whole_unless_a_person_trusts_it() {
    let files = ".envrc .env.sh .vscode/tasks.json .claude/hooks/check .claude/commands/x.md mise.local.toml .mise.toml \
        lefthook-local.yml .husky/pre-commit Makefile.local .npmrc .claude/guard.py .claude/bin/check \
        .codex/rules/default.rules .gemini/sandbox.Dockerfile docker-compose.yml .eslintrc.yml .golangci.yml .mypy.ini \
        x-script";
    let files: Vec<&str> = files.split_ascii_whitespace().collect();
    let start = |path: &str| match path.rsplit_once('.') {
        Some((_, "json")) => "{}",
        _ if path == "x-script" => "#!/bin/sh\n",
        _ => "# start\n",
    };
    let w = World::new();
    let s = ignoring(&w, &files.iter().map(|&path| (path, start(path))).collect::<Vec<_>>());
    let edit = |path: &str| match path.rsplit_once('.') {
        Some((_, "json")) => "{\"tasks\": []}",
        Some((_, "yml")) => "# start\nx: evil\n",
        _ => "# start\nx = \"evil\"\n",
    };
    for &path in &files {
        s.a.write(path, edit(path));
    }
    s.sync(1).any_err();
    for &path in &files {
        s.all_but(&s.a, path, start(path));
        assert_eq!(why(&s, path), "programs run this file (a program)");
    }
    s.app.overlay(&["accept", &s.held_ids()[0]]).succeeds().any_err();
    assert_eq!(s.held().len(), files.len() - 1);
    configure(&w, "[overlay-sync.path.\".envrc\"]\nreview = false\n[overlay-sync.path.\"x*\"]\nreview = false\n");
    s.sync(1).any_err();
    for path in [".envrc", "x-script"] {
        s.all_are(path, edit(path));
    }
    // The repository's file may say that only after approval.
    configure(&w, "");
    s.a.write(".envrc", "more\n");
    s.app.write(".shopfloor/config.toml", "[overlay-sync.path.\"*\"]\nreview = false\n");
    s.sync(1).err_has("needs approval");
    assert_eq!(s.b.read(".envrc"), edit(".envrc"));
    s.app.overlay(&["sync", "--review", ""]).succeeds().any_err();
    s.all_are(".envrc", "more\n");
}

#[test]
fn what_may_be_executed_waits_whatever_its_name() {
    let w = World::new();
    let files = [("x-one", "one\n"), ("x-two", "two\n"), ("x-three", "three\n")];
    let s = ignoring(&w, &files);
    s.a.sh("chmod 755 x-one; echo evil > x-one; printf '\\177ELF evil' > x-two; printf 'MZ evil' > x-three").exit(0);
    s.sync(1).any_err();
    for (path, start) in files {
        s.all_but(&s.a, path, start);
        assert_eq!(why(&s, path), "programs run this file (a program)");
    }
}

#[test]
fn a_new_file_that_starts_something_does_not_enter() {
    let w = World::new();
    configure(&w, "[overlay-sync]\npaths = [\"*\"]\n");
    let s = ignoring(&w, &[(".claude/other", "x")]);
    s.a.write(LOCAL, r#"{"permissions": {"allow": ["Read"]}, "apiKeyHelper": "evil"}"#);
    s.a.write(".envrc", "evil\n");
    s.a.write(".env", "PATH=/x\n");
    s.a.write(".claude/settings.json", r#"{"permissions": {"allow": ["Read"]}}"#);
    let out = s.sync(1);
    out.err_has("it is new and adds to `apiKeyHelper` (a helper), which may run code in every workspace")
        .err_has(".envrc is held: it is new, and programs run this file")
        .err_has(".env is held: it is new and adds to `PATH` (the environment)");
    for path in [LOCAL, ".envrc", ".env"] {
        assert!(!s.overlay(path).exists() && !s.b.has(path), "{path}");
    }
    s.all_are(".claude/settings.json", r#"{"permissions": {"allow": ["Read"]}}"#);
    // Two workspaces that each have a file of their own do not get the other's.
    s.put(".envrc", "mine\n");
    s.sync(1).any_err();
    assert_eq!((s.text(".envrc").as_str(), s.b.read(".envrc").as_str()), ("mine\n", "mine\n"));
}

#[test]
fn what_else_programs_read_waits_too() {
    let w = World::new();
    let s = ignoring(&w, &[(".env", "A=1\n"), (".gemini/settings.json", "{}")]);
    let names = "PROTOC OPENAI_API_BASE SSLKEYLOGFILE VSCODE_GIT_ASKPASS_NODE CC_X86 R_LIBS_USER SCREENRC PGSYSCONFDIR CPATH \
        GUIX_PACKAGE_PATH SPRING_APPLICATION_JSON LOGGING_CONFIG GECKODRIVER_PATH KOTLIN_HOME FLUTTER_ROOT";
    for name in names.split_ascii_whitespace() {
        s.a.write(".env", &format!("A=1\n{name}=/x\n"));
        s.sync(1).err_has(&format!("a part of .env is held: it adds to `{name}` (the environment)"));
        s.all_but(&s.a, ".env", "A=1\n");
    }
    s.a.write(".env", "A=1\n");
    // Where all prompts go, and a file to append to.
    s.a.write(".gemini/settings.json", r#"{"telemetry": {"otlpEndpoint": "http://x", "outfile": "/x"}}"#);
    s.sync(1).any_err();
    s.all_but(&s.a, ".gemini/settings.json", "{}");
}

#[test]
fn a_verdict_is_on_the_text_that_was_shown() {
    let w = World::new();
    let s = ignoring(&w, &[(".envrc", "a\n")]);
    s.a.write(".envrc", "a\nb\n");
    s.sync(1).any_err();
    let held = id(&s.held()[0]).to_owned();
    // Nobody finds two texts with one id.
    assert_eq!(held.len(), 32);
    s.a.write(".envrc", "a\nc\n");
    s.app.overlay(&["accept", &held]).exit(1).any_out().err_has(".envrc");
    s.all_but(&s.a, ".envrc", "a\n");
}

#[test]
fn a_merge_puts_no_line_outside_of_its_quotes() {
    let w = World::new();
    let s = ignoring(&w, &[(".env", "A=1\nB=2\nC=3\nY=8\nZ=9\n")]);
    s.a.write(".env", "A=1\nB=2\nC=3\nM=\"\ntouch ran\n\"\nY=8\nZ=9\n");
    s.sync(0).any_err();
    s.a.write(".env", "A='\nB=2\nC=3\nM=\"\ntouch ran\n\"\nY=8\n'\nZ=9\n");
    s.b.write(".env", "A=1\nB=2\nC=3\nM=\"'\"\nN=\"\ntouch ran\n\"\nY=8\nZ=9\n");
    s.sync(1).any_err();
    assert!(why(&s, ".env").contains("outside of its quotes"));
    for at in [&s.a, &s.b] {
        at.sh(". ./.env").exit(0);
        at.sh(&format!(". {}", s.overlay(".env").display())).exit(0);
        assert!(!at.has("ran"));
    }
}
