//! The man pages say what `--help` says. `cargo xtask gen` writes both.

use std::fs;
use std::path::PathBuf;

use crate::support::world::project;

/// The pages: their names without `.1`, and their texts without the marks of a font.
fn pages() -> Vec<(String, String)> {
    let entries = fs::read_dir(project().join("docs/cli/man")).unwrap();
    let files =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "1"));
    let page = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let text = ["\\fB", "\\fI", "\\fR"].iter().fold(text, |text, font| text.replace(font, ""));
        (path.file_stem().unwrap().to_string_lossy().into_owned(), text.replace("\\-", "-"))
    };
    files.map(page).collect()
}

/// The lines of a section.
fn section<'p>(page: &'p str, title: &str) -> Vec<&'p str> {
    let start = page.split(&format!(".SH {title}\n")).nth(1).unwrap_or_default();
    start.lines().take_while(|line| !line.starts_with(".SH")).filter(|line| *line != ".br").collect()
}

#[test]
fn every_option_of_a_man_page_has_a_description() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for (name, page) in pages() {
        let mut lines = page.lines();
        while let Some(line) = lines.next() {
            if line != ".TP" {
                continue;
            }
            seen += 1;
            let head = lines.next().unwrap_or_default();
            // The next line is a macro, or nothing, where clap_mangen leaves the text out.
            if lines.next().is_none_or(|text| text.is_empty() || text.starts_with('.')) {
                wrong.push(format!("{name}: {head}"));
            }
        }
    }
    assert!(seen > 1000, "only {seen} options");
    assert!(wrong.is_empty(), "{} without a description:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_synopsis_is_the_usage_of_the_help() {
    let pages = pages();
    let mut seen = 0;
    for entry in fs::read_dir(project().join("docs/cli")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(reference) = fs::read_to_string(&path) else { continue };
        for help in reference.split("\n## ").skip(1) {
            let name = help.lines().next().unwrap().replace(' ', "-");
            let mut usage = help.lines().skip_while(|line| !line.starts_with("Usage: "));
            let usage: Vec<&str> = usage.by_ref().take_while(|line| !line.is_empty()).collect();
            let usage: Vec<&str> = usage.iter().map(|line| line.trim_start_matches("Usage:").trim()).collect();
            let (_, page) = pages.iter().find(|(page, _)| *page == name).unwrap_or_else(|| panic!("no page {name}"));
            assert_eq!(section(page, "SYNOPSIS"), usage, "{name}");
            seen += 1;
        }
    }
    assert_eq!(seen, pages.len());
}

#[test]
fn a_man_page_refers_to_pages_that_there_are() {
    let pages = pages();
    for (name, page) in &pages {
        for (before, _) in section(page, "SUBCOMMANDS").iter().filter_map(|line| line.split_once("(1)")) {
            assert!(pages.iter().any(|(other, _)| other == before), "{name} refers to {before}");
        }
        let tool = pages.iter().find(|(tool, _)| name == tool || name.starts_with(&format!("{tool}-"))).unwrap();
        let version = concat!(" ", env!("CARGO_PKG_VERSION"), "\"");
        let title = page.lines().find(|line| line.starts_with(".TH ")).unwrap();
        assert!(title.contains(version), "{name}, of {}: {title}", tool.0);
    }
}
