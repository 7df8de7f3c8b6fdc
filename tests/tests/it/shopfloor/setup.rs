//! shopfloor: a set-up, step by step, and its way back.

use std::os::unix::process::ExitStatusExt;

use serde_json::{Value, json};
use shopfloor_core::hash::Digest;

use crate::support::door::{app, told};
use crate::support::world::{Repo, World, project, text, write};

#[test]
fn everything_that_setup_did_is_taken_back_byte_for_byte() {
    let w = World::new();
    let app = app(&w);
    let before = told(&app);
    let out = app.shopfloor(&["setup", "--yes"]).exit(0);
    out.err_has("agents on the PATH: claude; tmux: yes")
        .err_has("\nsweatfile-apply: installed ")
        .err_has("sandbox")
        .err_has("agents need: .env, .claude/settings.local.json");
    let lines: Vec<&str> = out.stdout.lines().collect();
    let attach = format!("overlay-sync attach {}", app.path.display());
    assert_eq!(
        lines,
        [
            "sweatfile-apply init",
            "sweatfile-apply approve --yes",
            "sweatfile-apply hook install",
            "overlay-sync add .env .claude/settings.local.json",
            attach.as_str(),
            "overlay-sync hook install",
            "ledger-synth install --claude",
            "shopfloor skills",
            "worker-ctl init",
        ]
    );
    app.git(&["add", "-A"]);
    app.git(&["commit", "-q", "-m", "setup"]);
    // Again, nothing is left to do.
    assert_eq!(app.shopfloor(&["setup", "--yes"]).exit(0).err_has("everything is set up").stdout, "");
    let child = app.shopfloor(&["new", "feat"]).exit(0).any_err().stdout.trim_end().to_owned();
    assert_eq!(w.at(child).read(".env"), "A=1\n");
    app.shopfloor(&["rm", "feat"]).succeeds().any_err();
    app.run("worker-ctl", &["add", "adam"]).succeeds();
    // Only what holds a person's files stays.
    let out = app.shopfloor(&["teardown"]).exit(1);
    let overlay = w.home(".local/share/shopfloor/overlays/app");
    out.err_has(&format!("overlay stays: the overlay {} has files", overlay.display()));
    out.out_has("deinit --yes").out_has("removed sweatfile").out_has("removed .gitattributes");
    assert_eq!(told(&app), before);
    assert!(!app.has("sweatfile") && !app.has(".claude/skills") && !w.home("workers").exists());
    assert!(app.has(".claude/settings.local.json") && app.has(".env"));
    app.shopfloor(&["teardown"]).exit(1).any_out().err_has("has files");
    std::fs::remove_dir_all(overlay).unwrap();
    app.shopfloor(&["teardown"]).exit(0).any_out().any_err();
    assert!(!app.has(".git/shopfloor/setup.json"));
    app.shopfloor(&["teardown"]).exit(0);
}

/// Git needs no exclude file, and a clone with other templates has none.
#[test]
fn an_exclude_file_that_the_tools_made_goes_with_its_last_line() {
    let w = World::new();
    let app = app(&w);
    app.sh("rm .git/info/exclude").exit(0);
    app.shopfloor(&["new", "feat"]).exit(0).any_out().any_err();
    assert!(app.has(".git/info/exclude"));
    app.shopfloor(&["rm", "feat"]).succeeds().any_err();
    assert!(!app.has(".git/info/exclude"));
    app.shopfloor(&["new", "feat"]).exit(0).any_out().any_err();
    app.sh("echo mine >> .git/info/exclude").exit(0);
    app.shopfloor(&["rm", "feat"]).succeeds().any_err();
    assert_eq!(app.read(".git/info/exclude"), "mine\n");
    // A last line without its end is as it was, too.
    app.write(".git/info/exclude", "*.tmp");
    for _ in 0..2 {
        app.shopfloor(&["new", "feat"]).exit(0).any_out().any_err();
        app.shopfloor(&["rm", "feat"]).succeeds().any_err();
        assert_eq!(app.read(".git/info/exclude"), "*.tmp");
    }
}

