//! The newest of many texts, for places that cannot hold all of them.

use std::cmp::Reverse;

use super::contents::Told;
use super::page_entry::LeftOut;

/// No entry is shorter than its text and the mark before it.
const MARK: usize = 3;

/// The newest texts that `room` bytes can hold, in their order, and the others. A text that alone would take a quarter
/// of the room is one of the others.
pub fn newest<'j, T>(items: Vec<T>, told: impl Fn(&T) -> Told<'j>, room: usize) -> (Vec<T>, LeftOut) {
    let size = |item: &T| told(item).text.len() + MARK;
    let mut left = LeftOut::default();
    if items.iter().map(size).sum::<usize>() <= room {
        return (items, left);
    }
    let rank = |at: &usize| {
        let Told { text, by } = told(&items[*at]);
        (Reverse(by.ts), &*by.agent, text)
    };
    let mut order: Vec<usize> = (0..items.len()).collect();
    // More than these cannot be shown, however short they are.
    let most = room / MARK;
    if order.len() > most {
        order.select_nth_unstable_by(most, |a, b| rank(a).cmp(&rank(b)));
        order[most..].iter().for_each(|at| left.add(told(&items[*at]).by.ts));
        order.truncate(most);
    }
    order.sort_unstable_by(|a, b| rank(a).cmp(&rank(b)));
    let (mut keeps, mut used, mut is_full) = (vec![false; items.len()], 0, false);
    for at in order {
        let size = size(&items[at]);
        is_full |= size <= room / 4 && used + size > room;
        if is_full || size > room / 4 {
            left.add(told(&items[at]).by.ts);
        } else {
            used += size;
            keeps[at] = true;
        }
    }
    let mut keeps = keeps.into_iter();
    (items.into_iter().filter(|_| keeps.next().unwrap_or(false)).collect(), left)
}
