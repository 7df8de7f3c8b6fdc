//! Completions in real shells, on a terminal: subcommands, options and names.

use crate::support::world::{Repo, World, needs, project, write};

/// Two agents, one worker, and the generated completions in the directory where the shell looks for them.
fn app<'w>(w: &'w World, shell: &str, dir: &str) -> Repo<'w> {
    let app = w.repo("app");
    for name in ["feat", "other"] {
        app.spawn(&["subtree", name]).exit(0).any_out().any_err();
    }
    app.run("worker-ctl", &["init"]).exit(0).any_out();
    app.run("worker-ctl", &["add", "adam"]).exit(0).any_out();
    std::fs::create_dir_all(w.home(dir)).unwrap();
    for entry in std::fs::read_dir(project().join("docs/cli/completions")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_its = match shell {
            "zsh" => name.starts_with('_'),
            "fish" => name.ends_with(".fish"),
            _ => !name.starts_with('_') && !name.contains('.'),
        };
        if is_its {
            std::fs::copy(&path, w.home(dir).join(name)).unwrap();
        }
    }
    app
}

/// Types command lines with tabs, and requires what they print once they are completed.
fn check(app: &Repo<'_>, shell: &str) {
    let lines = "worktree-spawn path main.f\t > ~/path\nworker-ctl config --jso\t > ~/json\nshopfloor go ad\t > ~/adam\n\
                 shopfloor shell-i\tbas\t > ~/init\nledger-synth explain deci\t 2> ~/explain\nexit\n";
    app.on_terminal(shell, lines).any_status().any_out();
    let home = app.world.at(app.world.home(""));
    assert_eq!(home.read("path").trim_end(), app.path.join(".shopfloor/worktrees/feat").to_str().unwrap());
    assert!(home.read("json").starts_with("{\"v\":1"));
    assert!(home.read("adam").trim_end().ends_with("/adam"));
    assert!(home.read("init").starts_with("shopfloor()"));
    assert!(home.read("explain").contains("`decisions`"), "{}", home.read("explain"));
}

#[test]
fn bash_completes_below_the_first_word() {
    let w = World::new();
    let app = app(&w, "bash", "done");
    let source = "for file in ~/done/*; do . \"$file\"; done\nPS1='> '\nbind 'set enable-bracketed-paste off'\n";
    std::fs::write(w.home("rc"), source).unwrap();
    check(&app, &format!("bash --noprofile --rcfile {} -i", w.home("rc").display()));
}

#[test]
fn zsh_completes_from_its_function_path() {
    if !needs("zsh") {
        return;
    }
    let w = World::new();
    let app = app(&w, "zsh", "done");
    std::fs::write(w.home(".zshrc"), "fpath=(~/done $fpath)\nautoload -U compinit && compinit -u -D\nPS1='> '\n")
        .unwrap();
    check(&app, "zsh -i");
}

#[test]
fn fish_completes_from_its_directory() {
    if !needs("fish") {
        return;
    }
    let w = World::new();
    let app = app(&w, "fish", ".config/fish/completions");
    // Without it the first fish reads all man pages of the machine, in the background and for minutes.
    std::fs::create_dir_all(w.home(".local/share/fish/generated_completions")).unwrap();
    check(&app, "fish -i");
}

