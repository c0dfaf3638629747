//! The first stage: the query's vectors, and the chunks that may become hits, found by words and by meaning, and scored on both; those of
//! conversations token by token, too (late interaction).

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use super::fuse::{AskedWords, Candidate, CandidateScores};
use crate::base::config::{Mode, StemmerLanguage, VaultPart};
use crate::index::engine::{
    EngineError, FileEntry, FileSet, FileTable, PreparedWords, QueryVector, Reader, ScoredChunk, WordQuery,
    unless_damaged,
};
use crate::models::{Embedder, ModelAsker, ModelError, TokenQuery, reads_english_alone};
use crate::text::derive::TextLanguage;
use crate::vault::disk::conflict_copy;

/// What is asked of one generation, and for whom.
pub(super) struct Retriever<'a> {
    pub(super) reader: &'a dyn Reader,
    /// The files that may be found.
    pub(super) allow: Option<&'a FileSet>,
    /// The files that count for the statistics: the caller's scope, whatever the filter.
    pub(super) scope: Option<&'a FileSet>,
    pub(super) language: StemmerLanguage,
}

/// A query's words on one generation.
pub(super) struct RetrievedWords<'a> {
    prepared: Box<dyn PreparedWords + 'a>,
    /// What is known of them whatever is found. The weight of the meaning goes by it.
    pub(super) asked: AskedWords,
}

impl RetrievedWords<'_> {
    /// Whether a chunk of the scope has one of the query's words in any form.
    pub(super) fn has(&self, word: &str) -> bool {
        self.prepared.has(word)
    }

    /// Scores all chunks now, for a later [`Retriever::candidates`].
    pub(super) fn look_ahead(&self) -> Result<(), EngineError> {
        self.prepared.scores(&[]).map(drop)
    }
}

