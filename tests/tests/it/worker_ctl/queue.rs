//! worker-ctl: the queue of tasks, and who gets them.

use serde_json::{Value, json};

use crate::support::floor::Floor;
use crate::support::worker::{Staying, configure, floor, prompts, refused, staff, tree};
use crate::support::world::{World, text, wait_for, which};

/// The tasks that wait, as `queue --json` lists them.
fn waiting(floor: &Floor<'_>) -> Vec<Value> {
    let out = floor.ctl(&["queue", "--json"]).exit(0).any_err();
    out.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ids(floor: &Floor<'_>) -> Vec<String> {
    waiting(floor).iter().map(|task| text(task, "/id").to_owned()).collect()
}

/// Requires that a command succeeds and prints this.
#[track_caller]
fn assert_says(floor: &Floor<'_>, args: &[&str], text: &str) {
    assert_eq!(*floor.ctl(args).exit(0).any_err().stdout, text);
}

/// Queues these tasks, a line of JSON each.
fn queue(floor: &Floor<'_>, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    floor.root.write("tasks.jsonl", &format!("\u{feff}{text}"));
    floor.ctl(&["start", "--queue", "tasks.jsonl"]).succeeds().any_err();
}

/// Lands whatever needs a review, until nothing waits and nobody works.
fn land_all(floor: &Floor<'_>) {
    wait_for(|| {
        let all = floor.ctl(&["status", "--json"]).exit(0).json();
        let workers = all["workers"].as_array().unwrap();
        for worker in workers.iter().filter(|worker| worker["status"] == "needs_review") {
            floor.ctl(&["accept", text(worker, "/name")]).any_status().any_out().any_err();
        }
        // Both of the same moment: an `up` may give the last task between two looks.
        all["queue"] == 0 && workers.iter().all(|worker| worker["status"] == "idle")
    });
}

/// The numbers of the tasks that programs got, in their order.
fn told(floor: &Floor<'_>) -> Vec<u32> {
    let number = |prompt: &String| prompt.lines().find_map(|line| line.strip_prefix("Number ")?.parse().ok());
    floor.prompts().iter().filter_map(number).collect()
}

#[test]
fn each_task_is_done_once_in_order_also_after_a_crash() {
    let w = World::new();
    let floor = floor(&w);
    let crash = |n: u32| {
        let mark = w.home(&format!("crashed-{n}")).display().to_string();
        format!("Number {n}\nRUN [ -e '{mark}' ] || {{ touch '{mark}'; kill -9 $PPID; }}\nCOMMIT {n}.txt {n} Work {n}")
    };
    let task = |n: u32| format!("Number {n}\nCOMMIT {n}.txt {n} Work {n}");
    let lines: Vec<Value> = (1..=6).map(|n| json!({ "prompt": if n == 3 { crash(n) } else { task(n) } })).collect();
    let _up = Staying::new(&floor, &["up", "--requeue"]);
    queue(&floor, &lines);
    land_all(&floor);
    assert_eq!(told(&floor), [1, 2, 3, 3, 4, 5, 6]);
    let subjects = floor.app.git(&["log", "--reverse", "--format=%s", "main"]);
    assert_eq!(
        subjects.lines().skip(2).collect::<Vec<_>>(),
        ["Work 1", "Work 2", "Work 3", "Work 4", "Work 5", "Work 6"]
    );
}

#[test]
fn several_workers_share_a_queue_and_a_task_waits_for_what_comes_before_it() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve", "own"]);
    let config = floor.root.read("config.toml");
    floor.root.write("config.toml", &config.replace("[workers.own]\n", "[workers.own]\nexcluded_from_pool = true\n"));
    let _up = Staying::new(&floor, &["up"]);
    // Whoever waits for an idle worker is told at once that no `up` runs.
    wait_for(|| floor.ctl(&["status", "--json"]).exit(0).json()["daemon"] == "running");
    let task = |n: u32| format!("Number {n}\nCOMMIT {n}.txt {n} Work {n}");
    queue(
        &floor,
        &[
            json!({ "id": "last", "prompt": task(9), "after": "base" }),
            json!({ "id": "base", "prompt": task(1) }),
            json!({ "id": "mine", "prompt": task(2), "worker": "own" }),
        ],
    );
    floor.ctl(&["wait", "own", "--for", "needs_review"]).succeeds();
    wait_for(|| floor.ctl(&["status"]).exit(0).any_err().stdout.matches("needs_review").count() == 2);
    let last = &waiting(&floor)[0];
    assert!(text(last, "/waits_for").starts_with("base to land, which ") && waiting(&floor).len() == 1, "{last}");
    assert_eq!(told(&floor).len(), 2);
    land_all(&floor);
    assert_eq!(told(&floor).last(), Some(&9));
    assert_eq!(floor.app.git(&["rev-list", "--count", "main"]), "5\n");
    // What has landed can be waited for, what was dropped holds others.
    floor.ctl(&["down"]).succeeds();
    let more = ["start", "--queue", "--task", "more", "--after", "last", "--json"];
    assert_eq!(floor.ctl(&more).exit(0).any_err().json()["queued"], json!(["t1"]));
    assert_says(&floor, &["start", "--queue", "--task", "most", "--after", "t1"], "t2\n");
    floor.ctl(&["queue", "drop", "t1"]).succeeds();
    floor.ctl(&["queue"]).exit(0).out_has("waits for t1 to land, which was dropped or reset");
}

