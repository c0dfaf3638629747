//! The notes near a note: by the meaning of its chunks and by its rarest words.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use super::retrieve::{Retriever, sort_found};
use super::visible::Visible;
use crate::base::config::{Mode, StemmerLanguage};
use crate::index::engine::{
    ChunkText, EngineError, FileEntry, FileSet, QueryVector, Reader, ScoredChunk, WordQuery, unless_damaged,
};
use crate::text::derive::words::{Stemming, plain_words};
use crate::text::derive::{TextLanguage, stop_words};

/// Maximum number of chunks that stand for a note, spread over it: more say no more of what it is about.
const MAX_CHUNKS: usize = 64;
/// Maximum number of words that are looked for, the most frequent first.
const MAX_WORDS: usize = 64;
/// How many chunks are looked at for each note that is wanted, and at least: a note may have many that are near.
const CHUNKS_EACH: usize = 16;
const MIN_WIDTH: usize = 400;

/// What is to be near.
pub(crate) struct RelatedRequest<'a> {
    /// The note.
    pub(crate) file: &'a FileEntry,
    /// Only its chunk on this line, from 1.
    pub(crate) line: Option<usize>,
    /// Notes at most.
    pub(crate) limit: usize,
}

/// What is near.
#[derive(Debug)]
pub(crate) struct Related {
    /// What was compared: the meaning, or the words.
    pub(crate) mode: Mode,
    /// The nearest chunk of each note, the nearest note first.
    pub(crate) notes: Vec<RelatedChunk>,
    /// Why one could not be read.
    pub(crate) damage: Option<String>,
}

/// A chunk that is near.
#[derive(Debug)]
pub(crate) struct RelatedChunk {
    pub(crate) file: Arc<FileEntry>,
    pub(crate) chunk: ChunkText,
    /// A cosine; by words a share of what could be at most.
    pub(crate) score: f64,
}

