//! The newest of many texts, for places that cannot hold all of them.

use std::cmp::Reverse;

use super::page_entry::LeftOut;
use crate::join::Quote;

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
