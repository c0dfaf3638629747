//! An engine in memory that says what is right: every live chunk is looked at, for every question. For tests.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use half::f16;

use super::super::{
    ChunkEntry, ChunkText, Damage, Engine, EngineError, FIELDS, Field, FileEntry, FileSet, FileTable, FileUpdate, Like,
    LikeWord, PendingText, PreparedWords, QueryTerms, QueryVector, Reader, ScoredChunk, TermWeight, UpdatePart, Upkeep,
    WordQuery, Writer, background_count, rounded, rounded_length,
};
use crate::config::StemmerLanguage;
use crate::derive::words::BESIDE;
use crate::derive::{ChunkId, CommonWords};
use crate::models::{ContentHash, Embedder, Fingerprint};
use crate::path::VaultPath;
use crate::vault::Stamp;

/// A chunk, whole.
#[derive(Debug, Clone)]
struct ExactChunk {
    text: ChunkText,
    /// The words of body, heading and own text, each with its position.
    words: [Vec<(String, usize)>; FIELDS],
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
    skipped: BTreeMap<String, String>,
    problems: HashMap<u32, Vec<String>>,
}

/// What is kept of a vault.
#[derive(Debug, Default)]
struct ExactStores {
    now: ExactReader,
    vectors: HashMap<ContentHash, Vec<f32>>,
    /// Whether private notes are kept from the model.
    withholds_private: bool,
    /// What was taken and has not come back.
    taken: HashSet<ContentHash>,
    /// What is to leave nothing behind, though it may come back still.
    forgotten: HashSet<ContentHash>,
    next: u64,
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
        let (language, stores) = (self.language, std::mem::take(&mut *self.closed()));
        Ok(Box::new(ExactWriter { language, stores, closed: Arc::clone(&self.closed) }))
    }

    fn read(&self) -> Result<Arc<dyn Reader>, EngineError> {
        Ok(Arc::new(self.closed().now.clone()))
    }

    fn read_at_rest(&self) -> Result<Option<Arc<dyn Reader>>, EngineError> {
        self.read().map(Some)
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
    fn put(&mut self, part: &UpdatePart<'_>) {
        let (update, end) = (part.update, part.chunks.end);
        self.remove(&update.path);
        self.next += 1;
        let file = self.next as u32;
        let mut chunks = Vec::new();
        for (at, new) in update.chunks[..end].iter().enumerate() {
            self.next += 1;
            let near = at.saturating_sub(1)..(at + 2).min(end);
            let near = || update.chunks[near.clone()].iter().map(|near| &near.own);
            let body: Vec<&str> = near().map(|words| words.stemmed.as_str()).collect();
            let text = ChunkText {
                row: self.next,
                file,
                id: new.chunk.id,
                heading_path: new.chunk.heading_path.clone(),
                text: new.chunk.text.clone(),
                body_start: new.chunk.body_start,
                prose: new.chunk.prose.clone(),
                lines: (new.chunk.lines.0 as u32, new.chunk.lines.1 as u32),
            };
            let withheld = self.withholds_private && update.private;
            let vector = new.content.filter(|_| !withheld).and_then(|content| self.vectors.get(&content)).cloned();
            let words = [words(&body.join(" ")), words(&new.heading.stemmed), words(&new.own.plain)];
            self.now.chunks.insert(self.next, ExactChunk { text, words, vector });
            chunks.push(ChunkEntry {
                row: self.next,
                id: new.chunk.id,
                line: new.chunk.lines.0 as u32,
                content: new.content,
                words: [near().map(|words| words.count).sum(), new.heading.count, new.own.count],
            });
        }
        let (stamp, hash) = part.state();
        self.now.problems.insert(file, update.problems.clone());
        self.now.metadata.insert(file, update.metadata.clone());
        self.now.files.insert(Arc::new(FileEntry {
            id: file,
            path: update.path.clone(),
            stamp,
            hash,
            read_ns: update.read_ns,
            title: update.title.clone(),
            tags: update.tags.clone(),
            doubtful: update.doubtful.clone(),
            private: update.private,
            sources: update.sources.clone(),
            labels: update.labels.clone(),
            created_ms: update.created_ms,
            updated_ms: update.updated_ms,
            chunks,
        }));
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

    /// The texts without a vector, each once.
    fn waiting(&self) -> Vec<PendingText> {
        let mut waiting: HashMap<ContentHash, PendingText> = HashMap::new();
        for (file, entry) in self.each_entry() {
            let (Some(content), chunk) = (entry.content, &self.now.chunks[&entry.row]) else { continue };
            if chunk.vector.is_none() && self.now.model.is_some() && !(self.withholds_private && file.private) {
                waiting.insert(content, PendingText { content, document: chunk.text.document(&file.title) });
            }
        }
        waiting.into_values().collect()
    }
}

impl Writer for ExactWriter {
    fn stemmer(&self) -> StemmerLanguage {
        self.language
    }

    fn files(&self) -> &FileTable {
        &self.stores.now.files
    }

    fn apply(&mut self, updates: Vec<FileUpdate>, removed: &[VaultPath]) -> Result<(), EngineError> {
        removed.iter().for_each(|path| self.stores.remove(path));
        updates.iter().for_each(|update| self.stores.put(&UpdatePart::whole(update)));
        Ok(())
    }

    fn apply_part(&mut self, update: &FileUpdate, chunks: Range<usize>) -> Result<bool, EngineError> {
        let part = UpdatePart { update, chunks };
        let follows = part.follows(self.file(&update.path).map(Arc::as_ref));
        if follows {
            self.stores.put(&part);
        }
        Ok(follows)
    }

    fn touch(&mut self, files: &[(VaultPath, Stamp, i64)]) -> Result<(), EngineError> {
        for (path, stamp, read_ns) in files {
            let Some(mut file) = self.file(path).map(|file| FileEntry::clone(file)) else { continue };
            (file.stamp, file.read_ns) = (*stamp, *read_ns);
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

    fn use_model(&mut self, embedder: &dyn Embedder) -> Result<(), EngineError> {
        let stores = &mut self.stores;
        stores.taken.clear();
        stores.forgotten.clear();
        stores.withholds_private = !embedder.takes_private();
        if stores.now.model.as_ref() != Some(embedder.fingerprint()) {
            stores.now.model = Some(embedder.fingerprint().clone());
            stores.vectors.clear();
            stores.now.chunks.values_mut().for_each(|chunk| chunk.vector = None);
        }
        Ok(())
    }

    fn pending(&self) -> usize {
        self.stores.waiting().len()
    }

    fn take_pending(&mut self, limit: usize) -> Result<Vec<PendingText>, EngineError> {
        let mut pending = self.stores.waiting();
        pending.retain(|text| !self.stores.taken.contains(&text.content));
        pending.truncate(limit);
        self.stores.taken.extend(pending.iter().map(|text| text.content));
        Ok(pending)
    }

    fn embedded(&mut self, vectors: Vec<(ContentHash, Vec<f16>)>) -> Result<(), EngineError> {
        let stores = &mut self.stores;
        let live: HashSet<_> = stores.each_entry().filter_map(|(_, entry)| entry.content).collect();
        for (content, vector) in vectors {
            stores.taken.remove(&content);
            if stores.forgotten.contains(&content) && !live.contains(&content) {
                continue;
            }
            stores.vectors.insert(content, rounded(&vector).iter().map(|value| value.to_f32()).collect());
        }
        let embeddable = stores.each_entry().filter(|(file, _)| !(stores.withholds_private && file.private));
        for (_, entry) in embeddable.collect::<Vec<_>>() {
            let vector = entry.content.and_then(|content| stores.vectors.get(&content)).cloned();
            stores.now.chunks.get_mut(&entry.row).expect("an entry has a chunk").vector = vector;
        }
        Ok(())
    }

    fn requeue(&mut self, contents: &[ContentHash]) {
        self.stores.taken.retain(|taken| !contents.contains(taken));
    }

    fn publish(&mut self) -> Result<Arc<dyn Reader>, EngineError> {
        self.stores.now.generation += 1;
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
        self.stores.forgotten.extend(gone.iter().copied());
        Ok(gone.into_iter().filter(|content| self.stores.vectors.remove(content).is_some()).count())
    }
}

fn is_in(set: Option<&FileSet>, file: u32) -> bool {
    set.is_none_or(|set| set.contains(file))
}

/// The best `k` and all that tie with the last.
fn best(mut found: Vec<ScoredChunk>, k: usize) -> Vec<ScoredChunk> {
    found.sort_by(|one, two| two.score.total_cmp(&one.score));
    match k.checked_sub(1).map(|last| found.get(last).map(|last| last.score)) {
        None => Vec::new(),
        Some(None) => found,
        Some(Some(floor)) => found.into_iter().take_while(|found| found.score >= floor).collect(),
    }
}

impl Reader for ExactReader {
    fn generation(&self) -> u64 {
        self.generation
    }

    fn files(&self) -> &FileTable {
        &self.files
    }

    fn has_words(&self) -> bool {
        true
    }

    fn words<'a>(
        &'a self,
        query: &WordQuery,
        language: StemmerLanguage,
        scope: Option<&'a FileSet>,
    ) -> Result<Option<Box<dyn PreparedWords + 'a>>, EngineError> {
        let statistics = self.statistics(scope);
        let seen = || self.chunks.values().filter(|chunk| is_in(scope, chunk.text.file));
        let common = CommonWords::of(language);
        let mut present = HashSet::new();
        let weight = |(field, word): (Field, &str)| {
            let with = seen().filter(|chunk| chunk.times(field, word) > 0).count() as u64;
            if with > 0 {
                present.insert((field as usize, word.to_owned()));
            }
            (field, word.to_owned(), TermWeight::new(field, with + background_count(field, word, common), &statistics))
        };
        let terms = QueryTerms::new(query, language).iter().map(weight).collect();
        Ok(Some(Box::new(ExactWords { reader: self, query: query.clone(), terms, present })))
    }

    fn like(&self, like: &Like, scope: Option<&FileSet>) -> Result<Vec<LikeWord>, EngineError> {
        let mut found: HashMap<String, u64> = HashMap::new();
        for chunk in self.chunks.values().filter(|chunk| is_in(scope, chunk.text.file)) {
            for field in [Field::Own, Field::Heading] {
                let words: HashSet<&String> = chunk.words[field as usize].iter().map(|(word, _)| word).collect();
                let like = words.into_iter().filter(|word| like.distance(word).is_some());
                like.for_each(|word| *found.entry(word.clone()).or_default() += 1);
            }
        }
        Ok(found.into_iter().collect())
    }

    fn model(&self) -> Option<&Fingerprint> {
        self.model.as_ref()
    }

    fn nearest(&self, query: &QueryVector, k: usize, allow: Option<&FileSet>) -> Result<Vec<ScoredChunk>, EngineError> {
        let near = self.chunks.values().filter(|chunk| is_in(allow, chunk.text.file)).filter_map(|chunk| {
            let score = f64::from(query.cosine(chunk.vector.as_ref()?));
            Some(ScoredChunk { row: chunk.text.row, file: chunk.text.file, score })
        });
        Ok(best(near.collect(), k))
    }

    fn cosines(&self, query: &QueryVector, rows: &[u64]) -> Result<Vec<Option<f64>>, EngineError> {
        let vector = |row| self.chunks.get(row).and_then(|chunk: &ExactChunk| chunk.vector.as_ref());
        Ok(rows.iter().map(|row| vector(row).map(|vector| f64::from(query.cosine(vector)))).collect())
    }

    fn vector(&self, row: u64) -> Option<Vec<f32>> {
        self.chunks.get(&row)?.vector.clone()
    }

    fn is_embedded(&self, row: u64) -> bool {
        self.chunks.get(&row).is_some_and(|chunk| chunk.vector.is_some())
    }

    fn embedded(&self, scope: Option<&FileSet>) -> (usize, usize) {
        let seen = self.files.iter().filter(|file| is_in(scope, file.id)).flat_map(|file| &file.chunks);
        let (has, of): (Vec<&ChunkEntry>, _) =
            seen.filter(|chunk| chunk.content.is_some()).partition(|chunk| self.is_embedded(chunk.row));
        (has.len(), has.len() + Vec::<&ChunkEntry>::len(&of))
    }

    fn chunk(&self, row: u64) -> Result<Option<ChunkText>, EngineError> {
        Ok(self.chunks.get(&row).map(|chunk| chunk.text.clone()))
    }

    fn rows_of(&self, id: ChunkId) -> Result<Vec<u64>, EngineError> {
        let mut rows: Vec<u64> =
            self.chunks.values().filter(|chunk| chunk.text.id == id).map(|chunk| chunk.text.row).collect();
        rows.sort_unstable();
        Ok(rows)
    }

    fn metadata(&self, file: u32) -> Result<Option<String>, EngineError> {
        Ok(self.metadata.get(&file).cloned())
    }

    fn problems(&self) -> Result<Vec<(String, String)>, EngineError> {
        let of_file = |(file, problems): (&u32, &Vec<String>)| {
            let path = self.files.get(*file).map_or_else(String::new, |file| file.path.to_string());
            problems.iter().map(move |problem| (path.clone(), problem.clone())).collect::<Vec<_>>()
        };
        let mut problems: Vec<_> = self.problems.iter().flat_map(of_file).collect();
        problems.extend(self.skipped.clone());
        problems.sort();
        Ok(problems)
    }
}

impl ExactChunk {
    fn times(&self, field: Field, word: &str) -> u32 {
        self.words[field as usize].iter().filter(|(has, _)| has == word).count() as u32
    }

    /// Whether the own words hold a run of words.
    fn has_run(&self, run: &[String]) -> bool {
        let own = &self.words[Field::Own as usize];
        let has = |word: &String, at: usize| own.iter().any(|(has, position)| has == word && *position == at);
        let starts = own.iter().map(|(_, position)| *position);
        starts.into_iter().any(|start| run.iter().enumerate().all(|(at, word)| has(word, start + at)))
    }
}

struct ExactWords<'a> {
    reader: &'a ExactReader,
    query: WordQuery,
    terms: Vec<(Field, String, TermWeight)>,
    present: HashSet<(usize, String)>,
}

