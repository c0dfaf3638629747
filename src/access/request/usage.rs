//! How often chunks are given: counted where an answer is given, and taken back where a text is forgotten.

use std::collections::HashSet;

use super::{ReadScope, Request, Workspace};
use crate::access::rules::Principal;
use crate::base::path::VaultPath;
use crate::text::derive::{ChunkId, chunk};
use crate::text::note::Note;

/// The person's name among those who read.
const PERSON: &str = "";

impl Request {
    /// Counts the chunks that an answer gives, by their names: what a search found, and what was asked for by its name.
    pub fn count_given<'a>(&self, chunks: impl IntoIterator<Item = &'a str>) {
        let given = chunks.into_iter().filter_map(|name| name.parse::<ChunkId>().ok()).map(ChunkId::to_bits).collect();
        if self.is_tried {
            // What the person tries in an agent's place is neither's.
            return;
        }
        let Some(reader) = self.counted() else { return };
        self.workspace.usage.add(reader, given, self.at.as_millisecond());
    }

    /// For whom answers are counted.
    pub(super) fn counted(&self) -> Option<&str> {
        match &self.principal {
            Principal::Owner => Some(PERSON),
            Principal::Agent(caller) => Some(&caller.slug),
            Principal::Capture(_) => None,
        }
    }
}

impl ReadScope {
    /// How often who asks was given each of these chunks: by what it was given itself, an agent learns nothing of others.
    pub(super) fn given(&self, chunks: &[ChunkId]) -> Vec<u64> {
        let bits: Vec<u64> = chunks.iter().map(|chunk| chunk.to_bits()).collect();
        match self.workspace.usage.of(&self.counted, &bits) {
            Ok(uses) => uses.iter().map(|given| given.count).collect(),
            Err(error) => {
                tracing::warn!("how often passages were given cannot be read: {error}");
                Vec::new()
            }
        }
    }
}

impl Workspace {
    /// Takes back what is counted of the chunks that a note had before a change, and has not after it.
    pub fn forget_given(&self, path: &VaultPath, before: &str, after: Option<&str>) {
        let given = |text: &str| -> Vec<u64> {
            chunk(path, &Note::of(path, text), text).iter().map(|chunk| chunk.id.to_bits()).collect()
        };
        let left = after.map(given).unwrap_or_default();
        let gone: Vec<u64> = given(before).into_iter().filter(|given| !left.contains(given)).collect();
        if let Err(error) = self.usage.remove(&gone) {
            tracing::warn!("how often what was forgotten of `{path}` was given cannot be taken back: {error}");
        }
    }

    /// Takes back what is counted of all chunks that are not there any more; gives what keeps it from that, as a sentence.
    pub fn sweep_given(&self) -> Option<String> {
        let snapshot = self.shared.snapshot()?;
        let chunks = snapshot.files().iter().flat_map(|file| &file.chunks).map(|chunk| chunk.id.to_bits());
        let there: HashSet<u64> = chunks.collect();
        let kept = self.usage.keep(|given| there.contains(&given));
        kept.err().map(|error| {
            format!("the counts of how often passages of the text were returned are still stored: {error}")
        })
    }
}