/// Another clone at the same path is another repository, whose files are its own.
#[test]
fn a_clone_at_the_place_of_another_one_is_set_up_anew() {
    let w = World::new();
    let app = app(&w);
    app.shopfloor(&["setup", "--yes"]).exit(0).any_out().any_err();
    std::fs::remove_dir_all(&app.path).unwrap();
    std::fs::create_dir(&app.path).unwrap();
    app.git(&["init", "-q", "-b", "main"]);
    app.commit(".gitignore", ".env\n.claude/settings.local.json\n");
    app.write(".env", "B=1\n");
    app.shopfloor(&["setup", "--yes"]).any_status().any_err().out_has("overlay-sync attach");
    assert!(app.read(".env").contains("B=1\n"));
    let child = app.shopfloor(&["new", "feat"]).exit(0).any_err().stdout.trim_end().to_owned();
    assert!(w.at(child).read(".env").contains("B=1\n"));
}

/// What cannot be done yet is said, and not tried.
#[test]
fn what_a_step_still_lacks_is_said() {
    let w = World::new();
    w.program("claude", "exec sleep 600");
    let bare = w.at(w.home("eng/unborn"));
    std::fs::create_dir_all(&bare.path).unwrap();
    bare.git(&["init", "-q", "-b", "main"]);
    bare.write("lefthook.yml", "pre-commit: {}\n");
    let out = bare.shopfloor(&["setup", "--yes"]).exit(0);
    out.err_has("there is no commit yet").err_has("lefthook manages hooks here, but is not active");
    assert!(!out.stdout.contains("worker-ctl"));
}

#[test]
fn skills_are_written_once_and_edits_stay() {
    let w = World::new();
    let app = w.app();
    let dry = app.shopfloor(&["skills", "-n"]).exit(0);
    dry.out_has("would write .claude/skills/worker-ctl/SKILL.md");
    assert!(!app.has(".claude"));
    let out = app.shopfloor(&["skills"]).exit(0);
    assert_eq!(out.stdout.lines().count(), 6);
    let skills = project().join("skills");
    for name in ["shopfloor", "sweatfile-apply", "overlay-sync", "synthesize-ledgers", "worktree-spawn", "worker-ctl"] {
        let text = std::fs::read_to_string(skills.join(name).join("SKILL.md")).unwrap();
        assert_eq!(app.read(&format!(".claude/skills/{name}/SKILL.md")), text);
    }
    assert_eq!(app.shopfloor(&["skills"]).exit(0).stdout, "");
    app.write(".claude/skills/worker-ctl/SKILL.md", "ours\n");
    let kept = app.shopfloor(&["skills"]).exit(0);
    kept.err_has(".claude/skills/worker-ctl/SKILL.md differs and stays");
    assert_eq!((kept.stdout.as_str(), app.read(".claude/skills/worker-ctl/SKILL.md").as_str()), ("", "ours\n"));
    // A link leads out of the repository.
    app.sh("rm -r .claude && ln -s ../elsewhere .claude && mkdir ../elsewhere").exit(0);
    app.shopfloor(&["skills"]).exit(4).err_has(".claude");
    app.shopfloor(&["skills", "--dir", "../elsewhere"]).exit(2).err_has("../elsewhere");
    assert_eq!(std::fs::read_dir(app.path.with_file_name("elsewhere")).unwrap().count(), 0);
}

#[test]
fn each_step_is_asked_for() {
    let w = World::new();
    let app = app(&w);
    let before = app.snapshot();
    let out = app.shopfloor(&["setup"]).exit(3);
    out.err_has("nothing was set up").err_has("run the command on a terminal, or with `--yes`");
    assert_eq!(app.shopfloor(&["setup", "-n"]).exit(0).any_err().stdout.lines().count(), 9);
    let json = app.shopfloor(&["setup", "-n", "--json"]).exit(0).any_err().stdout.clone();
    let first: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((text(&first, "/command"), &first["dry_run"]), ("sweatfile-apply init", &Value::Bool(true)));
    app.assert_untouched_since(&before);
    // The sweatfile, not the overlay, the ledger, the skills or the workers.
    let out = app.on_terminal("shopfloor setup", "y\nn\nn\nn\nn\n").exit(0);
    assert!(out.stdout.contains("Do this?"), "{out}");
    assert!(app.has("sweatfile") && app.has(".git/hooks/post-checkout"));
    assert!(!app.has(".gitattributes") && !w.home("workers").exists());
    app.overlay(&["status"]).exit(0).any_err().any_out();
    assert!(!w.home(".local/share/shopfloor/overlays").exists());
    app.shopfloor(&["teardown"]).exit(0).any_out().any_err();
    assert!(!app.has("sweatfile"));
}

