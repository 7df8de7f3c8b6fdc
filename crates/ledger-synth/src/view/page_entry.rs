//! Entries of a page for readers, and those that it leaves out.

use super::write::more;
use crate::event_time::EventTime;

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
