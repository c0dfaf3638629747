//! Frontmatter dates.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::Value;

/// Reads a date as people and programs write them: RFC 3339, a date and time without offset (taken as UTC), a date, a
/// wikilink to a daily note, Unix seconds (10 digits) or milliseconds (13 digits). `None` for anything else.
pub(super) fn parse(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => parse_text(text),
        Value::Number(number) => {
            let whole = number.as_i64()?;
            match number.to_string().len() {
                8 => parse_text(&number.to_string()),
                10 => Timestamp::from_second(whole).ok(),
                13 => Timestamp::from_millisecond(whole).ok(),
                _ => None,
            }
        }
        _ => None,
    }
}

fn parse_text(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let text = text.strip_prefix("[[").and_then(|inner| inner.strip_suffix("]]")).unwrap_or(text);
    if let Ok(exact) = text.parse::<Timestamp>() {
        return Some(exact);
    }
    let civil = match text.parse::<DateTime>() {
        Ok(civil) => civil,
        Err(_) => text.parse::<Date>().ok()?.to_datetime(jiff::civil::Time::midnight()),
    };
    TimeZone::UTC.to_timestamp(civil).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn dates_as_people_write_them() {
        for (written, read) in [
            (json!("2024-01-05"), "2024-01-05T00:00:00Z"),
            (json!("[[2024-01-05]]"), "2024-01-05T00:00:00Z"),
            (json!("2024-01-05 13:45"), "2024-01-05T13:45:00Z"),
            (json!("2024-01-05T13:45:10"), "2024-01-05T13:45:10Z"),
            (json!("2024-01-05T13:45:10+02:00"), "2024-01-05T11:45:10Z"),
            (json!(" 2024-01-05 13:45:10Z "), "2024-01-05T13:45:10Z"),
            (json!(20240105), "2024-01-05T00:00:00Z"),
            (json!(1_704_412_800), "2024-01-05T00:00:00Z"),
            (json!(1_704_412_800_000_i64), "2024-01-05T00:00:00Z"),
        ] {
            let found = parse(&written).map(|time| time.to_string());
            assert_eq!(found.as_deref(), Some(read), "{written}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for written in [
            json!("soon"),
            json!("2024-13-45"),
            json!("05.01.2024"),
            json!(""),
            json!(2024),
            json!(1.5),
            json!(true),
            json!(["2024-01-05"]),
            json!(99_999_999_999_999_i64),
        ] {
            assert_eq!(parse(&written), None, "{written}");
        }
    }
}
