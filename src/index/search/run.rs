//! The search itself: what it is asked, what it answers, and the stages one after the other.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::assist::{Assistant, Unassisted, rerank};
use super::fuse::{Candidate, CandidateScores, rank};
use super::query::{ParsedQuery, Surroundings};
use super::rank::{Named, Relevance, diversify, left_of, named_first, spread, weigh};
use super::respell::{Correction, Respelled, UnknownName, is_any, misread, respell, unknown};
use super::retrieve::{RetrievedWords, Retriever, StoredTokens, drop_same_copies, embed_beside, is_same_copy, unread};
use super::visible::Visible;
use super::window::{HitWindow, HitWindows};
use crate::access::rules::Turn;
use crate::base::config::{Mode, SearchConfig, VaultPart};
use crate::index::engine::{ChunkText, EngineError, FileEntry, Filter, Predicate, QueryVector, Reader, WordQuery};
use crate::models::{Embedder, ModelAsker, ModelError};
use crate::text::derive::{Label, TextLanguage};

/// What is wanted.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// What was typed.
    pub text: String,
    /// Which sides are asked.
    pub mode: Mode,
    /// Hits at most.
    pub limit: usize,
    /// Hits that are less likely to answer are left out.
    pub min_relevance: Option<f64>,
    /// Which files.
    pub filter: Filter,
    /// Parts of the vault, and what the scores of each are multiplied with.
    pub parts: Vec<(VaultPart, f64)>,
    /// Now, for queries that say how long ago.
    pub at: Timestamp,
    /// How many chunks are shown on either side of a hit, in conversations turns; when it is not said, 2 there, and else none.
    pub context: Option<usize>,
    /// Whether anybody waits for the answer still.
    pub turn: Turn,
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
    /// MaxSim of the query's tokens, of what was said in a conversation.
    pub late: Option<f64>,
    /// What a model says of it that has read it, 0 to 1.
    pub rerank: Option<f64>,
    /// BM25 as a share of what it could be at most.
    pub coverage: Option<f64>,
    /// How likely it answers, 0 to 1, which compares across answers; `None` where nothing was looked for, or the model was never measured.
    pub relevance: Option<f64>,
    /// What is shown around it.
    pub window: HitWindow,
}

/// Why an answer is less than what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Degraded {
    /// There is no model, or not yet: the words alone were searched, or nothing.
    NoModel,
    /// The model failed on this query.
    ModelFailed(String),
    /// Some chunks cannot be read, for the reason given, and are left out.
    Damaged(String),
    /// No note has a collection or tag that the query names, or nobody speaks that it names.
    Unknown(UnknownName),
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
    /// The mode that was asked for, by the query where it says so.
    pub asked: Mode,
    /// The mode that was used.
    pub mode: Mode,
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// How many more were found that are less likely than was wanted.
    pub left_out: usize,
    /// Words that are in no chunk, for which others were looked for.
    pub corrections: Vec<Correction>,
    /// What was read as words and may have been meant otherwise, as sentences.
    pub misread: Vec<String>,
    /// What a model was to do for it and did not.
    pub(crate) unassisted: Vec<Unassisted>,
    /// The language of the query, or of most hits, where the model that was asked does not read it.
    pub unread: Option<TextLanguage>,
    /// Why the answer is less than what was asked for, if it is.
    pub degraded: Option<Degraded>,
}

/// Maximum number of candidates by words or by meaning, however many a single long file has.
const MAX_WIDTH: usize = 6_400;

/// Searches one generation.
///
/// # Errors
/// When a store cannot be read.
pub fn search(
    reader: &dyn Reader,
    embedder: Option<&dyn Embedder>,
    visible: &Visible,
    config: &SearchConfig,
    request: &SearchRequest,
) -> Result<Results, EngineError> {
    assisted_search(reader, embedder, visible, config, request, SearchHelp::default())
}

/// What a search goes by besides the index.
#[derive(Clone, Copy, Default)]
pub(crate) struct SearchHelp<'a> {
    /// A chat model.
    pub(crate) assistant: Option<&'a Assistant<'a>>,
    /// For whom the model's answers are remembered; `None` for nobody.
    pub(crate) asker: Option<&'a ModelAsker>,
}

