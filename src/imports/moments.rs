//! Times as programs write them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

/// The latest time that is taken, in seconds: the year 9999.
const LAST_SECOND: i64 = 253_000_000_000;

/// A time in milliseconds since 1970: of a number of seconds, milliseconds, microseconds or nanoseconds, which their size tells, or of a
/// text. None where it is no time, or one before 1970.
pub(super) fn moment(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => of_number(number.as_f64()?),
        Value::String(text) => of_text(text.trim()),
        _ => None,
    }
}

/// The first of some fields that has a time.
pub(super) fn first_moment(value: &Value, fields: &[&str]) -> Option<i64> {
    fields.iter().find_map(|field| moment(value.get(*field)?))
}

fn of_number(number: f64) -> Option<i64> {
    let ms = match number.abs() {
        size if size < 1e11 => number * 1e3,
        size if size < 1e14 => number,
        size if size < 1e17 => number / 1e3,
        _ => number / 1e6,
    };
    let ms = ms.round();
    (ms > 0.0 && ms < LAST_SECOND as f64 * 1e3).then_some(ms as i64)
}

fn of_text(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse::<f64>() {
        return of_number(number);
    }
    let utc = text.strip_suffix(" UTC").or_else(|| text.strip_suffix(" +0000")).unwrap_or(text);
    let civil = || Some(utc.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    let at = text.parse::<Timestamp>().ok().or_else(civil)?;
    (at.as_millisecond() > 0).then_some(at.as_millisecond())
}

/// A time as events have it.
pub(super) fn written(at_ms: i64) -> Option<String> {
    Some(Timestamp::from_millisecond(at_ms).ok()?.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_are_read_in_every_unit_and_as_text() {
        let at = 1_700_000_000_000;
        for value in [
            json!(1_700_000_000),
            json!(1_700_000_000.0),
            json!(1_700_000_000_000_i64),
            json!(1_700_000_000_000_000_i64),
            json!(1_700_000_000_000_000_000_i64),
            json!("1700000000"),
            json!("2023-11-14T22:13:20Z"),
            json!("2023-11-14T23:13:20+01:00"),
            json!("2023-11-14 22:13:20 UTC"),
            json!("2023-11-14T22:13:20"),
        ] {
            assert_eq!(moment(&value), Some(at), "{value}");
        }
        for value in
            [json!(null), json!(-5), json!(0), json!("soon"), json!(1e300), json!("1969-01-01T00:00:00Z"), json!([])]
        {
            assert_eq!(moment(&value), None, "{value}");
        }
        assert_eq!(written(at).as_deref(), Some("2023-11-14T22:13:20Z"));
    }
}
