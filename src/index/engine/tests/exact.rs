//! An engine in memory that says what is right: every live chunk is looked at, for every question. For tests.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::{
    ChangeBatch, ChunkEntry, ChunkText, Damage, Engine, EngineError, FIELDS, Field, FileEntry, FileSet, FileTable,
    FileUpdate, Like, LikeWord, PendingText, PreparedWords, QueryVector, Reader, ScoredChunk, Upkeep, WeighedTerm,
    WeighedTerms, WordQuery, Writer, rounded, rounded_length,
};
use crate::base::config::StemmerLanguage;
use crate::base::path::VaultPath;
use crate::models::{ContentHash, EmbeddedText, EmbeddingSpace, Fingerprint, PackedTokens};
use crate::text::derive::ChunkId;
use crate::text::derive::words::{BESIDE, without_language};
use crate::vault::disk::Stamp;

mod reading;

/// A chunk, whole.
#[derive(Debug, Clone)]
struct ExactChunk {
    text: ChunkText,
    /// The words of body, heading and own text, each with its position.
    words: [Vec<(String, usize)>; FIELDS],
    /// Who speak.
    speakers: Vec<String>,
    vector: Option<Vec<f32>>,
}

/// One state of all.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExactReader {
    generation: u64,
    files: FileTable,
    metadata: HashMap<u32, String>,
    chunks: HashMap<u64, ExactChunk>,
    model: Option<Fingerprint>,
    /// What is kept of the tokens of texts that have their vector.
    tokens: HashMap<ContentHash, PackedTokens>,
    skipped: BTreeMap<String, String>,
    problems: HashMap<u32, Vec<String>>,
}

/// What is kept of a vault.
#[derive(Debug, Default)]
struct ExactStores {
    now: ExactReader,
    sets: HashMap<Fingerprint, ExactSet>,
    /// The set that serves, and the one that is open beside it.
    serving: Option<Fingerprint>,
    next: Option<Fingerprint>,
    last_row: u64,
}

/// The vectors of one model.
#[derive(Debug, Default)]
struct ExactSet {
    vectors: HashMap<ContentHash, Vec<f32>>,
    tokens: HashMap<ContentHash, PackedTokens>,
    /// Whether private notes are kept from the model.
    withholds_private: bool,
    /// What was taken and has not come back.
    taken: HashSet<ContentHash>,
}

impl ExactSet {
    /// The vector of a chunk, as far as its file lets it have one.
    fn vector(&self, private: bool, content: Option<ContentHash>) -> Option<Vec<f32>> {
        content.filter(|_| !(self.withholds_private && private)).and_then(|content| self.vectors.get(&content)).cloned()
    }
}

/// The engine, which has its stores while they are closed.
#[derive(Debug)]
pub(crate) struct ExactEngine {
    language: StemmerLanguage,
    closed: Arc<Mutex<ExactStores>>,
}

/// The stores, open. Their rows are unlike those of others: a chunk that is brought in again has another one.
#[derive(Debug)]
pub(crate) struct ExactWriter {
    language: StemmerLanguage,
    stores: ExactStores,
    closed: Arc<Mutex<ExactStores>>,
}

impl ExactEngine {
    /// One without notes.
    pub(crate) fn new(language: StemmerLanguage) -> Self {
        Self { language, closed: Arc::default() }
    }

    fn closed(&self) -> MutexGuard<'_, ExactStores> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine for ExactEngine {
    fn location(&self) -> String {
        "memory".into()
    }

    fn open(&self, _: bool) -> Result<Box<dyn Writer>, EngineError> {
        let (language, mut stores) = (self.language, std::mem::take(&mut *self.closed()));
        (stores.serving, stores.next, stores.now.model) = (None, None, None);
        stores.now.chunks.values_mut().for_each(|chunk| chunk.vector = None);
        Ok(Box::new(ExactWriter { language, stores, closed: Arc::clone(&self.closed) }))
    }

    fn clear(&self, _: &Damage) -> Result<(), EngineError> {
        *self.closed() = ExactStores::default();
        Ok(())
    }
}

fn words(text: &str) -> Vec<(String, usize)> {
    let mut position = 0;
    let split = text.split(' ').filter(|word| !word.is_empty()).map(|word| match word.strip_prefix(BESIDE) {
        Some(whole) => (whole.to_owned(), position),
        None => {
            position += 1;
            (word.to_owned(), position - 1)
        }
    });
    split.collect()
}

