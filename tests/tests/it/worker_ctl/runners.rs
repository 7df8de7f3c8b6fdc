//! worker-ctl: a person's own runner, an argv around the agent's program.

use crate::support::floor::Floor;
use crate::support::worker::{configure, prompts, refused, table};
use crate::support::world::{World, mode, wait_for};

/// A runner that writes down its words, prints something, and runs what it is given but for the last word.
const HOLD: &str = r#"printf '%s\n' "$@" > ~/words; echo "a runner begins"
n=$#; while [ $n -gt 1 ]; do set -- "$@" "$1"; shift; n=$((n - 1)); done; shift 1
while [ "$1" != -- ]; do shift; done; shift; "$@"; exit $?"#;

/// A floor with such a runner, which adam has.
fn held<'w>(w: &'w World, more: &str) -> Floor<'w> {
    let floor = Floor::new(w);
    w.program("hold", HOLD);
    let config = floor.root.read("config.toml");
    let words = r#""hold", "{worker} in {worktree}", "{tmp}", "{branch} {root}", "{home}", "{git_dir}", "{git_common_dir}", "--", "{agent...}", "end""#;
    floor.root.write("config.toml", &format!("{config}\n[runners.holder]\ncommand = [{words}]\n{more}\n"));
    floor.ctl(&["add", "adam", "--runner", "holder"]).succeeds();
    floor
}

fn up(floor: &Floor<'_>) {
    floor.root.run_with("worker-ctl", &["up", "adam"], &[("SHOWN", "1"), ("HIDDEN", "2\nHOME=x")]).succeeds();
}

#[test]
fn a_program_works_and_ends_in_a_runner_as_without() {
    let w = World::new();
    let floor = held(&w, "");
    up(&floor);
    let (tree, root) = (floor.root.path.join(".worktrees/adam"), floor.root.path.display());
    let words = w.at(w.home("")).read("words");
    let words: Vec<&str> = words.lines().collect();
    let tmp = floor.root.path.join("tmp/adam");
    assert_eq!(words[0], format!("adam in {}", tree.display()));
    assert_eq!(words[1..3], [tmp.to_str().unwrap().to_owned(), format!("worker/adam {root}")]);
    assert_eq!(
        words[3..6],
        [
            w.home("").to_str().unwrap().trim_end_matches('/').to_owned(),
            format!("{root}/.git/worktrees/adam"),
            format!("{root}/.git")
        ]
    );
    assert_eq!((words[6], words.last().copied(), mode(&tmp)), ("--", Some("end"), 0o700));
    assert_eq!(floor.status("adam")["runner"], "holder");
    // Typed texts, what the screen shows and work are as without it.
    floor
        .ctl(&[
            "start",
            "adam",
            "--task",
            &format!(
                "RUN env > ~/inner; touch {}/x\nCOMMIT a.txt one Add a",
                tmp.display().to_string().replace(' ', "\\ ")
            ),
        ])
        .succeeds();
    floor.until("adam", "needs_review");
    assert!(tmp.join("x").exists() && w.at(w.home("")).read("inner").contains("HIDDEN=2"));
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    floor.ctl(&["reset", "adam"]).succeeds();
    assert!(!tmp.join("x").exists());
    // Its program's end arrives.
    floor.ctl(&["message", "adam", "EXIT 7", "--force"]).succeeds();
    floor.until("adam", "error");
    assert_eq!(floor.status("adam")["fault"], "exit 7");
    up(&floor);
    floor.ctl(&["message", "adam", "SIG 9", "--force"]).succeeds();
    floor.until("adam", "error");
    assert_eq!(
        (&floor.status("adam")["fault"], &floor.status("adam")["exit"]["signal"]),
        (&"signal 9".into(), &9.into())
    );
    // For one task there is another one.
    floor.ctl(&["up", "adam", "--runner", "none"]).succeeds();
    floor.ctl(&["nuke", "adam", "--yes"]).exit(0).any_out();
    assert!(!tmp.exists());
}