#[test]
fn what_a_person_changed_since_stays_and_is_named() {
    let w = World::new();
    let app = app(&w);
    app.write(".gitattributes", "*.png binary\n");
    app.shopfloor(&["setup", "--yes"]).exit(0).any_out().any_err();
    let sweatfile = app.read("sweatfile") + "git_excludes = [\"/.envrc\"]\n";
    app.write("sweatfile", &sweatfile);
    app.git(&["config", "merge.ledger-synth.name", "mine"]);
    app.run("worker-ctl", &["add", "adam"]).exit(0).any_out();
    write(&w.home("workers/.worktrees/adam/work"), "work");
    let out = app.shopfloor(&["teardown"]).exit(1).any_out();
    out.err_has("/sweatfile is not as `init` wrote it")
        .err_has("sweatfile stays: `sweatfile-apply init --undo` failed");
    out.err_has("ledger stays: the git setting merge.ledger-synth.name was changed");
    out.err_has("adam has work that is nowhere else").err_has("workers stays: `worker-ctl deinit");
    assert_eq!(app.read("sweatfile"), sweatfile);
    assert_eq!(app.read(".gitattributes"), "*.png binary\n");
    assert_eq!(app.git(&["config", "merge.ledger-synth.name"]), "mine\n");
    assert!(w.home("workers/.worktrees/adam/work").exists());
    // What a person removed by hand is not looked for again.
    std::fs::remove_file(w.home("workers/.worktrees/adam/work")).unwrap();
    app.run("worker-ctl", &["deinit", "--yes"]).exit(0).any_out();
    app.git(&["config", "--remove-section", "merge.ledger-synth"]);
    std::fs::remove_file(app.path.join("sweatfile")).unwrap();
    std::fs::remove_dir_all(w.home(".local/share/shopfloor/overlays/app")).unwrap();
    app.shopfloor(&["teardown"]).exit(0).any_out().any_err();
    assert!(!app.has(".git/shopfloor/setup.json"));
}

#[test]
fn a_killed_setup_can_be_taken_back() {
    let w = World::new();
    let app = app(&w);
    let before = told(&app);
    kill_setup(&app, "ledger-synth", "install");
    assert!(app.has(".gitattributes"));
    let out = app.shopfloor(&["teardown"]).exit(1).any_out();
    assert_eq!(out.stderr.lines().filter(|line| line.contains("stays")).count(), 1, "{out}");
    out.err_has("has files");
    assert!(!app.has("sweatfile") && !app.has(".gitattributes") && !app.has(".claude/settings.json"));
    assert_eq!(told(&app), before);
}

/// Runs a set-up in which a command of a tool writes its files, and then takes the set-up with it.
fn kill_setup(app: &Repo<'_>, tool: &str, command: &str) {
    let w = app.world;
    let program = which_tool(w, tool);
    w.program(tool, &format!("ln -sf {program} ~/{tool}\n~/{tool} \"$@\"\n[ \"$1\" = {command} ] && kill -KILL $PPID"));
    let mut command = w.command(w.path("bin/shopfloor"));
    command.args(["setup", "--yes"]).current_dir(&app.path);
    let output = command.output().unwrap();
    assert_eq!(output.status.signal(), Some(9), "{output:?}");
    let link = w.path("bin").join(tool);
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&program, &link).unwrap();
}

/// The program that a tool's link names.
fn which_tool(w: &World, name: &str) -> String {
    w.path("bin").join(name).read_link().unwrap().display().to_string()
}

#[test]
fn a_repository_without_a_main_checkout_and_a_workers_clone_are_refused() {
    let w = World::new();
    let app = app(&w);
    app.run("git", &["clone", "-q", "--bare", ".", w.home("bare.git").to_str().unwrap()]).exit(0).any_err();
    let bare = w.at(w.home("bare.git"));
    bare.shopfloor(&["setup", "--yes"]).exit(2).err_has("has no main checkout");
    app.run("worker-ctl", &["init"]).exit(0).any_out();
    app.run("worker-ctl", &["add", "adam"]).exit(0).any_out();
    let worker = w.at(w.home("workers/.worktrees/adam"));
    worker.shopfloor(&["setup", "--yes"]).exit(2).err_has("belongs to the workers of").err_has("in that repository");
    std::fs::remove_file(w.path("bin/overlay-sync")).unwrap();
    app.shopfloor(&["setup", "--yes"]).exit(4).err_has("overlay-sync is not on the PATH");
    assert!(!app.has(".git/shopfloor/setup.json"));
}

