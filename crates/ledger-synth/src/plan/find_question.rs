//! Which open question a person or an agent names.

use crate::short_id::ShortId;
use crate::view::unnumbered;

/// Finds the question of this text, with or without a number before it, or with an id that begins so. Err: it fits this
/// many.
pub fn named<'q>(open: &[&'q str], name: &str) -> Result<&'q str, usize> {
    let is_text = |text: &str| text == name;
    let is_numbered = |text: &str| unnumbered(text) == unnumbered(name);
    let is_id = |text: &str| ShortId::of_question(text).begins_with(name);
    let ways: [&dyn Fn(&str) -> bool; 3] = [&is_text, &is_numbered, &is_id];
    for is_it in ways {
        let mut found: Vec<&'q str> = open.iter().copied().filter(|text| is_it(text)).collect();
        found.dedup();
        match found.as_slice() {
            [] => {}
            [one] => return Ok(one),
            several => return Err(several.len()),
        }
    }
    Err(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_named_by_text_without_its_number_or_by_id() {
        let open: Vec<String> = (1..=40).map(|n| format!("{n}. Question {n}?")).collect();
        let open: Vec<&str> = open.iter().map(String::as_str).collect();
        assert_eq!(named(&open, "7. Question 7?"), Ok("7. Question 7?"));
        assert_eq!(named(&open, "Question 7?"), Ok("7. Question 7?"));
        assert_eq!(named(&open, "8) Question 7?"), Ok("7. Question 7?"));
        let id = ShortId::of_question("7. Question 7?");
        assert_eq!(named(&open, &id.as_str()[..7]), Ok("7. Question 7?"));
        assert_eq!(named(&open, "Question"), Err(0));
        let alike = ["1. Why?", "2. Why?"];
        assert_eq!((named(&alike, "Why?"), named(&alike, "1. Why?")), (Err(2), Ok("1. Why?")));
        // 40 ids share 32 first letters.
        assert!(
            open.iter()
                .any(|text| named(&open, &ShortId::of_question(text).as_str()[..1]).is_err_and(|count| count > 1))
        );
    }
}
