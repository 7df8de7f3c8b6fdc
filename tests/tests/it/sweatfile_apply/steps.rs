//! Steps of set-up that know when they are stale, and those that run in the background.

use std::process::Stdio;

use crate::support::sweep::sweep;
use crate::support::worker::is_queued;
use crate::support::world::{Repo, World, text, wait_for};

/// Two commands of the list, and between them a step with an input.
const DEPS: &str = "setup = [\"echo first >> ~/log\", { run = \"echo step >> ~/log; [ ! -e ~/broken ]\", \
                    inputs = [\"deps.lock\", \"parts/*.lock\"], name = \"deps\" }, \"echo last >> ~/log\"]\n";

fn log(w: &World) -> Vec<String> {
    w.at(w.home("")).read("log").lines().map(str::to_owned).collect()
}

/// A worktree whose set-up waits in the background until something is written to `~/gate`.
fn gated<'w>(w: &'w World, name: &str, more: &str) -> (Repo<'w>, Repo<'w>) {
    let app = w.app();
    app.run("mkfifo", &[w.home("gate").to_str().unwrap()]).exit(0);
    let run = "echo begins; touch ~/begun; read how < ~/gate; echo $how >> ~/log; exit $how";
    app.approved(&format!("setup = [{{ run = \"{run}\", name = \"{name}\", background = true{more} }}, \"true\"]\n"));
    let wt = app.worktree("wt");
    (app, wt)
}

fn open_gate(w: &World, how: &str) {
    w.at(w.home("")).sh(&format!("echo {how} > gate")).exit(0);
}

fn step_log(at: &Repo<'_>) -> String {
    let waited = at.apply(&["wait", "--json", "--timeout", "0"]).any_status().any_err();
    text(&waited.json_lines()[0], "/log").to_owned()
}

#[test]
fn a_step_runs_again_when_an_input_changes_and_the_list_does_not() {
    let w = World::new();
    let app = w.app();
    app.approved(DEPS);
    let wt = app.worktree("wt");
    wt.apply(&[]).succeeds().any_err();
    assert_eq!(log(&w), ["first", "step", "last"]);
    wt.apply(&["check"]).exit(0);
    // An input that is missing is a state, and so is a pattern that nothing matches.
    wt.write("deps.lock", "1");
    wt.apply(&["check"]).exit(1).out_has("setup step `deps` is stale: deps.lock changed");
    wt.apply(&["--dry-run"]).exit(0).any_err().out_has("would have finished setup echo step");
    let done = wt.apply(&["--json"]).exit(0).any_err().json();
    let actions: Vec<&str> = (0..3).map(|n| text(&done, &format!("/setup/{n}/action"))).collect();
    assert_eq!(actions, ["unchanged", "created", "unchanged"], "{done}");
    wt.write("parts/a.lock", "1");
    wt.apply(&["check"]).exit(1).out_has("parts/a.lock changed");
    w.at(w.home("")).write("broken", "");
    wt.apply(&[]).exit(4).any_out().err_has("exit status 1");
    wt.apply(&["check"]).exit(1).out_has("`deps` failed with status 1");
    std::fs::remove_file(w.home("broken")).unwrap();
    wt.apply(&[]).succeeds().any_err();
    // What is behind a link counts, and a directory as a whole.
    std::fs::remove_file(wt.path.join("deps.lock")).unwrap();
    std::os::unix::fs::symlink("target", wt.path.join("deps.lock")).unwrap();
    wt.write("target", "1");
    wt.apply(&["check"]).exit(0);
    wt.write("target", "2");
    wt.apply(&["check"]).exit(1).out_has("deps.lock changed");
    std::fs::remove_file(wt.path.join("deps.lock")).unwrap();
    wt.write("deps.lock/in/it", "1");
    wt.apply(&[]).succeeds().any_err();
    wt.write("deps.lock/in/it", "2");
    wt.apply(&[]).succeeds().any_err();
    // A directory behind a link may be anything.
    std::fs::remove_dir_all(wt.path.join("deps.lock")).unwrap();
    std::os::unix::fs::symlink("/usr", wt.path.join("deps.lock")).unwrap();
    wt.apply(&["check"]).exit(1).out_has("deps.lock changed");
    std::fs::remove_file(wt.path.join("deps.lock")).unwrap();
    wt.write("deps.lock/in/it", "2");
    assert_eq!(log(&w), ["first", "step", "last", "step", "step", "step", "step", "step"]);
    // Another list runs whole; the step stays as it is. Another text of the step is another step.
    app.write("sweatfile", &DEPS.replace("echo last", "echo end"));
    app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    wt.apply(&[]).succeeds().any_err();
    assert_eq!(log(&w)[8..], ["first", "end"]);
    app.write("sweatfile", &DEPS.replace("echo last", "echo end").replace("echo step", "echo again"));
    app.apply(&["approve", "--yes"]).exit(0).any_out().err_has("(again when deps.lock, parts/*.lock changes)");
    wt.apply(&[]).succeeds().any_err();
    wt.apply(&["--setup-again"]).succeeds().any_err();
    assert_eq!(log(&w)[10..], ["again", "first", "again", "end"]);
}