#[test]
fn a_task_that_one_worker_cannot_take_goes_to_the_next_at_once() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    configure(&floor, "patrol_interval_secs = 60", "patrol_interval_secs = 3600");
    let _up = Staying::new(&floor, &["up"]);
    queue(&floor, &[json!({ "prompt": "COMMIT 1.txt 1 Work 1", "worker": "eve" })]);
    wait_for(|| floor.status("eve")["status"] == "needs_review");
    floor.ctl(&["accept", "eve"]).exit(0).any_out().any_err();
    // From here on nothing happens but this.
    tree(&floor, "adam").write("README.md", "changed\n");
    queue(&floor, &[json!({ "prompt": "COMMIT 2.txt 2 Work 2" })]);
    wait_for(|| floor.status("eve")["status"] == "needs_review");
    assert_eq!(floor.status("adam")["status"], "idle");
}

#[test]
fn what_cannot_be_queued_leaves_the_queue_as_it_is() {
    let w = World::new();
    let floor = Floor::new(&w);
    floor.ctl(&["add", "adam"]).succeeds();
    let refuse = |lines: &str, said: &str| {
        floor.root.write("tasks.jsonl", lines);
        floor.ctl(&["start", "--queue", "tasks.jsonl"]).exit(2).err_has(said);
        assert_eq!(ids(&floor), Vec::<String>::new(), "{lines}");
    };
    refuse("{\"prompt\":\"a\"}\n\n{\"prompt\"\n", "tasks.jsonl:3:9: EOF");
    refuse("{\"prompt\":\"a\",\"promt\":\"b\"}", "tasks.jsonl:1:21: unknown field `promt`");
    let list = "{\"prompt\":\"a\"}\n [\"arr\",\"do it\",null,null,null]\n";
    refuse(list, "tasks.jsonl:2: a line that is no task");
    refuse("{\"prompt\":\" \"}", "tasks.jsonl:1: the text is empty");
    refuse("{\"prompt\":\"a\",\"worker\":\"eve\"}", "tasks.jsonl:1: there is no worker `eve`");
    refuse("{\"prompt\":\"a\",\"agent\":\"nobody\"}", "tasks.jsonl:1: no command is configured for the agent `nobody`");
    let pair = "{\"prompt\":\"a\",\"worker\":\"adam\",\"agent\":\"claude\"}";
    refuse(pair, "tasks.jsonl:1: adam runs scripted, and not claude");
    refuse("{\"prompt\":\"a\",\"id\":\"../x\"}", "tasks.jsonl:1: `../x` cannot be the id of a task");
    refuse(
        "{\"prompt\":\"a\",\"id\":\"x\"}\n{\"prompt\":\"b\",\"id\":\"x\"}",
        "tasks.jsonl:2: there is a task `x` already",
    );
    refuse("{\"prompt\":\"a\",\"after\":\"gone\"}", "tasks.jsonl:1: no task `gone` waits");
    let circle = "{\"prompt\":\"a\",\"id\":\"x\",\"after\":\"y\"}\n{\"prompt\":\"b\",\"id\":\"y\",\"after\":\"x\"}\n";
    refuse(circle, "this task waits for itself");
    refuse("{\"prompt\":\"a\",\"id\":\"x\",\"after\":\"x\"}", "tasks.jsonl:1: this task waits for itself");
    floor.ctl(&["start", "--queue", "nothing.md"]).exit(2).err_has("the file nothing.md does not exist");
    floor.root.write("good.md", "do it\n");
    for (bytes, said) in [(&b""[..], "empty"), (&b"a\0b"[..], "a NUL byte"), (&b"\xff"[..], "not UTF-8")] {
        std::fs::write(floor.root.path.join("bad.md"), bytes).unwrap();
        let refused = floor.ctl(&["start", "--queue", "good.md", "bad.md"]).exit(2);
        refused.err_has("bad.md: the text ").err_has(said).err_has("hint: ");
        floor.ctl(&["start", "--task-file", "bad.md"]).exit(2).err_has("bad.md: the text ");
    }
    floor.ctl(&["start", "--queue"]).exit(2).err_has("the tasks are missing");
    floor.ctl(&["start", "adam", "Fix it"]).exit(2).err_has("only with `--queue`").err_has("`--task TEXT`");
    assert_says(&floor, &["-n", "start", "--queue", "--task", "x"], "would queue t1\n");
    assert_eq!(ids(&floor), Vec::<String>::new());
    floor.root.write("one.md", "do\nthis\n");
    floor.root.write("two.txt", "do that\n");
    assert_says(&floor, &["start", "--queue", "one.md", "two.txt"], "t1\nt2\n");
    floor.ctl(&["start", "--queue", "--task", "now"]).succeeds().err_has("no `up` runs");
    floor.ctl(&["queue", "move", "t3", "1"]).succeeds();
    floor.ctl(&["queue", "move", "t1", "99"]).succeeds();
    assert_says(&floor, &["queue", "list"], "  1  t3  now\n  2  t2  do that\n  3  t1  do\n");
    assert_says(&floor, &["-n", "queue", "drop", "t2"], "would drop t2\n");
    assert_says(&floor, &["queue", "drop", "t2", "--json"], "{\"v\":1,\"id\":\"t2\",\"place\":null}\n");
    assert_eq!(ids(&floor), ["t3", "t1"]);
    assert_eq!(refused(&floor, &["queue", "drop", "t2"], 1), "not_found");
    floor.ctl(&["queue", "move", "t1", "0"]).exit(2).any_err();
}

