//! What looks like a condition and is none, so that its words were looked for.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use super::nearest::nearest;
use super::operators::{CONDITIONS, is_condition};
use super::query::NoCondition;
use super::unknown::{UnknownKind, UnknownName};
use super::visible::Visible;
use crate::access::Turn;
use crate::derive::property_names;
use crate::engine::{EngineError, Reader};
use crate::path::folded;

/// Why something was read as words that may have been meant as a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misread {
    /// No note has such a property.
    Property(UnknownName),
    /// A condition's value makes no sense: `before:lunch`.
    Value(String),
}

impl fmt::Display for Misread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Property(unknown) => unknown.fmt(out),
            Self::Value(typed) => write!(out, "`{typed}` makes no sense as a condition; its words were looked for"),
        }
    }
}

/// Minimum length of what may be a property's name. `a:b` and `10:30` are words.
const MIN_KEY: usize = 3;
/// Maximum length of a key that another is looked for, in characters: each letter may be each other one.
const MAX_KEY: usize = 32;

/// Says what was perhaps meant: always where a name is near or it was in brackets, else where nothing was `found`. `has_property` knows those of the notes that
/// are seen.
pub(super) fn misread(
    typed: &[NoCondition],
    has_property: &dyn Fn(&str) -> bool,
    found: bool,
    (reader, visible): (&dyn Reader, &Visible),
    turn: &Turn,
) -> Result<Vec<Misread>, EngineError> {
    let mut said = Vec::new();
    for NoCondition { key, value, bracketed } in typed {
        if is_condition(key) {
            said.push(Misread::Value(format!("{key}:{value}")));
            continue;
        }
        if key.chars().count() < MIN_KEY || !key.starts_with(char::is_alphabetic) {
            continue;
        }
        let mut near = one_slip(&folded(key), has_property);
        if near.is_none() && !found {
            near = nearest_of_all(key, reader, visible, turn)?;
        }
        let near =
            near.or_else(|| CONDITIONS.iter().find(|known| is_one_slip(key, known)).map(|known| (*known).to_owned()));
        if near.is_some() || !found || *bracketed {
            said.push(Misread::Property(UnknownName {
                kind: UnknownKind::Property,
                name: key.clone(),
                nearest: near,
                there: Vec::new(),
            }));
        }
    }
    Ok(said)
}

fn is_one_slip(typed: &str, known: &str) -> bool {
    known.len() >= MIN_KEY && typed.len() <= 4 * MAX_KEY && strsim::damerau_levenshtein(&folded(typed), known) == 1
}

/// A property whose name is one letter from this one. Names are hashes in the file table, so that each that is near is tried.
fn one_slip(key: &str, has_property: &dyn Fn(&str) -> bool) -> Option<String> {
    let letters: Vec<char> = key.chars().collect();
    if letters.len() > MAX_KEY {
        return None;
    }
    let mut alphabet: Vec<char> = ('a'..='z').chain(['-', '_', ' ']).collect();
    alphabet.extend(letters.iter().filter(|letter| !letter.is_ascii()));
    alphabet.sort_unstable();
    alphabet.dedup();
    let with = |from: usize, to: usize, between: &[char]| -> String {
        letters[..from].iter().chain(between).chain(&letters[to..]).collect()
    };
    let swapped = (1..letters.len()).map(|at| with(at - 1, at + 1, &[letters[at], letters[at - 1]]));
    let without = (0..letters.len()).map(|at| with(at, at + 1, &[]));
    let inserted = (0..=letters.len()).flat_map(|at| alphabet.iter().map(move |letter| (at, at, *letter)));
    let changed = (0..letters.len()).flat_map(|at| alphabet.iter().map(move |letter| (at, at + 1, *letter)));
    let lettered = inserted.chain(changed).map(|(from, to, letter)| with(from, to, &[letter]));
    swapped.chain(without).chain(lettered).find(|name| name != key && has_property(name))
}

/// The nearest of all properties that notes which are seen have. Reads the frontmatter of each; what is damaged is passed over.
fn nearest_of_all(
    key: &str,
    reader: &dyn Reader,
    visible: &Visible,
    turn: &Turn,
) -> Result<Option<String>, EngineError> {
    let mut names = BTreeSet::new();
    for file in reader.files().iter().filter(|file| visible.has(file)) {
        if turn.is_over() {
            return Err(EngineError::abandoned());
        }
        let Ok(Some(metadata)) = reader.metadata(file.id) else { continue };
        let metadata: Map<String, Value> = serde_json::from_str(&metadata).unwrap_or_default();
        names.extend(property_names(&metadata));
    }
    Ok(nearest(key, &names.iter().map(String::as_str).collect::<Vec<_>>()))
}