/// What approved commands make of approved files is as approved as they are.
#[test]
fn what_set_up_made_itself_does_not_hold_it_back() {
    let w = World::new();
    w.program("npm", "mkdir -p node_modules/.bin && cp lock node_modules/.bin/tool");
    let app = w.app();
    app.commit(".env.example", "A=1\n");
    app.commit("lock", "0");
    let step = |run: &str| format!("{{ run = {run:?}, inputs = [\"lock\"] }}");
    let runs =
        ["touch .stamp", "cp .env.example .env", "mkdir -p out && cp lock out/lock", "ln -sf lock .link", "npm ci"];
    let steps = runs.map(step).join(", ");
    app.approved(&format!("setup = [{steps}]\n"));
    let wt = app.worktree("wt");
    for number in ["1", "2", "3"] {
        app.commit("lock", number);
        wt.git(&["merge", "-q", "main"]);
        let stale = wt.apply(&["check"]).exit(1).any_err();
        assert!(!stale.stdout.contains("held back"), "{stale}");
        wt.apply(&[]).exit(0).any_out().any_err();
        wt.apply(&["check"]).exit(0);
    }
    assert_eq!(wt.read("out/lock"), "3");
    // An agent may work by then: what a new step names is not known, nor what one in the background has made.
    let run_again = |steps: &str, held: &str| {
        app.approved(&format!("setup = [{steps}]\n"));
        let again = app.worktree(&held.replace('.', ""));
        for number in ["1", "2"] {
            app.commit("lock", &format!("{number}{held}"));
            again.git(&["merge", "-q", "main"]);
            app.approved(&format!("setup = [{}]\n", if number == "1" { "\"true\"" } else { steps }));
            again.apply(&[]).exit(0).any_out().any_err();
            again.apply(&["wait"]).exit(0).any_out().any_err();
        }
        again.apply(&["--setup-again"]).exit(3).any_out().err_has(&format!("nobody has approved {held}"));
    };
    run_again("{ run = \"cp lock .back\", inputs = [\"lock\"], background = true }", ".back");
    run_again("{ run = \"cp lock .late\", inputs = [\"lock\"] }", ".late");
    // Also where a list fails, or has changed; what it has not made waits.
    app.approved("setup = [\"touch .stamp .made\", \"test -e ok\"]\n");
    let wt = app.worktree("fails");
    wt.apply(&[]).exit(4).any_out().any_err();
    wt.write("ok", "");
    let held = wt.apply(&[]).exit(3).any_out();
    held.err_has("nobody has approved ok");
    assert!(!held.stderr.contains(".made"), "{held}");
    wt.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    wt.apply(&[]).exit(0).any_out().any_err();
    // What somebody changes afterwards does, and what a link leads to.
    wt.write(".made", "evil");
    wt.apply(&["--setup-again"]).exit(3).any_out().err_has("nobody has approved .made");
    app.approved("setup = [\"ln -sf lock .link; sh .link\"]\n");
    wt.write("lock", "evil");
    wt.apply(&[]).exit(3).any_out().err_has("nobody has approved lock");
}

