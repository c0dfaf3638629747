//! Which chunks have an embedding, which wait for one, and in what order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use half::f16;

use super::catalog::{Catalog, Vectors, model_number};
use super::damage::{IndexError, remove};
use super::store::Store;
use super::vectors::{Graph, Row, VectorSet};
use crate::engine::{ChunkEntry, ContentHash, PendingText, rounded};
use crate::fs::crash;
use crate::models::{Embedder, Fingerprint};

/// The embeddings of one model.
pub(super) struct Embeddings {
    model: i64,
    pub(super) fingerprint: Fingerprint,
    /// Whether the model is given private notes.
    takes_private: bool,
    pub(super) vectors: VectorSet,
    /// Chunks without their embedding, by what is to be embedded: one text may stand in many.
    waiting: HashMap<ContentHash, Vec<(u64, u32)>>,
    /// What is to be embedded next.
    queue: BTreeMap<QueuePlace, ContentHash>,
    /// Counts how often texts were put back.
    turn: u32,
    /// Embeddings in the catalog, those that no chunk has any more included.
    kept: usize,
    /// Texts that are to leave nothing behind: the model may be at one of them still.
    forgotten: HashSet<ContentHash>,
}

/// A chunk's place in the queue: newest files first, in the order of their text, and behind all of them those that bring many
/// texts at once, for the same reason in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct QueuePlace {
    late: bool,
    newest: Reverse<i64>,
    file: u32,
    row: u64,
}

impl QueuePlace {
    /// Behind all others, and behind those that were put there in an earlier turn: what fails again is not in the way of what failed once.
    fn last(turn: u32, file: u32, row: u64) -> Self {
        Self { late: true, newest: Reverse(i64::MIN + i64::from(u32::MAX - turn)), file, row }
    }
}

/// Chunks of a file that are new, or have another content.
pub(super) struct Added {
    pub(super) file: u32,
    pub(super) mtime_ns: i64,
    pub(super) chunks: Vec<ChunkEntry>,
}

/// A file that brings more texts than this waits for the others: at a hundred a second it keeps the model for long.
const MANY_TEXTS: usize = 500;

/// Minimum number of embeddings that no chunk has, and minimum share, of the chunks, at which they are dropped before the next check.
const MANY_UNUSED: usize = 10_000;

impl Embeddings {
    /// Follows a change of chunks: takes embeddings that are known already, and puts the other texts in the queue.
    pub(super) fn change(&mut self, catalog: &Catalog, gone: &[ChunkEntry], added: &[Added]) -> Result<(), IndexError> {
        for chunk in gone {
            let Some(content) = &chunk.content else { continue };
            if let Some(rows) = self.waiting.get_mut(content) {
                rows.retain(|(row, _)| *row != chunk.row);
                match rows.first() {
                    None => {
                        self.waiting.remove(content);
                    }
                    // Its own place in the queue may be past: whoever is first answers for the text.
                    Some((row, file)) => {
                        self.queue.insert(QueuePlace::last(self.turn, *file, *row), *content);
                    }
                }
            }
        }
        let mut rows = Vec::new();
        for Added { file, mtime_ns, chunks } in added {
            let mut texts = Vec::new();
            for chunk in chunks {
                let Some(content) = chunk.content else { continue };
                match if self.kept > 0 { catalog.vector(self.model, self.vectors.dims(), &content)? } else { None } {
                    Some(vector) => rows.push(Row { chunk: chunk.row, file: *file, vector }),
                    None => texts.push((content, chunk.row)),
                }
            }
            self.wait(*file, *mtime_ns, &texts);
        }
        let gone: Vec<u64> = gone.iter().map(|chunk| chunk.row).collect();
        if !(gone.is_empty() && rows.is_empty()) {
            self.vectors = self.vectors.apply(&gone, rows)?;
        }
        Ok(())
    }

    /// Puts texts of a file into the queue.
    fn wait(&mut self, file: u32, mtime_ns: i64, texts: &[(ContentHash, u64)]) {
        let late = texts.len() > MANY_TEXTS;
        for (content, row) in texts {
            // Whoever is first answers for the text, and should not be one that waits for all others.
            let rows = self.waiting.entry(*content).or_default();
            rows.insert(if late { rows.len() } else { 0 }, (*row, file));
            self.queue.insert(QueuePlace { late, newest: Reverse(mtime_ns), file, row: *row }, *content);
        }
    }
}

