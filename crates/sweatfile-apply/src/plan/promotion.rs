//! The plan of a promotion: the edited text of the repository's sweatfile.

use shopfloor_core::error::{Failure, Result};

use crate::layer::Layer;
use crate::review::{self, Change};
use crate::template;
use crate::variable;

#[derive(Debug)]
pub struct PromotionPlan {
    /// The bytes of the sweatfile before; none when there was no file.
    pub before: Option<Vec<u8>>,
    pub after: String,
    /// The variables and their values.
    pub values: Vec<(String, String)>,
    /// What a person should know about the values.
    pub notes: Vec<String>,
}

impl PromotionPlan {
    pub fn changes_nothing(&self) -> bool {
        self.before.as_deref().unwrap_or_default() == self.after.as_bytes()
    }
}

/// Edits the text of `layer` so that it sets each changed variable; exit 2 when one of them cannot be promoted.
pub fn plan(layer: &Layer, changes: &[&Change]) -> Result<PromotionPlan> {
    let before = layer.text.as_ref().map(|t| t.bytes.clone());
    let is_template = layer.text.as_ref().is_some_and(|t| t.parsed.sweatfile.template);
    let mut after = String::from_utf8_lossy(before.as_deref().unwrap_or_default()).into_owned();
    let (mut values, mut notes) = (Vec::new(), Vec::new());
    for change in changes {
        let key = &change.key;
        let refuse = |why: &str| Failure::usage(format!("cannot promote {key}: {why}"));
        let value = &variable::common_value(&change.line).map_err(|why| refuse(&why))?;
        if is_template && template::has_placeholder(value) {
            return Err(refuse("its value would be taken for a placeholder in a sweatfile with `template = true`"));
        }
        if value.is_empty() {
            notes.push(format!("{key} = \"\" in a sweatfile removes an inherited value and does not set an empty one"));
        }
        after = review::promote(&after, key, value).map_err(|why| {
            Failure::malformed(format!("cannot edit {}: {why}", layer.path.display())).hint("edit it by hand")
        })?;
        values.push((key.clone(), value.clone()));
    }
    Ok(PromotionPlan { before, after, values, notes })
}