#[test]
fn a_step_in_the_background_is_told_and_waited_for() {
    let w = World::new();
    let (app, wt) = gated(&w, "slow", "");
    app.apply(&["hook", "install"]).exit(0).any_out().any_err();
    // git does not wait for it, and the closed terminal does not end it.
    app.on_terminal("worktree-spawn subtree two; exit", "").any_status().any_out().any_err();
    let two = w.at(app.shopfloor(&["go", "two"]).exit(0).stdout.trim_end());
    // Its process holds its lock before it makes its log.
    wait_for(|| w.at(w.home("")).has("begun"));
    two.apply(&["check"]).exit(1).out_has("setup step `slow` runs in the background; its log is /");
    two.apply(&["wait", "--timeout", "0"]).exit(124).any_out().err_has("still runs");
    let rows = app.shopfloor(&["status", "--json"]).any_status().any_err().json();
    let row = rows["worktrees"].as_array().unwrap().iter().find(|row| row["name"] == "two").unwrap();
    assert_eq!((&row["setup"][0], &row["drift"]), (&"slow".into(), &0.into()), "{row}");
    app.shopfloor(&["status"]).any_status().any_err().out_has("set-up runs: slow");
    // It runs once at a time.
    two.apply(&["--setup-again"]).exit(0).any_err().out_has("running setup");
    open_gate(&w, "0");
    two.apply(&["wait"]).exit(0).any_out().any_err();
    two.apply(&["check"]).exit(0);
    two.apply(&[]).exit(0).any_out();
    assert_eq!(log(&w), ["0"]);
    assert_eq!(std::fs::read_to_string(step_log(&two)).unwrap(), "begins\n");
    // One that fails is told, and runs again at the next apply. Three logs are kept.
    wt.apply(&["-n"]).exit(0).any_err().out_has("would be running setup echo begins");
    assert_eq!(text(&wt.apply(&["-n", "--json"]).exit(0).any_err().json(), "/setup/0/action"), "running");
    wt.apply(&[]).exit(0).any_err().out_has("running setup");
    open_gate(&w, "7");
    wt.apply(&["wait"]).exit(4).any_out().err_has("`slow` failed with status 7; its log is /");
    wt.apply(&["check"]).exit(1).out_has("`slow` failed with status 7");
    for _ in 0..3 {
        wt.apply(&[]).exit(0).any_out().any_err();
        open_gate(&w, "7");
        wt.apply(&["wait"]).exit(4).any_out().any_err();
    }
    let log = std::path::PathBuf::from(step_log(&wt));
    let name = log.file_name().unwrap().to_str().unwrap();
    let logs = |end: &str| log.with_file_name(format!("{name}{end}")).exists();
    assert_eq!(["", ".1", ".2", ".3"].map(logs), [true, true, true, false]);
}

#[test]
fn a_step_in_the_background_that_runs_for_an_older_input_is_told_and_not_well_when_it_has_ended() {
    let w = World::new();
    let (_, wt) = gated(&w, "slow", ", inputs = [\"lock\", \"parts/*\"]");
    wt.write("lock", "1");
    wt.apply(&[]).succeeds().any_err();
    wt.write("lock", "2");
    wt.apply(&[]).exit(0).any_out().err_has("the step `slow` runs for an older content of lock");
    open_gate(&w, "0");
    let waited = wt.apply(&["wait"]).exit(1).any_out();
    waited.err_has("`slow` is stale: lock changed").err_has("run `sweatfile-apply`");
    wt.apply(&[]).succeeds().any_err();
    open_gate(&w, "0");
    wt.apply(&["wait"]).exit(0).any_out().any_err();
    wt.write("parts/new", "");
    wt.apply(&["wait"]).exit(1).any_out().err_has("`slow` is stale: parts/new changed");
}