/// The same with help.
///
/// # Errors
/// When a store cannot be read. Nothing that becomes of the help is an error.
pub(crate) fn assisted_search(
    reader: &dyn Reader,
    embedder: Option<&dyn Embedder>,
    visible: &Visible,
    config: &SearchConfig,
    request: &SearchRequest,
    help: SearchHelp<'_>,
) -> Result<Results, EngineError> {
    let SearchHelp { assistant, asker } = help;
    let files = reader.files();
    let has_property = |key: &str| files.facets().has_label(Label::of_property(key, None), visible.set());
    let is_there = |wanted: &Predicate| is_any(wanted, reader, visible.set(), &request.turn).unwrap_or_default();
    let around = Surroundings { at: request.at, has_property: &has_property, is_there: &is_there };
    let mut query = ParsedQuery::read(&request.text, &around);
    if query.is_empty() {
        // Tags alone say which notes, however they are asked for.
        let tags = request.filter.conditions.iter().filter(|one| matches!(one.wanted, Predicate::Tag(_)));
        query.conditions.extend(tags.cloned());
    }
    if query.is_empty() || request.limit == 0 {
        return Ok(Results {
            asked: request.mode,
            mode: request.mode,
            hits: Vec::new(),
            left_out: 0,
            corrections: Vec::new(),
            misread: Vec::new(),
            unassisted: Vec::new(),
            unread: None,
            degraded: unknown(&request.filter, reader, visible.set())?.map(Degraded::Unknown),
        });
    }
    // A line that asks one side alone asks it, whatever else was said. A deep search once compared the best token by token, and found no more.
    let asked = match query.asks.unwrap_or(request.mode) {
        Mode::Deep => Mode::Hybrid,
        asked => asked,
    };
    let mut filter = request.filter.clone();
    filter.conditions.extend(query.conditions.iter().cloned());
    filter.files = visible.set().cloned();
    let allow = reader.resolve(&filter, &request.turn)?;
    let retriever = Retriever { reader, allow: allow.as_ref(), scope: visible.set(), language: config.stemmer };
    let mut words = retriever.words(&query.keyword)?;
    let (typed, typed_words) = (query.semantic.clone(), query.keyword.clone());
    let Respelled { corrections, likeliest } = respell(&mut query, &words, &retriever, embedder)?;
    if let Some(likeliest) = &likeliest {
        words = retriever.words(&query.keyword)?;
        // Of a word that goes on in several ways, only one is meant.
        words.asked = retriever.words(likeliest)?.asked;
    }
    // What takes the place of a word that no passage has is a word of notes, of private ones, too, so that a model on another machine is told
    // what was typed alone.
    let leaves = embedder.is_some_and(|embedder| !embedder.takes_private());
    let of_model = if leaves { &typed } else { &query.semantic };
    let most = words.asked.most;
    let until = until_when(&request.turn, config.timeout_ms);
    let mut degraded = None;
    let vector = if query.only_narrows() || asked == Mode::Keyword {
        None
    } else {
        match embed_beside(reader, (embedder, asker), of_model, until, || words.look_ahead())? {
            Ok(vector) => Some(vector),
            Err(error) => {
                degraded = Some(match error {
                    ModelError::Stopped => Degraded::NoModel,
                    error => Degraded::ModelFailed(error.to_string()),
                });
                None
            }
        }
    };
    let (embedded, of) = reader.embedded(visible.set());
    if vector.is_some() && embedded < of {
        degraded = Some(Degraded::Embedding { embedded, of });
    }
    // Without a model, the words answer for the meaning.
    let mode = if vector.is_some() { asked } else { Mode::Keyword };
    let stored = embedder.filter(|_| mode == Mode::Hybrid).map(|embedder| StoredTokens {
        embedder,
        asker,
        query: of_model,
        until,
        tokens: OnceCell::new(),
    });
    let named = retriever.named(query.name, &typed_words, likeliest.as_ref()).filter(|_| mode != Mode::Semantic);
    let vector = vector.as_ref();
    let assisted = assistant.map(|assistant| (typed.as_str(), assistant));
    let mut ranking = Ranking {
        request,
        retriever: &retriever,
        mode,
        vector,
        config,
        named,
        stored,
        assisted,
        unassisted: Vec::new(),
    };
    let WordQuery { excluded, said_by, not_said_by, .. } = &query.keyword;
    let rules_out = !(excluded.is_empty() && said_by.is_empty() && not_said_by.is_empty());
    let excluding = rules_out.then_some(&words);
    let mut ranked = if query.only_narrows() { ranking.rest(excluding)? } else { ranking.run(&words)? };
    if ranked.is_empty()
        && let Some(relaxed) = query.relaxed()
    {
        ranked = ranking.run(&retriever.words(&relaxed.keyword)?)?;
        let by_words = |candidate: &Candidate| candidate.scores.keyword.is_some_and(|score| score > 0.0);
        if mode != Mode::Semantic && !ranked.iter().any(by_words) {
            // What is merely near in meaning is not what a phrase asks for.
            ranked.clear();
        } else {
            degraded = degraded.or(Some(Degraded::PhraseAbsent));
        }
    }
    let relevance_of = Relevance { mode, model: embedder.map(Embedder::name), most };
    let mut left_out = 0;
    // To list what is left, none of it is asked for.
    let context = if query.only_narrows() { request.context.or(Some(0)) } else { request.context };
    let mut windows = HitWindows { retriever: &retriever, context, damage: None };
    let mut hits: Vec<Hit> = Vec::with_capacity(request.limit.min(ranked.len()));
    for (place, candidate) in ranked.into_iter().enumerate() {
        if hits.len() == request.limit {
            break;
        }
        go_on(&request.turn)?;
        let relevance = relevance_of.of(&candidate).filter(|_| !query.only_narrows());
        if relevance.zip(request.min_relevance).is_some_and(|(relevance, min)| relevance < min) {
            // What comes after the best that were asked for takes the place of it, or is not spoken of.
            left_out += usize::from(place < request.limit);
            continue;
        }
        let chunk = match reader.chunk(candidate.row) {
            Ok(Some(chunk)) => chunk,
            Ok(None) => continue,
            // What is damaged is never shown, and takes nothing else with it.
            Err(error) if error.is_damage() => {
                degraded = Some(Degraded::Damaged(error.to_string()));
                continue;
            }
            Err(error) => return Err(error),
        };
        let CandidateScores { keyword, semantic, late, rerank, .. } = candidate.scores;
        let coverage = relevance_of.coverage(&candidate.scores);
        let window = windows.around(&candidate.file, candidate.ordinal, &chunk)?;
        let (file, score) = (candidate.file, candidate.score);
        put(&mut hits, Hit { file, chunk, score, keyword, semantic, late, rerank, coverage, relevance, window });
    }
    if let Some(reason) = windows.damage {
        degraded = Some(Degraded::Damaged(reason));
    }
    if hits.is_empty()
        && let Some(unknown) = unknown(&filter, reader, visible.set())?
    {
        degraded = Some(Degraded::Unknown(unknown));
    }
    let misread = misread(&query.no_conditions, !hits.is_empty());
    let unassisted = ranking.unassisted;
    let model = embedder.filter(|_| vector.is_some());
    let languages: Vec<_> = hits.iter().map(|hit| hit.file.language()).collect();
    let unread = model.and_then(|model| unread(model.name(), &query.semantic, &languages));
    Ok(Results { asked, mode, hits, left_out, corrections, misread, unassisted, unread, degraded })
}

