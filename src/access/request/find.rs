//! Finding chunks, and the notes near one, of what a request sees; and the help that other models give to it.

use std::cell::OnceCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Budget, ReadScope, RequestError, share};
use crate::access::rules::Scope;
use crate::base::config::{ChatConfig, Mode, Rerank, SearchConfig};
use crate::index::engine::{EngineError, FileEntry, Predicate};
use crate::index::search::{
    Assistant, Correction, Degraded, Highlighter, Hit, HitWindow, MaySend, Related, RelatedRequest, Results,
    SearchHelp, SearchRequest, Unassisted, Visible, assisted_search, related, search, snippet, snippet_around,
};
use crate::index::sync::ModelStatus;
use crate::models::{ChatModel, ChatReranker, Embedder, Reranker, open_chat};
use crate::serve::wire::{ChunkView, HitView, Scores, SearchResponse, passage_citation};
use crate::text::derive::TextLanguage;

/// Maximum number of times that a search is begun anew while notes change as fast as they are found.
const MAX_CHANGED_ROUNDS: usize = 4;

/// How hits are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given {
    /// With the places of the query's words in each snippet.
    pub highlights: bool,
    /// How many times each hit stands in the answer; all of them count.
    pub times: usize,
    /// After so long no model is waited for; where it is not said, as the settings have it for each.
    pub timeout: Option<Duration>,
}

/// A hit as it is answered, given its passage.
pub(crate) fn hit_view(hit: &Hit, chunk: ChunkView, snippet: String, config: &SearchConfig) -> HitView {
    let &Hit { score, keyword, semantic, late, rerank, coverage, relevance, .. } = hit;
    let scores = Scores { keyword, semantic, late, rerank, coverage };
    let perhaps = relevance.is_some_and(|relevance| relevance < config.min_score);
    HitView { chunk, snippet, highlights: None, score, relevance, perhaps, scores }
}