/// The process of ours that runs a step of this world, and what it runs.
fn runners(at: &Repo<'_>) -> Vec<i32> {
    let own = format!("SWEATFILE_WORKTREE={}", at.path.display());
    let entries =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let has = |pid: &i32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut vars = environ.split(|byte| *byte == 0);
        environ.windows(15).any(|part| part == b"SWEATFILE_STEP=") && vars.any(|var| var == own.as_bytes())
    };
    entries.filter(has).collect()
}

#[test]
fn a_step_whose_process_was_killed_is_cut_off_and_never_runs_twice_at_once() {
    let w = World::new();
    let app = w.app();
    app.run("mkfifo", &[w.home("gate").to_str().unwrap(), w.home("other").to_str().unwrap()]).exit(0);
    app.approved(
        "setup = [{ run = \"read how < ~/other\", name = \"other\", background = true }, \
         { run = \"echo begins; read how < ~/gate; echo $how >> ~/log\", name = \"slow\", background = true }]\n",
    );
    let wt = app.worktree("wt");
    wt.apply(&[]).exit(0).any_out().any_err();
    let is_runner = |pid: &&i32| {
        std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"run-step\0--\0slow\0"))
    };
    let all = runners(&wt);
    let runner = all.iter().find(is_runner).unwrap().to_string();
    wt.run("kill", &["-KILL", &runner]).exit(0);
    wait_for(|| wt.apply(&["check"]).exit(1).any_err().stdout.contains("`slow` was cut off"));
    // It begins again although another one still runs, and only the second one reads the gate: the first was ended.
    wt.apply(&[]).exit(0).any_out().any_err();
    open_gate(&w, "0");
    w.at(w.home("")).sh("echo > other").exit(0);
    wt.apply(&["wait"]).exit(0).any_out().any_err();
    assert_eq!(log(&w), ["0"]);
}

#[test]
fn what_a_killed_set_up_leaves_running_is_ended_before_its_step_begins_again() {
    let w = World::new();
    let app = w.app();
    app.run("mkfifo", &[w.home("gate").to_str().unwrap()]).exit(0);
    let run = "touch ~/begun; read how < ~/gate; echo $how >> ~/log";
    // A step wherever it works by then; of a list only what works in the worktree.
    let step = format!("{{ run = \"cd /; {run}\", inputs = [\"x\"] }}");
    for (name, step) in [("step", step), ("list", format!("\"{run}\""))] {
        app.approved(&format!("setup = [{step}]\n"));
        let wt = app.worktree(name);
        let start = |args: &[&str]| {
            let mut command = w.command(w.path("bin/sweatfile-apply"));
            command.args(args).current_dir(&wt.path).stdout(Stdio::null()).stderr(Stdio::null());
            let child = command.spawn().unwrap();
            wait_for(|| w.at(w.home("")).has("begun"));
            std::fs::remove_file(w.home("begun")).unwrap();
            child
        };
        let mut first = start(&[]);
        first.kill().unwrap();
        first.wait().unwrap();
        assert_eq!(runners(&wt).is_empty(), name == "list");
        wt.apply(&["doctor"]).exit(1).any_err().out_has("a set-up was killed in this worktree");
        let mut second = start(&["doctor", "--repair", "--yes"]);
        wt.apply(&["doctor"]).exit(0).any_out().any_err();
        open_gate(&w, "0");
        assert!(second.wait().unwrap().success());
        assert!(runners(&wt).is_empty());
        wt.apply(&["check"]).exit(0);
    }
    assert_eq!(log(&w), ["0", "0"]);
}

#[test]
fn a_removal_ends_it_first() {
    let w = World::new();
    let (app, wt) = gated(&w, "slow", "");
    wt.apply(&[]).exit(0).any_out().any_err();
    assert!(!runners(&wt).is_empty());
    wt.apply(&["remove"]).exit(0).any_out().err_has("ended").err_has("run-step -- slow");
    assert!(runners(&wt).is_empty());
    wt.apply(&["wait"]).exit(0);
    wt.apply(&[]).exit(0).any_out().any_err();
    wt.run("sweatfile-apply", &["hook", "run", "pre-remove", "."]).exit(0).any_out().err_has("run-step -- slow");
    assert!(runners(&wt).is_empty());
    app.git(&["worktree", "remove", "--force", "../wt"]);
}

