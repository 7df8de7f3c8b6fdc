//! The picture of the README: a terminal in which the demo appears, one command after the other.

use std::fmt::Write;

use anyhow::{Result, bail};

use super::{Kind, Part, Stage};

/// The width of the terminal, in cells.
const COLUMNS: usize = 96;
/// The size of a cell, in pixels of the picture, which is shown 880 pixels wide.
const CELL: (f64, usize) = (8.5, 19);
const MARGIN: usize = 15;
/// How long it takes, in seconds, and the part of that in which the last lines are shown.
const SECONDS: usize = 12;
const REST: f64 = 0.2;
/// How many steps the first frame shows, which is what mail and any still picture show: the agents.
const FIRST: usize = 2;

/// A line of the terminal, with the numbers of its step and of the part that appears at once.
struct Line {
    step: usize,
    part: usize,
    kind: Kind,
    text: String,
}

/// Performs the demo, and draws it.
pub fn picture() -> Result<String> {
    let (mut lines, mut step, mut number) = (Vec::new(), 0, 0);
    Stage::new(None)?.perform(|part| {
        step += usize::from(matches!(part, Part::Says(_)));
        // What a command prints appears with it.
        number += usize::from(!matches!(part, Part::Prints(_)));
        lines.extend(part.lines().into_iter().map(|(kind, text)| Line { step, part: number, kind, text }));
        Ok(())
    })?;
    // The first line is the blank one before the first step.
    lines.remove(0);
    if let Some(wide) = lines.iter().find(|line| line.text.chars().count() > COLUMNS) {
        bail!("the demo has a line of more than {COLUMNS} characters: {}", wide.text);
    }
    Ok(svg(&lines))
}

fn svg(lines: &[Line]) -> String {
    let (cell_width, cell_height) = CELL;
    let width = (COLUMNS as f64 * cell_width) as usize + 2 * MARGIN;
    let height = lines.len() * cell_height + 2 * MARGIN;
    let later: Vec<usize> = lines.iter().filter(|line| line.step > FIRST).map(|line| line.part).collect();
    let (from, to) = (later.first().copied().unwrap_or_default(), later.last().copied().unwrap_or_default());
    let mut frames = String::new();
    for part in from..=to {
        let percent = 100.0 * (1.0 - REST) * (part - from + 1) as f64 / (to - from + 1) as f64;
        // Writing to a string cannot fail.
        let _ = writeln!(
            frames,
            ".p{part} {{ animation: p{part} {SECONDS}s step-end infinite }}\n\
             @keyframes p{part} {{ 0% {{ opacity: 0 }} {percent:.1}% {{ opacity: 1 }} }}"
        );
    }
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <title>Two agents, from a task to landed work</title>\n\
         <style>\n\
         text {{ font: 14px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d5dae3; white-space: pre }}\n\
         .comment {{ fill: #7dcfff }}\n.command {{ fill: #ffffff; font-weight: 600 }}\n\
         .added {{ fill: #9ece6a }}\n.removed {{ fill: #f7768e }}\n\
         {frames}\
         @media (prefers-reduced-motion: reduce) {{ text {{ animation: none !important }} }}\n\
         </style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#15181e\"/>\n",
    );
    for (row, line) in lines.iter().enumerate().filter(|(_, line)| !line.text.is_empty()) {
        let kind = match line.kind {
            Kind::Comment => "comment",
            Kind::Command => "command",
            Kind::Added => "added",
            Kind::Removed => "removed",
            Kind::Plain => "plain",
        };
        let escaped = line.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let (y, part) = (MARGIN + row * cell_height + 14, line.part);
        let _ = writeln!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{y}\" class=\"{kind} p{part}\" xml:space=\"preserve\">{escaped}</text>"
        );
    }
    svg + "</svg>\n"
}