impl ReadScope {
    /// Finds chunks of what is seen, with the settings of `config`.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn find(
        mut self,
        mut request: SearchRequest,
        config: &SearchConfig,
        given: Given,
        started: Instant,
    ) -> Result<SearchResponse, RequestError> {
        let workspace = Arc::clone(&self.workspace);
        workspace.shared.note_search();
        let mut snippet_chars = config.max_snippet_chars;
        if let Some(limits) = self.limits {
            request.limit = request.limit.min(limits.max_results);
            snippet_chars = snippet_chars.min(limits.max_snippet_chars);
        }
        if self.is_agents() {
            request.min_relevance = request.min_relevance.or(Some(config.min_score));
        }
        let assisted = self.assisted(config, given.timeout);
        let mut found = self.found(config, &request, assisted.as_ref())?;
        if self.is_agents() {
            // What changed since it was indexed may be private by now. It is hidden before the ranking, not taken out after it.
            for _ in 0..MAX_CHANGED_ROUNDS {
                let changed = self.changed(&found);
                if changed.is_empty() {
                    break;
                }
                changed.iter().for_each(|file| self.visible.hide(file));
                found = self.found(config, &request, assisted.as_ref())?;
            }
            found.hits.retain(|hit| self.is_as_indexed(&hit.file));
            let names = matches!(found.degraded, Some(Degraded::Unknown(_))) || !found.misread.is_empty();
            if names || !found.corrections.is_empty() {
                // What it says that there is, is named: a property, a tag, the words that stand in the place of others.
                self.settle()?;
                found = self.found(config, &request, assisted.as_ref())?;
            }
        }
        let no_such_collection = match &found.degraded {
            // While the vault is read for the first time, nobody knows.
            Some(Degraded::Unknown(_)) if !workspace.shared.progress().caught_up => {
                found.degraded = None;
                None
            }
            Some(Degraded::Unknown(unknown)) => {
                let wanted = Predicate::Collection(unknown.name.clone());
                let is_filter = request.filter.conditions.iter().any(|condition| condition.wanted == wanted);
                unknown.collections.clone().filter(|_| is_filter)
            }
            _ => None,
        };
        let mut degraded = found.degraded.filter(|lacks| !self.is_chosen(lacks, found.asked));
        let mut text = request.text.clone();
        found.corrections.iter().for_each(|correction| text += &format!(" {}", correction.shown));
        let mut highlighter = Highlighter::new(&text, config.stemmer);
        let mut results = Vec::with_capacity(found.hits.len());
        let mut room = Budget::of(self.limits, given.times);
        for hit in found.hits {
            highlighter.turn_to(hit.file.language());
            let snippet = snippet(&hit.chunk.text, &mut highlighter, snippet_chars);
            match self.view(&hit.file, hit.chunk.clone()) {
                Ok(chunk) => {
                    let mut view = hit_view(&hit, chunk, snippet, config);
                    let wide = widened(&view, &hit.window, &mut highlighter, snippet_chars);
                    if let Some(wide) = wide.filter(|wide| room.holds(&wide.chunk, wide.snippet.chars().count())) {
                        view = wide;
                    }
                    // The best first: what does not fit is cut, and what is left of it left out.
                    let Some(_) = room.take_chunk(&mut view.chunk, view.snippet.chars().count()) else { continue };
                    let matches = given.highlights.then(|| highlighter.matches(&view.snippet));
                    view.highlights = matches.map(|matches| in_characters(&view.snippet, &matches));
                    results.push(view);
                }
                Err(error) if error.is_damage() => degraded = Some(Degraded::Damaged(error.to_string())),
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(Degraded::Damaged(reason)) = &degraded {
            workspace.suspect(reason);
        }
        let (embedded, of) = self.embedded();
        let corrected = (!found.corrections.is_empty()).then(|| said_corrected(&found.corrections));
        let misread = found.misread.into_iter();
        let unassisted = found.unassisted.iter().filter_map(|not_done| self.unassisted(not_done));
        let why = degraded.map(|degraded| self.explain(&degraded, found.mode)).or_else(|| self.mending());
        let unread = found.unread.map(|language| self.explain_unread(language));
        let also = misread.chain(unassisted).chain(unread).chain(why);
        let lacks: Vec<String> = corrected.into_iter().chain(also).collect();
        Ok(SearchResponse {
            query: request.text,
            mode: found.mode,
            results,
            degraded: (!lacks.is_empty()).then(|| lacks.join("; ")),
            without_topic: false,
            left_out: found.left_out,
            no_such_collection,
            fresh: None,
            embedded_share: share(embedded, of),
            took_ms: (!self.is_agents()).then(|| started.elapsed().as_secs_f64() * 1000.0),
        })
    }

    /// The files of hits that have changed since they were indexed, and those for which a chat model was not asked.
    fn changed(&self, found: &Results) -> Vec<Arc<FileEntry>> {
        let of_hits = found.hits.iter().map(|hit| &hit.file).filter(|file| !self.is_as_indexed(file));
        let first = found.unassisted.iter().filter_map(|not_done| match not_done {
            Unassisted::Hidden(files) => Some(files),
            _ => None,
        });
        of_hits.chain(first.flatten()).cloned().collect()
    }

    fn found(
        &self,
        config: &SearchConfig,
        request: &SearchRequest,
        assisted: Option<&AssistedRequest>,
    ) -> Result<Results, RequestError> {
        let embedder = self.workspace.shared.embedder_of(self.reader());
        let (reader, embedder) = (self.reader.as_ref(), embedder.as_deref());
        let asker = self.model_asker.as_ref();
        let may_send = |file: &FileEntry| assisted.map_or(MaySend::Yes, |assisted| self.may_send(assisted, file));
        let assistant = assisted.map(|assisted| self.assistant(assisted, &may_send));
        let help = SearchHelp { assistant: assistant.as_ref(), asker };
        self.searched(|| assisted_search(reader, embedder, &self.visible, config, request, help))
    }

    /// Searches what is seen, by words alone where there is no embedder.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn search_with(
        &self,
        embedder: Option<&dyn Embedder>,
        config: &SearchConfig,
        request: &SearchRequest,
    ) -> Result<Results, RequestError> {
        self.searched(|| search(self.reader.as_ref(), embedder, &self.visible, config, request))
    }

    /// What a search comes to, whatever becomes of it.
    pub(super) fn searched<T>(&self, searching: impl FnOnce() -> Result<T, EngineError>) -> Result<T, RequestError> {
        // A bug, which costs this one answer. What the stores cannot read they say themselves.
        let found = catch_unwind(AssertUnwindSafe(searching)).map_err(|_| {
            tracing::error!("a search panicked");
            RequestError::internal("the search failed unexpectedly; please report this")
        })?;
        found.map_err(|error| self.workspace.damaged(error))
    }

    fn explain_unread(&self, language: TextLanguage) -> String {
        let (embedder, name) = (self.workspace.shared.embedder_of(self.reader()), language.name());
        let model = embedder.filter(|_| !self.is_agents()).map(|embedder| format!(" ({})", embedder.name()));
        let model = model.unwrap_or_default();
        format!("the model{model} knows only English: text in {name} is found by its words, and rarely by its meaning")
    }

    /// Why an answer is less than it could be; to an agent without the names of files and models that it is not to know.
    fn explain(&self, degraded: &Degraded, mode: Mode) -> String {
        let (is_agents, by_words) = (self.is_agents(), mode == Mode::Keyword);
        let told = |brief: &str, whole: String| if is_agents { brief.to_owned() } else { whole };
        let without_model = |why: String| match by_words {
            true => told("searched by keyword alone", format!("searched by keyword alone: {why}")),
            false => told("searched without the model", why),
        };
        match degraded {
            Degraded::ModelFailed(reason) => without_model(format!("the model failed: {reason}")),
            Degraded::NoModel => without_model(match self.workspace.shared.progress().model {
                ModelStatus::Off => "`embed.model` is \"none\"".into(),
                ModelStatus::Failed(reason) => reason,
                ModelStatus::Loading | ModelStatus::Ready { .. } => "the model is loading".into(),
            }),
            Degraded::Embedding { embedded, of } => told(
                "some passages are found by keyword alone so far",
                format!("{embedded} of {of} passages are embedded so far; the others are found by keyword alone"),
            ),
            Degraded::Damaged(reason) => told(
                "some passages cannot be shown now",
                format!("some passages cannot be shown ({reason}); the index is being checked and repaired"),
            ),
            Degraded::PhraseAbsent => "no passage has the exact phrase; these have its words".into(),
            Degraded::Unknown(unknown) => unknown.said.clone(),
        }
    }

    /// Whether it is as the person has it: without a model the usual search is one by words.
    fn is_chosen(&self, lacks: &Degraded, asked: Mode) -> bool {
        let is_off = || matches!(self.workspace.shared.progress().model, ModelStatus::Off);
        *lacks == Degraded::NoModel && asked == Mode::Hybrid && is_off()
    }

    /// Why not everything may be found, while the index is built anew.
    fn mending(&self) -> Option<String> {
        let progress = self.workspace.shared.progress();
        progress.rebuilt.filter(|_| progress.mending).map(|why| match self.is_agents() {
            true => "not everything may be found yet".into(),
            false => format!("not everything may be found yet: {why}"),
        })
    }
}

