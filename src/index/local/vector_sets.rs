//! The sets of vectors that are open: the one that serves, and the next one, which is being filled beside it.

use std::collections::HashSet;
use std::sync::Arc;

use super::embeddings::Embeddings;
use super::engine::{GRAPH, remove};
use super::store::Store;
use super::vectors::Graph;
use crate::index::engine::{ContentHash, EngineError, PendingText};
use crate::models::Fingerprint;

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
    /// Takes up the saved graph of the set that serves.
    pub(super) fn load_graph(&mut self) -> Result<(), EngineError> {
        let folder = self.folder.join(GRAPH);
        let wanted = self.sets.serving.as_ref().map_or(0, |set| self.embeddable_by(set.space.takes_private));
        let Some(set) = &mut self.sets.serving else { return Ok(()) };
        if set.vectors.wants_graph() {
            match Graph::load(&folder, &set.vectors) {
                Ok(graph) => set.vectors = set.vectors.with_graph(Arc::new(graph)),
                Err(error) if error.is_damage() => {
                    // Until the next one is saved, nothing is there to be found damaged again.
                    remove(&folder)?;
                    self.notices.push(error.to_string());
                }
                Err(error) => tracing::info!("the saved graph is not used, and will be built anew: {error}"),
            }
        } else if set.vectors.len() == wanted {
            // The scan serves as well; what is saved would only take room.
            remove(&folder)?;
        }
        Ok(())
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
