//! `peek`: prints the screen of a worker's terminal.

use clap::Args as ClapArgs;
use serde_json::json;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::printable;

use crate::commands;
use crate::context::Context;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker
    pub worker: String,
    /// Print N lines above the screen too
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub lines: usize,
    /// Keep the colours of the screen, as escape sequences
    #[arg(long)]
    pub ansi: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let pane = commands::pane(ctx, &args.worker)?;
    let text = ctx.tmux()?.text(&pane, args.lines, args.ansi)?;
    if ctx.ui.is_json() {
        ctx.ui.json(&commands::about(&args.worker, json!({ "text": text.join("\n") })));
    } else if args.ansi {
        text.iter().for_each(|line| ctx.ui.line(coloured(line)));
    } else {
        // A worker's terminal is wider than most, so cut the lines.
        let width = ctx.ui.width().unwrap_or(usize::MAX);
        text.iter().for_each(|line| ctx.ui.line(printable(line).chars().take(width).collect::<String>()));
    }
    Ok(Exit::Done)
}

/// A line of a screen with its colours, and without any other sequence that a terminal obeys.
fn coloured(line: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(c) = rest.chars().next() {
        let Some(sequence) = rest.strip_prefix('\u{1b}') else {
            // What switches tmux's own characters for lines.
            let is_shift = matches!(c, '\u{e}' | '\u{f}');
            kept.push_str(&if is_shift { String::new() } else { printable(&rest[..c.len_utf8()]) });
            rest = &rest[c.len_utf8()..];
            continue;
        };
        let is_end = |c: char| ('@'..='~').contains(&c);
        let (body, after) = match sequence.chars().next() {
            Some('[') => sequence.split_at(sequence[1..].find(is_end).map_or(sequence.len(), |end| end + 2)),
            // A link; it ends in a bell or in an escape and a backslash.
            Some(']') => sequence.split_at(
                sequence
                    .find('\u{7}')
                    .map(|end| end + 1)
                    .or(sequence.find("\u{1b}\\").map(|end| end + 2))
                    .unwrap_or(sequence.len()),
            ),
            first => sequence.split_at(first.map_or(0, char::len_utf8)),
        };
        let is_colour = |body: &str| {
            body.strip_prefix('[')
                .and_then(|body| body.strip_suffix('m'))
                .is_some_and(|codes| codes.chars().all(|c| c.is_ascii_digit() || ";:".contains(c)))
        };
        if is_colour(body) {
            kept.push('\u{1b}');
            kept.push_str(body);
        }
        rest = after;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_are_left_of_what_a_terminal_obeys() {
        for (line, kept) in [
            ("\u{1b}[38;5;9ma\u{1b}[0mé", "\u{1b}[38;5;9ma\u{1b}[0mé"),
            ("a\u{1b}[2Jb\u{1b}]8;;http://x\u{7}c\u{1b}]0;t\u{1b}\\d\u{e}e\u{1b}(0f", "abcde0f"),
            ("\u{202e}\u{9b}2J\u{1b}", "\\u{202e}\\u{9b}2J"),
            ("\u{1b}[31", ""),
            ("\u{1b}]é", ""),
        ] {
            assert_eq!(coloured(line), kept);
        }
    }
}
