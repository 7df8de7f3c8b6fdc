//! A day with all tools, whose every JSON answer is held to the table of keys in `docs/formats.md`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::floor::Floor;
use crate::support::forge::Forge;
use crate::support::host::{Machine, needs_sshd};
use crate::support::worker::{event, hook};
use crate::support::world::{Output, Repo, World, project, text, wait_for};

/// The commands whose dry run cannot know how they end: a sync looks at each workspace as the overlay is before, and a
/// teardown runs other commands.
const DIFFERENT: [&str; 4] = ["shopfloor teardown", "overlay-sync sync", "overlay-sync accept", "overlay-sync reject"];

/// The answers of a day, each with the command that gave it, and the commands that exited with 1.
#[derive(Default)]
struct Day(Vec<(String, Value)>, BTreeSet<String>);

impl Day {
    /// Runs a command with `--json`, and then once more as it would have been in a dry run.
    #[track_caller]
    fn run(&mut self, at: &Repo<'_>, line: &str) -> Vec<Value> {
        self.run_with(at, line, &[])
    }

    /// The same with further arguments, which may have blanks.
    #[track_caller]
    fn run_with(&mut self, at: &Repo<'_>, line: &str, more: &[&str]) -> Vec<Value> {
        let words: Vec<&str> = line.split(' ').collect();
        let args = |first: &'static [&'static str]| -> Vec<&str> {
            first.iter().copied().chain(words[1..].iter().copied()).chain(more.iter().copied()).collect()
        };
        let name = words.iter().take_while(|word| is_word(word)).copied().collect::<Vec<_>>().join(" ");
        let home = at.world.at(at.world.home(""));
        let before = home.snapshot();
        let dry = at.run(words[0], &args(&["-n", "--json"]));
        let exit = *dry.status;
        self.take(&name, dry, true);
        // Agents that run write their own logs meanwhile.
        if words[0] != "worker-ctl" {
            home.assert_untouched_since(&before);
        } else {
            home.assert_same_paths_since(&before);
        }
        let out = at.run(words[0], &args(&["--json"]));
        let is_same = *out.status == exit || DIFFERENT.contains(&name.as_str());
        assert!(is_same, "{name} exits with {exit:?} in a dry run, and then: {}", *out);
        self.take(&name, out, false)
    }

    #[track_caller]
    fn take(&mut self, name: &str, out: Output, is_dry: bool) -> Vec<Value> {
        let out = out.any_status().any_err();
        let is_answer = !out.stdout.starts_with("{\"v\":1,\"error\"");
        assert!(matches!(*out.status, Some(0..=2)) && is_answer, "{out}");
        if *out.status == Some(1) {
            self.1.insert(name.to_owned());
        }
        let records = out.json_lines();
        for record in &records {
            assert_eq!(record["dry_run"], if is_dry { Value::Bool(true) } else { Value::Null }, "{out}");
            self.0.push((name.to_owned(), record.clone()));
        }
        records
    }
}

/// Whether it is part of a command's name: not an argument, which is long or has other characters.
fn is_word(word: &str) -> bool {
    let is_argument =
        ["adam", "eve", "x", "base", "ours", "theirs", "info", "pre-remove", "lexer", "success"].contains(&word);
    !is_argument && word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-')
}

/// Every key below a value, with its way there.
fn keys(value: &Value, above: &str, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
                all.insert(path.clone());
                keys(value, &path, all);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| keys(value, &format!("{above}[]"), all)),
        _ => {}
    }
}

/// What is wrong with the form of a value under a key that means the same everywhere.
fn complaint(key: &str, value: &Value) -> Option<String> {
    let is_time = |text: &str| text.len() == 24 && text.ends_with('Z') && text.as_bytes()[19] == b'.';
    let is_good = match (key, value) {
        (_, Value::Null) => true,
        ("v", value) => *value == 1,
        ("time", Value::String(text)) => is_time(text),
        (key, Value::String(text)) if key.ends_with("_at") => is_time(text),
        // Of a host's worker, that of the host.
        ("worktree", Value::String(text)) => text.split_once(':').map_or(&**text, |(_, path)| path).starts_with('/'),
        ("alive", Value::String(text)) => ["up", "down", "exited", "died", "never", "unknown"].contains(&text.as_str()),
        ("sha256", Value::String(text)) => text.len() == 64,
        ("commit", Value::String(text)) => text.len() == 40,
        ("seq", value) => value.is_u64(),
        ("time" | "worktree" | "alive" | "sha256" | "commit", _) => false,
        _ => true,
    };
    (!is_good).then(|| format!("{key}: {value}"))
}

