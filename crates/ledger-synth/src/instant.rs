//! Instants as RFC 3339 writes them.

use std::ops::Range;

use jiff::{SignedDuration, Timestamp};

/// A time further ahead than this is the mistake of a clock.
pub const AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// Parses a date, a time and an offset, with `T` in either case or a blank between date and time.
pub fn parse(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let digits = |range: Range<usize>| bytes.get(range).is_some_and(|b| b.iter().all(u8::is_ascii_digit));
    let is = |at: usize, marks: &[u8]| bytes.get(at).is_some_and(|b| marks.contains(b));
    let date = digits(0..4) && is(4, b"-") && digits(5..7) && is(7, b"-") && digits(8..10) && is(10, b"Tt ");
    let time = digits(11..13) && is(13, b":") && digits(14..16) && is(16, b":") && digits(17..19);
    if !date || !time || !text.is_ascii() {
        return None;
    }
    let fraction = match text[19..].strip_prefix('.') {
        Some(rest) => 1 + rest.bytes().take_while(u8::is_ascii_digit).count(),
        None => 0,
    };
    let offset = &text[19 + fraction..];
    let is_offset = matches!(offset, "Z" | "z")
        || matches!(offset.as_bytes(), [b'+' | b'-', a, b, b':', c, d] if [a, b, c, d].iter().all(|b| b.is_ascii_digit()));
    let is_far =
        |at: Range<usize>, most: u8| offset.get(at).and_then(|n| n.parse::<u8>().ok()).is_some_and(|n| n > most);
    if fraction == 1 || fraction > 10 || !is_offset || is_far(1..3, 23) || is_far(4..6, 59) {
        return None;
    }
    // RFC 3339 writes -00:00 for an unknown time zone.
    let offset = if offset == "-00:00" { "Z" } else { offset };
    let at: Timestamp = format!("{}T{}{offset}", &text[..10], &text[11..19 + fraction]).to_uppercase().parse().ok()?;
    // In UTC it may fall into a year that RFC 3339 has no digits for.
    (0..=9999).contains(&jiff::tz::TimeZone::UTC.to_datetime(at).year()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_rfc_3339_and_nothing_else() {
        let utc = |text: &str| parse(text).map(|at| at.to_string());
        let same = "2026-01-10T13:00:00Z";
        for spelt in [
            same,
            "2026-01-10t13:00:00z",
            "2026-01-10 13:00:00Z",
            "2026-01-10T18:30:00+05:30",
            "2026-01-10T13:00:00.000Z",
            "2026-01-10T13:00:00-00:00",
        ] {
            assert_eq!(utc(spelt).as_deref(), Some(same), "{spelt}");
        }
        assert_eq!(utc("2026-01-10T13:00:00.500Z").as_deref(), Some("2026-01-10T13:00:00.5Z"));
        for bad in [
            "",
            "yesterday",
            "2026-01-10",
            "2026-01-10T13:00:00",
            "1768050000",
            "2026-02-30T13:00:00Z",
            "2026-01-10T25:00:00Z",
            "2026-01-10T13:00Z",
            "2026-01-10T13:00:00.Z",
            "2026-01-10T13:00:00Z[UTC]",
            "2026-01-10T13:00:00+0530",
            " 2026-01-10T13:00:00Z",
            "2026-01-10T13:00:00é",
            "2026-01-10T13:00:00+24:00",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