/// A hit with what stands around it; `None` where that is nothing.
fn widened(hit: &HitView, window: &HitWindow, highlighter: &mut Highlighter, snippet_chars: usize) -> Option<HitView> {
    if window.is_empty() {
        return None;
    }
    let (before, after) = window.texts();
    let snippet = snippet_around(&before, &hit.chunk.content, &after, highlighter, snippet_chars);
    let mut wide = HitView { snippet, ..hit.clone() };
    let chunk = &mut wide.chunk;
    (chunk.line_start, chunk.line_end) = window.lines((chunk.line_start, chunk.line_end));
    chunk.citation = passage_citation(&chunk.path, chunk.page, chunk.line_start, chunk.line_end);
    let texts = [before, std::mem::take(&mut chunk.content), after];
    chunk.content = texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
    Some(wide)
}

/// Says which words stand in the place of others.
fn said_corrected(corrections: &[Correction]) -> String {
    let typed: Vec<String> = corrections.iter().map(|correction| format!("`{}`", correction.typed)).collect();
    let (is, it) = if typed.len() == 1 { ("is", "it") } else { ("are", "them") };
    let shown: Vec<&str> = corrections.iter().map(|correction| correction.shown.as_str()).collect();
    format!("{} {is} in no passage; shown: {}. Quote {it} to search exactly", typed.join(" and "), shown.join(" and "))
}

/// Ranges of bytes, in order, as ranges of characters.
fn in_characters(text: &str, ranges: &[Range<usize>]) -> Vec<[usize; 2]> {
    let (mut bytes, mut characters) = (0, 0);
    let mut at = |byte: usize| {
        characters += text[bytes..byte].chars().count();
        bytes = byte;
        characters
    };
    ranges.iter().map(|range| [at(range.start), at(range.end)]).collect()
}

impl ReadScope {
    /// Finds the notes near one.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub(crate) fn related(&self, request: &RelatedRequest<'_>) -> Result<Related, RequestError> {
        let language = self.workspace.config.search.stemmer;
        let found = self.searched(|| related(self.reader.as_ref(), &self.visible, language, request))?;
        if let Some(reason) = &found.damage {
            drop(self.workspace.suspect(reason));
        }
        Ok(found)
    }

    /// How many characters of a chunk are shown, of those that are usual.
    pub(crate) fn snippet_chars(&self, usual: usize) -> usize {
        self.limits.map_or(usual, |limits| usual.min(limits.max_snippet_chars))
    }
}

/// What an answer says that another model should have put in order, and did not.
pub(crate) const ORDER_KEPT: &str = "not reranked";

/// What one request is helped with.
pub(super) struct AssistedRequest {
    until: Instant,
    /// What may be sent to a model on another machine; `None` where all may that is seen.
    open: Option<Visible>,
    failed: OnceCell<String>,
}

