//! Instants as RFC 3339 writes them.

use std::fmt;

use jiff::civil::{Date, DateTime, date};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// A time further ahead than this is the mistake of a clock.
pub const AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// An instant of any year that RFC 3339 can write, which are a few more than [`Timestamp`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventTime(DateTime);

const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

impl EventTime {
    pub const MIN: EventTime = EventTime(date(0, 1, 1).at(0, 0, 0, 0));
    pub const MAX: EventTime = EventTime(date(9999, 12, 31).at(23, 59, 59, 999_999_999));

    /// None: the year is not one that RFC 3339 can write.
    fn new(at: DateTime) -> Option<EventTime> {
        Some(EventTime(at)).filter(|at| (EventTime::MIN..=EventTime::MAX).contains(at))
    }

    /// The day in UTC.
    pub fn day(self) -> Date {
        self.0.date()
    }

    pub fn checked_add(self, step: SignedDuration) -> Option<EventTime> {
        EventTime::new(self.0.checked_add(step).ok()?)
    }

    pub fn checked_sub(self, step: SignedDuration) -> Option<EventTime> {
        EventTime::new(self.0.checked_sub(step).ok()?)
    }

    /// Nanoseconds since 1970.
    pub fn as_nanosecond(self) -> i128 {
        self.0.duration_since(EPOCH).as_nanos()
    }

    /// The form of answers: with milliseconds.
    pub fn render(self) -> String {
        format!("{:.3}Z", self.0)
    }
}

impl Default for EventTime {
    fn default() -> EventTime {
        EventTime(EPOCH)
    }
}

/// In RFC 3339, in UTC, with the digits of a fraction that are needed.
impl fmt::Display for EventTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}Z", self.0)
    }
}

impl From<Timestamp> for EventTime {
    fn from(at: Timestamp) -> EventTime {
        EventTime::new(TimeZone::UTC.to_datetime(at)).unwrap_or_default()
    }
}

/// Parses a date, a time and an offset, with `T` in either case or a blank between date and time.
pub fn parse(text: &str) -> Option<EventTime> {
    let (at, rest) = text.as_bytes().split_first_chunk::<19>()?;
    let two = |from: usize| Some(number(&at[from..from + 2])? as i8);
    let (fraction, offset) = match rest {
        [b'.', rest @ ..] => rest.split_at(rest.iter().take_while(|byte| byte.is_ascii_digit()).count()),
        _ => (&b"0"[..], rest),
    };
    let is_time = [4, 7, 13, 16].map(|mark| at[mark]) == *b"--::" && matches!(at[10], b'T' | b't' | b' ');
    if !is_time || fraction.is_empty() {
        return None;
    }
    // Digits behind the ninth do not count, and missing ones are zeros.
    let fraction = &fraction[..fraction.len().min(9)];
    let nanos = number(fraction)? * 10_i32.pow(9 - fraction.len() as u32);
    // A leap second counts as the second before it.
    let second = if two(17)? == 60 { 59 } else { two(17)? };
    let year = number(&at[..4])? as i16;
    let local = DateTime::new(year, two(5)?, two(8)?, two(11)?, two(14)?, second, nanos).ok()?;
    let east = match offset {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), hours @ .., b':', _, _] if hours.len() == 2 => {
            let (hours, minutes) = (number(hours)?, number(&offset[4..])?);
            let seconds = i64::from(60 * (60 * hours + minutes));
            let is_offset = hours < 24 && minutes < 60;
            is_offset.then_some(if *sign == b'-' { -seconds } else { seconds })?
        }
        _ => return None,
    };
    EventTime::new(local.checked_sub(SignedDuration::from_secs(east)).ok()?)
}

/// The number that digits write. None: there is something else among them.
fn number(digits: &[u8]) -> Option<i32> {
    digits.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| 10 * sum + i32::from(byte - b'0')))
}

