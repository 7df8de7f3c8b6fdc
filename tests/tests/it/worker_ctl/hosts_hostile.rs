//! worker-ctl: a host that is hostile. It can hand over commits and texts, and nothing else comes of what it says.

use crate::support::floor::Floor;
use crate::support::host::{Machine, hire, hub, last_row, needs_sshd, work};
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
    // Words that a terminal would obey.
    let odd = r#"{"v":1,"name":"eve","status":"\u001b[2J\u202e","task":"needs_review","commit":"--output=x","prompt":"a\nb","notes":[7,"\u0007"],"needs":"x"}"#;
    big.home.write("rows", &format!("{{\"v\":1,\"workers\":[{odd}]}}\n"));
    says("status", "cat ~/rows");
    let all = floor.ctl(&["status", "--json"]).exit(0).json();
    let ids: Vec<&str> = all["workers"].as_array().unwrap().iter().map(|row| text(row, "/id")).collect();
    assert_eq!(ids, ["big:eve"]);
    let table = floor.ctl(&["status"]).exit(0);
    assert!(!table.stdout.contains(['\u{1b}', '\u{7}', '\u{202e}']) && table.stdout.lines().count() == 1, "{table}");
    let refused = floor.ctl(&["accept", "big:eve", "--json"]).exit(1).any_err().json();
    assert_eq!(text(&refused, "/error/kind"), "wrong_state");
    // No answer, names that are paths or options, and what only another version can read.
    for said in [
        "yes",
        "yes '{' | tr -d '\\n'",
        "echo 7",
        "true",
        "exit 3",
        "kill -9 $$",
        r#"echo '{"v":1,"workers":{}}'"#,
        r#"echo '{"v":1,"workers":[7]}'"#,
        r#"echo '{"v":1,"workers":[{"v":1,"name":7}]}'"#,
        r#"echo '{"v":1,"workers":[{"v":1,"name":"../../adam"}]}'"#,
        r#"echo '{"v":1,"workers":[{"v":1,"name":"-x"}]}'"#,
        r#"echo '{"v":1,"workers":[{"v":2,"name":"eve"}]}'"#,
        r#"echo '{"workers":[]}'"#,
        r#"echo '{"v":2,"workers":[]}'"#,
    ] {
        says("status", said);
        let seen = last_row(&floor, "big:eve");
        assert!(seen["unreachable_since_at"].is_string(), "{said}: {seen}");
    }
    floor.ctl(&["host", "remove", "big"]).exit(4).err_has("answers in a form that is not known here");
    says("review", "echo '{\"v\":1,\"sha\":\"--upload-pack=touch /tmp/x\"}'");
    floor.ctl(&["review", "big:eve"]).exit(4).err_has("names no commit");
    // What it proposes to run are its own words.
    says("review", "echo '{\"error\":{\"message\":\"no\",\"hints\":[\"run `rm -rf ~`\"]}}'; exit 1");
    let proposed = floor.ctl(&["review", "big:eve"]).exit(1);
    assert!(proposed.stderr.contains("\n  big: hint: run `rm -rf ~`\n"), "{proposed}");
    let proposed = floor.ctl(&["review", "big:eve", "--json"]).exit(1).any_err().json();
    assert_eq!(text(&proposed, "/error/hints/0"), "big: run `rm -rf ~`", "{proposed}");
    for error in ["7", "[]", "\"x\"", "null", "{\"message\":{}}"] {
        says("message", &format!("echo '{{\"error\":{error},\"workers\":[7,{{}}],\"worker\":[]}}'; exit 1"));
        floor.ctl(&["message", "big:eve", "x", "--json"]).exit(1).any_out();
    }
    says(
        "message",
        "cat > /dev/null; printf '\\033]0;x\\007\\n'; printf 'worker-ctl: error: \\033[2J\\n  hint: y\\n' >&2; exit 1",
    );
    let shown = floor.ctl(&["message", "big:eve", "x"]).exit(1);
    shown.err_has("\n  big: hint: y\n");
    assert!(!shown.stdout.contains(['\u{1b}', '\u{7}']) && !shown.stderr.contains('\u{1b}'), "{shown}");
    // An error of its own is marked as that, and so is another version.
    let older = "[ \"$1\" = --version ] && echo worker-ctl 0.0.1 && exit; echo worker-ctl: error: what >&2; exit 2";
    big.program("worker-ctl", older);
    let refused = floor.ctl(&["message", "big:eve", "x"]).exit(2).any_out();
    refused.err_has("error: big: what\n").err_has("big has worker-ctl 0.0.1, and here it is ");
    // Another program of that name has done nothing, whatever it ends with.
    big.program("worker-ctl", "echo hello world");
    for args in [
        &["start", "big:eve", "--task", "x"][..],
        &["message", "big:eve", "x"],
        &["wait", "big:eve", "--for", "idle"],
        &["up", "--host", "big"],
        &["queue", "--host", "big", "--json"],
        &["nuke", "big:eve", "--yes"],
    ] {
        let refused = floor.ctl(args).exit(4).any_out().any_err();
        assert!(!refused.stdout.contains("hello"), "{refused}");
    }
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
    packs(&format!("echo Welcome; exec '{}' \"$@\"", git.display()));
    assert!(refused().contains("no pack of git"));
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

