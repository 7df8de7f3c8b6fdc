//! One vocabulary: what every subcommand of every tool keeps to, found from the tools' own help.

use serde_json::Value;

use crate::support::world::{Output, Repo, TOOLS, World, write};

/// A subcommand, found in a help page.
struct Subcommand {
    tool: &'static str,
    /// Its words, such as `hook install`; none for the tool itself.
    words: Vec<String>,
    help: String,
}

/// The one command that is about a shell, not about a repository.
const SHELL_ONLY: &str = "shopfloor shell-init";

/// Without a command it shows its help there, which a test of its own holds.
const FRONT_DOOR: &str = "shopfloor";

/// What a command exits with outside of any repository, if not with 2.
const OUTSIDE: [(&str, i32); 8] = [
    // A program that calls these must not be stopped.
    ("sweatfile-apply hook run", 0),
    ("overlay-sync hook run", 0),
    ("worktree-spawn hook worker-exit", 0),
    ("worktree-spawn hook worktree-remove", 0),
    ("worker-ctl hook", 0),
    // This one answers with a path or fails.
    ("worktree-spawn hook worktree-create", 1),
    // git stops at any other code.
    ("overlay-sync merge", 1),
    // From anywhere, and nobody waits.
    ("shopfloor jump", 1),
];

/// Commands that need a person's word exit with 3, so that their pages say so.
const DECIDED: [&str; 7] = [
    "shopfloor new",
    "shopfloor adopt",
    "shopfloor back",
    "shopfloor land",
    "shopfloor request",
    "worker-ctl add",
    "worker-ctl reset",
];

/// Commands that answer "no" with 1, so that their pages say so.
const ANSWERING: [&str; 40] = [
    "shopfloor setup",
    "shopfloor teardown",
    "shopfloor doctor",
    "shopfloor new",
    "shopfloor go",
    "shopfloor adopt",
    "shopfloor attach",
    "shopfloor start",
    "shopfloor answer",
    "shopfloor peek",
    "shopfloor wait",
    "shopfloor review",
    "shopfloor back",
    "shopfloor land",
    "shopfloor request",
    "shopfloor stop",
    "shopfloor resume",
    "sweatfile-apply check",
    "sweatfile-apply doctor",
    "sweatfile-apply convert",
    "sweatfile-apply hook status",
    "overlay-sync sync",
    "overlay-sync check",
    "overlay-sync doctor",
    "overlay-sync manifest",
    "overlay-sync merge",
    "ledger-synth check",
    "ledger-synth doctor",
    "ledger-synth explain",
    "ledger-synth retract",
    "worktree-spawn subtree",
    "worktree-spawn ack",
    "worktree-spawn events",
    "worktree-spawn doctor",
    "worker-ctl wait",
    "worker-ctl queue move",
    "worker-ctl queue drop",
    "worker-ctl clashes",
    "worker-ctl host remove",
    "worker-ctl doctor",
];

impl Subcommand {
    fn name(&self) -> String {
        [&[self.tool.to_owned()], &self.words[..]].concat().join(" ")
    }

    /// The arguments that it requires, filled in.
    fn required(&self) -> Vec<String> {
        let usage = self.help.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap();
        let words = usage.split(' ').skip(1 + self.words.len());
        let fill = |word: &str| match word.trim_end_matches("...").trim_matches(['<', '>']) {
            "STATUS" => "info".to_owned(),
            "STATE" => "idle".to_owned(),
            "AGENT" => "claude".to_owned(),
            "NAME" if self.words == ["hook", "run"] => "post-checkout".to_owned(),
            "CMD" => "true".to_owned(),
            "SHELL" => "bash".to_owned(),
            word if word.starts_with('-') => word.to_owned(),
            _ => "x".to_owned(),
        };
        words.filter(|word| !word.starts_with('[') && *word != "<COMMAND>").map(fill).collect()
    }

    /// Runs it with its required arguments.
    #[track_caller]
    fn run(&self, at: &Repo<'_>, before: &[&str], after: &[&str]) -> Output {
        let required = self.required();
        let words = self.words.iter().map(String::as_str);
        let args = before.iter().copied().chain(words).chain(after.iter().copied());
        at.run(self.tool, &args.chain(required.iter().map(String::as_str)).collect::<Vec<_>>())
    }

    /// Whether it only lists further subcommands.
    fn is_group(&self) -> bool {
        self.help.contains("\nCommands:\n") && self.help.contains("<COMMAND>")
    }
}

