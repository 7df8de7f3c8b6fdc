//! Setup commands: what they see, and when they run again.

use crate::support::world::{World, text};

#[test]
fn setup_runs_once_per_list_and_again_when_asked() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"echo 1 >> log\"]\n");
    app.apply(&["--no-setup"]).succeeds();
    assert!(!app.has("log"));
    app.apply(&[]).succeeds();
    app.apply(&[]).exit(0);
    assert_eq!(app.read("log"), "1\n");
    app.apply(&["--setup-again"]).succeeds();
    assert_eq!(app.read("log"), "1\n1\n");
    w.area("setup = [\"echo 2 >> log\"]\n");
    app.apply(&[]).succeeds();
    assert_eq!(app.read("log"), "1\n1\n2\n");
}

#[test]
fn a_setup_command_may_call_the_tool_itself() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"echo in >> log; sweatfile-apply; sweatfile-apply check > drift || true\"]\n");
    let out = app.apply(&[]).succeeds();
    out.err_has("inside the setup of this worktree");
    assert_eq!(app.read("log"), "in\n");
    assert_eq!(app.read("drift"), "setup never finished with these commands\n");
}

/// Case 11 of the design.
#[test]
fn a_failing_command_stops_the_rest_and_a_later_run_starts_again() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"echo 1 >> log\", \"test -e fixed\", \"touch never\"]\n");
    let out = app.apply(&[]).exit(4).any_out();
    out.err_has("test -e fixed").err_has("exit status 1");
    assert!(!app.has("never"));
    let json = app.apply(&["--json"]).exit(4).any_err().json();
    let actions: Vec<&str> = (0..3).map(|i| text(&json, &format!("/setup/{i}/action"))).collect();
    assert_eq!(actions, ["created", "failed", "skipped"]);
    assert_eq!(json["setup"][1]["status"], 1);
    assert_eq!(text(&json, "/error/kind"), "setup");
    app.apply(&["check"]).exit(1).out_has("setup never finished");
    app.write("fixed", "");
    app.apply(&[]).succeeds();
    assert_eq!(app.read("log"), "1\n1\n1\n");
    app.apply(&["check"]).exit(0);
}

/// Case 12 of the design.
#[test]
fn setup_sees_its_own_worktree_whatever_git_dir_says() {
    let w = World::new();
    let app = w.app();
    let other = w.repo("eng/repos/other");
    w.area("setup = [\"git rev-parse --show-toplevel > top\"]\n");
    app.approved("[env]\nA = \"1\"\n");
    let wt = app.worktree("wt");
    let git_dir = other.path.join(".git");
    let hook_env = [("GIT_DIR", git_dir.to_str().unwrap()), ("GIT_INDEX_FILE", "index")];
    wt.run_with("sweatfile-apply", &[], &hook_env).succeeds();
    assert_eq!(wt.read("top").trim_end(), wt.path.to_str().unwrap());
    assert_eq!(wt.read(".sweatshop-env"), "A=1\n");
    // With -C, the named directory decides.
    let named = app.worktree("named");
    other.run_with("sweatfile-apply", &["-C", named.path.to_str().unwrap()], &hook_env).succeeds();
    assert_eq!(named.read("top").trim_end(), named.path.to_str().unwrap());
    assert!(!other.has(".sweatshop-env") && other.excludes().is_empty());
}

#[test]
fn setup_sees_the_true_values_and_its_worktree() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"env | grep -E '^(A|SWEATFILE_)' | sort > seen\", \"cat; echo $? > stdin\"]\n[env]\nA = \"it's $5 `x` \\\\\"\n");
    app.apply(&[]).succeeds().any_err();
    let here = app.path.display();
    assert_eq!(app.read("seen"), format!("A=it's $5 `x` \\\nSWEATFILE_REPO_ROOT={here}\nSWEATFILE_WORKTREE={here}\n"));
    assert_eq!(app.read("stdin"), "0\n");
}

#[test]
fn a_setup_command_that_asks_on_the_terminal_fails_instead_of_waiting() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"read x < /dev/tty\"]\n");
    app.on_terminal("sweatfile-apply", "").exit(4).out_has("/dev/tty");
}

#[test]
fn a_failed_setup_runs_again_even_if_it_had_finished_before() {
    let w = World::new();
    let app = w.app();
    w.area("setup = [\"echo run >> log; test ! -e broken\"]\n");
    app.apply(&[]).succeeds();
    app.write("broken", "");
    app.apply(&["--setup-again"]).exit(4).any_out().any_err();
    app.apply(&["check"]).exit(1).out_has("setup never finished");
    app.sh("rm broken").exit(0);
    app.apply(&[]).succeeds();
    assert_eq!(app.read("log"), "run\nrun\nrun\n");
}

/// Each command has a shell of its own.
#[test]
fn a_command_that_only_sets_a_state_is_warned_about() {
    let w = World::new();
    let app = w.app();
    app.write("x", "");
    let only_state = [
        "cd app",
        "X=1",
        "X=1 Y='2'",
        "export X=1",
        ". ./x",
        "source .venv/bin/activate",
        "set -e",
        "pushd app",
        "umask 077",
        "alias x=y",
        "nvm use",
        "conda activate x",
        "unset X",
        "cd app;",
        "cd app && export B=2",
        "(cd app)",
        "declare -x A=1",
        "eval $(ssh-agent)",
        "pyenv shell 3.12",
        "workon x",
        "module load gcc",
    ];
    for command in only_state {
        w.area(&format!("setup = [{command:?}, \"true\"]\n"));
        let out = app.apply(&["--no-setup"]).exit(0).any_out();
        out.err_has(&format!("sweatfile:1:10: `{command}` has no effect outside of its own shell"));
        out.err_has("join it with the next command by `&&`");
    }
    let work =
        ["cd app && ls", "cd app; ls", "X=1 env", "(cd app; ls)", "X=$(make)", "cd app\nls", "cdrecord x", "set-up x"];
    for command in work {
        w.area(&format!("setup = [{command:?}, \"true\", \". ./x\"]\n"));
        app.apply(&["--no-setup"]).succeeds();
    }
}
