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
