//! Times as a terminal shows them. JSON has them as RFC 3339.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A time in the local time zone, to the second: `2026-11-23 10:00:24`.
pub(super) fn local_time(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The same of a time of an answer. What is none, as a day, stays as it is.
pub(super) fn local(rfc3339: &str) -> String {
    rfc3339.parse().map_or_else(|_| rfc3339.to_owned(), local_time)
}

/// The day of a time of an answer, in the local time zone.
pub(super) fn local_day(rfc3339: &str) -> String {
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
}
