//! worker-ctl: workers whose programs are jobs of a real Slurm.

use crate::support::cluster::{Cluster, clustered, needs_slurm};
use crate::support::floor::Floor;
use crate::support::worker::{Staying, configure, kill_agent, refused, tmux, work};
use crate::support::world::{World, wait_for};

/// Looks after sessions until a worker's program has ended over what happened to its job.
fn ended(floor: &Floor<'_>, name: &str, reason: &str) {
    wait_for(|| {
        floor.ctl(&["patrol"]).any_status().any_out().any_err();
        floor.status(name)["status"] == "error"
    });
    let row = floor.status(name);
    assert_eq!((&row["fault"], &row["exit"]["reason"]), (&format!("job {reason}").into(), &reason.into()), "{row}");
    assert_eq!(row["session"], "exited");
}

#[test]
fn eight_workers_go_through_a_cluster_from_task_to_landed_commit() {
    let w = World::new();
    if !needs_slurm() {
        return;
    }
    let cluster = Cluster::new(&w);
    let floor = clustered(&w, "partition = \"main\", cpus = 1, mem = \"1M\", extra = [\"--no-kill\"]");
    // Time is counted in minutes, so that the one that has too little goes first.
    let config = floor.root.read("config.toml");
    floor.root.write("config.toml", &format!("{config}\n[runners.short]\nslurm = {{ time = \"1\" }}\n"));
    floor.ctl(&["add", "late", "--runner", "short"]).succeeds();
    floor.ctl(&["up", "late"]).succeeds();
    let names: Vec<String> = (1..=8).map(|number| format!("w{number}")).collect();
    for name in &names {
        floor.ctl(&["add", name, "--runner", "cluster"]).succeeds();
    }
    let all: Vec<&str> = ["up"].into_iter().chain(names.iter().map(String::as_str)).collect();
    floor.ctl(&all).succeeds();
    assert_eq!(cluster.jobs("-w"), vec!["RUNNING"; 8]);
    for name in &names {
        floor.ctl(&["start", name, "--task", &format!("COMMIT {name}.txt one Add {name}")]).succeeds();
    }
    for name in &names {
        floor.until(name, "needs_review");
        floor.ctl(&["accept", name]).exit(0).any_out().any_err();
    }
    let landed = floor.app.git(&["log", "--format=%s", "main"]);
    names.iter().for_each(|name| assert!(landed.contains(&format!("Add {name}")), "{landed}"));
    // A second task reaches the same program, which ends as it does anywhere.
    work(&floor, "w1", "COMMIT w1.txt two Change w1");
    floor.ctl(&["message", "w1", "EXIT 7"]).succeeds();
    floor.until("w1", "error");
    assert_eq!(
        (&floor.status("w1")["fault"], &floor.status("w1")["exit"]),
        (&"exit 7".into(), &serde_json::json!({"code": 7}))
    );
    floor.ctl(&["message", "w2", "SIG 9", "--force"]).succeeds();
    floor.until("w2", "error");
    assert_eq!(floor.status("w2")["fault"], "signal 9");
    // A command that ends a session ends its job.
    floor.ctl(&["down", "w3"]).succeeds();
    floor.ctl(&["nuke", "w4", "--yes"]).exit(0).any_out();
    for name in ["w3", "w4"] {
        assert!(!cluster.jobs(&format!("-{name}-")).iter().any(|state| state == "RUNNING"), "{name}");
    }
    // Without its srun a job would go on, and nobody would see it.
    floor.root.sh(&format!("kill -9 {}", floor.status("w5")["pane_pid"])).exit(0);
    floor.until("w5", "error");
    assert_eq!(floor.status("w5")["fault"], "signal 9");
    wait_for(|| !cluster.jobs("-w5-").iter().any(|state| state == "RUNNING"));
    floor.ctl(&["up", "w5"]).succeeds();
    assert_eq!(cluster.jobs("-w5-").iter().filter(|state| *state == "RUNNING").count(), 1);
    floor.ctl(&["wait", "late", "--for", "error", "--timeout", "150s"]).exit(0).any_out();
    ended(&floor, "late", "timeout");
}

