//! The plan of a promotion: the edited text of the repository's sweatfile.

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::hash::Digest;

use crate::layer::Layer;
use crate::review::{self, Change};
use crate::template;

#[derive(Debug)]
pub struct PromotionPlan {
    /// The bytes of the sweatfile before; none when there was no file.
    pub before: Option<Vec<u8>>,
    pub after: String,
    /// What a person should know about the values.
    pub notes: Vec<String>,
}

impl PromotionPlan {
    pub fn before(&self) -> &[u8] {
        self.before.as_deref().unwrap_or_default()
    }

    pub fn changes_nothing(&self) -> bool {
        String::from_utf8_lossy(self.before()) == self.after
    }

    pub fn digest_before(&self) -> Digest {
        Digest::of(String::from_utf8_lossy(self.before()).as_bytes())
    }
}

/// Edits the text of `layer` so that it sets each changed variable; exit 2 when one of them cannot be promoted.
pub fn plan(layer: &Layer, changes: &[&Change]) -> Result<PromotionPlan> {
    let before = layer.text.as_ref().map(|t| t.bytes.clone());
    let is_template = layer.text.as_ref().is_some_and(|t| t.parsed.sweatfile.template);
    let mut after = String::from_utf8_lossy(before.as_deref().unwrap_or_default()).into_owned();
    let mut notes = Vec::new();
    for change in changes {
        let refuse = |why: &str| Failure::usage(format!("cannot promote {}: {why}", change.key));
        let value = change.new.text().ok_or_else(|| refuse("only a shell can evaluate its value"))?;
        if is_template && template::has_placeholder(value) {
            return Err(refuse("its value would be taken for a placeholder in a sweatfile with `template = true`"));
        }
        if value.is_empty() {
            let key = &change.key;
            notes.push(format!("{key} = \"\" in a sweatfile removes an inherited value and does not set an empty one"));
        }
        after = review::promote(&after, &change.key, value).map_err(|why| {
            Failure::malformed(format!("cannot edit {}: {why}", layer.path.display())).hint("edit it by hand")
        })?;
    }
    Ok(PromotionPlan { before, after, notes })
}
