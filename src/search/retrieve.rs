//! The first stage: the chunks that may become hits, found by words and by meaning, and scored on both.

use std::collections::HashMap;
use std::sync::Arc;

use super::candidate::{Candidate, CandidateScores};
use super::fuse::AskedWords;
use crate::config::{Mode, StemmerLanguage};
use crate::engine::{
    EngineError, Field, FileEntry, FileSet, PreparedWords, QueryVector, Reader, ScoredChunk, WordQuery,
};

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
    /// `None` while the words are damaged.
    prepared: Option<Box<dyn PreparedWords + 'a>>,
    /// What the weight of the meaning goes by.
    asked: AskedWords,
    allow: Option<&'a FileSet>,
    /// The best so many, once they were looked for.
    best: Option<(usize, Vec<ScoredChunk>)>,
}

impl RetrievedWords<'_> {
    /// What is known of them whatever is found.
    pub(super) fn asked(&self) -> AskedWords {
        self.asked
    }

    /// The same words as if only those of another query had been asked for: of one that goes on in several ways, only one is meant.
    pub(super) fn asked_as(self, other: &RetrievedWords<'_>) -> Self {
        Self { asked: other.asked, ..self }
    }

    /// What no score by words reaches.
    pub(super) fn most(&self) -> f64 {
        self.asked.most
    }

    /// Whether a chunk of the scope has one of the query's terms in a field; any has, as far as is known, while the words are damaged.
    pub(super) fn has(&self, field: Field, term: &str) -> bool {
        self.prepared.as_ref().is_none_or(|prepared| prepared.has(field, term))
    }

    /// Looks for the best `width` now, if any, for a later [`RetrievedWords::best`].
    pub(super) fn look_ahead(&mut self, width: Option<usize>) -> Result<(), EngineError> {
        width.map_or(Ok(()), |width| self.best(width).map(drop))
    }

    /// Whether the query's conditions do not rule out a chunk.
    pub(super) fn let_through(&self, row: u64) -> Result<bool, EngineError> {
        let Some(prepared) = &self.prepared else { return Ok(false) };
        Ok(prepared.scores(&[row])?.iter().all(Option::is_some))
    }

    fn best(&mut self, width: usize) -> Result<&[ScoredChunk], EngineError> {
        let found = match self.best.take() {
            Some((known, found)) if known == width => found,
            _ => self.prepared.as_ref().map_or(Ok(Vec::new()), |prepared| prepared.best(width, self.allow))?,
        };
        Ok(&self.best.insert((width, found)).1)
    }
}