fn complaints(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                all.extend(complaint(key, value));
                complaints(value, all);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| complaints(value, all)),
        _ => {}
    }
}

/// The keys that `docs/formats.md` has for each command. A key that ends in `.*` stands for any below it.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let formats = std::fs::read_to_string(project().join("docs/formats.md")).unwrap();
    let part = formats.split("\n## For scripts\n").nth(1).unwrap().split("\n## For maintainers\n").next().unwrap();
    let table = part.split("| command | shape | keys |").nth(1).unwrap().split("\n\n").next().unwrap();
    let mut all = BTreeMap::new();
    for line in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        let quoted = |cell: &str| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
        let [names, .., keys] = cells.as_slice() else { continue };
        for name in quoted(names) {
            all.entry(name).or_insert_with(BTreeSet::new).extend(quoted(keys));
        }
    }
    all
}

fn set_up(day: &mut Day, app: &Repo<'_>) {
    app.commit(".gitignore", ".env\n.claude/\n.x\n.sweatshop-env\nsweatfile\n");
    let w = app.world;
    w.area("setup = [\"true\"]\n[env]\nA = \"1\"\nP = \"{port}\"\n[files.x]\ncontent = \"x\"\n");
    day.run(app, "sweatfile-apply init");
    app.write("sweatfile", "teardown = [\"true\"]\ntemplate = true\n");
    day.run(app, "sweatfile-apply show");
    app.write("sweatfile", "setup = [{ run = \"true\", inputs = [\"none\"], name = \"x\", timeout = \"9s\", background = true }]\n[caches.cache]\n[env]\nB = \"2\"\n");
    day.run(app, "sweatfile-apply approvals");
    day.run(app, "sweatfile-apply approve --yes");
    day.run(app, "sweatfile-apply check");
    day.run(app, "sweatfile-apply");
    app.apply(&["wait"]).exit(0).any_out().any_err();
    day.run(app, "sweatfile-apply wait");
    day.run(app, "sweatfile-apply");
    day.run(app, "sweatfile-apply apply");
    day.run(app, "sweatfile-apply check");
    day.run(app, "sweatfile-apply show");
    day.run(app, "sweatfile-apply show --layers");
    day.run(app, "sweatfile-apply env snapshot");
    app.write(".sweatshop-env", &(app.read(".sweatshop-env") + "NEW=1\n"));
    day.run(app, "sweatfile-apply env diff");
    day.run(app, "sweatfile-apply env diff --reveal");
    day.run(app, "sweatfile-apply env review --keep NEW");
    day.run(app, "sweatfile-apply doctor");
    day.run(app, "sweatfile-apply config");
    day.run(app, "sweatfile-apply hook install");
    day.run(app, "sweatfile-apply hook status");
    app.sh("mkdir cache; touch cache/x; echo /cache/ >> .git/info/exclude").exit(0);
    let tree = app.worktree("leaving");
    tree.apply(&["wait"]).exit(0).any_out().any_err();
    day.run(&tree, "sweatfile-apply check");
    tree.write(".sweatshop-env", &(tree.read(".sweatshop-env") + "MORE=1\n"));
    day.run_with(app, "sweatfile-apply hook run pre-remove", &[tree.path.to_str().unwrap()]);
    app.git(&["worktree", "remove", "--force", tree.path.to_str().unwrap()]);
    day.run(app, "sweatfile-apply hook uninstall");
    day.run(app, "sweatfile-apply remove");
    day.run(app, "sweatfile-apply sweep");
    day.run(app, "sweatfile-apply revoke");
}