#[test]
fn only_named_variables_pass_and_a_task_is_an_argument_in_the_middle() {
    let w = World::new();
    let floor = held(&w, "env = [\"SHOWN\"]");
    configure(&floor, "[agents.scripted]\n", "[agents.scripted]\ndelivery = \"argv\"\n");
    up(&floor);
    let task = "RUN env > ~/inner\nCOMMIT a.txt 'it''s $HOME' Add a";
    floor.ctl(&["start", "adam", "--task", task]).succeeds();
    floor.until("adam", "needs_review");
    let told = prompts(&w.home("prompts.jsonl"));
    assert!(told.len() == 1 && told[0].ends_with(task), "{told:?}");
    let inner = w.at(w.home("")).read("inner");
    let has = |name: &str| inner.lines().any(|line| line.starts_with(&format!("{name}=")));
    for name in ["SHOWN", "WORKER_CTL_WORKER", "HOME", "PATH", "TERM"] {
        assert!(has(name), "{name}: {inner}");
    }
    assert!(!has("HIDDEN") && !has("TMUX"), "{inner}");
    assert_eq!(w.at(w.home("")).read("words").lines().last(), Some("end"));
    // So it is where the runner runs all its words.
    let mid = "\n[runners.mid]\ncommand = [\"env\", \"A=1\", \"{agent...}\", \"--tail\", \"{worker}\"]\n";
    let script = "printf '<%s>' \"$@\" > ~/given; printf '> '; exec cat";
    let more = format!("delivery = \"argv\"\ntask = [\"--prompt\", \"{{task}}\", \"it's\"]\n{mid}");
    table(&floor, "shown", &["sh", "-c", script, "sh", "first"], &more);
    floor.ctl(&["add", "eve", "--agent", "shown", "--runner", "mid"]).succeeds();
    floor.ctl(&["up", "eve"]).succeeds();
    floor.ctl(&["start", "eve", "--task", "two words\n"]).succeeds();
    let given = || std::fs::read_to_string(w.home("given")).unwrap_or_default();
    wait_for(|| given().ends_with("><it's><--tail><eve>"));
    assert!(given().starts_with("<first><--prompt>") && given().contains("two words"), "{}", given());
}

#[test]
fn a_runner_that_is_missing_hangs_or_has_no_name_is_said_before_anything_runs() {
    let w = World::new();
    let floor = held(&w, "");
    for (from, to) in [
        ("[runners.holder]", "[runners.none]"),
        ("command = [\"hold\"", "command = []\nx = [\"hold\""),
        ("\"--\", \"{agent...}\"", "\"{agent...}\", \"{agent...}\""),
        ("\"--\", \"{agent...}\"", "\"--{agent...}\""),
        ("\"--\", \"{agent...}\"", "\"{nosuch}\", \"{agent...}\""),
        ("\"--\", \"{agent...}\"", "\"-v{worktre}/x\", \"{agent...}\""),
        ("\"--\", \"{agent...}\"", "\"a\\u0000b\", \"{agent...}\""),
        ("[workers.adam]\nrunner = \"holder\"", "[workers.adam]\nrunner = \"holdr\""),
    ] {
        let before = floor.root.read("config.toml");
        configure(&floor, from, to);
        assert_eq!(refused(&floor, &["status"], 2), "malformed", "{to}");
        floor.root.write("config.toml", &before);
    }
    floor.ctl(&["up", "adam", "--runner", "holdr"]).exit(2).err_has("did you mean `holder`?");
    std::fs::remove_file(w.path("bin/hold")).unwrap();
    floor.ctl(&["up", "adam"]).exit(4).err_has("the runner holder: hold is not there");
    floor.ctl(&["doctor"]).exit(1).any_err().out_has("the runner holder: hold is not there");
    w.program("hold", "echo no node >&2; exit 3");
    floor.ctl(&["doctor"]).exit(1).any_err().out_has("holder ended with exit status 3 for adam: no node");
    floor.ctl(&["up", "adam"]).exit(4).any_err();
    w.program("hold", "exec sleep 60");
    floor.ctl(&["doctor"]).any_status().any_err().out_has("holder is queued for adam");
    w.program("hold", HOLD);
    up(&floor);
    wait_for(|| floor.ctl(&["peek", "adam"]).exit(0).stdout.contains("a runner begins"));
    floor.ctl(&["doctor"]).any_status().any_err().out_has("holder runs programs for adam");
}
