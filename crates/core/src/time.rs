//! Times as scripts read them, and lengths of time as people write them in flags, variables and files.

use std::time::Duration;

use jiff::Timestamp;

/// How to write a length of time, for hints.
pub const DURATIONS: &str = "write a number and a unit: 500ms, 90s, 30m, 2h, 7d";

/// A time in an answer or a record: RFC 3339 in UTC, with milliseconds.
pub fn render(time: Timestamp) -> String {
    format!("{time:.3}")
}

/// The time of day where the person is.
pub fn local_clock(time: Timestamp) -> String {
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string()
}

/// The hour and minute where the person is, behind the date unless that is the day of `now` there.
pub fn local_minute(time: Timestamp, now: Timestamp) -> String {
    let [time, now] = [time, now].map(|time| time.to_zoned(jiff::tz::TimeZone::system()));
    time.strftime(if time.date() == now.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" }).to_string()
}

/// The unit of a number that stands alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A thousandth of a second.
    Milliseconds,
    /// A second.
    Seconds,
}

/// The limit of a thousand years keeps arithmetic with instants from overflowing.
const LIMIT: f64 = 365.0 * 86_400.0 * 1_000.0;

/// Parses a length of time: a number, perhaps with a fraction, and one of the units `ms`, `s`, `m`, `h`, `d`, `w`. A
/// number alone has the unit `bare`.
pub fn parse_duration(text: &str, bare: Unit) -> Option<Duration> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number: f64 = text[..text.len() - unit.len()].parse().ok()?;
    let scale = match (unit, bare) {
        ("ms", _) | ("", Unit::Milliseconds) => 0.001,
        ("s", _) | ("", Unit::Seconds) => 1.0,
        ("m", _) => 60.0,
        ("h", _) => 3_600.0,
        ("d", _) => 86_400.0,
        ("w", _) => 604_800.0,
        _ => return None,
    };
    let seconds = number * scale;
    if seconds < LIMIT { Duration::try_from_secs_f64(seconds).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_number_and_a_unit() {
        for (text, millis) in [
            ("500ms", 500),
            ("90s", 90_000),
            ("1.5m", 90_000),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
            ("1w", 604_800_000),
            ("0", 0),
        ] {
            assert_eq!(parse_duration(text, Unit::Seconds), Some(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(parse_duration("7", Unit::Seconds), Some(Duration::from_secs(7)));
        assert_eq!(parse_duration("7", Unit::Milliseconds), Some(Duration::from_millis(7)));
        for bad in ["", "m", "-3m", "3 m", "3M", "ü", "1.2.3s", "9999999999d", "never"] {
            assert_eq!(parse_duration(bad, Unit::Seconds), None, "{bad}");
        }
    }
}
