//! Numbers in sentences.

/// `1 event`, `2 events`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
