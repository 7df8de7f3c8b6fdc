//! The picture of the README: a terminal that scrolls through the demo.

use std::fmt::Write;

use anyhow::{Result, bail};

use super::{Kind, Part, Stage};

/// The size of the terminal, in cells.
const COLUMNS: usize = 100;
const ROWS: usize = 28;
/// The size of a cell, in pixels of the picture, which is shown 880 pixels wide.
const CELL: (f64, usize) = (8.5, 19);
const MARGIN: usize = 15;
/// How long the picture shows each screen, in seconds.
const SECONDS: usize = 4;

/// A line of the terminal, with the number of the step that it belongs to.
struct Line {
    step: usize,
    kind: Kind,
    text: String,
}

/// Performs the demo, and draws it.
pub fn picture() -> Result<String> {
    let (mut lines, mut step) = (Vec::new(), 0);
    Stage::new(None)?.perform(|part| {
        step += usize::from(matches!(part, Part::Says(_)));
        lines.extend(part.lines().into_iter().map(|(kind, text)| Line { step, kind, text }));
        Ok(())
    })?;
    // The first line is the blank one before the first step.
    lines.remove(0);
    if let Some(wide) = lines.iter().find(|line| line.text.chars().count() > COLUMNS) {
        bail!("the demo has a line of more than {COLUMNS} characters: {}", wide.text);
    }
    Ok(svg(&lines))
}

/// The first line of each screen: the last rows up to the end of each step, without screens that would show nothing
/// new.
fn screens(lines: &[Line]) -> Vec<usize> {
    let ends = (1..=lines.len()).filter(|&end| lines.get(end).is_none_or(|next| next.step != lines[end - 1].step));
    let mut screens: Vec<usize> = ends.map(|end| end.saturating_sub(ROWS)).collect();
    screens.dedup();
    screens
}

fn svg(lines: &[Line]) -> String {
    let (cell_width, cell_height) = CELL;
    let width = (COLUMNS as f64 * cell_width) as usize + 2 * MARGIN;
    let height = ROWS * cell_height + 2 * MARGIN;
    let screens = screens(lines);
    let mut frames = String::new();
    for (number, first) in screens.iter().enumerate() {
        let percent = 100.0 * number as f64 / screens.len() as f64;
        // Writing to a string cannot fail.
        let _ = writeln!(frames, "{percent:.2}% {{ transform: translateY(-{}px) }}", first * cell_height);
    }
    let last = screens.last().copied().unwrap_or_default() * cell_height;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <title>A task given to two agents, from set-up to accepted work</title>\n\
         <style>\n\
         text {{ font: 14px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d5dae3; white-space: pre }}\n\
         .comment {{ fill: #7dcfff }}\n.command {{ fill: #ffffff; font-weight: 600 }}\n\
         .added {{ fill: #9ece6a }}\n.removed {{ fill: #f7768e }}\n\
         .film {{ animation: film {}s step-end infinite }}\n\
         @keyframes film {{\n{frames}}}\n\
         @media (prefers-reduced-motion: reduce) {{ .film {{ animation: none; transform: translateY(-{last}px) }} }}\n\
         </style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#15181e\"/>\n\
         <svg y=\"{MARGIN}\" width=\"{width}\" height=\"{}\"><g class=\"film\">\n",
        screens.len() * SECONDS,
        ROWS * cell_height,
    );
    for (row, line) in lines.iter().enumerate().filter(|(_, line)| !line.text.is_empty()) {
        let class = match line.kind {
            Kind::Comment => " class=\"comment\"",
            Kind::Command => " class=\"command\"",
            Kind::Added => " class=\"added\"",
            Kind::Removed => " class=\"removed\"",
            Kind::Plain => "",
        };
        let escaped = line.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let y = row * cell_height + 14;
        let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{y}\"{class} xml:space=\"preserve\">{escaped}</text>");
    }
    svg + "</g></svg>\n</svg>\n"
}
