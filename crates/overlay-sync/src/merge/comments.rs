//! The comments of a text. A merge that writes a text anew must not lose them silently.

use std::collections::HashMap;

use super::file_type::{CommentMark, FileType};
use super::texts::MergeInput;

/// The comments that a merged text should have, and how often each: a comment that only one side changed is taken from
/// that side.
pub struct Comments {
    kind: FileType,
    wanted: HashMap<String, usize>,
}

impl Comments {
    pub fn wanted(input: &MergeInput<'_>) -> Comments {
        let kind = input.kind;
        let base = comments(kind, input.base.unwrap_or_default());
        let (overlay, workspace) = (comments(kind, input.overlay), comments(kind, input.workspace));
        let of = |side: &HashMap<String, usize>, comment: &String| side.get(comment).copied().unwrap_or(0);
        let merged = |comment: &String| match (of(&base, comment), of(&overlay, comment), of(&workspace, comment)) {
            (b, o, x) if o == b => x,
            (b, o, x) if x == b => o,
            (_, o, x) => o.max(x),
        };
        let all = overlay.keys().chain(workspace.keys());
        Comments { kind, wanted: all.map(|comment| (comment.clone(), merged(comment))).collect() }
    }

    pub fn missing_in(&self, bytes: &[u8]) -> usize {
        let found = comments(self.kind, bytes);
        self.wanted.iter().map(|(comment, n)| n.saturating_sub(found.get(comment).copied().unwrap_or(0))).sum()
    }

    pub fn is_exceeded_by(&self, bytes: &[u8]) -> bool {
        comments(self.kind, bytes).iter().any(|(comment, n)| n > self.wanted.get(comment).unwrap_or(&0))
    }
}

/// The comments of a text, and how often each occurs.
fn comments(kind: FileType, bytes: &[u8]) -> HashMap<String, usize> {
    let mark = kind.comment_mark();
    let text: Vec<char> = String::from_utf8_lossy(bytes).chars().collect();
    let (mut all, mut quote, mut at) = (HashMap::new(), None, 0);
    while at < text.len() {
        let (here, next, before) = (text[at], text.get(at + 1), at.checked_sub(1).map(|i| text[i]));
        let starts_word = before.is_none_or(|c| c.is_whitespace() || "[{(,:=".contains(c));
        let is_comment = match mark {
            CommentMark::Slashes => here == '/' && matches!(next, Some('/' | '*')),
            CommentMark::Hash => here == '#',
            CommentMark::HashAfterBlank => here == '#' && before.is_none_or(char::is_whitespace),
        };
        if let Some(open) = quote {
            at += usize::from(here == '\\' && open == '"');
            // At the end of a line an open quote turns out to be an apostrophe.
            if here == open || here == '\n' && mark != CommentMark::Slashes {
                quote = None;
            }
        } else if is_comment {
            let rest = &text[at..];
            let end = match next {
                Some('*') => rest.windows(2).skip(2).position(|w| w == ['*', '/']).map(|end| end + 4),
                _ => rest.iter().position(|c| *c == '\n'),
            };
            let end = end.unwrap_or(rest.len());
            *all.entry(rest[..end].iter().collect::<String>().trim_end().to_owned()).or_default() += 1;
            at += end;
            continue;
        } else if here == '"' || here == '\'' && mark != CommentMark::Slashes && starts_word {
            quote = Some(here);
        }
        at += 1;
    }
    all
}
