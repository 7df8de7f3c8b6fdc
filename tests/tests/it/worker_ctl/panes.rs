//! worker-ctl: panes, their environment, and what a person runs beside an agent.

use std::path::Path;

use crate::support::floor::Floor;
use crate::support::worker::{agent, configure, kill_and_wait, program, prompts, staff, table, tmux, tree, work};
use crate::support::world::{World, text, wait_for};

/// Runs a person's command in a pane beside adam's agent. Returns its process id.
fn beside(floor: &Floor<'_>, command: &[&str]) -> String {
    let split = ["split-window", "-d", "-P", "-F", "#{pane_pid}", "-t", "=worker-adam:"];
    tmux(floor, &[&split[..], command].concat()).trim_end().to_owned()
}

/// Whether a process is alive. A zombie is not.
fn lives(floor: &Floor<'_>, pid: &str) -> bool {
    let line = format!("kill -0 {pid} 2> /dev/null && ! grep -qs '^State:.Z' /proc/{pid}/status");
    floor.root.sh(&line).status == Some(0)
}

#[test]
fn a_persons_pane_outlives_a_reset() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let pane = tmux(&floor, &["split-window", "-d", "-P", "-F", "#{pane_id}", "-t", "=worker-adam:", "sleep", "600"]);
    floor.ctl(&["reset", "adam", "--force"]).succeeds();
    let dead = tmux(&floor, &["display-message", "-p", "-t", pane.trim_end(), "#{pane_dead}"]);
    assert_eq!(dead, "0\n");
    assert_eq!(text(&floor.status("adam"), "/status"), "idle");
}

#[test]
fn a_persons_pane_outlives_the_agents_program() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let pid = beside(&floor, &["sleep", "600"]);
    floor.ctl(&["message", "adam", "EXIT 0", "--force"]).succeeds();
    floor.until("adam", "offline");
    floor.ctl(&["up", "adam"]).succeeds();
    let adam = floor.status("adam");
    assert_eq!(text(&adam, "/status"), "idle");
    assert_ne!(adam["pane_pid"].to_string(), pid);
    assert!(lives(&floor, &pid));
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    wait_for(|| floor.prompts().len() == 2);
}

#[test]
fn a_persons_shell_never_gets_the_agents_task() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let pane = tmux(&floor, &["display-message", "-p", "-t", "=worker-adam:", "#{pane_id}"]);
    let shell = beside(&floor, &["sh"]);
    tmux(&floor, &["kill-pane", "-t", pane.trim_end()]);
    floor.ctl(&["up", "adam"]).succeeds();
    assert_ne!(floor.status("adam")["pane_pid"].to_string(), shell);
    let bait = w.home("bait");
    let prompt = format!("think\ntouch {}", bait.display());
    floor.ctl(&["start", "--prompt", &prompt]).succeeds();
    wait_for(|| floor.prompts().len() == 1);
    assert!(floor.prompts()[0].ends_with(&prompt), "{:?}", floor.prompts());
    assert!(!bait.exists());
}

#[test]
fn down_does_not_end_processes_of_before_attach() {
    let w = World::new();
    let floor = Floor::new(&w);
    let pid = w.home("pid");
    let line = format!("trap '' HUP; sleep 600 > /dev/null 2>&1 & echo $! > {}", pid.display());
    configure(&floor, "[defaults]\n", &format!("[defaults]\nbefore_attach = \"{line}\"\n"));
    floor.ctl(&["add", "adam"]).succeeds();
    floor.up();
    // With a terminal that tmux cannot use, attach fails after `before_attach`.
    floor.root.on_terminal("TERM=dumb worker-ctl attach adam", "").exit(4).any_out().any_err();
    let pid = std::fs::read_to_string(&pid).unwrap();
    floor.ctl(&["down", "--force"]).succeeds();
    let lived = lives(&floor, pid.trim_end());
    floor.root.sh(&format!("kill {pid}")).any_status().any_out().any_err();
    assert!(lived);
}

