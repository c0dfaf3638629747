//! The sets of vectors that are open: the one that serves, and the next one, which is being filled beside it.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::damage::{IndexError, remove};
use super::embeddings::Embeddings;
use super::store::Store;
use super::vectors::{Graph, VectorSet};
use crate::base::fs::crash;
use crate::index::engine::{ContentHash, EmbeddingId, PendingText};
use crate::models::{EmbeddedText, EmbeddingSpace, Fingerprint};

/// Minimum number of embeddings that no chunk has, and minimum share, of the chunks, at which they are dropped before the next check.
const MANY_UNUSED: usize = 10_000;

/// The open sets. Those of other models are in the catalog alone.
#[derive(Default)]
pub(super) struct VectorSets {
    /// What readers compare with.
    pub(super) serving: Option<Embeddings>,
    /// What is to serve when it is whole.
    next: Option<Embeddings>,
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

    fn of(&self, model: &Fingerprint) -> Option<&Embeddings> {
        self.open().find(|set| set.space.fingerprint == *model)
    }

    fn of_mut(&mut self, model: &Fingerprint) -> Option<&mut Embeddings> {
        self.open_mut().find(|set| set.space.fingerprint == *model)
    }

    /// The numbers of their models; 0, which is none's, where there is no set.
    fn models(&self) -> [i64; 2] {
        let number = |set: &Option<Embeddings>| set.as_ref().map_or(0, |set| set.model);
        [number(&self.serving), number(&self.next)]
    }
}