#[test]
fn tasks_that_are_given_at_the_same_time_begin_in_the_order_of_the_queue() {
    let w = World::new();
    let names = ["adam", "bea", "carl", "dora"];
    let floor = staff(&w, &names);
    queue(&floor, &names.map(|name| json!({ "id": format!("for-{name}"), "prompt": "think" })));
    // The first of them is slow.
    let slow = "case \"$PWD $*\" in *worktrees/adam*) i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done ;; esac";
    w.program("git", &format!("{slow}\nexec '{}' \"$@\"", which("git").display()));
    let _up = Staying::new(&floor, &["up"]);
    wait_for(|| names.iter().all(|name| floor.status(name)["status"] == "working"));
    let mut begun = floor.ctl(&["events", "--json"]).exit(0).json_lines();
    begun.retain(|event| event["event"] == "start");
    begun.sort_by_key(|event| event["revision"].as_u64());
    let begun: Vec<&str> = begun.iter().map(|event| text(event, "/detail")).collect();
    assert_eq!(begun, ["for-adam", "for-bea", "for-carl", "for-dora"]);
}

#[test]
fn a_reset_puts_a_task_back_only_if_asked_and_not_for_ever() {
    let w = World::new();
    let floor = floor(&w);
    let _up = Staying::new(&floor, &["up"]);
    floor.ctl(&["start", "--queue", "--task", "Number 1"]).succeeds();
    for tries in 1..=3 {
        wait_for(|| told(&floor).len() == tries);
        floor.ctl(&["wait", "adam", "--for", "working"]).succeeds();
        let requeued = floor.ctl(&["reset", "adam", "--requeue"]);
        if tries < 3 {
            requeued.succeeds();
        } else {
            requeued.exit(1).err_has("which was tried 3 times");
        }
    }
    floor.ctl(&["reset", "adam"]).succeeds();
    assert_eq!((ids(&floor), text(&floor.status("adam"), "/status")), (vec![], "idle"));
    floor.ctl(&["start", "adam", "--task", "think"]).succeeds();
    floor.ctl(&["reset", "adam", "--requeue"]).exit(1).err_has("has no task from the queue");
    assert_eq!(text(&floor.status("adam"), "/status"), "working");
}