impl ExactStores {
    fn put(&mut self, update: &FileUpdate) {
        self.remove(&update.path);
        self.last_row += 1;
        let (file, mut chunks) = (self.last_row as u32, Vec::new());
        for (at, new) in update.chunks.iter().enumerate() {
            self.last_row += 1;
            let near = &update.chunks[at.saturating_sub(1)..(at + 2).min(update.chunks.len())];
            let near = || near.iter().map(|near| &near.own);
            let body: Vec<&str> = near().map(|words| words.stemmed.as_str()).collect();
            let text = ChunkText {
                row: self.last_row,
                file,
                id: new.chunk.id,
                heading_path: new.chunk.heading_path.clone(),
                text: new.chunk.text.clone(),
                body_start: new.chunk.body_start,
                prose: new.chunk.prose.clone(),
                lines: (new.chunk.lines.0 as u32, new.chunk.lines.1 as u32),
            };
            let set = self.serving.as_ref().and_then(|serving| self.sets.get(serving));
            let vector = set.and_then(|set| set.vector(update.private, new.content));
            let words = [words(&body.join(" ")), words(&new.heading.stemmed), words(&new.own.plain)];
            self.now.chunks.insert(self.last_row, ExactChunk { text, words, speakers: new.speakers.clone(), vector });
            chunks.push(ChunkEntry {
                row: self.last_row,
                id: new.chunk.id,
                line: new.chunk.lines.0 as u32,
                content: new.content,
                words: [near().map(|words| words.count).sum(), new.heading.count, new.own.count],
            });
        }
        self.now.problems.insert(file, update.problems.clone());
        self.now.metadata.insert(file, update.metadata.clone());
        self.now.files.insert(Arc::new(FileEntry { id: file, info: update.info.clone(), chunks }));
    }

    fn remove(&mut self, path: &VaultPath) {
        let Some(file) = self.now.files.at(path.as_str()).cloned() else { return };
        for chunk in &file.chunks {
            self.now.chunks.remove(&chunk.row);
        }
        self.now.metadata.remove(&file.id);
        self.now.problems.remove(&file.id);
        self.now.files.remove(file.id);
    }

    fn each_entry(&self) -> impl Iterator<Item = (Arc<FileEntry>, ChunkEntry)> + use<> {
        let files: Vec<Arc<FileEntry>> = self.now.files.iter().cloned().collect();
        files.into_iter().flat_map(|file| file.chunks.clone().into_iter().map(move |chunk| (Arc::clone(&file), chunk)))
    }

    /// A set, if it is open.
    fn open_set(&self, model: &Fingerprint) -> Option<&ExactSet> {
        let is_open = [&self.serving, &self.next].into_iter().flatten().any(|open| open == model);
        self.sets.get(model).filter(|_| is_open)
    }

    /// The texts without a vector, each once.
    fn waiting(&self, model: &Fingerprint) -> Vec<PendingText> {
        let Some(set) = self.open_set(model) else { return Vec::new() };
        let mut waiting: HashMap<ContentHash, PendingText> = HashMap::new();
        for (file, entry) in self.each_entry() {
            let (Some(content), chunk) = (entry.content, &self.now.chunks[&entry.row]) else { continue };
            if !(set.vectors.contains_key(&content) || set.withholds_private && file.private) {
                waiting.insert(content, PendingText { content, document: chunk.text.document(&file) });
            }
        }
        waiting.into_values().collect()
    }

    /// Gives each chunk its vector of what serves.
    fn give_vectors(&mut self) {
        let Some(serving) = &self.serving else { return };
        let Some(set) = self.sets.get(serving) else { return };
        for (file, entry) in self.each_entry() {
            let chunk = self.now.chunks.get_mut(&entry.row).expect("an entry has a chunk");
            chunk.vector = set.vector(file.private, entry.content);
        }
        self.now.tokens = self.sets.get(serving).map(|set| set.tokens.clone()).unwrap_or_default();
    }
}

impl Writer for ExactWriter {
    fn stemmer(&self) -> StemmerLanguage {
        self.language
    }

    fn files(&self) -> &FileTable {
        &self.stores.now.files
    }

    fn generation(&self) -> u64 {
        self.stores.now.generation
    }

    fn apply(&mut self, batch: ChangeBatch) -> Result<(), EngineError> {
        batch.check(self)?;
        let ChangeBatch { updates, removed, .. } = batch;
        self.stores.now.generation += u64::from(!(updates.is_empty() && removed.is_empty()));
        removed.iter().for_each(|path| self.stores.remove(path));
        updates.iter().for_each(|update| self.stores.put(update));
        Ok(())
    }

    fn touch(&mut self, files: &[(VaultPath, Stamp, i64)]) -> Result<(), EngineError> {
        for (path, stamp, read_ns) in files {
            let Some(mut file) = self.file(path).map(|file| FileEntry::clone(file)) else { continue };
            (file.info.stamp, file.info.read_ns) = (*stamp, *read_ns);
            self.stores.now.files.insert(Arc::new(file));
        }
        Ok(())
    }

