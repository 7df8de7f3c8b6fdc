//! Every console block in the README and in `docs/` does what it shows.

use std::path::PathBuf;

use crate::support::world::{Repo, World, project};

/// A command and what the document says it prints.
struct Shown {
    line: usize,
    command: String,
    output: Vec<String>,
}

fn documents() -> Vec<PathBuf> {
    let project = project();
    let docs = std::fs::read_dir(project.join("docs")).unwrap().map(|e| e.unwrap().path());
    let mut all: Vec<PathBuf> = docs.filter(|p| p.extension().is_some_and(|e| e == "md")).collect();
    all.push(project.join("README.md"));
    all.sort();
    all
}

/// The commands of all `console` blocks: `$ ` begins one, `> ` or an open here-document goes on.
fn commands(text: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let (mut inside, mut until) = (false, None::<String>);
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
            continue;
        }
        if !inside {
            continue;
        }
        if let Some(command) = line.strip_prefix("$ ") {
            until = command.contains("<<'END'").then(|| "END".to_owned());
            all.push(Shown { line: number + 1, command: command.to_owned(), output: Vec::new() });
            continue;
        }
        let Some(last) = all.last_mut() else { panic!("line {}: output before any command", number + 1) };
        if let Some(end) = &until {
            last.command += &format!("\n{line}");
            if line == end {
                until = None;
            }
        } else if let Some(more) = line.strip_prefix("> ") {
            last.command += &format!("\n{more}");
        } else {
            last.output.push(line.to_owned());
        }
    }
    all
}

/// Whether the printed lines are those shown; a line `...` stands for any number of lines.
fn matches(shown: &[String], printed: &[&str]) -> bool {
    match shown {
        [] => printed.is_empty(),
        [dots, rest @ ..] if dots == "..." => (0..=printed.len()).any(|n| matches(rest, &printed[n..])),
        [first, rest @ ..] => printed.split_first().is_some_and(|(p, more)| p == first && matches(rest, more)),
    }
}

/// Ends the sessions that a document started, also when the test fails.
struct EndsSessions<'r>(&'r Repo<'r>);

impl Drop for EndsSessions<'_> {
    fn drop(&mut self) {
        self.0.sh("cd ~/workers 2> /dev/null && worker-ctl down --force").any_status().any_out().any_err();
    }
}

#[test]
fn every_console_block_is_true() {
    let mut run = 0;
    for document in documents() {
        let w = World::new();
        let app = w.app();
        let _sessions = EndsSessions(&app);
        let text = std::fs::read_to_string(&document).unwrap();
        for shown in commands(&text) {
            let out = app.sh(&format!("{{ {}\n}} 2>&1", shown.command)).any_status().any_out().any_err();
            let printed = out.stdout.replace(w.home("").to_str().unwrap(), "/home/you/");
            let printed: Vec<&str> = printed.lines().collect();
            let place = format!("{}:{}: $ {}", document.display(), shown.line, shown.command);
            assert!(matches(&shown.output, &printed), "{place}\nprinted:\n{}", printed.join("\n"));
            run += 1;
        }
    }
    assert!(run > 10, "only {run} commands were found");
}