#[test]
fn at_most_so_many_work_at_once() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    let _up = Staying::new(&floor, &["up", "--max-working", "1"]);
    for n in 1..=2 {
        floor.ctl(&["start", "--queue", "--task", &format!("Number {n}")]).succeeds();
    }
    wait_for(|| told(&floor).len() == 1);
    floor.ctl(&["start", "--task", "x", "--max-working", "1"]).exit(1).err_has("as `max_working` allows");
    let (busy, idle) = if text(&floor.status("adam"), "/status") == "idle" { ("eve", "adam") } else { ("adam", "eve") };
    floor.ctl(&["start", idle, "--task", "Number 7", "--max-working", "1"]).succeeds().err_has("more work at once");
    let refused = floor.ctl(&["start", busy, "--task", "x", "--max-working", "1"]).exit(1).any_err();
    assert!(!refused.stderr.contains("more work at once"), "{refused}");
    wait_for(|| told(&floor) == [1, 7]);
    assert_eq!(ids(&floor), ["t2"]);
    floor.ctl(&["reset", busy, idle]).succeeds();
    wait_for(|| told(&floor) == [1, 7, 2]);
}

#[test]
fn the_queue_keeps_its_order_and_outlives_the_state() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    for n in 1..=4 {
        floor.ctl(&["start", "--queue", "--task", &format!("Number {n}")]).succeeds().any_err();
    }
    // Nothing can be typed, so each task comes back to where it was.
    w.program(
        "tmux",
        &format!("case \" $* \" in *' load-buffer '*) exit 1 ;; esac\nexec '{}' \"$@\"", which("tmux").display()),
    );
    let up = Staying::new(&floor, &["up"]);
    let tried = |name: &str| {
        floor
            .ctl(&["events", "--json"])
            .exit(0)
            .json_lines()
            .iter()
            .any(|event| event["worker"] == name && event["event"] == "not_sent")
    };
    wait_for(|| tried("adam") && tried("eve"));
    drop(up);
    wait_for(|| ids(&floor) == ["t1", "t2", "t3", "t4"]);
    floor.ctl(&["down"]).succeeds();
    floor.ctl(&["queue", "move", "t4", "2"]).succeeds();
    floor.ctl(&["start", "--queue", "--task", "more"]).succeeds().any_err();
    // The last change is only in the file that is broken.
    floor.root.write("state.json", "{");
    floor.ctl(&["doctor", "--rebuild", "--yes"]).any_status().any_out().any_err();
    assert_eq!(ids(&floor), ["t1", "t4", "t2", "t3"]);
    floor.ctl(&["deinit", "--yes"]).exit(1).err_has("tasks in its queue: 4");
    let state = floor.root.read("state.json").replace("\"last\": 5", &format!("\"last\": {}", u64::MAX));
    floor.root.write("state.json", &state);
    floor.ctl(&["start", "--queue", "--task", "even more"]).succeeds().any_err();
    // Nobody gets what is for a worker that is gone.
    floor.root.write("own.jsonl", "{\"prompt\":\"x\",\"worker\":\"eve\"}");
    floor.ctl(&["start", "--queue", "own.jsonl"]).succeeds().any_err();
    floor.ctl(&["nuke", "eve", "--yes"]).succeeds();
    floor.ctl(&["queue"]).exit(0).out_has("waits for eve, which is no worker any more");
}