#[test]
fn a_removal_that_waits_for_a_set_up_ends_the_step_that_begins_meanwhile() {
    let w = World::new();
    let app = w.app();
    app.run("mkfifo", &[w.home("gate").to_str().unwrap(), w.home("never").to_str().unwrap()]).exit(0);
    let step = |name: &str| format!("{{ run = \": {name}; read x < ~/never\", background = true }}");
    let wait = "touch ~/begun; read x < ~/gate";
    app.approved(&format!("setup = [{}, \"{wait}\", {}]\n", step("one"), step("two")));
    let wt = app.worktree("wt");
    let start = |args: &[&str]| {
        let mut command = w.command(w.path("bin/sweatfile-apply"));
        command.args(args).current_dir(&wt.path).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let mut set_up = start(&[]);
    wait_for(|| w.at(w.home("")).has("begun"));
    assert!(!runners(&wt).is_empty());
    let mut remove = start(&["remove"]);
    // It has ended the first step, and waits. Before it waits, a set-up that ends would leave it the second one.
    wait_for(|| runners(&wt).is_empty() && is_queued(remove.id()));
    open_gate(&w, "0");
    assert!(set_up.wait().unwrap().success() && remove.wait().unwrap().success());
    assert!(runners(&wt).is_empty());
}

#[test]
fn inputs_are_read_when_a_step_begins_however_many_there_are() {
    let w = World::new();
    let app = w.app();
    // What the sweatfile, an earlier command and git bring.
    app.approved(
        "setup = [\"echo 1 > made\", { run = \"true\", inputs = [\".placed\", \"made\", \"many/**\"], background = true }]\n\
         git_excludes = [\"/.placed\", \"/made\"]\n[env]\nXDG_STATE_HOME = \"/nowhere\"\n[files.placed]\ncontent = \"x\"\n",
    );
    std::fs::create_dir(app.path.join("many")).unwrap();
    for n in 0..2000 {
        std::fs::write(app.path.join(format!("many/{n}")), n.to_string()).unwrap();
    }
    app.git(&["add", "many"]);
    app.git(&["commit", "-qm", "many"]);
    let wt = app.worktree("wt");
    wt.apply(&[]).exit(0).any_out().any_err();
    wt.apply(&["wait"]).exit(0).any_out().any_err();
    wt.apply(&["check"]).exit(0);
    wt.apply(&[]).exit(0).any_out();
    // Its own process does not obey the sweatfile's variables: what was placed is still known.
    wt.apply(&["remove"]).exit(0).any_err().out_has("removed .placed");
    assert!(!wt.has(".placed"));
}

#[test]
fn a_step_can_wait_for_the_others_and_not_for_itself() {
    let w = World::new();
    let app = w.app();
    app.approved(
        "setup = [{ run = \"echo made > ~/made\", background = true }, \
         { run = \"sweatfile-apply wait && cat ~/made > log\", inputs = [\"x\"], timeout = \"30s\" }]\ngit_excludes = [\"/log\"]\n",
    );
    let wt = app.worktree("wt");
    wt.apply(&[]).exit(0).any_out().any_err();
    assert_eq!(wt.read("log"), "made\n");
}

#[test]
fn a_step_that_takes_too_long_is_ended() {
    let w = World::new();
    let (app, wt) = gated(&w, "slow", ", timeout = \"50ms\"");
    wt.apply(&[]).exit(0).any_out().any_err();
    wt.apply(&["wait"]).exit(4).any_out().err_has("status 124");
    app.write("sweatfile", "setup = [{ run = \"read x < ~/gate\", timeout = \"50ms\" }]\n");
    app.apply(&["approve", "--yes"]).exit(0).any_out().any_err();
    wt.apply(&[]).exit(4).any_out().err_has("exit status 124");
}

#[test]
fn steps_that_are_all_tables_may_be_an_array_of_tables_as_show_and_convert_print_them() {
    let w = World::new();
    let app = w.app();
    app.write(
        "newer",
        "setup = [{ run = \"echo a >> ~/log\", inputs = [\"l\"], name = \"a\" }]\n[hooks]\nstop = \"z\"\n",
    );
    let converted = app.apply(&["convert", "newer"]).exit(0).any_out().any_err().stdout.to_string();
    let second = "[[setup]]\nrun = \"echo b >> ~/log\"\n";
    app.approved(&format!("{converted}\n{second}timeout = \"1m\"\n"));
    let shown = app.apply(&["show"]).exit(0).any_out().any_err().stdout.to_string();
    assert_eq!(shown.matches("[[setup]]").count(), 2, "{shown}");
    app.approved(&shown);
    app.apply(&[]).succeeds();
    app.apply(&["check"]).exit(0);
    assert_eq!(log(&w), ["a", "b"]);
    app.write("sweatfile", &format!("{second}{second}input = []\n"));
    app.apply(&[]).exit(2).err_has("sweatfile:3:1: an item of `setup`: unknown key `input` of a step");
}

#[test]
fn a_wrong_step_is_named_with_its_place() {
    let w = World::new();
    let app = w.app();
    for (step, why) in [
        ("{ name = \"x\" }", "a step needs `run`"),
        ("{ run = \"x\", input = [\"a\"] }", "unknown key `input` of a step; did you mean `inputs`?"),
        ("{ run = \"x\", inputs = \"a\" }", "`inputs` of a step must be an array of strings"),
        ("{ run = \"x\", inputs = [\"../a\"] }", "the input `../a` of a step must be a path below the worktree"),
        ("{ run = \"x\", inputs = [\"/etc/passwd\"] }", "must be a path below the worktree"),
        ("{ run = \"x\", timeout = \"soon\" }", "write a number and a unit"),
        ("{ run = \"x\", name = \"a/b\" }", "`name` of a step must be 1 to 40 letters"),
        ("{ run = \"x\", background = 1 }", "`background` of a step must be true or false, not integer"),
        ("{ run = \"a\", name = \"x\" }, { run = \"b\", name = \"x\" }", "two steps are called `x`"),
        ("[\"x\"]", "`setup` must hold strings and tables only"),
    ] {
        w.area(&format!("setup = [\n  {step}\n]\n"));
        app.apply(&[]).exit(2).any_out().err_has(why).err_has("sweatfile:2:");
    }
}

#[test]
fn killed_at_every_write_no_step_is_forgotten_and_none_runs_twice_at_once() {
    let w = World::new();
    let app = w.app();
    // Each says when it begins and ends; where two ran at once, one would begin before the other has ended.
    let step = |name: &str| {
        format!("mkdir ~/{name}-$(basename $PWD) && rmdir ~/{name}-$(basename $PWD) && echo done > {name}")
    };
    app.approved(&format!(
        "setup = [{{ run = \"{}\", inputs = [\"input\"] }}, {{ run = \"{}\", background = true }}]\n\
         git_excludes = [\"/fore\", \"/back\"]\n",
        step("fore"),
        step("back")
    ));
    sweep(
        |name| app.worktree(name),
        &[],
        |wt, when| {
            // What was cut off is told, and begun again.
            wt.apply(&["wait"]).any_status().any_out().any_err();
            wt.apply(&[]).succeeds().any_err();
            let waited = wt.apply(&["wait"]);
            assert_eq!(waited.status, Some(0), "{when}: {}", waited.stderr);
            waited.exit(0).any_out().any_err();
            wt.apply(&["check"]).exit(0);
            assert!(wt.has("fore") && wt.has("back"), "{when}");
            app.git(&["worktree", "remove", "--force", wt.path.to_str().unwrap()]);
        },
    );
}
