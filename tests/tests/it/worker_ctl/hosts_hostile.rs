//! worker-ctl: a host that is hostile. It can hand over commits and texts, and nothing else comes of what it says.

use crate::support::host::{hire, hub, needs_sshd, row, work};
use crate::support::worker::tip;
use crate::support::world::{World, text};

#[test]
fn nothing_comes_of_what_a_host_makes_up() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big"]);
    let big = &machines[0];
    hire(&floor, "big:eve");
    let real = w.path("bin/worker-ctl");
    let says = |command: &str, script: &str| {
        let body = format!("case \" $* \" in *' {command} '*) {script};; *) exec '{}' \"$@\";; esac", real.display());
        big.program("worker-ctl", &body);
    };
    // Names that are paths or options, and words that a terminal would obey.
    let bad = r#"{"name":"../../adam","status":"idle"},{"name":"-x","status":"idle"},{"name":7},7,"#;
    let odd = r#"{"name":"eve","status":"\u001b[2J\u202e","task":"needs_review","commit":"--output=x","prompt":"a\nb","notes":[7,"\u0007"],"needs":"x"}"#;
    big.home.write("rows", &format!("{{\"v\":1,\"workers\":[{bad}{odd}]}}\n"));
    says("status", "cat ~/rows");
    let all = floor.ctl(&["status", "--json"]).exit(0).json();
    let ids: Vec<&str> = all["workers"].as_array().unwrap().iter().map(|row| text(row, "/id")).collect();
    assert_eq!(ids, ["big:eve"]);
    let table = floor.ctl(&["status"]).exit(0);
    assert!(!table.stdout.contains(['\u{1b}', '\u{7}', '\u{202e}']) && table.stdout.lines().count() == 1, "{table}");
    let refused = floor.ctl(&["accept", "big:eve", "--json"]).exit(1).any_err().json();
    assert_eq!(text(&refused, "/error/kind"), "wrong_state");
    for said in
        ["yes", "yes '{' | tr -d '\\n'", "echo 7", "echo '{\"workers\":{}}' | tr w v", "true", "exit 3", "kill -9 $$"]
    {
        says("status", said);
        let seen = row(&floor, "big:eve");
        assert!(seen["unreachable_since_at"].is_string(), "{said}: {seen}");
    }
    says("review", "echo '{\"sha\":\"--upload-pack=touch /tmp/x\"}'");
    floor.ctl(&["review", "big:eve"]).exit(4).err_has("names no commit");
    says("message", "cat > /dev/null; printf '\\033]0;x\\007\\n'; printf 'worker-ctl: error: \\033[2J\\n' >&2; exit 1");
    let shown = floor.ctl(&["message", "big:eve", "x"]).exit(1);
    assert!(!shown.stdout.contains(['\u{1b}', '\u{7}']) && !shown.stderr.contains('\u{1b}'), "{shown}");
}

#[test]
fn commits_of_a_host_are_looked_at_as_a_strangers() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big"]);
    let big = &machines[0];
    hire(&floor, "big:eve");
    work(&floor, "big:eve", "COMMIT a.txt one Add a");
    let (git, old) = (crate::support::world::which("git"), tip(&floor));
    let packs = |script: &str| {
        let body = format!("case \" $* \" in *' pack-objects '*) {script};; *) exec '{}' \"$@\";; esac", git.display());
        big.program("git", &body);
    };
    let refused = || {
        let answer = floor.ctl(&["review", "big:eve", "--json"]).exit(1).any_err().json();
        assert_eq!(text(&answer, "/error/kind"), "import_refused");
        let left = floor.root.sh("ls hosts").exit(0).stdout.clone();
        assert!(!left.contains(".in"), "{left}");
        text(&answer, "/error/message").to_owned()
    };
    packs("exec yes");
    assert!(refused().contains("takes longer than"));
    packs("exec head -c 5000000 /dev/zero");
    refused();
    packs("cat > /dev/null; printf 'PACK\\0\\0\\0\\2\\0\\0\\0\\0'");
    refused();
    // Objects that git itself would not make.
    packs(&format!("exec '{}' \"$@\"", git.display()));
    let tree = "printf '100644 .git\\0%b' \"$(git rev-parse HEAD:a.txt | sed 's/../\\\\x&/g')\"";
    let made = big.sh(&format!(
        "cd .worktrees/eve && c=$(git commit-tree -p HEAD -m bad $({} | git hash-object --literally -t tree -w --stdin)) && \
         git update-ref refs/heads/worker/eve $c && git reset -q --soft $c; worker-ctl patrol; worker-ctl status",
        tree.replace("printf '100644", "/usr/bin/printf '100644")
    ));
    made.any_status().any_out().any_err();
    assert!(refused().contains("hasDotgit"));
    assert_eq!((tip(&floor), floor.root.git(&["for-each-ref", "refs/shopfloor/hosts"])), (old, String::new()));
}
