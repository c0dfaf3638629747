//! Searching one published state of the keyword index.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex};

use levenshtein_automata::{DFA, LevenshteinAutomatonBuilder, SINK_STATE};
use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::SegmentId;
use tantivy::postings::Postings;
use tantivy::query::{
    Bm25StatisticsProvider, BooleanQuery, BoostQuery, ConstScoreQuery, EnableScoring, Occur, PhraseQuery, Query,
    TermQuery, Weight,
};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Score, Searcher, SegmentReader, TERMINATED, Term};
use tantivy_fst::Automaton;

use super::schema::{ChunkFields, reading};
use crate::index::engine::{
    B, BACKGROUND, EngineError, Field, FileSet, K1, Like, LikeWord, PreparedWords, QueryTerms, ScoredChunk, Statistics,
    TermWeight, WEIGHTS, WeighedTerm, WeighedTerms, WordQuery,
};
use crate::text::derive::words::{begins_language, without_language};

/// One state of the index. Cloning it is cheap.
#[derive(Clone)]
pub struct KeywordSearcher {
    pub(super) searcher: Searcher,
    pub(super) fields: ChunkFields,
    pub(super) segments: Vec<Arc<SegmentMap>>,
    /// In how many of all chunks terms are, as far as that was asked.
    pub(super) frequencies: Arc<Mutex<HashMap<Term, u64>>>,
}

impl KeywordSearcher {
    pub(super) fn new(searcher: Searcher, fields: ChunkFields, before: Option<&Self>) -> Result<Self, EngineError> {
        let known = before.map_or(&[][..], |before| &before.segments);
        let segments = searcher
            .segment_readers()
            .iter()
            .map(|segment| match known.iter().find(|map| map.id == segment.segment_id()) {
                Some(map) => Ok(Arc::clone(map)),
                None => SegmentMap::new(segment).map(Arc::new),
            })
            .collect::<tantivy::Result<_>>()?;
        Ok(Self { searcher, fields, segments, frequencies: Arc::default() })
    }

    /// The live chunks, each with its file.
    pub fn live(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.searcher.segment_readers().iter().zip(&self.segments).flat_map(|(segment, map)| {
            segment.doc_ids_alive().map(|document| (map.chunks[document as usize], map.file(document)))
        })
    }

    /// Prepares a query with its terms over the files of `scope` (all when `None`), whose chunks `statistics` counts.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub(crate) fn prepare<'a>(
        &'a self,
        query: &WordQuery,
        terms: QueryTerms,
        statistics: Statistics,
        scope: Option<&'a FileSet>,
    ) -> Result<Prepared<'a>, EngineError> {
        let term = |field: Field, word: &str| Term::from_field_text(self.fields.of(field), word);
        let mut scoped = Scoped { index: self, statistics, scope, counts: HashMap::new() };
        let WeighedTerms { terms, present, most } =
            terms.weigh(&statistics, |field, word| scoped.document_frequency(&term(field, word)))?;
        let terms: Vec<(Term, WeighedTerm)> =
            terms.into_iter().map(|weighed| (term(weighed.field, &weighed.text), weighed)).collect();
        scoped.counts = terms.iter().map(|(term, weighed)| (term.clone(), weighed.count)).collect();
        let run = |words: &[String]| -> Box<dyn Query> {
            let mut terms: Vec<Term> = words.iter().map(|word| term(Field::Own, word)).collect();
            match terms.len() {
                1 => Box::new(TermQuery::new(terms.remove(0), IndexRecordOption::Basic)),
                _ => Box::new(PhraseQuery::new(terms)),
            }
        };
        let said_by = |name: &String| -> Box<dyn Query> {
            let term = Term::from_field_text(self.fields.speaker, name);
            Box::new(TermQuery::new(term, IndexRecordOption::Basic))
        };
        let mut required: Vec<Box<dyn Query>> = query.phrases.iter().map(|words| run(words)).collect();
        required.extend(query.said_by.iter().map(said_by));
        let mut excluded: Vec<Box<dyn Query>> = query.excluded.iter().map(|words| run(words)).collect();
        excluded.extend(query.not_said_by.iter().map(said_by));
        let condition = |query: &dyn Query| query.weight(EnableScoring::disabled_from_searcher(&self.searcher));
        let excluded = excluded.iter().map(|query| condition(query.as_ref())).collect::<tantivy::Result<_>>()?;

        let should = terms.iter().map(|(term, weighed)| {
            let weight = WEIGHTS[weighed.field as usize];
            let term: Box<dyn Query> = Box::new(TermQuery::new(term.clone(), IndexRecordOption::WithFreqs));
            let term = if weight == 1.0 { term } else { Box::new(BoostQuery::new(term, weight)) };
            (Occur::Should, term)
        });
        // What is excluded is left out by `best`: tantivy 0.27 asks an excluded phrase for documents that it has passed.
        // A phrase is a condition and no more: scored, it would choose other candidates than the exact scores do.
        let unscored = |query: &dyn Query| -> Box<dyn Query> { Box::new(ConstScoreQuery::new(query.box_clone(), 0.0)) };
        let conditions = required.iter().map(|query| (Occur::Must, unscored(query.as_ref())));
        let clauses: Vec<(Occur, Box<dyn Query>)> = should.chain(conditions).collect();
        let required = required.iter().map(|query| condition(query.as_ref())).collect::<tantivy::Result<_>>()?;
        let weight = BooleanQuery::new(clauses)
            .weight(EnableScoring::enabled_from_statistics_provider(&scoped, &self.searcher))?;
        let slacks = self
            .searcher
            .segment_readers()
            .iter()
            .map(|segment| scoped.slack(segment))
            .collect::<tantivy::Result<_>>()?;
        let terms = terms.into_iter().map(|(term, weighed)| (term, weighed.weight)).collect();
        Ok(Prepared { index: self, terms, present, most, required, excluded, weight, slacks })
    }
}

