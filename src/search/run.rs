//! The search itself.

use std::collections::HashMap;
use std::sync::Arc;

use super::filter::Filter;
use super::fuse::{Sides, fuse};
use super::query::ParsedQuery;
use crate::access::Scope;
use crate::config::{Mode, SearchConfig, StemmerLanguage};
use crate::embed::{EmbedError, Embedder};
use crate::index::catalog::{CatalogError, ChunkText};
use crate::index::keyword::{KeywordError, Prepared, Statistics};
use crate::index::vectors::{VectorError, VectorSet};
use crate::index::{FileEntry, FileSet, Snapshot};

/// What is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchRequest {
    /// What was typed.
    pub text: String,
    /// Which sides are asked.
    pub mode: Mode,
    /// Hits at most.
    pub limit: usize,
    /// Which files.
    pub filter: Filter,
}

/// A chunk that was found.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Its file.
    pub file: Arc<FileEntry>,
    /// What is shown of it.
    pub chunk: ChunkText,
    /// What the hits are ordered by; compares within one response.
    pub score: f64,
    /// BM25, when the words were asked.
    pub keyword: Option<f64>,
    /// Cosine, when the meaning was asked and the chunk is embedded.
    pub semantic: Option<f64>,
}

/// Why an answer is less than what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Degraded {
    /// There is no model, or not yet: the words alone were searched, or nothing.
    NoModel,
    /// The model failed on this query.
    ModelFailed(String),
    /// A quoted phrase occurs nowhere as it is: its words were looked for.
    PhraseAbsent,
    /// Only so many of so many chunks are embedded yet.
    Embedding {
        /// Embedded chunks.
        embedded: usize,
        /// Chunks that have something to embed.
        of: usize,
    },
}

/// The answer.
#[derive(Debug)]
pub struct Results {
    /// The mode that was used.
    pub mode: Mode,
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// Why the answer is less than what was asked for, if it is.
    pub degraded: Option<Degraded>,
}

/// A search failed.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The catalog did.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The keyword index did.
    #[error(transparent)]
    Keyword(#[from] KeywordError),
    /// The vectors did.
    #[error(transparent)]
    Vector(#[from] VectorError),
}

/// Candidates of one side at most, however many a single long file has.
const MAX_WIDTH: usize = 6_400;

/// A chunk that may become a hit.
#[derive(Debug, Clone)]
struct Candidate {
    row: u64,
    file: Arc<FileEntry>,
    /// Its place among the file's chunks.
    ordinal: usize,
    sides: Sides,
    score: f64,
}

/// Searches one state of the index.
///
/// # Errors
/// When a store cannot be read.
pub fn search(
    snapshot: &Snapshot,
    embedder: Option<&dyn Embedder>,
    scope: &Scope,
    config: &SearchConfig,
    request: &SearchRequest,
) -> Result<Results, SearchError> {
    let query = ParsedQuery::new(&request.text);
    let mut degraded = None;
    let mut meaning = None;
    if request.mode != Mode::Keyword && !query.is_empty() {
        match embed(snapshot, embedder, &query.semantic) {
            Ok(found) => meaning = Some(found),
            Err(reason) => degraded = Some(reason),
        }
        if meaning.is_some() && snapshot.embedded() < snapshot.embeddable {
            degraded = Some(Degraded::Embedding { embedded: snapshot.embedded(), of: snapshot.embeddable });
        }
    }
    // Without a model, the words answer for the meaning.
    let mode = if request.mode != Mode::Keyword && meaning.is_none() { Mode::Keyword } else { request.mode };
    let results = |hits, degraded| Ok(Results { mode, hits, degraded });
    if query.is_empty() || request.limit == 0 {
        return results(Vec::new(), degraded);
    }
    let allow = request.filter.resolve(scope, &snapshot.files);
    let seen = Filter::default().resolve(scope, &snapshot.files);
    let side = Side { snapshot, allow: allow.as_ref(), seen: seen.as_ref(), stemmer: config.stemmer };

    let mut ranked = side.ranked(&query, mode, meaning.as_ref(), config, request.limit)?;
    if ranked.is_empty() && !query.keyword.phrases.is_empty() {
        ranked = side.ranked(&query.without_phrases(), mode, meaning.as_ref(), config, request.limit)?;
        let has_words = |candidate: &Candidate| candidate.sides.keyword.is_some_and(|score| score > 0.0);
        if mode != Mode::Semantic && !ranked.iter().any(has_words) {
            // What is merely near in meaning is not what a phrase asks for.
            ranked.clear();
        } else {
            degraded = degraded.or(Some(Degraded::PhraseAbsent));
        }
    }
    let mut hits = Vec::with_capacity(ranked.len());
    for candidate in ranked {
        let Some(chunk) = snapshot.read(|reader| reader.chunk(candidate.row))? else { continue };
        let Sides { keyword, semantic } = candidate.sides;
        hits.push(Hit { file: candidate.file, chunk, score: candidate.score, keyword, semantic });
    }
    results(hits, degraded)
}

struct Meaning<'a> {
    vectors: &'a VectorSet,
    query: Vec<f32>,
}

