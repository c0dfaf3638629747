//! Points in time as people and programs write them.

use std::ops::Range;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan, Zoned};

use super::RequestError;
use crate::note::written;

/// Which end of a day a date stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Its first moment.
    Start,
    /// The first moment of the next day.
    End,
}

/// Reads `2026-01-05`, `2026-01-05T10:00`, RFC 3339, or how long ago: `12h`, `7d`, `2w`, `6mo`, `1y`. Gives
/// milliseconds since 1970; days are those of the local time zone.
///
/// # Errors
/// When it is none of these.
pub(crate) fn parse(name: &str, text: &str, edge: Edge, now: Timestamp) -> Result<i64, RequestError> {
    let text = text.trim();
    let zone = TimeZone::system();
    let found = if let Ok(timestamp) = text.parse::<Timestamp>() {
        Some(timestamp)
    } else if let Some(span) = ago(text) {
        now.to_zoned(zone).checked_sub(span).ok().map(|zoned| zoned.timestamp())
    } else if let Ok(date) = text.parse::<Date>() {
        let day = if edge == Edge::End { date.checked_add(1.day()).ok() } else { Some(date) };
        day.and_then(|day| day.to_zoned(zone).ok()).map(|zoned| zoned.timestamp())
    } else {
        text.parse::<DateTime>().ok().and_then(|time| time.to_zoned(zone).ok()).map(|zoned| zoned.timestamp())
    };
    found.map(Timestamp::as_millisecond).ok_or_else(|| {
        RequestError::invalid(format!(
            "`{name}` is `{text}`; it takes a date (2026-01-05), a time (2026-01-05T10:00:00Z) or how long ago (7d)"
        ))
    })
}

/// The milliseconds of a day of the local time zone.
///
/// # Errors
/// When the text is no date.
pub(crate) fn day_of(name: &str, text: &str) -> Result<Range<i64>, RequestError> {
    let day: Option<Date> = text.trim().parse().ok();
    let start = |day: Date| Some(day.to_zoned(TimeZone::system()).ok()?.timestamp().as_millisecond());
    day.and_then(|day| Some(start(day)?..start(day.checked_add(1.day()).ok()?)?))
        .ok_or_else(|| RequestError::invalid(format!("`{name}` is `{text}`; it takes a date (2026-01-05)")))
}

fn ago(text: &str) -> Option<Span> {
    let digits = text.find(|character: char| !character.is_ascii_digit())?;
    let (count, unit) = text.split_at(digits);
    let count: i64 = count.parse().ok().filter(|count| *count <= 100_000)?;
    let span = Span::new();
    match unit {
        "h" => span.try_hours(count),
        "d" => span.try_days(count),
        "w" => span.try_weeks(count),
        "mo" => span.try_months(count),
        "y" => span.try_years(count),
        _ => return None,
    }
    .ok()
}

/// Now, in the person's time zone, as people write it.
pub(crate) fn now() -> String {
    written(&Zoned::now())
}

/// A time as RFC 3339.
pub(crate) fn rfc3339(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| String::new(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        let now: Timestamp = "2026-01-10T12:00:00Z".parse().unwrap();
        let at = |text: &str, edge| parse("since", text, edge, now).unwrap();
        assert_eq!(at("2026-01-05T10:00:00Z", Edge::Start), 1_767_607_200_000);
        assert_eq!(at("2026-01-05", Edge::End), at("2026-01-06", Edge::Start));
        assert_eq!(at("48h", Edge::Start), now.as_millisecond() - 48 * 3_600_000);
        assert!(at("6mo", Edge::Start) < at("7d", Edge::Start));
        for bad in ["", "yesterday", "5", "d", "99999999999d", "2026-13-01"] {
            assert!(parse("since", bad, Edge::Start, now).unwrap_err().message.starts_with("`since`"), "{bad}");
        }
        assert_eq!(rfc3339(1_767_607_200_000), "2026-01-05T10:00:00Z");
    }
}