#[test]
fn a_tilde_in_the_environment_stays_a_tilde() {
    let w = World::new();
    let floor = Floor::new(&w);
    table(&floor, "telling", &["sh", "-c", "echo \"<$X|$Y>\"; exec \"$0\"", &program()], "");
    // The server runs already when the second worker starts.
    for (name, user) in [("adam", "nosuchuser"), ("eve", "nobody-either")] {
        floor.ctl(&["add", name, "--agent", "telling"]).succeeds();
        let x = format!("~{user}/x");
        floor.root.run_with("worker-ctl", &["up", name], &[("X", x.as_str()), ("Y", "~/x")]).succeeds();
        floor.ctl(&["peek", name]).exit(0).out_has(&format!("<{x}|~/x>"));
    }
}

/// Both characters have a special meaning in tmux. It takes `#[` for the beginning of a style.
#[test]
fn a_root_may_have_a_hash_and_a_percent_sign_in_its_path() {
    let top = tempfile::tempdir().unwrap();
    let below = top.path().join("1%d #h #{r} #[x] ##(y)");
    std::fs::create_dir(&below).unwrap();
    let w = World::below(&below);
    let floor = staff(&w, &["adam"]);
    work(&floor, "adam", "SAY here I am\nCOMMIT a.txt one Write a");
    assert!(floor.prompts()[0].contains(&format!("{}/.worktrees/adam", floor.root.path.display())));
    assert_eq!(tree(&floor, "adam").read("a.txt"), "one\n");
    wait_for(|| floor.root.read("logs/adam.log").contains("here I am\r\n"));
    let path = tmux(&floor, &["display-message", "-p", "-t", "=worker-adam:", "#{pane_current_path}"]);
    assert_eq!(Path::new(path.trim_end()), tree(&floor, "adam").path);
    floor.ctl(&["down"]).succeeds();
    floor.up();
    assert_eq!(text(&floor.status("adam"), "/status"), "needs_review");
    // tmux's own hook finds the root too.
    kill_and_wait(&floor, "adam");
}

/// The directory of a program may have any name, also one that looks like a line about another worker's pane.
#[test]
fn a_directory_with_line_ends_in_its_name_says_nothing_about_another_worker() {
    let w = World::new();
    let floor = staff(&w, &["adam", "eve"]);
    let eve = floor.status("eve");
    let (pane, pid) = (text(&eve, "/session_id"), &eve["pane_pid"]);
    let target = format!("={pane}:");
    let ask = |field: &str| tmux(&floor, &["display-message", "-p", "-t", &target, field]).trim_end().to_owned();
    let (id, server) = (ask("#{pane_id}"), ask("#{pid}"));
    let odd = w.home(&format!("a\n{pane}\t{id}\t{pid}\t1\t7\t\teve\t{server}\tz"));
    std::fs::create_dir(&odd).unwrap();
    let split = ["split-window", "-d", "-t", "=worker-adam:", "-c", odd.to_str().unwrap(), "sleep", "600"];
    tmux(&floor, &split);
    let is_there = || tmux(&floor, &["list-panes", "-a", "-F", "#{pane_current_path}"]).contains("\teve\t");
    wait_for(is_there);
    floor.ctl(&["patrol"]).exit(0);
    assert_eq!(text(&floor.status("eve"), "/status"), "idle");
}

#[test]
fn peek_with_json_prints_one_document() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    floor.ctl(&["message", "adam", "SAY here I am\nSAY and here", "--force"]).succeeds();
    wait_for(|| floor.ctl(&["peek", "adam"]).exit(0).stdout.contains("and here"));
    let shown = floor.ctl(&["peek", "adam", "--json"]).exit(0).json();
    assert_eq!(text(&shown, "/worker"), "adam");
    assert!(text(&shown, "/text").contains("here I am\nand here\n"), "{shown}");
}

