//! Which open question a person or an agent names.

use crate::short_id::ShortId;
use crate::view::unnumbered;

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named<'q> {
    One(&'q str),
    None,
    /// It fits this many.
    Several(usize),
}

/// Finds the question of this text, with or without a number before it, or with an id that begins so.
pub fn named<'q>(open: &[&'q str], name: &str) -> Named<'q> {
    let found = |is_it: &dyn Fn(&str) -> bool| {
        let mut found: Vec<&'q str> = open.iter().copied().filter(|text| is_it(text)).collect();
        found.dedup();
        match found.as_slice() {
            [] => None,
            [one] => Some(Named::One(one)),
            several => Some(Named::Several(several.len())),
        }
    };
    let by_text = found(&|text| text == name).or_else(|| found(&|text| unnumbered(text) == unnumbered(name)));
    by_text.or_else(|| found(&|text| ShortId::of_question(text).begins_with(name))).unwrap_or(Named::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_named_by_text_without_its_number_or_by_id() {
        let open: Vec<String> = (1..=40).map(|n| format!("{n}. Question {n}?")).collect();
        let open: Vec<&str> = open.iter().map(String::as_str).collect();
        assert_eq!(named(&open, "7. Question 7?"), Named::One("7. Question 7?"));
        assert_eq!(named(&open, "Question 7?"), Named::One("7. Question 7?"));
        assert_eq!(named(&open, "8) Question 7?"), Named::One("7. Question 7?"));
        let id = ShortId::of_question("7. Question 7?");
        assert_eq!(named(&open, &id.as_str()[..7]), Named::One("7. Question 7?"));
        assert_eq!(named(&open, "Question"), Named::None);
        let alike = ["1. Why?", "2. Why?"];
        assert_eq!((named(&alike, "Why?"), named(&alike, "1. Why?")), (Named::Several(2), Named::One("1. Why?")));
        // 40 ids share 32 first letters.
        assert!(
            open.iter()
                .any(|text| matches!(named(&open, &ShortId::of_question(text).as_str()[..1]), Named::Several(_)))
        );
    }
}
