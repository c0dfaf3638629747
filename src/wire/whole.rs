//! Whole numbers as JSON has them.

use serde::{Deserialize, Deserializer};

/// Reads a whole number, also as `5.0`: to JSON, and to languages that know one kind of number, that is the same.
///
/// # Errors
/// When it is no number, not whole, or too large.
pub(crate) fn whole<'de, N: TryFrom<u64>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<N>, D::Error> {
    let expected =
        |said: &dyn std::fmt::Display| serde::de::Error::custom(format!("`{said}` is no whole number that it takes"));
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    let whole = number.as_u64().or_else(|| {
        // Up to here every whole number is a float of its own.
        let float =
            number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(float));
        float.map(|float| float as u64)
    });
    let number = whole.and_then(|whole| N::try_from(whole).ok()).ok_or_else(|| expected(&number))?;
    Ok(Some(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Lines {
        #[serde(default, deserialize_with = "whole")]
        line: Option<u32>,
    }

    #[test]
    fn a_whole_number_may_have_a_point() {
        let line = |text: &str| serde_json::from_str::<Lines>(text).map(|lines| lines.line);
        assert_eq!(line(r#"{"line": 5}"#).unwrap(), Some(5));
        assert_eq!(line(r#"{"line": 5.0}"#).unwrap(), Some(5));
        assert_eq!(line(r#"{"line": null}"#).unwrap(), None);
        assert_eq!(line("{}").unwrap(), None);
        for bad in ["-1", "1.5", "1e300", "4294967296", "\"5\"", "true", "[]", "-0.5"] {
            assert!(line(&format!("{{\"line\": {bad}}}")).is_err(), "{bad}");
        }
    }
}