/// The lines are checked in, and in this clone nobody has told git.
#[test]
fn the_command_by_which_a_hook_manager_makes_git_run_the_lines_is_named_until_git_does() {
    let w = World::new();
    let app = w.repo("app");
    let calls = [
        ("post-checkout", "sweatfile-apply"),
        ("pre-push", "ledger-synth"),
        ("post-merge", "ledger-synth"),
        ("post-rewrite", "ledger-synth"),
    ];
    let jobs = calls.map(|(hook, tool)| format!("{hook}:\n  jobs:\n    - run: {tool} hook run {hook} {{0}}\n"));
    app.write("lefthook.yml", &jobs.concat());
    app.write(".git/hooks/pre-commit", "#!/bin/sh\ncall_lefthook run pre-commit\n");
    app.sh("chmod +x .git/hooks/pre-commit").exit(0);
    for _ in 0..2 {
        let out = app.shopfloor(&["setup", "--yes"]).exit(1).any_out();
        out.err_has("hint: `lefthook install` makes git run the lines that are there; then `shopfloor doctor`");
        assert!(!out.stderr.contains("add to"), "{out}");
    }
    for (hook, _) in calls {
        app.sh(&format!("cp .git/hooks/pre-commit .git/hooks/{hook}")).exit(0);
    }
    app.shopfloor(&["setup", "--yes"]).exit(0).any_out().any_err();
}

#[test]
fn what_to_add_to_the_configuration_of_a_hook_manager_is_shown() {
    let w = World::new();
    let app = app(&w);
    app.write("lefthook.yml", "pre-commit: {}\n");
    app.write(".git/hooks/pre-commit", "#!/bin/sh\ncall_lefthook run pre-commit\n");
    app.sh("chmod +x .git/hooks/pre-commit").exit(0);
    let out = app.shopfloor(&["setup", "--yes"]).exit(1).any_out();
    out.err_has("lefthook owns the hooks, so nothing was written").err_has("overlay-sync hook run post-checkout {0}");
    out.err_has("so that git runs the tools, add to lefthook.yml:\n");
    out.err_has("    post-checkout:\n        jobs:\n          - {name: sweatfile-apply, ");
    out.err_has("    pre-push:\n        jobs:\n          - {");
    assert!(!app.has(".git/hooks/post-checkout"));
    // Until somebody has added it, the doctor asks for it, and what makes worktrees here sets them up itself.
    let wrong = app.shopfloor(&["doctor"]).exit(1).any_err();
    wrong.out_has("wrong  sweatfile-apply  hooks: not installed; sweatfile-apply hook install");
    wrong.out_has("wrong  overlay-sync     hooks: not installed; overlay-sync hook install");
    assert_eq!(*app.shopfloor(&["new", "feat", "--", "cat", ".env"]).exit(0).any_err().stdout, *"A=1\n");
    app.run("worker-ctl", &["add", "adam"]).exit(0).any_out().any_err();
    assert_eq!(w.at(w.home("workers/.worktrees/adam")).read(".env"), "A=1\n");
    app.shopfloor(&["rm", "feat"]).exit(0).any_out().any_err();
    let again = app.shopfloor(&["setup", "--yes", "--json"]).exit(1).any_err().json_lines();
    assert!(text(again.last().unwrap(), "/error/message").contains("add to lefthook.yml:\n"), "{again:?}");
    let out = app.shopfloor(&["teardown", "--json"]).exit(1);
    out.err_has("has files");
    assert_eq!(text(out.json_lines().last().unwrap(), "/error/kind"), "incomplete");
    assert!(!out.stderr.lines().any(|line| line.starts_with("ok ")), "{out}");
}