/// Every page of help that a tool has, itself first.
fn subcommands(at: &Repo<'_>) -> Vec<Subcommand> {
    let mut all: Vec<Subcommand> = Vec::new();
    for tool in TOOLS {
        let mut open: Vec<Vec<String>> = vec![Vec::new()];
        while let Some(words) = open.pop() {
            let args: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
            let help: String = at.run(tool, &args).exit(0).stdout.clone();
            let listed = help.split("\nCommands:\n").nth(1).unwrap_or_default();
            for line in listed.lines().take_while(|line| !line.is_empty()) {
                let name = line.strip_prefix("  ").and_then(|line| line.split(' ').next()).unwrap_or_default();
                if !name.is_empty() && name != "help" {
                    open.push([&words[..], &[name.to_owned()]].concat());
                }
            }
            all.push(Subcommand { tool, words, help });
        }
    }
    all
}

/// What is wrong, all of it, because one rule may have many strays.
#[derive(Default)]
struct Problems(Vec<String>);

impl Problems {
    fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.0.push(what());
        }
    }
}

impl Drop for Problems {
    fn drop(&mut self) {
        assert!(self.0.is_empty() || std::thread::panicking(), "{} problems:\n{}", self.0.len(), self.0.join("\n"));
    }
}

#[test]
fn every_page_of_help_has_the_same_parts() {
    let w = World::new();
    let here = w.at(w.home(""));
    let all = subcommands(&here);
    let mut problems = Problems::default();
    problems.check(all.len() > 90, || format!("only {} pages", all.len()));
    for command in &all {
        let (name, help) = (command.name(), &command.help);
        let first = help.lines().next().unwrap();
        let is_sentence = first.chars().next().is_some_and(char::is_uppercase) && !first.ends_with('.');
        let is_noun =
            ["A ", "An ", "The ", "What ", "Whether ", "Commands "].iter().any(|word| first.starts_with(word));
        problems.check(is_sentence && !is_noun, || format!("{name} does not begin with what it does: {first}"));
        let parts = ["\nUsage: ", "-n, --dry-run", "--json", "-C <DIR>", "-q, --quiet", "-v, --verbose", "--color"];
        for part in parts {
            problems.check(help.contains(part), || format!("{name} has no {part:?} in its help"));
        }
        let example = help.split("\nExample").nth(1).unwrap_or_default();
        problems.check(example.contains(command.tool), || format!("{name} has no example"));
        // A terminal of 80 columns shows each line of it as one that can be copied.
        let wide = example.lines().take_while(|line| !line.is_empty()).find(|line| line.chars().count() > 80);
        problems.check(wide.is_none(), || format!("{name} has an example that is wider than 80: {wide:?}"));
        let is_old = ["<TRUTH>", "<SECONDS>", "<MS>"].iter().any(|old| help.contains(old));
        problems.check(!is_old, || format!("{name} names a value in a way of its own"));
        if ANSWERING.contains(&name.as_str()) {
            let words =
                ["exit 1", "exits with 1", "1 if", "1 no", "1 drift", "1 something", "1 conflicts", "1 with", "1 when"];
            let begin: String = help.lines().take(12).map(|line| format!("{line} ")).collect();
            let tells = words.iter().any(|words| begin.contains(words));
            problems.check(tells, || format!("{name} does not say when it exits with 1"));
        }
    }
    for command in all.iter().filter(|command| DECIDED.contains(&command.name().as_str())) {
        let text = command.help.split_whitespace().collect::<Vec<_>>().join(" ");
        problems.check(text.contains("with 3 if"), || format!("{} does not say when it exits with 3", command.name()));
    }
    for name in ANSWERING.iter().chain(&DECIDED).copied() {
        problems.check(all.iter().any(|command| command.name() == name), || format!("there is no {name}"));
    }
}

#[test]
fn a_mistyped_option_is_refused_alike_and_a_dry_run_may_stand_in_both_places() {
    let w = World::new();
    let here = w.at(w.home(""));
    let mut problems = Problems::default();
    for command in subcommands(&here).iter().filter(|command| !command.is_group()) {
        let name = command.name();
        let hint = format!("hint: run `{name} --help` to see what it takes");
        let begin = format!("{}: error: ", command.tool);
        for (before, after) in [
            (&["-n"][..], &["--no-such-option"][..]),
            (&[], &["-n", "--no-such-option"]),
            (&["--dry-run"], &["--no-such-option"]),
        ] {
            let out = command.run(&here, before, after).any_status().any_out().any_err();
            // An agent's own hook never fails, or with 1, and after a hook's name all is git's.
            let is_its = |exit: i32| exit == 0 || name.ends_with("worktree-create");
            let mut hooks = OUTSIDE.iter().filter(|(hook, exit)| *hook == name && is_its(*exit));
            let is_hook = hooks.any(|(_, exit)| *out.status == Some(*exit));
            let is_refused = *out.status == Some(2) && out.stdout.is_empty() && out.stderr.starts_with(&begin);
            let is_told = is_refused && out.stderr.contains("--no-such-option") && out.stderr.contains(&hint);
            problems.check(is_told || is_hook, || out.to_string());
        }
    }
    // In the place of a text, too. An item of a list is a text.
    for words in [
        &["worker-ctl", "message", "x"][..],
        &["worker-ctl", "reject"],
        &["worker-ctl", "reject", "x"],
        &["worker-ctl", "comment", "x", "a.rs:1"],
        &["worktree-spawn", "notify", "info"],
    ] {
        for (word, is_option) in [("--bogus", true), ("-z", true), ("- an item", false), ("-5 lines", false)] {
            let out = here.run(words[0], &[&words[1..], &[word]].concat()).any_status().any_out().any_err();
            let is_refused = out.stderr.contains(&format!("unexpected argument '{word}' found"));
            problems.check(*out.status == Some(2) && is_refused == is_option, || out.to_string());
        }
    }
}