#[test]
fn the_same_lines_at_another_place_are_not_the_reviewed_work_on_a_host_either() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, _) = hub(&w, &[]);
    let [one, other] = ["return 1", "return 2"].map(|line| format!("{{\n    {line};\n}}\n"));
    let function = |name: &str, body: &str| format!("fn {name}() {body}\n");
    let before = function("is_debug", &one) + &function("is_admin", &one);
    floor.app.commit("a.rs", &before);
    let big = Machine::new(&w, "big");
    floor.ctl(&["host", "add", "big", "--ssh", "big"]).succeeds();
    hire(&floor, "big:eve");
    floor.ctl(&["start", "big:eve", "--task", "think"]).succeeds();
    let eve = w.at(big.root().path.join(".worktrees/eve"));
    let put = |text: &str, more: &[&str]| {
        eve.write("a.rs", text);
        eve.git(&[&["commit", "-q", "-a", "-m", "Change it"][..], more].concat());
        floor.ctl(&["wait", "big:eve", "--for", "needs_review", "--timeout", "50s"]).exit(0).any_out().any_err();
        floor.ctl(&["patrol", "--host", "big"]).succeeds();
    };
    put(&(function("is_debug", &other) + &function("is_admin", &one)), &[]);
    floor.ctl(&["review", "big:eve"]).succeeds();
    let old = tip(&floor);
    put(&(function("is_debug", &one) + &function("is_admin", &other)), &["--amend"]);
    let refused = floor.ctl(&["accept", "big:eve", "--json"]).exit(1).json();
    assert_eq!((text(&refused, "/error/kind"), tip(&floor)), ("changed", old));
}

#[test]
fn what_the_source_has_dropped_lands_with_no_work_of_a_host() {
    if !needs_sshd() {
        return;
    }
    let w = World::new();
    let (floor, machines) = hub(&w, &["big"]);
    let before = tip(&floor);
    floor.app.commit("bad.txt", "bad\n");
    hire(&floor, "big:eve");
    work(&floor, "big:eve", "COMMIT a.txt one Add a");
    floor.app.git(&["reset", "-q", "--hard", &before]);
    // The host learns that first, and puts the work on the branch as it is now.
    floor.ctl(&["accept", "big:eve"]).exit(0).any_out().err_has("was not reviewed");
    assert_eq!(floor.app.git(&["log", "--format=%s", &format!("{before}..main")]), "Add a\n");
    assert!(!floor.app.has("bad.txt"));
    // Where it did not, nothing lands: the host says which commit the work sits on.
    work(&floor, "big:eve", "COMMIT b.txt one Add b");
    let real = w.path("bin/worker-ctl");
    let (kept, base) = (floor.app.git(&["commit-tree", "-p", "main", "-m", "gone", "main^{tree}"]), tip(&floor));
    floor.app.git(&["update-ref", "refs/heads/main", kept.trim_end()]);
    work_on(&floor, &machines[0], "big:eve");
    floor.app.git(&["update-ref", "refs/heads/main", &base]);
    let body =
        format!("case \" $* \" in *' patrol '*) echo '{{\"v\":1}}';; *) exec '{}' \"$@\";; esac", real.display());
    machines[0].sh("worker-ctl down").any_status().any_out().any_err();
    machines[0].program("worker-ctl", &body);
    let refused = floor.ctl(&["accept", "big:eve", "--json"]).exit(1).any_err().json();
    assert_eq!((text(&refused, "/error/kind"), tip(&floor)), ("moved_back", base));
}

/// Lets the host put the work on the branch as it is now.
fn work_on(floor: &Floor<'_>, machine: &Machine<'_>, id: &str) {
    floor.ctl(&["rebase", id]).exit(0).any_out().any_err();
    assert_eq!(machine.tip(), tip(floor));
}