fn embed<'a>(snapshot: &'a Snapshot, embedder: Option<&dyn Embedder>, text: &str) -> Result<Meaning<'a>, Degraded> {
    let (Some(embedder), Some(vectors)) = (embedder, snapshot.vectors.as_ref()) else { return Err(Degraded::NoModel) };
    match embedder.embed_query(text) {
        Ok(query) if query.len() == vectors.dims() => Ok(Meaning { vectors, query }),
        Ok(_) | Err(EmbedError::Stopped) => Err(Degraded::NoModel),
        Err(error) => Err(Degraded::ModelFailed(error.to_string())),
    }
}

/// What both sides of a search share.
struct Side<'a> {
    snapshot: &'a Snapshot,
    /// The files that may be found.
    allow: Option<&'a FileSet>,
    /// The files that count for the statistics: the caller's scope, whatever the filter.
    seen: Option<&'a FileSet>,
    stemmer: StemmerLanguage,
}

impl Side<'_> {
    /// The best candidates, fused and in order, at most `limit` and at most `per_file` of a file. While one long file keeps
    /// others out of the candidates, more are asked for.
    fn ranked(
        &self,
        query: &ParsedQuery,
        mode: Mode,
        meaning: Option<&Meaning<'_>>,
        config: &SearchConfig,
        limit: usize,
    ) -> Result<Vec<Candidate>, SearchError> {
        let mut width = config.candidates.max(limit);
        loop {
            let (mut candidates, cut) = self.candidates(query, mode, meaning, width)?;
            let fused = fuse(&candidates.iter().map(|candidate| candidate.sides).collect::<Vec<_>>(), config);
            for (candidate, fused) in candidates.iter_mut().zip(fused) {
                candidate.score = match mode {
                    Mode::Keyword => candidate.sides.keyword.unwrap_or(0.0),
                    Mode::Semantic => candidate.sides.semantic.unwrap_or(0.0),
                    Mode::Hybrid => fused,
                };
            }
            sort(&mut candidates);
            let mut of_file: HashMap<u32, usize> = HashMap::new();
            candidates.retain(|candidate| {
                let count = of_file.entry(candidate.file.id).or_default();
                *count += 1;
                config.per_file == 0 || *count <= config.per_file
            });
            if candidates.len() >= limit || !cut || width >= MAX_WIDTH {
                candidates.truncate(limit);
                return Ok(candidates);
            }
            width *= 4;
        }
    }

    /// The best `limit` candidates of each side that `mode` asks, each scored on both where both are asked; and whether a side
    /// may have more.
    fn candidates(
        &self,
        query: &ParsedQuery,
        mode: Mode,
        meaning: Option<&Meaning<'_>>,
        limit: usize,
    ) -> Result<(Vec<Candidate>, bool), SearchError> {
        let mut cut = false;
        let prepared = self.snapshot.keyword.prepare(&query.keyword, self.stemmer, self.statistics(), self.seen)?;
        let mut found = Found { files: self.snapshot, candidates: HashMap::new() };
        if mode != Mode::Semantic {
            let mut words: Vec<(u64, u32, f64)> =
                prepared.best(limit, self.allow)?.iter().map(|hit| (hit.chunk, hit.file, hit.score)).collect();
            cut |= self.cut(&mut words, limit);
            words.iter().for_each(|(row, file, score)| found.put(*row, *file, |sides| sides.keyword = Some(*score)));
        }
        if let Some(meaning) = meaning {
            let scored = meaning.vectors.search(&meaning.query, limit, self.allow)?;
            let mut near: Vec<(u64, u32, f64)> = scored
                .iter()
                .filter_map(|near| Some((near.chunk, meaning.vectors.file_of(near.chunk)?, f64::from(near.score))))
                .collect();
            cut |= self.cut(&mut near, limit);
            near.iter().for_each(|(row, file, score)| found.put(*row, *file, |sides| sides.semantic = Some(*score)));
        }
        let mut candidates: Vec<Candidate> = found.candidates.into_values().collect();
        candidates.sort_unstable_by_key(|candidate| candidate.row);
        if let Some(meaning) = meaning {
            fill(&mut candidates, &prepared, meaning, mode)?;
        }
        Ok((candidates, cut))
    }

    fn statistics(&self) -> Statistics {
        match self.seen {
            None => self.snapshot.statistics(),
            Some(seen) => {
                let mut sum = Statistics::default();
                let files = seen.iter().filter_map(|file| self.snapshot.files.get(file));
                files.for_each(|file| sum.add_all(&file.statistics()));
                sum
            }
        }
    }

    /// Cuts to the best, ties broken by path and line, so that the cut does not depend on the history of the index. Says
    /// whether there may be more.
    fn cut(&self, found: &mut Vec<(u64, u32, f64)>, limit: usize) -> bool {
        if found.len() <= limit {
            return found.len() == limit;
        }
        let place =
            |row: u64, file: u32| self.snapshot.files.get(file).and_then(|file| Some((&file.path, file.ordinal(row)?)));
        let mut placed: Vec<_> =
            found.iter().map(|(row, file, score)| (*score, place(*row, *file), *row, *file)).collect();
        placed.sort_by(|one, two| two.0.total_cmp(&one.0).then_with(|| one.1.cmp(&two.1)));
        *found = placed.into_iter().map(|(score, _, row, file)| (row, file, score)).collect();
        found.truncate(limit);
        true
    }
}

