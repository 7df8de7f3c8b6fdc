//! The newest of many texts, for places that cannot hold all of them.

use super::contents::Told;
use super::page_entry::LeftOut;
use crate::instant::EventTime;

/// No entry is shorter than its text and the mark before it.
const MARK: usize = 3;

/// The newest texts that `room` bytes can hold, in their order, and the others. A text that alone would take a quarter
/// of the room is one of the others.
pub fn newest<'j, T: Clone>(items: &[T], told: impl Fn(&T) -> Told<'j>, room: usize) -> (Vec<T>, LeftOut) {
    let size = |item: &T| told(item).text.len() + MARK;
    let mut left = LeftOut::default();
    if items.iter().map(size).sum::<usize>() <= room {
        return (items.to_vec(), left);
    }
    // The time decides almost always, so it is at hand.
    let by_rank = |a: &(EventTime, u32), b: &(EventTime, u32)| {
        let rest = |at: u32| {
            let Told { text, by } = told(&items[at as usize]);
            (by.agent, text)
        };
        b.0.cmp(&a.0).then_with(|| rest(a.1).cmp(&rest(b.1)))
    };
    let mut order: Vec<(EventTime, u32)> = items.iter().map(|item| told(item).by.ts).zip(0..).collect();
    // More than these cannot be shown, however short they are.
    let most = room / MARK;
    if order.len() > most {
        order.select_nth_unstable_by(most, by_rank);
        order[most..].iter().for_each(|(ts, _)| left.add(*ts));
        order.truncate(most);
    }
    order.sort_unstable_by(by_rank);
    let (mut keeps, mut used, mut is_full) = (vec![false; items.len()], 0, false);
    for (ts, at) in order {
        let at = at as usize;
        let size = size(&items[at]);
        is_full |= size <= room / 4 && used + size > room;
        if is_full || size > room / 4 {
            left.add(ts);
        } else {
            used += size;
            keeps[at] = true;
        }
    }
    let kept = items.iter().zip(keeps).filter(|(_, is_kept)| *is_kept).map(|(item, _)| item.clone());
    (kept.collect(), left)
}