/// Which chunk a segment's document is, and the reverse.
pub(super) struct SegmentMap {
    id: SegmentId,
    chunks: Vec<u64>,
    files: Vec<u32>,
    by_chunk: Vec<DocId>,
}

impl SegmentMap {
    fn new(segment: &SegmentReader) -> tantivy::Result<Self> {
        let column = |name: &str| -> tantivy::Result<Vec<u64>> {
            let values = segment.fast_fields().u64(name)?.first_or_default_col(0);
            Ok((0..segment.max_doc()).map(|document| values.get_val(document)).collect())
        };
        let chunks = column("chunk")?;
        let files = column("file")?.into_iter().map(|file| file as u32).collect();
        let mut by_chunk: Vec<DocId> = (0..segment.max_doc()).collect();
        // A chunk that was rewritten within one commit is there twice, once deleted.
        by_chunk.sort_by_key(|document| (chunks[*document as usize], *document));
        Ok(Self { id: segment.segment_id(), chunks, files, by_chunk })
    }

    fn file(&self, document: DocId) -> u32 {
        self.files[document as usize]
    }

    fn documents(&self, chunk: u64) -> impl Iterator<Item = DocId> + '_ {
        let start = self.by_chunk.partition_point(|document| self.chunks[*document as usize] < chunk);
        self.by_chunk[start..].iter().copied().take_while(move |document| self.chunks[*document as usize] == chunk)
    }
}

/// A query that is ready to run.
pub(crate) struct Prepared<'a> {
    index: &'a KeywordSearcher,
    /// In the order in which their parts of a score are added.
    terms: Vec<(Term, TermWeight)>,
    /// Those that a chunk of the scope has.
    present: HashSet<String>,
    most: f64,
    required: Vec<Box<dyn Weight>>,
    excluded: Vec<Box<dyn Weight>>,
    weight: Box<dyn Weight>,
    /// Of each segment, by how much scores may be above tantivy's bounds for its blocks.
    slacks: Vec<f64>,
}

/// tantivy scores in 32-bit floats and in an order that depends on the segments: this much less than the k-th best may be
/// a tie.
const TIE: Score = 1e-4;

/// Divisor of the number of chunks: a filter that leaves fewer than the result is answered by scoring each. They would
/// be too few for tantivy to pass over what cannot win: of 121,000 chunks, six words took 8.4 ms among a tenth, and
/// take 0.8 when each is scored.
const FEW_DIVISOR: usize = 8;