    fn set_skipped(&mut self, places: Option<&[VaultPath]>, skipped: &[(String, String)]) -> Result<bool, EngineError> {
        let known = &mut self.stores.now.skipped;
        let before = known.len();
        let is_below = |path: &str| {
            let mut places = places.unwrap_or_default().iter();
            places.any(|place| path == place.as_str() || path.starts_with(&format!("{place}/")))
        };
        known.retain(|path, _| places.is_some() && !is_below(path));
        let gone = before > known.len();
        known.extend(skipped.iter().cloned());
        Ok(gone || !skipped.is_empty())
    }

    fn open_vectors(&mut self, space: &EmbeddingSpace) -> Result<(), EngineError> {
        let stores = &mut self.stores;
        let set = stores.sets.entry(space.fingerprint.clone()).or_default();
        set.taken.clear();
        set.withholds_private = !space.takes_private;
        if stores.serving.as_ref() != Some(&space.fingerprint) {
            stores.next = Some(space.fingerprint.clone());
        }
        stores.give_vectors();
        Ok(())
    }

    fn serve_vectors(&mut self, model: &Fingerprint) -> Result<(), EngineError> {
        let stores = &mut self.stores;
        stores.next = None;
        (stores.serving, stores.now.model) = (Some(model.clone()), Some(model.clone()));
        stores.give_vectors();
        Ok(())
    }

    fn coverage(&self, model: &Fingerprint) -> (usize, usize) {
        let Some(set) = self.stores.open_set(model) else { return (0, 0) };
        let entries = self.stores.each_entry().filter(|(_, entry)| entry.content.is_some());
        let wanted = entries.filter(|(file, _)| !(set.withholds_private && file.private));
        wanted.fold((0, 0), |(has, of), (file, entry)| {
            (has + usize::from(set.vector(file.private, entry.content).is_some()), of + 1)
        })
    }

    fn pending(&self, model: &Fingerprint) -> usize {
        self.stores.waiting(model).len()
    }

    fn pending_among(&self, model: &Fingerprint, contents: &HashSet<ContentHash>) -> usize {
        self.stores.waiting(model).iter().filter(|text| contents.contains(&text.content)).count()
    }

    fn take_bulk(&mut self, model: &Fingerprint, newest: usize, limit: usize) -> Result<Vec<PendingText>, EngineError> {
        let mut pending = self.stores.waiting(model);
        let Some(set) = self.stores.sets.get_mut(model) else { return Ok(Vec::new()) };
        pending.retain(|text| !set.taken.contains(&text.content));
        pending.drain(..newest.min(pending.len()));
        pending.truncate(limit);
        set.taken.extend(pending.iter().map(|text| text.content));
        Ok(pending)
    }

    fn embedded(
        &mut self,
        model: &Fingerprint,
        embeddings: Vec<(ContentHash, EmbeddedText)>,
    ) -> Result<(), EngineError> {
        let stores = &mut self.stores;
        let waiting: HashSet<_> = stores.waiting(model).into_iter().map(|text| text.content).collect();
        let is_open = stores.open_set(model).is_some();
        let Some(set) = stores.sets.get_mut(model).filter(|_| is_open) else { return Ok(()) };
        for (content, EmbeddedText { vector, tokens }) in embeddings {
            set.taken.remove(&content);
            if !waiting.contains(&content) {
                continue;
            }
            set.tokens.insert(content, tokens);
            set.vectors.insert(content, rounded(&vector).iter().map(|value| value.to_f32()).collect());
        }
        stores.give_vectors();
        Ok(())
    }

    fn requeue(&mut self, model: &Fingerprint, contents: &[ContentHash]) {
        if let Some(set) = self.stores.sets.get_mut(model) {
            set.taken.retain(|taken| !contents.contains(taken));
        }
    }

    fn publish(&mut self) -> Result<Arc<dyn Reader>, EngineError> {
        Ok(Arc::new(self.stores.now.clone()))
    }

    fn publish_without_words(&mut self) -> Result<Arc<dyn Reader>, EngineError> {
        self.publish()
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = self.stores;
        Ok(())
    }

    fn discard(self: Box<Self>) -> Result<(), EngineError> {
        Ok(())
    }
}

impl Upkeep for ExactWriter {
    fn forget(&mut self, contents: &[ContentHash]) -> Result<usize, EngineError> {
        let live: HashSet<_> = self.stores.each_entry().filter_map(|(_, entry)| entry.content).collect();
        let gone: Vec<&ContentHash> = contents.iter().filter(|content| !live.contains(content)).collect();
        let drop_of = |set: &mut ExactSet| {
            gone.iter().for_each(|content| drop(set.tokens.remove(content)));
            gone.iter().filter(|content| set.vectors.remove(content).is_some()).count()
        };
        Ok(self.stores.sets.values_mut().map(drop_of).sum())
    }
}