/// Adds a hit, the best come first. One that a better one shows is none; where its window overlaps with those of better ones, it
/// becomes part of the best of them.
fn put(hits: &mut Vec<Hit>, hit: Hit) {
    if hits.iter().any(|other| other.file.id == hit.file.id && other.window.shows(&hit.window)) {
        return;
    }
    let overlaps = |other: &Hit| other.file.id == hit.file.id && other.window.overlaps(&hit.window);
    let Some(best) = hits.iter().position(overlaps) else {
        hits.push(hit);
        return;
    };
    let mut all = hits.split_off(best + 1);
    let bridged: Vec<Hit> = all.extract_if(.., |other| overlaps(other)).collect();
    hits.append(&mut all);
    for other in bridged.into_iter().chain([hit]) {
        hits[best].window.merge(other.window, other.chunk);
    }
}

/// The stages between the query and its hits.
struct Ranking<'a> {
    request: &'a SearchRequest,
    retriever: &'a Retriever<'a>,
    mode: Mode,
    vector: Option<&'a QueryVector>,
    config: &'a SearchConfig,
    /// The files that are called what was typed, when there are any.
    named: Option<Named>,
    /// The tokens of conversations, in a hybrid search.
    stored: Option<StoredTokens<'a>>,
    /// What the best are judged by and by whom, if they are.
    assisted: Option<(&'a str, &'a Assistant<'a>)>,
    /// What was not done of it.
    unassisted: Vec<Unassisted>,
}

