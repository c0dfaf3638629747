//! Whether the model behind a name is still the one that it was.
//!
//! The same few texts are embedded at each start. Where their vectors are as they were, the model is the same one, though no server
//! adds up in the same order each time, so that they are compared and not hashed. Where they are not, it is another model, whatever it is
//! called, and what it makes is not compared with what was made before.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::config::FILE_NAME;
use crate::base::fs::{create_private_dir, write_atomically};

/// Two languages, prose and code; and more than one, so that a server that mixes up the order is found out.
pub(super) const CANARIES: [&str; 3] = [
    "The canary sang until the air in the mine was bad.",
    "Der Schlüssel liegt unter dem dritten Blumentopf.",
    "fn largest(numbers: &[i64]) -> Option<&i64> { numbers.iter().max() }",
];

/// The same model on another machine, or in another order of adding, agrees to more than this; another version of it to much less.
const SAME: f32 = 0.999;

/// Maximum number of models that are remembered. The one that was seen longest ago is forgotten first.
const MOST_MODELS: usize = 16;

/// Where models are remembered: beside the vectors that they made, so that both are lost together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenModels {
    pub(super) file: PathBuf,
    /// The vault's folder; nothing is made where it is not.
    pub(super) root: PathBuf,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SeenModel {
    model: String,
    id: String,
    canaries: Vec<Vec<f32>>,
}

/// A model as it was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Recognised {
    /// What it is told from others by.
    pub(super) id: String,
    /// Another one had its name before.
    pub(super) has_changed: bool,
}

impl SeenModels {
    /// In a folder of the index of the vault at `root`.
    pub(super) fn beside(index: &Path, root: &Path) -> Self {
        Self { file: index.join("endpoint-models.json"), root: root.to_owned() }
    }

    /// Recognises the model called `model` by what it makes of the [`CANARIES`], and remembers it.
    pub(super) fn recognise(&self, model: &str, canaries: &[Vec<f32>]) -> Recognised {
        let mut seen = self.load();
        let known = seen.iter().position(|other| other.model == model && is_same(&other.canaries, canaries));
        let last = seen.iter().rposition(|other| other.model == model);
        let has_changed = last.is_some() && known != last;
        let found = match known {
            Some(at) => seen.remove(at),
            None => SeenModel { model: model.to_owned(), id: id(canaries), canaries: canaries.to_vec() },
        };
        let id = found.id.clone();
        seen.push(found);
        let first = seen.len().saturating_sub(MOST_MODELS);
        if known.is_none() || has_changed {
            self.save(&seen[first..]);
        }
        Recognised { id, has_changed }
    }

    fn load(&self) -> Vec<SeenModel> {
        let Ok(text) = std::fs::read(&self.file) else { return Vec::new() };
        serde_json::from_slice(&text).unwrap_or_else(|error| {
            tracing::warn!("{} cannot be read, and is written anew: {error}", self.file.display());
            Vec::new()
        })
    }

    fn save(&self, seen: &[SeenModel]) {
        if !self.root.join(FILE_NAME).is_file() {
            return;
        }
        let written = || {
            self.file.parent().map_or(Ok(()), create_private_dir)?;
            write_atomically(&self.file, &serde_json::to_vec(seen).unwrap_or_default(), 0o600)
        };
        if let Err(error) = written() {
            tracing::warn!("the next start will take the model for another one: {error}");
        }
    }
}

fn is_same(one: &[Vec<f32>], other: &[Vec<f32>]) -> bool {
    let same = |(one, other): (&Vec<f32>, &Vec<f32>)| {
        one.len() == other.len() && one.iter().zip(other).map(|(x, y)| x * y).sum::<f32>() >= SAME
    };
    one.len() == other.len() && one.iter().zip(other).all(same)
}

fn id(canaries: &[Vec<f32>]) -> String {
    let mut hasher = blake3::Hasher::new();
    for number in canaries.iter().flatten() {
        hasher.update(&number.to_le_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turned(by: f32) -> Vec<Vec<f32>> {
        vec![vec![by.cos(), by.sin()]; 3]
    }

    #[test]
    fn a_model_is_known_by_what_it_makes_and_not_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE_NAME), "").unwrap();
        let seen = SeenModels::beside(&folder.path().join("index"), folder.path());
        let first = seen.recognise("m", &turned(0.0));
        assert!(!first.has_changed);
        let near = seen.recognise("m", &turned(0.01));
        assert_eq!((&near.id, near.has_changed), (&first.id, false), "a little noise is no other model");
        let other = seen.recognise("m", &turned(0.5));
        assert!(other.has_changed && other.id != first.id);
        let again = seen.recognise("m", &turned(0.5));
        assert_eq!((&again.id, again.has_changed), (&other.id, false));
        let back = seen.recognise("m", &turned(0.0));
        assert_eq!((&back.id, back.has_changed), (&first.id, true), "its vectors are there still");
        assert!(!seen.recognise("n", &turned(0.0)).has_changed);
        std::fs::write(&seen.file, "[{").unwrap();
        assert!(!seen.recognise("m", &turned(0.0)).has_changed);
    }

    #[test]
    fn nothing_is_made_where_the_vault_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("gone");
        SeenModels::beside(&root.join("index"), &root).recognise("m", &turned(0.0));
        assert!(!root.exists());
    }
}