/// Scores what one side found on the other side too, and drops what the query's phrases and exclusions rule out.
fn fill(
    candidates: &mut Vec<Candidate>,
    prepared: &Prepared<'_>,
    meaning: &Meaning<'_>,
    mode: Mode,
) -> Result<(), SearchError> {
    let rows = |missing: fn(&Sides) -> bool, candidates: &[Candidate]| -> (Vec<usize>, Vec<u64>) {
        (0..candidates.len()).filter(|at| missing(&candidates[*at].sides)).map(|at| (at, candidates[at].row)).unzip()
    };
    if mode == Mode::Hybrid {
        let (at, missing) = rows(|sides| sides.semantic.is_none(), candidates);
        for (at, score) in at.into_iter().zip(meaning.vectors.score(&meaning.query, &missing)?) {
            candidates[at].sides.semantic = score.map(f64::from);
        }
    }
    let (at, missing) = rows(|sides| sides.keyword.is_none(), candidates);
    let mut ruled_out = Vec::new();
    for (at, score) in at.into_iter().zip(prepared.scores(&missing)?) {
        match score {
            Some(score) if mode == Mode::Hybrid => candidates[at].sides.keyword = Some(score),
            Some(_) => {}
            None => ruled_out.push(candidates[at].row),
        }
    }
    candidates.retain(|candidate| !ruled_out.contains(&candidate.row));
    Ok(())
}

struct Found<'a> {
    files: &'a Snapshot,
    candidates: HashMap<u64, Candidate>,
}

impl Found<'_> {
    fn put(&mut self, row: u64, file: u32, set: impl FnOnce(&mut Sides)) {
        let Some(entry) = self.files.files.get(file) else { return };
        let Some(ordinal) = entry.ordinal(row) else { return };
        let candidate = self.candidates.entry(row).or_insert_with(|| Candidate {
            row,
            ordinal,
            file: Arc::clone(entry),
            sides: Sides { keyword: None, semantic: None },
            score: 0.0,
        });
        set(&mut candidate.sides);
    }
}

/// Best first; ties in the order of the text.
fn sort(candidates: &mut [Candidate]) {
    candidates.sort_by(|one, two| {
        let place = |of: &Candidate| (of.file.path.clone(), of.ordinal);
        two.score.total_cmp(&one.score).then_with(|| place(one).cmp(&place(two)))
    });
}