fn sync(day: &mut Day, app: &Repo<'_>) {
    let feature = app.worktree("feature");
    app.write(".env", "A=1\nB=1\n");
    day.run(app, "overlay-sync add .env");
    day.run_with(app, "overlay-sync attach", &[".", feature.path.to_str().unwrap()]);
    app.write(".env", "A=1\nB=2\nC=3\n");
    day.run(app, "overlay-sync status");
    day.run(app, "overlay-sync check");
    let moved = day.run(app, "overlay-sync sync");
    app.write(".env", "A=1\nB=3\nC=3\n");
    feature.write(".env", "A=1\nB=4\nC=3\n");
    day.run(app, "overlay-sync sync --on-conflict hold");
    let held = day.run(app, "overlay-sync conflicts");
    let id = |record: &Value| text(record, "/id").to_owned();
    day.run_with(app, "overlay-sync accept --on-conflict hold", &[&id(held.last().unwrap())]);
    app.write(".env", "A=1\nB=5\nC=3\n");
    feature.write(".env", "A=1\nB=6\nC=3\n");
    day.run(app, "overlay-sync sync --on-conflict hold");
    let held = day.run(app, "overlay-sync conflicts");
    day.run_with(app, "overlay-sync reject --on-conflict hold", &[&id(held.last().unwrap())]);
    day.run(app, "overlay-sync manifest");
    day.run(app, "overlay-sync log");
    let hash = text(&moved[0], "/from").to_owned();
    day.run_with(app, "overlay-sync show", &[&hash]);
    app.write("odd", "x");
    day.run_with(app, "overlay-sync restore", &[&hash, "--to", "restored"]);
    let log = app.overlay(&["log", "--json"]).exit(0).json_lines();
    let last = log.iter().rev().find(|record| !record["from"].is_null() && !record["to"].is_null()).unwrap();
    day.run_with(app, "overlay-sync undo", &[text(last, "/id")]);
    day.run_with(app, "overlay-sync drop", &[".env", "C"]);
    for (name, text) in [("base", "a\n"), ("ours", "a\nb\n"), ("theirs", "a\nc\n")] {
        app.write(name, text);
    }
    day.run(app, "overlay-sync merge base ours theirs");
    day.run(app, "overlay-sync merge --write base ours theirs");
    day.run(app, "overlay-sync doctor");
    day.run(app, "overlay-sync config");
    day.run(app, "overlay-sync hook install");
    day.run(app, "overlay-sync hook status");
    day.run(app, "overlay-sync hook uninstall");
    feature.write(".env", &feature.read(".env").replace("A=1", "A=2"));
    day.run_with(app, "overlay-sync detach", &[feature.path.to_str().unwrap()]);
    app.git(&["worktree", "remove", "--force", feature.path.to_str().unwrap()]);
}

fn keep(day: &mut Day, app: &Repo<'_>) {
    day.run(app, "ledger-synth install");
    for (agent, lexer) in [("ann", "hand"), ("bob", "table")] {
        let args = ["--agent", agent, "--goal", "g", "--now", "n", "--done", "d", "--question", "q?", "--checkpoint"];
        let decision = format!("lexer={lexer}");
        day.run_with(app, "ledger-synth add", &[&args[..], &["1:done", "--decision", &decision]].concat());
    }
    app.write("thoughts/shared/handoffs/events/bad.md", "---\nts: soon\n---\n");
    day.run(app, "ledger-synth lint");
    day.run(app, "ledger-synth --yes");
    day.run(app, "ledger-synth check");
    std::fs::remove_file(app.path.join("thoughts/shared/handoffs/events/bad.md")).unwrap();
    day.run(app, "ledger-synth banner");
    day.run(app, "ledger-synth explain lexer");
    day.run(app, "ledger-synth conflicts");
    day.run_with(app, "ledger-synth conflicts", &["--close", "lexer"]);
    day.run(app, "ledger-synth notes");
    let added = day.run_with(app, "ledger-synth add", &["--agent", "ann", "--now", "wrong"]);
    day.run_with(app, "ledger-synth retract", &[text(&added[0], "/id")]);
    day.run_with(app, "ledger-synth add", &["--draft", "--done", "later"]);
    app.write("old.md", "---\ndate: 2026-01-01\n---\nnow: old\n");
    day.run_with(app, "ledger-synth migrate", &["--check", "old.md"]);
    day.run_with(app, "ledger-synth migrate", &["old.md", "--agent", "ann", "--ts", "2026-01-01T00:00:00Z"]);
    app.write("ours", "a\n");
    day.run(app, "ledger-synth merge-driver base ours theirs");
    assert_eq!(app.read("ours"), app.read("theirs"));
    app.ledger(&["merge-driver", "-n", "base", "ours", "nosuch"]).exit(1).err_has("there is no file");
    day.run(app, "ledger-synth doctor");
    day.run(app, "ledger-synth config");
    day.run(app, "ledger-synth archive");
    day.run(app, "ledger-synth prune --retention 0");
    day.run(app, "ledger-synth hook install");
    day.run(app, "ledger-synth hook status");
    day.run(app, "ledger-synth hook uninstall");
    day.run(app, "ledger-synth install --undo");
}

