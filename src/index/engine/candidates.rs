//! The chunks that may become hits: the best by words and by meaning, each once.

use std::collections::BTreeMap;

use super::cosine::QueryVector;
use super::error::EngineError;
use super::file_set::{FileSet, FileTable};
use super::query_terms::{PreparedWords, ScoredChunk};
use super::reader::Reader;

/// What candidates are asked for.
pub struct CandidateQuery<'a> {
    /// The query's words, whose conditions rule chunks out whichever side is asked; `None` while the words are damaged.
    pub words: Option<&'a dyn PreparedWords>,
    /// Whether the best by words are wanted.
    pub by_words: bool,
    /// Those, where [`PreparedWords::best`] was asked for them before.
    pub best: Option<Vec<ScoredChunk>>,
    /// What the best by meaning are near, where they are wanted.
    pub vector: Option<&'a QueryVector>,
    /// How many of each side.
    pub width: usize,
    /// The files that may be found; `None` is all.
    pub allow: Option<&'a FileSet>,
}

/// A chunk that may become a hit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CandidateChunk {
    /// Its row id.
    pub row: u64,
    /// Its file's row id.
    pub file: u32,
    /// Its place among the file's chunks.
    pub ordinal: usize,
    /// BM25, where the words were asked.
    pub keyword: Option<f64>,
    /// Cosine, where the meaning was asked and the chunk has its vector.
    pub semantic: Option<f64>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Candidates {
    /// The chunks, each once, in the order of their rows.
    pub chunks: Vec<CandidateChunk>,
    /// Whether there may be more.
    pub more: bool,
}

/// Asks both sides, cuts each to its best, and has each score what the other has found.
pub(super) fn collect<R: Reader + ?Sized>(query: CandidateQuery<'_>, reader: &R) -> Result<Candidates, EngineError> {
    let files = reader.files();
    let CandidateQuery { words, by_words, best, vector, width, allow } = query;
    let mut more = false;
    let mut chunks: BTreeMap<u64, CandidateChunk> = BTreeMap::new();
    let mut put = |found: &[ScoredChunk], set: fn(&mut CandidateChunk, f64)| {
        for &ScoredChunk { row, file, score } in found {
            let Some(ordinal) = files.get(file).and_then(|file| file.ordinal(row)) else { continue };
            let new = CandidateChunk { row, file, ordinal, keyword: None, semantic: None };
            set(chunks.entry(row).or_insert(new), score);
        }
    };
    if by_words {
        let best = best.map_or_else(|| words.map_or(Ok(Vec::new()), |words| words.best(width, allow)), Ok);
        let mut best = best?;
        more |= cut(&mut best, width, files);
        put(&best, |chunk, score| chunk.keyword = Some(score));
    }
    if let Some(vector) = vector {
        let mut near = reader.nearest(vector, width, allow)?;
        more |= cut(&mut near, width, files);
        put(&near, |chunk, score| chunk.semantic = Some(score));
    }
    let mut chunks: Vec<CandidateChunk> = chunks.into_values().collect();
    if let (Some(vector), Some(words)) = (vector, words) {
        if by_words {
            fill(&mut chunks, |chunk| &mut chunk.semantic, |rows| reader.cosines(vector, rows))?;
        }
        fill(&mut chunks, |chunk| &mut chunk.keyword, |rows| words.scores(rows))?;
        // What the words' conditions rule out.
        chunks.retain(|chunk| chunk.keyword.is_some());
        if !by_words {
            chunks.iter_mut().for_each(|chunk| chunk.keyword = None);
        }
    }
    Ok(Candidates { chunks, more })
}

/// Has the scores made that are not there.
fn fill(
    chunks: &mut [CandidateChunk],
    score: fn(&mut CandidateChunk) -> &mut Option<f64>,
    scores: impl FnOnce(&[u64]) -> Result<Vec<Option<f64>>, EngineError>,
) -> Result<(), EngineError> {
    let missing: Vec<&mut CandidateChunk> =
        chunks.iter_mut().filter_map(|chunk| score(chunk).is_none().then_some(chunk)).collect();
    let rows: Vec<u64> = missing.iter().map(|chunk| chunk.row).collect();
    missing.into_iter().zip(scores(&rows)?).for_each(|(chunk, found)| *score(chunk) = found);
    Ok(())
}

/// Cuts to the best, ties broken by path and line, so that the cut does not depend on the history of the index. Says
/// whether there may be more.
pub(crate) fn cut(found: &mut Vec<ScoredChunk>, width: usize, files: &FileTable) -> bool {
    if found.len() > width {
        sort_found(found, files);
        found.truncate(width);
    }
    found.len() == width
}

/// Best first; ties in the order of path and text.
pub(crate) fn sort_found(found: &mut [ScoredChunk], files: &FileTable) {
    let place =
        |found: &ScoredChunk| files.get(found.file).and_then(|file| Some((&file.path, file.ordinal(found.row)?)));
    let mut placed: Vec<_> = found.iter().map(|found| (*found, place(found))).collect();
    placed.sort_by(|one, two| two.0.score.total_cmp(&one.0.score).then_with(|| one.1.cmp(&two.1)));
    found.iter_mut().zip(placed).for_each(|(found, (placed, _))| *found = placed);
}
