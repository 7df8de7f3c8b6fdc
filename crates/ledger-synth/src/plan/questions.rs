//! Which open question a person or an agent names.

use crate::short_id::ShortId;
use crate::view::unnumbered;

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named<'q> {
    One(&'q str),
    None,
    /// It is the beginning of the ids of this many.
    Several(usize),
}

/// Finds the question of this text, with or without a number before it, or with an id that begins so.
pub fn named<'q>(open: &'q [String], name: &str) -> Named<'q> {
    let find = |is_it: &dyn Fn(&str) -> bool| open.iter().map(String::as_str).find(|text| is_it(text));
    let by_text = find(&|text| text == name).or_else(|| find(&|text| unnumbered(text) == unnumbered(name)));
    if let Some(text) = by_text {
        return Named::One(text);
    }
    let by_id: Vec<&str> =
        open.iter().map(String::as_str).filter(|text| ShortId::of_question(text).begins_with(name)).collect();
    match by_id.as_slice() {
        [] => Named::None,
        [one] => Named::One(one),
        several => Named::Several(several.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_named_by_text_without_its_number_or_by_id() {
        let open: Vec<String> = (1..=40).map(|n| format!("{n}. Question {n}?")).collect();
        assert_eq!(named(&open, "7. Question 7?"), Named::One("7. Question 7?"));
        assert_eq!(named(&open, "Question 7?"), Named::One("7. Question 7?"));
        assert_eq!(named(&open, "8) Question 7?"), Named::One("7. Question 7?"));
        let id = ShortId::of_question("7. Question 7?");
        assert_eq!(named(&open, &id.as_str()[..7]), Named::One("7. Question 7?"));
        assert_eq!(named(&open, "Question"), Named::None);
        // 40 ids share 32 first letters.
        assert!(
            open.iter()
                .any(|text| matches!(named(&open, &ShortId::of_question(text).as_str()[..1]), Named::Several(_)))
        );
    }
}