#[test]
fn a_task_that_is_sent_again_stays_with_its_worker() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let up = Staying::new(&floor, &["up"]);
    floor.ctl(&["start", "--queue", "--task", "Number 1"]).succeeds();
    wait_for(|| told(&floor) == [1]);
    drop(up);
    deadly_tmux(&w, "load-buffer");
    std::fs::write(w.home("kill"), "").unwrap();
    floor.ctl(&["start", "--resume", "adam"]).any_status().any_out().any_err();
    floor.ctl(&["patrol"]).succeeds().any_err();
    assert_eq!((ids(&floor), text(&floor.status("adam"), "/task")), (vec![], "working"));
    // Nobody takes what nobody can.
    floor.ctl(&["start", "--queue", "--agent", "claude", "--task", "x"]).succeeds().any_err();
    assert_eq!(waiting(&floor)[0]["waits_for"], "a worker of claude, and there is none");
}

/// A tmux that kills its caller before this command of its, once the mark is there.
fn deadly_tmux(w: &World, before: &str) {
    let (tmux, mark) = (which("tmux"), w.home("kill"));
    w.program(
        "tmux",
        &format!(
            "case \" $* \" in *' {before} '*) [ -e '{mark}' ] && rm '{mark}' && kill -KILL $PPID ;; esac\nexec '{tmux}' \"$@\"",
            mark = mark.display(),
            tmux = tmux.display()
        ),
    );
}

#[test]
fn a_kill_between_taking_a_task_and_starting_it_loses_and_doubles_nothing() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    for (n, before, is_seen) in [(1, "load-buffer", false), (2, "paste-buffer", true)] {
        deadly_tmux(&w, before);
        let mut up = Staying::new(&floor, &["up"]);
        wait_for(|| floor.ctl(&["status", "--json"]).exit(0).json()["daemon"] == "running");
        std::fs::write(w.home("kill"), "").unwrap();
        floor.ctl(&["start", "--queue", "--task", &format!("Number {n}\nCOMMIT {n}.txt {n} Work {n}")]).succeeds();
        up.ended();
        assert_eq!(ids(&floor).len(), 0, "{before}: the task is with the worker");
        drop(up);
        let _up = Staying::new(&floor, &["up"]);
        wait_for(|| floor.ctl(&["status", "--json"]).exit(0).json()["daemon"] == "running");
        if is_seen {
            // It may have arrived: a person looks.
            let needs = floor.ctl(&["wait", "adam", "--for", "you", "--json"]).exit(0).any_err().json();
            assert_eq!(needs["workers"][0]["why"], "in_doubt");
            floor.ctl(&["start", "--resume", "adam", "--force"]).succeeds();
        }
        floor.ctl(&["wait", "adam", "--for", "needs_review"]).succeeds();
        floor.ctl(&["accept", "adam"]).succeeds().any_err();
        assert_eq!(told(&floor), (1..=n).collect::<Vec<_>>(), "{before}");
        floor.ctl(&["down"]).succeeds();
    }
    assert_eq!(prompts(&w.home("prompts.jsonl")).len(), 2);
}