/// Finds the notes near a note, of those that are seen. Neither the note itself is one, nor another name of its file.
///
/// # Errors
/// When a store cannot be read.
pub(crate) fn related(
    reader: &dyn Reader,
    visible: &Visible,
    language: StemmerLanguage,
    request: &RelatedRequest<'_>,
) -> Result<Related, EngineError> {
    let allow = others(reader, visible, request.file);
    let near = Retriever { reader, allow: Some(&allow), scope: visible.set(), language };
    let rows = rows(request);
    let found = match centre(reader, &rows) {
        Some(centre) => near.nearest_notes(request.limit, |width| reader.nearest(&centre, width, near.allow))?,
        None => Vec::new(),
    };
    // What is near in words is better than nothing, as while a note waits for its vectors.
    let (mode, found) =
        if found.is_empty() { (Mode::Keyword, near.notes_by_words(&rows, request)?) } else { (Mode::Semantic, found) };
    let (mut notes, mut damage) = (Vec::with_capacity(found.len()), None);
    for ScoredChunk { row, file, score } in found {
        match reader.chunk(row) {
            Ok(Some(chunk)) => {
                let file = reader.files().get(file).map(Arc::clone);
                notes.extend(file.map(|file| RelatedChunk { file, chunk, score }));
            }
            Ok(None) => {}
            Err(error) if error.is_damage() => damage = Some(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    Ok(Related { mode, notes, damage })
}

/// The files that are seen, but for a file and its other names.
fn others(reader: &dyn Reader, visible: &Visible, file: &FileEntry) -> FileSet {
    let facets = reader.files().facets();
    let mut others = visible.set().unwrap_or(facets.all()).clone();
    others.remove(file.id);
    for names in facets.linked().filter(|names| names.contains(&file.id)) {
        names.iter().for_each(|name| _ = others.remove(*name));
    }
    others
}

/// The chunks that stand for what is asked about.
fn rows(request: &RelatedRequest<'_>) -> Vec<u64> {
    let chunks = &request.file.chunks;
    if let Some(line) = request.line {
        let after = chunks.partition_point(|chunk| chunk.line as usize <= line);
        return chunks.get(after.saturating_sub(1)).map(|chunk| chunk.row).into_iter().collect();
    }
    let step = chunks.len().div_ceil(MAX_CHUNKS).max(1);
    chunks.iter().step_by(step).map(|chunk| chunk.row).collect()
}

/// The middle of the chunks' vectors: the cosine with it orders as the mean of the cosines with each does.
fn centre(reader: &dyn Reader, rows: &[u64]) -> Option<QueryVector> {
    let mut sum: Vec<f32> = Vec::new();
    for vector in rows.iter().filter_map(|row| reader.vector(*row)) {
        let Ok(vector) = QueryVector::new(&vector) else { continue };
        sum.resize(vector.unit().len(), 0.0);
        sum.iter_mut().zip(vector.unit()).for_each(|(sum, value)| *sum += value);
    }
    QueryVector::new(&sum).ok()
}

impl Retriever<'_> {
    /// The best chunk of each note, the best note first; ties in the order of path and text, so that the order does not depend on the history of
    /// the index. `find` gives the best so many chunks.
    fn nearest_notes(
        &self,
        limit: usize,
        find: impl Fn(usize) -> Result<Vec<ScoredChunk>, EngineError>,
    ) -> Result<Vec<ScoredChunk>, EngineError> {
        let mut found = find(limit.saturating_mul(CHUNKS_EACH).max(MIN_WIDTH))?;
        sort_found(&mut found, self.reader.files());
        let mut seen = FileSet::new();
        found.retain(|found| seen.insert(found.file));
        found.truncate(limit);
        Ok(found)
    }

    fn notes_by_words(&self, rows: &[u64], request: &RelatedRequest<'_>) -> Result<Vec<ScoredChunk>, EngineError> {
        let query = WordQuery { words: self.telling_words(rows, request)?, ..WordQuery::default() };
        if query.words.is_empty() {
            return Ok(Vec::new());
        }
        let words = self.reader.words(&query, self.language, self.scope, self.allow)?;
        let most = words.most();
        let mut best = self.nearest_notes(request.limit, |width| words.best(width, self.allow))?;
        best.iter_mut().for_each(|found| found.score /= most.max(f64::MIN_POSITIVE));
        Ok(best)
    }

    /// The words of the chunks that are frequent there, each in the form that comes first. Those that are rare elsewhere count most.
    fn telling_words(&self, rows: &[u64], request: &RelatedRequest<'_>) -> Result<Vec<String>, EngineError> {
        // As the note's own words are.
        let language = request.file.language().and_then(TextLanguage::stemmer).unwrap_or(self.language);
        let mut stemming = Stemming::new(language);
        // By stem: how often, where first, and as what.
        let mut counts: HashMap<String, (usize, usize, String)> = HashMap::new();
        let mut count = |text: &str, times: usize| {
            let words = plain_words(text, false);
            for word in stop_words::without(&words.iter().collect::<Vec<_>>(), language) {
                let at = counts.len();
                let entry = counts.entry(stemming.stem(word).to_owned()).or_insert_with(|| (0, at, word.clone()));
                entry.0 += times;
            }
        };
        // What a note is called says more of it than a word in it.
        count(&request.file.title, 2);
        for row in rows {
            unless_damaged(self.reader.chunk(*row))?.iter().for_each(|chunk| count(&chunk.text, 1));
        }
        let says_something = |word: &str| word.chars().any(char::is_alphabetic) && word.chars().nth(1).is_some();
        let mut counted: Vec<(usize, usize, String)> =
            counts.into_values().filter(|(.., word)| says_something(word)).collect();
        counted.sort_by_key(|(times, at, _)| (Reverse(*times), *at));
        Ok(counted.into_iter().take(MAX_WORDS).map(|(.., word)| word).collect())
    }
}
