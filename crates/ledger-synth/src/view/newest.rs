//! Entries of a page for readers: the newest of many, and those that it leaves out.

use std::cmp::Reverse;

use super::write::more;
use crate::event_time::EventTime;
use crate::joined_ledger::Quote;

/// No entry is shorter than its text and the mark before it.
const MARK: usize = 3;

/// The newest texts that `room` bytes can hold, in their order, and the others. A text that alone would take a quarter
/// of the room is one of the others.
pub fn newest<'j, T: Clone>(items: &[T], quote: impl Fn(&T) -> Quote<'j>, room: usize) -> (Vec<T>, LeftOut) {
    let size = |item: &T| quote(item).text.len() + MARK;
    let mut left = LeftOut::default();
    if items.iter().map(size).sum::<usize>() <= room {
        return (items.to_vec(), left);
    }
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|at| {
        let Quote { text, by } = quote(&items[*at]);
        (Reverse(by.ts()), by.agent(), text)
    });
    let (mut keeps, mut used, mut is_full) = (vec![false; items.len()], 0, false);
    for at in order {
        let size = size(&items[at]);
        is_full |= size <= room / 4 && used + size > room;
        if is_full || size > room / 4 {
            left.add(quote(&items[at]).by.ts());
        } else {
            used += size;
            keeps[at] = true;
        }
    }
    let kept = items.iter().zip(keeps).filter(|(_, is_kept)| *is_kept).map(|(item, _)| item.clone());
    (kept.collect(), left)
}

/// A rendered entry, and when it was said.
pub struct PageEntry {
    pub text: String,
    pub at: EventTime,
}

/// The entries that a page leaves out.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeftOut {
    count: usize,
    oldest: Option<EventTime>,
}

impl LeftOut {
    pub fn add(&mut self, at: EventTime) {
        self.count += 1;
        self.oldest = Some(self.oldest.map_or(at, |oldest| oldest.min(at)));
    }

    /// Both together.
    pub fn and(self, other: LeftOut) -> LeftOut {
        let oldest = [self.oldest, other.oldest].into_iter().flatten().min();
        LeftOut { count: self.count + other.count, oldest }
    }

    pub fn is_none(&self) -> bool {
        self.count == 0
    }

    /// Writes how many there are, which are all older than what is shown, and the command that shows them.
    pub fn write_earlier(&self, out: &mut String) {
        if let Some(oldest) = self.oldest {
            let (count, day) = (self.count, oldest.day());
            out.push_str(&format!("\n… {count} more, earlier ones: `ledger-synth notes --since {day}`\n"));
        }
    }

    /// Writes how many there are, and the command that shows them: `notes` if it is not this one.
    pub fn write(&self, out: &mut String, command: Option<&str>) {
        let notes = || format!("notes --since {}", self.oldest.unwrap_or_default().day());
        more(out, self.count, &command.map_or_else(notes, str::to_owned));
    }
}