#[test]
fn a_changed_agent_takes_effect_at_the_next_start() {
    let w = World::new();
    let floor = staff(&w, &["adam"]);
    let log = agent(&floor, "other", &[], "");
    configure(&floor, "[workers.adam]\n", "[workers.adam]\nagent = \"other\"\n");
    floor.ctl(&["down"]).succeeds();
    floor.ctl(&["up", "adam"]).succeeds();
    floor.ctl(&["start", "--prompt", "think"]).succeeds();
    wait_for(|| prompts(&log).len() == 1);
    assert_eq!(floor.prompts(), Vec::<String>::new());
}

#[test]
fn peek_shows_the_output_of_a_program_that_died_at_once() {
    let w = World::new();
    let floor = Floor::new(&w);
    let wide = "x".repeat(300);
    // On a loaded machine tmux can lose the last words of a program: it ends when tmux has them.
    let words = format!("echo last words; echo {wide}; until grep -qs {wide} ../../logs/adam.log; do :; done; exit 3");
    let config = floor.root.read("config.toml");
    let table = format!(
        "\n[agents.dier]\ncommand = [\"sh\", \"-c\", \"{words}\"]\nready = {{ pattern = \"^>\" }}\n[workers.adam]\nagent = \"dier\"\n"
    );
    floor.root.write("config.toml", &(config + &table));
    floor.ctl(&["add", "adam"]).succeeds();
    floor.ctl(&["up", "adam"]).exit(4).err_has("last words");
    assert_eq!(floor.ctl(&["peek", "adam"]).exit(0).stdout, format!("last words\n{wide}\n"));
    let shown = floor.root.on_terminal("stty cols 40; worker-ctl peek adam", "").exit(0).stdout;
    let longest = shown.lines().map(|line| line.trim_end().len()).max();
    assert_eq!(longest, Some(40), "{shown}");
}

/// Nobody looks meanwhile: neither a patrol nor an `up`.
#[test]
fn however_much_a_program_prints_its_logs_stay_small() {
    let w = World::new();
    let floor = Floor::new(&w);
    let prints = "yes 'lots of output' | head -c 28000000; echo; echo '>'; exec cat";
    table(&floor, "loud", &["sh", "-c", prints], "ready = { pattern = \"^>\", timeout_secs = 50 }\n");
    floor.ctl(&["add", "adam", "--agent", "loud"]).succeeds();
    floor.ctl(&["up", "adam"]).succeeds();
    let log = floor.root.path.join("logs/adam.log");
    wait_for(|| std::fs::read(&log).is_ok_and(|text| text.windows(2).any(|mark| mark == b"\n>")));
    let size = |log: &Path| log.metadata().unwrap().len();
    let (now, before) = (size(&log), size(&log.with_file_name("adam.log.old")));
    // The events between the lines are written by others.
    assert!(now < (11 << 20) && (9 << 20..11 << 20).contains(&before), "{now} {before}");
}

/// Without its directory a log can neither be rotated nor opened anew.
#[test]
fn what_writes_a_log_ends_where_it_cannot_write_any_more() {
    let w = World::new();
    let floor = Floor::new(&w);
    let prints = "echo '>'; read go; yes 'lots of output' | head -c 11000000; exec cat";
    table(&floor, "loud", &["sh", "-c", prints], "");
    floor.ctl(&["add", "adam", "--agent", "loud"]).succeeds();
    floor.ctl(&["up", "adam"]).succeeds();
    // Written so that it does not find itself.
    let root = floor.root.path.display().to_string();
    let writers = format!("ps -eo args= | grep '[/]{}/logs/adam.log'", root.trim_start_matches('/'));
    let is_written = || floor.root.sh(&writers).exits_with(0);
    // What begins to write it opens it a little later than the program is up.
    wait_for(|| std::fs::read_to_string(floor.root.path.join("logs/adam.log")).is_ok_and(|log| log.contains(">\r\n")));
    assert!(is_written());
    std::fs::remove_dir_all(floor.root.path.join("logs")).unwrap();
    tmux(&floor, &["send-keys", "-t", "=worker-adam:", "Enter"]);
    wait_for(|| !is_written());
}
