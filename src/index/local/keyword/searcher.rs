//! Searching one published state of the keyword index.
//!
//! All chunks that have a word are scored, not the likeliest by tantivy's bounds alone. Of 50,000 made-up chunks, two builds in turns, p50 of
//! six words 1.5 ms instead of 3.0, of common words 3.8 instead of 8.1.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex};

use levenshtein_automata::{DFA, LevenshteinAutomatonBuilder, SINK_STATE};
use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::SegmentId;
use tantivy::postings::Postings;
use tantivy::query::{EnableScoring, PhraseQuery, Query, TermQuery, Weight};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Searcher, SegmentReader, TERMINATED, Term};
use tantivy_fst::Automaton;

use super::schema::{ChunkFields, reading};
use crate::index::engine::{
    EngineError, Field, FileSet, Like, LikeWord, PreparedWords, QueryTerms, ScoredChunk, Statistics, TermWeight,
    WeighedTerms, WordQuery,
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

    /// Prepares a query with its terms over the files of `scope` (all when `None`), whose chunks `statistics` counts. Only those of `allow`
    /// (all when `None`) are asked for.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub(crate) fn prepare<'a>(
        &'a self,
        query: &WordQuery,
        terms: QueryTerms,
        statistics: Statistics,
        (scope, allow): (Option<&FileSet>, Option<&'a FileSet>),
    ) -> Result<Prepared<'a>, EngineError> {
        let term = |field: Field, word: &str| Term::from_field_text(self.fields.of(field), word);
        let WeighedTerms { terms, present, most } =
            terms.weigh(&statistics, |field, word| self.document_frequency(&term(field, word), scope))?;
        let terms = terms.into_iter().map(|weighed| (term(weighed.field, &weighed.text), weighed.weight)).collect();
        let run = |words: &Vec<String>| -> Box<dyn Query> {
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
        let conditions = |runs: &[Vec<String>], speakers: &[String]| {
            let all = runs.iter().map(run).chain(speakers.iter().map(said_by));
            let weights = all.map(|query| query.weight(EnableScoring::disabled_from_searcher(&self.searcher)));
            weights.collect::<tantivy::Result<Vec<_>>>()
        };
        let required = conditions(&query.phrases, &query.said_by)?;
        let excluded = conditions(&query.excluded, &query.not_said_by)?;
        Ok(Prepared { index: self, terms, present, most, required, excluded, allow, scores: OnceCell::new() })
    }

    /// In how many live chunks of a scope (all when `None`) a term occurs.
    fn document_frequency(&self, term: &Term, scope: Option<&FileSet>) -> tantivy::Result<u64> {
        // What one scope counts must not be told to another.
        let shared = scope.is_none();
        let known = || self.frequencies.lock().expect("no panic while it is held");
        if let Some(found) = known().get(term).filter(|_| shared) {
            return Ok(*found);
        }
        let mut total = 0;
        for (segment, map) in self.searcher.segment_readers().iter().zip(&self.segments) {
            let inverted = segment.inverted_index(term.field())?;
            if shared && !segment.has_deletes() {
                total += u64::from(inverted.doc_freq(term)?);
            } else if let Some(mut postings) = inverted.read_postings(term, IndexRecordOption::Basic)? {
                each(&mut postings, None, |_, postings| {
                    let seen = scope.is_none_or(|scope| scope.contains(map.file(postings.doc())));
                    total += u64::from(seen && !segment.is_deleted(postings.doc()));
                });
            }
        }
        if shared && known().len() < MAX_KNOWN {
            known().insert(term.clone(), total);
        }
        Ok(total)
    }
}

/// Maximum number of frequencies that are remembered, until the next state is published.
const MAX_KNOWN: usize = 20_000;

