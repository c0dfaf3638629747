//! How often chunks are given: counted where an answer is given, and taken back where a text is forgotten.

use super::{ReadScope, Request, Workspace};
use crate::access::Principal;
use crate::derive::{ChunkId, chunk};
use crate::note::Note;
use crate::path::VaultPath;

/// The person's name among those who read.
const PERSON: &str = "";

impl Request {
    /// Counts the chunks that an answer gives, by their names: what a search found, and what was asked for by its name.
    pub fn count_given<'a>(&self, chunks: impl IntoIterator<Item = &'a str>) {
        if self.is_tried {
            // What the person tries in an agent's place is neither's.
            return;
        }
        let Some(reader) = self.counted() else { return };
        let chunks = chunks.into_iter().filter_map(|name| name.parse::<ChunkId>().ok()).map(ChunkId::to_bits);
        self.workspace.usage().add(reader, chunks.collect(), self.at.as_millisecond());
    }
}

impl Request {
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
        match self.workspace.usage().of(&self.counted, &bits) {
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
        let chunks = |text: &str| -> Vec<u64> {
            let note = Note::of(path, text);
            chunk(path, &note, text).iter().map(|chunk| chunk.id.to_bits()).collect()
        };
        let left = after.map(chunks).unwrap_or_default();
        let gone: Vec<u64> = chunks(before).into_iter().filter(|chunk| !left.contains(chunk)).collect();
        if let Err(error) = self.usage().remove(&gone) {
            tracing::warn!("how often what was forgotten of `{path}` was given cannot be taken back: {error}");
        }
    }

    /// Takes back what is counted of all chunks that are not there any more; gives what keeps it from that, as a sentence.
    pub fn sweep_given(&self) -> Option<String> {
        let snapshot = self.shared().snapshot()?;
        let there: std::collections::HashSet<u64> =
            snapshot.files().iter().flat_map(|file| &file.chunks).map(|chunk| chunk.id.to_bits()).collect();
        let kept = self.usage().keep(|chunk| there.contains(&chunk));
        kept.err().map(|error| format!("how often passages of the text were given is still kept: {error}"))
    }
}