fn spawn(day: &mut Day, app: &Repo<'_>) {
    let made = day.run_with(app, "worktree-spawn subtree x", &["--task", "Write it"]);
    let tree = app.world.at(text(&made[0], "/path"));
    day.run(&tree, "worktree-spawn worker x");
    day.run(app, "worktree-spawn list");
    day.run(app, "worktree-spawn list --status --stat");
    day.run(&tree, "worktree-spawn whoami");
    day.run(app, "worktree-spawn path main.x");
    app.sh("sed -i 's/$/ /' .git/worktrees/x/shopfloor/worktree-spawn/identity.json").exit(0);
    day.run(app, "worktree-spawn trust main.x --yes");
    assert_eq!(day.run(app, "worktree-spawn trust main.x").len(), 1);
    day.run(app, "worktree-spawn env main.x");
    day.run_with(&tree, "worktree-spawn notify info", &["half done"]);
    day.run_with(&tree, "worktree-spawn notify success", &["done"]);
    day.run(app, "worktree-spawn events");
    app.spawn(&["run", "main.x", "--", "false"]).exit(1).any_err();
    let event = day.run(app, "worktree-spawn wait --lease 5m");
    day.run_with(app, "worktree-spawn ack", &[text(&event[0], "/uid")]);
    day.run(app, "worktree-spawn doctor");
    let dry = app.spawn(&["-n", "--json", "run", "main.x", "--", "true"]);
    day.take("worktree-spawn run", dry, true);
    // Where indexes of our own are made, in a dry run too.
    app.sh("mkdir -p -m 700 ~/.local/state/shopfloor/git").exit(0);
    let moved = tree.path.with_file_name("moved");
    std::fs::rename(&tree.path, &moved).unwrap();
    day.run(app, "worktree-spawn doctor");
    day.run(app, "worktree-spawn repair");
    day.run(app, "worktree-spawn config");
    let dry = app.spawn(&["-n", "--json", "mcp"]);
    day.take("worktree-spawn mcp", dry, true);
    day.run(app, "worktree-spawn gc");
    day.run(app, "worktree-spawn remove main.x --force --recursive");
}

/// Waits until a worker's work, the `count`th of it, needs review, and until its git, which goes on after that, has ended.
fn until_done(floor: &Floor<'_>, name: &str, count: usize) {
    floor.until(name, "needs_review");
    // A program shows its sign again once it has done what it was told.
    wait_for(|| floor.ctl(&["peek", name]).exit(0).stdout.matches('>').count() > count);
}

