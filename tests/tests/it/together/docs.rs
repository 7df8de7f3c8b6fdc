//! Every console block in the README and in `docs/` does what it shows, and every command that a document names exists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::support::world::{Repo, TOOLS, World, project};

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

/// The pieces of a document that are code: blocks line by line, and spans.
fn code(text: &str) -> Vec<String> {
    let (mut all, mut inside) = (Vec::new(), false);
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if inside {
            all.push(line.to_owned());
        } else {
            prose += line;
            prose += " ";
        }
    }
    all.extend(prose.split('`').skip(1).step_by(2).map(str::to_owned));
    all
}

/// The commands of our tools in a piece of code: the words after the tool's name, up to what a shell reads as the end,
/// without quoted ones.
fn ours(code: &str) -> Vec<Vec<String>> {
    let is_end = |word: &str| ["|", "||", "&&", "&", ">", "2>", "then", "do", "--"].contains(&word);
    let mut all = Vec::new();
    let mut at = 0;
    for word in code.split_whitespace() {
        let start = at + code[at..].find(word).unwrap_or_default();
        let before = code[..start].split_whitespace().next_back();
        at = start + word.len();
        // A word before it that is no separator, no assignment and no launcher makes it an argument.
        let is_command = before.is_none_or(|before| {
            is_end(before) || before.contains('=') || before.ends_with([';', '(', '>', ':']) || before == "$"
        });
        let tool = word.trim_start_matches(['"', '\'', '$', '(']);
        if is_command && TOOLS.contains(&tool) {
            let rest = unquoted(&code[at..]);
            let rest = rest.split_whitespace().take_while(|word| !is_end(word) && !word.starts_with(['>', '#', '|']));
            let rest = rest.map(|word| word.trim_end_matches([';', ')', '"', '.', '\'']).to_owned());
            all.push([tool.to_owned()].into_iter().chain(rest).collect());
        }
    }
    all
}

/// A text without its quoted parts.
fn unquoted(text: &str) -> String {
    let (mut plain, mut quote) = (String::new(), None);
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if ['"', '\''].contains(&c) && text[at + 1..].contains(c) => quote = Some(c),
            None => plain.push(c),
        }
    }
    plain
}

/// The names of subcommands, and the options, in a help page.
fn named(help: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let subcommands = lines.filter_map(|line| Some(line.strip_prefix("  ")?.split(' ').next()?.to_owned()));
    let is_end = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
    let options = help.split(is_end).filter(|word| word.starts_with('-') && word.len() > 1).map(str::to_owned);
    (subcommands.filter(|name| !name.is_empty()).collect(), options.collect())
}

/// What is wrong with a command by the help pages: its subcommand, or an option.
fn faults(command: &[String], mut help: impl FnMut(&[&str]) -> String) -> Vec<String> {
    let mut page = vec![command[0].as_str()];
    let (mut subcommands, mut options) = named(&help(&page));
    let takes_nothing_else = !["sweatfile-apply", "ledger-synth"].contains(&page[0]);
    let mut faults = Vec::new();
    for word in &command[1..] {
        let name = word.split(['=', ',']).next().unwrap_or_default();
        if subcommands.contains(word) {
            page.push(word);
            let (more, own) = named(&help(&page));
            subcommands = more;
            options.extend(own);
        } else if name.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c == '-' || c.is_alphabetic())) {
            faults.extend((!options.contains(name)).then(|| format!("no option {name}")));
        }
    }
    let first = command[1..].iter().find(|word| !word.starts_with('-'));
    let is_word = |word: &String| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    if page.len() == 1 && takes_nothing_else && first.is_some_and(is_word) {
        faults.push("no such command".to_owned());
    }
    faults
}

#[test]
fn every_command_that_a_document_names_exists() {
    let w = World::new();
    let app = w.at(w.path("tmp"));
    let mut pages: BTreeMap<String, String> = BTreeMap::new();
    let mut help = |words: &[&str]| -> String {
        let page = pages.entry(words.join(" "));
        page.or_insert_with(|| app.run(words[0], &[&words[1..], &["--help"]].concat()).exit(0).stdout.clone()).clone()
    };
    let more = ["llms.txt", "CONTRIBUTING.md"].map(|name| project().join(name));
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for document in documents().into_iter().chain(files_below(&project().join("skills"))).chain(more) {
        let text = std::fs::read_to_string(&document).unwrap();
        for command in code(&text).iter().flat_map(|piece| ours(piece)) {
            seen += 1;
            for fault in faults(&command, &mut help) {
                wrong.push(format!("{}: {}: {fault}", document.display(), command.join(" ")));
            }
        }
    }
    assert!(seen > 200, "only {seen} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every file below a directory.
fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(files_below(&path)),
            false => files.push(path),
        }
    }
    files
}

/// The kinds of error in a source text: the string after `Failure::new(Exit::X,`, and the words of a tool's own list.
fn kinds(text: &str) -> Vec<String> {
    let quoted = |text: &str| text.split('"').nth(1).map(str::to_owned);
    let calls = text.split("Failure::new(").skip(1).filter_map(|call| {
        let (exit, rest) = call.split_once(',')?;
        let literal = exit.trim().starts_with("Exit::") && rest.trim_start().starts_with('"');
        literal.then(|| quoted(rest)).flatten()
    });
    let words = text.split("FailureKind::new(").skip(1).filter(|word| word.starts_with('"')).filter_map(quoted);
    calls.chain(words).collect()
}

#[test]
fn every_kind_of_error_has_a_row() {
    let page = std::fs::read_to_string(project().join("docs/troubleshooting.md")).unwrap();
    let mut seen = BTreeSet::new();
    for file in files_below(&project().join("crates")).iter().filter(|path| path.extension().is_some_and(|e| e == "rs"))
    {
        seen.extend(kinds(&std::fs::read_to_string(file).unwrap()));
    }
    assert!(seen.len() > 60 && seen.contains("unmerged") && seen.contains("overlay_gone"), "{seen:?}");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let missing: Vec<_> =
        seen.iter().filter(|kind| !rows.iter().any(|row| row.contains(&format!("`{kind}`")))).collect();
    assert!(missing.is_empty(), "docs/troubleshooting.md has no row for {missing:?}");
}