/// Calls `with` with each document of a set, in order, and the set; with those among `few` alone, by their place there, if they are given.
fn each<S: DocSet + ?Sized>(set: &mut S, few: Option<&[DocId]>, mut with: impl FnMut(usize, &S)) {
    let Some(few) = few else {
        while set.doc() != TERMINATED {
            with(set.doc() as usize, set);
            set.advance();
        }
        return;
    };
    for (at, &document) in few.iter().enumerate() {
        if set.doc() < document {
            set.seek(document);
        }
        if set.doc() == document {
            with(at, set);
        }
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
    /// The files that are asked for; all when `None`.
    allow: Option<&'a FileSet>,
    /// By segment, once they were asked for.
    scores: OnceCell<Vec<Scores>>,
}

/// The scores of a segment's documents.
struct Scores {
    /// The documents that are scored, in order; all when `None`.
    few: Option<Vec<DocId>>,
    /// By their places, so many to a page. A page is empty until one of it has a score: a block that the system has to give takes as long as
    /// scoring what is in it.
    pages: Vec<Vec<f64>>,
}

/// Scores in a page.
const PAGE: usize = 8192;

impl Scores {
    fn at(&mut self, place: usize) -> &mut f64 {
        let page = &mut self.pages[place / PAGE];
        if page.is_empty() {
            page.resize(PAGE, 0.0);
        }
        &mut page[place % PAGE]
    }

    /// Calls `with` with each document that scores as much as a floor, which it gives anew.
    fn each(&self, mut floor: f64, mut with: impl FnMut(DocId, f64) -> f64) {
        for (at, page) in self.pages.iter().enumerate() {
            for (place, &score) in (at * PAGE..).zip(page) {
                if score >= floor {
                    floor = with(self.few.as_ref().map_or(place as DocId, |few| few[place]), score);
                }
            }
        }
    }

    fn of(&self, document: DocId) -> f64 {
        let place = self.few.as_ref().map_or(Ok(document as usize), |few| few.binary_search(&document));
        place.map_or(RULED_OUT, |place| self.pages[place / PAGE].get(place % PAGE).copied().unwrap_or_default())
    }
}

/// The score of a document that the query's conditions rule out.
const RULED_OUT: f64 = -1.0;

/// One of how many documents are few: each is sought, which takes less time then than to read all that have a word.
const FEW: usize = 10;

impl Prepared<'_> {
    /// The segments with what is known of their documents, and their scores.
    ///
    /// Every document that has a term is scored. tantivy can pass over those that cannot be among the best, but that takes twice the time
    /// for chunks, which are short and have each word in three fields: of 50,000 made-up ones 3.0 ms for six words where this takes 1.5, and
    /// 8.1 where it takes 3.8 for common ones.
    fn segments(&self) -> Result<impl Iterator<Item = (&SegmentReader, &SegmentMap, &Scores)>, EngineError> {
        let segments = self.index.searcher.segment_readers();
        if self.scores.get().is_none() {
            let scores = segments.iter().zip(&self.index.segments).map(|(segment, map)| self.score(segment, map));
            let scores = scores.collect::<tantivy::Result<_>>()?;
            let _ = self.scores.set(scores);
        }
        let scores = self.scores.get().into_iter().flatten();
        let all = segments.iter().zip(&self.index.segments).zip(scores);
        Ok(all.map(|((segment, map), scores)| (segment, map.as_ref(), scores)))
    }

    /// The scores of a segment's documents that are of files which are asked for; where those are not few, of all.
    fn score(&self, segment: &SegmentReader, map: &SegmentMap) -> tantivy::Result<Scores> {
        let most = map.files.len() / FEW;
        let few = self.allow.map(|allow| {
            let asked = (0..).zip(&map.files).filter(|(_, file)| allow.contains(**file));
            asked.map(|(document, _)| document).take(most + 1).collect::<Vec<DocId>>()
        });
        let few = few.filter(|few| few.len() <= most);
        let count = few.as_ref().map_or(map.files.len(), Vec::len);
        let mut scores = Scores { few: None, pages: vec![Vec::new(); count.div_ceil(PAGE)] };
        for (term, weight) in &self.terms {
            let inverted = segment.inverted_index(term.field())?;
            let Some(mut postings) = inverted.read_postings(term, IndexRecordOption::WithFreqs)? else { continue };
            let lengths = segment.get_fieldnorms_reader(term.field())?;
            let norms: [f64; 256] = std::array::from_fn(|id| weight.norm(FieldNormReader::id_to_fieldnorm(id as u8)));
            each(&mut postings, few.as_deref(), |place, postings| {
                let norm = norms[usize::from(lengths.fieldnorm_id(postings.doc()))];
                *scores.at(place) += weight.score(postings.term_freq(), norm);
            });
        }
        for (weights, wanted) in [(&self.required, true), (&self.excluded, false)] {
            for weight in weights {
                let mut is_so = vec![!wanted; count];
                each(weight.scorer(segment, 1.0)?.as_mut(), few.as_deref(), |place, _| is_so[place] = wanted);
                (0..count).filter(|place| !is_so[*place]).for_each(|place| *scores.at(place) = RULED_OUT);
            }
        }
        Ok(Scores { few, ..scores })
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
        reading(|| {
            if self.terms.is_empty() {
                return Ok(Vec::new());
            }
            let mut best = Best { k, floor: f64::MIN_POSITIVE, found: Vec::new() };
            for (segment, map, scores) in self.segments()? {
                scores.each(best.floor, |document, score| {
                    let file = map.file(document);
                    if !segment.is_deleted(document) && allow.is_none_or(|allow| allow.contains(file)) {
                        best.offer(ScoredChunk { row: map.chunks[document as usize], file, score });
                    }
                    best.floor
                });
            }
            best.cut();
            Ok(best.found)
        })
    }

    fn scores(&self, rows: &[u64]) -> Result<Vec<Option<f64>>, EngineError> {
        reading(|| {
            let segments: Vec<_> = self.segments()?.collect();
            let score = |chunk: &u64| {
                let found = segments.iter().find_map(|(segment, map, scores)| {
                    let live = map.documents(*chunk).find(|document| !segment.is_deleted(*document));
                    live.map(|document| scores.of(document))
                });
                found.filter(|score| *score != RULED_OUT)
            };
            Ok(rows.iter().map(score).collect())
        })
    }
}

/// The best `k` so far and all that tie with the last, or some more; all when `k` is 0.
struct Best {
    k: usize,
    /// Below this, nothing is among them.
    floor: f64,
    found: Vec<ScoredChunk>,
}

impl Best {
    fn offer(&mut self, chunk: ScoredChunk) {
        self.found.push(chunk);
        if self.found.len() == self.found.capacity() {
            self.cut();
            self.found.reserve(self.found.len() + 64);
        }
    }

    fn cut(&mut self) {
        if self.k > 0 && self.found.len() > self.k {
            let (_, kth, _) = self.found.select_nth_unstable_by(self.k - 1, |one, two| two.score.total_cmp(&one.score));
            self.floor = kth.score;
            self.found.retain(|chunk| chunk.score >= self.floor);
        }
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
                let count = self.document_frequency(&term, scope)?;
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
        let mut speakers = Vec::new();
        for name in all {
            if self.document_frequency(&Term::from_field_text(self.fields.speaker, &name), scope)? > 0 {
                speakers.push(name);
            }
        }
        Ok(speakers)
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