impl<'a> Retriever<'a> {
    /// Prepares the words of a query.
    pub(super) fn words(&self, query: &WordQuery) -> Result<RetrievedWords<'a>, EngineError> {
        let prepared = self.reader.words(query, self.language, self.scope)?;
        let count = query.words.len() + query.phrases.iter().map(Vec::len).sum::<usize>();
        let most = prepared.as_ref().map_or(0.0, |prepared| prepared.most());
        Ok(RetrievedWords { prepared, asked: AskedWords { count, most }, allow: self.allow, best: None })
    }

    /// The best `width` candidates by words and by meaning, as `mode` asks, each scored on both where both are asked; and
    /// whether there may be more.
    pub(super) fn candidates(
        &self,
        words: &mut RetrievedWords<'_>,
        mode: Mode,
        vector: Option<&QueryVector>,
        width: usize,
    ) -> Result<(Vec<Candidate>, bool), EngineError> {
        let mut more = false;
        let mut united = United { reader: self.reader, candidates: HashMap::new() };
        if mode != Mode::Semantic {
            let mut best = words.best(width)?.to_vec();
            more |= self.cut(&mut best, width);
            best.iter().for_each(|found| united.put(found, |scores| scores.keyword = Some(found.score)));
        }
        if let Some(vector) = vector {
            let mut near = self.reader.nearest(vector, width, self.allow)?;
            more |= self.cut(&mut near, width);
            near.iter().for_each(|found| united.put(found, |scores| scores.semantic = Some(found.score)));
        }
        let mut candidates: Vec<Candidate> = united.candidates.into_values().collect();
        candidates.sort_unstable_by_key(|candidate| candidate.row);
        if let (Some(vector), Some(prepared)) = (vector, &words.prepared) {
            self.fill(&mut candidates, prepared.as_ref(), vector, mode)?;
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
        let Some(prepared) = &words.prepared else { return Ok(()) };
        let mut missing = named.clone();
        candidates.iter().for_each(|candidate| _ = missing.remove(candidate.file.id));
        if missing.is_empty() {
            return Ok(());
        }
        let files = self.reader.files();
        let mut found = prepared.best(limit, Some(&missing))?;
        self.cut(&mut found, limit);
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
        let rows: Vec<u64> = added.iter().map(|candidate| candidate.row).collect();
        for (candidate, score) in added.iter_mut().zip(prepared.scores(&rows)?) {
            candidate.scores.keyword = score;
        }
        added.retain(|candidate| candidate.scores.keyword.is_some());
        if let Some(vector) = vector {
            self.fill(&mut added, prepared.as_ref(), vector, mode)?;
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
        let scores = match words.map(|words| &words.prepared) {
            None => vec![Some(0.0); rows.len()],
            Some(Some(prepared)) => prepared.scores(&rows)?,
            Some(None) => return Ok(Vec::new()),
        };
        let left = rows.iter().zip(scores).enumerate().filter(|(_, (_, score))| score.is_some());
        Ok(left.map(|(ordinal, (row, _))| Candidate::new(*row, Arc::clone(file), ordinal)).collect())
    }

    /// Cuts to the best, ties broken by path and line, so that the cut does not depend on the history of the index. Says
    /// whether there may be more.
    fn cut(&self, found: &mut Vec<ScoredChunk>, width: usize) -> bool {
        if found.len() <= width {
            return found.len() == width;
        }
        let files = self.reader.files();
        let place =
            |found: &ScoredChunk| files.get(found.file).and_then(|file| Some((&file.path, file.ordinal(found.row)?)));
        let mut placed: Vec<_> = found.iter().map(|found| (*found, place(found))).collect();
        placed.sort_by(|one, two| two.0.score.total_cmp(&one.0.score).then_with(|| one.1.cmp(&two.1)));
        *found = placed.into_iter().map(|(found, _)| found).take(width).collect();
        true
    }

    /// Scores what was found one way the other way too, and drops what the query's phrases and exclusions rule out.
    fn fill(
        &self,
        candidates: &mut Vec<Candidate>,
        prepared: &dyn PreparedWords,
        vector: &QueryVector,
        mode: Mode,
    ) -> Result<(), EngineError> {
        let rows = |missing: fn(&CandidateScores) -> bool, candidates: &[Candidate]| -> (Vec<usize>, Vec<u64>) {
            let at = (0..candidates.len()).filter(|at| missing(&candidates[*at].scores));
            at.map(|at| (at, candidates[at].row)).unzip()
        };
        if mode == Mode::Hybrid {
            let (at, missing) = rows(|scores| scores.semantic.is_none(), candidates);
            for (at, score) in at.into_iter().zip(self.reader.cosines(vector, &missing)?) {
                candidates[at].scores.semantic = score;
                candidates[at].scores.waits = score.is_none() && candidates[at].is_embeddable();
            }
        }
        let (at, missing) = rows(|scores| scores.keyword.is_none(), candidates);
        let mut ruled_out = Vec::new();
        for (at, score) in at.into_iter().zip(prepared.scores(&missing)?) {
            match score {
                Some(score) if mode == Mode::Hybrid => candidates[at].scores.keyword = Some(score),
                Some(_) => {}
                None => ruled_out.push(candidates[at].row),
            }
        }
        candidates.retain(|candidate| !ruled_out.contains(&candidate.row));
        Ok(())
    }
}

/// What was found either way, each chunk once.
struct United<'a> {
    reader: &'a dyn Reader,
    candidates: HashMap<u64, Candidate>,
}

impl United<'_> {
    fn put(&mut self, found: &ScoredChunk, set: impl FnOnce(&mut CandidateScores)) {
        let Some(file) = self.reader.files().get(found.file) else { return };
        let Some(ordinal) = file.ordinal(found.row) else { return };
        let candidate =
            self.candidates.entry(found.row).or_insert_with(|| Candidate::new(found.row, Arc::clone(file), ordinal));
        set(&mut candidate.scores);
    }
}