#[test]
fn outside_of_any_repository_each_command_says_what_is_missing() {
    let w = World::new();
    std::fs::create_dir(w.home("empty")).unwrap();
    let here = w.at(w.home("empty"));
    let before = here.snapshot();
    let mut problems = Problems::default();
    for command in subcommands(&here).iter().filter(|command| !command.is_group()) {
        let name = command.name();
        if [SHELL_ONLY, FRONT_DOOR].contains(&name.as_str()) {
            continue;
        }
        let exit = OUTSIDE.iter().find(|(outside, _)| *outside == name).map_or(2, |(_, exit)| *exit);
        let out = command.run(&here, &[], &[]).any_status().any_out().any_err();
        let begin = format!("{}: error: ", command.tool);
        let is_told = exit != 2 || out.stderr.starts_with(&begin) && out.stderr.contains("\n  hint: ");
        problems.check(*out.status == Some(exit) && out.stdout.is_empty() && is_told, || out.to_string());
        let json = command.run(&here, &["--json"], &[]).any_status().any_out().any_err();
        problems.check(*json.status == Some(exit), || json.to_string());
        if exit == 0 || name.ends_with("worktree-create") {
            continue;
        }
        let error: Value = serde_json::from_str(&json.stdout).unwrap_or_default();
        let is_text = |key: &str| error["error"][key].as_str().is_some_and(|text| !text.is_empty());
        let hints = error["error"]["hints"].as_array().map_or(0, Vec::len);
        let is_whole = error["v"] == 1 && is_text("kind") && is_text("message") && (exit != 2 || hints > 0);
        problems.check(is_whole && json.stderr.is_empty(), || json.to_string());
    }
    here.assert_untouched_since(&before);
}

#[test]
fn help_is_plain_without_a_terminal_and_with_no_color_and_stops_with_its_reader() {
    let w = World::new();
    let here = w.at(w.home(""));
    let all = subcommands(&here);
    let mut script = String::from("set -e\n");
    for command in &all {
        assert!(!command.help.contains('\u{1b}'), "{}", command.name());
        script += &format!("{} --help\n", command.name());
    }
    write(&w.path("pages"), &script);
    let pages = w.path("pages");
    let plain = here.on_terminal(&format!("NO_COLOR=1 sh {}", pages.display()), "").exit(0);
    assert!(!plain.stdout.contains('\u{1b}'));
    let styled = here.on_terminal(&format!("sh {}", pages.display()), "").exit(0);
    assert!(styled.stdout.contains('\u{1b}'));
    for command in &all {
        let name = command.name();
        let out = here.sh(&format!("{{ {name} --help <&- ; echo \":$?\" > code; }} | head -c 1; cat code")).exit(0);
        assert!(out.stdout.ends_with(":0\n"), "{name}: {out}");
    }
}

#[test]
fn a_closed_stdin_is_an_empty_one() {
    let w = World::new();
    let app = w.repo("app");
    let mut problems = Problems::default();
    for command in subcommands(&app).iter().filter(|command| !command.is_group()) {
        let open = command.run(&app, &["-n"], &[]).any_status().any_out().any_err();
        let required = command.required();
        let words = command.words.iter().chain(&required).map(String::as_str);
        let args = ["-c", "exec \"$@\" <&-", "sh", command.tool, "-n"].into_iter().chain(words);
        let closed = app.run("sh", &args.collect::<Vec<_>>()).any_status().any_out().any_err();
        let is_alike = *closed.status == *open.status && closed.stdout == open.stdout && closed.stderr == open.stderr;
        problems.check(is_alike && matches!(*open.status, Some(0..=4)), || format!("{open}\n{closed}"));
    }
}