impl Prepared<'_> {
    fn read_best(&self, k: usize, allow: Option<&FileSet>) -> Result<Vec<ScoredChunk>, EngineError> {
        if self.terms.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(few) = allow.and_then(|allow| self.few(allow)) {
            let mut hits = self.scored(few)?;
            if k > 0 && hits.len() > k {
                let (_, kth, _) = hits.select_nth_unstable_by(k - 1, |one, two| two.score.total_cmp(&one.score));
                let floor = kth.score;
                hits.retain(|hit| hit.score >= floor);
            }
            return Ok(hits);
        }
        let mut best = BestChunks { k, floor: 0.0, room: k * 2 + 64, found: Vec::new() };
        for (ordinal, segment) in self.index.searcher.segment_readers().iter().enumerate() {
            let map = &self.index.segments[ordinal];
            let excluded = self.excluded.iter().map(|weight| weight.scorer(segment, 1.0));
            let mut excluded = excluded.collect::<tantivy::Result<Vec<_>>>()?;
            // What tantivy passes over is below the floor by its bounds; those are too low by the slack at most.
            let slack = self.slacks[ordinal] as Score;
            let below = |floor: Score| if floor > 0.0 { floor / slack } else { floor };
            self.weight.for_each_pruning(below(best.floor), segment, &mut |document, score| {
                if !segment.is_deleted(document)
                    && allow.is_none_or(|allow| allow.contains(map.file(document)))
                    && !excluded.iter_mut().any(|set| has(set.as_mut(), document))
                {
                    best.offer(ordinal, document, score);
                }
                below(best.floor)
            })?;
        }
        best.prune();
        let found = best.found;
        self.scored(found.iter().map(|(_, ordinal, document)| (*ordinal, *document)).collect())
    }

    /// Those of some documents that have a word of the query, with their scores. Where something must be so, tantivy gives all that is so,
    /// whatever words it has.
    fn scored(&self, documents: Vec<(usize, DocId)>) -> Result<Vec<ScoredChunk>, EngineError> {
        let mut hits = self.score_documents(documents)?;
        hits.retain(|hit| hit.score > 0.0);
        Ok(hits)
    }

    /// The live documents of the files, when so few that scoring each is faster than looking for the best of all.
    fn few(&self, allow: &FileSet) -> Option<Vec<(usize, DocId)>> {
        let segments = self.index.searcher.segment_readers();
        let room = segments.iter().map(|segment| segment.num_docs() as usize).sum::<usize>() / FEW_DIVISOR;
        let mut few = Vec::new();
        for (ordinal, (segment, map)) in segments.iter().zip(&self.index.segments).enumerate() {
            for (document, &file) in (0..).zip(&map.files) {
                if allow.contains(file) && !segment.is_deleted(document) {
                    few.push((ordinal, document));
                    if few.len() > room {
                        return None;
                    }
                }
            }
        }
        Some(few)
    }

    fn read_scores(&self, chunks: &[u64]) -> Result<Vec<Option<f64>>, EngineError> {
        let segments = self.index.searcher.segment_readers();
        let mut documents = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            for (ordinal, (segment, map)) in segments.iter().zip(&self.index.segments).enumerate() {
                let live = map.documents(*chunk).filter(|document| !segment.is_deleted(*document));
                documents.extend(live.map(|document| (ordinal, document)));
            }
        }
        let found = self.score_documents(documents)?;
        let by_chunk: HashMap<u64, f64> = found.iter().map(|hit| (hit.row, hit.score)).collect();
        Ok(chunks.iter().map(|chunk| by_chunk.get(chunk).copied()).collect())
    }

    /// Scores documents exactly; leaves out those that the conditions rule out.
    fn score_documents(&self, mut documents: Vec<(usize, DocId)>) -> Result<Vec<ScoredChunk>, EngineError> {
        documents.sort_unstable();
        let mut hits = Vec::with_capacity(documents.len());
        for group in documents.chunk_by(|one, two| one.0 == two.0) {
            let ordinal = group[0].0;
            let segment = &self.index.searcher.segment_readers()[ordinal];
            let map = &self.index.segments[ordinal];
            let documents: Vec<DocId> = group.iter().map(|(_, document)| *document).collect();
            let mut kept = vec![true; documents.len()];
            for (weights, wanted) in [(&self.required, true), (&self.excluded, false)] {
                for weight in weights {
                    let mut scorer = weight.scorer(segment, 1.0)?;
                    each_match(scorer.as_mut(), &documents, |at, matches, _| kept[at] &= matches == wanted);
                }
            }
            let mut scores = vec![0.0; documents.len()];
            for (term, weight) in &self.terms {
                self.add_term(segment, term, weight, &documents, &mut scores)?;
            }
            hits.extend((0..documents.len()).filter(|at| kept[*at]).map(|at| ScoredChunk {
                row: map.chunks[documents[at] as usize],
                file: map.file(documents[at]),
                score: scores[at],
            }));
        }
        Ok(hits)
    }

    fn add_term(
        &self,
        segment: &SegmentReader,
        term: &Term,
        weight: &TermWeight,
        documents: &[DocId],
        scores: &mut [f64],
    ) -> Result<(), EngineError> {
        let inverted = segment.inverted_index(term.field())?;
        let postings =
            inverted.read_postings(term, IndexRecordOption::WithFreqs).map_err(tantivy::TantivyError::from)?;
        let Some(mut postings) = postings else { return Ok(()) };
        let lengths: FieldNormReader = segment.get_fieldnorms_reader(term.field())?;
        each_match(&mut postings, documents, |at, matches, postings| {
            if matches {
                scores[at] += weight.score(postings.term_freq(), lengths.fieldnorm(documents[at]));
            }
        });
        Ok(())
    }
}

