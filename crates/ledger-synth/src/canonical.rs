//! The canonical form of an event. Its hash is the id of the event, however and wherever the event is written.

use shopfloor_core::hash::Digest;

use crate::entry::Entry;
use crate::event::LedgerEvent;

/// The hash of an event's canonical form, which has the length of each part before it, so that no two events share a form.
pub fn id(event: &LedgerEvent) -> Digest {
    let out: &mut Vec<u8> = &mut Vec::new();
    let text = |out: &mut Vec<u8>, text: &str| {
        // No text is longer than its file.
        out.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    };
    let maybe = |out: &mut Vec<u8>, value: Option<&str>| {
        out.push(u8::from(value.is_some()));
        if let Some(value) = value {
            text(out, value);
        }
    };
    let meta = &event.meta;
    out.extend_from_slice(&meta.ts.as_nanosecond().to_le_bytes());
    text(out, &meta.agent);
    for value in [&meta.branch, &meta.kind, &meta.reason, &meta.title] {
        maybe(out, value.as_deref());
    }
    for entry in &event.entries {
        match entry {
            Entry::Text { section, text: value } | Entry::Item { section, text: value } => {
                out.push(u8::from(matches!(entry, Entry::Item { .. })));
                text(out, section.as_str());
                text(out, value);
            }
            Entry::Pair { section, key, value } => {
                out.push(2);
                text(out, section.as_str());
                text(out, key);
                maybe(out, value.as_deref());
            }
            Entry::Checkpoint(checkpoint) => {
                out.push(3);
                for part in [&checkpoint.phase, &checkpoint.status, &checkpoint.updated, &checkpoint.more] {
                    text(out, part);
                }
            }
        }
    }
    Digest::of(out)
}
