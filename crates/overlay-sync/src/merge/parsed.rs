//! The trees of texts that were parsed a moment ago. A run looks at the same few texts many times, for each workspace
//! again, and a large text is compared much faster than parsed.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::file_type::FileType;
use super::tree::Tree;

/// From this size on the tree of a text is kept.
const LARGE: usize = 16 << 10;

/// The most texts whose trees are kept, and the most bytes that these may have together.
const TEXTS: usize = 16;
const BYTES: usize = 128 << 20;

struct ParsedText {
    kind: FileType,
    bytes: Vec<u8>,
    tree: Option<Rc<Tree>>,
}

thread_local! {
    /// The one that was used last comes first.
    static PARSED: RefCell<VecDeque<ParsedText>> = const { RefCell::new(VecDeque::new()) };
}

/// What `parse` gives for a text of this type.
pub fn tree(kind: FileType, bytes: &[u8], parse: impl Fn(&[u8]) -> Option<Tree>) -> Option<Rc<Tree>> {
    if bytes.len() < LARGE {
        return parse(bytes).map(Rc::new);
    }
    PARSED.with_borrow_mut(|parsed| {
        let text = match parsed.iter().position(|text| text.kind == kind && text.bytes == bytes) {
            Some(at) => parsed.remove(at)?,
            None => ParsedText { kind, bytes: bytes.to_vec(), tree: parse(bytes).map(Rc::new) },
        };
        let tree = text.tree.clone();
        parsed.push_front(text);
        let size = |parsed: &VecDeque<ParsedText>| parsed.iter().map(|text| text.bytes.len()).sum::<usize>();
        while parsed.len() > 1 && (parsed.len() > TEXTS || size(parsed) > BYTES) {
            parsed.pop_back();
        }
        tree
    })
}