impl Store {
    /// Turns to a model: loads what it has embedded, and queues what it has not.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn use_model(&mut self, embedder: &dyn Embedder) -> Result<(), IndexError> {
        self.mark()?;
        let dimension = embedder.dimension();
        let model = model_number(embedder.fingerprint().as_str());
        let Vectors { mut rows, known, damaged } = self.catalog.vectors(model, dimension)?;
        let takes_private = embedder.takes_private();
        if !takes_private {
            // Of before they were private, or of the same text elsewhere: what is found is not to hang on that.
            rows.retain(|row| self.files().get(row.file).is_some_and(|file| !file.private));
        }
        if damaged > 0 {
            self.notices.push(format!("{damaged} stored embeddings were damaged, and are made anew"));
        }
        let forgotten = HashSet::new();
        let vectors = VectorSet::new(dimension, self.settings.graph_threshold).apply(&[], rows)?;
        let mut embeddings = Embeddings {
            model,
            fingerprint: embedder.fingerprint().clone(),
            takes_private,
            vectors,
            waiting: HashMap::new(),
            queue: BTreeMap::new(),
            turn: 0,
            kept: known,
            forgotten,
        };
        for file in self.files().iter().filter(|file| takes_private || !file.private) {
            let without = file.chunks.iter().filter(|chunk| !embeddings.vectors.contains(chunk.row));
            let texts: Vec<_> = without.filter_map(|chunk| Some((chunk.content?, chunk.row))).collect();
            embeddings.wait(file.id, file.stamp.mtime_ns, &texts);
        }
        if embeddings.vectors.wants_graph() {
            match Graph::load(&self.graph_folder(), &embeddings.vectors) {
                Ok(graph) => embeddings.vectors = embeddings.vectors.with_graph(Arc::new(graph)),
                Err(error) if error.is_damage() => {
                    // Until the next one is saved, nothing is there to be found damaged again.
                    remove(&self.graph_folder())?;
                    self.notices.push(error.to_string());
                }
                Err(error) => tracing::info!("the saved graph is not used, and will be built anew: {error}"),
            }
        } else if embeddings.vectors.len() == self.embeddable_by(takes_private) {
            // The scan serves as well; what is saved would only take room.
            remove(&self.graph_folder())?;
        }
        self.embeddings = Some(embeddings);
        Ok(())
    }

    /// Whether private notes are kept from the model.
    pub(super) fn withholds_private(&self) -> bool {
        self.embeddings.as_ref().is_some_and(|embeddings| !embeddings.takes_private)
    }

    /// How many texts wait to be embedded.
    pub fn pending(&self) -> usize {
        self.embeddings.as_ref().map_or(0, |embeddings| embeddings.waiting.len())
    }

    /// Takes the next texts out of the queue, at most `limit`. Each must come back through [`Store::embedded`] or
    /// [`Store::requeue`].
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn take_pending(&mut self, limit: usize) -> Result<Vec<PendingText>, IndexError> {
        let Some(embeddings) = &mut self.embeddings else { return Ok(Vec::new()) };
        let mut taken = Vec::new();
        while let Some((QueuePlace { file, row, .. }, content)) = embeddings.queue.pop_first() {
            // Gone since, or the same text was taken from another chunk.
            let waits = embeddings.waiting.get(&content).is_some_and(|rows| rows.first() == Some(&(row, file)));
            if waits {
                taken.push((file, row, content));
                if taken.len() == limit {
                    break;
                }
            }
        }
        let mut pending = Vec::with_capacity(taken.len());
        for (file, row, content) in taken {
            let (Some(file), Some(text)) = (self.files().get(file), self.catalog.chunk(row)?) else { continue };
            pending.push(PendingText { content, document: text.document(&file.title) });
        }
        Ok(pending)
    }

    /// Keeps embeddings, and gives them to every chunk that waits for them.
    ///
    /// # Errors
    /// When the catalog refuses.
    pub fn embedded(&mut self, mut vectors: Vec<(ContentHash, Vec<f16>)>) -> Result<(), IndexError> {
        self.mark()?;
        let Some(embeddings) = &mut self.embeddings else { return Ok(()) };
        vectors
            .retain(|(content, _)| embeddings.waiting.contains_key(content) || !embeddings.forgotten.contains(content));
        self.catalog.put_vectors(embeddings.model, &vectors)?;
        let count = vectors.len();
        let mut rows = Vec::new();
        for (content, vector) in vectors {
            let vector = rounded(&vector);
            for (chunk, file) in embeddings.waiting.remove(&content).unwrap_or_default() {
                rows.push(Row { chunk, file, vector: vector.clone() });
            }
        }
        embeddings.vectors = embeddings.vectors.apply(&[], rows)?;
        embeddings.kept += count;
        Ok(())
    }

    /// Puts texts that could not be embedded back into the queue, behind all others.
    pub fn requeue(&mut self, contents: &[ContentHash]) {
        let Some(embeddings) = &mut self.embeddings else { return };
        embeddings.turn = embeddings.turn.saturating_add(1);
        for content in contents {
            if let Some((row, file)) = embeddings.waiting.get(content).and_then(|rows| rows.first()) {
                embeddings.queue.insert(QueuePlace::last(embeddings.turn, *file, *row), *content);
            }
        }
    }

    /// The vectors of now, when they should have a graph and have none that serves.
    pub fn wants_graph(&self) -> Option<VectorSet> {
        self.embeddings.as_ref().map(|embeddings| &embeddings.vectors).filter(|vectors| vectors.wants_graph()).cloned()
    }

    /// Takes a graph that was built from [`Store::wants_graph`].
    pub fn use_graph(&mut self, graph: Arc<Graph>) {
        if let Some(embeddings) = &mut self.embeddings {
            embeddings.vectors = embeddings.vectors.with_graph(graph);
        }
    }

    /// Where the graph is saved.
    pub fn graph_folder(&self) -> PathBuf {
        self.folder.join("graph")
    }

    /// The number of the model in use; 0, which is none's, without one.
    pub(super) fn model(&self) -> i64 {
        self.embeddings.as_ref().map_or(0, |embeddings| embeddings.model)
    }

    /// The texts whose embeddings are in use.
    pub(super) fn live_contents(&self) -> HashSet<ContentHash> {
        self.files().iter().flat_map(|file| &file.chunks).filter_map(|chunk| chunk.content).collect()
    }

    /// Drops damaged embeddings, given their row ids, and queues their texts. Searches go on with what was read before.
    ///
    /// # Errors
    /// When the catalog refuses.
    pub fn embed_again(&mut self, damaged: &[(i64, ContentHash)]) -> Result<(), IndexError> {
        self.mark()?;
        self.catalog.drop_vectors(&damaged.iter().map(|(row, _)| *row).collect::<Vec<_>>())?;
        let contents: HashSet<ContentHash> = damaged.iter().map(|(_, content)| *content).collect();
        let files = self.files().clone();
        let Some(embeddings) = &mut self.embeddings else { return Ok(()) };
        let takes_private = embeddings.takes_private;
        for file in files.iter().filter(|file| takes_private || !file.private) {
            let texts = file.chunks.iter().filter_map(|chunk| Some((chunk.content?, chunk.row)));
            let texts: Vec<_> = texts.filter(|(content, _)| contents.contains(content)).collect();
            embeddings.wait(file.id, file.stamp.mtime_ns, &texts);
        }
        Ok(())
    }

    /// Saves the graph again, after its file was damaged.
    ///
    /// # Errors
    /// When the disk refuses to remove the file.
    pub fn save_graph(&self) -> Result<(), IndexError> {
        remove(&self.graph_folder())?;
        let graph = self.embeddings.as_ref().and_then(|embeddings| embeddings.vectors.graph());
        if let Some(graph) = graph
            && let Err(error) = graph.save(&self.graph_folder())
        {
            tracing::warn!("the graph could not be saved, the next start builds it again: {error}");
        }
        Ok(())
    }

    /// Drops embeddings, given their row ids, unless they have come into use.
    ///
    /// # Errors
    /// When the catalog refuses.
    pub fn drop_unused(&mut self, rows: &[i64]) -> Result<(), IndexError> {
        self.mark()?;
        let (live, model) = (self.live_contents(), self.model());
        self.catalog.drop_unused(rows, |of, content| of != model || !live.contains(&content))?;
        self.count_kept()
    }

    /// Drops embeddings that no chunk has.
    ///
    /// # Errors
    /// When the catalog refuses.
    pub fn prune_vectors(&mut self) -> Result<(), IndexError> {
        if self.embeddings.is_none() {
            return Ok(());
        }
        self.mark()?;
        self.catalog.prune_vectors(self.model())?;
        crash::point("embeddings-pruned");
        self.count_kept()
    }

    /// Drops the embeddings of texts that no chunk has any more. Says how many there were.
    ///
    /// # Errors
    /// When the catalog refuses.
    pub fn forget(&mut self, contents: &[ContentHash]) -> Result<usize, IndexError> {
        self.mark()?;
        let live = self.live_contents();
        let contents: Vec<ContentHash> = contents.iter().filter(|content| !live.contains(content)).copied().collect();
        if let Some(embeddings) = &mut self.embeddings {
            embeddings.forgotten.extend(&contents);
        }
        let dropped = self.catalog.drop_contents(&contents)?;
        crash::point("embeddings-forgotten");
        self.count_kept()?;
        Ok(dropped)
    }

    fn count_kept(&mut self) -> Result<(), IndexError> {
        if let Some(embeddings) = &mut self.embeddings {
            embeddings.kept = self.catalog.count_vectors(embeddings.model)?;
        }
        Ok(())
    }

    /// Whether so many embeddings may be of no use that a check should drop some.
    pub fn has_many_unused(&self) -> bool {
        self.embeddings.as_ref().is_some_and(|embeddings| embeddings.kept > 2 * embeddings.vectors.len() + MANY_UNUSED)
    }
}