fn work(day: &mut Day, floor: &Floor<'_>, forge: Option<&Forge>) {
    let root = &floor.root;
    day.run_with(root, "worker-ctl root trust", &[root.path.to_str().unwrap(), "--yes"]);
    day.run(root, "worker-ctl add adam");
    day.run(root, "worker-ctl add eve");
    day.run(root, "worker-ctl up adam eve");
    day.run_with(root, "worker-ctl start --worker adam", &["--task", "COMMIT a.txt a Write a"]);
    until_done(floor, "adam", 1);
    day.run(root, "worker-ctl patrol");
    day.run(root, "worker-ctl status --stat");
    day.run(root, "worker-ctl wait adam --for needs_review");
    day.run(root, "worker-ctl wait adam --for you");
    day.run(root, "worker-ctl peek adam");
    floor.ctl(&["start", "eve", "--task", "COMMIT a.txt c Write c"]).succeeds();
    until_done(floor, "eve", 1);
    day.run(root, "worker-ctl clashes");
    floor.ctl(&["reset", "eve", "--force"]).exit(0).any_out().any_err();
    day.run(root, "worker-ctl cost");
    day.run_with(root, "worker-ctl check adam", &["--check", "true", "--check-on-host", "true"]);
    day.run_with(root, "worker-ctl start --queue", &["--task", "later"]);
    day.run(root, "worker-ctl queue");
    day.run(root, "worker-ctl queue list");
    day.run(root, "worker-ctl queue move t1 1");
    day.run(root, "worker-ctl queue drop t1");
    floor.app.git(&["worktree", "add", "-q", "-b", "feat", "../feat"]);
    let feat = floor.app.path.with_file_name("feat");
    day.run_with(root, "worker-ctl add --worktree", &[feat.to_str().unwrap()]);
    floor.ctl(&["nuke", "feat", "--yes"]).exit(0).any_out();
    day.run(root, "worker-ctl review adam");
    day.run_with(root, "worker-ctl comment adam", &["a.txt:1", "Say why."]);
    day.run(&floor.app, "shopfloor jump --name");
    day.run_with(root, "worker-ctl reject", &["COMMIT a.txt b Write a better"]);
    until_done(floor, "adam", 2);
    day.run(root, "worker-ctl rebase adam");
    day.run_with(root, "worker-ctl message adam", &["thanks"]);
    floor.ctl(&["message", "adam", "ASK Yes|No"]).succeeds();
    wait_for(|| floor.ctl(&["peek", "adam"]).exit(0).stdout.contains("2. No"));
    hook(floor, "adam", &event("PermissionRequest"));
    day.run(root, "worker-ctl answer adam");
    day.run(root, "worker-ctl answer adam 2");
    hook(floor, "adam", &event("Stop"));
    day.run(root, "worker-ctl resume adam");
    if let Some(forge) = forge {
        forge.take(&floor.app);
        day.run(root, "worker-ctl request adam --yes");
    }
    day.run(root, "worker-ctl review adam");
    day.run(root, "worker-ctl accept adam");
    day.run(root, "worker-ctl events");
    day.run(root, "worker-ctl doctor");
    day.run(root, "worker-ctl config");
    let dry = root.run("worker-ctl", &["-n", "--json", "attach", "adam"]);
    day.take("worker-ctl attach", dry, true);
    day.run(root, "worker-ctl reset eve");
    day.run(root, "worker-ctl down");
    day.run(root, "worker-ctl nuke eve --yes");
}

/// A root with a host.
fn hosts<'w>(day: &mut Day, w: &'w World) -> Option<Machine<'w>> {
    let app = w.repo("hub");
    app.run("worker-ctl", &["init", "--target", w.home("hub-workers").to_str().unwrap()]).succeeds();
    let machine = needs_sshd().then(|| Machine::new(w, "big"))?;
    day.run_with(&app, "worker-ctl host add", &["big", "--ssh", "big"]);
    app.run("worker-ctl", &["add", "eve", "--host", "big"]).succeeds();
    day.run(&app, "worker-ctl host list");
    day.run(&app, "worker-ctl status");
    let dry = app.run("worker-ctl", &["-n", "--json", "host", "login", "big", "claude"]);
    day.take("worker-ctl host login", dry, true);
    day.run_with(&app, "worker-ctl host remove", &["big"]);
    Some(machine)
}

fn front_door(day: &mut Day, w: &World) {
    let app = &w.repo("front");
    day.run(app, "shopfloor setup --yes");
    app.write("sweatfile", "[env]\nA = \"1\"\n");
    day.run_with(app, "shopfloor new x", &["--task", "Write it"]);
    let tree = w.at(app.path.join(".shopfloor/worktrees/x"));
    tree.commit("a", "a\n");
    day.run(app, "shopfloor status");
    day.run(app, "shopfloor go x");
    day.run(app, "shopfloor doctor");
    app.git(&["merge", "-q", "main.x"]);
    day.run(app, "shopfloor rm x");
    day.run(app, "shopfloor skills");
    day.run_with(app, "shopfloor shell-init", &["bash"]);
    day.run(app, "shopfloor teardown");
    app.sh("git checkout -q . 2> /dev/null; rm -f sweatfile").any_status();
    let root = w.home("fronts");
    app.run("worker-ctl", &["init", "--target", root.to_str().unwrap()]).succeeds();
    day.run(app, "worker-ctl deinit --yes");
}