impl Store {
    /// Opens the set of a model's vectors: loads what it has, and queues what it has not.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn open_vectors(&mut self, space: &EmbeddingSpace) -> Result<(), IndexError> {
        self.mark()?;
        let (set, damaged) = Embeddings::load(&mut self.catalog, space, &self.files, self.settings.graph_threshold)?;
        if damaged > 0 {
            self.notices.push(format!("{damaged} stored embeddings were damaged, and are made again"));
        }
        let serves = self.sets.serving.as_ref().is_some_and(|serving| serving.space.fingerprint == space.fingerprint);
        if serves {
            self.sets.serving = Some(set);
            self.load_graph()?;
        } else {
            self.sets.next = Some(set);
        }
        Ok(())
    }

    /// Has snapshots compare with the vectors of an open set from now on, and closes the one that served.
    ///
    /// # Errors
    /// When the saved graph cannot be read or removed.
    pub fn serve_vectors(&mut self, model: &Fingerprint) -> Result<(), IndexError> {
        let next = self.sets.next.take();
        if let Some(next) = next.filter(|next| next.space.fingerprint == *model) {
            self.sets.serving = Some(next);
            self.load_graph()?;
        }
        Ok(())
    }

    /// Turns to a model at once.
    ///
    /// # Errors
    /// As [`Store::open_vectors`].
    pub fn use_model(&mut self, space: &EmbeddingSpace) -> Result<(), IndexError> {
        self.open_vectors(space)?;
        self.serve_vectors(&space.fingerprint)
    }

    /// Takes up the saved graph of the set that serves.
    fn load_graph(&mut self) -> Result<(), IndexError> {
        let folder = self.graph_folder();
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

    /// Of an open set: how many chunks have their vector, and how many are to have one.
    pub fn coverage(&self, model: &Fingerprint) -> (usize, usize) {
        let Some(set) = self.sets.of(model) else { return (0, 0) };
        (set.vectors.len(), self.embeddable_by(set.space.takes_private))
    }

    /// How many texts wait to be embedded.
    pub fn pending(&self, model: &Fingerprint) -> usize {
        self.sets.of(model).map_or(0, Embeddings::waiting)
    }

    /// Takes the next texts out of the queue, at most `limit`. Each must come back through [`Store::embedded`] or
    /// [`Store::requeue`].
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn take_pending(&mut self, model: &Fingerprint, limit: usize) -> Result<Vec<PendingText>, IndexError> {
        let Some(set) = self.sets.of_mut(model) else { return Ok(Vec::new()) };
        let taken = set.take(limit);
        self.texts_of(taken)
    }

    /// Sets the texts in the queue aside, all but this many of the newest.
    pub fn set_bulk_aside(&mut self, model: &Fingerprint, newest: usize) -> Vec<ContentHash> {
        self.sets.of_mut(model).map(|set| set.set_bulk_aside(newest)).unwrap_or_default()
    }

    /// Sets texts aside, whether they wait now or later.
    pub fn set_aside(&mut self, model: &Fingerprint, contents: &[ContentHash]) {
        if let Some(set) = self.sets.of_mut(model) {
            set.set_aside(contents);
        }
    }

    /// How many of the texts that wait were set aside.
    pub fn aside(&self, model: &Fingerprint) -> usize {
        self.sets.of(model).map_or(0, Embeddings::aside)
    }

    /// Those of these texts that wait.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn pending_texts(&self, model: &Fingerprint, contents: &[ContentHash]) -> Result<Vec<PendingText>, IndexError> {
        let Some(set) = self.sets.of(model) else { return Ok(Vec::new()) };
        self.texts_of(set.places(contents))
    }

    /// The texts of chunks: file, row and content of each.
    fn texts_of(&self, chunks: Vec<(u32, u64, ContentHash)>) -> Result<Vec<PendingText>, IndexError> {
        let mut pending = Vec::with_capacity(chunks.len());
        for (file, row, content) in chunks {
            let (Some(file), Some(text)) = (self.files.get(file), self.catalog.chunk(row)?) else { continue };
            pending.push(PendingText { content, document: text.document(file) });
        }
        Ok(pending)
    }

    /// Keeps embeddings, and gives them to every chunk that waits for them.
    ///
    /// # Errors
    /// When the catalog refuses.
    pub fn embedded(
        &mut self,
        model: &Fingerprint,
        embeddings: Vec<(ContentHash, EmbeddedText)>,
    ) -> Result<(), IndexError> {
        self.mark()?;
        match self.sets.of_mut(model) {
            Some(set) => set.keep(&mut self.catalog, embeddings),
            None => Ok(()),
        }
    }

    /// Puts texts that could not be embedded back into the queue, behind all others.
    pub fn requeue(&mut self, model: &Fingerprint, contents: &[ContentHash]) {
        if let Some(set) = self.sets.of_mut(model) {
            set.requeue(contents);
        }
    }

    /// The vectors of now, when they should have a graph and have none that serves.
    pub fn wants_graph(&self) -> Option<VectorSet> {
        self.sets.serving.as_ref().map(|set| &set.vectors).filter(|vectors| vectors.wants_graph()).cloned()
    }

    /// Takes a graph that was built from [`Store::wants_graph`].
    pub fn use_graph(&mut self, graph: Arc<Graph>) {
        if let Some(set) = &mut self.sets.serving {
            set.vectors = set.vectors.with_graph(graph);
        }
    }

    /// Where the graph is saved.
    pub fn graph_folder(&self) -> PathBuf {
        self.folder.join("graph")
    }

    /// The texts whose embeddings are in use.
    pub(super) fn live_contents(&self) -> HashSet<ContentHash> {
        self.files.iter().flat_map(|file| &file.chunks).filter_map(|chunk| chunk.content).collect()
    }

    /// Drops damaged embeddings, and queues their texts. Searches go on with what was read before.
    ///
    /// # Errors
    /// When the catalog refuses.
    pub(crate) fn embed_again(&mut self, damaged: &[EmbeddingId]) -> Result<(), IndexError> {
        self.mark()?;
        self.catalog.drop_vectors(damaged)?;
        let contents: HashSet<ContentHash> = damaged.iter().map(|damaged| damaged.content).collect();
        for set in self.sets.open_mut() {
            set.wait_again(&self.catalog, &self.files, &contents)?;
        }
        Ok(())
    }

    /// Saves the graph again, after its file was damaged.
    ///
    /// # Errors
    /// When the disk refuses to remove the file.
    pub fn save_graph(&self) -> Result<(), IndexError> {
        remove(&self.graph_folder())?;
        let graph = self.sets.serving.as_ref().and_then(|set| set.vectors.graph());
        if let Some(graph) = graph
            && let Err(error) = graph.save(&self.graph_folder())
        {
            tracing::warn!("the graph could not be saved, the next start builds it again: {error}");
        }
        Ok(())
    }

    /// Drops embeddings, unless they have come into use.
    ///
    /// # Errors
    /// When the catalog refuses.
    pub(crate) fn drop_unused(&mut self, embeddings: &[EmbeddingId]) -> Result<(), IndexError> {
        self.mark()?;
        let live = self.live_contents();
        let unused = embeddings.iter().filter(|embedding| !live.contains(&embedding.content));
        self.catalog.drop_vectors(&unused.copied().collect::<Vec<_>>())?;
        self.count_kept()
    }

    /// Drops embeddings that no chunk has.
    ///
    /// # Errors
    /// When the catalog refuses.
    pub fn prune_vectors(&mut self) -> Result<(), IndexError> {
        self.mark()?;
        self.catalog.prune_vectors()?;
        crash::point("embeddings-pruned");
        self.count_kept()
    }

    /// How many embeddings are kept of models whose sets are not open.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn kept_vectors(&self) -> Result<usize, IndexError> {
        Ok(self.catalog.count_others(self.sets.models())?)
    }

    /// Drops the embeddings of models whose sets are not open. Says how many there were.
    ///
    /// # Errors
    /// When the catalog refuses.
    pub fn drop_kept_vectors(&mut self) -> Result<usize, IndexError> {
        self.mark()?;
        Ok(self.catalog.drop_others(self.sets.models())?)
    }

    /// Drops the embeddings of texts that no chunk has any more, and writes the files of the stores anew without what was deleted: what is
    /// left of it is in the catalog's log, until that is emptied. Says how many embeddings there were.
    ///
    /// # Errors
    /// When the catalog refuses.
    pub fn forget(&mut self, contents: &[ContentHash]) -> Result<usize, IndexError> {
        self.mark()?;
        let live = self.live_contents();
        let contents: Vec<ContentHash> = contents.iter().filter(|content| !live.contains(content)).copied().collect();
        self.sets.open_mut().for_each(|set| set.forget(&contents));
        let dropped = self.catalog.drop_contents(&contents)?;
        crash::point("embeddings-forgotten");
        self.count_kept()?;
        self.keyword.rewrite()?;
        self.catalog.rewrite()?;
        Ok(dropped)
    }

    fn count_kept(&mut self) -> Result<(), IndexError> {
        self.sets.open_mut().try_for_each(|set| set.count_kept(&self.catalog))
    }

    /// Whether so many embeddings may be of no use that a check should drop some.
    pub fn has_many_unused(&self) -> bool {
        self.sets.open().any(|set| set.kept() > 2 * set.vectors.len() + MANY_UNUSED)
    }
}
