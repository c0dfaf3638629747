//! The set of a model's embeddings: which chunks have one, which wait for one, and in what order; and the two sets that are open, the one that
//! serves and the next one, which is being filled beside it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::catalog::Catalog;
use super::store::Store;
use super::vectors::{Graph, Row, VectorSet};
use crate::index::engine::{ChunkEntry, ContentHash, EngineError, FileEntry, FileTable, PendingText, rounded};
use crate::models::{EmbeddedText, EmbeddingSpace, Fingerprint};

/// The embeddings of one model.
pub(super) struct Embeddings {
    pub(super) model: i64,
    pub(super) space: EmbeddingSpace,
    pub(super) vectors: VectorSet,
    building: Option<GraphBuild>,
    /// Chunks without their embedding, by what is to be embedded: one text may stand in many.
    waiting: HashMap<ContentHash, Vec<(u64, u32)>>,
    /// What is to be embedded next. Places of chunks that are gone may be left in it.
    queue: BTreeMap<QueuePosition, ContentHash>,
    /// What was taken out of the queue and has not come back.
    taken: HashSet<ContentHash>,
    /// Counts how often texts were put back.
    turn: u32,
}

/// A graph that is being built. Dropping it stops that.
struct GraphBuild {
    thread: Option<JoinHandle<Option<Graph>>>,
    stop: Arc<AtomicBool>,
}

impl Drop for GraphBuild {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// A chunk's place in the queue: newest files first, in the order of their text, and behind all of them those that bring many
/// texts at once, for the same reason in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct QueuePosition {
    late: bool,
    newest: Reverse<i64>,
    file: u32,
    row: u64,
}

impl QueuePosition {
    /// Behind all others, and behind those that were put there in an earlier turn: what fails again is not in the way of what failed once.
    fn last(turn: u32, file: u32, row: u64) -> Self {
        Self { late: true, newest: Reverse(i64::MIN + i64::from(u32::MAX - turn)), file, row }
    }
}

/// A file that brings more texts than this waits for the others: at a hundred a second it keeps the model for long.
const MANY_TEXTS: usize = 500;

impl Embeddings {
    /// Reads what a model has embedded of these files, and queues what it has not. Says also how many embeddings were damaged, and are
    /// made anew.
    pub(super) fn load(
        catalog: &mut Catalog,
        space: &EmbeddingSpace,
        files: &FileTable,
        graph_threshold: usize,
    ) -> Result<(Self, usize), EngineError> {
        let model = space.fingerprint.number();
        let (mut rows, damaged) = catalog.vectors(model, space.dimension)?;
        if !space.takes_private {
            // Of before they were private, or of the same text elsewhere: what is found is not to hang on that.
            rows.retain(|row| files.get(row.file).is_some_and(|file| !file.private));
        }
        let mut set = Self {
            model,
            space: space.clone(),
            vectors: VectorSet::new(space.dimension, graph_threshold).apply(&[], rows)?,
            building: None,
            waiting: HashMap::new(),
            queue: BTreeMap::new(),
            taken: HashSet::new(),
            turn: 0,
        };
        for file in files.iter().filter(|file| space.takes_private || !file.private) {
            let without = file.chunks.iter().filter(|chunk| !set.vectors.contains(chunk.row));
            let texts: Vec<_> = without.filter_map(|chunk| Some((chunk.content?, chunk.row))).collect();
            set.wait(file.id, file.stamp.mtime_ns, &texts);
        }
        Ok((set, damaged))
    }

    /// Has a graph built where one is wanted, on a thread of its own, and takes it up once it is there; says whether it did.
    pub(super) fn build_graph(&mut self) -> bool {
        match &mut self.building {
            Some(build) => {
                let Some(thread) = build.thread.take_if(|thread| thread.is_finished()) else { return false };
                // One that failed unexpectedly is not tried again.
                let Ok(Some(graph)) = thread.join() else { return false };
                self.vectors = self.vectors.with_graph(Arc::new(graph));
                self.building = None;
                return true;
            }
            None if self.vectors.wants_graph() => {
                let (vectors, stop) = (self.vectors.clone(), Arc::<AtomicBool>::default());
                let stopped = Arc::clone(&stop);
                let thread = Some(std::thread::spawn(move || vectors.build_graph(&stopped)));
                self.building = Some(GraphBuild { thread, stop });
            }
            None => {}
        }
        false
    }

    /// Follows a change of chunks: takes embeddings that are known already, and puts the other texts in the queue.
    pub(super) fn change(
        &mut self,
        catalog: &Catalog,
        gone: &[ChunkEntry],
        added: &[(&FileEntry, Vec<ChunkEntry>)],
    ) -> Result<(), EngineError> {
        for chunk in gone {
            let Some(content) = &chunk.content else { continue };
            if let Some(rows) = self.waiting.get_mut(content) {
                rows.retain(|(row, _)| *row != chunk.row);
                if rows.is_empty() {
                    self.waiting.remove(content);
                    self.taken.remove(content);
                }
            }
        }
        let mut rows = Vec::new();
        for (file, chunks) in added {
            let mut texts = Vec::new();
            for chunk in chunks {
                let Some(content) = chunk.content else { continue };
                match catalog.vector(self.model, self.vectors.dims(), &content)? {
                    Some(vector) => rows.push(Row { chunk: chunk.row, file: file.id, vector }),
                    None => texts.push((content, chunk.row)),
                }
            }
            self.wait(file.id, file.stamp.mtime_ns, &texts);
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
            self.waiting.entry(*content).or_default().push((*row, file));
            self.queue.insert(QueuePosition { late, newest: Reverse(mtime_ns), file, row: *row }, *content);
        }
    }

    /// How many texts wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Takes the next texts out of the queue: file, row and content of each.
    pub(super) fn take(&mut self, limit: usize) -> Vec<(u32, u64, ContentHash)> {
        let mut next = Vec::new();
        while next.len() < limit
            && let Some((_, content)) = self.queue.pop_first()
        {
            let Some((row, file)) = self.waiting.get(&content).and_then(|rows| rows.first()) else { continue };
            if self.taken.insert(content) {
                next.push((*file, *row, content));
            }
        }
        next
    }

    /// Keeps embeddings in the catalog, and gives them to every chunk that waits for them. What none waits for may have been forgotten
    /// since it was taken.
    pub(super) fn keep(
        &mut self,
        catalog: &mut Catalog,
        mut embeddings: Vec<(ContentHash, EmbeddedText)>,
    ) -> Result<(), EngineError> {
        embeddings.retain(|(content, _)| {
            self.taken.remove(content);
            self.waiting.contains_key(content)
        });
        catalog.put_vectors(self.model, &embeddings)?;
        let mut rows = Vec::new();
        for (content, embedding) in embeddings {
            let vector = rounded(&embedding.vector);
            for (chunk, file) in self.waiting.remove(&content).unwrap_or_default() {
                rows.push(Row { chunk, file, vector: vector.clone() });
            }
        }
        self.vectors = self.vectors.apply(&[], rows)?;
        Ok(())
    }

    /// Puts texts that could not be embedded back into the queue, behind all others.
    pub(super) fn requeue(&mut self, contents: &[ContentHash]) {
        self.turn = self.turn.saturating_add(1);
        for content in contents {
            self.taken.remove(content);
            if let Some((row, file)) = self.waiting.get(content).and_then(|rows| rows.first()) {
                self.queue.insert(QueuePosition::last(self.turn, *file, *row), *content);
            }
        }
    }
}

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
}