impl Ranking<'_> {
    /// The best candidates in order, `limit` of them or more if there are. While one long file keeps others out of the candidates, more
    /// are asked for.
    fn run(&mut self, words: &RetrievedWords<'_>) -> Result<Vec<Candidate>, EngineError> {
        let mut width = self.config.candidates.max(self.request.limit);
        loop {
            go_on(&self.request.turn)?;
            let by = (self.mode, self.vector);
            let (files, allow) = (self.retriever.reader.files(), self.retriever.allow);
            let (mut candidates, more) = self.retriever.candidates(words, by, width, allow)?;
            drop_same_copies(&mut candidates, files, allow);
            let enough = left_of(&candidates, self.config.per_file) >= self.request.limit;
            if !enough && more && width < MAX_WIDTH {
                width *= 4;
                continue;
            }
            if more && !self.request.parts.is_empty() {
                self.retriever.add_parts(&mut candidates, &self.request.parts, words, by, width)?;
                drop_same_copies(&mut candidates, files, allow);
            }
            if let Some(stored) = &self.stored {
                stored.score(&mut candidates, self.retriever.reader)?;
            }
            rank(&mut candidates, self.mode, words.asked);
            weigh(&mut candidates, files, self.config, self.request.at.as_millisecond(), &self.request.parts);
            if let Some(named) = &self.named {
                self.retriever.add_named(&mut candidates, &named.files, words, by, self.request.limit)?;
                drop_same_copies(&mut candidates, files, allow);
                named_first(&mut candidates, named);
            }
            if let Some((query, assistant)) = self.assisted {
                let not_done = rerank(&mut candidates, query, self.retriever.reader, assistant)?;
                self.unassisted.extend(not_done);
                go_on(&self.request.turn)?;
            }
            diversify(&mut candidates, self.config.per_file);
            spread(&mut candidates, self.retriever.reader, self.config.mmr_lambda, self.request.limit);
            return Ok(candidates);
        }
    }

    /// What is left of all after a query that only says which notes, or what is not wanted; of the newest notes first.
    fn rest(&self, words: Option<&RetrievedWords<'_>>) -> Result<Vec<Candidate>, EngineError> {
        let mut left = Vec::new();
        let (files, allow) = (self.retriever.reader.files(), self.retriever.allow);
        for file in self.retriever.newest_files() {
            go_on(&self.request.turn)?;
            if is_same_copy(file, files, allow) {
                continue;
            }
            let mut rest = self.retriever.rest_of(file, words)?;
            diversify(&mut rest, self.config.per_file);
            left.extend(rest);
            if left.len() >= self.request.limit {
                break;
            }
        }
        Ok(left)
    }
}

/// Until when the model is waited for from now on: as long as anybody waits for the answer, and not longer than is configured.
fn until_when(turn: &Turn, timeout_ms: u64) -> Option<Instant> {
    let timeout = (timeout_ms > 0).then(|| Instant::now() + Duration::from_millis(timeout_ms));
    turn.until_when().into_iter().chain(timeout).min()
}

/// Ends the search when nobody waits for it.
fn go_on(turn: &Turn) -> Result<(), EngineError> {
    if turn.is_over() { Err(EngineError::abandoned()) } else { Ok(()) }
}
