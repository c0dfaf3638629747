//! gray_matter's engine for YAML, on serde_norway, with a bound on what hostile text can cost.

use super::turn::{ParsedBlock, from_float, hand_over};
use gray_matter::Pod;
use gray_matter::engine::Engine;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde_json::{Map, Value};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;

/// The engine.
pub(super) struct Yaml;

impl Engine for Yaml {
    fn parse(content: &str) -> gray_matter::Result<Pod> {
        let limits = YamlBudget { left: Cell::new(MAX_COST), duplicate: RefCell::new(None) };
        let deserializer = serde_yaml::Deserializer::from_str(content);
        if nests_too_deep(content) {
            let message = "brackets are nested too deep, or not closed".to_owned();
            return hand_over(&ParsedBlock::Invalid { line: None, message });
        }
        hand_over(&match Json(&limits).deserialize(deserializer) {
            Ok(Value::Object(map)) => ParsedBlock::Mapping(map),
            Ok(Value::Null) => ParsedBlock::Mapping(Map::new()),
            Ok(_) => ParsedBlock::NotMapping,
            Err(error) => match limits.duplicate.into_inner() {
                Some(key) => ParsedBlock::Duplicate(key),
                None => ParsedBlock::Invalid { line: error.location().map(|at| at.line()), message: error.to_string() },
            },
        })
    }
}

/// More open brackets than serde_norway would accept levels. It notices after libyaml is done, and libyaml looks at every open
/// bracket for every token: 64 KB of `[` take it seven seconds.
fn nests_too_deep(content: &str) -> bool {
    let mut open = 0_usize;
    content.bytes().any(|byte| {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        open > 200
    })
}

/// Maximum cost of reading one block: 16 for a value, 1 for a byte of text. A block without aliases cannot reach it
/// (its size is limited before). serde_norway's own limit counts jumps to anchors, not what is behind them: 10,000
/// aliases of a list of 10,000 pass it and take gigabytes.
const MAX_COST: usize = 2 << 20;

struct YamlBudget {
    left: Cell<usize>,
    duplicate: RefCell<Option<String>>,
}

impl YamlBudget {
    fn spend<E: serde::de::Error>(&self, text: usize) -> Result<(), E> {
        match self.left.get().checked_sub(text + 16) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(E::custom("aliases (`*name`) expand to more than the limit")),
        }
    }
}

/// Reads any YAML value into JSON: tags (`!name`) are dropped, merge keys (`<<`) applied, keys made text, and a key given
/// twice is an error. Recursion is bounded: serde_norway refuses more than 128 levels.
#[derive(Clone, Copy)]
struct Json<'l>(&'l YamlBudget);

impl<'de> DeserializeSeed<'de> for Json<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Json<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.0.spend(0)?;
        Ok(Value::Null)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E: serde::de::Error>(self, truth: bool) -> Result<Value, E> {
        self.0.spend(0)?;
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Value, E> {
        self.0.spend(0)?;
        Ok(number.into())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Value, E> {
        self.0.spend(0)?;
        Ok(number.into())
    }

    fn visit_i128<E: serde::de::Error>(self, number: i128) -> Result<Value, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u128<E: serde::de::Error>(self, number: u128) -> Result<Value, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        self.0.spend(0)?;
        Ok(from_float(number))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        self.0.spend(text.len())?;
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.0.spend(0)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.0.spend(0)?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key_seed(self)? {
            let key = match key {
                Value::String(text) => text,
                // A template's `created: {{date}}` is a mapping with a mapping for a key. Quotes double with every level.
                other => {
                    let text = other.to_string();
                    self.0.spend(text.len())?;
                    text
                }
            };
            if map.contains_key(&key) {
                self.0.duplicate.replace(Some(key));
                return Err(serde::de::Error::custom("duplicate key"));
            }
            let value = entries.next_value_seed(self)?;
            map.insert(key, value);
        }
        match map.shift_remove("<<") {
            None => {}
            Some(Value::Object(base)) => merge(&mut map, base),
            Some(Value::Array(bases)) if bases.iter().all(Value::is_object) => {
                for base in bases {
                    if let Value::Object(base) = base {
                        merge(&mut map, base);
                    }
                }
            }
            Some(_) => return Err(serde::de::Error::custom("`<<` must be given a mapping")),
        }
        Ok(Value::Object(map))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Value, A::Error> {
        let (_tag, content) = data.variant_seed(PhantomData::<String>)?;
        content.newtype_variant_seed(self)
    }
}

fn merge(map: &mut Map<String, Value>, base: Map<String, Value>) {
    for (key, value) in base {
        map.entry(key).or_insert(value);
    }
}