impl<'a> Retriever<'a> {
    /// Prepares the words of a query.
    pub(super) fn words(&self, query: &WordQuery) -> Result<RetrievedWords<'a>, EngineError> {
        let prepared = self.reader.words(query, self.language, self.scope, self.allow)?;
        let count = query.words.len() + query.phrases.iter().map(Vec::len).sum::<usize>();
        let asked = AskedWords { count, most: prepared.most() };
        Ok(RetrievedWords { prepared, asked })
    }

    /// Adds the best `width` candidates of each part of the vault that counts more than another, that are not there yet: the best of all may be
    /// of what counts little.
    pub(super) fn add_parts(
        &self,
        candidates: &mut Vec<Candidate>,
        parts: &[(VaultPart, f64)],
        words: &RetrievedWords<'_>,
        by: (Mode, Option<&QueryVector>),
        width: usize,
    ) -> Result<(), EngineError> {
        let least = parts.iter().map(|(_, weight)| *weight).fold(f64::INFINITY, f64::min);
        if parts.iter().all(|(_, weight)| *weight <= least) {
            return Ok(());
        }
        let mut sets = vec![FileSet::new(); parts.len()];
        for file in self.reader.files().iter().filter(|file| self.allow.is_none_or(|allow| allow.contains(file.id))) {
            if let Some(of) = parts.iter().position(|(part, _)| part.holds(file.path.as_str())) {
                sets[of].insert(file.id);
            }
        }
        let mut known: HashSet<u64> = candidates.iter().map(|candidate| candidate.row).collect();
        for ((_, weight), set) in parts.iter().zip(&sets) {
            if *weight > least && !set.is_empty() {
                let (found, _) = self.candidates(words, by, width, Some(set))?;
                candidates.extend(found.into_iter().filter(|candidate| known.insert(candidate.row)));
            }
        }
        Ok(())
    }

    /// The best `width` candidates of the files of `allow` (all when `None`) by words and by meaning, as the mode asks, each scored on both
    /// where both are asked; and whether there may be more.
    pub(super) fn candidates(
        &self,
        words: &RetrievedWords<'_>,
        (mode, vector): (Mode, Option<&QueryVector>),
        width: usize,
        allow: Option<&FileSet>,
    ) -> Result<(Vec<Candidate>, bool), EngineError> {
        let (files, words, by_words) = (self.reader.files(), &words.prepared, mode != Mode::Semantic);
        let (mut found, mut more) = (BTreeMap::new(), false);
        let mut put = |mut best: Vec<ScoredChunk>, set: fn(&mut CandidateScores, f64)| {
            more |= cut(&mut best, width, files);
            for ScoredChunk { row, file, score } in best {
                let Some(file) = files.get(file) else { continue };
                let Some(ordinal) = file.ordinal(row) else { continue };
                let candidate = found.entry(row).or_insert_with(|| Candidate::new(row, Arc::clone(file), ordinal));
                set(&mut candidate.scores, score);
            }
        };
        if by_words {
            put(words.best(width, allow)?, |scores, score| scores.keyword = Some(score));
        }
        if let Some(vector) = vector {
            put(self.reader.nearest(vector, width, allow)?, |scores, score| scores.semantic = Some(score));
        }
        let mut candidates: Vec<Candidate> = found.into_values().collect();
        if let Some(vector) = vector {
            if by_words {
                fill(&mut candidates, |scores| &mut scores.semantic, |rows| self.reader.cosines(vector, rows))?;
            }
            fill(&mut candidates, |scores| &mut scores.keyword, |rows| words.scores(rows))?;
            // What the words' conditions rule out.
            candidates.retain(|candidate| candidate.scores.keyword.is_some());
            if !by_words {
                candidates.iter_mut().for_each(|candidate| candidate.scores.keyword = None);
            }
        }
        for candidate in candidates.iter_mut().filter(|_| mode == Mode::Hybrid) {
            candidate.scores.waits = candidate.scores.semantic.is_none() && candidate.is_embeddable();
        }
        Ok((candidates, more))
    }

    /// Adds the best chunk by words of each of the `named` files that has no candidate yet, or its first; of `limit` files at most.
    pub(super) fn add_named(
        &self,
        candidates: &mut Vec<Candidate>,
        named: &FileSet,
        words: &RetrievedWords<'_>,
        (mode, vector): (Mode, Option<&QueryVector>),
        limit: usize,
    ) -> Result<(), EngineError> {
        let prepared = &words.prepared;
        let mut missing = named.clone();
        candidates.iter().for_each(|candidate| _ = missing.remove(candidate.file.id));
        if missing.is_empty() {
            return Ok(());
        }
        let files = self.reader.files();
        let mut found = prepared.best(limit, Some(&missing))?;
        cut(&mut found, limit, files);
        let mut best_of: HashMap<u32, (f64, usize)> = HashMap::new();
        for found in &found {
            let Some(ordinal) = files.get(found.file).and_then(|file| file.ordinal(found.row)) else { continue };
            let best = best_of.entry(found.file).or_insert((found.score, ordinal));
            if found.score.total_cmp(&best.0).then(best.1.cmp(&ordinal)).is_gt() {
                *best = (found.score, ordinal);
            }
        }
        let mut missing: Vec<&Arc<FileEntry>> = missing.iter().filter_map(|file| files.get(file)).collect();
        // The best by words first, whatever the files' ids are.
        let best_of = |file: &FileEntry| best_of.get(&file.id).copied().unwrap_or_default();
        missing.sort_by(|one, two| best_of(two).0.total_cmp(&best_of(one).0).then_with(|| one.path.cmp(&two.path)));
        let mut added = Vec::new();
        for file in missing.into_iter().take(limit) {
            let best = best_of(file).1;
            let Some(chunk) = file.chunks.get(best) else { continue };
            added.push(Candidate::new(chunk.row, Arc::clone(file), best));
        }
        fill(&mut added, |scores| &mut scores.keyword, |rows| prepared.scores(rows))?;
        added.retain(|candidate| candidate.scores.keyword.is_some());
        if let Some(vector) = vector.filter(|_| mode == Mode::Hybrid) {
            fill(&mut added, |scores| &mut scores.semantic, |rows| self.reader.cosines(vector, rows))?;
            for candidate in &mut added {
                candidate.scores.waits = candidate.scores.semantic.is_none() && candidate.is_embeddable();
            }
        }
        candidates.extend(added);
        Ok(())
    }

    /// The files that may be found, the newest first.
    pub(super) fn newest_files(&self) -> Vec<&'a Arc<FileEntry>> {
        let may = |file: &&Arc<FileEntry>| self.allow.is_none_or(|allow| allow.contains(file.id));
        let mut files: Vec<&Arc<FileEntry>> = self.reader.files().iter().filter(may).collect();
        files.sort_by(|one, two| two.updated_ms.cmp(&one.updated_ms).then_with(|| one.path.cmp(&two.path)));
        files
    }

    /// The chunks of a file that the query's words let through; all where there are none.
    pub(super) fn rest_of(
        &self,
        file: &Arc<FileEntry>,
        words: Option<&RetrievedWords<'_>>,
    ) -> Result<Vec<Candidate>, EngineError> {
        let rows: Vec<u64> = file.chunks.iter().map(|chunk| chunk.row).collect();
        let scores = words.map_or_else(|| Ok(vec![Some(0.0); rows.len()]), |words| words.prepared.scores(&rows))?;
        let left = rows.iter().zip(scores).enumerate().filter(|(_, (_, score))| score.is_some());
        Ok(left.map(|(ordinal, (row, _))| Candidate::new(*row, Arc::clone(file), ordinal)).collect())
    }
}