impl ExactWords<'_> {
    fn score(&self, chunk: &ExactChunk) -> Option<f64> {
        let passes = self.query.phrases.iter().all(|run| chunk.has_run(run))
            && !self.query.excluded.iter().any(|run| chunk.has_run(run));
        passes.then(|| {
            self.terms.iter().fold(0.0, |sum, (field, word, weight)| match chunk.times(*field, word) {
                0 => sum,
                times => sum + weight.score(times, rounded_length(chunk.words[*field as usize].len() as u32)),
            })
        })
    }
}

impl PreparedWords for ExactWords<'_> {
    fn most(&self) -> f64 {
        self.terms.iter().map(|(.., weight)| weight.most()).sum()
    }

    fn has(&self, field: Field, term: &str) -> bool {
        self.present.contains(&(field as usize, term.to_owned()))
    }

    fn best(&self, k: usize, allow: Option<&FileSet>) -> Result<Vec<ScoredChunk>, EngineError> {
        let found = self.reader.chunks.values().filter(|chunk| is_in(allow, chunk.text.file)).filter_map(|chunk| {
            let score = self.score(chunk).filter(|score| *score > 0.0)?;
            Some(ScoredChunk { row: chunk.text.row, file: chunk.text.file, score })
        });
        Ok(best(found.collect(), k))
    }

    fn scores(&self, rows: &[u64]) -> Result<Vec<Option<f64>>, EngineError> {
        Ok(rows.iter().map(|row| self.reader.chunks.get(row).and_then(|chunk| self.score(chunk))).collect())
    }
}