#[test]
fn a_job_that_waits_is_queued_and_gets_nothing_typed() {
    let w = World::new();
    if !needs_slurm() {
        return;
    }
    let cluster = Cluster::new(&w);
    let floor = clustered(&w, "extra = [\"--hold\"]");
    floor.ctl(&["add", "adam", "--runner", "cluster"]).succeeds();
    floor.ctl(&["up", "adam"]).exit(0).any_out().err_has("the job of adam waits: JobHeldUser");
    let row = floor.status("adam");
    assert_eq!((&row["status"], &row["session"], &row["needs"]), (&"queued".into(), &"queued".into(), &().into()));
    assert_eq!(refused(&floor, &["start", "adam", "--task", "COMMIT a.txt one Add a"], 1), "queued");
    assert_eq!(refused(&floor, &["message", "adam", "hello", "--force"], 1), "queued");
    floor.ctl(&["resume", "adam"]).exit(1).any_out().any_err();
    let row = floor.status("adam");
    assert_eq!(row["job_waits_for"], "JobHeldUser");
    assert!(row["job"].as_str().unwrap().ends_with("-adam-1"), "{row}");
    floor.ctl(&["wait", "adam", "--for", "queued"]).exit(0).any_out();
    floor.ctl(&["doctor"]).any_status().any_err().out_has("cluster is queued for adam");
    assert_eq!(cluster.jobs("-adam-").iter().filter(|state| *state == "PENDING").count(), 1);
    // A reset ends what waits, too, and asks for a new one.
    floor.ctl(&["reset", "adam"]).exit(0).any_out().err_has("the job of adam waits");
    assert_eq!(
        cluster.jobs("-adam-"),
        ["CANCELLED", "CANCELLED", "PENDING"],
        "the first, the look of doctor, the new one"
    );
    // Without its terminal a job that waits would start one day, and nobody would know.
    let _ = tmux(&floor, &["kill-server"]);
    wait_for(|| floor.ctl(&["down"]).exits_with(0));
    assert!(!cluster.jobs("-adam-").iter().any(|state| state == "PENDING"));
    floor.ctl(&["up", "adam"]).exit(0).any_out().any_err();
    // One that is ended while it waits says so too.
    cluster.run("scancel", &[&cluster.newest("-adam-")]);
    ended(&floor, "adam", "cancelled");
    // An `up` that stays gives it the task that was kept, once its job runs.
    floor.ctl(&["up", "adam"]).exit(0).any_out().any_err();
    let up = Staying::new(&floor, &["up", "--patrol-interval-secs", "1"]);
    floor.ctl(&["start", "--queue", "--task", "COMMIT a.txt one Add a"]).succeeds();
    cluster.run("scontrol", &["release", &cluster.newest("-adam-")]);
    floor.until("adam", "needs_review");
    floor.ctl(&["accept", "adam"]).exit(0).any_out().any_err();
    drop(up);
    floor.ctl(&["down", "adam"]).succeeds();
    assert!(cluster.jobs("-adam-").iter().all(|state| ["CANCELLED", "COMPLETED", "FAILED"].contains(&state.as_str())));
}

#[test]
fn a_job_that_is_pushed_away_or_loses_its_node_says_so() {
    let w = World::new();
    if !needs_slurm() {
        return;
    }
    let cluster = Cluster::new(&w);
    let floor = clustered(&w, "cpus = 2");
    floor.ctl(&["add", "adam", "--runner", "cluster"]).succeeds();
    floor.ctl(&["up", "adam"]).succeeds();
    cluster.run("srun", &["--partition=urgent", "--cpus-per-task=2", "--exclusive", "true"]);
    ended(&floor, "adam", "preempted");
    floor.ctl(&["up", "adam"]).succeeds();
    cluster.run("scancel", &[&cluster.newest("-adam-")]);
    ended(&floor, "adam", "cancelled");
    floor.ctl(&["up", "adam"]).succeeds();
    cluster.run("scontrol", &["update", "nodename=ALL", "state=down", "reason=test"]);
    ended(&floor, "adam", "node_fail");
    cluster.run("scontrol", &["update", "nodename=ALL", "state=resume"]);
    // A worker beside it needs no cluster.
    floor.ctl(&["add", "eve"]).succeeds();
    floor.ctl(&["up", "adam", "eve"]).succeeds();
    kill_agent(&floor, "eve");
    cluster.freeze("STOP");
    floor.ctl(&["up", "eve"]).succeeds();
    floor.ctl(&["down", "eve"]).succeeds();
    // Nobody can tell whether its program has ended.
    floor.ctl(&["down", "adam"]).exit(4).any_out().err_has("squeue failed");
    floor.ctl(&["up", "adam"]).exit(4).any_out().err_has("squeue failed");
    floor.ctl(&["down", "adam", "--force"]).exit(0).any_out().err_has("squeue failed");
    // What a job asks for is checked before anything runs.
    for (from, to) in
        [("cpus = 2", "extra = [\"-Jx\"]"), ("slurm = {", "command = [\"x\"]\nslurm = {"), ("cpus = 2", "cpus = -1")]
    {
        let before = floor.root.read("config.toml");
        configure(&floor, from, to);
        assert_eq!(refused(&floor, &["status"], 2), "malformed", "{to}");
        floor.root.write("config.toml", &before);
    }
}