#[test]
fn every_answer_has_the_documented_keys_and_no_others() {
    let mut w = World::new();
    let mut day = Day::default();
    let forge = Forge::start(&mut w);
    let floor = Floor::new(&w);
    set_up(&mut day, &floor.app);
    sync(&mut day, &floor.app);
    keep(&mut day, &floor.app);
    spawn(&mut day, &floor.app);
    work(&mut day, &floor, forge.as_ref());
    front_door(&mut day, &w);
    let has_host = hosts(&mut day, &w).is_some();
    let other = w.repo("other");
    day.run_with(&other, "worker-ctl init", &["--target", w.home("others").to_str().unwrap()]);

    // The page of a command that can exit with 1 says so.
    assert!(day.1.len() > 3, "{:?}", day.1);
    for name in &day.1 {
        let words: Vec<&str> = name.split(' ').collect();
        let page = other.run(words[0], &[&words[1..], &["--help"]].concat()).exit(0).stdout.clone();
        let is_named = page.split(|c: char| !c.is_alphanumeric()).any(|word| word == "1");
        assert!(is_named, "`{name} --help` does not say when the command exits with 1");
    }

    let (documented, mut seen, mut wrong) = (documented(), BTreeMap::<&str, BTreeSet<String>>::new(), Vec::new());
    for (name, record) in &day.0 {
        keys(record, "", seen.entry(name).or_default());
        let mut found = Vec::new();
        complaints(record, &mut found);
        wrong.extend(found.iter().map(|what| format!("{name}: {what}")));
    }
    let none = BTreeSet::new();
    for (name, keys) in &seen {
        let listed = documented.get(*name).unwrap_or(&none);
        let common = ["v", "dry_run", "error", "would", "would[]"];
        let is_listed = |key: &String| {
            let is_below = |wide: &String| wide.strip_suffix('*').is_some_and(|above| key.starts_with(above));
            common.contains(&key.as_str()) || listed.contains(key) || listed.iter().any(is_below)
        };
        let missing: Vec<&String> = keys.iter().filter(|key| !is_listed(key)).collect();
        if !missing.is_empty() {
            wrong.push(format!("MISSING\t{name}\t{missing:?}"));
        }
        let is_seen = |key: &&String| match key.strip_suffix(".*") {
            Some(above) => keys.contains(above) || above.is_empty(),
            None => keys.contains(*key),
        };
        let stale: Vec<&String> = listed.iter().filter(|key| !is_seen(key)).collect();
        if !stale.is_empty() {
            wrong.push(format!("NEVER SEEN\t{name}\t{stale:?}"));
        }
    }
    for name in documented.keys().filter(|name| !seen.contains_key(name.as_str())) {
        // Only a forge's own program makes one.
        if forge.is_none() && name == "worker-ctl request" || !has_host && name.starts_with("worker-ctl host") {
            continue;
        }
        wrong.push(format!("NO ANSWER\t{name}"));
    }
    assert!(wrong.is_empty(), "{} problems:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_command_that_has_nothing_to_do_is_silent_and_says_so_with_v() {
    let w = World::new();
    let floor = Floor::new(&w);
    let app = &floor.app;
    app.commit(".gitignore", ".env\n.x\n.sweatshop-env\n");
    w.area("[files.x]\ncontent = \"x\"\n");
    app.write(".env", "A=1\n");
    app.run("ledger-synth", &["install"]).succeeds().any_err();
    app.run("ledger-synth", &["add", "--agent", "ann", "--now", "n"]).succeeds();
    app.run("overlay-sync", &["add", ".env"]).succeeds();
    for line in [
        "sweatfile-apply apply",
        "sweatfile-apply env review",
        "sweatfile-apply remove",
        "sweatfile-apply sweep",
        "overlay-sync attach",
        "overlay-sync sync",
        "overlay-sync detach",
        "ledger-synth",
        "ledger-synth archive",
        "ledger-synth prune",
        "worktree-spawn repair",
        "worktree-spawn gc",
        "worker-ctl patrol",
        "worker-ctl down",
        "worker-ctl nuke --all --yes",
        "worker-ctl reset --all",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let at = if words[0] == "worker-ctl" { &floor.root } else { app };
        at.run(words[0], &words[1..]).succeeds().any_err();
        let again = at.run(words[0], &words[1..]).exit(0);
        assert_eq!(again.stdout, "", "{line}");
        let told = at.run(words[0], &[&words[1..], &["-v"]].concat()).exit(0).any_err();
        assert_eq!((told.stdout.as_str(), told.stderr.is_empty()), ("", false), "{line}");
    }
}