/// Parses a time as people note it: `2026-01-10 13:00`, `2026-01-10 at 1:00 PM UTC`, `2026-01-10T15:00+0200`. Without an
/// offset it is UTC. None: the text says something else besides, such as a zone that has several offsets a year.
pub fn parse_note(text: &str) -> Option<EventTime> {
    let text = text.trim();
    let (day, rest) = text.split_at_checked(10)?;
    let rest = rest.trim_start_matches(['T', 't', ',', ' ']);
    let rest = rest.strip_prefix("at ").unwrap_or(rest).trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(rest.len());
    let (clock, rest) = rest.split_at(end);
    let (hour, minutes) = clock.split_once(':')?;
    let upper = rest.trim_start().to_uppercase();
    let (half, zone) =
        match upper.strip_prefix("AM").map(|zone| (0, zone)).or(upper.strip_prefix("PM").map(|zone| (12, zone))) {
            Some((half, zone)) => (Some(half), zone.trim_start()),
            None => (None, &*upper),
        };
    let hour: u8 = hour.parse().ok()?;
    let hour = match half {
        None => hour,
        Some(half) => (1..=12).contains(&hour).then_some(hour % 12 + half)?,
    };
    let minutes = if minutes.len() == 2 { format!("{minutes}:00") } else { minutes.to_owned() };
    let zone = match zone.as_bytes() {
        [] | b"Z" | b"UTC" | b"GMT" => "Z".to_owned(),
        [b'+' | b'-', digits @ ..] if digits.len() == 4 && digits.iter().all(u8::is_ascii_digit) => {
            format!("{}:{}", &zone[..3], &zone[3..])
        }
        _ => zone.to_owned(),
    };
    parse(&format!("{day}T{hour:02}:{minutes}{zone}"))
}

/// Parses the day at the beginning of a text, or a text that is a day in words; the beginning of the day is meant.
pub fn parse_day(text: &str) -> Option<EventTime> {
    let text = text.trim();
    let first = text.get(..10).map(|day| day.replace('/', "-"));
    let in_words = || {
        let formats = ["%B %d, %Y", "%b %d, %Y", "%B %d %Y", "%d %B %Y", "%d %b %Y"];
        formats.iter().find_map(|format| Date::strptime(format, text).ok()).map(|day| day.to_string())
    };
    let at = |day: String| parse(&format!("{day}T00:00:00Z"));
    first.and_then(at).or_else(|| in_words().and_then(at))
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
        let last = "9999-12-31T23:59:59Z";
        assert_eq!(utc(last).as_deref(), Some(last));
        assert_eq!(utc("0000-01-01T00:00:00Z").as_deref(), Some("0000-01-01T00:00:00Z"));
        assert_eq!(utc("2026-01-10T13:00:00.123456789123Z").as_deref(), Some("2026-01-10T13:00:00.123456789Z"));
        assert_eq!(utc("2016-12-31T23:59:60.25Z").as_deref(), Some("2016-12-31T23:59:59.25Z"));
        assert_eq!(utc("2026-01-10T13:00:00.000000010Z").as_deref(), Some("2026-01-10T13:00:00.00000001Z"));
        assert_eq!(parse("2026-01-10T13:00:00.5Z").unwrap().render(), "2026-01-10T13:00:00.500Z");
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
            "2026-01-10T13:00:61Z",
            "2026-13-10T13:00:00Z",
            "2026-01-10T13:00:00.Z",
            "2026-01-10T13:00:00Z[UTC]",
            "2026-01-10T13:00:00+0530",
            " 2026-01-10T13:00:00Z",
            "2026-01-10T13:00:00é",
            "2026-01-10T13:00:00+24:00",
            "9999-12-31T23:59:59-00:01",
            "0000-01-01T00:00:00+00:01",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn notes_of_a_time_are_read_unless_they_say_more() {
        let same = "2026-01-10T13:00:00Z";
        let noted = |text: &str| parse_note(text).map(|at| at.to_string());
        for note in [
            "2026-01-10 13:00",
            " 2026-01-10T13:00:00 ",
            "2026-01-10 13:00 UTC",
            "2026-01-10T14:00:00+01:00",
            "2026-01-10 15:00:00 +0200",
            "2026-01-10T13:00Z",
            "2026-01-10, 13:00",
            "2026-01-10 at 1:00 PM",
            "2026-01-10T13:00:00.000Z",
        ] {
            assert_eq!(noted(note).as_deref(), Some(same), "{note}");
        }
        for note in [
            "2026-01-10",
            "2026-01-10 13:00 CET",
            "2026-01-10 at noon",
            "13:00",
            "2026-01-10 13:00 PM",
            "é 13:00",
            "2026-01-10 13:00 -€1",
            "2026-01-10 13:00 +1é0",
        ] {
            assert_eq!(noted(note), None, "{note}");
        }
        let day = |text: &str| parse_day(text).map(|at| at.to_string());
        for note in ["2026-01-10", "2026/01/10 at noon", "January 10, 2026", "10 Jan 2026"] {
            assert_eq!(day(note).as_deref(), Some("2026-01-10T00:00:00Z"), "{note}");
        }
        assert_eq!((day("2026-13-10"), day("soon"), day("")), (None, None, None));
    }
}
