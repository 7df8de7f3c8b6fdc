//! What is true of every handoff file: no word of it is lost, and the event that it becomes can be written.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::event::LedgerEvent;

/// Lines of handoff files. `@` stands for a word that no other line has.
const LINES: [&str; 74] = [
    "",
    "---",
    "***",
    "# @",
    "# @ 2026-01-10",
    "## @",
    "### @ @",
    "#### @ #",
    "##",
    "## Done",
    "## Goal (@)",
    "## Key Decisions / @",
    "### Decision 2",
    "## Open Questions",
    "## Checkpoints",
    "## Resolved",
    "#@",
    "====",
    "- @",
    "* **@:** @",
    "+ @: @",
    "  - @",
    "    @",
    "\t@",
    "1. @",
    "- [x] @",
    "-",
    "• @",
    "@",
    "@ @:",
    "**@**",
    "**Goal:** @",
    "**Now (@):** @",
    "**@:** @",
    "**Decisions:**",
    "**@:**",
    "- Done: @",
    "Date: 2026-01-10",
    "Date: 2026-01-10 at noon @",
    "> **Agent:** @",
    "Branch: `@` → `@`",
    "> @",
    "| @ | @ |",
    "|---|---|",
    "```",
    "~~~yaml @",
    "<div>@</div>",
    "<!-- @ -->",
    "[@]: https://example.com/@",
    "`@: @`",
    "key@: []",
    "key@: {}",
    "key@:",
    "key@: @ #@",
    "key@: '@ #@' # @",
    "key@: \"@\\n@\"",
    "key@: [@, {k@: @}]",
    "key@: |",
    "key@: &a@ @",
    "goal: @",
    "now: >-",
    "decisions:",
    "decisions: {@: @}",
    "checkpoints:",
    "- phase: @",
    "  status: @",
    "  more@: @",
    "- decision: @",
    "done: [@, '@: @']",
    "open_questions:",
    "- {task: @, owner@: @}",
    "agent: @",
    "# @: @ # @",
    "title: @: @",
];

/// A file of such lines, and the words in it.
fn file(lines: &[usize], from: usize) -> (String, Vec<String>) {
    let (mut text, mut words) = (String::new(), Vec::new());
    for line in lines {
        for (at, part) in LINES[*line].split('@').enumerate() {
            if at > 0 {
                words.push(format!("w{}z", from + words.len()));
                text.push_str(words.last().map_or("", |word| word));
            }
            text.push_str(part);
        }
        text.push('\n');
    }
    (text, words)
}

/// The event that a handoff becomes.
fn event(handoff: &Handoff) -> LedgerEvent {
    let Handoff { branch, kind, reason, title, entries, .. } = handoff.clone();
    let agent = handoff.agent.clone().unwrap_or("a".into());
    let meta = Meta { ts: handoff.ts.unwrap_or_default(), agent, branch, kind, reason, title };
    let left = handoff.left_over(&meta);
    LedgerEvent::new(meta, [entries, left].concat())
}

fn proves(text: &str, words: &[String]) -> Result<(), TestCaseError> {
    let events: Vec<_> = Handoff::parse_all(Path::new("h.md"), text).iter().map(event).collect();
    let written: Vec<_> = events.iter().map(LedgerEvent::render).collect();
    for (event, written) in events.iter().zip(&written) {
        let read = LedgerEvent::parse(written);
        prop_assert_eq!(read.as_ref(), Ok(event), "{}", text);
    }
    for word in words {
        prop_assert!(written.concat().contains(word), "{} of\n{}\nis lost in\n{:#?}", word, text, events);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_word_is_lost(front in prop::collection::vec(0..LINES.len(), 0..6), body in prop::collection::vec(0..LINES.len(), 0..14), has_front: bool) {
        let (front, front_words) = file(&front, 0);
        let (body, body_words) = file(&body, front_words.len());
        let text = if has_front { format!("---\n{front}---\n{body}") } else { format!("{front}{body}") };
        proves(&text, &[front_words, body_words].concat())?;
    }

    /// Files of YAML are rare among the others.
    #[test]
    fn no_word_of_a_map_is_lost(lines in prop::collection::vec(48..LINES.len(), 0..8), has_front: bool) {
        let (map, words) = file(&lines, 0);
        let text = if has_front { format!("---\n{map}---\n") } else { map };
        proves(&text, &words)?;
    }
}