/// What a shell is offered for the last of these words.
fn offered(app: &Repo<'_>, words: &[&str]) -> Vec<String> {
    let line =
        format!("{} -- {}", words[0], words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "));
    let index = words.len() - 1;
    let out = app.sh(&format!(
        "SHOPFLOOR_COMPLETE=bash _CLAP_IFS='\n' _CLAP_COMPLETE_INDEX={index} \
        _CLAP_COMPLETE_COMP_TYPE=9 _CLAP_COMPLETE_SPACE=true {line}"
    ));
    let mut words: Vec<String> = out.exit(0).stdout.split('\n').map(str::to_owned).collect();
    words.sort();
    words
}

#[test]
fn names_come_without_options_and_values_are_offered() {
    let w = World::new();
    let app = app(&w, "bash", "done");
    assert_eq!(offered(&app, &["shopfloor", "go", ""]), ["adam", "feat", "other"]);
    assert_eq!(offered(&app, &["shopfloor", "rm", ""]), ["adam", "feat", "other"]);
    assert_eq!(offered(&app, &["shopfloor", "send", ""]), ["adam", "feat", "other"]);
    // A name that stands there is not offered again, nor what the command refuses.
    assert_eq!(offered(&app, &["shopfloor", "rm", "adam", ""]), ["feat", "other"]);
    app.git(&["worktree", "add", "-q", "../hand-made"]);
    assert_eq!(offered(&app, &["worktree-spawn", "remove", "main.feat", ""]), ["main.other"]);
    assert!(offered(&app, &["worktree-spawn", "path", ""]).iter().any(|word| word == "root"));
    let verbs = offered(&app, &["shopfloor", ""]);
    assert!(verbs.iter().any(|word| word == "status") && verbs.iter().all(|word| word != "ls"), "{verbs:?}");
    let options = offered(&app, &["shopfloor", "land", "feat", "--"]);
    assert!(["--no-check", "--json"].iter().all(|option| options.iter().any(|word| word == option)), "{options:?}");
    // `--yes` is told where it helps.
    for verb in ["adopt", "start", "send", "answer", "wait", "review", "back", "land", "request", "stop", "resume"] {
        let help = app.shopfloor(&[verb, "--help"]).exit(0).stdout.clone();
        let mut options = offered(&app, &["shopfloor", verb, "--"]);
        options.retain(|option| option != "--yes" && !help.contains(option.as_str()));
        assert!(options.is_empty(), "{verb}: {options:?}");
    }
    app.shopfloor(&["start", "feat", "--worker", "adam"]).exit(2).err_has("unexpected argument '--worker' found");
    assert_eq!(offered(&app, &["shopfloor", "land", "--land", ""]), ["commits", "squash"]);
    let [here, there] = ["shopfloor", "worker-ctl"].map(|tool| offered(&app, &[tool, "wait", "--for", ""]));
    assert_eq!(here, there);
    assert!(offered(&app, &["shopfloor", "go", "-"]).iter().any(|word| word == "--json"));
    assert!(offered(&app, &["worker-ctl", "wait", "adam", "--for", ""]).iter().any(|word| word == "needs_review"));
    for option in ["--worker", "--resume"] {
        assert_eq!(offered(&app, &["worker-ctl", "start", option, ""]), ["adam"]);
    }
    // Where the line says so, those of another repository and of another root.
    let (sep, root) = (w.repo("sep"), w.home("sep-root"));
    sep.spawn(&["subtree", "lone"]).exit(0).any_out().any_err();
    sep.run("worker-ctl", &["init", "--target", root.to_str().unwrap()]).succeeds();
    sep.run("worker-ctl", &["add", "eve"]).succeeds();
    assert_eq!(offered(&app, &["shopfloor", "-C", "../sep", "go", ""]), ["eve", "lone"]);
    assert_eq!(offered(&app, &["worker-ctl", "--root", root.to_str().unwrap(), "attach", ""]), ["eve"]);
    // Those of the person's own file, too.
    write(&w.home(".config/shopfloor/config.toml"), "[worker-ctl.agents.mine]\ncommand = [\"true\"]\n");
    for words in [["worker-ctl", "add"], ["shopfloor", "new"], ["shopfloor", "adopt"], ["worktree-spawn", "subtree"]] {
        let offered = offered(&app, &[&words[..], &["x", "--agent", ""]].concat());
        assert!(["codex", "mine"].iter().all(|name| offered.iter().any(|word| word == name)), "{words:?}: {offered:?}");
    }
}