impl PreparedWords for Prepared<'_> {
    fn most(&self) -> f64 {
        self.most
    }

    fn has(&self, word: &str) -> bool {
        self.present.contains(word)
    }

    fn best(&self, k: usize, allow: Option<&FileSet>) -> Result<Vec<ScoredChunk>, EngineError> {
        reading(|| self.read_best(k, allow))
    }

    fn scores(&self, rows: &[u64]) -> Result<Vec<Option<f64>>, EngineError> {
        reading(|| self.read_scores(rows))
    }
}

/// Calls `each` with the index of every one of the ascending `documents`, and whether the set has it.
fn each_match<S: DocSet + ?Sized>(set: &mut S, documents: &[DocId], mut each: impl FnMut(usize, bool, &mut S)) {
    for (at, &document) in documents.iter().enumerate() {
        let matches = has(set, document);
        each(at, matches, set);
    }
}

/// Whether a set has a document. Those that are asked for ascend.
fn has<S: DocSet + ?Sized>(set: &mut S, document: DocId) -> bool {
    if set.doc() < document {
        set.seek(document);
    }
    set.doc() == document && document != TERMINATED
}

/// The best so far, with room for ties.
struct BestChunks {
    k: usize,
    floor: Score,
    room: usize,
    found: Vec<(Score, usize, DocId)>,
}

impl BestChunks {
    fn offer(&mut self, ordinal: usize, document: DocId, score: Score) {
        if score <= self.floor {
            return;
        }
        self.found.push((score, ordinal, document));
        if self.found.len() >= self.room {
            self.prune();
            self.room = self.found.len() * 2 + 64;
        }
    }

    /// Drops what is worse than the k-th best, ties kept.
    fn prune(&mut self) {
        if self.k == 0 || self.found.len() <= self.k {
            return;
        }
        let (_, kth, _) = self.found.select_nth_unstable_by(self.k - 1, |one, two| two.0.total_cmp(&one.0));
        let floor = kth.0 - kth.0.abs() * TIE;
        self.floor = floor;
        self.found.retain(|(score, _, _)| *score > floor);
    }
}

/// Maximum number of frequencies that are remembered, until the next state is published.
const MAX_KNOWN: usize = 20_000;

/// Statistics of a scope, as tantivy asks for them and as exact scores need them.
pub(super) struct Scoped<'a> {
    index: &'a KeywordSearcher,
    statistics: Statistics,
    scope: Option<&'a FileSet>,
    /// As the query's terms count, those of several languages together and with what is counted beside the scope.
    counts: HashMap<Term, u64>,
}