/// Has the scores made that are not there.
fn fill(
    candidates: &mut [Candidate],
    score: fn(&mut CandidateScores) -> &mut Option<f64>,
    scores: impl FnOnce(&[u64]) -> Result<Vec<Option<f64>>, EngineError>,
) -> Result<(), EngineError> {
    let missing = candidates.iter_mut().filter_map(|one| score(&mut one.scores).is_none().then_some(one));
    let missing: Vec<&mut Candidate> = missing.collect();
    let rows: Vec<u64> = missing.iter().map(|candidate| candidate.row).collect();
    missing.into_iter().zip(scores(&rows)?).for_each(|(one, found)| *score(&mut one.scores) = found);
    Ok(())
}

/// Cuts to the best, ties broken by path and line, so that the cut does not depend on the history of the index. Says
/// whether there may be more.
fn cut(found: &mut Vec<ScoredChunk>, width: usize, files: &FileTable) -> bool {
    if found.len() > width {
        sort_found(found, files);
        found.truncate(width);
    }
    found.len() == width
}

/// Best first; ties in the order of path and text.
pub(super) fn sort_found(found: &mut [ScoredChunk], files: &FileTable) {
    let place =
        |found: &ScoredChunk| files.get(found.file).and_then(|file| Some((&file.path, file.ordinal(found.row)?)));
    let mut placed: Vec<_> = found.iter().map(|found| (*found, place(found))).collect();
    placed.sort_by(|one, two| two.0.score.total_cmp(&one.0.score).then_with(|| one.1.cmp(&two.1)));
    found.iter_mut().zip(placed).for_each(|(found, (placed, _))| *found = placed);
}

/// The language that a model does not read and that the query is in, or most of what was `found` is; `None` where it reads them, as far as
/// is known, or nothing is sure. What is found is what the caller sees, so that nothing hidden is told.
pub(super) fn unread(model: &str, query: &str, found: &[Option<TextLanguage>]) -> Option<TextLanguage> {
    if !reads_english_alone(model) {
        return None;
    }
    let is_unread = |language: &TextLanguage| !language.is_english();
    if let Some(language) = TextLanguage::of_text(query) {
        return Some(language).filter(is_unread);
    }
    let mut counts: HashMap<TextLanguage, usize> = HashMap::new();
    found.iter().flatten().for_each(|language| *counts.entry(*language).or_default() += 1);
    let most = counts.into_iter().find(|(_, count)| count * 2 > found.len());
    most.map(|(language, _)| language).filter(is_unread)
}

