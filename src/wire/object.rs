//! Objects within objects as JSON has them.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// What is an object in JSON, and not an array of its values in their order, which serde would take, too.
#[derive(Debug)]
pub(crate) struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// Reads an object.
///
/// # Errors
/// When it is none, or its fields are not right.
pub(crate) fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Object::deserialize(deserializer).map(|Object(value)| value)
}

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

    #[derive(Debug, Deserialize)]
    struct Inner {
        on: Option<bool>,
    }

    #[test]
    fn an_array_is_no_object() {
        let read = |text: &str| serde_json::from_str::<Object<Inner>>(text).map(|Object(inner)| inner.on);
        assert_eq!(read(r#"{"on": true}"#).unwrap(), Some(true));
        assert_eq!(read("{}").unwrap(), None);
        for bad in ["[true]", "[null]", "[]", "null", "\"on\"", r#"{"on": 1}"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}

#[cfg(test)]
mod tests_of_whole {
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