impl Scoped<'_> {
    /// In how many live chunks of the scope a term occurs.
    pub(super) fn document_frequency(&self, term: &Term) -> tantivy::Result<u64> {
        // What one scope counts must not be told to another.
        let shared = self.scope.is_none();
        let known = || self.index.frequencies.lock().expect("no panic while it is held");
        if let Some(found) = known().get(term).filter(|_| shared) {
            return Ok(*found);
        }
        let mut total = 0;
        for (segment, map) in self.index.searcher.segment_readers().iter().zip(&self.index.segments) {
            total += self.frequency_in(segment, map, term)?;
        }
        if shared && known().len() < MAX_KNOWN {
            known().insert(term.clone(), total);
        }
        Ok(total)
    }

    fn frequency_in(&self, segment: &SegmentReader, map: &SegmentMap, term: &Term) -> tantivy::Result<u64> {
        let inverted = segment.inverted_index(term.field())?;
        if self.scope.is_none() && !segment.has_deletes() {
            return Ok(u64::from(inverted.doc_freq(term)?));
        }
        let Some(mut postings) = inverted.read_postings(term, IndexRecordOption::Basic)? else { return Ok(0) };
        let mut count = 0;
        let mut document = postings.doc();
        while document != TERMINATED {
            let seen = self.scope.is_none_or(|scope| scope.contains(map.file(document)));
            count += u64::from(seen && !segment.is_deleted(document));
            document = postings.advance();
        }
        Ok(count)
    }

    fn index_of(&self, field: tantivy::schema::Field) -> usize {
        self.index.fields.scored().iter().position(|of| *of == field).unwrap_or(0)
    }
}

/// By how much the score of a chunk may be above the bound that tantivy has for its block of postings.
///
/// Searches take as long with it, and 1.07 times as long after many edits (docs/performance.md).
///
/// Of each block tantivy keeps the pair *p* of frequency t and length l that scores best with the average length s of its
/// segment. Scores are made with the average g of the scope, with which another pair *q* of the block may be better. A pair's
/// part of a score is 1 / (1 + x), with x = (c + d·l/a) / t for an average a, c = k1(1−b) and d = k1·b. With r = s/g,
///
/// x(g) = r·x(s) + c(1−r)/t, so x(g, p) − x(g, q) ≤ c(1−r)(1/t(p) − 1/t(q)), as x(s, p) ≤ x(s, q);
///
/// part(q) / part(p) ≤ 1 + (x(g, p) − x(g, q)) / (1 + x(g, q)), which is
/// at most 1 + c(1−r) for r ≤ 1, where 1/t(p) ≤ 1; and at most 1 + c(r−1) / (1+c) for r > 1, as x(g, q) > c/t(q) and t(q) ≥ 1.
pub(super) fn bound_slack(segment_average: f64, scope_average: f64) -> f64 {
    let (ratio, c) = (segment_average / scope_average, K1 * (1.0 - B));
    1.0 + if ratio <= 1.0 { c * (1.0 - ratio) } else { c * (ratio - 1.0) / (1.0 + c) }
}

impl Scoped<'_> {
    /// By how much scores may be above the bounds of a segment's blocks, in any of the fields.
    pub(super) fn slack(&self, segment: &SegmentReader) -> tantivy::Result<f64> {
        let mut slack: f64 = 1.0;
        for (field, words) in self.index.fields.scored().into_iter().zip(self.statistics.words) {
            // Where the scope has no words there is nothing to score.
            if words > 0 && segment.max_doc() > 0 {
                // As tantivy works it out when it writes a segment.
                let of_segment =
                    segment.inverted_index(field)?.total_num_tokens() as f64 / f64::from(segment.max_doc());
                slack = slack.max(bound_slack(of_segment, words as f64 / self.statistics.chunks.max(1) as f64));
            }
        }
        Ok(slack)
    }
}

impl Bm25StatisticsProvider for Scoped<'_> {
    fn total_num_tokens(&self, field: tantivy::schema::Field) -> tantivy::Result<u64> {
        // The average length is that of the scope's chunks, of whatever count it is taken.
        let (words, chunks) = (self.statistics.words[self.index_of(field)].max(1), self.statistics.chunks.max(1));
        Ok((u128::from(words) * u128::from(chunks + BACKGROUND) / u128::from(chunks)) as u64)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.statistics.chunks.max(1) + BACKGROUND)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        // tantivy panics when a term is in more documents than there are.
        let all = self.statistics.chunks.max(1) + BACKGROUND;
        let known = self.counts.get(term).copied();
        Ok(known.map_or_else(|| self.document_frequency(term), Ok)?.min(all))
    }
}

