//! What an agent did on a day.

use std::collections::HashMap;

use jiff::civil::Date;

use super::escape::escaped;
use super::write::strong;
use crate::joined_ledger::Quote;
use crate::short_id::ShortId;

/// The most branches and events in the line of a group.
const SHOWN: usize = 3;

/// The items that an agent named on a day, newest first, under a line that says so.
pub struct Group<'j> {
    pub day: Date,
    pub agent: &'j str,
    pub quotes: Vec<Quote<'j>>,
}

impl<'j> Group<'j> {
    /// All groups, newest first.
    pub fn all(items: &[Quote<'j>]) -> Vec<Group<'j>> {
        let mut groups: HashMap<(Date, &str), Vec<Quote<'j>>> = HashMap::new();
        for quote in items {
            groups.entry((quote.by.ts().day(), quote.by.agent())).or_default().push(*quote);
        }
        let mut groups: Vec<_> = groups
            .into_iter()
            .map(|((day, agent), mut quotes)| {
                quotes.sort_unstable_by(|a, b| (b.by.ts(), a.text).cmp(&(a.by.ts(), b.text)));
                Group { day, agent, quotes }
            })
            .collect();
        let rank = |group: &Group<'j>| (group.day, group.quotes.first().map(|quote| quote.by.ts()));
        groups.sort_unstable_by(|a, b| rank(b).cmp(&rank(a)).then_with(|| a.agent.cmp(b.agent)));
        groups
    }

    /// The line above the items: the agent, its branches and its events.
    pub fn line(&self) -> String {
        let (mut branches, mut events) = (Vec::new(), Vec::new());
        for quote in &self.quotes {
            let branch = quote.by.branch().map(|branch| format!("`{}`", escaped(branch, "`<")));
            branches.extend(branch.filter(|branch| branches.len() <= SHOWN && !branches.contains(branch)));
            let event = ShortId::of_event(quote.by.id).to_string();
            if events.len() <= SHOWN && !events.contains(&event) {
                events.push(event);
            }
        }
        let list = |mut names: Vec<String>| {
            if names.len() > SHOWN {
                names.truncate(SHOWN);
                names.push("…".to_owned());
            }
            names.join(", ")
        };
        let on = if branches.is_empty() { String::new() } else { format!(" on {}", list(branches)) };
        format!("\n{}{on} ({}):\n", strong(self.agent), list(events))
    }
}
