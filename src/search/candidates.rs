//! The chunks that may become hits: found on either side, scored on both, fused and cut.

use std::collections::HashMap;
use std::sync::Arc;

use super::fuse::{Sides, fuse};
use super::run::SearchError;
use crate::config::{Mode, SearchConfig, StemmerLanguage};
use crate::index::keyword::{KeywordError, KeywordHit, KeywordQuery, KeywordSearcher, Prepared, Statistics};
use crate::index::vectors::VectorSet;
use crate::index::{FileEntry, FileSet, Snapshot};

/// Candidates of one side at most, however many a single long file has.
const MAX_WIDTH: usize = 6_400;

/// A chunk that may become a hit.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) row: u64,
    pub(super) file: Arc<FileEntry>,
    /// Its place among the file's chunks.
    ordinal: usize,
    pub(super) sides: Sides,
    pub(super) score: f64,
}

/// What a query means, and the vectors to compare it with.
pub(super) struct Meaning<'a> {
    pub(super) vectors: &'a VectorSet,
    pub(super) query: Vec<f32>,
}

/// A query's words on one state of the index.
pub(super) struct Words<'a> {
    /// `None` while the keyword index is damaged.
    prepared: Option<Prepared<'a>>,
    allow: Option<&'a FileSet>,
    /// The best so many, once they were looked for.
    best: Option<(usize, Vec<KeywordHit>)>,
}

impl Words<'_> {
    /// Looks for the best `width` now, if any, for a later [`Words::best`].
    pub(super) fn look_ahead(&mut self, width: Option<usize>) -> Result<(), KeywordError> {
        width.map_or(Ok(()), |width| self.best(width).map(drop))
    }

    fn best(&mut self, width: usize) -> Result<&[KeywordHit], KeywordError> {
        let found = match self.best.take() {
            Some((known, found)) if known == width => found,
            _ => self.prepared.as_ref().map_or(Ok(Vec::new()), |prepared| prepared.best(width, self.allow))?,
        };
        Ok(&self.best.insert((width, found)).1)
    }
}

/// What both sides of a search share.
pub(super) struct Side<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// The files that may be found.
    pub(super) allow: Option<&'a FileSet>,
    /// The files that count for the statistics: the caller's scope, whatever the filter.
    pub(super) seen: Option<&'a FileSet>,
    pub(super) stemmer: StemmerLanguage,
}

impl<'a> Side<'a> {
    /// Prepares the words of a query.
    pub(super) fn words(&self, query: &KeywordQuery) -> Result<Words<'a>, KeywordError> {
        let keyword = self.snapshot.keyword.as_ref();
        let prepare = |words: &'a KeywordSearcher| words.prepare(query, self.stemmer, self.statistics(), self.seen);
        let prepared = keyword.map(prepare).transpose()?;
        Ok(Words { prepared, allow: self.allow, best: None })
    }

    /// The best candidates, fused and in order, at most `limit` and at most `per_file` of a file. While one long file keeps
    /// others out of the candidates, more are asked for.
    pub(super) fn ranked(
        &self,
        words: &mut Words<'_>,
        mode: Mode,
        meaning: Option<&Meaning<'_>>,
        config: &SearchConfig,
        limit: usize,
    ) -> Result<Vec<Candidate>, SearchError> {
        let mut width = config.candidates.max(limit);
        loop {
            let (mut candidates, cut) = self.candidates(words, mode, meaning, width)?;
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
        words: &mut Words<'_>,
        mode: Mode,
        meaning: Option<&Meaning<'_>>,
        limit: usize,
    ) -> Result<(Vec<Candidate>, bool), SearchError> {
        let mut cut = false;
        let mut found = Found { files: self.snapshot, candidates: HashMap::new() };
        if mode != Mode::Semantic {
            let mut best: Vec<(u64, u32, f64)> =
                words.best(limit)?.iter().map(|hit| (hit.chunk, hit.file, hit.score)).collect();
            cut |= self.cut(&mut best, limit);
            best.iter().for_each(|(row, file, score)| found.put(*row, *file, |sides| sides.keyword = Some(*score)));
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
        if let (Some(meaning), Some(prepared)) = (meaning, &words.prepared) {
            fill(&mut candidates, prepared, meaning, mode)?;
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