/// Maximum number of words that are looked at for a beginning. They come in the order of the alphabet.
const MAX_WORDS: usize = 1000;

impl KeywordSearcher {
    /// The words like another that chunks of `scope` (all when `None`) have.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn like(&self, like: &Like, scope: Option<&FileSet>) -> Result<Vec<LikeWord>, EngineError> {
        let scoped = self.counted_in(scope);
        let mut words: BTreeMap<String, u64> = BTreeMap::new();
        for field in [Field::Own, Field::Heading] {
            let mut found: Vec<String> = Vec::new();
            for segment in self.searcher.segment_readers() {
                let inverted = segment.inverted_index(self.fields.of(field))?;
                let mut keep = |word: &[u8]| {
                    let is_like = |word: &&str| like.distance(without_language(word)).is_some();
                    found.extend(std::str::from_utf8(word).ok().filter(is_like).map(str::to_owned));
                };
                match like {
                    Like::Prefix(prefix) => {
                        let mut stream =
                            inverted.terms().range().ge(prefix).into_stream().map_err(tantivy::TantivyError::from)?;
                        while stream.advance() && stream.key().starts_with(prefix.as_bytes()) {
                            keep(stream.key());
                        }
                    }
                    Like::Edits(word, most) => {
                        let automaton = Edits(EDITS[usize::from(*most).min(EDITS.len() - 1)].build_dfa(word));
                        let mut stream =
                            inverted.terms().search(automaton).into_stream().map_err(tantivy::TantivyError::from)?;
                        while stream.advance() {
                            keep(stream.key());
                        }
                    }
                }
            }
            found.sort_unstable();
            found.dedup();
            let mut live = 0;
            for word in found {
                let term = Term::from_field_text(self.fields.of(field), &word);
                let count = scoped.document_frequency(&term)?;
                if count > 0 {
                    *words.entry(without_language(&word).to_owned()).or_default() += count;
                    live += 1;
                    if live == MAX_WORDS {
                        break;
                    }
                }
            }
        }
        Ok(words.into_iter().collect())
    }

    /// The terms of those who speak in chunks of `scope` (all when `None`), in order.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn speakers(&self, scope: Option<&FileSet>) -> Result<Vec<String>, EngineError> {
        let mut all = BTreeSet::new();
        for segment in self.searcher.segment_readers() {
            let inverted = segment.inverted_index(self.fields.speaker)?;
            let mut stream = inverted.terms().stream().map_err(tantivy::TantivyError::from)?;
            while stream.advance() {
                all.extend(std::str::from_utf8(stream.key()).map(str::to_owned));
            }
        }
        let (scoped, mut speakers) = (self.counted_in(scope), Vec::new());
        for name in all {
            if scoped.document_frequency(&Term::from_field_text(self.fields.speaker, &name))? > 0 {
                speakers.push(name);
            }
        }
        Ok(speakers)
    }

    fn counted_in<'a>(&'a self, scope: Option<&'a FileSet>) -> Scoped<'a> {
        Scoped { index: self, statistics: Statistics::default(), scope, counts: HashMap::new() }
    }
}

/// By the number of edits: 0, 1, 2.
static EDITS: LazyLock<[LevenshteinAutomatonBuilder; 3]> =
    LazyLock::new(|| [0, 1, 2].map(|edits| LevenshteinAutomatonBuilder::new(edits, true)));

/// The words within some edits, as the dictionary asks for them. What marks a stem's language is no part of the word.
struct Edits(DFA);

/// Where a term is, and whether its word is over.
#[derive(Debug, Clone, Copy)]
struct EditsState {
    at: u32,
    over: bool,
}

impl Automaton for Edits {
    type State = EditsState;

    fn start(&self) -> Self::State {
        EditsState { at: self.0.initial_state(), over: false }
    }

    fn is_match(&self, state: &Self::State) -> bool {
        matches!(self.0.distance(state.at), levenshtein_automata::Distance::Exact(_))
    }

    fn can_match(&self, state: &Self::State) -> bool {
        if state.over { self.is_match(state) } else { state.at != SINK_STATE }
    }

    fn accept(&self, state: &Self::State, byte: u8) -> Self::State {
        if state.over || begins_language(byte) {
            EditsState { over: true, ..*state }
        } else {
            EditsState { at: self.0.transition(state.at, byte), over: false }
        }
    }
}