/// Leaves out what stands in a conflict copy and, to the byte, in the note it is a copy of, where that may be found as well.
pub(super) fn drop_same_copies(candidates: &mut Vec<Candidate>, files: &FileTable, allow: Option<&FileSet>) {
    candidates.retain(|candidate| !is_same_copy(&candidate.file, files, allow));
}

/// Whether a file is such a copy.
pub(super) fn is_same_copy(file: &FileEntry, files: &FileTable, allow: Option<&FileSet>) -> bool {
    let Some((of, _)) = conflict_copy(&file.path, |path| files.at(path).is_some()) else { return false };
    let original = files.at(&of).filter(|original| original.hash == file.hash);
    original.is_some_and(|original| allow.is_none_or(|allow| allow.contains(original.id)))
}

/// Embeds the query on the model's thread while `meanwhile` runs on this one: each takes a few milliseconds of a hybrid search. A model that is
/// not there is one that was stopped.
pub(super) fn embed_beside(
    reader: &dyn Reader,
    (embedder, asker): (Option<&dyn Embedder>, Option<&ModelAsker>),
    text: &str,
    deadline: Option<Instant>,
    meanwhile: impl FnOnce() -> Result<(), EngineError>,
) -> Result<Result<QueryVector, ModelError>, EngineError> {
    // A model that has just taken the place of another has no vectors here yet.
    let Some(embedder) = embedder.filter(|embedder| reader.model() == Some(embedder.fingerprint())) else {
        return Ok(Err(ModelError::Stopped));
    };
    let embedded = std::thread::scope(|scope| {
        let embedding = scope.spawn(|| embedder.embed_query_of(asker, text, deadline));
        let done = meanwhile();
        let embedded = embedding.join().unwrap_or_else(|_| Err(ModelError::Panicked("embedding a query".into())));
        done.map(|()| embedded)
    })?;
    embedded.map_or_else(|error| Ok(Err(error)), |vector| QueryVector::new(&vector).map(Ok))
}

/// What was said in conversations, whose tokens were kept when it was embedded.
pub(super) struct StoredTokens<'a> {
    pub(super) embedder: &'a dyn Embedder,
    pub(super) asker: Option<&'a ModelAsker>,
    pub(super) query: &'a str,
    pub(super) until: Option<Instant>,
    /// The query's tokens, once they were wanted; `None` of a model that has none.
    pub(super) tokens: OnceCell<Option<TokenQuery>>,
}

impl StoredTokens<'_> {
    /// Scores the candidates that are of conversations. What the model fails on now, it did not a moment ago: then the order is that of the
    /// fusion without tokens.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn score(&self, candidates: &mut [Candidate], reader: &dyn Reader) -> Result<(), EngineError> {
        for candidate in candidates.iter_mut().filter(|candidate| candidate.file.is_conversation()) {
            let ask = || self.embedder.token_query(self.asker, self.query, self.until).ok().flatten();
            let Some(query) = self.tokens.get_or_init(ask) else { return Ok(()) };
            // Of one that has no vector here nothing is known, be it that its text has one elsewhere.
            let content = candidate.content().filter(|_| reader.is_embedded(candidate.row));
            // Of what is damaged, the vectors are in memory, and this is no worse than without tokens.
            let tokens = content.map_or(Ok(None), |content| unless_damaged(reader.tokens(&content)))?;
            candidate.scores.late = tokens.and_then(|tokens| query.max_sim(&tokens));
        }
        Ok(())
    }
}
