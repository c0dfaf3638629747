//! Points in time as parameters of a request, and in its answer.

use std::ops::Range;

use jiff::{Timestamp, Zoned};

use super::RequestError;
pub(crate) use crate::clock::Edge;
use crate::clock::{self, moment};
use crate::note::written;

/// Reads a [moment] of a parameter, in milliseconds since 1970.
///
/// # Errors
/// When it is none.
pub(crate) fn parse(name: &str, text: &str, edge: Edge, now: Timestamp) -> Result<i64, RequestError> {
    moment(text, edge, now).ok_or_else(|| {
        let text = text.trim();
        RequestError::invalid(format!(
            "`{name}` is `{text}`; it takes a date (2026-01-05), a time (2026-01-05T10:00:00Z) `yesterday`, or how long ago (7d)"
        ))
    })
}

/// The same, of a date its last millisecond: what is asked about a day counts to its end.
///
/// # Errors
/// When it is none.
pub(crate) fn parse_last(name: &str, text: &str, now: Timestamp) -> Result<i64, RequestError> {
    let (start, end) = (parse(name, text, Edge::Start, now)?, parse(name, text, Edge::End, now)?);
    Ok(if end > start { end - 1 } else { start })
}

/// The milliseconds of a day of the local time zone.
///
/// # Errors
/// When the text is no date.
pub(crate) fn day_of(name: &str, text: &str) -> Result<Range<i64>, RequestError> {
    clock::day_of(text)
        .ok_or_else(|| RequestError::invalid(format!("`{name}` is `{text}`; it takes a date (2026-01-05)")))
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
    fn what_is_no_time_is_named() {
        let error = parse("since", "whenever", Edge::Start, Timestamp::UNIX_EPOCH).unwrap_err();
        assert!(error.message.starts_with("`since` is `whenever`"), "{}", error.message);
        assert_eq!(rfc3339(1_767_607_200_000), "2026-01-05T10:00:00Z");
    }
}
