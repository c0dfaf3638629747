//! The search itself: the stages one after the other.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use super::asked::{Degraded, Hit, Results, SearchRequest};
use super::candidate::{Candidate, CandidateScores};
use super::diversify::{diversify, left_of, spread};
use super::expand::{Assistant, Expansion, Unassisted, expand};
use super::fuse::rank;
use super::late::{LateInteraction, StoredTokens};
use super::named::{Named, named_first};
use super::operators::Surroundings;
use super::query::ParsedQuery;
use super::relevance::Relevance;
use super::rerank::rerank;
use super::respell::{Respelled, is_any, misread, respell, unknown};
use super::retrieve::{RetrievedWords, Retriever, drop_same_copies, is_same_copy, unread};
use super::visible::Visible;
use super::weigh::{GivenCounts, QueryMeaning, embed_beside, weigh};
use super::window::HitWindows;
use crate::access::rules::Turn;
use crate::base::config::{Fusion, Mode, SearchConfig};
use crate::index::engine::{EngineError, Predicate, QueryVector, Reader, WordQuery};
use crate::models::{Embedder, ModelAsker, ModelError};
use crate::text::derive::Label;

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
    /// How often the asker was given chunks.
    pub(crate) given: Option<GivenCounts<'a>>,
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
    let SearchHelp { assistant, given, asker } = help;
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
    // A line that asks one side alone asks it, whatever else was said.
    let asked = query.asks.unwrap_or(request.mode);
    let mut filter = request.filter.clone();
    filter.conditions.extend(query.conditions.iter().cloned());
    filter.files = visible.set().cloned();
    let allow = reader.resolve(&filter, &request.turn)?;
    let retriever = Retriever { reader, allow: allow.as_ref(), scope: visible.set(), language: config.stemmer };
    let mut words = retriever.words(&query.keyword)?;
    let (typed, typed_words) = (query.semantic.clone(), query.keyword.clone());
    let Respelled { corrections, likeliest } = respell(&mut query, &words, &retriever, embedder)?;
    if let Some(likeliest) = &likeliest {
        words = retriever.words(&query.keyword)?.asked_as(&retriever.words(likeliest)?);
    }
    let leaves = embedder.is_some_and(|embedder| !embedder.takes_private());
    let texts = QueryTexts { typed, respelled: query.semantic.clone(), leaves };
    let most = words.most();
    // Where nothing can be found, nobody is asked for help.
    let can_find = allow.as_ref().map_or_else(|| files.iter().next().is_some(), |allow| !allow.is_empty());
    let assistant = assistant.filter(|_| can_find);
    let mut unassisted = Vec::new();
    let expansion = assistant.map_or(Ok(Expansion::default()), |assistant| expand(&query, &texts.typed, assistant));
    let expansion = expansion.unwrap_or_else(|failed| {
        unassisted.push(failed);
        Expansion::default()
    });
    if let Some(all) = &expansion.words {
        words = words.among(retriever.words(all)?);
    }
    // What a chat model has helped with before has a time of its own.
    let until = until_when(&request.turn, config.timeout_ms);
    let mut degraded = None;
    let has_words = reader.has_words();
    let vector = if query.only_narrows() || (asked == Mode::Keyword && has_words) {
        None
    } else {
        let width = matches!(asked, Mode::Hybrid | Mode::Deep).then(|| config.candidates.max(request.limit));
        let meant = (texts.of_model(), expansion.meaning.as_deref());
        match embed_beside(reader, (embedder, asker), meant, until, || words.look_ahead(width))? {
            Ok(QueryMeaning { all, typed, lacks }) => {
                unassisted.extend(lacks.map(Unassisted::AsTyped));
                Some((all, typed))
            }
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
    // Without a model, the words answer for the meaning; without the words, the meaning answers for them.
    let mode = match (has_words, &vector, asked) {
        (false, ..) => Mode::Semantic,
        (true, None, _) => Mode::Keyword,
        (true, Some(_), Mode::Deep) => Mode::Hybrid,
        (true, Some(_), mode) => mode,
    };
    if !has_words {
        degraded = Some(Degraded::NoWords);
    }
    let mut late = None;
    let stored = embedder.filter(|_| mode == Mode::Hybrid && config.fusion != Fusion::Rrf).map(|embedder| {
        let query = texts.of_model();
        StoredTokens { embedder, asker, query, until, tokens: OnceCell::new() }
    });
    if asked == Mode::Deep && mode == Mode::Hybrid {
        let tokens = embedder.and_then(Embedder::tokens).ok_or(Degraded::NotDeep(NO_TOKENS.into()));
        let of = |model| LateInteraction::of(texts.of_model(), model, reader, config, until);
        match tokens.and_then(|model| of(model).map_err(|error| Degraded::NotDeep(error.to_string()))) {
            Ok(begun) => late = Some(begun),
            Err(reason) => degraded = Some(reason),
        }
    }

    let named = retriever.named(query.name, &typed_words, likeliest.as_ref()).filter(|_| mode != Mode::Semantic);
    let vector = vector.as_ref();
    let (vector, typed_vector) = (vector.map(|(all, _)| all), vector.and_then(|(_, typed)| typed.as_ref()));
    let assisted = assistant.map(|assistant| (texts.typed.as_str(), assistant));
    let mut ranking = Ranking {
        request,
        retriever: &retriever,
        mode,
        vector,
        typed_vector,
        config,
        named,
        stored,
        late,
        not_deep: None,
        assisted,
        unassisted,
        given,
    };
    let WordQuery { excluded, said_by, not_said_by, .. } = &query.keyword;
    let rules_out = !(excluded.is_empty() && said_by.is_empty() && not_said_by.is_empty());
    let excluding = rules_out.then_some(&words);
    let mut ranked = if query.only_narrows() { ranking.rest(excluding)? } else { ranking.run(&mut words)? };
    if ranked.is_empty()
        && let Some(relaxed) = query.relaxed()
    {
        ranked = ranking.run(&mut retriever.words(&relaxed.keyword)?)?;
        let by_words = |candidate: &Candidate| candidate.scores.keyword.is_some_and(|score| score > 0.0);
        if mode != Mode::Semantic && !ranked.iter().any(by_words) {
            // What is merely near in meaning is not what a phrase asks for.
            ranked.clear();
        } else {
            degraded = degraded.or(Some(Degraded::PhraseAbsent));
        }
    }
    degraded = ranking.not_deep.take().or(degraded);
    let is_deep = asked == Mode::Deep && ranking.late.is_some();
    let relevance_of = Relevance { mode, model: embedder.map(Embedder::name), most };
    let mut left_out = 0;
    // To list what is left, none of it is asked for.
    let context = if query.only_narrows() { request.context.or(Some(0)) } else { request.context };
    let mut windows = HitWindows::new(&retriever, context, &query.keyword)?;
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
    let misread = misread(&query.no_conditions, &has_property, !hits.is_empty(), (reader, visible), &request.turn)?;
    let mode = if is_deep { Mode::Deep } else { mode };
    let unassisted = ranking.unassisted;
    let model = embedder.filter(|_| vector.is_some());
    let languages: Vec<_> = hits.iter().map(|hit| hit.file.language()).collect();
    let unread = model.and_then(|model| unread(model.name(), &texts.respelled, &languages));
    Ok(Results { asked, mode, hits, left_out, corrections, misread, unassisted, unread, degraded })
}

/// A query as it was typed, and as it was perhaps meant. What takes the place of a word that no passage has is a word of notes, of private
/// ones, too, so that another machine is told what was typed alone.
struct QueryTexts {
    typed: String,
    respelled: String,
    /// Whether the embedding model is on another machine.
    leaves: bool,
}

impl QueryTexts {
    /// What the embedding model is asked.
    fn of_model(&self) -> &str {
        if self.leaves { &self.typed } else { &self.respelled }
    }
}

const NO_TOKENS: &str = "the model returns no vectors of single tokens";

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
    /// That of what was typed, where `vector` has more.
    typed_vector: Option<&'a QueryVector>,
    config: &'a SearchConfig,
    /// The files that are called what was typed, when there are any.
    named: Option<Named>,
    /// The tokens of conversations, in a hybrid search.
    stored: Option<StoredTokens<'a>>,
    /// How the best are looked at closely, in a deep search.
    late: Option<LateInteraction<'a>>,
    /// Why they were not, when the model failed on the way.
    not_deep: Option<Degraded>,
    /// What the best are judged by and by whom, if they are.
    assisted: Option<(&'a str, &'a Assistant<'a>)>,
    /// What was not done of it.
    unassisted: Vec<Unassisted>,
    given: Option<GivenCounts<'a>>,
}

impl Ranking<'_> {
    /// The best candidates in order, `limit` of them or more if there are. While one long file keeps others out of the candidates, more
    /// are asked for.
    fn run(&mut self, words: &mut RetrievedWords<'_>) -> Result<Vec<Candidate>, EngineError> {
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
            self.retriever.score_typed(&mut candidates, words, self.typed_vector)?;
            if let Some(stored) = &self.stored {
                stored.score(&mut candidates, self.retriever.reader)?;
            }
            rank(&mut candidates, self.mode, words.asked(), self.config);
            if let Some(late) = &self.late
                && let Err(error) = late.rank(&mut candidates, words.asked())?
            {
                self.late = None;
                self.not_deep = Some(Degraded::NotDeep(error.to_string()));
            }
            weigh(
                &mut candidates,
                self.retriever.reader.files(),
                self.config,
                self.request.at.as_millisecond(),
                self.given,
                &self.request.parts,
            );
            if let Some(named) = &self.named {
                let known = candidates.len();
                self.retriever.add_named(&mut candidates, &named.files, words, by, self.request.limit)?;
                drop_same_copies(&mut candidates, files, allow);
                self.retriever.score_typed(&mut candidates[known..], words, self.typed_vector)?;
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
