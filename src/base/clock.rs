//! The time: what it is, handed to those who compare it with the times of files, so that tests need not wait for it to pass; and points in
//! it as people and programs write them.

use std::ops::Range;
use std::sync::Arc;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan};

/// Tells the time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// Tells the time so.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

/// The system's.
impl Default for Clock {
    fn default() -> Self {
        Self::new(Timestamp::now)
    }
}

/// Which end of a day a date stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Its first moment.
    Start,
    /// The first moment of the next day.
    End,
}

/// Reads `2026-01-05`, `today`, `yesterday`, `2026-01-05T10:00`, RFC 3339, or how long ago: `12h`, `7d`, `2w`, `6mo`, `1y`. Gives
/// milliseconds since 1970; days are those of the local time zone. `None` when it is none of these.
pub(crate) fn moment(text: &str, edge: Edge, now: Timestamp) -> Option<i64> {
    let text = text.trim();
    let zone = TimeZone::system();
    let found = if let Ok(timestamp) = text.parse::<Timestamp>() {
        Some(timestamp)
    } else if let Some(span) = ago(text) {
        now.to_zoned(zone).checked_sub(span).ok().map(|zoned| zoned.timestamp())
    } else if let Some(date) = date(text).or_else(|| day_named(text, now)) {
        let day = if edge == Edge::End { date.checked_add(1.day()).ok() } else { Some(date) };
        day.and_then(|day| day.to_zoned(zone).ok()).map(|zoned| zoned.timestamp())
    } else {
        text.parse::<DateTime>().ok().and_then(|time| time.to_zoned(zone).ok()).map(|zoned| zoned.timestamp())
    };
    found.map(Timestamp::as_millisecond)
}

/// A date alone: of a time the day would be taken, too.
fn date(text: &str) -> Option<Date> {
    text.parse().ok().filter(|_| text.chars().all(|c| c.is_ascii_digit() || c == '-'))
}

/// The day that `today` or `yesterday` means, in the local time zone; `None` when it is neither.
pub(crate) fn day_named(text: &str, now: Timestamp) -> Option<Date> {
    let today = now.to_zoned(TimeZone::system()).date();
    match text.trim().to_lowercase().as_str() {
        "today" => Some(today),
        "yesterday" => today.yesterday().ok(),
        _ => None,
    }
}

/// The milliseconds of a day of the local time zone; `None` when the text is no date.
pub(crate) fn day_of(text: &str) -> Option<Range<i64>> {
    let day: Date = text.trim().parse().ok()?;
    let start = |day: Date| Some(day.to_zoned(TimeZone::system()).ok()?.timestamp().as_millisecond());
    Some(start(day)?..start(day.checked_add(1.day()).ok()?)?)
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

/// A time as RFC 3339.
pub(crate) fn rfc3339(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| String::new(), |time| time.to_string())
}

/// A time as a terminal shows it, in the local time zone and to the second: `2026-11-23 10:00:24`.
pub(crate) fn local_time(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The same of a time of an answer, as RFC 3339. What is none, as a day, stays as it is.
pub(crate) fn local(rfc3339: &str) -> String {
    rfc3339.parse().map_or_else(|_| rfc3339.to_owned(), local_time)
}

/// The day of a time of an answer, in the local time zone.
pub(crate) fn local_day(rfc3339: &str) -> String {
    local(rfc3339).chars().take("2026-11-23".len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_to_the_second_and_what_is_none_as_it_is() {
        let at: Timestamp = "2026-11-23T10:00:24.123456789Z".parse().unwrap();
        let expected = at.to_zoned(TimeZone::system()).strftime("%F %T").to_string();
        assert_eq!((local_time(at), local("2026-11-23T10:00:24.5Z")), (expected.clone(), expected.clone()));
        assert_eq!((local_day("2026-11-23T10:00:24Z").as_str(), local("12:00").as_str()), (&expected[..10], "12:00"));
    }

    #[test]
    fn reads_what_people_write() {
        let now: Timestamp = "2026-01-10T12:00:00Z".parse().unwrap();
        let at = |text: &str, edge| moment(text, edge, now).unwrap();
        assert_eq!(at("2026-01-05T10:00:00Z", Edge::Start), 1_767_607_200_000);
        assert_eq!(at("2026-01-05", Edge::End), at("2026-01-06", Edge::Start));
        let hour = at("2026-01-05T11:30", Edge::Start) - at("2026-01-05T10:30", Edge::End);
        assert_eq!((hour, at("2026-01-05 11:30", Edge::Start)), (3_600_000, at("2026-01-05T11:30", Edge::Start)));
        assert_eq!(at("48h", Edge::Start), now.as_millisecond() - 48 * 3_600_000);
        assert!(at("6mo", Edge::Start) < at("7d", Edge::Start));
        for bad in ["", "tomorrow", "5", "d", "99999999999d", "2026-13-01"] {
            assert_eq!(moment(bad, Edge::Start, now), None, "{bad}");
        }
        let today = now.to_zoned(TimeZone::system()).date();
        assert_eq!(at("Today", Edge::Start), at(&today.to_string(), Edge::Start));
        assert_eq!((at("yesterday", Edge::End), day_named("2026-01-05", now)), (at("today", Edge::Start), None));
        assert_eq!(day_of("2026-01-05").map(|day| day.end), moment("2026-01-05", Edge::End, now));
    }
}