impl ReadScope {
    /// What this request is helped with; `None` where the settings ask for no help. Its time begins now, however often is searched, and is
    /// no more than `most`.
    pub(super) fn assisted(&self, config: &SearchConfig, most: Option<Duration>) -> Option<AssistedRequest> {
        if config.rerank == Rerank::Off {
            return None;
        }
        let help = &self.workspace.chat;
        // What is waited for wants time for the rest, too.
        let left = self.turn.left().map_or(help.timeout, |left| help.timeout.min(left * 3 / 4));
        let leaves = config.rerank == Rerank::Chat && !help.takes_private();
        let open = leaves.then(|| Visible::of(&Scope::Public, self.reader.files()));
        let left = most.map_or(left, |most| left.min(most));
        Some(AssistedRequest { until: Instant::now() + left, open, failed: OnceCell::new() })
    }

    /// Whether chunks of a file may be sent: of a private note, and of what was made of one or is one by another name, to this machine
    /// alone. What has changed since it was indexed may be private by now; an agent's search is then begun anew without it.
    pub(super) fn may_send(&self, assisted: &AssistedRequest, file: &FileEntry) -> MaySend {
        let is_open = assisted.open.as_ref().is_none_or(|open| open.has(file));
        match self.is_agents() || assisted.open.is_some() {
            true if !self.is_as_indexed(file) && self.is_agents() => MaySend::Hidden,
            true if !self.is_as_indexed(file) => MaySend::No,
            _ if is_open => MaySend::Yes,
            _ => MaySend::No,
        }
    }

    /// Who helps a search.
    pub(super) fn assistant<'a>(
        &'a self,
        assisted: &'a AssistedRequest,
        may_send: &'a dyn Fn(&FileEntry) -> MaySend,
    ) -> Assistant<'a> {
        let reranker = self.workspace.chat.parts().map(|parts| &parts.reranker as &dyn Reranker);
        Assistant {
            reranker,
            may_send,
            asker: self.model_asker.clone(),
            failed: &assisted.failed,
            until: assisted.until,
        }
    }

    /// Says what was to be done and was not, to an agent without the names of models and what it is not to know.
    pub(super) fn unassisted(&self, not_done: &Unassisted) -> Option<String> {
        match not_done {
            Unassisted::OrderKept(_) | Unassisted::Hidden(_) if self.is_agents() => Some(ORDER_KEPT.into()),
            Unassisted::Withheld(_) if self.is_agents() => None,
            Unassisted::OrderKept(reason) => Some(format!("{ORDER_KEPT}: {reason}")),
            Unassisted::Hidden(_) => Some(ORDER_KEPT.into()),
            Unassisted::Withheld(count) => {
                let (is, keep) =
                    if *count == 1 { ("passage was", "keeps its") } else { ("passages were", "keep their") };
                Some(format!("{count} {is} private or just changed, so not sent to the chat model, and {keep} place"))
            }
        }
    }
}

const NO_MODEL: &str = "`chat.endpoint` in memory.toml names no model";

/// The chat model of a vault, and what it does for searches.
pub struct ChatHelp {
    parts: Option<Result<ChatParts, String>>,
    /// How long a search waits for all that it asks.
    pub(super) timeout: Duration,
}

/// What is made of it.
pub(super) struct ChatParts {
    model: Arc<dyn ChatModel>,
    pub(super) reranker: ChatReranker,
}

impl ChatHelp {
    /// As the configuration has it. Nothing is asked yet.
    pub(super) fn of(config: &ChatConfig) -> Self {
        let parts = open_chat(config).map(|opened| match opened {
            Ok(model) => Ok(ChatParts { reranker: ChatReranker::new(Arc::clone(&model)), model }),
            Err(error) => Err(error.to_string()),
        });
        Self { parts, timeout: Duration::from_millis(config.search_timeout_ms) }
    }

    /// The model, or why it cannot be asked; `None` where the configuration names none.
    pub(crate) fn model(&self) -> Option<Result<&dyn ChatModel, &str>> {
        Some(match self.parts.as_ref()? {
            Ok(parts) => Ok(parts.model.as_ref()),
            Err(reason) => Err(reason),
        })
    }

    /// The model, to be asked for as long as it takes.
    ///
    /// # Errors
    /// Why it cannot be asked.
    pub(crate) fn shared(&self) -> Result<Arc<dyn ChatModel>, String> {
        self.parts().map(|parts| Arc::clone(&parts.model))
    }

    /// Whether it may be given private notes.
    pub(super) fn takes_private(&self) -> bool {
        self.parts().is_ok_and(|parts| parts.model.takes_private())
    }

    /// What helps a search, or why nothing does.
    pub(super) fn parts(&self) -> Result<&ChatParts, String> {
        match &self.parts {
            Some(Ok(parts)) => Ok(parts),
            Some(Err(reason)) => Err(reason.clone()),
            None => Err(NO_MODEL.into()),
        }
    }
}
