//! The sets of vectors that are open: the one that serves, and the next one, which is being filled beside it.

use std::collections::HashSet;

use super::embeddings::Embeddings;
use super::store::Store;
use crate::index::engine::{ContentHash, EngineError, PendingText};
use crate::models::{EmbeddingSpace, Fingerprint};

/// The open sets. Those of other models are in the catalog alone.
#[derive(Default)]
pub(super) struct VectorSets {
    /// What readers compare with.
    pub(super) serving: Option<Embeddings>,
    /// What is to serve when it is whole.
    pub(super) next: Option<Embeddings>,
}

impl VectorSets {
    /// All of them.
    pub(super) fn open(&self) -> impl Iterator<Item = &Embeddings> {
        self.serving.iter().chain(&self.next)
    }

    /// The same, to be changed.
    pub(super) fn open_mut(&mut self) -> impl Iterator<Item = &mut Embeddings> {
        self.serving.iter_mut().chain(&mut self.next)
    }

    pub(super) fn of(&self, model: &Fingerprint) -> Option<&Embeddings> {
        self.open().find(|set| set.space.fingerprint == *model)
    }

    pub(super) fn of_mut(&mut self, model: &Fingerprint) -> Option<&mut Embeddings> {
        self.open_mut().find(|set| set.space.fingerprint == *model)
    }

    /// The numbers of their models; 0, which is none's, where there is no set.
    pub(super) fn models(&self) -> [i64; 2] {
        let number = |set: &Option<Embeddings>| set.as_ref().map_or(0, |set| set.model);
        [number(&self.serving), number(&self.next)]
    }
}

impl Store {
    /// Reads the set of a model from the catalog, in the place of the one that serves or beside it. Says how many embeddings were damaged.
    pub(super) fn load_vectors(&mut self, space: &EmbeddingSpace) -> Result<usize, EngineError> {
        self.mark()?;
        let (set, damaged) = Embeddings::load(&mut self.catalog, space, &self.files, self.settings.graph_threshold)?;
        match self.sets.serving.as_ref().is_some_and(|serving| serving.space.fingerprint == space.fingerprint) {
            true => self.sets.serving = Some(set),
            false => self.sets.next = Some(set),
        }
        Ok(damaged)
    }

    /// Whether private notes are kept from the model whose set serves.
    pub(super) fn withholds_private(&self) -> bool {
        self.sets.serving.as_ref().is_some_and(|set| !set.space.takes_private)
    }

    /// The texts of chunks: file, row and content of each.
    pub(super) fn texts_of(&self, chunks: Vec<(u32, u64, ContentHash)>) -> Result<Vec<PendingText>, EngineError> {
        let mut pending = Vec::with_capacity(chunks.len());
        for (file, row, content) in chunks {
            let (Some(file), Some(text)) = (self.files.get(file), self.catalog.chunk(row)?) else { continue };
            pending.push(PendingText { content, document: text.document(file) });
        }
        Ok(pending)
    }

    /// The texts whose embeddings are in use.
    pub(super) fn live_contents(&self) -> HashSet<ContentHash> {
        self.files.iter().flat_map(|file| &file.chunks).filter_map(|chunk| chunk.content).collect()
    }

    pub(super) fn count_kept(&mut self) -> Result<(), EngineError> {
        self.sets.open_mut().try_for_each(|set| set.count_kept(&self.catalog))
    }
}
