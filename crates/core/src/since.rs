//! `--since`: from where on records are printed.

use jiff::{SignedDuration, Timestamp};

use crate::error::{Failure, Result};
use crate::time::{self, Unit};

/// What `--since` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// Everything there is.
    All,
    /// The records after the one with this number.
    Seq(u64),
    /// The records of this time or later.
    Time(Timestamp),
}

impl Since {
    /// Reads `all`, a number, an RFC 3339 time, or a length of time before `now` (`90s`, `30m`, `2h`, `1d`).
    /// Exit 2 for anything else.
    pub fn parse(text: &str, now: Timestamp) -> Result<Since> {
        if text == "all" {
            return Ok(Since::All);
        }
        if let Ok(seq) = text.parse() {
            return Ok(Since::Seq(seq));
        }
        if let Ok(time) = text.parse() {
            return Ok(Since::Time(time));
        }
        // A day without a time means its beginning.
        if let Ok(time) = format!("{text}T00:00:00Z").parse() {
            return Ok(Since::Time(time));
        }
        let ago = time::parse_duration(text, Unit::Seconds).and_then(|ago| SignedDuration::try_from(ago).ok());
        let time = ago.and_then(|ago| now.checked_sub(ago).ok());
        time.map(Since::Time).ok_or_else(|| {
            Failure::usage(format!("--since must be a time, a number or `all`, not `{text}`"))
                .hint("write 2026-01-31T12:00:00Z, 30m (ago), the `seq` of the last record you have, or all")
        })
    }

    /// Whether a record with this number and time is to be printed.
    pub fn takes(self, seq: u64, time: &str) -> bool {
        match self {
            Since::All => true,
            Since::Seq(last) => seq > last,
            // A record whose time cannot be read is printed rather than lost.
            Since::Time(since) => time.parse::<Timestamp>().map_or(true, |time| time >= since),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_help_says() {
        let now: Timestamp = "2026-01-01T01:00:00Z".parse().unwrap();
        let day = Since::Time("2026-01-01T00:00:00Z".parse().unwrap());
        let early = Since::Time("2026-01-01T00:30:00Z".parse().unwrap());
        for (text, since) in [
            ("all", Since::All),
            ("7", Since::Seq(7)),
            ("30m", early),
            ("2026-01-01T00:30:00Z", early),
            ("2026-01-01", day),
        ] {
            assert_eq!(Since::parse(text, now).unwrap(), since, "{text}");
        }
        for bad in ["", "m", "-3m", "yesterday", "ü", "99999999999999999d"] {
            assert_eq!(Since::parse(bad, now).unwrap_err().exit.code(), 2, "{bad}");
        }
        assert!(early.takes(0, "2026-01-01T00:30:00Z") && !early.takes(9, "2026-01-01T00:29:59Z"));
        assert!(Since::Seq(3).takes(4, "") && !Since::Seq(3).takes(3, ""));
    }
}