/// git itself may add a line end, and leave out blank lines at the end, where a setting comes and goes.
#[test]
fn the_configuration_of_git_says_the_same_afterwards() {
    let lines = |text: &str| text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    for odd in ["", "# mine\n", "[alias]\n\tx = y", "\n\n"] {
        let w = World::new();
        let app = w.repo("app");
        let config = app.path.join(".git/config");
        let text = std::fs::read_to_string(&config).unwrap() + odd;
        std::fs::write(&config, &text).unwrap();
        app.shopfloor(&["setup", "--yes"]).succeeds().any_err();
        app.shopfloor(&["teardown"]).exit(0).any_err().out_has("unset merge.ledger-synth.driver");
        assert_eq!(lines(&std::fs::read_to_string(&config).unwrap()), lines(&text));
        // What somebody adds meanwhile stays.
        app.shopfloor(&["setup", "--yes"]).succeeds().any_err();
        app.git(&["config", "alias.z", "status"]);
        app.shopfloor(&["teardown"]).succeeds().any_err();
        assert_eq!(app.git(&["config", "alias.z"]), "status\n");
        app.run("git", &["config", "merge.ledger-synth.driver"]).exit(1);
    }
}

/// What a killed command wrote is in the record of the next set-up, which runs that command again.
#[test]
fn what_a_killed_setup_wrote_is_taken_back_after_the_next_one() {
    let w = World::new();
    let app = app(&w);
    let before = told(&app);
    kill_setup(&app, "ledger-synth", "install");
    assert!(app.has(".gitattributes"));
    let left = app.shopfloor(&["teardown", "-n"]).any_status().any_err();
    left.out_has("would run ledger-synth install --undo");
    app.sh("git config --unset merge.ledger-synth.name; git config --unset merge.ledger-synth.driver").exit(0);
    app.shopfloor(&["setup", "--yes"]).exit(0).any_out().any_err();
    let out = app.shopfloor(&["teardown"]).exit(1).any_out();
    assert_eq!(out.stderr.lines().filter(|line| line.contains("stays")).count(), 1, "{out}");
    out.err_has("overlay stays");
    assert!(!app.has(".gitattributes") && !app.has(".claude/skills") && !app.has("sweatfile"));
    assert_eq!(told(&app).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
}

/// The record alone, which an agent can write, approves nothing.
#[test]
fn what_a_killed_setup_made_is_approved_by_the_next_one_unless_it_was_edited() {
    let w = World::new();
    let app = app(&w);
    kill_setup(&app, "sweatfile-apply", "init");
    let starter = app.read("sweatfile");
    app.write("sweatfile", "setup = [\"touch owned\"]\n");
    let out = app.shopfloor(&["setup", "-n"]).exit(0);
    out.err_has("sweatfile is not approved; read it");
    assert!(!out.stdout.contains("approve"), "{out}");
    app.write("sweatfile", &starter);
    app.shopfloor(&["setup", "--yes"]).exit(0).any_err().out_has("sweatfile-apply approve --yes");
    let approvals = app.apply(&["approvals", "--json"]).exit(0).any_err().json_lines();
    assert!(!approvals.is_empty() && approvals.iter().all(|one| one["status"] == "approved"), "{approvals:?}");
}

#[test]
fn files_that_git_ignores_are_named() {
    let w = World::new();
    let app = app(&w);
    app.sh("echo .claude/ >> .git/info/exclude").exit(0);
    app.shopfloor(&["setup", "--yes"])
        .exit(0)
        .any_out()
        .err_has("git ignores .claude/settings.json, so new worktrees do not get it");
}

/// husky's directory is one below each worktree, so no other repository shares it.
#[test]
fn a_linked_worktree_has_the_hooks_of_husky_too() {
    let w = World::new();
    let app = app(&w);
    let linked = app.worktree("linked");
    app.git(&["config", "core.hooksPath", ".husky/_"]);
    app.write(".husky/_/post-checkout", "#!/bin/sh\n");
    for place in [&app, &linked] {
        let out = place.shopfloor(&["setup", "-n"]).exit(0).any_err();
        out.out_has("would run sweatfile-apply hook install").out_has("would run ledger-synth install");
        assert!(!out.stderr.contains("share"), "{out}");
    }
}

/// What git does not ignore would end up in commits, and what does not exist helps nobody.
#[test]
fn only_files_that_git_ignores_go_into_the_overlay() {
    let w = World::new();
    let app = w.repo("app");
    app.write(".env", "A=1\n");
    app.write("real", "B=1\n");
    app.sh("ln -s real .envrc").exit(0);
    let out = app.shopfloor(&["setup", "-n"]).exit(0);
    out.err_has(".env is neither checked in nor ignored by git").err_has("no agent program is on the PATH");
    assert!(!out.stdout.contains("overlay-sync") && !out.stdout.contains("worker-ctl"), "{out}");
}

/// Only what `setup` made itself is approved, and only hooks that it installed are taken out again.
#[test]
fn what_others_made_is_neither_approved_nor_removed() {
    let w = World::new();
    let app = app(&w);
    app.commit(".shopfloor/config.toml", "[worktree-spawn]\nlauncher = \"touch ~/owned\"\n");
    app.ledger(&["hook", "install"]).exit(0).any_out();
    app.apply(&["hook", "install"]).exit(0).any_out();
    let before = told(&app);
    let out = app.shopfloor(&["setup", "--yes"]).exit(0);
    out.err_has(".shopfloor/config.toml is not approved; read it");
    assert!(!out.stdout.contains("approve") && !out.stdout.contains("sweatfile-apply hook install"), "{out}");
    app.shopfloor(&["teardown"]).exit(1).any_out().err_has("has files");
    assert_eq!(told(&app), before);
    // Hooks of a directory that other repositories share stay as they are.
    std::fs::create_dir(w.home("shared")).unwrap();
    app.git(&["config", "core.hooksPath", w.home("shared").to_str().unwrap()]);
    let out = app.shopfloor(&["setup", "-n"]).exit(0);
    out.err_has("other repositories share");
    assert!(!out.stdout.contains("hook install") && !out.stdout.contains("ledger-synth"), "{out}");
}

/// The record is a file that agents may be able to write: whatever it says, only what is ours by its text goes.
#[test]
fn a_forged_record_deletes_writes_and_runs_nothing_of_a_person() {
    let w = World::new();
    let app = app(&w);
    let mine = [
        ("sweatfile", "[env]\nX = \"1\"\n"),
        (".gitattributes", "*.png binary\n"),
        (".claude/settings.json", "{ \"model\": \"x\" }\n"),
        (".claude/skills/worker-ctl/SKILL.md", "mine\n"),
    ];
    mine.iter().for_each(|(name, text)| app.commit(name, text));
    let (other, theirs) = (w.repo("other"), w.home("theirs"));
    other.run("worker-ctl", &["init", "--target", theirs.to_str().unwrap()]).exit(0).any_out();
    let seen = || {
        let files = mine.iter().map(|(name, _)| *name).chain([".env"]);
        (told(&app), files.map(|name| app.read(name)).collect::<Vec<_>>())
    };
    let hash = |name: &str| Digest::of(&std::fs::read(app.path.join(name)).unwrap()).to_string();
    let (before, evil) = (seen(), "[core]\n\tfsmonitor = touch hook\n");
    let old = json!({
        "step": "ledger",
        "commands": [["touch", "hook"]],
        "hooks": "touch",
        "files": [
            { "path": ".env", "before": null, "after": hash(".env") },
            { "path": "sweatfile", "before": "evil", "after": hash("sweatfile") },
        ],
        "settings": ["merge.ledger-synth.name"],
        "config": { "path": "config", "before": evil, "after": hash(".git/config") },
        "overlay": "/",
        "root": theirs,
    });
    app.write(".git/shopfloor/setup.json", &json!({ "v": 1, "deeds": [old] }).to_string());
    app.shopfloor(&["teardown"]).any_status().any_out().any_err();
    assert_eq!(seen(), before);
    let names = ["sweatfile", "overlay", "ledger", "skills", "workers", "../x"];
    let hooks = ["sweatfile-apply", "overlay-sync", "ledger-synth", "touch"];
    let all = json!({ "v": 2, "steps": names, "hooks": hooks, "config": Digest::of(evil.as_bytes()).to_string() });
    app.write(".git/shopfloor/setup.json", &all.to_string());
    let out = app.shopfloor(&["teardown"]).exit(1).any_out();
    out.err_has("/sweatfile is not as `init` wrote it").err_has("worker-ctl/SKILL.md is not as `setup` left it");
    assert_eq!(seen(), before);
    assert!(theirs.join("config.toml").exists() && !app.has("hook"));
}
